"""Verifications through real worker processes and the real sandbox."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.recorded import calls, one_run, turn
from support.processes.deployment import MORTAL, House, a_house

from jobs import manifest
from jobs.checks import CASES_PATH, CheckSpec
from jobs.record import Status
from jobs.spec import JobSpec, Kind

TEST = "from solution import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
TOO_LONG = ("the time for all checks was over", "the checks ran for longer than they may")
"""Said by who judges in the room, or for him where he is late himself."""
SLOW = f"import time\ntime.sleep(2)\n{TEST}"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path) as made:
        yield made


async def verification(house: House, solution: str, test: str = TEST) -> JobSpec:
    files = await manifest.save(house.blobs, {"solution.py": solution.encode()})
    checks = await manifest.save(house.blobs, {"test_add.py": test.encode()})
    assert checks is not None
    spec = CheckSpec(checks, ("test_add.py",))
    return JobSpec("Verify it", workspace=files, kind=Kind.VERIFICATION, checks=spec)


async def test_a_verification_succeeds_with_its_report_passed_or_not(house: House) -> None:
    house.worker()
    async with house.operations() as operations:
        right = await verification(house, "def add(a, b):\n    return a + b\n")
        wrong = await verification(house, "def add(a, b):\n    return a - b\n")
        passed_id, failed_id = [await house.submit(operations, spec) for spec in (right, wrong)]
        passed = await house.until(operations, passed_id)
        failed = await house.until(operations, failed_id)
        assert passed.status is failed.status is Status.SUCCEEDED, house.logs()
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
        assert await house.kinds(operations, passed_id) == kinds
        assert not await operations.store.charges(passed_id)
        assert not await operations.store.conversation("default", passed.conversation_id, 3)
        assert passed.workspace == right.workspace  # the checks have changed nothing


@pytest.mark.invariant("J8")
async def test_a_verification_whose_worker_died_is_made_again_once(house: House) -> None:
    worker = house.worker(lease_seconds=MORTAL)
    async with house.operations() as operations:
        spec = await verification(house, "def add(a, b):\n    return a + b\n", SLOW)
        job_id = await house.submit(operations, spec)
        await house.told(operations, job_id, "started")
        await asyncio.sleep(0.5)
        worker.send_signal(signal.SIGKILL)
        house.worker()
        job = await house.until(operations, job_id)
        assert job.status is Status.SUCCEEDED, house.logs()
        assert job.result is not None
        assert job.result.checks is not None
        assert job.result.checks["passed"] is True
        kinds = await house.kinds(operations, job_id)
        assert kinds.count("checked") == 1
        assert "lease_lost" in kinds


async def test_a_verification_that_runs_for_too_long_is_told_so(house: House) -> None:
    house.worker(run_seconds="3")
    async with house.operations() as operations:
        spec = await verification(house, "while True: pass")
        job = await house.until(operations, await house.submit(operations, spec))
        assert job.status is Status.SUCCEEDED, house.logs()
        assert job.result is not None
        assert job.result.checks is not None
        assert job.result.checks["problem"] in TOO_LONG


async def test_cases_are_judged_by_a_worker(house: House) -> None:
    house.worker()
    asked = [
        {"argv": ["python", "app.py", "2"], "stdout": "4\n"},
        {"name": "three", "argv": ["python", "app.py"], "stdin": "3", "stdout_matches": "10."},
    ]
    app = b"import sys\nprint(int((sys.argv[1:] or [sys.stdin.read()])[0]) ** 2)\n"
    async with house.operations() as operations:
        cases = await manifest.save(house.blobs, {CASES_PATH: json.dumps(asked).encode()})
        assert cases is not None
        checks = CheckSpec(cases, (), cases=("case 1", "case three"))
        files = await manifest.save(house.blobs, {"app.py": app})
        spec = JobSpec("Verify it", workspace=files, kind=Kind.VERIFICATION, checks=checks)
        job = await house.until(operations, await house.submit(operations, spec))
        assert job.result is not None, house.logs()
        report = job.result.checks
        assert report is not None
        assert report["judged_by"] == "cases"
        outcomes = [(test["id"], test["outcome"]) for test in report["tests"]]
        assert outcomes == [("case 1", "passed"), ("case three", "failed")]
        assert "expected a match of '10.', actual '9\\n'" in report["tests"][1]["detail"]
        assert job.result.answer == "1 of 2 checks passed."


async def test_a_jobs_checks_and_its_result_say_what_passed(house: House) -> None:
    code = "open('solution.py', 'w').write('def add(a, b):\\n    return a + b\\n')\nprint('ok')"
    model = house.record("checked", one_run("add", code, seen="ok", answer="Added."))
    house.worker()
    async with house.operations() as operations:
        checks = (await verification(house, "")).checks
        spec = JobSpec("add", model=model, checks=checks)
        job = await house.until(operations, await house.submit(operations, spec))
        assert job.status is Status.SUCCEEDED, house.logs()
        assert job.result is not None
        assert job.result.approved_by == "critic"
        assert job.result.checks is not None
        assert job.result.checks["passed"] is True
        assert "checked" in await house.kinds(operations, job.id)
        files = await manifest.load(house.blobs, job.workspace)
        assert list(files.files) == ["solution.py"]


@pytest.mark.invariant("J9")
async def test_questions_outlive_their_worker_and_get_their_defaults_in_time(house: House) -> None:
    question = {"question": "Which sum?", "default": "That of two."}
    said = "- Which sum?\n  That of two."
    model = house.record(
        "asked",
        [
            turn("planner", "asked first?", calls("Questions", questions=[question])),
            *one_run(said, "print('ok')", seen="ok"),
        ],
    )
    house.worker()
    async with house.operations() as operations:
        spec = JobSpec("add", model=model, questions=True, questions_expire_seconds=3)
        job_id = await house.submit(operations, spec)
        waiting = await house.until(operations, job_id, Status.AWAITING_REVIEW)
        assert waiting.review is not None
        assert waiting.review.kind == "questions"
        house.stop_workers()
        house.worker()
        job = await house.until(operations, job_id)
        assert job.status is Status.SUCCEEDED, house.logs()
        kinds = await house.kinds(operations, job_id)
        assert kinds.index("asked") < kinds.index("review_expired") < kinds.index("planned")
