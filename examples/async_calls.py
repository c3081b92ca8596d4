"""Several calls of one model turn at once: async tools, synchronous ones in threads, a time limit, results in the order of the calls."""

import asyncio
import time

from toolbox import Registry

registry = Registry()


@registry.tool
async def get_weather(city: str) -> str:
    """Forecast the weather of a city."""
    await asyncio.sleep(0.1)
    return f"21 degrees in {city}"


@registry.tool
def get_time(city: str) -> str:
    """Tell the time in a city. It blocks, so it runs in a thread."""
    time.sleep(0.1)
    return f"noon in {city}"


@registry.tool(timeout_s=0.2)
async def get_traffic(city: str) -> str:
    """Tell how the roads are."""
    await asyncio.sleep(30)
    return f"no jam in {city}"


TURN = {
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}},
        {"id": "call_2", "type": "function", "function": {"name": "get_time", "arguments": '{"city": "Oslo"}'}},
        {"id": "call_3", "type": "function", "function": {"name": "get_traffic", "arguments": '{"city": "Oslo"}'}},
        {"id": "call_4", "type": "function", "function": {"name": "get_weather", "arguments": '{"town": "Rome"}'}},
    ]
}


async def main() -> None:
    started = time.perf_counter()
    results = await registry.arun_calls(registry.parse_calls(TURN), limit=8)
    for result in results:
        print(result.to_message("openai"))
    assert time.perf_counter() - started < 1, "the calls wait for each other"
    print("all together, not one after the other")


asyncio.run(main())
