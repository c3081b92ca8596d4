"""Values that are made to break things: no exception comes out, no text grows, nothing is taken for what it is not."""

import collections
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, Optional, Union

import pytest

from toolbox.annotations import read_annotation
from toolbox.coercion import build_coercer
from toolbox.diagnostics import INVALID, Outcome, Risk
from toolbox.policy import ABSORBING, LENIENT, STRICT
from toolbox.types import NumberText


class LoudText(str):
    """A str whose own methods raise."""

    __slots__ = ()

    def __repr__(self) -> str:
        raise RuntimeError

    def __str__(self) -> str:
        raise RuntimeError


class Loud:
    """An object whose methods raise."""

    def __repr__(self) -> str:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        raise RuntimeError


class MyInt(int):
    """An int of its own class."""


class MyText(str):
    """A str of its own class."""

    __slots__ = ()


class MyDict(dict[str, Any]):
    """A dict of its own class."""


class View(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __init__(self, **items: Any) -> None:
        self.items_ = items

    def __getitem__(self, key: str) -> Any:
        return self.items_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.items_)

    def __len__(self) -> int:
        return len(self.items_)


@dataclass
class Point:
    x: int
    y: int = 0


def deep(levels: int) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


# Containers by value, for annotations that are put together while the tests run.
LIST: Any = list
DICT: Any = dict
HOSTILE = [
    *(
        10**5000,
        -(10**5000),
        float("nan"),
        float("inf"),
        -0.0,
        1e308,
        5e-324,
        NumberText("1e999999"),
        NumberText("NaN"),
        NumberText("-0.0"),
    ),
    *("9" * 100_000, "1" + "0" * 4_299, "1e999999", "-" * 1000, "0x" + "f" * 4000, "[" * 1000, '{"a":' * 100, "\0", "\ud800", "\u2028"),
    *(" " * 10_000, "," * 10_000, "'" * 1000, "(" * 1000, "\\" * 1000, "P" + "9" * 500 + "D", "2026-07-02T" + "0" * 300, "\u202e5"),
    *([None] * 3, [[[[]]]], deep(50), {"": {"": {"": None}}}, {"a" * 10_000: 1}, {None: 1}, {1.5: 2}, {("a", "b"): 1}),
    *(Loud(), [Loud()], {"x": Loud()}, (Loud(),), {"a"}, frozenset({1}), b"bytes", bytearray(b"x"), object(), Exception("x"), type, len),
    *(
        MyInt(5),
        MyText("5"),
        MyDict(x=1),
        View(x=1),
        collections.OrderedDict(x=1),
        collections.deque([1]),
        Decimal("NaN"),
        Decimal("1e9999"),
        1j,
    ),
    *(range(3), iter([1]), memoryview(b"x"), Ellipsis, NotImplemented, True, None),
]
KINDS = [
    *(bool, int, float, Decimal, str, bytes, Any, None, list[int], list[str], set[int], tuple[int, str], dict[str, int], dict[int, int]),
    *(Point, Optional[int], Optional[str], Union[int, str], Union[Point, list[int]], Literal["a", 1, True], Literal["a"] | str),
]


@pytest.mark.parametrize(
    "policy", [STRICT, ABSORBING, LENIENT, replace(LENIENT, max_risk=Risk.RISKY)], ids=["strict", "absorbing", "lenient", "risky"]
)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_no_value_raises(kind: Any, policy: Any) -> None:
    """Whatever comes, the outcome is a value or a failure, and every text about it is short and of one line."""
    for value in HOSTILE:
        for annotation, sent in ((kind, value), (LIST[kind or type(None)], [value]), (DICT[str, kind or type(None)], {"k": value})):
            out = Outcome()
            made = build_coercer(read_annotation(annotation), policy)(sent, None, out)
            assert (made is INVALID) == bool(out.failures)
            for text in (*map(str, out.failures), *map(str, out.diagnostics)):
                assert len(text) < 1_500
                assert text.isprintable()


@pytest.mark.parametrize(
    ("kind", "value", "made"),
    [
        (int, MyInt(5), 5),
        (str, MyText("a"), "a"),
        (int, MyText("5"), 5),
        (float, NumberText("2.50"), 2.5),
        (Any, NumberText("2.5"), 2.5),
        (Any, [NumberText("2.5")], [2.5]),
        (dict[str, int], MyDict(x=1), {"x": 1}),
        (dict[str, int], View(x=1), {"x": 1}),
        (Point, View(x=1, y=2), Point(1, 2)),
        (Any, View(x=[1]), {"x": [1]}),
        (list[int], collections.deque([1]), [1]),
    ],
)
def test_subclasses_become_the_plain_type(kind: Any, value: Any, made: Any) -> None:
    """Values of subclasses come out as the plain type, so that no behaviour of theirs reaches the tool."""
    out = Outcome()
    result = build_coercer(read_annotation(kind), LENIENT)(value, None, out)
    assert out.failures == []
    assert result == made
    assert type(result) is type(made)


def test_a_cycle_is_no_endless_loop() -> None:
    """A list that holds itself is refused with a failure where its type says how deep it may go."""
    cycle: list[Any] = []
    cycle.append(cycle)
    out = Outcome()
    assert build_coercer(read_annotation(list[list[list[int]]]), LENIENT)(cycle, None, out) is INVALID
    assert out.failures


def test_failures_are_bounded() -> None:
    """A thousand failures are kept, not a million."""
    out = Outcome()
    build_coercer(read_annotation(list[int]), LENIENT)(["x"] * 5_000, None, out)
    assert len(out.failures) == 1_000
