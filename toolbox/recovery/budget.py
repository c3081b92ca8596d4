"""How many attempts may be made: counted up, never down, in one step for everything that an attempt counts against."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Any, Final

from toolbox.diagnostics import shorten

__all__ = ["RecoveryBudget", "is_count", "remembered"]

_CONVERSATIONS: Final = 10_000
_LONGEST_ID: Final = 256


def is_count(value: Any, least: int) -> bool:
    """Whether a value is a whole number of at least so much; a boolean is none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def remembered(conversation: str) -> str:
    """The id of a conversation as it is kept: of a long one its hash, since many are kept."""
    if len(conversation) <= _LONGEST_ID:
        return conversation
    return hashlib.sha256(conversation.encode("utf-8", "surrogatepass")).hexdigest()


class RecoveryBudget:
    """The attempts that may be made for one tool and in one conversation, whatever happens at once in other threads and tasks.

    A budget is spent and never given back: an attempt that ended badly has cost what it has cost.

    Args:
        per_tool: attempts for one tool, in all conversations together; None for no limit.
        per_conversation: attempts in one conversation, for all tools together; None for no limit. A call whose metadata has no
            ``conversation_id`` is in none.
        conversations: so many conversations are remembered; of more, the one that was used longest ago is forgotten.

    Raises:
        ValueError: a number is negative, or none.
    """

    __slots__ = ("_by_conversation", "_by_tool", "_conversations", "_lock", "per_conversation", "per_tool")

    def __init__(self, per_tool: int | None = None, per_conversation: int | None = 20, *, conversations: int = _CONVERSATIONS) -> None:
        for name, number in (("per_tool", per_tool), ("per_conversation", per_conversation), ("conversations", conversations)):
            if not is_count(number, 0) and not (number is None and name != "conversations"):
                raise ValueError(f"{name} must be a number of at least 0, and is {shorten(number)}")
        self.per_tool = per_tool
        self.per_conversation = per_conversation
        self._conversations = max(conversations, 1)
        self._by_tool: dict[str, int] = {}
        self._by_conversation: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, tool: str, conversation: str | None) -> str | None:
        """Take one attempt out of the budget; says which one is spent, ``"tool"`` or ``"conversation"``, and takes nothing then."""
        key = None if conversation is None else remembered(conversation)
        with self._lock:
            of_tool = self._by_tool.get(tool, 0)
            of_conversation = 0 if key is None else self._by_conversation.get(key, 0)
            if key is not None and of_conversation:  # it is used, also where it gets nothing more: forgotten, it would begin anew
                self._by_conversation.move_to_end(key)
            if self.per_tool is not None and of_tool >= self.per_tool:
                return "tool"
            if key is not None and self.per_conversation is not None and of_conversation >= self.per_conversation:
                return "conversation"
            self._by_tool[tool] = of_tool + 1
            if key is not None:
                self._by_conversation[key] = of_conversation + 1
                if len(self._by_conversation) > self._conversations:
                    self._by_conversation.popitem(last=False)
            return None

    def spent(self, *, tool: str | None = None, conversation: str | None = None) -> int:
        """How many attempts were made for a tool, or in a conversation."""
        with self._lock:
            return self._by_tool.get(tool, 0) if tool is not None else self._by_conversation.get(remembered(conversation or ""), 0)
