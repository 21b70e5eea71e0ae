"""docs/request.md shows the request that Fettle sends to a model."""

from __future__ import annotations

from pathlib import Path

from lab.benchmarks.tokens.request_page import page, send_example

WRITTEN = Path(__file__).parents[3] / "docs" / "request.md"


async def test_the_page_has_the_present_request() -> None:
    again = "write it again: python -m lab.benchmarks.tokens.request_page > docs/request.md"
    assert WRITTEN.read_text() == page(await send_example()), again
