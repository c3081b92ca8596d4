"""``--tools``: from the name of a module or a file to the registry in it."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from toolbox.cli.problems import UsageProblem
from toolbox.errors import ToolboxError
from toolbox.policy import Policy
from toolbox.registry import Registry, default_registry

__all__ = ["load_registry", "own_traceback", "tightened"]

# The frames of these say nothing about the user's module.
_INNER: Final = (str(Path(__file__).parents[1]), str(Path(importlib.__file__).parent), "<frozen importlib")


def load_registry(wanted: str) -> Registry:
    """The registry that ``--tools`` names.

    Args:
        wanted: ``app.tools`` or ``path/tools.py``, and perhaps the registry in it: ``app.tools:registry``.

    Raises:
        UsageProblem: it cannot be loaded, or holds no registry, or several.
    """
    place, attribute = _split(wanted)
    if not place:
        raise UsageProblem("--tools needs a module or a file: app.tools, path/tools.py, app.tools:registry")
    # Standard output is for the result of the command alone.
    with contextlib.redirect_stdout(sys.stderr):
        module = _from_file(Path(place)) if _is_file(place) else _from_module(place)
    found = _registries(module)
    if attribute:
        return _named(module, place, attribute, found)
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        names = ", ".join(found)
        raise UsageProblem(f"{place} has several registries ({names}): choose one, such as --tools {place}:{next(iter(found))}")
    if len(default_registry):
        return default_registry
    raise UsageProblem(f"{place} has no registry and marks no function with @tool: name the module in which the tools are registered")


def tightened(registry: Registry, name: str) -> tuple[Registry, bool]:
    """The same tools and services under a stricter policy.

    A policy can only be tightened here, as everywhere: where the registry's own is stricter, its own stays.

    Returns:
        The registry, and whether the policy of this name holds as it is.
    """
    policy = Policy.from_name(name)
    # Filtered down to nothing, a registry still has its services: context, fallback handler, sinks.
    stricter = registry.filter(())
    stricter.policy = registry.policy.tightened(policy)
    stricter.include(registry)
    return stricter, stricter.policy == policy


def own_traceback(error: BaseException) -> str:
    """The traceback of the user's own code: without the frames of toolbox and of the import machinery."""
    told = traceback.TracebackException.from_exception(error)
    whole = list(told.format())
    kept = _without_inner(told)
    # Where no frame of the user's is left, the fault is ours, and the frames are what a report of it needs.
    return "".join(told.format() if kept or isinstance(error, SyntaxError | ToolboxError) else whole)


def _without_inner(told: traceback.TracebackException) -> int:
    told.stack = traceback.StackSummary.from_list([frame for frame in told.stack if not _is_inner(frame.filename)])
    kept = len(told.stack)
    for other in (told.__cause__, told.__context__, *(told.exceptions or ())):
        if other is not None:
            kept += _without_inner(other)
    return kept


def _is_inner(filename: str) -> bool:
    return filename.startswith(_INNER)


def _split(wanted: str) -> tuple[str, str]:
    place, colon, attribute = wanted.rpartition(":")
    if not colon or any(mark in attribute for mark in "/\\"):
        return wanted, ""  # no colon, or the one of a drive such as C:\app\tools.py
    return place, attribute


def _is_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place or "\\" in place


def _from_module(name: str) -> ModuleType:
    _search_first(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            hint = "run toolbox in the folder that holds it, or name its file: --tools path/tools.py"
            raise UsageProblem(f"there is no module named {error.name}: {hint}") from error
        raise _not_imported(name, error) from error
    except (Exception, SystemExit) as error:
        raise _not_imported(name, error) from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageProblem(f"there is no file {path}" if not path.exists() else f"{path} is no file: name a module or a file")
    path = path.resolve()
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    _search_first(folder)
    try:
        # A file of a package is imported as what it is, so that its relative imports work.
        if len(parts) > 1:
            return importlib.import_module(".".join(parts).removesuffix(".__init__"))
        return _executed(path)
    except (Exception, SystemExit) as error:
        raise _not_imported(str(path), error) from error


def _executed(path: Path) -> ModuleType:
    loaded = sys.modules.get(path.stem)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    # A file that is called like a module in use must not take that module's place.
    taken = loaded is not None or path.stem in sys.stdlib_module_names
    name = f"{path.stem}_of_{path.parent.name}" if taken else path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageProblem(f"{path} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # annotations that are written as text are looked up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _search_first(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _not_imported(place: str, error: BaseException) -> UsageProblem:
    if isinstance(error, UsageProblem):
        return error
    if isinstance(error, SystemExit):
        return UsageProblem(f"{place} ended the program when it was imported: put what it runs under if __name__ == '__main__'")
    return UsageProblem(f"{place} could not be imported", own_traceback(error))


def _registries(module: ModuleType) -> dict[str, Registry]:
    """The registries of a module by name; one that has several names is listed under the first."""
    found: dict[int, tuple[str, Registry]] = {}
    for name, value in vars(module).items():
        if isinstance(value, Registry):
            found.setdefault(id(value), (name, value))
    if len(found) > 1 and not len(default_registry):
        found.pop(id(default_registry), None)  # it was only imported along
    return dict(found.values())


def _named(module: ModuleType, place: str, attribute: str, found: dict[str, Registry]) -> Registry:
    value: Any = module
    for part in attribute.split("."):
        value = getattr(value, part, None)
    if isinstance(value, Registry):
        return value
    there = f"its registries are {', '.join(found)}" if found else "it has no registry"
    if value is None:
        raise UsageProblem(f"{place} has no {attribute}: {there}")
    raise UsageProblem(f"{place}:{attribute} is no Registry but a {type(value).__name__}: {there}")
