"""What would prevent a drift: the right rule is found, and what it says is true."""

from __future__ import annotations

import ast
import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbox import Param, Registry
from toolbox.audit.report.drift import WHOLE, Example
from toolbox.audit.report.suggestions import RULES, Seen, advise
from toolbox.diagnostics import MASK, DiagnosticKind, FailureReason

PLACES = {"description", "type", "prompt", "policy", "application"}


def _examples(*pairs: tuple[Any, Any], count: int = 3, detail: str = "") -> tuple[Example, ...]:
    """Examples of what came and what was made of it; None stands for nothing."""
    return tuple(
        Example(json.dumps(came), "" if became is None else json.dumps(became, default=str), count, detail) for came, became in pairs
    )


# Kind, conversion, parameter, examples, what was expected, what the model was told -> where, a part of the text, the code.
TABLE: list[tuple[Seen, str, str, str]] = [
    (
        Seen("t", "limit", "coerced", "str->int", examples=_examples(("5", 5))),
        "description",
        "limit is a JSON number, e.g. 5, and not text in quotes",
        "limit: Annotated[..., Param(examples=[5])]",
    ),
    (
        Seen("t", "limit", "coerced", "str->int", examples=_examples(("1,299", 1299))),
        "description",
        "a bare JSON number such as 1299: no quotes, no separators between thousands, no unit",
        "limit: Annotated[..., Param(examples=[1299])]",
    ),
    (
        Seen("t", "price", "too_risky", "str->Decimal", examples=_examples(("1,5", None))),
        "description",
        "a bare JSON number such as 1500",
        "",
    ),
    (
        Seen("t", "n", "coerced", "float->int", examples=_examples((5.0, 5))),
        "description",
        "a whole number",
        "n: Annotated[..., Param(examples=[5])]",
    ),
    (
        Seen("t", "exact", "coerced", "str->bool", examples=_examples(("yes", True))),
        "description",
        'true or false, without quotes; models send "yes"',
        "",
    ),
    (Seen("t", "note", "coerced", "str->None", examples=_examples(("null", None))), "description", "null stands for", ""),
    (
        Seen("t", "when", "coerced", "int->datetime", examples=_examples((1, "2026-07-02T00:00:00Z"))),
        "description",
        'ISO 8601 text, such as "2026-07-02T00:00:00Z"',
        'when: Annotated[..., Param(examples=["2026-07-02T00:00:00Z"])]',
    ),
    (
        Seen("t", "tags", "coerced", "int->list", examples=_examples((5, [5]))),
        "description",
        "also for a single item, such as [5]",
        "tags: Annotated[..., Param(examples=[[5]])]",
    ),
    (
        Seen("t", "tags", "coerced", "dict->list", examples=_examples(({"a": True}, [{"a": True}]))),
        "description",
        "also for a single item",
        "tags: Annotated[..., Param(examples=[[{'a': True}]])]",
    ),
    (
        Seen("t", "tags", "coerced", "str->list", examples=_examples(("a, b", ["a", "b"]))),
        "description",
        'a JSON array, such as ["a", "b"], and not a text',
        "tags: Annotated[..., Param(examples=[['a', 'b']])]",
    ),
    (Seen("t", "city", "coerced", "list->str", examples=_examples((["Oslo"], "Oslo"))), "type", 'one value, such as "Oslo"', ""),
    (Seen("t", "zip", "coerced", "int->str", examples=_examples((12345, "12345"))), "type", "Models send zip as a number: 12345", ""),
    (Seen("t", "flag", "coerced", "bool->str", examples=_examples((True, "true"))), "description", "text in quotes; models send true", ""),
    (
        Seen("t", "person", "coerced", "str->Person", examples=_examples(('{"a": 1}', None))),
        "description",
        "a JSON object, and not a text",
        "",
    ),
    (
        Seen("t", "x", "coerced", "odd", examples=_examples(("a", "b"))),
        "description",
        'an example such as "b"; models send "a"',
        'x: Annotated[..., Param(examples=["b"])]',
    ),
    (
        Seen("t", "order", "matched", "match:case", examples=_examples(("ASC", "asc"))),
        "description",
        'exactly as they are declared, such as "asc"',
        "",
    ),
    (
        Seen("t", "priority", "matched", "match:token", examples=_examples(("urgent", "high"), ("whenever", "low"))),
        "type",
        '"urgent" was taken for "high"',
        'priority: Annotated[..., Param(aliases={"urgent": "high", "whenever": "low"})]',
    ),
    (
        Seen("t", "priority", "matched", "match:prefix", examples=_examples(("hi", "high"), count=1)),
        "description",
        "one of them is to be sent exactly",
        "",
    ),
    (Seen("t", "site", "unknown_choice", examples=_examples(("c", "c"))), "type", "Add those that make sense", ""),
    (
        Seen("t", "order", "not_a_choice", expected='one of "asc", "desc"', examples=_examples(("rising", None))),
        "type",
        'none of the choices (one of "asc", "desc")',
        'order: Annotated[..., Param(aliases={"rising": ...})]',
    ),
    (
        Seen("t", "order", "not_a_choice", expected='one of "asc", "desc"', examples=_examples((7, None))),
        "description",
        "nothing else is taken",
        "",
    ),
    (Seen("t", "limit", "defaulted", "default", examples=_examples((None, 10))), "description", "left out when it is not needed", ""),
    (Seen("t", "note", "defaulted", "null"), "type", "Give it the default None", "note: ... | None = None"),
    (Seen("t", "tags", "dropped", "repeated items"), "description", "each item only once", ""),
    (Seen("t", "note", "dropped", "not given"), "description", "left out when nothing is meant", ""),
    (Seen("t", "page", "dropped", "unknown", examples=_examples((2, None))), "type", "Models expect t to have page", ""),
    (Seen("t", "token", "dropped", "unknown", examples=_examples((MASK, None))), "description", "that it is not to be sent", ""),
    (
        Seen("t", "keyy", "unknown", hint="Did you mean key?", examples=_examples((MASK, None))),
        "description",
        "declare it as another name of that one",
        'key: Annotated[..., Param(alias="keyy")]',
    ),
    (
        Seen("t", "limt", "unknown", hint="Did you mean limit? Send it as limit"),
        "type",
        "another name of that one",
        'limit: Annotated[..., Param(alias="limt")]',
    ),
    (Seen("t", "query", "missing", hint="Send query"), "description", "it is required and where its value comes from", ""),
    (
        Seen("t", "query", "missing", hint='Did you mean query by "qery"? Send it as query'),
        "type",
        "another name for query",
        'query: Annotated[..., Param(alias="qery")]',
    ),
    (
        Seen("t", "query", "renamed", "parameter", examples=_examples(("Query", "query"))),
        "type",
        'Models write "Query" for query',
        'query: Annotated[..., Param(alias="Query")]',
    ),
    (
        Seen("t", "query", "renamed", "parameter", examples=_examples(("Query", "query"), ("q_", "query"))),
        "type",
        "Models write",
        'query: Annotated[..., Param(alias=["Query", "q_"])]',
    ),
    (Seen("t", WHOLE, "renamed", "tool", examples=_examples(("Search", "t"))), "application", 'by another name: "Search"', ""),
    (
        Seen("t", "when", "invalid", expected="a date in ISO 8601 such as 2026-07-02", examples=_examples(("tomorrow", None))),
        "description",
        'ISO 8601, with an example such as "2026-07-02"; models send "tomorrow"',
        "",
    ),
    (
        Seen("t", "n", "invalid", expected="an integer", examples=_examples(("5 apples", None))),
        "description",
        'n is an integer; models send "5 apples"',
        "",
    ),
    (
        Seen("t", "n", "constraint", expected="an integer (at least 1)", examples=_examples((0, None), detail="it is less than 1")),
        "description",
        "(an integer (at least 1)); models go beyond them: 0, it is less than 1",
        "",
    ),
    (Seen("t", "n", "rejected", examples=_examples((7, None), detail="it is odd")), "description", "because it is odd", ""),
    (Seen("t", "n", "ambiguous", expected="each key once", examples=_examples((1, None))), "prompt", "each key is sent once", ""),
    (
        Seen("t", "when", "ambiguous", examples=_examples(("1/2", None), detail="two readings")),
        "description",
        "more than one reading (two readings)",
        "",
    ),
    (
        Seen("t", WHOLE, "invalid", examples=(Example("", detail="your arguments were cut off after 13 characters"),)),
        "application",
        "limit of tokens",
        "",
    ),
    (
        Seen("t", WHOLE, "invalid", examples=(Example("", detail="there is no JSON object"),)),
        "prompt",
        "one JSON object and nothing else",
        "",
    ),
    (Seen("t", WHOLE, "unwrapped", "arguments"), "prompt", "without a layer around them", ""),
    (Seen("t", WHOLE, "decoded"), "application", "encodes them twice", ""),
    (Seen("t", WHOLE, "extracted", "code fence"), "application", "inside other text", ""),
    (Seen("t", WHOLE, "repaired", "trailing comma"), "application", "not valid JSON", ""),
    (
        Seen("t", "items[*].price", "coerced", "str->int", examples=_examples(("5", 5))),
        "description",
        "price is a JSON number",
        "price: Annotated[..., Param(examples=[5])]",
    ),
]


@pytest.mark.parametrize(
    ("seen", "where", "text", "code"), TABLE, ids=[f"{row[0].kind}-{row[0].conversion}-{place}" for place, row in enumerate(TABLE)]
)
def test_rules(seen: Seen, where: str, text: str, code: str) -> None:
    """What was seen finds its rule, which is filled with names and examples."""
    advice = advise(seen)
    assert (advice.where, advice.code) == (where, code)
    assert text in advice.text


@pytest.mark.parametrize("kind", [*DiagnosticKind, *FailureReason, "of_a_newer_toolbox"])
def test_every_kind_has_an_advice(kind: str) -> None:
    """Whatever can be on record finds an advice, with nothing known but its kind."""
    advice = advise(Seen("t", "x", str(kind)))
    assert advice.where in PLACES
    assert len(advice.text) > 30


def test_every_rule_is_used() -> None:
    """No rule stands behind one that takes all that it is for: each is the first to fit for something."""
    seen = [row[0] for row in TABLE] + [Seen("t", "x", str(kind)) for kind in (*DiagnosticKind, *FailureReason)]
    used = {id(next((rule for rule in RULES if rule.fits(item)), None)) for item in seen}
    unused = [rule.text for rule in RULES if id(rule) not in used]
    assert not unused


TEXTS = st.text(max_size=80)
EXAMPLES = st.builds(
    Example,
    TEXTS | st.recursive(st.none() | st.booleans() | st.integers() | TEXTS, st.lists, max_leaves=4).map(json.dumps),
    TEXTS | (st.none() | st.integers() | TEXTS).map(json.dumps),
    st.integers(1, 9),
    TEXTS,
)


@given(
    st.builds(
        Seen,
        TEXTS,
        TEXTS,
        st.sampled_from([*map(str, DiagnosticKind), *map(str, FailureReason)]),
        st.sampled_from(["str->int", "int->str", "str->list", "match:token", "parameter", "unknown", "tool"]) | TEXTS,
        TEXTS,
        TEXTS,
        st.lists(EXAMPLES, max_size=3).map(tuple),
    )
)
def test_any_record_has_an_advice(seen: Seen) -> None:
    """Whatever a model sent, there is an advice, of bounded length."""
    advice = advise(seen)
    assert advice.where in PLACES
    assert 0 < len(advice.text) < 1_500
    assert len(advice.code) < 1_500


@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30))
def test_code_is_python(came: str, became: str) -> None:
    """The values in a line of code are written so that Python reads them back."""
    seen = Seen("t", "p", "matched", "match:token", examples=(Example(json.dumps(came), json.dumps(became), 2),))
    code = advise(seen).code
    if not code:
        return
    call = ast.parse(code.removeprefix("p: ")).body[0]
    found = [ast.literal_eval(node) for node in ast.walk(call) if isinstance(node, ast.Dict)]
    assert found == [{came: became}]


def test_declared_aliases_prevent_the_drift() -> None:
    """The code that is proposed for choices does what is said: what was a guess, or a refusal, is plain."""

    def close(priority: Annotated[Literal["low", "high"], Param(aliases={"urgent": "high"})]) -> str:
        return priority

    plain, aliased = Registry(), Registry()

    @plain.tool
    def close_ticket(priority: Literal["low", "high"]) -> str:
        return priority

    aliased.register(close)
    assert not plain.check("close_ticket", {"priority": "urgent"}).ok
    report = aliased.check("close", {"priority": "urgent"})
    assert report.normalized_args == {"priority": "high"}
    assert [item.risk.name for item in report.diagnostics] == ["INFO"]


@pytest.mark.parametrize(
    ("parameter", "key"),
    [
        ("limit", "limit"),
        ("items[*].price", "price"),
        ("items[*]", "items"),
        ("items[*][*]", "items"),
        ("['a b']", "a b"),
        ("items['a b']", "a b"),
        ("items['a.b[0]'][*]", "a.b[0]"),
        ("items['it\\'s']", "it's"),
        ("['']", '""'),
        (WHOLE, WHOLE),
    ],
)
def test_the_last_name_of_a_parameter(parameter: str, key: str) -> None:
    """Advice speaks of what stands last in the path, also where that is no plain name."""
    assert Seen("t", parameter, "dropped", "unknown").key == key
