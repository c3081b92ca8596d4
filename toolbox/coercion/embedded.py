"""Arrays and objects that came as text: JSON, or the literal of a Python list, tuple or dict. Parsed, never evaluated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from toolbox.coercion.judge import INFO, WARNING
from toolbox.diagnostics import Diagnostic, Outcome, Path, Risk, path_text
from toolbox.errors import PayloadError
from toolbox.payload.strict import parse_json
from toolbox.policy import Limits

__all__ = ["Embedded", "opens", "read_embedded", "read_shared", "rebased"]

# What Python writes other than JSON does. Any other repair is for whole payloads, where the policy says whether it may be made.
_OPENING: Final = frozenset({"{", "[", "("})
_PYTHON: Final = frozenset({"single quotes", "Python or JavaScript constant", "Python literal", "trailing comma", "raw control character"})


class Embedded(NamedTuple):
    """An array or object that stood in a text.

    Attributes:
        value: the list or dict.
        risk: how sure the reading is.
        duplicates: keys that were given more than once, with paths from the value's own root.
    """

    value: Any
    risk: Risk
    duplicates: tuple[Diagnostic, ...]


def opens(text: str) -> bool:
    """Whether a text begins as one that holds an array or object does."""
    return text.lstrip()[:1] in _OPENING


def read_embedded(text: str, limits: Limits) -> Embedded | None:
    """The array or object that a text holds, whole; None when it holds none.

    Raises:
        PayloadError: it holds one beyond the limits.
    """
    if not opens(text):
        return None
    try:
        value, duplicates = parse_json(text, limits)
        return Embedded(value, INFO, duplicates)
    except PayloadError as error:
        if error.reason != "not_json":
            raise
    # Loaded with the first text that is no JSON.
    from toolbox.payload.reader import Broken, Cut, Reader

    reader = Reader(text, limits)
    try:
        value = reader.read(0)
    except Broken:
        return None
    if reader.cut is not Cut.WHOLE or text[reader.position :].strip() or not reader.repairs.keys() <= _PYTHON:
        return None
    return Embedded(value, WARNING, tuple(reader.duplicates)) if isinstance(value, list | dict) else None


def read_shared(text: str, limits: Limits, path: Path, out: Outcome, is_endless: Callable[[], bool]) -> Embedded | None:
    """The array or object that a text holds, read once for all alternatives that are tried at a place; None when it holds none.

    Args:
        text: the text.
        limits: upper bounds for what it may hold.
        path: where it stands.
        out: what the call has collected.
        is_endless: whether what is read may hold itself; then the places above it count as levels, since there may be text within text.

    Raises:
        PayloadError: it holds one beyond the limits.
    """
    if not opens(text):
        return None
    known = out.known
    key = (read_shared, text, path)
    if known is not None and key in known:
        found: Embedded | None = known[key]
        return found
    if is_endless():
        limits = replace(limits, depth=max(limits.depth - _levels(path), 0))
    found = read_embedded(text, limits)
    if known is not None:
        known[key] = found
    return found


def _levels(path: Path) -> int:
    count = 0
    while path is not None:
        path, count = path[0], count + 1
    return count


def rebased(path: Path, found: Diagnostic) -> str:
    """The path of a diagnostic inside the text, from the root of the arguments."""
    return path_text(path) + found.path[1:]
