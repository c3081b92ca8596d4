"""The registry: a named set of tools with one policy, and the hooks and sinks around it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from toolbox.annotations import Converter
from toolbox.audit import AuditRecord, CallStatus, OnAuditFailure, Sink, is_silent, prepare
from toolbox.calls import PLAIN_CALL, Breaker, Call, Desk, Fallback, Recover, Services, Sinks
from toolbox.diagnostics import ABSENT, MASK, CoercionReport, Diagnostic, DiagnosticKind, Risk, shorten
from toolbox.dispatch import check, walk, walk_async
from toolbox.errors import MissingContext, MissingReview, PayloadError, RegistrationError, ToolboxError, UnknownTool
from toolbox.masking import hidden, masked
from toolbox.policy import Policy
from toolbox.providers import (
    ExportedTool,
    ExportReport,
    OnUnsupported,
    export_tools,
    read_response,
    stream_calls,
    tool_choice,
    write_results,
)
from toolbox.recording import deliver, deliver_async
from toolbox.recovery.breaker import CircuitBreaker
from toolbox.redaction import Redaction
from toolbox.results import ToolResult
from toolbox.schema_tools import schema_tool
from toolbox.tools import LONGEST_NAME, Approval, Tool, ToolCall, ToolNames, ToolOptions, read_tool

if TYPE_CHECKING:
    from toolbox.payload.found import FoundCall
    from toolbox.providers.streaming import CallStream
    from toolbox.providers.turns import StepMessages, Turn
    from toolbox.sources import Included, OnSchemaProblem, Operations, Request, SourceTool, SourceTools

__all__ = ["Registry", "default_registry", "tool"]

_F = TypeVar("_F", bound=Callable[..., Any])

ENTRY_POINTS = "toolbox.tools"


class Registry:
    """A named set of tools.

    Args:
        policy: what may be done to arguments; the preset that ``TOOLBOX_POLICY`` names, else `LENIENT`.
        sinks: where finished audit records go, beside the log.
        context: values for `Injected` parameters, by type or by parameter name.
        fallback: takes calls whose arguments do not fit, where the policy collects failures.
        converters: how classes are made that toolbox does not know.
        on_audit_failure: what becomes of a call whose record cannot be opened: ``"fail_open"`` runs it and counts the loss,
            ``"fail_closed"`` raises `AuditError`; where it is not given, high-risk tools fail closed and all others open.
        recovery: asks a model to correct calls that were refused, such as a `Recovery`.
        review: where calls wait for a person, such as a `ReviewQueue`.
        breaker: how often a tool may fail for the same cause in one conversation until it is stopped, or None for no limit; what counts is
            calls whose metadata has a ``conversation_id``.
        redaction: what is masked wherever it could be seen, beside the secret parameters of the tools.

    >>> registry = Registry()
    >>> @registry.tool
    ... def double(number: int) -> int:
    ...     return number * 2
    >>> registry.dispatch("double", {"number": "21"})
    42
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        sinks: Iterable[Sink] = (),
        context: Mapping[Any, Any] | None = None,
        fallback: Fallback | None = None,
        converters: Mapping[type, Converter] | None = None,
        on_audit_failure: OnAuditFailure | None = None,
        recovery: Recover | None = None,
        review: Desk | None = None,
        breaker: Breaker | int | None = 5,
        redaction: Redaction | None = None,
    ) -> None:
        prepare()
        if policy is not None:
            _check_policy(policy)
        _check_redaction(redaction)
        if on_audit_failure not in (None, "fail_open", "fail_closed"):
            raise ValueError(f"on_audit_failure must be 'fail_open' or 'fail_closed', and is {shorten(on_audit_failure)}")
        _check_services(sinks, recovery, review)
        self.policy = Policy.from_environment() if policy is None else policy
        self._tools: dict[str, Tool] = {}
        self._names = ToolNames(self._tools)
        self._strict: set[str] = set()  # the providers whose last export was strict
        self._converters = dict(converters or {})
        self._services = Services(
            self._names,
            Sinks(sinks),
            fallback,
            dict(context or {}),
            on_audit_failure,
            recovery,
            CircuitBreaker(breaker) if isinstance(breaker, int) else breaker,
            review,
            redaction,
        )

    # -- adding tools ------------------------------------------------------------------------------------------------------------

    @overload
    def tool(self, function: _F, /) -> _F: ...

    @overload
    def tool(
        self,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        policy: Policy | None = None,
        high_risk: bool = False,
        timeout_s: float | None = None,
        aliases: Mapping[str, str] | None = None,
        secret: Collection[str] = (),
        approval: Approval | None = None,
        on_audit_failure: OnAuditFailure | None = None,
    ) -> Callable[[_F], _F]: ...

    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Register the decorated function, and return it untouched: ``@registry.tool`` or ``@registry.tool(name=...)``.

        The options are those of `register`.

        Raises:
            RegistrationError: the function cannot become a tool.
        """

        def add(decorated: _F) -> _F:
            self.register(decorated, **options)
            return decorated

        return add if function is None else add(function)

    def register(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        policy: Policy | None = None,
        high_risk: bool = False,
        timeout_s: float | None = None,
        aliases: Mapping[str, str] | None = None,
        secret: Collection[str] = (),
        approval: Approval | None = None,
        on_audit_failure: OnAuditFailure | None = None,
    ) -> Tool:
        """Add a function, method, partial or callable instance.

        Args:
            function: the callable; it is not changed.
            name: another name than its own.
            description: another text than its docstring's.
            policy: tightens the registry's policy for this tool.
            high_risk: refuse every change above INFO: for payments, dosing, whatever cannot be undone.
            timeout_s: time limit of a call in seconds.
            aliases: other names of parameters, to the name that is declared.
            secret: names of parameters whose values are masked wherever they could be seen.
            approval: which calls wait for a person: ``"always"``, or a function that says it of the report of a call. They go to the
                registry's review queue, and the caller gets `ApprovalPending`.
            on_audit_failure: what becomes of a call whose record cannot be opened: ``"fail_open"`` runs it and counts the loss,
                ``"fail_closed"`` raises `AuditError`; the registry's rule when it is not given.

        Raises:
            RegistrationError: it cannot become a tool, or the name is taken.
        """
        options = ToolOptions(policy, high_risk, timeout_s, secret, approval, on_audit_failure)
        return self._add(
            read_tool(function, self.policy, options, name=name, description=description, aliases=aliases, converters=self._converters)
        )

    def register_schema(
        self,
        name: str,
        schema: Mapping[str, Any],
        handler: Callable[..., Any],
        *,
        description: str = "",
        policy: Policy | None = None,
        high_risk: bool = False,
        timeout_s: float | None = None,
        secret: Collection[str] = (),
        approval: Approval | None = None,
        on_audit_failure: OnAuditFailure | None = None,
        dialect: str | None = None,
        resources: Mapping[str, Any] | None = None,
        on_schema_problem: OnSchemaProblem = "raise",
    ) -> Tool:
        """Add a tool whose parameters are described by a JSON Schema that came from elsewhere.

        Args:
            name: name of the tool.
            schema: the JSON Schema of its parameters; an object at the root.
            handler: called with the arguments as keyword arguments, as plain JSON values.
            description: text for the model.
            policy: tightens the registry's policy for this tool.
            high_risk: refuse every change above INFO.
            timeout_s: time limit of a call in seconds.
            secret: names of parameters whose values are masked wherever they could be seen.
            approval: which calls wait for a person, as with `register`.
            on_audit_failure: what becomes of a call whose record cannot be opened, as with `register`.
            dialect: the flavour of the schema where it is no JSON Schema of draft 2020-12 or 7, such as ``"openapi-3.0"``.
            resources: other documents that the schema refers to, by address; nothing is ever fetched.
            on_schema_problem: whether a schema that is itself invalid is an error, or is reported in the tool's ``schema_problems`` while
                what is valid counts. A default that does not fit its own type is reported there in any case, and never used.

        Raises:
            RegistrationError: the schema is invalid, or no object.
        """
        return self._add(
            schema_tool(
                name,
                schema,
                handler,
                self.policy,
                ToolOptions(policy, high_risk, timeout_s, secret, approval, on_audit_failure),
                description=description,
                dialect=dialect,
                resources=resources,
                raises=on_schema_problem == "raise",
            )
        )

    def include_mcp_tools(
        self,
        list_tools_result: Any,
        call: Callable[[str, dict[str, Any]], Any],
        *,
        prefix: str = "",
        policy: Policy | None = None,
        high_risk: bool | Callable[[SourceTool], bool] = False,
        timeout_s: float | None = None,
        approval: Approval | None = None,
        on_schema_problem: OnSchemaProblem = "raise",
    ) -> Included:
        """Add the tools that an MCP server lists.

        Args:
            list_tools_result: the result of ``list_tools``, or a list of tools: objects of the ``mcp`` SDK (1.x or 2.x) or plain dicts. It
                is one page; whoever asks the server joins the pages.
            call: calls a tool by its name on the server with an object of arguments, such as ``session.call_tool``; sync or async. What
                belongs to an event loop, as a session does, is called with `adispatch` and `arun`.
            prefix: goes before each name.
            policy: tightens the registry's policy for these tools.
            high_risk: refuse every change above INFO: for all of them, or for those that a function picks, such as
                ``lambda tool: not tool.annotations.get("readOnlyHint")``.
            timeout_s: time limit of a call in seconds.
            approval: which calls wait for a person, as with `register`.
            on_schema_problem: ``"raise"`` adds all of them or none; ``"report"`` adds what can be added.

        Returns:
            The tools that were added, and the problems where they are only reported.

        Raises:
            RegistrationError: some cannot become tools, or a name is taken: every problem of every tool.
        """
        from toolbox.sources import read_mcp_tools

        found = read_mcp_tools(list_tools_result, call, prefix=prefix)
        return self._include_found(found, high_risk, ToolOptions(policy, timeout_s=timeout_s, approval=approval), on_schema_problem)

    def include_openapi(
        self,
        document: Mapping[str, Any],
        call: Callable[[Request], Any],
        *,
        operations: Operations | None = None,
        prefix: str = "",
        policy: Policy | None = None,
        high_risk: bool | Callable[[SourceTool], bool] = False,
        timeout_s: float | None = None,
        approval: Approval | None = None,
        on_schema_problem: OnSchemaProblem = "raise",
    ) -> Included:
        """Add the operations of an OpenAPI document (3.0, 3.1 or 3.2).

        Args:
            document: the document, as plain data. References lead inside it; nothing is fetched.
            call: sends a `Request` and gives what the tool returns; sync or async. The server's address and the credentials are its own.
            operations: which of them: operation ids, pairs of method and path, or a function that says it of each `Operation`; all of them
                when it is not given.
            prefix: goes before each name.
            policy: tightens the registry's policy for these tools.
            high_risk: refuse every change above INFO: for all of them, or for those that a function picks.
            timeout_s: time limit of a call in seconds.
            approval: which calls wait for a person, as with `register`.
            on_schema_problem: ``"raise"`` adds all of them or none; ``"report"`` adds what can be added.

        Returns:
            The tools that were added, and the problems where they are only reported.

        Raises:
            RegistrationError: it is no such document, some operations cannot become tools, or a name is taken: every problem.
        """
        from toolbox.sources import read_openapi

        found = read_openapi(document, call, operations, prefix=prefix)
        return self._include_found(found, high_risk, ToolOptions(policy, timeout_s=timeout_s, approval=approval), on_schema_problem)

    def _include_found(
        self, found: SourceTools, high_risk: bool | Callable[[SourceTool], bool], options: ToolOptions, on_schema_problem: OnSchemaProblem
    ) -> Included:
        """Add the tools of a source, all of them or none."""
        from toolbox.sources import make_tools

        def make(item: SourceTool) -> Tool:
            return schema_tool(
                item.name,
                item.schema,
                item.handler,
                self.policy,
                replace(options, high_risk=bool(high_risk(item)) if callable(high_risk) else high_risk, secret=item.secret),
                description=item.description,
                dialect=item.dialect,
                raises=on_schema_problem == "raise",
            ).redacted(self.redaction)

        included = make_tools(found, make, self._tools, on_schema_problem=on_schema_problem)
        self._tools.update((item.name, item) for item in included.tools)
        self._names.refresh()
        return included

    def register_converter(self, kind: type, source: Any, convert: Callable[[Any], Any]) -> None:
        """Say how a class is made that toolbox does not know; for functions that are registered afterwards.

        Args:
            kind: the class.
            source: annotation of what comes in JSON, such as ``str``; it is coerced first, and it is what the schema shows.
            convert: makes the instance of it; its ValueError or TypeError is a refusal with its text.
        """
        self._converters[kind] = Converter(source, convert)

    def include(self, other: Registry, *, prefix: str = "") -> None:
        """Add every tool of another registry, under this registry's policy tightened by the other's.

        Raises:
            RegistrationError: a name is taken.
        """
        added = []
        for item in other:
            own = other.policy if item.own_policy is None else other.policy.tightened(item.own_policy)
            added.append(item.owned(own).under(self.policy, prefix + item.name))
        for one in added:
            self._check_name(one.name)
        for one in added:
            self._add(one)

    def filter(self, keep: Callable[[Tool], bool] | Collection[str]) -> Registry:
        """A registry with some of the tools, and the same policy and services: those that a function keeps, or those named.

        Raises:
            UnknownTool: a name is not registered.
        """
        kept = [item for item in self if keep(item)] if callable(keep) else [self[name] for name in keep]
        return self._derived(self.policy, kept)

    def tightened(self, policy: Policy) -> Registry:
        """A registry with the same tools and services, under this registry's policy tightened by another one."""
        _check_policy(policy)
        return self.under(self.policy.tightened(policy))

    def under(self, policy: Policy) -> Registry:
        """A registry with the same tools and services under another policy, stricter or looser: for trying one out.

        A policy that was given for a tool alone still tightens it, and high-risk tools still refuse every change above INFO.
        """
        _check_policy(policy)
        return self._derived(policy, [item.under(policy) for item in self])

    def _derived(self, policy: Policy, tools: Iterable[Tool]) -> Registry:
        """A registry with these tools, and the same services but for the names of tools and the count of what was lost."""
        made = Registry(policy, converters=self._converters)
        made._services = replace(self._services, known=made._names, lost_records=0)
        made._tools.update((item.name, item) for item in tools)
        made._names.refresh()
        return made

    def load_entry_points(self, group: str = ENTRY_POINTS) -> list[str]:
        """Add the tools that installed distributions offer: each entry point is a registry, or a function to register.

        Returns:
            The names of the tools that were added.

        Raises:
            RegistrationError: one cannot become a tool, or a name is taken.
        """
        from importlib.metadata import entry_points

        before = set(self._tools)
        for point in sorted(entry_points(group=group), key=lambda item: item.name):
            try:
                found = point.load()
            except Exception as error:
                raise RegistrationError(point.name, [f"the entry point {point.value} cannot be loaded: {error}"]) from error
            if isinstance(found, Registry):
                self.include(found)
            else:
                self.register(found)
        return [name for name in self._tools if name not in before]

    def _check_name(self, name: str) -> None:
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
            raise RegistrationError(name[:64], [f"its name must be 1 to {LONGEST_NAME} printable characters: pass name=..."])
        if name in self._tools:
            raise RegistrationError(name, ["the name is taken: pass name=..., or include(..., prefix=...)"])

    def _add(self, added: Tool) -> Tool:
        self._check_name(added.name)
        added = added.redacted(self.redaction)
        self._tools[added.name] = added
        self._names.refresh()
        return added

    # -- finding tools -----------------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Tool:
        found = self._tools.get(name)
        if found is None:
            raise self._unknown(name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(tuple(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    def resolve(self, name: Any) -> Tool:
        """The tool that a name stands for: exactly, by other separators or case, or by the last part of a qualified name.

        Raises:
            UnknownTool: there is none, or more than one; a similar name is only suggested.
        """
        found = self._tools.get(name) if isinstance(name, str) else None
        if found is not None:
            return found
        resolved = self._names.resolve(name) if isinstance(name, str) else None
        if resolved is None:
            raise self._unknown(name)
        return self._tools[resolved]

    def _unknown(self, name: Any) -> UnknownTool:
        text = _name_text(name)
        redaction = self.redaction
        return UnknownTool(text if redaction is None else redaction.text(text), self._names.nearest(text), tuple(self._tools))

    # -- calling -----------------------------------------------------------------------------------------------------------------

    def dispatch(
        self,
        name: str,
        arguments: Any = None,
        /,
        *,
        call_id: str | None = None,
        context: Mapping[Any, Any] | None = None,
        timeout_s: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a tool with what a model sent, and return what it returned.

        Args:
            name: name of the tool, as the model wrote it.
            arguments: a mapping, JSON text, or text that holds the arguments.
            call_id: the provider's id of the call, for the record.
            context: values for `Injected` parameters, by type or by parameter name.
            timeout_s: time limit in seconds, instead of the tool's.
            metadata: anything that belongs on the record.

        Raises:
            UnknownTool: there is no such tool.
            PayloadError: there are no usable arguments in what arrived.
            InvalidArguments: the arguments do not fit; the function was not run.
            ToolExecutionError: the function raised; its exception is the cause.
            ToolTimeout: the function did not end in time.
            MissingContext: an injected parameter has no value.
        """
        call = _said(call_id, context, timeout_s, metadata)
        found = self._tools.get(name) if type(name) is str else None
        if found is None:
            found = self._found(name, call)
            call = _as_found(found, name, call)
        return walk(found, arguments, self._services, call)[0]

    async def adispatch(
        self,
        name: str,
        arguments: Any = None,
        /,
        *,
        call_id: str | None = None,
        context: Mapping[Any, Any] | None = None,
        timeout_s: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Any:
        """The asynchronous twin of `dispatch`; a synchronous tool runs in a thread and does not block the loop."""
        call = _said(call_id, context, timeout_s, metadata)
        found = await self._afound(name, call)
        return (await walk_async(found, arguments, self._services, _as_found(found, name, call)))[0]

    def run(
        self,
        name: str,
        arguments: Any = None,
        /,
        *,
        call_id: str | None = None,
        context: Mapping[Any, Any] | None = None,
        timeout_s: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """The same as `dispatch`, but whatever the model or the tool did wrong comes back in the result and is not raised.

        Raises:
            MissingContext: an injected parameter has no value.
            MissingReview: the call needs approval (``@tool(approval=...)``), and the registry has no ``review``.
        """
        return self._run(name, arguments, _said(call_id, context, timeout_s, metadata))

    async def arun(
        self,
        name: str,
        arguments: Any = None,
        /,
        *,
        call_id: str | None = None,
        context: Mapping[Any, Any] | None = None,
        timeout_s: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """The asynchronous twin of `run`; it raises what `run` raises."""
        return await self._arun(name, arguments, _said(call_id, context, timeout_s, metadata))

    def _run(self, name: str, arguments: Any, call: Call) -> ToolResult:
        try:
            found = self._found(name, call)
        except UnknownTool as error:
            return ToolResult(error.name[:LONGEST_NAME], None, error, None, call.call_id)
        try:
            value, report = walk(found, arguments, self._services, _as_found(found, name, call))
        except (MissingContext, MissingReview):  # the application's fault, and nothing that a model could mend
            raise
        except ToolboxError as error:
            return ToolResult(found.name, None, error, error.report, call.call_id)
        return ToolResult(found.name, value, None, report, call.call_id, found.redaction)

    async def _arun(self, name: str, arguments: Any, call: Call) -> ToolResult:
        try:
            found = await self._afound(name, call)
        except UnknownTool as error:
            return ToolResult(error.name[:LONGEST_NAME], None, error, None, call.call_id)
        try:
            value, report = await walk_async(found, arguments, self._services, _as_found(found, name, call))
        except (MissingContext, MissingReview):  # the application's fault, and nothing that a model could mend
            raise
        except ToolboxError as error:
            return ToolResult(found.name, None, error, error.report, call.call_id)
        return ToolResult(found.name, value, None, report, call.call_id, found.redaction)

    def run_calls(self, calls: Iterable[ToolCall], **options: Any) -> list[ToolResult]:
        """Run calls in order; one that fails does not stop the others. The options are those of `run`.

        Raises:
            TypeError: one is no `ToolCall`, or an option is none; then nothing was run.
        """
        return [self._run(name, arguments, call) for name, arguments, call in _listed("run_calls", calls, options)]

    async def arun_calls(self, calls: Iterable[ToolCall], *, limit: int = 8, **options: Any) -> list[ToolResult]:
        """Run calls at once, at most `limit` at a time; the results stand in the order of the calls.

        Raises:
            ValueError: the limit is less than 1.
            TypeError: as with `run_calls`.
        """
        import asyncio

        if limit < 1:
            raise ValueError(f"limit must be 1 or more, and is {limit}")
        slots = asyncio.Semaphore(limit)

        async def one(name: str, arguments: Any, call: Call) -> ToolResult:
            async with slots:
                return await self._arun(name, arguments, call)

        return list(await asyncio.gather(*starmap(one, _listed("arun_calls", calls, options))))

    def check(self, name: str, arguments: Any = None, /) -> CoercionReport:
        """What would be made of the arguments, without invoking: for dry runs and approval screens.

        Raises:
            UnknownTool: there is no such tool.
            PayloadError: there are no usable arguments in what arrived.
        """
        found = self.resolve(name)
        return check(found, arguments, self._names, _as_found(found, name, PLAIN_CALL).found)

    def parse_calls(self, raw: Any, /) -> list[ToolCall]:
        """The calls in a model's output: text, a list of parts, the plain JSON shapes of calls, or a provider's response.

        A response is an SDK's object or the dict of it; where it holds no calls of its own, its text is read.

        Raises:
            PayloadError: a call in it was cut off.
        """
        from toolbox.payload.outputs import find_calls

        turn = None if isinstance(raw, str | bytes | bytearray) else read_response(raw, tools=self._exported(), strict=self._strict)
        try:
            found = [] if turn is None else turn.runnable()
            if not found:
                found = find_calls(raw if turn is None else turn.texts, known=self._names, policy=self.policy)
        except PayloadError as error:
            cut = [] if turn is None else turn.calls
            for record in self._without_tool(cut or [ToolCall("", None)], error):
                deliver(record, self._services, CallStatus.UNREADABLE)
            raise
        return [self._call(item) for item in found]

    def _call(self, item: FoundCall) -> ToolCall:
        return ToolCall(item.name, item.arguments, item.call_id, self._shown(item.name, item.diagnostics))

    def _shown(self, name: str, diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
        """How a call was found, without the values of a tool that has secrets: they are not told apart yet."""
        found = self._tools.get(name)
        if found is None or not found.guarded:
            return diagnostics
        if not found.secret:
            return tuple(masked(found, None, diagnostics, ())[0])
        return tuple(
            item if item.before is ABSENT and item.after is ABSENT else replace(item, before=MASK, after=MASK) for item in diagnostics
        )

    def _found(self, name: str, call: Call) -> Tool:
        """The tool of a name; that there is none is on record."""
        try:
            return self.resolve(name)
        except UnknownTool as error:
            for record in self._without_tool([ToolCall(error.name[:LONGEST_NAME], None, call.call_id)], error, call.metadata):
                deliver(record, self._services, CallStatus.UNKNOWN_TOOL)
            raise

    async def _afound(self, name: str, call: Call) -> Tool:
        """The asynchronous twin of `_found`."""
        try:
            return self.resolve(name)
        except UnknownTool as error:
            for record in self._without_tool([ToolCall(error.name[:LONGEST_NAME], None, call.call_id)], error, call.metadata):
                await deliver_async(record, self._services, CallStatus.UNKNOWN_TOOL)
            raise

    def _without_tool(
        self, calls: Sequence[ToolCall | FoundCall], error: ToolboxError, metadata: Mapping[str, Any] | None = None
    ) -> Iterator[AuditRecord]:
        """The records of calls that never came to a tool; none where nobody would take them."""
        if not self._services.sinks.all and is_silent():
            return
        for call in calls:
            found, redaction = self._tools.get(call.name), self.redaction
            name = call.name if redaction is None or found is not None else redaction.text(call.name)
            record = AuditRecord.begun(name, self.policy.name, call.call_id, metadata, redaction)
            if found is not None:  # without it nobody knows which arguments are secret, so none are kept
                record.arguments = hidden(found, call.arguments)
            record.error = str(error)
            yield record

    # -- around the tools --------------------------------------------------------------------------------------------------------

    def _exported(self) -> list[ExportedTool]:
        return [ExportedTool(item.name, item.description, item.schema, item.shown) for item in self]

    def schemas(self, provider: str = "json", *, strict: bool = False, on_unsupported: OnUnsupported = "fallback") -> list[dict[str, Any]]:
        """The definitions of all tools as a provider wants them, in the order in which they were added.

        Args:
            provider: name of the provider.
            strict: hold the model to the schemas, where the provider can; in the provider's answers null then stands for "not given".
            on_unsupported: ``"fallback"`` exports a tool that cannot be strict without, and reports it; ``"raise"`` raises.

        Raises:
            ValueError: the provider is not known.
            UnsupportedTool: a tool cannot be strict, and `on_unsupported` says so.
        """
        made = export_tools(provider, self._exported(), strict=strict, on_unsupported=on_unsupported)
        (self._strict.add if strict else self._strict.discard)(provider)
        return made.tools

    def export_report(self, provider: str, *, strict: bool = False) -> ExportReport:
        """What the export to a provider cannot say, tool by tool, and which of its maximums are passed.

        Raises:
            ValueError: the provider is not known.
        """
        return export_tools(provider, self._exported(), strict=strict).report

    def tool_choice(self, provider: str, choice: str, *, parallel: bool | None = None) -> dict[str, Any]:
        """The part of a request that says which tools may be called: ``"auto"``, ``"none"``, ``"required"``, or a tool's name.

        Raises:
            ValueError: the provider is not known, or cannot be told this.
        """
        return tool_choice(provider, choice, tools=tuple(self._tools), parallel=parallel)

    def stream(self, provider: str) -> CallStream[ToolCall]:
        """What takes the events of one streamed response, and hands out every call as soon as it is complete.

        Raises:
            ValueError: the provider is not known, or has no streams.
        """
        return stream_calls(provider, self._call, tools=self._exported(), strict=self._strict)

    def to_messages(self, results: Iterable[ToolResult], provider: str = "openai") -> list[dict[str, Any]]:
        """The messages that carry the results of one turn back to a provider's model.

        Raises:
            ValueError: the provider is not known.
        """
        return write_results(provider, (item.sent() for item in results), tools=tuple(self._tools))

    def step(self, provider: str, response: Any, **options: Any) -> StepMessages:
        """Run the calls in a response, and give the messages to append: the model's own, and behind them the results.

        The list says in ``done`` whether the model asked for nothing, and in ``text`` what it said. The options are those of `run`.

        Raises:
            ValueError: the provider is not known.
        """
        turn = self._turn(provider, response)
        if turn.problem is not None:
            for record in self._without_tool(turn.calls or [ToolCall("", None)], turn.problem, options.get("metadata")):
                deliver(record, self._services, CallStatus.UNREADABLE)
        results = self.run_calls(map(self._call, turn.to_run), **options)
        return turn.answered([item.sent() for item in results], results)

    async def astep(self, provider: str, response: Any, *, limit: int = 8, **options: Any) -> StepMessages:
        """The asynchronous twin of `step`."""
        turn = self._turn(provider, response)
        if turn.problem is not None:
            for record in self._without_tool(turn.calls or [ToolCall("", None)], turn.problem, options.get("metadata")):
                await deliver_async(record, self._services, CallStatus.UNREADABLE)
        results = await self.arun_calls(map(self._call, turn.to_run), limit=limit, **options)
        return turn.answered([item.sent() for item in results], results)

    def _turn(self, provider: str, response: Any) -> Turn:
        turn = read_response(response, provider, tools=self._exported(), strict=self._strict)
        assert turn is not None  # as the provider is given
        return turn

    def add_sink(self, sink: Sink) -> None:
        """Send finished audit records to one more place.

        Raises:
            TypeError: it cannot be called with a record.
        """
        self._services.sinks.add(sink)

    def remove_sink(self, sink: Sink) -> None:
        """Stop sending records to a sink.

        Raises:
            ValueError: it was not added.
        """
        self._services.sinks.remove(sink)

    def fallback(self, handler: Fallback) -> Fallback:
        """Register the handler for calls whose arguments do not fit (policy ``failures=COLLECT``); usable as a decorator."""
        self._services.fallback = handler
        return handler

    @property
    def services(self) -> Services:
        """What the registry has around its tools, for what runs calls by itself, such as a `ReviewQueue`."""
        return self._services

    @property
    def lost_records(self) -> int:
        """How many records a sink has failed to take."""
        return self._services.lost_records

    @property
    def redaction(self) -> Redaction | None:
        """What is masked wherever it could be seen, beside the secret parameters of the tools."""
        return self._services.redaction

    def __repr__(self) -> str:
        return f"<Registry {len(self)} tools, policy {self.policy.name}>"


def _said(call_id: str | None, context: Mapping[Any, Any] | None, timeout_s: float | None, metadata: Mapping[str, Any] | None) -> Call:
    """What the caller said about a call; most calls come without a word, and share one value."""
    if call_id is None and context is None and timeout_s is None and metadata is None:
        return PLAIN_CALL
    return Call(call_id, context, timeout_s, metadata)


# Of one call among several; its id comes with it.
_OPTIONS: Final = ("context", "timeout_s", "metadata")


def _listed(method: str, calls: Iterable[ToolCall], options: Mapping[str, Any]) -> list[tuple[str, Any, Call]]:
    """Each call as it is run. All are looked at before the first one runs: what is wrong with a later one must not hide its result."""
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"{method} has no option {name!r}: they are {', '.join(_OPTIONS)}")
    listed = []
    for call in calls:
        if not isinstance(call, ToolCall):
            raise TypeError(f"calls must be those that parse_calls gives, or ToolCall(name, arguments), and one is {shorten(call)}")
        listed.append((call.name, call.arguments, Call(call_id=call.call_id, found=call.diagnostics, **options)))
    return listed


def _as_found(found: Tool, name: Any, call: Call) -> Call:
    """What is said about a call, with the tool's name on record where the model wrote another one."""
    if found.name == name:
        return call
    renamed = Diagnostic("$", DiagnosticKind.RENAMED, Risk.INFO, str(name), found.name, "tool", f"Call it {found.name}")
    return replace(call, found=(renamed, *call.found))


def _check_policy(policy: Any) -> None:
    """A name is no policy: which of them is meant is said by `Policy.from_name`."""
    if not isinstance(policy, Policy):
        name = f"{policy!r:.40}" if isinstance(policy, str) else "'strict'"
        raise TypeError(f"policy must be a Policy, such as STRICT or Policy.from_name({name}), and is a {type(policy).__name__}")


def _check_redaction(redaction: Any) -> None:
    """Patterns alone are no redaction: what else is meant is said there."""
    if redaction is not None and not isinstance(redaction, Redaction):
        raise TypeError(f"redaction must be a Redaction, such as Redaction.common(), and is a {type(redaction).__name__}")


def _check_services(sinks: Any, recovery: Any, review: Any) -> None:
    """What looks right and is not would only be found out by the first call that needs it."""
    if not isinstance(sinks, Iterable) or isinstance(sinks, str | bytes):
        example = "AuditStore" if isinstance(sinks, str | bytes) else type(sinks).__name__
        raise TypeError(f"sinks must be a list of sinks, such as [{example}(...)], and is a {type(sinks).__name__}")
    # A function is what a Recovery asks: taken for the Recovery itself, its answers would be the results of calls, unjudged.
    if recovery is not None and (not callable(recovery) or isinstance(recovery, type | FunctionType | MethodType)):
        what = f"is the {_KINDS[type(recovery)]} {recovery.__name__}" if type(recovery) in _KINDS else f"is {shorten(recovery)}"
        raise TypeError(f"recovery must be a Recovery, such as Recovery(ask), and {what}")
    if review is not None and (not hasattr(review, "hold") or isinstance(review, type)):
        what = f"the class {review.__name__}" if isinstance(review, type) else f"a {type(review).__name__}"
        raise TypeError(f"review must be a ReviewQueue, such as ReviewQueue(store), and is {what}")


_KINDS: Final = {FunctionType: "function", MethodType: "method", type: "class"}


def _name_text(name: Any) -> str:
    return name if isinstance(name, str) else shorten(name)


def tool(function: Any = None, /, **options: Any) -> Any:
    """Mark a function for the default registry, and return it untouched: ``@tool`` or ``@tool(name=...)``.

    The options are those of `Registry.register`.

    Raises:
        RegistrationError: the function cannot become a tool.
    """
    return default_registry.tool(function, **options) if function is not None else default_registry.tool(**options)


default_registry = Registry()
"""The registry that ``@tool`` adds to."""
