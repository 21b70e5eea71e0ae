"""`python -m benchmarks.scale.load [--checkout DIR ...] [--url URL] [--json]`: load.

Jobs are submitted at a steady rate: alone, beside a reader who searches (for eight words that every
job has), beside readers who follow jobs, and beside both. Each part runs on every side in turn, by
the same client. A side is a deployment of a checkout, or the one at URL; FETTLE_API_KEY is
then its admin's key, and its limits have to allow the requests. `--jobs` are submitted to be
searched, and stay there.

A row for each part and side has: `post_p50_ms`, `post_p99_ms`; the percentages of POSTs answered
with 2xx, 503 and otherwise; opened event streams, and those that ended before their job (`cut`);
searches answered with 2xx, and all; accepted jobs that were not found later (`lost`); the peak
memory of the API's process in MiB.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import httpx
import uvloop

from benchmarks.scale.memory import Peak
from benchmarks.scale.paced import GOOD, Answers, paced
from benchmarks.scale.readers import Readers, reading
from benchmarks.scale.side import WORST, Side, each, fill, settled, started
from cli import context
from cli.output import Screen, print_json
from drills.outer import report_errors
from settings.client import ClientSettings

PARTS = {"plain": (False, False), "search": (True, False), "streams": (False, True)}
PARTS |= {"both": (True, True)}
"""Whether a reader searches, and whether readers follow jobs."""
T = TypeVar("T")
HERE = Path(__file__).resolve().parents[2]
TRIES = 60
BUSY = 503
NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one part on one side; see the module's docstring."""

    rate: float
    part: str
    side: str
    posts: int
    post_p50_ms: float
    post_p99_ms: float
    percent_2xx: float
    percent_503: float
    percent_other: float
    streams: int
    cut: int
    searches_2xx: int
    searches: int
    lost: int
    api_mib: float


async def _loaded(
    side: Side, key: str, rate: float, seconds: float, searches: float, streams: int
) -> tuple[Answers, Answers, Readers, int]:
    """The answers to POSTs and to searches, the readers, and the number of lost jobs."""
    async with side.client() as reader, side.client(key) as client, side.client(key) as following:

        async def post() -> int:
            answer = await client.post("/jobs", json=side.job("one more"))
            if answer.status_code in GOOD:
                readers.ids.append(answer.json()["id"])
            return answer.status_code

        async def search() -> int:
            return (await reader.get("/jobs", params={"text": WORST})).status_code

        async with reading(following, side, streams) as readers:
            posted, searched = await asyncio.gather(
                paced(rate, seconds, post), paced(searches, seconds, search)
            )
        lost = await _cancelled(client, readers.ids)
        await _emptied(client)
    return posted, searched, readers, lost


async def _cancelled(client: httpx.AsyncClient, ids: list[str]) -> int:
    """Cancel the accepted jobs before the next part; returns how many were not found."""
    lost = 0

    async def one(job_id: object) -> None:
        nonlocal lost
        for _ in range(TRIES):
            with contextlib.suppress(httpx.TransportError):
                answer = await client.post(f"/jobs/{job_id}/cancel")
                if answer.status_code < 500:  # 409: it has ended already
                    lost += answer.status_code == NOT_FOUND
                    return
            await asyncio.sleep(1)
        lost += 1

    await each(one, ids)
    return lost


async def _emptied(client: httpx.AsyncClient) -> None:
    """Cancel jobs that were accepted although their POST had no 2xx."""
    for _ in range(TRIES):
        with contextlib.suppress(httpx.TransportError):
            answer = await client.get("/jobs", params={"status": "queued", "limit": 100})
            if answer.status_code in GOOD:
                if not (found := answer.json()["jobs"]):
                    return
                await _cancelled(client, [job["id"] for job in found])
                continue
        await asyncio.sleep(1)


async def measure(
    side: Side, part: str, rate: float, seconds: float, searches: float, streams: int
) -> Row:
    """One part on one side: submissions by a tenant's key, searches by the operator's."""
    searching, following = PARTS[part]
    async with side.client() as admin:
        name = f"load-{secrets.token_hex(4)}"
        body = {"name": name, "tenant": "load", "scopes": ["submit", "read"]}
        made = (await admin.post("/keys", json=body)).raise_for_status().json()
        with Peak([side.api] if side.api else []) as peak:
            posted, searched, readers, lost = await _loaded(
                side, made["secret"], rate, seconds, searches * searching, streams * following
            )
        await admin.delete(f"/keys/{made['id']}")
    percent = 100 / max(posted.statuses.total(), 1)
    good, busy = posted.good * percent, posted.statuses[BUSY] * percent
    return Row(
        rate=rate,
        part=part,
        side=side.name,
        posts=posted.statuses.total(),
        post_p50_ms=posted.at(0.5),
        post_p99_ms=posted.at(0.99),
        percent_2xx=round(good, 1),
        percent_503=round(busy, 1),
        percent_other=round(max(100 - good - busy, 0.0), 1),
        streams=readers.opened,
        cut=readers.cut,
        searches_2xx=searched.good,
        searches=searched.statuses.total(),
        lost=lost,
        api_mib=round(peak.most.own, 1),
    )


def _sides(stack: ExitStack, options: Mapping[str, Any]) -> list[Side]:
    """The sides, with jobs to search, and workers."""
    sides = []
    if url := options["url"]:
        key = context.load(ClientSettings).api_key.get_secret_value()
        sides.append(Side("url", url, key, options["model"]))
    folders = options["checkout"] or (() if sides else (HERE,))
    sides += [stack.enter_context(started(folder)) for folder in folders]
    filled = uvloop.run(_all(fill(side, options["jobs"]) for side in sides))
    for side in sides:
        if side.work:
            side.work(options["workers"])
    uvloop.run(_all(settled(*each) for each in zip(sides, filled, strict=True)))
    return sides


async def _all(asked: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    return await asyncio.gather(*asked)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
@click.option("--checkout", type=click.Path(path_type=Path), multiple=True, help="else this one")
@click.option("--url", help="a deployment that runs")
@click.option("--model", help="what jobs at --url are worked on by; else its own choice")
@click.option("--jobs", type=click.IntRange(0), default=14_000, show_default=True, help="on record")
@click.option("--rate", type=float, multiple=True, default=(20, 50), show_default=True)
@click.option("--part", type=click.Choice([*PARTS]), multiple=True, default=[*PARTS])
@click.option("--seconds", type=float, default=60.0, show_default=True, help="of each part")
@click.option("--searches", type=float, default=10.0, show_default=True, help="a second")
@click.option("--streams", type=click.IntRange(1), default=300, show_default=True)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="a checkout")
def main(as_json: bool, **options: Any) -> None:
    """Measure each part on each side, one after the other."""
    screen, rows = Screen(stderr=as_json), []
    names = ("seconds", "searches", "streams")
    with report_errors(screen), ExitStack() as stack:
        sides = _sides(stack, options)
        for rate in options["rate"]:
            for part in options["part"]:
                for side in sides:
                    asked = measure(side, part, rate, *(options[name] for name in names))
                    rows.append(asdict(uvloop.run(asked)))
                    screen.line(f"{rate:g}/s, {part}", str(rows[-1]))
    screen.rows([*rows[0]], [[f"{value}" for value in row.values()] for row in rows])
    if as_json:
        print_json({"rows": rows})


if __name__ == "__main__":
    main()
