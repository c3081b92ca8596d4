"""Arguments as a dialect made a model write them, made over into what the tool declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolbox.diagnostics import ABSENT, Diagnostic, DiagnosticKind, Path, Risk, path_text
from toolbox.errors import PayloadError
from toolbox.payload import FoundCall, parse_json
from toolbox.policy import Limits
from toolbox.providers.parameters import alternatives, property_names, resolved, root_object, takes_null
from toolbox.providers.shared import NameRule
from toolbox.types import ArrayType, Document, NeverType, ObjectType, Type, UnionType

__all__ = ["Restoring"]

_DEEPEST: Final = 100
_LIMITS: Final = Limits()


class Restoring:
    """Undoes what an export did to one tool: property names that were not legal, and null for "not given".

    Args:
        document: what the tool takes.
        rule: the provider's rule for names of properties.
        nulls: whether null stands for "not given" where a parameter may be left out and does not take null: so it is agreed where the
            tool was exported as strict.
    """

    def __init__(self, document: Document, rule: NameRule | None, *, nulls: bool) -> None:
        self.document = document
        self.nulls = nulls
        self.names = property_names(document, rule) if rule is not None else {}
        self.own = {written: name for name, written in self.names.items()}
        self.needed = nulls or any(name != written for name, written in self.names.items())

    def __call__(self, call: FoundCall) -> FoundCall:
        """The call with the arguments that the tool declares; text that is no JSON is left to whoever reads it later."""
        arguments, notes = call.arguments, list(call.diagnostics)
        if not self.needed:
            return call
        if isinstance(arguments, str):
            try:
                arguments, read = parse_json(arguments, _LIMITS)
            except PayloadError:
                return call
            notes += read
        if not isinstance(arguments, Mapping):
            return call
        restored = self._object(root_object(self.document), arguments, None, notes, 0)
        return call if restored == call.arguments else FoundCall(call.name, restored, call.call_id, tuple(notes))

    def _value(self, node: Type, value: Any, path: Path, notes: list[Diagnostic], depth: int) -> Any:
        if depth > _DEEPEST or not isinstance(value, Mapping | list):
            return value
        node = resolved(node, self.document)
        if isinstance(node, UnionType):
            return self._member(node, value, path, notes, depth)
        if isinstance(value, Mapping):
            return self._object(node, value, path, notes, depth) if isinstance(node, ObjectType) else value
        if not isinstance(node, ArrayType):
            return value
        kinds = (*node.prefix, *[node.items] * max(len(value) - len(node.prefix), 0))
        return [
            self._value(kind, item, (path, index), notes, depth + 1) for index, (kind, item) in enumerate(zip(kinds, value, strict=False))
        ]

    def _member(self, node: UnionType, value: Any, path: Path, notes: list[Diagnostic], depth: int) -> Any:
        """By the member of a union that fits the keys that came best."""
        members = list(alternatives(node, self.document))
        if isinstance(value, list):
            found: Type | None = next((member for member in members if isinstance(member, ArrayType)), None)
        else:
            objects = [member for member in members if isinstance(member, ObjectType)]
            found = min(objects, key=lambda member: self._distance(member, value), default=None)
        return value if found is None else self._value(found, value, path, notes, depth)

    def _distance(self, node: ObjectType, value: Mapping[str, Any]) -> tuple[bool, int, int]:
        """How ill an object fits: whether it forbids a key that came, how many it does not declare, how many required ones are missing."""
        came = {self.own.get(written, written) for written in value}
        undeclared = len(came - {item.name for item in node.fields})
        missing = sum(item.required and item.name not in came for item in node.fields)
        return isinstance(node.additional, NeverType) and undeclared > 0, undeclared, missing

    def _object(self, node: ObjectType, value: Mapping[str, Any], path: Path, notes: list[Diagnostic], depth: int) -> dict[str, Any]:
        declared = {item.name: item for item in node.fields}
        made: dict[str, Any] = {}
        for written, item in value.items():
            name = self.own.get(written, written)
            found = declared.get(name)
            if found is None and written in declared:  # the name that was not allowed, all the same
                name, found = written, declared[written]
            if found is None:
                made[written] = item if node.additional is None else self._value(node.additional, item, (path, written), notes, depth + 1)
            elif item is None and self.nulls and not found.required and not takes_null(found.type, self.document):
                where = path_text((path, name))
                notes.append(Diagnostic(where, DiagnosticKind.DROPPED, Risk.INFO, None, ABSENT, "null->not given", "leave it out"))
            else:
                made[name] = self._value(found.type, item, (path, name), notes, depth + 1)
        return made
