"""Landlock on this kernel: a process behind the rules, and one in front of them as the control."""

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
own, other, restricted = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "behind"
rules = landlock.Rules((str(own), "/dev/shm", "/not/there"))
outside = os.fork()
if not outside:
    time.sleep(60)
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("")
abstract.listen()
front = os.fork()
if front:
    status = os.waitpid(front, 0)[1]
    os.kill(outside, 9)
    sys.exit(os.waitstatus_to_exitcode(status))
if restricted:
    assert rules.restrict() >= 2
found = {}
def attempt(name, do):
    try:
        do()
        found[name] = "done"
    except OSError as error:
        found[name] = type(error).__name__
"""
AFTER = """
print(json.dumps(found), flush=True)
os._exit(0)
"""

FORBIDDEN = """
attempt("write outside", lambda: (other / "new").write_text(""))
attempt("truncate outside", lambda: os.truncate(other / "there", 0))
attempt("remove outside", lambda: (other / "there").unlink())
attempt("link outside", lambda: (other / "link").symlink_to("x"))
attempt("device", lambda: os.mknod(own / "null", 0o20666, os.makedev(1, 3)))
attempt("signal", lambda: os.kill(outside, 0))
attempt("abstract socket", lambda: socket.socket(socket.AF_UNIX).connect(abstract.getsockname()))
attempt("memory", lambda: open(f"/proc/{outside}/mem", "rb").close())
attempt("score", lambda: open(f"/proc/self/oom_score_adj", "w").close())
"""

ALLOWED = """
import multiprocessing, select, subprocess, tempfile, threading
attempt("read", lambda: (other / "there").read_text())
attempt("execute", lambda: subprocess.run(["true"], check=True))
attempt("own files", lambda: ((own / "a/b").mkdir(parents=True), (own / "a/f").write_text("x"),
    (own / "a/f").rename(own / "a/b/f"), os.truncate(own / "a/b/f", 0), (own / "l").symlink_to("a"),
    os.mkfifo(own / "p"), os.link(own / "a/b/f", own / "h"), (own / "h").unlink()))
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
    one = subprocess.Popen(["sleep", "60"])
    one.kill()
    assert one.wait() == -9
attempt("signal a child", child)
"""


@pytest.fixture
def directories(tmp_path: Path) -> tuple[Path, Path]:
    own_directory, other_directory = tmp_path / "own", tmp_path / "other"
    for directory in (own_directory, other_directory):
        directory.mkdir()
    (other_directory / "there").write_text("there")
    return own_directory, other_directory


def run(code: str, directories: tuple[Path, Path], side: str) -> dict[str, str]:
    ran = subprocess.run(
        [sys.executable, "-c", BEFORE + code + AFTER, *map(str, directories), side],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ".", "PATH": "/usr/bin:/bin"},
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    outcomes: dict[str, str] = json.loads(ran.stdout)
    return outcomes


def test_this_kernel_offers_it() -> None:
    assert landlock.version() >= 2


def test_what_is_forbidden_is_refused_behind_the_rules_and_done_in_front(
    directories: tuple[Path, Path],
) -> None:
    behind = run(FORBIDDEN, directories, "behind")
    scoped = landlock.version() >= 6
    expected = {name for name in behind if scoped or name not in {"signal", "abstract socket"}}
    assert {name for name, end in behind.items() if end == "PermissionError"} == expected
    in_front = run(FORBIDDEN, directories, "in front")
    assert set(in_front.values()) == {"done"}


def test_what_programs_need_is_done_behind_the_rules(directories: tuple[Path, Path]) -> None:
    assert {
        name: end for name, end in run(ALLOWED, directories, "behind").items() if end != "done"
    } == {}
