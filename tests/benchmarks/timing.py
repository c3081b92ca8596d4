"""Timing on noisy machines: interleaved repeats, medians, ratios within one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

__all__ = ["interleaved", "table"]


def interleaved(work: Mapping[str, Callable[[], object]], loops: int = 2_000, rounds: int = 25) -> dict[str, list[float]]:
    """Microseconds of each piece of work, once a round, the pieces taking turns."""
    for function in work.values():
        for _ in range(loops // 2):
            function()
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, function in work.items():
            started = time.perf_counter()
            for _ in range(loops):
                function()
            times[name].append((time.perf_counter() - started) / loops * 1e6)
    return times


def table(times: Mapping[str, list[float]], against: str) -> None:
    """Print medians, and the median of the ratios within each round."""
    print(f"{'':44} {'median us':>10} {'ratio':>7}")
    for name, taken in times.items():
        ratio = statistics.median(mine / other for mine, other in zip(taken, times[against], strict=True))
        print(f"{name:44} {statistics.median(taken):10.2f} {ratio:7.2f}")
