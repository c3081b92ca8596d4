"""The same with the client class of the OpenAI SDK: with OPENAI_API_KEY set it asks the real service, else a local stand-in."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai

from toolbox import MemorySink, Recovery, Registry
from toolbox.recovery import ask_openai

MEETING = {"title": "Review", "day": "July 2nd, 2026", "minutes": "45 minutes"}
ANSWER = {
    "recovery_status": "SUCCESS",
    "corrected_arguments": {"title": "Review", "day": "2026-07-02", "minutes": 45},
    "unrecoverable_fields": [],
    "coercion_log": ["$.day: written as ISO 8601", "$.minutes: the number that it says"],
}


@contextlib.contextmanager
def stand_in() -> Iterator[str]:
    """A server that answers every request of Chat Completions with the one answer, in a fence and with a word before it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            message = {"role": "assistant", "content": f"Here it is:\n```json\n{json.dumps(ANSWER)}\n```"}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            made = {"id": "c1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": choices}
            raw = json.dumps(made).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def book(client: openai.OpenAI, model: str) -> Any:
    sink = MemorySink()
    registry = Registry(sinks=[sink], recovery=Recovery(ask_openai(client, model), timeout_s=30))

    @registry.tool
    def plan_meeting(title: str, day: date, minutes: int) -> str:
        """Plan a meeting.

        Args:
            title: what it is about.
            day: when it is.
            minutes: how long it takes.
        """
        return f"{title} on {day:%A, %d %B %Y}, {minutes} minutes"

    result = registry.run("plan_meeting", MEETING)
    print(result.to_text())
    for attempt in sink.records[-1].metadata["recovery"]["attempts"]:
        print(attempt["attempt_number"], attempt["verdict"], attempt["changes"], attempt["problem"])
    return result


def main() -> None:
    with contextlib.ExitStack() as stack:
        if os.environ.get("OPENAI_API_KEY"):
            client = openai.OpenAI()
        else:
            client = openai.OpenAI(base_url=stack.enter_context(stand_in()), api_key="none", max_retries=0)
        book(stack.enter_context(client), os.environ.get("OPENAI_MODEL", "gpt-5"))


if __name__ == "__main__":
    main()
