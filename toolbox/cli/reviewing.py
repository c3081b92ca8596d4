"""``toolbox review``: the calls that wait for a person, and what is decided about them.

Everything that is shown may have been written by a model that means no good. So nothing of an item is left out of ``show``, and what cannot
be seen, or is made to look like something else, is shown as an escape.
"""

from __future__ import annotations

import contextlib
import datetime
import getpass
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from toolbox.audit.store import AuditStore
from toolbox.cli.inputs import read_whole
from toolbox.cli.printing import Cell, Column, Printer
from toolbox.cli.problems import UsageProblem
from toolbox.cli.shown import BOUNDS
from toolbox.diagnostics import shorten
from toolbox.errors import PayloadError, ReviewError, StoreError, ToolboxError
from toolbox.json_values import snapshot
from toolbox.payload.strict import parse_json
from toolbox.policy import Limits
from toolbox.recovery.review import DeadLetterFile, ReviewEvent, ReviewItem, ReviewQueue, ReviewState, RunState
from toolbox.registry import Registry
from toolbox.results import ToolResult, result_text

__all__ = ["Reviews", "visible"]

_BRIEF: Final = 60
_SHORTEST_HASH: Final = 12
_UNUSED: Final = frozenset({"not_found", "no_tool", "misused"})
_STYLES: Final = {"waiting": "yellow", "corrected": "yellow", "approved": "cyan", "rejected": "red", "expired": "dim"}
_RUN_STYLES: Final = {"done": "green", "failed": "red", "unknown": "bold red", "running": "cyan"}


# -- making visible ------------------------------------------------------------------------------------------------------------------

# Letters and marks that count as printable and show nothing.
_INVISIBLE: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
# Alphabets with letters that look the same.
_ALIKE: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})


def visible(text: str) -> str:
    r"""The text with escapes for what shows nothing, and for letters that another alphabet has lent to a word.

    >>> visible("a\u200bb\u3164"), visible("p\u0430y"), visible("caf\u00e9")
    ('a\\u200bb\\u3164', 'p\\u0430y', 'café')
    """
    if text.isascii() and text.isprintable():
        return text
    shown = _WORD.sub(_one_alphabet, _INVISIBLE.sub(lambda found: _escape(found[0]), text))
    return "".join(character if character.isprintable() or character == "\n" else _escape(character) for character in shown)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _one_alphabet(found: re.Match[str]) -> str:
    word = found[0]
    if word.isascii() or len({_alphabet(letter) for letter in word} & _ALIKE) < 2:
        return word
    return "".join(letter if letter.isascii() else _escape(letter) for letter in word)


def _alphabet(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


def _json(value: Any) -> str:
    """A JSON value on one line, whole."""
    return visible(json.dumps(value, ensure_ascii=False))


def _brief(value: Any) -> str:
    return visible(shorten(value, _BRIEF))


# -- the commands --------------------------------------------------------------------------------------------------------------------


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
                self.printer.table(_ITEMS, map(_item_row, items))
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
                self._show(item, events)
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
                self.printer.table(_ITEMS, map(_item_row, moved))
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
        self.printer.line(f"{item.id} {visible(item.tool)}: {item.run.value}", _RUN_STYLES.get(item.run.value, ""), err=True)

    def _decided(self, item: ReviewItem, said: str) -> int:
        if self.as_json:
            self.printer.json(item.to_dict())
            return 0
        if item.state is ReviewState.CORRECTED:
            self._arguments(item)
            self.printer.line(f"hash {item.hash}")
        self.printer.line(f"{item.id} {visible(item.tool)} {said}", "bold", err=True)
        return 0

    def _show(self, item: ReviewItem, events: list[ReviewEvent]) -> None:
        line = self.printer.line
        line(f"{visible(item.tool)} {item.id}: {_standing(item)}", "bold")
        said = [("reason", item.reason), ("call", item.call_id), ("record", item.record_id)]
        said += [(name, item.metadata.get(name)) for name in ("model", "conversation_id", "user")]
        line(", ".join(f"{name} {_plain(value)}" for name, value in said if value is not None))
        others = {name: value for name, value in item.metadata.items() if name not in {"model", "conversation_id", "user"}}
        if others:
            line(f"metadata {_json(others)}")
        line(f"held {_when(item.held_at)}" + (f", expires {_when(item.expires_at)}" if item.expires_at is not None else ""))
        if item.repeats:
            line(f"asked for {item.repeats + 1} times")
        if item.violation:
            self.printer.line()
            self.printer.block(visible(item.violation))
        self.printer.line()
        self._arguments(item)
        if item.secrets:
            line(f"secret: {', '.join(map(visible, item.secrets))} (not stored; whoever runs it gives them again)")
        if item.attempts:
            self.printer.line()
            line("Attempts to correct it", "bold")
            self.printer.table(_ATTEMPTS, [_attempt_row(number, attempt) for number, attempt in enumerate(item.attempts, 1)])
        self.printer.line()
        line("History", "bold")
        self.printer.table(_EVENTS, [_event_row(event) for event in events])
        self.printer.line()
        if item.hash:
            line(f"hash {item.hash}")
        elif item.state is ReviewState.WAITING:
            line("nothing of it can run as it is: correct it first")

    def _arguments(self, item: ReviewItem) -> None:
        rows = [(visible(path), came, now, Cell(mark, _MARKS[mark])) for path, came, now, mark in compared(item)]
        if rows:
            self.printer.table(_ARGUMENTS, rows)
        else:
            self.printer.line("no arguments")


_ITEMS: Final = (
    Column("id", whole=True),
    Column("state", whole=True),
    Column("run", whole=True),
    Column("held (UTC)", whole=True),
    Column("reason"),
    Column("tool"),
    Column("arguments"),
)
_ARGUMENTS: Final = (Column("path"), Column("came"), Column("runs with"), Column("", whole=True))
_EVENTS: Final = (Column("when (UTC)", whole=True), Column("step"), Column("by"), Column("note"))
_ATTEMPTS: Final = (Column("attempt", whole=True), Column("verdict", whole=True), Column("what changed"), Column("problem"))
_MARKS: Final = {"same": "dim", "changed": "yellow", "added": "cyan", "left out": "red", "": ""}


def _standing(item: ReviewItem) -> str:
    is_plain = item.run is RunState.NOT_RUN and item.state is not ReviewState.APPROVED
    return item.state.value if is_plain else f"{item.state.value}, {item.run.value}"


def _item_row(item: ReviewItem) -> tuple[str | Cell, ...]:
    return (
        item.id,
        Cell(item.state.value, _STYLES[item.state.value]),
        Cell(item.run.value, _RUN_STYLES.get(item.run.value, "dim")),
        _when(item.held_at)[5:16],
        item.reason.replace("_", " ") + (f" (asked {item.repeats + 1} times)" if item.repeats else ""),
        visible(item.tool),
        _brief(item.original if item.arguments is None else item.arguments),
    )


def _event_row(event: ReviewEvent) -> tuple[str, ...]:
    note = event.note or ("" if event.arguments is None else _json(event.arguments))
    return (_when(event.at), event.step.value.replace("_", " "), visible(event.by), visible(note))


def _attempt_row(number: int, attempt: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        visible(str(attempt.get("attempt_number", number))),
        visible(str(attempt.get("verdict", ""))),
        "\n".join(_attempt_changes(attempt)),
        visible(str(attempt.get("problem") or "")),
    )


def _attempt_changes(attempt: Mapping[str, Any]) -> list[str]:
    """What a model made of the arguments, place by place; what it left as it was is not told."""
    came, gave = attempt.get("original_arguments"), attempt.get("corrected_arguments")
    if gave is None:
        return []
    if not isinstance(came, dict) or not isinstance(gave, dict):
        return [_json(gave)]
    before, after = dict(_leaves(came, "$")), dict(_leaves(gave, "$"))
    lines = [f"{visible(path)}: {_json(value)} left out" for path, value in before.items() if path not in after]
    lines += [f"{visible(path)}: {_json(value)} added" for path, value in after.items() if path not in before]
    lines += [
        f"{visible(path)}: {_json(value)} -> {_json(after[path])}"
        for path, value in before.items()
        if path in after and json.dumps(value) != json.dumps(after[path])
    ]
    return lines or ["nothing"]


def _when(moment: float) -> str:
    return datetime.datetime.fromtimestamp(moment, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")


def _plain(value: Any) -> str:
    return visible(value) if isinstance(value, str) else _json(value)


# -- came and runs with --------------------------------------------------------------------------------------------------------------


def compared(item: ReviewItem) -> list[tuple[str, str, str, str]]:
    """Path, what came, what would run, and how they differ, for every value in either of them."""
    came, whole = _came(item)
    now = {} if item.invoked is None else dict(_leaves(item.invoked, "$"))
    if whole is not None:
        rows = [("$", whole, "", "")]
        return rows + [(path, "-", _json(value), "added") for path, value in now.items()]
    if item.invoked is None:
        return [(path, _json(value), "-", "") for path, value in came.items()]
    rows = []
    for path in [*came, *(path for path in now if path not in came)]:
        if path not in now:
            rows.append((path, _json(came[path]), "-", "left out"))
        elif path not in came:
            rows.append((path, "-", _json(now[path]), "added"))
        else:
            is_same = json.dumps(came[path]) == json.dumps(now[path])
            rows.append((path, _json(came[path]), _json(now[path]), "same" if is_same else "changed"))
    return rows


def _came(item: ReviewItem) -> tuple[dict[str, Any], str | None]:
    """What came by path, under the declared names; or as one text where there is no telling it apart."""
    original = item.original
    if isinstance(original, str):
        try:
            original = json.loads(original)
        except (ValueError, RecursionError):
            return {}, _json(item.original)
    if not isinstance(original, dict):
        return {}, _json(item.original)
    names = {
        change.get("before"): change.get("after")
        for change in item.changes
        if change.get("kind") == "renamed" and str(change.get("path", "")).count(".") == 1
    }
    return dict(_leaves({names.get(key, key): value for key, value in original.items()}, "$")), None


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every value that holds no other, by its path."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if key.isidentifier() else f"{path}[{json.dumps(key)}]")
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]")
    elif path != "$":
        yield path, value


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
