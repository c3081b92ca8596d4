"""Key patterns and redactors: what they hide, what they leave, and that nothing they do breaks a call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox import LENIENT, STRICT, MemorySink, Param, Redaction, Registry, ToolboxError
from toolbox.diagnostics import MASK
from toolbox.redaction import joined

# A pattern, then names that it hides and names that it does not.
PATTERNS: list[tuple[str, list[str], list[str]]] = [
    ("password", ["password", "Password", "PASS-WORD", "pass_word", "pass word", "Pass.Word"], ["passwords", "my_password", ""]),
    ("*password*", ["password", "userPassword", "PASSWORD_2", "old-password-hash"], ["passwd", "pass", "word"]),
    ("*token", ["token", "accessToken", "id-token"], ["max_tokens", "tokens"]),
    ("token*", ["token", "tokenValue"], ["atoken"]),
    ("api_key", ["apiKey", "API KEY", "api.key"], ["api_keys", "x-api-key"]),
    ("x*key", ["xkey", "x-api-key", "X_Key"], ["key", "x"]),
    ("a*b*c", ["abc", "a1b2c", "aXbbXc"], ["ac", "acb", "abcd"]),
    ("ab*ba", ["abba", "ab-x-ba"], ["aba"]),
    ("*", ["anything", "1", "***"], []),
    ("ключ*", ["Ключ", "КЛЮЧ_доступа"], ["key"]),
    ("straße", ["STRASSE", "straße"], ["strase"]),
    ("password", ["\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44", "pass\u200bword", "\ufeffpassword"], ["passw\u00f6rd"]),
]


@pytest.mark.parametrize(("pattern", "hidden", "shown"), PATTERNS, ids=range(len(PATTERNS)))
def test_patterns(pattern: str, hidden: list[str], shown: list[str]) -> None:
    """Case, separators, width and what is invisible do not make another name; a star stands for anything, or for nothing."""
    redaction = Redaction([pattern])
    assert [name for name in [*hidden, *shown] if redaction.hides(name)] == hidden


BAD: list[tuple[Any, type[Exception], str]] = [
    ("password", TypeError, 'write \\["password"\\]'),
    ([5], TypeError, "a key pattern is a text"),
    ([""], ValueError, "names nothing"),
    (["__"], ValueError, "names nothing"),
    (["pass?"], ValueError, "only \\* has a meaning"),
    (["[ab]"], ValueError, "only \\* has a meaning"),
]


@pytest.mark.parametrize(("keys", "kind", "text"), BAD)
def test_patterns_that_say_nothing(keys: Any, kind: type[Exception], text: str) -> None:
    """A pattern that would match nothing, or not what it looks like, is refused where it is written."""
    with pytest.raises(kind, match=text):
        Redaction(keys)


def test_what_is_no_redaction() -> None:
    """A registry takes a redaction and nothing that only looks like one."""
    with pytest.raises(TypeError, match=r"such as Redaction\.common\(\)"):
        Registry(redaction=["password"])  # type: ignore[arg-type]  # the mistake that is tested
    with pytest.raises(TypeError, match="redactor must take a text"):
        Redaction(redactor="x")  # type: ignore[arg-type]  # the mistake that is tested


COMMON = {
    "hidden": [
        "password", "user_password", "passwd", "db_pwd", "passphrase", "passcode", "client_secret", "clientSecret", "secrets", "secret_key",
        "AWS_SECRET_ACCESS_KEY", "credentials", "Authorization", "Proxy-Authorization", "api_key", "X-API-Key", "private_key",
        "access_key_id",
        "token", "access_token", "refreshToken", "id_token", "auth_token", "csrf_token", "session_token", "jwt", "Cookie", "Set-Cookie",
        "connection_string", "card_number", "creditCardNumber", "cvv", "bearer_token", "GITHUB_API_TOKEN", "encryption_key", "signing_key",
    ],
    "shown": [
        "max_tokens", "tokens", "next_page_token", "page_token", "token_count", "secretary", "author", "authors", "cookie_policy", "key",
        "keys", "primary_key", "sort_key", "pin", "user", "name", "pass", "id", "session_id", "address", "card", "number",
        "passport_country",
    ],
}  # fmt: skip


@pytest.mark.parametrize("is_hidden", [True, False])
def test_common_keys(is_hidden: bool) -> None:
    """The usual names of credentials are hidden; what only sounds like one, and pages and counts of tokens, are not."""
    redaction = Redaction.common()
    names = COMMON["hidden" if is_hidden else "shown"]
    assert [name for name in names if redaction.hides(name) is not is_hidden] == []
    assert Redaction.common(["iban*"]).hides("IBAN_2")


# A text, and the same as it may be seen.
TEXTS: list[tuple[str, str]] = [
    ("no such user", "no such user"),
    ("password=hunter2", "password=***"),
    ("password: hunter2 and more", "password: ***"),
    ('{"user": "u", "password": "x", "b": 1}', '{"user": "u", "password": "***'),
    ("{'api_key': 'x'}", "{'api_key': '***"),
    ('{\\"password\\": \\"x\\"}', '{\\"password\\": ***'),
    ("Login(user='u', password='x')", "Login(user='u', password='***"),
    ("https://a.example/?q=1&token=x&page=2", "https://a.example/?q=1&token=***"),
    ("Authorization: Bearer x", "Authorization: ***"),
    ("<password>x</password>", "<password>***"),
    ('<parameter name="password">x', '<parameter name="password">***'),
    ("the api key: x", "the api key: ***"),
    ("config.password = x", "config.password = ***"),
    ("password\uff1ax", "password\uff1a***"),
    ('{"\\u0070assword": "x"}', MASK),
    ('{"pass\\u200bword": "x"}', MASK),
    ("pass\u200bword: x", MASK),
    ('{"pass!word": "x"}', MASK),
    (json.dumps([json.dumps({"a": {"pass word?": "x"}})]), MASK),
    (json.dumps([json.dumps({"a": {"b": "x"}})]), json.dumps([json.dumps({"a": {"b": "x"}})])),
    ("count the token usage: 5", "count the token usage: 5"),
    ("password:", "password:"),
    ("password: ***", "password: ***"),
    ("which password?", "which password?"),
    ("page_token=x", "page_token=x"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "shown"), TEXTS, ids=range(len(TEXTS)))
def test_texts(text: str, shown: str) -> None:
    """What stands behind a key in a text is masked, in code, JSON, tags, headers and addresses; words that are no key stay."""
    redaction = Redaction.common()
    assert redaction.text(text) == shown
    assert redaction.text(shown) == shown


UNREAD = [
    ('{"user": "u", "passw', False),
    ('{"user": "u", "password', False),
    ('{"user": "u", "password"', True),
    ('{"password hunter2', False),
    ("{password: hunter2}", True),
    ("<arg_key>password</arg_key><arg_value>x", True),
    ("log_in(u, password='x'", True),
    ("'pass word', 'x'", True),
    ('{"\\u0070assword" "x"', True),
    ("{&quot;password&quot;: 1", True),
    ("please reset my password now", False),
    ('{"text": "reset my password as soon as you can"', False),
]


@pytest.mark.parametrize(("text", "is_masked"), UNREAD, ids=range(len(UNREAD)))
def test_texts_that_nobody_could_read(text: str, is_masked: bool) -> None:
    """Of a payload in text nothing is kept where a key may stand in it; where none does, it is kept as it is."""
    redaction = Redaction.common()
    assert redaction.unread(text) == (MASK if is_masked else text)
    assert redaction.unread(text.encode()) == (MASK if is_masked else text)


@dataclass
class Login:
    user: str
    passwd: str = "app-secret"


def log_in(user: str, password: str = "app-secret") -> str:
    """A sample tool."""
    raise ValueError(f"bad {password!r} for {user}")


def by_alias(user: str, word: Annotated[str, Param(alias="password")]) -> str:
    """A sample tool."""
    raise ValueError(word)


def in_class(login: Login, note: str = "") -> str:
    """A sample tool."""
    raise ValueError(login.passwd)


def request(url: str, headers: dict[str, Any] | None = None, body: Any = None) -> Any:
    """A sample tool."""
    raise ValueError(f"{url} {headers} {body}")


def test_parameters_and_fields_become_secret() -> None:
    """A parameter, an alias of one, or a declared field inside one makes the parameter secret: masked, without default in the schema."""
    registry = Registry(redaction=Redaction.common())
    made = {function.__name__: registry.register(function) for function in (log_in, by_alias, in_class, request)}
    assert {name: set(tool.secret) for name, tool in made.items()} == {
        "log_in": {"password"},
        "by_alias": {"word"},
        "in_class": {"login"},
        "request": set(),
    }
    assert "app-secret" not in json.dumps([tool.schema for tool in made.values()])
    assert "app-secret" not in json.dumps(registry.schemas("openai"))
    assert registry.dispatch.__self__ is registry  # type: ignore[attr-defined]  # a bound method has it
    assert "app-secret" not in str(registry.run("log_in", {"user": "u"}).error)


def test_without_a_redaction_nothing_changes() -> None:
    """Without one, names mean nothing: only what is declared secret is."""
    sink = MemorySink()
    registry = Registry(sinks=[sink])
    tool = registry.register(log_in)
    registry.run("log_in", {"user": "u", "password": "p"})
    assert (tool.secret, tool.guarded, tool.redaction, registry.redaction) == (frozenset(), False, None, None)
    assert sink.records[0].arguments == {"user": "u", "password": "p"}


def test_what_is_beside_stays() -> None:
    """Only what a key names is masked: what stands beside it is on record, and paths, kinds and counts stay."""
    sink = MemorySink()
    registry = Registry(sinks=[sink], redaction=Redaction(["authorization", "*token*"]))
    registry.register(request)
    registry.run("request", {"url": "u", "headers": {"Authorization": "Bearer x", "Accept": "text"}, "body": [{"t": 1, "Token": [2, 3]}]})
    (record,) = sink.records
    assert record.arguments == {"url": "u", "headers": {"Authorization": MASK, "Accept": "text"}, "body": [{"t": 1, "Token": MASK}]}
    assert record.invoked == record.arguments
    assert record.error == "the tool request failed: ValueError: u {'Authorization': '***"


def test_metadata_and_ids() -> None:
    """What the caller says of a call is redacted like its arguments."""
    sink = MemorySink()
    registry = Registry(sinks=[sink], redaction=Redaction(["*token*"], lambda text: text.replace("ada@example.org", "<mail>")))
    registry.register(request)
    registry.run("request", {"url": "u"}, call_id="c ada@example.org", metadata={"user": "ada@example.org", "more": {"Token": 5}})
    registry.run("no ada@example.org", {})
    first, second = sink.records
    assert (first.call_id, first.metadata) == ("c <mail>", {"user": "<mail>", "more": {"Token": MASK}})
    assert (second.tool, second.error) == ("no <mail>", 'there is no tool named "no <mail>"; the tools are "request"')


def test_results_for_the_model() -> None:
    """What a tool returns is redacted where it is written for a model, and untouched for the program; that can be switched off."""

    def fetch() -> dict[str, Any]:
        return {"api_key": "k", "mail": "ada@example.org", "n": 4}

    for results in (True, False):
        registry = Registry(redaction=Redaction(["api_key"], lambda text: text.replace("ada@example.org", "<mail>"), results=results))
        registry.register(fetch)
        result = registry.run("fetch")
        assert result.value == fetch() == registry.dispatch("fetch")
        for text in (result.to_text(), json.dumps(result.to_message("openai")), json.dumps(result.to_message("gemini"))):
            assert ("ada@example.org" in text or "k" in json.loads(result.to_text())["api_key"]) is not results


def _raises(_: str) -> str:
    raise KeyError("no")


def _exits(_: str) -> str:
    raise SystemExit(3)


@pytest.mark.parametrize("redactor", [_raises, _exits, lambda _: None, lambda _: b"x"], ids=["raises", "exits", "none", "bytes"])
def test_a_redactor_that_fails(redactor: Callable[[str], Any]) -> None:
    """A redactor that fails breaks no call: every text is masked wholly, and counted."""
    sink = MemorySink()
    redaction = Redaction(redactor=redactor)
    registry = Registry(sinks=[sink], redaction=redaction)

    @registry.tool
    def shout(text: str, times: int = 1) -> str:
        return text.upper() * times

    result = registry.run("shout", {"text": "quiet", "times": "2"})
    assert result.value == "QUIETQUIET"
    assert result.to_text() == MASK
    assert "quiet" not in repr(sink.records)
    refused = registry.run("shout", {"text": ["quiet", 5], "times": "quiet"}).error
    assert "- $.times: expected an integer, and another value came, which is kept secret" in str(refused)
    assert sink.records[-1].error == str(refused)
    assert sink.records[-1].arguments == {"text": [MASK, MASK], "times": MASK}
    assert registry.run("quiet", {}).to_text() == f'Error: there is no tool named "{MASK}"; the tools are "shout"'
    assert "quiet" not in repr(sink.records)
    assert redaction.lost_texts > 5


def test_numbers_reach_the_redactor_as_text() -> None:
    """A card's number may be sent as a number: what the redactor changes of it takes its place."""
    sink = MemorySink()
    registry = Registry(sinks=[sink], redaction=Redaction(redactor=lambda text: "<card>" if text == "4111111111111111" else text))

    @registry.tool
    def pay(card: int, amount: float) -> None: ...

    registry.run("pay", {"card": 4111111111111111, "amount": 2.5})
    assert sink.records[0].arguments == {"card": "<card>", "amount": 2.5}


def test_registries_that_meet() -> None:
    """Tools of a registry that is included keep what it hides, and are hidden by the new one as well; copies hide the same."""
    inner = Registry(redaction=Redaction(["pin"], lambda text: text.replace("one", "1")))
    inner.register(request)
    outer = Registry(redaction=Redaction(["cvv"], lambda text: text.replace("two", "2")))
    outer.include(inner)
    for registry in (outer, outer.filter(["request"]), outer.tightened(STRICT)):
        sink = MemorySink()
        registry.add_sink(sink)
        registry.run("request", {"url": "one two", "body": {"pin": 5, "cvv": 6}})
        assert sink.records[0].arguments == {"url": "1 2", "body": {"pin": MASK, "cvv": MASK}}
        assert sink.records[0].error is not None
        assert "one" not in sink.records[0].error
        registry.remove_sink(sink)
    assert joined(None, None) is None
    assert joined(outer.redaction, None) is outer.redaction


def test_calls_that_were_found_in_text() -> None:
    """How a call was found, and what a cut-off answer held, show nothing that is hidden."""
    sink = MemorySink()
    registry = Registry(sinks=[sink], redaction=Redaction(["*token*"]))
    registry.register(request)
    calls = registry.parse_calls('<tool_call>{"name": "request", "arguments": {"url": "u", "body": {"token": 1, "token": 1}}}</tool_call>')
    assert all("token" not in str(item.before) for item in calls[0].diagnostics)
    with pytest.raises(ToolboxError):
        registry.parse_calls('<tool_call>{"name": "request", "arguments": {"url": "u", "body": {"token": "CANARY')
    assert "CANARY" not in repr(sink.records)


@given(key=st.text(max_size=40), value=st.text(max_size=20))
@settings(max_examples=200, deadline=None)
def test_any_key_and_text(key: str, value: str) -> None:
    """Whatever key and text come, nothing raises, and what a hidden key holds is not shown."""
    redaction = Redaction(["*secret*"])
    shown = redaction.value({key: value, f"{key} Secret": f"<{value}>"})
    assert f"<{value}>" not in [shown[name] for name in shown if redaction.hides(name)]
    assert isinstance(redaction.text(f"{key}={value}"), str)
    assert isinstance(redaction.unread(f"{key}={value}"), str)


@pytest.mark.parametrize("policy", [LENIENT, STRICT], ids=lambda item: item.name)
def test_the_function_gets_what_came(policy: Any) -> None:
    """What is hidden from others reaches the function as it is."""
    seen: list[Any] = []
    registry = Registry(policy, redaction=Redaction.common(redactor=lambda _: "gone"))

    @registry.tool
    def keep(password: str, body: dict[str, Any]) -> None:
        seen.append((password, body))

    registry.dispatch("keep", {"password": "p", "body": {"token": "t", "text": "x"}})
    assert seen == [("p", {"token": "t", "text": "x"})]


@pytest.mark.parametrize("arguments", [{"q": "x", "password=hunter2": 1}, {"q": "x", "opts": {"password: hunter2": 1}}])
def test_a_key_that_holds_what_it_hides(arguments: dict[str, Any]) -> None:
    """A name that nobody has declared is looked through like a text."""
    memory = MemorySink()
    registry = Registry(sinks=[memory], redaction=Redaction.common())

    @registry.tool
    def look(q: str, opts: dict[str, int] | None = None, password: str = "") -> None:
        """Look."""

    result = registry.run("look", arguments)
    assert "hunter2" not in result.to_text() + repr(memory.records) + repr(result.report)
    assert "password" in repr(memory.records[0].arguments)
