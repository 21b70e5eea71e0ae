"""The model's script (see `lab.provider`): a job with many runs of code, one per reply.

Programs and their output have the size of real ones: some hundred characters that differ, and a
printed table that fills the shown part of an output.
"""

from __future__ import annotations

from lab.provider import Reply, Request, ToolCall

ROWS = 140
_STEPS = ["Read the measurements.", "Work through them part by part.", "Say what came out."]
_CODE = """\
import random

rows = random.Random({number})
total = 0.0
for line in range({rows}):
    value = rows.gauss(10.0, 2.5)
    total += value
    print(f"part {number:03d} line {{line:04d}} value {{value:9.4f}} total {{total:10.4f}}")
"""


def model(calls: int) -> str:
    """The name of a model that calls this number of runs."""
    return f"groq:bench-tokens-{calls}"


def program(number: int) -> str:
    """The code of one run, counted from 1."""
    return _CODE.format(number=number, rows=ROWS)


def answer(request: Request) -> Reply:
    """The script; the model's name contains the number of calls."""
    if request.forced_tool == "Plan":
        return Reply(tool_calls=(ToolCall("Plan", {"steps": _STEPS}),))
    if request.forced_tool == "Verdict":
        return Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", "feedback": ""}),))
    done = request.replies_so_far
    if done >= int(request.model.rpartition("-")[2]):
        return Reply("All parts were worked through.")
    return Reply(tool_calls=(ToolCall("python", {"code": program(done + 1)}),))
