"""Streams: events of any form put together into calls and into the response that they make up."""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from toolbox.errors import PayloadError
from toolbox.json_values import json_text
from toolbox.payload.found import FoundCall
from toolbox.providers.records import PartialCall
from toolbox.providers.shared import cut_off, found_call, plain

__all__ = ["Assembler", "CallStream", "Slot"]

T = TypeVar("T")
MOST_CHARACTERS: Final = 16_000_000
"""Characters of one streamed response: far more than any model sends."""
_NO_CONTENT: Final = ("event:", "id:", "retry:", ":")


@dataclass(slots=True)
class Slot:
    """One call on its way.

    Attributes:
        name: name of the tool.
        call_id: id of the call.
        pieces: text of the arguments, as it came.
        value: the arguments where they came whole.
        ended: whether the provider has said that nothing more of it comes.
        taken: whether it was handed out.
    """

    name: str = ""
    call_id: str | None = None
    pieces: list[str] = field(default_factory=list)
    value: Any = None
    ended: bool = False
    taken: bool = False
    _looked_at: int = -1
    _whole: bool = False

    @property
    def arguments(self) -> Any:
        """The arguments so far: whole ones, else their text."""
        return self.value if self.value is not None else "".join(self.pieces)

    def whole(self) -> bool:
        """Whether nothing can be missing: the arguments came whole, or as the full text of a JSON object.

        A provider also says that a call has ended when the model ran out of tokens in it, and empty text stands for no arguments as well
        as for arguments that never began: both are known to be whole only from the reason why the model stopped.
        """
        if self.value is not None:
            return True
        if len(self.pieces) != self._looked_at:  # once for each text: events of other calls ask again and again
            self._looked_at, self._whole = len(self.pieces), self._is_object()
        return self._whole

    def _is_object(self) -> bool:
        text = "".join(self.pieces).strip()
        if not (text.startswith("{") and text.endswith("}")):
            return False
        try:
            return isinstance(json.loads(text), dict)
        except (ValueError, RecursionError):
            return False

    def text(self) -> str:
        """The text of the arguments."""
        return "".join(self.pieces) if self.value is None else json_text(self.value)


class Assembler:
    """Puts the events of one provider's stream together; every provider with streams has one.

    Attributes:
        slots: the calls, in order.
        texts: pieces of the model's text.
        stop: the reason why the model stopped, as the provider says it.
        problem: why the calls that were not complete by then may not be run.
        ended: whether the provider has said that the response is complete.
    """

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.texts: list[str] = []
        self.stop: str | None = None
        self.problem: PayloadError | None = None
        self.ended = False

    def add(self, event: dict[str, Any]) -> None:
        """Take one event."""
        raise NotImplementedError

    def response(self) -> dict[str, Any]:
        """The response that the events make up, in the shape of one that was not streamed."""
        raise NotImplementedError

    def within(self) -> object:
        """What tells this response from others: for ids that are made."""
        return ""

    def finish(self) -> None:
        """The provider has said why the model stopped: every call has ended."""
        self.ended = True
        for slot in self.slots:
            slot.ended = True

    def append(self, slot: Slot, piece: Any) -> None:
        """Add a piece to a call's arguments.

        Raises:
            PayloadError: the call was handed out already.
        """
        if piece is None or piece == "":
            return
        if slot.taken:
            raise PayloadError("broken_stream", "more arguments came for a call that was complete")
        if isinstance(piece, str):
            slot.pieces.append(piece)
        else:
            slot.value = piece


class _Events:
    """Raw text or bytes of a stream -> the JSON values in it: server-sent events, lines of JSON, or lines one by one."""

    def __init__(self) -> None:
        self.rest: list[str] = []  # of a line whose end has not come yet
        self.decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def feed(self, raw: str | bytes) -> Iterator[Any]:
        text = self.decode(raw) if isinstance(raw, bytes) else raw
        if "\n" in text:
            self.rest.append(text)
            *lines, rest = "".join(self.rest).split("\n")  # not splitlines: U+2028 may stand inside a JSON string
            self.rest = [rest] if rest else []
            for line in lines:
                yield from _value_of(line)
            return
        # A client that hands over line by line strips the ends: what is a whole value, or says nothing, is a line.
        found = list(_value_of(text)) if not self.rest or text.startswith("data:") else []
        if found or (not self.rest and (text.startswith(_NO_CONTENT) or not text.strip() or text.strip() == "data: [DONE]")):
            self.rest = []
            yield from found
        else:
            self.rest.append(text)

    def flush(self) -> Iterator[Any]:
        """The last line, when it came without an end."""
        rest, self.rest = "".join(self.rest), []
        yield from _value_of(rest)


def _value_of(line: str) -> Iterator[Any]:
    text = line.strip()
    if text.startswith("data:"):
        text = text[5:].strip()
    if not text.startswith(("{", "[")) or text == "[DONE]":
        return
    try:
        yield json.loads(text)
    except (ValueError, RecursionError):
        return


@dataclass(slots=True)
class CallStream(Generic[T]):
    """The calls of one streamed response, each as soon as it is complete.

    Feed it what the SDK yields, the plain dicts of it, or the raw lines. A call is handed out when it is certain that nothing of it is
    missing; what was cut off is refused by `close`, which `read` and `aread` call at the end.

    Attributes:
        calls: the calls that were handed out so far.
    """

    assembler: Assembler
    make: Callable[[FoundCall], T]
    calls: list[T] = field(default_factory=list)
    _events: _Events = field(default_factory=_Events)
    _size: int = 0

    def feed(self, event: Any) -> list[T]:
        """Take one event (an SDK's object, a dict, or raw text), and give the calls that it completes.

        Raises:
            PayloadError: the stream is beyond all limits, or contradicts itself.
        """
        if isinstance(event, str | bytes):
            self._grow(len(event))
            return self._take(self._events.feed(event))
        data = plain(event)
        self._grow(len(str(data)))
        return self._take([data])

    def _grow(self, characters: int) -> None:
        self._size += characters
        if self._size > MOST_CHARACTERS:
            raise PayloadError("too_large", "the streamed answer is too long")

    def _take(self, values: Iterable[Any]) -> list[T]:
        before = len(self.calls)
        for value in values:
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, dict):
                    self.assembler.add(item)
                    self._hand_out()
        return self.calls[before:]

    def _hand_out(self) -> None:
        assembler = self.assembler
        safe = assembler.ended and assembler.problem is None
        for position, slot in enumerate(assembler.slots):
            if not slot.taken and slot.ended and slot.name and (safe or (assembler.problem is None and slot.whole())):
                slot.taken = True
                self.calls.append(self.make(found_call(slot.name, slot.arguments, slot.call_id, position, assembler.within())))

    @property
    def text(self) -> str:
        """The model's text so far."""
        return "".join(self.assembler.texts)

    @property
    def partial(self) -> list[PartialCall]:
        """The calls that are still arriving: for display only, never to be run."""
        return [PartialCall(slot.name, slot.text(), slot.call_id) for slot in self.assembler.slots if not slot.taken]

    @property
    def response(self) -> dict[str, Any]:
        """The response so far, in the shape of one that was not streamed: what the rest of toolbox reads."""
        return self.assembler.response()

    def close(self) -> list[T]:
        """Say that the stream has ended, and give the calls that its last line completes.

        Raises:
            PayloadError: a call was cut off, or the stream ended without an end.
        """
        last = self._take(self._events.flush())
        if self.assembler.problem is not None and (self.partial or self.assembler.problem.reason != "truncated"):
            raise self.assembler.problem
        if self.partial:
            raise cut_off("the stream broke off")
        return last

    def read(self, events: Iterable[Any]) -> Iterator[T]:
        """The calls of a whole stream, each as soon as it is complete.

        Raises:
            PayloadError: a call was cut off.
        """
        for event in events:
            yield from self.feed(event)
        yield from self.close()

    async def aread(self, events: AsyncIterable[Any]) -> AsyncIterator[T]:
        """The asynchronous twin of `read`.

        Raises:
            PayloadError: a call was cut off.
        """
        async for event in events:
            for call in self.feed(event):
                yield call
        for call in self.close():
            yield call
