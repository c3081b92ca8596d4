"""Whose fault it is that a call was not run: the one rule, and the records that it is made for."""

from __future__ import annotations

from typing import Any

import pytest

from toolbox import (
    AuditError,
    AuditRecord,
    CallStatus,
    Injected,
    Limits,
    MemorySink,
    MissingContext,
    MissingReview,
    Policy,
    Registry,
    ToolboxError,
    ToolTimeout,
)
from toolbox.audit.verdict import DECIDED_BY_FAILURES, Verdict, verdict_of

FITTED, REFUSED, NOT_RUN, UNKNOWN_TOOL = Verdict
# Status -> what it says without failures, and with them.
RULE = {
    CallStatus.RUNNING: (FITTED, FITTED),
    CallStatus.DONE: (FITTED, FITTED),
    CallStatus.REFUSED: (NOT_RUN, REFUSED),
    CallStatus.FALLBACK: (NOT_RUN, REFUSED),
    CallStatus.FAILED: (FITTED, FITTED),
    CallStatus.TIMEOUT: (FITTED, FITTED),
    CallStatus.CANCELLED: (FITTED, FITTED),
    CallStatus.UNKNOWN_TOOL: (UNKNOWN_TOOL, UNKNOWN_TOOL),
    CallStatus.UNREADABLE: (REFUSED, REFUSED),
    CallStatus.PENDING: (FITTED, REFUSED),
    CallStatus.RECOVERED: (NOT_RUN, REFUSED),
    CallStatus.COERCION_FAILED: (NOT_RUN, REFUSED),
    CallStatus.UNKNOWN: (FITTED, FITTED),
}


@pytest.mark.parametrize("status", list(CallStatus))
def test_every_status_has_a_verdict(status: CallStatus) -> None:
    """The status and the failures decide, and the list of statuses that failures decide is theirs."""
    without, with_failures = (verdict_of(status, has_failures=failures) for failures in (False, True))
    assert (without, with_failures) == RULE[status]
    assert (without is not with_failures) is (status in DECIDED_BY_FAILURES)


def test_a_status_that_is_not_known_is_decided_by_the_failures() -> None:
    """Somebody may have written it into a store."""
    assert [verdict_of("bogus", has_failures=failures) for failures in (False, True)] == [FITTED, REFUSED]


class _Full:
    """A sink that cannot open records."""

    def __call__(self, record: AuditRecord) -> None:
        """Take none."""

    def opened(self, record: AuditRecord) -> None:
        """Refuse to."""
        raise OSError("no room")


def greet(name: str, tenant: Injected[str] = "") -> str:
    """Greet."""
    return name


def needing(name: str, tenant: Injected[str]) -> str:
    """Greet."""
    return name


def _nested(depth: int) -> Any:
    made: Any = "x"
    for _ in range(depth):
        made = [made]
    return made


def _not_run() -> list[tuple[Registry, type[ToolboxError], dict[str, Any]]]:
    contextless = Registry()
    contextless.register(needing, name="greet")
    unrecorded = Registry(sinks=[_Full()])
    unrecorded.register(greet, high_risk=True)
    unasked = Registry()
    unasked.register(greet, approval="always")
    late = Registry()
    late.register(greet)
    return [
        (contextless, MissingContext, {}),
        (unrecorded, AuditError, {}),
        (unasked, MissingReview, {}),
        (late, ToolTimeout, {"timeout_s": -1}),
    ]


@pytest.mark.parametrize("case", range(4))
def test_reasons_of_the_application(case: int) -> None:
    """A missing value in the context, a record that cannot be opened, nobody to ask, and no time at all are no fault of a model."""
    registry, error, options = _not_run()[case]
    sink = MemorySink()
    registry.add_sink(sink)
    with pytest.raises(error):
        registry.dispatch("greet", {"name": "a"}, **options)
    (record,) = sink.records
    assert record.status is CallStatus.REFUSED
    assert verdict_of(record.status, has_failures=bool(record.failures)) is NOT_RUN


@pytest.mark.parametrize(
    "payload",
    [
        {"name": _nested(30)},
        {"name": "x" * 500},
        {"name": list(range(60))},
        {"name": 10**40},
        '{"name": [[[[[[[[[[1]]]]]]]]]]}',
        "no arguments at all",
        [7, 8],
        None,
    ],
    ids=["deep", "long", "many", "digits", "deep_text", "prose", "list", "nothing"],
)
def test_reasons_of_the_model(payload: Any) -> None:
    """What is too deep, too large or no arguments at all is the model's, in whatever form it comes, and the record says what it was."""
    registry = Registry(Policy(limits=Limits(depth=5, text=400, nodes=50, integer_digits=30)))
    registry.register(greet)
    sink = MemorySink()
    registry.add_sink(sink)
    assert not registry.run("greet", payload).ok
    (record,) = sink.records
    assert verdict_of(record.status, has_failures=bool(record.failures)) is REFUSED
    assert record.failures[0].detail or record.failures[0].reason == "missing"
