"""An interruption may come anywhere: it comes through as it is, nothing stays locked, and the store goes on at once."""

import concurrent.futures
import contextlib
import gc
import os
import random
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

import toolbox.audit.store
from tests.interrupting import Interrupter, Interruption
from toolbox import AuditRecord, AuditStore, CallStatus, StoreError

STORE = str(Path(toolbox.audit.store.__file__).parent)
ENGINE = str(Path(sqlalchemy.__file__).parent)
INSERT = sqlalchemy.text("INSERT INTO toolbox_schema VALUES (:name, 1)")
SELECT = sqlalchemy.text("SELECT component FROM toolbox_schema")


pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""An interruption in what the collector calls."""


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """What an interruption has left to the collector, such as a connection that was just being made, is found here and by no other test."""
    yield
    gc.collect()


def _record(tool: str) -> AuditRecord:
    return AuditRecord(tool, "lenient", {}, {}, status=CallStatus.DONE)


def _write(store: AuditStore) -> None:
    store(_record("f"))


def _step(store: AuditStore) -> None:
    """As a step of the review queue: it reads, and then it writes."""

    def work(connection: sqlalchemy.Connection) -> None:
        rows = connection.execute(SELECT)
        rows.fetchone()
        connection.execute(INSERT, {"name": os.urandom(8).hex()})

    store.transact(work)


def _refused_step(store: AuditStore) -> None:
    """A step that is refused while its cursor is still open."""

    def work(connection: sqlalchemy.Connection) -> None:
        connection.execute(INSERT, {"name": os.urandom(8).hex()})
        rows = connection.execute(SELECT)
        rows.fetchone()
        raise StoreError("failed", "refused")

    with contextlib.suppress(StoreError):
        store.transact(work)


def _read(store: AuditStore) -> None:
    store.read(lambda connection: connection.execute(SELECT).fetchone())


def _nothing_is_locked(store: AuditStore, pool: concurrent.futures.Executor) -> None:
    """Neither for others, nor for this thread, nor for another one of this process."""
    if store.path is not None:
        with contextlib.closing(sqlite3.connect(store.path, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("INSERT INTO toolbox_schema VALUES ('other', 1)")
            other.execute("DELETE FROM toolbox_schema WHERE component = 'other'")
            other.execute("COMMIT")
    store(_record("g"))
    pool.submit(store, _record("g")).result(5)
    assert not store._database._turns.is_mine


@pytest.fixture(scope="module")
def pool() -> Iterator[concurrent.futures.Executor]:
    """Another thread."""
    with concurrent.futures.ThreadPoolExecutor(1) as one:
        yield one


def _anywhere(
    store: AuditStore, deed: Callable[[AuditStore], None], pool: concurrent.futures.Executor, folders: tuple[str, ...], every: int
) -> int:
    """Interrupt a deed at every place, or at every n-th; how many there were."""
    # In a thread of its own: what a trace raises at the end of a handler leaves the thread with an exception that it handles for ever.
    with concurrent.futures.ThreadPoolExecutor(1) as own:
        return own.submit(_one_by_one, store, deed, pool, folders, every).result()


def _one_by_one(
    store: AuditStore, deed: Callable[[AuditStore], None], pool: concurrent.futures.Executor, folders: tuple[str, ...], every: int
) -> int:
    interrupter = Interrupter(folders)
    deed(store)
    kept: list[BaseException] = []  # as the console keeps the last one, with all its frames
    place = 1
    while True:
        try:
            with interrupter.at(place):
                deed(store)
        except Interruption as error:
            kept[:] = [error]
        else:
            if not interrupter.where:
                return place
            # What is called as an object goes, raises nothing.
            assert ENGINE in folders, f"the interruption at place {place}, {interrupter.where}, was lost"
        try:
            _nothing_is_locked(store, pool)
        except BaseException as error:
            raise AssertionError(f"after an interruption at place {place}, {interrupter.where}") from error
        place += every


@pytest.mark.parametrize("deed", [_write, _step, _refused_step, _read])
@pytest.mark.parametrize("processes", ["one", "many"])
def test_an_interruption_at_any_place(
    quick_folder: Path, pool: concurrent.futures.Executor, deed: Callable[[AuditStore], None], processes: Any
) -> None:
    """Of the store itself: whoever comes next finds everything as it should be, while the exception is kept."""
    with AuditStore(quick_folder / "audit.db", processes=processes, timeout_s=0.2) as store:
        assert _anywhere(store, deed, pool, (STORE,), 1) > 15
        assert store.check() == []


@pytest.mark.parametrize("deed", [_step, _refused_step, _read])
@pytest.mark.parametrize("processes", ["one", "many"])
def test_an_interruption_in_the_engine(
    quick_folder: Path, pool: concurrent.futures.Executor, deed: Callable[[AuditStore], None], processes: Any
) -> None:
    """Wherever it was in there."""
    with AuditStore(quick_folder / "audit.db", processes=processes, timeout_s=0.2) as store:
        every = 1 if os.environ.get("TOOLBOX_HYPOTHESIS") == "thorough" else 7
        assert _anywhere(store, deed, pool, (STORE, ENGINE), every) > 100
        assert store.check() == []


@pytest.mark.parametrize("deed", [_write, _step, _refused_step, _read])
def test_an_interruption_with_a_server(postgres_url: str, pool: concurrent.futures.Executor, deed: Callable[[AuditStore], None]) -> None:
    """The same holds there."""
    with AuditStore(postgres_url, timeout_s=2) as store:
        assert _anywhere(store, deed, pool, (STORE, ENGINE), 11) > 50
        assert store.check() == []


def test_a_turn_that_could_not_be_passed_on(quick_folder: Path, pool: concurrent.futures.Executor) -> None:
    """However often a thread was interrupted, it is not taken for one inside a transaction that it has left."""
    with AuditStore(quick_folder / "audit.db", timeout_s=0.2) as store:
        turns = store._database._turns

        def give_up() -> None:
            turns._take(toolbox.audit.store.turns._Turn(threading.get_ident(), sys._getframe()))

        give_up()
        assert turns.is_mine
        _write(store)
        _nothing_is_locked(store, pool)


def test_a_cursor_that_somebody_keeps_holds_nothing(quick_folder: Path, pool: concurrent.futures.Executor) -> None:
    """Neither a lock nor an old view of the data, whether it was opened to read or to write."""
    with AuditStore(quick_folder / "audit.db", processes="many", timeout_s=0.2) as store:
        for name in ("a", "b"):
            store.transact(lambda connection, name=name: connection.execute(INSERT, {"name": name}))  # type: ignore[misc]
        kept: list[Any] = []

        def keep(connection: sqlalchemy.Connection) -> None:
            kept.append(connection.execute(SELECT))
            kept[-1].fetchone()
            raise StoreError("failed", "given up")

        for use in (store.read, store.transact):
            with pytest.raises(StoreError, match="given up"):
                use(keep)
            before = store.count()
            _nothing_is_locked(store, pool)
            assert store.count() == before + 2
        assert len(kept) == 2


def test_an_interrupted_store_is_no_other_process(quick_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is not told that another one writes to its file."""

    def work(_connection: sqlalchemy.Connection) -> None:
        raise Interruption

    with AuditStore(quick_folder / "audit.db") as store:
        for _ in range(2):
            with pytest.raises(Interruption):
                store.transact(work)
            _write(store)
    assert "audit_store_shared" not in caplog.text


def test_what_an_engine_stumbles_over_stays_an_interruption(quick_folder: Path) -> None:
    """Also where the engine's own clean-up fails because of it; what was handled before is no interruption of this work."""

    def interrupt() -> None:
        raise Interruption

    def work(_connection: sqlalchemy.Connection) -> None:
        try:
            interrupt()
        finally:
            raise AssertionError

    def fail(_connection: sqlalchemy.Connection) -> None:
        raise ValueError("as ever")

    with AuditStore(quick_folder / "audit.db") as store:
        for use in (store.read, store.transact):
            with pytest.raises(Interruption):
                use(work)
            try:
                interrupt()
            except Interruption:
                with pytest.raises(ValueError, match="as ever"):
                    use(fail)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timers")
@pytest.mark.parametrize("seed", range(3))
def test_interruptions_by_a_signal(
    quick_folder: Path, pool: concurrent.futures.Executor, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ctrl-C comes: between two instructions, wherever the thread is.

    One that comes while the collector ends something of the engine's is lost there, and so may be what was to be ended: until it is
    collected once more.
    """
    lost: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda said: lost.append(said.exc_type))

    def interrupt(_number: int, _frame: object) -> None:
        raise Interruption

    chance = random.Random(seed)
    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    kept: list[BaseException] = []
    try:
        with AuditStore(quick_folder / "audit.db", timeout_s=0.2, processes=chance.choice(["one", "many"])) as store:
            for number in range(150):
                deed = (_write, _step, _refused_step, _read)[number % 4]
                started = time.perf_counter()
                deed(store)
                took = time.perf_counter() - started
                try:
                    signal.setitimer(signal.ITIMER_REAL, max(chance.random() * took, 1e-5))
                    deed(store)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Interruption as error:
                    interrupted += 1
                    kept[:] = [error]
                if lost:
                    lost.clear()
                    gc.collect()
                _nothing_is_locked(store, pool)
            assert store.check() == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 20
