"""Calls in the raw text of local models: each family writes them in its own way, and each now and then in another's."""

from typing import Literal

from toolbox import PayloadError, Registry

registry = Registry()


@registry.tool
def get_weather(city: str, days: int = 1, units: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Forecast the weather of a city."""
    return f"{city}: 21 degrees {units}, {days} days"


@registry.tool
def get_time(city: str) -> str:
    """Tell the time in a city."""
    return f"noon in {city}"


OUTPUTS = {
    "Hermes, Qwen": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": "2"}}\n</tool_call>',
    "Llama, as Python": '[get_weather(city="Oslo", units="Celsius"), get_time(city="Oslo")]',
    "Llama, with its tag": '<|python_tag|>{"name": "get_time", "parameters": {"city": "Oslo"}}',
    "Mistral": '[TOOL_CALLS] [{"name": "get_time", "arguments": {"city": "Oslo"}}]',
    "Qwen coder": "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
    "in a fence, after some words": 'I will ask.\n```json\n{"name": "get_time", "arguments": {"city": "Oslo"}}\n```',
    "thinking aloud first": '<think>The user asks for Oslo.</think>{"name": "getTime", "arguments": "{\\"city\\": \\"Oslo\\"}"}',
    "no call at all": "Oslo is lovely in July. You could use get_weather to find out more.",
    "cut off": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Os',
}

for family, text in OUTPUTS.items():
    print(f"{family}:")
    try:
        calls = registry.parse_calls(text)
    except PayloadError as error:
        # Nothing was run: this text goes back to the model.
        print(f"    refused ({error.reason}): {error}")
        continue
    for call, result in zip(calls, registry.run_calls(calls), strict=True):
        print(f"    {call.name} {call.arguments} -> {result.to_text()}")
    if not calls:
        print("    no call")
