"""Landlock on this kernel: a restricted process, and an unrestricted process as the control."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.agent import landlock

BEFORE = """
import json, os, socket, sys, time
from pathlib import Path
from sandbox.agent import landlock
writable, other, is_restricted = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "restricted"
rules = landlock.Rules((str(writable), "/dev/shm", "/not/there"))
outside = os.fork()
if not outside:
    time.sleep(60)
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("")
abstract.listen()
child = os.fork()
if child:
    status = os.waitpid(child, 0)[1]
    os.kill(outside, 9)
    sys.exit(os.waitstatus_to_exitcode(status))
if is_restricted:
    assert rules.restrict() >= 2
results = {}
def attempt(name, do):
    try:
        do()
        results[name] = "done"
    except OSError as error:
        results[name] = type(error).__name__
"""
AFTER = """
print(json.dumps(results), flush=True)
os._exit(0)
"""

FORBIDDEN = """
attempt("write outside", lambda: (other / "new").write_text(""))
attempt("truncate outside", lambda: os.truncate(other / "there", 0))
attempt("remove outside", lambda: (other / "there").unlink())
attempt("link outside", lambda: (other / "link").symlink_to("x"))
attempt("device", lambda: os.mknod(writable / "null", 0o20666, os.makedev(1, 3)))
attempt("signal", lambda: os.kill(outside, 0))
attempt("abstract socket", lambda: socket.socket(socket.AF_UNIX).connect(abstract.getsockname()))
attempt("memory", lambda: open(f"/proc/{outside}/mem", "rb").close())
attempt("score", lambda: open(f"/proc/self/oom_score_adj", "w").close())
"""

ALLOWED = """
import multiprocessing, select, subprocess, tempfile, threading
attempt("read", lambda: (other / "there").read_text())
attempt("execute", lambda: subprocess.run(["true"], check=True))
def change_files():
    (writable / "a/b").mkdir(parents=True)
    (writable / "a/f").write_text("x")
    (writable / "a/f").rename(writable / "a/b/f")
    os.truncate(writable / "a/b/f", 0)
    (writable / "l").symlink_to("a")
    os.mkfifo(writable / "p")
    os.link(writable / "a/b/f", writable / "h")
    (writable / "h").unlink()
attempt("own files", change_files)
attempt("null", lambda: os.open("/dev/null", os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
attempt("stdout", lambda: open("/dev/stdout", "w").write(""))
attempt("terminal", lambda: os.openpty())
def loopback():
    server = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(server.getsockname())
attempt("loopback", loopback)
def inner():
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind("")
        server.listen()
        client.connect(server.getsockname())
attempt("own abstract socket", inner)
def processes():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]
attempt("multiprocessing", processes)
def child():
    process = subprocess.Popen(["sleep", "60"])
    process.kill()
    assert process.wait() == -9
attempt("signal a child", child)
"""


@pytest.fixture
def directories(tmp_path: Path) -> tuple[Path, Path]:
    """A directory that the rules make writable, and another directory with a file."""
    writable, other = tmp_path / "writable", tmp_path / "other"
    writable.mkdir()
    other.mkdir()
    (other / "there").write_text("there")
    return writable, other


def run(code: str, directories: tuple[Path, Path], mode: str) -> dict[str, str]:
    """Run the attempts as a "restricted" or "unrestricted" process; returns results by name."""
    process = subprocess.run(
        [sys.executable, "-c", BEFORE + code + AFTER, *map(str, directories), mode],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ".", "PATH": "/usr/bin:/bin"},
        check=False,
        timeout=60,
    )
    assert (process.returncode, process.stderr) == (0, "")
    results: dict[str, str] = json.loads(process.stdout)
    return results


def test_this_kernel_offers_landlock() -> None:
    assert landlock.version() >= 2


def test_forbidden_actions_are_refused_with_the_rules_and_work_without(
    directories: tuple[Path, Path],
) -> None:
    restricted = run(FORBIDDEN, directories, "restricted")
    has_scopes = landlock.version() >= 6
    scoped = {"signal", "abstract socket"}
    expected = {name for name in restricted if has_scopes or name not in scoped}
    refused = {name for name, result in restricted.items() if result == "PermissionError"}
    assert refused == expected
    unrestricted = run(FORBIDDEN, directories, "unrestricted")
    assert set(unrestricted.values()) == {"done"}


def test_allowed_actions_work_with_the_rules(directories: tuple[Path, Path]) -> None:
    results = run(ALLOWED, directories, "restricted")
    assert {name: result for name, result in results.items() if result != "done"} == {}
