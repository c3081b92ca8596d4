"""What holds for every text."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from toolbox.diagnostics import DiagnosticKind, Risk
from toolbox.errors import PayloadError
from toolbox.payload import extract_arguments, find_calls, parse_json
from toolbox.payload.finder import Finder
from toolbox.payload.reader import Broken
from toolbox.policy import LENIENT, Limits

TRICKY = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        "\\",
        "/",
        "//",
        "/*",
        "#",
        ",",
        ":",
        "```",
        "<tool_call>",
        "f(a=1)",
        "\n",
        "\u2028",
        "\ud800",
        "é",
        "\U0001f378",
    ]
)
TEXTS = st.one_of(st.text(max_size=12), st.lists(TRICKY, max_size=8).map("".join))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)), max_leaves=12
)
OBJECTS = st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4)
TOKENS = [
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    '"',
    "'",
    "\\",
    ":",
    ",",
    "a",
    "1",
    "-",
    ".",
    " ",
    "\n",
    "//",
    "/*",
    "*/",
    "#",
    "```",
    "true",
    "None",
    "f(",
    "=",
    "\u201c",
]
TOKENS += [
    "\u201d",
    "<tool_call>",
    "[TOOL_CALLS]",
    "<function=f>",
    "<parameter=a>",
    "<|python_tag|>",
    "f\n{",
    '"name"',
    '"arguments"',
    "x = ",
    "\\u12",
    '"""',
]
HOSTILE = st.one_of(st.text(), st.lists(st.sampled_from(TOKENS), max_size=40).map("".join))


def _same(first: Any, second: Any) -> bool:
    """Equal by type and value at every depth; a float that keeps its literal is a float."""
    if isinstance(second, dict):
        return isinstance(first, dict) and list(first) == list(second) and all(_same(first[key], second[key]) for key in second)
    if isinstance(second, list):
        return isinstance(first, list) and len(first) == len(second) and all(map(_same, first, second))
    if isinstance(second, float):
        return isinstance(first, float) and repr(float(first)) == repr(second)
    return type(first) is type(second) and bool(first == second)


def _ended(read: Callable[[Any], Any], source: Any) -> Any:
    """What a reader returned, or how it refused."""
    try:
        return read(source)
    except (Broken, PayloadError) as refused:
        return refused


@given(OBJECTS)
def test_valid_json_is_never_altered(value: dict[str, Any]) -> None:
    """Whatever stands in texts, valid JSON comes out by type and value, and nothing is recorded."""
    assume(not {"name", "tool", "function", "action", "func", "api"} & set(value))
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        found = extract_arguments(text)
        assert _same(found.arguments, value)
        assert found.diagnostics == ()


@given(OBJECTS)
def test_the_tolerant_reader_reads_valid_json_like_the_strict_one(value: dict[str, Any]) -> None:
    """On valid JSON both readers agree, so that repair can't change what was fine."""
    text = json.dumps(value, ensure_ascii=False)
    finder = Finder(text, None, LENIENT)
    assert _same(finder.value(0), value)
    assert (finder.end, finder.reader.repairs, finder.reader.cut) == (len(text), {}, 0)


@given(OBJECTS)
def test_mending_what_stands_between_texts_leaves_the_texts_alone(value: dict[str, Any]) -> None:
    """A comma too many sends the text to the tolerant reader, and every text comes out as it was."""
    text = json.dumps(value, ensure_ascii=False)
    assume(not {"name", "tool", "function", "action", "func", "api"} & set(value))
    found = extract_arguments(text[:-1] + ", // done\n}")
    assert _same(found.arguments, value)


@given(OBJECTS, st.data())
def test_no_proper_prefix_counts_as_complete(value: dict[str, Any], data: st.DataObject) -> None:
    """Whatever is cut off is refused, or recorded as closed and made of whole values only."""
    text = json.dumps(value)
    prefix = text[: data.draw(st.integers(1, len(text) - 1))]
    found = _ended(extract_arguments, prefix)
    if isinstance(found, PayloadError):
        assert found.reason in ("truncated", "not_json")
        return
    assert DiagnosticKind.CLOSED in {item.kind for item in found.diagnostics}
    assert max(item.risk for item in found.diagnostics) >= Risk.WARNING
    assert all(_same(item, value[key]) for key, item in found.arguments.items())


@given(HOSTILE)
@example('{"a": ' * 70)
@example("'" * 50)
@example("f(f(f(")
@example("<|python_tag|>" + "[\"f(['" * 300)
@example("['" * 2_000)
def test_any_text_ends_in_a_value_or_a_refusal(text: str) -> None:
    """No other exception, whatever the text; a refusal is short."""
    for read in (extract_arguments, lambda raw: find_calls(raw, known=None)):
        refused = _ended(read, text)
        if isinstance(refused, PayloadError):
            assert refused.reason
            assert len(str(refused)) < 400


@given(HOSTILE)
def test_reading_goes_forward(text: str) -> None:
    """A reader ends behind where it began, and never behind the end of the text; it breaks within the text."""
    finder = Finder(text, None, LENIENT)
    broken = _ended(finder.value, 0)
    if isinstance(broken, Broken):
        assert 0 <= broken.position <= len(text)
    elif not isinstance(broken, PayloadError):
        assert 0 <= finder.end <= len(text)


@given(VALUES)
def test_values_of_plain_json_are_those_of_the_standard_parser(value: Any) -> None:
    """The strict reader changes nothing but the class of floats."""
    assert _same(parse_json(json.dumps(value), Limits())[0], value)


@pytest.mark.parametrize("size", [2_000, 20_000])
def test_hostile_shapes_take_linear_time(size: int) -> None:
    """Reading is counted in characters, not in seconds: from however many places it starts, no character is read more than a few times."""
    for unit in ("{", "[", "f(", '{"a": [', "'f(1, ", "[f(", "{'", "x = [", '"', "\\", "/* "):
        finder = Finder(unit * (size // len(unit)), None, LENIENT)
        fuel = finder.fuel
        for start in range(0, 2_000, len(unit)):
            _ended(finder.value, start)
        assert fuel - finder.fuel <= 9 * size + 20_000, unit
