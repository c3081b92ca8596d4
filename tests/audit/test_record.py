"""Records and where they go: one a call, an id each, a memory of bounded size, and sinks that cannot do harm."""

import asyncio
import concurrent.futures
import os
import re
import threading
from typing import Any

import pytest

from toolbox import AuditRecord, CallStatus, Diagnostic, DiagnosticKind, MemorySink, Registry, Risk, ToolExecutionError
from toolbox.audit import record as record_module


def double(number: int) -> int:
    """A sample tool."""
    return number * 2


def fail(number: int) -> int:
    """A sample tool."""
    raise ValueError("no")


def _change(risk: Risk) -> Diagnostic:
    return Diagnostic("$.a", DiagnosticKind.COERCED, risk, "1", 1)


@pytest.mark.parametrize(
    ("risks", "worst"),
    [((), None), ((Risk.INFO,), Risk.INFO), ((Risk.WARNING, Risk.INFO), Risk.WARNING), ((Risk.INFO, Risk.RISKY), Risk.RISKY)],
)
def test_the_worst_risk(risks: tuple[Risk, ...], worst: Risk | None) -> None:
    """The highest risk among the changes, or none at all."""
    assert AuditRecord("t", "lenient", {}, diagnostics=tuple(map(_change, risks))).worst_risk is worst


def test_the_values_of_a_status_are_stable() -> None:
    """They are public: stores and reports hold on to them."""
    assert [str(item) for item in CallStatus] == [
        "running",
        "done",
        "refused",
        "fallback",
        "failed",
        "timeout",
        "cancelled",
        "unknown_tool",
        "unreadable",
        "pending",
        "recovered",
        "coercion_failed",
        "unknown",
    ]


def test_every_record_has_its_own_id() -> None:
    """Also over threads, and with the same beginning in one process."""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        ids = list(pool.map(lambda _: AuditRecord("t", "p", {}).id, range(2_000)))
    assert len(set(ids)) == 2_000
    assert len({item.partition("-")[0] for item in ids}) == 1
    assert re.fullmatch(r"[0-9a-f]{32}-[0-9a-f]+", ids[0])


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="processes are not forked here")
def test_a_forked_process_has_ids_of_its_own() -> None:
    """What a child process does after a fork is told apart from its parent."""
    before = record_module._process_id
    try:
        record_module._renew_process_id()
        assert record_module._process_id != before
        assert AuditRecord("t", "p", {}).id.startswith(record_module._process_id)
    finally:
        record_module._process_id = before


@pytest.mark.parametrize("capacity", [0, 1, 3])
def test_a_memory_of_bounded_size(capacity: int) -> None:
    """The latest records are kept, the oldest first."""
    sink = MemorySink(capacity)
    records = [AuditRecord(str(number), "p", {}) for number in range(5)]
    for item in records:
        sink(item)
    assert sink.records == records[5 - capacity :]
    assert len(sink) == capacity
    sink.clear()
    assert (len(sink), sink.records) == (0, [])


def test_a_memory_over_threads() -> None:
    """It never holds more than it may, however many threads fill it, and never forgets more than it must."""
    sink = MemorySink(100)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: sink(AuditRecord(str(n), "p", {})), range(3_000)))
    assert len(sink) == 100


class _Raising:
    """A sink that raises after it took note."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.seen = 0

    def __call__(self, record: AuditRecord) -> None:
        self.seen += 1
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("disk full"), KeyError("k"), RecursionError()])
def test_a_raising_sink_changes_nothing(error: Exception) -> None:
    """Results and errors of calls are what they are, the other sinks get their records, and each loss is counted."""
    broken, sink = _Raising(error), MemorySink()
    registry = Registry(sinks=[broken, sink])
    for function in (double, fail):
        registry.register(function)
    assert registry.dispatch("double", {"number": 2}) == 4
    assert asyncio.run(registry.adispatch("double", {"number": 2})) == 4
    with pytest.raises(ToolExecutionError, match="ValueError: no"):
        registry.dispatch("fail", {"number": 2})
    assert not registry.run("double", {"number": "x"}).ok
    assert not registry.run("nope", {}).ok
    assert (broken.seen, len(sink), registry.lost_records) == (5, 5, 5)


def test_losses_over_threads_are_counted() -> None:
    """No loss is lost."""
    registry = Registry(sinks=[_Raising(RuntimeError("x"))])
    registry.register(double)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda n: registry.run("double", {"number": n}), range(500)))
    assert all(item.ok for item in results)
    assert registry.lost_records == 500


def test_sinks_that_come_and_go_while_calls_run() -> None:
    """A sink that is removed while another thread delivers takes nothing away from the others."""
    kept = MemorySink(100_000)
    registry = Registry()
    registry.register(double)
    stop = threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            passing = MemorySink()
            registry.add_sink(passing)
            registry.remove_sink(passing)

    registry.add_sink(lambda record: None)
    registry.add_sink(kept)
    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for number in range(2_000):
            registry.run("double", {"number": number})
    finally:
        stop.set()
        thread.join()
    assert len(kept) == 2_000


def test_a_sink_that_removes_itself() -> None:
    """A sink may stop listening while it takes a record; the next one still gets it."""
    registry = Registry()
    registry.register(double)
    seen: list[Any] = []

    def once(record: AuditRecord) -> None:
        seen.append(record)
        registry.remove_sink(once)

    sink = MemorySink()
    registry.add_sink(once)
    registry.add_sink(sink)
    registry.run("double", {"number": 1})
    registry.run("double", {"number": 2})
    assert (len(seen), len(sink)) == (1, 2)
