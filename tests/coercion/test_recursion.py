"""Recursive types: a value goes round in none of them, what fits is taken as it is, and what does not is refused for what it is."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict, Union

import pytest
import typing_extensions as te
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, RootModel

from toolbox import ABSORBING, LENIENT, STRICT, Policy, Registry, coerce_to_schema, normalize_from_schema, normalize_tool_args
from toolbox.diagnostics import CoercionReport, FailureReason
from toolbox.errors import InvalidArguments
from toolbox.schema import InvalidSchema

POLICIES: Final = (STRICT, ABSORBING, LENIENT)
U: Final = {"$ref": "#/$defs/U"}
V: Final = {"$ref": "#/$defs/V"}
CHOICE: Final = {"type": "string", "enum": ["a", "b"]}


def array(items: Any, **limits: Any) -> dict[str, Any]:
    """The schema of an array."""
    return {"type": "array", "items": items, **limits}


def tool(definition: Any, **others: Any) -> dict[str, Any]:
    """The schema of a tool with one parameter, of a definition that recurs."""
    return {"type": "object", "properties": {"q": U}, "required": ["q"], "$defs": {"U": definition, **others}}


SCHEMAS: Final = {
    "choice or array": tool({"anyOf": [CHOICE, array(U)]}),
    "array or choice": tool({"anyOf": [array(U), CHOICE]}),
    "one of": tool({"oneOf": [{"type": "integer"}, array(U)]}),
    "integer or array": tool({"anyOf": [{"type": "integer"}, array(U)]}),
    "arrays alone": tool(array(U)),
    "array or null": tool({"anyOf": [array(U), {"type": "null"}]}),
    "choice, array or null": tool({"anyOf": [array(U), {"type": "null"}, CHOICE]}),
    "tuple": tool({"anyOf": [{"type": "integer"}, {"type": "array", "prefixItems": [U], "items": False}]}),
    "set": tool({"anyOf": [{"type": "integer"}, array(U, uniqueItems=True)]}),
    "union in union": tool({"anyOf": [V, {"type": "boolean"}]}, V={"anyOf": [CHOICE, array(U), array(V)]}),
    "by turns": tool({"anyOf": [{"enum": ["even"]}, array(V)]}, V={"anyOf": [{"enum": ["odd"]}, array(U)]}),
    "array of array": tool({"anyOf": [{"type": "integer"}, array(array(V))]}, V={"anyOf": [{"enum": ["odd"]}, U]}),
    "checked": tool({"anyOf": [{"type": "integer"}, array(U)], "not": {"const": 5}}),
    "object or array": tool(
        {"anyOf": [array(U), {"type": "object", "properties": {"k": U}, "required": ["k"], "additionalProperties": False}, CHOICE]}
    ),
}

CHOICE_OR_ARRAY = 'one of "a", "b" or an array whose items are each U'
REFUSED: Final = [
    ("choice or array", "x", "$.q", FailureReason.WRONG_TYPE, f'$.q: expected {CHOICE_OR_ARRAY}, got "x".'),
    ("choice or array", 5, "$.q", FailureReason.WRONG_TYPE, f"$.q: expected {CHOICE_OR_ARRAY}, got 5."),
    ("choice or array", ["a", ["x"]], "$.q[1][0]", FailureReason.WRONG_TYPE, f'$.q[1][0]: expected {CHOICE_OR_ARRAY}, got "x".'),
    ("choice or array", {"k": 1}, "$.q", FailureReason.WRONG_TYPE, f'$.q: expected {CHOICE_OR_ARRAY}, got {{"k": 1}}.'),
    (
        "choice or array",
        "a;b",
        "$.q",
        FailureReason.AMBIGUOUS,
        f'$.q: expected {CHOICE_OR_ARRAY}, got "a;b": it could mean "a", "b". Send one of them exactly.',
    ),
    (
        "array or choice",
        "x",
        "$.q",
        FailureReason.WRONG_TYPE,
        '$.q: expected an array whose items are each U or one of "a", "b", got "x".',
    ),
    (
        "one of",
        "x",
        "$.q",
        FailureReason.INVALID,
        '$.q: expected an integer or an array whose items are each U, got "x": it is not a number.',
    ),
    (
        "integer or array",
        "x;y",
        "$.q",
        FailureReason.INVALID,
        '$.q: expected an integer or an array whose items are each U, got "x;y": it is not a number.',
    ),
    (
        "arrays alone",
        "x",
        "$.q",
        FailureReason.WRONG_TYPE,
        '$.q: expected an array whose items are each an array, got "x". Send an array.',
    ),
    (
        "array or null",
        "x",
        "$.q",
        FailureReason.WRONG_TYPE,
        '$.q: expected an array whose items are each an array or null, got "x". Send an array.',
    ),
    (
        "tuple",
        "x",
        "$.q",
        FailureReason.INVALID,
        '$.q: expected an integer or an array of U, got "x": it is not a number.',
    ),
    (
        "by turns",
        "x",
        "$.q",
        FailureReason.WRONG_TYPE,
        '$.q: expected "even" or an array whose items are each V, got "x".',
    ),
    (
        "checked",
        5,
        "$.q",
        FailureReason.CONSTRAINT,
        '$.q: expected a value that fits the schema, got 5: {"const":5} is not allowed for the value.',
    ),
    ("object or array", {"k": {"k": "x"}}, "$.q.k.k", FailureReason.WRONG_TYPE, None),
]


@pytest.mark.parametrize(("name", "value", "path", "reason", "text"), REFUSED)
def test_what_fits_nothing_is_refused_where_it_stands(name: str, value: Any, path: str, reason: FailureReason, text: str | None) -> None:
    """A value that no alternative takes is one failure at its own place, which says what was expected."""
    report = normalize_from_schema(SCHEMAS[name], {"q": value}, policy=LENIENT)
    (failure,) = report.failures
    assert (failure.path, failure.reason) == (path, reason)
    assert text is None or str(failure) == text


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize("name", SCHEMAS)
def test_no_value_goes_round(name: str, policy: Policy) -> None:
    """Nothing that is sent for a recursive type is refused as too deep that is not deep itself."""
    scalars = ["x", "a", "A", "a;b", "a,b", "[a;b]", "5", "null", "", 5, 5.0, 5.5, True, None]
    texts = ['["x"]', '{"k": "x"}', "['x']", '["[\\"x\\"]"]', '[["a;b"]]']
    for value in [*scalars, *texts, {}, {"k": "x"}, [], *([item] for item in scalars), [["x"], "a"], ("x",), ("a", ("x",)), {"x"}]:
        report = normalize_from_schema(SCHEMAS[name], {"q": value}, policy=policy)
        assert all(failure.reason is not FailureReason.LIMIT for failure in report.failures)


def test_a_refusal_is_one_of_arguments() -> None:
    """The call is refused for its arguments, and not as a payload that cannot be read."""
    registry = Registry(policy=LENIENT)
    registry.register_schema("put", SCHEMAS["choice or array"], lambda **arguments: arguments)
    with pytest.raises(InvalidArguments) as caught:
        registry.dispatch("put", {"q": "x"})
    assert caught.value.report.failed_fields == ["$.q"]


TAKEN: Final = [
    ("choice or array", "A", "a", [("$.q", "match:case")]),
    ("choice or array", ["A", ["b"]], ["a", ["b"]], [("$.q[0]", "match:case")]),
    ("choice or array", "a,b", ["a", "b"], [("$.q", "str->list")]),
    ("choice or array", '["a", ["b"]]', ["a", ["b"]], [("$.q", "str->list")]),
    ("array or choice", "a", "a", []),
    ("array or choice", "A", "a", [("$.q", "match:case")]),
    ("one of", 5, 5, []),
    ("one of", 5.0, 5, []),
    ("one of", "5", 5, [("$.q", "str->int")]),
    ("arrays alone", "[[], [[]]]", [[], [[]]], [("$.q", "str->list")]),
    ("choice, array or null", "a", "a", []),
    ("choice, array or null", None, None, []),
    ("tuple", [["6"]], [[6]], [("$.q[0][0]", "str->int")]),
    ("set", [1, [2, 2]], [1, [2]], [("$.q[1]", "repeated items")]),
    ("union in union", "A", "a", [("$.q", "match:case")]),
    ("by turns", "odd", ["odd"], [("$.q", "str->list")]),
    ("by turns", ["even"], [["even"]], [("$.q[0]", "str->list")]),
    ("by turns", "even", "even", []),
    ("array of array", "odd", [["odd"]], [("$.q", "str->list"), ("$.q", "str->list")]),
    ("checked", "6", 6, [("$.q", "str->int")]),
    ("object or array", {"k": {"k": "A"}}, {"k": {"k": "a"}}, [("$.q.k.k", "match:case")]),
    ("object or array", [{"k": "a"}], [{"k": "a"}], []),
]


@pytest.mark.parametrize(("name", "value", "made", "changes"), TAKEN)
def test_what_has_a_reading_is_read_with_the_fewest_liberties(name: str, value: Any, made: Any, changes: list[tuple[str, str]]) -> None:
    """A value that an alternative takes is wrapped only where that is needed, and every change is on record."""
    report = normalize_from_schema(SCHEMAS[name], {"q": value}, policy=LENIENT)
    assert (report.failures, report.normalized_args) == ([], {"q": made})
    assert [(found.path, found.conversion) for found in report.diagnostics] == changes


# -- types of Python -----------------------------------------------------------------------------------------------------------------------

Tree = te.TypeAliasType("Tree", Union[list["Tree"], Literal["a", "b"]])  # type: ignore[misc]
Single = te.TypeAliasType("Single", Union[tuple["Single"], int])  # type: ignore[misc]
Group = te.TypeAliasType("Group", Union[frozenset["Group"], int])  # type: ignore[misc]
Lists = te.TypeAliasType("Lists", list["Lists"])  # type: ignore[misc]
Even = te.TypeAliasType("Even", Union[Literal["even"], list["Odd"]])  # type: ignore[misc]
Odd = te.TypeAliasType("Odd", Union[Literal["odd"], list["Even"]])  # type: ignore[misc]


@dataclass
class Node:
    """A class of which each may hold others, one or several."""

    below: Node | list[Node] | Literal["end"]


class Entry(TypedDict):
    """The same as a typed dictionary."""

    below: Entry | list[Entry] | int


class Model(BaseModel):
    """The same as a model."""

    below: list[Model] | Model | int


class Root(RootModel[Union[list["Root"], int]]):
    """A model that is a list of itself."""


def report_on(kind: Any, value: Any, policy: Policy = LENIENT) -> CoercionReport:
    """What a parameter of a type makes of a value."""

    def put(q: Any) -> None:
        """Put."""

    put.__annotations__["q"] = kind
    return normalize_tool_args(put, {"q": value}, policy=policy)


@pytest.mark.parametrize(
    ("kind", "value", "made"),
    [
        (Tree, "A", "a"),
        (Tree, ["a", ["B"]], ["a", ["b"]]),
        (list[Tree], "A", ["a"]),
        (Single, "5", 5),
        (Single, [["5"]], ((5,),)),
        (Group, "5", 5),
        (Lists, "[[]]", [[]]),
        (Even, "odd", ["odd"]),
        (Node, {"below": {"below": "END"}}, Node(Node("end"))),
        (list[Node], {"below": "end"}, [Node("end")]),
        (Entry, {"below": {"below": "5"}}, {"below": {"below": 5}}),
        (Model, {"below": "5"}, Model(below=5)),
        (Root, "5", Root(5)),
        (Root, [["5"]], Root([Root([Root(5)])])),
    ],
    ids=repr,
)
def test_recursive_types_take_what_they_mean(kind: Any, value: Any, made: Any) -> None:
    """Aliases, dataclasses, typed dictionaries and models that recur read what has one sensible reading."""
    report = report_on(kind, value)
    assert (report.failures, report.normalized_args) == ([], {"q": made})


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        (Tree, "x", "$.q"),
        (Tree, ["a", "x"], "$.q[1]"),
        (list[Tree], "x", "$.q"),
        (Single, "x", "$.q"),
        (Group, "x;y", "$.q"),
        (Lists, "x", "$.q"),
        (Lists, [["x"]], "$.q[0][0]"),
        (Even, "x", "$.q"),
        (Node, {"below": {"below": "x"}}, "$.q.below.below"),
        (Entry, {"below": {"below": "x"}}, "$.q.below.below"),
        (Model, {"below": "x"}, "$.q.below"),
        (Root, "x", "$.q"),
        (Root, [["x"]], "$.q[0][0]"),
    ],
    ids=repr,
)
def test_recursive_types_refuse_what_they_do_not(kind: Any, value: Any, path: str, policy: Policy) -> None:
    """What none of their alternatives takes is refused at its place, under every policy."""
    assert report_on(kind, value, policy).failed_fields == [path]


# -- work ----------------------------------------------------------------------------------------------------------------------------------

WRAPPING: Final = [array(U), array(array(U)), array(U, minItems=1), array({"anyOf": [{"type": "boolean"}, U]}), array(U, maxItems=9)]


def calls_of(work: Callable[[], Any]) -> int:
    """How many functions of Python some work calls: the same on every machine."""
    count = 0

    def seen(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def nested(value: Any, depth: int) -> Any:
    """A value in arrays of one item."""
    for _ in range(depth):
        value = [value]
    return value


def texts_in_text(value: Any, depth: int) -> Any:
    """JSON text of an array that holds JSON text of an array, and so on."""
    for _ in range(depth):
        value = json.dumps([value])
    return value


def parameter(alternatives: int, keyword: str) -> dict[str, Any]:
    """A recursive type with so many alternatives that are arrays of itself."""
    return {**U, "$defs": {"U": {keyword: [CHOICE, *WRAPPING[:alternatives]]}}}


@pytest.mark.parametrize("scalar", ["a", "x", "A"])
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize("alternatives", [2, 5])
@pytest.mark.parametrize(("shape", "depth"), [(nested, 28), (texts_in_text, 4)], ids=["arrays", "text"])
def test_the_work_grows_with_the_value(shape: Callable[[Any, int], Any], depth: int, alternatives: int, keyword: str, scalar: str) -> None:
    """A value that is twice as deep takes no multiple of the work for each level more, however many alternatives it may be read by."""
    schema = parameter(alternatives, keyword)
    values = [shape(scalar, depth), shape(scalar, 2 * depth)]
    once, twice = (calls_of(functools.partial(coerce_to_schema, schema, value, LENIENT)) for value in values)
    assert twice < 4 * once


def test_definitions_that_all_hold_each_other_are_not_tried_in_every_order() -> None:
    """With eight definitions, of which each is an array of any of them, there are thousands of orders to wrap one value in."""
    names = [f"D{number}" for number in range(8)]
    schema = {
        "$ref": "#/$defs/D0",
        "$defs": {name: {"anyOf": [{"const": name}, *(array({"$ref": f"#/$defs/{other}"}) for other in names)]} for name in names},
    }
    assert calls_of(lambda: coerce_to_schema(schema, "x", LENIENT)) < 100_000
    assert coerce_to_schema(schema, "D7", LENIENT).value == ["D7"]


def test_text_within_text_counts_as_levels() -> None:
    """Arrays in text in arrays are as deep as all of them together, where a type may hold itself; elsewhere text has levels of its own."""
    schema = {**U, "$defs": {"U": {"anyOf": [array(U), {"type": "integer"}]}}}
    (failure,) = coerce_to_schema(schema, nested(json.dumps(nested(5, 40)), 40), LENIENT).failures
    assert (failure.path, failure.reason) == ("$" + "[0]" * 40, FailureReason.LIMIT)
    assert coerce_to_schema(schema, nested(json.dumps(nested(5, 20)), 40), LENIENT).value == nested(5, 60)
    flat: Any = {"type": "integer"}
    for _ in range(80):
        flat = array(flat)
    assert coerce_to_schema(flat, nested(json.dumps(nested(5, 40)), 40), LENIENT).value == nested(5, 80)


# -- any recursive schema, any value -------------------------------------------------------------------------------------------------------

NAMES: Final = ["D0", "D1", "D2"]
LEAVES: Final = st.sampled_from(
    [CHOICE, {"type": "integer"}, {"type": "boolean"}, {"type": "null"}, {"type": "string"}, {"enum": ["b", 1, None]}, {"minimum": 2}]
)
REFS: Final = st.sampled_from(NAMES).map(lambda name: {"$ref": f"#/$defs/{name}"})


def _above(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    limits = st.fixed_dictionaries({}, optional={"minItems": st.just(1), "maxItems": st.just(2), "uniqueItems": st.booleans()})
    return st.one_of(
        st.builds(lambda keyword, members: {keyword: members}, st.sampled_from(["anyOf", "anyOf", "oneOf"]), some),
        st.builds(lambda items, said: array(items, **said), inner, limits),
        st.builds(lambda first, items: {"type": "array", "prefixItems": first, "items": items}, some, inner | st.just(False)),
        st.builds(
            lambda named, required, other: {"type": "object", "properties": named, "required": required, "additionalProperties": other},
            st.dictionaries(st.sampled_from("kl"), inner, max_size=2),
            st.lists(st.sampled_from("kl"), unique=True, max_size=1),
            inner | st.booleans(),
        ),
        st.builds(lambda schema: {**schema, "not": {"const": 5}}, inner),
    )


RECURSIVE: Final = st.builds(
    lambda *definitions: {"$ref": "#/$defs/D0", "$defs": dict(zip(NAMES, definitions, strict=True))},
    *(st.recursive(LEAVES | REFS | REFS, _above, max_leaves=5).filter(lambda schema: "$ref" in json.dumps(schema)) for _ in NAMES),
)
VALUES: Final = st.recursive(
    st.sampled_from(["a", "b", "A", "x", "a;b", "a,b", "[a;b]", "5", "null", "", '["a"]', '{"k": "x"}', 0, 1, 5, 5.0, 2.5, True, None]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("klz"), inner, max_size=3) | inner.map(json.dumps),
    max_leaves=6,
)
EXAMPLES: Final = 10_000 if os.environ.get("TOOLBOX_HYPOTHESIS") == "thorough" else 400


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES == 400)
@given(RECURSIVE, VALUES)
def test_any_recursive_schema_reads_or_refuses_any_value(schema: dict[str, Any], value: Any) -> None:
    """Under every policy a value is read, and then valid, or refused for what it is; STRICT takes exactly what is valid."""
    try:
        reports = {policy.name: coerce_to_schema(schema, value, policy) for policy in POLICIES}
    except InvalidSchema:
        # Definitions that are nothing but each other.
        assume(False)
    valid = Draft202012Validator(schema).is_valid(value)
    assert reports["strict"].ok == valid
    for report in reports.values():
        assert report.ok or not valid
        assert not report.ok or Draft202012Validator(schema).is_valid(report.value)
        assert all(failure.reason is not FailureReason.LIMIT for failure in report.failures)
    whole = {"type": "object", "properties": {"q": {"$ref": "#/$defs/D0"}}, "required": ["q"], "$defs": schema["$defs"]}
    for policy in POLICIES:
        # What is nested too deeply for the stack would be a PayloadError here.
        report = normalize_from_schema(whole, {"q": value}, policy=policy)
        assert not report.ok or "q" not in report.normalized_args or Draft202012Validator(schema).is_valid(report.normalized_args["q"])


def test_text_of_an_object_is_no_array_whose_first_items_are_something_else() -> None:
    """Where the first items have types of their own, an object in text is not put in the place of the first."""
    schema = {"type": "array", "prefixItems": [{"enum": ["a"]}, {"enum": ["b"]}], "items": {"type": "object"}}
    (failure,) = coerce_to_schema(schema, "{}", LENIENT).failures
    assert (failure.path, failure.reason, failure.detail) == ("$", FailureReason.INVALID, "it is text, and no whole JSON array")
