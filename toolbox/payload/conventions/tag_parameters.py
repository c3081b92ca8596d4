"""Arguments that stand in tags of their own, one after the other: what three conventions have in common."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from toolbox.diagnostics import Diagnostic, DiagnosticKind, Risk
from toolbox.errors import PayloadError
from toolbox.payload.conventions.convention import call_of, past_space, value_from
from toolbox.payload.finder import Finder, truncated
from toolbox.payload.found import FoundCall, step
from toolbox.payload.reader import Broken
from toolbox.payload.strict import duplicate_key
from toolbox.payload.tag_values import value_of_tag

__all__ = ["ARGUMENT_PAIRS", "NAME", "TagForm", "call_after_tag", "call_in_tags"]

# A name as the value of a tag or of its attribute; the group is the last one that took part.
NAME: Final = r"(?:\"([^\"<>]++)\"|'([^'<>]++)'|([^<>\"'\s/]++))"
_MARK: Final = r"(?:\uff5cDSML\uff5c)?\s*+"
# The tag goes on where the text ends.
_OPEN_END: Final = re.compile(r"<[^<>]{0,400}\Z|<arg_key>[^<]*+(?:</arg_key>\s*+(?:<[^<>]{0,40})?)?\Z")
_OUTER: Final = re.compile(rf"</{_MARK}(?:tool_calls?|function_calls?)>|<{_MARK}(?:invoke|function)\b|<tool_call>|<\|\w{{1,20}}\|>")

_NEXT: Final = re.compile(rf"<{_MARK}(?:/param(?:eter)?>|/arg_value>|param\b|parameter\b|arg_key>|function\b|invoke\b|tool_call>)")


class TagForm(NamedTuple):
    """How arguments stand in tags.

    Attributes:
        opening: the tag before a value, with the name in one of its groups, and maybe a group ``typed``.
        closing: the tag after a value.
        ending: the tag after the last argument.
    """

    opening: re.Pattern[str]
    closing: re.Pattern[str]
    ending: re.Pattern[str]


PARAMETER_TAGS: Final = TagForm(
    re.compile(rf"<{_MARK}param(?:eter)?(?:=|\s+name\s*+=\s*+){NAME}(?:\s++string=[\"'](?P<typed>true|false)[\"'])?(?:\s[^<>]*+)?\s*+>"),
    re.compile(rf"</{_MARK}param(?:eter)?>"),
    re.compile(rf"</{_MARK}(?:invoke|function)>"),
)
ARGUMENT_PAIRS: Final = TagForm(
    re.compile(r"<arg_key>([^<]*+)</arg_key>\s*+<arg_value>"), re.compile("</arg_value>"), re.compile("</tool_call>")
)


def call_after_tag(finder: Finder, name: str, position: int) -> FoundCall:
    """The call whose name stands in the tag that ends at a position; its arguments are JSON, or stand in tags of their own.

    Raises:
        Broken: there is something else after the tag.
        PayloadError: the call was cut off, or can be read in two ways.
    """
    if finder.text.startswith("{", past_space(finder.text, position)):
        return call_of(finder, name, value_from(finder, position))
    return call_in_tags(finder, name, position, PARAMETER_TAGS)


def call_in_tags(finder: Finder, name: str, position: int, form: TagForm) -> FoundCall:
    """The call whose arguments start at a position.

    A value ends where its closing tag is followed by the next argument or by the end of the call: what closes a value in the middle of a
    sentence is part of the value.

    Raises:
        Broken: there is something else between the tags.
        PayloadError: the call was cut off, or can be read in two ways.
    """
    text = finder.text
    arguments: dict[str, Any] = {}
    notes: list[Diagnostic] = []
    while True:
        position = past_space(text, position)
        finder.end = position
        opening = form.opening.match(text, position)
        if opening is None:
            break
        end = _end_of_value(finder, opening.end(), form, notes)
        written = next(group for group in opening.groups() if group is not None).strip()
        typed = "typed" in form.opening.groupindex and opening.group("typed") == "false"
        value = value_of_tag(text[opening.end() : end.start()], finder.policy, typed=typed)
        if written in arguments:
            notes.append(duplicate_key(None, written, arguments[written], value))
        arguments[written] = value
        position = end.end()
    _close(finder, position, form, bool(arguments), notes)
    return FoundCall(finder.resolve(name) or name, arguments, None, tuple(notes))


def _end_of_value(finder: Finder, start: int, form: TagForm, notes: list[Diagnostic]) -> re.Match[str]:
    """The closing tag of the value that starts here."""
    text = finder.text
    first = closing = form.closing.search(text, start)
    while closing is not None:
        after = past_space(text, closing.end())
        if after >= len(text) or _follows(text, after, form) or _OPEN_END.match(text, after) is not None:
            break
        closing = form.closing.search(text, closing.end())
    if first is None:
        raise truncated(len(text))
    if closing is None:
        raise Broken(first.end(), "the next argument, or the end of the call, was expected after a closing tag")
    if closing is not first:
        if form.opening.search(text, start, closing.start()) is not None:
            raise _two_readings()
        notes.append(step(DiagnosticKind.REPAIRED, Risk.WARNING, "a closing tag inside a value", "write < and > in values as entities"))
    return closing


def _follows(text: str, position: int, form: TagForm) -> bool:
    return any(pattern.match(text, position) is not None for pattern in (form.opening, form.ending, _OUTER))


def _close(finder: Finder, position: int, form: TagForm, started: bool, notes: list[Diagnostic]) -> None:
    """Look at what follows the last argument."""
    text = finder.text
    ending = form.ending.match(text, position)
    if ending is None:
        if _OPEN_END.match(text, position) is not None or (position >= len(text) and not started):
            raise truncated(len(text))
        if position < len(text) and _OUTER.match(text, position) is None:
            raise Broken(position, "an argument in tags, or the end of the call, was expected")
        notes.append(step(DiagnosticKind.CLOSED, Risk.WARNING, "closing tags", "send the complete text"))
    else:
        finder.end = ending.end()
    # A closing tag of a value behind the end says that the call ended inside the value.
    stray = _NEXT.search(text, finder.end)
    if stray is not None and form.closing.match(text, stray.start()) is not None:
        raise _two_readings()


def _two_readings() -> PayloadError:
    return PayloadError("ambiguous", "the arguments hold tags that can be read in two ways; send them as one JSON object")
