"""Results as text for the model: any value, bounded, never raising, always sendable."""

import datetime
import decimal
import enum
import json
import pathlib
import sys
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox import InvalidArguments, Registry, ToolResult, UnknownTool
from toolbox.results import RESULT_LIMIT, result_text


@dataclass
class Flight:
    number: str
    price: decimal.Decimal
    when: datetime.date = datetime.date(2026, 7, 2)
    tags: list[str] = field(default_factory=list)


class Model(pydantic.BaseModel):
    a: int = 1
    at: datetime.datetime = datetime.datetime(2026, 7, 2, 8, 30, tzinfo=datetime.UTC)


class Struct(msgspec.Struct):
    a: int = 1


@attrs.define
class Attrs:
    a: int = 1


class Pair(NamedTuple):
    a: int
    b: int


class Colour(enum.Enum):
    RED = "red"


TEXTS: list[tuple[Any, str]] = [
    ("plain text", "plain text"),
    ("", ""),
    (None, "null"),
    (False, "false"),
    (0, "0"),
    ([], "[]"),
    ({}, "{}"),
    (1.5, "1.5"),
    ({"price": 19.5, "when": None}, '{"price": 19.5, "when": null}'),
    ("ä 😀\n", "ä 😀\n"),
    ({"a": "ä 😀"}, '{"a": "ä 😀"}'),
    (Flight("OS1", decimal.Decimal("19.90")), '{"number": "OS1", "price": "19.90", "when": "2026-07-02", "tags": []}'),
    (Model(), '{"a": 1, "at": "2026-07-02T08:30:00+00:00"}'),
    (Struct(), '{"a": 1}'),
    (Attrs(), '{"a": 1}'),
    (Pair(1, 2), '{"a": 1, "b": 2}'),
    (Colour.RED, '"red"'),
    (decimal.Decimal("1.10"), '"1.10"'),
    (datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), '"2024-01-01T00:00:00+00:00"'),
    (datetime.timedelta(days=1, seconds=30), '"P1DT30S"'),
    (uuid.UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
    (pathlib.PurePosixPath("/x"), '"/x"'),
    (b"\xff\x00", '"/wA="'),
    (float("nan"), '"nan"'),
    ([float("inf"), -float("inf")], '["inf", "-inf"]'),
    ((1, (2,)), "[1, [2]]"),
    ({3: {(1, 2): "tuple key"}}, '{"3": {"(1, 2)": "tuple key"}}'),
    (object(), '"<object>"'),
    (sys, "\"<module 'sys' (built-in)>\""),
    (ValueError("a value"), "\"ValueError('a value')\""),
    (int, "\"<class 'int'>\""),
    ("\ud800", "\\ud800"),
    ({"\udfff": "\ud800"}, '{"\\udfff": "\\ud800"}'),
    (10**5_000, '"<integer of about 4,983 digits>"'),
]


@pytest.mark.parametrize(("value", "text"), TEXTS, ids=range(len(TEXTS)))
def test_a_value_as_text(value: Any, text: str) -> None:
    """Text is text, anything else is JSON; and whatever it is, it can be sent."""
    assert result_text(value) == text
    text.encode()
    assert ToolResult("t", value).to_text() == text
    if not isinstance(value, str):
        json.loads(text, parse_constant=pytest.fail)


class _Raising:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no attribute")


class _OddText(str):
    __slots__ = ()

    def __getitem__(self, key: Any) -> str:
        raise RuntimeError("no items")

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __len__(self) -> int:
        raise RuntimeError("no length")


class _OddMapping(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no items")


def _cycle() -> list[Any]:
    found: list[Any] = []
    found.append({"again": found})
    return found


def _deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(100_000):
        found = [found]
    return found


HARD: dict[str, Any] = {
    "raising": _Raising(),
    "raising inside": [1, _Raising()],
    "odd text": _OddText("abc"),
    "odd mapping": _OddMapping(a=1),
    "cycle": _cycle(),
    "deep": _deep(),
    "50 MB": "x" * 50_000_000,
    "50 MB in a list": ["x" * 1_000_000] * 50,
    "a million items": list(range(1_000_000)),
    "a key of 1 MB": {"k" * 1_000_000: 1},
    "surrogates": "\ud800" * 300_000,
}


@pytest.mark.parametrize("case", HARD)
def test_hard_values(case: str) -> None:
    """Cycles, depth, size and methods that raise: the text is there, and short."""
    text = result_text(HARD[case])
    assert len(text) <= RESULT_LIMIT + 80
    text.encode()


def test_a_cut_is_said() -> None:
    """Whoever reads a cut result knows that it was cut."""
    assert result_text("x" * 50) == "x" * 50
    assert result_text("x" * 50, 50) == "x" * 50
    assert result_text("x" * 51, 50) == "x" * 50 + "\n[cut: the first 50 of 51 characters are shown]"
    assert result_text(["x" * 60], 20) == '["' + "x" * 18 + "\n[cut: the first 20 characters are shown]"
    assert ToolResult("t", "x" * 10).to_text(4) == "xxxx\n[cut: the first 4 of 10 characters are shown]"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
@settings(max_examples=100, deadline=None)
def test_json_values_stay_what_they_are(value: Any) -> None:
    """The text of a JSON value that is no text reads back as the same value."""
    if isinstance(value, str):
        assert result_text(value) == value
    else:
        assert json.loads(result_text(value)) == value


def test_an_error_as_text() -> None:
    """A result that failed reads as an error, and its message to the provider says so too."""
    failed = ToolResult("t", error=UnknownTool("t", (), ()), call_id="c1")
    assert failed.to_text() == 'Error: there is no tool named "t"; no tool is registered'
    assert repr(failed) == "<ToolResult t error=UnknownTool>"
    message = failed.to_message()
    assert (message["role"], message["tool_call_id"], message["content"]) == ("tool", "c1", failed.to_text())


def test_a_value_as_a_message() -> None:
    """The provider gets the text of the value under the id of the call."""
    message = ToolResult("t", {"a": 1}, call_id="c1").to_message("openai")
    assert (message["role"], message["tool_call_id"], message["content"]) == ("tool", "c1", '{"a": 1}')
    json.dumps(message)


def test_a_message_for_nobody() -> None:
    """A provider that is not there is an error that names those that are."""
    with pytest.raises(ValueError, match="openai"):
        ToolResult("t", 1).to_message("nonesuch")


def test_results_of_a_run() -> None:
    """What the model reads of a refusal names the place, what was expected, and what came."""

    def double(number: int) -> int:
        return number * 2

    registry = Registry()
    registry.register(double)
    assert registry.run("double", {"number": 4}).to_text() == "8"
    refused = registry.run("double", {"number": "5 apples"})
    assert isinstance(refused.error, InvalidArguments)
    assert refused.to_text() == f"Error: {refused.error}"
    assert all(words in refused.to_text() for words in ("$.number", "an integer", '"5 apples"'))
