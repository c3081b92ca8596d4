"""What every provider is: how tools are written for it, how its responses are read, and how results are written back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from toolbox.payload.found import FoundCall
from toolbox.providers.dialects import Dialect
from toolbox.providers.records import ExportedTool, SentResult
from toolbox.providers.shared import Answer, IdRule, NameRule
from toolbox.providers.streaming import Assembler
from toolbox.schema import write_schema
from toolbox.types import Document

__all__ = ["AUTO", "NONE", "REQUIRED", "Choice", "Limits", "Provider", "StrictBudget", "WrittenTool"]

AUTO = "auto"
NONE = "none"
REQUIRED = "required"


class WrittenTool(NamedTuple):
    """A tool as it goes into a provider's definition.

    Attributes:
        name: the name that the provider allows.
        description: text for the model, with what the schema could not say.
        parameters: the schema of its parameters in the provider's dialect.
        document: what the schema was written from.
        strict: whether the provider is to hold the model to the schema.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    document: Document
    strict: bool


class Limits(NamedTuple):
    """A provider's maximums; None where none is known.

    Attributes:
        tools: tools in one request.
        description: characters of a tool's description.
        strict_tools: tools in one request that may be strict.
    """

    tools: int | None = None
    description: int | None = None
    strict_tools: int | None = None


class Choice(NamedTuple):
    """Which tools a model may or must call.

    Attributes:
        mode: ``"auto"``, ``"none"``, ``"required"`` (any tool), or ``"tool"``.
        name: the provider's name of the one tool that must be called.
        parallel: whether several calls in one answer are allowed; None leaves it to the provider.
    """

    mode: str
    name: str | None = None
    parallel: bool | None = None


class StrictBudget:
    """What the strict tools of one request may use up altogether; by default nothing is limited."""

    def refusal(self, document: Document) -> tuple[str, str] | None:  # noqa: ARG002 - for providers that limit something
        """The path and the reason why one more tool cannot be strict; None, and the tool is counted, when it can."""
        return None


class Provider:
    """One provider; every file of this package has one.

    Attributes:
        name: how users call it.
        names: the rule for names of tools.
        properties: the rule for names of properties; None for any name.
        ids: the rule for ids of calls.
        dialect: what its schemas can say.
        strict_dialect: what they can say where the model is held to them; None where there is no such mode.
        limits: its maximums.
        strict_note: what a request with strict tools needs beside them.
    """

    name: ClassVar[str]
    names: ClassVar[NameRule]
    ids: ClassVar[IdRule]
    dialect: ClassVar[Dialect]
    strict_dialect: ClassVar[Dialect | None] = None
    limits: ClassVar[Limits] = Limits()
    strict_note: ClassVar[str] = ""

    @property
    def properties(self) -> NameRule | None:
        """The rule for names of properties."""
        return self.dialect.properties

    # Tools out

    def schema(self, document: Document) -> dict[str, Any]:
        """The schema of a document that is in the provider's dialect."""
        return write_schema(document)

    def definition(self, tool: WrittenTool) -> dict[str, Any]:
        """The definition of one tool."""
        raise NotImplementedError

    def request_tools(self, definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What a request takes as its tools."""
        return definitions

    def budget(self) -> StrictBudget:
        """What the strict tools of one request may use up; a new one for each request."""
        return StrictBudget()

    def choice(self, choice: Choice) -> dict[str, Any]:
        """The part of a request that says which tools the model may call."""
        raise ValueError(f"{self.name} takes no choice of tools ({choice.mode}); send only the tools that may be called")

    # Calls in

    def recognises(self, response: Any) -> bool:
        """Whether plain data is a response, or a message, of this provider."""
        raise NotImplementedError

    def read(self, response: Any) -> Answer:
        """What a response says; `response` is plain data."""
        raise NotImplementedError

    def echo(self, response: Any, answer: Answer) -> list[dict[str, Any]]:
        """The model's own messages of a response, as a following request takes them."""
        raise NotImplementedError

    def assembler(self) -> Assembler:
        """What puts the events of a stream together."""
        raise ValueError(f"{self.name} has no streams of calls")

    # Results out

    def results(self, results: Sequence[SentResult], names: Mapping[str, str]) -> list[dict[str, Any]]:
        """The messages that carry results back.

        Args:
            results: the results of one turn, in the order of the calls.
            names: the provider's name of each tool.
        """
        raise NotImplementedError

    def calls(self, calls: Sequence[FoundCall], text: str) -> list[dict[str, Any]]:
        """The message of a model that made some calls, for a conversation that began elsewhere; ids and names are legal already."""
        raise NotImplementedError

    def user(self, text: str) -> dict[str, Any]:
        """A user's message."""
        return {"role": "user", "content": text}

    def wire_id(self, result: SentResult) -> str:
        """The id that a result carries."""
        return self.ids.fitted(result.call_id or result.tool)


def source_of(tool: ExportedTool) -> Document:
    """The document of a tool."""
    if tool.document is not None:
        return tool.document
    from toolbox.schema import read_schema

    return read_schema(tool.schema)
