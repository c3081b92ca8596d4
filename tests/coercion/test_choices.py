"""Enums: value, name, then the cascade, as far as the policy goes; open enums; aliases."""

import enum
from dataclasses import replace
from typing import Annotated, Any, Literal

import pytest

from toolbox.annotations import OpenEnum, Param, read_annotation
from toolbox.coercion import build_coercer
from toolbox.diagnostics import INVALID, DiagnosticKind, FailureReason, Outcome, Risk
from toolbox.matching import MatchLevel
from toolbox.policy import ABSORBING, LENIENT, STRICT, Policy

INFO, WARN, RISK = Risk
LOOSEST = replace(LENIENT, max_risk=Risk.RISKY, matching=MatchLevel.TYPO)


class Colour(enum.Enum):
    RED = "r"
    DARK_BLUE = "dark-blue"
    CRIMSON = "r"  # noqa: PIE796 - another name of the same member


class Level(enum.IntEnum):
    LOW = 1
    VERY_HIGH = 10


class Tuples(enum.Enum):
    PAIR = (1, 2)
    OTHER = (3, 4)


Order = Literal["asc", "desc"]
Size = Literal["low", "medium", "high"]


def coerce(annotation: Any, value: Any, policy: Policy) -> tuple[Any, Outcome]:
    """What an annotation makes of a value."""
    out = Outcome()
    return build_coercer(read_annotation(annotation), policy)(value, None, out), out


# annotation, value, what it becomes, (level, risk) on record; None where nothing is recorded
MATCHED = [
    (Colour, "r", Colour.RED, None),
    (Colour, Colour.RED, Colour.RED, None),
    (Colour, "RED", Colour.RED, ("case", INFO)),
    (Colour, "red", Colour.RED, ("case", INFO)),
    (Colour, "R", Colour.RED, ("case", INFO)),
    (Colour, "CRIMSON", Colour.RED, ("case", INFO)),
    (Colour, "crimson", Colour.RED, ("case", INFO)),
    (Colour, "DARK_BLUE", Colour.DARK_BLUE, ("case", INFO)),
    (Colour, "darkBlue", Colour.DARK_BLUE, ("separator", INFO)),
    (Level, 1, Level.LOW, None),
    (Level, "very high", Level.VERY_HIGH, ("separator", INFO)),
    (Tuples, [1, 2], Tuples.PAIR, None),
    (Tuples, "PAIR", Tuples.PAIR, ("case", INFO)),
    (Order, "ASC", "asc", ("case", INFO)),
    (Order, '"asc."', "asc", ("case", INFO)),
    (Order, "ascending order", "asc", ("prefix", WARN)),
    (Order, "sort asc", "asc", ("token", WARN)),
    (Size, "Med", "medium", ("prefix", WARN)),
    (Size, "priority: high", "high", ("token", WARN)),
    (Size, "me", "medium", ("prefix", RISK)),
    (Size, "hihg", "high", ("typo", RISK)),
    (Annotated[Size, Param(aliases={"urgent": "high"})], "Urgent", "high", ("case", INFO)),
    (Annotated[Colour, Param(aliases={"navy": Colour.DARK_BLUE, "wine": "r"})], "NAVY", Colour.DARK_BLUE, ("case", INFO)),
    (Annotated[Colour, Param(aliases={"navy": Colour.DARK_BLUE, "wine": "r"})], "wine", Colour.RED, ("case", INFO)),
]


def _allows(policy: Policy, found: tuple[str, Risk] | None) -> bool:
    return found is None or (MatchLevel[found[0].upper()] <= policy.matching and found[1] <= policy.max_risk)


@pytest.mark.parametrize("policy", [ABSORBING, LENIENT, LOOSEST], ids=["absorbing", "lenient", "loosest"])
@pytest.mark.parametrize(("annotation", "value", "member", "found"), MATCHED)
def test_the_cascade(annotation: Any, value: Any, member: Any, found: tuple[str, Risk] | None, policy: Policy) -> None:
    """A level is used where the policy goes as far and takes its risk; beyond that the failure says what it would have been."""
    made, out = coerce(annotation, value, policy)
    if _allows(policy, found):
        assert made == member
        assert type(made) is type(member)
        assert [(item.conversion, item.risk, item.kind) for item in out.diagnostics] == (
            [] if found is None else [(f"match:{found[0]}", found[1], DiagnosticKind.MATCHED)]
        )
    else:
        assert made is INVALID
        (failure,) = out.failures
        assert failure.reason in (FailureReason.NOT_A_CHOICE, FailureReason.TOO_RISKY)
        # Slips of the pen are not looked for unless asked for.
        assert (failure.would_be is None) == (found is not None and found[0] == "typo")


@pytest.mark.parametrize(("annotation", "value", "member", "found"), MATCHED)
def test_strict_takes_the_exact_value_only(annotation: Any, value: Any, member: Any, found: tuple[str, Risk] | None) -> None:
    """STRICT takes what is a choice, or a member, exactly."""
    made, out = coerce(annotation, value, STRICT)
    assert (made is INVALID) == (found is not None)
    assert out.diagnostics == []


@pytest.mark.parametrize("annotation", [Order | str, Annotated[Order, OpenEnum], Annotated[Colour, OpenEnum], Colour | str], ids=str)
@pytest.mark.parametrize("policy", [STRICT, ABSORBING, LENIENT, LOOSEST], ids=["strict", "absorbing", "lenient", "loosest"])
def test_an_open_enum_keeps_other_text(annotation: Any, policy: Policy) -> None:
    """Unknown text is kept with a warning, whatever the policy; so is text that a guess would match."""
    for text in ("zzz", "ascending order", "not asc", "", "a" * 300):
        made, out = coerce(annotation, text, policy)
        assert made == text
        assert [(item.kind, item.risk, item.after) for item in out.diagnostics] == [(DiagnosticKind.UNKNOWN_CHOICE, WARN, text)]


def test_an_open_enum_knows_its_choices() -> None:
    """A choice that differs by case or separators alone is that choice."""
    made, out = coerce(Literal["us-east-1", "eu"] | str, "US East 1", LENIENT)
    assert (made, out.diagnostics[0].conversion) == ("us-east-1", "match:separator")
    assert coerce(Colour | str, "dark blue", LENIENT)[0] is Colour.DARK_BLUE


def test_an_open_enum_leaves_text_alone_that_looks_like_another_type() -> None:
    """Text that is allowed as text is not taken for a number or a boolean among the choices."""
    assert coerce(Literal[1, True] | str, "1", LENIENT)[0] == "1"
    assert coerce(Literal[1, True] | str, "true", LENIENT)[0] == "true"
    assert coerce(Literal[1, True] | str, 1, LENIENT)[0] == 1


@pytest.mark.parametrize(
    ("value", "words"),
    [("choixe-5", "The nearest choices are"), ("zzzzzz", "Send one of the choices exactly"), (5, "Send one of the choices exactly")],
)
def test_a_long_enum_suggests_the_nearest(value: Any, words: str) -> None:
    """Where the choices are too many to list, the nearest are named."""
    many = Literal[tuple(f"choice-{number}" for number in range(100))]  # type: ignore[valid-type]
    _, out = coerce(many, value, LENIENT)
    assert words in str(out.failures[0])
    assert '"choice-9" and 90 more' in str(out.failures[0])


def test_ambiguous_in_an_open_enum_is_kept() -> None:
    """An open enum keeps what could mean two of its choices."""
    made, out = coerce(Literal["a", "A"] | str, "a.", LENIENT)
    assert (made, out.diagnostics[0].kind) == ("a.", DiagnosticKind.UNKNOWN_CHOICE)


def test_numbers_among_choices() -> None:
    """A number is the choice of the same value, in whatever JSON spelling; a float choice takes an int."""
    assert coerce(Level, 1.0, STRICT)[0] is Level.LOW
    assert coerce(Level, 2.0, LENIENT)[0] is INVALID
    assert coerce(Level, 10**400, LENIENT)[0] is INVALID

    class Half(enum.Enum):
        ONE = 1.0
        HALF = 0.5

    assert coerce(Half, 1, STRICT)[0] is Half.ONE
    assert coerce(Half, "0.5", LENIENT)[0] is Half.HALF
    assert coerce(Half, ["0.5"], LENIENT)[0] is Half.HALF
