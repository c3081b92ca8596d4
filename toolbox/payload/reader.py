"""The tolerant reader: one value, or one call, from a position in a text, in a single pass.

It reads JSON with the faults that models make (single quotes, comments, missing commas, raw line breaks, ...), the literals of Python and
JavaScript, and calls such as ``f(a=1)``, which are read and never evaluated. What it mends lies outside of texts. What could be read in two
ways is an error. Where the text ends too early, the reader returns what it has and says how much is missing.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any, Final

from toolbox.diagnostics import Diagnostic, Path, Risk
from toolbox.payload.limits import too_deep, too_many_nodes
from toolbox.payload.scanner import AFTER_QUOTED, DOTTED, NON_FINITE, NUMBER, QUOTES, Broken, Cut, Scanner
from toolbox.payload.strict import duplicate_key
from toolbox.policy import Limits
from toolbox.types import NumberText

__all__ = ["REPAIRS", "Broken", "CallText", "Cut", "Reader"]


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


_BARE_KEY: Final = re.compile(r"(?:[^\W\d]|\$)[\w$-]*")
_KEYWORD: Final = re.compile(r"((?:[^\W\d]|\$)[\w$]*)\s*(=(?!=)|:)")
_QUOTED_KEYWORD: Final = re.compile(r"([\"'])([^\W\d]\w*+)\1\s*+(?:=(?!=)|:)")
_NEXT_ARGUMENT: Final = re.compile(r"(?:[^\W\d]|\$)[\w$]*+\s*+=(?!=)")
_FACTORS: Final = 8
# How often a call in quotes may turn out to be none, so that few characters are read twice.
_ATTEMPTS: Final = 50
_POWER: Final = re.compile(r"\s?\*\*\s?(-?\d{1,2})(?![\w.])", re.ASCII)
_CALL_IN_BRACE: Final = re.compile(r"\s*+([\"']?)((?:[^\W\d]|\$)[\w.$]*+)\(")
_SUBSCRIPT: Final = re.compile(
    r"\[\s?(?:-?\d{0,9}:?-?\d{0,9}|'[^'\n\]]{0,80}'|\"[^\"\n\]]{0,80}\")\s?\]"
    r"|\(\)|\.[^\W\d]\w{0,80}(?:\((?:'[^'\n)]{0,80}'|\"[^\"\n)]{0,80}\")?\))?"
)
_BRACKET: Final = re.compile(r"(?:[\"'`]?\]?|\*\*)[ \t]?\(")
_OPERATOR: Final = re.compile(r"(?:(?:\*\*|//|==|[-+*/%]|\bor\b|\band\b)\s*+(?:\d[\d.]*+)?\s*+)++")

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

_MEMBER_ENDS: Final = "\"'}]\u201d\u2019"
# What follows on a closing bracket that nothing opened, in a list; and on a list in which the last object was not closed.
_AFTER_STRAY: Final = re.compile(r"[\s)}]{0,20}(?:[\]}]|,\s*+[\w{\[\"'])")
_AFTER_STRAY_BRACE: Final = re.compile(r"[\s)}]{0,20}(?:\]|,\s*+\{)")
_AFTER_STRAY_IN_CALL: Final = re.compile(r"\s*+[,)]")
_AFTER_ALL: Final = re.compile(r"\s*+(?:```|<|\Z)")
_CLOSING_TAG: Final = re.compile(
    r"</(?:tool_calls?|function_calls?|functioncall|tool_use|tools|function|invoke|parameters?)>|<\|\w{1,30}\|>"
)

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
    "bracket too many": (Risk.WARNING, "close no bracket twice"),
    "missing comma": (Risk.WARNING, "put a comma between members"),
    "number notation": (Risk.WARNING, "write numbers as JSON does"),
    "number as key": (Risk.WARNING, "write keys in double quotes"),
    "adjoining texts": (Risk.WARNING, "write one text"),
    "name taken as text": (Risk.WARNING, "write texts in quotes"),
    "variable looked up": (Risk.WARNING, "write the value itself"),
    "worked out": (Risk.WARNING, "write the number itself"),
}


class Reader(Scanner):
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
        "_names",
        "_nodes",
        "_objects",
        "_trail",
        "_tuples",
        "duplicates",
        "unreadable",
        "variables",
    )

    def __init__(self, text: str, limits: Limits, names: Callable[[str], bool] | None = None) -> None:
        super().__init__(text, limits)
        self._names = names
        self.variables: dict[str, Any] = {}
        self.unreadable: frozenset[str] = frozenset()
        self._nodes = 0
        self._attempts = _ATTEMPTS

    def begin(self, position: int) -> None:
        """Start over at a position."""
        super().begin(position)
        self.duplicates: list[Diagnostic] = []
        self._trail: list[str | int] = []
        self._calls = False
        self._bare = ""
        # How many objects and how many round brackets are open.
        self._objects = self._tuples = 0

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
        found = DOTTED.match(self.text, position)
        if found is None:
            raise Broken(position, "a name was expected")
        bracket = _BRACKET.match(self.text, found.end())
        if bracket is None:
            raise Broken(found.end(), "an opening bracket was expected after a name")
        return self._call(found.group(), position, bracket.end() - 1, 0)

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
        if mark in QUOTES:
            return self._quoted(mark)
        if mark in "-+.0123456789":
            return self._number()
        if mark == "(":
            return self._tuple(depth)
        return self._word(depth)

    def _object(self, depth: int) -> Any:
        if depth >= self._limits.depth:
            raise too_deep(self._limits)
        if self._calls and not self._code and self._names is not None:
            call = _CALL_IN_BRACE.match(self.text, self.position + 1)
            if call is not None and self._names(call.group(2)):
                return self._set_of_calls(depth, call.group(1))
        self._objects += 1
        members = self._members(depth)
        self._objects -= 1
        return members

    def _members(self, depth: int) -> dict[str, Any]:
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

    def _set_of_calls(self, depth: int, mark: str) -> list[Any]:
        """Calls in a brace, in quotes or not; brace and quote may have changed places at its end, as in ``{'f(a=1)}'``."""
        items = self._array(depth, "}")
        if mark and not self.cut and self.text.startswith(mark, self.position) and AFTER_QUOTED.match(self.text, self.position + 1):
            self.position += 1
            self.repairs["quote without its partner"] = None
        return items

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
        if mark in ")}" and self._is_stray(mark, closer, position):
            self.repairs["bracket too many"] = None
            self.position += 1
            return self._end_of_member(closer, depth, why)
        if closer == "}" and self._lacks_its_end(mark, depth, position):
            return True
        # A member without a comma before it: only where it can't be part of the value before it.
        if closer == "}":
            apart = position > before or self.text[before - 1] in _MEMBER_ENDS
            fits = apart and (mark in QUOTES or _BARE_KEY.match(self.text, position) is not None)
        else:
            fits = mark in "{[" and self.text[before - 1] in "}]"
        if not fits:
            raise Broken(position, why)
        self.repairs["missing comma"] = None
        return False

    def _is_stray(self, mark: str, closer: str, position: int) -> bool:
        """Whether a bracket closes nothing: a second one after an object in a list, or a round one where none is open."""
        text = self.text
        if text[position - 1] not in "}])":
            return False
        if mark == "}":
            if closer != "]" or self._objects > (1 if self._calls else 0):
                return False  # deeper inside nobody can say which bracket is the one too many
            follows = _AFTER_STRAY_BRACE if self._objects else _AFTER_STRAY
            return follows.match(text, position + 1) is not None
        return not self._code and self._tuples == 0 and _AFTER_STRAY.match(text, position + 1) is not None

    def _lacks_its_end(self, mark: str, depth: int, position: int) -> bool:
        """Whether an object ends without its brace, where all around it shows that nothing else is missing."""
        if mark == "]" and depth == 1 and self._objects == 1 and not self._code and _AFTER_ALL.match(self.text, position + 1):
            self.repairs["missing bracket"] = None
            return True
        if mark == "<" and depth == 0 and _CLOSING_TAG.match(self.text, position):
            self.cut = Cut.CLOSERS
            return True
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
        if mark in QUOTES and mark != "`":
            return str(self._quoted(mark))
        bare = _BARE_KEY.match(self.text, position)
        if bare is not None:
            self.position = bare.end()
            if self.position >= self._length:
                self.cut = Cut.INSIDE
            self.repairs["unquoted key"] = None
            return bare.group()
        number = NUMBER.match(self.text, position)
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
            found = DOTTED.match(self.text, position + 1)
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
        self._tuples += 1
        items = self._array(depth, ")")
        self._tuples -= 1
        if self.cut:
            return items
        inner = self.text[start + 1 : self.position - 1].rstrip()
        if len(items) == 1 and not inner.endswith(","):
            return items[0]
        self.repairs.pop("trailing comma", None)
        self.repairs["Python literal"] = None
        return items

    # -- words and calls ------------------------------------------------------------------------------------------------------------

    def _word(self, depth: int) -> Any:
        text, position = self.text, self.position
        found = DOTTED.match(text, position)
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
        if word in NON_FINITE:
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
            elif self._quote and text.startswith(self._quote, self.position) and AFTER_QUOTED.match(text, self.position + 1):
                self.repairs["missing bracket"] = None
                return
            elif (
                mark == "}" and not self._objects and text[self.position - 1] == "}" and _AFTER_STRAY_IN_CALL.match(text, self.position + 1)
            ):
                self.repairs["bracket too many"] = None
                self.position += 1
                if text.startswith(",", self.position):
                    self.position += 1
            elif self.position > before and text[before - 1] in "\"']}" and call.keywords and _NEXT_ARGUMENT.match(text, self.position):
                self.repairs["missing comma"] = None  # a name with a value can't be part of a text or a list before it
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
