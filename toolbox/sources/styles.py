"""How values are written into paths, queries, headers and cookies: the styles of OpenAPI, after RFC 6570.

What a style cannot say without being read as something else (a comma inside an item of a header, an array inside an array) is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

__all__ = ["STYLES", "CannotSend", "cookie_text", "header_text", "is_unset", "path_text", "query_pairs", "scalar_text"]

STYLES: Final[Mapping[str, tuple[str, ...]]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""The styles of each location, the default first."""

_DELIMITERS: Final = {"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}
# The reserved characters that a query may hold without changing what it means.
_RESERVED: Final = "/?:@!$'()*;,"
_NOT_IN_HEADERS: Final = re.compile(r"[^\t\x20-\x7e]")
_NOT_IN_COOKIES: Final = re.compile(r"[^!#$&-+\--:<-\[\]-~]")

Encode = Callable[[str], str]


class CannotSend(ValueError):
    """A value that fits the schema cannot be put into a request without being read as something else."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(name, reason)

    def __str__(self) -> str:
        return f"{self.name!r} cannot be sent: {self.reason}"


def is_unset(value: Any) -> bool:
    """Whether a value is written by leaving the parameter out: null, and arrays and objects with nothing in them."""
    if isinstance(value, dict):
        return all(item is None for item in value.values())
    return value is None or value == []


def scalar_text(name: str, value: Any) -> str:
    """The text of a value that is no array or object.

    Raises:
        CannotSend: it is one, or null.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        raise CannotSend(name, "arrays and objects inside of it have no written form here")
    if value is None:
        raise CannotSend(name, "null has no written form here")
    return json.dumps(value, allow_nan=False)


def path_text(name: str, value: Any, style: str, *, explode: bool) -> str:
    """What stands in a path for a parameter.

    >>> path_text("id", ["a/b", "c"], "matrix", explode=False)
    ';id=a%2Fb,c'

    Raises:
        CannotSend: it has no written form, or nothing would be left of it.
    """
    if is_unset(value):
        raise CannotSend(name, "it is part of the path and must not be empty")
    encode = _encoded
    if style == "matrix":
        key = encode(name)
        if explode and isinstance(value, dict):
            return "".join(f";{_pair(part, text)}" for part, text in _members(name, value, encode))
        if explode and isinstance(value, list):
            return "".join(f";{_pair(key, text)}" for text in _items(name, value, encode))
        return f";{_pair(key, _joined(name, value, ',', encode))}"
    if style == "label":
        if not explode or not isinstance(value, list | dict):
            return f".{_joined(name, value, ',', encode)}"
        return "." + _joined(name, value, ".", lambda text: encode(_without(name, text, ".")), pairs=True)
    text = _joined(name, value, ",", encode, pairs=explode)
    if not text:
        raise CannotSend(name, "it is part of the path and must not be empty")
    return text


def query_pairs(
    name: str, value: Any, style: str, *, explode: bool, reserved: bool = False, taken: Container[str] = ()
) -> list[tuple[str, str]]:
    """What stands in a query for a parameter: names and values, both percent-encoded.

    Args:
        name: name of the parameter.
        value: its value.
        style: how it is written.
        explode: whether the parts of an array or object are written apart.
        reserved: whether reserved characters stay as they are.
        taken: the names of all parameters: an object that is written apart must not have those of others as keys.

    >>> query_pairs("tag", ["a", "b c"], "form", explode=True)
    [('tag', 'a'), ('tag', 'b%20c')]
    >>> query_pairs("at", {"lat": 1.5}, "deepObject", explode=True)
    [('at%5Blat%5D', '1.5')]

    Raises:
        CannotSend: it has no written form.
    """
    if is_unset(value):
        return []
    encode: Encode = _encoded_reserved if reserved else _encoded
    key = _encoded(name)
    if style == "deepObject":
        return list(_deep(name, name, value, encode))
    if not isinstance(value, list | dict):
        return [(key, encode(scalar_text(name, value)))]
    if explode:
        if isinstance(value, list):
            return [(key, text) for text in _items(name, value, encode)]
        pairs = [(_encoded(part), encode(scalar_text(name, item))) for part, item in value.items() if item is not None]
        for part in value:
            if part in taken and part != name:
                raise CannotSend(name, f"its key {part!r} is also the name of another parameter")
        return pairs
    delimiter = _DELIMITERS[style]
    if delimiter == ",":
        text = _joined(name, value, ",", lambda part: encode(part).replace(",", "%2C"))
    else:
        text = _joined(name, value, _encoded(delimiter), lambda part: encode(_without(name, part, delimiter)))
    return [(key, text)]


def header_text(name: str, value: Any, *, explode: bool) -> str:
    """The value of a header; nothing is percent-encoded there.

    >>> header_text("X-Tags", ["a", "b"], explode=False)
    'a,b'

    Raises:
        CannotSend: it has no written form, or a header cannot hold its characters.
    """
    if not isinstance(value, list | dict):
        return _header_safe(name, scalar_text(name, value))

    def plain(text: str) -> str:
        if not text and len(value) == 1 and isinstance(value, list):
            raise CannotSend(name, "a header cannot hold an array of one empty text")
        return _header_safe(name, _without(name, text, ","))

    def key(text: str) -> str:
        return plain(_without(name, text, "=") if explode else text)

    return _joined(name, value, ",", plain, pairs=explode, encode_key=key)


def cookie_text(name: str, value: Any, *, explode: bool) -> str:
    """The value of a cookie; what a cookie cannot hold is percent-encoded, and so are ``%`` and ``,``.

    >>> cookie_text("seen", ["a", "b;c"], explode=False)
    'a,b%3Bc'

    Raises:
        CannotSend: it has no written form.
    """
    if explode and isinstance(value, list | dict):
        raise CannotSend(name, "arrays and objects can be sent in a cookie only with explode: false")
    return _joined(name, value, ",", lambda text: _NOT_IN_COOKIES.sub(lambda found: quote(found[0], safe=""), text))


def _joined(name: str, value: Any, delimiter: str, encode: Encode, *, pairs: bool = False, encode_key: Encode | None = None) -> str:
    """A value in one text: ``a,b`` for arrays, ``k,v`` or ``k=v`` for objects."""
    if isinstance(value, list):
        return delimiter.join(_items(name, value, encode))
    if isinstance(value, dict):
        members = _members(name, value, encode, encode_key)
        return delimiter.join(f"{key}={text}" if pairs else f"{key}{delimiter}{text}" for key, text in members)
    return encode(scalar_text(name, value))


def _items(name: str, value: list[Any], encode: Encode) -> list[str]:
    return [encode(scalar_text(name, item)) for item in value]


def _members(name: str, value: dict[str, Any], encode: Encode, encode_key: Encode | None = None) -> list[tuple[str, str]]:
    return [((encode_key or encode)(key), encode(scalar_text(name, item))) for key, item in value.items() if item is not None]


def _pair(key: str, text: str) -> str:
    return f"{key}={text}" if text else key


def _deep(name: str, key: str, value: Any, encode: Encode) -> Iterable[tuple[str, str]]:
    if not isinstance(value, dict):
        if key == name or isinstance(value, list):
            raise CannotSend(name, "the style deepObject says only how objects are written, not arrays or plain values")
        yield _encoded(key), encode(scalar_text(name, value))
        return
    for part, item in value.items():
        if isinstance(item, dict) and not item:
            raise CannotSend(name, "an empty object inside of it has no written form here")
        if item is not None:
            yield from _deep(name, f"{key}[{_without(name, _without(name, part, '['), ']')}]", item, encode)


def _without(name: str, text: str, delimiter: str) -> str:
    if delimiter in text:
        raise CannotSend(name, f"{delimiter!r} separates its parts, so none of them may hold it")
    return text


def _header_safe(name: str, text: str) -> str:
    if _NOT_IN_HEADERS.search(text) or text != text.strip():
        raise CannotSend(name, "a header holds printable ASCII characters, with no space at either end")
    return text


def _encoded(text: str) -> str:
    return quote(text, safe="")


def _encoded_reserved(text: str) -> str:
    return quote(text, safe=_RESERVED)
