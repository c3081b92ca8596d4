"""Tools whose JSON Schema came from elsewhere: an OpenAPI document, an MCP server, a file. They go through the same pipeline."""

from typing import Any

from toolbox import Registry, coerce_to_schema

SCHEMA = {
    "type": "object",
    "properties": {
        "order": {"type": "integer", "description": "Number of the order."},
        "reason": {"enum": ["damaged", "late", "wrong_item"]},
        "lines": {
            "type": "array",
            "items": {"$ref": "#/$defs/line"},
            "minItems": 1,
        },
        "note": {"type": ["string", "null"]},
    },
    "required": ["order", "reason"],
    "$defs": {
        "line": {
            "type": "object",
            "properties": {"article": {"type": "string"}, "quantity": {"type": "integer", "minimum": 1}},
            "required": ["article"],
        },
    },
}


def send_to_shop(**arguments: Any) -> str:
    """Stand in for the remote side: a handler takes the coerced arguments as keyword arguments, as plain JSON values."""
    return f"return opened for order {arguments['order']}: {arguments['reason']}, {len(arguments.get('lines', []))} lines"


registry = Registry()
registry.register_schema("open_return", SCHEMA, send_to_shop, description="Open the return of an order.")

good = registry.run("open_return", {"order": "1007", "reason": "Wrong item", "lines": '[{"article": "lamp", "quantity": "2"}]'})
print(good.to_text())
for change in good.report.diagnostics if good.report else []:
    print("  ", change)

bad = registry.run("open_return", {"order": "last week's", "reason": "ugly", "lines": [{"article": "lamp", "quantity": 0}]})
print(bad.to_text())

# A schema can be used on its own as well, with any JSON value at its root.
prices = coerce_to_schema({"type": "array", "items": {"type": "number"}}, "[1, 2.5, 3]")
print(prices.value, prices.conversion_log)
