"""The files of a job that are judged. Pure.

The **first attempt** is the workspace after the executor's first run, or at its first answer, if it
answered before any run. The model makes later changes after it has seen an outcome: they are
repairs. If the workspace does not have the file that the tests import, the program of that run
takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.benchmarks import ObservedEvent


@dataclass(frozen=True, slots=True)
class Candidate:
    """Files by path and digest, and the number of the run with the program that is the solution."""

    versions: Mapping[str, str] = field(default_factory=dict)
    program: int | None = None


def first_attempt(
    events: Iterable[ObservedEvent], solution: str, start_paths: Iterable[str] = ()
) -> Candidate:
    """The job's first attempt; `start_paths` are the paths of the files that the job began with."""
    versions: dict[str, str] = {}
    existing = set(start_paths)
    for event in events:
        if event.kind == "begun_anew":
            versions.clear()
        for artifact in _artifacts_of(event):
            versions[artifact["name"]] = artifact["digest"]
        missing = solution not in versions and solution not in existing
        if event.kind == "run_finished":
            return Candidate(versions, event.data["number"] if missing else None)
        if event.kind == "answered":
            break
    return Candidate(versions)


def stand_in(runs: Sequence[Mapping[str, Any]]) -> int | None:
    """The run with the program that replaces a solution file that was never saved: the last
    successful Python run."""
    runs = [run for run in runs if run.get("tool", "python") == "python"]
    numbers = [run["number"] for run in runs if run["succeeded"]] or [run["number"] for run in runs]
    return numbers[-1] if numbers else None


def _artifacts_of(event: ObservedEvent) -> Iterable[Mapping[str, Any]]:
    if event.kind not in ("run_finished", "tool_used"):
        return ()
    artifacts: Iterable[Mapping[str, Any]] = event.data.get("artifacts", ())
    return artifacts
