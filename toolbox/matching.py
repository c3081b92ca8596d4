"""Matching a model's text to declared names and choices: pure string functions, and never a guess that turns a meaning round.

The levels of `MatchLevel` run in order and the first one with exactly one match wins. A choice that a level would match, were it not for
a word that turns the meaning round (*blocked*), never wins; it still counts as a second reading, so that what is left beside it is
ambiguous and not certain. Nor does one win alone that stands in a list or a ratio (*joined*). What is left over is otherwise a question
of risk: none in a value that begins the choice, a warning in a value that says more, risky where it makes another thing of it.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import islice
from typing import Final, NamedTuple

from toolbox.diagnostics import Risk
from toolbox.errors import AmbiguousMatch, NoMatch

__all__ = ["ChoiceIndex", "Match", "MatchLevel", "NameIndex", "closest", "fuzzy_match_enum", "normalise", "tokens"]

LONGEST: Final = 256
"""Longer values are only matched exactly."""
IN_TOKEN: Final = 3
"""So many letters make the beginning of a word a word's short form."""
CANDIDATES: Final = 64
"""So many candidates of a level are looked at; more than this is never a match."""
TYPO_CANDIDATES: Final = 100
TYPO_EDITS: Final = 2
"""So many edits are at most a slip of the pen; one in a short text."""
SHORT: Final = 5
DEEPEST: Final = 32


def _forms(verbs: str) -> frozenset[str]:
    """Regular verbs with their endings; a form too many does no harm."""
    found: set[str] = set()
    for verb in verbs.split():
        stem = verb[:-1] if verb[-1] == "e" else verb
        found |= {verb, verb + "s", verb + "es", stem + "ed", stem + "ing", verb + verb[-1] + "ed", verb + verb[-1] + "ing"}
        if verb[-1] == "y":
            found |= {verb[:-1] + "ies", verb[:-1] + "ied"}
    return frozenset(found)


# fmt: off
# Words that turn round, or set aside, what stands beside them: a leftover one blocks every level above SEPARATOR. They are also what a
# word may begin with without being its short form ("but" is no "button", "after" no "afternoon").
_NEGATIONS: Final = frozenset({
    # plain negation
    "not", "no", "non", "none", "never", "neither", "nor", "nothing", "without", "nobody", "nowhere", "cannot", "cant", "dont", "doesnt",
    "didnt", "isnt", "arent", "wasnt", "werent", "wont", "wouldnt", "shouldnt", "couldnt", "hasnt", "havent", "hadnt", "aint", "false",
    # all but this one
    "except", "excepting", "excluding", "excludes", "excluded", "exclude", "but", "than", "instead", "aside", "apart", "barring",
    "besides", "beyond", "against", "different", "unlike", "opposite", "reverse", "reversed", "inverse", "inverted",
    # less of it, or none
    "minus", "less", "lacking", "lacks", "missing", "zero", "hardly", "barely", "scarcely", "rarely", "seldom", "almost", "nearly",
    # beside it in order, place or time, not at it
    "below", "above", "under", "over", "before", "after", "until", "till", "unless", "off", "out", "former", "formerly",
})
# Verbs that end, keep away or take back what stands beside them.
_ENDINGS: Final = _forms(
    "avoid skip stop cancel undo abort prevent refuse fail deny ban block ignore omit drop disable expire discontinue reject remove delete "
    "revoke forbid prohibit suspend terminate deprecate disallow decline cease quit"
) | {"forbidden", "withdrawn", "undone", "undoing", "undid", "disabling"}
# The plain negations of other languages that are written with spaces; a word of two languages blocks in both.
_FOREIGN: Final = frozenset({
    "nicht", "kein", "keine", "keinen", "keiner", "keinem", "keines", "ohne", "nie", "niemals", "weder", "nichts", "ausser",  # German
    "niet", "geen", "zonder", "nooit", "behalve",  # Dutch
    "ikke", "uten", "uden", "aldri", "aldrig", "inte", "utan", "ej", "ingen", "inget", "inga", "utom",  # Scandinavian
    "pas", "sans", "ne", "jamais", "sauf", "aucun", "aucune", "rien", "hors",  # French
    "sin", "nunca", "excepto", "salvo", "menos", "ninguno", "ninguna", "ningún", "tampoco",  # Spanish
    "senza", "mai", "nessuno", "nessuna", "eccetto", "tranne",  # Italian
    "sem", "não", "nao", "nenhum", "nenhuma", "exceto",  # Portuguese
    "nu", "fără", "fara", "nem", "nincs", "nélkül",  # Romanian, Hungarian
    "не", "нет", "ни", "без", "ні", "кроме",
    "никогда",  # Russian, Ukrainian
    "bez", "nigdy", "brak", "oprócz", "ani", "nikdy", "nikoli", "kromě",  # Polish, Czech, South Slavic
    "ei", "ilman",  # Finnish, Estonian
    "değil", "degil", "yok", "hay\u0131r", "hariç",  # Turkish
    "δεν", "μη", "όχι", "χωρίσ",  # Greek, folded
    "لا", "ليس", "بدون", "غير", "לא", "בלי", "אין",  # Arabic, Hebrew
    "नहीं", "बिना", "tidak", "bukan", "tanpa", "không", "ไม่",  # Hindi, Indonesian, Vietnamese, Thai
    "안", "아님",  # Korean
})
# Negations of languages that are written without spaces, or with the negation inside a word: anywhere in what is left over.
_INNER_FOREIGN: Final = (
    "不", "没", "沒", "非", "无", "無", "未", "否", "勿", "别", "別", "除",  # Han
    "ない", "なし", "なく", "ません", "ずに", "以外",  # Japanese
    "않", "못", "없", "아니", "말고",  # Korean
)
# Two words that turn round only together.
_TURNING_PAIRS: Final = frozenset({("far", "from"), ("away", "from"), ("free", "of"), ("free", "from"), ("rid", "of"), ("short", "of")})
# Words that put what stands beside them in a list or in a ratio: the value is not the choice alone.
_JOINING: Final = frozenset({
    "or", "and", "vs", "versus", "per", "either", "both", "between", "xor",
    "oder", "und", "ou", "et", "och", "eller", "и", "или", "lub",
})
# Signs that do the same.
_JOINTS: Final = frozenset("/\\|&@\uff0f\uff3c\uff5c\uff06\u2044\u00a6")
# Symbols that say no. Any other symbol is no part of a value, but may adorn a choice.
_NO_SIGNS: Final = frozenset("\u274c\u274e\u2716\u2717\u2718\u26d4\u20e0\U0001f6ab\U0001f44e\U0001f645\U0001f6d1\U0001f5d9")
# Words of place, age, size and degree: with one a name or a grade is another one ("North Korea", "very high", "super admin").
_QUALIFIERS: Final = frozenset({
    "north", "south", "east", "west", "northern", "southern", "eastern", "western", "northeast", "northwest", "southeast", "southwest",
    "new", "old", "upper", "lower", "inner", "outer", "mid", "half", "semi",
    "very", "extra", "x", "xx", "super", "ultra", "hyper", "mega", "mini", "micro", "too",
})
# Words that, as the end of a choice, say something else together with the word that follows ("no problem", "on hold").
_GOVERNING: Final = frozenset({
    "no", "not", "non", "never", "neither", "nor", "without", "on", "off", "in", "out", "up", "down", "at", "to", "by",
})
# Words that say nothing of their own.
_FILLERS: Final = frozenset(("the", "a", "an", "of"))
# fmt: on
# Prefixes that turn round or change the word they precede, when written apart ("in active", "semi-annual") and inside a word.
_PREFIXES: Final = frozenset(
    ("un", "in", "dis", "anti", "non", "de", "mis", "counter", "contra", "semi", "half", "bi", "tri", "pseudo", "quasi", "ex", "pre", "sub")
)
_INNER_PREFIXES: Final = _PREFIXES | frozenset(("im", "il", "ir", "no"))
# Those that are no words of their own, so that they say so only when written apart ("il-legal", "fe-male").
_APART: Final = _PREFIXES | frozenset(("im", "il", "ir", "ig", "mal", "ab", "fe", "wo", "hypo", "infra"))
# Endings that take away what stands before them: apart ("sugar-free") and inside a word ("careless", "zuckerfrei").
_SUFFIXES: Final = frozenset(("free", "proof"))
_INNER_SUFFIXES: Final = ("less", "free", "proof", "frei", "los", "loos", "vrij", "fri", "siz", "s\u0131z", "suz", "süz")
_INNER_WORDS: Final = frozenset(("not", "out", "off"))

_QUOTES: Final = frozenset("\"'`*\u2018\u2019\u201c\u201d\u00ab\u00bb")
_PLAIN_GAPS: Final = frozenset(("_", ".", ",", ", ", ": ", " - "))
_CLOSING: Final = ".,;:!?\u2026\u3002\uff01\uff0c"
_SELECTORS: Final = frozenset("\ufe0e\ufe0f\u20e3")
"""What follows an emoji and belongs to it."""
_INVISIBLE: Final = "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_SEPARATORS: Final = re.compile(r"[\s_\-./\u2010-\u2015\u2212]+")
_DASHES: Final = frozenset("-\u2010\u2011\u2012\u2013\u2014\u2015\u2212")
_NOT_SHORT: Final = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_WITHOUT: Final = re.compile(r"(?<![^\W_])w/o(?![^\W_])", re.IGNORECASE)
_APOSTROPHE: Final = re.compile(r"(?<=\w)['\u2019](?=\w)")
# Runs over the shadow of a text (see _shadow): numbers, words with camel-case borders, and the signs that carry meaning.
_TOKEN: Final = re.compile(
    r"[0-9]+|[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+"
    r"|[<>%~^+]|(?<=[A-Za-z0-9])#|(?<![A-Za-z0-9])!(?=\s*[A-Za-z0-9])"
    r"|(?<=[A-Za-z0-9])-(?=\s*\Z)|(?:(?<=\s)|(?<=[(\[,;:=])|\A)-(?=[A-Za-z0-9])"
)


class MatchLevel(IntEnum):
    """How far the cascade may go; a level with exactly one match wins."""

    EXACT = 0
    CASE = 1
    SEPARATOR = 2
    PREFIX = 3
    TOKEN = 4
    SUBSTRING = 5
    TYPO = 6


class Match(NamedTuple):
    """What a value was matched to.

    Attributes:
        position: position of the choice among the choices.
        choice: the choice itself.
        level: the level that matched.
        risk: how risky the match is; None when it is exact.
    """

    position: int
    choice: object
    level: MatchLevel
    risk: Risk | None


def normalise(text: str) -> str:
    """The key under which texts are equal at SEPARATOR.

    Spaces, ``_ - . /`` and camel-case borders are dropped. Two numbers stay two numbers, and a sign stays a sign.

    >>> normalise("US East 1") == normalise("us-east-1") == normalise("UsEast1")
    True
    >>> normalise("v1.4") == normalise("v14"), normalise("-1") == normalise("1")
    (False, False)
    """
    folded = _fold(text)
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
    if run[-1] in _DASHES and after.isalnum() and ((run[-2].isspace()) if len(run) > 1 else not before):
        return "-"  # a sign: "-1", "-created"
    if run in _DASHES and before and not after:
        return "-"  # a grade: "A-"
    return ""


def tokens(text: str) -> tuple[str, ...]:
    """The words, numbers and signs of a text, case-folded.

    >>> tokens("maxResults"), tokens("us-east-1"), tokens("HTTPServer v2")
    (('max', 'results'), ('us', 'east', '1'), ('http', 'server', 'v', '2'))
    >>> tokens("isn't C++")
    ('is', 'not', 'c', '+', '+')
    """
    return tuple(token for token, _ in _split(text) if token)


def _fold(text: str) -> str:
    if text.isascii():
        return text.strip().lower()
    text = unicodedata.normalize("NFC", text.strip().strip(_INVISIBLE).strip())
    return unicodedata.normalize("NFC", text.casefold())


def _bare(text: str) -> str:
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


def _is_number(token: str) -> bool:
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
    if char in _DASHES:
        return "-"
    if category == "Sm":
        return "~"
    return " " if char.isspace() else ","


class _Text:
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
            number = not word and _is_number(token)
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
        if gap in _DASHES:
            self.hyphened |= {index}
            return
        if gap in _PLAIN_GAPS:
            return
        if "!=" in gap:
            self.joined |= {index}
        for char in gap:
            if char in _JOINTS:
                self.joined |= {index}
            elif char == "=":
                self.named |= {index}
            elif char == "$" or char in _NO_SIGNS or (not char.isascii() and unicodedata.category(char)[0] == "S"):
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
            token in _NEGATIONS
            or token in _ENDINGS
            or token in _FOREIGN
            or (token, after) in _TURNING_PAIRS
            or (token in _APART and after != "")
            or (token in _SUFFIXES and index > 0)
            or not (token[0].isalnum() or _is_number(token))
            # A letter with a hyphen makes another word: "a-typical", "e-mail".
            or (len(token) == 1 and token.isalpha() and index + 1 in self.hyphened and after[:1].isalpha())
            or _turns_inside(token)
        )


def _turns_inside(text: str) -> bool:
    """Whether a word without borders holds a negation."""
    return not text.isascii() and any(negation in text for negation in _INNER_FOREIGN)


def _bad_rest(rest: str) -> bool:
    return rest in _INNER_WORDS or rest.startswith(_INNER_SUFFIXES) or _turns_inside(rest)


def _related(one: str, other: str) -> bool:
    """Whether two different tokens are the short and the long form of a word."""
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return len(short) >= IN_TOKEN and long.startswith(short) and short[0].isalpha()


def _turned(one: str, other: str) -> bool:
    """Whether two related tokens mean different things."""
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return (short in _NEGATIONS) != (long in _NEGATIONS) or _bad_rest(long[len(short) :])


class _Hit(NamedTuple):
    """How a choice matches.

    Attributes:
        risk: how risky that is.
        blocked: what is left over turns the meaning round, so that the choice never wins.
        covered: the tokens of the longer side that the shorter one stands for.
        joined: what is left over makes a list or a ratio, so that the choice is not all that is meant.
        leftover: the words of a longer value that the choice does not stand for.
    """

    risk: Risk
    blocked: bool
    covered: frozenset[int] = frozenset()
    joined: bool = False
    leftover: tuple[str, ...] = ()


def _judge(short: _Text, long: _Text, covered: frozenset[int], of_value: bool, risk: Risk = Risk.INFO, blocked: bool = False) -> _Hit:
    """What the leftovers of the longer side, which is the value or the choice, make of a hit."""
    size = len(long.tokens)
    first, last = (min(covered), max(covered)) if covered else (size, -1)
    value, choice = (long, short) if of_value else (short, long)
    joined = not value.symbols <= choice.symbols or 0 in short.joined or len(short.tokens) in short.joined
    joined = joined or any(not (gap in covered and gap - 1 in covered) for gap in long.joined)
    joined = joined or any(gap > first and not (gap in covered and gap - 1 in covered) for gap in long.named)
    if choice.symbols != value.symbols:
        risk = max(risk, Risk.WARNING)
        blocked = blocked or not _NO_SIGNS.isdisjoint(choice.symbols - value.symbols)
    leftover = [index for index in range(size) if index not in covered]
    if leftover and of_value:
        risk = max(risk, Risk.WARNING)
    for index in leftover:
        token = long.tokens[index]
        if long.turns(index):
            blocked = True
        elif _is_number(token):
            # Another number is another thing; only a choice may have one more, in a token of its own.
            blocked = blocked or of_value or bool(short.numbers) or index in long.glued or index + 1 in long.glued
        elif token in _JOINING:
            joined = joined or of_value or not (index - 1 in covered and index + 1 in covered)
        elif index in long.glued and index - 1 in covered:
            risk = Risk.RISKY  # "4o" is not 4
        elif index - 1 in covered and _is_number(long.tokens[index - 1]):
            risk = max(risk, Risk.RISKY if of_value else Risk.WARNING)  # a unit, a scale, a variant: "5 k", "gpt-4-turbo"
        elif token in _QUALIFIERS:
            risk = max(risk, Risk.RISKY if of_value or index + 1 in covered else Risk.INFO)
        elif short.numbers and first < index < last and token not in _FILLERS:
            risk = Risk.RISKY  # the parts of a name with a number all count: "us-gov-east-1"
    if last >= 0 and last + 1 < size and long.tokens[last] in _GOVERNING:
        risk = Risk.RISKY
    words = tuple(long.tokens[index] for index in leftover) if of_value else ()
    return _Hit(risk, blocked, covered, joined, words)


def _prefix(short: _Text, long: _Text, of_value: bool) -> _Hit | None:
    """How one text begins with the other; the longer one is the value or the choice."""
    if not long.key.startswith(short.key):
        return None
    cut = len(short.key)
    if cut == len(long.key):
        return _judge(short, long, frozenset(range(len(long.tokens))), of_value)
    if _is_number(long.key[cut]) and _is_number(long.key[cut - 1]):
        return None
    index = bisect_left(long.starts, cut)
    covered = frozenset(range(index))
    start = long.starts[index - 1]
    last = long.tokens[index - 1]
    if start + len(last) <= cut:
        return _judge(short, long, covered, of_value)
    inside = Risk.WARNING if short.letters >= IN_TOKEN else Risk.RISKY
    own = short.tokens[-1]
    turned = (own in _NEGATIONS) != (last in _NEGATIONS) or _bad_rest(last[cut - start :])
    return _judge(short, long, covered, of_value, inside, turned)


def _widest(hits: dict[int, _Hit]) -> dict[int, _Hit]:
    """The choices in a value without those that are a part of a larger one: "very high" leaves no "high" over."""
    return {place: hit for place, hit in hits.items() if not any(hit.covered < other.covered for other in hits.values())}


def _align(short: _Text, long: _Text, of_value: bool) -> _Hit | None:
    """How the tokens of one text are a subset of the other's."""
    if len(short.tokens) > len(long.tokens):
        return None
    free = dict(enumerate(long.tokens))
    rest: list[str] = []
    for token in short.tokens:
        for index, other in free.items():
            if token == other:
                del free[index]
                break
        else:
            rest.append(token)
    blocked = False
    for token in rest:
        for index, other in free.items():
            if _related(token, other):
                blocked = blocked or _turned(token, other)
                del free[index]
                break
        else:
            return None
    return _judge(short, long, frozenset(range(len(long.tokens))) - free.keys(), of_value, Risk.WARNING, blocked)


def _substring(short: _Text, long: _Text, of_value: bool) -> _Hit | None:
    """How one text contains the other."""
    if short.letters < IN_TOKEN:
        return None
    at = long.key.find(short.key)
    if at < 0:
        return None
    end = at + len(short.key)
    key = long.key
    if any(0 < border < len(key) and _is_number(key[border]) and _is_number(key[border - 1]) for border in (at, end)):
        return None
    covered: set[int] = set()
    blocked = False
    for index, start in enumerate(long.starts):
        token = long.tokens[index]
        if start + len(token) <= at or start >= end:
            continue
        covered.add(index)
        if start < at:
            blocked = blocked or token[: at - start] in _INNER_PREFIXES or _turns_inside(token[: at - start])
        if start + len(token) > end:
            blocked = blocked or _bad_rest(token[end - start :]) or (short.tokens[-1] in _NEGATIONS and token not in _NEGATIONS)
        if token in _NEGATIONS and token not in short.tokens:
            blocked = True
    return _judge(short, long, frozenset(covered), of_value, Risk.RISKY, blocked)


def _turns_of(text: _Text) -> list[str]:
    """What turns the meaning round; a verb that ends something may itself be misspelt."""
    return sorted(token for index, token in enumerate(text.tokens) if token not in _ENDINGS and text.turns(index))


def _typo_limit(one: _Text, other: _Text) -> int:
    letters = min(one.letters, other.letters)
    return 0 if letters < IN_TOKEN else 1 if letters <= SHORT else TYPO_EDITS


def _typo(one: _Text, other: _Text) -> int | None:
    """The edit distance of two texts when it may be a slip of the pen.

    What turns a word round stands before it, so a difference at the start of a word is no slip: ``increase`` is not ``decrease``.
    """
    limit = _typo_limit(one, other)
    if not limit or one.numbers != other.numbers or one.symbols != other.symbols or _turns_of(one) != _turns_of(other):
        return None
    a, b = one.key, other.key
    same = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        same += 1
    if same in one.starts or same in other.starts:
        return None
    pairs = list(zip(one.tokens, other.tokens, strict=True)) if len(one.tokens) == len(other.tokens) else [(a, b)]
    for x, y in pairs:
        if x != y and (x[0] != y[0] or x.endswith(y) or y.endswith(x)):
            return None
    distance = _distance(a, b, limit)
    return distance if distance <= limit else None


def _distance(a: str, b: str, limit: int) -> int:
    """The edit distance with swapped neighbours as one edit; ``limit + 1`` when it is more than `limit`."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    start = 0
    while start < len(a) and start < len(b) and a[start] == b[start]:
        start += 1
    a, b = a[start:], b[start:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    if not a or not b:
        return len(a) + len(b)
    far = limit + 1
    before: list[int] = []
    row = [min(column, far) for column in range(len(b) + 1)]
    for i, char in enumerate(a, 1):
        new = [far] * (len(b) + 1)
        new[0] = min(i, far)
        for j in range(max(1, i - limit), min(len(b), i + limit) + 1):
            cost = min(row[j] + 1, new[j - 1] + 1, row[j - 1] + (char != b[j - 1]))
            if i > 1 and j > 1 and char == b[j - 2] and a[i - 2] == b[j - 1]:
                cost = min(cost, before[j - 2] + 1)
            new[j] = min(cost, far)
        if min(new) >= far:
            return far
        before, row = row, new
    return min(row[-1], far)


def _nearness(one: _Text, other: _Text) -> float | None:
    """How near two texts are, 0 being nearest; None when they are not. For suggestions only."""
    if one.empty or other.empty:
        return None
    if one.key == other.key:
        return 0.0
    if one.numbers != other.numbers and one.numbers and other.numbers:
        words = [token for token in one.tokens if token[0].isalpha()]
        if words == [token for token in other.tokens if token[0].isalpha()]:
            return None
    limit = _typo_limit(one, other)
    if limit and one.numbers == other.numbers:
        distance = _distance(one.key, other.key, limit)
        if distance <= limit:
            return distance / 4
    short, long = (one, other) if len(one.key) <= len(other.key) else (other, one)
    share = len(short.key) / len(long.key)
    hit = _prefix(short, long, False)
    if hit is not None and (hit.risk < Risk.RISKY):
        return 2 - share
    hit = _align(one, other, False) or _align(other, one, False)
    if hit is not None:
        return 3 - share
    if short.letters > IN_TOKEN and short.key in long.key:
        return 4 - share
    shared = sum(len(token) for token in set(one.tokens) & set(other.tokens) if token[0].isalpha())
    return 5 - shared / len(long.key) if 2 * shared >= len(long.key) else None


class _Deep:
    """The structures of the levels above SEPARATOR, built at the first value that comes so far."""

    __slots__ = ("by_first", "by_key", "by_start", "holding", "joined", "keys", "rarest", "texts", "words")

    def __init__(self, choices: Iterable[tuple[int, str]]) -> None:
        self.texts: dict[int, _Text] = {}
        self.by_key: dict[str, list[int]] = {}
        self.holding: dict[str, list[int]] = {}
        for position, choice in choices:
            text = _Text(choice)
            if text.empty:
                continue
            self.texts[position] = text
            self.by_key.setdefault(text.key, []).append(position)
            for token in set(text.tokens):
                self.holding.setdefault(token, []).append(position)
        self.keys = sorted(self.by_key)
        self.words = sorted(self.holding)
        # A choice whose tokens are all in a value is found under its rarest token.
        self.rarest: dict[str, list[int]] = {}
        for position, text in self.texts.items():
            rarest = min(text.tokens, key=lambda token: (len(self.holding[token]), token))
            self.rarest.setdefault(rarest, []).append(position)
        self.joined = "\n".join(self.keys)
        self.by_start: dict[str, list[str]] = {}
        for key in self.keys:
            self.by_start.setdefault(key[:IN_TOKEN], []).append(key)
        self.by_first: dict[str, list[tuple[int, str, int]]] = {}
        for key in self.keys:
            self.by_first.setdefault(key[0], []).append((len(key), key, _letters(key)))

    def starting_with(self, start: str, names: list[str], limit: int) -> list[str]:
        found: list[str] = []
        at = bisect_left(names, start)
        while at < len(names) and len(found) < limit and names[at].startswith(start):
            found.append(names[at])
            at += 1
        return found

    def related(self, token: str) -> set[str]:
        """The tokens of the choices that this token may stand for."""
        found = {token} if token in self.holding else set()
        if len(token) >= IN_TOKEN and token[0].isalpha():
            found.update(self.starting_with(token, self.words, len(self.words)))
            found.update(token[:end] for end in range(IN_TOKEN, len(token)) if token[:end] in self.holding)
        return found

    def prefixes(self, value: _Text) -> dict[int, _Hit]:
        hits: dict[int, _Hit] = {}
        key = value.key
        for end in range(1, len(key)):
            for position in self.by_key.get(key[:end], ()):
                hit = _prefix(self.texts[position], value, True)
                if hit is not None:
                    hits[position] = hit
        if any(not hit.blocked for hit in hits.values()):
            inside = {place: hit for place, hit in self.contained(value).items() if place not in hits}
            hits.update((place, hit) for place, hit in inside.items() if not any(hit.covered <= other.covered for other in hits.values()))
            hits = _widest(hits)
        for longer in self.starting_with(key, self.keys, CANDIDATES):
            for position in self.by_key[longer]:
                hit = _prefix(value, self.texts[position], False)
                if hit is not None:
                    hits[position] = hit
        return hits

    def contained(self, value: _Text) -> dict[int, _Hit]:
        """The choices whose tokens are all in the value; one inside a larger one does not count."""
        hits: dict[int, _Hit] = {}
        places: set[int] = set()
        for token in set(value.tokens):
            for word in self.related(token):
                places.update(self.rarest.get(word, ()))
        present = set(value.tokens)
        for position in sorted(places):
            text = self.texts[position]
            if len(places) > CANDIDATES and not present.issuperset(text.tokens):
                continue
            hit = _align(text, value, True)
            if hit is not None:
                hits[position] = hit
                if len(hits) > CANDIDATES:
                    break
        return _widest(hits)

    def containing(self, value: _Text) -> dict[int, _Hit]:
        """The choices that hold all tokens of the value."""
        postings: list[set[int]] = []
        for token in set(value.tokens):
            found: set[int] = set()
            for word in self.related(token):
                found.update(self.holding[word])
            if not found:
                return {}
            postings.append(found)
        postings.sort(key=len)
        places = set.intersection(*postings)
        hits: dict[int, _Hit] = {}
        for position in sorted(places):
            hit = _align(value, self.texts[position], False)
            if hit is not None:
                hits[position] = hit
                if len(hits) > CANDIDATES:
                    break
        return hits

    def tokens(self, value: _Text) -> dict[int, _Hit]:
        return self.containing(value) | self.contained(value)

    def substrings(self, value: _Text) -> dict[int, _Hit]:
        hits: dict[int, _Hit] = {}
        if value.letters < IN_TOKEN:
            return hits
        for key in self.around(value.key, CANDIDATES):
            for position in self.by_key[key]:
                hit = _substring(value, self.texts[position], False)
                if hit is not None:
                    hits[position] = hit
        for key in self.within(value.key, CANDIDATES):
            for position in self.by_key[key]:
                hit = _substring(self.texts[position], value, True)
                if hit is not None:
                    hits[position] = hit
        return hits

    def within(self, key: str, limit: int) -> list[str]:
        """The keys that are inside this key."""
        starts = dict.fromkeys(key[at : at + IN_TOKEN] for at in range(len(key) - IN_TOKEN + 1))
        return list(islice((other for start in starts for other in self.by_start.get(start, ()) if other in key), limit))

    def around(self, key: str, limit: int) -> list[str]:
        """The keys that hold this key."""
        found: list[str] = []
        at = self.joined.find(key)
        while at >= 0 and len(found) < limit:
            start = self.joined.rfind("\n", 0, at) + 1
            end = self.joined.find("\n", at)
            end = len(self.joined) if end < 0 else end
            found.append(self.joined[start:end])
            at = self.joined.find(key, end)
        return found

    def similar(self, value: _Text) -> list[str]:
        """The keys that may be within two edits and begin with the same letter; none when there are too many."""
        key = value.key
        letters = _letters(key)
        size = len(key)
        # Two edits, each a swap at most, leave one of five pieces whole.
        step = max(size // (2 * TYPO_EDITS + 1), 1)
        pieces = [key[at : at + step] for at in range(0, size - step + 1, step)]
        found = [
            other
            for length, other, mask in self.by_first.get(key[0], ())
            if abs(length - size) <= TYPO_EDITS
            and (mask ^ letters).bit_count() <= 2 * TYPO_EDITS
            and any(piece in other for piece in pieces)
        ]
        return found if len(found) <= TYPO_CANDIDATES else []

    def parts(self, value: _Text, position: int) -> set[int]:
        """The other choices of which a value is made when the choice is only a part of one of its words: "readwrite"."""
        choice = self.texts[position].key
        found: set[int] = set()
        for start, token in zip(value.starts, value.tokens, strict=True):
            at = token.find(choice)
            if at < 0 or token == choice:
                continue
            end = at + len(choice)
            before, after, rest = token[:at], token[end:], value.key[start + end :]
            for key in {before, after, rest, *self.within(before, CANDIDATES), *self.within(rest, CANDIDATES)}:
                found.update(self.by_key.get(key, ()))
        return found - {position}

    def shared(self, hit: _Hit, position: int) -> bool:
        """Whether a word that is left over in the value tells another choice from its likes: "very high" beside "very low"."""
        return any(any(place != position for place in self.holding.get(word, ())) for word in hit.leftover if word not in _FILLERS)

    def typos(self, value: _Text) -> dict[int, _Hit]:
        best = TYPO_EDITS
        hits: dict[int, _Hit] = {}
        for key in self.similar(value):
            for position in self.by_key[key]:
                distance = _typo(value, self.texts[position])
                if distance is None or distance > best:
                    continue
                if distance < best:
                    best = distance
                    hits.clear()
                hits[position] = _Hit(Risk.RISKY, False)
        return hits

    def near(self, value: _Text, n: int) -> list[int]:
        keys = [value.key[:end] for end in range(len(value.key), 0, -1) if value.key[:end] in self.by_key]
        keys += self.starting_with(value.key, self.keys, CANDIDATES)
        keys += self.similar(value)[:CANDIDATES]
        if value.letters >= IN_TOKEN:
            keys += self.around(value.key, CANDIDATES)
            keys += self.within(value.key, CANDIDATES)
        places = dict.fromkeys(position for key in keys for position in self.by_key[key])
        words = {word for token in value.tokens if token[0].isalpha() for word in self.related(token)}
        for word in sorted(words, key=lambda word: (len(self.holding[word]), word))[:CANDIDATES]:
            places.update(dict.fromkeys(self.holding[word][:CANDIDATES]))
        ranked: list[tuple[float, int]] = []
        for position in islice(places, CANDIDATES):
            nearness = _nearness(value, self.texts[position])
            if nearness is not None:
                ranked.append((nearness, position))
        ranked.sort()
        return [position for _, position in ranked[:n]]


def _letters(key: str) -> int:
    """Which letters occur, as bits."""
    mask = 0
    for char in set(key):
        mask |= 1 << (ord(char) & 63)
    return mask


class ChoiceIndex:
    """The choices of one enum, ready for matching.

    Choices are told apart by type and value: ``1``, ``True`` and ``"1"`` are three choices. An exact hit, or one that differs by case
    only, is a dict look-up whatever the size; what the other levels need is built when a value first needs it.

    Args:
        choices: the choices, in order.
        aliases: other spellings of choices, each with the choice it stands for.

    Raises:
        ValueError: an alias stands for something that is not a choice.

    >>> ChoiceIndex(["asc", "desc"]).find("Ascending")
    Match(position=0, choice='asc', level=<MatchLevel.PREFIX: 3>, risk=<Risk.WARNING: 2>)
    """

    __slots__ = ("_aliases", "_case", "_deep", "_exact", "_separator", "_shown", "_texts", "choices")

    def __init__(self, choices: Sequence[object], aliases: Mapping[str, object] | None = None) -> None:
        self.choices = tuple(choices)
        self._texts: dict[str, int] = {}
        self._exact: dict[object, int] = {}
        self._case: dict[str, int | tuple[int, ...]] = {}
        self._aliases: dict[str, int] = {}
        self._shown: dict[str, int] = {}
        self._separator: dict[str, tuple[int, ...]] | None = None
        self._deep: _Deep | None = None
        for position, choice in enumerate(self.choices):
            if isinstance(choice, str):
                self._texts.setdefault(str.__str__(choice), position)
            else:
                self._exact.setdefault(_identity(choice), position)
                self._shown.setdefault(_shown(choice), position)
        for text, position in self._texts.items():
            self._add_case(text, position)
        for alias, choice in (aliases or {}).items():
            place = self._place(choice)
            if place is None:
                raise ValueError(f"the alias {alias!r} stands for {choice!r}, which is none of the choices")
            self._aliases[alias] = place
        for alias, place in self._aliases.items():
            self._add_case(alias, place)

    def _add_case(self, text: str, position: int) -> None:
        folded = _fold(text)
        for key in {folded, _bare(folded)}:
            if not key:
                continue
            known = self._case.get(key)
            if known is None:
                self._case[key] = position
            elif isinstance(known, int):
                if known != position:
                    self._case[key] = (known, position)
            elif position not in known:
                self._case[key] = (*known, position)

    def _place(self, value: object) -> int | None:
        if isinstance(value, str):
            return self._texts.get(str.__str__(value))
        return self._exact.get(_identity(value)) if self._exact else None

    def find(self, value: object, level: MatchLevel = MatchLevel.TOKEN) -> Match | None:
        """The one choice that a value stands for, with how sure that is; None when there is none.

        The match is given whatever its risk: the caller judges.

        Raises:
            AmbiguousMatch: a level has more than one match.
        """
        place = self._place(value)
        if place is not None:
            return Match(place, self.choices[place], MatchLevel.EXACT, None)
        if level < MatchLevel.CASE or not isinstance(value, str) or len(value) > LONGEST:
            return None
        text = str.__str__(value)
        place = self._aliases.get(text)
        if place is not None:
            return Match(place, self.choices[place], MatchLevel.CASE, Risk.INFO)
        folded = _fold(text)
        if not folded:
            return None
        bare = _bare(folded)
        for key in (folded, bare):
            known = self._case.get(key)
            if known is not None:
                return self._one(value, (known,) if isinstance(known, int) else known, MatchLevel.CASE)
        if level < MatchLevel.SEPARATOR:
            return None
        equal = self._separators().get(normalise(bare))
        if equal is not None:
            return self._one(value, equal, MatchLevel.SEPARATOR)
        return self._guess(value, text, level) if level > MatchLevel.SEPARATOR else None

    def _one(self, value: str, places: Sequence[int], level: MatchLevel) -> Match:
        if len(places) > 1:
            raise AmbiguousMatch(value, [self.choices[place] for place in sorted(places)])
        return Match(places[0], self.choices[places[0]], level, Risk.INFO)

    def _separators(self) -> dict[str, tuple[int, ...]]:
        if self._separator is None:
            table: dict[str, tuple[int, ...]] = {}
            for text, position in (*self._texts.items(), *self._aliases.items()):
                for key in {normalise(text), normalise(_bare(_fold(text)))}:
                    known = table.get(key, ())
                    if key and position not in known:
                        table[key] = (*known, position)
            self._separator = table
        return self._separator

    def _structures(self) -> _Deep:
        if self._deep is None:
            self._deep = _Deep((position, text) for text, position in self._texts.items())
        return self._deep

    def _guess(self, value: str, text: str, level: MatchLevel) -> Match | None:
        deep = self._structures()
        cut = _Text(text.strip())
        if cut.empty:
            return None
        for step, search in (
            (MatchLevel.PREFIX, deep.prefixes),
            (MatchLevel.TOKEN, deep.tokens),
            (MatchLevel.SUBSTRING, deep.substrings),
            (MatchLevel.TYPO, deep.typos),
        ):
            if step > level:
                break
            hits = search(cut)
            if all(hit.blocked for hit in hits.values()):
                continue
            if len(hits) > 1:
                raise AmbiguousMatch(value, [self.choices[place] for place in sorted(hits)])
            for place, hit in hits.items():
                parts = deep.parts(cut, place)
                if parts:
                    raise AmbiguousMatch(value, [self.choices[part] for part in sorted({place, *parts})])
                if not hit.joined:
                    return Match(place, self.choices[place], step, Risk.RISKY if deep.shared(hit, place) else hit.risk)
        return None

    def nearest(self, value: object, n: int = 3) -> list[object]:
        """The choices that look most like a value, best first; for suggestions only, so a blocked one may be among them.

        >>> ChoiceIndex(["low", "medium", "high"]).nearest("not high")
        ['high']
        """
        shown = _shown(value)
        if n < 1 or not shown.strip() or len(shown) > LONGEST:
            return []
        places: list[int] = []
        if not isinstance(value, str):
            places += [place for place in (self._texts.get(shown),) if place is not None]
        places += [place for place in (self._shown.get(_fold(shown)),) if place is not None]
        if isinstance(value, str):
            known = self._case.get(_bare(_fold(shown)), ())
            places += [known] if isinstance(known, int) else known
            places += self._separators().get(normalise(_bare(_fold(shown))), ())
            cut = _Text(shown)
            if not cut.empty:
                places += self._structures().near(cut, n)
        return [self.choices[place] for place in list(dict.fromkeys(places))[:n]]


def _identity(value: object, depth: int = 0) -> object:
    """A hashable key that tells values apart by type, inside containers too."""
    if depth > DEEPEST:
        return (type(value), id(value))
    if isinstance(value, list | tuple):
        return (type(value), tuple(_identity(item, depth + 1) for item in value))
    if isinstance(value, dict):
        return (type(value), frozenset((_identity(key, depth + 1), _identity(item, depth + 1)) for key, item in value.items()))
    try:
        hash(value)
    except TypeError:
        return (type(value), id(value))
    return (type(value), value)


def _shown(value: object) -> str:
    """The JSON text of a scalar; empty for anything else."""
    if isinstance(value, str):
        return str.__str__(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value)) if value.bit_length() < LONGEST else ""
    if isinstance(value, float):
        return repr(float(value))
    return ""


def fuzzy_match_enum(
    value: object,
    choices: Sequence[object],
    *,
    level: MatchLevel = MatchLevel.TOKEN,
    max_risk: Risk = Risk.WARNING,
    aliases: Mapping[str, object] | None = None,
) -> object:
    """The choice that a value stands for.

    Args:
        value: what came.
        choices: the choices.
        level: how far the match may go.
        max_risk: the highest risk that is taken; a riskier match is only suggested.
        aliases: other spellings of choices.

    Raises:
        AmbiguousMatch: the value could mean more than one choice.
        NoMatch: the value means none of the choices.

    >>> fuzzy_match_enum("ascending order", ["asc", "desc"])
    'asc'
    >>> fuzzy_match_enum("inactive", ["active", "paused"])
    Traceback (most recent call last):
    toolbox.errors.NoMatch: "inactive" is none of "active", "paused"
    """
    index = ChoiceIndex(choices, aliases)
    match = index.find(value, level)
    if match is None:
        raise NoMatch(value, index.nearest(value), index.choices)
    if match.risk is not None and match.risk > max_risk:
        key = _identity(match.choice)
        others = [choice for choice in index.nearest(value) if _identity(choice) != key]
        raise NoMatch(value, [match.choice, *others][:3], index.choices)
    return match.choice


def closest(text: str, names: Iterable[str], n: int = 3) -> list[str]:
    """The names that look most like a text, best first, for "did you mean"; none when none is near.

    >>> closest("max_result", ["max_results", "query", "min_results"])
    ['max_results']
    >>> closest("v1.4", ["v1.3", "v1.5"])
    []
    """
    if n < 1 or not text.strip() or len(text) > LONGEST:
        return []
    value = _Text(text)
    if value.empty:
        return []
    key = normalise(text)
    equal: list[str] = []
    known: list[str] = []
    for name in dict.fromkeys(names):
        (equal if len(name) <= LONGEST and normalise(name) == key else known).append(name)
    if len(known) > 4 * CANDIDATES:
        starts = sorted({token[:IN_TOKEN] for token in value.tokens if token[0].isalpha()} | {value.key[:IN_TOKEN]})
        known = [name for name in known if any(start in name.casefold() for start in starts)][: 4 * CANDIDATES]
    ranked: list[tuple[float, int, str]] = []
    for place, name in enumerate(known):
        if len(name) <= LONGEST:
            nearness = _nearness(value, _Text(name))
            if nearness is not None:
                ranked.append((nearness, place, name))
    ranked.sort()
    return [*equal, *(name for _, _, name in ranked)][:n]


class NameIndex:
    """Names of parameters or tools: an exact name wins, then the one that is equal at SEPARATOR.

    >>> names = NameIndex(["max_results", "query"])
    >>> names.resolve("maxResults"), names.resolve("max")
    ('max_results', None)
    """

    __slots__ = ("_by_key", "_names")

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names := tuple(names))
        self._by_key: dict[str, list[str]] = {}
        for name in dict.fromkeys(names):
            key = normalise(name)
            if key:
                self._by_key.setdefault(key, []).append(name)

    def resolve(self, text: str) -> str | None:
        """The one name that a text stands for; None when there is none, or two are equally good."""
        if text in self._names:
            return text
        found = self.candidates(text)
        return found[0] if len(found) == 1 else None

    def candidates(self, text: str) -> list[str]:
        """The names that are equal to a text at SEPARATOR, in order.

        >>> NameIndex(["userId", "user_id"]).candidates("user-id")
        ['userId', 'user_id']
        """
        return list(self._by_key.get(normalise(text), ())) if len(text) <= LONGEST else []
