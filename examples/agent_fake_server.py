"""A local stand-in for model providers, so that the agent examples run without a key or a network.

It answers the first request with two calls of the tool ``weather``, and a request that carries results with a final text. It speaks the
wire formats of OpenAI (Chat Completions and Responses), Anthropic, Gemini, Ollama, Mistral, Cohere and Bedrock, plain and streamed.

    with fake_server() as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none")
"""

from __future__ import annotations

import contextlib
import json
import struct
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CITIES = ("Oslo", "Bergen")
ANSWER = "It is 21 degrees in Oslo and 17 in Bergen."


class FakeServer:
    """The server: its address, and every request that came, as (path, body)."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[tuple[str, dict[str, Any]]] = []


@contextlib.contextmanager
def fake_server() -> Iterator[FakeServer]:
    """Run the server on a free port of this machine."""
    state = FakeServer("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            state.requests.append((self.path, body))
            kind, raw = reply(self.path, body)
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def reply(path: str, body: dict[str, Any]) -> tuple[str, bytes]:
    """Content type and body of the answer to a request."""
    streamed = bool(body.get("stream"))
    if path.endswith("/chat/completions"):
        return chat_completions(body, streamed)
    if path.endswith("/responses"):
        return responses(body, streamed)
    if path.endswith("/messages"):
        return messages(body, streamed)
    if "GenerateContent" in path or "generateContent" in path:
        return gemini(body, streamed="stream" in path)
    if path.endswith("/api/chat"):
        return ollama(body, streamed)
    if path.endswith("/v2/chat"):
        return cohere(body, streamed)
    if path.endswith(("/converse", "/converse-stream")):
        return bedrock(body, streamed=path.endswith("stream"))
    raise KeyError(path)


def as_json(value: Any) -> tuple[str, bytes]:
    return "application/json", json.dumps(value).encode()


def as_events(events: list[Any], *, named: bool = False, done: bool = False) -> tuple[str, bytes]:
    lines = []
    for event in events:
        head = f"event: {event['type']}\n" if named else ""
        lines.append(f"{head}data: {json.dumps(event)}\n\n")
    return "text/event-stream", ("".join(lines) + ("data: [DONE]\n\n" if done else "")).encode()


def pieces(text: str) -> list[str]:
    """A text in three parts, cut inside words."""
    third = max(len(text) // 3, 1)
    return [text[:third], text[third : 2 * third], text[2 * third :]]


# -- OpenAI Chat Completions, and Mistral --------------------------------------------------------------------------------------------


def chat_completions(body: dict[str, Any], streamed: bool) -> tuple[str, bytes]:
    name = body["tools"][0]["function"]["name"]
    done = any(message["role"] == "tool" for message in body["messages"])
    ids = ("Aaaaaaaa1", "Aaaaaaaa2") if "mistral" in body["model"] else ("call_1", "call_2")
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps({"city": city})}}
        for call_id, city in zip(ids, CITIES, strict=True)
    ]
    stop = "stop" if done else "tool_calls"
    head = {"id": "c1", "created": 1, "model": body["model"]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not streamed:
        message = {"role": "assistant", "content": ANSWER} if done else {"role": "assistant", "content": None, "tool_calls": calls}
        choices = [{"index": 0, "message": message, "finish_reason": stop}]
        return as_json({**head, "object": "chat.completion", "choices": choices, "usage": usage})
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if done:
        deltas += [{"content": piece} for piece in pieces(ANSWER)]
    elif "mistral" in body["model"]:  # whole calls in one chunk
        deltas.append({"tool_calls": [{**call, "index": index} for index, call in enumerate(calls)]})
    else:
        for index, call in enumerate(calls):
            deltas.append({"tool_calls": [{**call, "index": index, "function": {"name": name, "arguments": ""}}]})
            deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces(call["function"]["arguments"])
            ]
    chunks = [{**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    chunks.append({**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]})
    if "mistral" not in body["model"]:
        chunks.append({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
    return as_events(chunks, done=True)


# -- OpenAI Responses ----------------------------------------------------------------------------------------------------------------


def responses(body: dict[str, Any], streamed: bool) -> tuple[str, bytes]:
    name = body["tools"][0]["name"]
    done = any(item.get("type") == "function_call_output" for item in body["input"])
    if done:
        content = [{"type": "output_text", "text": ANSWER, "annotations": []}]
        output: list[dict[str, Any]] = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}]
    else:
        output = [{"type": "reasoning", "id": "rs_1", "summary": []}]
        output += [
            {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": f"call_{number}",
                "name": name,
                "arguments": json.dumps({"city": city}),
                "status": "completed",
            }
            for number, city in enumerate(CITIES, 1)
        ]
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    if not streamed:
        return as_json(whole)
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}]
    for index, item in enumerate(output):
        at = {"output_index": index, "item_id": item["id"]}
        begun = {**item, "status": "in_progress"} if "status" in item else item
        if item["type"] == "message":
            events.append({"type": "response.output_item.added", "output_index": index, "item": {**begun, "content": []}})
            empty = {"type": "output_text", "text": "", "annotations": []}
            events.append({"type": "response.content_part.added", **at, "content_index": 0, "part": empty})
            added = {**at, "content_index": 0, "logprobs": []}
            events += [{"type": "response.output_text.delta", **added, "delta": piece} for piece in pieces(ANSWER)]
        elif item["type"] == "function_call":
            events.append({"type": "response.output_item.added", "output_index": index, "item": {**begun, "arguments": ""}})
            events += [{"type": "response.function_call_arguments.delta", **at, "delta": piece} for piece in pieces(item["arguments"])]
            events.append({"type": "response.function_call_arguments.done", **at, "name": name, "arguments": item["arguments"]})
        else:
            events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return as_events([{**event, "sequence_number": number} for number, event in enumerate(events)], named=True)


# -- Anthropic -----------------------------------------------------------------------------------------------------------------------


def messages(body: dict[str, Any], streamed: bool) -> tuple[str, bytes]:
    name = body["tools"][0]["name"]
    done = any(isinstance(m["content"], list) and any(b.get("type") == "tool_result" for b in m["content"]) for m in body["messages"])
    if done:
        content: list[dict[str, Any]] = [{"type": "text", "text": ANSWER}]
    else:
        content = [{"type": "text", "text": "Let me look."}]
        content += [
            {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {"city": city}} for number, city in enumerate(CITIES, 1)
        ]
    stop = "end_turn" if done else "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None, "usage": usage}
    if not streamed:
        return as_json({**head, "content": content, "stop_reason": stop})
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**head, "content": [], "stop_reason": None}}]
    for index, block in enumerate(content):
        begun = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        if block["type"] == "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        else:
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(json.dumps(block["input"]))]]
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}})
    events.append({"type": "message_stop"})
    return as_events(events, named=True)


# -- Gemini --------------------------------------------------------------------------------------------------------------------------


def gemini(body: dict[str, Any], streamed: bool) -> tuple[str, bytes]:
    (tool,) = body["tools"]
    declarations = tool.get("functionDeclarations") or tool["function_declarations"]
    done = any("functionResponse" in part or "function_response" in part for content in body["contents"] for part in content["parts"])
    if done:
        parts: list[dict[str, Any]] = [{"text": piece} for piece in pieces(ANSWER)]
    else:
        parts = [
            {"functionCall": {"id": f"f{number}", "name": declarations[0]["name"], "args": {"city": city}}}
            for number, city in enumerate(CITIES)
        ]
        parts[0]["thoughtSignature"] = "c2lnbmF0dXJl"
    if not streamed:
        return as_json({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]})
    events = [{"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]} for part in parts]
    events[-1]["candidates"][0]["finishReason"] = "STOP"
    return as_events(events)


# -- Ollama --------------------------------------------------------------------------------------------------------------------------


def ollama(body: dict[str, Any], streamed: bool) -> tuple[str, bytes]:
    name = body["tools"][0]["function"]["name"]
    done = any(message["role"] == "tool" for message in body["messages"])
    calls = [{"function": {"name": name, "arguments": {"city": city}}} for city in CITIES]
    head = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z"}
    end = {"done": True, "done_reason": "stop"}
    if not streamed:
        message = {"role": "assistant", "content": ANSWER} if done else {"role": "assistant", "content": "", "tool_calls": calls}
        return as_json({**head, "message": message, **end})
    parts: list[dict[str, Any]] = (
        [{"content": piece} for piece in pieces(ANSWER)] if done else [{"content": "", "tool_calls": [c]} for c in calls]
    )
    lines = [{**head, "message": {"role": "assistant", **part}, "done": False} for part in parts]
    lines.append({**head, "message": {"role": "assistant", "content": ""}, **end})
    return "application/x-ndjson", "".join(json.dumps(line) + "\n" for line in lines).encode()


# -- Cohere --------------------------------------------------------------------------------------------------------------------------


def cohere(body: dict[str, Any], streamed: bool) -> tuple[str, bytes]:
    name = body["tools"][0]["function"]["name"]
    done = any(message["role"] == "tool" for message in body["messages"])
    calls = [
        {"id": f"{name}_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps({"city": city})}}
        for number, city in enumerate(CITIES)
    ]
    stop = "COMPLETE" if done else "TOOL_CALL"
    if not streamed:
        message: dict[str, Any] = {"role": "assistant"}
        message |= {"content": [{"type": "text", "text": ANSWER}]} if done else {"tool_plan": "I will look.", "tool_calls": calls}
        return as_json({"id": "r1", "finish_reason": stop, "message": message})
    events: list[dict[str, Any]] = [
        {"type": "message-start", "id": "r1", "delta": {"message": {"role": "assistant", "content": [], "tool_plan": ""}}}
    ]
    if done:
        events.append({"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}})
        events += [{"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": piece}}}} for piece in pieces(ANSWER)]
        events.append({"type": "content-end", "index": 0})
    else:
        events += [{"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}} for piece in pieces("I will look.")]
        for index, call in enumerate(calls):
            begun = {**call, "function": {"name": name, "arguments": ""}}
            events.append({"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": begun}}})
            for piece in pieces(call["function"]["arguments"]):
                delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
                events.append({"type": "tool-call-delta", "index": index, "delta": delta})
            events.append({"type": "tool-call-end", "index": index})
    events.append({"type": "message-end", "delta": {"finish_reason": stop}})
    return as_events(events, named=True)


# -- Bedrock -------------------------------------------------------------------------------------------------------------------------


def bedrock(body: dict[str, Any], streamed: bool) -> tuple[str, bytes]:
    name = body["toolConfig"]["tools"][0]["toolSpec"]["name"]
    done = any("toolResult" in block for message in body["messages"] for block in message["content"])
    content: list[dict[str, Any]] = [{"text": ANSWER if done else "Let me look."}]
    if not done:
        content += [{"toolUse": {"toolUseId": f"tooluse_{n}", "name": name, "input": {"city": city}}} for n, city in enumerate(CITIES)]
    stop = "end_turn" if done else "tool_use"
    usage, metrics = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, {"latencyMs": 1}
    if not streamed:
        message = {"role": "assistant", "content": content}
        return as_json({"output": {"message": message}, "stopReason": stop, "usage": usage, "metrics": metrics})
    frames = [frame("messageStart", {"role": "assistant"})]
    for index, block in enumerate(content):
        at = {"contentBlockIndex": index}
        if "toolUse" in block:
            use = block["toolUse"]
            start = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
            frames.append(frame("contentBlockStart", {**at, "start": start}))
            deltas: list[dict[str, Any]] = [{"toolUse": {"input": piece}} for piece in pieces(json.dumps(use["input"]))]
        else:
            deltas = [{"text": piece} for piece in pieces(block["text"])]
        frames += [frame("contentBlockDelta", {**at, "delta": delta}) for delta in deltas]
        frames.append(frame("contentBlockStop", at))
    frames += [frame("messageStop", {"stopReason": stop}), frame("metadata", {"usage": usage, "metrics": metrics})]
    return "application/vnd.amazon.eventstream", b"".join(frames)


def frame(event: str, payload: dict[str, Any]) -> bytes:
    """One frame of an AWS event stream."""
    headers = b""
    for key, value in ((":event-type", event), (":content-type", "application/json"), (":message-type", "event")):
        headers += bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", len(headers) + len(body) + 16, len(headers))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    whole = prelude + headers + body
    return whole + struct.pack(">I", zlib.crc32(whole))
