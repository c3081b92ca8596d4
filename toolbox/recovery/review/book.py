"""The items and their events in the store: every step is one transaction, and no step is taken from where it may not be taken."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, and_, func, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from toolbox.audit.store.columns import text_column
from toolbox.audit.store.sessions import Session, life_of
from toolbox.errors import ReviewError
from toolbox.recovery.review.item import ReviewEvent, ReviewItem
from toolbox.recovery.review.misuse import named
from toolbox.recovery.review.rows import LONGEST_TEXT, Row, event_of, event_row, item_of, item_row, runner_of, runner_text
from toolbox.recovery.review.states import ENDED, EXPIRING, STEPS, Position, ReviewState, ReviewStep, RunState, after
from toolbox.recovery.review.surroundings import ALIVE, KEPT, MACHINE, End, Store
from toolbox.recovery.review.tables import COMPONENT, MIGRATIONS, events, items

if TYPE_CHECKING:
    from sqlalchemy.sql.elements import ColumnElement

__all__ = ["Book"]

_OPEN: Final = tuple(item.state.value for item in EXPIRING)
_TRIES: Final = 3
_LONGEST_ID: Final = 64


Change = Callable[[ReviewItem], Mapping[str, Any]]
"""What changes in an item with a step; refuses the step by a `ReviewError`."""


class Book:
    """Items and events of one store.

    Args:
        store: where they are.
        clock: the time, in seconds since the epoch.
        unknown_after_s: after how long a run on another machine that has not ended counts as unknown.
        bury: the states of which a dead letter is owed to this process's sink.
    """

    def __init__(self, store: Store, clock: Callable[[], float], unknown_after_s: float, bury: Collection[ReviewState]) -> None:
        self.store = store
        self.clock = clock
        self.unknown_after_s = unknown_after_s
        self.bury = frozenset(bury)
        store.migrate(COMPONENT, MIGRATIONS)

    # -- taking steps ------------------------------------------------------------------------------------------------------------

    def hold(self, item: ReviewItem) -> tuple[ReviewItem, bool]:
        """Put an item into the book, unless the same call is open already.

        Returns:
            The item that is in the book, and whether it is new.
        """

        def work(connection: Connection) -> tuple[ReviewItem, bool]:
            for _ in range(_TRIES):
                row = None if item.same is None else _row(connection, items.c.same == item.same)
                if row is not None:
                    known = self._as_it_is(row)
                    if known.position not in ENDED:
                        connection.execute(update(items).where(items.c.id == known.id).values(repeats=items.c.repeats + 1))
                        return replace(known, repeats=known.repeats + 1), False
                    end = _kept(row)
                    step, by, note = (ReviewStep.EXPIRE, MACHINE, None) if end is None else (end.step, end.by, end.note)
                    self._write(connection, row, item_of(row), step, by, note=note)
                engine = postgresql if connection.dialect.name == "postgresql" else sqlite
                made = engine.insert(items).values(**item_row(item), letter=0).on_conflict_do_nothing().returning(items.c.id)
                # Not every driver says how many rows an insert has made.
                if connection.scalar(made) is not None:
                    event = ReviewEvent(
                        item.id, item.revision, item.held_at, ReviewStep.HOLD, MACHINE, item.state, item.run, hash=item.hash
                    )
                    connection.execute(insert(events).values(**event_row(event)))
                    return item, True
                # Another process was faster, and its item is the one.
            raise ReviewError("not_queued", f"there is an item {item.id} already", item.id)

        return self.store.transact(work)

    def take(
        self,
        item_id: str,
        step: ReviewStep,
        by: str,
        *,
        note: str | None = None,
        change: Change | None = None,
        claim: str | None = None,
        runner: Session | None = None,
    ) -> ReviewItem:
        """Take a step, and put it on record, in one transaction.

        Args:
            item_id: id of the item.
            step: the step.
            by: who takes it.
            note: why, or how it ended.
            change: what else changes; it is called with the item as it is in this transaction.
            claim: id of the claim of which this is the end; a step of another claim is refused.
            runner: the process that claims the item.

        Raises:
            ReviewError: there is no such item, or the step may not be taken.
        """

        def work(connection: Connection) -> ReviewItem:
            row = _row(connection, items.c.id == item_id) if is_id(item_id) else None
            if row is None:
                raise _not_found(item_id)
            if claim is not None and row["claim"] != claim:
                raise ReviewError("illegal_step", f"the item {item_id} is not this run's any more", item_id)
            stored, now = item_of(row), self._as_it_is(row)
            if claim is not None:
                # Whoever runs it knows better than anybody whether it runs.
                now = stored
            elif step is ReviewStep.EXPIRE or step is ReviewStep.LOSE:
                if now.position != STEPS[step][1]:
                    raise ReviewError("illegal_step", f"the time of the item {item_id} has not run out", item_id)
                now = stored
            elif (end := _kept(row)) is not None:
                # How it ended is known, and was not on record yet.
                row = self._write(connection, row, stored, end.step, end.by, note=end.note)
                now = item_of(row)
            elif now.run is not stored.run:
                # That it was lost is seen now, and was not on record yet.
                row = self._write(connection, row, stored, ReviewStep.LOSE, MACHINE)
                now = item_of(row)
            after(step, now.position, item_id)
            changed = change(now) if change is not None else {}
            if step is ReviewStep.CLAIM:
                self._approved_as_it_is(connection, now)
            return item_of(self._write(connection, row, replace(now, **changed), step, by, note=note, runner=runner))

        return self.store.transact(work)

    def _write(
        self,
        connection: Connection,
        row: Row,
        item: ReviewItem,
        step: ReviewStep,
        by: str,
        *,
        note: str | None = None,
        runner: Session | None = None,
    ) -> Row:
        """The row after a step; the item as it was before it, but for what the step changes beside its state."""
        then = STEPS[step][1]
        at = self.clock()
        decided_by = item.decided_by if by == MACHINE or step in _RUNS else by
        moved = replace(item, state=then.state, run=then.run, revision=item.revision + 1, updated_at=at, decided_by=decided_by, note=note)
        values = item_row(moved)
        del values["repeats"]
        if then in EXPIRING and item.expires_after_s is not None:
            # By what was said when it was held, whoever takes the step.
            values["expires_at"] = at + item.expires_after_s
        if then in ENDED:
            values["same"] = None
        if step is ReviewStep.CLAIM and runner is not None:
            values |= {"claim": runner.id, "runner": runner_text(runner)}
        elif then.run is RunState.NOT_RUN:
            values |= {"claim": None, "runner": None}
        here = and_(items.c.id == item.id, items.c.revision == item.revision)
        if connection.execute(update(items).where(here).values(**values)).rowcount != 1:
            raise ReviewError("illegal_step", f"the item {item.id} was changed at this very moment; look at it again", item.id)
        corrected = moved.arguments if step is ReviewStep.CORRECT else None
        event = ReviewEvent(moved.id, moved.revision, at, step, by, moved.state, moved.run, note, moved.hash, corrected)
        connection.execute(insert(events).values(**event_row(event)))
        return {**row, **values}

    def _approved_as_it_is(self, connection: Connection, item: ReviewItem) -> None:
        """Hold what is in the item against what the last approval on record says."""
        newest = select(events.c.hash).where(events.c.item_id == item.id, events.c.step == ReviewStep.APPROVE.value)
        approved = connection.scalar(newest.order_by(events.c.position.desc()).limit(1))
        if approved != item.hash:
            raise ReviewError("hash", f"what the item {item.id} holds is not what was approved: correct it or reject it", item.id)

    # -- looking -----------------------------------------------------------------------------------------------------------------

    def _as_it_is(self, row: Row) -> ReviewItem:
        """The item where it stands now: time may have run out, or a process ended, without anybody having written so."""
        item = item_of(row)
        end = _kept(row)
        if end is not None:
            return replace(item, state=STEPS[end.step][1].state, run=STEPS[end.step][1].run)
        if item.position in EXPIRING and item.expires_at is not None and item.expires_at <= self.clock():
            return replace(item, state=ReviewState.EXPIRED)
        if item.run is RunState.RUNNING and self._is_lost(row):
            return replace(item, run=RunState.UNKNOWN)
        return item

    def _is_lost(self, row: Row) -> bool:
        runner = runner_of(row)
        if runner is None:
            return True
        life = life_of(runner)
        if life == "elsewhere":
            return bool(row["updated_at"] + self.unknown_after_s < self.clock())
        return life == "dead" or (runner.pid == os.getpid() and runner.id not in ALIVE)

    def get(self, item_id: str) -> ReviewItem:
        """One item.

        Raises:
            ReviewError: there is none with this id.
        """
        item = self._as_it_is(self._read(item_id))
        if item.run is RunState.UNKNOWN:
            # It may have ended between the look at its row and the look at what this process runs.
            item = self._as_it_is(self._read(item_id))
        return item

    def _read(self, item_id: str) -> Row:
        row = None
        if is_id(item_id):
            row = self.store.read(lambda connection: _row(connection, items.c.id == item_id, for_update=False))
        if row is None:
            raise _not_found(item_id)
        return row

    def kept(self, item_id: str | None = None) -> list[End]:
        """The ends of this process's runs that are not on record yet: of one item, or of all that are in this book."""
        if not KEPT or not (item_id is None or is_id(item_id)):
            return []
        wanted = items.c.run == RunState.RUNNING.value if item_id is None else items.c.id == item_id

        def work(connection: Connection) -> list[End]:
            rows = connection.execute(select(items.c.run, items.c.claim, items.c.runner).where(wanted)).mappings()
            return [end for end in map(_kept, rows) if end is not None]

        return self.store.read(work)

    def has(self, end: End) -> bool:
        """Whether an end is on record."""
        here = and_(events.c.item_id == end.item_id, events.c.position > end.revision)
        wanted = select(events.c.position).where(here, events.c.step == end.step.value, events.c.by == text_column(end.by, 200))
        return self.store.read(lambda connection: connection.scalar(wanted.limit(1))) is not None

    def find(self, beginning: str) -> list[str]:
        """The ids that begin so, at most a few of them."""
        if not is_id(beginning):
            return []
        wanted = func.substr(items.c.id, 1, len(beginning)) == beginning
        return self.store.read(lambda connection: list(connection.scalars(select(items.c.id).where(wanted).order_by(items.c.id).limit(5))))

    def listed(
        self,
        state: ReviewState | None = None,
        run: RunState | None = None,
        tool: str | None = None,
        limit: int | None = None,
        *,
        is_open: bool = False,
    ) -> list[ReviewItem]:
        """Items, oldest first."""
        wanted = select(items).order_by(items.c.held_at, items.c.id)
        if is_open:
            wanted = wanted.where(items.c.state.in_(_OPEN), items.c.run.not_in((RunState.DONE.value, RunState.FAILED.value)))
        if tool is not None:
            wanted = wanted.where(items.c.tool == text_column(tool, LONGEST_TEXT))
        due = self._is_due()
        if state is ReviewState.EXPIRED:
            wanted = wanted.where(or_(items.c.state == state.value, due))
        elif state is not None:
            wanted = wanted.where(items.c.state == state.value)
        if run is RunState.UNKNOWN:
            wanted = wanted.where(items.c.run.in_((RunState.UNKNOWN.value, RunState.RUNNING.value)))
        elif run is not None:
            # Of some that are running by what is on record, the end is known.
            wanted = wanted.where(items.c.run.in_((run.value, RunState.RUNNING.value) if KEPT else (run.value,)))

        def work(connection: Connection) -> list[ReviewItem]:
            found: list[ReviewItem] = []
            if limit == 0:
                return found
            for row in connection.execute(wanted).mappings():
                item = self._as_it_is(row)
                if is_open and item.position in ENDED:
                    continue
                if (state is None or item.state is state) and (run is None or item.run is run):
                    found.append(item)
                if limit is not None and len(found) >= limit:
                    break
            return found

        return self.store.read(work)

    def events(self, item_id: str) -> list[ReviewEvent]:
        """What has happened to an item, oldest first."""
        if not is_id(item_id):
            return []
        wanted = select(events).where(events.c.item_id == item_id).order_by(events.c.position)
        return self.store.read(lambda connection: [event_of(row) for row in connection.execute(wanted).mappings()])

    def _is_due(self) -> ColumnElement[bool]:
        is_open = and_(items.c.state.in_(_OPEN), items.c.run == RunState.NOT_RUN.value)
        return and_(is_open, items.c.expires_at <= self.clock())

    def overdue(self) -> list[tuple[str, ReviewStep]]:
        """Items whose time has run out, and those that were lost, with the step that says so."""
        running = items.c.run == RunState.RUNNING.value

        def work(connection: Connection) -> list[tuple[str, ReviewStep]]:
            rows = connection.execute(select(items).where(or_(self._is_due(), running)).order_by(items.c.held_at)).mappings()
            found = [(row["id"], self._as_it_is(row).position) for row in rows]
            return [(item_id, _STEP_TO[position]) for item_id, position in found if position in _STEP_TO]

        return self.store.read(work)

    # -- dead letters ------------------------------------------------------------------------------------------------------------

    def owed(self, limit: int) -> list[ReviewItem]:
        """Items of which a dead letter is owed and has not been delivered yet, whichever process has decided about them; some of them."""
        states = [state.value for state in self.bury]
        wanted = select(items).where(items.c.state.in_(states), items.c.letter == 0).order_by(items.c.updated_at).limit(limit)
        return self.store.read(lambda connection: [item_of(row) for row in connection.execute(wanted).mappings()])

    def delivered(self, item_id: str) -> None:
        """Put on record that a dead letter was delivered."""
        self.store.transact(lambda connection: connection.execute(update(items).where(items.c.id == item_id).values(letter=1)))


_RUNS: Final = frozenset({ReviewStep.CLAIM, ReviewStep.RELEASE, ReviewStep.DONE, ReviewStep.FAIL, ReviewStep.LOSE})
_STEP_TO: Final[dict[Position, ReviewStep]] = {STEPS[step][1]: step for step in (ReviewStep.EXPIRE, ReviewStep.LOSE)}


def _kept(row: Row) -> End | None:
    """How the run of an item has ended, where this process knows it and it is not on record yet."""
    end = KEPT.get(row["claim"]) if KEPT and row["run"] == RunState.RUNNING.value else None
    if end is None:
        return None
    runner = runner_of(row)
    # After a fork, the ends of the parent are the parent's to write.
    return end if runner is not None and runner.pid == os.getpid() else None


def is_id(text: Any) -> bool:
    """Whether a text can be an id at all; what cannot is not asked for."""
    return isinstance(text, str) and 0 < len(text) <= _LONGEST_ID and text.isascii() and text.isprintable()


def _row(connection: Connection, wanted: ColumnElement[bool], *, for_update: bool = True) -> Row | None:
    query = select(items).where(wanted)
    # SQLite has one writer at a time; a server is told that the row is about to change.
    found = connection.execute(query.with_for_update() if for_update else query).mappings().one_or_none()
    return None if found is None else dict(found)


def _not_found(item_id: Any) -> ReviewError:
    return ReviewError("not_found", f"there is no item {named(item_id)} in the review queue", item_id if isinstance(item_id, str) else "")
