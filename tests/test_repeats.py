"""The stop of endless repeats: a tool that fails for the same cause again and again in one conversation."""

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from toolbox import (
    CallStatus,
    CircuitBreaker,
    InvalidArguments,
    MemorySink,
    PayloadError,
    Recovery,
    RecoveryBudget,
    RecoveryFailed,
    Registry,
    RepeatedFailure,
    ToolboxError,
    ToolExecutionError,
    call_metadata,
)
from toolbox.json_values import plain_text

WRONG, RIGHT = {"number": "many"}, {"number": 2}


def double(number: int) -> int:
    """A sample tool."""
    return number * 2


def fail(number: int) -> int:
    """A sample tool."""
    raise ValueError(f"no {number}")


def _registry(**options: Any) -> Registry:
    registry = Registry(**options)
    registry.register(double)
    registry.register(fail)
    return registry


def _sync(registry: Registry, name: str, arguments: Any, **options: Any) -> Any:
    return registry.run(name, arguments, **options).error


def _async(registry: Registry, name: str, arguments: Any, **options: Any) -> Any:
    return asyncio.run(registry.arun(name, arguments, **options)).error


both_ways = pytest.mark.parametrize("way", [_sync, _async])


@both_ways
@pytest.mark.parametrize(
    ("name", "arguments", "first"),
    [("double", WRONG, InvalidArguments), ("double", '{"number": ', PayloadError), ("fail", RIGHT, ToolExecutionError)],
)
def test_the_fifth_failure_for_the_same_cause_stops_the_tool(
    name: str, arguments: Any, first: type[Exception], way: Callable[..., Any]
) -> None:
    """The error says so, and carries the report; the record says what the call came to."""
    memory = MemorySink()
    registry = _registry(sinks=[memory])
    with call_metadata(conversation_id="c-1"):
        errors = [way(registry, name, arguments) for _ in range(6)]
    assert [type(item) for item in errors] == [first] * 4 + [RepeatedFailure] * 2
    assert "5 times" in str(errors[4])
    assert errors[4].report is not None
    wanted = CallStatus.FAILED if first is ToolExecutionError else CallStatus.REFUSED
    assert [item.status for item in memory.records] == [wanted] * 6
    assert memory.records[4].error == str(errors[4])


@both_ways
def test_what_ends_the_count(way: Callable[..., Any]) -> None:
    """Another cause, a call that goes through, another conversation, another tool."""
    registry = _registry(breaker=2)

    def kinds(*calls: tuple[str, Any, str]) -> list[str]:
        return [type(way(registry, name, arguments, metadata={"conversation_id": said})).__name__ for name, arguments, said in calls]

    assert kinds(("double", WRONG, "a"), ("double", RIGHT, "a"), ("double", WRONG, "a"), ("double", WRONG, "a")) == [
        "InvalidArguments",
        "NoneType",
        "InvalidArguments",
        "RepeatedFailure",
    ]
    assert kinds(("double", {}, "a"), ("double", WRONG, "a")) == ["InvalidArguments"] * 2
    assert kinds(("double", WRONG, "b"), ("double", WRONG, "c"), ("fail", WRONG, "b")) == ["InvalidArguments"] * 3
    assert kinds(("double", WRONG, "b")) == ["RepeatedFailure"]


class _Nameless:
    """What stands for a conversation, and has no text."""

    def __str__(self) -> str:
        raise ValueError

    __repr__ = __str__


@both_ways
@pytest.mark.parametrize("said", [7, UUID(int=7), _Nameless(), {"a": _Nameless()}], ids=["number", "uuid", "nameless", "mapping"])
def test_whatever_names_a_conversation_counts(said: Any, way: Callable[..., Any]) -> None:
    """For the breaker and the budget of a recovery alike, by the text that stands on record; an object's own methods break no call."""
    memory, budget, breaker = MemorySink(), RecoveryBudget(per_conversation=1), CircuitBreaker(4)
    recovery = Recovery(lambda _messages: "no", budget=budget, max_attempts=1)
    registry = _registry(sinks=[memory], breaker=breaker, recovery=recovery)
    errors = [way(registry, "double", WRONG, metadata={"conversation_id": said}) for _ in range(4)]
    assert [type(item) for item in errors] == [RecoveryFailed] * 3 + [RepeatedFailure]
    assert [item.reason for item in errors[:3]] == ["exhausted", "budget", "budget"]
    text = plain_text(memory.records[0].metadata["conversation_id"])
    assert breaker.count("double", text) == 4
    assert budget.spent(conversation=text) == 1


@both_ways
def test_without_a_conversation_or_a_limit_nothing_is_counted(way: Callable[..., Any]) -> None:
    """Whoever says of no call which conversation it belongs to has nothing stopped."""
    registry, unlimited = _registry(breaker=1), _registry(breaker=None)
    assert type(way(registry, "double", WRONG, metadata={"user": "u-17"})) is InvalidArguments
    assert type(way(registry, "double", WRONG)) is InvalidArguments
    assert {type(way(unlimited, "double", WRONG, metadata={"conversation_id": "c"})) for _ in range(9)} == {InvalidArguments}


@pytest.mark.parametrize("limit", [0, -1, True])
def test_a_wrong_limit_is_refused(limit: Any) -> None:
    """With the value that came."""
    with pytest.raises(ValueError, match="the limit must be a number of at least 1"):
        Registry(breaker=limit)


class Broken:
    """A breaker that cannot count."""

    def stopped(self, tool: str, conversation: str, error: ToolboxError, /) -> ToolboxError | None:
        """Take note of a failure."""
        raise ZeroDivisionError

    def passed(self, tool: str, conversation: str, /) -> None:
        """Take note that a call went through."""
        raise ZeroDivisionError


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"number": 2}, CallStatus.DONE),
        ({"number": 0}, CallStatus.FAILED),
        ({"number": "x"}, CallStatus.REFUSED),
        ("{", CallStatus.REFUSED),
    ],
)
def test_a_breaker_that_raises_changes_nothing(arguments: Any, status: CallStatus, is_async: bool) -> None:
    """The call has its result and its record."""
    memory = MemorySink()
    registry = Registry(sinks=[memory], breaker=Broken())

    @registry.tool
    def invert(number: int) -> float:
        """One over a number."""
        return 1 / number

    said = {"conversation_id": "c-1"}
    result = (
        asyncio.run(registry.arun("invert", arguments, metadata=said)) if is_async else registry.run("invert", arguments, metadata=said)
    )
    assert result.ok is (status is CallStatus.DONE)
    assert [item.status for item in memory.records] == [status]


def test_a_conversation_is_counted_by_its_text() -> None:
    """The methods of an id of someone's own cannot disturb the calls of others."""

    class Odd(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            raise ZeroDivisionError

        __hash__ = str.__hash__

    breaker = CircuitBreaker(3)
    registry = Registry(breaker=breaker)

    @registry.tool
    def broken() -> None:
        """Fail."""
        raise ValueError("no")

    registry.run("broken", metadata={"conversation_id": Odd("c-1")})
    registry.run("broken", metadata={"conversation_id": "c-1"})
    assert breaker.count("broken", "c-1") == 2
