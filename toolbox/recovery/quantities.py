"""The one number that a text says: with separators, and beside the unit that the parameter itself asks for."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final, NamedTuple

from toolbox.coercion.numerals import LONGEST, may_be_thousands, read_numeral
from toolbox.matching.texts import tokens
from toolbox.matching.words import ENDINGS, NEGATIONS, QUALIFIERS
from toolbox.recovery.nouns import counted, is_plural, singular

__all__ = ["Label", "number_said", "unit_unnamed"]


class Label(NamedTuple):
    """What the schema says about a parameter in words.

    Attributes:
        name: its name.
        text: its title and its description.
        is_item: whether it is one of several values of the parameter; then its name counts nothing.
    """

    name: str = ""
    text: str = ""
    is_item: bool = False


class _Unit(NamedTuple):
    dimension: str
    name: str


# Each line: a dimension, and its units with the spellings that stand for them. Symbols of one or two letters are only what is written here,
# as another case is another unit ("Mb" are bits, "M" is a million); longer words count in any case.
_UNITS: Final = {
    "money": "usd us$ | $ dollar dollars | cent cents ¢ pence | eur € euro euros | gbp £ | jpy yen | cny yuan | inr ₹ | chf",
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
_THINGS: Final = frozenset(("mass", "length", "volume", "size", "time"))
_LONGEST_SHORT: Final = 3
_FAR: Final = 40
_PLACES_IN_TIME: Final = frozenset(("second", "minute", "hour", "day", "week", "month", "year"))
# fmt: off
_MULTIPLES: Final = frozenset({
    "half", "double", "twice", "dozen", "dozens", "hundred", "hundreds", "thousand", "thousands", "million", "millions", "billion",
    "billions", "k", "units", "square", "squared", "cubic", "cubed", "log", "power",
})
# Words of a name with which its last word is no longer what is counted or measured: rates, relations, signs, multiples, powers.
_TURNING: Final = NEGATIONS | ENDINGS | _MULTIPLES | frozenset({
    "and", "or", "of", "per", "to", "from", "by", "in", "at", "on", "with", "within", "between", "since", "vs", "versus", "times", "if",
    "ratio", "fraction", "factor", "multiple", "negative",
})
# What is measured: a unit behind one of these words is its unit. Behind any other word it may be another one ("nautical_miles", "sq_ft").
_MEASURED: Final = frozenset({
    "weight", "mass", "load", "length", "width", "height", "depth", "distance", "radius", "diameter", "thickness", "altitude", "elevation",
    "size", "space", "memory", "storage", "quota", "volume", "capacity", "price", "cost", "costs", "amount", "budget", "fee", "fees",
    "total",
    "salary", "balance", "payment", "sum", "value", "revenue", "tip", "fare", "rent", "duration", "timeout", "delay", "interval", "period",
    "age", "time", "ttl", "lifetime", "wait", "latency", "runtime", "temperature", "temp", "humidity", "discount", "rate", "tax",
    "vat", "interest", "percentage", "progress", "limit", "max", "maximum", "min", "minimum", "in",
})
# Words that change a number which stands beside them.
_NO_NOUNS: Final = _TURNING | QUALIFIERS | frozenset({
    "up", "about", "around", "approx", "approximately", "some", "more", "most", "least", "any", "each", "every", "max", "maximum", "min",
    "minimum", "next", "last", "plus",
})
# With these in its words a share may be a part of one.
_PARTS_OF_ONE: Final = frozenset(("fraction", "fractions", "ratio", "proportion", "decimal", "probability", "half", "1", "1.0"))
# fmt: on
_BESIDE: Final = re.compile(r"([^\d+.-]{0,32}?)(\s*)([+-]?(?:\d[\d,._'\u00a0\u202f]*|\.\d+)(?:[eE][+-]?\d{1,6})?)\s*([^\d]{0,32})\Z")
_WORDS: Final = re.compile(r"[^\W\d_]+|[%$€£₹°¢]+[^\W\d_]*|\d*\.?\d+")
# A description gives a unit as the last word of a clause, or alone in brackets.
_GIVEN: Final = re.compile(r"(?:(?<!\w)in|[(\[])\s*([^\s\d.,;:()\[\]/^]+)\s*(?=[.,;:)\]]|\Z)", re.IGNORECASE)
_RATES: Final = re.compile(r"/|\bper\b|\beach\b|\bevery\b", re.IGNORECASE)
# Units of two words, and the one word for them.
_PAIRS: Final = (
    (re.compile(r"\bu\.?s\.? dollars?\b", re.IGNORECASE), "usd"),
    (re.compile(r"\b(?:degrees?|deg\.?) (?=celsius\b|fahrenheit\b)", re.IGNORECASE), ""),
)
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
    said = {word.casefold() for word in [*_words(label.text), *tokens(label.name)]}
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
    before, after = _bare(found[1]).rstrip(" :=#"), _bare(found[4])
    parts = list(tokens(label.name))
    if (not before and not after) or _TURNING & set(_without_in(parts)):
        return False
    return (not before or _is_said_before(before, found[2], found[3], parts, label)) and (not after or _is_said_after(after, parts, label))


def _is_said_before(words: str, space: str, number: str, parts: list[str], label: Label) -> bool:
    """Before a number stands its currency, or the whole name of the parameter."""
    unit = _unit(words)
    if unit is not None:
        return unit.dimension == "money" and _names(label, parts, unit)
    if label.is_item or (not space and number[0] in "+-"):
        return False  # "delta-5": a sign, or a hyphen
    own = parts[:-1] if len(parts) > 1 and _unit_in_name(parts) is not None else parts
    return words.casefold().split() in (parts, own)


def _is_said_after(words: str, parts: list[str], label: Label) -> bool:
    """Behind a number stands its unit, or the last words of what the parameter counts."""
    unit = _unit(words)
    if unit is not None:
        return _names(label, parts, unit)
    things = () if label.is_item else counted(parts)
    beside = words.casefold().split()
    if not things or not 0 < len(beside) <= _MOST_WORDS or not all(word.isalpha() and word not in _NO_NOUNS for word in beside):
        return False
    return tuple(map(singular, beside)) == things[-len(beside) :]


def _names(label: Label, parts: list[str], unit: _Unit) -> bool:
    """Whether the words of a parameter name this unit, and no other one of its kind."""
    words = _words(label.text)
    own = _unit_in_name(parts)
    if _MULTIPLES & {word.casefold() for word in words} or (own is None and _is_odd(parts)):
        return False
    if unit.dimension == "share" and any(word.casefold() in _PARTS_OF_ONE or _is_part(word) for word in [*words, *parts]):
        return False
    # Whoever asks for US dollars may be given "$"; whoever asks for dollars need not mean those of the US.
    meant = {unit, _US_DOLLAR} if unit.name == "$" else {unit}
    said = {item for item in (own, *map(_unit, words)) if item is not None and item.dimension == unit.dimension}
    return said <= meant and not meant.isdisjoint({own, *_units_of_text(label.text)})


def _is_part(word: str) -> bool:
    """Whether a number is more than nothing and less than one."""
    return word[0] in ".0" and "." in word and word.strip("0.") != ""


def _is_odd(parts: list[str]) -> bool:
    """Whether a name holds a unit that is not what it measures ("days_ago", "eur_usd")."""
    return any(part in _UNIT_OF and part not in _PLACES_IN_TIME for part in parts)


def _unit_in_name(parts: list[str]) -> _Unit | None:
    """The unit that a name ends with, behind what is measured or alone, where the name holds no other one.

    A letter alone is no unit, and a word in the singular is one thing: a meter may be a device, and a foot a part of the body.
    """
    found = _UNIT_OF.get(parts[-1]) if parts else None
    if found is None or sum(part in _UNIT_OF for part in parts) != 1:
        return None
    word = parts[-1]
    is_one = word in _PLACES_IN_TIME or (found.dimension in _THINGS and len(word) > _LONGEST_SHORT and not is_plural(word))
    is_named = len(word) > 1 if len(parts) == 1 else parts[-2] in _MEASURED
    return found if is_named and not is_one else None


def _without_in(parts: list[str]) -> list[str]:
    """The words of a name without the "in" of "duration_in_seconds"."""
    is_about = len(parts) > 2 and parts[-2] == "in" and parts[-3] in _MEASURED
    return parts[:-2] + parts[-1:] if is_about else parts


def _units_of_text(text: str) -> set[_Unit]:
    """The units that a description gives: "in kg", "(kg)", or nothing but the unit; none where it speaks of rates or says "not"."""
    text = _in_one_word(text.strip())
    if _RATES.search(text) or NEGATIONS & {word.casefold() for word in _WORDS.findall(text)}:
        return set()
    alone = [text.rstrip(".")] if len(text.split()) == 1 else []
    given = [*alone, *(found[1] for found in _GIVEN.finditer(text) if _is_given(found, text))]
    return {unit for word in given if word.casefold() not in _PLACES_IN_TIME and (unit := _unit(word)) is not None}


def _is_given(found: re.Match[str], text: str) -> bool:
    """Whether a word in brackets can be a unit: not the end of a word ("time(s)"), and a letter only behind what is measured."""
    if found[0][0] not in "([":
        return True
    before = text[: found.start()]
    if before[-1:].strip():
        return False
    last = _WORDS.findall(before[-_FAR:])[-1:]
    return len(found[1]) > 1 or any(word.casefold() in _MEASURED for word in last)


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
