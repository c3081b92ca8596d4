"""The walk of one call, from top to bottom.

extract the payload -> bind and coerce -> verdict -> invoke -> record -> result. Each hop takes a value and returns a value; the
synchronous and the asynchronous walk share all but the invocation.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolbox.audit import AuditRecord, CallStatus, Sink, is_silent, log_record, warn
from toolbox.diagnostics import ABSENT, INVALID, MASK, CoercionReport, Outcome, masked
from toolbox.errors import InvalidArguments, PayloadError, ToolboxError, ToolExecutionError, ToolTimeout
from toolbox.invoking import arguments_for, invoke, invoke_async, propagates
from toolbox.json_values import snapshot
from toolbox.payload import KnownTools, check_limits, extract_arguments
from toolbox.policy import OnFailure
from toolbox.tools import Tool

__all__ = ["PLAIN_CALL", "Call", "Fallback", "Services", "check", "walk", "walk_async"]

MESSAGE_LIMIT: Final = 500

Fallback = Callable[[Tool, CoercionReport], Any]
"""Takes a call whose arguments do not fit; what it returns is the result of the call, what it raises goes to the caller."""


@dataclass(slots=True)
class Services:
    """What a registry has around its tools.

    Attributes:
        known: how names find tools.
        sinks: where finished records go, beside the log.
        fallback: takes collected failures.
        context: values for injected parameters.
        lost_records: how many records a sink has failed to take.
    """

    known: KnownTools
    sinks: list[Sink] = field(default_factory=list)
    fallback: Fallback | None = None
    context: dict[Any, Any] = field(default_factory=dict)
    lost_records: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """What the caller says about one call.

    Attributes:
        call_id: the provider's id.
        context: values for injected parameters, before the registry's.
        timeout_s: time limit in seconds, before the tool's.
        metadata: anything that belongs on the record.
    """

    call_id: str | None = None
    context: Mapping[Any, Any] | None = None
    timeout_s: float | None = None
    metadata: Mapping[str, Any] | None = None


PLAIN_CALL: Final = Call()


def walk(tool: Tool, payload: Any, services: Services, call: Call = PLAIN_CALL) -> tuple[Any, CoercionReport]:
    """One call from its payload to what the function returned.

    Raises:
        ToolboxError: the arguments do not fit, or the function raised or timed out.
    """
    # A record that would go nowhere is not made.
    recorder = _Recorder(tool, payload, services, call) if services.sinks or not is_silent() else None
    try:
        report = check(tool, payload, services.known)
        if report.failures:
            return _refused(tool, report, services, recorder), report
        if recorder is not None:
            recorder.running(report)
        positional: Sequence[Any] = ()
        keywords = report.value
        if not tool.plain:
            positional, keywords = _arguments(tool, report, services, call)
        timeout_s = tool.timeout_s if call.timeout_s is None else call.timeout_s
        try:
            value = invoke(tool, positional, keywords, timeout_s)
        except BaseException as error:
            wrapped = _executed(tool, report, error)
            if wrapped is error:
                raise
            raise wrapped from error
    except BaseException as error:
        if recorder is not None:
            recorder.close_with(error)
        raise
    if recorder is not None:
        recorder.close(CallStatus.DONE)
    return value, report


async def walk_async(tool: Tool, payload: Any, services: Services, call: Call = PLAIN_CALL) -> tuple[Any, CoercionReport]:
    """The same for asynchronous code.

    Raises:
        ToolboxError: the arguments do not fit, or the function raised or timed out.
    """
    # A record that would go nowhere is not made.
    recorder = _Recorder(tool, payload, services, call) if services.sinks or not is_silent() else None
    try:
        report = check(tool, payload, services.known)
        if report.failures:
            value = _refused(tool, report, services, recorder)
            return (await value if hasattr(value, "__await__") else value), report
        if recorder is not None:
            recorder.running(report)
        positional: Sequence[Any] = ()
        keywords = report.value
        if not tool.plain:
            positional, keywords = _arguments(tool, report, services, call)
        timeout_s = tool.timeout_s if call.timeout_s is None else call.timeout_s
        try:
            value = await invoke_async(tool, positional, keywords, timeout_s)
        except BaseException as error:
            wrapped = _executed(tool, report, error)
            if wrapped is error:
                raise
            raise wrapped from error
    except BaseException as error:
        if recorder is not None:
            recorder.close_with(error)
        raise
    if recorder is not None:
        recorder.close(CallStatus.DONE)
    return value, report


# -- extract, bind, coerce -----------------------------------------------------------------------------------------------------------


def check(tool: Tool, payload: Any, known: KnownTools | None = None) -> CoercionReport:
    """What would be made of a payload, without invoking.

    Raises:
        PayloadError: it holds no usable arguments.
    """
    out = Outcome()
    arguments = payload
    if type(payload) is dict:
        _check_limits(tool, payload)
    else:
        arguments = _extracted(tool, payload, known, out)
    bound = tool.bind.bind(arguments, out)
    value = {} if bound is INVALID else tool.coerce(bound, None, out)
    diagnostics, failures = out.diagnostics, out.failures
    if tool.secret and (diagnostics or failures):
        diagnostics, failures = masked(diagnostics, failures, _secret_keys(tool, bound))
    return CoercionReport(payload, {} if value is INVALID else value, diagnostics, failures, out.residual, tool.secret)


def _extracted(tool: Tool, payload: Any, known: KnownTools | None, out: Outcome) -> Any:
    if isinstance(payload, str | bytes | bytearray):
        try:
            text = payload if isinstance(payload, str | bytes) else bytes(payload)
            found = extract_arguments(text, policy=tool.policy, known=known, tool=tool.name)
        except PayloadError as error:
            error.report = CoercionReport(payload, {}, out.diagnostics, out.failures, secret=tool.secret)
            raise
        out.diagnostics.extend(found.diagnostics)
        return found.arguments
    if payload is not None:
        _check_limits(tool, payload)
    return payload


def _check_limits(tool: Tool, payload: Any) -> None:
    try:
        check_limits(payload, tool.policy.limits)
    except PayloadError as error:
        error.report = CoercionReport(None, {}, [], [], secret=tool.secret)
        raise


def _secret_keys(tool: Tool, bound: Any) -> frozenset[str]:
    """The keys under which secret parameters came: their own names, aliases, other spellings."""
    if not isinstance(bound, Mapping):
        return tool.secret
    names = tool.bind.names
    return tool.secret | {key for key in bound if isinstance(key, str) and names.resolve(key) in tool.secret}


# -- verdict -------------------------------------------------------------------------------------------------------------------------


def _refused(tool: Tool, report: CoercionReport, services: Services, recorder: _Recorder | None) -> Any:
    if tool.policy.failures is OnFailure.COLLECT and services.fallback is not None:
        if recorder is not None:
            recorder.report = report
        value = services.fallback(tool, report)
        if recorder is not None:
            recorder.close(CallStatus.FALLBACK)
        return value
    raise InvalidArguments(tool.name, report)


def _arguments(tool: Tool, report: CoercionReport, services: Services, call: Call) -> tuple[Sequence[Any], dict[str, Any]]:
    context = services.context if call.context is None else {**services.context, **call.context}
    return arguments_for(tool, report.value, context)


# -- what the function raised --------------------------------------------------------------------------------------------------------


def _executed(tool: Tool, report: CoercionReport, error: BaseException) -> BaseException:
    """The error to raise for what the function raised: its own exception is never taken for a bad argument."""
    if propagates(error):
        return error
    if isinstance(error, ToolTimeout | ToolExecutionError) and error.tool == tool.name:
        error.report = report
        return error
    wrapped = ToolExecutionError(tool.name, _message(error, tool, report))
    wrapped.report = report
    return wrapped


_UNPRINTABLE: Final = re.compile(r"[^\S \n\t]|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


def _message(error: BaseException, tool: Tool, report: CoercionReport) -> str:
    """The text of an exception: bounded, printable, secret values masked."""
    try:
        words = str(error)
    except Exception:  # noqa: BLE001 - an exception's own __str__ may raise
        words = ""
    words = words[: MESSAGE_LIMIT * 8]
    for secret in _secret_texts(tool, report):
        words = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, words) if len(secret) < 4 else words.replace(secret, MASK)
    words = _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), words)
    if len(words) > MESSAGE_LIMIT:
        words = f"{words[:MESSAGE_LIMIT]}..."
    name = type(error).__name__
    return f"{name}: {words}" if words else name


def _secret_texts(tool: Tool, report: CoercionReport) -> list[str]:
    found: list[str] = []
    pending = [report.value.get(name) for name in tool.secret if isinstance(report.value, dict)]
    while pending and len(found) < 1_000:
        item = pending.pop()
        if isinstance(item, Mapping):
            pending.extend(item.values())
        elif isinstance(item, list | tuple | set | frozenset):
            pending.extend(item)
        elif isinstance(item, str | bytes | int | float) and not isinstance(item, bool):
            text = item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)
            if text:
                found.append(text)
        elif item is not None and not isinstance(item, bool):
            copied = snapshot(item)
            pending.append(copied if isinstance(copied, dict | list | str) else None)
    return sorted(found, key=len, reverse=True)


# -- record --------------------------------------------------------------------------------------------------------------------------


class _Recorder:
    """Fills the record of one call: opened when the call arrives, closed on every way out. It never raises."""

    __slots__ = ("arguments", "arrived", "call", "invoked", "payload", "report", "services", "started", "tool")

    def __init__(self, tool: Tool, payload: Any, services: Services, call: Call) -> None:
        self.tool = tool
        self.payload = payload
        self.services = services
        self.call = call
        self.arrived = time.time()
        self.started = time.perf_counter()
        self.report: CoercionReport | None = None
        self.arguments: Any = ABSENT
        self.invoked: dict[str, Any] | None = None

    def hidden(self, value: Any) -> Any:
        """A copy with the values of secret parameters masked; text may hold them anywhere, so of a tool with secrets none is kept."""
        if not self.tool.secret:
            return snapshot(value)
        if isinstance(value, str | bytes):
            return MASK
        names, secret = self.tool.bind.names, self.tool.secret
        return snapshot(value, hide=lambda key: key in secret or names.resolve(key) in secret)

    def running(self, report: CoercionReport) -> None:
        """The function is about to run: its arguments are copied now, since it may change them."""
        self.report = report
        if self.tool.flat:
            self.invoked = dict(report.value)
            if not report.diagnostics and type(self.payload) is dict:
                self.arguments = self.invoked
        else:
            self.invoked = self.hidden(report.value)

    def close_with(self, error: BaseException) -> None:
        """The call ended with an error."""
        text = type(error).__name__
        if isinstance(error, ToolboxError):
            text = str(error)
            self.report = self.report or error.report
        if self.invoked is None:
            self.close(CallStatus.REFUSED, text)
        elif isinstance(error, ToolTimeout):
            self.close(CallStatus.TIMEOUT, text)
        else:
            self.close(CallStatus.CANCELLED if propagates(error) else CallStatus.FAILED, text)

    def close(self, status: CallStatus, error: str | None = None) -> None:
        """The call ended."""
        report, call = self.report, self.call
        deliver(
            AuditRecord(
                self.tool.name,
                self.tool.policy.name,
                self.hidden(self.payload) if self.arguments is ABSENT else self.arguments,
                self.invoked,
                () if report is None else tuple(report.diagnostics),
                () if report is None else tuple(report.failures),
                status,
                (time.perf_counter() - self.started) * 1000,
                error,
                call.call_id,
                snapshot(call.metadata) if call.metadata else {},
                self.arrived,
            ),
            self.services,
        )


def deliver(record: AuditRecord, services: Services) -> None:
    """Give a finished record to the log and to every sink; one that fails is counted and never changes the result of the call."""
    log_record(record)
    for sink in services.sinks:
        try:
            sink(record)
        except Exception as error:  # noqa: BLE001 - whatever an application's sink does, the call has had its effect already
            services.lost_records += 1
            warn("audit_sink_failed", sink=type(sink).__name__, error=type(error).__name__)
