"""The operator's review rules at run time: read, checked, added to the file's, on record."""

from __future__ import annotations

import hashlib
import json

import pytest
from support.pages.api_front import settings_for, started

from jobs.redis.keys import REVIEW_RULES

FILE = """\
[[rule]]
name = "payments"
labels = ["payments"]
approvers = ["Grace Hopper", "Ada Lovelace"]
override = false
"""
ADDED = """\
[groups]
risk = ["Ada Lovelace", "Grace Hopper"]

[[rule]]
name = "risky"
labels = ["risk=high"]
approvals = 2
approvers = ["group:risk"]
"""
DIGEST = hashlib.sha256(ADDED.encode()).hexdigest()


@pytest.fixture
async def front(redis_url, tmp_path):
    (tmp_path / "review.toml").write_text(FILE)
    settings = settings_for(redis_url, tmp_path, review_policy=str(tmp_path / "review.toml"))
    async with started(settings) as front:
        yield front


async def put(front, text, digest="", **more):
    body = {"text": text, "digest": digest, **more}
    return await front.client.put("/review-rules", json=body)


async def rules_of(front, job_id):
    return (await front.job(job_id))["spec"]["review_rules"]


async def entries(front):
    lines = (await front.client.get("/audit")).text.splitlines()
    return [entry for entry in map(json.loads, lines) if entry["kind"] == "review_rules_changed"]


async def test_rules_are_added_to_those_of_the_file_and_on_record(front, tmp_path):
    before = (await front.client.get("/review-rules")).json()
    assert [(rule["name"], rule["source"]) for rule in before["rules"]] == [("payments", "file")]
    assert (before["file"], before["digest"]) == (str(tmp_path / "review.toml"), "")
    previewed = (await put(front, ADDED, dry_run=True)).json()
    risky = {
        "name": "risky",
        "source": "run time",
        "sentence": "Jobs with the label risk=high need 2 approvals by the group risk (Ada "
        "Lovelace, Grace Hopper).",
    }
    assert previewed["rules"][1] == risky
    assert (await front.client.get("/review-rules")).json() == before, "a preview changes nothing"
    assert await entries(front) == []

    changed = (await put(front, ADDED.replace("\n", "\r\n"))).json()
    assert (changed["rules"][1], changed["text"], changed["digest"]) == (risky, ADDED, DIGEST)
    assert (changed["changed_by"], changed["changed_at"] is None) == ("development", False)
    async with front.with_key(await front.key("submit", "read", name="ada")) as ada:
        old = await front.submit(by=ada)
        job_id = await front.submit(by=ada, labels=["payments", "risk=high"])
        job = await front.job(job_id)
        assert (job["spec"]["review"], job["spec"]["approvals"]) == (True, 2)
        rules = job["spec"]["review_rules"]
        assert (rules["names"], rules["conditions"], rules["override"]) == (
            ["payments", "risky"],
            ["label payments", "label risk=high"],
            False,
        )
        assert rules["approvers"] == [
            ["Grace Hopper", "Ada Lovelace"],
            ["Ada Lovelace", "Grace Hopper"],
        ]

        removed = (await put(front, "", DIGEST)).json()
        assert [rule["name"] for rule in removed["rules"]] == ["payments"]
        assert await rules_of(front, job_id) == rules, "the rules are those of the submission"
        assert await rules_of(front, old) is None
        await front.client.post(f"/jobs/{job_id}/cancel")
        again = (await ada.post(f"/jobs/{job_id}/retry")).json()["id"]
        assert (await rules_of(front, again))["names"] == ["payments"]
    first, second = await entries(front)
    assert first["data"] == {"before": "", "digest": DIGEST}
    assert second["data"] == {"before": DIGEST, "digest": ""}
    assert first["actor"]["name"] == "development"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (ADDED.replace("approvals = 2", "approvals = 3"), "line 7: approvals: "),
        (ADDED.replace("group:risk", "group:leads"), "line 8: group:leads is not in [groups]"),
        (ADDED.replace("risky", "payments"), "the file has a rule 'payments'"),
        ("rule = 1 2", "not valid TOML"),
        ("# nothing", "rule: "),
        ("rule = " + "[" * 20_000, "not valid TOML"),
        ("[[rule]]\n" * 5_000, "line 10: name: Field required"),
        (ADDED.replace("group:risk", " "), "line 8: approvers: write a name with"),
        (ADDED.replace("Ada Lovelace", ""), "line 2: risk: write a name with"),
        (
            ADDED.replace('"risky"', r'"a\n1 of 2 approvals: ann"'),
            "line 5: name: write a name with",
        ),
        (ADDED.replace("risk=high", " risk=high"), "line 6: labels: no job can have this label"),
        ("x" * 50_001, "50000"),
    ],
)
async def test_a_faulty_text_changes_nothing_and_names_the_line(front, text, fault):
    for dry_run in (True, False):
        answer = await put(front, text, dry_run=dry_run)
        [error] = answer.json()["errors"]
        assert (answer.status_code, error["field"], fault in error["message"]) == (
            422,
            "text",
            True,
        ), error
        assert len(error["message"]) < 1_000
    assert (await front.client.get("/review-rules")).json()["text"] == ""


async def test_a_change_names_the_text_that_it_is_based_on(front):
    assert (await put(front, ADDED)).status_code == 200
    for digest in ("", "0" * 64):
        stale = await put(front, FILE.replace("payments", "other"), digest)
        assert (stale.status_code, stale.json()["type"]) == (
            409,
            "/problems/review-rules-changed",
        )
        assert DIGEST in stale.json()["detail"]
    assert len(await entries(front)) == 1


async def test_only_the_operator_reads_and_changes_the_rules(front):
    async with front.with_key(await front.key("admin", name="root", tenant="acme")) as admin:
        assert (await admin.get("/review-rules")).status_code == 403
        body = {"text": ADDED, "digest": ""}
        assert (await admin.put("/review-rules", json=body)).status_code == 403


async def test_no_job_is_accepted_without_rules_that_cannot_be_read(front):
    await put(front, ADDED)
    newer = ADDED + "signed = true\n"
    await front.services.store.redis.hset(REVIEW_RULES, "text", newer)
    for answer in (
        await front.client.post("/jobs", json={"task": "x"}),
        await front.client.get("/review-rules"),
    ):
        assert (answer.status_code, answer.json()["type"]) == (
            500,
            "/problems/review-rules-unreadable",
        )
    assert (await put(front, "", DIGEST)).status_code == 200
    await front.submit()
