"""Taking turns: among the threads of a process, which share one commit where they can, and among the processes that write to one file."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final, Generic, TypeVar

from toolbox.errors import StoreError

__all__ = ["FileTurn", "Turns", "Waiting"]

_T = TypeVar("_T")
_R = TypeVar("_R")

BATCH: Final = 500
"""How many operations share a commit."""
_LOOK_S: Final = 1.0


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


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """The right to write, of one thread.

    Attributes:
        thread: its thread.
        frame: the call that has it, and that ends with it.
    """

    thread: int
    frame: FrameType


class Turns(Generic[_T]):
    """Lets one thread at a time write, and one of those that wait commit what all of them have brought.

    An interruption may come between any two steps of a thread, also between the end of its work and the moment at which it passes its turn
    on. So the lock is held by nothing but `with`, which no interruption splits (a `Condition` has steps in between); the turn
    is passed on twice, and the second time finds nothing to do; and who is kept waiting looks again after a while.

    Args:
        commit: writes and commits the items of all, and marks each of them done.
        settle: called before a turn is passed on; leaves nothing open that an interruption has left.
    """

    def __init__(self, commit: Callable[[Sequence[Waiting[_T]]], None], settle: Callable[[], None]) -> None:
        self._commit = commit
        self._settle = settle
        # It knows its owner: the collector may close a call, and so use the store, while this thread holds it.
        self._lock = threading.RLock()
        self._queue: list[Waiting[_T]] = []
        self._turn: _Turn | None = None
        self._readers: set[object] = set()
        self._sleepers: list[threading.Lock] = []

    def put(self, item: _T) -> None:
        """Write an item; it is committed when this returns.

        Raises:
            StoreError: it could not be written.
        """
        waiting = Waiting(item)
        self.refuse_nested()
        with self._lock:
            self._queue.append(waiting)
        while not waiting.is_done:
            turn = _Turn(threading.get_ident(), _here())
            try:
                try:
                    # Whoever writes may commit this item too.
                    if self._take(turn, waiting):
                        self._commit(self._queue[:BATCH])
                finally:
                    self._pass_on(turn)
            finally:
                self._pass_on(turn)
        if waiting.error is not None:
            # Several threads may have to raise it, so each raises its own.
            raise StoreError(waiting.error.reason, waiting.error.message) from waiting.error.__cause__

    def alone(self, work: Callable[[], _R], seconds: float | None = None) -> _R:
        """Do something that shares its commit with nothing else, as the one that writes; waits for that at most so long.

        Raises:
            StoreError: the time was too short.
        """
        self.refuse_nested()
        turn = _Turn(threading.get_ident(), _here())
        try:
            try:
                if not self._take(turn, seconds=seconds):
                    raise StoreError("locked", f"another thread has been inside the store for {seconds} s")
                return work()
            finally:
                self._pass_on(turn)
        finally:
            self._pass_on(turn)

    def drain(self) -> None:
        """In one's turn, commit what is queued and waited for by nobody any more: its caller was interrupted."""
        while batch := self._queue[:BATCH]:
            self._commit(batch)
            with self._lock:
                self._clear()

    def reading(self, work: Callable[[], _R]) -> _R:
        """Do something that reads, counted so that no fork comes in between."""
        reader = object()
        try:
            try:
                with self._lock:
                    self._readers.add(reader)
                return work()
            finally:
                self._read(reader)
        finally:
            self._read(reader)

    @property
    def is_mine(self) -> bool:
        """Whether it is this thread's turn to write."""
        turn = self._turn
        return turn is not None and turn.thread == threading.get_ident()

    def hold(self, seconds: float) -> None:
        """Before a fork: wait until nobody is inside an engine, and keep everybody out; else its locks would stay shut in the child."""
        until = time.monotonic() + seconds
        while True:
            self._lock.acquire()
            left = until - time.monotonic()
            if self.is_mine or (self._turn is None and not self._readers) or left <= 0:
                return
            sleeper = self._sleeper()
            self._lock.release()
            sleeper.acquire(timeout=min(left, _LOOK_S))

    def let_go(self) -> None:
        """After a fork, in the parent."""
        self._lock.release()

    def refuse_nested(self) -> None:
        """Refuse a use of the store inside its own transaction.

        Raises:
            StoreError: it is such a use.
        """
        if self._lock._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001 - as threading.Condition asks it
            raise StoreError("misused", "the store was used while this thread was taking its turn there, as by the collector")
        turn = self._turn
        if turn is None or turn.thread != threading.get_ident():
            return
        frame: FrameType | None = _here()
        while frame is not None:
            if frame is turn.frame:
                raise StoreError(
                    "misused", "the store was used inside its own transaction: use the connection that was given, or do it afterwards"
                )
            frame = frame.f_back
        # The call that had the turn has ended, and was interrupted so often that it could not pass it on.
        self._pass_on(turn)

    # -- the turn ----------------------------------------------------------------------------------------------------------------

    def _take(self, turn: _Turn, waiting: Waiting[_T] | None = None, seconds: float | None = None) -> bool:
        """Wait for the turn, and take it; False where what was waited for is done, or the time was too short."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            with self._lock:
                if waiting is not None and waiting.is_done:
                    return False
                if self._turn is None:
                    self._turn = turn
                    return True
                sleeper = self._sleeper()
            left = _LOOK_S if until is None else until - time.monotonic()
            if left <= 0:
                return False
            sleeper.acquire(timeout=min(left, _LOOK_S))

    def _pass_on(self, turn: _Turn) -> None:
        if self._turn is not turn:
            return
        try:
            self._settle()
        finally:
            with self._lock:
                if self._turn is turn:
                    # Where the commit was interrupted, what is left of it is somebody else's to commit.
                    self._clear()
                    self._wake()
                    self._turn = None

    def _clear(self) -> None:
        self._queue[:] = [waiting for waiting in self._queue if not waiting.is_done]

    def _read(self, reader: object) -> None:
        with self._lock:
            self._readers.discard(reader)
            self._wake()

    # -- waiting, with the lock --------------------------------------------------------------------------------------------------

    def _sleeper(self) -> threading.Lock:
        """A lock that is shut until somebody is woken; waited for without the lock of the turns."""
        sleeper = threading.Lock()
        sleeper.acquire()
        self._sleepers.append(sleeper)
        return sleeper

    def _wake(self) -> None:
        while self._sleepers:
            self._sleepers.pop(0).release()


def _here() -> FrameType:
    """The caller's frame."""
    return sys._getframe(1)  # noqa: SLF001 - inspect.currentframe gives its own caller's, and may give none


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
