"""Bundles: an upload of a repository, unpacked into a bare repository. The header is read here."""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import dataclass
from typing import Final

from sandbox.protocol import MIB
from worker.repositories.errors import RepositoryRefused
from worker.repositories.git import FSCK_IGNORED, Git, GitFailed, GitTooLong, GitTooMuch
from worker.repositories.origins.refs import FullName, is_full_name

MOST_REFS = 10_000
HEADER_BYTES = 2 * MIB
"""Both bound what is read of a header, whose bytes are a stranger's."""
_SIGNATURES: Final = (b"# v2 git bundle\n", b"# v3 git bundle\n")
_LINE = re.compile(rb"([0-9a-f]{40}) (\S.*)")
_OTHER_HEAD = re.compile(rb"[0-9a-f]{40} (main-worktree|worktrees/[^/\x00-\x20\x7f]+)/HEAD")
"""HEAD of another work tree, which `git bundle create FILE --all` lists, too: not a ref."""
_KEPT = ("refs/heads/", "refs/tags/")
HEAD = FullName("refs/fettle/HEAD")
_AGAIN = "make it again: git bundle create FILE --all"


@dataclass(frozen=True, slots=True)
class Bundle:
    """`refs` are objects by full name, `head` is that of HEAD, if the bundle has it; `pack` begins
    at this byte."""

    refs: dict[FullName, str]
    head: str | None
    pack: int


def read(content: bytes) -> Bundle:
    """The header. Raises RepositoryRefused."""
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
        elif (found := _LINE.fullmatch(line)) is None:
            raise RepositoryRefused(f"the git bundle has a header that cannot be read; {_AGAIN}")
        elif found[2] == b"HEAD":
            head = found[1].decode()
        else:
            refs[_full_name(os.fsdecode(found[2]))] = found[1].decode()
    if not refs and head is None:
        raise RepositoryRefused("the repository is empty: commit something first")
    return Bundle(refs, head, len(header) + len(end))


def _full_name(name: str) -> FullName:
    if not is_full_name(name):
        raise RepositoryRefused(
            f"the git bundle has a ref that will not do: git allows no name {name[:80]!r}"
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
    bundle = read(content)
    ignored = ",".join(f"{fault}=ignore" for fault in FSCK_IGNORED)
    try:
        await git.run("index-pack", "--stdin", f"--strict={ignored}", stdin=content[bundle.pack :])
    except (GitTooLong, GitTooMuch) as error:
        raise RepositoryRefused(f"the git bundle is too large to unpack: {error.said}") from None
    except GitFailed as error:
        raise RepositoryRefused(_unfit(error.said)) from None
    refs = {name: oid for name, oid in bundle.refs.items() if name.startswith(_KEPT)}
    if bundle.head is not None:
        refs[HEAD] = bundle.head
    lines = "".join(f"create {name}\0{oid}\0" for name, oid in refs.items())
    try:
        await git.run("update-ref", "-z", "--stdin", stdin=os.fsencode(lines))
    except GitFailed as error:
        raise RepositoryRefused(
            f"the git bundle has a ref that will not do: {error.said}"
        ) from None


def _unfit(said: str) -> str:
    if "did not receive expected object" in said or "could not read parent" in said.lower():
        return (
            "the git bundle lacks objects that its commits name: it may be of a shallow clone "
            "(git fetch --unshallow) or of a partial one; then make it again"
        )
    return f"the git bundle cannot be unpacked: {said}"
