"""What a redaction costs a recorded call, and that hostile texts cost it time in proportion to their length."""

from __future__ import annotations

import math
import time
from typing import Any

from tests.benchmarks.timing import interleaved, table
from toolbox import LENIENT, MemorySink, Redaction, Registry

CALL = {"url": "https://a.example/q", "headers": {"Accept": "text", "Authorization": "Bearer x"}, "retries": 2}
# What is repeated to make hostile texts.
UNITS = [
    "a:",
    ":",
    "a a:",
    "password",
    "a b ",
    "\\",
    '"',
    "\\u0061",
    "\\u0061=",
    " ",
    'a"',
    "&",
    "&#1",
    "password ",
    "<",
    "x=",
    "\\\\u",
    "-",
]
SIZES = (16_000, 32_000, 64_000, 128_000)


def request(url: str, headers: dict[str, str], retries: int = 1) -> int:
    """A tool that takes whatever headers there are."""
    return retries


def main(_arguments: list[str]) -> None:
    """Print both tables."""
    registries: dict[str, Registry] = {}
    for name, redaction in {
        "recorded, no redaction": None,
        "recorded, two key patterns": Redaction(["authorization", "*token*"]),
        "recorded, the common key patterns": Redaction.common(),
        "recorded, common and a redactor": Redaction.common(redactor=lambda text: text.replace("x", "y")),
    }.items():
        registries[name] = Registry(LENIENT, sinks=[MemorySink(100)], redaction=redaction)
        registries[name].register(request)
    table(interleaved({name: _call(registry) for name, registry in registries.items()}, 500, 15), "recorded, no redaction")
    print(f"\n{'text':16}" + "".join(f"{size // 1000:>8}k" for size in SIZES) + " ms  growth")
    redaction = Redaction.common()
    for unit in UNITS:
        times = [_time_ms(redaction, (unit * size)[:size]) for size in SIZES]
        growth = (times[-1] / times[0]) ** (1 / math.log2(SIZES[-1] / SIZES[0]))
        print(f"{unit!r:16}" + "".join(f"{value:9.2f}" for value in times) + f"{growth:11.2f}{'  !' if growth > 2.3 else ''}")


def _call(registry: Registry) -> Any:
    return lambda: registry.dispatch("request", CALL)


def _time_ms(redaction: Redaction, text: str) -> float:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        redaction.text(text)
        redaction.unread(text)
        times.append((time.perf_counter() - started) * 1000)
    return min(times)
