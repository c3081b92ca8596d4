"""Calls at a position in a text: JSON that stands for calls, or calls as code, with the record of what was mended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from toolbox.diagnostics import Diagnostic, DiagnosticKind, Risk, path_text
from toolbox.errors import PayloadError
from toolbox.payload.found import FoundCall, KnownTools, step
from toolbox.payload.reader import REPAIRS, Broken, CallText, Cut, Reader
from toolbox.payload.repeated import of_calls, within
from toolbox.payload.shapes import ARGUMENT_KEYS, calls_in, code_in, is_schema, resolve, squash
from toolbox.policy import Policy, RepairLevel

__all__ = ["Finder", "allowed", "notes_of", "truncated"]

_TYPE_NAMES: Final = frozenset(
    ("str", "string", "int", "integer", "float", "number", "bool", "boolean", "list", "dict", "object", "array", "any", "Any", "Optional")
)


_BETWEEN: Final = re.compile(r"[\s;,.]*")


# How deep texts that hold calls may stand in texts that hold calls.
_LAYERS: Final = 2
_FAILURES: Final = 250


def _tangled() -> PayloadError:
    return PayloadError("not_json", "the text is too tangled to be read; send one JSON object alone")


def truncated(position: int, what: str = "arguments") -> PayloadError:
    """The error for a text that ends inside a value."""
    return PayloadError(
        "truncated",
        f"your {what} were cut off after {position} characters, inside a value; "
        f"send the complete {what} again, shorter if they are too long",
    )


def notes_of(reader: Reader) -> list[Diagnostic]:
    """The record of what a reader mended since it last began."""
    notes = [step(DiagnosticKind.REPAIRED, REPAIRS[what][0], what, REPAIRS[what][1]) for what in reader.repairs]
    notes += reader.duplicates
    if reader.cut is Cut.CLOSERS:
        notes.append(step(DiagnosticKind.CLOSED, Risk.WARNING, "closing brackets", "send the complete text"))
    elif reader.cut is Cut.INSIDE:
        notes.append(step(DiagnosticKind.TRUNCATED, Risk.RISKY, "inside a value", "send the complete text"))
    return notes


def allowed(notes: Sequence[Diagnostic], policy: Policy) -> PayloadError | None:
    """Why the policy does not allow what was done, or None."""
    for note in notes:
        if note.kind is DiagnosticKind.TRUNCATED and (note.risk > policy.max_risk or policy.repair < RepairLevel.CLOSE):
            return PayloadError("truncated", "your arguments were cut off inside a value; send them complete")
        if note.kind is DiagnosticKind.CLOSED and (note.risk > policy.max_risk or policy.repair < RepairLevel.CLOSE):
            return PayloadError("truncated", "your arguments were cut off before their last closing bracket; send them complete")
        if note.kind is DiagnosticKind.REPAIRED and (note.risk > policy.max_risk or policy.repair < RepairLevel.REPAIR):
            return PayloadError("not_json", f"the arguments are not valid JSON ({note.conversion}): {note.suggestion}")
        # A key given twice is judged where the arguments are bound: there it has a path and may turn out to be no parameter at all.
        if note.risk > policy.max_risk and note.kind is not DiagnosticKind.DUPLICATE_KEY:
            return PayloadError("not_json", f"the arguments came wrapped in something else ({note.conversion}); send one JSON object alone")
    return None


def _is_spoken_of(call: CallText, declared: Sequence[str]) -> bool:
    """Whether this is how a function is declared or spoken of, not how it is called: names of types or of its parameters are its values."""
    if any(bare in _TYPE_NAMES for bare in call.bare.values()):
        return True
    if any(declared[key] == bare for key, bare in call.bare.items() if isinstance(key, int) and key < len(declared)):
        return True
    return len(call.bare) == len(call.keywords) + len(call.positional) and all(bare == key for key, bare in call.bare.items())


def _moved(notes: list[Diagnostic], place: str, at: str) -> list[Diagnostic]:
    """The records, where those of a place have their paths from `at` on."""
    if not any(note.kind is DiagnosticKind.DUPLICATE_KEY for note in notes):
        return notes
    return [moved for note in notes for moved in within([note], place, at) or [note]]


class Finder:
    """Reads calls from one text.

    Attributes:
        end: index after what was read last.
        layer: in how many texts this text stands.
        failures: how often there was nothing that could be read.
        fuel: how many characters may still be read; some are read twice, none often.
        lost: a call of a registered tool stands as a statement, and can't be read.
        orders: parameters of functions that the text itself defines under the name of a tool, in its own order; None where it is not clear.
        unfilled: variables that the text leaves to be filled in. Their names count as texts, but not where the parameter has the same name.
    """

    def __init__(self, text: str, known: KnownTools | None, policy: Policy, layer: int = 0) -> None:
        self.text = text
        self.known = known
        self.policy = policy
        self.reader = Reader(text, policy.limits, self._is_name)
        self.end = 0
        self.failures = 0
        self.layer = layer
        self.fuel = 8 * len(text) + 10_000
        self.lost = False
        self.orders: dict[str, list[str] | None] = {}
        self.unfilled: frozenset[str] = frozenset()
        self._names: dict[str, str | None] = {}
        self._texts: dict[str, list[FoundCall] | None] = {}

    def resolve(self, name: str) -> str | None:
        """The registered name that a name stands for."""
        if name not in self._names:
            if len(self._names) > 1_000:
                self._names.clear()
            self._names[name] = resolve(name, self.known)
        return self._names[name]

    def _is_name(self, name: str) -> bool:
        return self.known is not None and self.resolve(name) is not None

    def value(self, position: int, calls: bool = False) -> Any:
        """One value; see `Reader.read`."""
        self._spend(0)
        try:
            value = self.reader.read(position, calls)
        except Broken as error:
            self._failed(error.position - position)
            raise
        except PayloadError:
            self._failed(self.reader.position - position)
            raise
        self.end = self.reader.position
        self._spend(self.end - position)
        return value

    def call(self, position: int) -> CallText:
        """One call as code."""
        self._spend(0)
        try:
            call = self.reader.read_call(position)
        except Broken as error:
            self._failed(error.position - position)
            raise
        self.end = self.reader.position
        self._spend(self.end - position)
        return call

    def pass_over(self, end: int, characters: int) -> None:
        """Go on behind something that was read before."""
        self.end = end
        self._spend(characters)

    def refuse_cut(self, what: str = "arguments") -> None:
        """Look at how the text ended when it was read last; `what` names what the model is to send again.

        Raises:
            PayloadError: it ended inside a value, and the policy takes no value that may have been longer.
        """
        if self.reader.cut is Cut.INSIDE and self.policy.max_risk < Risk.RISKY:
            raise truncated(len(self.text), what)

    def _failed(self, characters: int) -> None:
        self.failures += 1
        if self.failures > _FAILURES:
            raise _tangled()
        self._spend(characters)

    def _spend(self, characters: int) -> None:
        self.fuel -= characters + 1
        if self.fuel < 0:
            raise _tangled()

    def calls_at(self, position: int, explicit: bool = False) -> list[FoundCall] | None:
        """The calls that start at a position, or None when something else stands there.

        Raises:
            Broken: what stands there can't be read.
        """
        mark = self.text[position : position + 1]
        if mark and mark in "[{(":
            value = self.value(position, calls=True)
            return self.calls_of(value, notes_of(self.reader), explicit)
        call = self.call(position)
        return self.calls_of(call, notes_of(self.reader), explicit)

    def calls_of(self, value: Any, notes: Sequence[Diagnostic], explicit: bool = False) -> list[FoundCall] | None:
        """The calls that a value from the reader stands for."""
        if isinstance(value, CallText):
            found = self.bound(value, notes)
            return None if found is None else [found]
        if isinstance(value, list):
            calls: list[FoundCall] = []
            pair = calls_in(value, self.known) if len(value) == 2 and isinstance(value[0], str) else None
            if pair is not None:
                return of_calls(pair, value, notes, self.policy) or None
            repeated = [note for note in notes if note.kind is DiagnosticKind.DUPLICATE_KEY]
            others = [note for note in notes if note.kind is not DiagnosticKind.DUPLICATE_KEY]
            for index, item in enumerate(value):
                own = [*others, *within(repeated, f"$[{index}]")] if repeated else others
                if isinstance(item, str):
                    calls += of_calls(self._in_text(item) or [], item, own, self.policy)
                else:
                    calls += self.calls_of(item, own, explicit) or ()
            return calls or None
        shapes = calls_in(value, self.known)
        if not shapes and isinstance(value, dict) and (code := code_in(value)):
            return of_calls(self._in_text(code) or [], value, notes, self.policy) or None
        if not shapes and explicit and isinstance(value, dict):
            shapes = calls_in(value, None, loose=False)
        if not shapes:
            return None
        return of_calls(shapes, value, notes, self.policy)

    def _in_text(self, text: str) -> list[FoundCall] | None:
        """The calls that a text in a list consists of; a text that comes again is read once."""
        if text not in self._texts:
            if len(self._texts) > 100:
                self._texts.clear()
            self._texts[text] = self._read_text(text)
        return self._texts[text]

    def _read_text(self, text: str) -> list[FoundCall] | None:
        if self.layer >= _LAYERS:
            return None
        text = text.strip().strip("`").strip()
        if not re.match(r"[\[{]|[^\W\d][\w.$]*\s?\(", text):
            return None
        inner = Finder(text, self.known, self.policy, self.layer + 1)
        found: list[FoundCall] = []
        position = 0
        try:
            while position < len(text):
                calls = inner.calls_at(position)
                if not calls or inner.reader.cut:
                    return None
                found += calls
                position = _BETWEEN.match(text, inner.end).end()  # type: ignore[union-attr]  # matches the empty text too
        except (Broken, PayloadError):
            self._failed(0)
            return None
        return found

    def bound(self, call: CallText, read: Sequence[Diagnostic] = ()) -> FoundCall | None:
        """A call with its positional arguments bound to parameters, or None when they can't be.

        Args:
            call: the call as it was written.
            read: what was mended to read it; paths start with the name or the index of an argument.
        """
        name = self.resolve(call.name)
        if name is None:
            return None
        arguments = dict(call.keywords)
        notes = list(read)
        declared = list(self.known.parameters(name)) if self.known is not None else []
        if call.bare and _is_spoken_of(call, declared):
            return None
        found = self._with_parameters(call, name, arguments, declared, notes)
        return None if found is None or self._says_nothing(found.arguments) else found

    def _with_parameters(
        self, call: CallText, name: str, arguments: dict[str, Any], declared: Sequence[str], notes: list[Diagnostic]
    ) -> FoundCall | None:
        if len(arguments) == 1 and not call.positional and self.known is not None:
            (key, inner), *_ = arguments.items()
            if key in ARGUMENT_KEYS and key not in declared and isinstance(inner, dict) and self._fits(inner, name, declared):
                notes = _moved(notes, path_text((None, key)), "$")
                notes.append(step(DiagnosticKind.UNWRAPPED, Risk.WARNING, f"an object named {key}", "name the arguments"))
                return FoundCall(name, inner, None, tuple(notes))
        if call.positional:
            first = call.positional[0]
            if len(call.positional) == 1 and not arguments and isinstance(first, dict) and self._fits(first, name, declared):
                if is_schema(first, declared):
                    return None
                notes = _moved(notes, "$[0]", "$")
                notes.append(step(DiagnosticKind.UNWRAPPED, Risk.WARNING, "an object as the only argument", "name the arguments"))
                return FoundCall(name, first, None, tuple(notes))
            order = self._order(call.name, declared)
            if len(call.positional) > len(order) or any(key in arguments for key in order[: len(call.positional)]):
                return None
            for index, (key, value) in enumerate(zip(order, call.positional, strict=False)):
                arguments[key] = value
                notes = _moved(notes, f"$[{index}]", path_text((None, key)))
                path = path_text((None, key))
                notes.append(Diagnostic(path, DiagnosticKind.BOUND, Risk.WARNING, value, value, "by position", "name the arguments"))
        return FoundCall(name, arguments, None, tuple(notes))

    def _says_nothing(self, arguments: dict[str, Any]) -> bool:
        """Whether an argument is left to be filled in, and its name says no more than the parameter's."""
        return bool(self.unfilled) and any(
            isinstance(value, str) and value in self.unfilled and squash(value) == squash(key) for key, value in arguments.items()
        )

    def _order(self, written: str, declared: Sequence[str]) -> Sequence[str]:
        """The parameters in the order in which a call gives them; none where the text has an order of its own that is not clear."""
        own = self.orders.get(written, ())
        if not own:
            return declared if own == () else ()
        names = {squash(key): key for key in declared}
        order = [names.get(squash(key), "") for key in own]
        return order if all(order) else ()

    def _fits(self, value: dict[str, Any], name: str, declared: Sequence[str]) -> bool:
        names = {squash(key) for key in declared}
        return not declared or any(squash(key) in names for key in value) or (self.known is not None and self.known.takes_any(name))
