"""The wire formats of model providers: schemas out, results out. One file a provider."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolbox.providers import openai, plain
from toolbox.providers.shared import ExportedTool

__all__ = ["PROVIDERS", "ExportedTool", "write_result", "write_tools"]

PROVIDERS = {"json": plain, "openai": openai}


def write_tools(provider: str, tools: Iterable[ExportedTool]) -> list[dict[str, Any]]:
    """The definitions of tools as a provider wants them.

    Raises:
        ValueError: the provider is not known.
    """
    return _module(provider).write_tools(tools)


def write_result(provider: str, text: str, call_id: str | None, tool: str, *, failed: bool) -> dict[str, Any]:
    """The message that carries a result back to a provider's model.

    Raises:
        ValueError: the provider is not known.
    """
    return _module(provider).write_result(text, call_id, tool, failed=failed)


def _module(provider: str) -> Any:
    module = PROVIDERS.get(provider)
    if module is None:
        raise ValueError(f"there is no provider {provider!r}; the providers are {', '.join(PROVIDERS)}")
    return module
