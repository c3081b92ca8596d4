"""OpenAI Chat Completions, and the many services that speak it.

Source: the function tool and tool message of OpenAI's Chat Completions API reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from toolbox.providers.shared import ExportedTool, legal_names

__all__ = ["write_result", "write_tools"]

_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME: Final = 64


def write_tools(tools: Iterable[ExportedTool]) -> list[dict[str, Any]]:
    """One function tool each; names with other characters than letters, digits, ``_`` and ``-`` are made legal."""
    listed = list(tools)
    names = legal_names((tool.name for tool in listed), _ILLEGAL, _LONGEST_NAME)
    return [
        {
            "type": "function",
            "function": {"name": names[tool.name], "description": tool.description, "parameters": tool.schema},
        }
        for tool in listed
    ]


def write_result(text: str, call_id: str | None, tool: str, *, failed: bool) -> dict[str, Any]:
    """The tool message. The API has no mark for errors, so the text says it."""
    return {"role": "tool", "tool_call_id": call_id or tool, "content": text}
