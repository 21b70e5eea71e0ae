"""Runs a setup's command in a sandbox, and sends what is new in /work. Input, as JSON: {command,
environment, port, most_bytes, most_files}.

Python packages go into a virtual environment at /work/.setup, whose pip is the worker's. What the
sandbox has itself can be imported there, too. A file that was there before is left as it was.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORK = "/work"
TOP = f"{WORK}/.setup"
SCRATCH = f"{TOP}/scratch"
"""What came with the command, and what programs put aside; it is not sent."""
CHUNK = 1024 * 1024
PIP = """\
#!{python}
import sys
from pip._internal.cli.main import main
sys.exit(main())
"""
PIP_PATH, SANDBOX_PATH = "_pip.pth", "_sandbox.pth"
"""In the order of their names: the sandbox may have an older pip."""


def paths() -> Iterator[tuple[str, os.stat_result]]:
    """Everything in /work but git's own and what is put aside."""
    for folder, folders, names in os.walk(WORK):
        folders[:] = sorted(
            name for name in folders if f"{folder}/{name}" not in {f"{WORK}/.git", SCRATCH}
        )
        for name in (*folders, *sorted(names)):
            path = f"{folder}/{name}"
            yield path, os.lstat(path)


def packages() -> str:
    """The folder of the environment's packages."""
    return f"{TOP}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


def prepare() -> None:
    """Make the virtual environment, with the worker's pip for the time of the command."""
    venv.EnvBuilder(symlinks=True).create(TOP)
    own = [each for each in sys.path if each.endswith(("site-packages", "dist-packages"))]
    Path(packages(), SANDBOX_PATH).write_text("".join(f"{each}\n" for each in own))
    with zipfile.ZipFile(f"{SCRATCH}/pip.zip") as archive:
        archive.extractall(f"{SCRATCH}/pip")  # noqa: S202 - our own worker made it
    Path(packages(), PIP_PATH).write_text(f"{SCRATCH}/pip\n")
    for name in ("pip", "pip3"):
        program = Path(TOP, "bin", name)
        program.write_text(PIP.format(python=f"{TOP}/bin/python"))
        program.chmod(0o755)


def environment(asked: dict[str, Any]) -> dict[str, str]:
    """What the command finds: the environment is active, and the network is a proxy."""
    proxy = f"http://127.0.0.1:{asked['port']}"
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
    }
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    return {
        **kept,
        **dict.fromkeys(names, proxy),
        "PATH": f"{TOP}/bin:{kept['PATH']}",
        "VIRTUAL_ENV": TOP,
        "HOME": SCRATCH,
        "TMPDIR": SCRATCH,
        **asked["environment"],
    }


def send(asked: dict[str, Any], there: set[str]) -> str:
    """Send what is new; returns why it is not taken, or nothing."""
    new = [(path, at) for path, at in paths() if path not in there]
    size = sum(at.st_size for _, at in new if stat.S_ISREG(at.st_mode))
    if size > asked["most_bytes"] or len(new) > asked["most_files"]:
        most = f"{asked['most_bytes'] >> 20} MiB in {asked['most_files']} files may stay"
        return f"it left {size >> 20} MiB in {len(new)} files; {most} (FETTLE_SETUP_BYTES)"
    with socket.create_connection(("127.0.0.1", asked["port"])) as door:
        door.sendall(b"PUT /layer HTTP/1.1\r\nHost: worker\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunks = Chunks(door)
        with tarfile.open(
            fileobj=chunks, mode="w|", bufsize=CHUNK, format=tarfile.PAX_FORMAT
        ) as tar:
            for path, at in new:
                add(tar, path, at)
        door.sendall(b"0\r\n\r\n")
        with door.makefile("rb") as answer:
            status = answer.read(64 * 1024).partition(b"\r\n\r\n")
    if status[0].startswith(b"HTTP/1.1 200"):
        return ""
    return status[2].decode(errors="replace") or "what it left was not taken"


class Chunks(io.RawIOBase):
    """A file that is written to an HTTP request of unknown length."""

    def __init__(self, to: socket.socket) -> None:
        super().__init__()
        self._to = to

    def write(self, data: Any) -> int:
        """Send one chunk."""
        if data:
            self._to.sendall(b"%x\r\n%b\r\n" % (len(data), data))
        return len(data)


def add(tar: tarfile.TarFile, path: str, at: os.stat_result) -> None:
    """Put a directory, a file or a symbolic link into the archive; a hard link is a file."""
    member = tarfile.TarInfo(path.removeprefix(f"{WORK}/"))
    member.mode, member.mtime = stat.S_IMODE(at.st_mode), int(at.st_mtime)
    if stat.S_ISDIR(at.st_mode):
        member.type = tarfile.DIRTYPE
        tar.addfile(member)
    elif stat.S_ISLNK(at.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, os.readlink(path)  # noqa: PTH115
        tar.addfile(member)
    elif stat.S_ISREG(at.st_mode):
        if not at.st_mode & stat.S_IRUSR:
            os.chmod(path, at.st_mode | stat.S_IRUSR)  # noqa: PTH101
        with open(path, "rb") as file:  # noqa: PTH123
            member.size = os.fstat(file.fileno()).st_size
            tar.addfile(member, file)


def main() -> int:
    """The exit code of the command, or of what was to be kept of it."""
    asked = json.load(sys.stdin)
    there = {path for path, _ in paths()}
    prepare()
    there.discard(TOP)
    done = subprocess.run(
        ["sh", "-c", asked["command"]],
        cwd=WORK,
        env=environment(asked),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode != 0:
        return done.returncode if done.returncode > 0 else 128 - done.returncode
    for own in (f"{TOP}/bin/pip", f"{TOP}/bin/pip3", f"{packages()}/{PIP_PATH}"):
        Path(own).unlink(missing_ok=True)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    if why := send(asked, there):
        sys.stdout.write(f"{why}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
