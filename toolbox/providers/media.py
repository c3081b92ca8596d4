"""Images, documents and sound in what a tool returned, for providers that take them in a result."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from toolbox.json_values import Bounds, json_text, snapshot

__all__ = ["Media", "mentions", "parts_of", "shown", "structured"]

_MOST_BYTES: Final = 20_000_000
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


class Media(NamedTuple):
    """Binary content with its type.

    Attributes:
        mime: its MIME type, such as ``image/png``.
        data: the bytes.
    """

    mime: str
    data: bytes

    @property
    def kind(self) -> str:
        """The part of the MIME type before the slash."""
        return self.mime.partition("/")[0]

    @property
    def subtype(self) -> str:
        """The part of the MIME type behind the slash."""
        return self.mime.partition("/")[2]

    @property
    def base64(self) -> str:
        """The bytes as base64 text."""
        return base64.b64encode(self.data).decode("ascii")

    @property
    def url(self) -> str:
        """The bytes as a ``data:`` URL."""
        return f"data:{self.mime};base64,{self.base64}"

    def __str__(self) -> str:
        return f"[{self.mime}, {len(self.data):,} bytes: cannot be shown here]"


def _mime_of(data: bytes) -> str | None:
    for signature, mime in _SIGNATURES:
        if data.startswith(signature):
            return mime
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def _media(value: Any) -> Media | None:
    """The media that a value is: bytes that begin as an image or a PDF does, or an object with bytes and a MIME type."""
    if isinstance(value, Media):
        return value if len(value.data) <= _MOST_BYTES else None
    mime: str | None = None
    data: object = value
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
    else:
        data = getattr(value, "data", None)
        found = (getattr(value, name, None) for name in ("mime_type", "media_type", "mimeType", "mime"))
        mime = next((text for text in found if isinstance(text, str) and "/" in text), None)
    if not isinstance(data, bytes):
        return None
    mime = mime or _mime_of(data)
    return Media(mime, data) if mime is not None and len(data) <= _MOST_BYTES else None


def _pieces(value: Any, text: str) -> Iterator[Media | str]:
    whole = _media(value)
    if whole is not None:
        yield whole
        return
    if isinstance(value, list | tuple) and any(_media(item) is not None for item in value):
        for item in value:
            part = _media(item)
            yield part if part is not None else item if isinstance(item, str) else json_text(item)
        return
    yield text


def parts_of(value: Any, text: str) -> list[Media | str]:
    """The parts of a result: one text, or media with the texts between them.

    Args:
        value: what the tool returned.
        text: the same as text, where it holds no media.

    >>> [str(part) for part in parts_of([b"%PDF-1.7", "the report"], "")]
    ['[application/pdf, 8 bytes: cannot be shown here]', 'the report']
    """
    return list(_pieces(value, text))


def shown(value: Any, text: str) -> str:
    """A result as text alone: media are only named."""
    return "\n".join(map(str, parts_of(value, text)))


_BOUNDS: Final = Bounds(text=100_000, nodes=50_000, depth=64)
_LONGEST: Final = 100_000


def structured(value: Any, text: str) -> Any:
    """A result as a JSON value, for providers that take one; the text where it has to be cut, or is text anyway."""
    if value is None or isinstance(value, str) or len(text) > _LONGEST:
        return text
    return snapshot(value, _BOUNDS)


def mentions(value: Any, key: str) -> bool:
    """Whether a key stands anywhere in a JSON value."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if key in item:
                return True
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False
