"""What every provider's file starts from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

__all__ = ["ExportedTool", "legal_names"]


class ExportedTool(NamedTuple):
    """A tool as the providers' files see it.

    Attributes:
        name: its name in the registry.
        description: text for the model.
        schema: the JSON Schema of its parameters.
    """

    name: str
    description: str
    schema: dict[str, Any]


def legal_names(names: Iterable[str], illegal: re.Pattern[str], longest: int) -> dict[str, str]:
    """A legal and unique name for each name: the same one wherever it is legal, deterministic where it is not."""
    made: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        legal = illegal.sub("_", name)[:longest] or "tool"
        unique, number = legal, 2
        while unique in taken:
            ending = f"_{number}"
            unique, number = legal[: longest - len(ending)] + ending, number + 1
        taken.add(unique)
        made[name] = unique
    return made
