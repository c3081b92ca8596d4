"""How a text stands for another: as its beginning, by its words, inside it, or misspelt, and what is left over."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, NamedTuple

from toolbox.diagnostics import Risk
from toolbox.matching.texts import Text, is_number, turns_inside
from toolbox.matching.words import (
    ENDINGS,
    FILLERS,
    GOVERNING,
    INNER_PREFIXES,
    INNER_SUFFIXES,
    INNER_WORDS,
    JOINING,
    NEGATIONS,
    NO_SIGNS,
    QUALIFIERS,
)

__all__ = [
    "IN_TOKEN",
    "TYPO_EDITS",
    "Hit",
    "as_prefix",
    "as_substring",
    "as_tokens",
    "how_near",
    "typo_distance",
    "widest",
]

IN_TOKEN: Final = 3
"""So many letters make the beginning of a word a word's short form."""
TYPO_EDITS: Final = 2
"""So many edits are at most a slip of the pen; one in a short text."""
SHORT: Final = 5
"""A text of at most so many letters is short."""


def _bad_rest(rest: str) -> bool:
    return rest in INNER_WORDS or rest.startswith(INNER_SUFFIXES) or turns_inside(rest)


def _related(one: str, other: str) -> bool:
    """Whether two different tokens are the short and the long form of a word."""
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return len(short) >= IN_TOKEN and long.startswith(short) and short[0].isalpha()


def _turned(one: str, other: str) -> bool:
    """Whether two related tokens mean different things."""
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return (short in NEGATIONS) != (long in NEGATIONS) or _bad_rest(long[len(short) :])


class Hit(NamedTuple):
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


def _judge(short: Text, long: Text, covered: frozenset[int], of_value: bool, risk: Risk = Risk.INFO, blocked: bool = False) -> Hit:
    """What the leftovers of the longer side, which is the value or the choice, make of a hit."""
    size = len(long.tokens)
    first, last = (min(covered), max(covered)) if covered else (size, -1)
    value, choice = (long, short) if of_value else (short, long)
    joined = not value.symbols <= choice.symbols or 0 in short.joined or len(short.tokens) in short.joined
    joined = joined or any(not (gap in covered and gap - 1 in covered) for gap in long.joined)
    joined = joined or any(gap > first and not (gap in covered and gap - 1 in covered) for gap in long.named)
    if choice.symbols != value.symbols:
        risk = max(risk, Risk.WARNING)
        blocked = blocked or not NO_SIGNS.isdisjoint(choice.symbols - value.symbols)
    leftover = [index for index in range(size) if index not in covered]
    if leftover and of_value:
        risk = max(risk, Risk.WARNING)
    for index in leftover:
        token = long.tokens[index]
        if long.turns(index):
            blocked = True
        elif is_number(token):
            # Another number is another thing; only a choice may have one more, in a token of its own.
            blocked = blocked or of_value or bool(short.numbers) or index in long.glued or index + 1 in long.glued
        elif token in JOINING:
            joined = joined or of_value or not (index - 1 in covered and index + 1 in covered)
        elif index in long.glued and index - 1 in covered:
            risk = Risk.RISKY  # "4o" is not 4
        elif index - 1 in covered and is_number(long.tokens[index - 1]):
            risk = max(risk, Risk.RISKY if of_value else Risk.WARNING)  # a unit, a scale, a variant: "5 k", "gpt-4-turbo"
        elif token in QUALIFIERS:
            risk = max(risk, Risk.RISKY if of_value or index + 1 in covered else Risk.INFO)
        elif short.numbers and first < index < last and token not in FILLERS:
            risk = Risk.RISKY  # the parts of a name with a number all count: "us-gov-east-1"
    if last >= 0 and last + 1 < size and long.tokens[last] in GOVERNING:
        risk = Risk.RISKY
    words = tuple(long.tokens[index] for index in leftover) if of_value else ()
    return Hit(risk, blocked, covered, joined, words)


def as_prefix(short: Text, long: Text, of_value: bool) -> Hit | None:
    """How one text begins with the other; the longer one is the value or the choice."""
    if not long.key.startswith(short.key):
        return None
    cut = len(short.key)
    if cut == len(long.key):
        return _judge(short, long, frozenset(range(len(long.tokens))), of_value)
    if is_number(long.key[cut]) and is_number(long.key[cut - 1]):
        return None
    index = bisect_left(long.starts, cut)
    covered = frozenset(range(index))
    start = long.starts[index - 1]
    last = long.tokens[index - 1]
    if start + len(last) <= cut:
        return _judge(short, long, covered, of_value)
    inside = Risk.WARNING if short.letters >= IN_TOKEN else Risk.RISKY
    own = short.tokens[-1]
    turned = (own in NEGATIONS) != (last in NEGATIONS) or _bad_rest(last[cut - start :])
    return _judge(short, long, covered, of_value, inside, turned)


def widest(hits: dict[int, Hit]) -> dict[int, Hit]:
    """The choices in a value without those that are a part of a larger one: "very high" leaves no "high" over."""
    return {place: hit for place, hit in hits.items() if not any(hit.covered < other.covered for other in hits.values())}


def as_tokens(short: Text, long: Text, of_value: bool) -> Hit | None:
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


def as_substring(short: Text, long: Text, of_value: bool) -> Hit | None:
    """How one text contains the other."""
    if short.letters < IN_TOKEN:
        return None
    at = long.key.find(short.key)
    if at < 0:
        return None
    end = at + len(short.key)
    key = long.key
    if any(0 < border < len(key) and is_number(key[border]) and is_number(key[border - 1]) for border in (at, end)):
        return None
    covered: set[int] = set()
    blocked = False
    for index, start in enumerate(long.starts):
        token = long.tokens[index]
        if start + len(token) <= at or start >= end:
            continue
        covered.add(index)
        if start < at:
            blocked = blocked or token[: at - start] in INNER_PREFIXES or turns_inside(token[: at - start])
        if start + len(token) > end:
            blocked = blocked or _bad_rest(token[end - start :]) or (short.tokens[-1] in NEGATIONS and token not in NEGATIONS)
        if token in NEGATIONS and token not in short.tokens:
            blocked = True
    return _judge(short, long, frozenset(covered), of_value, Risk.RISKY, blocked)


def _turns_of(text: Text) -> list[str]:
    """What turns the meaning round; a verb that ends something may itself be misspelt."""
    return sorted(token for index, token in enumerate(text.tokens) if token not in ENDINGS and text.turns(index))


def _typo_limit(one: Text, other: Text) -> int:
    letters = min(one.letters, other.letters)
    return 0 if letters < IN_TOKEN else 1 if letters <= SHORT else TYPO_EDITS


def typo_distance(one: Text, other: Text) -> int | None:
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


def how_near(one: Text, other: Text) -> float | None:
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
    hit = as_prefix(short, long, False)
    if hit is not None and (hit.risk < Risk.RISKY):
        return 2 - share
    hit = as_tokens(one, other, False) or as_tokens(other, one, False)
    if hit is not None:
        return 3 - share
    if short.letters > IN_TOKEN and short.key in long.key:
        return 4 - share
    shared = sum(len(token) for token in set(one.tokens) & set(other.tokens) if token[0].isalpha())
    return 5 - shared / len(long.key) if 2 * shared >= len(long.key) else None
