"""A batch of an agent's calls, and what Prometheus then sees of them: http://127.0.0.1:PORT/metrics.

Needs the extra `otel`, and the SDK with its exporter: pip install opentelemetry-sdk opentelemetry-exporter-prometheus
"""

import sys
from typing import Literal
from urllib.request import urlopen

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry, start_http_server

from toolbox import OpenTelemetrySink, Registry

# What an application sets up once: where spans and metrics go. Here, spans stay in memory.
page = CollectorRegistry()
meters = MeterProvider([PrometheusMetricReader(disable_target_info=True, scope_info_enabled=False, registry=page)])
spans = InMemorySpanExporter()
tracers = TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(spans))
tracer = tracers.get_tracer("shop")

registry = Registry(sinks=[OpenTelemetrySink(tracer_provider=tracers, meter_provider=meters)])


@registry.tool
def find_orders(customer: int, status: Literal["open", "shipped"], limit: int = 10) -> str:
    """Find orders of a customer."""
    with tracer.start_as_current_span("SELECT orders"):
        return f"{limit} {status} orders of customer {customer}"


@registry.tool
def refund(order: int, amount: float) -> str:
    """Pay back what an order has cost."""
    if amount > 500:
        raise PermissionError("more than 500 needs a person")
    return f"{amount:.2f} paid back for order {order}"


ANSWERS = [
    ("small-1", "find_orders", {"customer": 7, "status": "open", "limit": 3}),
    ("small-1", "find_orders", {"customer": "7", "status": "OPEN", "limit": "3"}),
    ("small-1", "find_orders", {"customer": "seven", "status": "lost"}),
    ("large-1", "find_orders", {"customer": 8, "status": "shipped", "limit": 1}),
    ("large-1", "refund", {"order": 1007, "amount": 19.5}),
    ("small-1", "refund", '{"order": 1008, "amount": "900.00",}'),
    ("small-1", "refund", {"order": 1009}),
    ("small-1", "cancel_everything", {}),
]

with tracer.start_as_current_span("answer a customer"):
    for number, (model, name, arguments) in enumerate(ANSWERS):
        registry.run(name, arguments, call_id=f"call_{number}", metadata={"model": model, "conversation_id": "c-9"})


def tree(parent: int | None, depth: int = 0) -> None:
    for span in spans.get_finished_spans():
        if parent == (span.parent.span_id if span.parent else None):
            print(f"{'  ' * depth}{span.name}{said(span)}")
            tree(span.get_span_context().span_id, depth + 1)


def said(span: ReadableSpan) -> str:
    attributes = span.attributes or {}
    events = [f"{event.attributes['toolbox.change.path']} {event.attributes['toolbox.change.conversion']}" for event in changes(span)]
    return "".join(f"  {word}" for word in (attributes.get("toolbox.outcome", ""), ", ".join(events)) if word)


def changes(span: ReadableSpan) -> list:
    return [event for event in span.events if event.name == "toolbox.change"]


print("The trace:")
tree(None)

# A server on loopback, at any free port; Prometheus would be told to scrape it.
server, thread = start_http_server(0, addr="127.0.0.1", registry=page)
with urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as answer:
    exposition = answer.read().decode()

print("\nWhat Prometheus sees:")
for line in exposition.splitlines():
    # How long a call takes is another each time, so of the histogram only the counts are shown.
    if line.startswith("toolbox_") or "duration_seconds_count" in line:
        print(line)

if "--serve" in sys.argv:
    print(f"\nserving http://127.0.0.1:{server.server_port}/metrics until interrupted")
    thread.join()
server.shutdown()
server.server_close()
thread.join()
