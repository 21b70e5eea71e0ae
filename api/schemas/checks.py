"""Acceptance checks: as they are asked for, and what came of them."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from api.schemas.job_fields import Label
from api.schemas.wire import Asked, Told
from jobs.run_data import CheckOutcome, JudgedBy
from jobs.spec import Priority

MOST_FILES = 50
MOST_BYTES = 512 * 1024
COMMAND_CHARACTERS = 2_000


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


class ChecksRequest(Asked):
    """Tests that have to pass. They are laid over a copy of the workspace, never into it."""

    files: dict[str, str] = Field(
        min_length=1,
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


class VerificationRequest(Asked):
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
        default_factory=dict, description="text files that are laid over that, by relative path"
    )
    checks: ChecksRequest
    timeout_seconds: int | None = Field(None, ge=1, description="bound on the running time")
    priority: Priority = Field(Priority.NORMAL, description="orders claims among waiting jobs")
    labels: list[Label] = Field(
        default_factory=list, max_length=20, description="words to find the verification by"
    )


class CheckSpec(Told):
    """Checks as they were asked for; GET /jobs/{id}/files?at=checks tells what is in the files."""

    files: list[str]
    command: str | None = None


class Test(Told):
    """One test. `missing`: it is in the files, and was not heard of."""

    id: str
    outcome: CheckOutcome
    detail: str = ""


class CheckReport(Told):
    """What the judge found."""

    revision: int | None = Field(None, description="the revision that was checked")
    passed: bool
    judged_by: JudgedBy | None = Field(
        None,
        description="what decided: each test by itself, whether a script came to its own end, or "
        "a command's exit code alone (which tests ran, nobody has seen); null in older reports",
    )
    problem: str | None = Field(
        None, description="what else stands in the way: time, no Python, a judge tampered with"
    )
    tests: list[Test]
    run: dict[str, Any] = Field(description="how it ended, and what the tests printed")
    seconds: float
