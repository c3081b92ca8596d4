"""``report``: the terminal, JSON and the page from a store, and what is said when there is nothing to report about."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from toolbox import AuditRecord, AuditStore, CallStatus, Diagnostic, DiagnosticKind, Failure, FailureReason, Risk
from toolbox.cli.problems import UsageProblem
from toolbox.cli.times import read_moment

START = 1_782_000_000.0
DAY = 86_400.0


def _record(
    number: int, *, model: str = "large", time: float | None = None, tool: str = "search", status: CallStatus = CallStatus.DONE
) -> AuditRecord:
    """A call; of every four one is mended, and of every eight one is refused."""
    changes = (
        (Diagnostic("$.limit", DiagnosticKind.COERCED, Risk.INFO, str(number % 3), number % 3, "str->int"),) if number % 4 == 0 else ()
    )
    failures = (Failure("$.when", FailureReason.INVALID, "a date in ISO 8601 such as 2026-07-02", "to\x1bday", "it is not ISO 8601"),)
    refused = number % 8 == 1
    return AuditRecord(
        tool,
        "lenient",
        {},
        None if refused else {},
        changes,
        failures if refused else (),
        CallStatus.REFUSED if refused else status,
        metadata={"model": model},
        time=START + number * 3_600 if time is None else time,
        id=f"r-{number}",
    )


@pytest.fixture
def audit(folder: Path) -> Path:
    """A store of 40 calls of two models, one of a tool that does not exist."""
    path = folder / "audit.db"
    with AuditStore(path) as store:
        store.append(_record(number, model="small" if number % 2 else "large") for number in range(39))
        store.append([_record(42, tool="web\u202esearch", status=CallStatus.UNKNOWN_TOOL)])
    return path


GOLDEN = """\
40 calls from 2026-06-21T00:00:00Z to 2026-06-22T18:00:00Z

arguments     calls   share
as they are      24  60.0 %
mended           10  25.0 %
refused           5  12.5 %
unknown tool      1   2.5 %

ended: 34 done, 5 refused, 1 unknown tool

Models
model  calls  as they are  mended  refused  most frequent drift
large     21       47.6 %  47.6 %      0 %  search, limit: coerced str->int, 10
small     19       73.7 %     0 %   26.3 %  search, when: refused, invalid, 5

Tools
tool    calls  as they are  mended  refused  most frequent drift
search     39       61.5 %  25.6 %   12.8 %  limit: coerced str->int, 10

Where it drifts: share of the tool's calls in which a parameter was changed or refused
tool    parameter   share   large   small  changed  refused
search  limit      25.6 %  50.0 %     0 %       10        0
search  when       12.8 %     0 %  26.3 %        0        5

Refusals
tool    parameter  reason   calls   share  for example
search  when       invalid      5  12.8 %  "to\\u001bday"

Over time, by 1 hour
"""


def test_terminal(audit: Path, run: Run) -> None:
    """Totals, models, tools, the heat table, refusals, time, unknown names and suggestions stand below each other."""
    ran = run("report", "audit.db")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(GOLDEN)
    assert "web\\u202esearch      1" in ran.out
    assert (
        "1. search limit: coerced str->int, 25.6 % of 39 calls\n"
        '   came: "0" -> 0, "1" -> 1\n'
        "   description: Say in the description that limit is a JSON number, e.g. 0, and not text in quotes.\n"
        "   limit: Annotated[..., Param(examples=[0])]\n"
    ) in ran.out
    assert "2. search when: refused, invalid, 12.8 % of 39 calls" in ran.out


@pytest.mark.parametrize("columns", [50, 80, 200])
def test_on_a_terminal(audit: Path, screen: Callable[..., str], columns: int) -> None:
    """On a terminal of any width the same is drawn, and nothing of a model controls it."""
    shown = screen("report", "audit.db", columns=columns)
    for text in ("40 calls from", "coerced str->int", "What to mend first"):
        assert text in shown
    assert "\u202e" not in shown
    assert "to\x1bday" not in shown


@pytest.mark.parametrize("columns", [0, 60, 200])
def test_hostile_names(folder: Path, run: Run, screen: Callable[..., str], columns: int) -> None:
    """Names of models, tools and parameters stand in heads and cells, and none of them controls the terminal."""
    hostile = "\x1b[31m\u202e<b>[red]\n\x07"
    with AuditStore("audit.db") as store:
        store.append(_record(number, model=f"{hostile}{number % 2}", tool=hostile) for number in range(16))
    shown = screen("report", "audit.db", columns=columns, NO_COLOR="1", TERM="dumb") if columns else run("report", "audit.db").out
    assert shown.count("\\x1b[31m") > 3
    assert all(character.isprintable() or character == "\n" for character in re.sub(r"\x1b\[[0-9;]*m", "", shown))
    assert hostile[:5] not in shown


def test_the_same_numbers_everywhere(audit: Path, run: Run) -> None:
    """The terminal, the JSON and the page say the same numbers, and the JSON can be piped on while the page is written."""
    ran = run("report", "audit.db", "--json", "--html", "drift.html")
    assert (ran.code, ran.err) == (0, "drift.html is written\n")
    said = json.loads(ran.out)
    assert {name: said["total"][name] for name in ("calls", "as_is", "mended", "refused", "unknown_tool")} == {
        "calls": 40,
        "as_is": 24,
        "mended": 10,
        "refused": 5,
        "unknown_tool": 1,
    }
    page = Path("drift.html").read_text("utf-8")
    for number in ("40", "60.0 %", "25.0 %", "12.5 %", "2.5 %"):
        assert f">{number}</dd>" in page
        assert number in GOLDEN
    assert [(item["parameter"], item["drifted"], item["share"]) for item in said["parameters"]] == [
        ("limit", 10, 0.25641),
        ("when", 5, 0.128205),
    ]
    assert ">25.6 %</td>" in page
    assert ">12.8 %</td>" in page


def test_with_a_page_the_totals_are_enough(audit: Path, run: Run) -> None:
    """The page holds the rest, so the terminal does not show it once more."""
    ran = run("report", "audit.db", "--html", "drift.html")
    assert (ran.code, ran.err) == (0, "drift.html is written\n")
    assert ran.out == GOLDEN.partition("\nModels\n")[0]


def test_calls_that_were_not_run(folder: Path, run: Run) -> None:
    """They stand below the totals and in a column of their own, and in no share; alone, they are no report."""
    stopped = [_record(number, tool="pay", status=CallStatus.REFUSED) for number in (2, 3, 4)]
    with AuditStore("stopped.db") as store:
        store.append(stopped)
    ran = run("report", "stopped.db")
    assert (ran.code, ran.out) == (1, "")
    assert "says something about a model; not counted: 3 not run for a reason of the application\n" in ran.err
    with AuditStore("stopped.db") as store:
        store.append([_record(6), _record(8)])
    shown = run("report", "stopped.db").out
    assert "as they are       1  50.0 %\nmended            1  50.0 %\nrefused           0     0 %\n" in shown
    assert "ended: 2 done\nnot counted: 3 not run for a reason of the application\n" in shown
    assert "tool    calls  as they are  mended  refused  not run  most frequent drift\n" in shown
    assert "search      2       50.0 %  50.0 %      0 %        0  limit: coerced str->int, 1\n" in shown
    assert "pay         0          0 %     0 %      0 %        3  -\n" in shown
    assert json.loads(run("report", "stopped.db", "--json").out)["total"]["not_run"] == 3


def test_nothing_but_runs_that_no_model_asked_for(folder: Path, run: Run) -> None:
    """Where all that is in range was approved by a person, that is what is said, in the terminal and on the page."""
    with AuditStore("reviewed.db") as store:
        store.append([AuditRecord("pay", "lenient", {}, {}, status=CallStatus.DONE, metadata={"review_item": "i-1"}, time=START)])
    ran = run("report", "reviewed.db", "--html", "drift.html")
    assert (ran.code, ran.out) == (1, "")
    assert (
        "reviewed.db holds no call in this range that says something about a model; not counted: 1 approved by a person and run\n"
        in ran.err
    )
    assert "Not counted: 1 approved by a person and run." in Path("drift.html").read_text("utf-8")


def test_filters(audit: Path, run: Run) -> None:
    """Time, tool and model choose the calls."""

    def calls(*options: str) -> int:
        return int(json.loads(run("report", "audit.db", "--json", *options).out)["total"]["calls"])

    assert calls("--model", "small") == 19
    assert calls("--tool", "search") == 39
    assert calls("--since", "2026-06-22") == 16
    assert calls("--until", "2026-06-22") == 24
    assert calls("--since", "2026-06-21T10:00Z", "--until", "2026-06-21T12:00+00:00") == 2


def test_a_url(audit: Path, run: Run) -> None:
    """A store may be named by its URL."""
    assert json.loads(run("report", "sqlite:///audit.db", "--json").out)["total"]["calls"] == 40


def test_nothing_in_range(audit: Path, run: Run) -> None:
    """Where no call is in range, that is said with how many there are; the JSON and the page are written all the same."""
    ran = run("report", "audit.db", "--since", "2027-01-01", "--json", "--html", "drift.html")
    assert ran.code == 1
    assert ran.err == "drift.html is written\naudit.db holds 40 calls, and none of them is in this range\n"
    assert json.loads(ran.out)["total"]["calls"] == 0
    assert "No call is on record in this range." in Path("drift.html").read_text("utf-8")


def test_empty_store(folder: Path, run: Run) -> None:
    """A store without a call is no fault, and nothing to report about."""
    AuditStore(folder / "empty.db").close()
    ran = run("report", "empty.db")
    assert (ran.code, ran.out, ran.err) == (1, "", "empty.db holds no call yet\n")


def _other(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE things (name TEXT)")
    connection.commit()
    connection.close()


def _newer(path: Path) -> None:
    AuditStore(path).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE toolbox_schema SET version = 99")
    connection.commit()
    connection.close()


NO_STORES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "there is no file missing.db: name the one that a registry writes"),
    "empty_file": (lambda path: path.touch(), "empty_file.db holds no records of toolbox"),
    "other": (_other, "other.db holds no records of toolbox"),
    "text": (lambda path: path.write_text("no database at all, " * 99), "is not a database"),
    "newer": (_newer, "newer toolbox has written it"),
    "folder": (lambda path: path.mkdir(), "folder.db"),
}


@pytest.mark.parametrize("name", NO_STORES)
def test_no_store(folder: Path, run: Run, name: str) -> None:
    """What is no store is said in one line, nothing is made, and nothing is changed."""
    make, message = NO_STORES[name]
    path = folder / f"{name}.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    ran = run("report", path.name)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.startswith("toolbox: ")
    assert "Traceback" not in ran.err
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--html", "no/such/folder/x.html"), "no/such/folder/x.html cannot be written: "),
        (("--html", "."), ". cannot be written: "),
        (("--html", "audit.db"), "--html audit.db names the store itself"),
        (("--since", "soon"), "--since takes a date (2026-07-02)"),
        (("--until", "2026-13-01"), "--until takes a date (2026-07-02)"),
        (("--since", "2026-07-02", "--until", "2026-07-01"), "--since 2026-07-02 is not before --until 2026-07-01"),
    ],
)
def test_misused(audit: Path, run: Run, options: tuple[str, ...], message: str) -> None:
    """What cannot be done is said before anything is shown; the store is as it was."""
    before = audit.read_bytes()
    ran = run("report", "audit.db", *options)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert audit.read_bytes() == before


def test_missing_extra(audit: Path, start: Run) -> None:
    """Without SQLAlchemy the command says what to install."""
    (audit.parent / "sqlalchemy.py").write_text("raise ImportError('not there')\n", "utf-8")
    ran = start("report", "audit.db", PYTHONPATH=f"{audit.parent}:{Path(__file__).parents[2]}")
    assert ran.code == 2
    assert "pip install 'toolbox-dispatch[store]'" in ran.err
    assert "Traceback" not in ran.err


NOW = 1_782_000_000.0


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("30s", NOW - 30),
        ("15m", NOW - 900),
        ("12h", NOW - 12 * 3_600),
        ("7d", NOW - 7 * DAY),
        ("2W", NOW - 14 * DAY),
        ("2026-06-21", 1_782_000_000.0),
        ("2026-06-21T00:00", 1_782_000_000.0),
        ("2026-06-21T00:00Z", 1_782_000_000.0),
        ("2026-06-21T02:00:00.5+02:00", 1_782_000_000.5),
        ("1969-12-31", -DAY),
    ],
)
def test_moments(written: str, moment: float) -> None:
    """A moment is a date, a date and time, in UTC where no zone is named, or so long ago."""
    assert read_moment("--since", written, NOW) == moment


@pytest.mark.parametrize(
    "written", ["", "d", "7", "7x", "-7d", "7.5d", "9999999999d", "tomorrow", "2026-02-30", "2026-07-02T25:00", "\u0667d"]
)
def test_no_moments(written: str) -> None:
    """Anything else is refused with what to write."""
    with pytest.raises(UsageProblem, match="--since takes a date"):
        read_moment("--since", written, NOW)


def test_advice_hangs_on_a_narrow_terminal(audit: Path, screen: Callable[..., str]) -> None:
    """What wraps stands below its own words, so that the numbers alone stand in the margin."""
    shown = screen("report", "audit.db", columns=50, NO_COLOR="1")
    advice = re.sub(r"\x1b\[[0-9;]*m", "", shown).partition("What to mend first\n")[2].splitlines()
    assert len(advice) > 8
    assert [line[:2] for line in advice if not line.startswith("   ")] == ["1.", "2."]
    assert all(len(line) <= 50 for line in advice)
