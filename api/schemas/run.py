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
    """The evidence for the files after a revision or a person's edit."""

    at: NotRequired[Time]


class Repair(RepairedData):
    """A verification that succeeded after a failed one."""

    at: Time


class Run(RunData):
    """One execution of code in the sandbox."""

    at: Time
