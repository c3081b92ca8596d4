"""The reason-and-act format: ``Action: name`` and ``Action Input: {...}`` on lines of their own, under these or like labels."""

from __future__ import annotations

import re
from typing import Final

from toolbox.payload.conventions.convention import Convention, call_of, value_from
from toolbox.payload.finder import Finder
from toolbox.payload.found import FoundCall
from toolbox.payload.prose import is_denied
from toolbox.payload.shapes import is_schema

__all__ = ["REACT"]

_ACTION: Final = re.compile(
    r"(?:^|\n)[ \t*]*+(?:Action|(?:Function|Tool)(?: (?:name|call))?)\**+:\**+[ \t]*+[`\"']?([\w.-]++)[`\"']?[ \t]*+\n++"
    r"[ \t*]*+(?:Action Input|Arguments|Args|Input)\**+:\**+\s*+(?:```(?:json)?\s*+)?(?=\{)"
)


def _read(finder: Finder) -> list[FoundCall]:
    calls: list[FoundCall] = []
    action = _ACTION.search(finder.text)
    while action is not None:
        arguments = value_from(finder, action.end())
        name = finder.resolve(action.group(1))
        declared = finder.known.parameters(name) if finder.known is not None and name is not None else ()
        if not is_schema(arguments, declared) and not is_denied(finder.text, action.start()):
            calls.append(call_of(finder, action.group(1), arguments))
        action = _ACTION.search(finder.text, finder.end)
    return calls


REACT: Final = Convention("action and action input", ("Input:", "Input**:", "Arguments:", "Arguments**:", "Args:"), _read)
