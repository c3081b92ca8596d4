"""Text formats: each is a function from text to the value that it says; a ValueError says in words why it says none."""

from __future__ import annotations

import datetime
import ipaddress
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["FORMATS", "NOT_FREE_TEXT", "read_base64", "read_epoch"]

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d\Z|\d{8}\Z|\d{4}-?W\d\d(?:-?\d)?\Z", re.ASCII)
_DATETIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d|\d{8}|\d{4}-?W\d\d(?:-?\d)?)[Tt ](\d\d(?::?\d\d(?::?\d\d(?:[.,]\d{1,9})?)?)?)[ ]?([Zz]|[+-]\d\d(?::?\d\d)?)?\Z",
    re.ASCII,
)
_TIME: Final = re.compile(r"[Tt]?\d\d:?\d\d(?::?\d\d(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d\d(?::?\d\d)?)?\Z", re.ASCII)
_DURATION: Final = re.compile(
    r"([+-])?P(?!\Z)(?:(\d{1,9}(?:[.,]\d{1,9})?)W)?(?:(\d{1,9}(?:[.,]\d{1,9})?)D)?"
    r"(?:T(?=\d)(?:(\d{1,9}(?:[.,]\d{1,9})?)H)?(?:(\d{1,9}(?:[.,]\d{1,9})?)M)?(?:(\d{1,9}(?:[.,]\d{1,9})?)S)?)?\Z",
    re.ASCII,
)
_SWAPPABLE: Final = re.compile(r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}\b", re.ASCII)
_EMAIL: Final = re.compile(r"[^@\s]{1,64}@[^@\s.]{1,63}(?:\.[^@\s.]{1,63}){1,8}\Z")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*\Z")
_HOSTNAME: Final = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\Z"
)
# The longest text that any of the bounded formats can say something with.
_LONGEST: Final = 512


def _read_date(text: str) -> datetime.date:
    if not _DATE.match(text):
        raise ValueError("it has a time of day" if _DATETIME.match(text) else _why_no_date(text))
    return datetime.date.fromisoformat(text)


def _read_datetime(text: str) -> datetime.datetime:
    found = _DATETIME.match(text)
    if not found:
        raise ValueError("it has no time of day" if _DATE.match(text) else _why_no_date(text))
    day, clock, zone = found.groups()
    return datetime.datetime.fromisoformat(f"{day}T{_six_digits(clock)}{(zone or '').upper()}")


def _six_digits(clock: str) -> str:
    """Digits of a second beyond microseconds cut off: the standard library reads six."""
    whole, mark, fraction = clock.replace(",", ".").partition(".")
    return whole + mark + fraction[:6]


def _why_no_date(text: str) -> str:
    if _SWAPPABLE.match(text):
        return "day and month can be swapped in it"
    return "it is not ISO 8601"


def _read_time(text: str) -> datetime.time:
    if not _TIME.match(text):
        raise ValueError("it is not ISO 8601")
    clock = text.lstrip("Tt").upper()
    split = re.match(r"([\d:.,]+)(.*)\Z", clock)
    return datetime.time.fromisoformat(_six_digits(split[1]) + split[2] if split else clock)


def _read_duration(text: str) -> datetime.timedelta:
    found = _DURATION.match(text)
    if not found or text[-1] in "PT":
        wrong = re.match(r"[+-]?P\d+[YM]", text)
        raise ValueError("years and months have no fixed length" if wrong else "it is not ISO 8601")
    sign, *parts = found.groups()
    weeks, days, hours, minutes, seconds = (float(part.replace(",", ".")) if part else 0.0 for part in parts)
    try:
        span = datetime.timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        raise ValueError("it is longer than a timedelta can be") from None
    return -span if sign == "-" else span


def _read_uuid(text: str) -> uuid.UUID:
    if not re.match(r"(?:urn:uuid:)?\{?[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\}?\Z", text):
        raise ValueError("it is not a UUID")
    return uuid.UUID(text)


def _read_pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"it does not compile: {error}") from None


def _read_path(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    if "\0" in text:
        raise ValueError("it holds a NUL character")
    return text


def _shaped(pattern: re.Pattern[str], what: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not pattern.match(text):
            raise ValueError(f"it is not {what}")
        return text

    return read


def _address(kind: Callable[[str], Any], what: str) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise ValueError(f"it is not {what}") from None

    return read


FORMATS: Final[Mapping[str, Callable[[str], Any]]] = {
    "date": _read_date,
    "date-time": _read_datetime,
    "time": _read_time,
    "duration": _read_duration,
    "uuid": _read_uuid,
    "regex": _read_pattern,
    "path": _read_path,
    "email": _shaped(_EMAIL, "an e-mail address"),
    "uri": _shaped(_URI, "a URI"),
    "hostname": _shaped(_HOSTNAME, "a host name"),
    "ipv4": _address(ipaddress.IPv4Address, "an IPv4 address"),
    "ipv6": _address(ipaddress.IPv6Address, "an IPv6 address"),
    "ipv4network": _address(ipaddress.IPv4Network, "an IPv4 network"),
    "ipv6network": _address(ipaddress.IPv6Network, "an IPv6 network"),
    "ipv4interface": _address(ipaddress.IPv4Interface, "an IPv4 interface"),
    "ipv6interface": _address(ipaddress.IPv6Interface, "an IPv6 interface"),
}
"""How the text of each known format is read. Other formats are notes for people and are not checked."""

NOT_FREE_TEXT: Final = frozenset(FORMATS) - {"path", "regex"}
"""Formats whose text can be told from other text, so that white space around it means nothing."""

BOUNDED: Final = frozenset(FORMATS) - {"path", "regex", "uri"}


def read_format(name: str, text: str) -> Any:
    """The value that a text says in a known format.

    Raises:
        ValueError: it says none; the text of the error says why.
    """
    if name in BOUNDED and len(text) > _LONGEST:
        raise ValueError(f"it has {len(text):,} characters")
    return FORMATS[name](text)


def read_base64(text: str) -> bytes:
    """The bytes of a base64 text, standard or URL-safe alphabet, with its padding.

    Raises:
        ValueError: it is none.
    """
    import base64
    import binascii

    try:
        return base64.b64decode(text.translate(_URL_SAFE).encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError("it is not base64") from None


_URL_SAFE: Final = str.maketrans("-_", "+/")

# A year, an hour, a count of days read as an epoch would name a moment in the seventies: too likely something else.
_FIRST_EPOCH: Final = 100_000_000
_LAST_SECONDS: Final = 100_000_000_000
_LAST_MILLISECONDS: Final = 100_000_000_000_000


# 20260702101500 is a date and a time of day written together, more likely than a moment in the year 2612.
_COMPACT: Final = re.compile(
    r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:(?:[01]\d|2[0-3])(?:[0-5]\d){0,2})?(?:\.0)?\Z", re.ASCII
)


def read_epoch(number: float) -> tuple[datetime.datetime, bool]:
    """The UTC moment of an epoch in seconds or milliseconds, and whether it is far enough from zero to be surely one.

    Raises:
        ValueError: it is out of range.
    """
    size = abs(number)
    if not size < _LAST_MILLISECONDS:
        raise ValueError("it is out of range for an epoch in seconds or milliseconds")
    seconds = number if size < _LAST_SECONDS else number / 1000
    try:
        moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=seconds)
    except OverflowError:
        raise ValueError("it is out of range for an epoch in seconds or milliseconds") from None
    return moment, size >= _FIRST_EPOCH and not _COMPACT.match(str(number))
