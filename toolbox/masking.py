"""What may be seen of a call: secret values are masked in reports, records and the texts of errors, wherever they may stand."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from toolbox.diagnostics import (
    ABSENT,
    FOREIGN,
    MASK,
    CoercionReport,
    Diagnostic,
    DiagnosticKind,
    Failure,
    FailureReason,
    class_name,
    is_within,
    path_text,
)
from toolbox.json_values import KEPT, Bounds, fields_of, snapshot
from toolbox.redaction import PATH_KEYS, Redaction
from toolbox.tools import Tool, names_of
from toolbox.types import Opaque

__all__ = ["hidden", "masked", "message_of", "shows", "texts_of", "unseen"]

MESSAGE_LIMIT: Final = 500
_LOOKED_AT: Final = 20_000
"""So many values are looked through for secrets, which is as many as are kept of one; of more, no text is shown."""


def shows(tool: Tool, key: str) -> bool:
    """Whether the argument of this name may be seen: what is declared, under any spelling, and is not secret.

    What is not declared may be meant for the secret parameter, where there is one.
    """
    name = tool.bind.names.resolve(key)
    if name is not None:
        return name not in tool.secret
    return not tool.secret and (tool.redaction is None or not tool.redaction.hides(key))


def unseen(tool: Tool, arguments: Mapping[str, Any]) -> frozenset[str]:
    """The secret parameters, and the arguments beside them that are not shown as they are: wholly, or in a part of them."""
    if not tool.guarded:
        return tool.secret
    redaction = tool.redaction
    return tool.secret.union(
        name for name, item in arguments.items() if not shows(tool, name) or (redaction is not None and redaction.touches(item))
    )


def masked(
    tool: Tool, bound: Any, diagnostics: Sequence[Diagnostic], failures: Sequence[Failure]
) -> tuple[list[Diagnostic], list[Failure]]:
    """Copies that show only what may be seen: nothing of secret parameters, and the rest as the redaction shows it."""
    shown = list(diagnostics), list(failures)
    if tool.secret:
        shown = _without_secrets(tool, bound, diagnostics, failures)
    return shown if tool.redaction is None else _redacted(tool, tool.redaction, bound, *shown)


def _without_secrets(
    tool: Tool, bound: Any, diagnostics: Sequence[Diagnostic], failures: Sequence[Failure]
) -> tuple[list[Diagnostic], list[Failure]]:
    """What stands at or below an argument that may be seen: the whole payload holds the secrets too."""
    keys = {*tool.bind.names.declared, *(key for key in bound if isinstance(key, str))} if isinstance(bound, Mapping) else set[str]()
    places = tuple(path_text((None, key)) for key in keys if shows(tool, key))

    def shows_path(path: str) -> bool:
        return any(is_within(path, place) for place in places)

    # A validator that checks the parameters as a whole reports the whole, whatever place it names.
    is_whole = isinstance(tool.document.root, Opaque)

    def shows_failure(item: Failure) -> bool:
        return shows_path(item.path) and not (is_whole and item.reason is FailureReason.CONSTRAINT)

    at = {*(item.path for item in diagnostics), *(item.path for item in failures)}
    unshown = {path for path in at if not shows_path(path)}
    paths = _without_keys(unshown, tool) if unshown else {}
    changes = [item if item.path not in unshown or item.kind in _WITHOUT_VALUES else _masked_diagnostic(item) for item in diagnostics]
    refusals = [item if item.value is ABSENT or shows_failure(item) else _masked_failure(item) for item in failures]
    return (
        [replace(item, path=paths[item.path]) if item.path in paths else item for item in changes],
        [replace(item, path=paths[item.path]) if item.path in paths else item for item in refusals],
    )


# What concerns the name of the tool or the text as a whole, and holds no argument.
_WITHOUT_VALUES: Final = frozenset({DiagnosticKind.RENAMED})


def _without_keys(paths: Iterable[str], tool: Tool) -> dict[str, str]:
    """Paths with the keys masked that a secret mapping holds: below its parameter, all but those that are declared."""
    declared = tool.names or frozenset(names_of(tool.document))
    found: dict[str, str] = {}
    for path in paths:
        first = PATH_KEYS.match(path, 1)
        if first is not None:
            below = PATH_KEYS.sub(lambda key: key[0] if (key[1] or key[2]) in declared else f"['{MASK}']", path[first.end() :])
            found[path] = path[: first.end()] + below
    return found


def _masked_diagnostic(item: Diagnostic) -> Diagnostic:
    return replace(item, before=_masked_value(item.before), after=_masked_value(item.after), suggestion="")


def _masked_value(value: Any) -> Any:
    return value if value is None or value is ABSENT else MASK


def _masked_failure(item: Failure) -> Failure:
    # The hint about an undeclared argument is made of names alone.
    keeps_hint = item.reason is FailureReason.UNKNOWN or item.path == "$"
    return replace(item, value=MASK, detail="", suggestion=item.suggestion if keeps_hint else "", would_be=None)


def _redacted(
    tool: Tool, redaction: Redaction, bound: Any, diagnostics: Sequence[Diagnostic], failures: Sequence[Failure]
) -> tuple[list[Diagnostic], list[Failure]]:
    """The same as a redaction shows it: values masked by key, also where a text beside them quotes one, and every text redacted."""
    if not diagnostics and not failures:
        return [], []
    secrets = texts_of(tool, _under_keys(redaction, bound)) if redaction.keys else []

    def text(words: str) -> str:
        return redaction.text(_without(words, secrets)) if words else words

    def value(item: Any) -> Any:
        if item is None or item is ABSENT or item is MASK or (redaction.redactor is None and isinstance(item, int | float)):
            return item
        return redaction.value(item, known=tool.names)

    def is_torn(item: Diagnostic) -> bool:
        # A key that was given twice is reported at what it stands in, and so nobody knows which key it was.
        return item.kind is DiagnosticKind.DUPLICATE_KEY and bool(redaction.keys)

    def change(item: Diagnostic) -> Diagnostic:
        if (redaction.hides_at(item.path) and item.kind not in _WITHOUT_VALUES) or is_torn(item):
            item = _masked_diagnostic(item)
        path = redaction.path(item.path, tool.names)
        return replace(item, path=path, before=value(item.before), after=value(item.after), suggestion=text(item.suggestion))

    def failure(item: Failure) -> Failure:
        if item.value is not ABSENT and (redaction.hides_at(item.path) or (item.would_be is not None and is_torn(item.would_be))):
            item = _masked_failure(item)
        return replace(
            item,
            path=redaction.path(item.path, tool.names),
            value=value(item.value),
            detail=text(item.detail),
            suggestion=text(item.suggestion),
            would_be=None if item.would_be is None else change(item.would_be),
        )

    return [change(item) for item in diagnostics], [failure(item) for item in failures]


def hidden(tool: Tool, value: Any, bounds: Bounds = KEPT) -> Any:
    """A JSON-safe copy as it may be seen: without the values of secret parameters, and as the redaction shows the rest.

    Text may hold a secret anywhere, so of a tool with secrets none is kept.

    Args:
        tool: the tool.
        value: arguments of it, or a payload that holds them.
        bounds: how much of it is kept.
    """
    if not tool.guarded or value is None:
        return snapshot(value, bounds)
    redaction = tool.redaction
    if not isinstance(value, Mapping):
        if tool.secret or redaction is None:
            return MASK
        is_text = isinstance(value, str | bytes | bytearray)
        return snapshot(redaction.unread(value), bounds) if is_text else redaction.value(value, bounds, known=tool.names)
    try:
        shown = {key: item if shows(tool, str(key)) else MASK for key, item in value.items()}
    except FOREIGN:
        return MASK

    def is_secret(key: str) -> bool:
        return tool.bind.names.resolve(key) in tool.secret

    if redaction is None:
        return snapshot(shown, bounds, hide=is_secret)
    return redaction.value(shown, bounds, also=is_secret if tool.secret else None, known=tool.names)


# -- what the function raised --------------------------------------------------------------------------------------------------------


_UNPRINTABLE: Final = r"[^\S \n\t]|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]"


# Where pydantic ends each problem; it is no help to a model that cannot follow links.
_DOCUMENTATION: Final = re.compile(r"\n\s*For further information visit https?://\S+")


def message_of(error: BaseException, tool: Tool, report: CoercionReport) -> str:
    """The text of an exception: bounded, printable, secret values masked."""
    try:
        words = str(error)
    except FOREIGN:
        words = ""
    redaction = tool.redaction
    secrets = _secret_texts(tool, report) if tool.guarded else []
    longest = max(map(len, secrets or ()), default=1)
    # Long enough that what is masked does not leave the message empty.
    window = MESSAGE_LIMIT * 8 + longest
    was_cut = len(words) > window
    words = words[:window]
    words = _without(words, secrets)
    if was_cut:
        # The last of it may be the beginning of a secret.
        words = words[: max(len(words) - longest + 1, 0)]
    words = _DOCUMENTATION.sub("", words)
    if redaction is not None:
        words = redaction.text(words)
    name = class_name(error)[:100]
    words = re.sub(_UNPRINTABLE, lambda found: found[0].encode("unicode_escape").decode("ascii"), f"{name}: {words}" if words else name)
    return f"{words[:MESSAGE_LIMIT]}..." if len(words) > MESSAGE_LIMIT else words


def _without(words: str, secrets: Iterable[str] | None) -> str:
    """A text with secrets masked; a short one only where it stands alone, so that it does not mangle the rest.

    Where there are too many secrets to know them all, nothing of the text is left.
    """
    if secrets is None:
        return MASK if words else words
    for secret in secrets:
        words = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, words) if len(secret) < 4 else words.replace(secret, MASK)
    return words


def _secret_texts(tool: Tool, report: CoercionReport) -> list[str] | None:
    """The values of secret parameters, and of keys that are hidden, as they may stand in a text; None where they are too many."""
    secrets = [item for name, item in report.normalized_args.items() if not shows(tool, name)]
    if tool.redaction is not None and tool.redaction.keys:
        hidden_ones = _under_keys(tool.redaction, [report.normalized_args, report.arguments, report.residual])
        if hidden_ones is None:
            return None
        secrets += hidden_ones
    return texts_of(tool, secrets)


def _under_keys(redaction: Redaction, value: Any) -> list[Any] | None:
    """The values at any depth whose keys are hidden; None where there is too much to look through."""
    found: list[Any] = []
    pending = [value]
    for _ in range(_LOOKED_AT):
        if not pending:
            break
        item = pending.pop()
        if isinstance(item, Mapping):
            with suppress(Exception):  # a mapping of someone's own may do anything
                for key, inner in item.items():
                    (found if redaction.hides(key) else pending).append(inner)
        elif isinstance(item, list | tuple | set | frozenset):
            pending.extend(item)
    return None if pending else found


def texts_of(tool: Tool, secrets: list[Any] | None) -> list[str] | None:
    """What secret values hold, as it may stand in a text, the longest first; None where it is too much.

    The keys in them are secret too, but for the names that the tool declares.
    """
    if not secrets:
        return None if secrets is None else []
    declared = tool.names or frozenset(names_of(tool.document))
    found: set[str] = set()
    pending = list(secrets)
    seen: dict[int, Any] = {}  # what was looked into, held so that no other object gets its id
    for _ in range(_LOOKED_AT):
        if not pending:
            break
        item = pending.pop()
        if isinstance(item, str | bytes | int | float):
            if not isinstance(item, bool):
                found.update(_spellings(item))
        elif item is not None and id(item) not in seen:
            seen[id(item)] = item
            with suppress(Exception):  # a value's own methods may do anything
                pending.extend(_inside(item, declared))
    return None if pending else sorted(found, key=len, reverse=True)


def _spellings(value: str | bytes | float) -> Iterable[str]:
    """A value as text, and as it stands in a repr or in JSON."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return filter(None, (text, repr(value)[1:-1], json.dumps(text)[1:-1])) if isinstance(value, str) else filter(None, (text,))


# What these hold stands in the fields, or is no more than their names.
_NO_FIELDS: Final = frozenset({"__dict__", "__weakref__", "__pydantic_fields_set__"})


def _inside(value: Any, declared: Collection[str]) -> Iterable[Any]:
    """What a value holds: its items, keys or fields, and what a wrapper such as pydantic's SecretStr keeps from being printed."""
    if isinstance(value, Mapping):
        yield from (key for key in value if not (isinstance(key, str) and key in declared))
        yield from value.values()
        return
    if isinstance(value, list | tuple | set | frozenset):
        yield from value
        return
    fields = fields_of(value)
    copied = snapshot(value) if fields is value else list(fields.values())
    yield copied if isinstance(copied, dict | list | str) else None
    unveil = getattr(type(value), "get_secret_value", None)
    if unveil is not None:
        yield unveil(value)
    names = [*getattr(type(value), "__slots__", ()), *getattr(value, "__dict__", ())]
    for name in names:
        if name not in _NO_FIELDS:
            yield getattr(value, name, None)
