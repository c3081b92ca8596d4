"""``toolbox replay``: recorded calls through the pipeline without invoking, and what became of them.

A line of a file is one call or more, or a record. What a record says of its call is compared with what would become of it now, as for the
records of a store.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolbox.cli.inputs import LINE_LIMIT, DamagedInput, open_lines
from toolbox.cli.printing import RISK_STYLES, Cell, Column, Printer
from toolbox.cli.problems import UsageProblem
from toolbox.cli.progress import progress
from toolbox.cli.record_lines import read_record
from toolbox.cli.recorded import NotRecorded, read_recorded
from toolbox.cli.shown import as_sent, conversion_words
from toolbox.cli.stored import Wanted, replay_store, show_report
from toolbox.cli.stores import is_store, source_of
from toolbox.diagnostics import Diagnostic, DiagnosticKind, Risk
from toolbox.errors import PayloadError, UnknownTool
from toolbox.payload import parse_json
from toolbox.registry import Registry
from toolbox.replaying import Replay, ReplayReport
from toolbox.tools import ToolCall

__all__ = ["Tally", "Thresholds", "replay"]

UNKNOWN: Final = "(no such tool)"
UNREAD: Final = "(no tool named)"
_BAD_KEPT: Final = 20
_KINDS_KEPT: Final = 500
_EVERY: Final = 50
_NAME_SHOWN: Final = 64


@dataclass(slots=True)
class ToolTally:
    """What became of the calls of one tool.

    Attributes:
        as_is: calls that passed as they are; declared defaults may have filled in what was not given.
        mended: calls that passed after changes.
        refused: calls that were refused.
    """

    as_is: int = 0
    mended: int = 0
    refused: int = 0

    @property
    def calls(self) -> int:
        """All calls."""
        return self.as_is + self.mended + self.refused


@dataclass(slots=True)
class Example:
    """How often something happened, and where it happened first.

    Attributes:
        line: number of the line.
        tool: name of the tool.
        path: where in the arguments.
        count: how often.
    """

    line: int
    tool: str
    path: str
    count: int = 0


@dataclass(slots=True)
class Tally:
    """What became of a recording. Its size does not grow with the recording.

    Attributes:
        lines: lines read, empty ones not counted.
        silent: lines without a call.
        bad: how many lines could not be read.
        bad_lines: number and problem of the first of them.
        damaged: why reading stopped early; empty when it did not.
        tools: by name of the tool.
        changes: by kind, conversion and risk, over the calls that passed.
        refusals: calls by reason; a call that was refused for several reasons counts for each.
    """

    lines: int = 0
    silent: int = 0
    bad: int = 0
    bad_lines: list[tuple[int, str]] = field(default_factory=list)
    damaged: str = ""
    tools: dict[str, ToolTally] = field(default_factory=dict)
    changes: dict[tuple[str, str, Risk], Example] = field(default_factory=dict)
    refusals: dict[str, Example] = field(default_factory=dict)

    @property
    def total(self) -> ToolTally:
        """What became of all calls."""
        tallies = self.tools.values()
        return ToolTally(sum(item.as_is for item in tallies), sum(item.mended for item in tallies), sum(item.refused for item in tallies))

    @property
    def refused_percent(self) -> float:
        """The share of what was refused, in percent; a line that cannot be read may have held a call, so it counts as a refused one."""
        total = self.total
        return _percent(total.refused + self.bad, total.calls + self.bad)

    def add_bad(self, line: int, problem: str) -> None:
        """Count a line that cannot be read."""
        self.bad += 1
        if len(self.bad_lines) < _BAD_KEPT:
            self.bad_lines.append((line, problem))

    def add_passed(self, line: int, tool: str, changes: list[Diagnostic]) -> None:
        """Count a call that passed, with what was changed."""
        tally = self.tools.setdefault(tool, ToolTally())
        if all(map(as_sent, changes)):
            tally.as_is += 1
        else:
            tally.mended += 1
        for item in changes:
            key = (item.kind.value, item.conversion, item.risk)
            if key not in self.changes and len(self.changes) >= _KINDS_KEPT:
                # Conversions can quote the model, so a hostile recording could make any number of them.
                key = (item.kind.value, "(others)", item.risk)
            self.changes.setdefault(key, Example(line, tool, item.path)).count += 1

    def add_refused(self, line: int, tool: str, reasons: dict[str, str], called: str = "") -> None:
        """Count a call that was refused, with the path for each reason; `called` is the name that was called, where no tool has it."""
        self.tools.setdefault(tool, ToolTally()).refused += 1
        for reason, path in reasons.items():
            self.refusals.setdefault(reason, Example(line, called or tool, path)).count += 1


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What ends the command with 1, in percent.

    Attributes:
        refused: the share of calls that are refused, or cannot be read, above which it does.
        changed: the share of records with another outcome than then, or with other arguments for the function, above which it does.
    """

    refused: float | None = None
    changed: float | None = None


@dataclass(frozen=True, slots=True)
class _Result:
    """What was found: calls without a record of what became of them, and records."""

    tally: Tally
    report: ReplayReport

    @property
    def calls(self) -> int:
        """All calls that were checked."""
        return self.tally.total.calls + self.report.compared

    @property
    def refused_percent(self) -> float:
        """The share of all of them that is refused now, or cannot be read."""
        tally, report = self.tally, self.report
        refused = tally.total.refused + tally.bad + report.refused
        return _percent(refused, self.calls + tally.bad)

    def failed(self, limits: Thresholds) -> str:
        """Why the exit code is 1; empty where it is not."""
        if self.tally.damaged:
            return f"the input is damaged {self.tally.damaged}"
        if not self.calls and (self.tally.bad or limits.refused is not None):
            return "no call was found, so nothing is known"
        if limits.refused is not None and self.refused_percent > limits.refused:
            return f"{self.refused_percent:.2f} % were refused or could not be read, more than {limits.refused:g} %"
        if limits.changed is None:
            return ""
        if not self.report.compared:
            return "no record was compared, so nothing is known of what has changed"
        if self.report.changed_percent > limits.changed:
            return f"{self.report.changed_percent:.2f} % would have another outcome or other arguments, more than {limits.changed:g} %"
        return ""


def replay(
    registry: Registry,
    place: str,
    printer: Printer,
    *,
    raw: bool = False,
    as_json: bool = False,
    limits: Thresholds = Thresholds(),
    wanted: Wanted = Wanted(),  # noqa: B008 - it is frozen
) -> int:
    """Run a recording through the pipeline without invoking, and show what became of its calls.

    Args:
        registry: the tools.
        place: path of a file of lines, or ``-``; or a store: its path, or its URL.
        printer: where it is shown.
        raw: whether each line is a model's raw text and no JSON.
        as_json: whether the result is JSON.
        limits: the shares above which the exit code says so.
        wanted: which records of a store.

    Returns:
        0; or 1 when nothing could be read, the input is damaged, or more was refused or changed than `limits` allow.

    Raises:
        UsageProblem: the recording cannot be opened, or an option does not belong to it.
    """
    stored = is_store(place)
    if stored and raw:
        raise UsageProblem("--raw is for files of lines, and not for a store")
    if not stored and wanted.options:
        raise UsageProblem(f"{wanted.options[0]} is for a store, and {'standard input' if place == '-' else place} is a file of lines")
    found = _Result(Tally(), replay_store(registry, place, wanted, printer)) if stored else _read_lines(registry, place, printer, raw=raw)
    failed = found.failed(limits)
    source = source_of(place) if stored else place
    if as_json:
        printer.json(_store_document(found, source, limits, failed) if stored else _document(found, registry, source, limits, failed))
    else:
        if not stored and (found.tally.total.calls or found.tally.bad or found.tally.silent or not found.report.records):
            _show(found.tally, registry, printer)
            if found.report.records:
                printer.line()
        if stored or found.report.records:
            show_report(found.report, source if stored else "", printer)
    if failed:
        printer.line(f"toolbox: {failed}", "bold red", err=True)
    return 1 if failed else 0


def _read_lines(registry: Registry, place: str, printer: Printer, *, raw: bool) -> _Result:
    tally = Tally()
    reader = _Reader(registry, raw)
    with open_lines(place) as lines, progress(printer, lines.size) as advance:
        try:
            for number, line in lines.numbered:
                reader.take(number, line, tally)
                if number % _EVERY == 0:
                    advance(lines.position(), f"{tally.lines:,} lines")
        except DamagedInput as error:
            tally.damaged = str(error)
    return _Result(tally, reader.comparing.report)


class _Reader:
    def __init__(self, registry: Registry, raw: bool) -> None:
        self.registry = registry
        self.raw = raw
        self.comparing = Replay(registry)
        # A line may hold much around its calls; the arguments themselves are held to the policy's own limits later.
        self.limits = replace(registry.policy.limits, text=LINE_LIMIT)

    def take(self, number: int, line: bytes | None, tally: Tally) -> None:
        """Count one line."""
        if line is None:
            tally.lines += 1
            tally.add_bad(number, f"longer than {LINE_LIMIT // 1024**2} MiB")
            return
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            tally.lines += 1
            tally.add_bad(number, f"not UTF-8 text: byte {error.start}")
            return
        if not text:
            return
        tally.lines += 1
        marks: tuple[Diagnostic, ...] = ()
        try:
            if self.raw:
                calls = self.registry.parse_calls(text)
            else:
                try:
                    value, marks = parse_json(text, self.limits)
                except PayloadError as error:
                    tally.add_bad(number, "not JSON" if error.reason == "not_json" else error.message)
                    return
                record = read_record(value)
                if record is not None:
                    self.comparing.take(record)
                    return
                calls = read_recorded(value, self.registry)
        except NotRecorded as error:
            tally.add_bad(number, str(error))
            return
        except PayloadError as error:
            tally.add_refused(number, UNREAD, {error.reason: "$"})
            return
        if not calls:
            tally.silent += 1
        for call in calls:
            self.check(number, call, marks, tally)

    def check(self, number: int, call: ToolCall, marks: tuple[Diagnostic, ...], tally: Tally) -> None:
        """Count one call."""
        changes = [*marks, *call.diagnostics]
        try:
            tool = self.registry.resolve(call.name)
        except UnknownTool:
            tally.add_refused(number, UNKNOWN, {"unknown_tool": "$"}, call.name[:_NAME_SHOWN])
            return
        if tool.name != call.name:
            changes.append(Diagnostic("$", DiagnosticKind.RENAMED, Risk.INFO, call.name, tool.name, "tool"))
        if any(item.kind is DiagnosticKind.DUPLICATE_KEY and item.risk > tool.policy.max_risk for item in marks):
            tally.add_refused(number, tool.name, {"duplicate_key": "$"})
            return
        try:
            report = self.registry.check(tool.name, call.arguments)
        except PayloadError as error:
            tally.add_refused(number, tool.name, {error.reason: "$"})
            return
        if report.ok:
            tally.add_passed(number, tool.name, [*changes, *report.diagnostics])
            return
        reasons: dict[str, str] = {}
        for failure in report.failures:
            reasons.setdefault(failure.reason.value, failure.path)
        tally.add_refused(number, tool.name, reasons)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


# -- what is shown -------------------------------------------------------------------------------------------------------------------


def _show(tally: Tally, registry: Registry, printer: Printer) -> None:
    total = tally.total
    silent = f", {tally.silent:,} without a call" if tally.silent else ""
    unread = f", {tally.bad:,} could not be read" if tally.bad else ""
    printer.line(f"{total.calls:,} calls in {tally.lines:,} lines{silent}{unread} (policy {registry.policy.name})", "bold")
    if total.calls:
        _heading(printer, "")
        columns = (Column("tool"), *(Column(name, right=True) for name in ("calls", "as they are", "mended", "refused", "refused %")))
        rows = [_counts(name, tally.tools[name]) for name in _in_order(tally, registry)]
        printer.table(columns, rows, total=_counts("all", total))
    if tally.changes:
        _heading(printer, "Changes in the calls that passed")
        columns = (Column("kind"), Column("conversion"), Column("risk", whole=True), Column("count", right=True), Column("first seen"))
        printer.table(columns, [_change_row(key, tally.changes[key]) for key in _by_risk(tally)])
    if tally.refusals:
        _heading(printer, "Reasons of the refusals")
        columns = (Column("reason"), Column("calls", right=True), Column("first seen"))
        ordered = sorted(tally.refusals.items(), key=lambda item: -item[1].count)
        printer.table(columns, [(Cell(reason.replace("_", " "), "red"), f"{item.count:,}", _seen(item)) for reason, item in ordered])
    if tally.bad:
        _heading(printer, "Lines that could not be read")
        printer.table((Column("line", right=True), Column("problem")), [(str(line), problem) for line, problem in tally.bad_lines])
        if tally.bad > len(tally.bad_lines):
            printer.line(f"and {tally.bad - len(tally.bad_lines):,} more")


def _heading(printer: Printer, text: str) -> None:
    printer.line()
    if text:
        printer.line(text, "bold")


def _counts(name: str, tally: ToolTally) -> tuple[str | Cell, ...]:
    share = _percent(tally.refused, tally.calls)
    refused = "red" if tally.refused else ""
    return (
        name,
        f"{tally.calls:,}",
        f"{tally.as_is:,}",
        Cell(f"{tally.mended:,}", "yellow" if tally.mended else ""),
        Cell(f"{tally.refused:,}", refused),
        Cell(f"{share:.1f}", refused),
    )


def _change_row(key: tuple[str, str, Risk], item: Example) -> tuple[str | Cell, ...]:
    kind, conversion, risk = key
    name = risk.name.lower()
    return kind.replace("_", " "), conversion_words(kind, conversion), Cell(name, RISK_STYLES[name]), f"{item.count:,}", _seen(item)


def _seen(item: Example) -> str:
    return f"line {item.line:,}: {item.tool} {item.path}" if item.path != "$" else f"line {item.line:,}: {item.tool}"


def _in_order(tally: Tally, registry: Registry) -> list[str]:
    """The tools that were called, as they are registered, then what belongs to none."""
    known = [tool.name for tool in registry if tool.name in tally.tools]
    return known + [name for name in (UNKNOWN, UNREAD) if name in tally.tools and name not in known]


def _by_risk(tally: Tally) -> list[tuple[str, str, Risk]]:
    """The riskiest changes first, then the most frequent ones; that declared defaults were used says least."""
    return sorted(tally.changes, key=lambda key: (-key[2], key[0] == DiagnosticKind.DEFAULTED.value, -tally.changes[key].count, key))


def _document(found: _Result, registry: Registry, place: str, limits: Thresholds, failed: str) -> dict[str, Any]:
    tally = found.tally
    return {
        "file": place,
        "policy": registry.policy.name,
        "lines": tally.lines,
        "without_call": tally.silent,
        "unreadable": {"count": tally.bad, "first": [{"line": line, "problem": problem} for line, problem in tally.bad_lines]},
        **_counted(tally.total),
        "refused_or_unreadable_percent": round(found.refused_percent, 4),
        **_limits(limits, failed),
        "tools": [{"tool": name, **_counted(tally.tools[name])} for name in _in_order(tally, registry)],
        "changes": [
            {"kind": key[0], "conversion": key[1], "risk": key[2].name.lower(), **_example(tally.changes[key])} for key in _by_risk(tally)
        ],
        "refusals": [
            {"reason": reason, **_example(item)} for reason, item in sorted(tally.refusals.items(), key=lambda item: -item[1].count)
        ],
        "records": found.report.to_dict() if found.report.records else None,
    }


def _store_document(found: _Result, source: str, limits: Thresholds, failed: str) -> dict[str, Any]:
    return {"store": source, **_limits(limits, failed), **found.report.to_dict()}


def _limits(limits: Thresholds, failed: str) -> dict[str, Any]:
    return {"fail_over": limits.refused, "fail_over_changed": limits.changed, "failed": failed or None}


def _counted(tally: ToolTally) -> dict[str, int]:
    return {"calls": tally.calls, "as_is": tally.as_is, "mended": tally.mended, "refused": tally.refused}


def _example(item: Example) -> dict[str, Any]:
    return {"count": item.count, "example": {"line": item.line, "tool": item.tool, "path": item.path}}
