"""`fettle bench`, killed in the middle, its own service with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

from support.cases.tiny_humaneval import problem, written
from support.processes.fettle_command import FETTLE, environment

from benchmarks.provider import ProviderServer, Request, Turn
from evals.report.results import read
from evals.run.designed import Design
from evals.sources import sets

COUNT = 12
MODEL = "groq:designed"


def test_a_killed_measurement_goes_on_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    data = written(
        tmp_path / "tiny.jsonl",
        *(problem(n, f"return x + {n}", 20 + n) for n in range(COUNT)),
    )
    design = Design(sets.load("humaneval", data, tmp_path).exercises)

    def slowly(request: Request) -> Turn:
        time.sleep(0.05)
        return design.answer(request)

    with ProviderServer(slowly) as server:
        env = environment(tmp_path, GROQ_API_KEY="a", FETTLE_GROQ_BASE_URL=server.groq_url)
        fixed = ["--data", str(data), "--model", MODEL, "--at-once", "2", "--json"]

        def argv(out: str) -> list[str]:
            return [str(FETTLE), "bench", "humaneval", *fixed, "--out", out]

        def to_the_end(out: str) -> tuple[str, int]:
            before = len(server.requests)
            done = subprocess.run(
                argv(out),
                check=False,
                cwd=tmp_path,
                env=env,
                capture_output=True,
                text=True,
                timeout=200,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout, len(server.requests) - before

        file = tmp_path / "killed" / "humaneval_groq-designed.jsonl"
        with (tmp_path / "log").open("wb") as log:
            first = subprocess.Popen(argv("killed"), cwd=tmp_path, env=env, stdout=log, stderr=log)
        until(lambda: file.exists() and file.read_bytes().count(b"\n") > 4)
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        paid = len(server.requests)
        assert len(read(file)[1]) < COUNT
        killed, more = to_the_end("killed")
        whole, once = to_the_end("whole")

    assert table(killed) == table(whole)
    results = read(file)[1]
    assert Counter(result.id for result in results) == Counter(e.id for e in design.exercises)
    # a call that was in flight when its worker was killed is made again; none that had finished
    assert paid + more <= once + 2
    assert not file.with_suffix(".service").exists()


def table(output: str) -> dict[str, object]:
    """What must not depend on when the command was killed: all but times, and the file's name."""
    shown = json.loads(output.splitlines()[-1])
    times = ("job_seconds", "worked_seconds", "file")
    return {name: value for name, value in shown.items() if name not in times}


def until(holds: object, seconds: float = 100) -> None:
    ends = time.monotonic() + seconds
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < ends
        time.sleep(0.05)
