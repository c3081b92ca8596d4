"""Parameters that come from the application: in no schema, and no model can set them."""

from dataclasses import dataclass, field

from toolbox import Injected, MissingContext, Registry


@dataclass
class Session:
    user: str
    orders: dict[int, str] = field(default_factory=dict)


registry = Registry()


@registry.tool
def cancel_order(order: int, session: Injected[Session], dry_run: bool = False) -> str:
    """Cancel an order of the user.

    Args:
        order: number of the order.
        dry_run: only say what would be done.
    """
    if order not in session.orders:
        raise LookupError(f"{session.user} has no order {order}")
    if not dry_run:
        session.orders[order] = "cancelled"
    return f"order {order} of {session.user}: {session.orders[order]}"


ada = Session("Ada", {7: "open", 8: "open"})

print("what a model sees:", list(registry["cancel_order"].schema["properties"]))
print(registry.dispatch("cancel_order", {"order": "7"}, context={Session: ada}))

# A model that makes up a session does not get one: what it sent is left out, and that is on record.
forged = registry.run("cancel_order", {"order": 8, "session": {"user": "root"}}, context={"session": ada})
print(forged.to_text())
print(forged.report.diagnostics[0] if forged.report else "")

# What the function raises comes back as its own error, never as a bad argument.
print(registry.run("cancel_order", {"order": 99}, context={Session: ada}).to_text())

# A context that is missing is a fault of the application, and says so.
try:
    registry.dispatch("cancel_order", {"order": 7})
except MissingContext as error:
    print(error)
