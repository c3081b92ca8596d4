"""The tolerant reader on its own: values, calls, what was mended, and where it breaks."""

import math
from typing import Any

import pytest

from toolbox.errors import PayloadError
from toolbox.payload.reader import Broken, CallText, Cut, Reader
from toolbox.policy import Limits

READ: list[tuple[str, Any, list[str]]] = [
    ('{"a": """x \\"y\\" \\u00e9 z"""}', {"a": 'x "y" \u00e9 z'}, ["triple quotes"]),
    ("{'a': '''x'''}", {"a": "x"}, ["single quotes", "triple quotes"]),
    ('{"a": u"x", "b": f"y"}', {"a": "x", "b": "y"}, ["Python literal"]),
    ('{"a": "\\ud83c", "b": "\\ud83cx"}', {"a": "\ud83c", "b": "\ud83cx"}, []),
    ('{"a": "\\u12"}', {"a": "\\u12"}, ["invalid escape"]),
    ("{\xa0'a': 1}", {"a": 1}, ["odd white space", "single quotes"]),
    ('{"a": -.5, "b": -5.e2}', {"a": -0.5, "b": -500.0}, ["number notation"]),
    ("{'x': {'a': 1, 'a': 1}}", {"x": {"a": 1}}, ["single quotes"]),
    ("[1, [2, (3, 4)], ]", [1, [2, [3, 4]]], ["Python literal", "trailing comma"]),
    ("((1))", 1, []),
    ('["a" /* b */, null]', ["a", None], ["comment"]),
]


@pytest.mark.parametrize(("text", "value", "repairs"), READ)
def test_values_are_read(text: str, value: Any, repairs: list[str]) -> None:
    """The value, and what was mended."""
    reader = Reader(text, Limits())
    assert reader.read(0) == value
    assert (list(reader.repairs), reader.cut, reader.position) == (repairs, Cut.WHOLE, len(text))


def test_constants_that_are_no_numbers_keep_their_name() -> None:
    """They are left to the declared type, which refuses them."""
    value = Reader("{'a': NaN, 'b': -Infinity, 'c': inf}", Limits()).read(0)
    assert (math.isnan(value["a"]), value["b"], value["c"]) == (True, -math.inf, math.inf)


def test_keys_given_twice_carry_their_path() -> None:
    """As in the strict reader."""
    reader = Reader("{'x': [{'a': 1, 'a': 2}]}", Limits())
    reader.read(0)
    assert [item.path for item in reader.duplicates] == ["$.x[0].a"]


CALLS: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("f()", [], {}),
    ("f(1, 'x', a=None)", [1, "x"], {"a": None}),
    ("f(a=1,)", [], {"a": 1}),
    ("f( a = [1, 2], b: {'c': (3,)} )", [], {"a": [1, 2], "b": {"c": [3]}}),
    ("f(a=2 * 3 * 4, b=1/4, c=10**3)", [], {"a": 24, "b": 0.25, "c": 1000}),
    ("f(a=2.5 * 2, b=[4 * 10**-1])", [], {"a": 5.0, "b": [0.4]}),
    ("f(a=1e308 * 10)", [], {"a": math.inf}),
    ("f(a='\\x41\\\n\\U0001F378')", [], {"a": "A\U0001f378"}),
    ("f(a=\"x\" 'y')", [], {"a": "xy"}),
    ("f(**{'a': 1})", [], {"a": 1}),
    ("f(a=dict(b=1))", [], {"a": {"b": 1}}),
    ("f(a=X.Y, b=z)", [], {"a": "X.Y", "b": "z"}),
    ("f(a=1, a=2)", [], {"a": 2}),
    ("f('a'=1)", [], {"a": 1}),
    ("f (1)", [1], {}),
    ("f(1)[0].get('x')", [1], {}),
]


@pytest.mark.parametrize(("text", "positional", "keywords"), CALLS)
def test_calls_are_read(text: str, positional: list[Any], keywords: dict[str, Any]) -> None:
    """Arguments by position and by name."""
    reader = Reader(text, Limits())
    call = reader.read_call(0)
    assert (call.name, call.positional, call.keywords) == ("f", positional, keywords)
    assert (reader.cut, reader.position) == (Cut.WHOLE, len(text))


def test_calls_in_lists_are_read() -> None:
    """Also those in quotes, and those that code joins."""
    reader = Reader("[f(a=1), 'f(a=2)', \"f(a='3')\", f(a=4) ** 2 + f(a=5)]", Limits(), lambda name: name == "f")
    items = reader.read(0, calls=True)
    assert [item.keywords["a"] for item in items if isinstance(item, CallText)] == [1, 2, "3", 4, 5]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("f(a=1 b=2)", 6),
        ("f(a=1, 2)", 7),
        ("f(a=g(1))", 4),
        ("f(a=dict(1))", 4),
        ("f(a=1/0)", 5),
        ("f(a=2 * 'x')", 5),
        ("f(**[1])", 2),
        ("f(a=9**9)", 5),
        ("f(a=1-2)", 5),
        ("f(a=01)", 4),
        ("f(a=0x1)", 5),
        ("f(a=1__0)", 4),
        ("f(=1)", 2),
        ("f", 1),
        ("(1)", 0),
        ("f(a=lambda: 1)", 10),
        ("f(a=b'x')", 5),
    ],
)
def test_calls_with_two_readings_break(text: str, position: int) -> None:
    """At the first character that does not fit."""
    with pytest.raises(Broken) as broken:
        Reader(text, Limits()).read_call(0)
    assert broken.value.position == position
    assert broken.value.why


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("f(a='x'", Cut.CLOSERS),
        ("f(a=[1]", Cut.CLOSERS),
        ("f(a=True", Cut.CLOSERS),
        ("f(a=1", Cut.INSIDE),
        ("f(a=1 *", Cut.INSIDE),
        ("f(a=10**2", Cut.INSIDE),
        ("f(a=name", Cut.INSIDE),
        ("f(a='x', ", Cut.INSIDE),
        ("f(a='x', b", Cut.INSIDE),
        ("f(a=", Cut.INSIDE),
        ("f(", Cut.INSIDE),
        ("f(a={'b': 'x'", Cut.INSIDE),
    ],
)
def test_calls_that_end_too_early_say_so(text: str, cut: Cut) -> None:
    """Only closing brackets after a whole value may be missing."""
    reader = Reader(text, Limits())
    reader.read_call(0)
    assert reader.cut is cut


@pytest.mark.parametrize(
    ("text", "limits", "reason"),
    [
        ("{'a': [1, 2, 3]}", Limits(nodes=4), "too_many_nodes"),
        ("{'a': [[1]]}", Limits(depth=2), "too_deep"),
        ("{'a': {'b': {}}}", Limits(depth=2), "too_deep"),
        ("{'a': 12345}", Limits(integer_digits=3), "integer_too_long"),
        ("{'a': " + "9" * 4_400 + "}", Limits(integer_digits=10_000), "integer_too_long"),
    ],
)
def test_the_reader_keeps_to_the_limits(text: str, limits: Limits, reason: str) -> None:
    """As the strict reader does."""
    with pytest.raises(PayloadError) as refused:
        Reader(text, limits).read(0)
    assert refused.value.reason == reason
