"""What an application says about the calls that a piece of its code makes: which model, which conversation, which user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final

__all__ = ["NO_METADATA", "call_metadata", "current_metadata", "origin_of", "with_current_metadata"]

NO_METADATA: Final[Mapping[str, Any]] = MappingProxyType({})
_current: Final[ContextVar[Mapping[str, Any]]] = ContextVar("toolbox_call_metadata", default=NO_METADATA)
current_metadata: Final[Callable[[], Mapping[str, Any]]] = _current.get
"""What the blocks around this code say of its calls; `NO_METADATA` outside of any block."""


@contextmanager
def call_metadata(
    *,
    model: str | None = None,
    conversation_id: str | None = None,
    user: str | None = None,
    tags: Sequence[str] | None = None,
    **more: Any,
) -> Iterator[Mapping[str, Any]]:
    """Put the same metadata on the record of every call that is made while the block runs, in this thread or task.

    Blocks may stand inside each other, and add to each other. What ``metadata=`` says of a single call goes before what is said here.

    Args:
        model: which model asks for the calls; reports compare models by it.
        conversation_id: which conversation they belong to; budgets and the stop of endless repeats count by it.
        user: on whose behalf they are made.
        tags: words to find them by.
        more: anything else.

    Yields:
        All that is said of the calls in the block.

    >>> from toolbox import MemorySink, Registry
    >>> sink = MemorySink()
    >>> registry = Registry(sinks=[sink])
    >>> @registry.tool
    ... def double(number: int) -> int:
    ...     return number * 2
    >>> with call_metadata(model="m-1", conversation_id="c-7"):
    ...     _ = registry.dispatch("double", {"number": 4})
    >>> sink.records[0].metadata
    {'model': 'm-1', 'conversation_id': 'c-7'}
    """
    named = {"model": model, "conversation_id": conversation_id, "user": user, "tags": None if tags is None else list(tags)}
    said = {**_current.get(), **{name: value for name, value in named.items() if value is not None}, **more}
    token = _current.set(said)
    try:
        yield MappingProxyType(said)
    finally:
        _current.reset(token)


def origin_of(metadata: Mapping[str, Any]) -> str | None:
    """What a call followed from that no model asked for as it ran; None for a call of a model.

    It is ``"review"`` when a person approved it, and ``"recovery"`` when it is the corrected form of a call with a record of its own.
    """
    if "review_item" in metadata:
        return "review"
    recovery = metadata.get("recovery")
    return "recovery" if isinstance(recovery, Mapping) and "attempt_number" in recovery else None


def with_current_metadata(metadata: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What is said of one call, with what the block around it says; None when neither says anything."""
    current = _current.get()
    if current is NO_METADATA:
        return metadata
    return current if metadata is None else {**current, **metadata}
