"""The shapes of Chat Completions, which several providers share: function tools, ``tool_calls``, ``role: tool``.

Sources: OpenAI's Chat Completions API reference, and the types of the SDKs of OpenAI, Mistral, Cohere and Ollama.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from toolbox.errors import PayloadError
from toolbox.json_values import json_text
from toolbox.payload.found import FoundCall
from toolbox.providers.media import shown
from toolbox.providers.provider import Choice, Provider, WrittenTool
from toolbox.providers.records import SentResult
from toolbox.providers.shared import (
    MADE,
    Answer,
    NameRule,
    arguments_object,
    cut_off,
    first,
    found_call,
    mappings,
    parsed_or_text,
    text_of,
    without_none,
)
from toolbox.providers.streaming import Assembler, Slot

__all__ = ["ChatAssembler", "ChatProvider", "arguments_text", "problem_of"]

_CUT_OFF: Final = frozenset(("length", "model_length", "max_tokens", "content_filter", "error", "timeout"))
LEGACY: Final = "function_call_"
"""How the id begins that a deprecated ``function_call`` gets, which has none: its result is a message of the role ``function``."""
# What a response's message has and a request's must not have.
_ONLY_IN_RESPONSES: Final = frozenset(("annotations", "parsed", "tool_calls", "function_call", "audio"))


def problem_of(reason: str | None) -> PayloadError | None:
    """Why no call of an answer may be run, by the reason why the model stopped; None where the answer is complete."""
    return cut_off(reason) if reason is not None and reason.lower() in _CUT_OFF else None


def arguments_text(arguments: Any) -> str:
    """Arguments as the JSON text that goes over the wire."""
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments, ensure_ascii=False, allow_nan=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return json_text(arguments)


class ChatProvider(Provider):
    """Chat Completions."""

    names = NameRule(re.compile(r"[^a-zA-Z0-9_-]"), 64)
    required_word: ClassVar[str] = "required"

    # Tools out

    def function(self, tool: WrittenTool) -> dict[str, Any]:
        """What stands under ``function``."""
        return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}

    def definition(self, tool: WrittenTool) -> dict[str, Any]:
        """A function tool."""
        return {"type": "function", "function": self.function(tool)}

    def choice(self, choice: Choice) -> dict[str, Any]:
        """``tool_choice``, and ``parallel_tool_calls`` where it is given."""
        word = self.required_word if choice.mode == "required" else choice.mode
        said: Any = {"type": "function", "function": {"name": choice.name}} if choice.mode == "tool" else word
        parallel = {} if choice.parallel is None else {"parallel_tool_calls": choice.parallel}
        return {"tool_choice": said, **parallel}

    # Calls in

    def recognises(self, response: Any) -> bool:
        """A response with ``choices``, or an assistant's message with ``tool_calls``."""
        if not isinstance(response, Mapping):
            return False
        if isinstance(response.get("choices"), list):
            return "message" in first(response["choices"])
        return response.get("role") == "assistant" and ("tool_calls" in response or "function_call" in response)

    def message_of(self, response: Any) -> dict[str, Any]:
        """The model's message of a response."""
        if "choices" not in response:
            return dict(response)
        return dict(first(response["choices"]).get("message") or {})

    def stop_of(self, response: Any) -> str | None:
        """Why the model stopped."""
        reason = first(response.get("choices")).get("finish_reason")
        return reason if isinstance(reason, str) else None

    def texts_of(self, message: Mapping[str, Any]) -> list[str]:
        """The text parts of a message."""
        return text_of(message.get("content"))

    def read(self, response: Any) -> Answer:
        """The calls of the first choice."""
        message = self.message_of(response)
        within = response.get("id") or ""
        answer = Answer(texts=self.texts_of(message))
        for position, item in enumerate(mappings(message.get("tool_calls"))):
            if isinstance(item.get("custom"), Mapping):
                name, arguments = item["custom"].get("name"), item["custom"].get("input")
            else:
                inner = item.get("function")
                name, arguments = (inner.get("name"), inner.get("arguments")) if isinstance(inner, Mapping) else (None, None)
            answer.calls.append(found_call(name, arguments, item.get("id"), position, within))
        legacy = message.get("function_call")
        if isinstance(legacy, Mapping) and not answer.calls:
            call = found_call(legacy.get("name"), legacy.get("arguments"), None, 0, within)
            answer.calls.append(FoundCall(call.name, call.arguments, _legacy_id(call.call_id), ()))
        reason = self.stop_of(response)
        answer.problem = problem_of(reason) if answer.calls else None
        return answer

    def echo(self, response: Any, answer: Answer) -> list[dict[str, Any]]:
        """The model's message, without what only responses have, and with an id for every call."""
        message = self.message_of(response)
        written: dict[str, Any] = {"role": "assistant", "content": message.get("content")}
        written |= without_none({key: item for key, item in message.items() if key not in _ONLY_IN_RESPONSES})
        if isinstance(message.get("function_call"), Mapping):
            written["function_call"] = message["function_call"]
        items = mappings(message.get("tool_calls"))
        if items:
            written["tool_calls"] = [self.echoed(item, call) for item, call in zip(items, answer.calls, strict=True)]
        return [written]

    def echoed(self, item: dict[str, Any], call: FoundCall) -> dict[str, Any]:
        """One of the model's own calls, for its message."""
        kept = {key: value for key, value in item.items() if key not in ("index", "function") and value is not None}
        inner = item.get("function")
        if isinstance(inner, Mapping):
            kept["function"] = {"name": inner.get("name") or "", "arguments": self.echoed_arguments(inner.get("arguments"))}
        return {**kept, "id": call.call_id, "type": item.get("type") or "function"}

    def echoed_arguments(self, arguments: Any) -> str:
        """Arguments in the model's own message: the text as it came, where it is JSON."""
        known = isinstance(arguments, str) and isinstance(parsed_or_text(arguments), dict) and arguments.strip()
        return arguments if known else arguments_text(arguments_object(arguments))

    def assembler(self) -> Assembler:
        """Puts chunks together."""
        return ChatAssembler()

    # Results out

    def results(self, results: Sequence[SentResult], names: Mapping[str, str]) -> list[dict[str, Any]]:
        """One message of the role ``tool`` each: text alone, and no mark for errors, which the text says."""
        return [self.result(result, names) for result in results]

    def result(self, result: SentResult, names: Mapping[str, str]) -> dict[str, Any]:
        """The message for one result."""
        text = shown(result.value, result.text)
        if (result.call_id or "").startswith(LEGACY):
            return {"role": "function", "name": names.get(result.tool, result.tool), "content": text}
        return {"role": "tool", "tool_call_id": self.wire_id(result), "content": text}

    def calls(self, calls: Sequence[FoundCall], text: str) -> list[dict[str, Any]]:
        """An assistant's message with ``tool_calls``."""
        items = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call.arguments)}}
            for call in calls
        ]
        return [{"role": "assistant", "content": text or None, "tool_calls": items}]


def _legacy_id(call_id: str | None) -> str:
    return LEGACY + (call_id or "").removeprefix(MADE)


class ChatAssembler(Assembler):
    """Chunks with ``choices[0].delta``: the first fragment of a call has its id and name, later ones only more of its arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.head: dict[str, Any] = {}
        self.extra: dict[str, Any] = {}
        self.reasoning: list[str] = []
        self.by_index: dict[Any, Slot] = {}
        self.legacy: Slot | None = None

    def within(self) -> object:
        """The id of the response."""
        return self.head.get("id") or ""

    def add(self, event: dict[str, Any]) -> None:
        """Take one chunk; one without choices brings the usage."""
        # The Mistral SDK wraps every chunk, and so does the stream helper of OpenAI's, which tells everything else twice.
        wrapped = event.get("data", event.get("chunk"))
        chunk = wrapped if isinstance(wrapped, dict) else event
        for key in ("id", "model", "created", "usage"):
            if chunk.get(key) is not None:
                self.head[key] = chunk[key]
        choice = first(chunk.get("choices"))
        if choice.get("index", 0) != 0:
            return  # only the first of several answers is read, as in a response that is not streamed
        delta = choice.get("delta")
        if isinstance(delta, Mapping):
            self.take(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.stop = reason
            self.problem = problem_of(reason)
            self.finish()

    def take(self, delta: Mapping[str, Any]) -> None:
        """Take the delta of a message."""
        self.texts += text_of(delta.get("content"))
        for key in ("reasoning_content", "reasoning", "refusal"):
            if isinstance(delta.get(key), str):
                self.extra[key] = self.extra.get(key, "") + delta[key]
        for item in mappings(delta.get("tool_calls")):
            self.fragment(item)
        legacy = delta.get("function_call")
        if isinstance(legacy, Mapping):
            if self.legacy is None:
                self.legacy = Slot()
                self.slots.append(self.legacy)
            self.legacy.name += legacy.get("name") or ""
            self.append(self.legacy, legacy.get("arguments"))

    def fragment(self, item: Mapping[str, Any]) -> None:
        """Take a fragment of a call."""
        inner = item.get("function") if isinstance(item.get("function"), Mapping) else item.get("custom")
        inner = inner if isinstance(inner, Mapping) else {}
        call_id = item.get("id") if item.get("id") not in ("", "null") else None
        slot = self.by_index.get(item.get("index"))
        if item.get("index") is None and self.slots:
            slot = self.slots[-1]
        # Some servers give every call of an answer the index 0: another id then begins another call.
        if slot is None or (call_id is not None and slot.call_id is not None and call_id != slot.call_id):
            for earlier in self.slots:
                earlier.ended = True
            slot = Slot()
            self.slots.append(slot)
            self.by_index[item.get("index")] = slot
        slot.call_id = slot.call_id or call_id
        if inner.get("name") and not slot.name:
            slot.name = inner["name"]
        self.append(slot, inner.get("arguments", inner.get("input")))

    def response(self) -> dict[str, Any]:
        """A response with one choice."""
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self.texts) or None, **self.extra}
        calls = [slot for slot in self.slots if slot is not self.legacy]
        if calls:
            message["tool_calls"] = [
                {"id": slot.call_id, "type": "function", "function": {"name": slot.name, "arguments": slot.arguments}} for slot in calls
            ]
        if self.legacy is not None:
            message["function_call"] = {"name": self.legacy.name, "arguments": self.legacy.arguments}
        stop = self.stop or ("length" if self.slots else None)
        return {"object": "chat.completion", **self.head, "choices": [{"index": 0, "message": message, "finish_reason": stop}]}
