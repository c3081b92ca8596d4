"""The tolerant reader: one value, or one call, from a position in a text, in a single pass.

It reads JSON with the faults that models make (single quotes, comments, missing commas, raw line breaks, ...), the literals of Python and
JavaScript, and calls such as ``f(a=1)``, which are read and never evaluated. What it mends lies outside of texts. What could be read in two
ways is an error. Where the text ends too early, the reader returns what it has and says how much is missing.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

from toolbox.diagnostics import Diagnostic, Path, Risk
from toolbox.payload.limits import too_deep, too_long_integer, too_many_nodes
from toolbox.payload.strict import duplicate_key
from toolbox.policy import Limits
from toolbox.types import NumberText

__all__ = ["REPAIRS", "Broken", "CallText", "Cut", "Reader"]


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


class CallText:
    """A call as it was written.

    Attributes:
        name: the name before the bracket.
        positional: values without a name, in order.
        keywords: values by name.
        start: index of its first character.
        bare: names that stood as values, by the name or the index of their argument.
    """

    __slots__ = ("bare", "keywords", "name", "positional", "start")

    def __init__(self, name: str, start: int) -> None:
        self.name = name
        self.start = start
        self.positional: list[Any] = []
        self.keywords: dict[str, Any] = {}
        self.bare: dict[str | int, str] = {}


_PLAIN_SPACE: Final = re.compile(r"[ \t\r\n]*")
_ODD_SPACE: Final = re.compile(r"[\s\ufeff\u200b-\u200d\u2060\x00]+")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*+)(\.\d++)?([eE][+-]?\d++)?", re.ASCII)
_CUT_NUMBER: Final = re.compile(r"[+-]?(?:\d++(?:\.\d++)?[eE][+-]?|\d++\.|\.)?\Z", re.ASCII)
_ODD_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d_]*+)?(\.[\d_]*+)?([eE][+-]?\d++)?", re.ASCII)
_DOTTED: Final = re.compile(r"(?:[^\W\d]|\$)[\w$]*(?:\.(?:[^\W\d]|\$)[\w$]*)*")
_BARE_KEY: Final = re.compile(r"(?:[^\W\d]|\$)[\w$-]*")
_KEYWORD: Final = re.compile(r"((?:[^\W\d]|\$)[\w$]*)\s*(=(?!=)|:)")
_QUOTED_KEYWORD: Final = re.compile(r"([\"'])([^\W\d]\w*+)\1\s*+(?:=(?!=)|:)")
_DRIVE: Final = re.compile(r"[A-Za-z]:\\[^\\\"]")
_FACTORS: Final = 8
# How often a call in quotes may turn out to be none, so that few characters are read twice.
_ATTEMPTS: Final = 50
_POWER: Final = re.compile(r"\s?\*\*\s?(-?\d{1,2})(?![\w.])", re.ASCII)
_QUOTED_NAME: Final = re.compile(r"\s*[\"']((?:[^\W\d]|\$)[\w.$]*+)\(")
_AFTER_QUOTED: Final = re.compile(r"\s*[\]),}]")
_SUBSCRIPT: Final = re.compile(
    r"\[\s?(?:-?\d{0,9}:?-?\d{0,9}|'[^'\n\]]{0,80}'|\"[^\"\n\]]{0,80}\")\s?\]"
    r"|\(\)|\.[^\W\d]\w{0,80}(?:\((?:'[^'\n)]{0,80}'|\"[^\"\n)]{0,80}\")?\))?"
)
_BRACKET: Final = re.compile(r"[\"'`]?\]?[ \t]?\(")
_OPERATOR: Final = re.compile(r"(?:(?:\*\*|//|==|[-+*/%]|\bor\b|\band\b)\s*+(?:\d[\d.]*+)?\s*+)++")
_OCTAL: Final = re.compile(r"[0-3][0-7]{2}", re.ASCII)
_HEX: Final = {"u": 4, "U": 8, "x": 2}
_ENDS: Final = frozenset(" \t\r\n,:;]})/#*<`\"'")

_CONSTANTS: Final[dict[str, Any]] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
    "TRUE": True,
    "FALSE": False,
    "NULL": None,
    "undefined": None,
}
_JSON_WORDS: Final = frozenset(("true", "false", "null"))
_NON_FINITE: Final = frozenset(("NaN", "Infinity", "inf", "nan"))

# Opening quotes and what closes them.
_DOUBLE: Final = "\u201d"
_SINGLE: Final = "\u2019"
_QUOTES: Final = {'"': '"', "'": "'", "`": "`", "\u201c": _DOUBLE, _DOUBLE: _DOUBLE, "\u201e": _DOUBLE, "\u2018": _SINGLE, _SINGLE: _SINGLE}
_APOSTROPHES: Final = "'" + _SINGLE
_MEMBER_ENDS: Final = "\"'}]" + _DOUBLE + _SINGLE
_CHUNKS: Final = {quote: re.compile(f"[^{re.escape(quote)}\\\\\\x00-\\x1f]+") for quote in set(_QUOTES.values())}
_JSON_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

# What was mended, with the risk and the advice that goes on record.
REPAIRS: Final[dict[str, tuple[Risk, str]]] = {
    "trailing comma": (Risk.INFO, "leave out the comma before a closing bracket"),
    "comment": (Risk.INFO, "leave out comments"),
    "single quotes": (Risk.INFO, "write texts in double quotes"),
    "triple quotes": (Risk.INFO, "write texts in double quotes"),
    "unquoted key": (Risk.INFO, "write keys in double quotes"),
    "Python or JavaScript constant": (Risk.INFO, "write true, false and null"),
    "Python literal": (Risk.INFO, "write arrays in square brackets"),
    "raw control character": (Risk.INFO, "write line breaks in texts as \\n"),
    "odd white space": (Risk.INFO, "leave out byte order marks and control characters"),
    "invalid escape": (Risk.WARNING, "write a backslash as \\\\"),
    "backslashes of two kinds": (Risk.RISKY, "write a backslash as \\\\"),
    "octal escape": (Risk.RISKY, "write a backslash as \\\\, and characters as themselves"),
    "typographic quotes": (Risk.WARNING, "write texts in plain double quotes"),
    "apostrophe": (Risk.WARNING, "write texts in double quotes"),
    "quote without its partner": (Risk.WARNING, "write texts in double quotes"),
    "operator between calls": (Risk.WARNING, "put calls into a list"),
    "missing bracket": (Risk.WARNING, "close every bracket"),
    "missing comma": (Risk.WARNING, "put a comma between members"),
    "number notation": (Risk.WARNING, "write numbers as JSON does"),
    "number as key": (Risk.WARNING, "write keys in double quotes"),
    "adjoining texts": (Risk.WARNING, "write one text"),
    "name taken as text": (Risk.WARNING, "write texts in quotes"),
    "variable looked up": (Risk.WARNING, "write the value itself"),
    "worked out": (Risk.WARNING, "write the number itself"),
}


class Reader:
    """Reads values from a text, each from the position that it is given.

    Attributes:
        position: where the last value ended.
        repairs: what was mended since the last `begin`, in order.
        duplicates: keys given more than once since the last `begin`.
        cut: how the text ended.
        variables: values of names that may stand in code; other names count as texts.
        unreadable: names that stand for values that can not be read; they do not count as texts.
    """

    __slots__ = (
        "_attempts",
        "_bare",
        "_calls",
        "_code",
        "_control_escapes",
        "_length",
        "_limits",
        "_names",
        "_nodes",
        "_odd_escapes",
        "_quote",
        "_single",
        "_trail",
        "cut",
        "duplicates",
        "position",
        "repairs",
        "text",
        "unreadable",
        "variables",
    )

    def __init__(self, text: str, limits: Limits, names: Callable[[str], bool] | None = None) -> None:
        self.text = text
        self._length = len(text)
        self._limits = limits
        self._names = names
        self.variables: dict[str, Any] = {}
        self.unreadable: frozenset[str] = frozenset()
        self._nodes = 0
        self._attempts = _ATTEMPTS
        self.begin(0)

    def begin(self, position: int) -> None:
        """Start over at a position."""
        self.position = position
        self.repairs: dict[str, None] = {}
        self.duplicates: list[Diagnostic] = []
        self.cut = Cut.WHOLE
        self._trail: list[str | int] = []
        # Inside a call the rules of programming languages hold: bare names, adjoining texts, digits grouped by underscores.
        self._code = False
        self._calls = False
        self._bare = ""
        self._quote = ""
        self._odd_escapes = self._control_escapes = self._single = False

    # -- entry points ---------------------------------------------------------------------------------------------------------------

    def read(self, position: int, calls: bool = False) -> Any:
        """Read one value; where `calls`, a `CallText` may stand for a value, at the top or in lists.

        Raises:
            Broken: there is no value here that can be read in one way only.
        """
        self.begin(position)
        self._calls = calls
        return self._value(0)

    def read_call(self, position: int) -> CallText:
        """Read one call ``name(...)``."""
        self.begin(position)
        found = _DOTTED.match(self.text, position)
        if found is None:
            raise Broken(position, "a name was expected")
        bracket = _BRACKET.match(self.text, found.end())
        if bracket is None:
            raise Broken(found.end(), "an opening bracket was expected after a name")
        return self._call(found.group(), position, bracket.end() - 1, 0)

    # -- space ----------------------------------------------------------------------------------------------------------------------

    def _space(self) -> None:
        """Skip white space and comments."""
        text = self.text
        position = _PLAIN_SPACE.match(text, self.position).end()  # type: ignore[union-attr]  # matches the empty text too
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

    # -- values ---------------------------------------------------------------------------------------------------------------------

    def _value(self, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise too_many_nodes(self._limits)
        self._space()
        position = self.position
        if position >= self._length:
            self.cut = Cut.INSIDE
            return None
        mark = self.text[position]
        if mark == "{":
            return self._object(depth)
        if mark == "[":
            return self._array(depth, "]")
        if mark in _QUOTES:
            return self._quoted(mark)
        if mark in "-+.0123456789":
            return self._number()
        if mark == "(":
            return self._tuple(depth)
        return self._word(depth)

    def _object(self, depth: int) -> Any:
        if depth >= self._limits.depth:
            raise too_deep(self._limits)
        if self._calls and self._names is not None and self._holds_quoted_call():
            return self._array(depth, "}")
        members: dict[str, Any] = {}
        self.position += 1
        first = True
        while True:
            self._space()
            if self.position >= self._length:
                self.cut = Cut.INSIDE
                return members
            if self.text[self.position] == "}":
                if not first:
                    self.repairs["trailing comma"] = None
                self.position += 1
                return members
            key = self._key()
            if self.cut:
                return members
            self._space()
            if self.position >= self._length:
                self.cut = Cut.INSIDE
                return members
            if self.text[self.position] != ":":
                raise Broken(self.position, "a colon was expected after a key")
            self.position += 1
            self._trail.append(key)
            value = self._expression(depth) if self._code else self._value(depth + 1)
            self._trail.pop()
            if key in members:
                self._duplicate(key, members[key], value)
            members[key] = value
            first = False
            if self.cut:
                return members
            if self._end_of_member("}", depth, "a comma or a closing brace was expected after a value"):
                return members

    def _holds_quoted_call(self) -> bool:
        """Whether a brace opens a set of calls, as in ``{'f(a=1)'}``, and no object."""
        found = _QUOTED_NAME.match(self.text, self.position + 1)
        return found is not None and self._names is not None and self._names(found.group(1))

    def _end_of_member(self, closer: str, depth: int, why: str) -> bool:
        """Whether the container ends here; else the next member starts."""
        before = self.position
        self._space()
        position = self.position
        if position >= self._length:
            # Only the outermost object may lack its end: a list or an object inside it might have had more members.
            self._cut_after_value(before, inside=closer != "}" or depth > 0)
            return True
        mark = self.text[position]
        if mark == ",":
            self.position += 1
            return self._only_comma_left(closer)
        if mark == closer:
            self.position += 1
            return True
        # A member without a comma before it: only where it can't be part of the value before it.
        if closer == "}":
            apart = position > before or self.text[before - 1] in _MEMBER_ENDS
            fits = apart and (mark in _QUOTES or _BARE_KEY.match(self.text, position) is not None)
        else:
            fits = mark in "{[" and self.text[before - 1] in "}]"
        if not fits:
            raise Broken(position, why)
        self.repairs["missing comma"] = None
        return False

    def _only_comma_left(self, closer: str) -> bool:
        self._space()
        if self.position >= self._length:
            self.cut = Cut.INSIDE
            return True
        if self.text[self.position] == closer:
            self.repairs["trailing comma"] = None
            self.position += 1
            return True
        return False

    def _cut_after_value(self, end: int, inside: bool) -> None:
        """The text ended after a value: the value is whole unless it is a number or a name, which might have gone on."""
        last = self.text[end - 1]
        open_end = end >= self._length and (last.isalnum() or last in "._-+") and not self._ends_in_constant(end)
        self.cut = Cut.INSIDE if inside or open_end else Cut.CLOSERS

    def _ends_in_constant(self, end: int) -> bool:
        return re.search(r"(?<!\w)(?:true|false|null|True|False|None)\Z", self.text[max(0, end - 8) : end]) is not None

    def _duplicate(self, key: str, before: object, after: object) -> None:
        path: Path = None
        for part in self._trail:
            path = (path, part)
        self.duplicates.append(duplicate_key(path, key, before, after))

    def _key(self) -> str:
        position = self.position
        mark = self.text[position]
        if mark in _QUOTES and mark != "`":
            return str(self._quoted(mark))
        bare = _BARE_KEY.match(self.text, position)
        if bare is not None:
            self.position = bare.end()
            if self.position >= self._length:
                self.cut = Cut.INSIDE
            self.repairs["unquoted key"] = None
            return bare.group()
        number = _NUMBER.match(self.text, position)
        if number is not None and mark != "-" and not number.group(1) and not number.group(2):
            self.position = number.end()
            self.repairs["number as key"] = None
            return number.group()
        raise Broken(position, "a key in double quotes was expected")

    def _array(self, depth: int, closer: str) -> list[Any]:
        if depth >= self._limits.depth:
            raise too_deep(self._limits)
        items: list[Any] = []
        self.position += 1
        while True:
            self._space()
            if self.position >= self._length:
                self.cut = Cut.INSIDE
                return items
            if self.text[self.position] == closer:
                self.position += 1
                return items
            self._trail.append(len(items))
            item = self._item(depth)
            self._trail.pop()
            items.append(item)
            if self.cut:
                # A list of calls: each call that is whole stands for itself.
                if not (self.cut is Cut.CLOSERS and depth == 0 and isinstance(item, CallText)):
                    self.cut = Cut.INSIDE
                return items
            if self._calls and depth == 0 and isinstance(item, str) and item.endswith(")") and self._at_end():
                self.cut = Cut.CLOSERS
                return items
            if self._calls and isinstance(item, CallText) and self._end_of_calls(depth, closer):
                if self.cut or self.position >= self._length or self.text[self.position - 1] == closer:
                    return items
                continue
            if self._end_of_member(closer, depth, "a comma or a closing bracket was expected after a value"):
                return items

    def _at_end(self) -> bool:
        before = self.position
        self._space()
        at_end = self.position >= self._length
        self.position = before
        return at_end

    def _end_of_calls(self, depth: int, closer: str) -> bool:
        """After a call in a list: whether the list ends here, or goes on with an operator instead of a comma."""
        before = self.position
        self._space()
        if self.position >= self._length and depth == 0:
            self.cut = Cut.CLOSERS
            return True
        operator = _OPERATOR.match(self.text, self.position)
        if operator is None:
            self.position = before
            return False
        self.repairs["operator between calls"] = None
        self.position = operator.end()
        if self.text.startswith((",", closer), self.position):
            self.position += 1
        return True

    def _item(self, depth: int) -> Any:
        """One element of a list; a call in quotes counts as a call where calls may stand."""
        position = self.position
        mark = self.text[position]
        if self._calls and mark in "\"'`" and self._names is not None:
            found = _DOTTED.match(self.text, position + 1)
            if found is not None and self._names(found.group()):
                after = found.end()
                if self.text.startswith(mark + "(", after):  # only the name is in quotes
                    return self._call(found.group(), position, after + 1, depth)
                if self.text.startswith("(", after):
                    call = self._quoted_call(found.group(), position, after, mark, depth)
                    if call is not None:
                        return call
                self.position = position
        return self._expression(depth) if self._code else self._value(depth + 1)

    def _quoted_call(self, name: str, position: int, bracket: int, mark: str, depth: int) -> CallText | None:
        """A call in quotes, which may hold the same quotes unescaped: ``'f(a='x')'``."""
        if self._attempts <= 0:
            return None
        repairs = dict(self.repairs)
        self._quote = mark
        try:
            call = self._call(name, position, bracket, depth)
            while not self.cut and self.text.startswith((")", "]"), self.position) and self.text.startswith(mark, self.position + 1):
                self.position += 1
            if not self.cut:
                if self.text.startswith(mark, self.position):
                    self.position += 1
                    if self.text.startswith(")", self.position):  # the bracket and the quote changed places
                        self.position += 1
                    return call
                if self.text.startswith(("]", "}"), self.position):  # the closing quote is missing
                    self.repairs["quote without its partner"] = None
                    return call
            self._attempts -= 1
        except Broken:
            self._attempts -= 1
        finally:
            self._quote = ""
        self.repairs = repairs
        self.cut = Cut.WHOLE
        return None

    def _tuple(self, depth: int) -> Any:
        start = self.position
        items = self._array(depth, ")")
        if self.cut:
            return items
        inner = self.text[start + 1 : self.position - 1].rstrip()
        if len(items) == 1 and not inner.endswith(","):
            return items[0]
        self.repairs.pop("trailing comma", None)
        self.repairs["Python literal"] = None
        return items

    # -- texts ----------------------------------------------------------------------------------------------------------------------

    def _quoted(self, mark: str) -> str:
        text = self._string(mark)
        while self._code and not self.cut:  # adjoining texts are one text in Python
            end = self.position
            self._space()
            if self._quote and self.text.startswith(self._quote, self.position) and _AFTER_QUOTED.match(self.text, self.position + 1):
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
        closer = _QUOTES[mark]
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

    # -- numbers --------------------------------------------------------------------------------------------------------------------

    def _number(self) -> Any:
        text, position = self.text, self.position
        if _CUT_NUMBER.match(text, position) is not None:
            self.position = self._length
            self.cut = Cut.INSIDE
            return None
        found = _NUMBER.match(text, position)
        end = found.end() if found is not None else position
        odd = _ODD_NUMBER.match(text, position)
        if odd is not None and odd.end() > max(end, position + 1):
            found, end = odd, odd.end()
            literal = self._odd_literal(odd.group(), position)
        elif found is not None:
            literal = found.group()
        else:
            word = _DOTTED.match(text, position + 1)  # -Infinity
            if text[position] == "-" and word is not None and word.group() in _NON_FINITE:
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

    # -- words and calls ------------------------------------------------------------------------------------------------------------

    def _word(self, depth: int) -> Any:
        text, position = self.text, self.position
        found = _DOTTED.match(text, position)
        if found is None:
            raise Broken(position, "a value was expected")
        word, end = found.group(), found.end()
        following = text[end : end + 1]
        if following == "(":
            if self._calls and not self._code:
                return self._call(word, position, end, depth)
            if word == "dict" and self._code:
                made = self._call(word, position, end, depth)
                if not made.positional:
                    self.repairs["Python literal"] = None
                    return made.keywords
            raise Broken(position, "a value was expected, not a call")
        if following and following in "\"'" and word in ("r", "u", "f", "R", "U", "F", "b", "B"):
            return self._prefixed(word.lower(), end)
        self.position = end
        if end >= self._length and not self._ends_in_constant(end):
            self.cut = Cut.INSIDE
        if word in _CONSTANTS:
            if word not in _JSON_WORDS:
                self.repairs["Python or JavaScript constant"] = None
            return _CONSTANTS[word]
        if word in _NON_FINITE:
            return NumberText(word)
        if self._code or (self._calls and depth > 1 and following != "("):
            if word in self.variables:
                self.repairs["variable looked up"] = None
                return copy.deepcopy(self.variables[word])
            if word.partition(".")[0] in self.unreadable:
                raise Broken(position, "a value was expected, not a variable whose value is not known")
            # `Color.RED` names a constant, as text does; what `user.email` or `users[0]` stands for nobody knows.
            if following == "[" or ("." in word and not word[0].isupper()):
                raise Broken(position, "a value was expected, not code")
            self.repairs["name taken as text"] = None
            self._bare = word
            return word
        if self.cut:
            return None
        raise Broken(position, "a value in double quotes was expected")

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

    def _call(self, name: str, start: int, bracket: int, depth: int) -> CallText:
        """A call whose opening bracket is at `bracket`. Calls among its arguments are refused."""
        outer = self._code, self._calls
        self._code, self._calls = True, False
        call = CallText(name, start)
        self.position = bracket + 1
        try:
            self._arguments(call, depth)
        finally:
            self._code, self._calls = outer
        if not self.cut:  # what the code does with the result is not part of the call
            after = _SUBSCRIPT.match(self.text, self.position)
            while after is not None:
                self.position = after.end()
                after = _SUBSCRIPT.match(self.text, self.position)
        return call

    def _arguments(self, call: CallText, depth: int) -> None:
        text = self.text
        while True:
            self._space()
            if self.position >= self._length:
                self.cut = Cut.INSIDE
                return
            if text[self.position] == ")":
                self.position += 1
                return
            self._argument(call, depth)
            if self.cut:
                return
            before = self.position
            self._space()
            if self.position >= self._length:
                self._cut_after_value(before, inside=False)
                return
            mark = text[self.position]
            if mark == ",":
                self.position += 1
            elif self._quote and text.startswith(self._quote, self.position) and _AFTER_QUOTED.match(text, self.position + 1):
                self.repairs["missing bracket"] = None
                return
            elif mark != ")":
                raise Broken(self.position, "a comma or a closing bracket was expected after an argument")

    def _argument(self, call: CallText, depth: int) -> None:
        text = self.text
        start = self.position
        keyword = _KEYWORD.match(text, start)
        name: str | None = None
        if keyword is not None:
            name = keyword.group(1)
            self.position = keyword.end()
        elif text[start] in "\"'":
            quoted = _QUOTED_KEYWORD.match(text, start)
            if quoted is not None:
                name = quoted.group(2)
                self.position = quoted.end()
        elif text.startswith("**", start):
            self.position += 2
            value = self._expression(depth)
            if not isinstance(value, dict):
                raise Broken(start, "an object was expected after **")
            self.repairs["Python literal"] = None
            for key, item in value.items():
                if key in call.keywords:
                    self._duplicate(key, call.keywords[key], item)
                call.keywords[key] = item
            return
        if name is not None:
            self._trail.append(name)
            self._bare = ""
            value = self._expression(depth)
            if self._bare and value == self._bare:
                call.bare[name] = self._bare
            self._trail.pop()
            if name in call.keywords:
                self._duplicate(name, call.keywords[name], value)
            call.keywords[name] = value
            return
        self._trail.append(len(call.positional))
        self._bare = ""
        value = self._expression(depth)
        if self._bare and value == self._bare:
            call.bare[len(call.positional)] = self._bare
        self._trail.pop()
        if call.keywords and not self.cut:
            raise Broken(start, "an argument without a name came after one with a name")
        call.positional.append(value)

    def _expression(self, depth: int) -> Any:
        """A value; in code also a product of numbers, one quotient, and powers of ten, as in ``4 * 10**-7``."""
        value = self._powered(self._value(depth + 1))
        left = _FACTORS
        while not self.cut and left and not isinstance(value, bool) and isinstance(value, int | float):
            end = self.position
            self._space()
            mark = self.text[self.position : self.position + 1]
            if not mark or mark not in "*/" or self.text.startswith(("**", "//"), self.position):
                self.position = end
                break
            self.position += 1
            other = self._powered(self._value(depth + 1))
            if self.cut:
                break
            if isinstance(other, bool) or not isinstance(other, int | float) or (mark == "/" and not other):
                raise Broken(end, "a number was expected")
            self.repairs["worked out"] = None
            value = _worked_out(mark, value, other)
            left = 0 if mark == "/" else left - 1
        return value

    def _powered(self, value: Any) -> Any:
        power = _POWER.match(self.text, self.position) if value == 10 and type(value) is int else None
        if power is None:
            return value
        self.position = power.end()
        if self.position >= self._length:
            self.cut = Cut.INSIDE
        self.repairs["worked out"] = None
        return NumberText(f"1e{power.group(1)}") if power.group(1).startswith("-") else 10 ** int(power.group(1))


def _worked_out(mark: str, first: float, second: float) -> Any:
    """The product or quotient of two numbers; whole numbers stay whole where they can."""
    whole = isinstance(first, int) and isinstance(second, int)
    try:
        if mark == "*":
            return first * second if whole else NumberText(repr(float(first) * float(second)))
        return first // second if whole and not first % second else NumberText(repr(float(first) / float(second)))
    except (OverflowError, ZeroDivisionError):
        return NumberText("nan")


def _is_hex(digits: str) -> bool:
    return all(digit in "0123456789abcdefABCDEF" for digit in digits)
