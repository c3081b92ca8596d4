"""What satisfies two nodes at once, where one node can say it exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, TypeVar

from toolbox.types import (
    CONSTRAINTS,
    DESCRIBING,
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
    identity,
    is_untyped,
)

__all__ = ["Intersection", "described_by", "tidy_array", "union_of"]

MEMBERS_KEPT: Final = 256
STEPS_AT_ONCE: Final = 10_000
STEPS_ALLOWED: Final = 500_000
_PLAIN: Final = Type()
Number = TypeVar("Number", int, float)


def described_by(node: Type, other: Type) -> Type:
    """The node with the texts of another where it has none of its own."""
    taken = {
        name: getattr(other, name)
        for name in DESCRIBING
        if getattr(node, name) == getattr(_PLAIN, name) and getattr(other, name) != getattr(_PLAIN, name)
    }
    return replace(node, **taken) if taken else node


def tidy_array(node: ArrayType) -> ArrayType:
    """An array in which nothing is said about items for which there is no room."""
    if node.prefix and node.max_items is not None and node.max_items <= len(node.prefix) and node.items != AnyType():
        return replace(node, items=AnyType())
    return node


_DECIMAL_TEXT: Final = StringType(format="decimal")


def union_of(members: Iterable[Type], *, one_of: bool = False, discriminator: str | None = None) -> Type:
    """The union, without members that accept nothing; text beside choices is an open enum."""
    kept = tuple(member for member in members if type(member) is not NeverType)
    if not kept:
        return NeverType()
    if len(kept) == 1:
        return kept[0]
    if (
        len(kept) == 2
        and not one_of
        and isinstance(kept[0], EnumType)
        and kept[0] == EnumType(values=kept[0].values)
        and kept[1] == StringType()
    ):
        return replace(kept[0], open=True)
    if len(kept) == 2 and not one_of and type(kept[0]) is NumberType and kept[1] == _DECIMAL_TEXT and kept[0] == _bare(kept[0]):
        return replace(kept[0], decimal=True)
    return UnionType(members=kept, one_of=one_of, discriminator=discriminator)


class Intersection:
    """Meets nodes pair by pair. None stands for "no node says exactly this".

    Attributes:
        definition: the node that a name stands for, or None when it can't be told yet.
    """

    def __init__(self, definition: Callable[[str], Type | None]) -> None:
        self.definition = definition
        self._steps = 0
        self._limit = 0
        self._open: set[tuple[str, str]] = set()

    def meet(self, one: Type, other: Type) -> Type | None:
        """The node that accepts exactly what both accept; where both have texts, those of the first count."""
        self._limit = min(self._steps + STEPS_AT_ONCE, STEPS_ALLOWED)
        return self._step(one, other)

    def _step(self, one: Type, other: Type) -> Type | None:
        self._steps += 1
        if self._steps > self._limit:
            return None
        met = self._meet(one, other)
        return None if met is None else described_by(described_by(met, one), other)

    def _meet(self, one: Type, other: Type) -> Type | None:
        if isinstance(one, AnyType):
            return _described_as(other, one)
        if isinstance(other, AnyType):
            return one
        if isinstance(one, NeverType) or isinstance(other, NeverType):
            return NeverType()
        if isinstance(one, Ref):
            return self._meet_reference(one, other)
        if isinstance(other, Ref):
            return self._meet_reference(other, one)
        if isinstance(one, Opaque) or isinstance(other, Opaque):
            return None
        if isinstance(one, NumberType) and one.decimal:
            return self._step(_without_text(one), other)
        if isinstance(other, NumberType) and other.decimal:
            return self._step(one, _without_text(other))
        if isinstance(one, EnumType) and one.open:
            return self._step(_closed(one), other)
        if isinstance(other, EnumType) and other.open:
            return self._step(one, _closed(other))
        if isinstance(one, UnionType) and not (is_untyped(one) and isinstance(other, UnionType)):
            return self._meet_union(one, other, first=True)
        if isinstance(other, UnionType):
            return self._meet_union(other, one, first=False)
        if isinstance(one, EnumType):
            return _chosen(one, other)
        if isinstance(other, EnumType):
            return _chosen(other, one)
        return self._meet_plain(one, other)

    def _meet_reference(self, reference: Ref, rest: Type) -> Type | None:
        if isinstance(rest, Ref) and reference.name == rest.name:
            return reference
        key = (reference.name, rest.name if isinstance(rest, Ref) else "")
        target = self.definition(reference.name)
        if target is None or key in self._open:
            return None
        self._open.add(key)
        try:
            met = self._meet(target, rest)
        finally:
            self._open.discard(key)
        return reference if met == target else None if met is None else described_by(met, target)

    def _meet_union(self, union: UnionType, other: Type, *, first: bool) -> Type | None:
        if len(union.members) > MEMBERS_KEPT:
            return None
        members: list[Type] = []
        other = _bare(other)
        for member in union.members:
            met = self._step(member, other) if first else self._step(other, member)
            if met is None:
                return None
            # Of a `oneOf`, two equal members exclude each other, so both have to stay.
            if union.one_of or not any(_is_same(met, known) for known in members):
                members.append(met)
        if sum(len(member.members) if isinstance(member, UnionType) else 1 for member in members) > 6 * MEMBERS_KEPT:
            return None
        return union_of(members, one_of=union.one_of, discriminator=union.discriminator)

    def _meet_plain(self, one: Type, other: Type) -> Type | None:
        if isinstance(one, NumberType) and isinstance(other, NumberType):
            return _met_numbers(one, other)
        if type(one) is not type(other):
            return NeverType()
        if isinstance(one, StringType) and isinstance(other, StringType):
            return _met_strings(one, other)
        if isinstance(one, ArrayType) and isinstance(other, ArrayType):
            return self._meet_arrays(one, other)
        if isinstance(one, ObjectType) and isinstance(other, ObjectType):
            return self._meet_objects(one, other)
        return one

    def _meet_arrays(self, one: ArrayType, other: ArrayType) -> Type | None:
        length = max(len(one.prefix), len(other.prefix))
        prefix = [self._step(_item(one, index), _item(other, index)) for index in range(length)]
        items = self._step(one.items, other.items)
        if items is None or any(item is None for item in prefix):
            return None
        return tidy_array(
            replace(
                one,
                prefix=tuple(item for item in prefix if item is not None),
                items=items,
                min_items=_larger(one.min_items, other.min_items),
                max_items=_smaller(one.max_items, other.max_items),
                unique_items=one.unique_items or other.unique_items,
            )
        )

    def _meet_objects(self, one: ObjectType, other: ObjectType) -> Type | None:
        additional = one.additional if other.additional is None else other.additional
        if one.additional is not None and other.additional is not None:
            additional = self._step(one.additional, other.additional)
            if additional is None:
                return None
        declared = {item.name: item for item in one.fields}
        added = {item.name: item for item in other.fields}
        fields: list[Field] = []
        for name in dict.fromkeys((*declared, *added)):
            mine, theirs = declared.get(name), added.get(name)
            met = self._step(_property(mine, one), _property(theirs, other))
            if met is None:
                return None
            required = any(item is not None and item.required for item in (mine, theirs))
            if required or not (isinstance(met, NeverType) and isinstance(additional, NeverType)):
                fields.append(Field(name, met, required))
        return replace(
            one,
            fields=tuple(fields),
            additional=additional,
            min_properties=_larger(one.min_properties, other.min_properties),
            max_properties=_smaller(one.max_properties, other.max_properties),
        )


def _is_same(one: Type, other: Type) -> bool:
    # Equality alone takes the choice 1 for the choice true.
    return one == other and repr(one) == repr(other)


def _described_as(node: Type, other: Type) -> Type:
    """The node with the texts of another instead of its own, where that has any."""
    given = {name: getattr(other, name) for name in DESCRIBING if getattr(other, name) != getattr(_PLAIN, name)}
    return replace(node, **given) if given else node


def _bare(node: Type) -> Type:
    """The node without its texts."""
    return replace(node, **{name: getattr(_PLAIN, name) for name in DESCRIBING})


def _without_text(node: Any) -> Type:
    """A number that decimal text may stand for, as the union that it is."""
    bare: Any = _bare(node)
    return described_by(UnionType(members=(replace(bare, decimal=False), _DECIMAL_TEXT)), node)


def _closed(node: EnumType) -> UnionType:
    described = {name: getattr(node, name) for name in DESCRIBING}
    return UnionType(members=(EnumType(values=node.values), StringType()), **described)


def _item(node: ArrayType, index: int) -> Type:
    return node.prefix[index] if index < len(node.prefix) else node.items


def _property(item: Field | None, owner: ObjectType) -> Type:
    if item is not None:
        return item.type
    return AnyType() if owner.additional is None else owner.additional


def _larger(one: Number | None, other: Number | None) -> Number | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def _smaller(one: Number | None, other: Number | None) -> Number | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _met_numbers(one: NumberType, other: NumberType) -> Type | None:
    step = one.multiple_of if other.multiple_of is None else other.multiple_of
    if one.multiple_of is not None and other.multiple_of is not None:
        step = _common_multiple(one.multiple_of, other.multiple_of)
        if step is None:
            return None
    kept = one if isinstance(one, IntegerType) or not isinstance(other, IntegerType) else other
    return replace(
        kept,
        minimum=_larger(one.minimum, other.minimum),
        maximum=_smaller(one.maximum, other.maximum),
        exclusive_minimum=_larger(one.exclusive_minimum, other.exclusive_minimum),
        exclusive_maximum=_smaller(one.exclusive_maximum, other.exclusive_maximum),
        multiple_of=step,
    )


def _common_multiple(one: float, other: float) -> float | None:
    first, second = Fraction(str(one)), Fraction(str(other))
    common = Fraction(math.lcm(first.numerator, second.numerator), math.gcd(first.denominator, second.denominator))
    if common.denominator == 1:
        return common.numerator
    return float(common) if Fraction(str(float(common))) == common else None


def _met_strings(one: StringType, other: StringType) -> Type | None:
    texts: dict[str, Any] = {}
    for name in ("pattern", "format", "encoding"):
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine is not None and theirs is not None and mine != theirs:
            return None
        texts[name] = theirs if mine is None else mine
    texts["min_length"] = _larger(one.min_length, other.min_length)
    texts["max_length"] = _smaller(one.max_length, other.max_length)
    return replace(one, **texts)


def _chosen(choices: EnumType, node: Type) -> Type | None:
    """Those choices that a node accepts, where it can tell."""
    if isinstance(node, EnumType):
        wanted = {identity(value) for value in node.values}
        kept = tuple(value for value in choices.values if identity(value) in wanted)
    else:
        verdicts = [_accepts(node, value) for value in choices.values]
        if None in verdicts:
            return None
        kept = tuple(value for value, verdict in zip(choices.values, verdicts, strict=True) if verdict)
    if not kept:
        return NeverType()
    return choices if len(kept) == len(choices.values) else replace(choices, values=kept)


def _accepts(node: Type, value: Any) -> bool | None:
    """Whether a node of one JSON type accepts a value; None where that takes more than a look."""
    if not _ACCEPTED[type(node)](value):
        return False
    if isinstance(node, ArrayType | ObjectType):
        return True if node == type(node)() else None
    limits = ((constraint, getattr(node, constraint.attribute)) for constraint in CONSTRAINTS.get(type(node), ()))
    return all(limit is None or constraint.holds(value, limit) for constraint, limit in limits)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_ACCEPTED: Final[dict[type[Type], Callable[[Any], bool]]] = {
    NullType: lambda value: value is None,
    BooleanType: lambda value: isinstance(value, bool),
    NumberType: _is_number,
    IntegerType: lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    StringType: lambda value: isinstance(value, str),
    ArrayType: lambda value: isinstance(value, list | tuple),
    ObjectType: lambda value: isinstance(value, dict),
}
