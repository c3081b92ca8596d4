"""The rule for names, and the names that are near a text."""

from __future__ import annotations

from collections.abc import Iterable

from toolbox.matching.keys import LONGEST, normalise
from toolbox.matching.levels import CANDIDATES

__all__ = ["NameIndex", "closest"]


def closest(text: str, names: Iterable[str], n: int = 3) -> list[str]:
    """The names that look most like a text, best first, for "did you mean"; none when none is near.

    >>> closest("max_result", ["max_results", "query", "min_results"])
    ['max_results']
    >>> closest("v1.4", ["v1.3", "v1.5"])
    []
    """
    if n < 1 or not text.strip() or len(text) > LONGEST:
        return []
    from toolbox.matching.comparing import IN_TOKEN, how_near
    from toolbox.matching.texts import Text

    value = Text(text)
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
            nearness = how_near(value, Text(name))
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
