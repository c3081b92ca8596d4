"""Engines with the settings that make a commit last: SQLite with FULL synchronisation, PostgreSQL with synchronous commit."""

from __future__ import annotations

import sqlite3
import weakref
from contextlib import suppress
from typing import Any, Final, Literal
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import NullPool, QueuePool

from toolbox.audit.store.addresses import Address, may_write
from toolbox.errors import StoreError

__all__ = ["has_wal_fault", "reading_engine", "writing_engine"]

_READERS: Final = 4
# A server that is gone without a word is noticed within half a minute.
_KEEPALIVE: Final = {"keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000}
_CONNECT_S: Final = 5
_CURSORS: Final = 64
"""So many are remembered before those that are gone are forgotten."""
_SETTINGS: Final = (
    # As FULL in WAL mode; with the older journal, the end of a commit is the removal of a file, and that must reach the disk too.
    "synchronous=EXTRA",
    "fullfsync=ON",
    "checkpoint_fullfsync=ON",
    "journal_size_limit=67108864",
    "trusted_schema=OFF",
    "cell_size_check=ON",
)


def has_wal_fault(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> bool:
    """Whether this SQLite may lose commits in WAL mode when several connections write and take checkpoints at the same instant.

    It was mended in 3.51.3, and in 3.44.6 and 3.50.7 of the older series.

    >>> [has_wal_fault(version) for version in ((3, 40, 1), (3, 44, 6), (3, 50, 6), (3, 51, 2), (3, 51, 3))]
    [True, False, True, True, False]
    """
    return not (version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45))


def writing_engine(address: Address, timeout_s: float) -> Engine:
    """The engine of the one connection that writes; its transactions take the right to write at once."""
    if not address.is_sqlite:
        return _postgres(address, timeout_s, poolclass=NullPool)
    return _sqlite(address, timeout_s, "IMMEDIATE", poolclass=NullPool)


def reading_engine(address: Address, timeout_s: float) -> Engine:
    """The engine of the connections that read; they cannot write."""
    if not address.is_sqlite:
        return _postgres(
            address, timeout_s, is_reader=True, poolclass=QueuePool, pool_size=_READERS, max_overflow=_READERS, pool_timeout=30
        )
    return _sqlite(address, timeout_s, "DEFERRED", poolclass=QueuePool, pool_size=_READERS, max_overflow=-1)


class _Connection(sqlite3.Connection):
    """A connection whose end nobody holds up.

    SQLite keeps a lock as long as one of its statements is not at its end, also of a connection that was closed; and whoever keeps an
    exception keeps its cursors. So they end with the transaction, and that before the connection is closed, whoever closes it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # No WeakSet: it is told of every end by a function, and an interruption that comes there is lost.
        self._cursors: list[weakref.ref[sqlite3.Cursor]] = []

    def cursor(self, factory: Any = sqlite3.Cursor) -> Any:
        made = super().cursor(factory)
        if len(self._cursors) >= _CURSORS:
            self._cursors = [known for known in self._cursors if known() is not None]
        self._cursors.append(weakref.ref(made))
        return made

    def rollback(self) -> None:
        for known in self._cursors:
            cursor = known()
            if cursor is not None:
                with suppress(sqlite3.Error):
                    cursor.close()
        super().rollback()
        self._cursors.clear()

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self.rollback()
        super().close()


def _sqlite(address: Address, timeout_s: float, begin: Literal["IMMEDIATE", "DEFERRED"], **pool: Any) -> Engine:
    def connect() -> sqlite3.Connection:
        made = sqlite3.connect(
            _target(address),
            timeout=timeout_s,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
            uri=address.path is not None,
        )
        try:
            for setting in _SETTINGS:
                made.execute(f"PRAGMA {setting}")
            if begin == "DEFERRED":
                made.execute("PRAGMA query_only=ON")
        except BaseException:
            made.close()
            raise
        return made

    engine = create_engine("sqlite+pysqlite://", creator=connect, hide_parameters=True, **pool)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # The driver's own way of beginning leaves out what only reads, and takes the right to write late.
        connection.exec_driver_sql(f"BEGIN {begin}")

    return engine


def _target(address: Address) -> str:
    if address.path is None:
        return ":memory:"
    # As a URI, for its mode; every character of the path that means something in one is written apart.
    whole = address.path.as_posix()
    where = quote((whole if whole.startswith("/") else f"/{whole}").encode("utf-8", "surrogateescape"))
    if not address.read_only:
        return f"file://{where}?mode=rwc"
    # A file in WAL mode is read with the help of others beside it. Where those cannot be made, nobody writes to it either.
    is_alone = not may_write(address.path.parent) and not address.path.with_name(f"{address.path.name}-wal").exists()
    return f"file://{where}?mode=ro{'&immutable=1' if is_alone else ''}"


def _postgres(address: Address, timeout_s: float, *, is_reader: bool = False, **pool: Any) -> Engine:
    given = address.url.query
    arguments: dict[str, Any] = {key: value for key, value in _KEEPALIVE.items() if key not in given}
    if "connect_timeout" not in given:
        arguments["connect_timeout"] = _CONNECT_S
    arguments["client_encoding"] = "utf8"
    try:
        engine = create_engine(address.url, connect_args=arguments, hide_parameters=True, pool_pre_ping=is_reader, **pool)
    except ImportError as error:
        raise StoreError(
            "missing_extra", f"the store {address.shown} needs psycopg: pip install 'toolbox-dispatch[postgres]' ({error})"
        ) from None

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _record: Any) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(
                "url",
                f"the store {address.shown}: the database has the encoding {encoding}, which cannot hold every text; make one with UTF8",
            )
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {max(int(timeout_s * 1000), 1)}")
            if is_reader or address.read_only:
                cursor.execute("SET default_transaction_read_only = on")
            # What is read in one go is of one moment, as in SQLite; what is written has to see what others have written meanwhile.
            cursor.execute(f"SET default_transaction_isolation = '{'repeatable read' if is_reader else 'read committed'}'")
            # A server may be told not to wait for its disk; a commit that has been reported must last.
            cursor.execute("SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
        connection.autocommit = False

    return engine
