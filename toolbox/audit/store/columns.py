"""Values <-> text columns: bounded, and nothing in them that an engine refuses. A NUL or half of a surrogate pair is written escaped."""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any, Final

from toolbox.diagnostics import ABSENT, MASK, place_of
from toolbox.json_values import Bounds, json_text, plain_text

__all__ = [
    "COLUMN",
    "VALUE",
    "absent_or_json",
    "json_column",
    "key_column",
    "number",
    "place_column",
    "read_json",
    "read_value",
    "text_column",
]

COLUMN: Final = 64_000
"""Bytes of the largest JSON column."""
VALUE: Final = 8_000
"""Bytes of the value of one change or failure."""
_KEY: Final = 200
_PLACE: Final = 200
_DIGEST: Final = 16

_REFUSED: Final = re.compile("[\x00\ud800-\udfff]")
# From much to little of a value; the first for which there is room is taken.
_BOUNDS: Final = (
    Bounds(),
    Bounds(text=8_000, nodes=4_000, depth=24),
    Bounds(text=2_000, nodes=1_000, depth=16),
    Bounds(text=400, nodes=200, depth=8),
    Bounds(text=60, nodes=40, depth=4),
    Bounds(text=20, nodes=8, depth=2),
)
_CUT: Final = '"<cut: too large to be kept>"'


# Most values are plain and small, and are written as they are.
_plain: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _escaped(text: str) -> str:
    """The text with what no engine takes written as an escape of JSON; in JSON text, that stands for the same."""
    if text.isascii() and "\0" not in text:
        return text
    return _REFUSED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def json_column(value: Any, limit: int = COLUMN) -> tuple[str, bool]:
    """A value as JSON text of at most `limit` bytes, and whether it had to be cut for that."""
    try:
        text = _escaped(_plain(value))
        if _fits(text, limit):
            return text, False
    except Exception:  # noqa: BLE001, S110 - a cycle, NaN, a huge number, something that is no JSON: then a copy that is sure to work
        pass
    for step, bounds in enumerate(_BOUNDS):
        text = _escaped(json_text(value, bounds))
        if _fits(text, limit):
            return text, step > 0
    return _CUT, True


def _fits(text: str, limit: int) -> bool:
    return len(text) <= limit and (text.isascii() or len(text.encode()) <= limit)


def absent_or_json(value: Any) -> tuple[str | None, bool]:
    """The value of a change or failure as JSON text; None where there is none."""
    return (None, False) if value is ABSENT else json_column(value, VALUE)


def text_column(value: Any, limit: int) -> str:
    """Plain text of at most `limit` characters."""
    text = value if type(value) is str else plain_text(value)
    if len(text) > limit:
        text = f"{text[: limit - 3]}..."
    return _escaped(text)[:limit]


def key_column(value: Any, limit: int = _KEY) -> str | None:
    """A text by which rows are found: one that is too long ends in a digest, so that two of them stay two."""
    if value is None:
        return None
    text = _escaped(value if type(value) is str else plain_text(value))
    if len(text) <= limit:
        return text
    return f"{text[: limit - _DIGEST - 1]}~{hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]}"


def number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        made = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return made if math.isfinite(made) else None


def place_column(path: str) -> str:
    """The place of a path, as text that an index can hold."""
    return text_column(place_of(path[: 4 * _PLACE]), _PLACE)


def read_json(text: str | None) -> Any:
    """The value of a JSON column; the text itself where it is none (somebody has written into the table)."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def read_value(text: str | None) -> Any:
    """The value of a change or failure."""
    if text is None:
        return ABSENT
    value = read_json(text)
    return MASK if value == MASK else value
