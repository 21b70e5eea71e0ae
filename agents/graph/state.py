"""State: what the graph knows of a job between two steps.

Plain values and LangChain messages only: a checkpoint must be readable without this code. The
workspace is no part of it; it is a port. What grows (messages, runs) is kept as a delta channel,
so that a long job's checkpoints grow linearly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph.message import _messages_delta_reducer

Run = dict[str, Any]
"""A run as `jobs.events` lists it: {id, number, revision, by, code, end, ...}."""

ArtifactFields = dict[str, Any]
"""{name, digest, size, media_type}"""


def text_in(run: Run, part: str) -> str:
    """The text of a run's `code`, `stdout` or `stderr`; empty where its record has none."""
    return str((run.get(part) or {}).get("text", ""))


def appended(state: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    """The reducer of a list that only grows; the same however writes are batched."""
    return [*state, *(item for write in writes for item in write)]


Messages = Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]
Runs = Annotated[list[Run], DeltaChannel(appended)]
Growing = Annotated[list[dict[str, Any]], DeltaChannel(appended)]


class JobFields(TypedDict):
    """What was asked; see `agents.graph.job_input.JobInput`. `reopened_for` is the id of the job
    that has continued the graph after its end without an approval."""

    task: str
    steps: list[str]
    review: bool
    max_revisions: int
    on_exhausted: str
    earlier: list[dict[str, str]]
    files: list[str]
    checks: NotRequired[bool]
    write_tests: NotRequired[bool]
    questions: NotRequired[bool]
    parallel: NotRequired[bool]
    verify: NotRequired[list[str]]
    evidence: NotRequired[str]
    reopened_for: NotRequired[str]


class Feedback(TypedDict):
    """What the next pass of the executor has to fix; `by` is `critic` or a person's name."""

    by: str
    text: str


class State(TypedDict, total=False):
    """The graph's state. `revision` counts the executor's passes from 1.

    `level` is the rung of the models' escalation chain that the job has come to, `workspace` the
    digest of the files as the last pass or edit left them, `edits` the files as each edit left them
    ({revision, workspace, artifacts}). `checked` is the last report of the
    acceptance checks, with the revision that it is of, `reports` are all of them; `tests` those
    that the tester wrote, by path, and `interface` what they take for granted of the code; `asked`
    the planner's questions ({question, default}), `clarified` their answers ({question, answer,
    by}). `verifications` are those of each pass and each edit, see `agents.evidence.record`.

    Of a plan whose steps are taken side by side: `waves` are their numbers, of which the first
    `merged` waves have ended; `branches` what each has come to, see `agents.nodes.branch`;
    `conflicts` and `left_out` what did not go together, as the event `merged` tells it.
    """

    job: JobFields
    plan: list[str]
    messages: Messages
    revision: int
    answers: Growing
    edits: Growing
    runs: Runs
    level: int
    workspace: str | None
    checked: dict[str, Any] | None
    reports: Growing
    verifications: Growing
    tests: dict[str, str]
    interface: str
    asked: list[dict[str, str]]
    clarified: list[dict[str, str]]
    waves: list[list[int]]
    merged: int
    branches: Growing
    conflicts: list[dict[str, Any]]
    left_out: list[dict[str, Any]]
    artifacts: dict[str, ArtifactFields]
    feedback: Feedback | None
    critiques: Growing
    decisions: Growing
    approved_by: str | None
    override: bool
    exhausted: bool
    summary: str
