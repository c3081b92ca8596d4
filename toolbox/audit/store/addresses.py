"""Where a store is: a file of SQLite, or a PostgreSQL server. Its password is shown nowhere."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy import URL, exc, make_url

from toolbox.diagnostics import MASK
from toolbox.errors import StoreError

__all__ = ["Address", "may_write", "read_address"]

_SQLITE: Final = frozenset({"sqlite", "sqlite+pysqlite"})
_POSTGRES: Final = frozenset({"postgresql", "postgres", "postgresql+psycopg"})
_FORMS: Final = 'expected "sqlite:///audit.db", the path of a file, or "postgresql://user@host/database"'
_MEMORY: Final = frozenset({"", ":memory:"})


@dataclass(frozen=True, slots=True)
class Address:
    """Where a store is.

    Attributes:
        url: for SQLAlchemy, with the password.
        shown: for people, without it.
        is_sqlite: whether it is SQLite, else PostgreSQL.
        path: the file, absolute; None for a server, and for a store in memory.
        read_only: whether nothing may be written.
    """

    url: URL = field(repr=False)
    shown: str
    is_sqlite: bool
    path: Path | None
    read_only: bool = False

    def without_secrets(self, text: str) -> str:
        """The text without the password, should it stand there."""
        for secret in (self.url.password, *(value for key, value in self.url.query.items() if "pass" in key)):
            if secret and isinstance(secret, str):
                text = text.replace(secret, MASK)
        return text


def may_write(path: Path) -> bool:
    """Whether this user may write to a file, or make one in a folder."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def read_address(url: str | os.PathLike[str], *, read_only: bool = False) -> Address:
    """The address that a URL, or the path of a file, stands for.

    Raises:
        StoreError: it is neither, or of an engine that is not known.
    """
    if isinstance(url, os.PathLike):
        return _file(Path(os.fsdecode(url)), read_only)
    if not isinstance(url, str):
        raise StoreError("url", f"a {type(url).__name__} is no address of a store: {_FORMS}")
    if not url or "\0" in url:
        raise StoreError("url", f"the address of the store is empty or holds a NUL: {_FORMS}")
    if "://" not in url:
        return _file(Path(url), read_only)
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, ValueError):
        # Neither the address nor what was said about it is shown: a password may stand in it.
        raise StoreError("url", f"the address of the store cannot be read: {_FORMS}") from None
    if parsed.drivername in _SQLITE:
        return _sqlite(parsed, read_only)
    if parsed.drivername in _POSTGRES:
        return _postgres(parsed, read_only)
    raise StoreError("url", f"{parsed.drivername[:40]!r} is no engine of the store: {_FORMS}")


def _sqlite(url: URL, read_only: bool) -> Address:
    if url.host or url.username or url.port:
        raise StoreError("url", 'a file of SQLite is written with three slashes, "sqlite:///audit.db", or with four and its whole path')
    if url.query:
        raise StoreError("url", 'options of SQLite are not given in the address: write "sqlite:///audit.db", and options as arguments')
    if (url.database or "") in _MEMORY:
        if read_only:
            raise StoreError("url", "a store in memory cannot be opened with read_only=True: there is nothing in it")
        return Address(URL.create("sqlite+pysqlite"), "sqlite:// (in memory)", True, None)
    return _file(Path(str(url.database)), read_only)


def _file(path: Path, read_only: bool) -> Address:
    # Absolute, so that a store that is opened again finds it after a change of the working directory.
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() follows links, and a link may be turned to another file
    shown = f"sqlite:///{whole}".encode("utf-8", "backslashreplace").decode("utf-8")
    return Address(URL.create("sqlite+pysqlite", database=str(whole)), shown, True, whole, read_only)


def _postgres(url: URL, read_only: bool) -> Address:
    # What stands behind the question mark may hold a password too.
    shown = url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
    return Address(url.set(drivername="postgresql+psycopg"), shown, False, None, read_only)
