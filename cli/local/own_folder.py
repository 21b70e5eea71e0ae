"""Checks that a folder of data in the working directory belongs to the user, not to a repository.

See ADR 63.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from cli.errors import CliError
from cli.repository.git import LocalGit, LocalGitFailed

_NO_REPOSITORY = "not a git repository"


def refuse_tracked(folder: Path, remedy: str) -> None:
    """Raise CliError, with the remedy, if git tracks anything in `folder`, or `folder` itself.

    Otherwise a clone could contain a stranger's jobs and keys, and links to files that Fettle would
    overwrite.
    """
    if not os.path.lexists(folder) or shutil.which("git") is None:
        return
    try:
        tracked = LocalGit(Path.cwd()).run("ls-files", "-z", "--", folder)
    except LocalGitFailed as error:
        if _NO_REPOSITORY in error.message:
            return
        raise CliError(f"git cannot check {folder}", error.message, remedy) from None
    if tracked:
        raise CliError(
            f"{folder} came with this repository",
            "Fettle keeps its own data in a folder of this name, and uses no data of a stranger",
            remedy,
        )
