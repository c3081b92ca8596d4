"""The record of calls: what came, what was changed, what ran, how it ended."""

from toolbox.audit.log import is_silent, level_of, log_attempt, log_record, prepare, warn
from toolbox.audit.metadata import NO_METADATA, call_metadata, current_metadata, origin_of, with_current_metadata
from toolbox.audit.record import AuditRecord, CallStatus, MemorySink, OnAuditFailure, Sink

__all__ = [
    "NO_METADATA",
    "AuditRecord",
    "CallStatus",
    "MemorySink",
    "OnAuditFailure",
    "Sink",
    "call_metadata",
    "current_metadata",
    "is_silent",
    "level_of",
    "log_attempt",
    "log_record",
    "origin_of",
    "prepare",
    "warn",
    "with_current_metadata",
]
