"""The record of calls: what came, what was changed, what ran, how it ended."""

from toolbox.audit.log import is_silent, level_of, log_record, prepare, warn
from toolbox.audit.record import AuditRecord, CallStatus, MemorySink, Sink

__all__ = ["AuditRecord", "CallStatus", "MemorySink", "Sink", "is_silent", "level_of", "log_record", "prepare", "warn"]
