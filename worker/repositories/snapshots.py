"""Snapshots: what a commit's tree holds, and the layer that is checked out of it.

A layer is the tree and a `.git` of its own: it has no remote, no hooks, no alternates and none of
the mirror's configuration. Its packs are hard links to the mirror's where they can be. No attribute
of the tree changes bytes (eol, ident, filter), so that a file of the layer is the blob that
`Base.read` gives.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox.local.stepdown import give_to_sandbox_user, sandbox_uid
from settings.repositories import RepositorySettings
from worker.repositories.errors import RepositoryRefused
from worker.repositories.folders import BYTES_FILE, Lock, Places, moved, synced
from worker.repositories.git import Git, GitFailed, GitTooLong, GitTooMuch
from worker.repositories.mirrors import Mirror, process

_ROW_BYTES = 512
"""Of one line of a tree's listing, on average: its path and 70 bytes more."""
_PART_BYTES, _PATH_BYTES = 255, 3_000
"""What Linux takes for a name, and for a path below a folder of ours."""
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
SUBMODULE = 0o160000
"""The type that git gives to a commit of another repository."""
_EARLIEST = 315_619_200  # 1980: older times do not go into a zip file
_FRESH_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a commit's tree: mode as git has it (0o100644, 0o100755, 0o120000 a symbolic link,
    0o160000 a submodule's commit), bytes, and the object's id."""

    mode: int
    size: int
    oid: str

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


async def links(git: Git, entries: Mapping[str, Entry]) -> dict[str, str]:
    """The targets of the tree's symbolic links, by path. Raises RepositoryRefused."""
    link_entries = {path: entry for path, entry in entries.items() if entry.is_link}
    if not link_entries:
        return {}
    oids = "".join(f"{entry.oid}\n" for entry in link_entries.values())
    most = sum(entry.size + _ROW_BYTES for entry in link_entries.values())
    output = await git.run("cat-file", "--batch", stdin=oids.encode(), most_bytes=most)
    targets, at = {}, 0
    for path, entry in link_entries.items():  # a line with the size, the target, and a line end
        at = output.index(b"\n", at) + 1
        targets[path] = os.fsdecode(output[at : at + entry.size])
        at += entry.size + 1
    return targets


async def entries(git: Git, commit: str, settings: RepositorySettings) -> dict[str, Entry]:
    """The tree by path, without its directories. Raises RepositoryRefused where it is too large."""
    most = settings.repo_files
    try:
        listed = await git.run(
            *("ls-tree", "-r", "-z", "-l", "--full-tree", commit), most_bytes=most * _ROW_BYTES
        )
    except (GitTooMuch, GitTooLong):
        raise RepositoryRefused(_too_many(most)) from None
    except GitFailed as error:
        raise RepositoryRefused(f"the commit's files cannot be listed: {error.said}") from None
    return await asyncio.to_thread(_parsed, listed, settings)


def _parsed(listed: bytes, settings: RepositorySettings) -> dict[str, Entry]:
    """A thread's work: fifty thousand entries take a tenth of a second."""
    rows = listed.split(b"\0")[:-1]
    if len(rows) > settings.repo_files:
        raise RepositoryRefused(_too_many(settings.repo_files))
    found: dict[str, Entry] = {}
    taken = 0
    for row in rows:
        head, _, path = row.partition(b"\t")
        mode, _, oid, size = head.decode().split()
        number = 0 if size == "-" else int(size)
        taken += number
        if len(path) > _PART_BYTES and _too_long(path):
            shown = os.fsdecode(path)[:80]
            raise RepositoryRefused(f"the repository has a path that is too long: {shown!r}")
        found[os.fsdecode(path)] = Entry(int(mode, 8), number, oid)
    if taken > settings.repo_bytes:
        raise RepositoryRefused(
            f"the repository's files have {taken} bytes together, and at most "
            f"{settings.repo_bytes} are allowed (FETTLE_REPO_BYTES)"
        )
    return found


def _too_long(path: bytes) -> bool:
    return len(path) > _PATH_BYTES or max(map(len, path.split(b"/"))) > _PART_BYTES


def _too_many(most: int) -> str:
    return f"the repository has more than {most} files, which are allowed (FETTLE_REPO_FILES)"


async def check_out(
    places: Places, mirror: Mirror, writing: Lock, commit: str, packed_refs: bytes, name: str
) -> Lock | None:
    """Make the layer `name` of a commit that the mirror has, with the tags in `packed_refs`; it is
    in use from its beginning. None if another process was first. Raises RepositoryRefused."""
    async with places.turns, places.workshop() as (workshop, lock):
        layer = workshop / "new"
        git = process(layer / ".git", mirror.settings, lock, writing)
        try:
            await _fill(mirror.git(), layer, git, commit, packed_refs)
        except GitFailed as error:
            raise RepositoryRefused(f"the commit cannot be checked out: {error.said}") from None
        return moved(layer, places.layers / name)


async def _fill(source: Git, layer: Path, git: Git, commit: str, packed_refs: bytes) -> None:
    when = await source.run("log", "-1", "--format=%ct", commit)
    await asyncio.to_thread(_repository, source.folder, layer / ".git", commit, packed_refs)
    tree = replace(git, tree=layer)
    await tree.run("read-tree", commit)
    await tree.run("checkout-index", "--all", "--quiet")
    await asyncio.to_thread(_settle, layer, _time(when))
    await tree.run("update-index", "-q", "--refresh")
    await asyncio.to_thread(give_to_sandbox_user, layer)
    await synced(layer)


def _time(said: bytes) -> float:
    """The commit's time, within what file systems and archives take, and past in any case."""
    return min(max(int(said or 0), _EARLIEST), time.time() - _FRESH_SECONDS)


async def tags(git: Git, commit: str) -> bytes:
    """The tags of the commit and of its history, as a file of packed refs."""
    listed = await git.run(
        *("for-each-ref", f"--merged={commit}", "refs/tags"),
        "--format=%(objectname) %(refname)%(if)%(*objectname)%(then)%0a^%(*objectname)%(end)",
    )
    return b"# pack-refs with: peeled fully-peeled sorted \n" + listed


def _repository(mirror: Path, new: Path, commit: str, packed_refs: bytes) -> None:
    """A repository's folder, by hand: `git init` would take more from this machine."""
    for part in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (new / part).mkdir(parents=True)
    (new / "HEAD").write_text(f"{commit}\n")
    (new / "config").write_text(_CONFIG)
    (new / "packed-refs").write_bytes(packed_refs)
    (new / "info" / "attributes").write_text(_ATTRIBUTES)
    for path in (mirror / "objects" / "pack").iterdir():
        if path.suffix in {".pack", ".idx", ".rev"}:
            _linked(path, new / "objects" / "pack" / path.name)
    if (shallow := mirror / "shallow").exists():
        (new / "shallow").write_bytes(shallow.read_bytes())


def _linked(path: Path, new: Path) -> None:
    """A hard link; a copy where the layer will be another user's, for a mirror is the worker's."""
    if sandbox_uid() == os.geteuid():
        with suppress(OSError):  # a file system without hard links
            os.link(path, new)
            return
    shutil.copyfile(path, new)


def _settle(layer: Path, when: float) -> None:
    """Give all files the same time and modes, on each machine; note their bytes.

    A time that is past lets git see any change by it, without reading the files.
    """
    taken = 0
    git = str(layer / ".git")
    for folder, directories, names in os.walk(layer, topdown=False):
        own = Path(folder)
        for name in names:
            at = (own / name).lstat()
            taken += at.st_blocks * 512 if at.st_nlink == 1 else 0  # else it is the mirror's
        if not folder.startswith(git):
            for name in (*names, *directories):
                _settle_one(own / name, when)
    _settle_one(layer, when)
    (layer / ".git" / BYTES_FILE).write_text(f"{taken}\n")


def _settle_one(path: Path, when: float) -> None:
    at = path.lstat()
    if not stat.S_ISLNK(at.st_mode):
        path.chmod(0o755 if at.st_mode & 0o100 else 0o644)
    os.utime(path, (when, when), follow_symlinks=False)
