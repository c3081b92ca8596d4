"""Texts that look like calls and are not, calls that are written in two ways, and values that nobody sent."""

from collections.abc import Collection, Sequence
from typing import Any

import pytest

from toolbox.diagnostics import DiagnosticKind, Risk
from toolbox.errors import PayloadError
from toolbox.payload import KnownTools, extract_arguments, find_calls

PARAMETERS = {"delete": ["path", "dry_run"], "search": ["query", "limit", "options"], "send": ["to", "text"], "f": ["a", "b"]}
REQUIRED = {"delete": ["path"], "send": ["to"]}
DROPPED = (DiagnosticKind.DROPPED, Risk.WARNING, "$")
CLOSED = (DiagnosticKind.CLOSED, Risk.WARNING, "$")
REPAIRED = (DiagnosticKind.REPAIRED, Risk.WARNING, "$")


class Tools:
    """Four tools that are known by their exact names."""

    def resolve(self, name: str) -> str | None:
        return name if name in PARAMETERS else None

    def parameters(self, name: str) -> Sequence[str]:
        return PARAMETERS[name]

    def required(self, name: str) -> Collection[str]:
        return REQUIRED.get(name, [])

    def takes_any(self, name: str) -> bool:
        return name == "anything"


TOOLS: KnownTools = Tools()
CALL = '{"name": "delete", "arguments": {"path": "/x"}}'
OTHER = '{"name": "delete", "arguments": {"path": "/y"}}'
X: Any = {"path": "/x"}

Marks = list[tuple[DiagnosticKind, Risk, str]]


def repeated(path: str) -> tuple[DiagnosticKind, Risk, str]:
    """The mark of a key with two values."""
    return DiagnosticKind.DUPLICATE_KEY, Risk.RISKY, path


def marks(diagnostics: Any) -> Marks:
    """What is on record beside the way the call was found."""
    kinds = (DiagnosticKind.DROPPED, DiagnosticKind.CLOSED, DiagnosticKind.DUPLICATE_KEY)
    return [
        (item.kind, item.risk, item.path)
        for item in diagnostics
        if item.kind in kinds or item.conversion in ("a closing tag inside a value", "name taken as text")
    ]


# text, arguments of the one call, marks
ENVELOPES: list[tuple[str, Any, Marks]] = [
    ('{"name": "delete", "arguments": {"path": "/x"}, "input": {"path": "/x"}}', X, []),
    ('{"name": "delete", "arguments": {"path": "/x"}, "input": {}}', X, []),
    ('{"name": "delete", "arguments": {"path": "/x"}, "confirm": false}', X, [DROPPED]),
    ('{"name": "delete", "arguments": {"path": "/x"}, "type": "soft"}', X, [DROPPED]),
    ('{"name": "delete", "tool": "delete", "arguments": {"path": "/x"}}', X, []),
    ('{"type": "function_call", "status": "completed", "call_id": "1", "name": "delete", "arguments": {"path": "/x"}}', X, []),
    ('{"role": "assistant", "content": "Now.", "tool_calls": [{"id": "1", "type": "function", "function": ' + CALL + "}]}", X, []),
    ('{"tool_calls": [' + CALL + '], "function_call": ' + CALL + "}", X, []),
    # repeated keys belong to the arguments, and their paths stop at the parameter
    ('{"name": "search", "arguments": {"limit": 1, "limit": 2}}', {"limit": 2}, [repeated("$.limit")]),
    ('[{"name": "search", "arguments": {"limit": 1, "limit": 2}}]', {"limit": 2}, [repeated("$.limit")]),
    ("{'name': 'search', 'arguments': {'limit': 1, 'limit': 2}}", {"limit": 2}, [repeated("$.limit")]),
    ('<tool_call>{"name": "search", "arguments": {"limit": 1, "limit": 2}}</tool_call>', {"limit": 2}, [repeated("$.limit")]),
    ("search(limit=1, limit=2)", {"limit": 2}, [repeated("$.limit")]),
    ("[search(limit=1, limit=2)]", {"limit": 2}, [repeated("$.limit")]),
    ("search({'limit': 1, 'limit': 2})", {"limit": 2}, [repeated("$.limit")]),
    ("search(args={'limit': 1, 'limit': 2})", {"limit": 2}, [repeated("$.limit")]),
    ("search(**{'limit': 1}, limit=2)", {"limit": 2}, [repeated("$.limit")]),
    ("search('q', 1, {'k': 1, 'k': 2})", {"query": "q", "limit": 1, "options": {"k": 2}}, [repeated("$.options")]),
    ('{"name": "search", "arguments": {"options": {"k": 1, "k": 2}}}', {"options": {"k": 2}}, [repeated("$.options")]),
    ('{"name": "delete", "name": "delete", "arguments": {"path": "/x"}}', X, [(DiagnosticKind.DUPLICATE_KEY, Risk.INFO, "$")]),
]


@pytest.mark.parametrize(("text", "arguments", "recorded"), ENVELOPES)
def test_what_stands_beside_the_arguments_is_on_record(text: str, arguments: Any, recorded: Marks) -> None:
    """Both readers give the same arguments, with the same marks."""
    (call,) = find_calls(text, known=TOOLS)
    found = extract_arguments(text, known=TOOLS, tool=call.name)
    for given, diagnostics in ((call.arguments, call.diagnostics), (found.arguments, found.diagnostics)):
        assert given == arguments
        assert marks(diagnostics) == recorded


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "delete", "arguments": {"path": "/x"}, "dry_run": true}',
        '{"name": "delete", "arguments": {"path": "/x"}, "dryRun": true}',
        '{"name": "delete", "arguments": {"path": "/x"}, "parameters": {"path": "/y"}}',
        '{"name": "delete", "arguments": {"path": "/x"}, "input": "/y"}',
        '{"tool_calls": [' + CALL + '], "dry_run": true}',
        '{"type": "function", "function": ' + CALL + ', "dry_run": true}',
        '{"tool_calls": [' + CALL + '], "function_call": ' + OTHER + "}",
        '{"name": "delete", "tool": "search", "arguments": {"path": "/x"}}',
        '{"name": "delete", "tool": "other", "arguments": {"path": "/x"}}',
        '{"name": "delete", "arguments": {"path": "/x"}, "arguments": {"path": "/y"}}',
        '{"name": "search", "name": "delete", "arguments": {"path": "/x"}}',
        f"<tool_call>{CALL[:-1]}, {OTHER[1:]}</tool_call>",
    ],
)
def test_an_envelope_with_two_readings_is_refused(text: str) -> None:
    """Arguments in two places, two names, two calls."""
    with pytest.raises(PayloadError) as refused:
        find_calls(text, known=TOOLS)
    assert refused.value.reason == "ambiguous"
    with pytest.raises(PayloadError) as refused:
        extract_arguments(text, known=TOOLS, tool="delete")
    assert refused.value.reason == "ambiguous"


F, P = "<function=f>", "<parameter=a>"
TAGS: list[tuple[str, Any, Marks]] = [
    (F + P + "1</parameter></function>", {"a": "1"}, []),
    (F + P + "1</parameter><parameter=a>2</parameter></function>", {"a": "2"}, [repeated("$.a")]),
    ('<invoke name="f"><parameter name="a">1</parameter><parameter name="a">2</parameter></invoke>', {"a": "2"}, [repeated("$.a")]),
    (
        "<tool_call>f\n" + "<arg_key>a</arg_key><arg_value>1</arg_value>\n<arg_key>a</arg_key><arg_value>2</arg_value></tool_call>",
        {"a": "2"},
        [repeated("$.a")],
    ),
    (F + P + "1</parameter>", {"a": "1"}, [CLOSED]),
    (f"<tool_call>{F}{P}1</parameter></tool_call>", {"a": "1"}, [CLOSED]),
    ('<invoke name="f"><parameter name="a">1</parameter>\n', {"a": "1"}, [CLOSED]),
    ("<tool_call>f\n<arg_key>a</arg_key><arg_value>1</arg_value>", {"a": "1"}, [CLOSED]),
    (F + "<parameter name='a'>1</parameter><param name=\"b\">2</param></function>", {"a": "1", "b": "2"}, []),
    ("<invoke name='f'><parameter name='a'>1</parameter></invoke>", {"a": "1"}, []),
    (
        F + P + "Close with </parameter> and then </function>.\nMore\n</parameter>\n</function>",
        {"a": "Close with </parameter> and then </function>.\nMore"},
        [REPAIRED],
    ),
]


@pytest.mark.parametrize(("text", "arguments", "recorded"), TAGS)
def test_arguments_in_tags(text: str, arguments: Any, recorded: Marks) -> None:
    """A value ends where the next argument or the end of the call follows."""
    (call,) = find_calls(text, known=TOOLS)
    assert (call.name, call.arguments, marks(call.diagnostics)) == ("f", arguments, recorded)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (F, "truncated"),
        (F + P + "1", "truncated"),
        (F + P + "1</parameter><par", "truncated"),
        (F + P + "1</parameter></func", "truncated"),
        ('<invoke name="f"><parameter name="a">1</parameter><parameter na', "truncated"),
        ("<tool_call>f\n<arg_k", "truncated"),
        ("<tool_call>f\n<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>mo", "truncated"),
        ("<tool_call>f\n<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>b</arg_key>", "truncated"),
        (F + P + "1</parameter>, <parameter=b>2</parameter></function>", "ambiguous"),
        (F + P + "1</parameter><!-- b --><parameter=b>2</parameter></function>", "ambiguous"),
        (F + P + "1</parameter></function> is the end.</parameter></function>", "ambiguous"),
        (F + P + "1</parameter> and so on", "not_json"),
        (F + "text" + P + "1</parameter></function>", "not_json"),
    ],
)
def test_tags_that_are_cut_off_or_tangled_are_refused(text: str, reason: str) -> None:
    """No call runs with a part of its arguments."""
    with pytest.raises(PayloadError) as refused:
        find_calls(text, known=TOOLS)
    assert refused.value.reason == reason


NO_CALLS = [
    # reports and definitions
    '{"type": "tool_result", "name": "delete", "arguments": {"path": "/x"}}',
    '{"role": "tool", "name": "delete", "arguments": {"path": "/x"}}',
    '{"name": "delete", "arguments": {"path": "/x"}, "result": "ok"}',
    '{"name": "delete", "arguments": {"path": "/x"}, "status": "success"}',
    '{"name": "delete", "description": "Deletes a file.", "parameters": {"path": "string"}}',
    # values that nobody sent
    "user = get_user()\nsend(to=user)",
    "u = 'a'\nu = 'b'\nsend(to=u)",
    "u = 5 + y\nsend(to=u)",
    "const u = await getUser();\nsend({to: u});",
    "send(to=result['id'])",
    "send(to=user.email)",
    "for u in users:\n    send(to=u)",
    "def go(u):\n    send(to=u)\n\ngo('me')",
    "delete(path)",
    "delete(path, dry_run=True)",
    # comments, texts, code that nothing runs
    "# delete(path='/x')",
    "// " + CALL,
    "/* delete(path='/x') */",
    "/*\ndelete(path='/x')\n*/",
    "<!--\ndelete(path='/x')\n-->",
    "~~delete(path='/x')~~",
    "print('delete(path=1)')",
    'x = """\ndelete(path=1)\n"""',
    "if False:\n    delete(path='/x')",
    "```python\nif False: delete(path='/x')\n```",
    "```python\ndef go():\n    delete(path='/x')\n```",
    "```js\nfunction go() {\n  delete({path: '/x'});\n}\n```",
    # thoughts, and what others say
    "<think>" + CALL,
    "Hm. <think>" + CALL,
    f"<reasoning>{CALL}</reasoning> Done.",
    "<scratchpad>\n" + CALL,
    f"<tool_result>{CALL}</tool_result>",
    f"<|channel|>analysis<|message|>{CALL}<|end|>",
    f"<|im_start|>user\n{CALL}<|im_end|>",
    f"<|im_start|>tool\n{CALL}",
    # what is not to be done, or was done
    "never run:\ndelete(path='/x')",
    "Do not use this:\n```python\ndelete(path='/x')\n```",
    "Never do this:\ndelete(path='/x')\ndelete(path='/y')",
    "Don't: `delete(path='/x')`",
    "I already ran:\n" + CALL,
    "Observation:\n" + CALL,
]


@pytest.mark.parametrize("text", NO_CALLS)
def test_what_was_plainly_not_meant_is_no_call(text: str) -> None:
    """Reports, definitions, comments, thoughts, the words of others, and what the model says it will not do."""
    assert find_calls(text, known=TOOLS) == []


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        (CALL + OTHER, ["/x", "/y"]),
        (CALL + ";" + OTHER, ["/x", "/y"]),
        (f"{CALL}; {OTHER} {CALL.replace('x', 'z')}", ["/x", "/y", "/z"]),
        (f"<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n{CALL}<|im_end|>", ["/x"]),
        (f"<|channel|>analysis<|message|>{OTHER}<|end|><|channel|>commentary to=functions.delete<|message|>{{'path': '/x'}}", ["/x"]),
        ("delete(path='<think>')", ["<think>"]),
        ("{'name': 'delete', 'arguments': {'path': '<tool_result>'}}", ["<tool_result>"]),
        ("I can't find it, so I will call:\n\ndelete(path='/x')", ["/x"]),
        ("if __name__ == '__main__':\n    delete(path='/x')", ["/x"]),
        ("def go():\n    delete(path='/x')\n\ngo()", ["/x"]),
        ("where = '/x'\ndelete(path=where)", ["/x"]),
        ("[delete(path=home)]", ["home"]),
        ("delete(path=Place.HOME)", ["Place.HOME"]),
    ],
)
def test_what_was_meant_comes_out(text: str, paths: list[str]) -> None:
    """The same words around a call that is meant."""
    assert [call.arguments["path"] for call in find_calls(text, known=TOOLS)] == paths


LIMIT = '{"limit": 5}'


@pytest.mark.parametrize(
    "text",
    [
        f'print(search(query="tea", options={LIMIT}))',
        f'x = search(query="tea", options={LIMIT})',
        f'await search(query="tea", options={LIMIT})',
        f'>>> search(query="tea", options={LIMIT})',
        f'Sure:\nsearch(query="tea", options={LIMIT})',
    ],
)
def test_a_call_as_code_is_read_as_a_whole(text: str) -> None:
    """Whatever stands around it."""
    found = extract_arguments(text, known=TOOLS, tool="search")
    assert found.arguments == {"query": "tea", "options": {"limit": 5}}
    assert [(item.risk, item.conversion) for item in found.diagnostics] == [(Risk.WARNING, "a call as code")]


@pytest.mark.parametrize(
    "text",
    [
        f"query: tea\noptions: {LIMIT}",
        f"- query: tea\n- options: {LIMIT}",
        f'"query": "tea", "options": {LIMIT}',
        f"query=tea&options={LIMIT}",
        f'<parameter name="query">tea</parameter><parameter name="options">{LIMIT}</parameter>',
        f"<query>tea</query><options>{LIMIT}</options>",
        f"options: {LIMIT}",
        f'"tea", {LIMIT}',
        f"other({LIMIT})",
        f'options={LIMIT}, query="tea"',
        f"search(query=get(), options={LIMIT})",
        f"x = {LIMIT}",
        f"# {LIMIT}",
        f"<!-- {LIMIT} -->",
        f"~~{LIMIT}~~",
        f"Do not use {LIMIT}",
        f"<think>{LIMIT}",
        "<think>nothing to send</think>",
        f'{{"type": "tool_result", "name": "search", "arguments": {LIMIT}}}',
    ],
)
def test_an_object_that_is_not_all_of_the_arguments_is_refused(text: str) -> None:
    """The value of one argument is never taken for all of them, and what was not meant is not taken at all."""
    with pytest.raises(PayloadError) as refused:
        extract_arguments(text, known=TOOLS, tool="search")
    assert refused.value.reason == "not_json"


@pytest.mark.parametrize("label", ["Sure: ", "Arguments: ", "**Arguments**: ", "args = ", "Action: search\nInput: ", "Call it with "])
def test_an_object_in_prose_is_found(label: str) -> None:
    """What introduces all of the arguments."""
    assert extract_arguments(label + LIMIT, known=TOOLS, tool="search").arguments == {"limit": 5}


@pytest.mark.parametrize("text", ['{"x": -E+5}', '{"x": +e5}', '{"x": .e5}', "f(x=-E5)", "f(x=e+5)"])
def test_an_exponent_without_digits_before_it_is_no_number(text: str) -> None:
    """The refusal is the package's own."""
    with pytest.raises(PayloadError):
        extract_arguments(text)


def test_escapes_of_python() -> None:
    """Hexadecimal escapes mean one character; octal ones may be meant otherwise."""
    assert extract_arguments(r"{'a': '\x41'}").arguments == {"a": "A"}
    with pytest.raises(PayloadError, match="octal escape"):
        extract_arguments(r"{'a': '\101'}")


def test_a_value_that_can_not_be_read_is_no_other_tool() -> None:
    """The refusal says what is wrong."""
    with pytest.raises(PayloadError, match="not a call") as refused:
        extract_arguments('delete(path=open("x"))', known=TOOLS, tool="delete")
    assert refused.value.reason == "not_json"
