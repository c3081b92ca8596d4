"""JSON values that stand for calls: ``{"name": ..., "arguments": ...}`` and its many relatives."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from toolbox.diagnostics import DiagnosticKind, Risk
from toolbox.errors import PayloadError
from toolbox.payload.found import FoundCall, KnownTools, step

__all__ = ["ARGUMENT_KEYS", "NAME_KEYS", "calls_in", "code_in", "is_report", "is_schema", "resolve", "squash"]

NAME_KEYS: Final = (
    *("name", "tool", "tool_name", "function", "function_name", "func", "action", "recipient_name", "api", "toolName"),
    *("functionName", "func_name"),
)
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
# What usually stands beside a call and is no argument; `_CALL_TYPES` are the types that say that it is a call.
_USUAL: Final = _BESIDE | frozenset(
    ("toolUseId", "thought_signature", "signature", "caller", "metadata", "cache_control", "provider_metadata", "extra_content")
)
_USUAL_OF_MESSAGES: Final = _USUAL | frozenset(
    (
        *("role", "content", "refusal", "audio", "annotations", "reasoning_content", "reasoning_details", "thinking", "thoughts"),
        *("finish_reason", "stop_reason", "logprobs", "message", "model", "created", "object", "tools", "tool_choice"),
    )
)
_CALL_TYPES: Final = frozenset(
    ("function", "function_call", "tool_use", "tool_call", "tool", "call", "custom", "custom_tool_call", "server_tool_use", "mcp_call")
)
# What tells that a call was made before: what it gave, and how it went.
_RESULT_KEYS: Final = frozenset(
    (
        *("result", "results", "output", "outputs", "response", "observation", "content", "return_value", "returned"),
        *("tool_result", "tool_output", "function_response"),
    )
)
_PAST: Final = frozenset(
    ("completed", "complete", "success", "succeeded", "successful", "done", "ok", "finished", "error", "failed", "executed")
)
_OTHER_ROLES: Final = frozenset(("tool", "function", "user", "system", "developer", "ipython", "observation"))
_RESULT_TYPES: Final = re.compile(r"(?:result|results|output|outputs|response|observation|definition)\Z", re.IGNORECASE)
_LIST_KEYS: Final = ("tool_calls", "function_calls", "calls", "tools", "toolCalls", "tool_uses", "actions", "functions")
_ONE_KEYS: Final = ("function", "function_call", "tool_call", "functionCall", "tool_use", "toolUse", "call", "tool")
_CODE_KEYS: Final = frozenset((*NAME_KEYS, *_LIST_KEYS, *_ONE_KEYS))
_ID_KEYS: Final = ("id", "call_id", "tool_call_id", "toolUseId")


def squash(name: str) -> str:
    """A name without case and separators, to compare two spellings of it."""
    return "".join(character for character in name.casefold() if character.isalnum())


def resolve(name: str, known: KnownTools | None) -> str | None:
    """The registered name that a name stands for; any name is taken where no tools are known."""
    if not name or len(name) > 256:
        return None
    name = name.removesuffix("()")
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
                return [_found(name, value[1], "a list of name and arguments", Risk.WARNING)]
        found: list[FoundCall] = []
        for item in value:
            calls = calls_in(item, known, loose, depth + 1)
            if calls is None:
                return None
            found += calls
        return found
    return None


def _calls_of(value: Mapping[str, Any], known: KnownTools | None, loose: bool, depth: int) -> list[FoundCall] | None:
    if is_report(value):
        return None
    groups: list[tuple[str, list[FoundCall]]] = []
    for key in _LIST_KEYS:
        if isinstance(value.get(key), list | tuple):
            # "functions" may list anything: only tools that there are count.
            calls = _plainly(value[key], known, depth, unknown=key != "functions")
            if calls:
                groups.append((key, calls))
            elif calls is None and (
                key not in ("tools", "functions") or not any(other in value for other in (*_LIST_KEYS, *_ONE_KEYS) if other != key)
            ):
                return None  # beside calls, the tools are those that there are
    named = _named(value, known)
    if named is not None:
        groups.append(("", [named]))
    for key in _ONE_KEYS:
        inner = value.get(key)
        if isinstance(inner, Mapping):
            calls = _plainly([inner], known, depth)
            if calls:
                call_id = _id_of(value)
                groups.append((key, [FoundCall(c.name, c.arguments, c.call_id or call_id, c.diagnostics) for c in calls]))
    if groups:
        return _only_group(value, groups, known)
    if any(isinstance(value.get(key), list | tuple) and not value[key] for key in _LIST_KEYS):
        return []
    return _keyed(value, known) or _inline(value, known) if loose else None


def is_report(value: Mapping[str, Any]) -> bool:
    """Whether an object says what a call has given or who else has said something, and makes no call itself."""
    kind, role, status = value.get("type"), value.get("role"), value.get("status")
    if isinstance(kind, str) and kind not in _CALL_TYPES and _RESULT_TYPES.search(kind) is not None:
        return True
    if isinstance(role, str) and role.lower() in _OTHER_ROLES:
        return True
    if not any(key in value for key in NAME_KEYS):
        return False
    if not any(isinstance(value.get(key), Mapping | list | str) for key in ARGUMENT_KEYS):
        return False
    if isinstance(status, str) and status.lower() in _PAST and kind not in _CALL_TYPES:
        return True
    return any(value.get(key) not in (None, "", [], {}) for key in _RESULT_KEYS)


def _only_group(value: Mapping[str, Any], groups: list[tuple[str, list[FoundCall]]], known: KnownTools | None) -> list[FoundCall]:
    """The calls of an object that holds them under one key, or the same ones under several."""
    _, calls = groups[0]
    for _, others in groups[1:]:
        if [(call.name, _plain(call.arguments)) for call in others] != [(call.name, _plain(call.arguments)) for call in calls]:
            raise _two_calls()
    if groups[0][0] == "":
        return calls
    return _besides(value, [key for key, _ in groups], _USUAL_OF_MESSAGES, calls, known)


def _besides(
    value: Mapping[str, Any], read: Collection[str], usual: Collection[str], calls: list[FoundCall], known: KnownTools | None
) -> list[FoundCall]:
    """The calls, with a record of what stood beside them and was left out; a parameter of the tool that stands there is in doubt."""
    rest = [key for key in value if key not in read and not (key in usual and _is_usual(key, value[key])) and value[key] is not None]
    if not rest:
        return calls
    for call in calls:
        declared = {squash(name) for name in known.parameters(call.name)} if known is not None and known.resolve(call.name) else ()
        if any(squash(key) in declared for key in rest):
            raise _two_places()
    mark = step(DiagnosticKind.DROPPED, Risk.WARNING, "what stands beside the arguments", "send nothing but the name and the arguments")
    return [FoundCall(call.name, call.arguments, call.call_id, (*call.diagnostics, mark)) for call in calls]


def _is_usual(key: str, item: Any) -> bool:
    return item in _CALL_TYPES if key == "type" and isinstance(item, str) else True


def _plain(arguments: Any) -> Any:
    """Arguments to compare: text that is JSON is decoded."""
    if isinstance(arguments, str):
        try:
            return json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments
    return {} if arguments is None else arguments


def _two_calls() -> PayloadError:
    return PayloadError("ambiguous", "one object names two different calls; send each call in an object of its own")


def _two_places() -> PayloadError:
    return PayloadError("ambiguous", "there are arguments in two places; send all of them in one object")


def code_in(value: Mapping[str, Any]) -> str:
    """The text of an object that holds nothing but a call as code: ``{"function": "get_weather(city='Paris')"}``."""
    if len(value) != 1:
        return ""
    ((key, text),) = value.items()
    return text if isinstance(text, str) and key in _CODE_KEYS and text.rstrip().endswith(")") else ""


def _plainly(items: Any, known: KnownTools | None, depth: int, unknown: bool = True) -> list[FoundCall] | None:
    """The calls of a list that can hold nothing but calls; `unknown` where tools that are not known count too."""
    found: list[FoundCall] = []
    for item in items:
        calls = calls_in(item, known, True, depth + 1)
        if not calls:
            named = _named(item, None) if unknown and isinstance(item, Mapping) else None
            if named is None:
                return None
            calls = [named]
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
                    if is_schema(arguments, declared) or _is_definition(value, key, arguments):
                        continue
                elif not isinstance(arguments, str):
                    arguments = _only_object(arguments)
                    if arguments is None:
                        continue
                return _judged(value, name_key, key, FoundCall(name, arguments, _id_of(value), ()), known)
        if known is not None and set(value) - {name_key} <= _BESIDE and not known.required(name) and "description" not in value:
            return FoundCall(name, {}, _id_of(value), ())
    return None


def _is_definition(value: Mapping[str, Any], key: str, arguments: Mapping[str, Any]) -> bool:
    """Whether an object describes a tool: it says what the tool is for, and the parameters are names of types or schemas."""
    if not isinstance(value.get("description"), str) or key not in ("parameters", "properties", "params", "input", "arguments", "args"):
        return False
    return len(arguments) > 0 and all(map(_is_type, arguments.values()))


def _is_type(item: Any) -> bool:
    if isinstance(item, Mapping):
        return "type" in item or (bool(item) and all(map(_is_type, item.values())))
    return isinstance(item, str) and item.split("(")[0].strip().lower() in _JSON_TYPES | {"str", "int", "bool", "list", "optional"}


def _judged(value: Mapping[str, Any], name_key: str, key: str, call: FoundCall, known: KnownTools | None) -> FoundCall:
    """The call of an object with a name and arguments, after a look at everything else that the object holds."""
    read = [name_key, key]
    for other in NAME_KEYS:
        written = value.get(other)
        if other == name_key or not isinstance(written, str) or other in _LIST_KEYS:
            continue
        if resolve(written.strip(), known) != call.name:
            raise _two_calls()
        read.append(other)
    for other in ARGUMENT_KEYS:
        if other != key and other in value and value[other] not in (None, "", [], {}):
            declared = known.parameters(call.name) if known is not None else ()
            if isinstance(value[other], Mapping) and is_schema(value[other], declared):
                continue
            if _plain(value[other]) != _plain(call.arguments):
                raise _two_places()
            read.append(other)
        elif other in value:
            read.append(other)
    holders = [other for other in (*_LIST_KEYS, *_ONE_KEYS) if isinstance(value.get(other), Mapping | list | tuple)]
    return _besides(value, [*read, *holders], _USUAL, [call], known)[0]


def _only_object(arguments: Any) -> Mapping[str, Any] | None:
    """The arguments in a list that holds nothing else."""
    if isinstance(arguments, list | tuple):
        if len(arguments) == 1 and isinstance(arguments[0], Mapping):
            return arguments[0]
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
            found.append(_found(name, each, "arguments under the tool's name", Risk.INFO))
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
            return [_found(name, rest, "arguments beside the name", Risk.WARNING)]
    return None


def _found(name: str, arguments: Any, what: str, risk: Risk) -> FoundCall:
    return FoundCall(name, arguments, None, (step(DiagnosticKind.EXTRACTED, risk, what),))


def _id_of(value: Mapping[str, Any]) -> str | None:
    for key in _ID_KEYS:
        if isinstance(value.get(key), str):
            return str(value[key])
    return None
