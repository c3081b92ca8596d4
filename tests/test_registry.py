"""The registry: what is added, under which name and policy, how it is found, and the pieces that work without one."""

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

import toolbox
from toolbox import (
    ABSORBING,
    LENIENT,
    STRICT,
    CallStatus,
    DiagnosticKind,
    InvalidArguments,
    MemorySink,
    Param,
    PayloadError,
    Policy,
    RegistrationError,
    Registry,
    Risk,
    Tool,
    ToolCall,
    UnknownTool,
    coerce_enums,
    coerce_to_schema,
    normalize_from_schema,
    normalize_tool_args,
)


def double(number: int) -> int:
    """Double a number.

    Args:
        number: what is doubled.
    """
    return number * 2


def search(term: str, max_results: int = 10) -> str:
    """Search."""
    return f"{term} {max_results}"


def _names(registry: Registry) -> list[str]:
    return [tool.name for tool in registry]


def _registry(*names: str, policy: Policy = LENIENT) -> Registry:
    registry = Registry(policy)
    for name in names:
        registry.register(double, name=name)
    return registry


# -- adding --------------------------------------------------------------------------------------------------------------------------


def _plain(registry: Registry) -> Any:
    return registry.tool(double)


def _called(registry: Registry) -> Any:
    return registry.tool()(double)


def _with_options(registry: Registry) -> Any:
    return registry.tool(name="twice", description="Two times.", aliases={"n": "number"}, timeout_s=5.0, high_risk=True)(double)


@pytest.mark.parametrize("decorate", [_plain, _called, _with_options])
def test_the_decorated_function_is_untouched(decorate: Callable[[Registry], Any]) -> None:
    """A decorator registers and gives back the very same function: callable, picklable, with no attribute more."""
    registry, before = Registry(), dict(vars(double))
    assert decorate(registry) is double
    assert vars(double) == before
    assert pickle.loads(pickle.dumps(double)) is double
    assert double(4) == 8
    assert len(registry) == 1


def test_options_are_those_of_register() -> None:
    """What the decorator is told ends on the tool."""
    registry = Registry()
    _with_options(registry)
    made = registry["twice"]
    assert (made.name, made.description, made.timeout_s, made.high_risk) == ("twice", "Two times.", 5.0, True)
    assert made.function is double
    assert registry.dispatch("twice", {"n": 3}) == 6


def test_a_tool_shows_what_was_read() -> None:
    """A tool has a name, a description, parameters, a schema, a function and a policy."""
    registry = Registry(STRICT)
    made = registry.register(double)
    assert isinstance(made, Tool)
    assert registry["double"] is made
    assert [item.name for item in made.parameters] == ["number"]
    assert made.schema["properties"]["number"] == {"type": "integer", "description": "what is doubled."}
    assert made.description == "Double a number."
    assert made.policy == STRICT
    assert "double" in repr(made)


def test_a_registry_is_a_collection() -> None:
    """Length, membership, iteration in the order of adding, and a lookup by exact name."""
    registry = _registry("b", "a")
    assert (len(registry), _names(registry), "a" in registry, "A" in registry, None in registry) == (2, ["b", "a"], True, False, False)
    assert repr(registry) == "<Registry 2 tools, policy lenient>"
    with pytest.raises(UnknownTool, match="no tool named"):
        registry["A"]


@pytest.mark.parametrize(
    "name",
    ["", " ", "\t", "a\nb", "a\x00b", "a\x1b[31m", "x" * 257, "\ud800", "a\u2028b"],
    ids=["empty", "space", "tab", "newline", "nul", "ansi", "long", "surrogate", "separator"],
)
def test_illegal_names(name: str) -> None:
    """A name that could not be shown on one line is refused, whichever way the tool came."""
    with pytest.raises(RegistrationError, match="printable"):
        Registry().register_schema(name, {"type": "object"}, double)
    if name:
        with pytest.raises(RegistrationError, match="printable"):
            Registry().register(double, name=name)


@pytest.mark.parametrize("name", ["a", "x" * 256, "get weather", "crm.search", "größe", "検索"])
def test_legal_names(name: str) -> None:
    """Any other name is legal here; a provider's narrower rules belong to its export."""
    assert _registry(name).dispatch(name, {"number": 1}) == 2


def test_a_taken_name() -> None:
    """A second tool of the same name is refused, and the first one stays."""
    registry = _registry("double")
    with pytest.raises(RegistrationError, match="taken") as caught:
        registry.register(search, name="double")
    assert (caught.value.tool, len(registry), registry["double"].function) == ("double", 1, double)


def test_an_unannotated_parameter_is_a_problem() -> None:
    """All problems of one function are raised at once, each with what to write instead."""

    def loose(a, b=1): ...  # type: ignore[no-untyped-def]

    with pytest.raises(RegistrationError) as caught:
        Registry().register(loose)
    assert len(caught.value.problems) == 2
    assert all("has no annotation" in problem for problem in caught.value.problems)


def test_a_thousand_tools_are_added_at_once() -> None:
    """Adding is not quadratic: the index of names is built when it is first needed."""
    registry = Registry()
    document = registry.register(double)
    for number in range(1_000):
        registry._add(document.under(LENIENT, f"some_tool_{number}"))
    assert registry.resolve("someTool999").name == "some_tool_999"


def test_a_tool_added_later_is_found() -> None:
    """Names that are resolved and not exact see what was added after the first lookup."""
    registry = _registry("one")
    assert registry.resolve("ONE").name == "one"
    registry.register(double, name="two_words")
    assert registry.resolve("twoWords").name == "two_words"


# -- schema and converter ------------------------------------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {"amount": {"type": "number"}, "order": {"enum": ["asc", "desc"]}},
    "required": ["amount"],
}


def test_a_schema_tool_goes_through_the_same_pipeline() -> None:
    """A tool whose schema came from elsewhere coerces, refuses and records like any other."""
    sink = MemorySink()
    registry = Registry(sinks=[sink])
    made = registry.register_schema("refund", SCHEMA, lambda **given: given, description="Refund.", timeout_s=9, secret=["order"])
    assert (made.description, made.timeout_s, set(made.secret)) == ("Refund.", 9.0, {"order"})
    assert registry.dispatch("refund", {"amount": "12.5", "order": "ASC"}) == {"amount": 12.5, "order": "asc"}
    assert not registry.run("refund", {"order": "asc"}).ok
    assert [record.status for record in sink.records] == [CallStatus.DONE, CallStatus.REFUSED]


@pytest.mark.parametrize(
    ("schema", "options", "words"),
    [
        ({"type": "array"}, {}, "must describe an object"),
        ({"type": "nonsense"}, {}, "nonsense"),
        (SCHEMA, {"secret": ["nope"]}, "'nope' is no parameter"),
    ],
)
def test_a_schema_that_cannot_become_a_tool(schema: dict[str, Any], options: dict[str, Any], words: str) -> None:
    """What is wrong with a schema is said when it is registered."""
    with pytest.raises(RegistrationError, match=words):
        Registry().register_schema("t", schema, double, **options)


async def _handler(amount: float) -> float:
    return amount


class _AsyncHandler:
    async def __call__(self, amount: float) -> float:
        return amount


class _SyncHandler:
    def __call__(self, amount: float) -> float:
        return amount


@pytest.mark.parametrize(("handler", "is_async"), [(_handler, True), (_AsyncHandler(), True), (_SyncHandler(), False)])
def test_handlers_of_a_schema_tool(handler: Callable[..., Any], is_async: bool) -> None:
    """The handler may be a function or a callable instance, sync or async."""
    registry = Registry()
    schema = {"type": "object", "properties": {"amount": {"type": "number"}}}
    assert registry.register_schema("t", schema, handler).is_async is is_async
    assert registry.dispatch("t", {"amount": "2"}) == 2
    assert asyncio.run(registry.adispatch("t", {"amount": "2"})) == 2


class Money:
    def __init__(self, text: str) -> None:
        if not text.endswith(" EUR"):
            raise ValueError("only EUR is taken")
        self.cents = int(Decimal(text.removesuffix(" EUR")) * 100)


def test_a_registered_converter() -> None:
    """A class that toolbox does not know is made as the converter says, and its ValueError is a refusal with its text."""
    registry = Registry()
    registry.register_converter(Money, str, Money)

    def pay(amount: Money) -> int:
        return amount.cents

    registry.register(pay)
    assert registry["pay"].schema["properties"]["amount"] == {"type": "string"}
    assert registry.dispatch("pay", {"amount": "1.50 EUR"}) == 150
    with pytest.raises(InvalidArguments, match="only EUR is taken"):
        registry.dispatch("pay", {"amount": "1.50 USD"})


# -- composing -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mine", "theirs", "own", "expected"),
    [
        (LENIENT, LENIENT, None, LENIENT),
        (STRICT, LENIENT, None, STRICT),
        (LENIENT, STRICT, None, STRICT),
        (LENIENT, LENIENT, STRICT, STRICT),
        (LENIENT, ABSORBING, None, ABSORBING),
        (ABSORBING, STRICT, LENIENT, STRICT),
    ],
)
def test_including_only_tightens(mine: Policy, theirs: Policy, own: Policy | None, expected: Policy) -> None:
    """An included tool runs under this registry's policy, the other's, and its own, whichever is stricter switch by switch."""
    other = Registry(theirs)
    other.register(double, policy=own)
    registry = Registry(mine)
    registry.include(other, prefix="crm_")
    assert _names(registry) == ["crm_double"]
    assert registry["crm_double"].policy == expected
    assert registry["crm_double"].function is double


def test_an_included_tool_keeps_what_it_is() -> None:
    """High risk, time limit and secrets go with the tool."""
    other = Registry()
    other.register(double, high_risk=True, timeout_s=3, secret=["number"])
    registry = Registry()
    registry.include(other)
    made = registry["double"]
    assert (made.high_risk, made.timeout_s, set(made.secret), made.policy.max_risk) == (True, 3.0, {"number"}, Risk.INFO)
    other.register(double, name="later")
    assert "later" not in registry


@pytest.mark.parametrize(("prefix", "words"), [("", "taken"), ("a\n", "printable"), ("x" * 300, "printable")])
def test_including_is_all_or_nothing(prefix: str, words: str) -> None:
    """A name that cannot be added leaves the registry as it was."""
    registry = _registry("b")
    with pytest.raises(RegistrationError, match=words):
        registry.include(_registry("a", "b"), prefix=prefix)
    assert _names(registry) == ["b"]


@pytest.mark.parametrize("keep", [["a_one", "b"], ("a_one", "b"), lambda tool: tool.name != "a_two"], ids=["list", "tuple", "function"])
def test_filtering(keep: Any) -> None:
    """A filtered registry holds the chosen tools under the same policy, context and sinks; the full one stays as it was."""
    sink = MemorySink()
    registry = Registry(ABSORBING, sinks=[sink])
    for name in ("a_one", "a_two", "b"):
        registry.register(double, name=name)
    chosen = registry.filter(keep)
    assert (sorted(_names(chosen)), chosen.policy, len(registry)) == (["a_one", "b"], ABSORBING, 3)
    assert chosen.dispatch("aOne", {"number": 2}) == 4
    assert not chosen.run("a_two", {"number": 2}).ok
    assert [record.tool for record in sink.records] == ["a_one", "a_two"]


def test_a_tightened_registry() -> None:
    """The same tools and sinks under a stricter policy; the registry itself stays as it was, and nothing is loosened."""
    sink = MemorySink()
    registry = Registry(ABSORBING, sinks=[sink])
    registry.register(double)
    stricter = registry.tightened(STRICT)
    assert (stricter.policy, stricter["double"].policy, registry["double"].policy) == (STRICT, STRICT, ABSORBING)
    assert registry.tightened(LENIENT)["double"].policy == ABSORBING
    assert stricter.dispatch("Double", {"number": 2}) == 4
    assert len(sink) == 1
    assert len(stricter) == 1


def test_filtering_by_a_name_that_is_not_there() -> None:
    """A name that is not registered is an error, and not silently missing."""
    with pytest.raises(UnknownTool):
        _registry("a").filter(["a", "c"])


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Installs a distribution that offers tools: its module, and the lines of its entry points."""
    module = f"offered_{abs(hash(tmp_path))}"

    def install(code: str, entry_points: str) -> None:
        (tmp_path / f"{module}.py").write_text(code)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points.replace("MODULE", module))
        monkeypatch.syspath_prepend(str(tmp_path))

    return install


def test_entry_points(distribution: Callable[[str, str], None]) -> None:
    """An installed distribution offers a registry or a function, and both are added, in the order of their names."""
    distribution(
        "from toolbox import Registry, STRICT\n"
        "registry = Registry(STRICT)\n"
        "@registry.tool\ndef one(a: int) -> int: return a\n"
        "def two(a: int) -> int: return a\n",
        "[toolbox.tools]\nfirst = MODULE:registry\nsecond = MODULE:two\n[other.group]\nthird = MODULE:two\n",
    )
    registry = _registry("mine")
    assert registry.load_entry_points() == ["one", "two"]
    assert (registry["one"].policy, registry["two"].policy) == (STRICT, LENIENT)
    assert registry.dispatch("two", {"a": "5"}) == 5
    assert Registry().load_entry_points("other.group") == ["two"]
    assert Registry().load_entry_points("no.such.group") == []


@pytest.mark.parametrize(
    ("code", "target", "words"),
    [
        ("raise RuntimeError('broken at import')\n", "MODULE:tool", "broken at import"),
        ("", "MODULE:tool", "cannot be loaded"),
        ("", "no_such_module_anywhere:tool", "cannot be loaded"),
        ("tool = 5\n", "MODULE:tool", "cannot register"),
    ],
)
def test_a_broken_entry_point(distribution: Callable[[str, str], None], code: str, target: str, words: str) -> None:
    """What cannot be loaded is an error that names the entry point."""
    distribution(code, f"[toolbox.tools]\nbroken = {target}\n")
    with pytest.raises(RegistrationError, match=words):
        Registry().load_entry_points()


def test_the_default_registry() -> None:
    """`@tool` alone adds to the default registry and returns the function; with options it does the same."""
    code = (
        "import toolbox\nfrom toolbox import tool\n"
        "@tool\ndef a(x: int) -> int: return x\n"
        "@tool(name='bee')\ndef b(x: int) -> int: return x\n"
        "print(a(1), b(2), [t.name for t in toolbox.default_registry], toolbox.default_registry.policy.name)\n"
    )
    root = str(Path(toolbox.__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={**os.environ, "TOOLBOX_POLICY": "Strict", "PYTHONPATH": root},
    )
    assert (ran.stdout, ran.stderr) == ("1 2 ['a', 'bee'] strict\n", "")


# -- names -------------------------------------------------------------------------------------------------------------------------

KNOWN = ("search_flights", "get_weather", "get_weather_now", "userId", "user_id", "crm.search", "no1")

RESOLVED = [
    ("search_flights", "search_flights"),
    ("searchFlights", "search_flights"),
    ("search-flights", "search_flights"),
    ("Search Flights", "search_flights"),
    ("SEARCH_FLIGHTS", "search_flights"),
    (" search_flights\n", "search_flights"),
    ("functions.search_flights", "search_flights"),
    ("functions.searchFlights", "search_flights"),
    ("default_api:search_flights", "search_flights"),
    ("mcp__travel__search_flights", "search_flights"),
    ("travel/search_flights", "search_flights"),
    ("crm.search", "crm.search"),
    ("crm_search", "crm.search"),
    ("userId", "userId"),
    ("user_id", "user_id"),
    ("getWeather", "get_weather"),
]


@pytest.mark.parametrize(("written", "name"), RESOLVED)
def test_names_are_resolved(written: str, name: str) -> None:
    """Other separators, another case and a qualifying prefix find the tool; an exact name always wins."""
    assert _registry(*KNOWN).resolve(written).name == name


UNKNOWN = [
    ("search_flight", ["search_flights"]),
    ("serch_flights", ["search_flights"]),
    ("user-id", None),
    ("functions.user-id", None),
    ("weather", None),
    ("get", None),
    ("no2", []),
    ("../search_flights", None),
    ("./search_flights", None),
    ("/search_flights", None),
    ("search_flights/..", None),
    ("search_flights()", None),
    ("search_flights; rm -rf /", None),
    ("search_flights\x00", None),
    ("search_flights\u200b", None),
    ("__import__", None),
    ("__class__", None),
    ("eval", None),
    ("", None),
    (" ", None),
    ("x" * 100_000, []),
    ("a_" * 120 + "!", []),
    ("_" * 250 + "!", []),
    ("functions.", None),
]


@pytest.mark.parametrize(("written", "nearest"), UNKNOWN, ids=lambda item: repr(item)[:30])
def test_names_are_never_guessed(written: str, nearest: list[str] | None) -> None:
    """A name that is only similar, ambiguous, or no name at all is unknown; what is near is suggested."""
    registry = _registry(*KNOWN)
    with pytest.raises(UnknownTool) as caught:
        registry.resolve(written)
    assert caught.value.name == written
    assert caught.value.known == KNOWN
    if nearest is not None:
        assert list(caught.value.nearest)[:1] == nearest
    text = str(caught.value)
    assert len(text) < 2_000
    assert text.isprintable()


class _Odd:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    "name", [None, 5, ["double"], {"name": "double"}, b"double", ("double",), _Odd()], ids=lambda item: type(item).__name__
)
def test_a_name_that_is_no_text(name: Any) -> None:
    """Whatever comes instead of a name is an unknown tool, and nothing else."""
    registry = _registry("double")
    with pytest.raises(UnknownTool):
        registry.resolve(name)
    with pytest.raises(UnknownTool):
        registry.dispatch(name, {"number": 1})
    with pytest.raises(UnknownTool):
        asyncio.run(registry.adispatch(name, {"number": 1}))
    result = registry.run(name, {"number": 1}, call_id="c1")
    assert (result.ok, result.call_id, type(result.tool)) == (False, "c1", str)


@pytest.mark.parametrize(
    ("names", "words"),
    [((), "no tool is registered"), (("a", "b"), 'the tools are "a", "b"'), (("zzzz_top",), "did you mean")],
)
def test_the_text_about_an_unknown_tool(names: tuple[str, ...], words: str) -> None:
    """It says what there is, so that the model can mend the call."""
    assert words in str(_registry(*names).run("zzzz_tip", {}).error)


def test_an_unknown_tool_is_on_record() -> None:
    """A call of no tool is a call: it has one record, without its arguments, since nobody knows which of them are secret."""
    sink = MemorySink()
    registry = Registry(sinks=[sink])
    result = asyncio.run(registry.arun("nope", {"key": "sk-1"}, call_id="c", metadata={"turn": 1}))
    (record,) = sink.records
    assert (record.status, record.tool, record.arguments, record.invoked) == (CallStatus.UNKNOWN_TOOL, "nope", None, None)
    assert (record.call_id, record.metadata, record.error) == ("c", {"turn": 1}, str(result.error))
    assert result.tool == "nope"


# -- policies ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("registry_policy", "tool_policy", "high_risk", "expected"),
    [
        (LENIENT, None, False, True),
        (LENIENT, STRICT, False, False),
        (STRICT, LENIENT, False, False),
        (LENIENT, LENIENT.named("mine"), False, True),
        (STRICT, None, False, False),
    ],
)
def test_a_tool_only_tightens(registry_policy: Policy, tool_policy: Policy | None, high_risk: bool, expected: bool) -> None:
    """A tool's own policy cannot take more liberties than its registry's."""
    registry = Registry(registry_policy)
    registry.register(double, policy=tool_policy, high_risk=high_risk)
    assert registry.run("double", {"number": "2"}).ok is expected


@pytest.mark.parametrize(
    ("parameter", "registry_policy", "expected"),
    [(STRICT, LENIENT, ["$.strict"]), (LENIENT, STRICT, ["$.strict", "$.free"]), (LENIENT, LENIENT, [])],
)
def test_a_parameter_only_tightens(parameter: Policy, registry_policy: Policy, expected: list[str]) -> None:
    """A parameter's own policy is for that parameter alone, and never loosens."""

    def both(strict: int, free: int) -> None: ...

    both.__annotations__["strict"] = Annotated[int, Param(policy=parameter)]
    registry = Registry(registry_policy)
    registry.register(both)
    assert registry.check("both", {"strict": "1", "free": "2"}).failed_fields == expected


@pytest.mark.parametrize(
    ("payload", "ok"),
    [({"amount": "5", "to": "a"}, True), ({"amount": "1e3", "to": "a"}, False), ({"amount": 5, "to": "a", "memo": "x"}, False)],
)
def test_high_risk_refuses_above_info(payload: dict[str, Any], ok: bool) -> None:
    """A payment takes no change above INFO, however lenient its registry and its own policy are."""

    def pay(amount: int, to: str) -> None: ...

    registry = Registry(LENIENT)
    registry.register(pay, high_risk=True, policy=LENIENT)
    assert registry["pay"].policy.max_risk is Risk.INFO
    assert registry.run("pay", payload).ok is ok


@pytest.mark.parametrize(
    ("value", "expected"), [("strict", STRICT), ("ABSORBING", ABSORBING), (" lenient ", LENIENT), ("", LENIENT), (None, LENIENT)]
)
def test_the_policy_of_the_environment(monkeypatch: pytest.MonkeyPatch, value: str | None, expected: Policy) -> None:
    """TOOLBOX_POLICY names the preset of registries that are given none."""
    monkeypatch.delenv("TOOLBOX_POLICY", raising=False)
    if value is not None:
        monkeypatch.setenv("TOOLBOX_POLICY", value)
    assert Registry().policy is expected
    assert Registry(STRICT).policy is STRICT


def test_a_policy_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt preset is an error, not a lenient registry."""
    monkeypatch.setenv("TOOLBOX_POLICY", "strickt")
    with pytest.raises(ValueError, match="strickt"):
        Registry()


# -- several calls ---------------------------------------------------------------------------------------------------------------------


CALLS = [
    ToolCall("double", {"number": "1"}, "c1"),
    ToolCall("nope", {}, "c2"),
    ToolCall("double", {"number": "x"}, "c3"),
    ToolCall("double", '{"number": 4', "c4"),
    ToolCall("double", '{"number": 5}', None),
]


def _told(results: list[toolbox.ToolResult]) -> list[tuple[str | None, bool, Any]]:
    return [(item.call_id, item.ok, item.value) for item in results]


def test_one_bad_call_does_not_stop_the_others() -> None:
    """The results stand in the order of the calls, the failed ones in their places; sync and async agree."""
    registry = _registry("double")
    expected = [("c1", True, 2), ("c2", False, None), ("c3", False, None), ("c4", False, None), (None, True, 10)]
    assert _told(registry.run_calls(CALLS)) == expected
    assert _told(asyncio.run(registry.arun_calls(CALLS))) == expected
    assert registry.run_calls([]) == asyncio.run(registry.arun_calls([])) == []


def test_options_of_several_calls() -> None:
    """What is said about the calls holds for each of them."""
    sink = MemorySink()
    registry = Registry(sinks=[sink])
    registry.register(double)
    registry.run_calls(CALLS[:2], metadata={"turn": 3})
    asyncio.run(registry.arun_calls(CALLS[:1], metadata={"turn": 4}, timeout_s=5))
    assert [record.metadata for record in sink.records] == [{"turn": 3}, {"turn": 3}, {"turn": 4}]


@pytest.mark.parametrize("policy", ["strict", None, STRICT.limits])
@pytest.mark.parametrize("way", [Registry.under, Registry.tightened])
def test_another_policy_is_a_policy(way: Any, policy: Any) -> None:
    """What is none is refused, and told what one is."""
    with pytest.raises(TypeError, match=r"policy must be a Policy, such as STRICT or Policy\.from_name\('strict'\)"):
        way(_registry("double"), policy)


@pytest.mark.parametrize("way", [Registry.run_calls, lambda registry, calls, **said: asyncio.run(registry.arun_calls(calls, **said))])
@pytest.mark.parametrize(
    ("more", "options", "wanted"),
    [
        ([{"name": "double"}], {}, "calls must be those that parse_calls gives"),
        ([], {"metadata": "turn 3"}, "metadata must be a mapping"),
        ([], {"call_id": "c"}, "call_id"),
    ],
    ids=["no call", "wrong option", "no option"],
)
def test_what_is_no_call_stops_all(way: Any, more: list[Any], options: dict[str, Any], wanted: str) -> None:
    """Nothing was run: an error behind calls that had their effect would hide their results."""
    sink = MemorySink()
    registry = Registry(sinks=[sink])
    registry.register(double)
    with pytest.raises(TypeError, match=wanted):
        way(registry, [*CALLS[:1], *more], **options)
    assert sink.records == []


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_no_more_calls_at_once_than_the_limit(limit: int) -> None:
    """Calls run side by side, and never more of them than allowed."""
    running = most = 0

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        return number

    registry = Registry()
    registry.register(work)
    results = asyncio.run(registry.arun_calls([ToolCall("work", {"number": n}) for n in range(10)], limit=limit))
    assert [item.value for item in results] == list(range(10))
    assert most == min(limit, 10)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing(limit: int) -> None:
    """No call at all could run, so nothing would ever come back."""
    with pytest.raises(ValueError, match="limit must be 1 or more"):
        asyncio.run(_registry("double").arun_calls(CALLS, limit=limit))


def test_how_a_call_was_found_is_on_record() -> None:
    """What was mended before the arguments were read is on the record of the call, like every other liberty."""
    sink = MemorySink()
    registry = Registry(sinks=[sink])
    registry.register(double)
    (call,) = registry.parse_calls('Sure!\n```json\n{"name": "double", "arguments": {"number": 2,}}\n```')
    assert call.diagnostics
    (result,) = registry.run_calls([call])
    assert result.report is not None
    assert result.value == 4
    assert tuple(result.report.diagnostics[: len(call.diagnostics)]) == call.diagnostics
    assert tuple(sink.records[0].diagnostics) == call.diagnostics
    asyncio.run(registry.arun_calls([call]))
    assert tuple(sink.records[1].diagnostics) == call.diagnostics


@pytest.mark.parametrize(
    "raw",
    [
        '{"name": "double", "arguments": {"number": 2}}',
        {"name": "double", "arguments": '{"number": 2}'},
        {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "double", "arguments": '{"number": 2}'}}]},
        [{"name": "functions.double", "arguments": {"number": 2}}],
    ],
)
def test_parsed_calls_run(raw: Any) -> None:
    """What a model wrote becomes calls, and the calls run."""
    registry = _registry("double")
    assert [item.value for item in registry.run_calls(registry.parse_calls(raw))] == [4]


def test_prose_is_no_call() -> None:
    """Where no call was made, none is found."""
    assert _registry("double").parse_calls("I cannot double that.") == []


# -- exports and pieces -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["json", "openai"])
def test_schemas(provider: str) -> None:
    """The definitions of all tools, in the order in which they were added."""
    found = _registry("b", "a").schemas(provider)
    names = [item["name"] if "name" in item else item["function"]["name"] for item in found]
    assert names == ["b", "a"]


def test_an_unknown_provider() -> None:
    """A provider that is not there is an error that names those that are."""
    with pytest.raises(ValueError, match="openai"):
        _registry("a").schemas("nonesuch")


def test_check_does_not_invoke() -> None:
    """A dry run says what would be made of the arguments, and neither runs nor records."""
    sink, ran = MemorySink(), []

    def act(a: int) -> None:
        ran.append(a)

    registry = Registry(sinks=[sink])
    registry.register(act)
    report = registry.check("Act", '{"a": "5"}')
    assert (report.ok, report.normalized_args, report.conversion_log) == (True, {"a": 5}, [("$.a", "str->int")])
    assert registry.check("act", {"a": "x"}).failed_fields == ["$.a"]
    assert not ran
    assert not sink.records
    with pytest.raises(UnknownTool):
        registry.check("nope", {})
    with pytest.raises(PayloadError):
        registry.check("act", '{"a": ')


def test_normalize_tool_args() -> None:
    """The report on a payload for a function, without a registry."""

    def query(search_term: str, max_results: int, include_discontinued: bool, categories: list[str] | None = None) -> None: ...

    payload = {"search_term": "usb", "max_results": "10", "include_discontinued": "false", "categories": '["cables"]'}
    report = normalize_tool_args(query, payload)
    assert report.normalized_args == {"search_term": "usb", "max_results": 10, "include_discontinued": False, "categories": ["cables"]}
    assert report.conversion_log == [("$.max_results", "str->int"), ("$.include_discontinued", "str->bool"), ("$.categories", "str->list")]
    assert not normalize_tool_args(query, payload, STRICT).ok
    with pytest.raises(RegistrationError):
        normalize_tool_args(lambda a: a, {}, LENIENT)


def test_normalize_from_schema() -> None:
    """The same for a schema; it must describe an object."""
    assert normalize_from_schema(SCHEMA, {"amount": "1", "extra": 2}).normalized_args == {"amount": 1}
    assert not normalize_from_schema(SCHEMA, {"amount": "1"}, STRICT).ok
    with pytest.raises(ValueError, match="object"):
        normalize_from_schema({"type": "array"}, {})


@pytest.mark.parametrize(
    ("schema", "value", "expected", "ok"),
    [
        ({"type": "integer"}, "5", 5, True),
        ({"type": "array", "items": {"type": "number"}}, ["1.5"], [1.5], True),
        (True, {"a": 1}, {"a": 1}, True),
        (False, 1, None, False),
        ({"type": "integer"}, "x", None, False),
    ],
)
def test_coerce_to_schema(schema: Any, value: Any, expected: Any, ok: bool) -> None:
    """Any JSON value may stand at the root."""
    report = coerce_to_schema(schema, value)
    assert (report.value, report.ok) == (expected, ok)


def test_coerce_to_schema_with_resources() -> None:
    """Other documents are given, never fetched."""
    schema, other = {"$ref": "https://example.com/int.json"}, {"https://example.com/int.json": {"type": "integer"}}
    assert coerce_to_schema(schema, "5", resources=other).value == 5


@pytest.mark.parametrize("check", [lambda deep: coerce_to_schema(True, deep), lambda deep: coerce_enums({"a": deep}, {})])
def test_the_pieces_have_limits(check: Callable[[Any], Any]) -> None:
    """What is nested too deeply is refused before anything walks it."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(PayloadError, match="levels deep"):
        check(deep)


def test_sinks_come_and_go() -> None:
    """A sink that was removed gets nothing more, and one that was never added cannot be removed."""
    sink = MemorySink()
    registry = _registry("double")
    registry.add_sink(sink)
    registry.run("double", {"number": 1})
    registry.remove_sink(sink)
    registry.run("double", {"number": 1})
    assert len(sink) == 1
    with pytest.raises(ValueError):
        registry.remove_sink(sink)


def test_flights_under_each_policy() -> None:
    """One messy call: mended with every change on record, kept aside, or refused, as the policy says."""

    def flights(
        origin: str,
        passengers: int,
        nonstop: bool = False,
        cabin: Literal["economy", "business"] = "economy",
        max_price: Decimal | None = None,
    ) -> str:
        return f"{origin} {passengers} {nonstop} {cabin} {max_price}"

    payload = {"origin": "VIE", "passengers": "2", "nonstop": "true", "_trace_id": "t"}
    lenient, absorbing, strict = (Registry(policy) for policy in (LENIENT, ABSORBING, STRICT))
    for registry in (lenient, absorbing, strict):
        registry.register(flights)
    result = lenient.run("flights", payload)
    assert result.report is not None
    assert result.value == "VIE 2 True economy None"
    kinds = [item.kind for item in result.report.diagnostics]
    assert kinds.count(DiagnosticKind.COERCED) == 2
    assert kinds.count(DiagnosticKind.DROPPED) == 1
    kept = absorbing.check("flights", {**payload, "passengers": 2, "nonstop": True})
    assert (kept.ok, kept.residual) == (True, {"_trace_id": "t"})
    assert strict.check("flights", payload).failed_fields == ["$.passengers", "$.nonstop", "$._trace_id"]
    refused = lenient.run("flights", {**payload, "cabin": "coach"})
    assert '"economy", "business"' in str(refused.error)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sinks": MemorySink()}, r"sinks must be a list of sinks, such as \[MemorySink\(...\)\]"),
        ({"sinks": [1]}, r"a sink must be callable with a record, such as MemorySink\(\) or a function, and is 1"),
        ({"sinks": [MemorySink]}, r"a sink must be callable with a record, .* and is .*MemorySink"),
        ({"sinks": "audit.db"}, r"sinks must be a list of sinks, such as \[AuditStore\(...\)\], and is a str"),
        ({"recovery": "gpt"}, r"recovery must be a Recovery, such as Recovery\(ask\)"),
        ({"recovery": lambda _: "x"}, r"recovery must be a Recovery, such as Recovery\(ask\), and is the function <lambda>"),
        ({"recovery": MemorySink().__call__}, r"such as Recovery\(ask\), and is the method __call__"),
        ({"recovery": MemorySink}, r"such as Recovery\(ask\), and is the class MemorySink"),
        ({"review": MemorySink}, r"such as ReviewQueue\(store\), and is the class MemorySink"),
        ({"review": MemorySink()}, r"review must be a ReviewQueue, such as ReviewQueue\(store\), and is a MemorySink"),
    ],
)
def test_a_wrong_service_is_refused_at_once(options: dict[str, Any], words: str) -> None:
    """Not with the first call that needs it."""
    with pytest.raises(TypeError, match=words):
        Registry(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"secret": "number"}, r'secret must be a list of names, such as \["api_key"\], and is "number"'),
        ({"secret": 5}, r'secret must be a list of names, such as \["api_key"\], and is 5'),
        ({"secret": [5]}, r'secret must be a list of names, such as \["api_key"\], and is \[5\]'),
        ({"high_risk": "no"}, 'high_risk must be True or False, and is "no"'),
        ({"timeout_s": float("nan")}, "timeout_s must be a number of seconds above 0, and is nan"),
    ],
)
def test_options_that_are_no_such_thing(options: dict[str, Any], words: str) -> None:
    """Of a function, of a decorator and of a schema: said at once, with what is wanted."""
    registry = Registry()

    def double(number: int) -> int:
        return number * 2

    for register in (
        lambda: registry.register(double, **options),
        lambda: registry.tool(**options)(double),
        lambda: registry.register_schema("double", {"type": "object", "properties": {"number": {}}}, double, **options),
    ):
        with pytest.raises(RegistrationError, match=words):
            register()
    with pytest.raises(RegistrationError, match=r'aliases must be a mapping, such as \{"q": "query"\}, and is 5'):
        registry.register(double, aliases=5)  # type: ignore[arg-type]
    assert len(registry) == 0


@pytest.mark.parametrize("option", ["foo", "approved", "call_id"])
def test_several_calls_with_an_option_that_there_is_not(option: str) -> None:
    """The method is named, and what may stand there."""
    words = f"run_calls has no option '{option}': they are context, timeout_s, metadata"
    with pytest.raises(TypeError, match=words):
        Registry().run_calls([], **{option: 1})
    with pytest.raises(TypeError, match=words):
        asyncio.run(Registry().arun_calls([], **{option: 1}))
