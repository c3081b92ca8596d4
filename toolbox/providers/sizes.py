"""How large a document is: for providers that limit strict schemas."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolbox.types import Document, EnumType, NullType, ObjectType, Ref, Type, UnionType, children, is_untyped

__all__ = ["Size", "measure"]


@dataclass(slots=True)
class Size:
    """What was counted.

    Attributes:
        depth: levels of objects and arrays; references count as what they stand for, once.
        properties: declared properties.
        optional: properties that may be left out.
        unions: properties of more than one type.
        choices: values of enums.
        characters: of names of properties and definitions, and of values of enums.
        enums: the number of texts and their characters, for each enum.
    """

    depth: int = 0
    properties: int = 0
    optional: int = 0
    unions: int = 0
    choices: int = 0
    characters: int = 0
    enums: list[tuple[int, int]] = field(default_factory=list)

    def characters_of_many(self, many: int) -> int:
        """The most characters in an enum of more than `many` texts."""
        return max((characters for number, characters in self.enums if number > many), default=0)


def measure(document: Document) -> Size:
    """The size of a document with all its definitions."""
    size = Size(characters=sum(map(len, document.definitions)))
    for node in (document.root, *document.definitions.values()):
        _count(node, size)
    size.depth = _depth(document.root, document, {})
    return size


def _count(node: Type, size: Size) -> None:
    if isinstance(node, ObjectType):
        for item in node.fields:
            size.properties += 1
            size.characters += len(item.name)
            size.optional += not item.required
            size.unions += isinstance(item.type, UnionType)
    elif isinstance(node, EnumType):
        texts = [value for value in node.values if isinstance(value, str)]
        length = sum(map(len, texts))
        size.choices += len(node.values)
        size.characters += length
        size.enums.append((len(texts), length))
    for below in children(node):
        _count(below, size)


def _depth(node: Type, document: Document, known: dict[str, int]) -> int:
    if isinstance(node, Ref):
        if node.name not in known:
            known[node.name] = 0  # what refers to itself is counted once
            known[node.name] = _depth(document.definitions[node.name], document, known)
        return known[node.name]
    if isinstance(node, UnionType) and not is_untyped(node):
        return max((_depth(member, document, known) for member in node.members if not isinstance(member, NullType)), default=0)
    below = max((_depth(child, document, known) for child in children(node)), default=0)
    return below + 1 if any(True for _ in children(node)) else 0
