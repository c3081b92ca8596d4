"""The commands of ``toolbox review`` and their options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from toolbox.cli.loading import load_registry
from toolbox.cli.options import HYPHEN
from toolbox.cli.printing import Printer
from toolbox.cli.problems import UsageProblem

if TYPE_CHECKING:
    from toolbox.cli.reviewing import Reviews

__all__ = ["review_app"]

review_app = App(name="review", help="Calls that wait for a person: look, correct, approve, reject, run.", help_format="plaintext")

_Store = Annotated[str, Parameter(help="the store of the queue: path of an SQLite file, or a URL")]
_Item = Annotated[str, Parameter(help="id of the item, or its beginning")]
_Json = Annotated[bool, Parameter(name="--json", negative=(), show_default=False, help="write the result as JSON")]
_By = Annotated[str | None, Parameter(name="--by", help="who decides; your login name when it is not given")]
_Tools = Annotated[
    str | None,
    Parameter(name="--tools", help="module, file, or module:registry with the tool, such as app.tools, path/tools.py, app.tools:registry"),
]
_Secrets = Annotated[
    str | None,
    HYPHEN,
    Parameter(name="--secrets", help="file with the values of the secret arguments, one JSON object; - reads standard input"),
]
_Reason = Annotated[str, Parameter(name="--reason", help="why")]


def _reviews(place: str, as_json: bool, by: str | None = None, tools: str | None = None) -> Reviews:
    # Loaded with the first of these commands: the others need no store.
    try:
        from toolbox.cli.reviewing import Reviews
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != "sqlalchemy":
            raise
        raise UsageProblem("the review queue needs SQLAlchemy: pip install 'toolbox-dispatch[store]'") from None
    return Reviews(place, Printer(), as_json=as_json, by=by, load=None if tools is None else lambda: load_registry(tools))


@review_app.command(name="list")
def _list(
    store: _Store,
    /,
    *,
    state: Annotated[str | None, Parameter(help="only items that are waiting, corrected, approved, rejected or expired")] = None,
    run: Annotated[str | None, Parameter(help="only items whose call is not_run, running, done, failed or unknown")] = None,
    tool: Annotated[str | None, Parameter(help="only calls of this tool")] = None,
    limit: Annotated[int | None, Parameter(help="only the oldest so many")] = None,
    everything: Annotated[bool, Parameter(name="--all", negative=(), show_default=False, help="those that have ended too")] = False,
    json: _Json = False,
) -> int:
    """Show the items that wait for something."""
    return _reviews(store, json).listed(state, run, tool, limit, everything=everything)


@review_app.command(name="show")
def _show(store: _Store, item: _Item, /, *, json: _Json = False) -> int:
    """Show all of one item: what came, what would run, why it waits, and what has happened to it."""
    return _reviews(store, json).show(item)


@review_app.command(name="correct")
def _correct(
    store: _Store,
    item: _Item,
    args: Annotated[
        str, HYPHEN, Parameter(help="all arguments, one JSON object; @FILE reads a file, - standard input; a secret is written ***")
    ],
    /,
    *,
    tools: _Tools = None,
    approve: Annotated[
        bool, Parameter(negative=(), show_default=False, help="approve it at once, if it is written exactly as the function gets it")
    ] = False,
    by: _By = None,
    json: _Json = False,
) -> int:
    """Change the arguments of an item; the new ones wait for approval."""
    return _reviews(store, json, by, tools).correct(item, args, approve=approve)


@review_app.command(name="approve")
def _approve(
    store: _Store,
    item: _Item,
    /,
    *,
    shown: Annotated[str | None, Parameter(name="--hash", help="the hash that show has shown, or 12 digits of it or more")] = None,
    tools: _Tools = None,
    secrets: _Secrets = None,
    by: _By = None,
    json: _Json = False,
) -> int:
    """Approve exactly what was shown; with --tools, run it."""
    return _reviews(store, json, by, tools).approve(item, shown, secrets)


@review_app.command(name="reject")
def _reject(store: _Store, item: _Item, /, *, reason: _Reason = "", by: _By = None, json: _Json = False) -> int:
    """Say no to an item; also to one that is approved and was not run."""
    return _reviews(store, json, by).reject(item, reason)


@review_app.command(name="run")
def _run(store: _Store, item: _Item, /, *, tools: _Tools = None, secrets: _Secrets = None, by: _By = None, json: _Json = False) -> int:
    """Run what was approved, once."""
    return _reviews(store, json, by, tools).run(item, secrets)


@review_app.command(name="resolve")
def _resolve(
    store: _Store,
    item: _Item,
    outcome: Annotated[Literal["done", "failed", "not_run"], Parameter(help="what became of it; not_run lets it be run once more")],
    /,
    *,
    reason: _Reason = "",
    by: _By = None,
    json: _Json = False,
) -> int:
    """Say what became of a run whose end nobody knows."""
    return _reviews(store, json, by).resolve(item, outcome, reason)


@review_app.command(name="expire")
def _expire(store: _Store, /, *, json: _Json = False) -> int:
    """Put on record whose time has run out, and which runs were lost."""
    return _reviews(store, json).expire()


@review_app.command(name="restore")
def _restore(store: _Store, file: Annotated[str, Parameter(help="a file of dead letters")], /, *, json: _Json = False) -> int:
    """Put items back that the queue could not take at the time."""
    return _reviews(store, json).restore(file)
