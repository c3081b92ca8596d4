"""What may be seen of a call: secret values are masked in reports, records and the texts of errors, wherever they may stand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from toolbox.diagnostics import ABSENT, MASK, CoercionReport, Diagnostic, DiagnosticKind, Failure, FailureReason, path_text
from toolbox.json_values import snapshot
from toolbox.tools import Tool
from toolbox.types import Opaque

__all__ = ["hidden", "masked", "message_of", "shows"]

MESSAGE_LIMIT: Final = 500


def shows(tool: Tool, key: str) -> bool:
    """Whether the argument of this name may be seen: what is declared, under any spelling, and is not secret.

    What is not declared may be meant for the secret parameter.
    """
    name = tool.bind.names.resolve(key)
    return name is not None and name not in tool.secret


def masked(
    tool: Tool, bound: Any, diagnostics: Sequence[Diagnostic], failures: Sequence[Failure]
) -> tuple[list[Diagnostic], list[Failure]]:
    """Copies that show only what stands at or below an argument that may be seen: the whole payload holds the secrets too."""
    keys = {*tool.bind.names.declared, *(key for key in bound if isinstance(key, str))} if isinstance(bound, Mapping) else set[str]()
    places = tuple(path_text((None, key)) for key in keys if shows(tool, key))

    def shows_path(path: str) -> bool:
        return any(path == place or (path.startswith(place) and path[len(place)] in ".[") for place in places)

    # A validator that checks the parameters as a whole reports the whole, whatever place it names.
    is_whole = isinstance(tool.document.root, Opaque)

    def shows_failure(item: Failure) -> bool:
        return shows_path(item.path) and not (is_whole and item.reason is FailureReason.CONSTRAINT)

    return (
        [item if shows_path(item.path) or item.kind in _WITHOUT_VALUES else _masked_diagnostic(item) for item in diagnostics],
        [item if item.value is ABSENT or shows_failure(item) else _masked_failure(item) for item in failures],
    )


# What concerns the name of the tool or the text as a whole, and holds no argument.
_WITHOUT_VALUES: Final = frozenset({DiagnosticKind.RENAMED})


def _masked_diagnostic(item: Diagnostic) -> Diagnostic:
    return replace(item, before=_masked_value(item.before), after=_masked_value(item.after), suggestion="")


def _masked_value(value: Any) -> Any:
    return value if value is None or value is ABSENT else MASK


def _masked_failure(item: Failure) -> Failure:
    # The hint about an undeclared argument is made of names alone.
    keeps_hint = item.reason is FailureReason.UNKNOWN or item.path == "$"
    return replace(item, value=MASK, detail="", suggestion=item.suggestion if keeps_hint else "", would_be=None)


def hidden(tool: Tool, value: Any) -> Any:
    """A JSON-safe copy with the values of secret parameters masked; text may hold them anywhere, so of a tool with secrets none is kept."""
    if not tool.secret or value is None:
        return snapshot(value)
    if not isinstance(value, Mapping):
        return MASK
    try:
        shown = {key: item if shows(tool, str(key)) else MASK for key, item in value.items()}
    except Exception:  # noqa: BLE001 - a mapping of someone's own may do anything
        return MASK
    return snapshot(shown, hide=lambda key: tool.bind.names.resolve(key) in tool.secret)


# -- what the function raised --------------------------------------------------------------------------------------------------------


_UNPRINTABLE: Final = r"[^\S \n\t]|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]"


# Where pydantic ends each problem; it is no help to a model that cannot follow links.
_DOCUMENTATION: Final = re.compile(r"\n\s*For further information visit https?://\S+")


def message_of(error: BaseException, tool: Tool, report: CoercionReport) -> str:
    """The text of an exception: bounded, printable, secret values masked."""
    try:
        words = str(error)
    except (Exception, SystemExit, GeneratorExit):  # noqa: BLE001 - an exception's own __str__ may raise
        words = ""
    secrets = _secret_texts(tool, report) if tool.secret else []
    longest = max(map(len, secrets), default=1)
    # Long enough that what is masked does not leave the message empty.
    window = MESSAGE_LIMIT * 8 + longest
    was_cut = len(words) > window
    words = words[:window]
    for secret in secrets:
        words = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, words) if len(secret) < 4 else words.replace(secret, MASK)
    if was_cut:
        # The last of it may be the beginning of a secret.
        words = words[: max(len(words) - longest + 1, 0)]
    words = _DOCUMENTATION.sub("", words)
    name = type(error).__name__[:100]
    words = re.sub(_UNPRINTABLE, lambda found: found[0].encode("unicode_escape").decode("ascii"), f"{name}: {words}" if words else name)
    return f"{words[:MESSAGE_LIMIT]}..." if len(words) > MESSAGE_LIMIT else words


def _secret_texts(tool: Tool, report: CoercionReport) -> list[str]:
    """The values of secret parameters as they may stand in a text, the longest first."""
    found: set[str] = set()
    pending = [item for name, item in report.normalized_args.items() if not shows(tool, name)]
    for _ in range(1_000):
        if not pending:
            break
        item = pending.pop()
        if isinstance(item, Mapping):
            pending.extend(item.values())
        elif isinstance(item, list | tuple | set | frozenset):
            pending.extend(item)
        elif isinstance(item, str | bytes | int | float):
            if not isinstance(item, bool):
                found.update(_spellings(item))
        elif item is not None:
            with suppress(Exception):  # a value's own methods may do anything
                pending.extend(_inside(item))
    return sorted(found, key=len, reverse=True)


def _spellings(value: str | bytes | float) -> Iterable[str]:
    """A value as text, and as it stands in a repr or in JSON."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return filter(None, (text, repr(value)[1:-1], json.dumps(text)[1:-1])) if isinstance(value, str) else filter(None, (text,))


def _inside(value: Any) -> Iterable[Any]:
    """What an object holds: its fields, and what a wrapper such as pydantic's SecretStr keeps from being printed."""
    copied = snapshot(value)
    yield copied if isinstance(copied, dict | list | str) else None
    unveil = getattr(type(value), "get_secret_value", None)
    if unveil is not None:
        yield unveil(value)
    names = [*getattr(type(value), "__slots__", ()), *getattr(value, "__dict__", ())]
    for name in names:
        yield getattr(value, name, None)
