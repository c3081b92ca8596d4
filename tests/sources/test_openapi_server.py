"""Operations called over real HTTP: what a server on loopback reads is what the arguments said."""

import base64
import email
import email.policy
import http.client
import json
import threading
from collections.abc import Iterator
from email.message import EmailMessage
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from toolbox import LENIENT, Registry, ToolExecutionError
from toolbox.sources import Request

STR, INT = {"type": "string"}, {"type": "integer"}


class Echo(BaseHTTPRequestHandler):
    """Answers with what it understood."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        kind = self.headers.get("content-type") or ""
        read: Any = body.decode("latin-1") or None
        if kind == "application/json":
            read = json.loads(body)
        elif kind == "application/x-www-form-urlencoded":
            read = parse_qsl(body.decode(), keep_blank_values=True)
        elif kind.startswith("multipart/"):
            message = email.message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body, policy=email.policy.HTTP)
            assert isinstance(message, EmailMessage)
            found = [(part.get_param("name", header="content-disposition"), part.get_payload(decode=True)) for part in message.iter_parts()]
            read = [(name, data.decode("latin-1") if isinstance(data, bytes) else None) for name, data in found]
        cookies = {name: unquote(morsel.value) for name, morsel in SimpleCookie(self.headers.get("cookie") or "").items()}
        said = {
            "method": self.command,
            "path": [unquote(part) for part in parts.path.split("/")[1:]],
            "query": parse_qsl(parts.query, keep_blank_values=True),
            "trace": self.headers.get("x-trace"),
            "token": self.headers.get("authorization"),
            "cookies": cookies,
            "body": read,
        }
        data = json.dumps(said).encode()
        self.send_response(404 if parts.path == "/v1/missing" else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer

    def log_message(self, *said: Any) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a server that answers with what it understood."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def _document(paths: dict[str, Any]) -> dict[str, Any]:
    security = {"bearer": {"type": "http", "scheme": "bearer"}}
    return {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": paths, "components": {"securitySchemes": security}}


def _parameter(name: str, location: str, schema: Any = None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "in": location, "required": location == "path", "schema": schema or STR, **fields}


def _registry_of(paths: dict[str, Any], port: int) -> Registry:
    def call(request: Request) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in request.cookies.items())} if request.cookies else {}
        connection.request(request.method, f"/v1{request.url}", request.body, {**request.headers, **cookies, "Authorization": "Bearer t"})
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        if response.status >= 400:
            raise RuntimeError(f"status {response.status}")
        return answer

    registry = Registry(LENIENT)
    registry.include_openapi(_document(paths), call)
    return registry


EVERYTHING = {
    "/pets/{petId}/{tag}": {
        "put": {
            "operationId": "update",
            "parameters": [
                _parameter("petId", "path", INT),
                _parameter("tag", "path"),
                _parameter("q", "query"),
                _parameter("list", "query", {"type": "array", "items": STR}),
                _parameter("csv", "query", {"type": "array", "items": STR}, explode=False),
                _parameter("deep", "query", {"type": "object"}, style="deepObject", explode=True),
                _parameter("X-Trace", "header"),
                _parameter("Authorization", "header"),
                _parameter("seen", "cookie"),
            ],
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": {"type": "object", "properties": {"name": STR, "age": INT}}}},
            },
        }
    },
    "/missing": {"get": {"operationId": "missing"}},
}


def test_every_location_arrives(port: int) -> None:
    """Path, query, header, cookie and body, with characters that mean something elsewhere."""
    text = "a/b?c=d&e#f é+%20"
    arguments = {
        "petId": "7",
        "tag": text,
        "q": text,
        "list": [text, ""],
        "csv": ["a,b", "c"],
        "deep": {"k&": text},
        "X_Trace": "t=1, u",
        "seen": text,
        "name": text,
        "age": "3",
    }
    assert _registry_of(EVERYTHING, port).dispatch("update", arguments) == {
        "method": "PUT",
        "path": ["v1", "pets", "7", text],
        "query": [["q", text], ["list", text], ["list", ""], ["csv", "a,b,c"], ["deep[k&]", text]],
        "trace": "t=1, u",
        "token": "Bearer t",
        "cookies": {"seen": text},
        "body": {"name": text, "age": 3},
    }


BODIES: list[tuple[str, dict[str, Any], dict[str, Any], Any]] = [
    (
        "application/x-www-form-urlencoded",
        {"type": "object", "properties": {"a": STR, "b": {"type": "array", "items": INT}}},
        {"a": "x & é", "b": ["1", 2]},
        [["a", "x & é"], ["b", "1"], ["b", "2"]],
    ),
    (
        "multipart/form-data",
        {"type": "object", "properties": {"note": STR, "file": {"type": "string", "format": "binary"}}},
        {"note": "x", "file": base64.b64encode(b"\x00\xff\r\n").decode()},
        [["note", "x"], ["file", "\x00\xff\r\n"]],
    ),
    ("text/plain", STR, {"body": "plain"}, "plain"),
    ("application/octet-stream", {"type": "string", "format": "binary"}, {"body": "AP8="}, "\x00\xff"),
]


@pytest.mark.parametrize(("content", "schema", "arguments", "read"), BODIES, ids=[row[0] for row in BODIES])
def test_every_media_type_arrives(content: str, schema: Any, arguments: dict[str, Any], read: Any, port: int) -> None:
    """Forms, parts, text and bytes."""
    paths = {"/x": {"post": {"operationId": "send", "requestBody": {"required": True, "content": {content: {"schema": schema}}}}}}
    assert _registry_of(paths, port).dispatch("send", arguments)["body"] == read


def test_a_failure_of_the_server_is_one_of_the_tool(port: int) -> None:
    """The application decides what a failure is."""
    with pytest.raises(ToolExecutionError, match="status 404"):
        _registry_of(EVERYTHING, port).dispatch("missing", {})
