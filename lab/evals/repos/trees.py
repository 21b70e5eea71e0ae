"""Patches over a task's base: the changed files, by git over a bare repository.

No file is checked out: `git apply` works on an index, and the differing files are read from its
objects.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.evals.repos.task import Base, RepoTask
from sandbox.protocol import MIB
from worker.repositories.git import Git, GitFailed
from worker.repositories.patches import Signature, identity

SECONDS = 300.0
FILE_BYTES = 2_048 * MIB
LINK, SUBMODULE = "120000", "160000"
_NONE = "0" * 40
_MERGER = Signature("Merge the first half", "A team <team@localhost>", 1_704_067_200)
_OBJECT = re.compile(r"[0-9a-f]{40}")
_TEST_FILE = re.compile(r"(^|/)(tests?[^/]*|[^/]*_tests?)\.py$")


class PatchRefused(Exception):
    """A patch cannot be applied. The message is git's."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The regular files that differ from a base, and the removed paths."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Patches:
    """Applies patches to commits of the bare repository that `opened` has made."""

    git: Git
    commit: str

    @classmethod
    async def opened(cls, folder: Path, base: Base) -> Patches:
        """A new repository at `folder` with the objects of the base. Raises PatchRefused."""
        git = Git(folder, SECONDS, FILE_BYTES)
        await git.run("init", "--quiet", "--bare", str(folder))
        try:
            if base.bundle is not None:
                return cls(git, await _unbundled(git, Path(base.bundle)))
            assert base.mirror is not None
            assert base.commit is not None
            alternates = folder / "objects" / "info" / "alternates"
            alternates.write_text(f"{base.mirror}/objects\n")  # its configuration is never read
            await git.run("cat-file", "-e", f"{base.commit}^{{commit}}")
        except GitFailed as error:
            raise PatchRefused(f"its repository cannot be read: {error.message}") from None
        return cls(git, base.commit)

    async def bundle(self, at: Path, mirror: Path) -> None:
        """Write the commit of a mirror with its history and the tags in that history, as the branch
        `main`. Later commits are left out, because they contain the fix.
        """
        await self.git.run("update-ref", "refs/heads/main", self.commit)
        tags = "".join(f"create {name} {content}\n" for name, content in _tags(mirror).items())
        with suppress(GitFailed):  # tags without their objects are dropped
            await self.git.run("update-ref", "--stdin", stdin=tags.encode())
        options = ("--merged", self.commit, "--format=%(refname)", "refs/tags")
        names = (await self.git.run("for-each-ref", *options)).decode().split()
        await self.git.run("bundle", "create", "--quiet", str(at), "refs/heads/main", *names)

    async def merge(self, patch: bytes, at: Path) -> str:
        """Write a bundle with the patch as a commit on top of the base; returns the commit. Raises
        PatchRefused."""
        async with self._patched([("the first job's patch", patch)]) as (git, tree):
            signing = replace(git, environment={**git.environment, **identity(_MERGER)})
            arguments = ("commit-tree", tree, "-p", self.commit, "-m", _MERGER.message)
            commit = (await signing.run(*arguments)).decode().strip()
            name = f"refs/heads/merged-{commit}"
            await git.run("update-ref", name, commit)
            await git.run("bundle", "create", "--quiet", str(at), name, "--tags")
        return commit

    async def date(self) -> str:
        """The time of the commit, in ISO 8601."""
        return (await self.git.run("log", "-1", "--format=%cI", self.commit)).decode().strip()

    async def shipped(self, task: RepoTask, *, fix: bool) -> Changed:
        """The hidden tests over the base, with the shipped fix or without it."""
        patches = [("fix.patch", task.fix)] * fix + [("test.patch", task.tests)]
        return await self._read(await self._entries(patches))

    async def judged(self, task: RepoTask, patch: bytes) -> Changed:
        """A job's patch with the hidden tests over it. The files of these tests, and the test files
        that the task's ids name, always come from the task, even if the job has changed them.
        """
        tests = await self._entries([("test.patch", task.tests)])
        test_paths = {
            test_id.partition("::")[0] for test_id in (*task.fail_to_pass, *task.pass_to_pass)
        }
        protected_paths = {
            path for path in test_paths if _TEST_FILE.search(path)
        }  # but not a module with doctests
        patched = await self._entries([("the job's patch", patch)])
        allowed = {path: entry for path, entry in patched.items() if path not in protected_paths}
        return await self._read({**allowed, **tests})

    async def _entries(self, patches: list[tuple[str, bytes]]) -> dict[str, tuple[str, str]]:
        """(mode, object) by path of the files that the patches change, applied in order."""
        async with self._patched(patches) as (git, tree):
            rows = await git.run("diff-tree", "-r", "-z", "--no-renames", self.commit, tree)
        parts = rows.decode(errors="surrogateescape").split("\0")
        entries = {}
        for head, path in zip(parts[::2], parts[1::2], strict=False):
            _, mode, _, content, _ = head.split(" ")
            entries[path] = (mode, content)
        return entries

    @asynccontextmanager
    async def _patched(self, patches: list[tuple[str, bytes]]) -> AsyncIterator[tuple[Git, str]]:
        """Git with an index of its own, and the tree of the base with these patches."""
        index = self.git.folder / f"index-{secrets.token_hex(8)}"
        git = replace(self.git, environment={"GIT_INDEX_FILE": str(index)})
        try:
            await git.run("read-tree", self.commit)
            for name, patch in patches:
                if patch.strip():
                    await _applied(git, name, patch)
            yield git, (await git.run("write-tree")).decode().strip()
        finally:
            index.unlink(missing_ok=True)

    async def _read(self, entries: Mapping[str, tuple[str, str]]) -> Changed:
        """The content of entries. A link or a submodule stays as in the base."""
        files, removed = {}, set()
        for path, (mode, content) in entries.items():
            if content == _NONE:
                removed.add(path)
            elif mode not in {LINK, SUBMODULE}:
                files[path] = await self.git.run("cat-file", "blob", content, most_bytes=FILE_BYTES)
        return Changed(files, frozenset(removed))


async def _unbundled(git: Git, bundle: Path) -> str:
    """The commit of the bundle's branch `main`, else of its only or first branch."""
    listing = (await git.run("bundle", "unbundle", str(bundle))).decode()
    heads = {name: commit for commit, _, name in (x.partition(" ") for x in listing.splitlines())}
    branches = [commit for name, commit in heads.items() if name.startswith("refs/heads/")]
    usual_heads = [heads[name] for name in ("refs/heads/main", "HEAD") if name in heads]
    if not (commits := [*usual_heads, *branches]):
        raise PatchRefused("its repository cannot be read: the bundle has no branch")
    return commits[0]


def _tags(mirror: Path) -> dict[str, str]:
    """The tags of a mirror by name, read as text: git itself does not work on it."""
    tags = {}
    packed = mirror / "packed-refs"
    for line in packed.read_text(errors="replace").splitlines() if packed.exists() else ():
        content, _, name = line.partition(" ")
        if name.startswith("refs/tags/"):
            tags[name] = content
    for path in (mirror / "refs" / "tags").rglob("*"):
        if path.is_file():
            tags[path.relative_to(mirror).as_posix()] = path.read_text(errors="replace").strip()
    return {name: content for name, content in tags.items() if _OBJECT.fullmatch(content)}


async def _applied(git: Git, name: str, patch: bytes) -> None:
    try:
        await git.run("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch)
    except GitFailed as error:
        raise PatchRefused(f"{name} does not apply: {error.message}") from None
