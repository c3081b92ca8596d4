"""Which family coerces which class of node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolbox.coercion.builder import Builder, Coercer, Factory
from toolbox.coercion.choices import choice
from toolbox.coercion.containers import array
from toolbox.coercion.enums import EnumWalker
from toolbox.coercion.objects import object_type
from toolbox.coercion.opaque import opaque
from toolbox.coercion.scalars import any_value, boolean, integer, never, null, number
from toolbox.coercion.text import text
from toolbox.coercion.unions import union
from toolbox.diagnostics import Outcome
from toolbox.policy import Policy
from toolbox.types import (
    AnyType,
    ArrayType,
    BooleanType,
    Document,
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

__all__ = ["build_coercer", "coerce_enums_in"]


def _reference(node: Ref, builder: Builder) -> Coercer:
    return builder.reference(node.name)


_FAMILIES: Final[Mapping[type[Type], Factory]] = {
    AnyType: any_value,
    NeverType: never,
    NullType: null,
    BooleanType: boolean,
    IntegerType: integer,
    NumberType: number,
    StringType: text,
    EnumType: choice,
    ArrayType: array,
    ObjectType: object_type,
    UnionType: union,
    Ref: _reference,
    Opaque: opaque,
}


def build_coercer(document: Document, policy: Policy) -> Coercer:
    """The coercer of a document's root under a policy.

    Args:
        document: what is accepted.
        policy: what may be done to a value to make it fit.

    Returns:
        A closure ``(value, path, outcome)`` that returns the coerced value, or `INVALID` with the failures in the outcome.
    """
    return Builder(document.definitions, policy, _FAMILIES).build(document.root)


def coerce_enums_in(document: Document, value: Any, policy: Policy, out: Outcome) -> Any:
    """The value with every enum in it coerced, at any depth, and everything else as it is."""
    return EnumWalker(Builder(document.definitions, policy, _FAMILIES)).walk(document.root, value, None, out)
