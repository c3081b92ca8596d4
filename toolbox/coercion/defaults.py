"""Defaults that a schema declares and its own types refuse: a mistake of the schema's, to be reported when the tool is registered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolbox.coercion.families import build_coercer
from toolbox.diagnostics import INVALID, Outcome, Path, path_text, shorten
from toolbox.policy import STRICT
from toolbox.types import ABSENT, ArrayType, Document, ObjectType, Type, UnionType

__all__ = ["unfit_defaults"]


def unfit_defaults(document: Document) -> list[str]:
    """What is wrong with the defaults of a document, each with its place in the schema."""
    problems: list[str] = []
    roots = [(document.root, None), *((node, ((None, "$defs"), name)) for name, node in document.definitions.items())]
    for root, start in roots:
        for node, path in _nodes(root, start):
            if node.default is ABSENT:
                continue
            out = Outcome()
            made = build_coercer(Document(node, document.definitions), STRICT)(node.default, None, out)
            if made is INVALID or out.failures:
                why = out.failures[0].expected if out.failures else "another value"
                problems.append(f"{path_text((path, 'default'))}: the default {shorten(node.default)} does not fit, {why} is expected")
    return problems


def _nodes(node: Type, path: Path) -> Iterator[tuple[Type, Path]]:
    pending: list[tuple[Type, Any]] = [(node, path)]
    while pending:
        found, place = pending.pop()
        yield found, place
        if isinstance(found, ObjectType):
            pending.extend((field.type, ((place, "properties"), field.name)) for field in found.fields)
            if found.additional is not None:
                pending.append((found.additional, (place, "additionalProperties")))
        elif isinstance(found, ArrayType):
            pending.extend((item, ((place, "prefixItems"), number)) for number, item in enumerate(found.prefix))
            pending.append((found.items, (place, "items")))
        elif isinstance(found, UnionType):
            pending.extend((item, ((place, "oneOf" if found.one_of else "anyOf"), number)) for number, item in enumerate(found.members))
