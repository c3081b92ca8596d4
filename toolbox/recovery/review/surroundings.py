"""What the queue needs around it: a store, a registry, and a word about its own process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from toolbox.calls import Services
from toolbox.recovery.review.states import ReviewStep
from toolbox.tools import Tool

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["ALIVE", "KEPT", "MACHINE", "End", "Store", "Tools"]

_T = TypeVar("_T")

MACHINE: Final = "toolbox"
"""Who takes the steps that no person takes: what is held, what expires, what is lost."""
ALIVE: Final[set[str]] = set()
"""What this process has claimed and is running, by the id of the claim."""


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """How a run of this process has ended.

    Attributes:
        item_id: id of the item.
        claim: id of the claim.
        step: the step that says so.
        by: who ran it.
        note: what is said about it.
        revision: the item's when it was claimed.
        store: where the item is.
    """

    item_id: str
    claim: str
    step: ReviewStep
    by: str
    note: str | None
    revision: int
    store: Store


KEPT: Final[dict[str, End]] = {}
"""Ends that are not on record yet, by the id of the claim; whatever queue of this process comes upon the item knows of them."""


class Store(Protocol):
    """What the queue needs of a store, such as an `AuditStore`."""

    def transact(self, work: Callable[[Connection], _T], /) -> _T:
        """Do work in one transaction that writes; durable when this returns."""
        ...

    def read(self, work: Callable[[Connection], _T], /) -> _T:
        """Do work that only reads."""
        ...

    def migrate(self, component: str, steps: Sequence[Callable[[Connection], None]], /) -> None:
        """Bring a component's tables to the version that the steps make."""
        ...


class Tools(Protocol):
    """What the queue needs of a registry, such as a `Registry`."""

    @property
    def services(self) -> Services:
        """What is around the tools."""
        ...

    def __getitem__(self, name: str, /) -> Tool:
        """The tool of this name."""
        ...
