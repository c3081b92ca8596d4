"""Names that every provider takes, made of names that come from elsewhere."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Final

__all__ = ["digest", "parameter_name", "tool_name", "unique_names"]

LONGEST: Final = 64
_PARAMETER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TOOL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


def parameter_name(text: str) -> str:
    """The name of a parameter made of letters, digits and ``_`` alone; empty when nothing of the text is left.

    >>> parameter_name("filter[status]"), parameter_name("X-Request-ID"), parameter_name("2nd"), parameter_name("größe")
    ('filter_status', 'X_Request_ID', '_2nd', 'gro_e')
    """
    return text if _PARAMETER.match(text) else _cleaned(text, r"[^A-Za-z0-9_]+")


def tool_name(text: str) -> str:
    """The name of a tool made of letters, digits, ``_`` and ``-`` alone; empty when nothing of the text is left.

    >>> tool_name("files.read"), tool_name("get-pet"), tool_name("GET /pets/{petId}")
    ('files_read', 'get-pet', 'GET_pets_petId')
    """
    return text if _TOOL.match(text) else _cleaned(text, r"[^A-Za-z0-9_-]+")


def unique_names(wishes: Sequence[tuple[str, str]]) -> list[str]:
    """A name for each wish, all different and none too long.

    Args:
        wishes: for each the name that it would have, legal or empty, and the text that tells it from all others.

    A name that is too long, or that several wish for, ends in a digest of that text, so that it does not depend on the order of the wishes
    or on which of them there are. The one that had the name from the beginning keeps it.

    >>> unique_names([("list_pets", "list_pets"), ("list_pets", "list.pets"), ("", "名前")])
    ['list_pets', 'list_pets_f12cfebd', 'unnamed_7ec26292']
    """
    wished = Counter(name for name, _ in wishes)
    own = Counter(name for name, identity in wishes if name == identity)
    made: list[str] = []
    used = {name for name, count in wished.items() if name and len(name) <= LONGEST and (count == 1 or own[name] == 1)}
    for name, identity in wishes:
        if name in used and (wished[name] == 1 or name == identity):
            made.append(name)
            continue
        text = identity
        while (found := f"{(name or 'unnamed')[: LONGEST - 9]}_{digest(text)}") in used:
            text += "'"
        used.add(found)
        made.append(found)
    return made


def digest(text: str | bytes) -> str:
    """Eight hexadecimal digits that depend on all of a text."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text).hexdigest()[:8]


def _cleaned(text: str, illegal: str) -> str:
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    clean = re.sub(illegal, "_", plain).strip("_-")
    return f"_{clean}" if clean[:1].isdigit() else clean
