"""The walk of one call, from top to bottom.

extract the payload -> bind and coerce -> verdict -> invoke -> record -> result. Each hop takes a value and returns a value; the
synchronous and the asynchronous walk share all but what waits: for the function, for a record, for the review queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, NoReturn

from toolbox.audit import NO_METADATA, AuditRecord, CallStatus, current_metadata, is_silent, warn, with_current_metadata
from toolbox.calls import PLAIN_CALL, Call, Held, Refused, Services
from toolbox.diagnostics import (
    ABSENT,
    FOREIGN,
    INVALID,
    CoercionReport,
    Diagnostic,
    DiagnosticKind,
    Failure,
    FailureReason,
    Outcome,
    class_name,
    is_a,
    module_name,
)
from toolbox.errors import (
    InvalidArguments,
    MissingContext,
    MissingReview,
    PayloadError,
    ToolboxError,
    ToolExecutionError,
    ToolTimeout,
)
from toolbox.invoking import Stopped, Watched, arguments_for, finished, invoke, invoke_async, is_awaitable, propagates
from toolbox.json_values import plain_text, snapshot
from toolbox.masking import masked, message_of, unseen
from toolbox.payload.found import ExtractedPayload, KnownTools
from toolbox.payload.limits import check_limits
from toolbox.policy import OnFailure
from toolbox.recording import deliver, deliver_async, fill_refused, fill_running, in_thread, open_record, open_record_async, status_of
from toolbox.tools import Tool

__all__ = ["arguments_of", "check", "needs_approval", "walk", "walk_async"]

_begun: Final = AuditRecord.begun
_DONE: Final = CallStatus.DONE


def walk(tool: Tool, payload: Any, services: Services, call: Call = PLAIN_CALL) -> tuple[Any, CoercionReport]:
    """One call from its payload to what the function returned.

    Raises:
        ToolboxError: the arguments do not fit, or the function raised or timed out.
    """
    # A record that would go nowhere is not made.
    record = None
    if services.sinks.all or not is_silent():
        record = _begun(tool.name, tool.policy.name, call.call_id, call.metadata, tool.redaction)
    report = refused = None
    started = False
    opening: Sequence[Any] = ()
    try:
        report = check(tool, payload, services.known, call.found)
        positional: Sequence[Any] = ()
        keywords = report.value
        if report.failures or not tool.plain:
            held = _held(tool, payload, report, services, call, record)
            if held is not None:
                _raise_pending(held, held.desk.hold(held))
            if report.failures:
                refused = _refused(tool, payload, report, services, call, record, is_async=False)
            else:
                positional, keywords = _arguments(tool, report, services, call)
        if refused is not None:
            value = finished(_answer(refused)())
        else:
            if record is not None:
                fill_running(record, tool, payload, report)
                opening = services.sinks.opening
                if opening:
                    open_record(record, tool, services, opening)
            started = True
            try:
                value = invoke(tool, positional, keywords, tool.timeout_s if call.timeout_s is None else call.timeout_s)
            except BaseException as error:  # noqa: BLE001 - it is raised again, as what it means
                _raise_executed(tool, report, error)
    except BaseException as error:
        raised = _noted(tool, services, call, error)
        if record is not None:
            _fill_failed(record, tool, payload, report, refused, error, raised, started)
            deliver(record, services, status_of(record, error), opening)
        if raised is error:
            raise
        raise raised from error
    if record is not None:
        deliver(record, services, _DONE if refused is None else _fill_answered(record, refused), opening)
    if services.breaker is not None and (call.metadata is not None or current_metadata() is not NO_METADATA):
        _passed(tool, services, call)
    return value, report


async def walk_async(tool: Tool, payload: Any, services: Services, call: Call = PLAIN_CALL) -> tuple[Any, CoercionReport]:
    """The same for asynchronous code.

    Raises:
        ToolboxError: the arguments do not fit, or the function raised or timed out.
    """
    # A record that would go nowhere is not made.
    record = None
    if services.sinks.all or not is_silent():
        record = _begun(tool.name, tool.policy.name, call.call_id, call.metadata, tool.redaction)
    report = refused = watched = None
    started = False
    opening: Sequence[Any] = ()
    try:
        report = check(tool, payload, services.known, call.found)
        positional: Sequence[Any] = ()
        keywords = report.value
        if report.failures or not tool.plain:
            held = _held(tool, payload, report, services, call, record)
            if held is not None:
                hold = partial(held.desk.hold, held)
                _raise_pending(held, await in_thread(hold) if held.desk.blocking else hold())
            if report.failures:
                refused = _refused(tool, payload, report, services, call, record, is_async=True)
            else:
                positional, keywords = _arguments(tool, report, services, call)
        if refused is not None:
            value = _answer(refused)()
            if is_awaitable(value):
                watched = Watched(_awaited(value))
                value = await watched
        else:
            if record is not None:
                fill_running(record, tool, payload, report)
                opening = services.sinks.opening
                if opening:
                    await open_record_async(record, tool, services, opening)
            started = True
            try:
                watched = Watched(invoke_async(tool, positional, keywords, tool.timeout_s if call.timeout_s is None else call.timeout_s))
                value = (await watched).take()
            except BaseException as error:  # noqa: BLE001 - it is raised again, as what it means
                _raise_executed(tool, report, error, watched)
    except BaseException as error:
        raised = _noted(tool, services, call, error)
        if record is not None:
            _fill_failed(record, tool, payload, report, refused, error, raised, started)
            # A coroutine that is being closed may wait for nothing more.
            is_closed = is_a(error, GeneratorExit) and (watched is None or watched.is_closed)
            await deliver_async(record, services, status_of(record, error, is_closed=is_closed), opening, may_wait=not is_closed)
        if raised is error:
            raise
        raise raised from error
    if record is not None:
        await deliver_async(record, services, _DONE if refused is None else _fill_answered(record, refused), opening)
    if services.breaker is not None and (call.metadata is not None or current_metadata() is not NO_METADATA):
        _passed(tool, services, call)
    return value, report


async def _awaited(value: Any) -> Any:
    return await value


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
    try:
        value = {} if bound is INVALID else tool.coerce(bound, None, out)
    except RecursionError:
        error = PayloadError("too_deep", "the arguments are nested too deeply")
        raise _with_report(error, _nothing_read(error, tool)) from None
    diagnostics, failures, secret = out.diagnostics, out.failures, tool.secret
    value = {} if value is INVALID else value
    if tool.guarded:
        secret = unseen(tool, value)
        diagnostics, failures = masked(tool, bound, diagnostics, failures)
    return CoercionReport(payload, value, diagnostics, failures, out.residual, secret)


def arguments_of(tool: Tool, payload: Any, known: KnownTools | None = None) -> dict[str, Any] | None:
    """The arguments in a payload as they came, by the keys that they came with; None where there is no telling them apart.

    Args:
        tool: the tool.
        payload: a mapping, JSON text, or text that holds the arguments.
        known: the tools that the text may name.
    """
    try:
        arguments = _read(tool, payload, known).arguments if isinstance(payload, str | bytes | bytearray) else payload
        bound = tool.bind.bind(arguments, Outcome())
        return dict(bound) if isinstance(bound, Mapping) and all(isinstance(key, str) for key in bound) else None
    except Exception:  # noqa: BLE001 - a mapping of someone's own may do anything
        return None


def _read(tool: Tool, text: str | bytes | bytearray, known: KnownTools | None) -> ExtractedPayload:
    # Loaded with the first text: a program that only sends mappings never pays for the readers.
    from toolbox.payload.arguments import extract_arguments

    return extract_arguments(text if isinstance(text, str | bytes) else bytes(text), policy=tool.policy, known=known, tool=tool.name)


def _extracted(tool: Tool, payload: Any, known: KnownTools | None, out: Outcome) -> Any:
    if isinstance(payload, str | bytes | bytearray):
        try:
            found = _read(tool, payload, known)
        except PayloadError as error:
            error.report = _report_of(error, payload, out, tool)
            raise
        _note_found(found.diagnostics, tool, out)
        return found.arguments
    if payload is None:
        return payload
    _check_limits(tool, payload)
    try:
        # Once, and no more: each way through a mapping of someone's own may raise.
        return dict(payload.items()) if isinstance(payload, Mapping) else payload
    except FOREIGN as error:
        raise _unreadable(tool, error) from None


def _unreadable(tool: Tool, error: BaseException) -> PayloadError:
    """The error of arguments that a mapping of someone's own does not give."""
    made = PayloadError("not_an_object", f"the arguments cannot be read: they raised {class_name(error)[:100]}")
    made.report = _nothing_read(made, tool)
    return made


def _report_of(error: PayloadError, payload: Any, out: Outcome, tool: Tool) -> CoercionReport:
    """The report of a payload that holds no usable arguments."""
    reason = FailureReason.AMBIGUOUS if error.reason == "ambiguous" else FailureReason.INVALID
    failure = Failure("$", reason, "one JSON object with the arguments", ABSENT, error.message)
    diagnostics, failures = out.diagnostics, [*out.failures, failure]
    if tool.guarded:
        diagnostics, failures = masked(tool, None, diagnostics, failures)
    return CoercionReport(payload, {}, diagnostics, failures, secret=tool.secret)


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
        error.report = _nothing_read(error, tool)
        raise
    except FOREIGN as error:
        raise _unreadable(tool, error) from None


def _nothing_read(error: PayloadError, tool: Tool) -> CoercionReport:
    """The report of a payload beyond the limits; it is not held on to."""
    return _report_of(error, None, Outcome(), tool)


# -- verdict: the arguments do not fit -----------------------------------------------------------------------------------------------


def _refused(
    tool: Tool, payload: Any, report: CoercionReport, services: Services, call: Call, record: AuditRecord | None, *, is_async: bool
) -> Refused:
    return Refused(tool, payload, report, _with_metadata(call), services, is_async, None if record is None else record.id)


def _with_metadata(call: Call) -> Call:
    metadata = with_current_metadata(call.metadata)
    return call if metadata is call.metadata else replace(call, metadata=metadata)


def _recovers(refused: Refused) -> bool:
    """Whether a model is asked to correct a call; an attempt to correct one is not corrected again."""
    return refused.services.recovery is not None and refused.call.attempt == 0


def _answer(refused: Refused) -> Callable[[], Any]:
    """Who answers a refused call.

    Raises:
        InvalidArguments: nobody does.
        ToolboxError: the same has come too often.
    """
    tool, report, services = refused.tool, refused.report, refused.services
    error = _not_stopped(tool, report, services, refused.call)
    if services.recovery is not None and _recovers(refused):
        return partial(services.recovery, refused)
    if services.fallback is not None and tool.policy.failures is OnFailure.COLLECT:
        return partial(services.fallback, tool, report)
    raise error


def _not_stopped(tool: Tool, report: CoercionReport, services: Services, call: Call) -> InvalidArguments:
    """The error of a call whose arguments do not fit, before anybody is asked about it.

    Raises:
        ToolboxError: the same has come too often.
    """
    error = InvalidArguments(tool.name, report)
    stopped = _stopped(tool, services, call, error)
    if stopped is not None:
        raise stopped from error
    return error


def _stopped(tool: Tool, services: Services, call: Call, error: BaseException) -> ToolboxError | None:
    """The error of a tool that has failed too often for the same cause; an attempt to correct a call is no call of the model's own."""
    if services.breaker is None or call.attempt or not isinstance(error, ToolboxError):
        return None
    try:
        conversation = call.conversation_id
        stopped = None if conversation is None else services.breaker.stopped(tool.name, conversation, error)
        return None if stopped is None else _with_report(stopped, error.report)
    except FOREIGN as raised:
        _warn_of_breaker(services, raised)
        return None


def _noted(tool: Tool, services: Services, call: Call, error: BaseException) -> BaseException:
    """The error to raise for a call that ended with one; what did not fit has been counted already, the rest is counted here."""
    if services.breaker is None or not is_a(error, (ToolExecutionError, ToolTimeout, PayloadError)):
        return error
    return _stopped(tool, services, call, error) or error


def _passed(tool: Tool, services: Services, call: Call) -> None:
    try:
        conversation = call.conversation_id
        if services.breaker is not None and conversation is not None:
            services.breaker.passed(tool.name, conversation)
    except FOREIGN as raised:
        _warn_of_breaker(services, raised)


def _warn_of_breaker(services: Services, error: BaseException) -> None:
    """Whatever an application's breaker does, the call has its result."""
    warn("breaker_failed", breaker=class_name(services.breaker), error=class_name(error))


# -- verdict: a person decides -------------------------------------------------------------------------------------------------------


def _held(tool: Tool, payload: Any, report: CoercionReport, services: Services, call: Call, record: AuditRecord | None) -> Held | None:
    """The call as it goes to the review queue; None when no person needs to decide.

    Raises:
        MissingReview: one does, and there is no queue.
        ToolboxError: the same has come too often.
    """
    if call.approved:
        return None
    if report.failures:
        # A high-risk tool is corrected by nobody but a person.
        if not tool.high_risk or services.review is None or call.attempt:
            return None
        _not_stopped(tool, report, services, call)
        reason = "high_risk"
    else:
        if not needs_approval(tool, report):
            return None
        reason = "approval"
    if services.review is None:
        raise _with_report(MissingReview(tool.name), report)
    attempts = () if call.corrects is None else tuple(call.corrects.attempts)
    record_id = None if record is None else record.id
    said = _with_metadata(call)
    if said.call_id is not None and type(said.call_id) is not str:
        # It is kept as text, and whatever writes it must be able to.
        said = replace(said, call_id=plain_text(said.call_id))
    return Held(tool, payload, report, said, services.review, reason, attempts, record_id, services.known)


def needs_approval(tool: Tool, report: CoercionReport) -> bool:
    """Whether a call that fits needs a person's approval; where the question itself fails, it does."""
    if not callable(tool.approval):
        return tool.approval is not None
    try:
        return bool(tool.approval(report))
    except Exception as error:  # noqa: BLE001 - whatever an application's function does, the call must not run by it
        warn("approval_question_failed", tool=tool.name, error=class_name(error))
        return True


def _raise_pending(held: Held, item_id: str) -> NoReturn:
    raise held.pending(item_id)


# -- invoke --------------------------------------------------------------------------------------------------------------------------


def _arguments(tool: Tool, report: CoercionReport, services: Services, call: Call) -> tuple[Sequence[Any], dict[str, Any]]:
    context = services.context if call.context is None else {**services.context, **call.context}
    try:
        return arguments_for(tool, report.value, context)
    except MissingContext as error:
        raise _with_report(error, report) from None


def _raise_executed(tool: Tool, report: CoercionReport, error: BaseException, watched: Watched | None = None) -> NoReturn:
    """Raise what a function that did not return means: its own exception is never taken for a bad argument."""
    if watched is not None and watched.is_closed:
        raise error
    if type(error) is Stopped:
        raise _with_report(error.error, report) from None
    if propagates(error):
        raise error
    raise _with_report(ToolExecutionError(tool.name, message_of(error, tool, report)), report) from error


def _with_report(error: ToolboxError, report: CoercionReport | None) -> ToolboxError:
    error.report = report
    return error


# -- record --------------------------------------------------------------------------------------------------------------------------


def _fill_answered(record: AuditRecord, refused: Refused) -> CallStatus:
    """Put in what did not fit, and give the status of a call that was answered all the same."""
    fill_refused(record, refused.tool, refused.payload, refused.report)
    _add_notes(record, refused)
    return CallStatus.RECOVERED if _recovers(refused) else CallStatus.FALLBACK


def _fill_failed(
    record: AuditRecord,
    tool: Tool,
    payload: Any,
    report: CoercionReport | None,
    refused: Refused | None,
    error: BaseException,
    raised: BaseException,
    started: bool,
) -> None:
    own = error if is_a(error, ToolboxError) else None
    if not started or (own is not None and own.not_started):
        record.invoked = None
        fill_refused(record, tool, payload, own.report if report is None and own is not None else report)
    if refused is not None:
        _add_notes(record, refused)
    record.error = _text_of(raised)
    # Errors of toolbox's own are made of parts that have been redacted; an application's own may say anything.
    if tool.redaction is not None and module_name(raised) != ToolboxError.__module__:
        record.error = tool.redaction.text(record.error)


def _text_of(error: BaseException) -> str:
    """The text of an error of toolbox's own, the name of any other."""
    with suppress(*FOREIGN):
        if is_a(error, ToolboxError):
            return str(error)
    return class_name(error)


def _add_notes(record: AuditRecord, refused: Refused) -> None:
    if refused.notes:
        record.metadata = {**record.metadata, **snapshot(refused.notes)}
