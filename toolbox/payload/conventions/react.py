"""The reason-and-act format: ``Action: name`` and ``Action Input: {...}`` on lines of their own."""

from __future__ import annotations

import re
from typing import Final

from toolbox.payload.conventions.convention import Convention, call_of, value_from
from toolbox.payload.finder import Finder
from toolbox.payload.found import FoundCall

__all__ = ["REACT"]

_ACTION: Final = re.compile(
    r"(?:^|\n)[ \t]*+Action:[ \t]*+[`\"']?([\w.-]++)[`\"']?[ \t]*+\n++[ \t]*+Action Input:\s*+(?:```(?:json)?\s*+)?(?=\{)"
)


def _read(finder: Finder) -> list[FoundCall]:
    calls: list[FoundCall] = []
    action = _ACTION.search(finder.text)
    while action is not None:
        arguments = value_from(finder, action.end())
        calls.append(call_of(finder, action.group(1), arguments))
        action = _ACTION.search(finder.text, finder.end)
    return calls


REACT: Final = Convention("action and action input", ("Action Input:",), _read)
