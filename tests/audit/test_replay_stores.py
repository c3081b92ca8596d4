"""Replay of stores on both databases: from Python and from the command line, over many parts, filtered, and with little memory."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from toolbox import (
    LENIENT,
    STRICT,
    AuditRecord,
    AuditStore,
    CallStatus,
    Diagnostic,
    DiagnosticKind,
    Failure,
    FailureReason,
    Registry,
    Risk,
    StoreError,
    replay,
)
from toolbox.cli import main
from toolbox.replaying import ReplayOutcome, Unchecked

AS_IS, MENDED, REFUSED, GONE = ReplayOutcome
START = 1_782_000_000.0
MANY = 5_000
TOOLS = '''
from toolbox import Registry

registry = Registry()


@registry.tool
def search(term: str, limit: int = 10) -> str:
    """Search."""
    return term
'''


def search(term: str, limit: int = 10) -> str:
    """Search."""
    return term


def _record(number: int) -> AuditRecord:
    """A call; of every five one is mended, and of every ten one is of a tool that is gone. Seven come at the same moment."""
    is_mended = number % 5 == 0
    arguments = {"term": "a", "limit": "5" if is_mended else 5}
    changes = (Diagnostic("$.limit", DiagnosticKind.COERCED, Risk.INFO, "5", 5, "str->int"),) if is_mended else ()
    return AuditRecord(
        "gone" if number % 10 == 1 else "search",
        "lenient",
        arguments,
        {"term": "a", "limit": 5},
        changes,
        status=CallStatus.DONE,
        metadata={"model": f"m-{number % 2}"},
        time=START + number // 7,
        # In an order of their own, which is not that of the numbers.
        id=f"{'rRé'[number % 3]}-{number * 7919 % MANY}",
    )


@pytest.fixture
def registry() -> Registry:
    """The tool of today."""
    made = Registry(LENIENT)
    made.register(search)
    return made


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in a folder with a tools file: exit code, output, errors."""
    (tmp_path / "replayed_tools.py").write_text(TOOLS, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLBOX_POLICY", raising=False)

    def command(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, "--tools", "replayed_tools.py"])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return command


@pytest.fixture
def fetched() -> Iterator[list[int]]:
    """How many rows each statement brought, where the driver says so before they are read."""
    counts: list[int] = []

    def listen(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        if statement.startswith("SELECT"):
            counts.append(cursor.rowcount)

    event.listen(Engine, "after_cursor_execute", listen)
    yield counts
    event.remove(Engine, "after_cursor_execute", listen)


def test_many_records(
    store_url: str,
    store: AuditStore,
    registry: Registry,
    run: Callable[..., tuple[int, str, str]],
    fetched: list[int],
) -> None:
    """Part after part, each record is read once, none is left out, and no part is larger than the others, however many there are."""
    wanted = [_record(number) for number in range(MANY)]
    store.append(wanted)
    fetched.clear()
    strict = registry.tightened(STRICT)
    report = replay(store, strict)
    assert report.to_dict() == replay(sorted(wanted, key=lambda item: (item.time, item.id.encode())), strict).to_dict()
    assert (report.records, report.compared, report.refused, report.changed) == (MANY, MANY, 1_500, 1_500)
    assert {key: item.count for key, item in report.transitions.items()} == {
        ("search", AS_IS, AS_IS): 3_500,
        ("search", MENDED, REFUSED): 1_000,
        ("gone", AS_IS, GONE): 500,
    }
    assert len({record.id for record in store.records(order="newest")}) == MANY
    assert 0 < len(fetched) < 200
    assert max(fetched) <= 500
    code, out, err = run("replay", store_url, "--policy", "strict", "--json", "--fail-over", "29.9")
    assert (code, err) == (1, "toolbox: 30.00 % were refused or could not be read, more than 29.9 %\n")
    said = json.loads(out)
    assert {name: said[name] for name in report.to_dict()} == report.to_dict()


def test_records_with_many_changes(store: AuditStore, registry: Registry, fetched: list[int]) -> None:
    """They are read in smaller parts: what counts is how much is in memory, and not how many records that is."""
    changes = tuple(Diagnostic(f"$.x{number}", DiagnosticKind.DROPPED, Risk.WARNING, number, None, "unknown") for number in range(900))
    heavy = [replace(_record(number), diagnostics=changes[: 900 - number]) for number in range(30)]
    light = [_record(number) for number in range(30, 600)]
    store.append([*heavy, *light])
    fetched.clear()
    assert [len(record.diagnostics) for record in store.records()] == [
        len(record.diagnostics) for record in sorted((*heavy, *light), key=lambda item: (item.time, item.id.encode()))
    ]
    assert max(fetched) <= 10_000
    assert len(list(store.records(limit=25, order="newest"))) == 25
    assert len(list(store.records(limit=25))) == 25
    assert replay(store, registry).records == 600


@pytest.fixture
def filled(store: AuditStore) -> AuditStore:
    """A store of 70 records."""
    store.append(_record(number) for number in range(70))
    return store


def test_from_the_command_line(store_url: str, filled: AuditStore, run: Callable[..., tuple[int, str, str]]) -> None:
    """What became of the calls then and now is shown without the password of the server, and the exit code is that of the thresholds."""
    code, out, err = run("replay", store_url, "--policy", "strict")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("70 records of ")
    assert out.splitlines()[0].endswith(", 70 compared (policy strict)")
    assert "search     63             0           14       14       22.2\n" in out
    assert "wrong type" in out
    password = store_url.partition("://")[2].partition("@")[0].partition(":")[2]
    assert not password or password not in out + err
    for limit, expected in (("30", 0), ("29", 1)):
        assert run("replay", store_url, "--policy", "strict", "--fail-over", limit)[0] == expected
    for limit, expected in (("10", 0), ("9.9", 1)):
        assert run("replay", store_url, "--fail-over-changed", limit)[0] == expected


RANGES: list[tuple[list[str], int]] = [
    (["--tool", "gone"], 7),
    (["--tool", "Search"], 0),
    (["--model", "m-1"], 35),
    (["--since", "2026-06-21T00:00:05Z"], 35),
    (["--until", "2026-06-21T02:00:05+02:00"], 35),
    (["--since", "2026-06-21T00:00:02Z", "--until", "2026-06-21T00:00:04Z", "--model", "m-0"], 7),
    (["--status", "done", "--limit", "12"], 12),
    (["--status", "refused"], 0),
]


def test_ranges(store_url: str, filled: AuditStore, run: Callable[..., tuple[int, str, str]]) -> None:
    """Tool, model, time, status and number choose the records."""
    found = [json.loads(run("replay", store_url, "--json", *options)[1])["records"] for options, _ in RANGES]
    assert found == [count for _, count in RANGES]


def test_what_was_not_run_is_left_out(store: AuditStore, registry: Registry) -> None:
    """A call refused for a reason of the application says nothing about its arguments, on either database."""
    store.append([AuditRecord("search", "lenient", {"term": "a"}, status=CallStatus.REFUSED, error="no context")])
    report = replay(store, registry)
    assert (report.records, report.compared, list(report.unchecked)) == (1, 0, [Unchecked.OTHER_REASON])


def test_one_view_of_the_data(store_url: str, filled: AuditStore) -> None:
    """What is asked in one read is answered from one moment, though other connections write meanwhile."""
    with AuditStore(store_url, read_only=True) as other:

        def work(connection: Any) -> list[int]:
            counts = []
            for number in (1_000, 1_001):
                counts.append(connection.exec_driver_sql("SELECT count(*) FROM toolbox_records").scalar())
                filled.append([_record(number)])
            return counts

        assert other.read(work) == [70, 70]
        assert other.count() == 72


DAMAGE = {
    "time": "UPDATE toolbox_records SET opened_at = 'x'",
    "status": "UPDATE toolbox_records SET status = 'bogus'",
    "tool": "UPDATE toolbox_records SET tool = X'ff00'",
    "tool_number": "UPDATE toolbox_records SET tool = 5, policy = 5.5, call_id = X'00'",
    "id": "UPDATE toolbox_records SET id = X'07' WHERE id = (SELECT min(id) FROM toolbox_records)",
    "arguments": "UPDATE toolbox_records SET arguments = '{', invoked = '['",
    "arguments_blob": "UPDATE toolbox_records SET arguments = X'ff', invoked = X'ff'",
    "arguments_number": "UPDATE toolbox_records SET arguments = 5, invoked = 5",
    "metadata": "UPDATE toolbox_records SET metadata = '[1'",
    "metadata_list": "UPDATE toolbox_records SET metadata = '[1]'",
    "metadata_null": "UPDATE toolbox_records SET metadata = 'null', error = X'00', duration_ms = 'x'",
    "kind": "UPDATE toolbox_changes SET kind = 'bogus'",
    "risk": "UPDATE toolbox_changes SET risk = 99",
    "path": "UPDATE toolbox_changes SET path = X'ff', conversion = 5, suggestion = 5",
    "before": "UPDATE toolbox_changes SET value_before = '{', value_after = 7",
    "failure": "UPDATE toolbox_failures SET would_be = '[', value = 1, detail = X'00', expected = 2, path = 3",
    "reason": "UPDATE toolbox_failures SET reason = 7",
    "would_be": "UPDATE toolbox_failures SET would_be = '{\"kind\": 1}'",
    "would_be_short": 'UPDATE toolbox_failures SET would_be = \'{"kind": "coerced"}\'',
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_whatever_somebody_has_written_into_the_store(tmp_path: Path, registry: Registry, damage: str) -> None:
    """It is read as far as it can be, or refused as what it is; nothing else is raised."""
    refused = Failure("$.limit", FailureReason.INVALID, "an integer", "x", "it is none")
    with AuditStore(tmp_path / "audit.db") as store:
        store.append([_record(0), replace(_record(1), status=CallStatus.REFUSED, invoked=None, failures=(refused,)), _record(2)])
    with contextlib.closing(sqlite3.connect(tmp_path / "audit.db", isolation_level=None)) as connection:
        connection.execute(DAMAGE[damage])
    report, reason = None, ""
    with AuditStore(tmp_path / "audit.db", read_only=True) as store:
        try:
            report = replay(store, registry)
        except StoreError as error:
            reason = error.reason
    if report is None:
        assert reason in ("corrupt", "failed")
    else:
        assert report.records == 3
        assert json.dumps(report.to_dict(), allow_nan=False)
