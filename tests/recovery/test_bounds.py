"""What bounds the asking: the budget under a race, the circuit breaker, and one item in the queue for what is left."""

import asyncio
import json
import logging
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from toolbox import AuditStore, MemorySink, Redaction, Registry, ReviewQueue
from toolbox.audit import call_metadata
from toolbox.calls import Held
from toolbox.diagnostics import CoercionReport, Failure, FailureReason
from toolbox.errors import (
    ApprovalPending,
    InvalidArguments,
    PayloadError,
    RecoveryFailed,
    RepeatedFailure,
    StoreError,
    ToolboxError,
    ToolExecutionError,
    ToolTimeout,
)
from toolbox.recovery import CircuitBreaker, Recovery, RecoveryBudget
from toolbox.recovery.prompt import Message

VAGUE = {"number": "a few"}
TALK = {"conversation_id": "c-1"}
LOST = json.dumps({"recovery_status": "UNRECOVERABLE", "unrecoverable_fields": [{"field_path": "$.number"}]})
PARTIAL = json.dumps({"recovery_status": "PARTIAL", "corrected_arguments": VAGUE, "unrecoverable_fields": [{"field_path": "$.number"}]})


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Desk:
    """A review queue that keeps what it is given."""

    def __init__(self, *, blocking: bool = False, broken: bool = False) -> None:
        self.blocking = blocking
        self.broken = broken
        self.held: list[Held] = []
        self.threads: list[str] = []

    def hold(self, held: Held, /) -> str:
        if self.broken:
            raise StoreError("full", "the disk is full")
        self.threads.append(threading.current_thread().name)
        self.held.append(held)
        return f"item-{len(self.held)}"


def registry_of(recovery: Any, **options: Any) -> Registry:
    """A registry with one tool."""
    registry = Registry(recovery=recovery, **{"breaker": None, **options})

    @registry.tool
    def take(number: int) -> int:
        """Take a number."""
        return number

    @registry.tool(high_risk=True)
    def pay(number: int) -> int:
        """Pay."""
        return number

    return registry


class Asked:
    """Counts how often it is asked; never gives an answer of use."""

    def __init__(self, answer: str = "no") -> None:
        self.answer = answer
        self.count = 0
        self._lock = threading.Lock()

    def __call__(self, _: Any) -> str:
        with self._lock:
            self.count += 1
        return self.answer


@pytest.mark.usefixtures("eager_threads")
def test_racing_threads_spend_exactly_the_budget() -> None:
    """1,000 failures from 32 threads make exactly as many attempts as the conversation has, and every call ends."""
    asked, budget = Asked(), RecoveryBudget(per_conversation=100)
    registry = registry_of(Recovery(asked, budget=budget, timeout_s=None))
    with ThreadPoolExecutor(32) as pool:
        errors = list(pool.map(lambda _: registry.run("take", VAGUE, metadata=TALK).error, range(1_000)))
    assert asked.count == 100 == budget.spent(conversation="c-1") == budget.spent(tool="take")
    reasons = Counter(error.reason for error in errors if isinstance(error, RecoveryFailed))
    assert sum(reasons.values()) == 1_000
    assert set(reasons) <= {"budget", "exhausted"}
    assert sum(len(error.attempts) for error in errors if isinstance(error, RecoveryFailed)) == 100


def test_racing_tasks_spend_exactly_the_budget() -> None:
    """The same for 1,000 tasks in one loop, with a budget for the tool in all conversations."""
    asked = Asked()

    async def ask(messages: Any) -> str:
        await asyncio.sleep(0)
        return asked(messages)

    registry = registry_of(Recovery(ask, budget=RecoveryBudget(per_tool=70, per_conversation=None)))

    async def race() -> list[Any]:
        return await asyncio.gather(*(registry.arun("take", VAGUE, metadata={"conversation_id": f"c-{n}"}) for n in range(1_000)))

    results = asyncio.run(race())
    assert asked.count == 70
    assert all(isinstance(item.error, RecoveryFailed) for item in results)


def test_budgets_are_taken_together() -> None:
    """An attempt that one budget refuses takes nothing from the other; nothing is ever given back."""
    budget = RecoveryBudget(per_tool=2, per_conversation=1)
    assert budget.take("a", "c-1") is None
    assert budget.take("a", "c-1") == "conversation"
    assert budget.spent(tool="a") == 1
    assert budget.take("a", "c-2") is None
    assert budget.take("a", "c-3") == "tool"
    assert budget.spent(conversation="c-3") == 0
    assert budget.take("b", "c-3") is None
    assert budget.take("b", None) is None
    assert budget.take("b", None) == "tool"


def test_budgets_forget_the_conversation_that_was_used_longest_ago() -> None:
    """However many conversations there are, so many are remembered."""
    budget = RecoveryBudget(per_conversation=1, conversations=2)
    for name in ("c-1", "c-2", "c-3"):
        assert budget.take("a", name) is None
    assert budget.take("a", "c-3") == "conversation"
    assert budget.take("a", "c-1") is None
    # One that gets nothing more is used all the same.
    assert budget.take("a", "c-3") == "conversation"
    assert budget.take("a", "c-4") is None
    assert budget.take("a", "c-3") == "conversation"


def test_the_id_of_a_conversation_may_be_of_any_length() -> None:
    """A long one is kept as its hash, and told from another one."""
    budget, breaker = RecoveryBudget(per_conversation=1), CircuitBreaker(2)
    one, other = "c" * 100_000, "c" * 99_999 + "\ud800"
    assert budget.take("a", one) is budget.take("a", other) is None
    assert budget.take("a", one) == "conversation"
    assert (budget.spent(conversation=one), max(map(len, budget._by_conversation))) == (1, 64)
    failed = ToolTimeout("a", 1.0)
    assert breaker.stopped("a", one, failed) is None
    assert isinstance(breaker.stopped("a", one, failed), RepeatedFailure)
    assert breaker.count("a", other) == 0
    breaker.passed("a", one)
    assert breaker.count("a", one) == 0


@pytest.mark.parametrize("options", [{"per_tool": -1}, {"per_conversation": True}, {"per_tool": 1.5}, {"conversations": None}], ids=str)
def test_budgets_are_checked(options: dict[str, Any]) -> None:
    """A budget is a number of attempts."""
    with pytest.raises(ValueError, match=next(iter(options))):
        RecoveryBudget(**options)


def test_a_budget_of_nothing_asks_nothing() -> None:
    """With no attempt to make, the call is refused with the reason."""
    asked = Asked()
    registry = registry_of(Recovery(asked, budget=RecoveryBudget(per_tool=0)))
    with pytest.raises(RecoveryFailed, match=r"no attempt was made to correct them \(budget\)"):
        registry.dispatch("take", VAGUE)
    assert asked.count == 0


# -- the queue -----------------------------------------------------------------------------------------------------------------------

HELD = [
    # options of Recovery, answer, reason in the queue, or None where the call is not held
    ({}, "no", "exhausted"),
    ({"on_exhausted": "raise"}, "no", None),
    ({}, LOST, None),
    ({}, PARTIAL, None),
    ({"review": "partial"}, LOST, "unrecoverable"),
    ({"review": "partial"}, PARTIAL, "partial"),
    ({"review": "partial", "on_exhausted": "raise"}, PARTIAL, "partial"),
    ({"review": "partial", "on_exhausted": "raise"}, "no", None),
    ({"budget": RecoveryBudget(per_tool=0)}, "no", "budget"),
    ({}, None, "ask_failed"),
]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(("options", "answer", "reason"), HELD, ids=range(len(HELD)))
def test_what_is_held(options: dict[str, Any], answer: Any, reason: str | None, is_async: bool) -> None:
    """What could not be corrected goes to the queue as the options say, with the whole chain; the caller learns what became of it."""
    desk, sink = Desk(), MemorySink()
    registry = registry_of(Recovery(lambda _: answer, **options), review=desk, sinks=[sink])
    result = asyncio.run(registry.arun("take", VAGUE)) if is_async else registry.run("take", VAGUE)
    record = sink.records[-1]
    assert record.metadata["recovery"]["state"] == "coercion_failed"
    if reason is None:
        assert desk.held == []
        assert isinstance(result.error, RecoveryFailed)
        assert record.status.value == "coercion_failed"
        return
    (held,) = desk.held
    assert held.reason == reason
    assert held.payload == VAGUE
    assert held.record_id == record.id
    assert [item["attempt_number"] for item in held.attempts] == list(range(1, len(held.attempts) + 1))
    assert isinstance(result.error, ApprovalPending)
    assert (result.error.item_id, result.error.reason) == ("item-1", reason)
    assert result.error.report is result.report is held.report
    assert isinstance(result.error.__cause__, RecoveryFailed)
    assert record.status.value == "pending"


def test_a_queue_that_waits_is_asked_in_a_thread() -> None:
    """Asynchronous code is not blocked by the disk of the queue."""
    desk = Desk(blocking=True)
    registry = registry_of(Recovery(lambda _: "no"), review=desk)
    asyncio.run(registry.arun("take", VAGUE))
    assert threading.current_thread().name not in desk.threads


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_queue_that_fails_does_not_hide_the_refusal(is_async: bool) -> None:
    """Where the queue cannot take the call, the caller gets the refusal, and the queue's error as its cause."""
    registry = registry_of(Recovery(lambda _: "no"), review=Desk(broken=True))
    result = asyncio.run(registry.arun("take", VAGUE)) if is_async else registry.run("take", VAGUE)
    assert isinstance(result.error, RecoveryFailed)
    assert isinstance(result.error.__cause__, StoreError)


def test_high_risk_tools_go_straight_to_the_queue() -> None:
    """No model is asked about a high-risk tool: a person is."""
    asked, desk = Asked(), Desk()
    registry = registry_of(Recovery(asked), review=desk)
    result = registry.run("pay", {"number": "1,299"})
    assert isinstance(result.error, ApprovalPending)
    assert [held.reason for held in desk.held] == ["high_risk"]
    assert asked.count == 0


def test_racing_failures_end_in_one_item(tmp_path: Path) -> None:
    """1,000 failures of one call from 32 threads spend exactly the budget, and wait in a real queue as one item, counted."""
    pytest.importorskip("sqlalchemy")
    from toolbox import AuditStore, ReviewQueue

    asked = Asked()
    with AuditStore(f"sqlite:///{tmp_path / 'audit.db'}") as store:
        queue = ReviewQueue(store)
        recovery = Recovery(asked, budget=RecoveryBudget(per_conversation=50), timeout_s=None)
        registry = registry_of(recovery, review=queue)
        with ThreadPoolExecutor(32) as pool:
            errors = list(pool.map(lambda _: registry.run("take", VAGUE, metadata=TALK).error, range(1_000)))
        assert asked.count == 50
        assert {type(error) for error in errors} == {ApprovalPending}
        (item,) = queue.items()
        assert {error.item_id for error in errors if isinstance(error, ApprovalPending)} == {item.id}
        assert item.repeats == 999


# -- the circuit breaker -------------------------------------------------------------------------------------------------------------


def refusal(*places: str, reason: FailureReason = FailureReason.INVALID) -> InvalidArguments:
    """A refusal for failures at these places."""
    return InvalidArguments("take", CoercionReport({}, {}, [], [Failure(place, reason, "an integer", "x") for place in places]))


def test_the_same_cause_is_stopped() -> None:
    """The failure of the limit and every further one for the same cause is stopped; what came differs, the cause does not."""
    breaker = CircuitBreaker(3)
    causes = [refusal(f"$.items[{number}].price") for number in range(5)]
    stopped = [breaker.stopped("take", "c-1", cause) for cause in causes]
    assert stopped[:2] == [None, None]
    text = str(stopped[2])
    assert isinstance(stopped[2], RepeatedFailure)
    assert "it has failed 3 times in this conversation for the same cause ($.items[*].price: invalid)" in text
    assert "Do not send this call again" in text
    assert isinstance(stopped[4], RepeatedFailure)
    assert stopped[4].count == 5


@pytest.mark.parametrize(
    "other",
    [
        refusal("$.b"),
        refusal("$.a", "$.b"),
        refusal("$.a", reason=FailureReason.MISSING),
        PayloadError("truncated", "cut off"),
        ToolTimeout("take", 1),
        ToolExecutionError("take", "ValueError: no"),
        ToolboxError("x"),
    ],
    ids=repr,
)
def test_another_cause_begins_anew(other: ToolboxError) -> None:
    """Until the cause changes: then the count starts at one."""
    breaker = CircuitBreaker(2)
    assert breaker.stopped("take", "c-1", refusal("$.a")) is None
    assert breaker.stopped("take", "c-1", other) is None
    assert breaker.count("take", "c-1") == 1
    assert isinstance(breaker.stopped("take", "c-1", other), RepeatedFailure)
    assert breaker.stopped("take", "c-1", refusal("$.a")) is None


def test_a_call_that_goes_through_ends_the_count() -> None:
    """Only failures in a row are counted, each tool and each conversation for itself."""
    breaker = CircuitBreaker(2)
    assert breaker.stopped("take", "c-1", refusal("$.a")) is None
    assert breaker.stopped("other", "c-1", refusal("$.a")) is None
    assert breaker.stopped("take", "c-2", refusal("$.a")) is None
    breaker.passed("take", "c-1")
    breaker.passed("never", "c-9")
    assert breaker.stopped("take", "c-1", refusal("$.a")) is None
    assert isinstance(breaker.stopped("other", "c-1", refusal("$.a")), RepeatedFailure)


def test_the_breaker_is_bounded() -> None:
    """However many conversations and tools there are, so many are remembered, and a long cause is named in short."""
    breaker = CircuitBreaker(1, conversations=10)
    for number in range(1_000):
        breaker.stopped(f"tool_{number}", f"c-{number}", refusal("$.a"))
        breaker.stopped(f"tool_{number}", "c", refusal("$.a"))
    assert len(breaker._counts) == 10
    assert len(breaker._counts["c"]) <= 256
    long = breaker.stopped("take", "c", refusal(*(f"$.p{number}" for number in range(500))))
    assert "and 47 more" in str(long)
    assert len(str(long)) < 500


@pytest.mark.parametrize("limit", [0, -1, True, 2.5, None])
def test_the_limit_is_checked(limit: Any) -> None:
    """A limit is a number of failures."""
    with pytest.raises(ValueError, match="at least 1"):
        CircuitBreaker(limit)


@pytest.mark.usefixtures("eager_threads")
def test_racing_failures_are_all_counted() -> None:
    """1,000 failures from 32 threads are 1,000 failures, all but the first four of them stopped."""
    breaker = CircuitBreaker(5)
    with ThreadPoolExecutor(32) as pool:
        stopped = list(pool.map(lambda _: breaker.stopped("take", "c-1", refusal("$.a")), range(1_000)))
    assert stopped.count(None) == 4
    assert breaker.count("take", "c-1") == 1_000


def test_a_stopped_call_asks_nobody() -> None:
    """In a registry: the call that is stopped is neither corrected nor held, and says so; another argument goes through."""
    asked, desk = Asked(), Desk()
    budget = RecoveryBudget(per_conversation=None)
    registry = registry_of(Recovery(asked, max_attempts=1, on_exhausted="raise", budget=budget), review=desk, breaker=CircuitBreaker(3))
    with call_metadata(conversation_id="c-1"):
        errors = [type(registry.run("take", VAGUE).error).__name__ for _ in range(5)]
        assert errors == ["RecoveryFailed", "RecoveryFailed", "RepeatedFailure", "RepeatedFailure", "RepeatedFailure"]
        assert asked.count == 2
        assert registry.dispatch("take", {"number": 5}) == 5
        assert type(registry.run("take", VAGUE).error).__name__ == "RecoveryFailed"
    assert type(registry.run("take", VAGUE).error).__name__ == "RecoveryFailed"
    assert desk.held == []


@pytest.mark.parametrize("is_async", [False, True])
def test_a_stopped_call_of_a_high_risk_tool_is_not_held(is_async: bool) -> None:
    """The breaker comes before the person too: a model that tries one value after the other does not fill the queue."""
    desk = Desk()
    registry = registry_of(None, review=desk, breaker=CircuitBreaker(3))

    def pay(number: int) -> ToolboxError | None:
        arguments = {"number": f"{number},000"}
        return (asyncio.run(registry.arun("pay", arguments)) if is_async else registry.run("pay", arguments)).error

    with call_metadata(conversation_id="c-1"):
        errors = [type(pay(number)).__name__ for number in range(1, 6)]
    assert errors == ["ApprovalPending"] * 2 + ["RepeatedFailure"] * 3
    assert [held.payload for held in desk.held] == [{"number": "1,000"}, {"number": "2,000"}]


def test_what_is_redacted_hides_no_reason() -> None:
    """The model reads why an attempt was refused; only values are masked, and it is told what to write for one that it is not shown."""
    prompts: list[str] = []

    def ask(messages: list[Message]) -> str:
        prompts.append(messages[-1]["content"])
        return json.dumps({"recovery_status": "SUCCESS", "corrected_arguments": {"quantity": 1234}})

    sink = MemorySink()
    registry = Registry(recovery=Recovery(ask, max_attempts=2), redaction=Redaction.common(["iban"]), sinks=[sink])

    @registry.tool
    def order(quantity: int, iban: str = "") -> None:
        """Order something."""

    registry.run("order", {"quantity": "1,234", "iban": "DE89-CANARY"})
    problem = "- $.iban: it was left out: write *** for the value that you are not shown"
    attempts = sink.records[-1].metadata["recovery"]["attempts"]
    assert [item["problem"] for item in attempts] == [problem, problem]
    assert "write *** for the value" in prompts[1]
    assert "CANARY" not in "".join(prompts) + str(sink.records)


def test_the_review_item_keeps_the_reasons_too(tmp_path: Path) -> None:
    """What a redaction masks in the queue is values: the texts that say why an attempt was refused stay."""
    answer = json.dumps({"recovery_status": "SUCCESS", "corrected_arguments": {"quantity": 1234}})
    with AuditStore(tmp_path / "audit.db") as store:
        queue = ReviewQueue(store)
        registry = Registry(recovery=Recovery(lambda _: answer, max_attempts=1), redaction=Redaction.common(["iban"]), review=queue)

        @registry.tool
        def order(quantity: int, iban: str = "") -> None:
            """Order something."""

        registry.run("order", {"quantity": "1,234 CANARY", "iban": "CANARY"})
        (item,) = queue.items()
    assert item.attempts[0]["problem"].endswith("- $.iban: it was left out: write *** for the value that you are not shown")
    assert "$.quantity: expected an integer" in item.attempts[0]["error_received"]
    assert "CANARY" not in str(item.attempts[0])


@pytest.mark.parametrize("with_queue", [True, False])
def test_a_broken_ask_has_one_name_and_is_an_error(with_queue: bool, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """After one attempt it is "ask_failed" wherever it is named; the log has an ERROR with the class of what was raised alone."""

    def ask(_: list[Message]) -> str:
        raise PermissionError("the key CANARY is wrong")

    with AuditStore(tmp_path / "audit.db") as store, caplog.at_level(logging.INFO):
        queue = ReviewQueue(store)
        registry = Registry(recovery=Recovery(ask), review=queue if with_queue else None)
        registry.register(take_whole)
        error = registry.run("take_whole", VAGUE).error
        assert isinstance(error, ApprovalPending if with_queue else RecoveryFailed)
        assert error.reason == "ask_failed"
        assert [item.reason for item in queue.items()] == ["ask_failed"] * with_queue
    told = [(item.levelno, item.getMessage()) for item in caplog.records if "recovery_attempt" in item.getMessage()]
    assert [level for level, _ in told] == [logging.ERROR]
    assert "PermissionError" in told[0][1]
    assert "CANARY" not in caplog.text


def take_whole(number: int) -> None:
    """Take a whole number."""
