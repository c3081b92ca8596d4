"""JSON Schema to nodes and back: the reader beside the writer.

The readers are loaded when they are first used: a program that only sends mappings never pays for them.
"""

from importlib import import_module as _import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolbox.schema.dialects import DIALECTS
    from toolbox.schema.format_notes import with_format_notes
    from toolbox.schema.problems import InvalidSchema, SchemaProblem
    from toolbox.schema.reading import normalise, read_schema
    from toolbox.schema.validation import MissingValidator, Validator, build_validator
    from toolbox.schema.writing import write_schema

_HOMES = {
    "DIALECTS": "dialects",
    "InvalidSchema": "problems",
    "MissingValidator": "validation",
    "SchemaProblem": "problems",
    "Validator": "validation",
    "build_validator": "validation",
    "normalise": "reading",
    "read_schema": "reading",
    "with_format_notes": "format_notes",
    "write_schema": "writing",
}

__all__ = [
    "DIALECTS",
    "InvalidSchema",
    "MissingValidator",
    "SchemaProblem",
    "Validator",
    "build_validator",
    "normalise",
    "read_schema",
    "with_format_notes",
    "write_schema",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(_import_module(f"toolbox.schema.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'toolbox.schema' has no attribute {name!r}")
