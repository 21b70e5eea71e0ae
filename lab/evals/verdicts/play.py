"""Plays recorded jobs through the graph, in a sandbox, without a service."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from agents.graph.build import Graph, build
from agents.graph.job_input import initial_state, job_fields
from agents.graph.memory_ports import MemoryRecord, MemoryWorkspace, ports_over
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import Chains, RoleModels
from agents.ports import Bounds
from lab.evals.verdicts.recorded_job import RecordedJob
from sandbox.protocol import Sandbox


@cache
def _graph() -> Graph:
    return build(None)


@dataclass(frozen=True, slots=True)
class PlayedJob:
    """A job's end: the verification of its files, and the critique of it."""

    job: RecordedJob
    verification: Mapping[str, Any]
    critique: Mapping[str, Any]

    @property
    def differences(self) -> list[str]:
        """The differences between the rules' verdict and the expected verdict."""
        expected, actual = self.job.expected, self.verification
        differences = []
        if actual["holds"] != expected.holds:
            differences.append(f"holds is {actual['holds']}: {actual['problem']}")
        if actual["own_word"] != expected.own_word:
            differences.append(f"own_word is {actual['own_word']}")
        differences += [
            f"no note has {part!r}: {actual['notes']}"
            for part in expected.notes
            if not any(part in note for note in actual["notes"])
        ]
        not_executed = (actual["functions"] or {}).get("not_executed", [])
        missing = sorted(set(expected.not_executed) - set(not_executed))
        if missing:
            differences.append(f"not reported as not executed: {', '.join(missing)}")
        return differences


async def play(
    job: RecordedJob,
    sandbox: Sandbox,
    options: ModelOptions | None = None,
    critic: str | None = None,
    mutations: int = 0,
) -> PlayedJob:
    """The job's end after one revision, with at most `mutations` changes of its code. Without the
    model `critic` the critic approves."""
    with tempfile.TemporaryDirectory(prefix="fettle-verdicts-") as folder:
        recording = job.write_recording(Path(folder))
        pool = ModelPool(replace(options or ModelOptions(), recordings=Path(folder)))
        critics = {"critic": (critic,)} if critic else {}
        files = {path: text.encode() for path, text in job.files.items()}
        record = MemoryRecord()
        workspace = MemoryWorkspace(record, files)
        models = RoleModels(pool, Chains((recording,), critics))
        ports = replace(
            ports_over(record, sandbox, models),
            workspace=workspace,
            bounds=Bounds(mutations=mutations),
        )
        request = job_fields(
            job.task, max_revisions=1, files=tuple(files), start=workspace.digest if files else None
        )
        try:
            state = await _graph().ainvoke(initial_state(request), context=ports)
        finally:
            await pool.aclose()
    return PlayedJob(job, state["verifications"][-1], state["critiques"][-1])
