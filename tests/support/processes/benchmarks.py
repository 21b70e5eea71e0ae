"""A deployment with a model of designed pass rates, for benchmarks as jobs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from support.processes.deployment import running_deployment
from support.processes.fronts import front

from fettle import Service
from lab.evals.run.designed import Design, Kind
from lab.evals.sources import sets
from lab.provider import Hang, ProviderServer, Request, Turn
from settings.base import DEVELOPMENT_KEY

MODEL = "groq:designed"
KINDS: list[Kind] = ["right", "repairs", "never", "plausible"]


def exercise_line(number: int) -> dict[str, Any]:
    """An exercise of a file of one's own."""
    return {
        "id": f"e{number}",
        "level": "easy" if number % 2 else "hard",
        "task": f"Write f{number}(x), which adds {number} to x, into solution.py.",
        "tests": f"from solution import f{number}\n\n\ndef test_it():\n"
        f"    assert f{number}(20) == {20 + number}\n",
        "right": f"def f{number}(x):\n    return x + {number}\n",
        "wrong": f"def f{number}(x):\n    return x - {number}\n",
    }


@dataclass
class Benchmarks:
    """A deployment, its service, and a file of exercises that the model knows."""

    deployment: Any
    url: str
    server: ProviderServer
    exercises: str
    service: Service
    hangs: threading.Event
    """While it is set, the model does not answer."""

    def submit(self, files: dict[str, str] | None = None, **changed: Any) -> str:
        """Submit a benchmark; the id of its job."""
        terms = {"set": "file", "at_once": 4, **changed.pop("benchmark", {})}
        body = {"task": "A benchmark", "model": MODEL, "benchmark": terms, **changed}
        sent = {"tiny.jsonl": self.exercises} if files is None else files
        return str(self.service.submit({**body, "files": sent})["id"])

    def finished(self, job_id: str) -> Any:
        """The job, after its end."""
        for _ in self.service.events(job_id):
            pass
        return self.service.job(job_id)

    def read(self, path: str) -> Any:
        """The answer to GET of this path."""
        headers = {"X-API-Key": DEVELOPMENT_KEY}
        answer = httpx.get(self.url + path, headers=headers)
        answer.raise_for_status()
        return answer.json()

    def until(self, holds: Callable[[], bool], seconds: float = 60) -> None:
        """Wait for a condition."""
        ends = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < ends, self.deployment.logs()[-3000:]
            time.sleep(0.1)


@contextmanager
def running_benchmarks(folder: Path, count: int = 4, **settings: str) -> Iterator[Benchmarks]:
    """Start Redis, a model, an API and a worker with these settings."""
    data = folder / "tiny.jsonl"
    data.write_text("".join(json.dumps(exercise_line(n)) + "\n" for n in range(1, count + 1)))
    design = Design(sets.load(str(data), None, folder).exercises, KINDS)
    hangs = threading.Event()

    def answer(request: Request) -> Turn:
        return Hang() if hangs.is_set() else design.answer(request)

    with (
        ProviderServer(answer) as server,
        running_deployment(folder, GROQ_API_KEY="a") as deployment,
    ):
        deployment.worker(groq_base_url=server.groq_url, **settings)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            yield Benchmarks(deployment, api.url, server, data.read_text(), service, hangs)
