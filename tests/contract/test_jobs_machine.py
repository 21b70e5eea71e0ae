"""The invariants hold after any commands on jobs in a real Redis, in any order.

`WALKS=50 pytest tests/contract/test_jobs_machine.py` makes fifty times as many walks.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from support.jobs.job_examples import RESULT, TENANT, decision, review
from support.jobs.walks import StoreMachine, walks

from jobs.errors import StaleEpoch
from jobs.model.events import Event, NewEvent
from jobs.model.record import Cause, JobRecord, Reason, Status, Wait
from jobs.model.review import Action
from jobs.model.spec import Priority
from jobs.redis import keys
from jobs.redis.keys import JobKeys
from jobs.store import Charge, LeaseRef, Writes
from jobs.transitions.lifecycle import Refusal

ENDS = ("succeed", "fail", "retry", "requeue", "pause")
MOST_JOBS = 5
OFFERED = (Action.APPROVE, Action.REVISE, Action.EDIT, Action.REJECT, Action.DELEGATE)
LEASES = st.sampled_from([-1, -1, -1, -2])
"""The last lease that was granted, or the lease before it."""


@dataclass
class History:
    """The expected state of one job, from the answers of the store."""

    conversation: str
    leases: list[LeaseRef] = field(default_factory=list)
    charges: set[str] = field(default_factory=set)
    events: list[Event] = field(default_factory=list)
    status: Status = Status.QUEUED
    final_record: JobRecord | None = None


class Jobs(StoreMachine):
    """Sends every command to jobs, and checks all jobs after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.histories: dict[str, History] = {}
        self.calls = 0

    def record(self, job_id: str) -> JobRecord:
        record: JobRecord = self.run(self.service.record(job_id))
        return record

    def has_job_in(self, *statuses: Status) -> bool:
        return any(history.status in statuses for history in self.histories.values())

    def pick(self, data: st.DataObject, *statuses: Status) -> str:
        """A job, in most steps a job in one of these statuses: with random jobs only, walks would
        reach few states.
        """
        fits = [job_id for job_id, history in self.histories.items() if history.status in statuses]
        blind = data.draw(st.integers(0, 7)) == 7
        return data.draw(st.sampled_from(list(self.histories) if blind or not fits else fits))

    def lease_of(self, job_id: str, which: int) -> LeaseRef | None:
        leases = self.histories[job_id].leases
        return leases[which] if len(leases) >= -which else None

    @precondition(lambda self: len(self.histories) < MOST_JOBS)
    @rule(conversation=st.sampled_from([None, "c1"]), priority=st.sampled_from(Priority))
    def submit(self, conversation: str | None, priority: Priority) -> None:
        self.service.hints.clear()
        record = self.run(self.service.submit(conversation_id=conversation, priority=priority))
        self.histories[record.id] = History(record.conversation_id)
        first = self.run(self.store.next_in_line(TENANT, record.conversation_id)) == record.id
        assert self.service.hints == ([(record.id, priority)] if first else [])

    @precondition(lambda self: self.has_job_in(Status.QUEUED))
    @rule(data=st.data(), alone=st.booleans())
    def claim(self, data: st.DataObject, alone: bool) -> None:
        job_id = self.pick(data, Status.QUEUED)
        before = self.record(job_id)
        answer = self.run(self.service.operations.claim(job_id, "w", alone=alone))
        if isinstance(answer, Refusal):
            assert self.record(job_id) == before
            return
        assert answer.epoch == before.epoch + 1
        self.histories[job_id].leases.append(LeaseRef(job_id, answer.epoch))

    @precondition(lambda self: self.has_job_in(Status.RUNNING))
    @rule(data=st.data(), which=LEASES, progress=st.booleans())
    def write(self, data: st.DataObject, which: int, progress: bool) -> None:
        """An old lease can record charges only; all other writes are refused."""
        job_id = self.pick(data, Status.RUNNING)
        if (lease := self.lease_of(job_id, which)) is None:
            return
        self.calls += 1
        call = f"call-{self.calls}"
        logged = (NewEvent(call, "summarized", {"text": call}),)
        paid = (Charge(call, "critic", "m", 1, 1, None),)
        before = self.record(job_id)
        writing = self.store.write(
            job_id, lease.epoch, Writes(logged, {call: b"1"} if progress else {}, paid)
        )
        if before.status is Status.RUNNING and lease.epoch == before.epoch:
            self.run(writing)
        else:
            with pytest.raises(StaleEpoch):
                self.run(writing)
            assert self.record(job_id) == before
        self.histories[job_id].charges.add(call)

    @precondition(lambda self: self.has_job_in(Status.RUNNING))
    @rule(data=st.data(), which=LEASES)
    def heartbeat(self, data: st.DataObject, which: int) -> None:
        job_id = self.pick(data, Status.RUNNING)
        if (lease := self.lease_of(job_id, which)) is None:
            return
        before = self.record(job_id)
        holds = before.status is Status.RUNNING and lease.epoch == before.epoch
        assert self.run(self.store.renew([lease], 60_000)) == ([] if holds else [lease])
        assert self.record(job_id).version == before.version

    @precondition(lambda self: self.has_job_in(Status.RUNNING))
    @rule(data=st.data(), which=LEASES, manner=st.sampled_from(ENDS))
    def let_go(self, data: st.DataObject, which: int, manner: str) -> None:
        job_id = self.pick(data, Status.RUNNING)
        if (lease := self.lease_of(job_id, which)) is None:
            return
        before = self.record(job_id)
        arguments: dict[str, tuple[Any, ...]] = {
            "succeed": (RESULT, "did it"),
            "fail": (Reason.INTERNAL, "oops"),
            "retry": (Reason.MODEL_UNAVAILABLE, Wait("groq", "away")),
            "requeue": ("drain", Cause.STOPPING),
            "pause": (review(f"r{lease.epoch}"),),
        }
        answer = self.run(getattr(self.service.operations, manner)(lease, *arguments[manner]))
        holds = before.status is Status.RUNNING and lease.epoch == before.epoch
        assert isinstance(answer, JobRecord) == holds

    @precondition(lambda self: self.has_job_in(Status.AWAITING_REVIEW))
    @rule(data=st.data(), right=st.booleans(), action=st.sampled_from(OFFERED))
    def decide(self, data: st.DataObject, right: bool, action: Action) -> None:
        job_id = self.pick(data, Status.AWAITING_REVIEW)
        before = self.record(job_id)
        name = before.review.id if before.review and right else "r-other"
        answer = self.run(self.service.operations.decide(job_id, decision(name, action)))
        assert isinstance(answer, JobRecord) == (before.review is not None and right)
        if isinstance(answer, Refusal):
            assert self.record(job_id) == before

    @precondition(lambda self: self.histories)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job_id = self.pick(data, *Status)
        before = self.record(job_id)
        answer = self.run(self.service.operations.cancel(job_id, "ann"))
        assert isinstance(answer, JobRecord) != before.status.final

    @precondition(lambda self: self.has_job_in(Status.QUEUED, Status.RUNNING))
    @rule(data=st.data())
    def fall_silent(self, data: st.DataObject) -> None:
        """The worker of a job crashes, or its hints are lost: the sweeper finds the job when it is
        due.
        """
        job_id = self.pick(data, Status.QUEUED, Status.RUNNING)
        before = self.record(job_id)
        if before.status not in (Status.QUEUED, Status.RUNNING):
            return
        self.run(self.come_due(before))
        self.service.hints.clear()
        self.run(self.service.operations.sweep())
        after = self.record(job_id)
        assert after.version == before.version + 1
        assert after.status is not Status.RUNNING
        first = self.run(self.store.next_in_line(TENANT, after.conversation_id)) == job_id
        assert (job_id in [name for name, _ in self.service.hints]) == first

    async def come_due(self, record: JobRecord) -> None:
        past = await self.store.now() - 1
        if record.due_at > past:
            await self.store.redis.hset(JobKeys(record.id).record, "due_at", past)  # type: ignore[misc, arg-type]
            await self.store.redis.zadd(keys.DUE, {record.id: past})

    @invariant()
    def everything_holds(self) -> None:
        """Read all jobs once, then check each rule."""
        awaitables = (self.service.record, self.store.charges, self.store.events)
        reads = [[ask(job_id) for job_id in self.histories] for ask in awaitables]
        records, charges, events = self.run(_all([_all(read) for read in reads]))
        self.one_index_each(records)
        self.lines_in_order(records)
        for record, paid, logged in zip(records, charges, events, strict=True):
            history = self.histories[record.id]
            history.status = record.status
            self.one_lease(history, record)
            assert sorted(charge.call for charge in paid) == sorted(history.charges)
            events_and_end_stand(history, record, list(logged))

    def one_index_each(self, records: list[JobRecord]) -> None:
        waiting, awaitables = (Status.QUEUED, Status.RUNNING), (Status.AWAITING_REVIEW,)
        final = [status for status in Status if status.final]
        for index, under in (
            (keys.DUE, waiting),
            (keys.AWAITING_REVIEW, awaitables),
            (keys.FINISHED, final),
        ):
            members = self.run(self.store.redis.zrange(index, 0, -1))
            assert {name.decode() for name in members} == {
                r.id for r in records if r.status in under
            }
        in_inbox = self.run(self.store.redis.hkeys(keys.reviews(TENANT)))
        assert {name.decode() for name in in_inbox} == {
            r.id for r in records if r.status is Status.AWAITING_REVIEW
        }
        counted = Counter(record.status for record in records)
        assert self.run(self.store.counts()) == {status: counted[status] for status in Status}

    def lines_in_order(self, records: list[JobRecord]) -> None:
        lines: dict[str, list[JobRecord]] = {}
        for record in records:
            if not record.status.final:
                lines.setdefault(record.conversation_id, []).append(record)
        heads = [line[0] for line in lines.values() if line[0].status is Status.QUEUED]
        assert sum(self.run(self.store.queue_depth()).values()) == len(heads)
        for conversation, line in lines.items():
            assert self.run(self.store.next_in_line(TENANT, conversation)) == line[0].id
            assert all((r.status, r.epoch) == (Status.QUEUED, 0) for r in line[1:])

    def one_lease(self, history: History, record: JobRecord) -> None:
        assert record.conversation_id == history.conversation
        assert record.epoch == len(history.leases)
        owns = self.run(_all([self.store.owns(lease) for lease in history.leases]))
        running = record.status is Status.RUNNING
        assert owns == [False] * (len(owns) - running) + [True] * running
        assert (record.lease is not None) == running
        assert (record.review is not None) == (record.status is Status.AWAITING_REVIEW)


def events_and_end_stand(history: History, record: JobRecord, events: list[Event]) -> None:
    final = record.status.final
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[: len(history.events)] == history.events
    assert [event for event in events if event.final] == (events[-1:] if final else [])
    assert history.final_record in (None, record)
    history.events = events
    history.final_record = record if final else None


async def _all(awaitables: Iterable[Awaitable[Any]]) -> list[Any]:
    return await asyncio.gather(*awaitables)


@pytest.mark.invariant("J3")
def test_the_invariants_hold_through_every_walk(redis_url, monkeypatch):
    monkeypatch.setattr(Jobs, "url", redis_url)
    run_state_machine_as_test(Jobs, settings=walks(16, 35))
