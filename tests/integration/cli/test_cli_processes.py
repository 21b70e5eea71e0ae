"""Child processes end when their parent ends, for any reason, and so do their process groups."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis
from support.servers import redis_servers

from cli.local import ports, processes, redis_programs, redis_server
from cli.local.processes import LocalProgram, Processes
from cli.signals import Signals

REAPER = Path(__file__).resolve().parents[2] / "support/processes/reaper.py"

PARENT = """
import os, subprocess, sys, time
from cli.local.processes import LocalProgram, running
from cli.signals import Signals
with Signals() as signals, running(signals) as children:
    for number, code in enumerate(sys.argv[1:]):
        argv = (sys.executable, "-c", code)
        program = LocalProgram(f"child {number}", argv, dict(os.environ), stop_seconds=1)
        children.start(program, subprocess.DEVNULL)
    time.sleep(0.4)
    print("ready", flush=True)
    time.sleep({rest})
"""
SLEEPER = "import time; time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"
FORKER = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {STUBBORN!r}])
{SLEEPER}
"""


def end(tmp_path: Path, signum: int | None, *children: str, grace: float = 0) -> dict:
    """Run a parent with children and end it. Returns the processes that remain after the grace
    period.
    """
    report = tmp_path / "report.json"
    program = PARENT.replace("{rest}", "60" if signum else "0")
    argv = [sys.executable, REAPER, report, str(grace), sys.executable, "-c", program, *children]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as reaper:
        assert reaper.stdout.readline() == b"ready\n"
        if signum:
            os.kill(json.loads(report.read_text())["pid"], signum)
        reaper.wait(30)
    return json.loads(report.read_text())


def test_the_end_of_the_block_ends_even_stubborn_children_and_their_children(tmp_path):
    output = end(tmp_path, None, SLEEPER, STUBBORN, FORKER)
    assert (output["code"], output["left"]) == (0, [])


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_children(tmp_path, signum):
    assert end(tmp_path, signum, SLEEPER, STUBBORN)["left"] == []


def test_a_killed_parent_takes_its_children_with_it(tmp_path):
    output = end(tmp_path, signal.SIGKILL, SLEEPER, SLEEPER, grace=20)
    assert (output["code"], output["left"]) == (-signal.SIGKILL, [])


def test_no_child_is_started_for_an_ended_parent(tmp_path):
    argv = [sys.executable, "-I", "-S", processes.PDEATHSIG, "1", "touch", tmp_path / "started"]
    assert subprocess.run(argv, check=False).returncode == 128 + signal.SIGTERM
    assert not (tmp_path / "started").exists()


def test_an_ended_process_gets_no_signal(monkeypatch):
    """After a child was reaped, another process may have its pid and would be killed."""
    reached = []
    with Signals() as signals:
        children = Processes(signals)
        argv = (sys.executable, "-c", "import sys; sys.exit(3)")
        child = children.start(LocalProgram("short", argv, dict(os.environ)), subprocess.DEVNULL)
        ends = time.monotonic() + 20
        while child.exit_code() != 3:
            assert time.monotonic() < ends
            time.sleep(0.01)
        monkeypatch.setattr(os, "killpg", lambda *shown: reached.append(shown))
        child.signal(signal.SIGKILL)
        children.forget(child)
        children.stop()
    assert child.exit_code() == 3
    assert reached == []


@pytest.mark.parametrize("name", sorted(redis_servers.binaries()))
def test_every_server_is_started_with_the_shipped_configuration(tmp_path, monkeypatch, name):
    binary = str(redis_servers.binaries()[name])
    monkeypatch.setattr(redis_programs, "choose", lambda _directory: binary)
    (port,) = ports.free(1)
    server = redis_server.prepare(tmp_path / "redis", port, dict(os.environ))
    with Signals() as signals:
        children = Processes(signals)
        child = children.start(server.program, subprocess.DEVNULL)
        try:
            redis_server.wait_ready(server, child)
            with redis.Redis.from_url(server.url) as client:
                assert client.config_get("append*")["appendonly"] == "yes"
                assert client.config_get("append*")["appendfsync"] == "always"
                assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
            stranger = redis.Redis(port=port, retry=None)
            with pytest.raises(redis.AuthenticationError):
                stranger.ping()
        finally:
            child.signal(signal.SIGTERM)
            assert child.process.wait(10) == 0
    assert (tmp_path / "redis" / "redis.conf").stat().st_mode & 0o077 == 0


def test_the_broker_writes_no_data_to_a_disk(tmp_path):
    (port,) = ports.free(1)
    server = redis_server.prepare_broker(tmp_path / "broker", port, dict(os.environ))
    with Signals() as signals:
        children = Processes(signals)
        child = children.start(server.program, subprocess.DEVNULL)
        try:
            redis_server.wait_ready(server, child)
            with redis.Redis.from_url(server.url) as client:
                assert client.config_get("appendonly") == {"appendonly": "no"}
                assert client.config_get("save") == {"save": ""}
                assert int(client.config_get("maxmemory")["maxmemory"]) > 0
                client.set("hint", "x")
        finally:
            child.signal(signal.SIGTERM)
            assert child.process.wait(10) == 0
    assert [path.name for path in (tmp_path / "broker").iterdir()] == ["redis.conf"]
