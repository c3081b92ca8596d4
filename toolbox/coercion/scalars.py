"""Booleans, numbers, null and any value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from toolbox.coercion.builder import Builder, Coercer, check_constraints, is_set, refused_reading, single_item
from toolbox.coercion.judge import BEST_EFFORT, EXACT, INFO, RISKY, STRING, WARNING
from toolbox.coercion.numerals import may_be_thousands, read_numeral, unquoted
from toolbox.diagnostics import INVALID, FailureReason, Outcome, Path, json_name
from toolbox.types import (
    CONSTRAINTS,
    AnyType,
    BooleanType,
    EnumType,
    IntegerType,
    NeverType,
    NullType,
    NumberText,
    NumberType,
    StringType,
    Type,
    UnionType,
)

__all__ = [
    "NO_VALUE_WORDS",
    "NULL_WORDS",
    "UNKNOWN_WORDS",
    "any_value",
    "boolean",
    "choice_texts",
    "integer",
    "is_single",
    "never",
    "null",
    "number",
    "plain",
    "plain_choices",
    "untouched",
]

NULL_WORDS: Final = frozenset({"null", "none", "nil", "undefined"})
UNKNOWN_WORDS: Final = frozenset({"n/a", "na", "unknown", "-"})
NO_VALUE_WORDS: Final = NULL_WORDS | UNKNOWN_WORDS
_BOOLEAN_WORDS: Final = {"true": True, "false": False}
_LOOSE_BOOLEANS: Final = {
    "yes": True,
    "no": False,
    "on": True,
    "off": False,
    "y": True,
    "n": False,
    "t": True,
    "f": False,
    "1": True,
    "0": False,
}
_SAFE_INTEGER: Final = 2**53


def boolean(node: BooleanType, builder: Builder) -> Coercer:
    """Coercer of true and false."""
    judge = builder.judge
    expected = builder.expected(node)

    def coerce_boolean(value: Any, path: Path, out: Outcome) -> Any:
        if value is True or value is False:
            return value
        if isinstance(value, str):
            word = value.strip().lower() if len(value) < 64 else ""
            if word in _BOOLEAN_WORDS:
                return judge.change(out, path, expected, value, _BOOLEAN_WORDS[word], STRING, INFO)
            inner = unquoted(word)
            if inner in _BOOLEAN_WORDS:
                return judge.change(out, path, expected, value, _BOOLEAN_WORDS[inner], STRING, WARNING, suggestion="Send true or false")
            if word in _LOOSE_BOOLEANS:
                return judge.change(out, path, expected, value, _LOOSE_BOOLEANS[word], STRING, WARNING, suggestion="Send true or false")
            if not value:
                return judge.change(out, path, expected, value, False, BEST_EFFORT, RISKY, suggestion="Send true or false")
        elif isinstance(value, int | float) and value in (0, 1):
            return judge.change(out, path, expected, value, bool(value), STRING, WARNING, suggestion="Send true or false")
        elif is_single(value):
            return single_item(coerce_boolean, value, expected, path, out, judge)
        return out.fail(path, FailureReason.WRONG_TYPE, expected, value, suggestion="Send true or false")

    return coerce_boolean


def is_single(value: Any) -> bool:
    """Whether a value is a list of exactly one scalar."""
    return type(value) is list and len(value) == 1 and value[0] is not None and not isinstance(value[0], list | dict)


def integer(node: IntegerType, builder: Builder) -> Coercer:
    """Coercer of whole numbers."""
    judge = builder.judge
    expected = builder.expected(node)
    holds = check_constraints(node, builder)
    digits = builder.policy.limits.integer_digits

    def coerce_integer(value: Any, path: Path, out: Outcome) -> Any:
        if type(value) is int:
            return value if holds is None or holds(value, value, path, out) else INVALID
        failed = len(out.failures)
        made = convert(value, path, out)
        if made is INVALID:
            return refused_reading(holds, value, path, out, failed)
        return made if holds is None or holds(made, value, path, out) else INVALID

    def convert(value: Any, path: Path, out: Outcome) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return int(value)
        if isinstance(value, float):
            return from_float(value, path, out)
        if isinstance(value, str):
            return from_text(value, path, out)
        if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value() and value.adjusted() < digits:
            return int(value)
        if is_single(value):
            return single_item(coerce_integer, value, expected, path, out, judge)
        detail = "a boolean is not a number here" if isinstance(value, bool) else f"{json_name(value)} is not a number"
        return out.fail(path, FailureReason.WRONG_TYPE, expected, value, detail)

    def from_float(value: float, path: Path, out: Outcome) -> Any:
        exact = _exact(value)
        if exact is None or exact.adjusted() >= digits:
            return out.fail(path, FailureReason.INVALID, expected, value, "it is not a finite number")
        if exact != exact.to_integral_value():
            return out.fail(path, FailureReason.INVALID, expected, value, "it has a fraction", "Send a whole number")
        # A float beyond 2**53 may have lost digits before it came, unless its literal is known.
        surely = isinstance(value, NumberText) or abs(value) <= _SAFE_INTEGER
        # `5.0` is an integer in JSON Schema, so it passes even where nothing may be converted.
        return judge.change(out, path, expected, value, int(exact), EXACT, INFO if surely else RISKY)

    def from_text(value: str, path: Path, out: Outcome) -> Any:
        numeral = read_numeral(value.strip())
        if numeral.value is None:
            detail = numeral.detail or ("it is empty" if not value.strip() else "it is not a number")
            return out.fail(path, FailureReason.INVALID, expected, value, detail, numeral.suggestion)
        exact = numeral.value
        if exact.adjusted() >= digits:
            return out.fail(path, FailureReason.LIMIT, expected, value, f"it has more than {digits:,} digits")
        if exact != exact.to_integral_value():
            return out.fail(path, FailureReason.INVALID, expected, value, "it has a fraction", "Send a whole number")
        risk = WARNING if numeral.detail == "exponent" else numeral.risk
        detail = "" if numeral.detail == "exponent" else numeral.detail
        if may_be_thousands(value.strip()):
            risk, detail = RISKY, "the point may separate thousands"
        return judge.change(out, path, expected, value, int(exact), numeral.level, risk, detail=detail, suggestion=numeral.suggestion)

    return coerce_integer


def _exact(value: float) -> Decimal | None:
    """The number that a float says, by its literal where it is known and by its shortest text where not; None for no finite number."""
    if isinstance(value, NumberText):
        exact = Decimal(value.text)
        return exact if exact.is_finite() else None
    return Decimal(repr(float(value))) if math.isfinite(value) else None


def number(node: NumberType, builder: Builder) -> Coercer:
    """Coercer of numbers with a fraction: floats, or exact decimals where the node says so."""
    return _decimal(node, builder) if node.decimal else _float(node, builder)


def _float(node: NumberType, builder: Builder) -> Coercer:
    judge = builder.judge
    expected = builder.expected(node)
    holds = check_constraints(node, builder)
    finite_only = not node.allow_non_finite
    as_float = node.as_float
    isfinite = math.isfinite

    def coerce_number(value: Any, path: Path, out: Outcome) -> Any:
        if type(value) is float and isfinite(value):
            return value if holds is None or holds(value, value, path, out) else INVALID
        failed = len(out.failures)
        made = convert(value, path, out)
        if made is INVALID:
            return refused_reading(holds, value, path, out, failed)
        return made if holds is None or holds(made, value, path, out) else INVALID

    def convert(value: Any, path: Path, out: Outcome) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return from_int(value, path, out)
        if isinstance(value, float):
            if isfinite(value):
                return float(value)
            return from_non_finite(value, path, out)
        if isinstance(value, str):
            return from_text(value, path, out)
        if isinstance(value, Decimal) and value.is_finite():
            return float(value)
        if is_single(value):
            return single_item(coerce_number, value, expected, path, out, judge)
        detail = "a boolean is not a number here" if isinstance(value, bool) else f"{json_name(value)} is not a number"
        return out.fail(path, FailureReason.WRONG_TYPE, expected, value, detail)

    def from_int(value: int, path: Path, out: Outcome) -> Any:
        if not as_float:
            return int(value)
        try:
            made = float(value)
        except OverflowError:
            return out.fail(path, FailureReason.LIMIT, expected, value, "it is too large for a float")
        if made == value:
            return made
        return judge.change(out, path, expected, value, made, EXACT, RISKY, detail="a float cannot hold all its digits")

    def from_non_finite(value: float, path: Path, out: Outcome) -> Any:
        if isinstance(value, NumberText) and any(digit in value.text for digit in "0123456789"):
            return out.fail(path, FailureReason.LIMIT, expected, value, "it is too large for a float")
        if finite_only:
            return out.fail(path, FailureReason.INVALID, expected, value, "it is not finite", "Send a finite number")
        return float(value)

    def from_text(value: str, path: Path, out: Outcome) -> Any:
        text = value.strip()
        numeral = read_numeral(text)
        if numeral.non_finite and not finite_only:
            return judge.change(out, path, expected, value, float(text), STRING, INFO)
        if numeral.value is None:
            detail = numeral.detail or ("it is empty" if not text else "it is not a number")
            return out.fail(path, FailureReason.INVALID, expected, value, detail, numeral.suggestion)
        made: int | float = float(numeral.value)
        if not isfinite(made):
            return out.fail(path, FailureReason.LIMIT, expected, value, "it is too large for a float")
        if not as_float and "." not in text and numeral.detail != "exponent":
            made = int(numeral.value)
        risk, detail = numeral.risk, "" if numeral.detail == "exponent" else numeral.detail
        if isinstance(made, float) and _loses_digits(numeral.value, made):
            risk, detail = RISKY, "a float cannot hold all its digits"
        return judge.change(out, path, expected, value, made, numeral.level, risk, detail=detail, suggestion=numeral.suggestion)

    return coerce_number


def _loses_digits(exact: Decimal, made: float) -> bool:
    if made == 0:
        return exact != 0
    return abs(made) >= _SAFE_INTEGER and exact == exact.to_integral_value() and exact.adjusted() < 400 and int(exact) != int(made)


def _decimal(node: NumberType, builder: Builder) -> Coercer:
    """Exact decimals. Without a constructor (a tool from a schema) the JSON value stays as it came."""
    judge = builder.judge
    expected = builder.expected(node)
    holds = check_constraints(node, builder)
    digits = builder.policy.limits.integer_digits
    keep_json = node.construct is None

    def coerce_decimal(value: Any, path: Path, out: Outcome) -> Any:
        if isinstance(value, list) and is_single(value):
            return single_item(coerce_decimal, value, expected, path, out, judge)
        before = len(out.diagnostics)
        exact = read(value, path, out)
        if exact is INVALID:
            return INVALID
        if not exact.is_finite():
            if not node.allow_non_finite:
                return out.fail(path, FailureReason.INVALID, expected, value, "it is not finite", "Send a finite number")
        elif abs(exact.adjusted()) >= digits:
            return out.fail(path, FailureReason.LIMIT, expected, value, f"it has more than {digits:,} digits")
        elif holds is not None and not holds(exact, value, path, out):
            return INVALID
        if not keep_json:
            return exact
        if isinstance(value, str):
            # Text that says the number plainly stays as it came; text that had to be read is written anew.
            return value if len(out.diagnostics) == before else format(exact, "f")
        return plain(value)

    def read(value: Any, path: Path, out: Outcome) -> Any:
        if isinstance(value, bool):
            return out.fail(path, FailureReason.WRONG_TYPE, expected, value, "a boolean is not a number here")
        if isinstance(value, Decimal):
            return value
        if isinstance(value, int):
            return Decimal(value)
        if isinstance(value, float):
            return Decimal(value.text if isinstance(value, NumberText) else repr(value))
        if isinstance(value, str):
            return from_text(value, path, out)
        return out.fail(path, FailureReason.WRONG_TYPE, expected, value, f"{json_name(value)} is not a number")

    def from_text(value: str, path: Path, out: Outcome) -> Any:
        text = value.strip()
        numeral = read_numeral(text)
        if numeral.non_finite and node.allow_non_finite:
            return Decimal(text)
        if numeral.value is None:
            detail = numeral.detail or ("it is empty" if not text else "it is not a number")
            return out.fail(path, FailureReason.INVALID, expected, value, detail, numeral.suggestion)
        if text == value and numeral.risk is INFO:
            return numeral.value  # decimal text is how JSON carries an exact decimal: no liberty was taken
        detail = "" if numeral.detail == "exponent" else numeral.detail
        return judge.change(
            out, path, expected, value, numeral.value, numeral.level, numeral.risk, detail=detail, suggestion=numeral.suggestion
        )

    return coerce_decimal


def null(node: NullType, builder: Builder) -> Coercer:
    """Coercer of null."""
    judge = builder.judge
    expected = builder.expected(node)

    def coerce_null(value: Any, path: Path, out: Outcome) -> Any:
        if value is None:
            return None
        if isinstance(value, str) and value.strip().lower() in NULL_WORDS:
            return judge.change(out, path, expected, value, None, STRING, INFO, conversion="str->None")
        return out.fail(path, FailureReason.WRONG_TYPE, expected, value, suggestion="Send null")

    return coerce_null


def never(node: NeverType, builder: Builder) -> Coercer:
    """Coercer that refuses every value."""
    expected = builder.expected(node)

    def coerce_never(value: Any, path: Path, out: Outcome) -> Any:
        return out.fail(path, FailureReason.UNKNOWN, expected, value, "no value is accepted here")

    return coerce_never


def any_value(_node: AnyType, _builder: Builder) -> Coercer:
    """Coercer that keeps every value, copied, so that the tool cannot change the caller's payload."""
    expected = "a finite number"

    def coerce_any(value: Any, path: Path, out: Outcome) -> Any:
        if value is None or type(value) in _PLAIN:
            return value
        if isinstance(value, float):
            if isinstance(value, NumberText) and not math.isfinite(value):
                return out.fail(path, FailureReason.INVALID, expected, value, "JSON has no such number")
            return float(value)
        if isinstance(value, Mapping):
            return {key: coerce_any(item, (path, key), out) for key, item in value.items()}
        if isinstance(value, list):
            return [coerce_any(item, (path, place), out) for place, item in enumerate(value)]
        return value

    return coerce_any


_PLAIN: Final = frozenset({str, int, bool, float})


def plain(value: Any) -> Any:
    """A JSON value without the literals that numbers carry while their type is not known."""
    if isinstance(value, NumberText):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


_NOTHING: Final[frozenset[type]] = frozenset()


def untouched(node: Type) -> frozenset[type]:
    """The Python types of which the node takes every value just as it is, so that no coercer need be asked."""
    if node.construct is not None or any(is_set(getattr(node, item.attribute)) for item in CONSTRAINTS.get(type(node), ())):
        return _NOTHING
    if isinstance(node, UnionType):
        if node.one_of:
            return _NOTHING
        kinds = _NOTHING.union(*map(untouched, node.members))
        # With null beside it, some texts mean null.
        return kinds - {str} if type(None) in kinds else kinds
    if isinstance(node, AnyType):
        return frozenset({str, int, bool, type(None)})
    if isinstance(node, StringType):
        return _NOTHING if node.format or node.encoding else frozenset({str})
    if type(node) is NumberType:
        # Of the floats, those that are finite.
        return _NOTHING if node.decimal or node.allow_non_finite else frozenset({float})
    return _UNTOUCHED.get(type(node), _NOTHING)


def plain_choices(node: Type) -> dict[str, Any] | None:
    """The texts that an enum, or an enum beside null, takes just as they are, each with what it stands for; None for any other node."""
    if isinstance(node, UnionType) and not node.one_of:
        others = [item for item in node.members if not isinstance(item, NullType)]
        return plain_choices(others[0]) if len(others) == 1 and node.construct is None else None
    if not isinstance(node, EnumType) or node.construct is not None:
        return None
    return choice_texts(node)


def choice_texts(node: EnumType) -> dict[str, Any]:
    """The choices that are text, each with what it stands for."""
    members = node.values if node.members is None else node.members
    return {value: members[place] for place, value in enumerate(node.values) if isinstance(value, str)}


_UNTOUCHED: Final[dict[type[Type], frozenset[type]]] = {
    NullType: frozenset({type(None)}),
    BooleanType: frozenset({bool}),
    IntegerType: frozenset({int}),
}
