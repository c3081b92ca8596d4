"""The tools that every provider is tried with, and the checks against the types of the real SDKs."""

import dataclasses
import datetime
import decimal
import enum
import importlib.util
import ipaddress
import pathlib
import re
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import pytest
from annotated_types import Ge, Le, MaxLen, MinLen

from toolbox import Registry
from toolbox.payload import FoundCall
from toolbox.providers import ExportedTool, SentResult

LONG_NAME = "look_up_" + "a_very_long_name_" * 4 + "end"
assert len(LONG_NAME) == 79


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    """A point in the plane."""

    x: int
    y: float = 1.0


@dataclasses.dataclass
class Node:
    """A node of a tree."""

    label: str
    children: list["Node"] = dataclasses.field(default_factory=list)


class Address(TypedDict):
    street: str
    zip: NotRequired[str]


class Pair(NamedTuple):
    left: int
    right: str


def everything(
    title: str,
    type: Annotated[int, Ge(1), Le(9), "how many"],
    tree: Node,
    where: Point | Literal["center"],
    address: Address,
    pair: Pair,
    colour: Colour = Colour.RED,
    level: Level = Level.LOW,
    when: datetime.datetime | None = None,
    either: int | str | None = None,
    choice: Literal[1, 2, "auto"] = "auto",
    box: tuple[int, int, int, int] = (0, 0, 1, 1),
    mixed: tuple[int, str] = (1, "a"),
    points: Annotated[list[Point], MinLen(1), MaxLen(5)] = [],
    unique: set[str] | None = None,
    price: decimal.Decimal = decimal.Decimal("1.5"),
    key: uuid.UUID | None = None,
    host: ipaddress.IPv4Address | None = None,
    path: pathlib.Path = Path("/tmp"),
    blob: bytes = b"",
    span: datetime.timedelta | None = None,
) -> None:
    """Take everything.

    Args:
        tree: the tree.
        where: where to go.
        colour: the colour to use.
    """


def optional(
    a: int = 1,
    b: str = "x",
    c: bool = False,
    d: float = 0.5,
    e: int | None = None,
    f: str | None = None,
    g: list[int] = [],
    h: Literal["p", "q"] = "p",
    i: Point | None = None,
    j: datetime.date | None = None,
) -> None:
    """Only optional parameters."""


def maps(counts: dict[str, int], anything: Any = None, nested: dict[str, list[Point]] | None = None) -> None:
    """Maps with free keys."""


def ping() -> str:
    """Take nothing."""
    return "pong"


def weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> dict[str, Any]:
    """The weather in a city now."""
    return {"city": city, "degrees": 21 if city == "Oslo" else 17}


FOREIGN: dict[str, Any] = {
    "type": "object",
    "$defs": {"Box[int]": {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]}},
    "properties": {
        "$ref": {"type": "string", "title": "A key called $ref"},
        "odd key!": {"type": "string", "pattern": "^[a-z]+$", "examples": ["abc"]},
        "deep": {"type": "object", "properties": {"also odd.": {"type": ["string", "null"]}, "plain": {"type": "integer"}}},
        "box": {"$ref": "#/$defs/Box[int]", "description": "a box"},
        "one": {"oneOf": [{"type": "string", "format": "uri"}, {"type": "integer", "multipleOf": 5}]},
        "rules": {"type": "object", "patternProperties": {"^x-": {"type": "integer"}}},
        "untyped": {"minLength": 2},
        "constant": {"const": "fixed"},
        "number": {"enum": [1, 2, 3]},
        "flag": {"enum": [True]},
        "bare": {"type": "array"},
    },
    "required": ["$ref", "constant"],
}


def demanding() -> Registry:
    """The demanding set of tools."""
    registry = Registry()
    registry.register(everything)
    registry.register(optional, name="crm.optional")
    registry.register(maps)
    registry.register(ping, name=LONG_NAME)
    registry.register(weather)
    registry.register_schema("foreign", FOREIGN, lambda **arguments: arguments, description="A tool from elsewhere.")
    return registry


def exported(registry: Registry) -> list[ExportedTool]:
    """The tools of a registry as the providers see them."""
    return [ExportedTool(tool.name, tool.description, tool.schema, tool.document) for tool in registry]


def run_on(registry: Registry) -> Callable[[Any], list[SentResult]]:
    """What runs the calls of a turn on a registry."""

    def run(calls: list[FoundCall]) -> list[SentResult]:
        results = [registry.run(call.name, call.arguments, call_id=call.call_id) for call in calls]
        return [SentResult(r.tool, r.call_id, r.to_text(), not r.ok, r.value) for r in results]

    return run


@pytest.fixture
def tools() -> list[ExportedTool]:
    """The demanding set of tools, exported."""
    return exported(demanding())


@pytest.fixture(scope="session")
def fake() -> Iterator[Any]:
    """The stand-in for providers that the examples use."""
    spec = importlib.util.spec_from_file_location("agent_fake_server", Path(__file__).parents[2] / "examples" / "agent_fake_server.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    with module.fake_server() as server:
        yield server


def materialised(value: Any) -> Any:
    """A validated value with every lazy iterator walked, as plain data."""
    import pydantic

    if isinstance(value, dict):
        return {key: materialised(item) for key, item in value.items()}
    if isinstance(value, pydantic.BaseModel):
        return value.model_dump(by_alias=True, exclude_unset=True, mode="json")
    if isinstance(value, list | tuple) or hasattr(value, "__next__"):
        return [materialised(item) for item in value]
    return value


@pytest.fixture(scope="session")
def check() -> Callable[[Any, Any], None]:
    """Validates a payload against an SDK's type, and requires that nothing is lost: the SDKs ignore unknown keys."""
    import pydantic

    def validate(kind: Any, payload: Any) -> None:
        adapter: Any = pydantic.TypeAdapter(kind)  # kept alive while the iterators are walked
        assert materialised(adapter.validate_python(payload)) == payload

    return validate


@pytest.fixture(scope="session")
def bedrock_check() -> Callable[[str, Any], None]:
    """Validates a payload against the service model of Bedrock, patterns, lengths and enums included."""
    session = pytest.importorskip("botocore.session")
    validate_module = pytest.importorskip("botocore.validate")
    model = session.get_session().get_service_model("bedrock-runtime")

    def walk(shape: Any, value: Any, path: str) -> None:
        if shape.type_name == "structure" and not shape.is_document_type:
            for key, item in value.items():
                walk(shape.members[key], item, f"{path}.{key}")
        elif shape.type_name == "list":
            for index, item in enumerate(value):
                walk(shape.member, item, f"{path}[{index}]")
        elif shape.type_name == "string":
            data = shape.metadata
            assert len(value) <= data.get("max", 1 << 30), path
            assert re.fullmatch(data.get("pattern", r"[\s\S]*"), value), path
            assert value in data.get("enum", [value]), path

    def validate(shape: str, payload: Any) -> None:
        found = model.shape_for(shape)
        report = validate_module.ParamValidator().validate(payload, found)
        assert not report.has_errors(), report.generate_report()
        walk(found, payload, shape)

    return validate


@pytest.fixture(scope="session")
def running() -> Callable[[Registry], Callable[[Any], list[SentResult]]]:
    """What runs the calls of a turn on a registry."""
    return run_on


@pytest.fixture
def weather_registry() -> Registry:
    """One tool, under a name with a dot in it."""
    registry = Registry()
    registry.register(weather, name="geo.weather")
    return registry


@pytest.fixture
def weather_tools(weather_registry: Registry) -> list[ExportedTool]:
    """The same, exported."""
    return exported(weather_registry)
