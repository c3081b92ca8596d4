"""Plain JSON: a name, a description and a JSON Schema (draft 2020-12)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolbox.providers.shared import ExportedTool

__all__ = ["write_result", "write_tools"]


def write_tools(tools: Iterable[ExportedTool]) -> list[dict[str, Any]]:
    """One object a tool."""
    return [{"name": tool.name, "description": tool.description, "parameters": tool.schema} for tool in tools]


def write_result(text: str, call_id: str | None, tool: str, *, failed: bool) -> dict[str, Any]:
    """The result with its tool and id."""
    message: dict[str, Any] = {"tool": tool, "ok": not failed, "content": text}
    return message if call_id is None else {**message, "call_id": call_id}
