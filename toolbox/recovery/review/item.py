"""One call that waits for a person, and what has happened to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from toolbox.recovery.review.states import Position, ReviewState, ReviewStep, RunState

__all__ = ["ReviewEvent", "ReviewItem"]


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One call in the review queue. Everything in it is plain JSON data; the values of secret parameters are masked.

    Attributes:
        id: id of the item.
        tool: name of the tool.
        reason: why it waits: ``"approval"``, ``"high_risk"``, or why a recovery ended: the reasons of `RecoveryFailed`.
        original: the arguments as they came.
        arguments: the arguments that would be dispatched: proposed, or as they were corrected; None when nothing could run as it is, so
            that they must be corrected first.
        invoked: what the function would be run with, defaults included; None as `arguments` is.
        hash: SHA-256 of the tool's name, the version of its schema, and both of these; empty as long as they are None.
        version: SHA-256 of the tool's schema and policy at the time the arguments were checked.
        secrets: names of the arguments whose values are kept secret, and must be given again by whoever runs the item.
        changes: what was changed on the way from what came to `invoked`.
        failures: every argument that could not be used.
        violation: the same as the text that says why the call could not run; empty where it only waits for approval.
        attempts: the attempts of a model to correct it, oldest first.
        metadata: what the caller said about the call: model, conversation_id, user, ...
        call_id: the provider's id of the call.
        record_id: id of the call's audit record.
        state: what has been decided.
        run: what has become of the call itself.
        repeats: how often the same call came again while it waited.
        revision: number of the last step.
        held_at: when it was put into the queue, in seconds since the epoch.
        updated_at: when the last step was taken.
        expires_after_s: how long after a step its time runs out, in seconds; None for never.
        expires_at: when that is, where it is so.
        decided_by: who took the last decision: corrected, approved, rejected or resolved it.
        note: why it was rejected, how it failed, and the like.
        same: what calls have in common that are the same; None once it has ended.
    """

    id: str
    tool: str
    reason: str
    original: Any
    arguments: dict[str, Any] | None = None
    invoked: dict[str, Any] | None = None
    hash: str = ""
    version: str = ""
    secrets: tuple[str, ...] = ()
    changes: tuple[Mapping[str, Any], ...] = ()
    failures: tuple[Mapping[str, Any], ...] = ()
    violation: str = ""
    attempts: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    call_id: str | None = None
    record_id: str | None = None
    state: ReviewState = ReviewState.WAITING
    run: RunState = RunState.NOT_RUN
    repeats: int = 0
    revision: int = 0
    held_at: float = 0.0
    updated_at: float = 0.0
    expires_after_s: float | None = None
    expires_at: float | None = None
    decided_by: str | None = None
    note: str | None = None
    same: str | None = None

    @property
    def position(self) -> Position:
        """State and run together."""
        return Position(self.state, self.run)

    def to_dict(self) -> dict[str, Any]:
        """The item as plain JSON data, as a dead-letter file stores it."""
        made = {item.name: getattr(self, item.name) for item in fields(self)}
        listed = {name: list(value) for name, value in made.items() if isinstance(value, tuple)}
        return {**made, **listed, "metadata": dict(self.metadata), "state": self.state.value, "run": self.run.value}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ReviewItem:
        """The item of plain JSON data.

        Raises:
            ValueError: it is no item.
        """
        names = {item.name for item in fields(cls)}
        try:
            known: dict[str, Any] = {name: tuple(value) if name in _TUPLES else value for name, value in plain.items() if name in names}
            known |= {"state": ReviewState(plain["state"]), "run": RunState(plain["run"])}
            made = cls(**known)
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"this is no item of a review queue: {error}") from error
        wrong = [name for name, kinds in _KINDS.items() if type(getattr(made, name)) not in kinds]
        wrong += [name for name in _TUPLES for item in getattr(made, name) if type(item) is not (str if name == "secrets" else dict)]
        if wrong:
            raise ValueError(f"this is no item of a review queue: {wrong[0]} holds something else")
        return made


_TUPLES: Final = frozenset({"secrets", "changes", "failures", "attempts"})
_NUMBER: Final = (int, float)
_KINDS: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("id", "tool", "reason", "hash", "version", "violation"), (str,)),
    **dict.fromkeys(("call_id", "record_id", "decided_by", "note", "same"), (str, type(None))),
    **dict.fromkeys(("arguments", "invoked"), (dict, type(None))),
    **dict.fromkeys(("repeats", "revision"), (int,)),
    **dict.fromkeys(("held_at", "updated_at"), _NUMBER),
    **dict.fromkeys(("expires_at", "expires_after_s"), (*_NUMBER, type(None))),
    "metadata": (dict,),
}


@dataclass(frozen=True, slots=True)
class ReviewEvent:
    """One step that an item has taken; events are only ever added.

    Attributes:
        item_id: id of the item.
        position: number of the step.
        at: when, in seconds since the epoch.
        step: which step.
        by: who took it.
        state: what was decided after it.
        run: what had become of the call after it.
        note: why, or how it ended.
        hash: the hash of what was shown at that time.
        arguments: the arguments after a correction.
    """

    item_id: str
    position: int
    at: float
    step: ReviewStep
    by: str
    state: ReviewState
    run: RunState
    note: str | None = None
    hash: str = ""
    arguments: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The event as plain JSON data."""
        return {item.name: getattr(self, item.name) for item in fields(self)}
