"""How long a drift report of a million records takes: ``python -m tests.benchmarks report [records] [url]``.

The records are written in bulk, since the store's own way would take minutes; the tables and their indices are the store's. Without a
URL, an SQLite file in a temporary folder is made.
"""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, delete, insert

from toolbox import AuditStore
from toolbox.audit.report import drift_page, drift_report
from toolbox.audit.store.tables import changes, failures, records

__all__ = ["START", "fill", "main"]

START: Final = 1_782_000_000.0
_PART: Final = 20_000
_PREFIX: Final = "7c5a0b5e6a5f4d7bb2f1c9d0e8a4f6b3-"


class Drifts(NamedTuple):
    """One way in which a model drifts: a change, or a refusal where there is no value after."""

    tool: str
    place: str
    kind: str
    conversion: str
    risk: int
    pairs: tuple[tuple[Any, Any], ...]
    share: float
    suggestion: str = ""
    expected: str = ""
    detail: str = ""


MODELS: Final = {"large-3": (0.45, 0.4), "small-2": (0.30, 1.0), "local-8b": (0.20, 2.2), "local-70b": (0.05, 0.9)}
"""Share of the calls, and how often it drifts, of each model."""
TOOLS: Final = {
    "search_flights": (0.34, 3),
    "query_inventory": (0.27, 2),
    "create_ticket": (0.18, 2),
    "send_invoice": (0.12, 1),
    "get_weather": (0.09, 1),
}
"""Share of the calls, and how many declared defaults are usually filled in, of each tool."""
NUMBERS: Final = tuple((str(number), number) for number in (1, 2, 2, 3, 4, 5, 10))
DRIFTS: Final = (
    Drifts("search_flights", "$.passengers", "coerced", "str->int", 1, NUMBERS, 0.22),
    Drifts("search_flights", "$.cabin", "matched", "match:token", 2, (("business class", "business"), ("economy seat", "economy")), 0.06),
    Drifts("search_flights", "$.returnDate", "renamed", "parameter", 1, (("returnDate", "return_date"),), 0.09, "Send it as return_date"),
    Drifts("search_flights", "$.nonstop", "coerced", "str->bool", 2, (("yes", True), ("no", False)), 0.04, "Send true or false"),
    Drifts("search_flights", "$.airline", "dropped", "unknown", 2, (("Swiss", None), ("TAP", None)), 0.05),
    Drifts(
        "search_flights",
        "$.departure",
        "invalid",
        "",
        0,
        (("next Friday", None), ("12/03/2026", None), ("tomorrow", None)),
        0.05,
        "",
        "a date in ISO 8601 such as 2026-07-02",
        "it is not ISO 8601",
    ),
    Drifts("query_inventory", "$.max_results", "coerced", "str->int", 1, NUMBERS, 0.4),
    Drifts(
        "query_inventory", "$.categories", "coerced", "str->list", 2, (("cables", ["cables"]), ('["usb"]', ["usb"])), 0.12, "Send an array"
    ),
    Drifts("query_inventory", "$.page", "dropped", "unknown", 2, ((1, None), (2, None)), 0.07),
    Drifts(
        "query_inventory",
        "$.limt",
        "unknown",
        "",
        0,
        ((5, None), (10, None)),
        0.01,
        "Did you mean limit? Send it as limit",
        "no such parameter",
    ),
    Drifts("create_ticket", "$.priority", "matched", "match:prefix", 2, (("urgent!", "urgent"), ("crit", "critical")), 0.08),
    Drifts(
        "create_ticket",
        "$.priority",
        "not_a_choice",
        "",
        0,
        (("asap", None), ("blocker", None)),
        0.07,
        "Send one of the choices exactly",
        'one of "low", "medium", "high", "critical"',
    ),
    Drifts("create_ticket", "$", "unwrapped", "arguments", 2, ((None, None),), 0.03, "Send the arguments by name, as one object"),
    Drifts("create_ticket", "$.title", "missing", "", 0, ((None, None),), 0.02, "Send title", "text"),
    Drifts("send_invoice", "$.items[*].price", "coerced", "str->Decimal", 1, (("19.99", 19.99), ("5", 5)), 0.3),
    Drifts(
        "send_invoice",
        "$.items[*].price",
        "too_risky",
        "str->Decimal",
        0,
        (("1,299.00", 1299.0), ("2,50", 2.5)),
        0.06,
        "Send the number without the comma",
        "a number",
        "the comma may be a decimal comma",
    ),
    Drifts("send_invoice", "$.due", "coerced", "int->datetime", 2, ((1782000000, "2026-06-21T00:00:00+00:00"),), 0.05),
    Drifts("get_weather", "$", "extracted", "code fence", 1, ((None, None),), 0.1, "leave out code fences"),
    Drifts("get_weather", "$", "repaired", "trailing comma", 1, ((None, None),), 0.05, "leave out the comma before a closing bracket"),
    Drifts("get_weather", "$.city", "coerced", "list->str", 2, ((["Oslo"], "Oslo"),), 0.03, "Send the value itself, without an array"),
)
STRANGERS: Final = ("search_hotels", "web_search", "python")
_REASONS: Final = frozenset({"invalid", "unknown", "not_a_choice", "missing", "too_risky"})
# Refused though nothing is wrong with the arguments: a reason of the application.
_NOT_RUN: Final = "refused"
_ENDINGS: Final = (("done", 0.96), ("failed", 0.024), ("timeout", 0.009), ("cancelled", 0.005), (_NOT_RUN, 0.002))
_TEXT: Final = "x" * 120


class _Rows:
    """Rows on their way into the tables."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.changes: list[dict[str, Any]] = []
        self.failures: list[dict[str, Any]] = []

    def write(self, connection: Connection) -> None:
        """Put them in, and forget them."""
        for table, rows in ((records, self.records), (changes, self.changes), (failures, self.failures)):
            if rows:
                connection.execute(insert(table), rows)
                rows.clear()


def fill(store: AuditStore, count: int, *, seed: int = 7, days: float = 30.0) -> None:
    """Write so many records of plausible drift into the tables of a store."""
    drawn = random.Random(seed)
    by_tool = {name: [item for item in DRIFTS if item.tool == name] for name in TOOLS}

    def work(connection: Connection) -> None:
        rows = _Rows()
        for number in range(count):
            _add(rows, drawn, by_tool, number, START + days * 86_400 * number / count)
            if len(rows.records) >= _PART:
                rows.write(connection)
        rows.write(connection)

    store.transact(work)


def _add(rows: _Rows, drawn: random.Random, by_tool: dict[str, list[Drifts]], number: int, moment: float) -> None:
    model = drawn.choices(list(MODELS), [share for share, _ in MODELS.values()])[0]
    record_id = f"{_PREFIX}{number:x}"
    if drawn.random() < 0.004:
        rows.records.append(_record(record_id, moment, drawn.choice(STRANGERS), model, "unknown_tool", None))
        return
    tool = drawn.choices(list(TOOLS), [share for share, _ in TOOLS.values()])[0]
    shared = {"record_id": record_id, "opened_at": moment, "tool": tool, "model": model}
    worst: int | None = None
    changed = failed = 0
    for position in range(TOOLS[tool][1]):
        place = f"$.option_{position}"
        rows.changes.append(_change(shared, position, place, "defaulted", "default", 1, None, 10, ""))
        changed, worst = position + 1, 1
    for item in by_tool[tool]:
        if drawn.random() >= item.share * MODELS[model][1]:
            continue
        came, became = drawn.choice(item.pairs)
        if item.kind in _REASONS:
            rows.failures.append(_failure(shared, failed, item, came, became))
            failed += 1
        else:
            rows.changes.append(_change(shared, changed, item.place, item.kind, item.conversion, item.risk, came, became, item.suggestion))
            changed, worst = changed + 1, max(worst or 0, item.risk)
    status = "refused" if failed else drawn.choices([name for name, _ in _ENDINGS], [share for _, share in _ENDINGS])[0]
    rows.records.append(_record(record_id, moment, tool, model, status, worst))


def _record(record_id: str, moment: float, tool: str, model: str, status: str, worst: int | None) -> dict[str, Any]:
    arguments = json.dumps({"query": _TEXT, "limit": 5, "order": "asc"})
    return {
        "id": record_id,
        "session_id": "benchmark",
        "opened_at": moment,
        "closed_at": moment + 0.002,
        "tool": tool,
        "policy": "lenient",
        "status": status,
        "model": model,
        "conversation_id": f"c-{int(moment) // 600}",
        "duration_ms": 2.0,
        "worst_risk": worst,
        "arguments": arguments,
        "invoked": None if status in ("refused", "unknown_tool") else arguments,
        "metadata": json.dumps({"model": model}),
        "is_cut": False,
    }


def _change(
    shared: dict[str, Any], position: int, place: str, kind: str, conversion: str, risk: int, came: Any, became: Any, suggestion: str
) -> dict[str, Any]:
    return {
        **shared,
        "position": position,
        "path": place.replace("[*]", f"[{position}]"),
        "place": place,
        "kind": kind,
        "conversion": conversion,
        "risk": risk,
        "value_before": None if came is None else json.dumps(came),
        "value_after": None if became is None else json.dumps(became),
        "suggestion": suggestion,
    }


def _failure(shared: dict[str, Any], position: int, item: Drifts, came: Any, became: Any) -> dict[str, Any]:
    would_be = {"kind": "coerced", "risk": 3, "conversion": item.conversion, "before": json.dumps(came), "after": json.dumps(became)}
    return {
        **shared,
        "position": position,
        "path": item.place.replace("[*]", "[0]"),
        "place": item.place,
        "reason": item.kind,
        "expected": item.expected,
        "value": None if came is None else json.dumps(came),
        "detail": item.detail,
        "suggestion": item.suggestion,
        "would_be": json.dumps(would_be) if item.conversion else None,
    }


@contextlib.contextmanager
def _store(url: str) -> Iterator[AuditStore]:
    """A store at a URL, or one in a temporary folder; what was written is taken away."""
    if not url:
        with tempfile.TemporaryDirectory() as folder, AuditStore(Path(folder) / "audit.db") as store:
            yield store
        return
    with AuditStore(url) as store:
        try:
            yield store
        finally:
            store.transact(_clear)


def _clear(connection: Connection) -> None:
    for table in (changes, failures, records):
        column = table.c.id if table is records else table.c.record_id
        connection.execute(delete(table).where(column.startswith(_PREFIX)))


def _timed(said: str, work: Callable[[], Any]) -> Any:
    """Do a piece of work, and print how long it took; other work of the machine adds nothing to the time of this process."""
    started, computed = time.perf_counter(), time.process_time()
    made = work()
    print(f"{said:36} {time.perf_counter() - started:8.2f} s {time.process_time() - computed:8.2f} s of this process", flush=True)
    return made


def main(arguments: list[str]) -> None:
    """Fill a store, and time reports of it."""
    numbers = [int(item.replace("_", "")) for item in arguments if item.replace("_", "").isdecimal()]
    count = numbers[0] if numbers else 1_000_000
    url = next((item for item in arguments if "://" in item), "")
    with _store(url) as store:
        _timed(f"{count:,} records written in bulk", lambda: fill(store, count))
        report = _timed("report of all", lambda: drift_report(store))
        _timed("report of all, once more", lambda: drift_report(store))
        _timed("report of the last 7 days", lambda: drift_report(store, since=START + 23 * 86_400))
        _timed("report of one tool", lambda: drift_report(store, tool="search_flights"))
        _timed("report of one model", lambda: drift_report(store, model="local-8b"))
        page = _timed("the page", lambda: drift_page(report))
        print(f"{'size of the page':36} {len(page.encode()) / 1000:8.0f} kB")
        assert report.total.calls + report.total.not_run == count
        assert not count > 10_000 or report.total.not_run
