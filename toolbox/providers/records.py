"""The records that go out and come in, whatever the provider."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from toolbox.errors import ToolboxError

if TYPE_CHECKING:
    from toolbox.types import Document

__all__ = ["ExportReport", "ExportedTool", "Loss", "OnUnsupported", "PartialCall", "SentResult", "UnsupportedTool"]

OnUnsupported = Literal["fallback", "raise"]
"""What becomes of a tool that cannot be exported as strict."""


class ExportedTool(NamedTuple):
    """A tool as the providers' files see it.

    Attributes:
        name: its name in the registry.
        description: text for the model.
        schema: the JSON Schema of its parameters.
        document: the representation that the schema was written from; read from the schema where it is not given.
    """

    name: str
    description: str
    schema: dict[str, Any]
    document: Document | None = None


class Loss(NamedTuple):
    """Something of a tool that a provider's dialect cannot say.

    Attributes:
        tool: name of the tool in the registry.
        path: where it stands: ``$.items[*].price``; ``[*]`` for the items of an array, ``.*`` for the values of a map.
        what: what cannot be said.
        why: why not, and what was done instead.
    """

    tool: str
    path: str
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.tool} {self.path}: {self.what}: {self.why}"


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export to a provider lost, and which of the provider's maximums it passes.

    Attributes:
        provider: name of the provider.
        losses: what the provider's dialect cannot say, tool by tool.
        warnings: maximums that are passed, and what else a request needs.
    """

    provider: str
    losses: tuple[Loss, ...] = ()
    warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Loss]:
        return iter(self.losses)

    def __len__(self) -> int:
        return len(self.losses)

    def __bool__(self) -> bool:
        return bool(self.losses or self.warnings)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.losses), *(f"warning: {text}" for text in self.warnings)])


class UnsupportedTool(ToolboxError, ValueError):
    """A tool cannot be exported the way that was asked for.

    Attributes:
        tool: name of the tool.
        provider: name of the provider.
        path: where in its parameters the reason stands.
        reason: why not.
    """

    def __init__(self, tool: str, provider: str, path: str, reason: str) -> None:
        self.tool = tool
        self.provider = provider
        self.path = path
        self.reason = reason
        super().__init__(tool, provider, path, reason)

    def __str__(self) -> str:
        return f"the tool {self.tool} cannot be strict for {self.provider}: {self.path}: {self.reason}"


class PartialCall(NamedTuple):
    """A call that is still arriving: for display only, it must not be run.

    Attributes:
        name: name of the tool as far as it is known.
        arguments: text of the arguments so far.
        call_id: the provider's id.
    """

    name: str
    arguments: str
    call_id: str | None


class SentResult(NamedTuple):
    """What goes back to a model about one call.

    Attributes:
        tool: name of the tool in the registry.
        call_id: id of the call.
        text: the result or the error as text, already bounded.
        failed: whether it is an error.
        value: what the tool returned, for providers that take more than text; None for a failure.
    """

    tool: str
    call_id: str | None
    text: str
    failed: bool = False
    value: Any = None
