"""Applies a job's patch to the user's work tree, completely or not at all.

The patch is first applied to a copy of the index, so that a conflict leaves the repository
unchanged.
"""

from __future__ import annotations

import re
from pathlib import Path

from cli.client import Job
from cli.errors import CliError
from cli.output import Screen
from cli.render.job import patch_of
from cli.render.parts import Tone
from cli.render.texts import patch_text
from cli.repository.git import LocalGit, LocalGitFailed, scratch_repository, top_of
from fettle import Service

_APPLY = ("apply", "--whitespace=nowarn")
_SHOWN = 5
_IN_THE_WAY = ("does not match index", "cannot read the current contents of")
_OURS = (
    (
        re.compile("cannot read the current contents of '(.*)'"),
        "is here, and git does not track it",
    ),
    (re.compile("^(.*): does not match index"), "has changes that are not committed"),
    (re.compile("^(.*): does not exist in index"), "is not in your repository any more"),
)
"""git's errors on a file, and our text for each. The first match counts for the file."""
TITLE = "the patch was not applied, and nothing is changed"


def apply_job(service: Service, job: Job, screen: Screen) -> None:
    """Apply the job's patch to the repository of this directory, and show its figures. Raises
    CliError."""
    about = patch_of(job)
    if about is None and not job["spec"].get("repo"):
        remedy = f"`fettle patch {job['id']} | git apply` changes files of this directory"
        raise CliError("the job is not on a repository", remedy)
    patch = service.patch(job["id"])
    warn_if_unapproved(job, screen)
    assert about is not None  # noqa: S101 - the service has a patch only if it has figures
    staged = apply(Path(), patch, about["base"])
    targets = "work tree and index" if staged else "work tree"
    screen.line("applied", f"{patch_text(about)}, to {targets}", Tone.GOOD)


def warn_if_unapproved(job: Job, screen: Screen) -> None:
    """Show that the work of the job is not approved."""
    if job["status"] != "succeeded" or job.get("unapproved"):
        screen.line("not approved", f"the job is {job['status'].replace('_', ' ')}", Tone.WARN)


def apply(folder: Path, patch: bytes, base: str) -> bool:
    """Apply `patch`, of the commit `base`, to the work tree that `folder` is in.

    Returns True after a three-way merge into work tree and index. If the changed files have other
    uncommitted changes, the patch has to fit them, is applied to the work tree only, and False is
    returned. Raises CliError.
    """
    git = top_of(folder)
    git.succeeds("update-index", "-q", "--refresh")  # or a touched file counts as a changed one
    _require_clean_index(git)
    options = _apply_options(git, patch, base)
    try:
        git.run(*_APPLY, *options, "-", stdin=patch)
    except LocalGitFailed as error:
        step = "`git status` shows what was written"
        raise CliError(
            "git stopped while it applied the patch", _lines(error.message), step
        ) from None
    return bool(options)


def _require_clean_index(git: LocalGit) -> None:
    if not git.succeeds("diff", "--cached", "--quiet", "--no-ext-diff", "--no-textconv"):
        detail = "the index has changes that are not committed, or files that are not merged"
        raise CliError(TITLE, detail, "commit them or set them aside (git stash); then try again")


def _apply_options(git: LocalGit, patch: bytes, base: str) -> tuple[str, ...]:
    """The options with which the patch applies completely. Raises CliError if it does not apply."""
    with scratch_repository(git) as (trial, _):
        try:
            trial.run(*_APPLY, "--3way", "--check", "-", stdin=patch)
            _merge(trial, patch)
        except LocalGitFailed as error:
            if not _fits(trial, patch):
                if _fits(trial, patch, "--reverse"):
                    raise _already() from None
                step = _next_step(git, base, error.message)
                raise CliError(TITLE, _lines(error.message), step) from None
            return ()
    return ("--3way",)


def _merge(trial: LocalGit, patch: bytes) -> None:
    """Raise LocalGitFailed if the three-way merge leaves conflicts, which `--check` does not
    report."""
    try:
        trial.run(*_APPLY, "--3way", "--cached", "-", stdin=patch)
    except LocalGitFailed as error:
        rows = trial.text("ls-files", "--unmerged", "-z").rstrip("\0").split("\0")
        paths = dict.fromkeys(row.partition("\t")[2] for row in rows if row)
        conflicts = "\n".join(f"error: {path}: it conflicts with your version" for path in paths)
        raise LocalGitFailed(conflicts or error.message) from None
    if trial.succeeds("diff", "--cached", "--quiet"):
        raise _already()


def _already() -> CliError:
    return CliError("the patch is already applied", "nothing is changed")


def _fits(trial: LocalGit, patch: bytes, *options: str) -> bool:
    """Whether the patch applies to the present files. git checks all files before it writes."""
    try:
        trial.run(*_APPLY, *options, "--check", "-", stdin=patch)
    except LocalGitFailed:
        return False
    return True


def _next_step(git: LocalGit, base: str, message: str) -> str:
    if any(phrase in message for phrase in _IN_THE_WAY):
        return (
            "commit your versions of these files, or set them aside (git stash -u); then try again"
        )
    if git.succeeds("cat-file", "-e", f"{base}^{{commit}}"):
        short = base[:12]
        return f"apply it to the commit of the job's start, then merge: git switch -c NAME {short}"
    missing = f"this repository lacks the commit {base[:12]}, from which the job started"
    return f"{missing}: git fetch, then try again"


def _lines(message: str) -> str:
    """The first errors of git's message on one line, with our own text for known errors on a
    file."""
    lines = message.splitlines()
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")] or lines
    ours: dict[str, str] = {}
    for rule, words in _OURS:
        for match in [matched for line in errors if (matched := rule.fullmatch(line))]:
            ours.setdefault(match[1], f"{match[1]} {words}")
            errors.remove(match[0])
    prefixes = tuple(f"{path}: " for path in ours)
    errors = [*ours.values(), *(line for line in errors if not line.startswith(prefixes))]
    more = f" (and {len(errors) - _SHOWN} more)" if len(errors) > _SHOWN else ""
    return "; ".join(errors[:_SHOWN]) + more
