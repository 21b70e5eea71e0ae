"""`python -m benchmarks.tokens.request_page > docs/request.md`: one whole request, as it is sent.

The executor's first request of a job goes through the real graph and a real client to a local
provider. A test compares the page with what is sent now.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agents.graph.build import build
from agents.graph.job_input import JobInput, initial_state
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.ports.environment import Environment
from agents.ports.memory import MemoryRecord, MemoryWorkspace, ports_over
from agents.runs.start_files import start_files
from benchmarks.provider import ProviderServer, Reply, Request, ToolCall
from benchmarks.tokens.counted import overhead
from sandbox.protocol import Command, Layer, Limits, RunResult

MODEL = "groq:llama-3.3-70b-versatile"
TASK = "Plot the monthly sales in sales.csv as a bar chart, and say which month was the best."
FILES = {"sales.csv": b"day,amount\n2026-01-02,19.90\n2026-01-03,5.00\n2026-02-01,7.25\n"}
STEPS = [
    "Sum the amounts in sales.csv by month in sales.py, and check the sums with a small test.",
    "Draw the bar chart into sales.png, and print the best month.",
]
ENVIRONMENT = Environment(
    "3.11.9",
    ("matplotlib 3.11.2", "numpy 2.4.6", "pandas 3.1.1", "pytest 9.2.0"),
    ("awk", "find", "git", "grep", "rg", "sed", "tar"),
)
_PAGE = """\
# One whole request

What the executor's model is sent in its first call of a job. Later calls have the same beginning,
and after it the model's replies and the answers of its tools. The parts are explained in
[agents.md](agents.md#what-a-model-sees).

This page is written by `python -m benchmarks.tokens.request_page > docs/request.md`; a test
compares it with what is sent. Instructions and tools take {overhead:,} tokens
here, at four bytes each. The options are {options}.

## Instructions

The message `system` ([executor/system](../agents/prompts/executor/system.md.j2)):

```text
{system}
```

## Task

The message `user` ([executor/task](../agents/prompts/executor/task.md.j2)):

```text
{user}
```

## Tools

```json
{tools}
```
"""


class NoSandbox:
    """The example runs no code."""

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See `sandbox.protocol.Sandbox`."""
        raise AssertionError(f"{command.argv} should not run within {limits}")

    async def check(self) -> tuple[Layer, ...]:
        """See `sandbox.protocol.Sandbox`."""
        return ()

    async def close(self) -> None:
        """See `sandbox.protocol.Sandbox`."""


def _answer(request: Request) -> Reply:
    if request.forced_tool == "Plan":
        return Reply(tool_calls=(ToolCall("Plan", {"steps": STEPS}),))
    if request.forced_tool == "Verdict":
        said = {"verdict": "revise", "feedback": "Nothing has run."}
        return Reply(tool_calls=(ToolCall("Verdict", said),))
    return Reply("It was February.")


async def first_request() -> Request:
    """The executor's first request of the example."""
    with ProviderServer(_answer) as server:
        pool = ModelPool(ModelOptions({"groq": "none"}, {"groq": server.groq_url}))
        record = MemoryRecord()
        workspace = MemoryWorkspace(record, FILES)
        ports = replace(
            ports_over(record, NoSandbox(), RoleModels.alone(pool, MODEL)),
            workspace=workspace,
            environment=ENVIRONMENT,
        )
        files = await start_files(ports)
        job = JobInput(
            TASK,
            files=tuple(FILES),
            inputs=files.listing,
            contents=files.texts,
            max_revisions=1,
        )
        try:
            await build(None).ainvoke(initial_state(job), context=ports)
        finally:
            await pool.aclose()
    return next(each for each in server.requests if each.forced_tool is None)


def page(request: Request) -> str:
    """The page about a request. Pure."""
    system, user = request.messages
    beside: Mapping[str, Any] = {
        name: value for name, value in request.body.items() if name not in ("messages", "tools")
    }
    options = ", ".join(f"`{name}: {json.dumps(value)}`" for name, value in sorted(beside.items()))
    return _PAGE.format(
        overhead=overhead(request),
        options=options,
        system=system.text.rstrip(),
        user=user.text.rstrip(),
        tools="\n".join(map(json.dumps, request.body["tools"])),
    )


if __name__ == "__main__":
    sys.stdout.write(page(asyncio.run(first_request())))
