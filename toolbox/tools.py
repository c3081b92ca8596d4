"""A tool: one callable with a name, a description, parameters and a schema; and how a name that a model wrote finds one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, cast

from toolbox.annotations import CallableShape, Converter, Injection, is_async, read_callable
from toolbox.audit import OnAuditFailure
from toolbox.binding import Binder
from toolbox.coercion import Coercer, build_coercer
from toolbox.diagnostics import CoercionReport, Diagnostic, Risk, class_name, shorten
from toolbox.errors import RegistrationError, ToolboxError
from toolbox.matching import NameIndex, closest, normalise
from toolbox.policy import Policy
from toolbox.redaction import Redaction, joined
from toolbox.schema.writing import write_schema
from toolbox.types import (
    ABSENT,
    BooleanType,
    Document,
    EnumType,
    Field,
    NeverType,
    NullType,
    NumberType,
    ObjectType,
    Opaque,
    Ref,
    StringType,
    Type,
    UnionType,
    children,
    map_children,
)

__all__ = [
    "LONGEST_NAME",
    "PLAIN_OPTIONS",
    "Approval",
    "Tool",
    "ToolCall",
    "ToolNames",
    "ToolOptions",
    "make_tool",
    "names_of",
    "read_tool",
]

# An underscore is a word character already: as a separator too, it would be tried both ways, and a long name would take for ever.
_NAME: Final = re.compile(r"\w+(?:[ ./:-]\w+)*\Z")
_PARTS: Final = re.compile(r"[./:]|__")
_EMPTY_NAMESPACES: Final = frozenset({"api", "default_api", "function", "functions", "tool", "tools"})
LONGEST_NAME: Final = 256


Approval = Literal["always"] | Callable[[CoercionReport], bool]
"""Which calls need a person's approval: all of them, or those of whose report a function says so."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asked for.

    Attributes:
        name: name of the tool, as the registry resolved it where it could.
        arguments: a mapping, or text that still holds the arguments.
        call_id: the provider's id of the call, when it came with one.
        diagnostics: how the call was found.
    """

    name: str
    arguments: Any
    call_id: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """One callable with everything that was read from it, ready to be called.

    Attributes:
        name: its name in the registry.
        description: text for the model.
        schema: the JSON Schema (draft 2020-12) of its parameters.
        document: the representation that the schema was written from.
        function: the callable, untouched.
        policy: what may be done to its arguments: the registry's policy, tightened.
        high_risk: whether it refuses every change above INFO.
        own_policy: the policy that was given for this tool alone.
        timeout_s: time limit of a call in seconds; None for no limit.
        secret: names of the parameters whose values are masked.
        positional: parameters that can only be passed by position.
        injections: parameters that come from the caller's context.
        reserved: names that no payload may set.
        is_async: whether the function is declared ``async``.
        flat: whether every parameter is a plain scalar and none is secret, so that a shallow copy keeps the arguments.
        plain: whether a call is ready with its arguments: all passed by name, none from the context, no approval to ask for.
        schema_problems: what is wrong with the schema that it came with, where it was registered all the same.
        approval: which calls need a person's approval: ``"always"``, or a function that says it of a report.
        on_audit_failure: what becomes of a call whose record cannot be opened; None for the registry's rule.
        redaction: what is masked beside its secret parameters; None for nothing.
        guarded: whether anything is masked at all.
        names: every name that its parameters and their fields have, where a redaction leaves them alone.
        bind: makes an object of arguments of a payload.
        coerce: makes the arguments that the function takes of that object.
    """

    name: str
    description: str
    schema: dict[str, Any] = field(repr=False)
    document: Document = field(repr=False)
    function: Callable[..., Any]
    policy: Policy = field(repr=False)
    high_risk: bool = False
    own_policy: Policy | None = field(default=None, repr=False)
    timeout_s: float | None = None
    secret: frozenset[str] = frozenset()
    positional: tuple[str, ...] = ()
    injections: tuple[Injection, ...] = field(default=(), repr=False)
    reserved: frozenset[str] = frozenset()
    is_async: bool = False
    plain: bool = True
    flat: bool = False
    schema_problems: tuple[str, ...] = ()
    approval: Approval | None = field(default=None, repr=False)
    on_audit_failure: OnAuditFailure | None = None
    redaction: Redaction | None = None
    guarded: bool = False
    names: frozenset[str] = field(default=frozenset(), repr=False)
    bind: Binder = field(repr=False, kw_only=True)
    coerce: Coercer = field(repr=False, kw_only=True)

    @property
    def parameters(self) -> tuple[Field, ...]:
        """The parameters that a model can give, in order."""
        return self.document.parameters.fields

    @property
    def shown(self) -> Document:
        """The document as a model is shown it: without the defaults of what is secret."""
        return _without_secret_defaults(self.document, self.secret)

    def owned(self, policy: Policy) -> Tool:
        """The same tool with another policy of its own."""
        return replace(self, own_policy=policy)

    def redacted(self, redaction: Redaction | None) -> Tool:
        """The same tool with what a redaction hides kept secret too."""
        both = joined(self.redaction, redaction)
        if both is None or both is self.redaction:
            return self
        document = _with_secret_keys(self.document, both.hides) if both.keys else self.document
        secret = self.secret | _secret_fields(document)
        schema = write_schema(_without_secret_defaults(document, secret)) if both.keys else self.schema
        names = frozenset(names_of(document))
        return replace(self, document=document, schema=schema, secret=secret, redaction=both, guarded=True, flat=False, names=names)

    def under(self, policy: Policy, name: str | None = None) -> Tool:
        """The same tool under a registry's policy, and perhaps under another name."""
        renamed = name or self.name
        effective = _effective(policy, self.own_policy, self.high_risk)
        return replace(
            self,
            name=renamed,
            policy=effective,
            bind=Binder(renamed, self.document, effective, self.reserved),
            coerce=build_coercer(self.document, effective),
        )


def _effective(policy: Policy, own: Policy | None, high_risk: bool) -> Policy:
    effective = policy if own is None else policy.tightened(own)
    if high_risk and effective.max_risk > Risk.INFO:
        effective = replace(effective, max_risk=Risk.INFO)
    return effective


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """What an application says about a tool, wherever the tool comes from.

    Attributes:
        policy: tightens the registry's policy for the tool.
        high_risk: refuse every change above INFO.
        timeout_s: time limit of a call in seconds.
        secret: names of parameters whose values are masked wherever they could be seen.
        approval: which calls need a person's approval.
        on_audit_failure: what becomes of a call whose record cannot be opened.
    """

    policy: Policy | None = None
    high_risk: bool = False
    timeout_s: float | None = None
    secret: Collection[str] = ()
    approval: Approval | None = None
    on_audit_failure: OnAuditFailure | None = None

    @property
    def problems(self) -> list[str]:
        """What is wrong with them."""
        policy, seconds, approval, rule = cast(tuple[Any, ...], (self.policy, self.timeout_s, self.approval, self.on_audit_failure))
        high_risk: Any = self.high_risk
        found = []
        if not _are_names(self.secret):
            found.append(f'secret must be a list of names, such as ["api_key"], and is {shorten(self.secret)}')
        if type(high_risk) is not bool:
            found.append(f"high_risk must be True or False, and is {shorten(high_risk)}")
        if policy is not None and not isinstance(policy, Policy):
            found.append(f"policy must be a Policy, such as STRICT, and is a {type(policy).__name__}")
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0):
            found.append(f"timeout_s must be a number of seconds above 0, and is {shorten(seconds)}")
        if approval is not None and approval != "always" and not callable(approval):
            found.append(f"approval must be 'always' or a function of a report, and is {shorten(approval)}")
        elif callable(approval) and is_async(approval):
            found.append(
                "approval must be a function that answers at once, and is a coroutine function: ask what must be waited for before the call"
            )
        if rule not in (None, "fail_open", "fail_closed"):
            found.append(f"on_audit_failure must be 'fail_open' or 'fail_closed', and is {shorten(rule)}")
        return found


def _are_names(names: Any) -> bool:
    """Whether it is a list of names, and no text, of which each letter would be one."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        return False
    return not isinstance(names, Collection) or all(isinstance(item, str) for item in names)


PLAIN_OPTIONS: Final = ToolOptions()


def make_tool(
    name: str,
    description: str,
    document: Document,
    function: Callable[..., Any],
    policy: Policy,
    options: ToolOptions = PLAIN_OPTIONS,
    *,
    positional: tuple[str, ...] = (),
    injections: tuple[Injection, ...] = (),
    is_async: bool = False,
    schema: dict[str, Any] | None = None,
    schema_problems: Sequence[str] = (),
    also_reserved: Iterable[str] = (),
) -> Tool:
    """A tool of its parts, ready to be called under a policy.

    Raises:
        RegistrationError: an option is no such thing, or the schema needs a validator that is not installed.
    """
    problems = options.problems
    if problems:
        raise RegistrationError(name, problems)
    effective = _effective(policy, options.policy, options.high_risk)
    reserved = frozenset((*(item.name for item in injections), *also_reserved))
    hidden = frozenset(options.secret) | _secret_fields(document)
    try:
        coerce = build_coercer(document, effective)
    except ToolboxError as error:
        raise RegistrationError(name, [str(error)]) from error
    return Tool(
        name=name,
        description=description,
        schema=write_schema(_without_secret_defaults(document, hidden)) if schema is None else schema,
        document=document,
        function=function,
        policy=effective,
        high_risk=options.high_risk,
        own_policy=options.policy,
        timeout_s=options.timeout_s,
        secret=hidden,
        positional=positional,
        injections=injections,
        reserved=reserved,
        is_async=is_async,
        plain=not injections and not positional and options.approval is None,
        flat=not hidden and _is_flat(document),
        schema_problems=tuple(schema_problems),
        approval=options.approval,
        on_audit_failure=options.on_audit_failure,
        guarded=bool(hidden),
        bind=Binder(name, document, effective, reserved),
        coerce=coerce,
    )


def read_tool(
    function: Callable[..., Any],
    policy: Policy,
    options: ToolOptions = PLAIN_OPTIONS,
    *,
    name: str | None = None,
    description: str | None = None,
    aliases: Mapping[str, str] | None = None,
    converters: Mapping[type, Converter] | None = None,
) -> Tool:
    """A tool of a callable.

    Raises:
        RegistrationError: the callable cannot become a tool.
    """
    # Before the callable is read: what the options name is looked for in it.
    problems = options.problems
    named: Any = aliases
    if named is not None and not isinstance(named, Mapping):
        problems.append(f'aliases must be a mapping, such as {{"q": "query"}}, and is {shorten(named)}')
    if problems:
        raise RegistrationError(str(name or getattr(function, "__name__", class_name(function))), problems)
    shape: CallableShape = read_callable(
        function, name=name, description=description, aliases=aliases, secret=options.secret, converters=converters
    )
    return make_tool(
        shape.name,
        shape.description,
        shape.document,
        function,
        policy,
        replace(options, secret=shape.secret),
        positional=shape.positional,
        injections=shape.injections,
        is_async=shape.is_async,
        also_reserved=shape.bound,
    )


def _secret_fields(document: Document) -> frozenset[str]:
    """The parameters that are secret, or that hold something secret: then the whole argument is."""
    return frozenset(item.name for item in document.parameters.fields if item.secret or _holds_secret(item.type, document))


def _holds_secret(node: Type, document: Document) -> bool:
    pending, seen = [node], set[str]()
    while pending:
        found = pending.pop()
        if isinstance(found, Ref) and found.name not in seen:
            seen.add(found.name)
            pending.append(document.definitions[found.name])
        elif isinstance(found, ObjectType) and any(item.secret for item in found.fields):
            return True
        pending.extend(children(found))
    return False


def _with_secret_keys(document: Document, hides: Callable[[str], bool]) -> Document:
    """The document with every field secret whose name, or another name of it, is hidden."""

    def marked(node: Type) -> Type:
        if isinstance(node, ObjectType):
            node = replace(node, fields=tuple(_hidden_field(item) for item in node.fields))
        return map_children(node, marked)

    def _hidden_field(item: Field) -> Field:
        return replace(item, secret=True) if not item.secret and any(map(hides, _names_of(item))) else item

    return Document(marked(document.root), {name: marked(node) for name, node in document.definitions.items()})


def _names_of(item: Field) -> tuple[str, ...]:
    return (item.name, *item.aliases, *(() if item.target is None else (item.target,)))


def names_of(document: Document) -> Iterator[str]:
    """Every name of a parameter, or of a field inside one."""
    pending: list[Type] = [document.root, *document.definitions.values()]
    while pending:
        node = pending.pop()
        if isinstance(node, ObjectType):
            for item in node.fields:
                yield from _names_of(item)
        elif isinstance(node, Opaque):
            yield from _properties(node.schema)
            pending.append(node.known)
        pending.extend(children(node))


def _properties(schema: Any) -> Iterator[str]:
    """Every name that a schema declares, at any depth."""
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            declared = part.get("properties")
            yield from (name for name in declared if isinstance(name, str)) if isinstance(declared, Mapping) else ()
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)


def _without_secret_defaults(document: Document, secret: frozenset[str]) -> Document:
    """The document as it is shown to a model: the default of what is secret is the application's own affair."""
    if not secret:
        return document

    def shown(node: Type) -> Type:
        if isinstance(node, ObjectType):
            node = replace(node, fields=tuple(_shown_field(item, item.secret) for item in node.fields))
        return map_children(node, shown)

    parameters = document.parameters
    parameters = replace(parameters, fields=tuple(_shown_field(item, item.name in secret) for item in parameters.fields))
    root = document.root
    if isinstance(root, Opaque):
        # What is written is the schema as it came.
        declared = {name: _without_default(item, name in secret) for name, item in root.schema.get("properties", {}).items()}
        return Document(replace(root, known=parameters, schema={**root.schema, "properties": declared}), document.definitions)
    return Document(shown(parameters), {name: shown(node) for name, node in document.definitions.items()})


def _without_default(schema: Any, is_secret: bool) -> Any:
    return {key: item for key, item in schema.items() if key != "default"} if is_secret and isinstance(schema, dict) else schema


def _shown_field(item: Field, is_secret: bool) -> Field:
    return replace(item, type=replace(item.type, default=ABSENT)) if is_secret else item


def _is_flat(document: Document) -> bool:
    root = document.root
    return isinstance(root, ObjectType) and isinstance(root.additional, NeverType) and all(map(_is_flat_field, root.fields))


def _is_flat_field(item: Field) -> bool:
    # A default that is no JSON value has no place on a record as it is.
    return _is_scalar(item.type) and (item.fallback is None or item.type.default is not ABSENT)


def _is_json_scalar(value: Any) -> bool:
    return type(value) in (str, int, float, bool, type(None))


def _is_scalar(node: Type) -> bool:
    if isinstance(node, UnionType):
        return all(map(_is_scalar, node.members))
    if isinstance(node, EnumType):
        return node.construct is None and all(map(_is_json_scalar, node.members or ()))
    return node.construct is None and isinstance(node, BooleanType | NumberType | StringType | NullType)


class ToolNames:
    """How names that models write find tools: exactly, by other separators or case, or by the last part of a qualified name.

    It is also what the payload readers ask about the tools that are known.
    """

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self.tools = tools
        self._built: tuple[int, NameIndex, dict[str, str]] | None = None

    def refresh(self) -> None:
        """Take note that tools were added or removed."""
        # The index is built when it is next asked for, so that adding a thousand tools does not build a thousand of them.
        self._built = None

    def _indexes(self) -> tuple[NameIndex, dict[str, str]]:
        """The index of whole names, and whose last part each last part is that only one name has."""
        built, count = self._built, len(self.tools)
        if built is None or built[0] != count:
            owners: dict[str, list[str]] = {}
            for name in self.tools:
                parts = _PARTS.split(name)
                if len(parts) > 1:
                    owners.setdefault(normalise(parts[-1]), []).append(name)
            lasts = {last: names[0] for last, names in owners.items() if last and len(names) == 1}
            self._built = built = (count, NameIndex(self.tools), lasts)
        return built[1], built[2]

    def resolve(self, name: str) -> str | None:
        """The registered name that a name stands for, or None; never a guess."""
        if name in self.tools:
            return name
        text = name.strip()
        if len(text) > LONGEST_NAME or not _NAME.match(text):
            return None
        index, lasts = self._indexes()
        found = index.resolve(text)
        if found is not None or index.candidates(text):
            return found
        parts = _PARTS.split(text)
        if len(parts) == 1:
            # The name without the namespace that it is registered under.
            return lasts.get(normalise(text))
        if parts[0].lower() in _EMPTY_NAMESPACES:
            return self.resolve(_PARTS.split(text, maxsplit=1)[1])
        # The last part must be a whole name: another namespace may be that of another tool with the same last part.
        last = parts[-1]
        return last if last in self.tools else index.resolve(last) if last else None

    def nearest(self, name: str) -> list[str]:
        """Registered names that look like a name, best first; only for suggestions."""
        return closest(name, list(self.tools), 3)

    def parameters(self, name: str) -> Sequence[str]:
        """The declared parameters of a registered tool, in order."""
        return [item.name for item in self.tools[name].parameters]

    def required(self, name: str) -> Collection[str]:
        """The parameters of a registered tool that must be given."""
        return {item.name for item in self.tools[name].parameters if item.required}

    def takes_any(self, name: str) -> bool:
        """Whether a registered tool takes arguments that are not declared."""
        return not isinstance(self.tools[name].document.parameters.additional, NeverType)
