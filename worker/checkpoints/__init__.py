"""LangGraph checkpoints on plain Redis: hashes, sets and one sorted set a thread; no modules.

Layout. `T` is a thread id and `N` a checkpoint namespace ('' is the root graph), both
percent-encoded, so that no id can be mistaken for another key; `C` is a checkpoint id: ids sort by
time.

    fettle:checkpoint:T           zset  "N:C" at score 0: the thread's checkpoint keys, by name
    fettle:checkpoint:T:N:C       hash  one checkpoint and the pending writes on it
        c   the checkpoint without its channel values
        m   its metadata
        p   id of its parent, absent at the first
        v   the values it holds: "channel@version channel@version ..."
        w:TASK:INDEX              one pending write: channel, task path, value
    fettle:checkpoint:T:N         hash  "channel@version" -> value, stored once however many
                                        checkpoints hold it

A value is its serialiser's type, a space, its bytes. Each call that saves is one `Write`, atomic,
of commands that ask nothing. A read is one round trip: a read-only script finds the newest
checkpoint, its writes and its values together.

Pending writes may arrive before their checkpoint or after its child (durability `sync` leaves the
order open: https://github.com/langchain-ai/langgraph/issues/8039). They go into the same hash,
which is no checkpoint until it has a `c`.

Only a thread's owner may write to it, so nothing here locks. Copying reads the index first and is
meant for a source that nobody works on.
"""

from worker.checkpoints.saver import RedisSaver, Write

__all__ = ["RedisSaver", "Write"]
