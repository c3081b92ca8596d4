"""What the registry offers for providers: one registry serves any model."""

import asyncio
import json
from typing import Any, Literal

import pytest

from toolbox import Registry
from toolbox.errors import PayloadError
from toolbox.providers import UnsupportedTool

pytestmark = pytest.mark.skipif(not hasattr(Registry, "step"), reason="needs Registry.step")


def registry_of_two() -> Any:
    """Two tools, one of which cannot be strict. Typed as Any until the registry has these methods."""
    registry = Registry()

    @registry.tool(name="geo.weather")
    def weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius", days: int | None = None) -> dict[str, Any]:
        """The weather in a city."""
        return {"city": city, "unit": unit, "days": days}

    @registry.tool
    def count(words: dict[str, int]) -> int:
        """Count words."""
        return sum(words.values())

    return registry


def response_of(*calls: tuple[str, str], stop: str = "tool_calls", content: str | None = None) -> dict[str, Any]:
    """A response of Chat Completions."""
    items = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": text}}
        for number, (name, text) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": content, **({"tool_calls": items} if items else {})}
    return {"choices": [{"index": 0, "message": message, "finish_reason": stop}]}


CALL = ("geo_weather", '{"city": "Oslo", "unit": null, "days": null}')


def test_schemas_and_report() -> None:
    """Strict where it can be, with the reason where it cannot."""
    registry = registry_of_two()
    first, second = registry.schemas("openai", strict=True)
    assert first["function"]["strict"] is True
    assert "strict" not in second["function"]
    assert any(loss.tool == "count" and loss.what == "strict" for loss in registry.export_report("openai", strict=True))
    assert not any(loss.what == "strict" for loss in registry.export_report("openai"))
    with pytest.raises(UnsupportedTool):
        registry.schemas("openai", strict=True, on_unsupported="raise")
    assert registry.tool_choice("openai", "geo.weather") == {"tool_choice": {"type": "function", "function": {"name": "geo_weather"}}}


def test_null_means_not_given_after_a_strict_export() -> None:
    """And only then; a high-risk tool takes it too, since nothing was guessed."""
    registry = registry_of_two()
    registry.schemas("openai", strict=True)
    (call,) = registry.parse_calls(response_of(CALL))
    assert (call.name, call.arguments) == ("geo.weather", {"city": "Oslo", "days": None})
    assert registry.run(call.name, call.arguments).value == {"city": "Oslo", "unit": "celsius", "days": None}
    registry.schemas("openai")
    (call,) = registry.parse_calls(response_of(CALL))
    assert call.arguments == CALL[1]


def test_parse_calls_reads_responses_and_text() -> None:
    """Calls of its own, else calls in the text."""
    registry = registry_of_two()
    assert [call.call_id for call in registry.parse_calls(response_of(CALL, CALL))] == ["call_0", "call_1"]
    spoken = '<tool_call>{"name": "count", "arguments": {"words": {"a": 1}}}</tool_call>'
    assert [call.name for call in registry.parse_calls(response_of(stop="stop", content=spoken))] == ["count"]
    assert [call.name for call in registry.parse_calls(spoken)] == ["count"]
    assert registry.parse_calls(response_of(stop="stop", content="hello")) == []
    with pytest.raises(PayloadError, match="too early"):
        registry.parse_calls(response_of(CALL, stop="length"))


def test_step_and_its_asynchronous_twin() -> None:
    """The model's own message and the results, in order; one bad call does not stop the others."""
    registry = registry_of_two()
    response = response_of(CALL, ("count", '{"words": 7}'), ("no_such_tool", "{}"))
    messages = registry.step("openai", response)
    assert messages == asyncio.run(registry.astep("openai", response))
    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "tool"]
    assert json.loads(messages[1]["content"])["city"] == "Oslo"
    assert [result.ok for result in messages.results] == [True, False, False]
    assert not messages.done
    last = registry.step("openai", response_of(stop="stop", content="bye"))
    assert (last, last.done, last.text) == ([{"role": "assistant", "content": "bye"}], True, "bye")


def test_stream_and_results() -> None:
    """Calls of a stream run, and their results go to any provider."""
    registry = registry_of_two()
    stream = registry.stream("openai")
    (choice,) = response_of(CALL, CALL)["choices"]
    deltas = [{"tool_calls": [{**item, "index": index}]} for index, item in enumerate(choice["message"]["tool_calls"])]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    calls = list(stream.read([*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]))
    results = registry.run_calls(calls)
    assert [message["tool_call_id"] for message in registry.to_messages(results, "openai")] == ["call_0", "call_1"]
    (message,) = registry.to_messages(results, "anthropic")
    assert [block["tool_use_id"] for block in message["content"]] == ["call_0", "call_1"]
    assert results[0].to_message("mcp")["structuredContent"] == {"city": "Oslo", "unit": "celsius", "days": None}
