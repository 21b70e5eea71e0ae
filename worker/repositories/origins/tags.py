"""Tags of a mirror: the same names at the same objects as at its host.

A host may move, delete or rename a tag. If it replaces `v1` by `v1/rc`, both cannot exist at once.
So a mirror first deletes the tags that differ from the host's, and then fetches. It has only the
tags of commits that it has.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worker.repositories.git import Git
from worker.repositories.origins.history import existing_objects
from worker.repositories.origins.refs import is_full_name

PREFIX = "refs/tags/"
PATTERN = f"{PREFIX}*"
"""As `git ls-remote` takes it: a star also matches slashes."""
_PEELED = "^{}"


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of a host: the object of each full name, and the commit that an annotated tag leads
    to."""

    objects: Mapping[str, str]
    peeled: Mapping[str, str]

    def commit(self, name: str) -> str:
        """The object that the tag leads to, usually a commit."""
        return self.peeled.get(name, self.objects[name])


def listed_tags(objects: Mapping[str, str]) -> Tags:
    """The tags in a list of refs by full name, as `git ls-remote` gives it."""
    tags = {name: oid for name, oid in objects.items() if name.startswith(PREFIX)}
    peeled = {
        name.removesuffix(_PEELED): oid for name, oid in tags.items() if name.endswith(_PEELED)
    }
    return Tags({name: oid for name, oid in tags.items() if is_full_name(name)}, peeled)


@dataclass(frozen=True, slots=True)
class Difference:
    """Between the tags of a mirror and of its host, by full names. `outdated` tags of the mirror
    are not at the host, or are at another object there; `missing` tags of the host lead to commits
    that the mirror has."""

    outdated: tuple[str, ...]
    missing: tuple[str, ...]

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
        await git.run("for-each-ref", "--format=%(objectname) %(refname)", PREFIX)
    ).split("\n")[:-1]
    return {name: oid for oid, _, name in (row.partition(" ") for row in rows)}
