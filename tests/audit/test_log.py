"""The log: silent until configured, one line of JSON an event, by levels, whatever a model sends and an application configures.

``TOOLBOX_HYPOTHESIS=thorough`` runs 10,000 calls of any kind.
"""

import asyncio
import io
import json
import logging
import logging.config
import logging.handlers
import os
import queue
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
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
        (_record(CallStatus.PENDING), logging.WARNING),
        (_record(CallStatus.RECOVERED), logging.WARNING),
        *((_record(status), logging.ERROR) for status in CallStatus if status not in ("done", "pending", "recovered")),
    ],
)
def test_the_level_of_a_record(record: AuditRecord, level: int, lines: Lines) -> None:
    """A clean call at DEBUG, changes by their risk, what waits or was corrected at WARNING, and whatever did not succeed at ERROR."""
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
    emitted: list[str] = []
    monkeypatch.setattr(log, "_emit", lambda _level, event, _fields: emitted.append(event))
    warn("something")
    log_record(_record(CallStatus.FAILED))
    assert emitted == []


def test_dropped_arguments_are_on_record(lines: Lines) -> None:
    """What was left out is a warning in the log; what is kept aside is told too."""
    for unknown, words in ((Unknown.DROP, "left out 2"), (Unknown.PRESERVE, "kept 2 aside")):
        registry = Registry(Policy(unknown=unknown))
        registry.register(double)
        registry.run("double", {"number": 1, "note": "", "zzzz": 2})
        assert words in lines.events[-1]["changes"][0]
    assert LENIENT.unknown is Unknown.DROP


# -- the application's own set-up ----------------------------------------------------------------------------------------------------


class _Written:
    """What a set-up of the application has written, and where."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    @property
    def lines(self) -> list[str]:
        """The lines that were written."""
        return [line for line in self.stream.getvalue().split("\n") if line]


@pytest.fixture
def written() -> Iterator[_Written]:
    """A place for lines; afterwards structlog and the standard library's logging are as they were."""
    logger, root = logging.getLogger("toolbox"), logging.getLogger()
    kept = [(item, item.level, item.propagate, item.disabled, list(item.handlers), list(item.filters)) for item in (logger, root)]
    disabled = {name for name, item in root.manager.loggerDict.items() if isinstance(item, logging.Logger) and item.disabled}
    threshold, kind = root.manager.disable, logging.getLoggerClass()
    yield _Written()
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    for item, level, propagate, is_disabled, handlers, filters in kept:
        item.setLevel(level)
        item.propagate, item.disabled, item.handlers[:], item.filters[:] = propagate, is_disabled, handlers, filters
    for name, other in root.manager.loggerDict.items():
        if isinstance(other, logging.Logger):
            other.disabled = name in disabled
    logging.disable(threshold)
    logging.setLoggerClass(kind)


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso"),
    structlog.processors.StackInfoRenderer(),
    structlog.processors.CallsiteParameterAdder(),
]


def _printing(written: _Written, *processors: Any, **options: Any) -> None:
    structlog.configure(processors=list(processors), logger_factory=structlog.PrintLoggerFactory(written.stream), **options)


def _through_logging(written: _Written, *processors: Any, formatter: logging.Formatter | None = None, **options: Any) -> None:
    handler = logging.StreamHandler(written.stream)
    handler.addFilter(logging.Filter("toolbox"))  # asyncio has things to say too
    handler.setFormatter(formatter)
    logging.getLogger().handlers[:] = [handler]
    logging.getLogger().setLevel(logging.DEBUG)
    structlog.configure(
        processors=list(processors),
        logger_factory=structlog.stdlib.LoggerFactory(),
        **{"wrapper_class": structlog.stdlib.BoundLogger, **options},
    )


def _formatted(written: _Written, renderer: Any) -> None:
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
    )
    _through_logging(
        written, structlog.stdlib.filter_by_level, *_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter, formatter=formatter
    )


def _with_standard_lines(written: _Written) -> None:
    """Only the lines of the standard library are rendered by structlog, which itself is not configured."""
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, structlog.processors.JSONRenderer()],
    )
    handler = logging.StreamHandler(written.stream)
    handler.addFilter(logging.Filter("toolbox"))
    handler.setFormatter(formatter)
    logging.getLogger().handlers[:] = [handler]
    logging.getLogger().setLevel(logging.DEBUG)


class _Own:
    """A wrapper of the application's own, with the methods that it uses."""

    def __init__(self, logger: Any, processors: Any, context: Any) -> None:
        self.logger, self.processors, self._context = logger, processors, context

    def bind(self, **more: Any) -> Any:
        return type(self)(self.logger, self.processors, {**self._context, **more})

    new = unbind = try_unbind = bind

    def debug(self, event: str, **more: Any) -> None:
        self.logger.msg(structlog.processors.JSONRenderer()(self.logger, "debug", {"event": event, **more}))

    info = warning = error = debug


_dict_tracebacks: Any = structlog.processors.dict_tracebacks
_json = structlog.processors.JSONRenderer

# What applications configure -> whether a line is one JSON object.
SET_UPS: dict[str, tuple[Callable[[_Written], None], bool]] = {
    "json": (lambda to: _printing(to, structlog.processors.add_log_level, structlog.processors.TimeStamper(), _json()), True),
    "json sorted": (lambda to: _printing(to, _json(sort_keys=True, ensure_ascii=False)), True),
    "json, dict tracebacks": (lambda to: _printing(to, structlog.processors.add_log_level, _dict_tracebacks, _json()), True),
    "json, text tracebacks": (lambda to: _printing(to, structlog.processors.format_exc_info, _json()), True),
    "json, other names": (
        lambda to: _printing(to, structlog.processors.add_log_level, structlog.processors.EventRenamer("msg", "_event"), _json()),
        True,
    ),
    "json, filtering": (lambda to: _printing(to, _json(), wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG)), True),
    "json, cached": (lambda to: _printing(to, _json(), cache_logger_on_first_use=True), True),
    "json, own wrapper": (lambda to: _printing(to, wrapper_class=_Own), True),
    "json, asynchronous": (lambda to: _through_logging(to, *_SHARED, _json(), wrapper_class=structlog.stdlib.AsyncBoundLogger), True),
    "json, factory without a name": (
        lambda to: structlog.configure(processors=[_json()], logger_factory=lambda: structlog.PrintLogger(to.stream)),
        True,
    ),
    "json bytes": (
        lambda to: structlog.configure(processors=[_json(lambda *a, **k: json.dumps(*a, **k).encode())], logger_factory=_bytes_to(to)),
        True,
    ),
    "logging, json": (lambda to: _through_logging(to, *_SHARED, structlog.processors.format_exc_info, _json()), True),
    "logging, unicode": (lambda to: _through_logging(to, *_SHARED, structlog.processors.UnicodeDecoder(), _json()), True),
    "logging, formatter": (lambda to: _formatted(to, _json()), True),
    "logging alone, formatter": (_with_standard_lines, True),
    "logging, extra": (lambda to: _through_logging(to, structlog.stdlib.render_to_log_kwargs, formatter=_OwnFormatter()), True),
    "logging, arguments": (
        lambda to: _through_logging(to, structlog.stdlib.render_to_log_args_and_kwargs, formatter=_OwnFormatter()),
        True,
    ),
    "console": (lambda to: _printing(to, structlog.processors.add_log_level, structlog.dev.ConsoleRenderer(colors=False)), False),
    "logging, console": (lambda to: _formatted(to, structlog.dev.ConsoleRenderer(colors=False)), False),
    "logfmt": (lambda to: _printing(to, structlog.processors.LogfmtRenderer()), False),
    "key values": (lambda to: _printing(to, structlog.processors.KeyValueRenderer(key_order=["event"])), False),
}


def _bytes_to(written: _Written) -> Any:
    """A factory of loggers that write bytes."""

    class Kept(io.BytesIO):
        def write(self, data: Any) -> int:
            return written.stream.write(bytes(data).decode("ascii"))

    return structlog.BytesLoggerFactory(Kept())


class _OwnFormatter(logging.Formatter):
    """What applications write themselves, or take from a package: each field of a line as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        plain = vars(logging.makeLogRecord({}))
        more = {name: value for name, value in vars(record).items() if name not in plain}
        return json.dumps({"level": record.levelname, "event": record.getMessage(), "logger": record.name, **more}, default=repr)


# Whatever stands in these must not get in the way of what a line says.
_ODD_METADATA: dict[Any, Any] = {
    "event": "e",
    "level": "l",
    "timestamp": "t",
    "self": "s",
    "method_name": "m",
    "exc_info": True,
    "stack_info": True,
    "logger": 1,
    "args": (),
    "name": "n",
    "msg": "%s %d",
    ("a", 1): 2,
    "\x1b[31m": "\x1b",
}


@pytest.mark.parametrize("set_up", SET_UPS)
@pytest.mark.parametrize("is_async", [False, True])
def test_the_set_ups_of_applications(registry: Registry, written: _Written, set_up: str, is_async: bool) -> None:
    """One line an event, at any level, whatever is sent: nothing is lost, nothing forges a key, nothing paints the console."""
    configure, is_json = SET_UPS[set_up]
    configure(written)
    lost = log.lost_lines
    calls: list[tuple[str, Any]] = [
        ("double", {"number": 1, "note": ""}),
        ("double", {"number": "1", "note": ""}),
        ("double", {"number": "x"}),
        ("fail", {"number": 1}),
        ("n\x1b[31m\n{}", {}),
        *(("take", HOSTILE[case]) for case in ("newline", "ansi", "surrogate", "long integer", "raising", "cycle", "too deep")),
        ("take", {"x": "é\u2028\U0001f600", **HOSTILE["keys of ours"]}),
    ]

    async def main() -> None:
        for name, arguments in calls:
            await registry.arun(name, arguments, call_id="c\n1", metadata=_ODD_METADATA)

    if is_async:
        asyncio.run(main())
    else:
        for name, arguments in calls:
            registry.run(name, arguments, call_id="c\n1", metadata=_ODD_METADATA)
    assert (log.lost_lines - lost, len(written.lines)) == (0, len(calls))
    assert not set(written.stream.getvalue()) & {"\x1b", "\x9b", "\x07", "\r", "\u2028", "\x85"}
    for line, (name, _) in zip(written.lines, calls, strict=True):
        assert "tool_call" in line
        assert len(line) < 40_000
        if not is_json:
            continue
        event = json.loads(line, parse_constant=pytest.fail)
        if "status" not in event:
            # Lines of the standard library arrive in structlog's formatter as one text, which is a JSON object of its own.
            event = json.loads(event["event"], parse_constant=pytest.fail)
        assert event.get("event", event.get("msg")) == "tool_call"
        assert event["tool"].startswith(name[:1])
        assert event.get("logger", "toolbox") == "toolbox"
        json.loads(event["arguments"], parse_constant=pytest.fail)
        assert json.loads(event["metadata"])["event"] == "e"
        assert "exception" not in event


def test_levels_of_a_filtering_logger(registry: Registry, written: _Written) -> None:
    """What the application's own wrapper filters out is not written, and not counted as lost."""
    _printing(written, _json(), wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    lost = log.lost_lines
    registry.run("double", {"number": "1"})
    registry.run("double", {"number": "x"})
    assert [json.loads(line)["status"] for line in written.lines] == ["refused"]
    assert log.lost_lines == lost


def test_what_the_application_has_bound(registry: Registry, written: _Written) -> None:
    """Its context is in the line, and does not take the place of what the line says."""
    _printing(written, structlog.contextvars.merge_contextvars, _json())
    structlog.contextvars.bind_contextvars(request_id="r-1", tool="other", status="other", event="other")
    registry.run("double", {"number": 1})
    (event,) = map(json.loads, written.lines)
    assert (event["request_id"], event["tool"], event["status"], event["event"]) == ("r-1", "double", "done", "tool_call")


def test_captured_for_a_test(registry: Registry, written: _Written) -> None:
    """structlog's own way to look at events in tests sees them."""
    structlog.configure()
    with structlog.testing.capture_logs() as events:
        registry.run("double", {"number": "2"})
    assert [(item["event"], item["log_level"], item["tool"]) for item in events] == [("tool_call", "info", "double")]


def test_an_event_that_is_dropped(registry: Registry, written: _Written) -> None:
    """A processor of the application may drop events; nothing is lost by that."""

    def drop(logger: Any, method: str, event: Any) -> Any:
        raise structlog.DropEvent

    _printing(written, drop)
    lost = log.lost_lines
    assert registry.dispatch("double", {"number": 2}) == 4
    assert (written.lines, log.lost_lines) == ([], lost)


# -- the standard library's logging as applications configure it ------------------------------------------------------------------------


def _dict_config(written: _Written, **options: Any) -> None:
    logging.config.dictConfig(
        {
            "version": 1,
            "formatters": {"json": {"()": _OwnFormatter}, "plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
            "handlers": {
                "plain": {"class": "logging.StreamHandler", "stream": written.stream, "formatter": "plain"},
                "json": {"class": "logging.StreamHandler", "stream": written.stream, "formatter": "json", "level": "WARNING"},
            },
            **options,
        }
    )


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({"root": {"handlers": ["plain"], "level": "DEBUG"}, "disable_existing_loggers": False}, 3),
        ({"root": {"handlers": ["plain"], "level": "INFO"}, "disable_existing_loggers": False}, 2),
        ({"root": {"handlers": ["json"], "level": "DEBUG"}, "disable_existing_loggers": False}, 1),
        ({"root": {"handlers": ["plain", "json"], "level": "DEBUG"}, "disable_existing_loggers": False}, 4),
        # The default of dictConfig: loggers that exist already and are not named fall silent.
        ({"root": {"handlers": ["plain"], "level": "DEBUG"}}, 0),
        ({"loggers": {"toolbox": {"handlers": ["plain"], "level": "DEBUG"}}}, 3),
        ({"loggers": {"toolbox": {"handlers": ["plain"], "level": "DEBUG", "propagate": False}}, "root": {"handlers": ["json"]}}, 3),
        ({"loggers": {"toolbox": {"level": "ERROR"}}, "root": {"handlers": ["plain"], "level": "DEBUG"}}, 1),
        ({"loggers": {"toolbox": {"propagate": False}}, "root": {"handlers": ["plain"], "level": "DEBUG"}}, 0),
    ],
)
def test_dict_config(registry: Registry, written: _Written, options: dict[str, Any], lines: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Levels of loggers and of handlers, who hands on to whom, and what is disabled count as they do for every library."""
    logging.getLogger().handlers[:] = []
    _dict_config(written, **options)
    for arguments in ({"number": 1, "note": ""}, {"number": "1", "note": ""}, {"number": "x\n", "note": ""}):
        registry.run("double", arguments)
    assert len(written.lines) == lines
    for line in written.lines:
        message = json.loads(line)["event"] if line.startswith("{") else line.partition("toolbox: ")[2]
        assert json.loads(message)["event"] == "tool_call"
    assert capfd.readouterr() == ("", "")


def test_a_queue(registry: Registry, written: _Written) -> None:
    """Lines go through a queue to a thread that writes them, as whole as without it; they can be pickled on the way."""
    lines: queue.Queue[Any] = queue.Queue()
    target = logging.StreamHandler(written.stream)
    target.setFormatter(_OwnFormatter())
    listener = logging.handlers.QueueListener(lines, target, respect_handler_level=True)
    logger = logging.getLogger("toolbox")
    logger.addHandler(logging.handlers.QueueHandler(lines))
    logger.setLevel(logging.DEBUG)
    listener.start()
    try:
        for case, arguments in HOSTILE.items():
            registry.run("take", arguments, call_id=case)
    finally:
        listener.stop()
    assert [json.loads(json.loads(line)["event"])["call_id"] for line in written.lines] == list(HOSTILE)


@pytest.mark.parametrize("how", ["disabled", "filter", "threshold", "null handler"])
def test_a_logger_that_is_turned_off(registry: Registry, written: _Written, how: str, capfd: pytest.CaptureFixture[str]) -> None:
    """However the application turns it off, nothing is written anywhere."""
    logger = logging.getLogger("toolbox")
    handler = logging.StreamHandler(written.stream)
    logger.addHandler(handler if how != "null handler" else logging.NullHandler())
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    if how == "disabled":
        logger.disabled = True
    elif how == "filter":
        logger.addFilter(lambda record: False)
    elif how == "threshold":
        logging.disable(logging.CRITICAL)
    assert not registry.run("double", {"number": "x"}).ok
    assert (written.lines, capfd.readouterr()) == ([], ("", ""))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "utf-16"])
def test_a_stream_of_any_encoding(registry: Registry, written: _Written, encoding: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A line has no character that a stream could not write."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding)
    logger = logging.getLogger("toolbox")
    logger.addHandler(logging.StreamHandler(stream))
    registry.run("double", {"number": "é\u2028\ud800\U0001f600"}, call_id="é\U0001f600")
    stream.flush()
    line = raw.getvalue().decode(encoding)
    assert json.loads(line)["call_id"].startswith("é") or "\\u00e9" in line
    assert capfd.readouterr() == ("", "")


# -- whatever a call holds -----------------------------------------------------------------------------------------------------------------


class _Strange:
    """A value that answers to nothing as expected."""

    def __repr__(self) -> str:
        raise KeyError("\n")

    def __str__(self) -> str:
        raise ZeroDivisionError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = object.__hash__

    def __len__(self) -> int:
        raise OverflowError

    def __iter__(self) -> Any:
        raise RecursionError


_DEEP = _deep(100_000)
_KEYS = (
    st.text(st.characters(), max_size=12)
    | st.sampled_from(["event", "level", "timestamp", "self", "method_name", "exc_info", "logger", "tool", "status", "\x1b[0m", ""])
    | st.integers()
    | st.none()
    | st.tuples(st.integers(), st.text(max_size=3))
)
_LEAVES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(1, 5_000).map(lambda digits: 10**digits)
    | st.floats()
    | st.text(st.characters(), max_size=60)
    | st.binary(max_size=20)
    | st.builds(_Strange)
    | st.builds(object)
    | st.builds(_cycle)
    | st.builds(lambda: _DEEP)
    | st.sampled_from([[[]] * 3_000, "\x00\x1b\x7f\x9b\u2028\ud800" * 2_000, "\U0001f600" * 70_000, Ellipsis, type, print])
    | st.decimals()
    | st.complex_numbers()
    | st.datetimes()
    | st.uuids()
)
_ANYTHING = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(_KEYS, inner, max_size=5)
        | st.tuples(inner, inner)
        | st.sets(st.integers() | st.text(st.characters(), max_size=5), max_size=4)
    ),
    max_leaves=15,
)


@hypothesis.given(
    arguments=st.dictionaries(_KEYS, _ANYTHING, max_size=4) | _ANYTHING,
    metadata=st.none() | st.dictionaries(_KEYS, _ANYTHING, max_size=4),
    name=st.sampled_from(["take", "double", "fail"]) | st.text(st.characters(), max_size=400),
    call_id=st.none() | st.text(st.characters(), max_size=400) | st.integers() | st.builds(_Strange),
)
@hypothesis.settings(
    max_examples=10_000 if os.environ.get("TOOLBOX_HYPOTHESIS") == "thorough" else 150,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow],
)
def test_any_call(registry: Registry, lines: Lines, arguments: Any, metadata: Any, name: str, call_id: Any) -> None:
    """Each call is one line of RFC 8259 JSON in printable ASCII, under 16 kB, and none is lost."""
    lines.stream.seek(0)
    lines.stream.truncate()
    lost = log.lost_lines
    registry.run(name, arguments, metadata=metadata, call_id=call_id)
    text = lines.text
    assert log.lost_lines == lost
    assert text.count("\n") == 1
    assert text.isascii()
    assert text[:-1].isprintable()
    assert len(text) < 16_384
    (event,) = lines.events
    assert event["event"] == "tool_call"
    assert event.keys() <= {
        "event", "tool", "status", "policy", "record_id", "duration_ms", "arguments", "call_id", "changes", "failures", "error", "metadata",
    }  # fmt: skip
    for key in event.keys() & {"arguments", "metadata"}:
        json.loads(event[key], parse_constant=pytest.fail)
