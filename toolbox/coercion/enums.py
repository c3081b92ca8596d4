"""Every enum of a payload, at any depth, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolbox.coercion.builder import Builder, Coercer
from toolbox.diagnostics import INVALID, Outcome, Path
from toolbox.types import ArrayType, EnumType, ObjectType, StringType, Type, UnionType

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
            made = self._coercer(node)(value, path, out)
            return value if made is INVALID else made
        if isinstance(node, UnionType):
            chosen = self._member(node, value)
            return value if chosen is None else self.walk(chosen, value, path, out)
        if isinstance(node, ObjectType) and isinstance(value, Mapping):
            known = {field.name: field.type for field in node.fields}
            return {key: self._property(known.get(key, node.additional), item, (path, key), out) for key, item in value.items()}
        if isinstance(node, ArrayType) and isinstance(value, list):
            kinds = [*node.prefix, *[node.items] * max(len(value) - len(node.prefix), 0)]
            return [self.walk(kind, item, (path, place), out) for place, (kind, item) in enumerate(zip(kinds, value, strict=False))]
        return value

    def _property(self, node: Type | None, value: Any, path: Path, out: Outcome) -> Any:
        return value if node is None else self.walk(node, value, path, out)

    def _coercer(self, node: EnumType) -> Coercer:
        if id(node) not in self._coercers:
            self._coercers[id(node)] = self.builder.build(node)
        return self._coercers[id(node)]

    def _member(self, node: UnionType, value: Any) -> Type | None:
        """The one member that a value can be meant for, where that is plain."""
        members = [self.builder.resolve(item) for item in node.members]
        if isinstance(value, Mapping):
            fitting: list[Type] = [item for item in members if isinstance(item, ObjectType)]
        elif isinstance(value, list):
            fitting = [item for item in members if isinstance(item, ArrayType)]
        elif value is None or any(isinstance(item, StringType) for item in members):
            return None
        else:
            fitting = [item for item in members if isinstance(item, EnumType)]
        return fitting[0] if len(fitting) == 1 else None
