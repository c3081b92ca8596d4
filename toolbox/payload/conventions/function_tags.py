"""Functions as tags: ``<function=name>{...}</function>`` (Llama 3.1, functionary 3.1) and, with a tag for each parameter, Qwen3-Coder."""

from __future__ import annotations

import re
from typing import Final

from toolbox.payload.conventions.convention import Convention
from toolbox.payload.conventions.tag_parameters import NAME, call_after_tag
from toolbox.payload.finder import Finder
from toolbox.payload.found import FoundCall

__all__ = ["FUNCTION_TAGS"]

_FUNCTION: Final = re.compile(rf"<function(?:=|\s+name\s*+=\s*+){NAME}\s*+>")


def _read(finder: Finder) -> list[FoundCall]:
    text = finder.text
    calls: list[FoundCall] = []
    function = _FUNCTION.search(text)
    while function is not None:
        name = function.group(1) or function.group(2) or function.group(3)
        calls.append(call_after_tag(finder, name, function.end()))
        function = _FUNCTION.search(text, finder.end)
    return calls


FUNCTION_TAGS: Final = Convention("function tags", ("<function=", "<function name"), _read)
