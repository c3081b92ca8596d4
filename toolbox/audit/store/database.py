"""One store's connections: one that writes, behind the turns of its threads, and some that read. Opened again after a fork or a fault."""

from __future__ import annotations

import atexit
import ctypes
import os
import sqlite3
import sys
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, Final, Literal, TypeVar

from sqlalchemy import Connection, Engine

from toolbox.audit.log import warn
from toolbox.audit.store.addresses import Address
from toolbox.audit.store.engines import has_wal_fault, reading_engine, writing_engine
from toolbox.audit.store.migrations import Step, apply, refuse_newer, version_of
from toolbox.audit.store.problems import interruption, is_foreign, store_error
from toolbox.audit.store.sessions import Session, life_of, this_session
from toolbox.audit.store.tables import sessions
from toolbox.audit.store.turns import FileTurn, Turns, Waiting
from toolbox.errors import StoreError

__all__ = ["Database", "Processes"]

_T = TypeVar("_T")
_R = TypeVar("_R")

Processes = Literal["one", "many"]

_RETRY_S: Final = 3.0
_PAUSE_S: Final = 1.0
_FORK_S: Final = 5.0


class Database:
    """The connections of one store.

    Args:
        address: where it is.
        processes: how many processes write to it.
        timeout_s: how long a lock is waited for.
        write: writes a batch of items in the transaction of the connection that it is given; may be done twice for the same items.
        opened: called in the first transaction of each connection that writes.
    """

    def __init__(
        self,
        address: Address,
        *,
        processes: Processes,
        timeout_s: float,
        write: Callable[[Connection, Session, Sequence[Any]], None],
        opened: Callable[[Connection, Session], None],
    ) -> None:
        self.address = address
        self.components: dict[str, Sequence[Step]] = {}
        self.session = this_session()
        self._processes = processes
        self._timeout_s = timeout_s
        self._write = write
        self._opened = opened
        self._is_closed = False
        self._is_ending = False
        self._has_warned = False
        self._reset()
        _all.add(self)

    def _reset(self) -> None:
        self._turns: Turns[Any] = Turns(self._commit, self._settle)
        self._engine: Engine | None = None
        self._readers: Engine | None = None
        self._writer: Connection | None = None
        # The sessions of connections that this store had: where one was given up after a fault, its calls may still run.
        self._own: set[str] = set()
        # The driver's own connection: what closes it for certain, wherever the engine was interrupted.
        self._raw: Any = None
        # Whether the connection may be inside a transaction that nobody is in any more.
        self._is_open = False
        self._guard: FileTurn | None = None
        self._file: tuple[int, int] | None = None
        self._down_until = 0.0

    # -- what is done with it ----------------------------------------------------------------------------------------------------

    def put(self, item: Any) -> None:
        """Write an item, in one commit with what other threads write meanwhile; it is durable when this returns.

        Raises:
            StoreError: it could not be written.
        """
        self._refuse_closed(writes=True)
        self._turns.put(item)

    def transact(self, work: Callable[[Connection], _R]) -> _R:
        """Do work in a transaction of its own that writes; what it did is durable when this returns.

        Raises:
            StoreError: it could not be done, and has changed nothing; with the reason "outcome_unknown" it may have.
        """
        self._refuse_closed(writes=True)
        return self._turns.alone(lambda: self._in_transaction(work, is_repeatable=False))

    def read(self, work: Callable[[Connection], _R]) -> _R:
        """Do work that only reads, in one view of the data.

        Raises:
            StoreError: it could not be done.
        """
        self._refuse_closed(writes=False)
        self._turns.refuse_nested()
        if not self.address.read_only and self._is_replaced():
            # The tables may not be there. Apart from that, reading needs no right and no room to write.
            self._turns.alone(lambda: self._in_transaction(lambda _connection: None, is_repeatable=True))
        if self.address.is_sqlite and self.address.path is None:
            return self._turns.alone(lambda: self._in_transaction(work, is_repeatable=False))
        return self._turns.reading(lambda: self._read(work))

    def _read(self, work: Callable[[Connection], _R]) -> _R:
        readers, before = self._readers, sys.exception()
        connection: Connection | None = None
        try:
            if readers is None:
                readers = self._readers = reading_engine(self.address, self._timeout_s)
            with readers.connect() as connection:
                if self.address.read_only:
                    self._check_versions(connection)
                return work(connection)
        except BaseException as error:
            interrupted = interruption(error, before)
            if interrupted is None:
                if not is_foreign(error):
                    raise
                raise store_error(error, self.address) from error
            # The pool may have been interrupted with a lock of its own in its hands: it is not used again.
            self._readers = None
            if connection is not None:
                with suppress(Exception):
                    connection.invalidate()
            if interrupted is error:
                raise
            raise interrupted from None
        finally:
            if self._is_ending and readers is not None:
                readers.dispose()

    def migrate(self, component: str, steps: Sequence[Step]) -> None:
        """Bring a component to the version that its steps make.

        Raises:
            StoreError: the store has a newer version, or it could not be done.
        """
        self.components[component] = tuple(steps)
        if self.address.read_only:
            self.read(lambda _connection: None)
        else:
            self._turns.alone(lambda: self._in_transaction(lambda connection: apply(connection, component, steps), is_repeatable=True))

    def release(self) -> None:
        """Write what is queued and let go of every connection; the next use opens them again."""
        if not self.address.read_only:
            with suppress(StoreError):
                self._turns.alone(self._leave, self._timeout_s)
        if self._readers is not None:
            self._readers.dispose()
            self._readers = None

    def _leave(self) -> None:
        with suppress(Exception):
            self._turns.drain()
        if self._writer is not None:
            ended = sessions.update().where(sessions.c.id == self.session.id).values(ended_at=time.time())
            with suppress(Exception):
                self._in_transaction(lambda connection: connection.execute(ended), is_repeatable=False)
        self._disconnect()

    def end(self) -> None:
        """At the end of the program: as `release`, and whoever still comes leaves nothing open."""
        self._is_ending = True
        self.release()

    def abandon(self) -> None:
        """Let go of every connection at once, without waiting for anything: nobody holds the store any more.

        The garbage collector calls it, wherever it happens to run, be it inside a transaction of another store on the same file.
        """
        self._disconnect()
        if self._readers is not None:
            self._readers.dispose()

    def close(self) -> None:
        """Let go of every connection, for good. Closing twice does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self.release()

    # -- transactions ------------------------------------------------------------------------------------------------------------

    def _commit(self, batch: Sequence[Waiting[Any]]) -> None:
        """Commit what several threads have brought; one that cannot be written does not hold up the others."""
        error = self._written(batch)
        for waiting in batch:
            # Where a batch fails for a reason that lies in what is written, each is written by itself.
            one = self._written([waiting]) if error is not None and error.reason == "failed" and len(batch) > 1 else error
            waiting.error = one
            waiting.is_done = True

    def _written(self, batch: Sequence[Waiting[Any]]) -> StoreError | None:
        try:
            self._in_transaction(
                lambda connection: self._write(connection, self.session, [waiting.item for waiting in batch]), is_repeatable=True
            )
        except StoreError as error:
            return error
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told to the caller
            return store_error(error, self.address)
        return None

    def _in_transaction(self, work: Callable[[Connection], _R], *, is_repeatable: bool) -> _R:
        """Do work and commit it. A lost server is looked for again, where that cannot do a thing twice."""
        until = time.monotonic() + _RETRY_S
        wait = 0.02
        before = sys.exception()
        if time.monotonic() < self._down_until:
            until = 0.0
        while True:
            stage = "opening"
            try:
                connection = self._connected()
                self._is_open = True
                with self._between_processes():
                    transaction = connection.begin()
                    if not self.address.is_sqlite:
                        connection.exec_driver_sql("SELECT 1")
                    stage = "working"
                    result = work(connection)
                    stage = "committing"
                    transaction.commit()
                self._is_open = False
                if self._is_ending:
                    self._disconnect()
                return result
            except BaseException as error:
                interrupted = interruption(error, before)
                self._undo(is_commit=stage == "committing", is_interrupted=interrupted is not None)
                if interrupted is not None:
                    if interrupted is error:
                        raise
                    raise interrupted from None
                problem = self._translated(error)
                if not isinstance(problem, StoreError) or problem.reason != "unreachable":
                    raise problem from (error if problem is not error else error.__cause__)
                if stage == "committing" and not is_repeatable:
                    text = f"{problem.message}; whether the last change was kept is unknown"
                    raise StoreError("outcome_unknown", text) from error
                if (stage == "working" and not is_repeatable) or time.monotonic() + wait > until:
                    self._down_until = time.monotonic() + _PAUSE_S
                    raise problem from error
            time.sleep(wait)
            wait = min(wait * 2, 0.5)

    def _undo(self, *, is_commit: bool, is_interrupted: bool) -> None:
        """After a fault: roll back, or give up the connection where that is not sure to work."""
        connection = self._writer
        # An interruption may have left anything half done. What is in memory would be gone with its connection, though.
        is_sure = not is_interrupted or self.address.path is None
        if connection is not None and is_sure and not is_commit and not connection.invalidated:
            try:
                connection.rollback()
                self._is_open = False
                return
            except Exception:  # noqa: BLE001, S110 - then the connection is given up
                pass
        self._disconnect()
        if is_interrupted:
            self._engine = None

    def _settle(self) -> None:
        """Before the turn is passed on: where an interruption has come between a fault and its end, nothing stays open."""
        if self._is_open:
            self._disconnect()

    def _translated(self, error: BaseException) -> BaseException:
        return store_error(error, self.address) if is_foreign(error) else error

    def _between_processes(self) -> AbstractContextManager[None]:
        return nullcontext() if self._guard is None else self._guard

    # -- connections -------------------------------------------------------------------------------------------------------------

    def _refuse_closed(self, *, writes: bool) -> None:
        if self._is_closed:
            raise self._closed()
        if writes and self.address.read_only:
            raise StoreError("read_only", f"the store {self.address.shown} was opened with read_only=True")

    def _closed(self) -> StoreError:
        return StoreError("closed", f"the store {self.address.shown} was closed")

    def _connected(self) -> Connection:
        """The connection that writes, opened where it is not; the caller has the turn."""
        if self._writer is not None and not self._is_open and not self._writer.invalidated and not self._is_replaced():
            return self._writer
        if self._is_closed:
            # Another thread has closed the store since this one was let in.
            raise self._closed()
        self._disconnect()
        if self._readers is not None:
            # They may hold a file that is no longer there.
            self._readers.dispose()
        if self._engine is None:
            self._engine = writing_engine(self.address, self._timeout_s)
        self._is_open = True
        try:
            connection = self._writer = self._engine.connect()
            self._raw = connection.connection.dbapi_connection
            if self.address.is_sqlite and self.address.path is not None:
                self._settle_journal(connection)
                self._file = _identity(self.address)
            session = this_session()
            with self._between_processes(), connection.begin():
                for component, steps in self.components.items():
                    apply(connection, component, steps)
                self._opened(connection, session)
        except BaseException:
            self._disconnect()
            raise
        self.session = session
        self._own.add(session.id)
        self._is_open = False
        return connection

    def _disconnect(self) -> None:
        # True until all is closed: an interruption on the way would leave a transaction open that nobody knows of.
        self._is_open = True
        connection, raw, guard = self._writer, self._raw, self._guard
        if raw is not None:
            with suppress(Exception):
                raw.close()
        if connection is not None:
            with suppress(Exception):
                connection.invalidate()
            with suppress(Exception):
                connection.close()
        if guard is not None:
            guard.close()
        self._writer = self._raw = self._guard = None
        self._is_open = False

    def _is_replaced(self) -> bool:
        """Whether the file was deleted or another put in its place: what is written to the old one is lost."""
        return self._file is not None and self._file != _identity(self.address)

    def _check_versions(self, connection: Connection) -> None:
        for component, steps in self.components.items():
            version = version_of(connection, component)
            refuse_newer(component, version, len(steps))
            if version < len(steps):
                raise StoreError(
                    "older",
                    f"the store {self.address.shown} has no part {component!r} of version {len(steps)}: "
                    "open it once with the right to write, which brings it there",
                )

    def _settle_journal(self, connection: Connection) -> None:
        """WAL where it is safe; the older journal where several processes write and this SQLite has the fault of `has_wal_fault`.

        With that fault, commits of several processes are kept apart as well: a process may be told that it is alone, and not be.
        """
        assert self.address.path is not None
        raw: Any = connection.connection.dbapi_connection
        if not has_wal_fault():
            self._set_journal(raw, "wal")
            return
        self._guard = FileTurn(self.address.path, self._timeout_s)
        wanted = "wal" if self._processes == "one" else "delete"
        others = _is_shared(raw, self._own)
        # The journal that another process has chosen stays while that one lives.
        mode = str(raw.execute("PRAGMA journal_mode").fetchone()[0])
        if not others or mode == wanted:
            self._set_journal(raw, wanted)
            mode = wanted
        if others and mode == "wal" and not self._has_warned:
            self._has_warned = True
            warn(
                "audit_store_shared",
                store=self.address.shown,
                advice=f"several processes write, and SQLite {sqlite3.sqlite_version} has a fault then: pass processes='many' in each",
            )

    def _set_journal(self, raw: Any, mode: str) -> None:
        """Set the journal; processes that start at once wait for each other, which SQLite does not do by itself here."""
        until = time.monotonic() + self._timeout_s
        while True:
            try:
                if raw.execute(f"PRAGMA journal_mode={mode}").fetchone()[0] in (mode, "memory"):
                    return
                error = StoreError("failed", f"the store {self.address.shown} cannot have the journal {mode!r} on this disk")
            except sqlite3.OperationalError as busy:
                error = store_error(busy, self.address)
                if error.reason != "locked":
                    raise error from busy
            if time.monotonic() > until:
                raise error
            time.sleep(0.01)

    # -- fork --------------------------------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Wait until nobody is inside an engine."""
        self._turns.hold(_FORK_S)

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._turns.let_go()

    def after_fork_in_child(self) -> None:
        """Forget the parent's connections without closing them: closing would end the parent's transaction, or free its locks."""
        for kept in (self._raw, self._writer, self._engine, self._readers):
            if kept is not None:
                _leak(kept)
        self._reset()


_kept: Final[list[object]] = []


def _leak(kept: object) -> None:
    """Keep an object from ever being freed, even when the interpreter ends."""
    _kept.append(kept)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def _identity(address: Address) -> tuple[int, int] | None:
    try:
        found = os.stat(address.path or "")  # noqa: PTH116 - before each commit, so without a detour
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_shared(raw: sqlite3.Connection, own: Collection[str]) -> bool:
    """Whether a session that is none of this store's own lives on this machine, or may live elsewhere, and has the file open."""
    try:
        rows = raw.execute(
            "SELECT id, host, pid, started_at, process_started, ended_at FROM toolbox_sessions WHERE ended_at IS NULL"
        ).fetchall()
    except sqlite3.OperationalError:
        return False  # a new file
    return any(life_of(Session(*row)) == "alive" for row in rows if row[0] not in own)


_all: Final[weakref.WeakSet[Database]] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for database in list(_all):
        database.end()


_held: Final[list[Database]] = []


def _before_fork() -> None:
    _held.extend(_all)
    for database in _held:
        database.before_fork()


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().after_fork_in_parent()


def _after_fork_in_child() -> None:
    while _held:
        _held.pop().after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
