"""A job is recorded while a provider answers it, and played back without a provider."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.working_model import works
from support.processes.deployment import MORTAL, Deployment, ok, running_deployment

from jobs.model.record import Status
from jobs.model.review import Action, Decision
from jobs.model.spec import JobSpec
from jobs.view.recording import build_recording
from lab.provider import ProviderServer, Reply, Request, ToolCall, Turn

MODEL = "groq:llama-3.3-70b-versatile"
KEY = "the-operators-own-key"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY=KEY) as started_deployment:
        yield started_deployment


def learns(request: Request) -> Turn:
    """A model that runs wrong code, gets a request for a revision, and runs correct code."""
    if request.forced_tool == "Verdict":
        right = "stdout:\n42" in request.last_text
        verdict = {"verdict": "approve", "runs": ["r2"]} if right else {"verdict": "revise"}
        shown_events = {"feedback": "It must print 42.", **verdict}
        return Reply(tool_calls=(ToolCall("Verdict", shown_events),))
    repaired = "must print 42" in request.last_text
    return works(request, "print(6 * 7)" if repaired else "print(6 + 7)", "It is printed.")


async def test_a_recording_is_complete_after_a_crash_and_a_pause(deployment: Deployment) -> None:
    async with deployment.operations() as operations:
        with ProviderServer(learns) as server:
            cut = {"fail_point": "after_journal:2", "lease_seconds": MORTAL}
            deployment.worker(groq_base_url=server.groq_url, **cut)
            recorded_spec = JobSpec(task="6 times 7", model=MODEL, record=True, review=True)
            job_id = await deployment.submit(operations, recorded_spec)
            await deployment.wait_for_event(operations, job_id, "model_called", times=2)
            deployment.worker(groq_base_url=server.groq_url)
            for _ in range(2):
                paused = await deployment.until(operations, job_id, Status.AWAITING_REVIEW)
                assert paused.review is not None
                delegate = Decision(paused.review.id, Action.DELEGATE, by="ada")
                ok(await operations.decide(job_id, delegate))
            job = await deployment.until(operations, job_id)
            assert (job.status, job.attempts > 3) == (Status.SUCCEEDED, True)
            shown_events = await operations.store.events(job_id)
            assert "lease_lost" in [event.kind for event in shown_events]
            written = await build_recording(job_id, shown_events, deployment.blobs)
            assert written is not None
            roles = re.findall("^- role: (.*)", written.decode(), re.MULTILINE)
            assert roles == ["planner", *(["executor"] * 2 + ["critic"]) * 2]
