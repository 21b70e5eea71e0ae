"""Workers on several machines: they share no directory, and the bytes are in a bucket."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.recorded import answers, approves, plans, runs
from support.processes.deployment import MORTAL, Deployment, running_deployment
from support.servers import s3_server

from jobs.blobs import manifest
from jobs.blobs.s3 import S3Blobs
from jobs.model.record import Status
from jobs.model.spec import JobSpec

SLOW = "import time\nprint(open('first.txt').read(), flush=True)\ntime.sleep(2)"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with s3_server.bucket() as bucket, running_deployment(tmp_path) as started_deployment:
        started_deployment.bucket = bucket
        started_deployment.env |= {
            "FETTLE_BLOBS_BUCKET": f"{bucket.name}/{bucket.prefix}",
            "FETTLE_S3_ENDPOINT": bucket.endpoint,
            "FETTLE_S3_ACCESS_KEY": bucket.access_key,
            "FETTLE_S3_SECRET_KEY": bucket.secret_key,
        }
        yield started_deployment


async def test_two_workers_with_separate_directories_finish_one_job_together(
    deployment: Deployment,
) -> None:
    first = "open('first.txt', 'w').write('from the first machine')\nprint('written')"
    turns = [
        plans("two runs"),
        runs("two runs", first, 0),
        runs("written", SLOW, 1),
        answers("from the first machine", "done", 2),
        approves("r2"),
    ]
    model = deployment.record("two", turns)
    first_folder, two = deployment.folder / "one", deployment.folder / "two"
    deployment.worker(data_dir=str(first_folder), lease_seconds=MORTAL)
    async with deployment.operations() as operations:
        job_id = await deployment.submit(operations, JobSpec("two runs", model=model))
        await deployment.wait_for_event(operations, job_id, "run_finished")
        await deployment.wait_for_event(operations, job_id, "model_called", times=3)
        deployment.workers[0].send_signal(signal.SIGKILL)
        deployment.worker(data_dir=str(two))
        job = await deployment.until(operations, job_id)
        assert job.status is Status.SUCCEEDED, deployment.logs()
        assert (job.attempts, job.crashes) == (2, 0)
        # the first run was not repeated, and the second run saw its files
        kinds = await deployment.kinds(operations, job_id)
        assert kinds.count("run_finished") == 2
        files = await manifest.load(S3Blobs(deployment.bucket), job.workspace)
        assert set(files.files) == {"first.txt"}
        assert not list(first_folder.rglob("blobs/*"))
        assert not list(two.rglob("blobs/*"))
    deployment.workers.pop(0)
    assert deployment.stop_workers() == [0]
