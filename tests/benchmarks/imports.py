"""What an import costs, in fresh processes, and what the core installs."""

from __future__ import annotations

import importlib.metadata
import re
import statistics
import subprocess
import sys

STATEMENTS = (
    "import toolbox",
    "import pydantic",
    "from toolbox import Registry, tool",
    "from pydantic import validate_call",
    "from pydantic import BaseModel",
)


def _milliseconds(statement: str) -> float:
    code = f"import time; t = time.perf_counter(); {statement}; print((time.perf_counter() - t) * 1000)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def _core_distributions() -> list[str]:
    pending, found = ["toolbox-dispatch"], set()
    while pending:
        name = re.split(r"[<>=!~;\s\[]", pending.pop())[0]
        if name.lower() in found:
            continue
        found.add(name.lower())
        pending.extend(
            item for item in importlib.metadata.requires(name) or () if "extra ==" not in item and "python_version <" not in item
        )
    return sorted(found)


def main(_arguments: list[str]) -> None:
    """Print the table."""
    times: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for _ in range(11):
        for statement in STATEMENTS:
            times[statement].append(_milliseconds(statement))
    print(f"{'':40} {'median ms':>10}")
    for statement, taken in times.items():
        print(f"{statement:40} {statistics.median(taken):10.1f}")
    core = _core_distributions()
    print(f"distributions of the core: {len(core)} ({', '.join(core)})")
