"""The dependencies of a repository are installed once, and its jobs begin with them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.graph.setup_job import MODEL, PACKAGES, TASK, GreetingModel, project
from support.processes.deployment import MORTAL, Deployment, running_deployment
from support.processes.fronts import front
from support.servers.git_repositories import Repository
from support.servers.package_index import serve
from support.servers.web_server import Answer, WebServer, web_server

from fettle import Service
from lab.provider import ProviderServer
from settings.base import DEVELOPMENT_KEY

SPEC = {"task": TASK, "model": MODEL, "repo": {"ref": "main"}, "run_seconds": 60}


class Jobs:
    """Jobs on the repository, with workers that may reach the index."""

    def __init__(self, deployment: Deployment, service: Service, repository: Repository) -> None:
        self.deployment, self.service, self.repository = deployment, service, repository

    def submit(self, **fields: Any) -> str:
        bundle = self.repository.bundle()
        return str(self.service.submit({**SPEC, **fields}, bundle=bundle)["id"])

    def wait_for_end(self, job_id: str, status: str = "succeeded") -> dict[str, Any]:
        self.until(lambda: self.service.job(job_id)["finished_at"] is not None)
        job = self.service.job(job_id)
        assert job["status"] == status, (job["detail"], self.deployment.logs())
        return dict(job)

    def setups(self, job_id: str) -> list[dict[str, Any]]:
        """The events of the job's setup: their data, and `kind`."""
        return [
            {**event.data, "kind": event.kind.removeprefix("setup_")}
            for event in self.service.events(job_id)
            if event.kind.startswith("setup_")
        ]

    def until(self, holds: Callable[[], object], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, self.deployment.logs()
            time.sleep(0.02)

    def layers(self) -> list[str]:
        folder = self.deployment.folder / "data" / "repositories" / "layers"
        return [path.name for path in folder.glob("setup-*")]


@pytest.fixture
def model() -> GreetingModel:
    return GreetingModel()


@pytest.fixture
def index() -> Iterator[WebServer]:
    with web_server() as server:
        serve(server, PACKAGES)
        yield server


@pytest.fixture
def jobs(tmp_path: Path, model: GreetingModel, index: WebServer) -> Iterator[Jobs]:
    with ExitStack() as stack:
        provider = stack.enter_context(ProviderServer(model.turn))
        started_deployment = stack.enter_context(running_deployment(tmp_path, GROQ_API_KEY="a"))
        started_deployment.env |= {
            "FETTLE_GROQ_BASE_URL": provider.groq_url,
            "FETTLE_SETUP_INDEX": index.url("/simple/"),
            "FETTLE_RETRY_SECONDS": "0.1",
            "FETTLE_RETRIES": "1",
        }
        api = stack.enter_context(front(started_deployment))
        service = stack.enter_context(Service(api.url, DEVELOPMENT_KEY))
        yield Jobs(started_deployment, service, project(tmp_path / "project"))


def test_a_job_with_tests_that_need_a_package(
    jobs: Jobs, model: GreetingModel, index: WebServer
) -> None:
    jobs.deployment.worker()
    first = jobs.submit()
    job = jobs.wait_for_end(first)
    command = "pip install -r requirements.txt"
    expected_text = f"The project's dependencies are installed, by `{command}`."
    assert any(expected_text in each for each in model.texts)
    python, shell, verified = job["runs"]
    packages = "/work/.setup/lib/python3.11/site-packages"
    assert python["stdout"]["text"] == f"{packages}/shout.py HEY\n"
    assert python["refused"] == [".setup/evil: installed dependencies stay as they are"]
    expected_text = shell["stdout"]["text"].splitlines()
    assert (expected_text[0], expected_text[3]) == ("HEY", "/run/venv")
    assert [line.split(" in ")[0] for line in expected_text[1:3]] == ["1 passed", "1 passed"]
    assert len(expected_text) == 4  # git ignores the package
    assert verified["tests"]["counts"]["passed"] == 1
    assert job["result"]["patch"]["files"] == 1
    listed = next(text for text in model.texts if text.startswith("greet.py\n"))
    file_text = next(text for text in model.texts if text.startswith("greet.py:"))
    assert listed.splitlines() == ["greet.py", "requirements.txt", "tests/", "tests/test_greet.py"]
    assert len(file_text.splitlines()) == 5  # without any file of the package
    started, finished = jobs.setups(first)
    assert started == {"kind": "started", "command": command}
    assert (finished["ok"], finished["reused"], finished["output"]) == (True, False, "")
    index_requests = len(index.requested_paths)
    second = jobs.submit()
    jobs.wait_for_end(second)
    (again,) = jobs.setups(second)
    assert (again["ok"], again["reused"]) == (True, True)
    assert len(index.requested_paths) == index_requests
    assert len(jobs.layers()) == 1


def test_missing_dependencies_are_reported_once(jobs: Jobs, model: GreetingModel) -> None:
    del jobs.deployment.env["FETTLE_SETUP_INDEX"]
    jobs.deployment.worker()
    job_id = jobs.submit()
    jobs.until(lambda: jobs.service.job(job_id)["status"] not in ("queued", "running"))
    (left_out,) = jobs.setups(job_id)
    command = "pip install -r requirements.txt"
    assert left_out == {"kind": "left_out", "command": command}
    expected_text = (
        f"dependencies are not installed (`{command}`), because the operator has not set "
    )
    assert any(expected_text in text for text in model.texts)
    ran, model.requests[:] = len(model.requests), []
    assert ran > 1
    quiet = jobs.submit(setup="")
    jobs.until(lambda: jobs.service.job(quiet)["status"] not in ("queued", "running"))
    assert jobs.setups(quiet) == []
    assert not any("dependencies are" in text for text in model.texts)


def test_a_setup_that_fails_ends_the_job_and_a_retry_names_another(jobs: Jobs) -> None:
    jobs.deployment.worker()
    failed = jobs.wait_for_end(jobs.submit(setup="echo so far; pip install nowhere==7"), "failed")
    assert failed["reason"] == "setup"
    for part in (
        "'echo so far; pip install nowhere==7' has not installed the repository's dependencies",
        "exit code 1",
        "No matching distribution found for nowhere==7",
        f'fettle retry {failed["id"]} --setup "..."',
    ):
        assert part in failed["detail"]
    finished = jobs.setups(failed["id"])[-1]
    assert finished["output"].startswith("so far\n")
    assert jobs.layers() == []
    again = str(jobs.service.retry(failed["id"], {"setup": "pip install shout"})["id"])
    assert jobs.wait_for_end(again)["spec"]["setup"] == "pip install shout"
    assert [text["kind"] for text in jobs.setups(again)] == ["started", "finished"]


def test_a_setup_of_a_worker_without_hosts_fails_with_the_remedy(jobs: Jobs) -> None:
    jobs.deployment.worker(setup_index="")
    failed = jobs.wait_for_end(jobs.submit(setup="pip install shout"), "failed")
    assert "its operator has named no hosts for that (FETTLE_SETUP_HOSTS)" in failed["detail"]
    assert f"fettle retry {failed['id']} --no-setup" in failed["detail"]
    assert "another command" not in failed["detail"]


def test_an_unavailable_index_is_tried_again(jobs: Jobs) -> None:
    jobs.deployment.worker(setup_index="http://127.0.0.1:9/simple/")
    job = jobs.wait_for_end(jobs.submit(), "failed")
    assert (job["reason"], job["attempts"]) == ("setup", 2)
    assert "no answer from 127.0.0.1:9" in job["detail"]


def test_a_job_continues_after_a_kill_of_its_worker_during_the_setup(
    jobs: Jobs, index: WebServer
) -> None:
    answer = index.answers["/files/shout-1.0-py3-none-any.whl"]
    assert isinstance(answer, Answer)
    index.answers["/files/shout-1.0-py3-none-any.whl"] = replace(answer, pause=threading.Event())
    doomed = jobs.deployment.worker(lease_seconds=MORTAL)
    job_id = jobs.submit()
    jobs.until(lambda: any(path.startswith("/files/") for path in index.requested_paths))
    doomed.kill()
    doomed.wait()
    assert jobs.layers() == []
    index.answers["/files/shout-1.0-py3-none-any.whl"] = answer
    jobs.deployment.worker(lease_seconds=MORTAL)
    job = jobs.wait_for_end(job_id)
    assert job["attempts"] == 2
    assert [text["kind"] for text in jobs.setups(job_id)] == ["started", "started", "finished"]
    making = jobs.deployment.folder / "data" / "repositories" / "making"
    assert list(making.iterdir()) == []
