"""The flavours of JSON Schema that can be read, each translated into draft 2020-12 one schema object at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolbox.schema.places import DEFINITIONS

__all__ = ["DESCRIBING_KEYWORDS", "DIALECTS", "Dialect", "dialect_of", "modern", "with_vocabularies"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """What sets a flavour apart from draft 2020-12.

    Attributes:
        name: the name by which it is asked for.
        unknown: keywords of draft 2020-12 that mean nothing in it.
        lone_refs: whether the keywords beside a ``$ref`` are ignored.
        identifier: the keyword that gives a schema its address.
        nullable: whether ``"nullable": true`` adds null.
        boolean_exclusive: whether ``exclusiveMinimum`` is a boolean that changes the meaning of ``minimum``.
        count_texts: whether counts may come as text, as 64-bit integers do in protobuf's JSON.
        type_names: other names of types, to those of JSON Schema; ``any`` stands for every type.
    """

    name: str
    unknown: frozenset[str] = frozenset()
    lone_refs: bool = False
    identifier: str = "$id"
    nullable: bool = False
    boolean_exclusive: bool = False
    count_texts: bool = False
    type_names: Mapping[str, str] = field(default_factory=dict)


_SINCE_2020: Final = frozenset({"$dynamicAnchor", "$dynamicRef", "prefixItems"})
_SINCE_2019: Final = _SINCE_2020 | {
    *("$anchor", "$recursiveAnchor", "$recursiveRef", "dependentRequired", "dependentSchemas", "maxContains", "minContains"),
    *("unevaluatedItems", "unevaluatedProperties"),
}
_SINCE_7: Final = _SINCE_2019 | {"else", "if", "then"}
_SINCE_6: Final = _SINCE_7 | {"const", "contains", "propertyNames"}
_JSON_NAMES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")
_BFCL_NAMES: Final = {
    **dict.fromkeys(("dict", "Dict", "HashMap", "Hashtable", "Object"), "object"),
    **dict.fromkeys(("float", "double", "Double", "Float"), "number"),
    **dict.fromkeys(("int", "long", "short", "byte", "Integer", "Long", "bigint", "Bigint"), "integer"),
    **dict.fromkeys(("tuple", "list", "List", "set", "Set", "Array", "ArrayList", "Queue", "Stack"), "array"),
    **dict.fromkeys(("str", "String", "char"), "string"),
    **dict.fromkeys(("bool", "Boolean"), "boolean"),
    **dict.fromkeys(("None", "null"), "null"),
    "any": "any",
}

DIALECTS: Final[Mapping[str, Dialect]] = {
    dialect.name: dialect
    for dialect in (
        Dialect("2020-12", unknown=frozenset({"$recursiveRef"})),
        Dialect("2019-09", unknown=_SINCE_2020),
        Dialect("draft-7", unknown=_SINCE_2019, lone_refs=True),
        Dialect("draft-6", unknown=_SINCE_7, lone_refs=True),
        Dialect("draft-4", unknown=_SINCE_6, lone_refs=True, identifier="id", boolean_exclusive=True),
        Dialect("openapi-3.0", lone_refs=True, nullable=True, boolean_exclusive=True),
        Dialect("openapi-3.1"),
        Dialect("bfcl", type_names=_BFCL_NAMES),
        Dialect(
            "gemini",
            nullable=True,
            count_texts=True,
            type_names={**{name.upper(): name for name in _JSON_NAMES}, "TYPE_UNSPECIFIED": "any"},
        ),
    )
}
_ADDRESSES: Final = {
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "https://spec.openapis.org/oas/3.1/dialect/base": "openapi-3.1",
    **{f"{scheme}://json-schema.org/draft-0{draft}/schema": f"draft-{draft}" for scheme in ("http", "https") for draft in (4, 6, 7)},
    **{f"{scheme}://json-schema.org/schema": "2020-12" for scheme in ("http", "https")},
}
_VOCABULARIES: Final = {
    "applicator": frozenset(
        {
            *("additionalProperties", "allOf", "anyOf", "contains", "dependentSchemas", "else", "if", "items", "not", "oneOf"),
            *("patternProperties", "prefixItems", "properties", "propertyNames", "then"),
        }
    ),
    "unevaluated": frozenset({"unevaluatedItems", "unevaluatedProperties"}),
    "validation": frozenset(
        {
            *("const", "dependentRequired", "enum", "exclusiveMaximum", "exclusiveMinimum", "maxContains", "maxItems", "maxLength"),
            *("maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "pattern"),
            *("required", "type", "uniqueItems"),
        }
    ),
}

DESCRIBING_KEYWORDS: Final = frozenset({"$comment", "default", "deprecated", "description", "examples", "title"})


def dialect_of(address: str) -> Dialect | None:
    """The dialect that the value of ``$schema`` names, where it is one of the published ones.

    >>> dialect_of("http://json-schema.org/draft-07/schema#").name
    'draft-7'
    """
    name = _ADDRESSES.get(address.rstrip("#"))
    return None if name is None else DIALECTS[name]


def with_vocabularies(metaschema: Mapping[str, Any]) -> Dialect:
    """The dialect of a metaschema of one's own: draft 2020-12 without the vocabularies that it does not list."""
    listed = {str(address).rsplit("/", 1)[-1] for address in metaschema.get("$vocabulary", ())}
    missing = [keywords for name, keywords in _VOCABULARIES.items() if listed and name not in listed]
    return replace(DIALECTS["2020-12"], unknown=frozenset({"$recursiveRef"}).union(*missing))


def modern(schema: dict[str, Any], dialect: Dialect) -> tuple[dict[str, Any], dict[str, str]]:
    """One schema object in the keywords of draft 2020-12, with the original spelling of those that were renamed.

    What stands inside it is left as it is. ``items`` as a list and ``dependencies`` are understood in every dialect, since draft 2020-12
    has no other meaning for them.

    >>> modern({"items": [{}], "additionalItems": False}, DIALECTS["draft-7"])
    ({'prefixItems': [{}], 'items': False}, {'prefixItems': 'items', 'items': 'additionalItems'})
    """
    if dialect.lone_refs and "$ref" in schema:
        kept = DESCRIBING_KEYWORDS | DEFINITIONS | {"$ref"} | ({"nullable"} if dialect.nullable else set())
        return {keyword: value for keyword, value in schema.items() if keyword in kept}, {}
    if not (schema.keys() & _TRANSLATED or dialect.unknown & schema.keys() or dialect.type_names or dialect.count_texts):
        return schema, {}
    found = {keyword: value for keyword, value in schema.items() if keyword not in dialect.unknown}
    spelled: dict[str, str] = {}
    if isinstance(found.get("items"), list):
        found["prefixItems"] = found.pop("items")
        spelled["prefixItems"] = "items"
        if "additionalItems" in found:
            found["items"] = found["additionalItems"]
            spelled["items"] = "additionalItems"
    found.pop("additionalItems", None)
    if isinstance(found.get("dependencies"), dict):
        _split_dependencies(found, spelled)
    if dialect.boolean_exclusive:
        for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if isinstance(found.get(exclusive), bool) and found.pop(exclusive) and limit in found:
                found[exclusive] = found.pop(limit)
                spelled[exclusive] = limit
    if dialect.type_names and "type" in found:
        _rename_types(found, dialect.type_names)
    if dialect.count_texts:
        for keyword in found.keys() & _COUNTS:
            if isinstance(found[keyword], str) and found[keyword].isdecimal():
                found[keyword] = int(found[keyword])
    if "example" in found and "examples" not in found and dialect.nullable:
        found["examples"] = [found.pop("example")]
    return found, spelled


_COUNTS: Final = frozenset({"maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"})
_TRANSLATED: Final = frozenset({"additionalItems", "dependencies", "example", "exclusiveMaximum", "exclusiveMinimum", "items"})


def _split_dependencies(found: dict[str, Any], spelled: dict[str, str]) -> None:
    dependencies = found.pop("dependencies")
    parts = {
        "dependentRequired": {key: value for key, value in dependencies.items() if isinstance(value, list)},
        "dependentSchemas": {key: value for key, value in dependencies.items() if not isinstance(value, list)},
    }
    for keyword, part in parts.items():
        if part:
            found[keyword] = {**part, **found.get(keyword, {})}
            spelled[keyword] = "dependencies"


def _rename_types(found: dict[str, Any], names: Mapping[str, str]) -> None:
    declared = found["type"]
    kinds = [names.get(kind, kind) if isinstance(kind, str) else kind for kind in (declared if isinstance(declared, list) else [declared])]
    if "any" in kinds:
        del found["type"]
    else:
        found["type"] = kinds if isinstance(declared, list) else kinds[0]
