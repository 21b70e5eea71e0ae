"""Fleet: the rules for all workers, as this worker reads them from the record in Redis.

The environment of a worker has an effect on the first record only.

See ADR 72.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from jobs.errors import StoreUnavailable
from jobs.model.fleet import FleetRecord, FleetRules, FleetUnreadable, first_record
from jobs.retention import Retention
from jobs.store.redis_store import RedisStore
from jobs.transitions.lifecycle import Policy
from settings.base import FleetSettings
from settings.worker import WorkerSettings

FOLLOW_SECONDS = 2.0
"""How soon a worker follows a change of the record."""

log = structlog.get_logger("worker.background.fleet")


class RulesInForce:
    """The rules that count, and the settings of this worker that they overrule."""

    def __init__(self, record: FleetRecord, settings: WorkerSettings) -> None:
        self._settings = settings
        self._version = 0
        self.rules = record.rules
        self._use(record)

    def facts(self) -> Mapping[str, Any]:
        """The announced facts: under `fleet` the version of the record, and the values of this
        worker's environment that it ignores, by name."""
        return {
            "fleet": {"version": self._version, "ignored": dict(self._ignored)},
            "blob_grace_seconds": self.rules.blob_grace_seconds,
        }

    async def follow(self, store: RedisStore, changed: Callable[[], None]) -> None:
        """Read the record at intervals, until cancelled; call `changed` when the rules change. A
        damaged or missing record has no effect."""
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            try:
                record = await store.fleet.read()
            except StoreUnavailable:
                continue
            except FleetUnreadable as error:
                log.error("fleet settings unreadable: the last ones apply", error=str(error))
                continue
            if record is not None and record.version != self._version:
                rules = self.rules
                self._use(record)
                log.info("fleet settings read", version=record.version)
                if self.rules != rules:
                    changed()

    def _use(self, record: FleetRecord) -> None:
        self._version, self.rules = record.version, record.rules
        self._ignored = record.rules.differences(self._settings.set_fleet_values())
        for name, value in self._ignored.items():
            log.warning(
                "fleet setting ignored",
                name=f"FETTLE_{name.upper()}",
                value=value,
                counts=getattr(record.rules, name),
                advice="remove it here, or change the record: fettle fleet set",
            )
        grace = record.rules.blob_grace_seconds
        longest = self._settings.max_timeout_seconds + record.rules.overdue_seconds
        if grace <= longest:
            log.warning(
                "bytes are not kept for long enough",
                blob_grace_seconds=grace,
                longest_attempt_seconds=longest,
                advice=f"fettle fleet set blob_grace_seconds={2 * longest:g}",
            )


async def open_fleet(store: RedisStore, settings: WorkerSettings, worker: str) -> RulesInForce:
    """The fleet of this worker. The first worker of all makes the record. Raises FleetUnreadable,
    StoreUnavailable."""
    while (record := await store.fleet.read()) is None:
        values = await _first_values(store, settings)
        if await store.fleet.replace(first_record(values, await store.now(), by=worker)):
            log.info("fleet settings put on record", **values)
    return RulesInForce(record, settings)


async def _first_values(store: RedisStore, settings: WorkerSettings) -> dict[str, Any]:
    """The settings of this worker. If its retention would remove finished jobs at once, a longer
    retention applies until the operator confirms the value: this may be the only worker of the
    fleet with a wrong value."""
    values = settings.fleet_values()
    expired = await store.fleet.count_finished(int(settings.retention_days * 86_400_000))
    if expired:
        default = FleetSettings.model_fields["retention_days"].default
        oldest_days = await store.fleet.oldest_finished_days()
        values["retention_days"] = max(default, math.floor(oldest_days) + 1.0)
        log.warning(
            "retention not taken from the environment",
            retention_days=settings.retention_days,
            would_remove_jobs=expired,
            counts=values["retention_days"],
            advice=f"confirm it: fettle fleet set retention_days={settings.retention_days:g}",
        )
    return values


def policy_of(rules: FleetRules) -> Policy:
    """The part of the rules that decides about a job at work."""
    return Policy(
        lease_ms=int(rules.lease_seconds * 1000),
        retries=rules.retries,
        retry_ms=int(rules.retry_seconds * 1000),
        longest_retry_ms=int(rules.retry_longest_seconds * 1000),
        overdue_ms=int(rules.overdue_seconds * 1000),
    )


def retention_of(rules: FleetRules) -> Retention:
    """The rules for removing old jobs and bytes."""
    return Retention(rules.retention_ms, int(rules.blob_grace_seconds * 1000))
