"""Branches, tags and commits: names in requests, and the refs and the history of a mirror.

A fetch with a depth also cuts the history that a repository already has: git writes the new
boundary into the file `shallow`, even if the repository has the commits before it. `git describe`
of an older commit would then find no tag, and a repack would remove the commits.

A host may move, delete or rename a tag. If it replaces `v1` by `v1/rc`, both cannot exist at once.
So a mirror first deletes the tags that differ from the tags of the host, and then fetches. It has
only the tags of commits that it has.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NewType, TypeGuard

from worker.repositories.errors import RepositoryRefused
from worker.repositories.git import Git, GitFailed

COMMIT: Final = re.compile(r"[0-9a-f]{40}")
HEX: Final = re.compile(r"[0-9a-f]{7,40}")
HEAD: Final = "HEAD"
BRANCHES: Final = "refs/heads/"
LONGEST = 200
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|^[-./]|[./]$|^@$")
"""Names that `git check-ref-format` refuses, and names that look like an option."""


FullName = NewType("FullName", str)
"""A full name of a ref that git allows. Git gets no other names of refs from outside: a line end,
NUL or a leading dash could be a command or an option for git."""


def is_full_name(name: str) -> TypeGuard[FullName]:
    """Whether git accepts this as the full name of a ref (`git check-ref-format`)."""
    return name.startswith("refs/") and not _FORBIDDEN.search(name)


def candidates(ref: str | None) -> tuple[str, ...]:
    """The full names that a ref may mean, in the order of precedence. If `ref` is None, HEAD
    counts. Raises RepositoryRefused for an invalid name.
    """
    if ref is None or ref == HEAD:
        return (HEAD,)
    if not ref or len(ref) > LONGEST or _FORBIDDEN.search(ref) or not ref.isprintable():
        raise RepositoryRefused(f"{ref[:80]!r} is no name of a branch, a tag or a commit")
    if ref.startswith("refs/"):
        return (ref,)
    return (f"{BRANCHES}{ref}", f"refs/tags/{ref}")


@asynccontextmanager
async def keep_history(git: Git) -> AsyncIterator[None]:
    """A fetch in this context does not cut the mirror's history."""
    file = git.folder / "shallow"
    before = await asyncio.to_thread(_read_boundary, file)
    yield
    after = await asyncio.to_thread(_read_boundary, file)
    if new := sorted(after - before):
        names = "".join(f"{oid}\n" for oid in new).encode()
        parents = dict(_parents(await git.run("cat-file", "--batch", stdin=names)))
        existing = await existing_objects(git, {oid for oids in parents.values() for oid in oids})
        uncut = {oid for oid, oids in parents.items() if oids and existing.issuperset(oids)}
        await asyncio.to_thread(_write_boundary, file, after - uncut)


_NO_ANCESTOR, _UNKNOWN = 1, 128
"""The exit codes of `git merge-base` if there is no such commit, and if a commit is unknown."""


async def is_ancestor(git: Git, commit: str, head: str) -> bool:
    """Whether `head` is the commit or follows it, by the history that the repository has."""
    try:
        await git.run("merge-base", "--is-ancestor", commit, head)
    except GitFailed as error:
        if error.code not in (_NO_ANCESTOR, _UNKNOWN):
            raise
        return False
    return True


async def merge_base(git: Git, commit: str, head: str) -> str | None:
    """The last commit that both commits follow; None if the repository's history has none."""
    output = await git.run("merge-base", commit, head, ends=(0, _NO_ANCESTOR))
    return output.decode().strip() or None


async def existing_objects(git: Git, oids: set[str]) -> set[str]:
    """The ids among `oids` that name objects of the mirror."""
    if not oids:
        return set()
    names = "".join(f"{oid}\n" for oid in sorted(oids)).encode()
    rows = (await git.run("cat-file", "--batch-check", stdin=names)).decode().split("\n")[:-1]
    return {oid for oid, _, kind in (row.partition(" ") for row in rows) if kind != "missing"}


def _parents(batch: bytes) -> Iterator[tuple[str, list[str]]]:
    """Each commit with its parents, from the output of `git cat-file --batch`; `git log` would omit
    the parents of a boundary."""
    while batch:
        head, _, content = batch.partition(b"\n")
        oid, _, size = head.decode().split()
        commit, batch = content[: int(size)], content[int(size) + 1 :]
        headers = commit.partition(b"\n\n")[0].decode(errors="replace").split("\n")
        yield oid, [line.removeprefix("parent ") for line in headers if line.startswith("parent ")]


def _read_boundary(file: Path) -> set[str]:
    return set(file.read_text().split()) if file.exists() else set()


def _write_boundary(file: Path, oids: set[str]) -> None:
    if not oids:
        file.unlink()
        return
    new = file.with_name("shallow.new")
    new.write_text("".join(f"{oid}\n" for oid in sorted(oids)))
    new.replace(file)


TAG_PREFIX = "refs/tags/"
TAG_PATTERN = f"{TAG_PREFIX}*"
"""A pattern for `git ls-remote`: a star also matches slashes."""
_PEELED = "^{}"


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of a host."""

    objects: Mapping[str, str]
    """The object of each tag, by its full name."""
    peeled: Mapping[str, str]
    """The commit of each annotated tag."""

    def commit(self, name: str) -> str:
        """The object of the tag, usually a commit."""
        return self.peeled.get(name, self.objects[name])


def listed_tags(objects: Mapping[str, str]) -> Tags:
    """The tags in a list of refs by full name, as `git ls-remote` gives it."""
    tags = {name: oid for name, oid in objects.items() if name.startswith(TAG_PREFIX)}
    peeled = {
        name.removesuffix(_PEELED): oid for name, oid in tags.items() if name.endswith(_PEELED)
    }
    return Tags({name: oid for name, oid in tags.items() if is_full_name(name)}, peeled)


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between the tags of a mirror and of its host, by full names."""

    outdated: tuple[str, ...]
    """Tags of the mirror that the host lacks, or has at another object."""
    missing: tuple[str, ...]
    """Tags of the host for commits that the mirror has."""

    def __bool__(self) -> bool:
        return bool(self.outdated or self.missing)


async def compare(git: Git, tags: Tags) -> Difference:
    """The difference between the mirror's tags and these tags of its host."""
    mirrored = await _mirrored(git)
    outdated = (name for name, oid in mirrored.items() if tags.objects.get(name) != oid)
    missing = [name for name, oid in tags.objects.items() if mirrored.get(name) != oid]
    commits = await existing_objects(git, {tags.commit(name) for name in missing})
    return Difference(
        tuple(outdated), tuple(name for name in missing if tags.commit(name) in commits)
    )


async def delete(git: Git, names: Sequence[str]) -> None:
    """Delete tags of the mirror, by their full names."""
    deletions = "".join(f"delete {name}\0\0" for name in names)
    await git.run("update-ref", "--stdin", "-z", stdin=os.fsencode(deletions))


async def _mirrored(git: Git) -> dict[str, str]:
    rows = os.fsdecode(
        await git.run("for-each-ref", "--format=%(objectname) %(refname)", TAG_PREFIX)
    ).split("\n")[:-1]
    return {name: oid for oid, _, name in (row.partition(" ") for row in rows)}
