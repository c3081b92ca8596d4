"""An agent loop with the google-genai SDK: with GEMINI_API_KEY set it talks to the real service, else to a local stand-in."""

from __future__ import annotations

import contextlib
import os

from agent_fake_server import fake_server
from google import genai

from toolbox import Registry

registry = Registry()


@registry.tool
def weather(city: str) -> dict[str, object]:
    """The weather in a city now."""
    return {"city": city, "degrees": 21 if city == "Oslo" else 17}


def ask(client: genai.Client, question: str, model: str) -> str:
    contents: list = [{"role": "user", "parts": [{"text": question}]}]
    while True:
        response = client.models.generate_content(model=model, contents=contents, config={"tools": registry.schemas("gemini")})
        step = registry.step("gemini", response)
        contents += step
        if step.done:
            return step.text


def main() -> str:
    with contextlib.ExitStack() as stack:
        if os.environ.get("GEMINI_API_KEY"):
            client = genai.Client()
        else:
            client = genai.Client(api_key="none", http_options={"base_url": stack.enter_context(fake_server()).url})
        answer = ask(
            stack.enter_context(client), "How warm is it in Oslo and in Bergen?", os.environ.get("GEMINI_MODEL", "gemini-2.5-flash")
        )
    print(answer)
    return answer


if __name__ == "__main__":
    main()
