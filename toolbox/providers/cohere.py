"""Cohere v2 Chat: Chat Completions without ``choices``, with a plan beside the calls.

Sources: Cohere's Chat API reference (v2), its pages on tool use and structured outputs, and the types of its Python SDK.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolbox.providers.chat import ChatAssembler, ChatProvider, problem_of
from toolbox.providers.dialects import Dialect, Recursion, Refs
from toolbox.providers.provider import Choice, Provider, StrictBudget
from toolbox.providers.shared import Answer, IdRule, text_of, without_none
from toolbox.providers.sizes import measure
from toolbox.providers.streaming import Assembler
from toolbox.types import Document, ObjectType

__all__ = ["PROVIDER", "Cohere"]

_CHOICES: Final = {"none": "NONE", "required": "REQUIRED"}


class _Budget(StrictBudget):
    """By Cohere's page on tool use: at least one required parameter for each tool, and 200 fields altogether."""

    most_fields = 200

    def __init__(self) -> None:
        self.fields = 0

    def refusal(self, document: Document) -> tuple[str, str] | None:
        """The first rule that one more tool would break."""
        root = document.root
        if not (isinstance(root, ObjectType) and any(item.required for item in root.fields)):
            return "$", "a strict tool needs at least one required parameter"
        fields = self.fields + measure(document).properties
        if fields > self.most_fields:
            return "$", f"with it the strict tools of the request would have {fields} fields, and at most {self.most_fields} are allowed"
        self.fields = fields
        return None


class Cohere(ChatProvider):
    """The Chat API v2."""

    name = "cohere"
    ids = IdRule(re.compile(r".+", re.DOTALL))
    dialect = Dialect(title="Cohere")
    # Source: the supported and unsupported schema features on the page about structured outputs.
    strict_dialect = Dialect(
        title="Cohere strict",
        keywords=frozenset(("pattern",)),
        formats=frozenset(("date-time", "uuid", "date", "time")),
        encodings=False,
        defaults=False,
        examples=False,
        deprecated=False,
        lookaround=False,
        refs=Refs.BARE,
        recursion=Recursion.REFUSE,
        one_of=False,
        opaque=False,
        prefixes=False,
        untyped=False,
        closed=True,
        one_type_choices=True,
    )
    strict_note = "cohere is strict for a whole request: send strict_tools=True with it, and only strict tools"

    def budget(self) -> StrictBudget:
        """What the strict tools of one request may have."""
        return _Budget()

    def choice(self, choice: Choice) -> dict[str, Any]:
        """``tool_choice``; one tool cannot be forced."""
        if choice.mode == "tool":
            raise ValueError("cohere cannot be told which tool to call; send only that tool, and choose 'required'")
        return {"tool_choice": _CHOICES[choice.mode]} if choice.mode in _CHOICES else {}

    def recognises(self, response: Any) -> bool:
        """A response with ``message`` and ``finish_reason``."""
        return isinstance(response, Mapping) and isinstance(response.get("message"), Mapping) and "finish_reason" in response

    def message_of(self, response: Any) -> dict[str, Any]:
        """The model's message of a response."""
        return dict(response.get("message") or {}) if "message" in response else dict(response)

    def stop_of(self, response: Any) -> str | None:
        """Why the model stopped."""
        reason = response.get("finish_reason")
        return reason if isinstance(reason, str) else None

    def echo(self, response: Any, answer: Answer) -> list[dict[str, Any]]:
        """The model's message with its plan; an empty content is left out."""
        return [without_none(message) for message in super().echo(response, answer)]

    def assembler(self) -> Assembler:
        """Puts typed events together."""
        return _CohereAssembler()

    def calls(self, calls: Any, text: str) -> list[dict[str, Any]]:
        """What the model said beside calls is its plan."""
        (message,) = super().calls(calls, text)
        said = {"tool_plan": text} if text else {}
        return [{"role": "assistant", **said, "tool_calls": message["tool_calls"]}]


class _CohereAssembler(ChatAssembler):
    """Typed events; the ``tool_calls`` of a delta is one object there, and no list."""

    def add(self, event: dict[str, Any]) -> None:
        """Take one event."""
        kind, delta = event.get("type"), event.get("delta")
        if event.get("id") is not None:
            self.head["id"] = event["id"]
        delta = delta if isinstance(delta, Mapping) else {}
        message = delta.get("message")
        if isinstance(message, Mapping):
            if isinstance(message.get("tool_plan"), str):
                self.extra["tool_plan"] = self.extra.get("tool_plan", "") + message["tool_plan"]
            content = message.get("content")
            self.texts += text_of([content] if isinstance(content, Mapping) else content)
            call = message.get("tool_calls")
            if isinstance(call, Mapping):
                self.fragment({**call, "index": event.get("index")})
        if kind == "tool-call-end" and event.get("index") in self.by_index:
            self.by_index[event.get("index")].ended = True
        reason = delta.get("finish_reason")
        if kind == "message-end" and isinstance(reason, str):
            self.stop = reason
            self.problem = problem_of(reason)
            self.finish()

    def response(self) -> dict[str, Any]:
        """A response with the message right under it."""
        (choice,) = super().response()["choices"]
        message = choice["message"]
        text = message.pop("content", None)
        if text:
            message["content"] = [{"type": "text", "text": text}]
        return {**self.head, "message": message, "finish_reason": self.stop or ("MAX_TOKENS" if self.slots else "COMPLETE")}


PROVIDER: Provider = Cohere()
