"""A provider that is unavailable, or asks for a delay: the job rests without a worker, and the
views show this.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.processes.scene import Scene, Work, a_scene

from jobs.model.record import Reason, Status
from jobs.view.job import render_summary
from lab.provider import Hang, Raw, Refusal
from worker.failures import UNPROVEN_RETRIES

SHORT = {"model_wait_seconds": "0.1", "retry_seconds": "0.05", "retry_longest_seconds": "0.1"}


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with a_scene(tmp_path) as started_scene:
        yield started_scene


async def test_a_waiting_job_is_shown_as_waiting_and_frees_its_slot(scene: Scene) -> None:
    scene.deployment.worker(concurrency="1")
    await scene.deployment.ready()
    refusal = Refusal(429, "slow down", retry_after=600)
    waiting = await scene.submit("waiting", Work(instead={2: refusal}))
    operations = scene.operations
    await scene.deployment.wait_for_event(operations, waiting, "given_back")
    job = await scene.deployment.record_of(operations, waiting)
    assert (job.status, job.lease) == (Status.QUEUED, None)
    shown_waits = render_summary(job)["waits"]
    assert (shown_waits["on"], shown_waits["tries"]) == ("groq", 1)
    assert "groq:waiting: too many requests" in shown_waits["why"]
    assert 600_000 <= job.due_at - job.updated_at <= 660_000
    other_job = await scene.submit("other")
    await scene.wait_for_success("other")
    # a job of another worker with the same model waits, too: the provider gets no request
    scene.work["waiting"] = Work()
    third = await scene.deployment.submit(operations, job.spec)
    await scene.deployment.wait_for_event(operations, third, "given_back")
    assert len(scene.requests_by_model["waiting"]) == 2
    assert other_job


async def test_a_requested_delay_is_respected_and_the_work_continues(scene: Scene) -> None:
    scene.deployment.worker(**SHORT)
    await scene.submit("asked", Work(instead={2: Refusal(429, retry_after=1)}))
    await scene.wait_for_success("asked")
    refused, again = scene.requests_by_model["asked"][1:3]
    assert again.at - refused.at >= 1
    await scene.judge()


async def test_an_outage_uses_neither_tries_nor_running_time(scene: Scene) -> None:
    """Ten tries with hanging calls take longer than the job may run."""
    scene.deployment.worker(model_timeout_seconds="0.3", **SHORT)
    hangs = dict.fromkeys(range(3, 13), Hang())
    job_id = await scene.submit("hangs", Work(instead=hangs), timeout_seconds=2)
    await scene.wait_for_success("hangs")
    job = await scene.deployment.record_of(scene.operations, job_id)
    assert job.ran_ms < 2_000
    kinds = await scene.event_kinds("hangs")
    assert kinds.count("given_back") == 10
    await scene.judge()


async def test_an_address_without_a_server_fails_the_job_after_a_few_tries(scene: Scene) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    scene.deployment.worker(groq_base_url=f"http://{address}", **SHORT)
    await scene.submit("nowhere")
    job = await scene.end("nowhere")
    assert (job.status, job.reason) == (Status.FAILED, Reason.MODEL_UNAVAILABLE)
    kinds = await scene.event_kinds("nowhere")
    assert kinds.count("given_back") == UNPROVEN_RETRIES
    assert job.detail.startswith(
        "groq:nowhere: no server answers at its address (Connection refused"
    )
    assert f"http://{address}/" in job.detail
    assert "correct FETTLE_GROQ_BASE_URL" in job.detail


async def test_a_wrong_path_fails_the_job_at_once(scene: Scene) -> None:
    scene.deployment.worker(**SHORT)
    missing = Raw([b'{"detail":"Not Found"}'], status=404)
    await scene.submit("lost", Work(instead={1: missing}))
    job = await scene.end("lost")
    assert (job.status, job.reason) == (Status.FAILED, Reason.MODEL_UNAVAILABLE)
    assert "given_back" not in await scene.event_kinds("lost")
    assert "404: Not Found, from http://127.0.0.1:" in job.detail


async def test_a_deadline_names_the_model_that_does_not_answer(scene: Scene) -> None:
    scene.deployment.worker()
    await scene.submit("silent", Work(instead={2: Hang()}), timeout_seconds=2)
    job = await scene.end("silent")
    assert job.reason is Reason.DEADLINE
    expected_detail = "the job ran for 2 s, its timeout_seconds; groq:silent had not answered for "
    assert job.detail.startswith(expected_detail)
