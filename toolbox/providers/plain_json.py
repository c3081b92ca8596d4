"""Plain JSON: a name, a description and a JSON Schema (draft 2020-12)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolbox.payload.found import FoundCall
from toolbox.providers.dialects import EXACT
from toolbox.providers.media import shown
from toolbox.providers.provider import Provider, WrittenTool
from toolbox.providers.records import SentResult
from toolbox.providers.shared import Answer, IdRule, NameRule, found_call, mappings

__all__ = ["PROVIDER", "PlainJSON"]


class PlainJSON(Provider):
    """No provider's format: names and schemas as they are."""

    name = "json"
    names = NameRule(re.compile(r"(?!)"), 256)
    ids = IdRule(re.compile(r".*", re.DOTALL))
    dialect = EXACT

    def definition(self, tool: WrittenTool) -> dict[str, Any]:
        """One object a tool."""
        return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}

    def recognises(self, response: Any) -> bool:  # noqa: ARG002 - as its docstring says
        """Never: plain shapes of calls are the payload's matter."""
        return False

    def read(self, response: Any) -> Answer:
        """A call with ``name`` and ``arguments``, or a list of such."""
        items = mappings(response if isinstance(response, list) else [response])
        return Answer(
            [
                found_call(item.get("name"), item.get("arguments"), item.get("call_id"), place)
                for place, item in enumerate(items)
                if "name" in item
            ]
        )

    def echo(self, response: Any, answer: Answer) -> list[dict[str, Any]]:  # noqa: ARG002 - the response is all there is
        """The calls."""
        return self.calls(answer.calls, "")

    def results(self, results: Sequence[SentResult], names: Mapping[str, str]) -> list[dict[str, Any]]:  # noqa: ARG002 - names stay
        """The results with their tools and ids."""
        made = []
        for result in results:
            message = {"tool": result.tool, "ok": not result.failed, "content": shown(result.value, result.text)}
            made.append(message if result.call_id is None else {**message, "call_id": result.call_id})
        return made

    def calls(self, calls: Sequence[FoundCall], text: str) -> list[dict[str, Any]]:  # noqa: ARG002 - calls alone
        """One object a call."""
        return [{"name": call.name, "arguments": call.arguments, "call_id": call.call_id} for call in calls]


PROVIDER: Provider = PlainJSON()
