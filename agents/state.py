"""State: the data of a job that the graph keeps between two steps.

It has plain values and LangChain messages only: a checkpoint must be readable without this code.
The workspace is a port and no part of the state. Lists that grow (messages, runs) are delta
channels, so that the checkpoints of a long job grow linearly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph.message import _messages_delta_reducer
from typing_extensions import TypedDict

Run = dict[str, Any]
"""A run as `jobs.model.events` lists it: {id, number, revision, by, code, end, ...}."""

ArtifactFields = dict[str, Any]
"""{name, digest, size, media_type}, and for a chart its `description`."""


def text_in(run: Run, part: str) -> str:
    """The text of a run's `code`, `stdout` or `stderr`; empty if its record has none."""
    return str((run.get(part) or {}).get("text", ""))


def appended(state: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    """The reducer of a list that only grows. The batching of writes does not matter."""
    return [*state, *(item for write in writes for item in write)]


def is_paused(state: Mapping[str, Any]) -> bool:
    """Whether the last pass was stopped so that a person can look at a run."""
    answers = state.get("answers") or [{}]
    return bool(answers[-1].get("paused"))


Messages = Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]
Runs = Annotated[list[Run], DeltaChannel(appended)]
Growing = Annotated[list[dict[str, Any]], DeltaChannel(appended)]


class EarlierJob(TypedDict):
    """A job of the conversation that has ended."""

    task: str
    summary: str
    """The answer in short, and the end of the job."""
    words: NotRequired[list[str]]
    """The messages, remarks, answers and comments of persons about the job, oldest first, each with
    its author. Earlier releases wrote them into `summary`."""


class JobFields(TypedDict):
    """The request of a job, as nodes and prompts read it. Fields that can be missing came with
    later formats of checkpoints."""

    task: str
    steps: list[str]
    """The caller's own plan; empty if the planner makes the plan."""
    steps_after: NotRequired[list[list[int] | None]]
    """For each of `steps` the numbers of the steps that it needs; None: all earlier steps. Empty:
    it is not known."""
    max_revisions: int
    on_exhausted: str
    """`accept` or `fail`: how a job without an approval ends after its last revision."""
    earlier: list[EarlierJob]
    """The last ended jobs of the conversation, oldest first."""
    files: list[str]
    """The paths that the workspace starts with, sorted."""
    inputs: NotRequired[list[str]]
    """Descriptions of files that are not in `contents` (`agents.runs.start_files`)."""
    contents: NotRequired[dict[str, str]]
    """The texts of files by path, which prompts show."""
    repository_map: NotRequired[str]
    """The map of a repository's source files (`agents.runs.symbols`)."""
    rebased: NotRequired[dict[str, Any] | None]
    """The change that the workspace starts with: `agents.ports.repository.Rebased`."""
    start: NotRequired[str | None]
    """The digest of the workspace's files before the job changes them. None: it has no files, or
    the files of the repository's commit."""
    checks: NotRequired[bool]
    """The job has acceptance checks (`Ports.checks`)."""
    write_tests: NotRequired[bool]
    """A tester writes tests first."""
    questions: NotRequired[bool]
    """The planner may ask a person about the task."""
    parallel: NotRequired[bool]
    """Independent steps may run at the same time."""
    verify: NotRequired[list[str]]
    """The argv of the verification; empty if the model declares it."""
    evidence: NotRequired[str]
    """`none`: the critic may approve work that cannot be executed; otherwise `run`."""
    reopened_for: NotRequired[str]
    """The id of the job that has continued the graph after its end without an approval."""
    judged_before: NotRequired[int]
    """The number of critiques before `reopened_for` continued the graph."""


class Feedback(TypedDict):
    """What the next pass of the executor has to fix; `by` is `critic` or a person's name."""

    by: str
    text: str


class State(TypedDict, total=False):
    """The graph's state. Checkpoints have the names of these fields."""

    job: JobFields
    plan: list[str]
    only_answer: bool
    """By the plan, the task only asks a question."""
    keeps_behaviour: bool
    """By the plan, the task must not change the behaviour of the code."""
    messages: Messages
    revision: int
    """The number of the executor's last pass, from 1."""
    answers: Growing
    edits: Growing
    """Each edit by a person: {revision, workspace, artifacts, by, changes, refused}. `changes` has
    {path, diff} of each file that the person wrote; `refused` is why they were not written, or
    None. Earlier releases have neither these two nor `by`."""
    runs: Runs
    level: int
    """The job's position in the executor's chain of models."""
    workspace: str | None
    """The digest of the files after the last pass or edit."""
    checked: dict[str, Any] | None
    """The last report of the acceptance checks, with its revision."""
    reports: Growing
    """The reports of the acceptance checks."""
    verifications: Growing
    """One record for each pass and each edit (`agents.evidence.record`)."""
    tests: dict[str, str]
    """The tester's files, by path."""
    interface: str
    """The interface of the code that the tester's files expect."""
    asked: list[dict[str, str]]
    """The planner's questions: {question, default}."""
    clarified: list[dict[str, str]]
    """The answers to the planner's questions: {question, answer, by}."""
    waves: list[list[int]]
    """The numbers of the steps that run in parallel, by wave."""
    merged: int
    """The number of waves that have ended."""
    branches: Growing
    """The result of each parallel step (`agents.nodes.branches`)."""
    conflicts: list[dict[str, Any]]
    """The same values as in the event `merged`."""
    left_out: list[dict[str, Any]]
    """The same values as in the event `merged`."""
    artifacts: dict[str, ArtifactFields]
    feedback: Feedback | None
    critiques: Growing
    decisions: Growing
    approved_by: str | None
    override: bool
    exhausted: bool
    summary: str


def why_it_ended(state: State | Mapping[str, Any]) -> str | None:
    """Why the job ended although revisions were left, or None."""
    critiques = state.get("critiques", [])
    ends: str | None = critiques[-1].get("ends") if critiques else None
    return ends


class Action(StrEnum):
    """What a decision makes the graph do. A rejected job does not return to the graph."""

    APPROVE = "approve"
    REVISE = "revise"
    EDIT = "edit"
    DELEGATE = "delegate"


class Answers(TypedDict):
    """The resume value of the questions: one answer for each, in order. A blank or missing answer
    means the default. `by` is the person's name."""

    action: Literal["answer"]
    by: str
    answers: list[str]


class Comment(TypedDict):
    """A comment on a line of the patch."""

    path: str
    line: int
    side: Literal["old", "new"]
    text: str
    excerpt: list[str]
    """The lines of the patch around the line, each with its sign."""
    at: int
    """The index of the line in the excerpt, from 0."""
    base: int | None
    """The number of the line before the change; None for an added line."""


class Decision(TypedDict):
    """The resume value of a review. LangGraph validates it: a wrong one raises, and the job stays
    paused. `by` is the person's name. `feedback` and `comments` go with revise and edit; `code` (a
    program) and `files` (the digest of each file's new bytes; None: removed) with edit."""

    action: Literal["approve", "revise", "edit", "delegate"]
    by: str
    feedback: NotRequired[str]
    code: NotRequired[str]
    files: NotRequired[dict[str, str | None]]
    override: NotRequired[bool]
    comments: NotRequired[list[Comment]]
