"""Text to the arguments of one call: the ladder from plain JSON to repair, cheapest step first."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from toolbox.diagnostics import Diagnostic, DiagnosticKind, Risk
from toolbox.errors import PayloadError
from toolbox.payload.conventions.marked import marked_calls, spoken_text
from toolbox.payload.finder import Finder, allowed, notes_of, truncated
from toolbox.payload.found import ExtractedPayload, FoundCall, KnownTools, step
from toolbox.payload.limits import too_deep
from toolbox.payload.parts import is_part, is_unmeant
from toolbox.payload.prose import statements
from toolbox.payload.reader import Broken, CallText
from toolbox.payload.repeated import at_parameters, of_calls, within
from toolbox.payload.shapes import ARGUMENT_KEYS, NAME_KEYS, calls_in, is_report, squash
from toolbox.payload.strict import decode, parse_json
from toolbox.payload.trimming import fence_around, fences_in, trim, unescape_markdown, without_thoughts
from toolbox.policy import LENIENT, Policy, RepairLevel

__all__ = ["extract_arguments"]

_LAYERS: Final = 3
_CALL: Final = re.compile(r"[\[(`\s]*((?:[^\W\d]|\$)[\w.$]*+)\s?\(")
# What an object can start with.
_STARTS: Final = re.compile(r"\s*+(?:[\"'\u201c\u201d\u201e\u2018\u2019}/#\ufeff\u200b\x00]|\w|\$|\Z)")
_MEMBER: Final = re.compile(r"\s*+[\"'\u201c\u2018]?[\w$ .-]{1,80}[\"'\u201d\u2019]?\s*+:")
_CALLED: Final = re.compile(r"(?<![\w$.])((?:[^\W\d]|\$)[\w.$]*+)\s?\(")
# How many of the objects that are the same are looked at with what surrounds them.
_LOOKED_AT: Final = 20
_CLOSERS: Final = re.compile(r"[\s\])}`;.]*\Z")
_SHAPE: Final = 'send one JSON object, such as {"name": value}, and nothing else'


def extract_arguments(
    text: str | bytes, *, policy: Policy = LENIENT, known: KnownTools | None = None, tool: str | None = None
) -> ExtractedPayload:
    """The arguments that a text holds.

    Args:
        text: JSON text, or whatever a model made of it: fenced, in tags, in prose, as a call, broken.
        policy: how far the search and the repair may go.
        known: the registered tools, to tell an envelope from arguments and to bind arguments by position.
        tool: name of the tool that the text is meant for; a text that names another tool is refused.

    Returns:
        The arguments: usually a dict; another JSON value where the text is one; None where the text is blank.

    Raises:
        PayloadError: there are no arguments, or several different ones, or they were cut off, broken, or too large.

    >>> extract_arguments("Sure: {'limit': 3,}").arguments
    {'limit': 3}
    >>> extract_arguments('{"path": "/home/us')
    Traceback (most recent call last):
    toolbox.errors.PayloadError: your arguments were cut off after 18 characters, inside a value; send the complete arguments again, ...
    """
    if isinstance(text, bytes | bytearray):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise PayloadError("not_text", f"the arguments are not UTF-8 text: they break at byte {error.start + 1}; {_SHAPE}") from None
    ladder = _Ladder(policy, known, tool)
    try:
        arguments = ladder.climb(text, 0)
    except RecursionError:  # the caller's own stack is nearly used up
        raise too_deep(policy.limits) from None
    notes = at_parameters(ladder.notes)
    if notes:
        refusal = allowed(notes, policy)
        if refusal is not None:
            raise refusal
    return ExtractedPayload(arguments, ladder.name, notes)


class _Ladder:
    __slots__ = ("broken", "known", "name", "notes", "policy", "tool")

    def __init__(self, policy: Policy, known: KnownTools | None, tool: str | None) -> None:
        self.policy = policy
        self.known = known
        self.tool = tool
        self.name: str | None = None
        self.broken: Broken | None = None
        self.notes: list[Diagnostic] = []

    def climb(self, text: str, layer: int) -> Any:
        try:
            value, notes = parse_json(text, self.policy.limits)
        except PayloadError as error:
            if error.reason != "not_json":
                raise
            return self._beyond_json(text, error, layer)
        self.notes += notes
        return self._parsed(value, layer)

    def _parsed(self, value: Any, layer: int) -> Any:
        """The arguments in a parsed value: an envelope is opened, JSON text in JSON text is decoded."""
        if type(value) is dict:
            return self._opened(value, layer) if self._may_be_envelope(value) else value
        if type(value) is str and value and self.policy.repair >= RepairLevel.EXTRACT:
            return self._decoded(value, layer)
        if type(value) is list and len(value) == 1 and type(value[0]) is dict and self._may_be_envelope(value[0]):
            return self._opened(value[0], layer, value)
        return value

    def _decoded(self, text: str, layer: int) -> Any:
        """What a JSON text holds when it is itself a text with an object in it; any other text stays a text."""
        inner = text.strip()
        if not inner.startswith(("{", "[", '"', "```", "\\")) or layer >= _LAYERS:
            return text
        before = len(self.notes)
        self.notes.append(step(DiagnosticKind.DECODED, Risk.INFO, "JSON text in JSON text", "send the object itself"))
        try:
            return self.climb(inner, layer + 1)
        except PayloadError as error:
            if error.reason == "not_json" and not inner.startswith("{"):
                del self.notes[before:]
                return text
            raise

    # -- envelopes ------------------------------------------------------------------------------------------------------------------

    def _may_be_envelope(self, value: Mapping[str, Any]) -> bool:
        if len(value) > 6:
            return False
        return any(key in value for key in NAME_KEYS) or "tool_calls" in value or "function_call" in value

    def _opened(self, value: dict[str, Any], layer: int, around: list[Any] | None = None) -> Any:
        """The arguments of an envelope that names its tool; arguments that merely look like one are left alone."""
        if self._declares(value):
            return value if around is None else around
        plain = self._is_plain_envelope(value)
        calls = calls_in(value, None if self.tool is None else _OneTool(self), loose=False)
        if calls is None and self._names_the_tool(value) and is_report(value):
            raise PayloadError("not_json", f"this tells of a call and makes none; {_SHAPE}")
        if calls is None or len(calls) != 1 or not (plain or self._is_certain(value, calls[0])):
            return value if around is None else around
        mark = step(DiagnosticKind.UNWRAPPED, Risk.WARNING, "an envelope with the tool's name", "send the arguments alone")
        notes, self.notes = self.notes, []
        return self._of_call(of_calls(calls, value if around is None else around, notes, self.policy)[0], mark, layer)

    def _is_plain_envelope(self, value: Mapping[str, Any]) -> bool:
        beside = {"id", "call_id", "tool_call_id", "type", "index"}
        return all(key in NAME_KEYS or key in ARGUMENT_KEYS or key in beside or key in ("tool_calls", "function_call") for key in value)

    def _names_the_tool(self, value: Mapping[str, Any]) -> bool:
        written = [value[key] for key in NAME_KEYS if isinstance(value.get(key), str)]
        return self.tool is not None and any(self.is_meant(name) for name in written)

    def _is_certain(self, value: Mapping[str, Any], call: FoundCall) -> bool:
        """Whether an envelope holds more than usual and still is one: it names the tool, which has no parameters called so."""
        if self.tool is None or not self.is_meant(call.name):
            return False
        declared = {squash(name) for name in self.known.parameters(self.tool)} if self.known is not None else set[str]()
        return not any(squash(key) in declared for key in value if key in NAME_KEYS or key in ARGUMENT_KEYS)

    def _declares(self, value: Mapping[str, Any]) -> bool:
        """Whether the tool itself has parameters of these names."""
        if self.known is None or self.tool is None:
            return False
        declared = {squash(name) for name in self.known.parameters(self.tool)}
        return all(squash(str(key)) in declared for key in value)

    def is_meant(self, name: str) -> bool:
        if self.tool is None:
            return True
        if self.known is not None and self.known.resolve(name) == self.tool:
            return True
        return squash(name) == squash(self.tool) or squash(name.rpartition(".")[2]) == squash(self.tool)

    def _of_call(self, call: FoundCall, mark: Diagnostic, layer: int) -> Any:
        if not self.is_meant(call.name):
            raise _wrong_tool()
        self.name = self.tool or call.name
        self.notes.append(mark)
        self.notes += call.diagnostics
        if isinstance(call.arguments, str):
            return self.climb(call.arguments, layer + 1) if call.arguments.strip() and layer < _LAYERS else {}
        return call.arguments if isinstance(call.arguments, dict) else dict(call.arguments)

    # -- beyond JSON ----------------------------------------------------------------------------------------------------------------

    def _beyond_json(self, text: str, error: PayloadError, layer: int) -> Any:
        limits = self.policy.limits
        if not text.strip():
            return None
        if self.policy.repair < RepairLevel.EXTRACT:
            raise error
        spoken = spoken_text(without_thoughts(text), self.known, self.policy)
        trimmed, odd = trim(spoken)
        if not trimmed:
            if not spoken.strip():
                raise _nothing_found(None, True, self.policy)
            return None
        if odd:
            self.notes.append(step(DiagnosticKind.EXTRACTED, Risk.INFO, "special tokens around it", "leave out special tokens"))
        if trimmed != text and (odd or len(trimmed) < len(text.strip())):
            try:
                value, notes = parse_json(trimmed, limits)
                self.notes += notes
                return self._parsed(value, layer)
            except PayloadError as again:
                if again.reason != "not_json":
                    raise
        value = self._raw_controls(trimmed, layer)
        if value is not _NOTHING:
            return value
        fenced = fence_around(trimmed)
        if fenced is not None and layer < _LAYERS:
            mark = step(DiagnosticKind.EXTRACTED, Risk.INFO, "code fence", "leave out code fences")
            self.notes.append(mark)
            return self.climb(fenced, layer + 1)
        # White space after a number says that the number is whole.
        return self._found_in(trimmed + "\n" if text[-1].isspace() and not odd else trimmed, layer)

    def _raw_controls(self, text: str, layer: int) -> Any:
        """JSON whose texts hold raw line breaks: the standard parser can read it, whatever its length."""
        if not text.startswith(("{", "[")) or self.policy.repair < RepairLevel.REPAIR:
            return _NOTHING
        try:
            value, notes = decode(text, self.policy.limits, strict=False)
        except PayloadError as error:
            if error.reason == "not_json":
                return _NOTHING
            raise
        self.notes.append(step(DiagnosticKind.REPAIRED, Risk.INFO, "raw control character", "write line breaks in texts as \\n"))
        self.notes += notes
        return self._parsed(value, layer)

    def _found_in(self, text: str, layer: int) -> Any:
        """The one object, or the one call, in a text that is no JSON."""
        limits = self.policy.limits
        bounded = len(text) <= limits.repair_text
        if not bounded:
            text = text[: limits.repair_text]
        finder = Finder(text, self.known, self.policy)
        _, calls, _ = marked_calls(finder)
        if calls:
            return self._of_calls(calls, layer)
        if text.startswith(('"', "'")):
            quoted = self._quoted(finder, layer)
            if quoted is not _NOTHING:
                return quoted
        call = _CALL.match(unescape_markdown(text))
        if call is not None and (self.tool is None or self.is_meant(call.group(1))):
            found = self._as_code(finder)
            if found is not None:
                mark = step(DiagnosticKind.EXTRACTED, Risk.WARNING, "a call as code", "send the arguments alone")
                return self._of_call(found, mark, layer)
        if call is not None and self.known is not None and "{" not in text:
            named = self.known.resolve(call.group(1))
            if named is not None and named != self.tool:
                raise _wrong_tool()
        spoken = self._spoken(text)
        if spoken:
            return self._of_calls(spoken, layer, step(DiagnosticKind.EXTRACTED, Risk.WARNING, "a call as code", "send the arguments alone"))
        if self.broken is not None and "{" not in text:
            raise _nothing_found(self.broken, bounded, self.policy)
        return self._candidates(finder, layer, bounded)

    def _spoken(self, text: str) -> list[FoundCall]:
        """The calls of the tool, or of other tools, that stand in the text as code."""
        if self.tool is None or len(text) > self.policy.limits.repair_text or not any(map(self.is_meant, _CALLED.findall(text))):
            return []
        found = statements(Finder(unescape_markdown(text), _Meant(self), self.policy))
        return [call for statement in found for call in statement.calls]

    def _quoted(self, finder: Finder, layer: int) -> Any:
        """The object in a text that is one quoted text as a whole, in whatever quotes."""
        try:
            value = finder.value(0)
        except Broken:
            return _NOTHING
        if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")) or finder.text[finder.end :].strip() or layer >= _LAYERS:
            return _NOTHING
        finder.refuse_cut()
        self.notes += notes_of(finder.reader)
        return self._decoded(value, layer)

    def _of_calls(self, calls: Sequence[FoundCall], layer: int, mark: Diagnostic | None = None) -> Any:
        first = calls[0]
        if any((call.name, call.arguments) != (first.name, first.arguments) for call in calls):
            raise _ambiguous(len(calls))
        if len(calls) > 1:
            self.notes.append(_repeated())
        tags = step(DiagnosticKind.EXTRACTED, Risk.INFO, "tags of a tool call", "send the arguments alone")
        return self._of_call(first, mark or tags, layer)

    def _as_code(self, finder: Finder) -> FoundCall | None:
        """The call that the whole text consists of, as code."""
        text = unescape_markdown(finder.text)
        if text != finder.text:
            finder = Finder(text, self.known, self.policy)
        start = re.match(r"[\s`]*", text)
        position = start.end() if start is not None else 0
        try:
            value = finder.value(position, calls=True) if text[position] in "[(" else finder.call(position)
        except Broken as error:
            self.broken = error
            return None
        in_list = False
        if isinstance(value, list) and len(value) == 1:
            in_list, value = True, value[0]
        if not isinstance(value, CallText) or _CLOSERS.match(text, finder.end) is None:
            return None
        if value.name == "dict" and self.tool is None:
            return None
        written = value.name
        if self.tool is not None:
            value.name = self.tool
        if self.known is not None and self.known.resolve(value.name) is None:
            return None
        notes = notes_of(finder.reader)
        found = finder.bound(value, [*within(notes, "$[0]"), *(note for note in notes if note.path == "$")] if in_list else notes)
        if found is None:
            return None
        finder.refuse_cut()
        return FoundCall(written, found.arguments, None, found.diagnostics)

    def _candidates(self, finder: Finder, layer: int, bounded: bool) -> Any:
        """The one object among all objects of the text; several that are the same count once."""
        text = finder.text
        found: list[tuple[int, int, Any, list[Diagnostic]]] = []
        broken: Broken | None = None
        position = 0
        if text.startswith("["):
            whole = self._whole_list(finder, layer)
            if whole is not _NOTHING:
                return whole
        start = text.find("{", position)
        while start >= 0:
            if _STARTS.match(text, start + 1) is None:
                broken = broken or Broken(start + 1, "a key in double quotes was expected")
                start = text.find("{", start + 1)
                continue
            try:
                value = finder.value(start)
                position = max(finder.end, start + 1)
                found.append((start, position, value, notes_of(finder.reader)))
            except Broken as error:
                if _MEMBER.match(text, start + 1) is not None or start == 0:
                    # This is the object that was meant; what can be read behind the break is only a part of it.
                    raise _nothing_found(error, bounded, self.policy) from None
                broken = broken or error
                position = max(error.position, start + 1)
            start = text.find("{", position)
        return self._chosen(finder, found, broken, layer, bounded)

    def _chosen(
        self, finder: Finder, found: list[tuple[int, int, Any, list[Diagnostic]]], broken: Broken | None, layer: int, bounded: bool
    ) -> Any:
        text = finder.text
        if not found:
            raise _nothing_found(broken, bounded, self.policy)
        if any(note.kind is DiagnosticKind.TRUNCATED for note in found[-1][3]) and self.policy.max_risk < Risk.RISKY:
            raise truncated(len(text)) if bounded else _nothing_found(None, bounded, self.policy)
        start, _, value, notes = found[0]
        if any(not _same(value, other[2]) for other in found[1:]):
            raise _ambiguous(len(found))
        declared = self.known.parameters(self.tool) if self.known is not None and self.tool is not None else ()
        if any(is_part(text, other[0], other[1], declared) for other in found[:_LOOKED_AT]):
            raise _only_a_part()
        if any(is_unmeant(text, other[0]) for other in found[:_LOOKED_AT]):
            raise PayloadError("not_json", f"the object in the text is not said to be the arguments; {_SHAPE}")
        after = found[-1][1]
        if start > 0 or _CLOSERS.match(text, after) is None:
            in_fence = any(fence.body <= start < fence.body_end for fence in fences_in(text))
            what = "a code fence in prose" if in_fence else "an object in prose"
            self.notes.append(step(DiagnosticKind.EXTRACTED, Risk.WARNING, what, "send the object alone"))
        elif text[after:].strip():
            self.notes.append(step(DiagnosticKind.EXTRACTED, Risk.WARNING, "closing brackets too many", "send the object alone"))
        if len(found) > 1:
            self.notes.append(_repeated())
        self.notes += notes
        return self._parsed(value, layer)

    def _whole_list(self, finder: Finder, layer: int) -> Any:
        try:
            value = finder.value(0)
        except Broken:
            return _NOTHING
        notes = notes_of(finder.reader)
        finder.refuse_cut()
        if finder.text[finder.end :].strip():
            return _NOTHING
        self.notes += notes
        return self._parsed(value, layer)


class _Meant:
    """The tool that the arguments are for, under each name that is meant for it, beside all other tools."""

    def __init__(self, ladder: _Ladder) -> None:
        self._ladder = ladder

    def resolve(self, name: str) -> str | None:
        ladder = self._ladder
        if ladder.is_meant(name):
            return ladder.tool
        return ladder.known.resolve(name) if ladder.known is not None else None

    def parameters(self, name: str) -> Sequence[str]:
        return self._ladder.known.parameters(name) if self._ladder.known is not None else ()

    def required(self, name: str) -> Collection[str]:
        return self._ladder.known.required(name) if self._ladder.known is not None else ()

    def takes_any(self, name: str) -> bool:
        return self._ladder.known.takes_any(name) if self._ladder.known is not None else True


class _OneTool:
    """The tool that the arguments are for, under any name: whether it is the right one is asked when the call is known."""

    def __init__(self, ladder: _Ladder) -> None:
        self._ladder = ladder

    def resolve(self, name: str) -> str | None:
        return name

    def parameters(self, name: str) -> Sequence[str]:  # noqa: ARG002 - it has one tool
        ladder = self._ladder
        return ladder.known.parameters(ladder.tool) if ladder.known is not None and ladder.tool is not None else ()

    def required(self, name: str) -> Collection[str]:
        return (name,)

    def takes_any(self, name: str) -> bool:  # noqa: ARG002 - it has one tool
        return False


class _Nothing:
    __slots__ = ()


_NOTHING: Final = _Nothing()


def _same(first: Any, second: Any) -> bool:
    return type(first) is type(second) and repr(first) == repr(second)


def _wrong_tool() -> PayloadError:
    return PayloadError("wrong_tool", f"the arguments name another tool than the one that was called; {_SHAPE}")


def _only_a_part() -> PayloadError:
    return PayloadError("not_json", f"the object in the text is only a part of the arguments; {_SHAPE}")


def _repeated() -> Diagnostic:
    return step(DiagnosticKind.DUPLICATE_CALL, Risk.WARNING, "the same object word for word", "send it once")


def _ambiguous(count: int) -> PayloadError:
    return PayloadError("ambiguous", f"there are {count} different objects, and only one can be the arguments; {_SHAPE}")


def _nothing_found(broken: Broken | None, bounded: bool, policy: Policy) -> PayloadError:
    if not bounded:
        limit = policy.limits.repair_text
        return PayloadError("too_large", f"the arguments are not valid JSON, and only up to {limit:,} characters are mended; {_SHAPE}")
    if broken is not None:
        return PayloadError("not_json", f"the arguments are no JSON text: at character {broken.position + 1} {broken.why}; {_SHAPE}")
    return PayloadError("not_json", f"there is no JSON object in the arguments; {_SHAPE}")
