"""``call`` and ``check``: one call, its table of changes, its exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run

MESSY = '{"origin": "ZRH", "destination": "LIS", "passengers": "2", "nonstop": "true", "cabin": "Business class", "_trace_id": "t"}'

MENDED_OUT = """\
{
  "origin": "ZRH",
  "destination": "LIS",
  "passengers": 2,
  "nonstop": true,
  "cabin": "business",
  "max_price": null
}
"""
MENDED_ERR = """\
search_flights would be called: 4 changes, worst risk warning, 1 default (policy lenient)

path          came              made of it  change             risk
$.passengers  "2"               2           coerced str->int   info
$.nonstop     "true"            true        coerced str->bool  info
$.cabin       "Business class"  "business"  matched prefix     warning
$.max_price   -                 null        defaulted          info
$._trace_id   "t"               -           dropped            warning
"""
REFUSED_ERR = """\
search_flights would be refused: 2 failures (policy lenient)

path           came   refused as  what to send
$.passengers   "two"  invalid     an integer; it is not a number
$.destination  -      missing     text; send destination

path         came  made of it  change            risk
$.origin     5     "5"         coerced int->str  warning
$.nonstop    -     false       defaulted         info
$.cabin      -     "economy"   defaulted         info
$.max_price  -     null        defaulted         info
"""


def test_check_of_a_mended_call(run: Run) -> None:
    """What the tool would get stands on standard output, every change on standard error."""
    ran = run("check", "search_flights", MESSY, "--tools", "tools")
    assert (ran.code, ran.out, ran.err) == (0, MENDED_OUT, MENDED_ERR)


def test_check_of_a_refused_call(run: Run) -> None:
    """A call that would be refused shows each failure with what to send, then the changes; nothing on standard output."""
    ran = run("check", "search_flights", '{"origin": 5, "passengers": "two"}', "--tools", "tools")
    assert (ran.code, ran.out, ran.err) == (1, "", REFUSED_ERR)


def test_check_of_a_clean_call(run: Run) -> None:
    """Where nothing was changed there is no table."""
    ran = run("check", "halve", '{"number": 4}', "--tools", "tools")
    assert (ran.code, ran.out, ran.err) == (0, '{\n  "number": 4\n}\n', "halve would be called: nothing was changed (policy lenient)\n")


def test_call(run: Run) -> None:
    """The result stands on standard output alone; what the tool prints, and the changes, on standard error."""
    ran = run("call", "search_flights", MESSY, "--tools", "tools")
    assert (ran.code, ran.out) == (0, '[\n  "ZRH-LIS for 2"\n]\n')
    assert ran.err == "searching\n" + MENDED_ERR.replace("would be called", "was called")


# arguments of the command, exit code, standard output, part of standard error
ENDS = [
    (["call", "shout", '{"text": "hi"}'], 0, "HI\n", "shout was called: nothing was changed (policy lenient)"),
    (["call", "Shout", '{"text": "hi"}'], 0, "HI\n", "shout was called"),
    (["call", "wait", '{"turns": 3}'], 0, '{\n  "turns": 3\n}\n', "wait was called"),
    (["call", "halve", '{"number": 3}'], 1, "", "the tool halve failed: ValueError: 3 is odd"),
    (["call", "halve", '{"number": "three"}'], 1, "", "halve was refused; nothing was run: 1 failure"),
    (["call", "halve", "no object here at all"], 1, "", "halve was refused; nothing was run"),
    (["call", "shuot", "{}"], 1, "", 'there is no tool named "shuot"; did you mean "shout"?'),
    (["check", "shuot", "{}"], 1, "", 'there is no tool named "shuot"; did you mean "shout"?'),
    (["check", "shout", '{"text": "hi"'], 0, '{\n  "text": "hi"\n}\n', "closed closing brackets"),
    (["check", "shout", '{"text": "cut o'], 1, "", "cut off"),
    (["call", "leave"], 1, "", "the tool leave failed: SystemExit"),
    (["check", "leave"], 0, "{}\n", "leave would be called"),
    (["check", "halve", "-4"], 0, '{\n  "number": -4\n}\n', "bound to number"),
    (["check", "halve", '{"number": "4"}', "--policy", "strict"], 1, "", "(policy strict)"),
    (["call", "halve", '{"number": "4"}', "--policy", "strict"], 1, "", "would have become 4, info"),
]


@pytest.mark.parametrize(("command", "code", "out", "err"), ENDS)
def test_ends(run: Run, command: list[str], code: int, out: str, err: str) -> None:
    """Every way in which a call ends has its exit code, its output and its word."""
    ran = run(*command, "--tools", "tools")
    assert (ran.code, ran.out) == (code, out)
    assert err in ran.err
    assert "Traceback" not in ran.err


STATUSES = [
    (["call", "shout", '{"text": "hi"}'], "done", 0),
    (["check", "shout", '{"text": "hi"}'], "accepted", 0),
    (["check", "shout", "{}"], "refused", 1),
    (["call", "shout", "{}"], "refused", 1),
    (["call", "shout", "what?"], "refused", 1),
    (["call", "halve", '{"number": 3}'], "failed", 1),
    (["call", "leave"], "failed", 1),
    (["call", "nope", "{}"], "unknown_tool", 1),
    (["check", "nope", "{}"], "unknown_tool", 1),
]


@pytest.mark.parametrize(("command", "status", "code"), STATUSES)
def test_json_says_the_status(run: Run, command: list[str], status: str, code: int) -> None:
    """As JSON every end has the same keys and its stable status; nothing stands on standard error."""
    ran = run(*command, "--tools", "tools", "--json")
    said = json.loads(ran.out)
    assert (ran.code, said["status"], said["ok"]) == (code, status, code == 0)
    assert {"tool", "policy", "error", "arguments", "changes", "failures", "residual"} <= said.keys()
    assert ("result" in said) is (status == "done")
    assert ran.err == ""


def test_json_of_a_call(run: Run) -> None:
    """As JSON a call has its result, the arguments that were used, and every change and failure with all that is known of it."""
    said = json.loads(run("call", "search_flights", MESSY, "--tools", "tools", "--json").out)
    assert said["result"] == ["ZRH-LIS for 2"]
    assert said["arguments"]["passengers"] == 2
    assert said["changes"][0] == {
        "path": "$.passengers",
        "kind": "coerced",
        "conversion": "str->int",
        "risk": "info",
        "before": "2",
        "after": 2,
    }
    refused = json.loads(run("check", "halve", '{"number": "4"}', "--tools", "tools", "--policy", "strict", "--json").out)
    (failure,) = refused["failures"]
    assert (failure["path"], failure["value"], failure["would_be"]["after"]) == ("$.number", "4", 4)
    kept = json.loads(run("check", "halve", '{"number": 4, "x": 1}', "--tools", "tools", "--policy", "absorbing", "--json").out)
    assert kept["residual"] == {"x": 1}


def test_arguments_from_elsewhere(run: Run, folder: Path) -> None:
    """ARGS is @FILE for a file, and - for standard input."""
    (folder / "args.json").write_bytes(b'\xef\xbb\xbf{"text": "from a file"}')
    assert run("call", "shout", "@args.json", "--tools", "tools").out == "FROM A FILE\n"
    assert run("call", "shout", "-", "--tools", "tools", stdin='{"text": "from a pipe"}').out == "FROM A PIPE\n"


SERVED = """
import dataclasses
from toolbox import Registry

registry = Registry()


def _number():
    raise KeyError("no number")


@dataclasses.dataclass
class Order:
    item: str
    number: int = dataclasses.field(default_factory=_number)


@registry.tool
def order(order: Order) -> None: ...


@registry.tool
def plain(number: int) -> int:
    return number


@registry.fallback
def answer(tool, report):
    return "please try again"
"""


def test_a_fallback_handler_answers(run: Run, folder: Path) -> None:
    """What the fallback handler returns is the result, and the failures are shown beside it."""
    (folder / "served.py").write_text(SERVED)
    ran = run("call", "plain", '{"number": "x"}', "--tools", "served")
    assert (ran.code, ran.out) == (0, "please try again\n")
    assert "plain was answered by the fallback handler: 1 failure" in ran.err


WAITING = """
from toolbox import AuditStore, Registry, ReviewQueue

registry = Registry(review=ReviewQueue(AuditStore("audit.db")))


@registry.tool(approval="always")
def refund(order: int) -> str:
    return f"order {order}"


@registry.tool(high_risk=True)
def dose(mg: float) -> str:
    return f"{mg} mg"
"""


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [("refund", '{"order": 7}', "refund waits for a person; nothing was run (policy lenient)"), ("dose", '{"mg": "1,000"}', "1 failure")],
)
def test_a_call_that_waits(run: Run, folder: Path, name: str, arguments: str, shown: str) -> None:
    """It is not told as refused, and the item of the queue is named, beside the failures where there are some."""
    pytest.importorskip("sqlalchemy")
    (folder / "waiting.py").write_text(WAITING)
    ran = run("call", name, arguments, "--tools", "waiting")
    assert (ran.code, ran.out) == (1, "")
    assert shown in ran.err
    said = re.search(r"waits for a person's decision \(item \w+\)", ran.err)
    assert said
    told = json.loads(run("call", name, arguments, "--tools", "waiting", "--json").out)
    assert told["status"] == "pending"
    assert said[0] in told["error"]


def test_check_of_a_call_that_would_wait(run: Run, folder: Path) -> None:
    """It fits, and is not said to be called; nobody is asked yet."""
    pytest.importorskip("sqlalchemy")
    (folder / "waiting.py").write_text(WAITING)
    ran = run("check", "refund", '{"order": 7}', "--tools", "waiting")
    assert (ran.code, json.loads(ran.out)) == (0, {"order": 7})
    assert ran.err == "refund would wait for a person's approval: nothing was changed (policy lenient)\n"
    assert json.loads(run("check", "refund", '{"order": 7}', "--tools", "waiting", "--json").out)["status"] == "pending"
    assert "nothing waits here" in run("review", "list", "audit.db").err


def test_a_default_that_breaks_is_a_refusal(run: Run, folder: Path) -> None:
    """An error in a default that the tool makes itself refuses the call, and names the default."""
    (folder / "served.py").write_text(SERVED)
    ran = run("check", "order", '{"order": {"item": "x"}}', "--tools", "served")
    assert ran.code == 1
    assert "$.order.number" in ran.err
    assert "its default cannot be made" in ran.err


SECRETS = [
    '{"amount": 5, "card": "HIDDEN"}',
    '{"amount": "x", "card": "HIDDEN"}',
    '{"amount": 5, "card": ["HIDDEN"]}',
    '{"amount": 5, "card": {"number": "HIDDEN"}}',
    '{"amount": 5, "Card": "HIDDEN"}',
    '{"amount": 5, "card": "x", "CARD": "HIDDEN"}',
    '{"amount": 5, "kard": "HIDDEN"}',
    '{"amount": 5, "card": "x", "other": "HIDDEN"}',
    '{"arguments": {"amount": 5, "card": "HIDDEN"}}',
    '["HIDDEN"]',
    '"HIDDEN"',
    'pay(5, "HIDDEN")',
    '{"amount": 5, "card": "HIDDEN',
    "HIDDEN",
]


@pytest.mark.parametrize("arguments", SECRETS)
@pytest.mark.parametrize("command", ["call", "check"])
@pytest.mark.parametrize("policy", ["lenient", "absorbing", "strict"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_secrets_are_masked(run: Run, command: str, arguments: str, policy: str, options: list[str]) -> None:
    """The value of a secret parameter is shown nowhere, in whatever form it came."""
    assert "HIDDEN" not in run(command, "pay", arguments, "--tools", "tools", "--policy", policy, *options).all


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "[bold red]x[/bold red]",
    "a\rb",
    "\u202eabc",
    "\x9b31m",
    "[/nope]",
    ":smile:",
    "\ud800",
    "x\u2028y",
    "\x07",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("command", ["call", "check"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_model_text_is_only_text(run: Run, command: str, text: str, options: list[str]) -> None:
    """Nothing that a model sent is read as markup, and no control character of it gets out."""
    for payload in ({"text": text}, {"text": "a", text: text}, {"text": [text]}):
        ran = run(command, "shout", json.dumps(payload), "--tools", "tools", *options)
        assert all(character.isprintable() or character == "\n" for character in ran.all)
    ran = run(command, text, text, "--tools", "tools", *options)
    assert ran.code == 1
    assert all(character.isprintable() or character == "\n" for character in ran.all)
    if text.isprintable():
        assert text in ran.all
