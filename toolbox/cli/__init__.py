"""The command line: ``toolbox``, also ``python -m toolbox``; it needs the extra ``[cli]``.

Commands exit with 0 when all is well, 1 when a call was refused or failed, 2 when the command itself cannot be carried out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

__all__ = ["main"]

_EXTRA: Final = ("cyclopts", "rich")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: what stands after ``toolbox`` on the command line; that of this process when None.

    Returns:
        The exit code.
    """
    from toolbox.policy import Policy

    try:
        # The default registry is made on import; a wrong name in the environment would surface there, as a traceback.
        Policy.from_environment()
    except ValueError as error:
        return _stopped(f"TOOLBOX_POLICY: {error}")
    try:
        from toolbox.cli.commands import run
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in _EXTRA:
            raise
        return _stopped('the command line needs cyclopts and rich: pip install "toolbox-dispatch[cli]"')
    return run(arguments)


def _stopped(why: str) -> int:
    sys.stderr.write(f"toolbox: {why}\n")
    return 2
