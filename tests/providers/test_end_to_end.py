"""A whole conversation with every real SDK client against a local stand-in: call, dispatch, result, final answer; plain and streamed."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from toolbox import Registry
from toolbox.payload import FoundCall
from toolbox.providers import ExportedTool, SentResult, stream_calls, take_step, write_tools

ANSWER = "It is 21 degrees in Oslo and 17 in Bergen."
Running = Callable[[Registry], Callable[[Any], list[SentResult]]]


class Conversation:
    """Asks a model until it has its answer.

    Args:
        provider: name of the provider.
        send: sends a request with messages and tools, and gives the response, or the events of a stream.
        streamed: whether it gives events.
    """

    def __init__(self, provider: str, send: Callable[[list[Any], list[Any]], Any], *, streamed: bool) -> None:
        self.provider = provider
        self.send = send
        self.streamed = streamed
        self.calls: list[FoundCall] = []

    def run(self, messages: list[Any], tools: list[ExportedTool], run: Callable[[Any], list[SentResult]], *, strict: bool = False) -> str:
        """The model's last text."""
        definitions = write_tools(self.provider, tools, strict=strict)
        for _ in range(4):
            response = self.send(messages, definitions)
            early: list[FoundCall] = []
            if self.streamed:
                stream = stream_calls(self.provider, lambda call: call, tools=tools, strict=strict)
                early = list(stream.read(response))
                response = stream.response
            step = take_step(self.provider, response, run, lambda result: result, tools=tools, strict=strict)
            if self.streamed:
                assert [call.call_id for call in early] == [result.call_id for result in step.results]
            messages += step
            if step.done:
                return step.text
            assert [result.failed for result in step.results] == [False, False]
            assert [result.value["city"] for result in step.results] == ["Oslo", "Bergen"]
            assert {result.tool for result in step.results} == {"geo.weather"}
        raise AssertionError("the model never came to an end")


@pytest.fixture(params=[False, True], ids=["plain", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    """Whether responses are streamed."""
    return bool(request.param)


@pytest.fixture
def run(weather_registry: Registry, running: Running) -> Callable[[Any], list[SentResult]]:
    """Runs calls of the one tool."""
    return running(weather_registry)


@pytest.mark.parametrize("strict", [False, True])
def test_openai_chat(fake: Any, weather_tools: Any, run: Any, streamed: bool, strict: bool) -> None:
    """OpenAI Chat Completions."""
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=fake.url + "/v1", api_key="x", max_retries=0) as client:

        def send(messages: list[Any], tools: list[Any]) -> Any:
            return client.chat.completions.create(model="m", messages=messages, tools=tools, stream=streamed)

        talk = Conversation("openai", send, streamed=streamed)
        assert talk.run([{"role": "user", "content": "?"}], weather_tools, run, strict=strict) == ANSWER


@pytest.mark.parametrize("strict", [False, True])
def test_openai_responses(fake: Any, weather_tools: Any, run: Any, streamed: bool, strict: bool) -> None:
    """OpenAI Responses; the reasoning items come back with the calls."""
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=fake.url + "/v1", api_key="x", max_retries=0) as client:

        def send(messages: list[Any], tools: list[Any]) -> Any:
            return client.responses.create(model="m", input=messages, tools=tools, stream=streamed)

        talk = Conversation("openai-responses", send, streamed=streamed)
        assert talk.run([{"role": "user", "content": "?"}], weather_tools, run, strict=strict) == ANSWER
    kinds = [item.get("type") for item in fake.requests[-1][1]["input"]]
    assert kinds == [None, "reasoning", "function_call", "function_call", "function_call_output", "function_call_output"]


@pytest.mark.parametrize("strict", [False, True])
def test_anthropic(fake: Any, weather_tools: Any, run: Any, streamed: bool, strict: bool) -> None:
    """Anthropic Messages; all results stand in one message."""
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(base_url=fake.url, api_key="x", max_retries=0) as client:

        def send(messages: list[Any], tools: list[Any]) -> Any:
            return client.messages.create(model="m", max_tokens=99, messages=messages, tools=tools, stream=streamed)

        talk = Conversation("anthropic", send, streamed=streamed)
        assert talk.run([{"role": "user", "content": "?"}], weather_tools, run, strict=strict) == ANSWER
    assert [message["role"] for message in fake.requests[-1][1]["messages"]] == ["user", "assistant", "user"]


def test_openai_stream_helpers(fake: Any, weather_tools: Any, run: Any) -> None:
    """The SDK's own stream helpers yield more events than the wire has, and they change nothing."""
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=fake.url + "/v1", api_key="x", max_retries=0) as client:

        def chat(messages: list[Any], tools: list[Any]) -> Iterator[Any]:
            with client.chat.completions.stream(model="m", messages=messages, tools=tools) as events:
                yield from events

        def responses(messages: list[Any], tools: list[Any]) -> Iterator[Any]:
            with client.responses.stream(model="m", input=messages, tools=tools) as events:
                yield from events

        for provider, send in (("openai", chat), ("openai-responses", responses)):
            assert Conversation(provider, send, streamed=True).run([{"role": "user", "content": "?"}], weather_tools, run) == ANSWER


def test_anthropic_stream_helper(fake: Any, weather_tools: Any, run: Any) -> None:
    """The SDK's own stream helper yields more events than the wire has, and they change nothing."""
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(base_url=fake.url, api_key="x", max_retries=0) as client:

        def send(messages: list[Any], tools: list[Any]) -> Iterator[Any]:
            with client.messages.stream(model="m", max_tokens=99, messages=messages, tools=tools) as events:
                yield from events

        talk = Conversation("anthropic", send, streamed=True)
        assert talk.run([{"role": "user", "content": "?"}], weather_tools, run) == ANSWER


def test_gemini(fake: Any, weather_tools: Any, run: Any, streamed: bool) -> None:
    """The google-genai SDK; the thought signature comes back as it was."""
    genai = pytest.importorskip("google.genai")
    with genai.Client(api_key="x", http_options={"base_url": fake.url}) as client:

        def send(messages: list[Any], tools: list[Any]) -> Any:
            ask = client.models.generate_content_stream if streamed else client.models.generate_content
            return ask(model="gemini-x", contents=messages, config={"tools": tools})

        talk = Conversation("gemini", send, streamed=streamed)
        assert talk.run([{"role": "user", "parts": [{"text": "?"}]}], weather_tools, run) == ANSWER
    sent = json.dumps(fake.requests[-1][1])
    assert '"c2lnbmF0dXJl"' in sent
    assert sent.count('"functionResponse"') == 2


def test_ollama(fake: Any, weather_tools: Any, run: Any, streamed: bool) -> None:
    """The Ollama client."""
    ollama = pytest.importorskip("ollama")
    client = ollama.Client(host=fake.url)

    def send(messages: list[Any], tools: list[Any]) -> Any:
        return client.chat(model="m", messages=messages, tools=tools, stream=streamed)

    try:
        assert Conversation("ollama", send, streamed=streamed).run([{"role": "user", "content": "?"}], weather_tools, run) == ANSWER
    finally:
        client._client.close()


def test_mistral(fake: Any, weather_tools: Any, run: Any, streamed: bool) -> None:
    """The Mistral SDK."""
    client = pytest.importorskip("mistralai.client")
    with client.Mistral(api_key="x", server_url=fake.url) as mistral:

        def send(messages: list[Any], tools: list[Any]) -> Any:
            ask = mistral.chat.stream if streamed else mistral.chat.complete
            return ask(model="mistral-x", messages=messages, tools=tools)

        assert Conversation("mistral", send, streamed=streamed).run([{"role": "user", "content": "?"}], weather_tools, run) == ANSWER


def test_cohere(fake: Any, weather_tools: Any, run: Any, streamed: bool) -> None:
    """The Cohere SDK."""
    cohere = pytest.importorskip("cohere")
    with cohere.ClientV2(api_key="x", base_url=fake.url) as client:

        def send(messages: list[Any], tools: list[Any]) -> Any:
            ask = client.chat_stream if streamed else client.chat
            return ask(model="m", messages=messages, tools=tools)

        assert Conversation("cohere", send, streamed=streamed).run([{"role": "user", "content": "?"}], weather_tools, run) == ANSWER


def test_bedrock(fake: Any, weather_tools: Any, run: Any, streamed: bool) -> None:
    """boto3, plain and with the binary frames of its streams."""
    boto3 = pytest.importorskip("boto3")
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "region_name": "us-east-1"}
    client = boto3.client("bedrock-runtime", endpoint_url=fake.url, **keys)

    def send(messages: list[Any], tools: list[Any]) -> Any:
        if streamed:
            return client.converse_stream(modelId="m", messages=messages, toolConfig={"tools": tools})["stream"]
        return client.converse(modelId="m", messages=messages, toolConfig={"tools": tools})

    try:
        talk = Conversation("bedrock", send, streamed=streamed)
        assert talk.run([{"role": "user", "content": [{"text": "?"}]}], weather_tools, run) == ANSWER
    finally:
        client.close()


def test_async_stream(fake: Any, weather_tools: Any) -> None:
    """An asynchronous client's events are read the same way."""
    openai = pytest.importorskip("openai")

    async def talk() -> list[FoundCall]:
        async with openai.AsyncOpenAI(base_url=fake.url + "/v1", api_key="x", max_retries=0) as client:
            tools = write_tools("openai", weather_tools)
            events = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}], tools=tools, stream=True)
            stream = stream_calls("openai", lambda call: call, tools=weather_tools)
            return [call async for call in stream.aread(events)]

    assert [call.call_id for call in asyncio.run(talk())] == ["call_1", "call_2"]
