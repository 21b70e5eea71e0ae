"""Which new files of a job git ignores, by the ignore rules in the job's final files."""

from __future__ import annotations

import pytest
from support.servers.git_repositories import Repository

from worker.failures import Fail, classify_failure
from worker.repositories.errors import RepositoryRefused

FILES = {
    ".gitignore": b"*.log\n/build/\n",
    "src/.gitignore": b"*.so\n!kept.so\n",
    "old/.gitignore": b"*\n",
    "tracked.log": b"x\n",
}
NEW = (
    "a.log",
    "build/x/y.txt",
    "src/build/a.c",
    "src/a.so",
    "src/kept.so",
    "old/a",
    "\u00e9.log",
)


async def ignored(project: Repository, uploads, changed, removed=()) -> set[str]:
    base = await uploads.base(project.bundle())
    return set(await base.ignored(dict.fromkeys(changed, b""), frozenset(removed)))


async def test_new_files_that_the_rules_name(project: Repository, uploads) -> None:
    project.commit(FILES)
    assert await ignored(project, uploads, (*NEW, "tracked.log")) == {
        *("a.log", "build/x/y.txt", "src/a.so", "old/a", "\u00e9.log"),
    }
    assert await ignored(project, uploads, ["a.c"]) == set()


async def test_rules_that_the_job_wrote_count(project: Repository, uploads) -> None:
    project.commit(FILES)
    base = await uploads.base(project.bundle())
    changed = {".gitignore": b"*.c\n", "a.log": b"", "a.c": b"", "old/a": b""}
    assert await base.ignored(changed, frozenset({"old/.gitignore"})) == {"a.c"}


async def test_a_tree_without_rules_ignores_nothing(project: Repository, uploads) -> None:
    project.commit({"a.py": b""})
    assert await ignored(project, uploads, NEW) == set()


async def test_rules_that_take_too_long_end_the_job(project: Repository, uploads) -> None:
    """A second try would take as long, so this is not an outage."""
    project.commit({"a.py": b""})
    bundle = project.bundle()
    await uploads.base(bundle)
    base = await uploads.base(bundle, repo_seconds=3)
    changed = {".gitignore": b"**/a/" * 12 + b"b\n", "a/" * 60 + "c": b""}
    with pytest.raises(RepositoryRefused, match=r"git check-ignore took longer than 3 s") as raised:
        await base.ignored(changed, frozenset())
    assert isinstance(classify_failure(raised.value), Fail)


async def test_rules_at_the_top_count_before_many_others(project: Repository, uploads) -> None:
    """Both the ignore files of the commit and those of the job."""
    project.commit({".gitignore": b"*.log\n", "d/.gitignore": b"*.tmp\n"})
    ignore_files = {f"made/n{number}/.gitignore": b"*\n" for number in range(510)}
    files = {**ignore_files, "a.log": b"", "d/a.tmp": b"", "made/n0/a": b"", "made/n99/a": b""}
    base = await uploads.base(project.bundle())
    ignored_paths = await base.ignored(files, frozenset())
    assert {"a.log", "d/a.tmp", "made/n0/a"} <= ignored_paths
    assert "made/n99/a" not in ignored_paths  # the last rules by name exceed the limit


async def test_rules_that_are_too_long_do_not_count(project: Repository, uploads) -> None:
    project.commit({"a.py": b""})
    base = await uploads.base(project.bundle())
    long = b"*.log\n" * 2**16
    assert await base.ignored({".gitignore": long, "a.log": b""}, frozenset()) == frozenset()
    short = {".gitignore": long[:600], ".gitignore/.gitignore": b"", "a.log": b""}
    assert await base.ignored(short, frozenset()) == {"a.log"}
