"""What engines, drivers and disks raise -> `StoreError`, with what to do; nothing that was stored, and no password, stands in it."""

from __future__ import annotations

import errno
import sqlite3
from typing import Any, Final

from sqlalchemy import exc

from toolbox.audit.store.addresses import Address, may_write
from toolbox.diagnostics import shorten
from toolbox.errors import StoreError, ToolboxError

__all__ = ["interruption", "is_foreign", "store_error"]

_LONGEST: Final = 500
_CHAIN: Final = 50

# Primary result codes of SQLite.
_SQLITE: Final = {
    3: "permission",
    5: "locked",
    6: "locked",
    8: "read_only",
    10: "disk",
    11: "corrupt",
    13: "full",
    14: "unopened",
    23: "permission",
    26: "not_a_database",
}
# Codes of PostgreSQL, or their class of two characters.
_POSTGRES: Final = {
    "08": "unreachable",
    "25006": "read_only",
    "28": "permission",
    "3D": "url",
    "40001": "locked",
    "40P01": "locked",
    "42501": "permission",
    "53100": "full",
    "53300": "unreachable",
    "55P03": "locked",
    "57014": "locked",
    "57P": "unreachable",
    "58": "disk",
    "XX001": "corrupt",
    "XX002": "corrupt",
}
_ERRNO: Final = {
    errno.ENOSPC: "full",
    errno.EFBIG: "full",
    errno.EDQUOT: "full",
    errno.EROFS: "read_only",
    errno.EACCES: "permission",
    errno.EPERM: "permission",
    errno.ENOENT: "missing_folder",
    errno.EIO: "disk",
    errno.ENAMETOOLONG: "url",
}
_ADVICE: Final = {
    "permission": "give this user the right to read and write there",
    "locked": "another process holds it; look for one that was stopped in the middle of writing, or allow more time with timeout_s=",
    "read_only": "it may only be read: give the right to write, or open it with read_only=True",
    "disk": "the disk or the operating system refused it (a fault, a quota, a limit on the size of files)",
    "corrupt": "the file is damaged: keep a copy, get out what can be read with the sqlite3 program (.recover), and begin a new file",
    "full": "there is no room left: make room, or shorten the record with prune()",
    "not_a_database": "name another file: this one was written by something else",
    "missing_folder": "make the folder first; it is not made by itself",
    "unreachable": "see whether the server runs and can be reached from here",
    "url": "name a database that exists",
}


def is_foreign(error: BaseException) -> bool:
    """Whether an exception comes from an engine, a driver or the operating system, and not from toolbox or the caller's own code."""
    if isinstance(error, ToolboxError):
        return False
    return isinstance(error, exc.SQLAlchemyError | sqlite3.Error | OSError | OverflowError | UnicodeError) or _is_of_driver(error)


def interruption(error: BaseException, before: BaseException | None) -> BaseException | None:
    """What has interrupted a work, such as a `KeyboardInterrupt`: the error itself, or what is hidden behind an engine's stumble over it.

    Args:
        error: what came out of the work.
        before: what was being handled when the work began.
    """
    link: BaseException | None = error
    for _ in range(_CHAIN):
        if link is None or link is before:
            break
        if not isinstance(link, Exception):
            return link
        link = link.__context__
    return None


def _is_of_driver(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] == "psycopg"


def store_error(error: BaseException, address: Address) -> StoreError:
    """The error to raise for what an engine, a driver or the operating system raised."""
    if isinstance(error, StoreError):
        return error
    original: Any = getattr(error, "orig", None) or error
    reason = _reason(error, original, address)
    advice = _ADVICE.get(reason)
    text = address.without_secrets(_words(original))
    return StoreError(reason, f"the store {address.shown}: {text}" + (f"; {advice}" if advice else ""))


def _reason(error: BaseException, original: Any, address: Address) -> str:
    if isinstance(original, sqlite3.Error):
        code = getattr(original, "sqlite_errorcode", None)
        found = _SQLITE.get(code & 0xFF, "failed") if isinstance(code, int) else "failed"
        try:
            return _why_unopened(address) if found == "unopened" or (found == "disk" and address.path and address.path.is_dir()) else found
        except OSError as refused:  # such as a name that is too long, or a folder that may not be entered
            return _ERRNO.get(refused.errno or 0, "failed")
    if isinstance(error, exc.TimeoutError):
        return "locked"
    if _is_of_driver(original):
        state = getattr(original, "sqlstate", None)
        if not state:
            return "unreachable" if type(original).__name__ == "OperationalError" else "failed"
        return next((_POSTGRES[state[:length]] for length in (5, 3, 2) if state[:length] in _POSTGRES), "failed")
    if isinstance(original, OSError):
        return _ERRNO.get(original.errno or 0, "failed")
    return "failed"


def _why_unopened(address: Address) -> str:
    """SQLite says only that it cannot open the file, or read it."""
    path = address.path
    if path is None:
        return "failed"
    if not path.parent.is_dir():
        return "missing_folder"
    if path.is_dir():
        return "not_a_database"
    if not path.exists() and address.read_only:
        return "missing_file"
    return "failed" if may_write(path.parent) and (not path.exists() or may_write(path)) else "permission"


def _words(original: Any) -> str:
    """What went wrong, in the words of the engine: its first line, since the next ones may show what was to be stored."""
    primary = getattr(getattr(original, "diag", None), "message_primary", None)
    try:
        text = primary or str(original)
    except Exception:  # noqa: BLE001 - an exception's own __str__ may raise
        text = ""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "") or type(original).__name__
    if not first.isprintable():
        return shorten(first, _LONGEST)[1:-1]
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}..."
