"""A process that is killed loses no record of a call that has returned."""

import random
from pathlib import Path

import pytest

from tests.audit.killed import Left, kill_once


@pytest.mark.parametrize("loop", range(10))
def test_a_killed_process_loses_nothing(tmp_path: Path, loop: int) -> None:
    """On a real disk: what had returned is found as it ended, what had started is found, and the file is sound."""
    left = kill_once(f"sqlite:///{tmp_path}/audit.db", random.Random(loop))
    assert left.rows > 0
    assert left.acknowledged > 0
    assert (left.lost, left.missing, left.odd, left.problems) == (set(), set(), set(), [])


@pytest.mark.parametrize("loop", range(3))
def test_a_killed_client_of_a_server_loses_nothing(postgres_url: str, loop: int) -> None:
    """The same with PostgreSQL."""
    left = kill_once(postgres_url, random.Random(loop))
    assert left.rows > 0
    assert (left.lost, left.missing, left.odd, left.problems) == (set(), set(), set(), [])


def test_the_loss_would_be_seen(tmp_path: Path) -> None:
    """The negative control: where calls return before their record is committed, some are lost."""

    def left_of(loop: int) -> Left:
        return kill_once(f"sqlite:///{tmp_path}/{loop}.db", random.Random(loop), is_eager=True)

    assert sum(len(left_of(loop).lost) for loop in range(4)) > 0
