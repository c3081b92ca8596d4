"""What the value of a keyword must be: one check for each keyword whose value can be wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolbox.diagnostics import json_name, shorten

__all__ = ["CHECKS", "COUNTS"]

_TYPES: Final = ("string", "integer", "number", "boolean", "array", "object", "null")
_MISNAMED: Final = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "set": "array",
    "dict": "object",
    "map": "object",
    "None": "null",
    "none": "null",
    "NoneType": "null",
}


def _number(value: Any) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return None
    return f"it must be a number, not {shorten(value)}"


def _exclusive(value: Any) -> str | None:
    if isinstance(value, bool):
        return f"it must be the limit itself, not {shorten(value)} beside another limit (as draft 4 had it)"
    return _number(value)


def _step(value: Any) -> str | None:
    return _number(value) or (None if value > 0 else f"it must be more than 0, not {shorten(value)}")


def _count(value: Any) -> str | None:
    if _number(value) is None and value >= 0 and value == int(value):
        return None
    return f"it must be a whole number of at least 0, not {shorten(value)}"


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else f"it must be text, not {json_name(value)}"


def _boolean(value: Any) -> str | None:
    return None if isinstance(value, bool) else f"it must be true or false, not {shorten(value)}"


def _list(value: Any) -> str | None:
    return None if isinstance(value, list | tuple) else f"it must be an array, not {json_name(value)}"


def _schemas(value: Any) -> str | None:
    return _list(value) or (None if value else "it must hold at least one schema")


def _names(value: Any) -> str | None:
    if isinstance(value, bool):
        return f"it must be an array of names, not {shorten(value)}: list the name in the `required` of the object that holds it"
    if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
        return None
    return f"it must be an array of names, not {shorten(value)}"


def _object(value: Any) -> str | None:
    return None if isinstance(value, dict) else f"it must be an object, not {json_name(value)}"


def _name_lists(value: Any) -> str | None:
    return _object(value) or next((message for names in value.values() if (message := _names(names))), None)


def _kinds(value: Any) -> str | None:
    if isinstance(value, str):
        return None if value in _TYPES else _misnamed(value)
    if isinstance(value, list | tuple) and value:
        return next((_misnamed(kind) for kind in value if not isinstance(kind, str) or kind not in _TYPES), None)
    return f"it must be the name of a type or an array of such names, not {shorten(value)}"


def _misnamed(name: Any) -> str:
    from difflib import get_close_matches

    text = str(name).lower()
    near = _MISNAMED.get(text) or next(iter(get_close_matches(text, _TYPES, n=1)), None)
    return f"{shorten(name)} is no type" + (f'; write "{near}"' if near else f"; the types are {', '.join(_TYPES)}")


COUNTS: Final = frozenset({"maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"})
CHECKS: Final[Mapping[str, Callable[[Any], str | None]]] = {
    "type": _kinds,
    "multipleOf": _step,
    "uniqueItems": _boolean,
    "deprecated": _boolean,
    "required": _names,
    "dependentRequired": _name_lists,
    "enum": _list,
    "examples": _list,
    **dict.fromkeys(COUNTS | {"maxContains", "minContains"}, _count),
    **dict.fromkeys(("maximum", "minimum"), _number),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum"), _exclusive),
    **dict.fromkeys(("$ref", "contentEncoding", "description", "format", "pattern", "title"), _text),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _schemas),
    **dict.fromkeys(("dependentSchemas", "patternProperties", "properties"), _object),
}
"""What is wrong with the value of a keyword, or None."""
