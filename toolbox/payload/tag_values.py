"""Values that stand between tags, where texts have no quotes."""

from __future__ import annotations

from typing import Any

from toolbox.errors import PayloadError
from toolbox.payload.strict import parse_json
from toolbox.policy import Policy

__all__ = ["value_of_tag"]


def value_of_tag(text: str, policy: Policy, typed: bool = False) -> Any:
    """The value between two tags: an object or array where it is one, else text, for the declared type to decide.

    >>> from toolbox.policy import LENIENT
    >>> value_of_tag("[1, 2]", LENIENT), value_of_tag("12", LENIENT), value_of_tag("12", LENIENT, typed=True)
    ([1, 2], '12', 12)
    """
    text = text.removeprefix("\n").removesuffix("\n")
    stripped = text.strip()
    if typed or stripped.startswith(("{", "[")):
        try:
            return parse_json(stripped, policy.limits)[0]
        except PayloadError:
            return text
    return text
