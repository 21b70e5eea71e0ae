"""JobInput: the graph's input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from agents.ports import Earlier
from agents.ports.repository import Rebased
from agents.state import State

EARLIER_SHOWN = 3
"""Finished jobs of the conversation that the planner and the executor see."""


@dataclass(frozen=True, slots=True)
class JobInput:
    """A job as the graph sees it.

    `steps` is the caller's own plan, `files` the paths that the workspace starts with. Prompts show
    `contents`, the texts of files by path, and `inputs`, descriptions of the other files
    (`agents.runs.start_files`), and `repository_map`, the map of a repository's source files
    (`agents.runs.symbols`). `rebased` is the change that the workspace starts with. `start` is
    the digest of the workspace's files before the job changes them (None: it has no files, or those
    of the repository's commit). `earlier` are the finished jobs of the conversation, oldest first.
    `verify` is the argv of the verification. `evidence` "none": the
    critic may approve work that cannot be executed. `checks`: the job has acceptance checks, which
    are in the ports. `write_tests`: a tester writes tests first. `questions`: the planner may ask
    the person about the task. `parallel`: independent steps may run at the same time.
    """

    task: str
    steps: tuple[str, ...] = ()
    max_revisions: int = 3
    on_exhausted: Literal["accept", "fail"] = "fail"
    earlier: tuple[Earlier, ...] = ()
    files: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    contents: Mapping[str, str] = field(default_factory=dict)
    repository_map: str = ""
    rebased: Rebased | None = None
    start: str | None = None
    checks: bool = False
    write_tests: bool = False
    questions: bool = False
    parallel: bool = False
    verify: tuple[str, ...] = ()
    evidence: Literal["run", "none"] = "run"


def initial_state(job: JobInput) -> State:
    """The state that a job's first attempt starts from."""
    return State(
        job={
            "task": job.task,
            "steps": list(job.steps),
            "max_revisions": job.max_revisions,
            "on_exhausted": job.on_exhausted,
            "earlier": [
                {"task": each.task, "summary": each.summary}
                for each in job.earlier[-EARLIER_SHOWN:]
            ],
            "files": sorted(job.files),
            "inputs": list(job.inputs),
            "contents": dict(job.contents),
            "repository_map": job.repository_map,
            "rebased": asdict(job.rebased) if job.rebased else None,
            "start": job.start,
            "checks": job.checks,
            "write_tests": job.write_tests,
            "questions": job.questions,
            "parallel": job.parallel,
            "verify": list(job.verify),
            "evidence": job.evidence,
        },
        revision=0,
        artifacts={},
        feedback=None,
        approved_by=None,
        override=False,
        exhausted=False,
    )
