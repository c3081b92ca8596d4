"""What schemas make of values where keywords speak together: alternatives of which one must fit, and what only a validator checks."""

from typing import Any

import pytest

from toolbox import ABSORBING, LENIENT, STRICT, Policy, coerce_to_schema
from toolbox.diagnostics import FailureReason
from toolbox.schema import read_schema, write_schema
from toolbox.types import AnyType, NeverType

POLICIES = (STRICT, ABSORBING, LENIENT)
SEARCH = {"type": "object", "properties": {"max_results": {"type": "integer"}}}
OPEN = {"type": "object"}


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize(
    ("members", "value"),
    [
        pytest.param([SEARCH, OPEN], {"maxResults": 1}, id="the key may come as it is in both"),
        pytest.param([{"type": "array", "items": SEARCH}, {"type": "array"}], [{"maxResults": 1}], id="at depth"),
        pytest.param([{"type": "integer"}, {"type": "number"}], "5", id="what would be made"),
        pytest.param([{"properties": {"x": {"type": ["string", "null"]}}, "type": "object"}, OPEN], {"x": "null"}, id="a word for null"),
    ],
)
def test_of_one_of_exactly_one_member_fits_by_the_schema(members: list[Any], value: Any, policy: Policy) -> None:
    """A value that several members of oneOf accept by the schema is refused, whatever else a policy would make of it for one of them."""
    assert not coerce_to_schema({"oneOf": members}, value, policy).ok


def test_what_one_member_of_one_of_takes_is_left_alone() -> None:
    """A looser policy changes nothing in a value that exactly one member takes as it is."""
    nullable = {"type": "object", "properties": {"x": {"type": ["string", "null"]}}, "required": ["x"]}
    schema = {"oneOf": [nullable, {"type": "object", "properties": {"x": {"type": "null"}}, "required": ["x"]}]}
    report = coerce_to_schema(schema, {"x": "null"}, LENIENT)
    assert (report.ok, report.value, report.diagnostics) == (True, {"x": "null"}, [])


def test_the_advice_under_one_of_is_one_that_fits() -> None:
    """What would fit two members is not what the model is told to send."""
    (failure,) = coerce_to_schema({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "5", STRICT).failures
    assert (failure.suggestion, failure.would_be) == ("", None)
    assert failure.detail == "5 would fit more than one of the alternatives"
    (failure,) = coerce_to_schema({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, "5", STRICT).failures
    assert failure.suggestion == "Send 5"


def test_the_advice_is_one_that_the_validator_takes() -> None:
    """What a keyword without a counterpart forbids is not what the model is told to send."""
    (failure,) = coerce_to_schema({"type": "integer", "not": {"const": 5}}, "5", STRICT).failures
    assert (failure.suggestion, failure.would_be) == ("", None)
    assert failure.detail.startswith("5 would not do either: ")
    (failure,) = coerce_to_schema({"type": "integer", "not": {"const": 5}}, "6", STRICT).failures
    assert failure.suggestion == "Send 6"


def test_a_change_that_the_validator_refuses_is_not_made_to_what_fits() -> None:
    """Where text or null may come, `"null"` stays text if null is forbidden elsewhere in the schema."""
    schema = {"type": ["string", "null"], "not": {"type": "null"}}
    report = coerce_to_schema(schema, "null", LENIENT)
    assert (report.ok, report.value, report.diagnostics) == (True, "null", [])
    assert not coerce_to_schema({"type": ["integer", "null"], "not": {"type": "null"}}, "null", LENIENT).ok


@pytest.mark.parametrize(
    ("schema", "value", "path"),
    [
        ({"properties": {"max_results": {"type": "integer", "not": {"const": 5}}}}, {"maxResults": "5"}, "$.maxResults"),
        ({"properties": {"a_b": SEARCH}, "not": {"required": ["zz"]}}, {"aB": {"maxResults": "x"}}, "$.aB.maxResults"),
        (
            {
                "properties": {"a_b": {"type": "array", "items": SEARCH}},
                "if": True,
                "then": {"properties": {"a_b": {"items": {"maxProperties": 0}}}},
            },
            {"aB": [{}, {"maxResults": 1}]},
            "$.aB[1]",
        ),
        (
            {
                "properties": {"a_b": {"type": "array", "items": OPEN}},
                "if": True,
                "then": {"properties": {"a_b": {"items": {"maxProperties": 0}}}},
            },
            {"aB": '[{}, {"c": 1}]'},
            "$.aB[1]",
        ),
        (
            {
                "properties": {"a": {"type": "array", "items": OPEN}},
                "if": True,
                "then": {"properties": {"a": {"items": {"maxProperties": 0}}}},
            },
            {"a": {"c": 1}},
            "$.a",
        ),
        ({"properties": {"a": {"type": "integer"}}, "dependentRequired": {"a": ["b"]}}, {"a": "1"}, "$"),
    ],
    ids=["renamed", "below a renamed one", "in an array", "in text", "in what became an array", "at the root"],
)
def test_what_a_validator_finds_is_said_with_the_places_of_what_came(schema: dict[str, Any], value: Any, path: str) -> None:
    """The path of a failure leads into the value that came, whatever was renamed, decoded or wrapped on the way."""
    (failure,) = coerce_to_schema({"type": "object", **schema}, value, LENIENT).failures
    assert failure.path == path


@pytest.mark.parametrize("others", [{}, {"additionalProperties": True}, {"additionalProperties": {"type": "integer"}}])
def test_another_spelling_is_meant_for_the_declared_property(others: dict[str, Any]) -> None:
    """Where any property may come, one whose name is another spelling of a declared one is not taken for a property of its own."""
    report = coerce_to_schema({**SEARCH, **others}, {"maxResults": 1}, STRICT)
    (failure,) = report.failures
    assert (failure.path, failure.reason, failure.suggestion) == (
        "$.maxResults",
        FailureReason.UNKNOWN,
        "Did you mean max_results? Send it as max_results",
    )
    assert coerce_to_schema({**SEARCH, **others}, {"results": 1}, STRICT).ok
    assert coerce_to_schema({**SEARCH, **others}, {"maxResults": 1}, LENIENT).value == {"max_results": 1}


@pytest.mark.parametrize("forbidden", [True, {}, {"description": "anything"}, {"additionalItems": True}])
def test_not_with_a_schema_that_allows_everything_allows_nothing(forbidden: Any) -> None:
    """What says nothing in its own draft says nothing, in whatever words, and what is written reads as the same node."""
    document = read_schema({"$schema": "http://json-schema.org/draft-07/schema#", "not": forbidden})
    assert document.root == NeverType()
    assert read_schema(write_schema(document)) == document


def test_names_that_may_be_anything_are_no_limit() -> None:
    """What says nothing about names in its own draft needs no validator."""
    document = read_schema({"$schema": "http://json-schema.org/draft-07/schema#", "propertyNames": {"additionalItems": False}})
    assert document.root == AnyType()


@pytest.mark.parametrize(
    ("schema", "value", "detail"),
    [
        ({"type": "integer", "minimum": 10}, "5", "it is less than 10"),
        ({"type": "number", "exclusiveMinimum": 0}, "0", "it is not more than 0"),
        ({"type": "string", "minLength": 3}, 12, "it has fewer than 3 characters"),
        ({"type": "string", "format": "date", "minLength": 12}, " 2024-01-01 ", "it has fewer than 12 characters"),
    ],
)
def test_what_would_break_a_limit_is_not_advised(schema: dict[str, Any], value: Any, detail: str) -> None:
    """A value of another type whose reading is out of bounds is refused for the bounds."""
    (failure,) = coerce_to_schema(schema, value, STRICT).failures
    assert (failure.detail, failure.suggestion, failure.would_be) == (detail, "", None)


def test_what_would_do_for_an_item_is_not_advised_for_the_array() -> None:
    """Where an array is wanted, one is asked for."""
    (failure,) = coerce_to_schema({"type": "array", "items": {"type": "integer"}}, "5", STRICT).failures
    assert failure.suggestion == "Send an array"
