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


# Each line: a dimension, and its units with the spellings that stand for them.
_UNITS: Final = {
    "money": "usd $ us$ dollar dollars | eur € euro euros | gbp £ | jpy yen | cny yuan | inr ₹ rupee rupees | chf franc francs",
    "mass": "kg kilogram kilograms kilo kilos | g gram grams | mg milligram milligrams | lb lbs | oz ounce ounces | tonne tonnes",
    "length": "km kilometer kilometers kilometre kilometres | m meter meters metre metres"
    " | cm centimeter centimeters centimetre centimetres | mm millimeter millimeters millimetre millimetres"
    " | mile miles | ft foot feet | inch inches",
    "volume": "l liter liters litre litres | ml milliliter milliliters millilitre millilitres | gallon gallons",
    "time": "ms millisecond milliseconds | s sec secs second seconds | minute minutes | h hr hrs hour hours | day days | week weeks"
    " | month months | year years",
    "share": "percent % pct percentage",
    "heat": "celsius °c | fahrenheit °f | kelvin",
    "size": "byte bytes | kb kilobyte kilobytes | mb megabyte megabytes | gb gigabyte gigabytes | tb terabyte terabytes",
}
_UNIT_OF: Final = {
    word: (dimension, unit.split()[0]) for dimension, listed in _UNITS.items() for unit in listed.split("|") for word in unit.split()
}
# fmt: off
# Words of a name that change a number which stands beside them.
_NO_NOUNS: Final = NEGATIONS | ENDINGS | QUALIFIERS | frozenset({
    "and", "or", "of", "per", "to", "from", "up", "about", "around", "approx", "approximately", "some", "more", "most", "least", "any",
    "each", "every", "half", "double", "twice", "dozen", "hundred", "thousand", "million", "billion", "k", "max", "maximum", "min",
    "minimum", "next", "last", "plus", "times", "by", "within",
})
# fmt: on
_BESIDE: Final = re.compile(r"([^\d+.-]{0,32}?)\s*([+-]?(?:\d[\d,._'\u00a0\u202f]*|\.\d+)(?:[eE][+-]?\d{1,6})?)\s*([^\d]{0,32})\Z")
_WORDS: Final = re.compile(r"[^\W\d_]+|[%$€£₹°]+[^\W\d_]*")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+")
_ONE_COMMA: Final = re.compile(r"[+-]?[0-9]{1,3},[0-9]{3}\Z")


def number_said(text: str, label: Label, *, whole: bool) -> Decimal | None:
    """The number that a text says, where it says one and no other; None where it says none, several, or one that could be another.

    Args:
        text: what came.
        label: the words of the parameter; a unit counts only where they name it.
        whole: whether only a whole number fits, so that a comma can be no decimal comma.

    >>> number_said("12 kg", Label("weight_kg"), whole=False), number_said("12 kg", Label("weight_lb"), whole=False)
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
        if found is None or not (found[1].strip() or found[3].strip()):
            return None
        if not all(_is_asked_for(part, label) for part in (found[1], found[3]) if part.strip()):
            return None
        readings = _readings(found[2], whole)
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
    if found is None or number not in _readings(found[2], whole=False):
        return None
    words = " ".join(part.strip().strip(".").strip() for part in (found[1], found[3]) if part.strip())
    said = {word.casefold() for word in [*_WORDS.findall(label.text), *_CAMEL.split(label.name)]}
    beside = words.casefold().split()
    if not 0 < len(beside) <= 3 or any(word in _NO_NOUNS or word in said for word in beside):
        return None
    known = [_UNIT_OF[word] for word in beside if word in _UNIT_OF]
    is_plain = all(word.isalpha() or word in _UNIT_OF for word in beside)
    return words if is_plain and not any(unit[1] in _named_units(label, unit[0]) for unit in known) else None


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


def _is_asked_for(words: str, label: Label) -> bool:
    """Whether the words beside a number are the unit that the parameter names, or the thing that it counts."""
    text = words.strip().strip(".").strip().casefold()
    unit = _UNIT_OF.get(text)
    if unit is not None:
        return _named_units(label, unit[0]) == {unit[1]}
    names = {_singular(part.casefold()) for part in _CAMEL.split(label.name) if part} - _NO_NOUNS
    beside = text.split()
    return 0 < len(beside) <= 3 and all(word.isalpha() and word not in _NO_NOUNS and _singular(word) in names for word in beside)


def _named_units(label: Label, dimension: str) -> set[str]:
    # A letter alone is a unit in a name such as `length_m`; in a sentence it may be anything.
    said = {word.casefold() for word in _WORDS.findall(label.text) if len(word) > 1 or not word.isalpha()}
    words = said | {part.casefold() for part in _CAMEL.split(label.name) if part}
    return {_UNIT_OF[word][1] for word in words if word in _UNIT_OF and _UNIT_OF[word][0] == dimension}


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
