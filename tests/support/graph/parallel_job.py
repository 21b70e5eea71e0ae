"""A job with two parallel first steps, for tests: its turns, and the results of its programs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from support.graph.graphs import PlannedSandbox, Written, call, printed, turn, verdict

from agents.graph.job_input import job_fields
from sandbox.protocol import Command, Limits, RunResult

TASK = "Count words, and draw them."
JOB = job_fields(TASK, parallel=True)
PROGRAMS = ("one", "two", "more", "whole")
ANSWERS: dict[str, RunResult | Exception] = {
    "one": printed("of one\n", one__txt=b"1"),
    "two": printed("of two\n", two__txt=b"2"),
    "more": printed("of more\n"),
    "whole": printed("of the whole\n"),
}
"""The output and the files of each program."""


def step(does: str, *after: int) -> dict[str, Any]:
    return {"does": does, "after": list(after)}


def plan(*steps: Any) -> Written:
    """The planner's recorded reply."""
    return turn("planner", "The task:", call("ParallelPlan", steps=list(steps)))


PLAN = plan(step("Write count.py."), step("Write draw.py."), step("Join them.", 1, 2))


def branch(number: int, *programs: str, path: str = "", content: str = "") -> list[Written]:
    """The turns of a branch that does a step: perhaps a file, then programs, then an answer."""
    expected_text = f"Do step {number} of this plan"
    first = [call("write_file", path=path, content=content)] if path else []
    turns = []
    for index, code in enumerate(programs):
        calls = [*(first if index == 0 else ()), call("python", code=code)]
        turns.append(turn("executor", expected_text, *calls, after=index))
        expected_text = f"of {code}"
    return [*turns, turn("executor", expected_text, f"Made step {number}.", after=len(programs))]


BRANCHES = [
    *branch(1, "one", "more", path="count.txt", content="count"),
    *branch(2, "two", path="draw.txt", content="draw"),
]
JOINING = [
    turn("executor", "Some of these steps are done", call("python", code="whole"), after=0),
    turn("executor", "of the whole", "All of it works.", after=1),
    verdict("(revision 1)", "approve", run="r4"),
]
TURNS = [PLAN, *BRANCHES, *JOINING]
CALLS = 1 + 6 + 4 + 1 + 3 + 1
"""The plan; models and tools of one branch, of the other; the merge; the joining pass; the word."""
MODEL_CALLS = 9


@dataclass
class MeetingSandbox(PlannedSandbox):
    """Delays the first program of each branch until both branches run."""

    together: Sequence[str] = ("one", "two")
    both: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, command: Command, limits: Limits) -> RunResult:
        result = await super().run(command, limits)
        if command.argv[-1] in self.together:
            if set(self.together) <= set(self.ran):
                self.both.set()
            await asyncio.wait_for(self.both.wait(), 20)
        return result
