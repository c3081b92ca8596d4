"""The tools of an MCP server: what it lists, and how a call and its result go to and fro.

The objects of the ``mcp`` SDK are read by their fields, in the spelling of its versions 1 and 2; so are plain dicts. The SDK itself is
not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from toolbox.errors import RegistrationError
from toolbox.schema_tools import is_async
from toolbox.sources.found import SourceTool, SourceTools
from toolbox.sources.names import tool_name, unique_names

__all__ = ["RemoteToolError", "read_mcp_tools", "unwrap_result"]

_SOURCE: Final = "the MCP tools"
_WRAPPED: Final = "x-fastmcp-wrap-result"


class RemoteToolError(Exception):
    """A tool that runs elsewhere says that it failed; its text is the tool's."""


def read_mcp_tools(listed: Any, call: Callable[[str, dict[str, Any]], Any], *, prefix: str = "") -> SourceTools:
    """The tools that an MCP server lists.

    Args:
        listed: the result of ``list_tools``, or only its tools; objects of the ``mcp`` SDK (1.x or 2.x) or plain dicts. It is one page:
            whoever asks the server follows ``nextCursor`` and joins the pages' tools into one list.
        call: calls a tool by its name on the server with an object of arguments, such as ``session.call_tool``; sync or async.
        prefix: goes before each name.

    A name is made legal for every provider (``files.read`` becomes ``files_read``); the server gets its own. What a call gives is
    unwrapped by `unwrap_result`.

    >>> listed = [{"name": "files.read", "description": "Read.", "inputSchema": {"type": "object"}}]
    >>> found = read_mcp_tools(listed, lambda name, arguments: {"content": [{"type": "text", "text": name}]})
    >>> found.tools[0].name, found.tools[0].handler()
    ('files_read', 'files.read')

    Raises:
        RegistrationError: it is no list of tools.
    """
    problems: list[str] = []
    usable: dict[str, tuple[Any, dict[str, Any]]] = {}
    for index, item in enumerate(_items(listed)):
        name = _field(item, "name")
        if not isinstance(name, str) or not name:
            problems.append(f"tool number {index + 1} has no name")
            continue
        schema = _field(item, "inputSchema", "input_schema")
        if name in usable:
            problems.append(f"{name}: it is listed twice")
        elif not isinstance(schema, Mapping):
            problems.append(f"{name}: its inputSchema must be an object, not {type(schema).__name__}")
        else:
            usable[name] = (item, dict(schema))
    names = unique_names([(tool_name(prefix + name), prefix + name) for name in usable])
    tools = tuple(_source_tool(made, name, item, schema, call) for made, (name, (item, schema)) in zip(names, usable.items(), strict=True))
    return SourceTools(_SOURCE, tools, tuple(problems))


def _items(listed: Any) -> list[Any]:
    found = _field(listed, "tools")
    if found is None:
        found = listed
    if not isinstance(found, Iterable) or isinstance(found, str | bytes | Mapping):
        raise RegistrationError(_SOURCE, [f"pass the result of list_tools, or a list of its tools, not {type(listed).__name__}"])
    return list(found)


def _source_tool(made: str, name: str, item: Any, schema: dict[str, Any], call: Callable[[str, dict[str, Any]], Any]) -> SourceTool:
    hints = _plain(_field(item, "annotations"))
    title = _field(item, "title") or hints.get("title")
    declared = _field(item, "outputSchema", "output_schema")
    wrapped = isinstance(declared, Mapping) and declared.get(_WRAPPED) is True
    return SourceTool(
        name=made,
        description=str(_field(item, "description") or title or ""),
        schema=schema,
        handler=_handler(name, call, wrapped=wrapped),
        origin=name,
        is_async=is_async(call),
        title=None if title is None else str(title),
        annotations=hints,
    )


def _handler(name: str, call: Callable[[str, dict[str, Any]], Any], *, wrapped: bool) -> Callable[..., Any]:
    async def finish(waiting: Any) -> Any:
        return unwrap_result(await waiting, wrapped=wrapped)

    if is_async(call):

        async def ask(**arguments: Any) -> Any:
            return await finish(call(name, arguments))

        return ask

    def ask_now(**arguments: Any) -> Any:
        result = call(name, arguments)
        return finish(result) if hasattr(result, "__await__") else unwrap_result(result, wrapped=wrapped)

    return ask_now


def unwrap_result(result: Any, *, wrapped: bool = False) -> Any:
    r"""What a tool returned, out of the result of a call.

    Args:
        result: the result of ``tools/call``: an object of the ``mcp`` SDK, or a plain dict. Anything else is given as it is.
        wrapped: whether the server puts a value that is no object under the key ``result``.

    Structured content comes first. Else text is joined by line breaks. Where there are images, sounds or resources, the list of all
    content blocks is given as it came; structured content stands before them where no text says the same.

    >>> unwrap_result({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})
    'a\nb'
    >>> unwrap_result({"content": [{"type": "text", "text": "{...}"}], "structuredContent": {"n": 1}})
    {'n': 1}

    Raises:
        RemoteToolError: the tool failed, or it asks for something that a call cannot give.
    """
    kind = _field(result, "resultType", "result_type")
    if isinstance(kind, str) and kind != "complete":
        raise RemoteToolError(f"the server did not complete the call, it answered {kind!r}: handle that in the function that calls it")
    content = _field(result, "content")
    if not isinstance(content, list | tuple):
        return result
    texts = [_field(block, "text") for block in content if _field(block, "type") == "text"]
    text = "\n".join(str(item) for item in texts)
    structured = _field(result, "structuredContent", "structured_content")
    if _field(result, "isError", "is_error") is True:
        raise RemoteToolError(text or "the server gave no reason")
    if structured is not None and wrapped and isinstance(structured, Mapping) and structured.keys() == {"result"}:
        structured = structured["result"]
        # A wrapped null is a result.
        if structured is None and len(texts) == len(content):
            return None
    if len(texts) < len(content):
        return [*([structured] if structured is not None and not texts else []), *content]
    return text if structured is None else structured


def _field(value: Any, *names: str) -> Any:
    """The first field that is there and not null, by one of its spellings."""
    for name in names:
        found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if found is not None:
            return found
    return None


def _plain(value: Any) -> dict[str, Any]:
    if hasattr(value, "model_dump"):
        value = value.model_dump(by_alias=True)
    return {str(key): item for key, item in value.items() if item is not None} if isinstance(value, Mapping) else {}
