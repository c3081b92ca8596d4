"""The drift report as one page that needs nothing else: no network, no script, no file beside it.

Whatever a model sent is shown as text: escaped, with characters that cannot be seen, or that would turn the direction of the line,
written out, and kept apart from the text around it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Final

from toolbox.audit.report.charts import OUTCOMES, outcomes_bar, small_bar, time_chart
from toolbox.audit.report.drift import (
    Drift,
    DriftReport,
    Example,
    Group,
    ParameterDrift,
    count_text,
    name_text,
    percent_text,
    span_text,
    time_text,
    words,
)

__all__ = ["write_page"]

_ADVICE_SHOWN: Final = 12
_MODELS_IN_HEAT: Final = 6
_MARKS: Final = 2
"""So many combining marks may follow each other; more would reach over the lines above and below."""
_LONGEST: Final = 400
_LABEL: Final = 64
# Letters by their category, and yet there is nothing to see.
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_HEAT: Final = ((0.4, 6), (0.2, 5), (0.1, 4), (0.05, 3), (0.01, 2))
_WHERE: Final = {
    "description": "description",
    "type": "type",
    "prompt": "prompt",
    "policy": "policy",
    "application": "application",
}
_ENDS: Final = {
    "done": "returned",
    "refused": "refused",
    "fallback": "answered by the fallback",
    "failed": "the function raised",
    "timeout": "out of time",
    "cancelled": "cancelled",
    "running": "still running",
    "unknown": "unknown: the process ended meanwhile",
    "pending": "waiting for a person",
    "recovered": "corrected by a model",
    "coercion_failed": "could not be corrected",
    "unreadable": "could not be read",
    "unknown_tool": "no such tool",
}


# -- text --------------------------------------------------------------------------------------------------------------------------


def _visible(text: str) -> str:
    """The text as HTML: nothing of it is read as markup, and nothing of it is hidden."""
    made: list[str] = []
    marks = 0
    for character in text[:_LONGEST]:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if character.isprintable() and character not in _BLANK and marks <= _MARKS:
            made.append(html.escape(character))
        else:
            made.append(f'<span class="esc">{character.encode("unicode_escape").decode("ascii")}</span>')
    return "".join(made) + ("..." if len(text) > _LONGEST else "")


def _name(text: str) -> str:
    """A name, or a value, that may come from a model, kept apart from the direction of the text around it."""
    return f"<bdi>{_visible(text)}</bdi>"


def _code(text: str) -> str:
    return f'<code dir="ltr">{_name(name_text(text))}</code>'


def _label(text: str) -> str:
    """A name in a table: cut where it is long, and broken between its words where there is little room."""
    shown = _code(text if len(text) <= _LABEL else f"{text[: _LABEL - 3]}...")
    return re.sub(r"([_.])(?=\w)", r"\1<wbr>", shown)


def _drift_label(item: Drift) -> str:
    return f'<span class="line">{_label(item.tool)}</span> <span class="line">{_label(item.parameter)}</span>'


def _plural(number: int, one: str, many: str = "") -> str:
    return f"{count_text(number)} {one if number == 1 else many or one + 's'}"


# -- tables ------------------------------------------------------------------------------------------------------------------------


def _table(name: str, caption: str, heads: Sequence[str], rows: Iterable[str], classes: str = "") -> str:
    """A table in a region that can be scrolled by keyboard; a head that begins with # is over numbers."""
    columns = "".join(
        f'<th scope="col" class="number">{head[1:]}</th>' if head.startswith("#") else f'<th scope="col">{head}</th>' for head in heads
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{name}-caption">'
        f'<table class="{classes or "plain"}"><caption id="{name}-caption"><span class="stay">{caption}</span></caption>'
        f"<thead><tr>{columns}</tr></thead>{''.join(rows)}</table></div>"
    )


def _body(rows: Iterable[str]) -> str:
    return f"<tbody>{''.join(rows)}</tbody>"


def _number(text: str, classes: str = "") -> str:
    return f'<td class="number {classes}">{text}</td>' if classes else f'<td class="number">{text}</td>'


def _heat_level(part: int, whole: int) -> int:
    if not part or not whole:
        return 0
    return next((level for least, level in _HEAT if part / whole >= least), 1)


def _heat(part: int, whole: int) -> str:
    """A cell that says its share as a number; the colour only repeats it."""
    if not whole:
        return '<td class="number none">no call</td>'
    return _number(percent_text(part, whole), f"heat{_heat_level(part, whole)}")


# -- sections ----------------------------------------------------------------------------------------------------------------------


def _section(name: str, title: str, content: str, lead: str = "") -> str:
    lead = f'<p class="lead">{lead}</p>' if lead else ""
    return f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>{lead}{content}</section>'


def _totals(report: DriftReport) -> str:
    total = report.total
    tiles = [f'<div class="tile"><dt>Calls</dt><dd>{count_text(total.calls)}</dd></div>']
    for attribute, said in OUTCOMES:
        count = getattr(total, attribute)
        if count or attribute != "unknown_tool":
            share = percent_text(count, total.calls)
            of = f'<dd class="of">{_plural(count, "call")}</dd>'
            tiles.append(f'<div class="tile {attribute}"><dt>{said.capitalize()}</dt><dd>{share}</dd>{of}</div>')
    if total.not_run:
        of = '<dd class="of">not counted</dd>'
        tiles.append(f'<div class="tile not_run"><dt>Not run</dt><dd>{count_text(total.not_run)}</dd>{of}</div>')
    ends = [
        f'<tr><th scope="row">{_ENDS.get(status, _name(status))}</th>{_number(count_text(count))}'
        f"{_number(percent_text(count, total.calls))}</tr>"
        for status, count in sorted(total.statuses.items(), key=lambda item: (-item[1], item[0]))
    ]
    return _section(
        "totals",
        "Totals",
        f'<dl class="tiles">{"".join(tiles)}</dl>{outcomes_bar(total)}'
        f"<details><summary>How the calls ended</summary>"
        f"{_table('ends', 'How the calls ended', ('end', '#calls', '#share'), [_body(ends)], 'narrow')}</details>{_uncounted(report)}",
    )


def _uncounted(report: DriftReport) -> str:
    return f"<p>Not counted: {'; '.join(report.uncounted_texts)}.</p>" if report.uncounted_texts else ""


def _nothing(report: DriftReport) -> str:
    return "No call in this range says something about a model." if report.uncounted_texts else "No call is on record in this range."


def _where(report: DriftReport) -> str:
    """The heat table: a row for each parameter, grouped by tool, and a column for each of the most used models."""
    if not report.parameters:
        return _section("heat", "Where it drifts", "<p>No argument was changed or refused.</p>")
    calls = {group.name: group for group in report.tools}
    models = [group.name for group in report.models][:_MODELS_IN_HEAT]
    heads = ["parameter", "#all models", *(f"#{_label(model)}" for model in models if len(report.models) > 1), "#changed", "#refused"]
    bodies = []
    tools = list(dict.fromkeys(item.tool for item in report.parameters))
    for tool in tools:
        group = calls.get(tool)
        of = {} if group is None else group.models
        rows = [_heat_row(item, of, models if len(report.models) > 1 else []) for item in report.parameters if item.tool == tool]
        total = next(item.calls for item in report.parameters if item.tool == tool)
        bodies.append(
            f'<tbody><tr class="group"><th scope="rowgroup" colspan="{len(heads)}"><span class="stay">{_code(tool)} '
            f"<small>{_plural(total, 'call')}</small></span></th></tr>{''.join(rows)}</tbody>"
        )
    caption = "Share of a tool's calls in which a parameter was changed or refused; each call counts once"
    legend = "".join(
        f'<li class="heat{level}">{said}</li>'
        for level, said in enumerate(("0 %", "&lt; 1 %", "1 to 5 %", "5 to 10 %", "10 to 20 %", "20 to 40 %", "&ge; 40 %"))
    )
    return _section(
        "heat",
        "Where it drifts",
        f'<ul class="legend" aria-label="Colours of the table">{legend}</ul>{_table("heat", caption, heads, bodies, "heat")}'
        + _rest(report, "parameters", "parameter"),
        "A row for each parameter, a column for each model. The darker a cell, the more often the model's argument did not fit as it came.",
    )


def _heat_row(item: ParameterDrift, calls: Mapping[str, int], models: Sequence[str]) -> str:
    undeclared = "" if item.is_declared else ' <span class="tag">not declared</span>'
    cells = "".join(_heat(item.models.get(model, 0), calls.get(model, 0)) for model in models)
    return (
        f'<tr><th scope="row">{_label(item.parameter)}{undeclared}</th>{_heat(item.drifted, item.calls)}{cells}'
        f"{_number(count_text(item.changed))}{_number(count_text(item.refused))}</tr>"
    )


def _rest(report: DriftReport, what: str, one: str) -> str:
    count = report.left_out.get(what, 0)
    return f'<p class="rest">{_plural(count, f"less frequent {one}")} not shown.</p>' if count else ""


def _advice(report: DriftReport) -> str:
    drifts = report.drifts
    if not drifts:
        return _section("advice", "What to mend first", "<p>Nothing: every argument fitted as it came.</p>")
    first, later = drifts[:_ADVICE_SHOWN], drifts[_ADVICE_SHOWN:]
    content = f'<ol class="advice">{"".join(map(_card, first))}</ol>'
    if later:
        content += (
            f"<details><summary>{_plural(len(later), 'less frequent drift')}</summary>"
            f'<ol class="advice" start="{len(first) + 1}">{"".join(map(_card, later))}</ol></details>'
        )
    return _section(
        "advice",
        "What to mend first",
        content,
        "The most frequent drifts, and the words or the type that would prevent each. Read the examples before you follow one.",
    )


def _card(item: Drift) -> str:
    where = _WHERE.get(item.advice.where, item.advice.where)
    risk = f' <span class="tag risk-{item.risk}">{item.risk}</span>' if item.risk else ""
    refused = ' <span class="tag refusal">refused</span>' if item.is_refusal else ""
    code = f"<pre>{_code(item.advice.code)}</pre>" if item.advice.code else ""
    examples = "".join(
        f"<li>{_example(item, example)}</li>" for example in item.examples if example.came or example.became or example.detail
    )
    shown = (
        f'<p class="sampled">Most frequent among the latest {count_text(item.sampled)}:</p><ul class="examples">{examples}</ul>'
        if examples
        else ""
    )
    return (
        f'<li class="card"><h3>{_code(item.tool)} <span class="arrow" aria-hidden="true">&rsaquo;</span> {_code(item.parameter)}</h3>'
        f'<p class="what"><strong>{percent_text(item.calls, item.of_calls)}</strong> of {_plural(item.of_calls, "call")}: '
        f"{_words(item)}{refused}{risk}</p>"
        f'<p class="do"><span class="tag where">{where}</span> {_name(item.advice.text)}</p>{code}{shown}</li>'
    )


def _words(item: Drift) -> str:
    """What happened in words, without a break inside a conversion."""
    return re.sub(r"[^\s<>]*-&gt;[^\s<>]*", r'<span class="whole">\g<0></span>', _name(words(item.kind, item.conversion)))


def _example(item: Drift, example: Example) -> str:
    came = _code(example.came) if example.came else "nothing"
    became = (
        f' <span class="arrow" aria-hidden="true">&rarr;</span><span class="out"> became </span> {_code(example.became)}'
        if example.became
        else ", left out"
        if item.leaves_out and example.came
        else ""
    )
    detail = f' <span class="detail">{_name(example.detail)}</span>' if example.detail else ""
    times = f' <span class="times">{count_text(example.count)} times</span>' if example.count > 1 else ""
    return f"{came}{became}{detail}{times}"


def _time(report: DriftReport) -> str:
    buckets = report.buckets
    if not buckets:
        return ""
    rows = [
        f'<tr><th scope="row"><time datetime="{time_text(item.start)}">{time_text(item.start)[:16].replace("T", " ")}</time></th>'
        f"{_number(count_text(item.tally.calls))}"
        + "".join(
            f"{_number(count_text(getattr(item.tally, name)))}{_number(percent_text(getattr(item.tally, name), item.tally.calls))}"
            for name in ("mended", "refused", "unknown_tool")
        )
        + "</tr>"
        for item in buckets
    ]
    heads = ("from (UTC)", "#calls", "#mended", "#share", "#refused", "#share", "#unknown tool", "#share")
    span = span_text(buckets[0].end - buckets[0].start)
    legend = "".join(f'<li><span class="key {name}" aria-hidden="true"></span>{said}</li>' for name, said in OUTCOMES[1:])
    return _section(
        "time",
        "Over time",
        f'<ul class="legend plain" aria-label="Colours of the chart">{legend}</ul>'
        f"{time_chart(buckets, 'wide', 1040)}{time_chart(buckets, 'narrow', 350)}"
        f"<details><summary>The numbers, by {span}</summary>{_table('time', f'Calls by {span}', heads, [_body(rows)])}</details>",
        f"The share of calls that did not fit as they came, and below it the number of calls; a column is {span}.",
    )


def _groups(name: str, title: str, one: str, groups: Sequence[Group], report: DriftReport) -> str:
    # A tool that does not exist is none of the tools.
    outcomes = OUTCOMES if name == "models" else OUTCOMES[:-1]
    has_not_run = report.total.not_run > 0
    rows = []
    for item in groups:
        shares = "".join(_number(percent_text(getattr(item.tally, part), item.tally.calls)) for part, _ in outcomes)
        shares += _number(count_text(item.tally.not_run)) if has_not_run else ""
        top = f"{_name(item.top)} <small>{_plural(item.top_calls, 'call')}</small>" if item.top else "none"
        rows.append(
            f'<tr><th scope="row">{_label(item.name)}</th>{_number(count_text(item.tally.calls))}'
            f'{shares}<td class="bar">{small_bar(item.tally)}</td><td>{top}</td></tr>'
        )
    not_run = ["#not run"] if has_not_run else []
    heads = (one, "#calls", *(f"#{said}" for _, said in outcomes), *not_run, "shares", "most frequent drift")
    table = _table(name, f"What became of the calls, by {one}", heads, [_body(rows)])
    return _section(name, title, table + _rest(report, name, one))


def _drifts(name: str, title: str, one: str, drifts: Sequence[Drift], what: str, nothing: str, report: DriftReport) -> str:
    if not drifts:
        return _section(name, title, f"<p>{nothing}</p>")
    rows = []
    for item in drifts:
        risk = f' <span class="tag risk-{item.risk}">{item.risk}</span>' if item.risk else ""
        counts = _number(count_text(item.calls)) + _number(percent_text(item.calls, item.of_calls))
        rows.append(
            f'<tr><th scope="row">{_drift_label(item)}</th>{counts}<td>{_words(item)}{risk}</td>'
            f"<td>{_listed(item)}</td><td>{_models(item)}</td></tr>"
        )
    heads = ("where", "#calls", "#share", "reason" if name == "refusals" else "change", "examples", "models")
    table = _table(name, f"{what}, the most frequent first", heads, [_body(rows)])
    return _section(name, title, table + _rest(report, name, one))


def _refusals(report: DriftReport) -> str:
    nothing = "No argument was refused."
    return _drifts("refusals", "Refusals", "refusal", report.refusals, "Arguments that were refused", nothing, report)


def _changes(report: DriftReport) -> str:
    nothing = "No argument was changed."
    return _drifts("changes", "Changes", "change", report.changes, "Arguments that were changed", nothing, report)


def _listed(item: Drift) -> str:
    shown = [example for example in item.examples if example.came or example.became][:2]
    return "<br>".join(_example(item, example) for example in shown) or "none"


def _models(item: Drift) -> str:
    shown = (f'<span class="line">{_label(model)} {count_text(calls)}</span>' for model, calls in list(item.models.items())[:3])
    return " ".join(shown)


def _strangers(report: DriftReport) -> str:
    if not report.unknown_tools:
        return ""
    rows = [f'<tr><th scope="row">{_label(name)}</th>{_number(count_text(calls))}</tr>' for name, calls in report.unknown_tools]
    table = _table("names", "Names that were called and that no tool has", ("name", "#calls"), [_body(rows)], "narrow")
    return _section(
        "names",
        "Tools that do not exist",
        table + _rest(report, "unknown_tools", "name"),
        "Say in the prompt that there are no tools but the listed ones. Where a name fits one of them, register it under that name.",
    )


# -- the page ----------------------------------------------------------------------------------------------------------------------


def _facts(report: DriftReport) -> str:
    facts = []
    if report.source:
        facts.append(("Source", _code(report.source)))
    if report.first is not None and report.last is not None:
        facts.append(("Calls from", f"{time_text(report.first)} to {time_text(report.last)}"))
    if report.since is not None:
        facts.append(("Since", time_text(report.since)))
    if report.until is not None:
        facts.append(("Until", time_text(report.until)))
    if report.tool is not None:
        facts.append(("Tool", _code(report.tool)))
    if report.model is not None:
        facts.append(("Model", _code(report.model)))
    facts.append(("Made", time_text(report.made_at)))
    return "".join(f"<div><dt>{name}</dt><dd>{said}</dd></div>" for name, said in facts)


_TERMS: Final = (
    ("as they are", "the arguments fitted as they came; declared defaults may have filled in what was not given"),
    ("mended", "the arguments fitted after changes, each of which is on record"),
    ("refused", "the arguments did not fit, and the function was not run with them"),
    (
        "not run",
        "the arguments fitted, but the application could not run the call, as for a value missing in the context; counted nowhere else",
    ),
    ("risk", "info: one reading, nothing lost; warning: one sensible reading; risky: another reading exists, or something is lost"),
    ("share", "of the calls of that tool; a call counts once, however often something happens in it"),
    ("whole call", "what concerns the arguments as a whole: text around them, broken JSON, another name of the tool"),
)


def write_page(report: DriftReport) -> str:
    """The page."""
    style = files("toolbox.audit.report").joinpath("page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    # Nothing may be loaded, sent or run; the one style sheet is known by its digest.
    rules = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    sections: list[tuple[str, str, str]] = []
    if report.total.calls:
        sections = [
            ("totals", "Totals", _totals(report)),
            ("advice", "What to mend first", _advice(report)),
            ("heat", "Where it drifts", _where(report)),
            ("time", "Over time", _time(report)),
            ("models", "Models", _groups("models", "Models", "model", report.models, report)),
            ("tools", "Tools", _groups("tools", "Tools", "tool", report.tools, report)),
            ("refusals", "Refusals", _refusals(report)),
            ("changes", "Changes", _changes(report)),
            ("names", "Tools that do not exist", _strangers(report)),
        ]
        sections = [item for item in sections if item[2]]
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in sections)
    contents = f'<nav aria-label="Contents"><ul>{links}</ul></nav>' if links else ""
    main = "".join(content for _, _, content in sections) or f"<p>{_nothing(report)}</p>{_uncounted(report)}"
    terms = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in _TERMS)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{rules}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>Drift report</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<header>
<p class="brand">toolbox</p>
<h1>Drift report</h1>
<p class="purpose">How models drift from the types of your tools, and what would prevent it.</p>
<dl class="facts">{_facts(report)}</dl>
{contents}
</header>
<main id="main" tabindex="-1">
{main}
</main>
<footer>
<h2>Terms</h2>
<dl class="terms">{terms}</dl>
</footer>
</body>
</html>
"""
