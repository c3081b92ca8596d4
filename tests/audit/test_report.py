"""The drift report of real calls: what is counted, what is named, what is left out."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, event

from toolbox import (
    ABSENT,
    ApprovalPending,
    AuditRecord,
    AuditStore,
    CallStatus,
    Diagnostic,
    DiagnosticKind,
    Failure,
    FailureReason,
    Param,
    Recovery,
    Redaction,
    Registry,
    ReviewQueue,
    Risk,
    StoreError,
    call_metadata,
    drift_report,
    replay,
)
from toolbox.audit.report import DriftReport, Tally, drift_page
from toolbox.audit.report.drift import NO_MODEL, OTHERS, WHOLE, count_text, percent_text, span_text, words
from toolbox.audit.report.query import Scope, ask
from toolbox.replaying import Unchecked

Called = tuple[str, Any, str | None]


@dataclass
class Item:
    sku: str
    price: int


def search(
    query: str,
    limit: int = 10,
    order: Annotated[Literal["asc", "desc"], Param(aliases={"up": "asc"})] = "asc",
    tags: list[str] | None = None,
    when: date | None = None,
) -> str:
    """Search."""
    if query == "fail":
        raise ValueError("no luck")
    return query


def order_items(items: list[Item], api_key: Annotated[str, Param(secret=True)] = "") -> int:
    """Order."""
    return len(items)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AuditStore]:
    """An empty store."""
    with AuditStore(tmp_path / "audit.db") as made:
        yield made


@pytest.fixture
def registry(store: AuditStore) -> Registry:
    """Two tools whose calls are kept."""
    made = Registry(sinks=[store])
    made.register(search)
    made.register(order_items)
    return made


CALLS: list[Called] = [
    ("search", {"query": "a"}, "large"),
    ("search", {"query": "a", "limit": 5}, "large"),
    ("search", {"query": "a", "limit": "5"}, "small"),
    ("search", {"query": "a", "limit": "7"}, "small"),
    ("search", {"Query": "a", "Limit": "5"}, "small"),
    ("search", {"query": "a", "limit": "many"}, "small"),
    ("search", {"query": "a", "order": "ASC", "page": 2}, "large"),
    ("search", {"query": "a", "order": "rising"}, "small"),
    ("search", {"query": "a", "when": "tomorrow"}, None),
    ("search", {"query": "fail"}, "large"),
    ("search", '```json\n{"query": "a",}\n```', "small"),
    ("search", '{"query": "a', "small"),
    ("order_items", {"items": [{"sku": 1, "price": "5"}, {"sku": "b", "price": "6"}, {"sku": "c", "Price": "7"}]}, "small"),
    ("order_items", {"items": [], "api_key": 5}, "large"),
    ("no_such_tool", {"x": 1}, "large"),
    ("no_such_tool", {"x": 1}, "small"),
]


def _run(registry: Registry, calls: list[Called]) -> None:
    for tool, payload, model in calls:
        registry.run(tool, payload, metadata=None if model is None else {"model": model})


@pytest.fixture
def made(registry: Registry, store: AuditStore) -> DriftReport:
    """The report of the calls above."""
    _run(registry, CALLS)
    return drift_report(store, source="audit.db")


def test_each_call_counts_once(made: DriftReport) -> None:
    """The totals are those of the calls, by what became of the arguments and by how the calls ended."""
    assert made.total.to_dict() == {
        "calls": 16,
        "as_is": 3,
        "mended": 7,
        "refused": 4,
        "unknown_tool": 2,
        "statuses": {"done": 9, "refused": 4, "unknown_tool": 2, "failed": 1},
        "not_run": 0,
    }
    for groups in (made.models, made.buckets):
        assert sum((item.tally for item in groups), Tally()).to_dict() == made.total.to_dict()


def test_by_tool_and_by_model(made: DriftReport) -> None:
    """Tools that do not exist are none of the tools; calls without a model are a group of their own."""
    assert [(item.name, item.tally.calls, dict(item.models)) for item in made.tools] == [
        ("search", 12, {"small": 7, "large": 4, NO_MODEL: 1}),
        ("order_items", 2, {"small": 1, "large": 1}),
    ]
    assert [(item.name, item.tally.calls, item.tally.mended, item.tally.refused) for item in made.models] == [
        ("small", 9, 5, 3),
        ("large", 6, 2, 0),
        (NO_MODEL, 1, 0, 1),
    ]
    assert made.unknown_tools == (("no_such_tool", 2),)
    assert [item.top for item in made.models] == [
        "search, limit: coerced str->int",
        "order_items, api_key: coerced int->str",
        "search, when: refused, invalid",
    ]


def test_heat_rows(made: DriftReport) -> None:
    """A parameter counts under its declared name, a call once however often it drifts there, and a name that is not declared is marked."""
    rows = {(item.tool, item.parameter): (item.changed, item.refused, item.drifted, item.is_declared) for item in made.parameters}
    assert rows == {
        ("search", "limit"): (3, 1, 4, True),
        ("search", "order"): (1, 1, 2, True),
        ("search", WHOLE): (1, 1, 2, True),
        ("search", "query"): (1, 0, 1, True),
        ("search", "page"): (1, 0, 1, False),
        ("search", "when"): (0, 1, 1, True),
        ("order_items", "items[*].sku"): (1, 0, 1, True),
        ("order_items", "items[*].price"): (1, 0, 1, True),
        ("order_items", "api_key"): (1, 0, 1, True),
    }
    limit = next(item for item in made.parameters if item.parameter == "limit")
    assert (limit.calls, limit.models, round(limit.share, 3)) == (12, {"small": 4}, 0.333)


def test_changes_and_refusals(made: DriftReport) -> None:
    """Each drift has its calls, its examples with how often they came, and what would prevent it; defaults that were filled in are none."""
    first = made.changes[0]
    assert (first.tool, first.parameter, first.label, first.calls, first.of_calls, first.risk) == (
        "search",
        "limit",
        "coerced str->int",
        3,
        12,
        "info",
    )
    assert {(item.came, item.became, item.count) for item in first.examples} == {('"5"', "5", 2), ('"7"', "7", 1)}
    assert "defaulted" not in {item.kind for item in made.changes}
    refused = {(item.parameter, item.kind): item for item in made.refusals}
    assert set(refused) == {("limit", "invalid"), ("order", "not_a_choice"), ("when", "invalid"), (WHOLE, "invalid")}
    assert refused["when", "invalid"].examples[0].detail == "it is not ISO 8601"
    assert "ISO 8601" in refused["when", "invalid"].advice.text
    assert refused["limit", "invalid"].label == "refused, invalid"
    renamed = next(item for item in made.changes if item.kind == "renamed" and item.parameter == "query")
    assert renamed.advice.code == 'query: Annotated[..., Param(alias="Query")]'


def test_secrets_are_as_on_record(registry: Registry, store: AuditStore) -> None:
    """The value of a secret parameter is in no part of the report."""
    registry.run("order_items", {"items": [], "api_key": 4_815_162_342})
    registry.run("order_items", {"items": "4815162342", "api_key": ["4815162342"]})
    said = json.dumps(drift_report(store).to_dict())
    assert "api_key" in said
    assert "***" in said
    assert "4815162342" not in said.replace('"4815162342\\"', "")


def test_postgresql_says_the_same(postgres_url: str, registry: Registry, store: AuditStore) -> None:
    """The same records give the same report from a server: counts, rows, stretches of time and examples."""
    _run(registry, CALLS)
    store.append([_stopped(1), _stopped(2, _coerced("$.limit")), _stopped(3, _coerced("$.items[0].price"), tool="order_items")])
    with AuditStore(postgres_url) as server:
        server.append(store.records())
        mine, theirs = drift_report(store).to_dict(), drift_report(server).to_dict()
        assert mine | {"made_at": ""} == theirs | {"made_at": ""}
        assert (mine["total"]["calls"], mine["total"]["not_run"]) == (16, 3)
        times = [record.time for record in store.records()]
        options: list[dict[str, Any]] = [
            {"model": "small"},
            {"model": NO_MODEL},
            {"tool": "order_items"},
            {"since": times[2], "until": times[9]},
        ]
        for option in options:
            mine, theirs = drift_report(store, **option).to_dict(), drift_report(server, **option).to_dict()
            assert mine | {"made_at": ""} == theirs | {"made_at": ""}


def test_filters(registry: Registry, store: AuditStore) -> None:
    """Tool, model and time leave out calls everywhere: in the totals, the rows and the examples."""
    _run(registry, CALLS)
    small = drift_report(store, model="small")
    assert (small.total.calls, [item.name for item in small.models]) == (9, ["small"])
    assert all(set(item.models) == {"small"} for item in small.drifts)
    nobody = drift_report(store, model=NO_MODEL)
    assert (nobody.total.calls, [item.parameter for item in nobody.refusals]) == (1, ["when"])
    ordered = drift_report(store, tool="order_items")
    assert (ordered.total.calls, {item.tool for item in ordered.parameters}) == (2, {"order_items"})
    times = [record.time for record in store.records()]
    later = drift_report(store, since=times[3])
    assert later.total.calls == len(times) - 3
    limit = next(item for item in later.changes if item.label == "coerced str->int" and item.parameter == "limit")
    assert (limit.calls, sum(item.count for item in limit.examples)) == (2, 2)
    assert drift_report(store, until=times[3]).total.calls == 3
    moment = datetime.datetime.fromtimestamp(times[3], datetime.UTC)
    assert drift_report(store, since=moment).since == pytest.approx(times[3], abs=1e-5)


def test_a_moment_needs_a_zone(store: AuditStore) -> None:
    """A datetime without a time zone is refused, since nobody knows which moment it is."""
    with pytest.raises(StoreError, match="time zone"):
        drift_report(store, since=datetime.datetime(2026, 7, 2))  # noqa: DTZ001 - the case


@pytest.mark.parametrize("moment", ["2026-07-02", "soon", [], 10**400])
def test_what_is_no_moment(store: AuditStore, moment: Any) -> None:
    """A text is no moment: compared with the times on record, it would leave out all of them without a word."""
    with pytest.raises(StoreError, match="until= takes seconds since the epoch or an aware datetime, and not"):
        drift_report(store, until=moment)


def test_empty(store: AuditStore) -> None:
    """A store without a call gives a report without a number."""
    made = drift_report(store)
    assert (made.total.calls, made.first, made.tools, made.buckets, made.drifts) == (0, None, (), (), [])


def _record(number: int, *changes: Diagnostic, failures: tuple[Failure, ...] = (), **fields: Any) -> AuditRecord:
    status = fields.pop("status", CallStatus.REFUSED if failures else CallStatus.DONE)
    return AuditRecord(
        fields.pop("tool", "search"),
        "lenient",
        {},
        None if failures else {},
        tuple(changes),
        failures,
        status,
        metadata={"model": fields.pop("model", "m")},
        time=fields.pop("time", 1_782_000_000.0 + number),
        id=f"r-{number}",
        **fields,
    )


def _coerced(path: str, risk: Risk = Risk.INFO) -> Diagnostic:
    return Diagnostic(path, DiagnosticKind.COERCED, risk, "5", 5, "str->int")


def _failure(path: str, value: Any = "x") -> Failure:
    return Failure(path, FailureReason.INVALID, "an integer", value, "it is not a number")


def test_changed_and_refused_at_one_place(store: AuditStore) -> None:
    """A call in which one place was both changed and refused is one call that drifted there."""
    store.append(
        [_record(1, _coerced("$.a"), failures=(_failure("$.a"),)), _record(2, _coerced("$.a")), _record(3, failures=(_failure("$.a"),))]
    )
    row = drift_report(store).parameters[0]
    assert (row.changed, row.refused, row.drifted, row.calls, row.models) == (2, 2, 3, 3, {"m": 3})


def test_defaults_alone_are_no_drift(store: AuditStore) -> None:
    """A default for what was not given leaves a call as it is; one in place of null does not."""
    filled = Diagnostic("$.a", DiagnosticKind.DEFAULTED, Risk.INFO, ABSENT, 1, "default")
    for_null = Diagnostic("$.a", DiagnosticKind.DEFAULTED, Risk.WARNING, None, 1, "default")
    store.append([_record(1, filled), _record(2, filled, for_null)])
    made = drift_report(store)
    assert (made.total.as_is, made.total.mended, made.parameters[0].drifted) == (1, 1, 1)


def test_held_calls(store: AuditStore) -> None:
    """A call that waits for a person counts by whether its arguments fitted."""
    store.append(
        [
            _record(1, status=CallStatus.PENDING),
            _record(2, _coerced("$.a"), status=CallStatus.PENDING),
            _record(3, failures=(_failure("$.a"),), status=CallStatus.PENDING),
        ]
    )
    total = drift_report(store).total
    assert (total.as_is, total.mended, total.refused, total.statuses) == (1, 1, 1, {"pending": 3})


def test_open_calls(store: AuditStore) -> None:
    """A call that runs is running, for as long as its process lives."""
    store.opened(_record(1, status=CallStatus.RUNNING))
    assert drift_report(store).total.statuses == {"running": 1}


@pytest.mark.parametrize(
    ("span", "width"),
    [(0, 60), (40 * 60, 60), (3_600, 300), (86_400, 3_600), (7 * 86_400, 21_600), (30 * 86_400, 86_400), (3_650 * 86_400, 364 * 86_400)],
)
def test_buckets(store: AuditStore, span: float, width: int) -> None:
    """The stretches of time are as many as can be looked at, without a gap, and hold every call."""
    store.append([_record(number, time=1_782_000_000.0 + span * number / 4) for number in range(5)])
    buckets = drift_report(store).buckets
    assert {item.end - item.start for item in buckets} == {width}
    assert all(before.end == after.start for before, after in itertools.pairwise(buckets))
    assert sum(item.tally.calls for item in buckets) == 5
    assert len(buckets) <= 50


def test_many_names_are_bounded(store: AuditStore) -> None:
    """However many names models make up, the report stays small, and says how many it leaves out."""
    store.append(
        [
            _record(number, Diagnostic(f"$.p{number}", DiagnosticKind.DROPPED, Risk.WARNING, 1, None, "unknown"), model=f"m-{number % 40}")
            for number in range(300)
        ]
    )
    store.append([_record(1_000 + number, tool=f"stranger_{number}", status=CallStatus.UNKNOWN_TOOL) for number in range(30)])
    made = drift_report(store)
    assert (len(made.parameters), len(made.changes), len(made.models), len(made.unknown_tools)) == (200, 50, 13, 20)
    assert dict(made.left_out) == {"tools": 0, "models": 29, "parameters": 100, "changes": 250, "refusals": 0, "unknown_tools": 10}
    assert made.models[-1].name == OTHERS
    assert sum(item.tally.calls for item in made.models) == made.total.calls == 330


def test_values_are_bounded(store: AuditStore) -> None:
    """A long value is shown by its beginning."""
    store.append([_record(1, Diagnostic("$.a", DiagnosticKind.COERCED, Risk.WARNING, ["x" * 5_000], "x", "list->str"))])
    example = drift_report(store).changes[0].examples[0]
    assert example.came.startswith('["xxx')
    assert example.came.endswith("x...")
    assert len(example.came) < 200


KEYS = st.text(max_size=12) | st.sampled_from(["limit", "Limit", "query", "page", "items[0]", "a.b", "'", "\\", "]", "\u202e"])
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.lists(st.integers(), max_size=2)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["search", "order_items", "other"]), st.dictionaries(KEYS, VALUES, max_size=3)), min_size=1, max_size=6
    )
)
def test_counts_hold_for_any_calls(calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Whatever is called: the parts add up to the whole, and no share is more than the whole."""
    with AuditStore("sqlite://") as store:
        registry = Registry(sinks=[store])
        registry.register(search)
        registry.register(order_items)
        _run(registry, [(tool, payload, "m") for tool, payload in calls])
        made = drift_report(store)
        total = made.total
        assert total.calls == len(calls) == sum(total.statuses.values()) == sum(item.tally.calls for item in made.buckets)
        assert total.mended == sum(
            1 for record in store.records() if record.invoked is not None and any(_is_drift(item) for item in record.diagnostics)
        )
        for row in made.parameters:
            assert max(row.changed, row.refused) <= row.drifted <= min(row.changed + row.refused, row.calls)
            assert sum(row.models.values()) == row.drifted
        for item in made.drifts:
            assert 0 < item.calls <= item.of_calls
            assert item.advice.text
        assert json.loads(json.dumps(made.to_dict(), allow_nan=False))["total"]["calls"] == len(calls)


def _is_drift(item: Diagnostic) -> bool:
    return item.kind is not DiagnosticKind.DEFAULTED or item.risk is not Risk.INFO


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_percentages(part: int, more: int) -> None:
    """A percentage is 0 for nothing alone, 100 for everything alone."""
    said = percent_text(part, part + more)
    assert (said == "0 %") == (part == 0)
    assert (said == "100 %") == (part > 0 and more == 0)
    assert count_text(part).replace(",", "") == str(part)


@pytest.mark.parametrize(
    ("kind", "conversion", "said"),
    [
        ("coerced", "str->int", "coerced str->int"),
        ("matched", "match:token", "matched token"),
        ("defaulted", "default", "defaulted"),
        ("defaulted", "null", "defaulted null"),
        ("dropped", "unknown", "dropped"),
        ("dropped", "repeated items", "dropped repeated items"),
        ("bound", "bound to query", "bound to query"),
        ("wrong_type", "", "wrong type"),
    ],
)
def test_words(kind: str, conversion: str, said: str) -> None:
    """A drift is called by its kind and by what its conversion adds to it."""
    assert words(kind, conversion) == said


def test_runs_that_no_model_asked_for_are_counted_apart(tmp_path: Path) -> None:
    """What a person approved, and the corrected form of a call, are no calls of a model; the calls that they follow from are, each once."""
    answer = json.dumps({"recovery_status": "SUCCESS", "corrected_arguments": {"seats": 1234}})
    with AuditStore(f"sqlite:///{tmp_path / 'audit.db'}") as store:
        queue = ReviewQueue(store)
        registry = Registry(sinks=[store], review=queue, recovery=Recovery(lambda _: answer, max_attempts=1))

        @registry.tool
        def book(seats: int) -> int:
            """Book seats."""
            return seats

        registry.register(book, name="pay", approval="always")
        with call_metadata(model="m"):
            registry.run("book", {"seats": 2})
            registry.run("book", {"seats": "1,234"})
            registry.run("book", {"seats": "a few"})
            pending = registry.run("pay", {"seats": 3}).error
        assert isinstance(pending, ApprovalPending)
        item = queue.get(pending.item_id)
        queue.approve(item.id, by="u-17", shown_hash=item.hash)
        assert queue.run(registry, item.id).ok
        report = drift_report(store)
        replayed = replay(store, registry)
    total = report.total
    assert (total.calls, total.as_is, total.mended, total.refused) == (4, 2, 0, 2)
    assert report.followed == {"review": 1, "recovery": 1}
    assert report.uncounted_texts == ["1 approved by a person and run", "1 corrected by a model and run again"]
    assert "Not counted: 1 approved by a person and run; 1 corrected by a model and run again." in drift_page(report)
    assert replayed.unchecked[Unchecked.FOLLOWED].count == 2


def test_what_is_no_store_is_refused_at_once() -> None:
    """With what to pass instead."""
    with pytest.raises(TypeError, match=r'drift_report takes a store, such as AuditStore\(...\), and not "audit.db"'):
        drift_report("audit.db")  # type: ignore[arg-type]


def test_what_was_left_out_became_nothing(store: AuditStore) -> None:
    """A dropped argument is said to be left out, and no null; where items were left out of a list, what became of it is shown."""
    registry = Registry(sinks=[store], redaction=Redaction(keys=["api_key"]))

    @registry.tool
    def paint(tags: set[str] | None = None) -> int:
        """Paint."""
        return len(tags or ())

    registry.run("paint", {"tags": ["a"], "colour": "red", "api_key": "k-123"})
    registry.run("paint", {"tags": ["a", "a"]})
    report = drift_report(store)
    found = {item.parameter: (item.leaves_out, [(example.came, example.became) for example in item.examples]) for item in report.changes}
    assert found == {
        "colour": (True, [('"red"', "")]),
        "api_key": (True, [('"***"', "")]),
        "tags": (True, [('["a", "a"]', '["a"]')]),
    }
    page = drift_page(report)
    assert "red&quot;</bdi></code>, left out" in page
    assert "null" not in page
    advice = {item.parameter: item.advice.text for item in report.changes}
    assert "add it" in advice["colour"]
    assert "add it" not in advice["api_key"]


def test_names_are_found_by_the_index(store: AuditStore) -> None:
    """Models can make up any number of spellings, so none of the questions may read all changes for each of them."""
    plans: list[str] = []

    def listen(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        if statement.startswith("SELECT"):
            plans.extend(row[3] for row in connection.connection.driver_connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

    store.append([_record(1, Diagnostic("$.Limit", DiagnosticKind.RENAMED, Risk.INFO, "Limit", "limit", "parameter"))])

    def work(connection: Connection) -> DriftReport:
        event.listen(connection, "before_cursor_execute", listen)
        return ask(connection, Scope(), "")

    assert [item.parameter for item in store.read(work).changes] == ["limit"]
    assert any("toolbox_changes_drift" in plan for plan in plans)
    assert [plan for plan in plans if plan == "SCAN toolbox_changes"] == []
    # What goes through all changes, or all failures, looks at no row of theirs.
    through_all = [plan for plan in plans if plan.startswith(("SCAN toolbox_changes", "SCAN toolbox_failures"))]
    assert len(through_all) >= 3
    assert all("USING COVERING INDEX" in plan for plan in through_all)


def _stopped(number: int, *changes: Diagnostic, **fields: Any) -> AuditRecord:
    """A call that the application did not run, such as for a missing value in the context."""
    return _record(number, *changes, status=CallStatus.REFUSED, error="no value in the context", **fields)


def test_what_the_application_did_not_run_is_in_no_share(store: AuditStore) -> None:
    """Calls refused for a reason of the application have a number of their own; neither they nor their changes are the model's."""
    store.append([_record(1, _coerced("$.a")), _record(2), _record(3, failures=(_failure("$.a"),))])
    before = drift_report(store).to_dict()
    stopped = [
        _stopped(4),
        _stopped(5, _coerced("$.a")),
        _stopped(6, _coerced("$.b"), model="other"),
        _stopped(7, _coerced("$.a"), tool="pay"),
    ]
    store.append(stopped)
    report = drift_report(store)
    total = report.total
    assert (total.calls, total.as_is, total.mended, total.refused, total.not_run) == (3, 1, 1, 1, 4)
    assert total.statuses == {"done": 2, "refused": 1}
    assert [(item.name, item.tally.calls, item.tally.not_run) for item in report.tools] == [("search", 3, 3), ("pay", 0, 1)]
    assert [(item.name, item.tally.calls, item.tally.not_run) for item in report.models] == [("m", 3, 3), ("other", 0, 1)]
    after = report.to_dict()
    for name in ("parameters", "changes", "refusals"):
        assert after[name] == before[name]
    assert report.uncounted_texts == ["4 not run for a reason of the application"]
    page = drift_page(report)
    assert "Not counted: 4 not run for a reason of the application." in page
    assert '<div class="tile not_run"><dt>Not run</dt><dd>4</dd>' in page
    assert sum((item.tally for item in report.buckets), Tally()).to_dict() == total.to_dict()


def test_the_application_is_to_blame_by_the_rule_of_the_replay(store: AuditStore) -> None:
    """Of every status, with failures and without: what the replay leaves out as another reason is what the report does not count."""
    records = [
        _record(2 * number + bool(failures), _coerced("$.a"), failures=failures, status=status)
        for number, status in enumerate(CallStatus)
        for failures in ((), (_failure("$.a"),))
    ]
    store.append(records)
    report = drift_report(store)
    registry = Registry()

    @registry.tool(name="search")
    def _search(a: int = 1) -> int:
        """Search."""
        return a

    unchecked = replay(records, registry).unchecked
    assert report.total.not_run == unchecked[Unchecked.OTHER_REASON].count == 4
    assert report.total.calls == len(records) - 4


def test_nothing_but_calls_that_were_not_run(store: AuditStore) -> None:
    """Then there is nothing to say of a model, and that is what the page says."""
    store.append([_stopped(1, _coerced("$.a"))])
    report = drift_report(store)
    assert (report.total.calls, report.total.not_run, report.drifts, report.parameters) == (0, 1, [], ())
    page = drift_page(report)
    assert "No call in this range says something about a model." in page
    assert "Not counted: 1 not run for a reason of the application." in page


def _renamed(path: str, name: str) -> Diagnostic:
    return Diagnostic(path, DiagnosticKind.RENAMED, Risk.INFO, path.removeprefix("$."), name, "parameter")


def test_many_changes_and_many_refusals_take_no_room_from_each_other(store: AuditStore) -> None:
    """Both lists are full, and each holds the most frequent of its kind, with its calls counted once though they hold it twice."""
    twice = (_renamed("$.Limit", "limit"),)
    calls = []
    for number in range(150):
        calls += [_record(1_000 * number + place, _coerced(f"$.c{number}")) for place in range(3)]
        calls += [_record(500_000 + 1_000 * number + place, failures=(_failure(f"$.r{number}"),)) for place in range(3)]
    calls += [_record(900_000, *twice, failures=(_failure("$.Limit"), _failure("$.limit")))]
    calls += [_record(910_000 + number, *twice, _coerced("$.Limit"), _coerced("$.limit")) for number in range(2)]
    store.append(calls)
    report = drift_report(store)
    assert (len(report.changes), len(report.refusals)) == (50, 50)
    assert {item.calls for item in report.changes} == {item.calls for item in report.refusals} == {3}
    assert (report.left_out["changes"], report.left_out["refusals"]) == (102, 101)
    limit = next(item for item in report.parameters if item.parameter == "limit")
    assert (limit.changed, limit.refused, limit.drifted) == (3, 1, 3)


@pytest.mark.parametrize("is_refusal", [False, True])
def test_the_rarer_kind_is_counted_once_behind_many_of_the_other(store: AuditStore, *, is_refusal: bool) -> None:
    """However many changes stand before a refusal, or the other way round, one call that holds it under two spellings is one call."""

    def call(number: int, *paths: str, refused: bool, renamed: tuple[Diagnostic, ...] = ()) -> AuditRecord:
        if refused:
            return _record(number, *renamed, failures=tuple(map(_failure, paths)))
        return _record(number, *renamed, *map(_coerced, paths))

    many = [call(10 * number + place, f"$.p{number}", refused=not is_refusal) for number in range(110) for place in range(3)]
    both = call(9_000, "$.Limit", "$.limit", refused=is_refusal, renamed=(_renamed("$.Limit", "limit"),))
    store.append([*many, both])
    report = drift_report(store)
    found = next(item for item in report.drifts if item.parameter == "limit" and item.kind in ("coerced", "invalid"))
    assert (found.is_refusal, found.calls) == (is_refusal, 1)


DAMAGE = {
    "time": "UPDATE toolbox_records SET opened_at = 'x' WHERE id = 'r-1'",
    "times": "UPDATE toolbox_records SET opened_at = X'00'",
    "status": "UPDATE toolbox_records SET status = 'bogus' || char(27) WHERE id = 'r-1'",
    "statuses": "UPDATE toolbox_records SET status = X'ff'",
    "tool": "UPDATE toolbox_records SET tool = X'ff00' WHERE id = 'r-1'",
    "model": "UPDATE toolbox_records SET model = 5, origin = 7 WHERE id = 'r-1'",
    "kind": "UPDATE toolbox_changes SET kind = 'bogus', risk = 99 WHERE record_id = 'r-1'",
    "place": "UPDATE toolbox_changes SET place = X'ff', tool = X'ff'",
    "number": "UPDATE toolbox_changes SET place = 5, conversion = 5.5, path = X'00'",
    "value": "UPDATE toolbox_changes SET value_before = X'ff', value_after = 7, suggestion = 1",
    "json": "UPDATE toolbox_changes SET kind = 'renamed', conversion = 'parameter', value_after = '{', value_before = '['",
    "failure": "UPDATE toolbox_failures SET would_be = '[', value = 1, reason = 7, detail = X'00', expected = 2",
    "would_be": 'UPDATE toolbox_failures SET would_be = \'{"after": [1], "conversion": {}}\'',
    "lost": "DELETE FROM toolbox_records WHERE id <> 'r-2'",
    "none": "DELETE FROM toolbox_changes",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_whatever_somebody_has_written_into_the_store(tmp_path: Path, damage: str) -> None:
    """It is reported, or refused as what it is; nothing else is raised, and no control character is in the page."""
    with AuditStore(tmp_path / "audit.db") as store:
        store.append([_record(number, _coerced("$.a"), failures=(_failure("$.b"),) if number % 2 else ()) for number in range(4)])
    with contextlib.closing(sqlite3.connect(tmp_path / "audit.db", isolation_level=None)) as connection:
        connection.execute(DAMAGE[damage])
    report, reason = None, ""
    with AuditStore(tmp_path / "audit.db", read_only=True) as store:
        try:
            report = drift_report(store)
        except StoreError as error:
            reason = error.reason
    if report is None:
        assert reason in ("corrupt", "failed")
    else:
        assert json.dumps(report.to_dict(), allow_nan=False)
        assert "\x1b" not in drift_page(report)


def test_names_with_nothing_to_see_are_in_quotes(store: AuditStore) -> None:
    """An empty name, or one of spaces, can be told from no name at all."""
    store.append([_record(1, _coerced("$.a"), model=""), _record(2, tool=" ", status=CallStatus.UNKNOWN_TOOL)])
    page = drift_page(drift_report(store))
    assert page.count("<bdi>&quot;&quot;</bdi>") >= 2
    assert "<bdi>&quot; &quot;</bdi>" in page


def test_a_clock_that_was_set_wrong(store: AuditStore) -> None:
    """Moments that no calendar has are short, and the stretches of time still hold every call."""
    store.append([_record(1, time=0.0), _record(2, time=1e300), _record(3, time=-5e9)])
    made = drift_report(store)
    assert sum(item.tally.calls for item in made.buckets) == made.total.calls == 3
    assert max(len(text) for item in made.buckets for text in (item.to_dict()["start"], span_text(item.end - item.start))) < 40
