"""The functions that ask, over the real client classes of three SDKs and a loopback server."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from toolbox import Registry
from toolbox.errors import RecoveryFailed
from toolbox.recovery import Recovery, ask_anthropic, ask_gemini, ask_openai

ANSWER = json.dumps({"recovery_status": "SUCCESS", "corrected_arguments": {"limit": 1234}, "unrecoverable_fields": [], "coercion_log": []})


class Server:
    """Answers as the three providers do, with the texts of a script; keeps what it was asked."""

    def __init__(self) -> None:
        self.texts: list[str | None] = []
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.url = ""

    def reply(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.requests.append((path, body))
        text = self.texts.pop(0) if self.texts else None
        if text == "error":
            return 500, {"error": {"message": "overloaded", "type": "server_error"}}
        if path.endswith("/chat/completions"):
            message = {"role": "assistant", "content": text, "refusal": None if text is not None else "I will not."}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            return 200, {"id": "c1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": choices}
        if path.endswith("/messages"):
            content = [{"type": "text", "text": part} for part in ([] if text is None else [text[:9], text[9:]])]
            usage = {"input_tokens": 1, "output_tokens": 1}
            head = {"id": "m1", "type": "message", "role": "assistant", "model": body["model"]}
            return 200, {**head, "content": content, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
        parts = [{"text": "let me think", "thought": True}, *([] if text is None else [{"text": text[:9]}, {"text": text[9:]}])]
        return 200, {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]}


@pytest.fixture
def server() -> Iterator[Server]:
    """The server, on a free port of this machine."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            status, value = state.reply(self.path, json.loads(self.rfile.read(int(self.headers["content-length"]))))
            raw = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


def registry_of(ask: Any) -> Registry:
    """A registry with one tool, whose refused calls are asked about."""
    registry = Registry(recovery=Recovery(ask, timeout_s=30))

    @registry.tool
    def search(limit: int) -> str:
        """Search."""
        return f"{limit} found"

    return registry


def run(client: Any, ask: Any) -> Any:
    """One refused call, corrected over a client."""
    with client:
        return registry_of(ask).run("search", {"limit": "1,234"})


async def arun(client: Any, ask: Any) -> Any:
    """The same in asynchronous code."""
    async with client:
        return await registry_of(ask).arun("search", {"limit": "1,234"})


def made(provider: str, url: str, *, is_async: bool) -> tuple[Any, Any]:
    """A client of a provider's SDK, and the function that asks over it."""
    if provider == "openai":
        openai = pytest.importorskip("openai")
        client = (openai.AsyncOpenAI if is_async else openai.OpenAI)(base_url=f"{url}/v1", api_key="none", max_retries=0)
        return client, ask_openai(client, "gpt-5", response_format={"type": "json_object"})
    if provider == "anthropic":
        anthropic = pytest.importorskip("anthropic")
        client = (anthropic.AsyncAnthropic if is_async else anthropic.Anthropic)(base_url=url, api_key="none", max_retries=0)
        return client, ask_anthropic(client, "claude-sonnet-5", max_tokens=512)
    genai = pytest.importorskip("google.genai")
    client = genai.Client(api_key="none", http_options={"base_url": url})
    client = client.aio if is_async else client
    return client, ask_gemini(client, "gemini-2.5-flash", response_mime_type="application/json")


PROVIDERS = ["openai", "anthropic", "gemini"]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_call_is_corrected(provider: str, is_async: bool, server: Server) -> None:
    """Over every client, sync and async, the prompt goes out, the answer comes back, and the corrected call runs."""
    server.texts = [ANSWER]
    client, ask = made(provider, server.url, is_async=is_async)
    result = asyncio.run(arun(client, ask)) if is_async else run(client, ask)
    assert result.value == "1234 found", result.to_text()
    ((path, body),) = server.requests
    sent = json.dumps(body)
    assert "You repair the arguments" in sent
    assert "ORIGINAL ARGUMENTS" in sent
    if provider == "openai":
        assert path == "/v1/chat/completions"
        assert [item["role"] for item in body["messages"]] == ["system", "user"]
        assert body["response_format"] == {"type": "json_object"}
    elif provider == "anthropic":
        assert path == "/v1/messages"
        assert body["system"].startswith("You repair")
        assert [item["role"] for item in body["messages"]] == ["user"]
        assert body["max_tokens"] == 512
    else:
        assert path.endswith("gemini-2.5-flash:generateContent")
        assert body["generationConfig"]["responseMimeType"] == "application/json"


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_text_is_an_answer_without_an_object(provider: str, is_async: bool, server: Server) -> None:
    """A refusal, or an answer without any text, is told what was asked for, and the next attempt may be right."""
    server.texts = [None, ANSWER]
    client, ask = made(provider, server.url, is_async=is_async)
    result = asyncio.run(arun(client, ask)) if is_async else run(client, ask)
    assert result.value == "1234 found"
    assert "EARLIER ATTEMPTS" in json.dumps(server.requests[1][1])
    assert "send one JSON object" in json.dumps(server.requests[1][1])


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_an_error_of_the_provider_ends_the_loop(provider: str, is_async: bool, server: Server) -> None:
    """What the client raises ends the recovery, and the caller gets the refusal of the original call."""
    server.texts = ["error"]
    client, ask = made(provider, server.url, is_async=is_async)
    result = asyncio.run(arun(client, ask)) if is_async else run(client, ask)
    assert isinstance(result.error, RecoveryFailed)
    assert result.error.reason == "ask_failed"
    assert "InternalServerError" in result.error.attempts[0]["problem"]
    assert len(server.requests) == 1


def test_a_synchronous_client_serves_asynchronous_code(server: Server) -> None:
    """A synchronous client asks in a thread."""
    server.texts = [ANSWER]
    client, ask = made("openai", server.url, is_async=False)
    with client:
        assert asyncio.run(registry_of(ask).adispatch("search", {"limit": "1,234"})) == "1234 found"
