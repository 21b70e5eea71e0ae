"""Collects the changes of a run in `/work`: files, symbolic links, and deleted paths.

All other processes of the sandbox are dead by then, so no file changes meanwhile. Even so, a name
is opened relative to the descriptor of its directory, and no link is followed.
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
    """The changes of a run in its workspace."""

    def __init__(self) -> None:
        self.changed: dict[str, bytes] = {}
        self.executable: list[str] = []
        self.links: dict[str, str] = {}
        self.deleted: list[str] = []
        self.refused: list[str] = []
        self.more_refused = 0

    def refuse(self, path: str, reason: str) -> None:
        """Note that `path` is not collected, and the reason."""
        if len(self.refused) < REFUSALS:
            self.refused.append(f"{ascii(path)[1:-1][:200]}: {reason}")
        else:
            self.more_refused += 1


def collect(
    work: str,
    before: Written,
    limits: Mapping[str, float],
    base: Base | None = None,
    removed: Iterable[str] = (),
) -> Collected:
    """Compare `work` with its beginning: the files that were written there (`before`) over the
    `base` without the `removed` paths. Collects new and changed regular files and symbolic links,
    within limits.
    """
    result = Collected()
    kept: dict[str, int] = {}
    places: set[str] | None = None
    if before.paths or base is not None:
        beginning = Beginning(before.paths, removed)
        kept, places = _look_for_deleted(work, before, base, beginning, result), beginning.places
    total = sum(kept.values())
    # Old files come first, so that their changes are collected even if too many files are new.
    for found in _old_first(work, before, base, removed, places):
        if found.is_unchanged():
            continue
        grown = total - kept.get(found.path, 0) + found.size
        reason = _refusal(found, limits["file_bytes"])
        # Checked before a file is read: sparse files cost the run nothing, but take long to read.
        if reason is None and grown > limits["workspace_bytes"]:
            reason = f"the workspace would be larger than {limits['workspace_bytes']:.0f} bytes"
        elif reason is None and found.path not in kept and len(kept) >= limits["workspace_files"]:
            reason = f"the workspace would have more than {limits['workspace_files']:.0f} files"
        if reason is not None:
            result.refuse(found.path, reason)
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
    """Whether the file or link is new or has changed; adds it to the result then."""
    path = found.path
    if stat.S_ISLNK(found.mode):
        target = found.target()
        if target == before.links.get(path):
            return False
        if (reason := target_fault(target)) is not None:
            result.refuse(path, reason)
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
    """Note the deleted files; returns the sizes of the written files that still exist, by path."""
    present = {found.path for found in walk(work, beginning, base) if found.is_entry}
    result.deleted = sorted([*(before.paths - present), *beginning.gone])
    if beginning.more_gone:
        result.refuse(f"{beginning.more_gone} paths", "deleted, more than can be reported")
    sizes = {path: len(data) for path, data in (*before.files.items(), *before.links.items())}
    return {path: size for path, size in sizes.items() if path in present}


def _refusal(found: Found, file_bytes: float) -> str | None:
    path_fault = fault(found.path)
    if path_fault is not None:
        return path_fault
    if not found.is_entry:
        return _KINDS.get(stat.S_IFMT(found.mode), "not a regular file")
    if found.size > file_bytes:
        return f"{found.size} bytes, more than {file_bytes:.0f}"
    return None


def _read(found: Found) -> bytes:
    with os.fdopen(found.open(), "rb") as file:
        return file.read(found.size)
