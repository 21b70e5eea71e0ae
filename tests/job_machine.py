"""A Hypothesis machine that does to jobs whatever a house may do, and looks after each step."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from job_examples import RESULT, TENANT, House, decision, review

from jobs.errors import StaleEpoch
from jobs.events import Event, NewEvent
from jobs.lifecycle import Refusal
from jobs.record import JobRecord, Reason, Status
from jobs.review import Action
from jobs.spec import Priority
from jobs.store import Charge, Held, Store, Writes

T = TypeVar("T")
ENDS = ("succeed", "fail", "retry", "give_back", "pause")


@dataclass
class Seen:
    """What the machine remembers of one job."""

    conversation: str
    helds: list[Held] = field(default_factory=list)
    charges: set[str] = field(default_factory=set)
    decided: int = 0
    events: list[Event] = field(default_factory=list)
    ended: JobRecord | None = None


class JobMachine(RuleBasedStateMachine):
    """Subclasses say which store, how time passes for a job, and what lies in which index."""

    jobs = Bundle("jobs")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.house = House(self.open_store())
        self.seen: dict[str, Seen] = {}
        self.calls = 0

    def open_store(self) -> Store:
        """An empty store."""
        raise AssertionError("a subclass says")

    async def come_due(self, record: JobRecord) -> None:
        """Let time pass until the job is due."""
        raise AssertionError("a subclass says")

    async def indexes(self) -> dict[str, set[str]]:
        """Which jobs lie in `due` and in `awaiting_review`."""
        raise AssertionError("a subclass says")

    def run(self, awaitable: Awaitable[T]) -> T:
        """The answer of one operation."""
        return self.loop.run_until_complete(awaitable)  # type: ignore[arg-type]

    def record(self, job_id: str) -> JobRecord:
        """A job as it stands."""
        return self.run(self.house.record(job_id))

    def teardown(self) -> None:
        self.run(self.house.store.close())
        self.loop.close()

    @rule(
        target=jobs,
        conversation=st.sampled_from([None, "c1", "c2"]),
        priority=st.sampled_from(Priority),
    )
    def submit(self, conversation: str | None, priority: Priority) -> str:
        record = self.run(self.house.submit(conversation_id=conversation, priority=priority))
        self.seen[record.id] = Seen(record.conversation_id)
        assert self.house.hints[-1] == (record.id, priority)
        return record.id

    @rule(job_id=jobs, alone=st.booleans())
    def claim(self, job_id: str, alone: bool) -> None:
        before = self.record(job_id)
        answer = self.run(self.house.operations.claim(job_id, "w", alone=alone))
        if isinstance(answer, Refusal):
            assert self.record(job_id) == before
            return
        assert answer.epoch == before.epoch + 1
        self.seen[job_id].helds.append(Held(job_id, answer.epoch))

    @rule(job_id=jobs, which=st.integers(-2, -1), progress=st.booleans())
    def write(self, job_id: str, which: int, progress: bool) -> None:
        helds = self.seen[job_id].helds
        if len(helds) < -which:
            return
        self.calls += 1
        call = f"call-{self.calls}"
        charge = Charge(call, "critic", "m", 1, 1, None)
        events = (NewEvent(call, "summarized", {"text": call}),)
        writes = Writes(events, {call: b"1"} if progress else {}, (charge,))
        before = self.record(job_id)
        writing = self.house.store.write(job_id, helds[which].epoch, writes)
        if before.status is Status.RUNNING and helds[which].epoch == before.epoch:
            self.run(writing)
        else:
            with pytest.raises(StaleEpoch):
                self.run(writing)
            assert self.record(job_id) == before
        self.seen[job_id].charges.add(call)

    @rule(job_id=jobs, which=st.integers(-2, -1))
    def heartbeat(self, job_id: str, which: int) -> None:
        helds = self.seen[job_id].helds
        if len(helds) < -which:
            return
        before = self.record(job_id)
        lost = self.run(self.house.store.renew([helds[which]], 60_000))
        holds = before.status is Status.RUNNING and helds[which].epoch == before.epoch
        assert lost == ([] if holds else [helds[which]])
        assert self.record(job_id).version == before.version

    @rule(job_id=jobs, which=st.integers(-2, -1), how=st.sampled_from(ENDS))
    def let_go(self, job_id: str, which: int, how: str) -> None:
        helds = self.seen[job_id].helds
        if len(helds) < -which:
            return
        operations, held = self.house.operations, helds[which]
        arguments: dict[str, tuple[Any, ...]] = {
            "succeed": (RESULT, "did it"),
            "fail": (Reason.INTERNAL, "oops"),
            "retry": (Reason.MODEL_UNAVAILABLE, "away"),
            "give_back": ("drain",),
            "pause": (review(f"r{held.epoch}"),),
        }
        before = self.record(job_id)
        answer = self.run(getattr(operations, how)(held, *arguments[how]))
        holds = before.status is Status.RUNNING and held.epoch == before.epoch
        assert isinstance(answer, JobRecord) == holds

    @rule(job_id=jobs, right=st.booleans(), action=st.sampled_from(Action))
    def decide(self, job_id: str, right: bool, action: Action) -> None:
        before = self.record(job_id)
        name = f"r{before.epoch}" if right else "r-other"
        answer = self.run(self.house.operations.decide(job_id, decision(name, action)))
        applies = before.status is Status.AWAITING_REVIEW and right
        assert isinstance(answer, JobRecord) == applies
        self.seen[job_id].decided += applies

    @rule(job_id=jobs)
    def cancel(self, job_id: str) -> None:
        before = self.record(job_id)
        answer = self.run(self.house.operations.cancel(job_id, "ann"))
        assert isinstance(answer, JobRecord) != before.status.final

    @rule(job_id=jobs)
    def fall_silent(self, job_id: str) -> None:
        """Its worker crashes, or its hints are lost: the sweeper finds the job once it is due."""
        before = self.record(job_id)
        if before.status not in (Status.QUEUED, Status.RUNNING):
            return
        self.run(self.come_due(before))
        self.house.hints.clear()
        self.run(self.house.operations.sweep())
        after = self.record(job_id)
        assert after.version == before.version + 1
        assert after.status is not Status.RUNNING
        hinted = [name for name, _ in self.house.hints]
        first = self.run(self.house.store.next_in_line(TENANT, after.conversation_id)) == job_id
        assert (job_id in hinted) == first

    @rule()
    def sweep(self) -> None:
        self.run(self.house.operations.sweep())

    @invariant()
    def one_index_each(self) -> None:
        indexes = self.run(self.indexes())
        records = {job_id: self.record(job_id) for job_id in self.seen}
        waiting = (Status.QUEUED, Status.RUNNING)
        assert indexes == {
            "due": {name for name, record in records.items() if record.status in waiting},
            "awaiting_review": {
                name for name, record in records.items() if record.status is Status.AWAITING_REVIEW
            },
        }
        counted = Counter(record.status for record in records.values())
        assert self.run(self.house.store.counts()) == {s: counted[s] for s in Status}

    @invariant()
    def one_lease_each(self) -> None:
        for job_id, seen in self.seen.items():
            record = self.record(job_id)
            assert record.epoch == len(seen.helds)
            owning = [held for held in seen.helds if self.run(self.house.store.owns(held))]
            running = record.status is Status.RUNNING
            assert owning == (seen.helds[-1:] if running else [])
            assert (record.lease is not None) == running

    @invariant()
    def lines_in_order(self) -> None:
        lines: dict[str, list[JobRecord]] = {}
        for job_id, seen in self.seen.items():
            record = self.record(job_id)
            if not record.status.final:
                lines.setdefault(seen.conversation, []).append(record)
        for conversation, line in lines.items():
            head = self.run(self.house.store.next_in_line(TENANT, conversation))
            assert head == line[0].id
            assert {record.status for record in line[1:]} <= {Status.QUEUED}
            assert all(record.epoch == 0 for record in line[1:])

    @invariant()
    def events_and_ends_stand(self) -> None:
        for job_id, seen in self.seen.items():
            record, events = self.record(job_id), self.run(self.house.store.events(job_id))
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            assert list(events[: len(seen.events)]) == seen.events
            finals = [event for event in events if event.final]
            assert finals == (list(events[-1:]) if record.status.final else [])
            assert [event.kind for event in events].count("decided") == seen.decided
            paid = [charge.call for charge in self.run(self.house.store.charges(job_id))]
            assert sorted(paid) == sorted(seen.charges)
            assert seen.ended in (None, record)
            seen.events = list(events)
            seen.ended = record if record.status.final else None
