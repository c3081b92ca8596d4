"""What matching costs on an enum of 10,000 choices."""

from __future__ import annotations

import contextlib
import time

from tests.benchmarks.timing import interleaved, table
from toolbox.errors import AmbiguousMatch
from toolbox.matching import ChoiceIndex, MatchLevel

CHOICES = [f"{region}-{place:05d}-{kind}" for place in range(500) for region in ("us", "eu", "ap", "sa") for kind in "abcde"]


def main(_arguments: list[str]) -> None:
    """Print the table."""
    started = time.perf_counter()
    index = ChoiceIndex(CHOICES)
    built = time.perf_counter()

    def find(value: str) -> None:
        with contextlib.suppress(AmbiguousMatch):
            index.find(value, MatchLevel.TOKEN)

    find("nothing like it")
    print(f"build {1000 * (built - started):.1f} ms, first miss {1000 * (time.perf_counter() - built):.1f} ms, once for an enum")
    times = interleaved(
        {
            "exact": lambda: find("us-00042-c"),
            "case": lambda: find("US-00042-C"),
            "separator": lambda: find("us 00042 c"),
            "miss": lambda: find("completely different"),
            "nearest": lambda: index.nearest("us-00042-x"),
        },
        loops=20,
        rounds=9,
    )
    table(times, "exact")
