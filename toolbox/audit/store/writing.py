"""Records -> the tables: many of them with few statements, and written twice where it must be without being there twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import Insert

from toolbox.audit.record import AuditRecord, CallStatus
from toolbox.audit.store.columns import key_column
from toolbox.audit.store.lost import lost_sessions
from toolbox.audit.store.rows import Row, Rows, ending_row, rows_of
from toolbox.audit.store.sessions import Session
from toolbox.audit.store.tables import changes, failures, records, sessions

__all__ = ["Ending", "Opening", "begin_session", "write"]

_AT_ONCE: Final = 500
_ENDING: Final = ("status", "closed_at", "duration_ms", "error", "worst_risk")


class Opening:
    """The record of a call that is about to run."""

    __slots__ = ("rows",)

    def __init__(self, record: AuditRecord) -> None:
        self.rows = rows_of(record)


class Ending:
    """A finished record; of one that was opened and has run, only what is new is written."""

    __slots__ = ("_record", "_rows", "row", "was_opened")

    def __init__(self, record: AuditRecord, changes_written: int | None) -> None:
        self._record = record
        self._rows: Rows | None = None
        is_known = changes_written is not None and len(record.diagnostics) <= changes_written
        self.was_opened = is_known and record.invoked is not None and not record.failures
        if self.was_opened:
            self.row: Row = {"the_id": key_column(record.id), **ending_row(record)}
        else:
            self._rows = rows_of(record)
            self.row = self._rows.record

    @property
    def rows(self) -> Rows:
        """All rows of the record."""
        if self._rows is None:
            self._rows = rows_of(self._record)
        return self._rows


def begin_session(connection: Connection, session: Session) -> None:
    """Put this use of the store on record, and settle what sessions have left open whose process has ended."""
    connection.execute(sessions.insert().values(**asdict(session)))
    dead = lost_sessions(connection)[0]
    for start in range(0, len(dead), _AT_ONCE):
        lost = and_(records.c.status == CallStatus.RUNNING.value, records.c.session_id.in_(dead[start : start + _AT_ONCE]))
        connection.execute(update(records).where(lost).values(status=CallStatus.UNKNOWN.value))


def write(connection: Connection, session: Session, items: Sequence[Sequence[Opening | Ending]]) -> None:
    """Write a batch. It may be done again for the same items when it is not known whether it was committed."""
    opened: list[Rows] = []
    whole: list[Rows] = []
    ended: list[Ending] = []
    for group in items:
        for item in group:
            if isinstance(item, Opening):
                opened.append(item.rows)
            elif item.was_opened:
                ended.append(item)
            else:
                whole.append(item.rows)
    for rows in (*opened, *whole):
        rows.record["session_id"] = session.id
    statements = _statements(connection.dialect.name)
    if opened:
        connection.execute(statements["open"], [rows.record for rows in opened])
    if ended:
        result = connection.execute(statements["end"], [item.row for item in ended])
        if result.rowcount != len(ended):
            # One of them is not there any more; what it says is known here in full.
            for item in ended:
                item.rows.record["session_id"] = session.id
                whole.append(item.rows)
    if whole:
        # The same record may come twice; one statement must not meet a row twice.
        latest = {rows.record["id"]: rows for rows in whole}
        connection.execute(statements["whole"], [rows.record for rows in latest.values()])
    for name in ("changes", "failures"):
        found = [row for rows in (*opened, *whole) for row in getattr(rows, name)]
        if found:
            connection.execute(statements[name], found)


@cache
def _statements(dialect: str) -> dict[str, Any]:
    def inserted(table: Any) -> Any:
        return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)

    whole = inserted(records)
    others = [column.name for column in records.columns if column.name not in ("id", "session_id")]
    ending = update(records).where(records.c.id == bindparam("the_id")).values({name: bindparam(name) for name in _ENDING})
    made: dict[str, Insert] = {
        # A record that has ended already stays so.
        "open": inserted(records).on_conflict_do_nothing(index_elements=["id"]),
        "whole": whole.on_conflict_do_update(index_elements=["id"], set_={name: whole.excluded[name] for name in others}),
        "changes": inserted(changes).on_conflict_do_nothing(index_elements=["record_id", "position"]),
        "failures": inserted(failures).on_conflict_do_nothing(index_elements=["record_id", "position"]),
    }
    return {**made, "end": ending}
