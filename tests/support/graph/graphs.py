"""A graph for tests: ports in memory, a recording that the test writes, and the test's sandbox."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import RunControl
from langgraph.types import Command as Resume

from agents.attempt import Ports, ToolCallSequencer
from agents.calls.serializer import SERIALIZER
from agents.graph.build import Graph, build
from agents.graph.job_input import initial_state
from agents.graph.memory_ports import MemoryRecord, MemoryWorkspace, ports_over
from agents.graph.outcome import Outcome, read_outcome
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.ports import Bounds
from agents.runs.sources import unloadable
from agents.sandbox_programs import source
from agents.state import JobFields
from sandbox.protocol import Command, End, IsolationLayer, Limits, RunResult, Sandbox, Stream

Written = dict[str, Any]


def call(name: str, **args: Any) -> dict[str, Any]:
    """A tool call of a recorded reply."""
    return {"name": name, "args": args}


def turn(role: str, expect: str, *reply: Any, after: int | None = None) -> Written:
    """A recorded turn for a request that contains `expect`; `reply` consists of texts and tool
    calls.
    """
    written_reply = {
        "content": " ".join(part for part in reply if isinstance(part, str)),
        "tool_calls": [part for part in reply if not isinstance(part, str)],
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }
    written: Written = {"role": role, "expect": expect, "match": "contains", "reply": written_reply}
    return written if after is None else {**written, "after": after}


PLAN = turn("planner", "The task:", call("Plan", steps=["Write it.", "Run it.", "Mend it."]))


ASKED = "No `verify` has shown"
"""Fettle's request to a model that ends a pass with source files but without a verification."""


def verdict(expect: str, decision: str, feedback: str = "", run: str | None = None) -> Written:
    """A recorded judgement of the evidence that contains `expect`."""
    runs = [run] if run else []
    return turn("critic", expect, call("Verdict", verdict=decision, feedback=feedback, runs=runs))


def printed(text: str = "", *, code: int = 0, error: str = "", **files: bytes) -> RunResult:
    """A run that ended by itself."""
    return RunResult(
        End.EXITED, code, None, Stream(text), Stream(error), 0.01, changed=_rename_files(files)
    )


TASK = "Add two numbers."
TURNS = [
    PLAN,
    turn(
        "executor", TASK,
        call("python", code="one", plan_steps=[1]), call("python", code="two", plan_steps=[2]),
    ),
    turn(
        "executor", "exit code 0",
        call("write_file", path="a.py", content="a", plan_steps=[3]),
        call("verify", command=["check"]), after=1,
    ),
    turn("executor", "exit code 0", call("write_file", path="b.txt", content="b"), after=2),
    turn("executor", "wrote b.txt", "First.", after=3),
    verdict("(revision 1)", "revise", "Again."),
    turn("executor", "Again.", call("python", code="three")),
    turn("executor", "exit code 0", "Second.", after=5),
    verdict("(revision 2)", "approve", run="r6"),
]  # fmt: skip
"""A job of two revisions, which a test may interrupt at any point. Each revision ends with a file
that its verification has not seen, so the verification runs again, and once more without a.py.
"""
RUNS = ["one", "two", "check", "check", "check", "three", "check", "check"]
MODEL_CALLS = 9
CALLS = MODEL_CALLS + 6 + 4
"""The number of its calls: models, tools, and runs of verifications."""


class Crash(BaseException):
    """A crash. It is not an Exception, so that no handler of the product catches it, as in
    a kill.
    """


def _rename_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name.replace("__", "."): content for name, content in files.items()}


Planned = RunResult | Exception | Callable[[Mapping[str, bytes]], RunResult]
"""The result of a program; it may depend on the program's files."""


def needs(path: str, content: bytes | None = None, out: str = "ok\n") -> Planned:
    """A program that loads a file: the job's version, or exactly this content."""

    def run(files: Mapping[str, bytes]) -> RunResult:
        loaded = files.get(path, unloadable(path, b""))
        if loaded == content or (content is None and unloadable(path, b"") not in loaded):
            return printed(out)
        return printed(error=f"ImportError: {path} cannot be loaded\n", code=1)

    return run


ANSWERS: dict[str, Planned] = {
    **{code: printed(f"{code}\n", **{code: code.encode()}) for code in ("one", "two", "three")},
    "check": needs("a.py"),
}
"""The results of the programs of TURNS."""


@dataclass
class PlannedSandbox:
    """Returns a planned result for each program, by the last word of its command. If the planned
    result is an exception, it is raised. `files_per_run` has the files of each run.
    """

    answers: Mapping[str, Planned]
    ran: list[str] = field(default_factory=list)
    files_per_run: list[Mapping[str, bytes]] = field(default_factory=list)

    async def run(self, command: Command, limits: Limits) -> RunResult:
        code = command.argv[-1]
        if code == source("changed_code"):
            return printed("{}")  # TURNS has no code that can be parsed
        self.ran.append(code)
        self.files_per_run.append(command.files)
        answer = self.answers[code]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, RunResult) else answer(command.files)

    async def check(self) -> tuple[IsolationLayer, ...]:
        return ()

    async def close(self) -> None:
        """Has no resources to close."""


@cache
def _graph() -> Graph:
    """The graph of all tests; a worker has one graph for all jobs, too."""
    return build(InMemorySaver(serde=SERIALIZER))


@dataclass
class Journey:
    """One job in one graph, with as many attempts as the test starts."""

    graph: Graph
    record: MemoryRecord
    ports: Ports
    thread: str

    @classmethod
    def plan(
        cls,
        folder: Path,
        turns: Sequence[Written],
        sandbox: Sandbox,
        files: Mapping[str, bytes] | None = None,
        bounds: Bounds | None = None,
    ) -> Journey:
        folder.mkdir(exist_ok=True)
        written = {"about": "Written by a test; no provider was called.", "turns": list(turns)}
        (folder / "side.yaml").write_text(yaml.safe_dump(written, sort_keys=False))
        return cls.play(folder, "side", sandbox, files, bounds)

    @classmethod
    def play(
        cls,
        folder: Path,
        name: str,
        sandbox: Sandbox,
        files: Mapping[str, bytes] | None = None,
        bounds: Bounds | None = None,
    ) -> Journey:
        record = MemoryRecord()
        models = RoleModels.alone(ModelPool(ModelOptions(recordings=folder)), f"recording:{name}")
        ports = replace(
            ports_over(record, sandbox, models),
            workspace=MemoryWorkspace(record, files),
            bounds=bounds or Bounds(),
        )
        return cls(_graph(), record, ports, thread=secrets.token_hex(8))

    @property
    def config(self) -> dict[str, Any]:
        return {"configurable": {"thread_id": self.thread}}

    def with_ports(self, **others: Any) -> Ports:
        return replace(self.ports, **others)

    async def begin(self, job: JobFields, control: RunControl | None = None) -> dict[str, Any]:
        start = self.ports.workspace.digest  # a worker does the same
        return await self._on(initial_state({**job, "start": start}), control)

    async def go_on(self) -> dict[str, Any]:
        """Continue as the next worker would: with the workspace from the record and the same
        journal.
        """
        self.ports = self.with_ports(
            workspace=MemoryWorkspace(self.record), sequencer=ToolCallSequencer()
        )
        return await self._on(None)

    async def decide(self, action: str, **more: Any) -> dict[str, Any]:
        """Decide the open review."""
        state = await self.graph.aget_state(self.config)
        return await self.resume(state.interrupts[0].id, action=action, by="Ada", **more)

    async def resume(self, review: str, **decision: Any) -> dict[str, Any]:
        return await self._on(Resume(resume={review: decision}))

    async def _on(self, feed: Any, control: RunControl | None = None) -> dict[str, Any]:
        state: dict[str, Any] = await self.graph.ainvoke(
            feed, self.config, context=self.ports, durability="sync", control=control
        )
        return state

    async def outcome(self) -> Outcome:
        return read_outcome((await self.graph.aget_state(self.config)).values)

    def event_data(self, *kinds: str) -> list[Mapping[str, Any]]:
        """The data of the events of these kinds, in order."""
        return [event.data for event in self.record.events.values() if event.kind in kinds]

    def kinds(self) -> list[str]:
        return [event.kind for event in self.record.events.values()]


def only(items: Iterable[Any], condition: Callable[[Any], bool] = lambda _: True) -> Any:
    """The only item that fulfils the condition."""
    (only_item,) = [item for item in items if condition(item)]
    return only_item
