"""The rules for all workers over HTTP, and with `fettle fleet`."""

from __future__ import annotations

import asyncio

import pytest
from support.pages.api_front import client_of, settings_for, started

from api.schemas.deployment import FleetValues
from jobs.model.fleet import FleetRules
from jobs.redis.keys import FINISHED, FLEET
from jobs.store.fleet import DAY_MS
from settings.base import FleetSettings


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


def values(fleet):
    return {setting["name"]: setting["value"] for setting in fleet["settings"]}


async def change(front, version, accept=0, **settings):
    body = {"version": version, "settings": settings, "accept_removal": accept}
    return await front.client.put("/fleet", json=body)


def test_every_rule_is_a_setting_and_can_be_changed():
    names = FleetSettings.model_fields.keys()
    assert list(names) == list(FleetValues.model_fields)
    assert [*names, "defaults"] == list(FleetRules.__dataclass_fields__)


async def test_a_change_names_its_base_version_and_its_author(front):
    fleet = (await front.client.get("/fleet")).json()
    assert (fleet["version"], fleet["changes"]) == (0, [])
    assert values(fleet)["retention_days"] == 30
    changed = (await change(front, 0, retention_days=90, retries=40)).json()
    assert (changed["version"], values(changed)["retries"]) == (1, 40)
    changed = (await change(front, 1, retries=41)).json()
    newest = changed["changes"][0]
    assert (newest["by"], newest["key_id"], newest["values"]) == (
        "development",
        "configured",
        {"retries": 41},
    )
    assert values(changed)["retention_days"] == 90
    stale = await change(front, 1, retries=5)
    assert (stale.status_code, stale.json()["type"]) == (409, "/problems/fleet-changed")
    assert stale.json()["limit"] == 2
    assert (await front.client.get("/fleet")).json() == changed


async def test_new_jobs_get_the_defaults_of_terms_that_they_leave_out(front):
    async def set_defaults(**defaults):
        version = (await front.client.get("/fleet")).json()["version"]
        body = {"version": version, "defaults": defaults}
        return await front.client.put("/fleet", json=body)

    first = await front.submit()
    changed = await set_defaults(model="groq:small", max_cost_usd="0.50", max_tokens=9_000)
    assert changed.json()["changes"][0]["values"]["defaults"]["model"] == "groq:small"
    once = {"Idempotency-Key": "k1"}
    task = {"task": "add 1 and 1", "max_tokens": 5_000}
    job_id = (await front.client.post("/jobs", json=task, headers=once)).json()["id"]
    spec = (await front.job(job_id))["spec"]
    terms = {name: spec[name] for name in ("model", "max_cost_usd", "max_tokens")}
    assert terms == {"model": "groq:small", "max_cost_usd": "0.50", "max_tokens": 5_000}
    assert (await front.job(first))["spec"]["model"] is None
    defaults = (await set_defaults(model="groq:large", max_cost_usd=None)).json()["defaults"]
    assert defaults == {"model": "groq:large", "max_tokens": 9_000}
    again = await front.client.post("/jobs", json=task, headers=once)
    assert again.json()["id"] == job_id, "the same request, although the defaults have changed"
    for wrong in ({"model": "unlisted:m"}, {"timeout_seconds": 10**9}, {"setup": "make"}):
        assert (await set_defaults(**wrong)).status_code == 422
    assert '"kind":"fleet_changed"' in (await front.client.get("/audit")).text


async def set_defaults(front, **defaults):
    version = (await front.client.get("/fleet")).json()["version"]
    answer = await front.client.put("/fleet", json={"version": version, "defaults": defaults})
    assert answer.status_code == 200, answer.text


async def spec_of(front, job_id):
    return (await front.job(job_id))["spec"]


async def post(front, path, **body):
    answer = await front.client.post(path, json=body)
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


async def test_a_job_keeps_the_role_models_review_and_labels_of_its_submission(front):
    chain = ["groq:judge", "groq:other"]
    before = await front.submit()
    await set_defaults(front, critic_model=chain, review=True, pause="every_run", labels=["team-a"])
    job_id = await front.submit()
    spec = await spec_of(front, job_id)
    names = ("model", "role_models", "review", "pause", "labels")
    terms = {name: spec[name] for name in names}
    assert terms == {
        "model": None,
        "role_models": {"critic": chain},
        "review": True,
        "pause": "every_run",
        "labels": ["team-a"],
    }
    named = await spec_of(front, await front.submit(model="groq:mine", review=False, labels=[]))
    assert [named[name] for name in names] == ["groq:mine", None, False, "every_run", []]
    check = {"checks": {"cases": [{"argv": ["true"]}]}, "files": {"a": "1"}}
    verification = await post(front, "/verifications", **check)
    assert (await spec_of(front, verification))["labels"] == ["team-a"]

    changed = {"critic_model": ["groq:new"], "planner_model": ["groq:p"], "model": "groq:all"}
    await set_defaults(front, **changed, review=None, labels=["team-b"])
    assert await spec_of(front, job_id) == spec
    assert (await spec_of(front, before))["role_models"] is None
    await front.client.post(f"/jobs/{job_id}/cancel")
    for path in (f"/jobs/{job_id}/retry", f"/jobs/{job_id}/fork"):
        again = await spec_of(front, await post(front, path, timeout_seconds=60))
        assert {name: again[name] for name in names} == terms, path
        other = await spec_of(front, await post(front, path, model="groq:mine"))
        assert (other["model"], other["role_models"]) == ("groq:mine", None), path
        today = await spec_of(front, await post(front, path, model=None))
        assert (today["model"], today["role_models"]) == (
            "groq:all",
            {"planner": ["groq:p"], "critic": ["groq:new"]},
        )


@pytest.mark.parametrize(
    ("wrong", "field", "text"),
    [
        ({"critic_model": ["groq:a", "unlisted:m"]}, "defaults.critic_model", "allow-list"),
        ({"critic_model": ["auto"]}, "defaults.critic_model.0", "provider:model"),
        ({"critic_model": []}, "defaults.critic_model", "at least 1"),
        ({"on_expiry": "reject"}, "defaults.on_expiry", "needs review_expires_seconds"),
        ({"labels": [" x"]}, "defaults.labels.0", "a label"),
    ],
)
async def test_a_default_that_no_job_may_have_is_refused(front, wrong, field, text):
    answer = await front.client.put("/fleet", json={"version": 0, "defaults": wrong})
    [error] = answer.json()["errors"]
    assert (answer.status_code, error["field"], text in error["message"]) == (422, field, True)
    assert (await front.client.get("/fleet")).json()["version"] == 0


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"retries": -1}, "settings.retries"),
        ({"retention_days": 0}, "settings.retention_days"),
        ({"lease_seconds": 4}, "settings"),
        ({"blob_grace_seconds": 60}, "settings.blob_grace_seconds"),
        ({"heartbeat_seconds": 15, "lease_seconds": 60}, "settings.heartbeat_seconds"),
        ({"retention_day": 3}, "settings.retention_day"),
        ({"retries": 1.5}, "settings.retries"),
        ({"sweep_seconds": 1e-9}, "settings.sweep_seconds"),
        ({"heartbeat_seconds": 1e-9}, "settings.heartbeat_seconds"),
        ({"retention_sweep_seconds": 1e-9}, "settings.retention_sweep_seconds"),
        ({"retention_days": "30d"}, "settings.retention_days"),
        ({"retention_days": 1e308}, "settings.retention_days"),
        ({"retention_days": None}, "settings"),
        ({}, "settings"),
    ],
)
async def test_a_value_that_workers_cannot_apply_is_refused(front, wrong, field):
    answer = await change(front, 0, **wrong)
    assert answer.status_code == 422, answer.text
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert (await front.client.get("/fleet")).json()["version"] == 0


async def test_a_retention_that_removes_jobs_at_once_is_confirmed(front):
    for _ in range(3):
        job_id = await front.submit()
        await front.client.post(f"/jobs/{job_id}/cancel")
    await asyncio.sleep(0.2)
    answer = await change(front, 0, retention_days=0.000001)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/removes-jobs")
    assert answer.json()["limit"] == 3
    assert (await change(front, 0, accept=2, retention_days=0.000001)).status_code == 409
    assert (await change(front, 0, accept=3, retention_days=0.000001)).status_code == 200
    # A longer retention needs no confirmation.
    assert (await change(front, 1, retention_days=60)).status_code == 200


async def test_a_first_record_with_the_default_retention_needs_confirmation_too(front):
    """After an upgrade, the workers' environments may still have a longer retention."""
    store = front.services.store
    job_id = await front.submit()
    await front.client.post(f"/jobs/{job_id}/cancel")
    await store.redis.zadd(FINISHED, {job_id: await store.now() - 40 * DAY_MS})
    answer = await change(front, 0, retries=40)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/removes-jobs")
    assert answer.json()["limit"] == 1
    assert (await change(front, 0, retries=40, retention_days=90)).status_code == 200


async def test_only_the_operator_sees_and_changes_the_rules(front):
    created = await front.client.post(
        "/keys", json={"name": "ann", "scopes": ["admin"], "tenant": "a"}
    )
    async with client_of(front.app, created.json()["secret"]) as other_client:
        assert (await other_client.get("/fleet")).status_code == 403
        body = {"version": 0, "settings": {"retries": 1}}
        assert (await other_client.put("/fleet", json=body)).status_code == 403


async def test_a_damaged_record_is_named(front):
    await front.services.store.redis.set(FLEET, b"\xff{")
    answer = await front.client.get("/fleet")
    assert (answer.status_code, answer.json()["type"]) == (500, "/problems/fleet-unreadable")
