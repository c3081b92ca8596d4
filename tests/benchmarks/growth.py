"""How the time to read hostile text grows with its length.

Every family is a unit that is repeated, maybe after a start and before an end, up to the wanted number of characters. Doubling the length
may not take more than 2.3 times as long. With `--random SECONDS`, random units are tried as well; this finds shapes that nobody thinks of.

    python tests/benchmarks/growth.py [--random SECONDS] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from toolbox.errors import ToolboxError
from toolbox.payload import extract_arguments, find_calls

SIZES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000)
GROWTH = 2.3
LIMITS_MS = {4_000: 15.0, 64_000: 200.0}
NOISE_MS = 2.0


class Family(NamedTuple):
    """A shape of text: a start, a unit that is repeated, an end."""

    name: str
    unit: str
    start: str = ""
    end: str = ""

    def text(self, size: int) -> str:
        """The shape with about `size` characters."""
        return self.start + self.unit * max(1, (size - len(self.start) - len(self.end)) // len(self.unit)) + self.end


FAMILIES = (
    Family("braces", "{"),
    Family("brackets", "["),
    Family("parentheses", "("),
    Family("closing braces", "}", '{"a": 1}'),
    Family("closing brackets", "]", "[1]"),
    Family("braces and brackets", "{["),
    Family("open pairs", '{"a": {1,'),
    Family("open lists of pairs", '[{"a": '),
    Family("broken objects", "{]a1"),
    Family("one bracket, broken objects", "{1", "["),
    Family("objects of numbers", "{1,"),
    Family("nothing objects", '",{null'),
    Family("quotes", '"'),
    Family("single quotes", "'"),
    Family("brace and quote", '{"'),
    Family("typographic quotes", "“"),
    Family("backslashes", "\\", '{"a": "'),
    Family("escaped quotes", '\\"', '{"a": "'),
    Family("escapes of nothing", "\\q", '{"a": "', '"}'),
    Family("short escapes", "\\u12", '{"a": "', '"}'),
    Family("fences", "```"),
    Family("fences of JSON", "```json\n"),
    Family("fences in lines", "```\n"),
    Family("fenced braces", "```\n{\n```\n"),
    Family("commas", ",", "[1"),
    Family("colons", ":", '{"a"'),
    Family("keys", '"a":'),
    Family("keys and values", '"k" "v" ', "{"),
    Family("missing commas", '"k": "v" ', "{", "}"),
    Family("bare keys", "k: 1, ", "{", "}"),
    Family("texts in prose", '{"a": "foo, bar, '),
    Family("comments", "/*", "{"),
    Family("closed comments", "/**/", "{"),
    Family("line comments", "// x\n", "{"),
    Family("hash comments", "# x\n", "{"),
    Family("constants", "True "),
    Family("numbers", "1 ", "["),
    Family("digits", "9", '{"a": '),
    Family("minus signs", "-", '{"a": '),
    Family("products", "*2", "f(a=2", ")"),
    Family("underscored digits", "1_", "f(a=", ")"),
    Family("tags", "<tool_call>"),
    Family("tags with objects", "<tool_call>{"),
    Family("function tags", "<function=f>"),
    Family("parameter tags", "<parameter=a>", "<function=f>"),
    Family("argument tags", "<arg_key>a</arg_key>", "<tool_call>f\n"),
    Family("invoke tags", '<invoke name="f">'),
    Family("Mistral marks", "[TOOL_CALLS]"),
    Family("Mistral names", "f[ARGS]", "[TOOL_CALLS]"),
    Family("python tags", "<|python_tag|>"),
    Family("DeepSeek marks", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f"),
    Family("Kimi marks", "<|tool_call_begin|>f<|tool_call_argument_begin|>"),
    Family("harmony recipients", "to=f ", "", "<|message|>{"),
    Family("harmony messages", "to=f<|message|>"),
    Family("functionary lines", ">>>f\n"),
    Family("actions", "Action: f\nAction Input: "),
    Family("thoughts", "<think>"),
    Family("special tokens", "<|im_end|>"),
    Family("white space", " ", "{"),
    Family("line breaks", "\n", '{"a"'),
    Family("odd white space", "\ufeff", "{"),
    Family("calls", "f("),
    Family("calls in lists", "[f("),
    Family("complete calls", "f(a=1)\n"),
    Family("calls in one line", "f(a=1) "),
    Family("different calls", "f(a='x') + "),
    Family("broken calls", "f(a=)\n"),
    Family("broken calls with quotes", "f('"),
    Family("quoted calls", "'f(a=1)', ", "["),
    Family("quoted calls with quotes", "'f(a='x')', ", "["),
    Family("broken quoted calls", '"f([1,', "["),
    Family("names and braces", "f {"),
    Family("names and objects", 'f\n{"a": 1}\n'),
    Family("assignments", "x = 1\n"),
    Family("open assignments", "x = [1,\n"),
    Family("escaped names", "a\\_"),
    Family("dots", "f."),
    Family("words", "word "),
    Family("declarations", "def f(a):\n"),
    Family("objects", '{"a": 1}'),
    Family("different objects", '{"a": 1} {"a": 2} '),
    Family("shapes", '{"name": "f", "arguments": {"a": 1}} '),
    Family("shapes in a list", '{"name": "f", "arguments": {"a": 1}}, ', "[", "x"),
    Family("texts with line breaks", "x\n", '{"a": "', '"}'),
    Family("triple quotes", '"""', "{"),
    Family("apostrophes", "it's ", "{'a': '"),
    Family("layers of text", '\\"', '"', '"'),
)


class OneTool:
    """One registered tool, ``f(a)``."""

    def resolve(self, name: str) -> str | None:
        """The tool's name, for the tool's name."""
        return "f" if name == "f" else None

    def parameters(self, name: str) -> Sequence[str]:
        """Its one parameter."""
        return ["a"] if name == "f" else []

    def required(self, name: str) -> Collection[str]:
        """Nothing."""
        return [] if name == "f" else [name]

    def takes_any(self, name: str) -> bool:
        """No."""
        return name != "f"


def time_ms(text: str, times: int = 2) -> float:
    """The processor time of the slower of both readers, in milliseconds; of some runs the shortest one counts."""
    tools = OneTool()
    slowest = 0.0
    for read in (lambda: extract_arguments(text, known=tools, tool="f"), lambda: find_calls(text, known=tools)):
        best = float("inf")
        for _ in range(times):
            started = time.process_time()
            with contextlib.suppress(ToolboxError):  # a refusal has to be as quick as a result
                read()
            best = min(best, (time.process_time() - started) * 1000)
        slowest = max(slowest, best)
    return slowest


def growth_of(times_ms: Sequence[float]) -> float:
    """The mean growth per doubling over the last four doublings that are long enough to be measured."""
    last = [value for value in times_ms[-5:] if value > NOISE_MS]
    if len(last) < 3:
        return 1.0
    return float((last[-1] / last[0]) ** (1 / (len(last) - 1)))


def too_slow(times_ms: Sequence[float]) -> bool:
    """Whether times of all sizes grow too fast, or are too long where there is a limit."""
    return growth_of(times_ms) > GROWTH or any(times_ms[SIZES.index(size)] > limit for size, limit in LIMITS_MS.items())


def random_families(seconds: float, seed: int) -> Iterator[Family]:
    """Units of 1 to 5 random tokens after a random start, until the time is over."""
    chosen = random.Random(seed)
    tokens = [
        *"{}[]()\"':,\\`#/*<>=.-1an \n",
        "f(",
        "```",
        "//",
        "/*",
        "*/",
        '"a":',
        "true",
        "None",
        "<tool_call>",
        "\\u",
        "f\n{",
        "a=",
        "'f('",
    ]
    tokens += ["<|python_tag|>", "[TOOL_CALLS]", "<function=f>", "x = ", "“", "”", '{"name": "f"', "def f(", "\\_", "<think>", "**", "1_"]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        unit = "".join(chosen.choices(tokens, k=chosen.randint(1, 5)))
        start = "".join(chosen.choices(tokens, k=chosen.randint(0, 4)))
        yield Family(f"random {start!r} {unit!r}", unit, start, chosen.choice(["", "", "}", '"', ")"]))


def main(arguments: list[str] | None = None) -> int:
    """Print every family; exit with 1 where one takes too long or grows too fast."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    table: dict[str, dict[str, float]] = {}
    bad = []
    print(f"{'family':32}" + "".join(f"{size // 1000:>8}k" for size in SIZES) + "  growth")
    for family in FAMILIES:
        times_ms = [time_ms(family.text(size)) for size in SIZES]
        if too_slow(times_ms):  # something else may have kept the machine busy
            times_ms = [min(before, time_ms(family.text(size), 4)) for before, size in zip(times_ms, SIZES, strict=True)]
        growth = growth_of(times_ms)
        if too_slow(times_ms):
            bad.append(family.name)
        table[family.name] = {str(size): round(value, 2) for size, value in zip(SIZES, times_ms, strict=True)} | {
            "growth": round(growth, 2)
        }
        print(
            f"{family.name:32}" + "".join(f"{value:9.1f}" for value in times_ms) + f"{growth:8.2f}{'  !' if family.name in bad else ''}",
            flush=True,
        )
    tried, worst_ms, worst = 0, 0.0, ""
    for family in random_families(options.random, options.seed):
        tried += 1
        spent = time_ms(family.text(16_000), 1)
        if spent > worst_ms:
            worst_ms, worst = spent, family.name
        if spent > LIMITS_MS[64_000] / 4:
            times_ms = [time_ms(family.text(size), 3) for size in SIZES[:-1]]
            growth = growth_of(times_ms)
            if too_slow(times_ms):
                bad.append(family.name)
                print(f"{family.name}: {spent:.0f} ms at 16k, growth {growth:.2f}  !", flush=True)
    if tried:
        print(f"{tried} random units, the worst {worst_ms:.0f} ms at 16k: {worst}")
    print(f"{len(FAMILIES)} families; too slow: {', '.join(bad) or 'none'}")
    if options.json:
        options.json.write_text(json.dumps(table, indent=1), encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
