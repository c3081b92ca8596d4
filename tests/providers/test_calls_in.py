"""The calls in responses: plain dicts and SDK objects, single and parallel, whole and cut off."""

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from toolbox import Registry
from toolbox.errors import PayloadError
from toolbox.payload import FoundCall
from toolbox.providers import ExportedTool, export_tools, provider_of, read_response
from toolbox.providers.parameters import property_names
from toolbox.providers.shared import NameRule
from toolbox.providers.turns import Turn
from toolbox.schema import read_schema


def chat_call(call_id: str | None, arguments: Any, name: str = "f") -> dict[str, Any]:
    """A call of Chat Completions."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def chat(calls: list[Any], stop: str = "tool_calls", content: Any = None) -> dict[str, Any]:
    """A response of Chat Completions."""
    return {
        "id": "r",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content, "tool_calls": calls}, "finish_reason": stop}],
    }


def items(*calls: dict[str, Any], status: str = "completed", **extra: Any) -> dict[str, Any]:
    """A response of the Responses API."""
    return {"object": "response", "id": "r", "status": status, "output": [{"type": "function_call", **call} for call in calls], **extra}


def blocks(*content: dict[str, Any], stop: str = "tool_use") -> dict[str, Any]:
    """A message of Anthropic."""
    return {"id": "r", "type": "message", "role": "assistant", "content": list(content), "stop_reason": stop}


def parts(*found: dict[str, Any], stop: str = "STOP") -> dict[str, Any]:
    """A response of Gemini."""
    return {"candidates": [{"content": {"role": "model", "parts": list(found)}, "finishReason": stop}]}


def converse(*content: dict[str, Any], stop: str = "tool_use") -> dict[str, Any]:
    """A response of Bedrock."""
    return {"output": {"message": {"role": "assistant", "content": list(content)}}, "stopReason": stop}


def cohere(calls: list[Any], stop: str = "TOOL_CALL") -> dict[str, Any]:
    """A response of Cohere."""
    return {"id": "r", "message": {"role": "assistant", "tool_plan": "plan", "tool_calls": calls}, "finish_reason": stop}


def ollama(*calls: dict[str, Any], stop: str = "stop") -> dict[str, Any]:
    """A response of Ollama."""
    return {"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": list(calls)}, "done": True, "done_reason": stop}


A, B = {"a": 1}, {"b": [None, "é"]}
AT, BT = json.dumps(A), json.dumps(B)
USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": A}

# what arrives, the provider that it is of, the calls in it as (name, arguments, id); None for an id that has to be made
FOUND: list[tuple[str, Any, str, list[tuple[str, Any, str | None]]]] = [
    ("chat", chat([chat_call("c1", AT)]), "openai", [("f", AT, "c1")]),
    ("chat parallel", chat([chat_call("c1", AT), chat_call("c2", BT, "g")]), "openai", [("f", AT, "c1"), ("g", BT, "c2")]),
    ("chat no arguments", chat([chat_call("c1", "")]), "openai", [("f", {}, "c1")]),
    ("chat null arguments", chat([chat_call("c1", None)]), "openai", [("f", {}, "c1")]),
    ("chat broken JSON stays text", chat([chat_call("c1", "{'a': 1,}")]), "openai", [("f", "{'a': 1,}", "c1")]),
    ("chat object arguments", chat([chat_call("c1", A)]), "openai", [("f", A, "c1")]),
    ("chat no id", chat([chat_call(None, AT)]), "openai", [("f", AT, None)]),
    ("chat id of Mistral's SDK", chat([chat_call("null", AT)]), "openai", [("f", AT, None)]),
    ("chat message", chat([chat_call("c1", AT)])["choices"][0]["message"], "openai", [("f", AT, "c1")]),
    ("chat stop by text", chat([chat_call("c1", AT)], stop="stop"), "openai", [("f", AT, "c1")]),
    ("chat text only", chat([], stop="stop", content="hello"), "openai", []),
    ("chat text cut off", chat([], stop="length", content="hel"), "openai", []),
    (
        "chat function_call",
        {
            "choices": [
                {"message": {"role": "assistant", "function_call": {"name": "f", "arguments": AT}}, "finish_reason": "function_call"}
            ]
        },
        "openai",
        [("f", AT, None)],
    ),
    (
        "chat custom",
        chat([{"id": "c1", "type": "custom", "custom": {"name": "f", "input": "free text"}}]),
        "openai",
        [("f", "free text", "c1")],
    ),
    ("responses", items({"id": "fc_1", "call_id": "c1", "name": "f", "arguments": AT}), "openai-responses", [("f", AT, "c1")]),
    (
        "responses parallel",
        items({"id": "1", "call_id": "c1", "name": "f", "arguments": AT}, {"id": "2", "call_id": "c2", "name": "f", "arguments": BT}),
        "openai-responses",
        [("f", AT, "c1"), ("f", BT, "c2")],
    ),
    ("responses output", items({"call_id": "c1", "name": "f", "arguments": AT})["output"], "openai-responses", [("f", AT, "c1")]),
    ("anthropic", blocks({"type": "text", "text": "I look"}, USE), "anthropic", [("f", A, "toolu_1")]),
    ("anthropic parallel", blocks(USE, {**USE, "id": "toolu_2", "input": B}), "anthropic", [("f", A, "toolu_1"), ("f", B, "toolu_2")]),
    (
        "anthropic server tools are not ours",
        blocks({"type": "server_tool_use", "id": "s", "name": "web", "input": {}}, USE),
        "anthropic",
        [("f", A, "toolu_1")],
    ),
    ("anthropic message", {"role": "assistant", "content": [USE]}, "anthropic", [("f", A, "toolu_1")]),
    ("gemini", parts({"functionCall": {"id": "1", "name": "f", "args": A}}), "gemini", [("f", A, "1")]),
    ("gemini no id, no args", parts({"functionCall": {"name": "f"}}), "gemini", [("f", {}, None)]),
    ("gemini snake case", parts({"function_call": {"id": "1", "name": "f", "args": A}}), "gemini", [("f", A, "1")]),
    ("gemini content", {"role": "model", "parts": [{"functionCall": {"id": "1", "name": "f", "args": A}}]}, "gemini", [("f", A, "1")]),
    ("gemini blocked", {"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}}, "gemini", []),
    ("bedrock", converse({"text": "t"}, {"toolUse": {"toolUseId": "t1", "name": "f", "input": A}}), "bedrock", [("f", A, "t1")]),
    (
        "bedrock message",
        converse({"toolUse": {"toolUseId": "t1", "name": "f", "input": A}})["output"]["message"],
        "bedrock",
        [("f", A, "t1")],
    ),
    ("cohere", cohere([chat_call("f_1", AT)]), "cohere", [("f", AT, "f_1")]),
    ("ollama", ollama({"function": {"name": "f", "arguments": A}}), "ollama", [("f", A, None)]),
    ("ollama with id", ollama({"id": "o1", "function": {"name": "f", "arguments": A}}), "ollama", [("f", A, "o1")]),
    ("mcp", {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "f", "arguments": A}}, "mcp", [("f", A, "7")]),
    ("mcp no arguments", {"id": 7, "method": "tools/call", "params": {"name": "f"}}, "mcp", [("f", {}, "7")]),
]


def turn_of(response: Any, provider: str | None = None, **options: Any) -> Turn:
    """The turn of a response that is one."""
    turn = read_response(response, provider, **options)
    assert turn is not None
    return turn


def shown(calls: list[FoundCall]) -> list[tuple[str, Any, str | None]]:
    """Calls as tuples; an id that was made as None."""
    return [(c.name, c.arguments, None if str(c.call_id).startswith(("made_", "function_call_")) else c.call_id) for c in calls]


@pytest.mark.parametrize(("response", "provider", "expected"), [case[1:] for case in FOUND], ids=[case[0] for case in FOUND])
def test_calls_are_found(response: Any, provider: str, expected: Any) -> None:
    """The provider is recognised, and its calls are read, from dicts and from objects; the response is left as it was."""
    before = json.dumps(response)
    assert provider_of(response) == provider
    for given in (response, json.loads(before, object_hook=lambda data: SimpleNamespace(**data))):
        turn = turn_of(given, provider)
        assert shown(turn.runnable()) == expected
        assert len({call.call_id for call in turn.calls}) == len(turn.calls)
        assert all(call.call_id for call in turn.calls)
        assert [call.call_id for call in turn_of(response, provider).calls] == [call.call_id for call in turn.calls]
    assert json.dumps(response) == before


CUT: list[tuple[str, Any, str]] = [
    ("chat", chat([chat_call("c1", '{"a": ')], stop="length"), "length"),
    ("chat complete JSON", chat([chat_call("c1", AT)], stop="length"), "length"),
    ("chat filtered", chat([chat_call("c1", AT)], stop="content_filter"), "content_filter"),
    ("mistral", chat([chat_call("c1", AT)], stop="model_length"), "model_length"),
    (
        "responses",
        items({"call_id": "c1", "name": "f", "arguments": '{"a'}, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        "max_output_tokens",
    ),
    ("responses item", items({"call_id": "c1", "name": "f", "arguments": '{"a', "status": "incomplete"}), "incomplete"),
    ("anthropic empty input", blocks({**USE, "input": {}}, stop="max_tokens"), "max_tokens"),
    ("anthropic window", blocks(USE, stop="model_context_window_exceeded"), "model_context_window_exceeded"),
    ("gemini", parts({"functionCall": {"name": "f", "args": A}}, stop="MAX_TOKENS"), "MAX_TOKENS"),
    ("gemini safety", parts({"functionCall": {"name": "f", "args": A}}, stop="SAFETY"), "SAFETY"),
    ("bedrock", converse({"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}, stop="max_tokens"), "max_tokens"),
    ("cohere", cohere([chat_call("f_1", AT)], stop="MAX_TOKENS"), "MAX_TOKENS"),
    ("ollama", ollama({"function": {"name": "f", "arguments": A}}, stop="length"), "length"),
]


@pytest.mark.parametrize(("response", "reason"), [case[1:] for case in CUT], ids=[case[0] for case in CUT])
def test_what_was_cut_off_is_refused_and_answered(response: Any, reason: str) -> None:
    """No call of it may be run, and every call gets the reason for an answer, so that the conversation can go on."""
    turn = turn_of(response)
    with pytest.raises(PayloadError, match=reason) as caught:
        turn.runnable()
    assert caught.value.reason == "truncated"
    messages = turn.answered([])
    assert not messages.done
    assert reason in json.dumps(messages[1:])
    assert len(messages) == 2


@pytest.mark.parametrize(
    "response",
    [
        {"candidates": [{"content": {"role": "model"}, "finishReason": "MALFORMED_FUNCTION_CALL"}]},
        {"candidates": [{"content": None, "finishReason": "UNEXPECTED_TOOL_CALL"}]},
        converse(stop="malformed_tool_use"),
    ],
)
def test_a_malformed_call_is_refused_and_told(response: Any) -> None:
    """The provider itself could not read the call: the model is told so in a user's message."""
    turn = turn_of(response)
    with pytest.raises(PayloadError) as caught:
        turn.runnable()
    assert caught.value.reason == "malformed"
    (message,) = turn.answered([])
    assert message["role"] == "user"
    assert "could not be read" in json.dumps(message)


@pytest.mark.parametrize(
    ("response", "texts"),
    [
        (chat([], "stop", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]), ["one", "two"]),
        (
            blocks(
                {"type": "text", "text": "one"}, {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "two"}, stop="end_turn"
            ),
            ["one", "two"],
        ),
        (parts({"text": "hm", "thought": True}, {"text": "one"}, {"text": "two"}), ["one", "two"]),
        (converse({"text": "one"}, {"text": "two"}, stop="end_turn"), ["one", "two"]),
        (
            {
                "object": "response",
                "output": [{"type": "message", "content": [{"type": "output_text", "text": t}]} for t in ("one", "two")],
            },
            ["one", "two"],
        ),
        ({"message": {"role": "assistant", "content": [{"type": "text", "text": "one"}]}, "finish_reason": "COMPLETE"}, ["one"]),
        ({"message": {"role": "assistant", "content": "one"}, "done": True}, ["one"]),
    ],
)
def test_text_parts(response: Any, texts: list[str]) -> None:
    """All text parts are given, and thoughts are not among them."""
    turn = turn_of(response)
    assert turn.texts == texts
    assert turn.answered([]).text == "".join(texts)
    assert turn.answered([]).done


@pytest.mark.parametrize(
    "other",
    [
        "text",
        {},
        [],
        None,
        7,
        {"name": "f", "arguments": {}},
        {"tool_calls": []},
        {"choices": []},
        {"output": "x"},
        {"role": "user", "content": []},
        [{"a": 1}],
    ],
)
def test_what_is_no_response_is_not_taken_for_one(other: Any) -> None:
    """It is left to whoever reads plain shapes and text."""
    assert read_response(other) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"choices": [{"message": None, "finish_reason": "stop"}]},
        chat(["x", None, {"id": 3}, {"function": "f"}, {"function": {"name": None, "arguments": 3}}]),
        blocks({"type": "tool_use"}, {"type": "text", "text": None}),
        parts({"functionCall": None}, {"functionCall": {}}),
        converse({"toolUse": {}}, {"toolUse": None}),
        items({"name": None}),
        {"message": {"role": "assistant", "tool_calls": [{}]}, "done": True},
        {"message": {"role": "assistant", "tool_calls": [{}]}, "finish_reason": None},
    ],
)
def test_broken_responses_do_not_break_the_reader(broken: Any) -> None:
    """They may hold no usable call, but they are read and answered."""
    turn = turn_of(broken)
    turn.answered(turn.refusals())


def test_names_come_back(weather_tools: list[ExportedTool]) -> None:
    """A name that was made legal is read back as it is registered; an unknown one is left to the registry."""
    turn = turn_of(chat([chat_call("1", "{}", "geo_weather"), chat_call("2", "{}", "other")]), tools=weather_tools)
    assert [call.name for call in turn.calls] == ["geo.weather", "other"]


SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "default": 3},
        "s": {"type": ["string", "null"]},
        "in": {"type": "object", "properties": {"deep": {"type": "integer"}, "must": {"type": "string"}}, "required": ["must"]},
    },
    "required": [],
}


def test_null_stands_for_not_given_in_strict_alone() -> None:
    """Where a tool was exported as strict; what takes null keeps it, and what is required keeps it, to be refused."""
    tools = [ExportedTool("f", "", SCHEMA)]
    arguments = json.dumps({"n": None, "s": None, "in": {"deep": None, "must": None}})
    response = chat([chat_call("1", arguments)])
    assert turn_of(response, tools=tools).calls[0].arguments == arguments
    for strict in (True, {"openai"}):
        (call,) = turn_of(response, tools=tools, strict=strict).calls
        assert call.arguments == {"s": None, "in": {"must": None}}
        assert [str(note) for note in call.diagnostics if note.path == "$.n"] != []
    assert turn_of(response, tools=tools, strict={"mistral"}).calls[0].arguments == arguments


def test_null_means_in_a_call_what_the_export_says() -> None:
    """Where null is a value of its own behind a reference, whatever stands beside it, it is not said to stand for "not given"."""
    definitions = {"Name": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "Again": {"$ref": "#/$defs/Name", "not": {"const": "x"}}}
    kinds = [{"$ref": "#/$defs/Name"}, {"$ref": "#/$defs/Name", "not": {"const": "x"}}, {"$ref": "#/$defs/Again", "not": {"const": "y"}}]
    properties = {"p": {"type": "string"}, **{f"n{index}": kind for index, kind in enumerate(kinds)}}
    tools = [ExportedTool("f", "", {"type": "object", "properties": properties, "$defs": definitions})]
    made = export_tools("openai", tools, strict=True)
    declared = made.tools[0]["function"]["parameters"]["properties"]
    dropped = [name for name, item in declared.items() if "null means not given" in str(item)]
    assert dropped == ["p"]
    (call,) = turn_of(chat([chat_call("1", json.dumps(dict.fromkeys(properties)))]), tools=tools, strict=True).calls
    assert call.arguments == {"n0": None, "n1": None, "n2": None}


def test_strict_keeps_broken_text_and_long_numbers() -> None:
    """Text that is no JSON is left to be mended; the literal of a number is kept."""
    tools = [ExportedTool("f", "", {"type": "object", "properties": {"n": {"type": "number"}}})]
    broken = chat([chat_call("1", "{'n': 1")])
    assert turn_of(broken, tools=tools, strict=True).calls[0].arguments == "{'n': 1"
    exact = chat([chat_call("1", '{"n": 0.10000000000000000001, "z": null}')])
    (call,) = turn_of(exact, tools=tools, strict=True).calls
    assert call.arguments["n"].text == "0.10000000000000000001"


def test_a_whole_conversation_in_the_registry(weather_registry: Registry, weather_tools: list[ExportedTool]) -> None:
    """What is read runs."""
    (call,) = turn_of(chat([chat_call("1", '{"city": "Oslo", "unit": null}', "geo_weather")]), tools=weather_tools, strict=True).runnable()
    assert weather_registry.dispatch(call.name, call.arguments) == {"city": "Oslo", "degrees": 21}


def test_sdk_objects() -> None:
    """The objects of the real SDKs are read like the dicts that they stand for."""
    chats = pytest.importorskip("openai.types.chat")
    whole = {**chat([chat_call("c1", AT)]), "object": "chat.completion", "created": 1, "model": "m"}
    completion = chats.ChatCompletion.model_validate(whole)
    for given in (completion, completion.choices[0].message):
        assert shown(turn_of(given).calls) == [("f", AT, "c1")]
    responses = pytest.importorskip("openai.types.responses")
    item = responses.ResponseFunctionToolCall(type="function_call", id="fc", call_id="c1", name="f", arguments=AT)
    assert shown(turn_of([item]).calls) == [("f", AT, "c1")]
    kinds = pytest.importorskip("anthropic.types")
    message = kinds.Message.model_validate({**blocks({**USE, "input": B}), "model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}})
    turn = turn_of(message)
    assert shown(turn.calls) == [("f", B, "toolu_1")]
    assert turn.own[0]["content"][0]["input"] == B
    genai = pytest.importorskip("google.genai.types")
    response = genai.GenerateContentResponse.model_validate(
        parts({"functionCall": {"name": "f", "args": B}, "thoughtSignature": b"\xff\x00"})
    )
    turn = turn_of(response)
    assert shown(turn.calls) == [("f", B, None)]
    assert genai.Content.model_validate(turn.own[0]).parts[0].thought_signature == b"\xff\x00"
    assert "id" not in turn.own[0]["parts"][0]["functionCall"]


def test_names_are_read_back_in_unions_by_the_member_that_fits() -> None:
    """Two objects, a map and an array: each is told by its keys."""
    first: dict[str, Any] = {
        "type": "object",
        "properties": {"odd key": {"type": "integer"}},
        "required": ["odd key"],
        "additionalProperties": False,
    }
    both = {"odd_key": {"type": "integer"}, "b c": {"type": "integer"}}
    second: dict[str, Any] = {"type": "object", "properties": both, "required": ["odd_key"], "additionalProperties": False}
    union = {"anyOf": [{"type": "object", "additionalProperties": first}, {"type": "array", "items": second}, second, first]}
    tools = [ExportedTool("f", "", {"type": "object", "properties": {"p": {"anyOf": [union, {"type": "null"}]}}})]
    odd = property_names(read_schema(tools[0].schema), NameRule(re.compile(r"[^a-z_]"), 64))["odd key"]
    for written, meant in [
        ({odd: 1}, {"odd key": 1}),
        ({"odd key": 1}, {"odd key": 1}),
        ({"odd_key": 1}, {"odd_key": 1}),
        ({"odd_key": 1, "b_c": 2}, {"odd_key": 1, "b c": 2}),
        ({"x": {odd: 1}}, {"x": {"odd key": 1}}),
        ([{"odd_key": 1, "b_c": 2}], [{"odd_key": 1, "b c": 2}]),
        (None, None),
        ("x", "x"),
    ]:
        (call,) = turn_of(blocks({**USE, "input": {"p": written}}), tools=tools).calls
        assert call.arguments == {"p": meant}
