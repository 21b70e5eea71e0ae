"""The record of a verification, as in the state and in the event `verified`. Pure.

See ADR 18.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypedDict

from agents.state import State
from agents.texts import head_and_tail
from sandbox.protocol import RunResult, Stream

Source = Literal["job", "checks", "model", "default", "program", "answer"]
"""Who declared the command. `program`: the job's last program is the evidence. `answer`: the task
only asks a question, and the critic judges the answer on the files."""
NOT_EXECUTABLE: Final = "nothing to run"
MARKERS_LEFT: Final = "conflict markers are left"
"""Begins the problem of a rebase or a follow-up with an unresolved conflict."""
OUTPUT_KEPT = 2_000
"""Characters of each output of an experiment."""


ExperimentKind = Literal["before", "unloadable"]
JudgedBy = Literal["report", "exit_code"]


class Experiment(TypedDict):
    """One run of the command over changed files. It should fail."""

    kind: ExperimentKind
    """`before`: the files `replaced` have their state before the job. `unloadable`: they cannot
    load."""
    replaced: list[str]
    still_green: bool
    undecided: bool
    """A limit ended the run, so it shows nothing."""
    end: str
    exit_code: int | None
    stdout: Mapping[str, Any]
    stderr: Mapping[str, Any]
    seconds: float


class UnnoticedMutation(TypedDict):
    """A small change of the code after which the verification still passes."""

    path: str
    line: int
    """The number of the line, from 1."""
    before: str
    after: str
    """The line before and after the change."""


class Strength(TypedDict):
    """How many of the mutations that were tried the verification notices."""

    noticed: int
    tried: int
    untried: int
    """The number of mutations for which no time was left."""
    unnoticed: list[UnnoticedMutation]


class ChangedFunctions(TypedDict):
    """Which of the functions that the job wrote or changed the verification executes. Names are
    `path::qualified.name`."""

    executed: list[str]
    not_executed: list[str]


class Verification(TypedDict):
    """The verification of the files of digest `workspace`. `run` is the run that the verdict rests
    on, `command` its text. `problem` says why it is no evidence; None if it `holds`."""

    revision: int
    source: Source | None
    command: str | None
    run: str | None
    holds: bool
    problem: str | None
    experiments: list[Experiment]
    workspace: str | None
    strength: Strength | None
    """None: no mutation was tried."""
    functions: ChangedFunctions | None
    """None: it was not measured."""
    notes: list[str]
    """Facts that weaken the evidence and do not block an approval, one sentence each."""
    own_word: bool
    """Only the program itself verifies its result, by its exit code."""
    judged_by: JudgedBy | None
    """Whether a report of each test exists, or only the exit code decided."""


def unverified(state: State, problem: str | None) -> Verification:
    """A verification without a run."""
    return Verification(
        revision=state["revision"],
        source=None,
        command=None,
        run=None,
        holds=problem is None,
        problem=problem,
        experiments=[],
        workspace=state.get("workspace"),
        strength=None,
        functions=None,
        notes=[],
        own_word=False,
        judged_by=None,
    )


def experiment(
    kind: ExperimentKind, replaced: list[str], *, green: bool, result: RunResult
) -> Experiment:
    """The record of one experiment."""
    return Experiment(
        kind=kind,
        replaced=replaced,
        still_green=green,
        undecided=False,
        end=result.end.value,
        exit_code=result.exit_code,
        stdout=_cut(result.stdout),
        stderr=_cut(result.stderr),
        seconds=round(result.seconds, 3),
    )


def _cut(stream: Stream) -> dict[str, Any]:
    text = head_and_tail(stream.text, OUTPUT_KEPT)
    return {"text": text, "dropped_bytes": stream.dropped_bytes, "digest": None}
