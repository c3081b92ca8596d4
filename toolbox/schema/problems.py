"""What is wrong with a schema: every problem with its place, raised together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolbox.errors import ToolboxError
from toolbox.types import Document

__all__ = ["InvalidSchema", "SchemaProblem"]


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """One thing that is wrong with a schema.

    Attributes:
        path: where, such as ``$.properties.limit.minimum``; in another document, the first key is that document's address.
        message: what is wrong, and what to write instead.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class InvalidSchema(ToolboxError, ValueError):
    """A schema is not valid itself, so nothing can be checked by it.

    Attributes:
        problems: every problem found.
        document: what is left when the keywords that are not valid are ignored; None where nothing can be read.
    """

    def __init__(self, problems: Sequence[SchemaProblem], document: Document | None = None) -> None:
        self.problems = tuple(problems)
        self.document = document
        super().__init__(self.problems)

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return f"the schema is invalid: {self.problems[0]}"
        return f"the schema is invalid, {len(self.problems)} problems:" + "".join(f"\n- {problem}" for problem in self.problems)
