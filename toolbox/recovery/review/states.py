"""The states of an item and the steps between them, in one table."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from toolbox.errors import ReviewError

__all__ = ["STEPS", "Position", "ReviewState", "ReviewStep", "RunState", "after"]


class ReviewState(StrEnum):
    """What has been decided about an item; the values are public and stable."""

    WAITING = "waiting"
    """Nobody has decided yet."""
    CORRECTED = "corrected"
    """A person has changed the arguments; the new ones wait for approval."""
    APPROVED = "approved"
    """A person has approved exactly what is shown."""
    REJECTED = "rejected"
    """A person has said no; it never runs."""
    EXPIRED = "expired"
    """Nobody decided, or nobody ran it, in time; it never runs."""


class RunState(StrEnum):
    """What has become of the call itself; the values are public and stable."""

    NOT_RUN = "not_run"
    """The function has not been started."""
    RUNNING = "running"
    """A process has claimed the item, and is about to run the function or is running it."""
    DONE = "done"
    """The function returned."""
    FAILED = "failed"
    """The function raised."""
    UNKNOWN = "unknown"
    """Whether the function had an effect is not known; it is never run again unless a person says so."""


class ReviewStep(StrEnum):
    """What can happen to an item; the values are public and stable."""

    HOLD = "hold"
    """The call was put into the queue."""
    CORRECT = "correct"
    """A person changed the arguments."""
    APPROVE = "approve"
    """A person approved what was shown."""
    REJECT = "reject"
    """A person refused it."""
    EXPIRE = "expire"
    """Its time ran out."""
    CLAIM = "claim"
    """A process took it, in order to run it."""
    RELEASE = "release"
    """The process gave it back, since the function was not started."""
    DONE = "done"
    """The function returned."""
    FAIL = "fail"
    """The function raised."""
    LOSE = "lose"
    """Whoever ran it is gone, was cancelled or took too long: nobody knows how it ended."""
    SETTLE_DONE = "settle_done"
    """A person found out that it had its effect."""
    SETTLE_FAILED = "settle_failed"
    """A person found out that it failed."""
    SETTLE_NOT_RUN = "settle_not_run"
    """A person found out that it had no effect, so that it may be run once more."""


class Position(NamedTuple):
    """Where an item stands.

    Attributes:
        state: what has been decided.
        run: what has become of the call.
    """

    state: ReviewState
    run: RunState


_WAITING: Final = Position(ReviewState.WAITING, RunState.NOT_RUN)
_CORRECTED: Final = Position(ReviewState.CORRECTED, RunState.NOT_RUN)
_APPROVED: Final = Position(ReviewState.APPROVED, RunState.NOT_RUN)
_REJECTED: Final = Position(ReviewState.REJECTED, RunState.NOT_RUN)
_EXPIRED: Final = Position(ReviewState.EXPIRED, RunState.NOT_RUN)
_RUNNING: Final = Position(ReviewState.APPROVED, RunState.RUNNING)
_DONE: Final = Position(ReviewState.APPROVED, RunState.DONE)
_FAILED: Final = Position(ReviewState.APPROVED, RunState.FAILED)
_UNKNOWN: Final = Position(ReviewState.APPROVED, RunState.UNKNOWN)
_UNDECIDED: Final = (_WAITING, _CORRECTED)
_NOT_RUN: Final = (_WAITING, _CORRECTED, _APPROVED)

# Step -> where an item may stand before it, and where it stands after it. Whoever lost an item may still come back and say how it ended.
STEPS: Final[dict[ReviewStep, tuple[tuple[Position, ...], Position]]] = {
    ReviewStep.HOLD: ((), _WAITING),
    ReviewStep.CORRECT: (_NOT_RUN, _CORRECTED),
    ReviewStep.APPROVE: (_UNDECIDED, _APPROVED),
    ReviewStep.REJECT: (_NOT_RUN, _REJECTED),
    ReviewStep.EXPIRE: (_NOT_RUN, _EXPIRED),
    ReviewStep.CLAIM: ((_APPROVED,), _RUNNING),
    ReviewStep.RELEASE: ((_RUNNING,), _APPROVED),
    ReviewStep.DONE: ((_RUNNING, _UNKNOWN), _DONE),
    ReviewStep.FAIL: ((_RUNNING, _UNKNOWN), _FAILED),
    ReviewStep.LOSE: ((_RUNNING,), _UNKNOWN),
    ReviewStep.SETTLE_DONE: ((_UNKNOWN,), _DONE),
    ReviewStep.SETTLE_FAILED: ((_UNKNOWN,), _FAILED),
    ReviewStep.SETTLE_NOT_RUN: ((_UNKNOWN,), _APPROVED),
}

ENDED: Final = frozenset({_REJECTED, _EXPIRED, _DONE, _FAILED})
"""Where an item stays; the same call made again is an item of its own."""
EXPIRING: Final = frozenset(_NOT_RUN)
"""Where the time of an item can run out."""

_SAID: Final = {
    _WAITING: "waits for a decision",
    _CORRECTED: "was corrected, and the correction waits for approval",
    _APPROVED: "is approved and was not run yet",
    _REJECTED: "was rejected",
    _EXPIRED: "has expired",
    _RUNNING: "is being run",
    _DONE: "was run already",
    _FAILED: "was run and failed",
    _UNKNOWN: "was run to an end that nobody knows",
}
_WISHES: Final = {
    ReviewStep.CORRECT: "be corrected",
    ReviewStep.APPROVE: "be approved",
    ReviewStep.REJECT: "be rejected",
    ReviewStep.CLAIM: "be run",
}
_ADVICE: Final = {
    (ReviewStep.CLAIM, _WAITING): "approve it first",
    (ReviewStep.CLAIM, _CORRECTED): "approve it first",
    (ReviewStep.CLAIM, _UNKNOWN): "find out whether it had its effect, then resolve it",
    (ReviewStep.APPROVE, _APPROVED): "run it",
}


def after(step: ReviewStep, now: Position, item_id: str = "") -> Position:
    """Where an item stands after a step.

    Raises:
        ReviewError: the step may not be taken from there.
    """
    before, then = STEPS[step]
    if now in before:
        return then
    wish = _WISHES.get(step, f"take the step {step.value!r}")
    if step.value.startswith("settle"):
        wish = "be resolved: only what nobody knows the end of can be"
    advice = _ADVICE.get((step, now), "")
    reason = "expired" if now == _EXPIRED else "illegal_step"
    raise ReviewError(reason, f"the item {item_id} {_SAID[now]} and cannot {wish}{'; ' if advice else ''}{advice}", item_id)
