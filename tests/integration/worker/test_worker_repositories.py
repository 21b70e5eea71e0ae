"""A job on a repository with real workers: from the upload to the patch on a clone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.graph.repository_job import (
    ANSWER,
    CHANGED,
    FILES,
    REMOVED,
    TASK,
    RepairingModel,
    project,
)
from support.processes.deployment import MORTAL, Deployment, running_deployment
from support.processes.fronts import front
from support.servers.git_repositories import Repository, clone_repository

from fettle import Service
from lab.provider import ProviderServer, Request
from settings.base import DEVELOPMENT_KEY

MODEL = "groq:llama-3.3-70b-versatile"
MAP = re.compile(r"Source files with .*?<<<\n(.*?)\n>>>", re.DOTALL)
SPEC = {"task": TASK, "model": MODEL, "repo": {"ref": "main"}, "run_seconds": 60}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="a") as started_deployment:
        yield started_deployment


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return project(tmp_path / "project")


def in_status(service: Service, job_id: str, status: str) -> Callable[[], bool]:
    return lambda: service.job(job_id)["status"] == status


def request_text(request: Request) -> str:
    return "\n".join(message.text for message in request.messages)


def applied(repository: Repository, folder: Path, patch: bytes) -> Repository:
    """A clone with the patch applied; its files are those of the job."""
    clone = clone_repository(repository, folder)
    clone.raw("apply", "--index", "-", stdin=patch)
    now = {path: (folder / path).read_bytes() for path in clone.git("ls-files").splitlines()}
    assert now == {path: text for path, text in {**FILES, **CHANGED}.items() if path != REMOVED}
    assert (folder / "run.sh").stat().st_mode & 0o111
    return clone


def test_a_change_is_reviewed_and_applied(
    deployment: Deployment, repository: Repository, tmp_path: Path
) -> None:
    model = RepairingModel()
    with ProviderServer(model.turn) as server:
        deployment.worker(groq_base_url=server.groq_url)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            job_id = str(service.submit({**SPEC, "review": True}, bundle=repository.bundle())["id"])
            deployment.wait_until(in_status(service, job_id, "awaiting_review"))
            review = service.job(job_id)["review"]
            service.decide(job_id, {"action": "approve", "review_id": review["id"]})
            deployment.wait_until(in_status(service, job_id, "succeeded"))
            job, patch = service.job(job_id), service.patch(job_id)
            bundle = service.bundle(job_id)
    sent_texts = [message.text for request in model.requests for message in request.messages]
    assert any("AGENTS.md" in text and "Every function has a test." in text for text in sent_texts)
    assert any("`pytest` runs the project's tests" in text for text in sent_texts)
    assert any("\ndays/count.py: years 4\n" in text for text in sent_texts)
    logged = f"{repository.git('rev-parse', '--short=7', 'HEAD')} Change\n"
    assert any(text.startswith(logged) for text in sent_texts)
    assert any("6\t    return abs(year - EPOCH)" in text for text in sent_texts)
    assert review["payload"]["patch"] == job["result"]["patch"]
    counts = {name: job["result"]["patch"][name] for name in ("files", "insertions", "deletions")}
    assert counts == {"files": 4, "insertions": 6, "deletions": 3}
    assert job["result"]["patch"]["base"] == repository.git("rev-parse", "HEAD")
    assert "v1" in job["runs"][1]["stdout"]["text"]
    assert [run["succeeded"] for run in job["runs"]] == [True, True, True]
    assert job["result"]["verification"]["holds"], job["result"]
    clone = applied(repository, tmp_path / "clone", patch)
    (tmp_path / "job.bundle").write_bytes(bundle)
    branch = f"fettle/{job_id}"
    clone.git("fetch", "--quiet", str(tmp_path / "job.bundle"), f"{branch}:{branch}")
    assert clone.tree(branch) == clone.git("write-tree")
    assert clone.git("log", "-1", "--format=%an <%ae> %P", branch).startswith("Fettle <fettle@")
    assert ANSWER in clone.git("log", "-1", "--format=%B", branch)


@pytest.mark.parametrize("slow", [1, 4])
def test_the_job_of_a_killed_worker_ends_with_the_same_patch(
    deployment: Deployment, repository: Repository, tmp_path: Path, slow: int
) -> None:
    model = RepairingModel(slow=slow, seconds=2.0)
    with ProviderServer(model.turn) as server:
        settings = {"groq_base_url": server.groq_url, "lease_seconds": MORTAL}
        doomed = deployment.worker(**settings)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            job_id = str(service.submit(SPEC, bundle=repository.bundle())["id"])
            deployment.wait_until(lambda: len(model.requests) == slow + 2)  # the plan was one call
            doomed.kill()
            doomed.wait()
            model.slow = None
            deployment.worker(**settings)
            deployment.wait_until(in_status(service, job_id, "succeeded"))
            job, patch = service.job(job_id), service.patch(job_id)
    assert job["attempts"] == 2
    assert len(model.requests) == 9  # only the call in flight was repeated
    (map_,) = {
        maps[0] for request in model.requests if (maps := MAP.findall(request_text(request)))
    }
    assert map_.startswith("days/count.py: years 4\n")
    assert [run["succeeded"] for run in job["runs"]] == [True, True, True]
    applied(repository, tmp_path / "clone", patch)
    (judged,) = [request_text(request) for request in model.requests if "Verdict" in request.tools]
    assert "-    return abs(year - EPOCH)\n" in judged
    assert "+    return year - EPOCH\n" in judged
    assert "=== days/old.py, deleted\n```\n--- a/days/old.py" in judged
    assert "=== tests/test_count.py, changed\n```\n--- a/tests/test_count.py" in judged
    assert "=== days/text.py, unchanged" not in judged


def test_a_failed_job_has_its_patch_and_a_retry_continues_from_it(
    deployment: Deployment, repository: Repository, tmp_path: Path
) -> None:
    model = RepairingModel(refused=3)
    with ProviderServer(model.turn) as server:
        deployment.worker(groq_base_url=server.groq_url)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            job_id = str(service.submit(SPEC, bundle=repository.bundle())["id"])
            deployment.wait_until(in_status(service, job_id, "failed"))
            failed, first = service.job(job_id), service.patch(job_id)
            model.refused = None
            again = str(service.retry(job_id)["id"])
            deployment.wait_until(in_status(service, again, "succeeded"))
            job, patch = service.job(again), service.patch(again)
    assert failed["reason"] == "model_unavailable"
    assert failed["result"]["patch"]["files"] == 1
    assert first.count(b"diff --git") == 1
    assert b"+    return year - EPOCH" in first
    assert job["result"]["patch"]["base"] == failed["result"]["patch"]["base"]
    applied(repository, tmp_path / "clone", patch)


def test_an_unreachable_host_is_tried_again_and_named_at_the_end(deployment: Deployment) -> None:
    hosts = {"repo_hosts": "127.0.0.1:9", "retries": "1", "retry_seconds": "0.1"}
    deployment.worker(groq_base_url="http://127.0.0.1:9", **hosts)
    with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
        spec = {**SPEC, "repo": {"url": "https://127.0.0.1:9/team/app.git"}}
        job_id = str(service.submit(spec)["id"])
        deployment.wait_until(in_status(service, job_id, "failed"))
        job = service.job(job_id)
    assert (job["reason"], job["attempts"]) == ("repository", 2)
    assert "127.0.0.1:9" in job["detail"]


def test_a_missing_ref_ends_the_job_with_the_reason(
    deployment: Deployment, repository: Repository
) -> None:
    model = RepairingModel()
    with ProviderServer(model.turn) as server:
        deployment.worker(groq_base_url=server.groq_url)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            spec = {**SPEC, "repo": {"ref": "gone"}}
            job_id = str(service.submit(spec, bundle=repository.bundle())["id"])
            deployment.wait_until(in_status(service, job_id, "failed"))
            job = service.job(job_id)
    assert job["reason"] == "repository"
    assert "'gone'" in job["detail"]
    assert "main" in job["detail"]
    assert model.requests == []


def test_content_that_a_job_lacks_is_reported_to_the_model_and_the_reader(
    deployment: Deployment, repository: Repository
) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:%b\nsize 9\n" % (b"a" * 64)
    address = "https://elsewhere.example/lib.git"
    repository.write(
        {
            ".gitattributes": b"*.png filter=lfs\n",
            "logo.png": pointer,
            ".gitmodules": f'[submodule "lib"]\n\tpath = lib\n\turl = {address}\n'.encode(),
        }
    )
    (repository.folder / "lib").mkdir()
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
    repository.commit()
    model = RepairingModel()
    with ProviderServer(model.turn) as server:
        deployment.worker(groq_base_url=server.groq_url)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            job_id = str(service.submit(SPEC, bundle=repository.bundle())["id"])
            deployment.wait_until(in_status(service, job_id, "succeeded"))
            events = list(service.events(job_id))
    (event,) = [event for event in events if event.kind == "files_missing"]
    reason = "workers of this deployment fetch no repositories (FETTLE_REPO_HOSTS)"
    assert event.data["missing"] == [
        f"the submodule lib is not checked out: {reason}",
        "1 file is a pointer of Git LFS, whose content is not here: logo.png",
    ]
    assert all(text in request_text(model.requests[0]) for text in event.data["missing"])
