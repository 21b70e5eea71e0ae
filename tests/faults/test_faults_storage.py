"""If the storage fails, a job rests without a counted try, and all views name the cause."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import botocore.exceptions
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.processes.api_process import api_environment, running
from support.processes.fettle_command import environment as command_environment
from support.processes.fettle_command import fettle
from support.processes.scene import Scene, Work, a_scene, until
from support.servers import s3_server

from jobs.blobs.s3 import Bucket
from jobs.model.record import Reason, Status

WRITES = Work(("open('out.bin', 'wb').write(b'x' * 50_000); print('written')",))


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with a_scene(tmp_path, FETTLE_WORKER_METRICS_PORT="0") as new_scene:
        yield new_scene


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    mount_point = tmp_path / "disk"
    mount_point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", mount_point], check=True)
    try:
        yield mount_point
    finally:
        subprocess.run(["umount", "--lazy", mount_point], check=True)


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with s3_server.bucket() as new_bucket:
        yield new_bucket


def fill(disk: Path) -> Path:
    """Write a file that fills the disk."""
    path = disk / "filling"
    with path.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(b"x" * 4096)
            except OSError:
                return path


async def probe(scene: Scene, status: int) -> str:
    """The text of the worker's `/readyz`, as soon as it has this status."""
    served = re.compile(r'"port": (\d+), "event": "metrics served"')
    await until(lambda: bool(served.search(scene.deployment.logs())))
    port = served.findall(scene.deployment.logs())[-1]
    async with httpx.AsyncClient() as client, asyncio.timeout(60):
        url = f"http://127.0.0.1:{port}/readyz"
        while (answer := await client.get(url)).status_code != status:
            await asyncio.sleep(0.05)
        figures = (await client.get(f"http://127.0.0.1:{port}/metrics")).text
    return f"{answer.text}\n{figures}"


def metric(text: str, name: str, *labels: str) -> float:
    return next(
        sample.value
        for family in text_string_to_metric_families(text.partition("\n\n")[2])
        for sample in family.samples
        if sample.name == name and tuple(sample.labels.values()) == labels
    )


def deleted(client: Any, name: str) -> bool:
    """Try to delete the bucket. False if a probe has just written to it."""
    for entry in client.list_objects_v2(Bucket=name).get("Contents", ()):
        client.delete_object(Bucket=name, Key=entry["Key"])
    try:
        client.delete_bucket(Bucket=name)
    except botocore.exceptions.ClientError:
        return False
    return True


async def texts_for_tenants(scene: Scene, job_id: str) -> str:
    """All text about the job that a tenant can read."""
    record = await scene.deployment.record_of(scene.operations, job_id)
    events = await scene.operations.store.events(job_id)
    return f"{record}\n{[event.data for event in events]}"


async def check_waits_for_storage(scene: Scene, job_id: str) -> None:
    """Wait until a worker has released the job; assert that it used no try, and that its record
    and its event name the storage."""
    await scene.deployment.wait_for_event(scene.operations, job_id, "given_back", seconds=90)
    job = await scene.deployment.record_of(scene.operations, job_id)
    assert (job.status, job.retries) == (Status.QUEUED, 0)
    assert job.wait is not None
    assert job.wait.on == "storage"
    events = await scene.operations.store.events(job_id)
    released = next(event.data for event in events if event.kind == "given_back")
    assert (released["why"], released["cause"], released["waits_for"]) == (
        "retry",
        "storage",
        "storage",
    )


async def test_a_full_disk_counts_no_try_and_is_named(scene: Scene, small_disk: Path) -> None:
    scene.deployment.worker(data_dir=str(small_disk / "data"))
    await scene.deployment.ready()
    await probe(scene, 200)
    filling = fill(small_disk)
    job_id = await scene.submit("full", WRITES)
    await check_waits_for_storage(scene, job_id)
    text = await probe(scene, 503)
    assert "the storage cannot work: " in text
    assert "No space left" in text
    assert metric(text, "fettle_worker_storage_up") == 0
    assert metric(text, "fettle_attempts_given_back_total", "storage") == 1
    lines = [json.loads(line) for line in scene.deployment.logs().splitlines() if line[:1] == "{"]
    (line,) = [line for line in lines if line["event"] == "attempt given back"]
    assert (line["job_id"], line["cause"]) == (job_id, "storage")
    assert "No space left on device" in line["error"]
    assert str(small_disk) not in await texts_for_tenants(scene, job_id)
    await asyncio.sleep(2)  # hints arrive, but the worker takes no job
    assert (await scene.event_kinds("full")).count("given_back") == 1
    filling.unlink()
    await scene.wait_for_success("full", seconds=120)
    assert (await scene.end("full")).retries == 0
    assert metric(await probe(scene, 200), "fettle_worker_storage_up") == 1
    await scene.check_paid_once("full")


@pytest.mark.parametrize("fault", ["away", "no bucket"])
async def test_if_a_bucket_fails_the_job_waits_and_tenants_do_not_read_its_address(
    scene: Scene, bucket: Bucket, fault: str
) -> None:
    endpoint = bucket.endpoint or ""
    scene.deployment.env |= {
        "FETTLE_BLOBS_BUCKET": f"{bucket.name}/{bucket.prefix}",
        "FETTLE_S3_ENDPOINT": endpoint,
        "FETTLE_S3_ACCESS_KEY": "key",
        "FETTLE_S3_SECRET_KEY": "secret",
    }
    if fault == "away":
        scene.deployment.env["FETTLE_S3_ENDPOINT"] = endpoint = "http://127.0.0.1:9"
        scene.deployment.env["FETTLE_BLOBS_BUCKET"] = "internal-bucket"
    scene.deployment.worker()
    if fault == "away":
        await scene.deployment.ready()
        job_id = await scene.submit("waits", WRITES)
        assert "the storage cannot work" in await probe(scene, 503)
        await asyncio.sleep(1)
        assert await scene.event_kinds("waits") == ["submitted"]  # no worker took it
    else:
        await probe(scene, 200)
        client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            aws_access_key_id="key",
            aws_secret_access_key="secret",
            region_name=bucket.region,
        )
        await until(lambda: deleted(client, bucket.name))
        job_id = await scene.submit("waits", WRITES)
        await check_waits_for_storage(scene, job_id)
        assert "NoSuchBucket" in await probe(scene, 503)
        client.create_bucket(Bucket=bucket.name)
        await scene.wait_for_success("waits", seconds=90)
    tenant_text = await texts_for_tenants(scene, job_id)
    assert endpoint not in tenant_text
    assert "internal-bucket" not in tenant_text


async def test_lost_bytes_fail_the_job_with_the_reason_storage(scene: Scene) -> None:
    """The storage works, so the worker takes jobs; this job is tried a limited number of times."""
    scene.deployment.worker(retry_seconds="0.1", retries="2")
    await scene.deployment.ready()
    await scene.submit("lost", WRITES)
    spec = (await scene.deployment.record_of(scene.operations, scene.ids["lost"])).spec
    await scene.wait_for_success("lost")
    lost = await scene.deployment.submit(
        scene.operations, replace(spec, workspace="0" * 64, conversation_id=None)
    )
    job = await scene.deployment.until(scene.operations, lost, seconds=60)
    assert (job.status, job.reason) == (Status.FAILED, Reason.STORAGE)
    assert "missing or damaged" in job.detail
    kinds = await scene.deployment.kinds(scene.operations, lost)
    assert kinds.count("given_back") == 2
    text = await probe(scene, 200)
    assert metric(text, "fettle_attempts_given_back_total", "storage") == 2
    assert metric(text, "fettle_job_failures_total", "storage") == 1


async def test_an_api_on_a_full_disk_is_not_ready_but_accepts_jobs_without_files(
    scene: Scene, small_disk: Path, tmp_path: Path
) -> None:
    env = api_environment(scene.deployment.redis_url, tmp_path, data_dir=str(small_disk / "data"))
    with running(env, tmp_path / "api.log") as api:
        async with api.client() as client:
            assert (await client.get("/readyz")).status_code == 200
            filling = fill(small_disk)
            async with asyncio.timeout(30):
                while (ready := await client.get("/readyz")).status_code == 200:
                    await asyncio.sleep(0.1)
            assert ready.json()["missing"] == ["the artifact store fails: it is full"]
            assert "\nfettle_storage_up 0.0\n" in (await client.get("/metrics")).text
            files = {"a": "x" * 100_000}
            refused = await client.post("/jobs", json={"task": "t", "files": files})
            assert (refused.status_code, refused.json()["type"]) == (
                503,
                "/problems/storage-unavailable",
            )
            assert refused.json()["detail"] == "the artifact store fails: it is full"
            assert (await client.post("/jobs", json={"task": "t"})).status_code == 202
            logged = [line for line in api.logged() if line["event"] == "storage unavailable"]
            assert "No space left on device" in logged[0]["error"]
            filling.unlink()
            async with asyncio.timeout(30):
                while (await client.get("/readyz")).status_code != 200:
                    await asyncio.sleep(0.1)
            assert "\nfettle_storage_up 1.0\n" in (await client.get("/metrics")).text


def test_fettle_up_names_a_full_disk(small_disk, tmp_path):
    filled = fill(small_disk)
    env = command_environment(tmp_path, FETTLE_DATA_DIR=str(small_disk))
    up = fettle("up", cwd=tmp_path, env=env)
    assert up.returncode == 2
    assert up.stderr.startswith(f"error: the data directory {small_disk} cannot be written")
    assert "the disk is full" in up.stderr
    assert [path.name for path in small_disk.iterdir() if path != filled] in ([], ["up.lock"])
