"""LangGraph checkpoints on plain Redis: hashes, and one sorted set for each thread; no modules.

The keys: `T` is a thread id and `N` a checkpoint namespace ('' is the root graph). Both are
percent-encoded, so that no id can be mistaken for another key. `C` is a checkpoint id; LangGraph's
ids sort by time.

    fettle:checkpoint:T           zset  "N:C" at score 0: the thread's checkpoint keys, by name
    fettle:checkpoint:T:N:C       hash  one checkpoint and the pending writes on it
        c   the checkpoint without its channel values
        m   its metadata
        p   the id of its parent; the first checkpoint has none
        v   the names of its values: "channel@version channel@version ..."
        w:TASK:INDEX              one pending write: channel, task path, value
    fettle:checkpoint:T:N         hash  "channel@version" -> value, which many checkpoints can share

A value is stored as the type that the serialiser gave it, a space, and its bytes. Each call that
saves is one atomic `Write` of commands that do not depend on replies. A read is one round trip: a
read-only script returns the checkpoint with its writes and its values.

Pending writes may arrive before their checkpoint or after its child (durability `sync` leaves the
order open: https://github.com/langchain-ai/langgraph/issues/8039). They go into the same hash,
which is no checkpoint until it has a `c`.

Only the owner of a thread may write to it, so this package needs no locks. A copy reads the index
of its source first, so no attempt may write to the source at that time.
"""

from worker.checkpoints.saver import RedisSaver, Write

__all__ = ["RedisSaver", "Write"]
