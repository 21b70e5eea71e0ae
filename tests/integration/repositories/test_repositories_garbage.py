"""The size of the store of repositories is limited, and the store keeps the entries in use."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from pathlib import Path

from support.servers.git_repositories import Repository

ENOUGH = 10**12
NOTHING = 1


def stored_names(folder: Path) -> dict[str, set[str]]:
    return {
        name: {path.name for path in (folder / name).iterdir()}
        for name in ("mirrors", "layers", "making")
    }


async def make_bundle(project: Repository, number: int) -> bytes:
    """A bundle of one commit; all these bundles have the same size."""
    if number:
        project.git("update-ref", "-d", "HEAD")
    project.commit({"a.bin": os.urandom(1_000_000), "n.txt": b"%d\n" % number})
    return project.bundle()


async def test_unused_entries_are_removed_when_space_is_needed(
    project: Repository, uploads
) -> None:
    bundles = [await make_bundle(project, number) for number in range(3)]
    first = await uploads.base(bundles[0], repo_cache_bytes=ENOUGH)
    second = await uploads.base(bundles[1], repo_cache_bytes=ENOUGH)
    assert (
        len(stored_names(uploads.folder)["layers"])
        == len(stored_names(uploads.folder)["mirrors"])
        == 2
    )
    first.release()
    (uploads.folder / "layers" / "trial").mkdir()  # a tree of the sandbox
    third = await uploads.base(bundles[2], repo_cache_bytes=NOTHING)
    remaining_names = stored_names(uploads.folder)
    assert remaining_names["layers"] == {second.layer, third.layer, "trial"}
    assert remaining_names["mirrors"] == {second.mirror.folder.name, third.mirror.folder.name}
    assert remaining_names["making"] == set()
    assert await second.read("n.txt") == b"1\n"
    assert (await second.patch({"n.txt": b"x\n"}, frozenset())).files == 1


async def test_the_least_recently_used_entry_is_removed_first(project: Repository, uploads) -> None:
    bundles = [await make_bundle(project, number) for number in range(3)]
    for bundle in bundles[:2]:
        (await uploads.base(bundle, repo_cache_bytes=ENOUGH)).release()
    again = await uploads.base(bundles[0], repo_cache_bytes=ENOUGH)  # after the second bundle
    again.release()
    used_bytes = sum(
        path.lstat().st_blocks * 512 for path in uploads.folder.rglob("*") if path.is_file()
    )
    third = await uploads.base(bundles[2], repo_cache_bytes=used_bytes * 5 // 4)
    assert stored_names(uploads.folder)["layers"] == {again.layer, third.layer}


async def test_entries_unused_for_a_month_are_removed(project: Repository, uploads) -> None:
    bundles = [await make_bundle(project, number) for number in range(4)]
    old, used, recent = [await uploads.base(bundle) for bundle in bundles[:3]]
    old.release()
    recent.release()
    for base, days in ((old, 31), (used, 31), (recent, 29)):
        at = time.time() - days * 24 * 3600
        os.utime(uploads.layer(base), (at, at))
        os.utime(base.mirror.folder, (at, at))
    new = await uploads.base(bundles[3], repo_cache_bytes=ENOUGH)
    remaining_names = stored_names(uploads.folder)
    assert remaining_names["layers"] == {used.layer, recent.layer, new.layer}
    assert remaining_names["mirrors"] == {base.mirror.folder.name for base in (used, recent, new)}


async def test_a_collected_base_does_not_use_its_layer(project: Repository, uploads) -> None:
    base = await uploads.base(await make_bundle(project, 0))
    layer = base.layer
    del base
    gc.collect()
    await uploads.base(await make_bundle(project, 1), repo_cache_bytes=NOTHING)
    assert layer not in stored_names(uploads.folder)["layers"]


async def test_a_removed_layer_is_made_again(project: Repository, uploads) -> None:
    bundle = await make_bundle(project, 0)
    first = await uploads.base(bundle)
    first.release()
    await uploads.base(await make_bundle(project, 1), repo_cache_bytes=NOTHING)
    assert first.layer not in stored_names(uploads.folder)["layers"]
    again = await uploads.base(bundle)
    assert (again.layer, await again.read("n.txt")) == (first.layer, b"0\n")
    assert (uploads.layer(again) / "n.txt").read_bytes() == b"0\n"


async def test_concurrent_jobs_and_garbage_collection(project: Repository, uploads) -> None:
    """Each job gets a complete layer, although the other jobs try to remove it."""
    bundles = [await make_bundle(project, number) for number in range(3)]

    async def work(number: int) -> None:
        for _ in range(6):
            base = await uploads.base(bundles[number % 3], repo_cache_bytes=NOTHING)
            assert (uploads.layer(base) / "n.txt").read_bytes() == b"%d\n" % (number % 3)
            assert await base.read("n.txt") == b"%d\n" % (number % 3)
            base.release()

    await asyncio.gather(*(work(number) for number in range(9)))
    assert stored_names(uploads.folder)["making"] == set()
