"""Amazon Bedrock Converse: ``toolUse`` and ``toolResult`` blocks.

Sources: the Bedrock Runtime API reference and botocore's service model, which holds the patterns and lengths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from toolbox.payload.found import FoundCall
from toolbox.providers.dialects import Dialect, Refs
from toolbox.providers.media import Media, parts_of, structured
from toolbox.providers.provider import Choice, Limits, Provider, StrictBudget, WrittenTool
from toolbox.providers.records import SentResult
from toolbox.providers.shared import (
    Answer,
    IdRule,
    NameRule,
    arguments_object,
    cut_off,
    found_call,
    malformed,
    mappings,
    parsed_or_text,
    text_of,
)
from toolbox.providers.streaming import Assembler, Slot
from toolbox.providers.strictness import ANTHROPIC_STRICT, AnthropicBudget

__all__ = ["PROVIDER", "Bedrock"]

_CUT_OFF: Final = frozenset(("max_tokens", "model_context_window_exceeded", "guardrail_intervened", "content_filtered"))
_MALFORMED: Final = frozenset(("malformed_tool_use", "malformed_model_output"))
_IMAGES: Final = frozenset(("png", "jpeg", "gif", "webp"))
_CHOICES: Final = {"auto": "auto", "required": "any"}


class Bedrock(Provider):
    """The Converse API."""

    name = "bedrock"
    names = NameRule(re.compile(r"[^a-zA-Z0-9_-]"), 64)
    ids = IdRule(re.compile(r"[a-zA-Z0-9_.:-]{1,64}"))
    # The document is free; what it may hold is the model's matter, and some (Nova) take no $defs.
    dialect = Dialect(title="Bedrock", refs=Refs.INLINE)
    # The structured output of Converse takes what Anthropic's strict tools take.
    strict_dialect = replace(ANTHROPIC_STRICT, title="Bedrock strict", properties=None, refs=Refs.INLINE)
    limits = Limits(strict_tools=AnthropicBudget.tools)

    def definition(self, tool: WrittenTool) -> dict[str, Any]:
        """A ``toolSpec``, for ``toolConfig.tools``; an empty description is refused."""
        spec: dict[str, Any] = {"name": tool.name}
        if tool.description:
            spec["description"] = tool.description
        spec["inputSchema"] = {"json": tool.parameters}
        return {"toolSpec": {**spec, "strict": True} if tool.strict else spec}

    def budget(self) -> StrictBudget:
        """What the strict tools of one request may have."""
        return AnthropicBudget()

    def choice(self, choice: Choice) -> dict[str, Any]:
        """``toolChoice``, for ``toolConfig``."""
        if choice.mode == "tool":
            return {"toolChoice": {"tool": {"name": choice.name}}}
        if choice.mode == "none":
            raise ValueError("bedrock cannot forbid the use of tools; leave toolConfig out, or choose 'auto'")
        return {"toolChoice": {_CHOICES[choice.mode]: {}}}

    def recognises(self, response: Any) -> bool:
        """A response with ``output.message``, or a message with ``toolUse`` blocks."""
        if not isinstance(response, Mapping):
            return False
        output = response.get("output")
        if isinstance(output, Mapping) and isinstance(output.get("message"), Mapping):
            return True
        return response.get("role") == "assistant" and any("toolUse" in block for block in mappings(response.get("content")))

    def read(self, response: Any) -> Answer:
        """The ``toolUse`` blocks."""
        blocks = mappings(_message(response).get("content"))
        answer = Answer(texts=text_of(blocks))
        for block in blocks:
            use = block.get("toolUse")
            if isinstance(use, Mapping):
                answer.calls.append(found_call(use.get("name"), use.get("input"), use.get("toolUseId"), len(answer.calls)))
        stop = response.get("stopReason")
        if stop in _MALFORMED:
            answer.problem = malformed(stop)
        elif answer.calls and stop in _CUT_OFF:
            answer.problem = cut_off(stop)
        return answer

    def echo(self, response: Any, answer: Answer) -> list[dict[str, Any]]:
        """The model's message; what is no object becomes one, and empty texts, which are refused, are left out."""
        ids = iter(answer.calls)
        blocks = []
        for block in mappings(_message(response).get("content")):
            use = block.get("toolUse")
            if isinstance(use, Mapping):
                blocks.append({"toolUse": {**use, "toolUseId": next(ids).call_id, "input": arguments_object(use.get("input"))}})
            elif block.get("text") != "":
                blocks.append(block)
        return [{"role": "assistant", "content": blocks}] if blocks else []

    def assembler(self) -> Assembler:
        """Puts the events of blocks together."""
        return _ConverseAssembler()

    def results(self, results: Sequence[SentResult], names: Mapping[str, str]) -> list[dict[str, Any]]:  # noqa: ARG002 - carries no names
        """One user message with all results."""
        return [{"role": "user", "content": [{"toolResult": self._result(result)} for result in results]}]

    def _result(self, result: SentResult) -> dict[str, Any]:
        parts = parts_of(result.value, result.text)
        value = structured(result.value, result.text) if len(parts) == 1 and isinstance(parts[0], str) and not result.failed else None
        # Only objects may stand under json.
        content = [{"json": value}] if isinstance(value, dict) else [_part(part, index) for index, part in enumerate(parts)]
        made: dict[str, Any] = {"toolUseId": self.wire_id(result), "content": content}
        return {**made, "status": "error"} if result.failed else made

    def calls(self, calls: Sequence[FoundCall], text: str) -> list[dict[str, Any]]:
        """An assistant's message with ``toolUse`` blocks."""
        blocks: list[dict[str, Any]] = [{"text": text}] if text else []
        blocks += [{"toolUse": {"toolUseId": call.call_id, "name": call.name, "input": arguments_object(call.arguments)}} for call in calls]
        return [{"role": "assistant", "content": blocks}]

    def user(self, text: str) -> dict[str, Any]:
        """A user's message."""
        return {"role": "user", "content": [{"text": text}]}


def _message(response: Any) -> Mapping[str, Any]:
    output = response.get("output")
    found = output.get("message") if isinstance(output, Mapping) else response
    return found if isinstance(found, Mapping) else {}


def _part(part: Media | str, index: int) -> dict[str, Any]:
    if isinstance(part, Media) and part.kind == "image" and part.subtype in _IMAGES:
        return {"image": {"format": part.subtype, "source": {"bytes": part.data}}}  # raw: boto3 encodes them
    if isinstance(part, Media) and part.mime == "application/pdf":
        return {"document": {"format": "pdf", "name": f"document {index + 1}", "source": {"bytes": part.data}}}
    return {"text": str(part) or "(empty)"}


class _ConverseAssembler(Assembler):
    """Events of content blocks, by their index; the input of a call comes as pieces of text."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: dict[int, dict[str, Any]] = {}
        self.by_index: dict[int, Slot] = {}
        self.tail: dict[str, Any] = {}

    def add(self, event: dict[str, Any]) -> None:
        """Take one event."""
        for kind, body in event.items():
            if not isinstance(body, dict):
                continue
            index = body.get("contentBlockIndex", 0)
            if kind == "contentBlockStart" and isinstance((body.get("start") or {}).get("toolUse"), dict):
                use = body["start"]["toolUse"]
                slot = self.by_index[index] = Slot(use.get("name") or "", use.get("toolUseId"))
                self.slots.append(slot)
                self.blocks[index] = {"toolUse": dict(use)}
            elif kind == "contentBlockDelta":
                self._delta(index, body.get("delta") or {})
            elif kind == "contentBlockStop" and index in self.by_index:
                self.by_index[index].ended = True
            elif kind == "messageStop":
                self._stop(body.get("stopReason"))
            elif kind == "metadata":
                self.tail = body

    def _delta(self, index: int, delta: dict[str, Any]) -> None:
        if isinstance(delta.get("toolUse"), dict):
            if index in self.by_index:
                self.append(self.by_index[index], delta["toolUse"].get("input"))
        elif isinstance(delta.get("text"), str):
            self.texts.append(delta["text"])
            block = self.blocks.setdefault(index, {"text": ""})
            block["text"] = block.get("text", "") + delta["text"]
        elif isinstance(delta.get("reasoningContent"), dict):
            thought = delta["reasoningContent"]
            content = self.blocks.setdefault(index, {"reasoningContent": {}})["reasoningContent"]
            if "redactedContent" in thought:
                content["redactedContent"] = content.get("redactedContent", b"") + thought["redactedContent"]
                return
            said = content.setdefault("reasoningText", {"text": ""})
            said["text"] += thought.get("text") or ""
            if thought.get("signature"):
                said["signature"] = thought["signature"]

    def _stop(self, stop: Any) -> None:
        self.stop = str(stop)
        if self.stop in _MALFORMED:
            self.problem = malformed(self.stop)
        elif self.stop in _CUT_OFF:
            self.problem = cut_off(self.stop)
        self.finish()

    def response(self) -> dict[str, Any]:
        """The whole response."""
        content = []
        for index, block in sorted(self.blocks.items()):
            slot = self.by_index.get(index)
            if slot is None:
                content.append(block)
            else:
                content.append({"toolUse": {**block["toolUse"], "input": parsed_or_text(slot.arguments)}})
        stop = self.stop or ("max_tokens" if self.slots else "end_turn")
        return {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": stop, **self.tail}


PROVIDER: Provider = Bedrock()
