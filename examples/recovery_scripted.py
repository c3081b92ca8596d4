"""Refused calls that a model is asked to correct, with a scripted model: what is asked, what comes back, what runs and what does not."""

from __future__ import annotations

import json
from datetime import date
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from toolbox import CircuitBreaker, MemorySink, Recovery, RecoveryBudget, Registry, call_metadata


def answer(status: str, arguments: dict[str, Any], *unrecoverable: str, log: str = "") -> str:
    """An answer as the recovery prompt asks for it."""
    fields = [{"field_path": path, "original_value": None, "expected_type": "", "reason": "it says no number"} for path in unrecoverable]
    made = {
        "recovery_status": status,
        "corrected_arguments": arguments,
        "unrecoverable_fields": fields,
        "coercion_log": [log] if log else [],
    }
    return json.dumps(made)


TRIP = {"origin": "SFO", "destination": "JFK", "depart": "July 2nd, 2026", "passengers": "2 passengers"}
FIXED = {**TRIP, "depart": "2026-07-02", "passengers": 2}
VAGUE = {**FIXED, "passengers": "a few"}
SCRIPT = [
    # 1. right at once
    answer("SUCCESS", FIXED, log="$.depart: written as ISO 8601; $.passengers: the number that it says"),
    # 2. no object, then a value out of nothing, then an honest answer
    "Sure! I will book the flight for three.",
    answer("SUCCESS", {**VAGUE, "passengers": 3}, log="$.passengers: a few is usually three"),
    answer("UNRECOVERABLE", {}, "$.passengers"),
    # 3. something else was changed on the way, then right
    answer("SUCCESS", {**FIXED, "destination": "LAX"}),
    answer("SUCCESS", FIXED),
]
asked: list[Any] = []


def ask(messages: list[Any]) -> str:
    """The scripted model; a real one is asked in the same way, see recovery_client.py."""
    asked.append(messages)
    return SCRIPT[len(asked) - 1]


sink = MemorySink()
recovery = Recovery(ask, max_attempts=3, budget=RecoveryBudget(per_conversation=10))
registry = Registry(sinks=[sink], recovery=recovery, breaker=CircuitBreaker(4))


@registry.tool
def book_flight(
    origin: str,
    destination: str,
    depart: date,
    passengers: Annotated[int, Ge(1), Le(9)],
    cabin: Literal["economy", "business"] = "economy",
) -> str:
    """Book a flight."""
    return f"booked {origin}-{destination} on {depart:%d %b %Y} for {passengers} in {cabin}"


def show(title: str, arguments: dict[str, Any]) -> None:
    """One call, with its attempts."""
    before = len(asked)
    result = registry.run("book_flight", arguments)
    print(f"\n{title}: {type(result.error).__name__ if result.error else result.value}")
    for attempt in sink.records[-1].metadata.get("recovery", {}).get("attempts", []):
        support = ", ".join(f"{change['path']} ({change['support']})" for change in attempt["changes"])
        print(f"  attempt {attempt['attempt_number']}: {attempt['verdict']}{f', supported: {support}' if support else ''}")
        for line in attempt["problem"].splitlines():
            print(f"    {line}")
    characters = [sum(len(message["content"]) for message in messages) for messages in asked[before:]]
    print(f"  asked {len(characters)} times, {max(characters, default=0) // 4} tokens at most")


def main() -> None:
    with call_metadata(conversation_id="c-1"):
        show("a date and a number in words", TRIP)
        show("a number that nobody knows", VAGUE)
        show("another value changed on the way", TRIP)
        print(f"\nspent in this conversation: {recovery.budget.spent(conversation='c-1')} attempts")
    ran = [record.invoked for record in sink.records if record.status == "done"]
    assert [item["passengers"] for item in ran if item] == [2, 2]
    print(f"the function ran {len(ran)} times, each time for 2 passengers")


if __name__ == "__main__":
    main()
