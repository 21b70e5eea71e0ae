"""Acceptance checks: as they are asked for, and what came of them."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from api.schemas.fields import Label
from api.schemas.wire import RequestModel, ResponseModel
from jobs.model.run_data import CheckOutcome, JudgedBy
from jobs.model.spec import Priority

MOST_FILES = MOST_CASES = 50
MOST_BYTES = 512 * 1024
COMMAND_CHARACTERS = 2_000
ARGV_CHARACTERS = 4_096
PATTERN_CHARACTERS = 1_000
"""It is not compiled here: some of 500 characters (`(?i)` with wide ranges) take seconds."""


def _splits(command: str) -> str:
    if len(command) > COMMAND_CHARACTERS:
        return command  # which the field's own limit refuses, and splitting would take its time
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise PydanticCustomError(
            "command", "it cannot be split: {why}", {"why": str(error)}
        ) from None
    if not words or any("\0" in word for word in words):
        raise PydanticCustomError("command", "it has no words, or one that no program can be given")
    return command


def _words(argv: list[str]) -> list[str]:
    if not argv[0] or any("\0" in word for word in argv):
        raise PydanticCustomError("argv", "it has no program, or a word that none can be given")
    if sum(map(len, argv)) > ARGV_CHARACTERS:
        raise PydanticCustomError(
            "argv", "its words have {limit} characters at most", {"limit": ARGV_CHARACTERS}
        )
    return argv


class CaseRequest(RequestModel):
    """A program that is started over a copy of the workspace, and what it must leave."""

    argv: Annotated[list[str], AfterValidator(_words)] = Field(
        min_length=1, max_length=64, description="the program and its arguments; no shell runs it"
    )
    name: str | None = Field(
        None, min_length=1, max_length=80, description="what reports call it; else its number"
    )
    stdin: str = Field("", description="what it reads")
    files: dict[str, str] = Field(
        default_factory=dict,
        max_length=MOST_FILES,
        description="texts that are put over the workspace first, by relative path",
    )
    exit_code: int = Field(0, ge=0, le=255, description="the code that it must end with")
    stdout: str | None = Field(None, description="what it must print, exactly")
    stdout_matches: str | None = Field(
        None,
        max_length=PATTERN_CHARACTERS,
        description="a regular expression (of Python) that all it prints must match; `.` is any "
        "character, line ends too. It is compiled where it is matched: an invalid one is an "
        "`error` of the case",
    )
    expect_files: dict[str, str] = Field(
        default_factory=dict,
        max_length=MOST_FILES,
        description="texts that files must have afterwards, exactly, by relative path",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.stdout is not None and self.stdout_matches is not None:
            raise PydanticCustomError("case", "it has either stdout or stdout_matches")
        return self


class ChecksRequest(RequestModel):
    """What has to hold. Each is tried over a copy of the workspace, never in it."""

    files: dict[str, str] = Field(
        default_factory=dict,
        max_length=MOST_FILES,
        description="test files, and what they need, by relative path",
    )
    command: Annotated[str, AfterValidator(_splits)] | None = Field(
        None,
        min_length=1,
        max_length=COMMAND_CHARACTERS,
        description="null, `pytest ...` or `python -m unittest ...`: test by test; `python FILE` "
        "of these files: it must reach its end; else its exit code decides. No shell runs it",
    )
    cases: list[CaseRequest] = Field(
        default_factory=list,
        max_length=MOST_CASES,
        description="programs to start; what they print and leave is compared elsewhere",
    )

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.files and (self.command is not None or not self.cases):
            raise PydanticCustomError(
                "checks", "it has no files and no cases, or a command without files"
            )
        return self


class VerificationRequest(RequestModel):
    """The body of POST /verifications."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "files": {"solution.py": "def add(a, b):\n    return a + b\n"},
                    "checks": {
                        "files": {
                            "test_add.py": "from solution import add\n\n\n"
                            "def test_add():\n    assert add(1, 2) == 3\n"
                        }
                    },
                }
            ]
        }
    )

    job_id: str | None = Field(
        None, max_length=100, description="the job whose workspace, as it stands, is the base"
    )
    files: dict[str, str] = Field(
        default_factory=dict, description="text files that are added to that, by relative path"
    )
    checks: ChecksRequest
    timeout_seconds: int | None = Field(None, ge=1, description="bound on the running time")
    priority: Priority = Field(Priority.NORMAL, description="orders claims among waiting jobs")
    labels: list[Label] = Field(
        default_factory=list, max_length=20, description="words to find the verification by"
    )


class CheckSpec(ResponseModel):
    """Checks as they were asked for; GET /jobs/{id}/files?at=checks lists the files."""

    files: list[str]
    command: str | None = None
    cases: list[str] = Field(
        default_factory=list,
        description="their ids; GET /jobs/{id}/files/.fettle/cases.json?at=checks has all of them",
    )


class Test(ResponseModel):
    """One test or case. `missing`: it is one of the checks, and was not reported."""

    id: str
    outcome: CheckOutcome
    detail: str = ""


class Notice(ResponseModel):
    """A line of the solution that names what tests are run with: `gc`, `sys.modules`."""

    file: str
    line: int
    what: str


class CheckReport(ResponseModel):
    """What the judge found."""

    revision: int | None = Field(None, description="the revision that was checked")
    passed: bool
    judged_by: JudgedBy | None = Field(
        None,
        description="what decided: each test by itself, whether a script came to its own end, a "
        "command's exit code alone (which tests ran is not known), or cases alone; with files "
        "and cases, how the files were judged; null in older reports",
    )
    problem: str | None = Field(
        None, description="what else stands in the way: time, no Python, a judge tampered with"
    )
    tests: list[Test]
    notices: list[Notice] = Field(
        default_factory=list, description="they decide nothing: where to look before approving"
    )
    run: dict[str, Any] = Field(description="how it ended, and what the tests printed")
    seconds: float
