"""OpenAI Chat Completions, and the many services that speak it.

Sources: OpenAI's Chat Completions API reference, its guide to structured outputs, and the types of its Python SDK.
"""

from __future__ import annotations

import re
from typing import Any

from toolbox.providers.chat import ChatProvider
from toolbox.providers.dialects import Dialect
from toolbox.providers.provider import Limits, Provider, StrictBudget, WrittenTool
from toolbox.providers.shared import IdRule
from toolbox.providers.strictness import OPENAI_STRICT, OpenAIBudget

__all__ = ["PROVIDER", "OpenAI"]


class OpenAI(ChatProvider):
    """Chat Completions as OpenAI has them."""

    name = "openai"
    ids = IdRule(re.compile(r".{1,40}", re.DOTALL))
    dialect = Dialect(title="OpenAI")
    strict_dialect = OPENAI_STRICT
    limits = Limits(tools=128, description=1024)

    def function(self, tool: WrittenTool) -> dict[str, Any]:
        """With ``strict`` where the tool is."""
        return {**super().function(tool), "strict": True} if tool.strict else super().function(tool)

    def budget(self) -> StrictBudget:
        """The size that a strict schema may have."""
        return OpenAIBudget()


PROVIDER: Provider = OpenAI()
