"""The tables of the component "records", and the steps that make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Boolean, Column, Connection, Double, Index, Integer, MetaData, Table, Text, TextClause, text

from toolbox.audit.store.migrations import Step

__all__ = ["COMPONENT", "STEPS", "changes", "failures", "records", "sessions"]

COMPONENT: Final = "records"

_metadata = MetaData()

sessions: Final = Table(
    "toolbox_sessions",
    _metadata,
    Column("id", Text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("process_started", Text, nullable=False),
    Column("ended_at", Double),
)

records: Final = Table(
    "toolbox_records",
    _metadata,
    Column("id", Text, primary_key=True),
    Column("session_id", Text, nullable=False),
    Column("opened_at", Double, nullable=False),
    Column("closed_at", Double),
    Column("tool", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("call_id", Text),
    Column("model", Text),
    Column("conversation_id", Text),
    Column("user_id", Text),
    Column("error", Text),
    Column("duration_ms", Double),
    Column("worst_risk", Integer),
    Column("origin", Text),  # what it followed from, where no model asked for it as it ran
    Column("arguments", Text, nullable=False),
    Column("invoked", Text),
    Column("metadata", Text, nullable=False),
    Column("is_cut", Boolean, nullable=False),
)
Index("toolbox_records_opened", records.c.opened_at, records.c.id)
Index("toolbox_records_tool", records.c.tool, records.c.opened_at)
Index("toolbox_records_conversation", records.c.conversation_id)
_follows = text("origin IS NOT NULL")
Index("toolbox_records_origin", records.c.origin, records.c.opened_at, sqlite_where=_follows, postgresql_where=_follows)
_running = text("status = 'running'")
Index("toolbox_records_running", records.c.session_id, sqlite_where=_running, postgresql_where=_running)


def _parts_of_records(name: str, *own: Column[Any]) -> Table:
    """A table of what there may be many of in a record; what it is found and counted by stands here once more."""
    return Table(
        name,
        _metadata,
        Column("record_id", Text, primary_key=True),
        Column("position", Integer, primary_key=True),
        Column("opened_at", Double, nullable=False),
        Column("tool", Text, nullable=False),
        Column("model", Text),
        Column("origin", Text),
        Column("path", Text, nullable=False),
        Column("place", Text, nullable=False),
        *own,
    )


changes: Final = _parts_of_records(
    "toolbox_changes",
    Column("kind", Text, nullable=False),
    Column("conversion", Text, nullable=False),
    Column("risk", Integer, nullable=False),
    Column("value_before", Text),
    Column("value_after", Text),
    Column("suggestion", Text, nullable=False),
)

failures: Final = _parts_of_records(
    "toolbox_failures",
    Column("reason", Text, nullable=False),
    Column("expected", Text, nullable=False),
    Column("value", Text),
    Column("detail", Text, nullable=False),
    Column("suggestion", Text, nullable=False),
    Column("would_be", Text),
)


def _index_drift(table: Table, what: tuple[str, ...], where: TextClause) -> None:
    """What the drift report groups by. A row of an index of PostgreSQL has an upper size.

    SQLite answers from the index alone, for which every column that a question names has to be in it, the origin too.
    """
    narrow, wide = ("tool", "place", what[0], "opened_at"), ("tool", "place", *what, "model", "opened_at", "record_id", "origin")
    for dialect, names in (("postgresql", narrow), ("sqlite", wide)):
        columns = [table.c[name] for name in names]
        Index(f"{table.name}_drift", *columns, sqlite_where=where, postgresql_where=where).ddl_if(dialect=dialect)


# Declared defaults in place of what was not given are most of the changes, and are no drift.
_index_drift(changes, ("kind", "conversion", "risk"), text("NOT (kind = 'defaulted' AND risk = 1) AND origin IS NULL"))
_index_drift(failures, ("reason",), text("origin IS NULL"))


def _first(connection: Connection) -> None:
    _metadata.create_all(connection, checkfirst=False)


# A step that has been released is never changed: what comes later is a step of its own.
STEPS: Final[Sequence[Step]] = (_first,)
