"""The changes of a job in its repository, on the pages of review and job, and on a separate
page.
"""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from support.pages.api_front import RESULT, done, settings_for, started
from support.pages.pages_browser import visiting

from jobs.blobs.manifest import FileEntry, Manifest
from jobs.model.events import NewEvent
from jobs.model.record import Push, Reason
from jobs.model.review import Action, Decision, Review, ReviewKind
from jobs.store import Writes

PATCH = b"""\
diff --git a/src/dates.py b/src/dates.py
--- a/src/dates.py
+++ b/src/dates.py
@@ -1,2 +1,2 @@
 import time
-A = 1
+A = 2  # <b>
diff --git "a/<img src=x>\\303\\274.lock" "b/<img src=x>\\303\\274.lock"
new file mode 100644
--- /dev/null
+++ "b/<img src=x>\\303\\274.lock"
@@ -0,0 +1 @@
+x
"""


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


@pytest.mark.parametrize("is_ended", [True, False])
async def test_review_and_result_link_to_the_changes(front, is_ended):
    job_id = await front.patched(PATCH, is_ended=is_ended)
    async with visiting(front.app) as visit:
        html = (await visit.get(f"/app/jobs/{job_id}")).text
        assert f'hx-get="/app/jobs/{job_id}/changes/shown"' in html
        assert f'<a href="/app/jobs/{job_id}/changes">' in html
        assert "https://git.example.org/team/app.git" in html
        assert "follows=" not in html, "which is refused"
        part = (await visit.get(f"/app/jobs/{job_id}/changes/shown")).text
        page = (await visit.get(f"/app/jobs/{job_id}/changes")).text
        assert part in page
        assert (f'href="/app/jobs/{job_id}#review-panel"' in page) != is_ended
        assert ('id="review-panel"' in html) != is_ended
        downloaded = await visit.get(f"/app/jobs/{job_id}/patch")
        assert downloaded.content == PATCH
        assert (await visit.get(f"/app/jobs/{job_id}/bundle")).status_code == 200
        if not is_ended:
            changes = await visit.get(f"/app/jobs/{job_id}/review/changes")
            assert (changes.status_code, "No file has changed" in changes.text) == (200, False)


async def test_the_result_links_to_its_delivery(front):
    url = "https://git.example.org/team/app/pull/7"
    delivery = Push("fettle/j1", "c" * 40, url, "main", base_moved=True, note="main <b> moved")
    job_id = await front.submit()
    lease = await front.claim(job_id)
    store, operations = front.services.store, front.services.operations
    event = NewEvent("d", "delivered", asdict(delivery))
    await store.write(job_id, lease.epoch, Writes(events=[event]))
    result = replace(RESULT, delivery=delivery)
    done(await operations.fail(lease, Reason.DELIVERY, "declined", result))
    async with visiting(front.app) as visit:
        html = (await visit.get(f"/app/jobs/{job_id}")).text
    assert html.count(f'<a href="{url}" rel="noopener noreferrer nofollow">{url}</a>') == 2
    assert ("main &lt;b&gt; moved" in html, "not delivered" in html) == (True, True)


async def test_a_change_whose_base_has_moved_is_rebased_by_a_button(front):
    moved = replace(RESULT, delivery=Push("fettle/j1", "c" * 40, base="main", base_moved=True))
    button = 'hx-post="/app/jobs/{}/rebase"'
    still = await front.patched(PATCH, is_ended=True)
    job_id = await front.patched(PATCH, is_ended=True, result=moved)
    async with visiting(front.app) as visit:
        assert button.format(still) not in (await visit.get(f"/app/jobs/{still}")).text
        assert button.format(job_id) in (await visit.get(f"/app/jobs/{job_id}")).text
        sent = await visit.post(f"/app/jobs/{job_id}/rebase")
        assert sent.status_code == 204, sent.text
        new = sent.headers["hx-redirect"]
        html = (await visit.get(new)).text
        assert html.count(f'<a href="/app/jobs/{job_id}">') == 2  # the request, and its event
        assert f"{job_id}</a></p>" in html
        refused = await visit.post(f"{new}/rebase")
        assert refused.status_code == 409
    async with visiting(front.app, await front.key("read")) as visit:
        assert button.format(job_id) not in (await visit.get(f"/app/jobs/{job_id}")).text


async def test_each_file_opens_separately_and_its_content_is_not_active(front):
    job_id = await front.patched(PATCH)
    async with visiting(front.app) as visit:
        html = (await visit.get(f"/app/jobs/{job_id}/changes")).text
        assert '<details class="change" id="change-1" data-path="src/dates.py" open>' in html
        assert ' id="change-2" data-path="&lt;img src=x&gt;ü.lock">' in html  # a lock file
        assert html.count('href="#change-') == 2
        assert '<span class="d-added" data-n="     2">+<span class="n">A</span>' in html
        assert '<span class="c1"># &lt;b&gt;</span></span>' in html
        assert "&lt;img src=x&gt;ü.lock" in html
        assert "<img src=x" not in html


async def test_a_patch_that_is_too_large_can_be_downloaded(front, monkeypatch):
    monkeypatch.setattr("api.pages.views.job.MAX_BYTES", 10)
    job_id = await front.patched(PATCH)
    async with visiting(front.app) as visit:
        html = (await visit.get(f"/app/jobs/{job_id}/changes")).text
        assert "too large to show here" in html
        assert f'href="/app/jobs/{job_id}/patch"' in html


async def test_a_job_without_a_patch_has_no_page_of_changes(front):
    job_id = await front.submit()
    async with visiting(front.app) as visit:
        assert "changes" not in (await visit.get(f"/app/jobs/{job_id}")).text
        answer = await visit.get(f"/app/jobs/{job_id}/changes")
        assert answer.status_code == 404
        assert "not on a repository" in answer.text


async def test_another_tenant_sees_no_patch(front):
    job_id = await front.patched(PATCH)
    secret = await front.key("read", tenant="other")
    async with visiting(front.app, secret) as visit:
        for path in ("changes", "changes/shown", "patch", "bundle"):
            assert (await visit.get(f"/app/jobs/{job_id}/{path}")).status_code == 404


async def test_the_form_accepts_a_repository(front):
    url = "https://git.example.org/team/app.git"
    bundle = b"# v2 git bundle\n0123456789012345678901234567890123456789 HEAD\n\nPACK"
    none = ("files", ("", b""))
    async with visiting(front.app) as visit:

        async def submitted_request(*files, **fields):
            sent = await visit.post("/app/new", data={"task": "t", **fields}, files=[none, *files])
            assert sent.status_code == 204, sent.text
            return (await front.job(sent.headers["hx-redirect"].rpartition("/")[2]))["spec"]["repo"]

        empty = ("bundle", ("", b""))
        assert await submitted_request(empty, repo="", ref="") is None
        assert await submitted_request(empty, repo=url, ref="main") == {
            "url": url,
            "ref": "main",
            "bundle": None,
        }
        assert (await submitted_request(("bundle", ("a.bundle", bundle)), ref="v1"))["ref"] == "v1"
        data = {"task": "t", "repo": url, "setup": "make <deps>"}
        sent = await visit.post("/app/new", data=data, files=[none])
        job_id = sent.headers["hx-redirect"].rpartition("/")[2]
        assert (await front.job(job_id))["spec"]["setup"] == "make <deps>"
        assert "make &lt;deps&gt;" in (await visit.get(f"/app/jobs/{job_id}")).text
        data = {"task": "t", "repo": url, "deliver": "pull_request"}
        sent = await visit.post("/app/new", data=data, files=[none])
        spec = (await front.job(sent.headers["hx-redirect"].rpartition("/")[2]))["spec"]
        assert spec["deliver"] == {"branch": True, "pull_request": True}
        job_page = (await visit.get(sent.headers["hx-redirect"])).text
        assert "<dt>When approved</dt><dd>pushed there as a branch, with a pull request" in job_page
        wrong = await visit.post("/app/new", data={"task": "t", "repo": "/etc"}, files=[none])
        assert (wrong.status_code, "begins with https://" in wrong.text) == (422, True)


async def test_after_a_revision_the_review_shows_its_changes(front):
    """Files that were changed before are compared with their earlier versions; all other changes
    are in the patch.
    """
    job_id = await front.submit(review=True, repo={"url": "https://git.example.org/team/app.git"})
    store, operations = front.services.store, front.services.operations
    versions = [{"a.py": b"A = 2\n"}, {"a.py": b"A = 3\n", "b.py": b"B = 1\n"}]
    for number, files in enumerate(versions, 1):
        lease = await front.claim(job_id)
        artifacts = [
            await front.store_artifact(path, content, "text/x-python")
            for path, content in files.items()
        ]
        await front.run(lease, number, artifacts=artifacts)
        entries = {
            artifact["name"]: FileEntry(artifact["digest"], artifact["size"])
            for artifact in artifacts
        }
        workspace = Manifest(entries, frozenset({"gone.py"}), base="c0ffee")
        digest = await front.services.blobs.put(workspace.dump())
        await store.write(job_id, lease.epoch, Writes(workspace=digest))
        payload = {"plan": [], "answer": "", "runs": [], "unproven": None}
        review = Review(f"r{number}", ReviewKind.REVIEW, payload, await store.now())
        done(await operations.pause(lease, review))
        if number == 1:
            async with visiting(front.app) as visit:
                first = (await visit.get(f"/app/jobs/{job_id}/review/changes")).text
            done(await operations.decide(job_id, Decision("r1", Action.REVISE, "ada", "More.")))
    assert "A = 2" not in first, "the patch has it"
    async with visiting(front.app) as visit:
        html = (await visit.get(f"/app/jobs/{job_id}/review/changes")).text
    assert '<span class="d-removed">-A = 2</span>' in html
    assert '<span class="d-added">+A = 3</span>' in html
    assert "not changed before: see the patch" in html
    assert "gone.py" not in html
