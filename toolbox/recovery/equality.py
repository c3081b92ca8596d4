"""When two JSON values are the same: by their exact numbers, and never by a truth that happens to equal 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from toolbox.json_values import json_value
from toolbox.types import ABSENT, NumberText

__all__ = ["exact", "same"]


def exact(value: object) -> Decimal | None:
    """The number that a value is, by its literal where that is known; None for what is no finite number.

    >>> exact(NumberText("0.10")) == exact(0.1), exact(True)
    (True, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, NumberText):
        number = Decimal(value.text)
        return number if number.is_finite() else None
    if isinstance(value, float):
        return Decimal(repr(float(value))) if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    return None


def same(one: Any, other: Any) -> bool:
    """Whether two values are one JSON value; the order of keys says nothing, that of items does.

    >>> same({"a": 1, "b": [True]}, {"b": [True], "a": 1.0}), same(1, True), same("1", 1)
    (True, False, False)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    if one is None or other is None:
        return one is other
    left, right = exact(one), exact(other)
    if left is not None and right is not None:
        return left == right
    if one is other and isinstance(one, Mapping | list | tuple):
        return True
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return _same_as_json(one, other)


def _same_as_json(one: Any, other: Any) -> bool:
    """Values that are no JSON themselves, such as a date, by the JSON that stands for them."""
    left, right = json_value(one), json_value(other)
    if left is ABSENT or right is ABSENT or (type(left) is type(one) and type(right) is type(other)):
        return False
    return same(left, right)
