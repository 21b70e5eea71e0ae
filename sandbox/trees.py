"""Directory trees that runs begin with: the space for a copy of them, and a trial run.

On some kernels, a run with trees fails: an unprivileged user cannot mount an overlay, or cannot
make a directory in the place of a removed one. So each backend tries a run like one of a job on a
repository before it reports that such jobs work.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.isolation_layers import choose_layer
from sandbox.policy import PAGE_BYTES
from sandbox.protocol import Command, IsolationLayer, RunResult, SandboxUnavailable

TRIAL_TREE = "trial"
_FILE = "directory/file"
_CODE = f"""
import os
os.remove({_FILE!r})
os.rmdir('directory')
os.mkdir('directory')
open('directory/other', 'w').close()
"""
OVERLAY = (
    "overlay: a run begins with a repository's files; they are shared and read-only, and the run's "
    "changes go to its own memory"
)
COPIES = (
    "copies: each run begins with a copy of the repository's files, which takes as much additional "
    "memory as they do"
)
TRIAL_COMMAND = Command(("python", "-c", _CODE), trees=(TRIAL_TREE,))


@dataclass(frozen=True, slots=True)
class TreeSize:
    """The space that a copy of trees takes on a tmpfs."""

    bytes: int = 0
    """The size in whole pages."""
    files: int = 0
    """Including directories and links."""


def measure_trees(directory: Path, names: Sequence[str]) -> TreeSize:
    """The most space that a copy of these trees of `directory` takes: a path in several trees
    counts in each of them. Raises SandboxUnavailable if a tree cannot be read.
    """
    pages, files = 0, 0
    folders = [str(directory / name) for name in names]
    try:
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    pages += -(-entry.stat(follow_symlinks=False).st_size // PAGE_BYTES)
                    files += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
    except OSError as error:
        raise SandboxUnavailable(f"a directory tree cannot be read: {error}") from error
    return TreeSize(pages * PAGE_BYTES, files)


def make_trial_tree(directory: Path, finish: Callable[[Path], None]) -> None:
    """Make the trial tree in `directory`, unless it exists. Calls `finish` with the tree before the
    tree gets its name.
    """
    if (directory / TRIAL_TREE).is_dir():
        return
    tree = Path(tempfile.mkdtemp(prefix=".trial-", dir=directory))
    tree.chmod(0o755)
    (tree / _FILE).parent.mkdir()
    (tree / _FILE).write_bytes(b"")
    finish(tree)
    with contextlib.suppress(OSError):  # another worker has made it at the same time
        tree.rename(directory / TRIAL_TREE)
    shutil.rmtree(tree, ignore_errors=True)


async def run_trial(run: Callable[[], Awaitable[RunResult]]) -> str | None:
    """Call `run`, which runs `TRIAL_COMMAND`. Returns the fault of its result, or None."""
    try:
        result = await run()
    except SandboxUnavailable as error:
        return str(error)
    if (result.changed, result.deleted) == ({"directory/other": b""}, frozenset({_FILE})):
        return None
    return f"{result.end}: {result.stderr.text}"


def trial_layer(fault: str | None, tree_mode: str) -> IsolationLayer:
    """The isolation layer "repositories", from the fault of `run_trial` and the way in which runs
    begin with trees.
    """
    loss = f"jobs on repositories cannot run here: {fault}"
    return choose_layer("repositories", tree_mode, loss, active=fault is None)
