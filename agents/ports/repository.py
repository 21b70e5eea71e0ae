"""The facts about a job's repository that the graph uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Patch(Protocol):
    """A change in git's format, with its counts; lines of binary files do not count."""

    @property
    def content(self) -> bytes: ...

    @property
    def files(self) -> int: ...

    @property
    def insertions(self) -> int: ...

    @property
    def deletions(self) -> int: ...

    @property
    def lfs(self) -> tuple[str, ...]:
        """Changed files that Git LFS would store. The patch has their bytes instead of a
        pointer."""
        ...


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """The facts about a repository that prompts have."""

    commit: str
    """The id of the commit, in hexadecimal."""
    files: int
    """The number of files."""
    layout: tuple[str, ...] = ()
    """The first directories, with the number of their files."""
    guidance: tuple[tuple[str, str], ...] = ()
    """The repository's texts for people and agents who change it: (path, text)."""
    verify: tuple[str, ...] = ()
    """The command that runs the repository's tests; empty: no command is known."""
    test_directories: tuple[str, ...] = ()
    """The directories of the tests for pytest, the most usual one first."""
    test_names: tuple[str, ...] = ()
    """The names of files with tests for pytest, as patterns."""
    setup: str = ""
    """The command that installs the repository's dependencies; empty: no command is known."""
    installed: bool = False
    """Whether `setup` has run."""
    missing: tuple[str, ...] = ()
    """Submodules and LFS objects of the commit that are not in the working directory, with the
    reasons: sentences."""


@dataclass(frozen=True, slots=True)
class Rebased:
    """An earlier change that the job continues, merged onto the job's own commit."""

    base: str
    """The commit of the change, in hexadecimal."""
    conflicts: tuple[str, ...] = ()
    """git's message about each conflict that the merge left in the files."""
    follow_up: bool = False
    """Whether the job has another task than the change."""
