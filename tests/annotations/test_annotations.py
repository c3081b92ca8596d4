"""Every annotation: its schema, the value that a good JSON value becomes, and the value that a messy one becomes."""

import collections
import collections.abc
import datetime as dt
import enum
import fractions
import ipaddress
import pathlib
import re
import typing
import uuid
from dataclasses import KW_ONLY, InitVar, dataclass, field
from decimal import Decimal
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Required,
    TypedDict,
    TypeVar,
    Union,
)

import annotated_types as at
import attrs
import jsonschema
import msgspec
import pydantic
import pytest
import typing_extensions as te

from toolbox.annotations import Converter, Injected, OpenEnum, Param, read_annotation, read_callable
from toolbox.coercion import build_coercer
from toolbox.diagnostics import INVALID, Outcome
from toolbox.errors import RegistrationError
from toolbox.policy import LENIENT, STRICT, Policy
from toolbox.schema import read_schema, write_schema
from toolbox.types import Document

T = TypeVar("T")
Small = TypeVar("Small", bound=int)
Either = TypeVar("Either", int, str)
MISSING: Any = object()


class Colour(enum.Enum):
    RED = "red"
    CRIMSON = "red"  # noqa: PIE796 - another name of the same member
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Order(enum.StrEnum):
    ASC = "asc"
    DESC = "desc"


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Shape(enum.Enum):
    PAIR = (1, 2)
    THING = object()


@dataclass
class Plain:
    """A plain one.

    Attributes:
        x: how far.
    """

    x: int
    y: float = field(default=1.0, metadata={"description": "how high"})


@dataclass
class Special:
    scale: InitVar[int]
    _: KW_ONLY
    tags: list[str] = field(default_factory=list)
    made: int = field(init=False, default=0)

    def __post_init__(self, scale: int) -> None:
        self.made = scale * 2


class Keys(TypedDict, total=False):
    needed: Required[int]
    note: te.ReadOnly[str]
    count: NotRequired[Annotated[int, "how many"]]


class Closed(te.TypedDict, closed=True):
    a: int


class Extended(te.TypedDict, extra_items=int):  # type: ignore[call-arg]
    a: int


class Corner(NamedTuple):
    x: int
    label: str = "here"


@attrs.define
class Pin:
    _x: int
    tags: list[str] = attrs.field(factory=list)
    size: int = attrs.field(default=5, alias="big", metadata={"description": "how big"})
    made: int = attrs.field(init=False, default=1)
    late: int = attrs.Factory(lambda self: len(self.tags), takes_self=True)


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(populate_by_name=True)
    count: int = pydantic.Field(alias="howMany", ge=0, description="how many", examples=[3])
    name: Annotated[str, pydantic.Field(min_length=1, title="Name")] = "x"
    tags: list[str] = pydantic.Field(default_factory=list)

    @pydantic.field_validator("name")
    @classmethod
    def _shout(cls, value: str) -> str:
        return value.upper()


class Choosy(pydantic.BaseModel):
    one: int = pydantic.Field(validation_alias=pydantic.AliasChoices("first", "uno"))
    two: int = pydantic.Field(default_factory=lambda data: data["one"] + 1)


class Open(pydantic.BaseModel, extra="allow"):
    a: int


class Numbers(pydantic.RootModel[list[int]]):
    """Only numbers."""


class Box(pydantic.BaseModel, Generic[T]):
    item: T


@pydantic.dataclasses.dataclass
class Checked:
    a: int = pydantic.Field(ge=0)


class Struct(msgspec.Struct, rename="camel", tag="st"):
    max_results: Annotated[int, msgspec.Meta(ge=0, description="at most", title="Most", examples=[1])]
    name: str = msgspec.field(name="called", default="x")
    tags: list[str] = msgspec.field(default_factory=list)


class Other(msgspec.Struct, tag="ot"):
    x: int


@dataclass
class Holder(Generic[T]):
    item: T
    more: list[T] = field(default_factory=list)


@dataclass
class Node:
    value: int
    next: "Node | None" = None


@dataclass
class Man:
    wife: "Woman | None" = None


@dataclass
class Woman:
    husband: Man | None = None


UserId = NewType("UserId", int)
Names = te.TypeAliasType("Names", list[str])
Table = te.TypeAliasType("Table", dict[str, T], type_params=(T,))
Tree = te.TypeAliasType("Tree", Union[dict[str, "Tree"], int])  # type: ignore[misc]
Money = Annotated[Decimal, at.Ge(0)]


class Celsius(float):
    """A number of its own class."""


class Row(NamedTuple):
    """An annotation; its schema (None: not compared); a good value and what it becomes; a messy one that becomes the same."""

    annotation: Any
    schema: dict[str, Any] | None
    good: Any
    made: Any
    messy: Any = MISSING


def text(name: str) -> dict[str, Any]:
    """The schema of text in a format."""
    return {"type": "string", "format": name}


def fields(required: list[str], **properties: Any) -> dict[str, Any]:
    """The schema of a closed object."""
    head = {"type": "object", "properties": properties}
    return {**head, **({"required": required} if required else {}), "additionalProperties": False}


INT, STR, NUMBER = {"type": "integer"}, {"type": "string"}, {"type": "number"}
INTS = {"type": "array", "items": INT}
MAP = {"type": "object", "properties": {}, "additionalProperties": INT}
NAME = "12345678-1234-5678-1234-567812345678"

ROWS = [
    # scalars
    Row(bool, {"type": "boolean"}, True, True, "true"),
    Row(int, INT, 5, 5, "5"),
    Row(float, NUMBER, 2.5, 2.5, "2.5"),
    Row(str, STR, "a", "a", ["a"]),
    Row(None, {"type": "null"}, None, None, "null"),
    Row(Any, {}, [1, {"a": None}], [1, {"a": None}]),
    Row(object, {}, "a", "a"),
    Row(Celsius, NUMBER, 20.5, Celsius(20.5), "20.5"),
    Row(te.LiteralString, STR, "a", "a"),
    Row(UserId, INT, 5, 5, "5"),
    Row(Decimal, None, "1.10", Decimal("1.10"), " 1.10 "),
    Row(fractions.Fraction, None, 0.5, fractions.Fraction(1, 2), " 0.5"),
    # choices
    Row(Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "a", "a", "A"),
    Row(Literal[1, "a", None], {"enum": [1, "a", None]}, 1, 1, "1"),
    Row(Literal[1, True, "1"], {"enum": [1, True, "1"]}, True, True, "true"),
    Row(Literal[Colour.RED], {"type": "string", "enum": ["red"]}, "red", Colour.RED, "RED"),
    Row(Literal[None], {"type": "null"}, None, None, "None"),
    Row(Literal["a"] | str, {"anyOf": [{"type": "string", "enum": ["a"]}, STR]}, "a", "a", "A"),
    Row(Annotated[Literal["a"], OpenEnum], {"anyOf": [{"type": "string", "enum": ["a"]}, STR]}, "a", "a", "A"),
    Row(
        Annotated[Literal["low", "high"], Param(aliases={"urgent": "high"})],
        {"type": "string", "enum": ["low", "high"]},
        "high",
        "high",
        "Urgent",
    ),
    Row(Colour, {"type": "string", "enum": ["red", "blue"]}, "red", Colour.RED, "Crimson"),
    Row(Level, {"type": "integer", "enum": [1, 2]}, 2, Level.HIGH, "high"),
    Row(Order, {"type": "string", "enum": ["asc", "desc"]}, "desc", Order.DESC, "sort descending"),
    Row(Rights, {"type": "integer", "enum": [1, 2]}, 2, Rights.WRITE, "WRITE"),
    Row(Shape, {"type": "string", "enum": ["PAIR", "THING"]}, "PAIR", Shape.PAIR, "pair"),
    # unions
    Row(Optional[int], {"anyOf": [INT, {"type": "null"}]}, None, None, "null"),
    Row(int | None, {"anyOf": [INT, {"type": "null"}]}, 5, 5, "5"),
    Row(Union[int, str], {"anyOf": [INT, STR]}, "5", "5"),
    Row(Union[int, Literal["all"]], {"anyOf": [INT, {"type": "string", "enum": ["all"]}]}, "all", "all", "ALL"),
    Row(int | Any, {}, "a", "a"),
    Row(Union[int, bool, int], {"anyOf": [INT, {"type": "boolean"}]}, True, True, "true"),
    # containers
    Row(list[int], INTS, [1], [1], "[1]"),
    Row(list, {"type": "array", "items": {}}, [1], [1], "[1]"),
    Row(typing.List[int], INTS, [1], [1], "1"),
    Row(collections.abc.Sequence[int], INTS, [1], [1], "[1]"),
    Row(collections.abc.Iterable[int], INTS, [1], [1], "[1]"),
    Row(collections.deque[int], INTS, [1], collections.deque([1]), "[1]"),
    Row(set[int], {**INTS, "uniqueItems": True}, [1], {1}, [1, "1"]),
    Row(frozenset[int], {**INTS, "uniqueItems": True}, [1], frozenset({1}), "[1]"),
    Row(collections.abc.Set[int], {**INTS, "uniqueItems": True}, [1], {1}, "[1]"),
    Row(tuple[int, ...], INTS, [1, 2], (1, 2), "(1, 2)"),
    Row(tuple, {"type": "array", "items": {}}, [1], (1,), "[1]"),
    Row(typing.Tuple, {"type": "array", "items": {}}, [1], (1,), "[1]"),
    Row(tuple[()], None, [], (), "[]"),
    Row(tuple[int, str], None, [1, "a"], (1, "a"), "[1, 'a']"),
    Row(dict[str, int], MAP, {"a": 1}, {"a": 1}, '{"a": "1"}'),
    Row(dict, {"type": "object", "properties": {}, "additionalProperties": True}, {"a": 1}, {"a": 1}, "{'a': 1}"),
    Row(dict[int, int], MAP, {"1": 1}, {1: 1}, {"1": "1"}),
    Row(dict[Colour, int], MAP, {"red": 1}, {Colour.RED: 1}, {"RED": 1}),
    Row(collections.abc.Mapping[str, int], MAP, {"a": 1}, {"a": 1}, {"a": "1"}),
    Row(collections.OrderedDict[str, int], MAP, {"a": 1}, collections.OrderedDict(a=1), {"a": "1"}),
    Row(collections.defaultdict[str, int], MAP, {"a": 1}, collections.defaultdict(None, a=1), {"a": "1"}),
    Row(collections.Counter[str], MAP, {"a": 1}, collections.Counter(a=1), {"a": "1"}),
    Row(collections.Counter, MAP, {"a": 1}, collections.Counter(a=1), {"a": "1"}),
    # classes
    Row(
        Plain,
        {
            **fields(["x"], x={**INT, "description": "how far."}, y={**NUMBER, "description": "how high", "default": 1.0}),
            "description": "A plain one.",
        },
        {"x": 1},
        Plain(1),
        '{"x": "1"}',
    ),
    Row(Special, fields(["scale"], scale=INT, tags={"type": "array", "items": STR}), {"scale": 2}, Special(2), {"scale": "2", "tags": []}),
    Row(
        Keys,
        fields(["needed"], needed=INT, note=STR, count={**INT, "description": "how many"}),
        {"needed": 1},
        {"needed": 1},
        {"needed": "1"},
    ),
    Row(Closed, fields(["a"], a=INT), {"a": 1}, {"a": 1}, {"a": "1"}),
    Row(Extended, {**fields(["a"], a=INT), "additionalProperties": INT}, {"a": 1, "z": 2}, {"a": 1, "z": 2}, {"a": 1, "z": "2"}),
    Row(Corner, fields(["x"], x=INT, label={**STR, "default": "here"}), {"x": 1}, Corner(1), {"x": "1"}),
    Row(collections.namedtuple("Loose", "a b"), fields(["a", "b"], a={}, b={}), {"a": 1, "b": None}, None),
    Row(
        Pin,
        fields(["x"], x=INT, tags={"type": "array", "items": STR}, big={**INT, "description": "how big", "default": 5}, late=INT),
        {"x": 1},
        Pin(1),
        {"x": "1", "big": "5"},
    ),
    Row(
        Model,
        fields(
            ["howMany"],
            howMany={**INT, "description": "how many", "minimum": 0, "examples": [3]},
            name={**STR, "title": "Name", "minLength": 1, "default": "x"},
            tags={"type": "array", "items": STR},
        ),
        {"howMany": 1, "name": "a"},
        Model(count=1, name="a"),  # type: ignore[call-arg]
        {"count": "1", "name": "a", "tags": "[]"},
    ),
    Row(Choosy, fields(["first"], first=INT, two=INT), {"first": 1}, Choosy(uno=1), {"uno": "1"}),  # type: ignore[call-arg]
    Row(Open, {**fields(["a"], a=INT), "additionalProperties": True}, {"a": 1, "z": [2]}, Open(a=1, z=[2]), {"a": "1", "z": [2]}),  # type: ignore[call-arg]
    Row(Numbers, INTS, [1], Numbers([1]), '["1"]'),
    Row(Box[int], fields(["item"], item=INT), {"item": 1}, Box[int](item=1), {"item": "1"}),
    Row(Checked, fields(["a"], a={**INT, "minimum": 0}), {"a": 1}, Checked(1), {"a": "1"}),
    Row(
        Struct,
        fields(
            ["type", "maxResults"],
            type={"type": "string", "enum": ["st"]},
            maxResults={**INT, "title": "Most", "description": "at most", "minimum": 0, "examples": [1]},
            called={**STR, "default": "x"},
            tags={"type": "array", "items": STR},
        ),
        {"type": "st", "maxResults": 1},
        Struct(1),
        {"type": "st", "max_results": "1", "tags": "[]"},
    ),
    Row(Struct | Other, None, {"type": "ot", "x": 1}, Other(1), {"type": "ot", "x": "1"}),
    Row(Holder[int], fields(["item"], item=INT, more=INTS), {"item": 1}, Holder(1), {"item": "1", "more": []}),
    Row(Holder, fields(["item"], item={}, more={"type": "array", "items": {}}), {"item": "1"}, Holder("1"), {"item": "1", "more": "[]"}),
    Row(Node, None, {"value": 1, "next": {"value": 2}}, Node(1, Node(2)), {"value": "1", "next": '{"value": 2}'}),
    Row(Man, None, {"wife": {"husband": {}}}, Man(Woman(Man())), {"wife": "{'husband': {}}"}),
    # times
    Row(dt.datetime, text("date-time"), "2026-07-02T10:00:00Z", dt.datetime(2026, 7, 2, 10, tzinfo=dt.UTC), 1782986400),
    Row(dt.date, text("date"), "2026-07-02", dt.date(2026, 7, 2), "2026-07-02T00:00"),
    Row(dt.time, text("time"), "10:00", dt.time(10), " 10:00 "),
    Row(dt.timedelta, text("duration"), "PT1M", dt.timedelta(minutes=1), " PT1M"),
    # canonical text
    Row(uuid.UUID, text("uuid"), NAME, uuid.UUID(NAME), f" {NAME} "),
    Row(pathlib.Path, text("path"), "/a", pathlib.Path("/a"), ["/a"]),
    Row(pathlib.PureWindowsPath, text("path"), "c:/a", pathlib.PureWindowsPath("c:/a")),
    Row(bytes, {"type": "string", "contentEncoding": "base64"}, "aGk=", b"hi", " aGk= "),
    Row(bytearray, {"type": "string", "contentEncoding": "base64"}, "aGk=", bytearray(b"hi"), " aGk= "),
    Row(ipaddress.IPv4Address, text("ipv4"), "1.2.3.4", ipaddress.IPv4Address("1.2.3.4"), " 1.2.3.4"),
    Row(ipaddress.IPv6Address, text("ipv6"), "::1", ipaddress.IPv6Address("::1"), " ::1"),
    Row(re.Pattern, text("regex"), "a+", re.compile("a+")),
    Row(re.Pattern[str], text("regex"), "a+", re.compile("a+")),
    Row(typing.Pattern[str], text("regex"), "a+", re.compile("a+")),
    Row(
        pydantic.HttpUrl,
        {**text("uri"), "minLength": 1, "maxLength": 2083},
        "http://a.b/",
        pydantic.HttpUrl("http://a.b/"),
        " http://a.b/ ",
    ),
    Row(pydantic.SecretStr, text("password"), "s", pydantic.SecretStr("s"), ["s"]),
    Row(pydantic.Json, STR, '{"a": 1}', {"a": 1}),
    # metadata
    Row(Annotated[int, at.Ge(1), at.Le(9), "one to nine"], {**INT, "description": "one to nine", "minimum": 1, "maximum": 9}, 1, 1, "1"),
    Row(Annotated[int, at.Interval(gt=0, lt=9)], {**INT, "exclusiveMinimum": 0, "exclusiveMaximum": 9}, 1, 1, "1"),
    Row(
        Annotated[float, at.Gt(0), at.Lt(1), at.MultipleOf(0.25)],
        {**NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.25},
        0.5,
        0.5,
        "0.5",
    ),
    Row(Annotated[str, at.MinLen(1), at.MaxLen(3)], {**STR, "minLength": 1, "maxLength": 3}, "a", "a", ["a"]),
    Row(Annotated[list[int], at.Len(1, 2)], {**INTS, "minItems": 1, "maxItems": 2}, [1], [1], "1"),
    Row(Annotated[dict[str, int], at.MinLen(1)], {**MAP, "minProperties": 1}, {"a": 1}, {"a": 1}, {"a": "1"}),
    Row(Annotated[int | None, at.Ge(1)], {"anyOf": [{**INT, "minimum": 1}, {"type": "null"}]}, 1, 1, "1"),
    Row(Annotated[int, at.Predicate(lambda value: value > 0)], INT, 1, 1, "1"),
    Row(Annotated[int, te.Doc("documented")], {**INT, "description": "documented"}, 1, 1, "1"),
    Row(Annotated[dt.datetime, at.Timezone(...)], text("date-time"), "2026-07-02T10:00Z", dt.datetime(2026, 7, 2, 10, tzinfo=dt.UTC)),
    Row(Annotated[dt.datetime, at.Timezone(None)], text("date-time"), "2026-07-02T00:00", dt.datetime(2026, 7, 2), "2026-07-02"),  # noqa: DTZ001
    Row(Annotated[dt.datetime, at.Timezone("UTC")], text("date-time"), "2026-07-02T10:00Z", dt.datetime(2026, 7, 2, 10, tzinfo=dt.UTC)),
    Row(Annotated[dt.date, at.Ge(dt.date(2026, 1, 1))], text("date"), "2026-07-02", dt.date(2026, 7, 2), "2026-07-02T00:00"),
    Row(Money, None, "1", Decimal(1), " 1 "),
    Row(pydantic.constr(min_length=2, pattern="^a"), {**STR, "minLength": 2, "pattern": "^a"}, "ab", "ab", ["ab"]),
    Row(pydantic.conint(ge=0, lt=5), {**INT, "minimum": 0, "exclusiveMaximum": 5}, 3, 3, "3"),
    Row(pydantic.PositiveInt, {**INT, "exclusiveMinimum": 0}, 3, 3, "3"),
    Row(Annotated[str, pydantic.Field(pattern="^a", deprecated=True)], {**STR, "pattern": "^a", "deprecated": True}, "a", "a", ["a"]),
    Row(Annotated[int, pydantic.AfterValidator(lambda value: value + 1)], INT, 1, 2, "1"),
    Row(Annotated[float, pydantic.Field(allow_inf_nan=True)], NUMBER, float("inf"), float("inf"), "Infinity"),
    Row(Annotated[Decimal, Param(allow_non_finite=True)], None, "Infinity", Decimal("Infinity"), float("inf")),
    Row(Annotated[bool, at.Len(1)], {"type": "boolean"}, True, True, "true"),
    Row(Annotated[float, Param(allow_non_finite=True)], NUMBER, float("inf"), float("inf"), "Infinity"),
    Row(Annotated[int, Param("a number", examples=[1, 2])], {**INT, "description": "a number", "examples": [1, 2]}, 1, 1, "1"),
    # aliases and variables
    Row(Names, {"type": "array", "items": STR}, ["a"], ["a"], "a"),
    Row(Table[int], MAP, {"a": 1}, {"a": 1}, {"a": "1"}),
    Row(Tree, None, {"a": {"b": 1}}, {"a": {"b": 1}}, {"a": '{"b": "1"}'}),
    Row(Small, INT, 1, 1, "1"),
    Row(Either, {"anyOf": [INT, STR]}, "1", "1"),
    Row(typing.Final[int], INT, 1, 1, "1"),
]


def coerce(document: Document, value: Any, policy: Policy) -> Any:
    """The coerced value, which must not be refused."""
    out = Outcome()
    made = build_coercer(document, policy)(value, None, out)
    assert out.failures == []
    return made


def label(row: Row) -> str:
    """A name for a row in test output."""
    return str(getattr(row.annotation, "__name__", row.annotation))[:60]


every_row = pytest.mark.parametrize("row", ROWS, ids=label)


@every_row
def test_the_schema(row: Row) -> None:
    """The schema says what the annotation says, is valid itself, and takes the good value."""
    schema = write_schema(read_annotation(row.annotation))
    jsonschema.Draft202012Validator.check_schema(schema)
    if row.schema is not None:
        assert schema == row.schema
    if row.good != "Infinity":  # JSON has no such number
        jsonschema.Draft202012Validator(schema).validate(row.good)


@every_row
def test_the_schema_reads_back(row: Row) -> None:
    """Read again, the schema gives the same nodes."""
    document = read_annotation(row.annotation)
    assert read_schema(write_schema(document)) == document


@every_row
def test_a_good_value_is_taken_strictly(row: Row) -> None:
    """STRICT takes a good JSON value, and makes the right Python value of it."""
    made = coerce(read_annotation(row.annotation), row.good, STRICT)
    if row.made is None and row.good is not None:
        made, expected = tuple(made), tuple(row.good.values())
    else:
        expected = row.made
    assert type(made) is type(expected)
    assert made == expected


@pytest.mark.parametrize("row", [row for row in ROWS if row.messy is not MISSING], ids=label)
def test_a_messy_value_is_mended(row: Row) -> None:
    """LENIENT makes the same of a value that a model got nearly right."""
    made = coerce(read_annotation(row.annotation), row.messy, LENIENT)
    assert type(made) is type(row.made)
    assert made == row.made


def test_an_iterator_is_made_of_an_array() -> None:
    """An annotation that asks for an iterator gets one."""
    made = coerce(read_annotation(collections.abc.Iterator[int]), ["1", 2], LENIENT)
    assert isinstance(made, collections.abc.Iterator)
    assert list(made) == [1, 2]


def test_what_recurs_stands_under_defs() -> None:
    """A class that refers to itself, and two that refer to each other, are definitions with references."""
    assert write_schema(read_annotation(Node)) == {
        "$ref": "#/$defs/Node",
        "$defs": {"Node": fields(["value"], value=INT, next={"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "default": None})},
    }
    assert set(write_schema(read_annotation(Man))["$defs"]) == {"Man", "Woman"}


def test_two_classes_of_the_same_name_are_two_definitions() -> None:
    """Definitions are told apart by class, whatever the classes are called."""

    def make(kind: type) -> type:
        @dataclass
        class Item:
            value: kind  # type: ignore[valid-type]

        return Item

    one, two = make(int), make(str)
    schema = write_schema(read_annotation(tuple[one, two, one, two]))  # type: ignore[valid-type]
    assert list(schema["$defs"]) == ["Item", "Item_2"]


# pydantic says the same of plain annotations

PLAIN = [
    *(bool, int, float, str, type(None), Any, list[int], list, dict[str, int], tuple[int, ...], set[int], frozenset[str]),
    *(Literal["a", "b"], Literal[1], Literal[1, "a"], Level, Order, Optional[int], Union[int, str], int | None),
    *(dt.date, dt.datetime, dt.time, dt.timedelta, uuid.UUID, pathlib.Path, list[dict[str, list[int | None]]]),
    *(
        Annotated[int, at.Ge(1), at.Lt(5)],
        Annotated[str, at.Len(1, 3)],
        Annotated[list[int], at.MinLen(1)],
        Annotated[float, at.MultipleOf(0.5)],
    ),
    *(Plain, Node, Box[int], Numbers, Checked, Holder[int]),
    *(ipaddress.IPv4Address, ipaddress.IPv6Network, UserId, Names, pydantic.PositiveInt, pydantic.HttpUrl, pydantic.SecretStr),
]
SPOKEN = {"title", "description", "writeOnly"}


def meaning(schema: Any) -> Any:
    """The schema without words, and in one of the spellings that say the same."""
    if isinstance(schema, list):
        return [meaning(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for key, item in schema.items():
        if key in ("properties", "$defs"):
            found[key] = {name: meaning(inner) for name, inner in item.items()}
        elif key == "const":
            found["enum"] = [item]
        elif key == "enum":
            found["enum"] = item
        elif key not in SPOKEN and not (key == "additionalProperties" and item in (False, True)) and not (key == "items" and item == {}):
            found[key] = meaning(item)
    if found.get("properties") == {}:
        del found["properties"]
    return found


@pytest.mark.parametrize("annotation", PLAIN, ids=str)
def test_the_schema_says_the_same_as_that_of_pydantic(annotation: Any) -> None:
    """For plain annotations the schema means what pydantic's does."""
    ours, theirs = write_schema(read_annotation(annotation)), pydantic.TypeAdapter(annotation).json_schema()
    assert meaning(ours) == meaning(theirs)


# what cannot be read

UNREADABLE = [
    (complex, "complex cannot be made from JSON: use a dataclass, TypedDict, Enum or plain type"),
    (object().__class__.__subclasses__, "cannot be made from JSON"),
    (typing.Callable[[int], int], "or write Injected[Callable["),
    (typing.Callable[[int], int], "register a converter for it"),
    (te.Never, "Never cannot be made from JSON"),
    ([int], "cannot be made from JSON"),
    (list["Undefined"], "the name 'Undefined' in its annotation cannot be resolved: define it at module level, above the tool"),  # type: ignore[name-defined] # noqa: F821
    (te.TypeAliasType("Lost", list["Undefined"]), "the name 'Undefined' in its annotation cannot be resolved"),  # type: ignore[name-defined] # noqa: F821
    (Literal[b"x"], "Literal[b'x'] cannot be said in JSON: use text, numbers, booleans or None"),
    (enum.Enum("Empty", []), "the enum Empty has no members"),
    (dict[tuple[int, int], int], "keys of JSON objects are text, and tuple[int, int] cannot be made of text: use str keys"),
    (dict[Plain, int], "keys of JSON objects are text, and Plain cannot be made of text: use str keys"),
    (tuple[int, te.Unpack[tuple[str, ...]]], "write tuple[T, ...] or name each item"),  # noqa: UP044 - the old spelling
    (list[Annotated[int, "x"] | complex], "complex cannot be made from JSON"),
]


@pytest.mark.parametrize(("annotation", "words"), UNREADABLE)
def test_an_unreadable_annotation_comes_with_advice(annotation: Any, words: str) -> None:
    """What cannot be made from JSON is a RegistrationError that says what to write instead."""
    with pytest.raises(RegistrationError) as caught:
        read_annotation(annotation)
    assert words in str(caught.value)


@pytest.mark.parametrize("kind", [pytest.param(lambda: dataclass(type("D", (), {"__annotations__": {"a": complex}})), id="dataclass")])
def test_a_field_that_cannot_be_read_is_named(kind: Any) -> None:
    """The problem of a field names the field and its class."""
    with pytest.raises(RegistrationError, match="field 'a' of D: complex cannot be made from JSON"):
        read_annotation(kind())


class Point:
    """A class that toolbox does not know."""

    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y


def point(source: str) -> Point:
    """Two numbers with a colon."""
    x, y = source.split(":")
    return Point(int(x), int(y))


def test_a_converter_makes_an_unknown_class() -> None:
    """A registered converter is shown by its source, coerces that first, and its ValueError is a refusal with its text."""
    document = read_annotation(list[Point], {Point: Converter(Annotated[str, "x:y"], point)})
    assert write_schema(document) == {"type": "array", "items": {"type": "string", "description": "x:y"}}
    assert coerce(document, ["1:2"], STRICT)[0].y == 2
    ready = Point(1, 2)
    assert coerce(document, [ready], STRICT) == [ready]
    out = Outcome()
    assert build_coercer(document, LENIENT)(["1"], None, out) is INVALID
    assert out.failures[0].detail == "not enough values to unpack (expected 2, got 1)"


def test_a_converter_may_stand_for_a_known_class() -> None:
    """A converter for a class that is known comes first."""
    document = read_annotation(dt.date, {dt.date: Converter(int, dt.date.fromordinal)})
    assert coerce(document, 1, STRICT) == dt.date(1, 1, 1)


def test_open_enum_inside_optional() -> None:
    """`OpenEnum` opens the enum of a nullable parameter too."""
    document = read_annotation(Annotated[Literal["a"] | None, OpenEnum])
    assert coerce(document, "zzz", STRICT) == "zzz"
    assert coerce(document, None, STRICT) is None


def test_discriminator_of_a_field() -> None:
    """A declared discriminator is written, and tells the members apart."""

    class Cat(pydantic.BaseModel):
        kind: Literal["cat"]
        name: str

    class Dog(pydantic.BaseModel):
        kind: Literal["dog"]
        name: str

    document = read_annotation(Annotated[Cat | Dog, pydantic.Field(discriminator="kind")])
    assert write_schema(document)["discriminator"] == {"propertyName": "kind"}
    assert coerce(document, {"kind": "dog", "name": "Rex"}, STRICT) == Dog(kind="dog", name="Rex")


# what metadata says of a place that is not a parameter


class Hidden(TypedDict):
    key: Annotated[str, Param(secret=True)]


SECRET_ALIAS = te.TypeAliasType("SECRET_ALIAS", Annotated[str, Param(secret=True)])


def _take(kind: Any) -> Any:
    def tool(a, b): ...  # type: ignore[no-untyped-def]

    tool.__annotations__ = {"a": kind, "b": int}
    return tool


@pytest.mark.parametrize(
    "kind",
    [
        Annotated[str, Param(secret=True)],
        Annotated[str, Param(secret=True)] | None,
        list[Annotated[str, Param(secret=True)]],
        dict[str, Annotated[str, Param(secret=True)]],
        tuple[int, Annotated[str, Param(secret=True)]],
        SECRET_ALIAS,
        SECRET_ALIAS | None,
        list[SECRET_ALIAS],
        Hidden,
        Hidden | None,
        list[Hidden],
        dict[str, dict[str, Hidden]],
    ],
    ids=str,
)
def test_a_secret_inside_hides_the_whole(kind: Any) -> None:
    """A parameter that holds something secret at any depth is masked whole, and no other is."""
    assert read_callable(_take(kind)).secret == {"a"}
    both = _take(kind)
    both.__annotations__ = {"a": kind, "b": kind}
    assert read_callable(both).secret == {"a", "b"}


@pytest.mark.parametrize("kind", [list[Annotated[int, Param(alias="n")]], Annotated[int, Param(policy=STRICT)] | None], ids=str)
def test_what_is_for_the_parameter_is_not_lost_inside(kind: Any) -> None:
    """An alias or a policy in a place where nothing would look for it is a problem, and not silently without effect."""
    with pytest.raises(RegistrationError, match="an alias or a policy is for the whole parameter or field: write it around the whole"):
        read_annotation(kind)


@pytest.mark.parametrize("kind", [list[Injected[int]], Annotated[Injected[int], "x"], dict[str, Injected[int]], Injected[int]], ids=str)
def test_injected_is_for_parameters(kind: Any) -> None:
    """Injected has no meaning for items or on its own."""
    with pytest.raises(RegistrationError, match="for parameters of a tool, not for fields or items"):
        read_annotation(kind)


def test_injected_field() -> None:
    """A field cannot be injected, and the problem names it."""
    bad: Any = dataclass(type("Bad", (), {"__annotations__": {"db": Injected[int]}}))
    with pytest.raises(RegistrationError, match="field 'db' of Bad: Injected"):
        read_annotation(bad)


def test_only_the_name_that_is_missing_is_named() -> None:
    """Of a class whose annotations are text, the one that cannot be resolved is named, whatever stands before it."""
    bad: Any = dataclass(type("Bad", (), {"__annotations__": {"a": "int", "b": "Missing", "c": "str"}, "__module__": __name__}))
    with pytest.raises(RegistrationError, match="field 'b' of Bad: the name 'Missing' in its annotation cannot be resolved"):
        read_annotation(bad)


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (Annotated[Names, at.MinLen(1)], {"type": "array", "items": STR, "minItems": 1}),
        (Annotated[Names | None, at.MinLen(1)], {"anyOf": [{"type": "array", "items": STR, "minItems": 1}, {"type": "null"}]}),
        (Annotated[Table[int], at.MaxLen(2)], {**MAP, "maxProperties": 2}),
        (Annotated[Numbers, at.MaxLen(2)], {**INTS, "maxItems": 2}),
        (Annotated[UserId, at.Ge(1)], {**INT, "minimum": 1}),
        (Annotated[Colour, OpenEnum], {"anyOf": [{"type": "string", "enum": ["red", "blue"]}, STR]}),
        (Annotated[Order | None, OpenEnum], {"anyOf": [{"anyOf": [{"type": "string", "enum": ["asc", "desc"]}, STR]}, {"type": "null"}]}),
    ],
    ids=str,
)
def test_metadata_reaches_what_a_name_stands_for(annotation: Any, schema: dict[str, Any]) -> None:
    """Limits and marks around an alias or an enum hold as if what it stands for were written out."""
    assert write_schema(read_annotation(annotation)) == schema


def test_words_around_a_class_stand_beside_its_reference() -> None:
    """What is said about one use of a class that recurs stands beside the reference, and what is checked there is checked."""
    document = read_annotation(Annotated[Node, "the first", pydantic.Field(title="First", examples=[{}], deprecated=True)])
    schema = write_schema(document)
    assert {key: schema[key] for key in ("$ref", "title", "description", "examples", "deprecated")} == {
        "$ref": "#/$defs/Node",
        "title": "First",
        "description": "the first",
        "examples": [{}],
        "deprecated": True,
    }
    single = write_schema(read_annotation(Annotated[Plain, "the one", pydantic.Field(title="One", examples=[{}], deprecated=True)]))
    assert (single["title"], single["description"], single["examples"], single["deprecated"]) == ("One", "the one", [{}], True)


@pytest.mark.parametrize(("kind", "key"), [(Plain, "x"), (Node, "value")], ids=["in place", "by reference"])
def test_checks_around_a_class(kind: Any, key: str) -> None:
    """A predicate around a class sees the instance, made or ready, also where the class is a definition."""

    def positive(value: Any) -> bool:
        return int(getattr(value, key)) > 0

    document = read_annotation(Annotated[kind, at.Predicate(positive)])
    assert coerce(document, {key: 1}, LENIENT) == kind(1)
    assert coerce(document, kind(1), LENIENT) == kind(1)
    out = Outcome()
    assert build_coercer(document, LENIENT)({key: -1}, None, out) is INVALID
    assert out.failures[0].detail == "not a value for which positive holds"


def test_several_checks_hold_together() -> None:
    """Of several checks each is made, for text and for a value that needs no making."""
    year = Annotated[dt.date, at.Ge(dt.date(2026, 1, 1)), at.Lt(dt.date(2027, 1, 1))]
    document = read_annotation(year)
    assert coerce(document, dt.date(2026, 7, 2), STRICT) == dt.date(2026, 7, 2)
    for value in (dt.date(2025, 1, 1), "2025-01-01", dt.date(2027, 1, 1), "2027-01-01"):
        assert build_coercer(document, LENIENT)(value, None, Outcome()) is INVALID


def test_pydantic_schema_with_references() -> None:
    """A class that only pydantic knows, with a schema that refers to others, is a problem with an advice."""

    class Odd:
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            return handler(Struct2 | list[Struct2])

    with pytest.raises(RegistrationError, match="has a schema with references: use a model instead"):
        read_annotation(Odd)


class Struct2(pydantic.BaseModel):
    x: int
