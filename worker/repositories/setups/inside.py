"""Runs a setup's command in a sandbox, and sends the new files of /work. Input, as JSON: {command,
environment, port, most_bytes, most_files}.

Python packages go into a virtual environment at /work/.setup, which uses the worker's pip. Packages
of the sandbox can be imported there, too. Files that existed before the command do not change.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

WORK = "/work"
TOP = f"{WORK}/.setup"
SCRATCH = f"{TOP}/scratch"
"""The files that came with the command, and temporary files of programs. They are not sent."""
CHUNK = 1024 * 1024
ENTRY = struct.Struct(">cIHQ")
"""The head of each sent entry: its kind, the time of its last change (seconds since 1970), and the
sizes of its name and its content in bytes. Name and content follow. A folder comes before its
contents."""
FOLDER, FILE, PROGRAM, LINK = b"d", b"f", b"x", b"l"
PIP = """\
#!{python}
import sys
from pip._internal.cli.main import main
sys.exit(main())
"""
PIP_PATH, SANDBOX_PATH = "_pip.pth", "~sandbox.pth"
"""Python reads these files in the order of their names: the sandbox may have an older pip, and
older packages than the packages that a `.pth` file of the project names."""


def paths() -> Iterator[tuple[str, os.stat_result]]:
    """The paths in /work, except `.git` and SCRATCH, with their metadata."""
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
    """Create the virtual environment, with the worker's pip for the time of the command."""
    venv.EnvBuilder(symlinks=True).create(TOP)
    folders = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    Path(packages(), SANDBOX_PATH).write_text("".join(f"{folder}\n" for folder in folders))
    with zipfile.ZipFile(f"{SCRATCH}/pip.zip") as archive:
        archive.extractall(f"{SCRATCH}/pip")
    Path(packages(), PIP_PATH).write_text(f"{SCRATCH}/pip\n")
    for name in ("pip", "pip3"):
        program = Path(TOP, "bin", name)
        program.write_text(PIP.format(python=f"{TOP}/bin/python"))
        program.chmod(0o755)


def environment(request: dict[str, Any]) -> dict[str, str]:
    """The environment variables of the command: the virtual environment and the proxy."""
    proxy = f"http://127.0.0.1:{request['port']}"
    inherited = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    return {
        **inherited,
        **dict.fromkeys(names, proxy),
        "PATH": f"{TOP}/bin:{inherited['PATH']}",
        "VIRTUAL_ENV": TOP,
        "HOME": SCRATCH,
        "TMPDIR": SCRATCH,
        **request["environment"],
    }


class ArchiveEntry(NamedTuple):
    """An entry to send."""

    head: bytes
    """ENTRY, the name, and the target of a link."""
    path: str
    size: int = 0
    """The bytes of the file that follow."""


def entry(path: str, status: os.stat_result) -> ArchiveEntry | None:
    """The entry of a directory, a file or a symbolic link; a hard link is a file."""
    name = os.fsencode(path.removeprefix(f"{WORK}/"))
    seconds = min(max(int(status.st_mtime), 0), 2**32 - 1)
    if stat.S_ISDIR(status.st_mode):
        return ArchiveEntry(ENTRY.pack(FOLDER, seconds, len(name), 0) + name, path)
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink(path))  # noqa: PTH115
        return ArchiveEntry(ENTRY.pack(LINK, seconds, len(name), len(target)) + name + target, path)
    if stat.S_ISREG(status.st_mode):
        kind = PROGRAM if status.st_mode & stat.S_IXUSR else FILE
        return ArchiveEntry(
            ENTRY.pack(kind, seconds, len(name), status.st_size) + name, path, status.st_size
        )
    return None


def new_paths(before: set[str]) -> list[tuple[str, os.stat_result]]:
    """The paths that did not exist before, and their folders."""
    now = list(paths())
    old = set(before)
    for path, _ in now:
        if path not in before:
            while (path := os.path.dirname(path)) in old:  # noqa: PTH120
                old.remove(path)
    return [(path, status) for path, status in now if path not in old]


def send(request: dict[str, Any], before: set[str]) -> str:
    """Send the new paths; return the reason of a refusal, or ''."""
    created = new_paths(before)
    size = sum(status.st_size for _, status in created if stat.S_ISREG(status.st_mode))
    if size > request["most_bytes"] or len(created) > request["most_files"]:
        limit = f"{request['most_bytes'] >> 20} MiB in {request['most_files']} files may stay"
        return f"it left {size >> 20} MiB in {len(created)} files; {limit} (FETTLE_SETUP_BYTES)"
    entries = [row for path, status in created if (row := entry(path, status)) is not None]
    length = sum(len(row.head) + row.size for row in entries)
    with socket.create_connection(("127.0.0.1", request["port"])) as connection:
        with connection.makefile("wb", CHUNK) as out:
            out.write(b"PUT /layer HTTP/1.1\r\nHost: worker\r\nContent-Length: %d\r\n\r\n" % length)
            for row in entries:
                out.write(row.head)
                out.writelines(content(row))
        with connection.makefile("rb") as response:
            head, _, reason = response.read(64 * 1024).partition(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 200"):
        return ""
    return reason.decode(errors="replace") or "the worker refused its files"


def content(row: ArchiveEntry) -> Iterator[bytes]:
    """The content of a file, as many bytes as its entry says."""
    if not (remaining := row.size):
        return
    if not (mode := os.lstat(row.path).st_mode) & stat.S_IRUSR:
        os.chmod(row.path, mode | stat.S_IRUSR)  # noqa: PTH101
    with open(row.path, "rb") as file:  # noqa: PTH123
        while remaining:
            if not (part := file.read(min(remaining, CHUNK))):
                raise EOFError(f"{row.path} became shorter while it was sent")
            yield part
            remaining -= len(part)


def main() -> int:
    """Run the command and send its files. Returns the exit code of the command, or 1 if its files
    were refused."""
    request = json.load(sys.stdin)
    before = {path for path, _ in paths()}
    prepare()
    before.discard(TOP)
    done = subprocess.run(
        ["sh", "-c", request["command"]],
        cwd=WORK,
        env=environment(request),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode != 0:
        return done.returncode if done.returncode > 0 else 128 - done.returncode
    for path in (f"{TOP}/bin/pip", f"{TOP}/bin/pip3", f"{packages()}/{PIP_PATH}"):
        Path(path).unlink(missing_ok=True)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    if reason := send(request, before):
        sys.stdout.write(f"{reason}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
