"""The inbox: its order, its rows, and the page that opens after a decision."""

from __future__ import annotations

import re

import pytest
from support.pages.api_front import a_run, done, settings_for, started
from support.pages.pages_browser import visiting

from jobs.model.review import Review, ReviewKind

EMPTY = "Nothing waits for you."


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


@pytest.fixture
async def jobs(front):
    """Ids of jobs in the order of their submission; their reviews were opened in the order third,
    first, second. The evidence of the first job fails."""
    job_ids = [await front.submit(task, review=True) for task in ("first", "second", "third")]
    for index, succeeded in ((2, True), (0, False), (1, True)):
        await pause(front, job_ids[index], succeeded)
    return job_ids


async def pause(front, job_id, succeeded):
    lease, run = await front.claim(job_id), a_run(succeeded=succeeded)
    await front.add_events(lease, ("run_finished", run))
    unproven = None if succeeded else "the last run failed"
    payload = {"plan": ["one"], "answer": "42", "runs": [run], "unproven": unproven}
    review = Review("r1", ReviewKind.REVIEW, payload, await front.services.store.now())
    done(await front.services.operations.pause(lease, review))


async def decision(front, job_id):
    """The fields of a form that sends a job back."""
    review = (await front.job(job_id))["review"]
    fields = {"review_id": review["id"], "digest": review["digest"]}
    return {"action": "revise", "feedback": "Once more.", **fields}


def listed(html):
    """The ids of the jobs of an inbox, in its order, and their links."""
    return re.findall(r'id="waits-([^"]+)" href="([^"]+)"', html)


@pytest.mark.parametrize(("query", "order"), [("", "wait"), ("?order=red", "red")])
async def test_the_longest_wait_of_a_review_is_first_or_the_red_verdicts(front, jobs, query, order):
    first, second, third = jobs
    expected = [third, first, second] if order == "wait" else [first, third, second]
    async with visiting(front.app) as visit:
        html = (await visit.get(f"/app/inbox{query}")).text
        assert "<title>(3) Inbox" in html
        assert listed(html) == [
            (job_id, f"/app/jobs/{job_id}?order={order}") for job_id in expected
        ]
        for _, link in listed(html):
            assert (await visit.get(link)).status_code == 200


async def test_a_row_shows_what_a_reviewer_chooses_by(front, jobs):
    await front.patched(b"diff --git a/a b/a\n", files=2, insertions=14, deletions=3)
    async with visiting(front.app) as visit:
        row, *_, patched = (await visit.get("/app/inbox?order=red")).text.split("<li ")[1:]
        assert "chip-bad" in row
        assert "evidence fails" in row
        assert "Run 1 failed: exit code 0" in row
        assert "by development" in row
        text = " ".join(re.sub("<[^>]+>", "", patched).split())
        assert "git.example.org/team/app" in text
        assert "2 files +14 \N{MINUS SIGN}3" in text
        assert (await visit.get("/app/inbox?order=odd")).status_code == 422


async def test_a_claim_by_a_form_without_scripts_is_shown_and_filters_the_inbox(front, jobs):
    _, second, _ = jobs
    async with visiting(front.app) as visit:

        async def claim(assignee):
            path, headers = f"/app/jobs/{second}/review/claim", {"X-Form-Token": visit.token}
            return await visit.http.post(path, data={"assignee": assignee}, headers=headers)

        assert (await claim("me")).headers["location"] == f"/app/jobs/{second}"
        mine = (await visit.get("/app/inbox?order=red&mine=1")).text
        assert listed(mine) == [(second, f"/app/jobs/{second}?order=red&amp;mine=1")]
        assert "claimed by development" in mine
        assert '<span id="inbox-count" hx-get="/app/inbox/count"' in mine, "it counts all reviews"
        job_page = (await visit.get(f"/app/jobs/{second}")).text
        assert "claimed by development" in job_page
        assert "assigned the review to development" in job_page
        assert (await claim("nobody")).status_code == 422
        assert (await claim("")).status_code == 303
        assert EMPTY in (await visit.get("/app/inbox?mine=1")).text


@pytest.mark.parametrize("by_scripts", [True, False])
@pytest.mark.parametrize("order", ["wait", "red"])
async def test_a_decision_opens_the_next_job_and_after_the_last_job_the_inbox(
    front, jobs, by_scripts, order
):
    inbox = f"/app/inbox?order={order}"
    async with visiting(front.app) as visit:

        async def decide(job_id, page):
            """Decide as the form on this page does; returns the page that opens."""
            fields, path = await decision(front, job_id), f"/app/jobs/{job_id}/review"
            if by_scripts:
                visit.http.headers["HX-Current-URL"] = f"http://fettle.test{page}"
                return (await visit.post(path, data=fields)).headers.get("hx-redirect")
            headers = {"Referer": f"http://fettle.test{page}", "X-Form-Token": visit.token}
            answer = await visit.http.post(path, data=fields, headers=headers)
            assert answer.status_code == 303
            return answer.headers["location"]

        rows = listed((await visit.get(inbox)).text)
        _, middle, last = rows  # a person may begin in the middle
        for (job_id, page), following in zip(
            (middle, last, rows[0]), (last[1], rows[0][1], inbox), strict=True
        ):
            assert await decide(job_id, page) == following
        assert EMPTY in (await visit.get(inbox)).text
        await pause(front, jobs[0], succeeded=True)
        own_page = f"/app/jobs/{jobs[0]}"
        stays = await decide(jobs[0], own_page)
        assert stays == (None if by_scripts else own_page), "it was not opened from the inbox"


async def test_an_inbox_is_sent_again_only_if_it_changed(front, jobs):
    async with visiting(front.app) as visit:
        page = (await visit.get("/app/inbox")).text
        known = re.search(r'data-known="([^"]+)"', page).group(1)
        assert (await visit.get(f"/app/inbox/list?known={known}")).status_code == 204
        await front.submit("it does not wait")
        unchanged = await visit.get(f"/app/inbox/list?known={known}")
        assert unchanged.status_code == 204
        known = unchanged.headers["x-known"]
        await front.client.post(f"/jobs/{jobs[0]}/cancel")
        changed = (await visit.get(f"/app/inbox/list?known={known}")).text
        assert "<title>(2) Inbox" in changed
        assert '<span id="inbox-count" class="count" hx-swap-oob="true">2</span>' in changed
        assert [job_id for job_id, _ in listed(changed)] == [jobs[2], jobs[1]]


async def test_every_page_shows_the_number_of_waiting_jobs(front, jobs):
    async with visiting(front.app) as visit:
        for page in ("/app", "/app/inbox"):
            html = (await visit.get(page)).text
            assert '<span id="inbox-count" class="count">3</span>' in html, page
        job_page = (await visit.get(f"/app/jobs/{jobs[0]}")).text
        assert '<span id="inbox-count" hx-get="/app/inbox/count"' in job_page
        counted = (await visit.get("/app/inbox/count")).text
        assert counted.strip() == '<span id="inbox-count" class="count">3</span>'
    reader = await front.key("read")
    async with visiting(front.app, reader) as visit:
        assert "3" not in (await visit.get("/app/inbox/count")).text
