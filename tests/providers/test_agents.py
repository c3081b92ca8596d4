"""The agent examples run by themselves against the local stand-in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolbox import Registry

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.skipif(not hasattr(Registry, "step"), reason="needs Registry.step")
@pytest.mark.parametrize("sdk", ["openai", "anthropic", "google.genai", "ollama"])
def test_agent_example(sdk: str) -> None:
    """Without keys and without a network, an agent asks, calls both tools, and answers."""
    pytest.importorskip(sdk)
    environment = {key: item for key, item in os.environ.items() if not key.endswith(("_API_KEY", "_HOST", "_proxy", "_PROXY"))}
    environment |= {"PYTHONPATH": str(EXAMPLES.parent), "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, str(EXAMPLES / f"agent_{sdk.removeprefix('google.')}.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "It is 21 degrees in Oslo and 17 in Bergen.\n"
