"""What an application gives the queue and cannot mean: found before anything is done, as a `ReviewError` of the reason ``"misused"``."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from toolbox.diagnostics import FOREIGN, shorten
from toolbox.errors import ReviewError
from toolbox.recovery.review.letters import DeadLetterFile, DeadLetters
from toolbox.recovery.review.states import ReviewState, RunState

__all__ = [
    "BURIED",
    "buried",
    "check",
    "is_function",
    "is_mapping",
    "is_object",
    "is_span",
    "is_text",
    "letters",
    "member",
    "named",
    "person",
]

BURIED: Final = (ReviewState.REJECTED, ReviewState.EXPIRED)
_LONGEST_NAME: Final = 200

_E = TypeVar("_E", ReviewState, RunState)


def check(name: str, value: Any, is_right: bool, wanted: str) -> None:
    """Refuse an argument that is not what is wanted.

    Raises:
        ReviewError: it is not.
    """
    if not is_right:
        raise ReviewError("misused", f"{name}= must be {wanted}, and is {shorten(value)}")


def is_span(value: Any, least: float = 0) -> bool:
    """Whether a value is a length of time in seconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value) and value >= least


def is_text(value: Any) -> bool:
    """Whether a value is text, or not given."""
    return value is None or isinstance(value, str)


def is_function(value: Any) -> bool:
    """Whether a value can be called, or is not given."""
    return value is None or callable(value)


def is_mapping(value: Any) -> bool:
    """Whether a value is a mapping, or not given."""
    return value is None or isinstance(value, Mapping)


def is_object(value: Any) -> bool:
    """Whether a value is an object as in JSON."""
    try:
        return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)
    except FOREIGN:  # a mapping of someone's own
        return False


def person(by: Any) -> str:
    """Who takes a step."""
    if not isinstance(by, str) or not by.strip() or len(by) > _LONGEST_NAME:
        raise ReviewError("misused", f"by= must name who does it, in 1 to {_LONGEST_NAME} characters")
    return by


def member(kind: type[_E], word: Any, what: str) -> _E:
    """The state that a word names."""
    found = next((item for item in kind if is_text(word) and item.value == word), None)
    if found is None:
        raise ReviewError("misused", f"{shorten(word)} is no {what}: send one of {', '.join(item.value for item in kind)}")
    return found


def named(item_id: Any) -> str:
    """The id of an item, or whatever was given for one, in a text."""
    return f"{item_id!r:.60}" if isinstance(item_id, str) else shorten(item_id)


def buried(bury: Any) -> Collection[ReviewState]:
    """The states of which a dead letter is written."""
    words = list(bury) if isinstance(bury, Iterable) and not isinstance(bury, str) else [bury]
    for word in words:
        if word not in BURIED:
            raise ReviewError("misused", f"bury={shorten(bury)}: expected a list of 'rejected' and 'expired'")
    return [ReviewState(word) for word in words]


def letters(store: Any, wanted: Any) -> DeadLetters:
    """Where dead letters go."""
    if wanted is None:
        path = getattr(store, "path", None)
        return DeadLetterFile("toolbox-dead-letters.jsonl" if path is None else f"{path}.dead-letters.jsonl")
    if isinstance(wanted, str | Path):
        return DeadLetterFile(wanted)
    if not callable(wanted):
        raise ReviewError("misused", f"dead_letters must be callable with an item, or the path of a file, and is a {type(wanted).__name__}")
    found: DeadLetters = wanted
    return found
