"""What two models sent, and what the drift report makes of it: where they drift, and which words or types would prevent it."""

import tempfile
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from toolbox import AuditStore, Param, Registry, call_metadata, drift_report
from toolbox.audit.report import drift_page

registry = Registry()


@registry.tool
def query_inventory(search_term: str, max_results: int = 10, categories: list[str] | None = None) -> str:
    """Look for articles in stock."""
    return f"{max_results} times {search_term}"


@registry.tool
def create_ticket(title: str, priority: Literal["low", "normal", "high"] = "normal", due: date | None = None) -> str:
    """Open a ticket."""
    return f"{title}: {priority}"


@registry.tool
def pay(order: int, amount: float, card: Annotated[str, Param(secret=True)]) -> str:
    """Pay for an order."""
    return f"{amount} for order {order}"


# A tool, and what a model sent to it.
SENT = {
    "large": [
        ("query_inventory", {"search_term": "usb", "max_results": 5}),
        ("query_inventory", {"search_term": "usb", "categories": ["cables"]}),
        ("query_inventory", {"search_term": "hdmi", "max_results": "5"}),
        ("create_ticket", {"title": "no light", "priority": "high"}),
        ("create_ticket", {"title": "no sound", "priority": "High"}),
        ("create_ticket", {"title": "no picture", "due": "2026-07-02"}),
        ("pay", {"order": 7, "amount": 19.99, "card": "4111-1111"}),
    ],
    "small": [
        ("query_inventory", {"searchTerm": "usb", "max_results": "5"}),
        ("query_inventory", {"searchTerm": "usb", "max_results": "20"}),
        ("query_inventory", {"search_term": "usb", "max_results": "5", "page": 2}),
        ("query_inventory", {"search_term": "usb", "categories": "cables"}),
        ("create_ticket", {"title": "no light", "priority": "urgent"}),
        ("create_ticket", {"title": "no sound", "priority": "urgent"}),
        ("create_ticket", {"title": "no picture", "due": "tomorrow"}),
        ("create_ticket", '```json\n{"title": "no power", "priority": "high",}\n```'),
        ("pay", {"order": "7", "amount": "1,299", "card": "4111-1111"}),
        ("search_web", {"query": "usb"}),
    ],
}

with tempfile.TemporaryDirectory() as folder:
    with AuditStore(Path(folder) / "audit.db") as store:
        registry.add_sink(store)
        for model, calls in SENT.items():
            with call_metadata(model=model):
                for tool, payload in calls:
                    registry.run(tool, payload)
        report = drift_report(store, source="audit.db")

    page = Path(folder) / "drift.html"
    page.write_text(drift_page(report), encoding="utf-8")
    print(f"{page.name}: one file, {page.read_text(encoding='utf-8').count('<table')} tables, no script")
    assert "4111" not in page.read_text(encoding="utf-8")

total = report.total
ends = f"{total.as_is} as they are, {total.mended} mended, {total.refused} refused, {total.unknown_tool} of a tool that does not exist"
print(f"{total.calls} calls: {ends}")
for group in report.models:
    clean = group.tally.as_is / group.tally.calls
    print(f"  {group.name:<6} {group.tally.calls:>2} calls, {clean:.0%} as they are; most often: {group.top}")

print()
for drift in report.drifts[:4]:
    print(f"{drift.tool}, {drift.parameter}: {drift.label} in {drift.calls} of {drift.of_calls} calls")
    print(f"  {drift.advice.where}: {drift.advice.text}")
    if drift.advice.code:
        print(f"  {drift.advice.code}")
