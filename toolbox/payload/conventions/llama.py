"""Llama 3: ``<|python_tag|>`` before JSON objects joined by semicolons, or before calls as code."""

from __future__ import annotations

from typing import Final

from toolbox.payload.conventions.convention import Convention, calls_from, past_space
from toolbox.payload.finder import Finder
from toolbox.payload.found import FoundCall

__all__ = ["LLAMA"]

_MARKER: Final = "<|python_tag|>"


def _read(finder: Finder) -> list[FoundCall]:
    text = finder.text
    calls: list[FoundCall] = []
    start = text.find(_MARKER)
    while start >= 0:
        position = past_space(text, start + len(_MARKER))
        while position < len(text) and (text[position] in "{[" or text[position].isalpha()):
            calls += calls_from(finder, position)
            position = past_space(text, finder.end)
            if text.startswith(";", position):
                position = past_space(text, position + 1)
        start = text.find(_MARKER, max(position, start + 1))
    return calls


LLAMA: Final = Convention("Llama python tag", (_MARKER,), _read)
