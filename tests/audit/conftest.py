"""Stores to test with: a file of SQLite, and a schema of its own on the PostgreSQL server that TOOLBOX_POSTGRES names."""

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolbox import AuditStore

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[tuple[str, Any]]:
    """The URL of the server, and a connection to it."""
    server = os.environ.get("TOOLBOX_POSTGRES")
    if not server:
        pytest.skip("TOOLBOX_POSTGRES is not set to the URL of a PostgreSQL server: .ci/postgres starts one")
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        yield server, connection


@pytest.fixture
def postgres_url(postgres_server: tuple[str, Any]) -> Iterator[str]:
    """The URL of an empty schema."""
    server, connection = postgres_server
    name = f"test_{os.getpid()}_{next(_numbers)}"
    connection.execute(f"CREATE SCHEMA {name}")
    yield f"{server}?options=-csearch_path%3D{name}"
    connection.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where the system has one: what is tested here is not the disk, and a disk is slow to wait for."""
    memory = Path("/dev/shm")
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="toolbox-test-") as folder:
        yield Path(folder)


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, quick_folder: Path) -> str:
    """The URL of a store that holds nothing yet."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{quick_folder}/audit.db"


@pytest.fixture
def open_store(store_url: str) -> Iterator[Callable[..., AuditStore]]:
    """Opens the store, as often as a test asks for it, and closes what was opened."""
    opened: list[AuditStore] = []

    def open_it(**options: object) -> AuditStore:
        opened.append(AuditStore(store_url, **options))  # type: ignore[arg-type]  # whatever the test says
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[..., AuditStore]) -> AuditStore:
    """An empty store."""
    return open_store()
