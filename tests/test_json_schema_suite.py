"""The official JSON Schema test suite through `coerce_to_schema` under STRICT: accepted exactly where the suite says valid."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolbox import STRICT, ToolboxError, coerce_to_schema

VARIABLE = "TOOLBOX_JSON_SCHEMA_SUITE"
SUITE = Path(os.environ.get(VARIABLE, ""))
# Schemas with a $dynamicRef whose target depends on the instance cannot be said here, and are refused when they are read.
WANTED = {"draft2020-12": 1_299, "draft7": 927}
REMOTES = "http://localhost:1234/"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"

pytestmark = pytest.mark.skipif(
    not os.environ.get(VARIABLE) or not SUITE.is_dir(), reason=f"{VARIABLE} does not name the folder of the JSON Schema test suite"
)


def _resources(draft: str) -> dict[str, Any]:
    found = {}
    for file in (SUITE / "remotes").rglob("*.json"):
        name = file.relative_to(SUITE / "remotes").as_posix()
        if not name.startswith("draft") or name.startswith(f"{draft}/"):
            found[REMOTES + name] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _cases(draft: str) -> Iterator[tuple[str, Any, Any, bool]]:
    for file in sorted((SUITE / draft).glob("*.json")):
        for case in json.loads(file.read_text(encoding="utf-8")):
            schema = case["schema"]
            if draft == "draft7" and isinstance(schema, dict):
                schema = {"$schema": DRAFT_7, **schema}
            for test in case["tests"]:
                yield f"{file.name}: {case['description']}: {test['description']}", schema, test["data"], test["valid"]


def _verdicts(draft: str) -> tuple[int, list[str]]:
    """How many tests came out as the suite says, and which came out otherwise without the schema being refused."""
    resources = _resources(draft)
    right = 0
    wrong = []
    for name, schema, value, valid in _cases(draft):
        try:
            accepted = coerce_to_schema(schema, value, STRICT, resources=resources).ok
        except ToolboxError:
            continue
        if accepted == valid:
            right += 1
        else:
            wrong.append(name)
    return right, wrong


@pytest.mark.parametrize("draft", WANTED)
def test_strict_accepts_what_the_suite_says(draft: str) -> None:
    """Under STRICT the verdicts are the suite's; what cannot be said is refused when it is read."""
    right, wrong = _verdicts(draft)
    assert not wrong
    assert right >= WANTED[draft]


@pytest.mark.parametrize("draft", WANTED)
def test_nothing_is_waved_through_without_the_validator(draft: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, a schema that needs a real validator is refused, and every other verdict is right."""
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    right, wrong = _verdicts(draft)
    assert not wrong
    assert right > 0
