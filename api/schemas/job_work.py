"""The work of a job in responses: its plan, its runs and their evidence."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import Field

from api.schemas.fields import ResponseModel, Time
from jobs.model.event_data.evidence import CritiquedData, VerifiedData
from jobs.model.event_data.model_calls import RoutedData
from jobs.model.event_data.plans import PlannedData
from jobs.model.event_data.work import RepairedData
from jobs.model.run_data import RunData

Part = Literal["code", "stdout", "stderr"]


class Route(RoutedData):
    """The router's choice for a job with the model `auto`."""

    at: Time


class StepTime(ResponseModel):
    """The time of work on a step, without waits for a person or a worker."""

    started_at: Time | None = Field(description="the first start")
    seconds: float = Field(description="the finished time")
    since: Time | None = Field(
        description="the beginning of the present time, which `seconds` does not include; null: "
        "the job does not work on the step"
    )


class Plan(PlannedData):
    """The steps and their source; `progress` is the executor's report on each step, and `times` are
    the times of each step; both null without such a report."""

    progress: list[Literal["todo", "begun", "done"]] | None
    times: list[StepTime] | None
    at: Time


class Run(RunData):
    """One execution of code in the sandbox."""

    at: Time


class Repair(RepairedData):
    """A verification that succeeded after a failed one."""

    at: Time


class Verification(VerifiedData):
    """The evidence for the files after a revision or a person's edit: the command and its run, and
    each experiment on it. `strength` is the number of small changes of the code that the command
    noticed, the number of tried changes, and the unnoticed changes; null: no change was tried.
    `functions` are the changed functions that it executed, and the others; null: not measured.
    `notes` weaken the evidence, but do not prevent an approval. `own_word`: only the program itself
    verifies its result. `judged_by` is `exit_code` without a report of each test."""

    at: NotRequired[Time]


class Critique(CritiquedData):
    """The critic's judgement of the evidence."""

    at: Time
