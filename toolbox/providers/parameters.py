"""A tool's parameters as exports and calls both know them: the object that they are, and the name of every property in a dialect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolbox.providers.shared import NameRule, legal_names
from toolbox.types import Document, Field, ObjectType, Opaque, Ref, Type, UnionType, children, nullable

__all__ = ["all_nodes", "alternatives", "property_names", "resolved", "root_object", "takes_null"]


def property_names(document: Document, rule: NameRule | None) -> dict[str, str]:
    """The name in a dialect of every property that is declared anywhere in a document.

    One table for the whole document: so a name can be read back without knowing which member of a union it belongs to.
    """
    names = dict.fromkeys(item.name for node in all_nodes(document) if isinstance(node, ObjectType) for item in node.fields)
    return {name: name for name in names} if rule is None else legal_names(names, rule)


def resolved(node: Type, document: Document) -> Type:
    """What a node stands for: at the end of its references, and without the keywords that there are no nodes for."""
    seen: set[str] = set()
    while True:
        if isinstance(node, Opaque):
            node = node.known
        elif isinstance(node, Ref) and node.name in document.definitions and node.name not in seen:
            seen.add(node.name)
            node = document.definitions[node.name]
        else:
            return node


def alternatives(node: UnionType, document: Document) -> Iterator[Type]:
    """The resolved members of a union, with those of the unions among them in their place."""
    seen = {id(node)}
    waiting = [*reversed(node.members)]
    while waiting:
        member = resolved(waiting.pop(), document)
        if not isinstance(member, UnionType):
            yield member
        elif id(member) not in seen:
            seen.add(id(member))
            waiting.extend(reversed(member.members))


def takes_null(node: Type, document: Document) -> bool:
    """Whether null is a value of its own: where it is not, it can stand for "not given"."""
    return nullable(resolved(node, document))


def root_object(document: Document) -> ObjectType:
    """The object that a tool's parameters are, whatever stands around it: what the arguments of a call are read by."""
    root = resolved(document.root, document)
    if isinstance(root, UnionType):
        return _merged([member for member in alternatives(root, document) if isinstance(member, ObjectType)])
    return root if isinstance(root, ObjectType) else ObjectType()


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
