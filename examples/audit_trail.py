"""One record for each call: in memory, and as JSON lines through the standard library's logging."""

import json
import logging
import sys
from typing import Literal

from toolbox import AuditRecord, MemorySink, Registry

# toolbox logs nothing until the application wants it to. Each line that it writes is one JSON object already.
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
logging.getLogger("toolbox").addHandler(handler)
logging.getLogger("toolbox").setLevel(logging.INFO)  # clean calls are at DEBUG

sink = MemorySink()
registry = Registry(sinks=[sink])


@registry.tool(secret=["token"])
def close_ticket(ticket: int, reason: Literal["solved", "duplicate"], token: str) -> str:
    """Close a support ticket."""
    if ticket == 13:
        raise RuntimeError(f"ticket 13 is locked (token {token})")
    return f"ticket {ticket} is closed"


registry.run("close_ticket", {"ticket": 7, "reason": "solved", "token": "s3cr3t"}, call_id="call_1")
registry.run("close_ticket", {"ticket": "8", "reason": "SOLVED", "token": "s3cr3t"}, metadata={"model": "small-1"})
registry.run("close_ticket", {"ticket": "eight", "reason": "solved", "token": "s3cr3t"})
registry.run("close_ticket", {"ticket": 13, "reason": "duplicate", "token": "s3cr3t"})
registry.run("drop_ticket", {"ticket": 9})


def line(record: AuditRecord) -> str:
    worst = record.worst_risk.name.lower() if record.worst_risk else "none"
    error = (record.error or "").partition("\n")[0]
    return f"{record.tool:<13}{record.status:<13}changes={len(record.diagnostics)} worst={worst:<5}{error}"


print("\nThe same in memory:")
for kept in sink.records:
    print(line(kept))

first = sink.records[1]
print("came:   ", json.dumps(first.arguments))
print("invoked:", json.dumps(first.invoked))
assert "s3cr3t" not in json.dumps([[kept.arguments, kept.invoked, kept.error] for kept in sink.records])
