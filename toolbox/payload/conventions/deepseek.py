"""DeepSeek: ``tool_call_begin``, ``function``, ``tool_sep``, the name and fenced JSON (V3, R1), or name, ``tool_sep`` and JSON (V3.1).

The marks are written with full-width bars and block characters instead of bars and underscores.
"""

from __future__ import annotations

import re
from typing import Final

from toolbox.payload.conventions.convention import Convention, call_of, value_from
from toolbox.payload.finder import Finder
from toolbox.payload.found import FoundCall

__all__ = ["DEEPSEEK"]

_BEGIN: Final = re.compile(
    r"<\uff5ctool\u2581call\u2581begin\uff5c>\s*+(?:function\s*+<\uff5ctool\u2581sep\uff5c>\s*+([\w.-]++)\s*+(?:```(?:json)?)?|([\w.-]++)\s*+<\uff5ctool\u2581sep\uff5c>)\s*+"
)


def _read(finder: Finder) -> list[FoundCall]:
    text = finder.text
    calls: list[FoundCall] = []
    begin = _BEGIN.search(text)
    while begin is not None:
        arguments = value_from(finder, begin.end())
        calls.append(call_of(finder, begin.group(1) or begin.group(2), arguments))
        begin = _BEGIN.search(text, finder.end)
    return calls


DEEPSEEK: Final = Convention("DeepSeek tool calls", ("<\uff5ctool\u2581call\u2581begin\uff5c>",), _read)
