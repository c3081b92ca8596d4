"""What a node expects, in words for the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolbox.diagnostics import shorten
from toolbox.types import (
    CONSTRAINTS,
    AnyType,
    ArrayType,
    BooleanType,
    EnumType,
    IntegerType,
    NeverType,
    NullType,
    NumberType,
    ObjectType,
    Opaque,
    Ref,
    StringType,
    Type,
    UnionType,
)

__all__ = ["CHOICES_SHOWN", "expectation"]

CHOICES_SHOWN: Final = 10
FIELDS_SHOWN: Final = 8

_PLAIN: Final[Mapping[type[Type], str]] = {
    AnyType: "any value",
    NeverType: "nothing",
    NullType: "null",
    BooleanType: "true or false",
    IntegerType: "an integer",
    NumberType: "a number",
    StringType: "text",
    Opaque: "a value that fits the schema",
}

_FORMATS: Final = {
    "date-time": "a date and time in ISO 8601 such as 2026-07-02T14:30:00Z",
    "date": "a date in ISO 8601 such as 2026-07-02",
    "time": "a time in ISO 8601 such as 14:30:00",
    "duration": "a duration in ISO 8601 such as PT90S or P1DT2H",
    "uuid": "a UUID",
    "path": "a file path",
    "regex": "a regular expression",
    "email": "an e-mail address",
    "uri": "a URI",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "ipv4network": "an IPv4 network such as 10.0.0.0/8",
    "ipv6network": "an IPv6 network",
    "ipv4interface": "an IPv4 address with its network",
    "ipv6interface": "an IPv6 address with its network",
    "hostname": "a host name",
}


def expectation(node: Type, definitions: Mapping[str, Type], depth: int = 2) -> str:
    """What the node expects, in words."""
    if isinstance(node, Ref):
        known = definitions.get(node.name)
        return node.name if known is None or depth == 0 else expectation(known, definitions, depth - 1)
    if isinstance(node, EnumType):
        shown = ", ".join(shorten(value) for value in node.values[:CHOICES_SHOWN])
        rest = len(node.values) - CHOICES_SHOWN
        listed = f"{shown} and {rest} more" if rest > 0 else shown
        return listed if len(node.values) == 1 else f"one of {listed}"
    if isinstance(node, UnionType):
        return " or ".join(dict.fromkeys(expectation(item, definitions, max(depth - 1, 0)) for item in node.members[:CHOICES_SHOWN]))
    if isinstance(node, ArrayType):
        return _array(node, definitions, depth) + _limits(node)
    if isinstance(node, ObjectType):
        return _object(node)
    if isinstance(node, StringType) and node.encoding:
        return f"text in {node.encoding}"
    if isinstance(node, StringType) and node.format:
        return _FORMATS.get(node.format, f"text in the format {node.format}") + _limits(node)
    return _PLAIN.get(type(node), "a value") + _limits(node)


def _array(node: ArrayType, definitions: Mapping[str, Type], depth: int) -> str:
    if node.prefix and depth:
        return f"an array of {', '.join(expectation(item, definitions, depth - 1) for item in node.prefix)}"
    if isinstance(node.items, AnyType) or not depth:
        return "an array"
    return f"an array whose items are each {expectation(node.items, definitions, depth - 1)}"


def _object(node: ObjectType) -> str:
    if not node.fields:
        return "an object"
    names = ", ".join(item.name for item in node.fields[:FIELDS_SHOWN])
    return f"an object with {names}{' and more' if len(node.fields) > FIELDS_SHOWN else ''}"


def _limits(node: Type) -> str:
    words = []
    if isinstance(node, ArrayType) and node.min_items is not None and node.min_items == node.max_items:
        return f" (exactly {node.min_items} items)"
    for constraint in CONSTRAINTS.get(type(node), ()):
        limit = getattr(node, constraint.attribute)
        if limit is not None and limit is not False:
            words.append(constraint.expected.format(limit))
    return f" ({', '.join(words)})" if words else ""
