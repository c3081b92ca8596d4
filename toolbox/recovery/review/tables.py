"""The tables of the component "reviews", and the steps that make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Column, Connection, Double, Index, Integer, MetaData, Table, Text

from toolbox.audit.store.migrations import Step

__all__ = ["COMPONENT", "MIGRATIONS", "events", "items"]

COMPONENT: Final = "reviews"

_metadata = MetaData()

items: Final = Table(
    "toolbox_review_items",
    _metadata,
    Column("id", Text, primary_key=True),
    # What the same calls have in common, as long as one of them is open: so that there is only one of them.
    Column("same", Text, unique=True),
    Column("tool", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("hash", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("original", Text, nullable=False),
    Column("arguments", Text),
    Column("invoked", Text),
    Column("secrets", Text, nullable=False),
    Column("changes", Text, nullable=False),
    Column("failures", Text, nullable=False),
    Column("violation", Text, nullable=False),
    Column("attempts", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("call_id", Text),
    Column("record_id", Text),
    Column("repeats", Integer, nullable=False),
    Column("held_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("expires_after_s", Double),
    Column("expires_at", Double),
    Column("decided_by", Text),
    Column("note", Text),
    # Who runs it: id of the claim, and the process as JSON.
    Column("claim", Text),
    Column("runner", Text),
    # Whether a dead letter was delivered: 0 no, 1 yes.
    Column("letter", Integer, nullable=False),
)
Index("toolbox_review_items_state", items.c.state, items.c.run, items.c.held_at)
Index("toolbox_review_items_held", items.c.held_at, items.c.id)

events: Final = Table(
    "toolbox_review_events",
    _metadata,
    Column("item_id", Text, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("at", Double, nullable=False),
    Column("step", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("note", Text),
    Column("hash", Text, nullable=False),
    Column("arguments", Text),
)


def _first(connection: Connection) -> None:
    _metadata.create_all(connection, checkfirst=False)


# A step that has been released is never changed: what comes later is a step of its own.
MIGRATIONS: Final[Sequence[Step]] = (_first,)
