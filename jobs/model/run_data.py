"""The data of runs, failures, artifacts and check reports in events."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypeAliasType, TypedDict

RunEnd = TypeAliasType(
    "RunEnd",
    Literal[
        "exited",
        "signaled",
        "timeout",
        "cpu",
        "memory",
        "output",
        "disk",
        "processes",
        "killed",
    ],
)
"""How a run ended. The same values as `sandbox.protocol.End`, which this package cannot import."""
FailureKind = TypeAliasType(
    "FailureKind",
    Literal[
        "syntax",
        "import",
        "type",
        "name",
        "key",
        "value",
        "assertion",
        "file",
        "recursion",
        "zero_division",
        "timeout",
        "memory",
        "output_flood",
        "network_denied",
        "test_failure",
        "unknown",
    ],
)
"""The kind of failure. The same values as `agents.failures.failure.FailureClass`."""
Tool = TypeAliasType("Tool", Literal["python", "shell", "verify"])
"""The tool that made a run: see `agents.tools`."""
TestOutcome = TypeAliasType(
    "TestOutcome", Literal["passed", "failed", "error", "skipped", "not_run"]
)
CheckOutcome = TypeAliasType(
    "CheckOutcome", Literal["passed", "failed", "error", "missing", "skipped"]
)
JudgedBy = TypeAliasType("JudgedBy", Literal["tests", "script", "exit_code", "cases"])
"""How the test files of acceptance checks are judged: by pytest's report of each test, or by an
exit code alone. `cases`: there are no test files. Release 0.1 also wrote `script`: a script reached
its end."""


class StepOfBranch(TypedDict):
    """Data that may come from a branch."""

    step: NotRequired[int]
    """The number of the branch's step in the plan."""


class TextData(TypedDict):
    """A text."""

    text: str
    """The text, or its head and tail if it is long."""
    dropped_bytes: int
    """The bytes that `text` leaves out."""
    digest: str | None
    """The digest of the full text in the artifact store. Null: `text` is the full text."""
    href: NotRequired[str]
    """The path of the full text. The API adds it."""


class ArtifactData(TypedDict):
    """A file that a run or a tool has written."""

    name: str
    digest: str
    """The sha256 of its bytes, hexadecimal."""
    size: int
    """The size in bytes."""
    media_type: str
    description: NotRequired[str]
    """The text in a picture. For a chart of matplotlib: its axes, labels, ranges and numbers of
    points."""
    href: NotRequired[str]
    """The path of the file. The API adds it."""


class _FailureData(TypedDict):
    cause: str
    exception: NotRequired[str | None]
    file: NotRequired[str | None]
    """The position in the job's own code."""
    line: NotRequired[int | None]
    """The number of the line, from 1."""


_Class = TypedDict("_Class", {"class": FailureKind})  # `class` is a keyword of Python


class FailureData(_FailureData, _Class):
    """Why a run failed."""


class RunTestData(TypedDict):
    """One test of a run."""

    id: str
    outcome: TestOutcome
    detail: NotRequired[str]


class RunTestsData(TypedDict):
    """The tests of a run."""

    counts: dict[str, int]
    """The number of tests by outcome."""
    tests: list[RunTestData]


class RunData(StepOfBranch):
    """A run has ended."""

    id: str
    number: int
    """Counts the job's runs, from 1."""
    revision: int
    by: str
    """The model that wrote the code, or the person who edited it."""
    code: TextData
    end: RunEnd
    exit_code: int | None
    signal: int | str | None
    stdout: TextData
    stderr: TextData
    seconds: float
    succeeded: bool
    artifacts: list[ArtifactData]
    refused: list[str]
    """The files that were not kept, each with the reason."""
    tool: NotRequired[Tool]
    """Missing: `python`."""
    failure: NotRequired[FailureData | None]
    on: NotRequired[str | None]
    """The digest of the files before the run. Null: no files."""
    workspace: NotRequired[str | None]
    """The digest of the files after the run. Null: no files."""
    tests: NotRequired[RunTestsData]
    """The tests, if the tool is `verify` and the command is pytest."""
    wall_seconds: NotRequired[float]
    """The time limit of a shell, if it is less than the job's limit."""


class CheckTestData(TypedDict):
    """One test of the checks."""

    id: str
    outcome: CheckOutcome
    """`missing`: the files have the test, but it was not reported."""
    detail: NotRequired[str]


class CheckRunData(TypedDict):
    """The run of the checks."""

    end: RunEnd
    exit_code: int | None
    signal: int | str | None
    stdout: TextData


class CheckReportData(TypedDict):
    """The result of the checks."""

    passed: bool
    problem: str | None
    """A reason against the work that is not the outcome of a test."""
    tests: list[CheckTestData]
    run: CheckRunData
    seconds: float
    judged_by: NotRequired[JudgedBy]
    """`tests`: each test was reported. `script`: the script reached its end. `exit_code`: only the
    exit code of the command counts. `cases`: only the cases count."""
