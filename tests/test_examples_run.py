"""Every example runs by itself in a fresh interpreter, warnings as errors, and prints its key lines."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

KEY_LINES = {
    "drift_report": [
        "drift.html: one file, 8 tables, no script",
        "17 calls: 5 as they are, 7 mended, 4 refused, 1 of a tool that does not exist",
        "large   7 calls, 71% as they are",
        "query_inventory, max_results: coerced str->int in 4 of 7 calls",
        'search_term: Annotated[..., Param(alias="searchTerm")]',
    ],
    "audit_store": [
        "  pay {'invoice': 1, 'amount': 10.5} done",
        "  pay {'invoice': 2, 'amount': 99.0} unknown",
        "Its file is sound: True",
        "  done     limit '1', 1 changes, 0 failures",
        "refused: 1 of 4",
    ],
    "approval": [
        "waiting   pay {'to': 'u-4', 'amount': '2500', 'token': '***'}, for u-17",
        "model     Error: the call of pay waits for a person's decision ...",
        "queue     1 item, asked for 2 times, secrets ['token']",
        "refused   hash: the item was corrected after bob had looked at it",
        "ran       paid 250.00 to u-4",
        "refused   illegal_step: it was run already",
        "history   approve by bob",
        "model     the call was rejected: u-9 is not known",
    ],
    "recovery_scripted": [
        "a date and a number in words: booked SFO-JFK on 02 Jul 2026 for 2 in economy",
        "attempt 1: accepted, supported: $.depart (date), $.passengers (number)",
        "a number that nobody knows: RecoveryFailed",
        "attempt 1: misshapen",
        'attempt 2: invented\n    - $.passengers: 3 does not follow from what came, "a few"',
        "attempt 3: unrecoverable",
        '- $.destination: it was fine as it came, "JFK": send it as it came',
        "spent in this conversation: 6 attempts",
        "the function ran 2 times, each time for 2 passengers",
    ],
    "recovery_client": [
        "Review on Thursday, 02 July 2026, 45 minutes",
        "1 accepted",
    ],
    "from_openapi": ["- $.bookId: expected an integer", '"branch": "main"'],
    "from_mcp": ["- $.level: expected one of", "failed: RemoteToolError"],
    "quickstart": [
        "34. a tool that does not exist",
        'info      $.passengers: coerced "2" to 2 (str->int)',
        'warning   $.cabin: kept "coach", which is none of the known choices',
        'warning   $._trace_id: left out "req_abc123", which is not declared',
        '- $.cabin: expected one of "economy", "premium", "business", "first", got "coach".',
        'invoked   query_inventory(search_term="usb", max_results=10, include_discontinued=false, categories=["cables"])',
        "returned  orders in us-east-1: 100 records, desc",
        '- $.status: expected one of "active", "resolved", got "inactive".',
        '- $.priority: expected one of "low", "medium", "high", got "not high".',
        "refused   your arguments were cut off after 73 characters",
        "returned  Ada pays 39.98",
        'api_key="***"',
        '- $.amount: expected a number, got "1,299.00" (refused: would have been read as 1299.00, warning).',
        'there is no tool named "find_flights"; did you mean "search_flights"?',
        "passed as they are",
        '"name": "search_flights"',
    ],
    "from_schema": [
        "return opened for order 1007: wrong_item, 1 lines",
        "- $.lines[0].quantity: expected an integer (at least 1), got 0",
        "[('$', 'str->list')]",
    ],
    "open_source_model": [
        "get_weather {'city': 'Oslo', 'days': '2'} -> Oslo: 21 degrees celsius, 2 days",
        "get_time {'city': 'Oslo'} -> noon in Oslo",
        "no call",
        "refused (truncated): your arguments were cut off",
    ],
    "policies": [
        "strict     refused",
        "absorbing  100 records of orders, asc, aside: {'trace': 'req_1'}",
        "daring     1234 records of orders, asc",
        '- $.milligrams: expected a number, got "1,000.5" (refused: would have been read as 1000.5, warning).',
        '- $.route: expected one of "oral", "iv", got "IV" (refused: would have been read as "iv", info).',
    ],
    "audit_trail": [
        '"event": "tool_call"',
        "close_ticket refused",
        "ticket 13 is locked (token ***)",
        'came:    {"ticket": "8", "reason": "SOLVED", "token": "***"}',
        'invoked: {"ticket": 8, "reason": "solved", "token": "***"}',
    ],
    "otel_prometheus": [
        "answer a customer\n  execute_tool find_orders  done\n    SELECT orders\n",
        "  execute_tool find_orders  done  $.customer str->int, $.status match:case, $.limit str->int\n    SELECT orders\n",
        "  execute_tool refund  failed  $ trailing comma, $.amount str->float\n",
        "  execute_tool  unknown_tool\n",
        'duration_seconds_count{error_type="failed",gen_ai_tool_name="refund",gen_ai_tool_type="function"} 1.0',
        'toolbox_calls_total{gen_ai_request_model="small-1",gen_ai_tool_name="find_orders",toolbox_outcome="done"} 2.0',
        'toolbox_calls_total{gen_ai_request_model="small-1",gen_ai_tool_name="_OTHER",toolbox_outcome="unknown_tool"} 1.0',
        'gen_ai_tool_name="find_orders",toolbox_change_kind="coerced",toolbox_change_risk="info"} 2.0',
        'gen_ai_tool_name="refund",toolbox_failure_reason="missing"} 1.0',
    ],
    "context_injection": [
        "what a model sees: ['order', 'dry_run']",
        "order 7 of Ada: cancelled",
        "$.session: left out",
        "Error: the tool cancel_order failed: LookupError: Ada has no order 99",
        "needs 'session' from the context",
    ],
    "async_calls": [
        "'tool_call_id': 'call_1', 'content': '21 degrees in Oslo'",
        "did not finish within 0.2 s",
        '"town" came instead',
        "all together, not one after the other",
    ],
    "custom_converter": [
        "10.00 EUR",
        "11.00 EUR",
        "it names no currency; send it as in '19.99 EUR'",
        "- $.share.under: missing",
    ],
}
# Examples that need an extra or a model have a test of their own.
ELSEWHERE = {path.stem for path in EXAMPLES.glob("agent_*.py")}


def run(name: str) -> str:
    """What an example prints, run in an interpreter of its own."""
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}
    environment.pop("TOOLBOX_POLICY", None)
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sorted(KEY_LINES))
def test_example_prints_its_key_lines(name: str) -> None:
    """An example runs to its end and shows what it is there to show."""
    printed = run(name)
    missing = [line for line in KEY_LINES[name] if line not in printed]
    assert not missing, printed


def test_every_example_is_run() -> None:
    """No example is without its key lines."""
    assert {path.stem for path in EXAMPLES.glob("*.py")} - ELSEWHERE == set(KEY_LINES)


def test_quickstart_is_deterministic() -> None:
    """The demo prints the same text each time."""
    assert run("quickstart") == run("quickstart")


def test_quickstart_needs_no_rich(tmp_path: Path) -> None:
    """Without rich the demo says the same in plain text."""
    blocker = tmp_path / "plain.py"
    blocker.write_text(
        "import runpy, sys\nsys.modules['rich'] = sys.modules['rich.console'] = None\n"
        f"runpy.run_path({str(EXAMPLES / 'quickstart.py')!r}, run_name='__main__')\n",
        "utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    done = subprocess.run([sys.executable, str(blocker)], capture_output=True, text=True, timeout=60, env=environment, check=True)
    assert [line for line in KEY_LINES["quickstart"] if line not in done.stdout] == []
    assert "┃" not in done.stdout
