"""The parameters of an operation that stand in its path, query, headers and cookies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolbox.diagnostics import shorten
from toolbox.sources.references import References, Unreadable
from toolbox.sources.request_schemas import RequestSchemas
from toolbox.sources.styles import STYLES, is_unset, scalar_text

__all__ = ["LOCATIONS", "Parameter", "credentials", "described", "is_json", "is_password", "media_type", "read_parameters"]

LOCATIONS: Final = ("path", "query", "header", "cookie")
# Headers that OpenAPI describes elsewhere, credentials, and those that belong to the connection: none of them is a model's to set.
_NOT_PARAMETERS: Final = frozenset(
    {
        *("accept", "authorization", "connection", "content-length", "content-type", "cookie", "host", "proxy-authorization"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    }
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation.

    Attributes:
        name: its name in the request.
        location: ``path``, ``query``, ``header`` or ``cookie``.
        required: whether it must be given.
        schema: what it accepts.
        style: how it is written.
        explode: whether the parts of an array or object are written apart.
        reserved: whether reserved characters stay as they are in a query.
        content: the media type of a value that is written as a whole; empty where the style says how.
        secret: whether its value is to be masked.
    """

    name: str
    location: str
    required: bool
    schema: Any
    style: str = ""
    explode: bool = False
    reserved: bool = False
    content: str = ""
    secret: bool = False

    def written(self, value: Any) -> Any:
        """The value to be written in the parameter's style: text, where its content has a media type."""
        if not self.content:
            return None if is_unset(value) else value
        return json.dumps(value, allow_nan=False, separators=(",", ":")) if is_json(self.content) else scalar_text(self.name, value)


def read_parameters(
    references: References,
    schemas: RequestSchemas,
    item: Mapping[str, Any],
    operation: Mapping[str, Any],
    omitted: frozenset[tuple[str, str]],
) -> list[Parameter]:
    """The parameters of an operation by location, those of the path item among them.

    Args:
        references: the references of the document.
        schemas: the schemas of the document.
        item: the path item.
        operation: the operation; its parameters stand instead of those of the path item with the same name and location.
        omitted: location and name of those that carry credentials.

    Raises:
        Unreadable: one of them cannot be used.
    """
    found: dict[tuple[str, str], Parameter] = {}
    for holder in (item, operation):
        listed = holder.get("parameters", [])
        if not isinstance(listed, list):
            raise Unreadable("its parameters must be a list")
        for item_or_reference in listed:
            declared = references.follow(item_or_reference, "a parameter")
            name, location = declared.get("name"), declared.get("in")
            if not isinstance(name, str) or not name:
                raise Unreadable("a parameter has no name")
            if location not in LOCATIONS:
                raise Unreadable(f"the parameter {name!r} is in {shorten(location)}; it can be in {', '.join(LOCATIONS)}")
            if location == "header" and name.lower() in _NOT_PARAMETERS:
                continue
            if (location, name.lower() if location == "header" else name) in omitted:
                continue
            try:
                found[location, name] = _parameter(schemas, declared, name, location)
            except Unreadable as error:
                raise Unreadable(f"the parameter {name!r}: {error}") from error
    return sorted(found.values(), key=lambda parameter: LOCATIONS.index(parameter.location))


def credentials(references: References) -> frozenset[tuple[str, str]]:
    """Location and name of the parameters that the document's security schemes set."""
    components = references.document.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
    found: set[tuple[str, str]] = set()
    for declared in schemes.values() if isinstance(schemes, Mapping) else ():
        try:
            scheme = references.follow(declared, "a security scheme")
        except Unreadable:
            continue  # Whoever sets the credentials reads the schemes; here they only say which parameters are not the model's.
        name, location = scheme.get("name"), scheme.get("in")
        if scheme.get("type") == "apiKey" and isinstance(name, str) and isinstance(location, str):
            found.add((location, name.lower() if location == "header" else name))
    return frozenset(found)


def media_type(key: str) -> str:
    """A media type without its parameters, in small letters.

    >>> media_type("Application/JSON; charset=utf-8")
    'application/json'
    """
    return key.partition(";")[0].strip().lower()


def is_json(content: str) -> bool:
    """Whether a media type is JSON, or based on it."""
    found = media_type(content)
    return found in {"application/json", "text/json"} or found.endswith("+json")


def is_password(schema: Any) -> bool:
    """Whether a schema says that its text is to be hidden."""
    return isinstance(schema, dict) and schema.get("format") == "password"


def described(schema: Any, holder: Mapping[str, Any]) -> Any:
    """A schema with the words of the parameter, property or body that it belongs to."""
    words: dict[str, Any] = {}
    if isinstance(holder.get("description"), str) and holder["description"].strip():
        words["description"] = holder["description"].strip()
    if holder.get("deprecated") is True:
        words["deprecated"] = True
    if "example" in holder:
        words["examples"] = [holder["example"]]
    elif isinstance(holder.get("examples"), Mapping):
        values = [item["value"] for item in holder["examples"].values() if isinstance(item, Mapping) and "value" in item]
        words.update({"examples": values} if values else {})
    if not words:
        return schema
    if isinstance(schema, bool):
        schema = {} if schema else {"not": {}}
    if not isinstance(schema, dict):
        return schema
    kept = {keyword: value for keyword, value in schema.items() if keyword != "example" or "examples" not in words}
    return {**kept, **words}


def _parameter(schemas: RequestSchemas, declared: Mapping[str, Any], name: str, location: str) -> Parameter:
    content = declared.get("content")
    written = ""
    if content is not None:
        if not isinstance(content, Mapping) or len(content) != 1:
            raise Unreadable("its content must have exactly one media type")
        written, media = next(iter(content.items()))
        written = str(written)
        if not is_json(written) and not media_type(written).startswith("text/"):
            raise Unreadable(f"its content is {written}; JSON and text are supported")
        schema = media.get("schema", {}) if isinstance(media, Mapping) else {}
    else:
        schema = declared.get("schema", {})
    known = STYLES[location]
    style = declared.get("style", known[0])
    if style not in known and not written:
        raise Unreadable(f"its style is {shorten(style)}; in {location} it can be {', '.join(known)}")
    explode = declared.get("explode", style == "form")
    return Parameter(
        name=name,
        location=location,
        required=location == "path" or declared.get("required") is True,
        schema=described(schemas.converted(schema), declared),
        style=known[0] if written else style,
        explode=explode is True and not written,
        reserved=declared.get("allowReserved") is True and location == "query",
        content=written,
        secret=is_password(schemas.resolved(schema)),
    )
