"""One record for each call, whatever its end."""

from __future__ import annotations

import itertools
import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal

from toolbox.audit.metadata import NO_METADATA, current_metadata, with_current_metadata
from toolbox.diagnostics import ABSENT, Diagnostic, Failure, Risk
from toolbox.json_values import snapshot
from toolbox.redaction import Redaction

__all__ = ["AuditRecord", "CallStatus", "MemorySink", "OnAuditFailure", "Sink"]


# A random id for the process and a number in it: unique, and far cheaper than a random id for each call.
_process_id = uuid.uuid4().hex
_numbers: Final = itertools.count(1)


def _renew_process_id() -> None:
    global _process_id  # noqa: PLW0603 - a forked process must not go on with its parent's id
    _process_id = uuid.uuid4().hex


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_process_id)


class CallStatus(StrEnum):
    """How a call ended; the values are public and stable."""

    RUNNING = "running"
    """The function was started and has not ended yet."""
    DONE = "done"
    """The function returned."""
    REFUSED = "refused"
    """The arguments did not fit; the function was not run."""
    FALLBACK = "fallback"
    """The arguments did not fit; the registered fallback handler gave the result."""
    FAILED = "failed"
    """The function raised."""
    TIMEOUT = "timeout"
    """The function did not end within its time limit; whether it had an effect is unknown."""
    CANCELLED = "cancelled"
    """The caller gave up while the function ran."""
    UNKNOWN_TOOL = "unknown_tool"
    """No tool has that name."""
    UNREADABLE = "unreadable"
    """A model's answer held a call that cannot be read, such as one that was cut off."""
    PENDING = "pending"
    """The call waits for a person; the function was not run."""
    RECOVERED = "recovered"
    """The arguments did not fit; a model corrected them, and the corrected call has a record of its own."""
    COERCION_FAILED = "coercion_failed"
    """The arguments did not fit, and could not be corrected; the function was not run."""
    UNKNOWN = "unknown"
    """The process ended while the function ran; whether it had an effect is unknown."""


_new: Final = object.__new__
_now: Final = time.time
_clock: Final = time.perf_counter


def _new_id() -> str:
    return f"{_process_id}-{next(_numbers):x}"


# What `AuditRecord.begun` leaves out, since most records are written on the way of a call that must not wait.
_LEFT_OUT: Final = {
    "arguments": None,
    "invoked": None,
    "diagnostics": (),
    "failures": (),
    "status": CallStatus.RUNNING,
    "duration_ms": 0.0,
    "error": None,
    "call_id": None,
}
_MADE_LATE: Final[dict[str, Callable[[], Any]]] = {"id": _new_id, "metadata": dict}
_making: Final = threading.Lock()


@dataclass(slots=True)
class AuditRecord:
    """What is on record about one call. Values are JSON-safe copies; those of secret parameters are masked.

    Attributes:
        tool: name of the tool.
        policy: name of the policy.
        arguments: the arguments as they came.
        invoked: the arguments that the function was run with; None when it was not run.
        diagnostics: every change.
        failures: every argument that could not be used.
        status: how the call ended.
        duration_ms: from the arrival of the call to its end, in milliseconds.
        error: text of the error; None when there was none.
        call_id: the provider's id of the call.
        metadata: what the caller said about the call.
        time: when the call arrived, in seconds since the epoch.
        id: unique id of the record.
    """

    tool: str
    policy: str
    arguments: Any
    invoked: dict[str, Any] | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    failures: tuple[Failure, ...] = ()
    status: CallStatus = CallStatus.RUNNING
    duration_ms: float = 0.0
    error: str | None = None
    call_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    time: float = field(default_factory=time.time)
    id: str = field(default_factory=_new_id)
    _started: float = field(default=0.0, init=False, repr=False, compare=False)

    @classmethod
    def begun(
        cls,
        tool: str,
        policy: str,
        call_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        redaction: Redaction | None = None,
    ) -> AuditRecord:
        """The record of a call that arrives now; what is known later is filled in by whoever runs the call."""
        self = _new(cls)
        self.tool = tool
        self.policy = policy
        self.time = _now()
        if call_id is not None:
            self.call_id = call_id if redaction is None else redaction.message(str(call_id))
        if metadata is not None or current_metadata() is not NO_METADATA:
            said = with_current_metadata(metadata)
            self.metadata = snapshot(said) if redaction is None else redaction.value(said, known=said or ())
        self._started = _clock()
        return self

    def end(self, status: CallStatus) -> None:
        """Say how the call ended, now."""
        self.status = status
        self.duration_ms = (_clock() - self._started) * 1000

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What `begun` has left out, made when it is first looked at."""
            if name in _LEFT_OUT:
                return _LEFT_OUT[name]
            if name not in _MADE_LATE:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            with _making:
                try:  # another thread may have made it while this one waited
                    return object.__getattribute__(self, name)
                except AttributeError:
                    value = _MADE_LATE[name]()
                    setattr(self, name, value)
                    return value

    @property
    def worst_risk(self) -> Risk | None:
        """The highest risk among the changes, or None when nothing was changed."""
        return max(item.risk for item in self.diagnostics) if self.diagnostics else None

    def to_dict(self) -> dict[str, Any]:
        """The record as plain JSON data, as a sink of lines or rows stores it; what is absent is left out."""
        worst = self.worst_risk
        return {
            "id": self.id,
            "time": self.time,
            "tool": self.tool,
            "policy": self.policy,
            "status": self.status.value,
            "call_id": self.call_id,
            "arguments": self.arguments,
            "invoked": self.invoked,
            "worst_risk": None if worst is None else worst.name.lower(),
            "diagnostics": [_plain_diagnostic(item) for item in self.diagnostics],
            "failures": [_plain_failure(item) for item in self.failures],
            "error": self.error,
            "duration_ms": self.duration_ms,
            "metadata": dict(self.metadata),
        }


def _plain_diagnostic(item: Diagnostic) -> dict[str, Any]:
    said: dict[str, Any] = {"path": item.path, "kind": item.kind.value, "risk": item.risk.name.lower(), "conversion": item.conversion}
    values = {"before": item.before, "after": item.after}
    return {**said, **{name: snapshot(value) for name, value in values.items() if value is not ABSENT}, "suggestion": item.suggestion}


def _plain_failure(item: Failure) -> dict[str, Any]:
    made: dict[str, Any] = {
        "path": item.path,
        "reason": item.reason.value,
        "expected": item.expected,
        "detail": item.detail,
        "suggestion": item.suggestion,
    }
    if item.value is not ABSENT:
        made["value"] = snapshot(item.value)
    if item.would_be is not None:
        made["would_be"] = _plain_diagnostic(item.would_be)
    return made


Sink = Callable[[AuditRecord], None]
"""Takes finished records. One that raises is reported in the log and never changes the result of a call.

It may have two things more. A method ``opened(record)`` takes the record of a call that is about to run its function, while the status is
``running``; what it raises means that the record could not be opened. And ``blocking = True`` says that it waits for a disk or a server:
asynchronous code then calls it in a thread. Any other sink is called in the thread, task and context in which the function runs.
"""

OnAuditFailure = Literal["fail_open", "fail_closed"]
"""What becomes of a call whose record cannot be opened: it runs and the loss is counted, or it does not run."""


class MemorySink:
    """Keeps records in memory, the latest `capacity` of them."""

    def __init__(self, capacity: int = 10_000) -> None:
        self._records: deque[AuditRecord] = deque(maxlen=capacity)

    def __call__(self, record: AuditRecord) -> None:
        """Keep a record."""
        self._records.append(record)

    @property
    def capacity(self) -> int:
        """How many records are kept."""
        return self._records.maxlen or 0

    @property
    def records(self) -> list[AuditRecord]:
        """The records, oldest first."""
        return list(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def clear(self) -> None:
        """Forget all records."""
        self._records.clear()
