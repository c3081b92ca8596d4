"""The wire formats of model providers, in both directions. One file a provider.

Tools go out with `export_tools`, responses come in with `read_response` or `stream_calls`, and results go back with `write_results`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from toolbox.diagnostics import json_name
from toolbox.errors import PayloadError
from toolbox.providers.records import ExportedTool, ExportReport, Loss, OnUnsupported, PartialCall, SentResult, UnsupportedTool

if TYPE_CHECKING:
    from toolbox.payload.found import FoundCall
    from toolbox.providers.exporting import Export
    from toolbox.providers.provider import Provider
    from toolbox.providers.streaming import CallStream
    from toolbox.providers.turns import StepMessages, Turn

__all__ = [
    "PROVIDERS",
    "ExportReport",
    "ExportedTool",
    "Loss",
    "OnUnsupported",
    "PartialCall",
    "SentResult",
    "UnsupportedTool",
    "export_tools",
    "provider_of",
    "read_response",
    "stream_calls",
    "take_step",
    "tool_choice",
    "write_calls",
    "write_result",
    "write_results",
    "write_tools",
]

T = TypeVar("T")
KEYS_NAMED: Final = 5

# Looked at in this order when a response is to be recognised: the ones whose shape says most come first.
_MODULES: Final = {
    "openai": "openai",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "bedrock": "bedrock",
    "mistral": "mistral",
    "cohere": "cohere",
    "ollama": "ollama",
    "mcp": "mcp",
    "json": "plain_json",
}
PROVIDERS: Final = tuple(_MODULES)
"""The names of the providers."""


def _provider(name: str) -> Provider:
    module = _MODULES.get(name)
    if module is None:
        raise ValueError(f"there is no provider {name!r}; the providers are {', '.join(_MODULES)}")
    found: Provider = importlib.import_module(f"toolbox.providers.{module}").PROVIDER
    return found


def export_tools(
    provider: str, tools: Iterable[ExportedTool], *, strict: bool = False, on_unsupported: OnUnsupported = "fallback"
) -> Export:
    """Tools as a provider's request takes them, with a report of what its dialect cannot say.

    Args:
        provider: name of the provider.
        tools: the tools, in the order in which they are to stand.
        strict: whether the provider is to hold the model to the schemas, where it can.
        on_unsupported: what becomes of a tool that cannot be strict: ``"fallback"`` exports it without and reports it, ``"raise"`` raises.

    Raises:
        ValueError: the provider is not known.
        UnsupportedTool: a tool cannot be strict, and `on_unsupported` says so.
    """
    from toolbox.providers.exporting import export

    return export(_provider(provider), tools, strict=strict, on_unsupported=on_unsupported)


def write_tools(
    provider: str, tools: Iterable[ExportedTool], *, strict: bool = False, on_unsupported: OnUnsupported = "fallback"
) -> list[dict[str, Any]]:
    """The definitions of tools alone; see `export_tools`.

    Raises:
        ValueError: the provider is not known.
        UnsupportedTool: a tool cannot be strict, and `on_unsupported` says so.
    """
    return export_tools(provider, tools, strict=strict, on_unsupported=on_unsupported).tools


def tool_choice(provider: str, choice: str, *, tools: Collection[str] = (), parallel: bool | None = None) -> dict[str, Any]:
    """The part of a request that says which tools the model may or must call, to be merged into the request.

    Args:
        provider: name of the provider.
        choice: ``"auto"``, ``"none"``, ``"required"`` (any tool), or the name of the tool that must be called.
        tools: the names of all tools of the registry, so that the name is written as the export writes it.
        parallel: whether several calls in one answer are allowed; None leaves it to the provider.

    Raises:
        ValueError: the provider is not known, or cannot be told this.
    """
    from toolbox.providers.provider import AUTO, NONE, REQUIRED, Choice
    from toolbox.providers.shared import legal_names

    found = _provider(provider)
    if choice in (AUTO, NONE, REQUIRED) and choice not in tools:
        return found.choice(Choice(choice, None, parallel))
    return found.choice(Choice("tool", legal_names([*tools, choice], found.names)[choice], parallel))


def provider_of(response: Any) -> str | None:
    """The name of the provider whose response, or whose model's message, this is; None where it is something else."""
    from toolbox.providers.shared import plain

    data = plain(response)
    return next((name for name in _MODULES if _provider(name).recognises(data)), None)


def read_response(
    response: Any, provider: str | None = None, *, tools: Iterable[ExportedTool] = (), strict: Collection[str] | bool = False
) -> Turn | None:
    """The calls in a provider's response: an SDK's object or the plain dict of it.

    Args:
        response: the response, or the model's message of it.
        provider: name of the provider; found by the response's shape where it is not given.
        tools: the tools that were exported to it.
        strict: whether they were exported as strict, so that null stands for "not given"; or the names of the providers they were for.

    Returns:
        The turn, or None when it is no response of any provider.

    Raises:
        ValueError: the provider is not known.
        PayloadError: it is no response of the named provider: an error's body, another provider's response, nothing at all.
    """
    from toolbox.providers.shared import plain
    from toolbox.providers.turns import read_turn

    data = plain(response)
    found = next((each for each in _MODULES if _provider(each).recognises(data)), None)
    name = found if provider is None else provider
    if name is None:
        return None
    if provider is not None:
        _provider(provider)
        problem = _misfit(provider, found, data)
        if problem is not None:
            raise PayloadError("malformed", problem)
    return read_turn(data, _provider(name), tools=tools, nulls=_holds(strict, name))


# Providers whose responses have one shape, or nearly so.
_CHAT = frozenset({"openai", "mistral", "cohere", "ollama", "json"})


def _misfit(provider: str, found: str | None, data: Any) -> str | None:
    """Why data is no response of a provider, or None when it may be one."""
    if found == provider or (found in _CHAT and provider in _CHAT):
        return None
    if found is not None:
        return f"this is a response of {found} and not of {provider}"
    if isinstance(data, Mapping):
        # The model's message alone is read too, and so are the parameters of a request to an MCP server.
        if data.get("role") in ("assistant", "model") or (provider == "mcp" and "name" in data):
            return None
        held = ", ".join(list(map(str, data))[:KEYS_NAMED]) or "nothing"
        return f"this is no response of {provider}: it holds {held}"
    return None if isinstance(data, list) and data else f"this is no response of {provider}, but {json_name(data)}"


def _holds(strict: Collection[str] | bool, provider: str) -> bool:
    return strict if isinstance(strict, bool) else provider in strict


def stream_calls(
    provider: str, make: Callable[[FoundCall], T], *, tools: Iterable[ExportedTool] = (), strict: Collection[str] | bool = False
) -> CallStream[T]:
    """An accumulator for one streamed response.

    Args:
        provider: name of the provider.
        make: what a call is handed out as.
        tools: the tools that were exported to it.
        strict: as for `read_response`.

    Raises:
        ValueError: the provider is not known, or has no streams.
    """
    from toolbox.providers.turns import open_stream

    return open_stream(_provider(provider), make, tools=tools, nulls=_holds(strict, provider))


def write_results(provider: str, results: Iterable[SentResult], *, tools: Collection[str] = ()) -> list[dict[str, Any]]:
    """The messages that carry the results of one turn back to a provider's model, in the order of the calls.

    Args:
        provider: name of the provider.
        results: the results.
        tools: the names of all tools of the registry, so that names are written as the export writes them.

    Raises:
        ValueError: the provider is not known.
    """
    from toolbox.providers.shared import legal_names

    found, listed = _provider(provider), list(results)
    names = legal_names([*tools, *(result.tool for result in listed)], found.names)
    return found.results(listed, names) if listed else []


def write_result(
    provider: str, text: str, call_id: str | None, tool: str, *, failed: bool, value: Any = None, tools: Collection[str] = ()
) -> dict[str, Any]:
    """The message that carries one result back to a provider's model.

    Raises:
        ValueError: the provider is not known.
    """
    return write_results(provider, [SentResult(tool, call_id, text, failed, None if failed else value)], tools=tools)[0]


def write_calls(provider: str, calls: Iterable[FoundCall], text: str = "", *, tools: Collection[str] = ()) -> list[dict[str, Any]]:
    """A model's message with calls in a provider's shape, for a conversation that began with another provider.

    Ids that the provider does not allow are rewritten, and `write_results` rewrites them the same way.

    Args:
        provider: name of the provider that the conversation moves to.
        calls: the calls, under the names of the registry.
        text: what the model said beside them.
        tools: the names of all tools of the registry.

    Raises:
        ValueError: the provider is not known.
    """
    from toolbox.providers.turns import write_calls as written

    return written(_provider(provider), calls, text, tools)


def take_step(
    provider: str,
    response: Any,
    run: Callable[[Sequence[FoundCall]], Sequence[T]],
    sent: Callable[[T], SentResult],
    *,
    tools: Iterable[ExportedTool] = (),
    strict: Collection[str] | bool = False,
) -> StepMessages:
    """The messages to append after a response: the model's own, and behind them the results of its calls.

    Args:
        provider: name of the provider.
        response: the response.
        run: runs calls, and gives one result for each, in their order; it must not raise for what a model did.
        sent: what goes back about a result.
        tools: the tools that were exported.
        strict: as for `read_response`.

    Raises:
        ValueError: the provider is not known.
    """
    turn = read_response(response, provider, tools=tools, strict=strict)
    assert turn is not None
    results = list(run(turn.to_run)) if turn.to_run else []
    return turn.answered([sent(result) for result in results], results)
