"""What the strict modes of OpenAI and Anthropic take: other providers have modes that take the same.

Sources: OpenAI's guide to structured outputs; Anthropic's guide to strict tool use, and ``transform_schema`` of its Python SDK.
"""

from __future__ import annotations

import re
from typing import Final

from toolbox.providers.dialects import Dialect, Recursion, Refs
from toolbox.providers.provider import StrictBudget
from toolbox.providers.shared import NameRule
from toolbox.providers.sizes import measure
from toolbox.types import Document

__all__ = ["ANTHROPIC_PROPERTIES", "ANTHROPIC_STRICT", "OPENAI_STRICT", "AnthropicBudget", "OpenAIBudget"]

OPENAI_STRICT: Final = Dialect(
    title="OpenAI strict",
    # Source: "Supported schemas" of OpenAI's guide to structured outputs.
    keywords=frozenset(
        (
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "pattern",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
        )
    ),
    formats=frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")),
    encodings=False,
    defaults=False,
    examples=False,
    deprecated=False,
    lookaround=False,
    refs=Refs.BARE,
    recursion=Recursion.KEEP,
    one_of=False,
    opaque=False,
    prefixes=False,
    untyped=False,
    closed=True,
    complete=True,
    one_type_choices=True,
)

# Source: the limits in OpenAI's guide to structured outputs.
DEEPEST: Final = 10
MOST_PROPERTIES: Final = 5_000
MOST_CHOICES: Final = 1_000
MOST_CHARACTERS: Final = 120_000
MANY_CHOICES: Final = 250
MOST_CHARACTERS_OF_MANY_CHOICES: Final = 15_000


class OpenAIBudget(StrictBudget):
    """The size that a strict schema may have."""

    def refusal(self, document: Document) -> tuple[str, str] | None:
        """The first limit that is passed."""
        size = measure(document)
        passed = [
            (size.depth, DEEPEST, "levels of nesting"),
            (size.properties, MOST_PROPERTIES, "properties"),
            (size.choices, MOST_CHOICES, "values of enums"),
            (size.characters, MOST_CHARACTERS, "characters of names and values of enums"),
            (size.characters_of_many(MANY_CHOICES), MOST_CHARACTERS_OF_MANY_CHOICES, "characters in one enum of many values"),
        ]
        return next((("$", f"{found:,} {what}, and at most {most:,} are allowed") for found, most, what in passed if found > most), None)


ANTHROPIC_PROPERTIES: Final = NameRule(re.compile(r"[^a-zA-Z0-9_.-]"), 64)

ANTHROPIC_STRICT: Final = Dialect(
    title="Anthropic strict",
    # Source: transform_schema of the SDK; what it moves into the description is moved here too, and what it fails on is mended or refused.
    keywords=frozenset(("minItems",)),
    most_min_items=1,
    formats=frozenset(("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")),
    encodings=False,
    defaults=False,
    examples=False,
    deprecated=False,
    refs=Refs.BARE,
    recursion=Recursion.REFUSE,
    one_of=False,
    opaque=False,
    prefixes=False,
    untyped=False,
    closed=True,
    one_type_choices=True,
    properties=ANTHROPIC_PROPERTIES,
)


class AnthropicBudget(StrictBudget):
    """What the strict tools of one request may have altogether, by Anthropic's guide to strict tool use."""

    tools = 20
    optional = 24
    unions = 16

    def __init__(self) -> None:
        self.used_tools = self.used_optional = self.used_unions = 0

    def refusal(self, document: Document) -> tuple[str, str] | None:
        """The first maximum that one more tool would pass."""
        size = measure(document)
        used = (self.used_tools + 1, self.used_optional + size.optional, self.used_unions + size.unions)
        for found, most, what in zip(
            used,
            (self.tools, self.optional, self.unions),
            ("strict tools", "optional parameters", "parameters of more than one type"),
            strict=True,
        ):
            if found > most:
                return "$", f"with it the strict tools of the request would have {found} {what}, and at most {most} are allowed"
        self.used_tools, self.used_optional, self.used_unions = used
        return None
