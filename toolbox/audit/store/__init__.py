"""The durable store of records: an SQLite file by default, a PostgreSQL server for several machines. Needs the extra ``store``."""

from toolbox.audit.store.stored import StoredRecord
from toolbox.audit.store.trail import AuditStore

__all__ = ["AuditStore", "StoredRecord"]
