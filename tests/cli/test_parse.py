"""``parse``: the calls in a model's raw output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def _tagged(name: str, **arguments: object) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def test_calls_and_how_they_were_found(run: Run, folder: Path) -> None:
    """Each call stands with its arguments and with what was done to find it."""
    (folder / "out.txt").write_text(f"{_tagged('halve', number=2)}\n{_tagged('shout', text='hi')}\n")
    ran = run("parse", "out.txt", "--tools", "tools")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        '1. halve\n   arguments: {"number": 2}\n   [info] $: extracted (tool-call tags)\n'
        '2. shout\n   arguments: {"text": "hi"}\n   [info] $: extracted (tool-call tags)\n'
    )


def test_json(run: Run) -> None:
    """As JSON each call has its name, whether there is such a tool, its id, its arguments and how it was found."""
    message = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "halve", "arguments": '{"number": 2}'}}]}
    said = json.loads(run("parse", "-", "--tools", "tools", "--json", stdin=json.dumps(message)).out)
    assert said == {"calls": [{"tool": "halve", "known": True, "call_id": "c1", "arguments": {"number": 2}, "found": []}], "error": None}


def test_a_message_of_a_provider(run: Run) -> None:
    """A provider's message as JSON is read too."""
    message = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "halve", "input": {"number": 2}}]}
    ran = run("parse", "-", "--tools", "tools", stdin=json.dumps(message))
    assert (ran.code, ran.out) == (0, '1. halve  (id t1)\n   arguments: {"number": 2}\n   found as it should be\n')


ENDS = [
    ("I will not call anything.", 1, "no call was found"),
    ("", 1, "no call was found"),
    ("17", 1, "no call was found"),
    ('{"weather": "fine"}', 1, "no call was found"),
    ('{"weather": ', 1, "no call was found"),
    ('<tool_call>\n{"name": "shout", "arguments": {"text": "cut o', 1, "refused as truncated"),
]


@pytest.mark.parametrize(("text", "code", "said"), ENDS)
def test_no_call(run: Run, text: str, code: int, said: str) -> None:
    """Where there is no usable call, one line says so."""
    ran = run("parse", "-", "--tools", "tools", stdin=text)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_a_broken_call_as_json(run: Run) -> None:
    """As JSON a broken call is an error with its stable reason."""
    ran = run("parse", "-", "--tools", "tools", "--json", stdin=ENDS[-1][0])
    assert json.loads(ran.out)["error"]["reason"] == "truncated"
    assert ran.code == 1


SECRETS = [
    _tagged("pay", amount=5, card="HIDDEN"),
    _tagged("pay", amount=5, Card="HIDDEN"),
    "pay(5, 'HIDDEN')",
    "pay(amount=5, card='HIDDEN')",
    json.dumps({"tool_calls": [{"function": {"name": "pay", "arguments": '{"amount": 5, "card": "HIDDEN'}}]}),
    json.dumps({"tool_calls": [{"function": {"name": "pay", "arguments": "HIDDEN"}}]}),
    json.dumps({"tool_calls": [{"function": {"name": "payment", "arguments": '{"card": "HIDDEN"}'}}]}),
    '<tool_call>{"name": "pay", "arguments": {"amount": 5, "card": "HIDDEN", "card": "HIDDEN"}}</tool_call>',
]


@pytest.mark.parametrize("text", SECRETS)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_secrets_are_masked(run: Run, text: str, options: list[str]) -> None:
    """The value of a secret parameter is shown nowhere; of a tool that is not there, nobody knows which values are."""
    ran = run("parse", "-", "--tools", "tools", *options, stdin=text)
    assert ran.code == 0
    assert "HIDDEN" not in ran.all


def test_an_unknown_tool_is_said(run: Run) -> None:
    """A call of a tool that is not there is shown as what it is."""
    text = json.dumps({"tool_calls": [{"function": {"name": "shuot", "arguments": "{}"}}]})
    ran = run("parse", "-", "--tools", "tools", stdin=text)
    assert 'there is no tool named "shuot"; did you mean "shout"?' in ran.out


def test_hostile_text_is_only_text(run: Run) -> None:
    """No control character and no markup of the output reaches the terminal."""
    ran = run("parse", "-", "--tools", "tools", stdin=_tagged("shout", text="\x1b[31m[bold]x[/bold]\u202e"))
    assert "[bold]x[/bold]" in ran.out
    assert all(character.isprintable() or character == "\n" for character in ran.all)


@pytest.mark.parametrize(("content", "said"), [(b"\xff\xff", "is not UTF-8 text: byte 0"), (b"\x1f\x8b\x08broken", "cannot be read")])
def test_what_cannot_be_read(run: Run, folder: Path, content: bytes, said: str) -> None:
    """A file that is no text is a usage error."""
    (folder / "out.bin").write_bytes(content)
    ran = run("parse", "out.bin", "--tools", "tools")
    assert ran.code == 2
    assert said in ran.err
