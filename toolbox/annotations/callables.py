"""Functions and other callables -> the shape of a tool: its name, its texts, the object of its parameters, how it is called."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import typing_extensions

from toolbox.annotations.classes import fresh, resolve_hints
from toolbox.annotations.markers import Converter
from toolbox.annotations.metadata import expand
from toolbox.annotations.reader import UNPACK, AnnotationReader, Problem, as_nullable
from toolbox.docstrings import DocText, read_docstring
from toolbox.errors import RegistrationError
from toolbox.json_values import json_value
from toolbox.types import AnyType, Document, Field, NeverType, ObjectType, Ref, Type, children

__all__ = ["CallableShape", "Injection", "is_async", "read_annotation", "read_callable"]


@dataclass(frozen=True, slots=True)
class Injection:
    """A parameter that comes from the caller's context.

    Attributes:
        name: name of the parameter.
        wanted: the type by which the context is searched.
        required: whether the function has no default for it.
        positional: whether it can only be passed by position.
    """

    name: str
    wanted: Any
    required: bool
    positional: bool = False


@dataclass(frozen=True, slots=True)
class CallableShape:
    """What a callable looks like as a tool.

    Attributes:
        name: its name.
        description: text for the model.
        document: the object of its parameters.
        positional: names of the parameters that can only be passed by position, in order.
        injections: parameters that come from the caller's context.
        secret: names of the parameters whose values are masked.
        is_async: whether it is declared ``async``.
        bound: parameters that a partial has fixed.
    """

    name: str
    description: str
    document: Document
    positional: tuple[str, ...]
    injections: tuple[Injection, ...]
    secret: frozenset[str]
    is_async: bool
    bound: frozenset[str] = frozenset()


def read_annotation(annotation: Any, converters: Mapping[type, Converter] | None = None) -> Document:
    """The document of one annotation.

    Raises:
        RegistrationError: it cannot be made from JSON; the text says what to write instead.

    >>> read_annotation(int | None).root.members[0]
    IntegerType()
    """
    reader = AnnotationReader(converters)
    try:
        return reader.document(reader.read(annotation))
    except Problem as problem:
        raise RegistrationError(str(annotation), [str(problem)]) from None


def read_callable(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    aliases: Mapping[str, str] | None = None,
    secret: Collection[str] = (),
    converters: Mapping[type, Converter] | None = None,
) -> CallableShape:
    """The shape of a function, method, partial or callable instance.

    Args:
        function: the callable; it is not changed.
        name: another name than its own.
        description: another text than its docstring's.
        aliases: other names of parameters, to the name that is declared.
        secret: names of parameters whose values are masked.
        converters: how classes are made that toolbox does not know.

    Raises:
        RegistrationError: it cannot become a tool; every problem is named, with what to write instead.
    """
    tool = name or _own_name(function)
    if not tool:
        raise RegistrationError("<lambda>", ["it has no name of its own: pass name=..."])
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise RegistrationError(tool, ["its signature cannot be read: wrap it in a function with annotations"]) from None
    return _CallableReader(function, tool, signature, dict(aliases or {}), frozenset(secret), converters).read(description)


def _own_name(function: Any) -> str | None:
    while isinstance(function, functools.partial):
        function = function.func
    own = getattr(function, "__name__", None) or type(function).__name__
    return None if own == "<lambda>" else str(own)


class _CallableReader:
    def __init__(
        self,
        function: Callable[..., Any],
        tool: str,
        signature: inspect.Signature,
        aliases: dict[str, str],
        secret: frozenset[str],
        converters: Mapping[type, Converter] | None,
    ) -> None:
        self.function = function
        self.tool = tool
        self.signature = signature
        self.aliases = aliases
        self.secret = secret
        self.reader = AnnotationReader(converters)
        self.inner = _innermost(function)
        self.hints, self.unresolved = _hints(self.inner)
        self.bound_by_partial = _bound_by_partial(function)
        self.problems: list[str] = []

    def read(self, description: str | None) -> CallableShape:
        text = _docstring(self.function)
        fields: list[Field] = []
        positional: list[str] = []
        injections: list[Injection] = []
        additional: Type = NeverType()
        for parameter in self.signature.parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL or parameter.name in self.bound_by_partial:
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                additional = self.read_var_keyword(parameter, fields, text)
                continue
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(parameter.name)
            found = self.read_parameter(parameter, text)
            if isinstance(found, Injection):
                injections.append(found)
            elif found is not None:
                fields.append(found)
        self.check_names(fields)
        document = self.document(fields, additional)
        if self.problems:
            raise RegistrationError(self.tool, self.problems)
        return CallableShape(
            name=self.tool,
            description=text.summary if description is None else description,
            document=document,
            positional=tuple(positional),
            injections=tuple(injections),
            secret=self.secret | {field.name for field in _fields_of(document) if field.secret or _holds_secret(field.type, document)},
            is_async=is_async(self.function),
            bound=self.bound_by_partial,
        )

    def document(self, fields: list[Field], additional: Type) -> Document:
        if self.problems:
            return Document(ObjectType())
        return self.reader.document(ObjectType(fields=tuple(fields), additional=additional))

    def annotation_of(self, parameter: inspect.Parameter) -> Any:
        if parameter.name in self.unresolved:
            raise Problem(
                f"the name {self.unresolved[parameter.name]!r} in its annotation cannot be resolved: "
                "define it at module level, or use the type itself and not its name"
            )
        return self.hints.get(parameter.name, parameter.annotation)

    def read_parameter(self, parameter: inspect.Parameter, text: DocText) -> Field | Injection | None:
        if parameter.annotation is parameter.empty and parameter.name not in self.hints:
            self.problems.append(_unannotated(parameter, self.function))
            return None
        try:
            annotation = self.annotation_of(parameter)
            node, extras = self.reader.read_with_extras(annotation)
        except Problem as problem:
            self.problems.append(f"parameter {parameter.name!r}: {problem}")
            return None
        has_default = parameter.default is not parameter.empty
        if extras.injected:
            return Injection(parameter.name, _wanted(annotation), not has_default, parameter.kind is parameter.POSITIONAL_ONLY)
        default = parameter.default
        if has_default and type(default).__name__ == "FieldInfo":  # pydantic's Field(...) in the place of the default
            node = self.reader.refined(node, expand([default]), extras)
            has_default = False
        if node.description is None and parameter.name in text.parameters:
            node = replace(node, description=text.parameters[parameter.name])
        fallback = fresh(default) if has_default else None
        if not has_default and extras.has_default:
            fallback, default = extras.default_factory or fresh(extras.default), extras.default
            has_default = True
        if fallback is not None:
            node = _with_default(node, default, extras.default_factory is None or fallback is not extras.default_factory)
        names = [*extras.aliases, *(other for other, declared in self.aliases.items() if declared == parameter.name)]
        return Field(
            name=parameter.name,
            type=node,
            required=not has_default,
            aliases=tuple(dict.fromkeys(other for other in names if other != parameter.name)),
            fallback=fallback,
            secret=extras.secret or parameter.name in self.secret,
            policy=extras.policy,
        )

    def read_var_keyword(self, parameter: inspect.Parameter, fields: list[Field], text: DocText) -> Type:
        """``**kwargs: T`` takes any name; ``**kwargs: Unpack[TypedDict]`` takes the keys of the TypedDict (PEP 692)."""
        if parameter.annotation is parameter.empty and parameter.name not in self.hints:
            return AnyType()
        try:
            annotation = self.annotation_of(parameter)
            if typing_extensions.get_origin(annotation) in UNPACK:
                shape = self.reader.document(self.reader.read(annotation.__args__[0])).root
                if isinstance(shape, ObjectType):
                    fields.extend(self.described(field, text) for field in shape.fields)
                    return shape.additional or NeverType()
            return self.reader.read(annotation)
        except Problem as problem:
            self.problems.append(f"parameter **{parameter.name}: {problem}")
            return AnyType()

    def described(self, field: Field, text: DocText) -> Field:
        words = text.parameters.get(field.name)
        return field if words is None or field.type.description is not None else replace(field, type=replace(field.type, description=words))

    def check_names(self, fields: list[Field]) -> None:
        declared = {field.name for field in fields}
        for other, name in self.aliases.items():
            if name not in declared:
                self.problems.append(f"aliases: {other!r} stands for {name!r}, which is no parameter")
        seen: dict[str, str] = {}
        for field in fields:
            for other in field.aliases:
                if other in declared:
                    self.problems.append(f"alias {other!r} of parameter {field.name!r} is a parameter itself: choose another")
                elif seen.setdefault(other, field.name) != field.name:
                    self.problems.append(f"alias {other!r} stands for both {seen[other]!r} and {field.name!r}: choose another for one")
        for name in sorted(self.secret - declared):
            self.problems.append(f"secret: {name!r} is no parameter")


def _with_default(node: Type, default: Any, constant: bool) -> Type:
    if not constant:
        return node
    if default is None:
        node = as_nullable(node)
    return replace(node, default=json_value(default))


def _unannotated(parameter: inspect.Parameter, function: Any) -> str:
    if parameter.name in ("self", "cls") and inspect.isfunction(function):
        return (
            f"parameter {parameter.name!r}: this is a method without its instance: register the bound method, instance.{function.__name__}"
        )
    return (
        f"parameter {parameter.name!r} has no annotation: write the type that it takes, such as {parameter.name}: str, "
        f"or {parameter.name}: Any to take every value as it comes"
    )


def _innermost(function: Any) -> Any:
    """What holds the annotations: the function behind partials, bound methods, callable instances and decorators."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif isinstance(function, type):
            return vars(function).get("__init__", function)
        elif not inspect.isroutine(function) and callable(function):
            function = type(function).__call__
        else:
            return function


def _bound_by_partial(function: Any) -> frozenset[str]:
    """Parameters that a partial fixes by keyword: the application chose their values, so no model may set them."""
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names.update(function.keywords)
        function = function.func
    return frozenset(names)


def _hints(function: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Resolved annotations, and for those that cannot be resolved the name that is missing."""
    local = _enclosing(function)
    try:
        return resolve_hints(function, local), {}
    except (NameError, AttributeError, SyntaxError, TypeError):
        pass
    hints: dict[str, Any] = {}
    unresolved: dict[str, str] = {}
    scope = getattr(function, "__globals__", {})
    for name, annotation in getattr(function, "__annotations__", {}).items():
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        try:
            hints.update(typing_extensions.get_type_hints(holder, scope, local, include_extras=True))
        except (NameError, AttributeError, SyntaxError, TypeError) as error:
            unresolved[name] = getattr(error, "name", None) or str(annotation)
    return hints, unresolved


def _enclosing(function: Any) -> dict[str, Any]:
    """Names of the enclosing functions that the function holds on to."""
    try:
        return dict(inspect.getclosurevars(function).nonlocals)
    except (TypeError, ValueError):
        return {}


def _docstring(function: Any) -> DocText:
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function) and not isinstance(function, type):
        own = read_docstring(type(function).__call__.__doc__)
        return own if own.summary else DocText(read_docstring(inspect.getdoc(type(function))).summary, own.parameters)
    return read_docstring(inspect.getdoc(function))


def _wanted(annotation: Any) -> Any:
    """The type inside ``Injected[T]``; of ``Injected[T | None]``, T."""
    inner = annotation.__origin__
    members = [item for item in typing_extensions.get_args(inner) if item is not types.NoneType]
    is_optional = type(None) in typing_extensions.get_args(inner) and len(members) == 1
    return members[0] if is_optional else inner


def is_async(function: Any) -> bool:
    """Whether a function, a partial or a callable instance is declared ``async``."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function) and not isinstance(function, type):
        function = type(function).__call__
    return inspect.iscoroutinefunction(function)


def _fields_of(document: Document) -> tuple[Field, ...]:
    """The fields of the document's root."""
    return document.root.fields if isinstance(document.root, ObjectType) else ()


def _holds_secret(node: Type, document: Document) -> bool:
    """Whether a field marked secret stands anywhere inside: then the whole argument is masked."""
    pending, seen = [node], set()
    while pending:
        found = pending.pop()
        if isinstance(found, Ref) and found.name not in seen:
            seen.add(found.name)
            pending.append(document.definitions[found.name])
        if isinstance(found, ObjectType) and any(field.secret for field in found.fields):
            return True
        pending.extend(children(found))
    return False
