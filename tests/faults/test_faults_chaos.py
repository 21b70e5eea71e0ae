"""`fettle chaos`, as an operator runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.processes.fettle_command import FETTLE, Running, environment, started

from cli.local import ports
from drills.chaos.oplog import Called, Struck, read
from drills.chaos.schedule import Kind

KEYS = (
    *("jobs", "kills", "faults", "lost", "finished_twice", "violations"),
    *("repeated_paid_calls", "recovery_s_p50", "recovery_s_max"),
)
BUSY = ("--slack", "60")
"""A machine that runs other tests besides may take its time; what it may not do is lose a job."""


def last_line(text: str) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(text.strip().splitlines()[-1])
    return shown


@pytest.mark.timeout(300)
def test_a_quarter_of_a_minute_of_everything_loses_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    words = ("chaos", "--minutes", "0.25", "--seed", "5", *BUSY, "--keep", str(kept), "--json")
    with started(*words, cwd=tmp_path, env=environment(tmp_path), grace=2.0) as chaos:
        code = chaos.end(280)
    shown = last_line(chaos.text)
    assert (code, shown["passed"]) == (0, True), chaos.text
    assert set(KEYS) <= shown.keys()
    assert not shown["missed"].keys() - {Kind.CHILD_KILL, Kind.WORKER_KILL, Kind.FREEZE, Kind.DRAIN}
    nothing = ("lost", "finished_twice", "violations", "repeated_paid_calls", "client_failures")
    assert {shown[key] for key in nothing} == {0}
    assert shown["jobs"] > 5
    assert shown["kills"] >= 0.8 * shown["kills_planned"] > 0
    assert shown["not_looked_at"] == {}
    entries = list(read((kept / "operations.jsonl").read_text().splitlines()))
    struck = {entry.fault for entry in entries if isinstance(entry, Struck)}
    waits_for_the_fleet = {Kind.CHILD_KILL, Kind.WORKER_KILL, Kind.FREEZE}
    assert set(Kind) - struck <= waits_for_the_fleet
    assert any(isinstance(entry, Called) and entry.caller for entry in entries)
    assert len((kept / "jobs.jsonl").read_text().splitlines()) == shown["jobs"]


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


@pytest.fixture
def up(tmp_path: Path) -> Iterator[tuple[Running, dict[str, str]]]:
    """`fettle up` with two workers and short leases, and the environment of its clients."""
    port, flower = ports.free(2)
    env = environment(
        tmp_path,
        FETTLE_URL=f"http://127.0.0.1:{port}",
        FETTLE_RATE_LIMIT="100000/minute",
        FETTLE_LEASE_SECONDS="2",
        FETTLE_HEARTBEAT_SECONDS="0.5",
        FETTLE_SWEEP_SECONDS="0.5",
    )
    words = ("up", "--port", str(port), "--flower-port", str(flower), "--workers", "2")
    with started(*words, cwd=tmp_path, env=env) as running:
        running.wait_for("stop: Ctrl-C")
        yield running, env
        running.interrupt()
        assert running.end(60) == 0


def drilled(env: dict[str, str], *words: str) -> dict[str, Any]:
    argv = [FETTLE, "chaos", "--url", env["FETTLE_URL"], *words, *BUSY, "--json"]
    done = subprocess.run(argv, check=False, env=env, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    return last_line(done.stdout)


@pytest.mark.timeout(300)
def test_a_deployment_that_is_named_is_spared_unless_its_supervisor_is_reported(
    up: tuple[Running, dict[str, str]],
) -> None:
    running, env = up
    shown = drilled(env, "--minutes", "0.1")
    unseen = {rule for rule, what in shown["not_looked_at"].items() if what == "all"}
    assert unseen == {"J3", "J7", "J8", "J13", "J14"}
    assert shown["repeated_paid_calls"] is None
    assert (shown["kills"], shown["faults"], shown["lost"], shown["violations"]) == (0, {}, 0, 0)
    assert shown["jobs"] > 5
    supervisor = json.loads(running.report.read_text())["pid"]
    shown = drilled(env, "--minutes", "0.15", "--lease", "2", "--supervisor", str(supervisor))
    assert shown["kills"] > 0
    assert (shown["lost"], shown["finished_twice"], shown["violations"]) == (0, 0, 0)
    assert {"api-kill", "worker-drain"} <= set(shown["faults"])
    assert "redis-kill" not in shown["faults"]
    assert not shown["not_looked_at"].keys() & {"J7", "J8", "J14"}
