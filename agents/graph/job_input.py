"""The graph's input: the fields of a job, as its state stores them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Literal

from agents.ports.repository import Rebased
from agents.state import EarlierJob, JobFields, State

MOST_EARLIER = 3
"""Ended jobs of the conversation that the prompts show."""


def job_fields(
    task: str,
    *,
    steps: Iterable[str] = (),
    steps_after: Iterable[Iterable[int] | None] = (),
    max_revisions: int = 3,
    on_exhausted: Literal["accept", "fail"] = "fail",
    earlier: Iterable[EarlierJob] = (),
    files: Iterable[str] = (),
    inputs: Iterable[str] = (),
    contents: Mapping[str, str] | None = None,
    repository_map: str = "",
    rebased: Rebased | None = None,
    start: str | None = None,
    checks: bool = False,
    write_tests: bool = False,
    questions: bool = False,
    parallel: bool = False,
    verify: Iterable[str] = (),
    evidence: Literal["run", "none"] = "run",
) -> JobFields:
    """The fields of a job with their defaults; `JobFields` describes them. `earlier` are the
    ended jobs of the conversation, oldest first: the last MOST_EARLIER are kept."""
    return JobFields(
        task=task,
        steps=list(steps),
        steps_after=[None if after is None else list(after) for after in steps_after],
        max_revisions=max_revisions,
        on_exhausted=on_exhausted,
        earlier=list(earlier)[-MOST_EARLIER:],
        files=sorted(files),
        inputs=list(inputs),
        contents=dict(contents or {}),
        repository_map=repository_map,
        rebased=asdict(rebased) if rebased else None,
        start=start,
        checks=checks,
        write_tests=write_tests,
        questions=questions,
        parallel=parallel,
        verify=list(verify),
        evidence=evidence,
    )


def initial_state(job: JobFields) -> State:
    """The state that a job's first attempt starts from."""
    return State(
        job=job,
        revision=0,
        artifacts={},
        feedback=None,
        approved_by=None,
        override=False,
        exhausted=False,
    )
