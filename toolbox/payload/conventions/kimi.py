"""Kimi K2: ``<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{...}<|tool_call_end|>``; the first part is the call's id."""

from __future__ import annotations

import re
from typing import Final

from toolbox.payload.conventions.convention import Convention, call_of, value_from
from toolbox.payload.finder import Finder
from toolbox.payload.found import FoundCall

__all__ = ["KIMI"]

_BEGIN: Final = re.compile(r"<\|tool_call_begin\|>\s*+(([\w.-]++)(?::\d+)?)\s*+<\|tool_call_argument_begin\|>")


def _read(finder: Finder) -> list[FoundCall]:
    calls: list[FoundCall] = []
    begin = _BEGIN.search(finder.text)
    while begin is not None:
        arguments = value_from(finder, begin.end())
        name = begin.group(2)
        calls.append(call_of(finder, name if finder.resolve(name) else name.removeprefix("functions."), arguments, begin.group(1)))
        begin = _BEGIN.search(finder.text, finder.end)
    return calls


KIMI: Final = Convention("Kimi tool calls", ("<|tool_call_begin|>",), _read)
