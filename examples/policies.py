"""Some calls under each policy; then one tool and one parameter that are tighter than the rest."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from toolbox import ABSORBING, LENIENT, STRICT, InvalidArguments, Param, Registry, Risk

# A policy is a value. This one also lets through what has another reading: only for where a wrong guess does no harm.
DARING = replace(LENIENT, max_risk=Risk.RISKY, name="daring")
CALLS: list[dict[str, Any]] = [
    {"table": "orders", "limit": 100, "order": "asc"},
    {"table": "orders", "limit": 100, "order": "ASC", "trace": "req_1"},
    {"table": "orders", "limit": "100", "order": "ascending order"},
    {"table": "orders", "limit": "1,234", "order": "asc"},
    {"table": "orders", "limit": "many", "order": "rising"},
]


def sort_records(table: str, limit: int, order: Literal["asc", "desc"]) -> str:
    """Sort the records of a table."""
    return f"{limit} records of {table}, {order}"


for arguments in CALLS:
    print(arguments)
    for policy in (STRICT, ABSORBING, LENIENT, DARING):
        registry = Registry(policy)
        registry.register(sort_records)
        result = registry.run("sort_records", arguments)
        aside = f", aside: {result.report.residual}" if result.report and result.report.residual else ""
        print(f"    {policy.name:<10} {result.value if result.ok else 'refused'}{aside}")

# Tools and parameters can be tighter than their registry, never looser.
registry = Registry(LENIENT)


@registry.tool(high_risk=True)
def dose(drug: str, milligrams: float, route: Annotated[Literal["oral", "iv"], Param(policy=STRICT)] = "oral") -> str:
    """Order a dose."""
    return f"{milligrams} mg {drug}, {route}"


for arguments in (
    {"drug": "paracetamol", "milligrams": "500"},
    {"drug": "paracetamol", "milligrams": "1,000.5"},
    {"drug": "paracetamol", "milligrams": 500, "route": "IV"},
):
    try:
        print(registry.dispatch("dose", arguments))
    except InvalidArguments as error:
        print(error)
