"""A repository on this machine as one git bundle: the history of a commit, with its tags.

A separate bare repository reads the user's objects. It has the refs, the commit of the uncommitted
changes, and the objects of that commit. So the user's repository is never written to.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.errors import CliError
from cli.repository.git import (
    AS_FETTLE,
    LocalGit,
    LocalGitFailed,
    inside,
    read_also,
    scratch_repository,
    top_of,
)

MOST_TAGS = 1_000
"""The newest tags of the history: `git describe` wants the nearest one."""
DIRTY = "Changes that were not committed"
_STATUS = ("--no-optional-locks", "status")


def bundle(folder: Path, ref: str | None = None, *, dirty: bool = False) -> bytes:
    """The bundle of the repository that `folder` is in. Its HEAD is `ref`, or the repository's.

    `dirty`: adds a commit with the changed and new files of the work tree that git does not ignore,
    without the `nested_repositories`. Raises CliError.
    """
    git = replace(inside(folder), environment=AS_FETTLE)
    commit = _commit(git, ref)
    _refuse_shallow(git)
    try:
        with (
            scratch_repository(git) as (work, objects),
            TemporaryDirectory(prefix="fettle-bundle-") as bare_folder,
        ):
            bare = LocalGit(Path(bare_folder), AS_FETTLE)
            bare.run("init", "--quiet", "--bare", "--template=")
            read_also(bare.folder / "objects", objects)
            _set_tags(git, bare, commit)
            tip = _with_changes(work, commit) if dirty else commit
            bare.run("update-ref", "--no-deref", "HEAD", tip)
            return bare.run("bundle", "create", "--quiet", "-", "HEAD", "--tags")
    except LocalGitFailed as error:
        raise CliError("the repository cannot be bundled", error.message) from None


def not_committed(folder: Path) -> int:
    """The number of files of the work tree that are changed or new, without ignored files and files
    of submodules."""
    git = LocalGit(folder)
    try:
        listed = git.text(
            *_STATUS, "--porcelain", "--untracked-files=all", "--ignore-submodules=dirty"
        )
    except LocalGitFailed:  # a bare repository has no files
        return 0
    return len(listed.splitlines())


def nested_repositories(folder: Path) -> tuple[str, ...]:
    """The paths of repositories in the work tree that git neither tracks nor ignores: git would add
    each as a submodule without an address, and without its files."""
    try:
        return _nested(top_of(folder))
    except CliError:  # a bare repository has no files
        return ()


def changed_submodules(folder: Path) -> tuple[str, ...]:
    """The paths of submodules with changed or new files of their own, which no commit of this
    repository has."""
    try:
        return _changed_submodules(top_of(folder))
    except CliError:  # a bare repository has no files
        return ()


def _changed_submodules(top: LocalGit) -> tuple[str, ...]:
    """From lines `1 XY SUB mH mI mW hH hI PATH`; SUB is `S` and three letters: another commit,
    changed files, new files; a dot for each that does not apply."""
    options = ("--no-renames", "--untracked-files=no", "--ignore-submodules=none")
    status = top.run(*_STATUS, "--porcelain=v2", "-z", *options)
    rows = (os.fsdecode(row).split(" ", 8) for row in status.split(b"\0"))
    entries = (row for row in rows if row[0] == "1" and row[2].startswith("S"))
    return tuple(row[8] for row in entries if not row[2].endswith(".."))


def _nested(top: LocalGit) -> tuple[str, ...]:
    rows = top.run("ls-files", "--others", "--exclude-standard", "-z").split(b"\0")
    return tuple(os.fsdecode(row[:-1]) for row in rows if row.endswith(b"/"))


def _commit(git: LocalGit, ref: str | None) -> str:
    arguments = (
        "rev-parse",
        "--quiet",
        "--verify",
        "--end-of-options",
        f"{ref or 'HEAD'}^{{commit}}",
    )
    try:
        return git.text(*arguments)
    except LocalGitFailed:
        if ref is None:
            raise CliError("the repository has no commit yet", "", "commit something") from None
        raise CliError(f"the repository has no commit {ref!r}") from None


def _refuse_shallow(git: LocalGit) -> None:
    if git.text("rev-parse", "--is-shallow-repository") == "true":
        raise CliError(
            "the repository is a shallow clone",
            "its history is cut off",
            "fetch the rest: git fetch --unshallow",
        )


def _with_changes(work: LocalGit, commit: str) -> str:
    """A commit on top of `commit` with the present files; `commit` itself if no file is changed."""
    if work.run("ls-files", "--unmerged"):
        raise CliError("the repository has unmerged files", "", "resolve or abort the merge")
    top = replace(work, folder=top_of(work.folder).folder)
    left_out = (f":(top,exclude,literal){path}" for path in _nested(top))
    top.run("add", "--all", "--", ":/", *left_out)
    tree = work.text("write-tree")
    if tree == work.text("rev-parse", f"{commit}^{{tree}}"):
        return commit
    return work.text("commit-tree", tree, "-p", commit, "-m", DIRTY)


def _set_tags(git: LocalGit, bare: LocalGit, commit: str) -> None:
    listed = git.run(
        "for-each-ref",
        f"--count={MOST_TAGS}",
        "--sort=-creatordate",
        f"--merged={commit}",
        "--format=create %(refname) %(objectname)",
        "refs/tags",
    )
    if listed:
        bare.run("update-ref", "--stdin", stdin=listed)
