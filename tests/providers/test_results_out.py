"""Results on their way back: shapes, ids, errors, media, and conversations that move to another provider."""

import dataclasses
import datetime
import decimal
import json
import re
from typing import Any

import pytest

from toolbox import Registry
from toolbox.payload import FoundCall
from toolbox.providers import PROVIDERS, SentResult, read_response, take_step, tool_choice, write_calls, write_result, write_results
from toolbox.providers.media import Media, parts_of
from toolbox.results import result_text

PNG = b"\x89PNG\r\n\x1a\nxx"


def sent(value: Any = None, *, failed: bool = False, call_id: str | None = "call_1", tool: str = "f") -> SentResult:
    """A result of a value."""
    return SentResult(tool, call_id, "Error: no" if failed else result_text(value), failed, None if failed else value)


OK, BAD = sent({"a": 1}), sent(failed=True)
SHAPES: list[tuple[str, SentResult, Any]] = [
    ("openai", OK, {"role": "tool", "tool_call_id": "call_1", "content": '{"a": 1}'}),
    ("openai", BAD, {"role": "tool", "tool_call_id": "call_1", "content": "Error: no"}),
    ("openai-responses", OK, {"type": "function_call_output", "call_id": "call_1", "output": '{"a": 1}'}),
    ("anthropic", OK, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": '{"a": 1}'}]}),
    (
        "anthropic",
        BAD,
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "Error: no", "is_error": True}]},
    ),
    ("anthropic", sent(""), {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1"}]}),
    ("gemini", OK, {"role": "user", "parts": [{"functionResponse": {"id": "call_1", "name": "f", "response": {"output": {"a": 1}}}}]}),
    ("gemini", sent([1]), {"role": "user", "parts": [{"functionResponse": {"id": "call_1", "name": "f", "response": {"output": [1]}}}]}),
    ("gemini", BAD, {"role": "user", "parts": [{"functionResponse": {"id": "call_1", "name": "f", "response": {"error": "Error: no"}}}]}),
    (
        "gemini",
        sent({"x": {"$ref": "#"}}),
        {"role": "user", "parts": [{"functionResponse": {"id": "call_1", "name": "f", "response": {"output": '{"x": {"$ref": "#"}}'}}}]},
    ),
    (
        "gemini",
        sent("t", call_id="made_123"),
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "t"}}}]},
    ),
    ("bedrock", OK, {"role": "user", "content": [{"toolResult": {"toolUseId": "call_1", "content": [{"json": {"a": 1}}]}}]}),
    ("bedrock", sent([1]), {"role": "user", "content": [{"toolResult": {"toolUseId": "call_1", "content": [{"text": "[1]"}]}}]}),
    (
        "bedrock",
        BAD,
        {"role": "user", "content": [{"toolResult": {"toolUseId": "call_1", "content": [{"text": "Error: no"}], "status": "error"}}]},
    ),
    ("cohere", OK, {"role": "tool", "tool_call_id": "call_1", "content": '{"a": 1}'}),
    ("ollama", sent("t", call_id="made_1"), {"role": "tool", "tool_name": "f", "content": "t"}),
    ("ollama", sent("t"), {"role": "tool", "tool_name": "f", "content": "t", "tool_call_id": "call_1"}),
    ("mcp", OK, {"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 1}, "isError": False}),
    ("mcp", BAD, {"content": [{"type": "text", "text": "Error: no"}], "isError": True}),
    ("json", OK, {"tool": "f", "ok": True, "content": '{"a": 1}', "call_id": "call_1"}),
    ("json", sent("t", call_id=None), {"tool": "f", "ok": True, "content": "t"}),
]


@pytest.mark.parametrize(("provider", "result", "expected"), SHAPES)
def test_shape(provider: str, result: SentResult, expected: Any) -> None:
    """One result in one provider's shape."""
    assert write_results(provider, [result]) == [expected]
    assert write_result(provider, result.text, result.call_id, result.tool, failed=result.failed, value=result.value) == expected


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "bedrock"])
def test_parallel_results_stand_in_one_message(provider: str) -> None:
    """In the order of the calls."""
    (message,) = write_results(provider, [sent("one", call_id="a"), sent("two", call_id="b")])
    text = json.dumps(message)
    assert text.index("one") < text.index("two")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_results_make_no_message(provider: str) -> None:
    """An empty message would be refused."""
    assert write_results(provider, []) == []


@dataclasses.dataclass
class Flight:
    number: str
    at: datetime.datetime
    price: decimal.Decimal


def test_any_python_value() -> None:
    """What a tool returns is JSON on the wire, whatever it is in Python."""
    flight = Flight("SK 1", datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC), decimal.Decimal("9.90"))
    values: list[Any] = [flight, [flight], {"f": flight}, {1, 2}, float("nan"), object(), Exception("x"), b"\xff\x00"]
    np = pytest.importorskip("numpy")
    values += [np.float64(1.5), np.array([1, 2])]
    loop: list[Any] = []
    loop.append(loop)
    for value in [*values, loop]:
        for provider in PROVIDERS:
            json.dumps(write_results(provider, [sent(value)]), allow_nan=False)
    (message,) = write_results("gemini", [sent(flight)])
    assert message["parts"][0]["functionResponse"]["response"]["output"] == {
        "number": "SK 1",
        "at": "2026-01-02T03:04:00+00:00",
        "price": "9.90",
    }


@pytest.mark.parametrize("provider", PROVIDERS)
def test_large_results_are_cut_with_a_note(provider: str) -> None:
    """Whatever the shape."""
    text = json.dumps(write_results(provider, [sent({"k": ["x" * 100] * 5_000})]))
    assert len(text) < 220_000
    assert "[cut:" in text


@pytest.mark.parametrize("provider", PROVIDERS)
def test_media(provider: str) -> None:
    """An image is shown where the provider takes one in a result, and named where it does not."""
    result = sent(["the map", PNG])
    text = json.dumps(write_results(provider, [result]), default=lambda raw: f"raw {len(raw)}")
    shown = Media("image/png", PNG).base64 in text or "raw 10" in text
    assert shown == (provider in ("openai-responses", "anthropic", "gemini", "bedrock", "mcp"))
    assert shown or "[image/png, 10 bytes: cannot be shown here]" in text
    assert "the map" in text


def test_objects_with_media() -> None:
    """Objects of other libraries that have bytes and a type are media too; other bytes are not."""

    class Picture:
        data = b"GIF89a"
        mime_type = "image/gif"

    assert parts_of(Picture(), "text") == [Media("image/gif", b"GIF89a")]
    assert parts_of(b"RIFF1234WEBP", "text") == [Media("image/webp", b"RIFF1234WEBP")]
    assert parts_of(b"plain", "text") == ["text"]
    assert parts_of([1, 2], "[1, 2]") == ["[1, 2]"]


IDS = ["call_1", "functions.f:0", "toolu_01A", "x" * 100, "", "é", "chatcmpl-tool-" + "0" * 32, "made_ab"]
LEGAL = {
    "openai": r".{1,40}",
    "openai-responses": r".{1,64}",
    "anthropic": r"[a-zA-Z0-9_-]+",
    "bedrock": r"[a-zA-Z0-9_.:-]{1,64}",
    "mistral": r"[a-zA-Z0-9]{9}",
    "cohere": r".+",
}


@pytest.mark.parametrize("provider", LEGAL)
def test_a_conversation_moves_to_another_provider(provider: str) -> None:
    """Ids become legal, the same way for call and result, and no two become one."""
    calls = [FoundCall(f"tool.{number}", {"n": number}, call_id, ()) for number, call_id in enumerate(IDS)]
    results = [SentResult(call.name, call.call_id, "ok") for call in calls]
    names = [call.name for call in calls]
    text = json.dumps(write_calls(provider, calls, "hm", tools=names)) + json.dumps(write_results(provider, results, tools=names))
    key = {"anthropic": "id|tool_use_id", "bedrock": "toolUseId", "openai-responses": "call_id"}.get(provider, "id|tool_call_id")
    found = [json.loads(f'"{text}"') for text in re.findall(rf'"(?:{key})": "([^"]*)"', text)]
    own, given = found[: len(IDS)], found[len(IDS) :]
    kept = [pair for pair, call_id in zip(zip(own, given, strict=True), IDS, strict=True) if call_id]
    assert all(one == other for one, other in kept)
    assert all(re.fullmatch(LEGAL[provider], call_id) for call_id in found)
    assert len(set(own)) == len(IDS)


def test_legal_ids_stay() -> None:
    """An id is only touched where it has to be."""
    for provider in LEGAL:
        if provider != "mistral":
            assert "toolu_01A" in json.dumps(write_results(provider, [sent("t", call_id="toolu_01A")]))
    assert "Ab3456789" in json.dumps(write_results("mistral", [sent("t", call_id="Ab3456789")]))


def test_step_answers_every_call_in_order(weather_registry: Registry, weather_tools: Any, running: Any) -> None:
    """Unknown tools and bad arguments are errors for the model, and the others still run."""
    calls = [("1", "geo_weather", '{"city": "Oslo"}'), ("2", "nothing", "{}"), ("3", "geo_weather", "{}")]
    items = [{"id": number, "type": "function", "function": {"name": name, "arguments": text}} for number, name, text in calls]
    response = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": items}, "finish_reason": "tool_calls"}]}
    step = take_step("openai", response, running(weather_registry), lambda result: result, tools=weather_tools)
    assert [message["role"] for message in step] == ["assistant", "tool", "tool", "tool"]
    assert [message["tool_call_id"] for message in step[1:]] == ["1", "2", "3"]
    assert [result.failed for result in step.results] == [False, True, True]
    assert not step.done
    assert step[0]["tool_calls"] == items


def test_step_at_the_end() -> None:
    """The last answer is the model's own message, and nothing is run."""
    response = {
        "choices": [{"message": {"role": "assistant", "content": "done", "annotations": [], "refusal": None}, "finish_reason": "stop"}]
    }
    step = take_step("openai", response, lambda calls: pytest.fail("nothing to run"), lambda result: result)
    assert step == [{"role": "assistant", "content": "done"}]
    assert (step.done, step.text, step.results) == (True, "done", [])


def test_deprecated_function_call_is_answered_by_its_name() -> None:
    """It has no id: its result is a message of the role ``function``."""
    message = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    turn = read_response({"choices": [{"message": message, "finish_reason": "function_call"}]})
    assert turn is not None
    results = [SentResult(call.name, call.call_id, "ok") for call in turn.calls]
    assert turn.answered(results) == [message, {"role": "function", "name": "f", "content": "ok"}]


def test_a_missing_id_is_made_for_call_and_result() -> None:
    """Servers that give no ids are answered with the id that the model's message gets."""
    calls = [{"type": "function", "function": {"name": "f", "arguments": "{}"}}] * 2
    response = {"choices": [{"message": {"role": "assistant", "tool_calls": calls}, "finish_reason": "tool_calls"}]}
    for provider in ("openai", "mistral"):
        turn = read_response(response, provider)
        assert turn is not None
        messages = turn.answered([SentResult(call.name, call.call_id, "ok") for call in turn.calls])
        assert [call["id"] for call in messages[0]["tool_calls"]] == [message["tool_call_id"] for message in messages[1:]]
        assert len({message["tool_call_id"] for message in messages[1:]}) == 2


CHOICES: list[tuple[str, str, bool | None, Any]] = [
    ("openai", "required", None, {"tool_choice": "required"}),
    ("openai", "crm.find", False, {"tool_choice": {"type": "function", "function": {"name": "crm_find"}}, "parallel_tool_calls": False}),
    ("openai-responses", "crm.find", None, {"tool_choice": {"type": "function", "name": "crm_find"}}),
    ("openai-responses", "none", None, {"tool_choice": "none"}),
    ("anthropic", "required", False, {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}}),
    ("anthropic", "crm.find", None, {"tool_choice": {"type": "tool", "name": "crm_find"}}),
    ("anthropic", "none", True, {"tool_choice": {"type": "none"}}),
    ("gemini", "auto", None, {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}),
    ("gemini", "crm.find", None, {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["crm.find"]}}}),
    ("bedrock", "required", None, {"toolChoice": {"any": {}}}),
    ("bedrock", "crm.find", None, {"toolChoice": {"tool": {"name": "crm_find"}}}),
    ("mistral", "required", None, {"tool_choice": "any"}),
    ("mistral", "crm.find", None, {"tool_choice": {"type": "function", "function": {"name": "crm_find"}}}),
    ("cohere", "required", None, {"tool_choice": "REQUIRED"}),
    ("cohere", "auto", None, {}),
    ("ollama", "auto", None, {}),
]


@pytest.mark.parametrize(("provider", "choice", "parallel", "expected"), CHOICES)
def test_tool_choice(provider: str, choice: str, parallel: bool | None, expected: Any) -> None:
    """The part of a request that says which tools may be called."""
    assert tool_choice(provider, choice, tools=["crm.find"], parallel=parallel) == expected


@pytest.mark.parametrize(
    ("provider", "choice"), [("cohere", "f"), ("ollama", "required"), ("bedrock", "none"), ("mcp", "auto"), ("json", "f")]
)
def test_tool_choice_that_a_provider_does_not_have(provider: str, choice: str) -> None:
    """It is refused, with what to do instead."""
    with pytest.raises(ValueError, match=r"send only|leave toolConfig out"):
        tool_choice(provider, choice)


def test_tool_choice_passes_the_sdks(bedrock_check: Any, check: Any) -> None:
    """Choices are validated like everything else."""
    for choice in ("auto", "required", "f"):
        bedrock_check("ToolChoice", tool_choice("bedrock", choice)["toolChoice"])
    kinds = pytest.importorskip("google.genai.types")
    check(kinds.ToolConfig, tool_choice("gemini", "f")["toolConfig"])
    anthropic = pytest.importorskip("anthropic.types")
    check(anthropic.ToolChoiceParam, tool_choice("anthropic", "f", parallel=True)["tool_choice"])
    openai = pytest.importorskip("openai.types.chat")
    check(openai.ChatCompletionToolChoiceOptionParam, tool_choice("openai", "f")["tool_choice"])
