"""Whether every value of corrected arguments comes from the original ones: nothing vanishes, nothing is invented, nothing changes places.

What fitted stays what it was. What did not fit may become what it says itself: by the conversions of the library, by one of the rules in
`readings`, or by another shape of the same values. The rules are listed in docs/explanation/recovery.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from toolbox.coercion.embedded import read_embedded
from toolbox.coercion.numerals import read_numeral
from toolbox.coercion.objects import Names
from toolbox.diagnostics import (
    ABSENT,
    MASK,
    CoercionReport,
    Diagnostic,
    DiagnosticKind,
    Failure,
    FailureReason,
    Path,
    Risk,
    is_within,
    path_text,
    shorten,
)
from toolbox.errors import PayloadError
from toolbox.json_values import json_value
from toolbox.masking import shows
from toolbox.policy import LENIENT, Policy
from toolbox.recovery.equality import exact, same
from toolbox.recovery.nouns import same_names
from toolbox.recovery.quantities import Label, unit_unnamed
from toolbox.recovery.readings import is_converted, is_fine, pieces_of, reading_of
from toolbox.tools import Tool
from toolbox.types import (
    AnyType,
    ArrayType,
    Field,
    NeverType,
    NumberType,
    ObjectType,
    Opaque,
    Ref,
    Type,
    UnionType,
)

__all__ = ["Change", "Invention", "Provenance", "trace"]

_REFERENCES: Final = 100
_STEPS: Final = 20_000
_TRIAL: Final = 20
"""What trying one alternative costs in steps: alternatives inside of alternatives multiply."""


@dataclass(frozen=True, slots=True)
class Change:
    """A value that was changed, and what supports it.

    Attributes:
        path: where, in the corrected arguments.
        before: the value that came.
        after: the value that it became.
        support: name of the rule that finds the one in the other.
    """

    path: str
    before: Any
    after: Any
    support: str


@dataclass(frozen=True, slots=True)
class Invention:
    """A place where corrected arguments do not come from the original ones.

    Attributes:
        path: where.
        problem: what is wrong, and what to do instead.
    """

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the values of corrected arguments come from.

    Attributes:
        changes: what was changed, with what supports it.
        inventions: what has no support; corrected arguments with one of them are never run.
    """

    changes: tuple[Change, ...]
    inventions: tuple[Invention, ...]

    @property
    def ok(self) -> bool:
        """Whether everything comes from the original arguments."""
        return not self.inventions


def trace(
    tool: Tool, original: Mapping[str, Any], corrected: Mapping[str, Any], report: CoercionReport, flagged: Iterable[str] = ()
) -> Provenance:
    """Where the values of corrected arguments come from.

    Args:
        tool: the tool.
        original: the original arguments by name.
        corrected: the corrected arguments by name.
        report: what was wrong with the original ones.
        flagged: paths of fields that are said to be beyond recovery; they need not be there.
    """
    walk = _Trace(tool, report, frozenset(flagged))
    found = _Found()
    walk.fields(tool.document.parameters, tool.bind.names, original, corrected, None, found)
    return Provenance(tuple(found.changes), tuple(found.inventions))


class _Found:
    """What a comparison has found so far."""

    __slots__ = ("changes", "inventions")

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.inventions: list[Invention] = []

    def refuse(self, path: Path, problem: str) -> None:
        self.inventions.append(Invention(path_text(path), problem))

    def adopt(self, trial: _Found) -> None:
        self.changes += trial.changes
        self.inventions += trial.inventions


class _Spot(NamedTuple):
    """What counts at a place: the words of the parameter that it belongs to, and the policy of that parameter."""

    label: Label
    policy: Policy

    def of_item(self) -> _Spot:
        """The same for one of several values."""
        return self if self.label.is_item else self._replace(label=self.label._replace(is_item=True))


class _Trace:
    """Compares corrected arguments of one call with the original ones."""

    def __init__(self, tool: Tool, report: CoercionReport, flagged: frozenset[str]) -> None:
        self.tool = tool
        self.document = tool.document
        self.lenient = replace(LENIENT, limits=tool.policy.limits)
        self.flagged = flagged
        self.torn = frozenset(item.path for item in report.failures if _is_torn(item) and item.path != "$")
        self.left_out = frozenset(item.path for item in report.diagnostics if item.kind is DiagnosticKind.DROPPED)
        self.filled = report.normalized_args
        self.steps = 0

    def is_torn(self, path: Path) -> bool:
        """Whether a value was given several times: which of them is meant, its own sender alone knows."""
        place = path_text(path) if self.torn else ""
        return any(is_within(place, torn) or is_within(torn, place) for torn in self.torn)

    def is_flagged(self, path: Path) -> bool:
        """Whether a value is said to be beyond recovery."""
        place = path_text(path)
        return any(is_within(place, flag) for flag in self.flagged)

    def shown(self, path: Path, value: Any) -> str:
        """A value for a text, masked where it may not be seen."""
        top = path
        while top is not None and top[0] is not None:
            top = top[0]
        tool, redaction = self.tool, self.tool.redaction
        if not tool.guarded:
            return shorten(value)
        if top is None or not shows(tool, str(top[1])) or (redaction is not None and redaction.hides_at(path_text(path))):
            return MASK
        return shorten(value if redaction is None else redaction.value(value, known=tool.names))

    def left_out_text(self, place: Path, value: Any) -> str:
        if self.shown(place, value) == MASK:
            return f"it was left out: write {MASK} for the value that you are not shown"
        return "it was left out: send it, corrected or as it came, or list it in unrecoverable_fields"

    # -- objects -------------------------------------------------------------------------------------------------------------------

    def fields(self, node: ObjectType, names: Names, before: Mapping[Any, Any], after: Mapping[Any, Any], path: Path, out: _Found) -> None:
        """Compare two objects key by key."""
        came, made = _by_name(names, before), _by_name(names, after)
        renamed = self.renamed(names, came, made)
        for name, (key, value) in came.items():
            place = (path, key)
            if name in made:
                self.field(node, names.declared.get(name), value, made[name][1], place, out)
            elif name in renamed:
                target = renamed[name]
                # At the place where it came from: what is not declared there may be meant for something secret.
                self.field(node, names.declared[target], value, made[target][1], place, out)
                out.changes.append(Change(path_text((path, target)), str(key), target, "name"))
            elif not self.may_be_absent(names.declared.get(name), value, place):
                out.refuse(place, self.left_out_text(place, value))
        targets = set(renamed.values())
        for name, (key, value) in made.items():
            if name in came or name in targets or self.is_flagged((path, key)):
                continue
            if not self.is_default(names.declared.get(name), value, path):
                out.refuse((path, key), "it comes from none of the original arguments: leave it out, and list it in unrecoverable_fields")

    def field(self, node: ObjectType, declared: Field | None, before: Any, after: Any, place: Path, out: _Found) -> None:
        policy = self.tool.policy
        if declared is not None:
            text = " ".join(filter(None, (declared.type.title, declared.type.description)))
            own = policy if declared.policy is None else policy.tightened(declared.policy)
            if before is None and after is not None and not declared.required and self.is_default(declared, after, _parent(place)):
                out.changes.append(Change(path_text(place), before, after, "default"))
            else:
                self.compare(declared.type, before, after, place, _Spot(Label(declared.name, text), own), out)
        elif not isinstance(node.additional, NeverType):
            self.compare(node.additional or AnyType(), before, after, place, _Spot(Label(), policy), out)
        elif not same(before, after):
            out.refuse(place, f"it is not declared, and may not become {self.shown(place, after)}")

    def may_be_absent(self, declared: Field | None, value: Any, place: Path) -> bool:
        """Whether a key may be missing from the corrected arguments: what is flagged, what the policy drops, and a null for "not given"."""
        text = path_text(place)
        if any(is_within(flag, text) or is_within(text, flag) for flag in self.flagged):
            return True
        return text in self.left_out if declared is None else value is None and not declared.required

    def is_default(self, declared: Field | None, value: Any, path: Path) -> bool:
        """Whether a key that was not given has the value that it would have had by itself."""
        if declared is None:
            return False
        if declared.type.default is not ABSENT and same(declared.type.default, value):
            return True
        filled = self.filled.get(declared.target or declared.name, ABSENT) if path is None else ABSENT
        return filled is not ABSENT and same(json_value(filled), value)

    # -- names ---------------------------------------------------------------------------------------------------------------------

    def renamed(self, names: Names, came: Mapping[str, tuple[Any, Any]], made: Mapping[str, tuple[Any, Any]]) -> dict[str, str]:
        """Keys that are not declared, each to the declared one that it became: only where its words say so, as a synonym says nothing."""
        absent = [name for name in names.declared if name not in came and name in made]
        unknown = [name for name in came if name not in names.declared and name not in made] if absent else []
        return same_names(unknown, {name: self.takes_numbers(names.declared[name].type) for name in absent})

    def takes_numbers(self, node: Type) -> bool:
        """Whether a number, alone or among others, may stand at a place."""
        found = self.resolved(node)
        if isinstance(found, UnionType):
            return any(isinstance(self.resolved(member), NumberType) for member in found.members)
        return isinstance(found, NumberType)

    # -- values --------------------------------------------------------------------------------------------------------------------

    def compare(self, node: Type, before: Any, after: Any, path: Path, spot: _Spot, out: _Found) -> None:
        """Compare two values for one type."""
        self.steps += 1
        if self.steps > _STEPS:
            out.refuse(path, "the arguments are too large to be compared")
        elif self.flagged and self.is_flagged(path):
            return  # whatever stands there is not run
        elif self.is_torn(path):
            out.refuse(path, "it was given several times with different values, and only the caller knows which one is meant")
        elif not same(before, after):
            # What fits stays what the policy makes of it; only what does not fit may be read in another way.
            was_fine = is_converted(node, before, before, self.document, spot.policy)
            if is_converted(node, before, after, self.document, spot.policy if was_fine else self.lenient):
                out.changes.append(Change(path_text(path), before, after, "conversion"))
            else:
                self.changed(self.resolved(node), before, after, path, spot, was_fine, out)

    def resolved(self, node: Type) -> Type:
        for _ in range(_REFERENCES):
            if isinstance(node, Ref):
                node = self.document.definitions[node.name]
            elif isinstance(node, Opaque):
                node = node.known
            else:
                break
        return node

    def changed(self, node: Type, before: Any, after: Any, path: Path, spot: _Spot, was_fine: bool, out: _Found) -> None:
        if isinstance(node, UnionType):
            self.union(node, before, after, path, spot, was_fine, out)
        elif isinstance(node, ObjectType) and isinstance(after, Mapping):
            self.object(node, before, after, path, spot, out)
        elif isinstance(node, ArrayType) and isinstance(after, list):
            self.array(node, before, after, path, spot, was_fine, out)
        elif was_fine:
            self.kept(before, path, out)
        elif isinstance(before, list) and len(before) == 1 and not isinstance(after, list | Mapping):
            self.reshaped(node, before[0], after, path, spot, ("unwrapped", before), out)
        else:
            rule = reading_of(node, before, after, spot.label)
            if rule is None:
                self.unsupported(before, after, path, out, self.unit_text(node, before, after, path, spot))
            else:
                out.changes.append(Change(path_text(path), before, after, rule))

    def union(self, node: UnionType, before: Any, after: Any, path: Path, spot: _Spot, was_fine: bool, out: _Found) -> None:
        trials: list[_Found] = []
        was_fine = was_fine or is_fine(node, before, self.document, spot.policy)
        # A text that fits is not decoded, a number that fits is not written out, an object that fits is put into no array: only what is
        # inside a container may have changed.
        is_same_kind = any(isinstance(before, kind) and isinstance(after, kind) for kind in (list, Mapping))
        for member in node.members:
            if was_fine and not (is_same_kind and isinstance(self.resolved(member), ObjectType | ArrayType | UnionType)):
                continue
            self.steps += _TRIAL
            trial = _Found()
            self.compare(member, before, after, path, spot, trial)
            if not trial.inventions:
                out.adopt(trial)
                return
            trials.append(trial)
        if trials:
            # The one that came furthest down says most.
            out.adopt(max(trials, key=lambda trial: len(trial.inventions[0].path)))
        elif was_fine:
            self.kept(before, path, out)
        else:
            self.unsupported(before, after, path, out)

    def kept(self, before: Any, path: Path, out: _Found) -> None:
        out.refuse(path, f"it was fine as it came, {self.shown(path, before)}: send it as it came")

    def object(self, node: ObjectType, before: Any, after: Mapping[Any, Any], path: Path, spot: _Spot, out: _Found) -> None:
        if isinstance(before, Mapping):
            self.fields(node, Names(node.fields), before, after, path, out)
        elif isinstance(before, str):
            found = self.embedded(before)
            if isinstance(found, Mapping):
                out.changes.append(Change(path_text(path), before, after, "parsed"))
                self.fields(node, Names(node.fields), found, after, path, out)
            else:
                self.unsupported(before, after, path, out)
        elif isinstance(before, list) and len(before) == 1 and isinstance(before[0], Mapping):
            self.reshaped(node, before[0], after, path, spot, ("unwrapped", before), out)
        else:
            self.unsupported(before, after, path, out)

    def array(self, node: ArrayType, before: Any, after: list[Any], path: Path, spot: _Spot, was_fine: bool, out: _Found) -> None:
        found = self.embedded(before) if isinstance(before, str) else before
        if isinstance(found, list | tuple):
            if found is not before:
                out.changes.append(Change(path_text(path), before, after, "parsed"))
            self.items(node, found, after, path, spot, out)
        elif isinstance(before, str) and not was_fine and self.is_split(node, before, after, path, spot):
            out.changes.append(Change(path_text(path), before, after, "split"))
        elif len(after) == 1 and before is not None and not was_fine:
            self.reshaped(_item(node, 0), before, after[0], path, spot.of_item(), ("wrapped", before), out)
        else:
            self.unsupported(before, after, path, out)

    def items(self, node: ArrayType, before: Any, after: list[Any], path: Path, spot: _Spot, out: _Found) -> None:
        if len(before) != len(after):
            out.refuse(path, f"it held {len(before)} items and now holds {len(after)}: leave out none, and add none")
            return
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            self.compare(_item(node, place), one, other, (path, place), spot.of_item(), out)

    def is_split(self, node: ArrayType, before: str, after: list[Any], path: Path, spot: _Spot) -> bool:
        """Whether a text was parted into its items, with nothing lost but what stood between them."""
        if read_numeral(before.strip()).value is not None:
            return False  # one number, with separators of its own
        for parts in pieces_of(before, len(after)):
            trial = _Found()
            self.items(node, parts, after, path, spot, trial)
            if not trial.inventions:
                return True
        return False

    def embedded(self, text: str) -> Any:
        """The array or object that a text holds; None where it holds none, or none that is certain."""
        try:
            found = read_embedded(text, self.tool.policy.limits)
        except PayloadError:
            return None
        return None if found is None or any(item.risk is Risk.RISKY for item in found.duplicates) else found.value

    def reshaped(self, node: Type, one: Any, other: Any, path: Path, spot: _Spot, rule: tuple[str, Any], out: _Found) -> None:
        """One value with an array around it, or without."""
        out.changes.append(Change(path_text(path), rule[1], other, rule[0]))
        self.compare(node, one, other, path, spot, out)

    def unsupported(self, before: Any, after: Any, path: Path, out: _Found, why: str = "") -> None:
        came, made = self.shown(path, before), self.shown(path, after)
        advice = why or "send what it says, or list it in unrecoverable_fields"
        out.refuse(path, f"{made} does not follow from what came, {came}: {advice}")

    def unit_text(self, node: Type, before: Any, after: Any, path: Path, spot: _Spot) -> str:
        """That a unit came which the parameter does not name; empty where that is not what is amiss."""
        number = exact(after) if isinstance(node, NumberType) and isinstance(before, str) else None
        # The words are a part of the value, so they are told only where all of it may be seen.
        unit = None if number is None or self.shown(path, before) != shorten(before) else unit_unnamed(before, number, spot.label)
        if unit is None:
            return ""
        return (
            f"the parameter names no unit {shorten(unit)}, so nobody knows that the number is meant for it; list it in unrecoverable_fields"
        )


def _parent(place: Path) -> Path:
    parent: Path = None if place is None else place[0]
    return parent


def _by_name(names: Names, value: Mapping[Any, Any]) -> dict[str, tuple[Any, Any]]:
    """Each key with its value, by the declared name that it stands for; of several keys for one name, only its own counts."""
    found: dict[str, tuple[Any, Any]] = {key: (key, item) for key, item in value.items() if key in names.declared}
    others: dict[str | None, list[Any]] = {}
    for key in value:
        if key not in names.declared:
            others.setdefault(names.resolve(key) if isinstance(key, str) else None, []).append(key)
    for name, keys in others.items():
        is_one = name is not None and len(keys) == 1 and name not in found
        found |= {str(name) if is_one else str(key): (key, value[key]) for key in keys}
    return found


def _item(node: ArrayType, place: int) -> Type:
    return node.prefix[place] if place < len(node.prefix) else node.items


def _is_torn(item: Failure) -> bool:
    would_be: Diagnostic | None = item.would_be
    return item.reason is FailureReason.AMBIGUOUS and would_be is not None and would_be.kind is DiagnosticKind.DUPLICATE_KEY
