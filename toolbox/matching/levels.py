"""How far a match went, and what a value was matched to."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from toolbox.diagnostics import Risk

__all__ = ["CANDIDATES", "Match", "MatchLevel"]

CANDIDATES: Final = 64
"""So many candidates of a level are looked at; more than this is never a match."""


class MatchLevel(IntEnum):
    """How far the cascade may go; a level with exactly one match wins."""

    EXACT = 0
    CASE = 1
    SEPARATOR = 2
    PREFIX = 3
    TOKEN = 4
    SUBSTRING = 5
    TYPO = 6


class Match(NamedTuple):
    """What a value was matched to.

    Attributes:
        position: position of the choice among the choices.
        choice: the choice itself.
        level: the level that matched.
        risk: how risky the match is; None when it is exact.
    """

    position: int
    choice: object
    level: MatchLevel
    risk: Risk | None
