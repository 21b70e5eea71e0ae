"""A job on a user's repository from the command line: sent, reviewed, applied; no other file is
touched.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from support.graph.repository_job import ANSWER, CHANGED, FILES, REMOVED, TASK, RepairingModel
from support.graph.repository_job import project as made_project
from support.processes.deployment import running_deployment
from support.processes.fettle_command import environment, fettle
from support.processes.fronts import front
from support.servers.git_repositories import Repository

from lab.provider import ProviderServer

pytestmark = [pytest.mark.e2e, pytest.mark.matrix]
MODEL = "groq:llama-3.3-70b-versatile"


@pytest.fixture
def project(tmp_path: Path) -> Repository:
    """A repository with an uncommitted file, which the job must see and must not change."""
    repository = made_project(tmp_path / "project")
    (repository.folder / "notes.txt").write_text("for the job\n")
    return repository


@pytest.fixture
def user(tmp_path, project):
    """`fettle` in the user's repository, against a service with a worker."""
    with (
        running_deployment(tmp_path, GROQ_API_KEY="a") as deployment,
        ProviderServer(RepairingModel().turn) as server,
    ):
        deployment.worker(groq_base_url=server.groq_url)
        with front(deployment) as api:
            env = environment(tmp_path, FETTLE_URL=api.url)

            def call(*words: str, code: int = 0, cwd: Path = project.folder) -> str:
                done = fettle(*words, cwd=cwd, env=env)
                assert done.returncode == code, done.stdout + done.stderr + deployment.logs()
                return done.stdout if code == 0 else done.stderr

            yield call


def job_as(user, job_id: str, status: str, seconds: float = 60) -> dict:
    ends = time.monotonic() + seconds
    while (job := json.loads(user("show", job_id, "--json")))["status"] != status:
        assert time.monotonic() < ends, job
        time.sleep(0.2)
    return job


def test_a_job_on_a_directory_ends_as_an_applied_patch(user, project, tmp_path):
    status, head = project.git("status", "--porcelain"), project.git("rev-parse", "HEAD")
    options = ("--model", MODEL, "--run-time", "60s", "--review", "--no-wait")
    job_id = user("run", "--repo", ".", "--dirty", *options, TASK).strip()
    assert project.git("status", "--porcelain") == status
    waits = job_as(user, job_id, "awaiting_review")
    assert "days/count.py" in user("patch", job_id)
    digest = waits["review"]["payload"]["patch"]["digest"]
    user("review", job_id, "approve")
    result = job_as(user, job_id, "succeeded")["result"]
    assert result["patch"]["digest"] == digest
    job_text = user("show", job_id)
    assert "repository: sent as a bundle\n" in job_text
    assert "patch: 4 files, +6 -3 lines; `fettle apply" in job_text
    output = user("apply", job_id, cwd=project.folder / "days")
    assert "applied: 4 files, +6 -3 lines, to work tree and index" in output
    for path, content in {**FILES, **CHANGED}.items():
        file = project.folder / path
        assert file.read_bytes() == content if path != REMOVED else not file.exists()
    assert (project.folder / "notes.txt").read_text() == "for the job\n"
    assert project.git("rev-parse", "HEAD") == head
    project.git("commit", "--quiet", "-m", ANSWER)
    assert "the patch is already applied" in user("apply", job_id, code=1)


def test_a_retry_works_on_the_same_repository(user, project):
    options = ("--model", MODEL, "--review", "--no-wait", "--run-time", "60s")
    job_id = user("run", "--repo", ".", *options, TASK).strip()
    job_as(user, job_id, "awaiting_review")
    user("review", job_id, "reject", "-m", "Not now.")
    again = json.loads(user("retry", job_id, "--no-wait", "--json"))["id"]
    patch = job_as(user, again, "awaiting_review")["review"]["payload"]["patch"]
    assert patch["base"] == project.git("rev-parse", "HEAD")
