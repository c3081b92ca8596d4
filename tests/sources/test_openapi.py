"""The operations of an OpenAPI document: names, arguments and schemas; what is chosen; what is reported."""

import copy
import json
from typing import Any

import pytest

from toolbox import LENIENT, RegistrationError, Registry
from toolbox.sources import Operation, Request, SourceTool, read_openapi


def _document(paths: dict[str, Any], version: str = "3.1.0", **components: Any) -> dict[str, Any]:
    return {"openapi": version, "info": {"title": "t", "version": "1"}, "paths": paths, "components": components}


def _operation(version: str = "3.1.0", path: str = "/x", method: str = "post", /, **fields: Any) -> dict[str, Any]:
    components = fields.pop("components", {})
    return _document({path: {method: fields}}, version, **components)


def _same(request: Request) -> Request:
    return request


def _only(described: dict[str, Any]) -> SourceTool:
    found = read_openapi(described, _same)
    assert not found.problems
    [tool] = found
    return tool


def _parameter(name: str, location: str, schema: Any = None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "in": location, "schema": {"type": "string"} if schema is None else schema, **fields}


def _json_body(schema: Any, required: bool = True, **fields: Any) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}, "required": required, **fields}


# -- names and descriptions ----------------------------------------------------------------------------------------------------------

TOOL_NAMES = [
    ("get", "/pets", "listPets", "listPets"),
    ("get", "/pets", None, "GET_pets"),
    ("get", "/pets/{petId}", None, "GET_pets_petId"),
    ("post", "/", "pets.create", "pets_create"),
    ("post", "/", "Create a pet!", "Create_a_pet"),
    ("get", "/", None, "GET"),
]


@pytest.mark.parametrize(("method", "path", "operation_id", "name"), TOOL_NAMES)
def test_tool_names(method: str, path: str, operation_id: str | None, name: str) -> None:
    """From the operation's id, else from method and path."""
    fields = {"operationId": operation_id} if operation_id else {}
    in_path = [_parameter("petId", "path", required=True)] if "{petId}" in path else []
    assert _only(_document({path: {method: {**fields, "parameters": in_path}}})).name == name


def test_names_do_not_depend_on_what_is_chosen() -> None:
    """Operations whose names would be the same are told apart, also when only one of them is asked for."""
    described = _document({"/a/b": {"get": {}}, "/a_b": {"get": {}}, "/c": {"get": {"operationId": "x"}, "put": {"operationId": "x"}}})
    every = read_openapi(described, _same, prefix="p_")
    assert len({tool.name for tool in every}) == 4
    assert all(tool.name.startswith("p_") for tool in every)
    for tool in every:
        method, path = tool.origin.split()
        [alone] = read_openapi(described, _same, [(method, path)], prefix="p_")
        assert alone.name == tool.name


DESCRIPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"summary": "List.", "description": "All of them."}, "List.\n\nAll of them."),
    ({"summary": "List"}, "List"),
    ({"description": "All of them."}, "All of them."),
    ({"summary": "List", "description": "List all of them."}, "List all of them."),
    ({"summary": "List", "deprecated": True}, "Deprecated.\n\nList"),
    ({}, ""),
]


@pytest.mark.parametrize(("fields", "expected"), DESCRIPTIONS)
def test_descriptions(fields: dict[str, Any], expected: str) -> None:
    """Summary and description, said once."""
    assert _only(_operation(**fields)).description == expected


@pytest.mark.parametrize(
    ("method", "hints"),
    [("get", {"readOnlyHint": True}), ("post", {}), ("put", {"idempotentHint": True}), ("delete", {"idempotentHint": True})],
)
def test_hints_of_the_method(method: str, hints: dict[str, Any]) -> None:
    """What HTTP says of a method, in the words of MCP."""
    assert _only(_document({"/x": {method: {}}})).annotations == hints


# -- arguments: the operation, its schema without $defs, and names in the request -------------------------------------------------------

STR, INT = {"type": "string"}, {"type": "integer"}
ARGUMENTS: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    (
        "every location in one object",
        {
            "parameters": [
                _parameter("q", "query"),
                _parameter("X-Trace", "header"),
                _parameter("id", "path", INT),
                _parameter("seen", "cookie"),
            ],
            "requestBody": _json_body({"type": "object", "properties": {"name": STR, "age": INT}, "required": ["name"]}),
        },
        {"id": INT, "q": STR, "X_Trace": STR, "seen": STR, "name": STR, "age": INT},
        ["id", "name"],
    ),
    (
        "clashes between locations: the later gets a suffix",
        {"parameters": [_parameter("id", "query"), _parameter("id", "path", INT), _parameter("id", "header"), _parameter("ID", "header")]},
        {"id": INT, "id_query": STR, "id_header": STR, "ID": STR},
        ["id"],
    ),
    (
        "a body with a name that a parameter has stands under body",
        {"parameters": [_parameter("id", "path", INT)], "requestBody": _json_body({"type": "object", "properties": {"id": INT, "n": STR}})},
        {"id": INT, "body": {"type": "object", "properties": {"id": INT, "n": STR}}},
        ["id", "body"],
    ),
    (
        "body is taken as well",
        {
            "parameters": [_parameter("id", "path", INT), _parameter("body", "query")],
            "requestBody": _json_body({"type": "object", "properties": {"id": INT}}),
        },
        {"id": INT, "body": STR, "request_body": {"type": "object", "properties": {"id": INT}}},
        ["id", "request_body"],
    ),
    (
        "names are made legal",
        {"parameters": [_parameter("id", "path", INT)], "requestBody": _json_body({"type": "object", "properties": {"first-name": STR}})},
        {"id": INT, "first_name": STR},
        ["id"],
    ),
    (
        "the operation's parameter stands instead of the path's",
        {"parameters": [_parameter("id", "path", INT, description="own")]},
        {"id": {**INT, "description": "own"}},
        ["id"],
    ),
]


@pytest.mark.parametrize(("what", "fields", "properties", "required"), ARGUMENTS, ids=[row[0] for row in ARGUMENTS])
def test_arguments(what: str, fields: dict[str, Any], properties: dict[str, Any], required: list[str]) -> None:
    """The parameters of all locations and the body are one object."""
    described = _document({"/x/{id}": {"parameters": [_parameter("id", "path")], "put": fields}})
    tool = _only(described)
    assert tool.schema["properties"] == properties
    assert list(tool.schema["properties"]) == list(properties)
    assert tool.schema["required"] == required


def test_names_of_one_location_that_become_the_same() -> None:
    """They are told apart by a digest, and each goes under its own name."""
    tool = _only(_operation("3.1.0", "/x", "get", parameters=[_parameter("filter[a]", "query"), _parameter("filter.a", "query")]))
    first, second = tool.schema["properties"]
    assert first.startswith("filter_a_")
    assert second.startswith("filter_a_")
    assert tool.handler(**{first: "1", second: "2"}).url == "/x?filter%5Ba%5D=1&filter.a=2"


def test_renamed_arguments_go_under_their_own_names() -> None:
    """The names in the request are those of the document."""
    described = _document(
        {
            "/x/{pet-id}": {
                "put": {
                    "parameters": [
                        _parameter("pet-id", "path"),
                        _parameter("pet-id", "query"),
                        _parameter("X-Trace-Id", "header"),
                        _parameter("pet-id", "cookie"),
                    ],
                    "requestBody": _json_body({"type": "object", "properties": {"first-name": STR, "$ref": STR}}),
                }
            }
        }
    )
    tool = _only(described)
    assert list(tool.schema["properties"]) == ["pet_id", "pet_id_query", "X_Trace_Id", "pet_id_cookie", "first_name", "ref"]
    request = tool.handler(pet_id="a", pet_id_query="b", X_Trace_Id="c", pet_id_cookie="d", first_name="e", ref="f")
    assert request.url == "/x/a?pet-id=b"
    assert request.headers == {"X-Trace-Id": "c", "Content-Type": "application/json"}
    assert request.cookies == {"pet-id": "d"}
    assert request.json == {"first-name": "e", "$ref": "f"}


# -- when the properties of a body stand on their own ----------------------------------------------------------------------------------

OPEN = {"type": "object", "properties": {"a": STR}, "required": ["a"]}
MERGED: list[tuple[str, Any, bool, list[str]]] = [
    ("properties", OPEN, True, ["a"]),
    ("properties without a type", {"properties": {"a": STR}}, True, ["a"]),
    ("closed", {**OPEN, "additionalProperties": False}, True, ["a"]),
    ("a reference", {"$ref": "#/components/schemas/Pet"}, True, ["name", "tag"]),
    ("parts", {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"type": "object", "properties": {"a": STR}}]}, True, ["name", "tag", "a"]),
    ("optional as a whole, nothing required", {"type": "object", "properties": {"a": STR}}, False, ["a"]),
    ("optional as a whole, something required", OPEN, False, ["body"]),
    ("further properties", {**OPEN, "additionalProperties": True}, True, ["body"]),
    ("further properties with a schema", {**OPEN, "additionalProperties": STR}, True, ["body"]),
    ("no properties", {"type": "object"}, True, ["body"]),
    ("anything", {}, True, ["body"]),
    ("a boolean", True, True, ["body"]),
    ("an array", {"type": "array", "items": STR}, True, ["body"]),
    ("a choice", {"anyOf": [OPEN, {"type": "object", "properties": {"b": STR}}]}, True, ["body"]),
    ("a choice beside properties", {**OPEN, "oneOf": [{}]}, True, ["body"]),
    ("or null", {**OPEN, "type": ["object", "null"]}, True, ["body"]),
    ("at least some", {**OPEN, "minProperties": 1}, True, ["body"]),
    ("subtypes", {**OPEN, "discriminator": {"propertyName": "a"}}, True, ["body"]),
    ("required but not described", {**OPEN, "required": ["a", "b"]}, True, ["body"]),
    ("a part that forbids the rest", {"allOf": [{**OPEN, "additionalProperties": False}, {"properties": {"b": STR}}]}, True, ["body"]),
    ("a reference and more", {"$ref": "#/components/schemas/Pet", "minProperties": 2}, True, ["body"]),
    ("only for responses", {"type": "object", "properties": {"a": {**STR, "readOnly": True}}}, True, ["body"]),
]


@pytest.mark.parametrize(("what", "schema", "required", "arguments"), MERGED, ids=[row[0] for row in MERGED])
def test_when_the_properties_of_a_body_stand_on_their_own(what: str, schema: Any, required: bool, arguments: list[str]) -> None:
    """Only when the schema says nothing else about the object."""
    pet = {"type": "object", "properties": {"id": {**INT, "readOnly": True}, "name": STR, "tag": STR}, "required": ["id", "name"]}
    tool = _only(_operation(requestBody=_json_body(schema, required), components={"schemas": {"Pet": pet}}))
    assert list(tool.schema["properties"]) == arguments
    needed = tool.schema.get("required", [])
    assert ("body" in needed) == (arguments == ["body"] and required)


def test_a_property_in_several_parts_keeps_what_each_says() -> None:
    """Both schemas hold."""
    parts = [
        {"type": "object", "properties": {"n": INT}},
        {"type": "object", "properties": {"n": {"minimum": 1}, "m": STR}},
        {"properties": {"m": STR}},
    ]
    tool = _only(_operation(requestBody=_json_body({"allOf": parts})))
    assert tool.schema["properties"] == {"n": {"allOf": [INT, {"minimum": 1}]}, "m": STR}


SENT_BODIES: list[tuple[Any, bool, dict[str, Any], bytes | None]] = [
    (OPEN, True, {"a": "x"}, b'{"a":"x"}'),
    ({"type": "object", "properties": {"a": STR}}, True, {}, b"{}"),
    ({"type": "object", "properties": {"a": STR}}, False, {}, None),
    ({"type": "object", "properties": {"a": STR}}, False, {"a": "x"}, b'{"a":"x"}'),
    (OPEN, False, {}, None),
    (OPEN, False, {"body": {"a": "é"}}, '{"a":"é"}'.encode()),
    ({"type": ["object", "null"]}, True, {"body": None}, b"null"),
    ({"type": "array"}, True, {"body": []}, b"[]"),
    ({}, False, {"body": 0}, b"0"),
]


@pytest.mark.parametrize(("schema", "required", "arguments", "sent"), SENT_BODIES)
def test_which_bodies_are_sent(schema: Any, required: bool, arguments: dict[str, Any], sent: bytes | None) -> None:
    """A body that was not given is not sent, unless there must be one."""
    request = _only(_operation(requestBody=_json_body(schema, required))).handler(**arguments)
    assert request.body == sent
    assert request.headers == ({} if sent is None else {"Content-Type": "application/json"})
    assert request.json == (None if sent is None else json.loads(sent))


# -- schemas -----------------------------------------------------------------------------------------------------------------------

NODE = {"type": "object", "properties": {"name": STR, "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}}}


def test_recursion_stays_in_the_definitions() -> None:
    """A schema that holds itself is kept as a definition; each tool has only those that it needs."""
    tool = _only(
        _operation(requestBody=_json_body({"$ref": "#/components/schemas/Node"}), components={"schemas": {"Node": NODE, "Other": STR}})
    )
    node = {"type": "object", "properties": {"name": STR, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
    assert tool.schema["properties"] == node["properties"]
    assert tool.schema["$defs"] == {"Node": node}


REFERENCES: list[tuple[str, dict[str, Any]]] = [
    ("#/components/schemas/a~1b", {"schemas": {"a/b": INT}}),
    ("#/components/schemas/a%20b", {"schemas": {"a b": INT}}),
    ("#/components/schemas/a/properties/b", {"schemas": {"a": {"properties": {"b": INT}}}}),
    ("#/components/schemas/a/prefixItems/1", {"schemas": {"a": {"prefixItems": [STR, INT]}}}),
    ("#/components/schemas/a/$defs/b", {"schemas": {"a": {"$defs": {"b": INT}}}}),
    ("#here", {"schemas": {"a": {"properties": {"b": {"$anchor": "here", **INT}}}}}),
    ("https://example.com/a", {"schemas": {"a": {"$id": "https://example.com/a", **INT}}}),
    ("https://example.com/a#/properties/b", {"schemas": {"a": {"$id": "https://example.com/a", "properties": {"b": INT}}}}),
    ("#/components/parameters/p/schema", {"parameters": {"p": _parameter("p", "query", INT)}}),
]


@pytest.mark.parametrize(("reference", "components"), REFERENCES)
def test_references_of_schemas(reference: str, components: dict[str, Any]) -> None:
    """By pointer to any place, by anchor, by address."""
    tool = _only(_operation(parameters=[_parameter("n", "query", {"$ref": reference})], components=components))
    [(name, definition)] = tool.schema["$defs"].items()
    assert tool.schema["properties"]["n"] == {"$ref": f"#/$defs/{name}"}
    assert definition == INT
    assert (
        not Registry(LENIENT)
        .include_openapi(_operation(parameters=[_parameter("n", "query", {"$ref": reference})], components=components), _same)
        .problems
    )


def test_definitions_of_the_same_name_are_told_apart() -> None:
    """What two places call the same stays two definitions."""
    components = {"schemas": {"Pet": INT, "Toy": {"$defs": {"Pet": STR}, "type": "object"}}}
    references = {"a": "#/components/schemas/Pet", "b": "#/components/schemas/Toy/$defs/Pet"}
    listed = [_parameter(name, "query", {"$ref": reference}) for name, reference in references.items()]
    tool = _only(_operation(parameters=listed, components=components))
    assert tool.schema["$defs"] == {"Pet": INT, "Pet_2": STR}
    assert [item["$ref"] for item in tool.schema["properties"].values()] == ["#/$defs/Pet", "#/$defs/Pet_2"]


def test_references_of_everything_else() -> None:
    """Parameters, bodies, path items and media types may be references, also to references."""
    described = _document(
        {"/x/{id}": {"$ref": "#/components/pathItems/x"}},
        pathItems={
            "x": {
                "put": {"parameters": [{"$ref": "#/components/parameters/again"}], "requestBody": {"$ref": "#/components/requestBodies/b"}}
            }
        },
        parameters={"again": {"$ref": "#/components/parameters/id", "description": "Which."}, "id": _parameter("id", "path", INT)},
        requestBodies={"b": _json_body({"$ref": "#/components/schemas/S"})},
        schemas={"S": {"type": "object", "properties": {"n": STR}}},
    )
    tool = _only(described)
    assert tool.schema["properties"] == {"id": {**INT, "description": "Which."}, "n": STR}
    assert tool.handler(id=1, n="a").url == "/x/1"


def test_a_property_that_is_called_like_a_keyword_stays() -> None:
    """Properties are told from keywords, and data from schemas."""
    properties = {"$ref": STR, "readOnly": STR, "xml": STR, "x-note": STR, "required": STR, "example": STR}
    schema = {"type": "object", "properties": properties, "default": {"$ref": "#/nowhere", "xml": 1}, "minProperties": 1}
    tool = _only(_operation(requestBody=_json_body(schema)))
    assert tool.schema["properties"]["body"] == schema


READ_ONLY = {**STR, "readOnly": True}
READ_ONLY_CASES: list[tuple[str, str, Any, Any]] = [
    (
        "a property and its requirement",
        "3.1.0",
        {"type": "object", "properties": {"id": READ_ONLY, "n": STR}, "required": ["id", "n"]},
        {"type": "object", "properties": {"n": STR}, "required": ["n"]},
    ),
    (
        "the only requirement",
        "3.1.0",
        {"type": "object", "properties": {"id": READ_ONLY}, "required": ["id"]},
        {"type": "object", "properties": {}},
    ),
    (
        "by reference",
        "3.0.3",
        {"type": "object", "properties": {"id": {"$ref": "#/components/schemas/Id"}}},
        {"type": "object", "properties": {}},
    ),
    (
        "beside a reference, 3.1",
        "3.1.0",
        {"type": "object", "properties": {"id": {"$ref": "#/components/schemas/Plain", "readOnly": True}}},
        {"type": "object", "properties": {}},
    ),
    (
        "beside a reference means nothing in 3.0",
        "3.0.3",
        {"type": "object", "properties": {"id": {"$ref": "#/components/schemas/Plain", "readOnly": True}}},
        {"type": "object", "properties": {"id": {"$ref": "#/$defs/Plain"}}},
    ),
    (
        "around a reference",
        "3.0.3",
        {"type": "object", "properties": {"id": {"allOf": [{"$ref": "#/components/schemas/Plain"}], "readOnly": True}}},
        {"type": "object", "properties": {}},
    ),
    (
        "required by another part",
        "3.1.0",
        {"allOf": [{"properties": {"id": READ_ONLY, "n": STR}}, {"required": ["id", "n"]}]},
        {"allOf": [{"properties": {"n": STR}}, {"required": ["n"]}]},
    ),
    (
        "written by requests only",
        "3.1.0",
        {"type": "object", "properties": {"n": {**STR, "writeOnly": True}}},
        {"type": "object", "properties": {"n": STR}},
    ),
]


@pytest.mark.parametrize(("what", "version", "schema", "expected"), READ_ONLY_CASES, ids=[row[0] for row in READ_ONLY_CASES])
def test_what_only_responses_hold_is_left_out(what: str, version: str, schema: Any, expected: Any) -> None:
    """At every depth, with its requirement."""
    described = _operation(
        version,
        requestBody=_json_body({"type": "array", "items": schema}),
        components={"schemas": {"Id": READ_ONLY, "Plain": STR}},
    )
    before = copy.deepcopy(described)
    assert _only(described).schema["properties"]["body"] == {"type": "array", "items": expected}
    assert described == before


def test_what_describes_a_parameter_is_kept() -> None:
    """Description, default, choices, deprecation and examples."""
    fields = {"description": " Which. ", "deprecated": True, "example": "a"}
    schema = {"type": "string", "enum": ["a", "b"], "default": "a", "description": "inner", "xml": {}, "x-go": 1, "externalDocs": {}}
    tool = _only(_operation(parameters=[_parameter("p", "query", schema, **fields)]))
    expected = {"type": "string", "enum": ["a", "b"], "default": "a", "description": "Which.", "deprecated": True, "examples": ["a"]}
    assert tool.schema["properties"]["p"] == expected
    named = {"examples": {"one": {"value": 1}, "two": {"externalValue": "http://x"}}}
    assert _only(_operation(parameters=[_parameter("p", "query", INT, **named)])).schema["properties"]["p"] == {**INT, "examples": [1]}


NULLABLE = {"type": "string", "nullable": True, "enum": ["a", "b", None], "description": "N."}


def test_nullable_is_understood_in_3_0_only() -> None:
    """The dialect of the document goes with each tool."""
    body = _json_body({"type": "object", "properties": {"n": NULLABLE}, "required": ["n"]})
    for version, accepted in (("3.0.3", True), ("3.1.0", False)):
        registry = Registry(LENIENT)
        registry.include_openapi(_operation(version, operationId="t", requestBody=body), _same)
        assert registry.run("t", {"n": "b"}).ok
        assert registry.run("t", {"n": None}).ok is accepted


def test_boolean_limits_of_3_0() -> None:
    """``exclusiveMinimum: true`` changes what ``minimum`` means."""
    registry = Registry(LENIENT)
    schema = {"type": "integer", "minimum": 0, "exclusiveMinimum": True}
    registry.include_openapi(_operation("3.0.0", operationId="t", parameters=[_parameter("n", "query", schema)]), _same)
    assert registry.run("t", {"n": 1}).ok
    assert not registry.run("t", {"n": 0}).ok


def test_passwords_are_secret() -> None:
    """Parameters and properties with ``format: password`` are masked."""
    secret = {"type": "string", "format": "password"}
    body = _json_body({"type": "object", "properties": {"pass-word": {"$ref": "#/components/schemas/P"}, "n": STR}})
    described = _operation(
        operationId="t", parameters=[_parameter("pin", "header", secret)], requestBody=body, components={"schemas": {"P": secret}}
    )
    assert _only(described).secret == {"pin", "pass_word"}
    registry = Registry()
    registry.include_openapi(described, _same)
    assert registry["t"].secret == {"pin", "pass_word"}


# -- what is not the model's to set -----------------------------------------------------------------------------------------------------


def test_credentials_are_no_parameters() -> None:
    """Neither the headers that OpenAPI leaves to security schemes and media types, nor what the schemes name."""
    listed = [
        *(_parameter(name, "header") for name in ("Authorization", "Accept", "content-type", "Cookie", "Host", "x-api-key", "X-Other")),
        _parameter("token", "query"),
        _parameter("token", "cookie"),
        _parameter("sid", "cookie", required=True),
    ]
    schemes = {
        "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        "query": {"type": "apiKey", "in": "query", "name": "token"},
        "session": {"$ref": "#/components/securitySchemes/cookie"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
        "bearer": {"type": "http", "scheme": "bearer"},
        "broken": {"$ref": "#/nowhere"},
    }
    tool = _only(_operation(parameters=listed, components={"securitySchemes": schemes}))
    assert list(tool.schema["properties"]) == ["X_Other", "token"]
    assert "required" not in tool.schema
    assert tool.handler(token="t").cookies == {"token": "t"}


# -- choosing ------------------------------------------------------------------------------------------------------------------------

PETS = _document(
    {
        "/pets": {"get": {"operationId": "listPets", "tags": ["read"]}, "post": {"operationId": "addPet", "deprecated": True}},
        "/toys": {"summary": "Toys", "get": {}},
    }
)
CHOICES: list[tuple[Any, list[str]]] = [
    (None, ["listPets", "addPet", "GET_toys"]),
    (["listPets"], ["listPets"]),
    (["addPet", "listPets"], ["listPets", "addPet"]),
    ([("get", "/toys"), ("POST", "/pets")], ["addPet", "GET_toys"]),
    ({"listPets", ("GET", "/toys")}, ["listPets", "GET_toys"]),
    (lambda item: item.method == "GET", ["listPets", "GET_toys"]),
    (lambda item: "read" in item.tags and not item.deprecated, ["listPets"]),
    (lambda item: item.operation_id is None and item.summary == "Toys", ["GET_toys"]),
    ([], []),
]


@pytest.mark.parametrize(("operations", "names"), CHOICES)
def test_operations_are_chosen(operations: Any, names: list[str]) -> None:
    """By id, by method and path, by a function; in the order of the document."""
    found = read_openapi(PETS, _same, operations)
    assert [tool.name for tool in found] == names
    assert not found.problems


def test_operations_that_do_not_exist_are_problems() -> None:
    """With the names that look like them."""
    found = read_openapi(PETS, _same, ["listPet", ("GET", "/pet"), "zzz"])
    assert found.problems == (
        "there is no operation 'listPet'; did you mean 'listPets'?",
        "there is no operation 'GET /pet'",
        "there is no operation 'zzz'",
    )
    with pytest.raises(TypeError, match=r"pass \['listPets'\]"):
        read_openapi(PETS, _same, "listPets")


def test_an_operation_says_what_it_is() -> None:
    """Method and path."""
    assert str(Operation("GET", "/pets")) == "GET /pets"


# -- problems ------------------------------------------------------------------------------------------------------------------------

NO_DOCUMENT: list[tuple[Any, str]] = [
    ("openapi: 3.1.0", "pass the document as a dict"),
    ({}, "it says openapi: null"),
    ({"swagger": "2.0"}, "swagger 2.0; OpenAPI 3.0, 3.1 and 3.2 are read"),
    ({"openapi": "4.0.0", "paths": {}}, "4.0.0"),
    ({"openapi": 3.1, "paths": {}}, "3.1"),
    ({"openapi": "3.1.0"}, "its paths must be an object"),
    ({"openapi": "3.1.0", "paths": []}, "its paths must be an object"),
    ({"openapi": "3.1.0", "paths": {}, "jsonSchemaDialect": "http://json-schema.org/draft-07/schema#"}, "jsonSchemaDialect"),
]


@pytest.mark.parametrize(("described", "message"), NO_DOCUMENT)
def test_what_is_no_document(described: Any, message: str) -> None:
    """The error says what to pass."""
    with pytest.raises(RegistrationError) as caught:
        read_openapi(described, _same)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "described",
    [
        {"openapi": "3.1.0", "paths": {}},
        {"openapi": "3.1.0", "webhooks": {}},
        {"openapi": "3.0.3", "paths": {"x-note": 1, "/x": {"parameters": [], "servers": [], "x-y": {}}}},
        {"openapi": "3.2.0-rc1", "paths": {}},
        {"openapi": "3.1.0", "paths": {}, "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base"},
    ],
)
def test_documents_without_operations(described: Any) -> None:
    """They have no tools, and that is no problem."""
    found = read_openapi(described, _same)
    assert (len(found), found.problems) == (0, ())


DEEP: dict[str, Any] = {"type": "object"}
for _ in range(150):
    DEEP = {"type": "array", "items": DEEP}
CYCLE: dict[str, Any] = {"type": "array"}
CYCLE["items"] = {"anyOf": [CYCLE, CYCLE]}
SHARED: dict[str, Any] = {"type": "string"}
for _ in range(40):
    SHARED = {"anyOf": [SHARED, SHARED]}
PROBLEMS: list[tuple[str, dict[str, Any], str]] = [
    ("a parameter that leads nowhere", {"parameters": [{"$ref": "#/components/parameters/p"}]}, "leads nowhere"),
    ("a parameter outside", {"parameters": [{"$ref": "common.yaml#/p"}]}, "leads out of the document, and nothing is fetched"),
    ("a parameter in a circle", {"parameters": [{"$ref": "#/components/parameters/loop"}]}, "leads to itself"),
    ("a reference that is no text", {"parameters": [{"$ref": 5}]}, "must be text"),
    ("a parameter that is none", {"parameters": [5]}, "a parameter must be an object"),
    ("parameters that are none", {"parameters": {}}, "its parameters must be a list"),
    ("a parameter without a name", {"parameters": [{"in": "query"}]}, "a parameter has no name"),
    ("a location that is none", {"parameters": [_parameter("p", "body")]}, 'is in "body"; it can be in path, query, header, cookie'),
    ("a style that is none", {"parameters": [_parameter("p", "query", style="simple")]}, 'its style is "simple"'),
    ("two contents", {"parameters": [{"name": "p", "in": "query", "content": {}}]}, "exactly one media type"),
    (
        "a content that is not supported",
        {"parameters": [{"name": "p", "in": "query", "content": {"application/xml": {}}}]},
        "application/xml",
    ),
    ("a path parameter without a place", {"parameters": [_parameter("p", "path")]}, "does not stand in the path"),
    ("a schema that leads nowhere", {"parameters": [_parameter("p", "query", {"$ref": "#/components/schemas/P"})]}, "leads nowhere"),
    ("a schema in a definition", {"parameters": [_parameter("p", "query", {"$ref": "#/components/schemas/Bad"})]}, "leads nowhere"),
    ("a schema in a circle", {"requestBody": _json_body({"$ref": "#/components/schemas/Loop"})}, "leads to itself"),
    ("a deep schema", {"requestBody": _json_body(DEEP)}, "nested more than 100 levels deep"),
    ("a schema that holds itself", {"requestBody": _json_body(CYCLE)}, "a schema holds itself"),
    ("a schema that is shared too often", {"requestBody": _json_body(SHARED)}, "50,000 schemas"),
    ("another dialect", {"requestBody": _json_body({"$schema": "http://json-schema.org/draft-04/schema#"})}, "in the dialect"),
    ("a body without content", {"requestBody": {"content": {}}}, "has no content"),
    ("a body of XML", {"requestBody": {"content": {"application/xml": {"schema": {"type": "object"}}}}}, "can only be application/xml"),
    ("a body that leads nowhere", {"requestBody": {"$ref": "#/components/requestBodies/b"}}, "leads nowhere"),
    (
        "an encoding that is none",
        {"requestBody": {"content": {"multipart/form-data": {"schema": OPEN, "encoding": {"a": 5}}}}},
        "must be an object",
    ),
    (
        "a style of a form that is none",
        {"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": OPEN, "encoding": {"a": {"style": "simple"}}}}}},
        'its requestBody is "simple"',
    ),
]


@pytest.mark.parametrize(("what", "fields", "message"), PROBLEMS, ids=[row[0] for row in PROBLEMS])
def test_problems_are_collected(what: str, fields: dict[str, Any], message: str) -> None:
    """An operation that cannot be a tool is named with its problem, and the others become tools; whatever it is."""
    components: dict[str, Any] = {
        "parameters": {"loop": {"$ref": "#/components/parameters/loop"}},
        "schemas": {"Bad": {"items": {"$ref": "#/nowhere"}}, "Loop": {"$ref": "#/components/schemas/Loop"}},
    }
    described = _document({"/x": {"post": fields}, "/good": {"get": {}}}, **components)
    found = read_openapi(described, _same)
    assert [tool.name for tool in found] == ["GET_good"]
    [problem] = found.problems
    assert problem.startswith("POST /x: ")
    assert message in problem
    registry = Registry()
    with pytest.raises(RegistrationError, match="POST /x"):
        registry.include_openapi(described, _same)
    assert len(registry) == 0
    included = registry.include_openapi(described, _same, on_schema_problem="report")
    assert ([tool.name for tool in included.tools], included.problems) == (["GET_good"], [problem])


def test_path_items_and_operations_that_are_none() -> None:
    """They are problems of their own; a parameter that the path names must be there."""
    described = _document({"/a": 5, "/b": {"get": []}, "/c/{id}": {"get": {}}, "/d": {"$ref": "#/nowhere"}})
    found = read_openapi(described, _same)
    assert len(found) == 0
    assert [problem.partition(":")[0] for problem in found.problems] == ["/a", "GET /b", "/d", "GET /c/{id}"]
    assert "'id' stands in the path but is no parameter" in found.problems[-1]


def test_a_bad_schema_is_found_at_registration() -> None:
    """With the tool and the place in its schema."""
    described = _document(
        {"/x": {"get": {"operationId": "t", "parameters": [_parameter("n", "query", {"type": "integer", "minimum": "0"})]}}}
    )
    with pytest.raises(RegistrationError) as caught:
        Registry().include_openapi(described, _same)
    assert any(problem.startswith("t: $.properties.n.minimum") for problem in caught.value.problems)


def test_methods_of_3_2() -> None:
    """``query`` and additional operations are operations as well."""
    found = read_openapi(_document({"/x": {"query": {}, "additionalOperations": {"COPY": {}}}}, "3.2.0"), _same)
    assert [tool.origin for tool in found] == ["QUERY /x", "COPY /x"]
    assert found.tools[1].handler().method == "COPY"


def test_a_large_document_is_read() -> None:
    """A thousand operations that share a web of definitions."""
    schemas = {
        f"S{n}": {"type": "object", "properties": {f"p{k}": {"$ref": f"#/components/schemas/S{(n * k + 1) % 200}"} for k in range(5)}}
        for n in range(200)
    }
    paths = {f"/x{n}": {"post": {"requestBody": _json_body({"$ref": f"#/components/schemas/S{n % 200}"})}} for n in range(1000)}
    found = read_openapi(_document(paths, schemas=schemas), _same)
    assert len(found) == 1000
