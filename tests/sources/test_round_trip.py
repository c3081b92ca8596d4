"""Whatever fits the schema is read back from the request as the same value; what could be read as another value is refused.

The reading side is written here anew, from the specification: by splitting at delimiters and percent-decoding, with the schema at hand.
"""

import base64
import email
import email.policy
import json
from email.message import EmailMessage
from typing import Any
from urllib.parse import parse_qsl, unquote

from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox import STRICT, Registry
from toolbox.sources import CannotSend, Request, read_openapi

TEXTS = st.text(st.sampled_from(" ,;:./|=&?#%+[]{}\"'\\\t\r\n\x00aé名R") | st.characters(exclude_categories=["Cs"]), max_size=6)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "integer": st.integers(),
    "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
    "boolean": st.booleans(),
}
STYLES = [
    ("path", "simple"),
    ("path", "label"),
    ("path", "matrix"),
    ("query", "form"),
    ("query", "spaceDelimited"),
    ("query", "pipeDelimited"),
    ("query", "deepObject"),
    ("header", "simple"),
    ("cookie", "form"),
]
DELIMITER = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, bool, dict[str, Any], Any]:
    """Location, style, explode, schema and a value that fits it."""
    location, style = draw(st.sampled_from(STYLES))
    kind = draw(st.sampled_from([*SCALARS]))
    shape = "object" if style == "deepObject" else draw(st.sampled_from(["scalar", "array", "object"]))
    explode = style == "deepObject" or draw(st.booleans())
    if shape == "scalar":
        return location, style, explode, {"type": kind}, draw(SCALARS[kind])
    if shape == "array":
        return location, style, explode, {"type": "array", "items": {"type": kind}}, draw(st.lists(SCALARS[kind], max_size=4))
    schema = {"type": "object", "additionalProperties": {"type": kind}}
    return location, style, explode, schema, draw(st.dictionaries(TEXTS, SCALARS[kind], max_size=3))


def _scalar_of(text: str, schema: dict[str, Any]) -> Any:
    return text if schema["type"] == "string" else json.loads(text)


def _split(text: str, delimiter: str, schema: dict[str, Any], pair: str | None, *, plain: bool = False) -> Any:
    """An array, an object or a scalar out of one text."""
    decode = (lambda part: part) if plain else unquote
    if schema["type"] == "array":
        return [_scalar_of(decode(part), schema["items"]) for part in text.split(delimiter)]
    if schema["type"] == "object":
        parts = text.split(delimiter)
        pairs = [part.split(pair, 1) for part in parts] if pair else [parts[index : index + 2] for index in range(0, len(parts), 2)]
        return {decode(key): _scalar_of(decode(value), schema["additionalProperties"]) for key, value in pairs}
    return _scalar_of(decode(text), schema)


def _read_path(text: str, style: str, explode: bool, schema: dict[str, Any]) -> Any:
    if style == "simple":
        return _split(text, ",", schema, "=" if explode else None)
    if style == "label":
        assert text[0] == "."
        return _split(
            text[1:],
            "." if explode and schema["type"] != "string" and schema["type"] in {"array", "object"} else ",",
            schema,
            "=" if explode else None,
        )
    assert text[0] == ";"
    pairs = [part.partition("=")[::2] for part in text[1:].split(";")]
    if explode and schema["type"] == "array":
        return [_scalar_of(unquote(value), schema["items"]) for _, value in pairs]
    if explode and schema["type"] == "object":
        return {unquote(key): _scalar_of(unquote(value), schema["additionalProperties"]) for key, value in pairs}
    [(name, value)] = pairs
    assert name == "p"
    return _split(value, ",", schema, None)


def _read_query(pairs: list[tuple[str, str]], style: str, explode: bool, schema: dict[str, Any]) -> Any:
    if not pairs:
        return None
    if style == "deepObject":
        return {unquote(key)[2:-1]: _scalar_of(unquote(value), schema["additionalProperties"]) for key, value in pairs}
    if explode and schema["type"] == "array":
        return [_scalar_of(unquote(value), schema["items"]) for _, value in pairs]
    if explode and schema["type"] == "object":
        return {unquote(key): _scalar_of(unquote(value), schema["additionalProperties"]) for key, value in pairs}
    [(name, value)] = pairs
    assert name == "p"
    return _split(value, DELIMITER.get(style, ","), schema, None)


def _read_back(request: Request, location: str, style: str, explode: bool, schema: dict[str, Any]) -> Any:
    if location == "path":
        path, _, query = request.url.partition("?")
        assert not query
        before, text, after = path.split("/")[1:]
        assert (before, after) == ("x", "y")
        return _read_path(text, style, explode, schema)
    if location == "query":
        query = request.url.partition("?")[2]
        pairs = [(part.partition("=")[0], part.partition("=")[2]) for part in query.split("&")] if query else []
        return _read_query(pairs, style, explode, schema)
    if location == "header":
        if "p" not in request.headers:
            return None
        text = request.headers["p"]
        assert text.isascii()
        assert text.strip() == text
        assert text.isprintable() or "\t" in text
        return _split(text, ",", schema, "=" if explode else None, plain=True)
    cookie = request.cookies.get("p")
    if cookie is None:
        return None
    assert cookie.isascii()
    assert not set(cookie) & set(' ";\\')
    return _split(cookie, ",", schema, None)


def _parts_of(value: Any) -> list[str]:
    scalars = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return [item for item in scalars if isinstance(item, str)]


def _may_be_refused(location: str, style: str, explode: bool, value: Any) -> bool:
    """Whether a value has no written form that is read in one way."""
    texts, compound = _parts_of(value), isinstance(value, list | dict)
    if location == "path":
        nothing = value in ("", [], {}, [""])
        dots = style != "matrix" and any(set(text) <= {"."} for text in ["", *texts])
        # A number with a fraction has a dot of its own.
        dotted = style == "label" and explode and compound and "." in json.dumps(value)
        return nothing or dots or dotted
    if location == "header":
        unfit = any(text != text.strip() or any(not (" " <= letter <= "~" or letter == "\t") for letter in text) for text in texts)
        equals = explode and isinstance(value, dict) and any("=" in key for key in value)
        return unfit or value == [""] or equals or (compound and any("," in text for text in texts))
    if location == "cookie":
        return explode and compound
    delimiter = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(style)
    if style == "deepObject":
        return any(letter in key for key in value for letter in "[]")
    return delimiter is not None and compound and not explode and any(delimiter in text for text in texts)


@settings(max_examples=500, deadline=None)
@given(cases())
def test_parameters_round_trip(case: tuple[str, str, bool, dict[str, Any], Any]) -> None:
    """Every style of every location, for scalars, arrays and objects with any text in them."""
    location, style, explode, schema, value = case
    path = "/x/{p}/y" if location == "path" else "/x"
    declared = {"name": "p", "in": location, "required": location == "path", "style": style, "explode": explode, "schema": schema}
    document = {"openapi": "3.1.0", "paths": {path: {"get": {"operationId": "t", "parameters": [declared]}}}}
    registry = Registry(STRICT)
    registry.include_openapi(document, lambda request: request)
    assert registry.check("t", {"p": value}).ok
    [tool] = read_openapi(document, lambda request: request)
    try:
        request = tool.handler(p=value)
    except CannotSend:
        assert _may_be_refused(location, style, explode, value)
        return
    found = _read_back(request, location, style, explode, schema)
    # What is empty is written by leaving it out.
    assert found == (None if value in ([], {}) else value)
    assert json.dumps(found) == json.dumps(None if value in ([], {}) else value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXTS.filter(bool), JSON, max_size=4), st.booleans())
def test_json_bodies_round_trip(value: dict[str, Any], declared: bool) -> None:
    """Properties of any name side by side, or any value as a whole."""
    schema = {"type": "object", "properties": {key: {} for key in value}} if declared else {}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    document = {"openapi": "3.1.0", "paths": {"/x": {"post": {"operationId": "t", "requestBody": body}}}}
    [tool] = read_openapi(document, lambda request: request)
    names = list(tool.schema["properties"])
    arguments = {"body": value} if not (declared and value) else dict(zip(names, value.values(), strict=True))
    request = tool.handler(**arguments)
    assert request.body is not None
    assert json.loads(request.body) == value == request.json


@given(st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, min_size=2, max_size=3), max_size=4))
def test_forms_round_trip(value: dict[str, Any]) -> None:
    """As any server reads them."""
    media = {"schema": {"type": "object", "additionalProperties": True}}
    document = {
        "openapi": "3.1.0",
        "paths": {"/x": {"post": {"requestBody": {"required": True, "content": {"application/x-www-form-urlencoded": media}}}}},
    }
    [tool] = read_openapi(document, lambda request: request)
    request = tool.handler(body=value)
    expected = [(name, part) for name, item in value.items() for part in (item if isinstance(item, list) else [item])]
    assert parse_qsl(request.body.decode(), keep_blank_values=True) == expected


@given(st.lists(st.binary(max_size=20), max_size=3), st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=10), JSON)
def test_parts_round_trip(files: list[bytes], note: str, meta: Any) -> None:
    """Bytes, text and JSON."""
    binary = {"type": "string", "format": "binary"}
    schema = {"type": "object", "properties": {"files": {"type": "array", "items": binary}, "note": {"type": "string"}, "meta": {}}}
    media = {"schema": schema, "encoding": {"meta": {"contentType": "application/json"}}}
    document = {
        "openapi": "3.0.3",
        "paths": {"/x": {"post": {"requestBody": {"required": True, "content": {"multipart/form-data": media}}}}},
    }
    [tool] = read_openapi(document, lambda request: request)
    request = tool.handler(files=[base64.b64encode(item).decode() for item in files], note=note, meta={"it": meta})
    text = b"Content-Type: " + request.headers["Content-Type"].encode() + b"\r\n\r\n" + request.body
    message = email.message_from_bytes(text, policy=email.policy.HTTP)
    assert isinstance(message, EmailMessage)
    parts = [(part.get_param("name", header="content-disposition"), part.get_payload(decode=True)) for part in message.iter_parts()]
    assert parts[: len(files)] == [("files", item) for item in files]
    assert parts[len(files)] == ("note", note.encode())
    assert isinstance(parts[-1][1], bytes)
    assert json.loads(parts[-1][1]) == {"it": meta}
