"""Keys, scopes, tenants and the rate limit."""

from __future__ import annotations

import asyncio

import pytest
import structlog
from support.pages.api_front import client_of, settings_for, started
from support.pages.pages_browser import visiting

from api.http import event_stream
from jobs.audit.entries import Actor
from jobs.store.fleet import DAY_MS

JOB = "/jobs/" + "0" * 20
ANY = "any"
GUARDED = [
    ("POST", "/jobs", "submit"),
    ("POST", "/verifications", "submit"),
    ("POST", f"{JOB}/cancel", "submit"),
    ("POST", f"{JOB}/retry", "submit"),
    ("POST", f"{JOB}/rebase", "submit"),
    ("POST", f"{JOB}/fork", "submit"),
    ("PATCH", JOB, "submit"),
    ("DELETE", f"{JOB}", "admin"),
    ("POST", "/jobs/batch", "submit"),
    ("POST", "/batches/x/cancel", "submit"),
    ("GET", "/batches/x", "read"),
    ("GET", "/jobs", "read"),
    ("GET", JOB, "read"),
    ("GET", f"{JOB}/events", "read"),
    ("GET", f"{JOB}/files", "read"),
    ("GET", f"{JOB}/files/a", "read"),
    ("GET", f"{JOB}/files.tar.gz", "read"),
    ("GET", f"{JOB}/patch", "read"),
    ("GET", f"{JOB}/changes", "read"),
    ("GET", f"{JOB}/bundle", "read"),
    ("GET", f"{JOB}/artifacts", "read"),
    ("GET", f"{JOB}/artifacts/a", "read"),
    ("GET", f"{JOB}/runs/1/code", "read"),
    ("GET", f"{JOB}/repairs/r1/diff", "read"),
    ("GET", f"{JOB}/recording", "read"),
    ("GET", "/conversations", "read"),
    ("GET", "/conversations/c", "read"),
    ("GET", "/compare?jobs=a,b", "read"),
    ("GET", "/stats", "read"),
    ("GET", "/models", "read or admin"),
    ("POST", "/models/check", "admin"),
    ("POST", f"{JOB}/messages", "submit"),
    ("POST", f"{JOB}/review", "review"),
    ("POST", f"{JOB}/review/claim", "review"),
    ("POST", "/keys", "admin"),
    ("GET", "/keys", "admin"),
    ("GET", "/keys/me", ANY),
    ("DELETE", "/keys/x", "admin"),
    ("POST", "/sign-in-links", "read or admin"),
    ("PUT", "/keys/x/limits", "admin"),
    ("GET", "/tenants", "admin"),
    ("PUT", "/tenants/acme/limits", "admin"),
    ("GET", "/tenants/acme/webhooks", "admin"),
    ("POST", "/tenants/acme/webhooks", "admin"),
    ("DELETE", "/tenants/acme/webhooks/x", "admin"),
    ("GET", "/decisions", "read or admin"),
    ("GET", "/audit", "admin"),
    ("GET", "/audit/head", "admin"),
    ("GET", "/webhook-deliveries", "admin"),
    ("POST", "/webhook-deliveries/x/retry", "admin"),
    ("POST", "/workers/x/drain", "admin"),
    ("GET", "/system", "read or admin"),
    ("GET", "/fleet", "admin"),
    ("PUT", "/fleet", "admin"),
    ("GET", "/review-rules", "admin"),
    ("PUT", "/review-rules", "admin"),
]


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def test_every_guarded_route_is_in_this_table(front):
    schema = (await front.client.get("/openapi.json")).json()
    key = {
        (method.upper(), path)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if operation.get("security")
    }
    assert len(key) == len(GUARDED)


@pytest.mark.parametrize("secret", [None, "fettle_wrong"])
async def test_without_a_valid_key_every_route_is_a_401(redis_url, tmp_path, secret):
    settings = settings_for(redis_url, tmp_path, wrong_key_limit="1000/minute")
    async with started(settings) as front, client_of(front.app, secret) as client:
        for method, path, _ in GUARDED:
            answer = await client.request(method, path, json={})
            refused = (answer.status_code, answer.json()["type"])
            assert refused == (401, "/problems/unauthorized"), (method, path)
            assert "X-API-Key" in answer.headers["www-authenticate"]


async def test_a_key_of_any_scope_learns_its_scopes(front):
    for scope in ("submit", "read", "review", "admin"):
        secret = await front.key(scope, name=f"own-{scope}")
        async with front.with_key(secret) as client:
            own = (await client.get("/keys/me")).json()
        assert (own["name"], own["scopes"], own["tenant"]) == (f"own-{scope}", [scope], "default")
        assert secret not in str(own)


async def test_a_key_can_be_a_bearer_token(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path, wrong_key_limit="1/minute")) as front:
        key, other_key = [await front.key("read", name=name) for name in ("ada", "bob")]

        async def status(x_api_key: str | None, authorization: str) -> int:
            async with client_of(front.app, x_api_key) as client:
                answer = await client.get("/jobs", headers={"Authorization": authorization})
                return answer.status_code

        assert await status(None, f"Bearer {key}") == 200
        assert await status(key, f"bearer {key}") == 200
        assert await status(key, "Basic dTpw") == 200, "a proxy may have its own use of the header"
        assert await status(None, f"Basic {key}") == 401
        assert await status(key, f"Bearer {other_key}") == 401
        assert await status(key, "Bearer fettle_wrong") == 401, "it is not looked up"
        assert await status(None, "Bearer fettle_wrong") == 401
        assert await status(None, "Bearer fettle_guess") == 429
        assert await status(None, f"Bearer {key}") == 200, "it was valid before"


@pytest.mark.parametrize("scope", sorted({scope for _, _, scope in GUARDED} - {ANY}))
async def test_without_its_scope_every_route_is_a_403(front, scope):
    other_scopes = {"submit", "read", "review", "admin"} - set(scope.split(" or "))
    async with front.with_key(await front.key(*other_scopes)) as client:
        for method, path, required in GUARDED:
            if required == scope:
                answer = await client.request(method, path, json={})
                assert (answer.status_code, answer.json()["scope"]) == (403, scope), (method, path)


async def test_a_key_is_shown_once_listed_and_revoked(front):
    answer = await front.client.post("/keys", json={"name": "ada", "scopes": ["read", "read"]})
    assert answer.status_code == 201
    created = answer.json()
    assert created["secret"].startswith("fettle_")
    assert (created["tenant"], created["scopes"], created["created_by"]) == (
        "default",
        ["read"],
        "development",
    )
    async with front.with_key(created["secret"]) as ada:
        assert (await ada.get("/jobs")).status_code == 200
        listed = (await front.client.get("/keys")).json()["keys"]
        assert [key["id"] for key in listed] == ["configured", created["id"]]
        assert created["secret"] not in str(listed)
        for _ in range(2):
            assert (await front.client.delete(f"/keys/{created['id']}")).status_code == 204
        assert (await ada.get("/jobs")).status_code == 401
    assert (await front.client.get("/keys")).json()["keys"][1]["revoked_at"] is not None


async def test_an_expired_key_is_refused_by_the_api_and_its_session_ends(front, monkeypatch):
    body = {"name": "ada", "scopes": ["read"], "expires_days": 1}
    created = (await front.client.post("/keys", json=body)).json()
    async with (
        front.with_key(created["secret"]) as ada,
        visiting(front.app, created["secret"]) as v,
    ):
        assert (await ada.get("/jobs")).status_code == 200
        listed = (await front.client.get("/keys")).json()["keys"][1]
        assert listed["last_used_at"] >= listed["created_at"]
        assert listed["expires_at"][:10] > listed["created_at"][:10]
        store, started_at = front.services.store, await front.services.store.now()
        monkeypatch.setattr(type(store), "now", lambda _: asyncio.sleep(0, started_at + DAY_MS))
        assert (await ada.get("/jobs")).status_code == 401
        assert (await v.get("/app")).status_code == 303
    assert f'"expires_at":"{created["expires_at"]}"' in (await front.client.get("/audit")).text


async def test_the_configured_key_cannot_be_revoked_here(front):
    answer = await front.client.delete("/keys/configured")
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/configured-key")
    assert (await front.client.delete("/keys/nobody")).status_code == 404


async def test_objects_of_another_tenant_do_not_exist(front):
    job_id = await front.paused()
    async with front.with_key(
        await front.key("submit", "read", "review", tenant="other")
    ) as other_client:
        for path in ("", "/events", "/files", "/artifacts"):
            assert (await other_client.get(f"/jobs/{job_id}{path}")).status_code == 404
        assert (await other_client.post(f"/jobs/{job_id}/cancel")).status_code == 404
        decided = await other_client.post(f"/jobs/{job_id}/review", json={"action": "approve"})
        assert decided.status_code == 404
        assert (await other_client.get("/jobs")).json()["total"] == 0
        await other_client.post("/jobs", json={"task": "x"})
        assert (await other_client.get("/jobs")).json()["total"] == 1
    assert (await front.client.get("/jobs")).json()["total"] == 1


async def test_an_admin_manages_only_its_own_tenant(front):
    first = (await front.client.post("/keys", json={"name": "m", "scopes": ["read"]})).json()
    async with front.with_key(await front.key("admin", tenant="other")) as admin:
        own_tenant_answer = await admin.post("/keys", json={"name": "x", "scopes": ["read"]})
        assert (own_tenant_answer.status_code, own_tenant_answer.json()["tenant"]) == (201, "other")
        body = {"name": "x", "scopes": ["read"], "tenant": "default"}
        assert (await admin.post("/keys", json=body)).status_code == 403
        assert {key["tenant"] for key in (await admin.get("/keys")).json()["keys"]} == {"other"}
        assert (await admin.delete(f"/keys/{first['id']}")).status_code == 404
    assert len((await front.client.get("/keys")).json()["keys"]) == 4


async def test_a_configured_key_replaces_the_development_key(redis_url, tmp_path):
    secret = "k" * 32
    async with started(settings_for(redis_url, tmp_path, api_key=secret)) as front:
        assert (await front.client.get("/jobs")).status_code == 401
        async with front.with_key(secret) as operator:
            assert (await operator.get("/keys")).json()["keys"][0]["name"] == "operator"


async def test_each_key_has_a_rate_limit_over_all_processes(redis_url, tmp_path):
    settings = settings_for(redis_url, tmp_path, rate_limit="5/minute")
    async with started(settings) as front, started(settings) as twin:
        for client in (front.client, twin.client, front.client, twin.client, front.client):
            assert (await client.get("/jobs")).status_code == 200
        answer = await twin.client.get("/jobs")
        assert (answer.status_code, answer.json()["type"]) == (429, "/problems/rate-limited")
        assert answer.json()["retryable"] is True
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert (await front.client.get("/healthz")).status_code == 200


async def test_one_keys_requests_do_not_count_for_another(redis_url, tmp_path):
    settings = settings_for(redis_url, tmp_path, rate_limit="3/minute")
    async with started(settings) as front:
        secret = await front.key("read")
        for _ in range(3):
            await front.client.get("/jobs")
        assert (await front.client.get("/jobs")).status_code == 429
        async with front.with_key(secret) as other_client:
            assert (await other_client.get("/jobs")).status_code == 200


@pytest.mark.parametrize(
    "name",
    ["critic", "Critic", "executor", "operator", "development", "Retention", "worker"],
)
async def test_no_key_may_have_a_name_that_fettle_uses_itself(front, name):
    answer = await front.client.post("/keys", json={"name": name, "scopes": ["review"]})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "name")


async def test_a_key_has_limits_that_can_be_changed(front):
    limits = {"max_cost_usd_per_day": "2.50", "max_tokens_per_day": 1000}
    created = (
        await front.client.post("/keys", json={"name": "l", "scopes": ["read"], **limits})
    ).json()
    assert {name: created[name] for name in limits} == limits
    changed = await front.client.put(
        f"/keys/{created['id']}/limits", json={"max_tokens_per_day": 5}
    )
    assert changed.status_code == 200
    assert changed.json()["max_cost_usd_per_day"] is None
    (listed,) = [
        key
        for key in (await front.client.get("/keys")).json()["keys"]
        if key["id"] == created["id"]
    ]
    assert (listed["max_cost_usd_per_day"], listed["max_tokens_per_day"]) == (None, 5)
    bad = await front.client.put(
        f"/keys/{created['id']}/limits", json={"max_cost_usd_per_day": "1e9"}
    )
    assert (bad.status_code, bad.json()["errors"][0]["field"]) == (422, "max_cost_usd_per_day")
    assert (await front.client.put("/keys/nobody/limits", json={})).status_code == 404
    assert (await front.client.put("/keys/configured/limits", json={})).status_code == 409


OPERATORS = [
    ("PUT", "/keys/{key}/limits", {"max_cost_usd_per_day": "900"}),
    ("PUT", "/tenants/acme/limits", {"max_cost_usd_per_day": "900"}),
    ("POST", "/keys", {"name": "rich", "scopes": ["read"], "max_tokens_per_day": 900}),
    ("POST", "/keys", {"name": "rich", "scopes": ["read"], "max_cost_usd_per_day": "0"}),
    ("POST", "/models/check", {}),
    ("POST", "/workers/x/drain", None),
    ("GET", "/webhook-deliveries", None),
    ("POST", "/webhook-deliveries/x/retry", None),
]


@pytest.mark.parametrize(("method", "path", "body"), OPERATORS)
async def test_an_admin_of_a_tenant_is_no_operator(front, method, path, body):
    limits = {"max_cost_usd_per_day": "1", "max_tokens_per_day": 10}
    request = {"name": "ada", "scopes": ["admin", "read"], "tenant": "acme", **limits}
    created = (await front.client.post("/keys", json=request)).json()
    await front.client.put("/tenants/acme/limits", json=limits)
    async with front.with_key(created["secret"]) as admin:
        answer = await admin.request(method, path.format(key=created["id"]), json=body)
        assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")
        (key,) = (await admin.get("/keys")).json()["keys"]
        (tenant,) = (await admin.get("/tenants")).json()["tenants"]
    for listed_limits in (key, tenant):
        assert {name: listed_limits[name] for name in limits} == limits


async def test_the_operator_limits_tenants(front):
    await front.key("read", tenant="acme")
    limits = {"max_cost_usd_per_day": "2.5", "max_tokens_per_day": None}
    changed = await front.client.put("/tenants/new/limits", json=limits)
    assert changed.json() == {"name": "new", **limits, "spent_today": None}
    listed = (await front.client.get("/tenants")).json()["tenants"]
    assert [tenant["name"] for tenant in listed] == ["acme", "default", "new"]
    assert listed[2]["max_cost_usd_per_day"] == "2.5"
    assert (await front.client.put("/tenants/A B/limits", json={})).status_code == 404


@pytest.mark.parametrize("tenant", ["acme", "default"])
async def test_only_the_operator_sees_hosts_and_the_counts_of_all_tenants(front, tenant):
    await front.services.store.announce("host-7:pid-42", {"models": {"offered": []}}, 10)
    await front.submit()
    secret = await front.key("read", tenant=tenant)
    async with front.with_key(secret) as reader:
        system, models = await reader.get("/system"), await reader.get("/models")
    for answer in (system, models):
        assert answer.status_code == 200
        assert "host-7" not in answer.text
    state = system.json()
    assert [state[name] for name in ("redis", "workers", "queue", "webhooks")] == [None] * 4
    assert (state["serving"], state["jobs"].get("queued", 0)) == (True, int(tenant == "default"))
    assert (models.json()["workers"], models.json()["differing"]) == (None, None)
    assert (await front.client.get("/system")).json()["workers"][0]["id"] == "host-7:pid-42"
    assert (await front.client.get("/models")).json()["workers"] == 1


async def test_a_revoked_key_receives_no_more_events(redis_url, tmp_path, monkeypatch):
    """Neither events nor tokens, after the time that a stream may take to notice the revocation."""
    monkeypatch.setattr(event_stream, "RECHECK_SECONDS", 0.0)
    settings = settings_for(redis_url, tmp_path, stream_heartbeat_seconds=4)
    async with started(settings) as front:
        job_id, secret = await front.submit(), await front.key("read")
        store = front.services.store
        (key,) = [key for key in await front.services.credentials.list_all() if key.name == "ada"]
        async with front.with_key(secret) as reader:
            reading = asyncio.create_task(reader.get(f"/jobs/{job_id}/events?tokens=true"))
            while not await store.tokens.publish({job_id: '[{"text": "before"}]'}):
                await asyncio.sleep(0.02)
            await front.services.credentials.revoke(key.id, await store.now(), Actor("root"))
            lease = await front.claim(job_id)
            while not reading.done():
                await store.tokens.publish({job_id: '[{"text": "secret"}]'})
                await asyncio.sleep(0.02)
            assert (await store.load(job_id)).record.epoch == lease.epoch
            received = (await reading).text
    assert "secret" not in received
    assert "event: started" not in received


async def test_the_log_names_the_peer_and_no_token(front):
    path = (await front.client.post("/sign-in-links")).json()["path"]
    token = path.rpartition("/")[2]
    with structlog.testing.capture_logs() as lines:
        async with client_of(front.app, None) as browser:
            for tried_path in (path, f"{path}/", f"{path}/x"):
                await browser.get(tried_path)
            await browser.post(path)
    request_lines = [line for line in lines if line["event"] == "request"]
    assert len(request_lines) == 4
    assert token not in str(lines)
    assert {line["path"] for line in request_lines} == {"/app/sign-in/..."}
    assert {line["peer"] for line in request_lines} == {"127.0.0.1"}


async def test_a_key_belongs_to_a_person_permanently(front):
    body = {"name": "laptop", "scopes": ["read"], "person": "  Grace\u00a0 Hopper "}
    created = (await front.client.post("/keys", json=body)).json()
    assert (created["person"], created["created_by"]) == ("Grace Hopper", "development")
    assert created["created_by_key"] == "configured"
    without = (await front.client.post("/keys", json={"name": "ci", "scopes": ["read"]})).json()
    assert without["person"] == "ci"
    listed_keys = (await front.client.get("/keys")).json()["keys"]
    assert [key["person"] for key in listed_keys] == ["development", "Grace Hopper", "ci"]
    limits = {"max_tokens_per_day": 1, "person": "Eve"}
    answer = await front.client.put(f"/keys/{created['id']}/limits", json=limits)
    assert answer.status_code == 422


@pytest.mark.parametrize(
    "person",
    [
        *("", "  ", "operator", "\uff23ritic", "DEVELOPMENT ", "x" * 101),
        *("a\u200bda", "a\x00", "\u3164", "ada\ufe0f", "ada\u034f", "\u2800"),
    ],
)
async def test_the_name_of_a_person_is_unique(front, person):
    body = {"name": "laptop", "scopes": ["read"], "person": person}
    answer = await front.client.post("/keys", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "person"
