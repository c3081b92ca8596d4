"""Objects: the fields of a class or of a tool's parameters by name, and the other properties behind them."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from toolbox.coercion.builder import Builder, Coercer, check_constraints
from toolbox.coercion.embedded import read_shared, rebased
from toolbox.coercion.judge import BEST_EFFORT, INFO, RISKY, STRING, WARNING, Judge
from toolbox.coercion.scalars import plain_choices, untouched
from toolbox.diagnostics import (
    ABSENT,
    INVALID,
    Diagnostic,
    DiagnosticKind,
    FailureReason,
    Outcome,
    Path,
    json_name,
    path_text,
    shorten,
)
from toolbox.errors import PayloadError
from toolbox.matching import MatchLevel, NameIndex, closest
from toolbox.policy import Missing, Unknown
from toolbox.types import Field, NeverType, ObjectType, Type, UnionType, nullable

__all__ = ["OTHER_SPELLING", "Names", "object_type", "shared_duplicates"]

OTHER_SPELLING: Final = "each property under its own name"
"""What is expected where a key is refused that the schema allows, since it is another spelling of a declared one."""
UNKNOWN_NAMED = 5
NEAR_LOOKED_AT = 100
NAMES_SHOWN = 8


class _Plan(NamedTuple):
    """One field, ready to be coerced."""

    name: str
    target: str
    coerce: Coercer
    field: Field
    expected: str
    nullable: bool
    fallback: Callable[[], Any] | None


class Names:
    """Which field a key of the payload means."""

    __slots__ = ("_aliases", "_index", "declared")

    def __init__(self, fields: Iterable[Field]) -> None:
        listed = tuple(fields)
        self.declared = {field.name: field for field in listed}
        self._aliases = {alias: field.name for field in listed for alias in field.aliases if alias not in self.declared}
        self._index = NameIndex(self.declared)

    def resolve(self, key: str) -> str | None:
        """The declared name that a key stands for, or None: exactly, by a declared alias, or by another way to separate its words."""
        if key in self.declared:
            return key
        return self._aliases.get(key) or self._index.resolve(key)

    def is_alias(self, key: str) -> bool:
        """Whether a key is a declared alias."""
        return key in self._aliases

    def near(self, key: str, names: Iterable[str]) -> list[str]:
        """Which of the names look like a key; only for suggestions."""
        return closest(key, list(names), 3)


def shared_duplicates(duplicates: Iterable[Diagnostic], path: Path, out: Outcome, judge: Judge) -> bool:
    """Put keys given twice on record; False where their values differ and the policy does not allow it, which is a failure."""
    allowed = True
    for found in duplicates:
        place = rebased(path, found)
        diagnostic = Diagnostic(place, found.kind, found.risk, found.before, found.after, found.conversion, found.suggestion)
        if found.risk > judge.max_risk:
            # The path is text already, so the failure is made here and not by its linked form.
            allowed = False
            out.fail(path, FailureReason.AMBIGUOUS, "each key once", found.before, f"{place} was given more than once", "", diagnostic)
        else:
            out.diagnostics.append(diagnostic)
    return allowed


def object_type(node: ObjectType, builder: Builder) -> Coercer:
    """Coercer of objects."""
    return _open_map(node, builder) if not node.fields and node.additional is not None else _Fields(node, builder).coerce


def _from_other(node: ObjectType, builder: Builder, coerce_items: Callable[[Mapping[Any, Any], Path, Outcome], Any]) -> Coercer:
    """What an object makes of a value that is none: text of an object is parsed, anything else refused."""
    judge = builder.judge
    expected = builder.expected(node)
    limits = builder.policy.limits
    name = node.instance.__name__ if isinstance(node.instance, type) else "dict"

    def convert(value: Any, path: Path, out: Outcome) -> Any:
        if isinstance(value, Mapping):
            return coerce_items(value, path, out)
        if isinstance(value, str):
            try:
                found = read_shared(value, limits, path, out, lambda: builder.holds_itself(node))
            except PayloadError as error:
                return out.fail(path, FailureReason.LIMIT, expected, value, error.message)
            if found is not None and isinstance(found.value, dict):
                before = len(out.failures)
                made = coerce_items(found.value, path, out)
                if made is INVALID or len(out.failures) > before:
                    return made
                if not shared_duplicates(found.duplicates, path, out, judge):
                    return INVALID
                return judge.change(
                    out, path, expected, value, made, STRING, found.risk, conversion=f"str->{name}", suggestion="Send an object, not text"
                )
        return out.fail(path, FailureReason.WRONG_TYPE, expected, value, f"{json_name(value)} is not an object", "Send an object")

    return convert


def _open_map(node: ObjectType, builder: Builder) -> Coercer:
    """``dict[K, V]``: every property is coerced alike."""
    assert node.additional is not None
    values = builder.build(node.additional)
    keys = None if node.keys is None else builder.reading_text().build(node.keys)
    holds = check_constraints(node, builder)
    expected = builder.expected(node)

    def coerce_items(value: Mapping[Any, Any], path: Path, out: Outcome) -> Any:
        made: dict[Any, Any] = {}
        complete = True
        for key, item in value.items():
            place = (path, key)
            kept = _key(key, keys, place, out)
            coerced = values(item, place, out)
            if kept is INVALID or coerced is INVALID:
                complete = False
            elif kept in made:
                complete = False
                out.fail(place, FailureReason.AMBIGUOUS, expected, key, "two keys say the same", "Send each key once")
            else:
                made[kept] = coerced
        if not complete:
            return INVALID
        return made if holds is None or holds(made, value, path, out) else INVALID

    convert = _from_other(node, builder, coerce_items)

    def coerce_map(value: Any, path: Path, out: Outcome) -> Any:
        return coerce_items(value, path, out) if type(value) is dict else convert(value, path, out)

    return coerce_map


def _key(key: Any, keys: Coercer | None, path: Path, out: Outcome) -> Any:
    if keys is None:
        return key if isinstance(key, str) else out.fail(path, FailureReason.WRONG_TYPE, "a key that is text", key)
    if not isinstance(key, str):
        return keys(key, path, out)
    # The text form is the only one that a key has in JSON, so converting it is no liberty and is not recorded.
    trial = Outcome()
    made = keys(key, path, trial)
    if made is INVALID:
        out.failures.extend(trial.failures)
        return INVALID
    out.diagnostics.extend(found for found in trial.diagnostics if found.kind is not DiagnosticKind.COERCED or found.risk is not INFO)
    return made


class _Fields:
    """An object with declared fields."""

    def __init__(self, node: ObjectType, builder: Builder) -> None:
        self.node = node
        self.judge = builder.judge
        self.policy = builder.policy
        self.expected = builder.expected(node)
        self.names = Names(node.fields)
        self.holds = check_constraints(node, builder)
        self.others = None if node.additional is None or isinstance(node.additional, NeverType) else builder.build(node.additional)
        self.open = self.others is not None or node.additional is None
        self.plans = tuple(self._plan(field, builder) for field in node.fields)
        self.by_name = {plan.name: plan for plan in self.plans}
        # What the loop for a clean call needs, and nothing else.
        self.quick = tuple(
            (plan.name, plan.target, untouched(plan.field.type), plain_choices(plan.field.type), plan.coerce) for plan in self.plans
        )
        self.drops = any(plan.target == "" for plan in self.plans)
        # What a tool was given beside its failures is kept for the report; of an object that is to become an instance there is no part.
        self.parts = node.construct is None
        self.convert = _from_other(node, builder, self.coerce_fields)

    def _plan(self, field: Field, builder: Builder) -> _Plan:
        inner = builder.under(field.policy)
        accepts_null = _nullable(field.type, builder)
        coerce = inner.build(field.type)
        fallback = field.fallback or self._schema_default(field, coerce)
        if not accepts_null and (fallback is not None or not field.required):
            coerce = _null_as_not_given(coerce, fallback, inner.expected(field.type), inner.judge)
        target = field.name if field.target is None else field.target
        return _Plan(field.name, target, coerce, field, inner.expected(field.type), accepts_null, fallback)

    def _schema_default(self, field: Field, coerce: Coercer) -> Callable[[], Any] | None:
        """What makes the default that a schema declares: Python uses its defaults itself, those of a schema go by the policy."""
        default = field.type.default
        if default is ABSENT or self.policy.missing is not Missing.FILL:
            return None
        trial = Outcome()
        made = coerce(default, None, trial)
        # A default that does not fit its own type is a mistake of the schema's, and never becomes an argument.
        return None if made is INVALID or trial.failures else lambda: copy.deepcopy(made)

    def coerce(self, value: Any, path: Path, out: Outcome) -> Any:
        if type(value) is dict:
            return self.coerce_fields(value, path, out)
        return self.convert(value, path, out)

    def coerce_fields(self, value: Mapping[Any, Any], path: Path, out: Outcome) -> Any:
        if len(value) == len(self.quick) and self.holds is None:
            made: dict[str, Any] = {}
            complete = True
            for name, target, kinds, choices, coerce in self.quick:
                item = value.get(name, ABSENT)
                kind = type(item)
                # A float less itself is 0 unless it is no finite number.
                if kind in kinds and (kind is not float or item - item == 0):
                    made[target] = item
                    continue
                if choices is not None and kind is str and item in choices:
                    made[target] = choices[item]
                    continue
                if item is ABSENT:
                    break
                coerced = coerce(item, (path, name), out)
                if coerced is INVALID:
                    complete = False
                elif coerced is not ABSENT:
                    made[target] = coerced
            else:
                if self.drops:
                    made.pop("", None)
                return made if complete or (path is None and self.parts) else INVALID
            if made or not complete:
                return self.by_rules(value, path, out, made, complete)
        return self.by_rules(value, path, out, {}, True)

    def by_rules(self, value: Mapping[Any, Any], path: Path, out: Outcome, done: dict[str, Any], complete: bool) -> Any:
        """Every rule for names: aliases, spellings, defaults, what is missing, what is unknown.

        `done` holds what the quick loop had coerced when it met a missing field; those fields, failed ones too, are not done again.
        """
        given, unknown = self.assign(value, path, out)
        made: dict[str, Any] = {}
        missing: list[_Plan] = []
        started = bool(done) or not complete
        for plan in self.plans:
            if started and plan.name in value:
                if plan.target in done:
                    made[plan.target] = done[plan.target]
                continue
            started = False
            key = given.get(plan.name)
            if key is None:
                complete = self.absent(plan, path, out, made, missing) and complete
                continue
            coerced = plan.coerce(value[key], (path, key), out)
            if coerced is INVALID:
                complete = False
            elif coerced is not ABSENT:
                made[plan.target] = coerced
        made.pop("", None)
        if missing:
            complete = False
            self.report_missing(missing, unknown, path, out)
        named = {key for plan in missing for key in self.meant_for(plan, unknown)}
        complete = self.extras(value, unknown, given, named, made, path, out) and complete
        if not complete:
            return made if path is None and self.parts else INVALID
        return made if self.holds is None or self.holds(made, value, path, out) else INVALID

    # -- names -------------------------------------------------------------------------------------------------------------------

    def assign(self, value: Mapping[Any, Any], path: Path, out: Outcome) -> tuple[dict[str, Any], list[Any]]:
        """Which key is for which field, and the keys that are for none."""
        given: dict[str, Any] = {}
        others: dict[str, list[Any]] = {}
        unknown: list[Any] = []
        for key in value:
            if key in self.by_name:
                given[key] = key
                continue
            name = self.meant(key)
            if name is None:
                unknown.append(key)
            else:
                others.setdefault(name, []).append(key)
        for name, keys in others.items():
            # Under its own name already, or under two other spellings: then none of them can be told to be meant.
            if name in given or len(keys) > 1:
                unknown.extend(keys)
                continue
            renamed = self.judge.change(
                out,
                (path, keys[0]),
                f"the key {name}",
                keys[0],
                name,
                min(STRING, self.policy.coercion),
                INFO,
                kind=DiagnosticKind.RENAMED,
                conversion="parameter",
                suggestion=f"Send it as {name}",
            )
            if renamed is not INVALID:
                given[name] = keys[0]
        return given, unknown

    def meant(self, key: Any) -> str | None:
        """The field that a key is for, as far as the policy lets spellings differ; a declared alias always counts."""
        name = self.names.resolve(key) if isinstance(key, str) else None
        if name is None or self.policy.matching >= MatchLevel.SEPARATOR or self.names.is_alias(key):
            return name
        return name if self.policy.matching >= MatchLevel.CASE and key.casefold() == name.casefold() else None

    def absent(self, plan: _Plan, path: Path, out: Outcome, made: dict[str, Any], missing: list[_Plan]) -> bool:
        """What a field becomes that was not given; False when it cannot do without."""
        field = plan.field
        if plan.fallback is not None:
            try:
                after = plan.fallback()
            except Exception as error:  # noqa: BLE001 - a default factory is the author's and may raise anything
                out.fail(
                    (path, plan.name), FailureReason.REJECTED, plan.expected, ABSENT, f"its default cannot be made: {type(error).__name__}"
                )
                return False
            made[plan.target] = after
            out.diagnostics.append(Diagnostic(path_text((path, plan.name)), DiagnosticKind.DEFAULTED, INFO, ABSENT, after, "default"))
            return True
        if not field.required:
            return True
        if plan.nullable and self.policy.missing >= Missing.DEFAULT:
            made[plan.target] = None
            out.diagnostics.append(
                Diagnostic(path_text((path, plan.name)), DiagnosticKind.DEFAULTED, WARNING, ABSENT, None, "null", f"Send {plan.name}")
            )
            return True
        missing.append(plan)
        return False

    def report_missing(self, missing: list[_Plan], unknown: list[Any], path: Path, out: Outcome) -> None:
        """What is missing is named together with what came and is unknown: the one is often meant for the other."""
        for plan in missing:
            near = self.meant_for(plan, unknown)
            if near:
                suggestion = f"Did you mean {plan.name} by {shorten(near[0])}? Send it as {plan.name}"
            elif unknown:
                named = ", ".join(shorten(key) for key in unknown[:UNKNOWN_NAMED])
                suggestion = f"Send {plan.name}; {named} came instead, which is no parameter"
            else:
                suggestion = f"Send {plan.name}"
            out.fail((path, plan.name), FailureReason.MISSING, plan.expected, ABSENT, "", suggestion)

    def meant_for(self, plan: _Plan, unknown: list[Any]) -> list[str]:
        """The unknown keys that look like a field."""
        return [key for key in unknown[:NEAR_LOOKED_AT] if isinstance(key, str) and self.names.near(key, [plan.name])]

    # -- undeclared properties ---------------------------------------------------------------------------------------------------

    def extras(
        self,
        value: Mapping[Any, Any],
        unknown: list[Any],
        given: Mapping[str, Any],
        named: set[Any],
        made: dict[str, Any],
        path: Path,
        out: Outcome,
    ) -> bool:
        """The undeclared properties; those in `named` are on record already, beside the missing field that they look like."""
        complete = True
        # A payload of which nothing can be used asks for another call than the one that defaults alone would make.
        lost = bool(unknown) and not given and bool(self.plans)
        for place, key in enumerate(unknown):
            item = value[key]
            if not isinstance(key, str):
                complete = False
                out.fail((path, str(key)), FailureReason.WRONG_TYPE, "a key that is text", key)
            elif self.open and self.names.resolve(key) is None:
                coerced = item if self.others is None else self.others(item, (path, key), out)
                if coerced is INVALID:
                    complete = False
                else:
                    made[key] = coerced
            else:
                near = self.likely(key, item, given) if place < NEAR_LOOKED_AT else []
                complete = self.undeclared(key, item, given, near, path, out, named=key in named, lost=lost) and complete
        return complete

    def likely(self, key: str, item: Any, given: Mapping[str, Any]) -> list[str]:
        """The fields that were not given and that an unknown key seems to be meant for, or that stand inside its value."""
        free = [name for name in self.by_name if name not in given]
        if not free or self.names.resolve(key) in given:
            return []
        near = self.names.near(key, free)
        if not near and isinstance(item, Mapping):
            inner = (self.names.resolve(name) for name in itertools.islice(item, NEAR_LOOKED_AT) if isinstance(name, str))
            near = [name for name in inner if name is not None and name not in given]
        return near

    def undeclared(
        self,
        key: str,
        item: Any,
        given: Mapping[str, Any],
        near: list[str],
        path: Path,
        out: Outcome,
        *,
        named: bool,
        lost: bool,
    ) -> bool:
        """An argument that is not declared: refused, kept aside, or left out."""
        place = (path, key)
        known = self.names.resolve(key)
        forbidden = self.policy.unknown is Unknown.FORBID
        # Going on without what was plainly meant for a parameter would run another call than the one that was meant.
        doubtful = bool(near) or lost
        if forbidden or (doubtful and self.judge.max_risk < RISKY):
            if named:
                return False
            if near:
                suggestion = f"Did you mean {near[0]}? Send it as {near[0]}"
            elif known is not None:
                suggestion = f"It was given as {known} too" if known in given else f"Send it as {known}"
            else:
                suggestion = f"The parameters are {', '.join(list(self.by_name)[:NAMES_SHOWN]) or 'none'}"
            out.fail(place, FailureReason.UNKNOWN, OTHER_SPELLING if self.open else "no such parameter", item, "", suggestion)
            return False
        hint = f"It may be meant for {near[0]}" if near else f"{known} was given too" if known in given else ""
        risk = RISKY if doubtful else WARNING
        if self.policy.unknown is Unknown.PRESERVE:
            out.residual[path_text(place)[2:] if path is not None else key] = item
            diagnostic = Diagnostic(path_text(place), DiagnosticKind.PRESERVED, RISKY if doubtful else INFO, item, item, "unknown", hint)
            out.diagnostics.append(diagnostic)
            return True
        made = self.judge.change(
            out,
            place,
            "a declared parameter",
            item,
            None,
            self.policy.coercion,
            risk,
            kind=DiagnosticKind.DROPPED,
            conversion="unknown",
            detail="there is no such parameter",
            suggestion=hint,
        )
        return made is not INVALID


def _nullable(node: Type, builder: Builder) -> bool:
    node = builder.resolve(node)
    if isinstance(node, UnionType):
        return any(_nullable(item, builder) for item in node.members)
    return nullable(node)


def _null_as_not_given(coerce: Coercer, fallback: Callable[[], Any] | None, expected: str, judge: Judge) -> Coercer:
    """The coercer of a field that takes no null and need not be given: null says "not given", so the default is used, or nothing."""

    def coerce_or_leave_out(value: Any, path: Path, out: Outcome) -> Any:
        if value is not None:
            return coerce(value, path, out)
        trial = Outcome()
        if coerce(None, path, trial) is None and not trial.failures:
            # Only the validator of an opaque schema can tell that null fits it.
            return None
        return judge.change(
            out,
            path,
            expected,
            None,
            ABSENT if fallback is None else fallback(),
            BEST_EFFORT,
            WARNING,
            kind=DiagnosticKind.DROPPED if fallback is None else DiagnosticKind.DEFAULTED,
            conversion="not given" if fallback is None else "default",
            suggestion="Leave it out, instead of null",
        )

    return coerce_or_leave_out
