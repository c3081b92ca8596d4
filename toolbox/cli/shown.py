"""What of a call may be shown: changes and failures as table rows and as JSON, with the values of secret parameters masked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from toolbox.cli.printing import RISK_STYLES, Cell, Column, Printer
from toolbox.diagnostics import MASK, CoercionReport, Diagnostic, DiagnosticKind, Failure, FailureReason, Risk, shorten
from toolbox.json_values import Bounds, snapshot
from toolbox.masking import hidden, shows
from toolbox.replaying import as_sent
from toolbox.tools import Tool
from toolbox.types import ABSENT

__all__ = ["BOUNDS", "Shown", "as_sent", "conversion_words", "print_changes", "print_failures"]

BOUNDS: Final = Bounds(text=1_000_000, nodes=1_000_000, depth=64)
"""How much of one value is shown."""
_CELL: Final = 48
_FIRST_KEY: Final = re.compile(r"\$\.(\w+)")


class Shown:
    """What may be shown of the calls of one tool.

    Args:
        tool: the tool; None for a name that no tool has.
        guarded: whether arguments are masked when there is no tool, because nobody knows which of them are secret.
    """

    def __init__(self, tool: Tool | None, *, guarded: bool = False) -> None:
        self.tool = tool
        # What a redaction hides beside secret parameters is masked where changes and failures are made.
        self.guarded = bool(tool.secret) if tool is not None else guarded

    def shows(self, key: str) -> bool:
        """Whether the value under a key is shown: that of a declared parameter that is not secret, under any spelling of its name.

        What is not declared may be meant for the secret parameter.
        """
        return not self.guarded or (self.tool is not None and shows(self.tool, key))

    def value(self, value: Any) -> Any:
        """A JSON value of arguments; text that may hold a secret anywhere is masked as a whole."""
        if self.tool is not None:
            return hidden(self.tool, value, BOUNDS)
        if not self.guarded:
            return snapshot(value, BOUNDS)
        return {str(key): MASK for key in value} if isinstance(value, Mapping) else MASK

    def changes(self, changes: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The changes with their values masked where they must be; those about the whole payload hold every argument."""
        return [
            item
            if self._shows_at(item.path) or _names_tool(item)
            else replace(item, before=_hidden(item.before), after=_hidden(item.after), suggestion="")
            for item in changes
        ]

    def failures(self, failures: Iterable[Failure]) -> list[Failure]:
        """The same for failures."""
        return [
            item if self._shows_at(item.path) else replace(item, value=_hidden(item.value), detail="", would_be=None) for item in failures
        ]

    def _shows_at(self, path: str) -> bool:
        if not self.guarded:
            return True
        first = _FIRST_KEY.match(path)
        return first is not None and self.shows(first[1])

    def message(self, report: CoercionReport) -> str:
        """The refusal as the model reads it."""
        name = "" if self.tool is None else self.tool.name
        return CoercionReport(None, {}, [], self.failures(report.failures)).to_text(name)

    def change_json(self, change: Diagnostic) -> dict[str, Any]:
        """One change that `changes` gave, as JSON."""
        made: dict[str, Any] = {"path": change.path, "kind": change.kind.value, "conversion": change.conversion, "risk": _risk(change.risk)}
        if change.before is not ABSENT:
            made["before"] = snapshot(change.before, BOUNDS)
        if change.after is not ABSENT:
            made["after"] = snapshot(change.after, BOUNDS)
        return {**made, "suggestion": change.suggestion} if change.suggestion else made

    def failure_json(self, failure: Failure) -> dict[str, Any]:
        """One failure that `failures` gave, as JSON."""
        made: dict[str, Any] = {"path": failure.path, "reason": failure.reason.value, "expected": failure.expected}
        if failure.value is not ABSENT:
            made["value"] = snapshot(failure.value, BOUNDS)
        if failure.detail:
            made["detail"] = failure.detail
        if failure.suggestion:
            made["suggestion"] = failure.suggestion
        if failure.would_be is not None:
            made["would_be"] = self.change_json(failure.would_be)
        return made


def _names_tool(change: Diagnostic) -> bool:
    return change.path == "$" and change.kind is DiagnosticKind.RENAMED


def _hidden(value: Any) -> Any:
    return value if value is ABSENT else MASK


def _risk(risk: Risk) -> str:
    return risk.name.lower()


_CHANGES: Final = (Column("path"), Column("came"), Column("made of it"), Column("change"), Column("risk", whole=True))
_FAILURES: Final = (Column("path"), Column("came"), Column("refused as"), Column("what to send"))


def print_changes(printer: Printer, changes: Iterable[Diagnostic]) -> None:
    """A line for each change that `Shown.changes` gave, to standard error."""
    rows = [
        (
            item.path,
            _brief(item.before),
            _brief(ABSENT if item.kind is DiagnosticKind.DROPPED else item.after),
            Cell(_change(item), "dim" if as_sent(item) else ""),
            Cell(_risk(item.risk), RISK_STYLES[_risk(item.risk)]),
        )
        for item in changes
    ]
    if rows:
        printer.line(err=True)
        printer.table(_CHANGES, rows, err=True)


def print_failures(printer: Printer, failures: Iterable[Failure]) -> None:
    """A line for each failure that `Shown.failures` gave, to standard error."""
    rows = [(item.path, _brief(item.value), Cell(_words(item.reason.value), "red"), _advice(item)) for item in failures]
    printer.line(err=True)
    printer.table(_FAILURES, rows, err=True)


def _brief(value: Any) -> str:
    if value is ABSENT:
        return "-"
    return MASK if value == MASK else shorten(value, _CELL)


def _words(code: str) -> str:
    return code.replace("_", " ")


def _change(change: Diagnostic) -> str:
    kind, conversion = _words(change.kind.value), conversion_words(change.kind, change.conversion)
    return conversion if conversion.startswith(kind) else f"{kind} {conversion}".rstrip()


def conversion_words(kind: str, conversion: str) -> str:
    """A conversion beside its kind; empty where it says no more than the kind does.

    >>> conversion_words("matched", "match:prefix"), conversion_words("defaulted", "default")
    ('prefix', '')
    """
    words = conversion.removeprefix("match:")
    return "" if (kind, words) in {("defaulted", "default"), ("dropped", "unknown"), ("preserved", "unknown")} else words


def _advice(failure: Failure) -> str:
    said = [] if failure.reason is FailureReason.UNKNOWN else [failure.expected]
    said += [text for text in (failure.detail, failure.suggestion[:1].lower() + failure.suggestion[1:]) if text]
    if failure.would_be is not None:
        said.append(f"would have become {shorten(failure.would_be.after, _CELL)}, {_risk(failure.would_be.risk)}")
    return "; ".join(said)
