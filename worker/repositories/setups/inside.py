"""Runs a setup's command in a sandbox, and sends what is new in /work. Input, as JSON: {command,
environment, port, most_bytes, most_files}.

Python packages go into a virtual environment at /work/.setup, whose pip is the worker's. What the
sandbox has itself can be imported there, too. A file that was there before is left as it was.
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
"""What came with the command, and what programs put aside; it is not sent."""
CHUNK = 1024 * 1024
ENTRY = struct.Struct(">cIHQ")
"""What begins each entry that is sent: its kind, when it was changed (seconds since 1970), and how
many bytes its name and its content have, which follow. A folder comes before what is in it."""
FOLDER, FILE, PROGRAM, LINK = b"d", b"f", b"x", b"l"
PIP = """\
#!{python}
import sys
from pip._internal.cli.main import main
sys.exit(main())
"""
PIP_PATH, SANDBOX_PATH = "_pip.pth", "~sandbox.pth"
"""In the order of their names: the sandbox may have an older pip, and older packages than those
that a `.pth` file of the project's own names."""


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
        archive.extractall(f"{SCRATCH}/pip")
    Path(packages(), PIP_PATH).write_text(f"{SCRATCH}/pip\n")
    for name in ("pip", "pip3"):
        program = Path(TOP, "bin", name)
        program.write_text(PIP.format(python=f"{TOP}/bin/python"))
        program.chmod(0o755)


def environment(asked: dict[str, Any]) -> dict[str, str]:
    """What the command finds: the environment is active, and the network is a proxy."""
    proxy = f"http://127.0.0.1:{asked['port']}"
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
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


class Entry(NamedTuple):
    """Bytes to send, and then so many of the file's content."""

    begin: bytes
    path: str
    size: int = 0


def entry(path: str, at: os.stat_result) -> Entry | None:
    """That of a directory, a file or a symbolic link; a hard link is a file."""
    name = os.fsencode(path.removeprefix(f"{WORK}/"))
    seconds = min(max(int(at.st_mtime), 0), 2**32 - 1)
    if stat.S_ISDIR(at.st_mode):
        return Entry(ENTRY.pack(FOLDER, seconds, len(name), 0) + name, path)
    if stat.S_ISLNK(at.st_mode):
        target = os.fsencode(os.readlink(path))  # noqa: PTH115
        return Entry(ENTRY.pack(LINK, seconds, len(name), len(target)) + name + target, path)
    if stat.S_ISREG(at.st_mode):
        kind = PROGRAM if at.st_mode & stat.S_IXUSR else FILE
        return Entry(ENTRY.pack(kind, seconds, len(name), at.st_size) + name, path, at.st_size)
    return None


def new(there: set[str]) -> list[tuple[str, os.stat_result]]:
    """What is new, and the folders that it is in."""
    found = list(paths())
    old = set(there)
    for path, _ in found:
        if path not in there:
            while (path := os.path.dirname(path)) in old:  # noqa: PTH120
                old.remove(path)
    return [(path, at) for path, at in found if path not in old]


def send(asked: dict[str, Any], there: set[str]) -> str:
    """Send what is new; returns why it is not taken, or nothing."""
    left = new(there)
    size = sum(at.st_size for _, at in left if stat.S_ISREG(at.st_mode))
    if size > asked["most_bytes"] or len(left) > asked["most_files"]:
        most = f"{asked['most_bytes'] >> 20} MiB in {asked['most_files']} files may stay"
        return f"it left {size >> 20} MiB in {len(left)} files; {most} (FETTLE_SETUP_BYTES)"
    entries = [made for path, at in left if (made := entry(path, at)) is not None]
    length = sum(len(each.begin) + each.size for each in entries)
    with socket.create_connection(("127.0.0.1", asked["port"])) as door:
        with door.makefile("wb", CHUNK) as out:
            out.write(b"PUT /layer HTTP/1.1\r\nHost: worker\r\nContent-Length: %d\r\n\r\n" % length)
            for each in entries:
                out.write(each.begin)
                out.writelines(content(each))
        with door.makefile("rb") as answer:
            status = answer.read(64 * 1024).partition(b"\r\n\r\n")
    if status[0].startswith(b"HTTP/1.1 200"):
        return ""
    return status[2].decode(errors="replace") or "what it left was not taken"


def content(each: Entry) -> Iterator[bytes]:
    """What follows of a file, as large as it was."""
    if not (left := each.size):
        return
    if not (mode := os.lstat(each.path).st_mode) & stat.S_IRUSR:
        os.chmod(each.path, mode | stat.S_IRUSR)  # noqa: PTH101
    with open(each.path, "rb") as file:  # noqa: PTH123
        while left:
            if not (part := file.read(min(left, CHUNK))):
                raise EOFError(f"{each.path} became shorter while it was sent")
            yield part
            left -= len(part)


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
