"""Some thirty calls as models really send them: what came, what was invoked, what was changed on the way, what was refused.

Run it with ``make demo`` or ``python examples/quickstart.py``. It needs toolbox alone; with rich installed the output has colours.
"""

import json
import textwrap
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Le

from toolbox import AuditRecord, CallStatus, DiagnosticKind, MemorySink, Param, Policy, Registry

# -- the tools -----------------------------------------------------------------------------------------------------------------------

sink = MemorySink()
registry = Registry(Policy.from_name("lenient"), sinks=[sink])


@registry.tool
def search_flights(
    origin: str,
    destination: str,
    depart_date: date,
    passengers: Annotated[int, Ge(1), Le(9)],
    nonstop: bool = False,
    cabin: Literal["economy", "premium", "business", "first"] | str = "economy",
    max_price: Decimal | None = None,
) -> list[str]:
    """Search for flights. The cabin is an open choice: airlines have names of their own.

    Args:
        origin: IATA code of the airport of departure.
        destination: IATA code of the airport of arrival.
        depart_date: day of departure.
        passengers: how many travel.
        nonstop: whether to leave out flights with stops.
        cabin: class of travel.
        max_price: highest total price, in US dollars.
    """
    return [f"{origin}-{destination} on {depart_date:%d %b}, {passengers} seats in {cabin}"]


@registry.tool
def hold_seats(flight: str, seats: int, cabin: Literal["economy", "premium", "business", "first"] = "economy") -> str:
    """Hold seats on a flight for an hour. The cabin is a closed choice."""
    return f"{seats} seats held on {flight}, {cabin}"


@registry.tool
def query_inventory(search_term: str, max_results: int, include_discontinued: bool, categories: list[str] | None = None) -> dict[str, Any]:
    """Look for articles in stock."""
    return {"term": search_term, "count": max_results, "discontinued": include_discontinued, "categories": categories or []}


@registry.tool(aliases={"order": "sort_order", "direction": "sort_order"})
def sort_records(
    table: str,
    sort_order: Literal["asc", "desc"],
    region: Literal["us-east-1", "us-west-2", "eu-central-1"] = "us-east-1",
    limit: int = 100,
) -> str:
    """Sort the records of a table."""
    return f"{table} in {region}: {limit} records, {sort_order}"


@registry.tool
def update_ticket(
    ticket: int,
    status: Literal["active", "resolved"] = "active",
    priority: Annotated[Literal["low", "medium", "high"], Param(aliases={"urgent": "high"})] = "medium",
) -> str:
    """Change a support ticket."""
    return f"ticket {ticket} is {status}, priority {priority}"


@registry.tool(high_risk=True, secret=["api_key"])
def refund(order: int, amount: Decimal, api_key: str, currency: Literal["USD", "EUR"] = "USD") -> str:
    """Pay money back. Nothing above info is converted here, and the key is masked wherever it could be seen."""
    return f"refunded {amount} {currency} for order {order}"


@registry.tool
async def get_weather(city: str, days: int = 1, units: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Forecast the weather of a city."""
    return f"{city}: 21 degrees {units}, {days} days"


@dataclass
class Line:
    article: str
    quantity: int
    price: Decimal


@dataclass
class Order:
    customer: str
    lines: list[Line]
    express: bool = False


@registry.tool
def place_order(order: Order) -> str:
    """Place an order."""
    return f"{order.customer} pays {sum(line.quantity * line.price for line in order.lines)}"


@dataclass
class Folder:
    name: str
    size: int = 0
    folders: list["Folder"] = field(default_factory=list)


@registry.tool
def disk_usage(root: Folder) -> int:
    """Add up the sizes of a tree of folders."""
    return root.size + sum(map(disk_usage, root.folders))


# -- the calls -----------------------------------------------------------------------------------------------------------------------


class Sent(NamedTuple):
    what: str
    tool: str
    payload: Any


FLIGHT = {"origin": "SFO", "destination": "JFK", "depart_date": "2026-07-02"}
CALLS = [
    Sent("nothing to mend", "search_flights", {**FLIGHT, "passengers": 2, "nonstop": True, "cabin": "business", "max_price": 900}),
    Sent("nothing to mend, as JSON text", "get_weather", '{"city": "Oslo", "days": 3, "units": "celsius"}'),
    Sent(
        "types as text, an invented cabin, an undeclared argument",
        "search_flights",
        {**FLIGHT, "passengers": "2", "nonstop": "true", "cabin": "coach", "_trace_id": "req_abc123"},
    ),
    Sent("the same invented cabin where the choice is closed", "hold_seats", {"flight": "UA 12", "seats": "2", "cabin": "coach"}),
    Sent(
        "numbers, booleans and a list as text",
        "query_inventory",
        {"search_term": "usb", "max_results": "10", "include_discontinued": "false", "categories": '["cables"]'},
    ),
    Sent("names in camel case", "query_inventory", {"searchTerm": "usb", "maxResults": 5, "includeDiscontinued": False}),
    Sent("null as text", "query_inventory", {"search_term": "null", "max_results": 5, "include_discontinued": "no", "categories": "null"}),
    Sent("a choice in capitals", "sort_records", {"table": "orders", "sort_order": "ASCENDING"}),
    Sent("a choice in a phrase", "sort_records", {"table": "orders", "sort_order": "sort descending", "region": "east us"}),
    Sent("a declared alias of a name", "sort_records", {"table": "orders", "direction": "asc.", "region": "US East 1"}),
    Sent("a synonym that nobody declared", "sort_records", {"table": "orders", "sort_order": "rising"}),
    Sent("a synonym that is declared", "update_ticket", {"ticket": "4711", "priority": "URGENT"}),
    Sent("a choice in more words", "update_ticket", {"ticket": 4711, "priority": "high priority"}),
    Sent("the opposite of a choice", "update_ticket", {"ticket": 4711, "status": "inactive"}),
    Sent("a choice that is ruled out", "update_ticket", {"ticket": 4711, "priority": "not high"}),
    Sent("a choice that could be two", "sort_records", {"table": "orders", "sort_order": "asc or desc"}),
    Sent("a comma that could be a decimal comma", "sort_records", {"table": "orders", "sort_order": "desc", "limit": "1,234"}),
    Sent(
        "four faults at once", "search_flights", {"origin": "SFO", "depart_date": "02/07/2026", "passengers": "a few", "nonstop": "maybe"}
    ),
    Sent("a number out of range", "search_flights", {**FLIGHT, "passengers": "12"}),
    Sent("a needless wrapper", "get_weather", {"arguments": {"city": "Oslo", "days": "2"}}),
    Sent("a bare value for the one required parameter", "get_weather", '"Oslo"'),
    Sent("a fence and a few words", "get_weather", 'Sure, here it is:\n```json\n{"city": "Oslo", "units": "Celsius"}\n```'),
    Sent("JSON text in JSON text", "get_weather", json.dumps('{"city": "Oslo", "days": 2}')),
    Sent("Python in place of JSON, with a trailing comma", "get_weather", "{'city': 'Oslo', 'days': 2,}"),
    Sent("a closing bracket that is missing", "place_order", '{"order": {"customer": "Ada", "lines": []}'),
    Sent("a text that was cut off", "place_order", '{"order": {"customer": "Ada", "lines": [{"article": "lamp", "quantity": 1'),
    Sent("two objects where one call is meant", "get_weather", '{"city": "Oslo"} {"city": "Rome"}'),
    Sent(
        "text where objects are meant, and deep inside them",
        "place_order",
        {"order": '{"customer": "Ada", "lines": [{"article": "lamp", "quantity": "2", "price": 19.99}], "express": "yes"}'},
    ),
    Sent(
        "a fault deep inside", "place_order", {"order": {"customer": "Ada", "lines": [{"article": "lamp", "quantity": "two", "price": 5}]}}
    ),
    Sent("a type that holds itself", "disk_usage", {"root": {"name": "/", "size": "1", "folders": [{"name": "home", "size": 41.0}]}}),
    Sent("money, with text that has one reading", "refund", {"order": "1007", "amount": "19.99", "api_key": "sk-demo-1"}),
    Sent("money, with text that takes a guess", "refund", {"order": 1007, "amount": "1,299.00", "api_key": "sk-demo-1", "currency": "usd"}),
    Sent("another spelling of a tool's name", "functions.getWeather", {"city": "Oslo"}),
    Sent("a tool that does not exist", "find_flights", {"from": "SFO"}),
]

# -- the output ----------------------------------------------------------------------------------------------------------------------

try:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
except ImportError:  # then the same text comes without colours
    Console = None

STYLES = {"came": "cyan", "invoked": "bold green", "returned": "green", "info": "blue", "warning": "yellow", "refused": "bold red"}
console = Console(highlight=False) if Console is not None else None


def show(label: str, text: str) -> None:
    """One labelled text; its further lines stand under the first."""
    body = text.replace("\n", "\n" + " " * 14)
    if console is None:
        print(f"    {label:<10}{body}")
    else:
        console.print(f"    [{STYLES[label]}]{label:<10}[/]{escape(body)}", soft_wrap=True)


def title(text: str) -> None:
    if console is None:
        print(f"\n{text}")
    else:
        console.print(f"\n[bold]{escape(text)}[/]", soft_wrap=True)


def table(heading: str, columns: tuple[str, str], rows: list[tuple[str, int]]) -> None:
    if console is None:
        print(f"\n{heading}")
        for name, count in rows:
            print(f"    {name:<28}{count:>4}")
        return
    drawn = Table(title=heading, title_justify="left", title_style="bold")
    drawn.add_column(columns[0])
    drawn.add_column(columns[1], justify="right")
    for name, count in rows:
        drawn.add_row(name, str(count))
    console.print()
    console.print(drawn)


def arguments_text(record: AuditRecord) -> str:
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in (record.invoked or {}).items())


def replay(number: int, sent: Sent) -> AuditRecord:
    """One call: run it, and show its record."""
    title(f"{number}. {sent.what}")
    result = registry.run(sent.tool, sent.payload)
    record = sink.records[-1]
    # The record holds masked copies; without a tool nobody knows what is secret, so there it holds nothing.
    came = sent.payload if record.status is CallStatus.UNKNOWN_TOOL else record.arguments
    show("came", f"{sent.tool} {came if isinstance(came, str) else json.dumps(came)}")
    if result.ok:
        show("invoked", f"{record.tool}({arguments_text(record)})")
        show("returned", result.to_text())
    for change in record.diagnostics:
        # Defaults are on record like everything else; here they would only hide the rest.
        if change.kind is not DiagnosticKind.DEFAULTED:
            show(change.risk.name.lower(), str(change).partition("] ")[2])
    if not result.ok:
        show("refused", str(result.error))
    return record


def main() -> None:
    ends: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for number, sent in enumerate(CALLS, 1):
        record = replay(number, sent)
        changes = [item.kind.value for item in record.diagnostics]
        kinds.update(changes)
        reasons.update(failure.reason.value for failure in record.failures)
        if record.status is not CallStatus.DONE:
            ends["refused"] += 1
        else:
            ends["mended" if set(changes) - {"defaulted"} else "passed as they are"] += 1

    table(f"{len(CALLS)} calls", ("how they ended", "calls"), [(name, ends[name]) for name in ("passed as they are", "mended", "refused")])
    table("Changes", ("kind", "changes"), kinds.most_common())
    table("Refused arguments", ("reason", "arguments"), reasons.most_common())
    title('One tool as registry.schemas("openai") gives it to a model')
    exported = next(item for item in registry.schemas("openai") if item["function"]["name"] == "search_flights")
    print(textwrap.indent(json.dumps(exported, indent=2), "    "))


if __name__ == "__main__":
    main()
