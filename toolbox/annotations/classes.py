"""Classes with fields: dataclass, TypedDict, NamedTuple, attrs, pydantic, msgspec -> one shape, which the reader turns into a node.

The libraries are told by what their classes carry, so that none is imported for it.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

import typing_extensions

from toolbox.docstrings import read_docstring

__all__ = ["ClassShape", "Member", "read_class", "resolve_hints"]


@dataclasses.dataclass(slots=True)
class Member:
    """One field of a class.

    Attributes:
        name: the key in JSON.
        annotation: what it accepts, resolved.
        required: whether it must be given.
        target: the name that the constructor knows it by, where that differs; "" when it is not passed on.
        aliases: other keys under which it may come.
        fallback: makes the default.
        constant: whether the fallback always makes the same value.
        metadata: what stands beside the annotation.
        description: text from the docstring.
    """

    name: str
    annotation: Any
    required: bool = True
    target: str | None = None
    aliases: tuple[str, ...] = ()
    fallback: Callable[[], Any] | None = None
    constant: bool = False
    metadata: tuple[Any, ...] = ()
    description: str | None = None


@dataclasses.dataclass(slots=True)
class ClassShape:
    """What a class with fields looks like from JSON.

    Attributes:
        name: name of the class.
        members: its fields.
        construct: makes an instance of the dict of coerced values; None leaves the dict.
        instance: the class, when instances of it can be told.
        additional: annotation of what undeclared keys hold; None when there may be none.
        root: the annotation that stands for the whole (a pydantic RootModel).
        description: text from its docstring.
        variables: what its type variables stand for.
    """

    name: str
    members: list[Member]
    construct: Callable[[Any], Any] | None
    instance: type | None = None
    additional: Any = None
    root: Any = None
    description: str | None = None
    variables: Mapping[Any, Any] = dataclasses.field(default_factory=dict)


def read_class(annotation: Any, origin: type) -> ClassShape | None:
    """The shape of a class with fields, or None for any other class."""
    for found, read in _KINDS:
        if found(origin):
            shape = read(annotation, origin)
            parameters = getattr(origin, "__parameters__", ()) or getattr(origin, "__type_params__", ())
            arguments = typing_extensions.get_args(annotation)
            if parameters and arguments:
                shape.variables = dict(zip(parameters, arguments, strict=False))
            return shape
    return None


def resolve_hints(owner: Any, local: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The annotations of a class or function, forward references resolved, `Annotated` kept.

    Raises:
        NameError: a name cannot be resolved.
    """
    names = dict(local or {})
    if isinstance(owner, type):
        names.setdefault(owner.__name__, owner)
    return typing_extensions.get_type_hints(owner, localns=names or None, include_extras=True)


def _hints(origin: type) -> dict[str, Any]:
    try:
        return resolve_hints(origin)
    except (NameError, TypeError, AttributeError, SyntaxError):
        # One name that cannot be resolved must not hide the others; the reader names it with an advice.
        hints: dict[str, Any] = {}
        for base in reversed(origin.__mro__):
            scope = getattr(sys.modules.get(base.__module__), "__dict__", {})
            for name, annotation in inspect.get_annotations(base).items():
                holder = types.SimpleNamespace(__annotations__={name: annotation})
                try:
                    hints.update(typing_extensions.get_type_hints(holder, scope, {origin.__name__: origin}, include_extras=True))
                except (NameError, TypeError, AttributeError, SyntaxError):
                    hints[name] = annotation
        return hints


def _described(origin: type) -> tuple[str | None, dict[str, str]]:
    text = origin.__dict__.get("__doc__")
    if not text or text.startswith(f"{origin.__name__}("):  # the docstring that dataclass and NamedTuple make themselves
        return None, {}
    read = read_docstring(text)
    return read.summary or None, read.parameters


def _is_dataclass(origin: type) -> bool:
    return dataclasses.is_dataclass(origin) and not hasattr(origin, "__pydantic_fields__")


def _read_dataclass(_annotation: Any, origin: type) -> ClassShape:
    hints, (summary, words) = _hints(origin), _described(origin)
    known = origin.__dataclass_fields__  # type: ignore[attr-defined]
    members = []
    for name in inspect.signature(origin).parameters:
        item = known.get(name)
        if item is None:
            continue
        annotation = hints.get(name, item.type)
        if isinstance(annotation, dataclasses.InitVar):
            annotation = annotation.type
        member = Member(name, annotation, description=item.metadata.get("description") or words.get(name))
        if item.default is not dataclasses.MISSING:
            _give_default(member, item.default)
        elif item.default_factory is not dataclasses.MISSING:
            member.required, member.fallback = False, item.default_factory
        members.append(member)
    return ClassShape(origin.__name__, members, lambda values: origin(**values), origin, description=summary)


def _give_default(member: Member, value: Any) -> None:
    member.required = False
    member.fallback = fresh(value)
    member.constant = True


def fresh(value: Any) -> Callable[[], Any]:
    """A function that makes the default anew, so that a mutable one is never shared between calls."""
    if value is None or isinstance(value, bool | int | float | str | bytes | tuple | frozenset | type):
        return lambda: value
    import copy

    def made() -> Any:
        try:
            return copy.deepcopy(value)
        except Exception:  # noqa: BLE001 - a lock, a connection: it can only be shared
            return value

    return made


def _is_typed_dict(origin: type) -> bool:
    return typing_extensions.is_typeddict(origin)


def _read_typed_dict(_annotation: Any, origin: type) -> ClassShape:
    hints, (summary, words) = _hints(origin), _described(origin)
    required: frozenset[str] = getattr(origin, "__required_keys__", frozenset())
    members = []
    for name, annotation in hints.items():
        inner, needed = annotation, name in required
        while typing_extensions.get_origin(inner) in _REQUIREDNESS:
            mark = typing_extensions.get_origin(inner)
            if mark in (typing_extensions.Required, typing.Required):
                needed = True
            elif mark in (typing_extensions.NotRequired, typing.NotRequired):
                needed = False
            inner = inner.__args__[0]
        members.append(Member(name, inner, required=needed, description=words.get(name)))
    extra = getattr(origin, "__extra_items__", None)
    additional = None if extra is None or not _says_something(extra) else extra
    return ClassShape(origin.__name__, members, None, additional=additional, description=summary)


def _says_something(extra: Any) -> bool:
    return type(extra).__name__ not in ("NoExtraItemsType", "_NoExtraItemsType") and extra is not typing_extensions.Never


_REQUIREDNESS: Final = (
    typing_extensions.Required,
    typing.Required,
    typing_extensions.NotRequired,
    typing.NotRequired,
    typing_extensions.ReadOnly,
)


def _is_named_tuple(origin: type) -> bool:
    return issubclass(origin, tuple) and hasattr(origin, "_fields")


def _read_named_tuple(_annotation: Any, origin: Any) -> ClassShape:
    hints, (summary, words) = _hints(origin), _described(origin)
    members = []
    for name in origin._fields:
        member = Member(name, hints.get(name, Any), description=words.get(name))
        if name in origin._field_defaults:
            _give_default(member, origin._field_defaults[name])
        members.append(member)
    return ClassShape(origin.__name__, members, lambda values: origin(**values), origin, description=summary)


def _is_attrs(origin: type) -> bool:
    return "__attrs_attrs__" in origin.__dict__


def _read_attrs(_annotation: Any, origin: Any) -> ClassShape:
    hints, (summary, words) = _hints(origin), _described(origin)
    members = []
    for item in origin.__attrs_attrs__:
        if not item.init:
            continue
        alias = item.alias or item.name.lstrip("_")
        member = Member(alias, hints.get(item.name, item.type or Any), description=item.metadata.get("description") or words.get(item.name))
        factory = getattr(item.default, "factory", None)
        if factory is not None:
            member.required = False
            member.fallback = None if item.default.takes_self else factory
        elif type(item.default).__name__ != "_Nothing" and repr(item.default) != "NOTHING":
            _give_default(member, item.default)
        members.append(member)
    return ClassShape(origin.__name__, members, lambda values: origin(**values), origin, description=summary)


def _is_pydantic_model(origin: type) -> bool:
    return hasattr(origin, "__pydantic_validator__") and hasattr(origin, "__pydantic_fields__")


def _read_pydantic(_annotation: Any, origin: Any) -> ClassShape:
    fields: Mapping[str, Any] = origin.__pydantic_fields__
    is_model = hasattr(origin, "model_validate")
    if is_model and getattr(origin, "__pydantic_root_model__", False):
        return ClassShape(origin.__name__, [], origin.model_validate, origin, root=fields["root"].annotation)
    summary, words = _described(origin)
    config = getattr(origin, "model_config", None) or getattr(origin, "__pydantic_config__", None) or {}
    members = []
    for name, item in fields.items():
        key = _pydantic_key(name, item)
        member = Member(
            key,
            item.annotation,
            required=item.is_required(),
            aliases=() if key == name else (name,),
            metadata=(item,),
            description=words.get(name),
        )
        if not member.required:
            if item.default_factory is None:
                _give_default(member, item.default)
            elif not _takes_data(item.default_factory):
                member.fallback = item.default_factory
        members.append(member)
    construct = origin.model_validate if is_model else _pydantic_dataclass(origin)
    additional = Any if config.get("extra") == "allow" else None
    return ClassShape(origin.__name__, members, construct, origin, additional=additional, description=summary)


def _pydantic_key(name: str, item: Any) -> str:
    """The key by which the model validates a field: it must be this one when the model is not populated by field names."""
    alias = item.validation_alias or item.alias
    if isinstance(alias, str):
        return alias
    choices = getattr(alias, "choices", None)
    return next((choice for choice in choices or () if isinstance(choice, str)), name)


def _pydantic_dataclass(origin: type) -> Callable[[Any], Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(origin).validate_python


def _takes_data(factory: Callable[..., Any]) -> bool:
    try:
        return bool(inspect.signature(factory).parameters)
    except (TypeError, ValueError):
        return False


def _is_msgspec(origin: type) -> bool:
    return hasattr(origin, "__struct_fields__") and hasattr(origin, "__struct_config__")


def _read_msgspec(_annotation: Any, origin: Any) -> ClassShape:
    msgspec = sys.modules["msgspec"]
    hints, (summary, words) = _hints(origin), _described(origin)
    config = origin.__struct_config__
    members = []
    for item in msgspec.structs.fields(origin):
        member = Member(
            item.encode_name, hints.get(item.name, item.type), required=item.required, target=item.name, description=words.get(item.name)
        )
        if item.encode_name != item.name:
            member.aliases = (item.name,)
        if item.default is not msgspec.NODEFAULT:
            _give_default(member, item.default)
        elif item.default_factory is not msgspec.NODEFAULT:
            member.fallback = item.default_factory
        members.append(member)
    if config.tag is not None:
        members.insert(0, Member(config.tag_field, typing.Literal[config.tag], target=""))
    return ClassShape(origin.__name__, members, lambda values: origin(**values), origin, description=summary)


_KINDS: Final[tuple[tuple[Callable[[type], bool], Callable[[Any, Any], ClassShape]], ...]] = (
    (_is_typed_dict, _read_typed_dict),
    (_is_pydantic_model, _read_pydantic),
    (_is_dataclass, _read_dataclass),
    (_is_attrs, _read_attrs),
    (_is_msgspec, _read_msgspec),
    (_is_named_tuple, _read_named_tuple),
)
