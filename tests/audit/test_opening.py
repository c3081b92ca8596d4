"""Opening and closing: sinks that are told before a function runs, calls whose record cannot be opened, metadata of a block."""

import asyncio
import contextvars
import gc
import threading
from collections.abc import Callable
from typing import Any, Literal

import pytest

from toolbox import (
    AuditError,
    AuditRecord,
    AuditStore,
    CallStatus,
    MemorySink,
    RegistrationError,
    Registry,
    ReviewItem,
    ReviewQueue,
    ToolExecutionError,
    ToolTimeout,
    call_metadata,
)


class Journal:
    """A sink that is told of both ends of a call, and can be made to fail at either."""

    def __init__(self, *, fail_opening: bool = False, fail_closing: bool = False, blocking: bool = False) -> None:
        self.fail_opening = fail_opening
        self.fail_closing = fail_closing
        self.blocking = blocking
        self.seen: list[tuple[str, str]] = []
        self.threads: list[int] = []

    def opened(self, record: AuditRecord) -> None:
        """Take note of the beginning."""
        self.threads.append(threading.get_ident())
        self.seen.append(("opened", record.status.value))
        if self.fail_opening:
            raise OSError("disk full")

    def __call__(self, record: AuditRecord) -> None:
        """Take note of the end."""
        self.threads.append(threading.get_ident())
        self.seen.append(("closed", record.status.value))
        if self.fail_closing:
            raise OSError("disk full")


RAN: list[int] = []


def double(number: int) -> int:
    """A sample tool."""
    RAN.append(number)
    return number * 2


async def adouble(number: int) -> int:
    """A sample tool."""
    return double(number)


def fail(number: int) -> int:
    """A sample tool."""
    raise ValueError("no")


def _registry(*sinks: Any, **options: Any) -> Registry:
    registry = Registry(sinks=sinks, **options)
    for function in (double, adouble, fail):
        registry.register(function)
    registry.register(double, name="risky", high_risk=True)
    return registry


Way = Callable[..., Any]


def _sync(registry: Registry, name: str, arguments: Any, **options: Any) -> Any:
    return registry.dispatch(name, arguments, **options)


def _async(registry: Registry, name: str, arguments: Any, **options: Any) -> Any:
    return asyncio.run(registry.adispatch(name, arguments, **options))


both_ways = pytest.mark.parametrize("way", [_sync, _async])
blocking_or_not = pytest.mark.parametrize("blocking", [False, True])


@both_ways
@blocking_or_not
def test_both_ends_of_a_call_are_told(way: Way, blocking: bool) -> None:
    """Before the function runs, and after it ended, whatever the end; a call that does not run is told once."""
    journal = Journal(blocking=blocking)
    registry = _registry(journal)
    way(registry, "double", {"number": 1})
    way(registry, "adouble", {"number": 1})
    with pytest.raises(ToolExecutionError):
        way(registry, "fail", {"number": 1})
    with pytest.raises(ValueError, match="number"):
        way(registry, "double", {"number": "x"})
    with pytest.raises(LookupError):
        way(registry, "nope", {})
    opened = ("opened", "running")
    assert journal.seen == [
        opened,
        ("closed", "done"),
        opened,
        ("closed", "done"),
        opened,
        ("closed", "failed"),
        ("closed", "refused"),
        ("closed", "unknown_tool"),
    ]


def test_a_sink_that_waits_does_not_hold_the_loop() -> None:
    """Asynchronous code calls it in a thread, synchronous code where it is; any other sink is called where the function runs."""
    waiting, quick = Journal(blocking=True), Journal()
    registry = _registry(waiting, quick)
    _async(registry, "adouble", {"number": 1})
    here = threading.get_ident()
    assert here not in waiting.threads
    assert set(quick.threads) == {here}
    _sync(registry, "double", {"number": 1})
    assert waiting.threads[-2:] == [here, here]


CASES: list[tuple[str, Literal["fail_open", "fail_closed"] | None, Literal["fail_open", "fail_closed"] | None, bool]] = [
    ("double", None, None, True),
    ("risky", None, None, False),
    ("double", "fail_closed", None, False),
    ("risky", "fail_open", None, True),
    ("double", "fail_open", "fail_closed", False),
    ("double", "fail_closed", "fail_open", True),
]


@both_ways
@blocking_or_not
@pytest.mark.parametrize(("name", "of_registry", "of_tool", "runs"), CASES)
def test_a_record_that_cannot_be_opened(
    name: str,
    of_registry: Literal["fail_open", "fail_closed"] | None,
    of_tool: Literal["fail_open", "fail_closed"] | None,
    runs: bool,
    blocking: bool,
    way: Way,
) -> None:
    """The tool's own rule holds, else the registry's, else: high-risk tools do not run, all others do, and the loss is counted."""
    memory = MemorySink()
    registry = Registry(sinks=[Journal(fail_opening=True, blocking=blocking), memory], on_audit_failure=of_registry)
    registry.register(double, name=name, high_risk=name == "risky", on_audit_failure=of_tool)
    RAN.clear()
    if runs:
        assert way(registry, name, {"number": 3}) == 6
    else:
        with pytest.raises(AuditError, match=rf"the tool {name} was not run, since Journal could not record it"):
            way(registry, name, {"number": 3})
    assert [3] * runs == RAN
    assert registry.lost_records == 1
    (record,) = memory.records
    assert (record.status, record.invoked) == ((CallStatus.DONE, {"number": 3}) if runs else (CallStatus.REFUSED, None))


@both_ways
@blocking_or_not
@pytest.mark.parametrize("name", ["double", "risky"])
def test_a_record_that_cannot_be_closed_changes_nothing(way: Way, blocking: bool, name: str) -> None:
    """The call has had its effect: its result is what it is, and the loss is counted."""
    registry = _registry(Journal(fail_closing=True, blocking=blocking), on_audit_failure="fail_closed")
    assert way(registry, name, {"number": 3}) == 6
    assert registry.lost_records == 1


def test_run_gives_the_audit_error_as_a_result() -> None:
    """The model reads that the call was not run; nothing is raised."""
    result = _registry(Journal(fail_opening=True), on_audit_failure="fail_closed").run("double", {"number": 3})
    assert isinstance(result.error, AuditError)
    assert result.to_text() == "Error: the tool double was not run, since Journal could not record it; try again later"


@pytest.mark.parametrize("rule", ["open", 3])
def test_a_wrong_rule_is_refused(rule: Any) -> None:
    """Of a tool and of a registry."""
    with pytest.raises(ValueError, match="on_audit_failure must be 'fail_open' or 'fail_closed'"):
        Registry(on_audit_failure=rule)
    with pytest.raises(RegistrationError, match="on_audit_failure must be 'fail_open' or 'fail_closed'"):
        Registry().register(double, on_audit_failure=rule)


@blocking_or_not
def test_a_cancelled_call_is_closed(blocking: bool) -> None:
    """Also where the sink waits: the record is not lost with the task."""
    journal = Journal(blocking=blocking)
    registry = Registry(sinks=[journal])
    started = asyncio.Event()

    @registry.tool
    async def wait() -> None:
        """Wait for ever."""
        started.set()
        await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(registry.adispatch("wait"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert journal.seen == [("opened", "running"), ("closed", "cancelled")]


def _broken_clean_up() -> None:
    raise ZeroDivisionError


@blocking_or_not
@pytest.mark.parametrize("timeout_s", [None, 20.0])
@pytest.mark.parametrize("clean_up", [lambda: None, _broken_clean_up])
@pytest.mark.parametrize("closes", [True, False])
def test_a_call_whose_coroutine_is_closed(blocking: bool, timeout_s: float | None, clean_up: Callable[[], Any], closes: bool) -> None:
    """It is cancelled, whoever closes it and whatever its clean-up does: nothing is raised, and no record stays open."""
    journal = Journal(blocking=blocking)
    registry = Registry(sinks=[journal])
    started = asyncio.Event()

    @registry.tool
    async def wait() -> None:
        """Wait for ever."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            clean_up()

    async def begin() -> None:
        pending.append(asyncio.create_task(pending[0]))
        await started.wait()

    pending: list[Any] = [registry.adispatch("wait", timeout_s=timeout_s)]
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # it is told of the task that nobody has waited for
    loop.run_until_complete(begin())
    if closes:
        pending[0].close()
    loop.close()
    pending.clear()
    gc.collect()
    assert (journal.seen, registry.lost_records) == ([("opened", "running"), ("closed", "cancelled")], 0)


def test_a_timeout_is_closed_once() -> None:
    """The function that goes on in its thread closes nothing a second time."""
    journal, gate = Journal(), threading.Event()
    registry = Registry(sinks=[journal])
    registry.register(lambda: gate.wait(10), name="wait", description="Wait.", timeout_s=0.01)
    with pytest.raises(ToolTimeout):
        registry.dispatch("wait")
    gate.set()
    assert journal.seen == [("opened", "running"), ("closed", "timeout")]


def test_a_sink_may_set_the_context_of_the_function() -> None:
    """What it sets when a call is opened is there while the function runs."""
    current: contextvars.ContextVar[str] = contextvars.ContextVar("current", default="none")
    seen = []

    class Setting:
        def opened(self, record: AuditRecord) -> None:
            current.set(record.tool)

        def __call__(self, record: AuditRecord) -> None:
            current.set("none")

    registry = Registry(sinks=[Setting()])

    @registry.tool
    def look() -> None:
        """Look."""
        seen.append(current.get())

    registry.dispatch("look")
    asyncio.run(registry.adispatch("look"))
    registry.dispatch("look", timeout_s=5)
    assert seen == ["look"] * 3


@both_ways
def test_metadata_of_a_block(way: Way) -> None:
    """Blocks add to each other, and a call's own words go before theirs; outside, nothing is left."""
    memory = MemorySink()
    registry = _registry(memory)
    with call_metadata(model="m-1", conversation_id="c-1", user="u-17", tags=("a", "b"), shop="x") as outer:
        way(registry, "double", {"number": 1})
        with call_metadata(model="m-2"):
            way(registry, "double", {"number": 1}, metadata={"user": "u-18", "turn": 3})
            with pytest.raises(LookupError):
                way(registry, "nope", {})
    way(registry, "double", {"number": 1})
    whole = {"model": "m-1", "conversation_id": "c-1", "user": "u-17", "tags": ["a", "b"], "shop": "x"}
    assert dict(outer) == whole
    assert [dict(item.metadata) for item in memory.records] == [
        whole,
        {**whole, "model": "m-2", "user": "u-18", "turn": 3},
        {**whole, "model": "m-2"},
        {},
    ]


def test_metadata_is_of_its_own_task() -> None:
    """Two tasks at once do not see each other's."""
    memory = MemorySink()
    registry = _registry(memory)

    async def one(user: str) -> None:
        with call_metadata(user=user):
            await asyncio.sleep(0)
            await registry.adispatch("adouble", {"number": 1}, call_id=user)

    async def main() -> None:
        await asyncio.gather(*(one(f"u-{number}") for number in range(50)))

    asyncio.run(main())
    assert len(memory) == 50
    assert all(item.metadata == {"user": item.call_id} for item in memory.records)


CUT = {
    "choices": [
        {
            "finish_reason": "length",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "double", "arguments": '{"number": 1'}}],
            },
        }
    ]
}


def test_an_answer_that_was_cut_off_is_on_record() -> None:
    """Whichever way it is read: the call, its id, and why it was not run."""
    memory = MemorySink()
    registry = _registry(memory)
    with pytest.raises(ValueError, match="ended too early"):
        registry.parse_calls(CUT)
    registry.step("openai", CUT, metadata={"user": "u-17"})
    asyncio.run(registry.astep("openai", CUT))
    with pytest.raises(ValueError, match="cut off"):
        registry.parse_calls('<tool_call>{"name": "double", "arguments": {"number": 1')
    assert [(item.tool, item.call_id, item.status.value, item.invoked) for item in memory.records] == [
        *[("double", "call_1", "unreadable", None)] * 3,
        ("", None, "unreadable", None),
    ]
    assert memory.records[0].arguments == '{"number": 1'
    assert memory.records[1].metadata == {"user": "u-17"}
    assert ["ended too early" in str(item.error) for item in memory.records] == [True, True, True, False]
    assert "cut off" in str(memory.records[3].error)


def test_a_cut_answer_of_a_tool_with_secrets_keeps_no_arguments() -> None:
    """Nobody knows where in them the secret stands."""
    memory = MemorySink()
    registry = Registry(sinks=[memory])
    registry.register(double, secret=["number"])
    registry.step("openai", CUT)
    assert memory.records[0].arguments == "***"


# -- what did not run ----------------------------------------------------------------------------------------------------------------


@both_ways
@blocking_or_not
def test_a_call_without_time_is_not_started(way: Way, blocking: bool) -> None:
    """It is on record as refused, with nothing invoked, and its error says that nothing has had an effect."""
    memory = MemorySink()
    registry = _registry(Journal(blocking=blocking), memory)
    RAN.clear()
    with pytest.raises(ToolTimeout, match=r"the tool double was not run: its time limit of 0 s leaves no time") as caught:
        way(registry, "double", {"number": 1}, timeout_s=0)
    (record,) = memory.records
    assert caught.value.not_started
    assert (record.status, record.invoked, RAN) == (CallStatus.REFUSED, None, [])


class Interrupted(Journal):
    """A sink in which the user presses Ctrl-C."""

    def __init__(self, *, opening: bool) -> None:
        super().__init__()
        self.opening = opening

    def opened(self, record: AuditRecord) -> None:
        """Be interrupted, perhaps."""
        if self.opening:
            raise KeyboardInterrupt

    def __call__(self, record: AuditRecord) -> None:
        """Be interrupted, perhaps."""
        if not self.opening:
            raise KeyboardInterrupt


@both_ways
def test_an_interruption_while_a_record_is_opened(way: Way) -> None:
    """The function was not run, and nothing says that it was."""
    memory = MemorySink()
    registry = _registry(Interrupted(opening=True), memory)
    RAN.clear()
    with pytest.raises(KeyboardInterrupt):
        way(registry, "double", {"number": 1})
    (record,) = memory.records
    assert (record.status, record.invoked, RAN) == (CallStatus.CANCELLED, None, [])


@both_ways
def test_an_interruption_while_a_record_is_closed(way: Way) -> None:
    """The sinks behind the one that was interrupted have the record all the same, and the loss is counted."""
    memory = MemorySink()
    registry = _registry(Interrupted(opening=False), memory)
    with pytest.raises(KeyboardInterrupt):
        way(registry, "double", {"number": 1})
    assert ([item.status for item in memory.records], registry.lost_records) == ([CallStatus.DONE], 1)


def test_a_cancellation_while_a_record_is_opened() -> None:
    """The function was not run."""
    memory, gate, entered = MemorySink(), threading.Event(), threading.Event()

    class Slow(Journal):
        def opened(self, record: AuditRecord) -> None:
            entered.set()
            gate.wait(10)

    registry = _registry(Slow(blocking=True), memory)
    RAN.clear()

    async def main() -> None:
        task = asyncio.create_task(registry.adispatch("adouble", {"number": 1}))
        await asyncio.to_thread(entered.wait, 10)
        task.cancel()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (record,) = memory.records
    assert (record.status, record.invoked, RAN) == (CallStatus.CANCELLED, None, [])


@both_ways
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metadata": ["x"]}, r'metadata must be a mapping, such as a dict, and is \["x"\]'),
        ({"context": 5}, "context must be a mapping, such as a dict, and is 5"),
        ({"timeout_s": "1"}, 'timeout_s must be a number of seconds, and is "1"'),
        ({"timeout_s": float("nan")}, "timeout_s must be a number of seconds, and is nan"),
    ],
)
def test_wrong_options_are_found_before_anything_runs(way: Way, options: dict[str, Any], words: str) -> None:
    """Found out later, a call that has had its effect would look like one that failed."""
    RAN.clear()
    with pytest.raises(TypeError, match=words):
        way(_registry(MemorySink()), "double", {"number": 1}, **options)
    assert RAN == []


class Unprintable:
    """An id that cannot be written."""

    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


@both_ways
def test_a_conversation_that_cannot_be_written_changes_nothing(way: Way) -> None:
    """The call has its result."""
    assert way(_registry(MemorySink()), "double", {"number": 1}, metadata={"conversation_id": Unprintable()}) == 2


# -- sinks and hooks that dispatch ---------------------------------------------------------------------------------------------------


def test_a_sink_that_waits_may_dispatch() -> None:
    """From any number of calls at once: what runs in the threads for sinks does not wait for another of them."""
    inner, memory = _registry(Journal(blocking=True)), MemorySink()

    class Forwarding:
        blocking = True

        def __call__(self, record: AuditRecord) -> None:
            asyncio.run(inner.adispatch("adouble", {"number": 1}))
            memory(record)

    registry = _registry(Forwarding())

    async def main() -> None:
        await asyncio.wait_for(asyncio.gather(*(registry.adispatch("adouble", {"number": 1}) for _ in range(200))), 30)

    asyncio.run(main())
    assert len(memory) == 200


def test_a_coroutine_closed_while_its_record_is_opened() -> None:
    """The end is told behind the beginning."""
    entered, gate = threading.Event(), threading.Event()

    class Slow(Journal):
        def opened(self, record: AuditRecord) -> None:
            entered.set()
            gate.wait(10)
            super().opened(record)

    journal = Slow(blocking=True)
    registry = _registry(journal)

    async def main() -> None:
        pending.append(asyncio.create_task(pending[0]))
        await asyncio.to_thread(entered.wait, 10)

    RAN.clear()
    pending: list[Any] = [registry.adispatch("adouble", {"number": 1})]
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # it is told of the task that nobody has waited for
    loop.run_until_complete(main())
    opener = threading.Timer(0.05, gate.set)
    opener.start()
    pending[0].close()
    opener.join()
    loop.close()
    pending.clear()
    gc.collect()
    assert ([word for word, _ in journal.seen], RAN) == (["opened", "closed"], [])


def test_hooks_that_wait_for_calls_do_not_keep_records_from_being_written(store: AuditStore) -> None:
    """However many hooks wait at once for a call whose record is written in a thread."""
    queue = ReviewQueue(store)
    registry = _registry(store, review=queue)
    registry.register(double, name="held", approval="always")

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def wait_for_a_call(item: ReviewItem) -> None:
            asyncio.run_coroutine_threadsafe(registry.adispatch("adouble", {"number": 1}), loop).result(20)

        queue.on_waiting = wait_for_a_call
        await asyncio.gather(*(registry.arun("held", {"number": number}) for number in range(40)))

    asyncio.run(main())
    assert (queue.failed_hooks, len(queue.items())) == (0, 40)
