"""An agent loop with the Anthropic SDK: with ANTHROPIC_API_KEY set it talks to the real service, else to a local stand-in."""

from __future__ import annotations

import contextlib
import os

import anthropic
from agent_fake_server import fake_server

from toolbox import Registry

registry = Registry()


@registry.tool
def weather(city: str) -> dict[str, object]:
    """The weather in a city now."""
    return {"city": city, "degrees": 21 if city == "Oslo" else 17}


def ask(client: anthropic.Anthropic, question: str, model: str) -> str:
    messages: list = [{"role": "user", "content": question}]
    while True:
        response = client.messages.create(model=model, max_tokens=1024, messages=messages, tools=registry.schemas("anthropic"))
        step = registry.step("anthropic", response)
        messages += step
        if step.done:
            return step.text


def main() -> str:
    with contextlib.ExitStack() as stack:
        if os.environ.get("ANTHROPIC_API_KEY"):
            client = anthropic.Anthropic()
        else:
            client = anthropic.Anthropic(base_url=stack.enter_context(fake_server()).url, api_key="none", max_retries=0)
        answer = ask(
            stack.enter_context(client), "How warm is it in Oslo and in Bergen?", os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5")
        )
    print(answer)
    return answer


if __name__ == "__main__":
    main()
