"""Running a tool's function: sync or async, with a time limit or without, its exception taken as what it is."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from toolbox.diagnostics import is_a
from toolbox.errors import MissingContext, ToolboxError, ToolExecutionError, ToolTimeout
from toolbox.tools import Tool

__all__ = [
    "ABANDONED_LIMIT",
    "Ended",
    "Stopped",
    "Watched",
    "abandoned",
    "arguments_for",
    "finished",
    "invoke",
    "invoke_async",
    "is_awaitable",
    "propagates",
]

ABANDONED_LIMIT: Final = 32
"""How many calls that timed out may still be running in threads before further calls with a time limit are refused."""

_GRACE_S: Final = 0.05
_NEVER_AWAITED: Final = frozenset({str, int, float, bool, type(None), dict, list, tuple})


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
    for place, name in enumerate(tool.positional):
        if name in keywords:
            positional.append(keywords.pop(name))
        elif any(later in keywords for later in tool.positional[place + 1 :]):
            # What stands behind it can only be passed by position, so its default has to be passed too.
            positional.append(_default_of(tool, name))
        else:
            break
    return positional, keywords


def _default_of(tool: Tool, name: str) -> Any:
    import inspect

    return inspect.signature(tool.function).parameters[name].default


def _holds(context: Mapping[Any, Any], key: Any) -> bool:
    try:
        return key in context
    except TypeError:
        return False


def _by_subclass(wanted: Any, context: Mapping[Any, Any]) -> tuple[Any] | None:
    if not isinstance(wanted, type):
        return None
    for key, value in context.items():
        # A protocol that was not made for it cannot be asked.
        with suppress(TypeError):
            if isinstance(key, type) and issubclass(key, wanted):
                return (value,)
    return None


def propagates(error: BaseException) -> bool:
    """Whether an exception is the caller's own (an interrupt, a cancellation) and not the tool's."""
    if is_a(error, KeyboardInterrupt):
        return True
    loaded = sys.modules.get("asyncio.exceptions")
    return loaded is not None and is_a(error, loaded.CancelledError)


class Stopped(Exception):
    """Carries an error of toolbox's own, so that it is told apart from the same error raised inside the function.

    Attributes:
        error: the error to raise.
    """

    def __init__(self, error: ToolboxError) -> None:
        super().__init__(error)
        self.error = error


class Ended:
    """How a function ended: with a value, or with any exception, a StopIteration too, which no coroutine can raise."""

    __slots__ = ("error", "value")

    def __init__(self, value: Any = None, error: BaseException | None = None) -> None:
        self.value = value
        self.error = error

    def take(self) -> Any:
        """The value; the exception is raised."""
        if self.error is not None:
            raise self.error
        return self.value


def is_awaitable(value: Any) -> bool:
    """Whether a value can be awaited; asked of its class, since a value's own attributes may be made up."""
    return type(value) not in _NEVER_AWAITED and hasattr(type(value), "__await__")


def invoke(tool: Tool, positional: Sequence[Any], keywords: dict[str, Any], timeout_s: float | None) -> Any:
    """Run the function from synchronous code; what it returns that can be awaited is awaited in a loop of its own.

    Raises:
        Stopped: it did not end in time, or was not started.
        BaseException: whatever the function raised.
    """
    if timeout_s is not None:
        return _in_thread(tool, lambda box: finished(tool.function(*positional, **keywords), box), timeout_s)
    value = tool.function(*positional, **keywords)
    return value if type(value) in _NEVER_AWAITED else finished(value)


def finished(value: Any, box: _Box | None = None) -> Any:
    """The value, awaited to its end if it can be awaited."""
    if not is_awaitable(value):
        return value
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_awaited(value, box)).take()
    # A loop runs in this thread already and cannot wait for itself: the awaitable gets a loop of its own in another thread.
    return _joined(lambda box: asyncio.run(_awaited(value, box)).take())


async def _awaited(value: Awaitable[Any], box: _Box | None) -> Ended:
    import asyncio

    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if box is not None and task is not None:
        box.stops_by(lambda: loop.call_soon_threadsafe(task.cancel))
    try:
        return Ended(await value)
    except BaseException as error:
        if propagates(error):
            raise
        # A task looks into an exception that it ends with, and never ends where that raises.
        return Ended(error=error)


# -- threads -------------------------------------------------------------------------------------------------------------------------


class _Abandoned:
    """How many threads run on whose callers have given up: a thread cannot be stopped, it can only be counted."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0

    def change(self, by: int) -> None:
        with self.lock:
            self.count += by


_abandoned: Final = _Abandoned()


def abandoned() -> int:
    """How many calls that timed out are still running in threads."""
    return _abandoned.count


class _Box:
    """Carries a result or an exception out of a thread."""

    __slots__ = ("done", "ended", "lock", "notify", "stop", "waited_for")

    def __init__(self, notify: Callable[[], object] | None = None) -> None:
        self.done = threading.Event()
        self.lock = threading.Lock()
        self.ended = Ended()
        self.notify = notify
        self.stop: Callable[[], object] | None = None
        self.waited_for = True

    def fill(self, work: Callable[[_Box], Any]) -> None:
        try:
            self.ended = Ended(work(self))
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is taken
            self.ended = Ended(error=error)
        with self.lock:
            self.done.set()
            if not self.waited_for:
                _abandoned.change(-1)
            elif self.notify is not None:
                # A loop that was closed in the meantime waits for nothing.
                with suppress(RuntimeError):
                    self.notify()

    def stops_by(self, stop: Callable[[], object]) -> None:
        """What runs now can be stopped in this way."""
        with self.lock:
            self.stop = stop
            if not self.waited_for:
                stop()

    def abandon(self) -> bool:
        """Give up waiting, and stop what can be stopped; False when the work has just ended."""
        with self.lock:
            if self.done.is_set():
                return False
            self.waited_for = False
            _abandoned.change(1)
            if self.stop is not None:
                # Its loop may have ended at this moment.
                with suppress(RuntimeError):
                    self.stop()
            return True


def _run_in_thread(name: str, box: _Box, work: Callable[[_Box], Any]) -> threading.Thread:
    thread = threading.Thread(target=contextvars.copy_context().run, args=(box.fill, work), daemon=True, name=f"toolbox-{name}")
    thread.start()
    return thread


def _joined(work: Callable[[_Box], Any]) -> Any:
    box = _Box()
    _run_in_thread("await", box, work).join()
    return box.ended.take()


def _not_started(error: ToolboxError) -> Stopped:
    error.not_started = True
    return Stopped(error)


def _check_time(tool: Tool, timeout_s: float) -> None:
    if timeout_s <= 0:
        raise _not_started(ToolTimeout(tool.name, timeout_s))


def _check_threads(tool: Tool) -> None:
    if _abandoned.count >= ABANDONED_LIMIT:
        raise _not_started(ToolExecutionError(tool.name, f"{ABANDONED_LIMIT} calls that timed out earlier are still running"))


def _in_thread(tool: Tool, work: Callable[[_Box], Any], timeout_s: float) -> Any:
    """Run in a thread and wait no longer than the limit. A thread cannot be stopped: it is counted until it ends by itself."""
    _check_time(tool, timeout_s)
    _check_threads(tool)
    box = _Box()
    _run_in_thread(tool.name, box, work)
    try:
        in_time = box.done.wait(min(timeout_s, threading.TIMEOUT_MAX))
    except BaseException:
        box.abandon()
        raise
    if not in_time and box.abandon():
        raise Stopped(ToolTimeout(tool.name, timeout_s))
    return box.ended.take()


# -- asynchronous code ---------------------------------------------------------------------------------------------------------------


class Watched:
    """A coroutine to await once that knows whether it was closed from outside, or has raised a GeneratorExit of its own.

    Attributes:
        is_closed: whether it was closed: by ``close()`` of the coroutine that awaits it, or because nobody holds that any more.
    """

    __slots__ = ("_coroutine", "_next", "is_closed")

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self._next = coroutine.send
        self.is_closed = False

    def __await__(self) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._next(None)

    def send(self, value: Any) -> Any:
        """Go on with a value, as a coroutine does."""
        return self._next(value)

    def throw(self, *error: Any) -> Any:
        """Go on with an exception, as a coroutine does."""
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """Close it; what its clean-up raises is told nobody, since nobody waits for its result any more."""
        self.is_closed = True
        try:
            self._coroutine.close()
        except BaseException as error:
            if propagates(error):
                raise


async def invoke_async(tool: Tool, positional: Sequence[Any], keywords: dict[str, Any], timeout_s: float | None) -> Ended:
    """Run the function from asynchronous code; a synchronous one runs in a thread, so that it does not block the loop.

    Raises:
        Stopped: it did not end in time, or was not started.
        BaseException: whatever an asynchronous function raised; what a synchronous one raised is in what is returned.
    """
    import asyncio
    import time

    if tool.is_async:
        if timeout_s is None:
            return Ended(await tool.function(*positional, **keywords))
        _check_time(tool, timeout_s)
        return await _within(tool, tool.function(*positional, **keywords), timeout_s)
    if timeout_s is None:
        ended = await asyncio.to_thread(_ended, tool.function, positional, keywords)
        return Ended(await ended.value) if is_awaitable(ended.value) else ended
    _check_time(tool, timeout_s)
    _check_threads(tool)
    started = time.monotonic()
    ended = await _within_in_thread(tool, lambda _: tool.function(*positional, **keywords), timeout_s)
    if not is_awaitable(ended.value):
        return ended
    # The awaitable that it returned is awaited here, in the loop of the caller, for the rest of the time.
    return await _within(tool, ended.value, timeout_s, timeout_s - (time.monotonic() - started))


def _ended(function: Callable[..., Any], positional: Sequence[Any], keywords: dict[str, Any]) -> Ended:
    try:
        return Ended(function(*positional, **keywords))
    except BaseException as error:  # noqa: BLE001 - it is raised again where the result is taken
        return Ended(error=error)


async def _ended_async(value: Awaitable[Any]) -> Ended:
    # What ends the program, such as a SystemExit, must not end the loop of the caller from within a task.
    try:
        return Ended(await value)
    except BaseException as error:  # noqa: BLE001 - it is raised again where the result is taken
        return Ended(error=error)


async def _within(tool: Tool, value: Awaitable[Any], timeout_s: float, rest_s: float | None = None) -> Ended:
    import asyncio

    task = asyncio.ensure_future(_ended_async(value))
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout_s if rest_s is None else max(rest_s, 0))
    except asyncio.CancelledError:
        await _cancel(task)
        raise
    except GeneratorExit:
        # This coroutine is being closed, and may wait for nothing more; its loop may be closed as well.
        with suppress(RuntimeError):
            task.cancel()
        raise
    if done:
        return task.result()
    await _cancel(task)
    raise Stopped(ToolTimeout(tool.name, timeout_s))


async def _cancel(task: Any) -> None:
    import asyncio

    task.cancel()
    # The function's own clean-up gets a moment, and no more: a slow or stubborn one must not hold the caller.
    await asyncio.wait({task}, timeout=_GRACE_S)


async def _within_in_thread(tool: Tool, work: Callable[[_Box], Any], timeout_s: float) -> Ended:
    import asyncio

    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    # Not in the loop's own pool: there a call may wait for a free thread until long after its limit.
    box = _Box(lambda: loop.call_soon_threadsafe(ready.set_result, None))
    _run_in_thread(tool.name, box, work)
    try:
        await asyncio.wait({ready}, timeout=timeout_s)
    except (asyncio.CancelledError, GeneratorExit):
        box.abandon()
        raise
    if box.abandon():
        raise Stopped(ToolTimeout(tool.name, timeout_s))
    return box.ended
