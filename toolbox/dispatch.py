"""The walk of one call, from top to bottom.

extract the payload -> bind and coerce -> verdict -> invoke -> record -> result. Each hop takes a value and returns a value; the
synchronous and the asynchronous walk share all but the invocation.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolbox.audit import AuditRecord, CallStatus, Sink, is_silent, log_record, warn
from toolbox.diagnostics import (
    ABSENT,
    INVALID,
    MASK,
    CoercionReport,
    Diagnostic,
    DiagnosticKind,
    Failure,
    FailureReason,
    Outcome,
    path_text,
)
from toolbox.errors import InvalidArguments, MissingContext, PayloadError, ToolboxError, ToolExecutionError, ToolTimeout
from toolbox.invoking import Stopped, arguments_for, finished, invoke, invoke_async, is_awaitable, propagates
from toolbox.json_values import snapshot
from toolbox.payload.found import KnownTools
from toolbox.payload.limits import check_limits
from toolbox.policy import OnFailure
from toolbox.tools import Tool
from toolbox.types import Opaque

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
        found: how the call was found in a model's output.
    """

    call_id: str | None = None
    context: Mapping[Any, Any] | None = None
    timeout_s: float | None = None
    metadata: Mapping[str, Any] | None = None
    found: tuple[Diagnostic, ...] = ()


PLAIN_CALL: Final = Call()


def walk(tool: Tool, payload: Any, services: Services, call: Call = PLAIN_CALL) -> tuple[Any, CoercionReport]:
    """One call from its payload to what the function returned.

    Raises:
        ToolboxError: the arguments do not fit, or the function raised or timed out.
    """
    # A record that would go nowhere is not made.
    recorder = _Recorder(tool, payload, services, call) if services.sinks or not is_silent() else None
    has_answer = False
    try:
        report = check(tool, payload, services.known, call.found)
        if report.failures:
            has_answer = True
            value = finished(_refused(tool, report, services, recorder))
        else:
            positional: Sequence[Any] = ()
            keywords = report.value
            if not tool.plain:
                positional, keywords = _arguments(tool, report, services, call)
            if recorder is not None:
                recorder.running(report)
            try:
                value = invoke(tool, positional, keywords, tool.timeout_s if call.timeout_s is None else call.timeout_s)
            except Stopped as stopped:
                raise _with_report(stopped.error, report) from None
            except BaseException as error:
                if propagates(error):
                    raise
                raise _executed(tool, report, error) from error
    except BaseException as error:
        if recorder is not None:
            recorder.close_with(error)
        raise
    if recorder is not None:
        recorder.close(CallStatus.FALLBACK if has_answer else CallStatus.DONE)
    return value, report


async def walk_async(tool: Tool, payload: Any, services: Services, call: Call = PLAIN_CALL) -> tuple[Any, CoercionReport]:
    """The same for asynchronous code.

    Raises:
        ToolboxError: the arguments do not fit, or the function raised or timed out.
    """
    # A record that would go nowhere is not made.
    recorder = _Recorder(tool, payload, services, call) if services.sinks or not is_silent() else None
    has_answer = False
    try:
        report = check(tool, payload, services.known, call.found)
        if report.failures:
            has_answer = True
            value = _refused(tool, report, services, recorder)
            if is_awaitable(value):
                value = await value
        else:
            positional: Sequence[Any] = ()
            keywords = report.value
            if not tool.plain:
                positional, keywords = _arguments(tool, report, services, call)
            if recorder is not None:
                recorder.running(report)
            try:
                ended = await invoke_async(tool, positional, keywords, tool.timeout_s if call.timeout_s is None else call.timeout_s)
                value = ended.take()
            except Stopped as stopped:
                raise _with_report(stopped.error, report) from None
            except BaseException as error:
                if propagates(error):
                    raise
                raise _executed(tool, report, error) from error
    except BaseException as error:
        if recorder is not None:
            recorder.close_with(error)
        raise
    if recorder is not None:
        recorder.close(CallStatus.FALLBACK if has_answer else CallStatus.DONE)
    return value, report


# -- extract, bind, coerce -----------------------------------------------------------------------------------------------------------


def check(tool: Tool, payload: Any, known: KnownTools | None = None, found: Sequence[Diagnostic] = ()) -> CoercionReport:
    """What would be made of a payload, without invoking.

    Args:
        tool: the tool.
        payload: a mapping, JSON text, or text that holds the arguments.
        known: the tools that the text may name.
        found: how the payload was found; put on record before what is made of it.

    Raises:
        PayloadError: it holds no usable arguments.
    """
    out = Outcome()
    if found:
        _note_found(found, tool, out)
    arguments = payload
    if type(payload) is dict:
        _check_limits(tool, payload)
    else:
        arguments = _extracted(tool, payload, known, out)
    bound = tool.bind.bind(arguments, out)
    value = {} if bound is INVALID else tool.coerce(bound, None, out)
    diagnostics, failures, secret = out.diagnostics, out.failures, tool.secret
    value = {} if value is INVALID else value
    if secret:
        secret = secret.union(name for name in value if not _shows(tool, name))
        diagnostics, failures = _masked(tool, bound, diagnostics, failures)
    return CoercionReport(payload, value, diagnostics, failures, out.residual, secret)


def _extracted(tool: Tool, payload: Any, known: KnownTools | None, out: Outcome) -> Any:
    if isinstance(payload, str | bytes | bytearray):
        # Loaded with the first text: a program that only sends mappings never pays for the readers.
        from toolbox.payload.arguments import extract_arguments

        try:
            text = payload if isinstance(payload, str | bytes) else bytes(payload)
            found = extract_arguments(text, policy=tool.policy, known=known, tool=tool.name)
        except PayloadError as error:
            error.report = _report_of(error, payload, out, tool)
            raise
        _note_found(found.diagnostics, tool, out)
        return found.arguments
    if payload is not None:
        _check_limits(tool, payload)
    return payload


def _report_of(error: PayloadError, payload: Any, out: Outcome, tool: Tool) -> CoercionReport:
    """The report of a payload that holds no usable arguments."""
    reason = FailureReason.AMBIGUOUS if error.reason == "ambiguous" else FailureReason.INVALID
    failure = Failure("$", reason, "one JSON object with the arguments", ABSENT, error.message)
    return CoercionReport(payload, {}, out.diagnostics, [*out.failures, failure], secret=tool.secret)


def _note_found(found: Sequence[Diagnostic], tool: Tool, out: Outcome) -> None:
    """How the arguments were found goes on record, but for keys given more than once with different values where that may not pass."""
    for item in found:
        if item.kind is DiagnosticKind.DUPLICATE_KEY and item.risk > tool.policy.max_risk:
            # Only the model knows which of the values it means.
            detail = "the key was given more than once, with different values"
            out.failures.append(
                Failure(item.path, FailureReason.AMBIGUOUS, "each key once", item.before, detail, "Send each key once", item)
            )
        else:
            out.diagnostics.append(item)


def _check_limits(tool: Tool, payload: Any) -> None:
    try:
        check_limits(payload, tool.policy.limits)
    except PayloadError as error:
        error.report = CoercionReport(None, {}, [], [], secret=tool.secret)
        raise


def _shows(tool: Tool, key: str) -> bool:
    """Whether the argument of this name may be seen: what is declared, under any spelling, and is not secret.

    What is not declared may be meant for the secret parameter.
    """
    name = tool.bind.names.resolve(key)
    return name is not None and name not in tool.secret


def _masked(
    tool: Tool, bound: Any, diagnostics: Sequence[Diagnostic], failures: Sequence[Failure]
) -> tuple[list[Diagnostic], list[Failure]]:
    """Copies that show only what stands at or below an argument that may be seen: the whole payload holds the secrets too."""
    keys = {*tool.bind.names.declared, *(key for key in bound if isinstance(key, str))} if isinstance(bound, Mapping) else set[str]()
    places = tuple(path_text((None, key)) for key in keys if _shows(tool, key))

    def shows(path: str) -> bool:
        return any(path == place or (path.startswith(place) and path[len(place)] in ".[") for place in places)

    # A validator that checks the parameters as a whole reports the whole, whatever place it names.
    is_whole = isinstance(tool.document.root, Opaque)

    def shows_failure(item: Failure) -> bool:
        return shows(item.path) and not (is_whole and item.reason is FailureReason.CONSTRAINT)

    return (
        [item if shows(item.path) or item.kind in _WITHOUT_VALUES else _masked_diagnostic(item) for item in diagnostics],
        [item if item.value is ABSENT or shows_failure(item) else _masked_failure(item) for item in failures],
    )


# What concerns the name of the tool or the text as a whole, and holds no argument.
_WITHOUT_VALUES: Final = frozenset({DiagnosticKind.RENAMED})


def _masked_diagnostic(item: Diagnostic) -> Diagnostic:
    return replace(item, before=_masked_value(item.before), after=_masked_value(item.after), suggestion="")


def _masked_value(value: Any) -> Any:
    return value if value is None or value is ABSENT else MASK


def _masked_failure(item: Failure) -> Failure:
    # The hint about an undeclared argument is made of names alone.
    keeps_hint = item.reason is FailureReason.UNKNOWN or item.path == "$"
    return replace(item, value=MASK, detail="", suggestion=item.suggestion if keeps_hint else "", would_be=None)


# -- verdict -------------------------------------------------------------------------------------------------------------------------


def _refused(tool: Tool, report: CoercionReport, services: Services, recorder: _Recorder | None) -> Any:
    """What the fallback handler makes of a call whose arguments do not fit."""
    if tool.policy.failures is OnFailure.COLLECT and services.fallback is not None:
        if recorder is not None:
            recorder.report = report
        return services.fallback(tool, report)
    raise InvalidArguments(tool.name, report)


def _arguments(tool: Tool, report: CoercionReport, services: Services, call: Call) -> tuple[Sequence[Any], dict[str, Any]]:
    context = services.context if call.context is None else {**services.context, **call.context}
    try:
        return arguments_for(tool, report.value, context)
    except MissingContext as error:
        raise _with_report(error, report) from None


def _with_report(error: ToolboxError, report: CoercionReport) -> ToolboxError:
    error.report = report
    return error


# -- what the function raised --------------------------------------------------------------------------------------------------------


def _executed(tool: Tool, report: CoercionReport, error: BaseException) -> ToolboxError:
    """The error to raise for what the function raised: its own exception is never taken for a bad argument."""
    return _with_report(ToolExecutionError(tool.name, _message(error, tool, report)), report)


_UNPRINTABLE: Final = r"[^\S \n\t]|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]"


# Where pydantic ends each problem; it is no help to a model that cannot follow links.
_DOCUMENTATION: Final = re.compile(r"\n\s*For further information visit https?://\S+")


def _message(error: BaseException, tool: Tool, report: CoercionReport) -> str:
    """The text of an exception: bounded, printable, secret values masked."""
    try:
        words = str(error)
    except (Exception, SystemExit, GeneratorExit):  # noqa: BLE001 - an exception's own __str__ may raise
        words = ""
    secrets = _secret_texts(tool, report) if tool.secret else []
    longest = max(map(len, secrets), default=1)
    # Long enough that what is masked does not leave the message empty.
    window = MESSAGE_LIMIT * 8 + longest
    was_cut = len(words) > window
    words = words[:window]
    for secret in secrets:
        words = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, words) if len(secret) < 4 else words.replace(secret, MASK)
    if was_cut:
        # The last of it may be the beginning of a secret.
        words = words[: max(len(words) - longest + 1, 0)]
    words = _DOCUMENTATION.sub("", words)
    name = type(error).__name__[:100]
    words = re.sub(_UNPRINTABLE, lambda found: found[0].encode("unicode_escape").decode("ascii"), f"{name}: {words}" if words else name)
    return f"{words[:MESSAGE_LIMIT]}..." if len(words) > MESSAGE_LIMIT else words


def _secret_texts(tool: Tool, report: CoercionReport) -> list[str]:
    """The values of secret parameters as they may stand in a text, the longest first."""
    found: set[str] = set()
    pending = [item for name, item in report.normalized_args.items() if not _shows(tool, name)]
    for _ in range(1_000):
        if not pending:
            break
        item = pending.pop()
        if isinstance(item, Mapping):
            pending.extend(item.values())
        elif isinstance(item, list | tuple | set | frozenset):
            pending.extend(item)
        elif isinstance(item, str | bytes | int | float):
            if not isinstance(item, bool):
                found.update(_spellings(item))
        elif item is not None:
            with suppress(Exception):  # a value's own methods may do anything
                pending.extend(_inside(item))
    return sorted(found, key=len, reverse=True)


def _spellings(value: str | bytes | float) -> Iterable[str]:
    """A value as text, and as it stands in a repr or in JSON."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return filter(None, (text, repr(value)[1:-1], json.dumps(text)[1:-1])) if isinstance(value, str) else filter(None, (text,))


def _inside(value: Any) -> Iterable[Any]:
    """What an object holds: its fields, and what a wrapper such as pydantic's SecretStr keeps from being printed."""
    copied = snapshot(value)
    yield copied if isinstance(copied, dict | list | str) else None
    unveil = getattr(type(value), "get_secret_value", None)
    if unveil is not None:
        yield unveil(value)
    names = [*getattr(type(value), "__slots__", ()), *getattr(value, "__dict__", ())]
    for name in names:
        yield getattr(value, name, None)


# -- record --------------------------------------------------------------------------------------------------------------------------


class _Recorder:
    """Fills the record of one call: opened when the call arrives, closed on every way out. It never raises."""

    __slots__ = ("arguments", "arrived", "call", "diagnostics", "invoked", "payload", "report", "services", "started", "tool")

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
        self.diagnostics: tuple[Diagnostic, ...] | None = None

    def hidden(self, value: Any) -> Any:
        """A copy with the values of secret parameters masked; text may hold them anywhere, so of a tool with secrets none is kept."""
        tool = self.tool
        if not tool.secret or value is None:
            return snapshot(value)
        if not isinstance(value, Mapping):
            return MASK
        try:
            shown = {key: item if _shows(tool, str(key)) else MASK for key, item in value.items()}
        except Exception:  # noqa: BLE001 - a mapping of someone's own may do anything
            return MASK
        return snapshot(shown, hide=lambda key: tool.bind.names.resolve(key) in tool.secret)

    def running(self, report: CoercionReport) -> None:
        """The function is about to run: its arguments are copied now, since it may change them."""
        self.report = report
        if self.tool.flat:
            self.invoked = dict(report.value)
            if not report.diagnostics and type(self.payload) is dict:
                self.arguments = self.invoked
        else:
            self.invoked = self.hidden(report.value)
            self.arguments = self.hidden(self.payload)
        if report.diagnostics:
            self.diagnostics = tuple(map(_copied, report.diagnostics))

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
                self.diagnostics if self.diagnostics is not None else () if report is None else tuple(map(_copied, report.diagnostics)),
                () if report is None else tuple(map(_copied_failure, report.failures)),
                status,
                (time.perf_counter() - self.started) * 1000,
                error,
                call.call_id,
                snapshot(call.metadata) if call.metadata is not None else {},
                self.arrived,
            ),
            self.services,
        )


_PLAIN: Final = frozenset({str, int, bool, type(None), type(ABSENT)})


def _copied(item: Diagnostic) -> Diagnostic:
    """A diagnostic whose values are JSON-safe copies: the function may change the ones that it was given."""
    if type(item.before) in _PLAIN and type(item.after) in _PLAIN:
        return item
    return replace(item, before=_copied_value(item.before), after=_copied_value(item.after))


def _copied_failure(item: Failure) -> Failure:
    would_be = None if item.would_be is None else _copied(item.would_be)
    return replace(item, value=_copied_value(item.value), would_be=would_be)


def _copied_value(value: Any) -> Any:
    return value if value is ABSENT else snapshot(value)


_losing: Final = threading.Lock()


def deliver(record: AuditRecord, services: Services) -> None:
    """Give a finished record to the log and to every sink; one that fails is counted and never changes the result of the call."""
    log_record(record)
    for sink in tuple(services.sinks):  # a copy, since another thread may remove one of them meanwhile
        try:
            sink(record)
        except Exception as error:  # noqa: BLE001 - whatever an application's sink does, the call has had its effect already
            with _losing:
                services.lost_records += 1
            warn("audit_sink_failed", sink=type(sink).__name__, error=type(error).__name__)
