"""A job that no worker can resume since an upgrade: what a person sees and decides over HTTP."""

from __future__ import annotations

import pytest
from support.pages.api_front import a_run, done, settings_for, started

from jobs.model.graph_format import GraphFormat
from jobs.model.review import Review, ReviewKind
from jobs.store import Writes
from jobs.transitions import upgrade

NEWER = GraphFormat(9, "9.0.0")


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def parked(front):
    """A job with a run of a graph that is no more; returns its id."""
    job_id = await front.submit(review=True)
    held = await front.claim(job_id)
    await front.add_events(held, ("run_finished", a_run()))
    await front.services.store.write(job_id, held.epoch, Writes(graph=NEWER))
    record = (await front.services.store.load(job_id)).record
    asked = upgrade.question(record, NEWER, [1, 2], GraphFormat(2, "0.2.0"))
    done(await front.services.operations.pause(held, asked))
    return job_id


async def decide(front, job_id, **body):
    return await front.client.post(f"/jobs/{job_id}/review", json=body)


async def test_it_says_why_and_what_can_be_decided(front):
    job_id = await parked(front)
    review = (await front.job(job_id))["review"]
    assert (review["kind"], review["payload"]["found"]["format"]) == ("upgrade", 9)
    assert "run a worker of Fettle 9.0.0" in review["payload"]["reason"]
    for body in ({"action": "edit", "code": "1"}, {"action": "revise", "feedback": "x"}):
        answer = await decide(front, job_id, **body)
        assert (answer.status_code, answer.json()["type"]) == (
            409,
            "/problems/decision-not-offered",
        )
    assert (await front.client.get("/problems/decision-not-offered")).status_code == 200
    assert (await front.job(job_id))["review"] == review


async def test_approved_it_begins_anew_with_what_it_cost_and_without_its_runs(front):
    job_id = await parked(front)
    answer = await decide(front, job_id, action="approve")
    shown = await front.job(job_id)
    assert (answer.status_code, shown["status"], shown["runs"]) == (202, "queued", [])
    assert shown["decisions"][0]["override"] is False
    assert (await decide(front, job_id, action="approve")).status_code == 409
    assert (await front.client.get(f"/jobs/{job_id}/runs/1/code")).status_code == 404
    accept = {"Accept": "application/json"}
    events = (await front.client.get(f"/jobs/{job_id}/events", headers=accept)).json()["events"]
    assert [each["kind"] for each in events][-3:] == ["review_opened", "decided", "begun_anew"]


async def test_a_run_that_was_given_up_is_no_evidence(front):
    job_id = await parked(front)
    await decide(front, job_id, action="approve")
    held = await front.claim(job_id)
    asked = Review("r2", ReviewKind.REVIEW, {}, await front.services.store.now())
    done(await front.services.operations.pause(held, asked))
    await decide(front, job_id, action="approve")
    assert (await front.job(job_id))["decisions"][-1]["override"] is True


async def test_left_to_others_or_ended(front):
    job_id = await parked(front)
    assert (await decide(front, job_id, action="delegate")).json()["status"] == "queued"
    job_id = await parked(front)
    await decide(front, job_id, action="reject", feedback="too old")
    shown = await front.job(job_id)
    assert (shown["status"], shown["reason"], shown["detail"]) == (
        "failed",
        "incompatible",
        "too old",
    )
