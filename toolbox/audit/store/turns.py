"""Taking turns: among the threads of a process, which share one commit where they can, and among the processes that write to one file."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from toolbox.errors import StoreError

__all__ = ["FileTurn", "Turns", "Waiting"]

_T = TypeVar("_T")

BATCH: Final = 500
"""How many operations share a commit."""


class Waiting(Generic[_T]):
    """An operation whose caller waits until it is committed.

    Attributes:
        item: what is to be written.
        is_done: whether it was committed, or failed.
        error: what it failed with.
    """

    __slots__ = ("error", "is_done", "item")

    def __init__(self, item: _T) -> None:
        self.item = item
        self.is_done = False
        self.error: StoreError | None = None


class Turns(Generic[_T]):
    """Lets one thread at a time write, and one of those that wait commit what all of them have brought.

    Args:
        commit: writes and commits the items of all, and marks each of them done.
    """

    def __init__(self, commit: Callable[[Sequence[Waiting[_T]]], None]) -> None:
        self._commit = commit
        self._changed = threading.Condition(threading.Lock())
        self._queue: list[Waiting[_T]] = []
        self._writer: int | None = None
        self._readers = 0

    def put(self, item: _T) -> None:
        """Write an item; it is committed when this returns.

        Raises:
            StoreError: it could not be written.
        """
        waiting = Waiting(item)
        self.refuse_nested()
        with self._changed:
            self._queue.append(waiting)
        while not waiting.is_done:
            batch: list[Waiting[_T]] = []
            try:
                with self._changed:
                    # Whoever writes may commit this item too.
                    self._changed.wait_for(lambda: waiting.is_done or self._writer is None)
                    if not waiting.is_done:
                        self._writer = threading.get_ident()
                        batch = self._queue[:BATCH]
                        del self._queue[: len(batch)]
                if batch:
                    self._commit(batch)
            finally:
                self._pass_on(batch)
        if waiting.error is not None:
            # Several threads may have to raise it, so each raises its own.
            raise StoreError(waiting.error.reason, waiting.error.message) from waiting.error.__cause__

    @contextmanager
    def alone(self, seconds: float | None = None) -> Iterator[None]:
        """Be the one that writes, for something that shares its commit with nothing else; waits at most so long."""
        self.refuse_nested()
        try:
            with self._changed:
                if not self._changed.wait_for(lambda: self._writer is None, seconds):
                    raise StoreError("locked", f"another thread has been inside the store for {seconds} s")
                self._writer = threading.get_ident()
            yield
        finally:
            self._pass_on([])

    def drain(self) -> None:
        """In one's turn, commit what is queued and waited for by nobody any more: its caller was interrupted."""
        while self._queue:
            with self._changed:
                batch = self._queue[:BATCH]
                del self._queue[: len(batch)]
            self._commit(batch)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count as one that reads, so that no fork comes in between."""
        with self._changed:
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @property
    def is_mine(self) -> bool:
        """Whether it is this thread's turn to write."""
        return self._writer == threading.get_ident()

    def hold(self, seconds: float) -> None:
        """Before a fork: wait until nobody is inside an engine, and keep everybody out; else its locks would stay shut in the child."""
        self._changed.acquire()
        until = time.monotonic() + seconds
        while not self.is_mine and (self._writer is not None or self._readers):
            if not self._changed.wait(until - time.monotonic()):
                break

    def let_go(self) -> None:
        """After a fork, in the parent."""
        self._changed.release()

    def refuse_nested(self) -> None:
        """Refuse a use of the store inside its own transaction.

        Raises:
            StoreError: it is such a use.
        """
        if self.is_mine:
            raise StoreError(
                "misused", "the store was used inside its own transaction: use the connection that was given, or do it afterwards"
            )

    def _pass_on(self, batch: Sequence[Waiting[_T]]) -> None:
        with self._changed:
            if self.is_mine:
                # Where the commit was interrupted, the others' items are somebody else's to commit.
                self._queue[:0] = [waiting for waiting in batch if not waiting.is_done]
                self._writer = None
                self._changed.notify_all()


class FileTurn:
    """A lock beside a file of SQLite, so that the commits of several processes never meet; it does nothing where the system has none.

    Args:
        path: the file of SQLite.
        timeout_s: how long one waits.
    """

    def __init__(self, path: Path, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._path = path.with_name(f"{path.name}-lock")
        self._file: int | None = None
        self._flock: Any = None
        with suppress(ImportError):
            import fcntl

            self._flock = fcntl.flock
            self._take, self._leave = fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN

    def __enter__(self) -> None:
        if self._flock is None:
            return
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        until = time.monotonic() + self._timeout_s
        wait = 0.0005
        while True:
            try:
                self._flock(self._file, self._take)
                return
            except BlockingIOError:
                if time.monotonic() > until:
                    raise StoreError(
                        "locked",
                        f"another process has held {self._path} for {self._timeout_s:g} s; look for one that was stopped while it wrote",
                    ) from None
            time.sleep(wait)
            wait = min(wait * 1.5, 0.02)

    def __exit__(self, *_error: object) -> None:
        if self._file is not None:
            self._flock(self._file, self._leave)

    def close(self) -> None:
        """Let go of the file."""
        # Forgotten before it is closed: after an interruption between the two, the number may be that of another file.
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                os.close(file)
