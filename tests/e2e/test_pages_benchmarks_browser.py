"""The pages of benchmarks in a real browser: with and without scripts, on a phone, under axe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.pages.chromium import DESK, PHONE, visiting
from support.pages.large_patch import faults, pictured
from support.processes.benchmarks import MODEL, Benchmarks, running_benchmarks

from lab.browser import launched
from settings.base import DEVELOPMENT_KEY

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Benchmarks]:
    with running_benchmarks(tmp_path_factory.mktemp("pages")) as running:
        yield running


def start(page: Page, file: Path, *, first_only: bool = False) -> None:
    """Fill in the form and start a benchmark."""
    details = page.locator("details", has_text="Start a benchmark")
    if details.get_attribute("open") is None:
        page.get_by_text("Start a benchmark").click()
    page.select_option("#set", "file")
    page.fill("#other_model", MODEL)
    page.set_input_files("#files", file)
    page.fill("#budget_usd", "5")
    if first_only:
        page.get_by_label("First attempts only").check()
    page.get_by_role("button", name="Start the benchmark").click()
    page.wait_for_url("**/app/benchmarks/*")


def test_a_person_measures_and_compares(benchmarks, tmp_path):
    file = tmp_path / "tiny.jsonl"
    file.write_text(benchmarks.exercises)
    with launched() as browser:
        with visiting(browser, benchmarks.url, viewport=DESK) as visitor:
            visitor.sign_in(DEVELOPMENT_KEY)
            page = visitor.go("/app/benchmarks")
            expect(page.get_by_text("No benchmark yet")).to_be_visible()
            # a wrong form keeps its values, and shows the error
            page.fill("#other_model", MODEL)
            page.get_by_label("Exercises", exact=True).select_option("humaneval")
            page.get_by_role("button", name="Start the benchmark").click()
            expect(page.get_by_role("alert").filter(has_text="exactly one file")).to_be_visible()
            assert page.input_value("#other_model") == MODEL
            start(page, file)
            rates = page.get_by_label("Table of rates")
            expect(rates).to_contain_text(re.compile(r"at the end50\.0\s%"))  # without a reload
            expect(page.locator("#benchmark")).to_contain_text("4 of 4")
            expect(page.locator("#benchmark")).to_contain_text("succeeded")
            assert faults(page) == []
            pictured(page, "benchmark")
            page.get_by_role("link", name="e1", exact=True).click()
            expect(page.get_by_text("An exercise of")).to_be_visible()
        how = {"viewport": PHONE, "java_script_enabled": False, "color_scheme": "dark"}
        with visiting(browser, benchmarks.url, **how) as visitor:
            visitor.sign_in(DEVELOPMENT_KEY)
            page = visitor.go("/app/benchmarks")
            start(page, file, first_only=True)
            expect(page.locator("#benchmark")).to_contain_text("succeeded")  # by its own refresh
        with visiting(browser, benchmarks.url, viewport=PHONE) as visitor:
            visitor.sign_in(DEVELOPMENT_KEY)
            page = visitor.go("/app/benchmarks")
            expect(page.locator(".rate-plot circle")).to_have_count(2)
            assert faults(page) == []
            pictured(page, "benchmarks-phone")
            for box in page.get_by_role("checkbox", name="Compare").all():
                box.check()
            page.get_by_role("button", name="Compare the two").click()
            panel = page.get_by_label("Exercises that differ, at the end")
            expect(panel).to_contain_text("Only repair passes 1e2")
            assert faults(page) == []
            pictured(page, "benchmarks-compared")
