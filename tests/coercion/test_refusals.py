"""What is refused at every level, with its reason and its words, and what those words are exactly."""

import datetime as dt
import enum
import ipaddress
import pathlib
import re
import uuid
from collections import OrderedDict, deque
from dataclasses import dataclass, make_dataclass, replace
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import annotated_types as at
import pydantic
import pytest

from toolbox.annotations import read_annotation
from toolbox.coercion import build_coercer
from toolbox.diagnostics import INVALID, Failure, FailureReason, Outcome, Risk
from toolbox.policy import ABSORBING, LENIENT, STRICT, Policy
from toolbox.types import NumberText

POLICIES = {"strict": STRICT, "absorbing": ABSORBING, "lenient": LENIENT, "risky": replace(LENIENT, max_risk=Risk.RISKY)}
# Containers by value, for annotations that are put together while the tests run.
TUPLE: Any = tuple
DICT: Any = dict
every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
WRONG_TYPE, NOT_A_CHOICE, CONSTRAINT, LIMIT = (
    FailureReason.WRONG_TYPE,
    FailureReason.NOT_A_CHOICE,
    FailureReason.CONSTRAINT,
    FailureReason.LIMIT,
)
UNREADABLE = FailureReason.INVALID


@dataclass
class Point:
    x: int


class Spot(TypedDict):
    x: int


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


def odd_only(value: Any) -> Any:
    """Refuse even numbers, and everything else."""
    if value != 1:
        raise ValueError("x" * 1_000)
    return value


class Model(pydantic.BaseModel):
    x: int

    @pydantic.field_validator("x")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError("even numbers do not do")
        return value


def refuses(annotation: Any, value: Any, policy: Policy) -> list[Failure]:
    """The failures of a value that must be refused."""
    out = Outcome()
    made = build_coercer(read_annotation(annotation), policy)(value, None, out)
    assert made is INVALID, made
    assert out.failures
    return out.failures


NO_BOOLEANS: list[Any] = ["maybe", "2", 2, -1, 0.5, [], {}, [[True]], [True, False], None]
NO_OBJECTS: list[Any] = [[], "a", 5, True, "[1]", "{a: 1}", '{"a": 1', "(1, 2)"]
ARRAYS: list[Any] = [[], [1, 2], [[1]]]
NO_COLOURS: list[Any] = ["not red", "infrared", "", 5, True, [], {}, ["red", "blue"], None]
# (annotation, value, reason, words of the failure)
REFUSED: list[tuple[Any, Any, FailureReason, str]] = [
    *((bool, value, WRONG_TYPE, "expected true or false") for value in NO_BOOLEANS),
    *((int, value, UNREADABLE, "it has a fraction") for value in (5.5, "5.5", "1e-1", NumberText("5.50"))),
    *((int, value, UNREADABLE, "it is not a number") for value in ("N/A", "abc", "--5", "1.234.567", "five", "1 2")),
    *((int, value, UNREADABLE, "it is empty") for value in ("", "  ")),
    *(
        (kind, text, UNREADABLE, "it says the number 5 with")
        for kind in (int, float, Decimal)
        for text in ("5 apples", "$5", "5%", "5 kg", "EUR 5")
    ),
    *((kind, True, WRONG_TYPE, "a boolean is not a number here") for kind in (int, float, Decimal)),
    *((kind, None, WRONG_TYPE, "null") for kind in (int, float, str, bool, list[int], dict[str, int], Point, dt.date, Decimal)),
    *((kind, {"a": 1}, WRONG_TYPE, "an object is not a number") for kind in (int, float, Decimal)),
    *((int, value, WRONG_TYPE, "an array is not a number") for value in ARRAYS),
    (int, [None], WRONG_TYPE, "an array is not a number"),
    (int, float("nan"), UNREADABLE, "it is not a finite number"),
    (int, NumberText("1e5000"), UNREADABLE, "it is not a finite number"),
    (int, "1e5000", LIMIT, "it has more than 4,300 digits"),
    (int, "9" * 5000, UNREADABLE, "a number of more than 4,400 characters"),
    *(
        (float, value, UNREADABLE, "it is not finite")
        for value in ("NaN", "Infinity", "-inf", float("nan"), float("inf"), NumberText("NaN"))
    ),
    *((float, value, LIMIT, "it is too large for a float") for value in ("1e400", NumberText("1e400"), 10**400)),
    *((Decimal, value, UNREADABLE, "it is not finite") for value in ("NaN", float("inf"), Decimal("Infinity"))),
    (Decimal, "1e5000", LIMIT, "it has more than 4,300 digits"),
    (Decimal, "abc", UNREADABLE, "it is not a number"),
    (Decimal, "", UNREADABLE, "it is empty"),
    (str, None, WRONG_TYPE, "null is not text"),
    (str, b"x", WRONG_TYPE, "a bytes is not text"),
    (str, [float("nan")], WRONG_TYPE, "an array is not text"),
    (str, float("nan"), LIMIT, "it is no number that JSON can write"),
    *((list[int], value, UNREADABLE, "no whole JSON array") for value in ("[1, 2", "[1] x", "[a")),
    *((list[int], value, UNREADABLE, "no whole JSON array") for value in ("[,]", "[x, 'y']", "[x, [1]]", "[x")),
    *((list[int], value, UNREADABLE, "read as a list with commas") for value in ("[1 2]", "[x, 1]", "[1,,2 3]")),
    (list[int], "", UNREADABLE, "it is empty"),
    (list[int], {"a": 1}, WRONG_TYPE, "an object is not an array"),
    (list[int], "a, b", UNREADABLE, ""),
    (list[int], "abc", UNREADABLE, "it is not a number"),
    (tuple[int, str], [1], CONSTRAINT, "it has fewer than 2 items"),
    (tuple[int, str], [1, "a", 2], CONSTRAINT, "it has more than 2 items"),
    (tuple[int, str], 1, WRONG_TYPE, "a number is not an array"),
    (tuple[int, str], "1,a", UNREADABLE, "no whole JSON array"),
    # Python's own containers are looked into like any others.
    (tuple[int, ...], ("a",), UNREADABLE, "it is not a number"),
    (set[int], {"a"}, UNREADABLE, "it is not a number"),
    (frozenset[int], frozenset("a"), UNREADABLE, "it is not a number"),
    (deque[int], deque("a"), UNREADABLE, "it is not a number"),
    (OrderedDict[str, int], OrderedDict(a="b"), UNREADABLE, "it is not a number"),
    *((dict[str, int], value, WRONG_TYPE, "is not an object") for value in NO_OBJECTS),
    *((kind, 5, WRONG_TYPE, "a number is not an object") for kind in (Point, Spot, Model)),
    (dict[str, int], {1: 1}, WRONG_TYPE, "a key that is text"),
    (dict[str, int], {None: 1}, WRONG_TYPE, "a key that is text"),
    (dict[int, int], {"a": 1}, UNREADABLE, "it is not a number"),
    (dict[int, int], {"1": 1, "01": 2}, FailureReason.AMBIGUOUS, "two keys say the same"),
    (None, 5, WRONG_TYPE, "expected null"),
    (Optional[int], "maybe", UNREADABLE, "it is not a number"),
    (Optional[bool], "N/A", WRONG_TYPE, "expected true or false"),
    *((dt.datetime, text, UNREADABLE, "it is not ISO 8601") for text in ("tomorrow", "2026-7-2T10:00", "1782999000", "14:30")),
    *((kind, "02/07/2026", UNREADABLE, "day and month can be swapped in it") for kind in (dt.date, dt.datetime)),
    (dt.date, "2026-07-02T10:00:00", UNREADABLE, "it has a time of day"),
    (dt.date, "2026-02-30", UNREADABLE, "day"),
    (dt.datetime, 1e20, LIMIT, "it is out of range for an epoch"),
    (dt.datetime, float("nan"), LIMIT, "it is out of range for an epoch"),
    (dt.datetime, 10**400, LIMIT, "it is out of range for an epoch"),
    (dt.datetime, True, WRONG_TYPE, "a boolean is not text"),
    (dt.date, 1782999000, WRONG_TYPE, "a number is not text"),
    (dt.time, "2pm", UNREADABLE, "it is not ISO 8601"),
    (dt.time, "25:00", UNREADABLE, "hour"),
    (dt.timedelta, "P1Y", UNREADABLE, "years and months have no fixed length"),
    *((dt.timedelta, text, UNREADABLE, "it is not ISO 8601") for text in ("90", "P", "PT", "1:30", "P1DT")),
    (dt.timedelta, "P999999999W", UNREADABLE, "it is longer than a timedelta can be"),
    (dt.timedelta, 90, WRONG_TYPE, "a number is not text"),
    (uuid.UUID, "x", UNREADABLE, "it is not a UUID"),
    (uuid.UUID, "1" * 1000, UNREADABLE, "it has 1,000 characters"),
    (pathlib.Path, "", UNREADABLE, "it is empty"),
    (pathlib.Path, "a\0b", UNREADABLE, "it holds a NUL character"),
    (ipaddress.IPv4Address, "300.1.1.1", UNREADABLE, "it is not an IPv4 address"),
    (ipaddress.IPv4Address, 16909060, WRONG_TYPE, "a number is not text"),
    (ipaddress.IPv4Network, "10.0.0.1/8", UNREADABLE, "it is not an IPv4 network"),
    (bytes, "!!", UNREADABLE, "it is not base64"),
    (bytes, "aGk", UNREADABLE, "it is not base64"),
    (bytes, "\u00e4\u00e4\u00e4\u00e4", UNREADABLE, "it is not base64"),
    (re.Pattern, "(", UNREADABLE, "it does not compile"),
    *((Colour, value, NOT_A_CHOICE, 'expected one of "red", "blue"') for value in NO_COLOURS),
    (Literal["a", 1], True, NOT_A_CHOICE, 'expected one of "a", 1'),
    (Literal[1, 2], 10**400, NOT_A_CHOICE, "expected one of 1, 2"),
    (Literal["a", "A"], "a.", FailureReason.AMBIGUOUS, 'it could mean "a", "A"'),
    (Annotated[int, at.Ge(1)], 0, CONSTRAINT, "it is less than 1"),
    (Annotated[int, at.Interval(gt=0, lt=10)], 10, CONSTRAINT, "it is not less than 10"),
    (Annotated[float, at.MultipleOf(0.5)], 0.3, CONSTRAINT, "it is not a multiple of 0.5"),
    (Annotated[Decimal, at.Ge(0)], "-0.01", CONSTRAINT, "it is less than 0"),
    (Annotated[str, at.Len(2, 3)], "a", CONSTRAINT, "it has fewer than 2 characters"),
    (Annotated[list[int], at.MaxLen(1)], [1, 2], CONSTRAINT, "it has more than 1 items"),
    (Annotated[dict[str, int], at.MinLen(1)], {}, CONSTRAINT, "it has fewer than 1 properties"),
    (Annotated[str, pydantic.Field(pattern="^a")], "b", CONSTRAINT, "it does not match ^a"),
    (Annotated[int, at.Predicate(lambda value: value % 2 == 0)], 3, FailureReason.REJECTED, "holds"),
    (Annotated[dt.date, at.Ge(dt.date(2026, 1, 1))], "2025-12-31", FailureReason.REJECTED, "not at least 2026-01-01"),
    (Annotated[dt.date, at.Ge(dt.date(2026, 1, 1))], dt.date(2025, 12, 31), FailureReason.REJECTED, "not at least 2026-01-01"),
    (Annotated[Decimal, at.Ge(0)], Decimal(-1), CONSTRAINT, "it is less than 0"),
    (Annotated[list[int], at.MaxLen(0)], [1], CONSTRAINT, "it has more than 0 items"),
    (Annotated[int, at.Ge(0)], -1, CONSTRAINT, "it is less than 0"),
    (Annotated[int, at.Lt(0)], "0", CONSTRAINT, "it is not less than 0"),
    (Annotated[float, at.Le(0.0)], 0.5, CONSTRAINT, "it is more than 0"),
    (Model, {"x": 2}, FailureReason.REJECTED, "even numbers do not do"),
]


@every_policy
@pytest.mark.parametrize(("annotation", "value", "reason", "words"), REFUSED)
def test_refused_at_every_level(annotation: Any, value: Any, reason: FailureReason, words: str, policy: Policy) -> None:
    """What could be read in two ways or would have to be invented is refused by every policy, and the text says why."""
    failures = refuses(annotation, value, policy)
    if policy.coercion >= LENIENT.coercion:
        assert failures[0].reason is reason
        assert words in str(failures[0])
    # A stricter policy may stop earlier, and then says less.


@every_policy
@pytest.mark.parametrize(("annotation", "value", "reason", "words"), REFUSED)
def test_refused_at_depth(annotation: Any, value: Any, reason: FailureReason, words: str, policy: Policy) -> None:
    """Inside lists, objects and dataclasses the same is refused, at the full path, and what stands beside it is not."""
    box = make_dataclass("Box", [("good", int), ("bad", TUPLE[annotation or type(None), int])])
    failures = refuses(DICT[str, box], {"key": {"good": 1, "bad": [value, 1]}}, policy)
    assert all(failure.path.startswith("$.key.bad[0]") for failure in failures)
    if policy.coercion >= LENIENT.coercion:
        assert failures[0].reason is reason
        assert words in str(failures[0])


def odd(value: int) -> bool:
    """Whether a number is odd."""
    return value % 2 == 1


APPLES = (
    '$: expected an integer, got "5 apples": it says the number 5 with "apples". '
    "Send the plain number, in the unit that the parameter asks for."
)
# One case a reason, whole. The name of the case is the reason.
EXACT_TEXTS = [
    (
        int,
        {},
        STRICT,
        "wrong_type",
        "$: expected an integer, got {}: an object is not a number.",
    ),
    (
        int,
        "5",
        STRICT,
        "wrong_type",
        '$: expected an integer, got "5" (refused: would have been read as 5, info). Send 5.',
    ),
    (
        int,
        "5 apples",
        LENIENT,
        "invalid",
        APPLES,
    ),
    (
        Literal["low", "high"],
        "not high",
        LENIENT,
        "not_a_choice",
        '$: expected one of "low", "high", got "not high". Send one of the choices exactly.',
    ),
    (
        Literal["center", "central"],
        "cen",
        LENIENT,
        "ambiguous",
        '$: expected one of "center", "central", got "cen": it could mean "center", "central". Send one of them exactly.',
    ),
    (
        Annotated[int, at.Ge(1), at.Le(9)],
        12,
        LENIENT,
        "constraint",
        "$: expected an integer (at least 1, at most 9), got 12: it is more than 9.",
    ),
    (
        Point,
        {},
        LENIENT,
        "missing",
        "$.x: missing; expected an integer. Send x.",
    ),
    (
        Point,
        {"x": 1, "z": 2},
        STRICT,
        "unknown",
        "$.z: there is no such parameter. The parameters are x.",
    ),
    (
        int,
        "1,234",
        LENIENT,
        "too_risky",
        (
            '$: expected an integer, got "1,234": the comma may be a decimal comma (refused: would have been read as 1234, risky). '
            "Send the number without the comma."
        ),
    ),
    (
        Annotated[int, at.Predicate(odd)],
        2,
        LENIENT,
        "rejected",
        "$: expected an integer, got 2: not a value for which odd holds.",
    ),
    (
        float,
        "1e400",
        LENIENT,
        "limit",
        '$: expected a number, got "1e400": it is too large for a float.',
    ),
]


@pytest.mark.parametrize(("annotation", "value", "policy", "reason", "text"), EXACT_TEXTS)
def test_the_text_of_a_refusal(annotation: Any, value: Any, policy: Policy, reason: str, text: str) -> None:
    """A refusal names the path, what was expected, what came, why it does not do, and what to send instead."""
    (failure,) = refuses(annotation, value, policy)
    assert failure.reason.value == reason
    assert str(failure) == text


def test_every_reason_has_a_text() -> None:
    """No reason is without its exact text above."""
    assert {case[3] for case in EXACT_TEXTS} == {reason.value for reason in FailureReason}


def test_all_failures_are_collected() -> None:
    """Every failing place is named, so that the model can mend them in one go."""
    failures = refuses(dict[str, list[int]], {"a": ["x", 1, "y"], "b": "z", "c": [2]}, LENIENT)
    assert [failure.path for failure in failures] == ["$.a[0]", "$.a[2]", "$.b"]


def test_a_failing_object_is_not_constructed() -> None:
    """Of an object with failures no instance is tried, so that the constructor's own complaint does not stand beside the real one."""
    failures = refuses(Point, {"x": "abc"}, LENIENT)
    assert [(failure.path, failure.reason) for failure in failures] == [("$.x", FailureReason.INVALID)]


@pytest.mark.parametrize(
    ("annotation", "value", "policy", "would_be"),
    [
        (Union[int, float], "5.5", STRICT, 5.5),
        (Union[int, bool], "true", STRICT, True),
        (Union[Point, dict[str, int]], '{"a": 1}', STRICT, {"a": 1}),
        (Union[float, str], True, LENIENT, "true"),
        (Union[int, list[str]], "a, b", LENIENT, ["a", "b"]),
    ],
)
def test_a_union_says_what_it_would_have_read(annotation: Any, value: Any, policy: Policy, would_be: Any) -> None:
    """A refused union tells of the member that could have read the value, not of one that could not."""
    (failure,) = refuses(annotation, value, policy)
    assert failure.would_be is not None
    assert failure.would_be.after == would_be


class Deep(pydantic.BaseModel):
    item: Annotated[int, pydantic.AfterValidator(odd_only)] | Annotated[list[int], pydantic.AfterValidator(odd_only)]


def test_a_rejection_inside_a_union_names_a_place_that_is_there() -> None:
    """pydantic's names for the members of a union are no part of the path."""
    assert {failure.path for failure in refuses(Deep, {"item": [2]}, LENIENT)} == {"$.item"}


def test_a_rejection_by_pydantic_names_the_field() -> None:
    """What a model's own validator says stands at its field, without a link to documentation."""
    (failure,) = refuses(Model, {"x": 2}, LENIENT)
    assert failure.path == "$.x"
    assert "http" not in str(failure)


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("even this fails")


@pytest.mark.parametrize(
    ("error", "words"),
    [(KeyError("x"), "KeyError"), (_Mute(), "_Mute"), (SystemExit(3), "3"), (ValueError("no"), "no"), (ValueError(), "ValueError")],
)
def test_whatever_a_constructor_raises_is_a_refusal(error: BaseException, words: str) -> None:
    """An exception of the author's constructor refuses the value with its text, where it has one."""

    def fails(_: int) -> bool:
        raise error

    (failure,) = refuses(Annotated[int, at.Predicate(fails)], 1, LENIENT)
    assert (failure.reason, failure.detail) == (FailureReason.REJECTED, words)
