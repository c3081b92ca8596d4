"""Records <-> rows of the tables."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolbox.audit.metadata import origin_of
from toolbox.audit.record import AuditRecord, CallStatus
from toolbox.audit.store.columns import absent_or_json, json_column, key_column, number, place_column, read_json, read_value, text_column
from toolbox.audit.store.stored import StoredRecord
from toolbox.diagnostics import Diagnostic, DiagnosticKind, Failure, FailureReason, Risk
from toolbox.errors import StoreError

__all__ = ["Row", "Rows", "ending_row", "record_of", "rows_of"]

Row = dict[str, Any]

ITEMS_KEPT: Final = 1_000
"""How many changes, and how many failures, of one record are kept."""
_ERROR: Final = 2_000
_PATH: Final = 1_000
_WORDS: Final = 1_000
_NAME: Final = 200


class Rows:
    """The rows of one record.

    Attributes:
        record: its row in the table of records.
        changes: its rows in the table of changes.
        failures: its rows in the table of failures.
    """

    __slots__ = ("changes", "failures", "record")

    def __init__(self, record: Row, changes: list[Row], failures: list[Row]) -> None:
        self.record = record
        self.changes = changes
        self.failures = failures


def rows_of(record: AuditRecord) -> Rows:
    """The rows of a record, but for the session, which is known when they are written, whatever the values are."""
    given: Any = record.metadata  # whatever a sink is handed
    metadata = given if isinstance(given, Mapping) else {"metadata": given}
    model = key_column(metadata.get("model"))
    tool = key_column(record.tool) or ""
    opened_at = number(record.time) or 0.0
    origin = origin_of(metadata)
    record_id = key_column(record.id) or uuid.uuid4().hex
    shared = {"record_id": record_id, "opened_at": opened_at, "tool": tool, "model": model, "origin": origin}
    arguments, cut_arguments = json_column(record.arguments)
    # Most calls run with what came.
    same = record.invoked is record.arguments
    invoked, cut_invoked = (arguments, False) if same else (None, False) if record.invoked is None else json_column(record.invoked)
    said, cut_metadata = json_column(metadata)
    diagnostics, failed = tuple(record.diagnostics), tuple(record.failures)
    is_cut = cut_arguments or cut_invoked or cut_metadata or len(diagnostics) > ITEMS_KEPT or len(failed) > ITEMS_KEPT
    row = {
        "id": record_id,
        "opened_at": opened_at,
        "tool": tool,
        "policy": key_column(record.policy) or "",
        "call_id": key_column(record.call_id),
        "model": model,
        "conversation_id": key_column(metadata.get("conversation_id")),
        "user_id": key_column(metadata.get("user")),
        "origin": origin,
        "arguments": arguments,
        "invoked": invoked,
        "metadata": said,
        "is_cut": is_cut,
        **ending_row(record),
    }
    return Rows(
        row,
        [_change_row(item, position, shared) for position, item in enumerate(diagnostics[:ITEMS_KEPT])],
        [_failure_row(item, position, shared) for position, item in enumerate(failed[:ITEMS_KEPT])],
    )


def ending_row(record: AuditRecord) -> Row:
    """What changes in the row of a record when its call ends."""
    duration = number(record.duration_ms) or 0.0
    status = text_column(getattr(record.status, "value", record.status), _NAME)
    is_running = status == CallStatus.RUNNING.value
    worst = record.worst_risk
    return {
        "status": status,
        "closed_at": None if is_running else (number(record.time) or 0.0) + duration / 1000,
        "duration_ms": None if is_running else duration,
        "error": None if record.error is None else text_column(record.error, _ERROR),
        "worst_risk": None if worst is None else int(worst),
    }


def _change_row(item: Diagnostic, position: int, shared: Row) -> Row:
    return {
        **shared,
        "position": position,
        "path": text_column(item.path, _PATH),
        "place": place_column(item.path),
        "kind": item.kind.value,
        "conversion": text_column(item.conversion, _NAME),
        "risk": int(item.risk),
        "value_before": absent_or_json(item.before)[0],
        "value_after": absent_or_json(item.after)[0],
        "suggestion": text_column(item.suggestion, _WORDS),
    }


def _failure_row(item: Failure, position: int, shared: Row) -> Row:
    return {
        **shared,
        "position": position,
        "path": text_column(item.path, _PATH),
        "place": place_column(item.path),
        "reason": item.reason.value,
        "expected": text_column(item.expected, _WORDS),
        "value": absent_or_json(item.value)[0],
        "detail": text_column(item.detail, _WORDS),
        "suggestion": text_column(item.suggestion, _WORDS),
        "would_be": None if item.would_be is None else json_column(_plain_change(item.would_be), 4 * _WORDS)[0],
    }


def _plain_change(item: Diagnostic) -> Row:
    """A change that was not made, as JSON data."""
    made = {
        "path": item.path,
        "kind": item.kind.value,
        "risk": int(item.risk),
        "conversion": item.conversion,
        "suggestion": item.suggestion,
        "before": absent_or_json(item.before)[0],
        "after": absent_or_json(item.after)[0],
    }
    return {name: value for name, value in made.items() if value is not None}


def record_of(row: Mapping[str, Any], changes: Iterable[Mapping[str, Any]], failures: Iterable[Mapping[str, Any]]) -> StoredRecord:
    """The record of its rows.

    Raises:
        StoreError: a row holds what this version of toolbox does not know.
    """
    try:
        metadata = read_json(row["metadata"])
        return StoredRecord(
            tool=_text(row["tool"]),
            policy=_text(row["policy"]),
            arguments=read_json(row["arguments"]),
            invoked=read_json(row["invoked"]),
            diagnostics=tuple(map(_change_of, changes)),
            failures=tuple(map(_failure_of, failures)),
            status=CallStatus(row["status"]),
            duration_ms=row["duration_ms"] or 0.0,
            error=row["error"],
            call_id=row["call_id"],
            metadata=metadata if isinstance(metadata, dict) else {"metadata": metadata},
            time=row["opened_at"],
            id=_text(row["id"]),
            closed_at=row["closed_at"],
            session_id=row["session_id"],
            is_cut=bool(row["is_cut"]),
        )
    except (ValueError, TypeError, LookupError) as error:
        raise StoreError("corrupt", f"the stored record {row['id']!r} cannot be read: {error}") from error


def _text(value: Any) -> str:
    """What has to be text: SQLite takes bytes too, from somebody else."""
    if not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__} stands where there should be text")
    return value


def _change_of(row: Mapping[str, Any]) -> Diagnostic:
    return Diagnostic(
        _text(row["path"]),
        DiagnosticKind(row["kind"]),
        Risk(row["risk"]),
        read_value(row["value_before"]),
        read_value(row["value_after"]),
        row["conversion"],
        row["suggestion"],
    )


def _failure_of(row: Mapping[str, Any]) -> Failure:
    return Failure(
        _text(row["path"]),
        FailureReason(row["reason"]),
        row["expected"],
        read_value(row["value"]),
        row["detail"],
        row["suggestion"],
        None if row["would_be"] is None else _would_be_of(read_json(row["would_be"])),
    )


def _would_be_of(plain: Any) -> Diagnostic | None:
    # One that was too large for its column is no object of this form any more.
    if not isinstance(plain, dict) or "kind" not in plain:
        return None
    return _change_of({"value_before": plain.get("before"), "value_after": plain.get("after"), **plain})
