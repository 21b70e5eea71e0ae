"""The patch of 30 files in a real browser: with and without scripts, and under axe."""

from __future__ import annotations

import asyncio

import pytest
from playwright.sync_api import expect
from support.pages.api_front import settings_for, started
from support.pages.chromium import DESK, PHONE, visiting
from support.pages.large_patch import faults, patch_of_30_files, pictured
from support.processes.api_process import api_environment, running

from lab.browser import launched
from settings.base import DEVELOPMENT_KEY

pytestmark = pytest.mark.e2e
expect.set_options(timeout=20_000)  # the machine may be busy with other tests


@pytest.fixture
def site(redis_url, tmp_path):
    """A service with a review and a result that have the patch: the service's address, and their
    ids.
    """
    patch = patch_of_30_files(tmp_path / "repository")
    answer = "The dates before 1970 are read as seconds before the epoch."

    async def jobs() -> list[str]:
        async with started(settings_for(redis_url, tmp_path)) as front:
            about = {"files": 30, "insertions": 1_400, "deletions": 190, "answer": answer}
            return [
                await front.patched(patch, is_ended=is_ended, **about) for is_ended in (False, True)
            ]

    waiting_id, ended_id = asyncio.run(jobs())
    with running(api_environment(redis_url, tmp_path), tmp_path / "api.log") as api:
        yield api.url, waiting_id, ended_id


@pytest.mark.matrix(every=3)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_the_changes_fit_the_window_and_are_accessible(site, scheme, size):
    url, waiting_id, ended_id = site
    with (
        launched() as browser,
        visiting(browser, url, color_scheme=scheme, viewport=size) as visitor,
    ):
        visitor.sign_in(DEVELOPMENT_KEY)
        display = f"{scheme}-{size['width']}"
        for name, path in {
            "review": f"/app/jobs/{waiting_id}",
            "job": f"/app/jobs/{ended_id}",
            "changes": f"/app/jobs/{waiting_id}/changes",
            "split": f"/app/jobs/{waiting_id}/changes?view=split",
        }.items():
            page = visitor.go(path)
            expect(page.locator(".patch-files > details")).to_have_count(30)
            expect(page.locator(".look")).to_contain_text("package-lock.json: lock file")
            assert faults(page) == [], name
            pictured(page, f"{name}-{display}")
        boxes = [panel.bounding_box() for panel in page.locator("main > .panel").all()]
        (changes, send_back) = filter(None, boxes)
        assert send_back["y"] - changes["y"] - changes["height"] > 10
        page.get_by_role("link", name="decide on the job's page").click()
        expect(page.locator("#review-title")).to_be_in_viewport()


def test_files_fold_and_the_tree_leads_to_them(site):
    url, waits, _ = site
    with launched() as browser, visiting(browser, url) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.go(f"/app/jobs/{waits}")
        files = page.locator(".patch-files > details")
        expect(files).to_have_count(30)
        lock = files.filter(has_text="package-lock.json")
        expect(lock.locator("pre")).to_be_hidden()
        lock.locator("summary").click()
        expect(lock.locator("pre")).to_be_visible()
        expect(files.filter(has_text="logo.png").locator("summary")).to_contain_text("new, binary")
        page.locator(".patch-tree").get_by_role("link", name="test_dates.py").click()
        expect(page.locator("summary", has_text="tests/test_dates.py")).to_be_in_viewport()
        added = files.filter(has_text="test_dates.py").locator(".d-added").first
        line_number = added.evaluate("each => getComputedStyle(each, '::before').content")
        assert line_number.strip('"').split() == ["1"]
        assert added.inner_text() == "+def test_before_1970():"


def test_the_changes_need_no_scripts(site):
    url, waits, _ = site
    with (
        launched() as browser,
        visiting(browser, url) as visitor,
        visiting(browser, url, java_script_enabled=False) as plain,
    ):
        visitor.sign_in(DEVELOPMENT_KEY)
        plain.context.add_cookies(visitor.context.cookies())
        page = plain.go(f"/app/jobs/{waits}")
        page.get_by_role("link", name="Show the changes").click()
        lock = page.locator(".patch-files > details", has_text="package-lock.json")
        lock.locator("summary").click()
        expect(lock.locator("pre")).to_be_visible()
