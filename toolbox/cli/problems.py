"""Why a command cannot be carried out."""

from __future__ import annotations

__all__ = ["UsageProblem"]


class UsageProblem(Exception):
    """The command cannot be carried out as it was given; it ends with exit code 2.

    Attributes:
        message: what is wrong and what to write instead.
        detail: more lines, shown below the message; may be empty.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        self.message = message
        self.detail = detail
        super().__init__(message, detail)
