"""What is approved, and what is not: jobs over HTTP, by real workers in real sandboxes, with a
provider on loopback whose executor claims that all is well and whose critic approves everything."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest
from support.cases.evidence_cases import CASES, Case, model
from support.processes.deployment import running_deployment
from support.processes.fronts import front

from benchmarks.provider import ProviderServer
from settings.base import DEVELOPMENT_KEY

GROQ = "groq:llama-3.3-70b-versatile"
ALL_SECONDS = 300
RUN_SECONDS = "60"
"""The verdicts are about evidence, not about the speed of the machine: the jobs run all at once."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The job of each case as the API has it at its end, by the case's name."""
    folder = tmp_path_factory.mktemp("evidence")
    with (
        running_deployment(folder, GROQ_API_KEY="a") as deployment,
        ProviderServer(model) as server,
    ):
        deployment.worker(groq_base_url=server.groq_url, run_seconds=RUN_SECONDS)
        with (
            front(deployment) as api,
            httpx.Client(base_url=api.url, headers={"X-API-Key": DEVELOPMENT_KEY}) as client,
        ):
            ids = {case.name: _submitted(client, case) for case in CASES}
            return {name: _ended(client, job_id) for name, job_id in ids.items()}


def _submitted(client: httpx.Client, case: Case) -> str:
    more = dict(case.spec)
    if files := more.pop("checks", None):
        more["checks"] = {"files": files}
    body = {"task": case.task, "model": GROQ, "max_revisions": 1, "files": dict(case.files), **more}
    answer = client.post("/jobs", json=body)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def _ended(client: httpx.Client, job_id: str) -> dict[str, Any]:
    until = time.monotonic() + ALL_SECONDS
    while time.monotonic() < until:
        job: dict[str, Any] = client.get(f"/jobs/{job_id}").json()
        if job["status"] in {"succeeded", "failed", "cancelled"}:
            return job
        time.sleep(0.2)
    raise AssertionError(f"the job has not ended: {job}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_approved(case: Case, ended: dict[str, dict[str, Any]]) -> None:
    job = ended[case.name]
    if case.approved:
        assert (job["status"], job["result"]["approved_by"]) == ("succeeded", "critic")
    else:
        assert (job["status"], job["reason"]) == ("failed", "unapproved")
        assert job["result"]["approved_by"] is None
