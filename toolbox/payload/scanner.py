"""White space, comments, texts and numbers as models write them: what the tolerant reader makes its values of."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any, Final

from toolbox.payload.limits import too_long_integer
from toolbox.policy import Limits
from toolbox.types import NumberText

__all__ = ["AFTER_QUOTED", "DOTTED", "NON_FINITE", "NUMBER", "QUOTES", "Broken", "Cut", "Scanner"]


class Broken(Exception):
    """The text can't be read here.

    Attributes:
        position: index of the first character that does not fit.
        why: what is wrong, for the model.
    """

    def __init__(self, position: int, why: str) -> None:
        self.position = position
        self.why = why
        super().__init__(position, why)


class Cut(IntEnum):
    """How a text ends."""

    WHOLE = 0
    """Nothing is missing."""
    CLOSERS = 1
    """Only closing brackets are missing, after a complete value."""
    INSIDE = 2
    """It ends inside a text, a number, a key or a list."""


_PLAIN_SPACE: Final = re.compile(r"[ \t\r\n]*")
# What begins neither white space nor a comment.
_SOLID: Final = frozenset(map(chr, range(33, 127))) - {"/", "#"}
_ODD_SPACE: Final = re.compile(r"[\s\ufeff\u200b-\u200d\u2060\x00]+")
NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*+)(\.\d++)?([eE][+-]?\d++)?", re.ASCII)
_CUT_NUMBER: Final = re.compile(r"[+-]?(?:\d++(?:\.\d++)?[eE][+-]?|\d++\.|\.)?\Z", re.ASCII)
_ODD_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d_]*+)?(\.[\d_]*+)?([eE][+-]?\d++)?", re.ASCII)
DOTTED: Final = re.compile(r"(?:[^\W\d]|\$)[\w$]*(?:\.(?:[^\W\d]|\$)[\w$]*)*")
_DRIVE: Final = re.compile(r"[A-Za-z]:\\[^\\\"]")
AFTER_QUOTED: Final = re.compile(r"\s*[\]),}]")
_OCTAL: Final = re.compile(r"[0-3][0-7]{2}", re.ASCII)
_HEX: Final = {"u": 4, "U": 8, "x": 2}
_ENDS: Final = frozenset(" \t\r\n,:;]})/#*<`\"'")
NON_FINITE: Final = frozenset(("NaN", "Infinity", "inf", "nan"))

# Opening quotes and what closes them.
_DOUBLE: Final = "\u201d"
_SINGLE: Final = "\u2019"
QUOTES: Final = {'"': '"', "'": "'", "`": "`", "\u201c": _DOUBLE, _DOUBLE: _DOUBLE, "\u201e": _DOUBLE, "\u2018": _SINGLE, _SINGLE: _SINGLE}
_APOSTROPHES: Final = "'" + _SINGLE
_CHUNKS: Final = {quote: re.compile(f"[^{re.escape(quote)}\\\\\\x00-\\x1f]+") for quote in set(QUOTES.values())}
_JSON_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Scanner:
    """Goes over a text from a position, and reads white space, texts and numbers.

    Attributes:
        text: what is read.
        position: where the last value ended.
        repairs: what was mended since the last `begin`, in order.
        cut: how the text ended.
    """

    __slots__ = (
        "_code",
        "_control_escapes",
        "_length",
        "_limits",
        "_odd_escapes",
        "_quote",
        "_single",
        "cut",
        "position",
        "repairs",
        "text",
    )

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self._length = len(text)
        self._limits = limits
        self.begin(0)

    def begin(self, position: int) -> None:
        """Start over at a position."""
        self.position = position
        self.repairs: dict[str, None] = {}
        self.cut = Cut.WHOLE
        # Inside a call the rules of programming languages hold: bare names, adjoining texts, digits grouped by underscores.
        self._code = False
        self._quote = ""
        self._odd_escapes = self._control_escapes = self._single = False

    # -- space ----------------------------------------------------------------------------------------------------------------------

    def _space(self) -> None:
        """Skip white space and comments."""
        text = self.text
        position = self.position
        if position < self._length and text[position] in _SOLID:
            return
        position = _PLAIN_SPACE.match(text, position).end()  # type: ignore[union-attr]  # matches the empty text too
        while position < self._length:
            mark = text[position]
            if mark == "/":
                following = text[position + 1 : position + 2]
                if following == "/":
                    position = self._after(text.find("\n", position))
                elif following == "*":
                    end = text.find("*/", position + 2)
                    position = self._length if end < 0 else end + 2
                else:
                    break
                self.repairs["comment"] = None
            elif mark == "#":
                position = self._after(text.find("\n", position))
                self.repairs["comment"] = None
            elif mark > "~" or mark < " ":
                odd = _ODD_SPACE.match(text, position)
                if odd is None:
                    break
                position = odd.end()
                self.repairs["odd white space"] = None
            else:
                break
            position = _PLAIN_SPACE.match(text, position).end()  # type: ignore[union-attr]
        self.position = position

    def _after(self, end_of_line: int) -> int:
        return self._length if end_of_line < 0 else end_of_line

    # -- texts ----------------------------------------------------------------------------------------------------------------------

    def _quoted(self, mark: str) -> str:
        text = self._string(mark)
        while self._code and not self.cut:  # adjoining texts are one text in Python
            end = self.position
            self._space()
            if self._quote and self.text.startswith(self._quote, self.position) and AFTER_QUOTED.match(self.text, self.position + 1):
                self.position = end  # this quote ends the call that is quoted as a whole
                break
            if self.position < self._length and self.text[self.position] in "\"'":
                self.repairs["adjoining texts"] = None
                text += self._string(self.text[self.position])
            else:
                self.position = end
                break
        return text

    def _string(self, mark: str) -> str:
        text, length = self.text, self._length
        position = self.position
        closer = QUOTES[mark]
        if mark in "\"'" and text.startswith(mark * 3, position):
            self.repairs["triple quotes"] = None
            self._single = mark == "'"
            closer = mark * 3
            return self._triple(closer)
        if mark == "'":
            self.repairs["single quotes"] = None
        elif mark != '"':
            self.repairs["typographic quotes"] = None
        chunk = _CHUNKS[closer]
        parts: list[str] = []
        position += 1
        start = position
        self._odd_escapes = self._control_escapes = False
        self._single = mark == "'"
        while True:
            found = chunk.match(text, position)
            if found is not None:
                parts.append(found.group())
                position = found.end()
            if position >= length:
                self.position = length
                self.cut = Cut.INSIDE
                return "".join(parts)
            here = text[position]
            if here == closer:
                position += 1
                # No syntax has a letter right after a closing quote: this one is an apostrophe.
                if here in _APOSTROPHES and position < length and text[position].isalnum() and text[position - 2].isalnum():
                    self.repairs["apostrophe"] = None
                    parts.append(here)
                    continue
                self.position = position
                if self._odd_escapes and self._control_escapes:
                    return self._backslashes(text[start : position - 1], parts)
                return "".join(parts)
            if here == "\\":
                if position + 1 >= length:
                    self.position = length
                    self.cut = Cut.INSIDE
                    return "".join(parts)
                position = self._escape(position, parts)
            else:
                self.repairs["raw control character"] = None
                parts.append(here)
                position += 1

    def _backslashes(self, body: str, parts: list[str]) -> str:
        r"""A text with escapes that mean nothing beside escapes such as ``\n``: a Windows path, or a text that can be read in two ways."""
        if _DRIVE.match(body):
            return body.replace("\\\\", "\\")
        self.repairs["backslashes of two kinds"] = None
        return "".join(parts)

    def _triple(self, closer: str) -> str:
        start = self.position + 3
        end = self.text.find(closer, start)
        if end < 0:
            self.position = self._length
            self.cut = Cut.INSIDE
            return self.text[start:]
        self.position = end + 3
        body = self.text[start:end]
        if "\\" not in body:
            return body
        parts: list[str] = []
        position = start
        while position < end:
            stop = self.text.find("\\", position, end)
            if stop < 0:
                parts.append(self.text[position:end])
                break
            parts.append(self.text[position:stop])
            position = self._escape(stop, parts)
        return "".join(parts)

    def _escape(self, position: int, parts: list[str]) -> int:
        """Read the escape at a position; one that means nothing keeps its backslash."""
        text = self.text
        code = text[position + 1]
        plain = _JSON_ESCAPES.get(code)
        if plain is not None:
            parts.append(plain)
            if code in "bfnrt":
                self._control_escapes = True
            return position + 2
        if code == "u" or (code in "xU" and (self._code or self._single)):
            digits = text[position + 2 : position + 2 + _HEX[code]]
            if len(digits) == _HEX[code] and _is_hex(digits) and int(digits, 16) <= 0x10FFFF:
                return self._unicode(position, int(digits, 16), _HEX[code], parts)
            if len(text) < position + 2 + _HEX[code]:
                self.cut = Cut.INSIDE
        elif code == "'":
            parts.append("'")
            return position + 2
        elif code == "\n" and self._code:  # a line that goes on
            return position + 2
        if (self._code or self._single) and _OCTAL.match(text, position + 1) is not None:
            self.repairs["octal escape"] = None
        self.repairs["invalid escape"] = None
        if code.isalnum():
            self._odd_escapes = True
        parts.append("\\")
        return position + 1

    def _unicode(self, position: int, number: int, width: int, parts: list[str]) -> int:
        text = self.text
        end = position + 2 + width
        if 0xD800 <= number < 0xDC00 and text.startswith("\\u", end):
            low = text[end + 2 : end + 6]
            if len(low) == 4 and _is_hex(low) and 0xDC00 <= int(low, 16) < 0xE000:
                parts.append(chr(0x10000 + ((number - 0xD800) << 10) + int(low, 16) - 0xDC00))
                return end + 6
        parts.append(chr(number))
        return end

    def _prefixed(self, prefix: str, quote: int) -> str:
        self.position = quote
        start = quote + 1
        if prefix == "b":
            raise Broken(quote, "a text was expected, not bytes")
        text = self._quoted(self.text[quote])
        if prefix == "f" and "{" in text:
            raise Broken(quote, "a plain text was expected, not one with placeholders")
        if prefix == "r" and not self.cut:
            self.repairs.pop("invalid escape", None)
            text = self.text[start : self.position - 1]
        self.repairs["Python literal"] = None
        return text

    # -- numbers --------------------------------------------------------------------------------------------------------------------

    def _number(self) -> Any:
        text, position = self.text, self.position
        found = NUMBER.match(text, position)
        end = found.end() if found is not None else position
        if found is not None and end < self._length and text[end] in _ENDS:  # nearly all numbers are written as JSON has them
            self.position = end
            fraction, exponent = found.groups()
            return self._made(found.group(), fraction is not None or exponent is not None)
        if _CUT_NUMBER.match(text, position) is not None:
            self.position = self._length
            self.cut = Cut.INSIDE
            return None
        odd = _ODD_NUMBER.match(text, position)
        if odd is not None and odd.end() > max(end, position + 1):
            found, end = odd, odd.end()
            literal = self._odd_literal(odd.group(), position)
        elif found is not None:
            literal = found.group()
        else:
            word = DOTTED.match(text, position + 1)  # -Infinity
            if text[position] == "-" and word is not None and word.group() in NON_FINITE:
                self.position = word.end()
                self.repairs["Python or JavaScript constant"] = None
                return NumberText("-" + word.group())
            raise Broken(position, "a number was expected")
        self.position = end
        if end >= self._length:
            self.cut = Cut.INSIDE
        elif text[end] not in _ENDS and not (self._code and text[end] in "+-"):
            raise Broken(end, "a number is written in a notation that JSON does not have")
        return self._made(literal, found.group(1) is not None or found.group(2) is not None)

    def _odd_literal(self, literal: str, position: int) -> str:
        """The JSON literal of a number whose notation leaves no doubt: ``+5``, ``.5``, ``5.``, and in code ``1_000``."""
        plain = literal
        if "_" in literal:
            if not self._code or not re.fullmatch(r"[+-]?\d+(?:_\d+)*(?:\.\d+)?", literal):
                raise Broken(position, "a number is written in a notation that JSON does not have")
            plain = plain.replace("_", "")
        sign = "-" if plain.startswith("-") else ""
        whole, dot, rest = plain.lstrip("+-").partition(".")
        fraction = re.match(r"\d*", rest)
        if not (whole[:1].isdigit() or (not whole and fraction and fraction.group())) or re.match(r"0\d", whole):
            raise Broken(position, "a number is written in a notation that JSON does not have")
        self.repairs["number notation"] = None
        if dot and not (fraction and fraction.group()):
            rest = "0" + rest
        return f"{sign}{whole or '0'}{dot}{rest}"

    def _made(self, literal: str, fraction: bool) -> Any:
        if fraction:
            return NumberText(literal)
        if len(literal) > self._limits.integer_digits + 1:
            raise too_long_integer(self._limits)
        try:
            return int(literal)
        except ValueError:  # the interpreter's own limit
            raise too_long_integer(self._limits) from None


def _is_hex(digits: str) -> bool:
    return all(digit in "0123456789abcdefABCDEF" for digit in digits)
