"""An agent loop with the OpenAI SDK: with OPENAI_API_KEY set it talks to the real service, else to a local stand-in."""

from __future__ import annotations

import contextlib
import os

import openai
from agent_fake_server import fake_server

from toolbox import Registry

registry = Registry()


@registry.tool
def weather(city: str) -> dict[str, object]:
    """The weather in a city now."""
    return {"city": city, "degrees": 21 if city == "Oslo" else 17}


def ask(client: openai.OpenAI, question: str, model: str) -> str:
    messages: list = [{"role": "user", "content": question}]
    while True:
        response = client.chat.completions.create(model=model, messages=messages, tools=registry.schemas("openai", strict=True))
        step = registry.step("openai", response)
        messages += step
        if step.done:
            return step.text


def main() -> str:
    with contextlib.ExitStack() as stack:
        if os.environ.get("OPENAI_API_KEY"):
            client = openai.OpenAI()
        else:
            client = openai.OpenAI(base_url=stack.enter_context(fake_server()).url + "/v1", api_key="none", max_retries=0)
        answer = ask(stack.enter_context(client), "How warm is it in Oslo and in Bergen?", os.environ.get("OPENAI_MODEL", "gpt-5"))
    print(answer)
    return answer


if __name__ == "__main__":
    main()
