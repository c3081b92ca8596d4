"""The public face: what it offers, that it is quick to import, and that no code is run from data."""

import ast
import importlib.metadata
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import toolbox

PACKAGE = Path(toolbox.__file__).parent

FACE = [
    "ABSENT",
    "ABSORBING",
    "LENIENT",
    "STRICT",
    "AmbiguousMatch",
    "ApprovalPending",
    "AuditError",
    "AuditRecord",
    "AuditStore",
    "CallStatus",
    "CircuitBreaker",
    "CoercionLevel",
    "CoercionReport",
    "Converter",
    "Diagnostic",
    "DiagnosticKind",
    "DriftReport",
    "ExportReport",
    "ExtractedPayload",
    "Failure",
    "FailureReason",
    "Injected",
    "InvalidArguments",
    "Limits",
    "MatchLevel",
    "MemorySink",
    "Missing",
    "MissingContext",
    "MissingReview",
    "NoMatch",
    "OnFailure",
    "OpenEnum",
    "OpenTelemetrySink",
    "Param",
    "PayloadError",
    "Policy",
    "ProseCalls",
    "Recovery",
    "RecoveryBudget",
    "RecoveryFailed",
    "Redaction",
    "RegistrationError",
    "Registry",
    "RepairLevel",
    "RepeatedFailure",
    "ReplayReport",
    "ReviewError",
    "ReviewItem",
    "ReviewQueue",
    "Risk",
    "StoreError",
    "Tool",
    "ToolCall",
    "ToolExecutionError",
    "ToolResult",
    "ToolTimeout",
    "ToolboxError",
    "Unknown",
    "UnknownTool",
    "UnsupportedTool",
    "call_metadata",
    "coerce_enums",
    "coerce_to_schema",
    "default_registry",
    "drift_report",
    "extract_arguments",
    "fuzzy_match_enum",
    "normalize_from_schema",
    "normalize_tool_args",
    "recovery_prompt",
    "replay",
    "tool",
]

# What a program that only imports toolbox does not pay for.
NOT_IMPORTED = [
    "annotated_types",
    "asyncio",
    "cyclopts",
    "dataclasses",
    "docstring_parser",
    "inspect",
    "jsonschema_rs",
    "logging",
    "opentelemetry",
    "pydantic",
    "rich",
    "sqlalchemy",
    "sqlite3",
    "structlog",
]

# What runs code that is named or held by data. "file: name" -> why it may be there.
LOADERS = {"eval", "exec", "compile", "__import__", "import_module", "exec_module", "entry_points"}
LOADER_MODULES = {"pickle", "marshal", "runpy"}
ALLOWED = {
    "__init__.py: import_module": "the face loads toolbox's own modules on first use, from a table of its own",
    "cli/*: import_module": "--tools names a module of the user's own",
    "cli/*: exec_module": "--tools names a file of the user's own",
    "payload/__init__.py: import_module": "the package's own readers, from a table, when they are first used",
    "schema/__init__.py: import_module": "the package's own modules, from a table, when they are first used",
    "recovery/__init__.py: import_module": "the package's own modules, from a table, when they are first used",
    "providers/__init__.py: import_module": "a provider's own module, from a table, when it is first used",
    "registry.py: entry_points": "packages that the user has installed may offer tools",
}


def _python(code: str) -> str:
    """What a fresh interpreter prints that sees the same toolbox."""
    run = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_all() -> None:
    """The public names are these and no others: a change here is a change of the contract."""
    assert sorted(toolbox.__all__) == sorted(FACE)


@pytest.mark.parametrize("name", FACE)
def test_name_resolves(name: str) -> None:
    """Every public name is there, is listed, and is not a submodule of the same name."""
    assert not isinstance(getattr(toolbox, name), ModuleType)
    assert name in dir(toolbox)


@pytest.mark.parametrize("first", ["import toolbox", "import toolbox.registry", "from toolbox import Registry"])
def test_tool_is_the_decorator(first: str) -> None:
    """`toolbox.tool` is the decorator, whatever was imported before: no submodule of that name takes its place."""
    assert _python(f"{first}\nimport toolbox\nfrom toolbox import tool\nprint(callable(tool), callable(toolbox.tool))") == "True True"


def test_unknown_name() -> None:
    """A name that is not there is an AttributeError, which names it."""
    name = "no_such_name"
    with pytest.raises(AttributeError, match=name):
        getattr(toolbox, name)


def test_version() -> None:
    """The version is the one of the installed distribution."""
    assert toolbox.__version__ == importlib.metadata.version("toolbox-dispatch")


def test_import_is_light() -> None:
    """`import toolbox` loads nothing that only some programs need."""
    code = f"import sys; before = set(sys.modules); import toolbox; print(*sorted((set(sys.modules) - before) & {set(NOT_IMPORTED)}))"
    assert _python(code) == ""


def _loaders(tree: ast.AST) -> set[str]:
    """Every mention of something that runs code: called, passed on, or imported under another name."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in LOADERS:
                found.add(name)
            case ast.Attribute(value=ast.Name(id="re"), attr="compile"):
                pass
            case ast.Attribute(attr=name) if name in LOADERS:
                found.add(name)
            case ast.Import(names=names):
                found |= {alias.name for alias in names} & LOADER_MODULES
            case ast.ImportFrom(module=module, names=names):
                found |= ({str(module)} & LOADER_MODULES) | ({alias.name for alias in names} & LOADERS)
    return found


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_no_code_from_data(file: Path) -> None:
    """What a model sends is never evaluated, unpickled or imported; the few loaders there are have a reason."""
    path = file.relative_to(PACKAGE)
    used = _loaders(ast.parse(file.read_text(encoding="utf-8")))
    unexplained = {name for name in used if not {f"{path.as_posix()}: {name}", f"{path.parts[0]}/*: {name}"} & ALLOWED.keys()}
    assert not unexplained, f"toolbox/{path} uses {sorted(unexplained)}: find another way, or add it to ALLOWED with the reason"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("eval('1')", {"eval"}),
        ("run = exec", {"exec"}),
        ("import builtins; builtins.compile('', '', 'exec')", {"compile"}),
        ("import pickle as p", {"pickle"}),
        ("from marshal import loads", {"marshal"}),
        ("from importlib import import_module as load", {"import_module"}),
        ("import importlib; importlib.import_module('x')", {"import_module"}),
        ("import re; re.compile('x')", set()),
        ("import json; json.loads('1')", set()),
    ],
)
def test_loaders_are_seen(code: str, expected: set[str]) -> None:
    """The search finds a loader under each of its disguises, and nothing else."""
    assert _loaders(ast.parse(code)) == expected
