"""The pages for admins and the operator: keys, tenants, settings."""

from __future__ import annotations

import re

import pytest
from support.pages.api_front import settings_for, started
from support.pages.pages_browser import form_token, visiting


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def post(visit, path, **fields):
    """Post a form as a browser without scripts does."""
    return await visit.http.post(path, data={"x-form-token": visit.token, **fields})


async def test_a_key_is_created_shown_once_limited_and_revoked(front):
    async with visiting(front.app) as visit:
        form = {"name": "ada", "person": "Ada Lovelace", "scopes": ["read", "review"]}
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
            for owner in (f"keys/{key['id']}", "tenants/acme"):
                assert (await post(visit, f"/app/access/{owner}/limits", **limits)).is_redirect
            assert (await visit.get("/app/access")).text.count("$2.50") == 2
            revoked = await post(visit, f"/app/access/keys/{key['id']}/revoke")
            assert revoked.headers["location"] == "/app/access"
            assert (await ada.get("/jobs")).status_code == 401
        page = (await visit.get("/app/access")).text
        assert (page.count("revoked 20"), f"{key['id']}/revoke" in page) == (1, False)
        refused = await post(visit, "/app/access/keys", name="a b!", scopes=["read"])
        assert (refused.status_code, "name" in refused.text) == (422, True)


async def test_an_admin_of_a_tenant_manages_its_keys_only(front):
    await front.key("read", name="of default")
    key_id = (await front.client.get("/keys")).json()["keys"][1]["id"]
    admin = await front.key("admin", name="root", tenant="acme")
    async with visiting(front.app, admin) as visit:
        page = (await visit.get("/app/access")).text
        assert ("of default" in page, "limits" in page, 'name="tenant"' in page) == (False,) * 3
        visit.token = form_token(page)
        created = await post(visit, "/app/access/keys", name="ada", scopes=["read"])
        assert "fettle_" in created.text
        assert (await post(visit, f"/app/access/keys/{key_id}/revoke")).status_code == 404
        for path in ("keys/x/limits", "tenants/acme/limits"):
            refused = await post(visit, f"/app/access/{path}", max_tokens_per_day="5")
            assert refused.status_code == 403
        elsewhere = await post(
            visit, "/app/access/keys", name="eve", scopes="read", tenant="default"
        )
        assert elsewhere.status_code == 403
    async with visiting(front.app, await front.key("read", "submit", name="user")) as visit:
        assert "/app/access" not in (await visit.get("/app")).text
        assert (await visit.get("/app/access")).status_code == 403


async def test_a_form_without_its_token_changes_nothing(front):
    async with visiting(front.app) as visit:
        sent = await visit.http.post("/app/access/keys", data={"name": "ada", "scopes": "read"})
        assert sent.status_code == 403
    assert len((await front.client.get("/keys")).json()["keys"]) == 1
