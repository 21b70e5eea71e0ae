"""Runs and artifacts: as events carry them (`jobs.model`), with their times."""

from __future__ import annotations

from typing import Literal, NotRequired

from api.schemas.wire import ResponseModel, Time
from jobs.model.event_data import RepairedData, VerifiedData
from jobs.model.run_data import ArtifactData, RunData

Part = Literal["code", "stdout", "stderr"]


class ArtifactList(ResponseModel):
    """Files that runs and tools made, in their newest versions."""

    artifacts: list[ArtifactData]


class Verification(VerifiedData):
    """The evidence for the files after a revision or a person's edit: the command and its run, and
    each experiment on it. `strength` is the number of small changes of the code that the command
    noticed, of those that were tried, with the unnoticed changes; null: none was tried. `functions`
    are the changed functions that it executed, and those that it did not; null: not measured.
    `notes` weaken the evidence and block no approval. `own_word`: a program is verified by itself
    alone. `judged_by` is `exit_code` if there is no report of each test."""

    at: NotRequired[Time]


class Repair(RepairedData):
    """A verification that succeeded after a failed one."""

    at: Time


class Run(RunData):
    """One execution of code in the sandbox."""

    at: Time
