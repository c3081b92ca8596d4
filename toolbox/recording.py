"""The record of one call: begun when it arrives, opened before its function runs, closed on every way out."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from toolbox.audit import AuditRecord, CallStatus, is_silent, log_record, warn
from toolbox.calls import Services
from toolbox.diagnostics import ABSENT, FOREIGN, CoercionReport, Diagnostic, Failure, class_name, is_a, module_name
from toolbox.errors import AuditError, ToolboxError, ToolTimeout
from toolbox.invoking import propagates
from toolbox.json_values import snapshot
from toolbox.masking import hidden
from toolbox.tools import Tool

if TYPE_CHECKING:
    from asyncio import Future
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["deliver", "deliver_async", "fill_refused", "fill_running", "in_thread", "open_record", "open_record_async", "status_of"]

_T = TypeVar("_T")

_PLAIN: Final = frozenset({str, int, bool, type(None), type(ABSENT)})
_THREADS: Final = 32
_PATIENCE_S: Final = 10


def fill_running(record: AuditRecord, tool: Tool, payload: Any, report: CoercionReport) -> None:
    """Put in what the function is about to run with: its arguments are copied now, since it may change them."""
    if tool.flat:
        record.invoked = report.value.copy()
        record.arguments = record.invoked if not report.diagnostics and type(payload) is dict else hidden(tool, payload)
    else:
        record.invoked = hidden(tool, report.value)
        record.arguments = hidden(tool, payload)
    if report.diagnostics:
        record.diagnostics = tuple(map(_copied, report.diagnostics))


def fill_refused(record: AuditRecord, tool: Tool, payload: Any, report: CoercionReport | None) -> None:
    """Put in what did not fit."""
    record.arguments = hidden(tool, payload)
    if report is not None:
        record.diagnostics = tuple(map(_copied, report.diagnostics))
        record.failures = tuple(map(_copied_failure, report.failures))


def status_of(record: AuditRecord, error: BaseException, *, is_closed: bool = False) -> CallStatus:
    """How a call ended that ended with an error, or whose coroutine was closed."""
    if is_closed or propagates(error):
        return CallStatus.CANCELLED
    if record.invoked is not None:
        return CallStatus.TIMEOUT if is_a(error, ToolTimeout) else CallStatus.FAILED
    if is_a(error, ToolboxError) and error.record_status is not None:
        return CallStatus(error.record_status)
    return CallStatus.REFUSED


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


# -- opening -------------------------------------------------------------------------------------------------------------------------


def open_record(record: AuditRecord, tool: Tool, services: Services, opening: Sequence[Any]) -> None:
    """Tell the sinks that ask for it that the function is about to run.

    Raises:
        AuditError: a sink could not, and such a call must not run.
    """
    for sink in opening:
        try:
            sink.opened(record)
        except Exception as error:  # noqa: BLE001 - whatever an application's sink does, the tool's settings say what becomes of the call
            _not_opened(tool, services, sink, error)


async def open_record_async(record: AuditRecord, tool: Tool, services: Services, opening: Sequence[Any]) -> None:
    """The same for asynchronous code: a sink that waits is called in a thread.

    Raises:
        AuditError: a sink could not, and such a call must not run.
    """
    for sink in opening:
        try:
            if getattr(sink, "blocking", False):
                await _opened_in_thread(partial(sink.opened, record), _pool_of(sink))
            else:
                sink.opened(record)
        except Exception as error:  # noqa: BLE001 - see open_record
            _not_opened(tool, services, sink, error)


async def _opened_in_thread(work: Callable[[], None], pool: str) -> None:
    if _is_inside():
        return work()
    import asyncio

    opening = _threads(pool).submit(work)
    try:
        return await asyncio.shield(asyncio.wrap_future(opening))
    except GeneratorExit:
        # The call's coroutine is being closed: its end must not be on record before its beginning.
        if not opening.cancel():
            opening.exception(_PATIENCE_S)
        raise


def _not_opened(tool: Tool, services: Services, sink: Any, error: Exception) -> None:
    _count_loss(services, sink, error)
    rule = tool.on_audit_failure or services.on_audit_failure or ("fail_closed" if tool.high_risk else "fail_open")
    if rule == "fail_closed":
        raise AuditError(tool.name, class_name(sink)) from error


# -- closing -------------------------------------------------------------------------------------------------------------------------

_losing: Final = threading.Lock()


def _count_loss(services: Services, sink: Any, error: BaseException) -> None:
    with _losing:
        services.lost_records += 1
    reason = None
    with suppress(*FOREIGN):
        reason = getattr(error, "reason", None)
    said = {"reason": reason} if type(reason) is str else {}
    warn("audit_sink_failed", sink=class_name(sink), error=class_name(error), **said)


def deliver(record: AuditRecord, services: Services, status: CallStatus, opened: Sequence[Any] = ()) -> None:
    """Close a record, and give it to the log and to every sink; one that fails is counted and never changes the result of the call.

    Args:
        record: the record.
        services: whose sinks get it.
        status: how the call ended.
        opened: the sinks that were told that the call runs; one that was removed meanwhile is told of its end all the same.
    """
    # Every call comes here, so what nearly always happens is written out; this is `record.end(status)`.
    record.status = status
    record.duration_ms = (perf_counter() - record._started) * 1000  # noqa: SLF001
    if not is_silent():
        log_record(record)
    interruption: BaseException | None = None
    for sink in _takers(services, opened) if opened else services.sinks.all:
        try:
            sink(record)
        except BaseException as error:  # noqa: BLE001 - whatever an application's sink does, the call has had its effect already
            interruption = _lost(services, sink, error) or interruption
    if interruption is not None:
        raise interruption


def _takers(services: Services, opened: Sequence[Any]) -> Sequence[Any]:
    present = services.sinks.all
    if not opened or opened is services.sinks.opening:
        return present
    return [*present, *(sink for sink in opened if not any(sink is other for other in present))]


async def deliver_async(
    record: AuditRecord, services: Services, status: CallStatus, opened: Sequence[Any] = (), *, may_wait: bool = True
) -> None:
    """The same for asynchronous code: a sink that waits is called in a thread, unless nothing may be waited for any more."""
    record.end(status)
    if not is_silent():
        log_record(record)
    interruption: BaseException | None = None
    waiting: list[Future[BaseException | None]] = []
    for sink in _takers(services, opened):
        if may_wait and getattr(sink, "blocking", False) and not _is_inside():
            # All have the record before one is waited for: a cancellation meanwhile keeps it from none.
            waiting.append(_started(partial(_give, record, services, sink), _pool_of(sink)))
        else:
            interruption = _give(record, services, sink) or interruption
    if waiting:
        import asyncio

        for given in waiting:
            interruption = await asyncio.shield(given) or interruption
    if interruption is not None:
        raise interruption


def _give(record: AuditRecord, services: Services, sink: Any) -> BaseException | None:
    """Give a record to a sink; what is to be raised when every other sink has it."""
    try:
        sink(record)
    except BaseException as error:  # noqa: BLE001 - see deliver
        return _lost(services, sink, error)
    return None


def _lost(services: Services, sink: Any, error: BaseException) -> BaseException | None:
    """Count a record that a sink has not taken; what is to be raised of it when every other sink has it."""
    _count_loss(services, sink, error)
    return None if is_a(error, Exception) else error


# -- threads for what waits ----------------------------------------------------------------------------------------------------------

_inside: Final = threading.local()
_pools: Final[dict[str, ThreadPoolExecutor]] = {}
_pooling: Final = threading.Lock()

# Two, since what is an application's own may wait for a call, and that for its record: sinks of toolbox's own never wait behind it.
_RECORDS: Final = "toolbox-audit"
_OTHERS: Final = "toolbox-review"


def _pool_of(sink: Any) -> str:
    """In which threads a sink that waits is called."""
    return _RECORDS if module_name(sink).partition(".")[0] == __name__.partition(".")[0] else _OTHERS


def _threads(name: str) -> ThreadPoolExecutor:
    # Not the loop's own pool: there a record could wait behind slow tools. Threads are the process's, made when they are first needed.
    with _pooling:
        if name not in _pools:
            from concurrent.futures import ThreadPoolExecutor

            _pools[name] = ThreadPoolExecutor(_THREADS, thread_name_prefix=name, initializer=_mark)
        return _pools[name]


def _mark() -> None:
    _inside.pool = True


def _is_inside() -> bool:
    """Whether this is one of the threads: what is done here, such as a hook that dispatches, must not wait for another of them."""
    return getattr(_inside, "pool", False)


if hasattr(os, "register_at_fork"):
    # A forked process has none of its parent's threads.
    os.register_at_fork(after_in_child=_pools.clear)


def _started(work: Callable[[], _T], pool: str) -> Future[_T]:
    import asyncio

    return asyncio.get_running_loop().run_in_executor(_threads(pool), work)


async def in_thread(work: Callable[[], _T]) -> _T:
    """Do what waits for a disk or a server in a thread; a cancellation does not stop it, and does not wait for it."""
    return await _in_thread(work, _OTHERS)


async def _in_thread(work: Callable[[], _T], pool: str) -> _T:
    if _is_inside():
        return work()
    import asyncio

    return await asyncio.shield(_started(work, pool))
