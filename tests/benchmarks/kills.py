"""Kill a process that dispatches, again and again, and look for what is lost: ``python -m tests.benchmarks kills 200``."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable

from tests.audit.killed import kill_once


def _loops(title: str, loops: int, url_of: Callable[[str, int], str], *, is_eager: bool = False) -> None:
    chance = random.Random(20_260_101)
    rows = acknowledged = lost = missing = unknown = empty = losing = 0
    problems: list[str] = []
    odd: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for loop in range(loops):
            left = kill_once(url_of(folder, loop), chance, is_eager=is_eager)
            rows += left.rows
            acknowledged += left.acknowledged
            lost += len(left.lost)
            losing += bool(left.lost)
            missing += len(left.missing)
            unknown += left.unknown
            empty += left.rows == 0
            problems += left.problems
            odd |= left.odd
    print(
        f"{title}: {loops} kills, {rows:,} records, {acknowledged:,} calls returned; lost {lost} (in {losing} loops), "
        f"started and not found {missing}, unknown {unknown}, loops without a record {empty}, "
        f"problems {problems[:3]}, other statuses {sorted(odd)}"
    )


def main(arguments: list[str]) -> None:
    """Print what was lost: nothing, but with the negative control."""
    loops = int(arguments[0]) if arguments else 200
    _loops("SQLite", loops, lambda folder, loop: f"sqlite:///{folder}/{loop}.db")
    _loops("returned before the commit", max(loops // 10, 1), lambda folder, loop: f"sqlite:///{folder}/{loop}.db", is_eager=True)
    server = os.environ.get("TOOLBOX_POSTGRES")
    if server:
        import psycopg

        def schema(_folder: str, loop: int) -> str:
            name = f"killed_{os.getpid()}_{loop}"
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(f"CREATE SCHEMA {name}".encode())
            return f"{server}?options=-csearch_path%3D{name}"

        _loops("PostgreSQL", max(loops // 10, 1), schema)
