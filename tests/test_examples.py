"""Calls that must come out exactly as written here."""

from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional

import pytest

from toolbox import (
    ABSORBING,
    LENIENT,
    STRICT,
    CoercionReport,
    DiagnosticKind,
    FailureReason,
    Policy,
    Registry,
    Risk,
    fuzzy_match_enum,
    normalize_tool_args,
)
from toolbox.errors import AmbiguousMatch, InvalidArguments, NoMatch


def query_inventory(search_term: str, max_results: int, include_discontinued: bool, categories: Optional[list] = None) -> None:  # type: ignore[type-arg]
    """Look into the inventory."""


def search_flights(
    origin: str,
    destination: str,
    passengers: int,
    nonstop: bool = False,
    cabin: Literal["economy", "premium", "business", "first"] | str = "economy",
    max_price: Decimal | None = None,
) -> None:
    """Search for flights."""


def closed_flights(passengers: int, cabin: Literal["economy", "premium", "business", "first"] = "economy") -> None:
    """Search for flights in a cabin that is known."""


FLIGHT = {"origin": "JFK", "destination": "SFO", "passengers": "2", "nonstop": "true", "cabin": "coach", "_trace_id": "abc"}


def found(report: CoercionReport) -> list[tuple[str, DiagnosticKind, Risk]]:
    """What is on record, in short."""
    return [(item.path, item.kind, item.risk) for item in report.diagnostics]


def test_inventory() -> None:
    """Numbers, booleans and lists that came as text are what they say, and the log names each."""
    report = normalize_tool_args(
        query_inventory, {"search_term": "usb", "max_results": "10", "include_discontinued": "false", "categories": '["cables"]'}
    )
    assert report.normalized_args == {"search_term": "usb", "max_results": 10, "include_discontinued": False, "categories": ["cables"]}
    assert report.conversion_log == [
        ("$.max_results", "str->int"),
        ("$.include_discontinued", "str->bool"),
        ("$.categories", "str->list"),
    ]


def test_flights() -> None:
    """Two conversions, one default, one unknown key left out, and the open enum keeps what it does not know."""
    report = normalize_tool_args(search_flights, FLIGHT)
    assert report.ok
    assert report.normalized_args == {
        "origin": "JFK",
        "destination": "SFO",
        "passengers": 2,
        "nonstop": True,
        "cabin": "coach",
        "max_price": None,
    }
    assert found(report) == [
        ("$.passengers", DiagnosticKind.COERCED, Risk.INFO),
        ("$.nonstop", DiagnosticKind.COERCED, Risk.INFO),
        ("$.cabin", DiagnosticKind.UNKNOWN_CHOICE, Risk.WARNING),
        ("$.max_price", DiagnosticKind.DEFAULTED, Risk.INFO),
        ("$._trace_id", DiagnosticKind.DROPPED, Risk.WARNING),
    ]


def test_flights_keep_unknown_aside() -> None:
    """A policy that preserves keeps the unknown key in the residual."""
    clean = {**FLIGHT, "passengers": 2, "nonstop": True}
    report = normalize_tool_args(search_flights, clean, ABSORBING)
    assert report.ok
    assert report.residual == {"_trace_id": "abc"}
    assert ("$._trace_id", DiagnosticKind.PRESERVED, Risk.INFO) in found(report)


def test_flights_strictly() -> None:
    """STRICT refuses what LENIENT mends, all of it at once, and the unknown key too."""
    report = normalize_tool_args(search_flights, FLIGHT, STRICT)
    assert {(item.path, item.reason) for item in report.failures} == {
        ("$.passengers", FailureReason.WRONG_TYPE),
        ("$.nonstop", FailureReason.WRONG_TYPE),
        ("$._trace_id", FailureReason.UNKNOWN),
    }


def test_closed_enum_names_the_choices() -> None:
    """A closed enum refuses what it does not know and says what there is."""
    report = normalize_tool_args(closed_flights, {"passengers": 2, "cabin": "coach"})
    assert str(report.failures[0]) == (
        '$.cabin: expected one of "economy", "premium", "business", "first", got "coach". Send one of the choices exactly.'
    )


MATCHES: list[tuple[list[str], dict[str, tuple[str, ...]]]] = [
    (
        ["asc", "desc"],
        {"asc": ("ASCENDING", "ascending", "ascend", "ascending order", "asc.", "sort asc"), "desc": ("sort descending", "DESC")},
    ),
    (["us-east-1", "us-west-2", "eu-central-1"], {"us-east-1": ("us-east", "east us", "US East 1")}),
    (["low", "medium", "high"], {"low": ("LOW",), "medium": ("Med",), "high": ("high priority",)}),
]


@pytest.mark.parametrize(
    ("value", "choices", "choice"),
    [(value, choices, choice) for choices, table in MATCHES for choice, values in table.items() for value in values],
)
def test_enum_matches(value: str, choices: list[str], choice: str) -> None:
    """What plainly means one of the choices is that choice."""
    assert fuzzy_match_enum(value, choices) == choice


@pytest.mark.parametrize(
    ("value", "choices"),
    [
        ("rising", ["asc", "desc"]),
        ("not high", ["low", "medium", "high"]),
        ("inactive", ["active"]),
        ("unpaid", ["paid"]),
        ("female", ["male"]),
        ("v1.4", ["v1.3"]),
    ],
)
def test_enum_never_matches(value: str, choices: list[str]) -> None:
    """What means something else, or the opposite, is none of the choices, at any risk."""
    with pytest.raises(NoMatch):
        fuzzy_match_enum(value, choices, max_risk=Risk.RISKY)


@pytest.mark.parametrize(("value", "choices"), [("cen", ["center", "central"]), ("a", ["asc", "all"])])
def test_enum_is_ambiguous(value: str, choices: list[str]) -> None:
    """What could mean two choices is neither."""
    with pytest.raises(AmbiguousMatch) as caught:
        fuzzy_match_enum(value, choices)
    assert caught.value.candidates == tuple(choices)


def one(kind: Any) -> Any:
    """A tool with one parameter."""

    def tool(n): ...  # type: ignore[no-untyped-def]

    tool.__annotations__ = {"n": kind}
    return tool


@pytest.mark.parametrize(
    "policy", [STRICT, ABSORBING, LENIENT, replace(LENIENT, max_risk=Risk.RISKY)], ids=["strict", "absorbing", "lenient", "risky"]
)
@pytest.mark.parametrize(
    ("kind", "values"),
    [(int, ["N/A", "", "abc", 5.5, True, None]), (bool, ["maybe", 2, None]), (float, ["NaN", '{"n": 1e400}', None]), (str, [None])],
)
def test_refused_with_the_path(kind: type, values: list[Any], policy: Policy) -> None:
    """What has no sensible reading is refused by every policy, and the failure names the place."""
    for value in values:
        report = normalize_tool_args(one(kind), value if value == '{"n": 1e400}' else {"n": value}, policy)
        assert report.failed_fields == ["$.n"]


def search(max_results: int = 10) -> int:
    """Search."""
    return max_results


def test_other_spelling_of_a_name() -> None:
    """Another way to separate the words of a name binds; beside the name itself it is unknown."""
    report = normalize_tool_args(search, {"maxResults": 5})
    assert report.normalized_args == {"max_results": 5}
    assert found(report) == [("$.maxResults", DiagnosticKind.RENAMED, Risk.INFO)]
    both = normalize_tool_args(search, {"maxResults": 5, "max_results": 6})
    assert both.normalized_args == {"max_results": 6}
    assert found(both) == [("$.maxResults", DiagnosticKind.DROPPED, Risk.WARNING)]
    strictly = normalize_tool_args(search, {"maxResults": 5, "max_results": 6}, STRICT)
    assert [(item.path, item.reason) for item in strictly.failures] == [("$.maxResults", FailureReason.UNKNOWN)]


@pytest.mark.parametrize("value", [1, True, "1"])
def test_choices_of_mixed_types_stay_apart(value: Any) -> None:
    """1, true and "1" are three choices."""
    made = normalize_tool_args(one(Literal[1, True, "1"]), {"n": value}).normalized_args["n"]
    assert type(made) is type(value)
    assert made == value


def test_numbers_lose_no_digit() -> None:
    """A Decimal never passes through a binary float, and a long integer keeps every digit."""
    assert str(normalize_tool_args(one(Decimal), '{"n": 19.99}').normalized_args["n"]) == "19.99"
    assert normalize_tool_args(one(int), '{"n": 12345678901234567890}').normalized_args["n"] == 12345678901234567890


def test_dispatch() -> None:
    """The same through a registry: the function gets the mended arguments, or is not run."""
    registry = Registry(LENIENT)
    registry.register(search)
    assert registry.dispatch("search", {"maxResults": "7"}) == 7
    with pytest.raises(InvalidArguments, match=r"\$\.max_results: expected an integer"):
        registry.dispatch("search", {"max_results": "many"})


def secretive(token: Annotated[str, "key"], n: int) -> None:
    """Use a token."""


@pytest.mark.parametrize(
    "payload",
    [
        {"token": ["hunter2"], "n": 1},
        {"token": {"a": "hunter2"}, "n": 1},
        {"token": "hunter2", "n": "x"},
        {"Token": ["hunter2"], "n": "x"},
        {"token": None, "TOKEN": "hunter2", "n": "x"},
        '{"token": "hunter2", "token": "hunter2!", "n": 1}',
        '{"token": ["hunter2", 1], "n": 1',
        {"n": 1, "tokens": "hunter2"},
    ],
)
@pytest.mark.parametrize("policy", [STRICT, LENIENT], ids=["strict", "lenient"])
def test_a_secret_is_in_no_text(payload: Any, policy: Policy) -> None:
    """The value of a secret parameter stands in no message, diagnostic, failure or record."""
    records: list[Any] = []
    registry = Registry(policy, sinks=[records.append])
    registry.register(secretive, secret=["token"])
    result = registry.run("secretive", payload)
    report = result.report
    shown = [result.to_text(), str(result.error), *map(repr, records)]
    if report is not None:
        shown += [*map(str, report.diagnostics), *map(str, report.failures), report.to_text(), repr(report)]
        shown += [repr(report.diagnostics), repr(report.failures)]
    assert "hunter2" not in "\n".join(shown)
