"""Background work on the audit log: seal entries, sign the head of each day, remove old entries.

See ADR 91.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from jobs.audit.signing import AuditKeyUnfit, read_private_key
from jobs.budgets import DAY_MS
from jobs.store.redis_store import RedisStore
from settings.worker import WorkerSettings
from worker.background.periodic import every_seconds, run_logged

CHECK_SECONDS = 60.0
"""How often one worker looks for logs to sign, and for entries to remove."""

log = structlog.get_logger("worker.background.audit")


async def seal_forever(store: RedisStore, seconds: float) -> None:
    """Seal until cancelled: one worker of the fleet every `seconds`."""
    await every_seconds(seconds, "audit", partial(seal_logs, store), store.leader)


async def seal_logs(store: RedisStore) -> None:
    """Seal the pending entries of all logs. A log that cannot be sealed does not keep the other
    logs from it."""
    for tenant in await store.audit.tenants_to_seal():
        await run_logged(f"audit of {tenant}", partial(store.audit.seal, tenant))


@dataclass(frozen=True, slots=True)
class AuditWork:
    """The signatures and the retention of the logs."""

    key: Ed25519PrivateKey | None
    """None: this worker signs no log."""
    retention_ms: int | None
    """None: entries are kept forever."""
    webhook: bool
    """Whether a signed head is also a message to the webhook."""

    async def run_forever(self, store: RedisStore) -> None:
        """Sign and trim until cancelled. Workers with the same abilities take turns."""
        abilities = [
            *(["signature"] if self.key else []),
            *(["retention"] if self.retention_ms else []),
        ]
        if abilities:
            name = f"audit {' and '.join(abilities)}"
            await every_seconds(CHECK_SECONDS, name, lambda: self.run(store), store.leader)

    async def run(self, store: RedisStore) -> None:
        """Remove the old entries of each log, and sign its head, if it was not signed today or if
        entries were removed since. A log that cannot be read does not keep the other logs from
        it."""
        for tenant in await store.audit.tenants():
            await run_logged(f"audit of {tenant}", partial(self._maintain, store, tenant))

    async def _maintain(self, store: RedisStore, tenant: str) -> None:
        if self.retention_ms and (count := await store.audit.trim(tenant, self.retention_ms)):
            log.info("audit log trimmed", tenant=tenant, entries=count)
        if self.key and await store.audit.sign_head(tenant, self.key, webhook=self.webhook):
            log.info("audit log signed", tenant=tenant)


def audit_work(settings: WorkerSettings) -> AuditWork:
    """The work by the settings. Raises AuditKeyUnfit if the key cannot be used."""
    days = settings.audit_retention_days
    return AuditWork(
        key=None if settings.audit_key is None else _read_key(settings.audit_key),
        retention_ms=None if days is None else int(days * DAY_MS),
        webhook=bool(settings.webhook_url),
    )


def _read_key(path: Path) -> Ed25519PrivateKey:
    try:
        return read_private_key(path.read_bytes())
    except OSError as error:
        raise AuditKeyUnfit(
            f"FETTLE_AUDIT_KEY is {path}, which cannot be read: {error.strerror}"
        ) from None
    except AuditKeyUnfit as error:
        raise AuditKeyUnfit(
            f"FETTLE_AUDIT_KEY is {path}: {error}. `openssl genpkey -algorithm ed25519` makes a key"
        ) from None
