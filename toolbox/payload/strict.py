"""JSON text as the standard has it: the standard parser, with what it lacks (limits, duplicate keys, numbers that keep their literal)."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from toolbox.diagnostics import Diagnostic, DiagnosticKind, Path, Risk, path_text
from toolbox.errors import PayloadError
from toolbox.payload.limits import check_limits, too_deep, too_large, too_long_integer
from toolbox.policy import Limits
from toolbox.types import NumberText

__all__ = ["decode", "duplicate_key", "parse_json"]

_NO_DIAGNOSTICS: Final[tuple[Diagnostic, ...]] = ()


class _DuplicateKey(Exception):
    """Leaves the fast parser: some object gives a key twice."""


class _Doubled(dict[str, Any]):
    """An object that gave keys more than once; `earlier` are the values that do not count."""

    __slots__ = ("earlier",)
    earlier: list[tuple[str, Any]]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _DuplicateKey
    return members


def _doubled(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    doubled = _Doubled(members)
    seen: dict[str, Any] = {}
    doubled.earlier = []
    for key, value in pairs:
        if key in seen:
            doubled.earlier.append((key, seen[key]))
        seen[key] = value
    return doubled


@lru_cache(maxsize=16)
def _decoder(unique: bool, strict: bool, integer_digits: int, /) -> json.JSONDecoder:
    """A decoder; `integer_digits` is 0 where the text is too short for an integer of too many digits."""

    def bounded(text: str) -> int:
        if len(text.lstrip("-")) > integer_digits:
            raise too_long_integer(Limits(integer_digits=integer_digits))
        return int(text)

    return json.JSONDecoder(
        object_pairs_hook=_unique if unique else _doubled,
        parse_float=NumberText,
        parse_int=bounded if integer_digits else int,
        parse_constant=NumberText,
        strict=strict,
    )


_PLAIN: Final = _decoder(True, True, 0)


def parse_json(text: str, limits: Limits) -> tuple[Any, tuple[Diagnostic, ...]]:
    """Parse JSON text; nothing is mended.

    Numbers with a fraction or an exponent, and the constants NaN and Infinity, come out as `NumberText`.

    Raises:
        PayloadError: with the reason ``not_json``, ``too_large``, ``too_deep``, ``too_many_nodes`` or ``integer_too_long``.

    >>> value, diagnostics = parse_json('{"a": 1, "a": 2}', Limits())
    >>> value, str(diagnostics[0])
    ({'a': 2}, '[risky] $.a: given more than once: 2 counts, 1 does not')
    """
    return decode(text, limits)


def decode(text: str, limits: Limits, strict: bool = True) -> tuple[Any, tuple[Diagnostic, ...]]:
    """Parse JSON text; where not `strict`, texts may hold raw line breaks and control characters."""
    length = len(text)
    if length > limits.text:
        raise too_large(limits)
    digits = limits.integer_digits if length > limits.integer_digits else 0
    try:
        try:
            value = _PLAIN.decode(text) if strict and not digits else _decoder(True, strict, digits).decode(text)
            diagnostics = _NO_DIAGNOSTICS
        except _DuplicateKey:
            value, diagnostics = _decode_doubled(text, strict, digits)
    except (RecursionError, MemoryError):
        raise too_deep(limits) from None
    except json.JSONDecodeError as error:
        raise _not_json(error.pos) from None
    except PayloadError:
        raise
    except ValueError:  # the interpreter's own limit for digits
        raise too_long_integer(limits) from None
    if text.count("[") + text.count("{") > limits.depth:
        _check_depth(value, limits)
    # n values take 2n - 1 characters at least, so a short text needs no counting.
    if length > 2 * limits.nodes:
        check_limits(value, limits)
    return value, diagnostics


def _decode_doubled(text: str, strict: bool, digits: int) -> tuple[Any, tuple[Diagnostic, ...]]:
    found: list[Diagnostic] = []
    value = _undouble(_decoder(False, strict, digits).decode(text), None, found)
    return value, tuple(found)


def _undouble(value: Any, path: Path, found: list[Diagnostic]) -> Any:
    """The same value without `_Doubled` objects; what they left out goes on record. As deep as the text, which is bounded."""
    if isinstance(value, dict):
        members = {key: _undouble(item, (path, key), found) for key, item in value.items()}
        if isinstance(value, _Doubled):
            found += [duplicate_key(path, key, _undouble(old, path, []), members[key]) for key, old in value.earlier]
        return members
    if isinstance(value, list):
        return [_undouble(item, (path, index), found) for index, item in enumerate(value)]
    return value


def duplicate_key(path: Path, key: str, before: object, after: object) -> Diagnostic:
    """The record of a key that was given more than once: risky where the values differ."""
    same = type(before) is type(after) and before == after
    return Diagnostic(path_text((path, key)), DiagnosticKind.DUPLICATE_KEY, Risk.INFO if same else Risk.RISKY, before, after)


def _check_depth(value: Any, limits: Limits) -> None:
    depth = 0
    level = [value] if type(value) in (dict, list) else []
    while level:
        depth += 1
        if depth > limits.depth:
            raise too_deep(limits)
        level = [
            item
            for outer in level
            for item in (outer.values() if type(outer) is dict else outer if type(outer) is list else ())
            if type(item) is dict or type(item) is list
        ]


def _not_json(position: int) -> PayloadError:
    where = f"this is no JSON text: it breaks at character {position + 1}"
    return PayloadError("not_json", f'{where}; send one JSON object, such as {{"name": value}}')
