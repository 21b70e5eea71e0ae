"""A model as judge: a score from 0 to 3 for an exercise without tests.

A separate process, `python -m lab.evals.run.judge`, calls the model: that process has the models'
libraries and the environment's keys. It reads and writes JSON lines. Its cost is in the result. A
judge's score is an opinion, so reports show it apart from tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import IO, Any, Self

from cli.client.files import as_text
from fettle import Service
from lab.evals.errors import BadResults
from lab.evals.report.results import Result
from lab.evals.sources.exercise import Exercise

FILES_SHOWN = 12
FILE_CHARACTERS = 8_000
OUTPUT_CHARACTERS = 2_000


class Judge:
    """The process that calls the model `name` (provider:model). Threads may share it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._pipe(self._process.stdin).close()
            self._process.wait()

    def scored(self, service: Service, exercise: Exercise, result: Result) -> Result:
        """The result with the judge's score, or as not measured without one. A result with tests,
        or that was not measured, is returned unchanged."""
        if exercise.tests or not result.measured:
            return result
        reply = self._ask(_evidence(service, exercise, str(result.job)))
        if reply.get("error"):
            return replace(result, why_not=f"judge: {reply['error']}")
        return replace(result, score=reply)

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            process = self._started()
            pipe = self._pipe(process.stdin)
            pipe.write(json.dumps(request) + "\n")
            pipe.flush()
            line = self._pipe(process.stdout).readline()
        if not line:
            raise BadResults("the judge's process has ended", f"model {self._name}")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "lab.evals.run.judge", self._name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C does not reach it; it ends with its stdin
            )
        return self._process

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe


def _evidence(service: Service, exercise: Exercise, job_id: str) -> dict[str, Any]:
    """The judge's input: task, answer, files, and the last run."""
    job = service.job(job_id)
    names = [file["path"] for file in service.files(job_id)][:FILES_SHOWN]
    texts = {name: as_text(service.file(job_id, name)) for name in names}
    run = job["runs"][-1] if job["runs"] else None
    return {
        "task": exercise.task,
        "answer": job["result"]["answer"] if job["result"] else "",
        "files": {n: text[:FILE_CHARACTERS] for n, text in texts.items() if text is not None},
        "run": None
        if run is None
        else {
            "end": run["end"],
            "exit_code": run["exit_code"],
            "stdout": run["stdout"]["text"][:OUTPUT_CHARACTERS],
            "stderr": run["stderr"]["text"][:OUTPUT_CHARACTERS],
        },
    }
