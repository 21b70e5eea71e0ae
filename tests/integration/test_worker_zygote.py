"""The zygote: forks, tells how it ended, drains, and leaves what it forked when its worker dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from drills import family
from worker.zygote import ALONE, NAME

WORKER = """
import json, os, signal, sys, threading
from worker.zygote import SIGNALS, Zygote

def work(job_id):
    if job_id.isdigit():
        return int(job_id)
    if job_id == "leaves":
        sys.exit(5)
    if job_id == "fails":
        raise RuntimeError("said aloud")
    signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    signal.pause()

zygote = Zygote.born(work)
channels = {}
for line in sys.stdin:
    word, job_id = line.split()
    if word == "ask":
        channels[job_id] = zygote.ask(job_id)
    elif word == "stop":
        channels[job_id].send(b".")
    else:
        print(json.dumps(channels[job_id].recv(16).decode()), flush=True)
"""


class Worker:
    """A process with a zygote, and what is said to it."""

    def __init__(self) -> None:
        argv = [sys.executable, "-c", WORKER]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(self, *words: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{' '.join(words)}\n".encode())
        self.process.stdin.flush()

    def code(self, job_id: str) -> str:
        self.say("tell", job_id)
        assert self.process.stdout
        told: str = json.loads(self.process.stdout.readline())
        return told

    def below(self, name: str, count: int = 1) -> list[family.Process]:
        """Those of that name, as soon as there are so many."""
        deadline = time.monotonic() + 20
        while len(found := [p for p in family.below(self.process.pid) if p.name == name]) < count:
            assert time.monotonic() < deadline, found
            time.sleep(0.01)
        return found


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    try:
        yield made
    finally:
        for each in family.below(made.process.pid):
            each.signal(signal.SIGKILL)
        made.process.kill()
        made.process.communicate()


def gone(process: family.Process) -> None:
    until(lambda: not process.lives)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_tells_how_a_process_ended(worker: Worker) -> None:
    jobs = {"0": "0", "3": "3", "leaves": "5", "fails": "1"}
    for job_id in jobs:
        worker.say("ask", job_id)
    assert {job_id: worker.code(job_id) for job_id in jobs} == jobs


def test_one_is_stopped_or_killed_and_another_goes_on(worker: Worker) -> None:
    made: dict[int, family.Process] = {}
    for job_id in ("stopped", "killed", "other"):
        worker.say("ask", job_id)
        made |= {p.pid: p for p in worker.below(ALONE, len(made) + 1) if p.pid not in made}
    _, killed, other = made.values()
    worker.say("stop", "stopped")
    assert worker.code("stopped") == "7"
    killed.signal(signal.SIGKILL)
    assert worker.code("killed") == "-9"
    assert other.lives


def test_when_its_worker_is_killed_it_ends_and_the_job_goes_on(worker: Worker) -> None:
    worker.say("ask", "long")
    (lone,), (zygote,) = worker.below(ALONE), worker.below(NAME)
    try:
        worker.process.kill()
        gone(zygote)
        until(lambda: not Path(f"/proc/{lone.pid}/fd/3").exists())  # an end of a socket
        time.sleep(0.05)
        assert lone.lives
    finally:
        with suppress(ProcessLookupError):
            os.kill(lone.pid, signal.SIGKILL)


def test_a_zygote_that_is_killed_is_noticed(worker: Worker) -> None:
    worker.say("ask", "long")
    (lone,), (zygote,) = worker.below(ALONE), worker.below(NAME)
    zygote.signal(signal.SIGKILL)
    assert worker.code("long") == ""
    lone.signal(signal.SIGKILL)


def test_there_is_none_beside_other_threads() -> None:
    script = (
        "import threading, time; from worker.zygote import Zygote\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "print(Zygote.born(int))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"None\n"
