"""Whether an object in a text is all of the arguments, or only a part of them, or not meant at all."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from toolbox.payload.prose import is_denied
from toolbox.payload.shapes import ARGUMENT_KEYS, squash

__all__ = ["is_part", "is_unmeant"]

_BEFORE: Final = 300
_LABEL: Final = re.compile(
    r"(?P<quote>[\"'\u201c\u2018]?)(?P<name>[^\W\d][\w$-]*+)[\"'\u201d\u2019]?[*`]{0,3}\s{0,8}(?P<mark>[:=])[\s`*\[>]{0,20}(?:```\w*\s*)?\Z"
)
_MEMBER_LINE: Final = re.compile(r"(?:^|[\n&,;])[ \t\-*]*[\"']?([^\W\d][\w-]*+)[\"']?[ \t]*[:=][ \t]*[^\s{]")
_LINE_ABOVE: Final = re.compile(r"(?:^|\n)[ \t\-*]*[\"']?[^\W\d][\w-]*+[\"']?:[ \t]+[^\n]*\n[ \t\-*]*\Z")
_TAG: Final = re.compile(r"<([\w-]{1,60})\b[^<>]{0,120}>\s*\Z")
_ARGUMENT_TAGS: Final = frozenset(("parameter", "param", "arg", "argvalue", "property", "field", "member"))
_AFTER_ITEM: Final = re.compile(r"[\"'\d\])]\s*,\s*\Z")
_NEXT_MEMBER: Final = re.compile(r"\s*,\s*(?:[\"'][\w$-]+[\"']\s*:|[\w$]+\s*=)")
_WRAPPERS: Final = frozenset(map(squash, ARGUMENT_KEYS))


def is_part(text: str, start: int, end: int, declared: Collection[str]) -> bool:
    """Whether the object between two places is the value of one argument, one of several members, or inside of a call.

    >>> text = 'query: tea, options: {"limit": 5}'
    >>> is_part(text, text.index("{"), len(text), ["query", "options"]), is_part('Here: {"limit": 5}', 6, 18, [])
    (True, False)
    """
    if _NEXT_MEMBER.match(text, end) is not None:
        return True
    before = text[max(0, start - _BEFORE) : start]
    if not before:
        return False
    names = {squash(name) for name in declared}
    opened = before.rfind("(")
    if opened > before.rfind(")") and opened > 0 and (before[opened - 1].isalnum() or before[opened - 1] in "_$"):
        return True
    tag = _TAG.search(before)
    if tag is not None:
        name = squash(tag.group(1))
        return name in names or name in _ARGUMENT_TAGS
    if _AFTER_ITEM.search(before) is not None:
        return True
    label = _LABEL.search(before)
    return label is not None and _labels_a_part(before, label, names)


def _labels_a_part(before: str, label: re.Match[str], names: Collection[str]) -> bool:
    name = squash(label.group("name"))
    if name in names:
        return True
    others = {squash(other) for other in _MEMBER_LINE.findall(before, 0, label.start())}
    if others & set(names):
        return True
    if name in _WRAPPERS:
        return False
    return bool(label.group("quote")) or label.group("mark") == "=" or _LINE_ABOVE.search(before, 0, label.start()) is not None


def is_unmeant(text: str, start: int) -> bool:
    """Whether what starts here stands in a comment, is struck out, or is what the sentence before it says not to do."""
    before = text[max(0, start - _BEFORE) : start]
    line = before[before.rfind("\n") + 1 :].lstrip()
    if line.startswith(("# ", "//", "/*")) or line == "#" or before.rstrip().endswith("~~"):
        return True
    if any(before.rfind(opening) > before.rfind(closing) for opening, closing in (("<!--", "-->"), ("/*", "*/"))):
        return True
    return is_denied(text, start)
