"""One attempt to correct a refused call, as it is kept: with everything that was said, and without what is secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from toolbox.diagnostics import MASK
from toolbox.json_values import Bounds, snapshot
from toolbox.masking import hidden, texts_of
from toolbox.recovery.provenance import Change
from toolbox.tools import Tool

__all__ = ["Attempt", "Scrubber", "Verdict"]

_TEXT: Final = 2_000
_BOUNDS: Final = Bounds(text=_TEXT, nodes=2_000, depth=32)
# Texts are cut after the secrets in them are masked: the rest of one that was cut in two would not be known again.
_UNCUT: Final = _BOUNDS._replace(text=1 << 20)
_WHOLE: Final = Bounds(text=1 << 20, nodes=200_000, depth=128)
_MOST_SECRETS: Final = 1_000
_CHANGES: Final = 100
_SHORTEST: Final = 4


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

    Of a call with more than 1,000 secret values no text is kept at all.

    Args:
        tool: the tool.
        original: the original arguments by name.
    """

    def __init__(self, tool: Tool, original: Mapping[str, Any]) -> None:
        self.tool = tool
        found = texts_of(tool, _secret_values(tool, original)) if tool.guarded else []
        self.secrets = None if found is None or len(found) > _MOST_SECRETS else found

    def arguments(self, value: Any) -> Any:
        """Arguments by name."""
        return self.said(hidden(self.tool, value))

    def said(self, value: Any) -> Any:
        """Anything that a model said."""
        redaction = self.tool.redaction
        bounds = _BOUNDS if self.secrets == [] else _UNCUT
        copied = snapshot(value, bounds) if redaction is None else redaction.value(value, bounds, known=self.tool.names)
        return copied if bounds is _BOUNDS else snapshot(self._scrubbed(copied), _BOUNDS)

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
            return self._scrubbed_text(value)
        if isinstance(value, dict):
            return {self._scrubbed_key(key): self._scrubbed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._scrubbed(item) for item in value]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return MASK if is_number and (self.secrets is None or str(value) in self.secrets) else value

    def _scrubbed_key(self, key: str) -> str:
        is_known = self.secrets is None and self.tool.bind.names.resolve(key) is not None
        return key if is_known else self._scrubbed_text(key)

    def _scrubbed_text(self, text: str) -> str:
        if self.secrets is None:
            return MASK
        for secret in self.secrets:
            text = MASK if text == secret else text.replace(secret, MASK) if len(secret) >= _SHORTEST else text
        return text


def _secret_values(tool: Tool, original: Mapping[str, Any]) -> list[Any]:
    """The values of a call that may not be seen: those that are not shown as they are."""
    found: list[Any] = []
    pending: list[tuple[Any, Any]] = [(snapshot(original, _WHOLE), hidden(tool, original, _WHOLE))]
    while pending:
        value, shown = pending.pop()
        if isinstance(value, dict) and isinstance(shown, dict):
            pending.extend((item, shown.get(key)) for key, item in value.items())
        elif isinstance(value, list) and isinstance(shown, list) and len(value) == len(shown):
            pending.extend(zip(value, shown, strict=True))
        elif value != shown and not (isinstance(value, str) and not value.strip()):
            found += (value, value.strip()) if isinstance(value, str) else (value,)
    return found
