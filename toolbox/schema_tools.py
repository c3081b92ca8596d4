"""Tools of JSON Schemas: what a schema says of the parameters of a tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from toolbox.audit import warn
from toolbox.coercion import unfit_defaults
from toolbox.diagnostics import path_text
from toolbox.errors import RegistrationError, ToolboxError
from toolbox.policy import Policy
from toolbox.tools import LONGEST_NAME, PLAIN_OPTIONS, Tool, ToolOptions, make_tool
from toolbox.types import Document, NeverType, Opaque

__all__ = ["is_async", "parameters_of", "read_document", "schema_tool"]

PROBLEMS_SHOWN = 2_000


def schema_tool(
    name: str,
    schema: Mapping[str, Any],
    handler: Callable[..., Any],
    policy: Policy,
    options: ToolOptions = PLAIN_OPTIONS,
    *,
    description: str = "",
    dialect: str | None = None,
    resources: Mapping[str, Any] | None = None,
    raises: bool = True,
) -> Tool:
    """A tool whose parameters a JSON Schema describes.

    Args:
        name: name of the tool.
        schema: the JSON Schema of its parameters; an object at the root.
        handler: called with the arguments as keyword arguments, as plain JSON values.
        policy: what may be done to the arguments.
        options: what the application says about the tool.
        description: text for the model.
        dialect: the flavour of the schema where it is no JSON Schema of draft 2020-12 or 7.
        resources: other documents that the schema refers to, by address.
        raises: whether a schema that is itself invalid is an error, or is reported in the tool's ``schema_problems``.

    Raises:
        RegistrationError: the schema is invalid, or no object.
    """
    if options.problems:
        raise RegistrationError(name, options.problems)
    document, problems = _read_parameters(name, schema, dialect, resources)
    if problems and raises:
        raise RegistrationError(name, problems)
    # A default is a note in JSON Schema: one that does not fit is never filled in, and the tool can be used all the same.
    problems += unfit_defaults(document)
    if problems:
        warn("schema_problems", tool=name[:LONGEST_NAME], problems="; ".join(problems)[:PROBLEMS_SHOWN])
    unknown = sorted(set(options.secret) - {item.name for item in document.parameters.fields})
    if unknown:
        raise RegistrationError(name, [f"secret: {item!r} is no parameter" for item in unknown])
    return make_tool(name, description, document, handler, policy, options, is_async=is_async(handler), schema_problems=problems)


def is_async(handler: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine."""
    import inspect

    method = vars(type(handler)).get("__call__")
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(method)


def read_document(
    schema: Mapping[str, Any] | bool,
    resources: Mapping[str, Any] | None = None,
    dialect: str | None = None,
    *,
    arguments: bool = False,
) -> Document:
    """What a schema says.

    Raises:
        InvalidSchema: it is invalid.
    """
    # Loaded with the first schema: functions need no reader of schemas.
    from toolbox.schema.format_notes import with_format_notes
    from toolbox.schema.reading import read_schema

    plain = schema if isinstance(schema, bool) else dict(schema)
    return with_format_notes(read_schema(plain, resources=resources, dialect=dialect, arguments=arguments), plain)


def _read_parameters(
    name: str, schema: Mapping[str, Any], dialect: str | None, resources: Mapping[str, Any] | None
) -> tuple[Document, list[str]]:
    """The parameters that a schema describes, and everything that is wrong with it."""
    from toolbox.schema.problems import InvalidSchema

    problems: list[str] = []
    try:
        found = read_document(schema, resources, dialect, arguments=True)
    except InvalidSchema as error:
        problems = [str(problem) for problem in error.problems]
        if error.document is None:
            raise RegistrationError(name, problems) from error
        found = error.document
    try:
        document = parameters_of(found)
        problems += [
            f"{path_text(((None, 'properties'), item.name))}: no value can fit it"
            for item in document.parameters.fields
            if isinstance(item.type, NeverType)
        ]
    except (ValueError, ToolboxError) as error:
        raise RegistrationError(name, [*problems, str(error)]) from error
    return document, problems


def parameters_of(document: Document) -> Document:
    """The document of a tool's parameters: what is not declared at the top follows the policy, because these are parameters.

    Where keywords without a counterpart may declare more properties, those that are not declared are left to the validator.
    """
    try:
        parameters = document.parameters
    except TypeError:
        raise ValueError("the schema of a tool's parameters must describe an object: {'type': 'object', 'properties': {...}}") from None
    if isinstance(document.root, Opaque) or parameters.additional is not None:
        return document
    return Document(replace(parameters, additional=NeverType()), document.definitions)
