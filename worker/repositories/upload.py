"""Upload: a repository that came with the job, as a git bundle; unpacked into a bare repository."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from sandbox.protocol import MIB
from settings.repositories import RepositorySettings
from worker.repositories.errors import RepositoryRefused, printable
from worker.repositories.git import FSCK_IGNORED, Git, GitFailed, GitTooLong, GitTooMuch
from worker.repositories.mirrors import Resolved
from worker.repositories.refs import HEAD, HEX, FullName, Tags, candidates, is_full_name

MOST_REFS = 10_000
HEADER_BYTES = 2 * MIB
"""The most bytes of a header. An upload may have any bytes."""
_SIGNATURES: Final = (b"# v2 git bundle\n", b"# v3 git bundle\n")
_LINE = re.compile(rb"([0-9a-f]{40}) (\S.*)")
_OTHER_HEAD = re.compile(rb"[0-9a-f]{40} (main-worktree|worktrees/[^/\x00-\x20\x7f]+)/HEAD")
"""HEAD of another work tree, which `git bundle create FILE --all` lists, too: not a ref."""
_KEPT = ("refs/heads/", "refs/tags/")
BUNDLE_HEAD = FullName("refs/fettle/HEAD")
_AGAIN = "make it again: git bundle create FILE --all"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The header of a bundle."""

    refs: dict[FullName, str]
    """Object ids by full name."""
    head: str | None
    """The object id of HEAD, if the bundle has it."""
    pack: int
    """The offset of the pack in bytes."""


def read_header(content: bytes) -> Bundle:
    """Parse the header. Raises RepositoryRefused."""
    if not content.startswith(_SIGNATURES):
        raise RepositoryRefused(f"the upload is no git bundle; {_AGAIN}")
    header, end, _ = content[:HEADER_BYTES].partition(b"\n\n")
    if header.count(b"\n") > MOST_REFS or (not end and len(content) > HEADER_BYTES):
        raise RepositoryRefused(
            f"the git bundle has more than {MOST_REFS} refs, or their names take more than "
            f"{HEADER_BYTES} bytes; name fewer"
        )
    if not end:
        raise RepositoryRefused(f"the git bundle is cut off in its header; {_AGAIN}")
    refs: dict[FullName, str] = {}
    head = None
    for line in itertools.filterfalse(_OTHER_HEAD.fullmatch, header.split(b"\n")[1:]):
        if line.startswith(b"-"):
            raise RepositoryRefused(
                f"the git bundle needs commits that are not in it; {_AGAIN}, without exclusions"
            )
        if line.startswith(b"@"):
            _check_capability(line)
        elif (match := _LINE.fullmatch(line)) is None:
            raise RepositoryRefused(f"the git bundle has an invalid header; {_AGAIN}")
        elif match[2] == b"HEAD":
            head = match[1].decode()
        else:
            refs[_full_name(os.fsdecode(match[2]))] = match[1].decode()
    if not refs and head is None:
        raise RepositoryRefused("the repository is empty: commit something first")
    return Bundle(refs, head, len(header) + len(end))


def _full_name(name: str) -> FullName:
    if not is_full_name(name):
        raise RepositoryRefused(
            f"the git bundle has an invalid ref: git does not allow the name {name[:80]!r}"
        )
    return name


def _check_capability(line: bytes) -> None:
    if line.startswith(b"@object-format=") and line != b"@object-format=sha1":
        raise RepositoryRefused("the repository names its objects by SHA-256; only SHA-1 is known")
    if line.startswith(b"@filter="):
        raise RepositoryRefused(
            f"the git bundle lacks objects: it is of a partial clone; {_AGAIN} in a full clone"
        )


async def unpack(git: Git, content: bytes) -> None:
    """Put the bundle's objects and refs into an empty repository. Raises RepositoryRefused."""
    bundle = read_header(content)
    ignored = ",".join(f"{fault}=ignore" for fault in FSCK_IGNORED)
    try:
        await git.run("index-pack", "--stdin", f"--strict={ignored}", stdin=content[bundle.pack :])
    except (GitTooLong, GitTooMuch) as error:
        raise RepositoryRefused(f"the git bundle is too large to unpack: {error.message}") from None
    except GitFailed as error:
        raise RepositoryRefused(_unpack_failure(error.message)) from None
    refs = {name: oid for name, oid in bundle.refs.items() if name.startswith(_KEPT)}
    if bundle.head is not None:
        refs[BUNDLE_HEAD] = bundle.head
    lines = "".join(f"create {name}\0{oid}\0" for name, oid in refs.items())
    try:
        await git.run("update-ref", "-z", "--stdin", stdin=os.fsencode(lines))
    except GitFailed as error:
        raise RepositoryRefused(f"the git bundle has an invalid ref: {error.message}") from None


def _unpack_failure(message: str) -> str:
    if "did not receive expected object" in message or "could not read parent" in message.lower():
        return (
            "the git bundle lacks objects that its commits name: it may be of a shallow clone "
            "(git fetch --unshallow) or of a partial one; then make it again"
        )
    return f"the git bundle cannot be unpacked: {message}"


Upload = Callable[[], Awaitable[bytes]]
"""Loads the bundle. Called only if this machine lacks its mirror."""
_NAMES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class UploadOrigin:
    """Implements Origin."""

    digest: str
    """The sha256 of the bundle."""
    upload: Upload
    settings: RepositorySettings

    @property
    def name(self) -> str:
        """See Origin."""
        return f"upload-{self.digest[:40]}"

    async def fill(self, git: Git) -> None:
        """See Origin."""
        content = await self.upload()
        if len(content) > self.settings.repo_bytes:
            raise RepositoryRefused(
                f"the git bundle has {len(content)} bytes; a repository has at most "
                f"{self.settings.repo_bytes} (FETTLE_REPO_BYTES)"
            )
        await unpack(git, content)

    async def resolve(self, git: Git, ref: str | None) -> Resolved:
        """See Origin."""
        names = candidates(ref)
        if ref is None or names == (HEAD,):
            return Resolved(await self._head(git))
        for name in (*names, *([ref] if HEX.fullmatch(ref) else [])):
            if (commit := await _commit(git, name)) is not None:
                return Resolved(commit)
        raise RepositoryRefused(
            f"the upload has no branch, tag or commit {ref!r}; it has {await _names(git)}"
        )

    async def has_commit(self, git: Git, commit: str, tags: Tags | None) -> bool:  # noqa: ARG002
        """See Origin. The tags of an upload do not change."""
        return await _commit(git, commit) == commit

    async def bring(self, git: Git, commit: str, tags: Tags | None) -> None:  # noqa: ARG002
        """See Origin. An upload never gets further commits."""
        raise RepositoryRefused(f"the upload has no commit {commit}")

    async def _head(self, git: Git) -> str:
        if (commit := await _commit(git, BUNDLE_HEAD)) is not None:
            return commit
        branches = await _listed(git, "--format=%(refname)", "refs/heads")
        if len(branches) == 1 and (commit := await _commit(git, branches[0])) is not None:
            return commit
        raise RepositoryRefused(
            f"the upload has no HEAD: name a branch, a tag or a commit of {await _names(git)}"
        )


async def _commit(git: Git, name: str) -> str | None:
    arguments = ("rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")
    try:
        return (await git.run(*arguments)).decode().strip()
    except GitFailed:
        return None


async def _names(git: Git) -> str:
    names = await _listed(git, "--format=%(refname:short)", "refs/heads", "refs/tags")
    more = ", ..." if len(names) > _NAMES_SHOWN else ""
    return ", ".join(map(printable, names[:_NAMES_SHOWN])) + more or "none"


async def _listed(git: Git, *arguments: str) -> list[str]:
    """The lines of `git for-each-ref`. A name may have bytes that are not UTF-8."""
    return os.fsdecode(await git.run("for-each-ref", *arguments)).split("\n")[:-1]
