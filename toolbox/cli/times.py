"""Moments as they are written on the command line."""

from __future__ import annotations

import datetime
import re
from typing import Final

from toolbox.cli.problems import UsageProblem

__all__ = ["read_moment"]

_AGO: Final = re.compile(r"([0-9]{1,9})\s*([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}


def read_moment(option: str, written: str | None, now: float) -> float | None:
    """A moment in seconds since the epoch: an ISO date or date and time, in UTC where no zone is named; or so long ago, as in ``7d``.

    Args:
        option: the option, for the error.
        written: what was written; None when it was not given.
        now: the present moment.

    Raises:
        UsageProblem: it is neither.
    """
    if written is None:
        return None
    text = written.strip()
    ago = _AGO.fullmatch(text.lower())
    if ago:
        return now - int(ago[1]) * _SECONDS[ago[2]]
    try:
        moment = datetime.datetime.fromisoformat(text)
        zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
        return zoned.timestamp()
    except (ValueError, OverflowError):
        raise UsageProblem(
            f"{option} takes a date (2026-07-02), a date and time (2026-07-02T14:30Z), or how long ago (30m, 12h, 7d, 2w), and not"
            f" {text[:60]!r}"
        ) from None
