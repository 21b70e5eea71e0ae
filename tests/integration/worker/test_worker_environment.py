"""The worker's description for a model of its sandbox and of the job's files."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.working_model import works
from support.processes.deployment import Deployment, running_deployment

from jobs.blobs import manifest
from jobs.model.record import Status
from jobs.model.spec import JobSpec
from lab.provider import ProviderServer
from settings.sandbox import sandbox_python

FILES = {"sales.csv": b"day,amount\n2026-01-02,19.90\n", "logo.png": b"\x89PNG\r\n\x1a\n\xff"}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="a") as started_deployment:
        yield started_deployment


def _version(package: str) -> str:
    """The version in the sandbox's environment."""
    (site_packages,) = sandbox_python().parent.parent.glob("lib/python*/site-packages")
    (distribution,) = importlib.metadata.distributions(name=package, path=[str(site_packages)])
    return distribution.version


async def test_a_model_gets_the_real_sandbox_and_files(
    deployment: Deployment,
) -> None:
    with ProviderServer(works) as server:
        deployment.worker(groq_base_url=server.groq_url, run_seconds="21", max_steps="8")
        async with deployment.operations() as operations:
            files = await manifest.save(deployment.blobs, FILES)
            spec = JobSpec("6 times 7", model="groq:m", workspace=files)
            job = await deployment.until(operations, await deployment.submit(operations, spec))
            assert job.status is Status.SUCCEEDED, deployment.logs()
    planner, executor, *_ = server.requests
    for request in (planner, executor):
        assert f"numpy {_version('numpy')}, " in request.messages[0].text
        first_message = request.messages[1].text
        assert "- sales.csv, complete:\n```\nday,amount\n2026-01-02,19.90\n```\n" in first_message
        assert "- logo.png, 9 bytes, binary" in first_message
    assert "A run may take 21 s and 512 MiB" in executor.messages[0].text
    assert "You have 8 replies" in executor.messages[0].text
