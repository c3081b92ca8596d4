"""OpenTelemetry: a span for each call, under which the function's own spans stand, and metrics of calls, changes and refusals.

Names are those of the GenAI semantic conventions (https://github.com/open-telemetry/semantic-conventions-genai, status Development:
"Execute tool span" in docs/gen-ai/gen-ai-spans.md, ``gen_ai.execute_tool.duration`` in docs/gen-ai/gen-ai-metrics.md). What they have no
name for is called ``toolbox.*``.
"""

from __future__ import annotations

import importlib.metadata
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from toolbox.audit.record import AuditRecord
from toolbox.diagnostics import ABSENT, Diagnostic, Failure, shorten
from toolbox.json_values import Bounds, json_text

try:
    from opentelemetry import context, metrics, trace
except ImportError:
    # Without the extra the class can be named, by `from toolbox import *` too; only making one says what is missing.
    _IS_INSTALLED = False
else:
    _IS_INSTALLED = True

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider
    from opentelemetry.util.types import AttributeValue

    _Attributes = dict[str, AttributeValue]

__all__ = ["OTHER", "OpenTelemetrySink"]

OTHER: Final = "_OTHER"
"""Stands in metrics for the names of tools that do not exist, and for names beyond those that are counted one by one."""

SCOPE: Final = "toolbox"
# Boundaries that the conventions ask for, in seconds.
DURATIONS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
OPEN_LIMIT: Final = 10_000
TOOLS_COUNTED: Final = 500
MODELS_COUNTED: Final = 50
EVENTS_SHOWN: Final = 32
TEXT_LIMIT: Final = 1_000
NAME_LIMIT: Final = 200
CONTENT_LIMIT: Final = 8_000
# From much to little of a value; the first for which there is room is taken.
_CONTENT_BOUNDS: Final = (Bounds(2_000, 400, 8), Bounds(200, 60, 5), Bounds(40, 20, 3))
# Calls that ended as they should: with a result, or held for a person to decide.
_GOOD: Final = frozenset({"done", "fallback", "pending", "recovered"})
# Calls of which nobody has registered the name: it is whatever a model wrote.
_NAMELESS: Final = frozenset({"unknown_tool", "unreadable"})
# Calls that were refused even where no failure says why.
_REFUSED: Final = frozenset({"refused", "coercion_failed"}) | _NAMELESS
# What a status says without a word of what was sent.
_MEANINGS: Final = {
    "refused": "the call was refused; the function was not run",
    "failed": "the function raised",
    "timeout": "the function did not end within its time limit",
    "cancelled": "the caller gave up while the function ran",
    "unknown_tool": "no tool has that name",
    "unreadable": "the call could not be read",
    "coercion_failed": "the arguments did not fit, and could not be corrected; the function was not run",
    "unknown": "the call was opened and never closed",
}
# Where the innermost open call stands in a context of OpenTelemetry.
_CALL: Final = "toolbox-open-call"


class OpenTelemetrySink:
    """A sink that makes one span and a few measurements of each call.

    The span is named ``execute_tool`` and the tool, is current while the function runs, and ends with the call. No value that was sent is
    in it unless `capture_content` is set, and no result ever is, since results are not on record. It never raises: what a provider or a
    processor of the application raises is counted, and the call goes on.

    Args:
        tracer_provider: makes the spans; the global one by default.
        meter_provider: takes the measurements; the global one by default.
        capture_content: put arguments, values and error texts into spans as well; those of secret parameters stay masked.
        describe: gives the description of a tool by its name, such as ``lambda name: registry[name].description``.

    Raises:
        ImportError: the extra ``otel`` is not installed.

    Attributes:
        lost: how many times something of the application's OpenTelemetry raised, so that a span or a measurement is missing.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        capture_content: bool = False,
        describe: Callable[[str], str | None] | None = None,
    ) -> None:
        if not _IS_INSTALLED:
            raise ImportError('OpenTelemetrySink needs opentelemetry-api: pip install "toolbox-dispatch[otel]"')
        version = _version()
        self.lost = 0
        self._capture = capture_content
        self._describe = describe
        self._tracer = trace.get_tracer(SCOPE, version, tracer_provider)
        meter = metrics.get_meter(SCOPE, version or "", meter_provider)
        self._durations = meter.create_histogram(
            "gen_ai.execute_tool.duration",
            unit="s",
            description="The duration of a single tool execution.",
            explicit_bucket_boundaries_advisory=DURATIONS,
        )
        self._calls = meter.create_counter("toolbox.calls", unit="{call}", description="Calls of tools, by outcome.")
        self._changes = meter.create_counter("toolbox.changes", unit="{change}", description="Changes to arguments, by kind and risk.")
        self._refusals = meter.create_counter(
            "toolbox.refusals", unit="{refusal}", description="Calls that were refused, once for each reason."
        )
        self._lock = threading.Lock()
        self._open: dict[str, _OpenCall] = {}
        self._tools, self._models = _Names(TOOLS_COUNTED), _Names(MODELS_COUNTED)

    def opened(self, record: AuditRecord) -> None:
        """Start the span of a call and make it current; never raises."""
        try:
            before = _without_lost(context.get_current())
            call = _OpenCall(self._start(record, before), before)
            within = context.set_value(_CALL, call, trace.set_span_in_context(call.span, before))
            self._keep(record.id, call)
            context.attach(within)
        except Exception:  # noqa: BLE001 - whatever the application's OpenTelemetry does, the call goes on
            self._count_loss()

    def __call__(self, record: AuditRecord) -> None:
        """End the span of a call, or make the span of one that was never opened, and measure it; never raises."""
        with self._lock:
            call = self._open.pop(record.id, None)
        span = None
        try:
            if call is not None:
                call.leave()
            span = self._start(record) if call is None else call.span
            self._end(span, record, call)
        except Exception:  # noqa: BLE001 - see opened
            self._count_loss()
        try:
            # The span is handed on, so that a measurement can point to it.
            self._count(record, None if span is None else trace.set_span_in_context(span))
        except Exception:  # noqa: BLE001 - see opened
            self._count_loss()

    # -- spans -------------------------------------------------------------------------------------------------------------------

    def _start(self, record: AuditRecord, parent: Context | None = None) -> Span:
        metadata, tool = record.metadata, _text(record.tool, NAME_LIMIT)
        attributes: _Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.type": "function",
            "toolbox.record.id": record.id,
            "toolbox.policy": _text(record.policy, NAME_LIMIT),
        }
        for name, value in (
            ("gen_ai.tool.call.id", record.call_id),
            ("gen_ai.conversation.id", metadata.get("conversation_id")),
            ("gen_ai.request.model", metadata.get("model")),
            ("gen_ai.tool.description", self._description(record)),
        ):
            if value is not None:
                attributes[name] = _text(value, TEXT_LIMIT)
        # The name of a tool that does not exist is a model's text: names of spans are few.
        name = "execute_tool" if _is_nameless(record) else f"execute_tool {tool}"
        return self._tracer.start_span(
            name, context=parent, kind=trace.SpanKind.INTERNAL, attributes=attributes, start_time=_nanoseconds(record.time)
        )

    def _description(self, record: AuditRecord) -> str | None:
        if self._describe is None or _is_nameless(record):
            return None
        try:
            return self._describe(record.tool)
        except Exception:  # noqa: BLE001 - a tool that was removed meanwhile, or whatever the application's function does
            return None

    def _keep(self, record_id: str, call: _OpenCall) -> None:
        """Remember an open call; when too many are open, the oldest is given up: whoever opened it does not close."""
        with self._lock:
            lost = [self._open.pop(record_id, None)]
            self._open[record_id] = call
            if len(self._open) > OPEN_LIMIT:
                lost.append(self._open.pop(next(iter(self._open))))
        for item in lost:
            if item is not None:
                item.is_lost = True
                _fail(item.span, "unknown")
                item.span.end()

    def _end(self, span: Span, record: AuditRecord, call: _OpenCall | None) -> None:
        """Say on the span how the call went, and end it."""
        ended = _nanoseconds(record.time) + _nanoseconds(record.duration_ms / 1000)
        try:
            if span.is_recording():
                self._fill(span, record, ended if call is None else call.checked)
        finally:
            span.end(ended)

    def _fill(self, span: Span, record: AuditRecord, checked: int) -> None:
        outcome, worst = record.status.value, record.worst_risk
        attributes: _Attributes = {
            "toolbox.outcome": outcome,
            "toolbox.changes": len(record.diagnostics),
            "toolbox.failures": len(record.failures),
        }
        if worst is not None:
            attributes["toolbox.worst_risk"] = worst.name.lower()
        if self._capture:
            ran = record.invoked
            attributes["gen_ai.tool.call.arguments"] = _content(record.arguments if ran is None else ran)
            if ran is not None and ran != record.arguments:
                attributes["toolbox.arguments"] = _content(record.arguments)
        span.set_attributes(attributes)
        for change in record.diagnostics[:EVENTS_SHOWN]:
            span.add_event("toolbox.change", self._change(change), checked)
        for failure in record.failures[:EVENTS_SHOWN]:
            span.add_event("toolbox.failure", self._failure(failure), checked)
        if outcome not in _GOOD:
            _fail(span, outcome, _text(record.error, TEXT_LIMIT) if self._capture and record.error else "")

    def _change(self, change: Diagnostic) -> _Attributes:
        said: _Attributes = {
            "toolbox.change.path": _text(change.path, NAME_LIMIT),
            "toolbox.change.kind": change.kind.value,
            "toolbox.change.risk": change.risk.name.lower(),
        }
        if change.conversion:
            said["toolbox.change.conversion"] = _text(change.conversion, NAME_LIMIT)
        if self._capture:
            said |= _values("toolbox.change", before=change.before, after=change.after)
            if change.suggestion:
                said["toolbox.change.suggestion"] = _text(change.suggestion, TEXT_LIMIT)
        return said

    def _failure(self, failure: Failure) -> _Attributes:
        said: _Attributes = {
            "toolbox.failure.path": _text(failure.path, NAME_LIMIT),
            "toolbox.failure.reason": failure.reason.value,
            "toolbox.failure.expected": _text(failure.expected, NAME_LIMIT),
        }
        if self._capture:
            said |= _values("toolbox.failure", value=failure.value)
            for name, words in (("detail", failure.detail), ("suggestion", failure.suggestion)):
                if words:
                    said[f"toolbox.failure.{name}"] = _text(words, TEXT_LIMIT)
        return said

    # -- metrics -----------------------------------------------------------------------------------------------------------------

    def _count(self, record: AuditRecord, within: Context | None) -> None:
        outcome = record.status.value
        tool = OTHER if _is_nameless(record) else self._tools.counted(record.tool)
        labels: _Attributes = {"gen_ai.tool.name": tool}
        if record.invoked is not None:
            timed: _Attributes = {**labels, "gen_ai.tool.type": "function"}
            if outcome not in _GOOD:
                timed["error.type"] = outcome
            self._durations.record(record.duration_ms / 1000, timed, within)
        model = record.metadata.get("model")
        if isinstance(model, str) and model:
            labels["gen_ai.request.model"] = self._models.counted(model)
        self._calls.add(1, {**labels, "toolbox.outcome": outcome}, within)
        for (kind, risk), count in _counted([(item.kind.value, item.risk.name.lower()) for item in record.diagnostics]):
            self._changes.add(count, {**labels, "toolbox.change.kind": kind, "toolbox.change.risk": risk}, within)
        reasons = list(dict.fromkeys(item.reason.value for item in record.failures))
        if not reasons and outcome in _REFUSED:
            reasons = [outcome if outcome in _NAMELESS else OTHER]
        for reason in reasons:
            self._refusals.add(1, {**labels, "toolbox.failure.reason": reason}, within)

    def _count_loss(self) -> None:
        with self._lock:
            self.lost += 1


class _OpenCall:
    """A call whose function runs: its span, and the context that was current before it.

    A token of OpenTelemetry's would have to be given back in the context in which it was made, innermost first; one that is not is
    reported in the application's log, and leaves the wrong span current. Two sinks, a generator or a coroutine that is closed by the
    garbage collector break both rules, so the way back is kept here instead.

    Attributes:
        span: the span of the call.
        before: the context to go back to; None once nobody has to.
        checked: when the arguments had been read, in nanoseconds since the epoch.
        is_lost: nobody closed it, and it was given up.
        is_below: it was closed while another one that was opened after it was still open.
    """

    __slots__ = ("before", "checked", "is_below", "is_lost", "span")

    def __init__(self, span: Span, before: Context) -> None:
        self.span = span
        self.before: Context | None = before
        self.checked = time.time_ns()
        self.is_lost = False
        self.is_below = False

    def leave(self) -> None:
        """Make current again what was current before the call, if this is where it was opened."""
        call = _innermost(context.get_current())
        if call is self:
            before, self.before = self.before, None
            while before is not None:
                below = _innermost(before)
                if below is None or not (below.is_below or below.is_lost) or below.before is None:
                    context.attach(before)
                    break
                before, below.before = below.before, None
            return
        while call is not None and call is not self:
            call = None if call.before is None else _innermost(call.before)
        if call is self:
            self.is_below = True
        else:
            # Closed elsewhere. What is not needed is not held: a task that outlives its call would hold the whole chain of its ancestors.
            self.before = None


def _innermost(within: Context) -> _OpenCall | None:
    found = context.get_value(_CALL, within)
    return found if isinstance(found, _OpenCall) else None


def _without_lost(within: Context) -> Context:
    """The context without the calls that were given up, so that not everything that follows stands under one of them."""
    call = _innermost(within)
    while call is not None and call.is_lost and call.before is not None:
        within = call.before
        call = _innermost(within)
    return within


class _Names:
    """The first so many names; those that come later go under one name together, so that no caller can make metrics without end."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.known: dict[str, str] = {}

    def counted(self, name: str) -> str:
        """The name under which it is counted."""
        found = self.known.get(name)
        if found is None:
            if len(self.known) >= self.limit:
                return OTHER
            found = self.known[name] = _text(name, NAME_LIMIT)
        return found


def _is_nameless(record: AuditRecord) -> bool:
    return record.status.value in _NAMELESS


def _fail(span: Span, outcome: str, words: str = "") -> None:
    span.set_attribute("error.type", outcome)
    span.set_status(trace.Status(trace.StatusCode.ERROR, words or _MEANINGS.get(outcome, outcome)))


def _values(prefix: str, **values: Any) -> _Attributes:
    return {f"{prefix}.{name}": _content(value) for name, value in values.items() if value is not ABSENT}


def _counted(items: Sequence[tuple[str, str]]) -> list[tuple[tuple[str, str], int]]:
    return [(item, items.count(item)) for item in dict.fromkeys(items)]


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)


def _text(value: object, limit: int) -> str:
    """A text that any exporter can write: bounded, and without the lone surrogates that cannot be encoded."""
    text = value if type(value) is str else shorten(value, limit)
    if len(text) > limit:
        text = f"{text[: limit - 3]}..."
    if text.isascii():
        return text
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _content(value: Any) -> str:
    """A value as JSON text for which there is room: with less of it, the more there is."""
    text = ""
    for bounds in _CONTENT_BOUNDS:
        text = json_text(value, bounds)
        if len(text) <= CONTENT_LIMIT:
            break
    return _text(text, CONTENT_LIMIT)


def _version() -> str | None:
    try:
        return importlib.metadata.version("toolbox-dispatch")
    except importlib.metadata.PackageNotFoundError:
        return None
