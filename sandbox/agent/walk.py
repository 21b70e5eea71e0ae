"""Looking through `/work` after a run.

Where it began with layers, only what was written since is looked at, beside what the layers have in
the same directories: what is named there and not in `/work` is gone. So neither the kernel's marks
for deleted files nor those for replaced directories need to be understood, or believed.
"""

# ruff: noqa: PTH208

from __future__ import annotations

import os
import stat

from sandbox.paths import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OWN = ".git"
"""What a run does to it ends with the run, where `/work` began with layers."""
_MOST_GONE = 50_000
"""Paths of layers, at most, that are reported as deleted: as many as can be removed from them."""
_MOST_GONE_BYTES = 4 << 20
"""The same for the length of them all, which fits a header."""
_CHUNK = 1 << 20


class Base:
    """The directories that `/work` was made of, as descriptors: the code has neither in sight.

    `layers` shows those of these `names` as one, as they were before anything was written. `upper`
    has each name that was written since, and each directory on the way to one; None where `/work`
    is a copy, in which whatever was written has a change time (ns) of `since` or later.
    """

    def __init__(self, names: Sequence[str], *, copies: bool = False) -> None:
        self.names, self.copies = names, copies
        self.layers = -1
        self.upper: int | None = None
        self.since = 0


class Beginning:
    """What `/work` began with: the files written to it, and those of layers that were neither
    removed nor replaced. Of these, the walk notes in `gone` which are not there any more.
    """

    def __init__(self, written: Iterable[str] = (), removed: Iterable[str] = ()) -> None:
        self._covered = frozenset(written) | frozenset(removed)
        self._directories = {each for path in written for each in above(path)}
        self.places: set[str] = set()
        """The directories, from the top, in which something was found."""
        self.gone: list[str] = []
        self.more_gone = 0
        self._bytes = 0

    def has(self, path: str) -> bool:
        """Whether a file that layers have at `path` was there, as they have it."""
        return self._covered.isdisjoint((path, *above(path))) and path not in self._directories

    def lose(self, path: str) -> None:
        """Note that a file of layers is gone."""
        self._bytes += len(path.encode(errors="replace"))
        if len(self.gone) < _MOST_GONE and self._bytes <= _MOST_GONE_BYTES:
            self.gone.append(path)
        else:
            self.more_gone += 1


class Found:
    """A name below the workspace that is no directory, beside its directory's descriptor. `layers`
    is that of the same directory in the layers, where they have this file and it was there.
    """

    def __init__(
        self, path: str, directory: int, status: os.stat_result, layers: int | None
    ) -> None:
        self.path, self.directory, self.layers = path, directory, layers
        self.name = path.rpartition("/")[2]
        self.mode, self.size = status.st_mode, status.st_size

    def is_unchanged(self) -> bool:
        """Whether it is the layers' own file, or link, still: what is only opened to be written is
        copied, and is no change.
        """
        if self.layers is None:
            return False
        try:
            old = os.stat(self.name, dir_fd=self.layers, follow_symlinks=False)
            if stat.S_IFMT(old.st_mode) != stat.S_IFMT(self.mode):
                return False
            if stat.S_ISLNK(self.mode):
                return os.readlink(self.name, dir_fd=self.layers) == self.target()
            if not stat.S_ISREG(self.mode) or (old.st_mode ^ self.mode) & stat.S_IXUSR:
                return False
            return old.st_size == self.size and self._is_same()
        except OSError:
            return False

    @property
    def is_entry(self) -> bool:
        """Whether a workspace has such entries: regular files and symbolic links."""
        return stat.S_ISREG(self.mode) or stat.S_ISLNK(self.mode)

    @property
    def is_executable(self) -> bool:
        """Whether git takes the file for executable."""
        return bool(self.mode & stat.S_IXUSR)

    def target(self) -> str:
        """The target of a symbolic link."""
        return os.readlink(self.name, dir_fd=self.directory)

    def open(self) -> int:
        """A descriptor to read it from; it is unlocked first."""
        if not self.mode & stat.S_IRUSR:
            os.chmod(self.name, stat.S_IRUSR, dir_fd=self.directory)
        return os.open(self.name, FLAGS, dir_fd=self.directory)

    def _is_same(self) -> bool:
        with (
            os.fdopen(self.open(), "rb") as here,
            os.fdopen(os.open(self.name, FLAGS, dir_fd=self.layers), "rb") as there,
        ):
            while data := here.read(_CHUNK):
                if data != there.read(_CHUNK):
                    return False
        return True


def walk(
    work: str, beginning: Beginning, base: Base | None = None, places: set[str] | None = None
) -> Iterator[Found]:
    """Every name below `work` that is no directory or may not be one, in order, depth first; with
    a `base`, those that were written since. No directories are looked into but these `places`, if
    they are given.
    """
    top = _open_directory(work, None, os.lstat(work).st_mode)
    if base is None:
        yield from _Walk(beginning, places).below(top, "")
    else:
        upper = None if base.upper is None else os.dup(base.upper)
        yield from _Walk(beginning, places, base.since).below(top, "", os.dup(base.layers), upper)


class _Walk:
    def __init__(self, beginning: Beginning, places: set[str] | None, since: int = 0) -> None:
        self._beginning, self._places, self._since = beginning, places, since

    def below(
        self, directory: int, prefix: str, layers: int | None = None, upper: int | None = None
    ) -> Iterator[Found]:
        """What is to be looked at below one `directory`, and the same of `layers` and `upper`,
        where they have it. All of them are closed.
        """
        try:
            names = set(os.listdir(directory))
            if layers is not None:
                for name in os.listdir(layers):
                    if name not in names:
                        self._lose(layers, name, prefix + name)
            if upper is not None:
                names.intersection_update(os.listdir(upper))
            for name in sorted(names):
                if prefix + name != _OWN or (layers is None and upper is None):
                    yield from self._one(directory, name, prefix + name, layers, upper)
        finally:
            for fd in (directory, layers, upper):
                if fd is not None:
                    os.close(fd)

    def _one(
        self, directory: int, name: str, path: str, layers: int | None, upper: int | None
    ) -> Iterator[Found]:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        old = _status(name, layers)
        if stat.S_ISDIR(status.st_mode) and fault(path) is None:
            if self._places is not None and path not in self._places:
                return
            if layers is not None and old is not None and not stat.S_ISDIR(old.st_mode):
                self._lose(layers, name, path)
            below = _open_directory(name, directory, status.st_mode)
            yield from self.below(below, path + "/", _opened(name, layers), _opened(name, upper))
            return
        was = old is not None and self._beginning.has(path)
        found = Found(path, directory, status, layers if was else None)
        if layers is not None and old is not None:
            if stat.S_IFMT(old.st_mode) != stat.S_IFMT(status.st_mode):
                self._lose(layers, name, path, replaced=found.is_entry)
            elif self._is_untouched(status, old):
                return
        self._beginning.places.update(above(path))
        yield found

    def _is_untouched(self, status: os.stat_result, old: os.stat_result) -> bool:
        """Whether a file of a copy is as it was copied. Nobody can set a change time; the rest is
        for what a renamed directory brings along. Nor is a directory looked into whose name cannot
        be collected.
        """
        if stat.S_ISDIR(status.st_mode):
            return self._since > 0
        same = (status.st_size, status.st_mtime_ns) == (old.st_size, old.st_mtime_ns)
        return same and status.st_ctime_ns < self._since

    def _lose(self, layers: int, name: str, path: str, *, replaced: bool = False) -> None:
        """Note each file, link and empty directory that was there at `path` and below; not at
        `path` itself where an entry has `replaced` it.
        """
        status = _status(name, layers)
        if status is None or path == _OWN or fault(path) is not None:
            return
        if (below := _opened(name, layers)) is not None:
            try:
                names = sorted(os.listdir(below))
                for each in names:
                    self._lose(below, each, f"{path}/{each}")
            finally:
                os.close(below)
            if names:
                return
        if not replaced and self._beginning.has(path):
            self._beginning.lose(path)


def above(path: str) -> Iterator[str]:
    """The directories on the way to a path."""
    return (path[:end] for end in range(len(path)) if path[end] == "/")


def _status(name: str, directory: int | None) -> os.stat_result | None:
    """Of a name in a directory; None where there is neither."""
    if directory is None:
        return None
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _opened(name: str, above: int | None) -> int | None:
    """A directory of that name; None where there is none."""
    if above is None:
        return None
    try:
        return os.open(name, FLAGS | os.O_DIRECTORY, dir_fd=above)
    except OSError:
        return None


def _open_directory(name: str, above: int | None, mode: int) -> int:
    """Open a directory, unlocked first: without one of its bits something is out of reach."""
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(name, stat.S_IRWXU, dir_fd=above)
    return os.open(name, FLAGS | os.O_DIRECTORY, dir_fd=above)
