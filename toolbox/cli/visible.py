"""Text that a model may have written so that a person takes it for something else, made visible."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["visible"]

# Letters and marks that count as printable and show nothing.
_INVISIBLE: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
# Alphabets with letters that look the same.
_ALIKE: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})


def visible(text: str) -> str:
    r"""The text with escapes for what shows nothing, and for letters that another alphabet has lent to a word.

    >>> visible("a\u200bb\u3164"), visible("p\u0430y"), visible("caf\u00e9")
    ('a\\u200bb\\u3164', 'p\\u0430y', 'café')
    """
    if text.isascii() and text.isprintable():
        return text
    shown = _WORD.sub(_one_alphabet, _INVISIBLE.sub(lambda found: _escape(found[0]), text))
    return "".join(character if character.isprintable() or character == "\n" else _escape(character) for character in shown)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _one_alphabet(found: re.Match[str]) -> str:
    word = found[0]
    if word.isascii() or len({_alphabet(letter) for letter in word} & _ALIKE) < 2:
        return word
    return "".join(letter if letter.isascii() else _escape(letter) for letter in word)


def _alphabet(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]
