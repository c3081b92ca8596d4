"""OpenTelemetry: one span and a few measurements a call, against the real SDK, whatever threads, tasks and providers do."""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import gc
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import hypothesis
import hypothesis.strategies as st
import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader, NumberDataPoint
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Sampler
from opentelemetry.trace import SpanKind, StatusCode

import toolbox
from toolbox import (
    AuditRecord,
    CallStatus,
    Diagnostic,
    DiagnosticKind,
    Failure,
    FailureReason,
    Injected,
    MemorySink,
    OnFailure,
    OpenTelemetrySink,
    Policy,
    Redaction,
    Registry,
    Risk,
    ToolExecutionError,
)
from toolbox.audit import telemetry

ROOT = Path(toolbox.__file__).parents[1]
CANARY = "canary-5f1c"


class Telemetry:
    """A sink with an SDK of its own, and what has come out of it."""

    def __init__(self, **options: Any) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.provider = TracerProvider(sampler=options.pop("sampler", None), shutdown_on_exit=False)
        for processor in options.pop("processors", ()):
            self.provider.add_span_processor(processor)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.sink = OpenTelemetrySink(tracer_provider=self.provider, meter_provider=self.meters, **options)
        self.tracer = self.provider.get_tracer("tests")

    @property
    def spans(self) -> list[ReadableSpan]:
        """The ended spans, in the order in which they ended."""
        return list(self.exporter.get_finished_spans())

    def span(self, name: str) -> ReadableSpan:
        """The one span of that name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def points(self, metric: str) -> list[tuple[dict[str, Any], Any]]:
        """Attributes and value of every point of a metric; the value of a histogram is its number of measurements."""
        data = self.reader.get_metrics_data()
        metrics = [item for part in data.resource_metrics for scope in part.scope_metrics for item in scope.metrics] if data else []
        return [
            (dict(point.attributes or {}), point.value if isinstance(point, NumberDataPoint) else point.count)
            for item in metrics
            if item.name == metric
            for point in item.data.data_points
        ]

    def text(self) -> str:
        """Everything that left the process, as text."""
        data = self.reader.get_metrics_data()
        return "\n".join([*(span.to_json() for span in self.spans), data.to_json() if data else ""])


@pytest.fixture
def otel() -> Iterator[Telemetry]:
    """A sink over a real SDK; nothing may stay current after a test."""
    before = context.get_current()
    yield Telemetry()
    assert context.get_current() == before, "a span is still current after its call"


def double(number: int) -> int:
    """Double a number."""
    return number * 2


def _registry(*sinks: Any, **options: Any) -> Registry:
    registry = Registry(sinks=[item.sink if isinstance(item, Telemetry) else item for item in sinks], **options)
    registry.register(double)
    return registry


def _parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def _id(span: ReadableSpan) -> int:
    return span.get_span_context().span_id  # type: ignore[union-attr]


def _attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


# -- the span of a call --------------------------------------------------------------------------------------------------------------


def test_the_span_of_a_call() -> None:
    """Name, kind and attributes are those of the GenAI conventions; its times are those of the record."""
    kept, registry = MemorySink(), _registry()
    otel = Telemetry(describe=lambda name: registry[name].description)
    registry.add_sink(otel.sink)
    registry.add_sink(kept)
    registry.run("double", {"number": 2}, call_id="call_1", metadata={"model": "small-1", "conversation_id": "c-9", "user": "u-17"})
    (span,), (record,) = otel.spans, kept.records
    assert (span.name, span.kind, span.status.status_code, span.parent) == (
        "execute_tool double",
        SpanKind.INTERNAL,
        StatusCode.UNSET,
        None,
    )
    assert _attributes(span) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "double",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Double a number.",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.conversation.id": "c-9",
        "gen_ai.request.model": "small-1",
        "toolbox.record.id": record.id,
        "toolbox.policy": "lenient",
        "toolbox.outcome": "done",
        "toolbox.changes": 0,
        "toolbox.failures": 0,
    }
    assert span.events == ()
    assert span.instrumentation_scope is not None
    assert (span.instrumentation_scope.name, span.instrumentation_scope.version) == ("toolbox", telemetry._version() or "")
    assert span.start_time == int(record.time * 1e9)
    assert span.end_time == span.start_time + int(record.duration_ms / 1000 * 1e9)
    assert otel.sink.lost == 0


def test_the_names_are_those_of_the_conventions() -> None:
    """The package of the conventions knows every gen_ai name that is used."""
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_") and isinstance(value, str)}
    used = {word for word in Path(str(telemetry.__file__)).read_text("utf-8").split('"') if word.startswith("gen_ai.")}
    assert used - known == {"gen_ai.execute_tool.duration"}
    assert "execute_tool" in {item.value for item in gen_ai_attributes.GenAiOperationNameValues}


def boom(number: int) -> int:
    """A sample tool."""
    raise ValueError(f"no {CANARY}")


def slow(number: int) -> int:
    """A sample tool that ends when the test lets it."""
    _let_go.wait()
    return number


_let_go = threading.Event()


async def asleep(number: int) -> int:
    """A sample tool that never ends by itself."""
    await asyncio.Event().wait()
    return number


@pytest.mark.parametrize(
    ("name", "arguments", "options", "outcome", "words"),
    [
        ("double", {"number": 1}, {}, "done", None),
        ("double", {"number": "x"}, {}, "refused", "the call was refused; the function was not run"),
        ("double", "{", {}, "refused", "the call was refused; the function was not run"),
        ("boom", {"number": 1}, {}, "failed", "the function raised"),
        ("slow", {"number": 1}, {"timeout_s": 0.01}, "timeout", "the function did not end within its time limit"),
        ("asleep", {"number": 1}, {"timeout_s": 0.01}, "timeout", "the function did not end within its time limit"),
        (f"{CANARY}\n", {}, {}, "unknown_tool", "no tool has that name"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_every_way_out(
    otel: Telemetry, name: str, arguments: Any, options: dict[str, Any], outcome: str, words: str | None, is_async: bool
) -> None:
    """One span a call, ended, with the status and the error type of the outcome and no word of what was sent; then nothing is current."""
    registry = _registry(otel)
    for function in (boom, slow, asleep):
        registry.register(function)
    _let_go.clear()
    try:
        with otel.tracer.start_as_current_span("around") as around:
            if is_async:
                asyncio.run(registry.arun(name, arguments, **options))
            else:
                registry.run(name, arguments, **options)
            assert trace.get_current_span() is around
    finally:
        _let_go.set()
    span = otel.spans[0]
    assert span.name == ("execute_tool" if outcome == "unknown_tool" else f"execute_tool {name}")
    assert span.parent is not None
    assert span.parent.span_id == around.get_span_context().span_id
    assert _attributes(span)["toolbox.outcome"] == outcome
    assert (span.status.status_code is StatusCode.ERROR, span.status.description) == (words is not None, words)
    assert _attributes(span).get("error.type") == (None if words is None else outcome)
    assert otel.points("toolbox.calls") == [
        ({"gen_ai.tool.name": "_OTHER" if outcome == "unknown_tool" else name, "toolbox.outcome": outcome}, 1)
    ]
    assert (otel.sink.lost, otel.sink._open) == (0, {})


@pytest.mark.parametrize("status", CallStatus)
def test_every_status_has_words(otel: Telemetry, status: CallStatus) -> None:
    """No status is forgotten: it is a good one, or it is said what it means."""
    otel.sink(AuditRecord("t", "p", {}, status=status))
    (span,) = otel.spans
    assert _attributes(span)["toolbox.outcome"] == status
    is_good = status in ("done", "fallback", "pending", "recovered")
    assert (span.status.status_code is StatusCode.ERROR) is not is_good
    assert is_good or status == "running" or " " in str(span.status.description)


def test_a_call_that_a_fallback_answers(otel: Telemetry) -> None:
    """It is no error; what did not fit is told, and counted."""
    registry = _registry(otel, policy=Policy(failures=OnFailure.COLLECT))
    registry.fallback(lambda tool, report: -1)
    assert registry.dispatch("double", {"number": "x"}) == -1
    (span,) = otel.spans
    assert (span.status.status_code, _attributes(span)["toolbox.outcome"]) == (StatusCode.UNSET, "fallback")
    assert [event.name for event in span.events] == ["toolbox.failure"]
    assert otel.points("gen_ai.execute_tool.duration") == []
    assert otel.points("toolbox.refusals") == [({"gen_ai.tool.name": "double", "toolbox.failure.reason": "invalid"}, 1)]


# -- what is in it, and what is not --------------------------------------------------------------------------------------------------


def close_ticket(ticket: int, reason: Literal["solved", "duplicate"], token: str = "") -> str:
    """A sample tool with a secret."""
    if ticket == 13:
        raise RuntimeError(f"{CANARY} is locked ({token})")
    return CANARY


_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("close_ticket", {"ticket": "7", "reason": "SOLVED", "token": "hidden-1"}),
    ("close_ticket", {"ticket": CANARY, "reason": CANARY, "token": "hidden-1"}),
    ("close_ticket", {"ticket": 13, "reason": "solved", "token": "hidden-1", "zzzz": CANARY}),
    ("close_ticket", {"ticket": 7, "reason": {"deep": [CANARY]}, "token": ["hidden-1"]}),
    (CANARY, {"x": CANARY}),
]


@pytest.mark.parametrize("capture", [False, True])
def test_content_only_when_asked_for(capture: bool) -> None:
    """Nothing that was sent, raised or returned leaves the process unless it is asked for; what is secret never does."""
    otel = Telemetry(capture_content=capture)
    registry = Registry(sinks=[otel.sink])
    registry.register(close_ticket, secret=["token"])
    for name, arguments in _CALLS:
        registry.run(name, arguments)
    text = otel.text()
    assert "hidden-1" not in text
    # The name of a tool that does not exist is the one text of a model that a span has; metrics have none.
    assert (text.replace(f'"gen_ai.tool.name": "{CANARY}"', "").count(CANARY) > 0) is capture
    assert '"SOLVED' not in text if not capture else "SOLVED" in text


def test_what_is_redacted() -> None:
    """What the application redacts is in no span and no metric, whatever it stands in: a key, a value, an error, a name, an id."""
    otel = Telemetry(capture_content=True)
    registry = Registry(sinks=[otel.sink], redaction=Redaction(["token"], lambda text: text.replace(CANARY, "***")))
    registry.register(close_ticket)
    for name, arguments in _CALLS:
        registry.run(name, arguments, call_id=CANARY, metadata={"conversation_id": CANARY, "model": "small-1"})
        registry.run(name, {**arguments, CANARY: 1, "tocken": "hidden-1"})
    registry.run("close_ticket", f"{{'ticket': '{CANARY}', token: 'hidden-1'")
    assert len(otel.spans) == 2 * len(_CALLS) + 1
    assert not [word for word in (CANARY, "hidden-1") if word in otel.text()]


def test_events_of_changes_and_failures(otel: Telemetry) -> None:
    """Where, what kind, how risky: not what."""
    registry = Registry(sinks=[otel.sink])
    registry.register(close_ticket)
    registry.run("close_ticket", {"ticket": "7", "reason": "SOLVED", "token": ""})
    registry.run("close_ticket", {"ticket": "seven", "reason": "solved", "token": ""})
    done, refused = otel.spans
    assert [(event.name, dict(event.attributes or {})) for event in done.events] == [
        (
            "toolbox.change",
            {
                "toolbox.change.path": "$.ticket",
                "toolbox.change.kind": "coerced",
                "toolbox.change.risk": "info",
                "toolbox.change.conversion": "str->int",
            },
        ),
        (
            "toolbox.change",
            {
                "toolbox.change.path": "$.reason",
                "toolbox.change.kind": "matched",
                "toolbox.change.risk": "info",
                "toolbox.change.conversion": "match:case",
            },
        ),
    ]
    assert {name: value for name, value in _attributes(done).items() if "change" in name or "risk" in name} == {
        "toolbox.changes": 2,
        "toolbox.worst_risk": "info",
    }
    ((name, attributes),) = [(event.name, dict(event.attributes or {})) for event in refused.events]
    assert (name, attributes) == (
        "toolbox.failure",
        {"toolbox.failure.path": "$.ticket", "toolbox.failure.reason": "invalid", "toolbox.failure.expected": "an integer"},
    )
    for span in otel.spans:
        assert all(span.start_time <= event.timestamp <= span.end_time for event in span.events)  # type: ignore[operator]


def test_content_in_events_and_attributes() -> None:
    """With content, arguments as they ran and as they came, values of changes and failures, and the text of the error."""
    otel = Telemetry(capture_content=True)
    registry = _registry(otel)
    registry.run("double", {"number": "2"})
    registry.run("double", {"number": 3})
    registry.run("double", {"number": "x"})
    changed, clean, refused = otel.spans
    assert json.loads(_attributes(changed)["gen_ai.tool.call.arguments"]) == {"number": 2}
    assert json.loads(_attributes(changed)["toolbox.arguments"]) == {"number": "2"}
    assert "toolbox.arguments" not in _attributes(clean)
    assert json.loads(_attributes(refused)["gen_ai.tool.call.arguments"]) == {"number": "x"}
    (change,), (failure,) = changed.events, refused.events
    assert (change.attributes or {})["toolbox.change.before"] == '"2"'
    assert (change.attributes or {})["toolbox.change.after"] == "2"
    assert (failure.attributes or {})["toolbox.failure.value"] == '"x"'
    assert "expected an integer" in str(refused.status.description)


def test_many_changes_are_bounded(otel: Telemetry) -> None:
    """A span holds the first of them and says how many there were; the metrics count them all."""
    changes = tuple(Diagnostic(f"$.a[{n}]", DiagnosticKind.COERCED, Risk.INFO, "1", 1, "str->int") for n in range(500))
    failures = tuple(Failure(f"$.a[{n}]", FailureReason.INVALID, "x") for n in range(500))
    otel.sink(AuditRecord("t", "p", {}, diagnostics=changes, failures=failures, status=CallStatus.REFUSED))
    (span,) = otel.spans
    assert [event.name for event in span.events] == ["toolbox.change"] * 32 + ["toolbox.failure"] * 32
    assert (_attributes(span)["toolbox.changes"], _attributes(span)["toolbox.failures"]) == (500, 500)
    assert [value for _, value in otel.points("toolbox.changes")] == [500]
    assert [value for _, value in otel.points("toolbox.refusals")] == [1]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(name)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=40) | st.binary(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=10) | st.integers(), inner, max_size=4),
    max_leaves=12,
)


@hypothesis.given(name=st.text(st.characters()), text=st.text(st.characters()), value=_ANYTHING, status=st.sampled_from(CallStatus))
@hypothesis.example(name="\ud800" * 5_000, text="\x00\ud800\n" * 5_000, value=10**5_000, status=CallStatus.UNKNOWN_TOOL)
@hypothesis.settings(max_examples=5_000 if os.environ.get("TOOLBOX_HYPOTHESIS") == "thorough" else 100, deadline=None)
def test_whatever_is_on_record(name: str, text: str, value: Any, status: CallStatus) -> None:
    """Nothing is lost, nothing is unbounded, and every text can be written by an exporter."""
    otel = Telemetry(capture_content=True)
    change = Diagnostic(text, DiagnosticKind.COERCED, Risk.INFO, value, value, text, text)
    record = AuditRecord(
        name,
        text,
        value,
        {text: value},
        (change,),
        (Failure(text, FailureReason.INVALID, text, value, text, text, change),),
        status,
        error=text,
        call_id=text,
        metadata={"model": value, "conversation_id": text, text: value},
    )
    otel.sink.opened(record)
    otel.sink(record)
    otel.sink(record)
    assert (otel.sink.lost, len(otel.spans)) == (0, 2)
    for span in otel.spans:
        words = [
            span.name,
            str(span.status.description),
            *_texts(_attributes(span)),
            *(w for e in span.events for w in _texts(e.attributes)),
        ]
        assert all(len(word.encode()) <= 40_000 for word in words)
        assert all(len(word) <= 8_000 for word in words)
        span.to_json()


# -- what is current while the function runs -----------------------------------------------------------------------------------------


def _tools(otel: Telemetry) -> Registry:
    """Tools that make a span of their own, in every way in which a function is run."""
    registry = _registry(otel)

    def inside(number: int) -> int:
        with otel.tracer.start_as_current_span(f"inside {number}"):
            return number

    async def inside_async(number: int) -> int:
        with otel.tracer.start_as_current_span(f"inside {number} begins"):
            await asyncio.sleep(0)
        with otel.tracer.start_as_current_span(f"inside {number}"):
            return number

    registry.register(inside)
    registry.register(inside_async)
    return registry


@pytest.mark.parametrize("tool", ["inside", "inside_async"])
@pytest.mark.parametrize("timeout_s", [None, 10])
@pytest.mark.parametrize("is_async", [False, True])
def test_the_functions_spans_are_its_children(otel: Telemetry, tool: str, timeout_s: float | None, is_async: bool) -> None:
    """In this thread, in another one, in a task, in a loop of its own: the span of the call is current there."""
    registry = _tools(otel)
    if is_async:
        asyncio.run(registry.adispatch(tool, {"number": 1}, timeout_s=timeout_s))
    else:
        registry.dispatch(tool, {"number": 1}, timeout_s=timeout_s)
    call = otel.span(f"execute_tool {tool}")
    assert _parent(otel.span("inside 1")) == _id(call)
    assert otel.span("inside 1").get_span_context().trace_id == call.get_span_context().trace_id  # type: ignore[union-attr]


def test_nested_calls(otel: Telemetry) -> None:
    """A call that a function makes stands under the call of the function, and afterwards the function's own span is current again."""
    registry = _tools(otel)

    @registry.tool
    def outer(number: int) -> int:
        first: int = registry.dispatch("inside", {"number": number})
        registry.run("inside", {"number": "no"})
        with otel.tracer.start_as_current_span("after"):
            return first

    assert registry.dispatch("outer", {"number": 1}) == 1
    outside = _id(otel.span("execute_tool outer"))
    assert [_parent(span) for span in otel.spans if span.name == "execute_tool inside"] == [outside, outside]
    assert _parent(otel.span("after")) == outside
    assert _parent(otel.span("execute_tool outer")) is None


@pytest.mark.parametrize("is_async", [False, True])
def test_the_calls_of_one_turn(otel: Telemetry, is_async: bool) -> None:
    """Calls that run at the same time do not stand under each other."""
    registry = _tools(otel)
    calls = [toolbox.ToolCall("inside_async", {"number": number}, f"call_{number}") for number in range(20)]
    with otel.tracer.start_as_current_span("turn") as turn:
        results = asyncio.run(registry.arun_calls(calls)) if is_async else registry.run_calls(calls)
    assert [item.value for item in results] == list(range(20))
    by_id = {_id(span): span for span in otel.spans}
    for number in range(20):
        inside = otel.span(f"inside {number}")
        call = by_id[_parent(inside)]  # type: ignore[index]
        assert _attributes(call)["gen_ai.tool.call.id"] == f"call_{number}"
        assert _parent(call) == turn.get_span_context().span_id


@pytest.mark.parametrize("count", [1_000])
def test_many_threads(otel: Telemetry, count: int) -> None:
    """Each call has its span, each span inside stands under its own call, and nothing stays open."""
    registry = _tools(otel)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            results = list(pool.map(lambda n: registry.dispatch("inside", {"number": n}), range(count)))
            left = list(pool.map(lambda _: trace.get_current_span(), range(64)))
    finally:
        sys.setswitchinterval(before)
    assert results == list(range(count))
    assert {item.is_recording() for item in left} == {False}
    _check_pairs(otel, count)


def _check_pairs(otel: Telemetry, count: int) -> None:
    calls = {_id(span): span for span in otel.spans if span.name.startswith("execute_tool")}
    inside = [span for span in otel.spans if span.name.startswith("inside") and "begins" not in span.name]
    assert (len(calls), len(inside), {_parent(span) for span in inside}) == (count, count, set(calls))
    assert {_parent(span) for span in calls.values()} == {None}
    assert sum(value for _, value in otel.points("toolbox.calls")) == count
    assert (otel.sink.lost, otel.sink._open) == (0, {})


@pytest.mark.parametrize("tool", ["inside", "inside_async"])
def test_many_tasks(otel: Telemetry, tool: str) -> None:
    """The same in one event loop."""
    registry = _tools(otel)

    async def main() -> list[int]:
        results = await asyncio.gather(*(registry.adispatch(tool, {"number": n}) for n in range(1_000)))
        assert not trace.get_current_span().is_recording()
        return list(results)

    assert asyncio.run(main()) == list(range(1_000))
    _check_pairs(otel, 1_000)


@pytest.mark.parametrize("steps", range(8))
def test_cancelled_at_any_step(otel: Telemetry, steps: int) -> None:
    """Wherever a task is cancelled: its span has ended, and what was current before is current again."""
    registry = _tools(otel)
    registry.register(asleep)
    seen: list[bool] = []

    async def caller() -> None:
        with otel.tracer.start_as_current_span("around") as around:
            try:
                await registry.adispatch("asleep", {"number": 1})
            finally:
                seen.append(trace.get_current_span() is around)

    async def main() -> None:
        task = asyncio.create_task(caller())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == [True] * (steps > 0)
    outcomes = [_attributes(span)["toolbox.outcome"] for span in otel.spans if span.name == "execute_tool asleep"]
    assert outcomes == ["cancelled"] * (steps > 0)
    assert (otel.sink.lost, otel.sink._open) == (0, {})


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, MemoryError])
def test_whatever_the_function_raises(otel: Telemetry, error: type[BaseException]) -> None:
    """Also what is no Exception ends the span and leaves nothing current."""
    registry = _registry(otel)

    @registry.tool
    def stop() -> None:
        raise error

    with pytest.raises((error, ToolExecutionError)):
        registry.dispatch("stop", {})
    assert otel.span("execute_tool stop").status.status_code is StatusCode.ERROR
    assert not trace.get_current_span().is_recording()


def test_a_function_that_leaves_a_span_current(otel: Telemetry) -> None:
    """What the function has forgotten to take back is taken back with the call."""
    registry = _registry(otel)

    @registry.tool
    def careless() -> None:
        context.attach(trace.set_span_in_context(otel.tracer.start_span("forgotten")))

    with otel.tracer.start_as_current_span("around") as around:
        registry.dispatch("careless", {})
        assert trace.get_current_span() is around


def test_what_else_is_in_the_context_is_kept(otel: Telemetry) -> None:
    """Baggage and the like reach the function, and are there afterwards."""
    registry = _registry(otel)
    seen = []

    @registry.tool
    def look() -> None:
        seen.append(context.get_value("mine"))

    before = context.get_current()
    context.attach(context.set_value("mine", 17))
    try:
        registry.dispatch("look", {})
        assert (seen, context.get_value("mine")) == ([17], 17)
    finally:
        context.attach(before)


# -- calls that are not opened and closed one after the other ------------------------------------------------------------------------


@pytest.fixture
def no_complaints(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """OpenTelemetry itself has nothing to complain about: no detached context, no span ended twice."""
    caplog.set_level(logging.WARNING)
    yield
    assert [line.getMessage() for line in caplog.records if line.name.startswith("opentelemetry")] == []


def _running(name: str = "t") -> AuditRecord:
    return AuditRecord(name, "p", {}, {})


def _done(record: AuditRecord) -> AuditRecord:
    record.status = CallStatus.DONE
    return record


@pytest.mark.usefixtures("no_complaints")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("is_shared", [False, True])
def test_two_sinks_at_once(otel: Telemetry, order: tuple[int, int], is_shared: bool) -> None:
    """In whatever order they are closed, what was current before is current again, and the next call stands beside the first."""
    other = otel if is_shared else Telemetry()
    sinks = (otel.sink, OpenTelemetrySink(tracer_provider=other.provider, meter_provider=other.meters))
    with otel.tracer.start_as_current_span("around") as around:
        for _ in range(3):
            record = _running()
            for sink in sinks:
                sink.opened(record)
            for place in order:
                sinks[place](_done(record))
            assert trace.get_current_span() is around
    outermost = [span for span in otel.spans if _parent(span) == around.get_span_context().span_id]
    assert len(outermost) == 3


@pytest.mark.usefixtures("no_complaints")
def test_two_sinks_of_one_registry(otel: Telemetry) -> None:
    """The same with real calls: both see each call, once."""
    other = Telemetry()
    registry = _registry(otel, other)
    for number in range(3):
        registry.dispatch("double", {"number": number})
        asyncio.run(registry.adispatch("double", {"number": number}))
    assert (len(otel.spans), len(other.spans)) == (6, 6)
    assert {_parent(span) for span in otel.spans} == {None}


@pytest.mark.usefixtures("no_complaints")
def test_calls_that_overlap_in_one_context(otel: Telemetry) -> None:
    """Coroutines that are driven by hand: the first ends before the second, and then nothing is left current."""
    first, second, third = _running("1"), _running("2"), _running("3")
    for record in (first, second, third):
        otel.sink.opened(record)
    for record in (first, third, second):
        otel.sink(_done(record))
    assert not trace.get_current_span().is_recording()
    with otel.tracer.start_as_current_span("after"):
        pass
    assert _parent(otel.span("after")) is None


@pytest.mark.usefixtures("no_complaints")
def test_closed_in_another_context(otel: Telemetry) -> None:
    """What is current where a call is closed, and not where it was opened, is left alone."""
    record = _running()
    contextvars.copy_context().run(otel.sink.opened, record)
    call = otel.sink._open[record.id]
    with otel.tracer.start_as_current_span("around") as around:
        otel.sink(_done(record))
        assert trace.get_current_span() is around
    assert call.before is None, "whoever still holds its context would hold all that came before it"
    assert [span.name for span in otel.spans] == ["execute_tool t", "around"]


@pytest.mark.usefixtures("no_complaints")
def test_closed_in_another_thread(otel: Telemetry) -> None:
    """The span ends where the call is closed, whichever thread that is."""
    record = _running()
    thread = threading.Thread(target=contextvars.Context().run, args=(otel.sink.opened, record))
    thread.start()
    thread.join()
    otel.sink(_done(record))
    assert [_attributes(span)["toolbox.outcome"] for span in otel.spans] == ["done"]


@pytest.mark.usefixtures("no_complaints")
def test_a_coroutine_that_is_thrown_away(otel: Telemetry) -> None:
    """A call whose coroutine is closed without being awaited to its end is closed, without a complaint."""
    registry = _registry(otel)

    class Never:
        def __await__(self) -> Generator[None, None, None]:
            yield

    @registry.tool
    async def wait() -> None:
        await Never()

    walk = registry.adispatch("wait", {})
    contextvars.copy_context().run(walk.send, None)
    with otel.tracer.start_as_current_span("around") as around:
        with contextlib.suppress(ToolExecutionError):
            walk.close()
        assert trace.get_current_span() is around
    assert [span.name for span in otel.spans] == ["execute_tool wait", "around"]
    assert otel.sink._open == {}


@pytest.mark.usefixtures("no_complaints")
def test_what_runs_on_after_its_time(otel: Telemetry) -> None:
    """A function whose caller has given up makes its spans under its call all the same, and so do the calls that it makes."""
    registry = _tools(otel)
    is_over, may_go, seen = threading.Event(), threading.Event(), []

    @registry.tool(timeout_s=0.01)
    def late() -> None:
        may_go.wait()
        registry.dispatch("inside", {"number": 1})
        seen.append(trace.get_current_span().get_span_context().span_id)
        is_over.set()

    with otel.tracer.start_as_current_span("around") as around:
        assert not registry.run("late", {}).ok
        assert trace.get_current_span() is around
    may_go.set()
    assert is_over.wait(10)
    call = _id(otel.span("execute_tool late"))
    assert _parent(otel.span("execute_tool inside")) == call
    assert seen == [call]


@pytest.mark.usefixtures("no_complaints")
@pytest.mark.parametrize("place", [0, 1])
def test_cancelled_while_another_sink_waits(otel: Telemetry, place: int) -> None:
    """Both sinks have the record, whichever comes first, and what was current is current again."""
    kept, is_waiting, may_go, is_written = MemorySink(), threading.Event(), threading.Event(), threading.Event()

    class Slow:
        blocking = True

        def __call__(self, record: AuditRecord) -> None:
            is_waiting.set()
            may_go.wait()
            kept(record)
            is_written.set()

    sinks: list[Any] = [Slow()]
    sinks.insert(place, otel.sink)
    registry = _registry(*sinks)
    seen: list[bool] = []

    async def caller() -> None:
        with otel.tracer.start_as_current_span("around") as around:
            try:
                await registry.adispatch("double", {"number": 1})
            finally:
                seen.append(trace.get_current_span() is around)

    async def main() -> None:
        task = asyncio.create_task(caller())
        await asyncio.to_thread(is_waiting.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_go.set()
        await asyncio.to_thread(is_written.wait)

    asyncio.run(main())
    assert seen == [True]
    assert [_attributes(span)["toolbox.outcome"] for span in otel.spans if "double" in span.name] == ["done"]
    assert [item.status for item in kept.records] == ["done"]
    assert otel.sink._open == {}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_sink_that_is_removed_while_a_call_runs(otel: Telemetry, is_async: bool) -> None:
    """It gets the end of what it has seen begin, and nothing that comes after."""
    other = Telemetry()
    registry = _registry(otel, other)

    @registry.tool
    def remove() -> None:
        registry.remove_sink(otel.sink)
        registry.dispatch("double", {"number": 1})

    if is_async:
        asyncio.run(registry.adispatch("remove", {}))
    else:
        registry.dispatch("remove", {})
    assert [(span.name, _attributes(span)["toolbox.outcome"]) for span in otel.spans] == [("execute_tool remove", "done")]
    assert len(other.spans) == 2
    assert not trace.get_current_span().is_recording()


def test_a_sink_that_is_added_while_a_call_runs(otel: Telemetry) -> None:
    """It makes the span of the call from the record."""
    registry = _registry()

    @registry.tool
    def add() -> None:
        registry.add_sink(otel.sink)

    registry.dispatch("add", {})
    assert [(span.name, _attributes(span)["toolbox.outcome"]) for span in otel.spans] == [("execute_tool add", "done")]


def test_calls_that_are_never_closed(monkeypatch: pytest.MonkeyPatch, otel: Telemetry) -> None:
    """They are bounded: the oldest is ended as unknown, and what follows no longer stands under it."""
    monkeypatch.setattr(telemetry, "OPEN_LIMIT", 3)
    records = [_running(str(number)) for number in range(6)]

    def never_closed() -> None:
        for record in records:
            otel.sink.opened(record)

    contextvars.copy_context().run(never_closed)
    assert [(span.name, _attributes(span)["error.type"]) for span in otel.spans] == [
        (f"execute_tool {number}", "unknown") for number in range(3)
    ]
    assert len(otel.sink._open) == 3
    for record in records[3:]:
        otel.sink(_done(record))
    assert otel.sink._open == {}


def test_a_forgotten_call_is_no_parent_for_ever(monkeypatch: pytest.MonkeyPatch, otel: Telemetry) -> None:
    """Once it was given up, the calls that follow in its context stand beside it."""
    monkeypatch.setattr(telemetry, "OPEN_LIMIT", 1)
    forgotten, others = _running("forgotten"), [_running(f"other {number}") for number in range(3)]
    otel.sink.opened(forgotten)
    for record in others:
        otel.sink.opened(record)
        otel.sink(_done(record))
    assert [_parent(otel.span(f"execute_tool other {number}")) is None for number in range(3)] == [False, True, True]
    assert not trace.get_current_span().is_recording()


def test_a_forgotten_call_elsewhere(monkeypatch: pytest.MonkeyPatch, otel: Telemetry) -> None:
    """The same where nothing was closed since: what stands under a call that was given up is left, too."""
    monkeypatch.setattr(telemetry, "OPEN_LIMIT", 1)
    elsewhere, forgotten, other, late = contextvars.copy_context(), _running("forgotten"), _running("other"), _running("late")
    elsewhere.run(otel.sink.opened, forgotten)
    otel.sink.opened(other)
    otel.sink(_done(other))
    elsewhere.run(otel.sink.opened, late)
    elsewhere.run(otel.sink, _done(late))
    assert _parent(otel.span("execute_tool late")) is None
    assert elsewhere.run(trace.get_current_span) is trace.get_current_span()


def test_the_same_record_opened_twice(otel: Telemetry) -> None:
    """Both spans end."""
    record = _running()
    otel.sink.opened(record)
    otel.sink.opened(record)
    otel.sink(_done(record))
    assert [_attributes(span).get("error.type") for span in otel.spans] == ["unknown", None]
    assert otel.sink._open == {}


def test_nothing_is_held_of_what_has_ended(otel: Telemetry) -> None:
    """Tasks that are each made within a call of the one before do not hold the chain of their ancestors."""
    registry = _registry(otel)
    tasks: list[asyncio.Task[Any]] = []
    held: list[int] = []

    async def next_one(left: int, is_over: asyncio.Event) -> None:
        await registry.adispatch("spawn", {"left": left}, context={asyncio.Event: is_over})
        if not left:
            gc.collect()
            # By its type alone: among all objects there may be some of other tests' whose __class__ raises.
            held.append(sum(type(item) is telemetry._OpenCall for item in gc.get_objects()))
            is_over.set()

    @registry.tool
    async def spawn(left: int, is_over: Injected[asyncio.Event]) -> None:
        if left:
            tasks[:] = [asyncio.create_task(next_one(left - 1, is_over))]

    async def main() -> None:
        is_over = asyncio.Event()
        await next_one(200, is_over)
        await is_over.wait()

    asyncio.run(main())
    assert len(otel.spans) == 201
    assert held[0] <= 5


# -- metrics -------------------------------------------------------------------------------------------------------------------------


def test_the_metrics_of_calls(otel: Telemetry) -> None:
    """Duration of what ran, calls by outcome, changes by kind and risk, refusals by reason; the model where it is known."""
    registry = _registry(otel)
    registry.register(boom)
    for arguments in ({"number": 1}, {"number": "1"}, {"number": "1e3"}, {"number": "x"}, {}):
        registry.run("double", arguments, metadata={"model": "small-1"})
    registry.run("double", {"number": [1, 2], "zzzz": 1})
    registry.run("boom", {"number": 1})
    registry.run("nope", {"number": 1})
    small = {"gen_ai.tool.name": "double", "gen_ai.request.model": "small-1"}
    assert otel.points("gen_ai.execute_tool.duration") == [
        ({"gen_ai.tool.name": "double", "gen_ai.tool.type": "function"}, 3),
        ({"gen_ai.tool.name": "boom", "gen_ai.tool.type": "function", "error.type": "failed"}, 1),
    ]
    assert otel.points("toolbox.calls") == [
        ({**small, "toolbox.outcome": "done"}, 3),
        ({**small, "toolbox.outcome": "refused"}, 2),
        ({"gen_ai.tool.name": "double", "toolbox.outcome": "refused"}, 1),
        ({"gen_ai.tool.name": "boom", "toolbox.outcome": "failed"}, 1),
        ({"gen_ai.tool.name": "_OTHER", "toolbox.outcome": "unknown_tool"}, 1),
    ]
    changes = otel.points("toolbox.changes")
    assert ({**small, "toolbox.change.kind": "coerced", "toolbox.change.risk": "info"}, 1) in changes
    assert ({**small, "toolbox.change.kind": "coerced", "toolbox.change.risk": "warning"}, 1) in changes
    refusals = otel.points("toolbox.refusals")
    assert ({**small, "toolbox.failure.reason": "invalid"}, 1) in refusals
    assert ({**small, "toolbox.failure.reason": "missing"}, 1) in refusals
    assert ({"gen_ai.tool.name": "_OTHER", "toolbox.failure.reason": "unknown_tool"}, 1) in refusals


def test_the_histogram_is_that_of_the_conventions(otel: Telemetry) -> None:
    """Unit, boundaries, and a value that is the duration of the span."""
    _registry(otel).dispatch("double", {"number": 1})
    data = otel.reader.get_metrics_data()
    assert data is not None
    (metric,) = [item for item in data.resource_metrics[0].scope_metrics[0].metrics if item.name == "gen_ai.execute_tool.duration"]
    (point,) = metric.data.data_points
    assert isinstance(point, HistogramDataPoint)
    assert (metric.unit, point.count) == ("s", 1)
    assert list(point.explicit_bounds) == [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
    (span,) = otel.spans
    assert point.sum == pytest.approx((span.end_time - span.start_time) / 1e9, abs=1e-8)  # type: ignore[operator]
    assert point.exemplars[0].span_id == _id(span)


def test_a_reason_counts_once_a_call(otel: Telemetry) -> None:
    """However many arguments are wrong for the same reason."""
    failures = tuple(Failure(f"$.a[{n}]", FailureReason.INVALID if n else FailureReason.MISSING, "x") for n in range(9))
    otel.sink(AuditRecord("t", "p", {}, failures=failures, status=CallStatus.REFUSED))
    otel.sink(AuditRecord("t", "p", {}, status=CallStatus.REFUSED))
    otel.sink(AuditRecord("t", "p", {}, status=CallStatus.PENDING))
    otel.sink(AuditRecord("t", "p", {}, status=CallStatus.DONE))
    counted = {attributes["toolbox.failure.reason"]: value for attributes, value in otel.points("toolbox.refusals")}
    assert counted == {"invalid": 1, "missing": 1, "_OTHER": 1}


def test_no_text_of_a_model_makes_a_metric(otel: Telemetry) -> None:
    """However many names of tools a model makes up, they are one series."""
    registry = _registry(otel)
    for number in range(300):
        registry.run(f"made up {number}", {})
    assert otel.points("toolbox.calls") == [({"gen_ai.tool.name": "_OTHER", "toolbox.outcome": "unknown_tool"}, 300)]
    assert len({span.name for span in otel.spans}) == 1


def test_names_without_end(otel: Telemetry) -> None:
    """Also the application's own names are counted one by one only so far."""
    for number in range(600):
        otel.sink(AuditRecord(f"t{number}", "p", {}, status=CallStatus.DONE, metadata={"model": f"m{number}"}))
    points = otel.points("toolbox.calls")
    assert len({attributes["gen_ai.tool.name"] for attributes, _ in points}) == 501
    assert len({attributes["gen_ai.request.model"] for attributes, _ in points}) == 51
    assert sum(value for _, value in points) == 600
    for strange in (7, "", None, ["m"], {"m": 1}):
        otel.sink(AuditRecord("t0", "p", {}, status=CallStatus.DONE, metadata={"model": strange}))
    assert ({"gen_ai.tool.name": "t0", "toolbox.outcome": "done"}, 5) in otel.points("toolbox.calls")


# -- what fails here touches nothing -------------------------------------------------------------------------------------------------


class _BreaksAtStart(SpanProcessor):
    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise RuntimeError("broken processor")


class _BreaksAtEnd(SpanProcessor):
    def on_end(self, span: Any) -> None:
        raise RuntimeError("broken processor")


class _BreaksSampling(Sampler):
    def should_sample(self, *arguments: Any, **options: Any) -> Any:
        raise RuntimeError("broken sampler")

    def get_description(self) -> str:
        return "broken"


@pytest.mark.parametrize("options", [{"processors": [_BreaksAtStart()]}, {"processors": [_BreaksAtEnd()]}, {"sampler": _BreaksSampling()}])
def test_a_broken_set_up_touches_no_call(options: dict[str, Any]) -> None:
    """The call has its result, its measurements are taken, nothing stays current, and each loss is counted."""
    otel = Telemetry(**options)
    registry = _registry(otel)
    registry.register(boom)
    assert registry.dispatch("double", {"number": "2"}) == 4
    assert asyncio.run(registry.adispatch("double", {"number": "2"})) == 4
    with pytest.raises(ToolExecutionError, match="ValueError"):
        registry.dispatch("boom", {"number": 2})
    assert not registry.run("nope", {}).ok
    assert otel.sink.lost >= 4
    assert registry.lost_records == 0
    assert sum(value for _, value in otel.points("toolbox.calls")) == 4
    assert not trace.get_current_span().is_recording()
    assert otel.sink._open == {}


def test_broken_metrics_touch_no_call(otel: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """The span is there, and the loss is counted."""

    class Broken:
        def add(self, *arguments: Any) -> None:
            raise RuntimeError("broken counter")

    monkeypatch.setattr(otel.sink, "_calls", Broken())
    registry = _registry(otel)
    assert registry.dispatch("double", {"number": 2}) == 4
    assert (len(otel.spans), otel.sink.lost) == (1, 1)


def test_a_description_that_fails() -> None:
    """The span is made without it."""
    otel = Telemetry(describe=lambda name: {}[name])
    _registry(otel).dispatch("double", {"number": 2})
    assert "gen_ai.tool.description" not in _attributes(otel.spans[0])
    assert otel.sink.lost == 0


def test_a_tool_that_does_not_exist_has_no_description() -> None:
    """The application is not asked for names that a model made up."""
    asked: list[str] = []
    otel = Telemetry(describe=asked.append)
    registry = _registry(otel)
    registry.run("nope", {})
    registry.run("double", {"number": 1})
    assert asked == ["double"]


def test_a_span_that_is_not_sampled() -> None:
    """It costs no events, is still what is current for the function, and the metrics are complete."""
    otel = Telemetry(sampler=ALWAYS_OFF)
    registry = _registry(otel)
    seen = []

    @registry.tool
    def look() -> None:
        seen.append(trace.get_current_span().get_span_context().is_valid)

    registry.dispatch("look", {})
    registry.run("double", {"number": "x"})
    assert (otel.spans, seen) == ([], [True])
    assert sum(value for _, value in otel.points("toolbox.calls")) == 2
    assert not trace.get_current_span().get_span_context().is_valid


# -- with and without the package ----------------------------------------------------------------------------------------------------


def _python(code: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.strip()


def test_without_the_extra() -> None:
    """Everything can be named, and only making a sink says what to install."""
    code = """
import sys
sys.modules["opentelemetry"] = None
from toolbox import *
Registry()
try:
    OpenTelemetrySink()
except ImportError as error:
    print(error)
"""
    assert _python(code) == 'OpenTelemetrySink needs opentelemetry-api: pip install "toolbox-dispatch[otel]"'


def test_not_loaded_unless_used() -> None:
    """A program without the sink does not pay for it."""
    code = """
import sys
from toolbox import MemorySink, Registry
registry = Registry(sinks=[MemorySink()])
@registry.tool
def double(number: int) -> int:
    return number * 2
registry.run("double", {"number": 1})
print("opentelemetry" in sys.modules, "toolbox.audit.telemetry" in sys.modules)
"""
    assert _python(code) == "False False"


def test_the_global_providers() -> None:
    """A sink that is given none takes the application's, also when they are set after it was made; without any it does nothing."""
    code = """
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from toolbox import OpenTelemetrySink, Registry
sink = OpenTelemetrySink()
registry = Registry(sinks=[sink])
@registry.tool
def double(number: int) -> int:
    return number * 2
registry.run("double", {"number": "2"})
exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))
registry.run("double", {"number": "2"})
print([span.name for span in exporter.get_finished_spans()], sink.lost)
print(sorted(item.name for item in reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics))
"""
    assert _python(code).splitlines() == [
        "['execute_tool double'] 0",
        "['gen_ai.execute_tool.duration', 'toolbox.calls', 'toolbox.changes']",
    ]
