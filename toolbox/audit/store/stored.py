"""A record as the store gives it back."""

from __future__ import annotations

from dataclasses import dataclass

from toolbox.audit.record import AuditRecord

__all__ = ["StoredRecord"]


@dataclass
class StoredRecord(AuditRecord):
    """What the store holds about one call; `arguments`, `invoked` and `metadata` are plain JSON data.

    Attributes:
        closed_at: when the call ended, in seconds since the epoch; None while it runs, and when its process ended before it did.
        session_id: which session of a process wrote it.
        is_cut: whether something was too large for its column, so that only a part of it is kept.
    """

    closed_at: float | None = None
    session_id: str = ""
    is_cut: bool = False
