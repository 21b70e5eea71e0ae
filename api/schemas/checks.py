"""Acceptance checks: requests and reports."""

from __future__ import annotations

import shlex
from typing import Annotated, NotRequired, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from api.schemas.fields import Label, RequestModel, ResponseModel, Time
from jobs.model.run_data import CheckReportData
from jobs.model.spec import Priority

MOST_FILES = MOST_CASES = 50
MOST_BYTES = 512 * 1024
COMMAND_CHARACTERS = 2_000
ARGV_CHARACTERS = 4_096
PATTERN_CHARACTERS = 1_000
"""Patterns are not compiled here: some of 500 characters (`(?i)` with wide ranges) take seconds."""


def _splits(command: str) -> str:
    if len(command) > COMMAND_CHARACTERS:
        return command  # the field's own limit refuses it; splitting it would be slow
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise PydanticCustomError(
            "command", "it cannot be split into words: {reason}", {"reason": str(error)}
        ) from None
    if not words or any("\0" in word for word in words):
        raise PydanticCustomError("command", "it has no words, or a word with a NUL character")
    return command


def _words(argv: list[str]) -> list[str]:
    if not argv[0] or any("\0" in word for word in argv):
        raise PydanticCustomError("argv", "it has no program, or a word with a NUL character")
    if sum(map(len, argv)) > ARGV_CHARACTERS:
        raise PydanticCustomError(
            "argv", "its words may have at most {limit} characters", {"limit": ARGV_CHARACTERS}
        )
    return argv


class CaseRequest(RequestModel):
    """A program to start over a copy of the workspace, and its expected outcome."""

    argv: Annotated[list[str], AfterValidator(_words)] = Field(
        min_length=1, max_length=64, description="the program and its arguments; no shell runs it"
    )
    name: str | None = Field(
        None, min_length=1, max_length=80, description="its name in reports; else its number"
    )
    stdin: str = Field("", description="the program's input")
    files: dict[str, str] = Field(
        default_factory=dict,
        max_length=MOST_FILES,
        description="text files that are added to the copy first, by relative path",
    )
    exit_code: int = Field(0, ge=0, le=255, description="the expected exit code")
    stdout: str | None = Field(None, description="the exact expected output")
    stdout_matches: str | None = Field(
        None,
        max_length=PATTERN_CHARACTERS,
        description="a Python regular expression that the whole output must match; `.` also "
        "matches line ends. An invalid one is an `error` of the case",
    )
    expect_files: dict[str, str] = Field(
        default_factory=dict,
        max_length=MOST_FILES,
        description="the exact expected contents of files, by relative path",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.stdout is not None and self.stdout_matches is not None:
            raise PydanticCustomError("case", "it may have stdout or stdout_matches, not both")
        return self


class ChecksRequest(RequestModel):
    """Acceptance checks. Each runs over a copy of the workspace, never in it."""

    files: dict[str, str] = Field(
        default_factory=dict,
        max_length=MOST_FILES,
        description="test files and their data, by relative path",
    )
    command: Annotated[str, AfterValidator(_splits)] | None = Field(
        None,
        min_length=1,
        max_length=COMMAND_CHARACTERS,
        description="null, `pytest ...` and `python -m unittest ...` are judged by pytest's report "
        "of each test, any other command by its exit code. No shell runs it",
    )
    cases: list[CaseRequest] = Field(
        default_factory=list,
        max_length=MOST_CASES,
        description="programs to start; their output and files are compared outside the sandbox",
    )

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.files and (self.command is not None or not self.cases):
            raise PydanticCustomError(
                "checks", "it needs files or cases, and a command needs files"
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
        None, max_length=100, description="the job whose present workspace is the base"
    )
    files: dict[str, str] = Field(
        default_factory=dict, description="text files that are added to the base, by relative path"
    )
    checks: ChecksRequest
    timeout_seconds: int | None = Field(None, ge=1, description="limit of the running time")
    priority: Priority = Field(Priority.NORMAL, description="the order among waiting jobs")
    labels: list[Label] = Field(
        default_factory=list, max_length=20, description="labels to find the verification by"
    )


class CheckSpec(ResponseModel):
    """The requested checks; GET /jobs/{id}/files?at=checks lists the files."""

    files: list[str]
    command: str | None = None
    cases: list[str] = Field(
        default_factory=list,
        description="their ids; GET /jobs/{id}/files/.fettle/cases.json?at=checks has the cases",
    )


class CheckReport(CheckReportData):
    """The report of the judge; `revision` is the one that was checked."""

    revision: NotRequired[int | None]
    at: NotRequired[Time]
