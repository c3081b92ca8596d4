"""Python signatures and annotations -> the representation."""

from toolbox.annotations.callables import CallableShape, Injection, read_annotation, read_callable
from toolbox.annotations.markers import Converter, Injected, OpenEnum, Param
from toolbox.json_values import json_value

__all__ = [
    "CallableShape",
    "Converter",
    "Injected",
    "Injection",
    "OpenEnum",
    "Param",
    "json_value",
    "read_annotation",
    "read_callable",
]
