"""Processes that are killed, and processes that race: no item is lost, none runs twice, and what nobody knows is said to be unknown."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

import toolbox

POSTGRES = os.environ.get("TOOLBOX_POSTGRES")
PROGRAM = Path(__file__).with_name("review_kills.py")
# Boundary -> what the next process must find: nothing, or state and run.
FOUND = {
    "before hold": None,
    "inside hold": None,
    "after hold": ["waiting", "not_run"],
    "before correct": ["waiting", "not_run"],
    "inside correct": ["waiting", "not_run"],
    "after correct": ["corrected", "not_run"],
    "before approve": ["corrected", "not_run"],
    "inside approve": ["corrected", "not_run"],
    "after approve": ["approved", "not_run"],
    "before claim": ["approved", "not_run"],
    "inside claim": ["approved", "not_run"],
    "after claim": ["approved", "unknown"],
    "before effect": ["approved", "unknown"],
    "after effect": ["approved", "unknown"],
    "before end": ["approved", "unknown"],
    "inside end": ["approved", "unknown"],
    "after end": ["approved", "done"],
}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@pytest.fixture(
    params=["sqlite", pytest.param("postgres", marks=pytest.mark.skipif(not POSTGRES, reason="TOOLBOX_POSTGRES names no server"))]
)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty store."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'audit.db'}"
        return
    server = sqlalchemy.make_url(str(POSTGRES)).set(drivername="postgresql+psycopg")
    name = f"kills_{uuid.uuid4().hex}"
    engine = sqlalchemy.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    yield server.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


def ran(*arguments: str) -> list[dict[str, Any]]:
    """What the program tells."""
    environment = {**os.environ, "PYTHONPATH": str(Path(toolbox.__file__).parents[1])}
    done = subprocess.run([sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_killed_at_every_boundary(address: str, tmp_path: Path) -> None:
    """At each of them: what was told is there, the effect comes once at most, and what is uncertain is unknown and does not run again."""
    # What is before a transaction and what is inside it differ by the engine alone, so a server is asked for less.
    places = list(FOUND) if address.startswith("sqlite") else [where for where in FOUND if not where.startswith("before")]
    kills = ran(address, str(tmp_path), "--at", ",".join(places))
    assert [kill["boundary"] for kill in kills] == places
    for kill in kills:
        where = kill["boundary"]
        assert kill["was_killed"], where
        wanted = FOUND[where]
        assert kill["found"] == ([] if wanted is None else [wanted]), where
        assert set(kill["told"]) - {"begun"} <= set(kill["events"]), where
        assert kill["items"] == 1, where
        assert kill["check"] == [], where
        if wanted == ["approved", "unknown"]:
            assert kill["refused"] == "illegal_step", where
            assert kill["ended"] == wanted, where
            assert kill["effects"] == kill["effects_before"] == (where in {"after effect", "before end", "inside end"}), where
        else:
            assert kill["ended"] == ["approved", "done"], where
            assert kill["effects"] == 1, where


def test_two_processes_race(address: str, tmp_path: Path) -> None:
    """Two reviewers in two processes decide and run the same items at once: each item has one decision and one effect."""
    (race,) = ran(address, str(tmp_path), "--race", "12")
    assert race["items"] == 12
    assert race["effects"] == 12
    assert race["approvals"] == [1] * 12
    assert race["claims"] == [1] * 12
    assert race["others"] == ["illegal_step"]
    assert sum(race["won"]) == 12 * 2
