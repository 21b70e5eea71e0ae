"""CheckSpec: the acceptance checks that a job carries."""

from __future__ import annotations

from dataclasses import dataclass

CASES_PATH = ".fettle/cases.json"
"""Where the manifest of the checks has their cases, in the form that `POST /jobs` takes."""


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """Test files with a command, and cases. `manifest` is the digest of the manifest of the files,
    which are no part of the workspace, and of the cases; `paths` are the test files' names;
    `command` None: pytest on them; `cases` are the cases' ids.
    """

    manifest: str
    paths: tuple[str, ...]
    command: str | None = None
    cases: tuple[str, ...] = ()
