"""What a provider's dialect of JSON Schema can say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from toolbox.providers.shared import NameRule
from toolbox.types import CONSTRAINTS, UnionType

__all__ = ["ALL_KEYWORDS", "EXACT", "Dialect", "Recursion", "Refs"]

ALL_KEYWORDS: Final = frozenset(constraint.keyword for constraints in CONSTRAINTS.values() for constraint in constraints)


class Refs(Enum):
    """What becomes of references to definitions."""

    KEEP = "keep"
    """They stay, with whatever stands beside them."""
    BARE = "bare"
    """They stay where nothing stands beside them; elsewhere the definition is written in place."""
    INLINE = "inline"
    """The definition is written in place."""


class Recursion(Enum):
    """What becomes of types that hold themselves."""

    KEEP = "keep"
    CUT = "cut"
    """They are written in place a few levels deep, and then only named."""
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What a provider's dialect of JSON Schema can say; by default everything.

    Attributes:
        title: its name in reports.
        keywords: the limits that it takes.
        formats: the formats of text that it takes; None for all.
        encodings: whether it takes ``contentEncoding``.
        defaults: whether it takes ``default``.
        examples: whether it takes ``examples``.
        deprecated: whether it takes ``deprecated``.
        titles: whether it takes ``title``.
        lookaround: whether a pattern may look ahead or behind.
        refs: what becomes of references.
        recursion: what becomes of types that hold themselves.
        one_of: whether it takes ``oneOf`` and discriminators.
        opaque: whether it takes any other keyword of JSON Schema.
        prefixes: whether it takes ``prefixItems``.
        untyped: whether a schema may go without a type.
        anything: what is written for a value of any type where a schema may not go without; where there is none, it is refused.
        open_objects: whether it takes ``additionalProperties`` other than false.
        closed: whether every object must be closed; a map with free keys is then refused.
        complete: whether every property must be required; an optional one then takes null.
        most_min_items: the highest ``minItems`` that it takes.
        only_text_choices: whether ``enum`` is for text alone.
        one_type_choices: whether the values of an ``enum`` must be of one type.
        lone_unions: whether nothing may stand beside ``anyOf``.
        shallow: whether clients of the provider drop what stands deeper than the parameters themselves.
        properties: the rule for names of properties; None for any name.
    """

    title: str
    keywords: frozenset[str] = ALL_KEYWORDS
    formats: frozenset[str] | None = None
    encodings: bool = True
    defaults: bool = True
    examples: bool = True
    deprecated: bool = True
    titles: bool = True
    lookaround: bool = True
    refs: Refs = Refs.KEEP
    recursion: Recursion = Recursion.KEEP
    one_of: bool = True
    opaque: bool = True
    prefixes: bool = True
    untyped: bool = True
    anything: UnionType | None = None
    open_objects: bool = True
    closed: bool = False
    complete: bool = False
    most_min_items: int | None = None
    only_text_choices: bool = False
    one_type_choices: bool = False
    lone_unions: bool = False
    shallow: bool = False
    properties: NameRule | None = None


EXACT: Final = Dialect(title="JSON Schema")
