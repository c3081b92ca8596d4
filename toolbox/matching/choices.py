"""The cascade: a value to the one choice that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from toolbox.diagnostics import Risk
from toolbox.errors import AmbiguousMatch, NoMatch
from toolbox.matching.keys import LONGEST, fold, normalise, without_quotes
from toolbox.matching.levels import Match, MatchLevel

if TYPE_CHECKING:
    from toolbox.matching.deep_index import DeepIndex

__all__ = ["ChoiceIndex", "fuzzy_match_enum"]

DEEPEST: Final = 32
"""Containers deeper than this are told apart as objects, not by what is in them."""


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
        self._deep: DeepIndex | None = None
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
        folded = fold(text)
        for key in {folded, without_quotes(folded)}:
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
        folded = fold(text)
        if not folded:
            return None
        bare = without_quotes(folded)
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
                for key in {normalise(text), normalise(without_quotes(fold(text)))}:
                    known = table.get(key, ())
                    if key and position not in known:
                        table[key] = (*known, position)
            self._separator = table
        return self._separator

    def _structures(self) -> DeepIndex:
        if self._deep is None:
            from toolbox.matching.deep_index import DeepIndex

            self._deep = DeepIndex((position, text) for text, position in self._texts.items())
        return self._deep

    def _guess(self, value: str, text: str, level: MatchLevel) -> Match | None:
        from toolbox.matching.texts import Text

        deep = self._structures()
        cut = Text(text.strip())
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
        folded = fold(shown)
        places = [self._shown.get(folded)]
        if isinstance(value, str):
            from toolbox.matching.texts import Text

            bare = without_quotes(folded)
            known = self._case.get(bare, ())
            places += [known] if isinstance(known, int) else known
            places += self._separators().get(normalise(bare), ())
            cut = Text(shown)
            if not cut.empty:
                places += self._structures().near(cut, n)
        else:
            places.insert(0, self._texts.get(shown))
        found = dict.fromkeys(place for place in places if place is not None)
        return [self.choices[place] for place in islice(found, n)]


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
