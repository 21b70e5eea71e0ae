"""Walks a path: the complete graph, a real sandbox, a local provider, and a worker's retries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command as Resume

from agents.attempt import Ports, ToolCallSequencer
from agents.graph.build import Graph, build
from agents.graph.job_input import initial_state, job_fields
from agents.graph.memory_ports import MemoryBudget, MemoryRecord, MemoryWorkspace, ports_over
from agents.graph.outcome import Outcome, read_outcome
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import Chains, RoleModels
from agents.ports import Bounds
from agents.ports.checks import Checks
from lab.benchmarks.repair.path import RETRIES, Path
from lab.provider import ProviderServer
from sandbox.protocol import Command, IsolationLayer, Limits, RunResult, Sandbox, SandboxUnavailable
from worker.failures import Fail, Retry, classify_failure

TASK: Final = "Write a function that adds two numbers, and test it."
SMALL, LARGE = "groq:llama-3.1-8b-instant", "groq:llama-3.3-70b-versatile"
LIMITS = Limits(wall_seconds=30.0)


@dataclass(frozen=True, slots=True)
class WalkedPath:
    """A path and its outcome. `files` are the files that the path names. `unused` is the number of
    replies and decisions that were not requested (negative: more were requested).
    """

    path: Path
    end: str
    repairs: tuple[int, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    unused: int = 0

    @property
    def right(self) -> bool:
        """Whether the outcome is the expected one."""
        actual = (self.end, self.repairs, self.files, self.unused)
        return actual == (self.path.end, self.path.repairs, self.path.files, 0)


@dataclass(slots=True)
class Troubled:
    """A sandbox that fails in some of its runs, as a failing engine would."""

    sandbox: Sandbox
    broken: frozenset[int]
    runs: int = field(default=0)

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See `sandbox.protocol.Sandbox`."""
        self.runs += 1
        if self.runs in self.broken:
            raise SandboxUnavailable("the engine is away")
        return await self.sandbox.run(command, limits)

    async def check(self) -> tuple[IsolationLayer, ...]:
        """See `sandbox.protocol.Sandbox`."""
        return await self.sandbox.check()

    async def close(self) -> None:
        """Does nothing, because the sandbox is shared."""


async def walk(path: Path, sandbox: Sandbox, graph: Graph) -> WalkedPath:
    """Walk one path, from its task to its end, as a separate thread of the graph."""
    record = MemoryRecord()
    with ProviderServer(path.turns) as provider:
        options = ModelOptions(
            api_keys={"groq": "key"}, base_urls={"groq": provider.groq_url}, max_retries=0
        )
        pool = ModelPool(options)
        stronger = {"executor": (LARGE,)} if path.stronger else {}
        ports = replace(
            ports_over(record, Troubled(sandbox, path.broken), _models(pool, stronger)),
            budget=MemoryBudget(record, most=path.most_tokens),
            bounds=Bounds(review=bool(path.decisions), **path.bounds),
            limits=replace(LIMITS, **path.limits),
            checks=Checks(path.checks),
        )
        person = iter(path.decisions)
        try:
            end = await _to_the_end(path, record, ports, graph, person)
        finally:
            await pool.aclose()
    unused = len(path.turns) - len(provider.requests) + len(list(person))
    repaired = [event.data for event in record.events.values() if event.kind == "repaired"]
    repairs = tuple(repair["level"] for repair in repaired)
    return WalkedPath(path, end, repairs, await _files(path, record), unused)


async def walk_all(sandbox: Sandbox, paths: Sequence[Path], at_once: int = 2) -> list[WalkedPath]:
    """Walk every path, `at_once` in parallel."""
    gate = asyncio.Semaphore(at_once)
    graph = build(InMemorySaver())

    async def walk_path(path: Path) -> WalkedPath:
        async with gate:
            return await walk(path, sandbox, graph)

    return list(await asyncio.gather(*map(walk_path, paths)))


def _models(pool: ModelPool, stronger: Mapping[str, tuple[str, ...]]) -> RoleModels:
    return RoleModels(pool, Chains((SMALL,), stronger=stronger))


async def _files(path: Path, record: MemoryRecord) -> dict[str, str]:
    """The job's final files, as far as the path names them."""
    workspace = MemoryWorkspace(record)
    return {name: (await workspace.read(name) or b"").decode() for name in path.files}


async def _to_the_end(
    path: Path,
    record: MemoryRecord,
    ports: Ports,
    graph: Graph,
    person: Iterator[Mapping[str, Any]],
) -> str:
    """Make one attempt after another, as a worker does; a finished call resets the retries."""
    config: Any = {"configurable": {"thread_id": path.name}}
    wishes = {"checks": bool(path.checks), **path.job}
    feed: Any = initial_state(job_fields(TASK, **wishes))
    retries = 0
    while True:
        before = len(record.outcomes)
        try:
            trying = replace(ports, last_try=retries >= RETRIES)
            await graph.ainvoke(feed, config, context=trying, durability="sync")
            now = await graph.aget_state(config)
            if not now.interrupts:
                return _end(read_outcome(now.values))
            if (decision := next(person, None)) is None:
                return "waits for a person"
            feed = Resume(resume={now.interrupts[0].id: decision})
        except Exception as error:
            retries = 0 if len(record.outcomes) > before else retries
            match classify_failure(error):
                case Retry() if retries < RETRIES:
                    retries += 1
                case Retry(reason) | Fail(reason, _, unforeseen=False):
                    return f"failed: {reason}"
                case _:
                    raise
            feed = None
            ports = replace(ports, workspace=MemoryWorkspace(record), sequencer=ToolCallSequencer())


def _end(outcome: Outcome) -> str:
    if outcome.approved_by is not None:
        return f"approved by {outcome.approved_by}"
    reason, _, _ = (outcome.ends or "the revisions ran out").partition(": ")
    return f"unapproved: {reason}"
