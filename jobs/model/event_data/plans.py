"""Events of questions, plans, their steps and their branches."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from jobs.model.run_data import ArtifactData


class QuestionData(TypedDict):
    """A question of the planner."""

    question: str
    default: str
    """The answer that counts if no person answers."""


class AskedData(TypedDict):
    """The planner asks a person."""

    questions: list[QuestionData]
    note: str


class PlannedData(TypedDict):
    """The job has a plan."""

    steps: list[str]
    source: Literal["model", "caller", "default"]
    note: str | None
    waves: NotRequired[list[list[int]]]
    """The numbers of the steps that run in parallel, if the job asks for parallel steps."""


class StepData(TypedDict):
    """The executor has started or finished a step of the plan."""

    step: int
    """The number of the step, from 1."""
    revision: int
    text: NotRequired[str]
    """The report of a branch that has finished."""
    runs: NotRequired[list[str]]
    """The ids of the runs of a branch that has finished."""


class ConflictData(TypedDict):
    """A file that branches have changed in different ways."""

    path: str
    steps: list[int]
    """The numbers of these branches' steps."""
    copies: list[str]
    """The paths at which the version of each branch is kept."""
    what: str
    """The kind of conflict."""


class LeftOutData(TypedDict):
    """A branch of the plan that was left out of the merge."""

    step: int
    why: str


class MergedData(TypedDict):
    """The files of branches were merged into one workspace."""

    steps: list[int]
    files: list[str]
    """The paths that the merge wrote or removed."""
    conflicts: list[ConflictData]
    combined: NotRequired[list[str]]
    """The texts in which several branches changed different lines. Older events lack it."""
    left_out: list[LeftOutData]
    artifacts: list[ArtifactData]
