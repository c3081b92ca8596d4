"""What a tool becomes in each provider's dialect: a table of rules, golden files, names, strictness, reports."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolbox.providers import PROVIDERS, ExportedTool, ExportReport, UnsupportedTool, export_tools, write_tools

GOLDEN = Path(__file__).parent / "golden"


def one(schema: dict[str, Any], *, name: str = "t", description: str = "Do it.") -> list[ExportedTool]:
    """A tool of one schema."""
    return [ExportedTool(name, description, schema)]


def parameters(provider: str, schema: dict[str, Any], *, strict: bool = False) -> dict[str, Any]:
    """The schema of a tool's parameters in a provider's dialect."""
    made = export_tools(provider, one(schema), strict=strict, on_unsupported="raise" if strict else "fallback").tools[0]
    for key in ("functionDeclarations", "function", "toolSpec"):
        made = made.get(key, made)
        made = made[0] if isinstance(made, list) else made
    found = made.get("parameters") or made.get("input_schema") or made.get("inputSchema") or {}
    return dict(found.get("json", found))


def prop(provider: str, schema: Any, *, strict: bool = False, required: bool = True, **definitions: Any) -> Any:
    """What one parameter becomes."""
    whole = {"type": "object", "properties": {"p": schema}, "required": ["p"] if required else []}
    whole |= {"$defs": definitions} if definitions else {}
    return parameters(provider, whole, strict=strict)["properties"]["p"]


def losses(provider: str, schema: Any, *, strict: bool = False) -> set[tuple[str, str]]:
    """Path and subject of what is lost of one parameter."""
    whole = {"type": "object", "properties": {"p": schema}, "required": ["p"], "additionalProperties": False}
    return {(loss.path, loss.what) for loss in export_tools(provider, one(whole), strict=strict).report}


POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}
CLOSED_POINT = POINT
TREE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}, "additionalProperties": False}

_SIMPLE: list[dict[str, Any]] = [{"type": "STRING"}, {"type": "NUMBER"}, {"type": "BOOLEAN"}, {"type": "OBJECT"}]
ANYTHING: dict[str, Any] = {"anyOf": [{"type": "STRING", "nullable": True}, *_SIMPLE[1:], {"type": "ARRAY", "items": {"anyOf": _SIMPLE}}]}

# provider (+ " strict"), what the parameter is, what it becomes
RULES: list[tuple[str, Any, Any]] = [
    # Gemini: types in capitals, null as nullable, texts alone as choices, nothing beside anyOf
    ("gemini", {"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
    (
        "gemini",
        {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "d"},
        {"type": "INTEGER", "description": "d", "nullable": True},
    ),
    ("gemini", {"const": "a"}, {"type": "STRING", "enum": ["a"]}),
    ("gemini", {"enum": [1, 2]}, {"type": "INTEGER", "description": "(one of 1, 2)"}),
    ("gemini", {"enum": [True]}, {"type": "BOOLEAN", "description": "(only true)"}),
    ("gemini", {"enum": ["a", ""]}, {"type": "STRING", "description": '(one of "a", "")'}),
    ("gemini", {"enum": ["a", None]}, {"type": "STRING", "enum": ["a"], "nullable": True}),
    (
        "gemini",
        {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}], "description": "d", "default": 1},
        {"anyOf": [{"type": "INTEGER", "description": "d (default: 1)", "nullable": True}, {"type": "STRING"}]},
    ),
    ("gemini", {"oneOf": [{"type": "integer"}, {"type": "string"}]}, {"anyOf": [{"type": "INTEGER"}, {"type": "STRING"}]}),
    ("gemini", {"type": "string", "format": "uuid"}, {"type": "STRING", "description": "(format: uuid)"}),
    ("gemini", {"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}),
    ("gemini", {"type": "integer", "exclusiveMinimum": 0, "maximum": 9}, {"type": "INTEGER", "description": "(more than 0)", "maximum": 9}),
    ("gemini", {"type": "array"}, {"type": "ARRAY", "items": ANYTHING}),
    ("gemini", {"description": "d"}, {"anyOf": [{**ANYTHING["anyOf"][0], "description": "d"}, *ANYTHING["anyOf"][1:]]}),
    (
        "gemini",
        {"enum": [[1], "a"]},
        {"anyOf": [{"type": "ARRAY", "description": "(only [1])", "items": ANYTHING}, {"type": "STRING", "enum": ["a"]}]},
    ),
    (
        "gemini",
        {"type": "array", "prefixItems": [{"type": "integer"}] * 2, "items": False, "minItems": 2, "maxItems": 2},
        {"type": "ARRAY", "items": {"type": "INTEGER"}, "minItems": 2, "maxItems": 2},
    ),
    (
        "gemini",
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "OBJECT", "description": "(any keys, each value integer)"},
    ),
    ("gemini", {"type": "integer", "default": 3, "title": "T"}, {"type": "INTEGER", "title": "T", "default": 3}),
    ("gemini", {"type": "string", "not": {"const": "x"}}, {"type": "STRING", "description": '(must also match {"not": {"const": "x"}})'}),
    # OpenAI strict: closed, complete, no other keywords
    ("openai strict", {"type": "string", "minLength": 2, "pattern": "^a"}, {"type": "string", "minLength": 2, "pattern": "^a"}),
    ("openai strict", {"type": "string", "pattern": "(?=a)b"}, {"type": "string", "description": "(text that matches (?=a)b)"}),
    ("openai strict", {"type": "string", "format": "uri"}, {"type": "string", "description": "(format: uri)"}),
    ("openai strict", {"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
    ("openai strict", {"oneOf": [{"type": "integer"}, {"type": "string"}]}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    (
        "openai strict",
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"type": "array", "items": {"type": "string"}, "description": "(items that all differ)"},
    ),
    (
        "openai strict",
        {"enum": [1, "a", None]},
        {"anyOf": [{"type": "integer", "enum": [1]}, {"type": "string", "enum": ["a"]}, {"type": "null"}]},
    ),
    (
        "openai strict",
        {"enum": [1, True]},
        {"anyOf": [{"type": "integer", "enum": [1]}, {"type": "boolean", "enum": [True]}]},
    ),
    ("openai strict", {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}, CLOSED_POINT),
    (
        "openai strict",
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False, "minItems": 2},
        {
            "type": "array",
            "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "minItems": 2,
            "maxItems": 2,
            "description": "(in this order: integer, string)",
        },
    ),
    # Anthropic strict: as the SDK's transform_schema
    ("anthropic strict", {"type": "integer", "minimum": 1, "description": "d"}, {"type": "integer", "description": "d (at least 1)"}),
    (
        "anthropic strict",
        {"type": "array", "items": {"type": "string"}, "minItems": 2},
        {"type": "array", "items": {"type": "string"}, "description": "(at least 2 items)"},
    ),
    (
        "anthropic strict",
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
    ),
    ("anthropic strict", {"type": "string", "format": "uri"}, {"type": "string", "format": "uri"}),
    # Ollama: type, items, description, enum, properties, required
    ("ollama", {"type": ["string", "null"]}, {"type": ["string", "null"]}),
    (
        "ollama",
        {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": 1},
        {"type": ["integer", "string"], "description": "(default: 1)"},
    ),
    ("ollama", {"enum": ["a", None]}, {"type": ["string", "null"], "enum": ["a", None]}),
    ("ollama", {"type": "integer", "minimum": 1, "title": "T"}, {"type": "integer", "description": "T (at least 1)"}),
    (
        "ollama",
        POINT,
        {
            "type": "object",
            "description": '(object with "x" (integer))',
            "properties": {"x": {"type": "integer"}},
            "required": ["x"],
        },
    ),
    # Everything else takes JSON Schema as it is
    ("openai", {"type": "integer", "default": 3, "exclusiveMinimum": 0}, {"type": "integer", "exclusiveMinimum": 0, "default": 3}),
    ("anthropic", {"oneOf": [{"type": "integer"}, {"type": "string"}]}, {"oneOf": [{"type": "integer"}, {"type": "string"}]}),
    ("cohere", {"type": "object", "patternProperties": {"^x": {}}}, {"type": "object", "patternProperties": {"^x": {}}}),
    ("mcp", {"const": 1}, {"enum": [1], "type": "integer"}),
]


@pytest.mark.parametrize(("dialect", "schema", "expected"), RULES, ids=[f"{dialect} {json.dumps(schema)}" for dialect, schema, _ in RULES])
def test_rule(dialect: str, schema: Any, expected: Any) -> None:
    """One parameter in one dialect."""
    provider, _, strict = dialect.partition(" ")
    assert prop(provider, schema, strict=bool(strict)) == expected


def test_optional_becomes_a_null_union_in_strict() -> None:
    """An optional parameter of a strict tool has to be sent, and null stands for not given."""
    made = parameters(
        "openai", {"type": "object", "properties": {"n": {"type": "integer", "description": "How many.", "default": 5}}}, strict=True
    )
    assert made["required"] == ["n"]
    assert made["properties"]["n"] == {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "description": "How many. (null means not given; default: 5)",
    }


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "mistral"])
def test_strict_needs_every_object_closed_and_complete(provider: str) -> None:
    """At every depth."""
    schema = {
        "type": "object",
        "properties": {"f": {"type": "object", "properties": {"a": {"type": "string"}, "b": POINT}, "required": ["a"]}},
    }
    for node in _nodes(parameters(provider, schema, strict=True)):
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])


def test_no_siblings_beside_a_reference_in_strict() -> None:
    """What is described at the place of use is written in place, or around the reference where the type holds itself."""
    described = {"$ref": "#/$defs/Point", "description": "where"}
    assert prop("openai", described, strict=True, Point=POINT) == {**CLOSED_POINT, "description": "where"}
    assert prop("openai", {"$ref": "#/$defs/Point"}, strict=True, Point=POINT) == {"$ref": "#/$defs/Point"}
    found = prop("openai", {"$ref": "#/$defs/Tree", "description": "the tree"}, strict=True, Tree=TREE)
    assert found == {"anyOf": [{"$ref": "#/$defs/Tree"}], "description": "the tree"}


@pytest.mark.parametrize("provider", ["gemini", "ollama", "bedrock"])
def test_references_are_written_in_place(provider: str) -> None:
    """Where a provider takes no references, there are none, and the description of the place survives."""
    text = json.dumps(prop(provider, {"$ref": "#/$defs/Point", "description": "where"}, Point=POINT))
    assert "$ref" not in text
    assert "where" in text
    assert '"x"' in text


@pytest.mark.parametrize("provider", ["gemini", "ollama"])
def test_recursion_is_cut_and_told(provider: str) -> None:
    """A type that holds itself is written a few levels deep, and then named."""
    schema = {"type": "object", "properties": {"p": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": TREE}}
    made = export_tools(provider, one(schema))
    text = json.dumps(made.tools)
    assert "$ref" not in text
    assert "Tree again: object with" in text
    assert any(loss.what == "$ref to Tree" for loss in made.report)


def test_mutual_recursion_stays_small() -> None:
    """Definitions that refer to each other many times do not grow without bound."""
    names = [f"T{number}" for number in range(12)]
    definitions = {
        name: {"type": "object", "properties": {other: {"$ref": f"#/$defs/{other}"} for other in names}, "additionalProperties": False}
        for name in names
    }
    schema = {"type": "object", "properties": {"p": {"$ref": "#/$defs/T0"}}, "$defs": definitions}
    for provider in ("gemini", "ollama"):
        assert len(json.dumps(write_tools(provider, one(schema)))) < 2_000_000


def test_parameters_named_like_keywords_survive() -> None:
    """A parameter may be called like any keyword of JSON Schema."""
    words = [
        "title",
        "type",
        "properties",
        "required",
        "description",
        "default",
        "enum",
        "items",
        "anyOf",
        "additionalProperties",
        "format",
    ]
    schema = {"type": "object", "properties": {word: {"type": "string"} for word in words}, "required": words}
    for provider in PROVIDERS:
        for strict in (False, True):
            made = export_tools(provider, one(schema), strict=strict)
            assert all(json.dumps(made.tools).count(f'"{word}"') >= 2 for word in words)
            assert list(parameters(provider, schema)["properties"]) == words


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_parameters(provider: str) -> None:
    """A tool without parameters is an object without properties; Gemini wants none at all then."""
    made = parameters(provider, {"type": "object", "properties": {}, "additionalProperties": False})
    assert made.get("properties") in (({},) if provider != "gemini" else (None,))


ROOTS: list[dict[str, Any]] = [
    {
        "type": "object",
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    },
    {"type": "object", "properties": {"a": {"type": "string"}}, "not": {"required": ["b"]}},
    {
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind", "x"]},
            {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "integer"}}, "required": ["kind"]},
        ]
    },
    {"$ref": "#/$defs/Args", "$defs": {"Args": POINT}},
    {},
]


@pytest.mark.parametrize("provider", ["json", "mcp"])
def test_json_schema_at_the_root_stays(provider: str) -> None:
    """What takes every JSON Schema gets the root as it came, where the schema itself says that it is an object."""
    root = {"type": "object", "properties": {"a": {"type": "string"}}, "not": {"required": ["b"]}}
    made = export_tools(provider, one(root))
    assert parameters(provider, root)["not"] == {"required": ["b"]}
    assert not made.report.losses


@pytest.mark.parametrize("root", ROOTS, ids=json.dumps)
@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name not in ("json", "mcp")])
def test_the_root_is_one_plain_object(provider: str, root: dict[str, Any]) -> None:
    """Whatever stands at the root of a schema, the provider gets one object, and the model is told the rest."""
    made = export_tools(provider, one(root))
    schema = parameters(provider, root)
    assert schema.get("type", "object").lower() == "object"
    assert not {"anyOf", "oneOf", "allOf", "not", "enum", "$ref"} & set(schema)
    if "oneOf" in root:
        assert set(schema["properties"]) == {"kind", "x", "y"}
        assert schema["required"] == ["kind"]
    if {"anyOf", "oneOf", "not"} & set(root):
        assert re.search("arguments (must|are)", json.dumps(made.tools))
        assert made.report


FIRST = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
SECOND = {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}
REFS = [{"$ref": "#/$defs/First"}, {"$ref": "#/$defs/Second"}]


@pytest.mark.parametrize(
    "root",
    [
        {"anyOf": [FIRST, SECOND]},
        {"anyOf": [FIRST, {"anyOf": [SECOND, FIRST]}]},
        {"anyOf": REFS},
        {"$ref": "#/$defs/Both"},
    ],
    ids=["in place", "nested", "references", "one reference"],
)
@pytest.mark.parametrize("provider", ["openai", "gemini", "ollama"])
def test_alternatives_at_the_root_are_listed_and_told(provider: str, root: dict[str, Any]) -> None:
    """Wherever they are defined: the parameters of each can be sent, and none of them has to be."""
    schema = {**root, "$defs": {"First": FIRST, "Second": SECOND, "Both": {"anyOf": REFS}}}
    made = export_tools(provider, one(schema))
    found = parameters(provider, schema)
    assert list(found["properties"]) == ["a", "b"]
    assert not found.get("required")
    assert [loss.what for loss in made.report if loss.path == "$"] == ["alternatives at the root"]
    told = 'the arguments are one of: (object with "a" (string)) or (object with "b" (string))'
    assert told in str(made.tools).replace("\\", "")


NAMES = ["ok_name", "crm.find", "crm_find", "2fast", "with space", "поиск", "поиск2", "x" * 80, "x" * 79 + "y", "a/b", "a:b", ""]
LEGAL = {
    "openai": r"[a-zA-Z0-9_-]{1,64}",
    "openai-responses": r"[a-zA-Z0-9_-]{1,64}",
    "anthropic": r"[a-zA-Z0-9_-]{1,64}",
    "gemini": r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}",
    "bedrock": r"[a-zA-Z0-9_-]{1,64}",
    "mistral": r"[a-zA-Z0-9_-]{1,64}",
    "cohere": r"[a-zA-Z0-9_-]{1,64}",
    "ollama": r"[a-zA-Z0-9_-]{1,64}",
    "mcp": r"[a-zA-Z0-9._-]{1,128}",
}


@pytest.mark.parametrize("provider", LEGAL)
def test_names_are_legal_and_unique(provider: str) -> None:
    """Every name is legal, no two are the same, and a legal one stays as it is."""
    made = export_tools(provider, [ExportedTool(name, "", {"type": "object"}) for name in NAMES])
    assert all(re.fullmatch(LEGAL[provider], name) for name in made.names.values())
    assert len(set(made.names.values())) == len(NAMES)
    assert made.names["ok_name"] == "ok_name"
    assert made.names["crm_find"] == "crm_find"
    backwards = export_tools(provider, [ExportedTool(name, "", {"type": "object"}) for name in reversed(NAMES)])
    assert backwards.names == made.names


def test_illegal_property_names_are_written_otherwise() -> None:
    """Anthropic and Gemini restrict the names of properties; they are made legal and reported."""
    schema = {"type": "object", "properties": {"odd key": {"type": "string"}, "odd_key": {"type": "string"}, "k" * 70: {"type": "string"}}}
    for provider, pattern in (("anthropic", r"[a-zA-Z0-9_.-]{1,64}"), ("gemini", r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")):
        made = export_tools(provider, one(schema))
        names = list(parameters(provider, schema)["properties"])
        assert len(set(names)) == 3
        assert all(re.fullmatch(pattern, name) for name in names)
        assert {loss.path for loss in made.report if loss.what == "name"} == {"$['odd key']", f"$.{'k' * 70}"}


@pytest.mark.parametrize(
    ("provider", "schema", "reason"),
    [
        ("openai", {"type": "object", "additionalProperties": {"type": "integer"}}, "free keys"),
        ("openai", {}, "any type"),
        ("openai", {"type": "array"}, "any type"),
        ("anthropic", {"type": "object"}, "free keys"),
        ("anthropic", {"$ref": "#/$defs/Tree"}, "holds itself"),
        ("cohere", {"$ref": "#/$defs/Tree"}, "holds itself"),
        ("bedrock", {"$ref": "#/$defs/Tree"}, "holds itself"),
        ("gemini", {"type": "string"}, "no strict mode"),
        ("ollama", {"type": "string"}, "no strict mode"),
    ],
)
def test_what_cannot_be_strict_falls_back_with_the_reason_or_raises(provider: str, schema: dict[str, Any], reason: str) -> None:
    """Either is said by the caller."""
    whole = one({"type": "object", "properties": {"p": schema}, "required": ["p"], "$defs": {"Tree": TREE}})
    made = export_tools(provider, whole, strict=True)
    assert made.tools == write_tools(provider, whole)
    assert any(loss.what == "strict" and reason in loss.why for loss in made.report)
    assert not made.strict
    with pytest.raises(UnsupportedTool, match=reason) as caught:
        export_tools(provider, whole, strict=True, on_unsupported="raise")
    assert caught.value.tool == "t"


def test_one_tool_that_cannot_be_strict_does_not_keep_others_from_it() -> None:
    """The others stay strict."""
    listed = [ExportedTool("open", "", {"type": "object", "properties": {"m": {"type": "object"}}}), ExportedTool("fine", "", POINT)]
    made = export_tools("openai", listed, strict=True)
    assert made.strict == {"fine"}
    assert ["strict" in tool["function"] for tool in made.tools] == [False, True]


def test_an_unknown_answer_to_what_is_unsupported_is_refused() -> None:
    """A spelling mistake must not mean anything."""
    with pytest.raises(ValueError, match="on_unsupported"):
        export_tools("openai", [], on_unsupported="riase")  # type: ignore[arg-type]


def test_anthropic_limits_of_strict_tools() -> None:
    """Twenty strict tools, and 24 optional parameters altogether: the rest is exported without."""
    many = [ExportedTool(f"t{number}", "", POINT) for number in range(25)]
    made = export_tools("anthropic", many, strict=True)
    assert len(made.strict) == 20
    assert any("at most 20" in text for text in made.report.warnings)
    optional = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(13)}, "additionalProperties": False}
    made = export_tools("anthropic", [ExportedTool("a", "", optional), ExportedTool("b", "", optional)], strict=True)
    assert made.strict == {"a"}
    assert any("optional parameters" in loss.why for loss in made.report)


def test_openai_limits_of_strict_schemas() -> None:
    """A schema that is too deep or has too many choices is exported without."""
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(12):
        deep = {"type": "object", "properties": {"d": deep}, "required": ["d"], "additionalProperties": False}
    choices = {"type": "object", "properties": {"c": {"enum": [f"v{n}" for n in range(1_001)]}}, "required": ["c"]}
    made = export_tools("openai", [ExportedTool("deep", "", deep), ExportedTool("choices", "", choices)], strict=True)
    assert not made.strict
    assert {loss.tool for loss in made.report if "at most" in loss.why} == {"deep", "choices"}


def test_cohere_rules_for_strict_tools() -> None:
    """A required parameter for each tool, and a flag with the request."""
    made = export_tools(
        "cohere",
        [ExportedTool("none", "", {"type": "object", "properties": {"a": {"type": "string"}}}), ExportedTool("some", "", POINT)],
        strict=True,
    )
    assert made.strict == {"some"}
    assert any("strict_tools=True" in text for text in made.report.warnings)


def test_too_many_tools_and_too_long_descriptions_are_reported() -> None:
    """A maximum that is passed is a warning; a description that would be refused is cut and reported."""
    many = [ExportedTool(f"t{number}", "", {"type": "object"}) for number in range(600)]
    assert "at most 128" in export_tools("openai", many).report.warnings[0]
    assert "at most 512" in export_tools("gemini", many).report.warnings[0]
    assert export_tools("anthropic", many).report.warnings == ()
    made = export_tools("openai", one({"type": "object"}, description="word " * 400))
    assert 1_000 < len(made.tools[0]["function"]["description"]) <= 1_024
    assert [loss.what for loss in made.report] == ["description"]


def test_what_the_schema_cannot_say_survives_a_cut() -> None:
    """A long description is cut, and not the rules behind it."""
    root = {"type": "object", "properties": {"a": {"type": "string"}}, "not": {"required": ["b"]}}
    (tool,) = write_tools("openai", one(root, description="word " * 400))
    assert len(tool["function"]["description"]) <= 1_024
    assert tool["function"]["description"].endswith('the arguments must also match {"not": {"required": ["b"]}})')


def test_losses_name_their_place() -> None:
    """A loss says where it is, at any depth."""
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "string", "format": "uri"}}}}
    assert ("$.p.list[*]", "format uri") in losses("gemini", schema)
    assert losses("openai", schema) == set()


def test_report_reads_as_a_list_of_lines() -> None:
    """A report has a text, a length, and is false when there is nothing in it."""
    report = export_tools(
        "gemini", one({"type": "object", "properties": {"p": {"type": "string", "format": "uri"}}, "additionalProperties": True})
    ).report
    assert len(report) == len(list(report)) == 2
    assert "t $.p: format uri: not taken; moved into the description" in str(report)
    assert not ExportReport("openai")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_nothing_to_export(provider: str) -> None:
    """No tools make an empty list."""
    assert write_tools(provider, []) == []


def test_unknown_provider() -> None:
    """The message names those that there are."""
    with pytest.raises(ValueError, match="openai-responses"):
        write_tools("opnai", [])


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
def test_golden(provider: str, strict: bool, tools: list[ExportedTool]) -> None:
    """The demanding tools, byte for byte: prompt caches depend on it. TOOLBOX_WRITE_GOLDEN=1 writes the files anew."""
    made = export_tools(provider, tools, strict=strict)
    assert json.dumps(export_tools(provider, tools, strict=strict).tools) == json.dumps(made.tools)
    whole = {"tools": made.tools, "report": [list(loss) for loss in made.report], "warnings": list(made.report.warnings)}
    text = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
    path = GOLDEN / f"{provider}{'-strict' if strict else ''}.json"
    if os.environ.get("TOOLBOX_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for item in schema.values():
            yield from _nodes(item)
    elif isinstance(schema, list):
        for item in schema:
            yield from _nodes(item)
