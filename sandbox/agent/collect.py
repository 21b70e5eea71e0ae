"""Files into `/work` before a run, and out of it afterwards.

Collecting happens when every other process of the sandbox is dead, so nothing moves while it looks;
it opens each name below its directory's descriptor and never follows a link all the same.
"""

# ruff: noqa: PTH103, PTH120, PTH123

from __future__ import annotations

import os
import stat

from sandbox.paths import REFUSALS, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_ELF = b"\x7fELF"
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def write_files(work: str, files: Mapping[str, bytes]) -> None:
    """Write `files` below `work`, which is empty.

    A workspace holds neither modes nor times. What can be executed may be; what was compiled is
    older than its sources, so that `make` does not take it for up to date.
    """
    for path, data in files.items():
        place = f"{work}/{path}"
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(data)
        if data.startswith((b"#!", _ELF)):
            os.chmod(place, 0o755)  # noqa: PTH101, S103
        if data.startswith(_ELF):
            os.utime(place, (0, 0))


class Collected:
    """What a run did to its workspace."""

    def __init__(self) -> None:
        self.changed: dict[str, bytes] = {}
        self.deleted: list[str] = []
        self.refused: list[str] = []
        self.more_refused = 0

    def refuse(self, path: str, why: str) -> None:
        """Note that `path` is not collected, and why."""
        if len(self.refused) < REFUSALS:
            self.refused.append(f"{ascii(path)[1:-1][:200]}: {why}")
        else:
            self.more_refused += 1


class _Found:
    """A name below the workspace that is no directory, beside its directory's descriptor."""

    def __init__(self, path: str, directory: int, status: os.stat_result) -> None:
        self.path, self.directory = path, directory
        self.mode, self.size = status.st_mode, status.st_size


def collect(work: str, before: Mapping[str, bytes], limits: Mapping[str, float]) -> Collected:
    """Compare `work` with what was written there: new and changed regular files, within limits."""
    result = Collected()
    kept: dict[str, int] = {}
    if before:
        present = {found.path for found in _walk(work) if stat.S_ISREG(found.mode)}
        result.deleted = sorted(before.keys() - present)
        kept = {path: len(data) for path, data in before.items() if path in present}
    total = sum(kept.values())
    for found in _walk(work):
        grown = total - kept.get(found.path, 0) + found.size
        why = _refusal(found, limits["file_bytes"])
        # Asked before it is read: a thousand sparse files are nothing to make and much to read.
        if why is None and grown > limits["workspace_bytes"]:
            why = f"the workspace would be larger than {limits['workspace_bytes']:.0f} bytes"
        elif why is None and found.path not in kept and len(kept) >= limits["workspace_files"]:
            why = f"the workspace would have more than {limits['workspace_files']:.0f} files"
        if why is not None:
            result.refuse(found.path, why)
            continue
        try:
            data = _read(found)
        except OSError as error:
            result.refuse(found.path, f"not to be read: {error.strerror}")
            continue
        if data != before.get(found.path):
            result.changed[found.path] = data
            kept[found.path], total = found.size, grown
    if result.more_refused:
        result.refused.append(f"and {result.more_refused} more")
    return result


def _refusal(found: _Found, file_bytes: float) -> str | None:
    why = fault(found.path)
    if why is not None:
        return why
    if not stat.S_ISREG(found.mode):
        return _KINDS.get(stat.S_IFMT(found.mode), "not a regular file")
    if found.size > file_bytes:
        return f"{found.size} bytes, more than {file_bytes:.0f}"
    return None


def _walk(work: str) -> Iterator[_Found]:
    """Every name below `work` that is no directory or may not be one, in order, depth first."""
    yield from _walk_below(_open_directory(work, None, os.lstat(work).st_mode), "")


def _walk_below(directory: int, prefix: str) -> Iterator[_Found]:
    try:
        for name in sorted(os.listdir(directory)):
            path = prefix + name
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode) and fault(path) is None:
                below = _open_directory(name, directory, status.st_mode)
                yield from _walk_below(below, path + "/")
            else:
                yield _Found(path, directory, status)
    finally:
        os.close(directory)


def _open_directory(name: str, above: int | None, mode: int) -> int:
    """Open a directory, unlocked first: without one of its bits something is out of reach."""
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(name, stat.S_IRWXU, dir_fd=above)
    return os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=above)


def _read(found: _Found) -> bytes:
    name = found.path.rpartition("/")[2]
    if not found.mode & stat.S_IRUSR:
        os.chmod(name, stat.S_IRUSR, dir_fd=found.directory)
    with os.fdopen(os.open(name, _FLAGS, dir_fd=found.directory), "rb") as file:
        return file.read(found.size)
