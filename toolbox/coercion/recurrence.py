"""Where the same value comes back to the same node, and what keeps it from going round there.

A union gives its members the value as it came, and an array tries a value that is none as its one item. Where definitions refer to each
other, this may lead back to where it began, with nothing of the value consumed. Whatever is read on such a round trip is read without it
as well, and with fewer liberties, so nothing is lost when a value is given to no node twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from toolbox.diagnostics import Met, Outcome
from toolbox.types import ArrayType, NullType, Opaque, Type, UnionType, is_untyped

__all__ = ["MAY_WRAP", "WRAPS", "comes_back", "met_by", "tries_members"]

WRAPS: Final = 4
"""How many arrays, each within the other, may be made around one value where definitions recur."""
MAY_WRAP: Final = 1
"""The most items with a type of their own that an array may have, so that a value can be its one item."""

_UNMET: Final[frozenset[int]] = frozenset()


def tries_members(node: Type, resolve: Callable[[Type], Type]) -> bool:
    """Whether a node is a union of several members to try, not one that is null or one other thing."""
    if not isinstance(node, UnionType):
        return False
    others = sum(not isinstance(resolve(item), NullType) for item in node.members)
    return others > 1 or others == len(node.members) or node.one_of or is_untyped(node)


def _same_value(node: Type) -> Iterator[Type]:
    """The nodes that a node gives a value to as it came."""
    if isinstance(node, UnionType):
        yield from node.members
    elif isinstance(node, Opaque):
        yield node.known
    elif isinstance(node, ArrayType) and len(node.prefix) <= MAY_WRAP:
        yield node.prefix[0] if node.prefix else node.items


def comes_back(node: Type, resolve: Callable[[Type], Type], *, past_unions: bool = True) -> bool:
    """Whether a value that a node takes no part of may come back to it.

    Args:
        node: where the value is.
        resolve: gives the node that a reference stands for.
        past_unions: whether ways count that lead through unions with members to try; these see for themselves that a value comes twice.
    """
    pending = list(_same_value(node))
    seen: set[int] = set()
    while pending:
        found = resolve(pending.pop())
        if found is node:
            return True
        if id(found) not in seen and (past_unions or not tries_members(found, resolve)):
            seen.add(id(found))
            pending.extend(_same_value(found))
    return False


def met_by(value: Any, out: Outcome) -> Met:
    """What has been done with a value on the way down to here."""
    met = out.met
    # A text may be taken apart into one part, which is the text again.
    if met is not None and (met.value is value or (type(value) is str and type(met.value) is str and met.value == value)):
        return met
    return Met(value, _UNMET, 0)
