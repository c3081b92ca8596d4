"""Running a tool's function: sync or async, with a time limit or without, its exception taken as what it is."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

from toolbox.errors import MissingContext, ToolExecutionError, ToolTimeout
from toolbox.tools import Tool

__all__ = ["ABANDONED_LIMIT", "arguments_for", "invoke", "invoke_async", "propagates"]

ABANDONED_LIMIT: Final = 32
"""How many calls that timed out may still be running in threads before further calls with a time limit are refused."""

_GRACE_S: Final = 0.05
_NEVER_AWAITED: Final = frozenset({str, int, float, bool, type(None), dict, list, tuple})
_abandoned: Final = threading.BoundedSemaphore(ABANDONED_LIMIT)


def arguments_for(tool: Tool, arguments: Mapping[str, Any], context: Mapping[Any, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments of the function: the coerced ones, and what comes from the context.

    Raises:
        MissingContext: an injected parameter without a default has no value in the context.
    """
    keywords = dict(arguments)
    for item in tool.injections:
        for key in (item.name, item.wanted):
            if _holds(context, key):
                keywords[item.name] = context[key]
                break
        else:
            found = _by_subclass(item.wanted, context)
            if found is not None:
                keywords[item.name] = found[0]
            elif item.required:
                raise MissingContext(tool.name, item.name, getattr(item.wanted, "__name__", str(item.wanted)))
    positional: list[Any] = []
    for name in tool.positional:
        if name not in keywords:
            break
        positional.append(keywords.pop(name))
    return positional, keywords


def _holds(context: Mapping[Any, Any], key: Any) -> bool:
    try:
        return key in context
    except TypeError:
        return False


def _by_subclass(wanted: Any, context: Mapping[Any, Any]) -> tuple[Any] | None:
    if not isinstance(wanted, type):
        return None
    for key, value in context.items():
        if isinstance(key, type) and issubclass(key, wanted):
            return (value,)
    return None


def propagates(error: BaseException) -> bool:
    """Whether an exception is the caller's own (an interrupt, a cancellation) and not the tool's."""
    return isinstance(error, KeyboardInterrupt) or type(error).__name__ == "CancelledError"


def invoke(tool: Tool, positional: Sequence[Any], keywords: dict[str, Any], timeout_s: float | None) -> Any:
    """Run the function from synchronous code; what it returns that can be awaited is awaited in a loop of its own.

    Raises:
        ToolTimeout: it did not end in time.
        BaseException: whatever the function raised.
    """
    if timeout_s is not None:
        return _in_thread(tool, lambda: _finished(tool.function(*positional, **keywords)), timeout_s)
    value = tool.function(*positional, **keywords)
    return value if type(value) in _NEVER_AWAITED or not hasattr(value, "__await__") else _finished(value)


def _finished(value: Any) -> Any:
    """The value, awaited to its end if it can be awaited."""
    if not hasattr(value, "__await__"):
        return value
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_awaited(value))
    # A loop runs in this thread already and cannot wait for itself: the awaitable gets a loop of its own in another thread.
    return _joined(lambda: asyncio.run(_awaited(value)))


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _joined(work: Callable[[], Any]) -> Any:
    box = _Box()
    thread = threading.Thread(target=contextvars.copy_context().run, args=(box.fill, work), daemon=True, name="toolbox-await")
    thread.start()
    thread.join()
    return box.take()


class _Box:
    """Carries a result or an exception out of a thread."""

    __slots__ = ("done", "error", "lock", "value", "waited_for")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.lock = threading.Lock()
        self.value: Any = None
        self.error: BaseException | None = None
        self.waited_for = True

    def fill(self, work: Callable[[], Any]) -> None:
        try:
            self.value = work()
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is taken
            self.error = error
        with self.lock:
            self.done.set()
            if not self.waited_for:
                _abandoned.release()

    def abandon(self) -> bool:
        """Give up waiting; False when the work has just ended."""
        with self.lock:
            if self.done.is_set():
                return False
            self.waited_for = False
            return True

    def take(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


def _in_thread(tool: Tool, work: Callable[[], Any], timeout_s: float) -> Any:
    """Run in a thread and wait no longer than the limit. A thread cannot be stopped: it is counted until it ends by itself."""
    if timeout_s <= 0:
        raise ToolTimeout(tool.name, timeout_s)
    if not _abandoned.acquire(blocking=False):
        raise ToolExecutionError(tool.name, f"not started: {ABANDONED_LIMIT} calls that timed out earlier are still running")
    box = _Box()
    thread = threading.Thread(target=contextvars.copy_context().run, args=(box.fill, work), daemon=True, name=f"toolbox-{tool.name}")
    thread.start()
    if not box.done.wait(timeout_s) and box.abandon():
        raise ToolTimeout(tool.name, timeout_s)
    _abandoned.release()
    return box.take()


async def invoke_async(tool: Tool, positional: Sequence[Any], keywords: dict[str, Any], timeout_s: float | None) -> Any:
    """Run the function from asynchronous code; a synchronous one runs in a thread, so that it does not block the loop.

    Raises:
        ToolTimeout: it did not end in time.
        BaseException: whatever the function raised.
    """
    import asyncio

    if not tool.is_async:
        if timeout_s is not None:
            return await asyncio.to_thread(_in_thread, tool, lambda: _finished(tool.function(*positional, **keywords)), timeout_s)
        value = await asyncio.to_thread(_settled, tool.function, positional, keywords)
        return await value.awaitable if isinstance(value, _Pending) else value
    coroutine = tool.function(*positional, **keywords)
    if timeout_s is None:
        return await coroutine
    return await _within(tool, coroutine, timeout_s)


class _Pending:
    """An awaitable that a synchronous function returned, on its way to the loop that awaits it."""

    __slots__ = ("awaitable",)

    def __init__(self, awaitable: Awaitable[Any]) -> None:
        self.awaitable = awaitable


def _settled(function: Callable[..., Any], positional: Sequence[Any], keywords: dict[str, Any]) -> Any:
    try:
        value = function(*positional, **keywords)
    except StopIteration as error:
        # A future cannot carry a StopIteration.
        raise RuntimeError("the function raised StopIteration") from error
    return _Pending(value) if hasattr(value, "__await__") else value


async def _within(tool: Tool, coroutine: Coroutine[Any, Any, Any], timeout_s: float) -> Any:
    import asyncio

    if timeout_s <= 0:
        coroutine.close()
        raise ToolTimeout(tool.name, timeout_s)
    task = asyncio.ensure_future(coroutine)
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout_s)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if done:
        return task.result()
    task.cancel()
    # The function's own clean-up gets a moment, and no more: a slow or stubborn one must not hold the caller.
    await asyncio.wait({task}, timeout=_GRACE_S)
    if task.done() and not task.cancelled():
        task.exception()
    raise ToolTimeout(tool.name, timeout_s)
