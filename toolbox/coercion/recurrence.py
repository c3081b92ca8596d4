"""Where the same value comes back to the same node, and what keeps it from going round there.

A union gives its members the value as it came, and an array tries a value that is none as its one item. Where definitions refer to each
other, this may lead back to where it began, with nothing of the value consumed. Whatever is read on such a round trip is read without it
as well, and with fewer liberties, so nothing is lost when a value is given to no node twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from toolbox.diagnostics import Met, Outcome
from toolbox.types import ArrayType, NullType, Opaque, Type, UnionType, children, is_untyped

__all__ = ["MAY_WRAP", "WRAPS", "comes_back", "given_to", "holds_itself", "met_by", "tries_members"]

WRAPS: Final = 3
"""How many arrays, each within the other, may be made around one value where definitions recur."""
MAY_WRAP: Final = 1
"""The most items with a type of their own that an array may have, so that a value can be its one item."""


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


def comes_back(node: Type, resolve: Callable[[Type], Type], *, by: Type | None = None, past_unions: bool = True) -> bool:
    """Whether a value of which nothing is consumed may come back to a node.

    Args:
        node: where the value is.
        resolve: gives the node that a reference stands for.
        by: the member of the node that is given the value first; any of them when it is not said.
        past_unions: whether ways count that lead through unions with members to try; these see for themselves that a value comes twice.
    """
    pending = [*_same_value(node)] if by is None else [by]
    seen: set[int] = set()
    while pending:
        found = resolve(pending.pop())
        if found is node:
            return True
        if id(found) not in seen and (past_unions or not tries_members(found, resolve)):
            seen.add(id(found))
            pending.extend(_same_value(found))
    return False


def holds_itself(node: Type, resolve: Callable[[Type], Type]) -> bool:
    """Whether a node is met again at any depth below it."""
    pending = [*children(node)]
    seen: set[int] = set()
    while pending:
        found = resolve(pending.pop())
        if found is node:
            return True
        if id(found) not in seen:
            seen.add(id(found))
            pending.extend(children(found))
    return False


def met_by(value: Any, out: Outcome) -> Met | None:
    """What has been done with a value on the way down to here; None where nothing has."""
    met = out.met
    # A text may be taken apart into one part, which is the text again.
    if met is not None and (met.value is value or (type(value) is str and type(met.value) is str and met.value == value)):
        return met
    return None


def given_to(node: frozenset[int], value: Any, out: Outcome, wraps: int = 0) -> Outcome:
    """The outcome under which a value is tried by what may lead it back: it was given to a node, or wrapped, once more."""
    if out.known is None:
        out.known = {}
    met = met_by(value, out)
    return Outcome(out.known, Met(value, node, wraps) if met is None else Met(value, met.nodes | node, met.wraps + wraps))
