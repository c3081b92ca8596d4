"""Functions and other callables: which parameters they have as a tool, and what is wrong with those that cannot be one."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict, Unpack

import annotated_types as at
import pydantic
import pytest

from toolbox.annotations import CallableShape, Injected, Param, read_callable
from toolbox.errors import RegistrationError
from toolbox.policy import STRICT
from toolbox.schema import write_schema
from toolbox.types import ABSENT, NeverType, ObjectType


class Database:
    """What an application has."""


class Options(TypedDict):
    limit: int
    note: NotRequired[str]


@dataclass
class Account:
    owner: str
    key: Annotated[str, Param(secret=True)]


def shape(function: Callable[..., Any], **options: Any) -> tuple[CallableShape, ObjectType]:
    """The shape of a callable, with the object of its parameters."""
    found = read_callable(function, **options)
    assert isinstance(found.document.root, ObjectType)
    return found, found.document.root


def names(function: Callable[..., Any]) -> list[str]:
    """The parameters that a model can give."""
    return [item.name for item in shape(function)[1].fields]


# kinds of callables


def plain(a: int, b: str = "x") -> int:
    """Add."""
    return a


async def later(a: int, b: str = "x") -> int:
    """Add."""
    return a


class Tools:
    """Many tools."""

    def method(self, a: int, b: str = "x") -> int:
        """Add."""
        return a

    @classmethod
    def of_class(cls, a: int, b: str = "x") -> int:
        """Add."""
        return a

    @staticmethod
    def static(a: int, b: str = "x") -> int:
        """Add."""
        return a

    async def later(self, a: int, b: str = "x") -> int:
        """Add."""
        return a


class Adder:
    """Add."""

    def __call__(self, a: int, b: str = "x") -> int:
        return a


class AsyncAdder:
    async def __call__(self, a: int, b: str = "x") -> int:
        """Add."""
        return a


class Made:
    """Add."""

    def __init__(self, a: int, b: str = "x") -> None:
        self.a = a


def decorated(function: Callable[..., int]) -> Callable[..., int]:
    """A decorator that keeps the signature."""

    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> int:
        return function(*args, **kwargs)

    return inner


@decorated
def wrapped(a: int, b: str = "x") -> int:
    """Add."""
    return a


KINDS = [
    (plain, "plain", False),
    (later, "later", True),
    (Tools().method, "method", False),
    (Tools.of_class, "of_class", False),
    (Tools.static, "static", False),
    (Tools().later, "later", True),
    (Adder(), "Adder", False),
    (AsyncAdder(), "AsyncAdder", True),
    (Made, "Made", False),
    (wrapped, "wrapped", False),
    (functools.partial(plain), "plain", False),
    (functools.partial(functools.partial(later)), "later", True),
]


@pytest.mark.parametrize(("function", "name", "is_async"), KINDS, ids=lambda item: str(item)[:30])
def test_every_kind_of_callable(function: Callable[..., Any], name: str, is_async: bool) -> None:
    """Whatever can be called with annotated parameters has a name, a text, parameters and defaults."""
    found, root = shape(function)
    assert (found.name, found.description, found.is_async) == (name, "Add.", is_async)
    assert [(item.name, item.required, item.type.default) for item in root.fields] == [("a", True, ABSENT), ("b", False, "x")]


def test_partial_hides_what_it_binds() -> None:
    """What the application has fixed is no parameter, by position or by keyword, and a model may not set it."""
    found, root = shape(functools.partial(plain, 1))
    assert [item.name for item in root.fields] == ["b"]
    found, root = shape(functools.partial(plain, b="y"))
    assert [item.name for item in root.fields] == ["a"]
    assert found.bound == {"b"}


def test_a_lambda_needs_a_name() -> None:
    """A lambda has no name of its own, and gets one."""
    with pytest.raises(RegistrationError, match=r"it has no name of its own: pass name=\.\.\."):
        read_callable(lambda: 1)
    assert read_callable(lambda: 1, name="one").name == "one"


def test_own_name_and_text() -> None:
    """A given name and text come first."""
    found, _ = shape(plain, name="add", description="")
    assert (found.name, found.description) == ("add", "")


# parameters


def test_variadic_positionals_are_left_out() -> None:
    """``*args`` cannot be said by name."""

    def tool(a: int, *args: int) -> None: ...

    assert names(tool) == ["a"]


def test_variadic_keywords_take_any_name() -> None:
    """``**kwargs`` opens the object, for the declared type."""

    def bare(**kwargs) -> None: ...  # type: ignore[no-untyped-def]
    def typed(**kwargs: int) -> None: ...
    def closed() -> None: ...

    assert write_schema(read_callable(bare).document)["additionalProperties"] is True
    assert write_schema(read_callable(typed).document)["additionalProperties"] == {"type": "integer"}
    assert isinstance(shape(closed)[1].additional, NeverType)


def test_unpacked_typed_dict() -> None:
    """``**kwargs: Unpack[TypedDict]`` has the keys of the TypedDict, with their texts."""

    def tool(a: int, **options: Unpack[Options]) -> None:
        """Do.

        Args:
            a: first.
            limit: how many.
        """

    root = shape(tool)[1]
    assert [(item.name, item.required, item.type.description) for item in root.fields] == [
        ("a", True, "first."),
        ("limit", True, "how many."),
        ("note", False, None),
    ]
    assert isinstance(root.additional, NeverType)


def test_positional_only() -> None:
    """Parameters that can only be passed by position are named, in order."""

    def tool(a: int, b: int = 2, /, c: int = 3) -> None: ...

    assert shape(tool)[0].positional == ("a", "b")


def test_injected_parameters_are_in_no_schema() -> None:
    """What comes from the context is no parameter of the model; an optional one is looked up by its type."""

    def tool(
        db: Injected[Database], a: int, cache: Injected[Optional[Database]] = None, /, user: Injected["Database | None"] = None
    ) -> None: ...

    found, root = shape(tool)
    assert [item.name for item in root.fields] == ["a"]
    assert [(item.name, item.wanted, item.required, item.positional) for item in found.injections] == [
        ("db", Database, True, True),
        ("cache", Database, False, True),
        ("user", Database, False, False),
    ]


def test_param_refines_a_parameter() -> None:
    """`Param` gives other names, a text, examples, a policy, and hides the value."""

    def tool(
        q: Annotated[str, Param("what to look for", alias=["query", "q"], examples=["cables"], policy=STRICT)],
        token: Annotated[str, Param(secret=True, alias="key")],
        account: Account | None = None,
    ) -> None: ...

    found, root = shape(tool)
    q, token, _ = root.fields
    assert (q.aliases, q.policy, q.type.description, q.type.examples) == (("query",), STRICT, "what to look for", ("cables",))
    assert token.aliases == ("key",)
    assert found.secret == {"token", "account"}


def test_options_refine_parameters() -> None:
    """Aliases and secret names may be given when registering."""
    found, root = shape(plain, aliases={"first": "a"}, secret=["b"])
    assert root.fields[0].aliases == ("first",)
    assert found.secret == {"b"}
    assert root.fields[1].secret


def test_pydantic_field_as_default() -> None:
    """A ``Field(...)`` in the place of the default says the default, the texts and the limits."""

    def tool(
        a: int = pydantic.Field(ge=1, description="first"),
        b: int = pydantic.Field(2, alias="bee"),
        c: list[int] = pydantic.Field(default_factory=list),
        d: Annotated[int, pydantic.Field(default=4, validation_alias=pydantic.AliasChoices("dee", "dd"))] = 4,
    ) -> None: ...

    a, b, c, d = shape(tool)[1].fields
    assert (a.required, a.type.description, write_schema(read_callable(tool).document)["properties"]["a"]["minimum"]) == (True, "first", 1)
    assert (b.required, b.type.default, b.aliases) == (False, 2, ("bee",))
    assert (c.required, c.fallback and c.fallback(), c.type.default) == (False, [], ABSENT)
    assert (d.required, d.aliases) == (False, ("dee", "dd"))


class Unshareable:
    """A default that cannot be copied."""

    def __deepcopy__(self, memo: object) -> "Unshareable":
        raise TypeError


def test_defaults_of_every_kind() -> None:
    """A default is shown where JSON has it, made anew where it is mutable, and makes the parameter nullable where it is None."""
    lock = Unshareable()

    def tool(
        a: int = None,  # type: ignore[assignment] # noqa: RUF013 - as found in the wild
        b: list[int] = [1],
        c: Any = lock,
        d: Literal["x"] | None = None,
        e: tuple[int, ...] = (1, 2),
        f: float = float("inf"),
    ) -> None: ...

    root = shape(tool)[1]
    schema = write_schema(read_callable(tool).document)["properties"]
    assert schema["a"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    assert schema["b"]["default"] == [1]
    assert "default" not in schema["c"]
    assert schema["d"]["default"] is None
    assert schema["e"]["default"] == [1, 2]
    assert "default" not in schema["f"]
    made = {item.name: item.fallback for item in root.fields}
    assert made["b"] is not None
    assert made["b"]() == [1]
    assert made["b"]() is not made["b"]()
    assert made["c"] is not None
    assert made["c"]() is lock


GOOGLE = """Search.

    Args:
        a: the first.
        b (int): the second,
            in two lines.

    Returns:
        Nothing.
    """
NUMPY = """Search.

    Parameters
    ----------
    a : int
        the first.
    b
        the second,
        in two lines.
    """
REST = """Search.

    :param a: the first.
    :param int b: the second,
        in two lines.
    :returns: nothing.
    """
EPYDOC = """Search.

    @param a: the first.
    @param b: the second,
        in two lines.
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, REST, EPYDOC], ids=["google", "numpy", "rest", "epydoc"])
def test_docstrings_describe_parameters(docstring: str) -> None:
    """Docstrings of all styles give the texts of the tool and of its parameters; `Annotated` comes first."""

    def tool(a: int, b: int, c: Annotated[int, "the third"]) -> None: ...

    tool.__doc__ = docstring
    found, root = shape(tool)
    assert found.description == "Search."
    assert [item.type.description for item in root.fields] == ["the first.", "the second, in two lines.", "the third"]


# what cannot become a tool


def test_every_problem_is_named_at_once() -> None:
    """A tool with many problems raises one error that names all of them, each with what to write instead."""

    def tool(a, b: complex, c: "Missing", d: "list[", e: Callable[[], int], **rest: "Gone") -> None: ...  # type: ignore[no-untyped-def,name-defined,valid-type] # noqa: F821, F722

    with pytest.raises(RegistrationError) as caught:
        read_callable(tool, aliases={"x": "nothing"}, secret=["nobody"])
    problems = caught.value.problems
    wanted = [
        "parameter 'a' has no annotation: write the type that it takes, such as a: str, or a: Any to take every value as it comes",
        "parameter 'b': complex cannot be made from JSON: use a dataclass, TypedDict, Enum or plain type, register a converter for it",
        "parameter 'c': the name 'Missing' in its annotation cannot be resolved: define it at module level",
        "parameter 'd': the name 'list[' in its annotation cannot be resolved",
        "parameter 'e': Callable[[], int] cannot be made from JSON",
        "parameter **rest: the name 'Gone' in its annotation cannot be resolved",
        "aliases: 'x' stands for 'nothing', which is no parameter",
        "secret: 'nobody' is no parameter",
    ]
    assert len(problems) == len(wanted)
    for problem, start in zip(problems, wanted, strict=True):
        assert problem.startswith(start), problem
    assert str(caught.value).startswith("cannot register 'tool', 8 problems:\n- parameter 'a' has no annotation")


def test_one_problem_is_one_line() -> None:
    """One problem stands in the line of the error."""

    def tool(a: complex) -> None: ...

    with pytest.raises(RegistrationError, match=r"^cannot register 'tool': parameter 'a': complex cannot be made from JSON"):
        read_callable(tool)


@pytest.mark.parametrize(
    ("aliases", "words"),
    [
        ({"b": "a"}, "alias 'b' of parameter 'a' is a parameter itself: choose another"),
        ({"q": "a"}, "alias 'q' stands for both 'a' and 'b': choose another for one"),
    ],
)
def test_names_that_clash(aliases: dict[str, str], words: str) -> None:
    """A name can stand for one parameter only."""

    def tool(a: int, b: Annotated[int, Param(alias="q")] = 1) -> None: ...

    with pytest.raises(RegistrationError) as caught:
        read_callable(tool, aliases=aliases)
    assert words in caught.value.problems


def test_a_method_without_its_instance() -> None:
    """An unbound method is told from a function that forgot an annotation."""
    with pytest.raises(RegistrationError, match=r"this is a method without its instance: register the bound method, instance\.method"):
        read_callable(Tools.method)


def test_a_signature_that_cannot_be_read() -> None:
    """A builtin without a signature needs a function around it."""
    with pytest.raises(RegistrationError, match="its signature cannot be read: wrap it in a function with annotations"):
        read_callable(dict)


def test_an_alias_for_no_choice() -> None:
    """An alias of a choice must stand for a choice."""

    def tool(a: Annotated[Literal["x", "y"], Param(aliases={"ex": "z"})]) -> None: ...

    with pytest.raises(RegistrationError, match="parameter 'a': the alias 'ex' stands for 'z', which is none of the choices"):
        read_callable(tool)


def test_names_of_enclosing_functions_are_seen() -> None:
    """An annotation as text may name a class of the enclosing function, when the function holds on to it."""

    @dataclass
    class Local:
        x: int

    def tool(a: "Local", b: "Annotated[int, at.Ge(1)]" = 1) -> type:
        return Local

    assert names(tool) == ["a", "b"]


def test_the_function_is_untouched() -> None:
    """Reading a function leaves no mark on it."""
    before = dict(vars(plain)), inspect.signature(plain)
    read_callable(plain)
    assert (dict(vars(plain)), inspect.signature(plain)) == before
