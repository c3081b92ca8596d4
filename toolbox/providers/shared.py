"""What every provider's file starts from: names, ids, and SDK objects as plain data."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

from toolbox.errors import PayloadError
from toolbox.payload.found import FoundCall

__all__ = [
    "MADE",
    "Answer",
    "IdRule",
    "NameRule",
    "arguments_object",
    "cut_off",
    "first",
    "found_call",
    "legal_names",
    "made_id",
    "malformed",
    "mappings",
    "parsed_or_text",
    "plain",
    "text_of",
    "without_none",
]


@dataclass(slots=True)
class Answer:
    """What a provider's response says.

    Attributes:
        calls: the calls in it, in the model's order, under the names that the provider knows.
        texts: its text parts.
        problem: why no call of it may be run, such as that it was cut off.
    """

    calls: list[FoundCall] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    problem: PayloadError | None = None


# Names

_WORD: Final = re.compile(r"[a-zA-Z0-9]")


class NameRule(NamedTuple):
    """What a provider allows in names.

    Attributes:
        illegal: characters that must not stand in a name.
        longest: the most characters of a name.
        letter_first: whether a name must start with a letter or ``_``.
    """

    illegal: re.Pattern[str]
    longest: int
    letter_first: bool = False

    def cleaned(self, name: str) -> str:
        """The name with every illegal character replaced; it may still be too long."""
        clean = self.illegal.sub("_", name)
        if not _WORD.search(clean) and clean != name:
            return ""
        return f"_{clean}" if self.letter_first and not re.match(r"[a-zA-Z_]", clean) else clean

    def legal(self, name: str) -> bool:
        """Whether the name can stay as it is."""
        return bool(name) and self.cleaned(name) == name and len(name) <= self.longest


def legal_names(names: Iterable[str], rule: NameRule) -> dict[str, str]:
    """A legal and unique name for each name: the same one wherever it is legal.

    A name that has to be cut, or that would be the same as another, ends in a digest of itself, so that what a name becomes does not
    depend on the order of the names.

    >>> legal_names(["a.b", "ok"], NameRule(re.compile("[^a-z_]"), 9))
    {'a.b': 'a_b', 'ok': 'ok'}
    """
    listed = list(dict.fromkeys(names))
    kept = {name for name in listed if rule.legal(name)}
    cleaned = {name: rule.cleaned(name) for name in listed if name not in kept}
    wanted = list(cleaned.values())
    made: dict[str, str] = {}
    for name in listed:
        if name in kept:
            made[name] = name
            continue
        clean = cleaned[name]
        if not clean or clean in kept or len(clean) > rule.longest or wanted.count(clean) > 1:
            ending = f"_{_digest(name)[:8]}"
            clean = (clean or "tool")[: rule.longest - len(ending)] + ending
        made[name] = clean
    return made


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# Ids

MADE: Final = "made_"
"""How an id begins that a response came without."""

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class IdRule(NamedTuple):
    """What a provider allows in the ids of calls.

    Attributes:
        legal: the whole of a legal id.
        length: length of the ids that are made for it.
        letters: whether only letters and digits may stand in it.
    """

    legal: re.Pattern[str]
    length: int = 29
    letters: bool = False

    def fitted(self, call_id: str) -> str:
        """The id where it is legal; else one made from it, always the same one."""
        if self.legal.fullmatch(call_id):
            return call_id
        if not self.letters:
            return f"call_{_digest(call_id)[: self.length - 5]}"
        number = int(_digest(call_id), 16)
        made = ""
        while len(made) < self.length:
            number, digit = divmod(number, len(_DIGITS))
            made += _DIGITS[digit]
        return made


def made_id(position: int, name: str, arguments: Any, within: object = "") -> str:
    """An id for a call that came without one: the same one whenever the same response is read.

    Args:
        position: place of the call in the response.
        name: name of the tool.
        arguments: arguments of the call.
        within: what tells the response from others, such as its own id.
    """
    try:
        said = json.dumps(arguments, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        said = type(arguments).__name__
    return f"{MADE}{_digest(json.dumps([position, name, str(within), said]))[:24]}"


# Responses as plain data

_DEEPEST: Final = 200


def plain(value: Any, depth: int = 0) -> Any:
    """An SDK's object, or data with such objects in it, as new dicts and lists.

    Models are dumped by alias and without None, bytes stay bytes: so the dump can be given back to the SDK that it came from. What stands
    in plain dicts keeps its None.
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | bytes | int | float) or depth > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {key: plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    if hasattr(value, "model_dump"):
        return plain(_dumped(value), depth + 1)
    for name in ("to_dict", "dict"):
        if callable(getattr(value, name, None)):
            return plain(getattr(value, name)(), depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name), depth + 1) for item in dataclasses.fields(value)}
    if hasattr(value, "__dict__"):
        return {key: plain(item, depth + 1) for key, item in vars(value).items() if not key.startswith("_")}
    return value


def _dumped(model: Any) -> Any:
    try:
        # Generic models of the SDKs' stream helpers do not match their own annotations, and pydantic would warn.
        return model.model_dump(by_alias=True, exclude_none=True, warnings=False)
    except TypeError:  # a model_dump of its own
        return model.model_dump()


def first(items: Any) -> Mapping[str, Any]:
    """The first of a list when it is a mapping; else an empty one."""
    return items[0] if isinstance(items, Sequence) and items and isinstance(items[0], Mapping) else {}


def mappings(items: Any) -> list[dict[str, Any]]:
    """The mappings in a list, with their places lost; nothing for anything else."""
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def text_of(content: Any) -> list[str]:
    """The text parts of a message's content, which is text or a list of parts."""
    if isinstance(content, str):
        return [content] if content else []
    return [part["text"] for part in mappings(content) if isinstance(part.get("text"), str) and part["text"] and not part.get("thought")]


def without_none(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message without the keys that hold None."""
    return {key: item for key, item in message.items() if item is not None}


def found_call(name: Any, arguments: Any, call_id: Any, position: int, within: object = "") -> FoundCall:
    """One call of a response. No text, and no arguments at all, mean no arguments."""
    written = name if isinstance(name, str) else ""
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        arguments = {}
    # The Mistral SDK's default for an id that did not come is the text "null".
    known = call_id if isinstance(call_id, str) and call_id not in ("", "null") else None
    return FoundCall(written, arguments, known or made_id(position, written, arguments, within), ())


def parsed_or_text(arguments: Any) -> Any:
    """Arguments parsed where they are JSON text; else as they came, for whoever can mend them."""
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        return json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return arguments


def arguments_object(arguments: Any) -> dict[str, Any]:
    """Arguments as an object, as a model's own message holds them: what is none stands in it as the text that it is.

    Some servers fail on a message with broken JSON in it, and the model should still see what it wrote.

    >>> arguments_object('{"a": 1}'), arguments_object(""), arguments_object('{"a": ')
    ({'a': 1}, {}, {'invalid_json': '{"a": '})
    """
    value = parsed_or_text(arguments)
    if isinstance(value, Mapping):
        return dict(value)
    return {"invalid_json": value if isinstance(value, str) else json.dumps(value, default=str)}


def cut_off(reason: str) -> PayloadError:
    """The error for an answer that ended before it was complete."""
    return PayloadError(
        "truncated",
        f"your answer ended too early ({reason}), so none of its tool calls was run: "
        "the arguments may be incomplete; send the calls again, shorter or fewer at a time",
    )


def malformed(reason: str) -> PayloadError:
    """The error for a call that the provider itself could not read."""
    return PayloadError("malformed", f"your tool call could not be read ({reason}); send it again as one complete call with JSON arguments")
