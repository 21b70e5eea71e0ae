"""Jobs on a repository of a host, with real workers: `kill -9`, a branch that moves, a
credential.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.repository_job import TASK, RepairingModel, project
from support.processes.deployment import MORTAL, Deployment, running_deployment
from support.processes.fronts import front
from support.servers.git_repositories import Repository, clone_repository
from support.servers.git_server import GitServer, git_server

from fettle import Service
from lab.provider import ProviderServer, Reply, Request, ToolCall, Turn
from settings.base import DEVELOPMENT_KEY

MODEL = "groq:llama-3.3-70b-versatile"
SECRET = "s3cret-token"
EPOCH_FIXTURE = b"import pytest\n\n\n@pytest.fixture\ndef epoch():\n    return 1970\n"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="a") as started_deployment:
        yield started_deployment


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return project(tmp_path / "forge" / "project")


@pytest.fixture
def forge(repository: Repository, tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path / "forge") as server:
        server.credential = f"me:{SECRET}"
        yield server


def settings_for(forge: GitServer, server: ProviderServer, folder: Path) -> dict[str, str]:
    file = folder / "credentials"
    file.write_text(f"{forge.authority} me:{SECRET}\n")
    file.chmod(0o600)
    return {
        "groq_base_url": server.groq_url,
        "lease_seconds": MORTAL,
        "repo_hosts": forge.listed,
        "repo_credentials": str(file),
    }


def submitted(service: Service, forge: GitServer, **fields: object) -> str:
    repo = {"url": forge.url("project/.git"), "ref": "main"}
    spec = {"task": TASK, "model": MODEL, "repo": repo, "run_seconds": 60, **fields}
    return str(service.submit(spec)["id"])


def test_a_kill_of_the_worker_during_a_fetch(
    deployment: Deployment, repository: Repository, forge: GitServer, tmp_path: Path
) -> None:
    model = RepairingModel()
    forge.pause = threading.Event()
    with ProviderServer(model.turn) as server:
        settings = settings_for(forge, server, tmp_path)
        doomed = deployment.worker(**settings)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            job_id = submitted(service, forge)
            assert forge.packing.wait(60), deployment.logs()
            doomed.kill()
            doomed.wait()
            forge.pause.set()
            deployment.worker(**settings)
            deployment.wait_until(lambda: service.job(job_id)["status"] == "succeeded")
            job, patch = service.job(job_id), service.patch(job_id)
            events = list(service.events(job_id))
    assert job["attempts"] == 2
    clone_repository(repository, tmp_path / "clone").raw("apply", "--index", "-", stdin=patch)
    sent_texts = [message.text for request in model.requests for message in request.messages]
    for visible_text in (json.dumps(job), repr(events), *sent_texts, deployment.logs()):
        assert SECRET not in visible_text
    assert forge.headers[-1]["authorization"].startswith("Basic ")


def test_a_job_keeps_its_commit_when_the_branch_moves(
    deployment: Deployment, repository: Repository, forge: GitServer, tmp_path: Path
) -> None:
    model = RepairingModel(slow=1, seconds=2.0)
    first = repository.git("rev-parse", "HEAD")
    with ProviderServer(model.turn) as server:
        settings = settings_for(forge, server, tmp_path)
        doomed = deployment.worker(**settings)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            job_id = submitted(service, forge)
            deployment.wait_until(lambda: len(model.requests) == 3)
            moved = repository.commit({"later.txt": b"1\n"})
            doomed.kill()
            doomed.wait()
            model.slow = None
            deployment.worker(**settings)
            deployment.wait_until(lambda: service.job(job_id)["status"] == "succeeded")
            fork = service.fork(job_id, {})["id"]
            deployment.wait_until(lambda: service.job(fork)["finished_at"] is not None)
            bases = {service.job(job)["result"]["patch"]["base"] for job in (job_id, fork)}
            (difference,) = service.compare([job_id, fork])["differences"]
    assert (bases, first != moved) == ({first}, True)
    assert (difference["files"], difference["problem"]) == ([], "")


HIDDEN = """from days.count import years


def test_before(epoch):
    assert years(epoch - 1) == -1
"""
CASES = [
    {
        "argv": ["python", "-c", "import days.count; print(days.count.years(1900))"],
        "stdout": "-70\n",
        "expect_files": {"docs/page_1.md": "# Page 1\n"},
    }
]


def test_checks_run_over_the_commit_with_the_change(
    deployment: Deployment, repository: Repository, forge: GitServer, tmp_path: Path
) -> None:
    repository.commit({"tests/conftest.py": EPOCH_FIXTURE})
    checks = {"files": {"tests/test_hidden.py": HIDDEN}, "cases": CASES}
    with ProviderServer(RepairingModel().turn) as server:
        deployment.worker(**settings_for(forge, server, tmp_path))
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            job_id = submitted(service, forge, checks=checks)
            deployment.wait_until(lambda: service.job(job_id)["finished_at"] is not None)
            again = {"job_id": job_id, "checks": checks}
            later_jobs = [
                service.fork(job_id, {"checks": {"files": {"tests/test_other.py": HIDDEN}}}),
                service.verify(again),
                service.verify({**again, "files": {"days/count.py": "years = abs\n"}}),
            ]
            names = [job_id, *(str(job["id"]) for job in later_jobs)]
            deployment.wait_until(
                lambda: all(service.job(name)["finished_at"] is not None for name in names)
            )
            jobs = [service.job(name) for name in names]
            patch = service.patch(job_id)
    assert [job["status"] for job in jobs] == ["succeeded"] * 4, jobs
    reports = [job["result"]["checks"] for job in jobs]
    assert [report["passed"] for report in reports] == [True, True, True, False], reports
    assert [test["id"] for test in reports[0]["tests"]] == [
        "tests/test_hidden.py::test_before",
        "case 1",
    ]
    assert [test["outcome"] for test in reports[3]["tests"]] == ["failed", "failed"]
    verification = jobs[0]["result"]["verification"]
    assert (verification["source"], verification["holds"]) == ("checks", True)
    assert b"test_hidden" not in patch


TESTS = """import pytest
from days.count import EPOCH, eras, years
from days.era import Era


def test_before(epoch):
    assert years(epoch - 1) == -1


def test_after():
    assert years(EPOCH + 1) == 1


def test_eras():
    assert eras() == [Era("x")]
"""


class ModelWithTester(RepairingModel):
    """Its tester writes a test of the task, a test that passes before, and a test that is wrong:
    a person removes it."""

    def turn(self, request: Request) -> Turn:
        if request.forced_tool != "Tests":
            return super().turn(request)
        self.requests.append(request)
        files = [
            {"path": "test_years.py", "content": TESTS},
            {"path": "docs/test_more.py", "content": "def test_nothing():\n    pass\n"},
        ]
        interface = "days/count.py: years(year), eras(); days/era.py: Era(name)"
        tests = {"interface": interface, "files": files}
        return Reply(tool_calls=(ToolCall("Tests", tests),))


def test_the_testers_tests_are_in_the_patch_and_are_checked(
    deployment: Deployment, repository: Repository, forge: GitServer, tmp_path: Path
) -> None:
    repository.commit({"tests/conftest.py": EPOCH_FIXTURE})
    model = ModelWithTester()
    right = TESTS.partition("\n\n\ndef test_after")[0].replace(", eras", "") + "\n"
    right = right.replace("import pytest\n", "").replace("from days.era import Era\n", "")
    with ProviderServer(model.turn) as server:
        deployment.worker(**settings_for(forge, server, tmp_path))
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            job_id = submitted(service, forge, write_tests=True, review=True)

            def waits(digest: str = "") -> bool:
                review = service.job(job_id)["review"]
                return bool(review) and review["digest"] != digest

            deployment.wait_until(waits)
            job, review = service.job(job_id), service.job(job_id)["review"]
            first_patch = service.patch(job_id)
            service.decide(
                job_id,
                {
                    "action": "edit",
                    "review_id": review["id"],
                    "files": {"tests/test_years.py": right},
                },
            )
            deployment.wait_until(lambda: waits(review["digest"]))
            edited = service.job(job_id)["review"]
            service.decide(job_id, {"action": "approve", "review_id": edited["id"]})
            deployment.wait_until(lambda: service.job(job_id)["finished_at"] is not None)
            job_at_end, patch = service.job(job_id), service.patch(job_id)
            events = [
                event.data for event in service.events(job_id) if event.kind == "tests_written"
            ]
    (written,) = events
    assert written["files"] == ["tests/test_years.py"], written
    assert written["tests"] == [
        "tests/test_years.py::test_before",
        "tests/test_years.py::test_eras",
    ]
    outcomes = {test["id"]: test["outcome"] for test in job["checks"]["tests"]}
    assert set(outcomes) == {"tests/test_years.py"}, outcomes
    assert b"+def test_eras" in first_patch
    assert b"+def test_after" not in first_patch
    result = job_at_end["result"]
    assert (job_at_end["status"], result["checks"]["passed"]) == ("succeeded", True), job_at_end
    clone = clone_repository(repository, tmp_path / "clone")
    clone.raw("apply", "--index", "-", stdin=patch)
    assert (clone.folder / "tests" / "test_years.py").read_text() == right
    assert not (clone.folder / "docs" / "test_more.py").exists()
    to_tester = [request for request in model.requests if request.forced_tool == "Tests"]
    prompt = "\n".join(message.text for request in to_tester for message in request.messages)
    assert "named like `test_*.py` or `*_test.py`, in `tests/` or below" in prompt
