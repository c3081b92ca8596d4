"""What a value that did not fit may be changed to: one rule a kind of type, each of which finds the new value in the old one.

A rule answers one question: does the value that came say the new one, and no other? It never judges whether the new value is a good one;
that is for the schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolbox.coercion import Coercer, build_coercer
from toolbox.coercion.numerals import read_numeral
from toolbox.coercion.scalars import NO_VALUE_WORDS
from toolbox.diagnostics import INVALID, Outcome, Risk
from toolbox.errors import PayloadError
from toolbox.json_values import json_value
from toolbox.matching.keys import bare, without_quotes
from toolbox.payload import check_limits, parse_json
from toolbox.policy import Limits, Policy
from toolbox.recovery.equality import exact, same
from toolbox.recovery.moments import is_moment_said
from toolbox.recovery.quantities import Label, number_said
from toolbox.types import ABSENT, Document, IntegerType, NullType, NumberType, StringType, Type

__all__ = ["holds_mapping", "is_converted", "is_fine", "pieces_of", "reading_of"]

_LIMITS: Final = Limits()
_SEPARATORS: Final = tuple(map(re.compile, (r"\n", r";", r",\s*and\s+|,", r"\|", r",|\s+and\s+")))
_LONGEST_LIST: Final = 1_000
# Three digits behind a comma may be a group of one number.
_GROUPS: Final = re.compile(r"[0-9],\s?[0-9]{3}(?![0-9])")


def holds_mapping(value: Any) -> bool:
    """Whether an object stands anywhere in a value: of its keys, none may vanish unseen."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list | tuple | set | frozenset) and any(map(holds_mapping, value))


def is_converted(node: Type, before: Any, after: Any, document: Document, policy: Policy) -> bool:
    """Whether the deterministic conversion makes of both values the same."""
    if holds_mapping(before) or holds_mapping(after):
        return False
    coerce = build_coercer(Document(node, document.definitions), policy)
    one, other = _made(coerce, before, policy), _made(coerce, after, policy)
    return one is not INVALID and other is not INVALID and _same_made(one, other)


def is_fine(node: Type, value: Any, document: Document, policy: Policy) -> bool:
    """Whether a value fits a type as the policy reads it."""
    out = Outcome()
    try:
        check_limits(value, policy.limits)
        return build_coercer(Document(node, document.definitions), policy)(value, None, out) is not INVALID and not out.failures
    except PayloadError:
        return False


def _made(coerce: Coercer, value: Any, policy: Policy) -> Any:
    out = Outcome()
    try:
        check_limits(value, policy.limits)
        made = coerce(value, None, out)
    except PayloadError:
        return INVALID
    return INVALID if out.failures or made is ABSENT or holds_mapping(json_value(made)) else made


def _same_made(one: Any, other: Any) -> bool:
    left, right = exact(one), exact(other)
    if left is not None and right is not None:
        return left == right
    said, wanted = json_value(one), json_value(other)
    return said is not ABSENT and wanted is not ABSENT and same(said, wanted)


def reading_of(node: Type, before: Any, after: Any, label: Label) -> str | None:
    """Name of the rule by which a scalar that did not fit says another one, or None."""
    if after is None:
        return "no value" if isinstance(node, NullType) and _says_nothing(before) else None
    if isinstance(node, NumberType):
        return "number" if isinstance(before, str) and _is_number_said(node, before, after, label) else None
    if isinstance(node, StringType) and isinstance(after, str):
        return _text_reading(node, before, after)
    return None


def _says_nothing(before: Any) -> bool:
    return isinstance(before, str) and (not before.strip() or before.strip().lower() in NO_VALUE_WORDS)


def _is_number_said(node: NumberType, before: str, after: Any, label: Label) -> bool:
    number = exact(after)
    if number is None and isinstance(after, str):
        plainly = read_numeral(after.strip())
        number = plainly.value if plainly.risk is Risk.INFO else None
    return number is not None and number == number_said(before, label, whole=isinstance(node, IntegerType))


def _text_reading(node: StringType, before: Any, after: str) -> str | None:
    if isinstance(before, str):
        if node.format in ("date", "time", "date-time") and is_moment_said(before, after, node.format):
            return "date"
        return "spelling" if _is_spelled_alike(before, after) else None
    if isinstance(before, bool):
        return "text" if after == ("true" if before else "false") else None
    if isinstance(before, Mapping | list):
        try:
            return "text" if same(parse_json(after, _LIMITS)[0], before) else None
        except PayloadError:
            return None
    return None


def _is_spelled_alike(before: str, after: str) -> bool:
    """Whether two texts are the same but for white space and quotes around them, and for case where it says nothing.

    A text in one case ("eur", "SW1A", "Berlin") says nothing with it. Where cases are mixed ("AbC1") they may tell one code from another.
    """
    one, other = without_quotes(bare(before)), without_quotes(bare(after))
    if not one or one == other:
        return bool(one)
    is_one_case = one in (one.lower(), one.upper(), one.capitalize()) or one.istitle()
    return is_one_case and len(one) == len(other) and all(map(_is_same_letter, one, other))


def _is_same_letter(one: str, other: str) -> bool:
    return one == other or (one.lower() == other.lower() and one.upper() == other.upper())


def pieces_of(text: str, count: int) -> list[list[str]]:
    """Every way to part a text into so many pieces by one separator, with nothing left out but separators, brackets and quotes.

    >>> pieces_of("a, b and c", 3)
    [['a', 'b', 'c']]
    >>> pieces_of("$1,234", 2)
    []
    """
    inner = text.strip()
    if len(inner) > 1 and (inner[0], inner[-1]) in (("[", "]"), ("(", ")")):
        inner = inner[1:-1]
    if count < 2 or count > _LONGEST_LIST or _GROUPS.search(inner):
        return []
    ways: list[list[str]] = []
    for separator in _SEPARATORS:
        parts = [part.strip() for part in separator.split(inner)]
        if len(parts) == count and all(parts) and parts not in ways:
            ways.append(parts)
    return ways
