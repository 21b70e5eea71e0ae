"""The `fettle` command as a user runs it: in its own process, in a pipe or on a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
FETTLE = REPOSITORY / ".venv" / "bin" / "fettle"
REAPER = Path(__file__).with_name("reaper.py")


def environment(home: Path, **more: str) -> dict[str, str]:
    """An environment without settings and model keys of this machine; all temporary files are below
    `home`.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FETTLE_", "COLUMNS", "LINES", "NO_COLOR"))
        and not name.endswith("_API_KEY")
    }
    temporary = home / "tmp"
    temporary.mkdir(exist_ok=True)
    return {
        **environment,
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "TERM": "xterm-256color",
        **more,
    }


def fettle(*args: str, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [FETTLE, *args],
        check=False,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


@dataclass
class Running:
    """A running command. `text` is all that it has printed so far."""

    reaper: subprocess.Popen[bytes]
    report: Path
    output: int
    text: str = ""
    terminal: bool = False
    orphans: int = 0
    """After the end of the command: the number of ended processes that it had not collected."""
    _raw: bytearray = field(default_factory=bytearray)

    def wait_for(self, expected_text: str, seconds: float = 60) -> None:
        """Read until `expected_text` is in the output."""
        deadline = time.monotonic() + seconds
        while expected_text not in self.text:
            assert time.monotonic() < deadline, f"{expected_text!r} never came:\n{self.text}"
            assert self._read(0.5), f"ended without {expected_text!r}:\n{self.text}"

    def type(self, keys: str) -> None:
        """Type on the terminal."""
        os.write(self.output, keys.encode())

    def interrupt(self, signum: int = signal.SIGINT) -> None:
        """Send a signal to the whole foreground group, as Ctrl-C does."""
        os.killpg(self.reaper.pid, signum)

    def kill(self) -> None:
        """Send SIGKILL to the command only."""
        pid = self.pid
        assert pid, "it has not begun"  # os.kill(0) would kill the group of the test
        os.kill(pid, signal.SIGKILL)

    @property
    def pid(self) -> int:
        """The pid of the command; 0 before its start."""
        content = self.report.read_text() if self.report.exists() else ""
        return int(json.loads(content)["pid"]) if content else 0

    def worked(self) -> float:
        """Processor seconds that the command has used so far, independent of the machine's load."""
        content = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(content[11]) + int(content[12])) / os.sysconf("SC_CLK_TCK")

    def wait_until_caught(self, signum: int, seconds: float = 60) -> None:
        """Wait until the command handles a signal that would end any other program."""
        deadline = time.monotonic() + seconds
        while not self._caught() >> (signum - 1) & 1:
            assert time.monotonic() < deadline, f"does not catch {signum}:\n{self.text}"
            time.sleep(0.005)

    def _caught(self) -> int:
        if not self.pid:
            return 0
        content = Path(f"/proc/{self.pid}/status").read_text()
        return int(content.partition("SigCgt:")[2].split()[0], 16)

    def end(self, seconds: float = 60) -> int:
        """Wait for the end; return the exit code. Fails if a process of the command remains."""
        deadline = time.monotonic() + seconds
        while self._read(0.2):
            assert time.monotonic() < deadline, f"does not end:\n{self.text}"
        self.reaper.wait(timeout=seconds)
        report = json.loads(self.report.read_text())
        assert report["left"] == [], report["left"]
        self.orphans = report["orphans"]
        return int(report["code"])

    def _read(self, seconds: float) -> bool:
        if not select.select([self.output], [], [], seconds)[0]:
            return True
        try:
            chunk = os.read(self.output, 65_536)
        except OSError:  # the other end of the terminal was closed
            chunk = b""
        if self.terminal and b"\x1b[6n" in chunk:  # it asks for the position of the cursor
            os.write(self.output, b"\x1b[1;1R")
        self._raw += chunk
        self.text = self._raw.decode(errors="replace").replace("\r\n", "\n")
        return bool(chunk)


@contextmanager
def started(
    *args: str, cwd: Path, env: Mapping[str, str], terminal: bool = False, grace: float = 0.0
) -> Iterator[Running]:
    """Start a command under the reaper. The command ends with the block, if it still runs."""
    report = cwd / f"report-{time.monotonic_ns()}.json"
    own_end, command_end = pty.openpty() if terminal else os.pipe()
    argv = [sys.executable, str(REAPER), str(report), str(grace), str(FETTLE), *args]
    reaper = subprocess.Popen(
        argv,
        cwd=cwd,
        env=dict(env),
        stdin=command_end if terminal else subprocess.DEVNULL,
        stdout=command_end,
        stderr=command_end,
        start_new_session=True,
    )
    os.close(command_end)
    try:
        yield Running(reaper, report, own_end, terminal=terminal)
    finally:
        if reaper.poll() is None:
            os.killpg(reaper.pid, signal.SIGTERM)
            reaper.wait(timeout=60)
        os.close(own_end)
