"""functionary: ``<|recipient|>name <|content|>{...}`` (2) and ``>>>name`` with JSON on the next line (3); ``all`` means plain text."""

from __future__ import annotations

import re
from typing import Final

from toolbox.payload.conventions.convention import Convention, call_of, value_from
from toolbox.payload.finder import Finder
from toolbox.payload.found import FoundCall

__all__ = ["FUNCTIONARY"]

_CALL: Final = re.compile(r"(?:<\|recipient\|>\s*+([\w.-]++)\s*+<\|content\|>|(?:^|\n)>>>([\w.-]++)[ \t]*+\n)\s*+(?=\{)")


def _read(finder: Finder) -> list[FoundCall]:
    calls: list[FoundCall] = []
    call = _CALL.search(finder.text)
    while call is not None:
        name = call.group(1) or call.group(2)
        if name != "all":
            calls.append(call_of(finder, name, value_from(finder, call.end())))
        call = _CALL.search(finder.text, max(finder.end, call.end()))
    return calls


FUNCTIONARY: Final = Convention("functionary tool calls", ("<|recipient|>", ">>>"), _read)
