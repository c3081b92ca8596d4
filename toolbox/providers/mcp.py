"""The Model Context Protocol: definitions for ``tools/list``, calls of ``tools/call``, and its results.

Sources: the specification of the Model Context Protocol and the types of its Python SDK.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolbox.payload.found import FoundCall
from toolbox.providers.dialects import EXACT
from toolbox.providers.media import Media, parts_of, structured
from toolbox.providers.provider import Provider, WrittenTool
from toolbox.providers.records import SentResult
from toolbox.providers.shared import Answer, IdRule, NameRule, arguments_object, found_call

__all__ = ["MCP", "PROVIDER"]


class MCP(Provider):
    """What a server says and hears."""

    name = "mcp"
    names = NameRule(re.compile(r"[^a-zA-Z0-9._-]"), 128)
    ids = IdRule(re.compile(r".+", re.DOTALL))
    dialect = EXACT

    def definition(self, tool: WrittenTool) -> dict[str, Any]:
        """A tool with ``inputSchema``."""
        return {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}

    def recognises(self, response: Any) -> bool:
        """A request ``tools/call``."""
        return isinstance(response, Mapping) and response.get("method") == "tools/call" and isinstance(response.get("params"), Mapping)

    def read(self, response: Any) -> Answer:
        """The one call of a request, or of its parameters alone."""
        params = response.get("params") if isinstance(response.get("params"), Mapping) else response
        number = response.get("id")
        return Answer([found_call(params.get("name"), params.get("arguments"), None if number is None else str(number), 0)])

    def echo(self, response: Any, answer: Answer) -> list[dict[str, Any]]:  # noqa: ARG002 - a request has nothing to be echoed
        """Nothing: a request is not a conversation."""
        return []

    def results(self, results: Sequence[SentResult], names: Mapping[str, str]) -> list[dict[str, Any]]:  # noqa: ARG002 - carries no names
        """One result each: content for the model, and the value itself where it is an object."""
        return [self._result(result) for result in results]

    def _result(self, result: SentResult) -> dict[str, Any]:
        parts = parts_of(result.value, result.text)
        made: dict[str, Any] = {"content": [_part(part) for part in parts]}
        if not result.failed and isinstance(parts[0], str) and len(parts) == 1:
            value = structured(result.value, result.text)
            if isinstance(value, dict):
                made["structuredContent"] = value
        return {**made, "isError": result.failed}

    def calls(self, calls: Sequence[FoundCall], text: str) -> list[dict[str, Any]]:  # noqa: ARG002 - a request has no text
        """A request each."""
        return [
            {"method": "tools/call", "params": {"name": call.name, "arguments": arguments_object(call.arguments)}, "id": call.call_id}
            for call in calls
        ]


def _part(part: Media | str) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if part.kind in ("image", "audio"):
        return {"type": part.kind, "data": part.base64, "mimeType": part.mime}
    address = f"toolbox://result.{part.subtype}"
    return {"type": "resource", "resource": {"uri": address, "mimeType": part.mime, "blob": part.base64}}


PROVIDER: Provider = MCP()
