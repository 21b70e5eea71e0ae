"""`fettle chaos`, as an operator runs it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import api_process
import pytest
from fettle_command import environment, started
from house import House, a_house

from drills.chaos.oplog import Called, Struck, read
from drills.chaos.schedule import Kind
from settings.base import DEVELOPMENT_KEY

KEYS = (
    *("jobs", "kills", "faults", "lost", "finished_twice", "violations"),
    *("repeated_paid_calls", "recovery_s_p50", "recovery_s_max"),
)
BUSY = ("--slack", "60")
"""A machine that runs other tests besides may take its time; what it may not do is lose a job."""


def last_line(text: str) -> dict[str, object]:
    told: dict[str, object] = json.loads(text.strip().splitlines()[-1])
    return told


@pytest.mark.timeout(300)
def test_a_quarter_of_a_minute_of_everything_loses_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    words = ("chaos", "--minutes", "0.25", "--seed", "5", *BUSY, "--keep", str(kept), "--json")
    with started(*words, cwd=tmp_path, env=environment(tmp_path), grace=2.0) as chaos:
        code = chaos.end(280)
    told = last_line(chaos.text)
    assert (code, told["passed"]) == (0, True), chaos.text
    assert set(KEYS) <= told.keys()
    nothing = ("lost", "finished_twice", "violations", "repeated_paid_calls", "client_failures")
    assert {told[key] for key in nothing} == {0}
    assert told["jobs"] > 5
    assert told["kills"] > 0
    entries = list(read((kept / "operations.jsonl").read_text().splitlines()))
    struck = {entry.fault for entry in entries if isinstance(entry, Struck)}
    waits_for_the_fleet = {Kind.CHILD_KILL, Kind.WORKER_KILL, Kind.FREEZE}
    assert set(Kind) - struck <= waits_for_the_fleet
    assert any(isinstance(entry, Called) and entry.caller for entry in entries)
    assert len((kept / "jobs.jsonl").read_text().splitlines()) == told["jobs"]


@pytest.mark.timeout(200)
def test_ctrl_c_ends_it_and_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    words = ("chaos", "--minutes", "5", *BUSY)
    with started(*words, cwd=tmp_path, env=environment(tmp_path), grace=2.0) as chaos:
        chaos.wait_for("under way", 120)
        time.sleep(1)
        chaos.interrupt()
        assert chaos.end(60) == 128 + signal.SIGINT
    assert "Traceback" not in chaos.text
    assert list((tmp_path / "tmp").glob("fettle-*")) == []


def drilled(words: Sequence[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "drills.chaos", *words]
    top = api_process.REPOSITORY
    return subprocess.run(
        argv, check=False, cwd=top, env=env, capture_output=True, text=True, timeout=180
    )


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    folder = tmp_path / "house"
    folder.mkdir()
    with a_house(folder) as made:
        yield made


@pytest.mark.timeout(200)
async def test_a_deployment_that_is_named_is_only_asked(house: House, tmp_path: Path) -> None:
    recordings = str(api_process.REPOSITORY / "agents" / "recordings")
    worker = house.worker(recordings_dir=recordings)
    await house.ready()
    env = api_process.environment(
        house.redis_url, house.folder, broker_url=house.broker_url, rate_limit="100000/minute"
    )
    with api_process.running(env, tmp_path / "api.log") as api:
        own = {**os.environ, "FETTLE_API_KEY": DEVELOPMENT_KEY}
        words = ("--url", api.url, "--minutes", "0.1", "--json")
        done = await asyncio.to_thread(drilled, words, own)
        told = last_line(done.stdout)
        assert (done.returncode, told["violations"], told["lost"]) == (0, 0, 0), done.stderr
        assert (told["kills"], told["faults"]) == (0, {})
        assert told["jobs"] > 5
        assert worker.poll() is None
        assert api.process.poll() is None
