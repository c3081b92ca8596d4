"""From what arrived to an object of arguments by name: needless wrappers, values without a name, nothing at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolbox.coercion.embedded import read_embedded
from toolbox.coercion.judge import BEST_EFFORT, WARNING, Judge
from toolbox.coercion.objects import Names
from toolbox.diagnostics import INVALID, Diagnostic, DiagnosticKind, FailureReason, Outcome, Path, json_name
from toolbox.matching import normalise
from toolbox.policy import Policy, Unknown
from toolbox.types import ArrayType, Document, NeverType, ObjectType, Ref, Type, UnionType

__all__ = ["Binder"]

_WRAPPERS: Final = frozenset({"arguments", "parameters", "input", "kwargs", "args", "properties", "params", "tool_input"})
_ENVELOPE: Final = frozenset({"name", "tool", "function", "id", "type", "call_id"})
_LAYERS: Final = 3


class Binder:
    """Binds the payloads of one tool under one policy.

    Args:
        tool: name of the tool.
        document: its parameters; the root is an object.
        policy: what may be done.
        reserved: names that no payload may set, such as injected parameters.
    """

    def __init__(self, tool: str, document: Document, policy: Policy, reserved: frozenset[str] = frozenset()) -> None:
        root = document.parameters
        self.document = document
        self.names = Names(root.fields)
        self.declared = self.names.declared
        self.free = not reserved
        self.tool = normalise(tool)
        self.judge = Judge(policy)
        self.policy = policy
        self.reserved = reserved
        self.open = not isinstance(root.additional, NeverType)
        required = [field for field in root.fields if field.required]
        self.single = required[0] if len(required) == 1 else None
        only = root.fields[0] if len(root.fields) == 1 else None
        self.folded = None if only is None else self._object_fields(only.type)
        self.only = only
        self.expected = "an object with the arguments by name"

    def _object_fields(self, node: Type) -> Names | None:
        node = self._plain(node)
        return Names(node.fields) if isinstance(node, ObjectType) and node.fields else None

    def _plain(self, node: Type) -> Type:
        """The node itself, or the one member of it that is not null, references resolved."""
        for _ in range(8):
            if isinstance(node, Ref):
                node = self.document.definitions[node.name]
            elif isinstance(node, UnionType) and len(node.members) == 2 and type(node.members[1]).__name__ == "NullType":
                node = node.members[0]
            else:
                break
        return node

    def bind(self, payload: Any, out: Outcome) -> Any:
        """The object of arguments, or `INVALID` with a failure in `out`."""
        if type(payload) is dict:
            # A clean call starts with a declared name, so nothing is wrapped around it.
            for key in payload:
                if key in self.declared and self.free:
                    return payload
                break
            return self._from_object(payload, out)
        if isinstance(payload, Mapping):
            return self._from_object(payload, out)
        if payload is None or (isinstance(payload, str) and not payload):
            return {}
        return self._from_value(payload, out)

    def _from_value(self, payload: Any, out: Outcome) -> Any:
        single = self.single
        is_list = isinstance(payload, list | tuple)
        if single is None or (is_list and not isinstance(self._plain(single.type), ArrayType)):
            return out.fail(
                None, FailureReason.WRONG_TYPE, self.expected, payload, f"{json_name(payload)} is no object", "Send one JSON object"
            )
        return self._changed({single.name: payload}, payload, DiagnosticKind.BOUND, f"bound to {single.name}", out)

    def _from_object(self, payload: Any, out: Outcome) -> Any:
        for _ in range(_LAYERS):
            if not payload or any(key in self.names.declared for key in payload):
                break
            inner = self._inner(payload, out)
            if inner is INVALID:
                return INVALID
            if inner is None:
                payload = self._fold(payload, out)
                break
            payload = inner
        if payload is INVALID or not self.reserved or self.reserved.isdisjoint(payload):
            return payload
        return self._without_reserved(payload, out)

    def _inner(self, payload: Mapping[Any, Any], out: Outcome) -> Any:
        """What stands inside a needless wrapper, or None when there is no such wrapper."""
        if self.open:
            return None
        wrappers = [key for key in payload if isinstance(key, str) and (key.lower() in _WRAPPERS or normalise(key) == self.tool)]
        if len(wrappers) != 1 or self.names.is_alias(wrappers[0]):
            return None
        others = [key for key in payload if key != wrappers[0]]
        if any(key not in _ENVELOPE for key in others):
            return None
        named = next((payload[key] for key in ("name", "tool", "function") if isinstance(payload.get(key), str)), None)
        if named is not None and normalise(named.rpartition(".")[2]) != self.tool and normalise(named) != self.tool:
            return out.fail(
                None, FailureReason.INVALID, self.expected, payload, "the call inside names another tool", "Send the arguments alone"
            )
        inner = self._opened(payload[wrappers[0]])
        if inner is None or not self._ours(inner):
            return None
        return self._changed(inner, payload, DiagnosticKind.UNWRAPPED, str(wrappers[0])[:64], out)

    def _opened(self, inner: Any) -> Mapping[Any, Any] | None:
        if isinstance(inner, str):
            found = read_embedded(inner, self.policy.limits)
            inner = None if found is None else found.value
        return inner if isinstance(inner, Mapping) else None

    def _ours(self, inner: Mapping[Any, Any]) -> bool:
        if not inner:
            return not any(field.required for field in self.names.declared.values())
        if any(isinstance(key, str) and self.names.resolve(key) is not None for key in inner):
            return True
        return len(inner) == 1 and any(str(key).lower() in _WRAPPERS for key in inner)

    def _fold(self, payload: Mapping[Any, Any], out: Outcome) -> Any:
        """The fields of the one parameter that is an object, sent without that object around them."""
        fields = self.folded
        if fields is None or self.only is None or self.open:
            return payload
        if any(not isinstance(key, str) or self.names.resolve(key) is not None or fields.resolve(key) is None for key in payload):
            return payload
        return self._changed({self.only.name: payload}, payload, DiagnosticKind.BOUND, f"folded into {self.only.name}", out)

    def _changed(self, after: Any, before: Any, kind: DiagnosticKind, what: str, out: Outcome) -> Any:
        path: Path = None
        return self.judge.change(
            out,
            path,
            self.expected,
            before,
            after,
            BEST_EFFORT,
            WARNING,
            kind=kind,
            conversion=what,
            suggestion="Send the arguments by name, as one object",
        )

    def _without_reserved(self, payload: Mapping[Any, Any], out: Outcome) -> Any:
        """Names that the application sets itself are not the model's to set, whatever else the tool takes."""
        for name in sorted(self.reserved.intersection(payload)):
            if self.policy.unknown is Unknown.FORBID:
                out.fail((None, name), FailureReason.UNKNOWN, "no such parameter", payload[name], "", "Leave it out")
            else:
                out.diagnostics.append(
                    Diagnostic(f"$.{name}", DiagnosticKind.DROPPED, WARNING, payload[name], None, "unknown", "The application sets it")
                )
        return {key: item for key, item in payload.items() if key not in self.reserved}
