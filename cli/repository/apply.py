"""A job's patch onto the user's work tree: all of it, or nothing.

It is tried first with an index and objects of its own, where a conflict shows and changes nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

from cli.errors import CliError
from cli.repository.git import Git, GitFailed, apart, top_of

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
"""git's words on a file, and ours: the first that fit count, and all others on the file go."""
TITLE = "the patch was not applied, and nothing is changed"


def apply(folder: Path, patch: bytes, base: str) -> bool:
    """Apply `patch`, of the commit `base`, to the work tree that `folder` is in.

    By three-way merge, into the index, too (True). Where the files that it changes have other
    changes already, as those that the job started from, only if it fits them as they are, and to
    the work tree alone (False). Raises CliError.
    """
    git = top_of(folder)
    git.succeeds("update-index", "-q", "--refresh")  # or a touched file counts as a changed one
    _require_clean_index(git)
    how = _how(git, patch, base)
    try:
        git.run(*_APPLY, *how, "-", stdin=patch)
    except GitFailed as error:
        step = "`git status` shows what was written"
        raise CliError("git stopped while it applied the patch", _lines(error.said), step) from None
    return bool(how)


def _require_clean_index(git: Git) -> None:
    if not git.succeeds("diff", "--cached", "--quiet", "--no-ext-diff", "--no-textconv"):
        detail = "the index has changes that are not committed, or files that are not merged"
        raise CliError(TITLE, detail, "commit them or set them aside (git stash), then again")


def _how(git: Git, patch: bytes, base: str) -> tuple[str, ...]:
    """The options with which all of it applies. Raises CliError where none do."""
    with apart(git) as (trial, _):
        try:
            trial.run(*_APPLY, "--3way", "--check", "-", stdin=patch)
            _merge(trial, patch)
        except GitFailed as error:
            if not _fits(trial, patch):
                if _fits(trial, patch, "--reverse"):
                    raise _already() from None
                step = _next_step(git, base, error.said)
                raise CliError(TITLE, _lines(error.said), step) from None
            return ()
    return ("--3way",)


def _merge(trial: Git, patch: bytes) -> None:
    """Raise GitFailed where the three-way merge leaves conflicts, which `--check` does not say."""
    try:
        trial.run(*_APPLY, "--3way", "--cached", "-", stdin=patch)
    except GitFailed as error:
        rows = trial.text("ls-files", "--unmerged", "-z").rstrip("\0").split("\0")
        paths = dict.fromkeys(row.partition("\t")[2] for row in rows if row)
        said = "\n".join(f"error: {path}: it conflicts with your version" for path in paths)
        raise GitFailed(said or error.said) from None
    if trial.succeeds("diff", "--cached", "--quiet"):
        raise _already()


def _already() -> CliError:
    return CliError("the patch is here already", "nothing is changed")


def _fits(trial: Git, patch: bytes, *how: str) -> bool:
    """Whether it applies to the files as they are; git checks all before it writes one."""
    try:
        trial.run(*_APPLY, *how, "--check", "-", stdin=patch)
    except GitFailed:
        return False
    return True


def _next_step(git: Git, base: str, said: str) -> str:
    if any(each in said for each in _IN_THE_WAY):
        return (
            "commit your own versions of these files, or set them aside (git stash -u), then again"
        )
    if git.succeeds("cat-file", "-e", f"{base}^{{commit}}"):
        short = base[:12]
        return f"apply it where the job started, then merge: git switch -c NAME {short}"
    return f"the job started from the commit {base[:12]}, which is not here: git fetch, then again"


def _lines(said: str) -> str:
    """The first errors of what git says, on one line: one for each file that we have words on."""
    lines = said.splitlines()
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")] or lines
    ours: dict[str, str] = {}
    for rule, words in _OURS:
        for match in [found for line in errors if (found := rule.fullmatch(line))]:
            ours.setdefault(match[1], f"{match[1]} {words}")
            errors.remove(match[0])
    known = tuple(f"{path}: " for path in ours)
    errors = [*ours.values(), *(line for line in errors if not line.startswith(known))]
    more = f" (and {len(errors) - _SHOWN} more)" if len(errors) > _SHOWN else ""
    return "; ".join(errors[:_SHOWN]) + more
