"""Items of the review queue as a person sees them.

Everything that is shown may have been written by a model that means no good. So nothing of an item is left out, and what cannot be seen, or
is made to look like something else, is shown as an escape.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from toolbox.cli.printing import Cell, Column, Printer
from toolbox.cli.visible import visible
from toolbox.diagnostics import shorten
from toolbox.recovery.review import ReviewEvent, ReviewItem, ReviewState, RunState

__all__ = ["RUN_STYLES", "show_arguments", "show_item", "show_items"]

_BRIEF: Final = 60
_STYLES: Final = {"waiting": "yellow", "corrected": "yellow", "approved": "cyan", "rejected": "red", "expired": "dim"}
RUN_STYLES: Final = {"done": "green", "failed": "red", "unknown": "bold red", "running": "cyan"}

_ITEMS: Final = (
    Column("id", whole=True),
    Column("state", whole=True),
    Column("run", whole=True),
    Column("held (UTC)", whole=True),
    Column("reason"),
    Column("tool"),
    Column("arguments"),
)
_ARGUMENTS: Final = (Column("path"), Column("came"), Column("runs with"), Column("", whole=True))
_EVENTS: Final = (Column("when (UTC)", whole=True), Column("step"), Column("by"), Column("note"))
_ATTEMPTS: Final = (Column("attempt", whole=True), Column("verdict", whole=True), Column("what changed"), Column("problem"))
_MARKS: Final = {"same": "dim", "changed": "yellow", "added": "cyan", "left out": "red", "": ""}


def show_items(printer: Printer, items: Iterable[ReviewItem]) -> None:
    """A line for each item."""
    printer.table(_ITEMS, map(_item_row, items))


def show_item(printer: Printer, item: ReviewItem, events: Sequence[ReviewEvent]) -> None:
    """All of one item: what came, what would run, why it waits, and what has happened to it."""
    line = printer.line
    line(f"{visible(item.tool)} {item.id}: {_standing(item)}", "bold")
    said = [("reason", item.reason), ("call", item.call_id), ("record", item.record_id)]
    said += [(name, item.metadata.get(name)) for name in ("model", "conversation_id", "user")]
    line(", ".join(f"{name} {_plain(value)}" for name, value in said if value is not None))
    others = {name: value for name, value in item.metadata.items() if name not in {"model", "conversation_id", "user"}}
    if others:
        line(f"metadata {_json(others)}")
    line(f"held {_when(item.held_at)}" + (f", expires {_when(item.expires_at)}" if item.expires_at is not None else ""))
    if item.repeats:
        line(f"asked for {item.repeats + 1} times")
    if item.violation:
        printer.line()
        printer.block(visible(item.violation))
    printer.line()
    show_arguments(printer, item)
    if item.secrets:
        line(f"secret: {', '.join(map(visible, item.secrets))} (not stored; whoever runs it gives them again)")
    if item.attempts:
        printer.line()
        line("Attempts to correct it", "bold")
        printer.table(_ATTEMPTS, [_attempt_row(number, attempt) for number, attempt in enumerate(item.attempts, 1)])
    printer.line()
    line("History", "bold")
    printer.table(_EVENTS, [_event_row(event) for event in events])
    printer.line()
    if item.hash:
        line(f"hash {item.hash}")
    elif item.state is ReviewState.WAITING:
        line("nothing of it can run as it is: correct it first")


def show_arguments(printer: Printer, item: ReviewItem) -> None:
    """What came and what would run, value by value."""
    rows = [(visible(path), came, now, Cell(mark, _MARKS[mark])) for path, came, now, mark in _compared(item)]
    if rows:
        printer.table(_ARGUMENTS, rows)
    else:
        printer.line("no arguments")


def _standing(item: ReviewItem) -> str:
    is_plain = item.run is RunState.NOT_RUN and item.state is not ReviewState.APPROVED
    return item.state.value if is_plain else f"{item.state.value}, {item.run.value}"


def _item_row(item: ReviewItem) -> tuple[str | Cell, ...]:
    return (
        item.id,
        Cell(item.state.value, _STYLES[item.state.value]),
        Cell(item.run.value, RUN_STYLES.get(item.run.value, "dim")),
        _when(item.held_at)[5:16],
        item.reason.replace("_", " ") + (f" (asked {item.repeats + 1} times)" if item.repeats else ""),
        visible(item.tool),
        _brief(item.original if item.arguments is None else item.arguments),
    )


def _event_row(event: ReviewEvent) -> tuple[str, ...]:
    note = event.note or ("" if event.arguments is None else _json(event.arguments))
    return (_when(event.at), event.step.value.replace("_", " "), visible(event.by), visible(note))


def _attempt_row(number: int, attempt: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        visible(str(attempt.get("attempt_number", number))),
        visible(str(attempt.get("verdict", ""))),
        "\n".join(_attempt_changes(attempt)),
        visible(str(attempt.get("problem") or "")),
    )


def _attempt_changes(attempt: Mapping[str, Any]) -> list[str]:
    """What a model made of the arguments, place by place; what it left as it was is not told."""
    came, gave = attempt.get("original_arguments"), attempt.get("corrected_arguments")
    if gave is None:
        return []
    if not isinstance(came, dict) or not isinstance(gave, dict):
        return [_json(gave)]
    before, after = dict(_leaves(came, "$")), dict(_leaves(gave, "$"))
    lines = [f"{visible(path)}: {_json(value)} left out" for path, value in before.items() if path not in after]
    lines += [f"{visible(path)}: {_json(value)} added" for path, value in after.items() if path not in before]
    lines += [
        f"{visible(path)}: {_json(value)} -> {_json(after[path])}"
        for path, value in before.items()
        if path in after and json.dumps(value) != json.dumps(after[path])
    ]
    return lines or ["nothing"]


def _when(moment: float) -> str:
    return datetime.datetime.fromtimestamp(moment, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")


def _plain(value: Any) -> str:
    return visible(value) if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    """A JSON value on one line, whole."""
    return visible(json.dumps(value, ensure_ascii=False))


def _brief(value: Any) -> str:
    return visible(shorten(value, _BRIEF))


# -- came and runs with --------------------------------------------------------------------------------------------------------------


def _compared(item: ReviewItem) -> list[tuple[str, str, str, str]]:
    """Path, what came, what would run, and how they differ, for every value in either of them."""
    came, whole = _came(item)
    now = {} if item.invoked is None else dict(_leaves(item.invoked, "$"))
    if whole is not None:
        rows = [("$", whole, "", "")]
        return rows + [(path, "-", _json(value), "added") for path, value in now.items()]
    if item.invoked is None:
        return [(path, _json(value), "-", "") for path, value in came.items()]
    rows = []
    for path in [*came, *(path for path in now if path not in came)]:
        if path not in now:
            rows.append((path, _json(came[path]), "-", "left out"))
        elif path not in came:
            rows.append((path, "-", _json(now[path]), "added"))
        else:
            is_same = json.dumps(came[path]) == json.dumps(now[path])
            rows.append((path, _json(came[path]), _json(now[path]), "same" if is_same else "changed"))
    return rows


def _came(item: ReviewItem) -> tuple[dict[str, Any], str | None]:
    """What came by path, under the declared names; or as one text where there is no telling it apart."""
    original = item.original
    if isinstance(original, str):
        try:
            original = json.loads(original)
        except (ValueError, RecursionError):
            return {}, _json(item.original)
    if not isinstance(original, dict):
        return {}, _json(item.original)
    names = {
        change.get("before"): change.get("after")
        for change in item.changes
        if change.get("kind") == "renamed" and str(change.get("path", "")).count(".") == 1
    }
    return dict(_leaves({names.get(key, key): value for key, value in original.items()}, "$")), None


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every value that holds no other, by its path."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if key.isidentifier() else f"{path}[{json.dumps(key)}]")
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]")
    elif path != "$":
        yield path, value
