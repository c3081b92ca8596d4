"""Ollama: Chat Completions with arguments as objects and hardly any schema.

Sources: Ollama's API reference, the types of its server (which keep only some keywords) and of its Python client (which keep fewer).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolbox.providers.chat import ChatAssembler, ChatProvider, problem_of
from toolbox.providers.dialects import Dialect, Recursion, Refs
from toolbox.providers.media import shown
from toolbox.providers.provider import Choice, Provider
from toolbox.providers.records import SentResult
from toolbox.providers.shared import MADE, Answer, IdRule, arguments_object, mappings, parsed_or_text, without_none
from toolbox.providers.streaming import Assembler, Slot
from toolbox.schema.writing import json_type
from toolbox.types import (
    AnyType,
    ArrayType,
    BooleanType,
    Document,
    EnumType,
    IntegerType,
    NullType,
    NumberType,
    ObjectType,
    StringType,
    Type,
    UnionType,
)

__all__ = ["PROVIDER", "Ollama"]

_TYPES: Final = {
    NullType: "null",
    BooleanType: "boolean",
    IntegerType: "integer",
    NumberType: "number",
    StringType: "string",
    ArrayType: "array",
    ObjectType: "object",
}


class Ollama(ChatProvider):
    """The chat endpoint of Ollama."""

    name = "ollama"
    ids = IdRule(re.compile(r".+", re.DOTALL))
    dialect = Dialect(
        title="Ollama",
        keywords=frozenset(),
        formats=frozenset(),
        encodings=False,
        defaults=False,
        examples=False,
        deprecated=False,
        titles=False,
        refs=Refs.INLINE,
        recursion=Recursion.CUT,
        one_of=False,
        opaque=False,
        prefixes=False,
        open_objects=False,
        one_type_choices=True,
        shallow=True,
    )

    def schema(self, document: Document) -> dict[str, Any]:
        """With the keywords that the server keeps, and nothing else."""
        written = _write(document.root)
        return written if "properties" in written else {**written, "properties": {}}  # a template may loop over them

    def choice(self, choice: Choice) -> dict[str, Any]:
        """Ollama has no choice of tools: "auto" is what it does."""
        if choice.mode != "auto":
            raise ValueError("ollama cannot be told which tools to call; send only the tools that may be called, or none")
        return {}

    def recognises(self, response: Any) -> bool:
        """A response with ``message`` and ``done``."""
        return isinstance(response, Mapping) and isinstance(response.get("message"), Mapping) and "done" in response

    def message_of(self, response: Any) -> dict[str, Any]:
        """The model's message of a response."""
        return dict(response.get("message") or {}) if "message" in response else dict(response)

    def stop_of(self, response: Any) -> str | None:
        """Why the model stopped."""
        reason = response.get("done_reason")
        return reason if isinstance(reason, str) else None

    def echo(self, response: Any, answer: Answer) -> list[dict[str, Any]]:
        """The model's message; its calls have no ids, or the server's own."""
        message = self.message_of(response)
        written = without_none({key: item for key, item in message.items() if key not in ("tool_calls", "images")})
        written = {"role": "assistant", **written}
        items = mappings(message.get("tool_calls"))
        if items:
            written["tool_calls"] = [
                {
                    **({"id": item["id"]} if item.get("id") else {}),
                    "function": {"name": call.name, "arguments": arguments_object(call.arguments)},
                }
                for item, call in zip(items, answer.calls, strict=True)
            ]
        return [written]

    def assembler(self) -> Assembler:
        """Puts lines together."""
        return _OllamaAssembler()

    def result(self, result: SentResult, names: Mapping[str, str]) -> dict[str, Any]:
        """By the name of the tool; an id is added where the server gave one."""
        made = {"role": "tool", "tool_name": names.get(result.tool, result.tool), "content": shown(result.value, result.text)}
        return made if result.call_id is None or result.call_id.startswith(MADE) else {**made, "tool_call_id": result.call_id}

    def calls(self, calls: Any, text: str) -> list[dict[str, Any]]:
        """An assistant's message with ``tool_calls``."""
        items = [{"function": {"name": call.name, "arguments": arguments_object(call.arguments)}} for call in calls]
        return [{"role": "assistant", "content": text, "tool_calls": items}]


# Schemas


def _write(node: Type) -> dict[str, Any]:
    if isinstance(node, UnionType):
        return _write_union(node)
    return _described(node, _kinds(node))


def _described(node: Type, body: dict[str, Any]) -> dict[str, Any]:
    if node.description is None:
        return body
    head = {"type": body["type"]} if "type" in body else {}
    return {**head, "description": node.description, **body}


def _kinds(node: Type) -> dict[str, Any]:
    """What says the type, without the texts."""
    if isinstance(node, AnyType):
        return {}
    if isinstance(node, EnumType):
        return {**({"type": name} if (name := json_type(node.values)) else {}), "enum": list(node.values)}
    written: dict[str, Any] = {"type": _TYPES[type(node)]}
    if isinstance(node, ArrayType):
        written["items"] = _write(node.items)
    elif isinstance(node, ObjectType) and node.fields:
        written["properties"] = {item.name: _write(item.type) for item in node.fields}
        required = [item.name for item in node.fields if item.required]
        if required:
            written["required"] = required
    return written


def _write_union(node: UnionType) -> dict[str, Any]:
    """A list of types where that says the same, since ``anyOf`` is lost on the way through the Python client."""
    merged = _merged(node)
    if merged is not None:
        return _described(node, merged)
    return _described(node, {"anyOf": [_write(member) for member in node.members]})


def _merged(node: UnionType) -> dict[str, Any] | None:
    parts = [_kinds(member) for member in node.members]
    names = [part.get("type") for part in parts]
    if any(not isinstance(name, str) for name in names) or len(set(map(str, names))) < len(names):
        return None
    if any(member.description for member in node.members):
        return None
    closed = [part for part in parts if "enum" in part]
    if closed and len(closed) + names.count("null") < len(parts):
        return None  # an enum speaks about values of every type
    merged: dict[str, Any] = {"type": names}
    for part in parts:
        merged.update({key: item for key, item in part.items() if key not in ("type", "enum")})
    if closed:
        values = [value for part in closed for value in part["enum"]]
        merged["enum"] = [*values, None] if "null" in names and None not in values else values
    return merged


# Streams


class _OllamaAssembler(ChatAssembler):
    """Lines of JSON; a call comes whole in one of them."""

    def add(self, event: dict[str, Any]) -> None:
        """Take one line."""
        if event.get("model") is not None:
            self.head["model"] = event["model"]
        message = event.get("message")
        if isinstance(message, Mapping):
            if isinstance(message.get("content"), str):
                self.texts.append(message["content"])
            if isinstance(message.get("thinking"), str):
                self.extra["thinking"] = self.extra.get("thinking", "") + message["thinking"]
            for item in mappings(message.get("tool_calls")):
                inner = item.get("function") or {}
                value = parsed_or_text(inner.get("arguments"))
                self.slots.append(Slot(inner.get("name") or "", item.get("id"), value=value, ended=True))
        if event.get("done"):
            self.stop = event.get("done_reason") or "stop"
            self.problem = problem_of(self.stop)
            self.finish()

    def response(self) -> dict[str, Any]:
        """The last line, with everything in it."""
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self.texts), **self.extra}
        if self.slots:
            message["tool_calls"] = [
                {**({"id": slot.call_id} if slot.call_id else {}), "function": {"name": slot.name, "arguments": slot.value}}
                for slot in self.slots
            ]
        stop = self.stop or ("length" if self.slots else "stop")
        return {**self.head, "message": message, "done": True, "done_reason": stop}


PROVIDER: Provider = Ollama()
