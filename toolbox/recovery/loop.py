"""`Recovery`: a refused call is shown to a model, a bounded number of times; what comes back runs only where nothing in it is invented.

ask -> the answer's shape -> the arguments against the schema -> where their values come from -> run. Whatever is wrong at one of these
steps is told to the model at the next attempt. The synchronous and the asynchronous way share all but the asking and the running.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, NoReturn

from toolbox.audit import log_attempt, warn
from toolbox.calls import Desk, Held, Refused
from toolbox.diagnostics import ABSENT, CoercionReport, Diagnostic, DiagnosticKind, Risk, describe, shorten
from toolbox.dispatch import arguments_of, check, walk, walk_async
from toolbox.errors import InvalidArguments, PayloadError, RecoveryFailed, ToolTimeout
from toolbox.invoking import Stopped, invoke, invoke_async, is_awaitable, propagates
from toolbox.recording import in_thread
from toolbox.recovery.answers import Misshapen, RecoveryAnswer, RecoveryStatus, read_answer
from toolbox.recovery.attempts import Attempt, Scrubber, Verdict
from toolbox.recovery.budget import RecoveryBudget, is_count
from toolbox.recovery.equality import same
from toolbox.recovery.prompt import (
    LONGEST_PROMPT,
    Message,
    PromptTemplate,
    Shown,
    recovery_prompt,
    restored,
    shown_arguments,
)
from toolbox.recovery.provenance import Provenance, trace
from toolbox.tools import Tool

__all__ = ["Ask", "OnExhausted", "Recovery"]

Ask = Callable[[list[Message]], str] | Callable[[list[Message]], Awaitable[str]]
"""Sends messages to a model and gives the text of its answer; sync or async."""

OnExhausted = Literal["review", "raise"] | Callable[[RecoveryFailed], Any]
"""What becomes of a call that could not be corrected."""

_TEXT_LIMIT: Final = 2_000
_CHANGES_NAMED: Final = 10
# Where what asks the model dispatches calls itself, those are not recovered in turn.
_is_asking: Final = ContextVar("toolbox_is_asking", default=False)
_PARTLY: Final = frozenset({"partial", "unrecoverable"})


@dataclass(frozen=True, slots=True)
class _Silence:
    """No answer came: why not."""

    verdict: Verdict
    problem: str


@dataclass(frozen=True, slots=True)
class _Corrected:
    """Arguments that may be run."""

    arguments: dict[str, Any]
    attempt: int


_Steps = Generator["list[Message] | _Corrected", "str | _Silence", None]


class Recovery:
    """A bounded way back for calls that deterministic conversion cannot mend: ``Registry(recovery=Recovery(ask))``.

    A model is shown the schema, the original arguments and the failures, and is asked for corrected ones. They run only where they fit the
    schema with no new change above INFO, no argument is lost, and every value that was changed follows from the original one. The calls of
    high-risk tools are never corrected by a model.

    Args:
        ask: sends messages to a model and gives the text of its answer; sync or async. See `ask_openai`, `ask_anthropic`, `ask_gemini`.
        max_attempts: attempts for one call.
        on_exhausted: what becomes of a call that could not be corrected: ``"review"`` puts it into the registry's review queue, where there
            is one, and raises otherwise; ``"raise"`` raises `RecoveryFailed`; a function is given that error, and returns the result of
            the call or raises.
        review: ``"partial"`` puts what a model calls partly or wholly unrecoverable into the review queue too.
        budget: attempts for one tool and in one conversation, beside those of one call; by default 20 in one conversation.
        timeout_s: time limit of one answer in seconds; None for no limit.
        template: the texts of the prompt, where they are not the usual ones.
        prompt_limit: characters of the longest prompt.

    Raises:
        ValueError: an option is out of range.
        TypeError: `ask` cannot be called.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        max_attempts: int = 3,
        on_exhausted: OnExhausted = "review",
        review: Literal["partial"] | None = None,
        budget: RecoveryBudget | None = None,
        timeout_s: float | None = 60.0,
        template: PromptTemplate | None = None,
        prompt_limit: int = LONGEST_PROMPT,
    ) -> None:
        if not callable(ask):
            raise TypeError(f"ask must be a function from messages to text, and is {shorten(ask)}")
        if not is_count(max_attempts, 1) or max_attempts > _MOST_ATTEMPTS:
            raise ValueError(f"max_attempts must be a number from 1 to {_MOST_ATTEMPTS}, and is {shorten(max_attempts)}")
        if on_exhausted not in ("review", "raise") and not callable(on_exhausted):
            raise ValueError(f'on_exhausted must be "review", "raise" or a function, and is {shorten(on_exhausted)}')
        if review not in (None, "partial"):
            raise ValueError(f'review must be "partial" or None, and is {shorten(review)}')
        if timeout_s is not None and not timeout_s > 0:
            raise ValueError(f"timeout_s must be a number of seconds above 0, or None, and is {shorten(timeout_s)}")
        self.ask = ask
        self.max_attempts = max_attempts
        self.on_exhausted = on_exhausted
        self.review = review
        self.budget = RecoveryBudget() if budget is None else budget
        self.timeout_s = timeout_s
        self.template = template
        self.prompt_limit = prompt_limit
        self._is_async = inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(type(ask).__call__)

    def __call__(self, refused: Refused) -> Any:
        """The result of a refused call, or an awaitable of it where it came from asynchronous code.

        Raises:
            RecoveryFailed: it could not be corrected.
            ApprovalPending: it waits for a person.
            InvalidArguments: it is not one to be corrected by a model.
            ToolboxError: what the corrected call ended with.
        """
        if refused.tool.high_risk or _is_asking.get():
            raise InvalidArguments(refused.tool.name, refused.report)
        return self._corrected_async(refused) if refused.is_async else self._corrected(refused)

    # -- from synchronous code -----------------------------------------------------------------------------------------------------

    def _corrected(self, refused: Refused) -> Any:
        steps = self._steps(refused)
        try:
            step = next(steps)
            while not isinstance(step, _Corrected):
                step = steps.send(self._answer(refused.tool, step))
        except RecoveryFailed as failed:
            return self._end(refused, failed)
        return walk(refused.tool, step.arguments, refused.services, _call_of(refused, step.attempt))[0]

    def _answer(self, tool: Tool, messages: list[Message]) -> str | _Silence:
        token = _is_asking.set(True)
        try:
            return _text_of(invoke(self._asker(tool), [messages], {}, self.timeout_s))
        except BaseException as error:  # noqa: BLE001 - what asks the model is the application's and may raise anything
            return _silence(error)
        finally:
            _is_asking.reset(token)

    def _asker(self, tool: Tool) -> Tool:
        """What asks, as something that is run like a tool: in a thread or in the loop, within its time."""
        return replace(tool, name="recovery", function=self.ask, is_async=self._is_async)

    def _end(self, refused: Refused, failed: RecoveryFailed) -> Any:
        held = self._held(refused, failed)
        if held is not None:
            try:
                item = held.desk.hold(held)
            except Exception as error:  # noqa: BLE001 - a queue that cannot take the call must not hide why it was refused
                _not_held(failed, error)
            raise held.pending(item) from failed
        if callable(self.on_exhausted):
            return self.on_exhausted(failed)
        raise failed

    # -- from asynchronous code ----------------------------------------------------------------------------------------------------

    async def _corrected_async(self, refused: Refused) -> Any:
        steps = self._steps(refused)
        try:
            step = next(steps)
            while not isinstance(step, _Corrected):
                step = steps.send(await self._answer_async(refused.tool, step))
        except RecoveryFailed as failed:
            return await self._end_async(refused, failed)
        return (await walk_async(refused.tool, step.arguments, refused.services, _call_of(refused, step.attempt)))[0]

    async def _answer_async(self, tool: Tool, messages: list[Message]) -> str | _Silence:
        token = _is_asking.set(True)
        try:
            return _text_of((await invoke_async(self._asker(tool), [messages], {}, self.timeout_s)).take())
        except BaseException as error:  # noqa: BLE001 - see _answer
            return _silence(error)
        finally:
            _is_asking.reset(token)

    async def _end_async(self, refused: Refused, failed: RecoveryFailed) -> Any:
        held = self._held(refused, failed)
        if held is not None:
            hold = partial(held.desk.hold, held)
            try:
                item = await in_thread(hold) if held.desk.blocking else hold()
            except Exception as error:  # noqa: BLE001 - see _end
                _not_held(failed, error)
            raise held.pending(item) from failed
        if callable(self.on_exhausted):
            value = self.on_exhausted(failed)
            return await value if is_awaitable(value) else value
        raise failed

    # -- the loop ------------------------------------------------------------------------------------------------------------------

    def _steps(self, refused: Refused) -> _Steps:
        """The attempts of one call: yields what to ask, is sent what was answered, and yields last what may be run.

        Raises:
            RecoveryFailed: it could not be corrected.
            InvalidArguments: there is nothing that an answer could be held to.
        """
        tool, report = refused.tool, refused.report
        original = arguments_of(tool, refused.payload, refused.services.known)
        if original is None:
            raise InvalidArguments(tool.name, report)
        attempts: list[Attempt] = []
        shown = shown_arguments(tool, original, report, room=self.prompt_limit * 3 // 10)
        if shown.cut or any(_is_torn(item.would_be) for item in report.failures):
            # No answer could be accepted: the model cannot see what failed, or only the caller knows which of two values is meant.
            raise self._failed(refused, "unrecoverable", attempts)
        scrubber = Scrubber(tool, original)
        judge = _Judge(refused, original, shown, scrubber)
        conversation = refused.call.conversation_id
        error = scrubber.text(report.to_text(tool.name))
        for number in range(1, self.max_attempts + 1):
            if self.budget.take(tool.name, conversation) is not None:
                raise self._failed(refused, "budget", attempts)
            earlier = [item.problem for item in attempts]
            messages = recovery_prompt(tool, original, report, previous=earlier, template=self.template, limit=self.prompt_limit)
            started = time.perf_counter()
            said = yield messages
            attempt, arguments = judge.judged(said, number, error, (time.perf_counter() - started) * 1000)
            attempts.append(attempt)
            log_attempt(tool.name, attempt.to_dict(), _LEVELS.get(attempt.verdict, logging.WARNING))
            if attempt.verdict is Verdict.ACCEPTED:
                _note(refused, "recovered", "accepted", attempts)
                yield _Corrected(arguments, number)
                return
            if attempt.verdict in _FINAL:
                raise self._failed(refused, attempt.verdict.value, attempts)
            error = attempt.problem
        raise self._failed(refused, "exhausted", attempts)

    def _failed(self, refused: Refused, reason: str, attempts: list[Attempt]) -> RecoveryFailed:
        _note(refused, RecoveryFailed.state, reason, attempts)
        return RecoveryFailed(refused.tool.name, refused.report, reason, [item.to_dict() for item in attempts])

    def _held(self, refused: Refused, failed: RecoveryFailed) -> Held | None:
        """The call as it goes to the review queue; None where it does not."""
        desk: Desk | None = refused.services.review
        is_partial = failed.reason in _PARTLY
        if desk is None or not (self.review == "partial" if is_partial else self.on_exhausted == "review"):
            return None
        known, record_id = refused.services.known, refused.record_id
        return Held(refused.tool, refused.payload, refused.report, refused.call, desk, failed.reason, failed.attempts, record_id, known)


_MOST_ATTEMPTS: Final = 100
# That nothing was answered is a fault of the application or of its provider, and no answer of the model's.
_LEVELS: Final = {Verdict.ACCEPTED: logging.INFO, Verdict.ASK_FAILED: logging.ERROR, Verdict.TIMEOUT: logging.ERROR}
_FINAL: Final = frozenset({Verdict.PARTIAL, Verdict.UNRECOVERABLE, Verdict.ASK_FAILED, Verdict.TIMEOUT})


class _Judge:
    """Judges the answers to one refused call."""

    def __init__(self, refused: Refused, original: Mapping[str, Any], shown: Shown, scrubber: Scrubber) -> None:
        self.refused = refused
        self.original = original
        self.shown = shown.arguments
        self.scrubber = scrubber
        self.original_shown = scrubber.arguments(original)

    def judged(self, said: str | _Silence, number: int, error: str, duration_ms: float) -> tuple[Attempt, dict[str, Any]]:
        """The attempt as it is kept, and the arguments that it gave."""
        attempt = Attempt(number, self.original_shown, error, Verdict.MISSHAPEN, duration_ms=duration_ms)
        if isinstance(said, _Silence):
            return replace(attempt, verdict=said.verdict, problem=said.problem), {}
        try:
            answer = read_answer(said)
        except Misshapen as error_of_shape:
            return replace(attempt, problem=self.scrubber.text(str(error_of_shape))), {}
        try:
            arguments = self.restored(answer.corrected_arguments)
            verdict, problem, provenance = self.verdict(answer, arguments)
        except RecursionError:  # the policy lets arguments be nested deeper than the stack of the caller goes
            return replace(attempt, verdict=Verdict.INVALID, problem="the arguments are nested too deeply to be compared"), {}
        return (
            replace(
                attempt,
                verdict=verdict,
                problem=self.scrubber.text(problem),
                corrected_arguments=self.scrubber.arguments(answer.corrected_arguments),
                coercion_log=tuple(self.scrubber.said(list(answer.coercion_log))),
                status=answer.status.value,
                unrecoverable_fields=tuple(self.scrubber.said([item.to_dict() for item in answer.unrecoverable_fields])),
                changes=() if provenance is None else self.scrubber.changes(provenance.changes),
            ),
            arguments,
        )

    def restored(self, corrected: Mapping[str, Any]) -> dict[str, Any]:
        """The corrected arguments, with the original value wherever the model repeats what it was shown in its place."""
        names = self.refused.tool.bind.names
        keys = {names.resolve(key) or key: key for key in self.original}
        made: dict[str, Any] = {}
        for key, value in corrected.items():
            source = key if key in self.original else keys.get(names.resolve(key) or key)
            is_shown = source is not None and source in self.shown
            made[key] = restored(value, self.shown[source], self.original[source]) if is_shown and source is not None else value
        return made

    def verdict(self, answer: RecoveryAnswer, arguments: dict[str, Any]) -> tuple[Verdict, str, Provenance | None]:
        """What becomes of an answer of the right shape, what is wrong with it, and where its values come from."""
        if answer.status is RecoveryStatus.UNRECOVERABLE:
            return Verdict.UNRECOVERABLE, "", None
        tool, report = self.refused.tool, self.refused.report
        if answer.status is RecoveryStatus.SUCCESS:
            problem = self.misfit(arguments)
            if problem:
                return Verdict.INVALID, problem, None
        flagged = [_path_of(item.field_path) for item in answer.unrecoverable_fields]
        provenance = trace(tool, self.original, arguments, report, flagged)
        if not provenance.ok:
            return Verdict.INVENTED, _listed(map(str, provenance.inventions)), provenance
        return Verdict.ACCEPTED if answer.status is RecoveryStatus.SUCCESS else Verdict.PARTIAL, "", provenance

    def misfit(self, arguments: dict[str, Any]) -> str:
        """Why corrected arguments do not fit: a failure, or a change above INFO that the original call did not need as well."""
        tool = self.refused.tool
        try:
            made = check(tool, arguments, self.refused.services.known)
        except PayloadError as error:
            return str(error)
        if made.failures:
            return made.to_text(tool.name)
        return _listed(describe(item).partition("] ")[2] for item in _new_changes(made, self.refused.report))


def _new_changes(made: CoercionReport, before: CoercionReport) -> list[Diagnostic]:
    """The changes above INFO that the policy has not accepted already for the original arguments."""
    known: dict[tuple[str, DiagnosticKind, str], list[Any]] = {}
    for item in before.at_least(Risk.WARNING):
        known.setdefault((item.path, item.kind, item.conversion), []).append(item.before)
    return [
        item
        for item in made.at_least(Risk.WARNING)
        if not any(_same_value(item.before, value) for value in known.get((item.path, item.kind, item.conversion), ()))
    ]


def _same_value(one: Any, other: Any) -> bool:
    return one is other if ABSENT in (one, other) else same(one, other)


def _listed(problems: Any) -> str:
    """Problems as lines, as many as there is room for."""
    lines: list[str] = []
    room = _TEXT_LIMIT
    for number, problem in enumerate(problems):
        line = f"- {problem}"
        room -= len(line) + 1
        if room < 0 or number == _CHANGES_NAMED:
            lines.append("- and more")
            break
        lines.append(line)
    return "\n".join(lines)


def _path_of(said: str) -> str:
    """A path as a model writes it, with the root that it may have left out."""
    return said if said.startswith("$") else f"${said}" if said.startswith(("[", ".")) else f"$.{said}"


def _is_torn(would_be: Diagnostic | None) -> bool:
    return would_be is not None and would_be.kind is DiagnosticKind.DUPLICATE_KEY


def _call_of(refused: Refused, attempt: int) -> Any:
    said = {"attempt_number": attempt, "record_id": refused.record_id}
    return replace(refused.call, attempt=attempt, corrects=refused, found=(), metadata={**(refused.call.metadata or {}), "recovery": said})


def _note(refused: Refused, state: str, reason: str, attempts: list[Attempt]) -> None:
    """Put the attempts on the record of the call."""
    refused.attempts[:] = [item.to_dict() for item in attempts]
    refused.notes["recovery"] = {"state": state, "reason": reason, "attempts": list(refused.attempts)}


# -- no answer -----------------------------------------------------------------------------------------------------------------------


def _text_of(value: Any) -> str | _Silence:
    if isinstance(value, str):
        return str(value)
    return _Silence(Verdict.ASK_FAILED, f"what asks the model gave a {type(value).__name__[:64]}, and no text")


def _silence(error: BaseException) -> _Silence:
    """Why there is no answer; the text of a foreign exception may hold anything, so only its name is kept.

    Raises:
        BaseException: it is the caller's own, such as a cancellation.
    """
    if propagates(error) or isinstance(error, GeneratorExit):
        raise error
    if isinstance(error, Stopped):
        verdict = Verdict.TIMEOUT if isinstance(error.error, ToolTimeout) else Verdict.ASK_FAILED
        return _Silence(
            verdict, "there was no answer in time" if verdict is Verdict.TIMEOUT else "too many earlier questions are still open"
        )
    return _Silence(Verdict.ASK_FAILED, f"what asks the model raised {type(error).__name__[:64]}")


# -- the end -------------------------------------------------------------------------------------------------------------------------


def _not_held(failed: RecoveryFailed, error: Exception) -> NoReturn:
    warn("review_failed", tool=failed.tool[:400], error=type(error).__name__)
    raise failed from error
