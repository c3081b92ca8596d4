"""A model's whole output to calls."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolbox.diagnostics import DiagnosticKind, Risk
from toolbox.errors import PayloadError
from toolbox.payload.conventions.marked import marked_calls, spoken_text
from toolbox.payload.finder import Finder, allowed
from toolbox.payload.found import FoundCall, KnownTools, step
from toolbox.payload.limits import check_limits, too_deep, too_large
from toolbox.payload.prose import Statement, statements
from toolbox.payload.repeated import at_parameters, of_calls
from toolbox.payload.shapes import ARGUMENT_KEYS, calls_in, code_in, squash
from toolbox.payload.strict import parse_json
from toolbox.payload.trimming import trim, unescape_markdown, without_thoughts
from toolbox.policy import LENIENT, Policy, ProseCalls, RepairLevel

__all__ = ["find_calls"]

_LAYERS: Final = 3
_PLAIN: Final = frozenset((str, int, bool, type(None)))
_SCANNED: Final = 4
# What stands around calls in an answer that consists of nothing but calls.
_AROUND_CODE: Final = re.compile(
    r"```[\w+-]*|\b(?:print|return|await|const|let|var|default_api|functions|json|python|tool_code|javascript|java)\b"
)


def find_calls(raw: object, *, known: KnownTools | None, policy: Policy = LENIENT) -> list[FoundCall]:
    """The calls in a model's output: text, a list of parts, or plain JSON call shapes; none when there is none.

    Raises:
        PayloadError: a call is there and can't be used: cut off, too large, or broken.

    >>> find_calls('{"name": "search", "arguments": {"query": "tea"}}', known=None)[0].arguments
    {'query': 'tea'}
    """
    if isinstance(raw, bytes | bytearray):
        raw = raw.decode("utf-8", "replace")
    if isinstance(raw, str):
        try:
            return _once(_in_text(raw, known, policy))
        except RecursionError:  # the caller's own stack is nearly used up
            raise too_deep(policy.limits) from None
    check_limits(raw, policy.limits)
    if isinstance(raw, Mapping):
        return _once([_permitted(call, policy) for call in calls_in(raw, known) or []])
    if isinstance(raw, Sequence):
        found: list[FoundCall] = []
        for part in raw:
            if isinstance(part, str):
                found += _in_text(part, known, policy)
            elif isinstance(part, Mapping | list | tuple):
                found += [_permitted(call, policy) for call in calls_in(part, known) or []]
        return _once(found)
    return []


def _in_text(text: str, known: KnownTools | None, policy: Policy, layer: int = 0) -> list[FoundCall]:
    if len(text) > policy.limits.text:
        raise too_large(policy.limits)
    stripped = text.strip()
    if stripped[:1] in ("{", "[", '"'):
        calls = _in_json(stripped, known, policy, layer)
        if calls is not None:
            return calls
    if policy.repair < RepairLevel.EXTRACT:
        return []
    trimmed, _ = trim(spoken_text(without_thoughts(stripped), known, policy))
    trimmed = unescape_markdown(trimmed)
    finder = Finder(trimmed, known, policy)
    convention, calls, broken = marked_calls(finder)
    if convention is not None:
        mark = step(DiagnosticKind.EXTRACTED, Risk.INFO, convention.name)
        return [_permitted(FoundCall(c.name, c.arguments, c.call_id, (mark, *c.diagnostics)), policy) for c in calls]
    spoken: list[FoundCall] = []
    # Nobody writes calls as code into longer texts, and looking for them would take long.
    if len(trimmed) <= _SCANNED * policy.limits.repair_text:
        found = statements(finder)
        spoken = _spoken(trimmed, found, known, policy, finder.lost)
    if broken is not None and not spoken:
        where = f"the call can't be read: at character {broken.position + 1} {broken.why}"
        raise PayloadError("not_json", f"{where}; make the call again with valid JSON")
    return spoken


def _in_json(text: str, known: KnownTools | None, policy: Policy, layer: int) -> list[FoundCall] | None:
    """The calls of a text that is JSON as a whole; None when it is something else."""
    try:
        value, diagnostics = parse_json(text, policy.limits)
    except PayloadError as error:
        if error.reason == "not_json":
            return None
        raise
    if isinstance(value, str) and layer < _LAYERS and policy.repair >= RepairLevel.EXTRACT:
        return _in_text(value, known, policy, layer + 1)
    calls = calls_in(value, known)
    if calls:
        return [_permitted(call, policy) for call in of_calls(calls, value, diagnostics, policy)]
    if not calls and any(isinstance(item, Mapping) and code_in(item) for item in (value if isinstance(value, list) else [value])):
        return None
    if not calls and isinstance(value, list) and any(isinstance(item, str) and "(" in item for item in value):
        return None
    return calls or []


def _permitted(call: FoundCall, policy: Policy) -> FoundCall:
    error = allowed(call.diagnostics, policy)
    if error is not None:
        raise error
    notes = at_parameters(call.diagnostics)
    return call if notes is call.diagnostics else FoundCall(call.name, call.arguments, call.call_id, notes)


def _binds(call: FoundCall, known: KnownTools) -> bool:
    """Whether a call gives all that its tool requires; a mere mention such as ``search()`` does not."""
    if not isinstance(call.arguments, Mapping) or known.resolve(call.name) is None:
        return True
    given = {squash(str(key)) for key in call.arguments}
    if len(call.arguments) == 1 and set(call.arguments) <= set(ARGUMENT_KEYS):
        return True  # a wrapper, which is opened where the arguments are bound
    return all(squash(name) in given for name in known.required(call.name))


def _spoken(text: str, found: list[Statement], known: KnownTools | None, policy: Policy, lost: bool) -> list[FoundCall]:
    """The calls among statements that the policy lets count; `lost` where another one could not be read."""
    if not found:
        return []
    outside: list[str] = []
    end = 0
    for statement in found:
        outside.append(text[end : statement.start])
        end = statement.end
    outside.append(text[end:])
    rest = _AROUND_CODE.sub("", " ".join(outside))
    in_prose = any(character.isalnum() for character in rest)
    calls = [call for statement in found for call in statement.calls]
    if in_prose and known is not None:
        calls = [call for call in calls if _binds(call, known)]
    if in_prose and (policy.prose_calls is ProseCalls.OFF or (policy.prose_calls is ProseCalls.SINGLE and len(calls) > 1)):
        return []
    mark = step(DiagnosticKind.EXTRACTED, Risk.WARNING if in_prose else Risk.INFO, "a call in prose" if in_prose else "a call as code")
    marks = (
        (mark, step(DiagnosticKind.DROPPED, Risk.WARNING, "a call that can't be read", "write plain values into every call"))
        if lost
        else (mark,)
    )
    return [_permitted(FoundCall(call.name, call.arguments, call.call_id, (*marks, *call.diagnostics)), policy) for call in calls]


def _once(calls: list[FoundCall]) -> list[FoundCall]:
    """Every call once; a call with an id of its own is never a repetition."""
    if len(calls) < 2:
        return calls
    kept: list[FoundCall] = []
    places: dict[Any, int] = {}
    repeated: set[int] = set()
    for call in calls:
        key = (call.name, _identity_of(call.arguments))
        place = places.get(key)
        if place is None or call.call_id is not None:
            places.setdefault(key, len(kept))
            kept.append(call)
            continue
        if place not in repeated:
            repeated.add(place)
            first = kept[place]
            mark = step(DiagnosticKind.DUPLICATE_CALL, Risk.WARNING, "the same call word for word", "make each call once")
            kept[place] = FoundCall(first.name, first.arguments, first.call_id, (*first.diagnostics, mark))
    return kept


def _identity_of(arguments: object) -> Any:
    """What two arguments have in common only where they are the same: their JSON text, or what is quicker to make."""
    try:
        if type(arguments) is dict and _PLAIN.issuperset(map(type, arguments.values())):
            return tuple(sorted([(key, type(value), value) for key, value in arguments.items()]))
        return json.dumps(arguments, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        return repr(arguments)
