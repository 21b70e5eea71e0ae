"""The earlier jobs of a conversation, as the prompts of its next job show them.

The entries of the conversation are of jobs that have succeeded. A follow-up does not start from the
files of a failed job, but its models have to know about the failure, and why a person rejected the
work. The words of persons are in the events of the jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from agents.graph.job_input import MOST_EARLIER
from agents.nodes.summarize import ANSWER_KEPT
from agents.state import EarlierJob
from agents.texts import head_and_tail, one_line
from jobs.model.events import Event
from jobs.model.record import JobRecord, Status
from jobs.model.review import EXPIRY, Action, Side
from jobs.store import ENTRIES_KEPT, ConversationEntry
from jobs.store.decisions import DECISION_KINDS, VOTE_ACTIONS
from jobs.store.redis_store import RedisStore
from jobs.transitions.messages import ADDED

WORDS_SHOWN = 8_000
"""Characters of persons' words about all earlier jobs together. The newest words are kept."""
ENTRY_SHOWN = 2_000
"""Characters of one remark, one comment or one answer."""


async def load_earlier_jobs(
    store: RedisStore, record: JobRecord, entries: Sequence[ConversationEntry]
) -> list[EarlierJob]:
    """The last MOST_EARLIER jobs of the conversation of `record`, oldest first. `entries`: of the
    jobs that have succeeded, newest first. Raises StoreUnavailable."""
    page = await store.page(
        record.tenant, limit=ENTRIES_KEPT, offset=0, conversation=record.conversation_id
    )
    summaries = {entry.job_id: entry.summary for entry in entries}
    groups = islice(_group_attempts(page.records), MOST_EARLIER)
    earlier = [
        EarlierJob(
            task=attempts[0].spec.task,
            summary=next(
                filter(None, (summaries.get(attempt.id) for attempt in attempts)),
                _describe_end(attempts, record),
            ),
            words=list(
                {  # a retry repeats the messages to its job
                    words: None
                    for attempt in reversed(attempts)
                    for words in words_of_persons(await store.events(attempt.id))
                }
            ),
        )
        for attempts in groups
    ]
    listed = {job.id for job in page.records}
    unlisted = (entry for entry in entries if entry.job_id not in listed)  # of older releases
    earlier += (EarlierJob(task=entry.task, summary=entry.summary) for entry in unlisted)
    return keep_newest_words(earlier[:MOST_EARLIER])[::-1]


def words_of_persons(events: Sequence[Event]) -> list[str]:
    """The messages to a job, and the remarks, answers and comments on lines of the decisions on it,
    oldest first, each with its author. Pure."""
    questions: Sequence[Mapping[str, Any]] = ()
    words: list[str] = []
    for event in events:
        if event.kind == "asked":
            questions = event.data["questions"]
        elif event.kind == ADDED:
            words.append(f"{event.data['by']} (message): {event.data['text']}")
        elif event.kind in DECISION_KINDS and event.data["by"] != EXPIRY:
            action = event.data.get("action", VOTE_ACTIONS.get(event.kind))
            words += _words_of_decision(event.data, str(action), questions)
    return [head_and_tail(entry, ENTRY_SHOWN) for entry in words]


def keep_newest_words(newest_first: Sequence[EarlierJob]) -> list[EarlierJob]:
    """The jobs with the newest words that fit into WORDS_SHOWN characters. Pure."""
    remaining, bounded_jobs = WORDS_SHOWN, list[EarlierJob]()
    for job in newest_first:
        kept: list[str] = []
        for words in reversed(job.get("words", ())):
            remaining -= len(words)
            if remaining >= 0:
                kept.insert(0, words)
        bounded_jobs.append({**job, "words": kept})
    return bounded_jobs


def _group_attempts(newest_first: Sequence[JobRecord]) -> Iterator[list[JobRecord]]:
    """The ended jobs in groups, newest first. A job, its retries and its rebases are one group."""
    groups: list[list[JobRecord]] = []
    group_of_parent: dict[str, list[JobRecord]] = {}
    for job in newest_first:
        if job.status not in (Status.SUCCEEDED, Status.FAILED):
            continue
        if (group := group_of_parent.get(job.id)) is None:
            groups.append(group := [])
        group.append(job)
        if (parent := _parent_of(job)) is not None:
            group_of_parent[parent] = group
    return iter(groups)


def _parent_of(job: JobRecord) -> str | None:
    rebase = job.spec.rebase
    return job.spec.retry_of or (rebase.job_id if rebase else None)


def _describe_end(attempts: Sequence[JobRecord], following: JobRecord) -> str:
    """The outcome of a failed job, for the job `following`. `attempts`: the job, its retries and
    its rebases, newest first."""
    job = attempts[0]
    answer = one_line(job.result.answer, ANSWER_KEPT) if job.result else ""
    reason = one_line(f"The job failed ({job.reason}): {job.detail}", ANSWER_KEPT).rstrip(".")
    is_rebased = following.spec.rebase is not None and _parent_of(following) == job.id
    is_absent = not is_rebased and not any(map(_has_added_commit, attempts))
    note = "Its changes are not in the working directory." if is_absent else ""
    return " ".join(filter(None, (answer, f"{reason}.", note)))


def _has_added_commit(job: JobRecord) -> bool:
    """Whether the job has added its commit to the branch that the conversation continues."""
    delivery, start = job.result.delivery if job.result else None, job.continues
    branch = delivery.branch if delivery and delivery.commit else None
    return start is not None and branch is not None and start.branch == branch


def _words_of_decision(
    data: Mapping[str, Any], action: str, questions: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    author = f"{data['by']} ({action})"
    if action == Action.ANSWER:
        for question, answer in zip(questions, data.get("answers", ()), strict=False):
            if answer.strip():
                yield f"{author}, asked {one_line(question['question'], ENTRY_SHOWN)!r}: {answer}"
    if feedback := data.get("feedback", "").strip():
        yield f"{author}: {feedback}"
    for comment in data.get("comments", ()):
        version = " before the change" if comment["side"] == Side.OLD else ""
        line = comment["excerpt"][comment["at"]] if comment["excerpt"] else ""
        place = f"line {comment['line']} of `{comment['path']}`{version} (`{line}`)"
        yield f"{author}, on {place}: {comment['text']}"
