"""Runs a task's test command and says which of its tests have passed.

Input: {command, wanted, every, paths, sites, plugin, seconds, secret} as JSON; `paths` come first
of all packages, and the path files of `sites` have effect. `every`: a test that fails, or a file
that cannot be loaded, does not end the run, even if the command says so.
Output: `secret`, then {tests, errors, problem, exit}; `tests` has {id: [outcome, detail]} of each
wanted id.

The tests run in another process, which cannot read the secret or write to this one's output. What
they print counts for nothing: pytest's plugin reports over a pipe of its own, each line with a
token that was handed to it before any code of the repository ran.
"""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import select
import signal
import site
import subprocess
import sys
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ROOT, OWN = "/work", "/tmp/.fettle-bench"  # noqa: S108 - the sandbox's own
PLUGIN = "fettle_bench_reporting"
CHANNEL = "FETTLE_BENCH_CHANNEL"
SCRIPT = """\
#!{python}
import sys

import pytest

if __name__ == "__main__":
    sys.exit(pytest.main())
"""
"""The program `pytest`. It does not depend on the interpreter that the installed program names.
Processes that `multiprocessing` spawns load it, too."""
MACHINE = "/usr/local/bin:/usr/bin:/bin"
"""The folders of the machine's programs that tests call: last on the PATH."""
_PR_SET_DUMPABLE = 4
LINE_BYTES = 1024 * 1024
ERRORS, DETAIL, DETAILS = 20, 400, 100
_WORST = ("missing", "error", "failed", "skipped", "unfinished", "xfailed", "passed")


def main() -> None:
    """Carry out one order."""
    if ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError("prctl(PR_SET_DUMPABLE)")
    order = json.load(sys.stdin)
    until = time.monotonic() + order["seconds"]
    token = secrets.token_hex(16)
    read, process = start(order, token)
    reported = ReportedTests(order["wanted"], token)
    problem = follow(read, process, reported, until)
    reported.problem = reported.problem or problem
    exit_code = _end(process)
    sys.stdout.write(order["secret"] + json.dumps({**reported.report(), "exit": exit_code}))


def start(order: Mapping[str, Any], token: str) -> tuple[int, subprocess.Popen[bytes]]:
    """The test process, and the end of its channel."""
    programs = interpreter([*order["paths"], OWN], order["sites"])
    for name in ("pytest", "py.test"):
        (programs / name).write_text(SCRIPT.format(python=programs / "python"))
        (programs / name).chmod(0o755)
    path = ":".join([str(programs), *(f"{site}/bin" for site in order["sites"])])
    Path(OWN, f"{PLUGIN}.py").write_text(order["plugin"], encoding="utf-8")
    selection = json.dumps({name: order[name] for name in ("wanted", "every")})
    Path(OWN, "wanted.json").write_text(selection, encoding="utf-8")
    (read, write), (token_read, token_write) = os.pipe(), os.pipe()
    os.write(token_write, token.encode())
    os.close(token_write)
    process = subprocess.Popen(
        ["sh", "-c", order["command"]],
        env={
            **{name: text for name, text in os.environ.items() if name != "PYTHONPATH"},
            "PATH": f"{path}:{os.environ['PATH']}:{MACHINE}",
            "PYTEST_PLUGINS": PLUGIN,
            CHANNEL: f"{write},{token_read}",
        },
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=2,
        pass_fds=(write, token_read),
        start_new_session=True,
    )
    os.close(write)
    os.close(token_read)
    return read, process


def interpreter(paths: list[str], sites: list[str]) -> Path:
    """The programs of a new virtual environment. Each process of its interpreter has these paths,
    the packages of `sites` and those of the sandbox, in any environment that a test sets."""
    programs = Path(OWN, "venv", "bin")
    version = "python{}.{}".format(*sys.version_info[:2])
    packages = programs.parent / "lib" / version / "site-packages"
    for folder in (programs, packages):
        folder.mkdir(parents=True, exist_ok=True)
    base: str = sys._base_executable  # type: ignore[attr-defined]  # noqa: SLF001
    alone = f"home = {os.path.dirname(base)}\ninclude-system-site-packages = false\n"  # noqa: PTH120
    (programs.parent / "pyvenv.cfg").write_text(alone)
    for name in ("python", "python3", version):
        (programs / name).symlink_to(base)
    added = [
        f"import site; site.addsitedir({site_folder!r})"
        for site_folder in (*sites, *site.getsitepackages())
    ]
    (packages / "fettle.pth").write_text("\n".join([*paths, *added]) + "\n", encoding="utf-8")
    return programs


class ReportedTests:
    """The outcome of each wanted test so far: the worst of all its phases and cases."""

    def __init__(self, requested: list[str], token: str) -> None:
        self._token = token
        self._cases: dict[str, dict[str, list[str]]] = {name: {} for name in requested}
        self.errors: list[list[str]] = []
        self.problem: str | None = None

    def take(self, line: bytes) -> None:
        """Take one report. A line without the token comes from other code, and ends the judging."""
        try:
            message = json.loads(line)
            genuine = secrets.compare_digest(str(message["token"]), self._token)
        except (ValueError, KeyError, TypeError):
            genuine = False
        if not genuine:
            self.problem = "the report was tampered with"
        elif message["when"] == "collect":
            self.errors.append([message["id"], message["detail"]])
        elif message["outcome"] == "rerun":  # a plugin repeats the test: the last try counts
            for name in message["for"]:
                self._cases[name].pop(message["id"], None)
        else:
            for name in message["for"]:
                self._phase(self._cases[name], message)

    @staticmethod
    def _phase(cases: dict[str, list[str]], message: Mapping[str, Any]) -> None:
        outcome, when = message["outcome"], message["when"]
        if outcome == "passed":
            outcome = "passed" if when == "teardown" else "unfinished"
        before = cases.get(message["id"])
        if before is None or before[0] == "unfinished" or _worse(outcome, before[0]):
            cases[message["id"]] = [outcome, message["detail"]]

    def report(self) -> dict[str, Any]:
        """As a message."""
        tests = {name: self._of(cases) for name, cases in self._cases.items()}
        details_left = DETAILS
        for test in tests.values():
            test[1] = test[1][:DETAIL] if details_left > 0 else ""
            details_left -= bool(test[1])
        return {"tests": tests, "errors": self.errors[:ERRORS], "problem": self.problem}

    @staticmethod
    def _of(cases: Mapping[str, list[str]]) -> list[str]:
        return min(cases.values(), key=lambda each: _WORST.index(each[0]), default=["missing", ""])


def _worse(first: str, second: str) -> bool:
    return first != "unfinished" and _WORST.index(first) < _WORST.index(second)


def follow(
    read: int, process: subprocess.Popen[bytes], reported: ReportedTests, until: float
) -> str | None:
    """Take reports until the process ends; returns the reason if it was ended otherwise."""
    buffer = b""
    while reported.problem is None:
        alive = process.poll() is None  # checked first, so that the last reports are still read
        remaining = until - time.monotonic()
        if remaining <= 0:
            return "the tests ran for longer than they may"
        ready, _, _ = select.select([read], [], [], min(remaining, 0.1) if alive else 0)
        data = os.read(read, LINE_BYTES) if ready else b""
        if data:
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                reported.take(line)
            if len(buffer) > LINE_BYTES:
                return "the report was tampered with"
        elif not alive:
            return None
        elif ready:  # the pipe is closed: pytest has ended, but its command has not
            time.sleep(0.05)
    return reported.problem


def _end(process: subprocess.Popen[bytes]) -> int | None:
    """End the remaining processes of the tests; returns the command's exit code."""
    code = process.poll()
    try:  # noqa: SIM105 - contextlib is slow to import
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass
    process.wait()
    return code


if __name__ == "__main__":
    main()
