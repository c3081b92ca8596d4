"""Schemas with keywords that have no counterpart: what is understood guides the coercion, a real validator has the last word."""

from __future__ import annotations

from typing import Any

from toolbox.coercion.builder import Builder, Coercer
from toolbox.coercion.scalars import plain
from toolbox.diagnostics import INVALID, FailureReason, Outcome, Path
from toolbox.types import Opaque

__all__ = ["opaque"]


def opaque(node: Opaque, builder: Builder) -> Coercer:
    """Coercer of an opaque schema."""
    from toolbox.schema.validation import build_validator

    known = builder.build(node.known)
    expected = builder.expected(node)
    validate = build_validator(node.schema, builder.definitions)

    def coerce_opaque(value: Any, path: Path, out: Outcome) -> Any:
        before = len(out.failures)
        made = known(value, path, out)
        if made is INVALID or len(out.failures) > before:
            return made
        made = plain(made)
        problems = validate(made)
        for keys, message in problems:
            place = path
            for key in keys:
                place = (place, key)
            out.fail(place, FailureReason.CONSTRAINT, expected, value, message)
        return INVALID if problems else made

    return coerce_opaque
