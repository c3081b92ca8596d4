"""One turn of a model: the calls in its response, its own message, and the messages that answer it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from toolbox.errors import PayloadError
from toolbox.payload.found import FoundCall
from toolbox.providers.provider import Provider, source_of
from toolbox.providers.records import ExportedTool, SentResult
from toolbox.providers.restoring import Restoring
from toolbox.providers.shared import legal_names
from toolbox.providers.streaming import CallStream

__all__ = ["Inbound", "StepMessages", "Turn", "open_stream", "read_turn", "write_calls"]

T = TypeVar("T")


class Inbound:
    """Calls under a provider's names and in its dialect -> calls of the tools as they are declared.

    Args:
        provider: the provider.
        tools: the tools that were exported to it.
        nulls: whether null stands for "not given", as in a strict export.
    """

    def __init__(self, provider: Provider, tools: Iterable[ExportedTool], *, nulls: bool) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.names = legal_names(self.tools, provider.names)
        self.own = {written: name for name, written in self.names.items()}
        self.provider = provider
        self.nulls = nulls
        self._restoring: dict[str, Restoring] = {}

    def __call__(self, call: FoundCall) -> FoundCall:
        """The call as declared; an unknown name stays as it is."""
        name = self.own.get(call.name, call.name)
        if name != call.name:
            call = FoundCall(name, call.arguments, call.call_id, call.diagnostics)
        if name not in self.tools or not (self.nulls or self.provider.properties is not None):
            return call
        if name not in self._restoring:
            self._restoring[name] = Restoring(source_of(self.tools[name]), self.provider.properties, nulls=self.nulls)
        return self._restoring[name](call)


class StepMessages(list[dict[str, Any]]):
    """The messages to append to a conversation after a response.

    Attributes:
        results: the results that are among them, in the order of the calls.
        text: the model's text.
        done: whether the model asked for nothing, so that its text is the answer.
    """

    def __init__(self, messages: Iterable[dict[str, Any]], results: Sequence[Any] = (), text: str = "", *, done: bool = False) -> None:
        super().__init__(messages)
        self.results = list(results)
        self.text = text
        self.done = done


@dataclass(frozen=True, slots=True)
class Turn:
    """What a response says, and how it is answered.

    Attributes:
        provider: the provider that the response is of.
        calls: the calls, with the names and arguments that the tools declare.
        texts: the model's text parts.
        problem: why none of the calls may be run, such as that the response was cut off.
        own: the model's own messages, for the next request.
        names: the provider's name of each tool.
    """

    provider: Provider
    calls: list[FoundCall]
    texts: list[str]
    problem: PayloadError | None
    own: list[dict[str, Any]]
    names: Mapping[str, str]

    @property
    def to_run(self) -> list[FoundCall]:
        """The calls that may be run: none where there is a problem."""
        return self.calls if self.problem is None else []

    def runnable(self) -> list[FoundCall]:
        """The calls.

        Raises:
            PayloadError: they may not be run.
        """
        if self.problem is not None:
            raise self.problem
        return self.calls

    def refusals(self) -> list[SentResult]:
        """The answer to each call of a turn with a problem."""
        text = f"Error: {self.problem}"
        return [SentResult(call.name, call.call_id, text, failed=True) for call in self.calls]

    def answered(self, results: Sequence[SentResult], given: Sequence[Any] = ()) -> StepMessages:
        """The model's own messages, and behind them those with the results.

        Args:
            results: one for each call, in the order of the calls; of a turn with a problem they are not needed.
            given: what the caller knows the results as.
        """
        text = "".join(self.texts)
        if self.problem is not None:
            refused = self.refusals()
            sent = self.provider.results(refused, self.names) if refused else [self.provider.user(f"Error: {self.problem}")]
            return StepMessages([*self.own, *sent], given, text)
        sent = self.provider.results(results, self.names) if results else []
        return StepMessages([*self.own, *sent], given, text, done=not self.calls)


def read_turn(response: Any, provider: Provider, *, tools: Iterable[ExportedTool] = (), nulls: bool = False) -> Turn:
    """Read a response of a provider.

    Args:
        response: plain data.
        provider: the provider.
        tools: the tools that were exported to it.
        nulls: whether null stands for "not given", as in a strict export.
    """
    answer = provider.read(response)
    inbound = Inbound(provider, tools, nulls=nulls)
    return Turn(
        provider, [inbound(call) for call in answer.calls], answer.texts, answer.problem, provider.echo(response, answer), inbound.names
    )


def open_stream(
    provider: Provider, make: Callable[[FoundCall], T], *, tools: Iterable[ExportedTool] = (), nulls: bool = False
) -> CallStream[T]:
    """An accumulator for one streamed response of a provider.

    Args:
        provider: the provider.
        make: what a call is handed out as.
        tools: the tools that were exported to it.
        nulls: whether null stands for "not given", as in a strict export.
    """
    inbound = Inbound(provider, tools, nulls=nulls)
    return CallStream(provider.assembler(), lambda call: make(inbound(call)))


def write_calls(provider: Provider, calls: Iterable[FoundCall], text: str = "", names: Collection[str] = ()) -> list[dict[str, Any]]:
    """A model's message with calls in the shape of a provider, for a conversation that began with another one.

    Args:
        provider: the provider that the conversation moves to.
        calls: the calls, under the names of the registry.
        text: what the model said beside them.
        names: all tools of the registry, so that names are written as the export writes them.
    """
    listed = list(calls)
    written = legal_names([*names, *(call.name for call in listed)], provider.names)
    fitted = [
        FoundCall(written[call.name], call.arguments, provider.ids.fitted(call.call_id or f"{position} {call.name}"), call.diagnostics)
        for position, call in enumerate(listed)
    ]
    return provider.calls(fitted, text)
