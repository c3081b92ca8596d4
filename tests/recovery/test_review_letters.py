"""Dead letters: on the disk when the call returns, in turns, never deleted, never half a line in the way of another."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import toolbox
from toolbox import ApprovalPending, AuditStore, Registry, ReviewError, ReviewItem, ReviewQueue
from toolbox.recovery.review import DeadLetterFile, ReviewState, RunState

SRC = str(Path(toolbox.__file__).parents[1])


def item(number: int, **fields: object) -> ReviewItem:
    """An item with hostile text in it."""
    return ReviewItem.from_dict(
        {
            "id": f"{number:016x}",
            "tool": "pay",
            "reason": "approval",
            "original": {"to": "a\nb\x00\ud800\u202e"},
            "state": "waiting",
            "run": "not_run",
            "failures": [{"path": "$"}],
            **fields,
        }
    )


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Items come back as they were, one a line of plain ASCII."""
    letters = DeadLetterFile(tmp_path / "dead.jsonl")
    assert list(letters.items()) == []
    made = [item(number) for number in range(3)]
    for one in made:
        letters(one)
    assert list(letters.items()) == made
    lines = (tmp_path / "dead.jsonl").read_bytes().split(b"\n")
    assert len(lines) == 4
    assert all(32 <= byte < 127 for line in lines for byte in line)


def test_a_line_that_was_cut_off(tmp_path: Path) -> None:
    """After half a line of a crash the next letter stands on its own line; what is no item is left out."""
    path = tmp_path / "dead.jsonl"
    letters = DeadLetterFile(path)
    letters(item(1))
    with path.open("ab") as file:
        file.write(b'{"id": "half')
    letters(item(2))
    with path.open("ab") as file:
        file.write(b'[]\n"text"\n{"id": 1}\n\xff\xfe\n')
    letters(item(3))
    assert [one.id for one in letters.items()] == [f"{number:016x}" for number in (1, 2, 3)]


def test_a_file_that_has_grown_is_put_aside(tmp_path: Path) -> None:
    """Nothing is deleted: the files together hold every letter."""
    path = tmp_path / "dead.jsonl"
    letters = DeadLetterFile(path, rotate_bytes=600)
    for number in range(12):
        letters(item(number))
    files = [file for file in tmp_path.iterdir() if not file.name.endswith(".lock")]
    assert len(files) >= 5
    ids = sorted(one.id for file in files for one in DeadLetterFile(file).items())
    assert ids == [f"{number:016x}" for number in range(12)]


PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor
from toolbox.recovery.review import DeadLetterFile, ReviewItem
start = int(sys.argv[2])
letters = DeadLetterFile(sys.argv[1], rotate_bytes=4_000)
made = [ReviewItem(f"{start + n:016x}", "pay", "approval", {"n": n}) for n in range(40)]
with ThreadPoolExecutor(4) as pool:
    list(pool.map(letters, made))
"""


def test_processes_and_threads_take_turns(tmp_path: Path) -> None:
    """Three processes of four threads, with files that are put aside under way: every letter is there, whole, once."""
    path = tmp_path / "dead.jsonl"
    environment = {**os.environ, "PYTHONPATH": SRC}
    command = [sys.executable, "-c", PROGRAM, str(path)]
    running = [subprocess.Popen([*command, str(start)], env=environment) for start in (0, 100, 200)]
    assert [one.wait() for one in running] == [0, 0, 0]
    files = [file for file in tmp_path.iterdir() if not file.name.endswith(".lock")]
    lines = [line for file in files for line in file.read_text("ascii").splitlines()]
    assert sorted(json.loads(line)["id"] for line in lines) == [f"{start + n:016x}" for start in (0, 100, 200) for n in range(40)]


FULL = """
import resource, signal, sys
from toolbox import ReviewError
from toolbox.recovery.review import DeadLetterFile, ReviewItem
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
letters = DeadLetterFile(sys.argv[1])
letters(ReviewItem("a" * 16, "pay", "approval", "first"))
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
try:
    letters(ReviewItem("b" * 16, "pay", "approval", "x" * 5_000))
except ReviewError as error:
    print(error.reason, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
letters(ReviewItem("c" * 16, "pay", "approval", ""))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on the size of files")
def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    """A letter for which there is no room is a clear error, and leaves the file as it was."""
    path = tmp_path / "dead.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], env={**os.environ, "PYTHONPATH": SRC}, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("not_queued the dead letter could not be written"), done.stderr
    assert [one.id for one in DeadLetterFile(path).items()] in (["a" * 16], ["a" * 16, "c" * 16])
    assert path.read_bytes().endswith(b"\n")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A file that cannot be made is an error of the queue's, not of the system's."""
    with pytest.raises(ReviewError, match="could not be written"):
        DeadLetterFile(tmp_path / "none" / "dead.jsonl")(item(1))


def waiting(queue: ReviewQueue, registry: Registry, number: int) -> ReviewItem:
    """A call that waits."""
    pending = registry.run("pay", {"amount": number}).error
    assert isinstance(pending, ApprovalPending)
    return queue.get(pending.item_id)


def pay(amount: int) -> int:
    """Pay."""
    return amount


def test_what_was_rejected_or_has_expired_is_a_letter_too(tmp_path: Path) -> None:
    """Where it is asked for, each such item is a dead letter once, whichever process has decided; a sink that fails gets it later."""
    taken: list[ReviewItem] = []
    fails = [True]
    now = [1_000.0]

    def take(one: ReviewItem) -> None:
        if fails[0]:
            raise OSError("no")
        taken.append(one)

    with AuditStore(tmp_path / "a.db") as store:
        queue = ReviewQueue(store, dead_letters=take, bury=["rejected", "expired"], clock=lambda: now[0], expires_after_s=100)
        plain = ReviewQueue(store, clock=lambda: now[0])
        registry = Registry(review=queue)
        registry.register(pay, approval="always")
        ids = [waiting(queue, registry, number).id for number in range(3)]
        queue.reject(ids[0], by="ada")
        plain.reject(ids[1], by="bob")
        assert queue.failed_letters == 1
        assert not taken
        now[0] += 200
        fails[0] = False
        queue.expire()
        assert sorted(one.id for one in taken) == sorted(ids)
        assert {one.state for one in taken} == {ReviewState.REJECTED, ReviewState.EXPIRED}
        assert {one.run for one in taken} == {RunState.NOT_RUN}
        queue.expire()
        assert len(taken) == 3


def test_a_sink_that_fails_is_not_asked_again_and_again(tmp_path: Path) -> None:
    """A step asks it once, and once it works, a step delivers its own letter and a few that are owed; `expire` delivers them all."""
    taken: list[str] = []
    calls, is_broken = 0, True

    def sink(item: ReviewItem) -> None:
        nonlocal calls
        calls += 1
        if is_broken:
            raise OSError("no")
        taken.append(item.id)

    with AuditStore(tmp_path / "audit.db") as store:
        queue = ReviewQueue(store, dead_letters=sink, bury=["rejected"])
        registry = Registry(review=queue)
        registry.register(pay, approval="always")
        ids = [waiting(queue, registry, number).id for number in range(20)]
        for item_id in ids[:12]:
            queue.reject(item_id, by="ada")
        assert calls == queue.failed_letters == 12
        queue.expire()
        assert calls == 13
        is_broken = False
        queue.reject(ids[12], by="ada")
        assert taken == [ids[12], *ids[:3]]
        queue.expire()
        assert sorted(taken) == sorted(ids[:13])
        is_broken, calls = True, 0
        queue.reject(ids[13], by="ada")
        queue.reject(ids[14], by="ada")
        assert calls == 2


def test_where_letters_go_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a store that is a file; a path may be given, and what is no sink is refused."""
    with AuditStore(tmp_path / "a.db") as store:
        letters = ReviewQueue(store).dead_letters
        assert isinstance(letters, DeadLetterFile)
        assert letters.path == tmp_path / "a.db.dead-letters.jsonl"
        named = ReviewQueue(store, dead_letters=str(tmp_path / "x.jsonl")).dead_letters
        assert isinstance(named, DeadLetterFile)
        assert named.path == tmp_path / "x.jsonl"
        with pytest.raises(ReviewError, match="must be callable"):
            ReviewQueue(store, dead_letters=5)  # type: ignore[arg-type]
        with pytest.raises(ReviewError, match="expected a list of 'rejected' and 'expired'"):
            ReviewQueue(store, bury=["waiting"])


def test_threads_share_one_file(tmp_path: Path) -> None:
    """Many threads write to one sink."""
    letters = DeadLetterFile(tmp_path / "dead.jsonl")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: letters(item(number)), range(100)))
    assert len({one.id for one in letters.items()}) == 100
