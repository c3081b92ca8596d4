"""A folder with a tools file, and the command run in it: in this process, in another one, and on a terminal."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import toolbox
from toolbox.cli import main

TOOLS = '''
from decimal import Decimal
from typing import Annotated, Literal

from toolbox import Param, Registry

registry = Registry()


@registry.tool
def search_flights(
    origin: str,
    destination: str,
    passengers: int,
    nonstop: bool = False,
    cabin: Literal["economy", "premium", "business", "first"] = "economy",
    max_price: Decimal | None = None,
) -> list[str]:
    """Search for flights.

    Args:
        origin: IATA code of the departure airport.
    """
    print("searching")
    return [f"{origin}-{destination} for {passengers}"]


@registry.tool(high_risk=True)
def pay(amount: Decimal, card: Annotated[str, Param(secret=True)], note: str = "") -> str:
    """Pay with a card."""
    return f"paid {amount}"


@registry.tool
def shout(text: str) -> str:
    return text.upper()


@registry.tool
def halve(number: int) -> int:
    """Half of an even number."""
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


@registry.tool
def leave() -> None:
    """End the program."""
    raise SystemExit(0)


@registry.tool
async def wait(turns: int) -> dict[str, int]:
    return {"turns": turns}
'''


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        """Everything that was shown."""
        return self.out + self.err


Run = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which commands are run; it holds tools.py, and what is imported from it is forgotten afterwards."""
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLBOX_POLICY", raising=False)
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    modules, path = set(sys.modules), list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in this process."""

    def command(*arguments: str, stdin: str | bytes = "") -> Ran:
        content = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
        code = main(arguments)
        shown = capsys.readouterr()
        return Ran(code, shown.out, shown.err)

    return command


class Screen(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Whether somebody is looking."""
        return True


@pytest.fixture
def screen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs the command in this process on what says that it is a terminal, and returns what was shown."""

    def command(*arguments: str, columns: int = 80, **environment: str) -> str:
        shown = Screen()
        for name, value in {"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "40", **environment}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "stdout", shown)
        monkeypatch.setattr(sys, "stderr", shown)
        main(arguments)
        return shown.getvalue()

    return command


def _environment(**others: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(toolbox.__file__).parents[1]), **others}


@pytest.fixture
def start(folder: Path) -> Run:
    """Runs ``python -m toolbox`` in a process of its own; keywords are variables of its environment."""

    def command(*arguments: str, stdin: bytes = b"", **environment: str) -> Ran:
        line = [sys.executable, "-W", "error", "-m", "toolbox", *arguments]
        done = subprocess.run(line, input=stdin, capture_output=True, check=False, env=_environment(**environment))
        return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    return command


@pytest.fixture
def terminal(folder: Path) -> Callable[..., str]:
    """Runs the command on a terminal of some width, and returns what it received."""
    pty: Any = pytest.importorskip("pty", reason="this system has no pseudo-terminals")

    def command(*arguments: str, columns: int = 80, **environment: str) -> str:
        ours, theirs = pty.openpty()
        line = [sys.executable, "-m", "toolbox", *arguments]
        variables = _environment(**{"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "40", "PYTHONUTF8": "1", **environment})
        with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=variables):
            os.close(theirs)
            received = b""
            while part := _read(ours):
                received += part
        os.close(ours)
        return received.decode("utf-8").replace("\r\n", "\n")

    return command


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how Linux says that nobody writes to the terminal any more
        return b""
