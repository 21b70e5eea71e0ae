"""The audit log over HTTP, on its page and by `fettle audit`."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.pages.api_front import Front, settings_for, started
from support.pages.pages_browser import visiting

from cli.main import run
from jobs.audit.chain import Head, pending_body, seal_entries
from jobs.audit.entries import RETENTION, Actor, EntryKind, NewEntry
from jobs.audit.verification import verify_log


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def exported(front: Front, **query: Any) -> list[bytes]:
    answer = await front.client.get("/audit", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/jsonl")
    return answer.content.splitlines(keepends=True)


async def kinds(front: Front, **query: Any) -> list[str]:
    return [json.loads(line)["kind"] for line in await exported(front, **query)]


async def test_each_act_of_a_person_is_in_the_log(front):
    job_id = await front.paused()
    body = {"action": "approve", "feedback": "fine"}
    assert (await front.client.post(f"/jobs/{job_id}/review", json=body)).status_code == 202
    await front.finish(job_id)
    assert (await front.client.delete(f"/jobs/{job_id}")).status_code == 204
    created = (await front.client.post("/keys", json={"name": "ann", "scopes": ["read"]})).json()
    limits = {"max_cost_usd_per_day": "1.50", "max_tokens_per_day": None}
    await front.client.put(f"/keys/{created['id']}/limits", json=limits)
    await front.client.delete(f"/keys/{created['id']}")
    await front.client.delete(f"/keys/{created['id']}")  # revokes nothing
    await front.client.put("/tenants/default/limits", json=limits)
    hook = {"url": "https://hooks.example.org/T0/secret-path", "format": "slack"}
    webhook = (await front.client.post("/tenants/default/webhooks", json=hook)).json()
    await front.client.delete(f"/tenants/default/webhooks/{webhook['id']}")
    await front.client.put("/fleet", json={"version": 0, "settings": {"retries": 40}})
    await front.client.post("/sign-in-links")
    await front.client.post(f"/jobs/{await front.submit()}/cancel")
    async with visiting(front.app) as visit:
        await visit.post("/app/sign-out")
    lines = await exported(front)
    entries = [json.loads(line) for line in lines]
    assert [entry["kind"] for entry in entries] == [
        *("decided", "job_deleted"),
        *("key_created", "key_limited", "key_revoked", "tenant_limited"),
        *("webhook_created", "webhook_deleted", "fleet_changed"),
        *("sign_in_link_created", "cancelled", "signed_in", "signed_out"),
    ]
    assert [entry["actor"] for entry in entries] == [
        {"name": "development", "key_id": "configured", "person": "development"}
    ] * len(entries)
    assert entries[3]["data"]["max_cost_usd_per_day"] == "1.50"
    assert entries[6]["data"] == entries[7]["data"]
    assert entries[6]["data"].items() <= webhook.items()
    assert entries[8]["data"]["values"]["retries"] == 40
    for secret in (created["secret"], "secret-path"):
        assert secret not in b"".join(lines).decode()
    assert verify_log(lines).tenant == "default"


async def test_the_log_is_exported_in_parts(front):
    moments = []
    for number in range(3):
        moments.append(datetime.now(UTC))
        await front.client.post("/keys", json={"name": f"key{number}", "scopes": ["read"]})
    assert len(await exported(front, limit=2)) == 2
    [last] = await exported(front, after=2)
    head = (await front.client.get("/audit/head")).json()
    assert head == {
        "tenant": "default",
        "first_seq": 1,
        "seq": 3,
        "hash": json.loads(last)["hash"],
    }
    past, future = moments[0] - timedelta(hours=1), moments[0] + timedelta(hours=1)
    assert len(await exported(front, **{"from": past.isoformat()})) == 3
    assert await exported(front, **{"from": future.isoformat()}) == []
    assert len(await exported(front, to=future.isoformat())) == 3
    assert await exported(front, to=past.isoformat(), after=1) == []


async def test_a_time_after_the_end_is_refused(front):
    times = {"from": "2026-11-02", "to": "2026-11-01T23:00:00+00:00"}
    for path in ("/audit", "/decisions"):
        refused = await front.client.get(path, params=times)
        assert refused.status_code == 422, path
        assert refused.json()["errors"] == [{"field": "from", "message": "it is after `to`"}]
        same = {"from": "2026-11-01", "to": "2026-11-01"}
        assert (await front.client.get(path, params=same)).status_code == 200


async def test_a_tenant_without_a_log_is_named(front):
    for path in ("/audit", "/audit/head"):
        missing = await front.client.get(path, params={"tenant": "nobody"})
        assert (missing.status_code, missing.json()["detail"]) == (
            404,
            "the tenant nobody has no audit log",
        )
        assert (await front.client.get(path)).status_code == 200, "the log of a new deployment"
    async with visiting(front.app) as visit:
        missing = await visit.get("/app/audit?tenant=zzz")
        assert missing.status_code == 404
        assert "the tenant zzz has no audit log" in missing.text


async def test_a_log_belongs_to_its_tenant(front):
    admin = await front.key("admin", tenant="acme")
    reader = await front.key("read", name="bob", tenant="acme")
    async with front.with_key(reader) as client:
        assert (await client.get("/audit")).status_code == 403
    async with front.with_key(admin) as client:
        lines = (await client.get("/audit")).content.splitlines()
        assert {json.loads(line)["tenant"] for line in lines} == {"acme"}
        for path in ("/audit", "/audit/head"):
            assert (await client.get(path, params={"tenant": "default"})).status_code == 403
    assert await kinds(front, tenant="acme") == ["key_created", "key_created"]
    assert await kinds(front) == []


async def test_the_page_shows_the_newest_entries_to_an_admin(front):
    job_id = await front.paused(succeeded=False)
    body = {"action": "reject", "feedback": "<b>no</b>"}
    await front.client.post(f"/jobs/{job_id}/review", json=body)
    async with visiting(front.app) as visit:
        page = (await visit.get("/app/audit")).text
        assert "&lt;b&gt;no&lt;/b&gt;" in page
        assert f'href="/app/jobs/{job_id}"' in page
        assert 'development <span class="quiet">key <code>configured</code></span>' in page
        assert page.index("signed in") < page.index("decided"), "newest first"
        older = (await visit.get("/app/audit?before=2")).text
        assert "signed in" not in older
        assert '<a href="/app/audit">' in (await visit.get("/app")).text
    secret = await front.key("read")
    async with visiting(front.app, secret) as visit:
        assert (await visit.get("/app/audit")).status_code == 403
        assert '<a href="/app/audit">' not in (await visit.get("/app")).text


def trimmed_to(line: bytes) -> dict[str, Any]:
    entry = json.loads(line)
    return {"seq": entry["seq"], "hash": entry["hash"]}


async def test_an_export_is_verified_offline(front, tmp_path: Path, capsys):
    key = Ed25519PrivateKey.generate()
    public_key = tmp_path / "audit.pub"
    public_key.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    for name in ("ann", "bob", "cat"):
        await front.client.post("/keys", json={"name": name, "scopes": ["read"]})
    assert await front.services.store.audit.sign_head("default", key, webhook=False)
    lines = await exported(front)
    file, first, rest = tmp_path / "all", tmp_path / "first", tmp_path / "rest"
    for path, part in ((file, lines), (first, lines[:2]), (rest, lines[2:])):
        path.write_bytes(b"".join(part))

    def verify(*args: str | Path) -> tuple[int, str]:
        code = run(["audit", "verify", *map(str, args)])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    head = json.loads(lines[-1])["hash"]
    code, text = verify(file, "--key", public_key, "--head", head)
    assert (code, "4 entries of tenant default" in text) == (0, True), text
    assert "up to entry 3" in text
    code, text = verify(first, rest, "--json")
    assert json.loads(text) == {
        "tenant": "default", "first_seq": 1, "seq": 4, "hash": head, "signed_seq": None,
        "removed_at": None,
    }  # fmt: skip
    assert verify(rest, "--prev", json.loads(lines[1])["hash"])[0] == 0
    trimmed = tmp_path / "trimmed"
    body = f"0 {pending_body(NewEntry('', EntryKind.LOG_TRIMMED, RETENTION, trimmed_to(lines[1])))}"
    [line], _ = seal_entries(Head(4, head), "default", [body.encode()])
    trimmed.write_bytes(b"".join(lines[2:]) + line + b"\n")
    code, text = verify(trimmed)
    removed = "removed: entries 1 to 2 were removed by retention at 1970-01-01T00:00:00.000Z"
    assert (code, removed in text) == (0, True), text
    assert json.loads(verify(trimmed, "--json")[1])["removed_at"] == "1970-01-01T00:00:00.000Z"
    forged = tmp_path / "forged"
    body = f"0 {pending_body(NewEntry('', EntryKind.SIGNED_IN, Actor('ada')))}".encode()
    [line], after = seal_entries(Head(), "a\nline\x1b\u202e", [body])
    forged.write_bytes(line + b"\n")
    code, text = verify(forged)
    assert (code, "1 entry of tenant a\\x0aline\\x1b\\u202e\n" in text) == (0, True), text
    [next_line], _ = seal_entries(after, "acme", [body])
    forged.write_bytes(line + b"\n" + next_line + b"\n")
    for args, message in (
        ((rest,), "entries 1 to 2 are missing"),
        ((forged,), "another tenant than a\\x0aline\\x1b\\u202e"),
        ((rest, first), "line 3: entry 1 follows entry 4"),
        ((first, "--head", head), f"no entry has the hash {head}"),
        ((first, "--key", public_key), "there is no signed head"),
        ((trimmed, "--key", public_key), "no signed head is after it"),
        ((file, "--key", file), "is not the public key of a log"),
    ):
        code, text = verify(*args)
        assert (code, message in text) == (1, True), text
    file.write_bytes(b"".join(lines).replace(b"bob", b"eve"))
    assert verify(file) == (1, verify(file)[1])
    assert "line 2: its content does not have its hash" in verify(file)[1]
