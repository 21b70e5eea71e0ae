"""Which checkpoints of a thread may go, and the commands that drop them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from itertools import dropwhile
from typing import Any

from worker.checkpoints.keys import ThreadKeys, member, parse_member, parse_value_name
from worker.checkpoints.reader import Outline
from worker.checkpoints.records import Typed
from worker.checkpoints.writing import Command


def superseded(outlines: Iterable[Outline], load: Callable[[Typed], Any]) -> list[Outline]:
    """All but the newest checkpoint of each namespace and what that one still needs.

    It needs the ancestors back to the last snapshot of each delta channel, whose value is rebuilt
    from their writes. `outlines` come newest of each namespace first. Pending writes newer than
    the newest checkpoint stay: their checkpoint may be on its way.
    """
    by_namespace: defaultdict[str, list[Outline]] = defaultdict(list)
    for outline in outlines:
        by_namespace[parse_member(outline.name)[0]].append(outline)
    gone: list[Outline] = []
    for namespace, line in by_namespace.items():
        settled = list(dropwhile(lambda outline: outline.checkpoint is None, line))
        if settled:
            kept = _needed(namespace, settled, load)
            gone += [outline for outline in settled if outline.name not in kept]
    return gone


def _needed(namespace: str, line: list[Outline], load: Callable[[Typed], Any]) -> set[str]:
    """Names of the first of `line` and of its ancestors back to its delta channels' snapshots."""
    by_name = {outline.name: outline for outline in line}
    current: Outline | None = line[0]
    open_channels = _unsaved_deltas(line[0], load)
    needed: set[str] = set()
    while current is not None:
        needed.add(current.name)
        open_channels -= {parse_value_name(name) for name in current.value_names}
        if not open_channels or current.parent_id is None:
            break
        current = by_name.get(member(namespace, current.parent_id))
    return needed


def _unsaved_deltas(newest: Outline, load: Callable[[Typed], Any]) -> set[str]:
    """Delta channels with updates that no snapshot holds: LangGraph counts them in the metadata."""
    if newest.checkpoint is None or newest.metadata is None:
        return set()
    counters = load(newest.metadata).get("counters_since_delta_snapshot", {})
    return set(counters) & set(load(newest.checkpoint)["channel_versions"])


def remove(keys: ThreadKeys, names: Collection[str]) -> list[Command]:
    """Commands that remove checkpoints by name, and all values of their namespaces.

    They take those names out of the index, not the index itself: what came in since they were
    read stays findable.
    """
    if not names:
        return []
    namespaces = sorted({parse_member(name)[0] for name in names})
    doomed = [*map(keys.checkpoint, names), *map(keys.values, namespaces)]
    return [("ZREM", keys.index, *names), ("UNLINK", *doomed)]


def drop(keys: ThreadKeys, outlines: Iterable[Outline], gone: Collection[Outline]) -> list[Command]:
    """Commands that remove `gone`, and the values that no other of `outlines` holds."""
    if not gone:
        return []
    gone_names = {outline.name for outline in gone}
    held: defaultdict[str, set[str]] = defaultdict(set)
    loose: defaultdict[str, set[str]] = defaultdict(set)
    for outline in outlines:
        side = loose if outline.name in gone_names else held
        side[parse_member(outline.name)[0]] |= outline.value_names
    commands: list[Command] = [
        ("ZREM", keys.index, *sorted(gone_names)),
        ("UNLINK", *(keys.checkpoint(name) for name in sorted(gone_names))),
    ]
    for namespace, names in loose.items():
        if unused := names - held[namespace]:
            commands.append(("HDEL", keys.values(namespace), *sorted(unused)))
    return commands
