"""The representation: what a parameter accepts, as frozen nodes shaped like JSON Schema.

JSON Schema is the vocabulary that all four corners share: the readers of signatures and of schemas, the writer of schemas and the
builder of coercers. What is Python's alone (constructors, members of an Enum class, defaults that are no JSON) sits in slots that are
neither compared nor written. A tool from a raw schema has these slots empty, one from a signature has them filled: that is the only
difference between the two.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, Final

from toolbox.diagnostics import ABSENT
from toolbox.policy import Policy

__all__ = [
    "ABSENT",
    "CONSTRAINTS",
    "AnyType",
    "ArrayType",
    "BooleanType",
    "Constraint",
    "Document",
    "EnumType",
    "Field",
    "IntegerType",
    "NeverType",
    "NullType",
    "NumberText",
    "NumberType",
    "ObjectType",
    "Opaque",
    "Ref",
    "StringType",
    "Type",
    "UnionType",
    "children",
    "compiled_pattern",
    "identity",
    "implied",
    "is_untyped",
    "map_children",
    "nullable",
    "refs_in",
]


class NumberText(float):
    """A number with a fraction or an exponent as it stood in JSON text: a float that remembers its literal.

    A Decimal is made from the literal, so that it never passes through a binary float.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> NumberText:
        """A number of its literal."""
        number = super().__new__(cls, text)
        number.text = text
        return number


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Type:
    """Any node. What it accepts is said by its class; these fields only describe it.

    Comparing and showing are written once, here: generated for each class, they would take half of the time of the import.

    Attributes:
        title: short name for people.
        description: text for the model.
        deprecated: whether it should no longer be used.
        examples: JSON values that show what is meant.
        default: JSON value of the default, or `ABSENT`.
        construct: makes the Python value of the JSON value; Python's alone.
        instance: class whose instances are left as they are; Python's alone.
    """

    title: str | None = None
    description: str | None = None
    deprecated: bool = False
    examples: tuple[Any, ...] = ()
    default: Any = ABSENT
    construct: Callable[[Any], Any] | None = field(default=None, compare=False, repr=False)
    instance: type | tuple[type, ...] | None = field(default=None, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name, _ in _compared(self))

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name, _ in _compared(self))))

    def __repr__(self) -> str:
        said = ((name, getattr(self, name), default) for name, default in _compared(self))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value, default in said if value is not default)})"


_fields_compared: dict[str, tuple[tuple[str, Any], ...]] = {}


def _compared(node: Type) -> tuple[tuple[str, Any], ...]:
    """The fields by which nodes of a class are compared, each with its default."""
    name = type(node).__name__
    if name not in _fields_compared:
        _fields_compared[name] = tuple((item.name, item.default) for item in fields(node) if item.compare)
    return _fields_compared[name]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AnyType(Type):
    """Accepts every value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NeverType(Type):
    """Accepts no value (the schema ``false``)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NullType(Type):
    """Accepts null."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BooleanType(Type):
    """Accepts true and false."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NumberType(Type):
    """Accepts numbers.

    Attributes:
        decimal: whether decimal text stands for the number too, so that no digit is lost (``Decimal``).
        allow_non_finite: whether NaN and the infinities are accepted; Python's alone, JSON has none.
        as_float: whether the number becomes a float; Python's alone, JSON has one type for both.
    """

    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: float | None = None
    exclusive_maximum: float | None = None
    multiple_of: float | None = None
    decimal: bool = False
    allow_non_finite: bool = field(default=False, compare=False)
    as_float: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IntegerType(NumberType):
    """Accepts numbers without a fraction, `5.0` among them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StringType(Type):
    """Accepts text.

    Attributes:
        format: name of a JSON Schema format; the ones that are known are checked.
        encoding: JSON Schema's ``contentEncoding``, such as ``base64``; checked only where Python makes bytes of it.
        checks_format: whether text must be in the format; not so in a schema whose declared dialect takes formats as notes.
    """

    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: str | None = None
    encoding: str | None = None
    checks_format: bool = field(default=True, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EnumType(Type):
    """Accepts some given values.

    Attributes:
        values: the JSON values, told apart by type and value.
        open: whether other text is kept too (and recorded).
        members: what stands for each value in Python (members of an Enum class); Python's alone.
        names: other names of each value, in the order of the values (names of an Enum class); Python's alone.
        aliases: declared other spellings, to the value that they stand for; Python's alone.
    """

    values: tuple[Any, ...]
    open: bool = False
    members: tuple[Any, ...] | None = field(default=None, compare=False)
    names: tuple[str, ...] | None = field(default=None, compare=False)
    aliases: Mapping[str, Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ArrayType(Type):
    """Accepts arrays.

    Attributes:
        items: what the items accept, after those that `prefix` describes.
        prefix: what each of the first items accepts.
    """

    items: Type = field(default_factory=AnyType)
    prefix: tuple[Type, ...] = ()
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One property of an object, or one parameter of a tool.

    Attributes:
        name: the key in JSON.
        type: what it accepts.
        required: whether it must be given.
        aliases: other keys under which it may come; Python's alone.
        target: the name that Python knows it by, where that differs; Python's alone.
        fallback: makes the Python value of the default; Python's alone.
        secret: whether its value is masked wherever it could be seen; Python's alone.
        policy: a policy that tightens the tool's for this one; Python's alone.
    """

    name: str
    type: Type
    required: bool = True
    aliases: tuple[str, ...] = field(default=(), compare=False)
    target: str | None = field(default=None, compare=False)
    fallback: Callable[[], Any] | None = field(default=None, compare=False, repr=False)
    secret: bool = field(default=False, compare=False)
    policy: Policy | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ObjectType(Type):
    """Accepts objects.

    Attributes:
        fields: the declared properties, in order.
        additional: what other properties accept; None where nothing is said, which JSON Schema reads as anything.
        keys: what the keys of other properties accept, where Python has them as something else than text; Python's alone.
    """

    fields: tuple[Field, ...] = ()
    additional: Type | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    keys: Type | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class UnionType(Type):
    """Accepts what one of its members accepts.

    Attributes:
        discriminator: name of the property whose value tells the members apart, where one is declared.
        one_of: whether exactly one member must accept (JSON Schema's ``oneOf``).
    """

    members: tuple[Type, ...]
    discriminator: str | None = None
    one_of: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Ref(Type):
    """Stands for a node of the document's definitions."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Opaque(Type):
    """A schema with keywords that have no counterpart here: written back as it came, checked by a real validator.

    Attributes:
        schema: the schema, as it came, without the texts that the node has in its own fields.
        known: what of the schema has a counterpart; used for coercion before the check.
    """

    schema: Any
    known: Type = field(default_factory=AnyType)


@dataclass(frozen=True, slots=True)
class Document:
    """A node with the definitions that its references name."""

    root: Type
    definitions: Mapping[str, Type] = field(default_factory=dict)

    @property
    def parameters(self) -> ObjectType:
        """The object that the root is: the parameters of a tool.

        Raises:
            TypeError: the root is no object.
        """
        root = self.root.known if isinstance(self.root, Opaque) else self.root
        if not isinstance(root, ObjectType):
            raise TypeError("the parameters of a tool must be an object")
        return root


@dataclass(frozen=True, slots=True)
class Constraint:
    """One keyword that narrows a type: the one table that readers, writer and coercers share.

    Attributes:
        keyword: the keyword of JSON Schema.
        attribute: the attribute of the node.
        holds: whether a JSON value keeps to a limit: ``holds(value, limit)``.
        expected: what was expected, with ``{}`` for the limit.
        broken: what is wrong with a value that does not keep to the limit, with ``{}`` for the limit.
    """

    keyword: str
    attribute: str
    holds: Callable[[Any, Any], bool]
    expected: str
    broken: str


def _multiple_of(value: Any, step: Any) -> bool:
    # By exact fractions of the shortest literals, since 0.3 % 0.1 is not 0 in binary.
    if not math.isfinite(value) or not step:
        return False
    return (Fraction(str(value)) / Fraction(str(step))).denominator == 1


# The white space of ECMA 262, written for the inside of a class.
_SPACES: Final = r" \t\n\v\f\r\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_PATTERN_PART: Final = re.compile(r"\\.|\(\?<(?![=!])|.", re.DOTALL)


@functools.lru_cache(maxsize=1024)
def compiled_pattern(pattern: str) -> re.Pattern[str]:
    r"""A pattern of JSON Schema (ECMA 262) compiled for Python, to be used with ``search``.

    There, ``$`` never matches before a final line break, ``\d`` and ``\w`` know ASCII only, and a named group is ``(?<name>...)``.

    >>> bool(compiled_pattern("^a$").search("a\n")), bool(compiled_pattern(r"\d").search("\u0663"))
    (False, False)

    Raises:
        re.error: it is no regular expression, or one that Python has no counterpart for.
    """
    in_class = False
    written: list[str] = []
    for part in _PATTERN_PART.findall(pattern):
        translated = part
        if part == r"\s":
            translated = _SPACES if in_class else f"[{_SPACES}]"
        elif part == r"\S" and not in_class:
            translated = f"[^{_SPACES}]"
        elif in_class:
            in_class = part != "]"
            translated = r"\[" if part == "[" else part
        elif part == "[":
            in_class = True
        elif part == "$":
            translated = r"\Z"
        elif part == "(?<":
            translated = "(?P<"
        written.append(translated)
    return re.compile("".join(written), re.ASCII)


def _matches(text: str, pattern: str) -> bool:
    return compiled_pattern(pattern).search(text) is not None


def _distinct(items: Any, wanted: bool) -> bool:
    return not wanted or len({_identity(item) for item in items}) == len(items)


def _identity(value: Any) -> Any:
    """A key by which JSON values are equal exactly when JSON Schema says so: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, int | float):
        return ("number", value)
    if isinstance(value, list | tuple):
        return ("array", tuple(map(_identity, value)))
    if isinstance(value, dict):
        return ("object", frozenset((key, _identity(item)) for key, item in value.items()))
    try:
        hash(value)
    except TypeError:
        return ("unhashable", id(value))
    return (type(value).__name__, value)


identity: Final = _identity


_NUMBER: Final = (
    Constraint("minimum", "minimum", lambda value, limit: value >= limit, "at least {}", "it is less than {}"),
    Constraint("maximum", "maximum", lambda value, limit: value <= limit, "at most {}", "it is more than {}"),
    Constraint("exclusiveMinimum", "exclusive_minimum", lambda value, limit: value > limit, "more than {}", "it is not more than {}"),
    Constraint("exclusiveMaximum", "exclusive_maximum", lambda value, limit: value < limit, "less than {}", "it is not less than {}"),
    Constraint("multipleOf", "multiple_of", _multiple_of, "a multiple of {}", "it is not a multiple of {}"),
)

CONSTRAINTS: Final[Mapping[type[Type], tuple[Constraint, ...]]] = {
    NumberType: _NUMBER,
    IntegerType: _NUMBER,
    StringType: (
        Constraint(
            "minLength", "min_length", lambda value, limit: len(value) >= limit, "at least {} characters", "it has fewer than {} characters"
        ),
        Constraint(
            "maxLength", "max_length", lambda value, limit: len(value) <= limit, "at most {} characters", "it has more than {} characters"
        ),
        Constraint("pattern", "pattern", _matches, "text that matches {}", "it does not match {}"),
    ),
    ArrayType: (
        Constraint("minItems", "min_items", lambda value, limit: len(value) >= limit, "at least {} items", "it has fewer than {} items"),
        Constraint("maxItems", "max_items", lambda value, limit: len(value) <= limit, "at most {} items", "it has more than {} items"),
        Constraint("uniqueItems", "unique_items", _distinct, "items that all differ", "its items do not all differ"),
    ),
    ObjectType: (
        Constraint(
            "minProperties",
            "min_properties",
            lambda value, limit: len(value) >= limit,
            "at least {} properties",
            "it has fewer than {} properties",
        ),
        Constraint(
            "maxProperties",
            "max_properties",
            lambda value, limit: len(value) <= limit,
            "at most {} properties",
            "it has more than {} properties",
        ),
    ),
}


def children(node: Type) -> Iterator[Type]:
    """The nodes directly below a node."""
    if isinstance(node, ArrayType):
        yield from node.prefix
        yield node.items
    elif isinstance(node, ObjectType):
        for item in node.fields:
            yield item.type
        if node.additional is not None:
            yield node.additional
    elif isinstance(node, UnionType):
        yield from node.members
    elif isinstance(node, Opaque):
        yield node.known


def map_children(node: Type, change: Callable[[Type], Type]) -> Type:
    """The node with every node directly below it changed."""
    if isinstance(node, ArrayType):
        return replace(node, prefix=tuple(map(change, node.prefix)), items=change(node.items))
    if isinstance(node, ObjectType):
        changed = tuple(replace(item, type=change(item.type)) for item in node.fields)
        return replace(node, fields=changed, additional=None if node.additional is None else change(node.additional))
    if isinstance(node, UnionType):
        return replace(node, members=tuple(map(change, node.members)))
    if isinstance(node, Opaque):
        return replace(node, known=change(node.known))
    return node


def refs_in(node: Type) -> Iterator[str]:
    """The names of all references at or below a node, each as often as it stands there."""
    stack = [node]
    while stack:
        found = stack.pop()
        if isinstance(found, Ref):
            yield found.name
        stack.extend(children(found))


def nullable(node: Type) -> bool:
    """Whether null is one of the things that a node plainly accepts."""
    if isinstance(node, NullType | AnyType):
        return True
    if isinstance(node, UnionType):
        return any(map(nullable, node.members))
    return isinstance(node, EnumType) and any(value is None for value in node.values)


_EVERY_KIND: Final = (NullType, BooleanType, NumberType, StringType, ArrayType, ObjectType)
_PLAIN: Final = Type()


def is_untyped(node: Type) -> bool:
    """Whether a node is what a schema with limits but without ``type`` says.

    A keyword of JSON Schema speaks only to values of its own type: ``{"minLength": 2}`` accepts every number. So such a schema is a
    union of all six types, in this order, of which at least one is narrowed.
    """
    return (
        isinstance(node, UnionType)
        and tuple(map(type, node.members)) == _EVERY_KIND
        and not node.one_of
        and node.discriminator is None
        and any(member != type(member)() for member in node.members)
        and all(getattr(member, name) == getattr(_PLAIN, name) for member in node.members for name in DESCRIBING)
    )


def implied(node: Type) -> Type:
    """The one type that a schema without ``type`` plainly means, such as an object where it lists properties; else the node.

    Every other type is accepted too, so this may guide a conversion, and never refuse a value.
    """
    if not isinstance(node, UnionType) or not is_untyped(node):
        return node
    narrowed = [member for member in node.members if member != type(member)()]
    return narrowed[0] if len(narrowed) == 1 else node


DESCRIBING: Final = tuple(item.name for item in fields(Type) if item.compare)
