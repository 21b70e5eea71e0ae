"""A client that a generator makes of /openapi.json works against the API and a real worker."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from support.graph.recorded import one_run
from support.processes.deployment import Deployment, running_deployment
from support.processes.fronts import front

from settings.base import DEVELOPMENT_KEY

PACKAGE = "fettle_client_of_a_test"
Generated = Any
"""The package's operations by name, and its `schemas`."""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with running_deployment(tmp_path_factory.mktemp("deployment")) as made:
        made.record("once", one_run("once", "print('x')"))
        made.worker()
        yield made


@pytest.fixture(scope="module")
def url(deployment: Deployment) -> Iterator[str]:
    with front(deployment) as api:
        yield api.url


@pytest.fixture(scope="module")
def generated(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generated]:
    """A client with the development key."""
    folder = tmp_path_factory.mktemp("client")
    described = folder / "openapi.json"
    described.write_text(json.dumps(_as_json(httpx.get(f"{url}/openapi.json").json())))
    command = [Path(sys.executable).parent / "clientele", "start-api", "--file", described]
    made = subprocess.run(
        [*command, "--output", PACKAGE], capture_output=True, text=True, check=False, cwd=folder
    )
    assert made.returncode == 0, made.stdout + made.stderr
    sys.path.insert(0, str(folder))
    client, config, schemas = (
        importlib.import_module(f"{PACKAGE}.{name}") for name in ("client", "config", "schemas")
    )
    sent = {"X-API-Key": DEVELOPMENT_KEY}
    client.client.configure(config=config.Config(base_url=url, headers=sent, timeout=20))
    operations = {name: each for name, each in vars(client).items() if callable(each)}
    yield SimpleNamespace(**operations, schemas=schemas)
    client.client.close()
    sys.path.remove(str(folder))


def _as_json(schema: Any) -> Any:
    """The description without the other media types of what can be JSON: this generator takes the
    last one of an answer for the only one."""
    for methods in schema["paths"].values():
        for operation in methods.values():
            for answer in operation["responses"].values():
                if as_json := answer.get("content", {}).get("application/json"):
                    answer["content"] = {"application/json": as_json}
    return schema


def test_it_submits_a_job_follows_and_reads_it(generated: Generated) -> None:
    schemas = generated.schemas
    body = schemas.JobRequest(task="once", model="recording:once", labels=["generated"])
    accepted = generated.submit_job(data=body)
    assert isinstance(accepted, schemas.JobReceipt), accepted
    ends = time.monotonic() + 60
    while (job := generated.read_job(job_id=accepted.id)).finished_at is None:
        assert time.monotonic() < ends, job
        time.sleep(0.05)
    assert isinstance(job, schemas.Job)
    assert job.status is schemas.Status.SUCCEEDED, job.detail
    assert job.runs[0].end is schemas.RunEnd.EXITED
    assert job.critique.verdict is schemas.Verdict.APPROVE
    listed = generated.list_jobs(label="generated")
    assert [each.id for each in listed.jobs] == [accepted.id]

    shown = generated.follow_job(job_id=accepted.id, format="json")
    assert shown.final is True
    assert isinstance(shown.events[0], schemas.SubmittedEvent)
    assert isinstance(shown.events[-1], schemas.SucceededEvent)
    (run,) = [event for event in shown.events if isinstance(event, schemas.RunFinishedEvent)]
    assert (run.data.stdout.text, run.data.succeeded) == ("x\n", True)
    assert run.data.end is schemas.RunEnd.EXITED
