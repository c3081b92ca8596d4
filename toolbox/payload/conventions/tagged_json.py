"""JSON in tags: ``<tool_call>{"name": ..., "arguments": ...}</tool_call>`` (Hermes, Qwen), ``<function_call>`` and relatives.

The body may also be GLM's ``name`` with ``<arg_key>`` and ``<arg_value>`` pairs, or a call as code.
"""

from __future__ import annotations

import re
from typing import Final

from toolbox.payload.conventions.convention import Convention, call_of, calls_from, past_space
from toolbox.payload.conventions.tag_parameters import ARGUMENT_PAIRS, call_in_tags
from toolbox.payload.finder import Finder, truncated
from toolbox.payload.found import FoundCall
from toolbox.payload.reader import Broken

__all__ = ["TAGGED_JSON"]

_TAGS: Final = ("<tool_call", "<function_call", "<functioncall", "<tool_use", "<|tool_call", "<|im_start|>", "<tools>", "<function>")
_OPENING: Final = re.compile(
    r"<(?:tool_calls?|function_calls?|functioncall|tool_use|tools|function)>|<\|tool_calls?\|>|<\|im_start\|>(?:(?:assistant|tool_call|function_call)\b)?"
)
_NAME: Final = re.compile(r"[\w.-]+")


def _read(finder: Finder) -> list[FoundCall]:
    text = finder.text
    calls: list[FoundCall] = []
    opening = _OPENING.search(text)
    while opening is not None:
        body = past_space(text, opening.end())
        finder.end = opening.end()
        if text.startswith(("{", "[", "```"), body):
            try:
                calls += calls_from(finder, body)
            except Broken as error:
                finder.end = max(error.position, opening.end())
                if not finder.text.startswith("<|im_start", opening.start()):
                    raise
        elif opening.group().startswith("<tool_call"):
            calls += _pairs(finder, body)
        opening = _OPENING.search(text, finder.end)
    return calls


def _pairs(finder: Finder, position: int) -> list[FoundCall]:
    text = finder.text
    name = _NAME.match(text, position)
    if name is None:
        return []
    finder.end = name.end()
    if text.startswith("(", name.end()):
        return calls_from(finder, position)
    body = past_space(text, name.end())
    if not text.startswith("<arg_", body):
        if text.startswith("{", body) and finder.resolve(name.group()):
            return [call_of(finder, name.group(), finder.value(body))]
        if text.startswith("<", body) and "<arg_key>".startswith(text[body:]):
            raise truncated(len(text))
        return [FoundCall(finder.resolve(name.group()) or name.group(), {}, None, ())] if text.startswith("</tool_call>", body) else []
    return [call_in_tags(finder, name.group(), name.end(), ARGUMENT_PAIRS)]


TAGGED_JSON: Final = Convention("tool-call tags", _TAGS, _read)
