"""The command as a process: entry points, missing packages, pipes, encodings, terminals."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import toolbox
from tests.cli.conftest import Run

ROOT = Path(toolbox.__file__).parents[1]
MARKUP = '{"text": "[bold]x[/bold] \\u001b[31m"}'
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*\b(?:3[0-8]|4[0-8]|9[0-7])(?:;[0-9;]*)?m")


def test_module_runs(start: Run) -> None:
    """``python -m toolbox`` is the command."""
    ran = start("call", "halve", '{"number": "4"}', "--tools", "tools")
    assert (ran.code, ran.out) == (0, "2\n")
    assert "coerced str->int" in ran.err


def test_exit_codes(start: Run) -> None:
    """The exit code of the process is the command's."""
    assert start("check", "halve", "{}", "--tools", "tools").code == 1
    assert start("check", "halve", "{}", "--tools", "nowhere").code == 2
    assert start("nonsense").code == 2


@pytest.mark.parametrize("missing", ["cyclopts", "rich"])
def test_missing_packages(run: Run, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """Without the packages of the extra, one line says what to install, and nothing else is shown."""
    for name in [name for name in sys.modules if name.startswith("toolbox.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    ran = run("list", "--tools", "tools")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == 'toolbox: the command line needs cyclopts and rich: pip install "toolbox-dispatch[cli]"\n'


def test_missing_packages_of_the_module() -> None:
    """``python -m toolbox`` says the same, without a traceback."""
    code = "import sys, runpy; sys.modules['rich'] = None; sys.argv = ['toolbox']; runpy.run_module('toolbox', run_name='__main__')"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("toolbox: the command line needs")
    assert ran.stderr.count("\n") == 1


def test_another_missing_package_is_no_matter_of_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """When something else cannot be imported, that is not blamed on the extra."""
    monkeypatch.delitem(sys.modules, "toolbox.cli.commands", raising=False)
    monkeypatch.setitem(sys.modules, "toolbox.cli.replaying", None)
    monkeypatch.delattr("toolbox.cli.replaying", raising=False)
    with pytest.raises(ModuleNotFoundError, match="replaying"):
        run("list", "--tools", "tools")


def test_cli_is_light_until_it_runs() -> None:
    """Importing the entry point loads neither rich nor cyclopts."""
    code = "import sys, toolbox.cli; print(sorted({'rich', 'cyclopts'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_policy_of_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """TOOLBOX_POLICY is the policy of registries that name none."""
    monkeypatch.setenv("TOOLBOX_POLICY", "strict")
    assert "(policy strict)" in run("check", "halve", '{"number": 4}', "--tools", "tools").err


def test_wrong_policy_of_the_environment(start: Run) -> None:
    """A wrong name in TOOLBOX_POLICY is said in one line."""
    wrong = start("list", "--tools", "tools", TOOLBOX_POLICY="soft")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err == "toolbox: TOOLBOX_POLICY: there is no policy named 'soft'; the names are strict, absorbing, lenient\n"


USAGE = [
    (["chek"], 'Did you mean "check"?'),
    (["check", "--tools", "tools"], "NAME"),
    (["check", "halve", "{}"], "--tools"),
    (["check", "halve", "{}", "{}", "--tools", "tools"], "toolbox: "),
    (["check", "halve", "--jsn", "--tools", "tools"], "There is no option --jsn"),
    (["check", "halve", "{}", "--tools", "tools", "--policy", "soft"], "absorbing"),
    (["check", "halve", "@nowhere.json", "--tools", "tools"], "nowhere.json cannot be read"),
    (["chek\x1b[31m"], "chek\\x1b[31m"),
]


@pytest.mark.parametrize(("command", "said"), USAGE)
def test_usage_errors(run: Run, command: list[str], said: str) -> None:
    """A command that cannot be understood ends with 2 and says why on standard error."""
    ran = run(*command)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.parametrize("command", [["--help"], ["replay", "--help"], ["--version"], []])
def test_help(run: Run, command: list[str]) -> None:
    """Help and version go to standard output and end with 0."""
    ran = run(*command)
    assert (ran.code, ran.err) == (0, "")
    assert "toolbox" in ran.out


def test_a_reader_that_leaves_is_no_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the reader of the pipe has seen enough, the command ends without a traceback, and closing the pipe is no error either."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as broken:
        monkeypatch.setattr(sys, "stdout", broken)
        ran = run("list", "--tools", "tools", "--json")
    assert (ran.code, ran.err) == (1, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_any_encoding(start: Run, encoding: str) -> None:
    """What the output's encoding has no letters for is shown as an escape; JSON stays JSON."""
    arguments = ["shout", "-", "--tools", "tools"]
    text = '{"text": "日本 ü"}'.encode()
    ran = start("call", *arguments, stdin=text, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert (ran.code, ran.out[:12]) == (0, "\\u65e5\\u672c")
    ran = start("check", *arguments, stdin=text, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert ran.out == '{\n  "text": "\\u65e5\\u672c \\u00fc"\n}\n'


def test_arguments_in_any_locale(start: Run) -> None:
    """Arguments on the command line are UTF-8, also where the locale of the process knows only ASCII."""
    ran = start(
        "call", "shout", '{"text": "ü"}', "--tools", "tools", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="utf-8"
    )
    assert ran.out == "Ü\n"


# -- on a terminal -------------------------------------------------------------------------------------------------------------------

COMMANDS = [
    ["list", "--tools", "tools"],
    ["check", "search_flights", '{"origin": 5, "passengers": "two"}', "--tools", "tools"],
    ["call", "shout", MARKUP, "--tools", "tools"],
    ["replay", "calls.jsonl", "--tools", "tools"],
    ["parse", "calls.jsonl", "--tools", "tools"],
]


@pytest.fixture
def calls(folder: Path) -> None:
    """A recording that takes a moment."""
    lines = ['{"name": "halve", "arguments": {"number": "2"}}', '{"name": "halve", "arguments": {"number": "[bold]"}}', "{"]
    (folder / "calls.jsonl").write_text("\n".join(lines * 100))


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("columns", [30, 48, 80, 120])
def test_fits_the_terminal(screen: Callable[..., str], command: list[str], columns: int) -> None:
    """Tables keep to the width of the terminal; on a narrow one the cells stand below each other."""
    *_, visible = screen(*command, columns=columns).rpartition("\x1b[2K")
    table = [line for line in ESCAPES.sub("", visible).split("\n") if "─" in line]
    assert all(len(line) <= columns for line in table)
    assert bool(table) is (columns > 66 and command[0] in {"list", "check", "replay"})


LISTED = """\
tool              parameters                             description
────────────────────────────────────────────────────────────────────────────────
search_flights    origin: string                         Search for flights.
                  destination: string
                  passengers: integer
                  nonstop: boolean = false
                  cabin: "economy" | "premium" |
                  "business" | "first" = "economy"
                  max_price: number | null = null
pay [high risk]   amount: number                         Pay with a card.
"""
NARROW = """\
search_flights
  parameters:
    origin: string
    destination: string
    passengers: integer
    nonstop: boolean = false
    cabin: "economy" | "premium" |
    "business" | "first" = "economy"
    max_price: number | null = null
  description: Search for flights.
pay [high risk]
"""


@pytest.mark.parametrize(("columns", "expected"), [(80, LISTED), (44, NARROW)])
def test_list_on_a_terminal(screen: Callable[..., str], columns: int, expected: str) -> None:
    """On a terminal the tools are a table with a line for each parameter; on a narrow one they stand below each other."""
    lines = ESCAPES.sub("", screen("list", "--tools", "tools", columns=columns)).split("\n")
    assert "\n".join(line.rstrip() for line in lines).startswith(expected)


def test_the_total_is_set_off(screen: Callable[..., str], calls: None) -> None:
    """The sum over all tools stands below a line of its own."""
    lines = ESCAPES.sub("", screen("replay", "calls.jsonl", "--tools", "tools")).split("\n")
    (total,) = [index for index, line in enumerate(lines) if line.lstrip().startswith("all ")]
    assert set(lines[total - 1].strip()) == {"─"}


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_color(screen: Callable[..., str], command: list[str]) -> None:
    """With NO_COLOR nothing is coloured; bold and the movements of the progress bar may stay."""
    assert COLOUR.search(screen(*command))
    assert not COLOUR.search(screen(*command, NO_COLOR="1"))


def test_json_on_a_terminal(screen: Callable[..., str]) -> None:
    """JSON is coloured on a terminal, and the same text as anywhere else."""
    shown = screen("check", "halve", '{"number": 4}', "--tools", "tools", "--json")
    assert COLOUR.search(shown)
    assert json.loads(ESCAPES.sub("", shown))["arguments"] == {"number": 4}


def test_dumb_terminal(screen: Callable[..., str], calls: None) -> None:
    """A terminal that knows no escapes gets none, and no progress bar."""
    shown = screen("check", "halve", '{"number": "2"}', "--tools", "tools", TERM="dumb")
    shown += screen("replay", "calls.jsonl", "--tools", "tools", TERM="dumb")
    assert "\x1b" not in shown
    assert "coerced str->int" in shown


@pytest.mark.usefixtures("calls")
def test_progress_bar(terminal: Callable[..., str]) -> None:
    """A replay shows its progress on a terminal, and takes it away in the end."""
    shown = terminal("replay", "calls.jsonl", "--tools", "tools")
    assert "replaying" in shown
    assert "replaying" not in shown.rpartition("\x1b[2K")[2]
    assert "200 calls in 300 lines" in shown


def test_markup_stays_text_on_a_terminal(terminal: Callable[..., str]) -> None:
    """Markup and escapes in a value are shown as text, on a terminal too."""
    shown = terminal("call", "shout", MARKUP, "--tools", "tools", NO_COLOR="1")
    assert "[BOLD]X[/BOLD] \\x1b[31M" in shown
    shown = terminal("check", "halve", '{"number": "[bold]2[/bold]\\u001b[31m"}', "--tools", "tools", NO_COLOR="1")
    assert '"[bold]2[/bold]\\u001b[31m"' in shown
    assert "\x1b[31m" not in shown
