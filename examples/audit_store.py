"""Records that survive: kept in a file of SQLite, asked for afterwards, also about a process that was killed in the middle of a call."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from toolbox import AuditStore, Registry, call_metadata

# A process that pays twice, and dies while it pays for the second time.
PAYING = """
import os, sys
from toolbox import AuditStore, Registry

registry = Registry(sinks=[AuditStore(sys.argv[1])])


@registry.tool(high_risk=True)
def pay(invoice: int, amount: float) -> str:
    if invoice == 2:
        os._exit(1)  # as a power failure would
    return f"paid {amount:.2f}"


registry.dispatch("pay", {"invoice": 1, "amount": 10.5})
registry.dispatch("pay", {"invoice": 2, "amount": 99.0})
"""

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "audit.db"
environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
killed = subprocess.run([sys.executable, "-c", PAYING, str(path)], env=environment, check=False)  # noqa: S603 - the text above
print("the process ended with", killed.returncode)

with AuditStore(path) as store:
    print("What it has left:")
    for record in store.records():
        print(f"  {record.tool} {record.invoked} {record.status}")
    print("Its file is sound:", not store.check())

    # The same store, as the sink of another registry.
    registry = Registry(sinks=[store])

    @registry.tool
    def find_invoices(customer: str, limit: int = 10) -> list[int]:
        """Find the invoices of a customer."""
        return [1, 2][:limit]

    with call_metadata(model="small-1", conversation_id="c-7"):
        registry.run("find_invoices", {"customer": "Ada", "limit": "1"})
        registry.run("find_invoices", {"customer": "Ada", "limit": "all"})

    print("Of the model small-1:")
    for record in store.records(model="small-1"):
        print(
            f"  {record.status:<8} limit {record.arguments['limit']!r}, {len(record.diagnostics)} changes, {len(record.failures)} failures"
        )
    print("refused:", store.count(status="refused"), "of", store.count())
    print("forgotten:", store.prune(keep=2))

folder.cleanup()
