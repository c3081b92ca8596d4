"""Schemas with keywords that have no counterpart: what is understood guides the coercion, a real validator has the last word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolbox.coercion.builder import Builder, Coercer
from toolbox.coercion.embedded import read_embedded
from toolbox.coercion.scalars import is_single, plain
from toolbox.diagnostics import INVALID, Diagnostic, DiagnosticKind, Failure, FailureReason, Outcome, Path, path_text, shorten
from toolbox.policy import STRICT, Limits
from toolbox.types import Opaque

if TYPE_CHECKING:
    from toolbox.schema.validation import Validator

__all__ = ["opaque"]


def opaque(node: Opaque, builder: Builder) -> Coercer:
    """Coercer of an opaque schema."""
    from toolbox.schema.validation import build_validator

    known = builder.build(node.known)
    expected = builder.expected(node)
    validate = build_validator(node.schema, builder.definitions)
    strictly: list[Coercer] = []

    def coerce_opaque(value: Any, path: Path, out: Outcome) -> Any:
        failed, changed = len(out.failures), len(out.diagnostics)
        made = known(value, path, out)
        if made is INVALID or len(out.failures) > failed:
            out.failures[failed:] = [_without_bad_advice(item, path, validate) for item in out.failures[failed:]]
            return made
        made = plain(made)
        problems = validate(made)
        if not problems:
            return made
        changes = out.diagnostics[changed:]
        if changes and fits_as_it_is(value, path, out):
            # What was changed for no need is left alone.
            del out.diagnostics[changed:]
            return plain(value)
        for keys, message in problems:
            out.fail(_place(keys, made, value, path, changes, builder.policy.limits), FailureReason.CONSTRAINT, expected, value, message)
        return INVALID

    def fits_as_it_is(value: Any, path: Path, out: Outcome) -> bool:
        if not strictly:
            strictly.append(builder.under(STRICT).build(node.known))
        trial = Outcome(out.known, out.met)
        return strictly[0](value, path, trial) is not INVALID and not trial.failures and not validate(plain(value))

    return coerce_opaque


def _without_bad_advice(failure: Failure, path: Path, validate: Validator) -> Failure:
    """The failure, without the advice to send what the schema refuses as well."""
    if failure.would_be is None or failure.path != path_text(path):
        return failure
    problems = validate(plain(failure.would_be.after))
    if not problems:
        return failure
    return replace(failure, detail=f"{shorten(failure.would_be.after)} would not do either: {problems[0][1]}", suggestion="", would_be=None)


def _place(keys: Sequence[str | int], made: Any, came: Any, path: Path, changes: Sequence[Diagnostic], limits: Limits) -> Path:
    """Where a place of what was made is in what came, as near as it can be told."""
    for key in keys:
        if is_single(came) and not isinstance(made, list):
            path, came = (path, 0), came[0]
        if isinstance(came, str) and isinstance(made, dict | list):
            # What stood in a text has its places in it.
            found = read_embedded(came, limits)
            came = None if found is None else found.value
        if isinstance(made, dict) and isinstance(came, Mapping):
            sent = key if key in came else _sent_as(key, path, changes)
            if sent is None:
                break
            path, came, made = (path, sent), came[sent], made[key]
        elif isinstance(made, list) and isinstance(came, list):
            if len(made) != len(came):
                break
            path, came, made = (path, key), came[int(key)], made[int(key)]
        elif isinstance(made, list) and len(made) == 1 and not isinstance(came, str):
            # A single value became a list.
            made = made[0]
        else:
            break
    return path


def _sent_as(key: str | int, path: Path, changes: Sequence[Diagnostic]) -> Any:
    """The key under which a property came that has another name."""
    renamed = (found for found in changes if found.kind is DiagnosticKind.RENAMED and found.after == key)
    return next((found.before for found in renamed if found.path == path_text((path, found.before))), None)
