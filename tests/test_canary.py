"""A canary in whatever may hold a secret is found in nothing that anybody sees: one test over every place that there is."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolbox import (
    LENIENT,
    STRICT,
    AuditStore,
    MemorySink,
    OpenTelemetrySink,
    Param,
    Policy,
    Recovery,
    Redaction,
    Registry,
    ReviewQueue,
    ToolboxError,
    ToolResult,
    replay,
)
from toolbox.audit.report import drift_page, drift_report
from toolbox.cli import main

CANARY = "CANARY-4242"
MAIL = "canary@mail.example"
WAITING = ("waiting", "corrected", "approved")
TOOLS = ("declared", "by_key", "free", "held", "risky", "answer")


def declared(key: Annotated[str, Param(secret=True)], n: int = 1, body: Any = None) -> Any:
    """A tool with a declared secret."""
    raise ValueError(f"{key!r} {n} {body}")


def by_key(user: str, api_token: str, n: int = 1, more: dict[str, Any] | None = None) -> Any:
    """A tool with a secret by its name."""
    raise ValueError(f"bad {api_token} of {user}: {more}")


def free(n: int, url: str = "", body: Any = None, headers: dict[str, str] | None = None) -> Any:
    """A tool that takes anything."""
    raise RuntimeError(f"{n} {url} {headers} {body!r}")


def held(n: int, api_token: str = "", body: Any = None) -> Any:
    """A tool that waits for a person."""


def risky(n: int, api_token: str = "", body: Any = None) -> Any:
    """A tool whose refusals wait for a person."""


def answer(n: int = 1, **rest: Any) -> Any:
    """A tool that gives back what it got."""
    return {"n": n, **rest}


class World:
    """A registry with everything around it, and everything that can be seen of it."""

    def __init__(self, folder: Path, policy: Policy) -> None:
        self.folder = folder
        self.texts: dict[str, str] = {}
        self.log = io.StringIO()
        self.prompts: list[Any] = []
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        telemetry = OpenTelemetrySink(
            tracer_provider=tracers, meter_provider=MeterProvider(metric_readers=[self.reader]), capture_content=True
        )
        self.store = AuditStore(folder / "audit.db")
        self.queue = ReviewQueue(self.store, dead_letters=folder / "letters.jsonl", bury=["rejected"])
        self.sink = MemorySink()
        redaction = Redaction(["*token*", "authorization", "*secret*"], lambda text: text.replace(MAIL, "<mail>"))
        self.registry = Registry(
            policy,
            sinks=[self.sink, self.store, telemetry],
            redaction=redaction,
            recovery=Recovery(self.ask, max_attempts=1, review="partial"),
            review=self.queue,
        )
        for function in (declared, by_key, free, answer):
            self.registry.register(function)
        self.registry.register(held, approval="always")
        self.registry.register(risky, high_risk=True)
        self.asked = 0

    def ask(self, messages: list[Any]) -> str:
        """A model that repeats whatever it is shown, and corrects nothing."""
        self.prompts.append(messages)
        self.asked += 1
        shown = messages[-1]
        status = ("PARTIAL", "SUCCESS", "UNRECOVERABLE")[self.asked % 3]
        fields = [{"field_path": "$.n", "reason": "?", "what_was_tried": str(shown)[:50]}]
        return json.dumps({"recovery_status": status, "corrected_arguments": {"n": 1}, "unrecoverable_fields": fields})

    def run(self, name: str, payload: Any) -> None:
        """Make a call in both ways, and keep all that its caller may show somebody."""
        if name != "declared":  # there alone the name says nothing, and the parameter is declared secret
            payload = _renamed(payload)
        metadata = {"user": MAIL, "conversation_id": f"c {MAIL}", "more": {"Secret": CANARY, "list": [{"token": CANARY}]}}
        results: list[ToolResult] = [self.registry.run(name, payload, metadata=metadata, call_id="id-1")]
        if len(self.texts) % 3 == 0:
            results.append(asyncio.run(self.registry.arun(name, payload, metadata=metadata)))
        for result in results:
            error = result.error
            messages = [result.to_message(provider) for provider in ("openai", "gemini", "mcp", "anthropic")]
            self.texts[f"{len(self.texts)} {name}"] = "\n".join(
                [
                    result.to_text(),
                    repr(result),
                    f"{error} {error!r} {getattr(error, 'args', '')}",
                    repr(result.report),
                    "" if result.report is None else f"{result.report.diagnostics} {result.report.failures} {result.report.to_text(name)}",
                    json.dumps(messages),
                ]
            )

    def seen(self) -> Iterator[tuple[str, str]]:
        """Every text that may end in front of somebody, by where it stands."""
        yield from self.texts.items()
        yield "log", self.log.getvalue()
        yield "records", repr(list(self.sink.records))
        yield "prompts", repr(self.prompts)
        yield "spans", "".join(span.to_json() + repr(span.events) for span in self.exporter.get_finished_spans())
        data = self.reader.get_metrics_data()
        yield "metrics", "" if data is None else data.to_json()
        items = self.queue.items()
        yield "review", repr(items)
        yield "events", repr([self.queue.events(item.id) for item in items])
        for item in items:
            if item.state in WAITING:
                self.queue.reject(item.id, by="p-1", reason="no")
        yield "letters", "".join(path.read_text() for path in self.folder.glob("letters*"))
        report = drift_report(self.store)
        yield "drift report", json.dumps(report.to_dict())
        yield "drift page", drift_page(report)
        yield "stored", repr(list(self.store.records()))
        yield "replay", json.dumps(replay(self.store, self.registry.tightened(STRICT)).to_dict())
        yield "schemas", json.dumps([self.registry.schemas(name) for name in ("openai", "anthropic", "gemini")])
        for path in self.folder.iterdir():
            yield path.name, path.read_bytes().decode("utf-8", "replace")
        self.store.close()
        yield "closed store", "".join(path.read_bytes().decode("latin-1") for path in self.folder.iterdir())

    def leaks(self) -> list[str]:
        """Where a canary can be seen."""
        return [place for place, text in self.seen() if any(spelt in text for spelt in SPELT)]


def _renamed(payload: Any) -> Any:
    """The same payload with the key of the declared secret under a name that a pattern hides."""
    if isinstance(payload, bytes):
        return payload.replace(b"key", b"a_token")
    if isinstance(payload, str):
        return payload.replace("key", "a_token")
    return json.loads(json.dumps(payload).replace("key", "a_token"))


# A canary as it is, and as it stands in JSON with escapes; the mail with its dot and sign as they are.
SPELT = (CANARY, MAIL, CANARY.replace("-", "\\u002d"), MAIL.replace("@", "\\u0040"), MAIL.replace("@", "&#64;"))


@pytest.fixture(params=[LENIENT, STRICT], ids=lambda item: item.name)
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    """A registry with everything around it, whose log is watched."""
    made = World(tmp_path, request.param)
    with _watched(made):
        yield made


class _watched:
    def __init__(self, world: World) -> None:
        self.world, self.logger = world, logging.getLogger("toolbox")
        self.handler = logging.StreamHandler(world.log)
        self.before = self.logger.level, self.logger.propagate

    def __enter__(self) -> World:
        self.logger.addHandler(self.handler)
        self.logger.setLevel(logging.DEBUG)
        self.logger.propagate = False
        return self.world

    def __exit__(self, *_: object) -> None:
        self.logger.removeHandler(self.handler)
        self.logger.setLevel(self.before[0])
        self.logger.propagate = self.before[1]


FORMS: list[Any] = [
    {"n": 1, "key": CANARY, "user": MAIL, "api_token": CANARY},
    {"n": "many", "key": CANARY, "user": MAIL, "apiToken": CANARY, "body": {"Secret": [CANARY]}},
    {"n": [1, 2], "key": CANARY, "user": MAIL, "API TOKEN": CANARY, "url": MAIL},
    {"n": 1, "key": CANARY, "user": [MAIL], "api_token": [CANARY], "headers": {"Authorization": f"Bearer {CANARY}"}},
    {"n": 1, "key": CANARY, "user": "u", "api_token": CANARY, "url": f"https://x.example/?token={CANARY}&to={MAIL}"},
    {"n": 1, "key": CANARY, "user": "u", "api_token": CANARY, "body": json.dumps({"deep": {"my-secret": CANARY, "mail": MAIL}})},
    {"n": "x", "key": CANARY, "user": "u", "api_token": CANARY, "body": [{"a": [{"client_secret": {"b": CANARY}}]}, MAIL]},
    {"n": {"token": CANARY, "mail": MAIL}, "key": CANARY, "user": {"secret": CANARY}, "api_token": {"a": CANARY}},
    {"n": 1, "key": CANARY, "user": "u", "api_token": CANARY, "extra_token": CANARY, "other": {"Token": CANARY, MAIL: MAIL}},
    {"arguments": {"n": 1, "key": CANARY, "user": MAIL, "api_token": CANARY}},
    {"n": 1, "key": CANARY, "user": "u", "api_token": CANARY, "body": f"Authorization: Bearer {CANARY}"},
    [{"token": CANARY, "mail": MAIL}],
    {"n": MAIL, "key": CANARY, "user": "u", "api_token": CANARY, "body": MAIL},
]
TEXTS: list[str] = [
    *(json.dumps(item) for item in FORMS),
    *(json.dumps(item)[:-1] for item in FORMS),
    *(json.dumps(item)[: json.dumps(item).rindex(CANARY) + len(CANARY)] for item in FORMS if CANARY in json.dumps(item)),
    f"{{'n': 1, 'key': '{CANARY}', 'api_token': '{CANARY}', 'user': '{MAIL}',}}",
    f"<tool_call>{json.dumps({'name': 'free', 'arguments': FORMS[1]})}</tool_call>",
    f"by_key(n=1, key='{CANARY}', api_token='{CANARY}', user='{MAIL}')",
    f"<function=by_key><parameter=api_token>{CANARY}</parameter><parameter=user>{MAIL}</parameter></function>",
    f"<tool_call>by_key<arg_key>api_token</arg_key><arg_value>{CANARY}</arg_value></tool_call>",
    f'{{"api_token": {CANARY}}} {{"api_token": "b", "user": "{MAIL}"}}',
    f'{{"n": 1, "api_token": "{CANARY}", "api_token": "x", "secret": "{CANARY}", "secret": 1}}',
    f'{{"n": 1, "body": {{"secret": "{CANARY}", "secret": "x{CANARY}"}}}}',
    json.dumps({"n": 1, "body": f'{{"secret": "{CANARY}", "secret": "x{CANARY}"}}'}),
    f'{{"n": 1, "headers": {{"secret": "{CANARY}", "secret": "x{CANARY}"}}}}',
    json.dumps({"n": 1, "headers": f'{{"secret": "{CANARY}", "secret": "x{CANARY}"}}'}),
    f'{{"n": 1, "\\u0061pi_token": "{CANARY}", "user": "{MAIL}"',
    f'{{"n": 1, "secret": {{"a": "{CANARY}"',
    json.dumps(json.dumps(FORMS[0])),
    f"Write to {MAIL}.",
]


def test_no_form_of_it_is_seen(world: World) -> None:
    """Whatever form a secret comes in, and however the call ends, no place shows it: the canary is nowhere."""
    for name in TOOLS:
        for payload in (*FORMS, *TEXTS, json.dumps(FORMS[0]).encode()):
            world.run(name, payload)
    for payload in TEXTS:
        try:
            calls = world.registry.parse_calls(payload)
        except ToolboxError as error:
            world.texts[f"parse {len(world.texts)}"] = f"{error} {error!r}"
            continue
        world.texts[f"parse {len(world.texts)}"] = repr([call.diagnostics for call in calls])
    world.run(f"no {MAIL}", {"token": CANARY})
    assert {"pending", "done", "unknown_tool"} <= {record.status.value for record in world.sink.records}
    assert world.prompts
    assert world.queue.items()
    assert world.leaks() == []


def test_the_places_do_see_it(tmp_path: Path) -> None:
    """The test can fail: without secrets and redaction, the same canary is found in every kind of place."""
    made = World(tmp_path, LENIENT)
    plain = Registry(LENIENT, sinks=[made.sink, made.store], recovery=Recovery(made.ask, max_attempts=1), review=made.queue)
    for function in (by_key, free, answer):
        plain.register(function)
    plain.register(held, approval="always")
    made.registry = plain
    with _watched(made):
        for name in ("by_key", "free", "held", "answer"):
            for payload in (*FORMS, *TEXTS[::4]):
                made.run(name, payload)
        places = set(made.leaks())
    assert {"log", "records", "prompts", "review", "stored", "drift report", "drift page", "closed store", "audit.db"} <= places


@pytest.mark.parametrize("command", [["check"], ["call"], ["check", "--json"], ["call", "--json"]], ids=" ".join)
def test_the_command_line(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What the command line shows of a call is masked as its record is."""
    (tmp_path / "canary_tools.py").write_text(
        "from typing import Any\nfrom toolbox import Redaction, Registry\nregistry = Registry(redaction=Redaction.common())\n"
        "@registry.tool\ndef log_in(user: str, password: str, body: Any = None, n: int = 1) -> None:\n"
        "    raise ValueError(password, body)\n"
    )
    monkeypatch.chdir(tmp_path)
    for payload in (
        {"user": "u", "password": CANARY, "body": {"api_key": [CANARY]}},
        {"user": "u", "password": [CANARY], "n": "x", "body": {"token": CANARY}},
        {"user": "u", "pass-word": 5, "n": {"token": CANARY}},
    ):
        for text in (json.dumps(payload), json.dumps(payload)[:-1]):
            main([command[0], "log_in", text, "--tools", "canary_tools.py", *command[1:]])
    shown = capsys.readouterr()
    assert "log_in" in shown.out + shown.err
    assert CANARY not in shown.out + shown.err


KEYS = ["api_token", "Secret", "x-token-x", "AUTHORIZATION", "clientSecret", "to\u200bken", "\uff34\uff2f\uff2b\uff25\uff2e"]
INNER = st.recursive(
    st.sampled_from([CANARY, MAIL, f"a {MAIL} b", 1, None, True]).filter(lambda item: item != CANARY),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b c", "n", MAIL]), inner, max_size=3),
    max_leaves=6,
)
SECRETS = st.recursive(
    st.just(CANARY) | st.just(f"x{CANARY}y"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c d"]), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def _bodies(draw: st.DrawFn) -> Any:
    """A value with a secret under a key that is hidden, at any depth, among others that are not."""
    value = {draw(st.sampled_from(KEYS)): draw(SECRETS), **draw(st.dictionaries(st.sampled_from(["q", "r"]), INNER, max_size=2))}
    for _ in range(draw(st.integers(0, 4))):
        value = draw(st.sampled_from([{"w": value}, [value], [1, value], {"v": json.dumps(value)}, {"arguments": value}, {"body": value}]))
    return value


@given(
    body=_bodies(), name=st.sampled_from(TOOLS), n=st.sampled_from([1, "1", "x", [1], None]), form=st.sampled_from(["value", "text", "cut"])
)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_at_any_depth(body: Any, name: str, n: Any, form: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """At whatever depth it stands, in objects, lists and JSON texts, whole or cut off, it is seen nowhere."""
    payload: Any = {"n": n, "body": body, "user": MAIL, "key": CANARY}
    if form != "value":
        payload = json.dumps(payload)
        payload = payload if form == "text" else payload[:-2]
    made = World(tmp_path_factory.mktemp("world"), LENIENT)
    with closing(made.store), _watched(made):
        made.run(name, payload)
        assert made.leaks() == []
