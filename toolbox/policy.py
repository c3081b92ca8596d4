"""What the dispatcher may do to arguments: an immutable value with named switches, and three presets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any, Final, Self

from toolbox.diagnostics import Risk
from toolbox.matching import MatchLevel

__all__ = [
    "ABSORBING",
    "LENIENT",
    "STRICT",
    "CoercionLevel",
    "Limits",
    "Missing",
    "OnFailure",
    "Policy",
    "ProseCalls",
    "RepairLevel",
    "Unknown",
]

# In every enum below a lower value is the stricter one, so that tightening is taking the minimum.


class CoercionLevel(IntEnum):
    """How far a value may be pushed toward the declared type."""

    EXACT = 0
    SAFE_WIDENING = 1
    STRING = 2
    BEST_EFFORT = 3


class Unknown(IntEnum):
    """What happens to an argument that is not declared."""

    FORBID = 0
    """The call is refused."""
    PRESERVE = 1
    """It is kept in the report's residual, recorded."""
    DROP = 2
    """It is left out, recorded."""


class Missing(IntEnum):
    """What happens to a parameter that is not given. The defaults of Python parameters are always used, and recorded."""

    ERROR = 0
    """A nullable parameter without a default is missed like any other."""
    DEFAULT = 1
    """A nullable parameter without a default becomes None, recorded."""
    FILL = 2
    """Also, the defaults that a JSON Schema declares are filled in, recorded; otherwise they are left to whoever serves the tool."""


class OnFailure(IntEnum):
    """What happens to a call with failures."""

    RAISE = 0
    """An error is raised."""
    COLLECT = 1
    """The report goes to the registered fallback handler; without one an error is raised."""


class RepairLevel(IntEnum):
    """What may be done to text that is not JSON."""

    NONE = 0
    """The payload must be a mapping or JSON text."""
    EXTRACT = 1
    """The object may be found inside fences, tags, prose, or JSON text in JSON text."""
    REPAIR = 2
    """Broken JSON may be mended where no value is touched."""
    CLOSE = 3
    """Also, closing brackets that were cut off may be added."""


class ProseCalls(IntEnum):
    """Whether calls found in prose count."""

    OFF = 0
    """Never."""
    SINGLE = 1
    """Only when there is exactly one."""
    ALL = 2
    """All complete calls in code fences or on a line of their own."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds for what is read; each exceeded limit is its own clear error.

    Attributes:
        text: characters of one text payload.
        depth: levels of nesting.
        nodes: values in one payload, containers and scalars.
        integer_digits: decimal digits of one integer.
        repair_text: characters up to which broken JSON is repaired.
    """

    text: int = 1_048_576
    depth: int = 64
    nodes: int = 100_000
    integer_digits: int = 4_300
    repair_text: int = 65_536


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be done to the arguments of a call.

    Attributes:
        coercion: how far a value may be pushed toward the declared type.
        unknown: what happens to arguments that are not declared.
        missing: what happens to parameters that are not given.
        failures: whether a call with failures raises at once or goes to the fallback handler.
        max_risk: the highest risk that may go through; above it a conversion is a failure that says what it would have been.
        matching: how far the cascade for enum choices may go.
        repair: what may be done to text that is not JSON.
        prose_calls: whether calls found in prose count.
        limits: upper bounds for what is read.
        name: name of the preset that it is or came from; not compared.
    """

    coercion: CoercionLevel = CoercionLevel.BEST_EFFORT
    unknown: Unknown = Unknown.DROP
    missing: Missing = Missing.DEFAULT
    failures: OnFailure = OnFailure.COLLECT
    max_risk: Risk = Risk.WARNING
    matching: MatchLevel = MatchLevel.TOKEN
    repair: RepairLevel = RepairLevel.CLOSE
    prose_calls: ProseCalls = ProseCalls.ALL
    limits: Limits = field(default_factory=Limits)
    name: str = field(default="custom", compare=False)

    def tightened(self, other: Policy) -> Policy:
        """The stricter of both, switch by switch; so a tool or a parameter can tighten a registry's policy and never loosen it."""
        stricter: dict[str, Any] = {
            item.name: min(getattr(self, item.name), getattr(other, item.name))
            for item in fields(Policy)
            if item.name not in ("limits", "name")
        }
        limits = Limits(*(min(getattr(self.limits, item.name), getattr(other.limits, item.name)) for item in fields(Limits)))
        result = Policy(**stricter, limits=limits, name=self.name)
        return replace(result, name=other.name) if result == other else result

    @classmethod
    def from_name(cls, name: str) -> Policy:
        """The preset of this name, in any case: ``strict``, ``absorbing`` or ``lenient``.

        Raises:
            ValueError: there is no such preset.

        >>> Policy.from_name("Strict") is STRICT
        True
        """
        preset = PRESETS.get(name.strip().lower())
        if preset is None:
            raise ValueError(f"there is no policy named {name!r}; the names are {', '.join(PRESETS)}")
        return preset

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Policy:
        """The preset that the variable ``TOOLBOX_POLICY`` names, else `LENIENT`.

        Raises:
            ValueError: the variable names no preset.
        """
        name = (os.environ if environment is None else environment).get(POLICY_VARIABLE, "")
        return cls.from_name(name) if name.strip() else LENIENT

    def named(self, name: str) -> Self:
        """The same policy under another name."""
        return replace(self, name=name)


POLICY_VARIABLE: Final = "TOOLBOX_POLICY"

STRICT: Final = Policy(
    coercion=CoercionLevel.EXACT,
    unknown=Unknown.FORBID,
    missing=Missing.ERROR,
    failures=OnFailure.RAISE,
    max_risk=Risk.INFO,
    matching=MatchLevel.EXACT,
    repair=RepairLevel.NONE,
    prose_calls=ProseCalls.OFF,
    name="strict",
)
"""Refuses what is not exactly right."""

ABSORBING: Final = Policy(
    coercion=CoercionLevel.SAFE_WIDENING,
    unknown=Unknown.PRESERVE,
    missing=Missing.ERROR,
    failures=OnFailure.COLLECT,
    max_risk=Risk.INFO,
    matching=MatchLevel.CASE,
    repair=RepairLevel.EXTRACT,
    prose_calls=ProseCalls.SINGLE,
    name="absorbing",
)
"""Converts what loses nothing and keeps what is not declared."""

LENIENT: Final = Policy(name="lenient")
"""Mends whatever has one sensible reading."""

PRESETS: Final = {policy.name: policy for policy in (STRICT, ABSORBING, LENIENT)}
