"""The patch of 30 files in a real browser: with and without scripts, and under axe."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest
from playwright.sync_api import expect
from support.pages.api_front import done, settings_for, started
from support.pages.chromium import DESK, PHONE, visiting
from support.pages.large_patch import faults, patch_of_30_files, pictured
from support.processes.api_process import api_environment, running

from jobs.blobs.manifest import FileEntry, Manifest
from jobs.model.review import Review, ReviewKind
from jobs.store import Writes
from lab.browser import launched
from settings.base import DEVELOPMENT_KEY

pytestmark = pytest.mark.e2e


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


LINES = [f"line {number}" for number in range(1, 161)]
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PLOT = {
    "cell_type": "code",
    "source": "plot()",
    "outputs": [
        {"data": {"text/plain": "<Figure>", "image/png": base64.b64encode(PIXEL).decode()}}
    ],
}


@pytest.fixture
def changed(redis_url, tmp_path):
    """A service with a review of a job without a repository: the service's address, and the id."""

    async def job() -> str:
        start = {"a.txt": "\n".join(LINES), "data.csv": "name,count\nold,1\n"}
        after = {
            "a.txt": "\n".join([*LINES[:149], "changed", *LINES[150:]]).encode(),
            "data.csv": b"name,count\n" + b"ada,2\n" * 40,
            "plot.png": PIXEL,
            "plot.ipynb": json.dumps({"cells": [PLOT]}).encode(),
            "notes.md": b"# Notes\n\nSee [the site](https://example.org/a).\n",
        }
        async with started(settings_for(redis_url, tmp_path)) as front:
            job_id = await front.submit(review=True, files=start)
            lease, store = await front.claim(job_id), front.services.store
            artifacts = [await front.store_artifact(*item, "text/plain") for item in after.items()]
            entries = {file["name"]: FileEntry(file["digest"], file["size"]) for file in artifacts}
            digest = await front.services.blobs.put(Manifest(entries).dump())
            await store.write(job_id, lease.epoch, Writes(workspace=digest))
            payload = {
                "plan": [],
                "answer": "",
                "runs": [],
                "artifacts": artifacts,
                "unproven": None,
            }
            review = Review("r1", ReviewKind.REVIEW, payload, await store.now())
            done(await front.services.operations.pause(lease, review))
            return job_id

    job_id = asyncio.run(job())
    with running(api_environment(redis_url, tmp_path), tmp_path / "api.log") as api:
        yield api.url, job_id


@pytest.mark.matrix(every=2)
@pytest.mark.parametrize(("scheme", "size"), [("light", DESK), ("dark", PHONE)])
def test_the_other_lines_and_the_files_are_shown_in_place(changed, scheme, size):
    url, job_id = changed
    display = {"color_scheme": scheme, "viewport": size}
    with launched() as browser, visiting(browser, url, **display) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.go(f"/app/jobs/{job_id}")
        file = page.locator('details[data-path="a.txt"]')
        for link, count in (("lines 1 to 146", 100), ("lines 1 to 46", 146), ("to the end", 153)):
            file.get_by_role("link", name=link).click()
            expect(file.locator(".d-context")).to_have_count(count)
        picture = page.get_by_role("img", name="plot.png, after the change")
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("naturalWidth", 1)
        assert faults(page) == []
        pictured(page, f"context-{scheme}")
        for path, content in (
            ("data.csv", "ada"),
            ("notes.md", "example.org"),
            ("a.txt", "line 9"),
            ("plot.ipynb", "plot()"),
        ):
            visitor.go(f"/app/jobs/{job_id}/changes")
            page.get_by_role("link", name=f"View {path}").click()
            expect(page.locator("main figure")).to_contain_text(content)
            assert faults(page) == [], path
            pictured(page, f"file-{path}-{scheme}")
        expect(page.get_by_role("img", name="<Figure>")).to_have_js_property("naturalWidth", 1)
