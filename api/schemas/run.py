"""Runs and artifacts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from api.schemas.wire import ResponseModel, Time
from jobs.model.event_data import Source
from jobs.model.run_data import FailureKind, RunEnd, TestOutcome, Tool

Part = Literal["code", "stdout", "stderr"]


class Artifact(ResponseModel):
    """A file that a run or a tool made."""

    name: str
    digest: str = Field(description="sha256 of its bytes")
    size: int = Field(description="bytes")
    media_type: str
    href: str = ""


class ArtifactList(ResponseModel):
    """Files that runs and tools made, in their newest versions."""

    artifacts: list[Artifact]


class Text(ResponseModel):
    """A text; of a long one, head and tail."""

    text: str
    dropped_bytes: int = Field(0, description="bytes that were not stored")
    digest: str | None = Field(None, description="sha256 of the complete text, where `text` is cut")
    href: str = Field("", description="the complete text as text/plain")


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
    """The tests of a run, failed ones first."""

    counts: dict[str, int] = Field(default_factory=dict, description="number of tests by outcome")
    tests: list[RunTest] = Field(default_factory=list, description="at most 200 tests")


class Lines(ResponseModel):
    """Numbers of changed lines."""

    added: int
    removed: int


class Experiment(ResponseModel):
    """The verification run again with source files replaced by ones that cannot load."""

    replaced: list[str] = Field(description="paths of the replaced files")
    still_green: bool = Field(
        description="it succeeded nevertheless, so it does not test these files"
    )
    end: RunEnd
    exit_code: int | None
    stdout: Text
    stderr: Text
    seconds: float


class Verification(ResponseModel):
    """The evidence for the files after a revision or a person's edit."""

    revision: int
    source: Source | None = Field(
        description="the command's source; program: the job leaves no source files, and "
        "its last program is the result. null: nothing was run"
    )
    command: str | None
    run: str | None = Field(description="the verification's run")
    holds: bool = Field(description="whether it counts as evidence")
    problem: str | None = Field(description="why it does not")
    experiments: list[Experiment] = Field(default_factory=list)
    workspace: str | None = Field(None, description="digest of the verified files")
    at: Time | None = None


class Repair(ResponseModel):
    """A verification that succeeded after a failed one."""

    run: str
    of: str = Field(description="the failed run")
    kind: FailureKind = Field(alias="class", description="the failure's class")
    cause: str = Field(description="the failure's cause in one line")
    diff: Text = Field(description="all changes between the two runs, unified")
    lines: Lines
    model: str = Field(description="the model that made it")
    level: int = Field(description="its place in the escalation chain, from 0")
    attempt: int = Field(description="the number of attempts since the last fixed failure, from 1")
    revision: int
    fixed: bool = Field(
        description="whether the run succeeded; false only of older releases, which reported each "
        "run after a failed one"
    )
    closed: list[str] = Field(
        default_factory=list, description="of older releases: the failed runs that it fixed"
    )
    same: Literal["code", "failure"] | None = Field(
        None, description="of older releases: what it left unchanged"
    )
    step: int | None = Field(None, description="the plan's step, where steps run in parallel")
    at: Time


class Run(ResponseModel):
    """One execution of code in the sandbox."""

    id: str
    number: int
    revision: int
    by: str = Field(description="the author: executor, or the name of a key")
    tool: Tool = Field("python", description="the tool; run_tests: of older releases")
    code: Text = Field(description="the program, or the command line")
    end: RunEnd = Field(description="exited, or the limit that stopped it")
    exit_code: int | None
    signal: int | str | None = None
    stdout: Text
    stderr: Text
    seconds: float
    succeeded: bool
    failure: Failure | None = Field(None, description="why it failed; null where it succeeded")
    artifacts: list[Artifact] = Field(default_factory=list)
    refused: list[str] = Field(
        default_factory=list, description="files that were not stored, and why"
    )
    tests: RunTests | None = Field(
        None, description="of a verification with pytest: the outcome of each test"
    )
    step: int | None = Field(None, description="the plan's step, where steps run in parallel")
    at: Time
