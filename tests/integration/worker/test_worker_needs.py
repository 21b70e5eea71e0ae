"""Special needs of a job: input of any kind, and more time or memory than usual, in real
workers.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.graph.working_model import works
from support.processes.deployment import Deployment, running_deployment
from support.processes.fronts import front

from cli.client import Job
from fettle import Service
from lab.provider import ProviderServer, Request, Turn
from settings.base import DEVELOPMENT_KEY

MODEL = "groq:llama-3.3-70b-versatile"
MIB = 1024 * 1024
LOOK = """
import hashlib, sqlite3
from PIL import Image
print(sqlite3.connect("data/sales.sqlite").execute("select sum(amount) from sales").fetchone()[0])
print(Image.open("data/plot.png").size)
print(hashlib.sha256(open("large.bin", "rb").read()).hexdigest())
open("answer.bin", "wb").write(bytes([255, 0]))
"""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="a") as created:
        yield created


def database(folder: Path) -> bytes:
    database_path = folder / "sales.sqlite"
    with sqlite3.connect(database_path) as created:
        created.execute("create table sales (amount)")
        created.executemany("insert into sales values (?)", [(1,), (41,)])
    created.close()
    return database_path.read_bytes()


def picture() -> bytes:
    """A PNG of 2 by 3 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        sum_of = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + sum_of

    head = struct.pack(">IIBBBBB", 2, 3, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0\0\0" * 3)
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def finished_job(
    deployment: Deployment,
    code: str,
    spec: Mapping[str, Any],
    files: Mapping[str, bytes] | None = None,
    **settings: str,
) -> tuple[Job, bytes]:
    """The final job, and its answer.bin if the job made this file."""

    def turn(request: Request) -> Turn:
        return works(request, code)

    with ProviderServer(turn) as server:
        deployment.worker(groq_base_url=server.groq_url, **settings)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            job_id = str(service.submit({"task": "Look.", "model": MODEL, **spec}, files)["id"])
            for _ in service.events(job_id):
                pass
            job = service.job(job_id)
            created = {file["path"] for file in service.files(job_id)}
            return job, service.file(job_id, "answer.bin") if "answer.bin" in created else b""


def test_a_job_works_on_files_of_any_kind(deployment: Deployment, tmp_path: Path) -> None:
    large = os.urandom(MIB) * 90
    files = {
        "data/sales.sqlite": database(tmp_path),
        "data/plot.png": picture(),
        "large.bin": large,
    }
    job, created = finished_job(deployment, LOOK, {}, files)
    printed = job["runs"][0]["stdout"]["text"]
    assert printed == f"42\n(2, 3)\n{hashlib.sha256(large).hexdigest()}\n", deployment.logs()
    assert job["status"] == "succeeded", job
    assert created == b"\xff\x00"


def test_a_job_may_request_more_time_and_memory_for_a_run(deployment: Deployment) -> None:
    code = "import time\nheld = bytearray(700 << 20)\ntime.sleep(1.5)\nprint(len(held) >> 20)"
    spec = {"run_seconds": 60, "run_memory_bytes": 1024 * MIB}
    job, _ = finished_job(deployment, code, spec, run_seconds="1")
    assert job["runs"][0]["stdout"]["text"] == "700\n", job["runs"]
    assert job["status"] == "succeeded"
    assert {name: job["spec"][name] for name in spec} == spec


def test_a_job_may_request_less(deployment: Deployment) -> None:
    spec = {"run_seconds": 1, "max_steps": 1, "max_revisions": 0}
    job, _ = finished_job(deployment, "import time; time.sleep(50)", spec, run_seconds="60")
    assert [run["end"] for run in job["runs"]][:1] == ["timeout"], job["runs"]
    assert job["cost"]["roles"]["executor"]["calls"] == 1
