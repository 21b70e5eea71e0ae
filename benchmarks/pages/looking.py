"""Measures the waiting times of a browser and of an API client."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from playwright.sync_api import Browser, BrowserContext

from api.pages.static import BUNDLES, asset
from benchmarks.pages.deployment import Target
from cli.errors import CliError

QUERIES: tuple[dict[str, Any], ...] = (
    {},
    {"limit": 100},
    {"status": "succeeded"},
    {"label": "team-3", "status": "succeeded"},
    {"text": "plot number"},
)
TIMING = """() => new Promise((done) => {
  new PerformanceObserver((seen) => {
    const [painted] = seen.getEntriesByName("first-contentful-paint");
    const [whole] = performance.getEntriesByType("navigation");
    if (painted) done([whole.loadEventEnd, painted.startTime]);
  }).observe({ type: "paint", buffered: true });
})"""
"""A page may be loaded before it is painted."""


@dataclass(frozen=True, slots=True)
class Looked:
    """Times of one visit to the long job's page, in ms: until the first paint, until it is loaded,
    until a run has opened after a click, and until more events have."""

    painted: float
    ready: float
    run_opened: float
    more_shown: float


@contextmanager
def signed_in(chromium: Browser, target: Target) -> Iterator[BrowserContext]:
    """A signed-in browser context."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860})
    page = context.new_page()
    page.goto(f"{target.url}/app/sign-in")
    page.fill("#key", target.key)
    page.keyboard.press("Enter")
    page.wait_for_url("**/app")
    page.close()
    yield context
    context.close()


def look(context: BrowserContext, target: Target, job_id: str) -> Looked:
    """One visit, in its own tab."""
    page = context.new_page()
    page.goto(f"{target.url}/app/jobs/{job_id}", wait_until="load")
    timing = page.evaluate(TIMING)
    run = page.locator("details.run:not([open]) > summary").first
    opened = _timed(run.click, lambda: page.wait_for_selector("details.run[open] .code"))
    more = page.locator(".gap button")
    shown = _timed(more.click, lambda: page.wait_for_selector("#e100"))
    page.close()
    return Looked(timing[1], timing[0], opened, shown)


def median(looks: list[Looked]) -> Looked:
    """The median of each time."""
    names = ("painted", "ready", "run_opened", "more_shown")
    return Looked(*(statistics.median(getattr(each, name) for each in looks) for name in names))


def html_kb(context: BrowserContext, target: Target, job_id: str) -> float:
    """The size of the page's HTML."""
    return len(context.request.get(f"{target.url}/app/jobs/{job_id}").body()) / 1024


def js_kb() -> float:
    """The compressed size of all scripts of the pages."""
    return sum(len(asset(name).zipped) for name in BUNDLES if name.endswith(".js")) / 1024


def listing_ms(target: Target, jobs: int, asks: int) -> list[float]:
    """Times of GET /jobs among so many jobs, for each kind of query in turn."""
    taken, deep = [], {"offset": jobs // 2}
    with httpx.Client(
        base_url=target.url, headers={"X-API-Key": target.key}, trust_env=False, timeout=30
    ) as client:
        for number in range(asks):
            query = QUERIES[number % len(QUERIES)]
            begun = time.perf_counter()
            answer = client.get("/jobs", params={**deep, **query} if "limit" in query else query)
            taken.append((time.perf_counter() - begun) * 1000)
            if not answer.is_success or not answer.json()["jobs"]:
                raise CliError("the list of jobs is empty", answer.text[:500])
    return taken


def list_page_ms(context: BrowserContext, target: Target, asks: int) -> list[float]:
    """Times of the page of jobs, without rendering."""
    return [
        _timed(lambda: context.request.get(f"{target.url}/app"), lambda: None) for _ in range(asks)
    ]


def p95(times: list[float]) -> float:
    """The 95th percentile."""
    return statistics.quantiles(times, n=20)[-1]


def _timed(act: Callable[[], Any], seen: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    act()
    seen()
    return (time.perf_counter() - begun) * 1000
