"""The benchmark of the pages, over a few jobs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from benchmarks.browser import launched
from benchmarks.pages import looking
from benchmarks.pages.__main__ import GOALS, Size, filled, measured
from benchmarks.pages.deployment import started


def test_it_measures_every_figure() -> None:
    size = Size(jobs=8, events=200, output_bytes=200_000, looks=1, asks=5)
    with started() as target, launched() as chromium:
        with ThreadPoolExecutor(1) as thread:  # the browser's own event loop runs in this one
            job_id = thread.submit(filled, target, size).result()
        with looking.signed_in(chromium, target) as context:
            figures = measured(target, context, job_id, size)
    assert all(figure > 0 for figure in figures.values())
    assert GOALS.keys() < figures.keys()
    assert figures["js_kb"] <= 60
