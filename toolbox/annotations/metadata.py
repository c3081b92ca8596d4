"""Metadata of ``Annotated[...]`` -> a refined node: annotated-types, pydantic's Field, msgspec's Meta, Doc, plain text.

The classes are told by their name and module, so that none of these libraries is imported for it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolbox.annotations.markers import InjectedMarker, OpenEnum, Param
from toolbox.policy import Policy
from toolbox.types import (
    CONSTRAINTS,
    ArrayType,
    EnumType,
    NullType,
    NumberType,
    ObjectType,
    StringType,
    Type,
    UnionType,
)

__all__ = ["Extras", "Problem", "constrain", "expand", "refine"]

# Attribute of a metadata object -> keyword of JSON Schema, by what it measures.
_BOUNDS: Final = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_LENGTHS: Final = {
    StringType: {"min_length": "minLength", "max_length": "maxLength"},
    ArrayType: {"min_length": "minItems", "max_length": "maxItems"},
    ObjectType: {"min_length": "minProperties", "max_length": "maxProperties"},
}
_COMPARE: Final[Mapping[str, tuple[Callable[[Any, Any], bool], str]]] = {
    "minimum": (lambda value, limit: value >= limit, "at least {}"),
    "exclusiveMinimum": (lambda value, limit: value > limit, "more than {}"),
    "maximum": (lambda value, limit: value <= limit, "at most {}"),
    "exclusiveMaximum": (lambda value, limit: value < limit, "less than {}"),
    "multipleOf": (lambda value, limit: value % limit == 0, "a multiple of {}"),
}


class Problem(Exception):
    """One thing about an annotation that cannot be read; the text says what to write instead."""


@dataclass(slots=True)
class Extras:
    """What metadata says about the parameter rather than about its type.

    Attributes:
        aliases: other names under which the argument may come.
        secret: whether its value is masked.
        policy: a policy that tightens the tool's.
        injected: whether it comes from the caller's context.
        default: default and default factory that a pydantic ``Field`` holds, when it does.
        external: whether a validator of pydantic stands in the metadata, so that pydantic has to run it.
    """

    aliases: list[str] = field(default_factory=list)
    secret: bool = False
    policy: Policy | None = None
    injected: bool = False
    default: Any = None
    has_default: bool = False
    default_factory: Callable[[], Any] | None = None
    external: bool = False


def expand(metadata: Iterable[Any]) -> list[Any]:
    """Grouped metadata (``Interval``, ``Len``, a pydantic ``Field``) flattened."""
    flat: list[Any] = []
    for item in metadata:
        name = type(item).__name__
        if name in ("Interval", "Len") and hasattr(type(item), "__iter__"):
            flat.extend(item)
        elif name == "FieldInfo":
            flat.append(item)
            flat.extend(expand(item.metadata))
        else:
            flat.append(item)
    return flat


def refine(node: Type, item: Any, extras: Extras) -> Type:
    """The node refined by one metadata object; what it says about the parameter goes into `extras`."""
    if isinstance(item, str):
        return replace(node, description=item)
    if isinstance(item, Param):
        return _by_param(node, item, extras)
    if item is OpenEnum or isinstance(item, OpenEnum):
        return opened(node)
    if isinstance(item, InjectedMarker):
        extras.injected = True
        return node
    name = type(item).__name__
    if name == "DocInfo" or (name == "Doc" and hasattr(item, "documentation")):
        return replace(node, description=item.documentation)
    if name == "FieldInfo":
        return _by_field_info(node, item, extras)
    if name in _PYDANTIC_VALIDATORS:
        extras.external = True
        return node
    if name == "Predicate" and hasattr(item, "func"):
        return checked(node, item.func, f"a value for which {getattr(item.func, '__name__', 'the predicate')} holds")
    if name == "Timezone" and hasattr(item, "tz"):
        return checked(node, lambda value: _in_timezone(value, item.tz), _zone_words(item.tz))
    return _by_attributes(node, item)


_PYDANTIC_VALIDATORS: Final = frozenset(
    {"AfterValidator", "BeforeValidator", "PlainValidator", "WrapValidator", "InstanceOf", "SkipValidation"}
)


def _by_param(node: Type, item: Param, extras: Extras) -> Type:
    extras.aliases.extend(item.names)
    extras.secret = extras.secret or item.secret
    extras.policy = item.policy or extras.policy
    if item.description is not None:
        node = replace(node, description=item.description)
    if item.examples:
        node = replace(node, examples=tuple(item.examples))
    if item.aliases:
        node = over_members(node, EnumType, lambda found: _with_aliases(found, item.aliases or {}))
    if item.allow_non_finite:
        node = over_members(node, NumberType, lambda found: replace(found, allow_non_finite=True))
    return node


def _with_aliases(node: EnumType, aliases: Mapping[str, Any]) -> EnumType:
    known: dict[str, Any] = dict(node.aliases or {})
    for alias, wanted in aliases.items():
        found = [
            value
            for value, member in zip(node.values, node.members or node.values, strict=True)
            if wanted is member or (type(wanted) is type(value) and wanted == value)
        ]
        if not found:
            raise Problem(
                f"the alias {alias!r} stands for {wanted!r}, which is none of the choices {', '.join(map(repr, node.values[:10]))}"
            )
        known[alias] = found[0]
    return replace(node, aliases=known)


def _by_field_info(node: Type, item: Any, extras: Extras) -> Type:
    if item.description is not None:
        node = replace(node, description=item.description)
    if item.title is not None:
        node = replace(node, title=item.title)
    if item.examples:
        node = replace(node, examples=tuple(item.examples))
    if item.deprecated:
        node = replace(node, deprecated=True)
    alias = item.validation_alias or item.alias
    if isinstance(alias, str):
        extras.aliases.append(alias)
    elif alias is not None and hasattr(alias, "choices"):
        extras.aliases.extend(choice for choice in alias.choices if isinstance(choice, str))
    if not item.is_required():
        extras.has_default = True
        extras.default, extras.default_factory = item.default, item.default_factory
    if item.discriminator and isinstance(item.discriminator, str) and isinstance(node, UnionType):
        node = replace(node, discriminator=item.discriminator)
    return node


def _by_attributes(node: Type, item: Any) -> Type:
    for attribute, keyword in _BOUNDS.items():
        limit = getattr(item, attribute, None)
        if limit is not None:
            node = constrain(node, keyword, limit)
    for attribute in ("min_length", "max_length"):
        limit = getattr(item, attribute, None)
        if limit is not None:
            node = _with_length(node, attribute, limit)
    pattern = getattr(item, "pattern", None)
    if pattern is not None:
        text = pattern if isinstance(pattern, str) else pattern.pattern
        node = over_members(node, StringType, lambda found: replace(found, pattern=text))
    if getattr(item, "allow_inf_nan", None) is True:
        node = over_members(node, NumberType, lambda found: replace(found, allow_non_finite=True))
    for attribute in ("title", "description"):
        words = getattr(item, attribute, None)
        if isinstance(words, str) and type(item).__name__ == "Meta":
            node = _with(node, **{attribute: words})
    if type(item).__name__ == "Meta" and getattr(item, "examples", None):
        node = replace(node, examples=tuple(item.examples))
    return node


def _with(node: Type, **said: Any) -> Type:
    return replace(node, **said)


def _with_length(node: Type, attribute: str, limit: int) -> Type:
    def limited(found: Type) -> Type:
        for kind, keywords in _LENGTHS.items():
            if isinstance(found, kind):
                return constrain(found, keywords[attribute], limit)
        return found

    return over_members(node, StringType | ArrayType | ObjectType, limited)


def constrain(node: Type, keyword: str, limit: Any) -> Type:
    """The node with one more limit, where its kind has that keyword; else a check on the Python value."""
    if isinstance(node, UnionType):
        return replace(
            node, members=tuple(item if isinstance(item, NullType) else constrain(item, keyword, limit) for item in node.members)
        )
    for constraint in CONSTRAINTS.get(type(node), ()):
        if constraint.keyword == keyword and isinstance(limit, int | float):
            return _with(node, **{constraint.attribute: limit})
    if keyword in _COMPARE:
        holds, expected = _COMPARE[keyword]
        return checked(node, lambda value: holds(value, limit), expected.format(limit))
    return node


def checked(node: Type, holds: Callable[[Any], bool], expected: str) -> Type:
    """The node with a check on its Python value."""
    return replace(node, construct=Checked(node.construct, holds, expected))


@dataclass(frozen=True, slots=True)
class Checked:
    """A constructor with a check on what it makes; of a value that is an instance already, only the check is left to do.

    Attributes:
        construct: makes the value; None where it is the value itself.
        holds: the check.
        expected: what was expected, in words.
    """

    construct: Callable[[Any], Any] | None
    holds: Callable[[Any], bool]
    expected: str

    def __call__(self, value: Any) -> Any:
        """The value, made and checked."""
        return self.check(value if self.construct is None else self.construct(value))

    def check(self, value: Any) -> Any:
        """The value, checked, and before it by the checks below.

        Raises:
            ValueError: a check does not hold.
        """
        inner = getattr(self.construct, "check", None)
        if inner is not None:
            inner(value)
        if not self.holds(value):
            raise ValueError(f"not {self.expected}")
        return value


def over_members(node: Type, kind: Any, change: Callable[[Any], Type]) -> Type:
    """The node changed where it is of this kind, or, of a union, every member that is."""
    if isinstance(node, kind):
        return change(node)
    if isinstance(node, UnionType):
        return replace(node, members=tuple(over_members(item, kind, change) for item in node.members))
    return node


def opened(node: Type) -> Type:
    """The enum, or the enum inside a nullable union, opened for unknown text."""
    return over_members(node, EnumType, lambda found: replace(found, open=True))


def _zone_words(zone: Any) -> str:
    return "a time without a time zone" if zone is None else "a time with a time zone" if zone is ... else f"a time in the time zone {zone}"


def _in_timezone(value: Any, zone: Any) -> bool:
    if not isinstance(value, datetime.datetime | datetime.time):
        return False
    if zone is None:
        return value.tzinfo is None
    if zone is ...:
        return value.tzinfo is not None
    return str(value.tzinfo) == str(zone)
