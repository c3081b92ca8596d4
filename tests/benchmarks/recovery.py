"""How many calls come back whole from broken payloads, measured on the ground truth of the Berkeley Function-Calling Leaderboard.

Every call of the ground truth is rendered as a model would send it, then damaged in one known way, and extracted again. A call counts as
recovered when every argument comes back with the same type and value; anything else that comes back is a wrong acceptance, which is worse
than a refusal. A second table cuts payloads off inside a value: nothing shorter than what was sent may come back. A third one puts values
into the calls that no careful dispatcher may convert. A fourth one sends the damaged payloads to two tools, one registered with the schema
and one with a function whose annotations say the same: both must recover the same share.

    pip install --no-deps bfcl-eval
    python tests/benchmarks/recovery.py [--limit N] [--json FILE]

The data is public (Apache-2.0) and the run is deterministic.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import inspect
import json
import keyword
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, Required, TypedDict

from toolbox import Registry, ToolboxError
from toolbox.payload import extract_arguments

CATEGORIES = (
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "simple_java",
    "simple_javascript",
)
SINGLE_TURN = CATEGORIES[:8]
DIFFERENCE = 0.2
UNLIKE_SHOWN = 20
CUTS = 2_000
JSON_TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
TYPES = {
    "dict": "object",
    "HashMap": "object",
    "tuple": "array",
    "Array": "array",
    "ArrayList": "array",
    "float": "number",
    "double": "number",
}
TYPES |= {"long": "integer", "short": "integer", "byte": "integer", "String": "string", "char": "string", "Boolean": "boolean"}


class Sample(NamedTuple):
    """One call of the ground truth, and the schema of its tool."""

    category: str
    name: str
    arguments: dict[str, Any]
    schema: dict[str, Any]


# -- the data ---------------------------------------------------------------------------------------------------------------------------


def data_folder() -> Path | None:
    """The data of the installed `bfcl-eval`, or None."""
    found = importlib.util.find_spec("bfcl_eval")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations))) / "data"


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def first_accepted(options: Any) -> Any:
    """The first accepted value of an argument: every option list holds the accepted values, and objects hold option lists themselves."""
    value = options[0] if isinstance(options, list) and options else options
    if isinstance(value, dict):
        return {key: first_accepted(inner) if isinstance(inner, list) else inner for key, inner in value.items()}
    if isinstance(value, list):
        return [first_accepted([item]) if isinstance(item, dict) else item for item in value]
    return value


def as_json_schema(schema: Any) -> Any:
    """The leaderboard's dialect as JSON Schema."""
    if isinstance(schema, list):
        return [as_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    written = {key: as_json_schema(value) for key, value in schema.items() if key != "optional"}
    kind = written.get("type")
    if isinstance(kind, str) and kind not in JSON_TYPES:
        written["type"] = TYPES.get(kind)
        if written["type"] is None:  # anything goes
            del written["type"]
    return written


def samples(folder: Path, limit: int | None = None) -> Iterator[Sample]:
    """All calls of the ground truth that have arguments."""
    for category in CATEGORIES:
        (questions,) = sorted(folder.glob(f"BFCL_v?_{category}.json"))
        schemas = {
            (item["id"], function["name"]): as_json_schema(function["parameters"])
            for item in read_lines(questions)
            for function in item["function"]
        }
        count = 0
        for item in read_lines(folder / "possible_answer" / questions.name):
            for call in item["ground_truth"]:
                for name, options in call.items():
                    arguments = {key: first_accepted(value) for key, value in options.items() if "" not in value[1:] and value[:1] != [""]}
                    if arguments and (limit is None or count < limit):
                        count += 1
                        yield Sample(category, name, arguments, schemas.get((item["id"], name), {}))


# -- the damage -------------------------------------------------------------------------------------------------------------------------


def written_as(value: Any, text: Callable[[str], str], key: Callable[[str], str], comma: str = ", ", last: str = "") -> str:
    """JSON text with another way to write texts, keys, and what stands between and after members."""
    if isinstance(value, dict):
        members = [f"{key(name)}: {written_as(item, text, key, comma, last)}" for name, item in value.items()]
        return "{" + comma.join(members) + (last if members else "") + "}"
    if isinstance(value, list):
        return "[" + comma.join(written_as(item, text, key, comma, last) for item in value) + (last if value else "") + "]"
    return text(value) if isinstance(value, str) else json.dumps(value)


def in_single_quotes(text: str) -> str:
    """A text as a literal in single quotes."""
    return "'" + json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"


def plain(value: Any) -> str:
    """JSON text without escapes for letters."""
    return json.dumps(value, ensure_ascii=False)


def bare_key(name: str) -> str:
    """A key without quotes, where it is a name."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else plain(name)


def with_line_breaks(value: Any) -> Any:
    """The same value with a line break inside every text."""
    if isinstance(value, dict):
        return {name: with_line_breaks(item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_line_breaks(item) for item in value]
    return f"{value[: len(value) // 2]}\n{value[len(value) // 2 :]}" if isinstance(value, str) else value


def raw_text(text: str) -> str:
    """A text in double quotes with its line breaks as they are."""
    return plain(text).replace("\\n", "\n")


def same(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as they are."""
    return arguments


Damage = tuple[str, Callable[[dict[str, Any]], dict[str, Any]], Callable[[dict[str, Any]], str]]
DAMAGES: tuple[Damage, ...] = (
    ("as it is", same, plain),
    ("fenced", same, lambda a: f"```json\n{json.dumps(a, indent=2, ensure_ascii=False)}\n```"),
    (
        "in prose",
        same,
        lambda a: f"Sure, I will call the tool with these arguments:\n\n{plain(a)}\n\nLet me know if that is what you wanted.",
    ),
    ("encoded twice", same, lambda a: json.dumps(plain(a))),
    ("wrapped", same, lambda a: plain({"arguments": a})),
    ("trailing comma", same, lambda a: written_as(a, plain, plain, last=",")),
    ("single quotes", same, lambda a: written_as(a, in_single_quotes, in_single_quotes)),
    ("unquoted keys", same, lambda a: written_as(a, plain, bare_key)),
    ("closer cut off", same, lambda a: json.dumps(a, indent=1, ensure_ascii=False)[:-1]),
    ("Python literals", same, repr),
    ("raw line breaks", with_line_breaks, lambda a: written_as(a, raw_text, plain)),
    ("comments", same, lambda a: "{ // the arguments\n" + written_as(a, plain, plain, comma=", /* next */ ")[1:-1] + " # done\n}"),
)


# -- the measure ------------------------------------------------------------------------------------------------------------------------


def alike(got: Any, want: Any) -> bool:
    """Whether two values are the same by type and value; an integer never stands for a float or a boolean."""
    if isinstance(want, dict):
        return isinstance(got, dict) and list(got) == list(want) and all(alike(got[key], want[key]) for key in want)
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(alike, got, want))
    if isinstance(want, float):
        return isinstance(got, float) and got == want
    return type(got) is type(want) and bool(got == want)


def recovered(text: str, want: dict[str, Any]) -> str:
    """``recovered``, ``refused`` or ``wrong``."""
    try:
        got = extract_arguments(text).arguments
    except ToolboxError:
        return "refused"
    if isinstance(got, dict) and list(got) == ["arguments"] and "arguments" not in want:
        got = got["arguments"]  # the wrapper is opened where the parameters are known
    return "recovered" if alike(got, want) else "wrong"


def value_spans(arguments: dict[str, Any]) -> tuple[str, list[tuple[int, int]]]:
    """The JSON text of arguments, and where each top-level value starts and ends in it."""
    text = "{"
    spans: list[tuple[int, int]] = []
    for name, value in arguments.items():
        text += (", " if spans else "") + plain(name) + ": "
        start = len(text)
        text += plain(value)
        spans.append((start, len(text)))
    return text + "}", spans


def cut_off(calls: list[Sample], count: int = CUTS) -> collections.Counter[str]:
    """What becomes of payloads that end inside a value."""
    outcome: collections.Counter[str] = collections.Counter()
    chosen = random.Random(1)
    while calls and outcome.total() < count:
        arguments = chosen.choice(calls).arguments
        text, spans = value_spans(arguments)
        start, end = chosen.choice(spans)
        position = chosen.randrange(start, end)
        try:
            got = extract_arguments(text[:position]).arguments
        except ToolboxError as error:
            outcome[f"refused as {getattr(error, 'reason', 'invalid')}"] += 1
            continue
        whole = isinstance(got, dict) and all(name in arguments and alike(value, arguments[name]) for name, value in got.items())
        outcome["whole values only" if whole else "SHORTENED"] += 1
    return outcome


HOSTILE: tuple[tuple[str, str, Any], ...] = (
    ("integer", '"N/A"', "N/A"),
    ("integer", '""', ""),
    ("integer", '"abc"', "abc"),
    ("integer", "5.5", 5.5),
    ("integer", "true", True),
    ("boolean", '"maybe"', "maybe"),
    ("boolean", "2", 2),
    ("number", '"NaN"', "NaN"),
    ("number", "1e400", float("inf")),
    ("integer", "null", None),
    ("string", "null", None),
    ("boolean", "null", None),
)


def refusals(calls: list[Sample]) -> dict[str, collections.Counter[str]]:
    """What becomes of values that must be refused, by kind of parameter; empty while the library has no such function."""
    try:
        from toolbox import normalize_from_schema
    except ImportError:
        return {}
    table: dict[str, collections.Counter[str]] = {}
    for kind, shown, value in HOSTILE:
        outcome = table[f"{shown} for {kind}"] = collections.Counter()
        for sample in calls:
            properties = sample.schema.get("properties", {})
            for name in sample.schema.get("required", ()):
                declared = properties.get(name, {})
                if declared.get("type") != kind or "default" in declared or "enum" in declared or name not in sample.arguments:
                    continue
                text = plain({**sample.arguments, name: value}).replace("Infinity", "1e400")
                report = normalize_from_schema(sample.schema, text)
                named = any(failure.path.startswith(("$." + name, f"$['{name}")) for failure in report.failures)
                outcome["refused" if named else "refused elsewhere" if report.failures else "ACCEPTED"] += 1
    return table


# -- by schema and by signature ---------------------------------------------------------------------------------------------------------

LIST: Any = list
LITERAL: Any = Literal
NAMED: Any = TypedDict
REQUIRED: Any = Required
NOT_REQUIRED: Any = NotRequired
PLAIN: dict[Any, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}


def annotation(schema: dict[str, Any], name: str) -> Any:
    """The annotation that says what a schema of the leaderboard says."""
    if schema.get("enum"):
        return LITERAL[tuple(schema["enum"])]
    kind = schema.get("type")
    if kind == "array":
        return LIST[annotation(schema.get("items", {}), name)]
    if kind == "object" and schema.get("properties"):
        required = schema.get("required", ())
        return NAMED(
            name,
            {
                key: (REQUIRED if key in required else NOT_REQUIRED)[annotation(item, f"{name}_{key}")]
                for key, item in schema["properties"].items()
            },
        )
    return dict[str, Any] if kind == "object" else PLAIN.get(kind, Any)


def python_name(name: str) -> str:
    """A name that a parameter can have."""
    found = re.sub(r"\W", "_", name)
    return f"{found}_" if keyword.iskeyword(found) or not found.isidentifier() else found


def typed_function(sample: Sample) -> tuple[Callable[..., Any], dict[str, str]]:
    """A function with the parameters of a schema, and the names that Python does not allow, to those that they have there."""
    properties = sample.schema.get("properties", {})
    required = sample.schema.get("required", ())
    parameters = []
    for name, item in properties.items():
        known = annotation(item, name)
        default = inspect.Parameter.empty if name in required else item.get("default")
        parameters.append(
            inspect.Parameter(
                python_name(name),
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=known | None if default is None and known is not Any else known,
            )
        )

    def call(**arguments: Any) -> dict[str, Any]:
        return arguments

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # functions may have one
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call, {name: python_name(name) for name in properties if python_name(name) != name}


def equal(got: Any, want: Any) -> bool:
    """Whether two values are the same, a number by its value."""
    if isinstance(want, dict):
        return isinstance(got, dict) and all(key in got and equal(got[key], value) for key, value in want.items())
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(equal, got, want))
    return isinstance(got, bool) == isinstance(want, bool) and bool(got == want)


def both_ways(calls: list[Sample]) -> dict[str, Any]:
    """What two tools make of each damaged payload, the one registered with the schema, the other with a function that says the same."""
    made: dict[str, tuple[Registry, dict[str, str]]] = {}
    unlike: list[str] = []
    table: dict[str, dict[str, collections.Counter[str]]] = {}
    for damage, prepare, render in DAMAGES:
        rows: dict[str, collections.Counter[str]] = {"typed": collections.Counter(), "schema": collections.Counter()}
        for sample in calls:
            if sample.category not in SINGLE_TURN or not sample.schema:
                continue
            key = json.dumps(sample.schema)
            if key not in made:
                registry = Registry()
                function, renamed = typed_function(sample)
                registry.register(function, name="typed", aliases=renamed)
                registry.register_schema("schema", sample.schema, function, on_schema_problem="report")
                made[key] = registry, renamed
            registry, renamed = made[key]
            want = prepare(sample.arguments)
            found = {}
            for way, row in rows.items():
                try:
                    report = registry.check(way, render(want))
                except ToolboxError:
                    found[way] = "refused"
                else:
                    got = {name: report.value.get(renamed.get(name, name) if way == "typed" else name) for name in want}
                    found[way] = "refused" if not report.ok else "recovered" if equal(got, want) else "other"
                row[found[way]] += 1
            if found["typed"] != found["schema"]:
                unlike.append(f"{damage}: {sample.category}: {sample.name}: typed {found['typed']}, schema {found['schema']}")
        table[damage] = rows
    return {"table": table, "unlike": unlike, "tools": len(made)}


def measure(folder: Path, limit: int | None = None) -> dict[str, Any]:
    """All four tables."""
    calls = list(samples(folder, limit))
    table: dict[str, dict[str, collections.Counter[str]]] = {}
    for damage, prepare, render in DAMAGES:
        rows: dict[str, collections.Counter[str]] = {}
        for sample in calls:
            want = prepare(sample.arguments)
            rows.setdefault(sample.category, collections.Counter())[recovered(render(want), want)] += 1
        table[damage] = rows
    return {"calls": len(calls), "recovered": table, "cut": cut_off(calls), "refused": refusals(calls), "both": both_ways(calls)}


def shown(result: dict[str, Any]) -> Iterator[str]:
    """The tables as lines of text."""
    yield f"{result['calls']} calls; recovered of all, in percent (refused, wrong)"
    for damage, rows in result["recovered"].items():
        total: collections.Counter[str] = sum(rows.values(), collections.Counter())
        share = 100 * total["recovered"] / max(total.total(), 1)
        yield f"{damage:16} {share:7.2f}  ({total['refused']}, {total['wrong']})"
        yield "    " + ", ".join(f"{category} {100 * row['recovered'] / row.total():.1f}" for category, row in rows.items())
    yield ""
    yield f"{sum(result['cut'].values())} payloads cut off inside a value"
    for outcome, count in sorted(result["cut"].items()):
        yield f"    {outcome}: {count}"
    yield ""
    yield "values that must be refused"
    for case, outcome in result["refused"].items():
        yield f"    {case:22} " + ", ".join(f"{what} {count}" for what, count in sorted(outcome.items()))
    both = result["both"]
    yield ""
    yield f"{both['tools']} tools both ways, recovered in percent (wanted: a difference of at most {DIFFERENCE})"
    yield f"{'':16} {'typed':>8} {'schema':>8} {'difference':>11}"
    for damage, rows in both["table"].items():
        typed, schema = (share_of(rows[way]) for way in ("typed", "schema"))
        yield f"{damage:16} {typed:8.2f} {schema:8.2f} {schema - typed:11.2f}"
    yield f"{len(both['unlike'])} payloads with another outcome"
    yield from (f"    {line}" for line in both["unlike"][:UNLIKE_SHOWN])


def share_of(row: collections.Counter[str]) -> float:
    """What was recovered, in percent."""
    return 100 * row["recovered"] / max(row.total(), 1)


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; exit with 1 where a payload was accepted wrongly."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, help="calls of each category")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    folder = data_folder()
    if folder is None:
        print("the data is missing: pip install --no-deps bfcl-eval")
        return 2
    result = measure(folder, options.limit)
    print("\n".join(shown(result)))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    wrong = sum(row["wrong"] for rows in result["recovered"].values() for row in rows.values())
    apart = any(abs(share_of(rows["typed"]) - share_of(rows["schema"])) > DIFFERENCE for rows in result["both"]["table"].values())
    return 1 if wrong or apart or result["cut"]["SHORTENED"] or any(row["ACCEPTED"] for row in result["refused"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
