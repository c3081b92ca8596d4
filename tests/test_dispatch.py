"""The walk of one call: what the caller gets, whose fault a failure is, and the one record on every way out."""

import asyncio
import concurrent.futures
import copy
import decimal
import enum
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pydantic
import pytest

from toolbox import (
    ABSORBING,
    LENIENT,
    STRICT,
    CallStatus,
    CoercionReport,
    DiagnosticKind,
    FailureReason,
    InvalidArguments,
    MemorySink,
    OnFailure,
    PayloadError,
    Policy,
    Registry,
    Risk,
    Tool,
    ToolboxError,
    ToolExecutionError,
    ToolResult,
    UnknownTool,
)


def double(number: int) -> int:
    """A sample tool."""
    return number * 2


async def adouble(number: int) -> int:
    """A sample tool."""
    return number * 2


def _recorded(*functions: Callable[..., Any], policy: Policy = LENIENT, **options: Any) -> tuple[Registry, MemorySink]:
    sink = MemorySink()
    registry = Registry(policy, sinks=[sink], **options)
    for function in functions:
        registry.register(function)
    return registry, sink


def _run(registry: Registry, name: str, arguments: Any = None, **options: Any) -> ToolResult:
    return registry.run(name, arguments, **options)


def _arun(registry: Registry, name: str, arguments: Any = None, **options: Any) -> ToolResult:
    return asyncio.run(registry.arun(name, arguments, **options))


def _dispatch(registry: Registry, name: str, arguments: Any = None, **options: Any) -> Any:
    return registry.dispatch(name, arguments, **options)


def _adispatch(registry: Registry, name: str, arguments: Any = None, **options: Any) -> Any:
    return asyncio.run(registry.adispatch(name, arguments, **options))


run = pytest.mark.parametrize("run", [_run, _arun])
dispatch = pytest.mark.parametrize("dispatch", [_dispatch, _adispatch])


# -- what the caller gets ------------------------------------------------------------------------------------------------------------


class _View(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __getitem__(self, key: str) -> Any:
        return {"number": "21"}[key]

    def __iter__(self) -> Any:
        return iter(["number"])

    def __len__(self) -> int:
        return 1


PAYLOADS: list[Any] = [
    {"number": 21},
    {"number": "21"},
    MappingProxyType({"number": "21"}),
    _View(),
    '{"number": 21}',
    b'{"number": 21}',
    bytearray(b'{"number": 21}'),
    '"{\\"number\\": 21}"',
    '```json\n{"number": 21}\n```',
    {"arguments": {"number": 21}},
    {"double": {"number": 21}},
    "21",
    21,
    {"Number": 21.0},
]


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
@pytest.mark.parametrize("function", [double, adouble])
@dispatch
def test_what_arrives_becomes_the_call(dispatch: Any, function: Callable[..., Any], payload: Any) -> None:
    """Mapping, JSON text, wrapped or bare: the function gets its argument."""
    registry, sink = _recorded()
    registry.register(function, name="double")
    assert dispatch(registry, "double", payload) == 42
    (record,) = sink.records
    assert (record.status, record.invoked, record.tool) == (CallStatus.DONE, {"number": 21}, "double")


REFUSED: list[tuple[Any, type[ToolboxError]]] = [
    ({"number": "x"}, InvalidArguments),
    ({}, InvalidArguments),
    ({"numbr": 1}, InvalidArguments),
    ({"number": None}, InvalidArguments),
    ({"number": [1, 2]}, InvalidArguments),
    ({"number": True}, InvalidArguments),
    ([], InvalidArguments),
    (None, InvalidArguments),
    ("", InvalidArguments),
    (True, InvalidArguments),
    (float("nan"), InvalidArguments),
    (object(), InvalidArguments),
    ("{", PayloadError),
    ("I cannot do that.", PayloadError),
    ('{"number": 1', PayloadError),
    (b"\xff\xfe", PayloadError),
    ("[" * 100_000, PayloadError),
    ('{"number": ' + "9" * 5_000 + "}", PayloadError),
    ({"number": 10**5_000}, PayloadError),
    ({"number": "x" * 2_000_000}, PayloadError),
    ('{"number": 1}{"number": 2}', PayloadError),
]


@pytest.mark.parametrize(("payload", "error"), REFUSED, ids=range(len(REFUSED)))
def test_what_does_not_fit(payload: Any, error: type[ToolboxError]) -> None:
    """It is refused with toolbox's own error, a bounded text and one record, whichever way it is called; nothing is run."""
    ran: list[int] = []

    def act(number: int) -> None:
        ran.append(number)

    registry, sink = _recorded(act)
    for way in (_dispatch, _adispatch):
        with pytest.raises(error) as caught:
            way(registry, "act", payload)
        assert isinstance(caught.value, ValueError)
        assert caught.value.report is not None
        assert 0 < len(str(caught.value)) < 2_000
    results = [other(registry, "act", payload, call_id="c") for other in (_run, _arun)]
    for result in results:
        assert type(result.error) is error
        assert (result.ok, result.value, result.call_id, result.tool) == (False, None, "c", "act")
        assert result.report is result.error.report
    assert not ran
    assert [(record.status, record.invoked) for record in sink.records] == [(CallStatus.REFUSED, None)] * 4
    assert {record.error for record in sink.records} == {str(result.error) for result in results}


class _Unreadable(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(["number"])

    def __len__(self) -> int:
        return 1


class _Raising(dict[str, Any]):
    def __iter__(self) -> Iterator[str]:
        raise ZeroDivisionError

    def values(self) -> Any:
        """Whatever is asked for raises."""
        raise ZeroDivisionError

    items = keys = values


@run
@pytest.mark.parametrize("payload", [_Unreadable(), _Raising(number=1), {"number": _Raising()}, {"number": [_Unreadable()]}])
def test_a_mapping_that_raises(run: Any, payload: Any) -> None:
    """There are no usable arguments in it, and that is on record."""
    registry, sink = _recorded(double)
    error = run(registry, "double", payload).error
    assert (type(error), error.reason, error.report.ok) == (PayloadError, "not_an_object", False)
    assert [(record.status, record.error) for record in sink.records] == [(CallStatus.REFUSED, str(error))]


def test_the_parts_of_a_result() -> None:
    """A result says what was returned, what was made of the arguments, and which call it answers."""
    registry, _ = _recorded(double)
    result = registry.run("functions.Double", {"number": "4"}, call_id="c7")
    assert result.report is not None
    assert (result.ok, result.value, result.error, result.tool, result.call_id) == (True, 8, None, "double", "c7")
    assert ("$.number", "str->int") in result.report.conversion_log
    assert repr(result) == "<ToolResult double ok>"


def test_a_resolved_name_is_on_record() -> None:
    """That the tool was called by another name is a liberty too; an exact name leaves nothing on record."""
    registry, sink = _recorded(double)
    registry.dispatch("functions.Double", {"number": 4})
    registry.dispatch("double", {"number": 4})
    assert [item.kind for item in sink.records[0].diagnostics] == [DiagnosticKind.RENAMED]
    assert sink.records[1].diagnostics == ()


def test_all_failures_are_named_at_once() -> None:
    """What is missing, wrong and unknown stands in one message, so that one retry can mend it."""

    def edit(path: str, old_string: str, count: int) -> None: ...

    registry, _ = _recorded(edit, policy=STRICT)
    with pytest.raises(InvalidArguments) as caught:
        registry.dispatch("edit", {"path": 5, "old-strng": "x", "count": "many"})
    text = str(caught.value)
    assert {item.reason for item in caught.value.failures} == {FailureReason.TOO_RISKY, FailureReason.INVALID, FailureReason.MISSING}
    assert all(word in text for word in ("$.path", "$.old_string", "old-strng", "$.count"))
    assert caught.value.tool == "edit"


# -- the function's own exceptions ---------------------------------------------------------------------------------------------------


class Point(pydantic.BaseModel):
    x: int


class _RaisingText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class _ExitingText(Exception):
    def __str__(self) -> str:
        raise SystemExit


def _unnamed() -> None:
    class Unnamed(type):
        def __getattribute__(cls, name: str) -> Any:
            raise ZeroDivisionError

    class NoName(BaseException, metaclass=Unnamed):
        pass

    raise NoName("n")


class _NoAttributes(ValueError):
    def __getattribute__(self, name: str) -> Any:
        raise ZeroDivisionError


def _inner_registry() -> Registry:
    inner = Registry(STRICT)
    inner.register(double)
    return inner


def _self_caused() -> None:
    error = ValueError("circle")
    error.__cause__ = error
    raise error


def _raise(error: BaseException) -> Callable[[], Any]:
    def fail() -> None:
        raise error

    return fail


FAILURES: dict[str, tuple[Callable[[], Any], type[BaseException], str]] = {
    "type error": (double, TypeError, "TypeError: double() missing"),  # type: ignore[dict-item]
    "value error": (lambda: int("x"), ValueError, "ValueError: invalid literal"),
    "key error": (lambda: dict[str, int]()["k"], KeyError, "KeyError: 'k'"),
    "zero division": (lambda: 1 / 0, ZeroDivisionError, "ZeroDivisionError: division by zero"),
    "decimal": (lambda: decimal.Decimal("x"), decimal.InvalidOperation, "InvalidOperation"),
    "timeout": (_raise(TimeoutError("inner")), TimeoutError, "TimeoutError: inner"),
    "pydantic": (lambda: Point(x="y"), pydantic.ValidationError, "ValidationError: 1 validation error for Point"),  # type: ignore[arg-type]
    "nested arguments": (
        lambda: _inner_registry().dispatch("double", {"number": "1"}),
        InvalidArguments,
        "InvalidArguments: The call of double",
    ),
    "nested payload": (lambda: _inner_registry().dispatch("double", "{"), PayloadError, "PayloadError: "),
    "nested unknown": (lambda: _inner_registry().dispatch("nope", {}), UnknownTool, "UnknownTool: there is no tool"),
    "nested failure": (_raise(ToolExecutionError("fail", "mine")), ToolExecutionError, "ToolExecutionError: the tool fail failed: mine"),
    "stop iteration": (_raise(StopIteration("s")), StopIteration, "StopIteration: s"),
    "stop async iteration": (_raise(StopAsyncIteration()), StopAsyncIteration, "StopAsyncIteration"),
    "system exit": (lambda: sys.exit(3), SystemExit, "SystemExit: 3"),
    "generator exit": (_raise(GeneratorExit()), GeneratorExit, "GeneratorExit"),
    "memory": (_raise(MemoryError()), MemoryError, "MemoryError"),
    "recursion": (_raise(RecursionError("deep")), RecursionError, "RecursionError: deep"),
    "base": (_raise(BaseException("b")), BaseException, "BaseException: b"),
    "group": (_raise(ExceptionGroup("g", [ValueError("v")])), ExceptionGroup, "ExceptionGroup: g (1 sub-exception)"),
    "future": (_raise(concurrent.futures.CancelledError()), concurrent.futures.CancelledError, "CancelledError"),
    "raising text": (_raise(_RaisingText()), _RaisingText, "_RaisingText"),
    "exiting text": (_raise(_ExitingText()), _ExitingText, "_ExitingText"),
    "raising name": (_unnamed, BaseException, "NoName: n"),
    "raising attributes": (_raise(_NoAttributes("n")), _NoAttributes, "_NoAttributes: n"),
    "surrogate": (_raise(ValueError("a\ud800b")), ValueError, "ValueError: a\\ud800b"),
    "control": (_raise(ValueError("\x1b[31m\x00\u2028red")), ValueError, "ValueError: \\x1b[31m\\x00\\u2028red"),
    "long": (_raise(ValueError("x" * 10_000_000)), ValueError, "ValueError: xxx"),
    "long name": (_raise(type("N" * 100_000, (Exception,), {})()), Exception, "NNN"),
    "circle": (_self_caused, ValueError, "ValueError: circle"),
}


@pytest.mark.parametrize("timeout_s", [None, 20.0])
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("case", FAILURES)
@run
def test_exceptions_of_the_function(run: Any, case: str, kind: str, timeout_s: float | None) -> None:
    """Whatever the function raises is its own failure and never a bad argument: its text is bounded, its exception is the cause."""
    action, expected, words = FAILURES[case]

    def fail(a: int) -> Any:
        return action()

    async def afail(a: int) -> Any:
        return action()

    registry, sink = _recorded()
    registry.register(fail if kind == "sync" else afail, name="fail")
    result = run(registry, "fail", {"a": "1"}, timeout_s=timeout_s)
    error = result.error
    assert type(error) is ToolExecutionError
    assert result.report is error.report is not None
    cause = error.__cause__
    if kind == "async" and expected is StopIteration:
        assert isinstance(cause, RuntimeError)  # no coroutine can raise it: Python itself turns it into this
    else:
        assert issubclass(type(cause), expected)
        assert str(error).startswith(f"the tool fail failed: {words}")
    assert len(str(error)) < 700
    assert "\n  File" not in str(error)
    assert "errors.pydantic.dev" not in str(error)
    str(error).encode()
    assert [(record.status, record.invoked, record.error) for record in sink.records] == [(CallStatus.FAILED, {"a": 1}, str(error))]


@pytest.mark.parametrize("timeout_s", [None, 20.0])
@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError])
@dispatch
def test_the_callers_own_exceptions(dispatch: Any, error: type[BaseException], timeout_s: float | None) -> None:
    """An interrupt and a cancellation go through as they are, and the record says that the call was cancelled."""

    def stop(a: int) -> None:
        raise error

    registry, sink = _recorded(stop)
    with pytest.raises(error):
        dispatch(registry, "stop", {"a": 1}, timeout_s=timeout_s)
    assert [(record.status, record.error) for record in sink.records] == [(CallStatus.CANCELLED, error.__name__)]


def test_a_long_text_is_cut() -> None:
    """The message keeps its beginning and says that there was more."""

    def fail(a: int) -> None:
        raise ValueError("y" * 1_000)

    registry, _ = _recorded(fail)
    with pytest.raises(ToolExecutionError) as caught:
        registry.dispatch("fail", {"a": 1})
    assert caught.value.message == f"{('ValueError: ' + 'y' * 1_000)[:500]}..."
    assert caught.value.tool == "fail"


# -- failures and the fallback -------------------------------------------------------------------------------------------------------


def _handler(tool: Tool, report: CoercionReport) -> Any:
    return tool.name, report.failed_fields


async def _async_handler(tool: Tool, report: CoercionReport) -> Any:
    return tool.name, report.failed_fields


@pytest.mark.parametrize("handler", [_handler, _async_handler])
@run
def test_a_fallback_answers(run: Any, handler: Any) -> None:
    """A call whose arguments do not fit goes to the handler, sync or async; its answer is the result, and the record says so."""
    registry, sink = _recorded(double, fallback=handler)
    result = run(registry, "double", {"number": "x"})
    assert (result.ok, result.value) == (True, ("double", ["$.number"]))
    assert result.report is not None
    assert not result.report.ok
    (record,) = sink.records
    assert (record.status, record.invoked, [item.path for item in record.failures]) == (CallStatus.FALLBACK, None, ["$.number"])


@pytest.mark.parametrize("policy", [LENIENT, ABSORBING])
def test_a_fallback_can_be_a_decorator(policy: Policy) -> None:
    """It is registered by hand as well, and stays the function that it is."""
    registry, _ = _recorded(double, policy=policy)
    assert registry.fallback(_handler) is _handler
    assert registry.run("double", {"number": "x"}).value == ("double", ["$.number"])


@pytest.mark.parametrize("own", [STRICT, Policy(failures=OnFailure.RAISE)])
def test_no_fallback_where_the_policy_raises(own: Policy) -> None:
    """Where failures are raised, for one tool or for all, the handler is not asked."""
    registry = Registry(fallback=_handler)
    registry.register(double, policy=own)
    assert isinstance(registry.run("double", {"number": "x"}).error, InvalidArguments)


def test_a_call_without_failures_does_not_fall_back() -> None:
    """The handler sees only what could not be used."""
    registry, sink = _recorded(double, fallback=_handler)
    assert registry.run("double", {"number": "2"}).value == 4
    assert sink.records[0].status is CallStatus.DONE


def _broken(tool: Tool, report: CoercionReport) -> Any:
    raise LookupError("mine")


async def _async_broken(tool: Tool, report: CoercionReport) -> Any:
    raise LookupError("mine")


@pytest.mark.parametrize("handler", [_broken, _async_broken])
@dispatch
def test_a_fallback_that_raises(dispatch: Any, handler: Any) -> None:
    """What the application's handler raises goes to the application; the call still has one record."""
    registry, sink = _recorded(double, fallback=handler)
    with pytest.raises(LookupError, match="mine"):
        dispatch(registry, "double", {"number": "x"})
    assert [(record.status, record.invoked, record.error) for record in sink.records] == [(CallStatus.REFUSED, None, "LookupError")]


def test_max_risk_decides() -> None:
    """What is riskier than the policy allows is refused, and the refusal says what it would have been."""

    def pay(amount: int) -> int:
        return amount

    registry, _ = _recorded(pay)
    with pytest.raises(InvalidArguments, match="would have been read as 1234, risky"):
        registry.dispatch("pay", {"amount": "1,234"})
    generous, sink = _recorded(pay, policy=Policy(max_risk=Risk.RISKY))
    assert generous.dispatch("pay", {"amount": "1,234"}) == 1234
    assert sink.records[0].worst_risk is Risk.RISKY


# -- the caller's values -------------------------------------------------------------------------------------------------------------


def _change(value: Any) -> None:
    """Everything that can be changed in a value, changed."""
    if isinstance(value, list):
        for item in value:
            _change(item)
        value.append("changed")
    elif isinstance(value, dict):
        for item in value.values():
            _change(item)
        value["changed"] = True


def any_value(x: Any) -> None:
    """A sample tool."""
    _change(x)


def any_list(x: list[Any]) -> None:
    """A sample tool."""
    _change(x)


def bare_dict(x: dict) -> None:  # type: ignore[type-arg]
    """A sample tool."""
    _change(x)


def typed(x: list[list[int]]) -> None:
    """A sample tool."""
    _change(x)


def gathered(**rest: Any) -> None:
    """A sample tool."""
    _change(rest)


def defaulted(x: list[int] = [1]) -> None:
    """A sample tool."""
    _change(x)


CHANGED: list[tuple[Callable[..., Any], Any, Any]] = [
    (any_value, {"x": [1, [2], {"k": [3]}]}, {"x": [1, [2], {"k": [3]}]}),
    (any_list, {"x": [[2], {"k": [3]}]}, {"x": [[2], {"k": [3]}]}),
    (bare_dict, {"x": {"k": [3]}}, {"x": {"k": [3]}}),
    (typed, {"x": [[1], [2]]}, {"x": [[1], [2]]}),
    (typed, {"x": [["1"], ["2"]]}, {"x": [[1], [2]]}),
    (typed, {"x": "[[1], [2]]"}, {"x": [[1], [2]]}),
    (gathered, {"x": [1], "y": {"k": [3]}}, {"x": [1], "y": {"k": [3]}}),
    (defaulted, {}, {"x": [1]}),
    (defaulted, {"x": None}, {"x": [1]}),
    (typed, '{"x": [["1"]]}', {"x": [[1]]}),
]


@pytest.mark.parametrize(("function", "payload", "invoked"), CHANGED)
@run
def test_a_function_that_changes_its_arguments(run: Any, function: Callable[..., Any], payload: Any, invoked: Any) -> None:
    """The caller's payload stays as it was, and the record keeps what came, what ran and every change as they were then."""
    registry, sink = _recorded(function)
    before = copy.deepcopy(payload)
    result = run(registry, function.__name__, payload)
    assert result.ok
    assert payload == before
    (record,) = sink.records
    assert record.arguments == before
    assert record.invoked == invoked
    assert "changed" not in repr(record)
    assert json.loads(json.dumps(record.invoked)) == invoked


class Colour(enum.Enum):
    RED = "red"


ODD: Any = object()


def odd(c: Colour, when: decimal.Decimal, blob: bytes, number: float = float("nan"), other: int = ODD) -> None:
    """A sample tool."""


def test_a_record_holds_json_values() -> None:
    """Members, decimals, bytes, NaN and objects are on record as JSON can say them."""
    registry, sink = _recorded(odd)
    registry.dispatch("odd", {"c": "RED", "when": "1.50", "blob": "aGk="})
    (record,) = sink.records
    assert record.invoked == {"c": "red", "when": "1.50", "blob": "aGk=", "number": "nan", "other": "<object>"}
    assert [type(item.after) for item in record.diagnostics] == [str] * len(record.diagnostics)
    json.dumps(record.invoked, allow_nan=False)


def test_what_is_said_about_a_call() -> None:
    """Its id and metadata stand on the record, as copies."""
    registry, sink = _recorded(double)
    metadata = {"turn": 1, "tags": ["a"], "odd": object()}
    registry.dispatch("double", {"number": 1}, call_id="c", metadata=metadata)
    metadata["tags"].append("b")  # type: ignore[attr-defined]
    (record,) = sink.records
    assert (record.call_id, record.metadata) == ("c", {"turn": 1, "tags": ["a"], "odd": "<object>"})
    assert record.duration_ms >= 0
    assert record.time > 1_700_000_000
    assert record.policy == "lenient"


def test_a_refused_record_keeps_the_failures() -> None:
    """What did not fit is on record with its value, as a copy."""
    registry, sink = _recorded(typed)
    payload = {"x": [["a"], [{"deep": object()}]]}
    registry.run("typed", payload)
    (record,) = sink.records
    assert [item.path for item in record.failures] == ["$.x[0][0]", "$.x[1][0]"]
    assert record.failures[1].value == {"deep": "<object>"}
    assert record.arguments == {"x": [["a"], [{"deep": "<object>"}]]}


def test_without_listeners_no_record_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody would take a record, a call costs none."""
    registry = Registry()
    registry.register(double)
    monkeypatch.setattr("toolbox.dispatch.is_silent", lambda: True)
    monkeypatch.setattr("toolbox.dispatch._begun", None)
    monkeypatch.setattr("toolbox.registry.is_silent", lambda: True)
    assert registry.dispatch("double", {"number": 1}) == 2
    assert asyncio.run(registry.adispatch("double", {"number": 1})) == 2
    for arguments in ({"number": "x"}, "{"):
        assert not registry.run("double", arguments).ok
        assert not asyncio.run(registry.arun("double", arguments)).ok
    assert not registry.run("nope", {}).ok
    registry.fallback(_handler)
    assert registry.run("double", {"number": "x"}).ok
