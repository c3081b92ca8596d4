"""What it costs to keep records durably: one by one, opened and closed around a call, in batches; against SQLite itself on the same disk.

A disk that others use is slow by turns, so what counts is the ratio to plain transactions of the same size, taken in turns with them.
Beside the disk, the same is measured in memory where the system has such a folder: there no disk is waited for.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.benchmarks.dispatch import CLEAN, search_flights
from toolbox import AuditRecord, AuditStore, CallStatus, Diagnostic, DiagnosticKind, Registry, Risk

ROUNDS = 9
ONE_BY_ONE = 200
BATCH = 5_000
CHANGE = Diagnostic("$.passengers", DiagnosticKind.COERCED, Risk.INFO, "2", 2, "str->int", "send a number")
ROW = (uuid.uuid4().hex, 1.0, "search_flights", "lenient", "done", str(CLEAN), str(CLEAN), "{}")


def _record(*changes: Diagnostic) -> AuditRecord:
    return AuditRecord("search_flights", "lenient", CLEAN, dict(CLEAN), changes, status=CallStatus.DONE, duration_ms=1.5)


def _plain(path: Path) -> sqlite3.Connection:
    """SQLite as it is, with the settings of the store."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE rows (id TEXT, a REAL, b TEXT, c TEXT, d TEXT, e TEXT, f TEXT, g TEXT)")
    return connection


def _insert(connection: sqlite3.Connection, count: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [ROW] * count)
    connection.execute("COMMIT")


def _times(count: int, work: Callable[[], object]) -> Callable[[], None]:
    def repeat() -> None:
        for _ in range(count):
            work()

    return repeat


def _measure(store: AuditStore, plain: sqlite3.Connection | None, one_by_one: int) -> None:
    registry = Registry(sinks=[store])
    registry.register(search_flights)
    pool = ThreadPoolExecutor(32)

    def dispatch(_number: int) -> object:
        return registry.dispatch("search_flights", CLEAN)

    work: dict[str, tuple[int, Callable[[], object]]] = {}
    if plain is not None:
        work["SQLite itself, one row a transaction"] = (one_by_one, _times(one_by_one, partial(_insert, plain, 1)))
    work["records, one by one"] = (one_by_one, _times(one_by_one, lambda: store(_record())))
    work["dispatches, one by one (two commits each)"] = (one_by_one, _times(one_by_one, partial(dispatch, 0)))
    work["dispatches, 32 threads"] = (4 * one_by_one, lambda: list(pool.map(dispatch, range(4 * one_by_one))))
    if plain is not None:
        work["SQLite itself, in batches"] = (BATCH, partial(_insert, plain, BATCH))
    work["records, in batches"] = (BATCH, lambda: store.append([_record() for _ in range(BATCH)]))
    work["records with a change, in batches"] = (BATCH, lambda: store.append([_record(CHANGE) for _ in range(BATCH)]))
    rates: dict[str, list[float]] = {name: [] for name in work}
    costs: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, (count, function) in work.items():
            started, started_cpu = time.perf_counter(), time.process_time()
            function()
            rates[name].append(count / (time.perf_counter() - started))
            costs[name].append((time.process_time() - started_cpu) / count * 1e6)
    pool.shutdown()
    for name, found in rates.items():
        against = "SQLite itself, in batches" if "batches" in name else "SQLite itself, one row a transaction"
        ratio = ""
        if against in rates and name != against:
            ratio = f", {statistics.median(mine / other for mine, other in zip(found, rates[against], strict=True)):7.2f} of SQLite itself"
        cost = statistics.median(costs[name])
        print(f"  {name:44} {statistics.median(found):10,.0f} a second (best {max(found):8,.0f}), {cost:6.1f} us of processor{ratio}")


def main(arguments: list[str]) -> None:
    """Print what one store does, and SQLite itself beside it; TOOLBOX_POSTGRES names a server to measure too."""
    places = [("on the disk", Path(arguments[0]) if arguments else Path(tempfile.gettempdir())), ("in memory", Path("/dev/shm"))]
    for name, folder in places:
        if not os.access(folder, os.W_OK):
            continue
        with tempfile.TemporaryDirectory(dir=folder) as made:
            print(f"{name}, {folder}:")
            with AuditStore(Path(made) / "audit.db") as store, contextlib.closing(_plain(Path(made) / "plain.db")) as plain:
                _measure(store, plain, ONE_BY_ONE)
    server = os.environ.get("TOOLBOX_POSTGRES")
    if server:
        print("PostgreSQL:")
        with AuditStore(server) as store:
            _measure(store, None, ONE_BY_ONE)
