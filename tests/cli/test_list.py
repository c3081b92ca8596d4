"""``list`` and ``schema``: the tools for people and for providers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

PIPED = """\
search_flights(origin: string, destination: string, passengers: integer, nonstop: boolean = false, \
cabin: "economy" | "premium" | "business" | "first" = "economy", max_price: number | null = null)  Search for flights.
pay(amount: number, card: string [secret], note: string = "") [high risk]  Pay with a card.
shout(text: string)
halve(number: integer)  Half of an even number.
leave()  End the program.
wait(turns: integer)
"""


def test_a_line_each(run: Run) -> None:
    """Anywhere but on a terminal the tools are plain text, a line each."""
    ran = run("list", "--tools", "tools")
    assert (ran.code, ran.out, ran.err) == (0, PIPED, "")


def test_json(run: Run) -> None:
    """As JSON every tool has its parameters with type, need, default and description."""
    listed = json.loads(run("list", "--tools", "tools", "--json").out)
    assert [item["name"] for item in listed] == ["search_flights", "pay", "shout", "halve", "leave", "wait"]
    assert listed[0]["parameters"][0] == {
        "name": "origin",
        "type": "string",
        "required": True,
        "secret": False,
        "description": "IATA code of the departure airport.",
    }
    assert listed[0]["parameters"][3] == {"name": "nonstop", "type": "boolean", "required": False, "secret": False, "default": False}
    assert listed[1]["high_risk"] is True
    assert listed[1]["approval"] is None


def test_approval_is_marked(run: Run, folder: Path) -> None:
    """Whoever reads the list sees which calls wait for a person."""
    tools = """
from toolbox import Registry
registry = Registry()
registry.register(lambda: 1, name="one", approval="always")
registry.register(lambda: 2, name="two", approval=lambda report: True, high_risk=True)
"""
    (folder / "asking.py").write_text(tools)
    assert run("list", "--tools", "asking").out == "one() [needs approval]\ntwo() [high risk] [may need approval]\n"
    assert [item["approval"] for item in json.loads(run("list", "--tools", "asking", "--json").out)] == ["always", "sometimes"]


TYPES = [
    ("list[int]", "array of integer"),
    ("list", "array"),
    ("list[list[list[int]]]", "array of array of array"),
    ("int | str", "integer | string"),
    ("dict[str, int]", "object"),
    ("datetime.date", "date"),
    ("uuid.UUID", "uuid"),
    ("bytes", "base64"),
    ("Any", "any"),
    ("float", "number"),
    ("Literal[tuple(range(10))]", "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 2 more"),
    ('Literal["a", "b"] | str', '"a" | "b" | string'),
    ("Point", "object"),
    ("list[Point]", "array of object"),
    ("Tree", "Tree"),
    ("object = object()", "any = ..."),
]


@pytest.mark.parametrize(("annotation", "shown"), TYPES)
def test_types_in_a_few_words(run: Run, folder: Path, annotation: str, shown: str) -> None:
    """What a parameter takes is said in a few words, whatever its annotation."""
    (folder / "typed.py").write_text(
        "import dataclasses, datetime, uuid\nfrom typing import *\nfrom toolbox import Registry\nregistry = Registry()\n"
        "@dataclasses.dataclass\nclass Point:\n    x: int\n"
        "@dataclasses.dataclass\nclass Tree:\n    below: list['Tree']\n"
        f"@registry.tool\ndef f(x: {annotation}) -> None: ...\n"
    )
    assert run("list", "--tools", "typed.py").out == f"f(x: {shown})\n"


def test_secret_default_is_masked(run: Run, folder: Path) -> None:
    """The default of a secret parameter is not shown, in no form."""
    (folder / "hidden.py").write_text(
        "from toolbox import Registry\nregistry = Registry()\n@registry.tool(secret=('key',))\ndef f(key: str = 'HIDDEN') -> None: ...\n"
    )
    plain, as_json = run("list", "--tools", "hidden"), run("list", "--tools", "hidden", "--json")
    assert plain.out == "f(key: string = *** [secret])\n"
    assert "HIDDEN" not in plain.all + as_json.all


def test_no_tools(run: Run, folder: Path) -> None:
    """An empty registry is said to be empty."""
    (folder / "empty.py").write_text("from toolbox import Registry\nregistry = Registry()\n")
    ran = run("list", "--tools", "empty")
    assert (ran.code, ran.out, ran.err) == (0, "", "no tools are registered\n")


@pytest.mark.parametrize("provider", ["json", "openai"])
def test_schema_is_the_export(run: Run, folder: Path, provider: str) -> None:
    """The definitions are the ones that the registry exports, as JSON."""
    ran = run("schema", "--tools", "tools.py", "--provider", provider)
    assert ran.code == 0
    exported = json.loads(ran.out)
    inner = [item.get("function", item) for item in exported]
    assert [item["name"] for item in inner] == ["search_flights", "pay", "shout", "halve", "leave", "wait"]
    assert inner[0]["parameters"]["properties"]["passengers"] == {"type": "integer"}


def test_unknown_provider(run: Run) -> None:
    """A provider that is not known is a usage error that names the known ones."""
    ran = run("schema", "--tools", "tools", "--provider", "nobody")
    assert (ran.code, ran.out) == (2, "")
    assert "there is no provider 'nobody'" in ran.err


def test_strict_schema(run: Run) -> None:
    """--strict writes the definitions in the provider's strict form."""
    ran = run("schema", "--tools", "tools:registry", "--provider", "openai", "--strict")
    assert [item["function"]["strict"] for item in json.loads(ran.out)][:1] == [True]
