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

from cli.client.events import Event


@dataclass(frozen=True, slots=True)
class Candidate:
    """Files by path and digest, and the number of the run whose program is the solution."""

    versions: Mapping[str, str] = field(default_factory=dict)
    program: int | None = None


def first_attempt(events: Iterable[Event], solution: str, given: Iterable[str] = ()) -> Candidate:
    """The job's first attempt; `given` are its first files."""
    versions: dict[str, str] = {}
    there = set(given)
    for event in events:
        if event.kind == "begun_anew":
            versions.clear()
        for made in _made(event):
            versions[made["name"]] = made["digest"]
        missing = solution not in versions and solution not in there
        if event.kind == "run_finished":
            return Candidate(versions, event.data["number"] if missing else None)
        if event.kind == "answered":
            break
    return Candidate(versions)


def stand_in(runs: Sequence[Mapping[str, Any]]) -> int | None:
    """The run whose program replaces a solution file that was never saved: the last successful
    Python run."""
    runs = [run for run in runs if run.get("tool", "python") == "python"]
    numbers = [run["number"] for run in runs if run["succeeded"]] or [run["number"] for run in runs]
    return numbers[-1] if numbers else None


def _made(event: Event) -> Iterable[Mapping[str, Any]]:
    if event.kind not in ("run_finished", "tool_used"):
        return ()
    made: Iterable[Mapping[str, Any]] = event.data.get("artifacts", ())
    return made
