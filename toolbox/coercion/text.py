"""Text: plain, in a known format, and in base64."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from typing import Any

from toolbox.coercion.builder import Builder, Coercer, check_constraints, refused_reading, single_item
from toolbox.coercion.formats import FORMATS, NOT_FREE_TEXT, read_base64, read_epoch, read_format
from toolbox.coercion.judge import BEST_EFFORT, INFO, RISKY, SAFE_WIDENING, STRING, WARNING
from toolbox.coercion.scalars import plain
from toolbox.diagnostics import INVALID, FailureReason, Outcome, Path, json_name
from toolbox.types import NumberText, StringType

__all__ = ["text"]


def text(node: StringType, builder: Builder) -> Coercer:
    """Coercer of text."""
    if node.encoding == "base64" and node.construct is not None:
        return _formatted(node, builder, read_base64, trims=True)
    name = node.format
    if name is not None and name in FORMATS and node.checks_format:
        return _formatted(node, builder, lambda value: read_format(name, value), trims=name in NOT_FREE_TEXT)
    return _plain_text(node, builder)


def _plain_text(node: StringType, builder: Builder) -> Coercer:
    expected = builder.expected(node)
    holds = check_constraints(node, builder)
    convert = _to_text(node, builder)

    def coerce_text(value: Any, path: Path, out: Outcome) -> Any:
        if type(value) is str:
            return value if holds is None or holds(value, value, path, out) else INVALID
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
            return single_item(coerce_text, value, expected, path, out, builder.judge)
        failed = len(out.failures)
        made = convert(value, path, out)
        if made is INVALID:
            return refused_reading(holds, value, path, out, failed)
        return made if holds is None or holds(made, value, path, out) else INVALID

    return coerce_text


def _to_text(node: StringType, builder: Builder) -> Coercer:
    judge = builder.judge
    expected = builder.expected(node)

    def convert(value: Any, path: Path, out: Outcome) -> Any:
        if isinstance(value, str):
            return str(value)
        if isinstance(value, bool):
            return judge.change(
                out, path, expected, value, "true" if value else "false", BEST_EFFORT, RISKY, suggestion="Send text in quotes"
            )
        if isinstance(value, int | float):
            written = value.text if isinstance(value, NumberText) else _number_text(value)
            if written is None:
                return out.fail(path, FailureReason.LIMIT, expected, value, "it is no number that JSON can write")
            return judge.change(out, path, expected, value, written, STRING, WARNING, suggestion="Send text in quotes")
        if isinstance(value, list | tuple | Mapping):
            written = _json_text(value)
            if written is not None:
                return judge.change(out, path, expected, value, written, BEST_EFFORT, WARNING, suggestion="Send text in quotes")
        return out.fail(path, FailureReason.WRONG_TYPE, expected, value, f"{json_name(value)} is not text")

    return convert


def _number_text(value: float) -> str | None:
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return None


def _json_text(value: Any) -> str | None:
    try:
        return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None


def _formatted(node: StringType, builder: Builder, read: Callable[[str], Any], *, trims: bool) -> Coercer:
    """Text in a format that is known: read to check it; the value that it says is kept only where the node has a constructor."""
    judge = builder.judge
    expected = builder.expected(node)
    holds = check_constraints(node, builder)
    keep_text = node.construct is None
    other = _other_readings(node, builder)
    name = node.instance.__name__ if isinstance(node.instance, type) else "str"

    def coerce_formatted(value: Any, path: Path, out: Outcome) -> Any:
        if not isinstance(value, str):
            if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
                return single_item(coerce_formatted, value, expected, path, out, judge)
            return other(value, path, out)
        if holds is not None and not holds(value, value, path, out):
            return INVALID
        try:
            said = read(value)
        except ValueError as error:
            return second_try(value, str(error), path, out)
        return value if keep_text else said

    def second_try(value: str, why: str, path: Path, out: Outcome) -> Any:
        trimmed = value.strip()
        if trims and trimmed != value and trimmed:
            try:
                said = read(trimmed)
            except ValueError:
                pass
            else:
                if keep_text and holds is not None and not holds(trimmed, value, path, out):
                    return INVALID
                return judge.change(out, path, expected, value, trimmed if keep_text else said, STRING, INFO, conversion=f"str->{name}")
        widened = _widened(node.format, trimmed)
        if widened is not None:
            made, kind = widened
            after = made.isoformat() if keep_text else made
            if keep_text and holds is not None and not holds(after, value, path, out):
                return INVALID
            return judge.change(out, path, expected, value, after, SAFE_WIDENING, INFO, conversion=f"{kind}->{node.format}")
        return out.fail(path, FailureReason.INVALID, expected, value, "it is empty" if not trimmed else why)

    return coerce_formatted


def _widened(name: str | None, value: str) -> tuple[datetime.date, str] | None:
    """A date for a datetime, and a datetime at midnight for a date."""
    try:
        if name == "date":
            moment = read_format("date-time", value)
            return (moment.date(), "date-time") if moment.time() == datetime.time() else None
        if name == "date-time":
            day = read_format("date", value)
            return datetime.datetime(day.year, day.month, day.day), "date"  # noqa: DTZ001 - the text names no zone, and none is invented
    except ValueError:
        pass
    return None


def _other_readings(node: StringType, builder: Builder) -> Coercer:
    """What other JSON types may become in the format: only an epoch has a reading."""
    judge = builder.judge
    expected = builder.expected(node)
    keep_text = node.construct is None

    def epoch(value: Any, path: Path, out: Outcome) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return out.fail(path, FailureReason.WRONG_TYPE, expected, value, f"{json_name(value)} is not text")
        try:
            moment, surely = read_epoch(value)
        except (ValueError, OverflowError) as error:
            return out.fail(path, FailureReason.LIMIT, expected, value, str(error))
        after = moment.isoformat().replace("+00:00", "Z") if keep_text else moment
        return judge.change(
            out,
            path,
            expected,
            value,
            after,
            BEST_EFFORT,
            WARNING if surely else RISKY,
            conversion=f"{type(value).__name__ if isinstance(value, int) else 'float'}->{'date-time' if keep_text else 'datetime'}",
            suggestion="Send the moment as ISO 8601 text",
        )

    def refuse(value: Any, path: Path, out: Outcome) -> Any:
        return out.fail(path, FailureReason.WRONG_TYPE, expected, value, f"{json_name(value)} is not text")

    if node.format == "date-time":
        return epoch
    return _to_text(node, builder) if node.format == "path" else refuse
