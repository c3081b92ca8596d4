"""``toolbox report``: how models drift from the types of tools, from a store of records."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from toolbox.audit.report import Drift, DriftReport, Example, Group, ParameterDrift, drift_page, drift_report
from toolbox.audit.report.drift import count_text, name_text, percent_text, span_text, time_text
from toolbox.cli.printing import RISK_STYLES, Cell, Column, Printer, Row
from toolbox.cli.problems import UsageProblem
from toolbox.cli.stores import open_store, source_of
from toolbox.cli.times import read_moment
from toolbox.errors import StoreError

__all__ = ["report"]

_ADVICE: Final = 10
_PARAMETERS: Final = 25
_REFUSALS: Final = 10
_BUCKETS: Final = 14
_MODELS: Final = 4
_CELL: Final = 40
_NAME: Final = 60


def report(
    place: str,
    printer: Printer,
    *,
    html: str | None = None,
    as_json: bool = False,
    since: str | None = None,
    until: str | None = None,
    tool: str | None = None,
    model: str | None = None,
) -> int:
    """Show how models drift, as the records of a store say.

    Args:
        place: path of an SQLite file, or a URL.
        printer: where it is shown.
        html: the file that the page is written to.
        as_json: whether the result is JSON.
        since: the first moment, as it was written.
        until: the first moment after, as it was written.
        tool: only calls of this tool.
        model: only calls of this model.

    Returns:
        0; or 1 when there is no call to report about.

    Raises:
        UsageProblem: the store cannot be read, or the page cannot be written.
    """
    now = time.time()
    first, end = read_moment("--since", since, now), read_moment("--until", until, now)
    if first is not None and end is not None and first >= end:
        raise UsageProblem(f"--since {since} is not before --until {until}, so no call can be between them")
    if html is not None:
        _check_target(html, place)
    store = open_store(place)
    try:
        made = drift_report(store, since=first, until=end, tool=tool, model=model, source=source_of(place))
        known = made.total.calls or store.count()
    except StoreError as error:
        raise UsageProblem(str(error)) from error
    finally:
        store.close()
    if html is not None:
        _write(html, made)
    if as_json:
        printer.json(made.to_dict())
    elif made.total.calls:
        _totals(made, printer)
        if html is None:
            _details(made, printer)
    if html is not None:
        printer.line(f"{html} is written", err=True)
    if made.total.calls:
        return 0
    what = "holds no call yet" if not known else f"holds {_plural(known, 'call')}, and none of them is in this range"
    if made.uncounted_texts:
        what = f"holds no call in this range that says something about a model; not counted: {'; '.join(made.uncounted_texts)}"
    printer.line(f"{source_of(place)} {what}", err=True)
    return 1


def _check_target(html: str, place: str) -> None:
    """A page is not written over the records that it is about."""
    path = Path(place.removeprefix("sqlite:///"))
    try:
        is_store = Path(html).samefile(path)
    except (OSError, ValueError):
        return  # one of them is not there yet
    if is_store:
        raise UsageProblem(f"--html {html} names the store itself; name another file")


def _write(html: str, made: DriftReport) -> None:
    try:
        Path(html).write_text(drift_page(made), encoding="utf-8")
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageProblem(f"{html} cannot be written: {why}") from error


# -- what is shown -----------------------------------------------------------------------------------------------------------------


def _totals(made: DriftReport, printer: Printer) -> None:
    total = made.total
    assert made.first is not None  # there is a call
    assert made.last is not None
    printer.line(f"{_plural(total.calls, 'call')} from {time_text(made.first)} to {time_text(made.last)}", "bold")
    asked = [f"{name} {said}" for name, said in (("tool", made.tool), ("model", made.model)) if said is not None]
    if asked:
        printer.line(f"only {', '.join(asked)}")
    counts = (
        ("as they are", total.as_is, ""),
        ("mended", total.mended, "yellow"),
        ("refused", total.refused, "red"),
        ("unknown tool", total.unknown_tool, "magenta"),
    )
    printer.line()
    columns = (Column("arguments"), Column("calls", right=True), Column("share", right=True))
    printer.table(columns, [(Cell(name, style), count_text(count), percent_text(count, total.calls)) for name, count, style in counts])
    ends = sorted(total.statuses.items(), key=lambda item: (-item[1], item[0]))
    printer.line()
    said = ", ".join(f"{count_text(count)} {name.replace('_', ' ')}" for name, count in ends)
    printer.line(f"ended: {said}")
    if made.uncounted_texts:
        printer.line(f"not counted: {'; '.join(made.uncounted_texts)}")


def _details(made: DriftReport, printer: Printer) -> None:
    _groups(printer, "Models", "model", made.models, made.total.not_run)
    _groups(printer, "Tools", "tool", made.tools, made.total.not_run)
    _parameters(printer, made)
    _refusals(printer, made)
    _buckets(printer, made)
    if made.unknown_tools:
        _heading(printer, "Names that no tool has")
        rows = [(_name(name), count_text(calls)) for name, calls in made.unknown_tools[:_REFUSALS]]
        printer.table((Column("name"), Column("calls", right=True)), rows)
    _advice(printer, made)


def _heading(printer: Printer, text: str) -> None:
    printer.line()
    printer.line(text, "bold")


def _groups(printer: Printer, title: str, one: str, groups: Sequence[Group], not_run: int) -> None:
    _heading(printer, title)
    heads = ("calls", "as they are", "mended", "refused", *(("not run",) if not_run else ()))
    columns = (Column(one), *(Column(head, right=True) for head in heads), Column("most frequent drift"))
    rows: list[Row] = []
    for item in groups:
        tally = item.tally
        shares = [percent_text(count, tally.calls) for count in (tally.as_is, tally.mended, tally.refused)]
        shares += [count_text(tally.not_run)] if not_run else []
        top = f"{_cut(item.top, 2 * _NAME)}, {count_text(item.top_calls)}" if item.top else "-"
        rows.append((_name(item.name), count_text(tally.calls), *shares, top))
    printer.table(columns, rows)


def _parameters(printer: Printer, made: DriftReport) -> None:
    if not made.parameters:
        return
    _heading(printer, "Where it drifts: share of the tool's calls in which a parameter was changed or refused")
    models = [group.name for group in made.models][:_MODELS] if len(made.models) > 1 else []
    calls = {group.name: group.models for group in made.tools}
    heads = ("share", *(_cut(name_text(model), 16) for model in models), "changed", "refused")
    columns = (Column("tool"), Column("parameter"), *(Column(head, right=True) for head in heads))
    shown = sorted(made.parameters, key=lambda item: -item.drifted)[:_PARAMETERS]
    rows: list[Row] = []
    for item in made.parameters:
        if item in shown:
            shares = [_share(item.models.get(model, 0), calls.get(item.tool, {}).get(model, 0)) for model in models]
            counts = (count_text(item.changed), count_text(item.refused))
            rows.append((_name(item.tool), _parameter(item), _share(item.drifted, item.calls), *shares, *counts))
    printer.table(columns, rows)
    _rest(printer, len(made.parameters) - len(shown) + made.left_out.get("parameters", 0))


def _parameter(item: ParameterDrift) -> str:
    return _name(item.parameter) + ("" if item.is_declared else " (not declared)")


def _share(part: int, whole: int) -> Cell:
    if not whole:
        return Cell("-", "dim")
    style = "red" if part / whole >= 0.2 else "yellow" if part / whole >= 0.05 else ""
    return Cell(percent_text(part, whole), style)


def _refusals(printer: Printer, made: DriftReport) -> None:
    if not made.refusals:
        return
    _heading(printer, "Refusals")
    counts = (Column("calls", right=True), Column("share", right=True))
    columns = (Column("tool"), Column("parameter"), Column("reason"), *counts, Column("for example"))
    shown = made.refusals[:_REFUSALS]
    rows = [
        (
            _name(item.tool),
            _name(item.parameter),
            Cell(item.kind.replace("_", " "), "red"),
            count_text(item.calls),
            percent_text(item.calls, item.of_calls),
            _examples(item, 2) or "-",
        )
        for item in shown
    ]
    printer.table(columns, rows)
    _rest(printer, len(made.refusals) - len(shown) + made.left_out.get("refusals", 0))


def _buckets(printer: Printer, made: DriftReport) -> None:
    if len(made.buckets) < 2:
        return
    span = made.buckets[0].end - made.buckets[0].start
    _heading(printer, f"Over time, by {span_text(span)}")
    columns = (Column("from (UTC)"), *(Column(head, right=True) for head in ("calls", "mended", "refused")))
    used = [item for item in made.buckets if item.tally.calls]
    shown = used[-_BUCKETS:]
    rows = [
        (
            time_text(item.start)[:16].replace("T", " "),
            count_text(item.tally.calls),
            percent_text(item.tally.mended, item.tally.calls),
            percent_text(item.tally.refused, item.tally.calls),
        )
        for item in shown
    ]
    printer.table(columns, rows)
    if len(shown) < len(used):
        printer.line(f"and {count_text(len(used) - len(shown))} earlier")


def _advice(printer: Printer, made: DriftReport) -> None:
    drifts = made.drifts
    if not drifts:
        return
    _heading(printer, "What to mend first")
    for number, item in enumerate(drifts[:_ADVICE], 1):
        share = f"{percent_text(item.calls, item.of_calls)} of {_plural(item.of_calls, 'call')}"
        style = "red" if item.is_refusal else RISK_STYLES.get(item.risk, "")
        begin = f"{number}. "
        space = " " * len(begin)
        said = f"{_name(item.tool)} {_name(item.parameter)}: {item.label}, {share}"
        printer.line(f"{begin}{said}", style, hanging=len(begin))
        examples = _examples(item, 2)
        if examples:
            printer.line(f"{space}came: {examples}", hanging=len(begin))
        printer.line(f"{space}{item.advice.where}: {item.advice.text}", hanging=len(begin))
        if item.advice.code:
            printer.line(f"{space}{item.advice.code}", hanging=len(begin))
    _rest(printer, len(drifts) - _ADVICE + made.left_out.get("changes", 0) + made.left_out.get("refusals", 0))


def _rest(printer: Printer, count: int) -> None:
    if count > 0:
        printer.line(f"and {count_text(count)} more, in --html and --json as far as they are frequent")


def _examples(item: Drift, count: int) -> str:
    return ", ".join(_example(item, example) for example in item.examples[:count] if example.came or example.became)


def _example(item: Drift, example: Example) -> str:
    came = _cut(example.came, _CELL) or "nothing"
    if example.became:
        return f"{came} -> {_cut(example.became, _CELL)}"
    return f"{came}, left out" if item.leaves_out else came


def _name(text: str) -> str:
    return _cut(name_text(text), _NAME)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _plural(number: int, one: str) -> str:
    return f"{count_text(number)} {one}" if number == 1 else f"{count_text(number)} {one}s"
