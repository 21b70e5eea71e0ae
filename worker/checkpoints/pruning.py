"""Which checkpoints of a thread may go, and the commands that drop them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import dropwhile
from typing import Any

from worker.checkpoints.keys import ThreadKeys, member, parse_member, parse_value_name
from worker.checkpoints.reader import Outline
from worker.checkpoints.records import Typed
from worker.checkpoints.writing import Command

ARGUMENTS = 1_000


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


def remove(keys: ThreadKeys, names: list[str], most: int) -> tuple[list[Command], list[str]]:
    """Commands that remove the last `most` of a thread's checkpoints, and the names left.

    A namespace's values go with the last of its checkpoints. Names are taken out of the index, not
    the index itself: what came in since they were read stays findable.
    """
    going, left = names[-most:], names[:-most]
    emptied = {parse_member(name)[0] for name in going} - {parse_member(name)[0] for name in left}
    doomed = [*map(keys.checkpoint, going), *map(keys.values, sorted(emptied))]
    return [*_each("ZREM", keys.index, going), *_each("UNLINK", None, doomed)], left


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
    commands = [
        *_each("ZREM", keys.index, sorted(gone_names)),
        *_each("UNLINK", None, [keys.checkpoint(name) for name in sorted(gone_names)]),
    ]
    for namespace, names in loose.items():
        commands += _each("HDEL", keys.values(namespace), sorted(names - held[namespace]))
    return commands


def _each(verb: str, key: str | None, arguments: list[str]) -> Iterator[Command]:
    """One command for as many arguments as a Lua script can unpack (some 8,000) with room."""
    head = (verb,) if key is None else (verb, key)
    for start in range(0, len(arguments), ARGUMENTS):
        yield (*head, *arguments[start : start + ARGUMENTS])
