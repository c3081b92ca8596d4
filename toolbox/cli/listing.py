"""``toolbox list`` and ``toolbox schema``: what the tools are, for people and for providers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolbox.cli.printing import Cell, Column, Printer
from toolbox.cli.problems import UsageProblem
from toolbox.diagnostics import MASK, shorten
from toolbox.errors import ToolboxError
from toolbox.json_values import snapshot
from toolbox.registry import Registry
from toolbox.tools import Tool
from toolbox.types import (
    ABSENT,
    AnyType,
    ArrayType,
    BooleanType,
    EnumType,
    Field,
    IntegerType,
    NullType,
    NumberType,
    ObjectType,
    Opaque,
    Ref,
    StringType,
    Type,
    UnionType,
)

__all__ = ["list_tools", "show_schemas"]

_CHOICES: Final = 8
_DEFAULT: Final = 40
_NAMES: Final[Mapping[type[Type], str]] = {
    AnyType: "any",
    NullType: "null",
    BooleanType: "boolean",
    IntegerType: "integer",
    NumberType: "number",
    ObjectType: "object",
    Opaque: "any",
}


def list_tools(registry: Registry, printer: Printer, *, as_json: bool) -> int:
    """Show the tools: a table on a terminal, a line each anywhere else."""
    if as_json:
        printer.json([_described(tool) for tool in registry])
        return 0
    if not len(registry):
        printer.line("no tools are registered", err=True)
    elif printer.out.is_terminal:
        printer.table((Column("tool"), Column("parameters"), Column("description")), [_row(tool) for tool in registry])
    else:
        for tool in registry:
            written = ", ".join(_written(item, tool) for item in tool.parameters)
            printer.line(f"{tool.name}({written}){_marks(tool)}  {_summary(tool)}".rstrip())
    return 0


def show_schemas(registry: Registry, provider: str, printer: Printer, *, strict: bool) -> int:
    """Write the definitions of the tools as a provider wants them, as JSON.

    Raises:
        UsageProblem: the provider is not known, or the definitions cannot be written for it.
    """
    try:
        printer.json(registry.schemas(provider, strict=strict))
    except (ToolboxError, ValueError) as error:
        raise UsageProblem(str(error)) from error
    return 0


def _row(tool: Tool) -> tuple[Cell, str, str]:
    parameters = "\n".join(_written(item, tool) for item in tool.parameters)
    return Cell(f"{tool.name}{_marks(tool)}", "bold cyan"), parameters, _summary(tool)


def _summary(tool: Tool) -> str:
    return " ".join(tool.description.split("\n\n", 1)[0].split())


def _marks(tool: Tool) -> str:
    return (" [high risk]" if tool.high_risk else "") + _APPROVALS[_approval(tool)]


_APPROVALS: Final = {None: "", "always": " [needs approval]", "sometimes": " [may need approval]"}


def _approval(tool: Tool) -> str | None:
    """Whether calls of the tool wait for a person; where a function says it, they may."""
    return "sometimes" if callable(tool.approval) else tool.approval


def _written(field: Field, tool: Tool) -> str:
    secret = field.name in tool.secret
    text = f"{field.name}: {_type_name(field.type, tool, 2)}"
    if not field.required and field.type.default is not ABSENT:
        text += f" = {MASK if secret else shorten(field.type.default, _DEFAULT)}"
    elif not field.required:
        text += " = ..."
    return f"{text} [secret]" if secret else text


def _described(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "policy": tool.policy.name,
        "high_risk": tool.high_risk,
        "approval": _approval(tool),
        "parameters": [_parameter(item, tool) for item in tool.parameters],
    }


def _parameter(field: Field, tool: Tool) -> dict[str, Any]:
    secret = field.name in tool.secret
    made: dict[str, Any] = {"name": field.name, "type": _type_name(field.type, tool, 2), "required": field.required, "secret": secret}
    if field.type.default is not ABSENT:
        made["default"] = MASK if secret else snapshot(field.type.default)
    if field.type.description:
        made["description"] = field.type.description
    return made


def _type_name(node: Type, tool: Tool, depth: int) -> str:
    """What a parameter takes, in a few words: ``integer``, ``"asc" | "desc"``, ``array of string | null``."""
    if isinstance(node, Ref):
        known = tool.document.definitions.get(node.name)
        return node.name if known is None or isinstance(known, ObjectType) or not depth else _type_name(known, tool, depth - 1)
    if isinstance(node, EnumType):
        shown = [shorten(value, _DEFAULT) for value in node.values[:_CHOICES]]
        more = len(node.values) - len(shown)
        return " | ".join([*shown, *([f"{more} more"] if more else []), *(["string"] if node.open else [])])
    if isinstance(node, UnionType):
        return " | ".join(dict.fromkeys(_type_name(item, tool, depth) for item in node.members))
    if isinstance(node, ArrayType):
        return "array" if isinstance(node.items, AnyType) or not depth else f"array of {_type_name(node.items, tool, depth - 1)}"
    if isinstance(node, StringType):
        return node.format or node.encoding or "string"
    return _NAMES.get(type(node), "any")
