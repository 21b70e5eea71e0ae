"""The user's `git`, in his own repository, with his own configuration."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from cli.errors import CliError
from settings.client import inherited

_RUN_NO_PROGRAMS = (
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.ext.allow=never"),
)
"""The configuration of an unpacked repository may be a stranger's: the programs that it names do
not run when Fettle reads it. The user's own filters do, since they decide what its files are."""


class GitFailed(Exception):
    """git exited with an error; `said` is what it printed about it."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


@dataclass(frozen=True, slots=True)
class Git:
    """git in `folder`; `environment` is added to the user's."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, *words: str | Path, stdin: bytes = b"") -> bytes:
        """What it prints. Raises GitFailed; CliError where there is no git."""
        try:
            ended = subprocess.run(
                ["git", *_RUN_NO_PROGRAMS, *words],
                cwd=self.folder,
                env=inherited({"LC_ALL": "C", **self.environment}),
                input=stdin,
                capture_output=True,
                check=False,
            )
        except FileNotFoundError:
            raise CliError("git is not installed here", "", "install it") from None
        if ended.returncode:
            raise GitFailed(ended.stderr.decode(errors="replace").strip())
        return ended.stdout

    def text(self, *words: str | Path) -> str:
        """The same as one text without a line end."""
        return os.fsdecode(self.run(*words)).rstrip("\n")

    def succeeds(self, *words: str | Path) -> bool:
        """Whether it exits with 0."""
        try:
            self.run(*words)
        except GitFailed:
            return False
        return True


def inside(folder: Path) -> Git:
    """git in a folder of a repository, which may be bare. Raises CliError."""
    git = Git(folder)
    try:
        git.run("rev-parse", "--git-dir")
    except GitFailed as error:
        raise _no_repository(folder, error) from None
    return git


def top_of(folder: Path) -> Git:
    """git at the top of the work tree that `folder` is in. Raises CliError."""
    try:
        return Git(Path(Git(folder).text("rev-parse", "--show-toplevel")))
    except GitFailed as error:
        raise _no_repository(folder, error) from None


@contextmanager
def apart(git: Git) -> Iterator[tuple[Git, Path]]:
    """git in the same work tree with a copy of the index, and with a directory of objects beside
    the user's, which is the second: nothing of the user's repository is written to."""
    theirs, index = (
        Path(git.folder, git.text("rev-parse", "--git-path", name)).resolve()
        for name in ("objects", "index")
    )
    with tempfile.TemporaryDirectory(prefix="fettle-git-") as made:
        copied, objects = Path(made, "index"), Path(made, "objects")
        if index.exists():
            shutil.copy2(index, copied)
        read_also(objects, theirs)
        own = {"GIT_INDEX_FILE": str(copied), "GIT_OBJECT_DIRECTORY": str(objects)}
        yield replace(git, environment={**git.environment, **own}), objects


def read_also(objects: Path, others: Path) -> None:
    """Have git look for objects in `others` where they are not among `objects`."""
    (objects / "info").mkdir(parents=True, exist_ok=True)
    (objects / "info" / "alternates").write_text(f"{others}\n")


def _no_repository(folder: Path, error: GitFailed) -> CliError:
    detail = error.said.removeprefix("fatal: ")
    title = f"{folder.resolve()} is in no git repository"
    return CliError(title, detail, "name a directory of one, or go there")
