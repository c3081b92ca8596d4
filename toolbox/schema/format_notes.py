"""Which schemas take ``format`` as a note and not as a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from toolbox.types import Document, StringType, Type, map_children

__all__ = ["with_format_notes"]

# The metaschema of 2020-12 declares the vocabulary "format-annotation" (JSON Schema Validation 2020-12, section 7.2.1).
_ANNOTATING: Final = "https://json-schema.org/draft/2020-12/schema"


def with_format_notes(document: Document, schema: Any) -> Document:
    """The document, its formats unchecked where the schema itself declares the dialect in which they are notes.

    A schema that names no dialect is a tool's in most cases, and means its formats.
    """
    if not isinstance(schema, Mapping) or str(schema.get("$schema", "")).rstrip("#") != _ANNOTATING:
        return document
    return Document(_noted(document.root), {name: _noted(node) for name, node in document.definitions.items()})


def _noted(node: Type) -> Type:
    if isinstance(node, StringType):
        return replace(node, checks_format=False)
    return map_children(node, _noted)
