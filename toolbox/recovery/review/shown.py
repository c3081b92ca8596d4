"""What a person is shown of a call, and how it is made sure that exactly this runs.

What is shown is JSON: the arguments that would be dispatched, and what the function would be run with. Both, the tool's name and the
version of its schema go into one hash. The hash is what a person approves, and it is made again, from the arguments and the tool as they
then are, before the function runs.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from toolbox.audit import AuditRecord
from toolbox.calls import Held
from toolbox.diagnostics import ABSENT, INVALID, MASK, CoercionReport, DiagnosticKind, Failure, FailureReason, Outcome, Risk, path_text
from toolbox.dispatch import check
from toolbox.errors import PayloadError, ReviewError, ToolboxError
from toolbox.json_values import Bounds, json_value, snapshot
from toolbox.masking import hidden, shows
from toolbox.policy import Policy
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
    "original_of",
    "plain_changes",
    "plain_failures",
    "propose",
    "same_call",
    "settle",
    "version_of",
    "without_secrets",
]

_WHOLE: Final = Bounds(text=2_000_000, nodes=200_000, depth=80)
"""More than the limits of any policy in use: what is shown is shown whole."""
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
        arguments: the arguments as they are shown; the values of secrets are masked.
        needed: names of those secrets.
        known: the values of those that are at hand; without its value, a secret is taken to fit.

    Raises:
        ReviewError: the arguments do not fit.
    """
    values = known or {}
    payload = {name: values.get(name, item) for name, item in arguments.items() if name not in needed or name in values}
    unseen = {name for name in needed if name not in values}
    unseen_paths = {path_text((None, name)) for name in unseen}
    try:
        report = check(tool, payload)
    except PayloadError as error:
        raise ReviewError("arguments", f"the arguments do not fit {tool.name}: {error}") from error
    failures = [item for item in report.failures if not (item.reason is FailureReason.MISSING and item.path in unseen_paths)]
    if failures:
        text = CoercionReport(None, {}, [], failures, secret=tool.secret).to_text()
        raise ReviewError("arguments", f"the arguments do not fit {tool.name} as it is now. {text}")
    invoked = {**shown_values(tool, report.value), **dict.fromkeys(unseen, MASK)}
    version = version_of(tool)
    return Shown(invoked, hash_of(tool.name, version, arguments, invoked), version, report)


def shown_values(tool: Tool, values: Mapping[str, Any]) -> dict[str, Any]:
    """The coerced values as JSON, those of secrets masked."""
    return {name: MASK if tool.secret and not shows(tool, name) else _as_json(item) for name, item in values.items()}


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
    bound = _bound(tool, held.payload)
    if report.failures:
        report = _read_daringly(tool, held.payload, report)
    secrets = {} if bound is None or not tool.secret else {_named(tool, key): item for key, item in bound.items() if not shows(tool, key)}
    needed = tuple(sorted(secrets))
    settled = None
    if not report.failures and bound is not None:
        settled = settle(tool, {_named(tool, key): item for key, item in bound.items()}, report, needed, secrets)
    if settled is None:
        return Proposal(None, None, secrets, needed, held.report, bound)
    return Proposal(*settled, secrets, needed, report, bound)


def settle(
    tool: Tool, given: Mapping[str, Any], report: CoercionReport, needed: Collection[str], known: Mapping[str, Any]
) -> tuple[dict[str, Any], Shown] | None:
    """The arguments as JSON that come to the same as those of a report, and what they come to; None where there are none.

    They are what the function gets, where it is read back as itself; else what was given.

    Args:
        tool: the tool.
        given: the arguments, by the declared names.
        report: what was made of them.
        needed: names of the secrets among them.
        known: the values of those that are at hand.
    """
    wanted = canonical({**shown_values(tool, report.value), **dict.fromkeys(needed, MASK)})
    for candidate in (_read_back(tool, report.value), given):
        open_ones = {name: exact_json(item) for name, item in candidate.items() if name not in needed}
        if any(item is ABSENT for item in open_ones.values()):
            continue
        arguments = {**open_ones, **dict.fromkeys(needed, MASK)}
        try:
            shown = examine(tool, arguments, needed, known)
        except ToolboxError:
            continue
        if canonical(shown.invoked) == wanted:
            return arguments, shown
    return None


def _read_back(tool: Tool, values: Mapping[str, Any]) -> dict[str, Any]:
    """The coerced values, without the defaults of secrets."""
    return {name: item for name, item in values.items() if not tool.secret or shows(tool, name)}


def _named(tool: Tool, key: str) -> str:
    return tool.bind.names.resolve(key) or key


def _bound(tool: Tool, payload: Any) -> Mapping[str, Any] | None:
    """The arguments as they came, by the keys that they came with; None when they cannot be told apart."""
    try:
        arguments = payload
        if isinstance(payload, str | bytes | bytearray):
            from toolbox.payload.arguments import extract_arguments

            arguments = extract_arguments(bytes(payload) if isinstance(payload, bytearray) else payload, policy=tool.policy, tool=tool.name)
            arguments = arguments.arguments
        bound = tool.bind.bind(arguments, Outcome())
    except Exception:  # noqa: BLE001 - a mapping of someone's own may do anything
        return None
    return bound if bound is not INVALID and isinstance(bound, Mapping) and all(isinstance(key, str) for key in bound) else None


def _read_daringly(tool: Tool, payload: Any, report: CoercionReport) -> CoercionReport:
    """What would be made of a payload if no change were too risky."""
    try:
        daring = replace(tool, high_risk=False, own_policy=None).under(replace(tool.policy, max_risk=Risk.RISKY))
        return check(daring, payload)
    except ToolboxError:
        return report


# -- what is stored ------------------------------------------------------------------------------------------------------------------


def same_call(held: Held, proposal: Proposal) -> str:
    """What calls have in common that are the same: tool, arguments, conversation and user; secrets are compared within one process."""
    said, tool, arguments = held.call.metadata or {}, held.tool, proposal.arguments
    if arguments is None and proposal.bound is not None:
        named = {_named(tool, key): item for key, item in proposal.bound.items()}
        found = exact_json({name: MASK if name in proposal.secrets else item for name, item in named.items()})
        arguments = None if found is ABSENT else found
    if arguments is None:
        arguments = {"$": original_of(tool, held.payload)}
    secret = None
    if held.tool.secret:
        seen = proposal.secrets if proposal.bound is not None else {"$": held.payload}
        told = canonical({name: _as_json(item) for name, item in seen.items()})
        secret = hmac.new(_KEY, told.encode(), hashlib.sha256).hexdigest()
    who = [snapshot(said.get("conversation_id")), snapshot(said.get("user"))]
    return _sha([held.tool.name, arguments, who, secret])


def original_of(tool: Tool, payload: Any) -> Any:
    """The arguments as they came, whole, secrets masked."""
    return hidden(tool, payload) if tool.secret else snapshot(payload, _WHOLE)


def plain_changes(report: CoercionReport) -> tuple[Mapping[str, Any], ...]:
    """The changes of a report as plain JSON data."""
    return tuple(AuditRecord("", "", None, diagnostics=tuple(report.diagnostics)).to_dict()["diagnostics"])


def plain_failures(failures: Sequence[Failure]) -> tuple[Mapping[str, Any], ...]:
    """Failures as plain JSON data."""
    return tuple(AuditRecord("", "", None, failures=tuple(failures)).to_dict()["failures"])


def attempts_of(held: Held, proposal: Proposal) -> tuple[Mapping[str, Any], ...]:
    """The attempts to correct a call, secrets masked once more, whatever they hold."""
    tool = held.tool
    if not tool.secret:
        return tuple(snapshot(dict(item), _WHOLE) for item in held.attempts)
    texts = _spelt(proposal)

    def hide(key: str) -> bool:
        return tool.bind.names.resolve(key) in tool.secret

    return tuple(_without(snapshot({k: _arguments_of(tool, k, v) for k, v in item.items()}, hide=hide), texts) for item in held.attempts)


def _arguments_of(tool: Tool, key: str, value: Any) -> Any:
    return hidden(tool, value) if key.endswith("arguments") else value


def _texts(values: list[Any]) -> set[str]:
    """The texts and numbers in some values, as they may stand in another text."""
    found: set[str] = set()
    pending = list(snapshot(values))
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, str | int | float) and not isinstance(item, bool):
            text = str(item)
            # A single letter or digit would turn every text into masks.
            if len(text) > 1:
                found |= {text, json.dumps(text)[1:-1]}
    return found


def _without(value: Any, texts: Sequence[str]) -> Any:
    if isinstance(value, dict):
        return {_without(key, texts): _without(item, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_without(item, texts) for item in value]
    if isinstance(value, str):
        for text in texts:
            value = value.replace(text, MASK)
    return value


def without_secrets(proposal: Proposal, value: Any) -> Any:
    """A JSON value without the secrets of a call, wherever they stand in its texts."""
    return _without(value, _spelt(proposal)) if proposal.secrets else value


def _spelt(proposal: Proposal) -> list[str]:
    return sorted(_texts(list(proposal.secrets.values())), key=len, reverse=True)


# -- what a person gives -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments that a person has given, checked.

    Attributes:
        arguments: the arguments to dispatch, secrets masked.
        shown: what they come to.
        secrets: names of the secrets among them.
        report: how they were read.
        is_converted: whether something in them is read as something else.
    """

    arguments: dict[str, Any]
    shown: Shown
    secrets: tuple[str, ...]
    report: CoercionReport
    is_converted: bool


def examine_given(tool: Tool, arguments: Mapping[str, Any], known: Mapping[str, Any]) -> Given:
    """Check the arguments that a person has given, whose secrets are written as the mask.

    Raises:
        ReviewError: they do not fit, or show a secret.
    """
    named = {_named(tool, key): item for key, item in arguments.items()}
    if len(named) != len(arguments):
        raise ReviewError("arguments", f"an argument of {tool.name} is given under two spellings of its name")
    secrets = tuple(sorted(name for name in named if tool.secret and not shows(tool, name)))
    seen = [name for name in secrets if named[name] != MASK]
    if seen:
        raise ReviewError(
            "secrets", f"the value of {seen[0]!r:.60} is secret and is not stored: write {MASK!r} here, and give it to run(secrets=...)"
        )
    values = {name: known[name] for name in secrets if name in known}
    report = examine(tool, named, secrets, values).report
    settled = settle(tool, named, report, secrets, values)
    if settled is None:
        raise ReviewError(
            "arguments", f"the arguments of {tool.name} have no JSON form that comes to the same: write a date as text, a set as a list"
        )
    made, shown = settled
    is_converted = any(item.kind is not DiagnosticKind.DEFAULTED for item in report.diagnostics)
    return Given(made, shown, secrets, report, is_converted)
