"""Merging: what several branches have made of the same files, laid over each other. Pure.

| a file was | then |
|---|---|
| changed, made or removed by one branch | as that branch has left it |
| changed by several, to the same bytes (or removed by all of them) | that |
| changed by several to different bytes | a conflict: the first one's stands, the others' beside it as copies |
| removed by one and changed by another | a conflict: what was changed stands |
| made where another has made a directory | a conflict: the directory stands, the file beside it as a copy |

So no bytes that a branch has left are lost, and in which order the branches are given matters to
the names of copies alone. Files are not merged line by line: two changes that do not touch each
other may still break each other, and only whoever runs them can tell.
"""  # noqa: E501 - a table

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.paths import LONGEST_PATH
from agents.runs.installed import belongs_to_install

ENDING = 12
"""Characters of what counts as a file's ending: a copy keeps it, for tools and eyes."""

Manifest = Mapping[str, str]
"""Path to the digest of its bytes."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """What branches have made of one `path` that does not go together.

    `steps` are those that have changed it, `copies` where the versions lie that are not at `path`.
    """

    path: str
    steps: tuple[int, ...]
    copies: tuple[str, ...]
    what: str

    def fields(self) -> dict[str, Any]:
        """As the event `merged` has it."""
        return {
            "path": self.path,
            "steps": list(self.steps),
            "copies": list(self.copies),
            "what": self.what,
        }


@dataclass(frozen=True, slots=True)
class Merged:
    """The files as they are after it, and what did not go together, by path."""

    files: dict[str, str]
    conflicts: list[Conflict] = field(default_factory=list)


def merged(base: Manifest, branches: Mapping[int, Manifest]) -> Merged:
    """The files of all `branches` (by the numbers of their steps), which began with `base`."""
    ordered = dict(sorted(branches.items()))
    found = Merged({})
    paths = set(base).union(*ordered.values())
    taken = paths | _folders(paths)
    clashing: dict[str, dict[int, str | None]] = {}
    for path in sorted(paths):
        was = base.get(path)
        changes = {step: files.get(path) for step, files in ordered.items()}
        changes = {step: now for step, now in changes.items() if now != was}
        values = set(changes.values())
        if len(values) > 1:
            clashing[path] = changes
        elif (now := values.pop() if values else was) is not None:
            found.files[path] = now
    for path, changes in clashing.items():
        _keep_versions(found, path, changes, taken)
    for path in sorted(found.files.keys() & _folders(found.files)):
        _move_aside(found, path, ordered, taken)
    return found


def _keep_versions(
    found: Merged, path: str, changes: Mapping[int, str | None], taken: set[str]
) -> None:
    """The first version at its path, each other beside it; None is one that was removed."""
    versions: dict[str, int] = {}
    for step, now in changes.items():
        if now is not None:
            versions.setdefault(now, step)
    (first, _), *others = versions.items()
    found.files[path] = first
    copies = []
    if not belongs_to_install(path):  # one of two packages: it can be installed again
        for now, step in others:
            copies.append(_copy_name(path, step, taken))
            found.files[copies[-1]] = now
    removed = [step for step, now in changes.items() if now is None]
    what = f"removed in step {removed[0]}" if removed else "changed in different ways"
    found.conflicts.append(Conflict(path, tuple(changes), tuple(copies), what))


def _move_aside(
    found: Merged, path: str, branches: Mapping[int, Manifest], taken: set[str]
) -> None:
    """Move a file out of the way of a directory of its name: no workspace can hold both."""
    digest = found.files.pop(path)
    makers = [step for step, files in branches.items() if files.get(path) == digest]
    others = [step for step, files in branches.items() if path in _folders(files)]
    copy = _copy_name(path, makers[0], taken)
    found.files[copy] = digest
    steps = tuple(sorted({*makers, *others}))
    what = "a file in one step, a directory in another"
    found.conflicts.append(Conflict(path, steps, (copy,), what))


def _folders(paths: Iterable[str]) -> set[str]:
    """All directories that files of these paths lie in."""
    return {
        path[:place] for path in paths for place, sign in enumerate(path) if sign == "/" and place
    }


def _copy_name(path: str, step: int, taken: set[str]) -> str:
    """A name for the version of `path` that `step` has left, which nothing else has; taken now."""
    for count in itertools.count(1):
        mark = f".conflict-step{step}" + (f"-{count}" if count > 1 else "")
        copy = _marked(path, mark)
        if copy not in taken:
            break
    taken.add(copy)
    return copy


def _marked(path: str, mark: str) -> str:
    """`src/sums.py` as `src/sums{mark}.py`; shortened, or at the top, where that is too long."""
    folder, slash, name = path.rpartition("/")
    dot = name.rfind(".")
    stem, ending = (name[:dot], name[dot:]) if 0 < dot >= len(name) - ENDING else (name, "")
    left = LONGEST_PATH - len(f"{folder}{slash}{mark}{ending}".encode())
    if left < 1:
        folder = slash = ""
        left = LONGEST_PATH - len(f"{mark}{ending}".encode())
    return f"{folder}{slash}{stem.encode()[:left].decode(errors='ignore')}{mark}{ending}"
