"""Collects the changes of a run in `/work`: files, symbolic links, and deleted paths.

All other processes of the sandbox are dead by then, so no file changes at the same time. Even so,
each name is opened relative to the descriptor of its directory, and no link is followed.

If `/work` began with directory trees, the walk compares each directory with the same directory of
the trees: a name that only the trees have was deleted. So the walk depends neither on the kernel's
marks for deleted files nor on those for replaced directories, which code could forge.
"""

# ruff: noqa: PTH208

from __future__ import annotations

import os
import stat

from sandbox.agent.workspace import WorkTrees, WrittenFiles, parent_directories
from sandbox.paths import REFUSALS, fault, target_fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_GIT_DIRECTORY = ".git"
"""If `/work` began with trees, the changes of a run to this directory are not collected."""
_MAX_DELETED = 50_000
"""Deleted paths of trees that are reported; as many paths can be removed from trees."""
_MAX_DELETED_BYTES = 4 << 20
"""The total length of these paths; they fit a header."""
_CHUNK = 1 << 20
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Changes:
    """The changes of a run in its workspace."""

    def __init__(self) -> None:
        self.changed: dict[str, bytes] = {}
        self.executable: list[str] = []
        self.links: dict[str, str] = {}
        self.deleted: list[str] = []
        self.refused: list[str] = []
        """The first `REFUSALS` paths that were not collected, each with the reason."""
        self.more_refused = 0

    def refuse(self, path: str, reason: str) -> None:
        """Record that `path` is not collected, and the reason."""
        if len(self.refused) < REFUSALS:
            self.refused.append(f"{ascii(path)[1:-1][:200]}: {reason}")
        else:
            self.more_refused += 1


class InitialFiles:
    """The files that `/work` began with: the written files, and the files of trees that were
    neither removed nor replaced. The walk records in `deleted` which files of the trees are
    missing.
    """

    def __init__(self, written: Iterable[str] = (), removed: Iterable[str] = ()) -> None:
        self._covered = frozenset(written) | frozenset(removed)
        self._directories = {parent for path in written for parent in parent_directories(path)}
        self.visited: set[str] = set()
        """The directories, from the top, that have an entry for the caller."""
        self.deleted: list[str] = []
        self.more_deleted = 0
        self._deleted_bytes = 0

    def contains(self, path: str) -> bool:
        """Whether `/work` began with the trees' file at `path`."""
        is_uncovered = self._covered.isdisjoint((path, *parent_directories(path)))
        return is_uncovered and path not in self._directories

    def record_deleted(self, path: str) -> None:
        """Record that the trees' file at `path` is missing."""
        self._deleted_bytes += len(path.encode(errors="replace"))
        if len(self.deleted) < _MAX_DELETED and self._deleted_bytes <= _MAX_DELETED_BYTES:
            self.deleted.append(path)
        else:
            self.more_deleted += 1


class WorkEntry:
    """A name below `/work` that is not a directory, with the descriptor of its directory.

    `original` is the descriptor of the same directory in the trees, if the trees have this file and
    `/work` began with it.
    """

    def __init__(
        self, path: str, directory: int, status: os.stat_result, original: int | None
    ) -> None:
        self.path, self.directory, self.original = path, directory, original
        self.name = path.rpartition("/")[2]
        self.mode, self.size = status.st_mode, status.st_size

    def is_unchanged(self) -> bool:
        """Whether the trees have an equal file or link at this path. The kernel copies a file that
        was only opened for writing; such a copy is not a change.
        """
        if self.original is None:
            return False
        try:
            original = os.stat(self.name, dir_fd=self.original, follow_symlinks=False)
            if stat.S_IFMT(original.st_mode) != stat.S_IFMT(self.mode):
                return False
            if stat.S_ISLNK(self.mode):
                return os.readlink(self.name, dir_fd=self.original) == self.read_target()
            if not stat.S_ISREG(self.mode) or (original.st_mode ^ self.mode) & stat.S_IXUSR:
                return False
            return original.st_size == self.size and self._has_original_bytes()
        except OSError:
            return False

    @property
    def is_collectable(self) -> bool:
        """Whether it is a regular file or a symbolic link."""
        return stat.S_ISREG(self.mode) or stat.S_ISLNK(self.mode)

    @property
    def is_executable(self) -> bool:
        """Whether git would store the file as executable."""
        return bool(self.mode & stat.S_IXUSR)

    def read_target(self) -> str:
        """The target of a symbolic link."""
        return os.readlink(self.name, dir_fd=self.directory)

    def open(self) -> int:
        """Open the file for reading; makes it readable first."""
        if not self.mode & stat.S_IRUSR:
            os.chmod(self.name, stat.S_IRUSR, dir_fd=self.directory)
        return os.open(self.name, OPEN_FLAGS, dir_fd=self.directory)

    def read(self) -> bytes:
        """The content of a regular file."""
        with os.fdopen(self.open(), "rb") as file:
            return file.read(self.size)

    def _has_original_bytes(self) -> bool:
        with (
            os.fdopen(self.open(), "rb") as current,
            os.fdopen(os.open(self.name, OPEN_FLAGS, dir_fd=self.original), "rb") as original,
        ):
            while data := current.read(_CHUNK):
                if data != original.read(_CHUNK):
                    return False
        return True


def collect(
    work: str,
    written: WrittenFiles,
    limits: Mapping[str, float],
    trees: WorkTrees | None = None,
    removed: Iterable[str] = (),
) -> Changes:
    """Collect new and changed regular files and symbolic links of `work`, within `limits`.

    `work` began with the `written` files over the `trees`, without the `removed` paths.
    """
    changes = Changes()
    sizes: dict[str, int] = {}
    visited: set[str] | None = None
    if written.paths or trees is not None:
        initial = InitialFiles(written.paths, removed)
        sizes, visited = _collect_deleted(work, written, trees, initial, changes), initial.visited
    total = sum(sizes.values())
    # Old files come first, so that their changes are collected even if too many files are new.
    for entry in _walk_old_first(work, written, trees, removed, visited):
        if entry.is_unchanged():
            continue
        new_total = total - sizes.get(entry.path, 0) + entry.size
        reason = _refusal(entry, limits["file_bytes"])
        # Checked before a file is read: sparse files cost the run nothing, but take long to read.
        if reason is None and new_total > limits["workspace_bytes"]:
            reason = f"the workspace would be larger than {limits['workspace_bytes']:.0f} bytes"
        elif reason is None and entry.path not in sizes and len(sizes) >= limits["workspace_files"]:
            reason = f"the workspace would have more than {limits['workspace_files']:.0f} files"
        if reason is not None:
            changes.refuse(entry.path, reason)
            continue
        try:
            if _add_if_changed(entry, written, changes):
                sizes[entry.path], total = entry.size, new_total
        except OSError as error:
            changes.refuse(entry.path, f"cannot be read: {error.strerror}")
    if changes.more_refused:
        changes.refused.append(f"and {changes.more_refused} more")
    return changes


def walk(
    work: str,
    initial: InitialFiles,
    trees: WorkTrees | None = None,
    visited: set[str] | None = None,
) -> Iterator[WorkEntry]:
    """Walk every name below `work` that is not a directory, or not a valid path, depth first and in
    order. With `trees`: only names that were written since the start. With `visited`: only these
    directories.
    """
    top = _open_directory(work, None, os.lstat(work).st_mode)
    if trees is None:
        yield from _Walk(initial, visited).walk_directory(top, "")
    else:
        upper = None if trees.upper is None else os.dup(trees.upper)
        walker = _Walk(initial, visited, trees.copied_at)
        yield from walker.walk_directory(top, "", os.dup(trees.original), upper)


def _walk_old_first(
    work: str,
    written: WrittenFiles,
    trees: WorkTrees | None,
    removed: Iterable[str],
    visited: set[str] | None,
) -> Iterator[WorkEntry]:
    for is_old in (True, False):
        for entry in walk(work, InitialFiles(written.paths, removed), trees, visited):
            if is_old == (entry.path in written.paths or entry.original is not None):
                yield entry


def _add_if_changed(entry: WorkEntry, written: WrittenFiles, changes: Changes) -> bool:
    """Add a file or link to `changes` if it is new or changed; returns whether it was added."""
    path = entry.path
    if stat.S_ISLNK(entry.mode):
        target = entry.read_target()
        if target == written.links.get(path):
            return False
        if (reason := target_fault(target)) is not None:
            changes.refuse(path, reason)
            return False
        changes.links[path] = target
        return True
    data = entry.read()
    if data == written.files.get(path) and entry.is_executable == written.is_executable(path):
        return False
    changes.changed[path] = data
    if entry.is_executable:
        changes.executable.append(path)
    return True


def _collect_deleted(
    work: str,
    written: WrittenFiles,
    trees: WorkTrees | None,
    initial: InitialFiles,
    changes: Changes,
) -> dict[str, int]:
    """Add the deleted files to `changes`; returns the sizes of the written files that still exist,
    by path."""
    present = {entry.path for entry in walk(work, initial, trees) if entry.is_collectable}
    changes.deleted = sorted([*(written.paths - present), *initial.deleted])
    if initial.more_deleted:
        changes.refuse(f"{initial.more_deleted} paths", "deleted, more than can be reported")
    sizes = {path: len(data) for path, data in (*written.files.items(), *written.links.items())}
    return {path: size for path, size in sizes.items() if path in present}


def _refusal(entry: WorkEntry, file_bytes: float) -> str | None:
    """The reason why an entry cannot be collected, from its path, kind and size."""
    path_fault = fault(entry.path)
    if path_fault is not None:
        return path_fault
    if not entry.is_collectable:
        return _KINDS.get(stat.S_IFMT(entry.mode), "not a regular file")
    if entry.size > file_bytes:
        return f"{entry.size} bytes, more than {file_bytes:.0f}"
    return None


class _Walk:
    def __init__(self, initial: InitialFiles, visited: set[str] | None, copied_at: int = 0) -> None:
        self._initial, self._visited, self._copied_at = initial, visited, copied_at

    def walk_directory(
        self, directory: int, prefix: str, original: int | None = None, upper: int | None = None
    ) -> Iterator[WorkEntry]:
        """Walk the open `directory`. `original` and `upper` are the same directory of the trees and
        of the overlay's upper directory, if these have it. Closes all three descriptors.
        """
        try:
            names = set(os.listdir(directory))
            if original is not None:
                for name in os.listdir(original):
                    if name not in names:
                        self._record_deleted(original, name, prefix + name)
            if upper is not None:
                names.intersection_update(os.listdir(upper))
            for name in sorted(names):
                if prefix + name != _GIT_DIRECTORY or (original is None and upper is None):
                    yield from self._walk_name(directory, name, prefix + name, original, upper)
        finally:
            for fd in (directory, original, upper):
                if fd is not None:
                    os.close(fd)

    def _walk_name(
        self, directory: int, name: str, path: str, original: int | None, upper: int | None
    ) -> Iterator[WorkEntry]:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        old_status = _lstat_in(original, name)
        if stat.S_ISDIR(status.st_mode) and fault(path) is None:
            if self._visited is not None and path not in self._visited:
                return
            if original is not None and old_status and not stat.S_ISDIR(old_status.st_mode):
                self._record_deleted(original, name, path)
            yield from self.walk_directory(
                _open_directory(name, directory, status.st_mode),
                path + "/",
                _open_subdirectory(original, name),
                _open_subdirectory(upper, name),
            )
            return
        is_initial = old_status is not None and self._initial.contains(path)
        entry = WorkEntry(path, directory, status, original if is_initial else None)
        if original is not None and old_status is not None:
            if stat.S_IFMT(old_status.st_mode) != stat.S_IFMT(status.st_mode):
                self._record_deleted(original, name, path, is_replaced=entry.is_collectable)
            elif self._is_untouched_copy(status, old_status):
                return
        self._initial.visited.update(parent_directories(path))
        yield entry

    def _is_untouched_copy(self, status: os.stat_result, old_status: os.stat_result) -> bool:
        """Whether the run has not written a file of a copy. No process can set a change time; size
        and modification time are compared because of files in a renamed directory. A directory with
        an invalid path counts as untouched, because its files cannot be collected.
        """
        if stat.S_ISDIR(status.st_mode):
            return self._copied_at > 0
        is_same = (status.st_size, status.st_mtime_ns) == (
            old_status.st_size,
            old_status.st_mtime_ns,
        )
        return is_same and status.st_ctime_ns < self._copied_at

    def _record_deleted(
        self, original: int, name: str, path: str, *, is_replaced: bool = False
    ) -> None:
        """Record each file, link and empty directory that the trees have at `path` and below. If
        `path` itself `is_replaced` by an entry, it is not recorded.
        """
        status = _lstat_in(original, name)
        if status is None or path == _GIT_DIRECTORY or fault(path) is not None:
            return
        if (directory := _open_subdirectory(original, name)) is not None:
            try:
                child_names = sorted(os.listdir(directory))
                for child_name in child_names:
                    self._record_deleted(directory, child_name, f"{path}/{child_name}")
            finally:
                os.close(directory)
            if child_names:
                return
        if not is_replaced and self._initial.contains(path):
            self._initial.record_deleted(path)


def _lstat_in(directory: int | None, name: str) -> os.stat_result | None:
    """The status of a name in a directory; None if the directory or the name does not exist."""
    if directory is None:
        return None
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _open_subdirectory(directory: int | None, name: str) -> int | None:
    """Open a directory in a directory; None if one of them does not exist."""
    if directory is None:
        return None
    try:
        return os.open(name, OPEN_FLAGS | os.O_DIRECTORY, dir_fd=directory)
    except OSError:
        return None


def _open_directory(name: str, parent: int | None, mode: int) -> int:
    """Open a directory. Gives its owner all rights first, because the walk needs each of them."""
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(name, stat.S_IRWXU, dir_fd=parent)
    return os.open(name, OPEN_FLAGS | os.O_DIRECTORY, dir_fd=parent)
