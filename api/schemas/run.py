"""Runs and artifacts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from api.schemas.wire import Time, Told
from jobs.run_data import FailureKind, RunEnd, TestOutcome

Part = Literal["code", "stdout", "stderr"]


class Artifact(Told):
    """A file that a run or a tool has made."""

    name: str
    digest: str = Field(description="sha256 of its bytes")
    size: int = Field(description="bytes")
    media_type: str
    href: str = ""


class ArtifactList(Told):
    """What runs and tools have made, newest versions."""

    artifacts: list[Artifact]


class Text(Told):
    """A text; where it is long, its head and tail."""

    text: str
    dropped_bytes: int = Field(0, description="bytes that nobody has kept")
    digest: str | None = Field(None, description="sha256 of the whole, where `text` is cut")
    href: str = Field("", description="the whole as text/plain")


class Failure(Told):
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


class RunTest(Told):
    """One test of a run."""

    id: str
    outcome: TestOutcome
    detail: str = Field("", description="where and why it failed")


class RunTests(Told):
    """Tests that a run made, those that went wrong first."""

    counts: dict[str, int] = Field(default_factory=dict, description="how many, by outcome")
    tests: list[RunTest] = Field(default_factory=list, description="at most 200 of them")


class Lines(Told):
    """How much was changed."""

    added: int
    removed: int


class Repair(Told):
    """A run of what was changed after a run that failed."""

    run: str
    of: str = Field(description="the run that had failed")
    kind: FailureKind = Field(alias="class", description="of that failure")
    cause: str = Field(description="of that failure, in one line")
    diff: Text = Field(description="all that was changed between the two runs, unified")
    lines: Lines
    model: str = Field(description="the model that made it")
    level: int = Field(description="its place in the escalation chain, from 0")
    attempt: int = Field(description="which one it is since a failure was last mended, from 1")
    revision: int
    fixed: bool = Field(description="whether the run succeeded")
    closed: list[str] = Field(
        default_factory=list,
        description="the failed runs that it has shown to be mended, or stands for where it failed",
    )
    same: Literal["code", "failure"] | None = Field(
        description="what it left as it was: all of the code, the failure, or null"
    )
    step: int | None = Field(None, description="the step of the plan, where steps go side by side")
    at: Time


class Run(Told):
    """One execution of code in the sandbox."""

    id: str
    number: int
    revision: int
    by: str = Field(description="who asked for it: executor, or the name of a key")
    tool: str = Field("python", description="what it is a run of: python, shell or run_tests")
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
    tests: RunTests | None = Field(None, description="of run_tests: what each test did")
    step: int | None = Field(None, description="the step of the plan, where steps go side by side")
    at: Time
