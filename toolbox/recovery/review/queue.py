"""`ReviewQueue`: where calls wait for a person, and the only door through which they then run."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from toolbox.audit import warn
from toolbox.calls import Call, Held
from toolbox.diagnostics import shorten
from toolbox.errors import ReviewError, StoreError, ToolboxError
from toolbox.recording import in_thread
from toolbox.recovery.budget import is_count
from toolbox.recovery.review.item import ReviewEvent, ReviewItem
from toolbox.recovery.review.letters import DeadLetterFile, DeadLetters
from toolbox.recovery.review.misuse import (
    buried,
    check,
    is_function,
    is_mapping,
    is_object,
    is_span,
    is_text,
    letters,
    member,
    named,
    person,
)
from toolbox.recovery.review.running import Claim, Ends, Run, claim, run, run_async, step_of, tool_of, unchanged, whole
from toolbox.recovery.review.shown import (
    Proposal,
    attempts_of,
    examine_given,
    hash_of,
    metadata_of,
    original_of,
    plain_changes,
    plain_failures,
    propose,
    same_call,
)
from toolbox.recovery.review.states import ReviewState, ReviewStep, RunState
from toolbox.recovery.review.surroundings import MACHINE, Store, Tools
from toolbox.results import ToolResult
from toolbox.tools import Tool

__all__ = ["ReviewQueue"]

Hook = Callable[[ReviewItem], object]

_WEEK: Final = 7 * 86_400.0
_DAY: Final = 86_400.0
_SECRETS_KEPT: Final = 1_000
_SHORTEST_LOOK: Final = 0.001
_OWED_WITH_A_STEP: Final = 3
_OWED_AT_ONCE: Final = 100
_DECIDED: Final = frozenset({ReviewState.APPROVED, ReviewState.REJECTED, ReviewState.EXPIRED})
_SETTLING: Final = {
    "done": ReviewStep.SETTLE_DONE,
    "failed": ReviewStep.SETTLE_FAILED,
    "not_run": ReviewStep.SETTLE_NOT_RUN,
}


class ReviewQueue:
    """A queue of calls that need a person, in the same database as the audit records.

    ``Registry(review=ReviewQueue(store))`` sends it the calls of tools with ``approval=``, the refused calls of high-risk tools, and what
    could not be corrected. A person looks at an item, corrects, approves or rejects it. What runs is exactly what was shown: its hash is
    approved, and made again before the call runs. It runs once: it is claimed before it runs, and a run that nobody knows the end of is
    `unknown` and never run again by itself. Every step is on record, with who took it and when.

    The values of secret parameters are never stored. They stay in the memory of the process that held the call; any other gives them to
    `run`.

    Args:
        store: where the items are kept, such as an `AuditStore`. Where several processes write to one file of SQLite, and the command line
            is one, the store is told so: ``AuditStore(..., processes="many")``.
        on_waiting: called with an item that is new in the queue. What a hook raises is counted, and changes nothing.
        on_decided: called with an item that was approved or rejected, or has expired, in the process in which that happened.
        expires_after_s: after how long without a step an item that was not run expires, in seconds; None for never. It is kept with each
            item, so that it holds whoever decides.
        dead_letters: takes an item that the store cannot take, and those that `bury` names: any callable, or the path of a file. By default
            a file beside a store in a file, else ``toolbox-dead-letters.jsonl`` in the current folder.
        bury: the states, of ``"rejected"`` and ``"expired"``, of which a dead letter is written too, whoever has decided. A step of this
            process delivers its own letter and at most three others that are owed, `expire` all that are owed; either stops as soon as
            `dead_letters` fails.
        unknown_after_s: after how long a run on another machine that has not ended counts as unknown.
        clock: the time, in seconds since the epoch.

    Raises:
        StoreError: the tables cannot be made.
        ReviewError: `bury` names another state, or something else is not what it must be.
        TypeError: the store is none.
    """

    blocking = True
    """Its methods wait for a disk or a server, so asynchronous code calls them in a thread."""

    def __init__(
        self,
        store: Store,
        *,
        on_waiting: Hook | None = None,
        on_decided: Hook | None = None,
        expires_after_s: float | None = _WEEK,
        dead_letters: DeadLetters | str | Path | None = None,
        bury: Collection[str] = (),
        unknown_after_s: float = _DAY,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not hasattr(store, "transact"):
            raise TypeError(f"a ReviewQueue takes a store, such as AuditStore(...), and not {shorten(store)}")
        check("on_waiting", on_waiting, is_function(on_waiting), "a function that takes an item")
        check("on_decided", on_decided, is_function(on_decided), "a function that takes an item")
        check("clock", clock, callable(clock), "a function that gives seconds since the epoch")
        check("expires_after_s", expires_after_s, expires_after_s is None or is_span(expires_after_s), "a number of seconds, or None")
        check("unknown_after_s", unknown_after_s, is_span(unknown_after_s), "a number of seconds")
        wanted = buried(bury)
        # Loaded with the first queue: whoever only names the class may do so without the extra.
        from toolbox.recovery.review.book import Book

        self.on_waiting = on_waiting
        self.on_decided = on_decided
        self.expires_after_s = expires_after_s
        self.dead_letters: DeadLetters = letters(store, dead_letters)
        self._clock = clock
        self._book = Book(store, clock, unknown_after_s, wanted)
        self._ends = Ends(self._book)
        self._tools: dict[str, Tool] = {}
        self._secrets: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._changed = threading.Condition()
        self._failed_hooks = 0
        self._failed_letters = 0

    # -- counters ----------------------------------------------------------------------------------------------------------------

    @property
    def failed_hooks(self) -> int:
        """How often `on_waiting` or `on_decided` has raised."""
        return self._failed_hooks

    @property
    def failed_letters(self) -> int:
        """How often a dead letter could not be delivered."""
        return self._failed_letters

    @property
    def lost_ends(self) -> int:
        """How many ends of runs came too late: a person had resolved the item meanwhile."""
        return self._ends.lost

    # -- holding -----------------------------------------------------------------------------------------------------------------

    def hold(self, held: Held, /) -> str:
        """Take a call that waits for a person; what `Registry` calls.

        The same call made again while it is open (same tool, arguments, conversation and user) is the same item, and counted in `repeats`.

        Returns:
            The id of the item; it is durable.

        Raises:
            ReviewError: it could not be stored. It is a dead letter then, and the message says where.
        """
        proposal = propose(held)
        item = self._item(held, proposal)
        try:
            kept, is_new = self._held(item)
        except ToolboxError as error:
            raise self._buried(item, error) from error
        with self._lock:
            self._tools[held.tool.name] = held.tool
            if proposal.secrets and kept.id not in self._secrets:
                self._secrets[kept.id] = proposal.secrets
                while len(self._secrets) > _SECRETS_KEPT:
                    self._secrets.popitem(last=False)
        if is_new:
            self._tell(self.on_waiting, kept)
        return kept.id

    def _item(self, held: Held, proposal: Proposal) -> ReviewItem:
        tool, shown, now = held.tool, proposal.shown, self._clock()
        report = proposal.report
        return ReviewItem(
            id=uuid.uuid4().hex[:16],
            tool=tool.name,
            reason=held.reason,
            original=original_of(tool, held.original),
            arguments=proposal.arguments,
            invoked=None if shown is None else shown.invoked,
            hash="" if shown is None else shown.hash,
            version="" if shown is None else shown.version,
            secrets=proposal.needed if shown is not None else (),
            changes=plain_changes(report),
            failures=plain_failures(held.report.failures),
            violation=held.report.to_text(tool.name) if held.report.failures else "",
            attempts=attempts_of(held, proposal),
            metadata=metadata_of(held, proposal),
            call_id=None if held.call.call_id is None else str(held.call.call_id),
            record_id=held.record_id,
            held_at=now,
            updated_at=now,
            expires_after_s=self.expires_after_s,
            expires_at=None if self.expires_after_s is None else now + self.expires_after_s,
            same=same_call(held, proposal),
        )

    def _held(self, item: ReviewItem) -> tuple[ReviewItem, bool]:
        self._ends.catch_up()
        try:
            return self._book.hold(item)
        except StoreError as error:
            if error.reason != "outcome_unknown":
                raise
            # It may be there or not; asked again, it is there once.
            kept, _ = self._book.hold(item)
            return kept, kept.id == item.id

    def _buried(self, item: ReviewItem, error: ToolboxError) -> ReviewError:
        """The error for an item that the store could not take."""
        where = f" {self.dead_letters.path}" if isinstance(self.dead_letters, DeadLetterFile) else ""
        if self._deliver(item):
            said = f"it was kept as the dead letter {item.id}{where}"
        else:
            warn("review_item_lost", item=json.dumps(item.to_dict(), ensure_ascii=True)[:8_000])
            said = "it could not be kept as a dead letter either, and stands in the log alone"
        return ReviewError("not_queued", f"the call needs a person, was not run, and could not be queued ({error}); {said}", item.id)

    def restore(self, item: ReviewItem) -> bool:
        """Put an item of a dead letter into the queue, to wait for a decision again; once, however often it is asked.

        Returns:
            Whether it was put there: False where the queue has it already, or where the same call has come again and waits.

        Raises:
            ReviewError: it is no item, or what it shows is not what its hash says.
        """
        check("item", item, isinstance(item, ReviewItem), "a ReviewItem, such as one of DeadLetterFile(path).items()")
        if item.arguments is not None and item.hash != hash_of(item.tool, item.version, item.arguments, item.invoked or {}):
            raise ReviewError("hash", f"the dead letter {item.id} was changed: its hash is not that of what it shows", item.id)
        now = self._clock()
        waiting = ReviewItem.from_dict(
            {
                **item.to_dict(),
                "state": ReviewState.WAITING.value,
                "run": RunState.NOT_RUN.value,
                "revision": 0,
                "expires_at": None if item.expires_after_s is None else now + item.expires_after_s,
                "updated_at": now,
                "decided_by": None,
                "note": None,
            }
        )
        try:
            _, is_new = self._book.hold(waiting)
        except ReviewError:
            return False
        if is_new:
            self._tell(self.on_waiting, waiting)
        return is_new

    # -- looking -----------------------------------------------------------------------------------------------------------------

    def get(self, item_id: str) -> ReviewItem:
        """One item, where it stands now.

        Raises:
            ReviewError: there is none with this id.
            StoreError: it cannot be read.
        """
        return self._book.get(item_id)

    def find(self, beginning: str) -> ReviewItem:
        """The one item whose id begins so.

        Raises:
            ReviewError: there is none, or more than one.
        """
        found = self._book.find(beginning) if beginning else []
        if len(found) != 1:
            few = (
                f"several items begin with {beginning!r}: {', '.join(found)}"
                if found
                else f"there is no item {named(beginning)} in the queue"
            )
            raise ReviewError("not_found", few)
        return self._book.get(found[0])

    def items(
        self,
        *,
        state: ReviewState | str | None = None,
        run: RunState | str | None = None,
        tool: str | None = None,
        limit: int | None = None,
        is_open: bool = False,
    ) -> list[ReviewItem]:
        """The items that are wanted, oldest first.

        Args:
            state: in this state, such as ``"waiting"``.
            run: whose call is in this state, such as ``"unknown"``.
            tool: of this tool.
            limit: at most so many.
            is_open: only what waits for something: a decision, a run, the end of a run, or somebody who finds out how it ended.

        Raises:
            ReviewError: there is no such state, or an argument is not what it must be.
            StoreError: they cannot be read.
        """
        check("tool", tool, is_text(tool), "the name of a tool, or None")
        check("limit", limit, limit is None or is_count(limit, 0), "a number of items of at least 0, or None")
        wanted = None if state is None else member(ReviewState, state, "state of an item")
        running = None if run is None else member(RunState, run, "state of a run")
        return self._book.listed(wanted, running, tool, limit, is_open=is_open)

    def events(self, item_id: str) -> list[ReviewEvent]:
        """Every step that an item has taken, oldest first: who, when, why.

        Raises:
            StoreError: they cannot be read.
        """
        return self._book.events(item_id)

    # -- deciding ----------------------------------------------------------------------------------------------------------------

    def correct(
        self, item_id: str, arguments: Mapping[str, Any], *, by: str, registry: Tools | None = None, approve: bool = False
    ) -> ReviewItem:
        """Change the arguments of an item that was not run yet; what they come to is then what is shown, and waits for approval.

        Args:
            item_id: id of the item.
            arguments: all of the arguments, as JSON data: one that is left out becomes its default, whatever it was before. What is secret
                is written as it was shown, such as ``"***"``, and given to `run`.
            by: who corrects it.
            registry: the registry with the tool; the tool as it was when this process held the call, when it is not given.
            approve: whether to approve it at once. It must then stand there exactly as the function gets it, but for defaults.

        Returns:
            The item with its new hash.

        Raises:
            ReviewError: the arguments do not fit the tool, or the item may not be corrected any more.
        """
        who = person(by)
        item = self._book.get(item_id)
        tool = self._tool(item, registry)
        if not is_object(arguments):
            raise ReviewError("arguments", "the arguments must be an object of JSON values by name", item_id)
        given = examine_given(tool, arguments, item, self._known(item_id))
        if approve and given.converted:
            text = (
                f"to be approved at once, every value must stand there as the function gets it, and {given.converted[0]}: "
                "write what the function gets, or correct it, look, approve"
            )
            raise ReviewError("arguments", text, item_id)
        shown = given.shown
        changed = {
            "arguments": given.arguments,
            "invoked": shown.invoked,
            "hash": shown.hash,
            "version": shown.version,
            "secrets": given.secrets,
            "changes": plain_changes(given.report),
        }
        self._ends.catch_up(item_id)
        corrected = self._book.take(item_id, ReviewStep.CORRECT, who, change=lambda _: changed)
        return self.approve(item_id, by=who, shown_hash=corrected.hash, registry=registry) if approve else corrected

    def approve(self, item_id: str, *, by: str, shown_hash: str, registry: Tools | None = None) -> ReviewItem:
        """Approve exactly what was shown; it does not run by itself.

        Args:
            item_id: id of the item.
            by: who approves it.
            shown_hash: the hash of the item as the person has seen it.
            registry: the registry with the tool, to check now whether the arguments still fit; they are checked in any case when it runs.

        Raises:
            ReviewError: the item is another one than was shown, does not fit the tool any more, or may not be approved.
        """
        who = person(by)
        item = self._book.get(item_id)
        tool = tool_of(registry, item) if registry is not None else self._tools.get(item.tool)

        def as_shown(now: ReviewItem) -> Mapping[str, Any]:
            whole(now)
            if now.hash != shown_hash:
                raise ReviewError(
                    "hash", f"the item {item_id} is not what was shown: look at it again, and approve the hash that it has", item_id
                )
            return {}

        if tool is not None and item.position.state in (ReviewState.WAITING, ReviewState.CORRECTED):
            as_shown(item)
            unchanged(tool, item, self._known(item_id))
        self._ends.catch_up(item_id)
        return self._decided(self._book.take(item_id, ReviewStep.APPROVE, who, change=as_shown))

    def reject(self, item_id: str, *, by: str, reason: str = "") -> ReviewItem:
        """Say no to an item that was not run; also to one that is approved.

        Raises:
            ReviewError: it may not be rejected any more.
        """
        check("reason", reason, is_text(reason), "text")
        self._ends.catch_up(item_id)
        return self._decided(self._book.take(item_id, ReviewStep.REJECT, person(by), note=reason or None))

    def resolve(self, item_id: str, outcome: Literal["done", "failed", "not_run"], *, by: str, reason: str = "") -> ReviewItem:
        """Say what became of a run whose end nobody knows, once a person has found out.

        Args:
            item_id: id of the item.
            outcome: ``"done"`` and ``"failed"`` end it; ``"not_run"`` says that it had no effect, and lets it be run once more.
            by: who has found out.
            reason: how.

        Raises:
            ReviewError: its end is known, or it is still running.
        """
        step = _SETTLING.get(outcome) if is_text(outcome) else None
        if step is None:
            raise ReviewError("misused", f"outcome={shorten(outcome)}: expected 'done', 'failed' or 'not_run'", item_id)
        check("reason", reason, is_text(reason), "text")
        self._ends.catch_up(item_id)
        return self._book.take(item_id, step, person(by), note=reason or None)

    def expire(self) -> list[ReviewItem]:
        """Put on record whose time has run out, and which runs were lost; deliver dead letters that are owed. To be called now and then.

        Letters are delivered until `dead_letters` fails; what is left stays owed until the next time.

        Returns:
            The items that have expired or were lost.

        Raises:
            StoreError: the queue cannot be read or written.
        """
        self._ends.write_all()
        moved = []
        for item_id, step in self._book.overdue():
            try:
                item = self._book.take(item_id, step, MACHINE)
            except ReviewError:  # somebody was faster
                continue
            moved.append(item)
            if step is ReviewStep.EXPIRE:
                self._announce(item)
        self._pay()
        return moved

    def decision(self, item_id: str, *, timeout_s: float | None = None, every_s: float = 1.0) -> ReviewItem:
        """Wait until an item is approved or rejected, or has expired.

        Args:
            item_id: id of the item.
            timeout_s: how long to wait at most, in seconds.
            every_s: how often to look whether another process has decided; decisions of this process are noticed at once.

        Returns:
            The item; where the time was too short, it waits still.

        Raises:
            ReviewError: there is no such item.
        """
        _check_waiting(timeout_s, every_s)
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self._changed:
                item = self.get(item_id)
                left = None if until is None else until - time.monotonic()
                if item.state in _DECIDED or (left is not None and left <= 0):
                    return item
                self._changed.wait(every_s if left is None else min(left, every_s))

    async def adecision(self, item_id: str, *, timeout_s: float | None = None, every_s: float = 1.0) -> ReviewItem:
        """The asynchronous twin of `decision`."""
        import asyncio

        _check_waiting(timeout_s, every_s)
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            item = await in_thread(partial(self.get, item_id))
            left = None if until is None else until - time.monotonic()
            if item.state in _DECIDED or (left is not None and left <= 0):
                return item
            await asyncio.sleep(every_s if left is None else min(left, every_s))

    # -- running -----------------------------------------------------------------------------------------------------------------

    def run(
        self,
        registry: Tools,
        item_id: str,
        /,
        *,
        by: str = "application",
        secrets: Mapping[str, Any] | None = None,
        context: Mapping[Any, Any] | None = None,
        timeout_s: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Run what was approved: once, and exactly that.

        The arguments are checked again with the tool as it now is. The item is claimed before the function runs, so that nobody else runs
        it. A function that did not end in time, or whose process ended, leaves the item `unknown`.

        Args:
            registry: the registry with the tool.
            item_id: id of the item.
            by: who runs it.
            secrets: the values of the item's secret arguments, by name; those that this process still holds need not be given.
            context: values for `Injected` parameters, by type or by parameter name.
            timeout_s: time limit in seconds, instead of the tool's.
            metadata: anything more that belongs on the record of the call.

        Returns:
            The result, as from `Registry.run`: what the function raised is in it.

        Raises:
            ReviewError: the item is not approved, was run already, does not fit the tool any more, or needs secrets.
            MissingContext: an injected parameter has no value; the item can be run again.
            StoreError: the item could not be claimed; nothing was run.
            TypeError: the registry is none, or what is said about the call is no such thing.
        """
        who, own = person(by), Call(None, context, timeout_s, metadata)
        claiming = partial(self._claimed, registry, item_id, who, secrets, own)
        return self._forgotten(run(claiming, self._ends, who), item_id)

    async def arun(
        self,
        registry: Tools,
        item_id: str,
        /,
        *,
        by: str = "application",
        secrets: Mapping[str, Any] | None = None,
        context: Mapping[Any, Any] | None = None,
        timeout_s: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """The asynchronous twin of `run`; a run that is cancelled leaves the item `unknown`."""
        who, own = person(by), Call(None, context, timeout_s, metadata)
        claiming = partial(self._claimed, registry, item_id, who, secrets, own)
        return self._forgotten(await run_async(claiming, self._ends, who), item_id)

    def _claimed(self, registry: Tools, item_id: str, who: str, secrets: Mapping[str, Any] | None, own: Call, made: Claim) -> Run:
        check("secrets", secrets, is_mapping(secrets), "the values of secret arguments by name")
        self._ends.catch_up(item_id)
        return claim(self._book, registry, item_id, who, self._known(item_id), secrets, own, made)

    def _forgotten(self, result: ToolResult, item_id: str) -> ToolResult:
        """The result; what is secret of an item that has run is not needed any more, however it ended."""
        if result.ok or step_of(result.error) is not ReviewStep.RELEASE:
            self._forget(item_id)
        return result

    # -- around it ---------------------------------------------------------------------------------------------------------------

    def _known(self, item_id: Any) -> Mapping[str, Any]:
        """What is secret of an item, as far as this process still holds it."""
        return self._secrets.get(item_id, {}) if isinstance(item_id, str) else {}

    def _tool(self, item: ReviewItem, registry: Tools | None) -> Tool:
        if registry is not None:
            return tool_of(registry, item)
        tool = self._tools.get(item.tool)
        if tool is None:
            raise ReviewError("no_tool", f"a correction is checked with the tool {item.tool!r:.60}: pass registry=...", item.id)
        return tool

    def _decided(self, item: ReviewItem) -> ReviewItem:
        self._announce(item)
        self._pay(_OWED_WITH_A_STEP, item)
        return item

    def _announce(self, item: ReviewItem) -> None:
        if item.state is not ReviewState.APPROVED:
            self._forget(item.id)
        with self._changed:
            self._changed.notify_all()
        self._tell(self.on_decided, item)

    def _forget(self, item_id: str) -> None:
        with self._lock:
            self._secrets.pop(item_id, None)

    def _tell(self, hook: Hook | None, item: ReviewItem) -> None:
        """Call a hook; whatever it raises, the step is taken already."""
        if hook is None:
            return
        try:
            hook(item)
        except Exception as error:  # noqa: BLE001 - see above
            with self._lock:
                self._failed_hooks += 1
            warn("review_hook_failed", item=item.id, error=type(error).__name__)

    def _deliver(self, item: ReviewItem) -> bool:
        try:
            self.dead_letters(item)
        except Exception as error:  # noqa: BLE001 - a sink of the application's may raise anything
            with self._lock:
                self._failed_letters += 1
            warn("dead_letter_failed", item=item.id, error=type(error).__name__)
            return False
        return True

    def _pay(self, most: int | None = None, own: ReviewItem | None = None) -> None:
        """Deliver dead letters that are owed, oldest first but one's own before them, until the sink fails; the others stay owed.

        Args:
            most: at most so many beside one's own.
            own: the item that has just been decided.
        """
        if not self._book.bury:
            return
        try:
            if own is not None and own.state in self._book.bury and not self._paid(own):
                return
            while items := self._book.owed(_OWED_AT_ONCE if most is None else most):
                if not all(map(self._paid, items)) or most is not None:
                    return
        except StoreError as error:
            warn("dead_letters_wait", error=error.reason)

    def _paid(self, item: ReviewItem) -> bool:
        if not self._deliver(item):
            return False
        self._book.delivered(item.id)
        return True

    def __repr__(self) -> str:
        return f"<ReviewQueue on {self._book.store!r}>"


def _check_waiting(timeout_s: Any, every_s: Any) -> None:
    check("timeout_s", timeout_s, timeout_s is None or is_span(timeout_s), "a number of seconds, or None")
    check("every_s", every_s, is_span(every_s, _SHORTEST_LOOK), f"a number of seconds of at least {_SHORTEST_LOOK}")
