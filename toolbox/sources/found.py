"""What a source of tools gives, and how it becomes tools of a registry: all of it, or all its problems at once."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from toolbox.errors import RegistrationError, ToolboxError
from toolbox.tools import Tool

__all__ = ["Included", "OnSchemaProblem", "SourceTool", "SourceTools", "make_tools"]

OnSchemaProblem = Literal["raise", "report"]
"""Whether problems are raised, or reported with what could be made in spite of them."""


@dataclass(frozen=True, slots=True)
class SourceTool:
    """A tool as its source describes it.

    Attributes:
        name: its name: legal for every provider, and unique in the source.
        description: text for the model.
        schema: the JSON Schema of its parameters; it needs no other document.
        handler: called with the arguments as keyword arguments.
        origin: what the source calls it: the name on an MCP server, or method and path of an operation.
        is_async: whether the handler is declared ``async``.
        dialect: the flavour of JSON Schema, where the schema does not say it itself.
        title: short name for people.
        annotations: hints in the words of MCP, such as ``readOnlyHint``. They are the source's claims, and nothing is decided by them here.
        secret: names of parameters whose values are to be masked.
    """

    name: str
    description: str
    schema: dict[str, Any] = field(repr=False)
    handler: Callable[..., Any] = field(repr=False)
    origin: str
    is_async: bool = False
    dialect: str | None = None
    title: str | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    secret: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SourceTools:
    """All tools of a source.

    Attributes:
        source: what they come from, for messages.
        tools: the tools that could be read, in the order of the source.
        problems: why others could not be read; each names what it is about.
    """

    source: str
    tools: tuple[SourceTool, ...]
    problems: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[SourceTool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)


class Included(NamedTuple):
    """What was included.

    Attributes:
        tools: the tools that were added.
        problems: what is wrong with others, or with parts of them; empty unless problems are only reported.
    """

    tools: list[Tool]
    problems: list[str]


def make_tools(
    found: SourceTools, make: Callable[[SourceTool], Tool], taken: Container[str] = (), *, on_schema_problem: OnSchemaProblem = "raise"
) -> Included:
    """Make tools of what a source gives, and add none of them yet: either all can be added, or all problems are known.

    Args:
        found: what the source gives.
        make: makes one tool, without adding it.
        taken: names that are not free.
        on_schema_problem: ``"raise"`` raises every problem of every tool together; ``"report"`` leaves out what cannot become a tool, and
            gives the problems with the rest.

    Raises:
        RegistrationError: something cannot become a tool, and problems are to be raised.
        ValueError: there is no such way to deal with problems.
    """
    if on_schema_problem not in {"raise", "report"}:
        raise ValueError(f"on_schema_problem is 'raise' or 'report', not {on_schema_problem!r}")
    problems = list(found.problems)
    tools: list[Tool] = []
    for item in found.tools:
        if item.name in taken:
            problems.append(f"{item.name}: the name is taken: pass prefix=...")
            continue
        try:
            made = make(item)
        except RegistrationError as error:
            problems.extend(f"{item.name}: {problem}" for problem in error.problems)
        except ToolboxError as error:
            problems.append(f"{item.name}: {error}")
        else:
            tools.append(made)
            problems.extend(f"{item.name}: {problem}" for problem in made.schema_problems)
    if problems and on_schema_problem == "raise":
        raise RegistrationError(found.source, problems)
    return Included(tools, problems)
