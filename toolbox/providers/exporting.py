"""Tools written for a provider, with the list of what its dialect could not say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from toolbox.providers.dialects import Dialect
from toolbox.providers.provider import Provider, StrictBudget, WrittenTool, source_of
from toolbox.providers.records import ExportedTool, ExportReport, Loss, OnUnsupported, UnsupportedTool
from toolbox.providers.shared import legal_names
from toolbox.providers.translation import Translation
from toolbox.providers.wording import noted
from toolbox.types import Document

__all__ = ["Export", "export"]


@dataclass(frozen=True, slots=True)
class Export:
    """Tools as a request takes them.

    Attributes:
        tools: what goes into the request.
        report: what the provider's dialect could not say.
        names: the provider's name of each tool.
        strict: the tools that the provider holds the model to.
    """

    tools: list[dict[str, Any]]
    report: ExportReport
    names: dict[str, str]
    strict: frozenset[str]


def export(
    provider: Provider, tools: Iterable[ExportedTool], *, strict: bool = False, on_unsupported: OnUnsupported = "fallback"
) -> Export:
    """Write tools for a provider.

    Args:
        provider: the provider.
        tools: the tools, in the order in which they are to stand.
        strict: whether the provider is to hold the model to the schemas, where it can.
        on_unsupported: what becomes of a tool that cannot be strict: it is exported without, and reported; or `UnsupportedTool` is raised.

    Raises:
        UnsupportedTool: a tool cannot be strict, and `on_unsupported` says so.
        ValueError: `on_unsupported` is neither of the two.
    """
    if on_unsupported not in ("fallback", "raise"):
        raise ValueError(f"on_unsupported must be 'fallback' or 'raise', not {on_unsupported!r}")
    listed = list(tools)
    names = legal_names((tool.name for tool in listed), provider.names)
    losses: list[Loss] = []
    budget = provider.budget()
    written: list[WrittenTool] = []
    held: list[str] = []
    for tool in listed:
        if names[tool.name] != tool.name:
            losses.append(Loss(tool.name, "$", "name", f"not allowed; written as {names[tool.name]!r}, and read back"))
        try:
            made = _strict(provider, tool, budget) if strict else None
        except UnsupportedTool as error:
            if on_unsupported == "raise":
                raise
            losses.append(Loss(tool.name, error.path, "strict", f"exported without: {error.reason}"))
            made = None
        if made is not None:
            held.append(tool.name)
        document, notes, lost = made or _translated(tool, provider.dialect)
        losses += lost
        description = _description(tool, notes, provider.limits.description, losses)
        written.append(WrittenTool(names[tool.name], description, provider.schema(document), document, made is not None))
    definitions = [_copied(provider.definition(tool)) for tool in written]
    report = ExportReport(provider.name, tuple(losses), tuple(_warnings(provider, len(listed), len(held))))
    return Export(provider.request_tools(definitions) if definitions else [], report, names, frozenset(held))


def _copied(value: Any) -> Any:
    """A copy, so that whoever changes an export changes no tool."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value


_Made = tuple[Document, list[str], list[Loss]]


def _translated(tool: ExportedTool, dialect: Dialect) -> _Made:
    translation = Translation(tool.name, source_of(tool), dialect)
    return translation.document(), translation.root_notes, translation.losses


def _strict(provider: Provider, tool: ExportedTool, budget: StrictBudget) -> _Made:
    if provider.strict_dialect is None:
        raise UnsupportedTool(tool.name, provider.name, "$", f"{provider.name} has no strict mode")
    made = _translated(tool, provider.strict_dialect)
    refusal = budget.refusal(made[0])
    if refusal is not None:
        raise UnsupportedTool(tool.name, provider.name, *refusal)
    return made


def _description(tool: ExportedTool, notes: list[str], longest: int | None, losses: list[Loss]) -> str:
    said = noted(notes)
    text = f"{tool.description}\n\n{said}" if tool.description and said else tool.description or said
    if longest is None or len(text) <= longest:
        return text
    # One description that is too long would make the provider refuse the whole request. What the schema could not say is kept.
    losses.append(Loss(tool.name, "$", "description", f"cut: {len(text):,} characters, and at most {longest:,} are allowed"))
    said = said[: longest // 2]
    room = longest - len(said) - len("...\n\n")
    return f"{tool.description[:room]}...\n\n{said}".strip()


def _warnings(provider: Provider, tools: int, strict_tools: int) -> Iterable[str]:
    limits = provider.limits
    if limits.tools is not None and tools > limits.tools:
        yield f"{tools} tools, and {provider.name} takes at most {limits.tools} in one request: send fewer, with registry.filter(...)"
    if limits.strict_tools is not None and tools > strict_tools >= limits.strict_tools:
        yield f"{provider.name} takes at most {limits.strict_tools} strict tools in one request: the others are exported without strict"
    if strict_tools and provider.strict_note:
        yield provider.strict_note
