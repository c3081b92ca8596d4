"""Objects: names, what is missing, what is unknown, defaults, keys given twice, policies of single fields."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NotRequired, TypedDict

import annotated_types as at
import pytest

from toolbox.annotations import Param, read_annotation
from toolbox.coercion import build_coercer
from toolbox.diagnostics import INVALID, DiagnosticKind, FailureReason, Outcome, Risk
from toolbox.matching import MatchLevel
from toolbox.policy import ABSORBING, LENIENT, STRICT, Policy
from toolbox.schema import read_schema

INFO, WARN, RISK = Risk
RISKY = replace(LENIENT, max_risk=Risk.RISKY)


@dataclass
class Query:
    search_term: str
    max_results: int = 10
    tags: list[str] = field(default_factory=list)


class Keys(TypedDict):
    needed: int
    nullable: int | None
    optional: NotRequired[int]


@dataclass
class Aliased:
    q: Annotated[str, Param(alias=["query", "search"])]
    n: Annotated[int, Param(policy=STRICT)] = 0


def coerce(annotation: Any, value: Any, policy: Policy = LENIENT) -> tuple[Any, Outcome]:
    """What an annotation makes of a value, below the root."""
    out = Outcome()
    made = build_coercer(read_annotation(dict[str, annotation]), policy)({"o": value}, None, out)
    return (INVALID if made is INVALID else made["o"]), out


def record(out: Outcome) -> list[tuple[str, DiagnosticKind, Risk]]:
    """What is on record, defaults left out."""
    return [(item.path, item.kind, item.risk) for item in out.diagnostics if item.kind is not DiagnosticKind.DEFAULTED]


def reasons(out: Outcome) -> list[tuple[str, FailureReason]]:
    """The failures, in short."""
    return [(item.path, item.reason) for item in out.failures]


@pytest.mark.parametrize("policy", [STRICT, ABSORBING, LENIENT], ids=["strict", "absorbing", "lenient"])
@pytest.mark.parametrize(
    ("key", "level"), [("SEARCH_TERM", "CASE"), *((key, "SEPARATOR") for key in ("searchTerm", "search-term", "Search Term"))]
)
def test_another_spelling_binds(key: str, level: str, policy: Policy) -> None:
    """A key that differs by case, or by separators too, is the field as far as the policy matches; the path keeps the key as it came."""
    made, out = coerce(Query, {key: "a"}, policy)
    path = f"$.o.{key}" if key.isidentifier() else f"$.o['{key}']"
    if MatchLevel[level] <= policy.matching:
        assert made == Query("a")
        assert record(out) == [(path, DiagnosticKind.RENAMED, INFO)]
    else:
        assert made is INVALID
        assert "search_term" in str(out.failures[0])


def test_failures_name_the_key_as_sent() -> None:
    """The path of a failure uses the key that came."""
    _, out = coerce(Query, {"search_term": "a", "maxResults": "many"})
    assert out.failures[0].path == "$.o.maxResults"


@pytest.mark.parametrize("key", ["query", "search", "Query"])
def test_a_declared_alias_binds(key: str) -> None:
    """A declared alias stands for the field."""
    made, out = coerce(Aliased, {key: "a"})
    if key == "Query":
        assert made is INVALID
    else:
        assert made == Aliased("a")
        assert record(out) == [(f"$.o.{key}", DiagnosticKind.RENAMED, INFO)]


@pytest.mark.parametrize("others", [{"search_term": "a", "searchTerm": "b"}, {"searchTerm": "a", "search-term": "b"}])
def test_two_spellings_of_one_name(others: dict[str, str]) -> None:
    """Beside the name itself, or beside another spelling, a spelling is unknown, and none is chosen."""
    made, out = coerce(Query, others)
    if "search_term" in others:
        assert made == Query("a")
        assert record(out) == [("$.o.searchTerm", DiagnosticKind.DROPPED, WARN)]
        assert "search_term was given too" in str(out.diagnostics[-1])
    else:
        assert made is INVALID
        assert ("$.o.search_term", FailureReason.MISSING) in reasons(out)


UNKNOWN = {"search_term": "a", "zzz": 1}
MEANT = {"search_term": "a", "max_result": 1}


@pytest.mark.parametrize(
    ("value", "policy", "expected"),
    [
        (UNKNOWN, STRICT, FailureReason.UNKNOWN),
        (UNKNOWN, ABSORBING, DiagnosticKind.PRESERVED),
        (UNKNOWN, LENIENT, DiagnosticKind.DROPPED),
        (MEANT, STRICT, FailureReason.UNKNOWN),
        (MEANT, ABSORBING, FailureReason.UNKNOWN),
        (MEANT, LENIENT, FailureReason.UNKNOWN),
        (MEANT, RISKY, DiagnosticKind.DROPPED),
    ],
)
def test_unknown_keys(value: Any, policy: Policy, expected: Any) -> None:
    """An unknown key is refused, kept aside or dropped; dropping one that looks like an unfilled parameter is risky."""
    made, out = coerce(Query, value, policy)
    key = list(value)[1]
    if isinstance(expected, FailureReason):
        assert reasons(out) == [(f"$.o.{key}", expected)]
        assert "max_results" in out.failures[0].suggestion
    else:
        assert made == Query("a")
        assert record(out) == [
            (f"$.o.{key}", expected, {"zzz": WARN, "max_result": RISK}[key] if expected is DiagnosticKind.DROPPED else INFO)
        ]
        assert out.residual == ({f"o.{key}": 1} if expected is DiagnosticKind.PRESERVED else {})


def test_missing_and_unknown_are_named_together() -> None:
    """What is missing is named with what came instead."""
    _, out = coerce(Query, {"search-trem": "a"})
    assert 'Did you mean search_term by "search-trem"? Send it as search_term' in str(out.failures[0])
    _, out = coerce(Query, {"zzz": "a"})
    assert 'Send search_term; "zzz" came instead, which is no parameter' in str(out.failures[0])
    _, out = coerce(Query, {})
    assert str(out.failures[0]) == "$.o.search_term: missing; expected text. Send search_term."


@pytest.mark.parametrize("policy", [STRICT, LENIENT], ids=["strict", "lenient"])
def test_defaults_are_recorded_and_made_anew(policy: Policy) -> None:
    """A declared default is used at every level and recorded, and a mutable one is not shared."""
    one, out = coerce(Query, {"search_term": "a"}, policy)
    two, _ = coerce(Query, {"search_term": "a"}, policy)
    assert [(item.path, item.kind, item.after) for item in out.diagnostics] == [
        ("$.o.max_results", DiagnosticKind.DEFAULTED, 10),
        ("$.o.tags", DiagnosticKind.DEFAULTED, []),
    ]
    assert one.tags is not two.tags


def test_missing_nullable() -> None:
    """A nullable field without a default becomes null under LENIENT, and is missing under STRICT; an optional key stays away."""
    made, out = coerce(Keys, {"needed": 1})
    assert made == {"needed": 1, "nullable": None}
    assert [(item.path, item.kind, item.risk) for item in out.diagnostics] == [("$.o.nullable", DiagnosticKind.DEFAULTED, WARN)]
    assert reasons(coerce(Keys, {"needed": 1}, STRICT)[1]) == [("$.o.nullable", FailureReason.MISSING)]


def test_the_policy_of_a_field_tightens() -> None:
    """A field's own policy holds for it alone, and never loosens."""
    assert reasons(coerce(Aliased, {"q": 5, "n": "5"})[1]) == [("$.o.n", FailureReason.WRONG_TYPE)]

    @dataclass
    class Loose:
        n: Annotated[int, Param(policy=LENIENT)]

    assert reasons(coerce(Loose, {"n": "5"}, STRICT)[1]) == [("$.o.n", FailureReason.WRONG_TYPE)]
    assert coerce(Loose, {"n": "5"})[0] == Loose(5)


@pytest.mark.parametrize(
    ("text", "policy", "ok"),
    [
        ('{"search_term": "a", "search_term": "a"}', LENIENT, True),
        ('{"search_term": "a", "search_term": "b"}', LENIENT, False),
        ('{"search_term": "a", "search_term": "b"}', RISKY, True),
    ],
)
def test_keys_given_twice_in_embedded_text(text: str, policy: Policy, ok: bool) -> None:
    """Of a key that is given twice the last counts: recorded, and risky where the values differ."""
    made, out = coerce(Query, text, policy)
    assert (made is not INVALID) == ok
    if ok:
        assert ("$.o.search_term", DiagnosticKind.DUPLICATE_KEY) in [(item.path, item.kind) for item in out.diagnostics]
    else:
        assert reasons(out) == [("$.o", FailureReason.AMBIGUOUS)]
        assert "$.o.search_term was given more than once" in str(out.failures[0])


def test_keys_given_twice_inside_an_array_in_text() -> None:
    """The same inside an array that came as text."""
    made, out = coerce(list[Query], '[{"search_term": "a", "search_term": "a"}]')
    assert made == [Query("a")]
    assert "$.o[0].search_term" in [item.path for item in out.diagnostics if item.kind is DiagnosticKind.DUPLICATE_KEY]


@pytest.mark.parametrize("key", [1, None, ("a",)])
def test_a_key_that_is_no_text(key: Any) -> None:
    """Python keys that are no text are refused, not dropped."""
    _, out = coerce(Query, {"search_term": "a", key: 1})
    assert [failure.reason for failure in out.failures] == [FailureReason.WRONG_TYPE]


def test_embedded_text_beyond_the_limits() -> None:
    """Text that holds more than the limits allow is refused for that reason."""
    for kind, text in ((list, "[" * 100 + "]" * 100), (dict, '{"a":' * 100 + "1" + "}" * 100)):
        _, out = coerce(kind, text)
        assert [failure.reason for failure in out.failures] == [FailureReason.LIMIT]


def test_other_properties_of_a_schema() -> None:
    """A schema that says nothing about other properties keeps them, and one that types them coerces them."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    for additional, value, made in ((True, "5", "5"), ({"type": "integer"}, "5", 5)):
        out = Outcome()
        coercer = build_coercer(read_schema({**schema, "additionalProperties": additional}), LENIENT)
        assert coercer({"a": "1", "b": value}, None, out) == {"a": 1, "b": made}
    out = Outcome()
    assert build_coercer(read_schema(schema), LENIENT)({"a": "1", "b": "x"}, None, out) == {"a": 1, "b": "x"}
    out = Outcome()
    build_coercer(read_schema({**schema, "additionalProperties": {"type": "integer"}}), LENIENT)({"b": "x"}, None, out)
    assert reasons(out) == [("$.b", FailureReason.INVALID)]


def test_the_parts_that_did_are_kept_at_the_root() -> None:
    """Of a tool's arguments those that could be used are kept beside the failures, for the report."""
    out = Outcome()
    made = build_coercer(read_annotation(Keys), LENIENT)({"needed": "x", "nullable": "5", "optional": 1}, None, out)
    assert made == {"nullable": 5, "optional": 1}
    assert reasons(out) == [("$.needed", FailureReason.INVALID)]


def test_limits_of_an_object_with_fields() -> None:
    """Limits on the number of properties hold for objects with declared fields too."""
    document = read_annotation(Annotated[dict[str, int], at.MaxLen(1)])
    out = Outcome()
    assert build_coercer(document, LENIENT)({"a": 1, "b": 2}, None, out) is INVALID
    schema = {"type": "object", "properties": {"a": {}}, "minProperties": 2}
    out = Outcome()
    assert build_coercer(read_schema(schema), LENIENT)({"a": 1}, (None, "x"), out) is INVALID
    assert reasons(out) == [("$.x", FailureReason.CONSTRAINT)]


def test_null_for_a_default() -> None:
    """Null for a field that takes no null says "not given": the default, with a warning."""
    made, out = coerce(Query, {"search_term": "a", "max_results": None, "tags": None})
    assert made == Query("a")
    assert [(item.path, item.before, item.risk) for item in out.diagnostics] == [("$.o.max_results", None, WARN), ("$.o.tags", None, WARN)]
