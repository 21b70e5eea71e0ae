"""A run, its failure, its artifacts and a report of checks, as events carry them."""

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
"""How a run ended: `sandbox.protocol.End`, which this package does not know."""
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
"""What kind of failure it was: `agents.failures.failure.FailureClass`."""
Tool = TypeAliasType("Tool", Literal["python", "shell", "verify"])
"""What a run was made with: `agents.tools`."""
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
    """The event of a branch has its step's number in the plan."""

    step: NotRequired[int]


class TextData(TypedDict):
    """A text. Of a long one `text` is head and tail, and `digest` names the whole in the artifact
    store; `dropped_bytes` counts what was not kept. The API adds `href`, the path of the whole."""

    text: str
    dropped_bytes: int
    digest: str | None
    href: NotRequired[str]


class ArtifactData(TypedDict):
    """A file that was made; `digest` is the sha256 of its bytes. The API adds `href`, its path.
    `description` is the text in a picture: for a chart of matplotlib its axes, labels, ranges and
    numbers of points."""

    name: str
    digest: str
    size: int
    media_type: str
    description: NotRequired[str]
    href: NotRequired[str]


class _FailureData(TypedDict):
    cause: str
    exception: NotRequired[str | None]
    file: NotRequired[str | None]
    line: NotRequired[int | None]


_Class = TypedDict("_Class", {"class": FailureKind})  # a word of Python's


class FailureData(_FailureData, _Class):
    """Why a run failed; `file` and `line` are where, in the job's own code."""


class RunTestData(TypedDict):
    """One test of a run."""

    id: str
    outcome: TestOutcome
    detail: NotRequired[str]


class RunTestsData(TypedDict):
    """Tests that a run made; `counts` is how many by outcome."""

    counts: dict[str, int]
    tests: list[RunTestData]


class RunData(StepOfBranch):
    """A run. `on` and `workspace` are the digests of the files before and after it, null for none;
    `tool` is python where it is missing, else shell or verify; `tests` is of the latter, of tests
    that pytest ran; `wall_seconds` of a shell that
    was given less time than the job's limit."""

    id: str
    number: int
    revision: int
    by: str
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
    tool: NotRequired[Tool]
    failure: NotRequired[FailureData | None]
    on: NotRequired[str | None]
    workspace: NotRequired[str | None]
    tests: NotRequired[RunTestsData]
    wall_seconds: NotRequired[float]


class CheckTestData(TypedDict):
    """One test of the checks. `missing`: it is in their files, but was not reported."""

    id: str
    outcome: CheckOutcome
    detail: NotRequired[str]


class CheckRunData(TypedDict):
    """How the checks' own run ended."""

    end: RunEnd
    exit_code: int | None
    signal: int | str | None
    stdout: TextData


class CheckReportData(TypedDict):
    """The report of acceptance checks. `problem` is a reason against them that is not the outcome
    of a test."""

    passed: bool
    problem: str | None
    tests: list[CheckTestData]
    run: CheckRunData
    seconds: float
    judged_by: NotRequired[JudgedBy]
