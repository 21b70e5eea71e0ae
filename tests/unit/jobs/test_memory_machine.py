"""Whatever is done to jobs in memory, in any order, the invariants hold."""

from __future__ import annotations

from job_examples import NOW
from job_machine import JobMachine, walks

from jobs.memory_store import MemoryStore


class MemoryMachine(JobMachine):
    def open_store(self):
        self.now = NOW
        return MemoryStore(lambda: self.now)

    async def come_due(self, record):
        self.now = max(self.now, record.due_at)

    async def come_overdue(self, record):
        self.now = max(self.now, record.review.expires_at)

    async def indexes(self):
        # this form has no indexes that could go wrong: it is asked at the end of time
        now, self.now = self.now, NOW * 2
        due = await self.house.store.due(1_000)
        finished = await self.house.store.finished(NOW * 2, 1_000)
        self.now = now
        waits = {name for name in self.seen if (await self.house.record(name)).review}
        return {"due": set(due), "awaiting_review": waits, "finished": set(finished)}

    async def left_of(self, job_id):
        store = self.house.store
        kept = {
            "record": await store.load(job_id),
            "events": await store.events(job_id),
            "journal": await store.journal(job_id),
            "charges": await store.charges(job_id),
        }
        return [name for name, found in kept.items() if found]


TestMemoryMachine = MemoryMachine.TestCase
TestMemoryMachine.settings = walks(100, 40)
