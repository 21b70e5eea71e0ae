"""Comments on lines of a patch over HTTP: the accepted ones, and their records."""

from __future__ import annotations

import csv
import io

import pytest
from support.pages.api_front import settings_for, started

PATCH = b"""\
diff --git a/src/dates.py b/src/dates.py
--- a/src/dates.py
+++ b/src/dates.py
@@ -1,3 +1,3 @@
 import time
-A = 1
+A = 2
 B = 3
"""
WHY = {"path": "src/dates.py", "line": 2, "text": "Why 2?"}
AROUND = [" import time", "-A = 1", "+A = 2", " B = 3"]


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def decide(front, job_id, *comments, action="revise", **more):
    body = {"action": action, "comments": list(comments), **more}
    return await front.client.post(f"/jobs/{job_id}/review", json=body)


async def test_comments_go_with_revise_and_are_on_record(front):
    job_id = await front.patched(PATCH)
    before = {**WHY, "side": "old", "text": "=was it 1?"}
    answer = await decide(front, job_id, WHY, before)
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")
    (decision,) = (await front.job(job_id))["decisions"]
    stored = [
        {**WHY, "side": "new", "excerpt": AROUND, "at": 2, "base": None},
        {**before, "excerpt": AROUND, "at": 1, "base": 2},
    ]
    assert decision["comments"] == stored
    record = (await front.services.store.load(job_id)).record
    assert [comment.text for comment in record.decision.comments] == ["Why 2?", "=was it 1?"]
    (row,) = (await front.client.get("/decisions")).json()["decisions"]
    assert row["comments"] == stored
    text = (await front.client.get("/decisions?format=csv")).text
    (cells,) = csv.DictReader(io.StringIO(text))
    assert cells["comments"] == "src/dates.py:2: Why 2?\nsrc/dates.py:-2: =was it 1?"


@pytest.mark.parametrize(
    ("changed", "field", "reason"),
    [
        ({"line": 9}, "comments.0", "line 9 of src/dates.py (after the change)"),
        ({"line": 9, "side": "old"}, "comments.0", "line 9 of src/dates.py (before the change)"),
        ({"path": "a.py"}, "comments.0", "the patch does not change a.py"),
        ({"path": "b/src/dates.py"}, "comments.0", "does not change"),
        ({"line": 0}, "comments.0.line", "greater than or equal to 1"),
        ({"text": " "}, "comments.0.text", "it has no text"),
        ({"text": "x" * 2_001}, "comments.0.text", "at most 2000"),
        ({"side": "left"}, "comments.0.side", "'old' or 'new'"),
    ],
)
async def test_a_comment_on_a_line_outside_of_the_patch_is_refused(front, changed, field, reason):
    job_id = await front.patched(PATCH)
    answer = await decide(front, job_id, {**WHY, **changed}, feedback="More.")
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    assert error["field"] == field
    assert reason in error["message"]
    assert (await front.job(job_id))["status"] == "awaiting_review", "nothing was decided"


async def test_comments_are_accepted_only_with_revise_and_need_a_change(front):
    job_id = await front.patched(PATCH)
    answer = await decide(front, job_id, WHY, action="approve")
    assert answer.status_code == 422
    assert (
        answer.json()["errors"][0]["message"]
        == "approve takes no comments: only revise or edit takes it"
    )
    assert (await decide(front, job_id, *[WHY] * 51)).status_code == 422
    plain = await front.paused()
    answer = await decide(front, plain, WHY)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["message"] == "the patch does not change src/dates.py"
    answer = await decide(front, plain)
    assert answer.json()["errors"][0]["message"] == "revise needs feedback or comments"


async def test_comments_on_another_review_are_stale_whatever_lines_they_name(front):
    job_id = await front.patched(PATCH)
    missing_file = {**WHY, "path": "gone.py"}
    for reference in ({"review_id": "r0"}, {"digest": "0" * 64}):
        answer = await decide(front, job_id, missing_file, **reference)
        assert (answer.status_code, answer.json()["type"]) == (409, "/problems/stale-review")
