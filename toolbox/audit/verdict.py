"""What a record says of the model's arguments, by how the call ended: the one rule of everything that counts calls."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from toolbox.audit.record import CallStatus

__all__ = ["DECIDED_BY_FAILURES", "Verdict", "verdict_of"]


class Verdict(StrEnum):
    """What is to be said of the arguments of a call."""

    FITTED = "fitted"
    """They fit, as they came or after changes."""
    REFUSED = "refused"
    """They did not fit, or the call could not be read."""
    NOT_RUN = "not_run"
    """Nothing was wrong with them: the call was refused for a reason of the application, such as a missing value in the context."""
    UNKNOWN_TOOL = "unknown_tool"
    """There is no tool of that name, so there is nothing that they could fit."""


_FITTED: Final = frozenset(
    (CallStatus.RUNNING, CallStatus.DONE, CallStatus.FAILED, CallStatus.TIMEOUT, CallStatus.CANCELLED, CallStatus.UNKNOWN)
)
_ALONE: Final[dict[str, Verdict]] = {
    **dict.fromkeys(_FITTED, Verdict.FITTED),
    CallStatus.UNREADABLE: Verdict.REFUSED,
    CallStatus.UNKNOWN_TOOL: Verdict.UNKNOWN_TOOL,
}
DECIDED_BY_FAILURES: Final = tuple(status for status in CallStatus if status not in _ALONE)
"""The statuses that alone do not say whether the arguments were at fault."""
# A call that waits for a person has arguments that fit, or failures.
_STOPPED: Final = frozenset(DECIDED_BY_FAILURES) - {CallStatus.PENDING}


def verdict_of(status: str, *, has_failures: bool) -> Verdict:
    """What is to be said of the arguments of a call.

    Args:
        status: how the call ended; one that is not known, as somebody may have written it into a store, is decided by the failures.
        has_failures: whether an argument is on record that could not be used.

    >>> verdict_of("refused", has_failures=True), verdict_of("refused", has_failures=False)
    (<Verdict.REFUSED: 'refused'>, <Verdict.NOT_RUN: 'not_run'>)
    """
    alone = _ALONE.get(status)
    if alone is not None:
        return alone
    if has_failures:
        return Verdict.REFUSED
    return Verdict.NOT_RUN if status in _STOPPED else Verdict.FITTED
