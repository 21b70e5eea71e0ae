"""The demo's repository: a small project with a bug, in a fresh git repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from cli.repository.git import Git

FILES = Path(__file__).parent / "parking.yaml"
_WHO = {
    f"GIT_{role}_{part}": text
    for role in ("AUTHOR", "COMMITTER")
    for part, text in (("NAME", "Fettle"), ("EMAIL", "fettle@localhost"))
}


def begin(folder: Path) -> Path:
    """The project at `folder`, with one commit; what an earlier demo left there goes. Raises
    GitFailed; CliError where there is no git."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in yaml.safe_load(FILES.read_text()).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    git = Git(folder, _WHO)
    git.run("init", "--quiet", "--initial-branch=main")
    git.run("add", "--all")
    git.run("commit", "--quiet", "--no-gpg-sign", "--message", "Parking 1.4.0")
    return folder
