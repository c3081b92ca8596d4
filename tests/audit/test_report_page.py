"""The page: nothing of a model is markup, nothing is loaded, and everybody can read it. The JSON and the page say the same numbers."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox.audit.report import Advice, Bucket, Drift, DriftReport, Example, Group, ParameterDrift, Tally, drift_page
from toolbox.audit.report.drift import WHOLE, count_text, percent_text

GOLDEN = Path(__file__).parent / "golden"
VOID = {"meta", "link", "br", "wbr"}
HOSTILE = [
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "'\"><svg/onload=alert(1)>",
    "&lt;b&gt;",
    "\u202egnp.exe\u202c",
    "a\x00b\x1b[31m\x07",
    "z" + "\u0301" * 60,
    "\u3164\u200b\ufeff",
    "\ud800",
    "x" * 5_000,
    "javascript:alert(1)",
    "https://example.com/x.png",
    "`${1}` {{1}}",
]


class Node:
    """One element of the page."""

    def __init__(self, tag: str, attributes: dict[str, str], parent: Node | None) -> None:
        self.tag = tag
        self.attributes = attributes
        self.parent = parent
        self.children: list[Node | str] = []

    def all(self, *tags: str) -> list[Node]:
        """Every element below it of these tags, in order."""
        found: list[Node] = []
        for child in self.children:
            if isinstance(child, Node):
                found += [child] if not tags or child.tag in tags else []
                found += child.all(*tags)
        return found

    @property
    def text(self) -> str:
        """All text below it."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)


class Reader(HTMLParser):
    """Reads a page into elements, and fails where one is not closed as it was opened."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.here = Node("", {}, None)
        self.feed(page)
        self.close()
        assert self.here is self.root, f"<{self.here.tag}> is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Go into an element."""
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"<{tag}> has an attribute twice"
        node = Node(tag, {name: value or "" for name, value in attrs}, self.here)
        self.here.children.append(node)
        if tag not in VOID:
            self.here = node

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element that closes itself."""
        self.here.children.append(Node(tag, {name: value or "" for name, value in attrs}, self.here))

    def handle_endtag(self, tag: str) -> None:
        """Go out of an element."""
        assert self.here.tag == tag, f"</{tag}> closes <{self.here.tag}>"
        assert self.here.parent is not None
        self.here = self.here.parent

    def handle_data(self, data: str) -> None:
        """Take text."""
        self.here.children.append(data)


def _report(name: str = "search", parameter: str = "limit", came: str = '"5"', model: str = "small", calls: int = 40) -> DriftReport:
    """A report made by hand, with a text of a model at each place where one can stand."""
    tally = Tally(calls - 12, 8, 3, 1, {"done": calls - 5, "refused": 3, "unknown_tool": 1, "failed": 1}, 2)
    drift = Drift(
        name,
        parameter,
        "coerced",
        "str->int",
        "info",
        False,
        8,
        calls - 1,
        {model: 6, "large": 2},
        (Example(came, "5", 7, path="$.limit"), Example('"7"', "7")),
        8,
        Advice("description", f"Say that {parameter} is a number.", f"{parameter}: Annotated[..., Param(examples=[{came}])]"),
    )
    refusal = Drift(
        name, WHOLE, "invalid", "", "", True, 3, calls - 1, {model: 3}, (Example(came, "", 3, came),), 3, Advice("prompt", "Say it.")
    )
    return DriftReport(
        f"{name}.db",
        1_782_800_000.0,
        1_782_000_000.0,
        None,
        None,
        model,
        1_782_000_060.0,
        1_782_172_000.0,
        tally,
        (Group(name, tally, f"{parameter}: coerced str->int", 8, {model: 30, "large": calls - 31}),),
        (Group(model, tally, f"{name}, {parameter}: coerced str->int", 6), Group("large", Tally(2, 1, 0, 0, {"done": 3}))),
        (
            ParameterDrift(name, parameter, True, calls - 1, 8, 0, 8, {model: 6, "large": 2}),
            ParameterDrift(name, WHOLE, False, calls - 1, 0, 3, 3, {model: 3}),
        ),
        (drift,),
        (refusal,),
        (
            Bucket(1_781_913_600.0, 1_782_000_000.0, Tally(10, 4, 1, 0, {"done": 15})),
            Bucket(1_782_000_000.0, 1_782_086_400.0, Tally()),
            Bucket(1_782_086_400.0, 1_782_172_800.0, Tally(calls - 22, 4, 2, 1, {"done": calls - 15})),
        ),
        ((name, 1),),
        {"parameters": 2},
    )


@pytest.fixture(scope="module")
def page() -> Node:
    """The page of the report made by hand."""
    return Reader(drift_page(_report())).root


def test_golden() -> None:
    """The body of the page, and the JSON, are as they were looked at."""
    body = drift_page(_report()).partition("</head>\n")[2].replace("<section", "\n<section").replace("<tr", "\n<tr").replace("<li", "\n<li")
    assert body == (GOLDEN / "report.html").read_text("utf-8")
    assert _report().to_dict() == json.loads((GOLDEN / "report.json").read_text("utf-8"))


def test_nothing_is_loaded(page: Node) -> None:
    """No element can load or run anything, links stay on the page, and the rules of the page forbid the rest."""
    assert not page.all("script", "img", "iframe", "object", "embed", "audio", "video", "base", "form", "input", "button", "use", "image")
    for node in page.all():
        assert not [name for name in node.attributes if name.startswith("on") or name in ("style", "src", "srcset", "xlink:href")]
        target = node.attributes.get("href", "#")
        assert target.startswith("#") or (node.tag == "link" and target == "data:,")
    style = page.all("style")[0].text
    assert not re.search(r"url\(|@import|@font-face|expression", style)
    rules = next(node.attributes["content"] for node in page.all("meta") if node.attributes.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert rules == f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def test_structure(page: Node) -> None:
    """Language, one h1, headings without a gap, ids that are there once, and references that lead to them."""
    assert page.all("html")[0].attributes["lang"] == "en"
    levels = [int(node.tag[1]) for node in page.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    ids = [node.attributes["id"] for node in page.all() if "id" in node.attributes]
    assert len(set(ids)) == len(ids)
    wanted = {target for node in page.all() for target in node.attributes.get("aria-labelledby", "").split()}
    wanted |= {node.attributes["href"][1:] for node in page.all("a")}
    assert wanted <= set(ids)
    assert {"totals", "advice", "heat", "time", "models", "tools", "refusals", "changes", "names"} <= set(ids)


def test_tables(page: Node) -> None:
    """Every table has a caption, heads with a scope and rows of the same length, and stands in a region that the keyboard reaches."""
    tables = page.all("table")
    assert len(tables) == 8
    for table in tables:
        assert table.all("caption")[0].text
        heads = table.all("thead")[0].all("th")
        assert all(head.attributes["scope"] == "col" and head.text for head in heads)
        for body in table.all("tbody"):
            for row in body.all("tr"):
                cells = row.all("th", "td")
                assert sum(int(cell.attributes.get("colspan", 1)) for cell in cells) == len(heads)
                assert cells[0].tag == "th"
                assert cells[0].attributes["scope"] in ("row", "rowgroup")
        region = table.parent
        assert region is not None
        assert (region.attributes["role"], region.attributes["tabindex"]) == ("region", "0")
        assert region.attributes["aria-labelledby"]


def test_pictures(page: Node) -> None:
    """Every picture says what it shows, or is kept from those who cannot see it, because the numbers beside it say it."""
    for picture in page.all("svg"):
        if picture.attributes.get("aria-hidden") == "true":
            continue
        assert picture.attributes["role"] == "img"
        described = [node.tag for node in picture.all("title", "desc") if node.text]
        assert picture.attributes.get("aria-label") or described == ["title", "desc"]


def test_colour_is_never_alone(page: Node) -> None:
    """A cell that is coloured by its share holds the share as a number."""
    cells = [node for node in page.all("td") if re.search(r"heat[0-6]", node.attributes.get("class", ""))]
    assert len(cells) == 6
    assert all(re.fullmatch(r"[<>]?\s?[\d.]+ %", cell.text) for cell in cells)


def test_the_same_numbers_everywhere(page: Node) -> None:
    """What the JSON says is what the page says: totals, heat, time, models and drifts."""
    report = _report()
    said: dict[str, Any] = json.loads(json.dumps(report.to_dict()))
    total = said["total"]
    tiles = [node.text for node in page.all("dl")[1].all("dd")]
    assert tiles[0] == count_text(total["calls"])
    for attribute in ("as_is", "mended", "refused", "unknown_tool"):
        assert percent_text(total[attribute], total["calls"]) in tiles
    rows = {node.all("th")[0].text: [cell.text for cell in node.all("td")] for node in page.all("tr") if node.all("td")}
    for item in said["parameters"]:
        tag = "" if item["is_declared"] else " not declared"
        cells = rows[item["parameter"] + tag]
        assert cells[0] == percent_text(item["drifted"], item["calls"])
        assert cells[-2:] == [count_text(item["changed"]), count_text(item["refused"])]
    for item in said["buckets"]:
        cells = rows[item["start"][:16].replace("T", " ")]
        assert cells[0] == count_text(item["calls"])
        assert cells[1:5] == [
            text for name in ("mended", "refused") for text in (count_text(item[name]), percent_text(item[name], item["calls"]))
        ]
    for item in said["models"]:
        assert rows[item["name"]][1:4] == [percent_text(item[name], item["calls"]) for name in ("as_is", "mended", "refused")]
    cards = [node.text for node in page.all("li") if node.attributes.get("class") == "card"]
    for card, item in zip(cards, sorted((*said["changes"], *said["refusals"]), key=lambda item: -item["calls"]), strict=True):
        assert f"{percent_text(item['calls'], item['of_calls'])} of {count_text(item['of_calls'])} calls" in card
        assert item["advice"]["text"] in card


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("place", ["name", "parameter", "came", "model"])
def test_hostile_text_is_text(text: str, place: str) -> None:
    """Whatever a model writes adds no element to the page, hides nothing, turns nothing round, and is bounded."""
    arguments: dict[str, Any] = {place: text}
    plain, hostile = drift_page(_report()), drift_page(_report(**arguments))
    kept = {"span", "wbr"}  # escapes, and where a name may be broken
    tags = [[node.tag for node in Reader(made).root.all() if node.tag not in kept] for made in (plain, hostile)]
    assert tags[0] == tags[1]
    assert all(character.isprintable() or character == "\n" for character in hostile)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u3164]|[\u0300-\u036f]{3}", hostile)
    hostile.encode("utf-8")
    assert len(hostile) < len(plain) + 40_000


@settings(max_examples=60)
@given(st.text(max_size=30))
def test_any_text_can_be_read_back(text: str) -> None:
    """What can be printed stands on the page as it came, in quotes where it is blank; every other character as its escape."""
    page = Reader(drift_page(_report(came=text))).root
    cell = next(node for node in page.all("li") if node.attributes.get("class") == "card").all("li")[0].all("bdi")[0].text if text else ""
    plain = "".join(item if item.isprintable() else item.encode("unicode_escape").decode("ascii") for item in text)
    if not re.search("[\u0300-\u036f\u115f\u1160\u2800\u3164\uffa0]", text) and not any(map(_is_mark, text)):
        assert cell == (plain if not text or text.strip(" ") else f'"{plain}"')


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def test_empty_report() -> None:
    """A report without a call says so, and has no empty table."""
    page = Reader(drift_page(DriftReport("audit.db", 0.0, None, None, None, None, None, None, Tally()))).root
    assert "No call is on record in this range." in page.all("main")[0].text
    assert not page.all("table", "nav")


def test_nothing_drifts() -> None:
    """Where every argument fits, there is nothing to mend, and the page says so."""
    tally = Tally(as_is=5, statuses={"done": 5})
    report = DriftReport(
        "", 0.0, None, None, None, None, 0.0, 1.0, tally, (Group("t", tally),), (Group("m", tally),), buckets=(Bucket(0, 60, tally),)
    )
    text = Reader(drift_page(report)).root.all("main")[0].text
    assert "Nothing: every argument fitted as it came." in text
    assert "100 %" in text
