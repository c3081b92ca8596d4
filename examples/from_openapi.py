"""The operations of an OpenAPI document as tools, called over HTTP. The server runs in this process, on loopback, and ends with it."""

import json
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from toolbox import Registry
from toolbox.sources import Request

DOCUMENT = {
    "openapi": "3.0.3",
    "info": {"title": "Library", "version": "1.0"},
    "paths": {
        "/books": {
            "get": {
                "operationId": "findBooks",
                "summary": "Find books.",
                "parameters": [
                    {"name": "author", "in": "query", "schema": {"type": "string"}, "description": "Name of the author."},
                    {"name": "genre[]", "in": "query", "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Genre"}}},
                    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 50}},
                ],
            },
        },
        "/books/{bookId}/loans": {
            "parameters": [{"name": "bookId", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "post": {
                "operationId": "lendBook",
                "summary": "Lend a book.",
                "parameters": [{"name": "X-Branch", "in": "header", "schema": {"type": "string", "enum": ["main", "harbour"]}}],
                "requestBody": {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Loan"}}}},
                "security": [{"token": []}],
            },
        },
        "/books/{bookId}": {
            "delete": {
                "operationId": "removeBook",
                "parameters": [{"name": "bookId", "in": "path", "required": True, "schema": {"type": "integer"}}],
            },
        },
    },
    "components": {
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        "schemas": {
            "Genre": {"type": "string", "enum": ["crime", "poetry", "science-fiction"]},
            "Loan": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer", "readOnly": True},
                    "member": {"type": "string"},
                    "days": {"type": "integer", "minimum": 1, "maximum": 60, "default": 14},
                    "note": {"type": "string", "nullable": True},
                },
                "required": ["id", "member"],
            },
        },
    },
}


class Library(BaseHTTPRequestHandler):
    """Answers with what it understood."""

    def answer(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        found = {
            "path": parts.path,
            "query": parse_qsl(parts.query),
            "branch": self.headers.get("x-branch"),
            "body": json.loads(body or "null"),
        }
        allowed = self.command == "GET" or self.headers.get("authorization") == "Bearer library-token"
        data = json.dumps(found if allowed else {"error": "no token"}).encode()
        self.send_response(200 if allowed else 401)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = answer  # noqa: N815 - the server looks for these names

    def log_message(self, *said: Any) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Library)
threading.Thread(target=server.serve_forever, daemon=True).start()


def call(request: Request) -> Any:
    """Send a request: the application knows the server's address and the credentials."""
    headers = {**request.headers, "Authorization": "Bearer library-token"}
    if request.cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in request.cookies.items())
    url = f"http://127.0.0.1:{server.server_address[1]}{request.url}"
    with urllib.request.urlopen(urllib.request.Request(url, request.body, headers, method=request.method)) as response:
        return json.load(response)


registry = Registry()
registry.include_openapi(DOCUMENT, call, operations=lambda operation: operation.method != "DELETE")

for tool in registry:
    print(tool.name, list(tool.schema["properties"]), "required:", tool.schema.get("required", []))

CALLS: list[tuple[str, Any]] = [
    ("findBooks", {"author": "Lem & co", "genre": '["Science Fiction", "crime"]', "limit": "5"}),
    ("lendBook", '{"book_id": "7", "member": "Ada", "days": "21", "note": null, "x-branch": "MAIN"}'),
    ("lendBook", {"bookId": "seven", "days": 90}),
    ("removeBook", {"bookId": 7}),
]
for name, arguments in CALLS:
    result = registry.run(name, arguments)
    print(f"\n{name} {arguments}\n{result.to_text()}")
    for change in result.report.diagnostics if result.report else []:
        print("  ", change)

server.shutdown()
server.server_close()
