"""What schemas mean is what the reader makes of them: checked by an oracle over the nodes, the official suite and an outside validator."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolbox.schema import InvalidSchema, MissingValidator, build_validator, read_schema, write_schema
from toolbox.types import (
    CONSTRAINTS,
    AnyType,
    ArrayType,
    BooleanType,
    Document,
    EnumType,
    IntegerType,
    NeverType,
    NullType,
    NumberType,
    ObjectType,
    Opaque,
    Ref,
    StringType,
    Type,
    UnionType,
    identity,
)


def accepts(document: Document, value: Any, node: Type | None = None) -> bool:
    """Whether a value is exactly what a document says: the plain meaning of every node, with no conversion at all."""
    node = document.root if node is None else node

    def inside(item: Any, below: Type) -> bool:
        return accepts(document, item, below)

    match node:
        case AnyType():
            return True
        case NeverType():
            return False
        case Ref():
            return inside(value, document.definitions[node.name])
        case Opaque():
            return not build_validator(node.schema, document.definitions)(value)
        case UnionType():
            fitting = sum(inside(value, member) for member in node.members)
            return fitting == 1 if node.one_of else fitting > 0
        case EnumType():
            return identity(value) in map(identity, node.values) or (node.open and isinstance(value, str))
        case NullType():
            return value is None
        case BooleanType():
            return isinstance(value, bool)
        case IntegerType() if not _is_number(value) or (isinstance(value, float) and not value.is_integer()):
            return False
        case NumberType() if not _is_number(value):
            return False
        case StringType() if not isinstance(value, str):
            return False
        case ArrayType():
            if not isinstance(value, list):
                return False
            types = [*node.prefix, *[node.items] * len(value)]
            if not all(map(inside, value, types[: len(value)])):
                return False
        case ObjectType():
            if not isinstance(value, dict):
                return False
            declared = {item.name: item for item in node.fields}
            if any(item.required and item.name not in value for item in node.fields):
                return False
            other = AnyType() if node.additional is None else node.additional
            if not all(inside(item, declared[name].type if name in declared else other) for name, item in value.items()):
                return False
    limits = [(constraint, getattr(node, constraint.attribute)) for constraint in CONSTRAINTS.get(type(node), ())]
    return all(limit is None or constraint.holds(value, limit) for constraint, limit in limits)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# The official suite

SUITE = os.environ.get("TOOLBOX_JSON_SCHEMA_SUITE")
needs_suite = pytest.mark.skipif(SUITE is None, reason="TOOLBOX_JSON_SCHEMA_SUITE names no copy of the JSON-Schema-Test-Suite")


def _suite_cases(draft: str) -> Iterator[tuple[str, Any, list[dict[str, Any]]]]:
    for file in sorted(Path(SUITE or "", draft).glob("*.json")):
        for case in json.loads(file.read_text(encoding="utf-8")):
            yield f"{file.stem}: {case['description']}", case["schema"], case["tests"]


def _suite_resources() -> dict[str, Any]:
    remotes = Path(SUITE or "", "remotes")
    files = remotes.rglob("*.json")
    return {f"http://localhost:1234/{file.relative_to(remotes).as_posix()}": json.loads(file.read_text(encoding="utf-8")) for file in files}


def _run_suite(draft: str, dialect: str | None) -> tuple[list[str], list[str], int]:
    wrong: list[str] = []
    refused: list[str] = []
    total = 0
    resources = _suite_resources()
    for name, schema, tests in _suite_cases(draft):
        total += len(tests)
        says_so = isinstance(schema, dict) and "$schema" in schema
        try:
            document = read_schema(schema, resources=resources, dialect=None if says_so else dialect)
            again = read_schema(write_schema(document))
        except InvalidSchema as error:
            refused.extend(f"{name}: {test['description']}: {error}" for test in tests)
            continue
        assert again == document, name
        for test in tests:
            try:
                if accepts(document, test["data"]) != test["valid"]:
                    wrong.append(f"{name}: {test['description']}")
            except MissingValidator:
                refused.append(f"{name}: {test['description']}: needs the validator")
    return wrong, refused, total


@needs_suite
@pytest.mark.parametrize(("draft", "dialect"), [("draft2020-12", None), ("draft7", "draft-7")])
def test_the_official_suite_agrees(draft: str, dialect: str | None) -> None:
    """What the nodes accept is what the suite calls valid, and what is written reads as the same nodes."""
    wrong, refused, total = _run_suite(draft, dialect)
    assert total > 900
    assert (wrong, refused) == ([], [])


@needs_suite
@pytest.mark.parametrize(("draft", "dialect"), [("draft2020-12", None), ("draft7", "draft-7")])
def test_the_official_suite_agrees_without_the_validator(draft: str, dialect: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no validator is installed, every schema is refused that would need one, and all others are right."""
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    wrong, refused, total = _run_suite(draft, dialect)
    assert wrong == []
    assert len(refused) < total / 3


# Schemas of every mixture of keywords, against an outside validator

NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, 2, 2.5, -1, "", "a", "ab", "abc", "b\n", "٣"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
NUMBERS = st.sampled_from([0, 1, 2, 0.5])
COUNTS = st.integers(0, 3)
PATTERNS = st.sampled_from(["^a", "b$", r"\d", "^a.*c$"])
KINDS = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Any:
    """Any schema: keywords are mixed without regard to what goes together."""
    if draw(st.integers(0, 11)) == 0:
        return draw(st.booleans())
    plain: dict[str, st.SearchStrategy[Any]] = {
        "type": KINDS | st.lists(KINDS, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, max_size=4),
        "const": VALUES,
        "minimum": NUMBERS,
        "exclusiveMaximum": NUMBERS,
        "multipleOf": st.sampled_from([1, 2, 0.5, 1.5]),
        "minLength": COUNTS,
        "maxLength": COUNTS,
        "pattern": PATTERNS,
        "minItems": COUNTS,
        "maxItems": COUNTS,
        "uniqueItems": st.booleans(),
        "minProperties": COUNTS,
        "maxProperties": COUNTS,
        "required": st.lists(NAMES, unique=True, max_size=2),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, unique=True, max_size=1), max_size=1),
        "description": st.just("d"),
        "default": VALUES,
        "$ref": st.sampled_from(["#/$defs/D", "#/$defs/E"]),
    }
    inner = schemas(depth=depth - 1)
    several = st.lists(inner, min_size=1, max_size=2)
    holding: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), several),
        **dict.fromkeys(("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"), inner),
        **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), inner),
        **dict.fromkeys(("properties", "dependentSchemas"), st.dictionaries(NAMES, inner, max_size=2)),
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=1),
    }
    keywords = draw(st.lists(st.sampled_from([*plain, *(holding if depth else ())]), max_size=4, unique=True))
    return {keyword: draw({**plain, **holding}[keyword]) for keyword in keywords}


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas(), schemas(depth=1), st.lists(VALUES, min_size=1, max_size=8))
def test_reading_and_writing_keep_the_meaning(schema: Any, definition: Any, values: list[Any]) -> None:
    """The nodes, and the schema that they are written as, accept what an outside validator accepts by the schema as it came."""
    whole = schema
    if isinstance(schema, dict):
        # E goes into its value before it refers to anything, so that nothing leads back to itself for the same value.
        whole = {
            **schema,
            "$defs": {"D": {"properties": {"a": definition}, "required": ["b"]}, "E": {"items": {"$ref": "#"}, "title": "E"}},
        }
    document = read_schema(whole)
    written = write_schema(document)
    assert read_schema(written) == document
    before, after = jsonschema_rs.validator_for(whole), jsonschema_rs.validator_for(written)
    for value in values:
        expected = before.is_valid(value)
        assert accepts(document, value) is expected
        assert after.is_valid(value) is expected


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas(), st.lists(VALUES, min_size=1, max_size=8))
def test_what_is_known_refuses_nothing_that_is_valid(schema: Any, values: list[Any]) -> None:
    """What guides the coercion of an opaque schema is never narrower than the schema."""
    whole = (
        {"$defs": {"D": {"required": ["b"]}, "E": {"items": {"$ref": "#"}}}, "not": False, **schema} if isinstance(schema, dict) else schema
    )
    document = read_schema(whole)
    if isinstance(document.root, Opaque):
        validator = jsonschema_rs.validator_for(whole)
        for value in values:
            assert not validator.is_valid(value) or accepts(document, value, document.root.known)
