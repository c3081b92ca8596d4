"""``toolbox parse``: the calls in a model's raw output, and how each was found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolbox.cli.printing import Printer
from toolbox.cli.recorded import NotRecorded, read_recorded
from toolbox.cli.shown import Shown
from toolbox.diagnostics import describe
from toolbox.errors import PayloadError, UnknownTool
from toolbox.payload import parse_json
from toolbox.policy import Limits
from toolbox.registry import Registry
from toolbox.tools import Tool, ToolCall

__all__ = ["parse"]


def parse(registry: Registry, text: str, printer: Printer, *, as_json: bool) -> int:
    """Show the calls in a model's output.

    Returns:
        0 when there are calls, 1 when there are none or one of them is broken.
    """
    calls: list[ToolCall] = []
    problem: PayloadError | None = None
    try:
        calls = registry.parse_calls(text) or _in_message(registry, text)
    except PayloadError as error:
        problem = error
    shown = [_Found(call, registry) for call in calls]
    if as_json:
        error_json = None if problem is None else {"reason": problem.reason, "message": problem.message}
        printer.json({"calls": [item.document() for item in shown], "error": error_json})
    else:
        for number, item in enumerate(shown, 1):
            item.tell(number, printer)
        if problem is not None:
            printer.line(f"refused as {problem.reason.replace('_', ' ')}: {problem.message}", "bold red", err=True)
        elif not shown:
            printer.line("no call was found", "yellow", err=True)
    return 0 if shown else 1


def _in_message(registry: Registry, text: str) -> list[ToolCall]:
    """The calls of a text that is a provider's message as JSON."""
    try:
        value, _ = parse_json(text, registry.policy.limits)
        return read_recorded(value, registry) if isinstance(value, Mapping | list) else []
    except NotRecorded:
        return []
    except PayloadError as error:
        if error.reason == "not_json":
            return []
        raise


class _Found:
    """One call as it is shown."""

    def __init__(self, call: ToolCall, registry: Registry) -> None:
        self.call = call
        self.tool: Tool | None = None
        try:
            self.tool = registry.resolve(call.name)
        except UnknownTool as error:
            self.problem = str(error)
        # Of a tool that is not there, nobody knows which arguments are secret.
        self.shown = Shown(self.tool, guarded=any(tool.guarded for tool in registry))
        arguments = call.arguments
        self.arguments = self.shown.value(_object(arguments) if isinstance(arguments, str) else arguments)
        self.changes = self.shown.changes(call.diagnostics)

    def document(self) -> dict[str, Any]:
        """The call as JSON."""
        return {
            "tool": self.call.name if self.tool is None else self.tool.name,
            "known": self.tool is not None,
            "call_id": self.call.call_id,
            "arguments": self.arguments,
            "found": [self.shown.change_json(item) for item in self.changes],
        }

    def tell(self, number: int, printer: Printer) -> None:
        """The call as lines of text."""
        name = self.call.name if self.tool is None else self.tool.name
        printer.line(f"{number}. {name}" + (f"  (id {self.call.call_id})" if self.call.call_id else ""), "bold")
        if self.tool is None:
            printer.line(f"   {self.problem}", "red", hanging=3)
        printer.line(f"   arguments: {json.dumps(self.arguments, ensure_ascii=False)}", hanging=3)
        for item in self.changes:
            printer.line(f"   {describe(item)}", "cyan", hanging=3)
        if not self.changes:
            printer.line("   found as it should be", "green")


def _object(text: str) -> Any:
    """Arguments that came as JSON text, as an object; any other text as it is."""
    try:
        value, _ = parse_json(text, Limits())
    except PayloadError:
        return text
    return value if isinstance(value, Mapping) else text
