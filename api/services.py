"""Services: the objects that the routes use, opened at start-up and closed at the end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, cast

import structlog
from fastapi import Depends, Request

from api import problems
from api.auth.limits import (
    RateLimit,
    Slots,
    Turns,
    WrongKeys,
    search_slots,
    stream_slots,
    upload_turns,
)
from api.dependencies import Dependencies
from api.metrics import Metrics
from api.pages.session import Sessions
from api.problems import RefusedRequest
from api.submission.admission import Admission
from jobs.blobs.directory import Blobs, open_blobs
from jobs.budgets import make_cap
from jobs.model.credentials import Credential
from jobs.model.record import JobRecord, Status, is_job_id
from jobs.queue.admission import AdmissionLimits
from jobs.queue.hints import Hints
from jobs.queue.ready import WaitTimes
from jobs.redis.check import RedisReport, check_redis
from jobs.service import Operations
from jobs.store import Loaded
from jobs.store.credentials import Credentials
from jobs.store.redis_store import RedisStore, connect
from jobs.view.queueing import FleetState
from settings.api import ApiSettings

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Services:
    """The objects of one API process."""

    settings: ApiSettings
    store: RedisStore
    operations: Operations
    blobs: Blobs
    credentials: Credentials
    rate_limit: RateLimit
    admission: Admission
    sessions: Sessions
    wrong_keys: WrongKeys
    waiting: WaitTimes
    dependencies: Dependencies
    searches: Slots = field(default_factory=search_slots)
    streams: Slots = field(default_factory=stream_slots)
    uploads: Turns = field(default_factory=upload_turns)
    metrics: Metrics = field(default_factory=Metrics)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server stops: event streams end then, so that the server can."""

    async def fitness(self) -> RedisReport:
        """The configuration that Redis reports. Raises StoreUnavailable."""
        return await check_redis(self.store.redis)


@contextlib.asynccontextmanager
async def open_services(settings: ApiSettings) -> AsyncIterator[Services]:
    """Services with the settings' Redis and data directory. They connect on first use."""
    redis = connect(settings.redis_url.url, seconds=settings.redis_seconds)
    hints = Hints(settings.broker_url.url)
    broker = connect(settings.broker_url.url, seconds=settings.redis_seconds)
    rate_limit = RateLimit(broker, settings.rate_limit)
    blobs = open_blobs(settings.blobs_dir, settings.bucket())
    store = RedisStore(redis, settings.redis_replicas)
    try:
        yield Services(
            settings=settings,
            store=store,
            operations=Operations(store, hints.hint, webhooks=bool(settings.webhook_url)),
            blobs=blobs,
            credentials=Credentials(redis),
            rate_limit=rate_limit,
            wrong_keys=WrongKeys(settings.wrong_key_limit),
            admission=Admission(
                store,
                AdmissionLimits(settings.admit_memory_ratio, settings.admit_queued),
                make_cap(settings.key_cost_usd_per_day, settings.key_tokens_per_day),
            ),
            waiting=WaitTimes(broker, redis),
            dependencies=Dependencies(redis, broker, blobs),
            sessions=Sessions(redis, settings.session_seconds),
        )
    finally:
        await asyncio.to_thread(hints.close)
        await rate_limit.close()
        await store.close()


async def services(request: Request) -> Services:  # a plain function would cost a thread
    """The services of the application that serves this request."""
    return cast("Services", request.app.state.services)


ServicesDep = Annotated[Services, Depends(services)]


async def find_job(services: Services, caller: Credential, job_id: str) -> Loaded:
    """The job and the time. Another tenant's job is a 404, like one that does not exist."""
    # an id becomes part of a Redis key: nothing but an id may be used
    loaded = await services.store.load(job_id) if is_job_id(job_id) else None
    if loaded is None or loaded.record.tenant != caller.tenant:
        raise RefusedRequest(problems.NOT_FOUND, "this job does not exist")
    return loaded


async def fleet_for(services: Services, records: Iterable[JobRecord]) -> FleetState | None:
    """The facts that explain why these jobs are queued. None if no job is queued; then no call is
    made."""
    if not any(record.status is Status.QUEUED for record in records):
        return None
    store = services.store
    announced, counts, now = await asyncio.gather(store.workers(), store.counts(), store.now())
    oldest = now - services.settings.worker_seen_seconds * 1000
    lately = [worker for worker in announced if worker["seen_at"] >= oldest]
    return FleetState(lately, counts[Status.RUNNING])


async def queue_state(services: Services, record: JobRecord) -> FleetState | None:
    """As `fleet_for`, with the place of the job in its queue."""
    if (fleet := await fleet_for(services, [record])) is None:
        return None
    head, ahead = await asyncio.gather(
        services.store.next_in_line(record.tenant, record.conversation_id),
        services.store.count_ahead(record),
    )
    return replace(fleet, line_head=head, place=ahead + 1)
