"""A person decides: a payment above a limit waits, is corrected, approved by its hash, and runs once.

The same queue can be looked at and decided in a terminal: toolbox review list audit.db
"""

import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from toolbox import ApprovalPending, AuditStore, Param, Registry, ReviewError, ReviewItem, ReviewQueue

folder = tempfile.TemporaryDirectory()
store = AuditStore(Path(folder.name) / "audit.db", processes="many")


def tell_somebody(item: ReviewItem) -> None:
    """Where an application sends a message: somebody has to look."""
    print(f"waiting   {item.tool} {item.invoked}, for {item.metadata['user']}")


queue = ReviewQueue(store, on_waiting=tell_somebody, on_decided=lambda item: print(f"decided   {item.state} by {item.decided_by}"))
registry = Registry(review=queue, sinks=[store])


@registry.tool(approval=lambda report: report.normalized_args["amount"] > 100)
def pay(to: str, amount: Decimal, token: Annotated[str, Param(secret=True)]) -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


def call(amount: str) -> str:
    """What the model gets for its call."""
    said = {"conversation_id": "c-7", "user": "u-17"}
    return registry.run("pay", {"to": "u-4", "amount": amount, "token": "t0ken"}, metadata=said).to_text()


# Below the limit the tool runs at once. Above it, the model is told that the call waits; asking again changes nothing.
print(f"model     {call('99.50')}")
print(f"model     {call('2500').partition(' (item')[0]} ...")
call("2500")
(item,) = queue.items(state="waiting")
print(f"queue     1 item, asked for {item.repeats + 1} times, secrets {list(item.secrets)}")

# What is approved is what was shown: an approval of an older state of the item does not count.
corrected = queue.correct(item.id, {"to": "u-4", "amount": "250.00", "token": "***"}, by="ada")
try:
    queue.approve(item.id, by="bob", shown_hash=item.hash)
except ReviewError as error:
    print(f"refused   {error.reason}: the item was corrected after bob had looked at it")
queue.approve(item.id, by="bob", shown_hash=corrected.hash, registry=registry)

# It runs once. This process still has the token in memory; any other passes secrets={"token": ...}.
print(f"ran       {queue.run(registry, item.id).value}")
try:
    queue.run(registry, item.id)
except ReviewError as error:
    print(f"refused   {error.reason}: it was run already")

for event in queue.events(item.id):
    print(f"history   {event.step} by {event.by}")

# A decision that has not been taken is waited for; here it is a no.
try:
    registry.dispatch("pay", {"to": "u-9", "amount": 9000, "token": "t0ken"}, metadata={"user": "u-17"})
except ApprovalPending as pending:
    queue.reject(pending.item_id, by="ada", reason="u-9 is not known")
    told = queue.decision(pending.item_id)
    print(f"model     the call was {told.state}: {told.note}")
store.close()
assert b"t0ken" not in (Path(folder.name) / "audit.db").read_bytes()
folder.cleanup()
