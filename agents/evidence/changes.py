"""The files that a job has changed, against the files that it started with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agents.checks.copied_files import without_clashes
from agents.paths import is_in_setup
from agents.ports import Workspace
from agents.runs.sources import is_source, is_test
from agents.state import State
from agents.tree import Tree

MOST_TESTED = 500
MOST_TESTED_BYTES = 16 * 1024 * 1024
"""Source files of a repository that are made unable to load for a job that changes only tests."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs. `before` is None for a new file, `after` for a deleted file."""

    path: str
    before: bytes | None
    after: bytes | None

    @property
    def size(self) -> int:
        """The number of lines that the change removes or adds. A line that only moves does not
        count."""
        before, after = (Counter((text or b"").split(b"\n")) for text in (self.before, self.after))
        return ((before - after) + (after - before)).total()


async def changed_files(state: State, workspace: Workspace) -> Sequence[ChangedFile]:
    """The changed files, sorted by path. Symbolic links and installed dependencies are left out. If
    the job's record does not name its start, which older releases did not write, only the files
    that the job has made are compared, with the files of its repository."""
    job, start = state["job"], workspace.fork()
    await start.checkout(job.get("start"))
    before = await start.manifest(start.digest)
    after = await workspace.manifest(workspace.digest)
    paths = {*start.changed(), *workspace.changed()} if "start" in job else {*state["artifacts"]}
    changed = []
    for path in sorted(paths):
        same = path in before and before[path] == after.get(path)
        if same or is_in_setup(path):
            continue
        file = ChangedFile(path, await start.read(path), await workspace.read(path))
        if file.before != file.after:
            changed.append(file)
    return changed


async def code_under_test(changed: Sequence[ChangedFile], workspace: Workspace) -> dict[str, bytes]:
    """The source files of the job's repository, if the job has changed only tests of it. Empty for
    other jobs, and for a repository with more than MOST_TESTED source files."""
    sources = [file.path for file in changed if is_source(file.path, file.after or b"")]
    if not sources or not all(map(is_test, sources)):
        return {}
    changed_paths = {*workspace.changed(), *workspace.links()}
    sizes = workspace.list()
    paths = [
        path
        for path in sizes
        if path not in changed_paths and is_source(path) and not is_test(path)
    ]
    if len(paths) > MOST_TESTED or sum(sizes[path] for path in paths) > MOST_TESTED_BYTES:
        return {}
    return {path: await workspace.read(path) or b"" for path in paths}


def reverted(tree: Tree, changed: Iterable[ChangedFile]) -> Tree:
    """The tree with the state of these files before the job. Files that cannot exist together with
    them are left out."""
    earlier = {file.path: file.before for file in changed}
    unchanged = {path: data for path, data in tree.files.items() if path not in earlier}
    missing = frozenset(path for path, data in earlier.items() if data is None)
    removed = tree.removed | missing if tree.layers else tree.removed
    restored = {path: data for path, data in earlier.items() if data is not None}
    files = without_clashes(unchanged, restored)
    return replace(tree, files=files, removed=removed).over(restored)
