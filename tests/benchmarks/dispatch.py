"""What a call costs: clean and messy, against pydantic's ``validate_call`` in the same run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from pydantic import validate_call

from tests.benchmarks.timing import interleaved, table
from toolbox import LENIENT, MemorySink, Registry


def search_flights(
    origin: str, destination: str, passengers: int, nonstop: bool, cabin: Literal["economy", "business"], max_price: float | None
) -> int:
    """Six parameters of the usual kinds."""
    return passengers


@dataclass
class Line:
    """One line of an order."""

    sku: str
    quantity: int


def place_order(customer: str, lines: list[Line], note: str | None = None) -> int:
    """Nested parameters."""
    return len(lines)


CLEAN = {"origin": "SFO", "destination": "JFK", "passengers": 2, "nonstop": True, "cabin": "economy", "max_price": 120.5}
MESSY = {"origin": "SFO", "destination": "JFK", "passengers": "2", "nonstop": "true", "cabin": "economy", "max_price": "120.5"}
ORDER = {"customer": "c-1", "lines": [{"sku": "a", "quantity": 1}, {"sku": "b", "quantity": 2}], "note": "soon"}


def main(_arguments: list[str]) -> None:
    """Print the table."""
    registry, recording = Registry(policy=LENIENT), Registry(policy=LENIENT, sinks=[MemorySink(100)])
    for item in (registry, recording):
        item.register(search_flights)
        item.register(place_order)
    validated, validated_order = validate_call(search_flights), validate_call(place_order)
    text = json.dumps(CLEAN)
    times = interleaved(
        {
            "pydantic validate_call, clean": lambda: validated(**CLEAN),  # type: ignore[arg-type]  # one dict of several types
            "dispatch, clean, log silent": lambda: registry.dispatch("search_flights", CLEAN),
            "dispatch, clean, recorded in memory": lambda: recording.dispatch("search_flights", CLEAN),
            "run, clean": lambda: registry.run("search_flights", CLEAN),
            "dispatch, three changes": lambda: registry.dispatch("search_flights", MESSY),
            "pydantic validate_call, the same": lambda: validated(**MESSY),  # type: ignore[arg-type]  # the same
            "dispatch, JSON text": lambda: registry.dispatch("search_flights", text),
            "pydantic validate_call, json.loads": lambda: validated(**json.loads(text)),
            "dispatch, nested": lambda: registry.dispatch("place_order", ORDER),
            "pydantic validate_call, nested": lambda: validated_order(**ORDER),  # type: ignore[arg-type]  # the same
        }
    )
    table(times, "pydantic validate_call, clean")
