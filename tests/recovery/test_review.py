"""The review queue: what is shown is what runs, once; nothing is lost; every step is on record."""

import asyncio
import contextlib
import enum
import itertools
import json
import os
import re
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolbox import (
    STRICT,
    ApprovalPending,
    AuditError,
    AuditRecord,
    AuditStore,
    Injected,
    InvalidArguments,
    MemorySink,
    MissingContext,
    MissingReview,
    Param,
    Recovery,
    Redaction,
    Registry,
    ReviewError,
    ReviewItem,
    ReviewQueue,
    StoreError,
    ToolResult,
)
from toolbox.calls import Call, Held
from toolbox.dispatch import check
from toolbox.recovery.review import DeadLetterFile, ReviewState, ReviewStep, RunState
from toolbox.recovery.review.states import ENDED, STEPS, Position, after

T = TypeVar("T")
POSTGRES = os.environ.get("TOOLBOX_POSTGRES")
ENGINES = ["sqlite", pytest.param("postgres", marks=pytest.mark.skipif(not POSTGRES, reason="TOOLBOX_POSTGRES names no server"))]


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """A database of its own on the server."""
    server = sqlalchemy.make_url(str(POSTGRES)).set(drivername="postgresql+psycopg")
    name = f"review_{uuid.uuid4().hex}"
    engine = sqlalchemy.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    yield server.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=ENGINES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store: a file of SQLite, or a database on the server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'audit.db'}"
    address: str = request.getfixturevalue("database")
    engine = sqlalchemy.create_engine(address.replace("postgresql:", "postgresql+psycopg:", 1), poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    return address


@pytest.fixture
def store(url: str) -> Iterator[AuditStore]:
    """An empty store."""
    with AuditStore(url) as opened:
        yield opened


@pytest.fixture
def local(tmp_path: Path) -> Iterator[AuditStore]:
    """An empty store in a file, for what no engine does in another way."""
    with AuditStore(f"sqlite:///{tmp_path / 'local.db'}") as opened:
        yield opened


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Desk:
    """A registry with a queue and a tool that counts what it does."""

    def __init__(self, store: Any, **options: Any) -> None:
        self.clock = Clock()
        self.paid: list[tuple[Decimal, str]] = []
        self.sink = MemorySink()
        self.waiting: list[str] = []
        self.decided: list[str] = []
        self.queue = ReviewQueue(
            store,
            clock=self.clock,
            **{
                "on_waiting": lambda item: self.waiting.append(item.id),
                "on_decided": lambda item: self.decided.append(f"{item.id} {item.state}"),
                **options,
            },
        )
        self.registry = Registry(review=self.queue, sinks=[self.sink])

        @self.registry.tool(approval="always")
        def pay(amount: Decimal, to: str, note: str = "") -> str:
            """Pay somebody."""
            self.paid.append((amount, to))
            if note == "fail":
                raise RuntimeError("the bank is closed")
            return f"paid {amount} to {to}"

    def hold(self, **arguments: Any) -> ReviewItem:
        """A call that waits."""
        with pytest.raises(ApprovalPending) as raised:
            self.registry.dispatch("pay", {"amount": "12.50", "to": "u-17", **arguments}, metadata={"conversation_id": "c-1"})
        return self.queue.get(raised.value.item_id)

    def approved(self, **arguments: Any) -> ReviewItem:
        """A call that is approved."""
        item = self.hold(**arguments)
        return self.queue.approve(item.id, by="ada", shown_hash=item.hash)

    def other(self) -> ReviewQueue:
        """The queue as another process has it: with nothing in memory."""
        return ReviewQueue(self.queue._book.store, clock=self.clock)


@pytest.fixture
def desk(store: AuditStore) -> Desk:
    """A registry with a queue, on either engine."""
    return Desk(store)


def held(registry: Registry, name: str, payload: Any, **said: Any) -> Held:
    """A call as the walk hands it to the desk."""
    tool = registry[name]
    desk = registry.services.review
    assert desk is not None
    return Held(tool, payload, check(tool, payload), Call(metadata=said), desk, "approval")


# -- the states ----------------------------------------------------------------------------------------------------------------------

POSITIONS = [Position(state, run) for state, run in itertools.product(ReviewState, RunState)]


@pytest.mark.parametrize("step", [step for step in ReviewStep if step is not ReviewStep.HOLD])
def test_every_step_from_every_place(step: ReviewStep) -> None:
    """A step is taken from the places in the table, to the place in the table; from any other it is a clear error."""
    before, then = STEPS[step]
    for position in POSITIONS:
        if position in before:
            assert after(step, position) == then
        else:
            reachable = position in {end for _, end in STEPS.values()}
            if not reachable:
                continue
            with pytest.raises(ReviewError) as raised:
                after(step, position, "i-1")
            assert "i-1" in str(raised.value)
            assert raised.value.reason in {"illegal_step", "expired"}


def test_no_step_leads_out_of_an_end() -> None:
    """What was rejected, has expired, was run or has failed stays so."""
    assert not [step for step, (before, _) in STEPS.items() for end in ENDED if end in before]


def test_nothing_runs_but_what_is_approved() -> None:
    """The only way to run leads through an approval, and nothing leads from unknown to running but a person."""
    assert STEPS[ReviewStep.CLAIM][0] == (Position(ReviewState.APPROVED, RunState.NOT_RUN),)
    to_approved = {step for step, (_, then) in STEPS.items() if then == Position(ReviewState.APPROVED, RunState.NOT_RUN)}
    assert to_approved == {ReviewStep.APPROVE, ReviewStep.RELEASE, ReviewStep.SETTLE_NOT_RUN}


OPERATIONS = st.sampled_from(["hold", "correct", "approve", "reject", "run", "late", "expire", "stale"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OPERATIONS, max_size=14))
def test_any_order_of_deeds(tmp_path_factory: pytest.TempPathFactory, deeds: list[str]) -> None:
    """Whatever is tried in whatever order: an item runs as often as it was approved and run, which is once; its events tell the whole."""
    with AuditStore(tmp_path_factory.mktemp("deeds") / "a.db") as store:
        desk = Desk(store)
        queue = desk.queue
        item = desk.hold()
        old = item.hash
        for number, deed in enumerate(deeds):
            before = queue.get(item.id)
            with contextlib.suppress(ReviewError):
                if deed == "hold":
                    item = desk.hold()
                elif deed == "correct":
                    queue.correct(item.id, {"amount": str(number), "to": "u-18"}, by="ada")
                elif deed == "approve":
                    queue.approve(item.id, by="ada", shown_hash=before.hash)
                elif deed == "stale":
                    queue.approve(item.id, by="eve", shown_hash=old if before.hash != old else "0" * 64)
                    raise AssertionError("a hash was approved that was not shown")
                elif deed == "reject":
                    queue.reject(item.id, by="bob")
                elif deed == "run":
                    queue.run(desk.registry, item.id)
                elif deed == "late":
                    desk.clock.now += 400_000
                else:
                    queue.expire()
        ids = {kept.id for kept in queue.items()}
        ran = 0
        for one in ids:
            events = queue.events(one)
            assert [event.position for event in events] == list(range(len(events)))
            position = STEPS[ReviewStep.HOLD][1]
            for event in events[1:]:
                position = after(event.step, position)
                assert (event.state, event.run) == position
            steps = [event.step for event in events]
            assert steps.count(ReviewStep.CLAIM) <= 1
            ran += steps.count(ReviewStep.DONE)
            for event, following in itertools.pairwise(events):
                if following.step is ReviewStep.CLAIM:
                    assert event.step is ReviewStep.APPROVE
                    assert event.hash == following.hash
        assert len(desk.paid) == ran


# -- approval of any tool ------------------------------------------------------------------------------------------------------------


def test_a_call_waits_and_then_runs(desk: Desk) -> None:
    """From dispatch to the effect: held, shown, approved, run once; each with who and when."""
    with pytest.raises(ApprovalPending) as raised:
        desk.registry.dispatch("pay", {"amount": "12.50", "to": "u-17"}, call_id="call_7", metadata={"model": "m-1", "user": "u-1"})
    item = desk.queue.get(raised.value.item_id)
    assert not desk.paid
    assert (item.tool, item.reason, item.state, item.run) == ("pay", "approval", ReviewState.WAITING, RunState.NOT_RUN)
    assert item.original == {"amount": "12.50", "to": "u-17"}
    assert item.invoked == {"amount": "12.50", "to": "u-17", "note": ""}
    assert item.metadata == {"model": "m-1", "user": "u-1"}
    assert item.call_id == "call_7"
    assert item.record_id == desk.sink.records[0].id
    assert desk.sink.records[0].status == "pending"
    assert "do not send it again" in str(raised.value)
    approved = desk.queue.approve(item.id, by="ada", shown_hash=item.hash, registry=desk.registry)
    assert approved.decided_by == "ada"
    assert not desk.paid
    desk.clock.now += 60
    result = desk.queue.run(desk.registry, item.id, by="worker", metadata={"tags": ["late"]})
    assert result.value == "paid 12.50 to u-17"
    assert result.call_id == "call_7"
    assert desk.paid == [(Decimal("12.50"), "u-17")]
    events = desk.queue.events(item.id)
    assert [(event.step, event.by) for event in events] == [
        (ReviewStep.HOLD, "toolbox"),
        (ReviewStep.APPROVE, "ada"),
        (ReviewStep.CLAIM, "worker"),
        (ReviewStep.DONE, "worker"),
    ]
    assert events[3].at - events[0].at == 60
    record = desk.sink.records[-1]
    assert record.status == "done"
    assert record.metadata == {"model": "m-1", "user": "u-1", "review_item": item.id, "approved_by": "ada", "tags": ["late"]}
    assert desk.waiting == [item.id]
    assert desk.decided == [f"{item.id} approved"]


def test_run_returns_what_dispatch_raises(local: AuditStore) -> None:
    """`run` and its twins give the same as a result that goes back to the model."""
    desk = Desk(local)
    result = desk.registry.run("pay", {"amount": "1", "to": "u-2"}, call_id="c")
    assert isinstance(result.error, ApprovalPending)
    assert result.error.item_id in result.to_text()
    again = asyncio.run(desk.registry.arun("pay", {"amount": "1", "to": "u-2"}))
    assert isinstance(again.error, ApprovalPending)
    assert again.error.item_id == result.error.item_id
    with pytest.raises(ApprovalPending):
        asyncio.run(desk.registry.adispatch("pay", {"amount": "2", "to": "u-2"}))
    assert not desk.paid


def test_approval_by_a_function(local: AuditStore) -> None:
    """A function says of the report which calls wait; where it fails, the call waits."""
    ran = []
    registry = Registry(review=ReviewQueue(local))

    @registry.tool(approval=lambda report: report.normalized_args["amount"] > 100)
    def pay(amount: int) -> int:
        ran.append(amount)
        return amount

    @registry.tool(approval=lambda report: report.normalized_args["missing"])
    def give(amount: int) -> int:
        ran.append(amount)
        return amount

    assert registry.dispatch("pay", {"amount": 100}) == 100
    assert isinstance(registry.run("pay", {"amount": "101"}).error, ApprovalPending)
    assert isinstance(registry.run("give", {"amount": 1}).error, ApprovalPending)
    assert ran == [100]


def test_without_a_queue_nothing_runs() -> None:
    """A tool that needs approval says what is missing, and does not run."""
    registry = Registry()

    @registry.tool(approval="always")
    def pay(amount: int) -> int:
        raise AssertionError("it ran")

    with pytest.raises(MissingReview, match=r"Registry\(review="):
        registry.dispatch("pay", {"amount": 1})


def test_arguments_that_do_not_fit_are_refused_as_ever(desk: Desk) -> None:
    """Approval is asked for what could run; what could not is refused first."""
    with pytest.raises(InvalidArguments):
        desk.registry.dispatch("pay", {"amount": "many", "to": "u-17"})
    assert not desk.queue.items()


# -- high-risk tools -----------------------------------------------------------------------------------------------------------------


def dosing(queue: ReviewQueue, given_doses: list[float]) -> Registry:
    """A registry with a high-risk tool."""
    registry = Registry(review=queue)

    @registry.tool(high_risk=True)
    def dose(mg: float, route: Literal["oral", "iv"] = "oral") -> str:
        """Give a dose."""
        given_doses.append(mg)
        return f"{mg} {route}"

    return registry


def test_high_risk_goes_to_a_person(store: AuditStore) -> None:
    """What needs more than info is not asked back: it waits, and its risky reading can be approved as it is shown."""
    doses: list[float] = []
    queue = ReviewQueue(store)
    registry = dosing(queue, doses)
    assert registry.dispatch("dose", {"mg": "2.5"}) == "2.5 oral"
    pending = registry.run("dose", {"mg": "1,000"}).error
    assert isinstance(pending, ApprovalPending)
    assert pending.reason == "high_risk"
    item = queue.get(pending.item_id)
    assert item.original == {"mg": "1,000"}
    assert item.arguments == {"mg": 1000.0, "route": "oral"}
    assert "would have been read as 1000.0" in item.violation
    assert item.failures[0]["reason"] == "too_risky"
    assert item.changes[0]["before"] == "1,000"
    queue.approve(item.id, by="ada", shown_hash=item.hash, registry=registry)
    assert queue.run(registry, item.id).value == "1000.0 oral"
    assert doses == [2.5, 1000.0]


def test_a_text_is_read_as_by_the_walk(desk: Desk) -> None:
    """Arguments by position too, which only the registered tools tell apart: what waits can be approved as it stands."""
    pending = desk.registry.run("pay", 'pay(12.5, "u-17")').error
    assert isinstance(pending, ApprovalPending)
    item = desk.queue.get(pending.item_id)
    assert (item.original, item.arguments) == ('pay(12.5, "u-17")', {"amount": "12.5", "to": "u-17", "note": ""})
    desk.queue.approve(item.id, by="ada", shown_hash=item.hash, registry=desk.registry)
    assert desk.queue.run(desk.registry, item.id).ok
    assert desk.paid == [(Decimal("12.5"), "u-17")]


def test_what_cannot_be_read_must_be_corrected(store: AuditStore) -> None:
    """Where no reading fits there is nothing to approve; a correction is checked, shown, approved and run."""
    doses: list[float] = []
    queue = ReviewQueue(store)
    registry = dosing(queue, doses)
    pending = registry.run("dose", {"mg": "a lot", "route": "iv"}).error
    assert isinstance(pending, ApprovalPending)
    item = queue.get(pending.item_id)
    assert (item.arguments, item.invoked, item.hash) == (None, None, "")
    with pytest.raises(ReviewError, match="correct it first"):
        queue.approve(item.id, by="ada", shown_hash="")
    with pytest.raises(ReviewError, match="expected a number") as raised:
        queue.correct(item.id, {"mg": "lots", "route": "iv"}, by="ada", registry=registry)
    assert raised.value.reason == "arguments"
    corrected = queue.correct(item.id, {"mg": 5, "route": "iv"}, by="ada", registry=registry)
    assert (corrected.state, corrected.arguments) == (ReviewState.CORRECTED, {"mg": 5.0, "route": "iv"})
    assert corrected.original == {"mg": "a lot", "route": "iv"}
    with pytest.raises(ReviewError, match="approve it first"):
        queue.run(registry, item.id)
    queue.approve(item.id, by="bob", shown_hash=corrected.hash)
    assert queue.run(registry, item.id).value == "5.0 iv"
    assert queue.events(item.id)[1].arguments == {"mg": 5.0, "route": "iv"}


def test_a_text_that_holds_nothing_usable_can_be_corrected(local: AuditStore) -> None:
    """A payload without arguments in it is held as it came, and its bytes are on record."""
    queue = ReviewQueue(local)
    registry = dosing(queue, [])
    tool = registry["dose"]
    report = check(tool, {"mg": None})
    item_id = queue.hold(Held(tool, '{"mg": 5', report, Call(), queue, "unrecoverable", ({"number": 1, "error": "cut off"},)))
    item = queue.get(item_id)
    assert item.original == '{"mg": 5'
    assert item.attempts == ({"number": 1, "error": "cut off"},)
    assert item.arguments is None
    queue.correct(item_id, {"mg": 5}, by="ada", approve=True)
    assert queue.run(registry, item_id).value == "5.0 oral"


# -- what is shown is what runs ------------------------------------------------------------------------------------------------------


def test_only_the_hash_that_was_shown_can_be_approved(desk: Desk) -> None:
    """A correction between looking and approving makes the approval void."""
    item = desk.hold()
    corrected = desk.queue.correct(item.id, {"amount": "99", "to": "u-17"}, by="eve")
    assert corrected.hash != item.hash
    with pytest.raises(ReviewError) as raised:
        desk.queue.approve(item.id, by="ada", shown_hash=item.hash)
    assert raised.value.reason == "hash"
    assert desk.queue.get(item.id).state is ReviewState.CORRECTED
    with pytest.raises(ReviewError, match="approve it first"):
        desk.queue.run(desk.registry, item.id)
    assert not desk.paid


def test_a_correction_takes_an_approval_back(desk: Desk) -> None:
    """What was approved and is then corrected must be approved again."""
    item = desk.approved()
    desk.queue.correct(item.id, {"amount": "13", "to": "u-17"}, by="ada")
    with pytest.raises(ReviewError, match="approve it first"):
        desk.queue.run(desk.registry, item.id)
    again = desk.queue.get(item.id)
    desk.queue.approve(item.id, by="ada", shown_hash=again.hash)
    desk.queue.run(desk.registry, item.id)
    assert desk.paid == [(Decimal(13), "u-17")]


def test_what_is_approved_can_be_withdrawn(desk: Desk) -> None:
    """An approval that has not run yet can be turned into a rejection, and then nothing runs."""
    item = desk.approved()
    assert desk.queue.reject(item.id, by="bob", reason="fraud").note == "fraud"
    with pytest.raises(ReviewError, match="was rejected"):
        desk.queue.run(desk.registry, item.id)
    assert not desk.paid


def changed_annotation(registry: Registry, ran: list[Any]) -> None:
    """The amount is an integer now."""

    @registry.tool
    def pay(amount: int, to: str, note: str = "") -> None:
        ran.append(amount)


def changed_default(registry: Registry, ran: list[Any]) -> None:
    """There is a parameter more."""

    @registry.tool
    def pay(amount: Decimal, to: str, note: str = "", urgent: bool = True) -> None:
        ran.append(amount)


def changed_policy(registry: Registry, ran: list[Any]) -> None:
    """The policy is a stricter one."""

    @registry.tool(policy=STRICT, approval="always")
    def pay(amount: Decimal, to: str, note: str = "") -> str:
        """Pay somebody."""
        ran.append(amount)
        return ""


@pytest.mark.parametrize("change", [changed_annotation, changed_default, changed_policy])
def test_a_tool_that_has_changed_makes_the_approval_void(local: AuditStore, change: Callable[[Registry, list[Any]], None]) -> None:
    """Signature and policy at the time of the run are those that were shown, or nothing runs until a person has looked again."""
    desk = Desk(local)
    item = desk.approved(amount="12")
    ran: list[Any] = []
    newer = Registry()
    change(newer, ran)
    with pytest.raises(ReviewError) as raised:
        desk.queue.run(newer, item.id)
    assert raised.value.reason in {"changed", "arguments"}
    assert not ran
    assert not desk.paid
    assert desk.queue.get(item.id).position == (ReviewState.APPROVED, RunState.NOT_RUN)
    arguments = {"amount": 12, "to": "u-17"}
    again = desk.queue.correct(item.id, arguments, by="ada", registry=newer)
    desk.queue.approve(item.id, by="ada", shown_hash=again.hash, registry=newer)
    assert desk.queue.run(newer, item.id).ok
    assert len(ran) == 1


def test_approving_checks_the_tool_as_it_is_now(local: AuditStore) -> None:
    """With the registry at hand, an approval of what would not run any more is refused at once."""
    desk = Desk(local)
    item = desk.hold()
    newer = Registry()
    changed_annotation(newer, [])
    with pytest.raises(ReviewError, match="cannot run"):
        desk.queue.approve(item.id, by="ada", shown_hash=item.hash, registry=newer)
    with pytest.raises(ReviewError, match="there is no tool named"):
        desk.queue.approve(item.id, by="ada", shown_hash=item.hash, registry=Registry())
    assert desk.queue.get(item.id).state is ReviewState.WAITING


@pytest.mark.parametrize("column", ["arguments", "invoked", "hash", "tool"])
def test_what_was_changed_in_the_database_does_not_run(desk: Desk, store: AuditStore, column: str) -> None:
    """Somebody who writes into the table behind the queue's back gets nothing run that was not approved."""
    item = desk.approved()
    assert item.arguments is not None
    assert item.invoked is not None
    values = {
        "arguments": json.dumps({**item.arguments, "to": "u-666"}),
        "invoked": json.dumps({**item.invoked, "to": "u-666"}),
        "hash": "0" * 64,
        "tool": "give",
    }

    @desk.registry.tool
    def give(amount: Decimal, to: str, note: str = "") -> None:
        desk.paid.append((amount, to))

    table = sqlalchemy.table("toolbox_review_items", sqlalchemy.column(column))
    store.transact(lambda connection: connection.execute(table.update().values({column: values[column]})))
    with pytest.raises(ReviewError):
        desk.queue.run(desk.registry, item.id)
    assert not desk.paid


def test_arguments_and_hash_changed_together_do_not_run(desk: Desk, store: AuditStore) -> None:
    """A hash that fits other arguments is still not the one that the events say was approved."""
    item = desk.approved()
    other = desk.hold(to="u-666")
    columns: list[sqlalchemy.ColumnClause[Any]] = [sqlalchemy.column(name) for name in ("id", "arguments", "invoked", "hash")]
    table = sqlalchemy.table("toolbox_review_items", *columns)
    forged = {"arguments": json.dumps(other.arguments), "invoked": json.dumps(other.invoked), "hash": other.hash}
    store.transact(lambda connection: connection.execute(table.update().where(table.c.id == item.id).values(forged)))
    with pytest.raises(ReviewError, match="not what was approved"):
        desk.queue.run(desk.registry, item.id)
    assert not desk.paid


class Color(enum.Enum):
    """A choice whose value is not its name."""

    RED = "r"
    BLUE = "b"


@dataclass(frozen=True)
class Point:
    """A class with fields."""

    x: int
    y: int = 0


EXOTIC: list[tuple[Any, Any]] = [
    (date, "2026-02-03"),
    (Decimal, "1299.000000000000000000000001"),
    (Decimal, 0.1),
    (Color, "b"),
    (set[int], [3, 1, 2]),
    (tuple[int, str], [1, "a"]),
    (bytes, "aGVsbG8="),
    (Point, {"x": 1}),
    (list[Point], [{"x": 1, "y": 2}]),
    (timedelta, "PT5S"),
    (uuid.UUID, "12345678-1234-5678-1234-567812345678"),
    (float, 1e308),
    (int, 2**70),
    (int | str, "5"),
    (dict[str, float], {"b": 1, "a": 2}),
    (Any, {"a": [None, True, 1.5, "\u202e", "\x00", "\ud800"]}),
    (str | None, None),
    (str, "a\x1b[31m\u202eb\x00\ud800"),
]


@pytest.mark.parametrize(("kind", "value"), EXOTIC, ids=[f"{index}" for index in range(len(EXOTIC))])
def test_any_type_survives_the_queue(local: AuditStore, kind: Any, value: Any) -> None:
    """What the function gets after the queue is what it would have got without it, whatever the type."""
    got: list[Any] = []

    def use(value: Any) -> None:
        got.append(value)

    use.__annotations__["value"] = kind
    direct = Registry()
    direct.register(use)
    direct.dispatch("use", {"value": value})
    queue = ReviewQueue(local)
    registry = Registry(review=queue)
    registry.register(use, approval="always")
    pending = registry.run("use", {"value": value}).error
    assert isinstance(pending, ApprovalPending)
    item = queue.get(pending.item_id)
    assert json.loads(json.dumps(item.to_dict())) == item.to_dict() | {"state": "waiting"}
    other = ReviewQueue(local)
    other.approve(item.id, by="ada", shown_hash=item.hash, registry=registry)
    assert other.run(registry, item.id).ok
    assert got[0] == got[1]
    assert type(got[0]) is type(got[1])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ReviewQueue, Registry, list[Any]]]:
    """A queue that many examples use."""
    got: list[Any] = []
    with AuditStore(tmp_path_factory.mktemp("shared") / "a.db") as store:
        queue = ReviewQueue(store)
        registry = Registry(review=queue)

        @registry.tool(approval="always")
        def use(value: Any, other: str = "") -> None:
            got.append((value, other))

        yield queue, registry, got


@settings(max_examples=60, deadline=None)
@given(value=JSON, other=st.text(max_size=30))
def test_what_is_shown_is_what_runs(shared: tuple[ReviewQueue, Registry, list[Any]], value: Any, other: str) -> None:
    """For any JSON value: the arguments on the item, approved by their hash, are exactly those that the function gets."""
    queue, registry, got = shared
    pending = registry.run("use", {"value": value, "other": other}, metadata={"conversation_id": uuid.uuid4().hex}).error
    assert isinstance(pending, ApprovalPending)
    item = queue.get(pending.item_id)
    assert item.invoked == {"value": value, "other": other}
    queue.approve(item.id, by="ada", shown_hash=item.hash)
    assert queue.run(registry, item.id).ok
    made = repr(got[-1])
    assert made == repr((item.invoked["value"], item.invoked["other"]))
    assert made == repr((value, other))


def test_names_that_an_alias_makes_another(local: AuditStore) -> None:
    """An argument under an alias is shown under the declared name, and dispatched by it."""
    queue = ReviewQueue(local)
    registry = Registry(review=queue)

    @registry.tool(approval="always")
    def send(from_: Annotated[str, Param(alias="from")], to: str) -> str:
        return f"{from_}>{to}"

    pending = registry.run("send", {"from": "a", "to": "b"}).error
    assert isinstance(pending, ApprovalPending)
    item = queue.get(pending.item_id)
    assert item.arguments == {"from_": "a", "to": "b"}
    queue.approve(item.id, by="ada", shown_hash=item.hash, registry=registry)
    assert queue.run(registry, item.id).value == "a>b"


def test_an_approval_in_one_step_takes_nothing_on_trust(desk: Desk) -> None:
    """Corrected and approved at once is only what stands there as the function gets it."""
    item = desk.hold()
    with pytest.raises(ReviewError, match="must stand there as the function gets it"):
        desk.queue.correct(item.id, {"amount": "1,300.00", "to": "u-17"}, by="ada", approve=True)
    assert desk.queue.get(item.id).state is ReviewState.WAITING
    done = desk.queue.correct(item.id, {"amount": "1300.00", "to": "u-17"}, by="ada", approve=True)
    assert done.state is ReviewState.APPROVED
    desk.queue.run(desk.registry, item.id)
    assert desk.paid == [(Decimal("1300.00"), "u-17")]


def test_what_is_converted_is_told_of_all_but_secrets(local: AuditStore) -> None:
    """With what it becomes; a name that begins as that of a secret does is another name."""
    queue = ReviewQueue(local)
    registry = Registry(review=queue)

    @registry.tool(approval="always", secret=["key"])
    def use(key: int, keyboards: int) -> int:
        return key + keyboards

    pending = registry.run("use", {"key": 4711, "keyboards": 1}).error
    assert isinstance(pending, ApprovalPending)
    with pytest.raises(ReviewError, match=re.escape('$.keyboards: coerced "5" to 5')):
        queue.correct(pending.item_id, {"key": "***", "keyboards": "5"}, by="ada", approve=True)


@pytest.mark.parametrize(
    "arguments",
    ["text", None, [1], {"amount": object()}, {"amount": "1", "to": "u", "note": float("nan")}, {1: 2}, {"amount": "1"}, {"to": "u"}, {}],
)
def test_corrections_that_are_no_arguments(local: AuditStore, arguments: Any) -> None:
    """What is no JSON object, or does not fit the tool, is refused and changes nothing."""
    desk = Desk(local)
    item = desk.hold()
    with pytest.raises(ReviewError) as raised:
        desk.queue.correct(item.id, arguments, by="ada")
    assert raised.value.reason == "arguments"
    assert desk.queue.get(item.id) == item


def test_a_correction_needs_the_tool(desk: Desk) -> None:
    """A process that has not seen the tool is told to give the registry."""
    item = desk.hold()
    other = desk.other()
    with pytest.raises(ReviewError, match="pass registry="):
        other.correct(item.id, {"amount": "1", "to": "u"}, by="ada")
    assert other.correct(item.id, {"amount": "1", "to": "u"}, by="ada", registry=desk.registry).state is ReviewState.CORRECTED


@pytest.mark.parametrize("by", ["", "  ", "x" * 201, None, 7])
def test_every_decision_has_somebody_who_took_it(local: AuditStore, by: Any) -> None:
    """Nobody is nobody: a decision without a name is refused."""
    desk = Desk(local)
    item = desk.hold()
    deeds: list[Callable[[], Any]] = [
        lambda: desk.queue.approve(item.id, by=by, shown_hash=item.hash),
        lambda: desk.queue.reject(item.id, by=by),
        lambda: desk.queue.correct(item.id, {"amount": "1", "to": "u"}, by=by),
        lambda: desk.queue.run(desk.registry, item.id, by=by),
        lambda: desk.queue.resolve(item.id, "done", by=by),
    ]
    for deed in deeds:
        with pytest.raises(ReviewError, match="by="):
            deed()
    assert desk.queue.get(item.id) == item


# -- secrets -------------------------------------------------------------------------------------------------------------------------

CANARY = "s3cr3t-canary-4711"


class Vault:
    """A registry with a tool that takes a secret."""

    def __init__(self, store: Any, **options: Any) -> None:
        self.queue = ReviewQueue(store, **options)
        self.registry = Registry(review=self.queue)
        self.got: list[tuple[str, Any]] = []

        @self.registry.tool(approval="always")
        def send(to: str, key: Annotated[str, Param(secret=True)], pin: Annotated[int, Param(secret=True)] = 0) -> str:
            """Send with a key."""
            self.got.append((to, key))
            return to

    def hold(self, key: str = CANARY, **said: Any) -> ReviewItem:
        """A call that waits."""
        pending = self.registry.run("send", {"to": "u-17", "key": key}, metadata=said).error
        assert isinstance(pending, ApprovalPending)
        return self.queue.get(pending.item_id)


def test_secrets_are_never_stored(url: str, tmp_path: Path) -> None:
    """No byte of the database, of an item, of a dead letter or of an error holds a secret value; the function gets it all the same."""
    with AuditStore(url) as store:
        letters = tmp_path / "dead.jsonl"
        vault = Vault(store, dead_letters=letters, bury=["rejected"])
        item = vault.hold(user=f"has {CANARY} in it")
        tool = vault.registry["send"]
        attempts = (
            {"number": 1, "original_arguments": {"key": CANARY}, "error": f"got {CANARY}", "answer": json.dumps({"key": CANARY})},
            {"number": 2, "corrected_arguments": f"text with {CANARY}", "log": [{"before": CANARY}]},
        )
        payload = {"to": "u-18", "key": CANARY}
        wanted = Held(tool, payload, check(tool, payload), Call(), vault.queue, "exhausted", attempts)
        rejected = vault.queue.get(vault.queue.hold(wanted))
        text = f'{{"to": "u-19", "key": "{CANARY}"'
        broken = Held(tool, text, check(tool, {"to": 1}), Call(), vault.queue, "unrecoverable")
        torn = vault.queue.get(vault.queue.hold(broken))
        vault.queue.reject(rejected.id, by="ada")
        assert item.arguments == {"to": "u-17", "key": "***"}
        assert item.invoked == {"to": "u-17", "key": "***", "pin": "***"}
        assert torn.original == "***"
        for shown in (item, rejected, torn):
            assert CANARY not in json.dumps(shown.to_dict())
        assert CANARY not in letters.read_text()
        vault.queue.approve(item.id, by="ada", shown_hash=item.hash)
        dump = store.read(
            lambda connection: str(
                [connection.exec_driver_sql(f"SELECT * FROM {name}").all() for name in ("toolbox_review_items", "toolbox_review_events")]
            )
        )
        assert "u-17" in dump
        assert CANARY not in dump
        assert vault.queue.run(vault.registry, item.id).ok
        assert vault.got == [("u-17", CANARY)]
    for file in tmp_path.iterdir():
        assert CANARY.encode() not in file.read_bytes(), file


def test_another_process_gives_the_secrets_again(local: AuditStore) -> None:
    """Where nothing is in memory, whoever runs the item gives its secrets, all of them and no others; the hash holds."""
    vault = Vault(local)
    item = vault.hold()
    other = ReviewQueue(local)
    other.approve(item.id, by="ada", shown_hash=item.hash, registry=vault.registry)
    with pytest.raises(ReviewError, match=r"secrets=\{'key': ...\}") as raised:
        other.run(vault.registry, item.id)
    assert raised.value.reason == "secrets"
    with pytest.raises(ReviewError, match="no secret argument 'to'"):
        other.run(vault.registry, item.id, secrets={"key": "k", "to": "u-666"})
    assert other.run(vault.registry, item.id, secrets={"key": "given again"}).ok
    assert vault.got == [("u-17", "given again")]


def test_a_secret_that_does_not_fit_is_not_shown(local: AuditStore) -> None:
    """A secret given for the run is checked like any other, and its value stands in no error."""
    queue = ReviewQueue(local)
    registry = Registry(review=queue)

    @registry.tool(approval="always", secret=["pin"])
    def open_door(door: int, pin: int) -> str:
        return f"door {door}"

    pending = registry.run("open_door", {"door": 1, "pin": 4711}).error
    assert isinstance(pending, ApprovalPending)
    item = queue.get(pending.item_id)
    other = ReviewQueue(local)
    other.approve(item.id, by="ada", shown_hash=item.hash, registry=registry)
    with pytest.raises(ReviewError) as raised:
        other.run(registry, item.id, secrets={"pin": "hunter2"})
    assert "hunter2" not in str(raised.value)
    assert other.get(item.id).run is RunState.NOT_RUN
    assert other.run(registry, item.id, secrets={"pin": 4711}).value == "door 1"


def test_a_correction_leaves_secrets_masked(local: AuditStore) -> None:
    """A person corrects around the secret: its value is written as the mask, and anything else is refused."""
    vault = Vault(local)
    item = vault.hold()
    with pytest.raises(ReviewError) as raised:
        vault.queue.correct(item.id, {"to": "u-18", "key": "other"}, by="ada")
    assert raised.value.reason == "secrets"
    assert "other" not in str(raised.value)
    corrected = vault.queue.correct(item.id, {"to": "u-18", "key": "***"}, by="ada", approve=True)
    assert corrected.secrets == ("key",)
    assert vault.queue.run(vault.registry, item.id).ok
    assert vault.got == [("u-18", CANARY)]


def hide_mail(text: str) -> str:
    """A redactor: addresses are not shown."""
    return re.sub(r"\w+@", "...@", text)


def test_what_is_redacted_is_not_stored_either(local: AuditStore, tmp_path: Path) -> None:
    """What a redaction hides, in whole or in part, is shown as it shows it, kept in memory, and given again like a secret."""
    queue = ReviewQueue(local, dead_letters=tmp_path / "dead.jsonl", bury=["rejected"])
    registry = Registry(review=queue, redaction=Redaction(["*password*"], hide_mail))
    got: list[Any] = []

    @registry.tool(approval="always")
    def send(to: str, subject: str, options: dict[str, Any], sender: str = "desk@example.org") -> str:
        got.append((to, subject, options, sender))
        return subject

    options = {"password": CANARY, "retries": 3}
    arguments = {"to": "canary@example.org", "subject": "hello", "options": options}
    pending = registry.run("send", arguments, metadata={"user": "canary@example.org"}).error
    assert isinstance(pending, ApprovalPending)
    item = queue.get(pending.item_id)
    assert item.arguments == {"to": "...@example.org", "subject": "hello", "options": {"password": "***", "retries": 3}}
    assert item.invoked == {**item.arguments, "sender": "...@example.org"}
    assert item.secrets == ("options", "to")
    other = ReviewQueue(local)
    other.approve(item.id, by="ada", shown_hash=item.hash, registry=registry)
    with pytest.raises(ReviewError, match="pass secrets="):
        other.run(registry, item.id)
    with pytest.raises(ReviewError, match="is not the one that was shown"):
        other.run(registry, item.id, secrets={"to": "canary@example.com", "options": options})
    corrected = other.correct(item.id, {**item.arguments, "subject": "good bye"}, by="ada", registry=registry)
    assert corrected.secrets == item.secrets
    with pytest.raises(ReviewError, match="is secret"):
        other.correct(item.id, {**item.arguments, "to": "canary@example.com"}, by="ada", registry=registry)
    queue.approve(item.id, by="ada", shown_hash=corrected.hash, registry=registry)
    assert queue.run(registry, item.id).ok
    assert got == [("canary@example.org", "good bye", options, "desk@example.org")]
    again = registry.run("send", '{"to": "canary@example.org", "subject": "x", "options": {"password": "' + CANARY + '"}}').error
    assert isinstance(again, ApprovalPending)
    queue.reject(again.item_id, by="ada")
    for file in tmp_path.iterdir():
        assert b"canary" not in file.read_bytes(), file


def test_secrets_are_forgotten(local: AuditStore) -> None:
    """What has run or was rejected leaves no secret in memory, and the queue keeps only so many."""
    vault = Vault(local)
    first = vault.hold()
    second = vault.hold(key="other")
    assert first.id != second.id
    vault.queue.reject(first.id, by="ada")
    vault.queue.approve(second.id, by="ada", shown_hash=second.hash)
    vault.queue.run(vault.registry, second.id)
    assert not vault.queue._secrets
    assert CANARY not in repr(vault.queue)


# -- one item, not many --------------------------------------------------------------------------------------------------------------


def test_a_thousand_racing_holds_make_one_item(store: AuditStore) -> None:
    """The same call from 32 threads, 1,000 times: one item, which says how often; one hook."""
    desk = Desk(store)
    payload = {"amount": "12.50", "to": "u-17"}
    ids: set[str] = set()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(32) as pool:
            for item_id in pool.map(lambda _: desk.queue.hold(held(desk.registry, "pay", payload, conversation_id="c-1")), range(1_000)):
                ids.add(item_id)
    finally:
        sys.setswitchinterval(interval)
    assert len(ids) == 1
    (item,) = desk.queue.items()
    assert item.repeats == 999
    assert desk.waiting == [item.id]
    assert len(desk.queue.events(item.id)) == 1


def test_which_calls_are_the_same(local: AuditStore) -> None:
    """The same is: tool, what the arguments come to, conversation and user; the spelling does not matter."""
    desk = Desk(local)

    def hold(payload: Any, **said: Any) -> str:
        return desk.queue.hold(held(desk.registry, "pay", payload, **said))

    first = hold({"amount": "12.50", "to": "u-17"}, conversation_id="c-1")
    for payload in ({"to": "u-17", "amount": "12.50"}, '{"amount": "12.50", "to": "u-17"}', {"Amount": "12.50", "to": "u-17", "note": ""}):
        assert hold(payload, conversation_id="c-1") == first
    others = {
        hold({"amount": "12.51", "to": "u-17"}, conversation_id="c-1"),
        hold({"amount": "12.50", "to": "u-17"}, conversation_id="c-2"),
        hold({"amount": "12.50", "to": "u-17"}, conversation_id="c-1", user="u-2"),
        hold({"amount": "12.50", "to": "u-17"}),
    }
    assert len(others | {first}) == 5


def test_the_same_call_after_its_end_is_a_new_item(desk: Desk) -> None:
    """While an item is open, also approved or corrected, it is the one; after its end, the call is a new matter."""
    item = desk.hold()
    desk.queue.correct(item.id, {"amount": "1", "to": "u-17"}, by="ada")
    assert desk.hold().id == item.id
    desk.queue.approve(item.id, by="ada", shown_hash=desk.queue.get(item.id).hash)
    assert desk.hold().id == item.id
    desk.queue.run(desk.registry, item.id)
    second = desk.hold()
    assert second.id != item.id
    desk.queue.reject(second.id, by="ada")
    third = desk.hold()
    assert third.id not in {item.id, second.id}
    desk.clock.now += 8 * 86_400
    fourth = desk.hold()
    assert fourth.id != third.id
    assert [event.step for event in desk.queue.events(third.id)] == [ReviewStep.HOLD, ReviewStep.EXPIRE]


# -- time ----------------------------------------------------------------------------------------------------------------------------


def test_time_runs_out(desk: Desk) -> None:
    """After its time an item can be neither approved nor run, whether or not anybody has swept; each step begins the time anew."""
    waiting, approved, rejected = desk.hold(to="a"), desk.approved(to="b"), desk.hold(to="c")
    desk.queue.reject(rejected.id, by="ada")
    desk.clock.now += 6 * 86_400
    late = desk.hold(to="d")
    corrected = desk.queue.correct(late.id, {"amount": "1", "to": "e"}, by="ada")
    desk.clock.now += 2 * 86_400
    assert desk.queue.get(waiting.id).state is ReviewState.EXPIRED
    for deed in (
        lambda: desk.queue.approve(waiting.id, by="ada", shown_hash=waiting.hash),
        lambda: desk.queue.run(desk.registry, approved.id),
        lambda: desk.queue.reject(waiting.id, by="ada"),
    ):
        with pytest.raises(ReviewError) as raised:
            deed()
        assert raised.value.reason == "expired"
    assert {item.id for item in desk.queue.items(state="expired")} == {waiting.id, approved.id}
    assert {item.id for item in desk.queue.expire()} == {waiting.id, approved.id}
    assert not desk.queue.expire()
    assert [item.id for item in desk.queue.items(state="corrected")] == [late.id]
    assert desk.queue.approve(late.id, by="ada", shown_hash=corrected.hash).state is ReviewState.APPROVED
    assert f"{waiting.id} expired" in desk.decided
    assert not desk.paid


def test_without_a_limit_nothing_expires(local: AuditStore) -> None:
    """With expires_after_s=None an item waits for ever."""
    desk = Desk(local, expires_after_s=None)
    item = desk.hold()
    desk.clock.now += 1e9
    assert not desk.queue.expire()
    assert desk.queue.get(item.id).state is ReviewState.WAITING


def test_items_are_found(desk: Desk) -> None:
    """By state, by what became of the call, by tool, as many as are wanted, oldest first; by the beginning of an id."""
    made = []
    for index in range(5):
        desk.clock.now += 1
        made.append(desk.hold(to=f"u-{index}").id)
    desk.queue.reject(made[0], by="ada")
    desk.queue.approve(made[1], by="ada", shown_hash=desk.queue.get(made[1]).hash)
    desk.queue.run(desk.registry, made[1])
    assert [item.id for item in desk.queue.items()] == made
    assert [item.id for item in desk.queue.items(state="waiting", limit=2)] == made[2:4]
    assert [item.id for item in desk.queue.items(run="done")] == [made[1]]
    assert [item.id for item in desk.queue.items(tool="pay", state=ReviewState.REJECTED)] == [made[0]]
    assert not desk.queue.items(tool="other")
    assert desk.queue.find(made[3][:12]).id == made[3]
    for beginning in ("", "zz", "%", "_"):
        with pytest.raises(ReviewError):
            desk.queue.find(beginning)
    with pytest.raises(ReviewError, match="is no state of an item: send one of waiting"):
        desk.queue.items(state="open")
    with pytest.raises(ReviewError, match="there is no item"):
        desk.queue.get("nope\x1b[31m")


# -- how runs end --------------------------------------------------------------------------------------------------------------------


def test_a_function_that_raises_has_failed(desk: Desk) -> None:
    """What the function raised is in the result and on the item, and it is not run again."""
    item = desk.approved(note="fail")
    result = desk.queue.run(desk.registry, item.id)
    assert "the bank is closed" in str(result.error)
    ended = desk.queue.get(item.id)
    assert ended.run is RunState.FAILED
    assert ended.note is not None
    assert "the bank is closed" in ended.note
    with pytest.raises(ReviewError, match="was run and failed"):
        desk.queue.run(desk.registry, item.id)
    assert len(desk.paid) == 1


@pytest.fixture
def other_tools(local: AuditStore) -> tuple[Registry, ReviewQueue, list[str]]:
    """Tools that end in other ways."""
    queue = ReviewQueue(local)
    registry = Registry(review=queue)
    ran: list[str] = []

    @registry.tool(approval="always", timeout_s=0.05)
    def slow() -> None:
        ran.append("slow")
        threading.Event().wait(0.3)

    @registry.tool(approval="always")
    def needy(session: Injected[Clock]) -> str:
        ran.append("needy")
        return str(session.now)

    @registry.tool(approval="always")
    def interrupted() -> None:
        ran.append("interrupted")
        raise KeyboardInterrupt

    @registry.tool(approval="always")
    async def waits(turns: int) -> int:
        ran.append("waits")
        for _ in range(turns):
            await asyncio.sleep(0)
        return turns

    return registry, queue, ran


def approved(registry: Registry, queue: ReviewQueue, name: str, arguments: dict[str, Any]) -> str:
    """The id of an approved call."""
    pending = registry.run(name, arguments).error
    assert isinstance(pending, ApprovalPending)
    queue.approve(pending.item_id, by="ada", shown_hash=queue.get(pending.item_id).hash)
    return pending.item_id


def test_a_function_that_takes_too_long_is_unknown(other_tools: tuple[Registry, ReviewQueue, list[str]]) -> None:
    """Whether a function that did not end in time had its effect is not known: it is never run again unless a person says so."""
    registry, queue, ran = other_tools
    item_id = approved(registry, queue, "slow", {})
    assert "did not finish" in str(queue.run(registry, item_id).error)
    assert queue.get(item_id).run is RunState.UNKNOWN
    with pytest.raises(ReviewError, match="find out whether it had its effect"):
        queue.run(registry, item_id)
    assert ran == ["slow"]
    assert [item.id for item in queue.items(run="unknown")] == [item_id]


def test_what_the_application_forgot_can_be_run_again(other_tools: tuple[Registry, ReviewQueue, list[str]]) -> None:
    """A value that is missing from the context stops the run before the function: the item goes back."""
    registry, queue, ran = other_tools
    item_id = approved(registry, queue, "needy", {})
    with pytest.raises(MissingContext):
        queue.run(registry, item_id)
    assert queue.get(item_id).position == (ReviewState.APPROVED, RunState.NOT_RUN)
    assert queue.run(registry, item_id, context={Clock: Clock()}).value == "1000000.0"
    assert ran == ["needy"]


def test_an_interrupt_leaves_it_unknown(other_tools: tuple[Registry, ReviewQueue, list[str]]) -> None:
    """An interrupt goes to the caller, and the item says that nobody knows."""
    registry, queue, _ = other_tools
    item_id = approved(registry, queue, "interrupted", {})
    with pytest.raises(KeyboardInterrupt):
        queue.run(registry, item_id)
    item = queue.get(item_id)
    assert (item.run, item.note) == (RunState.UNKNOWN, "KeyboardInterrupt")


class Closed:
    """A sink that cannot open a record."""

    def opened(self, record: AuditRecord) -> None:
        """Refuse."""
        raise OSError("full")

    def __call__(self, record: AuditRecord) -> None:
        """Take nothing."""


def test_a_record_that_cannot_be_opened_stops_the_run(local: AuditStore) -> None:
    """With fail_closed, an approved call whose record cannot be opened does not run, and can be run again."""
    desk = Desk(local)
    newer = Registry(sinks=[Closed()], on_audit_failure="fail_closed")
    newer.include(desk.registry)
    item = desk.approved()
    with pytest.raises(AuditError):
        desk.queue.run(newer, item.id)
    assert not desk.paid
    assert desk.queue.run(desk.registry, item.id).ok


def test_async_tools_run_by_the_twin(other_tools: tuple[Registry, ReviewQueue, list[str]]) -> None:
    """`arun` runs asynchronous and synchronous tools, claims once, and says how they ended."""
    registry, queue, ran = other_tools
    item_id = approved(registry, queue, "waits", {"turns": 3})

    async def race() -> list[Any]:
        return await asyncio.gather(*(queue.arun(registry, item_id, by=f"w-{n}") for n in range(8)), return_exceptions=True)

    ended = asyncio.run(race())
    assert [item.value for item in ended if isinstance(item, ToolResult)] == [3]
    assert len([item for item in ended if isinstance(item, ReviewError)]) == 7
    assert ran == ["waits"]
    assert queue.get(item_id).run is RunState.DONE


@pytest.mark.parametrize("turns", [0, 1, 2, 4, 8, 15, 30, 60, 120])
def test_a_cancelled_run_is_never_lost(other_tools: tuple[Registry, ReviewQueue, list[str]], turns: int) -> None:
    """Cancelled at any point: what did not start can be run, what did is unknown or done; it never stays running."""
    registry, queue, ran = other_tools
    item_id = approved(registry, queue, "waits", {"turns": 1_000})

    async def cancelled() -> None:
        task = asyncio.ensure_future(queue.arun(registry, item_id))
        for _ in range(turns):
            await asyncio.sleep(0.0005)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    item = queue.get(item_id)
    patience = time.monotonic() + 30
    while item.run is RunState.RUNNING and time.monotonic() < patience:
        item = queue.get(item_id)  # what was in a thread when the loop ended goes on there
    assert item.run in ({RunState.UNKNOWN, RunState.DONE} if ran else {RunState.NOT_RUN})


def test_a_person_resolves_what_is_unknown(other_tools: tuple[Registry, ReviewQueue, list[str]]) -> None:
    """Done and failed end it; not run lets it be run once more, and only a person can say so."""
    registry, queue, ran = other_tools
    ids = []
    for _ in range(3):
        item_id = approved(registry, queue, "slow", {})
        queue.run(registry, item_id)
        ids.append(item_id)
        queue.resolve(item_id, "done", by="ada") if len(ids) < 3 else None
    with pytest.raises(ReviewError, match="only what nobody knows the end of"):
        queue.resolve(ids[0], "not_run", by="ada")
    with pytest.raises(ReviewError, match="expected 'done', 'failed' or 'not_run'"):
        queue.resolve(ids[2], "again", by="ada")  # type: ignore[arg-type]
    back = queue.resolve(ids[2], "not_run", by="ada", reason="the log of the bank shows nothing")
    assert back.position == (ReviewState.APPROVED, RunState.NOT_RUN)
    queue.run(registry, ids[2])
    queue.resolve(ids[2], "failed", by="ada")
    assert queue.get(ids[2]).run is RunState.FAILED
    assert ran == ["slow"] * 4
    assert queue.events(ids[2])[-4].note == "the log of the bank shows nothing"


# -- two at once ---------------------------------------------------------------------------------------------------------------------


def test_one_decision_of_many_counts(desk: Desk) -> None:
    """Reviewers who approve, reject and correct at the same instant: the steps of the winners fit together, the others are told."""
    for round_number in range(6):
        item = desk.hold(to=f"r-{round_number}")
        barrier = threading.Barrier(8)

        def decide(number: int, item: ReviewItem = item, barrier: threading.Barrier = barrier) -> str:
            queue = desk.other()
            barrier.wait()
            try:
                if number % 2:
                    queue.reject(item.id, by=f"r-{number}")
                else:
                    queue.approve(item.id, by=f"r-{number}", shown_hash=item.hash)
            except ReviewError as error:
                return error.reason
            return "ok"

        with ThreadPoolExecutor(8) as pool:
            said = list(pool.map(decide, range(8)))
        steps = [event.step for event in desk.queue.events(item.id)]
        # One approval at most, and one rejection at most, which may follow an approval.
        assert steps in (
            [ReviewStep.HOLD, ReviewStep.REJECT],
            [ReviewStep.HOLD, ReviewStep.APPROVE, ReviewStep.REJECT],
        )
        assert said.count("ok") == len(steps) - 1
        assert set(said) <= {"ok", "illegal_step"}


def test_many_runners_run_it_once(desk: Desk) -> None:
    """The same approved item run from 16 threads at once has its effect once."""
    item = desk.approved()
    barrier = threading.Barrier(16)

    def run(number: int) -> str:
        queue = desk.other()
        barrier.wait()
        try:
            return "ran" if queue.run(desk.registry, item.id, by=f"w-{number}").ok else "failed"
        except ReviewError as error:
            return error.reason

    with ThreadPoolExecutor(16) as pool:
        said = sorted(pool.map(run, range(16)))
    assert said == ["illegal_step"] * 15 + ["ran"]
    assert len(desk.paid) == 1


# -- hooks and waiting ---------------------------------------------------------------------------------------------------------------


def test_hooks_break_nothing(local: AuditStore) -> None:
    """A hook that raises is counted, and the item is queued and decided all the same."""

    def broken(item: ReviewItem) -> None:
        raise RuntimeError("the mail server is down")

    desk = Desk(local, on_waiting=broken, on_decided=broken)
    item = desk.approved()
    assert item.state is ReviewState.APPROVED
    assert desk.queue.failed_hooks == 2
    assert desk.queue.run(desk.registry, item.id).ok


def test_waiting_for_a_decision(local: AuditStore) -> None:
    """Whoever waits is woken by a decision of this process, sees those of others, and gets the item back when the time is up."""
    desk = Desk(local)
    item = desk.hold()
    assert desk.queue.decision(item.id, timeout_s=0).state is ReviewState.WAITING
    assert asyncio.run(desk.queue.adecision(item.id, timeout_s=0)).state is ReviewState.WAITING
    asked = threading.Event()

    def wait() -> ReviewItem:
        asked.set()
        return desk.queue.decision(item.id, every_s=60)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait)
        asked.wait()
        desk.queue.approve(item.id, by="ada", shown_hash=item.hash)
        assert waiting.result(timeout=30).state is ReviewState.APPROVED
    second = desk.hold(to="u-18")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: desk.queue.decision(second.id, every_s=0.001))
        desk.other().reject(second.id, by="ada")
        assert waiting.result(timeout=30).state is ReviewState.REJECTED
    assert asyncio.run(desk.queue.adecision(second.id)).state is ReviewState.REJECTED


# -- a store that fails --------------------------------------------------------------------------------------------------------------


class Flaky:
    """A store that can be told to fail: before a transaction, or after it was committed."""

    def __init__(self, store: AuditStore) -> None:
        self.store = store
        self.fails: Literal["", "before", "after"] = ""

    def transact(self, work: Callable[[Any], T], /) -> T:
        """Do work, or fail."""
        if self.fails == "before":
            raise StoreError("full", "the disk is full")
        done = self.store.transact(work)
        if self.fails == "after":
            self.fails = ""
            raise StoreError("outcome_unknown", "the server went away")
        return done

    def read(self, work: Callable[[Any], T], /) -> T:
        """Read."""
        return self.store.read(work)

    def migrate(self, component: str, steps: Any, /) -> None:
        """Make the tables."""
        self.store.migrate(component, steps)


def test_what_cannot_be_queued_is_a_dead_letter(local: AuditStore, tmp_path: Path) -> None:
    """A store that fails loses nothing: the item is in the file, the caller is told where, and it can be put back."""
    flaky = Flaky(local)
    desk = Desk(flaky, dead_letters=tmp_path / "dead.jsonl")
    flaky.fails = "before"
    result = desk.registry.run("pay", {"amount": "5", "to": "u-17"})
    assert isinstance(result.error, ReviewError)
    assert result.error.reason == "not_queued"
    assert str(tmp_path / "dead.jsonl") in str(result.error)
    (letter,) = DeadLetterFile(tmp_path / "dead.jsonl").items()
    assert letter.original == {"amount": "5", "to": "u-17"}
    flaky.fails = ""
    assert not desk.queue.items()
    assert desk.queue.restore(letter)
    assert not desk.queue.restore(letter)
    (item,) = desk.queue.items()
    assert item.id == letter.id
    desk.queue.approve(item.id, by="ada", shown_hash=item.hash)
    assert desk.queue.run(desk.registry, item.id).ok
    assert desk.paid == [(Decimal(5), "u-17")]


def test_a_dead_letter_that_was_changed_is_not_taken(local: AuditStore) -> None:
    """What is put back must be what its hash says."""
    desk = Desk(local)
    item = desk.hold()
    forged = replace(item, id="f" * 16, arguments={"amount": "9999", "to": "u-666"})
    with pytest.raises(ReviewError, match="was changed"):
        desk.queue.restore(forged)


def test_when_everything_fails_the_call_does_not_run(local: AuditStore, caplog: pytest.LogCaptureFixture) -> None:
    """Store and dead letters both failing: the caller and the log are told, with the item."""

    def broken(item: ReviewItem) -> None:
        raise OSError("no")

    flaky = Flaky(local)
    desk = Desk(flaky, dead_letters=broken)
    flaky.fails = "before"
    result = desk.registry.run("pay", {"amount": "5", "to": "u-17"})
    assert "stands in the log alone" in str(result.error)
    assert "u-17" in caplog.text
    assert desk.queue.failed_letters == 1
    assert not desk.paid


def test_a_hold_whose_outcome_is_unknown_is_one_item(local: AuditStore) -> None:
    """A server that goes away during the commit: the call is asked for again, and is there once."""
    flaky = Flaky(local)
    desk = Desk(flaky)
    flaky.fails = "after"
    item = desk.hold()
    assert [kept.id for kept in desk.queue.items()] == [item.id]
    assert desk.waiting == [item.id]


def test_a_claim_whose_outcome_is_unknown_does_not_run(local: AuditStore) -> None:
    """Where nobody knows whether the claim was committed, nothing runs, and the item can be run later."""
    flaky = Flaky(local)
    desk = Desk(flaky)
    item = desk.approved()
    for fails in ("before", "after"):
        flaky.fails = fails
        with pytest.raises(StoreError):
            desk.queue.run(desk.registry, item.id)
        flaky.fails = ""
        assert not desk.paid
        assert desk.queue.get(item.id).position == (ReviewState.APPROVED, RunState.NOT_RUN)
    assert desk.queue.run(desk.registry, item.id).ok
    assert len(desk.paid) == 1


def test_an_end_that_cannot_be_written_waits(local: AuditStore) -> None:
    """A store that fails while the function runs changes nothing about its result; the end is written with the next step."""
    flaky = Flaky(local)
    desk = Desk(flaky)

    @desk.registry.tool(approval="always")
    def breaks() -> str:
        flaky.fails = "before"
        return "done"

    item_id = approved(desk.registry, desk.queue, "breaks", {})
    assert desk.queue.run(desk.registry, item_id).value == "done"
    assert desk.queue.get(item_id).run is RunState.DONE
    with pytest.raises(ReviewError, match="was run already"):
        desk.queue.run(desk.registry, item_id)
    assert [event.step for event in desk.queue.events(item_id)][-1] is ReviewStep.CLAIM
    flaky.fails = ""
    desk.queue.expire()
    assert [event.step for event in desk.queue.events(item_id)][-1] is ReviewStep.DONE
    assert desk.queue.get(item_id).run is RunState.DONE


def test_an_end_that_comes_after_a_person_has_decided(local: AuditStore) -> None:
    """Whoever was thought to be lost and comes back finds the item resolved: what the person said stays, and it is counted."""
    desk = Desk(local)

    @desk.registry.tool(approval="always")
    def long() -> str:
        from toolbox.recovery.review.surroundings import ALIVE

        lost = set(ALIVE)
        ALIVE.clear()
        desk.other().resolve(desk.queue.items(run="unknown")[0].id, "failed", by="ada")
        ALIVE.update(lost)
        return "done after all"

    item_id = approved(desk.registry, desk.queue, "long", {})
    assert desk.queue.run(desk.registry, item_id).value == "done after all"
    assert desk.queue.get(item_id).run is RunState.FAILED
    assert desk.queue.lost_ends == 1


def test_a_newer_store_is_refused(local: AuditStore) -> None:
    """Tables that a newer version has made are not touched."""
    ReviewQueue(local)
    local.transact(lambda connection: connection.exec_driver_sql("UPDATE toolbox_schema SET version = 99 WHERE component = 'reviews'"))
    with pytest.raises(StoreError) as raised:
        ReviewQueue(local)
    assert raised.value.reason == "newer"


@pytest.mark.parametrize(("column", "value"), [("state", "'odd'"), ("changes", "'{'"), ("arguments", "'[1'"), ("run", "'x'")])
def test_a_row_that_cannot_be_read(local: AuditStore, column: str, value: str) -> None:
    """A damaged row is a clear error of the store, and not a foreign one."""
    desk = Desk(local)
    item = desk.hold()
    local.transact(lambda connection: connection.exec_driver_sql(f"UPDATE toolbox_review_items SET {column} = {value}"))
    with pytest.raises(StoreError) as raised:
        desk.queue.get(item.id)
    assert raised.value.reason == "corrupt"


# -- together with the loop that asks a model ----------------------------------------------------------------------------------------


def answer(status: str, corrected: dict[str, Any], lost: tuple[str, ...] = ()) -> str:
    """What a model answers to a recovery prompt."""
    fields = [{"field_path": f"$.{name}", "original_value": "?", "expected_type": "?", "reason": "not clear"} for name in lost]
    return json.dumps({"recovery_status": status, "corrected_arguments": corrected, "unrecoverable_fields": fields, "coercion_log": []})


@pytest.mark.parametrize(
    ("answers", "reason", "attempts"),
    [
        ([answer("PARTIAL", {"count": 3}, ("color",))], "partial", 1),
        ([answer("UNRECOVERABLE", {}, ("color", "count"))], "unrecoverable", 1),
        (["no", "no", "no"], "exhausted", 3),
        ([answer("SUCCESS", {"count": 3, "color": "b"})] * 3, "exhausted", 3),
    ],
)
def test_what_a_model_cannot_correct_goes_to_a_person(local: AuditStore, answers: list[str], reason: str, attempts: int) -> None:
    """Partial, unrecoverable and exhausted calls wait with every attempt; nothing of a model's is proposed, and a person mends it."""
    queue = ReviewQueue(local)
    said = iter(answers)
    registry = Registry(review=queue, recovery=Recovery(lambda messages: next(said), review="partial"))
    painted: list[tuple[int, Color]] = []

    @registry.tool
    def paint(count: int, color: Color) -> None:
        painted.append((count, color))

    pending = registry.run("paint", {"count": 3, "color": "something dark"}, metadata={"conversation_id": "c-1"}).error
    assert isinstance(pending, ApprovalPending)
    assert pending.reason == reason
    item = queue.get(pending.item_id)
    assert len(item.attempts) == attempts
    assert item.attempts[0]["original_arguments"] == {"count": 3, "color": "something dark"}
    assert item.arguments is None
    assert "$.color" in item.violation
    assert not painted
    queue.correct(item.id, {"count": 3, "color": "b"}, by="ada", approve=True)
    assert queue.run(registry, item.id).ok
    assert painted == [(3, Color.BLUE)]


def test_a_corrected_call_is_approved_like_any_other(local: AuditStore) -> None:
    """Where a model has corrected the arguments of a tool that needs approval, a person still decides."""
    queue = ReviewQueue(local)
    registry = Registry(review=queue, recovery=Recovery(lambda messages: answer("SUCCESS", {"when": "2026-07-02"})))
    booked: list[date] = []

    @registry.tool(approval="always")
    def book(when: date) -> None:
        booked.append(when)

    pending = registry.run("book", {"when": "2026/07/02 "}).error
    assert isinstance(pending, ApprovalPending), pending
    item = queue.get(pending.item_id)
    assert (item.original, item.invoked) == ({"when": "2026/07/02 "}, {"when": "2026-07-02"})
    assert [attempt["verdict"] for attempt in item.attempts] == ["accepted"]
    assert item.metadata["recovery"]["attempt_number"] == 1
    queue.approve(item.id, by="ada", shown_hash=item.hash)
    assert queue.run(registry, item.id).ok
    assert booked == [date(2026, 7, 2)]


# -- whatever comes ------------------------------------------------------------------------------------------------------------------


class Hostile(dict[str, Any]):
    """A mapping whose methods raise."""

    def items(self) -> Any:
        raise RuntimeError("no")

    def __iter__(self) -> Any:
        raise RuntimeError("no")


def cyclic() -> dict[str, Any]:
    """A value that holds itself."""
    made: dict[str, Any] = {"mg": 1}
    made["mg"] = made
    return made


PAYLOADS: list[Any] = [
    None,
    "",
    "a lot",
    b"\xff\xfe",
    bytearray(b'{"mg": "x"}'),
    [],
    [1, 2],
    5,
    float("nan"),
    object(),
    {"mg": float("nan")},
    {"mg": float("inf"), "route": object()},
    {"mg": 10**5_000},
    {"mg": {"deep": [[[[{"a": b"\xff"}]]]]}},
    {1: 2, None: 3},
    {"mg": "\ud800\x00", "\ud800": "\x00"},
    {"route": "x" * 100_000, "mg": "x"},
    Hostile(mg="x"),
    cyclic(),
    {"mg": iter([1])},
    {"arguments": {"mg": "1,000"}},
    '{"mg": "1,0',
    {"mg": Decimal("1e500")},
    {"mg": set("ab")},
]


@pytest.mark.parametrize("payload", PAYLOADS, ids=[str(index) for index in range(len(PAYLOADS))])
def test_whatever_is_held_is_kept(store: AuditStore, tmp_path: Path, payload: Any) -> None:
    """Any payload, metadata and attempts become an item that can be read, corrected and run; nothing foreign is raised."""
    doses: list[float] = []
    queue = ReviewQueue(store, dead_letters=tmp_path / "dead.jsonl")
    registry = dosing(queue, doses)
    tool = registry["dose"]
    refused = check(tool, {"mg": "a lot"})
    said = {"conversation_id": payload if isinstance(payload, str) else "\ud800\x00", "user": 5, "tags": [payload]}
    item_id = queue.hold(Held(tool, payload, refused, Call("\x00", metadata=said), queue, "exhausted", ({"error": payload, 1: 2},)))  # type: ignore[dict-item]
    item = queue.get(item_id)
    assert ReviewItem.from_dict(json.loads(json.dumps(item.to_dict()))) == item
    assert [one.id for one in queue.items()] == [item_id]
    DeadLetterFile(tmp_path / "dead.jsonl")(item)
    assert list(DeadLetterFile(tmp_path / "dead.jsonl").items()) == [item]
    queue.correct(item_id, {"mg": 2.5}, by="\x00\ud800", registry=registry, approve=True)
    assert queue.run(registry, item_id).ok
    assert doses == [2.5]


def test_ids_that_are_none(desk: Desk) -> None:
    """What cannot be an id is not found, whatever it is."""
    for item_id in ("", "\x00", "\ud800", "x" * 1_000, "%", None, 5, "ä", Unruly()):
        for deed in (
            lambda item_id=item_id: desk.queue.get(item_id),
            lambda item_id=item_id: desk.queue.find(item_id),
            lambda item_id=item_id: desk.queue.reject(item_id, by="ada"),
            lambda item_id=item_id: desk.queue.run(desk.registry, item_id),
        ):
            with pytest.raises(ReviewError) as raised:
                deed()
            assert raised.value.reason == "not_found"
    assert not desk.queue.items(tool="\x00\ud800")


def test_the_time_of_an_item_is_its_own(local: AuditStore) -> None:
    """An item expires as it was said when it was held, whoever takes a step meanwhile with other settings."""
    desk = Desk(local, expires_after_s=100)
    item = desk.hold()
    elsewhere = ReviewQueue(local, clock=desk.clock, expires_after_s=None)
    desk.clock.now += 90
    approved_item = elsewhere.approve(item.id, by="ada", shown_hash=item.hash)
    assert approved_item.expires_at == desk.clock.now + 100
    desk.clock.now += 101
    assert elsewhere.get(item.id).state is ReviewState.EXPIRED
    never = Desk(local, expires_after_s=None)
    kept = never.hold(to="u-18")
    assert desk.queue.correct(kept.id, {"amount": "1", "to": "u-18"}, by="ada").expires_at is None


def test_a_letter_of_a_call_that_came_again(local: AuditStore, tmp_path: Path) -> None:
    """A dead letter is not put beside the same call that waits already."""
    flaky = Flaky(local)
    desk = Desk(flaky, dead_letters=tmp_path / "dead.jsonl")
    flaky.fails = "before"
    desk.registry.run("pay", {"amount": "5", "to": "u-17"})
    flaky.fails = ""
    (letter,) = DeadLetterFile(tmp_path / "dead.jsonl").items()
    again = desk.registry.run("pay", {"amount": "5", "to": "u-17"}).error
    assert isinstance(again, ApprovalPending)
    assert not desk.queue.restore(letter)
    assert [item.id for item in desk.queue.items()] == [again.item_id]


@pytest.mark.parametrize("wrong", ["audit.db", None, MemorySink()])
def test_what_is_no_store_is_refused_at_once(wrong: Any) -> None:
    """With what to pass instead."""
    with pytest.raises(TypeError, match=r"a ReviewQueue takes a store, such as AuditStore\(...\), and not"):
        ReviewQueue(wrong)


class Unruly:
    """An object whose methods raise."""

    def __str__(self) -> str:
        raise ZeroDivisionError

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    __repr__ = __str__
    __hash__ = None  # type: ignore[assignment]  # which makes it no key


MISUSES = [
    # what is called, and what is said of it
    (lambda queue, item, registry: queue.items(limit="x"), "limit= must be a number of items"),
    (lambda queue, item, registry: queue.items(limit=-1), "limit= must be a number of items"),
    (lambda queue, item, registry: queue.items(tool=5), "tool= must be the name of a tool"),
    (lambda queue, item, registry: queue.items(state=[]), "is no state of an item"),
    (lambda queue, item, registry: queue.items(state=Unruly()), "a Unruly is no state of an item"),
    (lambda queue, item, registry: queue.resolve(item, Unruly(), by="ada"), "expected 'done', 'failed' or 'not_run'"),
    (lambda queue, item, registry: queue.correct(item, {"n": Unruly()}, by="ada"), "do not fit"),
    (lambda queue, item, registry: queue.get(5), "there is no item 5"),
    (lambda queue, item, registry: queue.find([]), "there is no item"),
    (lambda queue, item, registry: queue.resolve(item, [], by="ada"), "expected 'done', 'failed' or 'not_run'"),
    (lambda queue, item, registry: queue.resolve(item, "done", by="ada", reason=5), "reason= must be text"),
    (lambda queue, item, registry: queue.reject(item, by="ada", reason=5), "reason= must be text"),
    (lambda queue, item, registry: queue.reject(item, by=5), "by= must name who does it"),
    (lambda queue, item, registry: queue.approve([], by="ada", shown_hash="x"), "there is no item"),
    (lambda queue, item, registry: queue.run(registry, []), "there is no item"),
    (lambda queue, item, registry: queue.run(registry, item, secrets=5), "secrets= must be the values"),
    (lambda queue, item, registry: queue.restore(5), "item= must be a ReviewItem"),
    (lambda queue, item, registry: queue.decision(item, timeout_s="x"), "timeout_s= must be a number of seconds"),
    (lambda queue, item, registry: queue.decision(item, every_s=0), "every_s= must be a number of seconds of at least 0.001"),
    (lambda queue, item, registry: asyncio.run(queue.adecision(item, timeout_s=-1)), "timeout_s= must be a number of seconds"),
    (lambda queue, item, registry: queue.run(5, item), "registry must be a Registry, and is 5"),
    (lambda queue, item, registry: queue.correct(item, {"n": 2}, by="ada", registry={}), "registry must be a Registry"),
]


@pytest.mark.parametrize(("use", "said"), MISUSES, ids=[said for _, said in MISUSES])
def test_what_cannot_be_meant(local: AuditStore, use: Callable[[ReviewQueue, str, Registry], object], said: str) -> None:
    """It is refused with what is wanted, and nothing has changed."""
    queue = ReviewQueue(local)
    registry = Registry(review=queue)

    def go(n: int) -> None:
        """Go."""

    registry.register(go, approval="always")
    registry.run("go", {"n": 1})
    (item,) = queue.items()
    queue.approve(item.id, by="ada", shown_hash=item.hash)
    before = queue.get(item.id)
    with pytest.raises((ReviewError, TypeError), match=said):
        use(queue, item.id, registry)
    assert queue.get(item.id) == before
    assert queue.events([]) == []  # type: ignore[arg-type]  # which is the case
    assert queue.items(limit=0) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"expires_after_s": "x"}, "expires_after_s= must be a number of seconds, or None"),
        ({"expires_after_s": -1}, "expires_after_s= must be a number of seconds, or None"),
        ({"unknown_after_s": None}, "unknown_after_s= must be a number of seconds"),
        ({"on_waiting": 5}, "on_waiting= must be a function"),
        ({"on_decided": "x"}, "on_decided= must be a function"),
        ({"clock": 5}, "clock= must be a function"),
        ({"bury": 5}, "bury=5: expected a list of 'rejected' and 'expired'"),
        ({"bury": ["waiting"]}, r"bury=\[\"waiting\"\]: expected a list"),
        ({"bury": [[]]}, "expected a list of 'rejected' and 'expired'"),
        ({"dead_letters": 5}, "dead_letters must be callable"),
    ],
)
def test_a_queue_that_cannot_be(local: AuditStore, options: dict[str, Any], said: str) -> None:
    """What is wrong with it is said when it is made."""
    with pytest.raises(ReviewError, match=said) as error:
        ReviewQueue(local, **options)
    assert error.value.reason == "misused"


# -- what may go wrong around a run --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"metadata": ["x"]}, {"context": 5}, {"timeout_s": "x"}])
def test_wrong_options_of_a_run_hold_no_item(local: AuditStore, options: dict[str, Any]) -> None:
    """They are found before the item is claimed."""
    queue = ReviewQueue(local)
    ran: list[Any] = []
    registry = Registry(review=queue)

    def go(n: int) -> None:
        """Go."""
        ran.append(n)

    registry.register(go, approval="always")
    registry.run("go", {"n": 1})
    (item,) = queue.items()
    queue.approve(item.id, by="ada", shown_hash=item.hash)
    with pytest.raises(TypeError, match=f"{next(iter(options))} must be a"):
        queue.run(registry, item.id, **options)
    assert queue.run(registry, item.id).ok
    assert ran == [1]


def test_what_was_held_secret_is_what_runs(local: AuditStore) -> None:
    """Whatever becomes of the caller's own objects meanwhile."""
    queue = ReviewQueue(local)
    ran: list[Any] = []
    registry = Registry(review=queue)

    def pay(accounts: list[str], n: int) -> None:
        """Pay."""
        ran.append((list(accounts), n))

    registry.register(pay, approval="always", secret=["accounts"])
    accounts = ["alice"]
    registry.run("pay", {"accounts": accounts, "n": 1})
    (item,) = queue.items()
    queue.approve(item.id, by="ada", shown_hash=item.hash)
    accounts[0] = "mallory"
    assert queue.run(registry, item.id).ok
    assert ran == [(["alice"], 1)]
    assert queue._secrets == {}


def test_a_run_that_never_started_is_no_failure(local: AuditStore) -> None:
    """The item is still approved, and runs once there is time for it."""
    queue = ReviewQueue(local)
    ran: list[Any] = []
    registry = Registry(review=queue)

    def go(key: str) -> None:
        """Go."""
        ran.append(key)

    registry.register(go, approval="always", secret=["key"])
    registry.run("go", {"key": "k-1"})
    (item,) = queue.items()
    queue.approve(item.id, by="ada", shown_hash=item.hash)
    result = queue.run(registry, item.id, timeout_s=0)
    assert "was not run" in str(result.error)
    assert queue.get(item.id).position == (ReviewState.APPROVED, RunState.NOT_RUN)
    assert queue.run(registry, item.id).ok
    assert ran == ["k-1"]
