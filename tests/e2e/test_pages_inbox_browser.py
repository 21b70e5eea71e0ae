"""The inbox in a real browser: from job to job by keys, with one page load for each decision."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import httpx
import pytest
from playwright.sync_api import Page, expect
from support.pages.api_front import settings_for, started
from support.pages.chromium import DESK, PHONE, visiting
from support.pages.large_patch import faults, pictured
from support.processes.api_process import api_environment, running

from lab.browser import launched
from settings.base import DEVELOPMENT_KEY

pytestmark = pytest.mark.e2e


REVIEWS, DECISIONS, BAD = 60, 15, (0, 4, 7, 10, 13)


@pytest.fixture
def crowd(redis_url, tmp_path):
    """A service with 60 waiting jobs: its address, and the ids. The jobs with the numbers of `BAD`
    have a failed run."""

    async def jobs() -> list[str]:
        async with started(settings_for(redis_url, tmp_path)) as front:
            return [
                await front.paused(task=f"Job {number}.", succeeded=number not in BAD)
                for number in range(REVIEWS)
            ]

    job_ids = asyncio.run(jobs())
    with running(api_environment(redis_url, tmp_path), tmp_path / "api.log") as api:
        yield api.url, job_ids


@pytest.fixture
def site(redis_url, tmp_path):
    """A service with four waiting jobs, one with a patch and one with a failed run: the address,
    and the ids, the longest wait first."""

    async def jobs() -> list[str]:
        async with started(settings_for(redis_url, tmp_path)) as front:
            return [
                await front.paused(task="Sort the dates."),
                await front.paused(task="Read the dates.", succeeded=False),
                await front.patched(b"diff --git a/a b/a\n"),
                await front.paused(task="Write the dates."),
            ]

    job_ids = asyncio.run(jobs())
    with running(api_environment(redis_url, tmp_path), tmp_path / "api.log") as api:
        yield api.url, job_ids


def send_back(page: Page, job_id: str) -> None:
    """Send the job back when its page has been opened from the inbox."""
    page.wait_for_url(f"**/app/jobs/{job_id}?order=wait")
    page.keyboard.press("r")
    page.keyboard.type("Use UTC.")
    page.get_by_role("button", name="Send back", exact=True).last.click()


@pytest.mark.parametrize(("scheme", "size"), [("light", DESK), ("dark", PHONE)])
def test_three_decisions_take_four_pages_and_lead_to_the_next(site, scheme, size):
    url, (first, red, patched, last) = site
    loads = []
    with (
        launched() as browser,
        visiting(browser, url, color_scheme=scheme, viewport=size) as visitor,
    ):
        visitor.sign_in(DEVELOPMENT_KEY)
        visitor.page.on(
            "request", lambda request: request.is_navigation_request() and loads.append(request.url)
        )
        page = visitor.go("/app/inbox")
        expect(page).to_have_title("(4) Inbox · Fettle")
        expect(page.locator(f"#waits-{first}")).to_be_visible()
        assert faults(page) == []
        pictured(page, f"inbox-{scheme}-{size['width']}")
        for key in "jjkj":
            page.keyboard.press(key)
        expect(page.locator(f"#waits-{red}")).to_be_focused()
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        for job_id, following in ((first, red), (red, patched), (patched, last)):
            send_back(page, job_id)
            page.wait_for_url(f"**/app/jobs/{following}?order=wait")
        before = [address for address in loads if last not in address]
        assert len(before) == 3 + 1, loads
        assert len(loads) == 3 + 2, "the page of the next job is open, too"
        expect(page.locator("#inbox-count")).to_have_text("1")
        page.keyboard.press("u")
        page.wait_for_url("**/app/inbox?order=wait")
        expect(page).to_have_title("(1) Inbox · Fettle")
        page.locator(f"#waits-{last}").click()
        send_back(page, last)
        expect(page.locator("main")).to_contain_text("Nothing waits for you.")
        expect(page).to_have_title("Inbox · Fettle")


@dataclass
class Reviewer:
    """A person who decides by keys only, by the verdict that the page shows first."""

    page: Page
    keys: int = 0
    seen_red: list[str] = field(default_factory=list)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.keys += len(keys)

    def decide(self, job_id: str) -> None:
        """Decide on the open page of this job."""
        verdict = self.page.locator(".strip")
        expect(verdict).to_be_in_viewport()
        if "strip-red" in verdict.get_attribute("class").split():
            self.seen_red.append(job_id)
            self.press("r", *"Run it.", "Tab", "Enter")
        else:
            self.press("a", "Enter")
        self.page.wait_for_url(lambda url: job_id not in url)


def test_a_reviewer_decides_15_of_60_reviews_in_16_pages_and_sees_each_bad_review_red(crowd):
    url, job_ids = crowd
    bad_jobs, loads = [job_ids[number] for number in BAD], []
    with launched() as browser, visiting(browser, url) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        visitor.page.on(
            "request", lambda request: request.is_navigation_request() and loads.append(request.url)
        )
        page = visitor.go("/app/inbox")
        expect(page.locator("#inbox .row")).to_have_count(REVIEWS)
        reviewer = Reviewer(page)
        reviewer.press("j", "a")
        page.wait_for_url(f"**/{job_ids[0]}?order=wait#approve")
        expect(page.locator("#approve-feedback")).to_be_focused()
        reviewer.press("Enter", "Escape")  # `a` and Enter never approve a red review
        for job_id in job_ids[:DECISIONS]:
            assert len(loads) <= 16
            reviewer.decide(job_id)
        decided_loads = loads.index(f"{url}/app/jobs/{job_ids[DECISIONS]}?order=wait")
        print(f"{DECISIONS} decisions: {decided_loads} page loads, {reviewer.keys} keys")
        assert decided_loads == 16
        assert reviewer.seen_red == bad_jobs
        expect(page.locator("#inbox-count")).to_have_text(str(REVIEWS - DECISIONS))
    headers = {"X-API-Key": DEVELOPMENT_KEY}
    for job_id in job_ids[:DECISIONS]:
        (decision,) = httpx.get(f"{url}/jobs/{job_id}", headers=headers).json()["decisions"]
        assert decision["action"] == ("revise" if job_id in bad_jobs else "approve")
        assert not decision["override"]


HIDDEN_TAB = """\
Object.defineProperty(document, "hidden", { get: () => true });
window.shown = [];
window.Notification = class {
  constructor(title, { body }) { window.shown.push(`${title}: ${body}`); }
  static requestPermission() { return Promise.resolve("granted"); }
};
"""


@pytest.mark.parametrize(("scheme", "size"), [("light", DESK), ("dark", PHONE)])
def test_a_reviewer_snoozes_claims_searches_and_is_notified(site, scheme, size):
    url, (first, red, _, last) = site
    with (
        launched() as browser,
        visiting(browser, url, color_scheme=scheme, viewport=size) as visitor,
    ):
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.go("/app/inbox")
        rows = page.locator("#inbox .row:visible")
        row = page.locator(f"[data-review^='{first}@']")
        row.get_by_role("button", name="1 h").click()
        expect(rows).to_have_count(3)
        page.get_by_role("button", name="Undo").click()
        expect(rows).to_have_count(4)
        row.get_by_role("button", name="until tomorrow 9:00").click()
        expect(rows).to_have_count(3)
        expect(page.locator("#snoozed")).to_contain_text("Snoozed: 1.")
        assert faults(page) == []
        page.reload()
        expect(rows).to_have_count(3)
        page.locator(f"#waits-{last}").click()
        send_back(page, last)
        page.wait_for_url(f"**/app/jobs/{red}?order=wait")  # the snoozed job does not open
        page.get_by_role("button", name="Claim", exact=True).click()
        expect(page.locator("#strip")).to_contain_text("claimed by development")
        page.get_by_role("button", name="Release").click()  # it undoes the claim
        expect(page.locator("#strip")).not_to_contain_text("claimed by development")
        page.keyboard.press("c")
        page.keyboard.press("Enter")
        expect(page.locator("#strip")).to_contain_text("claimed by development")
        page.keyboard.press("ControlOrMeta+k")
        page.keyboard.type("override")
        page.keyboard.press("Enter")
        expect(page.locator("#approve-feedback")).to_be_focused()
        page.keyboard.press("ControlOrMeta+k")
        page.keyboard.type("the sort")
        assert faults(page) == []
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/app/jobs/{first}")
        visitor.go("/app/inbox?mine=1")
        expect(page.locator("#inbox")).to_contain_text("claimed by development")
        visitor.go("/app/inbox")
        page.get_by_role("button", name="Show").click()
        expect(rows).to_have_count(3)
        page = visitor.new_page()
        page.add_init_script(HIDDEN_TAB)
        visitor.go("/app/inbox?mine=1")
        expect(page.locator("#inbox .row")).to_have_count(1)
        page.get_by_role("button", name="Notify me").click()
        expect(page.get_by_role("button", name="Notify me", pressed=True)).to_be_visible()
        key = {"X-API-Key": DEVELOPMENT_KEY}
        claimed = httpx.post(f"{url}/jobs/{first}/review/claim", json={}, headers=key)
        assert claimed.status_code == 200
        expect(page.locator("#inbox .row")).to_have_count(2, timeout=40_000)  # it polls rarely
        assert page.evaluate("window.shown") == ["A review waits for you: Sort the dates."]
