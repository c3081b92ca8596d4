"""XML-like ``<invoke name="f"><parameter name="a">v</parameter></invoke>``, with DeepSeek's marks in the tags or without."""

from __future__ import annotations

import re
from typing import Final

from toolbox.payload.conventions.convention import Convention
from toolbox.payload.conventions.tag_parameters import NAME, call_after_tag
from toolbox.payload.finder import Finder
from toolbox.payload.found import FoundCall

__all__ = ["INVOKE_TAGS"]

_INVOKE: Final = re.compile(rf"<(?:\uff5cDSML\uff5c)?\s*+invoke\s+name\s*+=\s*+{NAME}\s*+(/?)>")


def _read(finder: Finder) -> list[FoundCall]:
    text = finder.text
    calls: list[FoundCall] = []
    invoke = _INVOKE.search(text)
    while invoke is not None:
        finder.end = invoke.end()
        name = invoke.group(1) or invoke.group(2) or invoke.group(3)
        if invoke.group(4):
            calls.append(FoundCall(finder.resolve(name) or name, {}, None, ()))
        else:
            calls.append(call_after_tag(finder, name, invoke.end()))
        invoke = _INVOKE.search(text, finder.end)
    return calls


INVOKE_TAGS: Final = Convention("invoke tags", ("<invoke name", "invoke name"), _read)
