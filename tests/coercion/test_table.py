"""The table of conversions, row by row: at the top, nested in everything that holds values, under every preset.

A row says what a value becomes, how far it is pushed for that, and what is put on record. What each policy makes of the row follows
from its level and its highest risk, and is not written down a second time.
"""

import datetime as dt
import enum
import ipaddress
import json
import pathlib
import re
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Optional, TypedDict, Union, get_origin

import attrs
import msgspec
import pydantic
import pytest

from toolbox.annotations import read_annotation
from toolbox.coercion import build_coercer
from toolbox.diagnostics import INVALID, DiagnosticKind, Failure, FailureReason, Outcome, Risk
from toolbox.policy import ABSORBING, LENIENT, STRICT, CoercionLevel, Policy
from toolbox.types import Document, NumberText

EXACT, WIDENING, STRING, BEST = CoercionLevel
INFO, WARN, RISK = Risk
POLICIES = {
    "strict": STRICT,
    "absorbing": ABSORBING,
    "lenient": LENIENT,
    "risky": replace(LENIENT, max_risk=Risk.RISKY),
}
# Containers by value, for annotations that are put together while the tests run.
LIST: Any = list
DICT: Any = dict
TUPLE: Any = tuple
TENSE = 2**53


class Change(NamedTuple):
    """One entry on record, as (path, kind, risk, conversion)."""

    path: str
    kind: DiagnosticKind
    risk: Risk
    conversion: str


class Row(NamedTuple):
    """What a value becomes, and what is put on record for it."""

    annotation: Any
    came: Any
    made: Any
    level: CoercionLevel = EXACT
    changes: tuple[Change, ...] = ()


def change(conversion: str, risk: Risk, path: str = "$", kind: DiagnosticKind = DiagnosticKind.COERCED) -> Change:
    """A change of type, at the root unless said otherwise."""
    return Change(path, kind, risk, conversion)


def kept(annotation: Any, came: Any, made: Any = None) -> Row:
    """The value is of the type already: nothing is recorded, and every policy takes it."""
    return Row(annotation, came, came if made is None else made)


def row(annotation: Any, came: Any, made: Any, level: CoercionLevel, conversion: str, risk: Risk) -> Row:
    """One change at the root."""
    return Row(annotation, came, made, level, (change(conversion, risk),))


@dataclass
class Point:
    x: int
    y: int = 2


class Corner(NamedTuple):
    x: int
    y: int


class Spot(TypedDict):
    x: int


@attrs.define
class Pin:
    x: int


class Model(pydantic.BaseModel):
    x: int


class Struct(msgspec.Struct):
    x: int


class Colour(enum.Enum):
    RED = "r"
    BLUE = "b"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Order(enum.StrEnum):
    ASC = "asc"
    DESC = "desc"


NAME = uuid.UUID("12345678-1234-5678-1234-567812345678")
MOMENT = dt.datetime(2026, 7, 2, 13, 30, tzinfo=dt.UTC)
SECONDS = int(MOMENT.timestamp())
defaulted_y = change("default", INFO, "$.y", DiagnosticKind.DEFAULTED)

BOOLEANS = [
    kept(bool, True),
    *(
        row(bool, text, made, STRING, "str->bool", INFO)
        for text, made in {"true": True, "FALSE": False, "True": True, " true ": True}.items()
    ),
    *(
        row(bool, text, made, STRING, "str->bool", WARN)
        for made, texts in {True: ("yes", "on", "y", "t", "1", "YES"), False: ("no", "off", "n", "f", "0", "No")}.items()
        for text in texts
    ),
    row(bool, 1, True, STRING, "int->bool", WARN),
    row(bool, 0, False, STRING, "int->bool", WARN),
    row(bool, 1.0, True, STRING, "float->bool", WARN),
    row(bool, "", False, BEST, "str->bool", RISK),
    row(bool, [True], True, BEST, "list->bool", WARN),
]

INTEGERS = [
    kept(int, 5),
    kept(int, 12345678901234567890),
    row(int, 5.0, 5, EXACT, "float->int", INFO),
    row(int, NumberText("5.0"), 5, EXACT, "float->int", INFO),
    row(int, NumberText("12345678901234567890.0"), 12345678901234567890, EXACT, "float->int", INFO),
    row(int, 2.0**60, 1152921504606847000, EXACT, "float->int", RISK),
    *(row(int, text, 5, STRING, "str->int", INFO) for text in ("5", "+5", "5.0", " 5 ", "5.", "\t5\n")),
    row(int, "005", 5, STRING, "str->int", WARN),
    row(int, "-5", -5, STRING, "str->int", INFO),
    row(int, "-0", 0, STRING, "str->int", INFO),
    row(int, "12345678901234567890", 12345678901234567890, STRING, "str->int", INFO),
    row(int, "1e3", 1000, STRING, "str->int", WARN),
    row(int, "0x1F", 31, STRING, "str->int", WARN),
    row(int, "0b101", 5, STRING, "str->int", WARN),
    row(int, "0o17", 15, STRING, "str->int", WARN),
    row(int, "1_000", 1000, STRING, "str->int", WARN),
    row(int, "\u0661\u0662", 12, STRING, "str->int", WARN),
    row(int, "1,234,567", 1234567, BEST, "str->int", WARN),
    row(int, "1,234", 1234, BEST, "str->int", RISK),
    row(int, "1 234", 1234, BEST, "str->int", RISK),
    row(int, [5], 5, BEST, "list->int", WARN),
    Row(int, ["5"], 5, BEST, (change("str->int", INFO, "$[0]"), change("list->int", WARN))),
]

FLOATS = [
    kept(float, 3.14),
    kept(float, 5, 5.0),
    kept(float, TENSE, float(TENSE)),
    kept(float, NumberText("1e3"), 1000.0),
    row(float, TENSE + 1, float(TENSE), EXACT, "int->float", RISK),
    row(float, "3.14", 3.14, STRING, "str->float", INFO),
    row(float, "1e3", 1000.0, STRING, "str->float", INFO),
    row(float, ".5", 0.5, STRING, "str->float", INFO),
    row(float, " -2 ", -2.0, STRING, "str->float", INFO),
    row(float, str(TENSE + 1), float(TENSE), STRING, "str->float", RISK),
    row(float, "1e-400", 0.0, STRING, "str->float", RISK),
    row(float, "0x1F", 31.0, STRING, "str->float", WARN),
    row(float, "1,234.56", 1234.56, BEST, "str->float", WARN),
    row(float, "1.234,56", 1234.56, BEST, "str->float", RISK),
    row(float, "1,5", 1.5, BEST, "str->float", RISK),
    row(float, [2.5], 2.5, BEST, "list->float", WARN),
]

DECIMALS = [
    kept(Decimal, 5, Decimal(5)),
    kept(Decimal, "1.10", Decimal("1.10")),
    kept(Decimal, 1.1, Decimal("1.1")),
    kept(Decimal, NumberText("19.99"), Decimal("19.99")),
    kept(Decimal, NumberText("0.1000000000000000000000001"), Decimal("0.1000000000000000000000001")),
    kept(Decimal, 10**30, Decimal(10**30)),
    kept(Decimal, "1e3", Decimal("1e3")),
    kept(Fraction, "0.5", Fraction(1, 2)),
    kept(Fraction, 1.5, Fraction(3, 2)),
    row(Decimal, " 1 ", Decimal(1), STRING, "str->Decimal", INFO),
    row(Decimal, "1_0", Decimal(10), STRING, "str->Decimal", WARN),
    row(Decimal, "1,234.5", Decimal("1234.5"), BEST, "str->Decimal", WARN),
    row(Decimal, "1,234", Decimal(1234), BEST, "str->Decimal", RISK),
    # No group of thousands begins with a zero.
    row(Decimal, "0,500", Decimal("0.500"), BEST, "str->Decimal", RISK),
    row(Decimal, "012,345", Decimal("12.345"), BEST, "str->Decimal", RISK),
    row(Decimal, [1], Decimal(1), BEST, "list->Decimal", WARN),
]

TEXTS = [
    *(kept(str, text) for text in ("a", "", " a ", "5", "true", "null", "[1]", '{"a": 1}', "N/A")),
    row(str, 5, "5", STRING, "int->str", WARN),
    row(str, 5.0, "5.0", STRING, "float->str", WARN),
    row(str, NumberText("19.90"), "19.90", STRING, "float->str", WARN),
    row(str, True, "true", BEST, "bool->str", RISK),
    row(str, False, "false", BEST, "bool->str", RISK),
    row(str, {"a": [1, None]}, '{"a":[1,null]}', BEST, "dict->str", WARN),
    row(str, [1, "\u00e4"], '[1,"\u00e4"]', BEST, "list->str", WARN),
    row(str, [], "[]", BEST, "list->str", WARN),
    row(str, ["a"], "a", BEST, "list->str", WARN),
]

ARRAYS = [
    kept(list[int], [1, 2]),
    kept(list[int], []),
    kept(list[int], (1, 2), [1, 2]),
    kept(Sequence[int], [1]),
    kept(tuple[int, ...], [1, 2], (1, 2)),
    kept(tuple[int, str], [1, "a"], (1, "a")),
    kept(set[int], [1, 2], {1, 2}),
    kept(frozenset[str], ["a"], frozenset("a")),
    kept(deque[int], [1], deque([1])),
    row(list[int], "[1, 2]", [1, 2], STRING, "str->list", INFO),
    row(list[int], " [1] ", [1], STRING, "str->list", INFO),
    row(tuple[int, str], '[1, "a"]', (1, "a"), STRING, "str->tuple", INFO),
    row(set[int], "[1, 2]", {1, 2}, STRING, "str->set", INFO),
    row(list[int], "(1, 2)", [1, 2], STRING, "str->list", WARN),
    row(list[str], "['a', 'b']", ["a", "b"], STRING, "str->list", WARN),
    row(list[Any], "[True, None]", [True, None], STRING, "str->list", WARN),
    row(tuple[int, str], "(1, 'a')", (1, "a"), STRING, "str->tuple", WARN),
    Row(list[int], '["1"]', [1], STRING, (change("str->int", INFO, "$[0]"), change("str->list", INFO))),
    row(list[int], "1, 2, 3", [1, 2, 3], BEST, "str->list", WARN),
    row(list[float], "1.5,2", [1.5, 2.0], BEST, "str->list", WARN),
    row(list[bool], "true, no", [True, False], BEST, "str->list", WARN),
    row(list[bool], "true, ", [True, False], BEST, "str->list", RISK),
    Row(set[int], "1, 1", {1}, BEST, (change("repeated items", WARN, kind=DiagnosticKind.DROPPED), change("str->set", WARN))),
    row(list[bool], "[yes, no]", [True, False], BEST, "str->list", WARN),
    row(list[Literal["red", "blue"]], "[red, blue]", ["red", "blue"], BEST, "str->list", WARN),
    row(list[Literal["red", "blue"]], "[red]", ["red"], BEST, "str->list", WARN),
    row(list[dt.date], "[2026-07-02, 2026-07-03]", [dt.date(2026, 7, 2), dt.date(2026, 7, 3)], BEST, "str->list", WARN),
    row(list[str], "[-a, -b]", ["-a", "-b"], BEST, "str->list", RISK),
    row(list[str], "a, b", ["a", "b"], BEST, "str->list", RISK),
    row(list[str], "Paris, France", ["Paris", "France"], BEST, "str->list", RISK),
    row(list[int], 1, [1], BEST, "int->list", WARN),
    row(list[str], "a", ["a"], BEST, "str->list", WARN),
    Row(list[int], "1", [1], BEST, (change("str->int", INFO), change("str->list", WARN))),
    row(list[Point], {"x": 1, "y": 1}, [Point(1, 1)], BEST, "dict->list", WARN),
    Row(set[int], [1, 2, 1], {1, 2}, EXACT, (change("repeated items", WARN, kind=DiagnosticKind.DROPPED),)),
    Row(
        set[int],
        [1, "1"],
        {1},
        STRING,
        (change("str->int", INFO, "$[1]"), change("repeated items", WARN, kind=DiagnosticKind.DROPPED)),
    ),
]

OBJECTS = [
    kept(dict[str, int], {"a": 1}),
    kept(Mapping[str, int], {"a": 1}),
    kept(dict[int, str], {"1": "a"}, {1: "a"}),
    kept(dict[dt.date, int], {"2026-07-02": 1}, {dt.date(2026, 7, 2): 1}),
    kept(Point, {"x": 1, "y": 3}, Point(1, 3)),
    kept(Point, Point(1, 3)),
    Row(Point, {"x": 1}, Point(1, 2), EXACT, (defaulted_y,)),
    kept(Corner, {"x": 1, "y": 3}, Corner(1, 3)),
    kept(Spot, {"x": 1}),
    kept(Pin, {"x": 1}, Pin(1)),
    kept(Model, {"x": 1}, Model(x=1)),
    kept(Struct, {"x": 1}, Struct(1)),
    row(dict[str, int], '{"a": 1}', {"a": 1}, STRING, "str->dict", INFO),
    *(
        row(kind, '{"x": 1}', made, STRING, f"str->{kind.__name__}" if kind is not Spot else "str->dict", INFO)
        for kind, made in ((Spot, {"x": 1}), (Pin, Pin(1)), (Model, Model(x=1)), (Struct, Struct(1)))
    ),
    row(Corner, '{"x": 1, "y": 2}', Corner(1, 2), STRING, "str->Corner", INFO),
    Row(Point, '{"x": "1"}', Point(1), STRING, (change("str->int", INFO, "$.x"), defaulted_y, change("str->Point", INFO))),
    row(dict[str, int], "{'a': 1}", {"a": 1}, STRING, "str->dict", WARN),
    row(dict[str, Any], "{'a': None, 'b': True}", {"a": None, "b": True}, STRING, "str->dict", WARN),
    Row(Point, {"x": 1, "y": None}, Point(1, 2), BEST, (change("default", WARN, "$.y", DiagnosticKind.DEFAULTED),)),
]

NULLS = [
    kept(Optional[int], None),
    *(row(Optional[int], text, None, STRING, "str->None", INFO) for text in ("null", "None", "NIL", "undefined", " null ")),
    *(row(Optional[kind], "null", None, STRING, "str->None", INFO) for kind in (bool, list[int], Point, dt.date, Colour, dict[str, int])),
    *(row(Optional[kind], "", None, STRING, "str->None", WARN) for kind in (int, bool, list[int], Point, dt.date, Colour)),
    *(kept(Optional[str], text) for text in ("", "NULL", "nil", "undefined", "N/A", "-")),
    *(
        row(Optional[kind], text, None, BEST, "str->None", RISK)
        for kind in (int, float, Decimal)
        for text in ("N/A", "unknown", "-", "n/a")
    ),
    row(Optional[int], "5", 5, STRING, "str->int", INFO),
    row(None, "null", None, STRING, "str->None", INFO),
]

UNIONS = [
    *(kept(Union[int, str], value) for value in (5, "5", "a")),
    kept(Union[int, float], 5),
    kept(Union[int, float], 5.5),
    kept(Union[float, str], "5"),
    kept(Union[bool, int], 1),
    kept(Union[int, bool], True),
    kept(Union[Point, list[int]], [1]),
    kept(Union[dt.date, str], "2026-07-02"),
    row(Union[int, float], "5", 5, STRING, "str->int", INFO),
    row(Union[int, float], "5.5", 5.5, STRING, "str->float", INFO),
    row(Union[int, bool], "true", True, STRING, "str->bool", INFO),
    row(Union[int, list[int]], "5", 5, STRING, "str->int", INFO),
    row(Union[Point, list[int]], "[1]", [1], STRING, "str->list", INFO),
]

MOMENTS = [
    kept(dt.datetime, "2026-07-02T13:30:00Z", MOMENT),
    kept(dt.datetime, "2026-07-02T13:30:00+00:00", MOMENT),
    kept(dt.datetime, "2026-07-02 13:30", dt.datetime(2026, 7, 2, 13, 30)),  # noqa: DTZ001 - the text names no zone
    kept(dt.date, "2026-07-02", dt.date(2026, 7, 2)),
    kept(dt.date, "2026-W27-4", dt.date(2026, 7, 2)),
    kept(dt.time, "14:30", dt.time(14, 30)),
    kept(dt.time, "14:30:05.5Z", dt.time(14, 30, 5, 500_000, tzinfo=dt.UTC)),
    kept(dt.timedelta, "PT90S", dt.timedelta(seconds=90)),
    kept(dt.timedelta, "P1DT2H", dt.timedelta(days=1, hours=2)),
    kept(dt.timedelta, "-PT5M", dt.timedelta(minutes=-5)),
    kept(dt.timedelta, "P2W", dt.timedelta(weeks=2)),
    row(dt.datetime, " 2026-07-02T13:30:00Z", MOMENT, STRING, "str->datetime", INFO),
    row(dt.datetime, SECONDS, MOMENT, BEST, "int->datetime", WARN),
    row(dt.datetime, SECONDS * 1000, MOMENT, BEST, "int->datetime", WARN),
    row(dt.datetime, float(SECONDS), MOMENT, BEST, "float->datetime", WARN),
    row(dt.datetime, 2026, dt.datetime(1970, 1, 1, 0, 33, 46, tzinfo=dt.UTC), BEST, "int->datetime", RISK),
    row(dt.datetime, "2026-07-02", dt.datetime(2026, 7, 2), WIDENING, "date->date-time", INFO),  # noqa: DTZ001 - the text names no zone
    row(dt.date, "2026-07-02T00:00:00", dt.date(2026, 7, 2), WIDENING, "date-time->date", INFO),
    row(dt.date, ["2026-07-02"], dt.date(2026, 7, 2), BEST, "list->date", WARN),
]

CANONICAL = [
    kept(uuid.UUID, str(NAME), NAME),
    kept(uuid.UUID, str(NAME).upper(), NAME),
    kept(uuid.UUID, NAME),
    kept(pathlib.Path, "/tmp/x", pathlib.Path("/tmp/x")),
    kept(pathlib.PurePosixPath, " a ", pathlib.PurePosixPath(" a ")),
    kept(ipaddress.IPv4Address, "1.2.3.4", ipaddress.IPv4Address("1.2.3.4")),
    kept(ipaddress.IPv6Address, "::1", ipaddress.IPv6Address("::1")),
    kept(ipaddress.IPv4Network, "10.0.0.0/8", ipaddress.IPv4Network("10.0.0.0/8")),
    kept(ipaddress.IPv6Network, "fe80::/10", ipaddress.IPv6Network("fe80::/10")),
    kept(ipaddress.IPv4Interface, "10.0.0.1/8", ipaddress.IPv4Interface("10.0.0.1/8")),
    kept(ipaddress.IPv6Interface, "fe80::1/64", ipaddress.IPv6Interface("fe80::1/64")),
    kept(bytes, "aGk=", b"hi"),
    kept(bytes, "a-_=", b"k\xef"),
    kept(bytearray, "aGk=", bytearray(b"hi")),
    kept(re.Pattern, "a+", re.compile("a+")),
    kept(Colour, "r", Colour.RED),
    kept(Colour, Colour.RED),
    kept(Level, 1, Level.LOW),
    kept(Order, "asc", Order.ASC),
    kept(Literal["a", 1, None], 1),
    kept(Any, {"a": [1, "x", None]}),
    row(uuid.UUID, f" {NAME} ", NAME, STRING, "str->UUID", INFO),
    row(ipaddress.IPv4Address, " 1.2.3.4", ipaddress.IPv4Address("1.2.3.4"), STRING, "str->IPv4Address", INFO),
    row(bytes, " aGk=", b"hi", STRING, "str->bytes", INFO),
    row(pathlib.Path, 5, pathlib.Path("5"), STRING, "int->str", WARN),
    row(Level, "1", Level.LOW, STRING, "str->Level", INFO),
    row(Level, 1.0, Level.LOW, EXACT, "float->Level", INFO),
    row(Literal[1, "a"], "1", 1, STRING, "str->int", INFO),
    row(Literal["1", "2"], 1, "1", STRING, "int->str", WARN),
    row(Literal["true", "x"], True, "true", BEST, "bool->str", RISK),
    row(Literal["a", "b"], ["a"], "a", BEST, "list->str", WARN),
    row(Literal[True, "x"], "TRUE", True, STRING, "str->bool", INFO),
    row(Literal[1000, "a"], "1e3", 1000, STRING, "str->int", WARN),
    row(Literal[1000, "a"], "1_000", 1000, STRING, "str->int", WARN),
    row(Literal[1000, "a"], "1,000", 1000, BEST, "str->int", RISK),
    row(Literal[None, "a"], "null", None, STRING, "str->NoneType", INFO),
]

ROWS = [*BOOLEANS, *INTEGERS, *FLOATS, *DECIMALS, *TEXTS, *ARRAYS, *OBJECTS, *NULLS, *UNIONS, *MOMENTS, *CANONICAL]


def coerce(document: Document, value: Any, policy: Policy) -> tuple[Any, list[Change], list[Failure]]:
    """What a document makes of a value, with what is on record."""
    out = Outcome()
    made = build_coercer(document, policy)(value, None, out)
    return made, [Change(found.path, found.kind, found.risk, found.conversion) for found in out.diagnostics], out.failures


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal and of the same types all the way down."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, Decimal):
        return str(left) == str(right)
    return bool(left == right)


def allows(policy: Policy, entry: Row) -> bool:
    """Whether a policy lets the changes of a row through."""
    return entry.level <= policy.coercion and all(item.risk <= policy.max_risk for item in entry.changes)


def assert_row(entry: Row, policy: Policy) -> None:
    """The row comes out as it says where the policy allows it, else as a failure that says what it would have been."""
    document = read_annotation(entry.annotation)
    made, changes, failures = coerce(document, entry.came, policy)
    if allows(policy, entry):
        assert failures == []
        assert same(made, entry.made), (made, entry.made)
        assert changes == list(entry.changes)
        return
    assert made is INVALID
    refused = failures[0]
    assert refused.path in {item.path for item in entry.changes}
    if refused.reason is FailureReason.INVALID:  # text with commas, whose items alone are too far already
        assert refused.detail == "it holds separators, so it is not one item"
        return
    assert refused.reason in (FailureReason.TOO_RISKY, FailureReason.WRONG_TYPE)
    assert refused.would_be is not None
    assert refused.would_be.risk in {item.risk for item in entry.changes}


def label(entry: Row) -> str:
    """A name for a row in test output."""
    return f"{getattr(entry.annotation, '__name__', entry.annotation)}-{entry.came!r}"[:60]


every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))


@every_policy
@pytest.mark.parametrize("entry", ROWS, ids=label)
def test_a_row_at_the_top(entry: Row, policy: Policy) -> None:
    """Every row of the table comes out as it says, where level and risk allow it."""
    assert_row(entry, policy)


@dataclass
class Other:
    """Takes nothing that a row holds."""

    never_given: int


def _below(entry: Row, prefix: str) -> tuple[Change, ...]:
    return tuple(item._replace(path=prefix + item.path[1:]) for item in entry.changes)


def in_list(entry: Row) -> Row:
    """The row as the second item of a list."""
    return entry._replace(
        annotation=LIST[entry.annotation or type(None)], came=[entry.came], made=[entry.made], changes=_below(entry, "$[0]")
    )


def in_dict(entry: Row) -> Row:
    """The row under a key that is no plain name."""
    return entry._replace(
        annotation=DICT[str, entry.annotation or type(None)],
        came={"odd key": entry.came},
        made={"odd key": entry.made},
        changes=_below(entry, "$['odd key']"),
    )


def in_tuple(entry: Row) -> Row:
    """The row as an item of a tuple of fixed length."""
    return entry._replace(
        annotation=TUPLE[str, entry.annotation or type(None)],
        came=["a", entry.came],
        made=("a", entry.made),
        changes=_below(entry, "$[1]"),
    )


def in_dataclass(entry: Row) -> Row:
    """The row as a field of a dataclass."""
    box = make_dataclass("Box", [("item", entry.annotation)])
    return entry._replace(annotation=box, came={"item": entry.came}, made=box(entry.made), changes=_below(entry, "$.item"))


def in_optional(entry: Row) -> Row:
    """The row with null allowed beside it."""
    return entry._replace(annotation=Optional[entry.annotation])


def in_union(entry: Row) -> Row:
    """The row beside a class that takes none of its values."""
    return entry._replace(annotation=Union[entry.annotation, Other])


def in_json_text(entry: Row) -> Row:
    """The row inside a list that came as JSON text: numbers keep their literal."""
    inside = in_list(entry)
    return inside._replace(
        came=json.dumps(inside.came), level=max(entry.level, STRING), changes=(*inside.changes, change("str->list", INFO))
    )


def plain_json(value: Any) -> bool:
    """Whether JSON text carries the value as it is."""
    if isinstance(value, NumberText):
        return False
    if isinstance(value, list | dict):
        return all(map(plain_json, value.values() if isinstance(value, dict) else value))
    return value is None or type(value) in (str, int, float, bool)


def means_null(entry: Row) -> bool:
    """Whether the value means null as soon as null is allowed."""
    return entry.came is None or (isinstance(entry.came, str) and entry.came.strip().lower() in ("", "null", "none"))


NESTED: list[tuple[Callable[[Row], Row], Callable[[Row], bool]]] = [
    # [1] for a list of lists may be one inner list or several.
    (in_list, lambda entry: not (get_origin(entry.annotation) is list and not isinstance(entry.came, str | list))),
    (in_dict, lambda entry: True),
    (in_tuple, lambda entry: True),
    (in_dataclass, lambda entry: True),
    (in_optional, lambda entry: not means_null(entry)),
    # An object goes to the members that are objects, when there are any.
    (in_union, lambda entry: entry.annotation is not Any and not (isinstance(entry.came, dict) and entry.annotation in (str, list[Point]))),
    (
        in_json_text,
        lambda entry: (
            plain_json(entry.came)
            and not (get_origin(entry.annotation) is list and not isinstance(entry.came, str | list))
            and not (type(entry.came) is float and entry.came > TENSE)
        ),
    ),
]


@every_policy
@pytest.mark.parametrize(
    "entry",
    [pytest.param(nest(entry), id=f"{nest.__name__}-{label(entry)}") for nest, applies in NESTED for entry in ROWS if applies(entry)],
)
def test_a_row_at_depth(entry: Row, policy: Policy) -> None:
    """Nested values follow the same table, and every change carries its full path."""
    assert_row(entry, policy)


@pytest.mark.parametrize("text", ["null", "None"])
def test_text_that_says_null_is_text_where_nothing_may_be_changed(text: str) -> None:
    """For ``Optional[str]`` the word becomes null under LENIENT, recorded; a stricter policy leaves it as the text that it is."""
    assert_row(row(Optional[str], text, None, BEST, "str->None", WARN), LENIENT)
    assert_row(kept(Optional[str], text), STRICT)
    assert_row(kept(Optional[str], text), ABSORBING)
