"""Deleting what is old, in small transactions, so that calls can be recorded meanwhile."""

from __future__ import annotations

from functools import partial
from typing import Final

from sqlalchemy import Connection, delete, select, tuple_

from toolbox.audit.record import CallStatus
from toolbox.audit.store.database import Database
from toolbox.audit.store.lost import status_now
from toolbox.audit.store.sessions import Session, life_of
from toolbox.audit.store.tables import changes, failures, records, sessions

__all__ = ["prune"]

_PART: Final = 1_000


def prune(database: Database, *, before: float | None, keep: int | None, unknown_after_s: float) -> int:
    """Delete the records from before a time, but never the newest `keep`."""
    last_kept: tuple[float, str] | None = None
    if keep is not None and keep > 0:
        last_kept = database.read(partial(_oldest_of, keep=keep))
        if last_kept is None:
            return 0
    deleted = 0
    while True:
        count = database.transact(lambda connection: _part(connection, before, last_kept, unknown_after_s))
        deleted += count
        if count < _PART:
            database.transact(_forget_sessions)
            return deleted


def _forget_sessions(connection: Connection) -> None:
    """Delete the sessions of ended processes of which no record is left."""
    query = select(sessions).where(sessions.c.id.not_in(select(records.c.session_id)))
    dead = [row["id"] for row in connection.execute(query).mappings() if life_of(Session(**row)) == "dead"]
    for start in range(0, len(dead), _PART):
        connection.execute(delete(sessions).where(sessions.c.id.in_(dead[start : start + _PART])))


def _oldest_of(connection: Connection, keep: int) -> tuple[float, str] | None:
    """The oldest of the newest `keep` records; None when there are not so many."""
    query = select(records.c.opened_at, records.c.id).order_by(records.c.opened_at.desc(), records.c.id.desc())
    row = connection.execute(query.offset(keep - 1).limit(1)).first()
    return None if row is None else (row[0], row[1])


def _part(connection: Connection, before: float | None, last_kept: tuple[float, str] | None, unknown_after_s: float) -> int:
    status = status_now(connection, unknown_after_s)
    conditions = []
    if before is not None:
        conditions.append(records.c.opened_at < before)
    if last_kept is not None:
        conditions.append(tuple_(records.c.opened_at, records.c.id) < last_kept)
    query = select(records.c.id).where(*conditions, status != CallStatus.RUNNING.value).order_by(records.c.opened_at).limit(_PART)
    ids = list(connection.scalars(query))
    if ids:
        for table in (changes, failures):
            connection.execute(delete(table).where(table.c.record_id.in_(ids)))
        connection.execute(delete(records).where(records.c.id.in_(ids)))
    return len(ids)
