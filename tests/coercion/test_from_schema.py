"""Coercion for tools whose parameters came as a schema: plain JSON in, plain JSON out."""

from dataclasses import replace
from typing import Any

import pytest

from toolbox.coercion import build_coercer
from toolbox.diagnostics import INVALID, DiagnosticKind, FailureReason, Outcome, Risk
from toolbox.policy import LENIENT, STRICT, Missing, Policy
from toolbox.schema import read_schema
from toolbox.types import NumberText

DECIMAL = {"anyOf": [{"type": "number"}, {"type": "string", "format": "decimal"}]}


def coerce(schema: Any, value: Any, policy: Policy = LENIENT) -> tuple[Any, Outcome]:
    """What a schema makes of a value."""
    out = Outcome()
    return build_coercer(read_schema(schema), policy)(value, None, out), out


@pytest.mark.parametrize(
    ("schema", "value", "made"),
    [
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, NumberText("5.0"), 5),
        ({"type": "number"}, 5, 5),
        ({"type": "number"}, "5", 5),
        ({"type": "number"}, "5.5", 5.5),
        ({"type": "number"}, NumberText("5.50"), 5.5),
        (DECIMAL, "1.10", "1.10"),
        (DECIMAL, NumberText("1.10"), 1.1),
        (DECIMAL, " 1.10 ", "1.10"),
        (DECIMAL, '"1.10"', "1.10"),
        (DECIMAL, "1,234.5", "1234.5"),
        ({"type": "string", "format": "date"}, "2026-07-02", "2026-07-02"),
        ({"type": "string", "format": "date"}, " 2026-07-02 ", "2026-07-02"),
        ({"type": "string", "format": "date"}, "2026-07-02T00:00:00", "2026-07-02"),
        ({"type": "string", "format": "date-time"}, "2026-07-02", "2026-07-02T00:00:00"),
        ({"type": "string", "format": "date-time"}, 1782999000, "2026-07-02T13:30:00Z"),
        ({"type": "string", "format": "email"}, "a@b.org", "a@b.org"),
        ({"type": "string", "format": "uri"}, " http://a.b ", "http://a.b"),
        ({"type": "string", "format": "hostname"}, "a.b.org", "a.b.org"),
        ({"type": "string", "format": "password"}, "anything", "anything"),
        ({"type": "string", "contentEncoding": "base64"}, "!!", "!!"),
        ({"type": ["string", "null"], "contentEncoding": "base64"}, [""], ""),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1, "1"], [1]),
        ({"enum": [1, "a", None, [1]]}, [1], [1]),
        ({"enum": [1, "a", None]}, "null", None),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}}, '{"a": "yes"}', {"a": True}),
        (True, [NumberText("1.5"), {"a": NumberText("2.5")}], [1.5, {"a": 2.5}]),
        ({"type": "null"}, "None", None),
        ({"anyOf": [{"type": "null"}, {"type": "null"}]}, "null", None),
        ({"type": "integer", "not": {"const": 3}}, "5", 5),
    ],
)
def test_plain_json_comes_out(schema: Any, value: Any, made: Any) -> None:
    """What comes out is JSON of the declared type, without the literals that numbers carry."""
    result, out = coerce(schema, value)
    assert out.failures == []
    assert result == made
    assert type(result) is type(made)


@pytest.mark.parametrize(
    ("schema", "value", "path", "reason"),
    [
        (False, 1, "$", FailureReason.UNKNOWN),
        ({"type": "object", "properties": {"a": False}}, {"a": 1}, "$.a", FailureReason.UNKNOWN),
        ({"type": "string", "format": "email"}, "nobody", "$", FailureReason.INVALID),
        ({"type": "string", "format": "date", "minLength": 20}, "2026-07-02", "$", FailureReason.CONSTRAINT),
        ({"type": "string", "format": "date"}, " tomorrow ", "$", FailureReason.INVALID),
        ({"type": "string", "minLength": 3}, 5, "$", FailureReason.CONSTRAINT),
        ({"type": "integer", "minimum": 0}, -1, "$", FailureReason.CONSTRAINT),
        ({"type": "integer", "not": {"const": 3}}, "3", "$", FailureReason.CONSTRAINT),
        ({"type": "integer", "not": {"const": 3}}, "x", "$", FailureReason.INVALID),
        ({"type": "object", "properties": {"a": {}}, "dependentRequired": {"a": ["b"]}}, {"a": 1}, "$", FailureReason.CONSTRAINT),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}}, "propertyNames": {"maxLength": 2}},
            {"a": "x"},
            "$.a",
            FailureReason.INVALID,
        ),
        (True, NumberText("1e999"), "$", FailureReason.INVALID),
    ],
)
def test_refused(schema: Any, value: Any, path: str, reason: FailureReason) -> None:
    """What the schema refuses is refused, by a real validator where there is no counterpart for a keyword."""
    _, out = coerce(schema, value)
    assert [(failure.path, failure.reason) for failure in out.failures] == [(path, reason)]


DEFAULTED = {"type": "object", "properties": {"tags": {"type": "array", "default": []}, "bad": {"type": "integer", "default": "x"}}}


def test_defaults_of_a_schema_are_left_to_the_server() -> None:
    """A default that a schema declares is filled in where the policy says so, never shared, and never when it does not fit."""
    assert coerce(DEFAULTED, {})[0] == {}
    filling = replace(LENIENT, missing=Missing.FILL)
    one, out = coerce(DEFAULTED, {}, filling)
    two, _ = coerce(DEFAULTED, {}, filling)
    assert one == {"tags": []}
    assert one["tags"] is not two["tags"]
    assert [(found.path, found.kind, found.risk) for found in out.diagnostics] == [("$.tags", DiagnosticKind.DEFAULTED, Risk.INFO)]


def test_strict_takes_valid_json() -> None:
    """STRICT takes what validates, whole numbers written with a fraction too."""
    assert coerce({"type": "integer"}, 5.0, STRICT)[0] == 5
    assert coerce({"type": "integer"}, "5", STRICT)[0] is INVALID
