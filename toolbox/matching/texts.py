"""Texts cut into words, numbers and signs: all that the levels above SEPARATOR look at."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from toolbox.matching.keys import DASHES
from toolbox.matching.words import (
    APART,
    ENDINGS,
    FOREIGN,
    HYPHENED,
    INNER_FOREIGN,
    JOINTS,
    NEGATIONS,
    NO_SIGNS,
    OPEN,
    SUFFIXES,
    TURNING_PAIRS,
)

__all__ = ["Text", "is_number", "tokens", "turns_inside"]

_PLAIN_GAPS: Final = frozenset(("_", ".", ",", ", ", ": ", " - "))
_SELECTORS: Final = frozenset("\ufe0e\ufe0f\u20e3")
"""What follows an emoji and belongs to it."""
_NOT_SHORT: Final = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_WITHOUT: Final = re.compile(r"(?<![^\W_])w/o(?![^\W_])", re.IGNORECASE)
_APOSTROPHE: Final = re.compile(r"(?<=\w)['\u2019](?=\w)")
# Runs over the shadow of a text (see _shadow): numbers, words with camel-case borders, and the signs that carry meaning.
_TOKEN: Final = re.compile(
    r"[0-9]+|[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+"
    r"|[<>%~^+]|(?<=[A-Za-z0-9])#|(?<![A-Za-z0-9])!(?=\s*[A-Za-z0-9])"
    r"|(?<=[A-Za-z0-9])-(?=\s*\Z)|(?:(?<=\s)|(?<=[(\[,;:=])|\A)-(?=[A-Za-z0-9])"
)


def tokens(text: str) -> tuple[str, ...]:
    """The words, numbers and signs of a text, case-folded.

    >>> tokens("maxResults"), tokens("us-east-1"), tokens("HTTPServer v2")
    (('max', 'results'), ('us', 'east', '1'), ('http', 'server', 'v', '2'))
    >>> tokens("isn't C++")
    ('is', 'not', 'c', '+', '+')
    """
    return tuple(token for token, _ in _split(text) if token)


def _split(text: str) -> Iterator[tuple[str, str]]:
    """The tokens, each with what stands between it and the one before; what stands after the last one comes with an empty token."""
    if "'" in text or "\u2019" in text:
        text = _APOSTROPHE.sub("", _NOT_SHORT.sub(" not", text))
    if "/" in text:
        text = _WITHOUT.sub("without", text)
    ascii_text = text.isascii()
    if not ascii_text:
        text = unicodedata.normalize("NFC", text)
    done = 0
    for match in _TOKEN.finditer(text if ascii_text else "".join(map(_shadow, text))):
        start, end = match.span()
        token = text[start:end]
        token = token.lower() if ascii_text else unicodedata.normalize("NFC", token.casefold())
        yield token, text[done:start]
        done = end
    yield "", text[done:]


def is_number(token: str) -> bool:
    """Whether a token is a number; superscripts and fractions are."""
    first = token[0]
    return first.isdigit() or (not first.isascii() and unicodedata.category(first)[0] == "N")


def _shadow(char: str) -> str:
    """The ASCII character that stands for the class of a character."""
    if char.isascii():
        return char
    category = unicodedata.category(char)
    if char.isdigit() or category[0] == "N":
        return "0"
    if char in _SELECTORS:
        return ","
    if category in ("Lu", "Lt"):
        return "A"
    if category[0] in "LM":
        return "a"
    if char in DASHES:
        return "-"
    if category == "Sm":
        return "~"
    return " " if char.isspace() else ","


class Text:
    """A text cut into tokens: all that the levels above SEPARATOR look at.

    Attributes:
        glued: the tokens that touch the one before, one of them being a number: "10k", "arm64".
        hyphened: the tokens with nothing but a hyphen before them.
        joined: the tokens with a sign of a list or a ratio before them; the number of tokens stands for the end.
        named: the tokens with ``=`` before them.
        symbols: the signs that are neither words nor punctuation.
    """

    __slots__ = ("glued", "hyphened", "joined", "key", "letters", "named", "numbers", "signs", "starts", "symbols", "tokens")

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        self.starts: list[int] = []
        self.numbers: list[str] = []
        self.signs: list[str] = []
        self.symbols: frozenset[str] = frozenset()  # the empty one is shared
        self.glued: frozenset[int] = frozenset()
        self.hyphened: frozenset[int] = frozenset()
        self.joined: frozenset[int] = frozenset()
        self.named: frozenset[int] = frozenset()
        parts: list[str] = []
        at = 0
        number = word = False
        for index, (token, gap) in enumerate(_split(text)):
            if gap and gap != " ":
                self._mark(index, gap)
            if not token:
                break
            was_number, was_word = number, word
            word = token.isalpha()
            number = not word and is_number(token)
            word = word or (not number and token[0].isalnum())
            if number:
                self.numbers.append(token)
                if was_number:
                    parts.append(" ")
                    at += 1
            elif not word:
                self.signs.append(token)
            if not gap and ((number and was_word) or (word and was_number)):
                self.glued |= {index}
            self.tokens.append(token)
            self.starts.append(at)
            parts.append(token)
            at += len(token)
        self.key = "".join(parts)
        self.letters = sum(map(str.isalpha, self.key))

    def _mark(self, index: int, gap: str) -> None:
        if gap in DASHES:
            self.hyphened |= {index}
            return
        if gap in _PLAIN_GAPS:
            return
        if "!=" in gap:
            self.joined |= {index}
        for char in gap:
            if char in JOINTS:
                self.joined |= {index}
            elif char == "=":
                self.named |= {index}
            elif char == "$" or char in NO_SIGNS or (not char.isascii() and unicodedata.category(char)[0] == "S"):
                self.symbols |= {char}

    @property
    def empty(self) -> bool:
        """Whether there is no word and no number."""
        return len(self.signs) == len(self.tokens)

    def turns(self, index: int) -> bool:
        """Whether the token turns round, or changes, what stands beside it."""
        token = self.tokens[index]
        after = self.tokens[index + 1] if index + 1 < len(self.tokens) else ""
        return (
            token in NEGATIONS
            or token in ENDINGS
            or token in OPEN
            or token in FOREIGN
            or (token, after) in TURNING_PAIRS
            or (token in APART and after != "")
            or (token in SUFFIXES and index > 0)
            or not (token[0].isalnum() or is_number(token))
            # With a hyphen a letter or a prefix makes another word: "a-typical", "e-mail", "post-paid".
            or (index + 1 in self.hyphened and after[:1].isalpha() and (token in HYPHENED or (len(token) == 1 and token.isalpha())))
            or turns_inside(token)
        )


def turns_inside(text: str) -> bool:
    """Whether a word without borders holds a negation."""
    return not text.isascii() and any(negation in text for negation in INNER_FOREIGN)
