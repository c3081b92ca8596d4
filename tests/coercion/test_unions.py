"""Unions: the member that takes the value as it is, else the one with the fewest liberties; discriminators; work stays linear."""

import datetime as dt
import json
import pathlib
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import pydantic
import pytest

from toolbox import coerce_to_schema
from toolbox.annotations import read_annotation
from toolbox.coercion import build_coercer
from toolbox.diagnostics import INVALID, FailureReason, Outcome
from toolbox.policy import LENIENT, STRICT, Policy
from toolbox.schema import read_schema
from toolbox.types import Document


@dataclass
class Cat:
    kind: Literal["cat"]
    lives: int


@dataclass
class Dog:
    kind: Literal["dog"]
    name: str


class Corner(NamedTuple):
    x: int
    y: float


@dataclass
class Wide:
    x: int
    y: int = 1
    z: int = 2


@dataclass
class Narrow:
    x: int
    y: int = 1


@dataclass
class One:
    next: "Optional[One | Two]"


@dataclass
class Two:
    next: "Optional[One | Two]"


class Picky:
    """Equal to nothing, loudly."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = object.__hash__


def coerce(document: Document | Any, value: Any, policy: Policy = LENIENT) -> tuple[Any, Outcome]:
    """What an annotation, or a document, makes of a value."""
    out = Outcome()
    found = document if isinstance(document, Document) else read_annotation(document)
    return build_coercer(found, policy)(value, None, out), out


@pytest.mark.parametrize(
    ("annotation", "value", "made"),
    [
        (Cat | Dog, {"kind": "dog", "name": "Rex"}, Dog("dog", "Rex")),
        (Cat | Dog, {"kind": "cat", "lives": "9"}, Cat("cat", 9)),
        (Cat | Dog, '{"kind": "cat", "lives": 9}', Cat("cat", 9)),
        (Cat | Dog, {"kind": "DOG", "name": "Rex"}, Dog("dog", "Rex")),
        (Wide | Narrow, {"x": 1, "y": 2}, Narrow(1, 2)),
        (Wide | Narrow, {"x": 1, "y": 2, "z": 3}, Wide(1, 2, 3)),
        (Narrow | Wide, {"x": 1}, Narrow(1)),
        (Union[Narrow, dict[str, int]], {"x": 1, "y": 2}, Narrow(1, 2)),
        (Union[dict[str, int], Narrow], {"x": 1, "y": 2}, {"x": 1, "y": 2}),
        (Union[int, str], "5", "5"),
        (Union[str, int], 5, 5),
        (Union[int, float], "5", 5),
        (Union[float, int], "5", 5),
        (Union[list[int], list[str]], ["a"], ["a"]),
        (Union[list[str], dict[str, str]], {"a": "b"}, {"a": "b"}),
        (Union[int, list[str]], "5", 5),
        (Union[None, Cat, Dog], None, None),
        (Union[int, Union[str, None]], "x", "x"),
        (Union[dt.date, str], ["2026-07-02"], "2026-07-02"),
        (Union[dt.date, str, None], ["2026-07-02"], "2026-07-02"),
        (Union[int, bool], ["true"], True),
        (Optional[pathlib.Path], ["null"], None),
        (Union[int, list[str]], ["5"], ["5"]),
    ],
)
def test_the_right_member_wins(annotation: Any, value: Any, made: Any) -> None:
    """The member that takes the value as it is wins, then the one with the least risk."""
    result, out = coerce(annotation, value)
    assert out.failures == []
    assert result == made
    assert type(result) is type(made)


@pytest.mark.parametrize(
    ("annotation", "value", "path", "reason"),
    [
        (Cat | Dog, {"kind": "cat", "lives": "many"}, "$.lives", FailureReason.INVALID),
        (Cat | Dog, {"kind": "cow"}, "$.kind", FailureReason.NOT_A_CHOICE),
        (Cat | Dog, {"kind": "cat", "name": "Rex"}, "$.lives", FailureReason.MISSING),
        (Cat | Dog, {"kind": ["cat"], "lives": "many"}, "$.lives", FailureReason.INVALID),
        (Union[int, bool], "1", "$", None),
        (Union[int, bool], "maybe", "$", FailureReason.INVALID),
        (Union[Cat, int], "x", "$", FailureReason.INVALID),
        (Union[list[int], list[bool]], "x", "$", FailureReason.INVALID),
    ],
)
def test_what_a_refused_union_says(annotation: Any, value: Any, path: str, reason: FailureReason | None) -> None:
    """The failures are those of the member that came nearest, at their own places."""
    _, out = coerce(annotation, value)
    if reason is None:
        assert out.failures == []
    else:
        assert (out.failures[0].path, out.failures[0].reason) == (path, reason)


def test_a_tie_is_refused() -> None:
    """Two members that would read a value differently at the same risk are a tie, and it says both."""

    class Metres(pydantic.RootModel[int]): ...

    class Feet(pydantic.RootModel[int]): ...

    made, out = coerce(Metres | Feet, "5")
    assert made is INVALID
    assert out.failures[0].reason is FailureReason.AMBIGUOUS
    assert "it could be read as" in str(out.failures[0])


def test_equality_of_the_authors_is_not_trusted() -> None:
    """A value whose comparison raises is unlike every other, and raises nothing."""
    picky = Annotated[int, pydantic.AfterValidator(lambda _: Picky())]
    made, out = coerce(Union[picky, Annotated[int, pydantic.AfterValidator(lambda _: Picky())]], "5")
    assert made is INVALID
    assert out.failures[0].reason is FailureReason.AMBIGUOUS


def test_one_of() -> None:
    """Where exactly one alternative must fit, two that fit are a failure."""
    document = read_schema({"oneOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "maximum": 10}]})
    assert coerce(document, 20)[0] == 20
    assert coerce(document, 5)[1].failures[0].reason is FailureReason.AMBIGUOUS
    assert coerce(document, "x")[0] is INVALID


def test_one_of_counts_what_was_changed_too() -> None:
    """A value that is changed until it fits one alternative must not fit another one then."""
    document = read_schema({"oneOf": [{"type": "integer"}, {"type": "number"}]})
    assert coerce(document, "5.5")[0] == 5.5
    made, out = coerce(document, "5")
    assert made is INVALID
    assert out.failures[0].reason is FailureReason.AMBIGUOUS
    assert out.diagnostics == []


NULL = {"type": "null"}


@pytest.mark.parametrize("policy", [STRICT, LENIENT])
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"anyOf": [{"type": ["string", "integer"]}, NULL]}, ""),
        ({"anyOf": [{"anyOf": [{"type": "boolean"}, {"type": "string", "minLength": 1}]}, NULL]}, "nil"),
        ({"anyOf": [{}, NULL]}, "null"),
        ({"anyOf": [{"not": {"const": "x"}}, NULL]}, "null"),
        ({"anyOf": [{"enum": [[1], [2]]}, NULL]}, [1]),
        ({"anyOf": [{"type": "object", "additionalProperties": False}, {"enum": [{"a": 1}]}]}, {"a": 1}),
        ({"type": "object", "properties": {"a": {"not": {"type": "integer"}}}}, {"a": None}),
    ],
)
def test_what_fits_an_alternative_is_left_alone(schema: Any, value: Any, policy: Policy) -> None:
    """No word is read as null, and no choice passed over, where the value is one that the schema takes."""
    made, out = coerce(read_schema(schema), value, policy)
    assert (made, out.diagnostics, out.failures) == (value, [], [])


def test_text_whose_format_is_a_note_is_text() -> None:
    """Only the two words that `Optional[str]` may mean null by are changed, and on record."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "anyOf": [{"type": "string", "format": "date"}, NULL]}
    assert coerce_to_schema(schema, "nil").value == "nil"
    assert coerce_to_schema(schema, "null", STRICT).value == "null"
    assert [str(found) for found in coerce_to_schema(schema, "null").diagnostics] == [
        '[warning] $: coerced "null" to null (str->None); Send null, without quotes'
    ]


@pytest.mark.parametrize("choice", [{"a": 1}, [1], 1])
def test_one_of_counts_choices_of_every_kind(choice: Any) -> None:
    """A choice that is an object or an array is an alternative like any other."""
    made, out = coerce(read_schema({"oneOf": [{}, {"const": choice}]}), choice)
    assert made is INVALID
    assert out.failures[0].reason is FailureReason.AMBIGUOUS


def test_declared_discriminator() -> None:
    """A declared discriminator picks the member, and a value without it is tried against all."""
    document = read_schema(
        {
            "oneOf": [
                {"type": "object", "properties": {"t": {"enum": [1]}, "v": {"type": "integer"}}, "required": ["t", "v"]},
                {"type": "object", "properties": {"t": {"enum": [2]}, "v": {"type": "string"}}, "required": ["t", "v"]},
            ],
            "discriminator": {"propertyName": "t"},
        }
    )
    assert coerce(document, {"t": 1, "v": "5"})[0] == {"t": 1, "v": 5}
    assert coerce(document, {"t": 2, "v": "5"})[0] == {"t": 2, "v": "5"}
    assert coerce(document, {"v": "5"})[1].failures


def chain(levels: int, end: Any) -> Any:
    """An object in an object in an object."""
    for _ in range(levels):
        end = {"next": end}
    return end


@pytest.mark.parametrize("policy", [STRICT, LENIENT], ids=["strict", "lenient"])
def test_recursion_in_unions_stays_linear(policy: Policy) -> None:
    """A deep value of a recursive union is worked out once for each union at each level, whether it fits or not."""
    made, out = coerce(One | Two, chain(60, None), policy)
    assert isinstance(made, One)
    assert len(out.known or {}) <= 4 * 60
    made, out = coerce(One | Two, chain(60, "x"), policy)
    assert made is INVALID
    assert len(out.known or {}) <= 4 * 60
    assert out.failures


def test_values_decoded_from_text_are_told_apart() -> None:
    """What was worked out for one value is never taken for another, however alike their places read."""
    document = read_annotation(dict[str, list[Union[list[int], list[str]]]])
    sent = {f"{'k' * 100}{n}": f"[[{n}]]" if n % 2 else f'[["x{n}"]]' for n in range(50)}
    made, out = coerce(document, sent)
    assert out.failures == []
    assert list(made.values()) == [[[n]] if n % 2 else [[f"x{n}"]] for n in range(50)]


def test_a_named_tuple_that_is_ready() -> None:
    """An instance of a NamedTuple is that, and not an array for another member."""
    ready = Corner(1, 0.5)
    assert coerce(Union[Corner, None, list[bool]], ready)[0] is ready


def test_nested_text_in_unions_stays_linear() -> None:
    """JSON text inside JSON text does not multiply the work of the members."""
    value: Any = "x"
    for _ in range(12):
        value = json.dumps([value])
    out = Outcome()
    document = read_annotation(Union[list[Any], dict[str, Any], str])
    assert build_coercer(document, LENIENT)(value, None, out) == value
