"""Health, metrics, the system's state, problems and the documentation."""

from __future__ import annotations

import re
from importlib.metadata import version

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.pages.api_front import client_of, settings_for, started

from api import problems
from cli.doctor.deployment import findings
from jobs.store.outbox import enqueue
from jobs.transitions.change import Delivery
from settings.starting.release import release
from settings.worker import WorkerSettings
from worker.background.announcement import announcement


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def test_alive_and_ready_need_no_worker_and_no_key(front):
    """A fleet that scales from zero needs its first job, and requests must be served during that
    time.
    """
    async with client_of(front.app, None) as nobody:
        assert (await nobody.get("/healthz")).json() == {
            "status": "alive",
            "version": version("fettle"),
            "missing": [],
        }
        ready = await nobody.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (200, "ready")
        assert "\nfettle_workers 0.0\n" in (await nobody.get("/metrics")).text
    assert (await front.client.get("/system")).json()["workers"] == []
    await front.submit("accepted all the same")


def test_a_worker_announces_its_settings_that_are_no_defaults_without_secrets(monkeypatch):
    monkeypatch.setenv("GROQ_API_KEY", "a-secret-key")
    monkeypatch.setenv("FETTLE_MAX_STEPS", "9")
    announced = announcement(WorkerSettings())["settings"]
    values = {entry["variable"]: (entry["value"], entry["origin"]) for entry in announced}
    assert values["FETTLE_MAX_STEPS"] == ("9", "environment")
    assert "GROQ_API_KEY" in values
    assert "a-secret-key" not in str(announced)
    assert "FETTLE_CRITIC_CALLS" not in values


async def test_the_system_report_has_the_fields_for_the_doctor(front):
    facts = {"version": "0.1.0", "busy": 2, "models": ["groq:x"], "sandbox": {"layers": ["userns"]}}
    await front.services.store.announce("w1", facts, 10)
    await front.submit(priority="high")
    await front.paused()
    state = (await front.client.get("/system")).json()
    assert state["environment"] == "development"
    assert {finding["verdict"] for finding in state["redis"]["findings"]} == {"ok"}
    assert state["queue"] == {"high": 1, "normal": 0, "low": 0}
    assert state["jobs"]["awaiting_review"] == 1
    worker = state["workers"][0]
    assert (worker["id"], worker["busy"], worker["sandbox"]) == ("w1", 2, {"layers": ["userns"]})
    assert (worker["version"], worker["release"]) == ("0.1.0", None), "of an older release"
    own_announcement = announcement(WorkerSettings())
    await front.services.store.announce("w2", own_announcement, 10)
    state = (await front.client.get("/system")).json()
    assert (
        state["workers"][1]["release"]
        == state["release"]
        == own_announcement["release"]
        == release()
    )
    assert re.fullmatch(r"0\.1\.0\+[0-9a-f]{12}", state["release"])
    assert worker["seen_seconds"] < 5
    assert state["limits"]["max_files"] == 1_000


async def test_settings_in_which_workers_differ_are_named(front):
    sandbox = {"backend": "local", "works": True, "why": "", "layers": []}
    secret = "whsec_" + "QUFB" * 10
    plain = {"tenant_cost_usd_per_day": "5", "webhook_secret": secret}

    async def warned(**changed: str) -> list[str]:
        for worker, more in (("w1", {}), ("w2", changed)):
            url = {"webhook_url": "https://hooks.example.org/secret"}
            facts = announcement(WorkerSettings(**{**plain, **url, **more}))
            await front.services.store.announce(worker, {**facts, "sandbox": sandbox}, 60)
        answer = await front.client.get("/system")
        assert "hooks.example.org" not in answer.text
        return [finding.text for finding in findings(answer.json()) if finding.name == "settings"]

    assert await warned(tenant_cost_usd_per_day="5.00") == []
    (text,) = await warned(tenant_cost_usd_per_day="9", webhook_url="https://other.example.org/")
    assert text.startswith("workers differ in FETTLE_TENANT_COST_USD_PER_DAY, FETTLE_WEBHOOK_URL: ")
    (text,) = await warned(
        webhook_format="teams", webhook_labels="bank", public_url="https://x.example.org"
    )
    names = "FETTLE_PUBLIC_URL, FETTLE_WEBHOOK_FORMAT, FETTLE_WEBHOOK_LABELS"
    assert text.startswith(f"workers differ in {names}: ")
    (text,) = await warned(smtp_url="smtps://me:hunter2@m.example", smtp_from="a@b.example")
    assert text.startswith("workers differ in FETTLE_SMTP_FROM, FETTLE_SMTP_URL: ")
    assert "hunter2" not in text


async def test_metrics_need_no_key_and_count_by_route(front):
    job_id = await front.submit("a secret task")
    await front.job(job_id)
    await front.client.get("/nowhere/at/all")
    await front.services.store.announce("w1", {}, 10)
    async with client_of(front.app, None) as nobody:
        answer = await nobody.get("/metrics")
    texts = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert texts["fettle_jobs", "queued"] == 1
    assert texts["fettle_queue_jobs", "normal"] == 1
    assert 0 < texts["fettle_redis_used_bytes",] < texts["fettle_redis_max_bytes",]
    assert texts["fettle_workers",] == texts["fettle_redis_up",] == 1
    assert texts["fettle_http_requests_total", "GET", "/jobs/{job_id}", "200"] == 1
    assert texts["fettle_http_requests_total", "GET", "unknown", "404"] == 1
    assert "secret" not in answer.text
    assert job_id not in answer.text


async def test_messages_that_do_not_arrive_are_counted(front):
    store = front.services.store
    now = await store.now()
    ages = {"gone": 90_000, "a": 60_000, "b": 1_000}
    late = [Delivery(name, "job.finished", "t", "j", now - ms, {}) for name, ms in ages.items()]
    for command in enqueue(late):
        await store.redis.execute_command(*command)
    (first,) = await store.outbox.lease(1, 1_000)
    assert await store.outbox.fail(first, "it answered 410", None)
    counts = (await front.client.get("/system")).json()["webhooks"]
    assert (counts["dead"], counts["waiting"]) == (1, 2)
    assert 60 <= counts["oldest_seconds"] < 90
    figures = (await front.client.get("/metrics")).text
    assert 'fettle_webhooks{state="dead"} 1.0' in figures
    assert 'fettle_webhooks{state="waiting"} 2.0' in figures
    assert "\nfettle_webhook_oldest_seconds 6" in figures


async def test_every_kind_of_problem_explains_itself(front):
    async with client_of(front.app, None) as nobody:
        for name, kind in problems.KINDS.items():
            explained = (await nobody.get(f"/problems/{name}")).json()
            assert (explained["type"], explained["status"]) == (f"/problems/{name}", kind.status)
            assert len(explained["explanation"]) > 40
        assert (await nobody.get("/problems/none")).status_code == 404


async def test_an_unknown_page_and_an_unknown_method_are_problems_too(front):
    lost = await front.client.get("/nope")
    assert (lost.status_code, lost.headers["content-type"]) == (404, "application/problem+json")
    wrong = await front.client.put("/jobs", json={})
    assert (wrong.status_code, wrong.json()["type"]) == (405, "/problems/method-not-allowed")
    assert wrong.headers["allow"] == "GET, POST"
    assert (await front.client.get("/")).headers["location"] == "app"


@pytest.mark.parametrize("sent", ["", "a b", "x" * 101, "a\tb"])
async def test_a_request_id_that_could_forge_a_log_is_replaced(front, sent):
    answer = await front.client.get("/healthz", headers={"X-Request-Id": sent})
    assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["x-request-id"])


async def test_the_documentation_needs_no_outside_network(front):
    async with client_of(front.app, None) as nobody:
        page = (await nobody.get("/docs")).text
        assert "http://" not in page
        assert "https://" not in page
        for name in re.findall(r'(?:src|href)="([^"]+)"', page):
            asset = await nobody.get(f"/{name}")
            assert (asset.status_code, len(asset.content) > 100) == (200, True), name


async def test_the_schema_describes_every_route_its_body_and_its_problems(front):
    schema = (await front.client.get("/openapi.json")).json()
    defined = schema["components"]["schemas"]
    for ref in re.findall(r'"#/components/schemas/(\w+)"', str(schema).replace("'", '"')):
        assert ref in defined
    assert schema["components"]["securitySchemes"]["APIKeyHeader"]["name"] == "X-API-Key"
    assert schema["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    either = [{"APIKeyHeader": []}, {"HTTPBearer": []}]
    assert schema["paths"]["/jobs"]["get"]["security"] == either
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            assert operation["summary"]
            assert operation["description"]
            assert operation["tags"]
            for status, answer in operation["responses"].items():
                if status >= "400":
                    assert "application/problem+json" in answer["content"], (path, status)
            if operation.get("security"):
                assert {"401", "403", "429", "500", "503"} <= set(operation["responses"])
    post = schema["paths"]["/jobs"]["post"]
    assert {"202", "413", "415", "422"} <= set(post["responses"])
    body = post["requestBody"]["content"]["application/json"]["schema"]
    assert defined[body["$ref"].rpartition("/")[2]]["examples"]
    assert "HTTPValidationError" not in defined


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/jobs?lable=x"),
        ("GET", "/jobs/{id}/events?format=json&since=3"),
        ("POST", "/jobs/{id}/cancel?force=1"),
        ("GET", "/healthz?verbose=1"),
    ],
)
async def test_an_unknown_parameter_is_refused_with_its_name(front, method, path):
    job_id = await front.submit()
    json = {"task": "x"} if method == "POST" else None
    answer = await front.client.request(method, path.format(id=job_id), json=json)
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-request")
    wrong = path.rpartition("?")[2].rpartition("&")[2].partition("=")[0]
    (error,) = answer.json()["errors"]
    assert (error["field"], "this parameter does not exist" in error["message"]) == (wrong, True)
    assert (await front.job(job_id))["status"] == "queued"
    assert (await front.client.get("/jobs")).json()["total"] == 1


HOOK = "https://hooks.example.org/T0/path"


async def test_an_admin_manages_the_webhooks_of_a_tenant(front):
    secret = await front.key("admin", tenant="acme")
    async with front.with_key(secret) as admin:
        body = {"url": HOOK, "labels": ["bank"], "events": ["review.opened"]}
        answer = await admin.post("/tenants/acme/webhooks", json=body)
        created = answer.json()
        assert answer.status_code == 201
        assert answer.headers["cache-control"] == "no-store"
        assert created["secret"].startswith("whsec_")
        assert created["address"] == "https://hooks.example.org", "its path may be a secret"
        listed = await admin.get("/tenants/acme/webhooks")
        assert listed.json() == {"webhooks": [{**created, "secret": None}]}
        chat = await admin.post("/tenants/acme/webhooks", json={"url": HOOK, "format": "teams"})
        assert chat.json()["secret"] is None, "a chat checks no signature"
        for method, path in (("GET", ""), ("POST", ""), ("DELETE", f"/{created['id']}")):
            refused = await admin.request(method, f"/tenants/default/webhooks{path}", json=body)
            assert refused.status_code == 403, method
        path = f"/tenants/acme/webhooks/{created['id']}"
        assert [(await admin.delete(path)).status_code for _ in range(2)] == [204, 404]
        for _ in range(9):
            await admin.post("/tenants/acme/webhooks", json=body)
        full = await admin.post("/tenants/acme/webhooks", json=body)
        assert full.status_code == 422
        assert "has 10 webhooks: delete one" in full.json()["detail"]
    answer = await front.client.get("/tenants/acme/webhooks")
    assert len(answer.json()["webhooks"]) == 10, "the operator sees them, too"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "ftp://x.example"}, "url"),
        ({"url": "mailto:a@x.example?bcc=b@x.example", "format": "email"}, "url"),
        ({"url": "mailto:a@x.example\r\nBcc: b@x.example", "format": "email"}, "url"),
        ({"url": "mailto:a,b@x.example", "format": "email"}, "url"),
        ({"url": "mailto:a@x.example"}, "body"),
        ({"url": HOOK, "format": "email"}, "body"),
        ({"url": HOOK, "format": "irc"}, "format"),
        ({"url": HOOK, "events": ["review.opend"]}, "events.0"),
    ],
)
async def test_a_webhook_that_could_not_be_used_is_refused(front, body, field):
    refused = await front.client.post("/tenants/acme/webhooks", json=body)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == field
    assert (await front.client.get("/tenants/acme/webhooks")).json() == {"webhooks": []}


async def test_only_the_operator_sends_e_mail(front):
    body = {"url": "mailto:reviews@x.example", "format": "email"}
    async with front.with_key(await front.key("admin", tenant="acme")) as admin:
        refused = await admin.post("/tenants/acme/webhooks", json=body)
        assert (refused.status_code, "ask the operator" in refused.json()["detail"]) == (403, True)
    created = await front.client.post("/tenants/acme/webhooks", json=body)
    assert created.json()["address"] == body["url"]
