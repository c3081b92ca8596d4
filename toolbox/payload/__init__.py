"""What a model sent, turned into arguments and calls: JSON text, wrapped text, raw model output.

The readers are loaded when they are first used: a program that only sends mappings never pays for them.
"""

from importlib import import_module as _import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolbox.payload.arguments import extract_arguments
    from toolbox.payload.found import ExtractedPayload, FoundCall, KnownTools
    from toolbox.payload.limits import check_limits
    from toolbox.payload.outputs import find_calls
    from toolbox.payload.strict import parse_json

_HOMES = {
    "ExtractedPayload": "found",
    "FoundCall": "found",
    "KnownTools": "found",
    "check_limits": "limits",
    "extract_arguments": "arguments",
    "find_calls": "outputs",
    "parse_json": "strict",
}

__all__ = [
    "ExtractedPayload",
    "FoundCall",
    "KnownTools",
    "check_limits",
    "extract_arguments",
    "find_calls",
    "parse_json",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(_import_module(f"toolbox.payload.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'toolbox.payload' has no attribute {name!r}")
