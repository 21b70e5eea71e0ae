"""Ready: which job a hint stands for, so that tenants take turns within a priority (ADR 34).

A hint in the broker says that there is work of a priority. The jobs themselves stand here, by
tenant, and whoever takes a hint takes the job whose turn it is. Nothing of this is the truth: what
is lost, doubled or stale is as a hint that is. It is kept in the broker, by synchronous clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.keys import PREFIX
from jobs.redis_script import SCRIPTS
from jobs.spec import Priority

if TYPE_CHECKING:
    from redis import Redis

MOST_OF_A_TENANT = 10_000
"""Jobs of a tenant that stand here in one priority; the sweeper makes up for the others."""


class Ready:
    """The jobs of one broker that were hinted at. Raises redis' errors."""

    def __init__(self, redis: Redis) -> None:
        self._add = redis.register_script((SCRIPTS / "ready.lua").read_text())
        self._next = redis.register_script((SCRIPTS / "next.lua").read_text())

    def add(self, job_id: str, priority: Priority, tenant: str) -> None:
        """A job may be looked at; nothing where it stands here already."""
        turns = _turns(priority)
        self._add(keys=[turns, f"{turns}:{tenant}"], args=[tenant, job_id, MOST_OF_A_TENANT])

    def next(self, priority: Priority) -> str | None:
        """Take the job whose turn it is; None where none is known."""
        turns = _turns(priority)
        found: list[bytes] = self._next(keys=[turns], args=[f"{turns}:"])
        return found[0].decode() if found else None


def _turns(priority: Priority) -> str:
    return f"{PREFIX}ready:{priority}"
