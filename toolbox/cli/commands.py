"""The commands and their options."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from toolbox.cli import calling, listing, parsing, replaying, reporting
from toolbox.cli.inputs import read_payload, read_whole
from toolbox.cli.loading import load_registry, tightened
from toolbox.cli.options import HYPHEN
from toolbox.cli.printing import Printer
from toolbox.cli.problems import UsageProblem
from toolbox.cli.review_commands import review_app
from toolbox.cli.stored import Wanted
from toolbox.policy import Policy
from toolbox.registry import Registry

__all__ = ["run"]


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"toolbox {version('toolbox-dispatch')}"
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "toolbox (not installed)"


_app = App(
    name="toolbox",
    help="Between a language model and Python functions: what the tools are, and what becomes of the calls that models send.",
    help_format="plaintext",
    version=_version,
)

_Tools = Annotated[
    str,
    Parameter(name="--tools", help="module, file, or module:registry, such as app.tools, path/tools.py, app.tools:registry"),
]
_Preset = Annotated[
    Literal["strict", "absorbing", "lenient"] | None,
    Parameter(name="--policy", help="tighten the tools' own policy to this one; it is never loosened"),
]
_Json = Annotated[bool, Parameter(name="--json", negative=(), show_default=False, help="write the result as JSON")]


_Name = Annotated[str, Parameter(help="name of the tool, as a model wrote it")]
_Arguments = Annotated[str | None, HYPHEN, Parameter(help="what a model sent: JSON or text; @FILE reads a file, - reads standard input")]


@_app.command(name="list")
def _list(*, tools: _Tools, json: _Json = False) -> int:
    """Show the tools and their parameters."""
    return listing.list_tools(load_registry(tools), Printer(), as_json=json)


@_app.command(name="schema")
def _schema(
    *,
    tools: _Tools,
    provider: Annotated[str, Parameter(help="whose format: json, openai, ...")] = "json",
    strict: Annotated[bool, Parameter(negative=(), show_default=False, help="in the provider's strict form")] = False,
) -> int:
    """Write the definitions of the tools for a provider, as JSON."""
    return listing.show_schemas(load_registry(tools), provider, Printer(), strict=strict)


@_app.command(name="call")
def _call(name: _Name, args: _Arguments = None, /, *, tools: _Tools, policy: _Preset = None, json: _Json = False) -> int:
    """Call one tool, and show its result and what was made of the arguments."""
    printer = Printer()
    return calling.call(_registry(tools, policy, printer), name, read_payload(args), printer, as_json=json)


@_app.command(name="check")
def _check(name: _Name, args: _Arguments = None, /, *, tools: _Tools, policy: _Preset = None, json: _Json = False) -> int:
    """Show what would be made of a call: the arguments that the tool would get, or why it would be refused."""
    printer = Printer()
    return calling.check(_registry(tools, policy, printer), name, read_payload(args), printer, as_json=json)


@_app.command(name="replay")
def _replay(
    file: Annotated[
        str,
        HYPHEN,
        Parameter(
            help="the records of a store: its SQLite file, or its URL; or calls, messages, raw model texts, records or lines of the log, "
            "one a line as JSON; .gz too; - reads standard input"
        ),
    ],
    /,
    *,
    tools: _Tools,
    policy: _Preset = None,
    loosen: Annotated[
        bool,
        Parameter(negative=(), show_default=False, help="take --policy even where it is looser; tools that have their own keep it"),
    ] = False,
    raw: Annotated[bool, Parameter(negative=(), show_default=False, help="each line is a model's raw text, not JSON")] = False,
    fail_over: Annotated[float | None, Parameter(help="exit with 1 when more than this share, in percent, is refused")] = None,
    fail_over_changed: Annotated[
        float | None, Parameter(help="exit with 1 when more than this share of records, in percent, has another outcome or other arguments")
    ] = None,
    since: Annotated[str | None, Parameter(help="of a store, from this moment on: 2026-07-02, 2026-07-02T14:30Z, or 7d")] = None,
    until: Annotated[str | None, Parameter(help="of a store, up to this moment, written alike")] = None,
    tool: Annotated[str | None, Parameter(help="of a store, only calls of this tool")] = None,
    model: Annotated[str | None, Parameter(help="of a store, only calls of this model, as the metadata names it")] = None,
    status: Annotated[str | None, Parameter(help="of a store, only calls that ended so, such as done,failed")] = None,
    limit: Annotated[int | None, Parameter(help="of a store, only the newest so many")] = None,
    json: _Json = False,
) -> int:
    """Check recorded calls: how many pass as they are, how many are mended or refused, and why; of records, what has changed."""
    for name, share in (("--fail-over", fail_over), ("--fail-over-changed", fail_over_changed)):
        if share is not None and not 0 <= share <= 100:
            raise UsageProblem(f"{name} is a share in percent, from 0 to 100, and not {share:g}")
    printer = Printer()
    registry = _loosened(tools, policy) if loosen else _registry(tools, policy, printer)
    limits, wanted = replaying.Thresholds(fail_over, fail_over_changed), Wanted(since, until, tool, model, status, limit)
    return replaying.replay(registry, file, printer, raw=raw, as_json=json, limits=limits, wanted=wanted)


@_app.command(name="report")
def _report(
    store: Annotated[str, Parameter(help="the records: the SQLite file that a registry's AuditStore writes, or its URL")],
    /,
    *,
    html: Annotated[str | None, Parameter(help="write it as one HTML page, which opens offline, to this file")] = None,
    since: Annotated[str | None, Parameter(help="from this moment on: 2026-07-02, 2026-07-02T14:30Z, or 7d for so long ago")] = None,
    until: Annotated[str | None, Parameter(help="up to this moment, written alike")] = None,
    tool: Annotated[str | None, Parameter(help="only calls of this tool")] = None,
    model: Annotated[str | None, Parameter(help="only calls of this model, as the metadata names it")] = None,
    json: _Json = False,
) -> int:
    """Show how models drift from the types of the tools, and what would prevent it."""
    return reporting.report(store, Printer(), html=html, as_json=json, since=since, until=until, tool=tool, model=model)


@_app.command(name="parse")
def _parse(
    file: Annotated[str, HYPHEN, Parameter(help="a model's raw output; - reads standard input")], /, *, tools: _Tools, json: _Json = False
) -> int:
    """Show the calls in a model's raw output, and how each was found."""
    return parsing.parse(load_registry(tools), read_whole(file), Printer(), as_json=json)


_app.command(review_app)


def _registry(tools: str, policy: str | None, printer: Printer) -> Registry:
    registry = load_registry(tools)
    if policy is None:
        return registry
    stricter, whole = tightened(registry, policy)
    if not whole:
        printer.line(
            f"note: a policy is only tightened; where the tools' own ({registry.policy.name}) is stricter than {policy}, it stays", err=True
        )
    return stricter


def _loosened(tools: str, policy: str | None) -> Registry:
    if policy is None:
        raise UsageProblem("--loosen says that --policy may be looser than the tools' own: give --policy too")
    return load_registry(tools).under(Policy.from_name(policy))


def run(arguments: Sequence[str] | None) -> int:
    """Run one command and return its exit code."""
    printer = Printer()
    try:
        code = _app(
            sys.argv[1:] if arguments is None else list(arguments),
            console=printer.out,
            error_console=printer.err,
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
        sys.stdout.flush()
    except CycloptsError as error:
        printer.line(f"toolbox: {error}", "red", err=True)
        printer.line("toolbox --help, and toolbox COMMAND --help, say what there is", err=True)
        return 2
    except UsageProblem as error:
        printer.line(f"toolbox: {error.message}", "red", err=True)
        if error.detail:
            printer.block(error.detail, err=True)
        return 2
    except BrokenPipeError:
        # Whoever read the output has seen enough. What is left in the buffer must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code if isinstance(code, int) else 0
