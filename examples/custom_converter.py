"""A class that toolbox does not know: say what comes in JSON, and how the instance is made of it."""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict

from toolbox import Registry


@dataclass(frozen=True)
class Money:
    cents: int
    currency: str

    @classmethod
    def parse(cls, text: str) -> "Money":
        amount, _, currency = text.partition(" ")
        if len(currency) != 3:
            raise ValueError("it names no currency; send it as in '19.99 EUR'")
        return cls(round(float(amount) * 100), currency.upper())


class Ratio(TypedDict):
    over: int
    under: int


registry = Registry()
registry.register_converter(Money, str, Money.parse)
# What comes is coerced first, by the annotation that is given for it; it is also what the schema shows.
registry.register_converter(Fraction, Ratio, lambda ratio: Fraction(ratio["over"], ratio["under"]))


@registry.tool
def split_bill(total: Money, share: Fraction, tips: list[Money] | None = None) -> str:
    """Say what one guest pays."""
    cents = (total.cents + sum(tip.cents for tip in tips or [])) * share
    return f"{float(cents) / 100:.2f} {total.currency}"


print(json.dumps(registry["split_bill"].schema["properties"]["share"]))
print(registry.dispatch("split_bill", {"total": "40.00 eur", "share": {"over": "1", "under": 4}}))
print(registry.dispatch("split_bill", {"total": "40.00 eur", "share": '{"over": 1, "under": 4}', "tips": '["4.00 EUR"]'}))
print(registry.run("split_bill", {"total": "40.00", "share": {"over": 1}}).to_text())
