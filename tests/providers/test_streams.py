"""Streams: calls are handed out when they are whole, shown before, and refused when they were cut off."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from toolbox.errors import PayloadError
from toolbox.payload import FoundCall
from toolbox.providers import ExportedTool, SentResult, read_response, stream_calls, take_step
from toolbox.providers.streaming import CallStream


def open_stream(provider: str, **options: Any) -> CallStream[FoundCall]:
    """A stream whose calls are handed out as they are."""
    return stream_calls(provider, lambda call: call, **options)


def chat(*deltas: dict[str, Any], stop: str | None = "tool_calls") -> list[dict[str, Any]]:
    """Chunks of Chat Completions."""
    chunks: list[dict[str, Any]] = [{"id": "r", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return [*chunks, {"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]}] if stop else chunks


def piece(index: int | None, arguments: Any, call_id: str | None = None, name: str | None = None) -> dict[str, Any]:
    """A fragment of a call of Chat Completions."""
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    whole = {"index": index, "id": call_id, "function": function}
    return {"tool_calls": [{key: item for key, item in whole.items() if item is not None}]}


def anthropic(*inputs: list[str], stop: str | None = "tool_use", text: str = "") -> list[dict[str, Any]]:
    """Events of Anthropic: one call for each list of pieces."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "r", "role": "assistant", "content": [], "stop_reason": None}}
    ]
    if text:
        events.append({"type": "content_block_start", "index": 9, "content_block": {"type": "text", "text": ""}})
        events.append({"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": text}})
    for index, pieces in enumerate(inputs):
        block = {"type": "tool_use", "id": f"t{index}", "name": "f", "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [
            {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": part}}
            for part in ["", *pieces]
        ]
        events.append({"type": "content_block_stop", "index": index})
    if stop:
        events += [{"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]
    return events


def responses(arguments: list[str], *, end: str | None = "completed", item_status: str = "completed") -> list[dict[str, Any]]:
    """Events of the Responses API: one call."""
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "", "status": "in_progress"}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r", "object": "response", "status": "in_progress", "output": []}}
    ]
    events.append({"type": "response.output_item.added", "output_index": 0, "item": item})
    events += [{"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc", "delta": part} for part in arguments]
    done = {**item, "arguments": "".join(arguments), "status": item_status}
    events.append({"type": "response.output_item.done", "output_index": 0, "item": done})
    if end:
        whole = {"id": "r", "object": "response", "status": end, "output": [done], "incomplete_details": {"reason": "max_output_tokens"}}
        events.append({"type": f"response.{end}", "response": whole})
    return events


def bedrock(pieces: list[str], stop: str | None = "tool_use") -> list[dict[str, Any]]:
    """Events of Bedrock: one call."""
    events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    events.append({"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t", "name": "f"}}}})
    events += [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": part}}}} for part in pieces]
    events.append({"contentBlockStop": {"contentBlockIndex": 0}})
    return [*events, {"messageStop": {"stopReason": stop}}] if stop else events


def cohere(pieces: list[str], stop: str | None = "TOOL_CALL") -> list[dict[str, Any]]:
    """Events of Cohere: one call."""
    events: list[dict[str, Any]] = [{"type": "message-start", "id": "r", "delta": {"message": {"role": "assistant"}}}]
    begun = {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": ""}}
    events.append({"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": begun}}})
    events += [
        {"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls": {"function": {"arguments": part}}}}} for part in pieces
    ]
    events.append({"type": "tool-call-end", "index": 0})
    return [*events, {"type": "message-end", "delta": {"finish_reason": stop}}] if stop else events


def gemini(*parts: dict[str, Any], stop: str | None = "STOP") -> list[dict[str, Any]]:
    """Responses of Gemini."""
    events: list[dict[str, Any]] = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts]
    return [*events, {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": stop}]}] if stop else events


def ollama(*calls: dict[str, Any], stop: str | None = "stop") -> list[dict[str, Any]]:
    """Lines of Ollama."""
    lines: list[dict[str, Any]] = [{"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False} for call in calls]
    return [*lines, {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": stop}] if stop else lines


WHOLE: list[tuple[str, str, list[dict[str, Any]], list[Any]]] = [
    ("chat", "openai", chat(piece(0, "", "c1", "f"), piece(0, '{"a"'), piece(0, ": 1}")), ['{"a": 1}']),
    (
        "chat parallel",
        "openai",
        chat(piece(0, "", "c1", "f"), piece(0, '{"a": 1}'), piece(1, "", "c2", "f"), piece(1, "{}")),
        ['{"a": 1}', "{}"],
    ),
    (
        "chat interleaved",
        "openai",
        chat(piece(0, "", "c1", "f"), piece(1, "", "c2", "f"), piece(0, "{}"), piece(1, '{"b": 2}')),
        ["{}", '{"b": 2}'],
    ),
    ("chat no arguments", "openai", chat(piece(0, "", "c1", "f")), [{}]),
    ("chat index 0 for all", "openai", chat(piece(0, "{}", "c1", "f"), piece(0, '{"b": 2}', "c2", "f")), ["{}", '{"b": 2}']),
    ("chat no index", "openai", chat(piece(None, '{"a"', "c1", "f"), piece(None, ": 1}")), ['{"a": 1}']),
    ("chat broken JSON is left to be mended", "openai", chat(piece(0, "{'a': 1,}", "c1", "f")), ["{'a': 1,}"]),
    (
        "chat function_call",
        "openai",
        chat({"function_call": {"name": "f", "arguments": ""}}, {"function_call": {"arguments": "{}"}}, stop="function_call"),
        ["{}"],
    ),
    ("mistral", "mistral", [{"data": chunk} for chunk in chat(piece(0, {"a": 1}, "c1", "f"))], [{"a": 1}]),
    ("responses", "openai-responses", responses(['{"a', '": 1}']), ['{"a": 1}']),
    ("anthropic", "anthropic", anthropic(['{"a', '": 1}'], ['{"b": 2}']), ['{"a": 1}', '{"b": 2}']),
    ("anthropic no arguments", "anthropic", anthropic([]), [{}]),
    ("bedrock", "bedrock", bedrock(['{"a', '": 1}']), ['{"a": 1}']),
    ("cohere", "cohere", cohere(['{"a', '": 1}']), ['{"a": 1}']),
    ("gemini", "gemini", gemini({"functionCall": {"name": "f", "args": {"a": 1}}}, {"functionCall": {"name": "f"}}), [{"a": 1}, {}]),
    (
        "gemini piece by piece",
        "gemini",
        gemini(
            {"functionCall": {"name": "f", "id": "1", "willContinue": True}},
            {"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "New ", "willContinue": True}], "willContinue": True}},
            {"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "Delhi"}], "willContinue": True}},
            {
                "functionCall": {
                    "partialArgs": [{"jsonPath": "$.b[0].c", "numberValue": 2}, {"jsonPath": "$.d", "boolValue": False}],
                    "willContinue": True,
                }
            },
            {"functionCall": {}},
        ),
        [{"a": "New Delhi", "b": [{"c": 2}], "d": False}],
    ),
    (
        "ollama",
        "ollama",
        ollama({"function": {"name": "f", "arguments": {"a": 1}}}, {"function": {"name": "f", "arguments": {}}}),
        [{"a": 1}, {}],
    ),
]
whole = pytest.mark.parametrize(("provider", "events", "expected"), [case[1:] for case in WHOLE], ids=[case[0] for case in WHOLE])


@whole
def test_calls_are_handed_out_once_and_whole(provider: str, events: list[Any], expected: list[Any]) -> None:
    """In order, with ids of their own, and the same as in the response that the events make up."""
    stream = open_stream(provider)
    calls = list(stream.read(events))
    assert [call.arguments for call in calls] == expected
    assert {call.name for call in calls} == {"f"}
    assert len({call.call_id for call in calls}) == len(calls)
    assert stream.partial == []
    turn = read_response(stream.response, provider)
    assert turn is not None
    again = [(c.name, c.call_id, json.loads(c.arguments) if _is_json(c.arguments) else c.arguments) for c in turn.runnable()]
    if "function_call" not in json.dumps(events):
        assert again == [(c.name, c.call_id, json.loads(c.arguments) if _is_json(c.arguments) else c.arguments) for c in calls]


def _is_json(value: Any) -> bool:
    try:
        json.loads(value)
    except (TypeError, ValueError):
        return False
    return True


def raw_lines(provider: str, events: Iterable[Any]) -> str:
    """Events as they go over the wire."""
    if provider == "ollama":
        return "".join(json.dumps(event) + "\n" for event in events)
    return ": comment\n\n" + "".join(f"event: {event.get('type')}\ndata: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


@whole
@pytest.mark.parametrize("size", [1, 2, 7, 1_000_000, None], ids=["characters", "twos", "sevens", "at once", "lines"])
def test_raw_text_in_any_portion(provider: str, events: list[Any], expected: list[Any], size: int | None) -> None:
    """Server-sent events and lines of JSON, cut anywhere, as text and as bytes, or line by line without the line ends."""
    raw = raw_lines(provider, events)
    portions: list[Any] = raw.split("\n") if size is None else [raw[start : start + size] for start in range(0, len(raw), size)]
    assert [call.arguments for call in open_stream(provider).read(portions)] == expected
    coded = raw.encode()
    if size is not None:
        portions = [coded[start : start + size] for start in range(0, len(coded), size)]
        assert [call.arguments for call in open_stream(provider).read(portions)] == expected


def test_letters_cut_in_two_and_odd_line_ends() -> None:
    """A letter may be cut in two, and what Unicode calls a line end may stand inside a text."""
    events = chat(piece(0, json.dumps({"a": "é\u2028\u0085x"}, ensure_ascii=False), "c1", "f"))
    raw = "".join(f"data: {json.dumps(event, ensure_ascii=False)}\r\n\r\n" for event in events).encode()
    (call,) = open_stream("openai").read([raw[start : start + 1] for start in range(len(raw))])
    assert json.loads(call.arguments) == {"a": "é\u2028\u0085x"}


def test_a_last_line_without_an_end_and_a_broken_line() -> None:
    """The last line may lack its end; a line that is broken does not take the others with it."""
    lines = [json.dumps(line) for line in ollama({"function": {"name": "f", "arguments": {"a": 1}}})]
    text = "\n".join(lines)
    for portions in ([text], [text[:50], text[50:]], [text[:-5], text[-5:]], ["data: {broken", *(f"data: {line}" for line in lines)]):
        assert [call.arguments for call in open_stream("ollama").read(portions)] == [{"a": 1}]


CUT: list[tuple[str, str, list[dict[str, Any]], int]] = [
    ("chat", "openai", chat(piece(0, "", "c1", "f"), piece(0, '{"a": '), stop="length"), 0),
    ("chat empty", "openai", chat(piece(0, "", "c1", "f"), stop="length"), 0),
    ("chat second", "openai", chat(piece(0, "{}", "c1", "f"), piece(1, '{"a', "c2", "f"), stop="length"), 1),
    ("chat filtered", "openai", chat(piece(0, '{"a": 1}', "c1", "f"), stop="content_filter"), 0),
    ("chat broken off", "openai", chat(piece(0, '{"a": 1}', "c1", "f"), stop=None), 0),
    ("responses", "openai-responses", responses(['{"a'], end="incomplete", item_status="incomplete"), 0),
    ("responses broken off", "openai-responses", responses(['{"a'], end=None), 0),
    ("anthropic", "anthropic", anthropic(['{"a'], stop="max_tokens"), 0),
    ("anthropic empty", "anthropic", anthropic([], stop="max_tokens"), 0),
    ("anthropic second", "anthropic", anthropic(['{"a": 1}'], ['{"a'], stop="max_tokens"), 1),
    ("anthropic broken off", "anthropic", anthropic([], stop=None), 0),
    ("bedrock", "bedrock", bedrock(['{"a'], stop="max_tokens"), 0),
    ("bedrock malformed", "bedrock", bedrock(['{"a'], stop="malformed_tool_use"), 0),
    ("cohere", "cohere", cohere(['{"a'], stop="MAX_TOKENS"), 0),
    ("gemini piece by piece", "gemini", gemini({"functionCall": {"name": "f", "willContinue": True}}, stop="MAX_TOKENS"), 0),
]


@pytest.mark.parametrize(("provider", "events", "complete"), [case[1:] for case in CUT], ids=[case[0] for case in CUT])
def test_what_was_cut_off_is_never_handed_out(provider: str, events: list[Any], complete: int) -> None:
    """Calls before it that are certainly whole are; at the end the error comes, and the model is told."""
    stream = open_stream(provider)
    calls: list[FoundCall] = []
    with pytest.raises(PayloadError, match=r"too early|broke off|could not be read") as caught:
        calls.extend(stream.read(events))
    assert caught.value.reason in ("truncated", "malformed")
    assert len(calls) == complete
    assert stream.partial
    step = take_step(provider, stream.response, lambda calls: pytest.fail("nothing may be run"), lambda result: result)
    assert not step.done
    assert len(step) >= 2


def test_text_that_was_cut_off_is_no_error() -> None:
    """Nothing was asked for."""
    stream = open_stream("openai")
    assert list(stream.read(chat({"content": "hel"}, {"content": "lo"}, stop="length"))) == []
    assert stream.text == "hello"


def test_partial_calls_are_for_display() -> None:
    """What has come of a call can be seen on the way."""
    stream = open_stream("anthropic")
    events = anthropic(['{"ci', 'ty": "Os', 'lo"}'], text="I look.")
    seen = []
    for event in events:
        stream.feed(event)
        seen += [call.arguments for call in stream.partial]
    assert '{"city": "Os' in seen
    assert stream.partial == []
    assert stream.text == "I look."


def test_a_whole_call_is_handed_out_before_the_next_has_ended() -> None:
    """As soon as it is certain."""
    stream = open_stream("anthropic")
    handed = [len(stream.feed(event)) for event in anthropic(['{"a": 1}'], ['{"b": 2}'])]
    assert handed.index(1) < len(handed) - 3
    assert sum(handed) == 2


def test_more_arguments_for_a_call_that_was_handed_out() -> None:
    """A stream that contradicts itself is refused."""
    stream = open_stream("openai")
    events = chat(piece(0, "{}", "c1", "f"), piece(1, "{", "c2", "f"), piece(0, "more"))
    with pytest.raises(PayloadError) as caught:
        list(stream.read(events))
    assert caught.value.reason == "broken_stream"


def test_endless_streams_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream has a limit."""
    monkeypatch.setattr("toolbox.providers.streaming.MOST_CHARACTERS", 1_000)
    with pytest.raises(PayloadError) as caught:
        list(open_stream("openai").read(chat(*[piece(0, "x" * 100, "c1", "f")] * 20)))
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize("provider", ["mcp", "json"])
def test_no_streams(provider: str) -> None:
    """Some have none."""
    with pytest.raises(ValueError, match="no streams"):
        open_stream(provider)


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "gemini", "bedrock", "mistral", "cohere", "ollama"])
def test_odd_events_are_passed_over(provider: str) -> None:
    """Unknown, empty and broken events change nothing."""
    stream = open_stream(provider)
    odd: list[Any] = [
        {},
        {"type": "ping"},
        {"choices": []},
        {"choices": [None]},
        {"candidates": []},
        {"message": None},
        {"delta": None},
        "data: {broken\n\n",
        "data: 7\n",
        "event: x\n\n",
        b"\n",
        {"metadata": {}},
        {"type": "content_block_delta", "index": 7},
        {"type": "response.output_item.added"},
    ]
    for event in odd:
        assert stream.feed(event) == []
    stream.close()
    assert stream.text == ""


def test_names_and_nulls_are_read_back(weather_tools: list[ExportedTool]) -> None:
    """As in a response that was not streamed."""
    stream = open_stream("openai", tools=weather_tools, strict=True)
    (call,) = stream.read(chat(piece(0, '{"city": "Oslo", "unit": null}', "c1", "geo_weather")))
    assert (call.name, call.arguments) == ("geo.weather", {"city": "Oslo"})


def test_thinking_comes_back_with_its_signature() -> None:
    """The assembled message holds what the provider wants back."""
    events = anthropic(['{"a": 1}'])
    thinking = [
        {"type": "content_block_start", "index": -1, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "index": -1, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": -1, "delta": {"type": "signature_delta", "signature": "sig"}},
    ]
    stream = open_stream("anthropic")
    list(stream.read([events[0], *thinking, *events[1:]]))
    step = take_step("anthropic", stream.response, lambda calls: [SentResult("f", calls[0].call_id, "ok")], lambda result: result)
    assert step[0]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "sig"}
    assert step[1]["content"][0]["tool_use_id"] == "t0"
