"""What would prevent a drift: rules from the kind of a change, or the reason of a refusal, to what a description or a type should say.

A rule says nothing about one tool or one value. It is found by kind, conversion and what was expected, the first one that fits counts, and
its text is filled with what is on record: names and examples. To teach the report something new, add a line to `RULES`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolbox.audit.report.drift import WHOLE, Advice, Example
from toolbox.diagnostics import MASK

__all__ = ["RULES", "Rule", "Seen", "advise"]

_LAST_NAME: Final = re.compile(r"(?:\['(?P<quoted>(?:[^'\\]|\\.)*)'\]|(?P<plain>[^.\[\]]+))(?:\[[\d*]*\])*$")
_SHOWN: Final = 60
_PAIRS: Final = 3
_OFTEN: Final = 2
"""A spelling is proposed as an alias when it came at least so often among the sampled ones."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known about one drift.

    Attributes:
        tool: name of the tool.
        parameter: the parameter with its place inside it, such as ``items[*].price``.
        kind: the kind of the change, or the reason of the refusal.
        conversion: the change in short, or the one that would have been made.
        expected: what was expected, in words; empty for a change.
        hint: what was suggested to the model; may be empty.
        examples: what came most often.
    """

    tool: str
    parameter: str
    kind: str
    conversion: str = ""
    expected: str = ""
    hint: str = ""
    examples: Sequence[Example] = ()

    @property
    def key(self) -> str:
        """The last name of the parameter: ``price`` of ``items[*].price``, ``a b`` of ``items['a b']``."""
        found = _LAST_NAME.search(self.parameter)
        if found is None:
            return self.parameter
        return found["plain"] or found["quoted"].replace("\\'", "'") or '""'


Code = Callable[[Seen], str]


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the table.

    Attributes:
        kinds: kinds of changes and reasons of refusals that it is for.
        conversion: pattern that the conversion has to match as a whole; any when empty.
        said: pattern that is looked for in what was expected and why it was refused; any when empty.
        where: what is to be changed: ``description``, ``type``, ``prompt``, ``policy`` or ``application``.
        text: what to write there. Fields in braces: ``tool``, ``parameter``, ``key``, ``example`` (a value as it should be sent), ``came``,
            ``expected``, ``detail``.
        example: the example where none is on record, as JSON.
        code: makes a line of code; none when None.
        when: whether the rule is for what was seen, beyond the patterns; always when None.
    """

    kinds: tuple[str, ...]
    where: str
    text: str
    conversion: str = ""
    said: str = ""
    example: str = ""
    code: Code | None = None
    when: Callable[[Seen], bool] | None = None

    def fits(self, seen: Seen) -> bool:
        """Whether the rule is for what was seen."""
        return (
            seen.kind in self.kinds
            and (not self.conversion or re.fullmatch(self.conversion, seen.conversion) is not None)
            and (not self.said or re.search(self.said, _said(seen)) is not None)
            and (self.when is None or self.when(seen))
        )

    def advice(self, seen: Seen) -> Advice:
        """The text, filled with what was seen."""
        came, became = _best(seen)
        filled = {
            "tool": seen.tool,
            "parameter": seen.parameter,
            "key": seen.key,
            "came": came,
            "example": became or self.example,
            "expected": seen.expected or "the declared type",
            "detail": next((item.detail for item in seen.examples if item.detail), "it does not fit"),
        }
        return Advice(self.where, self.text.format_map(filled), "" if self.code is None else self.code(seen))


def advise(seen: Seen) -> Advice:
    """What would prevent a drift: the first rule that fits."""
    return next((rule for rule in RULES if rule.fits(seen)), _LAST).advice(seen)


# -- what stands in the texts ------------------------------------------------------------------------------------------------------


def _said(seen: Seen) -> str:
    return "\n".join((seen.expected, *(item.detail for item in seen.examples)))


def _best(seen: Seen) -> tuple[str, str]:
    """The most frequent pair of a value that came and one that was made of it, as far as they can be shown."""
    shown = [item for item in seen.examples if _is_plain(item.came)] or list(seen.examples)
    pair = next((item for item in shown if _is_plain(item.became)), None)
    first = pair or next(iter(shown), None)
    came = "" if first is None or not _is_plain(first.came) else first.came
    return came or "a value", "" if pair is None else pair.became


def _is_plain(text: str) -> bool:
    """Whether the JSON text of a value is short, whole and not masked, so that it can serve as an example."""
    if not text or len(text) > _SHOWN or text == json.dumps(MASK):
        return False
    try:
        return json.loads(text) is not None
    except (ValueError, RecursionError):
        return False


def _is_hidden(seen: Seen) -> bool:
    """Whether what came is secret, as far as it is on record."""
    return any(item.came == json.dumps(MASK) for item in seen.examples)


def _text(value: str) -> str | None:
    """The text that a JSON text stands for; None for anything else, for what is cut and for what is masked."""
    if not _is_plain(value):
        return None
    made: Any = json.loads(value)
    return made if isinstance(made, str) and made.strip() else None


def _pairs(seen: Seen) -> dict[str, str]:
    """The spellings that came often, with the choice that each was taken for."""
    found: dict[str, str] = {}
    for item in seen.examples:
        came, became = _text(item.came), _text(item.became)
        if came is not None and became is not None and came != became and item.count >= _OFTEN:
            found.setdefault(came, became)
    return dict(list(found.items())[:_PAIRS])


def _strays(seen: Seen) -> list[str]:
    """The texts that came often and are none of the choices."""
    texts = [_text(item.came) for item in seen.examples if item.count >= _OFTEN]
    return [text for text in texts if text is not None][:_PAIRS]


def _written(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _aliases(seen: Seen) -> str:
    pairs = ", ".join(f"{_written(came)}: {_written(became)}" for came, became in _pairs(seen).items())
    return f"{seen.key}: Annotated[..., Param(aliases={{{pairs}}})]"


def _open_aliases(seen: Seen) -> str:
    pairs = ", ".join(f"{_written(came)}: ..." for came in _strays(seen))
    return f"{seen.key}: Annotated[..., Param(aliases={{{pairs}}})]"


def _examples(seen: Seen) -> str:
    made = _best(seen)[1]
    return f"{seen.key}: Annotated[..., Param(examples=[{_python(made)}])]" if made else ""


def _python(text: str) -> str:
    """A JSON text as a Python literal."""
    value: Any = json.loads(text)
    return text if isinstance(value, str) else repr(value)


def _other_names(seen: Seen) -> list[str]:
    """The names under which it came."""
    return [name for item in seen.examples if (name := _text(item.came)) is not None][:_PAIRS]


def _by_alias(seen: Seen) -> str:
    names = _other_names(seen)
    listed = ", ".join(map(_written, names))
    return f"{seen.key}: Annotated[..., Param(alias={listed if len(names) == 1 else f'[{listed}]'})]"


def _meant_for(seen: Seen) -> str:
    """The parameter that an undeclared name was taken to be meant for, with that name as an alias of it."""
    found = _MEANT.search(seen.hint)
    return f"{found['name']}: Annotated[..., Param(alias={_written(seen.key)})]" if found else ""


_MEANT: Final = re.compile(r"(?:Did you mean|It may be meant for) (?P<name>\w+)")
_CAME_AS: Final = re.compile(r'^Did you mean \w+ by ("[^"]+")')


def _missing_alias(seen: Seen) -> str:
    found = _CAME_AS.search(seen.hint)
    return f"{seen.key}: Annotated[..., Param(alias={found[1]})]" if found else ""


def _is_only_spelling(seen: Seen) -> bool:
    """Whether what came differs from the choice by case and separators alone."""
    pairs = [(_text(item.came), _text(item.became)) for item in seen.examples]
    known = [(came, became) for came, became in pairs if came is not None and became is not None]
    return all(_folded(came) == _folded(became) for came, became in known)


def _folded(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


# -- the table -----------------------------------------------------------------------------------------------------------------------

_CHANGED: Final = ("coerced", "wrong_type", "too_risky")
_NUMBERS: Final = r"(?:int|float|Decimal|Fraction|number|integer)"
_LISTS: Final = r"(?:list|tuple|set|frozenset|deque|array|Sequence)"
_DATES: Final = r"(?:date|time|datetime|date-time|timedelta|duration)"

RULES: Final[tuple[Rule, ...]] = (
    # -- types
    Rule(
        _CHANGED,
        "description",
        "Say in the description that {key} is a whole number, without a decimal point, such as {example}; or declare float if fractions "
        "are meant.",
        conversion=r"(?:float|Decimal|NumberText)->(?:int|integer)",
        example="5",
        code=_examples,
    ),
    Rule(
        _CHANGED,
        "description",
        "Say in the description that {key} is a bare JSON number such as {example}: no quotes, no separators between thousands, no unit. "
        "Name the unit there.",
        conversion=rf"str->{_NUMBERS}",
        example="1500",
        code=_examples,
        when=lambda seen: any(re.search(r"[^\d\"+.\-]", item.came) for item in seen.examples if _is_plain(item.came)),
    ),
    Rule(
        _CHANGED,
        "description",
        "Say in the description that {key} is a JSON number, e.g. {example}, and not text in quotes.",
        conversion=rf"str->{_NUMBERS}",
        example="5",
        code=_examples,
    ),
    Rule(
        _CHANGED,
        "description",
        "Say in the description that {key} is true or false, without quotes; models send {came}.",
        conversion=r".+->(?:bool|boolean)",
    ),
    Rule(
        _CHANGED,
        "description",
        'Say that null stands for "nothing" in {key}, or that it is left out; models write it as a text: {came}.',
        conversion=r"str->None",
    ),
    Rule(
        _CHANGED,
        "description",
        "Say in the description that {key} is ISO 8601 text, such as {example}.",
        conversion=rf".+->{_DATES}",
        example='"2026-07-02T14:30:00Z"',
        code=_examples,
    ),
    Rule(
        _CHANGED,
        "description",
        "Say in the description that {key} is a JSON array, also for a single item, such as {example}; models send the item alone. If one"
        " item is the usual case, declare the type of one item.",
        conversion=rf"(?!str)[^>]+->{_LISTS}",
        example='["a"]',
        code=_examples,
    ),
    Rule(
        _CHANGED,
        "description",
        "Say in the description that {key} is a JSON array, such as {example}, and not a text that lists the items: {came}.",
        conversion=rf"str->{_LISTS}",
        example='["a", "b"]',
        code=_examples,
    ),
    Rule(
        _CHANGED,
        "type",
        "Models send {key} as an array of one. Declare a list if several values make sense; else say in the description that it is one "
        "value, such as {example}.",
        conversion=rf"{_LISTS}->.+",
        example='"a"',
    ),
    Rule(
        _CHANGED,
        "type",
        "Models send {key} as a number: {came}. Declare int if it is one; if it is an identifier, say in the description that it is text "
        "in quotes.",
        conversion=r"(?:int|float|Decimal|NumberText)->str",
    ),
    Rule(
        _CHANGED,
        "description",
        "Say in the description that {key} is text in quotes; models send {came}.",
        conversion=r"(?:bool|dict|NoneType)->str",
    ),
    Rule(
        _CHANGED,
        "description",
        "Say in the description that {key} is a JSON object, and not a text that holds one.",
        conversion=r"str->(?:dict|object|[A-Z]\w*)",
    ),
    Rule(
        ("coerced",),
        "description",
        "Say in the description which form {key} has, with an example such as {example}; models send {came}.",
        example="one that fits as it is",
        code=_examples,
    ),
    # -- choices
    Rule(
        ("matched",),
        "description",
        "Write the choices of {key} in the prompt exactly as they are declared, such as {example}; models differ by capitals or "
        "separators: {came}.",
        conversion=r"match:(?:case|separator)",
        when=_is_only_spelling,
    ),
    Rule(
        ("matched",),
        "type",
        "Models use words of their own for the choices of {key}: {came} was taken for {example}. Where they mean the same, declare them, "
        "so that nothing has to be guessed.",
        code=_aliases,
        when=lambda seen: bool(_pairs(seen)),
    ),
    Rule(
        ("matched",),
        "description",
        "List the choices of {key} in the description, and say that one of them is to be sent exactly; {came} was taken for {example}.",
    ),
    Rule(
        ("unknown_choice",),
        "type",
        "Models send values that are none of the known choices of {key}, such as {came}. Add those that make sense to the choices.",
    ),
    Rule(
        ("not_a_choice", "ambiguous"),
        "type",
        "Models send {came} for {key}, which is none of the choices ({expected}). Add it as a choice, declare which one it stands "
        "for, or say in the description when each choice is to be taken.",
        said=r"one of|^\"|choice",
        code=_open_aliases,
        when=lambda seen: seen.kind == "not_a_choice" and bool(_strays(seen)),
    ),
    Rule(
        ("not_a_choice",),
        "description",
        "List the choices of {key} in the description ({expected}), and say that nothing else is taken.",
    ),
    # -- null and what is not given
    Rule(
        ("defaulted",),
        "description",
        "Models send null for {key}. Say in the description that it is left out when it is not needed, or declare it as optional (... | "
        "None).",
        conversion=r"default",
    ),
    Rule(
        ("defaulted",),
        "type",
        "{key} is required and may be null, and models leave it out. Give it the default None.",
        conversion=r"null",
        code=lambda seen: f"{seen.key}: ... | None = None",
    ),
    Rule(
        ("defaulted", "dropped"),
        "description",
        "Models send null for {key}, which takes none. Say in the description that it is left out when nothing is meant.",
        conversion=r"not given|null->not given",
    ),
    Rule(
        ("dropped",),
        "description",
        "Say in the description that {key} holds each item only once.",
        conversion=r"repeated items",
    ),
    Rule(
        ("missing",),
        "type",
        "Models write another name for {key}, which is then missing. Give the parameter the name that they expect, or declare that name "
        "as another one of it.",
        code=_missing_alias,
        when=lambda seen: _CAME_AS.search(seen.hint) is not None,
    ),
    Rule(
        ("missing",),
        "description",
        "Models leave {key} out. Say in the description of {tool} that it is required and where its value comes from; give it a default "
        "if one makes sense.",
    ),
    # -- names
    Rule(
        ("dropped", "preserved", "unknown"),
        "description",
        "Models send {key}, which {tool} does not have, and whose values are kept out of the records. If it stands for a declared "
        "parameter, declare it as another name of that one; else say in the description of {tool} that it is not to be sent.",
        code=_meant_for,
        when=_is_hidden,
    ),
    Rule(
        ("dropped", "preserved", "unknown"),
        "type",
        "Models expect {tool} to have {key}. If it stands for a declared parameter, declare it as another name of that one; if it would "
        "be useful, add it; else say in the description of {tool} what it does not take.",
        code=_meant_for,
    ),
    Rule(
        ("renamed",),
        "application",
        "Models call the tool by another name: {came}. Name the tools in the prompt as they are registered, or register {tool} under the "
        "name that comes.",
        conversion=r"tool",
    ),
    Rule(
        ("renamed",),
        "type",
        "Models write {came} for {key}. Give the parameter the name that models expect, or declare that name as another one of it.",
        code=_by_alias,
        when=lambda seen: bool(_other_names(seen)),
    ),
    Rule(
        ("renamed",),
        "type",
        "Models write {key} under another name. Give the parameter the name that they expect, or declare it with Param(alias=...).",
    ),
    # -- values that cannot be used
    Rule(
        ("invalid",),
        "description",
        "Say in the description that {key} is a date or time in ISO 8601, with an example such as {example}; models send {came}. Tell the"
        ' model today\'s date if it has to work out words like "tomorrow".',
        said=r"ISO 8601",
        example='"2026-07-02"',
    ),
    Rule(
        ("ambiguous",),
        "prompt",
        "Say in the prompt that each key is sent once; {key} came twice with different values.",
        said=r"each key once|more than once",
    ),
    Rule(
        ("ambiguous", "too_risky"),
        "description",
        "What models send for {key} has more than one reading ({detail}): {came}. Say in the description which form it has, with an "
        "example.",
    ),
    Rule(
        ("constraint",),
        "description",
        "Say the bounds of {key} in its description ({expected}); models go beyond them: {came}, {detail}.",
    ),
    Rule(
        ("rejected",),
        "description",
        "Say in the description what a value of {key} has to fulfil; it was refused because {detail}.",
    ),
    Rule(
        ("limit",),
        "description",
        "Say in the description how large {key} may be; it was refused because {detail}.",
    ),
    # -- the payload as a whole
    Rule(
        ("invalid", "truncated", "closed"),
        "application",
        "Answers are cut off before the arguments are complete. Raise the limit of tokens of the answer, or ask for less in one call.",
        said=r"cut off",
        when=lambda seen: seen.parameter == WHOLE,
    ),
    Rule(
        ("truncated", "closed"),
        "application",
        "Answers end before the arguments are complete. Raise the limit of tokens of the answer, or ask for less in one call.",
    ),
    Rule(
        ("invalid", "ambiguous"),
        "prompt",
        "Say in the prompt that the arguments are one JSON object and nothing else. Where the model runs locally, hold it to the schema "
        "as it decodes.",
        when=lambda seen: seen.parameter == WHOLE,
    ),
    Rule(
        ("unwrapped", "bound"),
        "prompt",
        "Say in the prompt that the arguments are sent by name, as one object, without a layer around them.",
    ),
    Rule(
        ("decoded",),
        "application",
        "The arguments come as JSON text inside JSON text. Look whether the application encodes them twice; else say in the prompt that "
        "the object itself is sent.",
    ),
    Rule(
        ("extracted",),
        "application",
        "The arguments stand inside other text. Use the tool calling of the provider in place of plain text, or say in the prompt that "
        "nothing stands around the object.",
    ),
    Rule(
        ("repaired",),
        "application",
        "The arguments are not valid JSON. Use the provider's tool calling or its JSON mode; hold a local model to the schema as it "
        "decodes.",
    ),
    Rule(("duplicate_key",), "prompt", "Say in the prompt that each key is sent once; {key} came more than once."),
    Rule(("duplicate_call",), "prompt", "Say in the prompt that each call is made once; the same call came again in one answer."),
    # -- what no other rule knows
    Rule(
        ("invalid", "wrong_type"),
        "description",
        "Say in the description that {key} is {expected}; models send {came}.",
    ),
)

# Kinds that toolbox does not know yet may stand in a store that a newer one has written.
_LAST: Final = Rule((), "description", "Say in the description of {tool} what {key} takes, with an example.")
