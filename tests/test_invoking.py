"""Running a tool's function: time limits, threads, loops, context, and who an exception belongs to."""

import asyncio
import concurrent.futures
import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from toolbox import CallStatus, MemorySink, Registry, ToolExecutionError, ToolResult, ToolTimeout
from toolbox.invoking import ABANDONED_LIMIT, abandoned, finished, invoke, propagates

SOON = 0.05
"""A time limit that is over before anything blocked in these tests goes on."""
SLACK = 0.6
"""What a caller may be late: 0.1 s is promised, the rest is for a busy machine."""
LONG = 20.0


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds back tools that block, and lets them all go at the end of the test; then no thread is left behind."""
    event = threading.Event()
    yield event
    event.set()
    _until(lambda: abandoned() == 0)


def _until(holds: Callable[[], bool]) -> None:
    """Wait for a thread that is on its way, at most some seconds."""
    pause, deadline = threading.Event(), time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        pause.wait(0.002)


def _registry(*functions: Callable[..., Any]) -> tuple[Registry, MemorySink]:
    sink = MemorySink()
    registry = Registry(sinks=[sink])
    for function in functions:
        registry.register(function)
    return registry, sink


def _sync(registry: Registry, name: str, arguments: Any, **options: Any) -> ToolResult:
    return registry.run(name, arguments, **options)


def _async(registry: Registry, name: str, arguments: Any, **options: Any) -> ToolResult:
    return asyncio.run(registry.arun(name, arguments, **options))


def _sync_in_a_loop(registry: Registry, name: str, arguments: Any, **options: Any) -> ToolResult:
    async def main() -> ToolResult:
        return registry.run(name, arguments, **options)

    return asyncio.run(main())


WAYS = [_sync, _async, _sync_in_a_loop]
way = pytest.mark.parametrize("way", WAYS)


# -- time limits ---------------------------------------------------------------------------------------------------------------------


@way
def test_a_sync_tool_that_is_late(way: Any, gate: threading.Event) -> None:
    """The caller is back at the deadline; the thread is counted until it ends, and its late result is nobody's."""

    def late(a: int) -> int:
        gate.wait(LONG)
        return a

    registry, sink = _registry(late)
    started = time.monotonic()
    result = way(registry, "late", {"a": 1}, timeout_s=SOON)
    assert time.monotonic() - started < SOON + SLACK
    assert isinstance(result.error, ToolTimeout)
    assert isinstance(result.error, TimeoutError)
    assert (result.error.tool, result.error.timeout_s, result.value) == ("late", SOON, None)
    assert result.report is not None
    assert abandoned() == 1
    assert [(record.status, record.invoked) for record in sink.records] == [(CallStatus.TIMEOUT, {"a": 1})]
    gate.set()
    _until(lambda: abandoned() == 0)
    assert len(sink) == 1
    assert (result.ok, result.value) == (False, None)


@way
def test_an_async_tool_that_is_late(way: Any) -> None:
    """It is cancelled, so that nothing is left running."""
    ended = threading.Event()

    async def late(a: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    registry, sink = _registry(late)
    started = time.monotonic()
    result = way(registry, "late", {"a": 1}, timeout_s=SOON)
    assert time.monotonic() - started < SOON + SLACK
    assert isinstance(result.error, ToolTimeout)
    assert sink.records[0].status is CallStatus.TIMEOUT
    assert ended.wait(LONG)
    _until(lambda: abandoned() == 0)


def test_many_late_async_tools_leave_no_thread() -> None:
    """Asynchronous tools that hang, called from synchronous code, are stopped: the limit of abandoned threads is not reached."""

    async def late(a: int) -> None:
        await asyncio.Event().wait()

    registry, _ = _registry(late)
    for number in range(ABANDONED_LIMIT + 5):
        assert isinstance(registry.run("late", {"a": number}, timeout_s=0.001).error, ToolTimeout)
        _until(lambda: abandoned() == 0)


async def _slow_cleanup(a: int) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(1)


async def _stubborn(a: int) -> str:
    for _ in range(2):
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            continue
    return "late"


async def _busy_cleanup(a: int) -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise RuntimeError("broken clean-up") from None


@pytest.mark.parametrize("tool", [_slow_cleanup, _stubborn, _busy_cleanup])
def test_clean_up_does_not_hold_the_caller(tool: Callable[..., Any]) -> None:
    """A slow clean-up, a swallowed cancellation or a broken one: the caller is back in time, and it was a timeout."""
    registry, sink = _registry(tool)

    async def main() -> tuple[float, ToolResult]:
        started = time.monotonic()
        result = await registry.arun(tool.__name__, {"a": 1}, timeout_s=SOON)
        taken = time.monotonic() - started
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        return taken, result

    taken, result = asyncio.run(main())
    assert taken < SOON + SLACK
    assert isinstance(result.error, ToolTimeout)
    assert [record.status for record in sink.records] == [CallStatus.TIMEOUT]
    started = time.monotonic()
    assert isinstance(registry.run(tool.__name__, {"a": 1}, timeout_s=SOON).error, ToolTimeout)
    assert time.monotonic() - started < SOON + SLACK
    _until(lambda: abandoned() == 0)


def test_many_late_calls_at_once(gate: threading.Event) -> None:
    """Each of many calls from one loop is back at its own deadline, and does not wait for a thread to be free."""

    def late(a: int) -> None:
        gate.wait(LONG)

    registry, _ = _registry(late)

    async def main() -> list[ToolResult]:
        return await asyncio.gather(*(registry.arun("late", {"a": n}, timeout_s=0.2) for n in range(30)))

    started = time.monotonic()
    results = asyncio.run(main())
    assert time.monotonic() - started < 0.2 + SLACK
    assert {type(item.error) for item in results} == {ToolTimeout}


@way
def test_abandoned_threads_are_capped(way: Any, gate: threading.Event) -> None:
    """With too many threads left behind no further one is started, and the error says why; calls without a limit still run."""
    ran = []

    def late(a: int) -> None:
        gate.wait(LONG)

    def quick(a: int) -> int:
        ran.append(a)
        return a

    registry, sink = _registry(late, quick)
    for number in range(ABANDONED_LIMIT):
        assert isinstance(registry.run("late", {"a": number}, timeout_s=0.0001).error, ToolTimeout)
    assert abandoned() == ABANDONED_LIMIT
    result = way(registry, "quick", {"a": 1}, timeout_s=LONG)
    assert isinstance(result.error, ToolExecutionError)
    assert "was not run: 32 calls that timed out earlier are still running" in str(result.error)
    assert (ran, sink.records[-1].status, sink.records[-1].invoked) == ([], CallStatus.REFUSED, None)
    assert way(registry, "quick", {"a": 2}).ok
    gate.set()
    _until(lambda: abandoned() == 0)
    assert way(registry, "quick", {"a": 3}, timeout_s=LONG).value == 3


def test_running_calls_are_not_abandoned_ones(gate: threading.Event) -> None:
    """More calls at once than the cap are fine, as long as none of them is late."""
    count = ABANDONED_LIMIT + 8
    all_running = threading.Barrier(count)

    def meet(a: int) -> int:
        all_running.wait(LONG)
        return a

    registry, _ = _registry(meet)
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        results = list(pool.map(lambda n: registry.run("meet", {"a": n}, timeout_s=LONG), range(count)))
    assert [item.value for item in results] == list(range(count))


@way
@pytest.mark.parametrize("timeout_s", [0, -1, -0.0])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_deadline_that_is_past(way: Any, timeout_s: float, kind: str) -> None:
    """The function is not started."""
    ran = []

    def plain(a: int) -> None:
        ran.append(a)

    async def coroutine(a: int) -> None:
        ran.append(a)

    registry = Registry()
    registry.register(plain if kind == "sync" else coroutine, name="t")
    result = way(registry, "t", {"a": 1}, timeout_s=timeout_s)
    assert isinstance(result.error, ToolTimeout)
    assert not ran


@way
@pytest.mark.parametrize("timeout_s", [5, 1e10, float("inf")])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_deadline_that_is_far(way: Any, timeout_s: float, kind: str) -> None:
    """However long the limit, a call that is in time is a plain call."""

    def plain(a: int) -> int:
        return a

    async def coroutine(a: int) -> int:
        return a

    registry = Registry()
    registry.register(plain if kind == "sync" else coroutine, name="t")
    assert way(registry, "t", {"a": 1}, timeout_s=timeout_s).value == 1


def test_the_limit_of_the_call_goes_before_the_tools(gate: threading.Event) -> None:
    """A tool has a limit of its own, and a call may have another."""

    def late(a: int) -> int:
        gate.wait(LONG)
        return a

    registry = Registry()
    registry.register(late, timeout_s=SOON)
    with pytest.raises(ToolTimeout, match=r"did not finish within 0\.05 s"):
        registry.dispatch("late", {"a": 1})
    gate.set()
    assert registry.dispatch("late", {"a": 1}, timeout_s=LONG) == 1


def test_a_sync_wrapper_shares_one_limit(gate: threading.Event) -> None:
    """What a function returns to be awaited has the rest of the time, and no more."""

    def start(a: int) -> Any:
        async def rest() -> None:
            await asyncio.Event().wait()

        return rest()

    registry, sink = _registry(start)
    started = time.monotonic()
    assert isinstance(_async(registry, "start", {"a": 1}, timeout_s=SOON).error, ToolTimeout)
    assert isinstance(_sync(registry, "start", {"a": 1}, timeout_s=SOON).error, ToolTimeout)
    assert time.monotonic() - started < 2 * (SOON + SLACK)
    assert [record.status for record in sink.records] == [CallStatus.TIMEOUT] * 2


@way
@pytest.mark.parametrize("timeout_s", [None, LONG])
def test_the_tools_own_timeout_error(way: Any, timeout_s: float | None) -> None:
    """A TimeoutError or a ToolTimeout that the function raises itself is its own failure, even under the same name."""

    def inner(a: int) -> None:
        raise TimeoutError("inner")

    def nested(a: int) -> None:
        raise ToolTimeout("nested", 3)

    registry, sink = _registry(inner, nested)
    for name in ("inner", "nested"):
        result = way(registry, name, {"a": 1}, timeout_s=timeout_s)
        assert type(result.error) is ToolExecutionError
        assert isinstance(result.error.__cause__, TimeoutError)
    assert [record.status for record in sink.records] == [CallStatus.FAILED] * 2


# -- threads and loops ---------------------------------------------------------------------------------------------------------------


def test_an_async_tool_in_a_running_loop() -> None:
    """From synchronous code inside a loop an asynchronous tool gets a loop of its own."""
    loops = []

    async def where(a: int) -> int:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return a

    registry, _ = _registry(where)

    async def main() -> None:
        mine = asyncio.get_running_loop()
        assert registry.dispatch("where", {"a": 1}) == 1
        assert await registry.adispatch("where", {"a": 2}) == 2
        assert loops[0] is not mine
        assert loops[1] is mine

    asyncio.run(main())


@pytest.mark.parametrize("timeout_s", [None, LONG])
def test_a_sync_tool_does_not_block_the_loop(timeout_s: float | None) -> None:
    """While it runs, other tasks of the loop go on: here one of them is what lets it end."""
    let_go = threading.Event()

    def wait(a: int) -> bool:
        return let_go.wait(LONG)

    registry, _ = _registry(wait)

    async def release() -> None:
        await asyncio.sleep(0)
        let_go.set()

    async def main() -> Any:
        value, _ = await asyncio.gather(registry.adispatch("wait", {"a": 1}, timeout_s=timeout_s), release())
        return value

    assert asyncio.run(main()) is True


speaker: contextvars.ContextVar[str] = contextvars.ContextVar("speaker", default="nobody")


@way
@pytest.mark.parametrize("timeout_s", [None, LONG])
@pytest.mark.parametrize("kind", ["sync", "async", "wrapped"])
def test_context_variables_reach_the_tool(way: Any, timeout_s: float | None, kind: str) -> None:
    """Whatever thread or loop a tool runs in, it sees the caller's context."""

    def plain(a: int) -> str:
        return speaker.get()

    async def coroutine(a: int) -> str:
        return speaker.get()

    def wrapped(a: int) -> Any:
        return coroutine(a)

    registry = Registry()
    registry.register({"sync": plain, "async": coroutine, "wrapped": wrapped}[kind], name="t")
    token = speaker.set("me")
    try:
        assert way(registry, "t", {"a": 1}, timeout_s=timeout_s).value == "me"
    finally:
        speaker.reset(token)


class _MadeUp:
    """Has every attribute that it is asked for, or none."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        if self.error is not None:
            raise self.error
        return lambda: None


class _HasAwait:
    def __await__(self) -> Any:
        yield


VALUES = {"any": _MadeUp(None), "raises": _MadeUp(RuntimeError("no")), "class": _HasAwait, "error": ValueError("a result")}
VALUES |= {"zero": 0, "empty": "", "list": [], "none": None, "false": False}


@way
@pytest.mark.parametrize("case", VALUES)
def test_a_value_is_a_value(way: Any, case: str) -> None:
    """What is returned is the result: falsy ones, exceptions, classes, and objects that make attributes up."""

    def give(a: int) -> Any:
        return VALUES[case]

    registry, _ = _registry(give)
    result = way(registry, "give", {"a": 1})
    assert result.ok
    assert result.value is VALUES[case]


def test_finished_takes_any_value() -> None:
    """A value that is there is given back; one that has to be awaited is awaited."""

    async def later() -> int:
        return 3

    assert (finished(2), finished(None), finished(later())) == (2, None, 3)


# -- cancellation and interrupts -------------------------------------------------------------------------------------------------------


class CancelledError(Exception):
    """A tool's own class that is called like asyncio's."""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyboardInterrupt(), True),
        (asyncio.CancelledError(), True),
        (concurrent.futures.CancelledError(), False),
        (CancelledError(), False),
        (SystemExit(), False),
        (GeneratorExit(), False),
        (TimeoutError(), False),
    ],
)
def test_which_exceptions_are_the_callers(error: BaseException, expected: bool) -> None:
    """An interrupt and a cancellation are; whatever else is raised, or only called so, is the tool's."""
    assert propagates(error) is expected


@pytest.mark.parametrize("timeout_s", [None, LONG])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_cancelled_call(timeout_s: float | None, kind: str) -> None:
    """The cancellation goes to the caller, the record says so, and no task is left."""
    entered, let_go = threading.Event(), threading.Event()

    def plain(a: int) -> None:
        entered.set()
        let_go.wait(LONG)

    async def coroutine(a: int) -> None:
        entered.set()
        await asyncio.Event().wait()

    sink = MemorySink()
    registry = Registry(sinks=[sink])
    registry.register(plain if kind == "sync" else coroutine, name="t")

    async def main() -> set[Any]:
        task = asyncio.ensure_future(registry.arun("t", {"a": 1}, timeout_s=timeout_s))
        await asyncio.to_thread(entered.wait, LONG)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        left = asyncio.all_tasks() - {asyncio.current_task()}
        let_go.set()
        return left

    assert asyncio.run(main()) == set()
    assert [(record.status, record.error) for record in sink.records] == [(CallStatus.CANCELLED, "CancelledError")]
    _until(lambda: abandoned() == 0)


@pytest.mark.parametrize("steps", range(12))
def test_cancelled_at_any_step(steps: int) -> None:
    """Wherever a call stands when it is cancelled, it has at most one record, and that one is closed."""
    sink = MemorySink()
    registry = Registry(sinks=[sink])

    async def step(a: int) -> int:
        for _ in range(6):
            await asyncio.sleep(0)
        return a

    registry.register(step)

    async def main() -> None:
        task = asyncio.ensure_future(registry.arun("step", {"a": 1}, timeout_s=LONG))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert len(sink) <= 1
    assert {record.status for record in sink.records} <= {CallStatus.CANCELLED, CallStatus.DONE}


def test_an_interrupt_while_waiting(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the caller is interrupted while a tool runs in a thread, the thread is counted as left behind."""

    def late(a: int) -> None:
        gate.wait(LONG)

    registry, sink = _registry(late)
    original = threading.Event.wait

    def interrupted(self: threading.Event, timeout: float | None = None) -> bool:
        if timeout == 7.5:
            raise KeyboardInterrupt
        return original(self, timeout)

    monkeypatch.setattr(threading.Event, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        registry.run("late", {"a": 1}, timeout_s=7.5)
    assert abandoned() == 1
    assert sink.records[0].status is CallStatus.CANCELLED


def test_stopped_before_it_began(gate: threading.Event) -> None:
    """A coroutine that is made after the deadline is cancelled as soon as it runs."""
    ended = threading.Event()

    def slow_start(a: int) -> Any:
        gate.wait(LONG)

        async def rest() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        return rest()

    registry, _ = _registry(slow_start)
    assert isinstance(registry.run("slow_start", {"a": 1}, timeout_s=SOON).error, ToolTimeout)
    gate.set()
    assert ended.wait(LONG)


def test_a_loop_that_is_gone(gate: threading.Event) -> None:
    """A thread that ends after the loop that waited for it was closed ends quietly."""
    ended = threading.Event()

    def late(a: int) -> None:
        gate.wait(LONG)
        ended.set()

    registry, _ = _registry(late)
    loop = asyncio.new_event_loop()
    task = loop.create_task(registry.arun("late", {"a": 1}, timeout_s=LONG))
    for _ in range(5):
        loop.run_until_complete(asyncio.sleep(0))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()
    gate.set()
    assert ended.wait(LONG)


def test_invoke_gives_the_plain_value() -> None:
    """Without a limit nothing stands between the caller and the function."""
    registry = Registry()

    def here(a: int) -> int:
        return threading.get_ident() + a

    made = registry.register(here)
    assert invoke(made, [], {"a": 0}, None) == threading.get_ident()
    assert invoke(made, [], {"a": 0}, LONG) != threading.get_ident()


# -- load ----------------------------------------------------------------------------------------------------------------------------


def test_a_thousand_calls_over_threads() -> None:
    """Right results, one record each, and no id twice."""

    def triple(a: int, tags: list[int]) -> int:
        tags.append(0)
        return a * 3

    registry, sink = _registry(triple)
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        results = list(pool.map(lambda n: registry.run("triple", {"a": str(n), "tags": [n]}, call_id=str(n)), range(1_000)))
    assert [item.value for item in results] == [n * 3 for n in range(1_000)]
    _assert_thousand(sink)
    assert all(record.invoked == {"a": int(record.call_id or ""), "tags": [int(record.call_id or "")]} for record in sink.records)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_thousand_calls_over_a_loop(kind: str) -> None:
    """The same from one loop, for synchronous and asynchronous tools."""

    def plain(a: int) -> int:
        return a * 3

    async def coroutine(a: int) -> int:
        await asyncio.sleep(0)
        return a * 3

    sink = MemorySink()
    registry = Registry(sinks=[sink])
    registry.register(plain if kind == "sync" else coroutine, name="triple")

    async def main() -> list[ToolResult]:
        return await asyncio.gather(*(registry.arun("triple", {"a": str(n)}, call_id=str(n)) for n in range(1_000)))

    assert [item.value for item in asyncio.run(main())] == [n * 3 for n in range(1_000)]
    _assert_thousand(sink)


def _assert_thousand(sink: MemorySink) -> None:
    assert len({record.id for record in sink.records}) == 1_000
    assert {record.call_id for record in sink.records} == {str(n) for n in range(1_000)}
    assert {record.status for record in sink.records} == {CallStatus.DONE}
