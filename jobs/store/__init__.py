"""The store: jobs in plain Redis (7.0 or newer, or Valkey), each write one script. Beside it, tests
have no other: they run on the real server that the environment brings along.

The store compares and writes; it decides nothing. Every write is one atomic step: a record with its
index, its events and its place in its conversation's line (J3), or nothing.

redis         RedisStore: what all others use
records       its half that is about one job, and `index`: which commands a change entails
listing       its half about many jobs: due, pages, searches (`words`), counts
events        the events of a job, and `listener`: Redis' channels on one connection
channels      streamed tokens, and questions that one worker answers
spending      charges, budgets, counts of a day
conversations, decisions, outbox, credentials, blob_index, fleet   what their names say
commit        guards, events and commands as one step of lua/commit.lua
connection    clients, urgent scripts, errors
types         what goes in and comes out
"""

from jobs.store.types import (
    TURNS_KEPT,
    Charge,
    Existing,
    Held,
    Idempotency,
    Loaded,
    Page,
    Turn,
    Writes,
)

__all__ = [
    "TURNS_KEPT",
    "Charge",
    "Existing",
    "Held",
    "Idempotency",
    "Loaded",
    "Page",
    "Turn",
    "Writes",
]
