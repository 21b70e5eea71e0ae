"""The index of words in Redis: a sorted set of jobs for each word, and one of all words.

A job enters it after its creation, by the first sweeper or search that looks. So that a
submission costs no more for it than one entry in a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redis.asyncio import Redis

from jobs import search_terms
from jobs.model.codec import dump
from jobs.model.record import JobRecord
from jobs.model.spec import Kind
from jobs.redis import keys
from jobs.redis.connection import Command, ask, lua
from jobs.redis.keys import JobKeys

AT_ONCE = 10
"""Jobs that one step enters: it blocks Redis for a millisecond or two."""
MOST_WORDS = 8
"""Words that one beginning stands for at most, the first by their letters."""


class Words:
    """Reading and filling the index."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._index = redis.register_script(lua("index"))

    async def index(self) -> int:
        """Enter some of the jobs that wait for it; how many there were."""
        return int(await ask(self._index(keys=[keys.UNINDEXED], args=[AT_ONCE, keys.JOB])))

    async def groups(self, tenant: str, asked: Sequence[str]) -> list[list[str]]:
        """For each word that is searched, the sets of jobs that it stands for."""
        name = keys.words(tenant)
        async with self._redis.pipeline(transaction=False) as pipe:
            for wanted in asked:
                end = f"[{wanted}" if len(wanted) == 1 else f"[{wanted}\U0010ffff"
                pipe.zrangebylex(name, f"[{wanted}", end, 0, MOST_WORDS)
            found = await ask(pipe.execute())
        return [[keys.word(tenant, word.decode()) for word in group] for group in found]

    async def of(self, record: JobRecord) -> Sequence[str]:
        """The words under which a job stands in the index."""
        found = await ask(self._redis.hget(JobKeys(record.id).record, "words"))
        return found.decode().split() if found else ()


def entered(record: JobRecord) -> Iterator[Command]:
    """A new job waits for its entry; what is no task is not searched for."""
    if record.spec.kind is Kind.TASK:
        tenant = record.tenant
        place = [record.id, record.created_at, keys.words(tenant), keys.word(tenant, "")]
        yield ("RPUSH", keys.UNINDEXED, dump([*place, *search_terms.of(record)]))


def left(record: JobRecord, own: Sequence[str]) -> Iterator[Command]:
    """A job leaves the index."""
    for word in own:
        yield (
            "UNWORD",
            keys.word(record.tenant, word),
            keys.words(record.tenant),
            word,
            record.id,
        )
