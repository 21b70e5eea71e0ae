"""Merges the files of several branches, and describes the branches to the next pass. Pure.

| a file was | then |
|---|---|
| changed, made or removed by one branch | as in that branch |
| changed by several, to the same bytes (or removed by all of them) | that |
| changed by several to different bytes | a conflict: the first version stays, the others become copies next to it |
| removed by one and changed by another | a conflict: the changed version stays |
| made where another branch made a directory | a conflict: the directory stays, the file becomes a copy next to it |

No bytes of a branch are lost, and the order of the branches matters to the names of copies only.
Files are not merged line by line: two separate changes can still break each other, and only a run
shows that.
"""  # noqa: E501 - a table

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.paths import LONGEST_PATH
from agents.ports import Version

ENDING = 12
"""Characters of a file's ending, which a copy keeps for tools and people."""

Manifest = Mapping[str, Version]
"""The files and links of a workspace, by path."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Versions of one `path` that cannot be combined.

    `steps` are those that changed it, `copies` the paths of the versions that are not at `path`.
    """

    path: str
    steps: tuple[int, ...]
    copies: tuple[str, ...]
    what: str

    def fields(self) -> dict[str, Any]:
        """As in the event `merged`."""
        return {
            "path": self.path,
            "steps": list(self.steps),
            "copies": list(self.copies),
            "what": self.what,
        }


@dataclass(frozen=True, slots=True)
class Merged:
    """The merged files, and the conflicts by path."""

    files: dict[str, Version]
    conflicts: list[Conflict] = field(default_factory=list)


def merged(base: Manifest, branches: Mapping[int, Manifest]) -> Merged:
    """The files of all `branches` (by step number), which started from `base`."""
    ordered = dict(sorted(branches.items()))
    found = Merged({})
    paths = set(base).union(*ordered.values())
    taken = paths | _folders(paths)
    clashing: dict[str, dict[int, Version | None]] = {}
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
    found: Merged, path: str, changes: Mapping[int, Version | None], taken: set[str]
) -> None:
    """Put the first version at its path and the others next to it; None is a removed one."""
    versions: dict[Version, int] = {}
    for step, now in changes.items():
        if now is not None:
            versions.setdefault(now, step)
    (first, _), *others = versions.items()
    found.files[path] = first
    copies = []
    for now, step in others:
        copies.append(_copy_name(path, step, taken))
        found.files[copies[-1]] = now
    removed = [step for step, now in changes.items() if now is None]
    what = f"removed in step {removed[0]}" if removed else "changed in different ways"
    found.conflicts.append(Conflict(path, tuple(changes), tuple(copies), what))


def _move_aside(
    found: Merged, path: str, branches: Mapping[int, Manifest], taken: set[str]
) -> None:
    """Rename a file that has the name of a directory: no workspace can hold both."""
    version = found.files.pop(path)
    makers = [step for step, files in branches.items() if files.get(path) == version]
    others = [step for step, files in branches.items() if path in _folders(files)]
    copy = _copy_name(path, makers[0], taken)
    found.files[copy] = version
    steps = tuple(sorted({*makers, *others}))
    what = "a file in one step, a directory in another"
    found.conflicts.append(Conflict(path, steps, (copy,), what))


def _folders(paths: Iterable[str]) -> set[str]:
    """All directories of these paths."""
    return {
        path[:place] for path in paths for place, sign in enumerate(path) if sign == "/" and place
    }


def _copy_name(path: str, step: int, taken: set[str]) -> str:
    """A free name for the version of `path` that `step` left; it is taken from now on."""
    for count in itertools.count(1):
        mark = f".conflict-step{step}" + (f"-{count}" if count > 1 else "")
        copy = _marked(path, mark)
        if copy not in taken:
            break
    taken.add(copy)
    return copy


def _marked(path: str, mark: str) -> str:
    """`src/sums.py` as `src/sums{mark}.py`; shortened, or at the top level, if that is too long."""
    folder, slash, name = path.rpartition("/")
    dot = name.rfind(".")
    stem, ending = (name[:dot], name[dot:]) if 0 < dot >= len(name) - ENDING else (name, "")
    left = LONGEST_PATH - len(f"{folder}{slash}{mark}{ending}".encode())
    if left < 1:
        folder = slash = ""
        left = LONGEST_PATH - len(f"{mark}{ending}".encode())
    return f"{folder}{slash}{stem.encode()[:left].decode(errors='ignore')}{mark}{ending}"


def join_context(state: Mapping[str, Any]) -> dict[str, Any]:
    """{branches: [{step, text, failed}], conflicts, left_out, rest: [steps not done]};
    `failed` is how the branch's last run failed, or None."""
    done = {each["step"]: each for each in state.get("branches", ())}
    steps = range(1, len(state["plan"]) + 1)
    return {
        "branches": [
            {"step": step, "text": each["text"], "failed": each["failed"]}
            for step, each in sorted(done.items())
        ],
        "conflicts": state.get("conflicts", []),
        "left_out": state.get("left_out", []),
        "rest": [step for step in steps if step not in done],
    }


def unresolved(state: Mapping[str, Any]) -> list[str]:
    """Copies of conflicting files that still exist."""
    there = state.get("artifacts", {})
    copies = (copy for conflict in state.get("conflicts", ()) for copy in conflict["copies"])
    return [copy for copy in copies if copy in there]
