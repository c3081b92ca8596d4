"""From a payload to arguments by name: wrappers, values without a name, nothing at all, names that a model may not set."""

import functools
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from toolbox.annotations import Injected, Param, read_callable
from toolbox.binding import Binder
from toolbox.diagnostics import INVALID, DiagnosticKind, FailureReason, Outcome, Risk
from toolbox.errors import PayloadError
from toolbox.policy import ABSORBING, LENIENT, STRICT, Policy


@dataclass
class Order:
    item: str
    count: int = 1


class Session:
    """An application's."""


def search(query: str, limit: int = 10) -> None:
    """Take what is given."""


def nothing(limit: int = 10) -> None:
    """Take what is given."""


def bare() -> None:
    """Take what is given."""


def listed(tags: list[str], limit: int = 1) -> None:
    """Take what is given."""


def optional_list(tags: list[str] | None, limit: int = 1) -> None:
    """Take what is given."""


def order(order: Order) -> None:
    """Take what is given."""


def maybe_order(order: Order | None = None) -> None:
    """Take what is given."""


def two(a: int, b: int) -> None:
    """Take what is given."""


def any_name(query: str, **rest: Any) -> None:
    """Take what is given."""


def wrapped(arguments: dict[str, int], query: str = "") -> None:
    """Take what is given."""


def aliased(query: Annotated[dict[str, str], Param(alias="input")], other: str = "") -> None:
    """Take what is given."""


def injected(query: str, session: Injected[Session]) -> None:
    """Take what is given."""


def bind(function: Any, payload: Any, policy: Policy = LENIENT) -> tuple[Any, Outcome]:
    """What a payload is bound to."""
    shape = read_callable(function)
    reserved = frozenset(item.name for item in shape.injections) | shape.bound
    out = Outcome()
    return Binder(shape.name, shape.document, policy, reserved).bind(payload, out), out


UNWRAPPED, BOUND = DiagnosticKind.UNWRAPPED, DiagnosticKind.BOUND
INNER = {"query": "a"}

EMPTY: list[Any] = [None, "", {}]
# tool, payload, arguments by name, kinds on record
BOUND_TO: list[tuple[Any, Any, Any, list[DiagnosticKind]]] = [
    (search, INNER, INNER, []),
    (search, {"qurey": "a"}, {"qurey": "a"}, []),
    *(
        (search, {key: INNER}, INNER, [UNWRAPPED])
        for key in ("arguments", "parameters", "input", "kwargs", "args", "properties", "Arguments")
    ),
    (search, {"search": INNER}, INNER, [UNWRAPPED]),
    (search, {"Search": INNER}, INNER, [UNWRAPPED]),
    (search, {"arguments": {"Query": "a"}}, {"Query": "a"}, [UNWRAPPED]),
    (search, {"arguments": '{"query": "a"}'}, INNER, [UNWRAPPED]),
    (search, {"arguments": {"input": INNER}}, INNER, [UNWRAPPED, UNWRAPPED]),
    (search, {"name": "search", "arguments": INNER}, INNER, [UNWRAPPED]),
    (search, {"name": "functions.search", "arguments": INNER, "id": "1", "type": "function"}, INNER, [UNWRAPPED]),
    (nothing, {"arguments": {}}, {}, [UNWRAPPED]),
    (search, {"arguments": {}}, {"arguments": {}}, []),
    (search, {"arguments": {"zzz": 1}}, {"arguments": {"zzz": 1}}, []),
    (search, {"arguments": "query"}, {"arguments": "query"}, []),
    (search, {"arguments": [1]}, {"arguments": [1]}, []),
    (search, {"arguments": INNER, "zzz": 1}, {"arguments": INNER, "zzz": 1}, []),
    (search, {"arguments": INNER, "input": INNER}, {"arguments": INNER, "input": INNER}, []),
    (wrapped, {"arguments": {"query": 1}}, {"arguments": {"query": 1}}, []),
    (aliased, {"input": {"query": "a"}}, {"input": {"query": "a"}}, []),
    (any_name, {"arguments": INNER}, {"arguments": INNER}, []),
    (search, "cables", {"query": "cables"}, [BOUND]),
    (search, 5, {"query": 5}, [BOUND]),
    (listed, ["a"], {"tags": ["a"]}, [BOUND]),
    (optional_list, ["a"], {"tags": ["a"]}, [BOUND]),
    (listed, "a", {"tags": "a"}, [BOUND]),
    (order, {"item": "a"}, {"order": {"item": "a"}}, [BOUND]),
    (order, {"Item": "a", "count": 2}, {"order": {"Item": "a", "count": 2}}, [BOUND]),
    (maybe_order, {"item": "a"}, {"order": {"item": "a"}}, [BOUND]),
    (order, {"item": "a", "zzz": 2}, {"item": "a", "zzz": 2}, []),
    (order, {"order": {"item": "a"}}, {"order": {"item": "a"}}, []),
    *((function, payload, {}, []) for function in (bare, nothing, search) for payload in EMPTY),
]


@pytest.mark.parametrize(("function", "payload", "bound", "kinds"), BOUND_TO)
def test_bound(function: Any, payload: Any, bound: Any, kinds: list[DiagnosticKind]) -> None:
    """One reading is bound and recorded as a warning; what could be meant otherwise is left as it came."""
    made, out = bind(function, payload)
    assert made == bound
    assert out.failures == []
    assert [(item.kind, item.risk, item.path) for item in out.diagnostics] == [(kind, Risk.WARNING, "$") for kind in kinds]


@pytest.mark.parametrize("policy", [STRICT, ABSORBING], ids=["strict", "absorbing"])
@pytest.mark.parametrize(("function", "payload"), [(case[0], case[1]) for case in BOUND_TO if case[3]])
def test_a_stricter_policy_opens_and_binds_nothing(function: Any, payload: Any, policy: Policy) -> None:
    """Under a stricter policy the same is a failure, which says what it would have been."""
    made, out = bind(function, payload, policy)
    assert made is INVALID
    assert out.failures[0].would_be is not None


@pytest.mark.parametrize(
    ("function", "payload", "words"),
    [
        (two, 5, "a number is no object"),
        (two, "x", "text is no object"),
        (bare, 5, "a number is no object"),
        (search, ["a"], "an array is no object"),
        (two, [1, 2], "an array is no object"),
        (search, {"name": "delete", "arguments": INNER}, "the call inside names another tool"),
    ],
)
def test_refused(function: Any, payload: Any, words: str) -> None:
    """What can be for none, or for more than one, is refused."""
    made, out = bind(function, payload)
    assert made is INVALID
    assert words in str(out.failures[0])


class Loud:
    """Comparing it raises."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = object.__hash__


@pytest.mark.parametrize("payload", [Loud(), object(), b"x", {1, 2}, {1: 2}, {None: {}}])
def test_no_payload_raises(payload: Any) -> None:
    """Whatever the payload, binding gives arguments or a failure."""
    made, out = bind(two, payload)
    assert (made is INVALID) == bool(out.failures)


def test_text_beyond_the_limits() -> None:
    """A wrapper around text beyond the limits is an error with that reason."""
    with pytest.raises(PayloadError) as caught:
        bind(search, {"arguments": "[" * 100 + "]" * 100})
    assert caught.value.reason == "too_deep"


@pytest.mark.parametrize(
    ("function", "name"),
    [(injected, "session"), (functools.partial(search, limit=3), "limit"), (functools.partial(any_name, query="x"), "query")],
    ids=["injected", "partial", "partial with keywords"],
)
def test_reserved_names(function: Any, name: str) -> None:
    """What the application sets is not the model's to set: refused by STRICT, else left out, and recorded."""
    payload = {"zzz": "a", name: "mine"}
    made, out = bind(function, payload)
    assert made == {"zzz": "a"}
    assert [(item.kind, item.path, item.risk) for item in out.diagnostics] == [(DiagnosticKind.DROPPED, f"$.{name}", Risk.WARNING)]
    made, out = bind(function, payload, STRICT)
    assert made == {"zzz": "a"}
    assert [(failure.path, failure.reason) for failure in out.failures] == [(f"$.{name}", FailureReason.UNKNOWN)]
    assert bind(function, {"zzz": "a"})[0] == {"zzz": "a"}


def test_the_payload_is_unchanged() -> None:
    """Binding changes nothing of what came."""
    payload = {"arguments": {"query": "a"}}
    bind(search, payload)
    assert payload == {"arguments": {"query": "a"}}
