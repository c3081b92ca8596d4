"""The circuit breaker: a tool that fails for the same cause again and again in one conversation is stopped there."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from toolbox.diagnostics import place_of, shorten
from toolbox.errors import InvalidArguments, PayloadError, RepeatedFailure, ToolboxError, ToolExecutionError, ToolTimeout
from toolbox.recovery.budget import is_count, remembered

__all__ = ["CircuitBreaker", "cause_of"]

_CONVERSATIONS: Final = 10_000
_TOOLS: Final = 256
_PLACES: Final = 50
_PLACES_NAMED: Final = 3

Cause = tuple[str, ...]


def cause_of(error: ToolboxError) -> Cause:
    """What is the same about two failures: the places and the reasons, not the values; of an exception, its text.

    >>> from toolbox.errors import PayloadError
    >>> cause_of(PayloadError("truncated", "your arguments were cut off after 73 characters"))
    ('truncated',)
    """
    if isinstance(error, InvalidArguments):
        # Which item of an array it is says nothing about the cause.
        places = {f"{place_of(item.path)}: {item.reason.value.replace('_', ' ')}" for item in error.failures}
        return tuple(sorted(places)[:_PLACES])
    if isinstance(error, PayloadError):
        return (error.reason,)
    if isinstance(error, ToolTimeout):
        return ("timeout",)
    if isinstance(error, ToolExecutionError):
        return (error.message,)
    return (type(error).__name__,)


class CircuitBreaker:
    """Counts how often in a row a tool fails for the same cause in one conversation, and stops it at a limit.

    Another cause begins a new count, and a call that goes through ends it. Calls whose metadata has no ``conversation_id`` are not counted.

    Args:
        limit: the failure of this number in a row is answered with `RepeatedFailure`, and so is each that follows.
        conversations: so many conversations are remembered; of more, the one that was used longest ago is forgotten.

    Raises:
        ValueError: the limit is less than 1.

    >>> breaker = CircuitBreaker(2)
    >>> failed = ToolTimeout("search", 1.0)
    >>> breaker.stopped("search", "c-1", failed) is None, type(breaker.stopped("search", "c-1", failed)).__name__
    (True, 'RepeatedFailure')
    """

    __slots__ = ("_conversations", "_counts", "_lock", "limit")

    def __init__(self, limit: int = 5, *, conversations: int = _CONVERSATIONS) -> None:
        if not is_count(limit, 1):
            raise ValueError(f"the limit must be a number of at least 1, and is {shorten(limit)}")
        self.limit = limit
        self._conversations = max(conversations, 1)
        self._counts: OrderedDict[str, OrderedDict[str, tuple[Cause, int]]] = OrderedDict()
        self._lock = threading.Lock()

    def stopped(self, tool: str, conversation: str, error: ToolboxError, /) -> ToolboxError | None:
        """Take note of a failure; the error to raise instead, where the same has come too often."""
        cause, conversation = cause_of(error), remembered(conversation)
        with self._lock:
            tools = self._counts.setdefault(conversation, OrderedDict())
            self._counts.move_to_end(conversation)
            last, count = tools.get(tool, (cause, 0))
            count = count + 1 if last == cause else 1
            tools[tool] = (cause, count)
            tools.move_to_end(tool)
            if len(tools) > _TOOLS:
                tools.popitem(last=False)
            if len(self._counts) > self._conversations:
                self._counts.popitem(last=False)
        if count < self.limit:
            return None
        more = len(cause) - _PLACES_NAMED
        named = "; ".join(cause[:_PLACES_NAMED]) + (f"; and {more} more" if more > 0 else "")
        return RepeatedFailure(tool, count, named)

    def passed(self, tool: str, conversation: str, /) -> None:
        """Take note that a call went through."""
        with self._lock:
            tools = self._counts.get(remembered(conversation))
            if tools is not None:
                tools.pop(tool, None)
                if not tools:
                    del self._counts[remembered(conversation)]

    def count(self, tool: str, conversation: str) -> int:
        """How often in a row a tool has failed in a conversation."""
        with self._lock:
            tools = self._counts.get(remembered(conversation))
            return 0 if tools is None or tool not in tools else tools[tool][1]
