"""A tool's parameters as exports and calls both know them: the object that they are, and the name of every property in a dialect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolbox.providers.shared import NameRule, legal_names
from toolbox.types import Document, Field, ObjectType, Opaque, Ref, Type, UnionType, children

__all__ = ["all_nodes", "property_names", "root_object"]


def property_names(document: Document, rule: NameRule | None) -> dict[str, str]:
    """The name in a dialect of every property that is declared anywhere in a document.

    One table for the whole document: so a name can be read back without knowing which member of a union it belongs to.
    """
    names = dict.fromkeys(item.name for node in all_nodes(document) if isinstance(node, ObjectType) for item in node.fields)
    return {name: name for name in names} if rule is None else legal_names(names, rule)


def root_object(document: Document) -> ObjectType:
    """The object that a tool's parameters are, whatever stands around it: what the arguments of a call are read by."""
    node, seen = document.root, 0
    while not isinstance(node, ObjectType):
        seen += 1
        if isinstance(node, Ref) and node.name in document.definitions and seen <= len(document.definitions) + 1:
            node = document.definitions[node.name]
        elif isinstance(node, Opaque):
            node = node.known
        elif isinstance(node, UnionType):
            return _merged([member for member in node.members if isinstance(member, ObjectType)])
        else:
            return ObjectType()
    return node


def _merged(members: Sequence[ObjectType]) -> ObjectType:
    """One object with the properties of all; required is what all require."""
    kinds: dict[str, list[Type]] = {}
    for member in members:
        for item in member.fields:
            known = kinds.setdefault(item.name, [])
            if item.type not in known:
                known.append(item.type)
    required = [{item.name for item in member.fields if item.required} for member in members]
    always = set.intersection(*required) if required else set()
    fields = tuple(
        Field(name, types[0] if len(types) == 1 else UnionType(members=tuple(types)), required=name in always)
        for name, types in kinds.items()
    )
    return ObjectType(fields=fields)


def all_nodes(document: Document) -> Iterator[Type]:
    """Every node of a document, those of its definitions among them."""
    waiting = [document.root, *document.definitions.values()]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(children(node))
