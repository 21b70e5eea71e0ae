"""Comments on lines of a patch of 30 files in a real browser: with the keyboard, the mouse
and axe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Page, expect
from support.pages.api_front import done, settings_for, started
from support.pages.chromium import DESK, PHONE, visiting
from support.pages.large_patch import CODE, faults, patch_of_30_files, pictured
from support.processes.api_process import api_environment, running

from jobs.blobs import manifest
from jobs.model.record import PatchRef
from jobs.model.review import Review, ReviewKind
from jobs.store import Writes
from jobs.view.comments import mark_outdated
from jobs.view.patch import parse_patch
from lab.browser import launched
from settings.base import DEVELOPMENT_KEY

pytestmark = pytest.mark.e2e

T = TypeVar("T")
FIRST = "src/app/api/module_0.py"


def alone(work: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine in another thread, because the browser uses this thread's event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


class Site:
    """A service with one job. The review of the job has a patch of 30 files."""

    def __init__(self, redis_url, folder):
        self._settings = settings_for(redis_url, folder)
        self.patch = patch_of_30_files(folder / "repository")
        self.job_id = alone(self._begin())
        self.url = ""

    async def _begin(self) -> str:
        async with started(self._settings) as front:
            counts = {"files": 30, "insertions": 1_400, "deletions": 190}
            return await front.patched(self.patch, **counts)

    def comments(self) -> list[dict]:
        """The line comments of the last decision of the job."""

        async def read():
            async with started(self._settings) as front:
                return (await front.job(self.job_id))["decisions"][-1]["comments"]

        return alone(read())

    def edited(self, job_id: str) -> dict[str, str]:
        """The files of the last decision of a job."""

        async def read():
            async with started(self._settings) as front:
                files = (await front.job(job_id))["decisions"][-1]["files"]
                return {
                    path: (await front.services.blobs.get(digest)).decode()
                    for path, digest in files.items()
                }

        return alone(read())

    def paused(self, **files: str) -> str:
        """A job that waits for a decision, with files. Returns its id."""

        async def work():
            async with started(self._settings) as front:
                return await front.paused(files={f"src/{name}.py": files[name] for name in files})

        return alone(work())

    def changed(self, path: str, text: str) -> str:
        """A job that waits for a decision about a new file. Returns its id."""

        async def work():
            async with started(self._settings) as front:
                services, job_id = front.services, await front.submit(review=True)
                lease = await front.claim(job_id)
                digest = await manifest.save(services.blobs, {path: text.encode()})
                writes = Writes(workspace=digest, blobs=[digest])
                await services.store.write(job_id, lease.epoch, writes)
                payload = {"plan": ["one"], "answer": "42", "runs": [], "unproven": None}
                review = Review("r1", ReviewKind.REVIEW, payload, await services.store.now())
                done(await services.operations.pause(lease, review))
                return job_id

        return alone(work())

    def put(self, path: str, text: str) -> None:
        """Make the workspace of the job one file. Its next review has a suggestion on line 30."""

        async def work():
            async with started(self._settings) as front:
                services = front.services
                review = (await services.store.load(self.job_id)).record.review
                comment = {"path": path, "line": 30, "text": "```suggestion\n    return 0\n```"}
                revise = {"action": "revise", "comments": [comment]}
                await front.client.post(f"/jobs/{self.job_id}/review", json=revise)
                lease = await front.claim(self.job_id)
                digest = await manifest.save(services.blobs, {path: text.encode()})
                writes = Writes(workspace=digest, blobs=[digest])
                await services.store.write(self.job_id, lease.epoch, writes)
                decisions = (await front.job(self.job_id))["decisions"]
                decisions = mark_outdated(decisions, parse_patch(self.patch))
                payload = {**review.payload, "decisions": decisions}
                again = replace(review, id="r2", payload=payload)
                done(await services.operations.pause(lease, again))

        alone(work())

    def send_back(self) -> None:
        """Another person sends the work back."""

        async def work():
            async with started(self._settings) as front:
                revise = {"action": "revise", "feedback": "More."}
                await front.client.post(f"/jobs/{self.job_id}/review", json=revise)

        alone(work())

    def revise(self, old: bytes, new: bytes) -> None:
        """Open the next review, with another patch, as a worker does."""

        async def work():
            async with started(self._settings) as front:
                services, lease = front.services, await front.claim(self.job_id)
                decisions = (await front.job(self.job_id))["decisions"]
                patch = self.patch.replace(old, new, 1)
                digest = await services.blobs.put(patch)
                await services.store.write(self.job_id, lease.epoch, Writes(blobs=[digest]))
                patch_ref = PatchRef(digest, len(patch), 30, 1_400, 190, "c0ffee" + "0" * 34)
                payload = {"plan": ["one"], "answer": "42", "runs": [], "unproven": None}
                payload |= {
                    "patch": asdict(patch_ref),
                    "decisions": mark_outdated(decisions, parse_patch(patch)),
                }
                review = Review("r2", ReviewKind.REVIEW, payload, await services.store.now())
                done(await services.operations.pause(lease, review))

        alone(work())


@pytest.fixture
def site(redis_url, tmp_path):
    new_site = Site(redis_url, tmp_path)
    with running(api_environment(redis_url, tmp_path), tmp_path / "api.log") as api:
        new_site.url = api.url
        yield new_site


def opened(visitor, path: str) -> Page:
    page = visitor.go(path)
    expect(page.locator(".patch-files > details")).to_have_count(30)
    return page


def test_a_comment_by_keyboard_is_shown_at_its_line_in_the_next_review(site):
    job = f"/app/jobs/{site.job_id}"
    with launched() as browser, visiting(browser, site.url) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = opened(visitor, job)
        expect(page.locator("#how-to-comment")).to_be_visible()
        lines = page.locator(f'details[data-path="{FIRST}"] pre')
        lines.focus()
        for _ in range(4):  # three lines of context, then the removed line
            page.keyboard.press("ArrowDown")
        expect(page.locator(":focus")).to_have_text("-    return value + 7")
        page.keyboard.press("Enter")
        expect(page.get_by_label(f"Comment on {FIRST}:-30")).to_be_focused()
        page.keyboard.type("Why not added?")
        assert faults(page) == []
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator(".remark.draft")).to_contain_text("Why not added?")
        expect(page.locator(":focus")).to_have_text("-    return value + 7")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.keyboard.type("Why wide?\nAnd bold?")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#revise > summary")).to_contain_text("Send back (2 comments)")
        assert faults(page) == []
        page.reload()
        expect(page.locator(".remark.draft")).to_have_count(2)
        page.keyboard.press("r")
        field = page.get_by_label("Comments on lines")
        assert field.input_value() == (
            f"{FIRST}:-30: Why not added?\n{FIRST}:30: Why wide?\n  And bold?\n"
        )
        page.locator("#revise button[type=submit]").click()
        expect(page.locator("#strip")).to_contain_text("2 comments on lines")
        comments = [
            (comment["line"], comment["side"], comment["text"]) for comment in site.comments()
        ]
        assert comments == [(30, "old", "Why not added?"), (30, "new", "Why wide?\nAnd bold?")]

        site.revise(b"value - 7  # <b>wide", b"value - 7  # <i>wide")
        page = opened(visitor, job)
        expect(page.locator(".remark.open")).to_contain_text("the line is as it was")
        expect(page.locator(".remark.outdated")).to_contain_text("the line has changed")
        expect(page.locator(".remark.draft")).to_have_count(0)
        assert faults(page) == []
        pictured(page, "comments")
        assert visitor.wrong == []


def test_a_person_decides_on_the_patch_that_the_page_shows(site):
    """While a person writes a comment, another person sends the work back, and it returns."""
    with launched() as browser, visiting(browser, site.url) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = opened(visitor, f"/app/jobs/{site.job_id}")
        digest, changes = page.locator("#revise input[name=digest]"), page.locator("#changes")
        before = digest.get_attribute("value")
        lines = page.locator(f'details[data-path="{FIRST}"] pre')
        lines.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.keyboard.type("Why?")
        site.send_back()
        site.revise(b"return value - 7", b"return value - 70")
        for region in (page.locator("#strip"), changes):
            expect(region.locator("[role=alert]")).to_contain_text("This has changed")
        expect(changes).not_to_contain_text("value - 70")
        assert digest.get_attribute("value") == before
        page.keyboard.press("Control+Enter")
        expect(page.locator("#revise > summary")).to_contain_text("Send back (1 comment)")
        assert digest.get_attribute("value") == before
        page.locator("#strip [data-shows]").click()
        expect(changes).to_contain_text("value - 70")
        expect(digest).not_to_have_attribute("value", before)
        expect(page.locator("#revise > summary")).not_to_contain_text("1 comment")
        expect(page.locator(".remark.draft")).to_have_count(0)
        lines.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.keyboard.type("Not sent.")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#revise > summary")).to_contain_text("Send back (1 comment)")
        page.keyboard.press("a")
        page.locator("#approve button[type=submit]").click()
        expect(page.locator("#revise")).to_have_count(0)
        assert visitor.wrong == []


@pytest.mark.matrix(every=3)
@pytest.mark.parametrize(
    ("scheme", "size", "view"),
    [("light", DESK, "split"), ("dark", DESK, "split"), ("dark", PHONE, "unified")],
)
def test_a_comment_by_mouse_on_the_page_of_the_changes(site, scheme, size, view):
    display = {"color_scheme": scheme, "viewport": size}
    with launched() as browser, visiting(browser, site.url, **display) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = opened(visitor, f"/app/jobs/{site.job_id}/changes?view={view}")
        line = page.locator(f'details[data-path="{FIRST}"] .d-added').first
        line.click(position={"x": 4, "y": 8})
        page.keyboard.type("Why wide?")
        page.get_by_role("button", name="Add the comment").click()
        expect(page.locator(".remark.draft")).to_contain_text("Why wide?")
        assert faults(page) == []
        pictured(page, f"comment-{view}-{scheme}-{size['width']}")
        page.get_by_role("button", name="Change").click()
        page.keyboard.press("End")
        page.keyboard.type(" So wide?")
        page.get_by_role("button", name="Add the comment").click()
        page.get_by_role("button", name="Send back (1 comment)").click()
        page.wait_for_url(f"**/app/jobs/{site.job_id}")
        (comment,) = site.comments()
        assert (comment["line"], comment["text"]) == (30, "Why wide? So wide?")
        assert page.evaluate("Object.keys(localStorage).filter(k => k.includes('draft'))") == []
        assert visitor.wrong == []


def test_a_viewed_file_stays_marked_until_its_change_differs(site):
    job = f"/app/jobs/{site.job_id}/changes"
    with launched() as browser, visiting(browser, site.url) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = opened(visitor, job)
        second = FIRST.replace("_0", "_1")
        for path in (FIRST, second):
            page.get_by_label(f"Viewed: {path}").check()
            expect(page.locator(f'details[data-path="{path}"]')).not_to_have_attribute("open", "")
        expect(page.locator(".patch-head")).to_contain_text("2 of 30 viewed")
        assert faults(page) == []
        page = opened(visitor, job)
        expect(page.locator(".patch-head")).to_contain_text("2 of 30 viewed")
        page.get_by_label("What has to change").fill("More.")
        page.get_by_role("button", name="Send back").click()
        page.wait_for_url(f"**/app/jobs/{site.job_id}")

        site.revise(b"value - 7  # <b>wide", b"value - 7  # <i>wide")
        page = opened(visitor, job)
        expect(page.locator(".patch-head")).to_contain_text("1 of 30 viewed")
        expect(page.locator(f'details[data-path="{FIRST}"]')).to_have_attribute("open", "")
        expect(page.locator(f'details[data-path="{second}"] pre')).to_be_hidden()
        page.locator(f'details[data-path="{second}"] summary').click()
        page.get_by_label(f"Viewed: {second}").uncheck()
        expect(page.locator(".patch-head")).not_to_contain_text("viewed")

        page.get_by_label("Filter the files").fill("api _0")
        expect(page.locator(".patch-files > details:visible")).to_have_count(1)
        expect(page.locator(".patch-tree a:visible")).to_have_text(["module_0.py"])
        page.get_by_label("Filter the files").fill("")
        expect(page.locator(".patch-files > details:visible")).to_have_count(30)
        assert visitor.wrong == []


@pytest.mark.matrix(every=2)
@pytest.mark.parametrize(("scheme", "size"), [("light", DESK), ("dark", PHONE)])
def test_a_person_edits_a_file_and_applies_suggestions(site, scheme, size):
    job_id = site.paused(a="def f():\n    return 1\n")
    display = {"color_scheme": scheme, "viewport": size}
    with launched() as browser, visiting(browser, site.url, **display) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.go(f"/app/jobs/{job_id}")
        assert page.locator("script[src*='editor.js']").count() == 0
        page.get_by_role("link", name="Files", exact=True).click()
        page.get_by_text("All files").first.click()
        page.get_by_role("link", name="Edit src/a.py").click()
        editor = page.get_by_role("textbox", name="src/a.py")
        expect(editor).to_be_focused()
        page.keyboard.press("ControlOrMeta+End")
        page.keyboard.type("def g():\n    return 2\nauto")
        expect(editor).to_contain_text("    auto")
        page.keyboard.press("ControlOrMeta+z")
        page.keyboard.press("ControlOrMeta+y")
        assert faults(page) == []
        pictured(page, f"edit-{scheme}-{size['width']}")
        page.reload()
        expect(editor).to_contain_text("    auto")
        page.get_by_role("button", name="Save and verify").click()
        page.wait_for_url(f"**/app/jobs/{job_id}")
        text = "def f():\n    return 1\ndef g():\n    return 2\n    auto"
        assert site.edited(job_id) == {"src/a.py": text}
        assert page.evaluate("Object.keys(localStorage).filter(k => k.includes('draft'))") == []
        assert visitor.wrong == []


def test_a_suggestion_keeps_its_indentation_and_is_applied_at_once(site):
    site.put(FIRST, CODE)
    with launched() as browser, visiting(browser, site.url) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = opened(visitor, f"/app/jobs/{site.job_id}/changes")
        apply = page.get_by_role("button", name="Apply the suggestions")
        expect(apply).to_be_hidden()
        page.get_by_role("button", name="Use this suggestion").click()
        expect(page.locator(".remark.draft")).to_contain_text("    return 0")
        page.locator(f'details[data-path="{FIRST}"] .d-same').first.click(position={"x": 4, "y": 8})
        page.get_by_role("button", name="Suggest a change").click()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("End")
        page.keyboard.type("  # first\n    pass")
        assert faults(page) == []
        page.keyboard.press("Control+Enter")
        expect(page.locator(".remark.draft").first).to_contain_text("    pass")
        apply.click()
        page.wait_for_url(f"**/app/jobs/{site.job_id}")
        (text,) = site.edited(site.job_id).values()
        lines = zip(CODE.split("\n"), text.split("\n"), strict=False)
        number, (before, after) = next(
            pair for pair in enumerate(lines) if pair[1][0] != pair[1][1]
        )
        assert after == f"{before}  # first"
        assert text.split("\n")[number + 1] == "    pass"
        assert text.split("\n")[30] == "    return 0"
        assert visitor.wrong == []


def test_a_suggestion_has_the_line_of_the_file(site):
    job_id = site.changed("a.md", "one\r\n```\r\ntwo\u200b\r\n")
    with launched() as browser, visiting(browser, site.url) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.go(f"/app/jobs/{job_id}/changes")
        lines = page.locator('details[data-path="a.md"] .d-added')
        suggest = page.get_by_role("button", name="Suggest a change")
        for number, words in enumerate(("!", "python")):
            lines.nth(number).click(position={"x": 4, "y": 8})
            suggest.click()
            page.keyboard.press("ArrowUp")
            page.keyboard.press("End")
            page.keyboard.type(words)
            page.keyboard.press("Control+Enter")
        lines.nth(2).click(position={"x": 4, "y": 8})
        expect(page.get_by_role("button", name="Add the comment")).to_be_visible()
        expect(suggest).to_have_count(0)
        page.get_by_role("button", name="Apply the suggestions").click()
        page.wait_for_url(f"**/app/jobs/{job_id}")
        assert site.edited(job_id) == {"a.md": "one!\r\n```python\r\ntwo\u200b\r\n"}
        assert visitor.wrong == []
