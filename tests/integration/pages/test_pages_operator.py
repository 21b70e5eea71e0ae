"""The pages for admins and the operator: keys, tenants, settings."""

from __future__ import annotations

import asyncio
import re
from dataclasses import asdict

import pytest
from support.pages.api_front import settings_for, started
from support.pages.pages_browser import form_token, visiting

from jobs.redis.keys import REVIEW_RULES
from settings.starting.provenance import Setting


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def post(visit, path, **fields):
    """Post a form as a browser without scripts does."""
    return await visit.http.post(path, data={"x-form-token": visit.token, **fields})


async def test_a_key_is_created_shown_once_limited_and_revoked(front):
    async with visiting(front.app) as visit:
        form = {"name": "ada", "person": "Ada Lovelace", "scopes[]": ["read", "review"]}
        created = await post(visit, "/app/access/keys", **form, expires_days="90", tenant="acme")
        secret = re.search(r"fettle_[\w-]{20,}", created.text).group()
        assert created.headers["cache-control"] == "no-store"
        async with front.with_key(secret) as ada:
            assert (await ada.get("/jobs")).status_code == 200
            page = (await visit.get("/app/access")).text
            assert secret not in page
            assert ("Ada Lovelace" in page, "read, review" in page) == (True, True)
            key = (await front.client.get("/keys")).json()["keys"][1]
            assert (key["tenant"], key["expires_at"] > key["created_at"]) == ("acme", True)
            limits = {"max_cost_usd_per_day": "2.50", "max_tokens_per_day": ""}
            assert (await post(visit, "/app/access/tenants/acme/limits", **limits)).is_redirect
            assert "$2.50" in (await visit.get("/app/access")).text
            revoked = await post(visit, f"/app/access/keys/{key['id']}/revoke")
            assert revoked.headers["location"] == "/app/access"
            assert (await ada.get("/jobs")).status_code == 401
        page = (await visit.get("/app/access")).text
        assert (page.count("revoked 20"), f"{key['id']}/revoke" in page) == (1, False)
        refused = await post(visit, "/app/access/keys", name="a b!", **{"scopes[]": ["read"]})
        assert (refused.status_code, "name" in refused.text) == (422, True)


async def test_an_admin_of_a_tenant_manages_its_keys_only(front):
    await front.key("read", name="of default")
    key_id = (await front.client.get("/keys")).json()["keys"][1]["id"]
    admin = await front.key("admin", name="root", tenant="acme")
    async with visiting(front.app, admin) as visit:
        page = (await visit.get("/app/access")).text
        assert ("of default" in page, "limits" in page, 'name="tenant"' in page) == (False,) * 3
        visit.token = form_token(page)
        created = await post(visit, "/app/access/keys", name="ada", **{"scopes[]": ["read"]})
        assert "fettle_" in created.text
        assert (await post(visit, f"/app/access/keys/{key_id}/revoke")).status_code == 404
        form = {"name": "eve", "tenant": "default", "scopes[]": "read", "max_tokens_per_day": "5"}
        for path in ("access/tenants/acme/limits", "access/keys", "settings", "settings/check"):
            assert (await post(visit, f"/app/{path}", **form)).status_code == 403, path
        assert (await visit.get("/app/settings")).status_code == 403
        assert {key["name"] for key in (await front.client.get("/keys")).json()["keys"]} == {
            *("development", "of default", "root", "ada")
        }
    async with visiting(front.app, await front.key("read", "submit", name="user")) as visit:
        assert "/app/access" not in (await visit.get("/app")).text
        assert (await visit.get("/app/access")).status_code == 403


async def test_a_form_without_its_token_changes_nothing(front):
    async with visiting(front.app) as visit:
        sent = await visit.http.post("/app/access/keys", data={"name": "ada", "scopes": "read"})
        assert sent.status_code == 403
    assert len((await front.client.get("/keys")).json()["keys"]) == 1


RULES = '[[rule]]\nname = "{}"\nlabels = ["risk"]\napprovals = 2\n'
SENTENCE = "Jobs with the label risk need 2 approvals by any person who is not an author."


async def test_the_operator_previews_and_changes_review_rules(front):
    async with visiting(front.app) as visit:
        page = (await visit.get("/app/review-rules")).text
        assert ("No rules yet. " in page, SENTENCE in page) == (True, False)
        form = {"text": RULES.format("risky").replace("\n", "\r\n"), "digest": ""}
        preview = await post(visit, "/app/review-rules", **form, dry_run="true")
        assert (preview.status_code, "Preview" in preview.text) == (200, True)
        assert SENTENCE in preview.text
        assert (await front.client.get("/review-rules")).json()["rules"] == []
        wrong = {**form, "text": form["text"].replace("= 2", "= 7")}
        refused = await post(visit, "/app/review-rules", **wrong)
        assert (refused.status_code, "line 4: approvals" in refused.text) == (422, True)
        assert "approvals = 7" in refused.text, "the text is not lost"
        saved = await post(visit, "/app/review-rules", **form)
        assert (saved.status_code, saved.headers["location"]) == (303, "/app/review-rules")
        page = (await visit.get("/app/review-rules")).text
        assert (SENTENCE in page, "this page" in page) == (True, True)
        stale = await post(visit, "/app/review-rules", text=RULES.format("mine"), digest="")
        assert (stale.status_code, SENTENCE in stale.text) == (409, True)
        for name in ("mine", "risky"):
            assert f"name = &#34;{name}&#34;" in stale.text
        await front.services.store.redis.hset(REVIEW_RULES, "text", "x = 1")
        damaged = await visit.get("/app/review-rules")
        assert (damaged.status_code, "x = 1" in damaged.text) == (500, True)
        digest = re.search(r'name="digest" value="(\w+)"', damaged.text)[1]
        assert (await post(visit, "/app/review-rules", text="", digest=digest)).is_redirect
    async with visiting(front.app, await front.key("admin", name="a", tenant="acme")) as visit:
        assert (await visit.get("/app/review-rules")).status_code == 403
        assert (await post(visit, "/app/review-rules", **form)).status_code == 403


async def answer_one_check(store, listens):
    """Play a worker that accepts one check of models."""
    async with store.rpc.inquiries() as messages:
        listens.set()
        question = await store.rpc.accept(await messages.get())
        [name] = question.data["models"]
        checked = {"name": name, "ok": False, "error": "the key is refused", "seconds": 0.5}
        lacking = ("first_token_seconds", "input_tokens", "output_tokens", "cost_usd")
        await store.rpc.answer(question, {"checked": [{**checked, **dict.fromkeys(lacking)}]})


def assert_form_has_defaults(page):
    assert re.search(r'type="checkbox" name="review" value="true" checked', page)
    assert re.search(r'name="labels"[^>]* value="x, y"', page)
    assert re.search(r'name="review_expires_seconds"[^>]* placeholder="2h"', page)


async def assert_review_can_be_left_out(visit, client):
    """A browser sends no unchecked box: the hidden field before it says no."""
    for boxes, reviewed in ((["false"], False), (["false", "true"], True)):
        fields = {"x-form-token": visit.token, "task": "add 1 and 1", "labels": "x"}
        files = [(name, (None, value)) for name, value in fields.items()]
        files += [("review", (None, value)) for value in boxes]
        sent = await visit.http.post("/app/new", files=files)
        assert sent.is_redirect, sent.text
        job = (await client.get(f"/jobs/{sent.headers['location'].rpartition('/')[2]}")).json()
        spec = job["spec"]
        assert (spec["review"], spec["labels"]) == (reviewed, ["x"])
        assert spec["role_models"] == {"critic": ["groq:a", "groq:b"]}


async def test_the_operator_sees_settings_sets_defaults_and_tests_a_model(
    redis_url, tmp_path, monkeypatch
):
    monkeypatch.setenv("FETTLE_MAX_FILES", "7")
    settings = settings_for(redis_url, tmp_path, api_key="a-secret-key", max_files=7)
    async with started(settings) as front, front.with_key("a-secret-key") as client:
        store = front.services.store
        listed = asdict(Setting("x", "FETTLE_MODEL", "groq:worker", "environment", ""))
        facts = {"settings": [listed], "models": {"offered": [{"name": "groq:worker"}]}}
        await store.announce("w1", facts, 60)
        async with visiting(front.app, "a-secret-key") as visit:
            page = (await visit.get("/app/settings")).text
            assert "a-secret-key" not in page
            row = r"<tr><th[^>]*><code>(\w+)</code></th>(.*?)</tr>"
            rows = re.findall(row, page)
            assert ("FETTLE_MAX_FILES", "<td>7</td><td>environment</td>") in rows
            assert ("FETTLE_MODEL", "<td>groq:worker</td><td>environment</td>") in rows
            form = {"version": "0", "defaults.model": "groq:m", "defaults.max_tokens": "9000"}
            saved = await post(visit, "/app/settings", **form)
            assert (saved.status_code, saved.headers["location"]) == (303, "/app/settings")
            assert 'value="groq:m"' in (await visit.get("/app/settings")).text
            assert "groq:m" in (await visit.get("/app/new")).text
            roles = {"defaults.critic_model": "groq:a, groq:b", "defaults.labels": "x, y"}
            review = {"defaults.review": "true", "defaults.review_expires_seconds": "2h"}
            await post(visit, "/app/settings", version="1", **roles, **review)
            page = (await visit.get("/app/settings")).text
            for text in ('value="groq:a, groq:b"', 'value="2h"', '<option value="true" selected>'):
                assert text in page
            assert_form_has_defaults((await visit.get("/app/new")).text)
            await assert_review_can_be_left_out(visit, client)
            stale = await post(visit, "/app/settings", **form)
            assert (stale.status_code, "came first" in stale.text) == (409, True)
            fleet = (await client.get("/fleet")).json()
            assert fleet["defaults"] == {
                "model": "groq:m",
                "max_tokens": 9_000,
                "critic_model": ["groq:a", "groq:b"],
                "labels": ["x", "y"],
                "review": True,
                "review_expires_seconds": 7_200,
            }
            assert fleet["changes"][0]["by"] == "operator"
            listens = asyncio.Event()
            worker = asyncio.create_task(answer_one_check(store, listens))
            await listens.wait()
            tested = await post(visit, "/app/settings/check", **{"models[]": "groq:worker"})
            await worker
            assert ("the key is refused" in tested.text, tested.status_code) == (True, 200)
