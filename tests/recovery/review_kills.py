"""Kills a process at every boundary of hold, correct, approve and run, and sees what the next process finds. Run as a program.

    python review_kills.py ADDRESS FOLDER                 at every boundary, once
    python review_kills.py ADDRESS FOLDER --at "after claim,before end"
    python review_kills.py ADDRESS FOLDER --random 200    so often, at random moments
    python review_kills.py ADDRESS FOLDER --race 12       no kill: two processes approve and run so many items at once

ADDRESS is an empty store. A line of JSON is printed for each kill, and one for a race.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from toolbox import ApprovalPending, AuditStore, Registry, ReviewError, ReviewQueue
from toolbox.recovery.review.tables import COMPONENT, MIGRATIONS

T = TypeVar("T")

STEPS = ("hold", "correct", "approve", "claim", "end")
BOUNDARIES = [f"{moment} {step}" for step in STEPS for moment in ("before", "inside", "after")]
BOUNDARIES[-3:-3] = ["before effect", "after effect"]


def die() -> None:
    """End this process as nothing can be caught or finished."""
    os.kill(os.getpid(), signal.SIGKILL)


class Fatal:
    """A store whose n-th transaction ends the process: before it begins, inside, or after it was committed."""

    def __init__(self, store: AuditStore, boundary: str) -> None:
        self.store = store
        self.boundary = boundary
        self.count = 0

    def transact(self, work: Callable[[Any], T], /) -> T:
        """Do work, unless it is the end."""
        step = STEPS[self.count] if self.count < len(STEPS) else ""
        self.count += 1
        if self.boundary == f"before {step}":
            die()

        def watched(connection: Any) -> T:
            made = work(connection)
            if self.boundary == f"inside {step}":
                die()
            return made

        done = self.store.transact(watched)
        if self.boundary == f"after {step}":
            die()
        return done

    def read(self, work: Callable[[Any], T], /) -> T:
        """Read."""
        return self.store.read(work)

    def migrate(self, component: str, steps: Any, /) -> None:
        """Make the tables."""
        self.store.migrate(component, steps)


def tools(queue: ReviewQueue, effects: Path, boundary: str) -> Registry:
    """A registry with a tool whose effects can be counted afterwards."""
    registry = Registry(review=queue)

    @registry.tool(approval="always")
    def pay(amount: int, to: str) -> str:
        """Pay somebody."""
        if boundary == "before effect":
            die()
        with effects.open("ab", buffering=0) as file:
            file.write(f"{amount} {to}\n".encode())
            os.fsync(file.fileno())
        if boundary == "after effect":
            die()
        return "paid"

    return registry


def worker(address: str, folder: Path, number: int, boundary: str, said: int) -> None:
    """One call from hold to its end, each step told once it is done; ends early where it is killed."""
    with AuditStore(address, processes="many") as store:
        queue = ReviewQueue(Fatal(store, boundary), expires_after_s=None)
        registry = tools(queue, folder / f"effects-{number}", boundary)
        os.write(said, b"begun\n")
        pending = registry.run("pay", {"amount": 1, "to": f"u-{number}"}, metadata={"conversation_id": f"c-{number}"}).error
        assert isinstance(pending, ApprovalPending), pending
        os.write(said, b"hold\n")
        item = queue.correct(pending.item_id, {"amount": 2, "to": f"u-{number}"}, by="ada")
        os.write(said, b"correct\n")
        queue.approve(item.id, by="bob", shown_hash=item.hash)
        os.write(said, b"approve\n")
        assert queue.run(registry, item.id).ok
        os.write(said, b"run\n")


def survivor(address: str, folder: Path, number: int, told: list[str]) -> dict[str, Any]:
    """What another process finds, and what becomes of the call when it goes on."""
    effects = folder / f"effects-{number}"

    def count() -> int:
        return len(effects.read_text().splitlines()) if effects.exists() else 0

    with AuditStore(address, processes="many") as store:
        queue = ReviewQueue(store, expires_after_s=None)
        registry = tools(queue, effects, "")
        mine = [item for item in queue.items() if item.metadata.get("conversation_id") == f"c-{number}"]
        found = [[item.state.value, item.run.value] for item in mine]
        before = count()
        events = [event.step.value for event in queue.events(mine[0].id)] if mine else []
        # The model, or the application, asks again for what it got no answer to.
        item = mine[0] if mine else None
        if item is None:
            with contextlib.suppress(ApprovalPending):
                registry.dispatch("pay", {"amount": 1, "to": f"u-{number}"}, metadata={"conversation_id": f"c-{number}"})
            (item,) = (one for one in queue.items() if one.metadata.get("conversation_id") == f"c-{number}")
        if item.state.value in ("waiting", "corrected"):
            item = queue.approve(item.id, by="bob", shown_hash=item.hash, registry=registry)
        refused = ""
        try:
            queue.run(registry, item.id)
        except ReviewError as error:
            refused = error.reason
        ended = queue.get(item.id)
        items = len([one for one in queue.items() if one.metadata.get("conversation_id") == f"c-{number}"])
        check = store.check()
    return {
        "told": told,
        "found": found,
        "events": events,
        "effects_before": before,
        "effects": count(),
        "refused": refused,
        "ended": [ended.state.value, ended.run.value],
        "items": items,
        "check": check,
    }


def child(work: Callable[[int], None]) -> tuple[int, int]:
    """Fork; the id of the child, and the end of a pipe that it writes to."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return pid, ours
    os.close(ours)
    code = 1
    try:
        work(theirs)
        code = 0
    except BaseException:  # noqa: BLE001 - it is told, and the process ends
        traceback.print_exc()
    finally:
        os._exit(code)


def everything(pipe: int) -> bytes:
    """All that comes out of a pipe."""
    with open(pipe, "rb") as stream:
        return stream.read()


def killed(address: str, folder: Path, number: int, boundary: str, delay_s: float | None) -> dict[str, Any]:
    """One kill, and what came of it."""
    pid, pipe = child(lambda said: worker(address, folder, number, boundary, said))
    told = b""
    if delay_s is not None:
        # The time runs from the moment at which the work begins.
        told = os.read(pipe, 6)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, delay_s)
    told += everything(pipe)
    signal.setitimer(signal.ITIMER_REAL, 0)
    _, status = os.waitpid(pid, 0)
    lines = told.decode().split()
    pid, pipe = child(lambda said: said_json(said, survivor(address, folder, number, lines)))
    answer = everything(pipe)
    os.waitpid(pid, 0)
    was_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return {"boundary": boundary, "was_killed": was_killed, **json.loads(answer or b"{}")}


def said_json(pipe: int, value: dict[str, Any]) -> None:
    """Write a value into a pipe."""
    os.write(pipe, json.dumps(value).encode())


def racer(address: str, folder: Path, times: int, said: int, go: int) -> None:
    """Approve and run every item as fast as it can."""
    with AuditStore(address, processes="many") as store:
        queue = ReviewQueue(store, expires_after_s=None)
        registry = tools(queue, folder / "effects", "")
        items = queue.items()
        assert len(items) == times
        os.write(said, b"ready\n")
        os.read(go, 1)
        won, others = 0, set()
        for item in items:
            for deed in (
                lambda item=item: queue.approve(item.id, by=str(os.getpid()), shown_hash=item.hash),
                lambda item=item: queue.run(registry, item.id, by=str(os.getpid())),
            ):
                try:
                    deed()
                    won += 1
                except ReviewError as error:
                    others.add(error.reason)
        said_json(said, {"won": won, "others": sorted(others)})


def race(address: str, folder: Path, times: int) -> dict[str, Any]:
    """Two processes at once, and what came of it."""

    def hold(_: int) -> None:
        with AuditStore(address, processes="many") as store:
            queue = ReviewQueue(store, expires_after_s=None)
            registry = tools(queue, folder / "effects", "")
            for number in range(times):
                registry.run("pay", {"amount": number, "to": "u-17"})

    os.waitpid(child(hold)[0], 0)
    wait, go = os.pipe()
    racers = [child(lambda said: racer(address, folder, times, said, wait)) for _ in range(2)]
    for _, pipe in racers:
        assert os.read(pipe, 6) == b"ready\n"
    os.write(go, b"!!")
    told = [json.loads(everything(pipe)) for _, pipe in racers]
    for pid, _ in racers:
        os.waitpid(pid, 0)

    def look(said: int) -> None:
        with AuditStore(address, processes="many") as store:
            queue = ReviewQueue(store, expires_after_s=None)
            steps = [[event.step.value for event in queue.events(item.id)] for item in queue.items()]
            counted = {name: [one.count(step) for one in steps] for name, step in (("approvals", "approve"), ("claims", "claim"))}
            said_json(said, {"items": len(steps), **counted})

    pid, pipe = child(look)
    seen = json.loads(everything(pipe))
    os.waitpid(pid, 0)
    effects = len((folder / "effects").read_text().splitlines())
    others = sorted({reason for one in told for reason in one["others"]})
    return {**seen, "effects": effects, "won": [one["won"] for one in told], "others": others}


def main(arguments: list[str]) -> None:
    """Kill, look, tell."""
    address, folder = arguments[0], Path(arguments[1])
    if "--random" in arguments:
        times = int(arguments[arguments.index("--random") + 1])
        chance = random.Random(7)
        plans: list[tuple[str, float | None]] = [("random", chance.uniform(0.0001, 0.08)) for _ in range(times)]
    else:
        wanted = arguments[arguments.index("--at") + 1].split(",") if "--at" in arguments else BOUNDARIES
        plans = [(boundary, None) for boundary in wanted]
    # So that no worker is killed while the tables are made.
    pid, _ = child(lambda _: AuditStore(address, processes="many").migrate(COMPONENT, MIGRATIONS))
    os.waitpid(pid, 0)
    if "--race" in arguments:
        print(json.dumps(race(address, folder, int(arguments[arguments.index("--race") + 1]))))
        return
    for number, (boundary, delay_s) in enumerate(plans):
        print(json.dumps(killed(address, folder, number, boundary, delay_s)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
