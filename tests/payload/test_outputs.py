"""A model's whole output to calls: every convention, calls in prose, and texts in which no call was made."""

import json
from dataclasses import replace
from typing import Any

import pytest

from toolbox.diagnostics import DiagnosticKind, Risk
from toolbox.errors import PayloadError
from toolbox.payload import KnownTools, find_calls
from toolbox.policy import ABSORBING, LENIENT, STRICT, Limits, ProseCalls

Calls = list[tuple[str, Any]]
WEATHER: Calls = [("get_weather", {"city": "Paris"})]
BOTH: Calls = [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"})]
JSON_CALL = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
JSON_ROME = '{"name": "get_weather", "arguments": {"city": "Rome"}}'

SHAPES: list[tuple[Any, Calls]] = [
    (JSON_CALL, WEATHER),
    (f"[{JSON_CALL}, {JSON_ROME}]", BOTH),
    ('{"name": "get_weather", "parameters": {"city": "Paris"}}', WEATHER),
    ('{"tool": "get_weather", "args": {"city": "Paris"}}', WEATHER),
    ('{"function": "get_weather", "input": {"city": "Paris"}}', WEATHER),
    ('{"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}', WEATHER),
    ('{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}', WEATHER),
    ('{"get_weather": {"city": "Paris"}}', WEATHER),
    ('{"get_weather": [{"city": "Paris"}, {"city": "Rome"}]}', BOTH),
    ('{"name": "get_weather", "city": "Paris"}', WEATHER),
    ('["get_weather", {"city": "Paris"}]', WEATHER),
    ('[["get_weather", {"city": "Paris"}], ["get_weather", {"city": "Rome"}]]', BOTH),
    ('{"name": "ping"}', [("ping", {})]),
    ('{"name": "ping", "arguments": null}', [("ping", {})]),
    ('{"name": "get_weather", "arguments": "{\\"city\\": \\"Paris\\"}"}', [("get_weather", '{"city": "Paris"}')]),
    ([{"get_weather": '{"city": "Paris"}'}], [("get_weather", '{"city": "Paris"}')]),
    ([{"name": "get_weather", "arguments": {"city": "Paris"}}], WEATHER),
    (["Let me see.", {"get_weather": {"city": "Paris"}}], WEATHER),
    (["```python\nprint(default_api.get_weather(city='Paris'))\n```"], WEATHER),
    ({"name": "functions.getWeather", "arguments": {"city": "Paris"}}, WEATHER),
    ("{'name': 'get_weather', 'arguments': {'city': 'Paris'}}", WEATHER),
    ("[{'get_weather': {'city': 'Paris'}}]", WEATHER),
    ('"{\\"get_weather\\": {\\"city\\": \\"Paris\\"}}"', WEATHER),
    ('{"get_weather": {"city": "Rome", "city": "Paris"}}', WEATHER),
    ('{"functionName": "get_weather", "arguments": {"city": "Paris"}}', WEATHER),
    ('{"name": "get_weather()", "arguments": {"city": "Paris"}}', WEATHER),
    ('{"tool": {"name": "get_weather", "arguments": {"city": "Paris"}}}', WEATHER),
    ('{"functions": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}', WEATHER),
    ('{"functions": [{"name": "get_weather", "parameters": {"city": {"type": "string"}}}]}', []),
    ('{"functions": [{"name": "main", "args": {"argv": "list"}}]}', []),
    ('{"function": "get_weather(city=\'Paris\')"}', WEATHER),
    ("[{'call': 'get_weather(city=\"Paris\")'}, {'call': 'get_weather(city=\"Rome\")'}]", BOTH),
    ('{"function": "get_weather(city=\'Paris\') is the one", "city": "Rome"}', []),
    ('{"function": "call get_weather(city=\'Paris\')"}', []),
    ('{"tool_calls": [5]}', []),
    ('{"get_weather": 5}', []),
    ('{"get_weather": {"city": {"type": "string"}}}', []),
    ('{"name": "get_weather", "arguments": 5}', []),
    ('[[[[[[{"name": "ping"}]]]]]]', []),
    ([5, "ping()", ("get_weather", {"city": "Paris"})], [("ping", {}), *WEATHER]),
    ([], []),
    (None, []),
    (5, []),
    ("", []),
    (b'{"get_weather": {"city": "Paris"}}', WEATHER),
]

BARS = "\uff5c"
BEGIN, SEP, END = (f"<{BARS}tool\u2581{what}{BARS}>" for what in ("call\u2581begin", "sep", "call\u2581end"))
BARRED = f"{BARS}DSML{BARS}"
DSML = '{0}<*parameter name="days" string="false">{1}</*parameter></*invoke>'.replace("*", BARRED)
CONVENTIONS: list[tuple[str, Calls]] = [
    (f"<tool_call>\n{JSON_CALL}\n</tool_call>\n<tool_call>{JSON_ROME}</tool_call>", BOTH),
    (f"<tool_call>\n{JSON_CALL}", WEATHER),
    ("<tool_call>\n{'name': 'get_weather', 'arguments': {'city': 'Paris'},}\n</tool_call>", WEATHER),
    (f"<tool_call>\n```json\n{JSON_CALL}\n```\n</tool_call>", WEATHER),
    (f"<tool_calls>[{JSON_CALL}, {JSON_ROME}]</tool_calls>", BOTH),
    (f"<function_call> {JSON_CALL} </function_call>", WEATHER),
    (f"<functioncall> {JSON_CALL}", WEATHER),
    (f"<|im_start|>{JSON_CALL}<|im_end|>", WEATHER),
    (f"<think>Not {JSON_ROME}.</think>\n<tool_call>{JSON_CALL}</tool_call>", WEATHER),
    ("<tool_call>get_weather(city='Paris')</tool_call>", WEATHER),
    ("<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>", WEATHER),
    ("<tool_call>ping</tool_call>", [("ping", {})]),
    ('<tool_call>get_weather {"city": "Paris"}</tool_call>', WEATHER),
    ("<tool_call>?</tool_call> get_weather:\n" + JSON_CALL, WEATHER),
    (f"<|im_start|>{{broken}}<|im_start|>{JSON_CALL}", WEATHER),
    ("<tool_call>```", []),
    ('<function=get_weather>{"city": "Paris"}', WEATHER),
    ('<invoke name="get_weather">{"city": "Paris"}</invoke>', WEATHER),
    ('<invoke name="ping"/>', [("ping", {})]),
    ("<|start|>x<|message|>Hm.<|channel|>commentary to=functions.ping<|message|>{}", [("ping", {})]),
    ("<function=store><parameter=data>[1, 2]</parameter></function>", [("store", {"data": [1, 2]})]),
    ("<function=store><parameter=data>[1, 2</parameter></function>", [("store", {"data": "[1, 2"})]),
    ("<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>", WEATHER),
    (
        "<function=send_mail><parameter=to>a@b</parameter><parameter=text>1 < 2\n\nok</parameter></function>",
        [("send_mail", {"to": "a@b", "text": "1 < 2\n\nok"})],
    ),
    ('Sure. <function=get_weather>{"city": "Paris"}</function><function=get_weather>{"city": "Rome"}</function>', BOTH),
    ('<function_calls><invoke name="get_weather"><parameter name="city">Paris</parameter></invoke></function_calls>', WEATHER),
    (
        DSML.format('<*invoke name="get_weather"><*parameter name="city" string="true">Paris</*parameter>'.replace("*", BARRED), "3"),
        [("get_weather", {"city": "Paris", "days": 3})],
    ),
    (f"[TOOL_CALLS] [{JSON_CALL}, {JSON_ROME}]</s>", BOTH),
    ('[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}[TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}', BOTH),
    (f"<|python_tag|>{JSON_CALL}; {JSON_ROME}<|eom_id|>", BOTH),
    ("<|python_tag|>get_weather(city='Paris')", WEATHER),
    (f'{BEGIN}function{SEP}get_weather\n```json\n{{"city": "Paris"}}\n```{END}', WEATHER),
    (f'{BEGIN}get_weather{SEP}{{"city": "Paris"}}{END}{BEGIN}get_weather{SEP}{{"city": "Rome"}}{END}', BOTH),
    ('<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}<|call|>', WEATHER),
    (
        '<|recipient|>all\n<|content|>Hm.\n<|from|>assistant\n<|recipient|>get_weather\n<|content|>{"city": "Paris"}<|stop|>',
        WEATHER,
    ),
    ('>>>all\nLet me look.>>>get_weather\n{"city": "Paris"}', WEATHER),
    ('>>>get_weather\n{"city": "Paris"}\n>>>get_weather\n{"city": "Rome"}', BOTH),
    ('get_weather\n{"city": "Paris"}', WEATHER),
    ('I will look it up now.get_weather\n{"city": "Paris"}', WEATHER),
    ('Thought: look.\nAction: get_weather\nAction Input: {"city": "Paris"}\nObservation:', WEATHER),
]

CODE: list[tuple[str, Calls]] = [
    ("[get_weather(city='Paris'), get_weather(city='Rome')]", BOTH),
    ("get_weather(city='Paris')", WEATHER),
    ("getWeather(city='Paris');", WEATHER),
    ("get_weather('Paris')", WEATHER),
    ("get_weather({'city': 'Paris'})", WEATHER),
    ("get_weather(params={'city': 'Paris'})", WEATHER),
    ("get_weather(**{'city': 'Paris'})", WEATHER),
    ("get_weather(city: 'Paris')", WEATHER),
    ("get_weather('city'='Paris')", WEATHER),
    ("store({'x': 1})", [("store", {"data": {"x": 1}})]),
    ("store(data=dict(x=1, y=[2, (3,)]))", [("store", {"data": {"x": 1, "y": [2, [3]]}})]),
    ("ping()", [("ping", {})]),
    ("[get_weather(city='Paris')], [get_weather(city='Rome')]", BOTH),
    ("[get_weather(city='Paris') + get_weather(city='Rome')]", BOTH),
    ("get_weather(city='Paris') or get_weather(city='Rome')", BOTH),
    ("get_weather(city='Paris'); get_weather(city='Rome')", BOTH),
    ("[get_weather(city='Paris')][0]['temperature']", WEATHER),
    ("get_weather(city='Paris').get('temperature')", WEATHER),
    ("print(get_weather(city='Paris'))", WEATHER),
    ("[\"get_weather(city='Paris')\", \"get_weather(city='Rome')\"]", BOTH),
    ("['get_weather(city='Paris')', 'get_weather(city='Rome')']", BOTH),
    ("['get_weather(city='Paris'), get_weather(city='Rome')']", BOTH),
    ('["get_weather(city=\\"Paris\\")"]', WEATHER),
    ('["get_weather"(city="Paris")]', WEATHER),
    ("['get_weather'](city='Paris')", WEATHER),
    ("[{'get_weather(city='Paris')}]", WEATHER),
    (r"[get\_weather(city='Paris')]", WEATHER),
    ("math.add(a=1, b=2)", [("math.add", {"a": 1, "b": 2})]),
    ("[get_weather(city='Paris') ** 2, get_weather(city='Rome')[0:2] or get_weather(city='Rome')]", BOTH),
    ('["get_weather(city=\\"Paris\\")"', WEATHER),
    ("['get_weather(city=\"Paris\")'", WEATHER),
    ("['get_weather(city=\"Paris\"']", WEATHER),
    ('[\'get_weather(city="Paris")]', WEATHER),
    ("['get_weather(city=\"Paris\"')]", WEATHER),
    ("['ping(', get_weather(city='Paris')]", WEATHER),
    ("get_weather {broken} get_weather\n{'city': 'Paris'}", WEATHER),
    ("get_weather:\n{'x': 'Paris'}", []),
    ("x = 1\nx = 2\ny = [\nget_weather(city='Paris')", WEATHER),
    ("```python\na = ?\nget_weather(city='Paris')\n```\n```python\nget_weather(city='Rome')\n```", BOTH),
    ("get_weather(city='Paris', days=" + "9" * 5_000 + ")\nping()", [("ping", {})]),
    ("get_weather(x y)\nping()", [("ping", {})]),
    ("add(1, 2)", []),
    ("math.add(a=25/5, b=4 * 10**-1)", [("math.add", {"a": 5, "b": 0.4})]),
    ("math.add(a=1_000, b=-1.5e3)", [("math.add", {"a": 1000, "b": -1500.0})]),
    ("get_weather(city=parisRef)", [("get_weather", {"city": "parisRef"})]),
    ("get_weather(city=Cities.HOME)", [("get_weather", {"city": "Cities.HOME"})]),
    ("get_weather(city='Pa' 'ris')", WEATHER),
    ("get_weather(city='Paris', days=None, )", [("get_weather", {"city": "Paris", "days": None})]),
    ("```python\nget_weather(city='Paris')\n```", WEATHER),
    ("```json\n[get_weather(city='Paris')]\n```", WEATHER),
    ("[get_weather(city='Paris')]\n\nThis looks up the weather.", WEATHER),
    ("You can use get_weather for this:\n\nget_weather(city='Paris')\n\nIt takes a city.", WEATHER),
    ("The calls are:\n1. get_weather(city='Paris')\n2. `get_weather(city='Rome')`", BOTH),
    ("The call:\n```python\nresult = get_weather(city='Paris')\nprint(result)\n```\nDone.", WEATHER),
    ("Like so:\n```js\nconst r = await functions.get_weather({city: 'Paris'});\n```", WEATHER),
    ("Like so:\n```python\nargs = {'city': 'Paris'}\nget_weather(args)\n```", WEATHER),
    ("Like so:\n```python\nwhere = 'Paris'\nget_weather(city=where)\n```", WEATHER),
    ("[get_weather(city='Paris')\n```\n\nDone.", WEATHER),
    ("[get_weather(city='Paris'), unknown_tool(x=1)]", WEATHER),
    (
        'send_mail(to=\'x\', text=\'<tool_call>{"name": "ping", "arguments": {}}</tool_call>\')',
        [("send_mail", {"to": "x", "text": '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'})],
    ),
]

ADD: Calls = [("math.add", {"a": 1, "b": 2})]
OWN = "```python\ndef get_weather({0}):\n    return look_up()\n```\nSo:\n```python\nprint(get_weather(2, 'Paris'))\n```"
LATER: Calls = [("get_weather", {"city": "Paris", "days": 2})]
LABELLED = '{0}: get_weather\n{1}: {{"city": "Paris"}}'
MORE_CODE: list[tuple[str, Calls]] = [
    # names, labels and brackets around a call
    ("**get_weather**(city='Paris')", WEATHER),
    ("Action: get_weather(city='Paris')", WEATHER),
    ("I look it up.\n\nFunction call: `get_weather(city='Paris')`", WEATHER),
    ("**Final answer:** get_weather(city='Paris')\n", WEATHER),
    (LABELLED.format("Function", "Arguments"), WEATHER),
    (LABELLED.format("**Tool name**", "**Input**"), WEATHER),
    ("{get_weather(city='Paris'), get_weather(city='Rome')}", BOTH),
    ("get_weather(city='Paris' days=2)", LATER),
    ("store(data=[1, 2] )", [("store", {"data": [1, 2]})]),
    # calls that begin alike, or come again
    ("get_weather(city='Paris') get_weather(city='Paris')['sky'] get_weather(city='Rome')", BOTH),
    ("ping()\nping().get('a', 'b')\nping(1)\nmath.add(a=1, b=2)", [("ping", {}), *ADD]),
    (f"{JSON_CALL}{JSON_CALL}{JSON_ROME}{JSON_CALL}}}", BOTH),
    ("math.add(1, 2)\nmath.add(1, True)\nmath.add(1, 2)", [*ADD, ("math.add", {"a": 1, "b": True})]),
    # what code does with a result
    ("[round(math.add(1, 2), 3)]", ADD),
    ("```python\nprint(round(math.add(a=1, b=2) * 100, 1), '%')\n```", ADD),
    ("get_weather(city='Paris')['sky'] + ' here, ' + str([get_weather(city='Rome')][0]['sky'])", BOTH),
    ("[get_weather(city='Paris')][0]['a'] + ', ' + [get_weather(city='Paris')][0]['b']\n\nThis joins the two.", WEATHER),
    ("get_weather(city='Paris')['t'] / 2 - get_weather(city='Rome')['t'] / 2", BOTH),
    # brackets and quotes in the wrong order, or one too many
    ("[{'get_weather(city=\"Paris\")}']", WEATHER),
    ("[{'get_weather(city=\"Paris\")}', {'get_weather(city=\"Rome\")}']", BOTH),
    (f"[{JSON_CALL}), {JSON_ROME}]", BOTH),
    (f"[{JSON_CALL}}}, {JSON_ROME}]", BOTH),
    (f"[{JSON_CALL}}}]", WEATHER),
    (f'{{"tool_calls": [{JSON_CALL}}}, {JSON_ROME}]}}', BOTH),
    ("[get_weather({'city': 'Paris'}}), get_weather({'city': 'Rome'})]", BOTH),
    # a brace is missing, and what follows shows that nothing else is
    (f"[{JSON_CALL[:-1]}]", WEATHER),
    (f"<tool_call>{JSON_CALL[:-1]}</tool_call><tool_call>{JSON_ROME}</tool_call>", BOTH),
    # turns that end and begin
    (f"<|im_start|>tool_call\n{JSON_CALL}<|im_end|>\n<|im_start|>tool_call\n{JSON_ROME}<|im_end|>", BOTH),
    (f"{JSON_CALL}<|eot_id|>{JSON_ROME}<|eot_id|>", BOTH),
    ("get_weather(city='Paris')<|im_end|>\n<|im_start|>assistant\nget_weather(city='Rome')<|im_end|>", BOTH),
    # functions that the text writes itself
    (OWN.format("days, city"), LATER),
    (OWN.format("days: int, city: str = 'Rome'"), LATER),
    ("```js\nconst get_weather = (days, city) => look_up();\nget_weather(2, 'Paris');\n```", LATER),
    ("```js\nfunction get_weather(days, city) { return look_up(); }\nget_weather(2, 'Paris');\n```", LATER),
    ("```python\ndef get_weather(place):\n    return look_up()\n\nget_weather(city='Paris')\n```", WEATHER),
    ("```python\ndef add(b, a):\n    return a + b\n\nmath.add(1, 2)\n```", ADD),
    # variables that are left to be filled in, or have no literal
    ('```js\nconst home = "..."; // the city\nget_weather({city: home});\n```', [("get_weather", {"city": "home"})]),
    ("```python\nhome = 'your_city_here'\nget_weather(city=home)\n```", [("get_weather", {"city": "home"})]),
    ("```python\nhome = 'YOUR_CITY'\nhome = 'Paris'\nget_weather(city=home)\n```", WEATHER),
    ("```python\nhome = 'your turn'\nget_weather(city=home)\n```", [("get_weather", {"city": "your turn"})]),
    ("```js\nlet then = function (sky) {\n  show(sky);\n};\nstore(then);\n```", [("store", {"data": "then"})]),
    ("```js\nconst then = (sky) => show(sky);\nstore(then);\n```", [("store", {"data": "then"})]),
]

NOTHING = [
    "Example: get_weather(city='Paris')",
    "Usage: get_weather(city='Paris')",
    "This call is wrong: get_weather(city='Paris')",
    "Do not make this call: get_weather(city='Paris')",
    "I have called:\n" + LABELLED.format("Function", "Arguments"),
    'Tool: get_weather\nInput: {"city": {"type": "string"}}',
    "get_weather(city=paris days=2)",
    "get_weather(city=2 days=2)",
    "get_weather(city='Paris'), which is what I would try.",
    "get_weather(city='Paris') takes 2 seconds.",
    "get_weather(city='Paris') == 'sun' and get_weather(city='Rome')",
    "get_weather(city='Paris') <b>is not to be run</b>",
    OWN.format("x, y"),
    OWN.format("days, city=(1, 2)"),
    OWN.format("days, *rest"),
    OWN.format(""),
    '```js\nconst city = "YOUR_CITY";\nget_weather({city: city});\n```',
    "```python\nhome = 'Paris'\nhome = 'YOUR_CITY'\nget_weather(city=home)\n```",
    "```js\nconst go = () => {\n  get_weather({city: 'Paris'});\n};\n```",
    "```js\nlet go = async function (x) {\n  get_weather({city: 'Paris'});\n};\n```",
    f"[{JSON_CALL[:-1]}], {JSON_ROME}]",
    f"{JSON_CALL[:-1]}</p>",
    '{"name": "get_weather", "arguments": {"city": "Paris", "days": [1]]}}',
    "I'm sorry, I can't do that.",
    "You could use get_weather for this.",
    "The function get_weather(city) returns the weather.",
    "With get_weather(city='Paris') one gets the weather of Paris.",
    "The `get_weather(city='Paris')` call would do, but I won't make it.",
    "get_weather needs a city. Which one?",
    "get_weather(city: str, days: int)",
    "get_weather(city=city, days=days)",
    "Call send_mail:\nsend_mail(to='x')\n",
    "```python\ndef get_weather(city='Paris'):\n    return 1\n```",
    "```python\n# get_weather(city='Paris')\nx = 1\n```",
    "Here is how to use it:\n```python\n# Example usage:\nget_weather(city='Paris')\n```",
    "```python\nprint(\"get_weather(city='Paris')\")\n```",
    "```js\nfunction get_weather(city) { return 1 }\n```",
    "get_weather(city=other_tool(x=1))",
    "get_weather(city=get_weather(city='Paris'))",
    "get_weather(city='Paris' if x else 'Rome')",
    "get_weather(city=9**9**9)",
    "math.add(a=2019-2020, b=1)",
    "math.add(a=1/2/3, b=1)",
    "math.add(1, 2, 3)",
    "get_weather({'city': {'type': 'string'}})",
    "```python\ndef send_mail(to, text):\n    pass\nto = 'a'\nsend_mail(to=to, text='x')\n```",
    "```ts\nget_weather(city): Weather\n```",
    "other_tool(city='Paris')",
    '{"name": "other_tool", "arguments": {"a": 1}}',
    '{"name": "get_weather", "description": "...", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}',
    '{"name": "get_weather", "parameters": {"city": {"type": "string", "description": "a city"}}}',
    '{"city": "Paris"}',
    '[{"city": "Paris"}]',
    "[]",
    '["get_weather", "Paris"]',
    "{'error': 'get_weather failed'}",
    # a text may say anything, also how to call a tool
    '{"text": "<tool_call>{\\"name\\": \\"get_weather\\", \\"arguments\\": {\\"city\\": \\"Paris\\"}}</tool_call>"}',
    '{\'text\': \'<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>\'}',
    "{'text': '\nget_weather(city=\"Paris\")\n'}",
    "I would send {'text': '\nget_weather(city=\"Paris\")\n'} to nobody.",
]


def _plain(calls: Any) -> Calls:
    return [(call.name, call.arguments) for call in calls]


@pytest.mark.parametrize(("raw", "calls"), SHAPES + CONVENTIONS + CODE + MORE_CODE)
def test_calls_are_found(tools: KnownTools, raw: Any, calls: Calls) -> None:
    """Every call that the model made comes out, with its name resolved."""
    assert _plain(find_calls(raw, known=tools)) == calls


@pytest.mark.parametrize("raw", NOTHING)
def test_no_call_is_made_up(tools: KnownTools, raw: str) -> None:
    """Text that only talks about tools, code that is no call, schemas, and unknown tools are no calls."""
    assert find_calls(raw, known=tools) == []


@pytest.mark.parametrize(
    ("raw", "recorded"),
    [
        (JSON_CALL, []),
        (f"<tool_call>{JSON_CALL}</tool_call>", [(DiagnosticKind.EXTRACTED, Risk.INFO, "tool-call tags")]),
        ('get_weather(city="Paris")', [(DiagnosticKind.EXTRACTED, Risk.INFO, "a call as code")]),
        ('So:\n\nget_weather(city="Paris")', [(DiagnosticKind.EXTRACTED, Risk.WARNING, "a call in prose")]),
        (
            "get_weather('Paris')",
            [
                (DiagnosticKind.EXTRACTED, Risk.INFO, "a call as code"),
                (DiagnosticKind.REPAIRED, Risk.INFO, "single quotes"),
                (DiagnosticKind.BOUND, Risk.WARNING, "by position"),
            ],
        ),
        (
            "get_weather(city=paris)",
            [(DiagnosticKind.EXTRACTED, Risk.INFO, "a call as code"), (DiagnosticKind.REPAIRED, Risk.WARNING, "name taken as text")],
        ),
        (
            f"[{JSON_CALL}}}]",
            [(DiagnosticKind.EXTRACTED, Risk.INFO, "a call as code"), (DiagnosticKind.REPAIRED, Risk.WARNING, "bracket too many")],
        ),
        (
            f"[{JSON_CALL[:-1]}]",
            [(DiagnosticKind.EXTRACTED, Risk.INFO, "a call as code"), (DiagnosticKind.REPAIRED, Risk.WARNING, "missing bracket")],
        ),
        (
            f"<tool_call>{JSON_CALL[:-1]}</tool_call>",
            [(DiagnosticKind.EXTRACTED, Risk.INFO, "tool-call tags"), (DiagnosticKind.CLOSED, Risk.WARNING, "closing brackets")],
        ),
        (
            '[get_weather(city="Paris"), get_weather(city=home["city"])]',
            [
                (DiagnosticKind.EXTRACTED, Risk.WARNING, "a call in prose"),
                (DiagnosticKind.DROPPED, Risk.WARNING, "a call that can't be read"),
            ],
        ),
        (f"[{JSON_CALL}, {JSON_CALL}]", [(DiagnosticKind.DUPLICATE_CALL, Risk.WARNING, "the same call word for word")]),
        (
            '[get_weather(city="Paris"',
            [(DiagnosticKind.EXTRACTED, Risk.INFO, "a call as code"), (DiagnosticKind.CLOSED, Risk.WARNING, "closing brackets")],
        ),
    ],
)
def test_how_a_call_was_found_is_on_record(tools: KnownTools, raw: str, recorded: list[tuple[DiagnosticKind, Risk, str]]) -> None:
    """Each call carries what was done to find and to mend it."""
    (call,) = find_calls(raw, known=tools)
    assert [(item.kind, item.risk, item.conversion) for item in call.diagnostics] == recorded
    assert "Paris" not in str([item for item in call.diagnostics if item.path == "$"])


@pytest.mark.parametrize(
    ("raw", "ids"),
    [
        ('{"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ping", "arguments": "{}"}}]}', ["c1"]),
        ('[{"id": "a", "name": "ping", "arguments": {}}, {"id": "b", "name": "ping", "arguments": {}}]', ["a", "b"]),
        ("[TOOL_CALLS]ping[CALL_ID]abc123[ARGS]{}", ["abc123"]),
        ("<|tool_call_begin|>functions.ping:0<|tool_call_argument_begin|>{}<|tool_call_end|>", ["functions.ping:0"]),
    ],
)
def test_call_ids_are_kept(tools: KnownTools, raw: str, ids: list[str]) -> None:
    """Calls with ids of their own are never taken for repetitions."""
    assert [call.call_id for call in find_calls(raw, known=tools)] == ids


@pytest.mark.parametrize(
    "raw",
    [
        "[get_weather(city='Paris'), get_weather(city='Ro",
        "get_weather(city='Paris', days=1",
        "[get_weather(city='Paris'),",
        '{"name": "get_weather", "arguments": {"city": "Par',
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par',
        "<function=get_weather><parameter=city>Par",
        '<invoke name="get_weather"><parameter name="city">Par',
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Par",
        'get_weather\n{"city": "Par',
        '[TOOL_CALLS]get_weather[ARGS]{"city": "Par',
        "```python\nget_weather(city='Par",
    ],
)
def test_a_call_that_was_cut_off_is_refused(tools: KnownTools, raw: str) -> None:
    """The last call may be shorter than it was meant, so that none is run."""
    with pytest.raises(PayloadError) as refused:
        find_calls(raw, known=tools)
    assert refused.value.reason == "truncated"
    assert "Par" not in str(refused.value)


@pytest.mark.parametrize(
    "raw", [f"<tool_call>{JSON_CALL}</tool_call>".replace("get_weather", "other"), '{"tool_calls": [{"name": "other", "arguments": {}}]}']
)
def test_an_unknown_tool_that_was_plainly_called_keeps_its_name(tools: KnownTools, raw: str) -> None:
    """The caller can then tell the model which tools there are."""
    assert [call.name for call in find_calls(raw, known=tools)] == ["other"]


@pytest.mark.parametrize(("layers", "calls"), [(1, WEATHER), (3, WEATHER), (4, [])])
def test_json_text_in_json_text_is_decoded_three_times(tools: KnownTools, layers: int, calls: Calls) -> None:
    """As it is for arguments: a text can hold texts in texts as deep as its length allows."""
    raw = JSON_CALL
    for _ in range(layers):
        raw = json.dumps(raw)
    assert _plain(find_calls(raw, known=tools)) == calls


@pytest.mark.parametrize(
    ("raw", "calls"),
    [
        (JSON_CALL, WEATHER),
        ('{"anything": {"a": 1}}', [("anything", {"a": 1})]),
        (f"<tool_call>{JSON_CALL}</tool_call>", WEATHER),
        ("What about foo(1)?", []),
    ],
)
def test_without_known_tools_any_name_is_taken(raw: str, calls: Calls) -> None:
    """Only shapes and tags count then: code in prose could be anything."""
    assert _plain(find_calls(raw, known=None)) == calls


ONE = 'Well:\n\nget_weather(city="Paris")'
TWO = ONE + '\nget_weather(city="Rome")'


@pytest.mark.parametrize(
    ("policy", "raw", "count"),
    [
        (LENIENT, ONE, 1),
        (LENIENT, TWO, 2),
        (replace(LENIENT, prose_calls=ProseCalls.SINGLE), ONE, 1),
        (replace(LENIENT, prose_calls=ProseCalls.SINGLE), TWO, 0),
        (replace(LENIENT, prose_calls=ProseCalls.OFF), ONE, 0),
        (replace(LENIENT, prose_calls=ProseCalls.OFF), "```python\nget_weather(city='Paris')\n```", 1),
        (ABSORBING, f"<tool_call>{JSON_CALL}</tool_call>", 1),
        (STRICT, JSON_CALL, 1),
        (STRICT, f"<tool_call>{JSON_CALL}</tool_call>", 0),
        (STRICT, "get_weather(city='Paris')", 0),
    ],
)
def test_the_policy_says_which_calls_count(tools: KnownTools, policy: Any, raw: str, count: int) -> None:
    """Calls in prose are the first to go."""
    assert len(find_calls(raw, known=tools, policy=policy)) == count


@pytest.mark.parametrize(
    ("raw", "limits", "reason"),
    [
        ("x" * 200, Limits(text=100), "too_large"),
        ([{"ping": [[[[[]]]]]}], Limits(depth=4), "too_deep"),
        ("[" * 100 + "]" * 100, Limits(), "too_deep"),
        ('{"name": "ping", "arguments": {"a": ' + "9" * 5_000 + "}}", Limits(), "integer_too_long"),
        ("<tool_call>{broken}</tool_call>", Limits(), "not_json"),
        ('<tool_call>{"name": "ping", "arguments": {"a": 01}}</tool_call>', Limits(), "not_json"),
        ("get_weather(x y\n" * 500, Limits(), "not_json"),
    ],
)
def test_what_can_not_be_read_is_refused(tools: KnownTools, raw: Any, limits: Limits, reason: str) -> None:
    """Each limit ends in its own error, and so does a call that is plainly there and broken."""
    with pytest.raises(PayloadError) as refused:
        find_calls(raw, known=tools, policy=replace(LENIENT, limits=limits))
    assert refused.value.reason == reason
