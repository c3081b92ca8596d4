"""Where a ``$ref`` leads: addresses, anchors and JSON pointers. Nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from toolbox.diagnostics import Path
from toolbox.schema.dialects import Dialect, dialect_of, with_vocabularies
from toolbox.schema.places import subschemas

__all__ = ["Place", "References", "Scope"]


class Scope(NamedTuple):
    """What a schema takes over from those around it.

    Attributes:
        base: the address that relative references start from.
        dialect: the flavour that it is written in.
    """

    base: str
    dialect: Dialect


class Place(NamedTuple):
    """A schema that a reference leads to.

    Attributes:
        schema: the schema.
        scope: what it takes over from those around it.
        path: where it stands.
        name: the last part of the way to it; may be empty.
    """

    schema: Any
    scope: Scope
    path: Path
    name: str = ""


class References:
    """The documents at hand, by address, and what in them has an address or an anchor of its own.

    Attributes:
        used: the address of each further document that was looked into, to its schema.
    """

    def __init__(self, schema: Any, resources: Mapping[str, Any], scope: Scope) -> None:
        self.used: dict[str, Any] = {}
        self._resources = {urldefrag(address).url: resource for address, resource in resources.items()}
        self._unread = dict(self._resources)
        self._dialect = scope.dialect
        self._places: dict[str, Place] = {}
        self._index(Place(schema, scope, None))

    def metaschema_dialect(self, address: str) -> Dialect | None:
        """The dialect that a ``$schema`` names: a published one, or one whose metaschema is among the resources."""
        known = dialect_of(address)
        if known is None and isinstance(metaschema := self._resources.get(address.rstrip("#")), dict):
            return with_vocabularies(metaschema)
        return known

    def enter(self, schema: dict[str, Any], scope: Scope) -> Scope:
        """The scope inside a schema, which may have an address of its own."""
        identifier = schema.get(scope.dialect.identifier)
        if not isinstance(identifier, str) or (scope.dialect.lone_refs and "$ref" in schema):
            return scope
        address = urldefrag(_joined(scope.base, identifier)).url
        dialect = scope.dialect
        if isinstance(named := schema.get("$schema"), str):
            dialect = self.metaschema_dialect(named) or dialect
        return Scope(address, dialect) if address != scope.base or dialect is not scope.dialect else scope

    def resolve(self, reference: str, scope: Scope) -> Place | None:
        """What a reference leads to, or None when it leads nowhere."""
        address, fragment = urldefrag(_joined(scope.base, reference))
        found = self._document(address)
        if found is None or not fragment:
            return found
        if not fragment.startswith("/"):
            return self._places.get(f"{address}#{unquote(fragment)}")
        return self._at_pointer(found, unquote(fragment))

    def _document(self, address: str) -> Place | None:
        if address not in self._places and address in self._unread:
            self._read(address)
        if address not in self._places:
            # It may be the address that a part of some document gives to itself.
            for other in list(self._unread):
                self._read(other)
        return self._places.get(address)

    def _read(self, address: str) -> None:
        resource = self._unread.pop(address)
        self.used[address] = resource
        dialect = self._dialect
        if isinstance(resource, dict) and isinstance(named := resource.get("$schema"), str):
            dialect = self.metaschema_dialect(named) or dialect
        self._index(Place(resource, Scope(address, dialect), (None, address), _short_name(address)))

    def _index(self, document: Place) -> None:
        """Note every address and anchor in a document."""
        self._places.setdefault(document.scope.base, document)
        waiting = [document]
        seen: set[tuple[int, str]] = set()  # one Python object may stand in many places, even inside itself
        while waiting:
            schema, scope, path, _ = waiting.pop()
            if not isinstance(schema, dict) or (id(schema), scope.base) in seen:
                continue
            seen.add((id(schema), scope.base))
            inner = self.enter(schema, scope)
            if inner.base != scope.base:
                self._places.setdefault(inner.base, Place(schema, scope, path, _short_name(inner.base)))
            for anchor in _anchors(schema, scope):
                self._places.setdefault(f"{inner.base}#{anchor}", Place(schema, scope, path, anchor))
            for keys, inside in subschemas(schema):
                if isinstance(inside, dict):
                    waiting.append(Place(inside, inner, _down(path, keys), str(keys[-1])))

    def _at_pointer(self, document: Place, pointer: str) -> Place | None:
        schema, scope, path, name = document
        for token in pointer.split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
            key: str | int = name
            if isinstance(schema, dict) and name in schema:
                scope = self.enter(schema, scope)
                schema = schema[name]
            elif isinstance(schema, list) and name.isdecimal() and int(name) < len(schema):
                key = int(name)
                schema = schema[key]
            else:
                return None
            path = (path, key)
        return Place(schema, scope, path, name)


def _joined(base: str, reference: str) -> str:
    # urljoin knows no addresses without a hierarchy, such as urn:
    return base + reference if reference.startswith("#") else urljoin(base, reference)


def _short_name(address: str) -> str:
    return address.rsplit("/", 1)[-1].removesuffix(".json")


def _down(path: Path, keys: tuple[str | int, ...]) -> Path:
    for key in keys:
        path = (path, key)
    return path


def _anchors(schema: dict[str, Any], scope: Scope) -> list[str]:
    """The anchors of a schema: before draft 2019-09, an address that is only a fragment is one."""
    dialect = scope.dialect
    found = [schema.get(keyword) for keyword in ("$anchor", "$dynamicAnchor") if keyword not in dialect.unknown]
    identifier = schema.get(dialect.identifier)
    if dialect.lone_refs and isinstance(identifier, str) and "#" in identifier and "$ref" not in schema:
        found.append(urldefrag(identifier).fragment)
    return [anchor for anchor in found if isinstance(anchor, str) and anchor]
