"""Where a command's input comes from: the command line, a file, standard input."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

from toolbox.cli.problems import UsageProblem

__all__ = ["LINE_LIMIT", "DamagedInput", "Lines", "open_lines", "read_payload", "read_whole"]

LINE_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of the longest line that is read; a longer one is skipped, so that memory stays flat."""
WHOLE_LIMIT: Final = 64 * 1024 * 1024
_GZIP_MAGIC: Final = b"\x1f\x8b"


class DamagedInput(Exception):
    """A file ends early or is damaged: what was read before is still good."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The numbered lines of an input, read one by one.

    Attributes:
        numbered: number and bytes of each line; None for a line that is too long.
        size: bytes of the file; None when nobody knows.
        position: how many bytes of the file were read so far.
    """

    numbered: Iterator[tuple[int, bytes | None]]
    size: int | None
    position: Callable[[], int]


def read_payload(written: str | None) -> str | None:
    """What the command line gives as arguments: the text itself, ``@file``, or ``-`` for standard input.

    Raises:
        UsageProblem: it cannot be read.
    """
    if written == "-":
        return read_whole("-")
    if written is not None and written.startswith("@"):
        return read_whole(written[1:])
    return None if written is None else _as_typed(written)


def _as_typed(text: str) -> str:
    """The text as it was typed, where the locale of the process could not read it: terminals and scripts write UTF-8."""
    if text.isprintable():
        return text
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:
        return text


def read_whole(place: str) -> str:
    """The text of a file, or of standard input for ``-``; compressed by gzip or not.

    Raises:
        UsageProblem: it cannot be read.
    """
    with _opened(place) as (stream, _):
        try:
            content = stream.read(WHOLE_LIMIT + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise UsageProblem(f"{_name(place)} cannot be read: {_reason(error)}") from error
    if len(content) > WHOLE_LIMIT:
        raise UsageProblem(f"{_name(place)} holds more than {WHOLE_LIMIT // 1024**2} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageProblem(f"{_name(place)} is not UTF-8 text: byte {error.start} cannot be read") from error


@contextlib.contextmanager
def open_lines(place: str) -> Iterator[Lines]:
    """The lines of a file, or of standard input for ``-``; compressed by gzip or not.

    Raises:
        UsageProblem: it cannot be opened.
    """
    with _opened(place) as (stream, raw):
        size = Path(place).stat().st_size if place != "-" and raw.seekable() else None
        yield Lines(_numbered(stream), size, raw.tell if size is not None else lambda: 0)


def _numbered(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    number = 0
    try:
        while line := stream.readline(LINE_LIMIT + 1):
            number += 1
            if len(line) <= LINE_LIMIT:
                yield number, line
                continue
            while line and not line.endswith(b"\n"):
                line = stream.readline(LINE_LIMIT)
            yield number, None
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedInput(f"after line {number}: {_reason(error)}") from error


@contextlib.contextmanager
def _opened(place: str) -> Iterator[tuple[BinaryIO, io.BufferedReader]]:
    """The stream to read from, and the one below it, which knows the position in the file."""
    with contextlib.ExitStack() as stack:
        try:
            raw = _standard_input() if place == "-" else stack.enter_context(Path(place).open("rb"))
            compressed = raw.peek(2)[:2] == _GZIP_MAGIC
        except OSError as error:
            raise UsageProblem(f"{_name(place)} cannot be read: {_reason(error)}") from error
        if compressed:
            yield cast(BinaryIO, stack.enter_context(gzip.GzipFile(fileobj=raw))), raw
        else:
            yield raw, raw


def _standard_input() -> io.BufferedReader:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        text = "" if sys.stdin is None else sys.stdin.read()
        stream = io.BytesIO(text.encode("utf-8", "surrogateescape"))
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)


def _name(place: str) -> str:
    return "standard input" if place == "-" else place


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
