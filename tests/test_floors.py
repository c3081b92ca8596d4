"""The architecture as a test: a file imports only from lower floors, and a package has no cycles within."""

import ast
import graphlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The face, __init__, may import anything below it; nothing but __main__ imports the face.
FLOORS = {"diagnostics": 1, "docstrings": 1, "errors": 2, "matching": 3, "policy": 4, "types": 5, "json_values": 6, "redaction": 7}
FLOORS |= {"payload": 7, "schema": 7, "annotations": 8, "coercion": 9, "providers": 9, "audit": 9, "binding": 10, "results": 10}
FLOORS |= {
    "tools": 11,
    "calls": 12,
    "invoking": 12,
    "masking": 12,
    "schema_tools": 12,
    "recording": 13,
    "sources": 13,
    "dispatch": 14,
    "normalizing": 15,
    "recovery": 15,
    "registry": 16,
    "replaying": 17,
    "testing": 17,
    "mcp": 17,
    "integrations": 17,
}
FLOORS |= {"__init__": 18, "cli": 18, "__main__": 19}
VAGUE = {"utils", "util", "core", "base", "helpers", "helper", "common", "misc"}
# Dotted name of every module -> its file; a package goes by the name of its folder.
FILES = {".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): f for f in sorted(ROOT.glob("toolbox/**/*.py"))}


def _room(module: str) -> str:
    """The module or package right under toolbox that a module belongs to."""
    return [*module.split("."), "__init__"][1]


def _imports(module: str) -> set[str]:
    """The modules of toolbox that a module imports anywhere: at the top, in functions, for typing."""
    found = set()
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} line {node.lineno}: write the import absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in FILES else str(node.module) for name in names}
    return {name for name in found if name.split(".")[0] == "toolbox"}


@pytest.mark.parametrize("module", FILES)
def test_imports_go_down(module: str) -> None:
    """Whatever is imported lies on a strictly lower floor, or in the same package."""
    for other in {module} | _imports(module):
        assert other in FILES, f"{module} imports {other}, which does not exist"
        assert _room(other) in FLOORS, f"toolbox/{_room(other)} has no floor: give it one in FLOORS, in {Path(__file__).name}"
    mine = FLOORS[_room(module)]
    upward = {o: FLOORS[_room(o)] for o in _imports(module) if _room(o) != _room(module) and FLOORS[_room(o)] >= mine}
    assert not upward, f"{module} is on floor {mine} and imports from a floor that is not lower: {upward}"


def test_no_cycles() -> None:
    """No module imports itself by way of others, not even inside a package."""
    graphlib.TopologicalSorter({module: _imports(module) for module in FILES}).prepare()


@pytest.mark.parametrize("module", FILES)
def test_names_say_something(module: str) -> None:
    """No module has a name under which anything could be put."""
    assert not {part.strip("_") for part in module.split(".")} & VAGUE
