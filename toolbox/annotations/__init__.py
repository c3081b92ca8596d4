"""Python signatures and annotations -> the representation."""

from toolbox.annotations.callables import CallableShape, Injection, is_async, read_annotation, read_callable
from toolbox.annotations.markers import Converter, Injected, OpenEnum, Param
from toolbox.json_values import json_value

__all__ = [
    "CallableShape",
    "Converter",
    "Injected",
    "Injection",
    "OpenEnum",
    "Param",
    "is_async",
    "json_value",
    "read_annotation",
    "read_callable",
]
