"""Python annotations -> nodes. Every annotation that can be said in JSON has its reading here; what cannot is a problem with an advice."""

from __future__ import annotations

import collections
import collections.abc
import datetime
import decimal
import enum
import fractions
import ipaddress
import pathlib
import re
import sys
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import typing_extensions

from toolbox.annotations.classes import ClassShape, read_class
from toolbox.annotations.markers import Converter
from toolbox.annotations.metadata import Extras, Problem, expand, refine
from toolbox.json_values import json_value
from toolbox.types import (
    ABSENT,
    AnyType,
    ArrayType,
    BooleanType,
    Document,
    EnumType,
    Field,
    IntegerType,
    NeverType,
    NullType,
    NumberType,
    ObjectType,
    Ref,
    StringType,
    Type,
    UnionType,
    map_children,
    refs_in,
)

__all__ = ["UNPACK", "AnnotationReader", "Problem", "as_nullable"]


def _identity(value: Any) -> Any:
    return value


def _text(kind: type, name: str) -> StringType:
    return StringType(format=name, construct=_identity, instance=kind)


_IP_CLASSES: Final[dict[type, str]] = {
    ipaddress.IPv4Address: "ipv4",
    ipaddress.IPv6Address: "ipv6",
    ipaddress.IPv4Network: "ipv4network",
    ipaddress.IPv6Network: "ipv6network",
    ipaddress.IPv4Interface: "ipv4interface",
    ipaddress.IPv6Interface: "ipv6interface",
}

_SCALARS: Final[Mapping[Any, Type]] = {
    None: NullType(),
    types.NoneType: NullType(),
    Any: AnyType(),
    typing_extensions.Any: AnyType(),
    object: AnyType(),
    bool: BooleanType(),
    int: IntegerType(),
    float: NumberType(as_float=True),
    str: StringType(),
    typing.LiteralString: StringType(),
    typing_extensions.LiteralString: StringType(),
    bytes: StringType(encoding="base64", construct=_identity, instance=bytes),
    bytearray: StringType(encoding="base64", construct=bytearray, instance=bytearray),
    decimal.Decimal: NumberType(decimal=True, construct=_identity),
    fractions.Fraction: NumberType(decimal=True, construct=fractions.Fraction, instance=fractions.Fraction),
    datetime.datetime: _text(datetime.datetime, "date-time"),
    datetime.date: _text(datetime.date, "date"),
    datetime.time: _text(datetime.time, "time"),
    datetime.timedelta: _text(datetime.timedelta, "duration"),
    uuid.UUID: _text(uuid.UUID, "uuid"),
    re.Pattern: _text(re.Pattern, "regex"),
    re.Pattern[str]: _text(re.Pattern, "regex"),
    typing.Pattern: _text(re.Pattern, "regex"),
    typing.Pattern[str]: _text(re.Pattern, "regex"),
    **{kind: _text(kind, name) for kind, name in _IP_CLASSES.items()},
    **{
        kind: StringType(format="path", construct=kind, instance=pathlib.PurePath)
        for kind in (pathlib.Path, pathlib.PurePath, pathlib.PosixPath, pathlib.PurePosixPath, pathlib.PureWindowsPath)
    },
}

# No instance of them is left as it is: its items have to be looked at.
# Generic container -> (what it becomes in Python; None leaves a list or dict as it is, whether items are unique).
_ARRAYS: Final[Mapping[Any, tuple[Callable[[Any], Any] | None, bool]]] = {
    list: (None, False),
    collections.abc.Sequence: (None, False),
    collections.abc.MutableSequence: (None, False),
    collections.abc.Collection: (None, False),
    collections.abc.Iterable: (None, False),
    collections.abc.Container: (None, False),
    collections.abc.Reversible: (None, False),
    collections.abc.Iterator: (iter, False),
    collections.deque: (collections.deque, False),
    set: (set, True),
    collections.abc.Set: (set, True),
    collections.abc.MutableSet: (set, True),
    frozenset: (frozenset, True),
}
_OBJECTS: Final[Mapping[Any, Callable[[Any], Any] | None]] = {
    dict: None,
    collections.abc.Mapping: None,
    collections.abc.MutableMapping: None,
    collections.OrderedDict: collections.OrderedDict,
    collections.defaultdict: lambda items: collections.defaultdict(None, items),
    collections.Counter: collections.Counter,
}
_UNWRAPPED: Final = frozenset(
    {
        typing.Final,
        typing.ClassVar,
        typing_extensions.Required,
        typing_extensions.NotRequired,
        typing_extensions.ReadOnly,
        typing.Required,
        typing.NotRequired,
    }
)
_BARE_TUPLES: Final = (tuple, typing.Tuple)  # noqa: UP006 - the old spelling without items is no tuple of no items
UNPACK: Final = (typing.Unpack, typing_extensions.Unpack)
_NAME_PARTS: Final = re.compile(r"\W+")


class AnnotationReader:
    """Reads the annotations of one tool, and collects the definitions that its nodes refer to.

    Args:
        converters: how classes are made that are not known here.
    """

    def __init__(self, converters: Mapping[type, Converter] | None = None) -> None:
        self.converters = dict(converters or {})
        self.definitions: dict[str, Type] = {}
        self._names: dict[Any, str] = {}
        self._variables: list[Mapping[Any, Any]] = []
        self._hidden = False
        self._hidden_names: set[str] = set()

    # -- from outside ------------------------------------------------------------------------------------------------------------

    def read(self, annotation: Any) -> Type:
        """The node of an annotation.

        Raises:
            Problem: it cannot be read.
        """
        node, extras = self.read_with_extras(annotation)
        if extras.injected:
            raise Problem("Injected[...] is for parameters of a tool, not for fields or items")
        if extras.aliases or extras.policy is not None:
            raise Problem("an alias or a policy is for the whole parameter or field: write it around the whole, Annotated[..., Param(...)]")
        self._hidden = self._hidden or extras.secret
        return node

    def read_with_extras(self, annotation: Any) -> tuple[Type, Extras]:
        """The node of an annotation, and what its metadata says about the parameter.

        Raises:
            Problem: it cannot be read.
        """
        outside, self._hidden = self._hidden, False
        try:
            node, extras = self._read_refined(annotation)
            # What is secret inside makes the whole secret.
            extras.secret = extras.secret or self._hidden
            return node, extras
        finally:
            self._hidden = outside

    def _read_refined(self, annotation: Any) -> tuple[Type, Extras]:
        extras = Extras()
        if typing_extensions.get_origin(annotation) is typing_extensions.Annotated:
            metadata = expand(annotation.__metadata__)
            if any(type(item).__name__ == "InjectedMarker" for item in metadata):
                extras.injected = True
                return AnyType(), extras
            node, inner = self.read_with_extras(annotation.__origin__)
            extras = inner
            node = self.refined(node, metadata, extras)
            if extras.external:
                node = _validated_by_pydantic(node, annotation)
            return node, extras
        if typing_extensions.get_origin(annotation) in _UNWRAPPED:
            return self.read_with_extras(annotation.__args__[0])
        return self._read(annotation), extras

    def refined(self, node: Type, metadata: Iterable[Any], extras: Extras) -> Type:
        """The node refined by metadata in order; what that says about the parameter goes into `extras`.

        Raises:
            Problem: the metadata does not fit the node.
        """
        for item in metadata:
            node = refine(node if isinstance(item, str) else self._in_place(node), item, extras)
        return node

    def _in_place(self, node: Type, seen: frozenset[str] = frozenset()) -> Type:
        """The node with definitions in the place of their references, where limits could be put on them: enums and aliases, not classes."""
        if isinstance(node, UnionType):
            return map_children(node, lambda item: self._in_place(item, seen))
        known = self.definitions.get(node.name) if isinstance(node, Ref) and node.name not in seen else None
        if not isinstance(node, Ref) or known is None or (isinstance(known, ObjectType) and known.fields):
            return node
        return described_like(self._in_place(known, seen | {node.name}), node)

    def document(self, root: Type) -> Document:
        """The node with its definitions; a definition that is used once and does not recur stands in its place."""
        return _inlined(root, self.definitions)

    # -- one reading a kind ------------------------------------------------------------------------------------------------------

    def _read(self, annotation: Any) -> Type:
        for read in (self._read_scalar, self._read_special, self._read_container, self._read_named):
            node = read(annotation)
            if node is not None:
                return node
        raise Problem(_advice(annotation))

    def _read_scalar(self, annotation: Any) -> Type | None:
        try:
            found = _SCALARS.get(annotation)
        except TypeError:  # an unhashable annotation, such as a list of types
            return None
        if found is not None and isinstance(annotation, type) and annotation in self.converters:
            return None
        return found

    def _read_special(self, annotation: Any) -> Type | None:
        if isinstance(annotation, typing.TypeVar):
            return self._read_variable(annotation)
        if isinstance(annotation, typing.NewType):
            return self.read(annotation.__supertype__)
        if isinstance(annotation, str | typing.ForwardRef):
            name = annotation if isinstance(annotation, str) else annotation.__forward_arg__
            raise Problem(f"the name {name!r} in its annotation cannot be resolved: define it at module level, above the tool")
        origin = typing_extensions.get_origin(annotation)
        if origin in (typing.Literal, typing_extensions.Literal):
            return _read_literal(typing_extensions.get_args(annotation))
        if origin in (typing.Union, types.UnionType):
            return self._read_union(typing_extensions.get_args(annotation))
        alias = annotation if _is_alias(annotation) else origin
        if _is_alias(alias):
            return self._read_alias(annotation, alias)
        return None

    def _read_variable(self, variable: Any) -> Type:
        for scope in reversed(self._variables):
            if variable in scope:
                return self.read(scope[variable])
        if variable.__constraints__:
            return self._read_union(variable.__constraints__)
        return self.read(variable.__bound__) if variable.__bound__ is not None else AnyType()

    def _read_union(self, members: tuple[Any, ...]) -> Type:
        nodes: list[Type] = []
        for member in members:
            node = self.read(member)
            flat = node.members if isinstance(node, UnionType) and node.discriminator is None and node.construct is None else (node,)
            for item in flat:
                if not any(_same(item, kept) for kept in nodes):
                    nodes.append(item)
        if any(isinstance(item, AnyType) for item in nodes):
            return AnyType()
        nodes = self._with_open_enum(nodes)
        return nodes[0] if len(nodes) == 1 else UnionType(members=tuple(nodes))

    def _with_open_enum(self, nodes: list[Type]) -> list[Type]:
        """``Literal["a"] | str`` is an open enum, and so is ``Colour | str`` of an Enum class."""
        enums = {place: found for place, item in enumerate(nodes) if (found := self._enum(item)) is not None}
        plain = [item for item in nodes if item == StringType() and item.construct is None]
        if len(enums) != 1 or not plain or any(found.open for found in enums.values()):
            return nodes
        return [replace(enums[place], open=True) if place in enums else item for place, item in enumerate(nodes) if item not in plain]

    def _enum(self, node: Type) -> EnumType | None:
        found = self.definitions.get(node.name) if isinstance(node, Ref) else node
        return found if isinstance(found, EnumType) else None

    def _read_alias(self, annotation: Any, alias: Any) -> Type:
        arguments = typing_extensions.get_args(annotation)
        parameters = getattr(alias, "__type_params__", ())
        return self._defined(
            annotation, alias.__name__, lambda: self._within(dict(zip(parameters, arguments, strict=False)), _alias_value(alias))
        )

    def _within(self, variables: Mapping[Any, Any], annotation: Any) -> Type:
        self._variables.append(variables)
        try:
            return self.read(annotation)
        finally:
            self._variables.pop()

    def _read_container(self, annotation: Any) -> Type | None:
        origin = typing_extensions.get_origin(annotation) or annotation
        arguments = typing_extensions.get_args(annotation)
        try:
            known = origin in _ARRAYS, origin in _OBJECTS
        except TypeError:
            return None
        if origin is tuple:
            return self._read_tuple(annotation, arguments)
        if known[0]:
            construct, unique = _ARRAYS[origin]
            items = self.read(arguments[0]) if arguments else AnyType()
            return ArrayType(items=items, unique_items=unique, construct=construct)
        if known[1]:
            return self._read_mapping(origin, arguments)
        return None

    def _read_tuple(self, annotation: Any, arguments: tuple[Any, ...]) -> Type:
        if len(arguments) == 2 and arguments[1] is ...:
            return ArrayType(items=self.read(arguments[0]), construct=tuple)
        if not arguments and annotation in _BARE_TUPLES:
            return ArrayType(construct=tuple)
        if any(typing_extensions.get_origin(item) in UNPACK or getattr(item, "__unpacked__", False) for item in arguments):
            raise Problem("a tuple with an unpacked part cannot be said in JSON Schema: write tuple[T, ...] or name each item")
        prefix = tuple(self.read(item) for item in arguments)
        return ArrayType(prefix=prefix, min_items=len(prefix), max_items=len(prefix), construct=tuple)

    def _read_mapping(self, origin: Any, arguments: tuple[Any, ...]) -> Type:
        construct = _OBJECTS[origin]
        if origin is collections.Counter:
            arguments = (arguments[0], int) if arguments else (str, int)
        if not arguments:
            return ObjectType(additional=AnyType(), construct=construct)
        key, value = self._key(self.read(arguments[0])), self.read(arguments[1])
        plain = isinstance(key, AnyType) or key == StringType()
        if not plain and not isinstance(key, StringType | EnumType | IntegerType | NumberType | BooleanType | UnionType):
            raise Problem(f"keys of JSON objects are text, and {_shown(arguments[0])} cannot be made of text: use str keys")
        return ObjectType(additional=value, keys=None if plain else key, construct=construct)

    def _key(self, node: Type) -> Type:
        """The node of a key with what it refers to in its place: a schema does not show keys, so nothing else would keep the definition."""
        if isinstance(node, Ref):
            known = self.definitions.get(node.name)
            return node if known is None else self._key(known)
        return map_children(node, self._key) if isinstance(node, UnionType) else node

    def _read_named(self, annotation: Any) -> Type | None:
        origin = typing_extensions.get_origin(annotation) or annotation
        if not isinstance(origin, type):
            # NewType-like callables of older libraries
            return None
        if origin in self.converters:
            converter = self.converters[origin]
            return _converted(self.read(converter.source), converter, origin)
        if issubclass(origin, enum.Enum):
            return self._defined(origin, origin.__name__, lambda: _read_enum(origin))
        shape = read_class(annotation, origin)
        if shape is not None:
            return self._defined(annotation, _class_name(annotation), lambda: self._read_shape(shape))
        if hasattr(origin, "__get_pydantic_core_schema__"):
            node, hidden = _read_by_pydantic(annotation)
            self._hidden = self._hidden or hidden
            return node
        for base in (bool, int, float, str):
            if issubclass(origin, base):
                return replace(_SCALARS[base], construct=origin, instance=origin)
        return None

    def _defined(self, key: Any, name: str, build: Callable[[], Type]) -> Type:
        known = self._names.get(key)
        if known is not None:
            self._hidden = self._hidden or known in self._hidden_names
            return Ref(name=known)
        unique, number = name, 2
        while unique in self.definitions or unique in self._names.values():
            unique, number = f"{name}_{number}", number + 1
        self._names[key] = unique
        outside, self._hidden = self._hidden, False
        try:
            self.definitions[unique] = build()
            if self._hidden:
                self._hidden_names.add(unique)
        except Problem:
            del self._names[key]
            raise
        finally:
            self._hidden = self._hidden or outside
        return Ref(name=unique)

    def _read_shape(self, shape: ClassShape) -> Type:
        self._variables.append(shape.variables)
        try:
            if shape.root is not None:
                return replace(self.read(shape.root), construct=shape.construct, instance=shape.instance)
            return ObjectType(
                fields=tuple(self._read_field(shape, item) for item in shape.members),
                additional=NeverType() if shape.additional is None else self.read(shape.additional),
                description=shape.description,
                construct=shape.construct,
                instance=shape.instance,
            )
        finally:
            self._variables.pop()

    def _read_field(self, shape: ClassShape, member: Any) -> Field:
        try:
            node, extras = self.read_with_extras(member.annotation)
        except Problem as problem:
            raise Problem(f"field {member.name!r} of {shape.name}: {problem}") from None
        node = self.refined(node, expand(member.metadata), extras)
        if extras.injected:
            raise Problem(f"field {member.name!r} of {shape.name}: Injected[...] is for parameters of a tool")
        if node.description is None and member.description:
            node = replace(node, description=member.description)
        fallback = member.fallback
        if fallback is not None and not member.required:
            node = _with_default(node, fallback, member.constant)
        aliases = tuple(dict.fromkeys(name for name in (*member.aliases, *extras.aliases) if name != member.name))
        return Field(
            name=member.name,
            type=node,
            required=member.required,
            aliases=aliases,
            target=member.target,
            fallback=fallback,
            secret=extras.secret,
            policy=extras.policy,
        )


def _with_default(node: Type, fallback: Callable[[], Any], constant: bool) -> Type:
    if not constant:
        return node
    value = fallback()
    if value is None:
        node = as_nullable(node)
    return replace(node, default=json_value(value))


def as_nullable(node: Type) -> Type:
    """The node, accepting null too: what a default of None says about a parameter."""
    if isinstance(node, NullType | AnyType) or (isinstance(node, EnumType) and None in node.values):
        return node
    if isinstance(node, UnionType):
        return node if any(isinstance(item, NullType) for item in node.members) else replace(node, members=(*node.members, NullType()))
    return UnionType(
        members=(replace(node, title=None, description=None, examples=(), default=ABSENT, deprecated=False), NullType()),
        title=node.title,
        description=node.description,
        examples=node.examples,
        default=node.default,
        deprecated=node.deprecated,
    )


def _same(left: Type, right: Type) -> bool:
    return type(left) is type(right) and left == right and left.construct is right.construct and left.instance is right.instance


def _read_literal(values: tuple[Any, ...]) -> Type:
    # Keyed by type and value, because True == 1.
    kept: dict[tuple[type, Any], Any] = {}
    for value in values:
        plain = value.value if isinstance(value, enum.Enum) else value
        if not isinstance(plain, str | int | bool | types.NoneType):
            raise Problem(f"Literal[{value!r}] cannot be said in JSON: use text, numbers, booleans or None")
        kept.setdefault((type(plain), plain), value)
    if list(kept) == [(types.NoneType, None)]:
        return NullType()
    return EnumType(values=tuple(plain for _, plain in kept), members=tuple(kept.values()))


def _read_enum(kind: type[enum.Enum]) -> Type:
    members = list(kind)
    if not members:
        raise Problem(f"the enum {kind.__name__} has no members")
    values = [json_value(member.value) for member in members]
    if any(value is ABSENT for value in values):
        values = [member.name for member in members]
    others = {name: values[members.index(member)] for name, member in kind.__members__.items() if name != member.name}
    return EnumType(
        values=tuple(values),
        members=tuple(members),
        names=tuple(member.name for member in members),
        aliases=others or None,
        instance=kind,
    )


def _is_alias(annotation: Any) -> bool:
    return type(annotation).__name__ == "TypeAliasType" and hasattr(annotation, "__value__")


def _alias_value(alias: Any) -> Any:
    """What an alias stands for, with the names in it resolved: its own, since it may be recursive, and those of its module."""
    holder = types.SimpleNamespace(__annotations__={"value": alias.__value__})
    known = getattr(sys.modules.get(alias.__module__), "__dict__", {})
    names = {item.__name__: item for item in (alias, *getattr(alias, "__type_params__", ()))}
    try:
        return typing_extensions.get_type_hints(holder, known, names, include_extras=True)["value"]
    except (NameError, SyntaxError, TypeError):
        return alias.__value__  # the reader names what cannot be resolved, with an advice


def _class_name(annotation: Any) -> str:
    if isinstance(annotation, type):
        return annotation.__name__
    return _NAME_PARTS.sub("_", _shown(annotation)).strip("_")


def _shown(annotation: Any) -> str:
    if isinstance(annotation, type) and not typing_extensions.get_args(annotation):
        return annotation.__name__
    arguments = typing_extensions.get_args(annotation)
    origin = typing_extensions.get_origin(annotation)
    if arguments and isinstance(origin, type):
        return f"{origin.__name__}[{', '.join(map(_shown, arguments))}]"
    return str(annotation).replace("typing.", "")


def _converted(node: Type, converter: Converter, kind: type) -> Type:
    before = node.construct

    def convert(value: Any) -> Any:
        return converter.convert(value if before is None else before(value))

    return replace(node, construct=convert, instance=kind)


def _validated_by_pydantic(node: Type, annotation: Any) -> Type:
    """The node, whose Python value goes through the validators that stand in the annotation."""
    from pydantic import TypeAdapter

    validate = TypeAdapter(annotation).validate_python
    before = node.construct
    return replace(node, construct=lambda value: validate(value if before is None else before(value)))


def _read_by_pydantic(annotation: Any) -> tuple[Type, bool]:
    """A class that only pydantic knows (an e-mail address, a URL, a secret): its schema and its validator do the work.

    Returns:
        its node, and whether its values are secret: pydantic says so with ``writeOnly``.
    """
    from pydantic import TypeAdapter

    from toolbox.schema import read_schema

    adapter = TypeAdapter(annotation)
    schema = adapter.json_schema()
    document = read_schema(schema)
    if document.definitions:
        raise Problem(f"{_shown(annotation)} has a schema with references: use a model instead")
    instance = annotation if isinstance(annotation, type) else None
    return replace(document.root, title=None, construct=adapter.validate_python, instance=instance), schema.get("writeOnly") is True


def _advice(annotation: Any) -> str:
    shown = _shown(annotation)
    return (
        f"{shown} cannot be made from JSON: use a dataclass, TypedDict, Enum or plain type, register a converter for it, "
        f"or write Injected[{shown}] when it comes from the application"
    )


def _inlined(root: Type, definitions: Mapping[str, Type]) -> Document:
    counts: collections.Counter[str] = collections.Counter(refs_in(root))
    pending, reached = list(counts), set(counts)
    while pending:
        for name in refs_in(definitions[pending.pop()]):
            counts[name] += 1
            if name not in reached:
                reached.add(name)
                pending.append(name)
    recursive = {name for name in reached if _reaches(name, name, definitions)}
    kept = {name for name in reached if counts[name] > 1 or name in recursive}

    def place(node: Type) -> Type:
        if isinstance(node, Ref) and node.name not in kept:
            return described_like(place(definitions[node.name]), node)
        return map_children(node, place)

    return Document(place(root), {name: map_children(definitions[name], place) for name in definitions if name in kept})


def described_like(node: Type, reference: Ref) -> Type:
    """The node with what was said at the place of the reference."""
    said: dict[str, Any] = {}
    if reference.title is not None:
        said["title"] = reference.title
    if reference.description is not None:
        said["description"] = reference.description
    if reference.examples:
        said["examples"] = reference.examples
    if reference.deprecated:
        said["deprecated"] = True
    if reference.default is not ABSENT:
        said["default"] = reference.default
    if reference.construct is not None:
        before, after = node.construct, reference.construct
        said["construct"] = after if before is None else (lambda value: after(before(value)))
    return replace(node, **said) if said else node


def _reaches(start: str, target: str, definitions: Mapping[str, Type]) -> bool:
    pending, seen = [start], set()
    while pending:
        for name in refs_in(definitions[pending.pop()]):
            if name == target:
                return True
            if name not in seen:
                seen.add(name)
                pending.append(name)
    return False
