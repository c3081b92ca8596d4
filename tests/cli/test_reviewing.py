"""``toolbox review``: what is shown, what is decided, what runs, and the exit codes."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox import ApprovalPending, AuditStore, Recovery, Registry, ReviewQueue
from toolbox.cli import main
from toolbox.cli.visible import visible
from toolbox.recovery.review import DeadLetterFile

TOOLS = '''
import os
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from toolbox import Param, Registry

registry = Registry()


@registry.tool(approval="always")
def refund(order: int, amount: Decimal, note: str = "") -> str:
    """Pay money back."""
    print("working")
    if Path("crash").exists():
        os._exit(3)
    with Path("effects").open("a") as file:
        file.write(f"{order} {amount}\\n")
    if note == "vanish":
        Path("audit.db").rename("away.db")
    if note == "fail":
        raise RuntimeError("the bank is closed")
    return f"{amount} for order {order}"


@registry.tool(high_risk=True)
def dose(mg: float, route: Literal["oral", "iv"] = "oral") -> dict[str, float]:
    """Give a dose."""
    return {"mg": mg}


@registry.tool(approval="always")
def send(to: str, key: Annotated[str, Param(secret=True)]) -> str:
    return f"sent to {to} with a key of {len(key)}"
'''


class Queue:
    """A store with a queue, filled as an application fills it."""

    def __init__(self, folder: Path) -> None:
        (folder / "desk.py").write_text(TOOLS, "utf-8")
        self.folder = folder
        with self.open() as (_, registry):
            assert len(registry) == 3

    def open(self) -> Any:
        """The queue and the registry, as the application has them."""
        import contextlib
        import runpy

        @contextlib.contextmanager
        def opened() -> Any:
            tools = runpy.run_path(str(self.folder / "desk.py"))["registry"]
            with AuditStore(self.folder / "audit.db", processes="many") as store:
                queue = ReviewQueue(store)
                registry = Registry(review=queue)
                registry.include(tools)
                yield queue, registry

        return opened()

    def hold(self, tool: str, arguments: Any, **said: Any) -> str:
        """The id of a call that waits."""
        with self.open() as (_, registry):
            pending = registry.run(tool, arguments, metadata=said).error
            assert isinstance(pending, ApprovalPending), pending
            return pending.item_id

    def hash(self, item_id: str) -> str:
        """The hash of an item."""
        with self.open() as (queue, _):
            return str(queue.get(item_id).hash)

    def standing(self, item_id: str) -> str:
        """State and run of an item."""
        with self.open() as (queue, _):
            item = queue.get(item_id)
            return f"{item.state} {item.run}"

    @property
    def effects(self) -> list[str]:
        """What the tool has done."""
        file = self.folder / "effects"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def queue(folder: Path) -> Queue:
    """An empty queue in the folder."""
    return Queue(folder)


def test_list_and_show(queue: Queue, run: Callable[..., Any]) -> None:
    """The list has a line for each open item; an item is shown with what came, what would run, why it waits, and its history."""
    assert "nothing waits here" in run("review", "list", "audit.db").err
    item_id = queue.hold("dose", {"mg": "1,000"}, model="m-1", conversation_id="c-1", tags=["a"])
    queue.hold("dose", {"mg": "1,000"}, model="m-1", conversation_id="c-1", tags=["a"])
    listed = run("review", "list", "audit.db")
    assert listed.code == 0
    head, row = listed.out.splitlines()
    assert head.split() == ["id", "state", "run", "held", "(UTC)", "reason", "tool", "arguments"]
    assert item_id in row
    assert re.search(r" waiting +not_run +[-0-9: ]{11} +high risk \(asked 2 times\) +dose +\{\"mg\": 1000.0, \"route\": \"oral\"\}$", row)
    shown = run("review", "show", "audit.db", item_id[:8])
    assert shown.code == 0
    for part in (
        "reason high_risk",
        "model m-1, conversation_id c-1",
        'metadata {"tags": ["a"]}',
        "asked for 2 times",
        "would have been read as 1000.0",
        "hash " + queue.hash(item_id),
    ):
        assert part in shown.out
    assert re.search(r"\$\.mg +\"1,000\" +1000\.0 +changed", shown.out)
    assert re.search(r"\$\.route +- +\"oral\" +added", shown.out)
    assert re.search(r"hold +toolbox", shown.out)


def test_json_for_scripts(queue: Queue, run: Callable[..., Any]) -> None:
    """With --json every command writes JSON to standard output, and a refusal too."""
    item_id = queue.hold("refund", {"order": 7, "amount": "12.50"})
    (listed,) = json.loads(run("review", "list", "audit.db", "--json").out)
    shown = json.loads(run("review", "show", "audit.db", item_id, "--json").out)
    assert listed["id"] == shown["id"] == item_id
    assert shown["events"][0]["step"] == "hold"
    refused = run("review", "approve", "audit.db", item_id, "--hash", "0" * 64, "--json")
    assert refused.code == 1
    assert json.loads(refused.out)["reason"] == "hash"
    approved = run("review", "approve", "audit.db", item_id, "--hash", shown["hash"], "--json", "--by", "ada")
    assert approved.code == 0
    assert json.loads(approved.out)["decided_by"] == "ada"
    ran = run("review", "run", "audit.db", item_id, "--tools", "desk.py", "--json", "--by", "ada")
    told = json.loads(ran.out)
    assert (ran.code, told["ok"], told["result"], told["item"]["run"]) == (0, True, "12.50 for order 7", "done")


def test_approve_with_the_tools_runs_it(queue: Queue, run: Callable[..., Any]) -> None:
    """With --tools the approved call is run at once; its result alone is on standard output."""
    item_id = queue.hold("refund", {"order": 7, "amount": "12.50"})
    done = run("review", "approve", "audit.db", item_id, "--hash", queue.hash(item_id)[:12], "--tools", "desk.py")
    assert done.code == 0, done.err
    assert done.out == "12.50 for order 7\n"
    assert "done" in done.err
    assert queue.effects == ["7 12.50"]
    again = run("review", "run", "audit.db", item_id, "--tools", "desk.py")
    assert again.code == 1
    assert "was run" in again.err
    assert queue.effects == ["7 12.50"]


def test_approve_without_the_tools_says_that_it_does_not_run(queue: Queue, run: Callable[..., Any]) -> None:
    """Without --tools the decision is taken, and the application runs it."""
    item_id = queue.hold("refund", {"order": 7, "amount": "12.50"})
    done = run("review", "approve", "audit.db", item_id, "--hash", queue.hash(item_id))
    assert done.code == 0
    assert "it does not run by itself" in done.err
    assert queue.standing(item_id) == "approved not_run"
    with queue.open() as (opened, registry):
        assert opened.run(registry, item_id).value == "12.50 for order 7"
    assert queue.effects == ["7 12.50"]


@pytest.mark.parametrize("shown", [None, "", "abc"])
def test_nothing_is_approved_unseen(queue: Queue, run: Callable[..., Any], shown: str | None) -> None:
    """Whoever approves says what: without the hash the command is no command."""
    item_id = queue.hold("refund", {"order": 7, "amount": "12.50"})
    options = [] if shown is None else ["--hash", shown]
    done = run("review", "approve", "audit.db", item_id, *options)
    assert done.code == 2
    assert f"toolbox review show audit.db {item_id}" in done.err
    assert queue.standing(item_id) == "waiting not_run"


def test_correct_then_approve(queue: Queue, run: Callable[..., Any]) -> None:
    """A correction is checked, shown with its difference and its hash, and approved by that; the old hash does not count."""
    item_id = queue.hold("refund", {"order": 7, "amount": "1250"})
    old = queue.hash(item_id)
    corrected = run("review", "correct", "audit.db", item_id, '{"order": 7, "amount": 12.50}', "--tools", "desk.py", "--by", "ada")
    assert corrected.code == 0, corrected.err
    assert re.search(r"\$\.amount +\"1250\" +\"12.50\" +changed", corrected.out)
    new = queue.hash(item_id)
    assert f"hash {new}" in corrected.out
    assert run("review", "approve", "audit.db", item_id, "--hash", old).code == 1
    assert run("review", "approve", "audit.db", item_id, "--hash", new, "--tools", "desk.py").code == 0
    assert queue.effects == ["7 12.50"]
    history = run("review", "show", "audit.db", item_id).out
    assert re.search(r"correct +ada +\{.*12.50", history)


def test_corrections_from_a_file_and_at_once(queue: Queue, run: Callable[..., Any], folder: Path) -> None:
    """Arguments come from a file or standard input too, and what stands there exactly can be approved in the same step."""
    item_id = queue.hold("dose", {"mg": "lots"})
    assert "correct it first" in run("review", "show", "audit.db", item_id).out
    (folder / "new.json").write_text('{"mg": "5"}')
    refused = run("review", "correct", "audit.db", item_id, "@new.json", "--tools", "desk.py", "--approve")
    assert refused.code == 1
    assert '$.mg: coerced "5" to 5.0' in refused.err
    assert queue.standing(item_id) == "waiting not_run"
    done = run("review", "correct", "audit.db", item_id, "-", "--tools", "desk.py", "--approve", stdin='{"mg": 5}')
    assert done.code == 0, done.err
    assert queue.standing(item_id) == "approved not_run"
    ran = run("review", "run", "audit.db", item_id, "--tools", "desk.py")
    assert json.loads(ran.out) == {"mg": 5.0}


@pytest.mark.parametrize("written", ["", "text", "[1]", '{"a": 1, "a": 2}', "{", "@missing.json"])
def test_corrections_that_are_no_object(queue: Queue, run: Callable[..., Any], written: str) -> None:
    """What is no JSON object is no command."""
    item_id = queue.hold("dose", {"mg": "lots"})
    done = run("review", "correct", "audit.db", item_id, written, "--tools", "desk.py")
    assert done.code == 2
    assert queue.standing(item_id) == "waiting not_run"


def test_reject(queue: Queue, run: Callable[..., Any]) -> None:
    """A rejection has its reason on record, and nothing runs any more."""
    item_id = queue.hold("refund", {"order": 7, "amount": "12.50"})
    assert run("review", "reject", "audit.db", item_id, "--reason", "no such order", "--by", "bob").code == 0
    shown = run("review", "show", "audit.db", item_id).out
    assert re.search(r"reject +bob +no such order", shown)
    assert run("review", "approve", "audit.db", item_id, "--hash", queue.hash(item_id)).code == 1
    assert item_id not in run("review", "list", "audit.db").out
    assert item_id in run("review", "list", "audit.db", "--all").out
    assert item_id in run("review", "list", "audit.db", "--state", "rejected").out


def test_secrets_come_from_a_file(queue: Queue, run: Callable[..., Any], folder: Path) -> None:
    """Another process does not hold the secrets: they are read from a file, and shown nowhere; without them nothing is approved."""
    item_id = queue.hold("send", {"to": "u-17", "key": "s3cr3t-canary"})
    shown = run("review", "show", "audit.db", item_id)
    assert "secret: key" in shown.out
    assert "canary" not in shown.all
    needs = run("review", "approve", "audit.db", item_id, "--hash", queue.hash(item_id), "--tools", "desk.py")
    assert needs.code == 2
    assert 'give --secrets FILE, a file with {"key": ...}' in needs.err
    assert queue.standing(item_id) == "waiting not_run"
    for wrong, said in (('{"key": "x", "more": "y"}', '"more", which is no secret argument'), ("{}", "give --secrets FILE")):
        (folder / "key.json").write_text(wrong)
        refused = run(
            "review", "approve", "audit.db", item_id, "--hash", queue.hash(item_id), "--tools", "desk.py", "--secrets", "key.json"
        )
        assert refused.code == 2
        assert said in refused.err
        assert queue.standing(item_id) == "waiting not_run"
    (folder / "key.json").write_text('{"key": "s3cr3t-canary"}')
    assert run("review", "approve", "audit.db", item_id, "--hash", queue.hash(item_id)).code == 0
    done = run("review", "run", "audit.db", item_id, "--tools", "desk.py", "--secrets", "key.json")
    assert done.code == 0, done.err
    assert done.out == "sent to u-17 with a key of 13\n"
    assert b"canary" not in (folder / "audit.db").read_bytes()


def test_approved_but_not_run(queue: Queue, run: Callable[..., Any], folder: Path) -> None:
    """Where the approval stands and the call cannot be run, that is said; as text and as JSON, and once more by run."""
    injected = TOOLS.replace("Param, Registry", "Injected, Param, Registry").replace(
        'note: str = "")', 'note: str = "", *, who: Injected[Path])'
    )
    item_id = queue.hold("refund", {"order": 7, "amount": "1"})
    (folder / "needy.py").write_text(injected)
    done = run("review", "approve", "audit.db", item_id, "--hash", queue.hash(item_id), "--tools", "needy.py", "--json")
    assert done.code == 1
    assert done.err.startswith("approved, but not run: ")
    assert json.loads(done.out)["reason"] == "MissingContext"
    assert queue.standing(item_id) == "approved not_run"
    again = run("review", "run", "audit.db", item_id, "--tools", "needy.py")
    assert (again.code, again.err.startswith("not run: ")) == (1, True)
    assert run("review", "run", "audit.db", item_id, "--tools", "desk.py").code == 0
    assert queue.effects == ["7 1"]


def test_attempts_are_a_table(queue: Queue, run: Callable[..., Any]) -> None:
    """Each attempt has its number, its verdict, what it changed and what is wrong with it, and no JSON of the whole."""
    answers = ["no", '{"recovery_status": "SUCCESS", "corrected_arguments": {"count": 12, "note": "a", "x\u200b": 1}}']
    with queue.open() as (opened, _):
        registry = Registry(review=opened, recovery=Recovery(lambda _: answers.pop(0), max_attempts=2))

        @registry.tool
        def take(count: int, note: str = "") -> None:
            """Take so many."""

        pending = registry.run("take", {"count": "3 pcs", "note": "a"}).error
        assert isinstance(pending, ApprovalPending)
        assert pending.reason == "exhausted"
    shown = run("review", "show", "audit.db", pending.item_id).out
    assert re.search(r"^attempt +verdict +what changed +problem$", shown, re.MULTILINE)
    assert re.search(r"^1 +misshapen +the answer holds no JSON object", shown, re.MULTILINE)
    assert re.search(r'^2 +invalid +\$\["x\\u200b"\]: 1 added; \$\.count: "3 pcs" -> 12  ', shown, re.MULTILINE)
    assert '"corrected_arguments"' not in shown
    assert is_visible(shown)
    assert json.loads(run("review", "show", "audit.db", pending.item_id, "--json").out)["attempts"][1]["corrected_arguments"]["count"] == 12


def test_a_tool_that_fails(queue: Queue, run: Callable[..., Any]) -> None:
    """What the tool raised is told, and the exit code is 1."""
    item_id = queue.hold("refund", {"order": 7, "amount": "1", "note": "fail"})
    done = run("review", "approve", "audit.db", item_id, "--hash", queue.hash(item_id), "--tools", "desk.py")
    assert done.code == 1
    assert "the bank is closed" in done.err
    assert queue.standing(item_id) == "approved failed"


def test_resolve_and_expire(queue: Queue, run: Callable[..., Any], start: Callable[..., Any], folder: Path) -> None:
    """A run that was lost is listed as unknown, put on record, and resolved by a person."""
    item_id = queue.hold("refund", {"order": 7, "amount": "1"})
    assert run("review", "approve", "audit.db", item_id, "--hash", queue.hash(item_id)).code == 0
    (folder / "crash").touch()
    assert start("review", "run", "audit.db", item_id, "--tools", "desk.py").code == 3
    (folder / "crash").unlink()
    assert run("review", "resolve", "audit.db", "zz", "done").code == 2
    listed = run("review", "list", "audit.db", "--run", "unknown")
    assert re.search(rf"{item_id} +approved +unknown .* refund", listed.out)
    assert item_id in run("review", "expire", "audit.db").out
    assert "no run was lost" in run("review", "expire", "audit.db").err
    assert run("review", "run", "audit.db", item_id, "--tools", "desk.py").code == 1
    done = run("review", "resolve", "audit.db", item_id, "not_run", "--reason", "the bank knows nothing of it", "--by", "ada")
    assert done.code == 0
    assert run("review", "run", "audit.db", item_id, "--tools", "desk.py").code == 0
    assert queue.effects == ["7 1"]


def test_restore(queue: Queue, run: Callable[..., Any], folder: Path) -> None:
    """Dead letters go back into the queue, once."""
    item_id = queue.hold("refund", {"order": 7, "amount": "1"})
    with queue.open() as (opened, _):
        DeadLetterFile(folder / "dead.jsonl")(opened.get(item_id))
    (folder / "audit.db").unlink()
    with queue.open():
        pass
    assert "1 of 1 put back" in run("review", "restore", "audit.db", "dead.jsonl").out
    assert "0 of 1 put back" in run("review", "restore", "audit.db", "dead.jsonl").out
    assert queue.standing(item_id) == "waiting not_run"
    assert run("review", "restore", "audit.db", "missing.jsonl").code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["list", "missing.db"], "there is no file missing.db"),
        (["list", "tools.py"], "is not a database|name another file"),
        (["list", "mysql://x/y"], "no engine of the store"),
        (["list", "audit.db", "--state", "open"], '--state is one of waiting, corrected, approved, rejected, expired, and not "open"$'),
        (["list", "audit.db", "--state", "done"], 'rejected, expired, and not "done"; done is one for --run'),
        (
            ["list", "audit.db", "--run", "waiting"],
            "--run is one of not_run, running, done, failed, unknown, and .*; waiting is one for --state",
        ),
        (["show", "audit.db", "nope"], "there is no item 'nope'"),
        (["correct", "audit.db", "{id}", "{}"], "give --tools"),
        (["run", "audit.db", "{id}"], "give --tools"),
        (["run", "audit.db", "{id}", "--tools", "missing.py"], "there is no file missing.py"),
        (["approve", "audit.db", "{id}", "--hash", "0" * 64, "--secrets", "-"], "needs --tools"),
        (["approve", "audit.db", "{id}", "--hash", "0" * 64, "--tools", "tools.py"], "there is no tool named"),
        (["reject", "audit.db", "{id}", "--by", ""], "by= must name"),
        (["resolve", "audit.db", "{id}", "maybe"], "Invalid value"),
    ],
)
def test_what_cannot_be_carried_out(queue: Queue, run: Callable[..., Any], folder: Path, arguments: list[str], said: str) -> None:
    """A command that cannot be carried out is 2, says why, makes no file and changes nothing."""
    item_id = queue.hold("refund", {"order": 7, "amount": "1"})
    before = {path.name for path in folder.iterdir()}
    done = run("review", *(part.replace("{id}", item_id) for part in arguments))
    assert done.code == 2, done.all
    assert re.search(said, done.err), done.err
    assert "Traceback" not in done.err
    assert {path.name for path in folder.iterdir()} - before <= {"__pycache__"}
    assert queue.standing(item_id) == "waiting not_run"


def test_a_store_without_a_queue(folder: Path, run: Callable[..., Any]) -> None:
    """A store of records alone is not made into a queue by looking."""
    AuditStore(folder / "audit.db").close()
    done = run("review", "list", "audit.db")
    assert done.code == 2
    assert "holds no review queue" in done.err


def test_an_approval_that_came_too_late(queue: Queue, run: Callable[..., Any]) -> None:
    """An item that has changed since it was looked at is refused, whatever part of the old hash is given."""
    item_id = queue.hold("refund", {"order": 7, "amount": "1"})
    old = queue.hash(item_id)
    with queue.open() as (opened, registry):
        opened.correct(item_id, {"order": 7, "amount": "1000"}, by="eve", registry=registry)
    for shown in (old, old[:12]):
        done = run("review", "approve", "audit.db", item_id, "--hash", shown, "--tools", "desk.py")
        assert done.code == 1
        assert "is not what was shown" in done.err
    assert not queue.effects


# -- hostile text --------------------------------------------------------------------------------------------------------------------

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\u202egnp.exe",
    "a\u200bb",
    "a\u3164b\u2800",
    "\u0430pple",
    "[bold]approved[/bold]",
    "line\nhash 0000",
    "\x9b31m",
    "\ud800",
    "\x00",
    "tag \U000e0041",
    "e\ufe0f\U000e0101",
    " " * 500 + "hidden at the end",
]


def is_visible(shown: str) -> bool:
    """Whether every character of it can be seen, and does nothing to a terminal."""
    return all(character.isprintable() or character == "\n" for character in shown) and not re.search(
        "[\u3164\u2800\ufe0f\U000e0101]", shown
    )


def test_hostile_text_is_visible(queue: Queue, run: Callable[..., Any], screen: Callable[..., str]) -> None:
    """Whatever a model writes, no control or invisible character gets out, and nothing of it is cut off when an item is shown."""
    with queue.open() as (_, registry):
        for text in HOSTILE:
            registry.run("refund", {"order": 7, "amount": "1", "note": text}, metadata={"model": text, "conversation_id": text})
    listed = json.loads(run("review", "list", "audit.db", "--json").out)
    assert [item["invoked"]["note"] for item in listed] == HOSTILE
    shown = run("review", "list", "audit.db").out
    assert is_visible(shown)
    assert len(shown.splitlines()) == len(HOSTILE) + 1
    for item in listed:
        shown = run("review", "show", "audit.db", item["id"]).out
        assert is_visible(shown)
        assert len(re.findall(r"^hash ", shown, re.MULTILINE)) == 1
        if item["invoked"]["note"] == "\u0430pple":
            assert "\\u0430pple" in shown
        if "hidden" in item["invoked"]["note"]:
            assert "hidden at the end" in shown
    drawn = screen("review", "show", "audit.db", listed[0]["id"]) + screen("review", "list", "audit.db")
    assert not {"\u202e", "\u200b", "\x9b", "\x00", "\U000e0041", "\u3164", "\ud800"} & set(drawn)
    assert "\x1b[31mred" not in drawn


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_visible_text(text: str) -> None:
    """What is made visible is printable, and plain text is left alone."""
    shown = visible(text)
    assert is_visible(shown)
    if text.isascii() and text.isprintable():
        assert shown == text


def test_on_a_terminal(queue: Queue, screen: Callable[..., str]) -> None:
    """On a terminal, wide or narrow, the tables are drawn and nothing of the arguments is missing."""
    item_id = queue.hold("refund", {"order": 7, "amount": "1", "note": "x" * 300})
    for columns in (40, 80, 200):
        drawn = screen("review", "show", "audit.db", item_id, columns=columns)
        assert drawn.count("x") >= 600
        assert "refund" in screen("review", "list", "audit.db", columns=columns)


def test_without_the_extra(start: Callable[..., Any], folder: Path) -> None:
    """Without SQLAlchemy the command says what to install, and the other commands work."""
    (folder / "sqlalchemy.py").write_text("raise ModuleNotFoundError(\"No module named 'sqlalchemy'\", name='sqlalchemy')")
    done = start("review", "list", "audit.db", PYTHONPATH=f"{folder}{os.pathsep}{Path(main.__code__.co_filename).parents[2]}")
    assert done.code == 2
    assert "toolbox-dispatch[store]" in done.err


@pytest.mark.parametrize("as_json", [False, True])
def test_a_store_that_goes_away_while_the_call_runs(queue: Queue, capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    """The call ran, so its result is shown; that its end is not on record is said, with what to do."""
    item_id = queue.hold("refund", {"order": 7, "amount": "5", "note": "vanish"})
    options = ["--tools", "desk.py", *(["--json"] if as_json else [])]
    assert main(["review", "approve", "audit.db", item_id, "--hash", queue.hash(item_id), *options]) == 0
    said = capsys.readouterr()
    assert queue.effects == ["7 5"]
    assert "it ran, but how it ended is not on record" in said.err
    assert f"toolbox review resolve audit.db {item_id}" in said.err
    if as_json:
        told = json.loads(said.out)
        assert (told["ok"], told["result"], told["item"]["run"]) == (True, "5 for order 7", "unknown")
    else:
        assert said.out == "5 for order 7\n"
