"""The one number that a text says: with separators, and beside the unit that the parameter itself asks for."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final, NamedTuple

from toolbox.coercion.numerals import LONGEST, may_be_thousands, read_numeral
from toolbox.matching.words import ENDINGS, NEGATIONS, QUALIFIERS

__all__ = ["Label", "number_said", "unit_unnamed"]


class Label(NamedTuple):
    """What the schema says about a parameter in words.

    Attributes:
        name: its name.
        text: its title and its description.
    """

    name: str = ""
    text: str = ""


class _Unit(NamedTuple):
    dimension: str
    name: str


# Each line: a dimension, and its units with the spellings that stand for them. Symbols of one or two letters are only what is written here,
# as another case is another unit ("Mb" are bits, "M" is a million); longer words count in any case.
_UNITS: Final = {
    "money": "usd us$ | $ dollar dollars | eur € euro euros | gbp £ | jpy yen | cny yuan | inr ₹ | chf",
    "mass": "kg Kg KG kilogram kilograms kilo kilos | g gram grams | mg milligram milligrams | lb LB lbs | oz OZ ounce ounces"
    " | tonne tonnes",
    "length": "km Km KM kilometer kilometers kilometre kilometres | m meter meters metre metres"
    " | cm CM centimeter centimeters centimetre centimetres | mm millimeter millimeters millimetre millimetres"
    " | mile miles | ft FT foot feet | inch inches",
    "volume": "l L liter liters litre litres | ml mL milliliter milliliters millilitre millilitres | gallon gallons",
    "time": "ms millisecond milliseconds | s sec secs second seconds | minute minutes | h hr hrs hour hours | day days | week weeks"
    " | month months | year years",
    "share": "% percent pct percentage",
    "heat": "celsius °C °c | fahrenheit °F °f | kelvin",
    "size": "byte bytes | kb kB KB kilobyte kilobytes | mb MB megabyte megabytes | gb GB gigabyte gigabytes | tb TB terabyte terabytes",
}
_UNIT_OF: Final = {
    word: _Unit(dimension, unit.split()[0]) for dimension, listed in _UNITS.items() for unit in listed.split("|") for word in unit.split()
}
_LONGEST_SYMBOL: Final = 2
_US_DOLLAR: Final = _Unit("money", "usd")
# In a name these are a place in the calendar or on the clock ("start_day"); as a length of time they stand in the plural.
_PLACES_IN_TIME: Final = frozenset(("second", "minute", "hour", "day", "week", "month", "year"))
# fmt: off
# Words of a name with which its last word is no longer what is counted or measured: rates, relations, signs, multiples, powers.
_TURNING: Final = NEGATIONS | ENDINGS | frozenset({
    "and", "or", "of", "per", "to", "from", "by", "in", "at", "on", "with", "within", "between", "since", "vs", "versus", "times",
    "if", "ratio", "fraction", "factor", "multiple", "negative",
    "half", "double", "twice", "dozen", "dozens", "hundred", "hundreds", "thousand", "thousands", "million", "millions", "billion",
    "billions", "k", "square", "squared", "cubic", "cubed", "log",
})
# Words that change a number which stands beside them.
_NO_NOUNS: Final = _TURNING | QUALIFIERS | frozenset({
    "up", "about", "around", "approx", "approximately", "some", "more", "most", "least", "any", "each", "every", "max", "maximum", "min",
    "minimum", "next", "last", "plus",
})
# With these in its words a share may be a part of one.
_PARTS_OF_ONE: Final = frozenset(("fraction", "fractions", "ratio", "proportion", "decimal", "probability", "1", "1.0"))
_COUNTS: Final = frozenset(("count", "qty", "quantity"))
_PLURALS: Final = frozenset(("people", "children", "men", "women", "feet"))
# fmt: on
_BESIDE: Final = re.compile(r"([^\d+.-]{0,32}?)(\s*)([+-]?(?:\d[\d,._'\u00a0\u202f]*|\.\d+)(?:[eE][+-]?\d{1,6})?)\s*([^\d]{0,32})\Z")
_WORDS: Final = re.compile(r"[^\W\d_]+|[%$€£₹°]+[^\W\d_]*|\d+(?:\.\d+)?|[/()\[\]]")
# Units of two words, and the one word for them.
_PAIRS: Final = (
    (re.compile(r"\bu\.?s\.? dollars?\b", re.IGNORECASE), "usd"),
    (re.compile(r"\b(?:degrees?|deg\.?) (?=celsius\b|fahrenheit\b)", re.IGNORECASE), ""),
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+")
_ONE_COMMA: Final = re.compile(r"[+-]?[0-9]{1,3},[0-9]{3}\Z")
_MOST_WORDS: Final = 3


def number_said(text: str, label: Label, *, whole: bool) -> Decimal | None:
    """The number that a text says, where it says one and no other; None where it says none, several, or one that could be another.

    Args:
        text: what came.
        label: the words of the parameter; a unit counts only where they name it.
        whole: whether only a whole number fits, so that a comma can be no decimal comma.

    >>> number_said("12 kg", Label("weight_kg"), whole=False), number_said("12 kg", Label("price_per_kg"), whole=False)
    (Decimal('12'), None)
    >>> number_said("1,234", Label("limit"), whole=True), number_said("1,234", Label("price"), whole=False)
    (Decimal('1234'), None)
    >>> number_said("12 or 13", Label("age"), whole=True) is number_said("a few", Label("age"), whole=True) is None
    True
    """
    if len(text) > LONGEST:
        return None
    readings = _readings(text.strip(), whole)
    if not readings:
        found = _BESIDE.match(text.strip())
        if found is None or not _is_asked_for(found, label):
            return None
        readings = _readings(found[3], whole)
    return readings.pop() if len(readings) == 1 else None


def unit_unnamed(text: str, number: Decimal, label: Label) -> str | None:
    """The words beside a number that would be its unit, where the parameter says nothing of them; None where that is not what is amiss.

    Args:
        text: what came.
        number: the number that was made of it.
        label: the words of the parameter.

    >>> unit_unnamed("3 pcs", Decimal(3), Label("quantity")), unit_unnamed("5 kg", Decimal(5), Label("weight_g"))
    ('pcs', 'kg')
    >>> unit_unnamed("3 pcs", Decimal(30), Label("quantity")) is unit_unnamed("about 5", Decimal(5), Label("age")) is None
    True
    """
    found = _BESIDE.match(text.strip()) if len(text) <= LONGEST else None
    if found is None or number not in _readings(found[3], whole=False):
        return None
    words = " ".join(part for part in (_bare(found[1]), _bare(found[4])) if part)
    beside = words.split()
    said = {word.casefold() for word in [*_words(label.text), *_CAMEL.split(label.name)]}
    units = {unit for word in said if (unit := _unit(word)) is not None}
    known = said | _NO_NOUNS
    if not 0 < len(beside) <= _MOST_WORDS or any(word.casefold() in known or _unit(word) in units for word in beside):
        return None
    return words if all(word.isalpha() or _unit(word) is not None for word in beside) else None


def _readings(text: str, whole: bool) -> set[Decimal]:
    """Every number that a numeral may be meant for."""
    numeral = read_numeral(text)
    if numeral.value is None:
        return set()
    found = {numeral.value}
    if may_be_thousands(text):
        found.add(Decimal(text.replace(".", "")))
    elif _ONE_COMMA.match(text):
        found.add(Decimal(text.replace(",", ".")))
    elif " " in text or "\u00a0" in text or "\u202f" in text or ("," in text and "." not in text and text.count(",") == 1):
        return set()  # several numbers, or one
    return {number for number in found if not whole or number == number.to_integral_value()}


def _is_asked_for(found: re.Match[str], label: Label) -> bool:
    """Whether what stands beside a number is the name of its parameter, the unit that the parameter names, or the thing that it counts."""
    before, after = _bare(found[1]), _bare(found[4])
    parts = [part.casefold() for part in _CAMEL.split(label.name) if part]
    if (not before and not after) or _TURNING & set(_without_in(parts)):
        return False
    return (not before or _is_said_before(before, found[2], found[3], parts, label)) and (not after or _is_said_after(after, parts, label))


def _is_said_before(words: str, space: str, number: str, parts: list[str], label: Label) -> bool:
    """Before a number stands its currency, or the whole name of the parameter."""
    unit = _unit(words)
    if unit is not None:
        return unit.dimension == "money" and _names(label, parts, unit)
    if not space and number[0] in "+-":
        return False  # "delta-5": a sign, or a hyphen
    own = parts[:-1] if len(parts) > 1 and _unit_in_name(parts) is not None else parts
    return words.casefold().split() in (parts, own)


def _is_said_after(words: str, parts: list[str], label: Label) -> bool:
    """Behind a number stands its unit, or what the parameter counts: the last words of its name, in the plural or as a count."""
    unit = _unit(words)
    if unit is not None:
        return _names(label, parts, unit)
    is_count = len(parts) > 1 and parts[-1] in _COUNTS
    nouns = parts[:-1] if is_count else parts
    beside = words.casefold().split()
    if not nouns or not 0 < len(beside) <= _MOST_WORDS or not all(word.isalpha() and word not in _NO_NOUNS for word in beside):
        return False
    if not is_count and _singular(nouns[-1]) == nouns[-1] and nouns[-1] not in _PLURALS:
        return False  # "5 pages" is not which page
    return [_singular(word) for word in beside] == [_singular(word) for word in nouns[-len(beside) :]]


def _names(label: Label, parts: list[str], unit: _Unit) -> bool:
    """Whether the words of a parameter name this unit, and no other one of its kind."""
    words = _words(label.text)
    own = _unit_in_name(parts)
    if (own is None and _is_odd(parts)) or (unit.dimension == "share" and _PARTS_OF_ONE & {word.casefold() for word in [*words, *parts]}):
        return False
    # Whoever asks for US dollars may be given "$"; whoever asks for dollars need not mean those of the US.
    meant = {unit, _US_DOLLAR} if unit.name == "$" else {unit}
    said = {item for item in (own, *map(_unit, words)) if item is not None and item.dimension == unit.dimension}
    return said <= meant and not meant.isdisjoint({own, *_units_of_text(words)})


def _is_odd(parts: list[str]) -> bool:
    """Whether a name holds a unit that is not what it measures ("days_ago", "eur_usd")."""
    return any(_UNIT_OF.get(part) is not None and part not in _PLACES_IN_TIME for part in parts)


def _unit_in_name(parts: list[str]) -> _Unit | None:
    """The unit that a name ends with, where it holds no other one; a letter alone is no unit."""
    if not parts or parts[-1] in _PLACES_IN_TIME or sum(part in _UNIT_OF for part in parts) != 1 or len(parts) == len(parts[-1]) == 1:
        return None
    return _UNIT_OF.get(parts[-1])


def _without_in(parts: list[str]) -> list[str]:
    """The words of a name without the "in" of "duration_in_seconds"."""
    return parts[:-2] + parts[-1:] if len(parts) > 2 and parts[-2] == "in" and _unit_in_name(parts) is not None else parts


def _units_of_text(words: list[str]) -> set[_Unit]:
    """The units that a description gives: "in kg", "(kg)", or nothing but the unit; none where it speaks of rates or says "not"."""
    folded = [word.casefold() for word in words]
    if {"per", "/"} & set(folded) or NEGATIONS & set(folded):
        return set()
    found: set[_Unit] = set()
    for place, word in enumerate(words):
        unit = _unit(word)
        before, after = folded[place - 1] if place else "", folded[place + 1] if place + 1 < len(words) else ""
        if unit is not None and (before == "in" or (before + after) in ("()", "[]") or len(words) == 1):
            found.add(unit)
    return found


def _unit(word: str) -> _Unit | None:
    found = _UNIT_OF.get(word)
    return found if found is not None or len(word) <= _LONGEST_SYMBOL else _UNIT_OF.get(word.casefold())


def _words(text: str) -> list[str]:
    return _WORDS.findall(_in_one_word(text))


def _bare(words: str) -> str:
    return _in_one_word(words.strip().strip(".").strip())


def _in_one_word(text: str) -> str:
    for pattern, word in _PAIRS:
        text = pattern.sub(word, text)
    return text


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
