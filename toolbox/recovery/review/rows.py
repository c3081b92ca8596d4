"""Items and events <-> rows of the tables. JSON is written as ASCII, so that no text in it can be refused by an engine."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolbox.audit.store.columns import text_column
from toolbox.audit.store.sessions import Session
from toolbox.errors import StoreError
from toolbox.recovery.review.item import ReviewEvent, ReviewItem
from toolbox.recovery.review.states import ReviewState, ReviewStep, RunState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import RowMapping

__all__ = ["Row", "event_of", "event_row", "item_of", "item_row", "runner_of", "runner_text", "written"]

Row: TypeAlias = "Mapping[str, Any] | RowMapping"

LONGEST_NOTE: Final = 2_000
LONGEST_TEXT: Final = 8_000
_JSON: Final = frozenset({"original", "arguments", "invoked", "secrets", "changes", "failures", "attempts", "metadata"})
_MAY_BE_NULL: Final = frozenset({"arguments", "invoked"})


def written(value: Any) -> str:
    """A JSON value as text for a column."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def item_row(item: ReviewItem) -> dict[str, Any]:
    """The columns of an item that belong to it; who runs it and the like come on top."""
    row: dict[str, Any] = {}
    for column in fields(ReviewItem):
        value = getattr(item, column.name)
        if column.name in _JSON:
            row[column.name] = None if value is None and column.name in _MAY_BE_NULL else written(value)
        elif isinstance(value, str):
            row[column.name] = text_column(value, LONGEST_TEXT)
        else:
            row[column.name] = value
    return {**row, "state": item.state.value, "run": item.run.value}


def item_of(row: Row) -> ReviewItem:
    """The item of its row.

    Raises:
        StoreError: the row holds what this version of toolbox does not know.
    """
    try:
        plain = {column.name: row[column.name] for column in fields(ReviewItem)}
        return ReviewItem.from_dict({name: _read(value) if name in _JSON else value for name, value in plain.items()})
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise StoreError("corrupt", f"the item {str(row['id'])[:40]!r} of the review queue cannot be read: {error}") from error


def _read(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def event_row(event: ReviewEvent) -> dict[str, Any]:
    """The row of an event."""
    return {
        **event.to_dict(),
        "step": event.step.value,
        "by": text_column(event.by, 200),
        "state": event.state.value,
        "run": event.run.value,
        "note": None if event.note is None else text_column(event.note, LONGEST_NOTE),
        "arguments": None if event.arguments is None else written(event.arguments),
    }


def event_of(row: Row) -> ReviewEvent:
    """The event of its row.

    Raises:
        StoreError: the row holds what this version of toolbox does not know.
    """
    try:
        plain = {column.name: row[column.name] for column in fields(ReviewEvent)}
        kinds = {"step": ReviewStep(row["step"]), "state": ReviewState(row["state"]), "run": RunState(row["run"])}
        return ReviewEvent(**{**plain, **kinds, "arguments": _read(row["arguments"])})
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise StoreError("corrupt", f"an event of the item {str(row['item_id'])[:40]!r} cannot be read: {error}") from error


def runner_text(runner: Session) -> str:
    """The process that runs an item, for its column."""
    return written({item.name: getattr(runner, item.name) for item in fields(Session)})


def runner_of(row: Row) -> Session | None:
    """The process that runs an item; None where there is none, or where nobody can tell."""
    try:
        return None if row["runner"] is None else Session(**json.loads(row["runner"]))
    except (ValueError, TypeError):
        return None
