"""A process that dispatches and tells of each call when it is started and when it has returned, until it is killed."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.context import BaseContext
from typing import Any, Final

from toolbox import AuditRecord, AuditStore, Registry

__all__ = ["Left", "children", "kill_once"]

_THREADS: Final = 3


def children() -> BaseContext:
    """Starts a process from a small server that has loaded what it needs, and has no threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.audit.killed", "sqlalchemy.dialects.sqlite", "toolbox.audit.store.database"])
    return context


class Eager:
    """The negative control: a sink that lets a call return before its record is committed."""

    def __init__(self, store: AuditStore) -> None:
        self.store = store
        self.waiting: list[AuditRecord] = []
        self.lock = threading.Lock()

    def __call__(self, record: AuditRecord) -> None:
        with self.lock:
            self.waiting.append(record)
            if len(self.waiting) == 20:
                self.store.append(self.waiting)
                self.waiting.clear()


def dispatch_until_killed(url: str, pipe: int, is_eager: bool) -> None:
    """The child's work: it never ends by itself."""
    store = AuditStore(url)
    registry = Registry(sinks=[Eager(store) if is_eager else store], on_audit_failure="fail_closed")

    @registry.tool
    def work(number: int) -> int:
        os.write(pipe, f"started {number}\n".encode())
        if number % 5 == 0:
            raise ValueError("every fifth fails")
        return number

    def loop(first: int) -> None:
        number = first
        while True:
            registry.run("work", {"number": number}, call_id=str(number))
            os.write(pipe, f"returned {number}\n".encode())
            number += _THREADS

    for first in range(1, _THREADS):
        threading.Thread(target=loop, args=(first,), daemon=True).start()
    loop(0)


def _child(url: str, connection: Any, is_eager: bool) -> None:
    # Whatever goes wrong in a child shows in the parent, which misses its lines.
    with suppress(KeyboardInterrupt):
        dispatch_until_killed(url, connection.fileno(), is_eager)


@dataclass
class Left:
    """What one killed process has left.

    Attributes:
        acknowledged: how many calls had returned.
        rows: how many records there are of it.
        lost: the calls that had returned and have no record of how they ended.
        missing: the calls that had started and have no record at all.
        unknown: how many calls are found with the status unknown.
        problems: what the check of the store has found.
        odd: statuses that there should not be.
    """

    acknowledged: int = 0
    rows: int = 0
    lost: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)
    unknown: int = 0
    problems: list[str] = field(default_factory=list)
    odd: set[str] = field(default_factory=set)


def kill_once(url: str, chance: random.Random, *, is_eager: bool = False, longest: int = 60) -> Left:
    """Start a child, kill it after a random number of its lines, at least one call having returned, and see what is left."""
    context: Any = children()
    reader, writer = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(url, writer, is_eager), daemon=True)
    child.start()
    writer.close()
    # The lines are written to the pipe as they are, so they are read as they are.
    file = os.fdopen(os.dup(reader.fileno()), "rb")
    reader.close()
    wanted = chance.randrange(1, longest)
    lines: list[bytes] = []
    returned = 0
    while returned < wanted:
        line = file.readline()
        if not line:
            raise RuntimeError("the child ended by itself")
        lines.append(line)
        returned += line.startswith(b"returned")
    os.kill(child.pid, signal.SIGKILL)
    lines += file.readlines()
    file.close()
    child.join()
    said: dict[str, set[int]] = {"started": set(), "returned": set()}
    for line in lines:
        if line.endswith(b"\n"):
            what, number = line.split()
            said[what.decode()].add(int(number))
    with AuditStore(url) as store:
        found = {int(record.call_id or -1): record.status.value for record in store.records()}
        ended = {number for number, status in found.items() if status in ("done", "failed")}
        return Left(
            acknowledged=len(said["returned"]),
            rows=len(found),
            lost=said["returned"] - ended,
            missing=said["started"] - found.keys(),
            unknown=sum(status == "unknown" for status in found.values()),
            problems=store.check(),
            odd=set(found.values()) - {"done", "failed", "unknown"},
        )


if __name__ == "__main__":
    dispatch_until_killed(sys.argv[1], 1, is_eager="eager" in sys.argv[2:])
