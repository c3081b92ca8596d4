"""The laws that hold for every JSON Schema and every value.

The schemas mix any keywords, or are built as those of tools are, or are what hypothesis-jsonschema draws from the metaschemas; the values
are drawn from each schema, and then spelled as models spell them. The laws run on a modest number of examples;
``TOOLBOX_HYPOTHESIS=thorough`` runs 10,000.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import importlib.util
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import hypothesis
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for

from toolbox import LENIENT, STRICT, Policy, coerce_to_schema, normalize_from_schema
from toolbox.diagnostics import CoercionReport, DiagnosticKind, FailureReason, shorten
from toolbox.policy import ABSORBING
from toolbox.schema import InvalidSchema, normalise, read_schema, write_schema
from toolbox.types import Document, NeverType, ObjectType, Type, children

PROFILES: Final = {"modest": 200, "thorough": 10_000}
PROFILE = settings(
    max_examples=PROFILES[os.environ.get("TOOLBOX_HYPOTHESIS", "modest")],
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=os.environ.get("TOOLBOX_HYPOTHESIS", "modest") == "modest",
)
POLICIES: Final = (STRICT, ABSORBING, LENIENT)
DIALECT: Final = {"$schema": "https://json-schema.org/draft/2020-12/schema"}

# -- schemas of any keyword beside any other -----------------------------------------------------------------------------------------------

KINDS: Final = ["null", "boolean", "integer", "number", "string", "array", "object"]
NAMES: Final = ["a", "max_results", "odd-key", "Name"]
PATTERNS: Final = ["^a", "b$", "[0-9]", "^[a-z_]*$"]
FORMATS: Final = {
    "date": "2024-02-29",
    "date-time": "2024-02-29T12:00:00Z",
    "email": "a@b.org",
    "uuid": "0" * 8 + "-0000" * 3 + "-" + "0" * 12,
}
CONSTANTS: Final = [None, True, 0, 1, 2.5, "", "a", "abc", "low", "not high", "1", [1], {"a": 1}]
NAME_LISTS: Final = st.lists(st.sampled_from(NAMES), unique=True, max_size=2)
PLAIN_KEYWORDS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "type": st.sampled_from(KINDS) | st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True),
    "enum": st.lists(st.sampled_from(CONSTANTS), min_size=1, max_size=3),
    "const": st.sampled_from(CONSTANTS),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), st.sampled_from([-1, 0, 1, 2.5, 10])),
    "multipleOf": st.sampled_from([1, 2, 0.5]),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), st.integers(0, 3)),
    "pattern": st.sampled_from(PATTERNS),
    "format": st.sampled_from([*FORMATS]),
    "uniqueItems": st.booleans(),
    "required": NAME_LISTS,
    "dependentRequired": st.dictionaries(st.sampled_from(NAMES), NAME_LISTS, max_size=1),
    "description": st.just("what it is"),
    "default": st.sampled_from(CONSTANTS),
}


@st.composite
def mixed(draw: st.DrawFn, depth: int = 2) -> Any:
    """A schema whose keywords need not go together."""
    if draw(st.integers(0, 11)) == 0:
        return draw(st.booleans())
    keywords = dict(PLAIN_KEYWORDS)
    if depth:
        inner = mixed(depth - 1)
        named = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
        keywords |= dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), st.lists(inner, min_size=1, max_size=2))
        keywords |= dict.fromkeys(("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"), inner)
        keywords |= {"properties": named, "dependentSchemas": named, "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), inner)}
        keywords |= {"unevaluatedItems": inner, "unevaluatedProperties": inner}
    chosen = draw(st.lists(st.sampled_from([*keywords]), max_size=4, unique=True))
    return {keyword: draw(keywords[keyword]) for keyword in chosen}


# -- schemas as tools have them: keywords that go together ---------------------------------------------------------------------------------

TEXTS: Final = st.fixed_dictionaries(
    {}, optional={"description": st.just("what it is"), "title": st.just("T"), "deprecated": st.just(True)}
)
SCALARS: Final = st.one_of(
    st.sampled_from([{"type": "boolean"}, {"type": "integer"}, {"type": "number"}, {"type": "string"}, {"type": "null"}, {}]),
    st.builds(lambda low, span: {"type": "integer", "minimum": low, "maximum": low + span}, st.integers(-5, 5), st.integers(0, 20)),
    st.builds(lambda low: {"type": "number", "exclusiveMinimum": low, "multipleOf": 0.5}, st.integers(-5, 5)),
    st.builds(lambda low, span: {"type": "string", "minLength": low, "maxLength": low + span}, st.integers(0, 3), st.integers(0, 5)),
    st.builds(lambda pattern: {"type": "string", "pattern": pattern}, st.sampled_from(PATTERNS)),
    st.builds(lambda name: {"type": "string", "format": name}, st.sampled_from([*FORMATS])),
    st.sampled_from([["low", "medium", "high"], ["asc", "desc"], ["us-east-1", "eu_west_2"], [1, 2, 3], [1, "1", True, None]]).map(
        lambda values: {"enum": values}
    ),
    st.sampled_from([{"const": "fixed"}, {"type": ["string", "null"]}, {"type": ["integer", "string"]}, {"type": ["number", "null"]}]),
    st.sampled_from([{"$ref": "#/$defs/Node"}, {"$ref": "#/$defs/Colour"}, {"$ref": "#/$defs/Point"}]),
)
DEFINITIONS: Final = {
    "Colour": {"type": "string", "enum": ["red", "dark-blue"]},
    "Point": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x"]},
    "Node": {
        "type": "object",
        "properties": {"max_results": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}},
        "required": ["max_results"],
        "additionalProperties": False,
    },
}


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=2)
    named = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    return st.one_of(
        st.builds(lambda items, limits: {"type": "array", "items": items, **limits}, inner, _limits("Items")),
        st.builds(lambda first, items: {"type": "array", "prefixItems": first, "items": items}, some, inner | st.just(False)),
        st.builds(_object, named, st.sets(st.sampled_from(NAMES), max_size=2), inner | st.booleans() | st.none(), TEXTS),
        st.builds(lambda items: {"type": "object", "additionalProperties": items}, inner),
        st.builds(lambda keyword, members: {keyword: members}, st.sampled_from(["anyOf", "oneOf", "allOf"]), some),
        st.builds(lambda member: {"anyOf": [member, {"type": "null"}]}, inner),
        st.builds(lambda member, texts: {**member, **texts} if isinstance(member, dict) else member, inner, TEXTS),
    )


def _limits(what: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {}, optional={f"min{what}": st.integers(0, 1), f"max{what}": st.integers(2, 3), "uniqueItems": st.booleans()}
    )


def _object(named: dict[str, Any], required: set[str], additional: Any, texts: dict[str, Any]) -> dict[str, Any]:
    found = {"type": "object", "properties": named, "required": sorted(required & named.keys()), **texts}
    return found if additional is None else {**found, "additionalProperties": additional}


def _whole(schema: Any) -> Any:
    """The schema as a document that says which dialect it is in."""
    if not isinstance(schema, dict):
        return schema
    return {**DIALECT, **schema, **({"$defs": DEFINITIONS} if '"$ref"' in json.dumps(schema) else {})}


SCHEMAS: Final = (mixed() | st.recursive(SCALARS | mixed(0), _nested, max_leaves=5) | _nested(mixed(1))).map(_whole)

# -- values --------------------------------------------------------------------------------------------------------------------------------

JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 2**70) | st.floats(-1e6, 1e6) | st.text(max_size=6) | st.sampled_from(CONSTANTS[:11]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
WORDS: Final = st.sampled_from(
    ["", "null", "None", "N/A", "true", "yes", "1,234", "1e3", "5 kg", "1, 2", "a, b", "[]", "{}", "[1", "NaN", "LOW", "not high"]
)


NESTED: Final = 6


def _fitting(schema: Any, draw: st.DrawFn, depth: int = 0) -> Any:
    """A value that the schema calls valid, mostly: what several keywords say together is not looked into."""
    if not isinstance(schema, dict) or depth > NESTED:
        return draw(JSON)
    if "$ref" in schema:
        return _fitting(DEFINITIONS[schema["$ref"].rsplit("/", 1)[-1]], draw, depth + 1)
    if "enum" in schema or "const" in schema:
        return copy.deepcopy(draw(st.sampled_from(schema.get("enum") or [schema.get("const")])))
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in schema:
            found = _fitting(draw(st.sampled_from(schema[keyword])), draw, depth + 1)
            rest = {name: item for name, item in schema.items() if name != keyword}
            other = _fitting(rest, draw, depth) if isinstance(found, dict) and "properties" in rest else None
            return {**other, **found} if isinstance(other, dict) else found
    kinds = schema.get("type", [kind for kind, keywords in SPEAKING.items() if keywords & schema.keys()] or KINDS)
    kind = draw(st.sampled_from(kinds)) if isinstance(kinds, list) else kinds
    return _of_kind(kind, schema, draw, depth)


SPEAKING: Final = {
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
    "string": {"minLength", "maxLength", "pattern", "format"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "contains"},
    "object": {"properties", "required", "additionalProperties", "minProperties", "patternProperties", "dependentRequired"},
}


def _of_kind(kind: str, schema: dict[str, Any], draw: st.DrawFn, depth: int) -> Any:
    if kind in ("integer", "number"):
        low, high = (schema.get(f"{name}imum", schema.get(f"exclusive{name.title()}imum")) for name in ("min", "max"))
        low = -10 if low is None else low
        high = max(low + 20, low) if high is None else high
        whole = draw(st.integers(math.ceil(min(low, high)), math.floor(max(low, high)) + 1))
        return whole if kind == "integer" or draw(st.booleans()) else whole + 0.5
    if kind == "string":
        if "format" in schema:
            return FORMATS.get(schema["format"], "a")
        text = draw(st.from_regex(schema["pattern"]) if "pattern" in schema else st.text("ab c1_", max_size=6))
        return text.ljust(schema.get("minLength", 0), "a")[: schema.get("maxLength")]
    if kind == "array":
        first = schema.get("prefixItems", [])
        count = draw(st.integers(schema.get("minItems", 0), max(schema.get("minItems", 0), schema.get("maxItems", 3))))
        types = [*first, *[schema.get("items", {})] * count][:count]
        return [_fitting(item, draw, depth + 1) for item in types if item is not False]
    if kind == "object":
        found = {name: _fitting(item, draw, depth + 1) for name, item in schema.get("properties", {}).items() if draw(st.booleans())}
        for name in schema.get("required", ()):
            found.setdefault(name, _fitting(schema.get("properties", {}).get(name, {}), draw, depth + 1))
        other = schema.get("additionalProperties", {})
        if other is not False and draw(st.booleans()):
            found.setdefault(draw(st.sampled_from(["another", "b", "maxResults"])), _fitting(other, draw, depth + 1))
        return found
    return draw(st.booleans()) if kind == "boolean" else None


def _spelled(value: Any, style: int) -> Any:
    """One of the ways in which models get a value wrong."""
    if style < 3:
        return (json.dumps(value), repr(value), [value])[style]
    if isinstance(value, str):
        return (value.upper(), f" {value} ", value.title(), value.replace("-", "_"), f'"{value}"')[style % 5]
    if isinstance(value, bool):
        return (str(value), int(value), "yes" if value else "off", str(value).lower())[style % 4]
    if isinstance(value, int | float):
        return (str(value), float(value) if abs(value) < 2**53 else value, f"+{value}", f"{value}.0")[style % 4]
    if isinstance(value, dict):
        changed = {key.replace("_", "-").title() if style % 2 else key.replace("_", "").lower(): item for key, item in value.items()}
        return (changed, {**value, "zz unknown": 1}, dict(list(value.items())[1:]), {"MaxResults": 1, **value})[style % 4]
    if isinstance(value, list):
        return ([*value, *value], [*value, None], value[1:], ", ".join(map(str, value)))[style % 4]
    return "null" if style % 2 else "N/A"


def _mutated(value: Any, draw: Callable[[st.SearchStrategy[int]], int]) -> Any:
    """The value with some of its parts spelled as models spell them."""
    if isinstance(value, dict):
        value = {key: _mutated(item, draw) for key, item in value.items()}
    elif isinstance(value, list):
        value = [_mutated(item, draw) for item in value]
    style = draw(st.integers(0, 20))
    return _spelled(value, style) if style < 9 else value


@st.composite
def sent_for(draw: st.DrawFn, schema: Any) -> Any:
    """A value that a model might send for a schema: right, nearly right, or anything."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(JSON | WORDS)
    value = _fitting(schema, draw)
    return value if kind < 4 else _mutated(value, draw)


@st.composite
def sent(draw: st.DrawFn) -> tuple[Any, Any]:
    """A schema, and a value that a model might send for it."""
    schema = draw(SCHEMAS)
    return schema, draw(sent_for(schema))


# -- the laws ------------------------------------------------------------------------------------------------------------------------------


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same, by type too."""
    return repr(left) == repr(right)


def outside(schema: Any) -> Validator:
    """The outside validator of the draft that a schema says it is in, which gets the schema in a form in which it is not mistaken."""
    return validator_for(schema, default=Draft202012Validator)(_for_outside(schema))


def _for_outside(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_for_outside(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _for_outside(item) for key, item in schema.items()}
    # Beside a schema for all items, `additionalItems` says nothing; the validator breaks off where that one is a boolean.
    if isinstance(found.get("items"), bool):
        found.pop("additionalItems", None)
    # Python's `$` matches before a last line break too.
    if isinstance(found.get("pattern"), str):
        found["pattern"] = found["pattern"].replace("$", r"\Z")
    if isinstance(found.get("patternProperties"), dict):
        found["patternProperties"] = {key.replace("$", r"\Z"): item for key, item in found["patternProperties"].items()}
    return found


def readings(schema: Any, value: Any, policy: Policy) -> Iterator[CoercionReport]:
    """The reports on a value: as any JSON value, and as the arguments of a tool where it can be that."""
    yield coerce_to_schema(schema, value, policy)
    is_tools = isinstance(value, dict) and isinstance(schema, dict) and schema.get("type") == "object"
    # A schema that nothing fits is refused for a tool's parameters.
    if is_tools and not isinstance(read_schema(schema).root, NeverType):
        yield normalize_from_schema(schema, value, policy)


def law_reading_what_was_written(schema: Any, value: Any) -> None:
    """Law 1: what is written reads as the same nodes, and is a valid schema that means the same."""
    document = read_schema(schema)
    written = write_schema(document)
    Draft202012Validator.check_schema(written)
    assert read_schema(written) == document
    assert outside(written).is_valid(value) == outside(schema).is_valid(value)


def law_normal_form(schema: Any, value: Any) -> None:
    """Law 2: what is written is what the normal form of the schema is, which is its own normal form."""
    written = write_schema(read_schema(schema))
    assert written == normalise(schema) == normalise(written)
    assert json.loads(json.dumps(written)) == written


def law_written_schema_accepts_the_same(schema: Any, value: Any) -> None:
    """Law 3: the schema and what is written of it accept the same, make the same of it, and report the same paths."""
    written = {**DIALECT, **write_schema(read_schema(schema))}
    for policy in POLICIES:
        one, two = coerce_to_schema(schema, value, policy), coerce_to_schema(written, value, policy)
        assert same(one.value, two.value)
        assert {failure.path for failure in one.failures} == {failure.path for failure in two.failures}
        assert [found.path for found in one.diagnostics] == [found.path for found in two.diagnostics]


ABOUT_KEYS: Final = {DiagnosticKind.RENAMED, DiagnosticKind.DROPPED, DiagnosticKind.PRESERVED}


def _letters(key: str) -> str:
    return re.sub(r"[\W_]", "", key).casefold()


def _nodes(document: Document) -> Iterator[Type]:
    waiting = [document.root, *document.definitions.values()]
    while waiting:
        yield (node := waiting.pop())
        waiting.extend(children(node))


def _keys(value: Any) -> set[str]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (set(value) if isinstance(value, dict) else set()).union(*map(_keys, inside))


def _has_other_spellings(schema: Any, value: Any) -> bool:
    """Whether a value has a key that is no declared one, and another spelling of one."""
    declared = {item.name for node in _nodes(read_schema(schema)) if isinstance(node, ObjectType) for item in node.fields}
    return bool({_letters(key) for key in _keys(value) - declared} & set(map(_letters, declared)))


def law_strict_is_the_schema(schema: Any, value: Any) -> None:
    """Law 4: STRICT accepts exactly what an outside validator calls valid."""
    if coerce_to_schema(schema, value, STRICT).ok != outside(schema).is_valid(value):
        # By design: a key that is another spelling of a declared one is refused where any key may come, too: it is meant for that one.
        assert outside(schema).is_valid(value)
        assert _has_other_spellings(schema, value)


def law_lenient_refuses_nothing_strict_accepts(schema: Any, value: Any) -> None:
    """Law 4: a looser policy accepts what STRICT accepts, and makes the same of it."""
    for policy in POLICIES[1:]:
        for strictly, loosely in zip(readings(schema, value, STRICT), readings(schema, value, policy), strict=True):
            if strictly.ok:
                assert loosely.ok, loosely.failures
                # Where text or null may come, the words for null mean null; a key may be another spelling of a declared one: on record.
                changed = any(found.conversion == "str->None" or found.kind in ABOUT_KEYS for found in loosely.diagnostics)
                assert changed or same(loosely.value, strictly.value)


def law_what_is_made_is_valid(schema: Any, value: Any) -> None:
    """Law 4: whatever is accepted, what is made of it is valid."""
    validator = outside(schema)
    for policy in POLICIES:
        for report in readings(schema, value, policy):
            assert not report.ok or validator.is_valid(report.value), report.value


def law_idempotent(schema: Any, value: Any) -> None:
    """Law 4: coercing the result again changes nothing and records nothing."""
    for policy in POLICIES:
        report = coerce_to_schema(schema, value, policy)
        if report.ok:
            again = coerce_to_schema(schema, report.value, policy)
            assert again.ok, again.failures
            assert same(again.value, report.value)
            assert not again.diagnostics


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
        if step[2] is not None:
            key: Any = int(step[2])
            there = isinstance(current, list) and key < len(current)
        else:
            key = step[1] if step[1] is not None else json.loads('"' + step[3].replace("\\'", "'").replace('"', '\\"') + '"')
            there = isinstance(current, dict) and key in current
        if not there:
            return place == len(steps) - 1 and isinstance(current, dict), False
        current = current[key]
    return True, True


def law_paths_resolve(schema: Any, value: Any) -> None:
    """Law 5: a path leads to a place of what came, JSON text on the way decoded, or names the key that is missing."""
    for policy in POLICIES:
        for report in readings(schema, value, policy):
            # Where the fields of a tool's only parameter came without it around them, which is on record, paths are those inside it.
            bound = [found for found in report.diagnostics if found.kind is DiagnosticKind.BOUND and found.path == "$"]
            root = {bound[0].conversion.removeprefix("folded into "): value} if bound else value
            for failure in report.failures:
                parent, there = _resolve(failure.path, root)
                assert there or (parent and failure.reason is FailureReason.MISSING), failure
            for found in report.diagnostics:
                parent, there = _resolve(found.path, root)
                assert there or (parent and found.kind is DiagnosticKind.DEFAULTED), found


def law_advice_is_good(schema: Any, value: Any) -> None:
    """What a failure of the whole value says to send instead is accepted."""
    for policy in POLICIES:
        for failure in coerce_to_schema(schema, value, policy).failures:
            if failure.path == "$" and failure.would_be is not None and failure.suggestion == f"Send {shorten(failure.would_be.after)}":
                assert coerce_to_schema(schema, failure.would_be.after, policy).ok, failure


def law_payload_unchanged(schema: Any, value: Any) -> None:
    """Law 6: what came is left as it was, and so is the schema."""
    before, schema_before = copy.deepcopy(value), copy.deepcopy(schema)
    for policy in POLICIES:
        for _ in readings(schema, value, policy):
            assert same(value, before)
    assert same(schema, schema_before)


LAWS: Final = (
    law_reading_what_was_written,
    law_normal_form,
    law_written_schema_accepts_the_same,
    law_strict_is_the_schema,
    law_lenient_refuses_nothing_strict_accepts,
    law_what_is_made_is_valid,
    law_idempotent,
    law_paths_resolve,
    law_advice_is_good,
    law_payload_unchanged,
)


@PROFILE
@given(sent())
def test_the_laws_hold_for_every_schema(pair: tuple[Any, Any]) -> None:
    """Each law holds for schemas of any keywords and for values of any spelling."""
    for law in LAWS:
        law(*pair)


# -- schemas that hypothesis-jsonschema draws ----------------------------------------------------------------------------------------------

METASCHEMAS: Final = importlib.import_module("jsonschema_specifications").REGISTRY
DRAFTS: Final[dict[str, Any]] = {"draft7": Draft7Validator, "draft2020-12": Draft202012Validator}
UNROLLED: Final = 2
# What names or leads to schemas needs a document that it fits, and `format` is a rule in one draft and a note in the other.
LEFT_OUT: Final = re.compile(r"[$].*|definitions|format|content.*|readOnly|writeOnly")
# Constants that meet: drawn apart, no two keywords ever speak of the same thing.
NARROWED: Final[dict[str, Any]] = {
    "const": {"enum": CONSTANTS},
    "default": {"enum": CONSTANTS},
    "description": {"const": "what it is"},
    "enum": {"type": "array", "items": {"enum": CONSTANTS}, "minItems": 1, "maxItems": 3},
    "examples": {"type": "array", "items": {"enum": CONSTANTS}, "maxItems": 2},
    "multipleOf": {"enum": [1, 2, 0.5]},
    "pattern": {"enum": PATTERNS},
    "title": {"const": "T"},
    **{limit: {"enum": [-1, 0, 1, 2.5, 10]} for limit in ("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum")},
    **{f"{limit}{what}": {"enum": [0, 1, 2, 3]} for limit in ("max", "min") for what in ("Contains", "Items", "Length", "Properties")},
}
NAMES_OF: Final = {"patternProperties": PATTERNS, "dependencies": NAMES, "dependentSchemas": NAMES, "dependentRequired": NAMES}


def metaschema(draft: str, depth: int) -> dict[str, Any]:
    """The metaschema of a draft with the metaschema in it written out, down to a depth: hypothesis-jsonschema follows no recursion."""
    whole = DRAFTS[draft].META_SCHEMA
    # That of 2020-12 is the sum of its vocabularies.
    parts = [METASCHEMAS.resolver(whole["$id"]).lookup(part["$ref"]).contents for part in whole.get("allOf", ())] or [whole]
    inner: Any = metaschema(draft, depth - 1) if depth else {"type": "boolean"}
    found: dict[str, Any] = {}
    for part in parts:
        for keyword, said in part.get("properties", {}).items():
            holds_schemas = bool(_SELF.search(json.dumps(_written_out(said, part, {"$ref": "#"}))))
            if not LEFT_OUT.fullmatch(keyword) and (depth or not holds_schemas):
                found[keyword] = NARROWED.get(keyword) or _narrowed(keyword, _written_out(said, part, inner))
    # A schema of many keywords seldom allows anything.
    return {
        "type": ["object", "boolean"],
        "properties": found,
        "additionalProperties": False,
        "minProperties": min(depth, 2),
        "maxProperties": 4,
    }


_SELF: Final = re.compile(r'"#(?:meta)?"')


def _written_out(said: Any, part: dict[str, Any], inner: Any) -> Any:
    """What a metaschema says of a keyword: references followed, without defaults, which are no rules, and with names that meet."""
    if isinstance(said, list):
        return [_written_out(item, part, inner) for item in said]
    if not isinstance(said, dict):
        return said
    reference = said.get("$ref", said.get("$dynamicRef"))
    if reference in ("#", "#meta"):
        return inner
    if reference is not None:
        _, table, name = reference.split("/")
        return _written_out(part[table][name], part, inner)
    found = {key: _written_out(item, part, inner) for key, item in said.items() if key not in ("default", "$comment")}
    return {**found, "items": {"enum": NAMES}} if found.get("items") == {"type": "string"} else found


def _narrowed(keyword: str, said: dict[str, Any]) -> dict[str, Any]:
    """What is said of a keyword, with few of everything."""
    if said.get("type") == "object":
        return {**said, "propertyNames": {"enum": NAMES_OF.get(keyword, NAMES)}, "maxProperties": 3}
    return {**said, "maxItems": 2} if said.get("type") == "array" else said


class _Steps:
    """Hypothesis's `many` with the method that hypothesis-jsonschema 0.23 calls, which Hypothesis 6.170.10 took away."""

    def __init__(self, data: Any, **limits: Any) -> None:
        self.many = importlib.import_module("hypothesis.internal.conjecture.utils").many(data, **limits)
        self.steps: Iterator[None] | None = None

    def more(self) -> bool:
        """Whether there is to be another item."""
        if self.steps is None:
            self.steps = iter(self.many.__enter__())
        for _ in self.steps:
            return True
        self.many.__exit__(None, None, None)
        return False

    def reject(self) -> None:
        """Take the last item back."""
        self.many.reject()


def _from_schema(patch: pytest.MonkeyPatch) -> Callable[[Any], st.SearchStrategy[Any]]:
    """hypothesis-jsonschema's `from_schema`; the test is skipped where it is absent or can't draw with this release of Hypothesis."""
    pytest.importorskip("hypothesis_jsonschema", reason="hypothesis-jsonschema is not installed: pip install hypothesis-jsonschema")
    inner = importlib.import_module("hypothesis_jsonschema._from_schema")
    if not hasattr(inner.cu.many, "more"):
        patch.setattr(inner, "cu", SimpleNamespace(many=_Steps))
    # It hands out its constant for "nothing fits" and then changes it, so that the same choices lead to other values the next time.
    modules = [importlib.import_module(f"hypothesis_jsonschema.{name}") for name in ("_canonicalise", "_resolve", "_from_schema")]
    for name in ("canonicalish", "merged"):
        own = _with_own_constant(getattr(inner, name), inner.FALSEY)
        for module in modules:
            patch.setattr(module, name, own)
    # It changes the schemas that it reads, too, and makes the strategies of their parts again for each value: it gets copies, each once.
    made: dict[str, st.SearchStrategy[Any]] = {}
    make = vars(inner)["__from_schema"]

    def made_once(schema: Any, **options: Any) -> st.SearchStrategy[Any]:
        key = repr(schema)
        if key not in made:
            if len(made) == 2_000:
                made.clear()
            made[key] = make(copy.deepcopy(schema), **options)
        return made[key]

    patch.setitem(vars(inner), "__from_schema", made_once)
    try:
        _draw_something(inner.from_schema({"type": "object", "required": ["a"]}))
    except Exception as error:  # noqa: BLE001 - it reaches into the inside of Hypothesis, where anything may be gone
        pytest.skip(f"hypothesis-jsonschema can't draw with Hypothesis {hypothesis.__version__}: {type(error).__name__}: {error}")
    return inner.from_schema  # type: ignore[no-any-return]


def _draw_something(values: st.SearchStrategy[Any]) -> None:
    @settings(max_examples=5, database=None, suppress_health_check=list(HealthCheck))
    @given(values)
    def draw(value: Any) -> None:
        assert isinstance(value, dict)

    draw()


def _with_own_constant(function: Callable[[Any], Any], constant: Any) -> Callable[[Any], Any]:
    def called(schema: Any) -> Any:
        found = function(schema)
        return {"not": {}} if found is constant else found

    return called


@pytest.mark.parametrize("draft", DRAFTS)
def test_the_laws_hold_for_schemas_that_hypothesis_jsonschema_draws(draft: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every law holds for schemas drawn from the metaschema of a draft, and for values that hypothesis-jsonschema draws from them."""
    from_schema = _from_schema(monkeypatch)
    schemas = from_schema(metaschema(draft, UNROLLED))
    address = DRAFTS[draft].META_SCHEMA["$schema"]

    @PROFILE
    @given(st.data())
    def hold(data: st.DataObject) -> None:
        schema = data.draw(schemas)
        # A few are no valid schemas: it forgets that names must differ.
        assume(DRAFTS[draft](DRAFTS[draft].META_SCHEMA).is_valid(schema))
        if isinstance(schema, dict):
            schema = {"$schema": address, **schema}
        value = _drawn_value(from_schema(copy.deepcopy(schema)), data)
        for law in LAWS:
            law(schema, value)

    hold()


def _drawn_value(values: st.SearchStrategy[Any], data: st.DataObject) -> Any:
    """A value of a schema, in one of three cases spelled as a model would, or any value where none can be drawn."""
    # What hypothesis-jsonschema ends in where it misreads a schema that hardly a value fits.
    with contextlib.suppress(AssertionError, InvalidArgument, SchemaError):
        if not values.is_empty:
            value = data.draw(values)
            return _mutated(value, data.draw) if data.draw(st.integers(0, 2)) == 0 else value
    return data.draw(JSON)


# -- the functions of the Berkeley Function-Calling Leaderboard ----------------------------------------------------------------------------

CATEGORIES: Final = ("simple_python", "multiple", "parallel", "parallel_multiple")
BFCL: Final = importlib.util.find_spec("bfcl_eval")


def _leaderboard() -> list[dict[str, Any]]:
    """Every schema of its single-turn functions once, written in draft 2020-12."""
    assert BFCL is not None
    folder = Path(next(iter(BFCL.submodule_search_locations or ()))) / "data"
    found: dict[str, dict[str, Any]] = {}
    for category in (*CATEGORIES, *(f"live_{name.removesuffix('_python')}" for name in CATEGORIES)):
        (file,) = folder.glob(f"BFCL_v?_{category}.json")
        for line in file.read_text(encoding="utf-8").splitlines():
            for function in json.loads(line)["function"]:
                text = json.dumps(function["parameters"])
                if text not in found:
                    try:
                        document = read_schema(function["parameters"], dialect="bfcl")
                    except InvalidSchema as error:
                        document = error.document or Document(ObjectType())
                    found[text] = {**DIALECT, **write_schema(document)}
    return list(found.values())


@pytest.mark.skipif(BFCL is None, reason="bfcl-eval is not installed: pip install --no-deps bfcl-eval")
def test_the_laws_hold_for_the_functions_of_the_leaderboard() -> None:
    """Every law holds for the schema of every function, and for values drawn from it."""
    for schema in _leaderboard():
        _hold_for(schema)


def _hold_for(schema: dict[str, Any]) -> None:
    @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    @given(sent_for(schema))
    def hold(value: Any) -> None:
        for law in LAWS:
            law(schema, value)

    hold()
