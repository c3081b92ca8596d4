"""The one date or time that a text says: written out, or in digits whose order cannot be mistaken."""

from __future__ import annotations

import datetime
import itertools
import re
from typing import Final

__all__ = ["is_moment_said"]

_MONTHS: Final = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_MONTH_OF: Final = {name[:length]: number for number, name in enumerate(_MONTHS, 1) for length in (3, len(name))} | {"sept": 9}
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT_DAYS: Final = {"tues": 1, "thur": 3, "thurs": 3}
_WEEKDAY_OF: Final = {name[:length]: number for number, name in enumerate(_DAYS) for length in (3, len(name))} | _SHORT_DAYS
_LONGEST: Final = 64
_ORDINAL: Final = re.compile(r"(\d{1,2})(st|nd|rd|th)\b")
_WEEKDAY: Final = re.compile(r"([a-z]{3,9})\.?,?\s+(?=[a-z0-9])")
_DAY_FIRST: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?[\s-]+(?:of\s+)?([a-z]{3,9})\.?,?[\s-]+(\d{4})\Z")
_MONTH_FIRST: Final = re.compile(r"([a-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\Z")
_YEAR_FIRST: Final = re.compile(r"(\d{4})([-/.]|)(\d{1,2})\2(\d{1,2})\Z")
_YEAR_LAST: Final = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})\Z")
_CLOCK: Final = re.compile(r"(\d{1,2})(?::(\d{2})(?::(\d{2}))?)?\s*(am|pm|a\.m\.|p\.m\.)?\s*(z|utc|[+-](?:0\d|1[0-4]):?[0-5]\d)?\Z")
_JOINTS: Final = re.compile(r"\s*,\s*|\s+at\s+|\s+|(?<=\d)t(?=\d)")


def is_moment_said(text: str, after: str, kind: str) -> bool:
    """Whether a text says exactly the moment that an ISO 8601 text says, and could say no other.

    Args:
        text: what came.
        after: what was made of it.
        kind: ``"date"``, ``"time"`` or ``"date-time"``.

    >>> is_moment_said("July 2nd, 2026", "2026-07-02", "date"), is_moment_said("02/07/2026", "2026-07-02", "date")
    (True, False)
    >>> is_moment_said("2 Jul 2026 at 2:30 pm", "2026-07-02T14:30:00", "date-time"), is_moment_said("13/07/2026", "2026-07-13", "date")
    (True, True)
    """
    words = text.strip().lower()
    if not words.isascii() or len(words) > _LONGEST or any(map(_is_no_ordinal, _ORDINAL.finditer(words))):
        return False
    try:
        if kind == "date":
            return _dates(words) == {datetime.date.fromisoformat(after)}
        if kind == "time":
            return _same_clock(_clock(words), datetime.time.fromisoformat(after))
        return _is_datetime_said(words, datetime.datetime.fromisoformat(after))
    except ValueError:
        return False


def _is_no_ordinal(found: re.Match[str]) -> bool:
    """Whether a number has the ending of another one, such as "3nd": then nobody knows which of the two is right."""
    number = int(found[1])
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return found[2] != ending


def _is_datetime_said(words: str, after: datetime.datetime) -> bool:
    """Every place where the text may be parted is tried; what it says at any of them must be the same."""
    said: set[tuple[datetime.date, datetime.time, str]] = set()
    for joint in _JOINTS.finditer(words):
        clock = _clock(words[joint.end() :])
        if clock is not None:
            said |= {(day, clock.replace(tzinfo=None), str(clock.tzinfo)) for day in _dates(words[: joint.start()])}
    return said == {(after.date(), after.time(), str(_zone_of(after)))}


def _zone_of(moment: datetime.datetime) -> datetime.tzinfo | None:
    offset = moment.utcoffset()
    return None if offset is None else datetime.timezone(offset)


def _same_clock(said: datetime.time | None, after: datetime.time) -> bool:
    return said is not None and said.replace(tzinfo=None) == after.replace(tzinfo=None) and said.utcoffset() == after.utcoffset()


def _dates(words: str) -> set[datetime.date]:
    """Every date that the text may mean."""
    weekday = None
    found = _WEEKDAY.match(words)
    if found and found[1] in _WEEKDAY_OF:
        weekday, words = _WEEKDAY_OF[found[1]], words[found.end() :]
    dates = {date for date in itertools.starmap(_date, _written(words)) if date is not None}
    # A weekday that does not fit means that something is wrong with the rest.
    return dates if weekday is None or {date.weekday() for date in dates} == {weekday} else set()


def _written(words: str) -> list[tuple[int, int, int]]:
    """Year, month and day in every order that the text may be meant in."""
    found = _DAY_FIRST.match(words)
    if found:
        return [(int(found[3]), _MONTH_OF.get(found[2], 0), int(found[1]))]
    found = _MONTH_FIRST.match(words)
    if found:
        return [(int(found[3]), _MONTH_OF.get(found[1], 0), int(found[2]))]
    found = _YEAR_FIRST.match(words)
    if found:
        # Without separators only whole pairs of digits can be told apart.
        return [(int(found[1]), int(found[3]), int(found[4]))] if found[2] or len(words) == 8 else []
    found = _YEAR_LAST.match(words)
    if found:
        one, other, year = int(found[1]), int(found[3]), int(found[4])
        return [(year, other, one), (year, one, other)]
    return []


def _date(year: int, month: int, day: int) -> datetime.date | None:
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None


def _clock(words: str) -> datetime.time | None:
    found = _CLOCK.match(words)
    if found is None or not (found[2] or found[4]):
        return None
    hour, minute, second = int(found[1]), int(found[2] or 0), int(found[3] or 0)
    half = (found[4] or "").replace(".", "")
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        return datetime.time(hour, minute, second, tzinfo=_zone(found[5]))
    except ValueError:
        return None


def _zone(text: str | None) -> datetime.tzinfo | None:
    if text is None:
        return None
    if text in ("z", "utc"):
        return datetime.UTC
    span = datetime.timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return datetime.timezone(-span if text[0] == "-" else span)
