"""JSON Schema to nodes and back: the reader beside the writer."""

from toolbox.schema.dialects import DIALECTS
from toolbox.schema.format_notes import with_format_notes
from toolbox.schema.problems import InvalidSchema, SchemaProblem
from toolbox.schema.reading import normalise, read_schema
from toolbox.schema.validation import MissingValidator, Validator, build_validator
from toolbox.schema.writing import write_schema

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
