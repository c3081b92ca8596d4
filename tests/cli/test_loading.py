"""``--tools``: which registry is found, and what is said when none is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import toolbox
from tests.cli.conftest import Run

ONE = "from toolbox import Registry\nbox = Registry()\n@box.tool\ndef first(x: int) -> int:\n    return x\n"
TWO = f"{ONE}other = Registry()\n@other.tool\ndef second(x: int) -> int:\n    return x\nalias = other\n"


def _app(folder: Path) -> None:
    (folder / "app").mkdir()
    (folder / "app" / "__init__.py").write_text("")
    (folder / "app" / "shared.py").write_text("LIMIT = 3\n")
    (folder / "app" / "tools.py").write_text(f"from .shared import LIMIT\n{ONE}")


@pytest.mark.parametrize("wanted", ["app.tools", "app/tools.py", "app.tools:box", "app/tools.py:box", "./app/tools.py"])
def test_a_module_or_a_file_is_found(run: Run, folder: Path, wanted: str) -> None:
    """A module by its dotted name and a file by its path are the same, relative imports included."""
    _app(folder)
    ran = run("list", "--tools", wanted)
    assert (ran.code, ran.out) == (0, "first(x: integer)\n")


def test_an_absolute_path_is_found(run: Run, folder: Path) -> None:
    """A file may be named by its whole path."""
    assert run("list", "--tools", str(folder / "tools.py")).code == 0


def test_a_file_called_like_a_module_takes_no_place(run: Run, folder: Path) -> None:
    """A tools file may be called like a module of the standard library; that module stays what it is."""
    import json

    (folder / "json.py").write_text(ONE)
    assert run("list", "--tools", "json.py").out == "first(x: integer)\n"
    assert sys.modules["json"] is json


def test_registry_is_chosen_by_name(run: Run, folder: Path) -> None:
    """Of several registries the one after the colon is taken, also by an attribute of an attribute."""
    (folder / "two.py").write_text(f"{TWO}class Box:\n    inner = other\n")
    assert run("list", "--tools", "two:other").out == "second(x: integer)\n"
    assert run("list", "--tools", "two:Box.inner").out == "second(x: integer)\n"


def test_the_default_registry_serves_marked_functions(start: Run, folder: Path) -> None:
    """A module that only marks functions with @tool gives the default registry."""
    (folder / "marked.py").write_text("from toolbox import tool\n@tool\ndef first(x: int) -> int:\n    return x\n")
    assert start("list", "--tools", "marked").out == "first(x: integer)\n"


PROBLEMS = [
    ("nowhere", {}, "there is no module named nowhere: run toolbox in the folder that holds it"),
    ("nowhere.tools", {}, "there is no module named nowhere: run toolbox"),
    ("nowhere.py", {}, "there is no file nowhere.py"),
    ("./sub/", {"sub/x.txt": ""}, "sub is no file: name a module or a file"),
    ("", {}, "--tools needs a module or a file"),
    (":registry", {}, "--tools needs a module or a file"),
    ("two", {"two.py": TWO}, "two has several registries (box, other): choose one, such as --tools two:box"),
    ("none", {"none.py": "x = 1\n"}, "none has no registry and marks no function with @tool"),
    ("none:x", {"none.py": "x = 1\n"}, "none:x is no Registry but a int: it has no registry"),
    ("two:nope", {"two.py": TWO}, "two has no nope: its registries are box, other"),
    ("./notes.txt", {"notes.txt": "x"}, "notes.txt is no Python file: its name must end in .py"),
    ("exits", {"exits.py": "raise SystemExit(0)\n"}, "exits ended the program when it was imported"),
]


@pytest.mark.parametrize(("wanted", "files", "said"), PROBLEMS)
def test_a_problem_is_named(run: Run, folder: Path, wanted: str, files: dict[str, str], said: str) -> None:
    """Whatever is wrong with --tools is said in one line, with what to write instead, and ends with 2."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    ran = run("list", "--tools", wanted)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


FAULTS = [
    ("import no_such_module_at_all\n", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
    ("def f(:\n", "SyntaxError: "),
    ("from toolbox import tool\n@tool\ndef f(x):\n    pass\n", "cannot register 'f': parameter 'x' has no annotation"),
    (
        "def f():\n    raise KeyError('k')\ntry:\n    f()\nexcept KeyError as e:\n    raise ValueError('\\x1b[31m') from e\n",
        "ValueError: \\x1b[31m",
    ),
    ("raise ExceptionGroup('several', [ValueError('one')])\n", "ValueError: one"),
]


@pytest.mark.parametrize("wanted", ["faulty", "faulty.py"])
@pytest.mark.parametrize(("text", "said"), FAULTS, ids=range(len(FAULTS)))
def test_a_faulty_module_shows_its_own_frames_only(run: Run, folder: Path, wanted: str, text: str, said: str) -> None:
    """An error in the user's module is shown with the user's lines, without ours and without those of the import machinery."""
    (folder / "faulty.py").write_text(text)
    ran = run("list", "--tools", wanted)
    assert ran.code == 2
    assert "faulty could not be imported" in ran.err or "faulty.py could not be imported" in ran.err
    assert said in ran.err
    assert str(folder / "faulty.py") in ran.err
    assert str(Path(toolbox.__file__).parent) not in ran.err
    assert "importlib" not in ran.err


def test_what_a_module_prints_is_no_result(run: Run, folder: Path) -> None:
    """Standard output holds the result alone: what the module prints on import goes to standard error."""
    (folder / "talks.py").write_text(f"print('hello')\n{ONE}")
    ran = run("list", "--tools", "talks")
    assert (ran.out, ran.err) == ("first(x: integer)\n", "hello\n")


SHADES = [
    ("", "strict", "strict", False),
    ("policy=STRICT", "lenient", "strict", True),
    ("policy=STRICT", "strict", "strict", False),
    ("policy=ABSORBING", "strict", "strict", False),
    ("policy=ABSORBING", "lenient", "absorbing", True),
]


@pytest.mark.parametrize(("own", "asked", "holds", "noted"), SHADES)
def test_a_policy_is_only_tightened(run: Run, folder: Path, own: str, asked: str, holds: str, noted: bool) -> None:
    """--policy makes the tools stricter and never looser, and says so when it could not hold as it was asked for."""
    (folder / "own.py").write_text(f"from toolbox import *\n{ONE.replace('Registry()', f'Registry({own})')}")
    ran = run("check", "first", '{"x": 1}', "--tools", "own", "--policy", asked)
    assert ran.code == 0
    assert f"(policy {holds})" in ran.err
    assert ("note: a policy is only tightened" in ran.err) is noted


def test_a_stricter_policy_keeps_the_services(run: Run, folder: Path) -> None:
    """Context and fallback handler of the registry serve under a stricter policy too."""
    (folder / "served.py").write_text(
        "from toolbox import Injected, Registry\n"
        "class Store:\n    name = 'store'\n"
        "registry = Registry(context={Store: Store()})\n"
        "@registry.tool\ndef find(key: int, store: Injected[Store]) -> str:\n    return f'{key} in {store.name}'\n"
    )
    assert run("call", "find", '{"key": 1}', "--tools", "served", "--policy", "strict").out == "1 in store\n"
    assert run("call", "find", '{"key": "1"}', "--tools", "served", "--policy", "strict").code == 1


def test_a_tools_file_is_loaded_once(run: Run, folder: Path) -> None:
    """Commands in one process load a file once."""
    (folder / "once.py").write_text(f"print('loaded')\n{ONE}")
    assert run("list", "--tools", "once.py").err == "loaded\n"
    assert run("list", "--tools", "once.py").err == ""


def test_the_default_registry_in_this_process(run: Run, folder: Path) -> None:
    """The tools that a module marks with @tool are found beside those of other modules."""
    (folder / "marks.py").write_text("from toolbox import tool\n@tool\ndef cli_marked(x: int) -> int:\n    return x\n")
    assert "cli_marked(x: integer)" in run("list", "--tools", "marks").out


def test_a_context_that_is_missing(run: Run, folder: Path) -> None:
    """A tool that needs something from the application, which is not there, is said to."""
    (folder / "alone.py").write_text(
        "from toolbox import Injected, Registry\nregistry = Registry()\nclass Store: ...\n"
        "@registry.tool\ndef find(key: int, store: Injected[Store]) -> int:\n    return key\n"
    )
    ran = run("call", "find", '{"key": 1}', "--tools", "alone")
    assert (ran.code, ran.out) == (1, "")
    assert "find cannot be called from here" in ran.err
    assert "needs 'store' from the context" in ran.err
