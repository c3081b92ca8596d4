"""Replay of records: what became of calls then, and what would under other policies and signatures."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox import (
    ABSORBING,
    LENIENT,
    STRICT,
    AuditRecord,
    CallStatus,
    MemorySink,
    Param,
    Policy,
    Redaction,
    Registry,
    ReplayReport,
    replay,
)
from toolbox.cli.record_lines import read_record
from toolbox.replaying import NO_TOOL, OTHERS, Replay, ReplayOutcome, Unchecked

AS_IS, MENDED, REFUSED, GONE = ReplayOutcome
KEY = "sk-1"


def search(term: str, limit: int = 10, order: Literal["asc", "desc"] = "asc") -> str:
    """A sample tool."""
    return term


def pay(amount: float, card: Annotated[str, Param(secret=True)]) -> str:
    """A sample tool."""
    return "paid"


def fetch(url: str, headers: dict[str, Any] | None = None) -> str:
    """A sample tool."""
    return url


@dataclass
class Order:
    item: str
    number: int = 1
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


def place(order: Order, note: str | None = None) -> str:
    """A sample tool."""
    return order.id


def raising(n: int) -> None:
    """A sample tool."""
    raise ValueError(n)


TOOLS: tuple[Callable[..., Any], ...] = (search, pay, fetch, place, raising)


def _registry(policy: Policy = LENIENT, *functions: Callable[..., Any], **options: Any) -> Registry:
    registry = Registry(policy, **options)
    for function in functions or TOOLS:
        registry.register(function)
    return registry


def _recorded(registry: Registry, *calls: tuple[str, Any]) -> MemorySink:
    sink = MemorySink()
    registry.add_sink(sink)
    for name, arguments in calls:
        registry.run(name, arguments)
    registry.remove_sink(sink)
    return sink


def _changes(report: ReplayReport) -> dict[tuple[str, ReplayOutcome, ReplayOutcome], int]:
    return {key: item.count for key, item in report.transitions.items()}


def _search_wide(term: str, limit: int = 20, order: Literal["asc", "desc", "none"] = "asc", page: int = 1) -> str:
    """The same tool later: another default, one choice more, one parameter more."""
    return term


def _search_narrow(term: str, order: Literal["asc"] = "asc") -> str:
    """The same tool later: one choice and one parameter less."""
    return term


def _search_exact(term: str, limit: int, order: Literal["asc", "desc"] = "asc") -> str:
    """The same tool later: what was optional is required."""
    return term


# What was called under LENIENT, the registry of today, and what became of it: then, now, and whether the arguments are others.
Later = tuple[Any, ...]
CASES: list[tuple[tuple[str, Any], Later, tuple[ReplayOutcome, ReplayOutcome, bool]]] = [
    (("search", {"term": "a"}), (), (AS_IS, AS_IS, False)),
    (("search", {"term": "a", "limit": "5"}), (), (MENDED, MENDED, False)),
    (("search", {"term": "a", "limit": "x"}), (), (REFUSED, REFUSED, False)),
    (("search", {"term": "a", "limit": "5"}), (STRICT,), (MENDED, REFUSED, False)),
    (("search", {"term": "a", "limit": 5}), (STRICT,), (AS_IS, AS_IS, False)),
    (("search", {"term": "a", "order": "ASC"}), (ABSORBING,), (MENDED, MENDED, False)),
    (("search", '{"term": "a", "limit": 5}'), (STRICT,), (AS_IS, AS_IS, False)),
    (("search", '{"term": "a", "limit": 5,}'), (), (MENDED, MENDED, False)),
    (("search", '{"term": "a", "limit": 5,}'), (STRICT,), (MENDED, REFUSED, False)),
    (("search", '{"term": "a", "limit": "5"'), (STRICT,), (MENDED, REFUSED, False)),
    (("functions.search", {"term": "a"}), (), (MENDED, MENDED, False)),
    (("Search", {"term": "a"}), (STRICT,), (MENDED, MENDED, False)),
    (("search", {"term": "a"}), (LENIENT, pay), (AS_IS, GONE, False)),
    (("search", {"limit": "x"}), (LENIENT, pay), (REFUSED, GONE, False)),
    (("nope", {}), (), (GONE, GONE, False)),
    (("raising", {"n": 1}), (), (AS_IS, AS_IS, False)),
    (("raising", {"n": "1"}), (STRICT,), (MENDED, REFUSED, False)),
    (("place", {"order": {"item": "a"}}), (), (AS_IS, AS_IS, True)),
    (("place", {"order": '{"item": "a", "id": "1"}'}), (), (MENDED, MENDED, False)),
]


@pytest.mark.parametrize(("call", "later", "wanted"), CASES, ids=range(len(CASES)))
def test_then_and_now(call: tuple[str, Any], later: Later, wanted: tuple[ReplayOutcome, ReplayOutcome, bool]) -> None:
    """What became of a call is what its record says, and what would become of it is what the tools of today make of it."""
    report = replay(_recorded(_registry(), call), _registry(*later))
    ((_, then, now),) = report.transitions
    assert (then, now, bool(report.other_arguments)) == wanted
    assert report.compared == report.records == 1
    assert report.changed == int(then is not now or wanted[2])


SIGNATURES: list[tuple[Callable[..., Any], Any, tuple[ReplayOutcome, ReplayOutcome, bool]]] = [
    (_search_wide, {"term": "a", "limit": 3}, (AS_IS, AS_IS, False)),
    (_search_wide, {"term": "a"}, (AS_IS, AS_IS, True)),
    (_search_wide, {"term": "a", "order": "none"}, (REFUSED, AS_IS, False)),
    (_search_narrow, {"term": "a"}, (AS_IS, AS_IS, False)),
    (_search_narrow, {"term": "a", "limit": 3}, (AS_IS, MENDED, False)),
    (_search_narrow, {"term": "a", "order": "desc"}, (AS_IS, REFUSED, False)),
    (_search_exact, {"term": "a"}, (AS_IS, REFUSED, False)),
    (_search_exact, {"term": "a", "limit": 10}, (AS_IS, AS_IS, False)),
]


@pytest.mark.parametrize(("function", "arguments", "wanted"), SIGNATURES, ids=range(len(SIGNATURES)))
def test_changed_signatures(function: Callable[..., Any], arguments: Any, wanted: tuple[ReplayOutcome, ReplayOutcome, bool]) -> None:
    """A changed signature is felt where it matters: other defaults, choices, and parameters that are required or gone."""
    later = Registry(LENIENT)
    later.register(function, name="search")
    report = replay(_recorded(_registry(), ("search", arguments)), later)
    ((_, then, now),) = report.transitions
    assert (then, now, bool(report.other_arguments)) == wanted


def test_the_report() -> None:
    """Counts, shares, reasons with place and record, and the tools that are gone."""
    sink = _recorded(
        _registry(),
        *[("search", {"term": "a", "limit": "5"})] * 5,
        ("search", {"term": "a"}),
        ("search", {"term": "a", "order": "none"}),
        ("fetch", {"url": "u"}),
    )
    later = _registry(STRICT, pay)
    later.register(_search_wide, name="search")
    report = replay(sink, later)
    ids = [record.id for record in sink.records]
    assert (report.records, report.compared, report.refused, report.changed) == (8, 8, 6, 8)
    assert (report.refused_percent, report.changed_percent) == (75.0, 100.0)
    assert report.gone == ["fetch"]
    assert report.tools == ["search", "fetch"]
    (reason,) = report.newly_refused.items()
    assert reason[0] == ("search", "wrong_type", "$.limit")
    assert (reason[1].count, reason[1].examples) == (5, ids[:3])
    assert {key: item.examples for key, item in report.newly_accepted.items()} == {("search", "not_a_choice", "$.order"): [ids[6]]}
    assert {key: item.examples for key, item in report.other_arguments.items()} == {"search": [ids[5]]}
    assert report.counted("search", then=[MENDED]) == report.counted(now=[REFUSED]) == 5
    told = report.to_dict()
    assert json.loads(json.dumps(told)) == told
    assert told["newly_refused"] == [{"tool": "search", "reason": "wrong_type", "place": "$.limit", "count": 5, "examples": ids[:3]}]


def test_places_are_counted_together() -> None:
    """What fails in the items of a list is one reason, however many items there are."""

    def total(prices: list[float]) -> float:
        return sum(prices)

    sink = _recorded(_registry(LENIENT, total), ("total", {"prices": ["1", "2", "3"]}))
    report = replay(sink, _registry(STRICT, total))
    assert list(report.newly_refused) == [("total", "wrong_type", "$.prices[*]")]


# -- what was not kept ---------------------------------------------------------------------------------------------------------------

HIDDEN: list[tuple[tuple[str, Any], Unchecked | tuple[ReplayOutcome, ReplayOutcome]]] = [
    (("pay", {"amount": 2.5, "card": KEY}), (AS_IS, AS_IS)),
    (("pay", {"amount": "2.5", "card": KEY}), (MENDED, REFUSED)),
    (("pay", {"amount": "two", "card": KEY}), (REFUSED, REFUSED)),
    (("pay", {"amount": 2.5, "card": [KEY, KEY]}), (AS_IS, AS_IS)),
    (("pay", {"amount": 2.5, "card": None}), Unchecked.MASKED),
    (("pay", {"amount": 2.5, "card": 5}), (AS_IS, AS_IS)),
    (("pay", '{"amount": 2.5, "card": "sk-1"}'), Unchecked.MASKED),
    (("pay", {"arguments": {"amount": 2.5, "card": KEY}}), Unchecked.MASKED),
    (("pay", {"amount": 2.5}), (REFUSED, REFUSED)),
    (("fetch", {"url": "u", "headers": {"token": KEY, "a": 1}}), (AS_IS, AS_IS)),
    (("fetch", {"url": 5, "headers": {"token": KEY}}), (MENDED, REFUSED)),
    (("fetch", '{"url": "u", "headers": {"token": "sk-1"}}'), Unchecked.MASKED),
    (("fetch", {"url": "u?token=sk-1"}), (AS_IS, AS_IS)),
    (("search", {"term": "x" * 20_000}), Unchecked.CUT),
    (("search", '{"term": "' + "x" * 20_000 + '"}'), Unchecked.CUT),
    (("fetch", {"url": "u", "headers": {"n": [[[[1]]]] * 20_000}}), Unchecked.CUT),
    (("search", {"term": "** not *** masked ***"}), (AS_IS, AS_IS)),
]


@pytest.mark.parametrize(("call", "wanted"), HIDDEN, ids=range(len(HIDDEN)))
def test_what_was_not_kept(call: tuple[str, Any], wanted: Any) -> None:
    """What is masked is left out where the rest can be judged without it; what is masked or cut as a whole is counted and said."""
    sink = _recorded(_registry(redaction=Redaction(["token"])), call)
    report = replay(sink, _registry(STRICT, redaction=Redaction(["token"])))
    if isinstance(wanted, Unchecked):
        assert {key: item.count for key, item in report.unchecked.items()} == {wanted: 1}
        assert (report.compared, report.changed, report.refused_percent) == (0, 0, 0.0)
    else:
        assert [key[1:] for key in report.transitions] == [wanted]
        assert report.other_arguments == {}
        assert report.partly == int("***" in json.dumps(sink.records[0].arguments) and call[0] != "search")


def test_calls_that_never_came_to_a_tool() -> None:
    """A call of a tool that did not exist then is compared while there is none now; where there is one, its arguments were not kept."""
    sink = _recorded(_registry(LENIENT, pay), ("search", {"term": "a"}), ("nope", {}))
    report = replay(sink, _registry())
    assert _changes(report) == {(NO_TOOL, GONE, GONE): 1}
    assert report.unchecked[Unchecked.NOT_KEPT].count == 1


def test_refused_for_another_reason() -> None:
    """A call that did not run for a reason outside its arguments says nothing about them."""
    record = AuditRecord("search", "lenient", {"term": "a"}, status=CallStatus.REFUSED, error="no value in the context")
    assert list(replay([record], _registry()).unchecked) == [Unchecked.OTHER_REASON]


@pytest.mark.parametrize("status", list(CallStatus))
def test_every_status_is_read(status: CallStatus) -> None:
    """Records of every status are counted, however the call ended."""
    record = AuditRecord("search", "lenient", {"term": "a"}, status=status)
    report = replay([record], _registry())
    assert report.compared + sum(item.count for item in report.unchecked.values()) == 1


def test_how_a_call_was_found() -> None:
    """A call that was found in text stays mended, though its arguments alone do not show it; keys given twice stay refused."""
    registry = _registry()
    sink = MemorySink()
    registry.add_sink(sink)
    registry.run_calls(registry.parse_calls('<tool_call>{"name": "search", "arguments": {"term": "a"}}</tool_call>'))
    registry.run_calls(registry.parse_calls('<tool_call>{"name": "search", "arguments": {"term": "a", "term": "b"}}</tool_call>'))
    assert _changes(replay(sink, registry)) == {("search", MENDED, MENDED): 1, ("search", REFUSED, REFUSED): 1}
    hiding = _registry(redaction=Redaction(["token"]))
    sink = MemorySink()
    hiding.add_sink(sink)
    hiding.run_calls(hiding.parse_calls('<tool_call>{"name": "search", "arguments": {"term": "a", "term": "b"}}</tool_call>'))
    assert _changes(replay(sink, hiding)) == {("search", REFUSED, REFUSED): 1}


# -- policies ------------------------------------------------------------------------------------------------------------------------


def test_a_looser_policy_never_loosens_a_tool_of_its_own() -> None:
    """`under` takes a policy as it is; what a tool has for itself, and high risk, still tighten it."""
    strict = Registry(STRICT)
    strict.register(search)
    strict.register(search, name="own", policy=STRICT)
    strict.register(search, name="risky", high_risk=True)
    calls = [(name, {"term": "a", "limit": "5", "order": "asc order"}) for name in ("search", "own", "risky")]
    sink = _recorded(strict, *calls)
    assert replay(sink, strict.tightened(LENIENT)).refused == 3
    report = replay(sink, strict.under(LENIENT))
    assert _changes(report) == {("search", REFUSED, MENDED): 1, ("own", REFUSED, REFUSED): 1, ("risky", REFUSED, REFUSED): 1}
    assert (report.policy, strict.policy.name, strict["search"].policy.name) == ("lenient", "strict", "strict")


# -- laws ----------------------------------------------------------------------------------------------------------------------------

TEXTS = st.text(max_size=6) | st.sampled_from(["5", "yes", "asc", "ASC", "", "null", "***"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 300) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["item", "number", "id", "x", "token"]), inner, max_size=3),
    max_leaves=6,
)
NAMES = ["term", "limit", "order", "amount", "card", "url", "headers", "note", "n", "arguments", "Limit", "extra"]
PAYLOADS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)
RAW = PAYLOADS.map(json.dumps) | PAYLOADS.map(json.dumps).flatmap(lambda text: st.integers(0, len(text)).map(lambda end: text[:end]))
CALLED = ["search", "pay", "fetch", "Search", "nope"]
POLICIES = [LENIENT, ABSORBING, STRICT]


@given(
    calls=st.lists(
        st.tuples(st.sampled_from(["search", "pay", "fetch", "Search", "nope"]), PAYLOADS | RAW | VALUES), min_size=1, max_size=5
    ),
    policy=st.sampled_from(POLICIES),
)
@settings(max_examples=200, deadline=None)
def test_nothing_changes_where_nothing_was_changed(calls: list[tuple[str, Any]], policy: Policy) -> None:
    """Under the tools and the policy of then, every record that can be compared has the outcome and the arguments that it had."""
    registry = _registry(policy)
    sink = _recorded(registry, *calls)
    report = replay(sink, registry)
    assert report.records == len(calls)
    assert report.changed == 0
    # Written as lines and read again, it is the same.
    lines = [read_record(json.loads(json.dumps(record.to_dict()))) for record in sink.records]
    again = replay([record for record in lines if record is not None], registry)
    assert again.to_dict() == report.to_dict()


@given(
    calls=st.lists(st.tuples(st.sampled_from(["search", "pay", "fetch"]), PAYLOADS | RAW), min_size=1, max_size=5),
    first=st.sampled_from(POLICIES),
    second=st.sampled_from(POLICIES),
)
@settings(max_examples=150, deadline=None)
def test_what_is_foretold_comes_true(calls: list[tuple[str, Any]], first: Policy, second: Policy) -> None:
    """What replay says of another policy is what happens when the same calls are made under it."""
    report = replay(_recorded(_registry(first), *calls), _registry(second))
    made = _recorded(_registry(second), *calls)
    refused = sum(record.status is CallStatus.REFUSED for record in made.records)
    left = sum(item.count for item in report.unchecked.values())
    assert refused - left <= report.refused <= refused


def test_it_stays_small() -> None:
    """What is kept does not grow with the records, whatever they hold."""
    comparing = Replay(_registry(STRICT))
    for number in range(2_000):
        for name in (f"tool {number}", "search"):
            comparing.take(AuditRecord(name, "lenient", {"term": "a", f"key {number}": 1}, status=CallStatus.DONE))
    report = comparing.report
    assert (report.records, report.compared) == (4_000, 4_000)
    assert len(report.transitions) < 1_100
    assert len(report.newly_refused) <= 510
    assert report.counted(OTHERS) > 1_000
