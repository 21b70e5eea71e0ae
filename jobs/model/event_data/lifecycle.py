"""Events of the life of a job, from its submission to its end."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from jobs.model.record import Cause, Reason
from jobs.model.spec import Priority


class SubmittedData(TypedDict):
    """The job is on record."""

    by: str
    """The name of the key that submitted it."""
    person: NotRequired[str]
    """The person of that key."""
    task: str
    review: bool
    model: str | None
    priority: Priority
    retry_of: NotRequired[str]
    """The job that it retries."""
    rebase_of: NotRequired[str]
    """The job with the change that it rebases."""
    fork_of: NotRequired[str]
    """The job with the files that it starts from."""
    approvals: NotRequired[list[dict[str, Any]]]
    """The approvals of the retried job's work: the data of their events, and their time `at` (ms).
    """


class MessageAddedData(TypedDict):
    """A person has sent the job a message, which its models read before their next calls."""

    number: int
    """The number among the messages of the job, from 1."""
    by: str
    """The name of the key."""
    key_id: str
    person: str
    text: str


class StartedData(TypedDict):
    """A worker has claimed the job."""

    attempt: int
    """The number of the attempt, from 1."""
    worker: str
    """The worker's id."""


class BegunAnewData(TypedDict):
    """The job restarts from its task."""

    by: str
    format: int | None
    """The format of the discarded checkpoints."""


class GivenBackData(TypedDict):
    """A worker has returned the job to the queue."""

    why: Literal["drained", "retry"]
    """`drained`: the worker drains or cannot continue, and the attempt counts as no retry. `retry`:
    the job is tried again."""
    cause: NotRequired[Cause]
    detail: str
    delay_ms: int
    """The delay before the next try."""
    waits_for: NotRequired[str]
    """What was not available, such as `groq`."""


class LeaseLostData(TypedDict):
    """A worker has not renewed its lease in time."""

    worker: str
    crashes: int
    """The number of crashes in a row."""


class SucceededData(TypedDict):
    """The job has succeeded."""

    approved_by: str | None
    """`critic`, `rules`, or the names of persons. Null: the job has no approval. Either its request
    allows that (`unapproved`), or it is a verification."""
    unapproved: NotRequired[bool]
    override: NotRequired[bool]
    """A person approved the job against its evidence."""


class FailedData(TypedDict):
    """The job has failed."""

    reason: Reason
    detail: str


class CancelledData(TypedDict):
    """The job was cancelled."""

    by: str
    key_id: NotRequired[str]
    person: NotRequired[str]
