"""Tools of real MCP servers, by the SDK that is installed (1.x or 2.x): in memory and over stdio."""

import asyncio
import base64
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from toolbox import LENIENT, Registry, ToolExecutionError

# The SDK is asked for by name, so that these tests are skipped, and the types of this file can be checked, where it is not installed.
T: Any = pytest.importorskip("mcp.types")
IS_1 = "input_schema" not in T.Tool.model_fields
PIXEL = base64.b64encode(b"\x89PNG").decode()
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "units": {"enum": ["celsius", "fahrenheit"]},
        "places": {"type": "array", "items": {"$ref": "#/$defs/place"}},
    },
    "required": ["city"],
    "$defs": {"place": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]}},
}
TOOLS = [
    {"name": "weather.forecast", "title": "Forecast", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    {"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    {"name": "draw", "inputSchema": {"type": "object"}},
    {"name": "fail", "inputSchema": {"type": "object"}},
]


def _result(name: str, arguments: dict[str, Any]) -> Any:
    """What the server answers; a real server of the SDK, whatever its version, sends it."""
    text = {"type": "text", "text": f"{name} {sorted(arguments.items())}"}
    found: dict[str, Any] = {"content": [text]}
    if name == "weather.forecast":
        found = {"content": [text], "structuredContent": {"got": arguments}}
    elif name == "draw":
        found = {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}
    elif name == "fail":
        found = {"content": [{"type": "text", "text": "the sky is falling"}], "isError": True}
    return T.CallToolResult.model_validate(found)


def _make_server() -> Any:
    """A low-level server, which checks no arguments itself."""
    tools = [T.Tool.model_validate(item) for item in TOOLS]
    lowlevel = pytest.importorskip("mcp.server.lowlevel").Server
    if IS_1:
        server = lowlevel("toolbox-test")

        @server.list_tools()  # type: ignore[untyped-decorator]
        async def listed() -> Any:
            return tools

        @server.call_tool(validate_input=False)  # type: ignore[untyped-decorator]
        async def called(name: str, arguments: dict[str, Any]) -> Any:
            return _result(name, arguments)

        return server

    async def list_tools(context: Any, params: Any) -> Any:
        return T.ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: Any) -> Any:
        return _result(params.name, params.arguments or {})

    return lowlevel("toolbox-test", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def _serve() -> None:
    """Serve on stdio; this file is started again for it."""
    server = _make_server()
    async with pytest.importorskip("mcp.server.stdio").stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


@asynccontextmanager
async def _in_memory() -> AsyncIterator[Any]:
    if IS_1:
        async with pytest.importorskip("mcp.shared.memory").create_connected_server_and_client_session(_make_server()) as session:
            yield session
    else:
        async with pytest.importorskip("mcp").Client(_make_server()) as client:
            yield client


@asynccontextmanager
async def _over_stdio() -> AsyncIterator[Any]:
    sdk, stdio = pytest.importorskip("mcp"), pytest.importorskip("mcp.client.stdio")
    path = os.pathsep.join(sys.path)
    parameters = sdk.StdioServerParameters(command=sys.executable, args=[str(Path(__file__)), "serve"], env={"PYTHONPATH": path})
    async with stdio.stdio_client(parameters) as (reader, writer), sdk.ClientSession(reader, writer) as session:
        await session.initialize()
        yield session


@pytest.mark.parametrize("connected", [_in_memory, _over_stdio])
@pytest.mark.filterwarnings("ignore")
def test_tools_of_a_real_server(connected: Any) -> None:
    """Listed, called with mended arguments, and unwrapped; what is refused never reaches the server."""

    async def talk() -> None:
        async with connected() as session:
            registry = Registry(LENIENT)
            included = registry.include_mcp_tools(await session.list_tools(), session.call_tool, high_risk=_is_risky)
            assert included.problems == []
            assert [tool.name for tool in registry] == ["weather_forecast", "echo", "draw", "fail"]
            assert [tool.high_risk for tool in registry] == [False, True, True, True]
            assert registry["weather_forecast"].description == "Forecast"
            assert registry["weather_forecast"].is_async

            arguments = '{"city": "Oslo", "days": "3", "units": "CELSIUS", "places": "[{\\"lat\\": \\"59.9\\"}]", "why": 1}'
            forecast = await registry.arun("weather.forecast", arguments)
            assert forecast.ok, forecast.to_text()
            assert forecast.value == {"got": {"city": "Oslo", "days": 3, "units": "celsius", "places": [{"lat": 59.9}]}}
            refused = await registry.arun("weather.forecast", {"days": 0, "units": "kelvin"})
            assert not refused.ok
            for part in ("$.city", "$.days", "$.units"):
                assert part in refused.to_text()

            assert await registry.adispatch("echo", {"n": 5.0}) == "echo [('n', 5)]"
            [image] = await registry.adispatch("draw", {})
            assert image.type == "image"
            assert PIXEL in (await registry.arun("draw", {})).to_text()
            with pytest.raises(ToolExecutionError, match="the sky is falling"):
                await registry.adispatch("fail", {})

    asyncio.run(talk())


def _is_risky(tool: Any) -> bool:
    return not tool.annotations.get("readOnlyHint")


if __name__ == "__main__" and sys.argv[1:] == ["serve"]:
    asyncio.run(_serve())
