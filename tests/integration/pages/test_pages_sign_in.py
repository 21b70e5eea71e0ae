"""Signing in to the pages and out of them, the headers of every page, and refusals."""

from __future__ import annotations

import asyncio
import re
import time

import httpx
import pytest
from support.pages.api_front import settings_for, started
from support.pages.pages_browser import browser, form_token

from api.pages.session import COOKIE, Session, Sessions
from settings.base import DEVELOPMENT_KEY


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def signed_in(client, key=DEVELOPMENT_KEY, **more):
    return await client.post("/app/sign-in", data={"key": key, **more})


async def test_a_visitor_without_a_session_is_sent_to_the_form_and_back(front):
    async with browser(front.app) as client:
        sent = await client.get("/app?status=failed")
        assert sent.status_code == 303
        assert sent.headers["location"] == "/app/sign-in?next=%2Fapp%3Fstatus%3Dfailed"
        form = await client.get(sent.headers["location"])
        assert 'value="/app?status=failed"' in form.text
        done = await signed_in(client, next="/app?status=failed")
        assert (done.status_code, done.headers["location"]) == (303, "/app?status=failed")
        assert (await client.get("/app")).status_code == 200


async def test_scripts_cannot_read_the_cookie_and_it_contains_no_key(front):
    async with browser(front.app) as client:
        cookie = (await signed_in(client)).headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Path=/app" in cookie
        assert "Secure" not in cookie
        assert DEVELOPMENT_KEY not in cookie
    async with browser(front.app, "https") as client:
        assert "Secure" in (await signed_in(client)).headers["set-cookie"]


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.test/", "//evil.test", "/docs", "/application"]
)
async def test_signing_in_redirects_to_no_other_site(front, elsewhere):
    async with browser(front.app) as client:
        assert (await signed_in(client, next=elsewhere)).headers["location"] == "/app"


async def test_a_wrong_key_is_reported_and_opens_no_session(front):
    async with browser(front.app) as client:
        refused = await signed_in(client, "fettle_wrong")
        assert refused.status_code == 401
        assert "unknown, revoked or expired" in refused.text
        assert (await client.get("/app")).status_code == 303


async def test_a_revoked_key_is_signed_out_with_its_next_request(front):
    created = (await front.client.post("/keys", json={"name": "ada", "scopes": ["read"]})).json()
    async with browser(front.app) as client:
        await signed_in(client, created["secret"])
        assert "ada" in (await client.get("/app")).text
        await front.client.delete(f"/keys/{created['id']}")
        assert (await client.get("/app")).status_code == 303
        partial = await client.get("/app/jobs/list", headers={"HX-Request": "true"})
        assert (partial.status_code, partial.headers["hx-refresh"]) == (401, "true")


async def test_a_form_does_not_count_if_its_key_was_revoked_while_it_arrived(front):
    job_id = await front.paused()
    key = {"name": "ada", "scopes": ["read", "review"]}
    created = (await front.client.post("/keys", json=key)).json()

    async def form():
        yield b"action="
        assert (await front.client.delete(f"/keys/{created['id']}")).status_code == 204
        yield b"approve"

    async with browser(front.app) as client:
        await signed_in(client, created["secret"])
        token = form_token((await client.get("/app")).text)
        headers = {"Content-Type": "application/x-www-form-urlencoded", "X-Form-Token": token}
        answer = await client.post(f"/app/jobs/{job_id}/review", content=form(), headers=headers)
    assert answer.status_code == 401
    assert (await front.job(job_id))["status"] == "awaiting_review"


async def test_signing_out_ends_copies_of_the_cookie_too(front):
    async with browser(front.app) as client, browser(front.app) as thief:
        await signed_in(client)
        thief.cookies = httpx.Cookies(client.cookies)
        token = form_token((await client.get("/app")).text)
        assert (await thief.get("/app")).status_code == 200
        out = await client.post("/app/sign-out", data={"x-form-token": token})  # without scripts
        assert (out.status_code, out.headers["location"]) == (303, "/app/sign-in")
        assert (await thief.get("/app")).status_code == 303


async def test_a_forged_cookie_opens_no_session(front):
    async with browser(front.app) as client:
        await signed_in(client)
        content, _, signature = client.cookies["fettle_session"].rpartition(".")
        # not the last letters: not all of their bits are significant, so other letters may mean the
        # same
        forged = f"{content}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"
        for bad in (forged, "x", "", "a.b.c"):
            client.cookies.clear()
            answer = await client.get("/app", headers={"Cookie": f"fettle_session={bad}"})
            assert answer.status_code == 303


async def test_the_age_of_a_session_is_measured_by_redis_clock(front, monkeypatch):
    clock = time.time
    async with browser(front.app) as client:
        await signed_in(client)
        cookies = {"Cookie": f"{COOKIE}={client.cookies[COOKIE]}"}
        client.cookies.clear()  # with this clock, the client would drop the cookie
        for days in (100, -100):
            with monkeypatch.context() as patched:
                patched.setattr(time, "time", lambda days=days: clock() + days * 86_400)
                assert (await client.get("/app", headers=cookies)).status_code == 200
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: clock() - 86_400)
        sessions = Sessions(front.services.store.redis, seconds=1)
        cookie = await sessions.write(Session.begin("k1", ""))
        assert await sessions.read(cookie)
        async with asyncio.timeout(20):
            while await sessions.read(cookie):
                await asyncio.sleep(0.05)


async def test_another_configured_key_ends_the_sessions_of_the_old_one(redis_url, tmp_path):
    old, new = (settings_for(redis_url, tmp_path, api_key=letter * 32) for letter in "ab")
    async with started(old) as front, browser(front.app) as client:
        await signed_in(client, "a" * 32)
        cookies = httpx.Cookies(client.cookies)
    async with started(new) as front, browser(front.app) as client:
        client.cookies = cookies
        assert (await client.get("/app")).status_code == 303


async def test_a_link_signs_in_once(front):
    created = await front.client.post("/sign-in-links")
    assert created.status_code == 201
    async with browser(front.app) as client, browser(front.app) as late:
        link = created.json()["path"]
        for _ in range(2):  # a browser that prefetches does not use up the link
            answer = await late.get(link)
            assert (answer.status_code, "set-cookie" in answer.headers) == (200, False)
            assert "Sign in as development?" in answer.text
        foreign = await late.post(link, headers={"Sec-Fetch-Site": "cross-site"})
        assert foreign.status_code == 403
        assert (await client.post(link)).headers["location"] == "/app"
        assert "development" in (await client.get("/app")).text
        for again in (await late.get(link), await late.post(link)):
            assert (again.status_code, "used before" in again.text) == (401, True)


async def test_a_link_does_not_replace_the_present_session(front):
    other_key = await front.key("read", name="eve")
    async with front.with_key(other_key) as eve:
        link = (await eve.post("/sign-in-links")).json()["path"]
    async with browser(front.app) as client:
        await signed_in(client)
        for sent in (await client.get(link), await client.post(link)):
            assert sent.status_code == 303
        assert "development" in (await client.get("/app")).text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Form-Token": "wrong"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.test"},
    ],
)
async def test_a_post_from_another_site_is_refused(front, headers):
    async with browser(front.app) as client:
        await signed_in(client)
        token = form_token((await client.get("/app")).text)
        ours = {"X-Form-Token": token, **headers} if headers else {}
        assert (await client.post("/app/sign-out", headers=ours)).status_code == 403
        foreign = headers and "X-Form-Token" not in headers
        if foreign:
            key = {"key": DEVELOPMENT_KEY}
            refused = await client.post("/app/sign-in", data=key, headers=headers)
            assert refused.status_code == 403


async def test_every_page_has_a_strict_policy_and_nothing_inline(front):
    job_id = await front.paused()
    async with browser(front.app) as client:
        paths = ["/app/sign-in"]
        for path in paths:
            await _strict(client, path)
        await signed_in(client)
        for path in ("/app", f"/app/jobs/{job_id}", "/app/jobs/none"):
            await _strict(client, path)


async def _strict(client, path):
    page = await client.get(path)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son[a-z]+=|javascript:", page.text)


async def test_scopes_decide_what_is_shown(front):
    reader = await front.key("read", name="reader")
    submitter = await front.key("submit", name="submitter")
    job_id = await front.paused()
    async with browser(front.app) as client:
        await signed_in(client, reader)
        page = (await client.get("/app")).text
        assert ("/app/inbox" in page, "/app/new" in page) == (False, False)
        assert "your key may not review" in (await client.get("/app/inbox")).text
        job = (await client.get(f"/app/jobs/{job_id}")).text
        assert f"/app/jobs/{job_id}/cancel" not in job
        token = form_token(job)
        cancelled = await client.post(f"/app/jobs/{job_id}/cancel", headers={"X-Form-Token": token})
        assert (cancelled.status_code, "lacks the scope" in cancelled.text) == (403, True)
    async with browser(front.app) as client:
        await signed_in(client, submitter)
        assert (await client.get("/app")).status_code == 403


async def test_the_list_shows_waiting_jobs_and_is_sent_again_only_after_a_change(front):
    job_id = await front.paused()
    await front.submit("<b>bold</b> task", labels=["x&y"])
    async with browser(front.app) as client:
        await signed_in(client)
        page = (await client.get("/app")).text
        assert "<title>(1) Jobs" in page
        assert "&lt;b&gt;bold&lt;/b&gt; task" in page
        assert '<span id="inbox-count" class="count">1</span>' in page
        again = re.search(r'hx-get="(/app/jobs/list[^"]*)"', page).group(1)
        known_list = re.search(r'data-known="([^"]+)"', page).group(1)
        again = f"{again}?known={known_list}"
        assert (await client.get(again)).status_code == 204
        await front.client.post(f"/jobs/{job_id}/cancel")
        changed = await client.get(again)
        assert (changed.status_code, "(1)" in changed.text) == (200, False)
        assert '<span id="inbox-count" hx-swap-oob="true"></span>' in changed.text
        only = (await client.get("/app", params={"label": "x&y"})).text
        assert ("bold" in only, f"job-{job_id}" in only) == (True, False)
        assert "No job matches" in (await client.get("/app?status=running")).text
        sought = "?person=development&from=2026-01-01&sort=oldest&label=x%26y"
        listed = (await client.get(f"/app{sought}")).text
        assert f"job-{job_id}" not in listed
        assert "bold" in listed
        for field in ('name="person" value="development"', 'type="date" value="2026-01-01"'):
            assert field in listed
        kept = re.search(r'href="([^"]*status=failed)"', listed).group(1)
        assert all(
            part in kept for part in ("person=development", "from=2026-01-01", "sort=oldest")
        )


async def test_another_tenants_job_has_no_page(front):
    job_id = await front.paused()
    other_key = await front.key("read", tenant="other")
    async with browser(front.app) as client:
        await signed_in(client, other_key)
        for path in (
            "",
            "/live",
            "/files.tar.gz",
            "/artifacts/a",
            "/runs/1/code",
            "/timeline?after=0&before=9",
        ):
            missing = await client.get(f"/app/jobs/{job_id}{path}")
            assert missing.status_code == 404, path
