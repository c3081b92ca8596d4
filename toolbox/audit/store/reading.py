"""The tables -> records: filtered, in parts, and with the calls whose process has ended told from those that still run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, func, select, tuple_

from toolbox.audit.store.columns import key_column
from toolbox.audit.store.database import Database
from toolbox.audit.store.lost import status_now
from toolbox.audit.store.rows import record_of
from toolbox.audit.store.stored import StoredRecord
from toolbox.audit.store.tables import changes, failures, records
from toolbox.errors import StoreError

__all__ = ["Wanted", "check", "count_records", "read_records"]

_PART: Final = 500
_ITEMS: Final = 10_000
"""So many changes and failures are in one part, or those of one record: what is read at once is in memory at once."""
# The row of a record, and those of its changes and failures.
_Found = tuple[dict[str, Any], list[Any], list[Any]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records are wanted; what is None does not matter."""

    unknown_after_s: float
    tool: str | None = None
    since: float | None = None
    until: float | None = None
    statuses: tuple[str, ...] | None = None
    model: str | None = None
    conversation_id: str | None = None
    record_id: str | None = None


def _conditions(wanted: Wanted, status: ColumnElement[str]) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    for column, value in (
        (records.c.id, wanted.record_id),
        (records.c.tool, wanted.tool),
        (records.c.model, wanted.model),
        (records.c.conversation_id, wanted.conversation_id),
    ):
        if value is not None:
            found.append(column == key_column(value))
    if wanted.since is not None:
        found.append(records.c.opened_at >= wanted.since)
    if wanted.until is not None:
        found.append(records.c.opened_at < wanted.until)
    if wanted.statuses is not None:
        found.append(status.in_(wanted.statuses))
    return found


def read_records(database: Database, wanted: Wanted, *, limit: int | None, is_newest_first: bool = False) -> Iterator[StoredRecord]:
    """The records, in parts: none of the reads lasts long, however many there are."""
    last: tuple[float, str] | None = None
    left = limit
    most = _PART
    while left is None or left > 0:
        size = most if left is None else min(left, most)
        part, is_last = database.read(partial(_part, wanted=wanted, size=size, last=last, is_newest_first=is_newest_first))
        for rows in part:
            yield record_of(*rows)
        if is_last:
            return
        last = (part[-1][0]["opened_at"], part[-1][0]["id"])
        left = None if left is None else left - len(part)
        # Where the records are large, not many more are asked for than can be taken.
        most = min(2 * len(part), _PART)


def _part(
    connection: Connection, wanted: Wanted, size: int, last: tuple[float, str] | None, is_newest_first: bool
) -> tuple[list[_Found], bool]:
    """The next records, and whether they are the last ones."""
    status = status_now(connection, wanted.unknown_after_s)
    key = tuple_(records.c.opened_at, records.c.id)
    query = select(records, status.label("status_now")).where(*_conditions(wanted, status)).limit(size)
    if last is not None:
        query = query.where(key < last if is_newest_first else key > last)
    columns = (records.c.opened_at, records.c.id)
    query = query.order_by(*(column.desc() for column in columns) if is_newest_first else columns)
    rows = connection.execute(query).mappings().all()
    few = _with_few_items(connection, [row["id"] for row in rows])
    is_last = len(rows) < size and few == len(rows)
    rows = rows[:few]
    ids = [row["id"] for row in rows]
    found = [_items(connection, table, ids) for table in (changes, failures)]
    part = [({**row, "status": row["status_now"]}, found[0].get(row["id"], []), found[1].get(row["id"], [])) for row in rows]
    return part, is_last


def _with_few_items(connection: Connection, ids: Sequence[str]) -> int:
    """How many of the records, from the first on, have few enough changes and failures together; at least one."""
    counts: Counter[str] = Counter()
    for table in (changes, failures):
        query = select(table.c.record_id, func.count()).where(table.c.record_id.in_(ids)).group_by(table.c.record_id)
        for record_id, count in connection.execute(query):
            counts[record_id] += count
    taken = 0
    for number, record_id in enumerate(ids):
        taken += counts[record_id]
        if taken > _ITEMS and number:
            return number
    return len(ids)


def _items(connection: Connection, table: Any, ids: Sequence[str]) -> dict[str, list[Any]]:
    items: dict[str, list[Any]] = {}
    query = select(table).where(table.c.record_id.in_(ids)).order_by(table.c.record_id, table.c.position)
    for row in connection.execute(query).mappings():
        items.setdefault(row["record_id"], []).append(row)
    return items


def count_records(database: Database, wanted: Wanted) -> int:
    """How many records are wanted."""

    def work(connection: Connection) -> int:
        status = status_now(connection, wanted.unknown_after_s)
        return connection.scalar(select(func.count()).select_from(records).where(*_conditions(wanted, status))) or 0

    return database.read(work)


def check(database: Database) -> list[str]:
    """Every problem that the engine and the tables show."""

    def work(connection: Connection) -> list[str]:
        problems: list[str] = []
        if connection.dialect.name == "sqlite":
            found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check(100)")]
            problems += [item for item in found if item != "ok"]
        for table in (changes, failures):
            lost = select(func.count()).select_from(table).where(table.c.record_id.not_in(select(records.c.id)))
            count = connection.scalar(lost)
            if count:
                problems.append(f"{count} rows of {table.name} belong to no record")
        return problems

    try:
        return database.read(work)
    except StoreError as error:
        if error.reason in ("corrupt", "not_a_database"):
            return [error.message]
        raise
