"""JSON values that stand for calls: ``{"name": ..., "arguments": ...}`` and its many relatives."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from toolbox.diagnostics import DiagnosticKind, Risk
from toolbox.payload.found import FoundCall, KnownTools, step

__all__ = ["ARGUMENT_KEYS", "NAME_KEYS", "calls_in", "is_schema", "resolve", "squash"]

NAME_KEYS: Final = ("name", "tool", "tool_name", "function", "function_name", "func", "action", "recipient_name", "api", "toolName")
ARGUMENT_KEYS: Final = (
    "arguments",
    "parameters",
    "args",
    "input",
    "params",
    "kwargs",
    "tool_input",
    "action_input",
    "toolInput",
    "parameter",
    "argument",
    "tool_args",
    "tool_arguments",
    "function_args",
    "properties",
)
_JSON_TYPES: Final = frozenset(("object", "array", "string", "number", "integer", "boolean", "null", "dict", "float", "any"))
_BESIDE: Final = frozenset(("id", "call_id", "tool_call_id", "type", "index", "status", "thought", "reasoning", "explanation"))
_LIST_KEYS: Final = ("tool_calls", "function_calls", "calls", "tools", "toolCalls", "tool_uses", "actions")
_ONE_KEYS: Final = ("function", "function_call", "tool_call", "functionCall", "tool_use", "toolUse", "call")
_ID_KEYS: Final = ("id", "call_id", "tool_call_id", "toolUseId")


def squash(name: str) -> str:
    """A name without case and separators, to compare two spellings of it."""
    return "".join(character for character in name.casefold() if character.isalnum())


def resolve(name: str, known: KnownTools | None) -> str | None:
    """The registered name that a name stands for; any name is taken where no tools are known."""
    if not name or len(name) > 256:
        return None
    return name if known is None else known.resolve(name)


def is_schema(arguments: Mapping[str, Any], declared: Collection[str]) -> bool:
    """Whether arguments only repeat a schema: ``{"type": "object", "properties": {...}}``, or every value says its type."""
    inner = arguments.get("properties")
    if isinstance(inner, Mapping) and "properties" not in declared:
        return arguments.get("type") == "object" or _only_types(inner)
    return _only_types(arguments)


def _only_types(members: Mapping[str, Any]) -> bool:
    return bool(members) and all(
        isinstance(item, Mapping) and isinstance(item.get("type"), str) and item["type"] in _JSON_TYPES for item in members.values()
    )


def calls_in(value: Any, known: KnownTools | None, loose: bool = True, depth: int = 0) -> list[FoundCall] | None:
    """The calls that a value stands for; None when it, or a part of it, stands for something else.

    A name that is not registered makes a call only where the shape says plainly that a call is meant (``tool_calls``, ``function``); the
    caller then says which tools there are. Where not `loose`, only shapes with a name and arguments under their usual keys count.
    """
    if depth > 4:
        return None
    if isinstance(value, Mapping):
        return _calls_of(value, known, loose, depth)
    if isinstance(value, list | tuple):
        if loose and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], Mapping):
            name = resolve(value[0], known)
            if name is not None and known is not None:
                return [_found(name, value[1], None, "a list of name and arguments", Risk.WARNING)]
        found: list[FoundCall] = []
        for item in value:
            calls = calls_in(item, known, loose, depth + 1)
            if calls is None:
                return None
            found += calls
        return found
    return None


def _calls_of(value: Mapping[str, Any], known: KnownTools | None, loose: bool, depth: int) -> list[FoundCall] | None:
    for key in _LIST_KEYS:
        if isinstance(value.get(key), list | tuple):
            return _plainly(value[key], known, depth)
    named = _named(value, known)
    if named is not None:
        return [named]
    for key in _ONE_KEYS:
        inner = value.get(key)
        if isinstance(inner, Mapping):
            calls = _plainly([inner], known, depth)
            call_id = _id_of(value)
            return [FoundCall(c.name, c.arguments, c.call_id or call_id, c.diagnostics) for c in calls] if calls is not None else None
    return _keyed(value, known) or _inline(value, known) if loose else None


def _plainly(items: Any, known: KnownTools | None, depth: int) -> list[FoundCall] | None:
    """The calls of a list that can hold nothing but calls."""
    found: list[FoundCall] = []
    for item in items:
        calls = calls_in(item, known, True, depth + 1)
        if not calls:
            unknown = _named(item, None) if isinstance(item, Mapping) else None
            if unknown is None:
                return None
            calls = [unknown]
        found += calls
    return found


def _named(value: Mapping[str, Any], known: KnownTools | None) -> FoundCall | None:
    """A call whose name and arguments stand under their usual keys."""
    for name_key in NAME_KEYS:
        written = value.get(name_key)
        if not isinstance(written, str):
            continue
        name = resolve(written.strip(), known)
        if name is None:
            continue
        declared = known.parameters(name) if known is not None else ()
        for key in ARGUMENT_KEYS:
            if key in value:
                arguments = value[key]
                if arguments is None:
                    arguments = {}
                if isinstance(arguments, Mapping):
                    if is_schema(arguments, declared):
                        continue
                elif not isinstance(arguments, str):
                    arguments = _only_object(arguments)
                    if arguments is None:
                        continue
                return FoundCall(name, arguments, _id_of(value), ())
        if known is not None and set(value) - {name_key} <= _BESIDE and not known.required(name) and "description" not in value:
            return FoundCall(name, {}, _id_of(value), ())
    return None


def _only_object(arguments: Any) -> dict[str, Any] | None:
    """The arguments in a list that holds nothing else."""
    if isinstance(arguments, list | tuple):
        if len(arguments) == 1 and isinstance(arguments[0], Mapping):
            return dict(arguments[0])
        if not arguments:
            return {}
    return None


def _keyed(value: Mapping[Any, Any], known: KnownTools | None) -> list[FoundCall] | None:
    """Calls whose arguments stand under the tool's name: ``{"get_weather": {"city": "Paris"}}``."""
    found: list[FoundCall] = []
    for written, arguments in value.items():
        name = resolve(written, known) if isinstance(written, str) else None
        if name is None or (known is None and (len(value) != 1 or not isinstance(arguments, Mapping | str))):
            return None
        declared = known.parameters(name) if known is not None else ()
        for item in arguments if isinstance(arguments, list) else [arguments]:
            each = {} if item is None or item == "" else item
            if isinstance(each, Mapping):
                if is_schema(each, declared):
                    return None
            elif not (isinstance(each, str) and each.strip().startswith(("{", '"'))):
                return None
            found.append(_found(name, each, None, "arguments under the tool's name", Risk.INFO))
    return found or None


def _inline(value: Mapping[Any, Any], known: KnownTools | None) -> list[FoundCall] | None:
    """A call whose arguments stand beside its name: ``{"name": "get_weather", "city": "Paris"}``."""
    if known is None:
        return None
    for name_key in NAME_KEYS:
        written = value.get(name_key)
        name = known.resolve(written) if isinstance(written, str) and len(written) <= 256 else None
        if name is None:
            continue
        declared = {squash(key) for key in known.parameters(name)}
        rest = {key: item for key, item in value.items() if key != name_key}
        if rest and squash(name_key) not in declared and all(isinstance(key, str) and squash(key) in declared for key in rest):
            return [_found(name, rest, None, "arguments beside the name", Risk.WARNING)]
    return None


def _found(name: str, arguments: Any, call_id: str | None, what: str, risk: Risk) -> FoundCall:
    return FoundCall(name, arguments, call_id, (step(DiagnosticKind.EXTRACTED, risk, what),))


def _id_of(value: Mapping[str, Any]) -> str | None:
    for key in _ID_KEYS:
        if isinstance(value.get(key), str):
            return str(value[key])
    return None
