"""Where schemas stand inside schemas: the one table of keywords that hold them.

Keywords with plain data (``enum``, ``const``, ``default``, ``examples``) are not in it, so a ``$ref`` or ``$id`` that is data is never
taken for one that means something.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

__all__ = ["DEFINITIONS", "IN_PLACE", "MAPS", "SINGLES", "refs_in_schema", "subschemas"]

SINGLES: Final = frozenset(
    {
        *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
MAPS: Final = frozenset({"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"})
LISTS: Final = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
DEFINITIONS: Final = frozenset({"$defs", "definitions"})
IN_PLACE: Final = frozenset({"allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"})
"""Keywords whose schemas see the same value as the schema that they stand in."""


def subschemas(schema: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The schemas directly inside a schema, each with its keys, in order.

    >>> list(subschemas({"items": {"type": "null"}, "enum": [{"items": {}}], "anyOf": [True]}))
    [(('items',), {'type': 'null'}), (('anyOf', 0), True)]
    """
    for keyword, value in schema.items():
        if isinstance(value, dict):
            if keyword in SINGLES:
                yield (keyword,), value
            elif keyword in MAPS:
                for key, item in value.items():
                    if isinstance(item, dict | bool):
                        yield (keyword, key), item
        elif isinstance(value, list):
            if keyword in LISTS:
                for index, item in enumerate(value):
                    yield (keyword, index), item
        elif isinstance(value, bool) and keyword in SINGLES:
            yield (keyword,), value


def refs_in_schema(schema: Any) -> Iterator[str]:
    """Every ``$ref`` at or below a schema, in the order in which it is read; the definitions that it holds are left out.

    >>> list(refs_in_schema({"properties": {"$ref": {"$ref": "#/$defs/a"}}, "default": {"$ref": "#/$defs/b"}}))
    ['#/$defs/a']
    """
    waiting = [schema]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            if isinstance(found.get("$ref"), str):
                yield found["$ref"]
            inside = [item for keys, item in subschemas(found) if keys[0] not in DEFINITIONS]
            waiting.extend(reversed(inside))
