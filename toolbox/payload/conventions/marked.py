"""The calls of a text by the first convention whose marks it holds."""

from __future__ import annotations

import re
from typing import Final

from toolbox.errors import PayloadError
from toolbox.payload.conventions.convention import Convention
from toolbox.payload.conventions.table import CONVENTIONS
from toolbox.payload.finder import Finder
from toolbox.payload.found import FoundCall, KnownTools
from toolbox.payload.reader import Broken
from toolbox.payload.trimming import without_asides
from toolbox.policy import Policy

__all__ = ["inside_value", "marked_calls", "spoken_text"]

_OPENS: Final = re.compile(r"[{\[]|(?<![\w$.])(?:[^\W\d]|\$)[\w.$]*+\(")


def marked_calls(finder: Finder) -> tuple[Convention | None, list[FoundCall], Broken | None]:
    """The convention and its calls; else where the calls of a convention that the text does hold can't be read."""
    text = finder.text
    broken: Broken | None = None
    for convention in CONVENTIONS:
        found = [position for position in map(text.find, convention.markers) if position >= 0]
        if not found or inside_value(finder, min(found)):
            continue
        try:
            calls = convention.read(finder)
        except Broken as error:
            broken = broken or error
            continue
        if calls:
            return convention, calls, None
    return None, [], broken


def spoken_text(text: str, known: KnownTools | None, policy: Policy) -> str:
    """The text without what is no part of the model's answer; what stands inside of a value is never left out."""
    finder = Finder(text, known, policy)
    return without_asides(text, lambda start, mark: inside_value(finder, mark, start))


def inside_value(finder: Finder, marker: int, start: int = 0) -> bool:
    """Whether a mark stands inside an object, a list or a call: there it is part of a text, and the text may say anything."""
    opening = _OPENS.search(finder.text, start, marker)
    while opening is not None:
        start = opening.start()
        try:
            if opening.group() in "{[":
                finder.value(start)
            else:
                finder.call(start)
            end = finder.end
        except Broken as error:
            end = error.position
        except PayloadError:
            return True
        if end > marker:
            return True
        opening = _OPENS.search(finder.text, max(end, start + 1), marker)
    return False
