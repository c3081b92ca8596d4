"""The body of an operation: which of its media types is sent, which arguments it is made of, and how it is written."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolbox.diagnostics import shorten
from toolbox.sources.names import digest
from toolbox.sources.parameters import described, is_json, is_password, media_type
from toolbox.sources.references import References, Unreadable
from toolbox.sources.request_schemas import Flat, RequestSchemas
from toolbox.sources.styles import STYLES, CannotSend, query_pairs, scalar_text

__all__ = ["Body", "Property", "read_body"]

_FORM: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = "multipart/form-data"
_ANY_RANGES: Final = frozenset({"*/*", "application/*"})
_BASE64: Final = {"type": "string", "contentEncoding": "base64"}


@dataclass(frozen=True, slots=True)
class Property:
    """One property of a body.

    Attributes:
        schema: what it accepts as an argument.
        required: whether it must be given.
        binary: whether it comes as base64 text and is sent as bytes.
        content: its media type, where it is sent on its own; empty for what its value calls for.
        style: how it is written in a form; empty where its media type says how.
        explode: whether the parts of an array or object are written apart.
        reserved: whether reserved characters stay as they are.
        secret: whether its value is to be masked.
    """

    schema: Any
    required: bool = False
    binary: bool = False
    content: str = ""
    style: str = ""
    explode: bool = False
    reserved: bool = False
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """The body of an operation.

    Attributes:
        content: the media type that is sent.
        required: whether there must be one.
        schema: what it accepts as one argument.
        write: makes the bytes of a value, and the ``Content-Type``.
        properties: its properties by name, where they can be given as arguments of their own; else empty.
        is_json: whether it is JSON.
    """

    content: str
    required: bool
    schema: Any
    write: Callable[[Any], tuple[bytes, str]]
    properties: dict[str, Property] = field(default_factory=dict)
    is_json: bool = False


def read_body(references: References, schemas: RequestSchemas, operation: Mapping[str, Any]) -> Body | None:
    """The body of an operation; None where it has none.

    Raises:
        Unreadable: it cannot be used, or has no media type that is supported.
    """
    if operation.get("requestBody") is None:
        return None
    declared = references.follow(operation["requestBody"], "the requestBody")
    content = declared.get("content")
    if not isinstance(content, Mapping) or not content:
        raise Unreadable("its requestBody has no content")
    required = declared.get("required") is True
    ranked = sorted((rank, index, str(key), media) for index, (key, media) in enumerate(content.items()) if (rank := _rank(str(key))) < 9)
    for _, _, key, declared_media in ranked:
        media = references.follow({} if declared_media is None else declared_media, f"the content {key}")
        if (found := _read_media(schemas, key, media, declared, required=required)) is not None:
            return found
    sendable = f"JSON, {_FORM}, {_MULTIPART}, and text or bytes as a whole"
    raise Unreadable(f"its requestBody can only be {', '.join(map(str, content))}; supported are {sendable}")


def _rank(key: str) -> int:
    """Which media type is sent where there are several; 9 for those that never are."""
    found = media_type(key)
    if found == "application/json":
        return 0
    if is_json(found):
        return 1
    if found in _ANY_RANGES:
        return 2
    if found == _FORM:
        return 3
    if found == _MULTIPART:
        return 4
    if found.startswith("multipart/") or "/" not in found:
        return 9
    return 5 if found.startswith("text/") else 6


def _read_media(schemas: RequestSchemas, key: str, media: Mapping[str, Any], declared: Mapping[str, Any], *, required: bool) -> Body | None:
    found = media_type(key)
    if is_json(found) or found in _ANY_RANGES:
        return _read_json("application/json" if found in _ANY_RANGES else key, schemas, media, declared, required=required)
    if found in {_FORM, _MULTIPART}:
        return _read_form(key, schemas, media, declared, required=required)
    return _read_whole(key, schemas, media, declared, required=required)


def _read_json(content: str, schemas: RequestSchemas, media: Mapping[str, Any], declared: Mapping[str, Any], *, required: bool) -> Body:
    schema = media.get("schema", {})
    flat = schemas.flat(schema)
    properties: dict[str, Property] = {}
    if flat is not None:
        properties = _merged({name: _property(schemas, name, flat) for name in flat.properties}, flat, required=required)
    whole = described(schemas.converted(schema), _words(media, declared))
    return Body(content, required, whole, lambda value: (_json_bytes(value), content), properties, is_json=True)


def _read_whole(key: str, schemas: RequestSchemas, media: Mapping[str, Any], declared: Mapping[str, Any], *, required: bool) -> Body | None:
    """A body of text or bytes; None where it is made of something else."""
    whole = schemas.resolved(media.get("schema", {}))
    if not isinstance(whole, dict) or whole.keys() & {"properties", "allOf", "anyOf", "oneOf"}:
        return None
    kinds = whole.get("type", [])
    kinds = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind != "null"]
    if any(kind != "string" for kind in kinds):
        return None
    found = media_type(key)
    is_text = found.startswith("text/")
    schema = described(schemas.converted(media.get("schema", {})), _words(media, declared))
    if _is_binary(whole) or not (kinds or is_text):
        content = "application/octet-stream" if "*" in found else key
        return Body(content, required, _as_base64(schema), lambda value: (_bytes_of("body", value), content))
    content = "text/plain" if "*" in found else key
    if (is_text or found.endswith("xml")) and "charset" not in key.lower():
        content += "; charset=utf-8"
    if not kinds:
        schema = {"type": "string", **schema}
    return Body(content, required, schema, lambda value: (scalar_text("body", value).encode(), content))


def _words(media: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """What describes a body."""
    return {**{key: media[key] for key in ("example", "examples") if key in media}, "description": declared.get("description")}


def _property(schemas: RequestSchemas, name: str, flat: Flat) -> Property:
    parts = flat.properties[name]
    converted = [schemas.converted(part) for part in parts]
    distinct = [item for index, item in enumerate(converted) if item not in converted[:index]]
    return Property(
        schema=distinct[0] if len(distinct) == 1 else {"allOf": distinct},
        required=name in flat.required,
        secret=any(is_password(schemas.resolved(part)) for part in parts),
    )


def _merged(properties: dict[str, Property], flat: Flat, *, required: bool) -> dict[str, Property]:
    # A body that may be left out, but not in part, can only be given as a whole.
    return properties if required or not flat.required else {}


def _read_form(key: str, schemas: RequestSchemas, media: Mapping[str, Any], declared: Mapping[str, Any], *, required: bool) -> Body:
    is_multipart = media_type(key) == _MULTIPART
    encodings = media.get("encoding") or {}
    flat = schemas.flat(media.get("schema", {}))
    properties: dict[str, Property] = {}
    if flat is None:
        whole = schemas.converted(media.get("schema", {}))
    else:
        for name in flat.properties:
            encoding = (encodings.get(name) or {}) if isinstance(encodings, Mapping) else None
            if not isinstance(encoding, Mapping):
                raise Unreadable(f"the encoding of {name!r} in its requestBody must be an object")
            properties[name] = (_multipart_property if is_multipart else _form_property)(schemas, name, flat, encoding)
        whole = {"type": "object", "properties": {name: item.schema for name, item in properties.items()}}
        if flat.required:
            whole["required"] = list(flat.required)
    write = _multipart_writer(properties) if is_multipart else _form_writer(properties)
    merged = {} if flat is None else _merged(properties, flat, required=required)
    return Body(key, required, described(whole, _words(media, declared)), write, merged)


def _multipart_property(schemas: RequestSchemas, name: str, flat: Flat, encoding: Mapping[str, Any]) -> Property:
    plain = replace(_property(schemas, name, flat), content=_content_type(encoding))
    whole = schemas.resolved(flat.properties[name][-1])
    if _is_binary(whole):
        return replace(plain, schema=_as_base64(plain.schema), binary=True)
    if isinstance(whole, dict) and whole.get("type") == "array" and _is_binary(schemas.resolved(whole.get("items"))):
        return replace(plain, schema={**schemas.converted(whole), "items": _as_base64(schemas.converted(whole["items"]))}, binary=True)
    return plain


def _form_property(schemas: RequestSchemas, name: str, flat: Flat, encoding: Mapping[str, Any]) -> Property:
    plain = _property(schemas, name, flat)
    if not encoding.keys() & {"style", "explode", "allowReserved"}:
        return replace(plain, content=_content_type(encoding))
    style = encoding.get("style", "form")
    if style not in STYLES["query"]:
        raise Unreadable(f"the style of {name!r} in its requestBody is {shorten(style)}; it can be {', '.join(STYLES['query'])}")
    explode = encoding.get("explode", style == "form") is True
    return replace(plain, style=style, explode=explode, reserved=encoding.get("allowReserved") is True)


def _content_type(encoding: Mapping[str, Any]) -> str:
    """The first of the media types that a property can be sent as; empty where it is left open."""
    found = str(encoding.get("contentType") or "").partition(",")[0].strip()
    return "" if "*" in found else found


def _is_binary(schema: Any) -> bool:
    """Whether a schema stands for bytes: ``format: binary``, or since 3.1 a media type without an encoding as text."""
    if not isinstance(schema, dict):
        return False
    if schema.get("format") == "binary":
        return True
    return isinstance(schema.get("contentMediaType"), str) and "contentEncoding" not in schema and schema.get("type") in (None, "string")


def _as_base64(schema: Any) -> dict[str, Any]:
    """What the argument for bytes accepts: text in base64."""
    told = schema if isinstance(schema, dict) else {}
    words = {keyword: told[keyword] for keyword in ("title", "description", "deprecated", "nullable") if keyword in told}
    words["description"] = f"{words.get('description', 'The bytes')} (in base64)"
    return {**_BASE64, **words}


def _bytes_of(name: str, value: Any) -> bytes:
    try:
        return base64.b64decode(scalar_text(name, value), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise CannotSend(name, f"it must be base64: {error}") from error


def _json_bytes(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CannotSend("body", "a form is written from an object")
    return value


def _form_writer(properties: Mapping[str, Property]) -> Callable[[Any], tuple[bytes, str]]:
    def write(value: Any) -> tuple[bytes, str]:
        pairs: list[tuple[str, str]] = []
        taken = {*_object(value), *properties}
        for name, item in value.items():
            how = properties.get(name, Property({}))
            if how.style:
                pairs.extend(query_pairs(name, item, how.style, explode=how.explode, reserved=how.reserved, taken=taken))
                continue
            for part in item if isinstance(item, list) else [item]:
                if part is not None:
                    pairs.extend(query_pairs(name, _part_text(name, part, how.content), "form", explode=True))
        return "&".join(f"{key}={text}" for key, text in pairs).encode("ascii"), _FORM

    return write


def _part_text(name: str, value: Any, content: str) -> str:
    if is_json(content) or isinstance(value, list | dict):
        return _json_bytes(value).decode()
    return scalar_text(name, value)


def _multipart_writer(properties: Mapping[str, Property]) -> Callable[[Any], tuple[bytes, str]]:
    def write(value: Any) -> tuple[bytes, str]:
        parts: list[tuple[bytes, bytes]] = []
        for name, item in _object(value).items():
            how = properties.get(name, Property({}))
            parts.extend(_part(name, part, how) for part in (item if isinstance(item, list) else [item]) if part is not None)
        boundary = _boundary(parts)
        lines = b"".join(b"--" + boundary + b"\r\n" + head + b"\r\n\r\n" + data + b"\r\n" for head, data in parts)
        return lines + b"--" + boundary + b"--\r\n", f"{_MULTIPART}; boundary={boundary.decode()}"

    return write


def _part(name: str, value: Any, how: Property) -> tuple[bytes, bytes]:
    quoted = name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")
    head = f'Content-Disposition: form-data; name="{quoted}"'
    content = how.content
    if how.binary:
        data = _bytes_of(name, value)
        head += f'; filename="{quoted}"'
        content = content or "application/octet-stream"
    else:
        data = _part_text(name, value, content).encode()
        content = content or ("application/json" if isinstance(value, list | dict) else "")
    if content:
        head += f"\r\nContent-Type: {content}"
    return head.encode(), data


def _boundary(parts: list[tuple[bytes, bytes]]) -> bytes:
    """A line that is in none of the parts; the same for the same parts, so that a request can be repeated to the letter."""
    whole = b"\0".join(part for pair in parts for part in pair)
    boundary = f"toolbox-{digest(whole)}".encode()
    while boundary in whole:
        boundary = f"toolbox-{digest(boundary + whole)}".encode()
    return boundary
