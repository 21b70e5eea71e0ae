"""`python -m benchmarks.pages [--json]`: the pages in a real browser, with a full service.

Keys of the JSON line: `first_paint_ms` and `job_page_ms_2000_events` (a job with 2,000 events and
50 MB of output: painted; loaded and ready), `run_opened_ms` and `more_shown_ms` (at a click there),
`html_kb`, `js_kb` (all scripts, compressed), `jobs_p95_ms_10000` (GET /jobs among 10,000 jobs: by
nothing, deep, by status, label and words) and `list_page_p95_ms` (the page of the list). Medians
over some looks.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import click
from playwright.sync_api import BrowserContext

from benchmarks.browser import launched
from benchmarks.goal import Goal, judged
from benchmarks.pages import filling, looking
from benchmarks.pages.deployment import Target, started
from cli.output import Screen, print_json
from drills.outer import report_errors

HEADS = ("WHAT", "FIGURE", "GOAL", "")
GOALS = {
    "job_page_ms_2000_events": Goal(1_000),
    "js_kb": Goal(60),
    "jobs_p95_ms_10000": Goal(200),
}


@dataclass(frozen=True, slots=True)
class Size:
    """The amount of data, and the number of measurements."""

    jobs: int = 10_000
    events: int = 2_000
    output_bytes: int = 50 * 1024 * 1024
    looks: int = 7
    asks: int = 200


def filled(target: Target, size: Size) -> str:
    """Write the jobs; returns the id of the long one."""
    asyncio.run(filling.many(target, size.jobs))
    return asyncio.run(filling.long(target, size.events, size.output_bytes))


def measured(target: Target, context: BrowserContext, job_id: str, size: Size) -> dict[str, float]:
    """All figures; `context` has signed in."""
    looking.look(context, target, job_id)
    looked = looking.median([looking.look(context, target, job_id) for _ in range(size.looks)])
    figures = {
        "first_paint_ms": looked.painted,
        "job_page_ms_2000_events": looked.ready,
        "run_opened_ms": looked.run_opened,
        "more_shown_ms": looked.more_shown,
        "html_kb": looking.html_kb(context, target, job_id),
        "js_kb": looking.js_kb(),
        "jobs_p95_ms_10000": looking.p95(looking.listing_ms(target, size.jobs, size.asks)),
        "list_page_p95_ms": looking.p95(looking.list_page_ms(context, target, 4 * size.looks)),
    }
    return {name: round(figure, 1) for name, figure in figures.items()}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
@click.option("--jobs", type=click.IntRange(1), default=10_000, show_default=True, help="in list")
def main(as_json: bool, jobs: int) -> None:
    """Fill a temporary service, measure it, and compare the figures with their goals."""
    screen, size = Screen(stderr=as_json), Size(jobs=jobs)
    with report_errors(screen), started() as target:
        job_id = filled(target, size)
        screen.line("filled", f"{jobs:,} jobs, and one of {size.events:,} events")
        with launched() as chromium, looking.signed_in(chromium, target) as context:
            figures = measured(target, context, job_id, size)
    screen.rows(
        HEADS,
        [(name, f"{value:g}", *judged(GOALS.get(name), value)) for name, value in figures.items()],
    )
    if as_json:
        print_json(figures)


if __name__ == "__main__":
    main()
