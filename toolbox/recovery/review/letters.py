"""Dead letters: where an item goes that the queue cannot take, or will not keep at hand."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Protocol

from toolbox.errors import ReviewError
from toolbox.recovery.review.item import ReviewItem

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["DeadLetterFile", "DeadLetters"]

_MEGABYTE: Final = 1024 * 1024


class DeadLetters(Protocol):
    """Takes dead letters: any callable.

    It is called with an item that the queue could not store (its state is ``waiting``), or that was rejected or has expired where
    ``ReviewQueue(bury=...)`` asks for these. When it returns, the item must be safe. It may be called more than once with the same item,
    after a crash for instance: the item's `id` tells. What it raises is counted, and the letter is tried again later where the queue still
    has it.
    """

    def __call__(self, item: ReviewItem, /) -> None:
        """Take one item."""
        ...


class DeadLetterFile:
    """Appends items to a file, one JSON object a line; each is on the disk when the call returns.

    Threads and processes take turns. A file that has grown too large is renamed, with the time in its name, and a new one is begun: nothing
    is ever deleted. A line that a crash has cut off is left as it is, and the next one begins on a line of its own.

    Args:
        path: the file; its folder must exist.
        rotate_bytes: the size from which on a new file is begun.
    """

    def __init__(self, path: str | Path, *, rotate_bytes: int = 64 * _MEGABYTE) -> None:
        self.path = Path(path)
        self.rotate_bytes = rotate_bytes
        self._turn = threading.Lock()

    def __call__(self, item: ReviewItem, /) -> None:
        """Append an item.

        Raises:
            ReviewError: it could not be written.
        """
        line = f"{json.dumps(item.to_dict(), ensure_ascii=True, allow_nan=False)}\n".encode("ascii")
        try:
            with self._turn, self._locked():
                self._rotate()
                self._append(line)
        except OSError as error:
            raise ReviewError(
                "not_queued", f"the dead letter could not be written to {self.path}: {error.strerror or error}", item.id
            ) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # A file of its own, since the other one may be renamed by whoever has the turn.
        with Path(f"{self.path}.lock").open("ab") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _rotate(self) -> None:
        if not self.path.exists() or self.path.stat().st_size < self.rotate_bytes:
            return
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        number = 0
        while (target := Path(f"{self.path}.{stamp}" + (f"-{number}" if number else ""))).exists():
            number += 1
        self.path.rename(target)

    def _append(self, line: bytes) -> None:
        is_new = not self.path.exists()
        with self.path.open("a+b", buffering=0) as file:
            before = file.seek(0, os.SEEK_END)
            if before:
                file.seek(before - 1)
                if file.read(1) != b"\n":
                    line = b"\n" + line
            try:
                _write_all(file, line)
                os.fsync(file.fileno())
            except OSError:
                # Half a line would only be in the way of the next one.
                file.truncate(before)
                raise
        if is_new:
            _sync_folder(self.path.parent)

    def items(self) -> Iterator[ReviewItem]:
        """The items in the file, oldest first; a line that a crash has cut off, or that is no item, is left out."""
        try:
            text = self.path.read_text("ascii", "replace")
        except FileNotFoundError:
            return
        for line in text.splitlines():
            try:
                plain: Any = json.loads(line)
                yield ReviewItem.from_dict(plain)
            except (ValueError, AttributeError, RecursionError):
                continue


def _write_all(file: IO[bytes], content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]


def _sync_folder(folder: Path) -> None:
    """Put the name of a new file on the disk; where a folder cannot be opened, the system does not need it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
