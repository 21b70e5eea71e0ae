"""The user's `git`, in the user's repository, with the user's configuration."""

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
from settings.client import child_environment

_RUN_NO_PROGRAMS = (
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.ext.allow=never"),
)
"""The configuration of an unpacked repository may be a stranger's: the programs that it names do
not run when Fettle reads it. The user's own filters do, since they decide what its files are."""
AS_FETTLE = {
    f"GIT_{role}_{part}": text
    for role in ("AUTHOR", "COMMITTER")
    for part, text in (("NAME", "Fettle"), ("EMAIL", "fettle@localhost"))
}
"""The environment in which git makes commits under Fettle's name."""


class LocalGitFailed(Exception):
    """git exited with an error. `message`: its stderr."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class LocalGit:
    """git in `folder`; `environment` is added to the user's."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, *words: str | Path, stdin: bytes = b"") -> bytes:
        """Run git; returns its stdout. Raises LocalGitFailed, and CliError without git."""
        try:
            result = subprocess.run(
                ["git", *_RUN_NO_PROGRAMS, *words],
                cwd=self.folder,
                env=child_environment({"LC_ALL": "C", **self.environment}),
                input=stdin,
                capture_output=True,
                check=False,
            )
        except FileNotFoundError:
            raise CliError("git is not installed here", "", "install it") from None
        if result.returncode:
            raise LocalGitFailed(result.stderr.decode(errors="replace").strip())
        return result.stdout

    def text(self, *words: str | Path) -> str:
        """Run git; returns its stdout as text, without the last line end."""
        return os.fsdecode(self.run(*words)).rstrip("\n")

    def succeeds(self, *words: str | Path) -> bool:
        """Run git; returns whether it exits with 0."""
        try:
            self.run(*words)
        except LocalGitFailed:
            return False
        return True


def inside(folder: Path) -> LocalGit:
    """git in a folder of a repository, which may be bare. Raises CliError."""
    git = LocalGit(folder)
    try:
        git.run("rev-parse", "--git-dir")
    except LocalGitFailed as error:
        raise _no_repository(folder, error) from None
    return git


def top_of(folder: Path) -> LocalGit:
    """git at the top of the work tree that `folder` is in. Raises CliError."""
    try:
        return LocalGit(Path(LocalGit(folder).text("rev-parse", "--show-toplevel")))
    except LocalGitFailed as error:
        raise _no_repository(folder, error) from None


@contextmanager
def scratch_repository(git: LocalGit) -> Iterator[tuple[LocalGit, Path]]:
    """git in the same work tree, with a copy of the index and a new directory of objects, so that
    the user's repository is never written to. Yields git and the directory of objects."""
    theirs, index = (
        Path(git.folder, git.text("rev-parse", "--git-path", name)).resolve()
        for name in ("objects", "index")
    )
    with tempfile.TemporaryDirectory(prefix="fettle-git-") as folder:
        copied, objects = Path(folder, "index"), Path(folder, "objects")
        if index.exists():
            shutil.copy2(index, copied)
        read_also(objects, theirs)
        variables = {"GIT_INDEX_FILE": str(copied), "GIT_OBJECT_DIRECTORY": str(objects)}
        yield replace(git, environment={**git.environment, **variables}), objects


def read_also(objects: Path, further_objects: Path) -> None:
    """Let git also read objects from `further_objects`."""
    (objects / "info").mkdir(parents=True, exist_ok=True)
    (objects / "info" / "alternates").write_text(f"{further_objects}\n")


def _no_repository(folder: Path, error: LocalGitFailed) -> CliError:
    detail = error.message.removeprefix("fatal: ")
    title = f"{folder.resolve()} is in no git repository"
    return CliError(title, detail, "name a directory of one, or go there")
