"""Jobs are approved only with evidence. The jobs run over HTTP, with real workers and real
sandboxes. The model on loopback claims success as executor, and approves everything as critic."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from support.cases.evidence_cases import CASES, Case, model
from support.processes.deployment import running_deployment
from support.processes.fronts import front
from support.servers import git_repositories

from fettle import Service
from lab.provider import ProviderServer
from settings.base import DEVELOPMENT_KEY

GROQ = "groq:llama-3.3-70b-versatile"
ALL_SECONDS = 300
RUN_SECONDS = "60"
AT_ONCE = "4"
"""A setting with which a verification and its experiments get about the same share of the
processors, so that no experiment ends by its time limit.
"""

pytestmark = [pytest.mark.timeout(2 * ALL_SECONDS), pytest.mark.matrix]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The final job of each case as the API shows it, by the case's name."""
    folder = tmp_path_factory.mktemp("evidence")
    with (
        running_deployment(folder, GROQ_API_KEY="a") as deployment,
        ProviderServer(model) as server,
    ):
        deployment.worker(
            groq_base_url=server.groq_url,
            run_seconds=RUN_SECONDS,
            concurrency=AT_ONCE,
            mutations="2",
        )
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            first = [case for case in CASES if not case.follows]
            jobs = {case.name: _submit(service, case, folder) for case in first}
            ends = {name: _wait(service, job["id"]) for name, job in jobs.items()}
            for case in CASES:
                if case.follows:
                    conversation = {"conversation_id": ends[case.follows]["conversation_id"]}
                    job = _submit(service, case, folder, conversation)
                    ends[case.name] = _wait(service, job["id"])
            return ends


def _submit(
    service: Service, case: Case, folder: Path, more: dict[str, Any] | None = None
) -> dict[str, Any]:
    fields = {**case.spec, **(more or {})}
    if checks := fields.pop("checks", None):
        fields["checks"] = {"files": checks}
    spec = {"task": case.task, "model": GROQ, "max_revisions": 1, **fields}
    if not case.repository:
        return dict(service.submit({**spec, "files": dict(case.files)}))
    repository = git_repositories.create_repository(folder / case.name)
    repository.commit({path: text.encode() for path, text in case.files.items()})
    return dict(service.submit({**spec, "repo": {"ref": "main"}}, bundle=repository.bundle()))


def _wait(service: Service, job_id: str) -> dict[str, Any]:
    until = time.monotonic() + ALL_SECONDS
    while time.monotonic() < until:
        job = dict(service.job(job_id))
        if job["status"] in {"succeeded", "failed", "cancelled"}:
            return job
        time.sleep(0.2)
    raise AssertionError(f"the job has not ended: {job}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_only_work_with_evidence_is_approved(case: Case, jobs: dict[str, dict[str, Any]]) -> None:
    job = jobs[case.name]
    if case.approved:
        assert (job["status"], job["result"]["approved_by"]) == ("succeeded", "critic"), job
    else:
        assert (job["status"], job["reason"]) == ("failed", "unapproved"), job
        assert job["result"]["approved_by"] is None


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.notes or case.own_word], ids=lambda case: case.name
)
def test_weak_evidence_is_reported(case: Case, jobs: dict[str, dict[str, Any]]) -> None:
    verification = jobs[case.name]["result"]["verification"]
    assert verification["own_word"] is case.own_word
    for words in case.notes:
        assert any(words in note for note in verification["notes"]), verification["notes"]
