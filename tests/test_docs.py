"""Every Python block of README.md and docs/ runs, page by page, and prints what the page says that it prints.

A comment before a block says more: ``prints``, this is what the Python block before it prints; ``runs``, these are commands, and what they
print; ``file: NAME``, this is a file that the page works with; ``not run``, this is only compiled. In what is printed, ``...`` stands for
anything.
"""

import contextlib
import doctest
import io
import logging
import os
import re
import shlex
import subprocess
import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sybil import Document, Example, Sybil
from sybil.parsers.markdown import CodeBlockParser

import toolbox

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)?(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
# What a comment may say -> languages of the blocks before which it means something.
MARKS = {"prints": ("text", "json"), "runs": ("console",), "not run": ("python",), "file": ("python", "text", "json")}
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def run_block(example: Example) -> None:
    """Run one Python block in the namespace of its page, and keep what it prints."""
    if _is_file(example):
        return
    _all_shown(example.namespace)
    code = compile("\n" * example.line + example.parsed, example.path, "exec", dont_inherit=True)
    if _mark(example) == "not run":
        return
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, example.namespace)
    example.namespace["_printed"] = printed.getvalue()


def _all_shown(namespace: dict[str, object]) -> None:
    """Fail where a block has printed what no block behind it, marked ``prints``, was compared with."""
    printed = namespace.pop("_printed", "")
    assert not printed, f"the page does not show, or does not mark, what a block prints:\n{printed}"


def compare_block(example: Example) -> str | None:
    """Compare one block of output with what the block before it printed."""
    if _is_file(example) or _mark(example) != "prints":
        return None
    return _difference(example.parsed, example.namespace.pop("_printed"))


def run_commands(example: Example) -> str | None:
    """Run the commands of one block, each after a dollar sign, and compare what they print with what follows them."""
    if _mark(example) != "runs":
        return None
    commands = re.split(r"^\$ (?=toolbox )", example.parsed, flags=re.MULTILINE)[1:]
    assert commands, "no command of this block begins with '$ toolbox '"
    for part in commands:
        command, _, wanted = part.partition("\n")
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(command)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "COLUMNS": "120"},
        )
        difference = _difference(wanted, done.stdout + done.stderr)
        if difference:
            return f"$ {command}\n{difference}"
    return None


def _difference(wanted: str, got: str) -> str | None:
    if doctest.OutputChecker().check_output(wanted.strip() + "\n", got.strip() + "\n", doctest.ELLIPSIS):
        return None
    return f"the page says:\n{wanted.strip()}\n\nit prints:\n{got.strip()}"


def _mark(example: Example) -> str | None:
    before = example.document.text[: example.start].rstrip()
    found = re.search(r"<!-- (prints|runs|not run|file: \S+) -->$", before)
    return found and found[1]


def _is_file(example: Example) -> bool:
    """Write the block into the file that its mark names, if it names one."""
    mark = _mark(example) or ""
    if not mark.startswith("file: "):
        return False
    Path(mark.removeprefix("file: ")).write_text(example.parsed, "utf-8")
    return True


SYBIL = Sybil(
    [
        CodeBlockParser("python", run_block),
        CodeBlockParser("console", run_commands),
        *(CodeBlockParser(language, compare_block) for language in ("text", "json")),
    ]
)


@pytest.fixture
def page_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """A module for the code of one page; afterwards the log, the environment and the default registry are as they were."""
    module = types.ModuleType("toolbox_page")
    monkeypatch.setitem(sys.modules, "toolbox_page", module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLBOX_POLICY", raising=False)
    tools = dict(toolbox.default_registry._tools)
    logger, root = logging.getLogger("toolbox"), logging.getLogger()
    before = (logger.level, logger.propagate, list(logger.handlers), root.level, list(root.handlers))
    yield module
    logger.level, logger.propagate, logger.handlers[:], root.level, root.handlers[:] = before
    toolbox.default_registry._tools.clear()
    toolbox.default_registry._tools.update(tools)
    toolbox.default_registry._names.refresh()
    if "structlog" in sys.modules:
        sys.modules["structlog"].reset_defaults()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_runs_as_printed(page: Path, page_module: types.ModuleType) -> None:
    """The code of a page runs from top to bottom, and prints what the page shows."""
    document: Document = SYBIL.parse(page)
    document.namespace = vars(page_module)
    for example in document.examples():
        example.evaluate()
    _all_shown(document.namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_marks_are_obeyed(page: Path) -> None:
    """Every mark is known, and stands right before a block of a language in which it is looked for."""
    for mark, kind, language in re.findall(r"(<!--(?: (.*?)(?:: \S+)? -->$|.*))\n?(?:```(\w+)$)?", page.read_text("utf-8"), re.MULTILINE):
        assert kind in MARKS, f"{mark} is no mark"
        assert language in MARKS[kind], f"{mark} stands before no block in which it is looked for"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link leads to a file of the project, and to a heading where it names one."""
    text = FENCE.sub("", page.read_text("utf-8"))
    for target, anchor in LINK.findall(text):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{target} does not exist"
        assert path.is_relative_to(ROOT), f"{target} leads out of the project"
        if anchor:
            headings = HEADING.findall(FENCE.sub("", path.read_text("utf-8")))
            assert anchor in map(_anchor, headings), f"{target} has no heading #{anchor}"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_conversions_are_as_listed(page_module: types.ModuleType) -> None:
    """Each value of the tables of conversions becomes what its line says, from its level on, at its risk."""
    page = ROOT / "docs" / "reference" / "conversions.md"
    document: Document = SYBIL.parse(page)
    document.namespace = vars(page_module)
    for example in document.examples():
        example.evaluate()
    tables = re.findall(
        r"^\| declared \| came \| becomes \| level \| risk \|\n\|[-|]+\|\n((?:\|.*\n)+)", page.read_text("utf-8"), re.MULTILINE
    )
    rows = "".join(tables).splitlines()
    assert len(rows) > 100
    for line in rows:
        declared, came, becomes, level, risk = (cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        values = CODE.findall(came)
        wanted = [eval(text, document.namespace) for text in CODE.findall(becomes)]
        assert values, f"{line}: it names no value"
        assert len(wanted) in ((0,) if becomes == "refused" else (1, len(values))), f"{line}: which value becomes which?"
        for place, sent in enumerate(values):
            made = _conversion(eval(declared.strip("`"), document.namespace), sent)
            if becomes == "refused":
                assert made is None, f"{line}: {sent} becomes {made}"
            else:
                result = wanted[place if len(wanted) > 1 else 0]
                assert made == (result, type(result), level.strip("`"), risk), f"{line}: {sent} becomes {made}"


def _conversion(declared: object, sent: str) -> tuple[object, type, str, str] | None:
    """The value, its type, the lowest level that makes it, and its risk; None when it is refused."""

    def take(value): ...  # type: ignore[no-untyped-def]

    take.__annotations__["value"] = declared
    for level in toolbox.CoercionLevel:
        policy = replace(toolbox.LENIENT, coercion=level, max_risk=toolbox.Risk.RISKY)
        report = toolbox.normalize_tool_args(take, f'{{"value": {sent}}}', policy)
        if report.ok:
            value = report.normalized_args["value"]
            return value, type(value), level.name, "none" if report.worst_risk is None else report.worst_risk.name.lower()
    return None


def test_architecture_names_every_room() -> None:
    """The picture of the floors shows the same rooms on the same floors as the test that holds them."""
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
    shown = {room: int(floor) for floor, room in re.findall(r"^\| (\d+) \| `(\w+)` \|", page, re.MULTILINE)}
    floors = {room: int(floor) for room, floor in re.findall(r'"(\w+)": (\d+)', (ROOT / "tests" / "test_floors.py").read_text("utf-8"))}
    rooms = {path.stem for path in (ROOT / "toolbox").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert shown == {room: floor for room, floor in floors.items() if room in rooms}


def test_every_page_is_listed() -> None:
    """The index names every page."""
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.is_relative_to(ROOT / "docs")]
    missing = [page for page in pages if page != "index.md" and page not in index]
    assert not missing


def test_reference_names_the_whole_face() -> None:
    """The reference has a heading for every public name."""
    headings = " ".join(HEADING.findall((ROOT / "docs" / "reference" / "api.md").read_text("utf-8")))
    assert not [name for name in toolbox.__all__ if not re.search(rf"`{name}\b", headings)]
