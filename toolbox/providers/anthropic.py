"""Anthropic Messages: ``tool_use`` blocks in, ``tool_result`` blocks in one user message out.

Sources: Anthropic's Messages API reference, its guide to tool use, and ``transform_schema`` of its Python SDK for strict schemas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolbox.payload.found import FoundCall
from toolbox.providers.dialects import Dialect
from toolbox.providers.media import Media, parts_of
from toolbox.providers.provider import Choice, Limits, Provider, StrictBudget, WrittenTool
from toolbox.providers.records import SentResult
from toolbox.providers.shared import (
    Answer,
    IdRule,
    NameRule,
    arguments_object,
    cut_off,
    found_call,
    mappings,
    parsed_or_text,
    text_of,
    without_none,
)
from toolbox.providers.streaming import Assembler, Slot
from toolbox.providers.strictness import ANTHROPIC_PROPERTIES, ANTHROPIC_STRICT, AnthropicBudget

__all__ = ["PROVIDER", "Anthropic"]

_CUT_OFF: Final = frozenset(("max_tokens", "model_context_window_exceeded", "refusal"))
_IMAGES: Final = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_CHOICES: Final = {"auto": "auto", "none": "none", "required": "any", "tool": "tool"}


class Anthropic(Provider):
    """The Messages API."""

    name = "anthropic"
    # 128 characters by the present reference, 64 by the older ones and where others host the models.
    names = NameRule(re.compile(r"[^a-zA-Z0-9_-]"), 64)
    ids = IdRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"))
    dialect = Dialect(title="Anthropic", properties=ANTHROPIC_PROPERTIES)
    strict_dialect = ANTHROPIC_STRICT
    limits = Limits(strict_tools=AnthropicBudget.tools)

    def definition(self, tool: WrittenTool) -> dict[str, Any]:
        """A tool with ``input_schema``."""
        made: dict[str, Any] = {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        return {**made, "strict": True} if tool.strict else made

    def budget(self) -> StrictBudget:
        """What the strict tools of one request may have."""
        return AnthropicBudget()

    def choice(self, choice: Choice) -> dict[str, Any]:
        """``tool_choice``; parallel calls are a part of it."""
        said: dict[str, Any] = {"type": _CHOICES[choice.mode]}
        if choice.mode == "tool":
            said["name"] = choice.name
        if choice.parallel is not None and choice.mode != "none":
            said["disable_parallel_tool_use"] = not choice.parallel
        return {"tool_choice": said}

    def recognises(self, response: Any) -> bool:
        """A message with a list of blocks and a reason to stop, or an assistant's message with calls."""
        if not isinstance(response, Mapping) or not isinstance(response.get("content"), list) or response.get("role") != "assistant":
            return False
        return "stop_reason" in response or any(block.get("type") == "tool_use" for block in mappings(response["content"]))

    def read(self, response: Any) -> Answer:
        """The ``tool_use`` blocks; those of the server's own tools are not ours."""
        blocks = mappings(response.get("content"))
        answer = Answer(texts=text_of([block for block in blocks if block.get("type") == "text"]))
        for block in blocks:
            if block.get("type") == "tool_use":
                position = len(answer.calls)
                answer.calls.append(found_call(block.get("name"), block.get("input"), block.get("id"), position, response.get("id") or ""))
        # An input that was cut off looks complete (the SDK makes it {}), so the reason to stop has the last word.
        if answer.calls and response.get("stop_reason") in _CUT_OFF:
            answer.problem = cut_off(response["stop_reason"])
        return answer

    def echo(self, response: Any, answer: Answer) -> list[dict[str, Any]]:
        """The model's blocks, the thinking among them, unchanged."""
        ids = iter(answer.calls)
        blocks = []
        for block in mappings(response.get("content")):
            kept = {key: value for key, value in block.items() if value is not None and key != "parsed_output"}
            if block.get("type") == "tool_use":
                kept |= {"id": next(ids).call_id, "input": arguments_object(block.get("input"))}
            elif block.get("type") == "text" and not block.get("text"):
                continue  # an empty text is refused when it comes back
            blocks.append(kept)
        return [{"role": "assistant", "content": blocks}] if blocks else []

    def assembler(self) -> Assembler:
        """Puts the events of blocks together."""
        return _BlockAssembler()

    def results(self, results: Sequence[SentResult], names: Mapping[str, str]) -> list[dict[str, Any]]:  # noqa: ARG002 - carries no names
        """One user message with all results: every call needs its result in the very next message."""
        return [{"role": "user", "content": [self._block(result) for result in results]}]

    def _block(self, result: SentResult) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": self.wire_id(result)}
        parts = [part for part in parts_of(result.value, result.text) if part != ""]
        if len(parts) == 1 and isinstance(parts[0], str):
            block["content"] = parts[0]
        elif parts:
            block["content"] = [_part(part) for part in parts]
        return {**block, "is_error": True} if result.failed else block

    def calls(self, calls: Sequence[FoundCall], text: str) -> list[dict[str, Any]]:
        """An assistant's message with ``tool_use`` blocks."""
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        blocks += [{"type": "tool_use", "id": call.call_id, "name": call.name, "input": arguments_object(call.arguments)} for call in calls]
        return [{"role": "assistant", "content": blocks}]


def _part(part: Media | str) -> dict[str, Any]:
    if isinstance(part, Media) and (part.mime in _IMAGES or part.mime == "application/pdf"):
        source = {"type": "base64", "media_type": part.mime, "data": part.base64}
        return {"type": "document" if part.mime == "application/pdf" else "image", "source": source}
    return {"type": "text", "text": str(part)}


class _BlockAssembler(Assembler):
    """Events of content blocks, by their index; what the SDK's helper adds to them is passed over."""

    def __init__(self) -> None:
        super().__init__()
        self.message: dict[str, Any] = {}
        self.blocks: dict[int, dict[str, Any]] = {}
        self.by_index: dict[int, Slot] = {}

    def within(self) -> object:
        """The id of the message."""
        return self.message.get("id") or ""

    def add(self, event: dict[str, Any]) -> None:
        """Take one event."""
        kind, index = event.get("type"), event.get("index")
        if kind == "message_start" and isinstance(event.get("message"), dict):
            self.message = event["message"]
        elif kind == "content_block_start" and isinstance(index, int):
            self._start(index, event.get("content_block") or {})
        elif kind == "content_block_delta" and isinstance(index, int) and index in self.blocks:
            self._delta(index, event.get("delta") or {})
        elif kind == "content_block_stop" and index in self.by_index:
            self.by_index[index].ended = True
        elif kind == "message_delta":
            stop = (event.get("delta") or {}).get("stop_reason")
            if isinstance(stop, str):
                self.stop = stop
                if stop in _CUT_OFF:
                    self.problem = cut_off(stop)
                self.finish()
        elif kind == "error":
            self.problem = cut_off("the provider reported an error")

    def _start(self, index: int, block: dict[str, Any]) -> None:
        self.blocks[index] = dict(block)
        if block.get("type") == "tool_use":
            slot = self.by_index[index] = Slot(block.get("name") or "", block.get("id"))
            self.slots.append(slot)
            if block.get("input"):
                slot.value = block["input"]
        elif block.get("type") == "text" and block.get("text"):
            self.texts.append(block["text"])

    def _delta(self, index: int, delta: dict[str, Any]) -> None:
        kind, block = delta.get("type"), self.blocks[index]
        if kind == "input_json_delta" and index in self.by_index:
            self.append(self.by_index[index], delta.get("partial_json"))
        elif kind == "input_json_delta":  # the server's own tools
            block["_json"] = block.get("_json", "") + (delta.get("partial_json") or "")
        elif kind == "text_delta":
            self.texts.append(delta.get("text") or "")
            block["text"] = block.get("text", "") + (delta.get("text") or "")
        elif kind == "thinking_delta":
            block["thinking"] = block.get("thinking", "") + (delta.get("thinking") or "")
        elif kind == "signature_delta":
            block["signature"] = delta.get("signature")
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta.get("citation")]

    def response(self) -> dict[str, Any]:
        """The whole message."""
        content = []
        for index, block in sorted(self.blocks.items()):
            slot = self.by_index.get(index)
            if slot is not None:
                content.append({**block, "input": parsed_or_text(slot.arguments)})
            else:
                own = {key: value for key, value in block.items() if key != "_json"}
                content.append({**own, "input": arguments_object(block["_json"])} if "_json" in block else own)
        stop = self.stop or ("max_tokens" if self.slots else None)
        return without_none({"type": "message", "role": "assistant", **self.message, "content": content, "stop_reason": stop})


PROVIDER: Provider = Anthropic()
