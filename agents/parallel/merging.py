"""Merges the files of several branches, and describes the branches to the next pass. Pure.

| a file was | then |
|---|---|
| changed, made or removed by one branch | as in that branch |
| changed by several, to the same bytes (or removed by all of them) | that |
| a text that several changed in different lines | the combined text, if the caller has merged it |
| changed by several to different bytes | a conflict: the first version stays, the others become copies next to it |
| removed by one and changed by another | a conflict: the changed version stays |
| made where another branch made a directory | a conflict: the directory stays, the file becomes a copy next to it |

No bytes of a branch are lost, and the order of the branches matters to the names of copies only.
Two changes of different lines can still break each other, and only a run shows that.
"""  # noqa: E501 - a table

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from agents.paths import LONGEST_PATH
from agents.ports import Version

MOST_ENDING = 12
"""The length of the longest file ending that a copy keeps for tools and people."""

Manifest = Mapping[str, Version]
"""The files and links of a workspace, by path."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Versions of one `path` that cannot be combined."""

    path: str
    steps: tuple[int, ...]
    """The steps that changed the path."""
    copies: tuple[str, ...]
    """The paths of the versions that are not at `path`."""
    kind: str
    """The kind of the conflict, for people and models."""

    def fields(self) -> dict[str, Any]:
        """The fields in the event `merged`."""
        return {
            "path": self.path,
            "steps": list(self.steps),
            "copies": list(self.copies),
            "what": self.kind,
        }


@dataclass(frozen=True, slots=True)
class MergedFiles:
    """The merged files, and the conflicts by path."""

    files: dict[str, Version]
    conflicts: list[Conflict] = field(default_factory=list)
    combined: list[str] = field(default_factory=list)
    """The paths of texts that have the changes of several branches."""


NO_TEXTS: Mapping[str, Version] = MappingProxyType({})


def merge_branches(
    base: Manifest,
    branches: Mapping[int, Manifest],
    texts: Mapping[str, Version] = NO_TEXTS,
    existing_paths: Iterable[str] = (),
) -> MergedFiles:
    """The files of all `branches` (by step number), which started from `base`. `texts` are the
    combined versions of texts that several branches changed, see `find_texts`. No copy gets one of
    the `existing_paths`."""
    ordered = dict(sorted(branches.items()))
    result = MergedFiles({})
    paths = set(base).union(*ordered.values())
    used_names = paths.union(existing_paths)
    used_names |= _folders(used_names)
    conflicting: dict[str, dict[int, Version | None]] = {}
    for path in sorted(paths):
        old = base.get(path)
        changes = {step: files.get(path) for step, files in ordered.items()}
        changes = {step: new for step, new in changes.items() if new != old}
        versions = set(changes.values())
        if len(versions) > 1 and path in texts:
            result.files[path] = texts[path]
            result.combined.append(path)
        elif len(versions) > 1:
            conflicting[path] = changes
        elif (version := versions.pop() if versions else old) is not None:
            result.files[path] = version
    for path, changes in conflicting.items():
        _keep_versions(result, path, changes, used_names)
    for path in sorted(result.files.keys() & _folders(result.files)):
        _move_aside(result, path, ordered, used_names)
    return result


def find_texts(base: Manifest, branches: Mapping[int, Manifest]) -> dict[str, list[Version]]:
    """The files of `base` that several branches changed in different ways and that no branch
    removed: by path, the version in `base`, and then the different versions of the branches. They
    can be merged line by line if they are texts."""
    candidates: dict[str, list[Version]] = {}
    for path, old in base.items():
        versions = dict.fromkeys(files.get(path) for _, files in sorted(branches.items()))
        changes = [version for version in versions if version != old]
        files = [version for version in changes if version and version.digest]
        if old.digest and len(changes) > 1 and len(files) == len(changes):
            candidates[path] = [old, *files]
    return candidates


def combine_modes(versions: Sequence[Version]) -> bool | None:
    """Whether the combined file can be executed: as in a branch that changed it. The first of the
    `versions` is the version before the branches."""
    old, *branches = (version.executable for version in versions)
    return next((mode for mode in branches if mode != old), old)


def _keep_versions(
    result: MergedFiles, path: str, changes: Mapping[int, Version | None], used_names: set[str]
) -> None:
    """Put the first version at its path, and the others next to it. `changes` has None for a step
    that removed the path."""
    versions: dict[Version, int] = {}
    for step, version in changes.items():
        if version is not None:
            versions.setdefault(version, step)
    (first, _), *additional = versions.items()
    result.files[path] = first
    copies = []
    for version, step in additional:
        copies.append(_copy_name(path, step, used_names))
        result.files[copies[-1]] = version
    removed = [step for step, version in changes.items() if version is None]
    description = f"removed in step {removed[0]}" if removed else "changed in different ways"
    result.conflicts.append(Conflict(path, tuple(changes), tuple(copies), description))


def _move_aside(
    result: MergedFiles, path: str, branches: Mapping[int, Manifest], used_names: set[str]
) -> None:
    """Rename a file that has the name of a directory: no workspace can hold both."""
    version = result.files.pop(path)
    with_file = [step for step, files in branches.items() if files.get(path) == version]
    with_folder = [step for step, files in branches.items() if path in _folders(files)]
    copy = _copy_name(path, with_file[0], used_names)
    result.files[copy] = version
    steps = tuple(sorted({*with_file, *with_folder}))
    description = "a file in one step, a directory in another"
    result.conflicts.append(Conflict(path, steps, (copy,), description))


def _folders(paths: Iterable[str]) -> set[str]:
    """All directories of these paths."""
    return {
        path[:index]
        for path in paths
        for index, character in enumerate(path)
        if character == "/" and index
    }


def _copy_name(path: str, step: int, used_names: set[str]) -> str:
    """A free name for the version of `path` by a step; adds the name to `used_names`."""
    for count in itertools.count(1):
        mark = f".conflict-step{step}" + (f"-{count}" if count > 1 else "")
        copy = _insert_mark(path, mark)
        if copy not in used_names:
            break
    used_names.add(copy)
    return copy


def _insert_mark(path: str, mark: str) -> str:
    """`src/sums.py` as `src/sums{mark}.py`; shortened, or at the top level, if that is too long."""
    folder, slash, name = path.rpartition("/")
    dot = name.rfind(".")
    stem, ending = (name[:dot], name[dot:]) if 0 < dot >= len(name) - MOST_ENDING else (name, "")
    length = LONGEST_PATH - len(f"{folder}{slash}{mark}{ending}".encode())
    if length < 1:
        folder = slash = ""
        length = LONGEST_PATH - len(f"{mark}{ending}".encode())
    return f"{folder}{slash}{stem.encode()[:length].decode(errors='ignore')}{mark}{ending}"


def join_context(state: Mapping[str, Any]) -> dict[str, Any]:
    """The values for the prompt of the pass after the branches: {branches: [{step, text, failed}],
    conflicts, left_out, rest: [steps not done]}. `failed` is the failure of the branch's last run,
    or None."""
    finished = {branch["step"]: branch for branch in state.get("branches", ())}
    steps = range(1, len(state["plan"]) + 1)
    return {
        "branches": [
            {"step": step, "text": branch["text"], "failed": branch["failed"]}
            for step, branch in sorted(finished.items())
        ],
        "conflicts": state.get("conflicts", []),
        "left_out": state.get("left_out", []),
        "rest": [step for step in steps if step not in finished],
    }


def unresolved(state: Mapping[str, Any]) -> list[str]:
    """Copies of conflicting files that still exist."""
    artifacts = state.get("artifacts", {})
    copies = (copy for conflict in state.get("conflicts", ()) for copy in conflict["copies"])
    return [copy for copy in copies if copy in artifacts]
