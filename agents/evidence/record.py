"""The record of a verification, as in the state and in the event `verified`. Pure.

Why: docs/decisions/0018-the-first-attempt.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypedDict

from agents.graph.state import State
from agents.texts import head_and_tail
from sandbox.protocol import RunResult, Stream

Source = Literal["job", "checks", "model", "default", "program"]
"""Who declared the command; `program`: nobody, the job's last program is the evidence."""
NOT_EXECUTABLE: Final = "not executable work"
OUTPUT_KEPT = 2_000
"""Characters of each output of an experiment."""


class Experiment(TypedDict):
    """One run of the command with the files `replaced` unable to load. It should fail."""

    replaced: list[str]
    still_green: bool
    end: str
    exit_code: int | None
    stdout: Mapping[str, Any]
    stderr: Mapping[str, Any]
    seconds: float


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
    )


def experiment(replaced: list[str], *, green: bool, result: RunResult) -> Experiment:
    """The record of one experiment."""
    return Experiment(
        replaced=replaced,
        still_green=green,
        end=result.end.value,
        exit_code=result.exit_code,
        stdout=_cut(result.stdout),
        stderr=_cut(result.stderr),
        seconds=round(result.seconds, 3),
    )


def _cut(stream: Stream) -> dict[str, Any]:
    text = head_and_tail(stream.text, OUTPUT_KEPT)
    return {"text": text, "dropped_bytes": stream.dropped_bytes, "digest": None}
