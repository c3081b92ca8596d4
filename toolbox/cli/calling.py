"""``toolbox call`` and ``toolbox check``: one call, with the table of what was made of its arguments."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolbox.cli.loading import own_traceback
from toolbox.cli.printing import Printer
from toolbox.cli.shown import BOUNDS, Shown, as_sent, print_changes, print_failures
from toolbox.diagnostics import CoercionReport, Diagnostic
from toolbox.dispatch import needs_approval
from toolbox.errors import ApprovalPending, ToolboxError, UnknownTool
from toolbox.json_values import snapshot
from toolbox.registry import Registry
from toolbox.results import result_text

__all__ = ["call", "check"]


@dataclass(frozen=True, slots=True)
class _End:
    """How a call ended.

    Attributes:
        status: stable word for it.
        ok: whether it is fine.
        said: the same for a person, after the name of the tool.
        message: the error as the model reads it.
    """

    status: str
    ok: bool
    said: str
    message: str = ""


def check(registry: Registry, name: str, payload: str | None, printer: Printer, *, as_json: bool) -> int:
    """Show what would be made of a call's arguments; the tool is not called.

    Returns:
        0 when the tool would be called, or a person would be asked; 1 when the call would be refused.
    """
    shown, report = Shown(None), None
    try:
        tool = registry.resolve(name)
        shown = Shown(tool)
        report = registry.check(tool.name, payload)
    except ToolboxError as error:
        end = _End(_status(error), ok=False, said="would be refused", message=str(error))
    else:
        if report.ok and needs_approval(tool, report):
            end = _End("pending", ok=True, said="would wait for a person's approval")
        elif report.ok:
            end = _End("accepted", ok=True, said="would be called")
        else:
            end = _End("refused", ok=False, said="would be refused", message=shown.message(report))
    fits = shown.value(report.normalized_args) if report is not None else None
    return _finish(_Told(name, shown, report, end), fits, printer, as_json=as_json)


def call(registry: Registry, name: str, payload: str | None, printer: Printer, *, as_json: bool) -> int:
    """Call a tool, and show its result and what was made of the arguments.

    Returns:
        0 when the tool returned, 1 when the call was refused or waits for a person, or the tool failed.
    """
    report: CoercionReport | None = None
    value: Any = None
    try:
        # What the tool prints is not its result.
        with contextlib.redirect_stdout(sys.stderr):
            result = registry.run(name, payload)
    except ToolboxError as error:  # what is the application's fault, and not the model's
        shown, end = Shown(registry.resolve(name)), _end(error, None, Shown(None))
    except Exception as error:  # noqa: BLE001 - fallback handlers may raise anything
        return _broke(error, printer)
    else:
        report, value = result.report, result.value
        shown = Shown(None if isinstance(result.error, UnknownTool) else registry[result.tool])
        end = _end(result.error, report, shown)
    return _finish(_Told(name, shown, report, end), value, printer, as_json=as_json, result=True)


def _end(problem: ToolboxError | None, report: CoercionReport | None, shown: Shown) -> _End:
    """How a call ended that was run."""
    if problem is None:
        if report is None or report.ok:
            return _End("done", ok=True, said="was called")
        return _End("fallback", ok=True, said="was answered by the fallback handler")
    if isinstance(problem, ApprovalPending):
        return _End("pending", ok=False, said="waits for a person; nothing was run", message=str(problem))
    if report is not None and report.failures:
        return _End("refused", ok=False, said="was refused; nothing was run", message=shown.message(report))
    status = _status(problem)
    return _End(status, ok=False, said=_SAID.get(status, "was refused; nothing was run"), message=str(problem))


_STATUSES: Final = {
    "UnknownTool": "unknown_tool",
    "ToolExecutionError": "failed",
    "ToolTimeout": "timeout",
    "MissingContext": "missing_context",
}
_SAID: Final = {"failed": "failed", "timeout": "did not end in time", "missing_context": "cannot be called from here"}


def _status(error: ToolboxError) -> str:
    return _STATUSES.get(type(error).__name__, "refused")


def _finish(told: _Told, value: Any, printer: Printer, *, as_json: bool, result: bool = False) -> int:
    """Show how a call ended, and return the exit code."""
    end = told.end
    if as_json:
        printer.json(told.document({"result": snapshot(value, BOUNDS)} if result and end.ok else {}))
        return 0 if end.ok else 1
    if end.ok and isinstance(value, str):
        printer.block(result_text(value))
    elif end.ok:
        printer.json(snapshot(value, BOUNDS))
    told.tell(printer)
    return 0 if end.ok else 1


class _Told:
    """One call and its end, as they are shown."""

    def __init__(self, name: str, shown: Shown, report: CoercionReport | None, end: _End) -> None:
        self.tool = name if shown.tool is None else shown.tool.name
        self.policy = None if shown.tool is None else shown.tool.policy.name
        self.shown = shown
        self.report = report
        self.end = end
        self.changes = [] if report is None else shown.changes(report.diagnostics)
        self.failures = [] if report is None else shown.failures(report.failures)

    def tell(self, printer: Printer) -> None:
        """A headline and the tables, to standard error."""
        end = self.end
        head = f"{self.tool} {end.said}"
        if self.failures:
            head += f": {_number(len(self.failures), 'failure')}"
        elif end.ok:
            head += f": {_counted(self.changes)}"
        if self.policy is not None:
            head += f" (policy {self.policy})"
        printer.line(head, "bold green" if end.ok else "bold red", err=True)
        if self.failures:
            print_failures(printer, self.failures)
        # Of a refused call the failures say all that the message says.
        if end.message and (not self.failures or end.status == "pending"):
            printer.block(end.message, err=True)
        print_changes(printer, self.changes)

    def document(self, result: dict[str, Any]) -> dict[str, Any]:
        """The same as JSON."""
        report, shown = self.report, self.shown
        return {
            "tool": snapshot(self.tool),
            "policy": self.policy,
            "status": self.end.status,
            "ok": self.end.ok,
            **result,
            "error": self.end.message or None,
            "arguments": None if report is None else shown.value(report.normalized_args),
            "changes": [shown.change_json(item) for item in self.changes],
            "failures": [shown.failure_json(item) for item in self.failures],
            "residual": {} if report is None else shown.value(report.residual),
        }


def _counted(changes: Sequence[Diagnostic]) -> str:
    made = [item for item in changes if not as_sent(item)]
    parts = (
        [f"{_number(len(made), 'change')}, worst risk {max(item.risk for item in made).name.lower()}"] if made else ["nothing was changed"]
    )
    if len(made) < len(changes):
        parts.append(_number(len(changes) - len(made), "default"))
    return ", ".join(parts)


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _broke(error: Exception, printer: Printer) -> int:
    printer.block(own_traceback(error), err=True)
    return 1
