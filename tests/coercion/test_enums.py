"""`coerce_enums`: every choice of a payload is matched, at any depth, and nothing else is touched."""

import copy
from typing import Any

import pytest

from toolbox import ABSORBING, LENIENT, STRICT, DiagnosticKind, Policy, coerce_enums

ORDER: dict[str, Any] = {"enum": ["asc", "desc"]}


def _of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _kind(name: str, choices: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": {"kind": {"const": name}, "x": {"enum": choices}}, "required": ["kind"]}


KINDS = {"anyOf": [_kind("a", ["asc", "desc"]), _kind("b", ["up", "down"])]}
TREE = {
    "$ref": "#/$defs/T",
    "$defs": {"T": _of(x=ORDER, below={"type": "array", "items": {"$ref": "#/$defs/T"}})},
}

MATCHED: list[tuple[str, dict[str, Any], Any, Any, list[str]]] = [
    ("flat", _of(x=ORDER), {"x": "ASCENDING", "y": "ASC"}, {"x": "asc", "y": "ASC"}, ["$.x"]),
    ("exact", _of(x=ORDER), {"x": "asc"}, {"x": "asc"}, []),
    ("typed", _of(x={"type": "string", **ORDER}), {"x": "sort desc"}, {"x": "desc"}, ["$.x"]),
    ("one choice", _of(x={"const": "asc"}), {"x": "Asc"}, {"x": "asc"}, ["$.x"]),
    ("numbers", _of(x={"enum": [1, 2]}), {"x": "2"}, {"x": 2}, ["$.x"]),
    ("kept apart", _of(x={"enum": [1, True, "1"]}), {"x": True}, {"x": True}, []),
    ("list", _of(x={"type": "array", "items": ORDER}), {"x": ["ASC", "desc"]}, {"x": ["asc", "desc"]}, ["$.x[0]"]),
    ("objects in a list", _of(x={"type": "array", "items": _of(y=ORDER)}), {"x": [{"y": "DESC"}]}, {"x": [{"y": "desc"}]}, ["$.x[0].y"]),
    (
        "by position",
        _of(x={"type": "array", "prefixItems": [ORDER, {"type": "integer"}], "items": ORDER}),
        {"x": ["ASC", "5", "DESC"]},
        {"x": ["asc", "5", "desc"]},
        ["$.x[0]", "$.x[2]"],
    ),
    ("fewer than described", _of(x={"type": "array", "prefixItems": [ORDER, ORDER]}), {"x": ["ASC"]}, {"x": ["asc"]}, ["$.x[0]"]),
    ("any key", {"type": "object", "additionalProperties": ORDER}, {"k": "Asc"}, {"k": "asc"}, ["$.k"]),
    ("reference", {**_of(x={"$ref": "#/$defs/O"}), "$defs": {"O": ORDER}}, {"x": "ASC"}, {"x": "asc"}, ["$.x"]),
    ("recursive", TREE, {"x": "ASC", "below": [{"x": "DESC"}]}, {"x": "asc", "below": [{"x": "desc"}]}, ["$.x", "$.below[0].x"]),
    ("nullable", _of(x={"anyOf": [ORDER, {"type": "null"}]}), {"x": "ASC"}, {"x": "asc"}, ["$.x"]),
    ("null", _of(x={"anyOf": [ORDER, {"type": "null"}]}), {"x": None}, {"x": None}, []),
    ("nullable in one", _of(x={"type": ["string", "null"], "enum": ["asc", "desc", None]}), {"x": "ASC"}, {"x": "asc"}, ["$.x"]),
    ("null in one", _of(x={"type": ["string", "null"], "enum": ["asc", "desc", None]}), {"x": None}, {"x": None}, []),
    ("two enums", _of(x={"anyOf": [{"enum": ["a", "b"]}, {"enum": ["c", "d"]}]}), {"x": "C"}, {"x": "c"}, ["$.x"]),
    ("or a number, a choice", _of(x={"oneOf": [ORDER, {"type": "integer"}]}), {"x": "ASC"}, {"x": "asc"}, ["$.x"]),
    ("or a number, a number", _of(x={"oneOf": [ORDER, {"type": "integer"}]}), {"x": 5}, {"x": 5}, []),
    ("or yes or no", _of(x={"anyOf": [ORDER, {"type": "boolean"}]}), {"x": True}, {"x": True}, []),
    ("or a list", _of(x={"anyOf": [ORDER, {"type": "array", "items": ORDER}]}), {"x": ["ASC"]}, {"x": ["asc"]}, ["$.x[0]"]),
    ("or an object", _of(x={"anyOf": [ORDER, _of(y=ORDER)]}), {"x": {"y": "ASC"}}, {"x": {"y": "asc"}}, ["$.x.y"]),
    ("open", _of(x={"anyOf": [ORDER, {"type": "string"}]}), {"x": "ASC"}, {"x": "asc"}, ["$.x"]),
    ("no choice in it", _of(x={"anyOf": [{"type": "integer"}, {"type": "string"}]}), {"x": "5"}, {"x": "5"}, []),
    ("kind a", _of(x=KINDS), {"x": {"kind": "a", "x": "ASC"}}, {"x": {"kind": "a", "x": "asc"}}, ["$.x.x"]),
    ("kind b", _of(x=KINDS), {"x": {"kind": "b", "x": "UP"}}, {"x": {"kind": "b", "x": "up"}}, ["$.x.x"]),
    ("no such kind", _of(x=KINDS), {"x": {"kind": "c", "x": "UP"}}, {"x": {"kind": "c", "x": "UP"}}, []),
    ("no kind", _of(x=KINDS), {"x": {"x": "UP"}}, {"x": {"x": "UP"}}, []),
    ("with a rule", {**_of(x=ORDER), "if": {"required": ["x"]}, "then": {"required": ["y"]}}, {"x": "ASC"}, {"x": "asc"}, ["$.x"]),
    ("other types", _of(x={"type": "integer"}, y={"type": "boolean"}), {"x": "5", "y": "yes"}, {"x": "5", "y": "yes"}, []),
    ("not described", {}, {"x": "ASC", "y": [1]}, {"x": "ASC", "y": [1]}, []),
    ("another shape", _of(x={"type": "array", "items": ORDER}, y=_of(z=ORDER)), {"x": "ASC", "y": "ASC"}, {"x": "ASC", "y": "ASC"}, []),
]


@pytest.mark.parametrize(("schema", "args", "expected", "paths"), [case[1:] for case in MATCHED], ids=[case[0] for case in MATCHED])
def test_choices_are_matched(schema: dict[str, Any], args: dict[str, Any], expected: Any, paths: list[str]) -> None:
    """Each is changed with its path on record, the rest is as it came, and so is the payload."""
    before = copy.deepcopy(args)
    report = coerce_enums(args, schema)
    assert report.normalized_args == expected
    assert [type(item) for item in report.normalized_args.values()] == [type(item) for item in expected.values()]
    assert [item.path for item in report.diagnostics] == paths
    assert report.ok
    assert args == before
    again = coerce_enums(report.normalized_args, schema)
    assert (again.normalized_args, again.diagnostics) == (expected, [])


FAILED: list[tuple[dict[str, Any], Any, list[str]]] = [
    (_of(x=ORDER), {"x": "rising"}, ["$.x"]),
    (_of(x=ORDER), {"x": None}, ["$.x"]),
    (_of(x=ORDER), {"x": {"a": 1}}, ["$.x"]),
    (_of(x={"enum": ["center", "central"]}), {"x": "cen"}, ["$.x"]),
    (_of(x={"enum": ["high", "low"]}), {"x": "not high"}, ["$.x"]),
    (_of(x={"anyOf": [{"enum": ["a", "b"]}, {"enum": ["c", "d"]}]}), {"x": "e"}, ["$.x"]),
    (_of(x={"anyOf": [ORDER, {"type": "null"}]}), {"x": 5}, ["$.x"]),
    (_of(x={"type": "array", "items": ORDER}), {"x": ["ASC", "rising", "falling"]}, ["$.x[1]", "$.x[2]"]),
    (TREE, {"x": "up", "below": [{"x": "down", "below": [{"x": "left"}]}]}, ["$.x", "$.below[0].x", "$.below[0].below[0].x"]),
]


@pytest.mark.parametrize(("schema", "args", "paths"), FAILED)
def test_what_matches_no_choice(schema: dict[str, Any], args: dict[str, Any], paths: list[str]) -> None:
    """It stays as it came, and every failure is named."""
    report = coerce_enums(args, schema)
    assert sorted(report.failed_fields) == sorted(paths)
    assert not report.ok
    first = args.get("x")
    assert report.normalized_args["x"] == first or isinstance(first, list)


@pytest.mark.parametrize(
    ("policy", "value", "ok"),
    [(LENIENT, "sort asc", True), (ABSORBING, "ASC", True), (ABSORBING, "sort asc", False), (STRICT, "asc", True), (STRICT, "ASC", False)],
)
def test_the_policy_says_how_far(policy: Policy, value: str, ok: bool) -> None:
    """The matching goes as far as the policy allows."""
    report = coerce_enums({"x": value}, _of(x=ORDER), policy)
    assert (report.ok, report.normalized_args["x"]) == (ok, "asc" if ok else value)


def test_the_kinds_of_changes() -> None:
    """A match is on record as one, and an unknown value of an open enum as well."""
    schema = _of(x=ORDER, y={"anyOf": [ORDER, {"type": "string"}]})
    report = coerce_enums({"x": "ASC", "y": "rising"}, schema)
    assert [item.kind for item in report.diagnostics] == [DiagnosticKind.MATCHED, DiagnosticKind.UNKNOWN_CHOICE]
