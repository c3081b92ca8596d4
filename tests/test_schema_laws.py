"""The laws that hold for every JSON Schema and every value.

The schemas are drawn by hypothesis-jsonschema from a metaschema, or built as those of tools are; the values are drawn from each schema, and
then spelled as models spell them. They run on a modest number of examples; ``TOOLBOX_HYPOTHESIS=thorough`` runs 10,000 of each.
"""

from __future__ import annotations

import ast
import copy
import importlib.util
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema
from jsonschema import Draft202012Validator

from toolbox import LENIENT, STRICT, Policy, coerce_to_schema, normalize_from_schema
from toolbox.diagnostics import CoercionReport, DiagnosticKind, FailureReason
from toolbox.policy import ABSORBING
from toolbox.schema import InvalidSchema, normalise, read_schema, write_schema

PROFILES: Final = {"modest": 100, "thorough": 10_000}
PROFILE = settings(
    max_examples=PROFILES[os.environ.get("TOOLBOX_HYPOTHESIS", "modest")],
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=os.environ.get("TOOLBOX_HYPOTHESIS", "modest") == "modest",
)
POLICIES: Final = (STRICT, ABSORBING, LENIENT)
DIALECT: Final = {"$schema": "https://json-schema.org/draft/2020-12/schema"}

# -- schemas drawn from a metaschema: any keyword beside any other -------------------------------------------------------------------------

KINDS: Final = ["null", "boolean", "integer", "number", "string", "array", "object"]
NAMES: Final = ["a", "max_results", "odd-key", "Name"]
PATTERNS: Final = ["^a", "b$", "[0-9]", "^[a-z_]*$"]
CONSTANTS: Final = [None, True, 0, 1, 2.5, "", "a", "abc", "low", "not high", "1", [1], {"a": 1}]
COUNT: Final = {"type": "integer", "minimum": 0, "maximum": 3}
LIMIT: Final = {"enum": [-1, 0, 1, 2.5, 10]}
NAME_LIST: Final = {"type": "array", "items": {"enum": NAMES}, "uniqueItems": True, "maxItems": 2}


def metaschema(depth: int) -> dict[str, Any]:
    """A metaschema without recursion: what it describes are schemas of at most this depth."""
    keywords: dict[str, Any] = {
        "type": {"anyOf": [{"enum": KINDS}, {"type": "array", "items": {"enum": KINDS}, "minItems": 1, "maxItems": 3, "uniqueItems": True}]},
        "enum": {"type": "array", "items": {"enum": CONSTANTS}, "minItems": 1, "maxItems": 3},
        "const": {"enum": CONSTANTS},
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), LIMIT),
        "multipleOf": {"enum": [1, 2, 0.5]},
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), COUNT),
        "pattern": {"enum": PATTERNS},
        "format": {"enum": ["date", "email", "uuid"]},
        "uniqueItems": {"type": "boolean"},
        "required": NAME_LIST,
        "dependentRequired": {"type": "object", "properties": {"a": NAME_LIST}, "additionalProperties": False},
        "description": {"enum": ["what it is"]},
        "default": {"enum": CONSTANTS},
    }
    if depth:
        inner = metaschema(depth - 1)
        named = {"type": "object", "properties": dict.fromkeys(NAMES, inner), "additionalProperties": False, "maxProperties": 3}
        keywords |= dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), {"type": "array", "items": inner, "minItems": 1, "maxItems": 2})
        keywords |= dict.fromkeys(("additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames"), inner)
        keywords |= {"properties": named, "dependentSchemas": named}
        keywords["patternProperties"] = {"type": "object", "properties": {"^a": inner, "s$": inner}, "additionalProperties": False}
    return {"anyOf": [{"type": "boolean"}, {"type": "object", "properties": keywords, "additionalProperties": False, "maxProperties": 4}]}


MIXED: Final = st.deferred(lambda: from_schema(metaschema(1)))


# -- schemas as tools have them: keywords that go together ---------------------------------------------------------------------------------

TEXTS: Final = st.fixed_dictionaries({}, optional={"description": st.just("what it is"), "title": st.just("T"), "deprecated": st.just(True)})
SCALARS: Final = st.one_of(
    st.sampled_from([{"type": "boolean"}, {"type": "integer"}, {"type": "number"}, {"type": "string"}, {"type": "null"}, {}]),
    st.builds(lambda low, span: {"type": "integer", "minimum": low, "maximum": low + span}, st.integers(-5, 5), st.integers(0, 20)),
    st.builds(lambda low: {"type": "number", "exclusiveMinimum": low, "multipleOf": 0.5}, st.integers(-5, 5)),
    st.builds(lambda low, span: {"type": "string", "minLength": low, "maxLength": low + span}, st.integers(0, 3), st.integers(0, 5)),
    st.builds(lambda pattern: {"type": "string", "pattern": pattern}, st.sampled_from(PATTERNS)),
    st.builds(lambda name: {"type": "string", "format": name}, st.sampled_from(["date", "date-time", "email", "uuid", "uri"])),
    st.sampled_from([["low", "medium", "high"], ["asc", "desc"], ["us-east-1", "eu_west_2"], [1, 2, 3], [1, "1", True, None]]).map(
        lambda values: {"enum": values}
    ),
    st.sampled_from([{"const": "fixed"}, {"type": ["string", "null"]}, {"type": ["integer", "string"]}, {"type": ["number", "null"]}]),
    st.sampled_from([{"$ref": "#/$defs/Node"}, {"$ref": "#/$defs/Colour"}, {"$ref": "#/$defs/Point"}]),
)
DEFINITIONS: Final = {
    "Colour": {"type": "string", "enum": ["red", "dark-blue"]},
    "Point": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x"]},
    "Node": {
        "type": "object",
        "properties": {"max_results": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}},
        "required": ["max_results"],
        "additionalProperties": False,
    },
}


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=2)
    named = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    return st.one_of(
        st.builds(lambda items, limits: {"type": "array", "items": items, **limits}, inner, _limits("Items")),
        st.builds(lambda first, items: {"type": "array", "prefixItems": first, "items": items}, some, inner | st.just(False)),
        st.builds(_object, named, st.sets(st.sampled_from(NAMES), max_size=2), inner | st.booleans() | st.none(), TEXTS),
        st.builds(lambda items: {"type": "object", "additionalProperties": items}, inner),
        st.builds(lambda keyword, members: {keyword: members}, st.sampled_from(["anyOf", "oneOf", "allOf"]), some),
        st.builds(lambda member: {"anyOf": [member, {"type": "null"}]}, inner),
        st.builds(lambda member, texts: {**member, **texts} if isinstance(member, dict) else member, inner, TEXTS),
    )


def _limits(what: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={f"min{what}": st.integers(0, 1), f"max{what}": st.integers(2, 3), "uniqueItems": st.booleans()})


def _object(named: dict[str, Any], required: set[str], additional: Any, texts: dict[str, Any]) -> dict[str, Any]:
    found = {"type": "object", "properties": named, "required": sorted(required & named.keys()), **texts}
    return found if additional is None else {**found, "additionalProperties": additional}


def _whole(schema: Any) -> Any:
    """The schema as a document that says which dialect it is in."""
    return {**DIALECT, **schema, **({"$defs": DEFINITIONS} if '"$ref"' in json.dumps(schema) else {})} if isinstance(schema, dict) else schema


SCHEMAS: Final = (MIXED | st.recursive(SCALARS, _nested, max_leaves=5) | _nested(MIXED)).map(_whole)

# -- values --------------------------------------------------------------------------------------------------------------------------------

JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 2**70) | st.floats(-1e6, 1e6) | st.text(max_size=6) | st.sampled_from(CONSTANTS[:11]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
WORDS: Final = st.sampled_from(
    ["", "null", "None", "N/A", "true", "yes", "1,234", "1e3", "5 kg", "1, 2", "a, b", "[]", "{}", "[1", "NaN", "LOW", "not high"]
)
NODES: Final = st.recursive(
    st.fixed_dictionaries({"max_results": st.integers(-9, 9)}),
    lambda inner: st.fixed_dictionaries({"max_results": st.integers(-9, 9), "next": inner}),
    max_leaves=3,
)


def _older(schema: Any) -> Any:
    """The schema in draft 7, which is what values can be drawn from; what leads back to itself is cut short."""
    if isinstance(schema, list):
        return [_older(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        node = DEFINITIONS[name]
        if name == "Node":
            node = {**node, "properties": {"max_results": {"type": "integer"}}}
        return {"allOf": [node, _older({keyword: item for keyword, item in schema.items() if keyword != "$ref"})]}
    found = {keyword: _older(item) if keyword not in ("enum", "const", "default") else item for keyword, item in schema.items()}
    for keyword in ("$schema", "$defs", "format", "dependentRequired", "dependentSchemas"):
        found.pop(keyword, None)
    if "prefixItems" in found:
        rest = found.pop("items", True)
        found |= {"items": found.pop("prefixItems"), "additionalItems": rest}
    return found


def _fitting(schema: Any) -> st.SearchStrategy[Any]:
    """Values that the schema calls valid, mostly."""
    try:
        found = from_schema(_older(schema))
        return JSON if found.is_empty else found
    except Exception:  # noqa: BLE001 - what the drawing of values cannot do is no matter of these laws
        return JSON


def _spelled(value: Any, style: int) -> Any:
    """One of the ways in which models get a value wrong."""
    if style < 3:
        return (json.dumps(value), repr(value), [value])[style]
    if isinstance(value, str):
        return (value.upper(), f" {value} ", value.title(), value.replace("-", "_"), f'"{value}"')[style % 5]
    if isinstance(value, bool):
        return (str(value), int(value), "yes" if value else "off", str(value).lower())[style % 4]
    if isinstance(value, int | float):
        return (str(value), float(value) if abs(value) < 2**53 else value, f"+{value}", f"{value}.0")[style % 4]
    if isinstance(value, dict):
        changed = {key.replace("_", "-").title() if style % 2 else key.replace("_", "").lower(): item for key, item in value.items()}
        return (changed, {**value, "zz unknown": 1}, dict(list(value.items())[1:]), {"MaxResults": 1, **value})[style % 4]
    if isinstance(value, list):
        return ([*value, *value], [*value, None], value[1:], ", ".join(map(str, value)))[style % 4]
    return "null" if style % 2 else "N/A"


def _mutated(value: Any, draw: Callable[[st.SearchStrategy[int]], int]) -> Any:
    """The value with some of its parts spelled as models spell them."""
    if isinstance(value, dict):
        value = {key: _mutated(item, draw) for key, item in value.items()}
    elif isinstance(value, list):
        value = [_mutated(item, draw) for item in value]
    style = draw(st.integers(0, 20))
    return _spelled(value, style) if style < 9 else value


@st.composite
def sent_for(draw: st.DrawFn, schema: Any) -> Any:
    """A value that a model might send for a schema: right, nearly right, or anything."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(JSON | WORDS)
    value = draw(_fitting(schema))
    return value if kind < 4 else _mutated(value, draw)


@st.composite
def sent(draw: st.DrawFn) -> tuple[Any, Any]:
    """A schema, and a value that a model might send for it."""
    schema = draw(SCHEMAS)
    return schema, draw(sent_for(schema))


# -- the laws ------------------------------------------------------------------------------------------------------------------------------


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same, by type too."""
    return repr(left) == repr(right)


def readings(schema: Any, value: Any, policy: Policy) -> Iterator[CoercionReport]:
    """The reports on a value: as any JSON value, and as the arguments of a tool where it can be that."""
    yield coerce_to_schema(schema, value, policy)
    if isinstance(value, dict) and isinstance(schema, dict) and schema.get("type") == "object":
        yield normalize_from_schema(schema, value, policy)


def law_reading_what_was_written(schema: Any, value: Any) -> None:
    """Law 1: what is written reads as the same nodes, and is a valid schema that means the same."""
    document = read_schema(schema)
    written = write_schema(document)
    Draft202012Validator.check_schema(written)
    assert read_schema(written) == document
    assert Draft202012Validator(written).is_valid(value) == Draft202012Validator(schema).is_valid(value)


def law_normal_form(schema: Any, value: Any) -> None:
    """Law 2: what is written is what the normal form of the schema is, which is its own normal form."""
    written = write_schema(read_schema(schema))
    assert written == normalise(schema) == normalise(written)
    assert json.loads(json.dumps(written)) == written


def law_written_schema_accepts_the_same(schema: Any, value: Any) -> None:
    """Law 3: the schema and what is written of it accept the same, make the same of it, and report the same paths."""
    written = {**DIALECT, **write_schema(read_schema(schema))}
    for policy in POLICIES:
        one, two = coerce_to_schema(schema, value, policy), coerce_to_schema(written, value, policy)
        assert same(one.value, two.value)
        assert {failure.path for failure in one.failures} == {failure.path for failure in two.failures}
        assert [found.path for found in one.diagnostics] == [found.path for found in two.diagnostics]


def law_strict_is_the_schema(schema: Any, value: Any) -> None:
    """Law 4: STRICT accepts exactly what an outside validator calls valid."""
    assert coerce_to_schema(schema, value, STRICT).ok == Draft202012Validator(schema).is_valid(value)


def law_lenient_refuses_nothing_strict_accepts(schema: Any, value: Any) -> None:
    """Law 4: a looser policy accepts what STRICT accepts, and makes the same of it."""
    for policy in POLICIES[1:]:
        for strictly, loosely in zip(readings(schema, value, STRICT), readings(schema, value, policy), strict=True):
            if strictly.ok:
                assert loosely.ok, loosely.failures
                assert same(loosely.value, strictly.value)


def law_what_is_made_is_valid(schema: Any, value: Any) -> None:
    """Law 4: whatever is accepted, what is made of it is valid."""
    validator = Draft202012Validator(schema)
    for policy in POLICIES:
        for report in readings(schema, value, policy):
            assert not report.ok or validator.is_valid(report.value), report.value


def law_idempotent(schema: Any, value: Any) -> None:
    """Law 4: coercing the result again changes nothing and records nothing."""
    for policy in POLICIES:
        report = coerce_to_schema(schema, value, policy)
        if report.ok:
            again = coerce_to_schema(schema, report.value, policy)
            assert again.ok, again.failures
            assert same(again.value, report.value)
            assert not again.diagnostics


_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]")


def _decoded(text: str) -> Any:
    """The array or object that a text holds."""
    try:
        return json.loads(text)
    except ValueError:
        return ast.literal_eval(text.strip())


def _resolve(path: str, root: Any) -> tuple[bool, bool]:
    """Whether the place before the last step is there, and whether the last one is."""
    steps = list(_STEP.finditer(path))
    assert "$" + "".join(step[0] for step in steps) == path
    current = root
    for place, step in enumerate(steps):
        if isinstance(current, str):
            current = _decoded(current)
        if step[2] is not None:
            key: Any = int(step[2])
            there = isinstance(current, list) and key < len(current)
        else:
            key = step[1] if step[1] is not None else json.loads('"' + step[3].replace("\\'", "'").replace('"', '\\"') + '"')
            there = isinstance(current, dict) and key in current
        if not there:
            return place == len(steps) - 1 and isinstance(current, dict), False
        current = current[key]
    return True, True


def law_paths_resolve(schema: Any, value: Any) -> None:
    """Law 5: a path leads to a place of what came, JSON text on the way decoded, or names the key that is missing."""
    for policy in POLICIES:
        for report in readings(schema, value, policy):
            for failure in report.failures:
                parent, there = _resolve(failure.path, value)
                assert there or (parent and failure.reason is FailureReason.MISSING), failure
            for found in report.diagnostics:
                parent, there = _resolve(found.path, value)
                assert there or (parent and found.kind is DiagnosticKind.DEFAULTED), found


def law_payload_unchanged(schema: Any, value: Any) -> None:
    """Law 6: what came is left as it was, and so is the schema."""
    before, schema_before = copy.deepcopy(value), copy.deepcopy(schema)
    for policy in POLICIES:
        for _ in readings(schema, value, policy):
            assert same(value, before)
    assert same(schema, schema_before)


LAWS: Final = (
    law_reading_what_was_written,
    law_normal_form,
    law_written_schema_accepts_the_same,
    law_strict_is_the_schema,
    law_lenient_refuses_nothing_strict_accepts,
    law_what_is_made_is_valid,
    law_idempotent,
    law_paths_resolve,
    law_payload_unchanged,
)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__.removeprefix("law_"))
def test_the_law_holds_for_every_schema(law: Callable[[Any, Any], None]) -> None:
    """Each law holds for schemas of any keywords and for values of any spelling."""

    @PROFILE
    @given(sent())
    def holds(pair: tuple[Any, Any]) -> None:
        law(*pair)

    holds()


# -- the functions of the Berkeley Function-Calling Leaderboard ------------------------------------------------------------------------------

CATEGORIES: Final = ("simple_python", "multiple", "parallel", "parallel_multiple")
BFCL: Final = importlib.util.find_spec("bfcl_eval")


def _leaderboard() -> list[dict[str, Any]]:
    """Every schema of its single-turn functions once, written in draft 2020-12."""
    assert BFCL is not None
    folder = Path(next(iter(BFCL.submodule_search_locations or ()))) / "data"
    found: dict[str, dict[str, Any]] = {}
    for category in (*CATEGORIES, *(f"live_{name.removesuffix('_python')}" for name in CATEGORIES)):
        (file,) = folder.glob(f"BFCL_v?_{category}.json")
        for line in file.read_text(encoding="utf-8").splitlines():
            for function in json.loads(line)["function"]:
                text = json.dumps(function["parameters"])
                if text not in found:
                    try:
                        document = read_schema(function["parameters"], dialect="bfcl")
                    except InvalidSchema as error:
                        assert error.document is not None
                        document = error.document
                    found[text] = {**DIALECT, **write_schema(document)}
    return list(found.values())


@pytest.mark.skipif(BFCL is None, reason="bfcl-eval is not installed: pip install --no-deps bfcl-eval")
def test_the_laws_hold_for_the_functions_of_the_leaderboard() -> None:
    """Every law holds for the schema of every function, and for values drawn from it."""
    for schema in _leaderboard():

        @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
        @given(sent_for(schema))
        def hold(value: Any, schema: Any = schema) -> None:
            for law in LAWS:
                law(schema, value)

        hold()
