"""Keys that were given more than once: in the arguments whoever binds them judges, in an envelope nobody can."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from toolbox.diagnostics import ABSENT, Diagnostic, DiagnosticKind, path_text
from toolbox.errors import PayloadError
from toolbox.payload.found import FoundCall
from toolbox.policy import Policy

__all__ = ["at_parameters", "of_calls", "within"]

_PARAMETER: Final = re.compile(r"\$(?:\.[^.\[]+|\['(?:[^'\\]|\\.)*'\])?")


def within(notes: Sequence[Diagnostic], place: str, at: str = "$") -> list[Diagnostic]:
    """The records below a place, with paths from `at` on.

    >>> from toolbox.payload.strict import duplicate_key
    >>> note = duplicate_key((None, "arguments"), "limit", 1, 2)
    >>> within([note], "$.arguments")[0].path
    '$.limit'
    """
    return [replace(note, path=at + note.path[len(place) :]) for note in notes if _is_below(note.path, place)]


def _is_below(path: str, place: str) -> bool:
    # A place that was itself given twice is told apart: nobody knows then which arguments are meant.
    return path.startswith(place) and path[len(place) : len(place) + 1] in (".", "[")


def at_parameters(notes: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The same records, where repeated keys are said to be at their parameter: which parameters are secret is not known here."""
    for note in notes:
        if note.kind is DiagnosticKind.DUPLICATE_KEY:
            break
    else:
        return notes if isinstance(notes, tuple) else tuple(notes)
    return tuple(
        replace(note, path=_PARAMETER.match(note.path).group())  # type: ignore[union-attr]  # every path starts with $
        if note.kind is DiagnosticKind.DUPLICATE_KEY
        else note
        for note in notes
    )


def of_calls(calls: list[FoundCall], value: Any, notes: Sequence[Diagnostic], policy: Policy) -> list[FoundCall]:
    """The calls that a value stands for, each with the notes on the value; repeated keys only go to the arguments that hold them.

    Raises:
        PayloadError: a key outside of the arguments was given more than once, with different values.
    """
    if not notes:
        return calls
    repeated = [note for note in notes if note.kind is DiagnosticKind.DUPLICATE_KEY]
    if not repeated:
        return [FoundCall(call.name, call.arguments, call.call_id, (*notes, *call.diagnostics)) for call in calls]
    others = [note for note in notes if note.kind is not DiagnosticKind.DUPLICATE_KEY]
    places = _places(value)
    owned = [places.get(id(call.arguments)) for call in calls]
    outside = [note for note in repeated if not any(place is not None and _is_below(note.path, place) for place in owned)]
    if any(note.risk > policy.max_risk for note in outside):
        raise PayloadError("ambiguous", "the name or the arguments of a call were given more than once, and differ; send each key once")
    others += [replace(note, path="$", before=ABSENT, after=ABSENT) for note in outside]
    return [
        FoundCall(
            call.name, call.arguments, call.call_id, (*others, *(() if place is None else within(repeated, place)), *call.diagnostics)
        )
        for call, place in zip(calls, owned, strict=True)
    ]


def _places(value: Any) -> dict[int, str]:
    """Where each object of a value stands, by identity."""
    found: dict[int, str] = {}
    pending: list[tuple[Any, Any]] = [(value, None)]
    while pending:
        item, path = pending.pop()
        if isinstance(item, dict):
            found[id(item)] = path_text(path)
            pending += [(inner, (path, key)) for key, inner in item.items() if isinstance(inner, dict | list)]
        elif isinstance(item, list):
            pending += [(inner, (path, index)) for index, inner in enumerate(item) if isinstance(inner, dict | list)]
    return found
