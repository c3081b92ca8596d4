"""XML-like ``<invoke name="f"><parameter name="a">v</parameter></invoke>``, with DeepSeek's marks in the tags or without."""

from __future__ import annotations

import re
from typing import Any, Final

from toolbox.payload.conventions.convention import Convention, past_space, value_from
from toolbox.payload.finder import Finder, truncated
from toolbox.payload.found import FoundCall
from toolbox.payload.tag_values import value_of_tag

__all__ = ["INVOKE_TAGS"]

_MARK: Final = r"(?:\uff5cDSML\uff5c)?\s*+"
_INVOKE: Final = re.compile(rf"<{_MARK}invoke\s+name=\"([^\"]++)\"\s*+(/?)>")
_PARAMETER: Final = re.compile(rf"\s*+<{_MARK}parameter\s+name=\"([^\"]++)\"(?:\s+string=\"(true|false)\")?[^>]*+>")
_CLOSING: Final = re.compile(rf"</{_MARK}parameter>")


def _read(finder: Finder) -> list[FoundCall]:
    text = finder.text
    calls: list[FoundCall] = []
    invoke = _INVOKE.search(text)
    while invoke is not None:
        finder.end = invoke.end()
        name = invoke.group(1)
        body = past_space(text, invoke.end())
        arguments: Any = {}
        if not invoke.group(2) and text.startswith("{", body):
            arguments = value_from(finder, body)
        elif not invoke.group(2):
            parameter = _PARAMETER.match(text, invoke.end())
            while parameter is not None:
                closing = _CLOSING.search(text, parameter.end())
                if closing is None:
                    raise truncated(len(text))
                arguments[parameter.group(1)] = value_of_tag(
                    text[parameter.end() : closing.start()], finder.policy, typed=parameter.group(2) == "false"
                )
                finder.end = closing.end()
                parameter = _PARAMETER.match(text, finder.end)
        calls.append(FoundCall(finder.resolve(name) or name, arguments, None, ()))
        invoke = _INVOKE.search(text, finder.end)
    return calls


INVOKE_TAGS: Final = Convention("invoke tags", ("<invoke name=", "invoke name="), _read)
