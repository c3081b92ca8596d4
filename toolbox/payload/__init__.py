"""What a model sent, turned into arguments and calls: JSON text, wrapped text, raw model output."""

from toolbox.payload.arguments import extract_arguments
from toolbox.payload.found import ExtractedPayload, FoundCall, KnownTools
from toolbox.payload.limits import check_limits
from toolbox.payload.outputs import find_calls
from toolbox.payload.strict import parse_json

__all__ = [
    "ExtractedPayload",
    "FoundCall",
    "KnownTools",
    "check_limits",
    "extract_arguments",
    "find_calls",
    "parse_json",
]
