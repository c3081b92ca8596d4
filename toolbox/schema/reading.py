"""The reader: JSON Schema as a document of the representation.

A schema is a conjunction: every keyword must hold. What its keywords say together is met into one node; where no node says it exactly,
the schema is kept whole as `Opaque`, to be checked by a real validator. Nothing is dropped and nothing is waved through.
"""

from __future__ import annotations

import graphlib
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from toolbox.diagnostics import Path, json_name, path_text, shorten
from toolbox.schema.checks import CHECKS, COUNTS
from toolbox.schema.dialects import DESCRIBING_KEYWORDS, DIALECTS, Dialect, modern
from toolbox.schema.intersection import Intersection, described_by, tidy_array, union_of
from toolbox.schema.places import DEFINITIONS, IN_PLACE, LISTS, MAPS, SINGLES, subschemas
from toolbox.schema.problems import InvalidSchema, SchemaProblem
from toolbox.schema.references import Place, References, Scope
from toolbox.schema.writing import definition_names, reference_to, write_schema
from toolbox.types import (
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
    compiled_pattern,
    identity,
    is_untyped,
    map_children,
    nullable,
)

__all__ = ["normalise", "read_schema"]

DEPTH_ALLOWED: Final = 100
SCHEMAS_ALLOWED: Final = 50_000
PROBLEMS_KEPT: Final = 100
ATTEMPTS: Final = 5

_NODES: Final[Mapping[str, type[Type]]] = {
    "null": NullType,
    "boolean": BooleanType,
    "number": NumberType,
    "string": StringType,
    "array": ArrayType,
    "object": ObjectType,
    "integer": IntegerType,
}
_EVERY_KIND: Final = tuple(name for name in _NODES if name != "integer")
_UNEVALUATED: Final = frozenset({"unevaluatedItems", "unevaluatedProperties"})
_WITHOUT_NODE: Final = frozenset(
    {
        *("contains", "dependentRequired", "dependentSchemas", "if", "not", "patternProperties", "propertyNames"),
        *_UNEVALUATED,
    }
)
_HOLDING_ITEMS: Final = frozenset({"items", "prefixItems", "unevaluatedItems"})
_HOLDING_PROPERTIES: Final = frozenset({"additionalProperties", "properties", "unevaluatedProperties"})
_HOLDING_WITHOUT_NODE: Final = frozenset(
    {"contains", "dependentSchemas", "else", "if", "not", "patternProperties", "propertyNames", "then"}
)
_HOLDING_ONE_WITHOUT_NODE: Final = _UNEVALUATED | {"not", "propertyNames"}
_ELSEWHERE: Final = IN_PLACE | {"$dynamicRef", "$recursiveRef", "$ref", "contains", "patternProperties"}
_NARROWING: Final = frozenset(
    {
        *("additionalProperties", "contentEncoding", "format", "items", "patternProperties", "prefixItems", "properties", "required"),
        *(constraint.keyword for constraints in CONSTRAINTS.values() for constraint in constraints),
    }
)
_OWN_TO_DOCUMENT: Final = DEFINITIONS | {
    *("$anchor", "$dynamicAnchor", "$id", "$recursiveAnchor", "$schema", "$vocabulary", "id", "nullable"),
}
_METASCHEMA: Final = re.compile(r"https?://json-schema\.org/draft[-/]")


def read_schema(
    schema: Any,
    *,
    resources: Mapping[str, Any] | None = None,
    dialect: str | None = None,
    arguments: bool = False,
) -> Document:
    """A JSON Schema as nodes.

    Args:
        schema: an object or a boolean; it is not changed.
        resources: other documents that it may refer to, by address. Nothing is ever fetched.
        dialect: ``2020-12``, ``2019-09``, ``draft-7``, ``draft-6``, ``draft-4``, ``openapi-3.0``, ``openapi-3.1``, ``gemini`` or
            ``bfcl``. Without it, what ``$schema`` says counts, else draft 2020-12.
        arguments: whether it is for a tool's arguments, which always are an object. The root is then read as an object even where it
            does not say so.

    >>> read_schema({"type": "object", "properties": {"n": {"type": "integer"}}}).root.fields[0]
    Field(name='n', type=IntegerType(...), required=False, ...)

    Raises:
        InvalidSchema: the schema is not valid itself.
        ValueError: there is no such dialect.
    """
    if dialect is not None and dialect not in DIALECTS:
        raise ValueError(f"there is no dialect {dialect!r}; the dialects are {', '.join(DIALECTS)}")
    return _Reader(schema, resources or {}, dialect, arguments=arguments).document()


def normalise(schema: Any, *, resources: Mapping[str, Any] | None = None, dialect: str | None = None) -> dict[str, Any]:
    """The one form that schemas of the same meaning are written in, as far as it is known: read, and written again.

    >>> normalise({"const": 1}), normalise({"type": ["string", "null"], "minLength": 1})
    ({'type': 'integer', 'enum': [1]}, {'anyOf': [{'type': 'string', 'minLength': 1}, {'type': 'null'}]})
    """
    return write_schema(read_schema(schema, resources=resources, dialect=dialect))


class _Reader:
    """Reads one document. Definitions are read when something refers to them."""

    def __init__(self, schema: Any, resources: Mapping[str, Any], dialect: str | None, *, arguments: bool) -> None:
        self.schema = schema
        self.arguments = arguments
        self.problems: list[SchemaProblem] = []
        if dialect is not None and isinstance(schema, dict) and "$schema" in schema:
            # What is asked for counts.
            schema = self.schema = {keyword: value for keyword, value in schema.items() if keyword != "$schema"}
        scope = Scope("", DIALECTS[dialect or "2020-12"])
        self.references = References(schema, resources, scope)
        if dialect is None and isinstance(schema, dict) and "$schema" in schema:
            scope = Scope("", self.declared_dialect(schema["$schema"]))
            self.references = References(schema, resources, scope)
        self.problems_before = len(self.problems)
        self.scope = scope
        self.looping: set[tuple[int, str]] = set()
        self.begin()

    def begin(self) -> None:
        """Forget what was read."""
        self.problems = self.problems[: self.problems_before]
        self.meet = Intersection(self.to_meet).meet
        self.places: dict[str, Place] = {}
        self.names: dict[tuple[int, str], str] = {}
        self.taken: Counter[str] = Counter()
        self.definitions: dict[str, Type] = {}
        self.being_read: list[str] = []
        self.waiting: deque[str] = deque()
        self.count = 0
        self.depth = 0
        self.dynamic = False
        self.forced: deque[str] = deque()

    def declared_dialect(self, address: Any) -> Dialect:
        found = self.references.metaschema_dialect(address) if isinstance(address, str) else None
        if found is None:
            known = "drafts 4, 6, 7, 2019-09 and 2020-12"
            self.problem((None, "$schema"), f"the dialect {shorten(address)} is not known; known are {known}")
        return found or DIALECTS["2020-12"]

    def problem(self, path: Path, message: str) -> None:
        found = SchemaProblem(path_text(path), message)
        if len(self.problems) < PROBLEMS_KEPT and found not in self.problems:
            self.problems.append(found)

    def document(self) -> Document:
        """The document; read anew as long as definitions turn up that can't be met without themselves."""
        document = self.document_once()
        known = 0
        for _ in range(ATTEMPTS):
            if len(self.looping) == known:
                break
            known = len(self.looping)
            self.begin()
            document = self.document_once()
        if self.problems:
            raise InvalidSchema(self.problems, document)
        return document

    def document_once(self) -> Document:
        root = self.read(self.schema, self.scope, None)
        while self.waiting:
            self.definition(self.waiting.popleft())
        if self.arguments:
            root = self.as_object(root)
        self.refuse_endless()
        self.keep_whole()
        if self.dynamic and isinstance(self.schema, dict):
            # A dynamic reference means something only in the whole, so nothing below it is checked on its own.
            self.definitions = {name: _loosened(node) for name, node in self.definitions.items()}
            root = described_by(Opaque(schema=_without_texts(self.bundled()), known=_loosened(root)), root)
        return Document(root, self.reachable(root))

    # Reading

    def read(self, schema: Any, scope: Scope, path: Path) -> Type:
        """The node of a schema, met from everything that its keywords say."""
        if isinstance(schema, bool):
            return AnyType() if schema else NeverType()
        if not isinstance(schema, dict):
            self.problem(path, f"a schema is an object or a boolean, not {json_name(schema)}")
            return AnyType()
        self.count += 1
        if self.count > SCHEMAS_ALLOWED:
            self.give_up(path, f"more than {SCHEMAS_ALLOWED} schemas")
        if self.depth >= DEPTH_ALLOWED:
            self.give_up(path, f"schemas are nested more than {DEPTH_ALLOWED} levels deep")
        self.depth += 1
        node = self.read_object(schema, self.references.enter(schema, scope), path)
        self.depth -= 1
        return node

    def give_up(self, path: Path, message: str) -> None:
        raise InvalidSchema([SchemaProblem(path_text(path), message), *self.problems])

    def read_object(self, original: dict[str, Any], scope: Scope, path: Path) -> Type:
        schema, spelled = modern(original, scope.dialect)
        at = _Below(path, spelled)
        schema = self.checked(schema, at)
        exact = not _is_foreign(schema.get("pattern"))
        if not exact:
            schema = {keyword: value for keyword, value in schema.items() if keyword != "pattern"}
        texts = _texts(schema)
        # The root of a tool's arguments stays one object, so that its parameters can be bound by name.
        whole = self.arguments and self.depth == 1 and path is None and bool(schema.keys() & {"properties", "type"})
        met: Type = AnyType()
        for position, factor in enumerate(self.factors(schema, scope, at)):
            apart = whole and position > 0 and _is_choice(factor)
            narrower = None if factor is None or apart else self.meet(met, factor)
            exact = exact and narrower is not None
            met = met if narrower is None else narrower
        if not exact:
            met = Opaque(schema=self.rewritten(original, scope), known=_without_opaque(met))
        if texts:
            met = replace(met, **texts)
        if scope.dialect.nullable and schema.get("nullable") is True and not nullable(met):
            met = replace(union_of((replace(met, **{name: _PLAIN[name] for name in texts}), NullType())), **texts)
        return met

    def factors(self, schema: dict[str, Any], scope: Scope, at: _Below) -> Iterator[Type | None]:
        """What each group of keywords says; None where it has no node."""
        yield self.read_kinds(schema, scope, at)
        if "enum" in schema:
            yield _choices(schema["enum"])
        if "const" in schema:
            yield EnumType(values=(schema["const"],))
        if "$ref" in schema:
            yield self.read_reference(schema["$ref"], scope, at("$ref"))
        for keyword in ("$dynamicRef", "$recursiveRef"):
            if keyword in schema:
                self.dynamic = True
                self.read_reference(schema[keyword], scope, at(keyword))
        for index, member in enumerate(schema.get("allOf", ())):
            yield self.read(member, scope, at("allOf", index))
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                declared = schema.get("discriminator")
                members = [self.read(member, scope, at(keyword, index)) for index, member in enumerate(schema[keyword])]
                yield union_of(
                    members,
                    one_of=keyword == "oneOf",
                    discriminator=declared.get("propertyName") if isinstance(declared, dict) else None,
                )
        if schema.keys() & _WITHOUT_NODE:
            yield self.read_without_node(schema, scope, at)

    def read_without_node(self, schema: dict[str, Any], scope: Scope, at: _Below) -> Type | None:
        """What the keywords that have no counterpart say, in the cases in which that is plain."""
        elsewhere = _sees_elsewhere(schema)
        for keyword, found in schema.items():
            if keyword not in _HOLDING_WITHOUT_NODE and not (elsewhere and keyword in _UNEVALUATED):
                continue
            inside = found.items() if keyword in MAPS else [(None, found)]
            for key, item in inside:
                self.read(item, scope, at(keyword) if key is None else at(keyword, key))
        # What is unknown to the dialect says nothing either, so the copies are looked at.
        said_nothing = {
            keyword: _says_nothing(self.copied(found, scope)) for keyword, found in schema.items() if keyword in _HOLDING_ONE_WITHOUT_NODE
        }
        if said_nothing.get("not"):
            return NeverType()
        says_nothing = {
            "contains": False,
            "if": "then" not in schema and "else" not in schema,
            "not": schema.get("not") is False,
            **{keyword: not schema.get(keyword) for keyword in ("dependentRequired", "dependentSchemas", "patternProperties")},
            "propertyNames": said_nothing.get("propertyNames"),
            **{keyword: not elsewhere or said_nothing.get(keyword) for keyword in _UNEVALUATED},
        }
        return AnyType() if all(says_nothing[keyword] for keyword in _WITHOUT_NODE & schema.keys()) else None

    def read_kinds(self, schema: dict[str, Any], scope: Scope, at: _Below) -> Type:
        """What ``type`` and the keywords that speak to one type say."""
        if not (schema.keys() & _NARROWING or "type" in schema or schema.keys() & _UNEVALUATED):
            return AnyType()
        declared = schema.get("type", _EVERY_KIND)
        kinds = (declared,) if isinstance(declared, str) else tuple(dict.fromkeys(declared))
        if "number" in kinds:
            kinds = tuple(kind for kind in kinds if kind != "integer")
        read: dict[str, Type] = {}
        # What holds schemas is read even where the type makes it void, so that their problems are found.
        if "array" in kinds or schema.keys() & _HOLDING_ITEMS:
            read["array"] = self.read_array(schema, scope, at)
        if "object" in kinds or schema.keys() & _HOLDING_PROPERTIES:
            read["object"] = self.read_properties(schema, scope, at)
        if "string" in kinds:
            texts: dict[str, Any] = {"format": schema.get("format"), "encoding": schema.get("contentEncoding")}
            read["string"] = StringType(**texts, **_limits(schema, StringType))
        members = tuple(read[kind] if kind in read else _NODES[kind](**_limits(schema, _NODES[kind])) for kind in kinds)
        if "type" not in schema and all(member == type(member)() for member in members):
            return AnyType()
        return members[0] if len(members) == 1 else union_of(members)

    def read_array(self, schema: dict[str, Any], scope: Scope, at: _Below) -> ArrayType:
        prefix = tuple(self.read(item, scope, at("prefixItems", index)) for index, item in enumerate(schema.get("prefixItems", ())))
        items: Type = AnyType()
        if "items" in schema:
            items = self.read(schema["items"], scope, at("items"))
        elif "unevaluatedItems" in schema and not _sees_elsewhere(schema):
            items = self.read(schema["unevaluatedItems"], scope, at("unevaluatedItems"))
        return tidy_array(ArrayType(items=items, prefix=prefix, **_limits(schema, ArrayType)))

    def read_properties(self, schema: dict[str, Any], scope: Scope, at: _Below) -> ObjectType:
        additional: Type | None = None
        if "additionalProperties" in schema:
            additional = self.read(schema["additionalProperties"], scope, at("additionalProperties"))
        elif "unevaluatedProperties" in schema and not _sees_elsewhere(schema):
            additional = self.read(schema["unevaluatedProperties"], scope, at("unevaluatedProperties"))
        if schema.get("patternProperties"):
            additional = None  # it speaks only of names that match no pattern; the whole is checked by a validator anyway
        required = dict.fromkeys(schema.get("required", ()))
        fields = [
            Field(name, self.read(item, scope, at("properties", name)), name in required)
            for name, item in schema.get("properties", {}).items()
        ]
        declared = schema.get("properties", {})
        undeclared = AnyType() if additional is None else additional
        fields.extend(Field(name, undeclared) for name in required if name not in declared)
        return ObjectType(fields=tuple(fields), additional=additional, **_limits(schema, ObjectType))

    # Checking

    def checked(self, schema: dict[str, Any], at: _Below) -> dict[str, Any]:
        """The schema without the keywords whose values are not valid; each of them is a problem."""
        wrong = _wrong(schema)
        for keyword, said in wrong.items():
            self.problem(at(keyword), said)
        if wrong:
            schema = {keyword: value for keyword, value in schema.items() if keyword not in wrong}
        patterns = schema.get("patternProperties", {})
        unusable = {pattern: message for pattern in patterns if (message := _wrong_pattern(pattern)) is not None}
        for pattern, said in unusable.items():
            self.problem(at("patternProperties", pattern), said)
        if unusable:
            schema = {**schema, "patternProperties": {pattern: item for pattern, item in patterns.items() if pattern not in unusable}}
        return schema

    # References

    def read_reference(self, reference: Any, scope: Scope, path: Path) -> Type | None:
        if not isinstance(reference, str):
            return AnyType()
        place = self.references.resolve(reference, scope)
        if place is None:
            if _METASCHEMA.match(reference):
                return None
            where = "in this document" if reference.startswith("#") else "in this document or the resources; nothing is fetched"
            self.problem(path, f"{shorten(reference)} leads nowhere {where}")
            return AnyType()
        if not isinstance(place.schema, dict):
            return self.read(place.schema, place.scope, place.path)
        return Ref(name=self.name_of(place))

    def name_of(self, place: Place) -> str:
        """The name of the definition that a place becomes; it is read later."""
        key = _key(place)
        name = self.names.get(key)
        if name is None:
            name = wanted = place.name or "root"
            while name in self.places:
                self.taken[wanted] += 1
                name = f"{wanted}_{self.taken[wanted]}"
            self.names[key] = name
            self.places[name] = place
            self.waiting.append(name)
        return name

    def definition(self, name: str) -> Type | None:
        """The node of a definition, read now if need be; None while it is being read, or when that would go too deep."""
        if name in self.being_read:
            circle = self.being_read[self.being_read.index(name) :]
            self.looping |= {_key(self.places[looped]) for looped in circle}
        elif name not in self.definitions and self.depth < DEPTH_ALLOWED // 2:
            place = self.places[name]
            self.being_read.append(name)
            self.definitions[name] = self.read(place.schema, place.scope, place.path)
            self.being_read.pop()
        return self.definitions.get(name)

    def to_meet(self, name: str) -> Type | None:
        """The node of a definition that is to be met with something else: none of those that would need themselves for it.

        Which of them is read first must not matter, so all in such a circle stay as they are.
        """
        return None if _key(self.places[name]) in self.looping else self.definition(name)

    def refuse_endless(self) -> None:
        """Report definitions that lead back to themselves for the same value: checking them would never end."""
        graph = {name: set(self.in_place_names(place)) for name, place in self.places.items()}
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            circle = error.args[1]
            self.problem(self.places[circle[0]].path, f"it refers to itself without an end: {' -> '.join(map(repr, circle))}")
            for name in circle:
                self.definitions[name] = AnyType()

    def in_place_names(self, place: Place) -> Iterator[str]:
        """The definitions that see the same value as the schema at a place."""
        waiting = [(place.schema, place.scope)]
        while waiting:
            schema, scope = waiting.pop()
            if not isinstance(schema, dict):
                continue
            scope = self.references.enter(schema, scope)
            schema, _ = modern(schema, scope.dialect)
            if isinstance(schema.get("$ref"), str):
                target = self.references.resolve(schema["$ref"], scope)
                name = None if target is None else self.names.get(_key(target))
                if name is not None:
                    yield name
            waiting.extend((inside, scope) for keys, inside in subschemas(schema) if keys[0] in IN_PLACE)

    def reachable(self, root: Type) -> dict[str, Type]:
        """The definitions that something refers to, in the order of their first use."""
        found: dict[str, Type] = {}
        waiting = deque(_names_in(root))
        while waiting:
            name = waiting.popleft()
            if name in self.definitions and name not in found:
                found[name] = self.definitions[name]
                waiting.extend(_names_in(found[name]))
        return found

    # Schemas that stay as they are

    def rewritten(self, schema: dict[str, Any], scope: Scope) -> dict[str, Any]:
        """What a schema asks of the value that is not null, in draft 2020-12; its references lead to the definitions of this document."""
        copy = _without_texts(self.copied_object(schema, scope))
        if _mentions(copy, _UNEVALUATED):
            # What counts as evaluated depends on how things are said, so all that it refers to has to be said as it was.
            self.forced.extend(definition_names(copy))
        return copy

    def copied(self, original: Any, scope: Scope) -> Any:
        if not isinstance(original, dict):
            return original is not False
        copy = self.copied_object(original, scope)
        is_nullable = self.references.enter(original, scope).dialect.nullable and original.get("nullable") is True
        return {"anyOf": [copy, {"type": "null"}]} if is_nullable else copy

    def copied_object(self, original: dict[str, Any], scope: Scope) -> dict[str, Any]:
        """The copy without the null that `nullable` adds."""
        scope = self.references.enter(original, scope)
        schema, _ = modern(original, scope.dialect)
        copy: dict[str, Any] = {}
        left_out = _OWN_TO_DOCUMENT | _wrong(schema).keys()
        for keyword, value in schema.items():
            if keyword in left_out:
                continue
            if keyword == "$ref":
                renamed = self.renamed(value, scope)
                if renamed is not None:
                    copy[keyword] = renamed
            elif keyword == "patternProperties":
                copy[keyword] = {key: self.copied(item, scope) for key, item in value.items() if _wrong_pattern(key) is None}
            elif isinstance(value, dict) and keyword in MAPS:
                copy[keyword] = {key: self.copied(item, scope) for key, item in value.items()}
            elif isinstance(value, list) and keyword in LISTS:
                copy[keyword] = [self.copied(item, scope) for item in value]
            elif keyword in SINGLES:
                copy[keyword] = self.copied(value, scope)
            else:
                copy[keyword] = value
        return copy

    def renamed(self, reference: str, scope: Scope) -> str | None:
        place = self.references.resolve(reference, scope)
        if place is None:
            return reference if _METASCHEMA.match(reference) else None
        return reference_to(self.name_of(place))

    def keep_whole(self) -> None:
        """Make definitions opaque whose wording counts."""
        done: set[str] = set()
        while self.forced:
            name = self.forced.popleft()
            if name in done or name not in self.places:
                continue
            done.add(name)
            place = self.places[name]
            node = self.definition(name) or AnyType()
            copy = _without_texts(self.copied(place.schema, place.scope))
            if not isinstance(node, Opaque):
                self.definitions[name] = described_by(Opaque(schema=copy, known=_without_opaque(node)), node)
            self.forced.extend(definition_names(copy))
            while self.waiting:
                self.definition(self.waiting.popleft())

    def bundled(self) -> dict[str, Any]:
        """The document as it came, with the other documents that it needs inside."""
        schema = dict(self.schema)
        keyword = "$defs"
        inside = {
            address: {"$id": address, **resource} if isinstance(resource, dict) else resource
            for address, resource in self.references.used.items()
        }
        if inside:
            schema[keyword] = {**schema.get(keyword, {}), **inside}
        return schema

    def as_object(self, root: Type) -> Type:
        """The root as the object that a tool's arguments are."""
        seen: set[str] = set()
        while isinstance(root, Ref) and root.name not in seen:
            seen.add(root.name)
            root = described_by(self.definitions[root.name], root)
        if isinstance(root, Opaque):
            known = self.meet(ObjectType(), root.known)
            return root if known is None else replace(root, known=known)
        met = self.meet(ObjectType(), root)
        return root if met is None or isinstance(met, NeverType) else met


def _key(place: Place) -> tuple[int, str]:
    """What makes two ways lead to the same definition."""
    return id(place.schema), place.scope.base


class _Below:
    """Makes the paths below a schema; keywords that were renamed are named as they came."""

    __slots__ = ("path", "spelled")

    def __init__(self, path: Path, spelled: dict[str, str]) -> None:
        self.path = path
        self.spelled = spelled

    def __call__(self, keyword: str, *keys: str | int) -> Path:
        path: Path = (self.path, self.spelled.get(keyword, keyword))
        for key in keys:
            path = (path, key)
        return path


def _texts(schema: dict[str, Any]) -> dict[str, Any]:
    """The attributes of every node that only describe."""
    found: dict[str, Any] = {keyword: schema[keyword] for keyword in ("title", "description", "default") if keyword in schema}
    if schema.get("deprecated") is True:
        found["deprecated"] = True
    if schema.get("examples"):
        found["examples"] = tuple(schema["examples"])
    return found


def _without_texts(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an opaque node: its texts stand in the node alone, where those of the place it is read at can replace them."""
    return {keyword: value for keyword, value in schema.items() if keyword not in DESCRIBING}


_PLAIN: Final[Mapping[str, Any]] = {name: getattr(Type(), name) for name in DESCRIBING}


def _limits(schema: dict[str, Any], kind: type[Type]) -> dict[str, Any]:
    return {
        constraint.attribute: int(schema[constraint.keyword]) if constraint.keyword in COUNTS else schema[constraint.keyword]
        for constraint in CONSTRAINTS.get(kind, ())
        if constraint.keyword in schema
    }


def _choices(values: list[Any]) -> Type:
    distinct = {identity(value): value for value in reversed(values)}
    kept = tuple(reversed(distinct.values()))
    return EnumType(values=kept) if kept else NeverType()


def _says_nothing(schema: Any) -> bool:
    return schema is True or (isinstance(schema, dict) and not schema.keys() - DESCRIBING_KEYWORDS)


def _sees_elsewhere(schema: dict[str, Any]) -> bool:
    """Whether other schemas that see the same value may decide what is left unevaluated."""
    return bool(schema.keys() & _ELSEWHERE)


# Syntax of ECMA 262 that Python's expressions do not have.
_FOREIGN_PATTERN: Final = re.compile(r"\\(?:[pP]\{|u\{|c[A-Za-z])|\[\^?\]|\(\?<[^=!]")


def _is_foreign(pattern: Any) -> bool:
    if not isinstance(pattern, str) or not _FOREIGN_PATTERN.search(pattern):
        return False
    try:
        compiled_pattern(pattern)
    except re.error:
        return True
    return False


def _mentions(schema: Any, keywords: frozenset[str]) -> bool:
    waiting = [schema]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            if found.keys() & keywords:
                return True
            waiting.extend(inside for _, inside in subschemas(found))
    return False


def _without_opaque(node: Type) -> Type:
    """What guides coercion below a schema that a validator checks as a whole: nothing in it needs a validator again."""
    if isinstance(node, Opaque):
        return described_by(node.known, node)
    found = map_children(node, _without_opaque)
    if isinstance(found, UnionType) and found.one_of and found != node:
        # Members that accept more than they should can't be counted.
        return replace(found, one_of=False)
    return found


def _loosened(node: Type) -> Type:
    """The node without anything that a definition which is no longer exact could turn round."""
    if isinstance(node, Opaque):
        return _loosened(described_by(node.known, node))
    found = map_children(node, _loosened)
    return replace(found, one_of=False) if isinstance(found, UnionType) and found.one_of else found


def _wrong(schema: dict[str, Any]) -> dict[str, str]:
    """What is wrong with the values of the keywords."""
    found = {}
    for keyword, value in schema.items():
        check = CHECKS.get(keyword)
        message = None if check is None else check(value)
        if message is not None:
            found[keyword] = message
    if "pattern" in schema and "pattern" not in found and (message := _wrong_pattern(schema["pattern"])) is not None:
        found["pattern"] = message
    return found


def _wrong_pattern(pattern: str) -> str | None:
    try:
        compiled_pattern(pattern)
    except re.error as error:
        return None if _is_foreign(pattern) else f"{shorten(pattern)} is no regular expression: {error}"
    return None


def _is_choice(node: Type | None) -> bool:
    return isinstance(node, UnionType) and not is_untyped(node)


def _names_in(root: Type) -> Iterator[str]:
    """The definitions that a node refers to, in order, also in what is opaque."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Ref):
            yield node.name
        elif isinstance(node, Opaque):
            yield from definition_names(node.schema)
        waiting.extend(reversed(list(children(node))))
