"""Running what was approved: claimed before it runs, run once, its end put on record."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from toolbox.audit import warn
from toolbox.audit.store.sessions import this_session
from toolbox.calls import Call, Services
from toolbox.diagnostics import shorten
from toolbox.dispatch import walk, walk_async
from toolbox.errors import (
    ApprovalPending,
    AuditError,
    InvalidArguments,
    MissingContext,
    MissingReview,
    PayloadError,
    ReviewError,
    StoreError,
    ToolboxError,
    ToolExecutionError,
    ToolTimeout,
    UnknownTool,
)
from toolbox.recording import in_thread
from toolbox.recovery.review.item import ReviewItem
from toolbox.recovery.review.shown import examine, hash_of
from toolbox.recovery.review.states import ReviewStep, after
from toolbox.recovery.review.surroundings import ALIVE, KEPT, End, Tools
from toolbox.results import ToolResult
from toolbox.tools import Tool

if TYPE_CHECKING:
    from toolbox.recovery.review.book import Book

__all__ = ["Claim", "Ends", "Run", "claim", "run", "run_async"]


@dataclass(frozen=True, slots=True)
class Run:
    """An item that this process has claimed.

    Attributes:
        item: the item.
        tool: its tool.
        payload: the arguments to dispatch, with the values of the secrets.
        services: what the registry has around the tool.
        call: what is said about the call.
        claim: id of the claim.
    """

    item: ReviewItem
    tool: Tool
    payload: dict[str, Any] = field(repr=False)
    services: Services = field(repr=False)
    call: Call
    claim: str


@dataclass(slots=True)
class Claim:
    """What somebody claims who may be interrupted at any moment.

    Attributes:
        run: what is claimed, or is about to be.
        is_started: whether the function may have been started.
    """

    run: Run | None = None
    is_started: bool = False


def tool_of(tools: Tools, item: ReviewItem) -> Tool:
    """The tool of an item.

    Raises:
        ReviewError: there is none of this name.
        TypeError: it is no registry that holds tools.
    """
    if not isinstance(getattr(tools, "services", None), Services):
        raise TypeError(f"registry must be a Registry, and is {shorten(tools)}")
    try:
        return tools[item.tool]
    except UnknownTool as error:
        raise ReviewError("no_tool", f"the item {item.id} is for {error}", item.id) from error


def whole(item: ReviewItem) -> None:
    """Hold what an item shows against its hash.

    Raises:
        ReviewError: it shows nothing that could run, or something else than its hash says.
    """
    if item.arguments is None or item.invoked is None:
        raise ReviewError("arguments", f"nothing of the item {item.id} can run as it is: correct it first", item.id)
    if item.hash != hash_of(item.tool, item.version, item.arguments, item.invoked):
        raise ReviewError("hash", f"what the item {item.id} shows was changed behind the queue's back: correct it or reject it", item.id)


def unchanged(tool: Tool, item: ReviewItem, known: Mapping[str, Any]) -> None:
    """Hold an item against the tool as it is now.

    Raises:
        ReviewError: its arguments do not fit any more, or would come to something else than what is shown.
    """
    whole(item)
    assert item.arguments is not None  # as it is whole
    try:
        shown = examine(tool, item.arguments, item.secrets, known)
    except ReviewError as error:
        raise ReviewError("arguments", f"the item {item.id} cannot run: {error}; correct or reject it", item.id) from error
    if shown.hash == item.hash:
        return
    what = "the tool's schema or policy has changed" if shown.version != item.version else "its arguments come to something else now"
    raise ReviewError(
        "changed", f"the item {item.id} is not what was shown: {what}; correct it (the same arguments will do) and look again", item.id
    )


def claim(
    book: Book,
    tools: Tools,
    item_id: str,
    by: str,
    known: Mapping[str, Any],
    secrets: Mapping[str, Any] | None,
    own: Call,
    made: Claim,
) -> Run:
    """Check an approved item once more, and claim it: from here on nobody else can.

    Args:
        book: where the items are.
        tools: the registry with the tool.
        item_id: id of the item.
        by: who runs it.
        known: the values of its secrets that are still in memory.
        secrets: those that are given.
        own: what whoever runs it says about the call.
        made: is told of the claim before it is made.

    Raises:
        ReviewError: it may not be run.
        StoreError: it could not be claimed.
    """
    item = book.get(item_id)
    after(ReviewStep.CLAIM, item.position, item_id)
    tool = tool_of(tools, item)
    values = _secrets(item, known, secrets)
    unchanged(tool, item, values)
    assert item.arguments is not None  # as it is unchanged
    metadata = {**item.metadata, "review_item": item_id, "approved_by": item.decided_by, **(own.metadata or {})}
    # The attempt keeps the call from being asked back should it be refused.
    call = replace(own, call_id=item.call_id, metadata=metadata, approved=True, attempt=1)
    runner = this_session()

    def still(now: ReviewItem) -> Mapping[str, Any]:
        if now.revision != item.revision:
            raise ReviewError("illegal_step", f"the item {item_id} was changed at this very moment; look at it again", item_id)
        return {}

    made.run = Run(item, tool, {**item.arguments, **values}, tools.services, call, runner.id)
    ALIVE.add(runner.id)
    try:
        claimed = book.take(item_id, ReviewStep.CLAIM, by, change=still, runner=runner)
    except (ReviewError, StoreError) as error:
        if isinstance(error, StoreError):
            # It may have been committed all the same, and nothing has run.
            _given_back(book, item_id, by, runner.id)
        ALIVE.discard(runner.id)
        raise
    made.run = replace(made.run, item=claimed)
    return made.run


def _secrets(item: ReviewItem, known: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The values of an item's secrets: those that are given, else those that are still in memory."""
    others = sorted(set(given or ()) - set(item.secrets))
    if others:
        raise ReviewError(
            "secrets", f"the item {item.id} has no secret argument {others[0]!r}; its secrets are {list(item.secrets)}", item.id
        )
    values = {name: value for name, value in {**known, **(given or {})}.items() if name in item.secrets}
    missing = [name for name in item.secrets if name not in values]
    if missing:
        names = ", ".join(f"{name!r}: ..." for name in missing)
        raise ReviewError("secrets", f"the item {item.id} has secret arguments, which are not stored: pass secrets={{{names}}}", item.id)
    return values


def _given_back(book: Book, item_id: str, by: str, claimed: str) -> None:
    try:
        book.take(item_id, ReviewStep.RELEASE, by, note="the claim could not be confirmed", claim=claimed)
    except ToolboxError:  # it was not committed; or it cannot be said now, and then it counts as unknown
        return


# -- the end -------------------------------------------------------------------------------------------------------------------------


class Ends:
    """Puts the ends of runs on record; one that cannot be written now is kept, and written with the next step.

    An end is kept before it is written, so that whatever is raised on the way, it is known: to this queue, and to any other one of this
    process that comes upon the item, where the store of this one was closed for instance.

    Attributes:
        lost: how many ends could not be put on record.
    """

    def __init__(self, book: Book) -> None:
        self.book = book
        self.lost = 0
        self._lock = threading.Lock()

    def put(self, run: Run, step: ReviewStep, by: str, note: str | None) -> None:
        """Put an end on record; raises nothing but an interruption, since the call has had its effect."""
        self._write(self._keep(run, step, by, note))

    def leave(self, own: Claim, by: str) -> None:
        """A run is over, whatever has interrupted it: one of which nothing was said yet has an end that nobody knows."""
        run = own.run
        if run is None or run.claim not in ALIVE:
            return
        if run.claim in KEPT:
            ALIVE.discard(run.claim)
        elif own.is_started:
            self.put(run, ReviewStep.LOSE, by, "interrupted")
        else:
            self.put(run, ReviewStep.RELEASE, by, "given up before it was started")

    def catch_up(self, item_id: str | None = None) -> None:
        """Write what could not be written before, of this store and of the item that is about to take a step."""
        if not KEPT:
            return
        for end in tuple(KEPT.values()):
            if end.store is self.book.store:
                self._write(end)
        if item_id is not None:
            self._write_all(item_id)

    def write_all(self) -> None:
        """Write every end that this process knows of and that belongs into this book."""
        self.catch_up()
        self._write_all(None)

    def _write_all(self, item_id: str | None) -> None:
        for end in self.book.kept(item_id):
            self._write(end)

    def _keep(self, run: Run, step: ReviewStep, by: str, note: str | None) -> End:
        end = End(run.item.id, run.claim, step, by, note, run.item.revision, self.book.store)
        KEPT[run.claim] = end
        ALIVE.discard(run.claim)
        return end

    def _write(self, end: End) -> None:
        try:
            self._take(end)
        except StoreError as error:
            warn("review_end_waits", item=end.item_id, step=end.step.value, error=error.reason)
        else:
            KEPT.pop(end.claim, None)

    def _take(self, end: End) -> None:
        try:
            self.book.take(end.item_id, end.step, end.by, note=end.note, claim=end.claim)
        except ReviewError as error:
            # A person has resolved it meanwhile; or it is there already, or was never claimed, where that was not known.
            if end.step is not ReviewStep.RELEASE and not self.book.has(end):
                with self._lock:
                    self.lost += 1
                warn("review_end_refused", item=end.item_id, step=end.step.value, error=error.reason)


# Nothing has run when a call ends so.
_NOT_STARTED: Final = (InvalidArguments, PayloadError, MissingContext, AuditError, ApprovalPending, MissingReview)


def step_of(error: BaseException | None) -> ReviewStep:
    """What an error says about the function: that it failed, that it did not start, or nothing that is sure."""
    for _ in range(4):
        if isinstance(error, ToolboxError) and error.not_started:
            return ReviewStep.RELEASE
        if isinstance(error, ToolExecutionError):
            return ReviewStep.FAIL
        if isinstance(error, ToolTimeout):
            return ReviewStep.LOSE
        if isinstance(error, _NOT_STARTED):
            return ReviewStep.RELEASE
        # What stops endless repeats is raised from what it stops.
        error = None if error is None else error.__cause__
    return ReviewStep.LOSE


def _ended(run: Run, ends: Ends, by: str, value: Any, report: Any) -> ToolResult:
    if report.failures:
        # A fallback handler has answered what did not fit: the function has not run.
        ends.put(run, ReviewStep.RELEASE, by, "the arguments were refused")
        raise ReviewError("arguments", f"the item {run.item.id} was not run: {report.to_text(run.tool.name)}", run.item.id)
    ends.put(run, ReviewStep.DONE, by, None)
    return ToolResult(run.tool.name, value, None, report, run.item.call_id)


def _failed(run: Run, ends: Ends, by: str, error: BaseException) -> ToolResult:
    """The result of a call that did not return; what is no fault of the tool's is raised again."""
    if not isinstance(error, ToolboxError):
        ends.put(run, ReviewStep.LOSE, by, type(error).__name__)
        raise error
    ends.put(run, step_of(error), by, str(error))
    if isinstance(error, MissingContext | AuditError):
        raise error
    return ToolResult(run.tool.name, None, error, error.report, run.item.call_id)


def run(claiming: Callable[[Claim], Run], ends: Ends, by: str) -> ToolResult:
    """Claim and run; whatever is raised, and wherever, nothing is left that counts as running."""
    own = Claim()
    try:
        try:
            claimed = claiming(own)
            own.is_started = True
            return _run(claimed, ends, by)
        finally:
            ends.leave(own, by)
    finally:
        # Once more: the line before may be what was interrupted.
        ends.leave(own, by)


def _run(claimed: Run, ends: Ends, by: str) -> ToolResult:
    try:
        value, report = walk(claimed.tool, claimed.payload, claimed.services, claimed.call)
    except BaseException as error:  # noqa: BLE001 - it is raised again, once it is on record
        return _failed(claimed, ends, by, error)
    return _ended(claimed, ends, by, value, report)


class _Handover:
    """A claim made in a thread for code that may be cancelled meanwhile: either it is taken, or it is given back."""

    def __init__(self, claiming: Callable[[Claim], Run], give_back: Callable[[Run], None]) -> None:
        self._claiming = claiming
        self._give_back = give_back
        self._lock = threading.Lock()
        self._made: Run | None = None
        self._is_abandoned = False

    def make(self) -> Run:
        """Claim; in the thread."""
        made = self._claiming(Claim())
        with self._lock:
            self._made = made
            is_abandoned = self._is_abandoned
        if is_abandoned:
            self._give_back(made)
        return made

    def abandon(self) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self._is_abandoned = True
            made = self._made
        if made is not None:
            self._give_back(made)


async def run_async(claiming: Callable[[Claim], Run], ends: Ends, by: str) -> ToolResult:
    """Claim and run from asynchronous code; the store is waited for in threads."""
    handover = _Handover(claiming, lambda made: ends.put(made, ReviewStep.RELEASE, by, "given up before it was started"))
    try:
        claimed = await in_thread(handover.make)
    except BaseException as error:
        if not isinstance(error, Exception):
            handover.abandon()
        raise
    own = Claim(claimed, is_started=True)
    try:
        try:
            return await _run_async(claimed, ends, by)
        finally:
            ends.leave(own, by)
    finally:
        ends.leave(own, by)  # as with `run`


async def _run_async(claimed: Run, ends: Ends, by: str) -> ToolResult:
    try:
        value, report = await walk_async(claimed.tool, claimed.payload, claimed.services, claimed.call)
    except Exception as error:  # noqa: BLE001 - as with `run`
        caught = error
        return await in_thread(lambda: _failed(claimed, ends, by, caught))
    except BaseException as error:  # noqa: BLE001 - as with `run`; whoever is cancelled waits for nothing more
        return _failed(claimed, ends, by, error)
    return await in_thread(lambda: _ended(claimed, ends, by, value, report))
