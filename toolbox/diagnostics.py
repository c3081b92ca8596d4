"""What is put on record about a call: changes, failures, and the report that holds both.

A *diagnostic* says what was changed, where, and how risky that was. A *failure* says which argument could not be used and what to send
instead. All text about them is made here, in one place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from typing import Any, Final, NamedTuple, TypeGuard, TypeVar

__all__ = [
    "FOREIGN",
    "INVALID",
    "MASK",
    "CoercionReport",
    "Diagnostic",
    "DiagnosticKind",
    "Failure",
    "FailureReason",
    "Outcome",
    "Path",
    "Risk",
    "class_name",
    "describe",
    "is_a",
    "is_within",
    "json_name",
    "module_name",
    "path_text",
    "place_of",
    "shorten",
]

MASK: Final = "***"
TEXT_LIMIT: Final = 2_000
LINE_LIMIT: Final = 1_000
FAILURES_SHOWN: Final = 20
FAILURES_KEPT: Final = 1_000
VALUE_SHOWN: Final = 80
KEY_SHOWN: Final = 64
_PLAIN_KEY: Final = re.compile(r"[^\W\d]\w*\Z")
_INDEX: Final = re.compile(r"\[\d+\]")

_T = TypeVar("_T")

# A path is a linked pair (parent, key), so that the hot path builds one pair a level and flattens it only when something is reported.
Path = tuple[Any, "str | int"] | None


class Risk(IntEnum):
    """How risky a change is.

    INFO: one reading, nothing lost. WARNING: one sensible reading, worth knowing. RISKY: another reading exists, or something is lost.
    """

    INFO = 1
    WARNING = 2
    RISKY = 3


class DiagnosticKind(StrEnum):
    """What kind of change a diagnostic records; the values are public and stable."""

    COERCED = "coerced"
    """A value was converted to the declared type."""
    MATCHED = "matched"
    """A text was matched to one of the declared choices."""
    UNKNOWN_CHOICE = "unknown_choice"
    """An open enum kept a value that is none of its choices."""
    DEFAULTED = "defaulted"
    """A parameter that was not given (or was null) took its default."""
    DROPPED = "dropped"
    """Something that was sent and not declared was left out."""
    PRESERVED = "preserved"
    """Something that was sent and not declared was kept aside."""
    RENAMED = "renamed"
    """An argument came under another spelling or a declared alias of its name."""
    UNWRAPPED = "unwrapped"
    """A needless layer around the arguments was opened."""
    BOUND = "bound"
    """A value that came without a name was bound to the one parameter that it can be for."""
    DECODED = "decoded"
    """JSON text inside JSON text was decoded."""
    EXTRACTED = "extracted"
    """The arguments were found inside other text: a fence, a tag, prose, a call."""
    REPAIRED = "repaired"
    """Broken JSON was mended without touching any value."""
    CLOSED = "closed"
    """Closing brackets that were cut off after a complete value were added."""
    TRUNCATED = "truncated"
    """The text ends inside a value: what arrived may be shorter than what was meant."""
    DUPLICATE_KEY = "duplicate_key"
    """A key was given more than once; the last one counts."""
    DUPLICATE_CALL = "duplicate_call"
    """The same call was repeated word for word and counts once."""


class FailureReason(StrEnum):
    """Why an argument could not be used; the values are public and stable."""

    WRONG_TYPE = "wrong_type"
    INVALID = "invalid"
    NOT_A_CHOICE = "not_a_choice"
    AMBIGUOUS = "ambiguous"
    CONSTRAINT = "constraint"
    MISSING = "missing"
    UNKNOWN = "unknown"
    TOO_RISKY = "too_risky"
    REJECTED = "rejected"
    LIMIT = "limit"


class _Sentinel(Enum):
    INVALID = "invalid"
    ABSENT = "absent"

    def __repr__(self) -> str:
        return self.name


INVALID: Final = _Sentinel.INVALID
"""What a coercer returns when the value could not be used (the failure is in the outcome)."""
ABSENT: Final = _Sentinel.ABSENT
"""Stands for "nothing came" where None would be a value."""


def path_text(path: Path) -> str:
    """A linked path as text.

    >>> path_text(((None, "items"), 3))
    '$.items[3]'
    >>> path_text((None, "odd key"))
    "$['odd key']"
    """
    keys: list[str | int] = []
    while path is not None:
        keys.append(path[1])
        path = path[0]
    return "$" + "".join(map(_key_text, reversed(keys)))


def is_within(path: str, place: str) -> bool:
    """Whether a path leads to a place, or below it.

    >>> is_within("$.items[3]", "$.items"), is_within("$.items_left", "$.items")
    (True, False)
    """
    return path == place or (path.startswith(place) and path[len(place)] in ".[")


def place_of(path: str) -> str:
    """The path with every index as ``[*]``, so that what happens to the items of a list can be counted together.

    >>> place_of("$.items[3].price")
    '$.items[*].price'
    """
    return _INDEX.sub("[*]", path)


def _key_text(key: object) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    text = str(key)
    if len(text) > KEY_SHOWN:
        text = text[: KEY_SHOWN - 3] + "..."
    if _PLAIN_KEY.match(text):
        return f".{text}"
    # JSON escapes keep line breaks and control characters of a model's key out of logs and messages.
    escaped = json.dumps(text)[1:-1].replace("'", "\\'").replace('\\"', '"')
    return f"['{escaped}']"


FOREIGN: Final = (Exception, SystemExit, GeneratorExit)
"""What the methods of a value, an exception or a class of someone's own may raise; an interrupt is nobody's but the user's."""


_name_of: Final = type.__dict__["__name__"].__get__
_module_of: Final = type.__dict__["__module__"].__get__


def class_name(value: object) -> str:
    """The name of a value's class, whatever its class or the class of that has made of attributes; never raises.

    >>> class_name(2.5)
    'float'
    """
    return str(_name_of(type(value)))


def module_name(value: object) -> str:
    """The name of the module of a value's class, asked for like that of the class; never raises.

    >>> module_name(2.5)
    'builtins'
    """
    return str(_module_of(type(value)))


def is_a(value: object, kinds: type[_T] | tuple[type[_T], ...]) -> TypeGuard[_T]:
    """What `isinstance` says without asking the value itself, whose attributes may be made up, or raise."""
    return issubclass(type(value), kinds)


def shorten(value: object, limit: int = VALUE_SHOWN) -> str:
    """A value as one line of text of about `limit` characters at most; never raises, never walks a large value whole.

    >>> shorten("5 apples")
    '"5 apples"'
    >>> shorten([1, 2, {"a": None}])
    '[1, 2, {"a": null}]'
    """
    try:
        text = _brief(value, limit, 3)
    except FOREIGN:
        text = f"a {class_name(value)}"
    return text if len(text) <= limit + 8 else text[: limit - 3] + "..."


def _brief(value: object, limit: int, depth: int) -> str:
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        cut = value if len(value) <= limit else value[: max(limit - 3, 1)] + "..."
        return json.dumps(cut, ensure_ascii=not cut.isprintable())
    if isinstance(value, Enum):
        return _brief(value.value, limit, depth)
    if isinstance(value, int):
        return str(value) if value.bit_length() < 4 * limit else f"an integer of about {value.bit_length() * 3 // 10} digits"
    if isinstance(value, float):
        return getattr(value, "text", "")[:limit] or repr(value)
    if isinstance(value, Mapping):
        if depth == 0:
            return "{...}"
        return "{" + _brief_items((f"{_brief(str(k), limit, 0)}: {_brief(v, limit, depth - 1)}" for k, v in value.items()), limit) + "}"
    if isinstance(value, list | tuple | set | frozenset):
        if depth == 0:
            return "[...]"
        return "[" + _brief_items((_brief(item, limit, depth - 1) for item in value), limit) + "]"
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    text = str(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _brief_items(items: Iterable[str], limit: int) -> str:
    parts: list[str] = []
    used = 0
    for item in items:
        if used > limit:
            parts.append("...")
            break
        parts.append(item)
        used += len(item) + 2
    return ", ".join(parts)


def json_name(value: object) -> str:
    """The name of a value's JSON type with its article, for error texts.

    >>> json_name(True), json_name([]), json_name(2)
    ('a boolean', 'an array', 'a number')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple | set | frozenset):
        return "an array"
    return f"a {class_name(value)}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One change on record.

    Attributes:
        path: where, such as ``$.items[3].price``.
        kind: what kind of change.
        risk: how risky it was.
        before: the value that came.
        after: the value that was made of it.
        conversion: the change in short, such as ``str->int``; empty where no type changed.
        suggestion: what would make the change needless; may be empty.
    """

    path: str
    kind: DiagnosticKind
    risk: Risk
    before: Any
    after: Any
    conversion: str = ""
    suggestion: str = ""

    def __str__(self) -> str:
        return describe(self)


def describe(diagnostic: Diagnostic) -> str:
    """One diagnostic as a line of text.

    >>> describe(Diagnostic("$.n", DiagnosticKind.COERCED, Risk.INFO, "2", 2, "str->int"))
    '[info] $.n: coerced "2" to 2 (str->int)'
    """
    before, after = shorten(diagnostic.before), shorten(diagnostic.after)
    kind = diagnostic.kind
    if kind is DiagnosticKind.COERCED:
        text = f"coerced {before} to {after} ({diagnostic.conversion})"
    elif kind is DiagnosticKind.MATCHED:
        text = f"matched {before} to {after} ({diagnostic.conversion})"
    elif kind is DiagnosticKind.UNKNOWN_CHOICE:
        text = f"kept {before}, which is none of the known choices"
    elif kind is DiagnosticKind.DEFAULTED:
        text = f"used the default {after}" if diagnostic.before is ABSENT else f"used the default {after} for {before}"
    elif kind is DiagnosticKind.DROPPED:
        text = _LEFT_OUT.get(diagnostic.conversion, "left out {}, which is not declared").format(before)
    elif kind is DiagnosticKind.PRESERVED:
        text = f"kept {before} aside, which is not declared"
    elif kind is DiagnosticKind.RENAMED:
        text = f"{before} taken as the {diagnostic.conversion} {after}"
    elif kind is DiagnosticKind.DUPLICATE_KEY:
        text = f"given more than once: {after} counts, {before} does not"
    else:
        text = kind.value.replace("_", " ") + (f" ({diagnostic.conversion})" if diagnostic.conversion else "")
    note = f"; {diagnostic.suggestion}" if diagnostic.suggestion else ""
    return f"[{diagnostic.risk.name.lower()}] {diagnostic.path}: {text}{note}"


_LEFT_OUT: Final = {
    "repeated items": "left out what was repeated in {}",
    "not given": "left out {}, which says that nothing is given",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One argument that could not be used.

    Attributes:
        path: where, such as ``$.passengers``; of a missing parameter, the path it should have.
        reason: stable code of the reason.
        expected: what was expected, such as ``"an integer"``.
        value: what came; `ABSENT` when nothing did.
        detail: why it does not do; may be empty.
        suggestion: what to send instead; may be empty.
        would_be: the change that would have been made, had the policy allowed it.
    """

    path: str
    reason: FailureReason
    expected: str
    value: Any = ABSENT
    detail: str = ""
    suggestion: str = ""
    would_be: Diagnostic | None = None

    def __str__(self) -> str:
        if self.reason is FailureReason.MISSING:
            text = f"{self.path}: missing; expected {self.expected}"
        elif self.reason is FailureReason.UNKNOWN:
            text = f"{self.path}: there is no such parameter"
        elif self.value is ABSENT:
            text = f"{self.path}: expected {self.expected}"
        elif self.value is MASK:
            text = f"{self.path}: expected {self.expected}, and another value came, which is kept secret"
        else:
            text = f"{self.path}: expected {self.expected}, got {shorten(self.value)}"
        if self.detail:
            text += f": {self.detail}"
        if self.would_be is not None:
            reading = "not given" if self.would_be.after is ABSENT else shorten(self.would_be.after)
            text += f" (refused: would have been read as {reading}, {self.would_be.risk.name.lower()})"
        return f"{text}. {self.suggestion}." if self.suggestion else text + "."


class Met(NamedTuple):
    """What has been done on the way down with a value of which nothing is consumed yet.

    Attributes:
        value: the value.
        nodes: the nodes that it was given to and that it may come back to, by identity.
        wraps: how many arrays of a recursive definition are being made around it.
    """

    value: Any
    nodes: frozenset[int]
    wraps: int


class Outcome:
    """What the coercers of one call collect.

    Attributes:
        diagnostics: the changes so far, in order.
        failures: the failures so far, at most 1,000.
        known: what unions have made of containers in this call, so that trying alternatives within alternatives stays linear.
        met: where the value that is being tried has been, so that it does not go round in a recursive definition.
    """

    __slots__ = ("diagnostics", "failures", "known", "met", "residual")

    def __init__(self, known: dict[Any, Any] | None = None, met: Met | None = None) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.failures: list[Failure] = []
        self.residual: dict[str, Any] = {}
        self.known = known
        self.met = met

    def fail(
        self,
        path: Path,
        reason: FailureReason,
        expected: str,
        value: object,
        detail: str = "",
        suggestion: str = "",
        would_be: Diagnostic | None = None,
    ) -> Any:
        """Put a failure on record and return `INVALID`."""
        if len(self.failures) < FAILURES_KEPT:
            self.failures.append(Failure(path_text(path), reason, expected, value, detail, suggestion, would_be))
        return INVALID

    def adopt(self, trial: Outcome) -> None:
        """Take over what an attempt has collected, now that it counts."""
        self.diagnostics.extend(trial.diagnostics)
        self.failures.extend(trial.failures)
        self.residual.update(trial.residual)


class CoercionReport:
    """Everything about one call's arguments: before, after, and what happened on the way.

    Attributes:
        arguments: the payload as it came; never changed.
        value: the coerced value at the root; for a tool, the same as `normalized_args`.
        diagnostics: every change, in order.
        failures: every argument that could not be used.
        residual: undeclared arguments that were kept aside (policy ``unknown=PRESERVE``).
        secret: names of top-level parameters whose values are masked in every text.
    """

    __slots__ = ("arguments", "diagnostics", "failures", "residual", "secret", "value")

    def __init__(
        self,
        arguments: object,
        value: Any,
        diagnostics: list[Diagnostic],
        failures: list[Failure],
        residual: dict[str, Any] | None = None,
        secret: frozenset[str] = frozenset(),
    ) -> None:
        self.arguments = arguments
        self.value = value
        self.diagnostics = diagnostics
        self.failures = failures
        self.residual: dict[str, Any] = {} if residual is None else residual
        self.secret = secret

    @property
    def ok(self) -> bool:
        """Whether every argument could be used."""
        return not self.failures

    @property
    def normalized_args(self) -> dict[str, Any]:
        """The arguments by parameter name, coerced; failed ones are left out."""
        return self.value if type(self.value) is dict else {}

    @property
    def conversion_log(self) -> list[tuple[str, str]]:
        """Path and change in short of every conversion, such as ``("$.limit", "str->int")``."""
        return [(item.path, item.conversion) for item in self.diagnostics if item.kind in _CONVERSIONS]

    @property
    def failed_fields(self) -> list[str]:
        """The paths of all failures, each once, in order."""
        return list(dict.fromkeys(failure.path for failure in self.failures))

    @property
    def worst_risk(self) -> Risk | None:
        """The highest risk on record, or None when nothing was changed."""
        return max((item.risk for item in self.diagnostics), default=None)

    def at_least(self, risk: Risk) -> list[Diagnostic]:
        """The changes of at least this risk."""
        return [item for item in self.diagnostics if item.risk >= risk]

    def to_text(self, tool: str = "") -> str:
        """The failures as one message for the model: at most 20 of them, under 2,000 characters."""
        head = f"The call of {shorten(tool)[1:-1]} was refused; nothing was run." if tool else "The arguments were refused."
        if not self.failures:
            return f"The call of {shorten(tool)[1:-1]} is fine." if tool else "The arguments are fine."
        lines = [head]
        used = len(head)
        for shown, failure in enumerate(self.failures):
            line = f"- {failure}"
            if len(line) > LINE_LIMIT:
                line = f"{line[: LINE_LIMIT - 3]}..."
            if shown == FAILURES_SHOWN or used + len(line) + 60 > TEXT_LIMIT:
                lines.append(f"- and {len(self.failures) - shown} more")
                break
            lines.append(line)
            used += len(line) + 1
        return "\n".join(lines)

    def __repr__(self) -> str:
        state = "ok" if self.ok else f"{len(self.failures)} failures"
        shown = {name: MASK if name in self.secret else item for name, item in self.normalized_args.items()}
        return f"<CoercionReport {state}, {len(self.diagnostics)} changes, normalized_args={shorten(shown, 400)}>"


_CONVERSIONS: Final = frozenset({DiagnosticKind.COERCED, DiagnosticKind.MATCHED, DiagnosticKind.DECODED})
