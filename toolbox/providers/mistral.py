"""Mistral: Chat Completions with ids of nine letters and digits, and the tool's name in every result.

Sources: Mistral's API reference, the types of its Python SDK, and the validator of mistral-common for names and ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolbox.providers.chat import ChatProvider
from toolbox.providers.dialects import Dialect
from toolbox.providers.provider import Provider, StrictBudget, WrittenTool
from toolbox.providers.records import SentResult
from toolbox.providers.shared import IdRule
from toolbox.providers.strictness import OPENAI_STRICT, OpenAIBudget

__all__ = ["PROVIDER", "Mistral"]


class Mistral(ChatProvider):
    """Chat completions as Mistral has them."""

    name = "mistral"
    ids = IdRule(re.compile(r"[a-zA-Z0-9]{9}"), 9, letters=True)
    dialect = Dialect(title="Mistral")
    # What strict takes is not documented in full; what OpenAI's takes is a schema that any such mode can hold to.
    strict_dialect = OPENAI_STRICT
    required_word = "any"

    def function(self, tool: WrittenTool) -> dict[str, Any]:
        """With ``strict`` where the tool is."""
        return {**super().function(tool), "strict": True} if tool.strict else super().function(tool)

    def budget(self) -> StrictBudget:
        """The size that a strict schema may have."""
        return OpenAIBudget()

    def recognises(self, response: Any) -> bool:  # noqa: ARG002 - as its docstring says
        """Never: the shape is OpenAI's, and is read the same way."""
        return False

    def echoed(self, item: dict[str, Any], call: Any) -> dict[str, Any]:
        """One of the model's own calls, under an id that the API takes."""
        return {**super().echoed(item, call), "id": self.ids.fitted(call.call_id)}

    def result(self, result: SentResult, names: Mapping[str, str]) -> dict[str, Any]:
        """With the name of the tool."""
        made = super().result(result, names)
        if made["role"] != "tool":
            return made
        return {
            "role": "tool",
            "tool_call_id": made["tool_call_id"],
            "name": names.get(result.tool, result.tool),
            "content": made["content"],
        }


PROVIDER: Provider = Mistral()
