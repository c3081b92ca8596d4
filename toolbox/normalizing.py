"""The pieces on their own: what would be made of a payload, without a registry and without invoking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolbox.coercion import build_coercer, coerce_enums_in
from toolbox.diagnostics import INVALID, CoercionReport, Outcome
from toolbox.dispatch import check
from toolbox.payload.limits import check_limits
from toolbox.policy import LENIENT, Policy
from toolbox.schema_tools import parameters_of, read_document
from toolbox.tools import ToolNames, make_tool, read_tool

__all__ = ["coerce_enums", "coerce_to_schema", "normalize_from_schema", "normalize_tool_args"]


def normalize_tool_args(function: Callable[..., Any], payload: Any, policy: Policy = LENIENT) -> CoercionReport:
    """The report on a payload for a function, without a registry and without invoking.

    Args:
        function: any callable that can be a tool.
        payload: a mapping, JSON text, or text that holds the arguments.
        policy: what may be done to the arguments.

    Raises:
        RegistrationError: the function cannot become a tool.
        PayloadError: the payload holds no usable arguments.

    >>> def search(term: str, limit: int = 10) -> None: ...
    >>> normalize_tool_args(search, {"term": "cables", "limit": "5"}).conversion_log
    [('$.limit', 'str->int')]
    """
    made = read_tool(function, policy)
    return check(made, payload, ToolNames({made.name: made}))


def normalize_from_schema(
    schema: Mapping[str, Any],
    payload: Any,
    policy: Policy = LENIENT,
    *,
    dialect: str | None = None,
    resources: Mapping[str, Any] | None = None,
) -> CoercionReport:
    """The report on a payload for a tool whose parameters a JSON Schema describes, without a registry and without invoking.

    Raises:
        InvalidSchema: the schema is invalid.
        ValueError: it describes no object.
        PayloadError: the payload holds no usable arguments.
    """
    made = make_tool(
        "tool", "", parameters_of(read_document(schema, resources, dialect, arguments=True)), lambda **arguments: arguments, policy
    )
    return check(made, payload, ToolNames({made.name: made}))


def coerce_to_schema(
    schema: Mapping[str, Any] | bool,
    value: Any,
    policy: Policy = LENIENT,
    resources: Mapping[str, Any] | None = None,
    *,
    dialect: str | None = None,
) -> CoercionReport:
    """The report on any JSON value for a JSON Schema; the coerced value is the report's ``value``.

    Args:
        schema: the JSON Schema.
        value: any JSON value.
        policy: what may be done to it.
        resources: other documents that the schema refers to, by address; nothing is ever fetched.
        dialect: the flavour of the schema where it is no JSON Schema of draft 2020-12 or 7.

    Raises:
        InvalidSchema: the schema is invalid.
        PayloadError: the value is beyond the limits.
    """
    check_limits(value, policy.limits)
    out = Outcome()
    made = build_coercer(read_document(schema, resources, dialect), policy)(value, None, out)
    return CoercionReport(value, None if made is INVALID else made, out.diagnostics, out.failures, out.residual)


def coerce_enums(args: Mapping[str, Any], schema: Mapping[str, Any], policy: Policy = LENIENT) -> CoercionReport:
    """Match every enum field of a payload, at any depth, and leave everything else as it is.

    Args:
        args: the payload; it is not changed.
        schema: a JSON Schema of it.
        policy: how far the matching may go.

    Returns:
        The report. A value that matches no choice stays as it came, and is among the failures.

    Raises:
        InvalidSchema: the schema is invalid.
        PayloadError: the payload is beyond the limits.

    >>> schema = {"properties": {"order": {"enum": ["asc", "desc"]}}}
    >>> coerce_enums({"order": "ASCENDING", "table": "t"}, schema).normalized_args
    {'order': 'asc', 'table': 't'}
    """
    check_limits(args, policy.limits)
    out = Outcome()
    made = coerce_enums_in(read_document(schema), args, policy, out)
    return CoercionReport(args, made, out.diagnostics, out.failures)
