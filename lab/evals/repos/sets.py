"""The sets of tasks on repositories: Fettle's own, a folder of tasks, or SWE-bench's lines."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.evals.repos import own, swebench, task
from lab.evals.repos.task import RepoSet

NAME = "repos"


@contextmanager
def loaded(data: Path | None) -> Iterator[RepoSet]:
    """The tasks of `data`, a folder or a file of lines. Without `data`, Fettle's own tasks, which
    exist within the block. Raises BadSet.
    """
    if data is not None:
        yield RepoSet(NAME, data.name, tuple(_read(data)))
        return
    with tempfile.TemporaryDirectory(prefix="fettle-tasks-") as folder:
        yield RepoSet(NAME, "lab/evals/repositories", tuple(own.tasks(Path(folder))))


def _read(data: Path) -> list[task.RepoTask]:
    if not data.is_dir():
        return swebench.read(data)
    folders = [subfolder for subfolder in data.iterdir() if (subfolder / task.DESCRIPTION).exists()]
    lines = swebench.files(data)
    if len(lines) == 1 and not folders and not (data / task.DESCRIPTION).exists():
        return swebench.read(lines[0])
    return task.read(data)
