"""JSON text as the standard has it, and the limits of values."""

import contextlib
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from toolbox.diagnostics import DiagnosticKind, Risk
from toolbox.errors import PayloadError, ToolboxError
from toolbox.payload import check_limits, extract_arguments, find_calls, parse_json
from toolbox.policy import Limits
from toolbox.types import NumberText

LIMITS = Limits()
SUITE = os.environ.get("TOOLBOX_JSON_TEST_SUITE", "")


def _cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["again"] = [value]
    return value


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "1",
        "-0",
        '"text"',
        "null",
        '{"a": [1, {"b": "\\u00e9\\ud83c\\udf78"}], "c": true}',
        ' \n{"a": {"b": [[]]}}\t',
        '"\\ud800"',
    ],
)
def test_valid_json_is_what_the_standard_parser_makes_of_it(text: str) -> None:
    """Values and types are those of the standard parser, and nothing is recorded."""
    value, diagnostics = parse_json(text, LIMITS)
    assert (repr(value), diagnostics) == (repr(json.loads(text)), ())


@pytest.mark.parametrize("literal", ["19.990", "1e3", "-0.0", "1E-7", "NaN", "Infinity", "-Infinity"])
def test_numbers_keep_their_literal(literal: str) -> None:
    """A number with a fraction or an exponent remembers how it was written, so that a decimal loses nothing."""
    value, _ = parse_json(f"[{literal}]", LIMITS)
    assert isinstance(value[0], NumberText)
    assert (value[0].text, str(Decimal(value[0].text))) == (literal, str(Decimal(literal)))


def test_long_integers_keep_every_digit() -> None:
    """An integer never passes through a float."""
    assert parse_json("123456789012345678901", LIMITS)[0] == 123456789012345678901


@pytest.mark.parametrize(
    ("text", "value", "recorded"),
    [
        ('{"a": 1, "a": 1}', {"a": 1}, [("$.a", Risk.INFO, 1, 1)]),
        ('{"a": 1, "a": 2}', {"a": 2}, [("$.a", Risk.RISKY, 1, 2)]),
        ('{"a": 1, "a": 1.0}', {"a": 1.0}, [("$.a", Risk.RISKY, 1, 1.0)]),
        ('{"a": 1, "a": true}', {"a": True}, [("$.a", Risk.RISKY, 1, True)]),
        ('[{"a": {"b": 1, "b": 2, "b": 3}}]', [{"a": {"b": 3}}], [("$[0].a.b", Risk.RISKY, 1, 3), ("$[0].a.b", Risk.RISKY, 2, 3)]),
        ('{"a": {"c": 1, "c": 1}, "a": 5}', {"a": 5}, [("$.a", Risk.RISKY, {"c": 1}, 5)]),
    ],
)
def test_keys_given_twice_are_recorded(text: str, value: Any, recorded: list[tuple[str, Risk, Any, Any]]) -> None:
    """The last value of a key counts, as in the standard parser, and the others go on record."""
    got, diagnostics = parse_json(text, LIMITS)
    assert got == value
    assert type(got) in (dict, list)
    assert [(item.path, item.risk, item.before, item.after) for item in diagnostics] == recorded
    assert {item.kind for item in diagnostics} == {DiagnosticKind.DUPLICATE_KEY}


@pytest.mark.parametrize("text", ['{"a":' * 5_000, "[" * 5_000 + "]" * 5_000])
def test_depth_beyond_the_interpreter(text: str) -> None:
    """Where the limit is set above what the interpreter can follow, the end is a refusal or the value, and no crash."""
    with contextlib.suppress(PayloadError):
        assert parse_json(text, Limits(depth=10_000))[0]


@pytest.mark.parametrize(
    ("text", "limits", "reason", "message"),
    [
        ("{", LIMITS, "not_json", 'this is no JSON text: it breaks at character 2; send one JSON object, such as {"name": value}'),
        ('{"a": 1,}', LIMITS, "not_json", "breaks at character"),
        ("", LIMITS, "not_json", "breaks at character 1"),
        ('"a\nb"', LIMITS, "not_json", "breaks at character 3"),
        ("[" * 65 + "]" * 65, LIMITS, "too_deep", "nested more than 64 levels deep"),
        ("[" * 100_000, LIMITS, "too_deep", "nested more than 64 levels deep"),
        ("9" * 4_301, LIMITS, "integer_too_long", "more than 4,300 digits"),
        ('{"a": ' + "9" * 101 + "}", Limits(integer_digits=100), "integer_too_long", "more than 100 digits"),
        ("[1, 2, 3]", Limits(text=8), "too_large", "more than 8 characters"),
        ("[1, 2, 3, 4]", Limits(nodes=4), "too_many_nodes", "more than 4 values"),
    ],
)
def test_refusals_say_what_is_wrong(text: str, limits: Limits, reason: str, message: str) -> None:
    """Every limit is its own clear error, and no error holds the payload."""
    with pytest.raises(PayloadError) as refused:
        parse_json(text, limits)
    assert refused.value.reason == reason
    assert message in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("text", ["[" * 64 + "]" * 64, '{"a": "' + "[" * 500 + '"}', "9" * 4_300, '{"a": "' + "9" * 5_000 + '"}'])
def test_what_is_within_the_limits_passes(text: str) -> None:
    """Brackets and digits inside of texts count for nothing."""
    assert parse_json(text, LIMITS)[0] == json.loads(text)


@pytest.mark.parametrize(
    ("value", "limits", "reason"),
    [
        ({"a": [[[1]]]}, Limits(depth=3), "too_deep"),
        (_cyclic(), LIMITS, "too_deep"),
        ({"a": [1, 2, 3]}, Limits(nodes=4), "too_many_nodes"),
        ({str(key): key for key in range(20)}, Limits(nodes=10), "too_many_nodes"),
        ({"a": 10**4_400}, LIMITS, "integer_too_long"),
        ([{"a": 10**4_400}], LIMITS, "integer_too_long"),
        ({"a": "x" * 20}, Limits(text=10), "too_large"),
        (["x" * 20], Limits(text=10), "too_large"),
    ],
)
def test_values_have_the_same_limits(value: object, limits: Limits, reason: str) -> None:
    """A mapping that came as it is is bounded like a text, without recursion."""
    with pytest.raises(PayloadError) as refused:
        check_limits(value, limits)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    "value", [{}, {"a": 1, "b": "x", "c": None, "d": 1.5, "e": True}, {"a": [1, (2, {3})]}, "text", 10**18, {"a": object()}]
)
def test_usual_values_are_within_the_limits(value: object) -> None:
    """Nothing is raised for them."""
    check_limits(value, LIMITS)


def test_shared_values_do_not_multiply() -> None:
    """A value that holds the same list over and over is counted as often as it would be written."""
    value: list[Any] = [1]
    for _ in range(40):
        value = [value, value]
    with pytest.raises(PayloadError) as refused:
        check_limits(value, LIMITS)
    assert refused.value.reason == "too_many_nodes"


@pytest.mark.skipif(not SUITE, reason="set TOOLBOX_JSON_TEST_SUITE to the test_parsing folder of JSONTestSuite to run it")
def test_the_public_suite_for_json_parsers() -> None:
    """What must be accepted is, with the standard parser's value; whatever else the files hold ends in a value or a refusal."""
    files = sorted(Path(SUITE).rglob("*.json"))
    assert len(files) > 300
    for file in files:
        raw = file.read_bytes()
        if file.name.startswith("y_"):
            assert extract_arguments(raw).arguments == json.loads(raw), file.name
            assert repr(parse_json(raw.decode("utf-8"), LIMITS)[0]) == repr(json.loads(raw)), file.name
        for read in (lambda raw=raw: extract_arguments(raw), lambda raw=raw: find_calls(raw, known=None)):
            with contextlib.suppress(ToolboxError):
                read()
