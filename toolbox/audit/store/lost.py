"""Calls that are open though their process has ended: whether they had an effect is unknown."""

from __future__ import annotations

import time

from sqlalchemy import ColumnElement, Connection, and_, case, literal, or_, select

from toolbox.audit.record import CallStatus
from toolbox.audit.store.sessions import Session, life_of
from toolbox.audit.store.tables import records, sessions

__all__ = ["lost_sessions", "status_now"]

# Written into the statement, so that the index of running calls is used.
_RUNNING = literal(CallStatus.RUNNING.value, literal_execute=True)


def lost_sessions(connection: Connection) -> tuple[list[str], list[str]]:
    """Of the sessions with open calls: those whose process has ended, and those whose process lives; of others nothing is known here."""
    with_open_calls = select(records.c.session_id).where(records.c.status == _RUNNING).distinct()
    rows = connection.execute(select(sessions).where(sessions.c.id.in_(with_open_calls))).mappings().all()
    lives = [(row["id"], life_of(Session(**row))) for row in rows]
    return [session_id for session_id, life in lives if life == "dead"], [session_id for session_id, life in lives if life == "alive"]


def status_now(connection: Connection, unknown_after_s: float) -> ColumnElement[str]:
    """The status of a record as it is now, for a query: one that is open though its process has ended is ``unknown``."""
    dead, alive = lost_sessions(connection)
    is_old = and_(records.c.session_id.not_in(alive), records.c.opened_at < time.time() - unknown_after_s)
    is_lost = and_(records.c.status == _RUNNING, or_(records.c.session_id.in_(dead), is_old))
    return case((is_lost, CallStatus.UNKNOWN.value), else_=records.c.status)
