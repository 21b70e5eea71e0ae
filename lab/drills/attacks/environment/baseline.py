"""Baseline: a "sandbox" without protection, the control of most attacks, and of the suite itself.

It implements `sandbox.protocol.Sandbox` with an ordinary process of this machine: the same files,
the same network, the same kernel. Its bounds are the drill's own (`reaper.py`), far above a run's
limits: a control must not harm the machine, and none of its processes may stay.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import stat
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.protocol import Command, End, IsolationLayer, Limits, RunResult, Stream

UIDS = range(61_110, 61_180)
"""The users of controls if the drill is root. No other process has these users, so the limits per
user only count a control.
"""
PROCESSES = 400
MOST_SECONDS = 25.0
OUTPUT_BYTES = 4 * 1024 * 1024
_TOP = Path(__file__).resolve().parents[4]


@dataclass(frozen=True, slots=True)
class ReaperReport:
    """The end of the reaper's program."""

    status: int
    timeout: bool
    survivors: tuple[str, ...]


class BaselineSandbox:
    """Runs each command as a process of this machine, with exactly this `environment`.

    `root`: keep root's rights; a drill that is not root gives those of a user namespace instead.
    `as_drill`: keep the drill's rights. `unshare`: options of `unshare` to run under. `descriptors`
    are inherited. `uid` is the user of its processes if the drill is root: at worst, all processes
    of this user are killed at the end.
    """

    def __init__(
        self,
        python: Path,
        *,
        environment: Mapping[str, str] | None = None,
        root: bool = False,
        as_drill: bool = False,
        unshare: tuple[str, ...] = (),
        descriptors: tuple[int, ...] = (),
        uid: int = UIDS[0],
    ) -> None:
        self._python, self._environment = (python, dict(environment or {"PATH": "/usr/bin:/bin"}))
        self._root, self._unshare, self._descriptors = root, unshare, descriptors
        self._uid = uid if os.geteuid() == 0 and not (root or as_drill) else -1
        self.survivors: tuple[str, ...] = ()

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See `protocol.Sandbox.run`; of the limits only the wall time holds."""
        with TemporaryDirectory(prefix="fettle-baseline-", ignore_cleanup_errors=True) as folder:
            work = _write(Path(folder), command.files)
            return await self._run(command, limits, work)

    async def check(self) -> tuple[IsolationLayer, ...]:
        """See `protocol.Sandbox.check`."""
        return (IsolationLayer("none", False, "a plain process of this machine"),)

    async def close(self) -> None:
        """See `protocol.Sandbox.close`."""

    async def _run(self, command: Command, limits: Limits, work: Path) -> RunResult:
        before = {path: (work / path).read_bytes() for path in command.files}
        reading, report = os.pipe()
        seconds = min(limits.wall_seconds, MOST_SECONDS)
        started = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-P",
                "-m",
                "lab.drills.attacks.environment.reaper",
                str(report),
                str(self._uid),
            ),
            *(str(seconds), str(PROCESSES), *self._argv(command, work)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**self._environment, "PYTHONPATH": str(_TOP), "HOME": str(work)},
            pass_fds=(report, *self._descriptors),
            cwd=work,
        )
        os.close(report)
        streams = (process.stdout, process.stderr)
        feed = asyncio.ensure_future(_feed(process.stdin, command.stdin))
        out, err = await asyncio.gather(
            *(_read(stream) for stream in streams if stream is not None)
        )
        await asyncio.gather(feed, process.wait())
        elapsed = time.monotonic() - started
        reaper_report = _read_report(reading)
        self.survivors = reaper_report.survivors
        end, code, number = _end(reaper_report)
        changed = await asyncio.to_thread(_changed, work, before)
        return RunResult(end, code, number, out, err, elapsed, changed)

    def _argv(self, command: Command, work: Path) -> list[str]:
        words = list(command.argv)
        if words[:2] == ["python", "-c"]:
            main = work.parent / "main.py"
            main.write_bytes(words[2].encode(errors="replace"))
            words = [str(self._python), "-P", str(main), *words[3:]]
        elif words[0] == "python":
            words[0] = str(self._python)
        unshare = list(self._unshare)
        if os.geteuid() != 0 and (self._root or unshare):
            unshare = ["--user", "--map-root-user", *unshare]
        return ["unshare", *unshare, "--", *words] if unshare else words


def interpreter(preferred: Path) -> Path:
    """The first interpreter that an unprivileged user can start: the interpreter of an environment
    is a link, and both ends of the link may be below a closed folder, such as Debian's /root.
    """
    for candidate in (preferred, Path(sys.executable)):
        parents = (*candidate.absolute().parents, *candidate.resolve().parents)
        if os.geteuid() != 0 or all(parent.stat().st_mode & stat.S_IXOTH for parent in parents):
            return candidate
    return Path(shutil.which("python3", path="/usr/bin:/bin") or sys.executable)


def _write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """The working directory, open to the user that the control becomes."""
    work = folder / "work"
    work.mkdir()
    for path, data in files.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_bytes(data)
    for member in (folder, work, *work.rglob("*")):
        member.chmod(0o777)
    return work


async def _feed(stream: asyncio.StreamWriter | None, data: bytes) -> None:
    if stream is not None:
        try:
            stream.write(data)
            await stream.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass
        stream.close()


async def _read(stream: asyncio.StreamReader) -> Stream:
    """Read to the end; keep the last bytes, decoded naively."""
    content, total = bytearray(), 0
    while data := await stream.read(65_536):
        total += len(data)
        content += data
        if len(content) > 2 * OUTPUT_BYTES:
            del content[:-OUTPUT_BYTES]
    return Stream(content.decode(errors="surrogateescape"), total - len(content))


def _read_report(descriptor: int) -> ReaperReport:
    """The reaper's report; SIGKILL if it was killed."""
    with open(descriptor, "rb") as file:
        report = file.read()
    if not report:
        return ReaperReport(signal.SIGKILL, False, ())
    inputs = json.loads(report.splitlines()[0])
    return ReaperReport(inputs["status"], inputs["timeout"], tuple(inputs["left"]))


def _end(reaper_report: ReaperReport) -> tuple[End, int | None, int | None]:
    if reaper_report.timeout:
        return End.TIMEOUT, None, None
    code = os.waitstatus_to_exitcode(reaper_report.status)
    return (End.EXITED, code, None) if code >= 0 else (End.SIGNALED, None, -code)


def _changed(work: Path, before: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that a naive collector takes: all files that it can open, through links, under
    their names.
    """
    changed = {}
    for member in list(work.rglob("*"))[:2_000]:
        if member.is_file() and member.stat().st_size < OUTPUT_BYTES:
            path = str(member.relative_to(work))
            data = member.read_bytes()
            if before.get(path) != data:
                changed[path] = data
    return changed
