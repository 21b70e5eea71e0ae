"""RedisStore: jobs in plain Redis. Each write is one script."""

from __future__ import annotations

from redis.asyncio import Redis

from jobs.redis.channels import TokenChannel, WorkerRpc
from jobs.redis.connection import connect
from jobs.store.audit import AuditLog
from jobs.store.blob_index import BlobIndex
from jobs.store.events import EventLog
from jobs.store.fleet import CapabilityRecords, FleetStore, LeaderLock, WorkerRegistry
from jobs.store.listing import Listing
from jobs.store.outbox import Outbox
from jobs.store.records import Records
from jobs.store.review_rules import ReviewRulesStore
from jobs.store.spending import Budgets, DayCounts
from jobs.store.webhooks import Webhooks

__all__ = ["RedisStore", "connect"]


class RedisStore(Records, EventLog, Listing, WorkerRegistry):
    """The store. Records are about one job, EventLog about its events, Listing about many jobs,
    WorkerRegistry about workers.

    `close` also closes the client. Raises StoreUnavailable if Redis cannot be reached in time.
    """

    def __init__(self, redis: Redis, replicas: int = 0) -> None:
        super().__init__(redis, replicas)
        self.audit = AuditLog(redis, self._commit)
        self.blobs = BlobIndex(redis)
        self.budgets = Budgets(redis, self._commit)
        self.day_counts = DayCounts(redis)
        self.outbox = Outbox(redis)
        self.webhooks = Webhooks(redis)
        self.leader = LeaderLock(redis)
        self.fleet = FleetStore(redis)
        self.review_rules = ReviewRulesStore(redis, self._commit)
        self.capabilities = CapabilityRecords(redis)
        self.tokens = TokenChannel(redis, self.listener)
        self.rpc = WorkerRpc(redis, self.listener)

    async def close(self) -> None:
        """Close all connections."""
        await self.listener.close()
        await self.redis.aclose()
