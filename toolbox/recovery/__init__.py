"""A bounded way back for calls that were refused, and the queue where a person decides.

The modules are loaded when they are first used: a registry that neither asks a model nor holds a call pays for none of them.
"""

from importlib import import_module as _import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolbox.recovery.adapters import ask_anthropic, ask_gemini, ask_openai
    from toolbox.recovery.answers import RecoveryAnswer, RecoveryStatus, UnrecoverableField, read_answer
    from toolbox.recovery.attempts import Attempt, Verdict
    from toolbox.recovery.breaker import CircuitBreaker
    from toolbox.recovery.budget import RecoveryBudget
    from toolbox.recovery.loop import Recovery
    from toolbox.recovery.prompt import PromptTemplate, recovery_prompt
    from toolbox.recovery.provenance import Change, Invention, Provenance, trace

_HOMES = {
    "Attempt": "attempts",
    "Change": "provenance",
    "CircuitBreaker": "breaker",
    "Invention": "provenance",
    "PromptTemplate": "prompt",
    "Provenance": "provenance",
    "Recovery": "loop",
    "RecoveryAnswer": "answers",
    "RecoveryBudget": "budget",
    "RecoveryStatus": "answers",
    "UnrecoverableField": "answers",
    "Verdict": "attempts",
    "ask_anthropic": "adapters",
    "ask_gemini": "adapters",
    "ask_openai": "adapters",
    "read_answer": "answers",
    "recovery_prompt": "prompt",
    "trace": "provenance",
}

__all__ = [
    "Attempt",
    "Change",
    "CircuitBreaker",
    "Invention",
    "PromptTemplate",
    "Provenance",
    "Recovery",
    "RecoveryAnswer",
    "RecoveryBudget",
    "RecoveryStatus",
    "UnrecoverableField",
    "Verdict",
    "ask_anthropic",
    "ask_gemini",
    "ask_openai",
    "read_answer",
    "recovery_prompt",
    "trace",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(_import_module(f"toolbox.recovery.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'toolbox.recovery' has no attribute {name!r}")
