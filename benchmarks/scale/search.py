"""`python -m benchmarks.scale.search [--json]`: what one reader's searches cost everybody else.

A throw-away Redis and one API process, so many jobs of eight words on record. One tenant submits at
a steady pace; after a while without, a reader of another tenant searches for eight words beside it,
without waiting for answers. Keys of the JSON line, each `quiet` and `beside` the searches:
`post_p50_ms`, `post_p99_ms`, `post_refused` (no 202), `redis_longest_ms` (the longest command that
Redis has noted); of the searches `search_p50_ms` and `search_refused`.
"""

from __future__ import annotations

import asyncio
import statistics
from typing import Any

import click
import httpx

from benchmarks.scale.paced import paced
from benchmarks.services import base_services
from cli.local.deployment import Deployment
from cli.output import Screen, print_json
from drills.outer import report_errors
from jobs.model.credentials import OPERATOR
from jobs.model.record import JobRecord
from jobs.model.spec import JobSpec
from jobs.service import Operations, Submitted
from jobs.store.redis_store import RedisStore, connect
from settings.base import DEVELOPMENT_KEY
from settings.client import sealed

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
WORST = " ".join(word[:3] for word in WORDS)
"""A search that every job matches which was put on record for it."""
AT_ONCE = 50
SLOW_US = 1_000
RATES = {"FETTLE_RATE_LIMIT": "1000000/minute", "FETTLE_ADMIT_QUEUED": "1000000"}


async def _fill(redis_url: str, jobs: int) -> None:
    """Put the jobs on record, and enter them into the index of words."""
    store = RedisStore(connect(redis_url, seconds=60))
    operations = Operations(store, _no_hint)
    try:
        for start in range(0, jobs, AT_ONCE):
            await asyncio.gather(*(_submit(operations, start + n) for n in range(AT_ONCE)))
        while await store.words.index():
            pass
    finally:
        await store.close()


def task(number: int) -> str:
    """The task of a job that searches look at."""
    return " ".join(f"{word}{number % 5}" for word in WORDS)


async def _submit(operations: Operations, number: int) -> None:
    spec = JobSpec(task=task(number))
    submitted = await operations.submit(OPERATOR, spec, by="bench")
    assert isinstance(submitted, Submitted), submitted


def _no_hint(_record: JobRecord) -> None:
    """Nobody works on these jobs."""


async def _longest_ms(store: RedisStore) -> float:
    """The longest command since the last look, of those that took a millisecond or more."""
    found: list[Any] = await store.redis.slowlog_get(10_000)
    await store.redis.slowlog_reset()
    return round(max((each["duration"] for each in found), default=0) / 1000, 1)


async def _measured(
    url: str, redis_url: str, seconds: float, posts: float, searches: float
) -> dict[str, float]:
    store = RedisStore(connect(redis_url, seconds=60))
    await store.redis.config_set("slowlog-log-slower-than", SLOW_US)
    limits = httpx.Limits(max_connections=None)
    headers = {"X-API-Key": DEVELOPMENT_KEY}
    async with httpx.AsyncClient(
        base_url=url, headers=headers, timeout=30, limits=limits
    ) as client:
        body = {"name": "other", "tenant": "other", "scopes": ["submit", "read"]}
        other = {"X-API-Key": (await client.post("/keys", json=body)).json()["secret"]}

        async def post() -> int:
            answer = await client.post("/jobs", json={"task": "one more"}, headers=other)
            return answer.status_code

        async def search() -> int:
            return (await client.get("/jobs", params={"text": WORST})).status_code

        await paced(posts, 2, post)
        await store.redis.slowlog_reset()
        quiet = await paced(posts, seconds, post)
        quiet_ms = await _longest_ms(store)
        beside, searched = await asyncio.gather(
            paced(posts, seconds, post), paced(searches, seconds, search)
        )
        beside_ms = await _longest_ms(store)
    await store.close()
    return {
        "post_p50_ms_quiet": quiet.at(0.5),
        "post_p99_ms_quiet": quiet.at(0.99),
        "post_refused_quiet": quiet.refused,
        "redis_longest_ms_quiet": quiet_ms,
        "post_p50_ms_beside": beside.at(0.5),
        "post_p99_ms_beside": beside.at(0.99),
        "post_refused_beside": beside.refused,
        "redis_longest_ms_beside": beside_ms,
        "search_p50_ms": round(statistics.median(searched.ms), 1),
        "search_p99_ms": searched.at(0.99),
        "search_refused": searched.refused,
    }


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
@click.option("--jobs", type=click.IntRange(AT_ONCE), default=14_000, show_default=True)
@click.option("--seconds", type=float, default=20.0, show_default=True, help="of each part")
@click.option("--posts", type=float, default=10.0, show_default=True, help="submissions a second")
@click.option("--searches", type=float, default=10.0, show_default=True, help="a second")
def main(as_json: bool, jobs: int, seconds: float, posts: float, searches: float) -> None:
    """Measure submissions without and beside another tenant's searches."""
    screen = Screen(stderr=as_json)
    with report_errors(screen), base_services("search") as below:
        asyncio.run(_fill(below.redis.url, jobs))
        screen.line("on record", f"{jobs} jobs of {len(WORDS)} words")
        api = below.answering(Deployment(below.port, sealed({**below.env, **RATES})).api())
        figures = asyncio.run(_measured(api.url, below.redis.url, seconds, posts, searches))
    screen.rows(("WHAT", "FIGURE"), [(name, f"{value:g}") for name, value in figures.items()])
    if as_json:
        print_json(figures)


if __name__ == "__main__":
    main()
