"""The validator for schemas that no node can say: jsonschema-rs, from the extra ``[schema]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolbox.diagnostics import shorten
from toolbox.errors import ToolboxError
from toolbox.schema.dialects import dialect_of
from toolbox.schema.problems import InvalidSchema, SchemaProblem
from toolbox.schema.writing import write_schema
from toolbox.types import Document, Opaque, Type

__all__ = ["MissingValidator", "Validator", "build_validator"]

ERRORS_KEPT = 20
MESSAGE_KEPT = 200

Validator = Callable[[Any], list[tuple[tuple[str | int, ...], str]]]
"""Takes a JSON value; gives the place and the text of everything that is wrong with it."""


class MissingValidator(ToolboxError, ImportError):
    """A schema needs a real validator, and none is installed."""

    def __str__(self) -> str:
        return (
            "the schema uses keywords that only a JSON Schema validator can check, and none is installed: "
            'pip install "toolbox-dispatch[schema]"'
        )


def build_validator(schema: Any, definitions: Mapping[str, Type] | None = None) -> Validator:
    """A function that checks values by a schema of draft 2020-12, such as that of an `Opaque` node.

    Args:
        schema: the schema.
        definitions: the definitions of the document that the schema is from.

    >>> check = build_validator({"not": {"type": "string"}})
    >>> check(1), check("a")
    ([], [((), '{"type":"string"} is not allowed for the value')])

    Raises:
        MissingValidator: jsonschema-rs is not installed.
        InvalidSchema: the validator refuses the schema.
    """
    try:
        import jsonschema_rs
    except ImportError as error:
        raise MissingValidator from error
    whole = write_schema(Document(Opaque(schema=schema), definitions or {}))
    if dialect_of(str(whole.get("$ref"))) is not None:
        # The validator knows only the metaschema of the draft that a schema is in.
        whole = {"$schema": whole["$ref"], **whole}
    try:
        validator = jsonschema_rs.validator_for(whole, mask="the value", validate_formats=False, retriever=_refuse)
    except ValueError as error:  # the library's own errors are ValueErrors
        raise InvalidSchema([SchemaProblem("$", shorten(str(error), MESSAGE_KEPT))]) from error

    def check(value: Any) -> list[tuple[tuple[str | int, ...], str]]:
        found: list[tuple[tuple[str | int, ...], str]] = []
        try:
            for error in validator.iter_errors(_plain(value)):
                found.append((tuple(error.instance_path), _message(error.message)))
                if len(found) == ERRORS_KEPT:
                    break
        except ValueError as error:
            found.append(((), _message(str(error))))
        return found

    return check


def _message(text: str) -> str:
    return text if len(text) <= MESSAGE_KEPT else text[: MESSAGE_KEPT - 3] + "..."


def _refuse(address: str) -> Any:
    raise LookupError(f"{address} is not among the resources; nothing is fetched")


def _plain(value: Any) -> Any:
    """The value in the types that the validator knows, which takes no subclasses and no lone surrogates."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if value is None or kind is bool or kind is int or kind is float:
        return value
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    for base in (int, float, str):
        if isinstance(value, base):
            return _plain(base(value))
    return value
