"""Git repositories of a test, each in its own folder, made with git's commands."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_OWN = {
    "PATH": os.defpath,
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    **{f"GIT_{role}_NAME": "Ada" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "ada@example.org" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_DATE": "@1700000000 +0000" for role in ("AUTHOR", "COMMITTER")},
}


@dataclass(frozen=True)
class Repository:
    """A repository with a working tree."""

    folder: Path

    def git(self, *args: str, stdin: bytes = b"") -> str:
        """Run git in the repository. Returns its output without the last line end."""
        return self.raw(*args, stdin=stdin).decode(errors="surrogateescape").removesuffix("\n")

    def raw(self, *args: str, stdin: bytes = b"") -> bytes:
        done = subprocess.run(
            ["git", *args], cwd=self.folder, env=_OWN, input=stdin, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout

    def write(self, files: Mapping[str, bytes]) -> None:
        for path, content in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(content)

    def commit(self, files: Mapping[str, bytes] | None = None, message: str = "Change") -> str:
        """Commit these files and all other changes; returns the commit's id."""
        self.write(files or {})
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def commit_tree(self, rows: str) -> str:
        """Commit a tree that git's own commands would refuse. Each row is `MODE KIND ID NAME`."""
        content = b"".join(
            f"{int(mode, 8):o} {name}\0".encode() + bytes.fromhex(oid)
            for mode, _, oid, name in (row.split(" ", 3) for row in rows.splitlines())
        )
        argv = ("hash-object", "-t", "tree", "-w", "--literally", "--stdin")
        commit = self.git("commit-tree", self.git(*argv, stdin=content), "-m", "Bad")
        self.git("update-ref", "refs/heads/main", commit)
        return commit

    def blob(self, content: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", stdin=content)

    def bundle(self, *refs: str) -> bytes:
        """A bundle of these refs, or of all refs and HEAD."""
        return self.raw("bundle", "create", "--quiet", "-", *(refs or ("--all", "HEAD")))

    def tree(self, commit: str = "HEAD") -> str:
        return self.git("rev-parse", f"{commit}^{{tree}}")


def create_repository(folder: Path) -> Repository:
    """An empty repository on the branch `main`."""
    folder.mkdir(parents=True, exist_ok=True)
    repository = Repository(folder)
    repository.git("init", "--quiet", "--initial-branch=main", "--template=")
    return repository


def clone_repository(repository: Repository, folder: Path) -> Repository:
    """A clone with the full history."""
    repository.git("clone", "--quiet", "--no-hardlinks", str(repository.folder), str(folder))
    return Repository(folder)
