"""Search: the words by which a job is found, and their index in Redis.

The words of a job are the words of its id, its labels and its task. A job matches a search if each
word of the search begins a word of the job; a single letter must be a full word.

The index has a sorted set of jobs for each word, and a sorted set of all words. A new job only
enters a list: the next sweeper or search moves it into the index, so that a submission stays fast.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from redis.asyncio import Redis

from jobs.model.codec import dump
from jobs.model.record import JobRecord
from jobs.model.spec import JobKind
from jobs.redis import keys
from jobs.redis.connection import RedisCommand, await_redis, read_script
from jobs.redis.keys import JobKeys

JOBS_PER_STEP = 10
"""The jobs that one step adds to the index: this blocks Redis for a millisecond or two."""
MATCHES_PER_WORD = 8
"""A word of a search matches at most this number of words, the first in alphabetical order."""
WORDS_PER_JOB = 64
WORDS_PER_SEARCH = 8
WORD_LENGTH = 32
"""Longer words are cut."""
SEARCHED_TASK_LENGTH = 8_000
"""The characters of a task from which words are taken: its beginning names the subject."""
_WORD = re.compile(r"[^\W_]+")


def words_of_job(record: JobRecord) -> tuple[str, ...]:
    """The words that find a job: its id first."""
    spec = record.spec
    texts = (record.id, *spec.labels, spec.task[:SEARCHED_TASK_LENGTH])
    words = (word for text in texts for word in _split(text))
    return _first_distinct(words, WORDS_PER_JOB)


def words_of_search(text: str) -> tuple[str, ...]:
    """The words of a search; empty if the text has no word."""
    return _first_distinct(_split(text), WORDS_PER_SEARCH)


def matches(record: JobRecord, searched_words: Sequence[str]) -> bool:
    """Whether a search finds a job."""
    job_words = words_of_job(record)
    return all(any(_begins(word, searched) for word in job_words) for searched in searched_words)


def _begins(word: str, searched: str) -> bool:
    return word == searched or (len(searched) > 1 and word.startswith(searched))


def _split(text: str) -> Iterable[str]:
    normalized = unicodedata.normalize("NFKC", text).casefold()
    return (word[:WORD_LENGTH] for word in _WORD.findall(normalized))


def _first_distinct(words: Iterable[str], limit: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))[:limit]


class WordIndex:
    """The index of words. Raises StoreUnavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._index = redis.register_script(read_script("index"))

    async def index_new_jobs(self) -> int:
        """Move up to `JOBS_PER_STEP` new jobs into the index; returns their number."""
        return int(
            await await_redis(self._index(keys=[keys.UNINDEXED], args=[JOBS_PER_STEP, keys.JOB]))
        )

    async def job_sets(self, tenant: str, searched_words: Sequence[str]) -> list[list[str]]:
        """For each searched word, the keys of the sets of jobs with a word that begins with it."""
        all_words = keys.words(tenant)
        async with self._redis.pipeline(transaction=False) as pipe:
            for searched in searched_words:
                end = f"[{searched}" if len(searched) == 1 else f"[{searched}\U0010ffff"
                pipe.zrangebylex(all_words, f"[{searched}", end, 0, MATCHES_PER_WORD)
            word_groups = await await_redis(pipe.execute())
        return [[keys.word(tenant, word.decode()) for word in group] for group in word_groups]

    async def words_of(self, record: JobRecord) -> Sequence[str]:
        """The words under which the index has a job."""
        words = await await_redis(self._redis.hget(JobKeys(record.id).record, "words"))
        return words.decode().split() if words else ()


def queue_for_index(record: JobRecord) -> Iterator[RedisCommand]:
    """Add a new job to the list of jobs that wait for the index. Only tasks are searched for."""
    if record.spec.kind is JobKind.TASK:
        tenant = record.tenant
        entry = [record.id, record.created_at, keys.words(tenant), keys.word(tenant, "")]
        yield ("RPUSH", keys.UNINDEXED, dump([*entry, *words_of_job(record)]))


def remove_from_index(record: JobRecord, words: Sequence[str]) -> Iterator[RedisCommand]:
    """Remove a job from the index."""
    for word in words:
        word_jobs = keys.word(record.tenant, word)
        yield ("REMOVE_WORD", word_jobs, keys.words(record.tenant), word, record.id)
