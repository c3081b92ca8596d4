"""Mistral: ``[TOOL_CALLS] [{"name": ..., "arguments": ...}]``, later ``[TOOL_CALLS]name[CALL_ID]id[ARGS]{...}``."""

from __future__ import annotations

import re
from typing import Final

from toolbox.payload.conventions.convention import Convention, call_of, calls_from, past_space, value_from
from toolbox.payload.finder import Finder
from toolbox.payload.found import FoundCall

__all__ = ["MISTRAL"]

_MARKER: Final = "[TOOL_CALLS]"
_NAMED: Final = re.compile(r"([\w.-]++)\s*+(?:\[CALL_ID\](\w++))?\s*+(?:\[ARGS\])?\s*+(?=\{)")


def _read(finder: Finder) -> list[FoundCall]:
    text = finder.text
    calls: list[FoundCall] = []
    start = text.find(_MARKER)
    while start >= 0:
        body = past_space(text, start + len(_MARKER))
        finder.end = body
        named = _NAMED.match(text, body)
        if named is not None:
            arguments = value_from(finder, named.end())
            calls.append(call_of(finder, named.group(1), arguments, named.group(2)))
        elif text.startswith(("[", "{"), body):
            calls += calls_from(finder, body)
        start = text.find(_MARKER, finder.end)
    return calls


MISTRAL: Final = Convention("Mistral tool calls", (_MARKER,), _read)
