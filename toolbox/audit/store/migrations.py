"""The schema's version, one for each component, and how a store is brought to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, inspect, select
from sqlalchemy.schema import CreateTable

from toolbox.errors import StoreError

__all__ = ["Step", "apply", "refuse_newer", "version_of"]

Step = Callable[[Connection], None]

_schema: Final = Table(
    "toolbox_schema", MetaData(), Column("component", Text, primary_key=True), Column("version", Integer, nullable=False)
)
# Any number, as long as it stays the same: all migrations of a server take turns on it.
_LOCK: Final = 7_382_114_906


def version_of(connection: Connection, component: str) -> int:
    """Which version of a component the store has; 0 for none."""
    if not inspect(connection).has_table(_schema.name):
        return 0
    return connection.scalar(select(_schema.c.version).where(_schema.c.component == component)) or 0


def refuse_newer(component: str, version: int, known: int) -> None:
    """Refuse a store that a newer version of toolbox has written."""
    if version > known:
        raise StoreError(
            "newer",
            f"the store's part {component!r} has version {version}, and this toolbox knows {known}: "
            "a newer toolbox has written it; use that one, or another store",
        )


def apply(connection: Connection, component: str, steps: Sequence[Step]) -> None:
    """Take the steps that are missing, inside the transaction of the caller; processes that start at once take turns."""
    version = version_of(connection, component)
    refuse_newer(component, version, len(steps))
    if version == len(steps):
        # The usual case, which needs no right to make tables.
        return
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    connection.execute(CreateTable(_schema, if_not_exists=True))
    found = connection.scalar(select(_schema.c.version).where(_schema.c.component == component))
    version = found or 0
    refuse_newer(component, version, len(steps))
    if version == len(steps):
        return
    for step in steps[version:]:
        step(connection)
    if found is None:
        connection.execute(_schema.insert().values(component=component, version=len(steps)))
    else:
        connection.execute(_schema.update().where(_schema.c.component == component).values(version=len(steps)))
