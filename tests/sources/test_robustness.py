"""Whatever a document or a list of tools holds: what is wrong is reported, and nothing else is ever raised."""

import copy
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox import RegistrationError, Registry
from toolbox.sources import read_mcp_tools, read_openapi

JUNK: list[Any] = [
    None,
    True,
    0,
    -1.5,
    "",
    "x",
    "#",
    "#/",
    "#/paths",
    [],
    [None],
    {},
    {"$ref": "#/components/schemas/A"},
    {"$ref": 5},
    {"a": 1},
]
# A document may come from YAML, where keys need not be text.
OF_YAML = [*JUNK, {1: {}}, {200: {"type": "object"}}]
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "paths": {
        "/a/{id}": {
            "parameters": [{"$ref": "#/components/parameters/id"}],
            "get": {
                "operationId": "a",
                "tags": ["t"],
                "parameters": [
                    {
                        "name": "q",
                        "in": "query",
                        "style": "form",
                        "explode": False,
                        "schema": {"type": "array", "items": {"type": "string"}},
                    },
                    {"name": "j", "in": "header", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}},
                    {"name": "c", "in": "cookie", "schema": {"type": "string"}, "examples": {"x": {"value": 1}}},
                ],
            },
            "post": {
                "summary": "s",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {"allOf": [{"$ref": "#/components/schemas/A"}, {"properties": {"b": {"enum": [1]}}}]}
                        },
                    },
                },
            },
            "put": {
                "requestBody": {
                    "content": {
                        "multipart/form-data": {
                            "schema": {
                                "type": "object",
                                "properties": {"f": {"type": "string", "format": "binary"}, "n": {"type": "array"}},
                            },
                            "encoding": {"f": {"contentType": "image/png"}},
                        },
                    },
                },
            },
            "patch": {
                "requestBody": {
                    "content": {
                        "application/x-www-form-urlencoded": {
                            "schema": {"type": "object", "properties": {"f": {"type": "object"}}},
                            "encoding": {"f": {"style": "deepObject", "explode": True}},
                        },
                    },
                },
            },
            "delete": {"requestBody": {"content": {"text/plain": {"schema": {"type": "string"}}}}},
        }
    },
    "components": {
        "parameters": {"id": {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}},
        "schemas": {
            "A": {
                "type": "object",
                "properties": {"n": {"type": "integer", "readOnly": True}, "a": {"$ref": "#/components/schemas/A"}},
                "required": ["n"],
            }
        },
        "securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "K"}},
    },
}
LISTED: dict[str, Any] = {
    "tools": [
        {
            "name": "t",
            "title": "T",
            "description": "d",
            "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
            "outputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": True},
        }
    ]
}


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, item in inside for place in _places(item, (*at, key)))]


def _broken(value: Any, chance: random.Random, times: int, junk: list[Any]) -> Any:
    """A copy with other values in some places, or without them."""
    value = copy.deepcopy(value)
    for _ in range(times):
        *way, last = chance.choice(_places(value)[1:])
        holder = value
        for key in way:
            holder = holder[key]
        if isinstance(holder, dict) and chance.random() < 0.2:
            del holder[last]
        else:
            holder[last] = copy.deepcopy(chance.choice(junk))
        if not _places(value)[1:]:
            break
    return value


@settings(max_examples=400, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 4), st.sampled_from(["3.0.3", "3.1.0"]))
def test_broken_documents_are_reported(chance: random.Random, times: int, version: str) -> None:
    """A document with junk in some places gives tools and problems, or is refused as a whole."""
    broken = _broken({**DOCUMENT, "openapi": version}, chance, times, OF_YAML)
    before = copy.deepcopy(broken)
    try:
        found = read_openapi(broken, lambda request: request)
    except RegistrationError:
        return
    assert len({tool.name for tool in found}) == len(found)
    registry = Registry()
    included = registry.include_openapi(broken, lambda request: request, on_schema_problem="report")
    assert len(included.tools) + len(included.problems) >= len(found)
    for tool in registry:
        registry.run(tool.name, {"id": 1, "q": ["a"], "body": {"f": "AAAA"}, "f": {"a": "b"}})
    assert broken == before


@settings(max_examples=200, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_broken_lists_are_reported(chance: random.Random, times: int) -> None:
    """The same for what an MCP server lists."""
    broken = _broken(LISTED, chance, times, JUNK)
    try:
        read_mcp_tools(broken, lambda name, arguments: name)
    except RegistrationError:
        return
    registry = Registry()
    registry.include_mcp_tools(broken, lambda name, arguments: name, on_schema_problem="report")
    for tool in registry:
        registry.run(tool.name, {"n": 1})
