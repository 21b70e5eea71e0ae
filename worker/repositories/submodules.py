"""Submodules: the commits of other repositories that a commit names, and their addresses.

A submodule is checked out into the layer of the commit if the operator's list has its host. The
submodules of a submodule are found in the same way.

See ADR 99.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from settings.repositories import RepositorySettings
from worker.repositories import snapshots
from worker.repositories.errors import RepositoryRefused, RepositoryUnavailable
from worker.repositories.folders import RepositoryFolders
from worker.repositories.git import Git, GitFailed
from worker.repositories.hosts import UPLOAD, RepositoryHosts
from worker.repositories.mirrors import open_mirror
from worker.repositories.remote import RemoteOrigin
from worker.repositories.snapshots import Submodule, TreeEntry

MODULES = ".gitmodules"
MAX_LEVELS = 3
"""The levels of submodules that are checked out. Submodules of the job's commit have level 1."""
MAX_SUBMODULES = 50
"""The submodules of a job's commit that are fetched; each failed fetch counts."""
_MODULES_BYTES = 256 * 1024
_NO_MATCH = 1
_LIKE_SCP = re.compile(r"([^/:@]+@[^/:@]+):/*([^/\n].*)")


@dataclass(frozen=True, slots=True)
class Submodules:
    """The submodules of a commit."""

    checked_out: tuple[Submodule, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """The reasons why other submodules are not checked out, by path."""
    entries: Mapping[str, TreeEntry] = field(init=False)
    """The files and links of the checked-out submodules, by path in the job's commit."""
    links: Mapping[str, str] = field(init=False)
    """The targets of their symbolic links, by path in the job's commit."""

    def __post_init__(self) -> None:
        """Put the paths of the submodules before the paths of their files."""
        entries, links = dict[str, TreeEntry](), dict[str, str]()
        for submodule in self.checked_out:
            prefix = f"{submodule.path}/"
            rows = submodule.entries.items()
            entries |= {prefix + path: entry for path, entry in rows if not entry.is_submodule}
            links |= {prefix + path: target for path, target in submodule.links.items()}
        object.__setattr__(self, "entries", entries)
        object.__setattr__(self, "links", links)

    @property
    def pointers(self) -> frozenset[str]:
        """The files with content in Git LFS, by path in the job's commit."""
        return frozenset(f"{sub.path}/{path}" for sub in self.checked_out for path in sub.pointers)

    async def read(self, path: str) -> bytes | None:
        """The bytes of a regular file; None if no submodule has it. Raises GitFailed."""
        entry = self.entries.get(path)
        if entry is None or not entry.is_file:
            return None
        owners = (sub for sub in self.checked_out if path.startswith(f"{sub.path}/"))
        owner = max(owners, key=lambda submodule: len(submodule.path))
        return await owner.mirror.git().run("cat-file", "blob", entry.oid, most_bytes=entry.size)

    def release(self) -> None:
        """Release the mirrors."""
        for submodule in self.checked_out:
            submodule.mirror.use.release()


@dataclass(frozen=True, slots=True)
class _Parent:
    """A commit that may have submodules."""

    git: Git
    entries: Mapping[str, TreeEntry]
    url: str | None
    """The address of its repository; None for an upload."""
    prefix: str = ""
    """The beginning of its paths in the job's commit."""
    level: int = 1
    """The level of its submodules."""


@dataclass(frozen=True, slots=True)
class SubmoduleFinder:
    """Finds the submodules of commits, and fetches them with the credentials of a tenant."""

    folders: RepositoryFolders
    hosts: RepositoryHosts
    settings: RepositorySettings
    tenant: str

    async def find(self, git: Git, entries: Mapping[str, TreeEntry], url: str | None) -> Submodules:
        """The submodules of a commit that `git` has, of the repository at `url` (None: an upload).
        The limits of a repository hold for the files of all submodules and the commit together.

        Raises RepositoryUnavailable if a host or this machine fails: a later try may succeed.
        """
        found, missing, parents = list[Submodule](), dict[str, str](), [_Parent(git, entries, url)]
        tried = 0
        try:
            for parent in parents:  # the loop adds the submodules to `parents`
                links = {path: row for path, row in parent.entries.items() if row.is_submodule}
                addresses = await _addresses(parent) if links else {}
                for path, entry in links.items():
                    name = parent.prefix + path
                    try:
                        _require_bounds(parent, tried)
                        address = resolve_address(parent.url, addresses.get(path, ""))
                        site = self.hosts.site(address, self.tenant)
                        tried += 1
                        origin = RemoteOrigin(site, self._remaining(entries, found))
                        submodule = await self._fetch(name, entry.oid, origin)
                    except RepositoryUnavailable:
                        raise
                    except RepositoryRefused as error:
                        missing[name] = str(error).removesuffix(f"; {UPLOAD}")
                    else:
                        found.append(submodule)
                        parents.append(_as_parent(submodule, address, parent.level + 1))
        except BaseException:
            Submodules(tuple(found)).release()
            raise
        return Submodules(tuple(found), missing)

    async def _fetch(self, path: str, commit: str, origin: RemoteOrigin) -> Submodule:
        """Fetch a submodule within the limits of the origin. Raises RepositoryRefused."""
        mirror = await open_mirror(self.folders, origin, self.settings)
        try:
            await mirror.ensure(origin, commit)
            git = mirror.git()
            entries = await snapshots.entries(git, commit, origin.settings)
            links = await snapshots.links(git, entries)
            pointers = await snapshots.lfs_pointers(git, entries)
            mirror.use.touch()
        except BaseException:
            mirror.use.release()
            raise
        return Submodule(path, commit, origin.name, mirror, entries, links, pointers)

    def _remaining(
        self, entries: Mapping[str, TreeEntry], found: Sequence[Submodule]
    ) -> RepositorySettings:
        """The settings with the limits that are left for the next submodule."""
        trees = [entries, *(submodule.entries for submodule in found)]
        size = sum(entry.size for tree in trees for entry in tree.values())
        limits = {
            "repo_bytes": max(self.settings.repo_bytes - size, 0),
            "repo_files": max(self.settings.repo_files - sum(map(len, trees)), 0),
        }
        return self.settings.model_copy(update=limits)


def _as_parent(submodule: Submodule, url: str, level: int) -> _Parent:
    git, entries = submodule.mirror.git(), submodule.entries
    return _Parent(git, entries, url, f"{submodule.path}/", level)


def _require_bounds(parent: _Parent, tried: int) -> None:
    if parent.level > MAX_LEVELS:
        raise RepositoryRefused(f"workers check out {MAX_LEVELS} levels of submodules")
    if tried >= MAX_SUBMODULES:
        raise RepositoryRefused(f"workers check out {MAX_SUBMODULES} submodules of a commit")


def resolve_address(parent: str | None, address: str) -> str:
    """The URL of a submodule, from its address in `.gitmodules`, which may be relative to the URL
    of its `parent` (None: an upload). Raises RepositoryRefused."""
    if not address:
        raise RepositoryRefused(f"{MODULES} has no address of it")
    if (like_scp := _LIKE_SCP.fullmatch(address)) is not None:
        return f"ssh://{like_scp[1]}/{like_scp[2]}"
    if not address.startswith(("./", "../")):
        return address
    if parent is None:
        raise RepositoryRefused("its address is relative, and an upload has no address")
    parts = urlsplit(parent)
    names = [name for name in parts.path.split("/") if name]
    for name in address.split("/"):
        if name == ".." and not names:
            raise RepositoryRefused("its relative address leaves the host")
        if name == "..":
            names.pop()
        elif name not in {"", "."}:
            names.append(name)
    return f"{parts.scheme}://{parts.netloc}/{'/'.join(names)}"


async def _addresses(parent: _Parent) -> Mapping[str, str]:
    entry = parent.entries.get(MODULES)
    if entry is None or not entry.is_file or entry.size > _MODULES_BYTES:
        return {}
    text = await parent.git.run("cat-file", "blob", entry.oid, most_bytes=entry.size)
    return await read_modules(parent.git, text) or {}


async def read_modules(git: Git, text: bytes) -> Mapping[str, str] | None:
    """The addresses of submodules in the text of a `.gitmodules` file, by path; None if git cannot
    read the text."""
    try:
        output = await git.run(
            *("config", "--no-includes", "--file", "-", "-z"),
            *("--get-regexp", r"^submodule\..*\.(path|url)$"),
            stdin=text,
            ends=(0, _NO_MATCH),
        )
    except GitFailed:
        return None
    modules: dict[str, dict[str, str]] = {}
    for row in output.decode(errors="surrogateescape").split("\0")[:-1]:
        key, _, value = row.partition("\n")
        name, _, variable = key.rpartition(".")
        modules.setdefault(name, {})[variable] = value
    named = (module for module in modules.values() if "path" in module)
    return {module["path"].rstrip("/"): module.get("url", "") for module in named}
