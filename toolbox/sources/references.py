"""Where the references of an OpenAPI document lead. They stay inside the document; nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from toolbox.diagnostics import shorten
from toolbox.schema.places import subschemas

__all__ = ["References", "Unreadable"]

_CHAIN: Final = 32


class Unreadable(Exception):
    """A part of a document cannot be used; the text says why."""


class References:
    """Follows references in one document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self._named: dict[str, Any] | None = None

    def at(self, reference: Any) -> Any:
        """What a reference leads to.

        Raises:
            Unreadable: it leads nowhere, or out of the document.
        """
        if not isinstance(reference, str):
            raise Unreadable(f"the $ref {shorten(reference)} must be text")
        base, _, fragment = reference.partition("#")
        if not base and fragment.startswith("/"):
            return self._pointed(self.document, fragment, reference)
        if reference == "#":
            return self.document
        named = self._names()
        if reference in named:
            return named[reference]
        if base in named and fragment.startswith("/"):
            return self._pointed(named[base], fragment, reference)
        where = (
            "leads nowhere in the document" if not base else "leads out of the document, and nothing is fetched: bundle the documents first"
        )
        raise Unreadable(f"the $ref {shorten(reference)} {where}")

    def follow(self, value: Any, what: str) -> Mapping[str, Any]:
        """An object of the document, or the one that a Reference Object in its place leads to.

        Raises:
            Unreadable: it is none.
        """
        for _ in range(_CHAIN):
            if not isinstance(value, Mapping):
                raise Unreadable(f"{what} must be an object, not {shorten(value)}")
            if "$ref" not in value:
                return value
            beside = {key: item for key, item in value.items() if key in {"description", "summary"}}
            value = self.at(value["$ref"])
            if beside and isinstance(value, Mapping):
                value = {**value, **beside}
        raise Unreadable(f"{what} is a $ref that leads to itself")

    def _pointed(self, value: Any, fragment: str, reference: str) -> Any:
        for token in unquote(fragment).split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(value, Mapping) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            else:
                raise Unreadable(f"the $ref {shorten(reference)} leads nowhere in the document")
        return value

    def _names(self) -> dict[str, Any]:
        """The schemas of the components that have an address or an anchor of their own."""
        if self._named is None:
            self._named = {}
            components = self.document.get("components")
            schemas = components.get("schemas") if isinstance(components, Mapping) else None
            waiting = list(schemas.values()) if isinstance(schemas, Mapping) else []
            seen: set[int] = set()
            while waiting:
                schema = waiting.pop()
                if not isinstance(schema, dict) or id(schema) in seen:
                    continue
                seen.add(id(schema))
                if isinstance(schema.get("$anchor"), str):
                    self._named.setdefault(f"#{schema['$anchor']}", schema)
                if isinstance(schema.get("$id"), str):
                    self._named.setdefault(schema["$id"], schema)
                waiting.extend(inside for _, inside in subschemas(schema))
        return self._named
