"""Unions: the member that takes the value as it is, else the one that takes the fewest liberties."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from toolbox.coercion.builder import Builder, Coercer, single_item
from toolbox.coercion.embedded import opens
from toolbox.coercion.formats import FORMATS
from toolbox.coercion.judge import BEST_EFFORT, INFO, RISKY, STRING, WARNING
from toolbox.coercion.objects import OTHER_SPELLING, Names
from toolbox.coercion.recurrence import comes_back, given_to, met_by, tries_members
from toolbox.coercion.scalars import NO_VALUE_WORDS, NULL_WORDS, is_single
from toolbox.diagnostics import ABSENT, INVALID, Diagnostic, DiagnosticKind, FailureReason, Outcome, Path, Risk, path_text, shorten
from toolbox.types import (
    AnyType,
    ArrayType,
    EnumType,
    IntegerType,
    NeverType,
    NullType,
    NumberType,
    ObjectType,
    Opaque,
    StringType,
    Type,
    UnionType,
    is_untyped,
)

__all__ = ["union"]

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_CONTAINERS: Final = (list, Mapping, tuple, set, frozenset, deque)
_HOLDING_ARRAYS: Final = ("array", "any")
_WEIGHT: Final = {Risk.INFO: 1, Risk.WARNING: 100, Risk.RISKY: 10_000}


class _Member(NamedTuple):
    node: Type
    coerce: Coercer
    kind: str
    tag: frozenset[Any] | None
    names: Names | None
    returns: bool
    is_array: bool

    def may_return(self, value: Any) -> bool:
        """Whether the member may give a value, of which nothing is consumed, back to the union."""
        return self.returns and not (self.is_array and type(value) is list)


def union(node: UnionType, builder: Builder) -> Coercer:
    """Coercer of unions; a union with null is its other members, plus the ways to write null."""
    others = tuple(item for item in node.members if not isinstance(builder.resolve(item), NullType))
    # Where exactly one must accept, null is counted like the others; where no type is named, text is text whatever it says.
    if len(others) == len(node.members) or node.one_of or is_untyped(node):
        return _Members(node, node.members, builder).coerce
    if not others:
        return builder.build(NullType())
    inner = _Members(node, others, builder).coerce if tries_members(node, builder.resolve) else builder.build(others[0])
    return _optional(node, others, inner, builder)


def _optional(node: UnionType, others: Sequence[Type], inner: Coercer, builder: Builder) -> Coercer:
    judge = builder.judge
    expected = builder.expected(node)
    kinds = [builder.resolve(item) for item in others]
    takes_text = any(_takes_text(item, builder) for item in kinds)
    takes_numbers = any(isinstance(item, NumberType) for item in kinds)
    # A word that is a choice, or the name of one, in whatever case, is that choice.
    enums = [item for item in kinds if isinstance(item, EnumType)]
    choices = {text.casefold() for item in enums for text in (*item.values, *(item.names or ())) if isinstance(text, str)}
    may_null_text = builder.judge.allows(BEST_EFFORT, WARNING)

    takes_arrays = any(_kind(item, builder) in _HOLDING_ARRAYS for item in kinds)

    def coerce_optional(value: Any, path: Path, out: Outcome) -> Any:
        if value is None:
            return None
        if not takes_arrays and is_single(value):
            return single_item(coerce_optional, value, expected, path, out, judge)
        if type(value) is str and len(value) <= 16:
            word = value.strip().lower()
            if word in _LOOKED_AT and word not in choices:
                return from_word(value, word, path, out)
        return inner(value, path, out)

    def from_word(value: str, word: str, path: Path, out: Outcome) -> Any:
        if takes_text:
            if value in ("null", "None") and may_null_text:
                return judge.change(
                    out, path, expected, value, None, BEST_EFFORT, WARNING, conversion="str->None", suggestion="Send null, without quotes"
                )
            return inner(value, path, out)
        trial = Outcome(out.known, out.met)
        made = inner(value, path, trial)
        if not trial.failures and _unchanged(value, made):
            return made
        if word in NULL_WORDS or not word:
            risk = WARNING if not word else INFO
            return judge.change(
                out, path, expected, value, None, STRING, risk, conversion="str->None", suggestion="Send null, or leave it out"
            )
        if made is not INVALID or not takes_numbers:
            out.adopt(trial)
            return made
        return judge.change(
            out,
            path,
            expected,
            value,
            None,
            BEST_EFFORT,
            RISKY,
            conversion="str->None",
            detail="it may mean that there is no value",
            suggestion="Send null when there is no value",
        )

    return coerce_optional


KEYS_LOOKED_AT: Final = 50
_LOOKED_AT: Final = NO_VALUE_WORDS | {""}


def _takes_text(node: Type, builder: Builder) -> bool:
    """Whether a node is for text of any wording, so that hardly a word can be told to mean null."""
    node = builder.resolve(node)
    if isinstance(node, UnionType):
        return any(_takes_text(item, builder) for item in node.members if item is not node)
    if isinstance(node, Opaque):
        return _takes_text(node.known, builder)
    if isinstance(node, EnumType):
        return node.open
    return isinstance(node, StringType) and node.construct is None and not (node.format in FORMATS and node.checks_format)


class _Members:
    """A union of members that are not null."""

    def __init__(self, node: UnionType, members: Sequence[Type], builder: Builder) -> None:
        self.judge = builder.judge
        self.expected = builder.expected(node)
        self.one_of = node.one_of
        self.discriminator = node.discriminator or _inferred_tag(members, builder)
        self.members = tuple(
            _Member(
                item,
                builder.build(item),
                _kind(builder.resolve(item), builder),
                _tags(item, self.discriminator, builder),
                _names(builder.resolve(item)),
                comes_back(node, builder.resolve, by=item),
                isinstance(builder.resolve(item), ArrayType),
            )
            for item in members
        )
        self.own = frozenset({id(node)})
        self.recurs = any(member.returns for member in self.members)
        self.builder = builder
        self._exact: dict[int, Coercer] = {}
        self.takes_arrays = any(member.kind in _HOLDING_ARRAYS for member in self.members)
        resolved = [(member, builder.resolve(member.node).instance) for member in self.members]
        self.makers = tuple((member, instance) for member, instance in resolved if instance is not None)

    def coerce(self, value: Any, path: Path, out: Outcome) -> Any:
        if not self.takes_arrays and is_single(value):
            # The element is read by all members together, so that one that takes it as it is wins.
            return single_item(self.coerce, value, self.expected, path, out, self.judge)
        met = met_by(value, out) if self.recurs and out.met is not None else None
        if met is not None and self.own <= met.nodes:
            # It went round: what this union makes of it is found where it came first.
            return out.fail(path, FailureReason.WRONG_TYPE, self.expected, value)
        members = self.candidates(value)
        if len(members) == 1 and not members[0].may_return(value):
            return members[0].coerce(value, path, out)
        if met is None and (type(value) in _SCALARS or not isinstance(value, _CONTAINERS)) and not self.may_decode(value):
            return self.choose(members, value, path, out)
        # An alternative inside an alternative is met once for each way to reach it; it is worked out once.
        if out.known is None:
            out.known = {}
        key: tuple[Any, ...] = (id(self), id(value), path_text(path))
        if met is not None:
            key = (*key, met.nodes, met.wraps)
        if key not in out.known:
            trial = Outcome(out.known, met)
            # The value is held too: what was decoded from text would be gone, and its identity given to another value.
            out.known[key] = (self.choose(members, value, path, trial), trial, value)
        made, trial, _ = out.known[key]
        out.adopt(trial)
        return made

    def may_decode(self, value: Any) -> bool:
        """Whether a value is text of which each alternative may make a container that comes to this union again."""
        return self.recurs and type(value) is str and opens(value)

    def choose(self, members: Sequence[_Member], value: Any, path: Path, out: Outcome) -> Any:
        """What the best of the members makes of a value."""
        if len(members) == 1:
            trial = given_to(self.own, value, out)
            made = members[0].coerce(value, path, trial)
            out.adopt(trial)
            return made
        clean: list[tuple[_Member, Any]] = []
        filled: list[tuple[int, Any, Outcome]] = []
        mended: list[tuple[int, _Member, Any, Outcome]] = []
        failed: list[Outcome] = []
        for member in members:
            trial = given_to(self.own, value, out) if member.returns and member.may_return(value) else Outcome(out.known)
            made = member.coerce(value, path, trial)
            if made is INVALID or trial.failures:
                failed.append(trial)
            elif not trial.diagnostics:
                clean.append((member, made))
                # An object is what the first class says that takes it whole; trying the others would double the work at every level.
                if not self.one_of and (_unchanged(value, made) or isinstance(value, Mapping)):
                    return made
            elif all(map(_is_default, trial.diagnostics)):
                filled.append((len(trial.diagnostics), made, trial))
            else:
                cost = sum(_WEIGHT[found.risk] for found in trial.diagnostics if not _is_default(found))
                mended.append((cost, member, made, trial))
        if self.one_of:
            if len(clean) + len(filled) > 1:
                return self.fits_several(value, path, out)
            misspelt = [trial for trial in failed if _is_misspelt(trial)]
            if misspelt and (clean or filled):
                # The schema allows the key that was refused, so by the schema the value fits that member too.
                out.adopt(misspelt[0])
                return INVALID
            if mended:
                fits, made = self.fitting(value, path, out)
                if fits > 1:
                    return self.fits_several(value, path, out)
                if made is not INVALID and not filled:
                    # What fits as it came is left alone.
                    return made
        if clean:
            return self.from_clean(clean, value)
        if filled:
            # A declared default is no liberty: the value is taken as it is, best by the member that it leaves the least to.
            _, made, trial = min(filled, key=lambda item: item[0])
            out.adopt(trial)
            return made
        if mended:
            return self.from_mended(mended, failed, value, path, out)
        return self.refuse(failed, value, path, out)

    def fitting(self, value: Any, path: Path, out: Outcome) -> tuple[int, Any]:
        """How many members a value fits as it is, by the schema; and what the last that takes it makes of it, or `INVALID`.

        A looser policy may change what fits, so the strictest one counts.
        """
        count, made = 0, INVALID
        for member in self.candidates(value):
            if id(member.node) not in self._exact:
                self._exact[id(member.node)] = self.builder.asking().build(member.node)
            # What was made of a value has not been met, though the value may be within it.
            trial = Outcome(out.known, met_by(value, out))
            found = self._exact[id(member.node)](value, path, trial)
            if found is not INVALID and not trial.failures:
                count, made = count + 1, found
            elif _is_misspelt(trial):
                count += 1
        return count, made

    def fits_several(self, value: Any, path: Path, out: Outcome) -> Any:
        return out.fail(path, FailureReason.AMBIGUOUS, self.expected, value, "it fits more than one of the alternatives, and must fit one")

    def candidates(self, value: Any) -> Sequence[_Member]:
        """The members worth trying: of containers only those of the value's own kind, where there are any, so that work stays linear."""
        if isinstance(value, Mapping):
            tagged = self.tagged(value)
            if tagged:
                return tagged
            return self.owners(value, [item for item in self.members if item.kind in ("object", "any")]) or self.members
        if isinstance(value, list):
            return [item for item in self.members if item.kind in ("array", "any")] or self.members
        if isinstance(value, tuple):
            # An instance of a NamedTuple is a tuple as well.
            made = [member for member, instance in self.makers if isinstance(value, instance)]
            return made or [item for item in self.members if item.kind in ("array", "any")] or self.members
        return self.members

    def owners(self, value: Mapping[Any, Any], members: Sequence[_Member]) -> Sequence[_Member]:
        """The members that know every key which any of them knows, or seems to mean: none of these keys is there to be left out."""
        kept = list(members)
        for key in itertools.islice(value, KEYS_LOOKED_AT):
            if not isinstance(key, str):
                continue
            knowing = [item for item in members if item.names is not None and item.names.resolve(key) is not None]
            if not knowing:
                knowing = [item for item in members if item.names is not None and item.names.near(key, item.names.declared)]
            if knowing:
                known = {id(item) for item in knowing}
                kept = [item for item in kept if item.names is None or id(item) in known]
        # What is left out by all of them is refused by each of them, with its reason.
        return kept or members

    def tagged(self, value: Mapping[str, Any]) -> Sequence[_Member]:
        if self.discriminator is None:
            return ()
        tag = value.get(self.discriminator, ABSENT)
        if tag is ABSENT or isinstance(tag, list | dict):
            return ()
        return [item for item in self.members if item.tag is not None and (type(tag), tag) in item.tag]

    def from_clean(self, clean: list[tuple[_Member, Any]], value: Any) -> Any:
        for _, made in clean:
            if _unchanged(value, made):
                return made
        return clean[0][1]

    def from_mended(
        self, mended: list[tuple[int, _Member, Any, Outcome]], failed: list[Outcome], value: Any, path: Path, out: Outcome
    ) -> Any:
        least = min(cost for cost, *_ in mended)
        riskier = next(
            (item for trial in failed for item in trial.failures if item.would_be is not None and item.path == path_text(path)), None
        )
        if least >= _WEIGHT[Risk.WARNING] and riskier is not None and riskier.reason is FailureReason.TOO_RISKY:
            # Another member reads it otherwise, if only at a risk: then no reading is the only sensible one.
            return out.fail(
                path, FailureReason.AMBIGUOUS, self.expected, value, riskier.detail or "it could be read in two ways", riskier.suggestion
            )
        best = [(member, made, trial) for cost, member, made, trial in mended if cost == least]
        chosen = next((item for item in best if isinstance(item[0].node, IntegerType)), best[0])
        if any(not _alike(chosen[1], made) for _, made, _ in best):
            readings = ", ".join(dict.fromkeys(shorten(made, 40) for _, made, _ in best))
            return out.fail(
                path, FailureReason.AMBIGUOUS, self.expected, value, f"it could be read as {readings}", "Send the value in its own type"
            )
        # What was changed must fit one alternative as well, not only what came.
        if self.one_of and self.fitting(chosen[1], path, out)[0] > 1:
            return self.fits_several(value, path, out)
        out.adopt(chosen[2])
        return chosen[1]

    def refuse(self, failed: list[Outcome], value: Any, path: Path, out: Outcome) -> Any:
        """What one member would have made of the value; else the failures of the one that went deepest; else one failure for all."""
        details = [failure for trial in failed for failure in trial.failures]
        readings = [failure for failure in details if failure.would_be is not None and failure.path == path_text(path)]
        if readings:
            nearly = next((failure for failure in readings if failure.reason is FailureReason.TOO_RISKY), readings[0])
            after = None if nearly.would_be is None else nearly.would_be.after
            if self.one_of and self.builder.advises and self.fitting(after, path, out)[0] > 1:
                detail = f"{shorten(after)} would fit more than one of the alternatives"
                return out.fail(path, nearly.reason, self.expected, value, detail)
            return out.fail(path, nearly.reason, self.expected, value, nearly.detail, nearly.suggestion, nearly.would_be)
        deeper = [trial for trial in failed if trial.failures and len(trial.failures[0].path) > len(path_text(path))]
        if deeper:
            nearest = min(deeper, key=lambda trial: len(trial.failures))
            out.failures.extend(nearest.failures)
            return INVALID
        found = next((failure for failure in details if failure.detail and failure.reason is not FailureReason.WRONG_TYPE), None)
        if found is not None:
            return out.fail(path, found.reason, self.expected, value, found.detail, found.suggestion)
        return out.fail(path, FailureReason.WRONG_TYPE, self.expected, value)


def _is_misspelt(trial: Outcome) -> bool:
    """Whether a member refused a value only for keys that are other spellings of its own and that its schema allows."""
    return bool(trial.failures) and all(failure.expected == OTHER_SPELLING for failure in trial.failures)


def _is_default(found: Diagnostic) -> bool:
    return found.kind is DiagnosticKind.DEFAULTED and found.risk is INFO and found.before is ABSENT


def _unchanged(value: Any, made: Any) -> bool:
    return type(made) is type(value) and bool(made == value)


def _alike(left: Any, right: Any) -> bool:
    if isinstance(left, int | float) and isinstance(right, int | float) and not isinstance(left, bool) and not isinstance(right, bool):
        return left == right
    try:
        return type(left) is type(right) and bool(left == right)
    except Exception:  # noqa: BLE001 - an author's __eq__ may do anything
        return False


def _names(node: Type) -> Names | None:
    """The names of a class's fields; None where any key may come."""
    return Names(node.fields) if isinstance(node, ObjectType) and isinstance(node.additional, NeverType) else None


def _kind(node: Type, builder: Builder) -> str:
    if isinstance(node, ObjectType):
        return "object"
    if isinstance(node, ArrayType):
        return "array"
    if isinstance(node, UnionType):
        kinds = {_kind(builder.resolve(item), builder) for item in node.members if item is not node}
        return kinds.pop() if len(kinds) == 1 else "any"
    if isinstance(node, EnumType) and any(isinstance(value, dict | list) for value in node.values):
        return "any"
    return "any" if isinstance(node, AnyType | Opaque) else "scalar"


def _tags(node: Type, discriminator: str | None, builder: Builder) -> frozenset[Any] | None:
    found = builder.resolve(node)
    if discriminator is None or not isinstance(found, ObjectType):
        return None
    for field in found.fields:
        if field.name == discriminator:
            kind = builder.resolve(field.type)
            return frozenset((type(value), value) for value in kind.values) if isinstance(kind, EnumType) else None
    return None


def _inferred_tag(members: Sequence[Type], builder: Builder) -> str | None:
    """A property that every object member fixes to values of its own tells them apart, declared or not."""
    objects = [found for found in map(builder.resolve, members) if isinstance(found, ObjectType)]
    if len(objects) < 2:
        return None
    for field in objects[0].fields:
        tags = [_tags(item, field.name, builder) for item in objects]
        if all(tags) and len(frozenset().union(*(tag for tag in tags if tag))) == sum(len(tag) for tag in tags if tag):
            return field.name
    return None
