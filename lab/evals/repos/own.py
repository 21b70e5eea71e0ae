"""The tasks that come with Fettle: `lab/evals/repositories/NAME/`.

Each folder has a task.json, fix.patch and test.patch like any task, and the files of the base
commit (`base/`) instead of a bundle. `history` in its task.json, if any, lists the commits:
{message, without: paths that do not exist yet, tag}. The bundle that is made of them is always the
same.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.errors import CliError
from lab.evals.repos.task import BUNDLE, DESCRIPTION, FIX, TESTS, RepoTask, read

FOLDER = Path(__file__).resolve().parent.parent / "repositories"
BEGAN = 1_704_067_200
"""2024-01-01, in seconds: the time of the first commit. Each further commit is one day later."""
_ENVIRONMENT = {
    "PATH": os.defpath,
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Fettle",
    "GIT_AUTHOR_EMAIL": "fettle@localhost",
    "GIT_COMMITTER_NAME": "Fettle",
    "GIT_COMMITTER_EMAIL": "fettle@localhost",
}


def tasks(scratch: Path, source: Path = FOLDER) -> list[RepoTask]:
    """All tasks, made in `scratch`. Raises CliError if git is missing."""
    for path in sorted(source.iterdir()):
        if (path / DESCRIPTION).exists():
            _make(path, scratch / path.name)
    return read(scratch)


def _make(source: Path, task: Path) -> None:
    """The task's folder, with its bundle."""
    task.mkdir()
    for name in (DESCRIPTION, FIX, TESTS):
        shutil.copyfile(source / name, task / name)
    described = json.loads((source / DESCRIPTION).read_text(encoding="utf-8"))
    history = described.get("history") or [{"message": "Begin"}]
    git = _Git(task / "clone")
    git.run("init", "--quiet", "--initial-branch=main", str(git.folder))
    shutil.copytree(source / "base", git.folder, dirs_exist_ok=True)
    for number, commit in enumerate(history):
        _commit(git, commit, BEGAN + number * 86_400)
    git.run("bundle", "create", "--quiet", str(task / BUNDLE), "main", "--tags")
    shutil.rmtree(git.folder)


def _commit(git: _Git, commit: Mapping[str, Any], seconds: int) -> None:
    git.run("add", "--all", "--force", ".")
    if missing_paths := commit.get("without"):
        git.run("rm", "--quiet", "--cached", "--", *missing_paths)
    git.run("commit", "--quiet", "--message", commit["message"], seconds=seconds)
    if tag := commit.get("tag"):
        git.run("tag", "--annotate", "--message", tag, tag, seconds=seconds)


@dataclass(frozen=True, slots=True)
class _Git:
    """Git on a clone that contains only files of Fettle."""

    folder: Path

    def run(self, *words: str, seconds: int = BEGAN) -> None:
        date = f"{seconds} +0000"
        dated = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        self.folder.mkdir(exist_ok=True)
        try:
            subprocess.run(
                ["git", "-c", "pack.threads=1", *words],
                cwd=self.folder,
                env=_ENVIRONMENT | dated,
                check=True,
                capture_output=True,
            )
        except FileNotFoundError:
            raise CliError("git is missing", "", "install git: its package is `git`") from None
