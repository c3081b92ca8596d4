"""What schemas that came from elsewhere cost: registering large, deep and recursive ones, and dispatch against the size of the payload.

python -m tests.benchmarks schemas
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from toolbox import Limits, MemorySink, Policy, Registry

REGISTER_S = 0.5
ROUNDS = 5
SIZES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
KINDS = ({"type": "integer"}, {"type": "string"}, {"type": "boolean"}, {"type": "number"}, {"enum": ["low", "high"]})
ROOMY = Policy(limits=Limits(nodes=1_000_000))


def arguments(**properties: Any) -> dict[str, Any]:
    """A schema of a tool's parameters."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


def nested(depth: int) -> dict[str, Any]:
    """A schema of objects in objects."""
    found: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        found = arguments(inner=found)
    return found


WIDE = arguments(**{f"property_{place}": KINDS[place % len(KINDS)] for place in range(5_000)})
CHOICES = [f"choice-{place}" for place in range(10_000)]
CYCLE = {
    **arguments(tree={"$ref": "#/$defs/Branch"}, rest={"$ref": "#"}),
    "$defs": {
        "Branch": {"type": "object", "properties": {"leaves": {"type": "array", "items": {"$ref": "#/$defs/Leaf"}}}},
        "Leaf": {"type": "object", "properties": {"size": {"type": "integer"}, "branch": {"$ref": "#/$defs/Branch"}}, "required": ["size"]},
    },
}
SCHEMAS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "5,000 properties": (WIDE, {"property_0": 1}),
    "60 levels": (nested(60), {"inner": {}}),
    "10,000 choices": (arguments(kind={"enum": CHOICES}), {"kind": "choice-5"}),
    "cyclic references": (CYCLE, {"tree": {"leaves": [{"size": 1, "branch": {"leaves": []}}]}, "rest": {"rest": {}}}),
}
"""A schema, and a payload for it."""


def registered(schema: dict[str, Any]) -> Registry:
    """A registry with one tool of this schema."""
    registry = Registry(policy=ROOMY, sinks=[MemorySink(1)])
    registry.register_schema("tool", schema, lambda **values: len(values))
    return registry


def time_ms(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The processor time of the quickest of some rounds, in milliseconds: what else runs on the machine counts as little as can be."""
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        work()
        best = min(best, (time.process_time() - started) * 1_000)
    return best


def payloads(size: int) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Schemas with payloads of about `size` values."""
    item = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}, "required": ["id"]}
    listed = arguments(items={"type": "array", "items": item})
    leaf: dict[str, Any] = {"leaves": [{"size": place} for place in range(size // 2)]}
    return {
        "clean rows": (listed, {"items": [{"id": place, "name": "n"} for place in range(size // 3)]}),
        "rows with numbers as text": (listed, {"items": [{"id": str(place), "name": "n"} for place in range(size // 3)]}),
        "texts for an enum of 10,000": (
            arguments(kinds={"type": "array", "items": {"enum": CHOICES}}),
            {"kinds": [CHOICES[place % 10_000].upper() for place in range(size)]},
        ),
        "a map": (
            {"type": "object", "properties": {"by_name": {"type": "object", "additionalProperties": {"type": "number"}}}},
            {"by_name": {f"n{place}": place for place in range(size)}},
        ),
        "recursive rows": (CYCLE, {"tree": leaf}),
        "checked by the validator": (
            arguments(rows={"type": "array", "items": {"type": "integer", "not": {"const": -1}}}),
            {"rows": list(range(size))},
        ),
    }


def main(_arguments: list[str]) -> int:
    """Print both tables; exit with 1 where a registration takes too long."""
    print(f"{'':32} {'register ms':>12} {'first call ms':>14} {'next call ms':>13}   (wanted: register < {REGISTER_S * 1_000:.0f} ms)")
    slow = False
    for name, (schema, payload) in SCHEMAS.items():
        register = time_ms(partial(registered, schema))
        registry = registered(schema)
        first = time_ms(partial(registry.dispatch, "tool", payload), 1)
        later = time_ms(partial(registry.dispatch, "tool", payload), 20)
        slow = slow or register > REGISTER_S * 1_000
        print(f"{name:32} {register:12.1f} {first:14.2f} {later:13.3f}")
    print()
    print(f"{'microseconds of dispatch a value':32}" + "".join(f"{f'{size:,}':>9}" for size in SIZES) + f"{'last/first':>12}")
    rows: dict[str, list[float]] = {}
    for size in SIZES:
        for name, (schema, payload) in payloads(size).items():
            registry = registered(schema)
            registry.dispatch("tool", payload)
            spent = time_ms(partial(registry.dispatch, "tool", payload))
            rows.setdefault(name, []).append(spent * 1_000 / size)
    for name, spent_us in rows.items():
        print(f"{name:32}" + "".join(f"{value:9.2f}" for value in spent_us) + f"{spent_us[-1] / spent_us[0]:12.2f}")
    return 1 if slow else 0
