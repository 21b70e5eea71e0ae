"""Which of a job's new files git would not add, by the `.gitignore` files of the tree: what runs
left, such as reports of coverage, is no part of its patch."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from worker.repositories.patches import Change, scratch

RULES = ".gitignore"
MOST_RULES = 500
"""Files of rules that are read; those nearest to the top come first."""
RULES_BYTES = 256 * 1024
"""A longer one does not count."""
_NONE = 1


async def ignored(change: Change) -> frozenset[str]:
    """The paths of changed files and links that are new and ignored. Raises RepositoryRefused."""
    files = (*change.changed, *change.kinds.links)
    new = [path for path in files if path not in change.entries]
    rules = await _rules(change) if new else {}
    if not rules:
        return frozenset()
    async with scratch(change.places, change.mirror) as git:
        tree = git.folder / "tree"
        await asyncio.to_thread(_write, tree, rules)
        asked = b"".join(os.fsencode(path) + b"\0" for path in new)
        said = await replace(git, tree=tree).run(
            *("check-ignore", "--no-index", "-z", "--stdin"),
            stdin=asked,
            most_bytes=len(asked),
            ends=(0, _NONE),
        )
    return frozenset(map(os.fsdecode, said.split(b"\0")[:-1]))


async def _rules(change: Change) -> dict[str, bytes]:
    """The `.gitignore` files as the job left them."""
    own = {path: text for path, text in change.changed.items() if _is_rules(path, len(text))}
    kept = (
        path
        for path, entry in change.entries.items()
        if entry.is_file and _is_rules(path, entry.size)
        if path not in change.changed and path not in change.removed
    )
    first = sorted((*own, *kept), key=lambda path: (path.count("/"), path))[:MOST_RULES]
    git, entries = change.mirror.git(), change.entries
    return {
        path: own[path] if path in own else await git.run("cat-file", "blob", entries[path].oid)
        for path in first
    }


def _is_rules(path: str, size: int) -> bool:
    *folders, name = path.split("/")
    return name == RULES and size <= RULES_BYTES and {"", ".", "..", RULES}.isdisjoint(folders)


def _write(tree: Path, rules: Mapping[str, bytes]) -> None:
    tree.mkdir()
    for path, content in rules.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(content)
