"""Python values as JSON values: exactly, or bounded and whatever they hold."""

import collections
import datetime as dt
import enum
import fractions
import json
import pathlib
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import attrs
import msgspec
import pydantic
import pytest

from toolbox.diagnostics import shorten
from toolbox.json_values import Bounds, duration_text, json_text, json_value, snapshot
from toolbox.types import ABSENT


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)
    THING = object()


class Text(str):
    """A str of its own class."""

    __slots__ = ()


@dataclass
class Data:
    x: Any


class Pair(NamedTuple):
    x: Any


@attrs.define
class Attrs:
    x: Any


class Model(pydantic.BaseModel):
    x: Any


class Struct(msgspec.Struct):
    x: Any


class Loud:
    """Showing it raises."""

    def __repr__(self) -> str:
        raise RuntimeError


class Leaving:
    """Showing it leaves the program."""

    def __repr__(self) -> str:
        raise SystemExit

    def __str__(self) -> str:
        raise SystemExit


class Quiet:
    """It has a text of its own."""

    def __repr__(self) -> str:
        return "quiet"


EXACT = [
    *((value, value) for value in (None, True, 5, 2.5, "a", [1], {"a": [None]})),
    (Colour.RED, "red"),
    (Colour.PAIR, [1, 2]),
    (Colour.THING, ABSENT),
    (Text("a"), "a"),
    (float("nan"), ABSENT),
    (dt.date(2026, 7, 2), "2026-07-02"),
    (dt.time(10), "10:00:00"),
    (dt.datetime(2026, 7, 2, tzinfo=dt.UTC), "2026-07-02T00:00:00+00:00"),
    (dt.timedelta(days=1, seconds=1.5), "P1DT1.5S"),
    (Decimal("1.10"), "1.10"),
    (Decimal("NaN"), ABSENT),
    (uuid.UUID(int=0), "00000000-0000-0000-0000-000000000000"),
    (pathlib.PurePosixPath("/a"), "/a"),
    (b"hi", "aGk="),
    ((1, (2,)), [1, [2]]),
    ({2, 1}, [1, 2]),
    ({"a": object()}, ABSENT),
    ([object()], ABSENT),
    ({1: "a"}, ABSENT),
    (object(), ABSENT),
    *((kind(x=1), {"x": 1}) for kind in (Data, Pair, Attrs, Model, Struct)),
    (Data, ABSENT),
]


@pytest.mark.parametrize(("value", "expected"), EXACT, ids=repr)
def test_json_value(value: Any, expected: Any) -> None:
    """The JSON value says the same as the Python value, or there is none."""
    made = json_value(value)
    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize(
    "span",
    [
        dt.timedelta(0),
        dt.timedelta(seconds=-90),
        dt.timedelta(days=3, microseconds=1),
        dt.timedelta(hours=5),
        dt.timedelta.max,
        dt.timedelta.min,
    ],
)
def test_a_duration_reads_back(span: dt.timedelta) -> None:
    """A duration written as text is read as the same duration."""
    from toolbox.coercion.formats import read_format

    assert read_format("duration", duration_text(span)) == span


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _cycle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


SNAPSHOTS = [
    *((value, value) for value in (None, True, 5, 2.5, "a", [1], {"a": [None]})),
    (Text("a"), "a"),
    (float("inf"), "inf"),
    ((1, {2}), [1, [2]]),
    ({1: "a", None: "b"}, {"1": "a", "None": "b"}),
    (collections.OrderedDict(a=1), {"a": 1}),
    (dt.date(2026, 7, 2), "2026-07-02"),
    (Quiet(), "quiet"),
    (object(), "<object>"),
    (Loud(), "<Loud>"),
    ([Loud()], ["<Loud>"]),
    (fractions.Fraction(1, 2), "Fraction(1, 2)"),
    *((kind(x=Loud()), {"x": "<Loud>"}) for kind in (Data, Pair, Attrs, Model, Struct)),
    (10**5000, "<integer of about 4,983 digits>"),
]


@pytest.mark.parametrize(("value", "expected"), SNAPSHOTS, ids=lambda value: type(value).__name__)
def test_snapshot(value: Any, expected: Any) -> None:
    """A snapshot is JSON whatever the value holds, and never raises."""
    made = snapshot(value)
    assert made == expected
    json.dumps(made, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "bounds", "expected"),
    [
        ("a" * 20, Bounds(text=5), "aaaaa... <15 more characters>"),
        (list(range(10)), Bounds(nodes=4), [0, 1, 2, "<7 more>"]),
        ({str(n): n for n in range(10)}, Bounds(nodes=3), {"0": 0, "1": 1, "...": "<8 more>"}),
        (_deep(5), Bounds(depth=2), [["<nested too deeply>"]]),
    ],
)
def test_snapshot_is_bounded(value: Any, bounds: Bounds, expected: Any) -> None:
    """What is cut is said in its place."""
    assert snapshot(value, bounds) == expected


def test_snapshot_of_a_cycle() -> None:
    """A value that holds itself ends where the depth does."""
    assert "nested too deeply" in json_text(_cycle())


def test_snapshot_hides() -> None:
    """Values under hidden keys are masked at any depth."""
    assert snapshot({"a": {"key": 1}, "key": [2]}, hide=lambda key: key == "key") == {"a": {"key": "***"}, "key": "***"}


def test_json_text() -> None:
    """The text is compact JSON of one line, in ASCII where asked for."""
    assert json_text({"a": ["\u00e4\n", None]}) == '{"a": ["\u00e4\\n", null]}'
    assert json_text("\u00e4", ascii_only=True) == '"\\u00e4"'


def test_a_value_that_would_leave_the_program_is_named() -> None:
    """Whatever its own methods raise, but for an interrupt, a copy for the record ends nothing."""
    assert snapshot([Leaving(), 1]) == ["<Leaving>", 1]
    assert shorten(Leaving()) == "a Leaving"
