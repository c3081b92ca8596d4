"""Text to the arguments of one call: what is found, what is recorded, and what is refused."""

from dataclasses import replace
from typing import Any

import pytest

from toolbox.diagnostics import DiagnosticKind, Risk
from toolbox.errors import PayloadError
from toolbox.payload import KnownTools, extract_arguments
from toolbox.policy import ABSORBING, LENIENT, STRICT, Limits

INFO, W, R = Risk.INFO, Risk.WARNING, Risk.RISKY
EXTRACTED, REPAIRED, DECODED = DiagnosticKind.EXTRACTED, DiagnosticKind.REPAIRED, DiagnosticKind.DECODED
CLOSED, UNWRAPPED, AGAIN = DiagnosticKind.CLOSED, DiagnosticKind.UNWRAPPED, DiagnosticKind.DUPLICATE_CALL

# text, arguments, (kind, risk, what) of every record
FOUND: list[tuple[str, Any, list[tuple[DiagnosticKind, Risk, str]]]] = [
    ('{"a": 1}', {"a": 1}, []),
    ("", None, []),
    (" \n ", None, []),
    ("null", None, []),
    ("5", 5, []),
    ('["tea", "milk"]', ["tea", "milk"], []),
    ('"just text"', "just text", []),
    # found inside something else
    ('"{\\"a\\": 2}"', {"a": 2}, [(DECODED, INFO, "JSON text in JSON text")]),
    ('"\\"{\\\\\\"a\\\\\\": 2}\\""', {"a": 2}, [(DECODED, INFO, "JSON text in JSON text")] * 2),
    ('```json\n{"a": 1}\n```', {"a": 1}, [(EXTRACTED, INFO, "code fence")]),
    ('```\n{"a": 1}\n```', {"a": 1}, [(EXTRACTED, INFO, "code fence")]),
    ('```json\n{"a": 1}', {"a": 1}, [(EXTRACTED, INFO, "code fence")]),
    ('```json\n{"a": "use ```x``` here"}\n```', {"a": "use ```x``` here"}, [(EXTRACTED, INFO, "code fence")]),
    ('Here:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}, [(EXTRACTED, W, "a code fence in prose")]),
    ('Sure: {"a": 1}, as you like.', {"a": 1}, [(EXTRACTED, W, "an object in prose")]),
    ('Fill {placeholder}: {"a": 1}', {"a": 1}, [(EXTRACTED, W, "an object in prose")]),
    ('\ufeff{"a": 1}\x00', {"a": 1}, [(EXTRACTED, INFO, "special tokens around it")]),
    ('{"a": "<|im_end|> is kept"}<|im_end|>', {"a": "<|im_end|> is kept"}, [(EXTRACTED, INFO, "special tokens around it")]),
    ('<think>maybe {"a": 2}?</think>{"a": 1}', {"a": 1}, []),
    ('maybe {"a": 2}?</think>{"a": 1}', {"a": 1}, []),
    ("{'a': '</think>'}", {"a": "</think>"}, [(REPAIRED, INFO, "single quotes")]),
    ('<think>x</think>{"a": "</think>",}', {"a": "</think>"}, [(REPAIRED, INFO, "trailing comma")]),
    ('{"a": 1}{"a": 1}', {"a": 1}, [(AGAIN, W, "the same object word for word")]),
    ('{"a": 1}}}', {"a": 1}, [(EXTRACTED, W, "closing brackets too many")]),
    ('"[draft] hello"', "[draft] hello", []),
    ('"```not JSON"', "```not JSON", []),
    ('"[1, 2]"', [1, 2], [(DECODED, INFO, "JSON text in JSON text")]),
    ("```\n['a', 'b']\n```", ["a", "b"], [(EXTRACTED, INFO, "code fence"), (REPAIRED, INFO, "single quotes")]),
    ('{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "name": 7}', {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "name": 7}, []),
    # mended
    ('{"a": 1,}', {"a": 1}, [(REPAIRED, INFO, "trailing comma")]),
    ('{"a": [1, 2,], "t": "a,}b",}', {"a": [1, 2], "t": "a,}b"}, [(REPAIRED, INFO, "trailing comma")]),
    ("{'a': 'say \"hi\"'}", {"a": 'say "hi"'}, [(REPAIRED, INFO, "single quotes")]),
    (
        "{'a': \"what's new\", 'b': False}",
        {"a": "what's new", "b": False},
        [(REPAIRED, INFO, "single quotes"), (REPAIRED, INFO, "Python or JavaScript constant")],
    ),
    ("{'a': 'It's fine', 'b': 1}", {"a": "It's fine", "b": 1}, [(REPAIRED, INFO, "single quotes"), (REPAIRED, W, "apostrophe")]),
    ("{a: 1, $b: 2, c-d: 3}", {"a": 1, "$b": 2, "c-d": 3}, [(REPAIRED, INFO, "unquoted key")]),
    ('{"a": None, "b": undefined}', {"a": None, "b": None}, [(REPAIRED, INFO, "Python or JavaScript constant")]),
    ('{"a": 1 // one\n, /* two */ "b": 2 # three\n}', {"a": 1, "b": 2}, [(REPAIRED, INFO, "comment")]),
    ('{"a": "x // y # z"}', {"a": "x // y # z"}, []),
    ('{"a": "one\n\ttwo"}', {"a": "one\n\ttwo"}, [(REPAIRED, INFO, "raw control character")]),
    ('{"a": "one\ntwo",}', {"a": "one\ntwo"}, [(REPAIRED, INFO, "raw control character"), (REPAIRED, INFO, "trailing comma")]),
    ('{"a": 1 "b": 2}', {"a": 1, "b": 2}, [(REPAIRED, W, "missing comma")]),
    ('{"a": "x"\n"b": "y"}', {"a": "x", "b": "y"}, [(REPAIRED, W, "missing comma")]),
    ('{"a": [{"b": 1} {"b": 2}]}', {"a": [{"b": 1}, {"b": 2}]}, [(REPAIRED, W, "missing comma")]),
    (r'{"a": "C:\Users\x"}', {"a": r"C:\Users\x"}, [(REPAIRED, W, "invalid escape")]),
    (r'{"a": "C:\Users\new"}', {"a": r"C:\Users\new"}, [(REPAIRED, W, "invalid escape")]),
    (r'{"a": "\d+"}', {"a": r"\d+"}, [(REPAIRED, W, "invalid escape")]),
    (r"""{"a": "it\'s"}""", {"a": "it's"}, []),
    ("{\u201ca\u201d: \u201csays \u2018hi\u2019\u201d}", {"a": "says \u2018hi\u2019"}, [(REPAIRED, W, "typographic quotes")]),
    ('{"a": +5, "b": .5, "c": 5.}', {"a": 5, "b": 0.5, "c": 5.0}, [(REPAIRED, W, "number notation")]),
    ("{1: 'a'}", {"1": "a"}, [(REPAIRED, W, "number as key"), (REPAIRED, INFO, "single quotes")]),
    ("{'a': (1, 2)}", {"a": [1, 2]}, [(REPAIRED, INFO, "single quotes"), (REPAIRED, INFO, "Python literal")]),
    ("{'a': (1), 'b': ()}", {"a": 1, "b": []}, [(REPAIRED, INFO, "single quotes"), (REPAIRED, INFO, "Python literal")]),
    ('{"a": """x "y" z"""}', {"a": 'x "y" z'}, [(REPAIRED, INFO, "triple quotes")]),
    ('{"a": "\\ud83c\\udf78",}', {"a": "\U0001f378"}, [(REPAIRED, INFO, "trailing comma")]),
    ('{"a": r"\\d", }', {"a": "\\d"}, [(REPAIRED, INFO, "Python literal"), (REPAIRED, INFO, "trailing comma")]),
    # cut off after a whole value
    ('{"a": "x"', {"a": "x"}, [(CLOSED, W, "closing brackets")]),
    ('{"a": true', {"a": True}, [(CLOSED, W, "closing brackets")]),
    ('{"a": [1, 2]', {"a": [1, 2]}, [(CLOSED, W, "closing brackets")]),
    ('{"a": {"b": 1}', {"a": {"b": 1}}, [(CLOSED, W, "closing brackets")]),
    ('{\n "a": 1\n', {"a": 1}, [(CLOSED, W, "closing brackets")]),
    ('{"a": "x" /* and', {"a": "x"}, [(REPAIRED, INFO, "comment"), (CLOSED, W, "closing brackets")]),
    # a key given twice: the last one counts, and whoever binds the arguments judges
    ('{"a": 1, "a": 2}', {"a": 2}, [(DiagnosticKind.DUPLICATE_KEY, R, "")]),
    ("{'a': 1, 'a': 1}", {"a": 1}, [(REPAIRED, INFO, "single quotes"), (DiagnosticKind.DUPLICATE_KEY, INFO, "")]),
    ("'{\"a\": 1}'", {"a": 1}, [(REPAIRED, INFO, "single quotes"), (DECODED, INFO, "JSON text in JSON text")]),
]


@pytest.mark.parametrize(("text", "arguments", "recorded"), FOUND)
def test_arguments_are_found(text: str, arguments: Any, recorded: list[tuple[DiagnosticKind, Risk, str]]) -> None:
    """The arguments come out as they were meant, and every liberty is on record."""
    found = extract_arguments(text)
    assert found.arguments == arguments
    assert repr(found.arguments) == repr(arguments)
    assert [(item.kind, item.risk, item.conversion) for item in found.diagnostics] == recorded
    assert found.name is None


CUT = "send the complete arguments again"
REFUSED: list[tuple[str, str, str]] = [
    ("I cannot do that.", "not_json", "there is no JSON object in the arguments"),
    ('{"a": 1} or {"a": 2}', "ambiguous", "there are 2 different objects, and only one can be the arguments"),
    ('{"a": 1}{"b": 1}', "ambiguous", "2 different objects"),
    ('{"a": 1}{"a": 1.0}', "ambiguous", "2 different objects"),
    # odd numbers
    ('{"a": 1 000}', "not_json", "a comma or a closing brace was expected"),
    ('{"a": 010}', "not_json", "a number is written in a notation that JSON does not have"),
    ('{"a": 0x10}', "not_json", "notation that JSON does not have"),
    ('{"a": 1_000}', "not_json", "notation that JSON does not have"),
    ('{"a": 1/2}', "not_json", "a comma or a closing brace was expected"),
    ('{"a": 9**9}', "not_json", "a comma or a closing brace was expected"),
    ("{'a': [1 2]}", "not_json", "a comma or a closing bracket was expected"),
    # broken keys and structure
    ('{"city: "Paris"}', "not_json", "a colon was expected after a key"),
    ('{city": "Paris"}', "not_json", "a colon was expected after a key"),
    ('{"a" "b"}', "not_json", "a colon was expected after a key"),
    ('{"a": }', "not_json", "a value was expected"),
    ("{foo: [}", "not_json", "a value was expected"),
    ('{"a": [{"b": 1}}]}', "not_json", "a comma or a closing bracket was expected"),
    ('{"a": "say "hi" now"}', "not_json", "a colon was expected after a key"),
    ('{"a": Paris}', "not_json", "a value in double quotes was expected"),
    ('Args: {"a": ?, "b": {"c": 1}}', "not_json", "a value was expected"),
    ("{,}", "not_json", "a key in double quotes was expected"),
    # code
    ("{'a': __import__('os').system('x')}", "not_json", "a value was expected, not a call"),
    ("{'a': [c for c in ()]}", "not_json", "a value in double quotes was expected"),
    ("{'a': 1 if x else 2}", "not_json", "a colon was expected after a key"),
    ("{'a': f'{x}'}", "not_json", "not one with placeholders"),
    ("{'a': b'x'}", "not_json", "not bytes"),
    ("dict(a=1)", "not_json", "there is no JSON object"),
    # cut off
    ('{"path": "/home/us', "truncated", CUT),
    ('{"a": "x\\', "truncated", CUT),
    ('{"a": "x\\u00', "truncated", CUT),
    ('{"a": 1', "truncated", CUT),
    ('{"a": -', "truncated", CUT),
    ('{"a": 1e', "truncated", CUT),
    ('{"a": tru', "truncated", CUT),
    ('{"a": [1, 2', "truncated", CUT),
    ('{"a": ["x"', "truncated", CUT),
    ('{"a": {"b": "x"', "truncated", CUT),
    ('{"a": "x",', "truncated", CUT),
    ('{"a": "x", "b', "truncated", CUT),
    ('{"a"', "truncated", CUT),
    ('{"a":', "truncated", CUT),
    ("{", "truncated", CUT),
    ('```json\n{"a": "x', "truncated", CUT),
    ('"{\\"a\\": 12', "truncated", CUT),
    # backslashes that can be read in two ways
    (r'{"a": "\d\n"}', "not_json", "backslashes of two kinds"),
    # nothing to decode, nothing to open
    ("'it's", "not_json", "there is no JSON object"),
    ('"{not JSON}"', "not_json", "a colon was expected after a key"),
    ("{'a': 1}, {'a': 2}", "ambiguous", "2 different objects"),
    (
        '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call><tool_call>{"name": "f", "arguments": {"a": 2}}</tool_call>',
        "ambiguous",
        "2 different objects",
    ),
    ("f(a='x", "truncated", CUT),
    ("f(a=1, 2)", "not_json", "an argument without a name came after one with a name"),
    # limits
    ("\ufeff" + "[" * 70 + "]" * 70, "too_deep", "64 levels"),
    ('{"a": "\n", "b": ' + "[" * 70 + "]" * 70 + "}", "too_deep", "64 levels"),
    ("[" * 100_000, "too_deep", "64 levels"),
    ("{'a':" + "[" * 100 + "]" * 100 + "}", "too_deep", "64 levels"),
    ("{'a': " + "9" * 4_301 + "}", "integer_too_long", "4,300 digits"),
    ("{'a': '" + "x" * 70_000 + "'}", "too_large", "only up to 65,536 characters are mended"),
    ("x" * 1_100_000, "too_large", "1,048,576"),
]


@pytest.mark.parametrize(("text", "reason", "message"), REFUSED)
def test_what_has_no_one_reading_is_refused(text: str, reason: str, message: str) -> None:
    """The error says what is wrong and what to send, and quotes nothing of the text, which may hold secrets."""
    with pytest.raises(PayloadError) as refused:
        extract_arguments(text)
    assert refused.value.reason == reason
    assert message in str(refused.value)
    assert "Paris" not in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("policy", "text", "accepted"),
    [
        (STRICT, '{"a": 1}', True),
        (STRICT, '```\n{"a": 1}\n```', False),
        (STRICT, ' {"a": 1,}', False),
        (ABSORBING, '```\n{"a": 1}\n```', True),
        (ABSORBING, '"{\\"a\\": 1}"', True),
        (ABSORBING, 'Well: {"a": 1}', False),
        (ABSORBING, '{"a": 1,}', False),
        (ABSORBING, '{"a": "x"', False),
        (replace(LENIENT, max_risk=Risk.INFO), '{"a": 1,}', True),
        (replace(LENIENT, max_risk=Risk.INFO), '{"a": 1 "b": 2}', False),
        (replace(LENIENT, limits=Limits(repair_text=20)), '{"a": "' + "x" * 20 + '",}', False),
        (replace(LENIENT, limits=Limits(repair_text=20)), '{"a": "' + "x\n" * 20 + '"}', True),
    ],
)
def test_the_policy_decides_how_far_it_goes(policy: Any, text: str, accepted: bool) -> None:
    """A step that the policy does not allow ends in a refusal."""
    if accepted:
        assert extract_arguments(text, policy=policy).arguments
    else:
        with pytest.raises(PayloadError):
            extract_arguments(text, policy=policy)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [('{"a": "x', {"a": "x"}), ('{"a": [1, 2', {"a": [1, 2]}), ('{"a": 12', {"a": 12}), ('{"a": {"b": 1', {"a": {"b": 1}})],
)
def test_who_accepts_the_risk_gets_what_arrived(text: str, arguments: Any) -> None:
    """With a raised risk, a payload that was cut off is used and marked as truncated."""
    found = extract_arguments(text, policy=replace(LENIENT, max_risk=Risk.RISKY))
    assert found.arguments == arguments
    assert [(item.kind, item.risk) for item in found.diagnostics] == [(DiagnosticKind.TRUNCATED, R)]


CITY = {"city": "Paris"}
NAMED: list[tuple[str, Any, list[tuple[DiagnosticKind, Risk]]]] = [
    ('{"name": "get_weather", "arguments": {"city": "Paris"}}', CITY, [(UNWRAPPED, W)]),
    ('{"name": "getWeather", "parameters": "{\\"city\\": \\"Paris\\"}"}', CITY, [(UNWRAPPED, W)]),
    ('[{"name": "get_weather", "arguments": {"city": "Paris"}}]', CITY, [(UNWRAPPED, W)]),
    ('{"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}', CITY, [(UNWRAPPED, W)]),
    ('{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}', CITY, [(UNWRAPPED, W)]),
    ("get_weather(city='Paris')", CITY, [(EXTRACTED, W), (REPAIRED, INFO)]),
    ('[get_weather(city="Paris")]<|eot_id|>', CITY, [(EXTRACTED, INFO), (EXTRACTED, W)]),
    ('get_weather("Paris")', CITY, [(EXTRACTED, W), (DiagnosticKind.BOUND, W)]),
    ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>', CITY, [(EXTRACTED, INFO)]),
    ('Action: get_weather\nAction Input: {"city": "Paris"}\n\nThought: done', CITY, [(EXTRACTED, INFO)]),
    ('get_weather\n{"city": "Paris"}', CITY, [(EXTRACTED, W)]),
]


@pytest.mark.parametrize(("text", "arguments", "recorded"), NAMED)
def test_an_envelope_that_names_the_tool_is_opened(
    tools: KnownTools, text: str, arguments: Any, recorded: list[tuple[DiagnosticKind, Risk]]
) -> None:
    """The name that travels with the arguments has to be the tool's own."""
    found = extract_arguments(text, known=tools, tool="get_weather")
    assert found.arguments == arguments
    assert [(item.kind, item.risk) for item in found.diagnostics] == recorded


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "send_mail", "arguments": {"city": "Paris"}}',
        "send_mail(to='x', text='y')",
        '<tool_call>{"name": "send_mail", "arguments": {"city": "Paris"}}</tool_call>',
    ],
)
def test_an_envelope_for_another_tool_is_refused(tools: KnownTools, text: str) -> None:
    """Arguments for one tool never reach another one."""
    with pytest.raises(PayloadError) as refused:
        extract_arguments(text, known=tools, tool="get_weather")
    assert refused.value.reason == "wrong_tool"


def test_arguments_of_the_tools_own_names_are_no_envelope(tools: KnownTools) -> None:
    """A tool may have a parameter called ``name`` or ``arguments``; then nothing is opened."""
    assert extract_arguments('{"to": "a", "text": "b"}', known=tools, tool="send_mail").diagnostics == ()


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>' * 2, {"a": 1}),
        (r"my\_tool(my\_item=1)", {"my_item": 1}),
        ('{"name": "f", "arguments": ""}', {}),
        ('{"name": "f", "arguments": [{"a": 1}]}', {"a": 1}),
        ('{"name": "f", "arguments": []}', {}),
        ("`f(a=1)`", {"a": 1}),
    ],
)
def test_calls_for_any_tool_are_opened(text: str, arguments: Any) -> None:
    """Where no tool is given, any name will do."""
    assert extract_arguments(text).arguments == arguments


def test_without_a_tool_the_name_comes_along() -> None:
    """Who does not know the tool yet is told its name."""
    assert extract_arguments('{"name": "any", "arguments": {"a": 1}}').name == "any"
    assert extract_arguments("any(a=1)").arguments == {"a": 1}


@pytest.mark.parametrize(
    "text", ['{"name": "x", "data": {"a": 1}}', '{"name": "x", "input": 5}', '{"tool": "hammer", "arguments": {"a": 1}, "size": 3}']
)
def test_arguments_that_look_like_an_envelope_are_left_alone(text: str) -> None:
    """Only a name with arguments, and nothing else, makes an envelope."""
    found = extract_arguments(text)
    assert (found.name, found.diagnostics) == (None, ())


def test_bytes_are_utf8_text() -> None:
    """Bytes are decoded; what is no text is refused."""
    assert extract_arguments('{"a": "é"}'.encode()).arguments == {"a": "é"}
    with pytest.raises(PayloadError) as refused:
        extract_arguments(b'{"a": "\xff"}')
    assert refused.value.reason == "not_text"
