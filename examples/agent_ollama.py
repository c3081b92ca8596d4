"""An agent loop with the Ollama client: with OLLAMA_HOST set it talks to that server, else to a local stand-in."""

from __future__ import annotations

import contextlib
import os

import ollama
from agent_fake_server import fake_server

from toolbox import Registry

registry = Registry()


@registry.tool
def weather(city: str) -> dict[str, object]:
    """The weather in a city now."""
    return {"city": city, "degrees": 21 if city == "Oslo" else 17}


def ask(client: ollama.Client, question: str, model: str) -> str:
    messages: list = [{"role": "user", "content": question}]
    while True:
        response = client.chat(model=model, messages=messages, tools=registry.schemas("ollama"))
        step = registry.step("ollama", response)
        messages += step
        if step.done:
            return step.text


def main() -> str:
    with contextlib.ExitStack() as stack:
        host = os.environ.get("OLLAMA_HOST") or stack.enter_context(fake_server()).url
        client = ollama.Client(host=host)
        answer = ask(client, "How warm is it in Oslo and in Bergen?", os.environ.get("OLLAMA_MODEL", "qwen3"))
    print(answer)
    return answer


if __name__ == "__main__":
    main()
