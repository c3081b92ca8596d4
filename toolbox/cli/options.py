"""Options that several commands share."""

from __future__ import annotations

from typing import Final

from cyclopts import Parameter

__all__ = ["HYPHEN"]


def _no_option(_: object, text: str | None) -> None:
    if text is not None and text.startswith("--"):
        raise ValueError(f"There is no option {text} (what begins with -- can be read from a file, or from standard input with -)")


HYPHEN: Final = Parameter(allow_leading_hyphen=True, validator=_no_option)
"""A lone - is standard input, and -5 may be what a model sent."""
