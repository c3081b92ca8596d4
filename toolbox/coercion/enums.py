"""Every enum of a payload, at any depth, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from toolbox.coercion.builder import Builder, Coercer
from toolbox.diagnostics import INVALID, Outcome, Path
from toolbox.types import (
    AnyType,
    ArrayType,
    BooleanType,
    EnumType,
    NullType,
    NumberType,
    ObjectType,
    Opaque,
    StringType,
    Type,
    UnionType,
    identity,
)

__all__ = ["EnumWalker"]


class EnumWalker:
    """Walks a value along a node and coerces what the node says is one of given choices; all other values stay as they are."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._coercers: dict[int, Coercer] = {}

    def walk(self, node: Type, value: Any, path: Path, out: Outcome) -> Any:
        """The value with its enums coerced; one that fails stays as it came, with a failure in `out`."""
        node = self.builder.resolve(node)
        if isinstance(node, EnumType):
            return self._matched(node, node, value, path, out)
        if isinstance(node, UnionType):
            return self._union(node, value, path, out)
        if isinstance(node, Opaque):
            return self.walk(node.known, value, path, out)
        if isinstance(node, ObjectType) and isinstance(value, Mapping):
            known = {field.name: field.type for field in node.fields}
            return {key: self._property(known.get(key, node.additional), item, (path, key), out) for key, item in value.items()}
        if isinstance(node, ArrayType) and isinstance(value, list):
            kinds = [*node.prefix, *[node.items] * max(len(value) - len(node.prefix), 0)]
            return [self.walk(kind, item, (path, place), out) for place, (kind, item) in enumerate(zip(kinds, value, strict=False))]
        return value

    def _property(self, node: Type | None, value: Any, path: Path, out: Outcome) -> Any:
        return value if node is None else self.walk(node, value, path, out)

    def _matched(self, place: Type, node: Type, value: Any, path: Path, out: Outcome) -> Any:
        # By the place in the document, which lives as long as the walk.
        coerce = self._coercers.get(id(place))
        if coerce is None:
            coerce = self._coercers[id(place)] = self.builder.build(node)
        made = coerce(value, path, out)
        return value if made is INVALID else made

    def _union(self, node: UnionType, value: Any, path: Path, out: Outcome) -> Any:
        members = [self.builder.resolve(item) for item in node.members]
        if isinstance(value, Mapping | list):
            kind = ObjectType if isinstance(value, Mapping) else ArrayType
            fitting = [item for item in members if isinstance(item, kind) and self._may_be(item, value)]
            return self.walk(fitting[0], value, path, out) if len(fitting) == 1 else value
        choices = tuple(item for item in members if isinstance(item, EnumType))
        if not choices or any(_takes(item, value) for item in members):
            return value
        return self._matched(node, choices[0] if len(choices) == 1 else replace(node, members=choices), value, path, out)

    def _may_be(self, node: Type, value: Any) -> bool:
        """Whether the constants that an object declares, such as its kind, are those of the value."""
        if not isinstance(node, ObjectType):
            return True
        for field in node.fields:
            declared = self.builder.resolve(field.type)
            if not isinstance(declared, EnumType) or len(declared.values) != 1 or field.name not in value:
                continue
            if identity(value[field.name]) != identity(declared.values[0]):
                return False
        return True


def _takes(node: Type, value: Any) -> bool:
    """Whether a member that is no choice takes a scalar as it is."""
    if isinstance(value, bool):
        return isinstance(node, BooleanType | AnyType)
    if isinstance(value, int | float):
        return isinstance(node, NumberType | AnyType)
    return isinstance(node, (NullType if value is None else StringType) | AnyType)
