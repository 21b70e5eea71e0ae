"""The store: jobs in plain Redis (7.0 or newer, or Valkey), each write one script. There is no
double for tests: they run on a real server.

The store compares and writes; it decides nothing. Every write is one atomic step: a record with its
index, its events and its place in its conversation's line (J3), or nothing.

redis_store   RedisStore: what all others use, made of the next four
records       one job, and `index`: which commands a change entails
listing       many jobs: due, pages, searches (`search`), counts
events        the events of a job
fleet         the workers
spending      charges, budgets, counts of a day
decisions, outbox, credentials, blob_index   what their names say
commit        guards, events and commands as one step of redis/lua/commit.lua
types         what goes in and comes out

Why: docs/decisions/0047-one-store.md
"""

from jobs.store.types import (
    ENTRIES_KEPT,
    Charge,
    ConversationEntry,
    Existing,
    Idempotency,
    LeaseRef,
    Loaded,
    Page,
    Writes,
)

__all__ = [
    "ENTRIES_KEPT",
    "Charge",
    "ConversationEntry",
    "Existing",
    "Idempotency",
    "LeaseRef",
    "Loaded",
    "Page",
    "Writes",
]
