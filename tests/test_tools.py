"""A tool: every kind of callable can be one, what is injected is no parameter of it, and what is secret is not shown."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import pydantic
import pytest
from typing_extensions import TypedDict

from toolbox import LENIENT, STRICT, Injected, InvalidArguments, MissingContext, Param, RegistrationError, Registry, Risk, Tool
from toolbox.tools import ToolNames, ToolOptions, read_tool


def function(a: int, b: int = 2) -> int:
    """A sample tool."""
    return a + b


async def async_function(a: int, b: int = 2) -> int:
    """A sample tool."""
    await asyncio.sleep(0)
    return a + b


class Holder:
    def __init__(self, base: int = 0) -> None:
        self.base = base

    def method(self, a: int, b: int = 2) -> int:
        return self.base + a + b

    async def async_method(self, a: int, b: int = 2) -> int:
        return self.base + a + b

    @classmethod
    def class_method(cls, a: int, b: int = 2) -> int:
        return a + b

    @staticmethod
    def static_method(a: int, b: int = 2) -> int:
        return a + b


class Callable1:
    """Adds."""

    def __call__(self, a: int, b: int = 2) -> int:
        return a + b


class AsyncCallable:
    async def __call__(self, a: int, b: int = 2) -> int:
        return a + b


def logged(inner: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper that is sync, whatever is inside."""

    @functools.wraps(inner)
    def wrapper(*positional: Any, **named: Any) -> Any:
        return inner(*positional, **named)

    return wrapper


def base(c: int, a: int, b: int = 2) -> int:
    """A sample tool."""
    return c + a + b


KINDS: dict[str, Callable[..., Any]] = {
    "function": function,
    "async": async_function,
    "method": Holder().method,
    "async method": Holder().async_method,
    "classmethod": Holder.class_method,
    "staticmethod": Holder.static_method,
    "staticmethod of the class body": vars(Holder)["static_method"],
    "partial by position": functools.partial(base, 0),
    "partial by name": functools.partial(base, c=0),
    "partial of a partial": functools.partial(functools.partial(base, c=9), c=0),
    "partial of an async function": functools.partial(async_function),
    "callable instance": Callable1(),
    "async callable instance": AsyncCallable(),
    "decorated": logged(function),
    "decorated async": logged(async_function),
    "decorated method": logged(Holder().method),
    "lambda": lambda a, b=2: a + b,
}
KINDS["lambda"].__annotations__ |= {"a": int, "b": int}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_callable(kind: str) -> None:
    """Each becomes the same tool, runs from sync and async code, and stays the object that it was."""
    registry = Registry(STRICT)
    made = registry.register(KINDS[kind], name="add")
    assert made.function is KINDS[kind]
    assert [(item.name, item.required) for item in made.parameters] == [("a", True), ("b", False)]
    assert registry.dispatch("add", {"a": 1}) == 3
    assert registry.dispatch("add", '{"a": 1, "b": 5}') == 6
    assert registry.dispatch("add", {"a": 1}, timeout_s=5) == 3
    assert asyncio.run(registry.adispatch("add", {"a": 1})) == 3
    assert asyncio.run(registry.adispatch("add", {"a": 1}, timeout_s=5)) == 3
    assert not registry.run("add", {"a": "1"}).ok


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("function", "function"),
        ("method", "method"),
        ("partial by name", "base"),
        ("callable instance", "Callable1"),
        ("decorated async", "async_function"),
    ],
)
def test_own_names(kind: str, name: str) -> None:
    """A tool is called what its function is called."""
    assert Registry().register(KINDS[kind]).name == name


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda: 1, "pass name="),
        (Holder.method, "instance.method"),
        (vars(Holder)["class_method"], "signature cannot be read"),
        (5, "signature cannot be read"),
    ],
)
def test_what_is_no_tool(given: Any, words: str) -> None:
    """What cannot become a tool is refused, with what to write instead."""
    with pytest.raises(RegistrationError, match=words):
        Registry().register(given)


def test_a_generator_function() -> None:
    """A generator is a result like any other: it is given back, and nothing of it is run."""
    started = []

    def numbers(a: int) -> Iterator[int]:
        started.append(a)
        yield a

    async def later(a: int) -> AsyncIterator[int]:
        started.append(a)
        yield a

    registry = Registry()
    registry.register(numbers)
    registry.register(later)
    result, other = registry.run("numbers", {"a": 1}), registry.run("later", {"a": 1})
    assert (result.ok, other.ok, started) == (True, True, [])
    assert "generator" in result.to_text()
    assert list(result.value) == [1]
    assert [item.ok for item in asyncio.run(_both(registry))] == [True, True]


async def _both(registry: Registry) -> list[Any]:
    return [await registry.arun("numbers", {"a": 1}), await registry.arun("later", {"a": 1})]


def test_a_sync_function_that_returns_something_to_await() -> None:
    """It is awaited from both sides, in the caller's own loop where there is one, under one time limit."""
    seen = []

    def start(a: int) -> Awaitable[int]:
        async def rest() -> int:
            seen.append(asyncio.get_running_loop())
            return a

        return rest()

    registry = Registry()
    registry.register(start)
    assert registry.dispatch("start", {"a": 1}) == 1

    async def main() -> None:
        mine = asyncio.get_running_loop()
        assert await registry.adispatch("start", {"a": 1}) == 1
        assert await registry.adispatch("start", {"a": 1}, timeout_s=5) == 1
        assert seen[-2:] == [mine, mine]

    asyncio.run(main())


# -- parameters ----------------------------------------------------------------------------------------------------------------------


def positional(a: int, /, b: int, *, c: int = 3) -> tuple[int, int, int]:
    """A sample tool."""
    return a, b, c


def positional_defaults(a: int, b: int = 2, c: int = 3, /) -> tuple[int, int, int]:
    """A sample tool."""
    return a, b, c


def kwargs(a: int, **rest: Any) -> tuple[int, dict[str, Any]]:
    """A sample tool."""
    return a, rest


def typed_kwargs(a: int, **rest: int) -> tuple[int, dict[str, int]]:
    """A sample tool."""
    return a, rest


def same_name(a: int, /, **rest: Any) -> tuple[int, dict[str, Any]]:
    """A sample tool."""
    return a, rest


def varargs(a: int, *more: int) -> tuple[int, tuple[int, ...]]:
    """A sample tool."""
    return a, more


def keywords_of_ours(self: int, tool: str, payload: str, call: int, name: str, event: str, context: str, timeout_s: int) -> list[Any]:
    """A sample tool."""
    return [self, tool, payload, call, name, event, context, timeout_s]


def nothing() -> str:
    """A sample tool."""
    return "nothing"


PARAMETERS: list[tuple[Callable[..., Any], Any, Any]] = [
    (positional, {"a": "1", "b": "2"}, (1, 2, 3)),
    (positional, {"c": 5, "b": 2, "a": 1}, (1, 2, 5)),
    (positional_defaults, {"a": 1}, (1, 2, 3)),
    (positional_defaults, {"a": 1, "c": 9}, (1, 2, 9)),
    (kwargs, {"a": "1", "x": "2", "y": [3]}, (1, {"x": "2", "y": [3]})),
    (typed_kwargs, {"a": 1, "x": "2"}, (1, {"x": 2})),
    (same_name, {"a": 1, "b": 2}, (1, {"b": 2})),
    (varargs, {"a": 1}, (1, ())),
    (
        keywords_of_ours,
        {"self": "1", "tool": "t", "payload": "p", "call": 2, "name": "n", "event": "e", "context": "c", "timeout_s": 3},
        [1, "t", "p", 2, "n", "e", "c", 3],
    ),
    (nothing, {}, "nothing"),
    (nothing, None, "nothing"),
    (nothing, "", "nothing"),
    (nothing, "null", "nothing"),
    (nothing, "{}", "nothing"),
]


@pytest.mark.parametrize(("tool", "payload", "expected"), PARAMETERS)
def test_kinds_of_parameters(tool: Callable[..., Any], payload: Any, expected: Any) -> None:
    """Arguments reach positional-only, keyword-only and gathering parameters under whatever name they have."""
    registry = Registry()
    registry.register(tool, name="t")
    assert registry.dispatch("t", payload) == expected
    assert asyncio.run(registry.adispatch("t", payload, timeout_s=5)) == expected


def test_mutable_defaults_are_not_shared() -> None:
    """Each call has a default of its own, at any depth, and the function's own default stays as it was."""

    def gather(xs: list[int] = [], by: dict[str, list[int]] = {"a": []}) -> tuple[list[int], dict[str, list[int]]]:
        xs.append(1)
        by["a"].append(1)
        return xs, by

    registry = Registry()
    registry.register(gather)
    for _ in range(3):
        assert registry.dispatch("gather", {}) == ([1], {"a": [1]})
    assert gather.__defaults__ == ([], {"a": []})


# -- injected ------------------------------------------------------------------------------------------------------------------------


class Base:
    pass


class Database(Base):
    def __init__(self, name: str = "db") -> None:
        self.name = name


class Closer(Protocol):
    def close(self) -> None: ...


def by_type(a: int, db: Injected[Database]) -> Any:
    """A sample tool."""
    return db


def by_optional(a: int, db: Injected[Database | None] = None) -> Any:
    """A sample tool."""
    return db


def by_base(a: int, db: Injected[Base]) -> Any:
    """A sample tool."""
    return db


def by_text(a: int, db: Injected[str]) -> Any:
    """A sample tool."""
    return db


def by_protocol(a: int, db: Injected[Closer]) -> Any:
    """A sample tool."""
    return db


def by_generic(a: int, db: Injected[list[int]]) -> Any:
    """A sample tool."""
    return db


def positional_injected(db: Injected[Any] = None, a: int = 1, /) -> Any:
    """A sample tool."""
    return db if db is not None else a


def positional_last(a: int, db: Injected[Any] = None, /) -> Any:
    """A sample tool."""
    return a if db is None else db


def by_unhashable(a: int, db: Injected[Literal[[1]]]) -> Any:  # type: ignore[valid-type]
    """A sample tool."""
    return db


def with_kwargs(a: int, db: Injected[Database], **rest: Any) -> Any:
    """A sample tool."""
    return rest or db


DB, OTHER = Database("one"), Database("two")

INJECTED: list[tuple[Callable[..., Any], dict[Any, Any], Any]] = [
    (by_type, {Database: DB}, DB),
    (by_type, {"db": DB}, DB),
    (by_type, {"db": DB, Database: OTHER}, DB),
    (by_type, {"other": OTHER, int: 5, Database: DB}, DB),
    (by_base, {Database: DB}, DB),
    (by_base, {Database: OTHER, Base: DB}, DB),
    (by_text, {"db": "text"}, "text"),
    (by_text, {str: ""}, ""),
    (by_optional, {Database: DB}, DB),
    (by_optional, {}, None),
    (by_optional, {"db": None}, None),
    (by_protocol, {int: 5, Closer: DB}, DB),
    (by_protocol, {int: 5, "db": DB}, DB),
    (by_generic, {"db": [1]}, [1]),
    (positional_injected, {"db": DB}, DB),
    (positional_injected, {}, 7),
    (positional_last, {}, 7),
    (positional_last, {"db": DB}, DB),
    (by_unhashable, {"db": 3, int: 4}, 3),
]


@pytest.mark.parametrize(("tool", "context", "expected"), INJECTED)
def test_injected_values(tool: Callable[..., Any], context: dict[Any, Any], expected: Any) -> None:
    """They come from the context: by the parameter's name, by its type, by a subclass of it, else by default."""
    registry = Registry(context=context)
    made = registry.register(tool, name="t")
    assert [item.name for item in made.parameters] == ["a"]
    assert "db" not in str(made.schema)
    assert registry.dispatch("t", {"a": 7}) == expected
    of_call = Registry()
    of_call.register(tool, name="t")
    assert of_call.dispatch("t", {"a": 7}, context=context) == expected
    assert asyncio.run(of_call.adispatch("t", {"a": 7}, context=context)) == expected


def test_the_call_goes_before_the_registry() -> None:
    """What is given with the call wins over what the registry holds."""
    registry = Registry(context={"db": DB})
    registry.register(by_type)
    assert registry.dispatch("by_type", {"a": 1}, context={"db": OTHER}) is OTHER


@pytest.mark.parametrize("tool", [by_type, by_base, by_protocol, by_generic, by_unhashable])
def test_missing_context(tool: Callable[..., Any]) -> None:
    """A fault of the application: its own error, which says what to pass; the function is not run."""
    registry = Registry(context={int: 5, "x": 1, object: 2})
    registry.register(tool, name="t")
    with pytest.raises(MissingContext, match="pass context=") as caught:
        registry.dispatch("t", {"a": 1})
    assert (caught.value.tool, caught.value.parameter) == ("t", "db")
    assert caught.value.report is not None
    with pytest.raises(MissingContext):
        registry.run("t", {"a": 1})
    with pytest.raises(MissingContext):
        asyncio.run(registry.arun("t", {"a": 1}))


@pytest.mark.parametrize(
    "payload",
    [
        {"a": 1, "db": {"name": "evil"}},
        '{"a": 1, "db": "evil"}',
        {"arguments": {"a": 1, "db": "evil"}},
        {"with_kwargs": {"a": 1, "db": "evil"}},
        {"db": "evil", "a": 1},
    ],
)
@pytest.mark.parametrize("tool", [by_type, with_kwargs])
def test_no_model_sets_what_is_injected(tool: Callable[..., Any], payload: Any) -> None:
    """Whatever a model sends under that name is dropped or refused, even where the function takes any name."""
    registry = Registry(context={Database: DB})
    registry.register(tool, name="with_kwargs")
    result = registry.run("with_kwargs", payload)
    assert not result.ok or "evil" not in repr(result.value)
    strict = Registry(STRICT, context={Database: DB})
    strict.register(tool, name="with_kwargs")
    if isinstance(payload, dict) and "a" in payload:
        with pytest.raises(InvalidArguments, match=r"\$\.db"):
            strict.dispatch("with_kwargs", payload)


def test_no_model_sets_what_a_partial_fixed() -> None:
    """The application chose the value."""
    registry = Registry()
    registry.register(functools.partial(base, c=100))
    assert registry.dispatch("base", {"a": 1, "b": 1, "c": 5}) == 102


# -- what a record may copy by reference ------------------------------------------------------------------------------------------------


class Colour(Enum):
    RED = "red"


SENTINEL: Any = object()


def _flat(a: int, b: str | None = None, c: Literal["x", 1] = "x", d: bool | float = True) -> None: ...
def _of_list(a: list[int]) -> None: ...
def _of_enum(a: Colour) -> None: ...
def _of_odd_default(a: int = SENTINEL) -> None: ...
def _of_kwargs(a: int, **rest: int) -> None: ...


@pytest.mark.parametrize(
    ("tool", "flat"),
    [(_flat, True), (nothing, True), (_of_list, False), (_of_enum, False), (_of_odd_default, False), (_of_kwargs, False)],
)
def test_flat_tools(tool: Callable[..., Any], flat: bool) -> None:
    """Only where every argument is a JSON scalar is a shallow copy of them a safe one."""
    assert read_tool(tool, LENIENT).flat is flat
    assert not read_tool(_flat, LENIENT, ToolOptions(secret=["a"])).flat


# -- secrets -------------------------------------------------------------------------------------------------------------------------


@dataclass
class Login:
    user: str
    password: Annotated[str, Param(secret=True)] = "sk-DEFAULT"


class TypedLogin(TypedDict):
    password: Annotated[str, Param(secret=True)]


class NamedLogin(NamedTuple):
    password: Annotated[str, Param(secret=True)]


class ModelLogin(pydantic.BaseModel):
    password: Annotated[str, Param(secret=True)]


@dataclass
class Tree:
    login: Login | None = None
    below: "list[Tree]" = field(default_factory=list)


def plain_secret(x: Annotated[str, Param(secret=True)] = "sk-DEFAULT") -> None:
    """A sample tool."""


def in_dataclass(x: Login = Login("u", "sk-DEFAULT")) -> None:
    """A sample tool."""


def in_typed_dict(x: TypedLogin) -> None:
    """A sample tool."""


def in_named_tuple(x: NamedLogin) -> None:
    """A sample tool."""


def in_model(x: ModelLogin) -> None:
    """A sample tool."""


def in_list(x: list[Login]) -> None:
    """A sample tool."""


def in_dict(x: dict[str, Login]) -> None:
    """A sample tool."""


def in_union(x: Login | None = None) -> None:
    """A sample tool."""


def in_tree(x: Tree) -> None:
    """A sample tool."""


@pytest.mark.parametrize("tool", [plain_secret, in_dataclass, in_typed_dict, in_named_tuple, in_model, in_list, in_dict, in_union, in_tree])
def test_a_secret_at_any_depth(tool: Callable[..., Any]) -> None:
    """A parameter that holds something secret anywhere is secret, and its default is in no schema."""
    registry = Registry()
    made = registry.register(tool, name="t")
    assert made.secret == {"x"}
    assert "sk-DEFAULT" not in str(made.schema)
    assert "sk-DEFAULT" not in str(registry.schemas("openai"))
    assert "sk-DEFAULT" not in repr(made)


def test_other_defaults_stay_in_the_schema() -> None:
    """Only the defaults of what is secret are left out; they are used all the same."""
    registry = Registry()

    def login(user: str = "guest", key: str = "sk-DEFAULT") -> str:
        return key

    made = registry.register(login, secret=["key"])
    assert made.schema["properties"] == {"user": {"type": "string", "default": "guest"}, "key": {"type": "string"}}
    assert registry.dispatch("login", {}) == "sk-DEFAULT"


# -- the tool itself -----------------------------------------------------------------------------------------------------------------


def test_a_tool_under_another_policy() -> None:
    """The same function under another policy and name; the first one is not changed."""
    made = read_tool(function, LENIENT, ToolOptions(policy=LENIENT, high_risk=True))
    other = made.under(STRICT, "other")
    assert (made.name, other.name, other.policy, made.policy.max_risk) == ("function", "other", STRICT, Risk.INFO)
    assert made.under(LENIENT).name == "function"
    assert other.function is made.function


def _known(*tools: Tool) -> ToolNames:
    return ToolNames({tool.name: tool for tool in tools})


def test_what_payload_readers_ask() -> None:
    """The names that are known, their parameters, which of them are required, and who takes any."""
    known = _known(read_tool(function, LENIENT), read_tool(kwargs, LENIENT))
    assert (known.resolve("FUNCTION"), known.resolve("funktion"), known.nearest("functio")) == ("function", None, ["function"])
    assert (list(known.parameters("function")), known.required("function")) == (["a", "b"], {"a"})
    assert (known.takes_any("function"), known.takes_any("kwargs")) == (False, True)
