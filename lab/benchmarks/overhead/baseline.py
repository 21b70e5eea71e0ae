"""The same graph in one process: in-memory saver, no queue, no HTTP."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agents.graph.build import build
from agents.graph.job_input import initial_state, job_fields
from agents.graph.memory_ports import MemoryRecord, ports_over
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.ports import Bounds
from lab.benchmarks.overhead import job
from sandbox.protocol import Sandbox


@dataclass(frozen=True, slots=True)
class Baseline:
    """Runs jobs one after another, or several at once in this loop."""

    graph: Any
    pool: ModelPool
    sandbox: Sandbox

    @classmethod
    def ready(cls, sandbox: Sandbox) -> Baseline:
        """Compile the graph; `sandbox` is never used, since the job's tools are file tools."""
        pool = ModelPool(ModelOptions(recordings=job.RECORDINGS))
        return cls(build(InMemorySaver()), pool, sandbox)

    async def run(self) -> float:
        """Run one job from start to end; returns its seconds."""
        started_at = time.perf_counter()
        record = MemoryRecord()
        models = RoleModels.alone(self.pool, job.MODEL)
        ports = ports_over(record, self.sandbox, models)
        ports = replace(ports, bounds=Bounds(review=True))
        config: RunnableConfig = {"configurable": {"thread_id": secrets.token_hex(8)}}
        most = job.MAX_REVISIONS
        fields = job_fields(job.TASK, max_revisions=most, evidence=job.EVIDENCE)
        feed: Any = initial_state(fields)
        pauses = 0
        while True:
            state = await self.graph.ainvoke(feed, config, context=ports, durability="sync")
            interrupts = state.get("__interrupt__")
            if not interrupts:
                break
            pauses += 1
            decision = {
                "action": "delegate",
                "feedback": "",
                "code": "",
                "by": "bench",
                "override": False,
            }
            feed = Command(resume={interrupts[0].id: decision})
        seconds = time.perf_counter() - started_at
        _check(record, pauses)
        return seconds

    async def run_together(self, count: int) -> float:
        """Run `count` jobs at once; returns the seconds until the end of the last job."""
        started_at = time.perf_counter()
        await asyncio.gather(*(self.run() for _ in range(count)))
        return time.perf_counter() - started_at


def _check(record: MemoryRecord, pauses: int) -> None:
    """Check that this side did the same job as the other side."""
    done = (len(record.charges), len(record.outcomes) - len(record.charges), pauses)
    assert done == (job.MODEL_CALLS, job.TOOL_CALLS, job.PAUSES), done
