"""What surrounds one call: what its caller says about it, what its registry has around it, and what may happen to it when it is refused."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from toolbox.audit import OnAuditFailure, Sink, with_current_metadata
from toolbox.diagnostics import CoercionReport, Diagnostic, is_a, shorten
from toolbox.errors import ApprovalPending, ToolboxError
from toolbox.json_values import plain_text
from toolbox.payload.found import KnownTools
from toolbox.redaction import Redaction
from toolbox.tools import Tool

__all__ = ["PLAIN_CALL", "Breaker", "Call", "Desk", "Fallback", "Held", "Recover", "Refused", "Services", "Sinks"]

Fallback = Callable[[Tool, CoercionReport], Any]
"""Takes a call whose arguments do not fit; what it returns is the result of the call, what it raises goes to the caller."""


@dataclass(frozen=True, slots=True)
class Call:
    """What the caller says about one call.

    Attributes:
        call_id: the provider's id.
        context: values for injected parameters, before the registry's.
        timeout_s: time limit in seconds, before the tool's.
        metadata: anything that belongs on the record.
        found: how the call was found in a model's output.
        approved: whether a person has approved exactly this call.
        attempt: which attempt to correct a refused call this is; 0 for the call itself.
        corrects: the refused call that it is an attempt to correct.
    """

    call_id: str | None = None
    context: Mapping[Any, Any] | None = None
    timeout_s: float | None = None
    metadata: Mapping[str, Any] | None = None
    found: tuple[Diagnostic, ...] = ()
    approved: bool = False
    attempt: int = 0
    corrects: Refused | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # Before anything is run: found out later, the caller would take a call that has had its effect for one that failed.
        for name, value in (("metadata", self.metadata), ("context", self.context)):
            if value is not None and not isinstance(value, Mapping):
                raise TypeError(f"{name} must be a mapping, such as a dict, and is {shorten(value)}")
        seconds: Any = self.timeout_s
        is_nan = isinstance(seconds, float) and math.isnan(seconds)
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or is_nan):
            raise TypeError(f"timeout_s must be a number of seconds, and is {shorten(seconds)}")

    @property
    def conversation_id(self) -> str | None:
        """The conversation that it belongs to, by its metadata and that of the block around it; None where neither says so."""
        metadata = with_current_metadata(self.metadata)
        said = None if metadata is None else metadata.get("conversation_id")
        if said is None or type(said) is str:
            return said
        # As plain text, like on record: by the methods of an object of someone's own, a text too, anything could happen.
        return str.__getitem__(said, slice(None)) if is_a(said, str) else plain_text(said)


PLAIN_CALL: Final = Call()


@dataclass(frozen=True, slots=True)
class Refused:
    """A call whose arguments do not fit.

    Attributes:
        tool: the tool.
        payload: what arrived, unmasked.
        report: what is wrong with it.
        call: what the caller said about it, with the metadata of the block around it.
        services: what the registry has around its tools.
        is_async: whether it was made from asynchronous code: then an awaitable may be returned.
        record_id: id of its record; None where nothing is recorded.
        notes: what is put here goes into the metadata of its record as it is, so it must be masked already.
        attempts: the attempts to correct it that were made so far, oldest first.
    """

    tool: Tool
    payload: Any = field(repr=False)
    report: CoercionReport
    call: Call
    services: Services = field(repr=False)
    is_async: bool
    record_id: str | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    attempts: list[Mapping[str, Any]] = field(default_factory=list)


Recover = Callable[[Refused], Any]
"""Takes a refused call, and gives its result, or an awaitable of it for asynchronous code; raises a `ToolboxError` where there is none."""


@dataclass(frozen=True, slots=True)
class Held:
    """A call that waits for a person.

    Attributes:
        tool: the tool.
        payload: the arguments to run, as they arrived or as a model corrected them, unmasked.
        report: what was made of it.
        call: what the caller said about it, with the metadata of the block around it.
        desk: where it waits.
        reason: ``"approval"``, ``"high_risk"``, or why a recovery ended, such as ``"partial"`` or ``"exhausted"``.
        attempts: the attempts to correct it, oldest first.
        record_id: id of its record; None where nothing is recorded.
        known: the registered tools, without which a text may be read otherwise.
    """

    tool: Tool
    payload: Any = field(repr=False)
    report: CoercionReport
    call: Call
    desk: Desk = field(repr=False)
    reason: str
    attempts: tuple[Mapping[str, Any], ...] = ()
    record_id: str | None = None
    known: KnownTools | None = field(default=None, repr=False)

    @property
    def original(self) -> Any:
        """What arrived first, unmasked: before a model corrected it, where one did."""
        return self.payload if self.call.corrects is None else self.call.corrects.payload

    def pending(self, item_id: str) -> ApprovalPending:
        """The error for whoever made the call, which is now an item of the queue."""
        error = ApprovalPending(self.tool.name, item_id, self.reason)
        error.report = self.report
        return error


class Desk(Protocol):
    """Where calls wait for a person.

    Attributes:
        blocking: whether it waits for a disk or a server, so that asynchronous code asks it in a thread.
    """

    blocking: bool

    def hold(self, held: Held, /) -> str:
        """Take a call, and give the id of the item; durable when it returns."""
        ...


class Breaker(Protocol):
    """Stops a tool that fails for the same cause again and again in one conversation."""

    def stopped(self, tool: str, conversation: str, error: ToolboxError, /) -> ToolboxError | None:
        """Take note of a failure; the error to raise instead, where it has come too often."""
        ...

    def passed(self, tool: str, conversation: str, /) -> None:
        """Take note that a call went through."""
        ...


class Sinks:
    """Where records go, beside the log: asked once for what each of them can do, and not at every call.

    Attributes:
        all: take finished records.
        opening: those that are told when a call is about to run.
    """

    __slots__ = ("_lock", "all", "opening")

    def __init__(self, sinks: Iterable[Sink] = ()) -> None:
        self._lock = threading.Lock()
        self._take(tuple(sinks))

    def _take(self, sinks: tuple[Any, ...]) -> None:
        for item in sinks:
            if not callable(item) or isinstance(item, type):
                raise TypeError(f"a sink must be callable with a record, such as MemorySink() or a function, and is {shorten(item)}")
        # Whoever goes through one of these meanwhile goes through the tuple that was there.
        self.opening: tuple[Any, ...] = tuple(item for item in sinks if hasattr(item, "opened"))
        self.all = sinks

    def add(self, sink: Sink) -> None:
        """Send records to one more place."""
        with self._lock:
            self._take((*self.all, sink))

    def remove(self, sink: Sink) -> None:
        """Stop sending records to a sink.

        Raises:
            ValueError: it was not added.
        """
        with self._lock:
            left = list(self.all)
            left.remove(sink)
            self._take(tuple(left))


@dataclass(slots=True)
class Services:
    """What a registry has around its tools.

    Attributes:
        known: how names find tools.
        sinks: where records go, beside the log.
        fallback: takes collected failures.
        context: values for injected parameters.
        on_audit_failure: what becomes of a call whose record cannot be opened; None for ``"fail_closed"`` where a tool is high-risk, and
            ``"fail_open"`` where it is not.
        recovery: corrects calls that were refused.
        breaker: stops endless repeats.
        review: where calls wait for a person.
        redaction: what is masked beside the secret parameters of the tools; each tool has it too.
        lost_records: how many records a sink has failed to take.
    """

    known: KnownTools
    sinks: Sinks = field(default_factory=Sinks)
    fallback: Fallback | None = None
    context: dict[Any, Any] = field(default_factory=dict)
    on_audit_failure: OnAuditFailure | None = None
    recovery: Recover | None = None
    breaker: Breaker | None = None
    review: Desk | None = None
    redaction: Redaction | None = None
    lost_records: int = 0
