"""Lines that are records: what ``AuditRecord.to_dict`` writes, and lines of the log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolbox.audit import AuditRecord, CallStatus
from toolbox.diagnostics import ABSENT, MASK, Diagnostic, DiagnosticKind, Failure, FailureReason, Risk

__all__ = ["read_record"]

_CHANGE: Final = re.compile(r"\[(info|warning|risky)\] (\$\S*): (.*)\Z", re.DOTALL)
_FAILURE: Final = re.compile(r"(\$[^\s:]*): (.*)\Z", re.DOTALL)
_RENAMED: Final = re.compile(r'("(?:[^"\\]|\\.)*") taken as the tool "')
_LONG: Final = 1_900
_CUT: Final = "<cut: too large to be kept>"
# How a line of the log begins what it says of a change of each kind, where that is not the kind's own name.
_BEGINS: Final = {
    "used the default": DiagnosticKind.DEFAULTED,
    "left out": DiagnosticKind.DROPPED,
    "given more than once": DiagnosticKind.DUPLICATE_KEY,
    **{kind.value.replace("_", " "): kind for kind in DiagnosticKind},
}


def read_record(value: Any) -> AuditRecord | None:
    """The record that the JSON value of a line is; None where it is something else."""
    if not isinstance(value, Mapping) or not isinstance(value.get("tool"), str) or "arguments" not in value:
        return None
    status = value.get("status")
    if not isinstance(status, str) or status not in CallStatus.__members__.values():
        return None
    if isinstance(value.get("diagnostics"), list) and isinstance(value.get("failures"), list):
        return _of_dict(value, CallStatus(status))
    if "record_id" in value and isinstance(value["arguments"], str):
        return _of_log(value, CallStatus(status))
    return None


def _of_dict(value: Mapping[str, Any], status: CallStatus) -> AuditRecord:
    invoked, metadata = value.get("invoked"), value.get("metadata")
    return AuditRecord(
        tool=value["tool"],
        policy=str(value.get("policy", "")),
        arguments=value["arguments"],
        invoked=dict(invoked) if isinstance(invoked, Mapping) else None,
        diagnostics=tuple(filter(None, map(_diagnostic, value["diagnostics"]))),
        failures=tuple(filter(None, map(_failure, value["failures"]))),
        status=status,
        metadata=metadata if isinstance(metadata, Mapping) else {},
        time=0.0,
        id=str(value.get("id", "")),
    )


def _diagnostic(item: Any) -> Diagnostic | None:
    if not isinstance(item, Mapping):
        return None
    try:
        kind, risk = DiagnosticKind(item["kind"]), Risk[str(item["risk"]).upper()]
    except (KeyError, ValueError):
        return None
    return Diagnostic(
        str(item.get("path", "$")), kind, risk, item.get("before", ABSENT), item.get("after", ABSENT), str(item.get("conversion", ""))
    )


def _failure(item: Any) -> Failure | None:
    if not isinstance(item, Mapping):
        return None
    try:
        reason = FailureReason(item["reason"])
    except (KeyError, ValueError):
        return None
    would_be = item.get("would_be")
    return Failure(
        str(item.get("path", "$")),
        reason,
        str(item.get("expected", "")),
        item.get("value", ABSENT),
        would_be=None if would_be is None else _diagnostic(would_be),
    )


# -- lines of the log ----------------------------------------------------------------------------------------------------------------


def _of_log(value: Mapping[str, Any], status: CallStatus) -> AuditRecord:
    return AuditRecord(
        tool=value["tool"],
        policy=str(value.get("policy", "")),
        arguments=_arguments(value["arguments"]),
        diagnostics=tuple(map(_told_change, _lines(value.get("changes")))),
        failures=tuple(map(_told_failure, _lines(value.get("failures")))),
        status=status,
        time=0.0,
        id=str(value["record_id"]),
    )


def _lines(told: Any) -> Iterator[str]:
    return (item for item in told if isinstance(item, str)) if isinstance(told, list) else iter(())


def _arguments(text: str) -> Any:
    """The arguments of a line, or a note that they are not whole."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return _CUT
    # Where there was no room for the arguments, the beginning of their text stands in the line as a text.
    return _CUT if isinstance(found, str) and len(text) >= _LONG else found


def _told_change(line: str) -> Diagnostic:
    """A change as far as its line says it: what it says of the values is for people."""
    said = _CHANGE.match(line)
    if said is None:
        return Diagnostic("$", DiagnosticKind.COERCED, Risk.WARNING, ABSENT, ABSENT)
    path, risk, words = said[2], Risk[said[1].upper()], said[3]
    renamed = _RENAMED.match(words)
    if renamed and path == "$":
        return Diagnostic(path, DiagnosticKind.RENAMED, risk, _told_name(renamed[1]), ABSENT, "tool")
    kind = next((kind for begin, kind in _BEGINS.items() if words.startswith(begin)), DiagnosticKind.COERCED)
    return Diagnostic(path, kind, risk, ABSENT, ABSENT)


def _told_name(text: str) -> str:
    """The name in a line; where it is not whole, or somebody else has written the line, it is not known."""
    try:
        name: str = json.loads(text)
    except ValueError:
        return MASK
    return MASK if name.endswith("...") else name


def _told_failure(line: str) -> Failure:
    said = _FAILURE.match(line)
    path, words = (said[1], said[2]) if said else ("$", line)
    reason = FailureReason.INVALID
    if words.startswith("missing"):
        reason = FailureReason.MISSING
    elif words.startswith("there is no such parameter"):
        reason = FailureReason.UNKNOWN
    return Failure(path, reason, "")
