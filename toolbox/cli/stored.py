"""``toolbox replay`` of records: what became of each call then, and what would become of it now."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolbox.cli.printing import Cell, Column, Printer
from toolbox.cli.problems import UsageProblem
from toolbox.cli.progress import progress
from toolbox.cli.stores import open_store
from toolbox.cli.times import read_moment
from toolbox.errors import StoreError
from toolbox.registry import Registry
from toolbox.replaying import Replay, ReplayOutcome, ReplayReport, Seen, Unchecked

__all__ = ["Wanted", "replay_store", "show_report"]

_EVERY: Final = 200
_REASONS: Final = 25
_ID: Final = 20
_ID_ENDS: Final = 8
_WORDS: Final = {
    ReplayOutcome.AS_IS: "as they are",
    ReplayOutcome.MENDED: "mended",
    ReplayOutcome.REFUSED: "refused",
    ReplayOutcome.NO_TOOL: "no such tool",
}
_WHY: Final = {
    Unchecked.MASKED: "what decides is masked",
    Unchecked.CUT: "the record kept only a part of the arguments",
    Unchecked.NOT_KEPT: "the record kept no arguments: there was no such tool, or the call could not be read",
    Unchecked.OTHER_REASON: "refused for another reason than its arguments",
    Unchecked.FOLLOWED: "no call of a model: approved by a person, or corrected by a model",
}
_REFUSED: Final = (ReplayOutcome.REFUSED, ReplayOutcome.NO_TOOL)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records of a store are wanted, as it was written on the command line.

    Attributes:
        since: the first moment.
        until: the first moment after.
        tool: name of the tool.
        model: name of the model.
        status: one status or more, with commas between.
        limit: at most so many, the newest.
    """

    since: str | None = None
    until: str | None = None
    tool: str | None = None
    model: str | None = None
    status: str | None = None
    limit: int | None = None

    @property
    def options(self) -> list[str]:
        """The options that were given."""
        return [f"--{name}" for name in self.__slots__ if getattr(self, name) is not None]

    def arguments(self) -> dict[str, Any]:
        """The same for a store.

        Raises:
            UsageProblem: a moment cannot be read, or there is nothing between two.
        """
        now = time.time()
        first, end = read_moment("--since", self.since, now), read_moment("--until", self.until, now)
        if first is not None and end is not None and first >= end:
            raise UsageProblem(f"--since {self.since} is not before --until {self.until}, so no call can be between them")
        if self.limit is not None and self.limit < 1:
            raise UsageProblem(f"--limit is a number of records, from 1 on, and not {self.limit}")
        status = None if self.status is None else [item.strip() for item in self.status.split(",")]
        return {"since": first, "until": end, "tool": self.tool, "model": self.model, "status": status}


def replay_store(registry: Registry, place: str, wanted: Wanted, printer: Printer) -> ReplayReport:
    """Compare the records of a store; nothing is run, and nothing in the store is changed.

    Args:
        registry: the tools as they would be.
        place: path of an SQLite file, or a URL.
        wanted: which records.
        printer: where the progress is shown.

    Raises:
        UsageProblem: the store cannot be read, or an option is no such thing.
    """
    asked = wanted.arguments()
    comparing = Replay(registry)
    store = open_store(place)
    try:
        found = store.records(**asked, limit=wanted.limit, order="oldest" if wanted.limit is None else "newest")
        # Counting reads the table once more, which only somebody who looks on is to wait for.
        total = store.count(**asked) if printer.err.is_terminal else None
        with progress(printer, total if total is None or wanted.limit is None else min(total, wanted.limit)) as advance:
            for record in found:
                comparing.take(record)
                if comparing.report.records % _EVERY == 0:
                    advance(comparing.report.records, f"{comparing.report.records:,} records")
    except StoreError as error:
        raise UsageProblem(str(error)) from error
    finally:
        store.close()
    return comparing.report


# -- what is shown -------------------------------------------------------------------------------------------------------------------


def show_report(report: ReplayReport, source: str, printer: Printer) -> None:
    """The report as tables."""
    left = sum(item.count for item in report.unchecked.values())
    said = [f"{report.records:,} records of {source}" if source else f"{report.records:,} records", f"{report.compared:,} compared"]
    said += [f"{report.partly:,} of them without their masked arguments"] if report.partly else []
    said += [f"{left:,} not compared"] if left else []
    printer.line(f"{', '.join(said)} (policy {report.policy})", "bold")
    if report.compared:
        printer.line()
        columns = (Column("tool"), *(Column(name, right=True) for name in ("calls", "refused then", "refused now", "changed", "changed %")))
        printer.table(columns, [_tool_row(report, name) for name in report.tools], total=_tool_row(report, None))
        _show_transitions(report, printer)
    if report.gone:
        _heading(printer, "Tools that do not exist any more")
        printer.table((Column("tool"), Column("calls", right=True)), [(name, f"{report.counted(name):,}") for name in report.gone])
    _show_reasons("Newly refused", report.newly_refused, printer, "red")
    _show_reasons("Newly accepted: why they were refused", report.newly_accepted, printer, "green")
    if report.other_arguments:
        _heading(printer, "Same outcome, other arguments for the function")
        rows = sorted(report.other_arguments.items(), key=lambda item: -item[1].count)
        columns = (Column("tool"), Column("calls", right=True), Column("records"))
        printer.table(columns, [(name, f"{item.count:,}", _ids(item, printer)) for name, item in rows])
    if report.unchecked:
        _heading(printer, "Not compared")
        columns = (Column("why"), Column("calls", right=True), Column("records"))
        ordered = sorted(report.unchecked.items(), key=lambda item: -item[1].count)
        printer.table(columns, [(_WHY[reason], f"{item.count:,}", _ids(item, printer)) for reason, item in ordered])


def _show_transitions(report: ReplayReport, printer: Printer) -> None:
    _heading(printer, "Then and now")
    columns = (Column("tool"), Column("then", whole=True), Column("now", whole=True), Column("calls", right=True), Column("records"))
    place = {name: number for number, name in enumerate(report.tools)}
    # Of each tool, what changes first.
    ordered = sorted(report.transitions.items(), key=lambda item: (place[item[0][0]], item[0][1] is item[0][2], -item[1].count))
    rows = []
    for (tool, then, now), item in ordered:
        style = "dim" if then is now else "red" if now in _REFUSED else "green" if then in _REFUSED else "yellow"
        rows.append((tool, _WORDS[then], Cell(_WORDS[now], style), f"{item.count:,}", "" if then is now else _ids(item, printer)))
    printer.table(columns, rows)


def _show_reasons(heading: str, reasons: Mapping[tuple[str, str, str], Seen], printer: Printer, style: str) -> None:
    if not reasons:
        return
    _heading(printer, heading)
    ordered = sorted(reasons.items(), key=lambda item: (-item[1].count, item[0]))
    columns = (Column("reason"), Column("where"), Column("calls", right=True), Column("records"))
    printer.table(
        columns,
        [
            (Cell(reason.replace("_", " "), style), f"{tool} {place}" if place != "$" else tool, f"{item.count:,}", _ids(item, printer))
            for (tool, reason, place), item in ordered[:_REASONS]
        ],
    )
    if len(ordered) > _REASONS:
        printer.line(f"and {len(ordered) - _REASONS:,} more")


def _heading(printer: Printer, text: str) -> None:
    printer.line()
    printer.line(text, "bold")


def _tool_row(report: ReplayReport, tool: str | None) -> tuple[str | Cell, ...]:
    calls, refused = report.counted(tool), report.counted(tool, now=_REFUSED)
    same = sum(report.counted(tool, then=[outcome], now=[outcome]) for outcome in ReplayOutcome)
    others = [item for name, item in report.other_arguments.items() if tool in (None, name)]
    changed = calls - same + sum(item.count for item in others)
    style = "yellow" if changed else ""
    return (
        "all" if tool is None else tool,
        f"{calls:,}",
        f"{report.counted(tool, then=_REFUSED):,}",
        Cell(f"{refused:,}", "red" if refused else ""),
        Cell(f"{changed:,}", style),
        Cell(f"{100 * changed / calls if calls else 0:.1f}", style),
    )


def _ids(item: Seen, printer: Printer) -> str:
    """The ids of some records: whole where they can be searched for, in short where somebody only looks at them."""
    ids = [_short(example) for example in item.examples] if printer.out.is_terminal else item.examples
    return ", ".join(ids) + (", ..." if item.count > len(ids) else "")


def _short(record_id: str) -> str:
    return record_id if len(record_id) <= _ID else f"{record_id[:_ID_ENDS]}...{record_id[-_ID_ENDS:]}"
