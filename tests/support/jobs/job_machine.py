"""A Hypothesis machine that gives jobs every command, and checks them after each step.

`WALKS=50 pytest tests/integration/jobs/test_jobs_machine.py`
takes fifty times as many walks as `make test` does.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.jobs.job_examples import RESULT, TENANT, JobService, decision, review

from jobs.errors import StaleEpoch
from jobs.model.events import WORK, Event, NewEvent
from jobs.model.graph_format import ANEW, UNSAID, GraphFormat
from jobs.model.record import JobRecord, Reason, Status
from jobs.model.review import EXPIRY, Action, Decision, ReviewKind
from jobs.model.review_digest import digest_of
from jobs.model.spec import OnExpiry, Priority
from jobs.retention import Retention, remove_finished
from jobs.service import Submitted
from jobs.store import Charge, LeaseRef, Writes
from jobs.store.redis_store import RedisStore
from jobs.transitions import upgrade
from jobs.transitions.lifecycle import Refusal
from jobs.transitions.reviews import TAKES

T = TypeVar("T")
ENDS = ("succeed", "fail", "unapproved", "retry", "requeue", "pause", "park")
OURS, THEIRS = GraphFormat(2, "0.2.0"), GraphFormat(9, "9.0.0")
MOST_JOBS = 5
PEOPLE = ("ann", "bob", "cat")
"""The first brings every job; anybody may try one anew."""
AT_ONCE = Retention(jobs_ms=-60_000, grace_ms=0)
"""What is final goes, however young."""


def walks(examples: int, steps: int) -> settings:
    """So many walks of so many steps; the environment's WALKS multiplies them."""
    return settings(
        max_examples=examples * int(os.environ.get("WALKS", "1")),
        stateful_step_count=steps,
        suppress_health_check=list(HealthCheck),
        database=None,
    )


@dataclass
class Seen:
    """What the machine remembers of one job."""

    conversation: str
    helds: list[LeaseRef] = field(default_factory=list)
    charges: set[str] = field(default_factory=set)
    journal: set[str] = field(default_factory=set)
    decided: int = 0
    authors: set[str] = field(default_factory=lambda: {PEOPLE[0]})
    graph: GraphFormat | None = None
    events: list[Event] = field(default_factory=list)
    status: Status = Status.QUEUED
    ended: JobRecord | None = None


@dataclass
class Known:
    """What the store says of one job."""

    record: JobRecord
    events: Sequence[Event]
    charges: Sequence[Charge]
    journal: Mapping[str, bytes]


def approvals_of(record: JobRecord) -> int:
    """How many approvals the open review takes."""
    asked = record.review
    return record.spec.approvals if asked and asked.kind is ReviewKind.REVIEW else 1


def barred(record: JobRecord, authors: set[str], action: Action, by: str) -> bool:
    """Whether this person's word does not count, where two have to give theirs."""
    if record.review is None or approvals_of(record) == 1:
        return False
    voted = [vote.by for vote in record.review.approvals]
    if action is Action.APPROVE:
        return by in authors or by in voted
    return action is Action.DELEGATE


class JobMachine(RuleBasedStateMachine):
    """Subclasses say which store, how time passes for a job, and what lies in which index."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.service = JobService(self.open_store())
        self.seen: dict[str, Seen] = {}
        self.gone: list[str] = []
        self.calls = 0

    def open_store(self) -> RedisStore:
        """An empty store."""
        raise AssertionError("a subclass says")

    async def come_due(self, record: JobRecord) -> None:
        """Let time pass until the job is due."""
        raise AssertionError("a subclass says")

    async def come_overdue(self, record: JobRecord) -> None:
        """Let time pass until the job's review expires."""
        raise AssertionError("a subclass says")

    async def indexes(self) -> dict[str, set[str]]:
        """Which jobs lie in `due`, in `awaiting_review` and in `finished`."""
        raise AssertionError("a subclass says")

    async def left_of(self, job_id: str) -> list[str]:
        """What is still kept of a job that was removed, by name."""
        raise AssertionError("a subclass says")

    def run(self, awaitable: Awaitable[T]) -> T:
        """The answer of one operation."""
        return self.loop.run_until_complete(awaitable)  # type: ignore[arg-type]

    def record(self, job_id: str) -> JobRecord:
        """A job as it stands."""
        return self.run(self.service.record(job_id))

    def some(self, *statuses: Status) -> bool:
        """Whether there is a job in one of these statuses."""
        return any(seen.status in statuses for seen in self.seen.values())

    def was_held(self) -> bool:
        """Whether any job has ever been claimed."""
        return any(seen.helds for seen in self.seen.values())

    def pick(self, data: st.DataObject, *statuses: Status) -> str:
        """A job, in most steps one in these statuses: walks would not get far by blind chance."""
        fits = [job_id for job_id, seen in self.seen.items() if seen.status in statuses]
        blind = data.draw(st.integers(0, 7)) == 7
        return data.draw(st.sampled_from(list(self.seen) if blind or not fits else fits))

    def held(self, job_id: str, which: int) -> LeaseRef | None:
        """A lease that was granted once, from the last one on; None where there was none."""
        helds = self.seen[job_id].helds
        return helds[which] if len(helds) >= -which else None

    def teardown(self) -> None:
        self.run(self.service.store.close())
        self.loop.close()

    @precondition(lambda self: len(self.seen) < MOST_JOBS)
    @rule(
        conversation=st.sampled_from([None, "c1"]),
        priority=st.sampled_from(Priority),
        expires=st.sampled_from([None, 3_600]),
        then=st.sampled_from(OnExpiry),
        approvals=st.sampled_from([1, 2]),
    )
    def submit(
        self,
        conversation: str | None,
        priority: Priority,
        expires: int | None,
        then: OnExpiry,
        approvals: int,
    ) -> None:
        submitting = self.service.submit(
            conversation_id=conversation,
            priority=priority,
            review_expires_seconds=expires,
            on_expiry=then,
            approvals=approvals,
        )
        self.service.hints.clear()
        record = self.run(submitting)
        self.seen[record.id] = Seen(record.conversation_id)
        first = (
            self.run(self.service.store.next_in_line(TENANT, record.conversation_id)) == record.id
        )
        assert self.service.hints == ([(record.id, priority)] if first else [])

    @precondition(lambda self: self.some(Status.QUEUED))
    @rule(data=st.data(), alone=st.booleans(), reads=st.sampled_from([None, None, (1, 2), (9,)]))
    def claim(self, data: st.DataObject, alone: bool, reads: tuple[int, ...] | None) -> None:
        job_id = self.pick(data, Status.QUEUED)
        before = self.record(job_id)
        answer = self.run(self.service.operations.claim(job_id, "w", alone=alone, reads=reads))
        readable = reads is None or (before.checkpointed or GraphFormat(reads[0])).number in reads
        if isinstance(answer, Refusal):
            assert (answer.code == "unreadable") <= (not readable)
            assert self.record(job_id) == before
            return
        assert readable
        assert answer.epoch == before.epoch + 1
        self.seen[job_id].helds.append(LeaseRef(job_id, answer.epoch))

    @precondition(lambda self: self.was_held())
    @rule(
        data=st.data(),
        which=st.sampled_from([-1, -1, -1, -2]),
        progress=st.booleans(),
        graph=st.sampled_from([None, OURS, THEIRS]),
    )
    def write(
        self, data: st.DataObject, which: int, progress: bool, graph: GraphFormat | None
    ) -> None:
        job_id = self.pick(data, Status.RUNNING)
        held = self.held(job_id, which)
        if held is None:
            return
        self.calls += 1
        call = f"call-{self.calls}"
        charge = Charge(call, "critic", "m", 1, 1, None)
        events = (NewEvent(call, "summarized", {"text": call}),)
        writes = Writes(events, {call: b"1"} if progress else {}, (charge,), graph=graph)
        before, seen = self.record(job_id), self.seen[job_id]
        writing = self.service.store.write(job_id, held.epoch, writes)
        if before.status is Status.RUNNING and held.epoch == before.epoch:
            self.run(writing)
            seen.graph = graph or seen.graph
            seen.journal |= set(writes.journal)
        else:
            with pytest.raises(StaleEpoch):
                self.run(writing)
            assert self.record(job_id) == before
        seen.charges.add(call)

    @precondition(lambda self: self.was_held())
    @rule(data=st.data(), which=st.sampled_from([-1, -1, -1, -2]))
    def heartbeat(self, data: st.DataObject, which: int) -> None:
        job_id = self.pick(data, Status.RUNNING)
        held = self.held(job_id, which)
        if held is None:
            return
        before = self.record(job_id)
        lost = self.run(self.service.store.renew([held], 60_000))
        holds = before.status is Status.RUNNING and held.epoch == before.epoch
        assert lost == ([] if holds else [held])
        assert self.record(job_id).version == before.version

    @precondition(lambda self: self.was_held())
    @rule(data=st.data(), which=st.sampled_from([-1, -1, -1, -2]), how=st.sampled_from(ENDS))
    def let_go(self, data: st.DataObject, which: int, how: str) -> None:
        job_id = self.pick(data, Status.RUNNING)
        held = self.held(job_id, which)
        if held is None:
            return
        before = self.record(job_id)
        answer = self.ended(held, before, how)
        holds = before.status is Status.RUNNING and held.epoch == before.epoch
        assert isinstance(answer, JobRecord) == holds

    @precondition(lambda self: self.some(Status.QUEUED))
    @rule(data=st.data(), how=st.sampled_from(("pause", "park")))
    def work_until_a_person_is_asked(self, data: st.DataObject, how: str) -> None:
        job_id = self.pick(data, Status.QUEUED)
        claimed = self.run(self.service.operations.claim(job_id, "w", alone=True))
        if isinstance(claimed, JobRecord):
            held = LeaseRef(job_id, claimed.epoch)
            self.seen[job_id].helds.append(held)
            assert isinstance(self.ended(held, claimed, how), JobRecord)

    def ended(self, held: LeaseRef, before: JobRecord, how: str) -> JobRecord | Refusal:
        """What the attempt's end of this kind is answered."""
        written = before.checkpointed or UNSAID
        question = upgrade.question(before, written, [2], OURS)
        arguments: dict[str, tuple[str, tuple[Any, ...]]] = {
            "succeed": ("succeed", (RESULT, "did it")),
            "fail": ("fail", (Reason.INTERNAL, "oops")),
            "unapproved": ("fail", (Reason.UNAPPROVED, "no", RESULT)),
            "retry": ("retry", (Reason.MODEL_UNAVAILABLE, "away")),
            "requeue": ("requeue", ("drain",)),
            "pause": ("pause", (review(f"r{held.epoch}"),)),
            "park": ("pause", (question,)),
        }
        name, given = arguments[how]
        operation = getattr(self.service.operations, name)
        answer: JobRecord | Refusal = self.run(operation(held, *given))
        return answer

    @precondition(lambda self: self.some(Status.AWAITING_REVIEW))
    @rule(
        data=st.data(),
        right=st.sampled_from([True, True, True, False]),
        action=st.sampled_from([*Action, Action.APPROVE, Action.APPROVE]),
        by=st.sampled_from(PEOPLE),
        seen=st.sampled_from(["", "right", "wrong"]),
    )
    def decide(self, data: st.DataObject, right: bool, action: Action, by: str, seen: str) -> None:
        job_id = self.pick(data, Status.AWAITING_REVIEW)
        before = self.record(job_id)
        asked = before.review
        name = asked.id if asked and right else "r-other"
        digest = {"": "", "right": digest_of(asked) if asked else "", "wrong": "0" * 64}[seen]
        given = Decision(name, action, by, key_id=f"k-{by}", digest=digest)
        answer = self.run(self.service.operations.decide(job_id, given))
        meant = right and seen != "wrong" and asked is not None and action in TAKES[asked.kind]
        if asked is None or not meant or barred(before, self.seen[job_id].authors, action, by):
            assert isinstance(answer, Refusal)
            assert self.record(job_id) == before
            return
        after = self.record(job_id)
        assert answer == after
        votes = (*(vote.by for vote in asked.approvals), by)
        if action is Action.APPROVE and len(votes) < approvals_of(before):
            assert after.status is Status.AWAITING_REVIEW
            assert tuple(vote.by for vote in after.review.approvals) == votes  # type: ignore[union-attr]
            return
        self.seen[job_id].decided += 1
        if action is Action.EDIT:
            self.seen[job_id].authors.add(by)
        upgrades = asked.kind is ReviewKind.UPGRADE
        if upgrades and action is Action.APPROVE:
            self.seen[job_id].graph = ANEW
        if action is Action.REJECT:
            assert after.reason is (Reason.INCOMPATIBLE if upgrades else Reason.REJECTED)

    @precondition(lambda self: self.some(Status.AWAITING_REVIEW))
    @rule(data=st.data())
    def expire_review(self, data: st.DataObject) -> None:
        """Nobody decides in time: what the spec says counts, once."""
        job_id = self.pick(data, Status.AWAITING_REVIEW)
        asked = self.record(job_id).review
        if asked is None or asked.look_at is None:
            return
        before = self.record(job_id)
        self.run(self.come_overdue(before))
        self.run(self.service.operations.sweep())
        after = self.record(job_id)
        assert after.version == before.version + 1
        if before.spec.on_expiry is OnExpiry.REJECT:
            assert after.status is Status.FAILED
        else:  # no run has succeeded here, so nothing is approved by itself
            assert (after.status, after.review.expired) == (before.status, True)  # type: ignore[union-attr]
        self.run(self.service.operations.sweep())
        assert self.record(job_id) == after

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job_id = self.pick(data, *Status)
        before = self.record(job_id)
        answer = self.run(self.service.operations.cancel(job_id, "ann"))
        assert isinstance(answer, JobRecord) != before.status.final

    @precondition(lambda self: self.some(Status.FAILED, Status.CANCELLED))
    @rule(data=st.data(), by=st.sampled_from(PEOPLE))
    def retry_as_new_job(self, data: st.DataObject, by: str) -> None:
        """A failed or cancelled job again, as a job of its own."""
        job_id = self.pick(data, Status.FAILED, Status.CANCELLED)
        before, events = self.record(job_id), self.run(self.service.store.events(job_id))
        answer = self.run(self.service.operations.retry_as_new_job(job_id, by=by))
        assert isinstance(answer, Submitted) == (before.status in (Status.FAILED, Status.CANCELLED))
        if isinstance(answer, Refusal):
            return
        heir = answer.record
        assert self.record(job_id) == before
        assert (heir.spec.retry_of, heir.conversation_id) == (job_id, before.conversation_id)
        goes_on = not before.over and before.checkpointed is not None
        assert (heir.inherits == job_id) == goes_on
        seen, parent = Seen(heir.conversation_id), self.seen[job_id]
        seen.authors = parent.authors | {by}
        if goes_on:
            seen.graph, seen.journal = parent.graph, set(parent.journal)
            shown = [event.kind for event in self.run(self.service.store.events(heir.id))]
            of_its_end = {"summarized"} if before.reason is Reason.UNAPPROVED else set()
            kept = WORK - of_its_end
            assert shown[1:] == [event.kind for event in _current(events) if event.kind in kept]
        self.seen[heir.id] = seen

    @precondition(lambda self: self.some(Status.SUCCEEDED, Status.FAILED, Status.CANCELLED))
    @rule()
    def collect(self) -> None:
        """Time passes until what is final is not kept any more."""
        final = {job_id for job_id in self.seen if self.record(job_id).status.final}
        assert self.run(remove_finished(self.service.store, AT_ONCE)) == len(final)
        for job_id in final:
            del self.seen[job_id]
            self.gone.append(job_id)
            assert self.run(self.left_of(job_id)) == []

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def ask_for_what_is_gone(self, data: st.DataObject) -> None:
        job_id = data.draw(st.sampled_from(self.gone))
        operations = self.service.operations
        for asked in (
            operations.claim(job_id, "w"),
            operations.decide(job_id, decision()),
            operations.cancel(job_id, "ann"),
            operations.retry_as_new_job(job_id, by="ann"),
        ):
            answer = self.run(asked)
            assert isinstance(answer, Refusal)
            assert answer.code == "unknown"
        assert self.run(self.left_of(job_id)) == []

    @precondition(lambda self: self.some(Status.QUEUED, Status.RUNNING))
    @rule(data=st.data())
    def fall_silent(self, data: st.DataObject) -> None:
        """Its worker crashes, or its hints are lost: the sweeper finds the job once it is due."""
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
        hinted = [name for name, _ in self.service.hints]
        first = self.run(self.service.store.next_in_line(TENANT, after.conversation_id)) == job_id
        assert (job_id in hinted) == first

    @rule()
    def sweep(self) -> None:
        self.run(self.service.operations.sweep())

    @invariant()
    def everything_holds(self) -> None:
        """One look at everything, then each rule on its own."""
        read = self.service.store
        ids = list(self.seen)
        asked = (self.service.record, read.events, read.charges, read.journal)
        found = self.run(_all([ask(job_id) for job_id in ids for ask in asked]))
        known = [Known(*found[4 * i : 4 * i + 4]) for i in range(len(ids))]
        self.one_index_each([each.record for each in known])
        self.lines_in_order([each.record for each in known])
        for job_id, now in zip(ids, known, strict=True):
            seen = self.seen[job_id]
            seen.status = now.record.status
            self.one_lease(seen, now.record)
            what_was_paid_stays(seen, now)
            events_and_end_stand(seen, now)

    def one_index_each(self, records: list[JobRecord]) -> None:
        waiting = (Status.QUEUED, Status.RUNNING)
        assert self.run(self.indexes()) == {
            "due": {each.id for each in records if each.status in waiting},
            "awaiting_review": {
                each.id for each in records if each.status is Status.AWAITING_REVIEW
            },
            "finished": {each.id for each in records if each.status.final},
        }
        counted = Counter(each.status for each in records)
        assert self.run(self.service.store.counts()) == {s: counted[s] for s in Status}
        page = self.service.store.page(TENANT, limit=1_000, offset=0, status=None, label=None)
        assert {each.id for each in self.run(page).records} == {each.id for each in records}

    def lines_in_order(self, records: list[JobRecord]) -> None:
        lines: dict[str, list[JobRecord]] = {}
        for record in records:
            if not record.status.final:
                lines.setdefault(record.conversation_id, []).append(record)
        heads = [line[0] for line in lines.values() if line[0].status is Status.QUEUED]
        assert sum(self.run(self.service.store.queue_depth()).values()) == len(heads)
        assert self.run(self.service.store.load_now(TENANT)).queued == len(heads)
        for conversation, line in lines.items():
            head = self.run(self.service.store.next_in_line(TENANT, conversation))
            assert head == line[0].id
            assert {record.status for record in line[1:]} <= {Status.QUEUED}
            assert all(record.epoch == 0 for record in line[1:])

    def one_lease(self, seen: Seen, record: JobRecord) -> None:
        assert record.conversation_id == seen.conversation
        assert record.epoch == len(seen.helds)
        owns = self.run(_all([self.service.store.owns(held) for held in seen.helds]))
        running = record.status is Status.RUNNING
        assert owns == [False] * (len(owns) - running) + [True] * running
        assert (record.lease is not None) == running
        assert (record.review is not None) == (record.status is Status.AWAITING_REVIEW)


def what_was_paid_stays(seen: Seen, now: Known) -> None:
    assert sorted(charge.call for charge in now.charges) == sorted(seen.charges)
    assert set(now.journal) == (set() if now.record.over else seen.journal)
    assert now.record.graph == seen.graph


def events_and_end_stand(seen: Seen, now: Known) -> None:
    events, final = list(now.events), now.record.status.final
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[: len(seen.events)] == seen.events
    assert [event for event in events if event.final] == (events[-1:] if final else [])
    decided = [event for event in events if event.kind == "decided"]
    assert sum(event.data["by"] != EXPIRY for event in decided) == seen.decided
    opened = Counter(_reviews(events, "review_opened"))
    assert Counter(_reviews(events, "decided")) <= opened
    assert Counter(_reviews(events, "review_expired")) <= opened
    assert seen.ended in (None, now.record)
    seen.events = events
    seen.ended = now.record if final else None


async def _all(asked: list[Awaitable[Any]]) -> list[Any]:
    return await asyncio.gather(*asked)


def _reviews(events: Any, kind: str) -> Iterator[str]:
    return (event.data["review_id"] for event in events if event.kind == kind)


def _current(events: Any) -> list[Event]:
    """The events since the job was last begun anew."""
    kept: list[Event] = []
    for event in events:
        kept = [] if event.kind == "begun_anew" else [*kept, event]
    return kept
