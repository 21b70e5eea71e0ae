"""What the graph knows of the repository that a job works on."""

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


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What prompts say of a repository.

    `commit` in hexadecimal, `files` how many it has, `layout` what its first directories hold.
    `guidance` are the texts that it has for those who work on it: (path, text). `verify` is the
    command that runs its tests, by its own configuration; empty where none is known. `setup` is the
    command that installs its dependencies, empty where none is known; `installed`: it has run.
    """

    commit: str
    files: int
    layout: tuple[str, ...] = ()
    guidance: tuple[tuple[str, str], ...] = ()
    verify: tuple[str, ...] = ()
    setup: str = ""
    installed: bool = False


@dataclass(frozen=True, slots=True)
class Rebased:
    """An approved change that the job carries on: it was made on the commit `base` (hexadecimal),
    and has been merged onto the job's own. `conflicts` is what git says of each conflict that this
    left in the files."""

    base: str
    conflicts: tuple[str, ...] = ()
