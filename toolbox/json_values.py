"""Python values -> JSON values: exactly, for defaults and examples; or bounded and whatever they hold, for records and messages."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from toolbox.diagnostics import FOREIGN, class_name
from toolbox.types import ABSENT

__all__ = ["KEPT", "Bounds", "fields_of", "json_text", "json_value", "plain_text", "snapshot"]


def json_value(value: Any) -> Any:
    """The JSON value of a Python value, or `ABSENT` when it has none.

    >>> json_value((1, None)), json_value(datetime.date(2026, 7, 2)), json_value(object())
    ([1, None], '2026-07-02', ABSENT)
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return json_value(value.value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else ABSENT
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return duration_text(value)
    if isinstance(value, decimal.Decimal):
        return str(value) if value.is_finite() else ABSENT
    if isinstance(value, uuid.UUID | pathlib.PurePath):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return _json_container(value)


def _json_container(value: Any) -> Any:
    value = fields_of(value)
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        return json_value(value.tolist())
    if isinstance(value, Mapping):
        items = {key: json_value(item) for key, item in value.items()}
        return ABSENT if any(item is ABSENT or not isinstance(key, str) for key, item in items.items()) else items
    if isinstance(value, list | tuple | set | frozenset):
        listed = [json_value(item) for item in value]
        if isinstance(value, set | frozenset):
            listed.sort(key=repr)
        return ABSENT if any(item is ABSENT for item in listed) else listed
    return ABSENT


def duration_text(value: datetime.timedelta) -> str:
    """A duration as ISO 8601 text, in days and seconds."""
    sign = "-" if value < datetime.timedelta(0) else ""
    span = abs(value)
    seconds = f"{span.seconds + span.microseconds / 1_000_000:.6f}".rstrip("0").rstrip(".")
    return f"{sign}P{span.days}DT{seconds}S"


def fields_of(value: Any) -> Any:
    """The fields of an instance of a class with fields, as a dict; any other value as it is."""
    kind = type(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [item.name for item in dataclasses.fields(value)]
    elif hasattr(kind, "model_fields"):
        names = list(kind.model_fields)
    elif hasattr(kind, "__struct_fields__"):
        names = list(kind.__struct_fields__)
    elif hasattr(kind, "__attrs_attrs__"):
        names = [item.name for item in kind.__attrs_attrs__]
    else:
        return value
    return {name: getattr(value, name, None) for name in names}


class Bounds(NamedTuple):
    """How much of a value a snapshot keeps.

    Attributes:
        text: characters of one text.
        nodes: values altogether.
        depth: levels of nesting.
    """

    text: int = 16_384
    nodes: int = 20_000
    depth: int = 32


KEPT: Final = Bounds()
"""What is kept of one value, where nothing else is said."""


def snapshot(
    value: Any,
    bounds: Bounds = KEPT,
    hide: Callable[[str], bool] | None = None,
    mask: str = "***",
    write: Callable[[str], str] | None = None,
    write_key: Callable[[str], str] | None = None,
    number: Callable[[float], Any] | None = None,
) -> Any:
    """A JSON-safe copy of any value: bounded, never raising, whatever the value holds (cycles, depth, a raising ``__repr__``).

    Args:
        value: any value.
        bounds: how much of it is kept; what is cut is said in its place.
        hide: tells by its key whether a value is masked, at any depth.
        mask: what stands for a masked value.
        write: makes of each text the text that is kept, before it is cut.
        write_key: the same for keys.
        number: the same for numbers, of which it may make a text.
    """
    if write is None:
        return _Snapshot(bounds, hide, mask).copy(value, bounds.depth)
    return _Rewritten(bounds, hide, mask, write, write_key, number).copy(value, bounds.depth)


class _Snapshot:
    def __init__(self, bounds: Bounds, hide: Callable[[str], bool] | None, mask: str) -> None:
        self.bounds = bounds
        self.left = bounds.nodes
        self.hide = hide
        self.mask = mask

    def copy(self, value: Any, depth: int) -> Any:
        self.left -= 1
        if value is None or value is True or value is False:
            return value
        try:
            return self.scalar(value) if isinstance(value, str | int | float) else self.compound(value, depth)
        except FOREIGN:
            return f"<{class_name(value)}>"

    def scalar(self, value: Any) -> Any:
        if isinstance(value, str):
            text = str(value) if type(value) is not str else value
            return (
                text
                if len(text) <= self.bounds.text
                else f"{text[: self.bounds.text]}... <{len(text) - self.bounds.text:,} more characters>"
            )
        if isinstance(value, int):
            return int(value) if value.bit_length() < 4_000 else f"<integer of about {value.bit_length() * 3 // 10:,} digits>"
        return float(value) if math.isfinite(value) else str(float(value))

    key = scalar

    def compound(self, value: Any, depth: int) -> Any:
        plain = fields_of(value) if not isinstance(value, Mapping | list) else value
        if isinstance(plain, Mapping | list | tuple | set | frozenset):
            if depth <= 0:
                return "<nested too deeply>"
            return self.mapping(plain, depth) if isinstance(plain, Mapping) else self.sequence(plain, depth)
        exact = json_value(value)
        if exact is not ABSENT:
            return self.copy(exact, depth)
        has_repr = any("__repr__" in vars(kind) for kind in type(value).__mro__[:-1])
        return self.scalar(repr(value)) if has_repr else f"<{class_name(value)}>"

    def mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, item in value.items():
            if self.left <= 0:
                made["..."] = f"<{len(value) - len(made):,} more>"
                break
            text = self.key(key if isinstance(key, str) else str(key))
            made[text] = self.mask if self.hide is not None and self.hide(text) else self.copy(item, depth - 1)
        return made

    def sequence(self, value: Any, depth: int) -> list[Any]:
        made: list[Any] = []
        for item in value:
            if self.left <= 0:
                made.append(f"<{len(value) - len(made):,} more>")
                break
            made.append(self.copy(item, depth - 1))
        return made


class _Rewritten(_Snapshot):
    """A snapshot of which each text is made over."""

    def __init__(
        self,
        bounds: Bounds,
        hide: Callable[[str], bool] | None,
        mask: str,
        write: Callable[[str], str],
        write_key: Callable[[str], str] | None,
        number: Callable[[float], Any] | None,
    ) -> None:
        super().__init__(bounds, hide, mask)
        self.write = write
        self.write_key = write_key
        self.number = number

    def scalar(self, value: Any) -> Any:
        if isinstance(value, str):
            return super().scalar(self.write(str(value)))
        made = super().scalar(value)
        if isinstance(made, str):
            return self.write(made)
        return made if self.number is None else self.number(made)

    def key(self, value: Any) -> Any:
        text = str(value)
        return super().scalar(text if self.write_key is None else self.write_key(text))


def json_text(value: Any, bounds: Bounds = KEPT, *, ascii_only: bool = False) -> str:
    """A snapshot as compact JSON text; never raises."""
    return json.dumps(snapshot(value, bounds), ensure_ascii=ascii_only, allow_nan=False, separators=(", ", ": "))


def plain_text(value: Any) -> str:
    """A value as plain text, which is JSON where no text stands for it; never raises.

    >>> plain_text("c-1"), plain_text(7), plain_text({"a": None})
    ('c-1', '7', '{"a": null}')
    """
    copied = snapshot(value)
    return copied if isinstance(copied, str) else json_text(copied)
