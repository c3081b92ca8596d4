"""One attempt to correct a refused call, as it is kept: with everything that was said, and without what is secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from toolbox.diagnostics import MASK
from toolbox.json_values import Bounds, snapshot
from toolbox.masking import hidden
from toolbox.recovery.provenance import Change
from toolbox.tools import Tool

__all__ = ["Attempt", "Scrubber", "Verdict"]

_BOUNDS: Final = Bounds(text=2_000, nodes=2_000, depth=32)
_SECRETS: Final = 1_000
_CHANGES: Final = 100
_SHORTEST: Final = 4
_TEXT: Final = 2_000


class Verdict(StrEnum):
    """What became of an attempt; the values are public and stable."""

    ACCEPTED = "accepted"
    """Its arguments fit, come from the original ones, and were run."""
    PARTIAL = "partial"
    """The model says that some fields are beyond recovery; nothing was run."""
    UNRECOVERABLE = "unrecoverable"
    """The model says that what failed is beyond recovery; nothing was run."""
    MISSHAPEN = "misshapen"
    """The answer is not the object that was asked for."""
    INVALID = "invalid"
    """The corrected arguments do not fit either."""
    INVENTED = "invented"
    """The corrected arguments hold something that the original ones do not, or have lost something."""
    ASK_FAILED = "ask_failed"
    """There was no answer: what asks the model raised, or gave no text."""
    TIMEOUT = "timeout"
    """There was no answer in time."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to correct a refused call; values are bounded copies, and what is secret is masked.

    Attributes:
        number: which attempt of this call it is, from 1 on.
        original_arguments: the arguments that were refused.
        error: what the model was told: why the call, or the attempt before, was refused.
        verdict: what became of it.
        corrected_arguments: what the model made of them; None when there was no such thing.
        coercion_log: what the model says that it did.
        status: what the model says of its correction.
        unrecoverable_fields: what the model says that it could not correct.
        problem: what is wrong with the answer; empty when it was accepted.
        changes: what was changed, and which rule supports each change.
        duration_ms: how long the answer took, in milliseconds.
    """

    number: int
    original_arguments: Any
    error: str
    verdict: Verdict
    corrected_arguments: Any = None
    coercion_log: tuple[Any, ...] = ()
    status: str | None = None
    unrecoverable_fields: tuple[Any, ...] = ()
    problem: str = ""
    changes: tuple[tuple[str, str], ...] = field(default=())
    duration_ms: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The attempt as plain JSON data."""
        return {
            "attempt_number": self.number,
            "original_arguments": self.original_arguments,
            "error_received": self.error,
            "corrected_arguments": self.corrected_arguments,
            "coercion_log": list(self.coercion_log),
            "recovery_status": self.status,
            "unrecoverable_fields": list(self.unrecoverable_fields),
            "verdict": self.verdict.value,
            "problem": self.problem,
            "changes": [{"path": path, "support": support} for path, support in self.changes],
            "duration_ms": round(self.duration_ms, 3),
        }


class Scrubber:
    """Makes bounded copies without what is secret: by name, and, in what a model wrote, wherever a secret value of the call stands.

    Args:
        tool: the tool.
        original: the original arguments by name.
    """

    def __init__(self, tool: Tool, original: Mapping[str, Any]) -> None:
        self.tool = tool
        self.secrets = sorted(_secret_texts(tool, original), key=len, reverse=True)

    def arguments(self, value: Any) -> Any:
        """Arguments by name."""
        return self.said(hidden(self.tool, value))

    def said(self, value: Any) -> Any:
        """Anything that a model said."""
        redaction = self.tool.redaction
        copied = snapshot(value, _BOUNDS) if redaction is None else redaction.value(value, _BOUNDS, known=self.tool.names)
        return self._scrubbed(copied) if self.secrets else copied

    def text(self, text: str) -> str:
        """A text of toolbox's own, of bounded length; the values in it are masked where it is made, so only its words are looked at."""
        redaction = self.tool.redaction
        scrubbed = str(self._scrubbed(text))
        return (scrubbed if redaction is None else redaction.message(scrubbed))[:_TEXT]

    def changes(self, changes: tuple[Change, ...]) -> tuple[tuple[str, str], ...]:
        """Where something was changed, and what supports it; the values stand in the arguments."""
        return tuple((self.text(item.path), item.support) for item in changes[:_CHANGES])

    def _scrubbed(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self.secrets:
                value = MASK if value == secret else value.replace(secret, MASK) if len(secret) >= _SHORTEST else value
            return value
        if isinstance(value, dict):
            return {self._scrubbed(key): self._scrubbed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._scrubbed(item) for item in value]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return MASK if is_number and str(value) in self.secrets else value


def _secret_texts(tool: Tool, original: Mapping[str, Any]) -> set[str]:
    """The values of a call that may not be seen, as they may stand in a text: those that are not shown as they are."""
    if not tool.guarded:
        return set()
    found: set[str] = set()
    pending: list[tuple[Any, Any]] = [(snapshot(original), hidden(tool, original))]
    while pending and len(found) < _SECRETS:
        value, shown = pending.pop()
        if isinstance(value, dict):
            pending.extend((item, shown.get(key) if isinstance(shown, dict) else None) for key, item in value.items())
        elif isinstance(value, list):
            is_list = isinstance(shown, list) and len(shown) == len(value)
            pending.extend((item, shown[place] if is_list else None) for place, item in enumerate(value))
        elif value is not None and not isinstance(value, bool) and value != shown and str(value).strip():
            found |= {str(value), str(value).strip()}
    return found
