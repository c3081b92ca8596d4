"""Numbers written as text: which number a text says, and how surely it says it. Pure functions, linear in the text."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from toolbox.diagnostics import Risk, shorten
from toolbox.policy import CoercionLevel

__all__ = ["LONGEST", "Numeral", "may_be_thousands", "read_numeral", "unquoted"]

LONGEST: Final = 4_400
"""Characters of the longest text that is read as a number."""


class Numeral(NamedTuple):
    """What a text says as a number.

    Attributes:
        value: the number; None when the text says none.
        level: how far the policy must let values be pushed.
        risk: how sure the reading is.
        detail: why it is no number, or what else it may be; may be empty.
        non_finite: the text says NaN or an infinity.
        suggestion: what to send instead; may be empty.
    """

    value: Decimal | None
    level: CoercionLevel = CoercionLevel.STRING
    risk: Risk = Risk.INFO
    detail: str = ""
    non_finite: bool = False
    suggestion: str = ""


_PLAIN: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\Z")
_PADDED: Final = re.compile(r"[+-]?0[0-9]")
_THOUSANDS: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}\Z")
_EXPONENT: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]{1,6}\Z")
_BASED: Final = re.compile(r"[+-]?0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)\Z")
_UNDERSCORED: Final = re.compile(r"[+-]?[0-9]+(?:_[0-9]+)+(?:\.[0-9]+)?\Z")
_SCRIPT: Final = re.compile(r"[+-]?\d+(?:\.\d+)?\Z")
# One separator before each group of three, of which the first begins with no zero; the other one, if any, before the fraction.
_GROUPED: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?\Z")
_GROUPED_SPACES: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:[ \u00a0\u202f'][0-9]{3})+(?:[.,][0-9]+)?\Z")
_CONTINENTAL: Final = re.compile(r"[+-]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]+),[0-9]+\Z")
_WITH_UNIT: Final = r"([^\w\s+.-]{1,3}|[A-Z]{3})?\s?([+-]?[0-9][0-9,._]*(?:[eE][+-]?[0-9]+)?)\s?([^\d\s.,][^\d]{0,23})?\Z"
_NON_FINITE: Final = re.compile(r"[+-]?(?:nan|inf|infinity)\Z", re.IGNORECASE)


def read_numeral(text: str) -> Numeral:
    """Read a text, without white space around it, as a number.

    >>> read_numeral("5.0").value, read_numeral("1,234").risk.name, read_numeral("50%").detail
    (Decimal('5.0'), 'RISKY', 'it says the number 50 with "%"')
    """
    if len(text) > LONGEST:
        return Numeral(None, detail=f"a number of more than {LONGEST:,} characters")
    if _PLAIN.match(text):
        # `0777` may be octal, a code, a number with padding.
        return Numeral(Decimal(text), risk=Risk.WARNING if _PADDED.match(text) else Risk.INFO)
    inner = unquoted(text)
    if inner is not None:
        numeral = read_numeral(inner)
        return numeral if numeral.value is None else numeral._replace(risk=max(numeral.risk, Risk.WARNING))
    if _EXPONENT.match(text):
        return Numeral(Decimal(text), risk=Risk.INFO, detail="exponent")
    if _NON_FINITE.match(text):
        return Numeral(None, detail="it is not finite", non_finite=True)
    if _BASED.match(text):
        return Numeral(Decimal(int(text, 0)), risk=Risk.WARNING)
    if _UNDERSCORED.match(text):
        return Numeral(Decimal(text.replace("_", "")), risk=Risk.WARNING)
    return _grouped(text) or _in_other_digits(text) or _with_unit(text)


def may_be_thousands(text: str) -> bool:
    """Whether the point in a number may be a separator of thousands, as where a whole number is asked for.

    >>> may_be_thousands("1.000"), may_be_thousands("5.0")
    (True, False)
    """
    return _THOUSANDS.match(text) is not None


def unquoted(text: str) -> str | None:
    """The text inside one pair of quotes that is part of the text itself, without the white space around it; None where there is none.

    >>> unquoted("'42'"), unquoted("42")
    ('42', None)
    """
    if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'`":
        inner = text[1:-1].strip()
        return None if not inner or inner[0] in "\"'`" else inner
    return None


def _grouped(text: str) -> Numeral | None:
    if _GROUPED.match(text):
        value = Decimal(text.replace(",", ""))
        surely = text.count(",") > 1 or "." in text
        return Numeral(
            value,
            CoercionLevel.BEST_EFFORT,
            Risk.WARNING if surely else Risk.RISKY,
            "" if surely else "the comma may be a decimal comma",
            suggestion="" if surely else "Send the number without the comma",
        )
    if _GROUPED_SPACES.match(text):
        return Numeral(
            Decimal(re.sub(r"[ \u00a0\u202f']", "", text).replace(",", ".")),
            CoercionLevel.BEST_EFFORT,
            Risk.RISKY,
            "the spaces may part several numbers",
            suggestion="Send the number without spaces",
        )
    if _CONTINENTAL.match(text):
        return Numeral(
            Decimal(text.replace(".", "").replace(",", ".")),
            CoercionLevel.BEST_EFFORT,
            Risk.RISKY,
            "the comma may be a decimal comma",
            suggestion="Send the number with a decimal point",
        )
    return None


def _in_other_digits(text: str) -> Numeral | None:
    if not _SCRIPT.match(text):
        return None
    try:
        return Numeral(Decimal(text), risk=Risk.WARNING)
    except InvalidOperation:
        return None


def _with_unit(text: str) -> Numeral:
    found = re.match(_WITH_UNIT, text)
    if found and (found[1] or found[3]):
        unit = " ".join(part.strip() for part in (found[1], found[3]) if part)
        return Numeral(
            None,
            detail=f"it says the number {found[2]} with {shorten(unit)}",
            suggestion="Send the plain number, in the unit that the parameter asks for",
        )
    return Numeral(None)
