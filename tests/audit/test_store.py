"""The store gives back what it was given, finds it, forgets it when asked to, and says plainly what is wrong."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox import (
    ABSENT,
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
    call_metadata,
)
from toolbox.audit.store import sessions
from toolbox.audit.store.columns import COLUMN
from toolbox.audit.store.sessions import life_of, this_session
from toolbox.audit.store.turns import Waiting
from toolbox.audit.store.writing import Ending
from toolbox.diagnostics import MASK

Opener = Callable[..., AuditStore]

CHANGE = Diagnostic("$.items[3].price", DiagnosticKind.COERCED, Risk.WARNING, "1.0", 1, "str->int", "send a number")
DROPPED = Diagnostic("$.note", DiagnosticKind.DROPPED, Risk.INFO, None, ABSENT)
FAILURE = Failure("$.items[0]", FailureReason.WRONG_TYPE, "an integer", "x\0", "it is not", "send one", CHANGE)
MISSING = Failure("$.n", FailureReason.MISSING, "an integer")


def a_record(name: Any = "f", **fields: Any) -> AuditRecord:
    """A finished record."""
    return AuditRecord(name, "lenient", **{"arguments": {"n": 1}, "invoked": {"n": 1}, "status": CallStatus.DONE, **fields})


def some_registry(store: AuditStore) -> Registry:
    """Tools of several fates."""
    registry = Registry(sinks=[store])

    @registry.tool
    def double(number: int) -> int:
        return number * 2

    @registry.tool
    def fail(number: int) -> int:
        raise ValueError("no\0\ud800")

    @registry.tool(secret=["pin"])
    def login(user: str, pin: int) -> str:
        return "in"

    return registry


# -- what goes in comes out -----------------------------------------------------------------------------------------------------------


def test_a_record_comes_back_whole(store: AuditStore) -> None:
    """Every field of a record is there again, and every change and failure with its values."""
    before = a_record(
        arguments={"n": "1", "deep": [{"a": None}, True, 1.5, "ü"]},
        diagnostics=(CHANGE, DROPPED),
        failures=(FAILURE, MISSING),
        status=CallStatus.REFUSED,
        invoked=None,
        duration_ms=12.5,
        error="no",
        call_id="call-1",
        metadata={"model": "m-1", "conversation_id": "c-1", "user": "u-17", "tags": ["a", "b"], "more": {"x": 1}},
    )
    store(before)
    (after,) = store.records()
    assert after.to_dict() == before.to_dict()
    assert after.diagnostics == before.diagnostics
    assert after.failures == before.failures
    assert after.closed_at == pytest.approx(before.time + 0.0125)
    assert not after.is_cut


@pytest.mark.parametrize(
    ("run", "status"),
    [
        (lambda registry: registry.run("double", {"number": 1}), "done"),
        (lambda registry: registry.run("double", {"number": "x"}), "refused"),
        (lambda registry: registry.run("double", "{"), "refused"),
        (lambda registry: registry.run("fail", {"number": 1}), "failed"),
        (lambda registry: registry.run("nothing", {"number": 1}), "unknown_tool"),
        (lambda registry: asyncio.run(registry.arun("double", {"number": 1})), "done"),
        (lambda registry: asyncio.run(registry.arun("fail", {"number": 1})), "failed"),
    ],
)
def test_every_end_of_a_call_is_kept(store: AuditStore, run: Callable[[Registry], object], status: str) -> None:
    """One record for each call, with its status, whether or not the function ran."""
    registry = some_registry(store)
    run(registry)
    (record,) = store.records()
    assert record.status == status
    assert record.closed_at is not None
    assert registry.lost_records == 0


def test_the_opening_is_durable_before_the_function_runs(store: AuditStore) -> None:
    """While a function runs, its record is there, with what it was run with and what was changed for that."""
    registry = Registry(sinks=[store])
    seen: list[Any] = []

    @registry.tool
    def look(number: int) -> None:
        seen.extend(store.records())

    registry.dispatch("look", {"number": "2"})
    (during,) = seen
    (afterwards,) = store.records()
    assert (during.status, during.invoked, during.closed_at) == ("running", {"number": 2}, None)
    assert during.diagnostics == afterwards.diagnostics
    assert len(afterwards.diagnostics) == 1
    assert (afterwards.status, afterwards.id) == ("done", during.id)


def test_metadata_has_columns_of_its_own(store: AuditStore) -> None:
    """What the caller says about a call can be asked for."""
    registry = some_registry(store)
    with call_metadata(model="m-1", conversation_id="c-1", user="u-17", tags=["x"]):
        registry.dispatch("double", {"number": 1})
    registry.dispatch("double", {"number": 2}, metadata={"model": "m-2"})
    assert [item.arguments["number"] for item in store.records(model="m-1", conversation_id="c-1")] == [1]
    assert store.count(model="m-2") == 1
    row = store.read(
        lambda connection: connection.execute(sqlalchemy.text("SELECT user_id FROM toolbox_records WHERE model = 'm-1'")).scalar()
    )
    assert row == "u-17"


def test_several_registries_share_a_store(store: AuditStore) -> None:
    """A store may be the sink of several registries."""
    for number, registry in enumerate([some_registry(store), some_registry(store)]):
        registry.dispatch("double", {"number": number})
    assert [item.arguments["number"] for item in store.records()] == [0, 1]


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]


class Rude:
    """A value that lets nobody look at it."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


class RudeDict(dict[str, Any]):
    """A mapping that lets nobody look into it."""

    def items(self) -> Any:
        raise RuntimeError("no")


HOSTILE = [
    "\ud800 lone, \udfff\ud800 turned round",
    "NUL \0 inside",
    "\\u0000 written out",
    10**5000,
    -(10**4000),
    float("nan"),
    float("inf"),
    CYCLE,
    DEEP,
    {1: {2: {3: object()}}},
    {"\ud800": "\0"},
    {("a", "tuple"): b"\xff\x00"},
    [Rude()],
    RudeDict(a=1),
    {"a": datetime.now(UTC), "b": {1, 2}, "c": 1j, "d": Path("/x"), "e": Rude},
    "x" * 1_000_000,
    ["\U0001f600" * 100] * 1_000,
    {str(number): "ü" * 50 for number in range(4_000)},
]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_any_value_goes_in_and_comes_out(store: AuditStore, value: Any) -> None:
    """Whatever a record holds, wherever it holds it, is kept: bounded, and as plain JSON data."""
    change = Diagnostic(str(value)[:50] if isinstance(value, str) else "$", DiagnosticKind.COERCED, Risk.INFO, value, value)
    failure = Failure("$", FailureReason.INVALID, "x\0", value, would_be=change)
    text: Any = value if isinstance(value, str) else None
    store(
        a_record(
            text or "f",
            arguments=value,
            invoked={"value": value},
            diagnostics=(change,),
            failures=(failure,),
            error=text,
            call_id=text,
            metadata={"model": value, "user": value, "conversation_id": value, "more": value},
        )
    )
    (after,) = store.records()
    json.dumps(after.to_dict(), allow_nan=False)
    sizes = store.read(
        lambda connection: connection.execute(
            sqlalchemy.text("SELECT length(arguments), length(invoked), length(metadata), length(tool), length(model) FROM toolbox_records")
        ).one()
    )
    assert all(size <= COLUMN for size in sizes)
    assert store.check() == []


def test_the_texts_that_are_hard_to_write_come_back(store: AuditStore) -> None:
    """A NUL and half of a surrogate pair are the same afterwards."""
    store(a_record(arguments={"a\0": "b\0\ud800"}))
    (after,) = store.records()
    assert after.arguments == {"a\0": "b\0\ud800"}


@pytest.mark.parametrize("size", [COLUMN - 10, COLUMN, 5 * COLUMN])
def test_what_is_too_large_is_marked(store: AuditStore, size: int) -> None:
    """What is cut says so; what just fits is kept whole."""
    value = {"texts": ["x" * 1_000] * (size // 1_004)}
    store(a_record(arguments=value))
    (after,) = store.records()
    assert after.is_cut == (len(json.dumps(value)) > COLUMN)
    assert (after.arguments == value) != after.is_cut


def test_many_changes_are_bounded(store: AuditStore) -> None:
    """Of a record with very many changes and failures, the first are kept, and it is marked."""
    store(a_record(diagnostics=(CHANGE,) * 1_500, failures=(MISSING,) * 1_500))
    (after,) = store.records()
    assert (len(after.diagnostics), len(after.failures), after.is_cut) == (1_000, 1_000, True)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec=None), max_size=8), inner, max_size=4),
    max_leaves=12,
)
_PROPERTY = AuditStore("sqlite://")


@settings(max_examples=150, deadline=None)
@given(_values)
def test_plain_values_are_kept_exactly(value: Any) -> None:
    """A JSON value, with whatever text in it, is the same afterwards; NaN and the infinities, which are none, are their names."""
    record = a_record(arguments=[value], metadata={"value": value})
    _PROPERTY(record)
    after = _PROPERTY.record(record.id)
    assert after is not None
    expected = json.loads(json.dumps(value), parse_constant={"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.get)
    assert after.arguments == [expected]
    assert after.metadata == {"value": expected}


def test_a_masked_value_is_a_masked_value_again(store: AuditStore) -> None:
    """Where a secret was masked, the text about the failure still says that it is kept secret."""
    some_registry(store).run("login", {"user": "u-17", "pin": "no number"})
    (record,) = store.records()
    assert [item.value is MASK for item in record.failures] == [True]
    assert "kept secret" in str(record.failures[0])


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        *((value, 0) for value in (None, 5, object(), a_record(diagnostics=None), a_record(diagnostics=(1,)), a_record(failures=("x",)))),
        (a_record(metadata=dict), 1),
        (a_record(None, status=5, time="soon", duration_ms=1j, id=None), 3),
    ],
)
def test_what_is_no_record(store: AuditStore, value: Any, kept: int) -> None:
    """Whatever a sink is given, no foreign exception comes out of it; what can be kept is kept."""
    for take in (store.opened, store, lambda record: store.append([record])):
        with contextlib.suppress(StoreError):
            take(value)
    assert store.count() == kept
    assert store._written == {}


def test_places_can_be_grouped(store: AuditStore) -> None:
    """The place of a change has no indices, and is bounded."""
    long = Diagnostic("$." + "x" * 5_000, DiagnosticKind.COERCED, Risk.INFO, 1, 2)
    store(a_record(diagnostics=(CHANGE, long)))
    places = store.read(lambda connection: list(connection.scalars(sqlalchemy.text("SELECT place FROM toolbox_changes ORDER BY position"))))
    assert places[0] == "$.items[*].price"
    assert len(places[1]) <= 200


@pytest.mark.parametrize("name", ["tool", "model", "conversation_id"])
def test_long_names_stay_apart(store: AuditStore, name: str) -> None:
    """Two long names that begin alike are two, and each is found by its own."""
    for end in "ab":
        value = "x" * 500 + end
        store(a_record(value, call_id=end) if name == "tool" else a_record(metadata={name: value}, call_id=end))
    assert [item.call_id for item in store.records(**{name: "x" * 500 + "b"})] == ["b"]  # type: ignore[arg-type]  # a text for each


# -- writing twice -----------------------------------------------------------------------------------------------------------------------


def test_the_last_word_about_a_call_counts(store: AuditStore) -> None:
    """A record that comes again replaces what is there; an opening that comes late does not."""
    record = a_record(status=CallStatus.RUNNING, diagnostics=(CHANGE,))
    store(record)
    record.status = CallStatus.TIMEOUT
    store(record)
    record.status = CallStatus.RUNNING
    store.opened(record)
    assert [(item.status, len(item.diagnostics)) for item in store.records()] == [("timeout", 1)]
    record.status = CallStatus.DONE
    store.append([record, record])
    assert [(item.status, len(item.diagnostics)) for item in store.records()] == [("done", 1)]


def test_a_record_that_was_deleted_while_its_call_ran_is_written_in_full(store: AuditStore) -> None:
    """What is missing when a call ends is made again."""
    kept, gone = a_record("kept", status=CallStatus.RUNNING), a_record("gone", status=CallStatus.RUNNING, diagnostics=(CHANGE,))
    for record in (kept, gone):
        store.opened(record)
    store.transact(lambda connection: connection.execute(sqlalchemy.text("DELETE FROM toolbox_records WHERE tool = 'gone'")))
    for record in (kept, gone):
        record.status = CallStatus.DONE
        store(record)
    assert {(item.tool, item.status.value, item.arguments["n"]) for item in store.records()} == {("kept", "done", 1), ("gone", "done", 1)}


def test_a_batch_is_kept_as_a_whole(store: AuditStore) -> None:
    """`append` takes any number of records in one transaction; none is fine too."""
    store.append([])
    store.append(a_record(time=float(number), diagnostics=(CHANGE,)) for number in range(1_234))
    assert store.count() == 1_234
    assert [item.time for item in store.records()] == [float(number) for number in range(1_234)]
    assert all(len(item.diagnostics) == 1 for item in store.records())


# -- reading -----------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def filled(store: AuditStore) -> AuditStore:
    """Ten records of two tools, one a second."""
    statuses = [CallStatus.DONE, CallStatus.REFUSED]
    store.append(
        a_record("even" if number % 2 == 0 else "odd", time=1_000.0 + number, status=statuses[number % 3 == 0], call_id=str(number))
        for number in range(10)
    )
    return store


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, "0123456789"),
        ({"tool": "even"}, "02468"),
        ({"tool": "none"}, ""),
        ({"since": 1_007}, "789"),
        ({"until": 1_002.0}, "01"),
        ({"since": datetime.fromtimestamp(1_003, UTC), "until": datetime.fromtimestamp(1_005, UTC)}, "34"),
        ({"status": "refused"}, "0369"),
        ({"status": CallStatus.REFUSED, "tool": "odd"}, "39"),
        ({"status": ["done", "refused"]}, "0123456789"),
        ({"status": []}, ""),
        ({"status": "unknown"}, ""),
        ({"limit": 3}, "012"),
        ({"limit": 0}, ""),
        ({"limit": 3, "order": "newest"}, "987"),
        ({"order": "newest", "tool": "odd", "until": 1_006}, "531"),
        ({"model": "m"}, ""),
        ({"conversation_id": "c"}, ""),
    ],
)
def test_records_are_found(filled: AuditStore, asked: dict[str, Any], found: str) -> None:
    """Each filter leaves out what it does not name, and the count is the same."""
    assert "".join(str(item.call_id) for item in filled.records(**asked)) == found
    if not {"limit", "order"} & asked.keys():
        assert filled.count(**asked) == len(found)


@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_reading_in_parts_leaves_nothing_out(store: AuditStore, order: Any) -> None:
    """Records of the same instant are each read once, though there are more of them than one part holds."""
    store.append(a_record(time=5.0) for _ in range(1_201))
    ids = [item.id for item in store.records(order=order)]
    assert len(ids) == len(set(ids)) == 1_201
    assert len(list(store.records(order=order, limit=1_001))) == 1_001


def test_one_may_write_while_reading(filled: AuditStore) -> None:
    """Between the records that are read, nothing is held on to."""
    for item in filled.records(limit=3):
        filled(a_record(f"copy of {item.tool}"))
    assert filled.count() == 13


def test_a_record_by_its_id(filled: AuditStore) -> None:
    """It is found, or it is None."""
    first = next(filled.records())
    assert filled.record(first.id) == first
    assert filled.record("nothing\0\ud800") is None


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda store: store.records(since=datetime(2026, 1, 1)), "time zone"),  # noqa: DTZ001 - a naive one is the case
        (lambda store: store.count(until="yesterday"), "seconds since the epoch"),
        (lambda store: store.records(status="dnoe"), "is none of running, done"),
        (lambda store: store.records(order="random"), "'oldest' or 'newest'"),
        (lambda store: store.prune(), "before="),
        (lambda store: store.prune(older_than="old"), "older_than="),
        (lambda store: store.prune(before=float("nan")), "before= is not a number"),
        (lambda store: store.records(status=5), "status '5' is none of running, done"),
        (lambda store: store.records(status=[[]]), "is none of running, done"),
        (lambda store: store.records(tool=["a"]), r'tool=\["a"\]: expected text'),
        (lambda store: store.records(model=5), "model=5: expected text"),
        (lambda store: store.count(conversation_id={}), "conversation_id={}: expected text"),
        (lambda store: store.records(limit="x"), 'limit="x": expected a number of records'),
        (lambda store: store.append(5), "append.. takes records, and not 5"),
    ],
)
def test_what_cannot_be_asked(store: AuditStore, ask: Callable[[AuditStore], object], said: str) -> None:
    """A wrong argument is refused with what is expected, at once."""
    with pytest.raises(StoreError, match=said) as error:
        ask(store)
    assert error.value.reason == "misused"


def test_a_table_that_somebody_else_has_written_to(filled: AuditStore) -> None:
    """What this version does not know is an error that names the record; a broken JSON column is its text."""
    first, second = list(filled.records(limit=2))
    change = "UPDATE toolbox_records SET {} WHERE id = :id"
    filled.transact(lambda connection: connection.execute(sqlalchemy.text(change.format("arguments = '{'")), {"id": first.id}))
    filled.transact(lambda connection: connection.execute(sqlalchemy.text(change.format("status = 'lost'")), {"id": second.id}))
    assert next(filled.records()).arguments == "{"
    with pytest.raises(StoreError, match=second.id) as error:
        list(filled.records())
    assert error.value.reason == "corrupt"


# -- what ended without being closed -----------------------------------------------------------------------------------------------------

OPEN_AND_DIE = """
import os, sys
from toolbox import AuditRecord, AuditStore
store = AuditStore(sys.argv[1])
store.opened(AuditRecord("f", "lenient", {}, {}, id="left open"))
os._exit(0)
"""


def test_a_call_whose_process_has_ended_is_unknown(open_store: Opener, store_url: str) -> None:
    """It is unknown to a store that was open before, and to one that is opened afterwards; a late end still counts."""
    before = open_store()
    before.opened(AuditRecord("f", "lenient", {}, {}, id="still running"))
    subprocess.run([sys.executable, "-c", OPEN_AND_DIE, store_url], check=True)
    expected = {"left open": "unknown", "still running": "running"}
    assert {item.id: item.status.value for item in before.records()} == expected
    assert [item.id for item in before.records(status="unknown")] == ["left open"]
    assert (before.count(status="running"), before.count(status="unknown")) == (1, 1)
    after = open_store()
    assert {item.id: item.status.value for item in after.records()} == expected
    after(AuditRecord("f", "lenient", {}, {}, id="left open", status=CallStatus.DONE))
    assert after.count(status="unknown") == 0


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ("host = 'another machine'", "running"),
        ("host = 'another machine', ended_at = 5", "unknown"),
        ("pid = 0", "running"),
        ("process_started = 'another boot/1/1', started_at = 5", "unknown"),
        ("process_started = 'another boot/1/1', started_at = 1e11", "running"),
    ],
)
def test_whose_process_has_ended(store: AuditStore, change: str, status: str) -> None:
    """A session that was closed has ended; what is on another machine is not known from here, until it is old."""
    store.opened(AuditRecord("f", "lenient", {}, {}))
    if change == "pid = 0":
        change = "process_started = '', pid = 0"
    store.transact(lambda connection: connection.execute(sqlalchemy.text(f"UPDATE toolbox_sessions SET {change}")))
    assert next(store.records()).status == status


def test_an_old_call_of_another_machine_is_unknown(open_store: Opener) -> None:
    """After `unknown_after_s`."""
    store = open_store(unknown_after_s=60)
    for age in (30, 90):
        store.opened(AuditRecord("f", "lenient", {}, {}, call_id=str(age), time=time.time() - age))
    assert store.count(status="unknown") == 0
    store.transact(lambda connection: connection.execute(sqlalchemy.text("UPDATE toolbox_sessions SET host = 'another'")))
    assert [item.call_id for item in store.records(status="unknown")] == ["90"]


# -- retention ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({"before": 1_004}, "456789"),
        ({"before": datetime.fromtimestamp(1_004, UTC)}, "456789"),
        ({"older_than": 60}, ""),
        ({"keep": 3}, "789"),
        ({"keep": 0}, ""),
        ({"keep": 99}, "0123456789"),
        ({"before": 1_004, "keep": 8}, "23456789"),
        ({"before": 1_001, "keep": 2}, "123456789"),
        ({"before": 1_004, "older_than": 60}, "456789"),
        ({"before": 0}, "0123456789"),
    ],
)
def test_pruning(filled: AuditStore, limits: dict[str, Any], left: str) -> None:
    """What is deleted is past all limits that were given, and is as much as is said."""
    assert filled.prune(**limits) == 10 - len(left)
    assert "".join(str(item.call_id) for item in filled.records()) == left


def test_pruning_takes_everything_of_a_record(store: AuditStore) -> None:
    """Changes and failures go with their record, however many there are; a call that runs stays."""
    store.append(a_record(time=1.0 + number, diagnostics=(CHANGE,), failures=(FAILURE,)) for number in range(2_500))
    store.opened(AuditRecord("running", "lenient", {}, {}, time=1.0))
    assert store.prune(keep=100) == 2_400
    assert (store.count(), store.count(tool="running")) == (101, 1)
    assert store.check() == []
    for name in ("toolbox_changes", "toolbox_failures"):
        query = sqlalchemy.text(f"SELECT count(*) FROM {name}")
        assert store.read(lambda connection, query=query: connection.scalar(query)) == 100  # type: ignore[misc]  # bound in the loop


def test_sessions_of_which_nothing_is_left_are_forgotten(open_store: Opener) -> None:
    """A store that is opened a hundred times does not keep a hundred sessions."""
    for number in range(5):
        store = open_store()
        store(a_record(time=float(number)))
        store.close()
    store = open_store()
    store.prune(keep=1)
    ids = store.read(lambda connection: list(connection.scalars(sqlalchemy.text("SELECT id FROM toolbox_sessions"))))
    assert len(ids) == 2
    assert next(store.records()).session_id in ids


# -- work of other parts -----------------------------------------------------------------------------------------------------------------


def _make(connection: sqlalchemy.Connection) -> None:
    connection.execute(sqlalchemy.text("CREATE TABLE own (id INTEGER PRIMARY KEY)"))


def _widen(connection: sqlalchemy.Connection) -> None:
    connection.execute(sqlalchemy.text("ALTER TABLE own ADD COLUMN note TEXT"))


def _stumble(_connection: sqlalchemy.Connection) -> None:
    raise LookupError("a fault of the step")


ADD = sqlalchemy.text("INSERT INTO own (id) VALUES (1)")
COUNT = sqlalchemy.text("SELECT count(*) FROM own")


def test_a_component_brings_its_own_tables(open_store: Opener) -> None:
    """Each step is taken once, whichever version the store has; a newer one is refused, and so is a store that cannot be brought there."""
    open_store().migrate("own", [_make])
    store = open_store()
    store.migrate("own", [_make, _widen])
    store.migrate("own", [_make, _widen])
    store.transact(lambda connection: connection.execute(ADD))
    with pytest.raises(StoreError, match="newer toolbox") as error:
        open_store().migrate("own", [_make])
    assert error.value.reason == "newer"
    reader = open_store()
    reader.migrate("own", [_make, _widen])
    assert reader.read(lambda connection: connection.scalar(COUNT)) == 1


def test_a_step_that_fails_changes_nothing(open_store: Opener) -> None:
    """All missing steps are taken, or none: the next try begins where the last one did."""
    store = open_store()
    with pytest.raises(LookupError):
        store.migrate("own", [_make, _stumble])
    store = open_store()
    store.migrate("own", [_make, _widen])
    assert store.read(lambda connection: connection.scalar(COUNT)) == 0


def test_a_store_of_a_newer_toolbox_is_refused(open_store: Opener) -> None:
    """It is not touched, and the error says what to do."""
    store = open_store()
    store.transact(lambda connection: connection.execute(sqlalchemy.text("UPDATE toolbox_schema SET version = 99")))
    for options in ({}, {"read_only": True}):
        with pytest.raises(StoreError, match="has version 99") as error:
            open_store(**options).count()
        assert error.value.reason == "newer"


def test_a_transaction_is_whole(store: AuditStore) -> None:
    """What work raises undoes what it did; its own exceptions come through, those of the engine do not."""
    store.migrate("own", [_make])

    def stumble(connection: sqlalchemy.Connection) -> None:
        connection.execute(ADD)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        store.transact(stumble)
    assert store.read(lambda connection: connection.scalar(COUNT)) == 0
    assert store.transact(lambda connection: connection.execute(ADD).rowcount) == 1
    with pytest.raises(StoreError) as error:
        store.transact(lambda connection: connection.execute(ADD))
    assert error.value.reason == "failed"
    for call in (store.transact, store.read):
        with pytest.raises(StoreError):
            call(lambda connection: connection.execute(sqlalchemy.text("no SQL at all")))
    store(a_record())
    assert store.count() == 1


def test_reading_cannot_write(store: AuditStore) -> None:
    """The connection of `read` refuses it."""
    store.migrate("own", [_make])
    with pytest.raises(StoreError) as error:
        store.read(lambda connection: connection.execute(ADD))
    assert error.value.reason == "read_only"


@pytest.mark.parametrize("use", [AuditStore.count, lambda store: store(a_record()), lambda store: store.transact(lambda connection: None)])
def test_a_store_is_not_used_inside_its_own_transaction(store: AuditStore, use: Callable[[AuditStore], object]) -> None:
    """That would wait for itself; it is refused, and the store can be used afterwards."""
    with pytest.raises(StoreError, match="inside its own transaction") as error:
        store.transact(lambda _connection: use(store))
    assert error.value.reason == "misused"
    use(store)


def test_rows_that_belong_to_nothing_are_found(store: AuditStore) -> None:
    """The check looks at the tables too."""
    store(a_record(diagnostics=(CHANGE,), failures=(MISSING, MISSING)))
    store.transact(lambda connection: connection.execute(sqlalchemy.text("DELETE FROM toolbox_records")))
    assert store.check() == ["1 rows of toolbox_changes belong to no record", "2 rows of toolbox_failures belong to no record"]


def test_a_component_that_is_not_there_yet(open_store: Opener) -> None:
    """Who only reads does not make it, and says who has to."""
    open_store()
    with pytest.raises(StoreError, match="open it once with the right to write") as error:
        open_store(read_only=True).migrate("own", [_make])
    assert error.value.reason == "older"


# -- opening and closing -----------------------------------------------------------------------------------------------------------------


def test_closing(open_store: Opener) -> None:
    """Closing twice does nothing; a use afterwards is an error; as a sink it counts as lost, and the call is not touched."""
    with open_store() as store:
        registry = some_registry(store)
        registry.dispatch("double", {"number": 1})
    store.close()
    for use in (store.count, store.check, lambda: store(a_record()), lambda: store.append([a_record()]), lambda: list(store.records())):
        with pytest.raises(StoreError, match="was closed") as error:
            use()
        assert error.value.reason == "closed"
    assert registry.dispatch("double", {"number": 2}) == 4
    assert registry.lost_records > 0
    assert open_store().count() == 1


def test_reading_alone(open_store: Opener) -> None:
    """A store that is opened for reading changes nothing, and takes nothing."""
    open_store()(a_record())
    reader = open_store(read_only=True)
    assert (reader.count(), len(list(reader.records())), reader.check()) == (1, 1, [])
    for use in (lambda: reader(a_record()), lambda: reader.transact(lambda connection: None), lambda: reader.prune(keep=0)):
        with pytest.raises(StoreError) as error:
            use()
        assert error.value.reason == "read_only"
    assert open_store().count() == 1


EXIT = """
import atexit, sys, threading
from toolbox import AuditRecord, AuditStore
store = None
def late():
    store(AuditRecord("late", "lenient", {}, {}))
atexit.register(late)
store = AuditStore(sys.argv[1])
threads = [threading.Thread(target=store, args=(AuditRecord("f", "lenient", {}, {}),)) for _ in range(20)]
for thread in threads:
    thread.start()
"""


def test_the_end_of_a_program_loses_nothing(store: AuditStore, store_url: str) -> None:
    """What threads have begun to write is written, and so is what is recorded while the program ends; nothing is said about it."""
    run = subprocess.run([sys.executable, "-W", "error", "-c", EXIT, store_url], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert (store.count(tool="f"), store.count(tool="late")) == (20, 1)


def test_what_an_interrupted_thread_has_left_is_written_at_the_end(open_store: Opener) -> None:
    """It waits in the queue for whoever comes next, and that may be the end of the store."""
    store = open_store()
    store._database._turns._queue.append(Waiting([Ending(a_record(), None)]))
    store.close()
    assert open_store().count() == 1


def test_calls_that_never_end_are_not_remembered_for_ever(open_store: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their number is bounded; should one end after all, it is written in full."""
    monkeypatch.setattr("toolbox.audit.store.trail._REMEMBERED", 3)
    store = open_store()
    records = [a_record(status=CallStatus.RUNNING) for _ in range(10)]
    for record in records:
        store.opened(record)
        assert len(store._written) <= 4
    for record in records:
        record.status = CallStatus.DONE
        store(record)
    assert (store.count(status="done"), len(store._written)) == (10, 0)


def test_a_setting_that_is_none(tmp_path: Path) -> None:
    """It is refused before a file is made."""
    with pytest.raises(StoreError, match="expected 'one' or 'many'") as error:
        AuditStore(tmp_path / "audit.db", processes="two")  # type: ignore[arg-type]  # which is the case
    assert error.value.reason == "misused"
    assert list(tmp_path.iterdir()) == []


def test_more_than_there_can_be(filled: AuditStore) -> None:
    """A number that no database holds means all."""
    every = filled.count()
    assert filled.prune(keep=10**30) == 0
    assert len(list(filled.records(limit=10**30))) == every > 0


@pytest.mark.parametrize(
    "options", [{"timeout_s": "x"}, {"timeout_s": -1}, {"timeout_s": float("nan")}, {"unknown_after_s": None}, {"unknown_after_s": True}]
)
def test_a_time_that_is_none(tmp_path: Path, options: dict[str, Any]) -> None:
    """It is refused before a file is made, by its name."""
    with pytest.raises(StoreError, match=f"{next(iter(options))}=.*: expected a number of seconds") as error:
        AuditStore(tmp_path / "audit.db", **options)
    assert error.value.reason == "misused"
    assert list(tmp_path.iterdir()) == []


def test_a_lock_may_be_waited_for_without_end(tmp_path: Path) -> None:
    """As long as the database can be told to."""
    with AuditStore(tmp_path / "audit.db", timeout_s=float("inf")) as store:
        store(a_record())
        assert store.count() == 1


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    """The operating system's refusal is a `StoreError` like any other."""
    with pytest.raises(StoreError, match="unable to open"):
        AuditStore(tmp_path / ("x" * 5_000))


def test_a_store_in_memory() -> None:
    """It can do everything, but is gone afterwards; it cannot be opened for reading alone."""
    with AuditStore("sqlite://") as store:
        store(a_record(diagnostics=(CHANGE,)))
        assert (store.count(), len(next(store.records()).diagnostics), store.prune(keep=0), store.check()) == (1, 1, 1, [])
    with pytest.raises(StoreError, match="nothing in it"):
        AuditStore("sqlite://", read_only=True)


# -- whether a process lives -------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="the system cannot be asked about processes")
def test_whether_a_process_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pid alone does not say it, since another process may have it by now; where nothing more is known, it counts."""
    mine = this_session()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    gone = replace(mine, pid=ended.pid)
    another = replace(mine, process_started=f"{mine.process_started}1")
    assert [life_of(session) for session in (mine, gone, another)] == ["alive", "dead", "dead"]
    assert life_of(replace(mine, host="another")) == "elsewhere"
    assert life_of(replace(mine, ended_at=1.0)) == "dead"
    # A system that tells only whether there is such a process.
    alone = [replace(session, process_started="") for session in (mine, gone, replace(mine, pid=0), replace(mine, pid=2**40))]
    assert [life_of(session) for session in alone] == ["alive", "dead", "elsewhere", "alive"]
    boot, space, start = mine.process_started.split("/") if mine.process_started else ("boot", "1", "1")
    elsewhere = [replace(mine, process_started=f"{boot}/{space}0/{start}"), replace(mine, process_started=f"x/{space}/{start}")]
    assert [life_of(session) for session in elsewhere] == ["elsewhere", "elsewhere"]
    monkeypatch.setattr(sessions, "_BOOT_ID", Path("/nothing/of/the/kind"))
    assert this_session().process_started.rpartition("/")[0] == ""
    assert life_of(this_session()) == "alive"


def test_the_face_of_a_store(tmp_path: Path) -> None:
    """It is shown with its address, and asynchronous code calls it in a thread."""
    with AuditStore(tmp_path / "audit.db") as store:
        assert repr(store) == f"AuditStore('sqlite:///{tmp_path}/audit.db')"
        assert store.blocking is True
