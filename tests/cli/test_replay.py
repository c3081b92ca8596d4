"""``replay``: recorded calls through the pipeline, and the tables about them."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from toolbox import Diagnostic, DiagnosticKind, Risk
from toolbox.cli import main
from toolbox.cli.replaying import Tally

FLIGHT = {"origin": "ZRH", "destination": "LIS", "passengers": 2}


def _openai(*calls: tuple[str, Any]) -> dict[str, Any]:
    listed = [
        {"id": f"c{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def _anthropic(*calls: tuple[str, Any]) -> dict[str, Any]:
    listed = [{"type": "tool_use", "id": f"t{index}", "name": name, "input": given} for index, (name, given) in enumerate(calls)]
    return {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, *listed]}


RECORDING: list[Any] = [
    {"name": "search_flights", "arguments": FLIGHT},
    {"name": "search_flights", "arguments": {**FLIGHT, "passengers": "2", "cabin": "Business class"}},
    {"name": "searchFlights", "arguments": json.dumps({**FLIGHT, "passengers": "two"})},
    "",
    _openai(("pay", '{"amount": "12.50", "card": "HIDDEN"}'), ("refund", "{}")),
    _anthropic(("search_flights", {**FLIGHT, "nonstop": "yes"})),
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": "Hi, how are you?"},
    {"raw": '<tool_call>\n{"name": "shout", "arguments": {"text": "hi"}}\n</tool_call>'},
    {"raw": '<tool_call>\n{"name": "shout", "arguments": {"text": "hi the'},
    {"name": "pay", "arguments": {"amount": 3, "note": "HIDDEN"}},
]
BAD = [b"{not json", b'{"a": 1}', b"42", b"\xff\xfe"]


@pytest.fixture
def recording(folder: Path) -> Path:
    """A recording with lines of every kind."""
    lines = [(json.dumps(item) if item else "").encode() for item in RECORDING]
    path = folder / "calls.jsonl"
    path.write_bytes(b"\n".join(lines + BAD) + b"\n")
    return path


GOLDEN = """\
9 calls in 14 lines, 2 without a call, 4 could not be read (policy lenient)

tool             calls  as they are  mended  refused  refused %
search_flights       4            1       2        1       25.0
pay                  2            1       0        1       50.0
shout                1            0       1        0        0.0
(no such tool)       1            0       0        1      100.0
(no tool named)      1            0       0        1      100.0
all                  9            2       3        4       44.4

Changes in the calls that passed
kind       conversion      risk     count  first seen
coerced    str->bool       warning      1  line 6: search_flights $.nonstop
matched    prefix          warning      1  line 2: search_flights $.cabin
coerced    str->int        info         1  line 2: search_flights $.passengers
extracted  tool-call tags  info         1  line 9: shout
defaulted                  info         8  line 1: search_flights $.nonstop

Reasons of the refusals
reason        calls  first seen
invalid           1  line 3: search_flights $.passengers
unknown tool      1  line 5: refund
truncated         1  line 10: (no tool named)
missing           1  line 11: pay $.card

Lines that could not be read
line  problem
  12  not JSON
  13  neither a call nor a message with calls
  14  neither an object nor text
  15  not UTF-8 text: byte 0
"""


def test_golden(run: Run, recording: Path) -> None:
    """The whole report of a recording, as it is piped: no progress bar, no escape, every bad line with its number."""
    ran = run("replay", "calls.jsonl", "--tools", "tools")
    assert (ran.code, ran.out, ran.err) == (0, GOLDEN, "")


def test_compressed_and_piped(run: Run, recording: Path, folder: Path) -> None:
    """A compressed file, standard input, and compressed standard input are read like the file itself."""
    packed = gzip.compress(recording.read_bytes())
    (folder / "calls.jsonl.gz").write_bytes(packed)
    plain = run("replay", "calls.jsonl", "--tools", "tools").out
    assert run("replay", "calls.jsonl.gz", "--tools", "tools").out == plain
    assert run("replay", "-", "--tools", "tools", stdin=recording.read_bytes()).out == plain
    assert run("replay", "-", "--tools", "tools", stdin=packed).out == plain


def test_json(run: Run, recording: Path) -> None:
    """As JSON the report has the same numbers under stable names."""
    said = json.loads(run("replay", "calls.jsonl", "--tools", "tools", "--json").out)
    assert [said[key] for key in ("lines", "calls", "as_is", "mended", "refused", "without_call")] == [14, 9, 2, 3, 4, 2]
    assert said["unreadable"]["count"] == 4
    assert said["unreadable"]["first"][0] == {"line": 12, "problem": "not JSON"}
    assert said["tools"][0] == {"tool": "search_flights", "calls": 4, "as_is": 1, "mended": 2, "refused": 1}
    assert {"kind": "coerced", "conversion": "str->int", "risk": "info", "count": 1} | {
        "example": {"line": 2, "tool": "search_flights", "path": "$.passengers"}
    } in said["changes"]
    assert said["refusals"][0] == {
        "reason": "invalid",
        "count": 1,
        "example": {"line": 3, "tool": "search_flights", "path": "$.passengers"},
    }


def test_nothing_is_run(run: Run, folder: Path) -> None:
    """Replaying calls no tool."""
    (folder / "calls.jsonl").write_text('{"name": "leave", "arguments": {}}\n{"name": "search_flights", "arguments": {"origin": "a"}}\n')
    ran = run("replay", "calls.jsonl", "--tools", "tools")
    assert ran.code == 0
    assert "searching" not in ran.all


# A line, then: calls as they are, mended, refused; lines without a call, lines that cannot be read.
LINES: list[tuple[Any, tuple[int, int, int, int, int]]] = [
    ({"name": "halve", "arguments": {"number": 2}}, (1, 0, 0, 0, 0)),
    ({"name": "halve", "arguments": '{"number": 2}'}, (1, 0, 0, 0, 0)),
    ({"name": "halve", "arguments": {"number": "2"}}, (0, 1, 0, 0, 0)),
    ({"name": "Halve", "arguments": {"number": 2}}, (0, 1, 0, 0, 0)),
    ({"name": "functions.halve", "input": {"number": 2}}, (0, 1, 0, 0, 0)),
    ({"name": "leave", "arguments": None}, (1, 0, 0, 0, 0)),
    ({"name": "nope", "arguments": {}}, (0, 0, 1, 0, 0)),
    ({"name": "halve", "parameters": {"number": 2}}, (1, 0, 0, 0, 0)),
    (_openai(("halve", '{"number": 2}'), ("halve", '{"number": "3"}'), ("nope", "")), (1, 1, 1, 0, 0)),
    (_openai(), (0, 0, 0, 1, 0)),
    ({"choices": [{"index": 0, "message": _openai(("halve", '{"number": 2}'))}]}, (1, 0, 0, 0, 0)),
    ({"role": "assistant", "function_call": {"name": "halve", "arguments": '{"number": 2}'}}, (1, 0, 0, 0, 0)),
    ({"messages": [{"role": "user", "content": "halve 2"}, _openai(("halve", '{"number": 2}'))]}, (1, 0, 0, 0, 0)),
    (
        {"output": [{"type": "reasoning"}, {"type": "function_call", "call_id": "c", "name": "halve", "arguments": '{"number": 2}'}]},
        (1, 0, 0, 0, 0),
    ),
    (_anthropic(("halve", {"number": 2}), ("nope", {})), (1, 0, 1, 0, 0)),
    ({"role": "assistant", "content": [{"type": "text", "text": "Nothing to do."}]}, (0, 0, 0, 1, 0)),
    (
        {"role": "assistant", "content": [{"type": "text", "text": "```json\n" + '{"name": "halve", "arguments": {"number": 2}}\n```'}]},
        (0, 1, 0, 0, 0),
    ),
    ({"role": "assistant", "content": '<tool_call>{"name": "halve", "arguments": {"number": 2}}</tool_call>'}, (0, 1, 0, 0, 0)),
    ({"role": "tool", "tool_call_id": "c", "content": '{"name": "halve", "arguments": {}}'}, (0, 0, 0, 1, 0)),
    ({"role": "assistant", "content": None}, (0, 0, 0, 1, 0)),
    (
        {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "halve", "args": {"number": 2}}}]}}]},
        (1, 0, 0, 0, 0),
    ),
    ({"functionCall": {"name": "leave"}}, (1, 0, 0, 0, 0)),
    (
        {
            "output": {
                "message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "u", "name": "halve", "input": {"number": 2}}}]}
            }
        },
        (1, 0, 0, 0, 0),
    ),
    ([{"name": "halve", "arguments": {"number": 2}}, {"name": "halve", "arguments": {"number": 4}}], (2, 0, 0, 0, 0)),
    ([], (0, 0, 0, 1, 0)),
    (["halve(number=2)"], (0, 1, 0, 0, 0)),
    ({"raw": "halve(number=2)"}, (0, 1, 0, 0, 0)),
    ({"raw": "I will not."}, (0, 0, 0, 1, 0)),
    ({"raw": _openai(("halve", '{"number": 2}'))}, (1, 0, 0, 0, 0)),
    ("[halve(number=2)]", (0, 1, 0, 0, 0)),
    ("just text", (0, 0, 0, 1, 0)),
    ({"a": 1}, (0, 0, 0, 0, 1)),
    (17, (0, 0, 0, 0, 1)),
    (None, (0, 0, 0, 0, 1)),
    ([1, 2], (0, 0, 0, 0, 1)),
    ([{"a": 1}], (0, 0, 0, 0, 1)),
    (json.loads('{"message": ' * 12 + "{}" + "}" * 12), (0, 0, 0, 0, 1)),
    ({"raw": ["I will not."]}, (0, 0, 0, 1, 0)),
    ({"raw": [{"a": 1}]}, (0, 0, 0, 1, 0)),
    (json.loads('{"raw": ' * 12 + "1" + "}" * 12), (0, 0, 0, 1, 0)),
    ({"name": "halve", "arguments": "no arguments at all"}, (0, 0, 1, 0, 0)),
    ({"tool_calls": [3]}, (0, 0, 0, 0, 1)),
]


@pytest.mark.parametrize(("line", "counts"), LINES, ids=range(len(LINES)))
def test_lines(run: Run, folder: Path, line: Any, counts: tuple[int, ...]) -> None:
    """Every form in which calls are recorded is read, and what is none is counted as such."""
    (folder / "calls.jsonl").write_text(json.dumps(line) + "\n")
    said = json.loads(run("replay", "calls.jsonl", "--tools", "tools", "--json").out)
    assert (said["as_is"], said["mended"], said["refused"], said["without_call"], said["unreadable"]["count"]) == counts


def test_raw_lines(run: Run) -> None:
    """With --raw each line is a model's text and no JSON."""
    said = json.loads(
        run(
            "replay",
            "-",
            "--raw",
            "--tools",
            "tools",
            "--json",
            stdin='halve(number=2)\nNo.\n{"name": "halve", "arguments": {"number": 2}}\n',
        ).out
    )
    assert (said["calls"], said["mended"], said["as_is"], said["without_call"]) == (2, 1, 1, 1)


def test_numbers_keep_their_digits(run: Run, folder: Path) -> None:
    """A number of a recording reaches the tool's type with every digit, so what passes here passes there."""
    (folder / "exact.py").write_text(
        "from decimal import Decimal\nfrom toolbox import Registry\nregistry = Registry()\n"
        "def digits(value):\n    assert str(value) == '0.12345678901234567890', value\n    return value\n"
        "class Exact(Decimal): pass\n"
        "registry.register_converter(Exact, Decimal, digits)\n"
        "@registry.tool\ndef f(x: Exact) -> None: ...\n"
    )
    ran = run("replay", "-", "--tools", "exact", "--fail-over", "0", stdin='{"name": "f", "arguments": {"x": 0.12345678901234567890}}')
    assert ran.code == 0, ran.all


def test_a_key_given_twice_is_seen(run: Run) -> None:
    """A key that a recorded call gives twice is on record: mended where both agree, refused where they differ."""
    lines = '{"name": "halve", "arguments": {"number": 2, "number": 2}}\n{"name": "halve", "arguments": {"number": 2, "number": 4}}\n'
    said = json.loads(run("replay", "-", "--tools", "tools", "--json", stdin=lines).out)
    assert (said["mended"], said["refused"], said["refusals"][0]["reason"]) == (1, 1, "duplicate_key")


LIMITS = [
    (["--fail-over", "50"], 0),
    (["--fail-over", "49.9"], 1),
    (["--fail-over", "100"], 0),
    (["--fail-over", "0"], 1),
    ([], 0),
    (["--fail-over", "101"], 2),
    (["--fail-over=-1"], 2),
    (["--fail-over", "nan"], 2),
    (["--fail-over", "some"], 2),
]


@pytest.mark.parametrize(("options", "code"), LIMITS)
def test_fail_over(run: Run, options: list[str], code: int) -> None:
    """More refusals than --fail-over allows end with 1; without it refusals are no failure; what is no share ends with 2."""
    lines = '{"name": "halve", "arguments": {"number": 2}}\n{"name": "halve", "arguments": {"number": "x"}}\n'
    ran = run("replay", "-", "--tools", "tools", *options, stdin=lines)
    assert ran.code == code
    assert (ran.err == "") is (code == 0)


EMPTY = [
    ("", [], 0),
    ("", ["--fail-over", "100"], 1),
    ("not json\n", [], 1),
    ('"no call here"\n', [], 0),
    ('"no call here"\n', ["--fail-over", "5"], 1),
]


@pytest.mark.parametrize(("lines", "options", "code"), EMPTY)
def test_no_call_proves_nothing(run: Run, lines: str, options: list[str], code: int) -> None:
    """A recording without a call is no success where one was to be measured, or where nothing could be read."""
    assert run("replay", "-", "--tools", "tools", *options, stdin=lines).code == code


def test_bad_lines_count_for_fail_over(run: Run) -> None:
    """A line that cannot be read may have held a call, so it counts as a refused one."""
    ran = run("replay", "-", "--tools", "tools", "--fail-over", "10", stdin='{"name": "leave", "arguments": {}}\n{"name"\n')
    assert ran.code == 1
    assert ran.err == "toolbox: 50.00 % were refused or could not be read, more than 10 %\n"


def test_many_bad_lines_are_counted(run: Run) -> None:
    """The first bad lines are named, the others counted."""
    ran = run("replay", "-", "--tools", "tools", stdin="{\n" * 50)
    assert "50 could not be read" in ran.out
    assert ran.out.endswith("and 30 more\n")


def test_a_line_that_is_too_long_is_skipped(run: Run) -> None:
    """A line beyond every measure is counted as bad and not held; the next one is read."""
    lines = b'"' + b"x" * 17_000_000 + b'"\n' + b'{"name": "leave", "arguments": {}}\n'
    ran = run("replay", "-", "--tools", "tools", stdin=lines)
    assert "1  longer than 16 MiB" in ran.out
    assert "1 calls in 2 lines" in ran.out


@pytest.mark.parametrize("cut", [True, False])
def test_a_damaged_file_shows_what_was_read(run: Run, folder: Path, cut: bool) -> None:
    """A compressed file that ends early or is damaged shows what was read before, says so, and ends with 1."""
    packed = bytearray(gzip.compress(b'{"name": "leave", "arguments": {}}\n' * 3, compresslevel=0))
    if cut:
        del packed[-12:]
    else:
        packed[-6] ^= 0xFF
    (folder / "calls.gz").write_bytes(packed)
    ran = run("replay", "calls.gz", "--tools", "tools")
    assert ran.code == 1
    assert ran.err.startswith("toolbox: the input is damaged after line ")


@pytest.mark.parametrize("place", ["nowhere.jsonl", "."])
def test_a_file_that_cannot_be_opened(run: Run, place: str) -> None:
    """A file that is not there, or is none, is a usage error."""
    ran = run("replay", place, "--tools", "tools")
    assert (ran.code, ran.out) == (2, "")
    assert f"{place} cannot be read" in ran.err


def test_secrets_are_not_shown(run: Run, recording: Path) -> None:
    """No argument of any call is shown, secret or not: only paths."""
    assert "HIDDEN" not in run("replay", "calls.jsonl", "--tools", "tools").all
    assert "HIDDEN" not in run("replay", "calls.jsonl", "--tools", "tools", "--json").all


def test_hostile_names_are_only_text(run: Run) -> None:
    """Names of tools and keys that a model made up bring no control character and no markup to the terminal."""
    lines = [{"name": "\x1b[31m", "arguments": {}}, {"name": "halve", "arguments": {"number": 2, "[red]\x1b]0;t\x07": 1}}]
    ran = run("replay", "-", "--tools", "tools", stdin="\n".join(map(json.dumps, lines)))
    assert ran.code == 0
    assert all(character.isprintable() or character == "\n" for character in ran.all)


def test_a_default_that_breaks_stops_nothing(run: Run, folder: Path) -> None:
    """A call in which a default of the tool's own raises is counted as refused, and the rest is read."""
    (folder / "broken.py").write_text(
        "import dataclasses\nfrom toolbox import Registry\nregistry = Registry()\n"
        "def number(): raise KeyError('none')\n"
        "@dataclasses.dataclass\nclass Order:\n    number: int = dataclasses.field(default_factory=number)\n"
        "@registry.tool\ndef f(x: Order) -> None: ...\n"
    )
    said = json.loads(run("replay", "-", "--tools", "broken", "--json", stdin='{"name": "f", "arguments": {"x": {}}}\n' * 2).out)
    assert said["refusals"] == [{"reason": "rejected", "count": 2, "example": {"line": 1, "tool": "f", "path": "$.x.number"}}]


def test_the_tally_stays_small() -> None:
    """What is kept does not grow with the recording, whatever the recording holds."""
    tally = Tally()
    for number in range(5_000):
        change = Diagnostic("$", DiagnosticKind.UNWRAPPED, Risk.WARNING, 1, 2, f"layer {number}")
        tally.add_passed(number, "f", [change])
        tally.add_bad(number, "not JSON")
    assert len(tally.changes) <= 510
    assert sum(item.count for item in tally.changes.values()) == 5_000
    assert (tally.bad, len(tally.bad_lines)) == (5_000, 20)


def test_standard_input_without_bytes(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard input may be a stream of text, as where another program runs the command in its own process."""
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"name": "leave", "arguments": {}}'))
    assert main(["replay", "-", "--tools", "tools"]) == 0
    assert "1 calls in 1 lines" in capsys.readouterr().out
