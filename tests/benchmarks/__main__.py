"""Run the measurements: ``python -m tests.benchmarks`` for all that need nothing from outside, or name the ones to run."""

from __future__ import annotations

import importlib
import sys

# Those that need data which is installed on purpose are run by name: see their own text.
USUAL = ("dispatch", "imports", "matching", "schemas", "growth", "redaction", "durable")
ON_REQUEST = ("recovery", "report", "kills")


def main(arguments: list[str]) -> int:
    """Run the named measurements, or the usual ones."""
    known = (*USUAL, *ON_REQUEST)
    names = [name for name in arguments if name in known] or list(USUAL)
    rest = [argument for argument in arguments if argument not in known]
    for name in names:
        print(f"== {name} ==")
        importlib.import_module(f"tests.benchmarks.{name}").main(rest)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
