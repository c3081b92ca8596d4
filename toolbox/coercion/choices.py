"""Enums: a value among given ones, looked up, and matched where it is not there."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from toolbox.coercion.builder import Builder, Coercer, single_item
from toolbox.coercion.expected import CHOICES_SHOWN
from toolbox.coercion.judge import BEST_EFFORT, EXACT, INFO, RISKY, STRING, WARNING
from toolbox.coercion.numerals import read_numeral
from toolbox.coercion.scalars import NULL_WORDS, choice_texts
from toolbox.diagnostics import ABSENT, Diagnostic, DiagnosticKind, FailureReason, Outcome, Path, Risk, path_text, shorten
from toolbox.errors import AmbiguousMatch
from toolbox.matching import ChoiceIndex, Match, MatchLevel
from toolbox.policy import CoercionLevel
from toolbox.types import EnumType, NumberText, identity

__all__ = ["choice"]

LONGEST_TYPED: Final = 64
"""Longer texts are not read as a number, a boolean or null that is one of the choices."""


def choice(node: EnumType, builder: Builder) -> Coercer:
    """Coercer of an enum."""
    members = node.values if node.members is None else node.members
    texts = choice_texts(node)
    slow = _Matcher(node, builder, members).coerce
    instance = node.instance

    def coerce_choice(value: Any, path: Path, out: Outcome) -> Any:
        if type(value) is str:
            found = texts.get(value, ABSENT)
            if found is not ABSENT:
                return found
        elif instance is not None and isinstance(value, instance):
            return value
        return slow(value, path, out)

    return coerce_choice


class _Matcher:
    """What an enum makes of a value that is not literally one of its texts."""

    def __init__(self, node: EnumType, builder: Builder, members: tuple[Any, ...]) -> None:
        self.node = node
        self.judge = builder.judge
        self.expected = builder.expected(node)
        self.level = builder.policy.matching
        self.members = members
        self.index = ChoiceIndex(node.values, node.aliases)
        self.names = ChoiceIndex(node.names) if node.names is not None else None
        self.others = {(type(value), value): place for place, value in enumerate(node.values) if _hashable(value)}
        self.compound = [(identity(value), place) for place, value in enumerate(node.values) if not _hashable(value)]

    def coerce(self, value: Any, path: Path, out: Outcome) -> Any:
        if isinstance(value, str):
            return self.from_text(str(value), path, out)
        if isinstance(value, list | dict):
            return self.from_compound(value, path, out)
        place = self.place_of(value)
        if place is not None:
            return self.members[place]
        return self.from_scalar(value, path, out)

    def place_of(self, value: Any) -> int | None:
        if isinstance(value, float) and not isinstance(value, bool):
            value = float(value)
        return self.others.get((type(value), value)) if _hashable(value) else None

    def from_compound(self, value: Any, path: Path, out: Outcome) -> Any:
        for known, place in self.compound:
            if known == identity(value):
                return self.members[place]
        if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list | dict):
            return single_item(self.coerce, value, self.expected, path, out, self.judge)
        return self.refuse(value, path, out)

    def from_scalar(self, value: Any, path: Path, out: Outcome) -> Any:
        if isinstance(value, bool) or value is None:
            word = "null" if value is None else json.dumps(value)
            place = self.others.get((str, word))
            if place is None or value is None:
                return self.refuse(value, path, out)
            return self.judge.change(
                out, path, self.expected, value, self.members[place], BEST_EFFORT, RISKY, suggestion="Send text in quotes"
            )
        if isinstance(value, float) and value.is_integer():
            place = self.others.get((int, int(value)))
            if place is not None:
                return self.judge.change(out, path, self.expected, value, self.members[place], EXACT, INFO)
        if isinstance(value, int):
            try:
                widened = float(value)
            except OverflowError:
                return self.refuse(value, path, out)
            place = self.others.get((float, widened))
            if place is not None and widened == value:
                return self.members[place]
        if isinstance(value, int | float):
            written = value.text if isinstance(value, NumberText) else shorten(value)
            place = self.others.get((str, written))
            if place is not None:
                return self.judge.change(
                    out, path, self.expected, value, self.members[place], STRING, WARNING, suggestion="Send text in quotes"
                )
        return self.refuse(value, path, out)

    # -- text --------------------------------------------------------------------------------------------------------------------

    def from_text(self, value: str, path: Path, out: Outcome) -> Any:
        place = self.others.get((str, value))
        if place is not None:
            return self.members[place]
        try:
            typed = None if self.node.open else self.typed(value)
            if typed is not None:
                place, level, risk = typed
                return self.judge.change(out, path, self.expected, value, self.members[place], level, risk)
            found = self.by_name(value) or self.plainly(value) or self.index.find(value, self.ceiling) or self.loosely_by_name(value)
        except AmbiguousMatch as error:
            candidates = error.candidates
            return self.keep_or(value, path, out, lambda: self.ambiguous(candidates, value, path, out))
        if found is None:
            return self.keep_or(value, path, out, lambda: self.refuse(value, path, out))
        if found.level > self.level:
            return self.keep_or(value, path, out, lambda: self.too_far(found, value, path, out))
        return self.matched(found, value, path, out)

    @property
    def ceiling(self) -> MatchLevel:
        """How far to look: an open enum keeps what is not plainly one of its choices; else beyond the policy, to say what it would be."""
        if self.node.open:
            return min(self.level, MatchLevel.SEPARATOR)
        return max(self.level, MatchLevel.TOKEN)

    def typed(self, value: str) -> tuple[int, CoercionLevel, Risk] | None:
        """The place of a choice that is no text, of which this is the text: "5" for 5, "true" for true; and how surely it is."""
        word = value.strip().lower()
        if len(word) > LONGEST_TYPED:
            return None
        if word in NULL_WORDS:
            return self.typed_at(type(None), None)
        if word in ("true", "false"):
            return self.typed_at(bool, word == "true")
        numeral = read_numeral(word)
        exact = numeral.value
        if exact is None or abs(exact.adjusted()) > LONGEST_TYPED:
            return None
        risk = WARNING if numeral.detail == "exponent" else numeral.risk
        whole = self.typed_at(int, int(exact), numeral.level, risk) if exact == exact.to_integral_value() else None
        return whole or self.typed_at(float, float(exact), numeral.level, numeral.risk)

    def typed_at(self, kind: type, value: Any, level: CoercionLevel = STRING, risk: Risk = INFO) -> tuple[int, CoercionLevel, Risk] | None:
        place = self.others.get((kind, value))
        return None if place is None else (place, level, risk)

    def by_name(self, value: str) -> Match | None:
        if self.names is None:
            return None
        found = self.names.find(value, MatchLevel.EXACT)
        return found and Match(found.position, self.node.values[found.position], MatchLevel.CASE, INFO)

    def plainly(self, value: str) -> Match | None:
        """A value, or else a name, that differs by case and separators alone: it is nearer than any guess about the values."""
        if self.names is None:
            return None
        level = min(self.ceiling, MatchLevel.SEPARATOR)
        return self.index.find(value, level) or self.names.find(value, level)

    def loosely_by_name(self, value: str) -> Match | None:
        return None if self.names is None else self.names.find(value, self.ceiling)

    def matched(self, found: Match, value: str, path: Path, out: Outcome) -> Any:
        return self.judge.change(
            out,
            path,
            self.expected,
            value,
            self.members[found.position],
            EXACT,
            found.risk or INFO,
            kind=DiagnosticKind.MATCHED,
            conversion=f"match:{found.level.name.lower()}",
            suggestion=f"Send {shorten(self.node.values[found.position])}",
        )

    def too_far(self, found: Match, value: str, path: Path, out: Outcome) -> Any:
        would_be = Diagnostic(
            path_text(path),
            DiagnosticKind.MATCHED,
            found.risk or INFO,
            value,
            self.members[found.position],
            f"match:{found.level.name.lower()}",
        )
        suggestion = f"Send {shorten(self.node.values[found.position])} if that is meant"
        return out.fail(path, FailureReason.NOT_A_CHOICE, self.expected, value, "", suggestion, would_be)

    def keep_or(self, value: str, path: Path, out: Outcome, refuse: Callable[[], Any]) -> Any:
        """Keep the text where the enum is open, whatever the policy: it is declared that other text may come."""
        if not self.node.open:
            return refuse()
        out.diagnostics.append(
            Diagnostic(path_text(path), DiagnosticKind.UNKNOWN_CHOICE, WARNING, value, value, "", f"The known choices are {self.expected}")
        )
        return value

    # -- refusals ----------------------------------------------------------------------------------------------------------------

    def ambiguous(self, candidates: Sequence[Any], value: str, path: Path, out: Outcome) -> Any:
        shown = ", ".join(shorten(item) for item in candidates[:CHOICES_SHOWN])
        return out.fail(path, FailureReason.AMBIGUOUS, self.expected, value, f"it could mean {shown}", "Send one of them exactly")

    def refuse(self, value: Any, path: Path, out: Outcome) -> Any:
        suggestion = "Send one of the choices exactly"
        if isinstance(value, str) and len(self.node.values) > CHOICES_SHOWN:
            nearest = self.index.nearest(value, 3)
            if nearest:
                suggestion = f"The nearest choices are {', '.join(map(shorten, nearest))}; send one of them exactly if it is meant"
        return out.fail(path, FailureReason.NOT_A_CHOICE, self.expected, value, "", suggestion)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except Exception:  # noqa: BLE001 - a tuple may hold a list, and an author's __hash__ may do anything
        return False
    return True
