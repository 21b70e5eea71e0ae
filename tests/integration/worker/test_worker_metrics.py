"""The port of a worker: its metrics, its liveness and its readiness."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from redis.asyncio import Redis
from support.processes.scene import Scene, Work, a_scene

from jobs.model.record import Status
from jobs.model.spec import Priority
from jobs.queue.hints import hint_list
from lab.provider import Refusal

Figures = dict[tuple[str, ...], float]


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with a_scene(tmp_path, FETTLE_WORKER_METRICS_PORT="0") as started_scene:
        yield started_scene


async def address(scene: Scene, started: int = 1) -> str:
    """The address at which the last of the `started` workers serves its metrics."""
    served = re.compile(r'"port": (\d+), "event": "metrics served"')
    async with asyncio.timeout(60):
        while len(figures_of_worker := served.findall(scene.deployment.logs())) < started:
            await asyncio.sleep(0.02)
    return f"http://127.0.0.1:{figures_of_worker[-1]}"


async def figures(url: str) -> Figures:
    """The values by name, and by name with the values of their labels."""
    async with httpx.AsyncClient() as client:
        answer = (await client.get(f"{url}/metrics")).raise_for_status()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def until_answered(url: str, status: int) -> str:
    """Wait until a probe has this status; returns its text."""
    async with httpx.AsyncClient() as client, asyncio.timeout(60):
        while (answer := await client.get(url)).status_code != status:
            await asyncio.sleep(0.05)
    return answer.text


async def until_figures(url: str, holds: Callable[[Figures], bool]) -> Figures:
    """The metrics, as soon as the condition holds."""
    async with asyncio.timeout(60):
        while not holds(figures_of_worker := await figures(url)):
            await asyncio.sleep(0.05)
    return figures_of_worker


def _all_sandboxes_ready(figures_of_worker: Figures) -> bool:
    wanted_sandboxes = figures_of_worker["fettle_sandboxes_wanted",]
    return (
        wanted_sandboxes >= 1 and figures_of_worker["fettle_sandboxes_ready",] == wanted_sandboxes
    )


async def test_the_metrics_of_a_worker_count_its_work(scene: Scene) -> None:
    """The values stay after the jobs are deleted: a counter never falls."""
    scene.deployment.worker(
        concurrency="7", retention_days="0.000001", retention_sweep_seconds="0.2"
    )
    url = await address(scene)
    await scene.deployment.ready()
    before = await figures(url)
    assert before["fettle_job_failures_total", "unapproved"] == 0
    assert before["fettle_job_unapproved_total", "accepted"] == 0
    good = await scene.submit("good", Work(("print(6 * 7)",)))
    bad = await scene.submit("bad", Work(instead={1: Refusal(400)}))
    for job_id in (good, bad):
        async with asyncio.timeout(60):
            while await scene.operations.store.load(job_id) is not None:
                await asyncio.sleep(0.05)
    figures_of_worker = await figures(url)
    assert figures_of_worker["fettle_worker_slots",] == 7
    assert (
        figures_of_worker["fettle_worker_busy_slots",]
        == figures_of_worker["fettle_runs_in_progress",]
        == 0
    )
    assert figures_of_worker["fettle_worker_sandbox_up",] == 1
    await until_figures(url, _all_sandboxes_ready)  # the count is updated at most once per second
    assert figures_of_worker["fettle_worker_heartbeat_age_seconds",] < 20
    assert figures_of_worker["fettle_worker_loop_lag_seconds_count",] > 0
    kinds = {
        name[1]: value
        for name, value in figures_of_worker.items()
        if name[0] == "fettle_job_events_total"
    }
    assert kinds == {"started": 2, "succeeded": 1, "failed": 1}
    assert figures_of_worker["fettle_job_failures_total", "model_unavailable"] == 1
    assert figures_of_worker["fettle_job_start_seconds_count",] == 2
    calls = scene.work["good"].calls
    assert figures_of_worker["fettle_model_requests_total", "answered", "groq"] == calls
    assert figures_of_worker["fettle_model_requests_total", "refused", "groq"] == 1
    assert figures_of_worker["fettle_model_request_seconds_count", "groq"] == calls + 1
    assert figures_of_worker["fettle_model_tokens_total", "output", "groq"] > 0
    assert figures_of_worker["fettle_runs_total", "succeeded"] >= 1
    ran = sum(value for name, value in figures_of_worker.items() if name[0] == "fettle_runs_total")
    assert (
        figures_of_worker["fettle_run_seconds_count",]
        == figures_of_worker["fettle_sandbox_overhead_seconds_count",]
    )
    assert figures_of_worker["fettle_run_seconds_count",] == ran
    assert figures_of_worker["process_resident_memory_bytes",] > 0


async def test_running_jobs_are_counted_while_they_run(scene: Scene) -> None:
    scene.deployment.worker()
    url = await address(scene)
    await scene.submit("slow", Work(("import time; time.sleep(60)",)))
    busy = await until_figures(url, lambda found: found["fettle_runs_in_progress",] == 1)
    assert busy["fettle_worker_busy_slots",] == 1
    await scene.cancel("slow")
    over = await until_figures(url, lambda found: found["fettle_worker_busy_slots",] == 0)
    assert over["fettle_runs_in_progress",] == 0


async def test_a_worker_without_redis_is_alive_but_not_ready(scene: Scene) -> None:
    scene.deployment.server.process.send_signal(signal.SIGSTOP)
    worker = scene.deployment.worker(worker_seen_seconds="2")
    url = await address(scene)
    assert await until_answered(f"{url}/readyz", 503) == "the worker is starting\n"
    scene.deployment.server.process.send_signal(signal.SIGCONT)
    assert await until_answered(f"{url}/readyz", 200) == "ready\n"
    scene.deployment.server.process.send_signal(signal.SIGSTOP)
    assert "Redis has not answered a heartbeat" in await until_answered(f"{url}/readyz", 503)
    assert await until_answered(f"{url}/healthz", 200) == "alive\n"
    scene.deployment.server.process.send_signal(signal.SIGCONT)
    assert await until_answered(f"{url}/readyz", 200) == "ready\n"
    assert worker.poll() is None


@pytest.mark.parametrize(
    ("model", "env", "reason"),
    [
        ("anthropic:m", {}, "anthropic:m needs a key: set ANTHROPIC_API_KEY"),
        ("groq:m", {"FETTLE_CRITIC_MODEL": "anthropic:c, openai:c"}, "anthropic:c needs a key"),
        ("groq:m", {"SSL_CERT_FILE": "/nowhere.pem"}, "correct SSL_CERT_FILE"),
        ("recording:later", {}, "no recording 'later'"),
    ],
)
async def test_a_worker_that_cannot_build_its_default_model_takes_no_job(
    scene: Scene, model: str, env: dict[str, str], reason: str
) -> None:
    scene.deployment.env.update(env)
    scene.deployment.worker(model=model)
    url = await address(scene)
    body = ""
    async with asyncio.timeout(60):
        while "default model" not in body:
            body = await until_answered(f"{url}/readyz", 503)
    assert reason in body
    job_id = await scene.submit("waits")
    await until_hint_is_taken(scene)
    job = await scene.deployment.record_of(scene.operations, job_id)
    assert (job.status, job.attempts) == (Status.QUEUED, 0)
    assert '"worker ready"' not in scene.deployment.logs()
    if model == "recording:later":
        scene.deployment.record("later", [])
        assert await until_answered(f"{url}/readyz", 200) == "ready\n"
        await scene.wait_for_success("waits")


async def until_hint_is_taken(scene: Scene) -> None:
    """Wait until the worker has taken the only hint."""
    async with Redis.from_url(scene.deployment.broker_url) as broker, asyncio.timeout(60):
        while await broker.llen(hint_list(Priority.NORMAL)):
            await asyncio.sleep(0.05)


async def test_a_worker_with_a_broken_sandbox_is_not_ready_and_names_the_reason(
    scene: Scene,
) -> None:
    scene.deployment.worker(sandbox_python=str(scene.deployment.folder / "no" / "bin" / "python"))
    url = await address(scene)
    await scene.deployment.ready()
    body = ""
    async with asyncio.timeout(60):
        while "sandbox" not in body:
            body = await until_answered(f"{url}/readyz", 503)
    assert "make install" in body
    assert (await figures(url))["fettle_worker_sandbox_up",] == 0
    assert await until_answered(f"{url}/metric", 404) == "/metrics, /healthz, /readyz\n"
