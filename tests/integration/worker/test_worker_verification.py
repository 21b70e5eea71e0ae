"""Verifications through real worker processes and the real sandbox."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.recorded import calls, one_run, turn
from support.processes.deployment import MORTAL, Deployment, running_deployment

from jobs.blobs import manifest
from jobs.model.record import Status
from jobs.model.spec import CASES_PATH, CheckSpec, JobKind, JobSpec

TEST = "from solution import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
SLOW = f"import time\ntime.sleep(2)\n{TEST}"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path) as started_deployment:
        yield started_deployment


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment with one worker, for tests that do not change it."""
    with running_deployment(tmp_path_factory.mktemp("deployment")) as started_deployment:
        started_deployment.worker()
        yield started_deployment


async def verification(deployment: Deployment, solution: str, test: str = TEST) -> JobSpec:
    files = await manifest.save(deployment.blobs, {"solution.py": solution.encode()})
    checks = await manifest.save(deployment.blobs, {"test_add.py": test.encode()})
    assert checks is not None
    spec = CheckSpec(checks, ("test_add.py",))
    return JobSpec("Verify it", workspace=files, kind=JobKind.VERIFICATION, checks=spec)


async def test_a_verification_succeeds_whether_its_report_passed_or_not(
    shared: Deployment,
) -> None:
    async with shared.operations() as operations:
        right = await verification(shared, "def add(a, b):\n    return a + b\n")
        wrong = await verification(shared, "def add(a, b):\n    return a - b\n")
        passed_id, failed_id = [await shared.submit(operations, spec) for spec in (right, wrong)]
        passed = await shared.until(operations, passed_id)
        failed = await shared.until(operations, failed_id)
        assert passed.status is failed.status is Status.SUCCEEDED, shared.logs()
        assert passed.result is not None
        assert failed.result is not None
        assert passed.result.checks is not None
        assert passed.result.checks["passed"] is True
        assert passed.result.answer == "1 of 1 checks passed."
        assert failed.result.checks is not None
        assert failed.result.checks["passed"] is False
        (test,) = failed.result.checks["tests"]
        assert (test["id"], test["outcome"]) == ("test_add.py::test_add", "failed")
        assert "assert -1 == 3" in test["detail"]
        kinds = ["submitted", "started", "checked", "succeeded"]
        assert await shared.kinds(operations, passed_id) == kinds
        assert not await operations.store.charges(passed_id)
        assert not await operations.store.conversation("default", passed.conversation_id, 3)
        assert passed.workspace == right.workspace  # the checks have not changed any file


@pytest.mark.invariant("J8")
async def test_a_verification_of_a_dead_worker_is_repeated_once(deployment: Deployment) -> None:
    worker = deployment.worker(lease_seconds=MORTAL)
    async with deployment.operations() as operations:
        spec = await verification(deployment, "def add(a, b):\n    return a + b\n", SLOW)
        job_id = await deployment.submit(operations, spec)
        await deployment.wait_for_event(operations, job_id, "started")
        await asyncio.sleep(0.5)
        worker.send_signal(signal.SIGKILL)
        deployment.worker()
        job = await deployment.until(operations, job_id)
        assert job.status is Status.SUCCEEDED, deployment.logs()
        assert job.result is not None
        assert job.result.checks is not None
        assert job.result.checks["passed"] is True
        kinds = await deployment.kinds(operations, job_id)
        assert kinds.count("checked") == 1
        assert "lease_lost" in kinds


async def test_a_worker_judges_cases(shared: Deployment) -> None:
    expected_questions = [
        {"argv": ["python", "app.py", "2"], "stdout": "4\n"},
        {"name": "three", "argv": ["python", "app.py"], "stdin": "3", "stdout_matches": "10."},
    ]
    app = b"import sys\nprint(int((sys.argv[1:] or [sys.stdin.read()])[0]) ** 2)\n"
    async with shared.operations() as operations:
        cases = await manifest.save(
            shared.blobs, {CASES_PATH: json.dumps(expected_questions).encode()}
        )
        assert cases is not None
        checks = CheckSpec(cases, (), cases=("case 1", "case three"))
        files = await manifest.save(shared.blobs, {"app.py": app})
        spec = JobSpec("Verify it", workspace=files, kind=JobKind.VERIFICATION, checks=checks)
        job = await shared.until(operations, await shared.submit(operations, spec))
        assert job.result is not None, shared.logs()
        report = job.result.checks
        assert report is not None
        assert report["judged_by"] == "cases"
        outcomes = [(test["id"], test["outcome"]) for test in report["tests"]]
        assert outcomes == [("case 1", "passed"), ("case three", "failed")]
        assert "expected a match of '10.', actual '9\\n'" in report["tests"][1]["detail"]
        assert job.result.answer == "1 of 2 checks passed."


@pytest.mark.invariant("J9")
async def test_questions_survive_their_worker_and_get_their_defaults_in_time(
    deployment: Deployment,
) -> None:
    question = {"question": "Which sum?", "default": "That of two."}
    answers_text = "- Which sum?\n  That of two."
    model = deployment.record(
        "asked",
        [
            turn("planner", "ask first?", calls("Questions", questions=[question])),
            *one_run(answers_text, "print('ok')", result_text="ok"),
        ],
    )
    deployment.worker()
    async with deployment.operations() as operations:
        spec = JobSpec("add", model=model, questions=True, questions_expire_seconds=3)
        job_id = await deployment.submit(operations, spec)
        waiting = await deployment.until(operations, job_id, Status.AWAITING_REVIEW)
        assert waiting.review is not None
        assert waiting.review.kind == "questions"
        deployment.stop_workers()
        deployment.worker()
        job = await deployment.until(operations, job_id)
        assert job.status is Status.SUCCEEDED, deployment.logs()
        kinds = await deployment.kinds(operations, job_id)
        assert kinds.index("asked") < kinds.index("review_expired") < kinds.index("planned")
