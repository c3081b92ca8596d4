"""An interruption of a run may come anywhere: what is known of its end is kept, and nothing counts as running that nobody runs."""

import asyncio
import concurrent.futures
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toolbox.recovery.review
from tests.interrupting import Interrupter, Interruption
from toolbox import ApprovalPending, AuditStore, Registry, ReviewError, ReviewQueue, StoreError
from toolbox.recovery.review import ReviewState, ReviewStep, RunState
from toolbox.recovery.review.surroundings import ALIVE, KEPT

REVIEW = str(Path(toolbox.recovery.review.__file__).parent)


class Place:
    """A queue and a registry on one file, as a process has them; and what its tool has done."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder}/audit.db"
        self.ran: list[int] = []
        self.during: Callable[[], object] = lambda: None
        self.store = AuditStore(self.url)
        self.queue = ReviewQueue(self.store)
        self.registry = Registry(review=self.queue)

        @self.registry.tool(approval="always")
        def note(number: int) -> int:
            self.ran.append(number)
            self.during()
            return number

        @self.registry.tool(approval="always")
        async def anote(number: int) -> int:
            self.ran.append(number)
            self.during()
            await asyncio.sleep(0)
            return number

    def approved(self, number: int, tool: str = "note") -> str:
        error = self.registry.run(tool, {"number": number}).error
        assert isinstance(error, ApprovalPending)
        self.queue.approve(error.item_id, by="ada", shown_hash=self.queue.get(error.item_id).hash)
        return error.item_id


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A place in a file, in memory where the system has that; what it leaves in this process is forgotten."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path) as folder:
        made = Place(Path(folder))
        yield made
        made.store.close()
    KEPT.clear()
    ALIVE.clear()


def _is_settled(place: Place, queue: ReviewQueue, item_id: str, number: int) -> None:
    """What a queue says of an item that was run and interrupted is true, and a person can go on with it."""
    item = queue.get(item_id)
    assert not ALIVE
    if number not in place.ran:
        assert item.run in (RunState.NOT_RUN, RunState.UNKNOWN)
    else:
        assert item.run in (RunState.DONE, RunState.UNKNOWN)
    assert [one.id for one in queue.items(run=item.run.value) if one.id == item_id] == [item_id]


@pytest.mark.parametrize("has_other", [False, True])
def test_a_run_that_is_interrupted_anywhere(place: Place, has_other: bool) -> None:
    """The end is on record, or is kept and comes on record with the next step, from this queue or from another one on the file."""

    def one_by_one() -> list[RunState]:
        interrupter = Interrupter((REVIEW,))
        found = []
        for number in itertools.count(1, 1 if os.environ.get("TOOLBOX_HYPOTHESIS") == "thorough" else 19):
            item_id = place.approved(number)
            try:
                with interrupter.at(number):
                    place.queue.run(place.registry, item_id)
            except Interruption:
                pass
            else:
                if not interrupter.where:
                    break
            if has_other:
                with AuditStore(place.url, processes="many") as store:
                    other = ReviewQueue(store)
                    _is_settled(place, other, item_id, number)
                    other.expire()
                    found.append(other.get(item_id).run)
            else:
                _is_settled(place, place.queue, item_id, number)
                place.queue.expire()
                found.append(place.queue.get(item_id).run)
            assert not [end for end in KEPT.values() if end.item_id == item_id] or has_other
            if found[-1] is RunState.UNKNOWN:
                place.queue.resolve(item_id, "done" if number in place.ran else "not_run", by="ada")
            elif found[-1] is RunState.NOT_RUN:
                assert place.queue.run(place.registry, item_id).value == number
            assert place.ran.count(number) <= 1
        return found

    # In a thread of its own, for what is raised by a trace.
    with concurrent.futures.ThreadPoolExecutor(1) as own:
        found = own.submit(one_by_one).result()
    assert {RunState.DONE, RunState.NOT_RUN} <= set(found)
    assert place.queue.lost_ends == 0


def test_an_interruption_while_the_end_is_written(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function has returned, so it is known that it is done; and it is on record once."""
    item_id = place.approved(1)
    take = place.queue._book.take

    def interrupted(item: str, step: ReviewStep, *more: Any, **options: Any) -> Any:
        if step is ReviewStep.DONE:
            raise Interruption
        return take(item, step, *more, **options)

    monkeypatch.setattr(place.queue._book, "take", interrupted)
    with pytest.raises(Interruption):
        place.queue.run(place.registry, item_id)
    monkeypatch.undo()
    assert (set(ALIVE), place.queue.get(item_id).run) == (set(), RunState.DONE)
    assert [event.step for event in place.queue.events(item_id)][-1] is ReviewStep.CLAIM
    with pytest.raises(ReviewError, match="was run already"):
        place.queue.resolve(item_id, "not_run", by="ada")
    place.queue.expire()
    assert [event.step for event in place.queue.events(item_id)][-2:] == [ReviewStep.CLAIM, ReviewStep.DONE]
    assert (KEPT, place.queue.lost_ends) == ({}, 0)


def test_an_end_that_is_on_record_already_is_not_lost(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interruption right after the commit: it is written once, and nobody is told that it came too late."""
    item_id = place.approved(1)
    transact = place.store.transact

    def interrupted(work: Any) -> Any:
        done = transact(work)
        if getattr(done, "run", None) is RunState.DONE:
            raise Interruption
        return done

    monkeypatch.setattr(place.store, "transact", interrupted)
    with pytest.raises(Interruption):
        place.queue.run(place.registry, item_id)
    monkeypatch.undo()
    place.queue.expire()
    assert (KEPT, place.queue.lost_ends) == ({}, 0)
    assert [event.step for event in place.queue.events(item_id)].count(ReviewStep.DONE) == 1


@pytest.mark.parametrize("tool", ["note", "anote"])
def test_a_store_that_is_closed_while_the_function_runs(place: Place, tool: str) -> None:
    """Another queue of the process knows that it runs, then how it ended, and puts that on record."""
    item_id = place.approved(1, tool)
    seen = []
    with AuditStore(place.url, processes="many") as store:
        other = ReviewQueue(store)

        def during() -> None:
            place.store.close()
            seen.append(other.get(item_id).run)
            with pytest.raises(ReviewError, match="is being run"):
                other.resolve(item_id, "not_run", by="ada")
            assert other.expire() == []

        place.during = during
        result = asyncio.run(place.queue.arun(place.registry, item_id)) if tool == "anote" else place.queue.run(place.registry, item_id)
        assert result.value == 1
        assert seen == [RunState.RUNNING]
        assert other.get(item_id).run is RunState.DONE
        assert [item.id for item in other.items(run="done")] == [item_id]
        assert other.items(run="running") == other.items(is_open=True) == []
        other.expire()
        assert [event.step for event in other.events(item_id)][-1] is ReviewStep.DONE
        assert (KEPT, other.lost_ends) == ({}, 0)


def test_the_same_call_after_an_end_that_is_not_on_record(place: Place) -> None:
    """It is an item of its own, and the end of the first one comes on record with it."""
    item_id = place.approved(1)
    place.during = place.store.close
    assert place.queue.run(place.registry, item_id).ok
    with AuditStore(place.url, processes="many") as store:
        other = ReviewQueue(store)
        registry = Registry(review=other)

        @registry.tool(approval="always")
        def note(number: int) -> int:
            return number

        error = registry.run("note", {"number": 1}).error
        assert isinstance(error, ApprovalPending)
        assert error.item_id != item_id
        assert [event.step for event in other.events(item_id)][-1] is ReviewStep.DONE
        assert other.get(item_id).position == (ReviewState.APPROVED, RunState.DONE)


def test_the_end_of_another_store_stays_kept(place: Place, tmp_path: Path) -> None:
    """A queue on another file has nothing to do with it."""
    item_id = place.approved(1)
    place.during = place.store.close
    assert place.queue.run(place.registry, item_id).ok
    (tmp_path / "other").mkdir()
    other = Place(tmp_path / "other")
    assert other.queue.run(other.registry, other.approved(2)).ok
    other.queue.expire()
    assert [end.item_id for end in KEPT.values()] == [item_id]
    other.store.close()
    with pytest.raises(StoreError):
        place.queue.get(item_id)
