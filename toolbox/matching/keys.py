"""The keys under which texts are equal up to SEPARATOR."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["DASHES", "LONGEST", "bare", "fold", "normalise", "without_quotes"]

LONGEST: Final = 256
"""Longer values are only matched exactly."""
_QUOTES: Final = frozenset("\"'`*\u2018\u2019\u201c\u201d\u00ab\u00bb")
_CLOSING: Final = ".,;:!?\u2026\u3002\uff01\uff0c"
_INVISIBLE: Final = "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_SEPARATORS: Final = re.compile(r"[\s_\-./\u2010-\u2015\u2212]+")
DASHES: Final = frozenset("-\u2010\u2011\u2012\u2013\u2014\u2015\u2212")


def normalise(text: str) -> str:
    """The key under which texts are equal at SEPARATOR.

    Spaces, ``_ - . /`` and camel-case borders are dropped. Two numbers stay two numbers, and a sign stays a sign.

    >>> normalise("US East 1") == normalise("us-east-1") == normalise("UsEast1")
    True
    >>> normalise("v1.4") == normalise("v14"), normalise("-1") == normalise("1")
    (False, False)
    """
    folded = fold(text)
    if folded.isalnum():
        return folded
    return _SEPARATORS.sub(_joint, folded)


def _joint(match: re.Match[str]) -> str:
    text, start, end = match.string, match.start(), match.end()
    before = text[start - 1] if start else ""
    after = text[end] if end < len(text) else ""
    if before.isdigit() and after.isdigit():
        return " "
    run = match[0]
    if run[-1] in DASHES and after.isalnum() and ((run[-2].isspace()) if len(run) > 1 else not before):
        return "-"  # a sign: "-1", "-created"
    if run in DASHES and before and not after:
        return "-"  # a grade: "A-"
    return ""


def fold(text: str) -> str:
    """A text without case and without what is invisible at its ends; the key of CASE."""
    if text.isascii():
        return text.strip().lower()
    return unicodedata.normalize("NFC", bare(text).casefold())


def bare(text: str) -> str:
    """A text without what is invisible at its ends."""
    return unicodedata.normalize("NFC", text.strip().strip(_INVISIBLE).strip())


def without_quotes(text: str) -> str:
    """A folded text without surrounding quotes and closing punctuation; itself when nothing else is in it."""
    bare = text
    while bare:
        stripped = bare.rstrip(_CLOSING).strip()
        if len(stripped) > 1 and stripped[0] in _QUOTES and stripped[-1] in _QUOTES:
            stripped = stripped[1:-1].strip()
        if stripped == bare:
            return bare
        bare = stripped
    return text
