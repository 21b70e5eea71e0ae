"""Events of a job on a repository: the fetch, the installation of dependencies, the delivery."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict


class FetchStartedData(TypedDict):
    """The worker fetches the job's repository and checks it out."""

    url: str | None
    """Null: the repository was uploaded."""
    ref: str | None
    """A branch, a tag or a commit. Null: HEAD."""


class FilesMissingData(TypedDict):
    """The job does not have the content of all files of its commit."""

    missing: list[str]
    """The files, with the reasons: sentences."""


class SetupLeftOutData(TypedDict):
    """No dependencies were installed, because the operator allows no hosts to load them from."""

    command: str
    """The command that the repository's files suggest."""


class SetupStartedData(TypedDict):
    """The installation of the repository's dependencies has started."""

    command: str


class SetupFinishedData(TypedDict):
    """The installation of the repository's dependencies has ended."""

    command: str
    ok: bool
    reused: bool
    """Another job had installed the same dependencies before."""
    seconds: float
    output: str
    """The end of the command's output."""


class PatchData(TypedDict):
    """The change in a repository: see `jobs.model.record.PatchRef`."""

    digest: str
    size: int
    files: int
    insertions: int
    deletions: int
    base: str
    lfs: NotRequired[list[str]]


class DeliveredData(TypedDict):
    """The change was pushed: see `jobs.model.record.Push`."""

    branch: str
    commit: str
    pull_request: str | None
    base: str | None
    base_moved: bool
    note: str
