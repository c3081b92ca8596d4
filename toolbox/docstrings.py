"""Docstrings in Google, NumPy, reST and Epydoc style -> a summary and a text for each parameter.

The parsing is docstring-parser's; it is imported when the first docstring is read.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Final

__all__ = ["DocText", "read_docstring"]

# "name (type) : text" is common in the wild; the parser wants the colon right after the parenthesis.
_SPACE_BEFORE_COLON: Final = re.compile(r"^(\s+\*{0,2}\w+\s*(?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\))?)[ \t]+:(?=\s)", re.MULTILINE)
# A section head right after a parameter, without the blank line that the styles ask for.
_CROWDED_SECTION: Final = re.compile(
    r"^([^\S\n]*)((?:Returns?|Yields?|Raises|Examples?|Notes?|Args|Arguments|Parameters|Attributes):)[ \t]*$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class DocText:
    """What a docstring says.

    Attributes:
        summary: the text before the sections.
        parameters: text of each parameter or attribute, by name.
    """

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> DocText:
    r"""Read a docstring of any of the four styles.

    >>> read_docstring("Add.\n\nArgs:\n    a: the first number.").parameters
    {'a': 'the first number.'}
    """
    if not text or not text.strip():
        return DocText()
    clean = inspect.cleandoc(text)
    if not _has_sections(clean):
        return DocText(clean)
    import docstring_parser

    prepared = _CROWDED_SECTION.sub(r"\n\1\2", _SPACE_BEFORE_COLON.sub(r"\1:", clean))
    try:
        parsed = docstring_parser.parse(prepared)
    except docstring_parser.ParseError:
        return DocText(clean)
    parameters = {item.arg_name.lstrip("*"): _one_paragraph(item.description or "") for item in parsed.params}
    described = {name: words for name, words in parameters.items() if words}
    if not parsed.meta:
        return DocText(clean)
    return DocText(_summary(parsed.short_description, parsed.long_description), described)


_SECTION: Final = re.compile(
    r"^[ \t]*(?:(?:Args|Arguments|Parameters|Params|Attributes|Keyword Args|Keyword Arguments|Other Parameters"
    r"|Returns?|Yields?|Raises)\s*:?[ \t]*$"
    r"|[:@](?:param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|ivar|cvar|var|attr)\b)",
    re.MULTILINE,
)


def _has_sections(text: str) -> bool:
    return _SECTION.search(text) is not None


def _summary(short: str | None, long: str | None) -> str:
    return "\n\n".join(part.strip() for part in (short, long) if part and part.strip())


def _one_paragraph(text: str) -> str:
    return re.sub(r"[ \t]*\n[ \t]*", " ", text.strip())
