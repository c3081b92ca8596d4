"""The index of the levels above SEPARATOR: few candidates out of many choices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import islice
from typing import Final

from toolbox.diagnostics import Risk
from toolbox.matching.comparing import (
    IN_TOKEN,
    TYPO_EDITS,
    Hit,
    as_prefix,
    as_substring,
    as_tokens,
    how_near,
    typo_distance,
    widest,
)
from toolbox.matching.levels import CANDIDATES
from toolbox.matching.texts import Text
from toolbox.matching.words import FILLERS

__all__ = ["DeepIndex"]

TYPO_CANDIDATES: Final = 100
"""Where more keys than this are similar to a value, none is what was meant."""


class DeepIndex:
    """The structures of the levels above SEPARATOR, built at the first value that comes so far."""

    __slots__ = ("by_first", "by_key", "by_start", "holding", "joined", "keys", "rarest", "texts", "words")

    def __init__(self, choices: Iterable[tuple[int, str]]) -> None:
        self.texts: dict[int, Text] = {}
        self.by_key: dict[str, list[int]] = {}
        self.holding: dict[str, list[int]] = {}
        for position, choice in choices:
            text = Text(choice)
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
        """The sorted names that begin so, at most `limit` of them."""
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

    def prefixes(self, value: Text) -> dict[int, Hit]:
        """The choices that begin the value, or that the value begins."""
        hits: dict[int, Hit] = {}
        key = value.key
        for end in range(1, len(key)):
            for position in self.by_key.get(key[:end], ()):
                hit = as_prefix(self.texts[position], value, True)
                if hit is not None:
                    hits[position] = hit
        if any(not hit.blocked for hit in hits.values()):
            inside = {place: hit for place, hit in self.contained(value).items() if place not in hits}
            hits.update((place, hit) for place, hit in inside.items() if not any(hit.covered <= other.covered for other in hits.values()))
            hits = widest(hits)
        for longer in self.starting_with(key, self.keys, CANDIDATES):
            for position in self.by_key[longer]:
                hit = as_prefix(value, self.texts[position], False)
                if hit is not None:
                    hits[position] = hit
        return hits

    def contained(self, value: Text) -> dict[int, Hit]:
        """The choices whose tokens are all in the value; one inside a larger one does not count."""
        hits: dict[int, Hit] = {}
        places: set[int] = set()
        for token in set(value.tokens):
            for word in self.related(token):
                places.update(self.rarest.get(word, ()))
        present = set(value.tokens)
        for position in sorted(places):
            text = self.texts[position]
            if len(places) > CANDIDATES and not present.issuperset(text.tokens):
                continue
            hit = as_tokens(text, value, True)
            if hit is not None:
                hits[position] = hit
                if len(hits) > CANDIDATES:
                    break
        return widest(hits)

    def containing(self, value: Text) -> dict[int, Hit]:
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
        hits: dict[int, Hit] = {}
        for position in sorted(places):
            hit = as_tokens(value, self.texts[position], False)
            if hit is not None:
                hits[position] = hit
                if len(hits) > CANDIDATES:
                    break
        return hits

    def tokens(self, value: Text) -> dict[int, Hit]:
        """The choices whose tokens are all in the value, or the other way round."""
        return self.containing(value) | self.contained(value)

    def substrings(self, value: Text) -> dict[int, Hit]:
        """The choices that hold the value anywhere, or that the value holds."""
        hits: dict[int, Hit] = {}
        if value.letters < IN_TOKEN:
            return hits
        for key in self.around(value.key, CANDIDATES):
            for position in self.by_key[key]:
                hit = as_substring(value, self.texts[position], False)
                if hit is not None:
                    hits[position] = hit
        for key in self.within(value.key, CANDIDATES):
            for position in self.by_key[key]:
                hit = as_substring(self.texts[position], value, True)
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

    def similar(self, value: Text) -> list[str]:
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

    def parts(self, value: Text, position: int) -> set[int]:
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

    def shared(self, hit: Hit, position: int) -> bool:
        """Whether a word that is left over in the value tells another choice from its likes: "very high" beside "very low"."""
        return any(any(place != position for place in self.holding.get(word, ())) for word in hit.leftover if word not in FILLERS)

    def typos(self, value: Text) -> dict[int, Hit]:
        """The choices that are the fewest slips of the pen away."""
        best = TYPO_EDITS
        hits: dict[int, Hit] = {}
        for key in self.similar(value):
            for position in self.by_key[key]:
                distance = typo_distance(value, self.texts[position])
                if distance is None or distance > best:
                    continue
                if distance < best:
                    best = distance
                    hits.clear()
                hits[position] = Hit(Risk.RISKY, False)
        return hits

    def near(self, value: Text, n: int) -> list[int]:
        """The choices that look most like the value, best first; for suggestions only."""
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
            nearness = how_near(value, self.texts[position])
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
