"""Tools that come from elsewhere: MCP servers and OpenAPI documents."""

from toolbox.sources.found import Included, OnSchemaProblem, SourceTool, SourceTools, make_tools
from toolbox.sources.mcp_tools import RemoteToolError, read_mcp_tools, unwrap_result
from toolbox.sources.openapi import Operation, Operations, read_openapi
from toolbox.sources.requests import Request
from toolbox.sources.styles import CannotSend

__all__ = [
    "CannotSend",
    "Included",
    "OnSchemaProblem",
    "Operation",
    "Operations",
    "RemoteToolError",
    "Request",
    "SourceTool",
    "SourceTools",
    "make_tools",
    "read_mcp_tools",
    "read_openapi",
    "unwrap_result",
]
