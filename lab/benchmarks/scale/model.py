"""The model's replies: a script of `lab.provider`, for both parts and both sides.

A provider's real client calls it over HTTP, since connections and their limits are a part of a
worker's cost; both sides pay it. The model's name determines the replies, so that the server does
not have to know the jobs.
"""

from __future__ import annotations

import secrets

from lab.provider import Reply, Request, ToolCall

FLIGHT_CALLS = 5
FLIGHT_TOOLS = 2
RESULT_BYTES = 50_000

TASK = "Check that the first primes are found."
_FILE = "primes.py"
_PRIMES = """\
def primes(end):
    return [n for n in range(2, end) if all(n % d for d in range(2, int(n**0.5) + 1))]
"""
_CHECK = "from primes import primes\nassert primes(12) == [2, 3, 5, 7, 11]\nprint('holds')\n"
_STEPS = ["Write a function into a file.", "Verify it against known values.", "Say what came out."]


def flight(seconds: float) -> str:
    """The name of a model that takes `seconds` for each of a job's 5 calls: plan, file,
    verification, answer, approval."""
    return f"groq:bench-flight-{seconds:g}"


def length(tools: int) -> str:
    """The name of a model that replies at once, and calls this number of runs of 50 KB, one per
    reply."""
    return f"groq:bench-length-{tools}"


def answer(request: Request) -> Reply:
    """The script: the server's `--script lab.benchmarks.scale.model:answer`."""
    _, part, amount = request.model.split("-")
    if part == "flight":
        return _reply(request, _flight_call(request.replies_so_far), float(amount))
    calls_left = int(amount) - request.replies_so_far
    return _reply(request, _length_call() if calls_left > 0 else None, 0.0)


def _reply(request: Request, call: ToolCall | None, seconds: float) -> Reply:
    if request.forced_tool == "Plan":
        call = ToolCall("Plan", {"steps": _STEPS})
    elif request.forced_tool == "Verdict":
        call = ToolCall("Verdict", {"verdict": "approve", "feedback": ""})
    if call is None:
        return Reply("It holds.", delay_seconds=seconds)
    return Reply(tool_calls=(call,), delay_seconds=seconds)


def _flight_call(replies: int) -> ToolCall | None:
    match replies:
        case 0:
            return ToolCall("write_file", {"path": _FILE, "content": _PRIMES})
        case 1:
            return ToolCall("verify", {"command": ["python", "-c", _CHECK]})
    return None


def _length_call() -> ToolCall:
    """A run with unique output, because equal bytes would be stored only once."""
    line = f"{secrets.token_hex(4)}-"
    code = f"import sys\nsys.stdout.write({line!r} * {RESULT_BYTES // len(line)})\n"
    return ToolCall("python", {"code": code})
