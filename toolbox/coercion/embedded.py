"""Arrays and objects that came as text: JSON, or the literal of a Python list, tuple or dict. Parsed, never evaluated."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from toolbox.coercion.judge import INFO, WARNING
from toolbox.diagnostics import Diagnostic, Path, Risk, path_text
from toolbox.errors import PayloadError
from toolbox.payload.strict import parse_json
from toolbox.policy import Limits

__all__ = ["Embedded", "read_embedded"]

# What Python writes other than JSON does. Any other repair is for whole payloads, where the policy says whether it may be made.
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


def read_embedded(text: str, limits: Limits) -> Embedded | None:
    """The array or object that a text holds, whole; None when it holds none.

    Raises:
        PayloadError: it holds one beyond the limits.
    """
    start = text.lstrip()[:1]
    if start not in ("{", "[", "("):
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


def rebased(path: Path, found: Diagnostic) -> str:
    """The path of a diagnostic inside the text, from the root of the arguments."""
    return path_text(path) + found.path[1:]
