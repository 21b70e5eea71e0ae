"""Whatever is done to jobs in memory, in any order, the invariants hold."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from job_examples import NOW
from job_machine import JobMachine

from jobs.memory_store import MemoryStore


class MemoryMachine(JobMachine):
    def open_store(self):
        self.now = NOW
        return MemoryStore(lambda: self.now)

    async def come_due(self, record):
        self.now = max(self.now, record.due_at)

    async def indexes(self):
        # this form has no indexes that could go wrong: `due` is asked at the end of time
        now, self.now = self.now, NOW * 2
        due = await self.house.store.due(1_000)
        self.now = now
        waits = {name for name in self.seen if (await self.house.record(name)).review}
        return {"due": set(due), "awaiting_review": waits}


TestMemoryMachine = MemoryMachine.TestCase
TestMemoryMachine.settings = settings(
    max_examples=120,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
