"""The upper bounds of a payload that is already a value, checked without recursion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolbox.errors import PayloadError
from toolbox.policy import Limits

__all__ = ["check_limits", "too_deep", "too_large", "too_long_integer", "too_many_nodes"]

_LEAVES: Final = frozenset((bool, float, type(None)))
_SMALL: Final = 1 << 63
_BITS_PER_DIGIT: Final = 3.3219280948873626


def check_limits(value: object, limits: Limits) -> None:
    """Check depth (a value that holds itself is too deep as well), number of values, digits of integers and length of texts.

    Raises:
        PayloadError: with the reason ``too_deep``, ``too_many_nodes``, ``integer_too_long`` or ``too_large``.

    >>> check_limits({"a": [1, 2]}, Limits())
    >>> check_limits({"a": [[[1]]]}, Limits(depth=3))
    Traceback (most recent call last):
    toolbox.errors.PayloadError: the arguments are nested more than 3 levels deep; send them flatter
    """
    if type(value) is dict:
        longest = limits.text
        for item in value.values():
            kind = type(item)
            if kind is str:
                if len(item) > longest:
                    raise too_large(limits)
            elif kind is int:
                if not -_SMALL < item < _SMALL:
                    _check_integer(item, limits)
            elif kind not in _LEAVES:
                break
        else:
            if len(value) < limits.nodes:
                return
    _check_nested(value, limits)


def _check_nested(value: object, limits: Limits) -> None:
    level: list[Any] = [value]
    nodes = depth = 0
    while level:
        nodes += len(level)
        if nodes > limits.nodes:
            raise too_many_nodes(limits)
        below: list[Any] = []
        containers = False
        for item in level:
            kind = type(item)
            if kind is str:
                if len(item) > limits.text:
                    raise too_large(limits)
            elif kind is int:
                if not -_SMALL < item < _SMALL:
                    _check_integer(item, limits)
            elif kind is dict:
                containers = True
                below.extend(item.values())
            elif kind is list:
                containers = True
                below.extend(item)
            elif kind not in _LEAVES:
                containers = _look_into(item, below, limits) or containers
            if nodes + len(below) > limits.nodes:
                raise too_many_nodes(limits)
        if containers:
            depth += 1
            if depth > limits.depth:
                raise too_deep(limits)
        level = below


def _look_into(item: Any, below: list[Any], limits: Limits) -> bool:
    """Check a value of a less common class, and put what it contains into `below`; whether it contains anything at all."""
    if isinstance(item, str):
        if len(item) > limits.text:
            raise too_large(limits)
    elif isinstance(item, int):
        _check_integer(item, limits)
    elif isinstance(item, Mapping):
        below.extend(item.values())
        return True
    elif isinstance(item, list | tuple | set | frozenset):
        below.extend(item)
        return True
    return False


def _check_integer(number: int, limits: Limits) -> None:
    if number.bit_length() > limits.integer_digits * _BITS_PER_DIGIT + 1:
        raise too_long_integer(limits)


def too_deep(limits: Limits) -> PayloadError:
    """The error for a payload with too many levels."""
    return PayloadError("too_deep", f"the arguments are nested more than {limits.depth} levels deep; send them flatter")


def too_many_nodes(limits: Limits) -> PayloadError:
    """The error for a payload with too many values."""
    return PayloadError("too_many_nodes", f"the arguments hold more than {limits.nodes:,} values; send fewer")


def too_long_integer(limits: Limits) -> PayloadError:
    """The error for an integer with too many digits."""
    digits = limits.integer_digits
    return PayloadError("integer_too_long", f"the arguments hold an integer of more than {digits:,} digits; send a shorter one")


def too_large(limits: Limits) -> PayloadError:
    """The error for a text with too many characters."""
    return PayloadError("too_large", f"the arguments hold more than {limits.text:,} characters of text; send less")
