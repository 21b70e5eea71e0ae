"""The earlier jobs of a conversation, as the next job's prompts show them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.jobs.job_examples import RESULT, JobService, decision, job, lease_of, review

from jobs.audit.entries import Actor
from jobs.model.events import NewEvent
from jobs.model.record import Continuation, JobRecord, Push, Reason
from jobs.model.review import Action, Comment, Decision, Review, ReviewKind, Side
from jobs.model.spec import EarlierChange
from jobs.store import ENTRIES_KEPT, ConversationEntry, Writes
from jobs.store.redis_store import RedisStore
from worker.earlier_jobs import ENTRY_SHOWN, WORDS_SHOWN, keep_newest_words, load_earlier_jobs

LINE = Comment("app.py", 3, Side.NEW, "Use a constant.\n- here", ("+a", "+b = 1"), 1)
TALK = {"conversation_id": "talk"}


@pytest.fixture
def service(redis_store: RedisStore) -> JobService:
    return JobService(redis_store)


async def earlier_jobs(service: JobService, **fields: object) -> list[dict[str, object]]:
    following = await service.submit("next", **TALK, **fields)
    entries = await service.store.conversation(following.tenant, "talk", ENTRIES_KEPT)
    earlier = await load_earlier_jobs(service.store, following, entries)
    await service.operations.cancel(following.id, "ann")
    return [dict(each) for each in earlier]


async def paused(service: JobService, task: str, **fields: object) -> JobRecord:
    running = await service.running(task=task, **TALK, review=True, **fields)
    return job(await service.operations.pause(lease_of(running), review()))


async def ended(service: JobService, record: JobRecord, summary: str) -> JobRecord:
    lease = lease_of(await service.claim(record.id))
    return job(await service.operations.succeed(lease, RESULT, summary))


async def test_a_follow_up_sees_the_words_of_persons_about_each_earlier_job(
    service: JobService,
) -> None:
    first = await paused(service, "first")
    sent_back = decision(action=Action.REVISE, feedback="Dates\nstay ISO.", comments=(LINE,))
    job(await service.operations.decide(first.id, sent_back))
    again = await service.claim(first.id)
    job(await service.operations.pause(lease_of(again), review("r2")))
    job(await service.operations.decide(first.id, decision("r2", feedback="Fine.")))
    await ended(service, first, "It is done.")
    rejected = await paused(service, "second")
    no = decision(action=Action.REJECT, feedback="Not with a cache.")
    job(await service.operations.decide(rejected.id, no))
    assert await earlier_jobs(service) == [
        {
            "task": "first",
            "summary": "It is done.",
            "words": [
                "bob (revise): Dates\nstay ISO.",
                "bob (revise), on line 3 of `app.py` (`+b = 1`): Use a constant.\n- here",
                "bob (approve): Fine.",
            ],
        },
        {
            "task": "second",
            "summary": "The job failed (rejected): Not with a cache. "
            "Its changes are not in the working directory.",
            "words": ["bob (reject): Not with a cache."],
        },
    ]


async def test_remarks_of_both_approvals_and_answers_to_questions_are_shown(
    service: JobService,
) -> None:
    asks = await service.running(task="asks", **TALK, review=True, approvals=2, questions=True)
    question = {"question": "Which unit?", "default": "Cents."}
    unasked = {"question": "Which sign?", "default": "Plus."}
    questions = [question, unasked]
    asked = NewEvent("asked", "asked", {"questions": questions, "note": ""})
    await service.store.write(asks.id, asks.epoch, Writes(events=[asked]))
    payload = {"task": "asks", "questions": questions}
    job(
        await service.operations.pause(
            lease_of(asks), Review("q", ReviewKind.QUESTIONS, payload, 0)
        )
    )
    answer = decision("q", Action.ANSWER, answers=("Euros.", ""))
    job(await service.operations.decide(asks.id, answer))
    again = await service.claim(asks.id)
    job(await service.operations.pause(lease_of(again), review("r2")))
    for name, remark in (("bob", "Checked."), ("eve", "Seen.")):
        job(await service.operations.decide(asks.id, Decision("r2", Action.APPROVE, name, remark)))
    await ended(service, asks, "Done.")
    (only,) = await earlier_jobs(service)
    assert only["words"] == [
        "bob (answer), asked 'Which unit?': Euros.",
        "bob (approve): Checked.",
        "eve (approve): Seen.",
    ]


async def test_a_job_with_its_retries_and_rebases_is_shown_once(service: JobService) -> None:
    first = await paused(service, "first")
    job(await service.operations.add_message(first.id, "Be quick.", Actor("eve")))
    job(await service.operations.decide(first.id, decision(action=Action.REJECT, feedback="No.")))
    retry = job(await service.operations.retry_as_new_job(first.id, by="ann"))
    lease = lease_of(await service.claim(retry.id))
    job(await service.operations.fail(lease, Reason.DELIVERY, "main has moved", RESULT))
    (only,) = await earlier_jobs(service)
    words = ["eve (message): Be quick.", "bob (reject): No."]
    assert only["words"] == words
    assert only["summary"] == (
        "42 The job failed (delivery): main has moved. "
        "Its changes are not in the working directory."
    )
    rebase = EarlierChange(retry.id, "d" * 64, "c" * 40)
    (only,) = await earlier_jobs(service, rebase=rebase)
    assert "not in the working directory" not in str(only["summary"])
    rebased = await service.submit("first", **TALK, rebase=rebase)
    await ended(service, rebased, "On the new commit.")
    (only,) = await earlier_jobs(service)
    assert (only["summary"], only["words"]) == ("On the new commit.", words)


async def test_a_failed_rebase_does_not_hide_the_summary_of_its_parent(
    service: JobService,
) -> None:
    first = await ended(service, await service.submit("first", **TALK), "It is done.")
    rebase = EarlierChange(first.id, "d" * 64, "c" * 40)
    rebased = await service.running(task="first", **TALK, rebase=rebase)
    job(
        await service.operations.fail(
            lease_of(rebased), Reason.REPOSITORY, "nothing to rebase", None
        )
    )
    (only,) = await earlier_jobs(service)
    assert only["summary"] == "It is done."


@pytest.mark.parametrize(
    ("pushed", "is_present"),
    [(Push("fettle/j0", "d" * 40), True), (Push("fettle/j1", "d" * 40), False), (None, False)],
    ids=["continued branch", "own branch", "no branch"],
)
async def test_the_commit_of_a_failed_job_on_the_continued_branch_is_present(
    service: JobService, pushed: Push | None, is_present: bool
) -> None:
    running = await service.running(task="second", **TALK)
    change = EarlierChange("0" * 20, "b" * 64, "c" * 40, branch="fettle/j0")
    start = Continuation(change, "e" * 64, "c" * 40, "c" * 40, branch="fettle/j0")
    await service.store.write(running.id, running.epoch, Writes(continues=start))
    result = replace(RESULT, delivery=pushed)
    job(await service.operations.fail(lease_of(running), Reason.DELIVERY, "403", result))
    retry = job(await service.operations.retry_as_new_job(running.id, by="ann"))
    lease = lease_of(await service.claim(retry.id))
    job(await service.operations.fail(lease, Reason.DELIVERY, "no review", RESULT))
    (only,) = await earlier_jobs(service)
    assert ("not in the working directory" not in str(only["summary"])) is is_present


async def test_the_newest_jobs_and_words_are_kept(service: JobService) -> None:
    for number in range(5):
        await ended(service, await service.submit(f"task {number}", **TALK), f"done {number}")
    await service.operations.cancel((await service.submit("stopped", **TALK)).id, "ann")
    assert [each["task"] for each in await earlier_jobs(service)] == ["task 2", "task 3", "task 4"]
    count = WORDS_SHOWN // ENTRY_SHOWN
    jobs = [
        {"task": name, "summary": "", "words": [f"{name}{n}".ljust(ENTRY_SHOWN) for n in range(3)]}
        for name in ("new", "old", "oldest")
    ]
    kept = [[words.strip() for words in each["words"]] for each in keep_newest_words(jobs)]
    assert (count, kept) == (4, [["new0", "new1", "new2"], ["old2"], []])


async def test_a_job_that_no_listing_has_is_shown_by_its_entry(service: JobService) -> None:
    """Earlier releases did not list jobs by their conversation."""
    following = await service.submit("next", **TALK)
    entry = ConversationEntry("0" * 20, "before", "It is old.", None)
    (only,) = await load_earlier_jobs(service.store, following, [entry])
    assert only == {"task": "before", "summary": "It is old.", "words": []}
