"""Hostile input against a whole registry: it ends in a result, soon, with a short text, and nothing of it takes over."""

import asyncio
import os
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typing_extensions import TypeAliasType

from toolbox import ABSORBING, LENIENT, STRICT, CallStatus, MemorySink, Policy, Registry, ToolboxError, ToolResult

MEMBERS = tuple(f"member_{number}" for number in range(10_000))
Wide = Enum("Wide", {member: member for member in MEMBERS})  # type: ignore[misc]
Nested = TypeAliasType("Nested", "dict[str, Nested] | int")


def strict_types(a: int, b: list[int], c: dict[str, float], d: bool = True) -> str:
    """A sample tool."""
    return f"{a} {len(b)} {len(c)} {d}"


def wide(c: Wide, more: list[Wide] = []) -> Any:
    """A sample tool."""
    return c.value


def anything(x: Any = None, **rest: Any) -> str:
    """A sample tool."""
    return "ran"


def numbers(xs: list[int]) -> int:
    """A sample tool."""
    return len(xs)


def text(s: str) -> str:
    """A sample tool."""
    return s


def nested(x: Nested) -> None:
    """A sample tool."""


def many(**rest: int) -> int:
    """A sample tool."""
    return len(rest)


TOOLS = (strict_types, wide, anything, numbers, text, nested, many)


def _registry(policy: Policy = LENIENT) -> tuple[Registry, MemorySink]:
    sink = MemorySink()
    registry = Registry(policy, sinks=[sink])
    for function in TOOLS:
        registry.register(function)
    return registry, sink


REGISTRIES = [_registry(policy) for policy in (LENIENT, ABSORBING, STRICT)]


def _assert_sound(result: ToolResult, sink: MemorySink) -> None:
    """What holds for every call, however it ended."""
    assert result.ok is (result.error is None)
    assert result.error is None or isinstance(result.error, ToolboxError)
    words = str(result.error)
    assert 0 < len(words) < 2_000
    assert words.count("\n- ") <= 21
    assert "Traceback" not in words
    assert "http" not in words
    result.to_text().encode()
    assert len(result.to_text()) < 101_000
    assert len(sink) == 1
    assert sink.records[0].status in (CallStatus.DONE, CallStatus.REFUSED)
    sink.clear()


# -- any input -----------------------------------------------------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=8) | st.just(MEMBERS[7])
KEYS = st.sampled_from(["a", "b", "c", "d", "x", "xs", "s", "arguments", "name", "wide", "more", ""]) | st.text(max_size=6)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(KEYS, inner, max_size=5)
        | st.tuples(inner, inner)
        | st.sets(st.integers(), max_size=3)
    ),
    max_leaves=15,
)
ODD_KEYS = st.dictionaries(st.integers() | st.none() | st.tuples(st.integers()), VALUES, max_size=2)
PIECES = st.lists(
    st.sampled_from(
        [
            "{",
            "}",
            "[",
            "]",
            '"',
            ":",
            ",",
            "'",
            "\\",
            "a",
            "b",
            '"a": 1',
            "null",
            "```json",
            "\n",
            "<tool_call>",
            "numbers(",
            ")",
            "=",
            " ",
        ]
    ),
    max_size=25,
).map("".join)
PAYLOADS = VALUES | ODD_KEYS | PIECES | st.binary(max_size=30)


@given(payload=PAYLOADS, name=st.sampled_from([function.__name__ for function in TOOLS]), which=st.sampled_from(range(3)))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_payload_ends_in_a_result(payload: Any, name: str, which: int) -> None:
    """Whatever arrives, the call runs or is refused, and is on record; no foreign exception comes out."""
    registry, sink = REGISTRIES[which]
    before = repr(payload)
    _assert_sound(registry.run(name, payload), sink)
    assert repr(payload) == before


@given(name=st.text(max_size=40) | st.none() | st.integers() | st.lists(st.text(), max_size=2))
@settings(max_examples=100, deadline=None)
def test_any_name_ends_in_a_result(name: Any) -> None:
    """Whatever stands where a name should, the call has a result and a record."""
    registry, sink = REGISTRIES[0]
    result = registry.run(name, {})
    assert len(str(result.error)) < 2_000
    assert len(sink) == 1
    sink.clear()


# -- size ----------------------------------------------------------------------------------------------------------------------------


def _deep(levels: int, make: Callable[[Any], Any]) -> Any:
    found: Any = "bottom"
    for _ in range(levels):
        found = make(found)
    return found


LARGE: dict[str, tuple[str, Any]] = {
    "a key of 1 MB": ("strict_types", {"k" * 1_000_000: 1}),
    "a key of 1 MB as text": ("strict_types", '{"' + "k" * 1_000_000 + '": 1}'),
    "a value of 1 MB": ("strict_types", {"a": "9" * 1_000_000}),
    "a value of 10 MB": ("text", {"s": "x" * 10_000_000}),
    "5,000 unknown keys": ("strict_types", {f"k{number}": 1 for number in range(5_000)}),
    "50,000 arguments": ("many", {f"k{number}": "1" for number in range(50_000)}),
    "90,000 bad items": ("numbers", {"xs": ["x"] * 90_000}),
    "200,000 items": ("numbers", {"xs": [1] * 200_000}),
    "a miss among 10,000 members": ("wide", {"c": "no such thing"}),
    "a miss of 1 MB among 10,000 members": ("wide", {"c": "m" * 1_000_000}),
    "1,000 misses among 10,000 members": ("wide", {"c": MEMBERS[0], "more": ["zz"] * 1_000}),
    "100,000 levels of lists": ("anything", {"x": _deep(100_000, lambda inner: [inner])}),
    "100,000 levels of objects": ("nested", {"x": _deep(100_000, lambda inner: {"k": inner})}),
    "60 levels of long keys": ("nested", {"x": _deep(60, lambda inner: {"q" * 100: inner})}),
    "an integer of 5,000 digits": ("numbers", {"xs": [10**5_000]}),
    "an integer of 4,000 digits": ("text", {"s": 10**4_000}),
    "an integer of 4,000 digits as text": ("numbers", {"xs": ["9" * 4_000]}),
    "a float beyond": ("strict_types", '{"a": 1e999999, "b": [], "c": {"x": 1e400}}'),
    "open brackets": ("numbers", "[" * 60_000),
    "1 MB of prose": ("numbers", "a " * 500_000),
    "60 kB of almost JSON": ("numbers", '{"xs": [' + "1, " * 20_000),
    "2 MB of text": ("numbers", "{" + " " * 2_000_000),
}


@pytest.mark.parametrize("case", LARGE)
def test_large_input_is_bounded(case: str) -> None:
    """The answer is short, however much arrived."""
    registry, sink = REGISTRIES[0]
    name, payload = LARGE[case]
    result = registry.run(name, payload)
    _assert_sound(result, sink)
    assert result.report is None or (len(result.report.failures) <= 1_000 and len(repr(result.report)) < 2_000)


def test_a_large_enum() -> None:
    """An exact member of ten thousand is found at once, and so is one in another case."""
    registry, sink = REGISTRIES[0]
    for value in ("member_9999", "MEMBER_9999"):
        assert registry.run("wide", {"c": value}).value == "member_9999"
    sink.clear()


@pytest.mark.parametrize("policy", [LENIENT, STRICT])
def test_a_cyclic_payload(policy: Policy) -> None:
    """An object that holds itself is too deep, wherever it stands."""
    registry, sink = _registry(policy)
    circle: dict[str, Any] = {}
    circle["x"] = circle
    ring: list[Any] = []
    ring.append(ring)
    for payload in (circle, {"x": ring}, ring, {"x": {"y": (ring,)}}):
        result = registry.run("anything", payload)
        assert "levels deep" in str(result.error)
        _assert_sound(result, sink)


def test_a_large_result() -> None:
    """What is sent to the model is bounded, and what is kept of it nowhere."""
    registry, sink = _registry()

    def flood(a: int) -> str:
        return "x" * 20_000_000

    registry.register(flood)
    result = registry.run("flood", {"a": 1})
    assert len(result.value) == 20_000_000
    assert len(repr(result)) < 100
    assert len(repr(sink.records[0])) < 2_000
    _assert_sound(result, sink)


# -- nothing of it takes over --------------------------------------------------------------------------------------------------------

KEYWORDS = [
    "self",
    "cls",
    "name",
    "arguments",
    "call_id",
    "context",
    "timeout_s",
    "metadata",
    "event",
    "level",
    "registry",
    "logger",
    "policy",
    "tool",
]


@pytest.mark.parametrize("key", KEYWORDS)
def test_names_of_ours_are_names_like_any_other(key: str) -> None:
    """A parameter may be called what an option of toolbox's own is called, and a model cannot set the option by it."""

    def taken(**rest: Any) -> dict[str, Any]:
        return rest

    registry = Registry()
    registry.register(taken)
    schema = {"type": "object", "properties": {key: {"type": "integer"}}, "required": [key]}
    registry.register_schema("declared", schema, lambda **given: given)
    assert registry.dispatch("taken", {key: 0, "other": 1}) == {key: 0, "other": 1}
    assert registry.dispatch("declared", {key: "7"}) == {key: 7}
    assert asyncio.run(registry.adispatch("declared", {key: "7"})) == {key: 7}


ATTACKS = [
    "__import__('os').system('touch {path}')",
    "{{'a': __import__('os').system('touch {path}')}}",
    "numbers(xs=[__import__('os').system('touch {path}')])",
    "numbers(xs=open({path!r}, 'w'))",
    "!!python/object/apply:os.system ['touch {path}']",
    '{{"xs": {{"py/reduce": [{{"py/function": "os.system"}}, ["touch {path}"]]}}}}',
    '{{"xs": {{"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {{"command": "touch {path}"}}}}}}',
    '{{"xs": {{"$ref": "file://{path}"}}}}',
    '{{"__class__": "os.system", "__init__": "touch {path}"}}',
    '{{"__proto__": {{"xs": [1]}}}}',
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_is_run_from_a_payload(attack: str, tmp_path: Path) -> None:
    """Code, markers of serialisers and references in a payload are text, and the call is refused."""
    canary = tmp_path / "canary"
    registry, sink = _registry()
    before = set(sys.modules)
    for name in ("numbers", "nested"):
        result = registry.run(name, attack.format(path=os.fspath(canary)))
        assert not result.ok
        _assert_sound(result, sink)
    assert registry.run("anything", {"x": attack}).ok
    assert not canary.exists()
    assert not {"pickle", "yaml"} & (set(sys.modules) - before)


@pytest.mark.parametrize(
    "value",
    [
        '\n{"event": "tool_ok"}',
        "\x1b[31m",
        "%s %(x)s {0}",
        "\u2028",
        "\ud800",
        "\x00",
        "../../etc/passwd",
        "'; DROP TABLE t; --",
        "",
        " ",
        "null",
    ],
)
def test_text_for_text_is_exact(value: str) -> None:
    """A text that is wanted as text arrives as it is, whatever it looks like."""
    registry, _ = _registry()
    for policy in (LENIENT, STRICT):
        registry, sink = _registry(policy)
        assert registry.dispatch("text", {"s": value}) == value
        assert sink.records[0].diagnostics == ()
