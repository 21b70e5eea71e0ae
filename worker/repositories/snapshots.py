"""Snapshots: the tree of a commit, and the layer that is checked out from it.

A layer is the tree and a `.git` of its own, without a remote, hooks, alternates and the mirror's
configuration. Its packs are hard links to the mirror's packs, if the file system allows links. No
attribute of the tree changes bytes (eol, ident, filter), so that a file of the layer has the same
bytes as the blob that `CommitBase.read` returns.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from sandbox.local.stepdown import give_to_sandbox_user, sandbox_uid
from settings.repositories import RepositorySettings
from worker.repositories.errors import RepositoryRefused
from worker.repositories.folders import (
    BYTES_FILE,
    Lock,
    RepositoryFolders,
    publish_folder,
    sync_layer,
)
from worker.repositories.git import Git, GitFailed, GitTooLong, GitTooMuch
from worker.repositories.mirrors import Mirror, open_scratch, process

_ROW_BYTES = 512
"""The average size of a line of a tree's listing: its path and 70 bytes more."""
_PART_BYTES, _PATH_BYTES = 255, 3_000
"""The longest name of Linux, and the longest path below a folder of the worker."""
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
\tcheckStat = minimal
\ttrustctime = false
\tprotectNTFS = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[advice]
\tdetachedHead = false
"""
_ATTRIBUTES = "* -text !eol -crlf -ident -filter !working-tree-encoding\n"
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
"""The first line of a pointer of Git LFS."""
_POINTER_BYTES = 1024
_ATTRIBUTES_BYTES = 256 * 1024
SUBMODULE = 0o160000
"""Git's mode of a commit of another repository."""
_EARLIEST = 315_619_200  # 1980: older times do not go into a zip file
_FRESH_SECONDS = 60


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file, a symbolic link or a submodule in a commit's tree."""

    mode: int
    """Git's mode: 0o100644, 0o100755, 0o120000 (symbolic link), 0o160000 (submodule)."""
    size: int
    """Bytes; 0 for a submodule."""
    oid: str
    """The id of git's object."""

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_executable(self) -> bool:
        """Whether it is a regular file that can be executed."""
        return self.is_file and bool(self.mode & stat.S_IXUSR)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.mode)

    @property
    def is_submodule(self) -> bool:
        """Whether it is a commit of another repository."""
        return stat.S_IFMT(self.mode) == SUBMODULE


@dataclass(frozen=True, slots=True)
class Submodule:
    """A submodule, whose files a layer has."""

    path: str
    """Its path in the job's commit."""
    commit: str
    origin: str
    """The name of its origin, which differs between tenants with different credentials."""
    mirror: Mirror = field(repr=False)
    entries: Mapping[str, TreeEntry] = field(repr=False)
    """Its entries, by path in the submodule."""
    links: Mapping[str, str] = field(repr=False)
    """The targets of its symbolic links, by path in the submodule."""
    pointers: frozenset[str] = field(repr=False)
    """Its files with content in Git LFS, by path in the submodule."""


async def links(git: Git, entries: Mapping[str, TreeEntry]) -> dict[str, str]:
    """The targets of the tree's symbolic links, by path. Raises RepositoryRefused."""
    link_entries = {path: entry for path, entry in entries.items() if entry.is_link}
    targets = await _contents(git, link_entries)
    return {path: os.fsdecode(target) for path, target in targets.items()}


async def lfs_pointers(git: Git, entries: Mapping[str, TreeEntry]) -> frozenset[str]:
    """The pointers of Git LFS. Empty if no `.gitattributes` of the tree names LFS.
    Raises RepositoryRefused."""
    files = {path: entry for path, entry in entries.items() if entry.is_file}
    attributes = {
        path: entry
        for path, entry in files.items()
        if path.rpartition("/")[2] == ".gitattributes" and entry.size <= _ATTRIBUTES_BYTES
    }
    if not any(b"lfs" in text for text in (await _contents(git, attributes)).values()):
        return frozenset()
    sizes = range(len(LFS_POINTER), _POINTER_BYTES)
    small = {path: entry for path, entry in files.items() if entry.size in sizes}
    contents = await _contents(git, small)
    return frozenset(path for path, text in contents.items() if text.startswith(LFS_POINTER))


async def _contents(git: Git, entries: Mapping[str, TreeEntry]) -> dict[str, bytes]:
    """The bytes of blobs, by path. Raises RepositoryRefused."""
    if not entries:
        return {}
    oids = "".join(f"{entry.oid}\n" for entry in entries.values())
    most = sum(entry.size + _ROW_BYTES for entry in entries.values())
    output = await git.run("cat-file", "--batch", stdin=oids.encode(), most_bytes=most)
    contents, offset = {}, 0
    for path, entry in entries.items():  # a line with the size, the bytes, a line end
        offset = output.index(b"\n", offset) + 1
        contents[path] = output[offset : offset + entry.size]
        offset += entry.size + 1
    return contents


async def entries(git: Git, commit: str, settings: RepositorySettings) -> dict[str, TreeEntry]:
    """The entries of the tree by path, without directories. Raises RepositoryRefused if there are
    too many."""
    most = settings.repo_files
    try:
        listing = await git.run(
            *("ls-tree", "-r", "-z", "-l", "--full-tree", commit), most_bytes=most * _ROW_BYTES
        )
    except (GitTooMuch, GitTooLong):
        raise RepositoryRefused(_too_many(most)) from None
    except GitFailed as error:
        raise RepositoryRefused(f"the commit's files cannot be listed: {error.message}") from None
    return await asyncio.to_thread(_parse_listing, listing, settings)


def _parse_listing(listing: bytes, settings: RepositorySettings) -> dict[str, TreeEntry]:
    """Blocks: fifty thousand entries take a tenth of a second."""
    rows = listing.split(b"\0")[:-1]
    if len(rows) > settings.repo_files:
        raise RepositoryRefused(_too_many(settings.repo_files))
    entries: dict[str, TreeEntry] = {}
    total = 0
    for row in rows:
        head, _, path = row.partition(b"\t")
        mode, _, oid, size = head.decode().split()
        file_size = 0 if size == "-" else int(size)
        total += file_size
        if len(path) > _PART_BYTES and _too_long(path):
            excerpt = os.fsdecode(path)[:80]
            raise RepositoryRefused(f"the repository has a path that is too long: {excerpt!r}")
        entries[os.fsdecode(path)] = TreeEntry(int(mode, 8), file_size, oid)
    if total > settings.repo_bytes:
        raise RepositoryRefused(
            f"the repository's files have {total} bytes together, and at most "
            f"{settings.repo_bytes} are allowed (FETTLE_REPO_BYTES)"
        )
    return entries


def _too_long(path: bytes) -> bool:
    return len(path) > _PATH_BYTES or max(map(len, path.split(b"/"))) > _PART_BYTES


def _too_many(most: int) -> str:
    return f"the repository has more than {most} files, the limit (FETTLE_REPO_FILES)"


async def check_out(
    folders: RepositoryFolders,
    mirror: Mirror,
    writing: Lock,
    commit: str,
    packed_refs: bytes,
    submodules: Sequence[Submodule],
    name: str,
) -> Lock | None:
    """Make the layer `name` of a commit that the mirror has, with the tags in `packed_refs` and the
    files of the submodules. Returns the lock of its use; None if another process was first. Raises
    RepositoryRefused."""
    async with folders.turns, folders.workshop() as (workshop, lock):
        layer = workshop / "new"
        git = process(layer / ".git", mirror.settings, lock, writing)
        try:
            await _check_out_commit(mirror.git(), layer, git, commit, packed_refs)
            for submodule in submodules:  # a submodule comes before its own submodules
                await _check_out_submodule(folders, submodule, layer, git)
            await _finish(mirror.git(), layer, git, commit)
        except GitFailed as error:
            raise RepositoryRefused(f"the commit cannot be checked out: {error.message}") from None
        return publish_folder(layer, folders.layers / name)


async def _check_out_commit(
    source: Git, layer: Path, git: Git, commit: str, packed_refs: bytes
) -> None:
    await asyncio.to_thread(_repository, source.folder, layer / ".git", commit, packed_refs)
    tree = replace(git, tree=layer)
    await tree.run("read-tree", commit)
    await tree.run("checkout-index", "--all", "--quiet")


async def _check_out_submodule(
    folders: RepositoryFolders, submodule: Submodule, layer: Path, git: Git
) -> None:
    """Write the files of a submodule, without a repository: a patch cannot have its changes."""
    folder = layer / submodule.path
    await asyncio.to_thread(_make_directory, layer, submodule.path)
    async with open_scratch(folders, submodule.mirror) as scratch:
        (scratch.folder / "info" / "attributes").write_text(_ATTRIBUTES)
        tree = replace(scratch, tree=folder, hold=(*scratch.hold, *git.hold))
        await tree.run("read-tree", submodule.commit)
        await tree.run("checkout-index", "--all", "--quiet")


def _make_directory(layer: Path, path: str) -> None:
    (layer / path).mkdir(parents=True, exist_ok=True)
    if (layer / path).resolve() != layer.resolve() / path:
        raise RepositoryRefused(f"a link leads to the submodule {path[:80]!r}")


async def _finish(source: Git, layer: Path, git: Git, commit: str) -> None:
    commit_time = await source.run("log", "-1", "--format=%ct", commit)
    await asyncio.to_thread(_settle, layer, _layer_time(commit_time))
    await replace(git, tree=layer).run("update-index", "-q", "--refresh")
    await asyncio.to_thread(give_to_sandbox_user, layer)
    await sync_layer(layer)


def _layer_time(commit_time: bytes) -> float:
    """The commit's time, within the range of file systems and archives, and always in the past."""
    return min(max(int(commit_time or 0), _EARLIEST), time.time() - _FRESH_SECONDS)


async def tags(git: Git, commit: str) -> bytes:
    """The tags of the commit and of its history, as a file of packed refs."""
    refs = await git.run(
        *("for-each-ref", f"--merged={commit}", "refs/tags"),
        "--format=%(objectname) %(refname)%(if)%(*objectname)%(then)%0a^%(*objectname)%(end)",
    )
    return b"# pack-refs with: peeled fully-peeled sorted \n" + refs


def _repository(mirror: Path, new: Path, commit: str, packed_refs: bytes) -> None:
    """Create the folder of a repository. `git init` would copy more from this machine."""
    for part in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (new / part).mkdir(parents=True)
    (new / "HEAD").write_text(f"{commit}\n")
    (new / "config").write_text(_CONFIG)
    (new / "packed-refs").write_bytes(packed_refs)
    (new / "info" / "attributes").write_text(_ATTRIBUTES)
    for path in (mirror / "objects" / "pack").iterdir():
        if path.suffix in {".pack", ".idx", ".rev"}:
            _link(path, new / "objects" / "pack" / path.name)
    if (shallow := mirror / "shallow").exists():
        (new / "shallow").write_bytes(shallow.read_bytes())


def _link(path: Path, new: Path) -> None:
    """Make a hard link, or a copy if another user will own the layer: the worker owns the
    mirror."""
    if sandbox_uid() == os.geteuid():
        with suppress(OSError):  # a file system without hard links
            os.link(path, new)
            return
    shutil.copyfile(path, new)


def _settle(layer: Path, when: float) -> None:
    """Give all files the same time and modes on each machine, and write down their size.

    Because the time is in the past, git sees each later change without reading the files.
    """
    size = 0
    git = layer / ".git"
    for folder, directories, names in os.walk(layer, topdown=False):
        path = Path(folder)
        for name in names:
            status = (path / name).lstat()
            size += status.st_blocks * 512 if status.st_nlink == 1 else 0  # or the mirror has it
        if not path.is_relative_to(git):
            for name in (*names, *directories):
                _settle_one(path / name, when)
    _settle_one(layer, when)
    (layer / ".git" / BYTES_FILE).write_text(f"{size}\n")


def _settle_one(path: Path, when: float) -> None:
    status = path.lstat()
    if not stat.S_ISLNK(status.st_mode):
        path.chmod(0o755 if status.st_mode & 0o100 else 0o644)
    os.utime(path, (when, when), follow_symlinks=False)
