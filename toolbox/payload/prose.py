"""Calls in free text: the whole answer, in code fences, or on lines of their own.

Text that only talks about a tool is no call. A call counts where it stands as a statement: alone on its line in prose, anywhere but in
comments and texts in a fence. In between only what code puts around a call may stand: an assignment, ``print(...)``, ``return``.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from toolbox.errors import PayloadError
from toolbox.payload.finder import Finder, notes_of
from toolbox.payload.found import FoundCall
from toolbox.payload.reader import Broken
from toolbox.payload.shapes import squash
from toolbox.payload.trimming import fences_in

__all__ = ["Statement", "is_denied", "statements"]


class Statement(NamedTuple):
    """Calls that were found together.

    Attributes:
        calls: the calls.
        start: index of their first character.
        end: index after their last one.
    """

    calls: list[FoundCall]
    start: int
    end: int


_TOKEN: Final = re.compile(
    r"```|<!--|(?<!\S)/\*|\"{3}|'{3}|~~|[\[{]"
    r"|(?P<name>(?:(?<![\w$.])|(?<=[^\w$.]\.))(?:[^\W\d]|\$)[\w.$]*+)"
    r"(?=(?P<mark>(?:[\"'`]?\]?|\*\*)[ \t]?\(|[`*:\"']{0,3}[ \t]{0,4}\r?\n?[ \t]{0,8}\{))"
)
# What may stand before a call in its statement. Every part is possessive: a text that does not fit fails at once.
_OPENERS: Final = re.compile(
    r"[\s\-*>•#\d.)\[\](,;|&+/{`\"']*+"
    r"(?:(?:const|let|var|final|await|return|yield|and|or|assert)\b\s*+"
    r"|[\w$]++(?::[^=\n]{0,40}+)?\s*+=(?!=)\s*+"
    r"|[\w.$]++\(\s*+"
    r"|[A-Z][\w.]*+(?:<[^>\n]{0,40}+>)?\s++(?=[\w$]++\s*+=))*+"
    r"[\s\[({`\"'*/+,;-]*+"
)
_LABEL: Final = re.compile(r":[\s`*\"'\[(]*\Z")
# What a model writes before a call on the same line to say that this is one.
_CALL_LABEL: Final = re.compile(
    r"[\s*_#>\d.)-]*+(?:(?:the|my|your|final|next|first|second|function|tool|api|python|correct|required|resulting)\s+){0,3}"
    r"(?:action|answer|call|calls|command|invocation|output|response|result|function|tool)s?[*_]{0,3}:[\s*_`\"'\[(]*+",
    re.IGNORECASE,
)
_CLOSERS: Final = re.compile(r"[\s\[\])}\"'`;,.+*/|&<>=-]*")
_COMMENT: Final = re.compile(r"\s*(?:#|//|--|/\*)")
# A turn, a tag or a text ends, whatever may follow.
_TAG_AFTER: Final = re.compile(r"[\s\])}\"'`;.]{0,20}(?:<\|\w{1,30}\|>|</[a-z_]{1,30}>)")
_TOKEN_BEFORE: Final = re.compile(r".*<\|\w{1,30}\|>", re.DOTALL)
_DECLARES: Final = re.compile(
    r"\b(?:def|function|class|import|from|fn|func|public|private|static|void|new)\s+(?:[\w.$<>\[\]]++\s++){0,3}\Z"
)
_EXAMPLE: Final = re.compile(r"\s*(?:#|//|/\*)\s*(?:an\s+)?(?:example|sample|usage)", re.IGNORECASE)
_ASSIGNMENT: Final = re.compile(r"(?:^|\n)[ \t]*+(?:(?:const|let|var|final|[A-Z]\w*+)[ \t]++)?([^\W\d][\w$]*+)[ \t]*+=(?!=)[ \t]*+")
# Names that loops, parameters, imports and handlers bind.
_BINDINGS: Final = re.compile(
    r"\bfor\s++([\w$]++(?:,\s*+[\w$]++){0,4}+)\s++in\b|\bfor\s*+\(\s*+(?:const|let|var)\s++([\w$]++)\s++(?:in|of)\b"
    r"|\b(?:as|import)\s+([\w$]{1,80})[ \t]*+(?=[:,\n;)]|\Z)|\blambda\s+([\w, ]{1,80}):"
)
# The parameters before an arrow, backwards from it.
_BEFORE_ARROW: Final = re.compile(r"\s?\)?([\w$, ]{1,80})")
# Nothing is assigned: a comment says what should stand here.
_PLACEHOLDER: Final = re.compile(r"(?:/\*[^*]{0,200}+\*/|//[^\n]{0,200}+|#[^\n]{0,200}+|\.\.\.)[ \t]*+;?[ \t]*+(?:\n|\Z)")
# The same in quotes: "...", "your_key", "YOUR_API_KEY", "your text here".
_UNFILLED: Final = re.compile(
    r"[\W_]{0,20}(?:\.{3}|\u2026)[\W_]{0,20}"
    r"|\W{0,3}(?:your[_A-Z-][\w-]{0,80}|YOUR[_-][\w-]{0,80}|[Yy]our [\w ]{1,80} here)\W{0,3}"
)
# An object of a declared class has no literal, nor has a function: where it stands in a call, its name is all that can be sent.
_OBJECT: Final = re.compile(
    r"\n?[ \t]*+(?:[A-Z]\w*+[ \t]++[\w$]++[ \t]*+=[ \t]*+new\s"
    r"|(?:\w++[ \t]++)?[\w$]++[ \t]*+=[ \t]*+(?:(?:async\s++)?function\b|lambda\b|(?:async\s*+)?(?:[\w$]++|\([^()\n]{0,200}\))[ \t]*+=>))"
)
# Functions that the text writes itself, with their parameters.
_DEFINED: Final = re.compile(
    r"\b(?:def|function)\s++([\w$]++)\s*+\(([^()\n]{0,300})(\)?)|\b([\w$]++)\s*+=\s*+(?:async\s*+)?(?:function\s*+)?\(([^()\n]{0,300})\)\s*+(?:=>|\{)"
)
_DEFINED_PARAMETER: Final = re.compile(r"\s*+([\w$]++)\s*+(?:[:=?].*)?\Z")
_NAMES: Final = re.compile(r"[^\W\d][\w$]*+")
_END_OF_STATEMENT: Final = re.compile(r"[ \t]*+;?[ \t]*+(?:\n|\r|\Z|#|//)")
_BRACKETS: Final = re.compile(r"\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?|[()]")
_LIST_OF_NAMES: Final = re.compile(r"\[\s*[\"'`]?[^\W\d]")
_NEXT_CALL: Final = re.compile(r"(?:(?:and|or)\s+)?[\[\s\"'`]*((?:[^\W\d]|\$)[\w.$]*+)[\"'`]?\s?\(")
# What code does with a result, and the address of a link in markdown.
_SUBSCRIPTS: Final = re.compile(
    r"(?:\[\s?(?:-?\d{0,9}:?-?\d{0,9}|'[^'\n\]]{0,80}'|\"[^\"\n\]]{0,80}\")\s?\]"
    r"|\((?:https?:[^()\s]*+|None)?\)|\.[^\W\d]\w{0,80}(?:\(\))?)*+(?:\s*or\s*\[\])?"
)
# A piece of an expression that goes on after a result: an operator, a bracket, a number, a text, or a function that takes what follows.
_PIECE: Final = re.compile(
    r"\s?(?:[-+*/%,()\[\]{};.]|\d[\w.]{0,30}|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|(?P<name>(?:[^\W\d]|\$)[\w.$]*+)\s?\()"
)
_PIECES: Final = 40
# What a list of calls, or an object that stands for a call, can start with.
_STARTS: Final = re.compile(r"\{\s*+(?:[\"'\u201c\u2018/#]|[^\W\d])|\[\s*+(?:[\[{\"'`(/#]|[^\W\d])")
_BEFORE: Final = 100


_SILENT: Final = {"<!--": "-->", "/*": "*/", '"' * 3: '"' * 3, "'" * 3: "'" * 3, "~~": "~~"}
# A call in such a text, or after such a word, may never run.
_INSIDE_TEXT: Final = re.compile(r"(?:[\w$]\(|=)\s*+[\"']")
_CONDITION: Final = re.compile(r"\s*+(?:if|elif|else|while|for|def|except|case|when)\b[^\n]*[:{]\s*\Z|\s*+(?:elif|while|case|when)\b")
_GUARD: Final = re.compile(
    r"(?:if|elif|else|while|except|(?:async\s++)?def)\b(?!\s++__name__)[^\n]*:[ \t]*(?:#[^\n]*)?\Z"
    r"|[}]?\s*+(?:if|else|while|catch|(?:export\s++)?(?:async\s++)?function)\b[^\n]*\{[ \t]*(?://[^\n]*)?\Z"
)

_ANY_GUARD: Final = re.compile(r"\b(?:if|elif|else|while|except|catch|def|function)\b|=>")
_FUNCTION: Final = re.compile(r"(?:(?:export|default|async)\s++)*+(?:def|function)\s++([\w$]++)\s*+\(([^()\n]{0,200})")
# A function that is assigned to a name, with its body on the lines below.
_ASSIGNED_FUNCTION: Final = re.compile(
    r"(?:(?:export|const|let|var)\s++)*+([\w$]++)\s*+=\s*+(?:async\s*+)?"
    r"(?:function\b[^\n{]{0,200}|(?:\([^()\n]{0,200}\)|[\w$]++)\s*+=>\s*+)\{[ \t]*+(?://[^\n]*)?\Z"
)
_USES: Final = re.compile(r"(?<![\w$])(?<!def )(?<!function )[\w$]++(?=\s?\(|\s?\))")


def _used(text: str) -> frozenset[str]:
    """The names that the text calls, or hands to something else."""
    return frozenset(_USES.findall(text))


def _guarded(text: str) -> list[tuple[int, int]]:
    """The lines, from and to, that stand in the body of a function or of a condition: nobody knows whether they run."""
    if _ANY_GUARD.search(text) is None:
        return []
    found: list[tuple[int, int]] = []
    guards: list[int] = []
    used = _used(text)
    start = 0
    for line in text.splitlines(keepends=True):
        stripped = line.strip()
        if stripped:
            indent = len(line) - len(line.lstrip())
            if stripped.startswith("```"):
                guards.clear()
            while guards and guards[-1] >= indent:
                guards.pop()
            if guards:
                if found and found[-1][1] == start:
                    found[-1] = (found[-1][0], start + len(line))
                else:
                    found.append((start, start + len(line)))
            assigned = _ASSIGNED_FUNCTION.match(stripped) if "{" in stripped else None
            function = assigned or _FUNCTION.match(stripped)
            if function is not None and function.group(1) in used:
                pass
            elif assigned is not None or _GUARD.match(stripped) is not None:
                guards.append(indent)
        start += len(line)
    return found


# What the sentence before a call says when the call is not to be made, or was made before; and what turns it round again.
_DONE: Final = r"(?:ran|run|called|executed|invoked|made|used|tried|sent|did|done)"
_DOING: Final = r"(?:run|call|us|do|execut|invok|mak|try|send|perform|issu)(?:e|ning|ing)?"
_DENIES: Final = re.compile(
    rf"\b(?:never|avoid|instead\s+of|rather\s+than|without|forbidden\s+to|(?:must|should|would|will|can|could|did|do)\s?not|cannot"
    rf"|(?:do|did|must|should|would|could|ca|wo)n['\u2019]?t)\s+(?:\w+\s+){{0,2}}?{_DOING}\b"
    r"|(?:^|\n)\W*(?:never|not|don['\u2019]?t|do\s+not|wrong|bad|incorrect|avoid)(?:\s+\w+)?:?\W*\Z"
    rf"|\b(?:already|previously|earlier)\s+{_DONE}\b|\bI(?:['\u2019]ve|\s+have|\s+had|\s+just)*\s+(?:just\s+|already\s+)?{_DONE}\b"
    r"|(?:^|\n)\W*(?:observation|history|transcript|tool\s+(?:output|result))s?:\W*\Z",
    re.IGNORECASE,
)
_TURNS: Final = re.compile(
    r"\b(?:but|so|instead|therefore|however|thus|hence|let\s+me|I\s?(?:['\u2019]ll|will|need)|you\s+(?:can|could|need|should))\b",
    re.IGNORECASE,
)
_LEADS_IN: Final = re.compile(r"(?:\s|```[\w+-]*|[-*>\u2022`\"'(\[{~]|\d+[.)])*\Z")
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|\n[ \t]*\n|\n[ \t]*(?:[-*\u2022]|\d+[.)])[ \t]")
_INTRODUCTION: Final = 240
_SHORT: Final = 4


def is_denied(text: str, start: int, after: int = 0) -> bool:
    """Whether the sentence that introduces what starts here says that it is not to be done, or was done before.

    >>> is_denied("Never run this: x()", 16), is_denied("I can't see it, so: x()", 20), is_denied("Run it: x()", 8)
    (True, False, False)
    """
    before = text[max(after, start - _INTRODUCTION) : start]
    lead = _LEADS_IN.search(before[-40:])
    if lead is not None:
        before = before[: len(before) - len(lead.group())]
    sentence = before[max((end.end() for end in _SENTENCE_END.finditer(before)), default=0) :]
    denials = list(_DENIES.finditer(sentence))
    return bool(denials) and _TURNS.search(sentence, denials[-1].end()) is None


class _Scan:
    def __init__(self, finder: Finder) -> None:
        self.finder = finder
        self.text = finder.text
        self.found: list[Statement] = []
        self.fences = fences_in(self.text)
        self.fence = 0
        self.unmatched = False
        self.unclosed: set[str] = set()
        self.guards = _guarded(self.text)
        self.guard = 0
        self.denied = -1
        self.goes_on = -1
        # The last call as it was written: a model that repeats itself writes it again.
        self.last: tuple[str, list[FoundCall]] = "", []

    def run(self) -> list[Statement]:
        position = 0
        while True:
            token = _TOKEN.search(self.text, position)
            if token is None:
                return self.found
            position = self._at(token)

    def _at(self, token: re.Match[str]) -> int:
        """Look at one token; where to go on."""
        start = token.start()
        if token.group() == "```":
            return token.end()
        if token.group() in _SILENT:
            return self._past_silent(token)
        fenced = self._fenced(start)
        name = token.group("name")
        if name is not None:
            if self.finder.resolve(name) is None or self.finder.known is None:
                return token.end()
            if token.group("mark").endswith("{"):
                return self._name_before_object(name, start, self.text.index("{", token.end()))
            if not self._stands_alone(start, fenced):
                return token.end()
            return self._read(start, fenced)
        if _STARTS.match(self.text, start) is None:
            return start + 1
        if not self._stands_alone(start, fenced, bracket=True):
            return self._past_object(start)
        return self._read(start, fenced)

    def _past_silent(self, token: re.Match[str]) -> int:
        """Where a comment, struck text or a text over several lines ends: what it says is no call."""
        mark = token.group()
        if mark in self.unclosed:
            return token.end()
        end = self.text.find(_SILENT[mark], token.end())
        if end < 0:
            self.unclosed.add(mark)
            return len(self.text) if mark in {"<!--", "/*"} else token.end()
        return end + len(_SILENT[mark])

    def _past_object(self, start: int) -> int:
        """Where an object ends that is no call: what its texts say is no call either."""
        if self.text[start] == "{":
            try:
                self.finder.value(start)
            except Broken:
                return start + 1
            if not self.finder.reader.cut:
                return self.finder.end
        return start + 1

    def _is_defined(self, name: str) -> bool:
        """Whether the text writes a function of this name itself."""
        last = name.rpartition(".")[2]
        return f"def {last}(" in self.text or f"function {last}(" in self.text

    def _fenced(self, position: int) -> bool:
        fences = self.fences
        while self.fence < len(fences) and fences[self.fence].end <= position:
            self.fence += 1
        return self.fence < len(fences) and fences[self.fence].body <= position < fences[self.fence].body_end

    def _is_example(self, start: int) -> bool:
        """Whether the comment above says that the code only shows how to use the tool."""
        line = self.text.rfind("\n", max(0, start - 400), start)
        above = self.text[self.text.rfind("\n", max(0, line - 400), max(line, 0)) + 1 : max(line, 0)]
        return _EXAMPLE.match(above) is not None

    def _denied(self, start: int, end: int) -> bool:
        """Whether the text says that what starts here is not to be done; what follows on it at once is meant as well."""
        last = self.found[-1].end if self.found else 0
        if self.denied < 0 and start - last < _SHORT:
            return False
        goes_on = self.denied >= 0 and not any(map(str.isalnum, self.text[self.denied : min(start, self.denied + 80)]))
        if goes_on or is_denied(self.text, start, last):
            self.denied = end
            return True
        return False

    def _is_guarded(self, position: int) -> bool:
        guards = self.guards
        while self.guard < len(guards) and guards[self.guard][1] <= position:
            self.guard += 1
        return self.guard < len(guards) and guards[self.guard][0] <= position

    def _line_before(self, start: int) -> str:
        line = self.text.rfind("\n", max(0, start - _BEFORE), start) + 1
        if self.found:
            line = max(line, self.found[-1].end)
        return self.text[max(line, start - _BEFORE) : start]

    def _stands_alone(self, start: int, fenced: bool, bracket: bool = False) -> bool:
        before = self._line_before(start)
        if (fenced and self._is_example(start)) or (self.guards and self._is_guarded(start)):
            return False
        if not before or before.isspace() or start <= self.goes_on:
            return True
        if "|>" in before:
            token = _TOKEN_BEFORE.match(before)
            before = before if token is None else before[token.end() :]
        if fenced and not bracket:
            opening = before.lstrip()
            stands = before.count('"') % 2 == 0 or opening.startswith(('"', "'", "["))
        else:
            stands = _OPENERS.fullmatch(before) is not None
            if not stands and not bracket and ":" in before:
                stands = _CALL_LABEL.fullmatch(before) is not None
            elif not stands and bracket and not fenced:
                stands = ":" in before[-8:] and _LABEL.search(before[-8:]) is not None
        return stands and not self._is_inert(before, bracket) and _DECLARES.search(before[-80:]) is None

    def _is_inert(self, before: str, bracket: bool) -> bool:
        """Whether what follows on this line is a comment, a text in quotes, or code that a condition stands before."""
        opening = before.lstrip()
        if opening.startswith(("#", "//", "/*")) and not (bracket and opening == "#"):
            return True
        if ('"' in before or "'" in before) and _INSIDE_TEXT.search(before) is not None:
            return True
        return _CONDITION.match(before) is not None

    def _read(self, position: int, fenced: bool) -> int:
        finder = self.finder
        source, repeated = self.last
        if source and self.text.startswith(source, position) and not self.text.startswith((".", "[", "("), position + len(source)):
            finder.pass_over(position + len(source), len(source))
            return self._count(repeated, position, finder.end, fenced)
        try:
            calls = finder.calls_at(position)
        except Broken as error:
            if self.text[position] not in "[{(":
                finder.lost = True
            return self._past_broken(position, error.position)
        except PayloadError as error:
            if error.reason in ("too_deep", "integer_too_long"):
                return max(finder.reader.position, position + 1)
            raise
        end = finder.end
        after = _SUBSCRIPTS.match(self.text, end) if calls else None
        end = end if after is None else after.end()
        if not calls:
            return position + 1 if finder.reader.cut or _LIST_OF_NAMES.match(self.text, position) else max(position + 1, end)
        finder.refuse_cut("call")
        if "variable looked up" in finder.reader.repairs and any(self._is_defined(call.name) for call in calls):
            return end  # a program with data and functions of its own
        if self.text[finder.end - 1] == ("}" if self.text[position] == "{" else ")") and self.text[position] not in "[(":
            self.last = self.text[position : finder.end], calls
        return self._count(calls, position, end, fenced)

    def _count(self, calls: list[FoundCall], position: int, end: int, fenced: bool) -> int:
        """Let calls count where they stand as a statement; where to go on."""
        if not fenced and not self._ends_alone(end):
            return end
        if fenced and self.text[end : end + 40].lstrip().startswith((":", "->", "{")) and self.text[position] not in "[{":
            return end
        if not self._denied(position, end):
            self.found.append(Statement(calls, position, end))
        return end

    def _past_broken(self, position: int, broken: int) -> int:
        """Where to go on after a call or a list that can't be read: a call is left as a whole, with the calls inside it."""
        text = self.text
        if text[position] in "[{":
            return position + 1 if _LIST_OF_NAMES.match(text, position) else max(broken, position + 1)
        if self.unmatched:
            return max(broken, position + 1)
        depth = 0
        for found in _BRACKETS.finditer(text, text.index("(", position)):
            if found.group() == "(":
                depth += 1
            elif found.group() == ")":
                depth -= 1
                if depth == 0:
                    return max(found.end(), broken)
        self.unmatched = True
        return max(broken, position + 1)

    def _ends_alone(self, end: int) -> bool:
        after = _CLOSERS.match(self.text, end)
        position = after.end() if after is not None else end
        if position >= len(self.text) or self.text.find("\n", end, position) >= 0 or _COMMENT.match(self.text, position):
            return True
        if "<" in self.text[end:position] and _TAG_AFTER.match(self.text, end) is not None:
            return True
        if self.text[position] == "{":
            try:
                return bool(self.finder.calls_at(position))
            except (Broken, PayloadError):
                return False
        name = _NEXT_CALL.match(self.text, position)
        if name is not None and self.finder.resolve(name.group(1)) is not None:
            return True
        return self._goes_on(end)

    def _goes_on(self, end: int) -> bool:
        """Whether what follows a call on its line is code that does something with the result, as in ``round(f(1), 2)``."""
        text = self.text
        position = end
        for _ in range(_PIECES):
            if position >= len(text) or text[position] in "\r\n`" or _COMMENT.match(text, position):
                return True
            piece = _PIECE.match(text, position)
            if piece is None:
                return False
            name = piece.group("name")
            if name is not None and self.finder.resolve(name) is not None:
                self.goes_on = piece.start("name")
                return True
            position = piece.end()
        return False

    def _name_before_object(self, name: str, start: int, brace: int) -> int:
        finder = self.finder
        try:
            value = finder.value(brace)
        except Broken as error:
            return max(error.position, brace + 1)
        finder.refuse_cut("call")
        resolved = finder.resolve(name)
        known = finder.known
        if resolved is None or known is None or not isinstance(value, dict):
            return finder.end
        declared = {squash(key) for key in known.parameters(resolved)}
        if not known.takes_any(resolved) and not all(squash(key) in declared for key in value):
            return brace
        call = FoundCall(resolved, value, None, tuple(notes_of(finder.reader)))
        if not self._denied(start, finder.end):
            self.found.append(Statement([call], start, finder.end))
        return finder.end


def _bound_names(text: str) -> set[str]:
    """The names that loops, parameters, imports and handlers bind."""
    names: set[str] = set()
    for bound in _BINDINGS.finditer(text):
        names.update(_NAMES.findall(next(group for group in bound.groups() if group is not None)))
    arrow = text.find("=>")
    while arrow >= 0:
        before = _BEFORE_ARROW.match(text[max(0, arrow - _BEFORE) : arrow][::-1])
        if before is not None:
            names.update(_NAMES.findall(before.group(1)[::-1]))
        arrow = text.find("=>", arrow + 2)
    return names


class _Variables(NamedTuple):
    """What the text says of names.

    Attributes:
        found: the names to which it assigns one plain value, with the value.
        unreadable: the names that stand for something else.
        unfilled: the names to which it assigns a text that only says that something is to be filled in.
    """

    found: dict[str, Any]
    unreadable: frozenset[str]
    unfilled: frozenset[str]


def _variables(finder: Finder) -> _Variables:
    found: dict[str, Any] = {}
    unfilled: set[str] = set()
    text = finder.text
    unreadable = _bound_names(text)
    used = _used(text) if "def " in text or "function " in text else frozenset[str]()
    for function in _FUNCTION.finditer(text) if used else ():
        # Bodies that nothing runs hold no calls; outside of bodies a parameter is no variable.
        if function.group(1) in used and finder.resolve(function.group(1)) is None:
            unreadable.update(_NAMES.findall(function.group(2)))
    if "=" not in text:
        return _Variables(found, frozenset(unreadable), frozenset())
    end = 0
    readable = True
    for assignment in _ASSIGNMENT.finditer(text):
        name = assignment.group(1)
        if name in found:
            unreadable.add(name)
        if assignment.end() < end:
            continue
        value = None
        try:
            value = finder.value(assignment.end()) if readable else None
            readable = readable and not finder.reader.cut
        except Broken:
            if _PLACEHOLDER.match(text, assignment.end()) is None and _OBJECT.match(text, assignment.start()) is None:
                unreadable.add(name)
            continue
        except PayloadError:
            readable = False
        if readable and _END_OF_STATEMENT.match(text, finder.end) is not None:
            end = finder.end
            if isinstance(value, str) and _UNFILLED.fullmatch(value) is not None:
                unfilled.add(name)
            else:
                found[name] = value
        else:
            unreadable.add(name)
    readable_ones = {name: value for name, value in found.items() if name not in unreadable}
    return _Variables(readable_ones, frozenset(unreadable), frozenset(unfilled.difference(found)))


def _orders(finder: Finder) -> dict[str, list[str] | None]:
    """The parameters, in order, of functions that have a tool's name and are written in the text; None where they can't be told."""
    orders: dict[str, list[str] | None] = {}
    text = finder.text
    if "def " not in text and "function" not in text and "=>" not in text:
        return orders
    for defined in _DEFINED.finditer(text):
        name, listed, closed = defined.group(1, 2, 3) if defined.group(1) else (*defined.group(4, 5), ")")
        if finder.known is None or finder.resolve(name) is None:
            continue
        parts = [_DEFINED_PARAMETER.match(part) for part in listed.split(",")]
        order = [part.group(1) for part in parts if part is not None]
        told = bool(closed) and len(order) == len(parts) and orders.get(name, order) == order
        orders[name] = order if told else None
    return orders


def statements(finder: Finder) -> list[Statement]:
    """The calls of a text that stand as statements, in order."""
    finder.reader.variables, finder.reader.unreadable, finder.unfilled = _variables(finder)
    finder.orders = _orders(finder)
    return _Scan(finder).run()
