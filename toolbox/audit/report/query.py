"""The questions that a drift report asks a store. What is counted is counted by the database; values are only sampled.

Declared defaults in place of what was not given are no drift: nothing that came was touched.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    Float,
    Integer,
    Numeric,
    Select,
    Table,
    Text,
    and_,
    case,
    cast,
    distinct,
    exists,
    func,
    literal,
    or_,
    select,
    text,
    union_all,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.elements import ColumnElement

from toolbox.audit.record import CallStatus
from toolbox.audit.report.drift import (
    NO_MODEL,
    OTHERS,
    WHOLE,
    Bucket,
    Drift,
    DriftReport,
    Example,
    Group,
    ParameterDrift,
    Tally,
    name_text,
    words,
)
from toolbox.audit.report.suggestions import Seen, advise
from toolbox.audit.store.columns import key_column
from toolbox.audit.store.lost import status_now
from toolbox.audit.store.tables import changes, failures, records
from toolbox.audit.verdict import DECIDED_BY_FAILURES, Verdict, verdict_of
from toolbox.diagnostics import DiagnosticKind, FailureReason, Risk

__all__ = ["Scope", "ask"]

_GROUPS_READ: Final = 20_000
"""So many groups of changes, the most frequent first, are read: models can make up any number of names."""
_TOOLS: Final = 100
_MODELS: Final = 12
_PARAMETERS: Final = 200
_DRIFTS: Final = 50
_RECOUNTED: Final = 1_000
"""Of so many changes, and of so many refusals, the calls are counted once more where they stand at several places."""
_NAMES: Final = 20
_EXAMPLES: Final = 4
_SAMPLED: Final = 200
_PLACES_SAMPLED: Final = 4
_VALUE: Final = 160
_DETAIL: Final = 300
_BUCKETS: Final = 48
_WIDTHS: Final = (60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 7 * 86_400, 28 * 86_400, 364 * 86_400)

# As the index has it, together with an origin of none, so that the index is used.
_IS_DRIFT: Final = text("NOT (kind = 'defaulted' AND risk = 1)")
_DECIDED_BY_FAILURES: Final = tuple(status.value for status in DECIDED_BY_FAILURES)
_STOPPED: Final = tuple(status for status in _DECIDED_BY_FAILURES if verdict_of(status, has_failures=False) is Verdict.NOT_RUN)
_UNNAMED: Final = "(no tool named)"
_UNKNOWN_TOOL: Final = CallStatus.UNKNOWN_TOOL.value
_UNREADABLE: Final = CallStatus.UNREADABLE.value
_DROPPED: Final = DiagnosticKind.DROPPED.value
_SEGMENT: Final = re.compile(r"\.[^.\[]+|\[\*\]|\['(?:[^'\\]|\\.)*'?\]?|.")
_NOT_DECLARED: Final = frozenset(
    {
        (_DROPPED, "unknown"),
        (DiagnosticKind.PRESERVED.value, "unknown"),
        (FailureReason.UNKNOWN.value, ""),
    }
)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which calls are looked at.

    Attributes:
        since: the first moment, in seconds since the epoch; None for all.
        until: the first moment after; None for all.
        tool: one tool; None for all.
        model: one model; None for all.
        unknown_after_s: seconds after which an open call of another machine counts as unknown.
        stopped: the question for the calls that the application did not run: what was changed in them is not looked at; None where nothing
            was.
    """

    since: float | None = None
    until: float | None = None
    tool: str | None = None
    model: str | None = None
    unknown_after_s: float = 86_400.0
    stopped: Select[*tuple[Any, ...]] | None = field(default=None, compare=False)

    def of(self, table: Table, *, follows: bool = False) -> list[ColumnElement[bool]]:
        """What the rows of a table have to fulfil; without `follows`, they are of calls of a model alone."""
        wanted: list[ColumnElement[bool]] = [table.c.origin.is_not(None) if follows else table.c.origin.is_(None)]
        if self.since is not None:
            wanted.append(table.c.opened_at >= self.since)
        if self.until is not None:
            wanted.append(table.c.opened_at < self.until)
        if self.tool is not None:
            wanted.append(table.c.tool == key_column(self.tool))
        if self.model is not None:
            wanted.append(table.c.model.is_(None) if self.model == NO_MODEL else table.c.model == key_column(self.model))
        if self.stopped is not None and table is changes:
            wanted.append(changes.c.record_id.not_in(self.stopped))
        return wanted


def ask(connection: Connection, scope: Scope, source: str) -> DriftReport:
    """The report about the calls in scope."""
    now = time.time()
    empty = DriftReport(source, now, scope.since, scope.until, scope.tool, scope.model, None, None, Tally())
    first, last = _ends(connection, scope)
    if first is None or last is None:
        return replace(empty, followed=_followed(connection, scope))
    width = _width(last - first)
    tallies, has_stopped = _tallied(connection, scope, width)
    if has_stopped:
        scope = replace(scope, stopped=_listed(connection, _stopped_calls(connection, scope)))
    places = _places(connection, scope)
    names = _Names(connection, places)
    tools = _by(tallies, lambda key: key.tool)
    models = _by(tallies, lambda key: key.model)
    models_shown = _largest(models, _MODELS)
    known = {name: tally for name, tally in tools.items() if name is not None}
    by_model: dict[str, Counter[str]] = defaultdict(Counter)
    for key, tally in tallies.items():
        if key.tool is not None and tally.calls:
            by_model[key.tool][key.model if key.model in models_shown else OTHERS] += tally.calls
    drifts = _merged(places, names, known, models_shown)
    # Parted first: what there is much of takes no room from the other.
    changed, refused = ([item for item in drifts if item.is_refusal is is_refusal] for is_refusal in (False, True))
    for part in (changed, refused):
        for item in part[:_RECOUNTED]:
            _recount(connection, scope, item, models_shown)
    for part in (drifts, changed, refused):
        part.sort(key=_most_frequent)
    parameters, parameter_count = _parameters(connection, scope, places, names, known, models_shown)
    strangers = _unknown_tools(connection, scope) if None in tools else []
    buckets = _by(tallies, lambda key: key.bucket)
    model_groups = _model_groups(models, models_shown, drifts)
    tool_groups = _tool_groups(known, by_model, drifts)
    return replace(
        empty,
        first=first,
        last=last,
        followed=_followed(connection, scope),
        total=sum(tallies.values(), Tally()),
        tools=tuple(tool_groups[:_TOOLS]),
        models=tuple(model_groups),
        parameters=tuple(parameters),
        changes=tuple(_shown(connection, scope, item) for item in changed[:_DRIFTS]),
        refusals=tuple(_shown(connection, scope, item) for item in refused[:_DRIFTS]),
        buckets=tuple(_filled(buckets, width)),
        unknown_tools=tuple(strangers[:_NAMES]),
        left_out={
            "tools": max(len(tool_groups) - _TOOLS, 0),
            "models": max(len(models) - len(models_shown), 0),
            "parameters": parameter_count - len(parameters),
            "changes": max(len(changed) - _DRIFTS, 0),
            "refusals": max(len(refused) - _DRIFTS, 0),
            "unknown_tools": max(len(strangers) - _NAMES, 0),
        },
    )


def _listed(connection: Connection, texts: Sequence[str]) -> Select[*tuple[Any, ...]]:
    """Texts as a question of its own: handed over as one value, of which the database makes a table, however many they are.

    A question that would find them anew takes a planner that knows the tables well: one that does not, looks for each of a million rows.
    """
    if connection.dialect.name == "sqlite":
        return select(func.json_each(json.dumps(texts)).table_valued("value").c.value)
    # Unlike an array, of which the planner knows the length, this is always looked into by a hash.
    return select(func.jsonb_array_elements_text(cast(literal(json.dumps(texts), Text), JSONB)).column_valued())


def _rows(connection: Connection, asked: Select[*tuple[Any, ...]]) -> Iterator[Any]:
    """The rows that answer a question.

    Raises:
        TypeError: one holds text where there are numbers, or the other way round: SQLite takes whatever somebody else writes.
    """
    numbers = [isinstance(column.type, Integer | Numeric) for column in asked.selected_columns]
    for row in connection.execute(asked):
        for value, is_number in zip(row, numbers, strict=True):
            if value is not None and isinstance(value, str) is is_number:
                raise TypeError(f"{type(value).__name__} instead of {'a number' if is_number else 'text'}")
        yield row


# -- calls ---------------------------------------------------------------------------------------------------------------------------


class _Key(NamedTuple):
    """What calls are counted by; the tool is None for one that does not exist."""

    tool: str | None
    model: str
    bucket: int


def _ends(connection: Connection, scope: Scope) -> tuple[float | None, float | None]:
    """When the first and the last call came; one question each, since an index answers each alone at once."""
    first = connection.execute(select(func.min(records.c.opened_at)).where(*scope.of(records))).scalar()
    last = connection.execute(select(func.max(records.c.opened_at)).where(*scope.of(records))).scalar()
    return first, last


def _followed(connection: Connection, scope: Scope) -> dict[str, int]:
    """Runs that no model asked for as they ran, by what they followed from."""
    asked = select(records.c.origin, func.count()).where(*scope.of(records, follows=True)).group_by(records.c.origin)
    return dict(_rows(connection, asked))


def _width(span: float) -> int:
    """The width of the stretches of time: the smallest known one of which there are not too many."""
    return next((width for width in _WIDTHS if span / width < _BUCKETS), _WIDTHS[-1] * (1 + int(span / _WIDTHS[-1] / _BUCKETS)))


def _bucket(connection: Connection, table: Table, width: int) -> ColumnElement[int]:
    # SQLite cuts off the fraction; PostgreSQL would round it.
    part = table.c.opened_at / cast(width, Float)
    return cast(part if connection.dialect.name == "sqlite" else func.floor(part), BigInteger)


def _tallied(connection: Connection, scope: Scope, width: int) -> tuple[dict[_Key, Tally], bool]:
    """What became of the calls, by tool, model and stretch of time; and whether something was changed in calls that were not run.

    Most calls that fit had something changed or had not; which of them is found by counting the calls with changes, less those that were
    refused all the same. That takes the database far less than a look at the changes of every call.
    """
    row = records.c
    status = status_now(connection, scope.unknown_after_s)
    drifts = exists().where(changes.c.record_id == row.id, _IS_DRIFT)
    fails = exists().where(failures.c.record_id == row.id)
    is_open = row.status.in_(_DECIDED_BY_FAILURES)
    asked = (
        select(
            case((row.status == _UNKNOWN_TOOL, None), else_=row.tool).label("tool"),
            row.model,
            status.label("status"),
            _bucket(connection, records, width).label("bucket"),
            case((and_(is_open, fails), 1), else_=0).label("fails"),
            case((and_(or_(is_open, row.status == _UNREADABLE), drifts), 1), else_=0).label("drifts"),
            func.count().label("calls"),
        )
        .where(*scope.of(records))
        .group_by(text("1"), row.model, text("3"), text("4"), text("5"), text("6"))
    )
    fitted: dict[_Key, Counter[str]] = defaultdict(Counter)
    made: dict[_Key, Tally] = defaultdict(Tally)
    spent: Counter[_Key] = Counter()
    has_stopped = False
    for found in _rows(connection, asked):
        key = _Key(_UNNAMED if found.tool == "" else found.tool, NO_MODEL if found.model is None else found.model, found.bucket)
        verdict = verdict_of(found.status, has_failures=bool(found.fails))
        if verdict is Verdict.FITTED:
            fitted[key][found.status] += found.calls
            continue
        spent[key] += found.calls * found.drifts
        if verdict is Verdict.UNKNOWN_TOOL:
            made[key] += Tally(unknown_tool=found.calls, statuses={found.status: found.calls})
        elif verdict is Verdict.REFUSED:
            made[key] += Tally(refused=found.calls, statuses={found.status: found.calls})
        else:
            made[key] += Tally(not_run=found.calls)
            has_stopped = has_stopped or bool(found.drifts)
    changed = _changed_calls(connection, scope, width)
    for key, statuses in fitted.items():
        calls = statuses.total()
        mended = min(max(changed[key] - spent[key], 0), calls)
        made[key] += Tally(as_is=calls - mended, mended=mended, statuses=dict(statuses))
    return made, has_stopped


def _stopped_calls(connection: Connection, scope: Scope) -> list[str]:
    """The calls that the application did not run; whether something was changed in them would take PostgreSQL a look at all changes."""
    row = records.c
    fails = exists().where(failures.c.record_id == row.id)
    asked = select(row.id).where(row.status.in_(_STOPPED), ~fails, *scope.of(records))
    return [record_id for (record_id,) in _rows(connection, asked)]


def _changed_calls(connection: Connection, scope: Scope, width: int) -> Counter[_Key]:
    """How many calls something was changed in, refused or not."""
    row = changes.c
    bucket = _bucket(connection, changes, width)
    asked = (
        select(row.tool, row.model, bucket, func.count(distinct(row.record_id)))
        .where(_IS_DRIFT, *scope.of(changes))
        .group_by(row.tool, row.model, text("3"))
    )
    found: Counter[_Key] = Counter()
    for tool, model, number, calls in _rows(connection, asked):
        found[_Key(tool or _UNNAMED, NO_MODEL if model is None else model, number)] += calls
    return found


def _by(tallies: Mapping[_Key, Tally], name: Any) -> dict[Any, Tally]:
    made: dict[Any, Tally] = defaultdict(Tally)
    for key, tally in tallies.items():
        made[name(key)] += tally
    return dict(made)


def _largest(tallies: Mapping[str, Tally], count: int) -> set[str]:
    return set(sorted(tallies, key=lambda name: (-tallies[name].calls, name))[:count])


def _filled(buckets: Mapping[int, Tally], width: int) -> Iterator[Bucket]:
    """The stretches of time one after the other, those without a call too."""
    for number in range(min(buckets), max(buckets) + 1):
        yield Bucket(number * width, (number + 1) * width, buckets.get(number, Tally()))


def _unknown_tools(connection: Connection, scope: Scope) -> list[tuple[str, int]]:
    """Names that no tool has, the most frequent first."""
    # Grouped by an expression: by the column alone, SQLite would go through an index and look up every call behind it.
    name = records.c.tool.concat("").label("name")
    asked = (
        select(name, func.count().label("calls"))
        .where(records.c.status == _UNKNOWN_TOOL, *scope.of(records))
        .group_by(name)
        .order_by(text("2 DESC"), name)
        .limit(_GROUPS_READ)
    )
    return [(found.name, found.calls) for found in _rows(connection, asked)]


# -- changes and failures ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """How often one change, or one refusal, stands at one place as the model wrote it."""

    tool: str
    place: str
    model: str
    kind: str
    conversion: str
    risk: int
    calls: int
    is_refusal: bool


def _places(connection: Connection, scope: Scope) -> list[_Place]:
    row = changes.c
    asked = (
        select(row.tool, row.place, row.kind, row.conversion, row.model, func.count(distinct(row.record_id)), func.max(row.risk))
        .where(_IS_DRIFT, *scope.of(changes))
        .group_by(row.tool, row.place, row.kind, row.conversion, row.model)
        .order_by(text("6 DESC"), row.tool, row.place, row.kind, row.conversion)
        .limit(_GROUPS_READ)
    )
    found = [
        _Place(tool, place, NO_MODEL if model is None else model, kind, conversion, risk, calls, is_refusal=False)
        for tool, place, kind, conversion, model, calls, risk in _rows(connection, asked)
    ]
    row = failures.c
    asked = (
        select(row.tool, row.place, row.reason, row.model, func.count(distinct(row.record_id)))
        .where(*scope.of(failures))
        .group_by(row.tool, row.place, row.reason, row.model)
        .order_by(text("5 DESC"), row.tool, row.place, row.reason)
        .limit(_GROUPS_READ)
    )
    return found + [
        _Place(tool, place, NO_MODEL if model is None else model, reason, "", 0, calls, is_refusal=True)
        for tool, place, reason, model, calls in _rows(connection, asked)
    ]


class _Names:
    """The declared names behind the places: what came as ``searchTerm`` is counted as ``search_term``, which it was taken for."""

    def __init__(self, connection: Connection, places: Iterable[_Place]) -> None:
        self.renamed: dict[tuple[str, str], str] = {}
        wanted = {
            (item.tool, item.place) for item in places if item.kind == DiagnosticKind.RENAMED.value and item.conversion == "parameter"
        }
        for tool, place in wanted:
            asked = (
                select(changes.c.value_after)
                .where(
                    _IS_DRIFT,
                    changes.c.origin.is_(None),
                    changes.c.tool == tool,
                    changes.c.place == place,
                    changes.c.kind == DiagnosticKind.RENAMED.value,
                    changes.c.conversion == "parameter",
                )
                .limit(1)
            )
            name = _loaded(connection.execute(asked).scalar())
            if isinstance(name, str) and name:
                self.renamed[tool, place] = name
        self.made: dict[tuple[str, str], str] = {}

    def parameter(self, tool: str, place: str) -> str:
        """The parameter at a place: ``items[*].price`` for ``$.items[*].Price``."""
        key = (tool, place)
        if key not in self.made:
            self.made[key] = self._read(tool, place)
        return self.made[key]

    def _read(self, tool: str, place: str) -> str:
        if place in ("$", ""):
            return WHOLE
        sent, declared = "$", ""
        for segment in _SEGMENT.findall(place[1:]):
            sent += segment
            name = self.renamed.get((tool, sent))
            declared += segment if name is None else f".{name}"
        return declared.removeprefix(".")


@dataclass(slots=True)
class _Merged:
    """One drift over all places and models where it stands."""

    tool: str
    parameter: str
    kind: str
    conversion: str
    is_refusal: bool
    of_calls: int
    risk: int = 0
    calls: int = 0
    models: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)

    @property
    def label(self) -> str:
        """The drift in a few words."""
        return f"refused, {words(self.kind)}" if self.is_refusal else words(self.kind, self.conversion)


def _merged(places: Iterable[_Place], names: _Names, tools: Mapping[str, Tally], models: set[str]) -> list[_Merged]:
    """The drifts, the most frequent first; those of tools that do not exist are left out."""
    made: dict[tuple[str, str, str, str, bool], _Merged] = {}
    for item in places:
        if item.tool not in tools:
            continue
        parameter = names.parameter(item.tool, item.place)
        key = (item.tool, parameter, item.kind, item.conversion, item.is_refusal)
        merged = made.get(key)
        if merged is None:
            merged = made[key] = _Merged(*key, tools[item.tool].calls)
        merged.risk = max(merged.risk, item.risk)
        merged.calls += item.calls
        merged.models[item.model if item.model in models else OTHERS] += item.calls
        merged.places[item.place] += item.calls
    return sorted(made.values(), key=_most_frequent)


def _most_frequent(item: _Merged) -> tuple[int, str, str, str, str]:
    return -item.calls, item.tool, item.parameter, item.kind, item.conversion


def _recount(connection: Connection, scope: Scope, item: _Merged, models: set[str]) -> None:
    """Count the calls of a drift that stands at several places: one call may hold it under two spellings of a name."""
    if len(item.places) < 2:
        return
    if item.is_refusal:
        asked = _at(failures, scope, item.tool, item.places).where(failures.c.reason == item.kind)
    else:
        asked = _at(changes, scope, item.tool, item.places).where(
            _IS_DRIFT, changes.c.kind == item.kind, changes.c.conversion == item.conversion
        )
    item.models = _calls(connection, models, asked)
    item.calls = item.models.total()


def _at(table: Table, scope: Scope, tool: str, places: Iterable[str]) -> Select[Any]:
    """The rows of a tool at some places."""
    return select(table.c.record_id, table.c.model).where(table.c.tool == tool, table.c.place.in_(sorted(places)), *scope.of(table))


def _calls(connection: Connection, models: set[str], *asked: Select[Any]) -> Counter[str]:
    """How many calls some rows belong to, by model."""
    rows = union_all(*asked).subquery()
    made: Counter[str] = Counter()
    counted = select(rows.c.model, func.count(distinct(rows.c.record_id))).group_by(rows.c.model)
    for model, calls in _rows(connection, counted):
        name = NO_MODEL if model is None else model
        made[name if name in models else OTHERS] += calls
    return made


def _parameters(
    connection: Connection, scope: Scope, places: Iterable[_Place], names: _Names, tools: Mapping[str, Tally], models: set[str]
) -> tuple[list[ParameterDrift], int]:
    """How often each parameter was changed or refused, a call counted once; and how many there are, also those that are left out."""
    found: dict[tuple[str, str], list[_Place]] = defaultdict(list)
    for item in places:
        if item.tool in tools:
            found[item.tool, names.parameter(item.tool, item.place)].append(item)
    order = {tool: place for place, tool in enumerate(sorted(tools, key=lambda name: (-tools[name].calls, name)))}
    most = sorted(found, key=lambda key: (-sum(item.calls for item in found[key]), order[key[0]], key[1]))
    made = []
    for tool, parameter in most[:_PARAMETERS]:
        items = found[tool, parameter]
        spelled = {item.place for item in items}
        of_changes = _at(changes, scope, tool, spelled).where(_IS_DRIFT)
        of_failures = _at(failures, scope, tool, spelled)
        if len({(item.place, item.kind, item.conversion, item.is_refusal) for item in items}) == 1:
            drifted = Counter[str]()
            for item in items:
                drifted[item.model if item.model in models else OTHERS] += item.calls
            changed, refused = (0, drifted.total()) if items[0].is_refusal else (drifted.total(), 0)
        else:
            # One call may hold several of them.
            drifted = _calls(connection, models, of_changes, of_failures)
            changed = _calls(connection, models, of_changes).total()
            refused = _calls(connection, models, of_failures).total()
        made.append(
            ParameterDrift(
                tool,
                parameter,
                any((item.kind, item.conversion) not in _NOT_DECLARED for item in items),
                tools[tool].calls,
                changed,
                refused,
                drifted.total(),
                dict(drifted.most_common()),
            )
        )
    made.sort(key=lambda item: (order[item.tool], -item.share, item.parameter))
    return made, len(found)


def _tool_groups(tools: Mapping[str, Tally], by_model: Mapping[str, Counter[str]], drifts: Sequence[_Merged]) -> list[Group]:
    """The tools with their most frequent drift, the most used first."""
    top: dict[str, _Merged] = {}
    for item in drifts:
        top.setdefault(item.tool, item)
    made = []
    for name in sorted(tools, key=lambda name: (-tools[name].calls, name)):
        most = top.get(name)
        said = ("", 0) if most is None else (f"{most.parameter}: {most.label}", most.calls)
        made.append(Group(name, tools[name], *said, dict(by_model[name].most_common())))
    return made


def _model_groups(models: Mapping[str, Tally], shown: set[str], drifts: Sequence[_Merged]) -> list[Group]:
    """The models with their most frequent drift, the most used first; the rare ones as one, at the end."""
    top: dict[str, tuple[int, _Merged]] = {}
    for item in drifts:
        for model, calls in item.models.items():
            if calls > top.get(model, (0, item))[0]:
                top[model] = (calls, item)
    tallies: dict[str, Tally] = defaultdict(Tally)
    for name, tally in models.items():
        tallies[name if name in shown else OTHERS] += tally
    made = []
    for name, tally in tallies.items():
        most = top.get(name)
        said = ("", 0) if most is None else (f"{name_text(most[1].tool)}, {most[1].parameter}: {most[1].label}", most[0])
        made.append(Group(name, tally, *said))
    return sorted(made, key=lambda group: (group.name == OTHERS, -group.tally.calls, group.name))


# -- examples ------------------------------------------------------------------------------------------------------------------------


def _shown(connection: Connection, scope: Scope, item: _Merged) -> Drift:
    """A drift with its examples and with what would prevent it."""
    rows = [row for place, _ in item.places.most_common(_PLACES_SAMPLED) for row in _sampled(connection, scope, item, place)]
    examples, expected, hint, conversion = _examples(item, rows)
    risk = "" if item.is_refusal or not item.risk else Risk(item.risk).name.lower()
    advice = advise(Seen(item.tool, item.parameter, item.kind, conversion, expected, hint, examples))
    return Drift(
        item.tool,
        item.parameter,
        item.kind,
        item.conversion,
        risk,
        item.is_refusal,
        item.calls,
        item.of_calls,
        dict(item.models.most_common()),
        examples,
        len(rows),
        advice,
    )


def _sampled(connection: Connection, scope: Scope, item: _Merged, place: str) -> Sequence[Sequence[Any]]:
    """The latest rows of a drift at one place."""
    # Longer values cannot be examples; one character more says that they are cut.
    if item.is_refusal:
        row = failures.c
        asked = select(
            row.path,
            func.substr(row.value, 1, _VALUE + 1),
            func.substr(row.would_be, 1, 4 * _VALUE),
            row.suggestion,
            row.expected,
            func.substr(row.detail, 1, _DETAIL),
        ).where(row.tool == item.tool, row.place == place, row.reason == item.kind, *scope.of(failures))
    else:
        row = changes.c
        asked = select(
            row.path, func.substr(row.value_before, 1, _VALUE + 1), func.substr(row.value_after, 1, _VALUE + 1), row.suggestion
        ).where(
            _IS_DRIFT,
            row.tool == item.tool,
            row.place == place,
            row.kind == item.kind,
            row.conversion == item.conversion,
            *scope.of(changes),
        )
    return list(_rows(connection, asked.order_by(row.opened_at.desc()).limit(_SAMPLED)))


def _examples(item: _Merged, rows: Sequence[Sequence[Any]]) -> tuple[tuple[Example, ...], str, str, str]:
    """What came most often, what was expected, what the model was told, and the conversion."""
    seen: Counter[tuple[str, str, str]] = Counter()
    paths: dict[tuple[str, str, str], str] = {}
    hints: Counter[str] = Counter()
    conversions: Counter[str] = Counter()
    expected = ""
    for row in rows:
        if item.is_refusal:
            path, came, would_be, hint, expected, detail = row
            made = _loaded(would_be)
            planned = made if isinstance(made, dict) else {}
            became = planned.get("after") or ""
            is_dropped = planned.get("kind") == _DROPPED
            conversions[str(planned.get("conversion", ""))] += 1
        else:
            path, came, became, hint = row
            detail, is_dropped = "", item.kind == _DROPPED
        # Nothing became null: the value was left out.
        key = (_cut(came), "" if is_dropped and became == "null" else _cut(became), detail or "")
        seen[key] += 1
        paths[key] = min(path, paths.get(key, path))
        hints[hint] += 1
    # Equally frequent ones in an order of their own, so that the same records always give the same report.
    most = sorted(seen.items(), key=lambda item: (-item[1], item[0]))[:_EXAMPLES]
    examples = tuple(Example(*key[:2], count, key[2], paths[key]) for key, count in most)
    conversion = conversions.most_common(1)[0][0] if conversions else item.conversion
    return examples, expected, hints.most_common(1)[0][0] if hints else "", conversion


def _cut(value: Any) -> str:
    said = value if isinstance(value, str) else ""
    return said if len(said) <= _VALUE else f"{said[:_VALUE]}..."


def _loaded(value: str | None) -> Any:
    if value is None:
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
