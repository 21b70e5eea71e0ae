"""The acceptance checks that a caller sends with a job. `agents.checks` runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Case:
    """A program, its input, and its expected result."""

    id: str
    argv: tuple[str, ...]
    """Runs without a shell."""
    stdin: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that are added to the workspace first: texts by path."""
    exit_code: int = 0
    stdout: str | None = None
    """The exact text; None: any text."""
    stdout_matches: str | None = None
    """A regular expression for the full text, in which a dot matches any character."""
    expect_files: Mapping[str, str] = field(default_factory=dict)
    """The exact texts of files after the run, by path."""


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
