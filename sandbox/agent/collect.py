"""What a run did to `/work`: the files that come out of it.

Collecting happens when every other process of the sandbox is dead, so nothing moves while it looks;
it opens each name below its directory's descriptor and never follows a link all the same.
"""

from __future__ import annotations

import os
import stat

from sandbox.agent.walk import Base, Beginning, Found, walk
from sandbox.paths import REFUSALS, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Collected:
    """What a run did to its workspace."""

    def __init__(self) -> None:
        self.changed: dict[str, bytes] = {}
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
    before: Mapping[str, bytes],
    limits: Mapping[str, float],
    base: Base | None = None,
    removed: Iterable[str] = (),
) -> Collected:
    """Compare `work` with what was written there, over a `base` without what was `removed`: new and
    changed regular files, within limits.
    """
    result = Collected()
    kept: dict[str, int] = {}
    places: set[str] | None = None
    if before or base is not None:
        beginning = Beginning(before, removed)
        kept, places = _look_for_deleted(work, before, base, beginning, result), beginning.places
    total = sum(kept.values())
    for found in walk(work, Beginning(before, removed), base, places):
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
            data = _read(found)
        except OSError as error:
            result.refuse(found.path, f"not to be read: {error.strerror}")
            continue
        if data != before.get(found.path):
            result.changed[found.path] = data
            kept[found.path], total = found.size, grown
    if result.more_refused:
        result.refused.append(f"and {result.more_refused} more")
    return result


def _look_for_deleted(
    work: str,
    before: Mapping[str, bytes],
    base: Base | None,
    beginning: Beginning,
    result: Collected,
) -> dict[str, int]:
    """Note which files are gone; returns the sizes of those that were written and are there."""
    present = {found.path for found in walk(work, beginning, base) if stat.S_ISREG(found.mode)}
    result.deleted = sorted([*(before.keys() - present), *beginning.gone])
    if beginning.more_gone:
        result.refuse(f"{beginning.more_gone} paths", "deleted, more than can be reported")
    return {path: len(data) for path, data in before.items() if path in present}


def _refusal(found: Found, file_bytes: float) -> str | None:
    why = fault(found.path)
    if why is not None:
        return why
    if not stat.S_ISREG(found.mode):
        return _KINDS.get(stat.S_IFMT(found.mode), "not a regular file")
    if found.size > file_bytes:
        return f"{found.size} bytes, more than {file_bytes:.0f}"
    return None


def _read(found: Found) -> bytes:
    with os.fdopen(found.open(), "rb") as file:
        return file.read(found.size)
