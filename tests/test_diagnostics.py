"""The words about changes and failures: one line each, short, whatever the values hold; paths; masking; the report."""

import enum
from typing import Any

import pytest

from toolbox.diagnostics import (
    ABSENT,
    INVALID,
    CoercionReport,
    Diagnostic,
    DiagnosticKind,
    Failure,
    FailureReason,
    Outcome,
    Risk,
    describe,
    json_name,
    path_text,
    shorten,
)
from toolbox.types import NumberText


class Colour(enum.Enum):
    RED = "red"


class Loud:
    """Showing it raises."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ((), "$"),
        (("a",), "$.a"),
        (("items", 3, "price"), "$.items[3].price"),
        (("odd key",), "$['odd key']"),
        (("",), "$['']"),
        (("1a",), "$['1a']"),
        (("\u00e4",), "$.\u00e4"),
        (("it's",), "$['it\\'s']"),
        (("a\nb",), "$['a\\nb']"),
        (('say "x"',), "$['say \"x\"']"),
        (("\u2028",), "$['\\u2028']"),
        (("k" * 100,), f"$['{'k' * 61}...']"),
    ],
)
def test_path_text(keys: tuple[Any, ...], text: str) -> None:
    """A path is one line that tells its steps apart."""
    path: Any = None
    for key in keys:
        path = (path, key)
    assert path_text(path) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (5, "5"),
        (2.5, "2.5"),
        (NumberText("2.50"), "2.50"),
        ("a", '"a"'),
        ('"', '"\\""'),
        ("\u00e4", '"\u00e4"'),
        ("a\nb", '"a\\nb"'),
        ("\u202e", '"\\u202e"'),
        ([1, [2, [3, [4]]]], "[1, [2, [3, [...]]]]"),
        ({"a": {"b": {"c": {"d": 1}}}}, '{"a": {"b": {"c": {...}}}}'),
        ((1, "a"), '[1, "a"]'),
        (Colour.RED, '"red"'),
        (b"abc", "3 bytes"),
        (10**400, "an integer of about 398 digits"),
        (Loud(), "a Loud"),
        ([Loud()], "a list"),
        (INVALID, '"invalid"'),
    ],
)
def test_shorten(value: Any, text: str) -> None:
    """A value in one line of text."""
    assert shorten(value) == text


@pytest.mark.parametrize(
    "value", ["a" * 1_000_000, list(range(1_000_000)), {str(n): n for n in range(10_000)}, ["x" * 1000] * 1000, b"x" * 10**6]
)
def test_shorten_is_short(value: Any) -> None:
    """However large the value, its text is short."""
    assert len(shorten(value)) <= 88
    assert len(shorten(value, 20)) <= 28


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "a number"),
        (1.5, "a number"),
        ("", "text"),
        ({}, "an object"),
        ((), "an array"),
        (b"", "a bytes"),
    ],
)
def test_json_name(value: Any, name: str) -> None:
    """A value's type by its name in JSON."""
    assert json_name(value) == name


@pytest.mark.parametrize(
    ("kind", "before", "after", "conversion", "text"),
    [
        (DiagnosticKind.COERCED, "2", 2, "str->int", '[info] $.n: coerced "2" to 2 (str->int)'),
        (DiagnosticKind.MATCHED, "LOW", "low", "match:case", '[info] $.n: matched "LOW" to "low" (match:case)'),
        (DiagnosticKind.UNKNOWN_CHOICE, "x", "x", "", '[info] $.n: kept "x", which is none of the known choices'),
        (DiagnosticKind.DEFAULTED, ABSENT, 5, "default", "[info] $.n: used the default 5"),
        (DiagnosticKind.DEFAULTED, None, 5, "default", "[info] $.n: used the default 5 for null"),
        (DiagnosticKind.DROPPED, 1, None, "unknown", "[info] $.n: left out 1, which is not declared"),
        (DiagnosticKind.DROPPED, [1, 1], [1], "repeated items", "[info] $.n: left out what was repeated in [1, 1]"),
        (DiagnosticKind.PRESERVED, 1, 1, "unknown", "[info] $.n: kept 1 aside, which is not declared"),
        (DiagnosticKind.RENAMED, "N", "n", "parameter", '[info] $.n: "N" taken as the parameter "n"'),
        (DiagnosticKind.DUPLICATE_KEY, 1, 2, "", "[info] $.n: given more than once: 2 counts, 1 does not"),
        (DiagnosticKind.UNWRAPPED, {}, {}, "arguments", "[info] $.n: unwrapped (arguments)"),
        (DiagnosticKind.EXTRACTED, "", {}, "", "[info] $.n: extracted"),
    ],
)
def test_describe(kind: DiagnosticKind, before: Any, after: Any, conversion: str, text: str) -> None:
    """Every kind of change has its sentence; the suggestion stands behind it."""
    assert describe(Diagnostic("$.n", kind, Risk.INFO, before, after, conversion)) == text
    assert str(Diagnostic("$.n", kind, Risk.INFO, before, after, conversion, "Send 2")) == f"{text}; Send 2"


WOULD = Diagnostic("$.n", DiagnosticKind.COERCED, Risk.RISKY, "1,2", 12, "str->int")


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (Failure("$.n", FailureReason.INVALID, "an integer", "x", "why", "Send 5"), '$.n: expected an integer, got "x": why. Send 5.'),
        (Failure("$.n", FailureReason.WRONG_TYPE, "an integer", None), "$.n: expected an integer, got null."),
        (Failure("$.n", FailureReason.MISSING, "an integer", suggestion="Send n"), "$.n: missing; expected an integer. Send n."),
        (Failure("$.n", FailureReason.UNKNOWN, "", 5), "$.n: there is no such parameter."),
        (
            Failure("$.n", FailureReason.TOO_RISKY, "an integer", "1,2", would_be=WOULD),
            '$.n: expected an integer, got "1,2" (refused: would have been read as 12, risky).',
        ),
    ],
)
def test_the_text_of_a_failure(failure: Failure, text: str) -> None:
    """A failure is one sentence with what to send instead."""
    assert str(failure) == text


def _report(count: int, value: Any = "x" * 500) -> CoercionReport:
    failures = [Failure(f"$.n{number}", FailureReason.INVALID, "an integer", value) for number in range(count)]
    return CoercionReport({}, {"a": 1}, [], failures)


@pytest.mark.parametrize("count", [1, 20, 21, 1_000])
def test_the_message_is_bounded(count: int) -> None:
    """At most 20 failures, under 2,000 characters, and how many more there are."""
    text = _report(count).to_text("search")
    assert text.startswith("The call of search was refused; nothing was run.\n- $.n0: ")
    assert len(text) < 2_000
    assert text.count("\n") <= 21
    shown = sum(line.startswith("- $") for line in text.splitlines())
    assert (f"- and {count - shown} more" in text) == (shown < count)


def test_messages_without_failures() -> None:
    """A report without failures says so."""
    assert _report(0).to_text() == "The arguments are fine."
    assert _report(0).to_text("search") == "The call of search is fine."
    assert _report(1).to_text().startswith("The arguments were refused.\n")


def test_the_report() -> None:
    """The report answers what was converted, what failed and how risky the worst was."""
    diagnostics = [
        Diagnostic("$.a", DiagnosticKind.COERCED, Risk.INFO, "1", 1, "str->int"),
        Diagnostic("$.b", DiagnosticKind.DROPPED, Risk.WARNING, 1, None, "unknown"),
        Diagnostic("$.c", DiagnosticKind.MATCHED, Risk.INFO, "A", "a", "match:case"),
    ]
    failures = [
        Failure("$.d", FailureReason.INVALID, "x"),
        Failure("$.d", FailureReason.INVALID, "y"),
        Failure("$.e", FailureReason.INVALID, "z"),
    ]
    report = CoercionReport({}, {"a": 1, "key": "hush"}, diagnostics, failures, secret=frozenset({"key"}))
    assert not report.ok
    assert report.normalized_args == {"a": 1, "key": "hush"}
    assert report.conversion_log == [("$.a", "str->int"), ("$.c", "match:case")]
    assert report.failed_fields == ["$.d", "$.e"]
    assert report.worst_risk is Risk.WARNING
    assert report.at_least(Risk.WARNING) == [diagnostics[1]]
    assert repr(report) == '<CoercionReport 3 failures, 3 changes, normalized_args={"a": 1, "key": "***"}>'
    assert repr(CoercionReport({}, 5, [], [])) == "<CoercionReport ok, 0 changes, normalized_args={}>"
    assert CoercionReport({}, 5, [], []).worst_risk is None


def test_outcome_keeps_a_thousand_failures() -> None:
    """More failures than anybody reads are not kept."""
    out = Outcome()
    assert all(out.fail(None, FailureReason.INVALID, "x", 1) is INVALID for _ in range(1_500))
    assert len(out.failures) == 1_000
