"""Events of tests, verifications, acceptance checks and critiques."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypeAliasType, TypedDict

from jobs.model.run_data import CheckReportData, RunEnd, TextData

Source = TypeAliasType("Source", Literal["job", "checks", "model", "default", "program", "answer"])
Verdict = TypeAliasType("Verdict", Literal["approve", "revise"])


class DroppedData(TypedDict):
    """A test that was dropped, because it proves nothing."""

    id: str
    why: str


class TestsWrittenData(TypedDict):
    """The tester has written acceptance tests."""

    files: list[str]
    """The paths of the test files."""
    tests: list[str]
    """The ids of the tests."""
    dropped: list[DroppedData]
    interface: str
    """The names that the tests expect in the solution."""
    note: str


class ExperimentData(TypedDict):
    """The verification was run again over changed files, to see whether it fails."""

    kind: NotRequired[Literal["before", "unloadable"]]
    """`before`: the files `replaced` have their state before the job. `unloadable` (the default):
    they cannot load."""
    replaced: list[str]
    """The paths of the changed files."""
    still_green: bool
    """The verification passed although the files were changed."""
    undecided: NotRequired[bool]
    """A limit ended the run, so it shows nothing."""
    end: RunEnd
    exit_code: int | None
    stdout: TextData
    stderr: TextData
    seconds: float


class UnnoticedMutationData(TypedDict):
    """A small change of the code after which the verification still passes."""

    path: str
    line: int
    """The number of the line, from 1."""
    before: str
    """The line before the change."""
    after: str
    """The line after the change."""


class StrengthData(TypedDict):
    """How many mutations of the code the verification notices."""

    noticed: int
    tried: int
    untried: NotRequired[int]
    """The mutations for which no time remained."""
    unnoticed: list[UnnoticedMutationData]


class ChangedFunctionsData(TypedDict):
    """Which of the functions that the job wrote or changed the verification executes, as
    `path::qualified.name`."""

    executed: list[str]
    not_executed: list[str]


class VerifiedData(TypedDict):
    """The verification of a pass, or of a person's edit: whether its files are shown to work."""

    revision: int
    source: Source | None
    """The source of the command. `program`: the job leaves no source files, and its last program is
    the work. Null: no command was run."""
    command: str | None
    run: str | None
    """The id of the run of the command over exactly these files."""
    holds: bool
    """The run ended well, and the experiments show that it can fail."""
    problem: str | None
    """Why the run is no evidence."""
    experiments: list[ExperimentData]
    workspace: str | None
    """The digest of the files."""
    strength: NotRequired[StrengthData | None]
    """Null: no mutation was tried."""
    functions: NotRequired[ChangedFunctionsData | None]
    """Null: it was not measured."""
    notes: NotRequired[list[str]]
    """Facts that weaken the evidence and do not block an approval, one sentence each."""
    own_word: NotRequired[bool]
    """Only the program itself verifies its result, by its exit code."""
    judged_by: NotRequired[Literal["report", "exit_code"] | None]
    """Whether a report of each test exists, or only the exit code decided."""


class CheckedData(CheckReportData):
    """The acceptance checks were run."""

    revision: int | None
    """Null: the job is a verification."""


class UnmetData(TypedDict):
    """A criterion of the task that the work does not meet."""

    criterion: str
    location: str
    """A place in the files, such as `shop.py:12`. May be empty."""
    reason: str


class CritiquedData(TypedDict):
    """The critic has judged the work."""

    revision: int
    verdict: Verdict
    feedback: str
    run: NotRequired[str | int | None]
    """Written by Fettle 0.1.0: the first of `runs`."""
    runs: NotRequired[list[str]]
    """The ids of the runs that the verdict names."""
    score: NotRequired[float | None]
    """Written by Fettle 0.1.0."""
    failed: NotRequired[list[str]]
    """Written by Fettle 0.1.0 instead of `unmet`."""
    unmet: NotRequired[list[UnmetData]]
    overruled: NotRequired[str | None]
    """Why the critic's own verdict did not count."""
    by: NotRequired[Literal["critic", "rules"]]
    ends: NotRequired[str | None]
    """Why the job ends although it may make further revisions."""
    checks: NotRequired[dict[str, int] | None]
    """The number of acceptance checks that passed, and their total number."""
