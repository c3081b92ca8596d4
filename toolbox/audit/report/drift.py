"""The drift report as data: how often the arguments of calls had to be changed or refused, and where.

The terminal, the JSON and the page are all made from this one value, and percentages are written in one place, so that they cannot differ.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = [
    "NO_MODEL",
    "OTHERS",
    "WHOLE",
    "Advice",
    "Bucket",
    "Drift",
    "DriftReport",
    "Example",
    "Group",
    "ParameterDrift",
    "Tally",
    "count_text",
    "name_text",
    "percent_text",
    "span_text",
    "time_text",
    "words",
]

NO_MODEL: Final = "(no model named)"
"""Stands for calls whose metadata names no model."""
OTHERS: Final = "(others)"
"""Stands for what is beyond the number of names that a report lists."""
WHOLE: Final = "(whole call)"
"""Stands for the payload as a whole, where a change or a refusal concerns no single parameter."""

_LONGEST_SPAN: Final = 1e15
_SECONDS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the arguments of some calls, and how the calls ended. Each call counts once.

    Attributes:
        as_is: calls whose arguments fitted as they came; declared defaults may have filled in what was not given.
        mended: calls whose arguments fitted after changes.
        refused: calls whose arguments did not fit.
        unknown_tool: calls of a tool that does not exist.
        statuses: calls by how they ended, such as ``{"done": 3, "failed": 1}``.
        not_run: calls that were not run for a reason of the application, such as a missing value in the context: they say nothing about a
            model, and are in none of the other numbers.
    """

    as_is: int = 0
    mended: int = 0
    refused: int = 0
    unknown_tool: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)
    not_run: int = 0

    @property
    def calls(self) -> int:
        """All calls but those of `not_run`."""
        return self.as_is + self.mended + self.refused + self.unknown_tool

    def __add__(self, other: Tally) -> Tally:
        statuses = {name: self.statuses.get(name, 0) + other.statuses.get(name, 0) for name in {**self.statuses, **other.statuses}}
        return Tally(
            self.as_is + other.as_is,
            self.mended + other.mended,
            self.refused + other.refused,
            self.unknown_tool + other.unknown_tool,
            statuses,
            self.not_run + other.not_run,
        )

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain JSON data."""
        return {
            "calls": self.calls,
            "as_is": self.as_is,
            "mended": self.mended,
            "refused": self.refused,
            "unknown_tool": self.unknown_tool,
            "statuses": dict(sorted(self.statuses.items(), key=lambda item: (-item[1], item[0]))),
            "not_run": self.not_run,
        }


@dataclass(frozen=True, slots=True)
class Example:
    """A value that came, and what was made of it, as JSON text; bounded, and masked as it is on record.

    Attributes:
        came: the value that came; empty when nothing did.
        became: what was made of it, or would have been; empty when nothing was, also where it was left out.
        count: how often it stands among the sampled ones.
        detail: why it was refused; may be empty.
        path: one place where it stood.
    """

    came: str
    became: str = ""
    count: int = 1
    detail: str = ""
    path: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The example as plain JSON data."""
        return {"came": self.came, "became": self.became, "count": self.count, "detail": self.detail, "path": self.path}


@dataclass(frozen=True, slots=True)
class Advice:
    """What would prevent a drift.

    Attributes:
        where: what is to be changed: ``description``, ``type``, ``prompt``, ``policy`` or ``application``.
        text: what to write there.
        code: a line of code that does it; may be empty.
    """

    where: str
    text: str
    code: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The advice as plain JSON data."""
        return {"where": self.where, "text": self.text, "code": self.code}


@dataclass(frozen=True, slots=True)
class Drift:
    """One way in which models drift from a type: the same change, or the same refusal, of one parameter of one tool.

    Attributes:
        tool: name of the tool.
        parameter: the parameter with its place inside it, such as ``items[*].price``.
        kind: the kind of the change, or the reason of the refusal.
        conversion: the change in short, such as ``str->int``; may be empty.
        risk: risk of the change: ``info``, ``warning``, ``risky``; empty for a refusal.
        is_refusal: whether the arguments were refused for it.
        calls: calls in which it happened.
        of_calls: all calls of the tool.
        models: calls in which it happened, by model.
        examples: what came most often among the latest ones.
        sampled: among how many of the latest ones the examples were counted.
        advice: what would prevent it.
    """

    tool: str
    parameter: str
    kind: str
    conversion: str
    risk: str
    is_refusal: bool
    calls: int
    of_calls: int
    models: Mapping[str, int]
    examples: tuple[Example, ...]
    sampled: int
    advice: Advice

    @property
    def share(self) -> float:
        """The share of the tool's calls, from 0 to 1."""
        return _share(self.calls, self.of_calls)

    @property
    def leaves_out(self) -> bool:
        """Whether what came was left out, as far as an example says nothing else."""
        return self.kind == "dropped" and not self.is_refusal

    @property
    def label(self) -> str:
        """The drift in a few words, such as ``coerced str->int`` or ``refused, invalid``."""
        return f"refused, {words(self.kind)}" if self.is_refusal else words(self.kind, self.conversion)

    def to_dict(self) -> dict[str, Any]:
        """The drift as plain JSON data."""
        return {
            "tool": self.tool,
            "parameter": self.parameter,
            "kind": self.kind,
            "conversion": self.conversion,
            "risk": self.risk or None,
            "is_refusal": self.is_refusal,
            "calls": self.calls,
            "of_calls": self.of_calls,
            "share": round(self.share, 6),
            "models": dict(self.models),
            "examples": [item.to_dict() for item in self.examples],
            "sampled": self.sampled,
            "advice": self.advice.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class ParameterDrift:
    """How often one parameter of one tool was changed or refused: a row of the heat table.

    Attributes:
        tool: name of the tool.
        parameter: the parameter with its place inside it.
        is_declared: False for a name that models send and the tool does not have.
        calls: all calls of the tool.
        changed: calls in which it was changed.
        refused: calls in which it was refused.
        drifted: calls in which it was changed or refused; each counts once.
        models: for each model, calls in which it was changed or refused.
    """

    tool: str
    parameter: str
    is_declared: bool
    calls: int
    changed: int
    refused: int
    drifted: int
    models: Mapping[str, int]

    @property
    def share(self) -> float:
        """The share of the tool's calls in which it was changed or refused, from 0 to 1."""
        return _share(self.drifted, self.calls)

    def to_dict(self) -> dict[str, Any]:
        """The row as plain JSON data."""
        return {
            "tool": self.tool,
            "parameter": self.parameter,
            "is_declared": self.is_declared,
            "calls": self.calls,
            "changed": self.changed,
            "refused": self.refused,
            "drifted": self.drifted,
            "share": round(self.share, 6),
            "models": dict(self.models),
        }


@dataclass(frozen=True, slots=True)
class Bucket:
    """What became of the calls of one stretch of time.

    Attributes:
        start: its first moment, in seconds since the epoch.
        end: the first moment after it.
        tally: what became of the calls.
    """

    start: float
    end: float
    tally: Tally

    def to_dict(self) -> dict[str, Any]:
        """The stretch as plain JSON data."""
        return {"start": time_text(self.start), "end": time_text(self.end), **self.tally.to_dict()}


@dataclass(frozen=True, slots=True)
class Group:
    """What became of the calls of one tool, or of one model.

    Attributes:
        name: its name.
        tally: what became of the calls.
        top: the most frequent drift in a few words; empty when there is none.
        top_calls: calls in which that happened.
        models: of a tool, its calls by model; empty for a model.
    """

    name: str
    tally: Tally
    top: str = ""
    top_calls: int = 0
    models: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The group as plain JSON data."""
        top = {"what": self.top, "calls": self.top_calls} if self.top else None
        return {"name": self.name, **self.tally.to_dict(), "top_drift": top, "models": dict(self.models)}


@dataclass(frozen=True, slots=True)
class DriftReport:
    """How models drift from the types of tools: per tool, parameter and model.

    Attributes:
        source: what was read, such as ``audit.db``.
        made_at: when, in seconds since the epoch.
        since: the first moment that was asked for; None for all.
        until: the first moment after what was asked for; None for all.
        tool: the tool that was asked for; None for all.
        model: the model that was asked for; None for all.
        first: when the first call came; None when there is none.
        last: when the last call came; None when there is none.
        total: what became of all calls.
        tools: what became of them, by tool.
        models: what became of them, by model.
        parameters: where it drifts, the largest share first within each tool.
        changes: the most frequent changes, with what would prevent them.
        refusals: the most frequent refusals, with what would prevent them.
        buckets: what became of the calls over time.
        unknown_tools: names that were called and that no tool has, with how often.
        left_out: how many tools, models, parameters, changes, refusals and names are not listed, being the less frequent ones.
        followed: runs that are no calls of a model and are counted nowhere else: under ``"review"`` those that a person approved, under
            ``"recovery"`` the corrected forms of calls that did not fit.
    """

    source: str
    made_at: float
    since: float | None
    until: float | None
    tool: str | None
    model: str | None
    first: float | None
    last: float | None
    total: Tally
    tools: tuple[Group, ...] = ()
    models: tuple[Group, ...] = ()
    parameters: tuple[ParameterDrift, ...] = ()
    changes: tuple[Drift, ...] = ()
    refusals: tuple[Drift, ...] = ()
    buckets: tuple[Bucket, ...] = ()
    unknown_tools: tuple[tuple[str, int], ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    followed: Mapping[str, int] = field(default_factory=dict)

    @property
    def uncounted_texts(self) -> list[str]:
        """What is counted in no share, in words: calls that the application did not run, and runs that are no calls of a model."""
        counts = {"not_run": self.total.not_run, **self.followed}
        said = {
            "not_run": "not run for a reason of the application",
            "review": "approved by a person and run",
            "recovery": "corrected by a model and run again",
        }
        return [f"{count_text(counts[name])} {text}" for name, text in said.items() if counts.get(name)]

    @property
    def drifts(self) -> list[Drift]:
        """Changes and refusals together, the most frequent first."""
        return sorted((*self.changes, *self.refusals), key=lambda item: -item.calls)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON data."""
        return {
            "source": self.source,
            "made_at": time_text(self.made_at),
            "since": None if self.since is None else time_text(self.since),
            "until": None if self.until is None else time_text(self.until),
            "tool": self.tool,
            "model": self.model,
            "first": None if self.first is None else time_text(self.first),
            "last": None if self.last is None else time_text(self.last),
            "total": self.total.to_dict(),
            "followed": {"review": self.followed.get("review", 0), "recovery": self.followed.get("recovery", 0)},
            "tools": [item.to_dict() for item in self.tools],
            "models": [item.to_dict() for item in self.models],
            "parameters": [item.to_dict() for item in self.parameters],
            "changes": [item.to_dict() for item in self.changes],
            "refusals": [item.to_dict() for item in self.refusals],
            "buckets": [item.to_dict() for item in self.buckets],
            "unknown_tools": [{"name": name, "calls": calls} for name, calls in self.unknown_tools],
            "left_out": dict(self.left_out),
        }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def count_text(number: int) -> str:
    """A count as it is shown everywhere.

    >>> count_text(1234567)
    '1,234,567'
    """
    return f"{number:,}"


def percent_text(part: int, whole: int) -> str:
    """A share in percent as it is shown everywhere: never 0 for something, never 100 for less than all.

    >>> percent_text(1, 3), percent_text(1, 100_000), percent_text(99_999, 100_000), percent_text(0, 0)
    ('33.3 %', '< 0.1 %', '> 99.9 %', '0 %')
    """
    if not part:
        return "0 %"
    if part == whole:
        return "100 %"
    percent = 100 * part / whole
    if percent < 0.1:
        return "< 0.1 %"
    return "> 99.9 %" if percent > 99.9 else f"{percent:.1f} %"


def name_text(name: str) -> str:
    """A name as it is shown everywhere: in quotes where there would be nothing to see.

    >>> name_text("search"), name_text("")
    ('search', '""')
    """
    return name if name.strip(" ") else json.dumps(name)


def time_text(moment: float) -> str:
    """A moment in UTC, to the second.

    >>> time_text(1_700_000_000.5)
    '2023-11-14T22:13:20Z'
    """
    # Added to the epoch, since fromtimestamp does not reach as far on every system; a clock that was set wrong breaks no report.
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    try:
        return (epoch + datetime.timedelta(seconds=moment // 1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError):
        return f"{moment:.15g} s"


def span_text(seconds: float) -> str:
    """A stretch of time in its largest whole unit.

    >>> span_text(3600), span_text(7 * 86400), span_text(900)
    ('1 hour', '7 days', '15 minutes')
    """
    for size, name in _SECONDS:
        if size <= seconds < _LONGEST_SPAN and seconds % size == 0:
            number = round(seconds / size)
            return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"
    return f"{seconds:g} seconds"


def words(kind: str, conversion: str = "") -> str:
    """A kind of change, or a reason, with its conversion, in words.

    >>> words("matched", "match:prefix"), words("wrong_type"), words("dropped", "unknown")
    ('matched prefix', 'wrong type', 'dropped')
    """
    name = kind.replace("_", " ")
    said = conversion.removeprefix("match:")
    if said in ("", "unknown", "default", kind):
        return name
    return said if said.startswith(name) else f"{name} {said}"
