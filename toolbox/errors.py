"""The exceptions that toolbox raises.

Every class derives from `ToolboxError`. Fields come first and the text is derived from them, so that a program can branch on data
and never has to parse prose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from toolbox.diagnostics import CoercionReport, shorten

if TYPE_CHECKING:
    from toolbox.diagnostics import Failure

__all__ = [
    "AmbiguousMatch",
    "ApprovalPending",
    "AuditError",
    "InvalidArguments",
    "MissingContext",
    "MissingReview",
    "NoMatch",
    "PayloadError",
    "RecoveryFailed",
    "RegistrationError",
    "RepeatedFailure",
    "ReviewError",
    "StoreError",
    "ToolExecutionError",
    "ToolTimeout",
    "ToolboxError",
    "UnknownTool",
]

CHOICES_SHOWN = 10


class ToolboxError(Exception):
    """Base class of every error that toolbox raises.

    Attributes:
        report: what happened to the arguments of the call, when it came that far.
        record_status: the status on record of a call that ended with the error, where it says more than that it was refused or failed.
        not_started: whether the function was certainly not started, although the arguments fit: nothing has had an effect.
    """

    report: CoercionReport | None = None
    record_status: ClassVar[str | None] = None
    not_started: bool = False


class RegistrationError(ToolboxError):
    """A function or schema cannot become a tool.

    Attributes:
        tool: name of the tool.
        problems: every problem found, each with what to write instead.
    """

    def __init__(self, tool: str, problems: Sequence[str]) -> None:
        self.tool = tool
        self.problems = tuple(problems)
        super().__init__(tool, self.problems)

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return f"cannot register {self.tool!r}: {self.problems[0]}"
        listed = "".join(f"\n- {problem}" for problem in self.problems)
        return f"cannot register {self.tool!r}, {len(self.problems)} problems:{listed}"


class PayloadError(ToolboxError, ValueError):
    """What arrived holds no usable arguments object.

    Attributes:
        reason: stable short code, such as ``"truncated"``, ``"ambiguous"``, ``"not_json"``, ``"not_an_object"``, ``"too_deep"``.
        message: what is wrong and what to send instead, written for the model; never holds the payload itself.
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        self.message = message
        super().__init__(reason, message)

    def __str__(self) -> str:
        return self.message


class UnknownTool(ToolboxError, LookupError):
    """No tool has this name.

    Attributes:
        name: the name that was asked for.
        nearest: known names that look like it, best first.
        known: every registered name.
    """

    def __init__(self, name: str, nearest: Sequence[str] = (), known: Sequence[str] = ()) -> None:
        self.name = name
        self.nearest = tuple(nearest)
        self.known = tuple(known)
        super().__init__(name, self.nearest, self.known)

    def __str__(self) -> str:
        text = f"there is no tool named {shorten(self.name)}"
        if self.nearest:
            return f"{text}; did you mean {_listed(self.nearest)}?"
        if self.known:
            return f"{text}; the tools are {_listed(self.known)}"
        return f"{text}; no tool is registered"


class InvalidArguments(ToolboxError, ValueError):
    """The arguments of a call do not fit, and were not invoked.

    Attributes:
        tool: name of the tool.
        report: everything that is known about the call: failures, changes, arguments before and after.
    """

    def __init__(self, tool: str, report: CoercionReport) -> None:
        self.tool = tool
        self.report: CoercionReport = report
        super().__init__(tool)

    @property
    def failures(self) -> list[Failure]:
        """The failures of the report."""
        return self.report.failures

    def __str__(self) -> str:
        return self.report.to_text(self.tool)


class AmbiguousMatch(ToolboxError, ValueError):
    """A value matches more than one choice equally well.

    Attributes:
        value: the value that came.
        candidates: the choices that it matches.
    """

    def __init__(self, value: object, candidates: Sequence[object]) -> None:
        self.value = value
        self.candidates = tuple(candidates)
        super().__init__(value, self.candidates)

    def __str__(self) -> str:
        return f"{shorten(self.value)} could mean {_listed(self.candidates)}; send one of them exactly"


class NoMatch(ToolboxError, ValueError):
    """A value matches none of the choices.

    Attributes:
        value: the value that came.
        nearest: the choices that look most like it, best first; a suggestion only.
        choices: all choices.
    """

    def __init__(self, value: object, nearest: Sequence[object] = (), choices: Sequence[object] = ()) -> None:
        self.value = value
        self.nearest = tuple(nearest)
        self.choices = tuple(choices)
        super().__init__(value, self.nearest, self.choices)

    def __str__(self) -> str:
        if len(self.choices) > CHOICES_SHOWN and self.nearest:
            return f"{shorten(self.value)} is none of the {len(self.choices)} choices; the nearest are {_listed(self.nearest)}"
        return f"{shorten(self.value)} is none of {_listed(self.choices)}"


class ToolExecutionError(ToolboxError):
    """The tool's own function raised; the cause is the exception that it raised.

    Attributes:
        tool: name of the tool.
        message: text of the exception, bounded, with secret values masked.
    """

    def __init__(self, tool: str, message: str) -> None:
        self.tool = tool
        self.message = message
        super().__init__(tool, message)

    def __str__(self) -> str:
        return f"the tool {self.tool} was not run: {self.message}" if self.not_started else f"the tool {self.tool} failed: {self.message}"


class ToolTimeout(ToolboxError, TimeoutError):
    """The tool did not finish within its time limit.

    Attributes:
        tool: name of the tool.
        timeout_s: the limit in seconds.
    """

    def __init__(self, tool: str, timeout_s: float) -> None:
        self.tool = tool
        self.timeout_s = timeout_s
        super().__init__(tool, timeout_s)

    def __str__(self) -> str:
        if self.not_started:
            return f"the tool {self.tool} was not run: its time limit of {self.timeout_s:g} s leaves no time"
        return f"the tool {self.tool} did not finish within {self.timeout_s:g} s; it may still be running, so its effect is unknown"


class MissingContext(ToolboxError, LookupError):
    """An `Injected` parameter has no value in the caller's context: a fault of the application, not of the model.

    Attributes:
        tool: name of the tool.
        parameter: name of the injected parameter.
    """

    def __init__(self, tool: str, parameter: str, wanted: str) -> None:
        self.tool = tool
        self.parameter = parameter
        self.wanted = wanted
        super().__init__(tool, parameter, wanted)

    def __str__(self) -> str:
        return (
            f"the tool {self.tool} needs {self.parameter!r} from the context: "
            f"pass context={{{self.wanted}: value}} or context={{{self.parameter!r}: value}}"
        )


class AuditError(ToolboxError):
    """The record of a call could not be opened, so the tool was not run: a fault of the application, not of the model.

    Attributes:
        tool: name of the tool.
        sink: name of the sink's class.
    """

    def __init__(self, tool: str, sink: str) -> None:
        self.tool = tool
        self.sink = sink
        super().__init__(tool, sink)

    def __str__(self) -> str:
        return f"the tool {self.tool} was not run, since {self.sink} could not record it; try again later"


class ApprovalPending(ToolboxError):
    """The call waits for a person, and was not run.

    Attributes:
        tool: name of the tool.
        item_id: id of the item in the review queue.
        reason: why it waits: ``"approval"``, ``"high_risk"``, or why a recovery ended: the reasons of `RecoveryFailed`.
    """

    record_status = "pending"

    def __init__(self, tool: str, item_id: str, reason: str = "approval") -> None:
        self.tool = tool
        self.item_id = item_id
        self.reason = reason
        super().__init__(tool, item_id, reason)

    def __str__(self) -> str:
        return f"the call of {self.tool} waits for a person's decision (item {self.item_id}) and was not run; do not send it again"


class MissingReview(ToolboxError, LookupError):
    """A call needs a person's approval, and the registry has no review queue: a fault of the application, not of the model.

    Attributes:
        tool: name of the tool.
    """

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(tool)

    def __str__(self) -> str:
        return f"the tool {self.tool} needs approval and was not run, for there is nowhere to ask: pass Registry(review=ReviewQueue(store))"


def _listed(items: Sequence[object]) -> str:
    shown = ", ".join(shorten(item) for item in items[:CHOICES_SHOWN])
    rest = len(items) - CHOICES_SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown


class StoreError(ToolboxError):
    """The store of records, or what is kept in it, could not be used.

    Attributes:
        reason: stable short code: ``"url"``, ``"missing_extra"``, ``"missing_folder"``, ``"missing_file"``, ``"permission"``,
            ``"read_only"``, ``"full"``, ``"disk"``, ``"locked"``, ``"corrupt"``, ``"not_a_database"``, ``"unreachable"``,
            ``"outcome_unknown"``, ``"newer"``, ``"older"``, ``"closed"``, ``"misused"``, ``"failed"``.
        message: what went wrong and what to do; never holds a password.
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        self.message = message
        super().__init__(reason, message)

    def __str__(self) -> str:
        return self.message


class ReviewError(ToolboxError):
    """A step in the review queue that may not be taken, or cannot be.

    Attributes:
        reason: stable short code: ``"not_found"``, ``"illegal_step"``, ``"expired"``, ``"hash"``, ``"changed"``, ``"arguments"``,
            ``"secrets"``, ``"no_tool"``, ``"not_queued"``, ``"misused"``.
        message: what is the case, and what to do instead.
        item_id: id of the item; empty where there is none.
    """

    def __init__(self, reason: str, message: str, item_id: str = "") -> None:
        self.reason = reason
        self.message = message
        self.item_id = item_id
        super().__init__(reason, message, item_id)

    def __str__(self) -> str:
        return self.message


class RecoveryFailed(InvalidArguments):
    """A call whose arguments do not fit, and could not be corrected; it was not run.

    Attributes:
        reason: stable short code of why the recovery ended: ``"partial"``, ``"unrecoverable"``, ``"exhausted"``, ``"budget"``,
            ``"ask_failed"``, ``"timeout"``.
        attempts: every attempt as plain JSON data, oldest first; what is secret is masked.
        state: the final state of the call, always ``"coercion_failed"``.
    """

    state = "coercion_failed"
    record_status = "coercion_failed"

    def __init__(self, tool: str, report: CoercionReport, reason: str, attempts: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(tool, report)
        self.reason = reason
        self.attempts = tuple(attempts)

    def __str__(self) -> str:
        count = len(self.attempts)
        tried = "no attempt was" if not count else "1 attempt was" if count == 1 else f"{count} attempts were"
        return f"{super().__str__()}\n{tried} made to correct them ({self.reason}); send the call again only with other arguments."


class RepeatedFailure(ToolboxError):
    """A tool has failed for the same cause so often in one conversation that it is stopped there, until the cause changes.

    Attributes:
        tool: name of the tool.
        count: how often in a row it has failed.
        cause: what was wrong each time.
    """

    def __init__(self, tool: str, count: int, cause: str) -> None:
        self.tool = tool
        self.count = count
        self.cause = cause
        super().__init__(tool, count, cause)

    def __str__(self) -> str:
        return (
            f"the tool {self.tool} is stopped: it has failed {self.count} times in this conversation for the same cause ({self.cause}). "
            "Do not send this call again; send what is different in these places, or tell the user what is missing."
        )
