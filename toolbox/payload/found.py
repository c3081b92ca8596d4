"""What the readers of this package hand back, and what they ask of whoever knows the tools."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from toolbox.diagnostics import ABSENT, Diagnostic, DiagnosticKind, Risk

__all__ = ["ExtractedPayload", "FoundCall", "KnownTools", "step"]


@dataclass(frozen=True, slots=True)
class ExtractedPayload:
    """The arguments that a text holds.

    Attributes:
        arguments: usually a dict; a bare JSON value when the text is one, and None when it is empty.
        name: name of the tool when it travelled with the arguments.
        diagnostics: how the arguments were found, in order; empty for plain JSON text.
    """

    arguments: Any
    name: str | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class FoundCall:
    """One call in a model's output.

    Attributes:
        name: name of the tool, as resolved where the tools are known, else as written.
        arguments: a dict; or text, when the arguments came as text that is still to be extracted.
        call_id: id of the call, when it came with one.
        diagnostics: how the call was found, in order.
    """

    name: str
    arguments: Any
    call_id: str | None
    diagnostics: tuple[Diagnostic, ...]


class KnownTools(Protocol):
    """The registered tools, as far as finding a call needs them."""

    def resolve(self, name: str) -> str | None:
        """The registered name that this name stands for, or None."""
        ...

    def parameters(self, name: str) -> Sequence[str]:
        """The declared parameters of a registered tool, in order."""
        ...

    def required(self, name: str) -> Collection[str]:
        """The parameters of a registered tool that must be given."""
        ...

    def takes_any(self, name: str) -> bool:
        """Whether a registered tool takes arguments that are not declared."""
        ...


def step(kind: DiagnosticKind, risk: Risk, what: str, suggestion: str = "") -> Diagnostic:
    """A diagnostic about the text as a whole. It holds nothing of the text, which may hold secrets.

    >>> print(step(DiagnosticKind.EXTRACTED, Risk.INFO, "code fence"))
    [info] $: extracted (code fence)
    """
    return Diagnostic("$", kind, risk, ABSENT, ABSENT, what, suggestion)
