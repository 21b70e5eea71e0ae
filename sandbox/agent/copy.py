"""A copy of layers into `/work`, where they cannot be shown in any other way: in a container, and
where the kernel mounts no overlay that can be written over a tmpfs.
"""

# ruff: noqa: PTH102, PTH115, PTH211

from __future__ import annotations

import os

from sandbox.agent.walk import Base


def copy_layers(base: Base, work: str) -> None:
    """Fill `work`, which is empty, with what the layers of `base` have: files with their modes and
    times, links as links, and nothing else. Notes `since` in `base`.
    """
    _copy(f"/proc/self/fd/{base.layers}", work)
    os.utime(work)
    base.since = os.stat(work).st_ctime_ns  # noqa: PTH116


def _copy(source: str, target: str) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            place = f"{target}/{entry.name}"
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), place)
            elif entry.is_dir():
                os.mkdir(place, 0o755)
                _copy(entry.path, place)
            elif entry.is_file():
                _copy_file(entry.path, place)


def _copy_file(source: str, target: str) -> None:
    reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    status = os.fstat(reading)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    writing = os.open(target, flags, status.st_mode & 0o777)
    left = status.st_size
    while left > 0 and (sent := os.sendfile(writing, reading, None, left)):
        left -= sent
    os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.close(writing)
    os.close(reading)
