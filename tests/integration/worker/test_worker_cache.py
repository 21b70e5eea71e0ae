"""The result cache, as an operator turns it on: within one API key, and never across."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.recorded import one_run
from support.processes.deployment import TENANT, Deployment, running_deployment

from jobs.model.record import Status
from jobs.model.spec import JobSpec
from jobs.service import Operations, Submitted

CODE = "import time; print(time.time_ns())"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path) as made:
        yield made


async def said(deployment: Deployment, operations: Operations, model: str, key: str) -> str:
    """What the run of a job printed that was submitted with a key."""
    spec = JobSpec(task="timed", model=model)
    submitted = await operations.submit(TENANT, spec, by="ann", key_id=key)
    assert isinstance(submitted, Submitted)
    job = await deployment.until(operations, submitted.record.id)
    assert job.status is Status.SUCCEEDED, deployment.logs()
    (run,) = [e for e in await operations.store.events(job.id) if e.kind == "run_finished"]
    return str(run.data["stdout"])


async def test_a_key_is_answered_from_its_own_runs_alone(deployment: Deployment) -> None:
    model = deployment.record("timed", one_run("timed", CODE))
    deployment.worker(sandbox_cache="true")
    await deployment.ready()
    async with deployment.operations() as operations:
        first = await said(deployment, operations, model, "key-1")
        assert await said(deployment, operations, model, "key-1") == first
        # Of the same name, which a revoked key's successor may have.
        assert await said(deployment, operations, model, "key-2") != first
        assert await said(deployment, operations, model, "") != first
        assert await said(deployment, operations, model, "") != await said(
            deployment, operations, model, ""
        )
