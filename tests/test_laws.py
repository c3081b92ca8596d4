"""The laws that hold for every annotation and every value.

They run on a modest number of examples; ``TOOLBOX_HYPOTHESIS=thorough`` runs 10,000 of each.
"""

import ast
import base64
import copy
import datetime as dt
import enum
import ipaddress
import json
import os
import pathlib
import re
import uuid
from collections.abc import Callable
from dataclasses import field, fields, is_dataclass, make_dataclass, replace
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, TypedDict, Union

import annotated_types as at
import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from toolbox.annotations import read_annotation
from toolbox.coercion import build_coercer
from toolbox.diagnostics import INVALID, DiagnosticKind, FailureReason, Outcome, Risk
from toolbox.policy import ABSORBING, LENIENT, STRICT, Policy
from toolbox.schema import normalise, read_schema, write_schema
from toolbox.types import Document

PATIENT = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
settings.register_profile("modest", max_examples=150, deadline=None, suppress_health_check=PATIENT, derandomize=True)
settings.register_profile("thorough", max_examples=10_000, deadline=None, suppress_health_check=PATIENT)
PROFILE = settings.get_profile(os.environ.get("TOOLBOX_HYPOTHESIS", "modest"))
RISKY = replace(LENIENT, max_risk=Risk.RISKY)
# Containers by value, for annotations that are put together while the tests run.
LIST: Any = list
DICT: Any = dict
TUPLE: Any = tuple
SET: Any = set
POLICIES = (STRICT, ABSORBING, LENIENT, RISKY)


class Colour(enum.Enum):
    RED = "r"
    DARK_BLUE = "dark-blue"


class Grade(enum.IntEnum):
    LOW = 1
    HIGH = 10


class Spot(TypedDict):
    max_results: int
    note: NotRequired[str]


class Corner(NamedTuple):
    x: int
    y: float = 0.5


class Case(NamedTuple):
    """An annotation with the JSON values that are right for it."""

    annotation: Any
    good: st.SearchStrategy[Any]


def _duration(span: dt.timedelta) -> str:
    return f"{'-' if span < dt.timedelta(0) else ''}P{abs(span).days}DT{abs(span).seconds}S"


SCALARS = [
    Case(bool, st.booleans()),
    Case(int, st.integers(-(2**60), 2**60)),
    Case(float, st.floats(allow_nan=False, allow_infinity=False) | st.integers(-1000, 1000)),
    Case(Decimal, st.decimals(-1000, 1000, places=2).map(str) | st.integers(-1000, 1000) | st.floats(-10, 10)),
    Case(Annotated[Decimal, at.Ge(0)], st.decimals(0, 1000, places=2).map(str) | st.integers(0, 1000)),
    Case(str, st.text(max_size=8)),
    Case(Any, st.none() | st.booleans() | st.text(max_size=3)),
    Case(Annotated[int, at.Ge(0), at.Lt(10)], st.integers(0, 9)),
    Case(Annotated[float, at.Gt(0), at.MultipleOf(0.5)], st.integers(1, 20).map(lambda half: half / 2)),
    Case(Annotated[str, at.Len(1, 3)], st.text("abc", min_size=1, max_size=3)),
    Case(Literal["low", "medium", "high"], st.sampled_from(["low", "medium", "high"])),
    Case(Literal[1, "1", True], st.sampled_from([1, "1", True])),
    Case(Literal["economy", "business"] | str, st.sampled_from(["economy", "coach"])),
    Case(Colour, st.sampled_from(["r", "dark-blue"])),
    Case(Grade, st.sampled_from([1, 10])),
    Case(dt.date, st.dates().map(dt.date.isoformat)),
    Case(dt.datetime, st.datetimes(timezones=st.just(dt.UTC) | st.none()).map(dt.datetime.isoformat)),
    Case(dt.time, st.times().map(dt.time.isoformat)),
    Case(dt.timedelta, st.timedeltas(dt.timedelta(-1000), dt.timedelta(1000)).map(_duration)),
    Case(uuid.UUID, st.uuids().map(str)),
    Case(bytes, st.binary(max_size=6).map(lambda raw: base64.b64encode(raw).decode())),
    Case(pathlib.PurePosixPath, st.text("ab/", min_size=1, max_size=5)),
    Case(ipaddress.IPv4Address, st.ip_addresses(v=4).map(str)),
    Case(Spot, st.fixed_dictionaries({"max_results": st.integers()}, optional={"note": st.text(max_size=3)})),
    Case(Corner, st.fixed_dictionaries({"x": st.integers()}, optional={"y": st.floats(0, 1)})),
]
HASHABLE = [item for item in SCALARS if item.annotation not in (Any, Spot, Corner)]


def _boxed(parts: tuple[Case, Case]) -> Case:
    one, two = parts
    box = make_dataclass("Box", [("first_item", one.annotation), ("other", two.annotation | None, field(default=None))])
    return Case(box, st.fixed_dictionaries({"first_item": one.good}, optional={"other": two.good}))


def _optional(inner: Case) -> Case:
    return Case(Optional[inner.annotation], st.none() | inner.good)


def _union(parts: tuple[Case, Case]) -> Case:
    return Case(Union[parts[0].annotation, parts[1].annotation], parts[0].good | parts[1].good)


def _nested(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        inner.map(lambda part: Case(LIST[part.annotation], st.lists(part.good, max_size=3))),
        inner.map(lambda part: Case(DICT[str, part.annotation], st.dictionaries(st.text("ab c", max_size=3), part.good, max_size=2))),
        inner.map(lambda part: Case(TUPLE[part.annotation, ...], st.lists(part.good, max_size=3))),
        pairs.map(lambda two: Case(TUPLE[two[0].annotation, two[1].annotation], st.tuples(two[0].good, two[1].good).map(list))),
        st.sampled_from(HASHABLE).map(lambda part: Case(SET[part.annotation], st.lists(part.good, max_size=3, unique=True))),
        inner.map(_optional),
        pairs.map(_union),
        pairs.map(_boxed),
    )


CASES = st.recursive(st.sampled_from(SCALARS), _nested, max_leaves=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 2**70) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
WORDS = st.sampled_from(
    ["", "null", "None", "N/A", "true", "yes", "1,234", "1e3", "0x1F", "5 kg", "1, 2", "a, b", "[]", "{}", "[1", "NaN", "LOW", "not high"]
)


def _spelled(value: Any, style: int) -> Any:
    """One of the ways in which models get a value wrong."""
    if style == 0:
        return json.dumps(value)
    if style == 1:
        return repr(value)
    if style == 2:
        return [value]
    if isinstance(value, str):
        return (value.upper(), f" {value} ", value.title(), value.replace("-", "_"))[style % 4]
    if isinstance(value, bool):
        return (str(value), int(value), "yes" if value else "off", str(value).lower())[style % 4]
    if isinstance(value, int | float):
        return (str(value), float(value) if abs(value) < 2**53 else value, f"+{value}", f"{value}.0")[style % 4]
    if isinstance(value, dict) and value:
        changed = {("firstItem" if key == "first_item" else key): item for key, item in value.items()}
        return (changed, {**value, "zz_unknown": 1}, dict(list(value.items())[1:]), {"MaxResults": 1, **value})[style % 4]
    if isinstance(value, list):
        return ([*value, *value], tuple(value), [*value, None], value[1:])[style % 4]
    return "null" if value is None else value


def _mutated(value: Any, draw: Callable[[st.SearchStrategy[int]], int]) -> Any:
    """The value with some of its parts spelled as models spell them."""
    if isinstance(value, dict):
        value = {key: _mutated(item, draw) for key, item in value.items()}
    elif isinstance(value, list):
        value = [_mutated(item, draw) for item in value]
    style = draw(st.integers(0, 20))
    return _spelled(value, style) if style < 9 else value


@st.composite
def sent(draw: st.DrawFn) -> tuple[Any, Any]:
    """An annotation, and a value that a model might send for it: right, nearly right, or anything."""
    case = draw(CASES)
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return case.annotation, draw(JSON | WORDS)
    value = draw(case.good)
    return case.annotation, value if kind < 4 else _mutated(value, draw)


def coerce(document: Document, value: Any, policy: Policy) -> tuple[Any, Outcome]:
    """What a document makes of a value under a policy."""
    out = Outcome()
    return build_coercer(document, policy)(value, None, out), out


def accepted(document: Document, value: Any, policy: Policy) -> Any:
    """The coerced value, or `INVALID`."""
    made, out = coerce(document, value, policy)
    return INVALID if out.failures else made


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same, by type too."""
    return shown(left) == shown(right)


def shown(value: Any) -> str:
    """A value as text, with the type of everything in it; a set in one order."""
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__}{sorted(map(shown, value))}"
    if type(value) in (list, tuple, dict):
        return f"{type(value).__name__}{[shown(item) for item in (value.items() if isinstance(value, dict) else value)]}"
    if is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}{[shown(getattr(value, item.name)) for item in fields(value)]}"
    return repr(value)


@given(CASES)
@settings(PROFILE)
def test_a_written_schema_reads_as_the_same_nodes(case: Case) -> None:
    """Law 1: what the reader of signatures says is what its schema says, and the schema is valid itself."""
    document = read_annotation(case.annotation)
    schema = write_schema(document)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert read_schema(schema) == document


@given(CASES)
@settings(PROFILE)
def test_a_written_schema_is_in_its_normal_form(case: Case) -> None:
    """Law 2: reading and writing again changes nothing more."""
    schema = write_schema(read_annotation(case.annotation))
    assert normalise(schema) == schema
    assert json.loads(json.dumps(schema)) == schema


@given(sent())
@settings(PROFILE)
def test_signature_and_schema_accept_the_same_when_strict(pair: tuple[Any, Any]) -> None:
    """Law 3: under STRICT a tool from a signature and one from its schema accept the same JSON and fail at the same paths."""
    annotation, value = pair
    document = read_annotation(annotation)
    assume(not _notes_only(document))
    again = read_schema(write_schema(document))
    (_, one), (_, two) = coerce(document, value, STRICT), coerce(again, value, STRICT)
    assert sorted({failure.path for failure in one.failures}) == sorted({failure.path for failure in two.failures})


@given(sent())
@settings(PROFILE)
def test_signature_and_schema_accept_the_same_when_lenient(pair: tuple[Any, Any]) -> None:
    """Law 3: the same is mended for both; the signature knows more: names of members, defaults for null, classes that read the same."""
    annotation, value = pair
    document = read_annotation(annotation)
    assume(not _notes_only(document))
    again = read_schema(write_schema(document))
    (made, one), (plain, two) = coerce(document, value, LENIENT), coerce(again, value, LENIENT)
    if one.failures:
        # Two classes that read the same value in the same way are two readings in Python, and one in JSON.
        alike = all(failure.reason is FailureReason.AMBIGUOUS for failure in one.failures)
        assert two.failures or alike, (made, plain)
    elif two.failures:
        assert _knows_more(one), [str(failure) for failure in two.failures]


def _notes_only(document: Document) -> bool:
    """Whether the schema says something about the text that JSON Schema has as a note and does not check: how bytes are encoded."""
    return "contentEncoding" in json.dumps(write_schema(document))


def _knows_more(out: Outcome) -> bool:
    """Whether something on record rests on what only Python knows."""
    return any(found.kind is DiagnosticKind.DEFAULTED or found.conversion.startswith("match:") for found in out.diagnostics)


@given(sent())
@settings(PROFILE)
def test_what_strict_accepts_validates(pair: tuple[Any, Any]) -> None:
    """Law 4: what STRICT accepts as it came is valid for an outside validator too."""
    annotation, value = pair
    document = read_annotation(annotation)
    _, out = coerce(document, value, STRICT)
    if not out.failures and not any(found.kind is DiagnosticKind.RENAMED for found in out.diagnostics):
        jsonschema.Draft202012Validator(write_schema(document)).validate(_json(value))


def _json(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, dict):
        return {key: _json(item) for key, item in value.items()}
    return [_json(item) for item in value] if isinstance(value, list | tuple) else value


@given(sent())
@settings(PROFILE)
def test_what_lenient_mends_validates(pair: tuple[Any, Any]) -> None:
    """Law 4: what LENIENT makes for a tool from a schema is valid under that schema."""
    annotation, value = pair
    schema = write_schema(read_annotation(annotation))
    made, out = coerce(read_schema(schema), value, LENIENT)
    if not out.failures:
        jsonschema.Draft202012Validator(schema).validate(made)


@given(sent())
@settings(PROFILE)
def test_a_looser_policy_accepts_what_strict_accepts(pair: tuple[Any, Any]) -> None:
    """Law 4: no looser policy refuses, or reads differently, what STRICT accepts."""
    annotation, value = pair
    document = read_annotation(annotation)
    strictly, out = coerce(document, value, STRICT)
    if out.failures:
        return
    # An open enum keeps what it does not know, and a looser policy may know more spellings of its choices.
    kept = any(found.kind is DiagnosticKind.UNKNOWN_CHOICE for found in out.diagnostics)
    for policy in POLICIES[1:]:
        loosely, found = coerce(document, value, policy)
        assert not found.failures
        # Text that says null is null where text may be changed, and the text that it is where not.
        nulled = any(item.conversion == "str->None" for item in found.diagnostics)
        assert kept or nulled or same(loosely, strictly)


@given(sent())
@settings(PROFILE)
def test_a_higher_risk_changes_no_value_that_was_accepted(pair: tuple[Any, Any]) -> None:
    """Raising `max_risk` lets more through, and leaves what went through as it was."""
    annotation, value = pair
    document = read_annotation(annotation)
    made = accepted(document, value, LENIENT)
    if made is not INVALID:
        assert same(accepted(document, value, RISKY), made)


@given(sent(), st.sampled_from(POLICIES))
@settings(PROFILE)
def test_coercing_the_result_again_changes_nothing(pair: tuple[Any, Any], policy: Policy) -> None:
    """Law 4: coercion is idempotent: what it made is taken as it is, and nothing is recorded but what the value itself records."""
    annotation, value = pair
    for document in (read_annotation(annotation), read_schema(write_schema(read_annotation(annotation)))):
        made, out = coerce(document, value, policy)
        if out.failures:
            continue
        again, second = coerce(document, made, policy)
        assert not second.failures, second.failures[0]
        assert same(again, made)
        left = [found for found in second.diagnostics if found.kind is not DiagnosticKind.UNKNOWN_CHOICE]
        assert left == []


_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]")


def _decoded(text: str) -> Any:
    """The array or object that a text holds."""
    try:
        return json.loads(text)
    except ValueError:
        return ast.literal_eval(text.strip())


def _resolve(path: str, root: Any) -> tuple[bool, bool]:
    """Whether the place before the last step is there, and whether the last one is."""
    steps = list(_STEP.finditer(path))
    assert "$" + "".join(step[0] for step in steps) == path
    current = root
    for place, step in enumerate(steps):
        if isinstance(current, str):
            current = _decoded(current)
        last = place == len(steps) - 1
        if step[2] is not None:
            there = isinstance(current, list | tuple) and int(step[2]) < len(current)
            key: Any = int(step[2])
        else:
            key = step[1] if step[1] is not None else json.loads('"' + step[3].replace("\\'", "'").replace('"', '\\"') + '"')
            there = isinstance(current, dict) and key in current
        if not there:
            return last and isinstance(current, dict), False
        current = current[key]
    return True, True


@given(sent(), st.sampled_from(POLICIES))
@settings(PROFILE)
def test_every_path_resolves(pair: tuple[Any, Any], policy: Policy) -> None:
    """Law 5: a path leads to a place of what came, JSON text on the way decoded, or names the key that is missing."""
    annotation, value = pair
    for document in (read_annotation(annotation), read_schema(write_schema(read_annotation(annotation)))):
        _, out = coerce(document, value, policy)
        for failure in out.failures:
            parent, there = _resolve(failure.path, value)
            assert there or (parent and failure.reason is FailureReason.MISSING), failure
        for found in out.diagnostics:
            parent, there = _resolve(found.path, value)
            assert there or (parent and found.kind is DiagnosticKind.DEFAULTED), found


@given(sent(), st.sampled_from(POLICIES))
@settings(PROFILE)
def test_the_payload_is_unchanged(pair: tuple[Any, Any], policy: Policy) -> None:
    """Law 6: what came is left as it was, and what was made shares no list or dict with it."""
    annotation, value = pair
    before = copy.deepcopy(value)
    made, _ = coerce(read_annotation(annotation), value, policy)
    assert same(value, before)
    assert not _containers(value) & _containers(made)


def _containers(value: Any) -> set[int]:
    if isinstance(value, dict):
        return {id(value)}.union(*map(_containers, value.values()))
    if isinstance(value, list):
        return {id(value)}.union(*map(_containers, value))
    return set()


@given(CASES, CASES, st.data())
@settings(PROFILE)
def test_an_unrelated_key_changes_nothing_else(one: Case, two: Case, data: st.DataObject) -> None:
    """An unknown key that resembles no parameter is dropped or refused, and what is made of the others stays the same."""
    boxed = _boxed((one, two))
    value = _mutated(data.draw(one.good), data.draw)
    document = read_annotation(boxed.annotation)
    made = accepted(document, {"first_item": value}, LENIENT)
    if made is not INVALID:
        assert same(accepted(document, {"first_item": value, "qqq": [1]}, LENIENT), made)
        assert same(accepted(document, {"qqq": None, "first_item": value}, LENIENT), made)


@given(st.text(max_size=20), st.sampled_from(SCALARS))
@settings(PROFILE)
def test_no_text_raises(text: str, case: Case) -> None:
    """Whatever the text, the outcome is a value or a failure, whose words fit into one line."""
    made, out = coerce(read_annotation(case.annotation), text, RISKY)
    assert (made is INVALID) == bool(out.failures)
    for failure in out.failures:
        assert "\n" not in str(failure)


def test_the_profile_is_known() -> None:
    """A typing error in the variable is no silent return to the modest number."""
    with pytest.raises(Exception, match="is not registered"):
        settings.get_profile("no such profile")
