"""JSON Schema to nodes and back: tables of what is read and written, what is refused, and the laws between both."""

import re
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolbox.errors import ToolboxError
from toolbox.schema import InvalidSchema, MissingValidator, build_validator, normalise, read_schema, write_schema
from toolbox.types import (
    ABSENT,
    AnyType,
    ArrayType,
    BooleanType,
    Document,
    EnumType,
    Field,
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
    children,
    identity,
    implied,
    is_untyped,
)

STRING = {"type": "string"}
POINT = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}

# A node, and exactly how it is written; every one of them reads as the same node again.
WRITTEN: list[tuple[Type, Any]] = [
    (AnyType(), {}),
    (AnyType(description="d", default=None), {"description": "d", "default": None}),
    (NeverType(), {"not": {}}),
    (NeverType(description="d"), {"not": {}, "description": "d"}),
    (NullType(), {"type": "null"}),
    (BooleanType(title="t", deprecated=True), {"type": "boolean", "title": "t", "deprecated": True}),
    (IntegerType(minimum=0, exclusive_maximum=9), {"type": "integer", "minimum": 0, "exclusiveMaximum": 9}),
    (NumberType(multiple_of=0.5, default=1.5), {"type": "number", "multipleOf": 0.5, "default": 1.5}),
    (StringType(min_length=0, pattern="^a"), {"type": "string", "minLength": 0, "pattern": "^a"}),
    (StringType(format="date", examples=("2026-01-01",)), {"type": "string", "format": "date", "examples": ["2026-01-01"]}),
    (StringType(format="binary", encoding="base64"), {"type": "string", "format": "binary", "contentEncoding": "base64"}),
    (EnumType(values=("a", "b")), {"type": "string", "enum": ["a", "b"]}),
    (EnumType(values=(1,)), {"type": "integer", "enum": [1]}),
    (EnumType(values=(1, 2.5)), {"type": "number", "enum": [1, 2.5]}),
    (EnumType(values=(1, True, "1", None)), {"enum": [1, True, "1", None]}),
    (EnumType(values=(None,)), {"type": "null", "enum": [None]}),
    (
        EnumType(values=("a",), open=True, description="d", default="z"),
        {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string"}], "description": "d", "default": "z"},
    ),
    (ArrayType(), {"type": "array", "items": {}}),
    (ArrayType(items=NeverType()), {"type": "array", "items": False}),
    (ArrayType(items=ArrayType(), unique_items=True), {"type": "array", "items": {"type": "array", "items": {}}, "uniqueItems": True}),
    (
        ArrayType(prefix=(StringType(), IntegerType()), min_items=2, max_items=2),
        {
            "type": "array",
            "prefixItems": [STRING, {"type": "integer"}],
            "items": {"anyOf": [STRING, {"type": "integer"}]},
            "minItems": 2,
            "maxItems": 2,
        },
    ),
    (
        ArrayType(prefix=(IntegerType(), IntegerType()), max_items=2),
        {"type": "array", "prefixItems": [{"type": "integer"}] * 2, "items": {"type": "integer"}, "maxItems": 2},
    ),
    (ArrayType(prefix=(StringType(),), items=NullType()), {"type": "array", "prefixItems": [STRING], "items": {"type": "null"}}),
    (ObjectType(), {"type": "object", "properties": {}}),
    (ObjectType(additional=AnyType()), {"type": "object", "properties": {}, "additionalProperties": True}),
    (ObjectType(additional=NeverType()), {"type": "object", "properties": {}, "additionalProperties": False}),
    (
        ObjectType(fields=(Field("a", StringType()), Field("b", NeverType(), required=False)), additional=IntegerType(), max_properties=3),
        {
            "type": "object",
            "properties": {"a": STRING, "b": False},
            "required": ["a"],
            "additionalProperties": {"type": "integer"},
            "maxProperties": 3,
        },
    ),
    (UnionType(members=(StringType(), NullType()), default=None), {"anyOf": [STRING, {"type": "null"}], "default": None}),
    (
        UnionType(members=(IntegerType(), NumberType()), one_of=True, discriminator="kind"),
        {"oneOf": [{"type": "integer"}, {"type": "number"}], "discriminator": {"propertyName": "kind"}},
    ),
    (
        UnionType(members=(NullType(), BooleanType(), NumberType(), StringType(min_length=2), ArrayType(), ObjectType())),
        {"minLength": 2},
    ),
    (
        UnionType(members=(NullType(), BooleanType(), NumberType(), StringType(), ArrayType(), ObjectType())),
        {
            "anyOf": [
                {"type": "null"},
                {"type": "boolean"},
                {"type": "number"},
                STRING,
                {"type": "array", "items": {}},
                {"type": "object", "properties": {}},
            ]
        },
    ),
]


@pytest.mark.parametrize(("node", "schema"), WRITTEN)
def test_every_node_is_written_and_read_again(node: Type, schema: Any) -> None:
    """A node is written in one way, key order included, and reads as the same node."""
    written = write_schema(Document(node))
    assert written == schema
    assert list(written) == list(schema)
    assert read_schema(written) == Document(node)


@pytest.mark.parametrize(
    "name", ["title", "type", "description", "properties", "required", "$ref", "$defs", "default", "enum", "not", "$id"]
)
def test_property_named_like_a_keyword_survives(name: str) -> None:
    """A parameter may have any name; it is never taken for a keyword."""
    node = ObjectType(fields=(Field(name, StringType(default="x"), required=False), Field("other", Ref(name=name))))
    document = Document(node, {name: ObjectType(fields=(Field(name, IntegerType()),))})
    written = write_schema(document)
    assert written["properties"][name] == {"type": "string", "default": "x"}
    assert written["$defs"][name]["properties"] == {name: {"type": "integer"}}
    assert read_schema(written) == document


def test_definitions_come_in_the_order_of_first_use() -> None:
    """Only what is referred to is written, in the order in which a reader meets it."""
    definitions = {"c": StringType(), "unused": NullType(), "a": ArrayType(items=Ref(name="c")), "b": ArrayType(items=Ref(name="b"))}
    root = ObjectType(fields=(Field("x", Ref(name="b", description="here")), Field("y", Ref(name="a"))))
    written = write_schema(Document(root, definitions))
    assert list(written["$defs"]) == ["b", "a", "c"]
    assert written["properties"]["x"] == {"$ref": "#/$defs/b", "description": "here"}


@pytest.mark.parametrize("name", ["Box[int]", "a/b", "a~b", "50%", "é ü", "#", "x y", "~1", "%41"])
def test_definition_may_have_any_name(name: str) -> None:
    """Names are escaped as JSON pointers in address fragments are."""
    document = Document(Ref(name=name), {name: ArrayType(items=Ref(name=name))})
    written = write_schema(document)
    assert re.fullmatch(r"#/\$defs/[!-~]+", written["$ref"])
    assert read_schema(written) == document


# A schema, and the schema of the same meaning that it is written as.
NORMALISED: list[tuple[Any, Any]] = [
    (True, {}),
    (False, {"not": {}}),
    ({"$comment": "c", "x-mine": 1, "readOnly": True}, {}),
    ({"type": ["string"]}, STRING),
    ({"type": ["integer", "number"]}, {"type": "number"}),
    ({"type": ["null", "string"], "maxLength": 3}, {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 3}]}),
    ({"const": "a"}, {"type": "string", "enum": ["a"]}),
    ({"const": {"a": [1]}}, {"type": "object", "enum": [{"a": [1]}]}),
    ({"enum": ["a", 1, "a", 1.0, True]}, {"enum": ["a", 1, True]}),
    ({"type": "string", "enum": ["a", 1, None, "bb"], "minLength": 2}, {"type": "string", "enum": ["bb"]}),
    ({"type": "integer", "enum": [1, 1.5, True]}, {"type": "integer", "enum": [1]}),
    ({"type": "string", "enum": [1]}, {"not": {}}),
    ({"enum": []}, {"not": {}}),
    ({"enum": ["a", "b"], "const": "b"}, {"type": "string", "enum": ["b"]}),
    ({"type": "string", "minimum": 3, "items": STRING}, STRING),
    ({"minimum": 3, "format": "date", "description": "d"}, {"description": "d", "format": "date", "minimum": 3}),
    ({"properties": {}, "items": True, "uniqueItems": False}, {}),
    ({"type": "string", "minLength": 2.0}, {"type": "string", "minLength": 2}),
    ({"type": "object"}, {"type": "object", "properties": {}}),
    ({"type": "object", "required": ["a"]}, {"type": "object", "properties": {"a": {}}, "required": ["a"]}),
    (
        {"type": "object", "required": ["a"], "additionalProperties": STRING},
        {"type": "object", "properties": {"a": STRING}, "required": ["a"], "additionalProperties": STRING},
    ),
    ({"type": "object", "unevaluatedProperties": False}, {"type": "object", "properties": {}, "additionalProperties": False}),
    ({"type": "array", "items": [STRING], "additionalItems": False}, {"type": "array", "prefixItems": [STRING], "items": False}),
    ({"not": True}, {"not": {}}),
    ({"not": False}, {}),
    ({"if": {"type": "string"}}, {}),
    ({"anyOf": [STRING]}, STRING),
    ({"anyOf": [STRING, False]}, STRING),
    ({"oneOf": [False]}, {"not": {}}),
    (
        {"allOf": [STRING, {"minLength": 2}, {"maxLength": 5, "description": "d"}]},
        {"type": "string", "description": "d", "minLength": 2, "maxLength": 5},
    ),
    ({"allOf": [{"type": "number", "minimum": 1}, {"type": "integer", "minimum": 0}]}, {"type": "integer", "minimum": 1}),
    ({"allOf": [{"type": "integer", "multipleOf": 4}, {"multipleOf": 6}]}, {"type": "integer", "multipleOf": 12}),
    ({"allOf": [{"type": "number", "multipleOf": 0.4}, {"multipleOf": 0.25}]}, {"type": "number", "multipleOf": 2}),
    ({"allOf": [{"type": "string"}, {"type": "integer"}]}, {"not": {}}),
    (
        {"allOf": [{"type": ["string", "null"]}, {"enum": ["a", None, 3]}]},
        {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null", "enum": [None]}]},
    ),
    (
        {"allOf": [POINT, {"properties": {"y": STRING}, "required": ["y"]}], "title": "P"},
        {"type": "object", "title": "P", "properties": {"x": {"type": "number"}, "y": STRING}, "required": ["x", "y"]},
    ),
    (
        {"type": "object", "properties": {"a": STRING}, "allOf": [{"additionalProperties": False, "properties": {"b": {}}}]},
        {"type": "object", "properties": {"b": {}}, "additionalProperties": False},
    ),
    (
        {"type": "array", "allOf": [{"items": STRING, "maxItems": 3}, {"prefixItems": [{"minLength": 1}], "minItems": 1}]},
        {"type": "array", "prefixItems": [{"type": "string", "minLength": 1}], "items": STRING, "minItems": 1, "maxItems": 3},
    ),
    (
        {"type": "object", "properties": {"a": STRING}, "anyOf": [{"required": ["a"]}, {"properties": {"b": {"type": "null"}}}]},
        {
            "anyOf": [
                {"type": "object", "properties": {"a": STRING}, "required": ["a"]},
                {"type": "object", "properties": {"a": STRING, "b": {"type": "null"}}},
            ]
        },
    ),
    (
        {"allOf": [{"$ref": "#/definitions/A"}], "default": "x", "definitions": {"A": STRING}},
        {"$ref": "#/$defs/A", "default": "x", "$defs": {"A": STRING}},
    ),
    (
        {"$ref": "#/$defs/A", "minLength": 2, "$defs": {"A": {"type": "string", "title": "A"}}},
        {"type": "string", "title": "A", "minLength": 2},
    ),
    (
        {"type": "object", "properties": {"child": {"$ref": "#"}}},
        {
            "type": "object",
            "properties": {"child": {"$ref": "#/$defs/root"}},
            "$defs": {"root": {"type": "object", "properties": {"child": {"$ref": "#/$defs/root"}}}},
        },
    ),
    # 1 and true are equal in Python, but two choices in JSON.
    (
        {"enum": [1, True], "minimum": 0},
        {"anyOf": [{"type": "boolean", "enum": [True]}, {"type": "integer", "enum": [1]}]},
    ),
    (
        {"anyOf": [{"$ref": "#here"}, {"$defs": {"x": {"$anchor": "here", "type": "null"}}}]},
        {"anyOf": [{"$ref": "#/$defs/here"}, {}], "$defs": {"here": {"type": "null"}}},
    ),
    (
        {"$id": "http://a.example/root", "items": {"$ref": "other#/$defs/s"}, "$defs": {"o": {"$id": "other", "$defs": {"s": STRING}}}},
        {"items": {"$ref": "#/$defs/s"}, "$defs": {"s": STRING}},
    ),
]


@pytest.mark.parametrize(("schema", "expected"), NORMALISED)
def test_schemas_of_the_same_meaning_are_written_alike(schema: Any, expected: Any) -> None:
    """What has a counterpart is met into one node, and written in its one form; that form stays as it is."""
    assert normalise(schema) == expected
    assert normalise(expected) == expected


# Dialects: name, schema, normalised.
DIALECTS: list[tuple[str, Any, Any]] = [
    (
        "draft-7",
        {"$ref": "#/definitions/a", "minLength": 5, "description": "d", "definitions": {"a": STRING}},
        {"$ref": "#/$defs/a", "description": "d", "$defs": {"a": STRING}},
    ),
    ("draft-7", {"type": "array", "prefixItems": [STRING], "minContains": 2}, {"type": "array", "items": {}}),
    (
        "draft-7",
        {"$ref": "#foo", "definitions": {"a": {"$id": "#foo", "type": "null"}}},
        {"$ref": "#/$defs/foo", "$defs": {"foo": {"type": "null"}}},
    ),
    (
        "draft-4",
        {"type": "number", "minimum": 3, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False},
        {"type": "number", "maximum": 9, "exclusiveMinimum": 3},
    ),
    ("draft-4", {"const": 3, "if": True, "then": False}, {}),
    ("openapi-3.0", {"type": "string", "nullable": True, "description": "d"}, {"anyOf": [STRING, {"type": "null"}], "description": "d"}),
    (
        "openapi-3.0",
        {"type": "integer", "minimum": 0, "exclusiveMinimum": True, "example": 3},
        {"type": "integer", "exclusiveMinimum": 0, "examples": [3]},
    ),
    (
        "openapi-3.0",
        {"allOf": [{"$ref": "#/components/schemas/P"}], "nullable": True, "components": {"schemas": {"P": STRING}}},
        {"anyOf": [{"$ref": "#/$defs/P"}, {"type": "null"}], "$defs": {"P": STRING}},
    ),
    ("openapi-3.0", {"nullable": True}, {}),
    ("2020-12", {"type": "string", "nullable": True}, STRING),
    (
        "bfcl",
        {
            "type": "dict",
            "properties": {"a": {"type": "float"}, "b": {"type": "any"}, "c": {"type": "tuple", "items": {"type": "integer"}}},
        },
        {"type": "object", "properties": {"a": {"type": "number"}, "b": {}, "c": {"type": "array", "items": {"type": "integer"}}}},
    ),
    (
        "gemini",
        {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True, "maxLength": "5"}}},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]}}},
    ),
    ("gemini", {"type": "TYPE_UNSPECIFIED"}, {}),
]


@pytest.mark.parametrize(("dialect", "schema", "expected"), DIALECTS)
def test_dialects_are_translated(dialect: str, schema: Any, expected: Any) -> None:
    """Other drafts, OpenAPI and the type names of some providers are read through their dialect."""
    assert normalise(schema, dialect=dialect) == expected


def test_schema_says_its_own_dialect() -> None:
    """``$schema`` counts unless a dialect is asked for."""
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "http://a.example/s", "prefixItems": [STRING]}
    assert normalise(schema) == {}
    assert normalise(schema, dialect="2020-12") == {"prefixItems": [STRING]}


def test_unknown_dialect_is_named() -> None:
    """A wrong name is a ValueError that lists the right ones."""
    with pytest.raises(ValueError, match=r"no dialect 'bfcl2'.*gemini"):
        read_schema({}, dialect="bfcl2")


# What has no counterpart: a schema, and what of it is known.
OPAQUE: list[tuple[dict[str, Any], Type]] = [
    ({"not": STRING}, AnyType()),
    ({"type": "string", "not": {"const": "a"}}, StringType()),
    ({"type": "object", "patternProperties": {"^x": STRING}, "additionalProperties": False}, ObjectType()),
    ({"type": "object", "propertyNames": {"minLength": 2}}, ObjectType()),
    (
        {"type": "object", "properties": {"a": STRING}, "if": {"required": ["a"]}, "then": {"required": ["b"]}},
        ObjectType(fields=(Field("a", StringType(), required=False),)),
    ),
    ({"type": "object", "dependentRequired": {"a": ["b"]}}, ObjectType()),
    ({"type": "object", "dependentSchemas": {"a": False}}, ObjectType()),
    ({"type": "array", "contains": STRING}, ArrayType()),
    (
        {"type": "object", "anyOf": [{"properties": {"a": {}}}, {}], "unevaluatedProperties": False},
        UnionType(members=(ObjectType(fields=(Field("a", AnyType(), required=False),)), ObjectType())),
    ),
    ({"type": "string", "pattern": r"^\p{L}+$", "maxLength": 9}, StringType(max_length=9)),
    ({"allOf": [{"type": "string", "pattern": "a"}, {"pattern": "b"}]}, StringType(pattern="a")),
    ({"type": "object", "enum": [{"a": 1}], "required": ["b"]}, ObjectType(fields=(Field("b", AnyType()),))),
    ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, AnyType()),
]


@pytest.mark.parametrize(("schema", "known"), OPAQUE)
def test_what_has_no_counterpart_stays_as_it_is(schema: dict[str, Any], known: Type) -> None:
    """It is kept whole, beside what of it can guide a conversion, and written as it came."""
    document = read_schema({"title": "T", **schema})
    assert document.root == Opaque(schema=schema, known=known, title="T")
    assert write_schema(document) == {"title": "T", **schema}
    build_validator(schema)


def test_definitions_that_would_need_themselves_stay_as_they_are() -> None:
    """A definition is met with what stands beside a reference, unless that would never end; others may still be recursive."""
    schema = {
        "properties": {"dog": {"$ref": "#/$defs/Dog"}, "loop": {"$ref": "#/$defs/Loop", "minProperties": 1}},
        "$defs": {
            "Pet": {"type": "object", "properties": {"friends": {"type": "array", "items": {"$ref": "#/$defs/Dog"}}}},
            "Dog": {"type": "object", "allOf": [{"$ref": "#/$defs/Pet"}, {"properties": {"breed": {"type": "string"}}}]},
            "Loop": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Loop", "minProperties": 2}}},
        },
    }
    document = read_schema(schema)
    assert isinstance(document.definitions["Dog"], ObjectType)
    assert [item.name for item in document.definitions["Dog"].fields] == ["friends", "breed"]
    written = write_schema(document)
    assert written["properties"]["loop"] == schema["properties"]["loop"]
    assert normalise(written) == written


def test_opaque_schema_brings_what_it_refers_to() -> None:
    """References in an opaque schema lead to definitions of the document, wherever they led before."""
    schema = {
        "type": "object",
        "properties": {"a": {"not": {"$ref": "#/properties/b"}}, "b": {"type": "string", "minLength": 2}},
        "definitions": {"unused": {}},
    }
    document = read_schema(schema)
    written = write_schema(document)
    assert written["properties"]["a"] == {"not": {"$ref": "#/$defs/b"}}
    assert written["$defs"] == {"b": {"type": "string", "minLength": 2}}
    assert read_schema(written) == document
    opaque = document.root.fields[0].type  # type: ignore[attr-defined]  # it is an object
    check = build_validator(opaque.schema, document.definitions)
    assert check("x") == []
    assert [path for path, _ in check("xx")] == [()]


def test_older_drafts_become_the_newest_where_they_stay_whole() -> None:
    """An opaque schema is written in the draft that the document is written in."""
    schema = {
        "items": [STRING],
        "additionalItems": False,
        "dependencies": {"a": ["b"], "c": {"not": {"$ref": "#/definitions/d", "title": "x"}}},
        "definitions": {"d": {}},
    }
    assert write_schema(read_schema(schema, dialect="draft-7")) == {
        "prefixItems": [STRING],
        "items": False,
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"c": {"not": {"$ref": "#/$defs/d", "title": "x"}}},
        "$defs": {"d": {}},
    }


def test_definitions_stay_whole_where_their_wording_counts() -> None:
    """What is left unevaluated depends on how a definition is said, so it is not rewritten."""
    schema = {"$ref": "#/$defs/a", "unevaluatedProperties": False, "$defs": {"a": {"type": "object", "required": ["n"]}}}
    document = read_schema(schema)
    assert document.definitions["a"] == Opaque(schema=schema["$defs"]["a"], known=ObjectType(fields=(Field("n", AnyType()),)))  # type: ignore[index]
    check = build_validator(document.root.schema, document.definitions)  # type: ignore[attr-defined]  # it is opaque
    assert check({"n": 1}) != []


def test_dynamic_references_keep_the_whole_document() -> None:
    """What they mean depends on the way to them, so the document is checked as one, and its parts only guide."""
    part = {"$dynamicAnchor": "n", "properties": {"kids": {"items": {"$dynamicRef": "#n"}}}}
    schema = {"$ref": "http://a.example/tree", "type": "object", "unevaluatedProperties": False}
    document = read_schema(schema, resources={"http://a.example/tree": part})
    assert isinstance(document.root, Opaque)
    assert document.root.schema == {**schema, "$defs": {"http://a.example/tree": {"$id": "http://a.example/tree", **part}}}
    waiting = [document.root.known, *document.definitions.values()]
    while waiting:
        assert not isinstance(waiting[-1], Opaque)
        waiting.extend(children(waiting.pop()))
    assert read_schema(write_schema(document)) == document


def test_schema_without_type_is_a_union_that_implies_one() -> None:
    """A keyword speaks only to its own type, so all others are accepted; what is meant can still be told."""
    root = read_schema({"properties": {"a": STRING}}).root
    assert is_untyped(root)
    assert implied(root) == ObjectType(fields=(Field("a", StringType(), required=False),))
    both = read_schema({"minLength": 1, "minimum": 1}).root
    assert implied(both) is both
    assert implied(StringType()) == StringType()


# Schemas for a tool's arguments, which are objects, and the root that they read as.
ARGUMENTS: list[tuple[Any, Type]] = [
    ({}, ObjectType()),
    (True, ObjectType()),
    ({"description": "d"}, ObjectType(description="d")),
    ({"properties": {"a": STRING}}, ObjectType(fields=(Field("a", StringType(), required=False),))),
    ({"type": ["object", "null"]}, ObjectType()),
    ({"$ref": "#/$defs/A", "$defs": {"A": POINT}}, ObjectType(fields=(Field("x", NumberType()),))),
    ({"type": "string"}, StringType()),
    (
        {"type": "object", "properties": {"a": STRING}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        Opaque(
            schema={"type": "object", "properties": {"a": STRING}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            known=ObjectType(fields=(Field("a", StringType(), required=False),)),
        ),
    ),
    ({"not": {"required": ["a"]}}, Opaque(schema={"not": {"required": ["a"]}}, known=ObjectType())),
]


@pytest.mark.parametrize(("schema", "root"), ARGUMENTS)
def test_arguments_are_an_object(schema: Any, root: Type) -> None:
    """The root of a tool's schema is one object, even where the schema does not say so."""
    assert read_schema(schema, arguments=True).root == root


# Invalid schemas: the schema, and every problem as (path, part of the message).
INVALID: list[tuple[Any, list[tuple[str, str]]]] = [
    (3, [("$", "an object or a boolean, not a number")]),
    ({"type": "strin"}, [("$.type", 'write "string"')]),
    ({"type": "dict"}, [("$.type", 'write "object"')]),
    ({"type": "whatever"}, [("$.type", "the types are")]),
    ({"type": []}, [("$.type", "name of a type")]),
    ({"type": ["string", 3]}, [("$.type", "3 is no type")]),
    (
        {"minimum": "x", "maximum": True, "maxLength": -1, "minItems": 1.5, "multipleOf": 0},
        [
            ("$.minimum", "a number"),
            ("$.maximum", "a number"),
            ("$.maxLength", "at least 0"),
            ("$.minItems", "at least 0"),
            ("$.multipleOf", "more than 0"),
        ],
    ),
    ({"minimum": float("nan")}, [("$.minimum", "a number")]),
    ({"minimum": 3, "exclusiveMinimum": True}, [("$.exclusiveMinimum", "the limit itself")]),
    ({"properties": {"a": {"type": "string", "required": True}}}, [("$.properties.a.required", "`required` of the object")]),
    ({"required": "a"}, [("$.required", "array of names")]),
    ({"properties": []}, [("$.properties", "an object, not an array")]),
    ({"properties": {"a b": "string"}}, [("$.properties['a b']", "an object or a boolean, not text")]),
    ({"items": {"items": 1}}, [("$.items.items", "an object or a boolean")]),
    ({"items": [1], "additionalItems": 2}, [("$.items[0]", "an object or a boolean"), ("$.additionalItems", "an object or a boolean")]),
    ({"anyOf": []}, [("$.anyOf", "at least one")]),
    ({"anyOf": {}}, [("$.anyOf", "an array")]),
    ({"enum": "a"}, [("$.enum", "an array")]),
    ({"pattern": "("}, [("$.pattern", "no regular expression")]),
    ({"patternProperties": {"(": {}}}, [("$.patternProperties['(']", "no regular expression")]),
    ({"description": 3, "deprecated": "yes"}, [("$.description", "text"), ("$.deprecated", "true or false")]),
    ({"if": 1, "then": {"not": {"type": "x"}}}, [("$.if", "an object or a boolean"), ("$.then.not.type", "no type")]),
    ({"dependentRequired": {"a": "b"}}, [("$.dependentRequired", "array of names")]),
    ({"$ref": "#/$defs/none"}, [("$['$ref']", "leads nowhere in this document")]),
    ({"$ref": "http://a.example/none"}, [("$['$ref']", "nothing is fetched")]),
    ({"$ref": 3}, [("$['$ref']", "text")]),
    ({"$schema": "http://a.example/mine"}, [("$['$schema']", "is not known")]),
    ({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "int"}}}, [("$['$defs'].a.type", 'write "integer"')]),
    ({"$ref": "#"}, [("$", "without an end: 'root' -> 'root'")]),
    ({"not": {"$ref": "#"}}, [("$", "without an end")]),
    (
        {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {}]}}},
        [("$['$defs'].", "without an end")],
    ),
]


@pytest.mark.parametrize(("schema", "problems"), INVALID)
def test_invalid_schema_is_refused_with_every_problem(schema: Any, problems: list[tuple[str, str]]) -> None:
    """Every problem is named with its path, all at once, and what is left can still be had."""
    with pytest.raises(InvalidSchema) as caught:
        read_schema(schema)
    found = [(problem.path, problem.message) for problem in caught.value.problems]
    assert len(found) == len(problems)
    for (path, message), (expected_path, part) in zip(found, problems, strict=True):
        assert path.startswith(expected_path)
        assert part in message
    assert all(f"{path}: {message}" in str(caught.value) for path, message in found)
    assert isinstance(caught.value, ToolboxError | ValueError)
    document = caught.value.document
    assert document is not None
    assert read_schema(write_schema(document)) == document


def test_resources_are_read_and_nothing_else() -> None:
    """Other documents are used when they are given; problems in them are named by their address."""
    resources = {"http://a.example/point.json": {"$defs": {"n": {"type": "number"}}, "properties": {"x": {"$ref": "#/$defs/n"}}}}
    schema = {"items": {"$ref": "http://a.example/point.json"}}
    assert normalise(schema, resources=resources) == {
        "items": {"$ref": "#/$defs/point"},
        "$defs": {"point": {"properties": {"x": {"$ref": "#/$defs/n"}}}, "n": {"type": "number"}},
    }
    with pytest.raises(InvalidSchema, match=r"\$\['http://a.example/s'\].type"):
        read_schema({"$ref": "http://a.example/s"}, resources={"http://a.example/s": {"type": "x"}})


def test_schema_is_not_changed() -> None:
    """Reading and writing leave the caller's schema as it was."""
    schema = {"items": [{"type": "string"}], "not": {"$ref": "#/definitions/a"}, "definitions": {"a": {"const": [1]}}}
    before = repr(schema)
    write_schema(read_schema(schema))
    assert repr(schema) == before


# The validator


def test_validator_names_places_and_hides_values() -> None:
    """Every error has the place of the value, and the value itself is not in the text."""
    check = build_validator({"properties": {"a": {"items": {"not": {"type": "string"}}}}, "required": ["b"]})
    assert check({"b": 1}) == []
    found = check({"a": [1, "secret"]})
    assert sorted(path for path, _ in found) == [(), ("a", 1)]
    assert all("secret" not in text for _, text in found)


class _Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [_Text("a"), "\ud800", 10**400, {"a": (1, 2)}, {1: 2}, object(), float("nan"), {"\udc00": _Text("x")}],
    ids=lambda value: type(value).__name__,
)
def test_validator_takes_any_value(value: Any) -> None:
    """Values that are not plain JSON are checked or refused, and never an exception."""
    assert isinstance(build_validator({"not": {"type": "boolean"}})(value), list)


def test_validator_is_asked_for_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra there is an error that says what to install."""
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    with pytest.raises(MissingValidator, match=re.escape('pip install "toolbox-dispatch[schema]"')):
        build_validator({"not": {}})


def test_validator_never_fetches() -> None:
    """A reference to elsewhere is refused."""
    with pytest.raises(InvalidSchema, match=r"(?s)http://a\.example"):
        build_validator({"$ref": "http://a.example/x"})


# Bounds


def _nested(depth: int, **keywords: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, **keywords}
    return schema


def _shared(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema, "b": schema}}
    return schema


def _endless() -> dict[str, Any]:
    schema: dict[str, Any] = {}
    schema["properties"] = {"a": schema}
    return schema


LARGE: dict[str, Any] = {
    "properties": {"type": "object", "properties": {f"p{i}": {"type": "string", "minLength": 1} for i in range(5_000)}},
    "choices": {"type": "string", "enum": [f"v{i}" for i in range(10_000)]},
    "depth": _nested(60),
    "opaque depth": _nested(60, **{"not": {"type": "null"}}),
    "ring of references": {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{i}": {"properties": {"next": {"$ref": f"#/$defs/d{(i + 1) % 2_000}"}}} for i in range(2_000)},
    },
    "chain of references": {"$ref": "#/$defs/0", "$defs": {**{str(i): {"$ref": f"#/$defs/{i + 1}"} for i in range(2_000)}, "2000": {}}},
    "chain of meetings": {
        "$ref": "#/$defs/0",
        "$defs": {**{str(i): {"minLength": i, "$ref": f"#/$defs/{i + 1}"} for i in range(300)}, "300": {}},
    },
    "doubling": {"$ref": "#/$defs/0", "$defs": {**{str(i): {"allOf": [{"$ref": f"#/$defs/{i + 1}"}] * 2} for i in range(60)}, "60": POINT}},
    "products": {"allOf": [{"anyOf": [{"required": [f"{key}{i}"]} for i in range(6)]} for key in "abcdef"]},
    "many members": {"anyOf": [{"type": "object", "properties": {"k": {"const": i}}} for i in range(1_000)]},
}


@pytest.mark.parametrize("schema", LARGE.values(), ids=LARGE)
def test_large_schemas_are_read(schema: Any) -> None:
    """Size and depth within the bounds are no reason to refuse a schema."""
    assert write_schema(read_schema(schema))


@pytest.mark.parametrize("schema", [_nested(300), _endless(), _shared(20)], ids=["deep", "in itself", "doubling"])
def test_hostile_schemas_are_refused(schema: Any) -> None:
    """Bounds on depth and size hold for Python objects too that hold themselves."""
    with pytest.raises(InvalidSchema, match=r"levels deep|more than") as caught:
        read_schema(schema)
    assert caught.value.document is None


# Laws over drawn nodes

NAMES = st.sampled_from(["a", "b", "title", "type", "$ref", "properties", "x/y", "ü"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5).map(lambda x: round(x, 2)) | st.text("ab%", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=3,
)
TEXTS = st.none() | st.text("dt ", min_size=1, max_size=3)
COUNTS = st.none() | st.integers(0, 4)
LIMITS = st.none() | st.integers(-5, 5) | st.sampled_from([0.5, 1.5, -2.25])
DESCRIBING: dict[str, st.SearchStrategy[Any]] = {
    "title": TEXTS,
    "description": TEXTS,
    "deprecated": st.booleans(),
    "examples": st.lists(JSON, max_size=2).map(tuple),
    "default": st.just(ABSENT) | JSON,
}
DEFINED = ("D1", "D/2")


def described(kind: type[Type], **attributes: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Nodes of a kind, mostly without texts."""
    return st.builds(kind, **attributes) | st.builds(kind, **attributes, **DESCRIBING)


def distinct(values: list[Any]) -> tuple[Any, ...]:
    """The values of an enum, of which JSON Schema holds none to be equal."""
    return tuple({identity(value): value for value in values}.values())


NUMBERS = {
    "minimum": LIMITS,
    "maximum": LIMITS,
    "exclusive_minimum": LIMITS,
    "exclusive_maximum": LIMITS,
    "multiple_of": st.sampled_from([None, 1, 2.5]),
}
LEAVES = st.one_of(
    described(AnyType),
    described(NeverType),
    described(NullType),
    described(BooleanType),
    described(IntegerType, **NUMBERS),
    described(NumberType, **NUMBERS),
    described(
        StringType,
        min_length=COUNTS,
        max_length=COUNTS,
        pattern=st.sampled_from([None, "^a", r"\d+$"]),
        format=st.sampled_from([None, "date", "made-up"]),
        encoding=st.sampled_from([None, "base64"]),
    ),
    described(
        EnumType,
        values=st.lists(JSON.filter(lambda x: not isinstance(x, dict | list)), min_size=1, max_size=4).map(distinct),
        open=st.booleans(),
    ),
    described(Ref, name=st.sampled_from(DEFINED)),
    st.sampled_from([schema for schema, _ in OPAQUE if "$ref" not in schema]).map(lambda schema: read_schema(schema).root),
)


@st.composite
def nodes(draw: st.DrawFn, depth: int = 3) -> Type:
    """Nodes of every kind, in the form in which the reader makes them."""
    kind = draw(st.sampled_from(["leaf", "array", "object", "union", "untyped"])) if depth else "leaf"
    texts = draw(st.just({}) | st.fixed_dictionaries(DESCRIBING))

    def inner() -> Type:
        return draw(nodes(depth=depth - 1))

    if kind == "array":
        prefix = tuple(inner() for _ in range(draw(st.integers(0, 2))))
        most = draw(COUNTS)
        # Where there is no room for more items, nothing is said about them.
        items = AnyType() if prefix and most is not None and most <= len(prefix) else inner()
        return ArrayType(items=items, prefix=prefix, min_items=draw(COUNTS), max_items=most, unique_items=draw(st.booleans()), **texts)
    if kind == "object":
        names = draw(st.lists(NAMES, max_size=3, unique=True))
        fields = tuple(Field(name, inner(), draw(st.booleans())) for name in names)
        additional = inner() if draw(st.booleans()) else None
        return ObjectType(fields=fields, additional=additional, min_properties=draw(COUNTS), max_properties=draw(COUNTS), **texts)
    if kind == "union":
        # Members that accept nothing are left out, and text beside choices is an open enum.
        members = [member if type(member) is not NeverType else NullType() for member in (inner(), inner(), inner())]
        return UnionType(members=tuple(members), discriminator=draw(st.sampled_from([None, "a"])), one_of=draw(st.booleans()), **texts)
    if kind == "untyped":
        text = StringType(min_length=draw(COUNTS))
        return UnionType(members=(NullType(), BooleanType(), NumberType(), text, ArrayType(items=inner()), ObjectType()), **texts)
    leaf: Type = draw(LEAVES)
    return leaf


def consumed(node: Type) -> Type:
    """A definition that goes into its value before it refers to anything, so that it can't lead back to itself for the same value."""
    return ObjectType(fields=(Field("inner", node, required=False),))


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Documents whose definitions may refer to each other and to themselves; those that nothing refers to are left out."""
    root = draw(nodes())
    definitions = {name: consumed(draw(nodes(depth=1))) for name in DEFINED}
    found: dict[str, Type] = {}
    waiting = [root]
    while waiting:
        for name in _refs(waiting.pop()):
            if name not in found:
                found[name] = definitions[name]
                waiting.append(found[name])
    return Document(root, found)


def _refs(node: Type) -> list[str]:
    from toolbox.types import refs_in

    return list(refs_in(node))


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(documents())
def test_what_is_written_reads_as_the_same(document: Document) -> None:
    """The first law: reading is the inverse of writing; and writing the result again changes nothing, key order included."""
    written = write_schema(document)
    again = read_schema(written)
    assert again == document
    assert list(again.definitions) == list(written.get("$defs", {}))
    assert repr(write_schema(again)) == repr(written)


# The second law over schemas that are drawn as dictionaries, without the writer


@st.composite
def canonical_schemas(draw: st.DrawFn, depth: int = 3) -> dict[str, Any]:
    """Schemas in the form in which they are written, made without the writer."""
    kinds = ["string", "integer", "boolean", "null", "enum", "any", "ref"] + ["array", "object", "union"] * (depth > 0)
    kind = draw(st.sampled_from(kinds))

    def inner() -> dict[str, Any]:
        return draw(canonical_schemas(depth=depth - 1))

    schema: dict[str, Any]
    if kind == "enum":
        schema = {"type": "string", "enum": draw(st.lists(st.text("ab"), min_size=1, unique=True))}
    elif kind == "any":
        schema = {}
    elif kind == "ref":
        schema = {"$ref": "#/$defs/D"}
    elif kind == "array":
        schema = {
            "type": "array",
            "items": inner(),
            **draw(st.fixed_dictionaries({}, optional={"minItems": st.integers(0, 3), "uniqueItems": st.just(True)})),
        }
    elif kind == "object":
        names = draw(st.lists(NAMES, unique=True, max_size=3))
        schema = {"type": "object", "properties": {name: inner() for name in names}}
        required = [name for name in names if draw(st.booleans())]
        if required:
            schema["required"] = required
        if draw(st.booleans()):
            schema["additionalProperties"] = draw(st.booleans())
    elif kind == "union":
        members = [inner(), inner()]
        if members[1] == {"type": "string"}:
            members.reverse()
        schema = {draw(st.sampled_from(["anyOf", "oneOf"])): members}
    else:
        schema = {"type": kind}
        if kind == "string":
            schema |= draw(
                st.fixed_dictionaries({}, optional={"minLength": st.integers(0, 3), "pattern": st.just("^a"), "format": st.just("date")})
            )
        if kind == "integer":
            schema |= draw(st.fixed_dictionaries({}, optional={"minimum": st.integers(), "multipleOf": st.just(2)}))
    return schema | draw(st.fixed_dictionaries({}, optional={"description": st.text("d"), "default": JSON}))


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(canonical_schemas(), canonical_schemas(depth=1))
def test_schema_in_its_written_form_comes_back(schema: dict[str, Any], definition: dict[str, Any]) -> None:
    """The second law: a schema of supported keywords is written exactly as it came, once it is in the written form."""
    whole = {**schema}
    if "#/$defs/D" in repr([schema]):
        whole["$defs"] = {"D": {"type": "object", "properties": {"inner": definition}}}
    assert write_schema(read_schema(whole)) == whole


def test_mapping_is_what_definitions_are() -> None:
    """Definitions are looked up by name."""
    assert isinstance(read_schema({}).definitions, Mapping)
