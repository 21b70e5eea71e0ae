"""The store: jobs in plain Redis (7.0 or newer, or Valkey), each write one script. Tests use a real
server, too.

The store compares and writes; `jobs.transitions` decides. Every write is one atomic step: a record
with its index, its events and its position in its conversation's line (J3).

redis_store   RedisStore: the store as all other packages use it, with all parts below
commit        the atomic write: guards, events and commands of one step of redis/lua/commit.lua
records       one job: create, load, change, remove
listing       many jobs: due jobs, pages, counts; `search` has the index of words
events        the events of a job
fleet         the workers
spending      charges, budgets, the counts of a day
outbox        messages to the webhook
decisions     the log of decisions
audit         the audit log, which outlives jobs
credentials   API keys
blob_index    references to bytes
types         arguments and results

See ADR 47.
"""

from jobs.store.types import (
    ENTRIES_KEPT,
    Charge,
    ConversationEntry,
    Cursor,
    Existing,
    Idempotency,
    JobPage,
    LeaseRef,
    Loaded,
    Writes,
)

__all__ = [
    "ENTRIES_KEPT",
    "Charge",
    "ConversationEntry",
    "Cursor",
    "Existing",
    "Idempotency",
    "JobPage",
    "LeaseRef",
    "Loaded",
    "Writes",
]
