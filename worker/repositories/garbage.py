"""Garbage: mirrors and layers that are old, or beyond the operator's bytes: the longest unused
first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import structlog

from worker.repositories.places import BYTES_FILE, LAYER, SETUP, TOP, Places

KEPT_DAYS = 30
_DAY_NS = 24 * 3600 * 10**9
log = structlog.get_logger("worker.repositories.garbage")


class _Kept(NamedTuple):
    """A mirror or a layer: when it was used, and what it takes. Packs are their mirror's."""

    used: int
    path: Path
    taken: int


def collect(places: Places, most_bytes: int) -> None:
    """Remove what takes more than `most_bytes` together, what no job has used for `KEPT_DAYS`, and
    what processes that are gone left.

    What a process uses stays, over the bound if it must. Blocks: for a thread.
    """
    places.sweep()
    kept = sorted(_all(places))
    old = time.time_ns() - KEPT_DAYS * _DAY_NS
    taken = sum(each.taken for each in kept)
    for each in kept:
        if taken <= most_bytes and each.used > old:
            return
        if places.remove(each.path):
            taken -= each.taken
            log.info("removed", repository=each.path.name, bytes=each.taken)
    if taken > most_bytes:
        log.warning(
            "repositories in use take more than they may",
            bytes=taken,
            most=most_bytes,
            advice="raise FETTLE_REPO_CACHE_BYTES, or lower FETTLE_CONCURRENCY",
        )


def _all(places: Places) -> Iterator[_Kept]:
    """Layers that a sandbox has besides are not ours."""
    layers = (each for kind in (LAYER, SETUP) for each in places.layers.glob(f"{kind}*"))
    for path in (*layers, *places.mirrors.iterdir()):
        with suppress(OSError):  # another process has just removed it
            yield _Kept(path.stat().st_mtime_ns, path, _bytes(path))


def _bytes(path: Path) -> int:
    for own in (".git", TOP):
        if (noted := path / own / BYTES_FILE).exists():
            return int(noted.read_text())
    return sum(each.lstat().st_blocks * 512 for each in path.rglob("*"))
