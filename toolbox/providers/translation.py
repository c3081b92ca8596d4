"""A document made over into what a provider's dialect of JSON Schema can say.

The work is done on nodes: the result is a document again, which a plain writer then writes. What the dialect cannot say is moved into the
description of the node that it stood on, where the model reads it, and is put on the list of losses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolbox.providers.dialects import EXACT, Dialect, Recursion, Refs
from toolbox.providers.parameters import all_nodes, alternatives, property_names, resolved, root_object, takes_null
from toolbox.providers.records import Loss, UnsupportedTool
from toolbox.providers.shared import NameRule, legal_names
from toolbox.providers.wording import described, type_text, value_text
from toolbox.schema.places import refs_in_schema
from toolbox.schema.writing import definition_names, json_type, write_schema
from toolbox.types import (
    ABSENT,
    CONSTRAINTS,
    DESCRIBING,
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
    Opaque,
    Ref,
    StringType,
    Type,
    UnionType,
    children,
    is_untyped,
    nullable,
    refs_in,
)

__all__ = ["Translation"]

_PLAIN: Final = Type()
_PLAIN_KEY: Final = re.compile(r"[^\W\d]\w*\Z")
_DEFINITION: Final = NameRule(re.compile(r"[^a-zA-Z0-9_-]"), 64)
_LOOKAROUND: Final = re.compile(r"\(\?(?:[=!]|<[=!])")
_UNROLLED: Final = 2
"""How often a definition is written inside itself before it is cut."""
_MOST_NODES: Final = 2_000
"""Nodes after which definitions are no longer written in place: mutual references grow fast."""
_OPAQUE_SHOWN: Final = 300
_EXACT: Final = 2**53


def _says_object(node: Opaque) -> bool:
    """Whether the schema itself names the type that the root of a tool must have."""
    return isinstance(node.schema, dict) and node.schema.get("type") == "object"


def _cyclic(definitions: Mapping[str, Type]) -> frozenset[str]:
    """The names of the definitions that hold themselves."""
    direct = {name: {ref for ref in refs_in(node) if ref in definitions} for name, node in definitions.items()}
    cyclic = set()
    for name in definitions:
        seen: set[str] = set()
        waiting = list(direct[name])
        while waiting:
            found = waiting.pop()
            if found not in seen:
                seen.add(found)
                waiting.extend(direct[found])
        if name in seen:
            cyclic.add(name)
    return frozenset(cyclic)


def _over(node: Type, other: Type) -> Type:
    """A node with the texts of the node around it, which come first."""
    taken = {name: getattr(other, name) for name in DESCRIBING if getattr(other, name) != getattr(_PLAIN, name)}
    if node.description and other.description and node.description != other.description:
        taken["description"] = f"{other.description} {node.description}"
    return replace(node, **taken) if taken else node


def _bare(node: Type) -> Type:
    return replace(node, title=None, description=None, deprecated=False, examples=(), default=ABSENT)


def _has_texts(node: Type) -> bool:
    return any(getattr(node, name) != getattr(_PLAIN, name) for name in DESCRIBING)


@dataclass(slots=True)
class Translation:
    """One tool's document on its way into a dialect.

    Attributes:
        tool: name of the tool, for reports.
        source: the document.
        dialect: what it has to become.
        losses: what could not be said.
        root_notes: what the description of the tool itself has to say.
    """

    tool: str
    source: Document
    dialect: Dialect
    losses: list[Loss] = field(default_factory=list)
    root_notes: list[str] = field(default_factory=list)
    _cyclic: frozenset[str] = frozenset()
    _names: dict[str, str] = field(default_factory=dict)
    _properties: dict[str, str] = field(default_factory=dict)
    _made: dict[str, Type] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _size: int = 0
    _loosened: bool = False

    def document(self) -> Document:
        """The document in the dialect.

        Raises:
            UnsupportedTool: the dialect cannot say it even roughly.
        """
        root = self.source.root
        if self.dialect == EXACT and (isinstance(root, ObjectType) or (isinstance(root, Opaque) and _says_object(root))):
            return self.source
        self._cyclic = _cyclic(self.source.definitions)
        self._names = self._definition_names()
        self._properties = property_names(self.source, self.dialect.properties)
        made = self._root()
        if self._loosened:
            self._lose("$", "additionalProperties: false", "cannot be said; the policy decides about other keys when the call arrives")
        return Document(made, {self._names[name]: node for name, node in self._made.items()})

    def _definition_names(self) -> dict[str, str]:
        """Names of definitions that can stand in a reference as they are; those that other keywords refer to stay."""
        definitions = self.source.definitions
        held: set[str] = set()
        if self.dialect.opaque:
            for node in all_nodes(self.source):
                if isinstance(node, Opaque):
                    held.update(definition_names(node.schema))
        return {**legal_names(definitions, _DEFINITION), **{name: name for name in held if name in definitions}}

    def _lose(self, path: str, what: str, why: str) -> None:
        self.losses.append(Loss(self.tool, path, what, why))

    def _refuse(self, path: str, reason: str) -> UnsupportedTool:
        return UnsupportedTool(self.tool, self.dialect.title, path, reason)

    # -- the root ----------------------------------------------------------------------------------------------------------------

    def _root(self) -> Type:
        found = self.source.root
        if isinstance(found, Opaque) and self.dialect.opaque and isinstance(found.known, ObjectType):
            extra = self._extra(found)
            self._lose("$", ", ".join(extra), "must not stand at the root; moved into the description of the tool")
            self.root_notes.append(f"the arguments must also match {_short(extra)}")
        elif isinstance(found, Opaque):
            self.root_notes.append(f"the arguments must also match {_short(self._extra(found))}")
            self._lose("$", ", ".join(self._extra(found)), "cannot be said; moved into the description of the tool")
        known = resolved(found, self.source)
        if isinstance(known, UnionType):
            self._lose("$", "alternatives at the root", "the root must be one object: the parameters of all are listed")
            members = tuple(alternatives(known, self.source))
            self.root_notes.append(f"the arguments are one of: {type_text(UnionType(members=members))}")
        return self._object(root_object(self.source), "$", [])

    # -- any node ----------------------------------------------------------------------------------------------------------------

    def _node(self, node: Type, path: str, notes: Sequence[str] = ()) -> Type:
        self._size += 1
        said = list(notes)
        match node:
            case AnyType():
                return self._any(node, path, said)
            case NeverType():
                return self._never(node, path, said)
            case StringType():
                return self._string(node, path, said)
            case EnumType():
                return self._enum(node, path, said)
            case ArrayType():
                return self._array(node, path, said)
            case ObjectType():
                return self._object(node, path, said)
            case UnionType():
                return self._union(node, path, said)
            case Ref():
                return self._ref(node, path, said)
            case Opaque():
                return self._opaque(node, path, said)
        return self._simple(node, path, said)

    def _finished(self, node: Type, made: Type, path: str, notes: list[str]) -> Type:
        """What was made of a node, with the node's texts, as far as the dialect takes them."""
        dialect = self.dialect
        default, examples, deprecated, title, description = node.default, node.examples, node.deprecated, node.title, node.description
        if isinstance(node, NumberType) and isinstance(default, str):
            default = _number(default)  # a Decimal's default is kept as text, which a provider may hold against the type
        if default is not ABSENT and not dialect.defaults:
            if default is not None:
                notes.append(f"default: {value_text(default)}")
                self._lose(path, "default", "not taken; moved into the description")
            default = ABSENT
        if examples and not dialect.examples:
            notes.append(f"for example {', '.join(map(value_text, examples))}")
            self._lose(path, "examples", "not taken; moved into the description")
            examples = ()
        if deprecated and not dialect.deprecated:
            notes.append("deprecated")
            self._lose(path, "deprecated", "not taken; moved into the description")
            deprecated = False
        if title is not None and not dialect.titles:
            self._lose(path, "title", "not taken; stands in the description where there was none")
            description, title = description or title, None
        texts: dict[str, Any] = {"default": default, "examples": examples, "deprecated": deprecated, "title": title}
        return replace(made, description=described(description, notes), construct=None, instance=None, **texts)

    def _limits(self, node: Type, path: str, notes: list[str]) -> dict[str, Any]:
        """The limits that have to go, for `replace`."""
        gone: dict[str, Any] = {}
        for constraint in CONSTRAINTS.get(type(node), ()):
            limit = getattr(node, constraint.attribute)
            if limit is None or limit is False or self._takes(constraint.keyword, limit):
                continue
            gone[constraint.attribute] = False if limit is True else None
            notes.append(constraint.expected.format(limit if constraint.keyword == "pattern" else value_text(limit)))
            self._lose(path, constraint.keyword, "not taken; moved into the description")
        return gone

    def _takes(self, keyword: str, limit: Any) -> bool:
        if keyword not in self.dialect.keywords:
            return False
        if keyword == "minItems" and self.dialect.most_min_items is not None:
            return bool(limit <= self.dialect.most_min_items)
        return not (keyword == "pattern" and not self.dialect.lookaround and _LOOKAROUND.search(limit))

    # -- simple kinds ------------------------------------------------------------------------------------------------------------

    def _simple(self, node: Type, path: str, notes: list[str]) -> Type:
        gone = self._limits(node, path, notes)
        if isinstance(node, NumberType) and node.decimal:
            gone["decimal"] = False
            self._lose(path, "decimal text", "a number says it more simply; text is still taken when the call arrives")
        return self._finished(node, replace(node, **gone) if gone else node, path, notes)

    def _string(self, node: StringType, path: str, notes: list[str]) -> Type:
        gone: dict[str, Any] = {}
        if node.format is not None and self.dialect.formats is not None and node.format not in self.dialect.formats:
            gone["format"] = None
            notes.append(f"format: {node.format}")
            self._lose(path, f"format {node.format}", "not taken; moved into the description")
        if node.encoding is not None and not self.dialect.encodings:
            gone["encoding"] = None
            notes.append(f"encoded as {node.encoding}")
            self._lose(path, f"contentEncoding {node.encoding}", "not taken; moved into the description")
        gone |= self._limits(node, path, notes)
        return self._finished(node, replace(node, **gone) if gone else node, path, notes)

    def _any(self, node: AnyType, path: str, notes: list[str]) -> Type:
        if self.dialect.untyped:
            return self._finished(node, node, path, notes)
        if self.dialect.anything is None:
            raise self._refuse(path, "a value of any type, and every value needs a declared type")
        self._lose(path, "any type", f"every value needs a type; written as {type_text(self.dialect.anything)}")
        return self._combined(node, self.dialect.anything.members, path, notes)

    def _never(self, node: NeverType, path: str, notes: list[str]) -> Type:
        if self.dialect.closed:
            raise self._refuse(path, "nothing is accepted here, which cannot be said")
        if self.dialect.opaque:
            return self._finished(node, node, path, notes)
        self._lose(path, "a schema that accepts nothing", "cannot be said; moved into the description")
        return self._node(_over(AnyType(), node), path, [*notes, "nothing is accepted here"])

    # -- choices -----------------------------------------------------------------------------------------------------------------

    def _enum(self, node: EnumType, path: str, notes: list[str]) -> Type:
        dialect = self.dialect
        closed = EnumType(values=node.values)
        if not (dialect.only_text_choices or dialect.one_type_choices):
            return self._finished(node, replace(closed, open=node.open), path, notes)
        groups: dict[str | None, list[Any]] = {}
        for value in node.values:
            groups.setdefault(json_type([value]), []).append(value)
        if set(groups) == {"integer", "number"}:
            groups = {"number": list(node.values)}
        members: list[Type] = []
        for name, values in groups.items():
            inner: list[str] = []
            members.append(self._choices_of(name, values, path, inner))
            if inner:
                members[-1] = replace(members[-1], description=described(None, inner))
        if node.open and dialect.only_text_choices:
            notes.append(f"usual values: {type_text(EnumType(values=node.values))}")
            self._lose(path, "open choices", "an enum is closed; the usual values stand in the description")
            members = [member for member in members if not _is_text(member)]
        if node.open:
            members.append(StringType())
        return self._combined(node, members, path, notes)

    def _choices_of(self, name: str | None, values: list[Any], path: str, notes: list[str]) -> Type:
        if name == "null":
            return NullType()
        if not self.dialect.only_text_choices:
            return EnumType(values=tuple(values))
        # Gemini refuses an enum with an empty text in it, so such choices are only told.
        if name == "string" and "" not in values:
            return EnumType(values=tuple(values))
        if name != "boolean" or len(values) == 1:
            notes.append(f"one of {', '.join(map(value_text, values))}" if len(values) > 1 else f"only {value_text(values[0])}")
            self._lose(path, "enum", "only texts can be choices; the values stand in the description")
        return self._node(_KINDS.get(name or "", AnyType()), path)

    # -- arrays ------------------------------------------------------------------------------------------------------------------

    def _array(self, node: ArrayType, path: str, notes: list[str]) -> Type:
        if node.prefix and isinstance(node.items, NeverType) and not self.dialect.prefixes:
            most = len(node.prefix) if node.max_items is None else min(node.max_items, len(node.prefix))
            node = replace(node, items=AnyType(), max_items=most)
        gone = self._limits(node, path, notes)
        if node.prefix and not self.dialect.prefixes:
            kinds = [self._node(item, f"{path}[{index}]") for index, item in enumerate(node.prefix)]
            if not (node.max_items is not None and node.max_items <= len(node.prefix)):
                kinds.append(self._node(node.items, f"{path}[*]"))
            bare = list(dict.fromkeys(type_text(kind) for kind in node.prefix))
            if len(bare) > 1 or any(kind.description for kind in kinds):
                parts = [f"{type_text(item)}{f' ({item.description})' if item.description else ''}" for item in node.prefix]
                notes.append(f"in this order: {', '.join(parts)}")
            self._lose(path, "prefixItems", "not taken; every item may be of any of the types, and their order stands in the description")
            items = self._combined(UnionType(members=()), [_bare(kind) for kind in kinds], f"{path}[*]", [])
            return self._finished(node, replace(node, prefix=(), items=items, **gone), path, notes)
        if isinstance(node.items, NeverType) and not self.dialect.opaque:
            return self._finished(node, replace(node, items=StringType(), **{**gone, "max_items": 0}), path, notes)
        prefix = tuple(self._node(item, f"{path}[{index}]") for index, item in enumerate(node.prefix))
        return self._finished(node, replace(node, prefix=prefix, items=self._items(node, path), **gone), path, notes)

    def _items(self, node: ArrayType, path: str) -> Type:
        if node.prefix and node.items == AnyType():
            return node.items
        return self._node(node.items, f"{path}[*]")

    # -- objects -----------------------------------------------------------------------------------------------------------------

    def _object(self, node: ObjectType, path: str, notes: list[str]) -> Type:
        gone = self._limits(node, path, notes)
        additional = self._additional(node, path, notes)
        names = self._properties
        fields = []
        for item in node.fields:
            below = f"{path}.{item.name}" if _PLAIN_KEY.match(item.name) else f"{path}[{item.name!r}]"
            if isinstance(item.type, NeverType) and not self.dialect.opaque:
                self._lose(below, "a parameter that accepts nothing", "cannot be said; left out")
                continue
            if names[item.name] != item.name:
                self._lose(below, "name", f"not allowed; written as {names[item.name]!r}, and read back")
            fields.append(self._field(item, names[item.name], below, top=path == "$"))
        made = replace(node, fields=tuple(fields), additional=additional, keys=None, **gone)
        if path == "$":
            self.root_notes += notes
            notes = []
        return self._finished(node, made, path, notes)

    def _field(self, item: Field, name: str, path: str, *, top: bool) -> Field:
        notes: list[str] = []
        if self.dialect.complete and not item.required and not takes_null(item.type, self.source):
            notes.append("null means not given")
            self._lose(path, "optional", "every parameter has to be sent; null means not given")
        elif self.dialect.complete and not item.required and item.type.default not in (ABSENT, None):
            self._lose(path, "optional", "every parameter has to be sent; null is a value of its own, so the default must be sent as it is")
        made = self._node(item.type, path, notes)
        if self.dialect.complete and not item.required and not nullable(made):
            members = made.members if isinstance(made, UnionType) and _is_plain_union(made) else (_bare(made),)
            made = _over(UnionType(members=(*members, NullType())), made)
        if self.dialect.shallow and top and not self._flat(made):
            text = type_text(item.type if not isinstance(item.type, Ref) else self.source.definitions[item.type.name])
            made = replace(made, description=described(made.description, [text]))
            self._lose(path, "nested structure", "the provider's own Python client drops it; it stands in the description too")
        return Field(name, made, required=item.required or self.dialect.complete)

    def _flat(self, node: Type) -> bool:
        """Whether nothing of a parameter's type stands deeper than the parameter itself."""
        if isinstance(node, UnionType):
            kinds = [member for member in node.members if not isinstance(member, NullType)]
            if len(kinds) == 1 or all(isinstance(kind, EnumType) for kind in kinds):
                return all(map(self._flat, kinds))
            simple = all(type(kind) in _SIMPLE and not kind.description for kind in kinds)
            return simple and len(set(map(type, kinds))) == len(kinds)
        return not (isinstance(node, ObjectType) and node.fields)

    def _additional(self, node: ObjectType, path: str, notes: list[str]) -> Type | None:
        other = node.additional
        if isinstance(other, NeverType):
            if not self.dialect.open_objects:
                self._loosened = True
                return None
            return other
        if self.dialect.closed:
            if other is not None or (not node.fields and path != "$"):
                raise self._refuse(path, "a map with free keys, and every object has to list its keys")
            self._lose(path, "undeclared keys", "every object has to be closed: only the declared keys can be sent")
            return NeverType()
        if other is None:
            return None
        if self.dialect.open_objects:
            return self._node(other, f"{path}.*")
        notes.append("any other keys" if node.fields else "any keys")
        if not isinstance(other, AnyType):
            notes[-1] += f", each value {type_text(other)}"
        self._lose(path, "additionalProperties", "not taken; moved into the description")
        return None

    # -- unions ------------------------------------------------------------------------------------------------------------------

    def _union(self, node: UnionType, path: str, notes: list[str]) -> Type:
        if is_untyped(node):
            return self._untyped(node, path, notes)
        members = [member for member in node.members if not isinstance(member, NeverType)]
        if self.dialect.one_of:
            made = tuple(self._node(member, path) for member in members)
            return self._finished(node, replace(node, members=made), path, notes)
        if node.one_of:
            self._lose(path, "oneOf", "not taken; written as anyOf")
        if node.discriminator is not None:
            notes.append(f"told apart by {node.discriminator!r}")
            self._lose(path, "discriminator", "not taken; moved into the description")
        return self._combined(node, [self._node(member, path) for member in members], path, notes)

    def _combined(self, node: Type, members: Iterable[Type], path: str, notes: list[str]) -> Type:
        """The union of translated members with the texts of a node, as the dialect wants unions."""
        flat = list(_flattened(members))
        distinct = list({repr(member): member for member in flat}.values())  # by repr, since EnumType((1,)) == EnumType((True,))
        if any(isinstance(member, AnyType) and not _has_texts(member) for member in distinct):
            distinct = [AnyType()]
        live = [member for member in distinct if not isinstance(member, NullType)]
        nulls = [member for member in distinct if isinstance(member, NullType)]
        if len(distinct) == 1:
            whole = self._finished(node, _bare(distinct[0]), path, notes)
            return _over(distinct[0], whole)
        if len(live) == 1:  # a type or null: what is said about the type is said about both
            whole = self._finished(node, UnionType(members=(_bare(live[0]), *nulls)), path, notes)
            return _over(_over(_bare(whole), live[0]), whole)
        if not self.dialect.lone_unions:
            return self._finished(node, UnionType(members=tuple(distinct)), path, notes)
        # Vertex AI: "When using any_of, it must be the only field set." The texts go to the first member, null to the writer.
        if node.default not in (ABSENT, None):
            notes.append(f"default: {value_text(node.default)}")
            self._lose(path, "default", "nothing may stand beside anyOf; moved into the description")
        whole = self._finished(replace(node, default=ABSENT, title=None, examples=()), AnyType(), path, notes)
        live[0] = _over(live[0], whole)
        return UnionType(members=(*live, *nulls))

    def _untyped(self, node: UnionType, path: str, notes: list[str]) -> Type:
        if self.dialect.untyped and self.dialect.opaque:
            members = tuple(self._node(member, path) for member in node.members)
            return self._finished(node, replace(node, members=members), path, notes)
        narrowed = [member for member in node.members if member != type(member)()]
        kinds = [self._node(member, path) for member in narrowed]
        self._lose(path, "a schema without type", f"needs one: only {' or '.join(type_text(member) for member in narrowed)} can be sent")
        return self._combined(node, kinds, path, notes)

    # -- references --------------------------------------------------------------------------------------------------------------

    def _ref(self, node: Ref, path: str, notes: list[str]) -> Type:
        dialect, name = self.dialect, node.name
        target = self.source.definitions[name]
        recursive = name in self._cyclic
        if recursive and dialect.recursion is Recursion.REFUSE:
            raise self._refuse(path, f"{name} holds itself, and recursion is not supported")
        if dialect.refs is Refs.KEEP or (recursive and dialect.recursion is Recursion.KEEP):
            kept = self._kept(name)
            if dialect.refs is Refs.KEEP or not (_has_texts(node) or notes):
                return self._finished(node, kept, path, notes)
            return self._finished(node, UnionType(members=(kept,)), path, notes)
        if dialect.refs is Refs.BARE and not (_has_texts(node) or notes):
            return self._kept(name)
        if (recursive and self._open.count(name) >= _UNROLLED) or self._size > _MOST_NODES:
            return self._only_named(node, target, path, notes)
        self._open.append(name)
        made = self._node(_over(target, node), path, notes)
        self._open.pop()
        return made

    def _kept(self, name: str) -> Ref:
        """A reference to a definition that is translated too."""
        if name not in self._made:
            self._made[name] = AnyType()  # so that the definition may refer to itself
            self._made[name] = self._node(self.source.definitions[name], f"$defs.{name}")
        return Ref(name=self._names[name])

    def _only_named(self, node: Ref, target: Type, path: str, notes: list[str]) -> Type:
        if self.dialect.closed:
            raise self._refuse(path, f"{node.name} is too large to be written in place")
        notes.append(f"{node.name} again: {type_text(target)}")
        self._lose(path, f"$ref to {node.name}", "written in place only so deep, then told in the description")
        if isinstance(target, ObjectType):
            return self._finished(_over(_bare(target), node), ObjectType(), path, notes)
        return self._node(_over(AnyType(), node), path, notes)

    # -- other keywords ----------------------------------------------------------------------------------------------------------

    def _opaque(self, node: Opaque, path: str, notes: list[str]) -> Type:
        names = [name for name in definition_names(node.schema) if name in self.source.definitions]
        free = self.dialect.refs is Refs.KEEP or not any(True for _ in refs_in_schema(node.schema))
        if self.dialect.opaque and free and not self._renames(node.known):
            for name in names:
                self._kept(name)
            return self._finished(node, Opaque(schema=node.schema, known=node.known), path, notes)
        extra = self._extra(node)
        if extra:
            notes.append(f"must also match {_short(extra)}")
            self._lose(path, ", ".join(extra), "not taken; moved into the description")
        return self._node(_over(node.known, node), path, notes)

    def _renames(self, node: Type) -> bool:
        """Whether a property below a node needs another name."""
        rule = self.dialect.properties
        if rule is None:
            return False
        own = isinstance(node, ObjectType) and not all(rule.legal(item.name) for item in node.fields)
        return own or any(map(self._renames, children(node)))

    def _extra(self, node: Opaque) -> dict[str, Any]:
        """What a schema says beyond what there are nodes for."""
        if not isinstance(node.schema, dict):
            return {} if node.schema else {"not": {}}
        definitions = {name: AnyType() for name in refs_in(node.known)}
        known = write_schema(Document(node.known, definitions))
        return {key: item for key, item in node.schema.items() if key not in known and key not in _ANNOTATING}


_ANNOTATING: Final = frozenset(
    ("title", "description", "default", "examples", "deprecated", "$defs", "definitions", "$schema", "$id", "$comment", "type")
)


def _number(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and abs(number) < _EXACT else number


def _short(extra: Mapping[str, Any]) -> str:
    text = value_text(dict(extra))
    return text if len(text) <= _OPAQUE_SHOWN else f"{text[:_OPAQUE_SHOWN]}..."


def _is_text(node: Type) -> bool:
    return isinstance(node, StringType) or (isinstance(node, EnumType) and all(isinstance(value, str) for value in node.values))


def _is_plain_union(node: Type) -> bool:
    return isinstance(node, UnionType) and not node.one_of and not is_untyped(node) and node.discriminator is None


def _flattened(members: Iterable[Type]) -> Iterator[Type]:
    for member in members:
        if isinstance(member, UnionType) and _is_plain_union(member) and len(member.members) > 1:
            inner = list(member.members)
            inner[0] = _over(inner[0], member)
            yield from _flattened(inner)
        else:
            yield member


_SIMPLE: Final = frozenset((BooleanType, IntegerType, NumberType, StringType))
_KINDS: Final[dict[str, Type]] = {
    "string": StringType(),
    "integer": IntegerType(),
    "number": NumberType(),
    "boolean": BooleanType(),
    "array": ArrayType(),
    "object": ObjectType(),
}
