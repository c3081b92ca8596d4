"""What is secret is seen by the function and by nobody else, in whatever form it comes and however the call ends."""

import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox import ABSORBING, LENIENT, STRICT, MemorySink, Param, Policy, Registry, ToolResult
from toolbox.calls import Held, Refused
from toolbox.diagnostics import MASK

CANARY = "sk-CANARY-4242"


class Watched:
    """A registry of one tool, with everything that can be seen of it from outside."""

    def __init__(self, function: Callable[..., Any], policy: Policy = LENIENT, **options: Any) -> None:
        self.sink = MemorySink()
        self.log = io.StringIO()
        self.registry = Registry(policy, sinks=[self.sink])
        self.tool = self.registry.register(function, name="tool", **options)
        self.results: list[ToolResult] = []

    def run(self, payload: Any, name: str = "tool", *, is_async: bool = False) -> ToolResult:
        handler, logger = logging.StreamHandler(self.log), logging.getLogger("toolbox")
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        try:
            result = asyncio.run(self.registry.arun(name, payload)) if is_async else self.registry.run(name, payload)
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
        self.results.append(result)
        return result

    def seen(self) -> dict[str, str]:
        """Every text that may end in front of somebody, by where it stands."""
        found = {
            "log": self.log.getvalue(),
            "records": repr(self.sink.records),
            "schemas": str(self.registry.schemas("openai")),
            "tool": repr(self.tool),
        }
        for number, item in enumerate(self.results):
            error = item.error
            found |= {
                f"{number} text": item.to_text(),
                f"{number} message": json.dumps(item.to_message("openai")),
                f"{number} result": repr(item),
                f"{number} error": f"{error} {error!r} {getattr(error, 'args', '')}",
                f"{number} report": repr(item.report),
                f"{number} changes": "" if item.report is None else repr(item.report.diagnostics),
                f"{number} failures": "" if item.report is None else repr(item.report.failures),
                f"{number} report text": "" if item.report is None else item.report.to_text("tool"),
            }
        return found

    def leaks(self, canary: str = CANARY) -> list[str]:
        """Where a secret can be seen."""
        return [place for place, text in self.seen().items() if canary in text or json.dumps(canary)[1:-1] in text]


def by_name(api_key: str, q: str = "x") -> str:
    """A sample tool."""
    return q


def marked(api_key: Annotated[str, Param(secret=True, alias="token")], q: str = "x") -> str:
    """A sample tool."""
    return q


def failing(api_key: str, q: str = "x") -> str:
    """A sample tool."""
    raise RuntimeError(f"bad key {api_key} {api_key!r} ({q})")


def number(api_key: int, q: int = 1) -> None:
    """A sample tool."""
    raise ValueError(f"pin {api_key}")


def gathering(api_key: str, **rest: Any) -> None:
    """A sample tool."""
    raise ValueError(f"{api_key} {rest}")


class _Shy:
    def __repr__(self) -> str:
        return CANARY

    __str__ = __repr__


PAYLOADS: dict[str, Any] = {
    "plain": {"api_key": CANARY},
    "other spelling": {"apiKey": CANARY},
    "other case": {"API-KEY": CANARY},
    "two spellings": {"apiKey": CANARY, "api-key": CANARY},
    "both names": {"api_key": "zz", "apiKey": CANARY},
    "misspelt": {"api_kye": CANARY},
    "misspelt beside": {"api_key": "zz", "api_kye": CANARY},
    "another name": {"secret_token": CANARY},
    "undeclared": {"api_key": "zz", "extra": {"deep": [CANARY]}},
    "wrapped": {"arguments": {"api_key": CANARY}},
    "wrapped twice": {"kwargs": {"arguments": {"api_key": CANARY}}},
    "wrapped misspelt": {"arguments": {"api_kye": CANARY}},
    "wrapped text": {"arguments": json.dumps({"api_key": CANARY})},
    "under the tool's name": {"tool": {"api_key": CANARY}},
    "envelope": json.dumps({"name": "tool", "arguments": {"api_key": CANARY}}),
    "envelope of another": json.dumps({"name": "other", "arguments": {"api_key": CANARY}}),
    "envelope of another as a mapping": {"name": "other", "arguments": {"api_key": CANARY}},
    "text": json.dumps({"api_key": CANARY}),
    "text of text": json.dumps(json.dumps({"api_key": CANARY})),
    "text with a trailing comma": f'{{"api_key": "{CANARY}",}}',
    "text in single quotes": f"{{'api_key': '{CANARY}'}}",
    "text with a fence": f'```json\n{{"api_key": "{CANARY}"}}\n```',
    "text in tags": f'<tool_call>{{"name": "tool", "arguments": {{"api_key": "{CANARY}"}}}}</tool_call>',
    "a call as code": f'tool(api_key="{CANARY}")',
    "cut text": f'{{"api_key": "{CANARY}',
    "cut after": f'{{"api_key": "{CANARY}"',
    "broken text": f'{{"api_key": {CANARY}}}',
    "prose": f"The key is {CANARY}.",
    "two objects": f'{{"api_key": "{CANARY}"}} {{"api_key": "b"}}',
    "bytes": json.dumps({"api_key": CANARY}).encode(),
    "given twice, first": f'{{"api_key": "{CANARY}", "api_key": "x"}}',
    "given twice, last": f'{{"api_key": "x", "api_key": "{CANARY}"}}',
    "given twice in a wrapper": f'{{"arguments": {{"api_key": "{CANARY}", "api_key": "x"}}}}',
    "given twice in an envelope": f'{{"name": "tool", "arguments": {{"api_key": "{CANARY}", "api_key": "x"}}}}',
    "wrong type": {"api_key": {"value": CANARY}},
    "list": {"api_key": [CANARY, CANARY]},
    "list of one": {"api_key": [CANARY]},
    "a list of all": [{"api_key": CANARY}],
    "a bare value": CANARY,
    "a bare list": [CANARY],
    "number as a key": {5: CANARY, "api_key": "zz"},
    "none as a key": {None: CANARY},
    "object": _Shy(),
    "object inside": {"api_key": _Shy()},
    "set": {CANARY},
    "too deep": {"api_key": [[[[[[[[[[CANARY]]]]]]]]]] * 10},
    "too long": {"api_key": CANARY * 200_000},
    "unfit beside": {"api_key": CANARY, "q": {"a": 1}},
}


@pytest.mark.parametrize("policy", [LENIENT, ABSORBING, STRICT], ids=lambda item: item.name)
@pytest.mark.parametrize("case", PAYLOADS)
def test_whatever_form_it_comes_in(case: str, policy: Policy) -> None:
    """A secret is in no log line, record, error, message, report or repr, whether the call runs, fails or is refused."""
    for function in (by_name, failing, number, gathering):
        watched = Watched(function, policy, secret=["api_key"])
        watched.run(PAYLOADS[case])
        watched.run(PAYLOADS[case], is_async=True)
        assert watched.leaks() == []
        assert len(watched.sink) == 2


@pytest.mark.parametrize("key", ["api_key", "token", "apiKey", "Token", "tokn"])
def test_marked_by_param(key: str) -> None:
    """A parameter marked in its annotation is masked under its alias, and under a misspelling of that."""
    for policy in (LENIENT, STRICT):
        watched = Watched(marked, policy)
        assert watched.tool.secret == {"api_key"}
        watched.run({key: CANARY})
        watched.run({key: CANARY, "q": 5})
        assert watched.leaks() == []


def test_the_function_sees_it() -> None:
    """What is masked for others is passed on as it is."""
    seen = []

    def keep(api_key: str) -> None:
        seen.append(api_key)

    Watched(keep, secret=["api_key"]).run({"api_key": CANARY})
    assert seen == [CANARY]


def test_what_is_not_secret_is_shown() -> None:
    """Masking is for the one value: the others stand on record as ever."""
    watched = Watched(by_name, secret=["api_key"])
    watched.run({"api_key": CANARY, "q": 5})
    (record,) = watched.sink.records
    assert record.arguments == {"api_key": MASK, "q": 5}
    assert record.invoked == {"api_key": MASK, "q": "5"}
    assert [item.before for item in record.diagnostics] == [5]
    strict = Watched(by_name, STRICT, secret=["api_key"])
    refused = str(strict.run({"api_key": 4242, "q": [4711]}).error)
    assert "$.api_key: expected text, and another value came, which is kept secret" in refused
    assert "$.q: expected text, got [4711]" in refused
    assert strict.sink.records[-1].arguments == {"api_key": MASK, "q": [4711]}


def test_a_refusal_still_says_what_to_do() -> None:
    """The place, the reason and the hint stay; only the value is gone."""
    watched = Watched(by_name, STRICT, secret=["api_key"])
    refused = str(watched.run({"apikey2": CANARY, "q": 5}).error)
    assert all(words in refused for words in ("$.api_key: missing", "apikey2", "$.q"))
    assert "expected an object" in str(watched.run([CANARY]).error)


def test_an_unknown_tool_keeps_no_arguments() -> None:
    """Nobody knows which of them are secret."""
    watched = Watched(by_name, secret=["api_key"])
    watched.run({"api_key": CANARY}, name="nope")
    assert watched.leaks() == []
    assert watched.sink.records[0].arguments is None


def test_a_name_that_was_resolved_is_shown() -> None:
    """The name of the tool is no secret."""
    watched = Watched(by_name, secret=["api_key"])
    watched.run({"api_key": CANARY}, name="functions.Tool")
    assert watched.leaks() == []
    assert watched.sink.records[0].diagnostics[0].before == "functions.Tool"


class _OddMapping(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no items")


def test_a_mapping_that_resists() -> None:
    """A payload that cannot be looked through is masked as a whole."""
    watched = Watched(by_name, secret=["api_key"])
    watched.run(_OddMapping(api_key=CANARY))
    assert watched.leaks() == []
    assert watched.sink.records[0].arguments == MASK


# -- defaults ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", [{}, {"q": "y"}, {"api_key": None}, "{}", '{"api_key": null}', {"q": None, "x": 1}])
def test_a_secret_default(payload: Any) -> None:
    """The application's own secret is used, and neither shown nor exported."""

    def tool(api_key: str = CANARY, q: str = "x") -> None:
        raise ValueError(api_key)

    for policy in (LENIENT, STRICT):
        watched = Watched(tool, policy, secret=["api_key"])
        watched.run(payload)
        assert watched.leaks() == []


def test_a_secret_default_of_a_schema() -> None:
    """The same where the schema came from elsewhere, with keywords that only a validator understands or without."""
    plain = {"type": "object", "properties": {"api_key": {"type": "string", "default": CANARY}, "q": {"type": "integer"}}}
    rule = {"if": {"properties": {"q": {"const": 1}}}, "then": {"required": ["q"], "properties": {"q": {"minimum": 5}}}}
    for schema in (plain, {**plain, **rule}):
        registry = Registry()
        made = registry.register_schema("t", schema, lambda **given: given, secret=["api_key"])
        assert CANARY not in str(made.schema)
        assert "api_key" in made.schema["properties"]


def test_a_rule_over_all_parameters() -> None:
    """A validator that checks the parameters as a whole reports the whole: of a tool with secrets it shows nothing."""
    schema = {
        "type": "object",
        "properties": {"api_key": {"type": "string"}, "q": {"type": "integer"}},
        "not": {"required": ["api_key"]},
        "if": {"properties": {"q": {"const": 1}}},
        "then": {"properties": {"q": {"minimum": 5}}},
    }
    sink = MemorySink()
    registry = Registry(sinks=[sink])
    registry.register_schema("t", schema, lambda **given: given, secret=["api_key"])
    result = registry.run("t", {"api_key": CANARY, "q": 1})
    assert not result.ok
    assert result.report is not None
    assert CANARY not in f"{result.error} {sink.records} {result.report.failures} {result.report!r}"


# -- the function's own exception ------------------------------------------------------------------------------------------------------


@dataclass
class Login:
    user: str
    password: Annotated[str, Param(secret=True)]
    spare: pydantic.SecretStr | None = None


class Model(pydantic.BaseModel):
    key: Annotated[str, Param(secret=True)]
    tries: int = 1


class Slotted:
    __slots__ = ("key", "unset")

    def __init__(self, key: str) -> None:
        self.key = key


@dataclass
class Tree:
    key: str = ""
    below: "list[Tree]" = field(default_factory=list)


def in_dataclass(x: Login) -> None:
    """A sample tool."""
    raise ValueError(f"{x} {x.password}")


def in_model(x: Model) -> None:
    """A sample tool."""
    raise ValueError(f"{x!r} {x.key}")


def in_list(x: list[Login]) -> None:
    """A sample tool."""
    raise ValueError(", ".join(item.password for item in x))


def in_dict(x: dict[str, Login]) -> None:
    """A sample tool."""
    raise ValueError([item.password for item in x.values()])


def in_secret_str(x: pydantic.SecretStr) -> None:
    """A sample tool."""
    raise ValueError(x.get_secret_value())


def in_secret_field(x: Login) -> None:
    """A sample tool."""
    raise ValueError(x.spare.get_secret_value() if x.spare else "")


def in_bytes(x: Annotated[bytes, Param(secret=True)]) -> None:
    """A sample tool."""
    raise ValueError(f"{x!r} {x.decode()}")


def in_any(x: Annotated[Any, Param(secret=True)]) -> None:
    """A sample tool."""
    raise ValueError(repr(x))


NESTED: list[tuple[Callable[..., Any], Any]] = [
    (in_dataclass, {"x": {"user": "u", "password": CANARY}}),
    (in_dataclass, {"x": {"user": "u", "Password": CANARY}}),
    (in_dataclass, {"x": {"user": "u", "pasword": CANARY}}),
    (in_dataclass, {"x": json.dumps({"user": "u", "password": CANARY})}),
    (in_dataclass, {"user": "u", "password": CANARY}),
    (in_dataclass, {"x": {"user": ["not", "text"], "password": CANARY}}),
    (in_dataclass, {"x": {"user": "u", "password": [CANARY, 1]}}),
    (in_model, {"x": {"key": CANARY}}),
    (in_model, {"key": CANARY}),
    (in_model, {"key": CANARY, "tries": "many"}),
    (in_model, {"x": {"key": CANARY, "tries": "many"}}),
    (in_list, {"x": [{"user": "u", "password": CANARY}] * 3}),
    (in_list, {"x": {"user": "u", "password": CANARY}}),
    (in_dict, {"x": {"a": {"user": "u", "password": CANARY}}}),
    (in_dict, {"x": {CANARY[:2]: {"user": 1, "password": CANARY}}}),
    (in_secret_str, {"x": CANARY}),
    (in_secret_field, {"x": {"user": "u", "password": "p", "spare": CANARY}}),
    (in_bytes, {"x": "c2stQ0FOQVJZLTQyNDI="}),
    (in_any, {"x": {"deep": [{"er": CANARY}]}}),
    (in_any, {"x": {f"k{n}": [CANARY] for n in range(50)}}),
    (in_any, {"x": CANARY}),
]


@pytest.mark.parametrize(("function", "payload"), NESTED, ids=range(len(NESTED)))
def test_secrets_inside(function: Callable[..., Any], payload: Any) -> None:
    """Inside a class, a list or a wrapper that hides its content it is the same secret, in the exception of the function too."""
    for policy in (LENIENT, STRICT):
        watched = Watched(function, policy)
        assert watched.tool.secret == {"x"}
        watched.run(payload)
        watched.run(json.dumps(payload))
        assert watched.leaks() == []


@pytest.mark.parametrize("value", [Slotted(CANARY), Tree(CANARY), [Tree("", [Tree(CANARY)])], {"a": (CANARY,)}, {"b": {CANARY}}, _Shy()])
def test_objects_that_hold_it(value: Any) -> None:
    """A value that the application passes by itself is looked into as well."""

    def tool(x: Any) -> None:
        raise ValueError(f"{CANARY} {x!r}")

    watched = Watched(tool, secret=["x"])
    watched.run({"x": value})
    assert watched.leaks() == []


class _Circle:
    def __init__(self) -> None:
        self.itself = self
        self.key = CANARY


class _Explosive:
    __slots__ = ("boom",)

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def test_objects_that_resist() -> None:
    """Circles, size and attributes that raise do not keep the message from being made."""

    def tool(x: Any) -> None:
        raise ValueError("refused")

    watched = Watched(tool, secret=["x"])
    for value in (_Circle(), _Explosive(), [_Circle()] * 5_000, {str(n): n for n in range(5_000)}):
        assert "ValueError: refused" in str(watched.run({"x": value}).error)
    assert watched.leaks() == []


SPELT = [
    "quote'\"quote",
    "back\\slash",
    "line\nbreak",
    "tab\t\x1b[31m",
    "ünïcödé-secret",
    "emoji-😀-secret",
    "{braces} %s",
    "a" * 5_000,
    "sk " * 400,
]


@pytest.mark.parametrize("secret", SPELT, ids=range(len(SPELT)))
def test_a_secret_as_it_is_spelt(secret: str) -> None:
    """As text, as a repr, as JSON, once or many times, and at the place where a long text is cut: nothing of it is left."""
    texts: list[Callable[[str], str]] = [str, repr, json.dumps, lambda s: f"{s} {s}", lambda s: "x" * 495 + s, lambda s: s * 9_000]
    for text in texts:

        def tool(api_key: str, text: Callable[[str], str] = text) -> None:
            raise KeyError(text(api_key))

        tool.__annotations__["text"] = Any
        watched = Watched(tool, secret=["api_key"])
        message = str(watched.run({"api_key": secret}).error)
        assert watched.leaks(secret) == []
        assert secret[:40] not in message
        assert repr(secret)[1:41] not in message


@pytest.mark.parametrize(
    ("secret", "text", "expected"),
    [
        ("a", "a bad alphabet, a", "*** bad alphabet, ***"),
        ("12", "pin 12 of 1234", "pin *** of 1234"),
        ("", "an empty key", "an empty key"),
        ("abcd", "xabcdx", "x***x"),
    ],
)
def test_a_short_secret_does_not_mangle_the_text(secret: str, text: str, expected: str) -> None:
    """What is as short as a word or less is masked where it stands alone."""

    def tool(api_key: str) -> None:
        raise ValueError(text)

    assert str(Watched(tool, secret=["api_key"]).run({"api_key": secret}).error).endswith(f"ValueError: {expected}")


@pytest.mark.parametrize(("value", "text"), [(True, "True story"), (None, "None of it"), (4711, "pin ***"), (47.11, "pin ***")])
def test_secrets_that_are_no_text(value: Any, text: str) -> None:
    """A number is a secret, a yes or a nothing is not."""

    def tool(x: Any) -> None:
        raise ValueError(text.replace("***", str(value)))

    watched = Watched(tool, secret=["x"])
    assert str(watched.run({"x": value}).error).endswith(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just(CANARY),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | st.just("api_key"), inner, max_size=4),
    max_leaves=12,
)


@given(value=JSON, wrap=st.sampled_from(["api_key", "apiKey", "api_kee", "arguments", "tool", "zzz"]), as_text=st.booleans())
@settings(max_examples=150, deadline=None)
def test_any_value_under_any_name(value: Any, wrap: str, as_text: bool) -> None:
    """Whatever stands under the name of a secret, or under a name that is none, is not seen."""
    payload: Any = {wrap: value}
    for function in (failing, in_any):
        name = "api_key" if function is failing else "x"
        watched = Watched(function, secret=[name])
        watched.run(json.dumps(payload) if as_text else payload)
        assert watched.leaks() == []


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The log of each test goes to its own stream alone."""
    logger = logging.getLogger("toolbox")
    before = logger.propagate
    logger.propagate = False
    yield
    logger.propagate = before


@pytest.mark.parametrize("count", [3_000, 30_000])
def test_any_number_of_secrets_is_kept_out_of_an_error(count: int) -> None:
    """Each is masked, or where there are too many to look for, nothing of the text is shown."""
    registry, sink = Registry(), MemorySink()
    registry.add_sink(sink)

    @registry.tool(secret=["keys"])
    def use(keys: list[str]) -> None:
        """Use keys."""
        raise ValueError(f"bad {keys[0]} and {keys[-1]}")

    result = registry.run("use", {"keys": [f"hunter{number:05d}x" for number in range(count)]})
    assert "hunter" not in result.to_text() + repr(sink.records)
    assert result.to_text().startswith("Error: the tool use failed: ValueError: ")


def test_what_a_desk_and_a_recovery_are_given_shows_no_payload() -> None:
    """They need it, and so it is there; it is not printed by accident."""
    given: list[Any] = []

    class Desk:
        blocking = False

        def hold(self, held: Held, /) -> str:
            given.append(held)
            return "1"

    class Recovering:
        def __call__(self, refused: Refused) -> str:
            given.append(refused)
            return ""

    registry = Registry(review=Desk(), recovery=Recovering())

    def log_in(password: str, tries: int) -> None:
        """Log in."""

    registry.register(log_in, secret=["password"])
    registry.register(log_in, name="ask_first", secret=["password"], approval="always")
    registry.run("log_in", {"password": "hunter2", "tries": "a few"})
    registry.run("ask_first", {"password": "hunter2", "tries": 1})
    assert [type(item) for item in given] == [Refused, Held]
    assert all(item.payload["password"] == "hunter2" and "hunter2" not in repr(item) for item in given)


class _Config(TypedDict):
    host: str


def _raise_keys(x: dict[str, Any]) -> None:
    raise KeyError(*x, *(inner for item in x.values() if isinstance(item, dict) for inner in item))


@pytest.mark.parametrize(
    ("kind", "payload", "shown"),
    [
        (dict[str, str], {"hunter2secret": "v"}, "KeyError: '***'"),
        (dict[str, dict[str, str]], {"hunter2secret": {"hunter3secret": "v"}}, "KeyError: ('***', '***')"),
        (Any, {"hunter2secret": "v"}, "KeyError: '***'"),
        (_Config, {"host": "hunter2secret"}, "KeyError: 'host'"),
        (dict[str, _Config], {"hunter2secret": {"host": "v"}}, "KeyError: ('***', 'host')"),
    ],
)
def test_keys_inside_a_secret(kind: Any, payload: Any, shown: str) -> None:
    """They are secret like the values, but for the names that are declared."""
    memory = MemorySink()
    registry = Registry(sinks=[memory])

    def broken(x: Any) -> None:
        _raise_keys(x)

    broken.__annotations__["x"] = Annotated[kind, Param(secret=True)]
    registry.register(broken)
    error = registry.run("broken", {"x": payload}).error
    assert str(error) == memory.records[0].error == f"the tool broken failed: {shown}"


@dataclass
class Access:
    """A user and what only the user knows."""

    user: str
    pins: dict[str, int]


def test_the_keys_of_a_secret_mapping_are_in_no_path() -> None:
    """What a secret holds is secret, its keys too; the names that are declared say where something is wrong."""
    sink = MemorySink()
    registry = Registry(sinks=[sink])

    @registry.tool(secret=["codes", "login"])
    def enter(codes: dict[str, dict[str, int]], login: Access, count: int) -> None:
        """Enter."""

    codes = {"hunter2": {"first": "x"}, "key with spaces": {"hunter2": "7"}}
    result = registry.run("enter", {"codes": codes, "login": {"pins": {"hunter2": "y"}}, "count": "z"})
    assert result.report is not None
    assert sorted(item.path for item in result.report.failures) == [
        "$.codes['***']['***']",
        "$.count",
        "$.login.pins['***']",
        "$.login.user",
    ]
    assert [item.path for item in result.report.diagnostics] == ["$.codes['***']['***']"]
    said = f"{result.error}{sink.records[-1].to_dict()}{result.report.failures}{result.report.to_text('enter')}"
    for word in ("hunter2", "first", "key with spaces"):
        assert word not in said
