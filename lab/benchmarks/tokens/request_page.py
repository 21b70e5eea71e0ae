"""`python -m lab.benchmarks.tokens.request_page > docs/request.md`: complete requests of a job.

A job goes through the real graph, the real sandbox and a real client to a local provider. The page
has the executor's first request and the critic's request. A test compares the page with the present
requests.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass, replace

from agents.graph.build import build
from agents.graph.job_input import initial_state, job_fields
from agents.graph.memory_ports import MemoryRecord, MemoryWorkspace, ports_over
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.ports import Bounds
from agents.ports.environment import SandboxEnvironment
from agents.prompts import fenced
from agents.runs.start_files import start_files
from lab.benchmarks.tokens.counted import overhead, tokens_of
from lab.provider import ProviderServer, Reply, Request, ToolCall
from sandbox.local import LocalSandbox
from settings.worker import WorkerSettings

MODEL = "groq:llama-3.3-70b-versatile"
TASK = "Plot the monthly sales in sales.csv as a bar chart, and say which month was the best."
FILES = {"sales.csv": b"day,amount\n2026-01-02,19.90\n2026-01-03,5.00\n2026-02-01,7.25\n"}
STEPS = [
    "Sum the amounts in sales.csv by month in sales.py, and check the sums with a small test.",
    "Draw the bar chart into sales.png, and print the best month.",
]
MUTATIONS = 4
"""Fewer mutations than a worker tries, so that the last mutation always fits into the time for
experiments.
"""
ENVIRONMENT = SandboxEnvironment(
    "3.11.9",
    ("matplotlib 3.11.2", "numpy 2.4.6", "pandas 3.1.1", "pytest 9.2.0"),
    ("awk", "find", "git", "grep", "rg", "sed", "tar"),
)
_PROGRAM = """\
import csv
from collections import defaultdict


def sum_by_month(rows):
    totals = defaultdict(float)
    for row in rows:
        totals[row["day"][:7]] += float(row["amount"])
    return dict(totals)


def best_month(totals):
    return max(totals, key=totals.get)


def main():
    import matplotlib.pyplot as plt

    with open("sales.csv") as file:
        totals = sum_by_month(csv.DictReader(file))
    plt.bar(list(totals), list(totals.values()))
    plt.title("Sales by month")
    plt.ylabel("amount")
    plt.savefig("sales.png")
    for month, total in totals.items():
        print(f"{month}: {total:.2f}")
    print("best month:", best_month(totals))


if __name__ == "__main__":
    main()
"""
_TEST = """\
from sales import best_month, sum_by_month


def test_amounts_are_summed_by_month():
    rows = [
        {"day": "2026-01-02", "amount": "1.5"},
        {"day": "2026-01-31", "amount": "2"},
        {"day": "2026-02-01", "amount": "4"},
    ]
    assert sum_by_month(rows) == {"2026-01": 3.5, "2026-02": 4.0}


def test_the_best_month_has_the_largest_sum():
    assert best_month({"2026-01": 3.5, "2026-02": 4.0}) == "2026-02"
"""
WORK = (
    ToolCall("write_file", {"path": "sales.py", "content": _PROGRAM, "plan_steps": [1]}),
    ToolCall("write_file", {"path": "test_sales.py", "content": _TEST, "plan_steps": [1]}),
    ToolCall("shell", {"command": "python sales.py", "plan_steps": [2]}),
    ToolCall("verify", {"paths": ["test_sales.py"], "plan_steps": [2]}),
)
ANSWER = (
    "`sales.py` draws the monthly sales into `sales.png`. The best month was 2026-01, with 24.90."
)
_PAGE = """\
# Complete requests

The first request to the executor's model, and the request to the critic's model, in one job. Later
requests to the executor have the same beginning, and after it the model's replies and the answers
of its tools. [What a model sees](agents.md#what-a-model-sees) and
[What the critic sees](agents.md#what-the-critic-sees) explain the parts.

This page is written by `python -m lab.benchmarks.tokens.request_page > docs/request.md`; a test
compares it with the requests that are sent. At four bytes a token, the executor's instructions and
tools take {overhead:,} tokens here, and the critic's request takes {critic_tokens:,}. The options
of both are {options}.

## The executor

### Instructions

The message `system` ([executor/system](../agents/prompts/executor/system.md.j2)):

{system}

### Task

The message `user` ([executor/task](../agents/prompts/executor/task.md.j2)):

{user}

### Tools

{tools}

## The critic

### Instructions of the critic

The message `system` ([critic/system](../agents/prompts/critic/system.md.j2)):

{critic_system}

### The work and the evidence

The message `user` ([critic/evidence](../agents/prompts/critic/evidence.md.j2)):

{critic_user}

### Tools of the critic

{critic_tools}
"""


def _answer(request: Request) -> Reply:
    if request.forced_tool == "Plan":
        return Reply(tool_calls=(ToolCall("Plan", {"steps": STEPS}),))
    if _is_for_critic(request):
        return Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", "runs": ["r2"]}),))
    return Reply(ANSWER) if request.replies_so_far else Reply(tool_calls=WORK)


def _is_for_critic(request: Request) -> bool:
    return "Verdict" in request.tools


@dataclass(frozen=True, slots=True)
class Example:
    """The first request of the job to the model of each role."""

    executor: Request
    critic: Request


async def send_example() -> Example:
    """Run the job. Its programs run in the sandbox of this machine."""
    sandbox = LocalSandbox(WorkerSettings().sandbox_python)
    with ProviderServer(_answer) as server:
        pool = ModelPool(ModelOptions({"groq": "none"}, {"groq": server.groq_url}))
        record = MemoryRecord()
        workspace = MemoryWorkspace(record, FILES)
        ports = replace(
            ports_over(record, sandbox, RoleModels.alone(pool, MODEL)),
            workspace=workspace,
            environment=ENVIRONMENT,
            bounds=Bounds(mutations=MUTATIONS),
        )
        files = await start_files(ports)
        job = job_fields(
            TASK,
            files=tuple(FILES),
            inputs=files.listing,
            contents=files.texts,
            start=workspace.digest,
            max_revisions=1,
        )
        try:
            await build(None).ainvoke(initial_state(job), context=ports)
        finally:
            await pool.aclose()
            await sandbox.close()
    critic = next(filter(_is_for_critic, server.requests))
    work_requests = (request for request in server.requests if not _is_for_critic(request))
    return Example(
        next(request for request in work_requests if request.forced_tool is None), critic
    )


def page(example: Example) -> str:
    """The page about the requests. Pure."""
    system, user = example.executor.messages
    critic_system, critic_user = example.critic.messages
    return _PAGE.format(
        overhead=overhead(example.executor),
        critic_tokens=tokens_of(example.critic),
        options=_options(example.executor),
        system=fenced(system.text),
        user=fenced(user.text),
        tools=_tools(example.executor),
        critic_system=fenced(critic_system.text),
        critic_user=fenced(critic_user.text),
        critic_tools=_tools(example.critic),
    )


def _options(request: Request) -> str:
    beside = {
        name: value
        for name, value in request.body.items()
        if name not in ("messages", "tools", "tool_choice")
    }
    return ", ".join(f"`{name}: {json.dumps(value)}`" for name, value in sorted(beside.items()))


def _tools(request: Request) -> str:
    lines = "\n".join(map(json.dumps, request.body["tools"]))
    return f"```json\n{lines}\n```"


if __name__ == "__main__":
    sys.stdout.write(page(asyncio.run(send_example())))
