"""Comments on lines of a patch: the pages' forms, with and without scripts."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest
from support.pages.api_front import done, settings_for, started
from support.pages.pages_browser import visiting

PATCH = b"""\
diff --git a/src/dates.py b/src/dates.py
--- a/src/dates.py
+++ b/src/dates.py
@@ -1,2 +1,2 @@
 import time
-A = 1
+A = 2
"""
WRITTEN = "src/dates.py:2: Why 2:\n  is it?\n\nsrc/dates.py:-2: It was 1."
HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def stored_comments(front, job_id):
    (decision,) = (await front.job(job_id))["decisions"]
    return [(comment["line"], comment["side"], comment["text"]) for comment in decision["comments"]]


async def test_the_form_needs_no_scripts(front):
    job_id = await front.patched(PATCH)
    async with visiting(front.app) as visit:
        html = (await visit.get(f"/app/jobs/{job_id}/changes?view=split")).text
        assert 'href="/app/jobs/' + job_id + '/changes">Unified</a>' in html
        form = dict(HIDDEN.findall(html))
        sent = {**form, "feedback": "", "comments": WRITTEN.replace("\n", "\r\n")}
        answer = await visit.http.post(f"/app/jobs/{job_id}/review", data=sent)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/app/jobs/{job_id}")
        page = (await visit.get(f"/app/jobs/{job_id}")).text
    assert await stored_comments(front, job_id) == [
        (2, "new", "Why 2:\nis it?"),
        (2, "old", "It was 1."),
    ]
    assert "Why 2:" in page


async def test_without_its_token_a_form_is_refused(front):
    job_id = await front.patched(PATCH)
    async with visiting(front.app) as visit:
        form = dict(HIDDEN.findall((await visit.get(f"/app/jobs/{job_id}/changes")).text))
        for token in ({}, {"x-form-token": "other"}):
            sent = {**form, "comments": WRITTEN, "x-form-token": ""} | token
            answer = await visit.http.post(f"/app/jobs/{job_id}/review", data=sent)
            assert (answer.status_code, "this form has expired" in answer.text) == (403, True)
    assert (await front.job(job_id))["status"] == "awaiting_review"


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("src/dates.py: 2", "is not PATH:LINE: TEXT"),
        ("src/dates.py:2: Why?\nand so on", "“and so on” is not PATH:LINE: TEXT"),
        ("src/dates.py:7: Why?", "does not show line 7 of src/dates.py"),
    ],
)
async def test_the_error_of_a_comment_is_shown(front, written, reason):
    job_id = await front.patched(PATCH)
    async with visiting(front.app) as visit:
        sent = {"action": "revise", "comments": written}
        answer = await visit.post(f"/app/jobs/{job_id}/review", data=sent)
        assert (answer.status_code, reason in answer.text) == (422, True)


async def test_the_job_s_page_accepts_comments_with_scripts(front):
    job_id = await front.patched(PATCH)
    async with visiting(front.app) as visit:
        assert 'name="comments"' in (await visit.get(f"/app/jobs/{job_id}")).text
        sent = {"action": "revise", "feedback": "More.", "comments": WRITTEN}
        headers = {"HX-Request": "true", "HX-Current-URL": f"http://fettle.test/app/jobs/{job_id}"}
        headers |= {"X-Form-Token": visit.token}
        answer = await visit.http.post(f"/app/jobs/{job_id}/review", data=sent, headers=headers)
        assert (answer.status_code, answer.headers.get("hx-redirect")) == (204, None)
    assert len(await stored_comments(front, job_id)) == 2


async def test_a_visitor_who_may_not_review_has_no_form(front):
    job_id = await front.patched(PATCH)
    secret = await front.key("read")
    async with visiting(front.app, secret) as visit:
        html = (await visit.get(f"/app/jobs/{job_id}/changes")).text
        assert ("Side by side" in html, 'name="comments"' in html) == (True, False)
    ended_job = await front.patched(PATCH, is_ended=True)
    async with visiting(front.app) as visit:
        assert 'name="comments"' not in (await visit.get(f"/app/jobs/{ended_job}/changes")).text


async def edited_files(front, job_id):
    """The files of the last decision, as bytes by path."""
    events = await front.services.store.events(job_id)
    files = [event.data["files"] for event in events if event.kind == "decided"][-1]
    return {path: await front.services.blobs.get(digest) for path, digest in files.items()}


@pytest.mark.parametrize("text", ["\na = 1\nb = '<b>'", "a = 1\r\nb = 2\r\n"])
async def test_a_file_is_edited_without_scripts_and_keeps_its_line_ends(front, text):
    job_id = await front.paused(files={"src/a b.py": text})
    async with visiting(front.app) as visit:
        listed = (await visit.get(f"/app/jobs/{job_id}/files/shown")).text
        changes = (await visit.get(f"/app/jobs/{job_id}/changes")).text
        address = f"/app/jobs/{job_id}/review/edit?path=src/a%20b.py"
        assert f'href="{address}"' in listed
        assert "/review/edit" not in changes, "the job changed no file"
        page = (await visit.get(address)).text
        plain = text.replace("\r\n", "\n")
        shown = unescape(re.findall("<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)[0])
        assert shown == plain
        sent = {**dict(HIDDEN.findall(page)), "text": shown.replace("1", "3").replace("\n", "\r\n")}
        answer = await visit.http.post(f"/app/jobs/{job_id}/review", data=sent)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/app/jobs/{job_id}")
    assert await edited_files(front, job_id) == {"src/a b.py": text.replace("1", "3").encode()}


async def test_a_file_that_a_form_would_change_is_not_offered(front):
    files = {"mixed": "a\r\nb\n", "old": "a\rb", "long": "x" * 300_000}
    job_id = await front.paused(files=files)
    async with visiting(front.app) as visit:
        for path in files:
            answer = await visit.get(f"/app/jobs/{job_id}/review/edit?path={path}")
            assert (answer.status_code, "edit --file PATH" in answer.text) == (422, True)
        assert (await visit.get(f"/app/jobs/{job_id}/review/edit?path=none")).status_code == 404


async def test_suggestions_are_applied_without_scripts(front):
    job_id = await front.paused(files={"a.py": "def f():\n    return 1\n"})
    written = "a.py:2: Two:\n  ```suggestion\n      x = 2\n\n      return x\n  ```\n"
    async with visiting(front.app) as visit:
        form = dict(HIDDEN.findall((await visit.get(f"/app/jobs/{job_id}/changes")).text))
        sent = {**form, "action": "edit", "comments": written.replace("\n\n", "\n  \n")}
        answer = await visit.http.post(f"/app/jobs/{job_id}/review", data=sent)
        assert answer.status_code == 303, answer.text
    after = b"def f():\n    x = 2\n\n    return x\n"
    assert await edited_files(front, job_id) == {"a.py": after}


async def test_the_page_shows_the_edit_of_a_person_and_its_refusal(front):
    job_id = await front.paused(files={"a.py": "a = 1\n"})
    for refused, text in (
        (None, "edited <code>a.py</code>"),
        ("no room", "changed no file: no room"),
    ):
        decision = {"action": "edit", "by": "ada", "feedback": "", "files": {"a.py": "0" * 64}}
        review = (await front.services.store.load(job_id)).record.review
        edit = {"action": "edit", "files": {"a.py": f"a = {refused}\n"}}
        await front.client.post(f"/jobs/{job_id}/review", json=edit)
        lease = await front.claim(job_id)
        payload = {**review.payload, "decisions": [decision], "refused_edit": refused}
        again = replace(review, id=f"after {refused}", payload=payload)
        done(await front.services.operations.pause(lease, again))
        async with visiting(front.app) as visit:
            page = (await visit.get(f"/app/jobs/{job_id}")).text
        assert text in page
        assert ("?since=pause" in page) == (refused is None)
