"""A progress bar on a terminal; nothing anywhere else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from toolbox.cli.printing import Printer

__all__ = ["progress"]


@contextlib.contextmanager
def progress(printer: Printer, total: int | None) -> Iterator[Callable[[int, str], None]]:
    """A bar while the block runs.

    Args:
        printer: where it is shown.
        total: what the end is; None when nobody knows.

    Yields:
        What is told how far it is, and what to say beside the bar.
    """
    if not printer.err.is_terminal or printer.err.is_dumb_terminal:
        yield _no_progress
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("replaying"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[said]}"), TimeRemainingColumn())
    with Progress(*columns, console=printer.err, transient=True) as bar:
        task = bar.add_task("", total=total, said="")

        def advance(completed: int, said: str) -> None:
            bar.update(task, completed=completed, said=said)

        yield advance


def _no_progress(_completed: int, _said: str) -> None:
    """Nobody is looking."""
