"""The operations of an OpenAPI document as tools."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from toolbox.diagnostics import shorten
from toolbox.errors import RegistrationError
from toolbox.matching import closest
from toolbox.schema_tools import is_async
from toolbox.sources.bodies import Body, read_body
from toolbox.sources.found import SourceTool, SourceTools
from toolbox.sources.names import parameter_name, tool_name, unique_names
from toolbox.sources.parameters import Parameter, credentials, read_parameters
from toolbox.sources.references import References, Unreadable
from toolbox.sources.request_schemas import RequestSchemas
from toolbox.sources.requests import Request
from toolbox.sources.styles import CannotSend, cookie_text, header_text, path_text, query_pairs

__all__ = ["Operation", "Operations", "read_openapi"]

_SOURCE: Final = "the OpenAPI document"
_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "QUERY", "TRACE"})
_VERSION: Final = re.compile(r"3\.([0-2])(?:\.\d+)?(?:-.*)?\Z")
_TEMPLATE: Final = re.compile(r"\{([^{}]+)\}")
_PATH_SAFE: Final = "/:@!$&'()*+,;=?%~"
_DOTS: Final = frozenset({".", ".."})


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation, for choosing some of them.

    Attributes:
        method: the method, such as ``"GET"``.
        path: the path as the document has it, such as ``/pets/{petId}``.
        operation_id: its id, where it has one.
        tags: its tags.
        summary: what it does, in short.
        deprecated: whether it should no longer be used.
    """

    method: str
    path: str
    operation_id: str | None = None
    tags: tuple[str, ...] = ()
    summary: str = ""
    deprecated: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


Operations = Collection[str | tuple[str, str]] | Callable[[Operation], bool]
"""Which operations are meant: operation ids, pairs of method and path, or a function that says it of each."""


def read_openapi(
    document: Mapping[str, Any], call: Callable[[Request], Any], operations: Operations | None = None, *, prefix: str = ""
) -> SourceTools:
    """The operations of an OpenAPI document (3.0, 3.1 or 3.2).

    Args:
        document: the document, as plain data; references lead inside it, and nothing is fetched.
        call: sends a `Request` and gives what the tool is to return; sync or async. It knows the server's address and the credentials.
        operations: the operations that become tools; all of them when it is not given.
        prefix: goes before each name.

    A tool is named by its ``operationId``, else by method and path. Its arguments are the parameters of the operation and the properties of
    its body, side by side; the body is one argument, ``body``, where its properties cannot stand on their own.

    >>> document = {
    ...     "openapi": "3.1.0",
    ...     "paths": {
    ...         "/pets/{id}": {
    ...             "get": {
    ...                 "operationId": "getPet",
    ...                 "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
    ...             }
    ...         }
    ...     },
    ... }
    >>> found = read_openapi(document, lambda request: f"{request.method} {request.url}")
    >>> found.tools[0].name, found.tools[0].handler(id=7)
    ('getPet', 'GET /pets/7')

    Raises:
        RegistrationError: it is no such document.
        TypeError: `operations` is a single text.
    """
    if isinstance(operations, str):
        raise TypeError(f"operations is a list of operation ids or of (method, path), or a function: pass [{operations!r}]")
    dialect = _dialect(document)
    references = References(document)
    schemas = RequestSchemas(references, lone_refs=dialect == "openapi-3.0")
    problems: list[str] = []
    listed = list(_operations(references, problems))
    identities = [item.meant.operation_id or str(item.meant) for item in listed]
    counted = Counter(identities)
    wishes = [
        (tool_name(prefix + identity), str(item.meant) if counted[identity] > 1 else prefix + identity)
        for item, identity in zip(listed, identities, strict=True)
    ]
    omitted = credentials(references)
    tools: list[SourceTool] = []
    for name, item in _chosen(list(zip(unique_names(wishes), listed, strict=True)), operations, problems):
        try:
            plan = _plan(references, schemas, item, omitted)
            tools.append(_source_tool(name, item, plan, schemas, call, dialect))
        except Unreadable as error:
            problems.append(f"{item.meant}: {error}")
    return SourceTools(_SOURCE, tuple(tools), tuple(problems))


@dataclass(frozen=True, slots=True)
class _Listed:
    """An operation where it stands in the document."""

    meant: Operation
    item: Mapping[str, Any]
    operation: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Plan:
    """How arguments become a request.

    Attributes:
        operation: the operation.
        parameters: the argument of each parameter.
        body: the body, if there is one.
        merged: the argument of each property of the body, where they stand on their own.
        body_argument: the argument that is the whole body; empty where its properties stand on their own.
    """

    operation: Operation
    parameters: dict[str, Parameter]
    body: Body | None = None
    merged: dict[str, str] = field(default_factory=dict)
    body_argument: str = ""

    def request(self, arguments: Mapping[str, Any]) -> Request:
        """The request of some arguments.

        Raises:
            CannotSend: a value cannot be written into it.
        """
        queried = {item.name for item in self.parameters.values() if item.location == "query"}
        filled: dict[str, str] = {}
        query: list[tuple[str, str]] = []
        headers: dict[str, str] = {}
        cookies: dict[str, str] = {}
        for argument, parameter in self.parameters.items():
            name = parameter.name
            value = parameter.written(arguments[argument]) if argument in arguments else None
            if parameter.location == "path":
                filled[name] = path_text(name, value, parameter.style, explode=parameter.explode)
            elif value is None:
                continue
            elif parameter.location == "query":
                style, explode, reserved = parameter.style, parameter.explode, parameter.reserved
                query.extend(query_pairs(name, value, style, explode=explode, reserved=reserved, taken=queried))
            elif parameter.location == "header":
                headers[name] = header_text(name, value, explode=parameter.explode)
            else:
                cookies[name] = cookie_text(name, value, explode=parameter.explode)
        body: bytes | None = None
        json: Any = None
        if self.body is not None and (found := self._body(arguments)):
            body, headers["Content-Type"] = self.body.write(found[0])
            json = found[0] if self.body.is_json else None
        operation = self.operation
        path = self._path(filled)
        return Request(operation.method, path, operation.operation_id, operation.path, tuple(query), headers, cookies, body, json)

    def _body(self, arguments: Mapping[str, Any]) -> tuple[Any] | None:
        """The value of the body, if it is to be sent."""
        assert self.body is not None
        if self.body_argument:
            return (arguments[self.body_argument],) if self.body_argument in arguments else None
        value = {name: arguments[argument] for argument, name in self.merged.items() if argument in arguments}
        return (value,) if value or self.body.required else None

    def _path(self, filled: Mapping[str, str]) -> str:
        parts = _TEMPLATE.split(self.operation.path)
        path = "".join(filled[part] if index % 2 else quote(part, safe=_PATH_SAFE) for index, part in enumerate(parts))
        if not _DOTS.isdisjoint(path.partition("?")[0].split("/")):
            # It would lead to another path.
            raise CannotSend(", ".join(filled), "it is part of the path, which must not have '.' or '..' between slashes")
        return path


def _dialect(document: Any) -> str:
    if not isinstance(document, Mapping):
        raise RegistrationError(
            _SOURCE, [f"pass the document as a dict, not {type(document).__name__}: json.load or a YAML reader makes it"]
        )
    version = document.get("openapi")
    found = _VERSION.match(version) if isinstance(version, str) else None
    if found is None:
        said = f"swagger {document['swagger']}" if "swagger" in document else f"openapi: {shorten(version)}"
        raise RegistrationError(_SOURCE, [f"it says {said}; OpenAPI 3.0, 3.1 and 3.2 are read: convert it first"])
    named = document.get("jsonSchemaDialect")
    if isinstance(named, str) and not named.startswith(("https://spec.openapis.org/oas/", "https://json-schema.org/draft/2020-12/schema")):
        raise RegistrationError(_SOURCE, [f"its jsonSchemaDialect {shorten(named)} is not supported; draft 2020-12 is"])
    return "openapi-3.0" if found[1] == "0" else "openapi-3.1"


def _operations(references: References, problems: list[str]) -> Iterator[_Listed]:
    paths = references.document.get("paths")
    if paths is None and ("webhooks" in references.document or "components" in references.document):
        return
    if not isinstance(paths, Mapping):
        raise RegistrationError(_SOURCE, [f"its paths must be an object, not {type(paths).__name__}"])
    for key, declared in paths.items():
        path = str(key)
        if path.startswith("x-"):
            continue
        try:
            item = _path_item(references, declared)
        except Unreadable as error:
            problems.append(f"{path}: {error}")
            continue
        more = item.get("additionalOperations")
        methods = [(name, item[name]) for name in _METHODS if name in item]
        for name, operation in [*methods, *(more.items() if isinstance(more, Mapping) else ())]:
            method = str(name).upper() if name in _METHODS else str(name)
            if not isinstance(operation, Mapping):
                problems.append(f"{method} {path}: the operation must be an object")
                continue
            identifier, tags = operation.get("operationId"), operation.get("tags")
            meant = Operation(
                method,
                path,
                identifier if isinstance(identifier, str) and identifier else None,
                tuple(map(str, tags)) if isinstance(tags, list) else (),
                str(operation.get("summary") or item.get("summary") or ""),
                operation.get("deprecated") is True,
            )
            yield _Listed(meant, item, operation)


def _path_item(references: References, declared: Any) -> Mapping[str, Any]:
    item = references.follow(declared, "the path item")
    # A path item may have operations beside its reference.
    return {**item, **declared} if isinstance(declared, Mapping) and "$ref" in declared else item


def _chosen(named: list[tuple[str, _Listed]], operations: Operations | None, problems: list[str]) -> Iterable[tuple[str, _Listed]]:
    if operations is None:
        return named
    if callable(operations):
        return [(name, item) for name, item in named if operations(item.meant)]
    wanted = [(key[0].upper(), key[1]) if isinstance(key, tuple) and len(key) == 2 else key for key in operations]
    known = {key for _, item in named for key in (item.meant.operation_id, (item.meant.method.upper(), item.meant.path))}
    for key in wanted:
        if key not in known:
            near = closest(key, [str(item) for item in known if isinstance(item, str)]) if isinstance(key, str) else []
            hint = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
            problems.append(f"there is no operation {' '.join(key) if isinstance(key, tuple) else key!r}{hint}")
    chosen = set(wanted)
    return [(name, item) for name, item in named if chosen & {item.meant.operation_id, (item.meant.method.upper(), item.meant.path)}]


def _plan(references: References, schemas: RequestSchemas, listed: _Listed, omitted: frozenset[tuple[str, str]]) -> _Plan:
    parameters = read_parameters(references, schemas, listed.item, listed.operation, omitted)
    body = read_body(references, schemas, listed.operation)
    in_path = set(_TEMPLATE.findall(listed.meant.path))
    declared = {item.name for item in parameters if item.location == "path"}
    for name in sorted(in_path ^ declared):
        place = "stands in the path but is no parameter" if name in in_path else "is a path parameter but does not stand in the path"
        raise Unreadable(f"{name!r} {place}")
    arguments = _argument_names(parameters)
    merged: dict[str, str] = {}
    body_argument = ""
    if body is not None:
        wishes = [(parameter_name(name), name) for name in body.properties]
        merged = dict(zip(unique_names(wishes), body.properties, strict=True))
        if not merged or not merged.keys().isdisjoint(arguments):
            merged = {}
            body_argument = _free("body", arguments)
    return _Plan(listed.meant, dict(zip(arguments, parameters, strict=True)), body, merged, body_argument)


def _argument_names(parameters: list[Parameter]) -> list[str]:
    """The argument of each parameter: its own name, with its location where parameters of other locations come before it."""
    wishes: list[tuple[str, str]] = []
    taken: dict[str, str] = {}
    for item in parameters:
        name = parameter_name(item.name) or item.location
        if taken.setdefault(name, item.location) != item.location:
            name = f"{name}_{item.location}"
        wishes.append((name, item.name if name == item.name else f"{item.location} {item.name}"))
    return unique_names(wishes)


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name = f"request_{name}"
    return name


def _source_tool(
    name: str, listed: _Listed, plan: _Plan, schemas: RequestSchemas, call: Callable[[Request], Any], dialect: str
) -> SourceTool:
    properties: dict[str, Any] = {}
    required: list[str] = []
    secret: set[str] = set()
    fields: list[tuple[str, Any, bool, bool]] = [
        (argument, item.schema, item.required, item.secret) for argument, item in plan.parameters.items()
    ]
    if plan.body is not None and plan.body_argument:
        fields.append((plan.body_argument, plan.body.schema, plan.body.required, False))
    elif plan.body is not None:
        for argument, key in plan.merged.items():
            item = plan.body.properties[key]
            fields.append((argument, item.schema, item.required, item.secret))
    for argument, schema, is_required, is_secret in fields:
        properties[argument] = schema
        if is_required:
            required.append(argument)
        if is_secret:
            secret.add(argument)
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if definitions := schemas.definitions(schema):
        schema["$defs"] = definitions
    method = listed.meant.method
    hints = {"readOnlyHint": True} if method in _SAFE else {}
    hints |= {"idempotentHint": True} if method in {"PUT", "DELETE"} else {}
    return SourceTool(
        name=name,
        description=_description(listed),
        schema=schema,
        handler=_handler(plan, call),
        origin=str(listed.meant),
        is_async=is_async(call),
        dialect=dialect,
        title=listed.meant.summary or None,
        annotations=hints,
        secret=frozenset(secret),
    )


def _description(listed: _Listed) -> str:
    summary = listed.meant.summary.strip()
    details = str(listed.operation.get("description") or listed.item.get("description") or "").strip()
    if details.startswith(summary):
        summary = ""
    parts = ["Deprecated."] if listed.meant.deprecated else []
    return "\n\n".join([*parts, *filter(None, (summary, details))])


def _handler(plan: _Plan, call: Callable[[Request], Any]) -> Callable[..., Any]:
    if is_async(call):

        async def send(**arguments: Any) -> Any:
            return await call(plan.request(arguments))

        return send

    def send_now(**arguments: Any) -> Any:
        return call(plan.request(arguments))

    return send_now
