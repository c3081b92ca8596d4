"""``toolbox review``: the calls that wait for a person, and what is decided about them."""

from __future__ import annotations

import contextlib
import getpass
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from toolbox.audit.store import AuditStore
from toolbox.cli.inputs import read_whole
from toolbox.cli.printing import Printer
from toolbox.cli.problems import UsageProblem
from toolbox.cli.review_shown import RUN_STYLES, show_arguments, show_item, show_items
from toolbox.cli.shown import BOUNDS
from toolbox.cli.visible import visible
from toolbox.diagnostics import shorten
from toolbox.errors import PayloadError, ReviewError, StoreError, ToolboxError
from toolbox.json_values import snapshot
from toolbox.payload.strict import parse_json
from toolbox.policy import Limits
from toolbox.recovery.review import DeadLetterFile, ReviewItem, ReviewQueue, ReviewState, RunState
from toolbox.registry import Registry
from toolbox.results import ToolResult, result_text

__all__ = ["Reviews"]

_SHORTEST_HASH: Final = 12
_UNUSED: Final = frozenset({"not_found", "no_tool", "misused"})


class Reviews:
    """The commands on one queue.

    Args:
        place: path of an SQLite file, or a URL.
        printer: where everything is shown.
        as_json: whether results are JSON.
        by: who decides; the login name when None.
        load: loads the registry that ``--tools`` names; None when it was not given.
    """

    def __init__(
        self, place: str, printer: Printer, *, as_json: bool, by: str | None = None, load: Callable[[], Registry] | None = None
    ) -> None:
        self.place = place
        self.printer = printer
        self.as_json = as_json
        self._by = by
        self._load = load

    @contextlib.contextmanager
    def _queue(self, *, writes: bool = True) -> Iterator[ReviewQueue]:
        """The queue; neither the store nor its tables are ever made here."""
        try:
            with AuditStore(self.place, read_only=True) as reader:
                queue = ReviewQueue(reader)
                if not writes:
                    yield queue
                    return
            with AuditStore(self.place, processes="many") as store:
                yield ReviewQueue(store)
        except StoreError as error:
            if error.reason in {"missing_file", "missing_folder"}:
                why = f"there is no file {self.place}: name the store of a ReviewQueue(AuditStore(...))"
                raise UsageProblem(why) from error
            if error.reason == "older":
                raise UsageProblem("the store holds no review queue: name the one of a ReviewQueue(AuditStore(...))") from error
            raise UsageProblem(str(error)) from error

    def _told(self, work: Callable[[], int]) -> int:
        """The exit code of a command; what the queue refuses is told, and is 1."""
        try:
            return work()
        except ReviewError as error:
            if error.reason in _UNUSED:
                raise UsageProblem(visible(error.message)) from error
            return self._refused(error, "refused", error.item_id)

    def _refused(self, error: ToolboxError, said: str, item_id: str) -> int:
        reason, message = getattr(error, "reason", type(error).__name__), str(error)
        if self.as_json:
            self.printer.json({"ok": False, "reason": reason, "message": message, "item": item_id or None})
        self.printer.block(f"{said}: {visible(message)}", err=True)
        return 1

    def _who(self) -> str:
        if self._by is not None:
            return self._by
        try:
            return getpass.getuser()
        except (OSError, KeyError, ImportError):
            raise UsageProblem("nobody knows who you are here: say it with --by NAME") from None

    def listed(self, state: str | None, run: str | None, tool: str | None, limit: int | None, *, everything: bool) -> int:
        """Show the items; without a state, those that are open."""
        _check_states(state, run)

        def work() -> int:
            is_open = state is None and run is None and not everything
            with self._queue(writes=False) as queue:
                items = queue.items(state=state, run=run, tool=tool, limit=limit, is_open=is_open)
            if self.as_json:
                self.printer.json([item.to_dict() for item in items])
            elif items:
                show_items(self.printer, items)
            else:
                self.printer.line("nothing waits here" if is_open else "there is no such item", err=True)
            return 0

        return self._told(work)

    def show(self, beginning: str) -> int:
        """Show all of one item."""

        def work() -> int:
            with self._queue(writes=False) as queue:
                item = queue.find(beginning)
                events = queue.events(item.id)
            if self.as_json:
                self.printer.json({**item.to_dict(), "events": [event.to_dict() for event in events]})
            else:
                show_item(self.printer, item, events)
            return 0

        return self._told(work)

    def correct(self, beginning: str, written: str, *, approve: bool) -> int:
        """Change the arguments of an item."""
        registry = self._registry("a correction is checked with the tool")
        arguments = _read_arguments(written)

        def work() -> int:
            with self._queue() as queue:
                item = queue.find(beginning)
                changed = queue.correct(item.id, arguments, by=self._who(), registry=registry, approve=approve)
            return self._decided(changed, "approved as corrected" if approve else "corrected; it waits for approval")

        return self._told(work)

    def approve(self, beginning: str, shown_hash: str | None, secrets: str | None) -> int:
        """Approve what was shown; with the tools at hand, run it."""
        registry = None if self._load is None else self._load()
        if registry is None and secrets is not None:
            raise UsageProblem("--secrets is for running the call, and that needs --tools")

        def work() -> int:
            with self._queue() as queue:
                item = queue.find(beginning)
                if shown_hash is None or len(shown_hash) < _SHORTEST_HASH:
                    where = f"toolbox review show {self.place} {item.id}"
                    raise UsageProblem(
                        f"say what you approve: look at it ({where}), then give --hash, {_SHORTEST_HASH} digits of it or more"
                    )
                values = _read_secrets(secrets)
                if registry is not None:  # before anything is approved
                    _check_secrets(item, values)
                # A beginning of the hash will do; whether it is still the hash is asked once more when the step is taken.
                whole = item.hash if item.hash.startswith(shown_hash.lower()) else shown_hash
                changed = queue.approve(item.id, by=self._who(), shown_hash=whole, registry=registry)
                if registry is not None:
                    return self._run(queue, registry, item.id, values, approved=True)
            return self._decided(
                changed, "approved; it does not run by itself: the application runs it, or toolbox review run with --tools"
            )

        return self._told(work)

    def reject(self, beginning: str, reason: str) -> int:
        """Say no to an item."""

        def work() -> int:
            with self._queue() as queue:
                item = queue.reject(queue.find(beginning).id, by=self._who(), reason=reason)
            return self._decided(item, "rejected")

        return self._told(work)

    def run(self, beginning: str, secrets: str | None) -> int:
        """Run what was approved."""
        registry = self._registry("the call is run with its tool")
        values = _read_secrets(secrets)

        def work() -> int:
            with self._queue() as queue:
                return self._run(queue, registry, queue.find(beginning).id, values)

        return self._told(work)

    def resolve(self, beginning: str, outcome: Literal["done", "failed", "not_run"], reason: str) -> int:
        """Say what became of a run whose end nobody knows."""

        def work() -> int:
            with self._queue() as queue:
                item = queue.resolve(queue.find(beginning).id, outcome, by=self._who(), reason=reason)
            return self._decided(item, f"resolved: {item.run.value}")

        return self._told(work)

    def expire(self) -> int:
        """Put on record whose time has run out, and which runs were lost."""

        def work() -> int:
            with self._queue() as queue:
                moved = queue.expire()
            if self.as_json:
                self.printer.json([item.to_dict() for item in moved])
            elif moved:
                show_items(self.printer, moved)
            else:
                self.printer.line("nothing has expired, and no run was lost", err=True)
            return 0

        return self._told(work)

    def restore(self, file: str) -> int:
        """Put the items of a dead-letter file back that the queue could not take."""
        if not Path(file).is_file():
            raise UsageProblem(f"there is no file {file}")

        def work() -> int:
            with self._queue() as queue:
                waiting = [item for item in DeadLetterFile(file).items() if item.position == (ReviewState.WAITING, RunState.NOT_RUN)]
                restored = [item for item in waiting if queue.restore(item)]
            if self.as_json:
                self.printer.json([item.id for item in restored])
            else:
                self.printer.line(f"{len(restored)} of {len(waiting)} put back; the others were there already")
            return 0

        return self._told(work)

    # -- what they share ---------------------------------------------------------------------------------------------------------

    def _registry(self, why: str) -> Registry:
        if self._load is None:
            raise UsageProblem(f"{why}: give --tools, such as --tools app.tools")
        return self._load()

    def _run(
        self, queue: ReviewQueue, registry: Registry, item_id: str, secrets: Mapping[str, Any] | None, *, approved: bool = False
    ) -> int:
        """Run what is approved; where that cannot be, say so, and that it was approved a moment ago."""
        before = queue.get(item_id)
        _check_secrets(before, secrets)
        try:
            # What the tool prints is not its result.
            with contextlib.redirect_stdout(sys.stderr):
                result = queue.run(registry, item_id, by=self._who(), secrets=secrets)
        except ToolboxError as error:  # whatever a queue raises of these, the function was not started
            if not approved and isinstance(error, ReviewError | StoreError):
                raise
            return self._refused(error, "approved, but not run" if approved else "not run", item_id)
        self._tell_result(self._after_run(queue, before), result)
        return 0 if result.ok else 1

    def _after_run(self, queue: ReviewQueue, before: ReviewItem) -> ReviewItem:
        """The item after its run. Where its end is not on record, nobody will know of it once this process has ended, and that is said."""
        try:
            item = queue.get(before.id)
            why = "the store could not be written to"
        except (ReviewError, StoreError) as error:
            item, why = replace(before, run=RunState.RUNNING), str(error)
        if item.run is not RunState.RUNNING:
            return item
        where = f"toolbox review resolve {self.place} {item.id}"
        self.printer.block(visible(f"it ran, but how it ended is not on record ({why}): say it with {where}"), err=True)
        return replace(item, run=RunState.UNKNOWN)

    def _tell_result(self, item: ReviewItem, result: ToolResult) -> None:
        value = snapshot(result.value, BOUNDS)
        if self.as_json:
            error = None if result.error is None else str(result.error)
            self.printer.json({"ok": result.ok, "result": value, "error": error, "item": item.to_dict()})
            return
        if result.ok and isinstance(result.value, str):
            self.printer.block(result_text(result.value))
        elif result.ok:
            self.printer.json(value)
        else:
            self.printer.block(visible(str(result.error)), err=True)
        self.printer.line(f"{item.id} {visible(item.tool)}: {item.run.value}", RUN_STYLES.get(item.run.value, ""), err=True)

    def _decided(self, item: ReviewItem, said: str) -> int:
        if self.as_json:
            self.printer.json(item.to_dict())
            return 0
        if item.state is ReviewState.CORRECTED:
            show_arguments(self.printer, item)
            self.printer.line(f"hash {item.hash}")
        self.printer.line(f"{item.id} {visible(item.tool)} {said}", "bold", err=True)
        return 0


# -- what is read --------------------------------------------------------------------------------------------------------------------


def _read_object(text: str, what: str) -> dict[str, Any]:
    try:
        value, doubled = parse_json(text, Limits())
    except PayloadError as error:
        raise UsageProblem(f"{what} must be one JSON object: {error}") from error
    if not isinstance(value, dict) or doubled:
        raise UsageProblem(f"{what} must be one JSON object" + (" with each key once" if doubled else ""))
    return value


def _read_arguments(written: str) -> dict[str, Any]:
    text = read_whole("-") if written == "-" else read_whole(written[1:]) if written.startswith("@") else written
    return _read_object(text, "the corrected arguments")


def _check_secrets(item: ReviewItem, given: Mapping[str, Any] | None) -> None:
    others = sorted(set(given or ()) - set(item.secrets))
    if others:
        has = f"its secrets are {', '.join(map(visible, item.secrets))}" if item.secrets else "it has none: leave --secrets out"
        raise UsageProblem(f"--secrets gives {visible(shorten(others[0]))}, which is no secret argument of the item {item.id}; {has}")
    missing = [name for name in item.secrets if name not in (given or {})]
    if missing:
        names = ", ".join(f'"{name}": ...' for name in missing)
        raise UsageProblem(
            f"the item {item.id} has secret arguments, which are not stored: give --secrets FILE, a file with {{{visible(names)}}}"
        )


def _check_states(state: str | None, run: str | None) -> None:
    """Each option takes its own words; the other's are told to belong there."""
    for option, word, own, other_option, other in (
        ("--state", state, ReviewState, "--run", RunState),
        ("--run", run, RunState, "--state", ReviewState),
    ):
        known = [item.value for item in own]
        if word is not None and word not in known:
            hint = f"; {word} is one for {other_option}" if word in {item.value for item in other} else ""
            raise UsageProblem(f"{option} is one of {', '.join(known)}, and not {visible(shorten(word))}{hint}")


def _read_secrets(place: str | None) -> dict[str, Any] | None:
    """The secrets in a file: not on the command line, where everybody on the machine can read them."""
    return None if place is None else _read_object(read_whole(place), "--secrets")
