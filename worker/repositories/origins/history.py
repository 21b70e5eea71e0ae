"""History: how far back the commits of a mirror go.

A fetch with a depth also cuts the history that a repository already has: git writes the new
boundary into the file `shallow`, even if the repository has the commits before it. `git describe`
of an older commit would then find no tag, and a repack would remove the commits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from worker.repositories.git import Git


@asynccontextmanager
async def keep_history(git: Git) -> AsyncIterator[None]:
    """A fetch in this context cuts no history that the mirror has."""
    file = git.folder / "shallow"
    before = await asyncio.to_thread(_read, file)
    yield
    after = await asyncio.to_thread(_read, file)
    if new := sorted(after - before):
        names = "".join(f"{oid}\n" for oid in new).encode()
        parents = dict(_parents(await git.run("cat-file", "--batch", stdin=names)))
        existing = await existing_objects(git, {oid for oids in parents.values() for oid in oids})
        uncut = {oid for oid, oids in parents.items() if oids and existing.issuperset(oids)}
        await asyncio.to_thread(_write, file, after - uncut)


async def existing_objects(git: Git, oids: set[str]) -> set[str]:
    """The ids among `oids` that name objects of the mirror."""
    if not oids:
        return set()
    names = "".join(f"{oid}\n" for oid in sorted(oids)).encode()
    rows = (await git.run("cat-file", "--batch-check", stdin=names)).decode().split("\n")[:-1]
    return {oid for oid, _, kind in (row.partition(" ") for row in rows) if kind != "missing"}


def _parents(batch: bytes) -> Iterator[tuple[str, list[str]]]:
    """Each commit with its parents, from the output of `git cat-file --batch`. `git log` would
    leave out the parents of a boundary."""
    while batch:
        head, _, content = batch.partition(b"\n")
        oid, _, size = head.decode().split()
        commit, batch = content[: int(size)], content[int(size) + 1 :]
        headers = commit.partition(b"\n\n")[0].decode(errors="replace").split("\n")
        yield oid, [line.removeprefix("parent ") for line in headers if line.startswith("parent ")]


def _read(file: Path) -> set[str]:
    return set(file.read_text().split()) if file.exists() else set()


def _write(file: Path, oids: set[str]) -> None:
    if not oids:
        file.unlink()
        return
    new = file.with_name("shallow.new")
    new.write_text("".join(f"{oid}\n" for oid in sorted(oids)))
    new.replace(file)
