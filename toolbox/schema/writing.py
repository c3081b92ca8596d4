"""The writer: a document of the representation as JSON Schema, draft 2020-12.

Every schema is made from nodes and never by deleting keys from a finished dict, so a parameter that happens to be called ``title``,
``type`` or ``$ref`` is a property like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote, unquote

from toolbox.schema.places import refs_in_schema
from toolbox.types import (
    ABSENT,
    CONSTRAINTS,
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
    is_untyped,
)

__all__ = ["definition_names", "json_type", "reference_to", "write_schema"]

Schema = dict[str, Any]


def write_schema(document: Document) -> Schema:
    """The document as a JSON Schema of draft 2020-12.

    Definitions that are referenced stand under ``$defs``, in the order of their first use; the others are left out.

    >>> from toolbox.types import Field, IntegerType, StringType
    >>> write_schema(Document(ObjectType(fields=(Field("n", IntegerType(minimum=1)), Field("s", StringType(default="x"), required=False)))))
    {'type': 'object',
     'properties': {'n': {'type': 'integer', 'minimum': 1}, 's': {'type': 'string', 'default': 'x'}},
     'required': ['n']}

    Raises:
        KeyError: a reference names no definition of the document.
    """
    schema = _as_object(_write(document.root))
    definitions: Schema = {}
    own = schema.get("$defs", {})  # a root that is kept whole brings what it refers to
    waiting = list(definition_names(schema))
    for name in waiting:  # grows while it is walked: what a definition refers to comes after what is already waiting
        if name not in definitions and name not in own:
            definitions[name] = _as_object(_write(document.definitions[name]))
            waiting.extend(definition_names(definitions[name]))
    return {**schema, "$defs": {**own, **definitions}} if definitions else schema


def json_type(values: Iterable[Any]) -> str | None:
    """The one JSON type that all values have, or None.

    >>> json_type([1, 2.5]), json_type(["a", None])
    ('number', None)
    """
    names = {_JSON_TYPES.get(type(value)) or _subclass_type(value) for value in values}
    if names == {"integer", "number"}:
        return "number"
    return names.pop() if len(names) == 1 else None


_JSON_TYPES: Final = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    tuple: "array",
    dict: "object",
}


def _subclass_type(value: Any) -> str | None:
    return next((name for kind, name in _JSON_TYPES.items() if isinstance(value, kind)), None)


def definition_names(schema: Any) -> Iterator[str]:
    """The names of the definitions that a written schema refers to, in order."""
    for reference in refs_in_schema(schema):
        name = reference.removeprefix(_DEFINITIONS)
        if name != reference and "/" not in name:
            yield unquote(name).replace("~1", "/").replace("~0", "~")


def reference_to(name: str) -> str:
    """The reference to a definition of the document.

    >>> reference_to("Box[int]"), reference_to("a/b")
    ('#/$defs/Box%5Bint%5D', '#/$defs/a~1b')
    """
    return _DEFINITIONS + quote(name.replace("~", "~0").replace("/", "~1"), safe="!$&'()*+,;=:@~-._")


_DEFINITIONS: Final = "#/$defs/"


def _as_object(schema: Schema | bool) -> Schema:
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return schema


def _described(node: Type, head: Schema, body: Schema | None = None) -> Schema:
    """What says the type, then the texts, then what narrows it, then the examples: the order in which it is read."""
    if node.title is not None:
        head["title"] = node.title
    if node.description is not None:
        head["description"] = node.description
    if body:
        head.update(body)
    if node.default is not ABSENT:
        head["default"] = node.default
    if node.examples:
        head["examples"] = list(node.examples)
    if node.deprecated:
        head["deprecated"] = True
    return head


def _write(node: Type) -> Schema | bool:
    return _WRITERS[type(node)](node)


def _write_any(node: Type) -> Schema:
    return _described(node, {})


def _write_never(node: Type) -> Schema | bool:
    described = _described(node, {})
    return {"not": {}, **described} if described else False


def _write_plain(name: str) -> Callable[[Any], Schema]:
    def write(node: Type) -> Schema:
        return _described(node, {"type": name}, _narrowed(node))

    return write


def _write_number(node: NumberType) -> Schema:
    if not node.decimal:
        return _described(node, {"type": "number"}, _narrowed(node))
    return _described(node, {"anyOf": [{"type": "number", **_narrowed(node)}, {"type": "string", "format": "decimal"}]})


def _limits(node: Type) -> Schema:
    """The keywords of the constraint table that are set."""
    found: Schema = {}
    for constraint in CONSTRAINTS.get(type(node), ()):
        limit = getattr(node, constraint.attribute)
        if limit is not None and limit is not False:
            found[constraint.keyword] = limit
    return found


def _narrowed(node: Type) -> Schema:
    """The keywords that narrow a node of one JSON type, without those that say nothing."""
    if isinstance(node, StringType):
        texts = {"format": node.format, "contentEncoding": node.encoding}
        return {**{key: text for key, text in texts.items() if text is not None}, **_limits(node)}
    if isinstance(node, ArrayType):
        return {**_elements(node), **_limits(node)}
    if isinstance(node, ObjectType):
        return {**_properties(node), **_limits(node)}
    return _limits(node)


def _elements(node: ArrayType) -> Schema:
    written: Schema = {}
    if node.prefix:
        written["prefixItems"] = [_write(item) for item in node.prefix]
    items = _write(node.items)
    if node.prefix and node.items == AnyType() and node.max_items is not None and node.max_items <= len(node.prefix):
        # No item is left for it to describe; some providers read only `items`, and this tells them as much as it can hold.
        distinct = [schema for index, schema in enumerate(written["prefixItems"]) if schema not in written["prefixItems"][:index]]
        items = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
    if items != {}:
        written["items"] = items
    return written


def _properties(node: ObjectType) -> Schema:
    written: Schema = {}
    if node.fields:
        written["properties"] = {item.name: _write(item.type) for item in node.fields}
    required = [item.name for item in node.fields if item.required]
    if required:
        written["required"] = required
    if node.additional is not None:
        additional = _write(node.additional)
        written["additionalProperties"] = True if additional == {} else additional
    return written


def _write_array(node: ArrayType) -> Schema:
    body = _narrowed(node)
    # Always present, since providers refuse an array without it.
    return _described(node, {"type": "array"}, body if "items" in body else {"items": {}, **body})


def _write_object(node: ObjectType) -> Schema:
    return _described(node, {"type": "object"}, {"properties": {}, **_narrowed(node)})


def _write_enum(node: EnumType) -> Schema:
    name = json_type(node.values)
    closed: Schema = {"enum": list(node.values)} if name is None else {"type": name, "enum": list(node.values)}
    return _described(node, {"anyOf": [closed, {"type": "string"}]} if node.open else closed)


def _write_union(node: UnionType) -> Schema:
    if is_untyped(node):
        narrowed: Schema = {}
        for member in node.members:
            narrowed.update(_narrowed(member))
        return _described(node, {}, narrowed)
    keyword = "oneOf" if node.one_of else "anyOf"
    tail = {} if node.discriminator is None else {"discriminator": {"propertyName": node.discriminator}}
    return _described(node, {keyword: [_write(member) for member in node.members]}, tail)


def _write_ref(node: Ref) -> Schema:
    return _described(node, {"$ref": reference_to(node.name)})


def _write_opaque(node: Opaque) -> Schema | bool:
    if not isinstance(node.schema, dict):
        return bool(node.schema)
    head = {keyword: node.schema[keyword] for keyword in ("$schema", "$id", "$ref", "type") if keyword in node.schema}
    return _described(node, head, {keyword: value for keyword, value in node.schema.items() if keyword not in head})


_WRITERS: Final[dict[type[Type], Callable[[Any], Schema | bool]]] = {
    AnyType: _write_any,
    NeverType: _write_never,
    NullType: _write_plain("null"),
    BooleanType: _write_plain("boolean"),
    IntegerType: _write_plain("integer"),
    NumberType: _write_number,
    StringType: _write_plain("string"),
    ArrayType: _write_array,
    ObjectType: _write_object,
    EnumType: _write_enum,
    UnionType: _write_union,
    Ref: _write_ref,
    Opaque: _write_opaque,
}
