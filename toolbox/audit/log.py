"""The log: one line of JSON a call, through structlog over the standard library's logging; silent until the application configures it.

A model's text cannot forge a line: event names are constant, and what a model sent stands in one key as bounded, escaped JSON text.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any, Final, TypeVar

from toolbox.audit.record import AuditRecord, CallStatus
from toolbox.diagnostics import Risk, describe, shorten
from toolbox.json_values import Bounds, json_text

__all__ = ["LOGGER_NAME", "is_silent", "level_of", "log_attempt", "log_record", "prepare", "warn"]

_T = TypeVar("_T")

LOGGER_NAME: Final = "toolbox"
# How much room in a line each part gets, so that a line stays under 16 kB whatever a model sends.
_ARGUMENTS: Final = 4_000
_METADATA: Final = 2_000
_ERROR: Final = 1_500
_NAME: Final = 400
_LINE: Final = 700
_LINES: Final = 20
_LINES_ROOM: Final = 2_800
# From much to little of a value; the first for which there is room is taken.
_BOUNDS: Final = (Bounds(text=1_000, nodes=200, depth=6), Bounds(text=100, nodes=30, depth=4), Bounds(text=20, nodes=10, depth=2))

_logger: Final = logging.getLogger(LOGGER_NAME)
# Without a handler of its own, the standard library would print warnings of a program that never asked for a log.
_OWN_HANDLERS: Final[list[logging.Handler]] = [logging.NullHandler()]
_logger.addHandler(_OWN_HANDLERS[0])
_root: Final = logging.getLogger()

_LEVELS: Final = {Risk.INFO: logging.INFO, Risk.WARNING: logging.WARNING, Risk.RISKY: logging.WARNING}


def is_silent(level: int = logging.ERROR) -> bool:
    """Whether a line of this level would go nowhere, so that it need not be made."""
    if "structlog" in sys.modules:
        # Another thread may be importing structlog at this moment, so the function may not be there yet.
        is_configured = getattr(sys.modules["structlog"], "is_configured", None)
        if is_configured is not None and is_configured():
            return False
    # The common case first: nobody has given this logger, or the root, a handler.
    if _logger.handlers == _OWN_HANDLERS and not _root.handlers and _logger.parent is _root:
        return True
    return not _logger.isEnabledFor(level) or not _has_listeners()


def prepare() -> None:
    """Load what the log needs where somebody listens already, so that the first call does not pay for it."""
    if not is_silent():
        import structlog  # noqa: F401 - loading it is the purpose


def _has_listeners() -> bool:
    logger: logging.Logger | None = _logger
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


_ANSWERED: Final = (CallStatus.PENDING, CallStatus.RECOVERED)


def level_of(record: AuditRecord) -> int:
    """The level of a record: DEBUG for a clean call, INFO and WARNING by the risk of its changes, ERROR when it did not succeed.

    A call that waits for a person, or that a model has corrected, is a WARNING.
    """
    if record.status is not CallStatus.DONE:
        return logging.WARNING if record.status in _ANSWERED else logging.ERROR
    worst = record.worst_risk
    return logging.DEBUG if worst is None else _LEVELS[worst]


def log_record(record: AuditRecord) -> None:
    """Write a record to the log; never raises."""
    level = level_of(record)
    if is_silent(level):
        return
    try:
        _emit(level, "tool_call", _fields(record))
    except Exception:  # noqa: BLE001 - whatever a handler or processor of the application does, the call is not touched by it
        _count_loss()


def warn(event: str, **fields: str) -> None:
    """Write a warning about toolbox itself; never raises."""
    if is_silent(logging.WARNING):
        return
    try:
        _emit(logging.WARNING, event, fields)
    except Exception:  # noqa: BLE001 - see log_record
        _count_loss()


def log_attempt(tool: str, attempt: Mapping[str, Any], level: int) -> None:
    """Write one attempt to correct a refused call to the log; never raises.

    Args:
        tool: name of the tool.
        attempt: the attempt as plain JSON data, masked already.
        level: the level of the line.
    """
    if is_silent(level):
        return
    try:
        _emit(level, "recovery_attempt", {"tool": _cut(tool, _NAME), **{key: _bounded(item, _METADATA) for key, item in attempt.items()}})
    except Exception:  # noqa: BLE001 - see log_record
        _count_loss()


lost_lines = 0


def _count_loss() -> None:
    global lost_lines  # noqa: PLW0603 - a counter of the module is all that may be touched when logging itself fails
    lost_lines += 1


def _fields(record: AuditRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "tool": _cut(record.tool, _NAME),
        "status": record.status.value,
        "policy": record.policy,
        "record_id": record.id,
        "duration_ms": round(record.duration_ms, 3),
        "arguments": _bounded(record.arguments, _ARGUMENTS),
    }
    call_id: Any = record.call_id
    if call_id is not None:
        # A provider's id is a text, and what a caller passes may be anything.
        fields["call_id"] = _cut(call_id if isinstance(call_id, str) else shorten(call_id), _NAME)
    if record.diagnostics:
        fields["changes"] = _lines(record.diagnostics, describe)
    if record.failures:
        fields["failures"] = _lines(record.failures, str)
    if record.error is not None:
        fields["error"] = _cut(shorten(record.error, 1_000), _ERROR)
    if record.metadata:
        fields["metadata"] = _bounded(record.metadata, _METADATA)
    return fields


def _room(text: str) -> int:
    """What a text takes up in a line of JSON."""
    return len(json.dumps(text)) - 2


def _cut(text: str, room: int) -> str:
    """The text, or the beginning of it for which there is room; printable, since some renderers print short texts as they are."""
    text = text[:room]
    if not text.isprintable():
        text = json.dumps(text)[1:-1]
    while _room(text) > room:
        text = text[: len(text) * 2 // 3]
    return text


def _bounded(value: Any, room: int) -> str:
    """A value as JSON text for which there is room: with less of it, the more there is."""
    text = ""
    for bounds in _BOUNDS:
        text = json_text(value, bounds, ascii_only=True)
        if _room(text) <= room:
            return text
    return json.dumps(_cut(text, room // 2))


def _lines(items: Sequence[_T], written: Callable[[_T], str]) -> list[str]:
    """Each item as a line, as many as there is room for."""
    lines: list[str] = []
    left = _LINES_ROOM
    for item in items[:_LINES]:
        line = _cut(written(item), _LINE)
        left -= _room(line)
        if left < 0:
            break
        lines.append(line)
    if len(lines) < len(items):
        lines.append(f"and {len(items) - len(lines)} more")
    return lines


_METHODS: Final = {logging.DEBUG: "debug", logging.INFO: "info", logging.WARNING: "warning", logging.ERROR: "error"}


def _emit(level: int, event: str, fields: dict[str, Any]) -> None:
    import structlog

    method = _METHODS[level]
    if structlog.is_configured():
        logger = _applications_logger(method)
    else:
        logger = structlog.wrap_logger(
            _logger, processors=[structlog.processors.JSONRenderer(ensure_ascii=True)], wrapper_class=structlog.BoundLogger
        )
    getattr(logger, method)(event, **fields)


def _applications_logger(method: str) -> Any:
    """The logger that the application has configured."""
    import structlog

    options = structlog.get_config()
    # A wrapper whose methods have to be awaited would write nothing here: the same processors and output are used without it.
    must_wait = iscoroutinefunction(getattr(options["wrapper_class"], method, None))
    wrapper = structlog.BoundLogger if must_wait else None
    try:
        return structlog.wrap_logger(None, wrapper_class=wrapper, logger_factory_args=(LOGGER_NAME,)).bind()
    except TypeError:
        # A factory of the application's own may take no name.
        return structlog.wrap_logger(None, wrapper_class=wrapper).bind()
