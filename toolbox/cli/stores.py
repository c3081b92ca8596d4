"""Stores of records as the command line names them; they are opened for reading alone, and never made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolbox.cli.problems import UsageProblem
from toolbox.errors import StoreError

if TYPE_CHECKING:
    from toolbox.audit.store import AuditStore

__all__ = ["is_store", "open_store", "source_of"]

_SQLITE_MAGIC: Final = b"SQLite format 3\0"
_SUFFIXES: Final = frozenset({".db", ".db3", ".sqlite", ".sqlite3"})


def is_store(place: str) -> bool:
    """Whether a place is a store and no file of lines: a URL, a file of SQLite, or what is called like one."""
    if "://" in place or Path(place).suffix.lower() in _SUFFIXES:
        return True
    try:
        with Path(place).open("rb") as file:
            return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
    except (OSError, ValueError):
        return False


def open_store(place: str) -> AuditStore:
    """The store at a place.

    Raises:
        UsageProblem: it cannot be read, or is none.
    """
    from toolbox.audit.store import AuditStore

    try:
        return AuditStore(place, read_only=True)
    except StoreError as error:
        if error.reason in ("missing_file", "missing_folder"):
            why = f"there is no file {place}: name the one that a registry writes with add_sink(AuditStore(...))"
            raise UsageProblem(why) from error
        if error.reason == "older":
            why = f"{source_of(place)} holds no records of toolbox: name the file that a registry writes with add_sink(AuditStore(...))"
            raise UsageProblem(why) from error
        raise UsageProblem(str(error)) from error


def source_of(place: str) -> str:
    """What is read, without the password of a URL."""
    if "://" not in place:
        return place
    from toolbox.audit.store.addresses import read_address

    return read_address(place, read_only=True).shown
