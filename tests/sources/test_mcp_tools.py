"""The tools of an MCP server: what is listed, in every spelling; calls and their results; problems."""

import asyncio
import functools
import json
from types import SimpleNamespace
from typing import Any

import pytest

from toolbox import LENIENT, STRICT, RegistrationError, Registry, ToolExecutionError
from toolbox.schema import MissingValidator
from toolbox.sources import RemoteToolError, SourceTool, make_tools, read_mcp_tools, unwrap_result

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}


def _text(*texts: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": item} for item in texts], **more}


def _echo(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return _text(json.dumps([name, arguments]))


async def _echo_later(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    await asyncio.sleep(0)
    return _echo(name, arguments)


def _echo_in_time(name: str, arguments: dict[str, Any]) -> Any:
    return _echo_later(name, arguments)


WEATHER = {"name": "weather", "description": "Forecast.", "inputSchema": SCHEMA}
LISTED: list[tuple[str, Any]] = [
    ("a list of dicts", [WEATHER]),
    ("a result as a dict", {"tools": [WEATHER], "nextCursor": None}),
    ("snake case", [{"name": "weather", "description": "Forecast.", "input_schema": SCHEMA}]),
    ("a result as an object, 1.x", SimpleNamespace(tools=[SimpleNamespace(**WEATHER)])),
    ("a result as an object, 2.x", SimpleNamespace(tools=(SimpleNamespace(name="weather", description="Forecast.", input_schema=SCHEMA),))),
    ("an iterator", iter([WEATHER])),
]


@pytest.mark.parametrize(("how", "listed"), LISTED, ids=[how for how, _ in LISTED])
def test_every_spelling_is_read(how: str, listed: Any) -> None:
    """The result or only its tools, objects or dicts, the fields of both versions of the SDK."""
    found = read_mcp_tools(listed, _echo)
    assert not found.problems
    [tool] = found
    assert (tool.name, tool.origin, tool.description, tool.schema, tool.is_async) == ("weather", "weather", "Forecast.", SCHEMA, False)


DESCRIPTIONS: list[tuple[dict[str, Any], str, str | None]] = [
    ({"description": "D", "title": "T"}, "D", "T"),
    ({"title": "T"}, "T", "T"),
    ({"annotations": {"title": "A"}}, "A", "A"),
    ({}, "", None),
    ({"description": None, "title": None, "annotations": None}, "", None),
]


@pytest.mark.parametrize(("fields", "description", "title"), DESCRIPTIONS)
def test_descriptions(fields: dict[str, Any], description: str, title: str | None) -> None:
    """The title stands in where there is no description."""
    [tool] = read_mcp_tools([{"name": "t", "inputSchema": {"type": "object"}, **fields}], _echo)
    assert (tool.description, tool.title) == (description, title)


def test_annotations_are_handed_on() -> None:
    """Hints keep the words of MCP, whatever the objects are; those that are not given are left out."""

    class Hints:
        def model_dump(self, *, by_alias: bool) -> dict[str, Any]:
            return {"readOnlyHint": True, "title": None} if by_alias else {}

    for hints in ({"readOnlyHint": True, "title": None}, Hints()):
        [tool] = read_mcp_tools([{"name": "t", "inputSchema": {}, "annotations": hints}], _echo)
        assert tool.annotations == {"readOnlyHint": True}


def test_names_are_made_legal_and_the_server_gets_its_own() -> None:
    """Two names that become one are told apart; the prefix belongs to the name."""
    listed = [{"name": name, "inputSchema": SCHEMA} for name in ("files.read", "files_read", "名前", "n" * 100)]
    found = read_mcp_tools(listed, _echo, prefix="disk.")
    names = [tool.name for tool in found]
    assert len({*names}) == 4
    assert all(len(name) <= 64 and name.isascii() and "." not in name for name in names)
    assert [tool.origin for tool in found] == ["files.read", "files_read", "名前", "n" * 100]
    assert json.loads(found.tools[0].handler(city="Oslo")) == ["files.read", {"city": "Oslo"}]


class Session:
    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await _echo_later(name, arguments)

    async def __call__(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await _echo_later(name, arguments)


ASYNC_CALLS: list[tuple[Any, bool]] = [
    (_echo_later, True),
    (Session().call_tool, True),
    (Session(), True),
    (functools.partial(_echo_later), True),
    (_echo_in_time, False),
    (_echo, False),
]


@pytest.mark.parametrize(("call", "is_async"), ASYNC_CALLS)
def test_sync_and_async_calls(call: Any, is_async: bool) -> None:
    """A call may be anything that can be called; what it gives is awaited where it can be."""
    registry = Registry(LENIENT)
    registry.include_mcp_tools([WEATHER], call)
    assert registry["weather"].is_async is is_async
    expected = ["weather", {"city": "Oslo", "days": 3}]
    assert json.loads(registry.dispatch("weather", {"city": "Oslo", "days": "3"})) == expected
    assert json.loads(asyncio.run(registry.adispatch("weather", {"city": "Oslo", "days": "3"}))) == expected


IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}
TEXT = {"type": "text", "text": "a"}
RESULTS: list[tuple[str, Any, bool, Any]] = [
    ("one text", _text("a"), False, "a"),
    ("texts", _text("a", "b"), False, "a\nb"),
    ("nothing", _text(), False, ""),
    ("structured content", _text("{}", structuredContent={"n": 1}), False, {"n": 1}),
    ("structured content of an object", SimpleNamespace(content=[], structured_content={"n": 1}, is_error=False), False, {"n": 1}),
    ("empty structured content", _text("{}", structuredContent={}), False, {}),
    ("a list as structured content", _text("[]", structuredContent=[1]), False, [1]),
    ("a value under result", _text("3", structuredContent={"result": 3}), False, {"result": 3}),
    ("a value that is marked as wrapped", _text("3", structuredContent={"result": 3}), True, 3),
    ("a null that is marked as wrapped", _text("null", structuredContent={"result": None}), True, None),
    ("more than the mark says", _text("3", structuredContent={"result": 3, "n": 1}), True, {"result": 3, "n": 1}),
    ("an image", {"content": [IMAGE]}, False, [IMAGE]),
    ("an image and text", {"content": [TEXT, IMAGE, LINK]}, False, [TEXT, IMAGE, LINK]),
    ("an image and text that says the structure", {"content": [TEXT, IMAGE], "structuredContent": {"n": 1}}, False, [TEXT, IMAGE]),
    ("an image and structure without text", {"content": [IMAGE], "structuredContent": {"n": 1}}, False, [{"n": 1}, IMAGE]),
    ("complete", _text("a", resultType="complete"), False, "a"),
    ("what is no result", "plain", False, "plain"),
    ("a dict that is no result", {"temperature": 21}, False, {"temperature": 21}),
    ("none", None, False, None),
]


@pytest.mark.parametrize(("what", "result", "wrapped", "expected"), RESULTS, ids=[row[0] for row in RESULTS])
def test_results_are_unwrapped(what: str, result: Any, wrapped: bool, expected: Any) -> None:
    """Structured content, else text; other content as it came; nothing is lost."""
    assert unwrap_result(result, wrapped=wrapped) == expected


ERRORS: list[tuple[Any, str]] = [
    (_text("no such city", isError=True), "no such city"),
    (_text("no", "way", isError=True), "no\nway"),
    (SimpleNamespace(content=[SimpleNamespace(type="text", text="gone")], is_error=True), "gone"),
    (_text(isError=True), "the server gave no reason"),
    (_text("bad", isError=True, structuredContent={"n": 1}), "bad"),
    ({"resultType": "input_required", "inputRequests": {}}, "the server did not complete the call, it answered 'input_required'"),
]


@pytest.mark.parametrize(("result", "message"), ERRORS)
def test_errors_are_raised(result: Any, message: str) -> None:
    """A failure of the tool is a failure of the call, with the tool's text."""
    with pytest.raises(RemoteToolError) as caught:
        unwrap_result(result)
    assert message in str(caught.value)
    registry = Registry()
    registry.include_mcp_tools([WEATHER], lambda name, arguments: result)
    with pytest.raises(ToolExecutionError) as raised:
        registry.dispatch("weather", {"city": "Oslo"})
    assert message in raised.value.message


def test_a_wrapped_result_is_known_by_the_output_schema() -> None:
    """The mark of the server decides, not the look of the result."""
    for mark, expected in ((True, 3), (False, {"result": 3})):
        tool = {**WEATHER, "outputSchema": {"type": "object", "x-fastmcp-wrap-result": mark}}
        [found] = read_mcp_tools([tool], lambda name, arguments: _text("3", structuredContent={"result": 3}))
        assert found.handler(city="Oslo") == expected


MIXED = [
    {"inputSchema": SCHEMA},
    {"name": "without_schema"},
    {"name": "text_schema", "inputSchema": "{}"},
    WEATHER,
    WEATHER,
    {
        "name": "bad",
        "inputSchema": {"type": "object", "properties": {"n": {"type": "integer", "minimum": "0"}, "x": {"$ref": "#/$defs/x"}}},
    },
    {"name": "no_object", "inputSchema": {"type": "array"}},
]


def test_all_problems_come_at_once() -> None:
    """One tool with a bad schema does not hide the problems of the others, and none is added."""
    registry = Registry()
    with pytest.raises(RegistrationError) as caught:
        registry.include_mcp_tools(MIXED, _echo)
    problems = "\n".join(caught.value.problems)
    for part in (
        "tool number 1 has no name",
        "without_schema: its inputSchema",
        "text_schema: its inputSchema",
        "weather: it is listed twice",
    ):
        assert part in problems
    for part in ("bad: $.properties.n.minimum", "bad: $.properties.x", "no_object: "):
        assert part in problems
    assert len(registry) == 0


def test_problems_can_be_reported_instead() -> None:
    """What can be added is added, and the problems stand beside it."""
    registry = Registry()
    included = registry.include_mcp_tools(MIXED, _echo, on_schema_problem="report")
    assert "weather" in registry
    assert "weather" in [tool.name for tool in included.tools]
    assert "without_schema" not in registry
    assert any("tool number 1 has no name" in problem for problem in included.problems)


def test_a_name_that_is_taken_is_a_problem() -> None:
    """Nothing is replaced; a prefix helps."""
    registry = Registry()
    registry.include_mcp_tools([WEATHER], _echo)
    with pytest.raises(RegistrationError, match="the name is taken"):
        registry.include_mcp_tools([WEATHER], _echo)
    registry.include_mcp_tools([WEATHER], _echo, prefix="other_")
    assert [tool.name for tool in registry] == ["weather", "other_weather"]


def test_other_ways_to_deal_with_problems_are_refused() -> None:
    """A slip in the option is not taken for one of its values; whatever a tool's making raises is a problem of that tool."""
    with pytest.raises(ValueError, match="on_schema_problem is 'raise' or 'report', not 'ignore'"):
        Registry().include_mcp_tools([WEATHER], _echo, on_schema_problem="ignore")  # type: ignore[arg-type]

    def make(tool: SourceTool) -> Any:
        raise MissingValidator

    included = make_tools(read_mcp_tools([WEATHER], _echo), make, on_schema_problem="report")
    assert included.tools == []
    assert "weather: the schema uses keywords" in included.problems[0]


@pytest.mark.parametrize("listed", [5, "tools", {"weather": WEATHER}, None])
def test_what_is_no_list_of_tools(listed: Any) -> None:
    """The error says what to pass."""
    with pytest.raises(RegistrationError, match="pass the result of list_tools"):
        read_mcp_tools(listed, _echo)


def test_high_risk_tools_can_be_picked() -> None:
    """By the hints of the server, or whatever else is known about a tool."""
    listed = [{**WEATHER, "annotations": {"readOnlyHint": True}}, {**WEATHER, "name": "delete"}]
    registry = Registry(LENIENT)
    registry.include_mcp_tools(listed, _echo, high_risk=lambda tool: not tool.annotations.get("readOnlyHint"), policy=STRICT)
    assert [tool.high_risk for tool in registry] == [False, True]
    assert not registry.run("weather", {"city": "Oslo", "days": "3"}).ok


def test_the_same_pipeline_as_functions() -> None:
    """Arguments are mended, refused and put on record like those of a function."""
    registry = Registry(LENIENT)
    registry.include_mcp_tools([WEATHER], _echo)
    result = registry.run("weather", '{"City": "Oslo", "days": "3",}')
    assert json.loads(result.value) == ["weather", {"city": "Oslo", "days": 3}]
    assert result.report is not None
    assert ("$.days", "str->int") in result.report.conversion_log
    assert "$.days: expected an integer" in registry.run("weather", {"city": "Oslo", "days": "soon"}).to_text()
