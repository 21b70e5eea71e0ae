"""A worker does what the names of its settings say, or does not start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.graph.working_model import works
from support.processes.deployment import running_deployment

from benchmarks.provider import ProviderServer
from jobs.model.record import Status
from jobs.model.spec import JobSpec


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"FETTLE_ENV": "production", "FETTLE_MAXSTEPS": "9"},
            "FETTLE_MAXSTEPS (environment) is not a setting: did you mean FETTLE_MAX_STEPS?",
        ),
        ({"GROQ_API_KEY": "k", "GROQ_PROXY": "http://proxy"}, "GROQ_PROXY is set"),
        ({"FETTLE_LEASE_SECONDS": "1"}, "FETTLE_LEASE_SECONDS"),
        (
            {"FETTLE_DATA_DIR": "/dev/null/data"},
            "FETTLE_DATA_DIR is /dev/null/data, which cannot be written (Not a directory)",
        ),
    ],
)
def test_a_setting_that_does_not_fit_ends_the_start(
    tmp_path: Path, given: dict[str, str], said: str
) -> None:
    env = {"PATH": os.environ["PATH"], "FETTLE_CONFIG": str(tmp_path / "fettle.toml"), **given}
    argv = [sys.executable, "-m", "worker"]
    ended = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


async def test_requests_go_where_langchains_name_says(tmp_path: Path) -> None:
    with ProviderServer(works) as server:
        named = {"GROQ_API_KEY": "a", "GROQ_API_BASE": server.groq_url}
        with running_deployment(tmp_path, **named) as deployment:
            deployment.worker()
            async with deployment.operations() as operations:
                job_id = await deployment.submit(operations, JobSpec("6 times 7"))
                job = await deployment.until(operations, job_id)
        assert job.status is Status.SUCCEEDED, deployment.logs()
        assert len(server.requests) >= 4
