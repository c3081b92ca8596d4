"""Types in a few words, for descriptions that a model reads where a dialect cannot say them."""

from __future__ import annotations

import json
from typing import Any, Final

from toolbox.types import (
    CONSTRAINTS,
    AnyType,
    ArrayType,
    BooleanType,
    EnumType,
    Field,
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
    implied,
    is_untyped,
)

__all__ = ["described", "noted", "type_text", "value_text"]

_DEEPEST: Final = 4
_CHOICES: Final = 60
_LONGEST_VALUE: Final = 200
_NAMES: Final = {
    AnyType: "anything",
    NeverType: "nothing",
    NullType: "null",
    BooleanType: "boolean",
    IntegerType: "integer",
    NumberType: "number",
}


def value_text(value: Any) -> str:
    """A JSON value as short text."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def noted(notes: list[str]) -> str:
    """Notes in brackets, each once; empty where there are none."""
    return f"({'; '.join(dict.fromkeys(notes))})" if notes else ""


def described(description: str | None, notes: list[str]) -> str | None:
    """A description with notes behind it, each once.

    >>> described("Size of a page.", ["at most 100", "default: 20"])
    'Size of a page. (at most 100; default: 20)'
    """
    said = noted(notes)
    return f"{description} {said}" if description and said else said or description


def type_text(node: Type, depth: int = 0) -> str:
    """What a node accepts.

    >>> type_text(ArrayType(items=EnumType(values=("a", "b"))))
    'array of ("a" or "b")'
    >>> type_text(ObjectType(fields=(Field("x", IntegerType(minimum=0)), Field("y", StringType(), required=False))))
    'object with "x" (integer, at least 0), "y" (string, optional)'
    """
    if isinstance(node, Ref):
        return node.name
    if isinstance(node, Opaque):
        return type_text(node.known, depth)
    if isinstance(node, EnumType):
        return _choices(node)
    if isinstance(node, UnionType):
        return _union(node, depth)
    if isinstance(node, ArrayType):
        return _limited(_array(node, depth), node)
    if isinstance(node, ObjectType):
        return _limited(_object(node, depth), node)
    if isinstance(node, StringType):
        texts = ["string", *([f"format {node.format}"] if node.format else []), *([f"encoded as {node.encoding}"] if node.encoding else [])]
        return _limited(", ".join(texts), node)
    return _limited(_NAMES.get(type(node), "anything"), node)


def _limited(text: str, node: Type) -> str:
    limits = [
        constraint.expected.format(limit if constraint.keyword == "pattern" else value_text(limit))
        for constraint in CONSTRAINTS.get(type(node), ())
        if (limit := getattr(node, constraint.attribute)) is not None and limit is not False
    ]
    return ", ".join([text, *limits])


def _choices(node: EnumType) -> str:
    shown = [value_text(value) for value in node.values[:_CHOICES]]
    if len(node.values) > _CHOICES:
        shown.append(f"one of {len(node.values) - _CHOICES} more")
    return " or ".join([*shown, "another text"] if node.open else shown)


def _union(node: UnionType, depth: int) -> str:
    if is_untyped(node):
        inner = implied(node)
        return "anything" if inner is node else type_text(inner, depth)
    return " or ".join(dict.fromkeys(_bracketed(member, depth) for member in node.members))


def _bracketed(node: Type, depth: int) -> str:
    text = type_text(node, depth + 1)
    return f"({text})" if " " in text else text


def _array(node: ArrayType, depth: int) -> str:
    if depth > _DEEPEST:
        return "array"
    if node.prefix:
        parts = ", ".join(_bracketed(item, depth) for item in node.prefix)
        return f"array of, in this order, {parts}"
    return "array" if isinstance(node.items, AnyType) else f"array of {_bracketed(node.items, depth)}"


def _object(node: ObjectType, depth: int) -> str:
    if depth > _DEEPEST:
        return "object"
    parts = [_field(item, depth) for item in node.fields]
    if node.additional is not None and not isinstance(node.additional, NeverType):
        parts.append("any keys" if isinstance(node.additional, AnyType) else f"any keys, each value {_bracketed(node.additional, depth)}")
    return f"object with {', '.join(parts)}" if parts else "object"


def _field(item: Field, depth: int) -> str:
    text = type_text(item.type, depth + 1)
    said = text if item.required else f"{text}, optional"
    about = f": {item.type.description}" if item.type.description else ""
    return f"{json.dumps(item.name, ensure_ascii=False)} ({said}{about})"
