"""The drift report: how models drift from the types of tools, and what would prevent it. Needs the extra ``store``."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from toolbox.audit.report.drift import Advice, Bucket, Drift, DriftReport, Example, Group, ParameterDrift, Tally
from toolbox.diagnostics import shorten
from toolbox.errors import StoreError

if TYPE_CHECKING:
    from toolbox.audit.store import AuditStore

__all__ = ["Advice", "Bucket", "Drift", "DriftReport", "Example", "Group", "ParameterDrift", "Tally", "drift_page", "drift_report"]


def drift_report(
    store: AuditStore,
    *,
    since: float | datetime.datetime | None = None,
    until: float | datetime.datetime | None = None,
    tool: str | None = None,
    model: str | None = None,
    source: str = "",
) -> DriftReport:
    """How models drift from the types of tools, as the records of a store say.

    Args:
        store: the records.
        since: the first moment, in seconds since the epoch or as an aware datetime; all when None.
        until: the first moment after, likewise.
        tool: only calls of this tool.
        model: only calls of this model, as the metadata names it.
        source: a name for what is read, shown in the report.

    Raises:
        StoreError: the store cannot be read, a moment is none, or a datetime has no time zone.
        TypeError: it is no store.
    """
    from toolbox.audit.report.query import Scope, ask

    if not hasattr(store, "unknown_after_s"):
        raise TypeError(f"drift_report takes a store, such as AuditStore(...), and not {shorten(store)}")
    scope = Scope(_seconds("since", since), _seconds("until", until), tool, model, store.unknown_after_s)
    try:
        return store.read(lambda connection: ask(connection, scope, source))
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:
        # SQLite takes whatever somebody else writes into a column.
        why = f"{type(error).__name__} {shorten(str(error))}"
        raise StoreError("corrupt", f"{store!r} holds what toolbox has not written, so it cannot be counted: {why}") from error


def drift_page(report: DriftReport) -> str:
    """The report as one HTML page that needs nothing else: no network, no script. It opens offline; texts of models are escaped."""
    from toolbox.audit.report.page import write_page

    return write_page(report)


def _seconds(name: str, moment: float | datetime.datetime | None) -> float | None:
    if moment is None:
        return None
    if not isinstance(moment, datetime.datetime):
        try:
            return float(moment)
        except (TypeError, ValueError, OverflowError):
            raise StoreError("misused", f"{name}= takes seconds since the epoch or an aware datetime, and not {shorten(moment)}") from None
    if moment.tzinfo is None:
        raise StoreError(
            "misused", f"{name}= is a datetime without a time zone; write datetime(..., tzinfo=UTC), or seconds since the epoch"
        )
    return moment.timestamp()
