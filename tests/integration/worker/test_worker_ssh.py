"""Jobs on a repository over ssh, with real workers: `kill -9`, a pushed branch, the key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.graph.repository_job import TASK, RepairingModel, project
from support.processes.delivering import CALLS, SHORT
from support.processes.deployment import MORTAL, Deployment, running_deployment
from support.processes.fronts import front
from support.servers.git_repositories import Repository
from support.servers.ssh_server import SshServer, ssh_server

from fettle import Service
from lab.provider import ProviderServer
from settings.base import DEVELOPMENT_KEY

MODEL = "groq:llama-3.3-70b-versatile"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="a") as started_deployment:
        yield started_deployment


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return project(tmp_path / "host" / "project")


@pytest.fixture
def host(repository: Repository, tmp_path: Path) -> Iterator[SshServer]:
    with ssh_server(tmp_path / "host") as server:
        yield server


def job_request(host: SshServer, **deliver: bool) -> dict[str, Any]:
    repo = {"url": host.url("project/.git"), "ref": "main"}
    return {"task": TASK, "model": MODEL, "repo": repo, "run_seconds": 60, "deliver": deliver}


def settings_for(host: SshServer, model: ProviderServer, kind: str) -> dict[str, str]:
    delivers = {"deliver_hosts": f"{host.authority}={kind}", "lease_seconds": MORTAL}
    return {**host.settings(), **delivers, "groq_base_url": model.groq_url}


def test_a_job_over_ssh_survives_its_worker_and_is_delivered_once(
    deployment: Deployment, repository: Repository, host: SshServer
) -> None:
    model = RepairingModel(replies=SHORT, run="r1")
    host.delay_answers(on=True)
    with ProviderServer(model.turn) as server:
        settings = settings_for(host, server, "git")
        doomed = deployment.worker(**settings)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            job_id = str(service.submit(job_request(host, branch=True))["id"])
            deployment.wait_until(lambda: host.commands)
            doomed.kill()
            doomed.wait()
            host.delay_answers(on=False)
            deployment.worker(**settings)
            deployment.wait_until(
                lambda: service.job(job_id)["status"] not in {"queued", "running"}
            )
            job, events = service.job(job_id), list(service.events(job_id))
    assert (job["status"], job["attempts"], len(model.requests)) == ("succeeded", 2, CALLS)
    done = job["result"]["delivery"]
    assert repository.git("rev-parse", f"fettle/{job_id}") == done["commit"]
    assert (done["base"], done["base_moved"], done["pull_request"]) == ("main", False, None)
    pushes = [command for command in host.commands if command.startswith("git-receive-pack")]
    assert len(pushes) == 1
    secret = host.key.read_text().splitlines()[2]
    sent = [message.text for request in model.requests for message in request.messages]
    for visible_text in (json.dumps(job), repr(events), *sent, deployment.logs()):
        assert secret not in visible_text
        assert str(host.key) not in visible_text


def test_a_missing_token_for_a_pull_request_is_reported_before_any_cost(
    deployment: Deployment, host: SshServer
) -> None:
    model = RepairingModel(replies=SHORT, run="r1")
    with ProviderServer(model.turn) as server:
        deployment.worker(**settings_for(host, server, "gitlab"))
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            job_id = str(service.submit(job_request(host, pull_request=True))["id"])
            deployment.wait_until(lambda: service.job(job_id)["status"] == "failed")
            job = service.job(job_id)
    assert (job["reason"], model.requests) == ("delivery", [])
    assert "no token for 127.0.0.1, which a pull request needs" in job["detail"]
