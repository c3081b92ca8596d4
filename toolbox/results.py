"""The result of a call, as text for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolbox.diagnostics import CoercionReport
from toolbox.errors import ToolboxError
from toolbox.json_values import Bounds, json_text
from toolbox.redaction import Redaction

if TYPE_CHECKING:
    from toolbox.providers import SentResult

__all__ = ["RESULT_LIMIT", "ToolResult", "result_text"]

RESULT_LIMIT: Final = 100_000
"""Characters of the longest result that is written for a model."""

_BOUNDS: Final = Bounds(text=RESULT_LIMIT, nodes=50_000, depth=64)


def result_text(value: Any, limit: int = RESULT_LIMIT) -> str:
    """What a tool returned, as text: text as it is, anything else as JSON; longer than `limit` characters it is cut, with a note.

    >>> result_text({"when": None, "price": 19.5})
    '{"when": null, "price": 19.5}'
    """
    if isinstance(value, str):
        # By the methods of str itself: those of a subclass may do anything.
        text = str.__getitem__(value, slice(limit + 1))
        of_all = f" of {str.__len__(value):,}"
    else:
        # Its text is made of a bounded copy, so nobody knows how long the whole would be.
        text = json_text(value, _BOUNDS)
        of_all = ""
    # Lone surrogates cannot be sent as UTF-8, and would fail far from here.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= limit else f"{text[:limit]}\n[cut: the first {limit:,}{of_all} characters are shown]"


class ToolResult:
    """How a call ended.

    Attributes:
        ok: whether the function ran and returned (or a fallback handler, or a recovery, answered).
        value: what it returned; None when it did not.
        error: the error when it did not; its text is made for the model.
        report: what happened to the arguments as they came, also where they were then corrected; None when the call did not come that far.
        tool: name of the tool, as resolved.
        call_id: the provider's id of the call.
    """

    __slots__ = ("_redaction", "call_id", "error", "ok", "report", "tool", "value")

    def __init__(
        self,
        tool: str,
        value: Any = None,
        error: ToolboxError | None = None,
        report: CoercionReport | None = None,
        call_id: str | None = None,
        redaction: Redaction | None = None,
    ) -> None:
        self.ok = error is None
        self.value = value
        self.error = error
        self.report = report
        self.tool = tool
        self.call_id = call_id
        self._redaction = redaction if redaction is not None and redaction.results else None

    def to_text(self, limit: int = RESULT_LIMIT) -> str:
        """The result, or the error, as text for the model."""
        return result_text(self._seen() if self.error is None else f"Error: {self.error}", limit)

    def _seen(self) -> Any:
        """The value as a model may see it."""
        if self._redaction is None:
            return self.value
        return self._redaction.text(self.value) if isinstance(self.value, str) else self._redaction.value(self.value, _BOUNDS)

    def sent(self) -> SentResult:
        """What goes back to a model about the call."""
        from toolbox.providers import SentResult

        return SentResult(self.tool, self.call_id, self.to_text(), not self.ok, self._seen())

    def to_message(self, provider: str = "openai") -> dict[str, Any]:
        """The result as the provider's message.

        Raises:
            ValueError: the provider is not known.
        """
        from toolbox.providers import write_results

        return write_results(provider, [self.sent()])[0]

    def __repr__(self) -> str:
        state = "ok" if self.ok else f"error={type(self.error).__name__}"
        return f"<ToolResult {self.tool} {state}>"
