"""Arrays: lists, sets, tuples of any or of fixed length."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from toolbox.coercion.builder import Builder, Coercer, check_constraints
from toolbox.coercion.embedded import read_shared
from toolbox.coercion.formats import NOT_FREE_TEXT
from toolbox.coercion.judge import BEST_EFFORT, EXACT, RISKY, STRING, WARNING
from toolbox.coercion.numerals import read_numeral
from toolbox.coercion.objects import shared_duplicates
from toolbox.coercion.recurrence import MAY_WRAP, WRAPS, comes_back, given_to, met_by
from toolbox.coercion.scalars import NO_VALUE_WORDS
from toolbox.diagnostics import FAILURES_KEPT, INVALID, DiagnosticKind, FailureReason, Outcome, Path, Risk, json_name, path_text
from toolbox.errors import PayloadError
from toolbox.types import (
    AnyType,
    ArrayType,
    BooleanType,
    EnumType,
    IntegerType,
    NumberType,
    ObjectType,
    StringType,
    Type,
    UnionType,
    identity,
)

__all__ = ["array"]

# An array of items without quotes, as programs print them.
_UNQUOTED: Final = re.compile(r"\[[^\[\]{}()\"'`]++\]")


def array(node: ArrayType, builder: Builder) -> Coercer:
    """Coercer of arrays."""
    holds = check_constraints(node, builder)
    items = builder.build(node.items)
    fixed = tuple(map(builder.build, node.prefix))
    other = _OtherReadings(node, builder)
    unique = _unique(node, builder) if node.unique_items else None
    nested = not fixed and isinstance(builder.resolve(node.items), ArrayType)
    expected = builder.expected(node)

    def coerce_items(value: Any, path: Path, out: Outcome) -> Any:
        made = []
        complete = True
        for place, item in enumerate(value):
            if len(out.failures) >= FAILURES_KEPT:
                return INVALID
            coerced = (fixed[place] if place < len(fixed) else items)(item, (path, place), out)
            if coerced is INVALID:
                complete = False
            else:
                made.append(coerced)
        if not complete:
            return INVALID
        if nested and value and not any(isinstance(item, list | tuple | set | frozenset | deque | str) for item in value):
            # [1, 2] may be one inner array or several of one item each.
            detail = "its items must be arrays themselves"
            return out.fail(path, FailureReason.AMBIGUOUS, expected, value, detail, "Send an array of arrays")
        if unique is not None:
            made = unique(made, value, path, out)
            if made is INVALID:
                return INVALID
        return made if holds is None or holds(made, value, path, out) else INVALID

    def coerce_array(value: Any, path: Path, out: Outcome) -> Any:
        if type(value) is list:
            return coerce_items(value, path, out)
        if isinstance(value, list | tuple | set | frozenset | deque):
            return coerce_items(list(value), path, out)
        return other.coerce(value, path, out)

    other.coerce_items = coerce_items
    other.item = fixed[0] if len(fixed) == 1 else items
    other.holds = holds
    return coerce_array


def _unique(node: ArrayType, builder: Builder) -> Any:
    """Drops what came twice: a set holds it once."""
    judge = builder.judge
    expected = builder.expected(node)

    def drop_repeats(made: list[Any], value: Any, path: Path, out: Outcome) -> Any:
        kept: dict[Any, Any] = {}
        for item in made:
            kept.setdefault(identity(item), item)
        if len(kept) == len(made):
            return made
        return judge.change(
            out,
            path,
            expected,
            value,
            list(kept.values()),
            EXACT,
            WARNING,
            kind=DiagnosticKind.DROPPED,
            conversion="repeated items",
            suggestion="Send each item once",
        )

    return drop_repeats


class _OtherReadings:
    """What an array makes of a value that is none."""

    coerce_items: Coercer
    item: Coercer
    holds: Any

    def __init__(self, node: ArrayType, builder: Builder) -> None:
        self.judge = builder.judge
        self.expected = builder.expected(node)
        self.limits = builder.policy.limits
        self.item_kinds = _kinds(node.prefix[0] if len(node.prefix) == 1 else node.items, builder)
        self.whole = isinstance(builder.resolve(node.items), IntegerType)
        self.wraps = len(node.prefix) <= MAY_WRAP
        self.node = node
        self.own = frozenset({id(node)})
        self.builder = builder
        self.recurs = comes_back(node, builder.resolve)
        # Where a union is on the way, it is the union that sees a value come twice: so each value has the fewest ways to have come.
        self.alone = self.recurs and comes_back(node, builder.resolve, past_unions=False)
        self.construct = node.construct.__name__ if isinstance(node.construct, type) else "list"

    def coerce(self, value: Any, path: Path, out: Outcome) -> Any:
        if isinstance(value, str):
            return self.from_text(value, path, out)
        if value is None or not self.wraps or (isinstance(value, Mapping) and not self.item_kinds & {"object", "any"}):
            detail = "" if value is None else f"{json_name(value)} is not an array"
            return out.fail(path, FailureReason.WRONG_TYPE, self.expected, value, detail, "Send an array")
        return self.wrapped(value, path, out)

    def is_endless(self) -> bool:
        return self.builder.holds_itself(self.node)

    def wrapped(self, value: Any, path: Path, out: Outcome, risk: Risk = WARNING) -> Any:
        trial = self.item_trial(value, out)
        if trial is None:
            return out.fail(path, FailureReason.WRONG_TYPE, self.expected, value, "", "Send an array")
        item = self.item(value, path, trial)
        if item is INVALID or trial.failures:
            first = trial.failures[0]
            # What is wrong with the one item says something only where it is an item's value that came.
            detail = f"as one item, {first.detail}" if first.detail and first.path == path_text(path) else ""
            if isinstance(value, Mapping):
                out.failures.extend(trial.failures)
                return INVALID
            # What would do for an item does not do for the array.
            advice = first.suggestion if first.suggestion and first.would_be is None else "Send an array"
            return out.fail(path, first.reason, self.expected, value, detail, advice, first.would_be)
        out.diagnostics.extend(trial.diagnostics)
        if self.holds is not None and not self.holds([item], value, path, out):
            return INVALID
        return self.judge.change(
            out,
            path,
            self.expected,
            value,
            [item],
            BEST_EFFORT,
            risk,
            conversion=f"{_name(value)}->{self.construct}",
            suggestion="Send an array",
        )

    def item_trial(self, value: Any, out: Outcome) -> Outcome | None:
        """The outcome under which a value is tried as the one item; None where it was tried as that before."""
        if not self.recurs:
            return Outcome(out.known)
        met = met_by(value, out)
        if met is not None and (met.wraps >= WRAPS or self.own <= met.nodes):
            return None
        return given_to(self.own if self.alone else frozenset(), value, out, wraps=1)

    def from_text(self, value: str, path: Path, out: Outcome) -> Any:
        try:
            found = read_shared(value, self.limits, path, out, self.is_endless)
        except PayloadError as error:
            return out.fail(path, FailureReason.LIMIT, self.expected, value, error.message)
        if found is not None and isinstance(found.value, list):
            return self.from_embedded(found, value, path, out)
        text = value.strip()
        if found is not None and self.wraps and self.item_kinds & {"object"}:
            return self.wrapped(value, path, out)
        if found is None and self.wraps and _UNQUOTED.fullmatch(text) is not None and text[1:-1].strip(", "):
            return self.from_listed(value, path, out, text[1:-1])
        if not text or (text[0] == "[" and found is None) or not self.wraps:
            detail = "it is empty" if not text else "it is text, and no whole JSON array"
            return out.fail(path, FailureReason.INVALID, self.expected, value, detail, "Send an array")
        if "," in text or ";" in text or "\n" in text:
            return self.from_listed(value, path, out)
        if text.lower() in NO_VALUE_WORDS and not self.item_kinds & {"choice"}:
            detail = "it says that there is no value"
            return out.fail(path, FailureReason.INVALID, self.expected, value, detail, "Send an array, or leave it out")
        # Text for any value may be JSON of another type that was put in quotes.
        plainly = not self.item_kinds & {"any"} or (found is None and read_numeral(text).value is None)
        return self.wrapped(value, path, out, WARNING if plainly else RISKY)

    def may_be_one_number(self, value: str) -> bool:
        """Whether commas may group the digits of one number, or stand for its decimal point."""
        numeral = read_numeral(value.strip())
        if numeral.value is not None and (not self.whole or numeral.value == numeral.value.to_integral_value()):
            return True
        return any(len(part) == 3 and part.isdigit() for part in value.split(",")[1:])  # as in 10,000,20,000

    def from_embedded(self, found: Any, value: str, path: Path, out: Outcome) -> Any:
        made = self.coerce_items(found.value, path, out)
        if made is INVALID or not shared_duplicates(found.duplicates, path, out, self.judge):
            return INVALID
        return self.judge.change(
            out,
            path,
            self.expected,
            value,
            made,
            STRING,
            found.risk,
            conversion=f"str->{self.construct}",
            suggestion="Send an array, not text",
        )

    def from_listed(self, value: str, path: Path, out: Outcome, inner: str | None = None) -> Any:
        """Text with separators, maybe in brackets: numbers are split; other text may be one item or several, and only the model knows."""
        parts = [part.strip() for part in (value if inner is None else inner).split(",")]
        trial = self.item_trial(parts[0], out) if len(parts) == 1 else Outcome(out.known)
        made = INVALID if trial is None else self.coerce_items(parts, path, trial)
        if trial is None or made is INVALID:
            why = trial.failures[0].detail if trial is not None and self.item_kinds <= {"number"} else ""
            detail = f"read as a list with commas, {why}" if why else "it holds separators, so it is not one item"
            return out.fail(path, FailureReason.INVALID, self.expected, value, detail, "Send an array")
        # The places of the items are not places in the text, so only what was done to the whole is put on record, with the worst risk.
        out.diagnostics.extend(found for found in trial.diagnostics if found.path == path_text(path))
        surely = not self.item_kinds & {"text", "any", "other"} and not (self.item_kinds & {"number"} and self.may_be_one_number(value))
        worst = max((found.risk for found in trial.diagnostics), default=WARNING)
        return self.judge.change(
            out,
            path,
            self.expected,
            value,
            made,
            BEST_EFFORT,
            max(worst, WARNING) if surely else RISKY,
            conversion=f"str->{self.construct}",
            detail="" if surely else "a text with a comma may be one item or several",
            suggestion="Send an array",
        )


def _name(value: Any) -> str:
    return "str" if isinstance(value, str) else type(value).__name__


def _kinds(node: Type, builder: Builder, depth: int = 0) -> frozenset[str]:
    """Which JSON types the node plainly takes."""
    node = builder.resolve(node)
    if isinstance(node, UnionType) and depth < 8:
        return frozenset().union(*(_kinds(item, builder, depth + 1) for item in node.members))
    if isinstance(node, EnumType):
        return frozenset({"choice"})
    if isinstance(node, StringType):
        return frozenset({"formatted" if node.format in NOT_FREE_TEXT else "text"})
    for kind, name in (
        (NumberType, "number"),
        (ObjectType, "object"),
        (ArrayType, "array"),
        (BooleanType, "boolean"),
        (AnyType, "any"),
    ):
        if isinstance(node, kind):
            return frozenset({name})
    return frozenset({"other"})
