"""Laws: a dialect accepts what the tool accepts, and what a model writes in it is read back as what was meant."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolbox.payload import FoundCall
from toolbox.providers import PROVIDERS, ExportedTool, export_tools, read_response, write_calls
from toolbox.providers.parameters import property_names, root_object
from toolbox.providers.shared import NameRule
from toolbox.schema import read_schema
from toolbox.types import ArrayType, Document, ObjectType, Ref, Type, UnionType, nullable

KEYS = ["a", "type", "title", "$ref", "odd key", "odd_key", "properties", "2nd", "x" * 70, "é"]
SCALARS: list[tuple[dict[str, Any], st.SearchStrategy[Any]]] = [
    ({"type": "boolean"}, st.booleans()),
    ({"type": "integer", "minimum": 1, "exclusiveMaximum": 100}, st.integers(1, 99)),
    ({"type": "number", "multipleOf": 0.5, "default": 1.5}, st.integers(-9, 9).map(lambda number: number / 2)),
    ({"type": "string", "minLength": 1, "maxLength": 5, "title": "T"}, st.text("abc", min_size=1, max_size=5)),
    ({"type": "string", "pattern": "^(?!x)[a-z]+$", "description": "d"}, st.text("abc", min_size=1)),
    ({"type": "string", "format": "uri"}, st.just("http://example.com/")),
    ({"type": "string", "format": "date"}, st.just("2026-02-03")),
    ({"enum": ["a", "b", ""]}, st.sampled_from(["a", "b", ""])),
    ({"enum": [1, True, "auto", None, 2.5]}, st.sampled_from([1, True, "auto", None, 2.5])),
    ({"const": "fixed", "deprecated": True}, st.just("fixed")),
    ({"type": ["integer", "string", "null"]}, st.one_of(st.integers(), st.text("abc"), st.none())),
    ({"anyOf": [{"type": "string", "enum": ["s"]}, {"type": "null"}], "default": None}, st.sampled_from(["s", None])),
    ({"$ref": "#/$defs/Point", "description": "where"}, st.fixed_dictionaries({"x y": st.integers()}, optional={"z": st.booleans()})),
    ({"description": "anything"}, st.text("abc")),
    (
        {"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "title": "P"},
        st.dictionaries(st.sampled_from("ab"), st.integers()),
    ),
    ({"type": "array", "uniqueItems": True, "contains": {"const": 1}}, st.just([1, "x"])),
    ({"$ref": "#/$defs/Tree"}, st.sampled_from([{}, {"kids": []}, {"kids": [{"kids": [{"kids": [{"kids": []}]}]}]}])),
]
DEFINITIONS = {
    "Point": {
        "type": "object",
        "properties": {"x y": {"type": "integer"}, "z": {"type": "boolean"}},
        "required": ["x y"],
        "additionalProperties": False,
    },
    "Tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}, "additionalProperties": False},
}
Pair = tuple[dict[str, Any], st.SearchStrategy[Any]]


@st.composite
def kinds(draw: st.DrawFn, depth: int = 2) -> Pair:
    """A schema, and what makes values that it accepts."""
    shape = draw(st.sampled_from(["scalar", "scalar", "array", "tuple", "map", "object", "union"])) if depth else "scalar"
    if shape == "scalar":
        scalar: Pair = draw(st.sampled_from(SCALARS))
        return scalar
    if shape == "array":
        schema, values = draw(kinds(depth - 1))
        return {"type": "array", "items": schema, "minItems": 1, "maxItems": 3}, st.lists(values, min_size=1, max_size=3)
    if shape == "tuple":
        pairs = draw(st.lists(kinds(depth - 1), min_size=1, max_size=3))
        size = len(pairs)
        schema = {"type": "array", "prefixItems": [pair[0] for pair in pairs], "items": False, "minItems": size, "maxItems": size}
        return schema, st.tuples(*(pair[1] for pair in pairs)).map(list)
    if shape == "map":
        schema, values = draw(kinds(depth - 1))
        return {"type": "object", "additionalProperties": schema}, st.dictionaries(st.sampled_from(KEYS), values, max_size=3)
    if shape == "union":
        schema, values = draw(kinds(depth - 1))
        return {"oneOf": [schema, {"type": "array", "items": {"type": "boolean"}, "minItems": 5}]}, values
    return draw(objects(depth - 1))


@st.composite
def objects(draw: st.DrawFn, depth: int = 2) -> Pair:
    """A closed object with some keys that are required."""
    names = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=4))
    pairs = {name: draw(kinds(depth)) for name in names}
    required = [name for name in names if draw(st.booleans())]
    schema = {
        "type": "object",
        "properties": {name: pair[0] for name, pair in pairs.items()},
        "required": required,
        "additionalProperties": False,
    }
    return schema, st.fixed_dictionaries(
        {name: pairs[name][1] for name in required}, optional={name: pairs[name][1] for name in names if name not in required}
    )


@st.composite
def tools_with_arguments(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema of a tool's parameters, and valid arguments."""
    schema, values = draw(objects())
    whole = {**schema, "$defs": DEFINITIONS}
    arguments = draw(values)
    jsonschema.Draft202012Validator(whole).validate(arguments)
    return whole, arguments


class Writing:
    """Writes arguments the way a model has to: under the dialect's names, and null for what is not given in strict."""

    def __init__(self, document: Document, rule: NameRule | None, complete: bool) -> None:
        self.document = document
        self.rule = rule
        self.complete = complete

    def pair(self, node: Type, value: Any) -> tuple[Any, Any]:
        """What the model writes, and what it means by it: of what takes null anyway, null is a value and not the lack of one."""
        while isinstance(node, Ref):
            node = self.document.definitions[node.name]
        if isinstance(node, UnionType):
            members = [self.document.definitions[m.name] if isinstance(m, Ref) else m for m in node.members]
            fitting = [member for member in members if self.fits(member, value)]
            return self.pair(fitting[0], value) if fitting and isinstance(value, dict | list) else (value, value)
        if isinstance(node, ArrayType) and isinstance(value, list):
            kinds = [*node.prefix, *[node.items] * len(value)]
            pairs = [self.pair(kind, item) for kind, item in zip(kinds, value, strict=False)]
            return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if isinstance(node, ObjectType) and isinstance(value, dict):
            return self.object(node, value)
        return value, value

    def fits(self, node: Type, value: Any) -> bool:
        """Whether a member of a union can be meant."""
        if isinstance(value, dict):
            return isinstance(node, ObjectType | UnionType)
        return isinstance(value, list) and isinstance(node, ArrayType | UnionType)

    def object(self, node: ObjectType, value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """An object."""
        names = property_names(self.document, self.rule)
        written, meant = {}, {}
        for item in node.fields:
            if item.name in value:
                written[names[item.name]], meant[item.name] = self.pair(item.type, value[item.name])
            elif self.complete:
                written[names[item.name]] = None
                if self.takes_null(item.type):
                    meant[item.name] = None
        for key, other in value.items():
            if key not in {item.name for item in node.fields}:
                written[key], meant[key] = self.pair(node.additional, other) if node.additional is not None else (other, other)
        return written, meant

    def takes_null(self, node: Type) -> bool:
        """Whether null is a value of a type."""
        return nullable(self.document.definitions[node.name] if isinstance(node, Ref) else node)


def as_json_schema(schema: Any) -> Any:
    """Google's schema language as JSON Schema."""
    if isinstance(schema, list):
        return list(map(as_json_schema, schema))
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for key, item in schema.items():
        if key == "type":
            made["type"] = item.lower()
        elif key == "properties":
            made[key] = {name: as_json_schema(below) for name, below in item.items()}
        elif key in ("items", "anyOf"):
            made[key] = as_json_schema(item)
        elif key != "nullable":
            made[key] = item
    return {"anyOf": [made, {"type": "null"}]} if schema.get("nullable") else made


def parameters_in(tool: dict[str, Any]) -> dict[str, Any]:
    """The schema of the parameters in a definition."""
    found: Any = tool
    for key in ("functionDeclarations", "function", "toolSpec"):
        found = found.get(key, found)
        found = found[0] if isinstance(found, list) else found
    found = found.get("parameters") or found.get("input_schema") or found.get("inputSchema") or {"type": "object"}
    return dict(found.get("json", found))


RESPONSES: dict[str, Any] = {
    "openai": lambda messages: {"choices": [{"message": messages[0], "finish_reason": "tool_calls"}]},
    "mistral": lambda messages: {"choices": [{"message": messages[0], "finish_reason": "tool_calls"}]},
    "openai-responses": lambda messages: {"object": "response", "status": "completed", "output": messages},
    "anthropic": lambda messages: {**messages[0], "stop_reason": "tool_use"},
    "gemini": lambda messages: {"candidates": [{"content": messages[0], "finishReason": "STOP"}]},
    "bedrock": lambda messages: {"output": {"message": messages[0]}, "stopReason": "tool_use"},
    "cohere": lambda messages: {"message": messages[0], "finish_reason": "TOOL_CALL"},
    "ollama": lambda messages: {"message": messages[0], "done": True, "done_reason": "stop"},
    "mcp": lambda messages: messages[0],
    "json": lambda messages: messages,
}
CASES = [(provider, strict) for provider in PROVIDERS for strict in (False, True)]


@pytest.mark.parametrize(("provider", "strict"), CASES)
@given(tools_with_arguments())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_dialect_accepts_what_the_tool_accepts_and_is_read_back(provider: str, strict: bool, case: tuple[Any, Any]) -> None:
    """For any tool and any valid arguments."""
    schema, arguments = case
    document = read_schema(schema)
    tool = ExportedTool("crm.do it", "", schema, document)
    made = export_tools(provider, [tool], strict=strict)
    complete = bool(made.strict) and provider in ("openai", "openai-responses", "mistral")
    rule = export_rule(provider)
    written, meant = Writing(document, rule, complete).object(root_object(document), arguments)
    written_schema = parameters_in(made.tools[0])
    if provider == "gemini":
        written_schema = as_json_schema(written_schema)
    json.dumps(made.tools, allow_nan=False)
    conforms(provider, parameters_in(made.tools[0]), strict=bool(made.strict))
    jsonschema.Draft202012Validator.check_schema(written_schema)
    jsonschema.Draft202012Validator(written_schema).validate(written)

    message = write_calls(provider, [FoundCall("crm.do it", written, "call_1", ())], tools=["crm.do it"])
    turn = read_response(RESPONSES[provider](message), provider, tools=[tool], strict=complete)
    assert turn is not None
    (call,) = turn.runnable()
    found = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
    assert (call.name, found) == ("crm.do it", meant)


KEYWORDS = {
    "gemini": "type title description format nullable enum items properties required minimum maximum minItems maxItems minLength maxLength "
    "pattern minProperties maxProperties default anyOf",
    "ollama": "type description enum items properties required anyOf",
    "openai": "type title description enum format items properties required additionalProperties minimum maximum exclusiveMinimum "
    "exclusiveMaximum multipleOf pattern minLength maxLength minItems maxItems anyOf $ref $defs",
    "anthropic": "type title description enum format items properties required additionalProperties minItems anyOf $ref $defs",
    "cohere": "type title description enum format items properties required additionalProperties pattern anyOf $ref $defs",
}
KEYWORDS |= {"openai-responses": KEYWORDS["openai"], "mistral": KEYWORDS["openai"], "bedrock": KEYWORDS["anthropic"]}


def conforms(provider: str, schema: dict[str, Any], *, strict: bool) -> None:
    """Whether a schema keeps to the provider's rules, told independently of how it was written."""
    assert not {"anyOf", "oneOf", "allOf", "not", "enum", "$ref"} & set(schema)
    if not (strict or provider in ("gemini", "ollama")):
        return
    for node in nodes(schema):
        assert set(node) <= set(KEYWORDS[provider].split()), node
        assert provider == "ollama" or {"type", "anyOf", "$ref"} & set(node), node
        assert "$ref" not in node or (set(node) == {"$ref"} and provider not in ("gemini", "ollama", "bedrock")), node
        assert isinstance(node.get("type", ""), str) or provider == "ollama", node
        if provider == "gemini":
            assert "anyOf" not in node or set(node) == {"anyOf"}, node
            assert all(isinstance(value, str) and value for value in node.get("enum", ["x"])), node
        if strict and node.get("type") == "object":
            assert node["additionalProperties"] is False
            if KEYWORDS[provider] == KEYWORDS["openai"]:
                assert node.get("required", []) == list(node["properties"])


def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every schema in a schema."""
    yield schema
    for below in [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]:
        yield from nodes(below)
    if isinstance(schema.get("items"), dict):
        yield from nodes(schema["items"])


def export_rule(provider: str) -> NameRule | None:
    """A provider's rule for names of properties."""
    import toolbox.providers

    return toolbox.providers._provider(provider).properties
