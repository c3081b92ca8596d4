"""`AuditStore`: a sink that keeps records in an SQL database, and the way to read them."""

from __future__ import annotations

import math
import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from toolbox.audit.record import AuditRecord, CallStatus
from toolbox.audit.store.stored import StoredRecord
from toolbox.diagnostics import shorten
from toolbox.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from toolbox.audit.store.reading import Wanted

__all__ = ["AuditStore"]

_T = TypeVar("_T")

_DAY: Final = 86_400.0
_REMEMBERED: Final = 100_000
_LONGEST_WAIT: Final = 2_000_000.0
"""In milliseconds still a number of 32 bits, as both databases take it."""
_MOST: Final = (1 << 63) - 1
"""The largest number that both databases hold."""


class AuditStore:
    """Keeps records in an SQL database: a file of SQLite, or a PostgreSQL server. Needs the extra ``store``.

    It is a sink: ``registry.add_sink(AuditStore("sqlite:///audit.db"))``. What it has taken is durable when the call returns. It may be the
    sink of several registries, and be used from any number of threads. The tables are made, and brought to a newer version, by itself.

    Args:
        url: ``"sqlite:///audit.db"``, the path of a file, or ``"postgresql://user@host/database"`` (with the extra ``postgres``).
        processes: whether one process writes to a file of SQLite, or many. It matters where SQLite is older than 3.51.3: with ``"many"``,
            the slower journal is used, which several processes may write to safely.
        timeout_s: how long a lock of another process is waited for.
        unknown_after_s: after how long a call of another machine that has not ended counts as unknown.
        read_only: open it for reading alone; nothing is made and nothing changed.

    Raises:
        StoreError: it cannot be opened.
    """

    blocking = True
    """Its methods wait for a disk or a server, so asynchronous code calls them in a thread."""

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        processes: Literal["one", "many"] = "one",
        timeout_s: float = 10.0,
        unknown_after_s: float = _DAY,
        read_only: bool = False,
    ) -> None:
        _require_sqlalchemy()
        from toolbox.audit.store.addresses import read_address
        from toolbox.audit.store.database import Database
        from toolbox.audit.store.tables import COMPONENT, STEPS
        from toolbox.audit.store.writing import begin_session, write

        if processes not in ("one", "many"):
            raise StoreError("misused", f"processes={processes!r}: expected 'one' or 'many'")
        _check_span(timeout_s, "timeout_s")
        _check_span(unknown_after_s, "unknown_after_s")
        self.unknown_after_s = float(unknown_after_s)
        self._database = Database(
            read_address(url, read_only=read_only),
            processes=processes,
            timeout_s=min(float(timeout_s), _LONGEST_WAIT),
            write=write,
            opened=begin_session,
        )
        # How many changes of a record were written when it was opened.
        self._written: dict[Any, int] = {}
        self._finalizer = weakref.finalize(self, self._database.abandon)
        self._finalizer.atexit = False
        try:
            self._database.migrate(COMPONENT, STEPS)
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> Path | None:
        """The file that it is in; None for a server, and for a store in memory."""
        return self._database.address.path

    # -- writing -----------------------------------------------------------------------------------------------------------------

    def __call__(self, record: AuditRecord) -> None:
        """Keep a finished record; it is durable when this returns.

        Raises:
            StoreError: it could not be kept.
        """
        from toolbox.audit.store.writing import Ending

        self._database.put([_entry(Ending, record, self._written.pop(getattr(record, "id", None), None))])

    def opened(self, record: AuditRecord) -> None:
        """Keep the record of a call that is about to run; it is durable when this returns.

        Raises:
            StoreError: it could not be kept.
        """
        from toolbox.audit.store.writing import Opening

        entry = _entry(Opening, record)
        if len(self._written) > _REMEMBERED:
            # Records that were never closed; should one be, it is written in full.
            self._written.clear()
        # Before it is written: a call that is cancelled may be closed meanwhile, and finds out then that its row is not there yet.
        self._written[record.id] = len(record.diagnostics)
        try:
            self._database.put([entry])
        except BaseException:
            self._written.pop(record.id, None)
            raise
        if record.status is not CallStatus.RUNNING:
            # The call was given up before this began, and its end has been written already.
            self._written.pop(record.id, None)

    def append(self, records: Iterable[AuditRecord]) -> None:
        """Keep many records in one transaction: all of them, or none. They are durable when this returns.

        Raises:
            StoreError: they could not be kept.
        """
        from toolbox.audit.store.writing import Ending

        if not isinstance(records, Iterable):
            raise StoreError("misused", f"append() takes records, and not {shorten(records)}; for one, call the store with it")
        items = [_entry(Ending, record, None) for record in records]
        if items:
            self._database.put(items)

    def transact(self, work: Callable[[Connection], _T]) -> _T:
        """Do work in one transaction that writes, under the store's lock; what it did is durable when this returns.

        Args:
            work: takes the connection; what it raises undoes everything. It is called once.

        Raises:
            StoreError: it could not be done, and has changed nothing; with the reason ``"outcome_unknown"``, it may have.
        """
        return self._database.transact(work)

    def migrate(self, component: str, steps: Sequence[Callable[[Connection], None]]) -> None:
        """Bring a component's tables to the version that the steps make; processes that start at once take turns.

        Args:
            component: name of the component.
            steps: the first makes version 1, and so on; each is taken once, in a transaction with the others that are missing.

        Raises:
            StoreError: the store has a newer version than there are steps, or a step failed: then nothing was changed.
        """
        self._database.migrate(component, steps)

    # -- reading -----------------------------------------------------------------------------------------------------------------

    def read(self, work: Callable[[Connection], _T]) -> _T:
        """Do work that only reads.

        Args:
            work: takes a connection that cannot write.

        Raises:
            StoreError: it could not be done.
        """
        return self._database.read(work)

    def records(
        self,
        *,
        tool: str | None = None,
        since: float | datetime | None = None,
        until: float | datetime | None = None,
        status: CallStatus | str | Iterable[CallStatus | str] | None = None,
        model: str | None = None,
        conversation_id: str | None = None,
        limit: int | None = None,
        order: Literal["oldest", "newest"] = "oldest",
    ) -> Iterator[StoredRecord]:
        """The records that are wanted, one after the other; they are read in parts, so that there may be any number of them.

        Args:
            tool: of this tool.
            since: that came at this time or later: seconds since the epoch, or an aware datetime.
            until: that came before this time.
            status: with this status, or one of these.
            model: whose metadata names this model.
            conversation_id: whose metadata names this conversation.
            limit: at most so many.
            order: which come first.

        Raises:
            StoreError: they cannot be read, or a time is naive.
        """
        from toolbox.audit.store.reading import read_records

        wanted = self._wanted(tool, since, until, status, model, conversation_id)
        limit = _count(limit, "limit")
        if order not in ("oldest", "newest"):
            raise StoreError("misused", f"order={order!r}: expected 'oldest' or 'newest'")
        return read_records(self._database, wanted, limit=limit, is_newest_first=order == "newest")

    def record(self, record_id: str | None) -> StoredRecord | None:
        """The record with this id, or None.

        Raises:
            StoreError: it cannot be read.
        """
        from toolbox.audit.store.reading import read_records

        if not isinstance(record_id, str):  # such as the id that a call has where nothing is recorded
            return None
        return next(read_records(self._database, self._wanted(record_id=record_id), limit=1), None)

    def count(
        self,
        *,
        tool: str | None = None,
        since: float | datetime | None = None,
        until: float | datetime | None = None,
        status: CallStatus | str | Iterable[CallStatus | str] | None = None,
        model: str | None = None,
        conversation_id: str | None = None,
    ) -> int:
        """How many records there are; the arguments are those of `records`.

        Raises:
            StoreError: they cannot be read, or a time is naive.
        """
        from toolbox.audit.store.reading import count_records

        return count_records(self._database, self._wanted(tool, since, until, status, model, conversation_id))

    def check(self) -> list[str]:
        """Whether the store is sound: every problem found, as text; empty when there is none.

        Raises:
            StoreError: it cannot be read at all.
        """
        from toolbox.audit.store.reading import check

        return check(self._database)

    # -- retention and end -------------------------------------------------------------------------------------------------------

    def prune(self, *, before: float | datetime | None = None, older_than: float | None = None, keep: int | None = None) -> int:
        """Delete old records, and what belongs to them; calls that still run are kept. Of several limits, all must be passed.

        Args:
            before: those that came before this time.
            older_than: those that came longer ago than so many seconds.
            keep: never the newest so many.

        Returns:
            How many records were deleted.

        Raises:
            StoreError: none of the three was given, one is no such number, or it could not be done.
        """
        from toolbox.audit.store.retention import prune

        if before is None and older_than is None and keep is None:
            raise StoreError("misused", "prune() takes before=, older_than= or keep=; without any, nothing would be left")
        keep = _count(keep, "keep")
        limits = [_seconds(before, "before")] if before is not None else []
        if older_than is not None:
            limits.append(time.time() - _seconds(older_than, "older_than"))
        return prune(self._database, before=min(limits, default=None), keep=keep, unknown_after_s=self.unknown_after_s)

    def close(self) -> None:
        """Let go of the database; what was taken is durable already. Closing twice does nothing; a use afterwards is a `StoreError`."""
        self._finalizer.detach()
        self._database.close()

    def __enter__(self) -> AuditStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"AuditStore({self._database.address.shown!r})"

    def _wanted(
        self,
        tool: str | None = None,
        since: float | datetime | None = None,
        until: float | datetime | None = None,
        status: CallStatus | str | Iterable[CallStatus | str] | None = None,
        model: str | None = None,
        conversation_id: str | None = None,
        record_id: str | None = None,
    ) -> Wanted:
        from toolbox.audit.store.reading import Wanted

        texts: dict[str, Any] = {"tool": tool, "model": model, "conversation_id": conversation_id}
        for name, text in texts.items():
            if text is not None and not isinstance(text, str):
                raise StoreError("misused", f"{name}={shorten(text)}: expected text")
        return Wanted(
            tool=tool,
            since=None if since is None else _seconds(since, "since"),
            until=None if until is None else _seconds(until, "until"),
            statuses=None if status is None else _statuses(status),
            model=model,
            conversation_id=conversation_id,
            record_id=record_id,
            unknown_after_s=self.unknown_after_s,
        )


def _entry(kind: Callable[..., _T], record: Any, *known: Any) -> _T:
    """What is to be written of a record; a sink may be given anything."""
    try:
        return kind(record, *known)
    except Exception as error:
        raise StoreError("misused", f"a {type(record).__name__} is no record that can be kept: {type(error).__name__}") from error


def _seconds(when: Any, name: str) -> float:
    """A time in seconds since the epoch."""
    if isinstance(when, datetime):
        if when.tzinfo is None:
            raise StoreError(
                "misused", f"{name}= is a datetime without a time zone; write datetime(..., tzinfo=UTC), or seconds since the epoch"
            )
        return when.timestamp()
    try:
        seconds = float(when)
    except (TypeError, ValueError, OverflowError):
        raise StoreError("misused", f"{name}= takes seconds since the epoch or an aware datetime, not a {type(when).__name__}") from None
    if math.isnan(seconds):
        raise StoreError("misused", f"{name}= is not a number")
    return seconds


def _count(count: Any, name: str) -> int | None:
    """A number of records; one that no database holds means all of them."""
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise StoreError("misused", f"{name}={shorten(count)}: expected a number of records, 0 or more")
    return min(count, _MOST)


def _check_span(seconds: Any, name: str) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or math.isnan(seconds) or seconds < 0:
        raise StoreError("misused", f"{name}={shorten(seconds)}: expected a number of seconds, 0 or more")


def _statuses(status: Any) -> tuple[str, ...]:
    several = status if isinstance(status, Iterable) and not isinstance(status, str) else (status,)
    return tuple(_status(item) for item in several)


def _status(item: Any) -> str:
    try:
        return CallStatus(item).value
    except ValueError:
        known = ", ".join(status.value for status in CallStatus)
        raise StoreError("misused", f"status {str(item)[:80]!r} is none of {known}") from None


def _require_sqlalchemy() -> None:
    try:
        import sqlalchemy  # noqa: F401 - whether it is there is the question
    except ImportError:
        raise StoreError("missing_extra", "the store needs SQLAlchemy: pip install 'toolbox-dispatch[store]'") from None
