"""Functions as tags: ``<function=name>{...}</function>`` (Llama 3.1, functionary 3.1) and, with a tag for each parameter, Qwen3-Coder."""

from __future__ import annotations

import re
from typing import Final

from toolbox.payload.conventions.convention import Convention, call_of, past_space, value_from
from toolbox.payload.finder import Finder, truncated
from toolbox.payload.found import FoundCall
from toolbox.payload.tag_values import value_of_tag

__all__ = ["FUNCTION_TAGS"]

_FUNCTION: Final = re.compile(r"<function(?:=|\s+name=\"?)([^>\"\s]++)\"?\s*+>")
_PARAMETER: Final = re.compile(r"\s*+<parameter(?:=|\s+name=\"?)([^>\"\s]++)\"?\s*+>")


def _read(finder: Finder) -> list[FoundCall]:
    text = finder.text
    calls: list[FoundCall] = []
    function = _FUNCTION.search(text)
    while function is not None:
        name, body = function.group(1), past_space(text, function.end())
        finder.end = function.end()
        if text.startswith("{", body):
            calls.append(call_of(finder, name, value_from(finder, body)))
        else:
            arguments = {}
            parameter = _PARAMETER.match(text, function.end())
            while parameter is not None:
                end = text.find("</parameter>", parameter.end())
                if end < 0:
                    raise truncated(len(text))
                arguments[parameter.group(1)] = value_of_tag(text[parameter.end() : end], finder.policy)
                finder.end = end + len("</parameter>")
                parameter = _PARAMETER.match(text, finder.end)
            if not arguments and past_space(text, finder.end) >= len(text):
                raise truncated(len(text))
            calls.append(FoundCall(finder.resolve(name) or name, arguments, None, ()))
        function = _FUNCTION.search(text, finder.end)
    return calls


FUNCTION_TAGS: Final = Convention("function tags", ("<function=", "<function name="), _read)
