"""The tools of an MCP server in a registry: the same pipeline as for functions. It needs the MCP SDK, version 1 or 2: pip install mcp.

The server runs in this process, on loopback, and ends with it.
"""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from toolbox import Registry

try:
    import uvicorn
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client
except ImportError:
    raise SystemExit("this example needs the MCP SDK: pip install mcp") from None
try:
    from mcp.server import MCPServer
except ImportError:  # version 1
    from mcp.server.fastmcp import FastMCP as MCPServer

# -- a server, as somebody else may have written it ------------------------------------------------------------------------------------

mcp = MCPServer("weather", log_level="CRITICAL")


@mcp.tool(title="Forecast")
def forecast(city: str, days: int = 1, units: Literal["celsius", "fahrenheit"] = "celsius") -> dict[str, Any]:
    return {"city": city, "days": days, "units": units, "temperature": 21}


@mcp.tool(description="Warn the people of a city.")
def warn(city: str, level: Literal["yellow", "orange", "red"]) -> str:
    if city == "Atlantis":
        raise ValueError("Atlantis has no people")
    return f"{city} is warned: {level}"


@contextmanager
def serving() -> Iterator[str]:
    """Serve it, and give its address."""
    server = uvicorn.Server(uvicorn.Config(mcp.streamable_http_app(), port=0, log_level="critical", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join()


# -- its tools in a registry -------------------------------------------------------------------------------------------------------------


async def main(url: str) -> None:
    async with streamable_http_client(url) as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        registry = Registry()
        registry.include_mcp_tools(await session.list_tools(), session.call_tool, high_risk=lambda tool: tool.name == "warn")
        for tool in registry:
            print(tool.name, list(tool.schema["properties"]), "high risk" if tool.high_risk else "")

        calls: list[tuple[str, Any]] = [
            ("forecast", '{"City": "Oslo", "days": "3", "units": "CELSIUS",}'),
            ("forecast", {"days": "a few"}),
            ("warn", {"city": "Oslo", "level": "red"}),
            ("warn", {"city": "Oslo", "level": "code red"}),
            ("warn", {"city": "Atlantis", "level": "yellow"}),
        ]
        for name, arguments in calls:
            result = await registry.arun(name, arguments)
            print(f"\n{name} {arguments}\n{result.to_text()}")
            for change in result.report.diagnostics if result.report else []:
                print("  ", change)


with serving() as address:
    asyncio.run(main(address))
