"""What a run did to `/work`: the files and symbolic links that come out of it.

Collecting happens when every other process of the sandbox is dead, so nothing moves while it looks;
it opens each name below its directory's descriptor and never follows a link all the same.
"""

from __future__ import annotations

import os
import stat

from sandbox.agent.walk import Base, Beginning, Found, walk
from sandbox.agent.write import Written
from sandbox.paths import REFUSALS, fault, target_fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Collected:
    """What a run did to its workspace."""

    def __init__(self) -> None:
        self.changed: dict[str, bytes] = {}
        self.executable: list[str] = []
        self.links: dict[str, str] = {}
        self.deleted: list[str] = []
        self.refused: list[str] = []
        self.more_refused = 0

    def refuse(self, path: str, why: str) -> None:
        """Note that `path` is not collected, and why."""
        if len(self.refused) < REFUSALS:
            self.refused.append(f"{ascii(path)[1:-1][:200]}: {why}")
        else:
            self.more_refused += 1


def collect(
    work: str,
    before: Written,
    limits: Mapping[str, float],
    base: Base | None = None,
    removed: Iterable[str] = (),
) -> Collected:
    """Compare `work` with what was written there, over a `base` without what was `removed`: new and
    changed regular files and symbolic links, within limits.
    """
    result = Collected()
    kept: dict[str, int] = {}
    places: set[str] | None = None
    if before.paths or base is not None:
        beginning = Beginning(before.paths, removed)
        kept, places = _look_for_deleted(work, before, base, beginning, result), beginning.places
    total = sum(kept.values())
    # What was there before comes first: however many files are new, its changes are collected.
    for found in _old_first(work, before, base, removed, places):
        if found.is_unchanged():
            continue
        grown = total - kept.get(found.path, 0) + found.size
        why = _refusal(found, limits["file_bytes"])
        # Asked before it is read: a thousand sparse files are nothing to make and much to read.
        if why is None and grown > limits["workspace_bytes"]:
            why = f"the workspace would be larger than {limits['workspace_bytes']:.0f} bytes"
        elif why is None and found.path not in kept and len(kept) >= limits["workspace_files"]:
            why = f"the workspace would have more than {limits['workspace_files']:.0f} files"
        if why is not None:
            result.refuse(found.path, why)
            continue
        try:
            if _take(found, before, result):
                kept[found.path], total = found.size, grown
        except OSError as error:
            result.refuse(found.path, f"not to be read: {error.strerror}")
    if result.more_refused:
        result.refused.append(f"and {result.more_refused} more")
    return result


def _old_first(
    work: str,
    before: Written,
    base: Base | None,
    removed: Iterable[str],
    places: set[str] | None,
) -> Iterator[Found]:
    for old in (True, False):
        for found in walk(work, Beginning(before.paths, removed), base, places):
            if old == (found.path in before.paths or found.layers is not None):
                yield found


def _take(found: Found, before: Written, result: Collected) -> bool:
    """Whether it is new, or not as it was written; it is in the result then."""
    path = found.path
    if stat.S_ISLNK(found.mode):
        target = found.target()
        if target == before.links.get(path):
            return False
        if (why := target_fault(target)) is not None:
            result.refuse(path, why)
            return False
        result.links[path] = target
        return True
    data = _read(found)
    if data == before.files.get(path) and found.is_executable == before.is_executable(path):
        return False
    result.changed[path] = data
    if found.is_executable:
        result.executable.append(path)
    return True


def _look_for_deleted(
    work: str,
    before: Written,
    base: Base | None,
    beginning: Beginning,
    result: Collected,
) -> dict[str, int]:
    """Note which files are gone; returns the sizes of those that were written and are there."""
    present = {found.path for found in walk(work, beginning, base) if found.is_entry}
    result.deleted = sorted([*(before.paths - present), *beginning.gone])
    if beginning.more_gone:
        result.refuse(f"{beginning.more_gone} paths", "deleted, more than can be reported")
    sizes = {path: len(data) for path, data in (*before.files.items(), *before.links.items())}
    return {path: size for path, size in sizes.items() if path in present}


def _refusal(found: Found, file_bytes: float) -> str | None:
    why = fault(found.path)
    if why is not None:
        return why
    if not found.is_entry:
        return _KINDS.get(stat.S_IFMT(found.mode), "not a regular file")
    if found.size > file_bytes:
        return f"{found.size} bytes, more than {file_bytes:.0f}"
    return None


def _read(found: Found) -> bytes:
    with os.fdopen(found.open(), "rb") as file:
        return file.read(found.size)
