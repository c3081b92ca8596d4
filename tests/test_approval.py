"""Calls that wait for a person, as the walk sees them: which are held, what the caller gets, what is on record."""

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolbox import ApprovalPending, CallStatus, CoercionReport, InvalidArguments, MemorySink, MissingReview, RegistrationError, Registry
from toolbox.calls import Held

RAN: list[int] = []


def pay(amount: int) -> int:
    """A sample tool."""
    RAN.append(amount)
    return amount


class Tray:
    """A desk that keeps what it is given."""

    def __init__(self, *, blocking: bool = False, error: Exception | None = None) -> None:
        self.blocking = blocking
        self.error = error
        self.items: list[Held] = []
        self.threads: list[int] = []

    def hold(self, held: Held, /) -> str:
        """Keep it."""
        self.threads.append(threading.get_ident())
        if self.error is not None:
            raise self.error
        self.items.append(held)
        return f"item-{len(self.items)}"


def _sync(registry: Registry, name: str, arguments: Any, **options: Any) -> Any:
    return registry.dispatch(name, arguments, **options)


def _async(registry: Registry, name: str, arguments: Any, **options: Any) -> Any:
    return asyncio.run(registry.adispatch(name, arguments, **options))


Way = Callable[..., Any]
both_ways = pytest.mark.parametrize("way", [_sync, _async])


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@both_ways
@pytest.mark.parametrize("blocking", [False, True])
def test_a_call_that_needs_approval_waits(way: Way, blocking: bool) -> None:
    """It is not run; the desk gets the coerced arguments beside those that came, and the caller an error with the item's id."""
    tray, memory = Tray(blocking=blocking), MemorySink()
    registry = Registry(review=tray, sinks=[memory])
    registry.register(pay, approval="always")
    with pytest.raises(ApprovalPending) as caught:
        way(registry, "pay", {"amount": "5"}, metadata={"user": "u-17"})
    (held,), (record,) = tray.items, memory.records
    assert not RAN
    assert str(caught.value) == "the call of pay waits for a person's decision (item item-1) and was not run; do not send it again"
    assert (caught.value.item_id, caught.value.reason, caught.value.report) == ("item-1", "approval", held.report)
    assert (held.payload, held.report.normalized_args, held.reason, held.call.metadata) == (
        {"amount": "5"},
        {"amount": 5},
        "approval",
        {"user": "u-17"},
    )
    assert held.record_id == record.id
    assert (record.status, record.invoked, record.arguments) == (CallStatus.PENDING, None, {"amount": "5"})
    assert (tray.threads[0] == threading.get_ident()) is not (blocking and way is _async)


@both_ways
def test_a_function_says_which_calls_need_approval(way: Way) -> None:
    """By the report, which has the coerced arguments; where it fails itself, a person decides."""
    tray = Tray()
    registry = Registry(review=tray)

    def asks(report: CoercionReport) -> bool:
        return bool(1 / report.normalized_args["amount"] < 0.01)

    registry.register(pay, approval=asks)
    assert way(registry, "pay", {"amount": 5}) == 5
    for amount in (500, 0):
        with pytest.raises(ApprovalPending):
            way(registry, "pay", {"amount": amount})
    assert (RAN, [item.report.normalized_args["amount"] for item in tray.items]) == ([5], [500, 0])


@both_ways
def test_arguments_that_do_not_fit_are_refused_before_anyone_is_asked(way: Way) -> None:
    """A person is not shown what could not run."""
    tray = Tray()
    registry = Registry(review=tray)
    registry.register(pay, approval="always")
    with pytest.raises(InvalidArguments):
        way(registry, "pay", {"amount": "many"})
    assert not tray.items


@both_ways
def test_a_high_risk_tool_is_corrected_by_a_person_only(way: Way) -> None:
    """What needs a change above INFO waits, and neither a model nor the fallback handler is asked; without a desk it is refused."""
    tray = Tray()
    asked: list[Any] = []
    registry = Registry(review=tray, recovery=asked.append, fallback=lambda *_: asked.append(_))
    registry.register(pay, high_risk=True)
    assert way(registry, "pay", {"amount": "5"}) == 5
    with pytest.raises(ApprovalPending) as caught:
        way(registry, "pay", {"amount": "1e3"})
    assert (caught.value.reason, len(tray.items), asked, RAN) == ("high_risk", 1, [], [5])
    alone = Registry()
    alone.register(pay, high_risk=True)
    with pytest.raises(InvalidArguments):
        way(alone, "pay", {"amount": "1e3"})


@both_ways
def test_without_a_desk_the_application_is_told(way: Way) -> None:
    """It is no fault of the model's, so also `run` raises."""
    registry = Registry()
    registry.register(pay, approval="always")
    wanted = r"the tool pay needs approval and was not run, for there is nowhere to ask: pass Registry\(review=ReviewQueue\(store\)\)"
    with pytest.raises(MissingReview, match=wanted):
        way(registry, "pay", {"amount": 5})
    with pytest.raises(MissingReview):
        registry.run("pay", {"amount": 5})
    with pytest.raises(MissingReview):
        asyncio.run(registry.arun("pay", {"amount": 5}))
    assert not RAN


@both_ways
def test_a_desk_that_fails_lets_nothing_run(way: Way) -> None:
    """Its error goes to the caller."""
    registry = Registry(review=Tray(error=OSError("disk full")))
    registry.register(pay, approval="always")
    with pytest.raises(OSError, match="disk full"):
        way(registry, "pay", {"amount": 5})
    assert not RAN


def test_the_result_for_the_model() -> None:
    """`run` gives the error as a result."""
    registry = Registry(review=Tray())
    registry.register(pay, approval="always")
    result = registry.run("pay", {"amount": 5})
    assert result.to_text().startswith("Error: the call of pay waits for a person's decision (item item-1)")


class _Unprintable:
    def __repr__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(("call_id", "kept"), [(None, None), ("c-1", "c-1"), (7, "7"), (_Unprintable(), "<_Unprintable>")])
@both_ways
def test_the_id_of_a_held_call_is_text(way: Way, call_id: Any, kept: str | None) -> None:
    """Whatever the caller gave."""
    desk = Tray()
    registry = Registry(review=desk)
    registry.register(pay, approval="always")
    with pytest.raises(ApprovalPending):
        way(registry, "pay", {"amount": 5}, call_id=call_id)
    assert desk.items[0].call.call_id == kept


@pytest.mark.parametrize("wrong", ["never", True, 3])
def test_a_wrong_approval_is_refused(wrong: Any) -> None:
    """With what may stand there."""
    with pytest.raises(RegistrationError, match="approval must be 'always' or a function of a report"):
        Registry().register(pay, approval=wrong)


async def _asks_later(report: Any) -> bool:
    return False


class _AsksLater:
    async def __call__(self, report: Any) -> bool:
        return False


@pytest.mark.parametrize("wrong", [_asks_later, functools.partial(_asks_later), _AsksLater()])
def test_an_approval_that_must_be_awaited_is_refused(wrong: Any) -> None:
    """Nobody would await it, and what is not awaited is true."""
    with pytest.raises(RegistrationError, match="approval must be a function that answers at once"):
        Registry().register(pay, approval=wrong)


def test_tools_of_schemas_need_approval_too() -> None:
    """Wherever they come from."""
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
    registry = Registry(review=Tray())
    registry.register_schema("pay", schema, pay, approval="always")
    registry.include_mcp_tools([{"name": "send", "inputSchema": schema}], lambda name, arguments: pay(**arguments), approval="always")
    for name in ("pay", "send"):
        with pytest.raises(ApprovalPending):
            registry.dispatch(name, {"amount": 1})
    assert not RAN
