"""Whether a change may go through: the one place where level and risk are weighed and the change is put on record."""

from __future__ import annotations

from typing import Any, Final

from toolbox.diagnostics import Diagnostic, DiagnosticKind, FailureReason, Outcome, Path, Risk, path_text, shorten
from toolbox.policy import CoercionLevel, Policy

__all__ = ["Judge", "conversion_name"]

SENT_SHOWN: Final = 40

EXACT, SAFE_WIDENING, STRING, BEST_EFFORT = CoercionLevel
INFO, WARNING, RISKY = Risk


def conversion_name(before: object, after: object) -> str:
    """A change of type in short: ``str->int``."""
    source = "str" if isinstance(before, str) else "float" if isinstance(before, float) else type(before).__name__
    return f"{source}->{type(after).__name__}"


def _sendable(value: object) -> bool:
    """Whether a value is plain enough to be named as what to send instead."""
    return value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= SENT_SHOWN)


class Judge:
    """Weighs the changes of one policy."""

    __slots__ = ("level", "max_risk")

    def __init__(self, policy: Policy) -> None:
        self.level = policy.coercion
        self.max_risk = policy.max_risk

    def allows(self, level: CoercionLevel, risk: Risk) -> bool:
        """Whether a change of this level and risk goes through."""
        return level <= self.level and risk <= self.max_risk

    def change(
        self,
        out: Outcome,
        path: Path,
        expected: str,
        before: Any,
        after: Any,
        level: CoercionLevel,
        risk: Risk,
        *,
        kind: DiagnosticKind = DiagnosticKind.COERCED,
        conversion: str = "",
        detail: str = "",
        suggestion: str = "",
    ) -> Any:
        """Record a change and return its result, or record a failure and return `INVALID` when the policy does not allow it."""
        if (risk > self.max_risk or level > self.level) and not suggestion and _sendable(after):
            suggestion = f"Send {shorten(after)}"
        diagnostic = Diagnostic(path_text(path), kind, risk, before, after, conversion or conversion_name(before, after), suggestion)
        if risk > self.max_risk:
            return out.fail(path, FailureReason.TOO_RISKY, expected, before, detail, suggestion, diagnostic)
        if level > self.level:
            return out.fail(path, FailureReason.WRONG_TYPE, expected, before, detail, suggestion, diagnostic)
        out.diagnostics.append(diagnostic)
        return after
