"""Functions that ask, of the clients of OpenAI, Anthropic and Google: each takes a client of the application's and imports no SDK.

A client for asynchronous code gives a function for asynchronous code. A synchronous one serves both: asynchronous code asks it in a thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from toolbox.invoking import is_awaitable
from toolbox.recovery.prompt import Message

__all__ = ["ask_anthropic", "ask_gemini", "ask_openai"]

_LONGEST_ANSWER: Final = 4_096

AskClient = Callable[[list[Message]], Any]


def ask_openai(client: Any, model: str, **options: Any) -> AskClient:
    """A function that asks over the Chat Completions of OpenAI, or of a server that speaks the same.

    Args:
        client: an ``openai.OpenAI`` or ``openai.AsyncOpenAI``.
        model: name of the model.
        options: more arguments of ``client.chat.completions.create``, such as ``response_format={"type": "json_object"}``.
    """

    def ask(messages: list[Message]) -> Any:
        return _text(client.chat.completions.create(model=model, messages=messages, **options), _openai_text)

    return ask


def ask_anthropic(client: Any, model: str, *, max_tokens: int = _LONGEST_ANSWER, **options: Any) -> AskClient:
    """A function that asks over the Messages API of Anthropic.

    Args:
        client: an ``anthropic.Anthropic`` or ``anthropic.AsyncAnthropic``.
        model: name of the model.
        max_tokens: tokens of the longest answer.
        options: more arguments of ``client.messages.create``.
    """

    def ask(messages: list[Message]) -> Any:
        system, others = _parted(messages)
        response = client.messages.create(model=model, max_tokens=max_tokens, system=system, messages=others, **options)
        return _text(response, _anthropic_text)

    return ask


def ask_gemini(client: Any, model: str, **options: Any) -> AskClient:
    """A function that asks over the Gemini API of Google.

    Args:
        client: a ``google.genai.Client``, or its ``aio`` for asynchronous code.
        model: name of the model.
        options: more fields of the request's ``config``, such as ``response_mime_type="application/json"``.
    """

    def ask(messages: list[Message]) -> Any:
        system, others = _parted(messages)
        contents = [{"role": "user", "parts": [{"text": item["content"]}]} for item in others]
        config = {"system_instruction": system, **options}
        return _text(client.models.generate_content(model=model, contents=contents, config=config), _gemini_text)

    return ask


def _parted(messages: list[Message]) -> tuple[str, list[dict[str, str]]]:
    """The system's text, and the other messages."""
    system = "\n\n".join(item["content"] for item in messages if item["role"] == "system")
    return system, [{"role": item["role"], "content": item["content"]} for item in messages if item["role"] != "system"]


def _text(response: Any, read: Callable[[Any], str]) -> Any:
    """The text of a response, or an awaitable of it."""
    return _awaited(response, read) if is_awaitable(response) else read(response)


async def _awaited(response: Awaitable[Any], read: Callable[[Any], str]) -> str:
    return read(await response)


# A refusal is an answer too: one that holds no object, and is told so.


def _openai_text(response: Any) -> str:
    message = response.choices[0].message
    return message.content or getattr(message, "refusal", None) or ""


def _anthropic_text(response: Any) -> str:
    return "".join(block.text for block in response.content if block.type == "text")


def _gemini_text(response: Any) -> str:
    candidates = response.candidates or ()
    parts = (candidates[0].content.parts or ()) if candidates and candidates[0].content is not None else ()
    return "".join(part.text for part in parts if part.text and not getattr(part, "thought", None))
