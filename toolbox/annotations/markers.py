"""What an author writes into ``Annotated[...]`` to refine one parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from toolbox.policy import Policy

__all__ = ["Converter", "Injected", "InjectedMarker", "OpenEnum", "Param"]


@dataclass(frozen=True, slots=True)
class Param:
    """Refines one parameter or field: ``Annotated[str, Param(alias="q", secret=True)]``.

    Attributes:
        description: text for the model.
        alias: another name, or several, under which the argument may come.
        secret: mask the value in every record, log, error and message.
        aliases: other spellings of enum choices, to the choice: ``{"urgent": "high"}``.
        policy: tightens the tool's policy for this parameter.
        examples: JSON values that show what is meant.
        allow_non_finite: accept NaN and the infinities for a float.
    """

    description: str | None = None
    alias: str | Sequence[str] | None = None
    secret: bool = False
    aliases: Mapping[str, Any] | None = None
    policy: Policy | None = None
    examples: Sequence[Any] = ()
    allow_non_finite: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The other names, as a tuple."""
        if self.alias is None:
            return ()
        return (self.alias,) if isinstance(self.alias, str) else tuple(self.alias)


class OpenEnum:
    """Marks an enum that keeps unknown text: ``Annotated[Literal["a", "b"], OpenEnum]``. The text is recorded as a warning."""


class InjectedMarker:
    """Marks a parameter that comes from the caller's context."""

    def __repr__(self) -> str:
        return "Injected"


_T = TypeVar("_T")

Injected = Annotated[_T, InjectedMarker()]
"""``Injected[Database]``: the value comes from the caller's context, is in no schema, and no model can set it."""


@dataclass(frozen=True, slots=True)
class Converter:
    """How a class that toolbox does not know is made from JSON.

    Attributes:
        source: annotation of what comes, such as ``str`` or a TypedDict; it is coerced first, and it is what the schema shows.
        convert: makes the instance of it; a ValueError or TypeError is reported as a refusal with its text.
    """

    source: Any
    convert: Callable[[Any], Any]
