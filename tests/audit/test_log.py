"""The log: silent until configured, one line of JSON an event, by levels, whatever a model sends."""

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

import toolbox
from toolbox import AuditRecord, CallStatus, Diagnostic, DiagnosticKind, Failure, FailureReason, Registry, Risk, Unknown
from toolbox.audit import is_silent, level_of, log, log_record, warn
from toolbox.policy import LENIENT, Policy

ROOT = Path(toolbox.__file__).parents[1]


class Lines(logging.Handler):
    """Keeps the lines that a stream handler would write."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.stream = io.StringIO()
        self.levels: list[int] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.levels.append(record.levelno)
        self.stream.write(f"{self.format(record)}\n")

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line, parse_constant=pytest.fail) for line in self.text.split("\n") if line]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """A handler on toolbox's own logger, at every level."""
    logger, handler = logging.getLogger("toolbox"), Lines()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


def double(number: int, note: str = "") -> int:
    """A sample tool."""
    return number * 2


def fail(number: int) -> int:
    """A sample tool."""
    raise ValueError("\n{}\x1b[31m %s {0}")


def take(x: Any = None, **rest: Any) -> None:
    """A sample tool."""


@pytest.fixture
def registry() -> Registry:
    """Some tools."""
    made = Registry()
    for function in (double, fail, take):
        made.register(function)
    return made


# -- silence -------------------------------------------------------------------------------------------------------------------------

QUIET = """
import asyncio, sys
from toolbox import Registry, tool
registry = Registry(sinks=[lambda record: 1 / 0])
@registry.tool
def double(number: int) -> int:
    return number * 2
@registry.tool
def fail(number: int) -> int:
    raise ValueError("x")
for name in ("double", "fail", "nope"):
    for arguments in ({"number": 2}, {"number": "2"}, {"number": "x", "y": 1}, "{", None):
        registry.run(name, arguments)
        asyncio.run(registry.arun(name, arguments, timeout_s=5))
"""


def _python(code: str) -> tuple[str, str]:
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    return ran.stdout, ran.stderr


def test_silent_until_configured() -> None:
    """A program that asked for no log gets none: nothing on either stream, whatever happens, and structlog is not even loaded."""
    out, err = _python(QUIET + "\nprint('structlog' in sys.modules, registry.lost_records > 0)\n")
    assert (out, err) == ("False True\n", "")


def test_one_line_an_event_once_configured() -> None:
    """The standard configuration is enough, and nothing goes to stdout."""
    out, err = _python("import logging\nlogging.basicConfig(level=logging.DEBUG, format='%(message)s')\n" + QUIET)
    assert out == ""
    events = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert {event["event"] for event in events} == {"tool_call", "audit_sink_failed"}
    assert len([event for event in events if event["event"] == "tool_call"]) == 30


@pytest.mark.parametrize(
    ("configure", "silent"),
    [
        ("", True),
        ("logging.getLogger('toolbox').addHandler(logging.NullHandler())", True),
        ("logging.getLogger().addHandler(logging.NullHandler())", True),
        ("logging.getLogger().addHandler(logging.StreamHandler())", False),
        ("logging.getLogger('toolbox').addHandler(logging.StreamHandler())", False),
        ("logging.getLogger().addHandler(logging.StreamHandler()); logging.getLogger('toolbox').propagate = False", True),
        ("logging.getLogger().addHandler(logging.StreamHandler()); logging.disable(logging.CRITICAL)", True),
        ("logging.getLogger().addHandler(logging.StreamHandler()); logging.getLogger('toolbox').setLevel(logging.CRITICAL)", True),
        ("import structlog", True),
        ("import structlog; structlog.configure()", False),
        ("sys.modules['structlog'] = type(sys)('structlog')", True),
    ],
)
def test_who_listens(configure: str, silent: bool) -> None:
    """A line is made only when somebody would get it."""
    out, _ = _python(f"import logging, sys\n{configure}\nfrom toolbox.audit import is_silent\nprint(is_silent())\n")
    assert out == f"{silent}\n"


def test_who_listens_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without a process of its own: nobody, or a structlog that another thread is loading at this moment."""
    monkeypatch.setattr(log, "_root", logging.RootLogger(logging.DEBUG))
    monkeypatch.setattr(log._logger, "parent", log._root)
    assert is_silent()
    monkeypatch.setitem(sys.modules, "structlog", type(sys)("structlog"))
    assert is_silent()
    monkeypatch.delitem(sys.modules, "structlog")
    assert is_silent()


def test_levels_are_asked_for(lines: Lines) -> None:
    """A line below the level of the logger is not made."""
    logging.getLogger("toolbox").setLevel(logging.WARNING)
    assert (is_silent(logging.DEBUG), is_silent(logging.WARNING), is_silent()) == (True, False, False)
    log_record(AuditRecord("t", "p", {}, status=CallStatus.DONE))
    assert lines.text == ""


# -- levels --------------------------------------------------------------------------------------------------------------------------


def _record(status: CallStatus, *risks: Risk) -> AuditRecord:
    changes = tuple(Diagnostic("$.a", DiagnosticKind.COERCED, risk, "1", 1, "str->int") for risk in risks)
    return AuditRecord("t", "lenient", {}, diagnostics=changes, status=status)


@pytest.mark.parametrize(
    ("record", "level"),
    [
        (_record(CallStatus.DONE), logging.DEBUG),
        (_record(CallStatus.DONE, Risk.INFO), logging.INFO),
        (_record(CallStatus.DONE, Risk.INFO, Risk.WARNING), logging.WARNING),
        (_record(CallStatus.DONE, Risk.RISKY), logging.WARNING),
        *((_record(status), logging.ERROR) for status in CallStatus if status is not CallStatus.DONE),
    ],
)
def test_the_level_of_a_record(record: AuditRecord, level: int, lines: Lines) -> None:
    """A clean call at DEBUG, changes by their risk, and whatever did not succeed at ERROR."""
    assert level_of(record) == level
    log_record(record)
    assert lines.levels == [level]


@pytest.mark.parametrize(
    ("name", "arguments", "level", "status"),
    [
        ("double", {"number": 1, "note": ""}, "DEBUG", "done"),
        ("double", {"number": "1", "note": ""}, "INFO", "done"),
        ("double", {"number": "1e3", "note": ""}, "WARNING", "done"),
        ("double", {"number": 1, "note": "", "zzzz": 2}, "WARNING", "done"),
        ("double", {"number": "x", "note": ""}, "ERROR", "refused"),
        ("fail", {"number": 1}, "ERROR", "failed"),
        ("nope", {}, "ERROR", "unknown_tool"),
    ],
)
def test_the_level_of_a_call(registry: Registry, lines: Lines, name: str, arguments: Any, level: str, status: str) -> None:
    """One event a call, at the level of what happened."""
    registry.run(name, arguments, call_id="c1", metadata={"turn": 1})
    (event,) = lines.events
    assert (lines.levels, event["status"], event["event"]) == ([getattr(logging, level)], status, "tool_call")
    assert (event["tool"], event["call_id"], event["policy"], event["metadata"]) == (name, "c1", "lenient", '{"turn": 1}')
    assert event["duration_ms"] >= 0
    assert ("error" in event) is (level == "ERROR")
    assert ("changes" in event) is (level in ("INFO", "WARNING"))
    assert ("failures" in event) is (status == "refused")
    assert json.loads(event["arguments"]) == (None if name == "nope" else arguments)


# -- hostile values ------------------------------------------------------------------------------------------------------------------


class _Raising:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__


def _cycle() -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["self"] = found
    return found


def _deep(levels: int) -> Any:
    found: Any = "bottom"
    for _ in range(levels):
        found = {"d": found}
    return found


HOSTILE: dict[str, Any] = {
    "newline": {"x": '\n{"event": "tool_ok", "level": "info"}'},
    "carriage return": {"x": "\r\nINFO forged"},
    "ansi": {"x": "\x1b[31m\x1b[2J\x07"},
    "c1": {"x": "\x9b31m\x85"},
    "separators": {"x": "\u2028\u2029\x0b\x0c\x1c"},
    "surrogate": {"x": "\ud800", "\udfff": 1},
    "percent": {"x": "%s %d %(name)s {0} {event}"},
    "nan": {"x": [float("nan"), float("inf")]},
    "integer": {"x": 10**1_000},
    "long integer": {"x": 10**4_200},
    "raising": {"x": _Raising()},
    "bytes": {"x": b"\xff\n"},
    "cycle": {"x": _cycle()},
    "deep": {"x": _deep(50)},
    "too deep": {"x": _deep(100_000)},
    "many": {"x": list(range(90_000))},
    "long": {"x": "\U0001f600" * 900_000},
    "many long": {"x": ["\U0001f600" * 5_000] * 150},
    "long keys": {f"{'k' * 100_000}{n}": 1 for n in range(50)},
    "keys of ours": {
        "event": "e",
        "level": "l",
        "self": "s",
        "timestamp": "t",
        "logger": "g",
        "method_name": "m",
        "tool": "x",
        "exc_info": 1,
    },
    "odd keys": {"": 1, " ": 2, "a\nb": 3, "\x1b[31m": 4},
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_arguments(registry: Registry, lines: Lines, case: str) -> None:
    """Whatever comes: one line of RFC 8259 JSON, printable ASCII, bounded; nothing of it forges a key of ours."""
    registry.run("take", HOSTILE[case], call_id=case)
    (event,) = lines.events
    assert lines.text.count("\n") == 1
    assert lines.text.isascii()
    assert lines.text[:-1].isprintable()
    assert len(lines.text) < 16_384
    assert (event["event"], event["tool"], event["call_id"]) == ("tool_call", "take", case)
    json.loads(event["arguments"], parse_constant=pytest.fail)


@pytest.mark.parametrize("name", ["\n{}", "\x1b[31mred", "x" * 1_000_000, "\ud800", "a b=c", '"', "\u2028"])
def test_hostile_names(registry: Registry, lines: Lines, name: str) -> None:
    """The name of a tool that is not there, and the id of a call, are a model's text like any other."""
    registry.run(name, {}, call_id=name)
    (event,) = lines.events
    assert lines.text.count("\n") == 1
    assert len(lines.text) < 16_384
    assert event["tool"].isprintable()
    assert event["call_id"].isprintable()
    assert event["status"] == "unknown_tool"


def test_hostile_exceptions(registry: Registry, lines: Lines) -> None:
    """The text of an exception is untrusted too."""
    registry.run("fail", {"number": 1})
    (event,) = lines.events
    assert lines.text.count("\n") == 1
    assert event["error"].isprintable()
    assert "\\u001b" in event["error"] or "\\\\x1b" in event["error"]


@pytest.mark.parametrize(
    ("changes", "failures"),
    [(10_000, 0), (0, 10_000), (10_000, 10_000), (30, 21)],
)
def test_long_records(lines: Lines, changes: int, failures: int) -> None:
    """However much there is to say about a call, the line is bounded and says that there is more."""
    wide = "\U0001f600" * 500
    path = "$" + f".{wide}" * 30
    record = AuditRecord(
        "t",
        "p",
        {},
        diagnostics=tuple(Diagnostic(path, DiagnosticKind.COERCED, Risk.INFO, wide, wide, wide) for _ in range(changes)),
        failures=tuple(Failure(path, FailureReason.INVALID, wide, wide, wide, wide) for _ in range(failures)),
        status=CallStatus.REFUSED,
        error=wide * 10,
        metadata={"x": [wide] * 100},
        call_id=wide,
    )
    log_record(record)
    (event,) = lines.events
    assert len(lines.text) < 16_384
    for key, count in (("changes", changes), ("failures", failures)):
        if count:
            assert event[key][-1] == f"and {count - len(event[key]) + 1} more"


def test_short_records_are_whole(lines: Lines) -> None:
    """What has room is told in full."""
    log_record(_record(CallStatus.DONE, Risk.INFO, Risk.WARNING))
    (event,) = lines.events
    assert event["changes"] == ['[info] $.a: coerced "1" to 1 (str->int)', '[warning] $.a: coerced "1" to 1 (str->int)']


def test_an_id_that_is_no_text(registry: Registry, lines: Lines) -> None:
    """A provider's id may be a number; the line is written all the same."""
    registry.run("double", {"number": 1}, call_id=17)  # type: ignore[arg-type]
    assert lines.events[0]["call_id"] == "17"


# -- the application's own configuration ---------------------------------------------------------------------------------------------


@pytest.fixture
def configured() -> Iterator[list[dict[str, Any]]]:
    """The application's own structlog: what reaches its last processor."""
    seen: list[dict[str, Any]] = []

    def keep(logger: Any, method: str, event: Any) -> str:
        seen.append({**event, "method": method})
        return ""

    class Nowhere:
        def msg(self, message: str) -> None: ...

        debug = info = warning = error = msg

    structlog.configure(
        processors=[structlog.processors.add_log_level, keep], logger_factory=lambda *names: Nowhere(), cache_logger_on_first_use=False
    )
    yield seen
    structlog.reset_defaults()


def test_the_applications_structlog_is_used(registry: Registry, configured: list[dict[str, Any]]) -> None:
    """Where structlog is configured, its processors get the event, with the arguments under one key."""
    registry.run("double", {"number": "2", "note": ""})
    registry.run("take", {"event": "e", "level": "l", "self": "s"})
    registry.run("double", {"number": "x"})
    assert [(item["method"], item["level"], item["event"]) for item in configured] == [
        ("info", "info", "tool_call"),
        ("info", "info", "tool_call"),
        ("error", "error", "tool_call"),
    ]
    assert json.loads(configured[1]["arguments"]) == {"event": "e", "level": "l", "self": "s"}


def test_a_console_is_not_painted(registry: Registry, capsys: pytest.CaptureFixture[str]) -> None:
    """A renderer that prints short texts as they are gets no control characters from a model."""
    structlog.configure(processors=[structlog.dev.ConsoleRenderer(colors=False)])
    try:
        registry.run("\x1b[31mred\x9b", {}, call_id="\x1b[2J")
        registry.run("double", {"number": "\x1b[31m", "\x1b[2J": 1}, metadata={"\x1b": "\x1b"})
    finally:
        structlog.reset_defaults()
    printed = capsys.readouterr().out
    assert "tool_call" in printed
    assert not set(printed) & {"\x1b", "\x9b", "\x07"}


# -- what fails here touches nothing --------------------------------------------------------------------------------------------------


class _Broken(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise RuntimeError("broken handler")


def test_a_raising_handler_touches_no_call(registry: Registry) -> None:
    """The call has had its effect; the line is lost, and counted."""
    logger, handler = logging.getLogger("toolbox"), _Broken()
    logger.addHandler(handler)
    lost = log.lost_lines
    try:
        assert registry.dispatch("double", {"number": "1e3"}) == 2_000
        assert not registry.run("nope", {}).ok
        warn("something", what="x")
    finally:
        logger.removeHandler(handler)
    assert log.lost_lines - lost >= 3


def test_a_raising_processor_touches_no_call(registry: Registry) -> None:
    """The same for the application's own structlog."""

    def broken(*event: Any) -> Any:
        raise RuntimeError("broken processor")

    structlog.configure(processors=[broken])
    try:
        assert registry.dispatch("double", {"number": "2"}) == 4
    finally:
        structlog.reset_defaults()


def test_a_failing_sink_is_reported(lines: Lines) -> None:
    """The log says which sink failed and how, and nothing of what the sink was given."""

    class Broken:
        def __call__(self, record: AuditRecord) -> None:
            raise OSError("no space for sk-1")

    registry = Registry(sinks=[Broken()])
    registry.register(double)
    registry.run("double", {"number": 1, "note": ""})
    assert [event["event"] for event in lines.events] == ["tool_call", "audit_sink_failed"]
    assert lines.events[1] == {"event": "audit_sink_failed", "sink": "Broken", "error": "OSError"}
    assert lines.levels[1] == logging.WARNING


def test_a_warning_without_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes nowhere, quietly."""
    monkeypatch.setattr(log, "is_silent", lambda level=0: True)
    monkeypatch.setattr(log, "_emit", None)
    warn("something")
    log_record(_record(CallStatus.FAILED))


def test_dropped_arguments_are_on_record(lines: Lines) -> None:
    """What was left out is a warning in the log; what is kept aside is told too."""
    for unknown, words in ((Unknown.DROP, "left out 2"), (Unknown.PRESERVE, "kept 2 aside")):
        registry = Registry(Policy(unknown=unknown))
        registry.register(double)
        registry.run("double", {"number": 1, "note": "", "zzzz": 2})
        assert words in lines.events[-1]["changes"][0]
    assert LENIENT.unknown is Unknown.DROP
