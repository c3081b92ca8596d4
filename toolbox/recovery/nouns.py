"""What the name of a parameter counts, and when two names say the same: nothing but grammar, since a synonym is a judgement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from toolbox.matching.keys import LONGEST
from toolbox.matching.texts import tokens

__all__ = ["counted", "is_plural", "same_names", "singular"]

_COUNTS_BEHIND: Final = frozenset(("count", "qty", "quantity"))
_COUNTS_BEFORE: Final = frozenset(("num", "count", "number", "quantity"))
_PLURALS: Final = {"people": "person", "children": "child", "men": "man", "women": "woman", "feet": "foot"}


def singular(word: str) -> str:
    """A noun in the singular, as far as its ending tells.

    >>> singular("passengers"), singular("cities"), singular("children"), singular("class")
    ('passenger', 'city', 'child', 'class')
    """
    if word in _PLURALS:
        return _PLURALS[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def is_plural(word: str) -> bool:
    """Whether a noun stands in the plural, as far as its ending tells."""
    return singular(word) != word


def counted(words: Sequence[str]) -> tuple[str, ...]:
    """What a name counts, in the singular; empty where it counts nothing.

    >>> counted(["seats"]), counted(["seat", "count"]), counted(["number", "of", "seats"]), counted(["room", "number"])
    (('seat',), ('seat',), ('seat',), ())
    """
    nouns = list(words)
    if len(nouns) > 1 and nouns[-1] in _COUNTS_BEHIND:
        nouns.pop()
    elif len(nouns) > 2 and nouns[0] in _COUNTS_BEFORE and nouns[1] == "of":
        del nouns[:2]
    elif len(nouns) > 1 and nouns[0] == "num":
        del nouns[0]
    elif not nouns or not is_plural(nouns[-1]):
        return ()
    return tuple(map(singular, nouns))


def same_names(keys: Iterable[str], names: Mapping[str, bool]) -> dict[str, str]:
    """Keys that say the same as a name, each with that name; only where neither could be meant for another one.

    Args:
        keys: what came.
        names: the names, each with whether a number is asked for: then "page" is one of them, and "pages" how many.

    >>> same_names(["seat-count", "page"], {"seats": True, "pages": True}), same_names(["tag"], {"tags": False})
    ({'seat-count': 'seats'}, {'tag': 'tags'})
    >>> same_names(["max_price_eur", "dest"], {"max_price": True, "destination": False})
    {}
    """
    said: dict[tuple[bool, tuple[str, ...]], list[str]] = {}
    for key in keys:
        for is_number in (True, False):
            for reading in _readings(key, is_number):
                said.setdefault((is_number, reading), []).append(key)
    pairs: list[tuple[str, str]] = []
    for name, is_number in names.items():
        found = {key for reading in _readings(name, is_number) for key in said.get((is_number, reading), ())}
        pairs += [(key, name) for key in found] if len(found) == 1 else []
    times = Counter(key for key, _ in pairs)
    return {key: name for key, name in pairs if times[key] == 1}


def _readings(name: str, is_number: bool) -> set[tuple[str, ...]]:
    """What a name says, in each of its forms."""
    words = tokens(name) if len(name) <= LONGEST else ()
    if not words:
        return set()
    if not is_number:
        return {tuple(map(singular, words))}
    things = counted(words)
    return {words, ("number of", *things)} if things else {words}
