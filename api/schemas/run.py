"""Runs and artifacts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from api.schemas.wire import ResponseModel, Time
from jobs.model.event_data import Source
from jobs.model.run_data import FailureKind, RunEnd, TestOutcome, Tool

Part = Literal["code", "stdout", "stderr"]


class Artifact(ResponseModel):
    """A file that a run or a tool has made."""

    name: str
    digest: str = Field(description="sha256 of its bytes")
    size: int = Field(description="bytes")
    media_type: str
    href: str = ""


class ArtifactList(ResponseModel):
    """What runs and tools have made, newest versions."""

    artifacts: list[Artifact]


class Text(ResponseModel):
    """A text; where it is long, its head and tail."""

    text: str
    dropped_bytes: int = Field(0, description="bytes that were not kept")
    digest: str | None = Field(None, description="sha256 of the whole, where `text` is cut")
    href: str = Field("", description="the whole as text/plain")


class Failure(ResponseModel):
    """Why a run failed."""

    kind: FailureKind = Field(alias="class")
    cause: str = Field(description="in one line")
    exception: str | None = Field(
        None, description="the type of the exception that ended the program, if one did"
    )
    file: str | None = Field(
        None, description="where it was raised in the job's own code; /run/main.py: the program"
    )
    line: int | None = Field(None, description="of that file, from 1")


class RunTest(ResponseModel):
    """One test of a run."""

    id: str
    outcome: TestOutcome
    detail: str = Field("", description="where and why it failed")


class RunTests(ResponseModel):
    """Tests that a run made, those that went wrong first."""

    counts: dict[str, int] = Field(default_factory=dict, description="how many, by outcome")
    tests: list[RunTest] = Field(default_factory=list, description="at most 200 of them")


class Lines(ResponseModel):
    """How much was changed."""

    added: int
    removed: int


class Experiment(ResponseModel):
    """The verification run again with source files replaced by ones that cannot load."""

    replaced: list[str] = Field(description="paths of these files")
    still_green: bool = Field(
        description="it ended well all the same, so that it does not exercise them"
    )
    end: RunEnd
    exit_code: int | None
    stdout: Text
    stderr: Text
    seconds: float


class Verification(ResponseModel):
    """Whether what a pass, or a person's edit, has left is shown to work."""

    revision: int
    source: Source | None = Field(
        description="where the command comes from; program: the job leaves no source files, and "
        "its last program is the work. null: nothing was run"
    )
    command: str | None
    run: str | None = Field(description="the run that it rests on")
    holds: bool = Field(description="whether it is evidence")
    problem: str | None = Field(description="why not")
    experiments: list[Experiment] = Field(default_factory=list)
    workspace: str | None = Field(None, description="digest of the files that it is about")
    at: Time | None = None


class Repair(ResponseModel):
    """A verification that ended well after one that had failed."""

    run: str
    of: str = Field(description="the run that had failed")
    kind: FailureKind = Field(alias="class", description="of that failure")
    cause: str = Field(description="of that failure, in one line")
    diff: Text = Field(description="all that was changed between the two runs, unified")
    lines: Lines
    model: str = Field(description="the model that made it")
    level: int = Field(description="its place in the escalation chain, from 0")
    attempt: int = Field(description="which one it is since a failure was last fixed, from 1")
    revision: int
    fixed: bool = Field(
        description="whether the run succeeded; false only of older releases, which reported each "
        "run after a failed one"
    )
    closed: list[str] = Field(
        default_factory=list, description="of older releases: the failed runs that it has closed"
    )
    same: Literal["code", "failure"] | None = Field(
        None, description="of older releases: what it left as it was"
    )
    step: int | None = Field(None, description="the step of the plan, where steps go side by side")
    at: Time


class Run(ResponseModel):
    """One execution of code in the sandbox."""

    id: str
    number: int
    revision: int
    by: str = Field(description="who asked for it: executor, or the name of a key")
    tool: Tool = Field("python", description="what it is a run of; run_tests: of older releases")
    code: Text = Field(description="the program, or the command line")
    end: RunEnd = Field(description="how it ended: exited, or the limit that it hit")
    exit_code: int | None
    signal: int | str | None = None
    stdout: Text
    stderr: Text
    seconds: float
    succeeded: bool
    failure: Failure | None = Field(None, description="why it failed; null where it succeeded")
    artifacts: list[Artifact] = Field(default_factory=list)
    refused: list[str] = Field(
        default_factory=list, description="files that were not taken over, and why"
    )
    tests: RunTests | None = Field(
        None, description="of verify, where pytest ran: what each test did"
    )
    step: int | None = Field(None, description="the step of the plan, where steps go side by side")
    at: Time
