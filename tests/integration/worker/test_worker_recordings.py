"""A job written down while a provider answers it, and played back without one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.graph.working_model import works
from support.processes.deployment import MORTAL, Deployment, ok, running_deployment

from benchmarks.provider import ProviderServer, Reply, Request, ToolCall, Turn
from jobs.model.record import JobRecord, Reason, Status
from jobs.model.review import Action, Decision
from jobs.model.spec import JobSpec
from jobs.service import Operations
from jobs.view.recording import recording

MODEL = "groq:llama-3.3-70b-versatile"
KEY = "the-operators-own-key"
SPEC = JobSpec(task=f"Print 6 times 7. The key {KEY} is not for you.", model=MODEL)
OF_THE_CALL = {"call", "model", "cost_usd", "seconds", "recorded", "at"}
"""What tells one call, or one run of the same code, from another."""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY=KEY) as made:
        yield made


def learns(request: Request) -> Turn:
    """Runs wrong code, is sent back, runs right code."""
    if request.forced_tool == "Verdict":
        right = "stdout:\n42" in request.last_text
        verdict = {"verdict": "approve", "run": "r2"} if right else {"verdict": "revise"}
        shown = {"feedback": "It must print 42.", **verdict}
        return Reply(tool_calls=(ToolCall("Verdict", shown),))
    mended = "must print 42" in request.last_text
    return works(request, "print(6 * 7)" if mended else "print(6 + 7)", "It is printed.")


async def test_a_recorded_job_is_played_back_alike_and_another_one_fails(
    deployment: Deployment,
) -> None:
    folder = deployment.folder / "recordings"
    folder.mkdir()
    async with deployment.operations() as operations:
        with ProviderServer(learns) as server:
            deployment.worker(groq_base_url=server.groq_url, record=str(folder))
            job = await ended(deployment, operations, SPEC)
            assert job.status is Status.SUCCEEDED, deployment.logs()
            shown = await events(operations, job)
        text = (folder / f"{job.id}.yaml").read_text()
        assert KEY not in text
        assert len(re.findall("^- role:", text, re.MULTILINE)) == 7
        assert [path.name for path in folder.iterdir()] == [f"{job.id}.yaml"]  # and no half of one

        spec = JobSpec(task=SPEC.task, model=f"recording:{job.id}")
        again = await ended(deployment, operations, spec)
        assert again.status is Status.SUCCEEDED, again.detail
        assert again.result == job.result
        assert await events(operations, again) == shown

        spec = JobSpec(task="Print 6 times 8.", model=f"recording:{job.id}")
        other = await ended(deployment, operations, spec)
        assert (other.status, other.reason) == (Status.FAILED, Reason.MODEL_UNAVAILABLE)
        assert "role: planner" in other.detail
        assert "-Print 6 times 7. The key <secret-removed> is not for you." in other.detail
        assert "+Print 6 times 8." in other.detail


async def test_a_recording_is_whole_after_a_crash_and_over_a_pause(deployment: Deployment) -> None:
    async with deployment.operations() as operations:
        with ProviderServer(learns) as server:
            cut = {"fail_point": "after_journal:2", "lease_seconds": MORTAL}
            deployment.worker(groq_base_url=server.groq_url, **cut)
            asked = JobSpec(task="6 times 7", model=MODEL, record=True, review=True)
            job_id = await deployment.submit(operations, asked)
            await deployment.wait_for_event(operations, job_id, "model_called", times=2)
            deployment.worker(groq_base_url=server.groq_url)
            for _ in range(2):
                paused = await deployment.until(operations, job_id, Status.AWAITING_REVIEW)
                assert paused.review is not None
                delegate = Decision(paused.review.id, Action.DELEGATE, by="ada")
                ok(await operations.decide(job_id, delegate))
            job = await deployment.until(operations, job_id)
            assert (job.status, job.attempts > 3) == (Status.SUCCEEDED, True)
            shown = await operations.store.events(job_id)
            assert "lease_lost" in [event.kind for event in shown]
            written = await recording(job_id, shown, deployment.blobs)
            assert written is not None
            roles = re.findall("^- role: (.*)", written.decode(), re.MULTILINE)
            assert roles == ["planner", *(["executor"] * 2 + ["critic"]) * 2]


async def ended(deployment: Deployment, operations: Operations, spec: JobSpec) -> JobRecord:
    return await deployment.until(operations, await deployment.submit(operations, spec))


async def events(operations: Operations, job: JobRecord) -> list[tuple[str, Mapping[str, Any]]]:
    """What was told of a job, without times and without who answered."""
    found = await operations.store.events(job.id)
    first = ("submitted", "started")
    return [
        (event.kind, {k: v for k, v in event.data.items() if k not in OF_THE_CALL})
        for event in found
        if event.kind not in first
    ]
