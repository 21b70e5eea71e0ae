"""Events of the work on a step: tools, repairs, answers."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from jobs.model.run_data import ArtifactData, FailureKind, StepOfBranch, TextData


class ToolUsedData(StepOfBranch):
    """A tool was used that makes no run of the job."""

    tool: str
    path: str | None
    ok: bool
    note: NotRequired[str]
    artifacts: NotRequired[list[ArtifactData]]
    """The files that the tool wrote."""
    diff: NotRequired[str]
    """The change of a file that existed before, as a unified diff. Missing if it has more than
    16,000 characters."""
    by: NotRequired[str]
    """`critic`, or the name of the key of a person who edited the file. Missing: the executor."""
    output: NotRequired[str]
    """The report of the critic's `run_again`, cut to size. This run does not count as a run of the
    job: its files are dropped, and it cannot verify the work."""


class LinesData(TypedDict):
    """The size of a change."""

    added: int
    removed: int


class _RepairedData(StepOfBranch):
    run: str
    """The id of the run that ended well."""
    of: str
    """The id of the run that had failed."""
    cause: str
    """The cause of that failure."""
    diff: TextData
    """The change between both runs."""
    lines: LinesData
    model: str
    level: int
    """The position of the model in the executor's chain of stronger models, from 0."""
    attempt: int
    """The number of the try, from 1."""
    revision: int


_Class = TypedDict("_Class", {"class": FailureKind})  # `class` is a keyword of Python


class RepairedData(_RepairedData, _Class):
    """A verification ended well after a verification had failed."""


class AnsweredData(TypedDict):
    """The executor has answered at the end of a pass."""

    revision: int
    text: str


class SummarizedData(TypedDict):
    """The conversation has a summary of the job."""

    text: str
