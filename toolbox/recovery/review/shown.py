"""What a person is shown of a call, and how it is made sure that exactly this runs.

What is shown is JSON: the arguments that would be dispatched, and what the function would be run with. Both, the tool's name and the
version of its schema go into one hash. The hash is what a person approves, and it is made again, from the arguments and the tool as they
then are, before the function runs.
"""

from __future__ import annotations

import copy
import hashlib
import hmac
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from toolbox.audit import AuditRecord
from toolbox.calls import Held
from toolbox.diagnostics import (
    ABSENT,
    MASK,
    CoercionReport,
    Diagnostic,
    DiagnosticKind,
    Failure,
    FailureReason,
    Risk,
    describe,
    is_within,
    path_text,
)
from toolbox.dispatch import arguments_of, check
from toolbox.errors import PayloadError, ReviewError, ToolboxError
from toolbox.json_values import Bounds, json_value, snapshot
from toolbox.masking import hidden, shows
from toolbox.policy import Policy
from toolbox.recovery.attempts import Scrubber
from toolbox.recovery.review.item import ReviewItem
from toolbox.tools import Tool

__all__ = [
    "Proposal",
    "Shown",
    "attempts_of",
    "canonical",
    "exact_json",
    "examine",
    "examine_given",
    "hash_of",
    "metadata_of",
    "original_of",
    "plain_changes",
    "plain_failures",
    "propose",
    "same_call",
    "settle",
    "version_of",
]

_WHOLE: Final = Bounds(text=2_000_000, nodes=200_000, depth=80)
"""More than the limits of any policy in use: what is shown is shown whole."""
# The texts of an attempt that are toolbox's own: the values in them are masked where they are made.
_OWN_TEXTS: Final = frozenset({"problem", "error_received"})
# Secrets are compared within one process and by a key that nobody else has, so that what is stored tells nothing about them.
_KEY: Final = os.urandom(32)


def canonical(value: Any) -> str:
    """A JSON value as the one text that stands for it: keys sorted, ASCII, no white space."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _sha(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()


def version_of(tool: Tool) -> str:
    """SHA-256 of what decides how a tool reads its arguments: schema, policy, secrets."""
    policy = {item.name: json_value(getattr(tool.policy, item.name)) for item in fields(Policy) if item.name != "name"}
    return _sha({"schema": snapshot(tool.schema, _WHOLE), "policy": snapshot(policy), "secret": sorted(tool.secret)})


def hash_of(tool: str, version: str, arguments: Mapping[str, Any], invoked: Mapping[str, Any]) -> str:
    """SHA-256 of everything that a person approves."""
    return _sha({"tool": tool, "version": version, "arguments": dict(arguments), "invoked": dict(invoked)})


@dataclass(frozen=True, slots=True)
class Shown:
    """What one set of arguments comes to under a tool as it is now.

    Attributes:
        invoked: what the function would be run with, masked.
        hash: the hash to approve.
        version: the version of the tool.
        report: what was made of the arguments.
    """

    invoked: dict[str, Any]
    hash: str
    version: str
    report: CoercionReport


def examine(tool: Tool, arguments: Mapping[str, Any], needed: Collection[str] = (), known: Mapping[str, Any] | None = None) -> Shown:
    """Check arguments against a tool as it is now.

    Args:
        tool: the tool.
        arguments: the arguments as they are shown; those of `needed` are not what is dispatched.
        needed: names of the arguments whose values are secret, wholly or in part.
        known: the values of those that are at hand; without its value, such an argument is taken to fit.

    Raises:
        ReviewError: the arguments do not fit, or a value is not that of which a part was shown.
    """
    values = {name: item for name, item in (known or {}).items() if name in needed}
    for name, item in values.items():
        if canonical(_seen(tool, name, item)) != canonical(arguments.get(name)):
            raise ReviewError("secrets", f"the value that is given for {name!r:.60} is not the one that was shown")
    payload = {name: values.get(name, item) for name, item in arguments.items() if name not in needed or name in values}
    unseen_paths = {path_text((None, name)) for name in needed if name not in values}
    try:
        report = check(tool, payload)
    except PayloadError as error:
        raise ReviewError("arguments", f"the arguments do not fit {tool.name}: {error}") from error
    failures = [item for item in report.failures if not (item.reason is FailureReason.MISSING and item.path in unseen_paths)]
    if failures:
        text = CoercionReport(None, {}, [], failures, secret=tool.secret).to_text()
        raise ReviewError("arguments", f"the arguments do not fit {tool.name} as it is now. {text}")
    invoked = {**_all_seen(tool, report.value), **{name: arguments[name] for name in needed if name in arguments}}
    version = version_of(tool)
    return Shown(invoked, hash_of(tool.name, version, arguments, invoked), version, report)


def _is_veiled(tool: Tool, name: str, value: Any) -> bool:
    """Whether an argument is secret, or is not shown as it is."""
    return tool.guarded and (not shows(tool, name) or (tool.redaction is not None and tool.redaction.touches(value)))


def _seen(tool: Tool, name: str, value: Any) -> Any:
    """A value as JSON, as it may be seen."""
    if not tool.guarded:
        return _as_json(value)
    if not shows(tool, name):
        return MASK
    redaction = tool.redaction
    return redaction.value(value, _WHOLE, known=tool.names) if redaction is not None and redaction.touches(value) else _as_json(value)


def _all_seen(tool: Tool, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _seen(tool, name, item) for name, item in values.items()}


def _as_json(value: Any) -> Any:
    exact = exact_json(value)
    return snapshot(value, _WHOLE) if exact is ABSENT else exact


def exact_json(value: Any) -> Any:
    """The JSON value that stands for exactly this value, or `ABSENT`; never raises."""
    try:
        made = json_value(value)
        return made if made is ABSENT else json.loads(json.dumps(made, allow_nan=False))
    except Exception:  # noqa: BLE001 - a value's own methods may do anything
        return ABSENT


# -- what is proposed ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a held call would run with.

    Attributes:
        arguments: the arguments to dispatch, secrets masked; None when nothing can run as it is.
        shown: what they come to; None as they are.
        secrets: the values of secrets among them, by name; kept in memory alone.
        needed: the names of these.
        report: how what came was read.
        bound: the arguments as they came, by name; None when there is no telling.
    """

    arguments: dict[str, Any] | None
    shown: Shown | None
    secrets: Mapping[str, Any] = field(repr=False)
    needed: tuple[str, ...]
    report: CoercionReport
    bound: Mapping[str, Any] | None = field(repr=False)


def propose(held: Held) -> Proposal:
    """The arguments that a person may approve as they stand.

    Of a call that was refused for its risk alone, that is what it would have been read as. Nothing that a model has corrected is proposed:
    it stands among the attempts.
    """
    tool, report = held.tool, held.report
    bound = arguments_of(tool, held.payload, held.known)
    if report.failures:
        report = _read_daringly(held)
    named = {_named(tool, key): item for key, item in (bound or {}).items()}
    made = {} if report.failures else report.value
    veiled = {name: item for name, item in named.items() if _is_veiled(tool, name, item) or _is_veiled(tool, name, made.get(name))}
    needed = tuple(sorted(veiled))
    secrets = {name: copied for name, item in veiled.items() if (copied := _kept(item)) is not ABSENT}
    settled = None
    if not report.failures and bound is not None:
        settled = settle(tool, named, report, {name: _seen(tool, name, item) for name, item in veiled.items()}, secrets)
    if settled is None:
        return Proposal(None, None, secrets, needed, held.report, bound)
    return Proposal(*settled, secrets, needed, report, bound)


def _kept(value: Any) -> Any:
    """A copy of a secret value that nobody else can change until it runs; `ABSENT` where there is none, and it has to be given again."""
    made = exact_json(value)
    if made is not ABSENT:
        return made
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - a value's own methods may do anything
        return ABSENT


def settle(
    tool: Tool, given: Mapping[str, Any], report: CoercionReport, veiled: Mapping[str, Any], known: Mapping[str, Any]
) -> tuple[dict[str, Any], Shown] | None:
    """The arguments as JSON that come to the same as those of a report, and what they come to; None where there are none.

    They are what the function gets, where it is read back as itself; else what was given.

    Args:
        tool: the tool.
        given: the arguments, by the declared names.
        report: what was made of them.
        veiled: the secrets among them, as they are shown.
        known: the values of those that are at hand.
    """
    wanted = canonical({**_all_seen(tool, report.value), **veiled})
    for candidate in (report.value, given):
        # What the default of a secret is, or of what is shown in part, is the application's own affair.
        plain = {name: exact_json(item) for name, item in candidate.items() if name not in veiled and not _is_veiled(tool, name, item)}
        if any(item is ABSENT for item in plain.values()):
            continue
        arguments = {**plain, **veiled}
        try:
            shown = examine(tool, arguments, veiled, known)
        except ToolboxError:
            continue
        if canonical(shown.invoked) == wanted:
            return arguments, shown
    return None


def _named(tool: Tool, key: str) -> str:
    return tool.bind.names.resolve(key) or key


def _read_daringly(held: Held) -> CoercionReport:
    """What would be made of a payload if no change were too risky."""
    tool = held.tool
    try:
        daring = replace(tool, high_risk=False, own_policy=None).under(replace(tool.policy, max_risk=Risk.RISKY))
        return check(daring, held.payload, held.known)
    except Exception:  # noqa: BLE001 - a mapping of someone's own may do anything; then nothing is proposed
        return held.report


# -- what is stored ------------------------------------------------------------------------------------------------------------------


def same_call(held: Held, proposal: Proposal) -> str:
    """What calls have in common that are the same: tool, arguments, conversation and user; secrets are compared within one process."""
    said = held.call.metadata if isinstance(held.call.metadata, Mapping) else {}
    tool, arguments = held.tool, proposal.arguments
    if arguments is None and proposal.bound is not None:
        named = {_named(tool, key): item for key, item in proposal.bound.items()}
        found = exact_json({name: MASK if name in proposal.secrets else item for name, item in named.items()})
        arguments = None if found is ABSENT else found
    if arguments is None:
        arguments = {"$": original_of(tool, held.payload)}
    secret = None
    if proposal.secrets or (tool.guarded and proposal.bound is None):
        seen = proposal.secrets if proposal.bound is not None else {"$": held.payload}
        told = canonical({name: _as_json(item) for name, item in seen.items()})
        secret = hmac.new(_KEY, told.encode(), hashlib.sha256).hexdigest()
    who = [snapshot(said.get("conversation_id")), snapshot(said.get("user"))]
    return _sha([held.tool.name, arguments, who, secret])


def original_of(tool: Tool, payload: Any) -> Any:
    """The arguments as they came, whole, secrets masked."""
    return hidden(tool, payload) if tool.guarded else snapshot(payload, _WHOLE)


def plain_changes(report: CoercionReport) -> tuple[Mapping[str, Any], ...]:
    """The changes of a report as plain JSON data."""
    return tuple(AuditRecord("", "", None, diagnostics=tuple(report.diagnostics)).to_dict()["diagnostics"])


def plain_failures(failures: Sequence[Failure]) -> tuple[Mapping[str, Any], ...]:
    """Failures as plain JSON data."""
    return tuple(AuditRecord("", "", None, failures=tuple(failures)).to_dict()["failures"])


def attempts_of(held: Held, proposal: Proposal) -> tuple[Mapping[str, Any], ...]:
    """The attempts to correct a call, secrets masked once more, whatever they hold."""
    if not held.tool.guarded:
        return tuple(snapshot(dict(item), _WHOLE) for item in held.attempts)
    scrubber = Scrubber(held.tool, proposal.bound or {})
    return tuple({str(key): _scrubbed(scrubber, str(key), item) for key, item in attempt.items()} for attempt in held.attempts)


def _scrubbed(scrubber: Scrubber, key: str, value: Any) -> Any:
    if key in _OWN_TEXTS and isinstance(value, str):
        return scrubber.text(value)
    return scrubber.arguments(value) if key.endswith("arguments") else scrubber.said(value)


def metadata_of(held: Held, proposal: Proposal) -> dict[str, Any]:
    """What the caller said, without what is secret of the call."""
    said = held.call.metadata or {}
    made = Scrubber(held.tool, proposal.bound or {}).said(said) if held.tool.guarded else snapshot(said)
    return made if isinstance(made, dict) else {}


# -- what a person gives -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments that a person has given, checked.

    Attributes:
        arguments: the arguments to dispatch, secrets masked.
        shown: what they come to.
        secrets: names of the secrets among them.
        report: how they were read.
        converted: what in them is read as something else, each with what it becomes where that may be seen.
    """

    arguments: dict[str, Any]
    shown: Shown
    secrets: tuple[str, ...]
    report: CoercionReport
    converted: tuple[str, ...]


def examine_given(tool: Tool, arguments: Mapping[str, Any], item: ReviewItem, known: Mapping[str, Any]) -> Given:
    """Check the arguments that a person has given, in which secrets are written as they were shown.

    Raises:
        ReviewError: they do not fit, or show a secret.
    """
    named = {_named(tool, key): value for key, value in arguments.items()}
    if len(named) != len(arguments):
        raise ReviewError("arguments", f"an argument of {tool.name} is given under two spellings of its name")
    before = {name: (item.arguments or {}).get(name) for name in item.secrets}
    veiled = {
        name: value
        for name, value in named.items()
        if (isinstance(value, str) and value == MASK and not shows(tool, name)) or (name in before and _same(value, before[name]))
    }
    seen = [name for name, value in named.items() if name not in veiled and _is_veiled(tool, name, value)]
    if seen:
        text = (
            f"the value of {seen[0]!r:.60} is secret and is not stored: write {MASK!r}, or what was shown; it is given when the call is run"
        )
        raise ReviewError("secrets", text)
    values = {name: known[name] for name in veiled if name in known}
    report = examine(tool, named, veiled, values).report
    settled = settle(tool, named, report, veiled, values)
    if settled is None:
        raise ReviewError(
            "arguments", f"the arguments of {tool.name} have no JSON form that comes to the same: write a date as text, a set as a list"
        )
    converted = tuple(
        _converted(tool, change, named, veiled) for change in report.diagnostics if change.kind is not DiagnosticKind.DEFAULTED
    )
    return Given(*settled, tuple(sorted(veiled)), report, converted)


def _converted(tool: Tool, change: Diagnostic, named: Mapping[str, Any], veiled: Mapping[str, Any]) -> str:
    """Where something is read as something else, and as what; of what is secret, where alone."""
    is_seen = not tool.guarded or not any(
        is_within(change.path, path_text((None, name))) and (name in veiled or _is_veiled(tool, name, item)) for name, item in named.items()
    )
    return describe(change).partition("] ")[2] if is_seen else f"{change.path}: not as the function gets it"


def _same(one: Any, other: Any) -> bool:
    plain = exact_json(one)
    return plain is not ABSENT and canonical(plain) == canonical(other)
