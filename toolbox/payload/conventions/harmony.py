"""The harmony format of gpt-oss: ``<|channel|>commentary to=functions.name <|constrain|>json<|message|>{...}<|call|>``."""

from __future__ import annotations

import re
from typing import Final

from toolbox.payload.conventions.convention import Convention, call_of, past_space, value_from
from toolbox.payload.finder import Finder
from toolbox.payload.found import FoundCall

__all__ = ["HARMONY"]

_MARKER: Final = "<|message|>"
_HEADER: Final = 300
_RECIPIENT: Final = re.compile(r"\bto=([\w.-]++)")


def _read(finder: Finder) -> list[FoundCall]:
    text = finder.text
    calls: list[FoundCall] = []
    start = 0
    marker = text.find(_MARKER)
    while marker >= 0:
        body = past_space(text, marker + len(_MARKER))
        names = _RECIPIENT.findall(text, max(start, marker - _HEADER), marker)
        if names and text.startswith("{", body):
            name = names[-1]
            calls.append(call_of(finder, name if finder.resolve(name) else name.removeprefix("functions."), value_from(finder, body)))
            start = finder.end
        else:
            start = body
        marker = text.find(_MARKER, start)
    return calls


HARMONY: Final = Convention("harmony tool calls", (_MARKER,), _read)
