"""The repositories of a chaos run: the demo's project, with another commit every few jobs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from cli.demo.jobs import begin_project
from cli.repository.bundle import bundle

JOBS_EACH = 20
"""The number of jobs on one commit, so that kills meet workers that make a layer, and workers that
have it already.
"""


class Repositories:
    """Not safe for use by several threads."""

    def __init__(self) -> None:
        self._next_number = 0
        self._bundle = b""

    def next(self) -> bytes:
        """The git bundle of the next job."""
        if self._next_number % JOBS_EACH == 0:
            self._bundle = _bundle(self._next_number)
        self._next_number += 1
        return self._bundle


def _bundle(number: int) -> bytes:
    with TemporaryDirectory(prefix="fettle-chaos-") as folder:
        project = begin_project(Path(folder) / "project")
        (project / "NUMBER").write_text(f"{number}\n")
        return bundle(project, dirty=True)
