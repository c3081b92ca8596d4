"""Requests: paths, media types of bodies, forms and parts; sync and async calls; what must not be sent."""

import asyncio
import base64
import email
import email.policy
import json
from email.message import EmailMessage
from typing import Any
from urllib.parse import parse_qsl

import pytest

from toolbox import LENIENT, Registry, ToolExecutionError
from toolbox.sources import CannotSend, Request, SourceTool, read_openapi

STR, INT = {"type": "string"}, {"type": "integer"}
BYTES = {"type": "string", "format": "binary"}


def _same(request: Request) -> Request:
    return request


def _document(path: str, method: str, fields: dict[str, Any], version: str = "3.1.0") -> dict[str, Any]:
    return {"openapi": version, "paths": {path: {method: {"operationId": "t", **fields}}}}


def _only(path: str = "/x", method: str = "post", version: str = "3.1.0", /, **fields: Any) -> SourceTool:
    found = read_openapi(_document(path, method, fields, version), _same)
    assert not found.problems
    [tool] = found
    return tool


def _parameter(name: str, location: str, schema: Any = None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "in": location, "schema": {} if schema is None else schema, **fields}


def _with_body(content: dict[str, Any], required: bool = True, version: str = "3.1.0") -> SourceTool:
    return _only("/x", "post", version, requestBody={"content": content, "required": required})


# -- paths ------------------------------------------------------------------------------------------------------------------------------

PATHS: list[tuple[str, dict[str, Any], str]] = [
    ("/pets/{a}", {"a": "x"}, "/pets/x"),
    ("/pets/{a}", {"a": "../admin"}, "/pets/..%2Fadmin"),
    ("/pets/{a}", {"a": "a/b?c=d#e"}, "/pets/a%2Fb%3Fc%3Dd%23e"),
    ("/pets/{a}", {"a": "%2e%2e"}, "/pets/%252e%252e"),
    ("/pets/{a}", {"a": 7}, "/pets/7"),
    ("/pets/{a}", {"a": ["x", "y,z"]}, "/pets/x,y%2Cz"),
    ("/pets/{a}.{b}", {"a": "x", "b": "json"}, "/pets/x.json"),
    ("/{a}:cancel", {"a": "x"}, "/x:cancel"),
    ("/{a}/{b}/{a}", {"a": "x", "b": "y"}, "/x/y/x"),
    ("/a b/é/{a}", {"a": "x"}, "/a%20b/%C3%A9/x"),
    ("/x?fixed=1&v={a}", {"a": "y&z"}, "/x?fixed=1&v=y%26z"),
]


@pytest.mark.parametrize(("path", "arguments", "expected"), PATHS)
def test_paths_are_filled(path: str, arguments: dict[str, Any], expected: str) -> None:
    """A value never becomes more than its part of the path."""
    request = _only(path, "get", parameters=[_parameter(name, "path") for name in arguments]).handler(**arguments)
    assert (request.url, request.path, request.template) == (expected, expected, path)


BAD_PATHS: list[tuple[str, dict[str, Any]]] = [
    ("/pets/{a}", {"a": ""}),
    ("/pets/{a}", {"a": "."}),
    ("/pets/{a}", {"a": ".."}),
    ("/pets/{a}/toys", {"a": ".."}),
    ("/pets/{a}{b}", {"a": ".", "b": "."}),
    ("/pets/.{a}", {"a": "."}),
    ("/pets/{a}", {"a": None}),
    ("/pets/{a}", {"a": []}),
]


@pytest.mark.parametrize(("path", "arguments"), BAD_PATHS)
def test_a_value_never_leads_to_another_path(path: str, arguments: dict[str, Any]) -> None:
    """Nothing, and dots that a client would resolve, are refused."""
    with pytest.raises(CannotSend):
        _only(path, "get", parameters=[_parameter(name, "path") for name in arguments]).handler(**arguments)


def test_label_of_nothing_is_refused() -> None:
    """A label of an empty text would be a dot alone."""
    with pytest.raises(CannotSend):
        _only("/x/{a}", "get", parameters=[_parameter("a", "path", style="label")]).handler(a="")


def test_queries_join_a_query_of_the_path() -> None:
    """The query goes on where the path has one already."""
    request = _only("/x?fixed=1", "get", parameters=[_parameter("q", "query")]).handler(q="a b")
    assert request.url == "/x?fixed=1&q=a%20b"


def test_a_key_never_passes_for_another_parameter() -> None:
    """An object that is written apart must not set what another parameter sets."""
    tool = _only("/x", "get", parameters=[_parameter("filter", "query", {"type": "object"}), _parameter("admin", "query")])
    assert tool.handler(filter={"a": 1}, admin="no").url == "/x?a=1&admin=no"
    with pytest.raises(CannotSend, match="'filter' cannot be sent: its key 'admin'"):
        tool.handler(filter={"admin": "yes"})


CONTENT: list[tuple[str, str, Any, Any]] = [
    ("query", "application/json", {"a": [1, None]}, "p=%7B%22a%22%3A%5B1%2Cnull%5D%7D"),
    ("query", "application/json", None, "p=null"),
    ("query", "text/plain", "a,b", "p=a%2Cb"),
    ("header", "application/json", {"a": "é\n"}, '{"a":"\\u00e9\\n"}'),
    ("cookie", "application/json", [1, 2], "[1%2C2]"),
]


@pytest.mark.parametrize(("location", "content", "value", "expected"), CONTENT)
def test_parameters_with_a_media_type(location: str, content: str, value: Any, expected: Any) -> None:
    """The value is written as a whole."""
    request = _only("/x", "get", parameters=[{"name": "p", "in": location, "content": {content: {"schema": {}}}}]).handler(p=value)
    sent = {"query": request.url.partition("?")[2], "header": request.headers.get("p"), "cookie": request.cookies.get("p")}
    assert sent[location] == expected


def test_what_is_not_given_is_not_sent() -> None:
    """No empty names, headers or cookies."""
    tool = _only(parameters=[_parameter("q", "query"), _parameter("h", "header"), _parameter("c", "cookie")])
    request = tool.handler()
    assert (request.url, request.headers, request.cookies, request.body) == ("/x", {}, {}, None)
    request = tool.handler(q=None, h=None, c=[])
    assert (request.url, request.headers, request.cookies, request.body) == ("/x", {}, {}, None)


def test_a_line_break_never_reaches_a_header() -> None:
    """The model is told what was wrong."""
    registry = Registry(LENIENT)
    registry.include_openapi(_document("/x", "get", {"parameters": [_parameter("X-A", "header", STR)]}), _same)
    with pytest.raises(ToolExecutionError, match="'X-A' cannot be sent: a header holds printable ASCII"):
        registry.dispatch("t", {"X_A": "a\r\nX-Admin: yes"})


# -- media types -------------------------------------------------------------------------------------------------------------------------

OBJECT = {"schema": {"type": "object", "properties": {"a": STR}}}
FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
PREFERRED: list[tuple[dict[str, Any], str]] = [
    ({"application/xml": OBJECT, FORM: OBJECT, "application/json": OBJECT}, "application/json"),
    ({"application/json; charset=utf-8": OBJECT}, "application/json; charset=utf-8"),
    ({MULTIPART: OBJECT, "application/merge-patch+json": OBJECT}, "application/merge-patch+json"),
    ({"application/vnd.api+json": OBJECT, "APPLICATION/JSON": OBJECT}, "APPLICATION/JSON"),
    ({"*/*": OBJECT}, "application/json"),
    ({FORM: OBJECT, "*/*": OBJECT}, "application/json"),
    ({MULTIPART: OBJECT, FORM: OBJECT}, FORM),
    ({"text/xml": OBJECT, MULTIPART: OBJECT}, MULTIPART),
    ({"multipart/mixed": OBJECT, FORM: OBJECT}, FORM),
]


@pytest.mark.parametrize(("content", "chosen"), PREFERRED)
def test_the_media_type_that_is_sent(content: dict[str, Any], chosen: str) -> None:
    """JSON first, then forms."""
    request = _with_body(content).handler(a="x")
    assert request.headers["Content-Type"].partition("; boundary")[0] == chosen


WHOLE: list[tuple[str, Any, Any, bytes, str]] = [
    ("text/plain", {"schema": STR}, "aé", "aé".encode(), "text/plain; charset=utf-8"),
    ("text/plain", {}, "a", b"a", "text/plain; charset=utf-8"),
    ("text/csv; charset=utf-8", {"schema": STR}, "a", b"a", "text/csv; charset=utf-8"),
    ("text/*", {"schema": STR}, "a", b"a", "text/plain; charset=utf-8"),
    ("application/xml", {"schema": STR}, "<a/>", b"<a/>", "application/xml; charset=utf-8"),
    ("application/x-ndjson", {"schema": STR}, "{}", b"{}", "application/x-ndjson"),
    ("application/octet-stream", {"schema": BYTES}, "AP8=", b"\x00\xff", "application/octet-stream"),
    ("application/octet-stream", {}, "AP8=", b"\x00\xff", "application/octet-stream"),
    ("image/png", {"schema": {"contentMediaType": "image/png"}}, "AP8=", b"\x00\xff", "image/png"),
    ("image/*", {"schema": BYTES}, "AP8=", b"\x00\xff", "application/octet-stream"),
    ("image/png", {"schema": {"type": ["string", "null"], "format": "binary"}}, "AP8=", b"\x00\xff", "image/png"),
    ("image/png", {"schema": {"type": "string", "contentEncoding": "base64"}}, "AP8=", b"AP8=", "image/png"),
]


@pytest.mark.parametrize(("content", "media", "value", "body", "content_type"), WHOLE)
def test_bodies_of_text_and_bytes(content: str, media: Any, value: str, body: bytes, content_type: str) -> None:
    """Text is sent as it is, bytes come in base64."""
    tool = _with_body({content: media})
    request = tool.handler(body=value)
    assert (request.body, request.headers, request.json) == (body, {"Content-Type": content_type}, None)
    assert tool.schema["properties"]["body"]["type"] in ("string", ["string", "null"])


def test_bytes_are_described_as_base64() -> None:
    """The model is told, and what is no base64 is refused."""
    tool = _with_body({"application/octet-stream": {"schema": {**BYTES, "description": "The file"}}})
    assert tool.schema["properties"]["body"] == {"type": "string", "contentEncoding": "base64", "description": "The file (in base64)"}
    with pytest.raises(CannotSend, match="'body' cannot be sent: it must be base64"):
        tool.handler(body="not base64!")


# -- forms --------------------------------------------------------------------------------------------------------------------------------

STYLED: list[tuple[dict[str, Any], Any, str]] = [
    ({}, "a b&c", "p=a%20b%26c"),
    ({}, ["a", "b"], "p=a&p=b"),
    ({}, {"a": [1]}, "p=%7B%22a%22%3A%5B1%5D%7D"),
    ({}, [{"a": 1}, {"b": 2}], "p=%7B%22a%22%3A1%7D&p=%7B%22b%22%3A2%7D"),
    ({}, True, "p=true"),
    ({}, None, ""),
    ({"contentType": "application/json"}, "a", "p=%22a%22"),
    ({"style": "form", "explode": False}, ["a", "b,c"], "p=a,b%2Cc"),
    ({"style": "form"}, {"a": 1, "b": 2}, "a=1&b=2"),
    ({"explode": False}, {"a": 1}, "p=a,1"),
    ({"style": "deepObject", "explode": True}, {"a": {"b": 1}}, "p%5Ba%5D%5Bb%5D=1"),
    ({"style": "pipeDelimited"}, ["a", "b"], "p=a%7Cb"),
    ({"allowReserved": True}, "a/b&c", "p=a/b%26c"),
]


@pytest.mark.parametrize(("encoding", "value", "expected"), STYLED)
def test_forms(encoding: dict[str, Any], value: Any, expected: str) -> None:
    """In the style that the encoding says; without one, arrays are repeated and objects are JSON."""
    media = {"schema": {"type": "object", "properties": {"p": {}}}, "encoding": {"p": encoding} if encoding else {}}
    request = _with_body({FORM: media}).handler(p=value)
    assert request.body is not None
    assert request.body.decode() == expected
    assert request.headers["Content-Type"] == FORM


def test_a_key_of_a_form_never_passes_for_another_property() -> None:
    """As in a query."""
    media = {"schema": {"type": "object", "properties": {"p": {}, "admin": STR}}, "encoding": {"p": {"style": "form"}}}
    with pytest.raises(CannotSend, match="its key 'admin'"):
        _with_body({FORM: media}).handler(p={"admin": "yes"})


def test_forms_of_unknown_properties() -> None:
    """A form without described properties is one argument, an object."""
    tool = _with_body({FORM: {"schema": {"type": "object", "additionalProperties": STR}}})
    assert tool.handler(body={"a": "x", "b": ["y", "z"]}).body == b"a=x&b=y&b=z"
    with pytest.raises(CannotSend, match="a form is written from an object"):
        tool.handler(body=["a"])
    assert _with_body({FORM: {}}).handler(body={"a": 1}).body == b"a=1"


def _parts_of(request: Request) -> list[EmailMessage]:
    assert request.body is not None
    text = b"Content-Type: " + request.headers["Content-Type"].encode() + b"\r\n\r\n" + request.body
    message = email.message_from_bytes(text, policy=email.policy.HTTP)
    assert isinstance(message, EmailMessage)
    return [part for part in message.iter_parts() if isinstance(part, EmailMessage)]


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_parts(version: str) -> None:
    """Text, JSON, bytes, several of them, and media types of one's own."""
    binary = BYTES if version == "3.0.3" else {"contentMediaType": "image/png"}
    schema = {
        "type": "object",
        "properties": {
            "note": STR,
            "count": INT,
            "meta": {"type": "object"},
            "file": {**binary, "description": "A file"},
            "files": {"type": "array", "items": binary, "description": "Files"},
            "row": STR,
            "tags": {"type": "array", "items": STR},
        },
        "required": ["file"],
    }
    media = {"schema": schema, "encoding": {"file": {"contentType": "image/png, image/*"}, "row": {"contentType": "text/csv"}, "note": {}}}
    tool = _with_body({MULTIPART: media}, version=version)
    assert tool.schema["required"] == ["file"]
    assert tool.schema["properties"]["file"] == {"type": "string", "contentEncoding": "base64", "description": "A file (in base64)"}
    assert tool.schema["properties"]["files"]["items"]["contentEncoding"] == "base64"
    one, two = b"\x00\x89PNG\r\n--", b"\xff" * 3
    coded = [base64.b64encode(item).decode() for item in (one, two)]
    request = tool.handler(note="é", count=3, meta={"a": 1}, file=coded[0], files=coded, row="a,b", tags=["x", "y"])
    found = [
        (part.get_param("name", header="content-disposition"), part.get_filename(), part["Content-Type"], part.get_payload(decode=True))
        for part in _parts_of(request)
    ]
    assert found == [
        ("note", None, None, "é".encode()),
        ("count", None, None, b"3"),
        ("meta", None, "application/json", b'{"a":1}'),
        ("file", "file", "image/png", one),
        ("files", "files", "application/octet-stream", one),
        ("files", "files", "application/octet-stream", two),
        ("row", None, "text/csv", b"a,b"),
        ("tags", None, None, b"x"),
        ("tags", None, None, b"y"),
    ]
    again = tool.handler(note="é", count=3, meta={"a": 1}, file=coded[0], files=coded, row="a,b", tags=["x", "y"])
    assert again == request


def test_an_optional_form_as_a_whole_still_takes_bytes() -> None:
    """It is one argument, and what is binary in it comes in base64."""
    schema = {"type": "object", "properties": {"f": BYTES, "n": STR}, "required": ["f"]}
    tool = _with_body({MULTIPART: {"schema": schema}}, required=False)
    assert list(tool.schema["properties"]) == ["body"]
    assert tool.handler().body is None
    [part] = _parts_of(tool.handler(body={"f": "AP8="}))
    assert part.get_payload(decode=True) == b"\x00\xff"


def test_names_of_parts_cannot_break_out() -> None:
    """A quote or a line break in a key is escaped as browsers do."""
    tool = _with_body({MULTIPART: {"schema": {"type": "object", "additionalProperties": STR}}})
    request = tool.handler(body={'a"\r\nX-Admin: 1': "v"})
    assert request.body is not None
    assert b'name="a%22%0D%0AX-Admin: 1"' in request.body


def test_a_boundary_is_in_no_part() -> None:
    """Even when a part holds the boundary of another request."""
    tool = _with_body({MULTIPART: {"schema": {"type": "object", "properties": {"a": STR}}}})
    value = "x"
    for _ in range(3):
        request = tool.handler(a=value)
        [part] = _parts_of(request)
        assert part.get_payload(decode=True) == value.encode()
        value += request.headers["Content-Type"].partition("boundary=")[2] + "\r\n--"


# -- calls --------------------------------------------------------------------------------------------------------------------------------


def test_sync_and_async_calls() -> None:
    """What the call returns is what the tool returns."""

    async def later(request: Request) -> str:
        await asyncio.sleep(0)
        return request.url

    def in_time(request: Request) -> Any:
        return later(request)

    for call, is_async in ((later, True), (in_time, False), (lambda request: request.url, False)):
        registry = Registry(LENIENT)
        registry.include_openapi(_document("/x/{n}", "get", {"parameters": [_parameter("n", "path", INT)]}), call)
        assert registry["t"].is_async is is_async
        assert registry.dispatch("t", {"n": "7"}) == "/x/7"
        assert asyncio.run(registry.adispatch("t", {"n": "7"})) == "/x/7"


def test_errors_of_the_call_are_errors_of_the_tool() -> None:
    """Its exception is the cause."""

    def refuse(request: Request) -> None:
        raise OSError(f"{request.method} refused")

    registry = Registry()
    registry.include_openapi(_document("/x", "get", {}), refuse)
    with pytest.raises(ToolExecutionError, match="GET refused"):
        registry.dispatch("t", {})


def test_the_same_pipeline_as_functions() -> None:
    """Types are mended at every depth, undeclared arguments left out, faults named by path."""
    body = {"type": "object", "properties": {"name": STR, "tags": {"type": "array", "items": INT}}, "required": ["name"]}
    fields = {
        "parameters": [_parameter("petId", "path", INT), _parameter("dry", "query", {"type": "boolean", "default": False})],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
    }
    registry = Registry(LENIENT)
    registry.include_openapi(_document("/pets/{petId}", "put", fields), _same)
    result = registry.run("t", {"pet_id": "7", "dry": "true", "name": "Rex", "tags": '["1", 2]', "extra": 1})
    assert result.ok, result.to_text()
    assert result.value.url == "/pets/7?dry=true"
    assert result.value.json == {"name": "Rex", "tags": [1, 2]}
    text = registry.run("t", {"petId": "seven", "tags": ["x"]}).to_text()
    for part in ("$.petId", "$.name", "$.tags[0]"):
        assert part in text


def test_a_query_decodes_to_what_was_written() -> None:
    """Whatever a server uses to read it."""
    tool = _only("/x", "get", parameters=[_parameter("a", "query"), _parameter("b", "query")])
    request = tool.handler(a="x&b=é +%", b=["1", ""])
    assert parse_qsl(request.url.partition("?")[2], keep_blank_values=True) == [("a", "x&b=é +%"), ("b", "1"), ("b", "")]
    assert json.loads(json.dumps(request.query)) == [["a", "x%26b%3D%C3%A9%20%2B%25"], ["b", "1"], ["b", ""]]
