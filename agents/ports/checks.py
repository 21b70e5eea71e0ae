"""The acceptance checks that a caller sends with a job. `agents.checks` runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Case:
    """A program, its input, and what it must leave. `argv` runs without a shell.

    `stdout` is the exact text, `stdout_matches` a regular expression for all of it (a dot matches
    any character). `files` are added to the workspace first; `expect_files` are texts by path.
    """

    id: str
    argv: tuple[str, ...]
    stdin: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    exit_code: int = 0
    stdout: str | None = None
    stdout_matches: str | None = None
    expect_files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checks:
    """Test files by relative path with a command line (None: pytest on them), and cases.

    The command is split as a shell would, and runs without a shell.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    command: str | None = None
    cases: tuple[Case, ...] = ()

    @property
    def names(self) -> list[str]:
        """The files' paths and the cases' ids."""
        return [*sorted(self.files), *(case.id for case in self.cases)]
