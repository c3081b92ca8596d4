"""Whatever is exported or sent back passes the types of the real SDKs, losslessly."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from toolbox.payload import FoundCall
from toolbox.providers import ExportedTool, SentResult, export_tools, read_response, write_calls, write_results

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(16))
PDF = b"%PDF-1.7 ..."
RESULTS = {
    "text": SentResult("weather", "call_1", "sunny"),
    "empty text": SentResult("weather", "call_1", ""),
    "object": SentResult("weather", "call_1", '{"a": 1}', False, {"a": 1}),
    "object with $ref": SentResult("weather", "call_1", '{"$ref": "x"}', False, {"deep": [{"$ref": "x"}]}),
    "list": SentResult("weather", "call_1", "[1, 2]", False, [1, 2]),
    "null": SentResult("weather", "call_1", "null"),
    "error": SentResult("weather", "call_1", "Error: no such city", True),
    "image": SentResult("weather", "call_1", '"iVBO"', False, PNG),
    "image and text": SentResult("weather", "call_1", "[]", False, ["a map:", PNG, {"scale": 2}]),
    "document": SentResult("weather", "call_1", '"JVBE"', False, PDF),
    "odd id": SentResult("weather", "functions.weather:0/" + "x" * 70, "sunny"),
    "no id": SentResult("weather", None, "sunny"),
}
CALLS = [FoundCall("weather", {"city": "Oslo"}, "call_1", ()), FoundCall("weather", '{"city": "Bergen"}', "functions.weather:1", ())]
Check = Callable[[Any, Any], None]
both = pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
every_result = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)


@both
def test_openai_chat_tools(tools: list[ExportedTool], check: Check, strict: bool) -> None:
    """Function tools of Chat Completions."""
    kinds = pytest.importorskip("openai.types.chat")
    for tool in export_tools("openai", tools, strict=strict).tools:
        check(kinds.ChatCompletionFunctionToolParam, tool)


@every_result
def test_openai_chat_results(check: Check, result: SentResult) -> None:
    """Tool messages of Chat Completions; media cannot be shown there and are named."""
    kinds = pytest.importorskip("openai.types.chat")
    (message,) = write_results("openai", [result])
    check(kinds.ChatCompletionToolMessageParam, message)
    assert len(message["tool_call_id"]) <= 40


def test_openai_chat_calls(check: Check) -> None:
    """An assistant's message of Chat Completions."""
    kinds = pytest.importorskip("openai.types.chat")
    for message in write_calls("openai", CALLS, "Let me look."):
        check(kinds.ChatCompletionAssistantMessageParam, message)


@both
def test_openai_responses_tools(tools: list[ExportedTool], check: Check, strict: bool) -> None:
    """Function tools of the Responses API."""
    kinds = pytest.importorskip("openai.types.responses")
    for tool in export_tools("openai-responses", tools, strict=strict).tools:
        check(kinds.FunctionToolParam, tool)


@every_result
def test_openai_responses_results(check: Check, result: SentResult) -> None:
    """Outputs of calls of the Responses API."""
    kinds = pytest.importorskip("openai.types.responses.response_input_param")
    (message,) = write_results("openai-responses", [result])
    check(kinds.FunctionCallOutput, message)


def test_openai_responses_calls(check: Check) -> None:
    """Calls as items of an input."""
    kinds = pytest.importorskip("openai.types.responses")
    text, *items = write_calls("openai-responses", CALLS, "Let me look.")
    check(kinds.EasyInputMessageParam, text)
    for item in items:
        check(kinds.ResponseFunctionToolCallParam, item)


@both
def test_anthropic_tools(tools: list[ExportedTool], check: Check, strict: bool) -> None:
    """Tools of the Messages API."""
    kinds = pytest.importorskip("anthropic.types")
    for tool in export_tools("anthropic", tools, strict=strict).tools:
        check(kinds.ToolParam, tool)


def test_anthropic_strict_is_what_the_sdk_would_make(tools: list[ExportedTool]) -> None:
    """The SDK's own transformation finds nothing left to do, but for the type beside an enum, which it drops."""
    anthropic = pytest.importorskip("anthropic")
    made = export_tools("anthropic", tools, strict=True)
    assert made.strict

    def untyped(schema: Any) -> Any:
        if isinstance(schema, dict):
            kept = {key: untyped(item) for key, item in schema.items()}
            return {key: item for key, item in kept.items() if not (key == "type" and "enum" in kept)}
        return list(map(untyped, schema)) if isinstance(schema, list) else schema

    for tool in made.tools:
        if tool.get("strict"):
            schema = tool["input_schema"]
            assert untyped(json.loads(json.dumps(anthropic.transform_schema(schema)))) == untyped(schema)


@every_result
def test_anthropic_results(check: Check, result: SentResult) -> None:
    """User messages with results."""
    kinds = pytest.importorskip("anthropic.types")
    (message,) = write_results("anthropic", [result, result])
    check(kinds.MessageParam, message)
    assert len(message["content"]) == 2


def test_anthropic_calls(check: Check) -> None:
    """An assistant's message with calls."""
    kinds = pytest.importorskip("anthropic.types")
    for message in write_calls("anthropic", CALLS, "Let me look."):
        check(kinds.MessageParam, message)


def test_gemini_tools(tools: list[ExportedTool], check: Check) -> None:
    """Declarations of the google-genai SDK, whose types forbid unknown keys."""
    types = pytest.importorskip("google.genai.types")
    for tool in export_tools("gemini", tools).tools:
        check(types.Tool, tool)


@every_result
def test_gemini_results(check: Check, result: SentResult) -> None:
    """Contents with responses to calls."""
    types = pytest.importorskip("google.genai.types")
    (message,) = write_results("gemini", [result, result])
    check(types.Content, message)
    assert len(message["parts"]) == 2


def test_gemini_calls(check: Check) -> None:
    """A model's content with calls."""
    types = pytest.importorskip("google.genai.types")
    for message in write_calls("gemini", CALLS, "Let me look."):
        check(types.Content, message)


@both
def test_bedrock_tools(tools: list[ExportedTool], bedrock_check: Callable[[str, Any], None], strict: bool) -> None:
    """The tool configuration of Converse."""
    bedrock_check("ToolConfiguration", {"tools": export_tools("bedrock", tools, strict=strict).tools})


@every_result
def test_bedrock_results(bedrock_check: Callable[[str, Any], None], result: SentResult) -> None:
    """User messages with results."""
    (message,) = write_results("bedrock", [result, result])
    bedrock_check("Message", message)
    assert len(message["content"]) == 2


def test_bedrock_calls(bedrock_check: Callable[[str, Any], None]) -> None:
    """An assistant's message with calls."""
    for message in write_calls("bedrock", CALLS, "Let me look."):
        bedrock_check("Message", message)


@both
def test_mistral_tools(tools: list[ExportedTool], check: Check, strict: bool) -> None:
    """Tools of the Mistral SDK."""
    models = pytest.importorskip("mistralai.client.models")
    for tool in export_tools("mistral", tools, strict=strict).tools:
        check(models.Tool, tool)


@every_result
def test_mistral_results(check: Check, result: SentResult) -> None:
    """Tool messages; their ids are nine letters and digits."""
    models = pytest.importorskip("mistralai.client.models")
    (message,) = write_results("mistral", [result])
    check(models.ToolMessage, message)
    assert len(message["tool_call_id"]) == 9
    assert message["tool_call_id"].isalnum()


def test_mistral_calls(check: Check) -> None:
    """An assistant's message with calls."""
    models = pytest.importorskip("mistralai.client.models")
    for message in write_calls("mistral", CALLS, "Let me look."):
        check(models.AssistantMessage, message)


@both
def test_cohere_tools(tools: list[ExportedTool], check: Check, strict: bool) -> None:
    """Tools of the Cohere SDK."""
    cohere = pytest.importorskip("cohere")
    for tool in export_tools("cohere", tools, strict=strict).tools:
        check(cohere.ToolV2, tool)


@every_result
def test_cohere_results(check: Check, result: SentResult) -> None:
    """Tool messages."""
    cohere = pytest.importorskip("cohere")
    (message,) = write_results("cohere", [result])
    check(cohere.ToolChatMessageV2, message)


def test_cohere_calls(check: Check) -> None:
    """An assistant's message with calls."""
    cohere = pytest.importorskip("cohere")
    for message in write_calls("cohere", CALLS, "Let me look."):
        check(cohere.AssistantChatMessageV2, message)


def test_ollama_tools(tools: list[ExportedTool], check: Check) -> None:
    """A flat tool goes through the Ollama client whole; of any other the client keeps at least every parameter and its description."""
    ollama = pytest.importorskip("ollama")
    made = export_tools("ollama", tools)
    flat = {tool.name for tool in tools} - {loss.tool for loss in made.report if loss.what == "nested structure"}
    assert {"weather"} <= flat
    for tool, definition in zip(tools, made.tools, strict=True):
        if tool.name in flat:
            check(ollama.Tool, definition)
        kept = ollama.Tool.model_validate(definition).model_dump(exclude_none=True)["function"]["parameters"].get("properties", {})
        sent = definition["function"]["parameters"]["properties"]
        assert {name: item.get("description") for name, item in kept.items()} == {
            name: item.get("description") for name, item in sent.items()
        }


@every_result
def test_ollama_results(check: Check, result: SentResult) -> None:
    """Tool messages; the client drops an id that the server may have given."""
    ollama = pytest.importorskip("ollama")
    (message,) = write_results("ollama", [result])
    check(ollama.Message, {key: item for key, item in message.items() if key != "tool_call_id"})


def test_ollama_calls(check: Check) -> None:
    """An assistant's message with calls."""
    ollama = pytest.importorskip("ollama")
    for message in write_calls("ollama", CALLS, "Let me look."):
        check(ollama.Message, message)


def test_mcp_tools(tools: list[ExportedTool], check: Check) -> None:
    """Tools of the protocol's versions and of the SDK."""
    types = pytest.importorskip("mcp.types")
    for tool in export_tools("mcp", tools).tools:
        types.Tool.model_validate(tool)
        for version in ("_v2025_11_25", "_v2026_07_28"):
            kinds = pytest.importorskip(f"mcp_types.{version}")
            check(kinds.Tool, tool)


@every_result
def test_mcp_results(check: Check, result: SentResult) -> None:
    """Results of the protocol."""
    kinds = pytest.importorskip("mcp_types._v2025_11_25")
    (message,) = write_results("mcp", [result])
    check(kinds.CallToolResult, message)


def answer_of(fake: Any, path: str, body: dict[str, Any]) -> Any:
    """What the stand-in answers to a first request."""
    import sys

    assert fake.url
    return json.loads(sys.modules["agent_fake_server"].reply(path, body)[1])


def messages_of(response: Any, provider: str) -> list[Any]:
    """The model's own messages of a response."""
    turn = read_response(response, provider)
    assert turn is not None
    assert len(turn.calls) == 2
    return turn.own


def test_own_messages_of_openai(fake: Any, check: Check) -> None:
    """The model's message of a chat response, and the items of a response, go into the next request."""
    chat = pytest.importorskip("openai.types.chat")
    tool = {"name": "weather", "function": {"name": "weather"}}
    raw = answer_of(fake, "/chat/completions", {"model": "m", "messages": [], "tools": [tool]})
    for response in (raw, chat.ChatCompletion.model_validate(raw)):
        for message in messages_of(response, "openai"):
            check(chat.ChatCompletionAssistantMessageParam, message)
    kinds = pytest.importorskip("openai.types.responses")
    raw = answer_of(fake, "/responses", {"input": [], "tools": [tool]})
    for response in (raw, kinds.Response.model_validate(raw)):
        _, *calls = messages_of(response, "openai-responses")
        for item in calls:
            check(kinds.ResponseFunctionToolCallParam, item)


def test_own_messages_of_the_others(fake: Any, check: Check, bedrock_check: Callable[[str, Any], None]) -> None:
    """The same for Anthropic, Gemini, Bedrock, Mistral, Cohere and Ollama."""
    tool = {"name": "weather", "function": {"name": "weather"}, "toolSpec": {"name": "weather"}}
    anthropic = pytest.importorskip("anthropic.types")
    raw = answer_of(fake, "/messages", {"messages": [], "tools": [tool]})
    for response in (raw, anthropic.Message.model_validate(raw)):
        for message in messages_of(response, "anthropic"):
            check(anthropic.MessageParam, message)
    genai = pytest.importorskip("google.genai.types")
    raw = answer_of(fake, ":generateContent", {"contents": [], "tools": [{"functionDeclarations": [tool]}]})
    for message in messages_of(raw, "gemini"):
        check(genai.Content, message)
    for message in messages_of(answer_of(fake, "/converse", {"messages": [], "toolConfig": {"tools": [tool]}}), "bedrock"):
        bedrock_check("Message", message)
    mistral = pytest.importorskip("mistralai.client.models")
    raw = answer_of(fake, "/chat/completions", {"model": "mistral", "messages": [], "tools": [tool]})
    for response in (raw, mistral.ChatCompletionResponse.model_validate(raw)):
        for message in messages_of(response, "mistral"):
            check(mistral.AssistantMessage, message)
    cohere = pytest.importorskip("cohere")
    for message in messages_of(answer_of(fake, "/v2/chat", {"messages": [], "tools": [tool]}), "cohere"):
        check(cohere.AssistantChatMessageV2, message)
    ollama = pytest.importorskip("ollama")
    raw = answer_of(fake, "/api/chat", {"model": "m", "messages": [], "tools": [tool]})
    for response in (raw, ollama.ChatResponse.model_validate(raw)):
        for message in messages_of(response, "ollama"):
            check(ollama.Message, message)
