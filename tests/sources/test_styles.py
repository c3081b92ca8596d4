"""The styles of OpenAPI: the table of the specification, and what is refused because it would be read as something else."""

from typing import Any

import pytest

from toolbox.sources.styles import CannotSend, cookie_text, header_text, is_unset, path_text, query_pairs

ARRAY = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}

# "Style Examples" of OpenAPI 3.0.4 and 3.1.1 for a parameter named color: style, explode, and the empty text, a text, an array, an object.
SPECIFICATION: list[tuple[str, bool, str | None, str | None, str | None, str | None]] = [
    ("matrix", False, ";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
    ("matrix", True, ";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"),
    ("label", False, ".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
    ("label", True, ".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
    ("simple", False, None, "blue", "blue,black,brown", "R,100,G,200,B,150"),
    ("simple", True, None, "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ("form", False, "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"),
    ("form", True, "color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"),
    ("spaceDelimited", False, "color=", "color=blue", "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"),
    ("pipeDelimited", False, "color=", "color=blue", "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"),
    # Where the specification says nothing, the value is written as in the style form.
    ("spaceDelimited", True, "color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"),
    ("pipeDelimited", True, "color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"),
    ("deepObject", True, None, None, None, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
]


def _write(style: str, explode: bool, value: Any) -> str:
    if style in {"matrix", "label", "simple"}:
        return path_text("color", value, style, explode=explode)
    return "&".join(f"{key}={text}" for key, text in query_pairs("color", value, style, explode=explode))


@pytest.mark.parametrize(("style", "explode", "empty", "text", "array", "object_"), SPECIFICATION)
def test_the_table_of_the_specification(style: str, explode: bool, empty: Any, text: Any, array: Any, object_: Any) -> None:
    """Every cell of the table; what has no cell is refused."""
    for value, expected in (("", empty), ("blue", text), (ARRAY, array), (OBJECT, object_)):
        if expected is None:
            with pytest.raises(CannotSend):
                _write(style, explode, value)
        else:
            assert _write(style, explode, value) == expected


ENCODED = [
    ("simple", False, "a/b", "a%2Fb"),
    ("simple", False, "a b?c#d%", "a%20b%3Fc%23d%25"),
    ("simple", False, "é", "%C3%A9"),
    ("simple", False, ["a,b", "c"], "a%2Cb,c"),
    ("simple", True, {"a=b": "c,d"}, "a%3Db=c%2Cd"),
    ("simple", False, True, "true"),
    ("simple", False, 1.5, "1.5"),
    ("simple", False, 10**20, "100000000000000000000"),
    ("matrix", True, ["", "x"], ";color;color=x"),
    ("matrix", False, {"a": None, "b": 1}, ";color=b,1"),
    ("label", False, ["a.b", "c"], ".a.b,c"),
    ("form", True, "a&b=c+d", "color=a%26b%3Dc%2Bd"),
    ("form", False, ["a,b", "c"], "color=a%2Cb,c"),
    ("form", True, {"a": None, "b": False}, "b=false"),
    ("form", True, None, ""),
    ("form", True, [], ""),
    ("form", True, {}, ""),
    ("form", True, [""], "color="),
    ("deepObject", True, {"a": {"b": 1, "c": {"d": "x y"}}, "n": None}, "color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bc%5D%5Bd%5D=x%20y"),
]


@pytest.mark.parametrize(("style", "explode", "value", "expected"), ENCODED)
def test_parts_are_percent_encoded(style: str, explode: bool, value: Any, expected: str) -> None:
    """Delimiters inside of a part are never taken for those between parts; null and what is empty is left out."""
    assert _write(style, explode, value) == expected


REFUSED: list[tuple[str, bool, Any, str]] = [
    ("simple", False, "", "must not be empty"),
    ("simple", False, None, "must not be empty"),
    ("simple", False, [], "must not be empty"),
    ("label", False, {}, "must not be empty"),
    ("matrix", False, {"a": None}, "must not be empty"),
    ("simple", False, [""], "must not be empty"),
    ("simple", False, [["a"]], "have no written form"),
    ("form", True, [{"a": 1}], "have no written form"),
    ("form", False, [None], "null has no written form"),
    ("form", True, {"a": [1]}, "have no written form"),
    ("label", True, ["a.b"], "'.' separates"),
    ("label", True, {"a": "b.c"}, "'.' separates"),
    ("spaceDelimited", False, ["a b"], "' ' separates"),
    ("pipeDelimited", False, ["a|b"], "'|' separates"),
    ("deepObject", True, ["a"], "only how objects are written"),
    ("deepObject", True, "a", "only how objects are written"),
    ("deepObject", True, {"a": ["b"]}, "only how objects are written"),
    ("deepObject", True, {"a]": "b"}, "']' separates"),
    ("deepObject", True, {"a": {}}, "empty object"),
]


@pytest.mark.parametrize(("style", "explode", "value", "reason"), REFUSED)
def test_what_has_no_one_reading_is_refused(style: str, explode: bool, value: Any, reason: str) -> None:
    """The error names the parameter and says why."""
    with pytest.raises(CannotSend, match="'color' cannot be sent: ") as caught:
        _write(style, explode, value)
    assert reason in str(caught.value)


def test_reserved_characters_may_stay_in_a_query() -> None:
    """``allowReserved`` keeps them, except those that mean something in a query."""
    value = "a/b:c?d@e!$'()*;,&=+#[]% é"
    [(_, text)] = query_pairs("q", value, "form", explode=True, reserved=True)
    assert text == "a/b:c?d@e!$'()*;,%26%3D%2B%23%5B%5D%25%20%C3%A9"
    assert query_pairs("q", ["a,b", "c/d"], "form", explode=False, reserved=True) == [("q", "a%2Cb,c/d")]


HEADERS: list[tuple[bool, Any, str | None]] = [
    (False, "plain, text; q=1", "plain, text; q=1"),
    (False, 5, "5"),
    (False, "", ""),
    (False, ["a", "b c"], "a,b c"),
    (False, {"a": 1, "b": "x"}, "a,1,b,x"),
    (True, {"a": 1, "b": "x=y"}, "a=1,b=x=y"),
    (False, "a\r\nX-Admin: 1", None),
    (False, " a", None),
    (False, "é", None),
    (False, "a\x00", None),
    (False, ["a,b"], None),
    (False, [" a"], None),
    (False, [""], None),
    (True, {"a=b": "c"}, None),
    (False, [["a"]], None),
]


@pytest.mark.parametrize(("explode", "value", "expected"), HEADERS)
def test_headers(explode: bool, value: Any, expected: str | None) -> None:
    """Nothing is percent-encoded in a header, so what it cannot hold is refused: line breaks above all."""
    if expected is None:
        with pytest.raises(CannotSend):
            header_text("X-Color", value, explode=explode)
    else:
        assert header_text("X-Color", value, explode=explode) == expected


COOKIES: list[tuple[bool, Any, str | None]] = [
    (True, "abc+/=", "abc+/="),
    (True, 'a b;c,d"e\\f%', "a%20b%3Bc%2Cd%22e%5Cf%25"),
    (True, "é\r\n", "%C3%A9%0D%0A"),
    (True, 5, "5"),
    (False, ["a", "b,c"], "a,b%2Cc"),
    (False, {"a": 1}, "a,1"),
    (True, ["a"], None),
    (True, {"a": 1}, None),
]


@pytest.mark.parametrize(("explode", "value", "expected"), COOKIES)
def test_cookies(explode: bool, value: Any, expected: str | None) -> None:
    """What a cookie cannot hold is percent-encoded; parts written apart would be cookies of other names."""
    if expected is None:
        with pytest.raises(CannotSend):
            cookie_text("seen", value, explode=explode)
    else:
        assert cookie_text("seen", value, explode=explode) == expected


@pytest.mark.parametrize(
    ("value", "unset"), [(None, True), ([], True), ({}, True), ({"a": None}, True), ("", False), (0, False), ([""], False)]
)
def test_what_is_left_out(value: Any, unset: bool) -> None:
    """Null and what is empty is written by leaving the parameter out; the empty text is not."""
    assert is_unset(value) is unset
