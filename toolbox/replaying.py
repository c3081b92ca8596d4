"""Recorded calls under the tools of today: what became of each then, what would become of it now. Nothing is run.

It answers what another policy, or a changed signature, would have done, before it is deployed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from toolbox.audit import AuditRecord, CallStatus, origin_of
from toolbox.audit.verdict import Verdict, verdict_of
from toolbox.diagnostics import (
    ABSENT,
    MASK,
    CoercionReport,
    Diagnostic,
    DiagnosticKind,
    FailureReason,
    Risk,
    is_within,
    path_text,
    place_of,
)
from toolbox.dispatch import check
from toolbox.errors import PayloadError, UnknownTool
from toolbox.json_values import snapshot
from toolbox.registry import Registry
from toolbox.tools import Tool, ToolNames
from toolbox.types import Opaque

if TYPE_CHECKING:
    from toolbox.audit import MemorySink
    from toolbox.audit.store import AuditStore

__all__ = ["NO_TOOL", "OTHERS", "Replay", "ReplayOutcome", "ReplayReport", "Seen", "Unchecked", "as_sent", "replay"]

NO_TOOL: Final = "(no such tool)"
OTHERS: Final = "(others)"
_EXAMPLES: Final = 3
_KEPT: Final = 500


class ReplayOutcome(StrEnum):
    """What becomes of a call's arguments; the values are public and stable."""

    AS_IS = "as_is"
    """They fit as they came; declared defaults may have filled in what was not given."""
    MENDED = "mended"
    """They fit after changes."""
    REFUSED = "refused"
    """They did not fit."""
    NO_TOOL = "no_tool"
    """There is no tool of that name."""


class Unchecked(StrEnum):
    """Why a record cannot be compared; the values are public and stable."""

    MASKED = "masked"
    """What decides is masked, so nobody knows what came."""
    CUT = "cut"
    """The arguments were too large for the record, and only a part of them was kept."""
    NOT_KEPT = "not_kept"
    """The arguments were not kept: there was no tool of that name then, or the call could not be read."""
    OTHER_REASON = "other_reason"
    """The call was refused for another reason than its arguments, such as a missing value in the context."""
    FOLLOWED = "followed"
    """It is the run of a call that a person approved, or a corrected form of another call: no model asked for it as it ran."""


@dataclass(slots=True)
class Seen:
    """How often something was seen, and where.

    Attributes:
        count: how often.
        examples: ids of the first records.
    """

    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, record_id: str) -> None:
        """Count one record."""
        self.count += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(record_id)

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON data."""
        return {"count": self.count, "examples": list(self.examples)}


@dataclass(slots=True)
class ReplayReport:
    """What became of recorded calls then, and what would become of them now. Its size does not grow with the number of records.

    Attributes:
        policy: name of the registry's policy.
        records: how many records were read.
        partly: how many of those that were compared have masked arguments, which were left out.
        unchecked: records that could not be compared, by the reason.
        transitions: by tool, outcome then and outcome now.
        other_arguments: by tool, calls with the same outcome then and now, where the function would now get other arguments.
        newly_refused: why calls that passed would now be refused, by tool, reason and place in the arguments; every reason counts.
        newly_accepted: why calls that would now pass were refused, alike.
    """

    policy: str
    records: int = 0
    partly: int = 0
    unchecked: dict[Unchecked, Seen] = field(default_factory=dict)
    transitions: dict[tuple[str, ReplayOutcome, ReplayOutcome], Seen] = field(default_factory=dict)
    other_arguments: dict[str, Seen] = field(default_factory=dict)
    newly_refused: dict[tuple[str, str, str], Seen] = field(default_factory=dict)
    newly_accepted: dict[tuple[str, str, str], Seen] = field(default_factory=dict)

    @property
    def compared(self) -> int:
        """How many records were compared."""
        return sum(item.count for item in self.transitions.values())

    @property
    def tools(self) -> list[str]:
        """The tools of the records that were compared, the most frequent first; what belongs to none stands last."""
        counts: dict[str, int] = {}
        for (tool, _, _), item in self.transitions.items():
            counts[tool] = counts.get(tool, 0) + item.count
        return sorted(counts, key=lambda name: (name in (NO_TOOL, OTHERS), -counts[name], name))

    @property
    def gone(self) -> list[str]:
        """The tools that were called then and do not exist now."""
        missing = {tool for (tool, then, now) in self.transitions if now is ReplayOutcome.NO_TOOL is not then}
        return [name for name in self.tools if name in missing]

    def counted(
        self, tool: str | None = None, then: Iterable[ReplayOutcome] | None = None, now: Iterable[ReplayOutcome] | None = None
    ) -> int:
        """How many records had one of these outcomes then, and would have one of those now.

        Args:
            tool: of this tool; of all when None.
            then: outcomes then; all when None.
            now: outcomes now; all when None.
        """
        wanted = [tool] if tool is not None else self.tools
        before, after = (frozenset(ReplayOutcome if outcomes is None else outcomes) for outcomes in (then, now))
        found = self.transitions.items()
        return sum(item.count for (name, old, new), item in found if name in wanted and old in before and new in after)

    @property
    def refused(self) -> int:
        """How many of the compared records would now be refused, or find no tool."""
        return self.counted(now=_REFUSED)

    @property
    def refused_percent(self) -> float:
        """The same in percent."""
        return _percent(self.refused, self.compared)

    @property
    def changed(self) -> int:
        """How many of the compared records would now have another outcome, or run with other arguments."""
        other = sum(item.count for (_, then, now), item in self.transitions.items() if then is not now)
        return other + sum(item.count for item in self.other_arguments.values())

    @property
    def changed_percent(self) -> float:
        """The same in percent."""
        return _percent(self.changed, self.compared)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON data."""
        return {
            "policy": self.policy,
            "records": self.records,
            "compared": self.compared,
            "partly_compared": self.partly,
            "not_compared": {reason.value: item.to_dict() for reason, item in self.unchecked.items()},
            "refused_percent": round(self.refused_percent, 4),
            "changed": self.changed,
            "changed_percent": round(self.changed_percent, 4),
            "tools": [
                {
                    "tool": tool,
                    "then": {outcome.value: self.counted(tool, then=[outcome]) for outcome in ReplayOutcome},
                    "now": {outcome.value: self.counted(tool, now=[outcome]) for outcome in ReplayOutcome},
                    "other_arguments": self.other_arguments[tool].to_dict() if tool in self.other_arguments else Seen().to_dict(),
                }
                for tool in self.tools
            ],
            "transitions": [
                {"tool": tool, "then": then.value, "now": now.value, **item.to_dict()}
                for (tool, then, now), item in _most_frequent(self.transitions)
            ],
            "gone": self.gone,
            "newly_refused": [_reason_dict(*pair) for pair in _most_frequent(self.newly_refused)],
            "newly_accepted": [_reason_dict(*pair) for pair in _most_frequent(self.newly_accepted)],
        }


_REFUSED: Final = (ReplayOutcome.REFUSED, ReplayOutcome.NO_TOOL)
_PASSED: Final = (ReplayOutcome.AS_IS, ReplayOutcome.MENDED)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _most_frequent(found: Mapping[Any, Seen]) -> list[tuple[Any, Seen]]:
    return sorted(found.items(), key=lambda item: (-item[1].count, item[0]))


def _reason_dict(key: tuple[str, str, str], item: Seen) -> dict[str, Any]:
    return {"tool": key[0], "reason": key[1], "place": key[2], **item.to_dict()}


def replay(records: AuditStore | MemorySink | Iterable[AuditRecord], registry: Registry) -> ReplayReport:
    """Take recorded calls through the tools of a registry without running them, and compare what became of them then and now.

    Args:
        records: a store, a `MemorySink`, or records one by one, such as ``store.records(tool="search", since=...)``.
        registry: the tools as they would be; ``registry.tightened(policy)`` and ``registry.under(policy)`` give it another policy.

    Raises:
        StoreError: the records cannot be read.

    >>> from toolbox import LENIENT, STRICT, MemorySink
    >>> sink = MemorySink()
    >>> registry = Registry(LENIENT, sinks=[sink])
    >>> @registry.tool
    ... def double(number: int) -> int:
    ...     return number * 2
    >>> registry.dispatch("double", {"number": 4}), registry.dispatch("double", {"number": "21"})
    (8, 42)
    >>> report = replay(sink, registry.tightened(STRICT))
    >>> report.refused_percent, report.newly_refused
    (50.0, {('double', 'wrong_type', '$.number'): Seen(count=1, examples=['...'])})
    """
    source: Any = getattr(records, "records", records)
    comparing = Replay(registry)
    for record in source() if callable(source) else source:
        comparing.take(record)
    return comparing.report


def as_sent(change: Diagnostic) -> bool:
    """Whether nothing that came was touched: a declared default took the place of what was not given."""
    return change.kind is DiagnosticKind.DEFAULTED and change.risk is Risk.INFO


# -- one record ----------------------------------------------------------------------------------------------------------------------

# How a call was found in a model's text; of arguments that are an object already, it is not to be seen any more.
_FOUND: Final = frozenset(
    (
        DiagnosticKind.EXTRACTED,
        DiagnosticKind.DECODED,
        DiagnosticKind.REPAIRED,
        DiagnosticKind.CLOSED,
        DiagnosticKind.TRUNCATED,
        DiagnosticKind.DUPLICATE_CALL,
        DiagnosticKind.DUPLICATE_KEY,
    )
)
# What stands in a record where a value was too large for it.
_CUT: Final = re.compile(
    r"(?:\.\.\. <[\d,]+ more characters>|<[\d,]+ more>|<nested too deeply>|<integer of about [\d,]+ digits>|<cut: too large to be kept>)\Z"
)
_ENDS_MASKED: Final = re.compile(r"[:=<>\uff1a\uff1d][ \t\r\n]{0,8}[\"']?\*{3}\Z")


@dataclass(slots=True)
class _Kept:
    """What a record has kept of the arguments.

    Attributes:
        is_cut: whether something was too large for it.
        masked: the places that are masked; the root where all is.
    """

    is_cut: bool = False
    masked: list[str] = field(default_factory=list)

    @property
    def is_masked(self) -> bool:
        """Whether nothing was kept."""
        return "$" in self.masked

    def hides(self, path: str) -> bool:
        """Whether a path leads to, or below, what is masked."""
        return any(is_within(path, place) for place in self.masked)


def _kept(arguments: Any) -> _Kept:
    found = _Kept()
    pending: list[tuple[Any, Any]] = [(arguments, None)]
    while pending:
        value, path = pending.pop()
        if isinstance(value, str):
            if value == MASK or (value.endswith(MASK) and _ENDS_MASKED.search(value[-16:])):
                found.masked.append(path_text(path))
            elif value.endswith(">") and _CUT.search(value[-64:]):
                found.is_cut = True
        elif isinstance(value, Mapping):
            pending += [(item, (path, str(key))) for key, item in value.items()]
        elif isinstance(value, list | tuple):
            pending += [(item, (path, index)) for index, item in enumerate(value)]
    return found


class Replay:
    """Compares records one by one.

    Args:
        registry: the tools as they would be.

    Attributes:
        report: what was found so far.
    """

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.report = ReplayReport(registry.policy.name)
        self._known = ToolNames({tool.name: tool for tool in registry})
        self._names: set[str] = set()

    def take(self, record: AuditRecord) -> None:
        """Count one record; nothing in a record stops it."""
        report = self.report
        report.records += 1
        if origin_of(record.metadata) is not None:
            self._leave_out(Unchecked.FOLLOWED, record)
            return
        try:
            tool: Tool | None = self.registry.resolve(_called(record))
        except UnknownTool:
            tool = None
        if record.status in (CallStatus.UNKNOWN_TOOL, CallStatus.UNREADABLE):
            if tool is None and record.status is CallStatus.UNKNOWN_TOOL:
                self._count(NO_TOOL, ReplayOutcome.NO_TOOL, ReplayOutcome.NO_TOOL, record)
            else:
                self._leave_out(Unchecked.NOT_KEPT, record)
            return
        if tool is None:
            then = _then(record, _Kept())
            if isinstance(then, Unchecked):
                self._leave_out(then, record)
            else:
                self._count(self._name(record.tool), then, ReplayOutcome.NO_TOOL, record)
            return
        kept = _kept(record.arguments)
        if kept.is_cut or kept.is_masked or _hides_the_shape(tool, record.arguments, kept):
            self._leave_out(Unchecked.CUT if kept.is_cut else Unchecked.MASKED, record)
            return
        then = _then(record, kept)
        if isinstance(then, Unchecked):
            self._leave_out(then, record)
            return
        self._compare(record, tool, kept, then)

    def _compare(self, record: AuditRecord, tool: Tool, kept: _Kept, then: ReplayOutcome) -> None:
        found = _as_found(record, tool)
        made: CoercionReport | None = None
        try:
            made = check(tool, record.arguments, self._known, found)
        except PayloadError as error:
            reasons = [(error.reason, "$")]
        else:
            reasons = [(item.reason.value, item.path) for item in made.failures if not kept.hides(item.path)]
            reasons += [(FailureReason.TOO_RISKY.value, item.path) for item in found if _is_too_risky(item, tool)]
        report, name = self.report, self._name(tool.name)
        if kept.masked:
            report.partly += 1
        if reasons or made is None:
            now = ReplayOutcome.REFUSED
        else:
            now = _passed([item for item in made.diagnostics if not kept.hides(item.path)])
            if then is now and _is_other(record, tool, made):
                report.other_arguments.setdefault(name, Seen()).add(record.id)
        self._count(name, then, now, record)
        if now in _REFUSED and then in _PASSED:
            self._reasons(report.newly_refused, name, reasons, record)
        elif then in _REFUSED and now in _PASSED:
            before = [(item.reason.value, item.path) for item in record.failures if not kept.hides(item.path)]
            self._reasons(report.newly_accepted, name, before, record)

    def _count(self, tool: str, then: ReplayOutcome, now: ReplayOutcome, record: AuditRecord) -> None:
        self.report.transitions.setdefault((tool, then, now), Seen()).add(record.id)

    def _leave_out(self, reason: Unchecked, record: AuditRecord) -> None:
        self.report.unchecked.setdefault(reason, Seen()).add(record.id)

    def _name(self, name: str) -> str:
        """The name that a tool is counted under: of names that a damaged store may hold, there can be any number."""
        if name not in self._names and len(self._names) >= _KEPT:
            return OTHERS
        self._names.add(name)
        return name

    def _reasons(self, into: dict[tuple[str, str, str], Seen], tool: str, reasons: Iterable[tuple[str, str]], record: AuditRecord) -> None:
        for reason, path in dict.fromkeys((reason, place_of(path)) for reason, path in reasons):
            key = (tool, reason, path)
            if key not in into and len(into) >= _KEPT:
                # Paths hold keys that a model made up.
                key = (tool, reason, OTHERS)
            into.setdefault(key, Seen()).add(record.id)


def _called(record: AuditRecord) -> str:
    """The name that the model called the tool by."""
    first = record.diagnostics[0] if record.diagnostics else None
    is_named = first is not None and first.kind is DiagnosticKind.RENAMED and first.path == "$" and first.conversion == "tool"
    return first.before if first is not None and is_named and isinstance(first.before, str) and MASK not in first.before else record.tool


def _then(record: AuditRecord, kept: _Kept) -> ReplayOutcome | Unchecked:
    """What became of a call then, as far as it can be compared."""
    verdict = verdict_of(record.status, has_failures=bool(record.failures))
    if verdict is Verdict.NOT_RUN:
        return Unchecked.OTHER_REASON
    if verdict is Verdict.FITTED:
        return _passed([item for item in record.diagnostics if not kept.hides(item.path)])
    return Unchecked.MASKED if all(kept.hides(item.path) for item in record.failures) else ReplayOutcome.REFUSED


def _passed(changes: Iterable[Diagnostic]) -> ReplayOutcome:
    return ReplayOutcome.AS_IS if all(map(as_sent, changes)) else ReplayOutcome.MENDED


def _hides_the_shape(tool: Tool, arguments: Any, kept: _Kept) -> bool:
    """Whether what is masked decides how the arguments are read: all of them, or a rule over them all."""
    if not kept.masked:
        return False
    if not isinstance(arguments, Mapping) or isinstance(tool.document.root, Opaque):
        return True
    return not any(tool.bind.names.resolve(str(key)) is not None for key in arguments)


def _as_found(record: AuditRecord, tool: Tool) -> tuple[Diagnostic, ...]:
    """How the call was found, as far as its arguments do not show it again."""
    found: list[Diagnostic] = []
    called = _called(record)
    if called != tool.name:
        found.append(Diagnostic("$", DiagnosticKind.RENAMED, Risk.INFO, called, tool.name, "tool"))
    if not isinstance(record.arguments, str):
        found += [item for item in record.diagnostics if item.kind in _FOUND]
        # Where the values are secret, only what was expected says that it was so.
        found += [
            Diagnostic(item.path, DiagnosticKind.DUPLICATE_KEY, Risk.RISKY, MASK, MASK)
            for item in record.failures
            if item.reason is FailureReason.AMBIGUOUS and item.expected == "each key once"
        ]
    return tuple(found)


def _is_too_risky(item: Diagnostic, tool: Tool) -> bool:
    """Whether the way in which a call was found is beyond a tool's policy; of keys that were given twice, the check itself says so."""
    return item.risk > tool.policy.max_risk and item.kind is not DiagnosticKind.DUPLICATE_KEY


def _is_other(record: AuditRecord, tool: Tool, made: CoercionReport) -> bool:
    """Whether the function would get other arguments than it got."""
    before = record.invoked
    if not isinstance(before, Mapping):
        return False
    after = snapshot(made.normalized_args)
    if _written(before) == _written(after):
        return False
    defaulted_then, defaulted_now = set(_defaulted(record.diagnostics)), set(_defaulted(made.diagnostics))
    fields = {item.target or item.name: item for item in tool.parameters}
    for name in {*before, *after}:
        path = path_text((None, fields[name].name if name in fields else name))
        if name not in after and path in defaulted_then:
            continue  # a parameter with a default that is not there any more
        if name not in before and path in defaulted_now:
            continue  # a new one
        declared = fields.get(name)
        if declared is not None and declared.fallback is not None and declared.type.default is ABSENT and path in defaulted_now:
            continue  # a default that is made anew each time
        if name not in before or name not in after:
            return True
        kept = _kept(before[name])
        if not kept.masked and not kept.is_cut and _written(before[name]) != _written(after[name]):
            return True
    return False


def _defaulted(changes: Sequence[Diagnostic]) -> Iterator[str]:
    return (item.path for item in changes if item.kind is DiagnosticKind.DEFAULTED)


def _written(value: Any) -> str:
    """A JSON value as text, by which it is compared: True is not 1, and the order of keys does not count."""
    return json.dumps(value, sort_keys=True)
