"""The shape of an answer: what is read, and what is told about everything else."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox.recovery import RecoveryStatus, read_answer
from toolbox.recovery.answers import LONGEST_ANSWER, Misshapen

FIELD = {"field_path": "$.a", "original_value": "x", "expected_type": "an integer", "reason": "no number"}


def answer(**changes: Any) -> str:
    """A whole answer, changed."""
    body: dict[str, Any] = {
        "recovery_status": "SUCCESS",
        "corrected_arguments": {"a": 1},
        "unrecoverable_fields": [],
        "coercion_log": ["a"],
    }
    return json.dumps({key: item for key, item in {**body, **changes}.items() if item is not ...})


READ = [
    answer(),
    f"```json\n{answer()}\n```",
    f"```\n{answer()}\n```",
    f"Here you are: {answer()}. Done.",
    f"<think>hm {{}}</think>\n{answer()}",
    answer()[:-1] + ", }",
    answer().replace('"', "'"),
    json.dumps(answer()),
    "\ufeff" + answer(),
    answer(recovery_status=" success "),
    answer(unrecoverable_fields=...),
    answer(unrecoverable_fields=None),
    answer(coercion_log=...),
    answer(tool="other"),
]


@pytest.mark.parametrize("text", READ, ids=range(len(READ)))
def test_read(text: str) -> None:
    """An answer is found alone, in a fence, in prose, and with mistakes that touch no value."""
    found = read_answer(text)
    assert (found.status, found.corrected_arguments) == (RecoveryStatus.SUCCESS, {"a": 1})
    assert found.unrecoverable_fields == ()


def test_fields_are_read() -> None:
    """The fields that are beyond recovery come with path, value, type and reason."""
    found = read_answer(answer(recovery_status="PARTIAL", unrecoverable_fields=[FIELD, {"field_path": " b ", "reason": 7}]))
    first, second = found.unrecoverable_fields
    assert first.to_dict() == FIELD
    assert (second.field_path, second.original_value, second.reason) == ("b", None, "")
    assert found.coercion_log == ("a",)
    assert read_answer(answer(coercion_log="one text")).coercion_log == ("one text",)


MISSHAPEN = [
    ("", "is empty"),
    (" \n", "is empty"),
    ("No.", "holds no JSON object"),
    ("[]", "holds no JSON object"),
    ("null", "holds no JSON object"),
    ("7", "holds no JSON object"),
    ('"text"', "holds no JSON object"),
    ("{}", "no recovery_status and no corrected_arguments"),
    (answer(recovery_status=...), "no recovery_status:"),
    (answer(corrected_arguments=...), "no corrected_arguments:"),
    (answer(recovery_status="DONE"), 'recovery_status is "DONE"'),
    (answer(recovery_status=1), "recovery_status is 1"),
    (answer(recovery_status=["SUCCESS"]), "recovery_status is"),
    (answer(corrected_arguments=None), "corrected_arguments is null"),
    (answer(corrected_arguments="{}"), "corrected_arguments is text"),
    (answer(corrected_arguments=[1]), "corrected_arguments is an array"),
    (answer(unrecoverable_fields=[FIELD]), 'SUCCESS, and unrecoverable_fields names "$.a"'),
    (answer(recovery_status="PARTIAL"), "PARTIAL, and unrecoverable_fields is empty"),
    (answer(recovery_status="UNRECOVERABLE", corrected_arguments=...), "UNRECOVERABLE, and unrecoverable_fields is empty"),
    (answer(unrecoverable_fields={}), "unrecoverable_fields is an object"),
    (answer(unrecoverable_fields="$.a"), "unrecoverable_fields is text"),
    (answer(recovery_status="PARTIAL", unrecoverable_fields=["$.a"]), "unrecoverable_fields[0] is text"),
    (answer(recovery_status="PARTIAL", unrecoverable_fields=[{}]), "unrecoverable_fields[0] has no field_path"),
    (answer(recovery_status="PARTIAL", unrecoverable_fields=[{"field_path": " "}]), "has no field_path"),
    (answer(recovery_status="PARTIAL", unrecoverable_fields=[FIELD] * 1_001), "more than 1,000 fields"),
    (answer(coercion_log=7), "coercion_log is a number"),
    (answer()[:-3], "was cut off"),
    (answer()[:40], "was cut off"),
    (answer() + answer(corrected_arguments={"a": 2}), "several different objects"),
    ('{"recovery_status": "SUCCESS", "corrected_arguments": {"a": 1, "a": 2}}', "several times, with different values"),
    ("x" * (LONGEST_ANSWER + 1), "more than 131,072 characters"),
    ("[" * 10_000, "the answer"),
    ('{"a":' * 200 + "1" + "}" * 200, "nested too deeply"),
]


@pytest.mark.parametrize(("text", "words"), MISSHAPEN, ids=[words for _, words in MISSHAPEN])
def test_misshapen(text: str, words: str) -> None:
    """Each wrong shape has an error of its own, which says what to send, is short, and repeats no more than a path."""
    with pytest.raises(Misshapen) as caught:
        read_answer(text)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300


KEYS = ["recovery_status", "corrected_arguments", "unrecoverable_fields", "coercion_log", "field_path", "x"]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4), max_leaves=8
)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60) | JSON.map(json.dumps) | JSON.map(json.dumps).map(lambda text: text[: len(text) // 2]))
def test_law_an_answer_is_read_or_misshapen(text: str) -> None:
    """Any text at all is an answer of the right shape, or misshapen; nothing else is ever raised."""
    with contextlib.suppress(Misshapen):
        found = read_answer(text)
        assert (found.status is RecoveryStatus.SUCCESS) == (not found.unrecoverable_fields)
