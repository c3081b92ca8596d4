"""What a convention is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from toolbox.payload.finder import Finder, notes_of
from toolbox.payload.found import FoundCall

__all__ = ["Convention", "call_of", "calls_from", "past_space", "value_from"]


class Convention(NamedTuple):
    """One way to write calls into text.

    Attributes:
        name: what it is called in records.
        markers: a text without any of these holds no call of this convention.
        read: all calls of a text, in order; it may raise `Broken` or `PayloadError`.
    """

    name: str
    markers: tuple[str, ...]
    read: Callable[[Finder], list[FoundCall]]


def past_space(text: str, position: int) -> int:
    """Index of the first character from `position` on that is no white space."""
    length = len(text)
    while position < length and text[position].isspace():
        position += 1
    return position


def value_from(finder: Finder, position: int) -> Any:
    """The JSON value after some white space; it must be whole."""
    value = finder.value(past_space(finder.text, position))
    finder.refuse_cut()
    return value


def calls_from(finder: Finder, position: int) -> list[FoundCall]:
    """The calls after some white space, by any shape; a code fence around them is looked through."""
    text = finder.text
    position = past_space(text, position)
    if text.startswith("```", position):
        line = text.find("\n", position)
        position = past_space(text, line + 1 if line >= 0 else len(text))
    if position >= len(text):
        finder.end = position
        return []
    calls = finder.calls_at(position, explicit=True)
    finder.refuse_cut()
    return calls or []


def call_of(finder: Finder, name: str, arguments: Any, call_id: str | None = None) -> FoundCall:
    """A call whose name stood apart from its arguments; it keeps its name as written when no tool has it."""
    notes = tuple(notes_of(finder.reader))
    return FoundCall(finder.resolve(name) or name, arguments, call_id, notes)
