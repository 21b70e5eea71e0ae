"""Bytes in Redis, in the broker and in blobs are data: a worker runs no code that they name."""

from __future__ import annotations

import base64
import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from celery.app.control import Inspect
from redis.asyncio import Redis
from support.graph.planted import Planted, planted_extensions
from support.graph.recorded import answers, approves, one_run, plans, runs
from support.processes.deployment import MORTAL, Deployment, ok, running_deployment

from jobs.model.record import JobRecord, Reason, Status
from jobs.model.review import Action, Decision, ReviewKind
from jobs.model.spec import JobSpec
from jobs.queue.hints import NAME, QUEUE, celery_app
from jobs.redis.keys import JobKeys
from jobs.service import Operations

pytestmark = pytest.mark.matrix(every=6)

CODE = "open('n.txt', 'w').write('42')\nprint(42)"
TURNS = [
    plans("print 42"),
    runs("print 42", CODE, 0),
    answers("42", "It is 42.", 1),
    approves("r1"),
]
JOB_ID = "0" * 20


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with running_deployment(tmp_path_factory.mktemp("deployment")) as started_deployment:
        started_deployment.record("planted", TURNS)
        yield started_deployment


async def paused(deployment: Deployment, operations: Operations) -> JobRecord:
    """A job that waits for a person's review."""
    if not deployment.workers:
        deployment.worker()
    spec = JobSpec("print 42", model="recording:planted", review=True)
    job_id = await deployment.submit(operations, spec)
    return await deployment.until(operations, job_id, Status.AWAITING_REVIEW)


async def approved(deployment: Deployment, operations: Operations, job: JobRecord) -> JobRecord:
    """The job after a person's approval, as the worker leaves it."""
    assert job.review is not None
    ok(await operations.decide(job.id, Decision(job.review.id, Action.APPROVE, "ann")))
    finished = (Status.AWAITING_REVIEW, Status.SUCCEEDED, Status.FAILED)
    return await deployment.until(operations, job.id, *finished)


def is_parked(job: JobRecord, position: str) -> bool:
    """Whether the job waits for a person because its stored value is unreadable."""
    assert job.status is Status.AWAITING_REVIEW, (job.status, job.reason, job.detail)
    assert job.review is not None
    assert job.review.kind is ReviewKind.UPGRADE
    return position in job.review.payload["place"]


@pytest.mark.parametrize("planted", planted_extensions(), ids=str)
@pytest.mark.parametrize("field", ["c", "m", "w", "value"])
async def test_a_call_in_a_checkpoint_is_not_made_and_parks_the_job(
    deployment: Deployment, tmp_path: Path, field: str, planted: Planted
) -> None:
    marker = tmp_path / "marker"
    stored = b"msgpack " + planted.bytes_for(marker)
    async with deployment.operations() as operations, Redis.from_url(deployment.redis_url) as redis:
        job = await paused(deployment, operations)
        await plant(redis, job.id, field, stored)
        assert is_parked(await approved(deployment, operations, job), "checkpoint ")
    assert not marker.exists()


async def plant(redis: Redis, job_id: str, part: str, stored: bytes) -> None:
    """Replace every such part of a job's checkpoints: `c`, `m`, a pending write, a value."""
    changed = 0
    async for key in redis.scan_iter(match=f"fettle:checkpoint:{job_id}:*", _type="hash"):
        for name, value in (await redis.hgetall(key)).items():  # type: ignore[misc]
            if name.startswith(b"w:") and part == "w":
                channel, task_path, _ = value.split(b" ", 2)
                planted = b" ".join((channel, task_path, stored))
            elif name == part.encode() or (b"@" in name and part == "value"):
                planted = stored
            else:
                continue
            await redis.hset(key, name, planted)  # type: ignore[arg-type, misc]
            changed += 1
    assert changed


@pytest.mark.parametrize("plain", [{}, None, [{"a": 1}], "text"], ids=repr)
@pytest.mark.parametrize("field", ["c", "m", "w", "value"])
async def test_plain_data_of_another_shape_parks_the_job(
    deployment: Deployment, field: str, plain: Any
) -> None:
    stored = b"msgpack " + ormsgpack.packb(plain)
    async with deployment.operations() as operations, Redis.from_url(deployment.redis_url) as redis:
        job = await paused(deployment, operations)
        await plant(redis, job.id, field, stored)
        assert is_parked(await approved(deployment, operations, job), "checkpoint ")


@pytest.mark.parametrize("format_name", ["pickle", "json", "msgpack", "python"])
async def test_a_checkpoint_in_another_format_parks_the_job(
    deployment: Deployment, tmp_path: Path, format_name: str
) -> None:
    marker = tmp_path / "marker"
    content = pickle.dumps(ShellCall(marker))
    if format_name == "json":
        call = {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": [f"touch {marker}"]}
        content = json.dumps(call).encode()
    async with deployment.operations() as operations, Redis.from_url(deployment.redis_url) as redis:
        job = await paused(deployment, operations)
        await plant(redis, job.id, "value", f"{format_name} ".encode() + content)
        assert is_parked(await approved(deployment, operations, job), "checkpoint ")
    assert not marker.exists()


@pytest.mark.parametrize("planted", planted_extensions(), ids=str)
async def test_a_call_in_the_journal_is_not_made_and_parks_the_job(
    tmp_path: Path, planted: Planted
) -> None:
    marker = tmp_path / "marker"
    with running_deployment(tmp_path) as deployment:
        deployment.record("planted", TURNS)
        async with (
            deployment.operations() as operations,
            Redis.from_url(deployment.redis_url) as redis,
        ):
            worker = deployment.worker(fail_point="after_journal:3", lease_seconds=MORTAL)
            spec = JobSpec("print 42", model="recording:planted")
            job_id = await deployment.submit(operations, spec)
            deployment.wait_until(lambda: worker.poll() is not None)
            journal = JobKeys(job_id).journal
            for key in await redis.hkeys(journal):  # type: ignore[misc]
                await redis.hset(journal, key, planted.bytes_for(marker))  # type: ignore[arg-type, misc]
            deployment.worker()
            job = await deployment.until(
                operations, job_id, Status.AWAITING_REVIEW, Status.SUCCEEDED, Status.FAILED
            )
            assert is_parked(job, "journal entry ")
    assert not marker.exists()


async def test_other_bytes_under_a_digest_are_not_used(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with running_deployment(tmp_path) as deployment:
        deployment.record("planted", TURNS)
        deployment.worker(retries="1", retry_seconds="0.1")
        async with deployment.operations() as operations:
            job = await paused(deployment, operations)
            digest = (await deployment.record_of(operations, job.id)).workspace
            assert digest is not None
            path = deployment.folder / "data" / "blobs" / digest[:2] / digest[2:]
            path.write_bytes(pickle.dumps(ShellCall(marker)))
            assert job.review is not None
            approval = Decision(job.review.id, Action.APPROVE, "ann")
            ok(await operations.decide(job.id, approval))
            finished = await deployment.until(operations, job.id)
            assert (finished.status, finished.reason) == (Status.FAILED, Reason.STORAGE)
            assert "damaged" in (finished.detail or "")
    assert not marker.exists()


async def test_python_in_a_recording_is_not_called(deployment: Deployment, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    path = deployment.folder / "recordings" / "evil.yaml"
    path.write_text(f"about: !!python/object/apply:os.system ['touch {marker}']\nturns: []\n")
    if not deployment.workers:
        deployment.worker()
    async with deployment.operations() as operations:
        job_id = await deployment.submit(operations, JobSpec("x", model="recording:evil"))
        job = await deployment.until(operations, job_id)
        assert (job.status, job.reason) == (Status.FAILED, Reason.MODEL_UNAVAILABLE)
        assert "is no recording" in (job.detail or "")
    assert not marker.exists()


async def test_a_message_of_the_broker_runs_no_code_and_stops_no_worker(
    deployment: Deployment, tmp_path: Path
) -> None:
    """It can use neither pickle nor YAML, and name neither another task, nor a key that is no
    job's, nor a module to reload, nor another queue, and it cannot end the worker.
    """
    marker = tmp_path / "marker"
    if not deployment.workers:
        deployment.worker()
    (worker,) = deployment.workers
    model = deployment.record(
        "simple", one_run("print 42", CODE, result_text="42", answer="It is 42.")
    )
    async with (
        deployment.operations() as operations,
        Redis.from_url(deployment.broker_url) as broker,
    ):
        deployment.wait_until(lambda: bool(control(deployment).ping()))
        send_orders(deployment, marker)
        for message in messages(marker):
            await broker.lpush(QUEUE, message)  # type: ignore[misc]
        job_id = await deployment.submit(operations, JobSpec(task="print 42", model=model))
        job = await deployment.until(operations, job_id)
        assert job.status is Status.SUCCEEDED, deployment.logs()
        while await broker.llen(QUEUE):  # type: ignore[misc]
            job_id = await deployment.submit(operations, JobSpec(task="print 42", model=model))
            await deployment.until(operations, job_id)
    assert worker.poll() is None
    assert not marker.exists()


class ShellCall:
    """An object that, when it is unpickled, calls a shell."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.marker}",)


def messages(marker: Path) -> list[bytes]:
    """Messages that any user with access to the broker can write."""
    callback = {"task": "os.system", "args": [f"touch {marker}"]}
    yaml = f"!!python/object/apply:os.system ['touch {marker}']".encode()
    typed = {"__type__": "os.system", "__value__": f"touch {marker}"}
    return [
        b"\x80\x04 no JSON",
        b"[" * 100_000,
        b"{}",
        encoded(pickle.dumps(ShellCall(marker)), "application/x-python-serialize"),
        encoded(yaml, "application/x-yaml"),
        encoded(b'"no arguments"'),
        hint(JOB_ID, task="os.system"),
        hint({"task": NAME, "args": []}, [[JOB_ID]], task="celery.map"),
        hint(typed),
        hint(f"{JOB_ID}:journal"),
        hint(None),
        hint(JOB_ID, eta="never"),
        hint(JOB_ID, compression="application/x-gzip"),
        hint(JOB_ID, embed={"callbacks": [callback], "errbacks": [callback], "chain": [callback]}),
    ]


def hint(*args: Any, embed: Any = None, **headers: Any) -> bytes:
    """A message with a task's arguments."""
    return encoded(json.dumps([args, {}, embed or {}]).encode(), **headers)


def encoded(body: bytes, content_type: str = "application/json", **headers: Any) -> bytes:
    """A message as kombu stores it in Redis."""
    message = {
        "body": base64.b64encode(body).decode(),
        "content-encoding": "utf-8" if content_type.endswith("json") else "binary",
        "content-type": content_type,
        "headers": {"lang": "py", "task": NAME, "id": "1", **headers},
        "properties": {
            "delivery_info": {"exchange": "", "routing_key": QUEUE},
            "delivery_tag": "1",
            "body_encoding": "base64",
        },
    }
    return json.dumps(message).encode()


def control(deployment: Deployment) -> Inspect:
    return celery_app(deployment.broker_url).control.inspect(timeout=2, limit=1)


def send_orders(deployment: Deployment, marker: Path) -> None:
    """Send the worker the commands of Celery's remote control that would change or stop it."""
    module = deployment.folder / "planted_module.py"
    module.write_text(f"open({str(marker)!r}, 'w').close()")
    orders: dict[str, dict[str, Any]] = {
        "pool_restart": {"modules": ["planted_module"], "reload": True},
        "cancel_consumer": {"queue": QUEUE},
        "rate_limit": {"task_name": NAME, "rate_limit": "1/h"},
        "time_limit": {"task_name": NAME, "hard": 1, "soft": 1},
        "pool_shrink": {"n": 1},
        "shutdown": {},
    }
    app = celery_app(deployment.broker_url)
    for order, arguments in orders.items():
        app.control.broadcast(order, arguments=arguments)
    assert control(deployment).ping()
