"""What a line of a recording stands for: one call, a provider's message or response, or a model's raw text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolbox.registry import Registry
from toolbox.tools import ToolCall

__all__ = ["NotRecorded", "read_recorded"]

_ARGUMENTS: Final = ("arguments", "input", "args")
_IDS: Final = ("call_id", "id", "toolUseId")
_CALLS: Final = ("tool_calls", "function_call")
_ONE_CALL: Final = ("function", "toolUse", "functionCall")
# Where responses and messages keep what matters, from the outside in.
_LAYERS: Final = ("response", "choices", "candidates", "messages", "message", "output", "content", "parts")
_DEPTH: Final = 8
_NOT_THE_MODEL: Final = frozenset(("system", "developer", "user", "tool", "function"))


class NotRecorded(ValueError):
    """A line holds nothing that a call could be read from; the text says why and holds nothing of the line."""


def read_recorded(value: Any, registry: Registry) -> list[ToolCall]:
    """The calls that a JSON value stands for; none for a message without a call.

    A name that no tool has makes a call too where the shape says plainly that a call is meant: it is to be counted.

    Raises:
        NotRecorded: it is neither a call nor a message.
        PayloadError: a call in it was cut off or is broken.
    """
    if not isinstance(value, str | Mapping | list):
        raise NotRecorded("neither an object nor text")
    calls = _calls(value, registry, 0)
    if calls is None:
        raise NotRecorded("neither a call nor a message with calls")
    return calls


def _calls(value: Any, registry: Registry, depth: int) -> list[ToolCall] | None:
    """The calls, or None when a value is nothing known."""
    if isinstance(value, str):
        return registry.parse_calls(value)
    if isinstance(value, list):
        return _listed(value, registry, depth)
    if not isinstance(value, Mapping) or depth > _DEPTH:
        return None
    if value.get("role") in _NOT_THE_MODEL:
        return []
    one = _one(value)
    if one is not None:
        return [one]
    for key in _CALLS:
        if value.get(key):
            return registry.parse_calls({key: value[key]}) or None
    if "raw" in value:
        return _calls(value["raw"], registry, depth + 1) or []  # a model may say whatever it likes
    for key in _LAYERS:
        if isinstance(value.get(key), str | Mapping | list):
            return _calls(value[key], registry, depth + 1)
    return registry.parse_calls(value) or ([] if "role" in value else None)


def _one(value: Mapping[str, Any]) -> ToolCall | None:
    """The call that an object plainly is: a name beside its arguments."""
    inner = next((value[key] for key in _ONE_CALL if isinstance(value.get(key), Mapping)), value)
    name = inner.get("name")
    key = next((key for key in _ARGUMENTS if key in inner), None)
    if not isinstance(name, str) or (key is None and inner is value):
        return None
    arguments = None if key is None else inner[key]
    call_id = next((source[key] for source in (value, inner) for key in _IDS if isinstance(source.get(key), str)), None)
    return ToolCall(name, {} if arguments is None else arguments, call_id)


def _listed(items: list[Any], registry: Registry, depth: int) -> list[ToolCall] | None:
    """The calls of a list of messages, parts or calls; text beside calls that are plainly such only speaks of them."""
    if not items:
        return []
    if not all(isinstance(item, Mapping) for item in items):
        return registry.parse_calls(items) or None
    plain: list[ToolCall] = []
    texts: list[str] = []
    known = False
    for item in items:
        if isinstance(item.get("text"), str):
            texts.append(item["text"])
            continue
        calls = _calls(item, registry, depth + 1)
        # Parts of other kinds stand between calls: reasoning, images, results of tools.
        known = known or calls is not None or isinstance(item.get("type"), str)
        plain += calls or ()
    if plain or not texts:
        return plain if known else None
    return registry.parse_calls("\n".join(texts))
