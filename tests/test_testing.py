"""`capture_calls`: what a piece of code called, for the tests of those who use toolbox."""

import asyncio

import pytest

import toolbox
from toolbox import CallStatus, MemorySink, Registry
from toolbox.testing import CapturedCalls, capture_calls


def double(number: int) -> int:
    """A sample tool."""
    return number * 2


def greet(name: str = "you") -> str:
    """A sample tool."""
    return f"hello {name}"


@pytest.fixture
def registry() -> Registry:
    """Two tools."""
    made = Registry()
    made.register(double)
    made.register(greet)
    return made


def test_what_was_called(registry: Registry) -> None:
    """Every call is there: in order, by tool, with what it was invoked with, the mended and the refused ones."""
    with capture_calls(registry) as calls:
        registry.run("double", {"number": 1})
        registry.run("double", {"number": "2"})
        asyncio.run(registry.arun("greet", {"name": "Ada"}))
        registry.run("double", {"number": "x"})
        registry.run("nope", {})
    assert isinstance(calls, MemorySink)
    assert calls.tools == ["double", "double", "greet", "double", "nope"]
    assert calls.arguments("double") == [{"number": 1}, {"number": 2}]
    assert calls.arguments("nope") == []
    assert [item.invoked for item in calls.of("greet")] == [{"name": "Ada"}]
    assert [item.arguments for item in calls.refused] == [{"number": "x"}]
    assert [item.invoked for item in calls.mended] == [{"number": 2}]
    assert calls.last.status is CallStatus.UNKNOWN_TOOL
    assert len(calls) == 5


def test_only_while_the_block_runs(registry: Registry) -> None:
    """Calls before and after are not captured, nor is anything once the block has raised."""
    registry.run("greet", {})

    def within() -> None:
        registry.run("double", {"number": 1})
        raise LookupError

    with capture_calls(registry) as calls, pytest.raises(LookupError):
        within()
    registry.run("greet", {})
    assert calls.tools == ["double"]
    with pytest.raises(LookupError), capture_calls(registry) as others:
        within()
    registry.run("greet", {})
    assert others.tools == ["double"]


def test_captures_may_be_nested(registry: Registry) -> None:
    """Each sees the calls of its own block."""
    with capture_calls(registry) as outer:
        registry.run("greet", {})
        with capture_calls(registry) as inner:
            registry.run("double", {"number": 1})
    assert (outer.tools, inner.tools) == (["greet", "double"], ["double"])


def test_an_empty_registry() -> None:
    """A registry without tools is a registry, and not "none given"."""
    empty = Registry()
    with capture_calls(empty) as calls:
        empty.run("nope", {})
    assert calls.tools == ["nope"]


def test_the_default_registry() -> None:
    """It is watched when no other one is given."""
    with capture_calls() as calls:
        toolbox.default_registry.run("no_such_tool_anywhere", {})
    assert calls.tools == ["no_such_tool_anywhere"]


def test_nothing_was_called() -> None:
    """Asking for the latest of no calls fails the test that asks."""
    with pytest.raises(AssertionError, match="no tool was called"):
        _ = CapturedCalls().last
