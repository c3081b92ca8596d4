"""Annotations as text: ``from __future__ import annotations``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, NamedTuple, TypedDict

import annotated_types as at
import attrs
import msgspec
import pydantic
import pytest

from toolbox.annotations import Injected, read_callable
from toolbox.coercion import build_coercer
from toolbox.diagnostics import Outcome
from toolbox.policy import LENIENT
from toolbox.schema import write_schema


@dataclass
class Data:
    n: Annotated[int, at.Ge(0)]
    child: Data | None = None
    items: list[Data] = field(default_factory=list)


class Keys(TypedDict):
    n: int


class Tuple(NamedTuple):
    n: int


@attrs.define
class Attrs:
    n: int


class Model(pydantic.BaseModel):
    n: int


class Struct(msgspec.Struct):
    n: int


class Service:
    """An application's."""


async def tool(
    data: Data, keys: Keys, pair: Tuple, one: Attrs, model: Model, struct: Struct, service: Injected[Service], *, n: int | None = None
) -> None:
    """Take one of each."""


def test_postponed_annotations_are_resolved() -> None:
    """Annotations that are text are read like others, in functions and in classes of every library."""
    found = read_callable(tool)
    sent = {name: {"n": "1"} for name in ("data", "keys", "pair", "one", "model", "struct")}
    out = Outcome()
    made = build_coercer(found.document, LENIENT)(sent, None, out)
    assert out.failures == []
    assert made == {
        "data": Data(1),
        "keys": {"n": 1},
        "pair": Tuple(1),
        "one": Attrs(1),
        "model": Model(n=1),
        "struct": Struct(1),
        "n": None,
    }
    assert [item.wanted for item in found.injections] == [Service]


@pytest.mark.parametrize("name", ["Data"])
def test_recursive_class_is_a_definition(name: str) -> None:
    """A class that refers to itself by text is a definition."""
    assert list(write_schema(read_callable(tool).document)["$defs"]) == [name]
