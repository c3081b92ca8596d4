"""``replay`` of records: a store, lines of records, lines of the log; thresholds, ranges, policies that tighten and loosen."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import logging
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from toolbox import AuditRecord, AuditStore, CallStatus, MemorySink, Registry

FLIGHT = {"origin": "ZRH", "destination": "LIS", "passengers": 2}
CALLS: list[tuple[str, Any, dict[str, Any]]] = [
    ("search_flights", FLIGHT, {"model": "m-1"}),
    ("search_flights", {**FLIGHT, "passengers": "2"}, {"model": "m-1"}),
    ("search_flights", {**FLIGHT, "passengers": "two"}, {"model": "m-2"}),
    ("functions.searchFlights", FLIGHT, {}),
    ("search_flights", json.dumps(FLIGHT), {}),
    ("pay", {"amount": 3, "card": "HIDDEN"}, {"model": "m-2"}),
    ("pay", '{"amount": 3, "card": "HIDDEN"}', {}),
    ("halve", {"number": 3}, {}),
    ("nope", {"secret": "HIDDEN"}, {}),
    ("search_flights", {**FLIGHT, "origin": "x" * 20_000}, {"model": "m-3"}),
]
NEW = '''
from toolbox import LENIENT, Registry

registry = Registry(LENIENT)


@registry.tool
def search_flights(origin: str, destination: str, passengers: int, stops: int | None = None) -> None:
    """Later: the cabin and the price are gone, stops are new."""


@registry.tool
def pay(amount: float, card: str, note: str) -> None:
    """Later: the note is required, the card is not secret any more."""
'''


@pytest.fixture
def registry(folder: Path) -> Registry:
    """The tools of the folder."""
    spec = importlib.util.spec_from_file_location("tools_of_then", folder / "tools.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.registry
    assert isinstance(found, Registry)
    return found


@pytest.fixture
def fill(registry: Registry, folder: Path) -> Callable[[Any], None]:
    """Makes the calls with one more sink."""
    (folder / "new.py").write_text(NEW, encoding="utf-8")

    def made(sink: Any) -> None:
        registry.add_sink(sink)
        with contextlib.redirect_stdout(io.StringIO()):
            for name, arguments, metadata in CALLS:
                registry.run(name, arguments, metadata=metadata)
        registry.remove_sink(sink)

    return made


@pytest.fixture
def store(fill: Callable[[Any], None], folder: Path) -> Path:
    """A store with the records of the calls."""
    with AuditStore(folder / "audit.db") as made:
        fill(made)
    return folder / "audit.db"


def _plain(text: str) -> str:
    """The text with ids of records by their number."""
    ids = list(dict.fromkeys(re.findall(r"[0-9a-f]{32}-[0-9a-f]+", text)))
    for number, found in sorted(enumerate(ids), key=lambda item: -len(item[1])):
        text = text.replace(found, f"id{number}")
    return "\n".join(line.rstrip() for line in text.split("\n"))


GOLDEN = """\
10 records of audit.db, 8 compared, 1 of them without their masked arguments, 2 not compared (policy lenient)

tool            calls  refused then  refused now  changed  changed %
search_flights      5             1            1        0        0.0
halve               1             0            1        1      100.0
pay                 1             0            1        1      100.0
(no such tool)      1             1            1        0        0.0
all                 8             2            4        2       25.0

Then and now
tool            then          now           calls  records
search_flights  as they are   as they are       2
search_flights  mended        mended            2
search_flights  refused       refused           1
halve           as they are   no such tool      1  id0
pay             as they are   refused           1  id1
(no such tool)  no such tool  no such tool      1

Tools that do not exist any more
tool   calls
halve      1

Newly refused
reason   where       calls  records
missing  pay $.note      1  id1

Not compared
why                                           calls  records
what decides is masked                            1  id2
the record kept only a part of the arguments      1  id3
"""


def test_golden(run: Run, store: Path) -> None:
    """The whole report of a store, as it is piped."""
    ran = run("replay", "audit.db", "--tools", "new.py")
    assert (ran.code, ran.err) == (0, "")
    shown = _plain(ran.out)
    assert shown == GOLDEN


def test_the_same_tools_change_nothing(run: Run, store: Path) -> None:
    """Under the tools of then nothing has changed, whether the store is named by its path or its URL."""
    for place in ("audit.db", f"sqlite:///{store}"):
        said = json.loads(run("replay", place, "--tools", "tools", "--json").out)
        assert (said["records"], said["compared"], said["changed"], said["failed"]) == (10, 8, 0, None)
        assert said["not_compared"]["masked"]["count"] == said["not_compared"]["cut"]["count"] == 1


def test_lines_of_records_and_of_the_log(run: Run, fill: Callable[[Any], None], folder: Path) -> None:
    """Records that a sink wrote as lines, and lines of the log, are compared like those of a store; lines of calls stand beside them."""
    sink = MemorySink()
    handler, logger = logging.FileHandler(folder / "log.jsonl"), logging.getLogger("toolbox")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        fill(sink)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        handler.close()
    (folder / "records.jsonl").write_text("".join(json.dumps(item.to_dict()) + "\n" for item in sink.records))
    for place in ("log.jsonl", "records.jsonl"):
        ran = run("replay", place, "--tools", "new.py")
        assert ran.code == 0
        assert _plain(ran.out).split("\n", 1)[1] == _plain(GOLDEN).split("\n", 1)[1]
    (folder / "mixed.jsonl").write_text((folder / "records.jsonl").read_text() + '{"name": "search_flights", "arguments": {}}\nnot json\n')
    ran = run("replay", "mixed.jsonl", "--tools", "new.py", "--json")
    said = json.loads(ran.out)
    assert (said["calls"], said["refused"], said["unreadable"]["count"], said["records"]["compared"]) == (1, 1, 1, 8)
    assert said["refused_or_unreadable_percent"] == 60.0
    shown = run("replay", "mixed.jsonl", "--tools", "new.py").out
    assert "1 calls in 12 lines, 1 could not be read" in shown
    assert "10 records, 8 compared" in shown


THRESHOLDS: list[tuple[list[str], int, str]] = [
    ([], 0, ""),
    (["--fail-over", "50"], 0, ""),
    (["--fail-over", "49"], 1, "50.00 % were refused or could not be read, more than 49 %"),
    (["--fail-over-changed", "25"], 0, ""),
    (["--fail-over-changed", "24.9"], 1, "25.00 % would have another outcome or other arguments, more than 24.9 %"),
    (["--fail-over-changed", "101"], 2, "--fail-over-changed is a share in percent"),
    (["--fail-over-changed", "0", "--model", "m-3"], 1, "no record was compared"),
    (["--fail-over", "0", "--model", "m-3"], 1, "no call was found"),
    (["--fail-over-changed", "0", "--model", "m-1"], 0, ""),
]


@pytest.mark.parametrize(("options", "code", "words"), THRESHOLDS, ids=range(len(THRESHOLDS)))
def test_thresholds(run: Run, store: Path, options: list[str], code: int, words: str) -> None:
    """More refusals or changes than are allowed end with 1, and so does a range in which nothing could be compared."""
    ran = run("replay", "audit.db", "--tools", "new.py", *options)
    assert ran.code == code
    assert words in ran.err
    assert bool(ran.err) is bool(words)


RANGES: list[tuple[list[str], int]] = [
    ([], 10),
    (["--tool", "pay"], 2),
    (["--model", "m-2"], 2),
    (["--status", "refused"], 1),
    (["--status", "done, failed"], 8),
    (["--limit", "3"], 3),
    (["--since", "1h"], 10),
    (["--until", "1h"], 0),
    (["--since", "2020-01-01", "--until", "2020-01-02"], 0),
]


@pytest.mark.parametrize(("options", "count"), RANGES, ids=range(len(RANGES)))
def test_ranges(run: Run, store: Path, options: list[str], count: int) -> None:
    """Only the records that are asked for are read."""
    ran = run("replay", "audit.db", "--tools", "tools", "--json", *options)
    assert json.loads(ran.out)["records"] == count


def test_the_limit_takes_the_newest(run: Run, store: Path) -> None:
    """The newest records say most about what happens now."""
    said = json.loads(run("replay", "audit.db", "--tools", "tools", "--json", "--limit", "2").out)
    assert [item["tool"] for item in said["tools"]] == ["(no such tool)"]
    assert said["not_compared"]["cut"]["count"] == 1


def test_policies(run: Run, store: Path, folder: Path) -> None:
    """--policy tightens; with --loosen it is taken as it is, and high-risk tools still refuse what they refuse."""
    strict = json.loads(run("replay", "audit.db", "--tools", "tools", "--policy", "strict", "--json").out)
    assert [(item["tool"], item["then"], item["now"]) for item in strict["transitions"] if item["then"] != item["now"]] == [
        ("search_flights", "mended", "refused")
    ]
    written = (folder / "tools.py").read_text(encoding="utf-8")
    (folder / "stricter.py").write_text(
        written.replace("Registry()", 'Registry(Policy.from_name("strict"))').replace("Param,", "Param, Policy,")
    )
    tightened = run("replay", "audit.db", "--tools", "stricter", "--policy", "lenient", "--json")
    assert json.loads(tightened.out)["refused_percent"] == strict["refused_percent"]
    assert "a policy is only tightened" in tightened.err
    loosened = run("replay", "audit.db", "--tools", "stricter", "--policy", "lenient", "--loosen", "--json")
    assert (json.loads(loosened.out)["changed"], loosened.err) == (0, "")
    assert json.loads(loosened.out)["policy"] == "lenient"


WRONG: list[tuple[list[str], str]] = [
    (["nowhere.db"], "there is no file nowhere.db"),
    (["sqlite:///nowhere/at/all.db"], "there is no file sqlite:///nowhere/at/all.db"),
    (["empty.db"], "empty.db"),
    (["other.db"], "holds no records of toolbox"),
    (["text.db"], "name another file"),
    (["newer.db"], "newer"),
    (["mysql://u:hunter2@h/db"], "no engine of the store"),
    (["audit.db", "--raw"], "--raw is for files of lines"),
    (["audit.db", "--since", "soon"], "--since takes"),
    (["audit.db", "--since", "1h", "--until", "2h"], "is not before"),
    (["audit.db", "--status", "fine"], "is none of"),
    (["audit.db", "--limit", "0"], "--limit is a number of records"),
    (["audit.db", "--loosen"], "give --policy too"),
    (["lines.jsonl", "--tool", "pay"], "--tool is for a store, and lines.jsonl is a file of lines"),
    (["-", "--limit", "5"], "--limit is for a store, and standard input"),
]


def _sizes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.iterdir() if not path.name.endswith(("-shm", "-wal", "__pycache__"))}


@pytest.mark.parametrize(("options", "words"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_read(run: Run, store: Path, folder: Path, options: list[str], words: str) -> None:
    """A place that is no store, or of a newer version, and options that do not belong to it: an error with 2, and no file is made."""
    (folder / "empty.db").touch()
    (folder / "text.db").write_text("no database at all " * 100)
    (folder / "lines.jsonl").write_text("")
    with sqlite3.connect(folder / "other.db") as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    (folder / "newer.db").write_bytes(store.read_bytes())
    with sqlite3.connect(folder / "newer.db") as newer:
        newer.execute("UPDATE toolbox_schema SET version = 99")
    newer.close()
    before = _sizes(folder)
    ran = run("replay", *options, "--tools", "tools")
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert "hunter2" not in ran.err
    assert _sizes(folder) == before


def test_nothing_is_run_and_nothing_written(run: Run, store: Path) -> None:
    """No tool is called, no secret is shown, and the records are as they were."""
    with AuditStore(store, read_only=True) as before:
        records = [repr(item) for item in before.records()]
    for options in ([], ["--json"], ["--policy", "strict"]):
        ran = run("replay", "audit.db", "--tools", "tools", *options)
        assert "searching" not in ran.all
        assert "HIDDEN" not in ran.all
    with AuditStore(store, read_only=True) as after:
        assert [repr(item) for item in after.records()] == records


def test_hostile_records(run: Run, folder: Path) -> None:
    """Whatever a record holds, no control character and no markup reaches the terminal, and the report ends."""
    with AuditStore(folder / "bad.db") as made:
        made.append(
            [
                AuditRecord("\x1b[31m[red]", "p", {"\x1b]0;t\x07": "[/]"}, status=CallStatus.DONE),
                AuditRecord("halve", "p", {"number": 2, "[red]\x1b": 1, "\ud800": "\ud800"}, status=CallStatus.DONE),
                AuditRecord("halve", "p", [[[[1]]]], status=CallStatus.REFUSED),
            ]
        )
    ran = run("replay", "bad.db", "--tools", "tools", "--policy", "strict")
    assert ran.code == 0
    assert all(character.isprintable() or character == "\n" for character in ran.all)


LINE = {"tool": "halve", "status": "done", "arguments": '{"number": 2}', "record_id": "r-1"}
STRANGE: list[dict[str, Any]] = [
    {**LINE, "changes": ['[info] $: "\\q" taken as the tool "halve"']},
    {**LINE, "changes": ['[info] $: "a\x01" taken as the tool "halve"']},
    {**LINE, "changes": ["[info] $", 5, None, "[risky] $.a\x1b: x"]},
    {**LINE, "arguments": "[" * 5_000, "record_id": None},
    {**LINE, "tool": "\ud800\x1b[31m", "failures": ["", "$.q: missing", "x" * 10_000]},
    {**LINE, "arguments": {"number": 2}, "diagnostics": [5, {}, {"kind": [], "risk": 1}], "failures": [{"reason": []}], "metadata": 5},
]


@pytest.mark.parametrize("line", STRANGE, ids=range(len(STRANGE)))
def test_lines_that_somebody_else_has_written(run: Run, folder: Path, line: dict[str, Any]) -> None:
    """They are read as far as they can be; nothing is raised, and no control character gets out."""
    (folder / "lines.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    ran = run("replay", "lines.jsonl", "--tools", "tools")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("1 records, ")
    assert all(character.isprintable() or character == "\n" for character in ran.out)


def test_on_a_terminal(screen: Callable[..., str], store: Path) -> None:
    """On a terminal the tables are drawn, on a narrow one below each other."""
    for columns in (120, 50):
        shown = screen("replay", "audit.db", "--tools", "new.py", columns=columns)
        assert "search_flights" in shown
        assert "Newly refused" in shown


def test_ids_are_short_on_a_terminal_alone(screen: Callable[..., str], run: Run, store: Path) -> None:
    """Somebody who looks on gets the ends of an id as an example; a pipe, and the JSON, get it whole."""
    whole = json.loads(run("replay", "audit.db", "--tools", "new.py", "--json").out)["newly_refused"][0]["examples"][0]
    assert len(whole) > 20
    assert whole in run("replay", "audit.db", "--tools", "new.py").out
    shown = screen("replay", "audit.db", "--tools", "new.py", columns=120)
    assert whole not in shown
    assert f"{whole[:8]}...{whole[-8:]}" in shown
