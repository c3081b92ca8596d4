"""What a model answered to a recovery prompt: one object of a known shape, or an error that says what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from toolbox.diagnostics import DiagnosticKind, Risk, json_name, shorten
from toolbox.errors import PayloadError
from toolbox.payload import check_limits, extract_arguments
from toolbox.policy import LENIENT, Limits, RepairLevel

__all__ = ["Misshapen", "RecoveryAnswer", "RecoveryStatus", "UnrecoverableField", "read_answer"]

LONGEST_ANSWER: Final = 131_072
"""Characters of the longest answer that is read."""
FIELDS_READ: Final = 1_000
"""So many unrecoverable fields are read of one answer."""

_STATUS, _ARGUMENTS, _FIELDS, _LOG = "recovery_status", "corrected_arguments", "unrecoverable_fields", "coercion_log"
_SHAPE: Final = f"send one JSON object with {_STATUS}, {_ARGUMENTS}, {_FIELDS} and {_LOG}, and nothing else"
# Broken JSON may be mended where no value is touched; what was cut off is never closed.
_POLICY: Final = replace(LENIENT, repair=RepairLevel.REPAIR, limits=Limits(text=LONGEST_ANSWER), name="recovery answer")


class RecoveryStatus(StrEnum):
    """What a model says of its own correction; the values are public and stable."""

    SUCCESS = "SUCCESS"
    """Every argument was corrected."""
    PARTIAL = "PARTIAL"
    """Some were, some are beyond recovery."""
    UNRECOVERABLE = "UNRECOVERABLE"
    """What failed is beyond recovery."""


class Misshapen(ValueError):
    """An answer has not the shape that was asked for; its text says what is wrong, and never what the answer holds beyond its shape."""


@dataclass(frozen=True, slots=True)
class UnrecoverableField:
    """A field that a model cannot correct.

    Attributes:
        field_path: where.
        original_value: the value that came, as the model repeats it.
        expected_type: what was expected, in the model's words.
        reason: why it cannot be corrected, in the model's words.
    """

    field_path: str
    original_value: Any = None
    expected_type: str = ""
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The field as plain JSON data."""
        return {
            "field_path": self.field_path,
            "original_value": self.original_value,
            "expected_type": self.expected_type,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class RecoveryAnswer:
    """What a model answered.

    Attributes:
        status: what it says of its correction.
        corrected_arguments: the corrected arguments by name.
        unrecoverable_fields: what it could not correct.
        coercion_log: what it says that it did; kept, and never believed.
    """

    status: RecoveryStatus
    corrected_arguments: Mapping[str, Any]
    unrecoverable_fields: tuple[UnrecoverableField, ...] = ()
    coercion_log: tuple[Any, ...] = ()


def read_answer(text: str) -> RecoveryAnswer:
    """Read an answer: the object alone, in a fence, or in prose.

    Raises:
        Misshapen: it is not the object that was asked for.

    >>> read_answer('Here: {"recovery_status": "SUCCESS", "corrected_arguments": {"limit": 5}}').corrected_arguments
    {'limit': 5}
    >>> read_answer("I cannot help with that.")
    Traceback (most recent call last):
    toolbox.recovery.answers.Misshapen: the answer holds no JSON object: send one JSON object with recovery_status, ...
    """
    found = _object(text)
    missing = [key for key in (_STATUS, _ARGUMENTS) if key not in found]
    if missing and not (missing == [_ARGUMENTS] and found[_STATUS] == RecoveryStatus.UNRECOVERABLE):
        raise Misshapen(f"the answer has no {' and no '.join(missing)}: {_SHAPE}")
    status = _status(found[_STATUS])
    arguments = found.get(_ARGUMENTS)
    if arguments is None and status is RecoveryStatus.UNRECOVERABLE:
        arguments = {}
    if not isinstance(arguments, Mapping):
        raise Misshapen(f"{_ARGUMENTS} is {json_name(arguments)}: send the arguments by name, as one object")
    fields = _fields(found.get(_FIELDS))
    if status is RecoveryStatus.SUCCESS and fields:
        raise Misshapen(
            f"{_STATUS} is SUCCESS, and {_FIELDS} names {shorten(fields[0].field_path)}: with fields that cannot be corrected it is PARTIAL"
        )
    if status is not RecoveryStatus.SUCCESS and not fields:
        raise Misshapen(f"{_STATUS} is {status}, and {_FIELDS} is empty: list every field that cannot be corrected, with its field_path")
    return RecoveryAnswer(status, arguments, fields, _log(found.get(_LOG)))


def _object(text: str) -> dict[str, Any]:
    if len(text) > LONGEST_ANSWER:
        raise Misshapen(f"the answer has more than {LONGEST_ANSWER:,} characters: {_SHAPE}")
    if not text.strip():
        raise Misshapen(f"the answer is empty: {_SHAPE}")
    try:
        found = extract_arguments(text, policy=_POLICY)
        check_limits(found.arguments, _POLICY.limits)
    except PayloadError as error:
        raise Misshapen(f"{_WHY.get(error.reason, 'the answer cannot be read')}: {_SHAPE}") from None
    if not isinstance(found.arguments, dict):
        raise Misshapen(f"the answer holds no JSON object: {_SHAPE}")
    if any(item.kind is DiagnosticKind.DUPLICATE_KEY and item.risk is Risk.RISKY for item in found.diagnostics):
        raise Misshapen("the answer gives a key several times, with different values: send each key once")
    if any(item.kind is DiagnosticKind.TRUNCATED for item in found.diagnostics):
        raise Misshapen(f"{_WHY['truncated']}: {_SHAPE}")
    return found.arguments


_WHY: Final = {
    "ambiguous": "the answer holds several different objects",
    "truncated": "the answer was cut off",
    "not_json": "the answer holds no JSON object",
    "not_an_object": "the answer holds no JSON object",
    "too_deep": "the answer is nested too deeply",
    "too_large": "the answer is too long",
    "too_many_nodes": "the answer holds too many values",
    "integer_too_long": "the answer holds an integer with too many digits",
}


def _status(value: Any) -> RecoveryStatus:
    word = value.strip().upper() if isinstance(value, str) else ""
    if word not in RecoveryStatus.__members__:
        raise Misshapen(f'{_STATUS} is {shorten(value, 40)}: send "SUCCESS", "PARTIAL" or "UNRECOVERABLE"')
    return RecoveryStatus[word]


def _fields(value: Any) -> tuple[UnrecoverableField, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Misshapen(f"{_FIELDS} is {json_name(value)}: send an array of objects, or an empty array")
    if len(value) > FIELDS_READ:
        raise Misshapen(f"{_FIELDS} holds more than {FIELDS_READ:,} fields")
    return tuple(_field(item, place) for place, item in enumerate(value))


def _field(item: Any, place: int) -> UnrecoverableField:
    if not isinstance(item, Mapping):
        raise Misshapen(f"{_FIELDS}[{place}] is {json_name(item)}: send an object with field_path, original_value, expected_type, reason")
    path = item.get("field_path")
    if not isinstance(path, str) or not path.strip():
        raise Misshapen(f'{_FIELDS}[{place}] has no field_path: send the path of the field, such as "$.limit"')
    words = [item.get(key) for key in ("expected_type", "reason")]
    return UnrecoverableField(path.strip(), item.get("original_value"), *(word if isinstance(word, str) else "" for word in words))


def _log(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise Misshapen(f"{_LOG} is {json_name(value)}: send an array with one text for each change")
    return tuple(value[:FIELDS_READ])
