"""For the tests of those who use toolbox: what a piece of code called, and what was made of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from toolbox.audit import AuditRecord, CallStatus, MemorySink
from toolbox.registry import Registry, default_registry

__all__ = ["CapturedCalls", "capture_calls"]


class CapturedCalls(MemorySink):
    """The calls that were made while it was attached, oldest first."""

    def of(self, tool: str) -> list[AuditRecord]:
        """The records of one tool."""
        return [record for record in self.records if record.tool == tool]

    @property
    def tools(self) -> list[str]:
        """The names of the tools that were called, in order."""
        return [record.tool for record in self.records]

    @property
    def refused(self) -> list[AuditRecord]:
        """The records of calls whose arguments did not fit."""
        return [record for record in self.records if record.status is CallStatus.REFUSED]

    @property
    def mended(self) -> list[AuditRecord]:
        """The records of calls that ran with changed arguments."""
        return [record for record in self.records if record.invoked is not None and record.diagnostics]

    @property
    def last(self) -> AuditRecord:
        """The latest record.

        Raises:
            AssertionError: nothing was called.
        """
        if not self.records:
            raise AssertionError("no tool was called")
        return self.records[-1]

    def arguments(self, tool: str) -> list[dict[str, Any]]:
        """The arguments with which a tool was invoked, call by call."""
        return [record.invoked for record in self.of(tool) if record.invoked is not None]


@contextmanager
def capture_calls(registry: Registry | None = None) -> Iterator[CapturedCalls]:
    """Capture the records of every call that goes through a registry while the block runs.

    Args:
        registry: the registry; the default one when none is given.

    >>> registry = Registry()
    >>> @registry.tool
    ... def double(number: int) -> int:
    ...     return number * 2
    >>> with capture_calls(registry) as calls:
    ...     _ = registry.dispatch("double", {"number": "21"})
    >>> calls.arguments("double")
    [{'number': 21}]
    """
    watched = default_registry if registry is None else registry
    captured = CapturedCalls()
    watched.add_sink(captured)
    try:
        yield captured
    finally:
        watched.remove_sink(captured)
