"""Workers on several machines: no directory in common, the bytes in a bucket."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.recorded import answers, approves, plans, runs
from support.processes.deployment import MORTAL, House, a_house
from support.servers import s3_server

from jobs import manifest
from jobs.record import Status
from jobs.s3_blobs import S3Blobs
from jobs.spec import JobSpec

SLOW = "import time\nprint(open('first.txt').read(), flush=True)\ntime.sleep(2)"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with s3_server.bucket() as bucket, a_house(tmp_path) as made:
        made.bucket = bucket
        made.env |= {
            "FETTLE_BLOBS_BUCKET": f"{bucket.name}/{bucket.prefix}",
            "FETTLE_S3_ENDPOINT": bucket.endpoint,
            "FETTLE_S3_ACCESS_KEY": bucket.access_key,
            "FETTLE_S3_SECRET_KEY": bucket.secret_key,
        }
        yield made


async def test_two_workers_with_disjoint_directories_finish_one_job_between_them(
    house: House,
) -> None:
    first = "open('first.txt', 'w').write('from the first machine')\nprint('written')"
    turns = [
        plans("two runs"),
        runs("two runs", first, 0),
        runs("written", SLOW, 1),
        answers("from the first machine", "done", 2),
        approves("r2"),
    ]
    model = house.record("two", turns)
    one, two = house.folder / "one", house.folder / "two"
    house.worker(data_dir=str(one), lease_seconds=MORTAL)
    async with house.operations() as operations:
        job_id = await house.submit(operations, JobSpec("two runs", model=model))
        await house.told(operations, job_id, "run_finished")
        await house.told(operations, job_id, "model_called", times=3)
        house.workers[0].send_signal(signal.SIGKILL)
        house.worker(data_dir=str(two))
        job = await house.until(operations, job_id)
        assert job.status is Status.SUCCEEDED, house.logs()
        assert (job.attempts, job.crashes) == (2, 0)
        # the first run was not repeated, and the second found what it had left
        kinds = await house.kinds(operations, job_id)
        assert kinds.count("run_finished") == 2
        files = await manifest.load(S3Blobs(house.bucket), job.workspace)
        assert set(files.files) == {"first.txt"}
        assert not list(one.rglob("blobs/*"))
        assert not list(two.rglob("blobs/*"))
    house.workers.pop(0)
    assert house.stop_workers() == [0]
