"""toolbox: the layer between a language model and Python functions.

Decorate a function with ``@tool``, call ``registry.dispatch(name, args)`` with what a model sent, export schemas to any provider.
What can be read in only one sensible way is mended and recorded; what would have to be guessed is refused.

The names are loaded when they are first used, so that ``import toolbox`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module as _import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolbox.annotations import Converter, Injected, OpenEnum, Param
    from toolbox.audit import AuditRecord, CallStatus, MemorySink, call_metadata
    from toolbox.audit.report import DriftReport, drift_report
    from toolbox.audit.store import AuditStore
    from toolbox.audit.telemetry import OpenTelemetrySink
    from toolbox.diagnostics import ABSENT, CoercionReport, Diagnostic, DiagnosticKind, Failure, FailureReason, Risk
    from toolbox.errors import (
        AmbiguousMatch,
        ApprovalPending,
        AuditError,
        InvalidArguments,
        MissingContext,
        MissingReview,
        NoMatch,
        PayloadError,
        RecoveryFailed,
        RegistrationError,
        RepeatedFailure,
        ReviewError,
        StoreError,
        ToolboxError,
        ToolExecutionError,
        ToolTimeout,
        UnknownTool,
    )
    from toolbox.matching import MatchLevel, fuzzy_match_enum
    from toolbox.normalizing import coerce_enums, coerce_to_schema, normalize_from_schema, normalize_tool_args
    from toolbox.payload import ExtractedPayload, extract_arguments
    from toolbox.policy import (
        ABSORBING,
        LENIENT,
        STRICT,
        CoercionLevel,
        Limits,
        Missing,
        OnFailure,
        Policy,
        ProseCalls,
        RepairLevel,
        Unknown,
    )
    from toolbox.providers import ExportReport, UnsupportedTool
    from toolbox.recovery import CircuitBreaker, Recovery, RecoveryBudget, recovery_prompt
    from toolbox.recovery.review import ReviewItem, ReviewQueue
    from toolbox.redaction import Redaction
    from toolbox.registry import Registry, default_registry, tool
    from toolbox.replaying import ReplayReport, replay
    from toolbox.results import ToolResult
    from toolbox.tools import Tool, ToolCall

    __version__: str

_HOMES = {
    "annotations": ("Converter", "Injected", "OpenEnum", "Param"),
    "audit": ("AuditRecord", "CallStatus", "MemorySink", "call_metadata"),
    "audit.report": ("DriftReport", "drift_report"),
    "audit.store": ("AuditStore",),
    "audit.telemetry": ("OpenTelemetrySink",),
    "diagnostics": ("ABSENT", "CoercionReport", "Diagnostic", "DiagnosticKind", "Failure", "FailureReason", "Risk"),
    "errors": (
        "AmbiguousMatch",
        "ApprovalPending",
        "AuditError",
        "InvalidArguments",
        "MissingContext",
        "MissingReview",
        "NoMatch",
        "PayloadError",
        "RecoveryFailed",
        "RegistrationError",
        "RepeatedFailure",
        "ReviewError",
        "StoreError",
        "ToolExecutionError",
        "ToolTimeout",
        "ToolboxError",
        "UnknownTool",
    ),
    "providers": ("ExportReport", "UnsupportedTool"),
    "matching": ("MatchLevel", "fuzzy_match_enum"),
    "payload": ("ExtractedPayload", "extract_arguments"),
    "policy": (
        "ABSORBING",
        "LENIENT",
        "STRICT",
        "CoercionLevel",
        "Limits",
        "Missing",
        "OnFailure",
        "Policy",
        "ProseCalls",
        "RepairLevel",
        "Unknown",
    ),
    "normalizing": ("coerce_enums", "coerce_to_schema", "normalize_from_schema", "normalize_tool_args"),
    "recovery": ("CircuitBreaker", "Recovery", "RecoveryBudget", "recovery_prompt"),
    "recovery.review": ("ReviewItem", "ReviewQueue"),
    "redaction": ("Redaction",),
    "replaying": ("ReplayReport", "replay"),
    "registry": ("Registry", "default_registry", "tool"),
    "results": ("ToolResult",),
    "tools": ("Tool", "ToolCall"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ABSENT",
    "ABSORBING",
    "LENIENT",
    "STRICT",
    "AmbiguousMatch",
    "ApprovalPending",
    "AuditError",
    "AuditRecord",
    "AuditStore",
    "CallStatus",
    "CircuitBreaker",
    "CoercionLevel",
    "CoercionReport",
    "Converter",
    "Diagnostic",
    "DiagnosticKind",
    "DriftReport",
    "ExportReport",
    "ExtractedPayload",
    "Failure",
    "FailureReason",
    "Injected",
    "InvalidArguments",
    "Limits",
    "MatchLevel",
    "MemorySink",
    "Missing",
    "MissingContext",
    "MissingReview",
    "NoMatch",
    "OnFailure",
    "OpenEnum",
    "OpenTelemetrySink",
    "Param",
    "PayloadError",
    "Policy",
    "ProseCalls",
    "Recovery",
    "RecoveryBudget",
    "RecoveryFailed",
    "Redaction",
    "RegistrationError",
    "Registry",
    "RepairLevel",
    "RepeatedFailure",
    "ReplayReport",
    "ReviewError",
    "ReviewItem",
    "ReviewQueue",
    "Risk",
    "StoreError",
    "Tool",
    "ToolCall",
    "ToolExecutionError",
    "ToolResult",
    "ToolTimeout",
    "ToolboxError",
    "Unknown",
    "UnknownTool",
    "UnsupportedTool",
    "call_metadata",
    "coerce_enums",
    "coerce_to_schema",
    "default_registry",
    "drift_report",
    "extract_arguments",
    "fuzzy_match_enum",
    "normalize_from_schema",
    "normalize_tool_args",
    "recovery_prompt",
    "replay",
    "tool",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is not None:
        value = getattr(_import_module(f"toolbox.{home}"), name)
        globals()[name] = value
        return value
    if name == "__version__":
        from importlib.metadata import version

        return version("toolbox-dispatch")
    raise AttributeError(f"module 'toolbox' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
