"""The schemas of an OpenAPI document as those of requests: self-contained, and without what only responses hold."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from toolbox.diagnostics import shorten
from toolbox.schema.places import DEFINITIONS, LISTS, MAPS, SINGLES, refs_in_schema
from toolbox.sources.references import References, Unreadable

__all__ = ["Flat", "RequestSchemas"]

_DEPTH: Final = 100
_SCHEMAS: Final = 50_000
_DEFS: Final = "#/$defs/"
# What says nothing about requests, or nothing once the references lead to the schema's own definitions.
_DROPPED: Final = frozenset({"$anchor", "$id", "$schema", "externalDocs", "readOnly", "writeOnly", "xml"}) | DEFINITIONS
_KNOWN_DIALECTS: Final = ("https://spec.openapis.org/oas/3.1/dialect/", "https://json-schema.org/draft/2020-12/schema")
# What may stand in a schema beside its properties without saying anything more about the object as a whole.
_PLAIN: Final = frozenset(
    {"$comment", "allOf", "default", "deprecated", "description", "example", "examples", "properties", "required", "title", "type"}
)


class Flat:
    """An object whose properties stand on their own.

    Attributes:
        properties: the schemas of each property, as the document has them; more than one where several parts of an ``allOf`` have it.
        required: the names of those that must be given.
    """

    __slots__ = ("properties", "required")

    def __init__(self) -> None:
        self.properties: dict[str, list[Any]] = {}
        self.required: dict[str, None] = {}


class RequestSchemas:
    """Makes schemas of requests, with one set of definitions for the whole document."""

    def __init__(self, references: References, *, lone_refs: bool) -> None:
        self._references = references
        self._lone_refs = lone_refs
        self._names: dict[str, str] = {}
        self._targets: dict[str, str] = {}
        self._made: dict[str, Any] = {}
        self._needs: dict[str, list[str]] = {}
        self._count = 0
        self._open: set[int] = set()

    def converted(self, schema: Any) -> Any:
        """A schema for requests; its references lead to ``$defs``.

        Raises:
            Unreadable: it is too large or holds itself.
        """
        self._count = 0
        self._open.clear()
        return self._converted(schema, 0)

    def definitions(self, schema: Any) -> dict[str, Any]:
        """The definitions that a converted schema needs, those that they need among them.

        Raises:
            Unreadable: a reference leads nowhere.
        """
        needed: dict[str, Any] = {}
        waiting = deque(_definition_names(schema))
        while waiting:
            name = waiting.popleft()
            if name in needed:
                continue
            needed[name] = self._definition(name)
            waiting.extend(self._needs[name])
        return needed

    def resolved(self, schema: Any) -> Any:
        """The schema that a schema stands for: at the end of its references.

        Raises:
            Unreadable: a reference leads nowhere, or to itself.
        """
        seen: set[str] = set()
        while isinstance(schema, dict) and isinstance(reference := schema.get("$ref"), str):
            if reference in seen:
                raise Unreadable(f"the $ref {shorten(reference)} leads to itself")
            seen.add(reference)
            schema = self._references.at(reference)
        return schema

    def flat(self, schema: Any) -> Flat | None:
        """The properties that can be written by the request, when the schema says nothing else about its object.

        Raises:
            Unreadable: a reference leads nowhere, or to itself.
        """
        self.resolved(schema)
        found = Flat()
        if not self._flatten(schema, found, 0):
            return None
        hidden = {name for name, schemas in found.properties.items() if any(self.is_read_only(item) for item in schemas)}
        for name in hidden:
            del found.properties[name]
            found.required.pop(name, None)
        return found if found.required.keys() <= found.properties.keys() else None

    def is_read_only(self, schema: Any) -> bool:
        """Whether only responses hold it."""
        waiting, seen = [schema], set()
        while waiting:
            item = waiting.pop()
            if not isinstance(item, dict) or id(item) in seen:
                continue
            seen.add(id(item))
            reference = item.get("$ref")
            if isinstance(reference, str):
                waiting.append(self._references.at(reference))
                if self._lone_refs:
                    continue
            if item.get("readOnly") is True:
                return True
            if isinstance(item.get("allOf"), list):
                waiting.extend(item["allOf"])
        return False

    def _flatten(self, schema: Any, found: Flat, depth: int, *, part: bool = False) -> bool:
        if not isinstance(schema, dict) or depth > 16:
            return False
        if "$ref" in schema:
            beside = schema.keys() - {"$ref", "description", "summary", "title"}
            if beside and not self._lone_refs:
                return False
            return self._flatten(self._references.at(schema["$ref"]), found, depth + 1, part=part)
        kept = {str(keyword) for keyword in schema if keyword not in _DROPPED and not str(keyword).startswith("x-")}
        if schema.get("additionalProperties") is False:
            kept.discard("additionalProperties")
        if schema.get("nullable") is False:
            kept.discard("nullable")
        if not kept <= _PLAIN or schema.get("type", "object") != "object":
            return False
        properties, required, parts = schema.get("properties", {}), schema.get("required", []), schema.get("allOf", [])
        if not isinstance(properties, dict) or not isinstance(required, list) or not isinstance(parts, list):
            return False
        if schema.get("additionalProperties") is False and (parts or part):
            # A part that is closed forbids what the other parts have.
            return False
        if not all(self._flatten(item, found, depth + 1, part=True) for item in parts):
            return False
        for name, item in properties.items():
            found.properties.setdefault(str(name), []).append(item)
        found.required.update(dict.fromkeys(str(name) for name in required))
        return True

    def _converted(self, schema: Any, depth: int, hidden_around: frozenset[str] = frozenset()) -> Any:
        if not isinstance(schema, dict):
            return schema
        self._count += 1
        if depth > _DEPTH or id(schema) in self._open or self._count > _SCHEMAS:
            raise Unreadable(
                f"a schema holds itself, is nested more than {_DEPTH} levels deep, or consists of more than {_SCHEMAS:,} schemas"
            )
        named = schema.get("$schema")
        if isinstance(named, str) and not named.rstrip("#").startswith(_KNOWN_DIALECTS):
            raise Unreadable(f"a schema in the dialect {shorten(named)} inside the document is not supported")
        self._open.add(id(schema))
        hidden = self._hidden(schema) | hidden_around
        made: dict[str, Any] = {}
        for key, value in schema.items():
            keyword = str(key)
            if keyword in _DROPPED or keyword.startswith("x-"):
                continue
            if keyword == "$ref" and isinstance(value, str):
                made[keyword] = _DEFS + self._name_of(value)
            elif keyword == "required" and isinstance(value, list):
                if kept := [name for name in value if not isinstance(name, str) or name not in hidden]:
                    made[keyword] = kept
            elif keyword == "discriminator" and isinstance(value, dict):
                made[keyword] = {key: item for key, item in value.items() if key == "propertyName"}
            elif keyword == "example" and not self._lone_refs:
                made.setdefault("examples", [value])
            elif isinstance(value, dict) and keyword in MAPS:
                made[keyword] = {
                    str(name): self._converted(item, depth + 1)
                    for name, item in value.items()
                    if keyword != "properties" or name not in hidden
                }
            elif isinstance(value, list) and keyword in LISTS:
                made[keyword] = [self._converted(item, depth + 1, hidden if keyword == "allOf" else frozenset()) for item in value]
            elif keyword in SINGLES:
                made[keyword] = self._converted(value, depth + 1)
            else:
                made[keyword] = value
        self._open.discard(id(schema))
        return made

    def _hidden(self, schema: dict[str, Any]) -> frozenset[str]:
        """The properties of an object that only responses hold, as the schema or the parts of its ``allOf`` say."""
        hidden: set[str] = set()
        waiting: list[Any] = [schema] if schema.keys() & {"allOf", "properties"} else []
        seen: set[int] = set()
        while waiting:
            part = waiting.pop()
            if not isinstance(part, dict) or id(part) in seen:
                continue
            seen.add(id(part))
            if isinstance(part.get("$ref"), str):
                waiting.append(self._references.at(part["$ref"]))
            if isinstance(part.get("properties"), dict):
                hidden.update(name for name, item in part["properties"].items() if self.is_read_only(item))
            if isinstance(part.get("allOf"), list):
                waiting.extend(part["allOf"])
        return frozenset(hidden)

    def _name_of(self, reference: str) -> str:
        name = self._names.get(reference)
        if name is None:
            wanted = re.sub(r"\W+", "_", reference.rsplit("/", 1)[-1].rsplit("#", 1)[-1], flags=re.ASCII).strip("_") or "schema"
            name, number = wanted, 1
            while name in self._targets:
                number += 1
                name = f"{wanted}_{number}"
            self._names[reference] = name
            self._targets[name] = reference
        return name

    def _definition(self, name: str) -> Any:
        if name not in self._made:
            try:
                self._made[name] = self.converted(self._references.at(self._targets[name]))
            except Unreadable as error:
                self._made[name] = error
            self._needs[name] = list(dict.fromkeys(_definition_names(self._made[name])))
        made = self._made[name]
        if isinstance(made, Unreadable):
            raise Unreadable(str(made))
        return made


def _definition_names(schema: Any) -> Iterator[str]:
    for reference in refs_in_schema(schema):
        if reference.startswith(_DEFS):
            yield reference.removeprefix(_DEFS)
