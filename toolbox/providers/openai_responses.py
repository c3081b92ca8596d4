"""OpenAI Responses: flat tools, calls as items of the output, results as items of the next input.

Sources: OpenAI's Responses API reference and the types of its Python SDK.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolbox.payload.found import FoundCall
from toolbox.providers.chat import ChatProvider, arguments_text
from toolbox.providers.dialects import Dialect
from toolbox.providers.media import Media, parts_of
from toolbox.providers.provider import Choice, Limits, Provider, StrictBudget, WrittenTool
from toolbox.providers.records import SentResult
from toolbox.providers.shared import Answer, IdRule, cut_off, found_call, mappings, without_none
from toolbox.providers.streaming import Assembler, Slot
from toolbox.providers.strictness import OPENAI_STRICT, OpenAIBudget

__all__ = ["PROVIDER", "OpenAIResponses"]

_ITEMS = frozenset(("message", "function_call", "reasoning", "custom_tool_call"))
_CUT_OFF = frozenset(("incomplete", "failed", "cancelled"))
_ONLY_IN_RESPONSES = frozenset(("parsed", "parsed_arguments"))


class OpenAIResponses(Provider):
    """The Responses API."""

    name = "openai-responses"
    names = ChatProvider.names
    ids = IdRule(re.compile(r".{1,64}", re.DOTALL))
    dialect = Dialect(title="OpenAI")
    strict_dialect = OPENAI_STRICT
    limits = Limits(tools=128)

    def definition(self, tool: WrittenTool) -> dict[str, Any]:
        """A flat function tool. ``strict`` is a required key: what the server assumes without it is not the same everywhere."""
        return {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": tool.strict,
        }

    def budget(self) -> StrictBudget:
        """The size that a strict schema may have."""
        return OpenAIBudget()

    def choice(self, choice: Choice) -> dict[str, Any]:
        """``tool_choice``, and ``parallel_tool_calls`` where it is given."""
        said: Any = {"type": "function", "name": choice.name} if choice.mode == "tool" else choice.mode
        parallel = {} if choice.parallel is None else {"parallel_tool_calls": choice.parallel}
        return {"tool_choice": said, **parallel}

    def recognises(self, response: Any) -> bool:
        """A response with a list of ``output``, or such a list."""
        if isinstance(response, list):
            kinds = [item.get("type") for item in mappings(response)]
            return (
                len(kinds) == len(response)
                and "function_call" in kinds
                and all(isinstance(item.get("call_id"), str) or item.get("type") != "function_call" for item in response)
            )
        if not isinstance(response, Mapping) or not isinstance(response.get("output"), list):
            return False
        return response.get("object") == "response" or any(item.get("type") in _ITEMS for item in mappings(response["output"]))

    def read(self, response: Any) -> Answer:
        """The items ``function_call``; they are answered by their ``call_id``."""
        answer = Answer()
        whole = response if isinstance(response, Mapping) else {"output": response}
        stop = _stop_of(whole)
        for item in mappings(whole.get("output")):
            kind = item.get("type")
            if kind == "function_call":
                position = len(answer.calls)
                call_id = item.get("call_id") or item.get("id")
                answer.calls.append(found_call(item.get("name"), item.get("arguments"), call_id, position, whole.get("id") or ""))
                stop = stop or (item["status"] if item.get("status") in _CUT_OFF else None)
            elif kind == "message":
                answer.texts += [
                    part["text"] for part in mappings(item.get("content")) if part.get("type") == "output_text" and part.get("text")
                ]
        if answer.calls and stop is not None:
            answer.problem = cut_off(stop)
        return answer

    def echo(self, response: Any, answer: Answer) -> list[dict[str, Any]]:
        """All items of the output, the reasoning among them."""
        items = response.get("output") if isinstance(response, Mapping) else response
        ids = iter(answer.calls)
        written = []
        for item in mappings(items):
            kept = {key: value for key, value in item.items() if value is not None and key not in _ONLY_IN_RESPONSES}
            if item.get("type") == "function_call":
                kept["call_id"] = next(ids).call_id
            elif item.get("type") == "message":
                kept["content"] = [
                    {key: value for key, value in part.items() if value is not None and key not in _ONLY_IN_RESPONSES}
                    for part in mappings(item.get("content"))
                ]
            written.append(kept)
        return written

    def assembler(self) -> Assembler:
        """Puts the named events together."""
        return _ResponsesAssembler()

    def results(self, results: Sequence[SentResult], names: Mapping[str, str]) -> list[dict[str, Any]]:  # noqa: ARG002 - carries no names
        """One item ``function_call_output`` each; there is no mark for errors, which the text says."""
        return [
            {"type": "function_call_output", "call_id": self.wire_id(result), "output": _output(parts_of(result.value, result.text))}
            for result in results
        ]

    def calls(self, calls: Sequence[FoundCall], text: str) -> list[dict[str, Any]]:
        """The items of a model that said something and made calls."""
        said = [{"role": "assistant", "content": text}] if text else []
        items = [
            {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": arguments_text(call.arguments)}
            for call in calls
        ]
        return [*said, *items]


def _stop_of(response: Mapping[str, Any]) -> str | None:
    """Why a response is not complete; None when it is."""
    if response.get("status") not in _CUT_OFF:
        return None
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    return str(reason or response["status"])


def _output(parts: list[Media | str]) -> Any:
    if len(parts) == 1 and isinstance(parts[0], str):
        return parts[0]
    return [_part(part) for part in parts]


def _part(part: Media | str) -> dict[str, Any]:
    if isinstance(part, Media) and part.kind == "image":
        return {"type": "input_image", "detail": "auto", "image_url": part.url}
    if isinstance(part, Media) and part.mime == "application/pdf":
        return {"type": "input_file", "filename": "result.pdf", "file_data": part.url}
    return {"type": "input_text", "text": str(part)}


class _ResponsesAssembler(Assembler):
    """Named events; those about arguments carry ``item_id`` and ``output_index``, and no ``call_id``."""

    def __init__(self) -> None:
        super().__init__()
        self.items: dict[int, dict[str, Any]] = {}
        self.by_index: dict[int, Slot] = {}
        self.whole: dict[str, Any] = {}

    def within(self) -> object:
        """The id of the response."""
        return self.whole.get("id") or ""

    def add(self, event: dict[str, Any]) -> None:
        """Take one event."""
        kind, index = event.get("type"), event.get("output_index")
        if kind in ("response.output_item.added", "response.output_item.done") and isinstance(index, int):
            self._item(index, event.get("item") or {}, done=kind == "response.output_item.done")
        elif kind == "response.function_call_arguments.delta" and index in self.by_index:
            self.append(self.by_index[index], event.get("delta"))
        elif kind == "response.function_call_arguments.done" and index in self.by_index and isinstance(event.get("arguments"), str):
            slot = self.by_index[index]
            if not slot.taken:
                slot.pieces = [event["arguments"]]
        elif kind == "response.output_text.delta":
            self.texts.append(event.get("delta") or "")
        elif isinstance(event.get("response"), dict):
            self._response(str(kind), event["response"])

    def _item(self, index: int, item: dict[str, Any], *, done: bool) -> None:
        self.items[index] = item
        if item.get("type") != "function_call":
            return
        slot = self.by_index.get(index)
        if slot is None:
            slot = self.by_index[index] = Slot()
            self.slots.append(slot)
        slot.name, slot.call_id = item.get("name") or slot.name, item.get("call_id") or slot.call_id
        if done and not slot.taken:
            if isinstance(item.get("arguments"), str):
                slot.pieces = [item["arguments"]]
            slot.ended = item.get("status") not in _CUT_OFF

    def _response(self, kind: str, response: dict[str, Any]) -> None:
        self.whole = response
        if kind in ("response.completed", "response.incomplete", "response.failed", "response.cancelled"):
            self.stop = _stop_of(response)
            if self.stop is not None:
                self.problem = cut_off(self.stop)
            self.finish()

    def response(self) -> dict[str, Any]:
        """The response of the last event, or what the items so far make up."""
        if self.ended and self.whole.get("output"):
            return self.whole
        output = []
        for index, item in sorted(self.items.items()):
            slot = self.by_index.get(index)
            output.append(item if slot is None else {**item, "arguments": "".join(slot.pieces)})
        status = (self.whole.get("status") or "completed") if self.ended else "incomplete"
        return without_none({"object": "response", **self.whole, "status": status, "output": output})


PROVIDER: Provider = OpenAIResponses()
