"""Many threads, many tasks, many processes, one store; and a server that comes and goes."""

import asyncio
import concurrent.futures
import contextlib
import gc
import itertools
import logging
import os
import sqlite3
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from toolbox import AuditRecord, AuditStore, CallStatus, Registry, StoreError, recording
from toolbox.audit.store import engines, turns
from toolbox.audit.store.engines import has_wal_fault

Opener = Callable[..., AuditStore]

CALLS = 1_000


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads are switched as often as they can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def _doubling(store: AuditStore) -> Registry:
    registry = Registry(sinks=[store], on_audit_failure="fail_closed")

    @registry.tool
    def double(number: int) -> int:
        return number * 2

    return registry


def _all_are_there(store: AuditStore, registry: Registry, results: list[int]) -> None:
    assert results == [number * 2 for number in range(CALLS)]
    assert registry.lost_records == 0
    records = list(store.records())
    assert len({record.id for record in records}) == len(records) == CALLS
    assert {record.invoked["number"] for record in records if record.invoked} == set(range(CALLS))
    assert {record.status.value for record in records} == {"done"}
    assert store.check() == []


@pytest.mark.usefixtures("restless")
def test_a_thousand_calls_in_threads(store: AuditStore) -> None:
    """32 threads at once: every result is right, and every call has a record of its own."""
    registry = _doubling(store)
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        results = list(pool.map(lambda number: registry.dispatch("double", {"number": str(number)}), range(CALLS)))
    _all_are_there(store, registry, results)


@pytest.mark.usefixtures("restless")
def test_a_thousand_calls_in_tasks(store: AuditStore) -> None:
    """All of them at once in one event loop, which meanwhile waits for no disk."""
    registry = _doubling(store)

    async def run() -> list[int]:
        return list(await asyncio.gather(*(registry.adispatch("double", {"number": str(number)}) for number in range(CALLS))))

    _all_are_there(store, registry, asyncio.run(run()))


def test_threads_share_commits(quick_folder: Path) -> None:
    """While one commits, the others queue; whoever is next commits all that is queued, and nobody returns before."""
    with AuditStore(quick_folder / "audit.db") as store:
        commits = 0

        def count(_connection: sqlalchemy.Connection) -> None:
            nonlocal commits
            commits += 1

        gate, entered = threading.Event(), threading.Event()

        def hold(_connection: sqlalchemy.Connection) -> None:
            entered.set()
            gate.wait()

        assert store._database._engine is not None
        sqlalchemy.event.listen(store._database._engine, "commit", count)
        with concurrent.futures.ThreadPoolExecutor(41) as pool:
            holder = pool.submit(store.transact, hold)
            entered.wait()
            waiting = [pool.submit(store, AuditRecord("f", "lenient", {}, {}, status=CallStatus.DONE)) for _ in range(40)]
            while len(store._database._turns._queue) < 40:
                assert not any(item.done() for item in waiting)
            gate.set()
            for item in waiting:
                item.result()
            holder.result()
        assert (commits, store.count()) == (2, 40)


def test_one_bad_item_does_not_hold_up_the_others(quick_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what is written makes a shared commit fail, each is written by itself."""
    with AuditStore(quick_folder / "audit.db") as store:
        write = store._database._write

        def choosy(connection: Any, session: Any, items: Any) -> None:
            write(connection, session, items)
            if any(entry.row["tool"] == "bad" for group in items for entry in group):
                raise ValueError("this one cannot be written")

        monkeypatch.setattr(store._database, "_write", choosy)
        gate, entered = threading.Event(), threading.Event()

        def hold(_connection: sqlalchemy.Connection) -> None:
            entered.set()
            gate.wait()

        def put(number: int) -> str:
            try:
                store(AuditRecord("bad" if number == 7 else "good", "lenient", {}, {}, status=CallStatus.DONE))
            except StoreError as error:
                return error.reason
            return "kept"

        with concurrent.futures.ThreadPoolExecutor(21) as pool:
            pool.submit(store.transact, hold)
            entered.wait()
            waiting = [pool.submit(put, number) for number in range(20)]
            while len(store._database._turns._queue) < 20:
                pass
            gate.set()
            assert [item.result() for item in waiting] == ["failed" if number == 7 else "kept" for number in range(20)]
        assert (store.count(tool="good"), store.count(tool="bad")) == (19, 0)


def test_a_use_from_within_the_taking_of_turns_is_refused(quick_folder: Path) -> None:
    """The collector may run anywhere, and what it calls may use the store: that must not wait for the very thread that it is in."""
    with AuditStore(quick_folder / "audit.db") as store:
        with store._database._turns._lock, pytest.raises(StoreError, match="taking its turn") as error:
            store(AuditRecord("t", "p", {}, status=CallStatus.DONE))
        assert error.value.reason == "misused"
        store(AuditRecord("t", "p", {}, status=CallStatus.DONE))
        assert store.count() == 1


def test_the_collector_waits_for_nothing(quick_folder: Path) -> None:
    """A store that nobody closed may be collected at any moment, also inside a transaction of another one on the same file."""
    path = quick_folder / "audit.db"
    with AuditStore(path, timeout_s=0.1) as store:
        lost = AuditStore(path)
        lost(AuditRecord("lost", "lenient", {}, {}, status=CallStatus.DONE))
        circle: list[Any] = [lost]
        circle.append(circle)
        is_gone = weakref.ref(lost)
        del lost, circle

        def collect(_connection: sqlalchemy.Connection) -> bool:
            gc.collect()
            return is_gone() is None

        assert store.transact(collect)
        assert store.count(tool="lost") == 1


def test_closing_while_others_write(quick_folder: Path) -> None:
    """Each of them is told whether its record was kept, and none opens the store again."""
    store = AuditStore(quick_folder / "audit.db")
    kept = threading.Barrier(9)

    def write(_number: int) -> tuple[int, str]:
        store(AuditRecord("f", "lenient", {}, {}, status=CallStatus.DONE))
        kept.wait()
        for written in itertools.count(1):
            try:
                store(AuditRecord("f", "lenient", {}, {}, status=CallStatus.DONE))
            except StoreError as error:
                return written, error.reason
        raise AssertionError

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        writers = [pool.submit(write, number) for number in range(8)]
        kept.wait()
        store.close()
        told, reasons = zip(*(writer.result() for writer in writers), strict=True)
    assert store._database._writer is None
    with AuditStore(quick_folder / "audit.db") as again:
        assert (again.count(), again.check()) == (sum(told), [])
    assert set(reasons) == {"closed"}


def test_cancelling_at_any_moment(quick_folder: Path) -> None:
    """A call that is given up leaves one record, which has ended, wherever it was at that moment."""
    with AuditStore(quick_folder / "audit.db") as store:
        registry = Registry(sinks=[store])

        @registry.tool
        async def pause(loops: int) -> int:
            for _ in range(loops):
                await asyncio.sleep(0)
            return loops

        async def run() -> int:
            started = 0
            for number in range(200):
                task = asyncio.create_task(registry.adispatch("pause", {"loops": 3}, call_id=str(number)))
                for _ in range(number % 50):
                    await asyncio.sleep(0)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                started += number % 50 > 0
            # What was begun in a thread ends there.
            for pool in recording._pools.values():
                await asyncio.to_thread(pool.shutdown)
            recording._pools.clear()
            return started

        started = asyncio.run(run())
        assert registry.lost_records == 0
        found = [(record.call_id, record.status.value) for record in store.records()]
        assert len(dict(found)) == len(found) == started
        assert {status for _, status in found} <= {"done", "cancelled"}
        assert store._written == {}


# -- several processes -------------------------------------------------------------------------------------------------------------------

WRITE = """
import sys
from toolbox import recording
from toolbox import AuditRecord, AuditStore, CallStatus
store = AuditStore(sys.argv[1], processes=sys.argv[2])
sys.stdin.readline()
for number in range(30):
    store(AuditRecord("f", "lenient", {"n": number}, {}, status=CallStatus.DONE))
store.close()
"""


@pytest.mark.parametrize(("store_url", "processes"), [("sqlite", "one"), ("sqlite", "many"), ("postgres", "one")], indirect=["store_url"])
def test_processes_that_start_at_once(store_url: str, processes: str) -> None:
    """They make the tables together, none of them twice, and write without getting in each other's way."""
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WRITE, store_url, processes], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    ends = [process.communicate("go\n")[1] for process in started]
    assert ends == [""] * 3
    with AuditStore(store_url, processes=processes) as store:  # type: ignore[arg-type]  # one of the two
        assert (store.count(), store.check()) == (90, [])


def _in_child(work: Callable[[], None]) -> int:
    """Fork, do work in the child, and give its exit code."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_has_connections_of_its_own(store: AuditStore) -> None:
    """What parent and child write is all there; the child's end does not touch the parent's connection."""
    store(AuditRecord("parent", "lenient", {}, {}, status=CallStatus.DONE))
    session = store._database.session.id

    def work() -> None:
        assert store._database._writer is None
        store(AuditRecord("child", "lenient", {}, {}, status=CallStatus.DONE))
        assert store._database.session.id != session
        assert store.count() == 2
        store.close()

    assert _in_child(work) == 0
    store(AuditRecord("parent", "lenient", {}, {}, status=CallStatus.DONE))
    assert (store.count(tool="parent"), store.count(tool="child"), store.check()) == (2, 1, [])
    assert len({record.session_id for record in store.records()}) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_while_threads_write(quick_folder: Path) -> None:
    """The child finds no lock that nobody will ever open, and its own records are kept."""
    with AuditStore(quick_folder / "audit.db") as store:
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                store(AuditRecord("parent", "lenient", {}, {}, status=CallStatus.DONE))
                store.count()

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            writers = [pool.submit(write) for _ in range(4)]
            ends = [_in_child(lambda: store(AuditRecord("child", "lenient", {}, {}, status=CallStatus.DONE))) for _ in range(10)]
            stop.set()
            for writer in writers:
                writer.result()
        assert ends == [0] * 10
        assert (store.count(tool="child"), store.check()) == (10, [])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_inside_a_transaction(quick_folder: Path) -> None:
    """Even there, the child cannot write into the parent's transaction."""
    with AuditStore(quick_folder / "audit.db", timeout_s=0.1) as store:
        add = sqlalchemy.text("INSERT INTO toolbox_schema VALUES ('own', 1)")

        def work() -> None:
            with contextlib.suppress(StoreError):  # the parent holds the right to write
                store(AuditRecord("child", "lenient", {}, {}))

        def transaction(connection: sqlalchemy.Connection) -> None:
            connection.execute(add)
            assert _in_child(work) == 0

        store.transact(transaction)
        count = sqlalchemy.text("SELECT count(*) FROM toolbox_schema")
        assert (store.read(lambda connection: connection.scalar(count)), store.count()) == (2, 0)


# -- journals of SQLite ------------------------------------------------------------------------------------------------------------------


def _journal(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


@pytest.mark.parametrize(
    ("has_fault", "processes", "journal", "locks"),
    [(True, "one", "wal", True), (True, "many", "delete", True), (False, "one", "wal", False), (False, "many", "wal", False)],
)
def test_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_fault: bool, processes: Any, journal: str, locks: bool) -> None:
    """WAL, but where several processes write and this SQLite may lose commits then; every commit waits for the disk."""
    monkeypatch.setattr("toolbox.audit.store.database.has_wal_fault", lambda: has_fault)
    path = tmp_path / "audit.db"
    with AuditStore(path, processes=processes) as store:
        store(AuditRecord("f", "lenient", {}, {}))
        assert _journal(path) == journal
        synchronous = store.transact(lambda connection: connection.exec_driver_sql("PRAGMA synchronous").scalar())
        assert synchronous == 3
        assert (tmp_path / "audit.db-lock").exists() == locks


@pytest.mark.parametrize("version", [(3, 7, 0), (3, 40, 1), (3, 44, 5), (3, 45, 0), (3, 50, 6), (3, 51, 2)])
def test_versions_with_the_fault(version: tuple[int, ...]) -> None:
    """They are those before 3.51.3."""
    assert has_wal_fault(version)


@pytest.mark.parametrize("version", [(3, 44, 6), (3, 44, 9), (3, 50, 7), (3, 51, 3), (3, 52, 0), (4, 0, 0)])
def test_versions_without_the_fault(version: tuple[int, ...]) -> None:
    """The fix was put into two older series too."""
    assert not has_wal_fault(version)


OPEN = """
import sys
from toolbox import AuditStore
store = AuditStore(sys.argv[1], processes=sys.argv[2])
print("open", flush=True)
sys.stdin.readline()
"""


@contextlib.contextmanager
def _another_process(path: Path, processes: str) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", OPEN, path, processes], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield
        process.communicate("go\n")


def test_a_second_process_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Where the setting says that one process writes and another does too, a warning says what to do, once."""
    monkeypatch.setattr("toolbox.audit.store.database.has_wal_fault", lambda: True)
    path = tmp_path / "audit.db"
    with caplog.at_level(logging.WARNING, "toolbox"):
        with _another_process(path, "one"):
            pass
        with AuditStore(path) as store:
            assert caplog.text == ""
            store._database.release()
            with _another_process(path, "one"):
                store(AuditRecord("f", "lenient", {}, {}))
                store._database.release()
                store(AuditRecord("f", "lenient", {}, {}))
    assert caplog.text.count("audit_store_shared") == 1
    assert "processes='many'" in caplog.text


def test_the_safer_journal_is_not_taken_from_a_process_that_uses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that thinks it is alone leaves the journal that others have chosen."""
    monkeypatch.setattr("toolbox.audit.store.database.has_wal_fault", lambda: True)
    path = tmp_path / "audit.db"
    if has_wal_fault():
        with _another_process(path, "many"), AuditStore(path) as store:
            store(AuditRecord("f", "lenient", {}, {}))
            assert _journal(path) == "delete"
    with AuditStore(path) as store:
        assert _journal(path) == "wal"
    with _another_process(path, "one"), AuditStore(path, processes="many", timeout_s=0.02) as store:
        store(AuditRecord("f", "lenient", {}, {}))
        assert _journal(path) == "wal"
    with AuditStore(path, processes="many") as store:
        assert (_journal(path), store.check()) == ("delete", [])


def test_the_lock_of_another_process_is_waited_for(tmp_path: Path) -> None:
    """For as long as was allowed, and then said."""
    first, second = (turns.FileTurn(tmp_path / "audit.db", 0.02) for _ in range(2))
    with first, pytest.raises(StoreError, match=r"audit\.db-lock") as error, second:
        pass
    assert error.value.reason == "locked"
    with second:
        pass
    first.close()
    second.close()
    first.close()


# -- a server that comes and goes --------------------------------------------------------------------------------------------------------

END = sqlalchemy.text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = :name")


@pytest.fixture
def ended(postgres_url: str) -> Iterator[tuple[AuditStore, Callable[[], int]]]:
    """A store, and a function that ends all its connections as a restart of the server does."""
    name = f"ended-{os.getpid()}"
    engine = sqlalchemy.create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")

    def end() -> int:
        with engine.connect() as connection:
            return len(connection.execute(END, {"name": name}).all())

    with AuditStore(f"{postgres_url}&application_name={name}") as store:
        yield store, end
    engine.dispose()


def test_a_connection_that_was_ended_is_opened_again(ended: tuple[AuditStore, Callable[[], int]]) -> None:
    """Between two uses, nobody notices it."""
    store, end = ended
    registry = _doubling(store)
    for number in range(3):
        assert registry.dispatch("double", {"number": number}) == number * 2
        assert store.count() == number + 1
        assert end() >= 1
    assert store.transact(lambda connection: connection.scalar(sqlalchemy.text("SELECT 5"))) == 5
    assert end() >= 1
    assert [record.status.value for record in store.records()] == ["done"] * 3
    assert registry.lost_records == 0


def test_work_is_not_done_twice(ended: tuple[AuditStore, Callable[[], int]]) -> None:
    """Where the connection ends in the middle of work that was asked for once, it is an error, and nothing was done."""
    store, end = ended
    times = 0

    def work(connection: sqlalchemy.Connection) -> None:
        nonlocal times
        times += 1
        connection.execute(sqlalchemy.text("CREATE TABLE own (id INTEGER)"))
        end()
        connection.execute(sqlalchemy.text("INSERT INTO own VALUES (1)"))

    with pytest.raises(StoreError) as error:
        store.transact(work)
    assert (error.value.reason, times) == ("unreachable", 1)

    def work_until_commit(connection: sqlalchemy.Connection) -> None:
        connection.execute(sqlalchemy.text("CREATE TABLE own (id INTEGER)"))
        end()

    with pytest.raises(StoreError, match="is unknown") as error:
        store.transact(work_until_commit)
    assert error.value.reason == "outcome_unknown"
    store.transact(lambda connection: connection.execute(sqlalchemy.text("CREATE TABLE own (id INTEGER)")))


def test_records_are_written_again_when_the_connection_ends_in_between(
    ended: tuple[AuditStore, Callable[[], int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record is the same record when it comes twice, so it is not lost then."""
    store, end = ended
    write = store._database._write
    left = [True, True]

    def write_and_end(connection: Any, session: Any, items: Any) -> None:
        write(connection, session, items)
        if left:
            left.pop()
            end()

    monkeypatch.setattr(store._database, "_write", write_and_end)
    store(AuditRecord("f", "lenient", {}, {}, status=CallStatus.DONE))
    assert (store.count(), left) == (1, [])


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said without the password, after a bounded time."""
    pytest.importorskip("psycopg")
    monkeypatch.setattr("toolbox.audit.store.database._RETRY_S", 0.05)
    with pytest.raises(StoreError) as error:
        AuditStore("postgresql://u:canary@127.0.0.1:1/x?passfile=canary")
    assert error.value.reason == "unreachable"
    chain: BaseException | None = error.value
    while chain is not None:
        assert "canary" not in str(chain) + repr(chain)
        chain = chain.__cause__ or chain.__context__


@pytest.mark.parametrize(
    ("change", "reasons"),
    [("password", {"unreachable", "permission"}), ("database", {"unreachable", "url"}), ("user", {"unreachable", "permission"})],
)
def test_a_server_that_does_not_let_one_in(postgres_url: str, monkeypatch: pytest.MonkeyPatch, change: str, reasons: set[str]) -> None:
    """A wrong password, user or database is told in the server's words."""
    monkeypatch.setattr("toolbox.audit.store.database._RETRY_S", 0.05)
    url = sqlalchemy.make_url(postgres_url)
    wrong = {"password": url.set(password="canary"), "database": url.set(database="nothing"), "user": url.set(username="nobody")}[change]
    with pytest.raises(
        StoreError, match={"password": "authentication failed", "database": "does not exist", "user": "nobody"}[change]
    ) as error:
        AuditStore(wrong.render_as_string(hide_password=False))
    assert error.value.reason in reasons
    assert "canary" not in str(error.value)
    assert url.password is not None
    assert str(url.password) not in str(error.value)


def test_a_locked_table_of_a_server(postgres_url: str) -> None:
    """After the time that was allowed, it is an error."""
    engine = sqlalchemy.create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
    with AuditStore(postgres_url, timeout_s=0.05) as store, engine.begin() as connection:
        connection.execute(sqlalchemy.text("LOCK TABLE toolbox_records IN EXCLUSIVE MODE"))
        with pytest.raises(StoreError) as error:
            store(AuditRecord("f", "lenient", {}, {}))
        assert error.value.reason == "locked"
    engine.dispose()


def test_a_server_that_would_not_wait_for_its_disk(postgres_url: str) -> None:
    """A commit waits for the disk, whatever is set for the database."""
    with AuditStore(f"{postgres_url}%20-csynchronous_commit%3Doff") as store:
        setting = store.transact(lambda connection: connection.exec_driver_sql("SHOW synchronous_commit").scalar())
    assert setting == "on"


def test_a_database_that_cannot_hold_every_text(postgres_server: tuple[str, Any]) -> None:
    """It is refused before something is lost."""
    server, connection = postgres_server
    name = f"latin_{os.getpid()}"
    connection.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    try:
        with pytest.raises(StoreError, match="LATIN1") as error:
            AuditStore(sqlalchemy.make_url(server).set(database=name).render_as_string(hide_password=False))
        assert error.value.reason == "url"
    finally:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_the_engines_are_not_loaded_before_they_are_needed() -> None:
    """Whoever has no store does not pay for it."""
    assert engines.__name__ in sys.modules
    code = "import sys, toolbox.audit.store; from toolbox import Registry, AuditStore; Registry(); print('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
