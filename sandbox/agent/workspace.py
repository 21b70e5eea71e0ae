"""Fills `/work` before a run starts: a copy of directory trees, and the files of the command.

No process of the run exists yet, so no file changes while it is written.
"""

# ruff: noqa: PTH101, PTH102, PTH103, PTH106, PTH108, PTH115, PTH116, PTH118, PTH120, PTH123, PTH208, PTH211

from __future__ import annotations

import os
import stat

from sandbox.paths import ELF, is_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_PROGRAM_MODE = 0o755


class WorkTrees:
    """The directory trees that `/work` begins with, as descriptors. The code cannot see them.

    If `/work` is an overlay, the kernel shows the trees as one directory and writes changes to a
    tmpfs. If not, `/work` is a copy of the trees (`is_copy`).
    """

    def __init__(self, names: Sequence[str], *, is_copy: bool = False) -> None:
        self.names, self.is_copy = names, is_copy
        self.original = -1
        """A descriptor of the union of the trees, which no run changes."""
        self.upper: int | None = None
        """A descriptor of the overlay's upper directory: it has each name that was written since
        the start of the run, and each directory on the way to such a name. None for a copy."""
        self.copied_at = 0
        """For a copy: when it was complete, in ns. A file that the run writes has this change time,
        or a later one."""


class WrittenFiles:
    """The files and symbolic links that a command writes to `/work` before its run.

    `executable` names the files with a mode; by default a file can be executed if it replaces an
    executable file or begins like a program.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        executable: Mapping[str, bool] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> None:
        self.files = files
        self.executable = dict(executable or {})
        self.links = links or {}

    @property
    def paths(self) -> set[str]:
        """The paths of all files and links."""
        return {*self.files, *self.links}

    def is_executable(self, path: str) -> bool:
        """Whether the written file `path` can be executed."""
        executable = self.executable.get(path)
        return is_program(self.files[path]) if executable is None else executable


def copy_trees(trees: WorkTrees, work: str) -> None:
    """Copy the trees into `work`, which is empty: files with their modes and times, and links.

    A container cannot mount an overlay, and some kernels mount no overlay over a tmpfs. Sets
    `copied_at` of `trees`.
    """
    _copy_directory(f"/proc/self/fd/{trees.original}", work)
    os.utime(work)
    trees.copied_at = os.stat(work).st_ctime_ns


def _copy_directory(source: str, target: str) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            path = f"{target}/{entry.name}"
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), path)
            elif entry.is_dir():
                os.mkdir(path, 0o755)
                _copy_directory(entry.path, path)
            elif entry.is_file():
                _copy_file(entry.path, path)


def _copy_file(source: str, target: str) -> None:
    source_fd = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    status = os.fstat(source_fd)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    target_fd = os.open(target, flags, status.st_mode & 0o777)
    remaining_bytes = status.st_size
    while remaining_bytes > 0 and (
        sent := os.sendfile(target_fd, source_fd, None, remaining_bytes)
    ):
        remaining_bytes -= sent
    os.utime(target_fd, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.close(target_fd)
    os.close(source_fd)


def write_files(work: str, written: WrittenFiles) -> None:
    """Write the files and links to `work`, which is empty."""
    for path in written.paths:
        os.makedirs(os.path.dirname(f"{work}/{path}"), exist_ok=True)
    for path in written.files:
        _write_file(f"{work}/{path}", written, path)
    for path, target in written.links.items():
        os.symlink(target, f"{work}/{path}")


def write_over(work: str, written: WrittenFiles, removed: Iterable[str]) -> None:
    """Remove the `removed` paths from `work`, then write the files and links to it. Removes entries
    that are in the way. Records in `written` which files replace an executable file.
    """
    _remove_paths(work, removed)
    directories = {""}
    for path in written.files:
        _make_directories(work, os.path.dirname(path), directories)
        mode = _remove_entry(f"{work}/{path}")
        if mode is not None:
            written.executable.setdefault(path, bool(mode & stat.S_IXUSR))
        _write_file(f"{work}/{path}", written, path)
    for path, target in written.links.items():
        _make_directories(work, os.path.dirname(path), directories)
        _remove_entry(f"{work}/{path}")
        os.symlink(target, f"{work}/{path}")


def parent_directories(path: str) -> Iterator[str]:
    """The directories on the way to a relative path, from the top."""
    return (path[:end] for end in range(len(path)) if path[end] == "/")


def _write_file(target: str, written: WrittenFiles, path: str) -> None:
    """Write the file `path` to the absolute path `target`.

    A workspace stores no times. A compiled file gets a time before all sources, so that `make`
    compiles it again.
    """
    data = written.files[path]
    with open(target, "wb") as file:
        file.write(data)
    if written.is_executable(path):
        os.chmod(target, _PROGRAM_MODE)
    if data.startswith(ELF):
        os.utime(target, (0, 0))


def _remove_paths(work: str, paths: Iterable[str]) -> None:
    """Remove the entries at `paths` that exist, and then the directories that became empty. A path
    that leads through a link removes no entry.
    """
    is_directory: dict[str, bool] = {}
    for path in paths:
        for parent in parent_directories(path):
            if parent not in is_directory:
                is_directory[parent] = _is_directory(f"{work}/{parent}")
        if all(is_directory[parent] for parent in parent_directories(path)):
            _remove_entry(f"{work}/{path}")
    # At the end, the deepest first: to try `rmdir` for each path would take long.
    directories = (path for path, exists in is_directory.items() if exists)
    for directory in sorted(directories, key=len, reverse=True):
        try:  # noqa: SIM105  (contextlib is slow to import)
            os.rmdir(f"{work}/{directory}")
        except OSError:
            pass


def _make_directories(work: str, path: str, directories: set[str]) -> None:
    """Make `path` and its parents directories. `directories` has the paths that are directories
    already; adds `path` to it."""
    if path in directories:
        return
    _make_directories(work, os.path.dirname(path), directories)
    target = f"{work}/{path}"
    if not _is_directory(target):
        _remove_entry(target)
        os.mkdir(target)
    directories.add(path)


def _is_directory(path: str) -> bool:
    mode = _lstat_mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def _remove_entry(path: str) -> int | None:
    """Remove the entry `path`, if it exists; returns its mode if it was a regular file."""
    mode = _lstat_mode(path)
    if mode is None:
        return None
    if stat.S_ISDIR(mode):
        for name in os.listdir(path):
            _remove_entry(os.path.join(path, name))
        os.rmdir(path)
        return None
    os.unlink(path)
    return stat.S_IMODE(mode) if stat.S_ISREG(mode) else None


def _lstat_mode(path: str) -> int | None:
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
